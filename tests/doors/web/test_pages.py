"""The pages: what they show, that all of it is escaped, and what a form that comes back does."""

from __future__ import annotations

import html
import json
import re
import time
from contextlib import closing, contextmanager
from copy import copy
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from unicodedata import category
from urllib.parse import quote

import msgspec
import pytest

import databases
import walks
from quandary.desk import begin as desk
from quandary.desk import phases
from quandary.desk.authority import Caller, Scope
from quandary.desk.drafts import BOTH
from quandary.desk.sheets import OWN_WORDS
from quandary.desk.timeline import index_some
from quandary.doors.web import inbox, pages, run_pages
from quandary.doors.web.prose import visible
from quandary.doors.web.run_pages import OTHER
from quandary.formats.proof import Given
from quandary.journal import runs as driver
from quandary.journal import store as store_room
from quandary.journal.entries import Source
from quandary.journal.postgres import PostgresStore
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Note, Reply
from sites import PAGE, TAGS, Site, hidden, send

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx import Response
    from litestar.testing import TestClient

    from quandary.journal.store import Store

NASTY = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{123*457}}\u202eabc\u2066\x1b[31m"
    "\u200b\u00ad\ufeff\U000e0041"
)


class Seen(HTMLParser):
    """The tags and attributes of a page, as a browser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember one."""
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]


def harmless(page: str) -> None:
    """Nothing that strangers wrote has become part of the page itself."""
    seen = Seen(page)
    assert seen.tags.count("script") == 1
    assert "img" not in seen.tags
    assert not [name for name in seen.names if name.startswith("on") or name == "style"]
    assert all(link.startswith(("/", "#")) for link in seen.links)
    assert not [sign for sign in page if sign == "\x1b" or category(sign) == "Cf"]
    assert "56211" not in page


def nasty_tree() -> str:
    """A tree in which everything is written by an enemy."""
    label = " ".join(NASTY.split()).replace("\x1b", "")
    return (
        f"### ¶ASK_NASTY\nTrigger: {label}\nExtras: A: {label}\nQuestion: {label}\n\n"
        f"## Decision: {label}\n- [OK] {label}\n  {label}\n- [NO] {label} two\n  {label}\n"
        f"- [GO] {label} three\n  {label}\n- [OTH] Other\n  - [X] {label} four\n"
    )


@pytest.mark.parametrize(
    "context",
    [
        "**a " * 25_000,
        "`" * 100_000 + "x",
        " ".join("`" * length for length in range(400, 0, -1)),
        "# " + "#" * 100_000 + "x",
        "[" * 20_000,
        "[](" * 20_000,
        "[ " + "a" * 100_000,
        "\n" * 100_000 + "x",
    ],
    ids=lambda context: context[:4].strip() or "lines",
)
def test_no_context_freezes_the_server(site: Site, context: str) -> None:
    """A pattern that tries the rest of a text from every place would keep all others waiting."""
    begun = time.process_time()
    with site.visitor() as visitor:
        sent = visitor.post("/api/asks", json={"text": TAGS, "context": context})
        assert sent.status_code == 201
        assert visitor.get(f"/runs/{sent.json()['run']}").status_code == 200
    assert time.process_time() - begun < 5


NUMBERED = [{"id": str(number)} for number in range(20_000)]
HEIRS = "".join(
    f"### ¶ASK_T{number}\nExtends: §ASK_T{number + 1}\n## Decision: D\n- [A] x\n- [B] y\n"
    for number in range(3_000)
)
LAUGHS = "### ¶ASK_T0\n## Decision: D\n- [L0] x\n  - [A] x\n" + "".join(
    f"### ¶ASK_T{number}\nExtends: §ASK_T{number - 1}\n## Decision: D\n- [L{number}] x\n"
    f"  - [P] x\n    - [L{number - 1}]\n  - [Q] y\n    - [L{number - 1}]\n"
    for number in range(1, 40)
)


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ({"expires": "1" * 900_000}, 400),
        ({"context": "{a}" * 100_000, "values": {"a": "x" * 500_000}}, 400),
        ({"question": "{a}" * 100_000, "values": {"a": "x" * 500_000}}, 400),
        ({"question": "x" * 500_000 + "{id}", "items": NUMBERED}, 400),
        ({"text": TAGS + "## Decision: E\n- [A] x\n- [B] y\n" * 9_000, "items": NUMBERED}, 400),
        (
            {"question": "{id}?", "values": {row["id"]: "" for row in NUMBERED}, "items": NUMBERED},
            201,
        ),
        ({"context": "x. " * 100_000, "items": NUMBERED}, 201),
        ({"text": LAUGHS, "source": "T39"}, 400),
        ({"text": TAGS.replace("TAGS", "T3000") + HEIRS, "source": "T3000"}, 201),
    ],
    ids=["age", "slots", "slots2", "long", "many", "values", "context", "laughs", "heirs"],
)
def test_nothing_that_multiplies_freezes_the_server(
    site: Site, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any], status: int
) -> None:
    """Slots, items, decisions and trees that extend others make much of little, within bounds."""
    monkeypatch.chdir(site.folder)
    begun = time.process_time()
    with site.visitor() as visitor:
        sent = visitor.post("/api/asks", json={"text": TAGS, "context": "c", **wanted})
        assert sent.status_code == status, sent.text[:300]
    assert time.process_time() - begun < 10


def test_a_tree_full_of_scripts_is_shown_as_text(site: Site) -> None:
    """On every page, in every place, also after it was answered with more of it."""
    (site.folder / "nasty.md").write_text(nasty_tree(), encoding="utf-8")
    nasty = [
        {"id": "1", "label": NASTY, "title": NASTY, "context": f"{NASTY} `{NASTY}` **{NASTY}**"}
    ]
    state = site.ask(
        text=nasty_tree(), items=nasty, context=f"About {NASTY.replace('{{123*457}}', '')}"
    )
    with site.person() as visitor:
        for path in ("/", "/runs", "/trees", "/stats", f"/runs/{state.run}"):
            shown = visitor.get(path)
            assert shown.status_code == 200
            assert "alert(1)" in shown.text or path == "/stats"
            harmless(shown.text)
        refused = send(visitor, state.run, pick_0="OK", text_0=NASTY, comment_0=NASTY)
        assert refused.status_code == 422
        harmless(refused.text)
        assert send(visitor, state.run, text_0=NASTY, comment_0=NASTY).status_code == 303
        for path in (
            "/",
            "/runs",
            "/stats",
            f"/runs/{state.run}",
            f"/?project={quote(NASTY)}",
            f"/{quote(NASTY)}",
        ):
            harmless_or_plain(visitor.get(path, headers={"Accept": "text/html"}).text)


def harmless_or_plain(page: str) -> None:
    """An error page has no script at all."""
    seen = Seen(page)
    assert seen.tags.count("script") <= 1
    assert "img" not in seen.tags
    assert not [sign for sign in page if sign == "\x1b" or category(sign) == "Cf"]


def test_signs_that_hide_are_made_visible() -> None:
    """Whatever a template puts out; breaks, tabs and right-to-left scripts stay as they are."""
    assert visible("a\u202eb\x00\ud800") == "a\\u202eb\\u0000\\ud800"
    assert visible("שלום\n\tmarhaba مرحبا\u200f") == "שלום\n\tmarhaba مرحبا\u200f"
    assert visible(3) == 3


def test_right_to_left_text_is_kept_apart(site: Site) -> None:
    """It runs its own way, and does not turn what stands beside it."""
    run = site.ask("שלום עולם").run
    with site.visitor() as visitor:
        page = visitor.get(f"/runs/{run}").text
        assert re.search(r'<span class="question" dir="auto">[^<]*שלום', page)


# -- the inbox -----------------------------------------------------------------------------------


def test_an_empty_inbox_teaches(site: Site) -> None:
    """What will appear here, and how to try it."""
    with site.visitor() as visitor:
        page = visitor.get("/").text
        assert "You're all caught up" in page
        assert "quandary ask" in page
        assert "<title>Inbox" in page


def test_the_inbox_shows_what_waits(site: Site) -> None:
    """The longest waiting first or the newest first, with the number in the title."""
    first, second = site.ask("Login").run, site.ask("Cache").run
    site.ask("Done")
    done = site.ask("Gone").run
    driver.withdraw(site.store, done, "no need", who="person", through="terminal")
    with site.visitor() as visitor:
        page = visitor.get("/").text
        assert "<title>(3) Inbox" in page
        assert page.index(first) < page.index(second)
        assert done not in page
        turned = visitor.get("/?order=newest").text
        assert turned.index(second) < turned.index(first)


def test_what_differs_behind_a_letter_is_not_answered_together(site: Site) -> None:
    """`A` on the form of one would say something else to the other."""
    extras = ("A: Merge both", "A: Drop both", "A: Drop both")
    one, two, three = (site.ask("API", extras=[extra]).run for extra in extras)
    with site.person() as visitor:
        refused = visitor.get("/together", params={"run": [one, two]})
        allowed = visitor.get("/together", params={"run": [two, three]})
    assert (refused.status_code, allowed.status_code) == (409, 200)


UPDATE = """\
### ¶ASK_UPDATE
Question: Shall we take {title}?
## Decision: Update
- [TAKE] Take it
- [WAIT] Rework this step
- [PIN] Stay where we are
- [OTH] Other
"""


@pytest.mark.parametrize(
    ("usual", "grave"),
    [
        ("Shall we take", "Shall I undeploy"),
        ("Take it", "Seal the deal"),
        ("Take it", "Reset the ledger"),
        ("Take it", "Cancel his access"),
        ("{title}", "{title}: move the robot arm"),
        ("Take it\n", "Delete it\n  It is dropped for good\n"),
    ],
)
def test_nothing_that_the_net_catches_is_answered_together(
    site: Site, usual: str, grave: str
) -> None:
    """Neither by what it asks nor by what can be chosen; the form that comes is judged, too."""
    text = UPDATE.replace(usual, grave)
    plain = [site.ask(name, text=UPDATE).run for name in ("click 8", "msgspec 0.20")]
    caught = [site.ask(name, text=text).run for name in ("click 8.3", "msgspec 0.20")]
    with site.person() as visitor:
        allowed, refused = (visitor.get("/together", params={"run": r}) for r in (plain, caught))
        form = hidden(allowed.text) | {"run": [f"{run} 1:" for run in caught], "pick-0": "TAKE"}
        sent = visitor.post("/together", data=form, headers=PAGE, follow_redirects=False)
    assert [one.status_code for one in (allowed, refused, sent)] == [200, 409, 409]
    assert {driver.look(site.store, run).status for run in caught} == {"waiting"}


def test_what_is_answered_elsewhere_meanwhile_is_said_with_how_many_were_recorded(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The form cannot come again with a question that waits no longer."""
    asked = [site.ask(title).run for title in ("API", "Docs")]
    find, reply = pages.find_rows, Reply((Answer("1:", picked=("OK",)),))

    def find_too_early(*given: Any) -> Any:  # noqa: ANN401 - as they come
        rows = find(*given)
        driver.advance(site.store, asked[1], reply, who="person", through="terminal")
        return rows

    with site.person() as visitor:
        form = hidden(visitor.get("/together", params={"run": asked}).text)
        monkeypatch.setattr(pages, "find_rows", find_too_early)
        sent = form | {"run": [f"{run} 1:" for run in asked], "pick-0": "OK"}
        refused = visitor.post("/together", data=sent, headers=PAGE)
    assert refused.status_code == 409
    assert "1 of 2 were recorded." in refused.text


@pytest.mark.parametrize("date", ["", "soon", "2026-02-30", "0001-01-01"])
@pytest.mark.parametrize("zone", ["", "Asia/Tokyo", "../passwd"])
def test_a_date_that_no_clock_shows_is_refused(site: Site, date: str, zone: str) -> None:
    """Also one whose morning lies before all dates there are."""
    run = site.ask("Login").run
    with site.person() as visitor:
        form = hidden(visitor.get(f"/runs/{run}").text) | {"date": date, "zone": zone}
        refused = visitor.post(f"/runs/{run}/snooze", data=form, headers=PAGE)
    assert refused.status_code == 400
    assert "is no date; write it like" in refused.text


def undo_all(visitor: TestClient[Any], *runs: str) -> Response:
    """Send what a notice of several answers sends."""
    form = {"mark": hidden(visitor.get("/").text)["mark"], "run": runs}
    return visitor.post("/together/undo", data=form, headers=PAGE, follow_redirects=False)


def test_what_is_not_undone_together_is_counted_and_hides_no_other(site: Site) -> None:
    """The rest is taken back all the same, and of a run that is named twice one answer."""
    asked = [site.ask(title).run for title in ("API", "Docs", "Site")]
    reply = Reply((Answer("1:", picked=("OK",)),))
    for run in asked:
        driver.advance(site.store, run, reply, who="person", through="web")
    driver.hand_over(site.store, asked[0], who="agent", through="command")
    with site.person() as visitor:
        refused = undo_all(visitor, *asked, asked[2])
    assert refused.status_code == 409
    assert "has it already" in refused.text
    assert "2 of 3 were undone." in refused.text
    states = [driver.look(site.store, run).status for run in asked]
    assert states == ["done", "waiting", "waiting"]


def test_undoing_together_shows_nobody_a_run_of_another_project(site: Site) -> None:
    """Whoever may not see it is told that there is none, as anywhere else."""
    other = copy(site)
    other.folder = site.folder / "bank"
    (other.folder / ".quandary").mkdir(parents=True)
    vault, own = other.ask("Vault").run, site.ask("Login").run
    with site.visitor(**PAGE) as visitor:
        refused = undo_all(visitor, vault)
        assert undo_all(visitor, own).status_code == 403
    assert refused.status_code == 404
    assert "Vault" not in refused.text


def test_values_are_never_answered_together(site: Site) -> None:
    """Each question proposes its own; those of one would be recorded for all."""
    proposed = [[{"name": "replicas", "type": "integer", "default": n}] for n in (3, 10)]
    runs = [site.ask("API", fields=fields).run for fields in proposed]
    with site.person() as visitor:
        refused = visitor.get("/together", params={"run": runs})
        plain = [site.ask(title).run for title in ("API", "Docs")]
        allowed = visitor.get("/together", params={"run": plain})
    assert (refused.status_code, allowed.status_code) == (409, 200)
    assert "can be answered together" in refused.text


def test_the_inbox_is_filtered(site: Site) -> None:
    """By project, by who asked, by kind and by words, together and one by one."""
    plain = site.ask("Login").run
    soft = site.ask("Cache", context="It is about the warehouse.").run
    with site.visitor() as visitor:

        def found(query: str) -> list[str]:
            page = visitor.get(f"/?{query}").text
            return re.findall(r'class="to" href="/runs/(\w+)', page)

        assert found("") == [plain, soft]
        assert found("q=WAREHOUSE+cach") == [soft]
        assert found("kind=decision&q=login") == [plain]
        assert found("kind=step") == []
        assert found("asker=an+agent") == [plain, soft]
        assert found("asker=somebody+else") == []
        assert found(f"project={site.folder}") == [plain, soft]
        assert found("project=/elsewhere") == []
        page = visitor.get(f"/?kind=decision&project={site.folder}").text
        assert f'href="/runs/{soft}?project=' in page  # to come back to
        assert "Show the whole inbox" in visitor.get("/?kind=step").text


def test_the_inbox_comes_in_pages(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """In both orders every run comes once, and filters look further than one page."""
    monkeypatch.setattr(inbox, "PAGE", 3)
    runs = [site.ask("x").run for _ in range(7)]
    soft = site.ask("the last one").run
    with site.visitor() as visitor:
        for order, wanted in (("oldest", [*runs, soft]), ("newest", [soft, *reversed(runs)])):
            found: list[str] = []
            at = f"/?order={order}"
            while at:
                page = visitor.get(at).text
                found += re.findall(r'class="to" href="/runs/(\w+)', page)
                more = re.search(r'<a href="([^"]+)" data-more>More', page)
                at = more[1].replace("&amp;", "&") if more else ""
            assert found == wanted
        assert soft in visitor.get("/?q=last").text


def test_a_damaged_question_does_not_hide_the_others(site: Site) -> None:
    """It is listed, and whoever looks is told where to look further."""
    good, bad = site.ask("Login").run, site.ask("Cache").run
    site.store._rows("UPDATE entry SET matter = ? WHERE run = ?", (b"{", bad))
    with site.visitor(Accept="text/html") as visitor:
        page = visitor.get("/").text
        assert good in page
        assert bad in page
        assert "quandary verify" in page
        assert visitor.get(f"/runs/{bad}").status_code == 503
        assert visitor.get("/runs").status_code == 200


# -- answering -----------------------------------------------------------------------------------


def test_a_batch_with_follow_ups(site: Site) -> None:
    """Two items, one of which leads deeper; then the run is done."""
    state = site.ask("Login", "Cache")
    with site.person() as visitor:
        assert send(visitor, state.run, pick_0="OK", pick_1="NO").status_code == 303
        page = visitor.get(f"/runs/{state.run}").text
        assert "Wrong behaviour" in page
        assert page.count("<fieldset") == 1
        assert send(visitor, state.run, pick_0="TST", comment_0="for the cache").status_code == 303
        page = visitor.get(f"/runs/{state.run}").text
        assert "Login: Looks good (OK)" in page
        assert "Cache: Tests are missing (NO/TST)" in page
        assert "for the cache" in page
    assert site.sources(state.run) == [("person", "web", "")] * 2


def test_several_and_own_words(site: Site) -> None:
    """Ticks and words together are one answer."""
    state = site.ask("Login", text=TAGS)
    with site.person() as visitor:
        page = visitor.get(f"/runs/{state.run}").text
        assert page.count('type="checkbox" name="pick-0"') == 4
        sent = send(visitor, state.run, pick_0=["UI", "DOC", OTHER], text_0="and the logo")
        assert sent.status_code == 303
    done = driver.look(site.store, state.run)
    assert done.result["chosenItems"][0]["path"] == "UI,DOC,OTH/custom:and the logo"


def test_other_ticked_beside_others_opens_its_menu(site: Site) -> None:
    """No tick is lost: what is behind Other is asked about, and the other ticks stand."""
    menu = "  - [REM] [ ] Remove\n    d\n  - [SPL] [ ] Split\n    e\n"
    state = site.ask("Login", text=f"{TAGS.rstrip()}\n{menu}")
    with site.person() as visitor:
        send(visitor, state.run, pick_0=["UI", OTHER])
        send(visitor, state.run, pick_0="SPL")
    done = driver.look(site.store, state.run)
    assert done.result["chosenItems"][0]["path"] == "UI,OTH/SPL"


@pytest.mark.parametrize("mark", ["", "[ ] "])
def test_nothing_chosen_in_an_opened_menu_picks_none_of_it(site: Site, mark: str) -> None:
    """Where several can be chosen there, what was ticked before is the answer."""
    menu = f"  - [REM] {mark}Remove\n    d\n  - [SPL] {mark}Split\n    e\n"
    state = site.ask("Login", text=f"{TAGS.rstrip()}\n{menu}")
    with site.person() as visitor:
        send(visitor, state.run, pick_0=["UI", OTHER])
        assert "Chosen so far: " in visitor.get(f"/runs/{state.run}").text
        send(visitor, state.run, seen_0="1")
        if not mark:
            assert driver.look(site.store, state.run).status == "waiting"
            send(visitor, state.run, text_0="done")
    done = driver.look(site.store, state.run)
    assert done.result["chosenItems"][0]["path"] == "UI"


def test_other_left_blank_opens_its_menu(site: Site) -> None:
    """And what is behind it can be chosen then."""
    state = site.ask("Login")
    with site.person() as visitor:
        send(visitor, state.run, pick_0=OTHER)
        assert "Nobody needs it" in visitor.get(f"/runs/{state.run}").text
        send(visitor, state.run, pick_0="LAT")
    assert driver.look(site.store, state.run).result["chosenItems"][0]["path"] == "OTH/LAT"


def test_the_page_of_an_advisory_question_has_the_words_of_its_text(site: Site) -> None:
    """Numbered choices, and Other says what it does; a form's Other has no such line."""
    with site.person() as visitor:
        for kind, told in (("advisory", True), ("transition", False)):
            state = site.ask("Login", kind=kind)
            page = visitor.get(f"/runs/{state.run}").text
            assert (OWN_WORDS in page) is told
            assert state.ask is not None
            for choice in state.ask.questions[0].choices:
                assert choice.shown in page


def test_an_opened_menu_shows_the_way_up(site: Site) -> None:
    """A button leads to the options before, whatever is marked, and is there only then."""
    state = site.ask("Login")
    with site.person() as visitor:
        page = visitor.get(f"/runs/{state.run}").text
        assert ("Back to the options before" in page, "blank for more" in page) == (False, True)
        send(visitor, state.run, pick_0="NO")
        assert "Back to the options before" in visitor.get(f"/runs/{state.run}").text
        assert send(visitor, state.run, up_0="1", pick_0="TST").status_code == 303
        send(visitor, state.run, pick_0=OTHER)
        page = visitor.get(f"/runs/{state.run}").text
        assert "blank for more" not in page
        assert '"auto">Other…' not in page
        send(visitor, state.run, text_0="back")
        assert "&gt; Matched: Back" in visitor.get(f"/runs/{state.run}").text
        send(visitor, state.run, pick_0="OK")
    assert driver.look(site.store, state.run).result["chosenItems"][0]["path"] == "OK"


def test_a_proof_is_typed_on_the_page(site: Site) -> None:
    """As text, under the name of its field; one that was left out brings the menu back."""
    folder = str(site.folder / "rel")
    site.folder.joinpath("rel").mkdir()
    agent = Source("agent", "command", "")
    fields = [{"name": "hours", "type": "integer"}, "scope"]
    declared = json.dumps([{"label": "1", "proof": fields}, {"label": "2"}])
    phases.start_track(site.store, folder, declared, "phases.json", agent)
    phases.move_track(site.store, folder, "1", approved="", given=Given({}), source=agent)
    here = desk.Showing("terminal")
    beginning = desk.gate(site.store, desk.Gating(folder), here)
    scope = Scope(str(site.folder), str(site.folder))
    run = desk.begin(site.store, Caller("agent", "command", scope=scope), beginning, here).run
    kept = len(pages._panes)
    with site.person() as visitor:
        assert 'class="track"' in visitor.get("/").text
        assert len(pages._panes) == kept  # where it stands is in a file, and read for every page
        send(visitor, run, pick_0="PRC")
        page = visitor.get(f"/runs/{run}").text
        assert "hours (integer)" in page
        assert "blank for more" not in page
        assert page.count("data-value") == 2
        send(visitor, run, text_0="1", pick_1=OTHER)
        assert "What was given for hours is kept" in visitor.get(f"/runs/{run}").text
        send(visitor, run, pick_0="PRC")
        send(visitor, run, text_0="?")
    result = driver.look(site.store, run).result
    assert (result["nextPhase"], result["proofProvided"]) == ("2", "yes, 2 fields")


def test_a_question_asked_back_is_answered_on_the_page(site: Site) -> None:
    """And the question comes again, with the reason why."""
    state = site.ask("Login")
    with site.person() as visitor:
        assert send(visitor, state.run, text_0="?").status_code == 303
        page = visitor.get(f"/runs/{state.run}").text
        assert "It has to change" in page
        assert page.count("<fieldset") == 1
        assert send(visitor, state.run, text_0="Q: who wrote it?").status_code == 303
        assert "who wrote it?" in visitor.get(f"/runs/{state.run}").text
    assert driver.look(site.store, state.run).status == "waiting"


def test_nothing_chosen_is_no_answer(site: Site) -> None:
    """The page says so, and keeps the remark that was typed."""
    state = site.ask("Login")
    with site.person() as visitor:
        refused = send(visitor, state.run, comment_0="hm <b>")
        assert refused.status_code == 422
        assert "Nothing was chosen" in refused.text
        assert "hm &lt;b&gt;</textarea>" in refused.text
    assert site.sources(state.run) == []


def test_an_option_and_words_beside_it_are_not_guessed_at(site: Site) -> None:
    """Without a script a browser can send both; nothing is booked, and both are still there."""
    state = site.ask("Login")
    with site.person() as visitor:
        refused = send(visitor, state.run, pick_0="OK", text_0="no, wait")
        assert refused.status_code == 422
        assert BOTH in refused.text
        assert 'value="no, wait"' in refused.text
        assert re.search(r'value="OK" checked', refused.text)
    assert site.sources(state.run) == []


@pytest.mark.parametrize("code", ["XXX", "../../etc/passwd", "OTH/../OK", "\x00", "…", "OK,NO"])
def test_a_code_that_is_not_offered_is_no_answer(site: Site, code: str) -> None:
    """Whatever it looks like."""
    state = site.ask("Login")
    with site.person() as visitor:
        assert send(visitor, state.run, pick_0=code).status_code == 422
    assert site.sources(state.run) == []


def test_words_that_are_too_long_are_refused(site: Site) -> None:
    """With a reason beside the question."""
    state = site.ask("Login")
    with site.person() as visitor:
        refused = send(visitor, state.run, text_0="x" * 10_001)
        assert refused.status_code == 422
        assert "10,000" in refused.text


def test_the_second_of_two_is_told(site: Site) -> None:
    """Both had the page open; one answer is booked, and the other is told that it was not."""
    state = site.ask("Login")
    with site.person() as one, site.person() as two:
        forms = [hidden(visitor.get(f"/runs/{state.run}").text) for visitor in (one, two)]
        address = f"/runs/{state.run}/answer"
        first = one.post(address, data={**forms[0], "pick-0": "OK"}, follow_redirects=False)
        second = two.post(address, data={**forms[1], "pick-0": "INF"}, follow_redirects=False)
    assert (first.status_code, second.status_code) == (303, 409)
    assert "lready answered" in second.text
    assert "not recorded" in second.text
    assert driver.look(site.store, state.run).result["chosenItems"][0]["path"] == "OK"


def test_a_form_that_is_sent_twice_is_booked_once(site: Site) -> None:
    """A double click, or somebody who sends a recorded form again."""
    state = site.ask("Login", "Cache")
    with site.person() as visitor:
        form = {**hidden(visitor.get(f"/runs/{state.run}").text), "pick-0": "OK", "pick-1": "NO"}
        for _ in range(3):
            again = visitor.post(
                f"/runs/{state.run}/answer", data=form, headers=PAGE, follow_redirects=False
            )
            assert again.status_code == 303
    assert len(site.sources(state.run)) == 1


def test_what_only_a_person_may_answer(site: Site) -> None:
    """Is refused to a stranger and to a program, and taken within a login."""
    state = site.ask("Login")
    run = _for_people(site)
    with site.visitor(**PAGE) as stranger:
        assert "Only a person can answer" in stranger.get(f"/runs/{run}").text
        assert "For a person only" in stranger.get("/").text
        refused = send(stranger, run, pick_0="OK")
        assert refused.status_code == 422
        assert "nly a person" in refused.text
        assert re.search(r'value="OK" checked', refused.text)
        assert send(stranger, state.run, pick_0="OK").status_code == 303
    assert site.sources(run) == []
    assert site.sources(state.run) == [("api", "web", "")]
    with site.person() as visitor:
        assert send(visitor, run, pick_0="OK").status_code == 303
    assert site.sources(run) == [("person", "web", "")]


def _for_people(site: Site) -> str:
    """A run whose questions only a person may answer."""
    from quandary.flows.decide import Terms  # noqa: PLC0415 - only here
    from quandary.formats.markdown import parse  # noqa: PLC0415 - only here
    from sites import REVIEW  # noqa: PLC0415 - only here

    terms = Terms(parse(REVIEW).trees[0], "A plan.", require="person")
    arguments = msgspec.to_builtins(terms)
    state = driver.begin(
        site.store,
        "decide",
        arguments,
        documents={"tree": arguments.pop("tree")},
        project=str(site.folder),
        who="agent",
        through="command",
    )
    return state.run


# -- a run's page --------------------------------------------------------------------------------


def test_the_tree_stands_beside_the_question(site: Site) -> None:
    """With the options marked that are asked about."""
    state = site.ask("Login")
    with site.person() as visitor:

        def marked() -> list[str]:
            page = visitor.get(f"/runs/{state.run}").text
            return re.findall(r'aria-current="step"><code>(\w+)</code>', page)

        assert marked() == ["OK", "INF", "NO"]
        send(visitor, state.run, pick_0="NO")
        assert marked() == ["BUG", "TST", "WAY"]


def test_a_long_story_is_cut(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest entries are shown, and where to find the others."""
    monkeypatch.setattr(run_pages, "MOST_EVENTS", 2)
    state = site.ask("Login", "Cache")
    with site.person() as visitor:
        send(visitor, state.run, pick_0="OK")
        page = visitor.get(f"/runs/{state.run}").text
        assert page.count('<span class="kind">') == 2
        assert "earlier entries are not shown" in page


def test_a_run_that_is_not_there(site: Site) -> None:
    """A page that says so and leads back."""
    with site.visitor(Accept="text/html") as visitor:
        missing = visitor.get("/runs/0ABC")
        assert missing.status_code == 404
        assert "there is no run" in missing.text
        assert 'href="/"' in missing.text


@pytest.mark.parametrize(
    "path",
    [
        "/runs/..%2f..%2fetc%2fpasswd",
        "/runs/%2e%2e",
        "/runs/a%00b",
        "/runs/" + "A" * 27,
        "/runs?status=..%2f",
        "/runs?after=-1",
        "/runs?after=9999999999999999999999",
        "/?order=../x",
        "/?after=-1",
        "/?kind=x",
        "/static/..%2f..%2fkeys.py",
        "/static/../keys.py",
        "/static/%2e%2e/keys.py",
        "/static//etc/passwd",
        "/static/..\\keys.py",
        "/events?run=../x",
    ],
)
def test_paths_lead_nowhere_else(site: Site, path: str) -> None:
    """In the address and in every parameter; what is refused shows no file and no traceback."""
    with site.visitor(Accept="text/html") as visitor:
        refused = visitor.get(path)
        assert refused.status_code in (400, 404)
        for word in ("Traceback", "root:", "hmac", 'File "'):
            assert word not in refused.text


def test_a_mistake_of_ours_shows_nothing_of_itself(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The page says that something went wrong; the terminal of the server says what."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a secret in a message")

    monkeypatch.setattr(site.store, "runs", broken)
    with site.visitor() as visitor:
        for path, accept in (("/runs", "text/html"), ("/api/runs", "*/*")):
            answer = visitor.get(path, headers={"Accept": accept})
            assert answer.status_code == 500
            assert "secret" not in answer.text
            assert "Traceback" not in answer.text
    assert "a secret in a message" in caplog.text


def test_an_open_page_is_sent_no_list_that_it_has(site: Site) -> None:
    """News of something else cost it nothing; what is asked or answered changes the list."""
    first = site.ask("Login")
    with site.person() as visitor:
        part = {"x-part": "inbox_list"}
        shown = visitor.get("/", headers=part)
        known = part | {"if-none-match": shown.headers["etag"]}
        for path in ("/", f"/runs/{first.run}"):
            answer = visitor.get(path, headers=known)
            assert (answer.status_code, answer.content) == (304, b"")
        other = site.ask("Search")
        assert other.run in visitor.get("/", headers=known).text
        send(visitor, other.run, pick_0="OK")
        assert visitor.get("/", headers=known).status_code == 304
        assert visitor.get("/?order=newest", headers=known).status_code == 200


def test_until_figures_are_there_strangers_see_how_many_runs_their_project_has(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing of any other; a login sees all of them."""
    monkeypatch.setattr(pages, "find_figures", lambda *_: (None, False))
    for _ in range(2):
        site.ask("Login")
    Site(tmp_path / "other", site.store).ask("Logout")
    for visiting, count in ((site.visitor(Accept="text/html"), 2), (site.person(), 3)):
        with visiting as visitor:
            assert f"<dt>runs</dt><dd>{count}</dd>" in visitor.get("/stats").text


def test_statistics_follow_the_journal(site: Site) -> None:
    """What was added is counted, and until then that is said."""

    def counted() -> str:
        while "data-counting" in (page := visitor.get("/stats").text):
            pass
        return page

    with site.person() as visitor:
        assert "No questions were asked" in counted()
        state = site.ask("Login")
        send(visitor, state.run, pick_0="OK")
        page = counted()
        assert "Questions per day" in page
        assert "Looks good" in page
        assert 'aria-label="Time to answer: &lt; 10 s 1"' in page


def test_trees_are_drawn_with_what_is_wrong(site: Site) -> None:
    """Those of the project; a file that cannot be read is named."""
    (site.folder / "good.md").write_text(TAGS, encoding="utf-8")
    (site.folder / "bad.md").write_text(TAGS.replace("[DB]", "[UI]"), encoding="utf-8")
    (site.folder / "worse.md").write_bytes(b"### \xb6ASK \xff\xfe")
    with site.visitor() as visitor:
        page = visitor.get("/trees").text
        assert "code-duplicate" in page
        assert "worse.md" in page
        assert "What people see" in page


def test_extras_are_buttons_and_told_apart(site: Site) -> None:
    """One that only shows something leaves the question open; the other one decides."""
    extras = ["A? Show the <SQL>", "B: Merge both"]
    state = site.ask("Login", extras=extras)
    with site.person() as visitor:
        page = visitor.get(f"/runs/{state.run}").text
        shows, decides = re.findall(r'<button class="extra[^"]*"[^>]*>.*?</button>', page)
        assert 'class="extra first" name="extra-0" value="A"' in shows
        assert "Show the &lt;SQL&gt;" in shows
        assert "the question stays open" in shows
        assert "stays open" not in decides
        assert "See first" not in page
        send(visitor, state.run, extra_0="A", comment_0="all of it")
        waiting = driver.look(site.store, state.run)
        assert [(n.kind, n.text) for n in waiting.notes] == [("extra", "Show the <SQL>")]
        send(visitor, state.run, extra_0="B", pick_0="OK")
    [chosen] = driver.look(site.store, state.run).result["chosenItems"]
    assert (chosen["path"], chosen["comment"]) == ("OTH/smart:Merge both", "all of it")


def test_a_choice_is_sent_back_to_the_letter(site: Site) -> None:
    """What is invisible in its code is shown nowhere, and yet it is that choice."""
    text = "## Decision: Hidden\n- [A\u200bB] One\n- [AB] Two\n- [C] Three\n- [OTH] Other\n"
    state = site.ask(text=text)
    with site.person() as visitor:
        page = visitor.get(f"/runs/{state.run}").text
        assert "\u200b" not in page
        [code] = re.findall(r'value="(A&#[^"]+)"', page)
        assert send(visitor, state.run, pick_0=html.unescape(code)).status_code == 303
    assert driver.look(site.store, state.run).result["chosenItems"][0]["path"] == "A\u200bB"


@pytest.fixture(params=["file", "server"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A site with its journal in a file, or on a server."""
    if request.param == "file":
        yield Site(tmp_path)
    else:
        with databases.shared().schema() as url, closing(PostgresStore(url)) as store:
            yield Site(tmp_path, store)


@contextmanager
def statements(store: Store) -> Iterator[list[str]]:
    """Within it, what is asked of a store is kept, but for what is asked for those who listen."""
    said: list[str] = []
    if isinstance(store, SqliteStore):
        store._db.set_trace_callback(said.append)
        yield said
        store._db.set_trace_callback(None)
    else:
        with databases.recorded() as recorded:
            yield said
        said += [sql for sql, _ in recorded]
    news = ("--", "SELECT seq, run, body FROM entry WHERE seq >", "LISTEN", "SELECT min(key)")
    said[:] = [sql for sql in map(str.strip, said) if not sql.startswith(news)]


def test_no_page_asks_the_store_more_than_five_times(either: Site) -> None:
    """However much there is to show: what is read for one row is read for all."""
    site = either
    open_run = [site.ask("Login", "Cache").run for _ in range(20)][3]
    walk = walks.released(site.store).run
    with site.person() as visitor:
        done = site.ask("Done").run
        send(visitor, done, pick_0="OK")
        for place in (
            "/",
            "/?q=login",
            "/?kind=decision",
            f"/?answered={done}&past=3",
            "/runs",
            "/runs?q=login",
            f"/runs/{open_run}",
            f"/runs/{done}",
            f"/runs/{walk}",
            f"/runs/{done}/amend?to=1:",
            "/stats",
        ):
            visitor.get(place)  # whoever searches first fills the index
            looks = []
            for _ in range(3):  # those who listen ask beside it now and then
                with statements(site.store) as asked:
                    assert visitor.get(place).status_code == 200
                looks.append(asked)
            assert min(map(len, looks)) <= 5, (place, looks)


def test_a_long_question_is_kept_in_no_memory(site: Site) -> None:
    """Else whoever asks could fill that of the server."""
    site.ask("Login", context="word " * inbox.LARGE)
    kept = len(inbox._read), len(inbox._lists), len(pages._panes)
    with site.visitor() as visitor:
        assert "Login" in visitor.get("/").text
    assert (len(inbox._read), len(inbox._lists), len(pages._panes)) == kept


def test_a_question_with_attachments_is_laid_out_each_time(site: Site) -> None:
    """What is shown beside them may be pruned with the run that it comes from."""
    kept = len(pages._panes)
    site.ask("Login", attach=[{"name": "plan.md", "text": "# Plan"}])
    with site.visitor() as visitor:
        assert "plan.md" in visitor.get("/").text
    assert len(pages._panes) == kept


def test_a_question_that_was_laid_out_before_comes_with_a_new_token(site: Site) -> None:
    """It is laid out anew for somebody else, and when something happens to it."""
    run = site.ask("Login").run
    token = re.compile('name="token" value="([^"]+)"')
    with site.visitor() as visitor, site.person() as person:
        first, second = (visitor.get("/").text for _ in range(2))
        assert token.findall(first) != token.findall(second)
        assert token.sub("", first) == token.sub("", second)
        assert "You are not logged in" in first
        assert "You are not logged in" not in person.get("/").text
        note = Note("seen", "A squirrel was seen.")
        driver.note(site.store, run, note, who="agent", through="command")
        assert "A squirrel was seen." in visitor.get("/").text


def test_a_row_leads_back_to_the_page_that_it_was_seen_on(site: Site) -> None:
    """Also where it was shown on another page before."""
    asked = [site.store.require_run(site.ask(title).run) for title in ("Login", "Cache", "Search")]
    before, row = asked[0].number, asked[2].id
    with site.visitor() as visitor:
        assert f'href="/runs/{row}"' in visitor.get("/").text
        assert f'href="/runs/{row}?after={before}"' in visitor.get(f"/?after={before}").text


def test_the_index_has_what_came_while_it_was_made(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever searches adds to it the words that stand in the store then, not those of before."""
    run, pieces = site.ask("Login").run, list[int]()

    def answer_between(store: Store) -> int:
        pieces.append(index_some(store))
        if len(pieces) == 1:
            reply = Reply((Answer("1:", text="zebra", raw="zebra"),))
            driver.advance(site.store, run, reply, who="person", through="web")
        return pieces[-1]

    monkeypatch.setattr(store_room, "_PIECE", 2)
    monkeypatch.setattr(inbox, "INDEXING", 60.0)
    monkeypatch.setattr(inbox, "index_some", answer_between)
    with site.visitor() as visitor:
        assert run in visitor.get("/?q=zebra").text
