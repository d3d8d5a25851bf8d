"""The pages in a real browser: answering, keys, a phone, no scripts, a server that dies."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from copy import copy
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from playwright.sync_api import expect

import walks
from browsers import DESKTOP, NEEDED, PHONE, World, elsewhere, question, send, turning
from quandary.desk import reply as replies
from quandary.desk.authority import Caller
from quandary.desk.timeline import moment
from quandary.journal import runs
from quandary.journal.chance import now
from quandary.model.asks import Answer, Reply
from sites import REVIEW, TAGS

if TYPE_CHECKING:
    from pathlib import Path

AWAY = re.compile("The server cannot be reached")

pytestmark = NEEDED


# -- answering -----------------------------------------------------------------------------------


@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_batch_with_follow_ups_and_own_words(world: World, device: dict[str, Any]) -> None:
    """Three items: one fine, one that leads deeper, one in the person's own words."""
    run = world.site.ask("Login", "Cache", "Queue").run
    with world.person(**device) as page:
        page.goto("/")
        page.locator(f'a[href="/runs/{run}"]').click()
        question(page, 0).get_by_text("More info needed").click()
        question(page, 0).get_by_text("Looks good").click()  # on second thoughts
        question(page, 1).get_by_text("Rework...").click()
        question(page, 2).locator("[data-words]").fill("merge it with the cache")
        expect(question(page, 2).locator("[data-reading]")).to_have_text("→ your own words")
        send(page)
        expect(page.get_by_text("Tests are missing", exact=True).first).to_be_visible()
        question(page).locator("label.card", has_text="Tests are missing").click()
        question(page).get_by_text("Add a remark").click()
        question(page).locator("textarea").fill("at least one")
        send(page)
        page.goto(f"/runs/{run}")
        expect(page.get_by_text("Queue: OTH/custom:merge it with the cache").first).to_be_visible()
    assert world.result(run) == ["OK", "NO/TST", "OTH/custom:merge it with the cache"]
    assert world.site.sources(run) == [("person", "web", "")] * 2


@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_several_options(world: World, device: dict[str, Any]) -> None:
    """Ticked and taken back, with words beside them."""
    run = world.site.ask("Login", text=TAGS).run
    with world.person(**device) as page:
        page.goto(f"/runs/{run}")
        for label in ("Documentation", "Database", "Interface", "Database"):
            question(page).locator("label.card", has_text=label).click()
        question(page).locator("[data-words]").fill("and the logo")
        send(page)
    assert world.result(run) == ["UI,DOC,OTH/custom:and the logo"]


def test_an_extra_of_one_question_keeps_the_others(world: World) -> None:
    """Only that question is sent; Enter in a box presses no extra."""
    run = world.site.ask("Login", "Cache", extras=["L? Show the plan", "M: Merge both"]).run
    with world.person() as page:
        page.goto(f"/runs/{run}")
        question(page, 1).get_by_text("Looks good").click()
        question(page, 0).get_by_role("button", name="Show the plan").click()
        expect(page.get_by_text("You asked: Show the plan").first).to_be_visible()
        question(page, 0).get_by_role("button", name="Merge both").click()
        expect(page.locator("fieldset")).to_have_count(1)
        expect(question(page).get_by_label("Looks good")).to_be_checked()
        send(page)
    assert world.result(run) == ["OTH/smart:Merge both", "OK"]


def test_the_other_box_says_how_it_will_be_read(world: World) -> None:
    """While typing; and what is typed beside a chosen option is not sent."""
    run = world.site.ask("Login").run
    with world.person() as page:
        page.goto(f"/runs/{run}")
        box, reading = (
            question(page).locator("[data-words]"),
            question(page).locator("[data-reading]"),
        )
        for typed, read in (
            ("later", "→ Later"),
            ("!skip", "→ skip it"),
            ("Q: who?", "→ asks: who?"),
            ("???", "→ asks: explain in full"),
            ("a", "→ A: Show it again"),
        ):
            box.fill(typed)
            expect(reading).to_have_text(read)
        question(page).get_by_text("Looks good").click()
        expect(reading).to_have_text("not sent, because an option is chosen")
        send(page)
    assert world.result(run) == ["OK"]


@pytest.mark.parametrize("asked", ["?", "Q: who wrote it?"])
def test_what_is_asked_back_for_one_item_leaves_the_others_answered(
    world: World, asked: str
) -> None:
    """They are recorded with what was sent, and never asked again; only that item comes back."""
    run = world.site.ask("Login", "Cache", "Queue").run
    with world.person() as page:
        page.goto(f"/runs/{run}")
        question(page, 0).get_by_text("Looks good").click()
        question(page, 2).get_by_text("More info needed").click()
        question(page, 1).locator("[data-words]").fill(asked)
        send(page)
        expect(page.locator("fieldset")).to_have_count(1)
        expect(page.locator("#asked")).to_contain_text("Cache")
        question(page).get_by_text("Looks good").click()
        send(page)
    assert world.result(run) == ["OK", "OK", "INF"]


def test_keyboard_alone(world: World) -> None:
    """Numbers, letters, arrows, enter, the question mark; from the inbox to the end."""
    run = world.site.ask("Login", "Cache", "Queue", "Shop").run
    with world.person() as page:
        page.goto(f"/runs/{run}")
        press = page.keyboard.press
        press("1")  # the first question, which leads to the second
        press("r")  # Rework
        press("ArrowDown")
        press("ArrowDown")
        press("ArrowUp")
        press("Enter")  # More info needed
        press("4")  # Other, into the box
        page.keyboard.type("later")
        press("Escape")
        press("ArrowLeft")
        press("ArrowLeft")
        press("ArrowLeft")
        press("m")  # the first one again: More info needed in place of Looks good
        expect(question(page, 0).locator('input[value="INF"]')).to_be_checked()
        with turning(page):
            press("Enter")
        press("4")
        page.keyboard.type("?")
        with turning(page):
            press("Enter")
        expect(page.locator(".preamble")).to_contain_text("It does something else")
        expect(page.locator("[data-hint]")).to_contain_text("chooses")  # keys are listened to
        press("3")
        with turning(page):
            press("Enter")
        expect(page.locator(".notice")).to_contain_text("Another way")
    assert world.result(run) == ["INF", "NO/WAY", "INF", "OTH/LAT"]


def test_without_scripts(world: World) -> None:
    """Forms are forms: a batch, a follow-up, a mistake that is kept on the page."""
    run = world.site.ask("Login", "Cache").run
    with world.person(java_script_enabled=False) as page:
        page.goto(f"/runs/{run}")
        send(page)
        expect(page.get_by_role("alert")).to_contain_text("Nothing was chosen")
        question(page, 0).get_by_text("Looks good").click()
        question(page, 1).get_by_text("More info needed").click()
        question(page, 1).locator("[data-words]").fill("from whom?")
        send(page)
        expect(page.get_by_role("alert").first).to_contain_text("Fix the problems")
        expect(question(page, 0).locator('input[value="OK"]')).to_be_checked()
        question(page, 1).get_by_text("Other…").click()
        question(page, 1).locator("[data-words]").fill("")
        send(page)
        question(page).locator("label.card", has_text="Drop it").click()
        send(page)
        page.goto(f"/runs/{run}")
        expect(page.get_by_text("Cache: Drop it (OTH/DRP)").first).to_be_visible()
    assert world.result(run) == ["OK", "OTH/DRP"]


def test_two_browsers_and_one_question(world: World) -> None:
    """The slower one is shown that it is too late; what they send all the same is not booked."""
    run = world.site.ask("Login").run
    with world.person() as one, world.person() as two, world.context() as plain:
        slow = plain.new_page()
        for page in (one, two, slow):
            page.goto(f"/runs/{run}")
        question(two).get_by_text("More info needed").click()
        question(one).get_by_text("Looks good").click()
        send(one)
        expect(two.locator("#live")).to_contain_text("answered elsewhere")
        expect(two.get_by_role("button", name="Send")).to_be_disabled()
        expect(slow.locator(".status.done")).to_be_visible()  # nothing was filled in there
        two.evaluate("document.querySelector('[data-ask]').requestSubmit()")
        expect(two.get_by_role("alert")).to_contain_text("not recorded")
    assert world.result(run) == ["OK"]


# -- triage --------------------------------------------------------------------------------------


def test_the_next_question_opens_and_the_last_answer_can_be_undone(world: World) -> None:
    """With a notice that says what was answered; undone, it waits again under another key."""
    world.clear()
    first, second = world.site.ask("Login").run, world.site.ask("Cache").run
    with world.person(**DESKTOP) as page:
        page.goto("/")
        press, open_row = page.keyboard.press, page.locator("li.current")
        expect(page.locator("legend")).to_contain_text("Login")  # the first one is open already
        press("1")
        with turning(page):
            press("Enter")
        expect(page.locator(".notice")).to_contain_text("Answered: Login: Looks good")
        expect(page.locator("legend")).to_contain_text("Cache")
        expect(open_row).to_have_attribute("data-row", second)
        with turning(page):
            press("u")
        expect(page.locator("legend")).to_contain_text("Login")
        assert runs.look(world.site.store, first).key == "1:~a1"
        with turning(page):
            press("j")
        expect(open_row).to_have_attribute("data-row", second)
        with turning(page):
            press("k")
        press("2")
        with turning(page):
            press("Enter")
        runs.hand_over(world.site.store, first, who="agent", through="command")
        with turning(page):
            press("u")
        expect(page.get_by_role("alert")).to_contain_text("has it already")
        page.get_by_text("Change an answer", exact=True).click()
        expect(page.get_by_role("link", name="Change the answer to")).to_be_visible()
    assert world.result(first) == ["INF"]


def test_a_visitor_reads_what_was_recorded(world: World) -> None:
    """Without a login too; what others decided elsewhere is told to nobody who does not see it."""
    world.clear()
    world.site.ask("Login")
    world.site.ask("Cache")
    hidden = ask_in(world, "bank", "Vault")
    reply = Reply((Answer("1:", picked=("OK",)),))
    runs.advance(world.site.store, hidden, reply, who="person", through="web")
    with world.context() as context:
        page = context.new_page()
        page.goto("/")
        page.keyboard.press("1")
        with turning(page):
            page.keyboard.press("Enter")
        expect(page.locator("legend")).to_contain_text("Cache")
        expect(page.locator(".notice")).to_contain_text("Answered: Login: Looks good")
        expect(page.locator("[data-undo]")).to_have_count(0)
        page.keyboard.press("3")
        with turning(page):
            page.keyboard.press("Enter")  # which leads deeper
        expect(page.locator(".notice")).to_contain_text("Answered: Cache: Rework")
        page.goto(f"/?answered={hidden}")
        expect(page.locator("legend")).to_contain_text("Cache")
        expect(page.locator(".notice")).to_have_count(0)


def test_enter_opens_the_first_hit_of_a_search(world: World) -> None:
    """At once, also what does not wait; keys then answer it, and the search stays."""
    world.clear()
    for name in ("Login", "Cache", "Cupboard"):
        world.site.ask(name)
    done = world.site.ask("Xylophone").run
    reply = Reply((Answer("1:", picked=("OK",)),))
    runs.advance(world.site.store, done, reply, who="person", through="web")
    with world.context() as context:
        page = context.new_page()
        for place in ("/", "/?q=login"):  # with a question open, and with none
            page.goto(place)
            page.keyboard.press("/")
            page.keyboard.type("cupboard")
            with turning(page):
                page.keyboard.press("Enter")
            expect(page.locator("legend")).to_contain_text("Cupboard")
            expect(page.get_by_role("searchbox")).to_have_value("cupboard")
            expect(page.locator("#list [data-row]")).to_have_count(1)
            page.keyboard.press("1")
            expect(question(page).locator('input[value="OK"]')).to_be_checked()
        page.keyboard.press("/")
        page.keyboard.type("nowhere at all")
        page.keyboard.press("Enter")
        expect(page.locator("#live")).to_have_text("Nothing fits.")
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.keyboard.type("xylophone")
        with turning(page):
            page.keyboard.press("Enter")
        expect(page.locator(".status.done")).to_be_visible()


def test_a_key_that_cannot_undo_says_why(world: World) -> None:
    """To a visitor that they can log in; to a person that there is nothing."""
    world.clear()
    world.site.ask("Login")
    with world.context() as context, world.person() as person:
        visitor = context.new_page()
        for page, said in ((visitor, "Log in to undo an answer."), (person, "no answer to undo")):
            page.goto("/")
            page.keyboard.press("u")
            expect(page.locator("#live")).to_contain_text(said)


def test_a_code_can_be_typed_whatever_its_letters(world: World) -> None:
    """What is typed into a field is for the field, and no command of the page."""
    with world.context(**DESKTOP) as context:
        page = context.new_page()
        page.goto("/login")
        page.get_by_label("Code or token").press_sequentially("egjkux?/123")
        expect(page.get_by_label("Code or token")).to_have_value("egjkux?/123")


def test_keys_search_snooze_and_select(world: World) -> None:
    """Words find what waits and what was decided; what is snoozed is gone until it is due."""
    world.clear()
    done = world.site.ask("Warehouse").run
    reply = Reply((Answer("1:", picked=("OK",)),))
    runs.advance(world.site.store, done, reply, who="person", through="web")
    names = ["Login", "Cache", "Queue"]
    simple = "### ¶ASK_S\n## Decision: Size\n- [S] Small\n- [L] Large\n- [OTH] Other\n"
    asked = [world.site.ask(name, text=simple).run for name in names]
    grave = simple.replace("Large", "Delete the production database")
    other = world.site.ask("Stock for the warehouse", text=grave).run
    with world.person(**DESKTOP) as page:
        page.goto("/")
        press, listed = page.keyboard.press, page.locator("#list [data-row]")
        press("?")
        expect(page.locator("#keys")).to_be_visible()
        press("Escape")
        press("/")
        page.keyboard.type("warehouse")
        expect(listed).to_have_count(1)
        expect(listed).to_have_attribute("data-row", other)
        expect(listed.get_by_title("One-way")).to_be_visible()
        expect(page.locator(".earlier li")).to_have_count(1)  # it is not waiting
        assert page.url.endswith("?q=warehouse")  # saved in the address
        page.goto("/")
        press("x")
        with turning(page):
            press("j")
        press("x")
        expect(page.locator("[data-together]")).to_have_text("Answer 2 together")
        assert page.locator(f'.tick input[value="{other}"]').count() == 0  # never together
        with page.expect_navigation():
            press("Enter")
        expect(page.locator("h1")).to_have_text("Answer 2 questions together")
        press("2")
        with turning(page):
            press("Enter")
        expect(page.locator(".notice")).to_contain_text("Answered 2 questions")
        expect(page.locator("legend")).to_contain_text("Queue")
        press("e")
        press("Escape")  # on second thoughts
        press("Enter")
        expect(page.locator("[data-snooze][open]")).to_have_count(0)
        assert runs.look(world.site.store, asked[2]).n == 2
        press("e")
        with turning(page):
            press("Enter")  # for an hour
        expect(listed).to_have_count(1)
        page.get_by_role("link", name="Snoozed: 1").click()
        expect(listed).to_have_attribute("data-row", asked[2])
        press("g")
        press("r")
        expect(page.locator("h1")).to_have_text("Runs")
    assert [world.result(run) for run in asked[:2]] == [["L"], ["L"]]
    assert runs.look(world.site.store, asked[2]).status == "waiting"  # no answer was given


def test_a_row_says_what_it_is_about(world: World) -> None:
    """44 pixels: project, who asked, the question in bold, a line of context, an age that ticks."""
    world.clear()
    asking: dict[str, Any] = {
        "context": "All **checks** have passed.",
        "text": REVIEW,
        "by": "Release bot",
    }
    asking["items"] = [{"id": "1", "title": "Login"}]
    begun = httpx.post(f"{world.server.address}/api/asks", json=asking, timeout=30)
    run = begun.json()["run"]
    with world.person() as page:
        page.clock.install()
        page.goto("/")
        row, age = page.locator(f'[data-row="{run}"]'), page.locator("#list time").first
        expect(row.locator(".chip")).to_have_text(world.site.folder.name)
        expect(row.locator(".asker")).to_have_text("Release bot")
        expect(row.locator(".context")).to_have_text("All checks have passed.")
        world.site.ask("Mail")
        for link in (row.locator(".asker"), row.locator(".chip")):  # only what they asked
            with turning(page):
                link.click()
            expect(page.locator("#list [data-row]")).to_have_count(1 if "asker=" in page.url else 2)
            assert re.search(r"/\?(asker|project)=", page.url)
            page.goto("/")
        style = row.evaluate(
            """row => [row.clientHeight, ...[".ask", ".context"].map((part) =>
              getComputedStyle(row.querySelector(part)))].map((one) =>
              one.fontWeight ? [one.fontWeight, one.whiteSpace] : one)"""
        )
        assert style == [pytest.approx(44, abs=1), ["600", "nowrap"], ["400", "nowrap"]]
        expect(page.locator(".list")).to_be_visible()  # beside the question
        expect(page.locator(".pane fieldset")).to_be_visible()
        page.clock.fast_forward("05:00")
        expect(age).to_have_text("5 min")
        said = page.locator("body").inner_text().casefold()
        assert [word for word in ("decide", "transition", "advisory", "[ok]") if word in said] == []
        press = page.keyboard.press
        press("?")
        keys = page.locator("#keys kbd").all_inner_texts()
        assert set("jkuex/girts<19;") | {"Enter", "Esc", "↑", "↓", "←", "→"} <= set(keys)


def test_a_remark_on_a_line_needs_no_mouse(world: World) -> None:
    """The lines of a plan are numbered, and a key leads to the box for remarks and back."""
    world.clear()
    plan = "# Move\n\n1. Copy\n2. Switch\n\n```sh\nrsync\n```\n"
    run = world.site.ask("Move", attach=[{"name": "plan.md", "text": plan}]).run
    with world.person() as page:
        page.goto("/")
        numbers = page.locator(".numbered [data-line]").evaluate_all(
            "all => all.map((one) => getComputedStyle(one, '::before').content)"
        )
        assert numbers == ['"1"', '"3"', '"4"', '"7"']  # that of the command, behind its fence
        page.keyboard.press(";")
        page.keyboard.type("4: at night")
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        with turning(page):
            page.keyboard.press("Enter")
        expect(page.locator(".notice")).to_contain_text("plan.md:4 at night")
    assert world.result(run) == ["OK"]


def test_the_hint_says_which_key_sends(world: World) -> None:
    """In a box of several lines Enter begins one, and Ctrl+Enter sends; elsewhere Enter does."""
    world.clear()
    plan = {"name": "plan.md", "text": "# Move\n\n1. Copy\n"}
    asked = [world.site.ask("Login").run, world.site.ask("Move", attach=[plan]).run]
    with world.context() as context:
        page = context.new_page()
        page.goto("/")
        hint = page.locator("[data-hint]")
        for remark in ("one\ntwo", "3: at night\n3: or never"):
            expect(hint).to_contain_text("chooses Enter sends")
            page.keyboard.press("1")
            page.keyboard.press(";")
            expect(hint).to_contain_text("Enter begins a line Ctrl+Enter sends")
            page.keyboard.press("Escape")
            expect(hint).to_contain_text("chooses Enter sends")
            page.keyboard.press(";")
            page.keyboard.type(remark)
            expect(page.locator("textarea:focus")).to_have_value(remark)
            with turning(page):
                page.keyboard.press("Control+Enter")
        expect(page.locator(".notice")).to_contain_text("plan.md:3 at night")
    assert [world.result(run) for run in asked] == [["OK"], ["OK"]]


def test_an_answer_that_leads_deeper_is_undone_like_any_other(world: World) -> None:
    """The notice stands above the question that follows in the same run."""
    world.clear()
    world.site.ask("Login")
    with world.person() as page:
        page.goto("/")
        page.keyboard.press("3")
        with turning(page):
            page.keyboard.press("Enter")
        expect(page.locator(".notice")).to_contain_text("Answered: Login: Rework")
        expect(page.locator("legend")).to_contain_text("Rework")
        with turning(page):
            page.keyboard.press("u")
        expect(page.locator("legend")).not_to_contain_text("Rework")


@pytest.mark.parametrize("kind", ["file", "server"])
def test_words_find_questions_contexts_answers_names_and_projects(
    world: World, kind: str, tmp_path: Path
) -> None:
    """As they are typed, on either kind of store: what waits, and what does not below it."""
    with (
        elsewhere(tmp_path / "harbour", world.browser)
        if kind == "server"
        else nullcontext(world) as here
    ):
        here.clear()
        asking = {"context": "All **checks** have passed.", "text": REVIEW, "by": "Release bot"}
        given = {**asking, "items": [{"id": "1", "title": "Login"}]}
        httpx.post(f"{here.server.address}/api/asks", json=given, timeout=30)
        done, reply = here.site.ask("Mail").run, Reply((Answer("1:", text="Zanzibar first"),))
        said = {"who": "person", "through": "web", "by": "Grace Hopper"}
        runs.advance(here.site.store, done, reply, **said)  # type: ignore[arg-type]
        with here.person() as page:
            page.goto("/")
            listed, earlier = page.locator("#list [data-row]"), page.locator(".earlier li")
            for words, waiting, is_decided in (
                ("login", 1, False),  # the question
                ("checks passed", 1, False),  # the context
                ("tests are missing", 0, False),  # only of a level below
                ("looks good", 1, False),  # an option
                ("release bot", 1, False),  # who asks
                ("grace hopper", 0, True),  # who answered
                (here.site.folder.name, 1, True),  # a project
                ("zanzibar", 0, True),  # an answer
            ):
                page.keyboard.press("/")
                page.keyboard.type(words)
                expect(listed).to_have_count(waiting)
                found = earlier.filter(has_text="Mail").first
                expect(found).to_be_visible(visible=is_decided)
                page.keyboard.press("Escape")
                expect(listed).to_have_count(1)


def test_what_is_snoozed_comes_back_by_itself(world: World) -> None:
    """For an hour, until tomorrow or a date; when it is due, it is in the list again."""
    world.clear()
    run, store = world.site.ask("Login").run, world.site.store
    tomorrow = now().astimezone().date() + timedelta(days=1)
    with world.person() as page:
        for button, day in (("Tomorrow", tomorrow), ("Until then", tomorrow + timedelta(days=8))):
            page.goto(f"/runs/{run}")
            page.keyboard.press("e")
            if button == "Until then":
                page.locator("input[type=date]").fill(str(day))
            with turning(page):
                page.get_by_role("button", name=button).click()
            expect(page.locator("h1")).to_have_text("Inbox 0")
            note = [entry.read() for entry in store.entries(run, kinds=("noted",))][-1]
            due = datetime.fromisoformat(getattr(note, "until", "")).astimezone()
            assert (due.date(), due.hour) == (day, 9)
        person = Caller("person", "web")
        replies.snooze(store, person, run, now() + timedelta(seconds=2), None)
        page.goto("/")
        expect(page.locator(f'[data-row="{run}"]')).to_be_visible()
        expect(page.locator("legend")).to_contain_text("Login")
    assert runs.look(store, run).status == "waiting"


def test_arrows_move_in_the_menu_for_snoozing(world: World) -> None:
    """Also to the date, where Enter means that date; and a notice says until when."""
    world.clear()
    first, second = world.site.ask("Login").run, world.site.ask("Cache").run
    day = now().astimezone().date() + timedelta(days=9)
    with world.context() as context:
        page = context.new_page()
        page.goto("/")
        press, here = page.keyboard.press, page.locator("[data-snooze] :focus")
        press("e")
        for key, name in (("Up", "Until then"), ("Down", "1 hour"), ("Down", "Tomorrow")):
            press(f"Arrow{key}")
            expect(here).to_have_text(name)
        with turning(page):
            press("Enter")
        expect(page.locator("legend")).to_contain_text("Cache")
        expect(page.locator(".notice")).to_contain_text(f"Snoozed until {snoozed(world, first)}")
        press("e")
        press("ArrowDown")
        press("ArrowDown")
        expect(here).to_have_attribute("type", "date")
        here.fill(str(day))
        with turning(page):
            press("Enter")
        expect(page.locator(".notice")).to_contain_text(f"Snoozed until {snoozed(world, second)}")
    due = datetime.fromisoformat(snoozed(world, second)).astimezone()
    assert (due.date(), due.hour) == (day, 9)


def snoozed(world: World, run: str) -> str:
    """Until when a run is, as pages have it."""
    notes = [entry.read() for entry in world.site.store.entries(run, kinds=("noted",))]
    return moment(getattr(notes[-1], "until", ""))[:-1]


def ask_in(world: World, project: str, title: str, **wanted: Any) -> str:  # noqa: ANN401 - any
    """A question of another project, in the same journal."""
    folder = world.site.folder / project
    (folder / ".quandary").mkdir(parents=True, exist_ok=True)
    asked = copy(world.site)
    asked.folder = folder
    return asked.ask(title, **wanted).run


def test_a_list_says_how_many_wait_and_goes_project_by_project(world: World) -> None:
    """Counts of all and of each; in that order an answer leads to the next of the same project."""
    world.clear()
    asked = [ask_in(world, name, f"{name} {n}") for n in (1, 2) for name in ("web", "api", "docs")]
    with world.person() as page:
        page.goto("/")
        expect(page.locator("h1")).to_have_text("Inbox 6")
        expect(page).to_have_title("(6) Inbox · Quandary")
        projects = page.get_by_role("navigation", name="Projects").get_by_role("link")
        expect(projects).to_have_text(["api 2", "docs 2", "web 2"])
        with turning(page):
            page.get_by_role("link", name="Project", exact=True).click()
        expect(page.locator("h2.group")).to_have_text(["api 2", "docs 2", "web 2"])
        rows = page.locator("#list [data-row]")
        in_order = [asked[place] for place in (1, 4, 2, 5, 0, 3)]
        assert rows.evaluate_all("all => all.map(one => one.dataset.row)") == in_order
        expect(page.locator("legend")).to_contain_text("api 1")
        for title in ("api 2", "docs 1"):
            page.keyboard.press("1")
            with turning(page):
                page.keyboard.press("Enter")
            expect(page.locator("legend")).to_contain_text(title)
        expect(page.locator("h1")).to_have_text("Inbox 4")
        with turning(page):
            projects.filter(has_text="web").click()
        expect(rows).to_have_count(2)
        expect(page.locator("h1")).to_have_text("Inbox 2 of 4")
        assert "project=" in page.url
        ask_in(world, "web", "web 3")
        expect(page.locator("h1")).to_have_text("Inbox 3 of 5")  # by itself


def test_an_empty_inbox_says_whose_questions_it_shows(world: World) -> None:
    """Without a login those of one project, and no word on how many wait in others."""
    world.clear()
    ask_in(world, "bank", "Vault")
    with world.context() as context, world.person() as person:
        page = context.new_page()
        page.goto("/")
        empty = page.locator(".empty")
        for _ in ("as it is opened", "as it is refreshed"):
            expect(empty.locator("h2")).to_have_text(
                f"You're all caught up in {world.site.folder.name}"
            )
            expect(empty).to_contain_text("the questions of this project only")
            expect(empty.get_by_role("link", name="Log in")).to_be_visible()
            expect(page.locator("h1")).to_have_text("Inbox 0")
            assert not re.search("bank|vault", page.content(), re.IGNORECASE)
            run = world.site.ask("Login").run
            expect(page.locator(f'[data-row="{run}"]')).to_be_visible()
            runs.withdraw(world.site.store, run, "no need", who="person", through="terminal")
        person.goto("/")
        expect(person.locator("legend")).to_contain_text("Vault")
        world.clear()
        expect(person.locator(".empty h2")).to_have_text("You're all caught up")


def test_what_only_a_person_may_answer_leads_to_the_login(world: World) -> None:
    """Right at the choice, before and after it is refused; nobody there is sent to the browser."""
    world.clear()
    run = world.site.ask("Login", require_person=True).run
    with world.context() as context:
        page = context.new_page()
        page.goto("/")
        at_choice = question(page).locator(".problem + .cards")
        expect(at_choice).to_be_visible()
        page.keyboard.press("1")
        with turning(page):
            page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("Only a person can do this: log in first.")
        expect(page.locator("#pane")).not_to_contain_text("browser")
        expect(at_choice).to_be_visible()
        expect(question(page).get_by_label("Looks good")).to_be_checked()
        question(page).get_by_role("link", name="Log in").click()
        page.wait_for_url(f"**/login?to=/runs/{run}")


def test_escape_clears_the_search_and_kinds_are_chosen(world: World) -> None:
    """What is wished for stands in the address, and is gone from it with the wish."""
    world.clear()
    names = ("Login", "Cache")
    for name in names:
        world.site.ask(name)
    with world.person() as page:
        page.goto("/")
        rows, box = page.locator("#list [data-row]"), page.get_by_role("searchbox")
        for clear_from in ("box", "page"):
            page.keyboard.press("/")
            page.keyboard.type("cache")
            expect(rows).to_have_count(1)
            if clear_from == "page":
                box.blur()
            page.keyboard.press("Escape")
            expect(rows).to_have_count(2)
            assert not page.url.endswith("q=cache")
            expect(box).to_have_value("")
        page.get_by_label("Kind").select_option("phase")
        expect(rows).to_have_count(0)
        assert page.url.endswith("?kind=phase")
        page.get_by_role("link", name="Show the whole inbox").click()
        expect(rows).to_have_count(2)


def test_a_follow_up_says_in_words_where_it_stands(world: World) -> None:
    """Not by codes; and a question does not repeat what stands right above it."""
    world.clear()
    world.site.ask("Login")
    with world.person() as page:
        page.goto("/")
        row = page.locator("#list .ask").first
        expect(row).to_have_text("Review: Login?")
        expect(page.locator(".question")).to_have_text("Review: Login?")
        page.keyboard.press("r")
        with turning(page):
            page.keyboard.press("Enter")
        expect(row).to_have_text("Review: Login? · Rework")
        expect(page.locator("legend .header")).to_have_text("1. Login › Rework")
        expect(page.locator("#asked")).not_to_contain_text("[NO]")
        since = page.locator("#list time").first.get_attribute("datetime")
        page.keyboard.press("1")
        with turning(page):
            page.keyboard.press("Enter")
        with turning(page):
            page.keyboard.press("u")
        expect(page.locator("#list time").first).to_have_attribute("datetime", str(since))


DEPLOY = "### ¶ASK_D\n## Decision: Deploy\n- [YES] This evening\n- [NO] Not yet\n- [OTH] Other\n"


@pytest.mark.parametrize(
    ("text", "context", "marked"),
    [
        (DEPLOY, "Whatever was deleted is in the backup.", False),
        (DEPLOY.replace("This evening", "Publish it to everyone"), "All is well.", True),
        (DEPLOY.replace("This evening", "Delete the old orders"), "All is well.", True),
    ],
)
def test_a_mark_warns_of_what_cannot_be_taken_back(
    world: World, text: str, context: str, marked: bool
) -> None:
    """It rests on what can be chosen; what is held back from bulk and preferences is more."""
    world.clear()
    world.site.ask("Login", text=text, context=context)
    with world.person() as page:
        page.goto("/")
        expect(page.locator("#list [data-row]")).to_have_count(1)
        assert page.locator("#list").get_by_title("One-way").count() == marked
        assert page.locator("#pane .badge.warn").count() == marked
        assert page.locator(".tick input").count() == 0  # none of these is answered together


def test_a_phone_shows_one_thing_at_a_time(world: World) -> None:
    """The list, or the question that follows; rows and buttons are as large as a finger."""
    world.clear()
    for name in ("Login", "Cache"):
        world.site.ask(name)
    with world.person(**PHONE) as page:
        page.goto("/")
        expect(page.locator(".pane")).to_be_hidden()
        for size in page.locator("#list [data-row], header nav a").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().height)"
        ):
            assert size >= 44
        with turning(page):
            page.locator("#list a.to").first.tap()
        expect(page.locator(".list")).to_be_hidden()
        question(page).get_by_text("Looks good").tap()
        send(page)
        expect(page.locator("legend")).to_contain_text("Cache")  # by itself
        expect(page.locator(".list")).to_be_hidden()
        cap = question(page).locator(".number").first
        expect(cap).to_be_hidden()
        page.keyboard.press("ArrowDown")  # so there are keys
        expect(cap).to_be_visible()


# -- news ----------------------------------------------------------------------------------------


def test_the_inbox_is_live(world: World) -> None:
    """What begins to wait appears by itself, what is answered goes, and the title counts along."""
    with world.context() as context:
        page = context.new_page()
        page.goto("/")
        run = world.site.ask("Something new").run
        row = page.locator(f'a[href="/runs/{run}"]')
        expect(row).to_be_visible()
        waiting = page.locator(".inbox > li").count()
        expect(page).to_have_title(re.compile(rf"^\({waiting}\+?\) Inbox"))
        runs.withdraw(world.site.store, run, "no need", who="person", through="terminal")
        expect(row).to_have_count(0)


def test_a_walk_is_live(world: World) -> None:
    """Its route grows while one looks, and what was opened stays open."""
    store = world.site.store
    state = walks.begin(store)
    with world.person() as page:
        page.goto(f"/runs/{state.run}")
        page.locator("summary", has_text="attempt 1").first.click()
        state = walks.send(store, state, walks.did(state.calls[0]))
        state = walks.send(store, state, walks.judged(state.calls[0]))
        expect(page.locator(".line.taken")).to_have_count(2)
        expect(page.locator("#stop-2 details").first).to_have_attribute("open", "")
        state = walks.send(store, state, walks.chose(state.calls[0], "yes"))
        expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_a_server_that_dies_and_comes_back(world: World) -> None:
    """Pages say so, keep what was filled in, and find it again; the login holds."""
    run = world.site.ask("Login").run
    with world.person() as page:
        inbox = page.context.new_page()
        inbox.goto("/")
        page.goto(f"/runs/{run}")
        question(page).locator("[data-words]").fill("let us see")
        world.server.kill()
        expect(page.locator("#live")).to_have_text(AWAY)
        expect(inbox.locator("#live")).to_have_text(AWAY)
        later = world.site.ask("Asked meanwhile").run
        world.server.start()
        expect(page.locator("#live")).to_be_empty()
        expect(inbox.locator(f'a[href="/runs/{later}"]')).to_be_visible()
        expect(question(page).locator("[data-words]")).to_have_value("let us see")
        send(page)
        expect(page.locator(".notice")).to_contain_text("let us see")
    assert world.site.sources(run) == [("person", "web", "")]


def test_a_tree_full_of_scripts_runs_none(world: World) -> None:
    """Not in the title, not in the list, not when the inbox is refreshed."""
    nasty = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    with world.context() as context:
        page = context.new_page()
        page.goto("/")
        run = world.site.ask(nasty, context=nasty).run
        expect(page.locator(f'a[href="/runs/{run}"]')).to_be_visible()
        assert "owned" not in page.title()
        page.goto(f"/runs/{run}")
        expect(page.locator("legend").first).to_contain_text("onerror")
        assert json.loads(page.evaluate("JSON.stringify(document.images.length)")) == 0
        assert not page.title().startswith("owned")
