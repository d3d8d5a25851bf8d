"""Working through the inbox in a real browser: several at once, permits, letters, clocks."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

import walks
from browsers import NEEDED, PHONE, World, question, send, turning
from quandary.doors.hosts import hooks
from quandary.journal import runs
from sites import TAGS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = NEEDED
JAPANESE = "\u3059\u3079\u3066"
UPDATE = """\
### ¶ASK_UPDATE
Question: Shall we take {title}?
## Decision: Update
- [TAKE] Take it
- [WAIT] Wait a while
- [PIN] Stay where we are
- [OTH] Other
"""
MENU = TAGS + "  - [OPS] Operations\n    What is run\n  - [ART] Pictures\n    What is drawn\n"


def permit(world: World, text: str = "ls", **request: Any) -> str:  # noqa: ANN401 - of a request
    """A run that asks whether something may be done."""
    asked = {"action": "tidy up", "asker": "Janitor", "input": text, **request}
    begun = runs.begin(
        world.site.store, "permit", {"request": asked}, who="agent", through="command"
    )
    return begun.run


def choose_and_send(page: Page, *keys: str) -> None:
    """Press keys, of which the last leads to another page."""
    for key in keys[:-1]:
        page.keyboard.press(key)
    with turning(page):
        page.keyboard.press(keys[-1])


# -- several at once -----------------------------------------------------------------------------


def test_rows_with_a_box_are_those_that_can_be_answered_together(world: World) -> None:
    """Whoever asks the same has one; not what stands alone, and nothing that has words for it."""
    world.clear()
    same = [world.site.ask(name, text=UPDATE).run for name in ("click 8.3", "msgspec 0.20")]
    world.site.ask("Login")
    grave = UPDATE.replace("Take it", "Deploy it to production")
    for name in ("Shop", "Bank"):
        world.site.ask(name, text=grave)
    with world.person() as page:
        page.goto("/")
        boxes = page.locator(".tick input")
        assert boxes.evaluate_all("all => all.map(one => one.value)") == same
        choose_and_send(page, "j")
        choose_and_send(page, "j")
        page.keyboard.press("x")
        expect(page.locator("#live")).to_have_text("This question can only be answered on its own.")


def test_several_answers_are_undone_together(world: World) -> None:
    """The notice says what was answered in each; where the asker of one has it, that is said."""
    world.clear()
    asked = [world.site.ask(name, text=UPDATE).run for name in ("click 8.3", "msgspec 0.20")]
    permit(world)  # which comes next
    with world.person() as page:
        for _ in ("undone", "too late"):
            page.goto("/")
            choose_and_send(page, "x", "j")
            page.keyboard.press("x")
            with page.expect_navigation():
                page.keyboard.press("Enter")
            expect(page.locator("legend")).to_contain_text("The same answer for all 2")
            expect(page.locator("header [aria-current]")).to_have_text("Inbox")
            choose_and_send(page, "w", "Enter")
            notice = page.locator(".notice")
            expect(notice).to_contain_text("Answered 2 questions: Wait a while")
            expect(page.locator(".question")).to_have_text("May it be done?")
            assert [world.result(run) for run in asked] == [["WAIT"], ["WAIT"]]
            if _ == "too late":
                runs.hand_over(world.site.store, asked[1], who="agent", through="command")
            choose_and_send(page, "u")
        expect(page.get_by_role("alert")).to_contain_text("has it already")
        expect(page.get_by_text("Change an answer", exact=True)).to_be_visible()
    states = [runs.look(world.site.store, run) for run in asked]
    assert [state.status for state in states] == ["waiting", "done"]
    assert states[0].key == "1:~a2"


def test_an_answer_that_cannot_be_undone_is_changed_with_a_reason(world: World) -> None:
    """The notice says why and leads to the form, which wants to know the reason."""
    world.clear()
    run = world.site.ask("Login").run
    with world.person() as page:
        page.goto("/")
        choose_and_send(page, "1", "Enter")
        runs.hand_over(world.site.store, run, who="agent", through="command")
        page.goto(f"/?answered={run}")
        notice = page.locator(".notice")
        expect(notice).to_contain_text("It cannot be undone: whoever asked has it already")
        page.keyboard.press("u")
        expect(page.locator("#live")).to_contain_text("It cannot be undone")
        notice.get_by_role("link", name="Change it").click()
        question(page).get_by_label("More info needed").check()
        page.get_by_label("Reason").fill("The plan has changed")
        page.get_by_role("button", name="Change").click()
        expect(page.locator(".status.done")).to_be_visible()
        expect(page.locator(".story")).to_contain_text("The plan has changed")
    assert world.result(run) == ["INF"]


# -- permits -------------------------------------------------------------------------------------


def test_a_permit_denied_in_own_words_says_so(world: World) -> None:
    """In the notice beside the words; a plan that gets words goes back to be revised."""
    world.clear()
    permit(world)
    plan = '{"plan": "# Plan\\n\\nBuild it."}'
    permit(world, plan, tool="ExitPlanMode", action="carry out a plan")
    with world.person() as page:
        page.goto("/")
        for words, said in (("not today", "Deny"), ("shorter", "Revise")):
            label = question(page).locator("[data-words]")
            label.fill(words)
            with turning(page):
                label.press("Enter")
            expect(page.locator(".notice")).to_contain_text(f"{said}, “{words}”")


def test_a_mark_warns_of_an_action_that_cannot_be_taken_back(world: World) -> None:
    """A permit whose command is known for it has the mark, and every permit that for persons."""
    world.clear()
    grave, plain = permit(world, "rm -rf /srv/orders"), permit(world, "ls")
    with world.person() as page:
        page.goto("/")
        for run, marks in ((grave, 1), (plain, 0)):
            row = page.locator(f'[data-row="{run}"]')
            expect(row.get_by_title("For a person only")).to_be_visible()
            assert row.get_by_title("One-way").count() == marks
        expect(page.locator("#pane .badge.warn")).to_contain_text("One-way")


# -- keys ----------------------------------------------------------------------------------------


def test_every_option_has_a_letter_of_its_own(world: World) -> None:
    """Where two begin alike too; none is a key of the page, or the letter of an extra."""
    world.clear()
    text = "### ¶ASK_S\n## Decision: Size\n" + "".join(
        f"- [{code}] {label}\n"
        for code, label in (("S", "Small"), ("SM", "Smaller"), ("ALL", "All"), ("OTH", "Other"))
    )
    run = world.site.ask("Box", text=text, extras=["A: Ask again"]).run
    with world.person() as page:
        page.goto("/")
        keys = page.locator(".cards > .card > kbd")
        expect(keys).to_have_text(["s", "m", "l"])
        for letter, code in (("m", "SM"), ("s", "S"), ("m", "SM"), ("m", "SM"), ("l", "ALL")):
            page.keyboard.press(letter)
            expect(question(page).locator(f'input[value="{code}"]')).to_be_checked()
        page.keyboard.press("a")
        expect(page.locator(".extra:focus")).to_contain_text("Ask again")
        choose_and_send(page, "1", "Enter")  # on second thoughts
        page.goto(f"/runs/{world.site.ask('Box', text=text.replace('All', JAPANESE)).run}")
        expect(keys).to_have_text(["s", "m", "a"])  # of its code: no single key types the other
    assert world.result(run) == ["S"]


def test_a_key_leads_to_the_values_and_enter_back_to_the_options(world: World) -> None:
    """The first of them shows which, and what is typed takes the place of what was there; from the
    last one, Enter goes to the cards.
    """
    world.clear()
    run = world.site.ask("API", fields=["replicas (How many): integer = 3"]).run
    with world.person() as page:
        page.goto("/")
        expect(page.locator(".field kbd")).to_have_text("=")
        page.keyboard.press("=")
        expect(page.get_by_label("How many")).to_be_focused()
        page.keyboard.type("5")
        choose_and_send(page, "Enter", "1", "Enter")
    [chosen] = runs.look(world.site.store, run).result["chosenItems"]
    assert chosen["values"] == {"replicas": 5}


def test_the_bar_for_several_lies_over_the_rows(world: World) -> None:
    """Whatever stands below it in a long list is not to be seen through it."""
    world.clear()
    for number in range(20):
        world.site.ask(f"click {number}", text=UPDATE)
    with world.person() as page:
        page.goto("/")
        page.keyboard.press("x")
        world.site.ask("Late")  # news keep what is selected, and its count
        expect(page.locator("h1")).to_have_text("Inbox 21")
        bar = page.locator(".together")
        expect(bar.get_by_role("button")).to_have_text("Answer 1 together Enter")
        covered = bar.evaluate(
            """bar => { const box = bar.getBoundingClientRect();
            const places = Array.from({ length: 40 }, (_, n) => box.left + 5 + n * 10);
            return innerHeight - box.bottom < 2 && places.every((x) => [8, 30, box.height - 4]
              .every((y) => bar.contains(document.elementFromPoint(x, box.top + y)))); }"""
        )
        assert covered


def test_the_question_mark_lists_every_key(world: World) -> None:
    """On every page; and keys stand where they act as well."""
    world.clear()
    world.site.ask("Login")
    with world.person() as page:
        for place in ("/", "/runs", "/trees", "/stats"):
            page.goto(place)
            page.keyboard.press("?")
            keys = page.locator("#keys kbd")
            expect(keys.first).to_be_visible()
            listed = set(keys.all_inner_texts())
            assert {*"19jku;=ex/girts<?", "Enter", "↑", "↓", "←", "→", "Esc"} <= listed
            page.keyboard.press("Escape")
        page.goto("/")
        for place in (".search", "[data-snooze] > summary", ".card >> nth=0", ".send"):
            expect(page.locator(f"{place} >> :is(kbd, .number)").first).to_be_visible()
        for letter, place in (("r", "/runs"), ("t", "/trees"), ("s", "/stats"), ("i", "/")):
            page.keyboard.press("g")
            with page.expect_navigation():
                page.keyboard.press(letter)
            assert page.url == f"{world.server.address}{place}"


def test_other_ticked_beside_options_is_called_so(world: World) -> None:
    """In the notice stands its label, and no code."""
    world.clear()
    world.site.ask("Cart", text=MENU)
    with world.person() as page:
        page.goto("/")
        page.keyboard.press("1")
        page.get_by_role("checkbox", name="Other").check()
        send(page)
        said = re.compile(r"Answered: Cart: Interface, Other\b")
        expect(page.locator(".notice")).to_have_text(said)


# -- who looks, and from where -------------------------------------------------------------------


def test_times_are_those_of_the_clock_of_who_looks(world: World) -> None:
    """In the history, in titles and notices; tomorrow's morning is theirs, too."""
    world.clear()
    run = world.site.ask("Login").run
    tokyo = ZoneInfo("Asia/Tokyo")
    since = datetime.fromisoformat(world.site.store.entries(run)[0].read().at)
    here = since.astimezone(tokyo).strftime("%Y-%m-%d %H:%M")
    with world.person(timezone_id="Asia/Tokyo") as page:
        page.goto("/")
        expect(page.locator(f'[data-row="{run}"] time')).to_have_attribute("title", f"since {here}")
        page.locator(".history summary").click()
        expect(page.locator(".story time").first).to_have_text(re.compile(f"^{here}:[0-9]{{2}}$"))
        page.keyboard.press("e")
        page.keyboard.press("ArrowDown")
        choose_and_send(page, "Enter")
        expect(page.locator(".notice time")).to_have_text(re.compile(r"^\S+ 09:00$"))
        page.goto("/?snoozed=1")
        expect(page.locator("#list .context time")).to_have_text(re.compile(r"^\S+ 09:00$"))
    note: Any = world.site.store.entries(run, kinds=("noted",))[-1].read()
    assert datetime.fromisoformat(note.until).astimezone(tokyo).hour == 9
    with world.person(java_script_enabled=False) as page:
        page.goto("/?snoozed=1")
        expect(page.locator("#list .context time")).to_have_text(re.compile("Z$"))


def test_a_row_names_the_host_that_asks_and_its_session(world: World) -> None:
    """As its hook said: the agent in it, and behind that the session and the model."""
    world.clear()
    said = {
        "session_id": "s1",
        "agent_type": "reviewer",
        "model": "m-5",
        "turn_id": "7",
        "tool_name": "AskUserQuestion",
        "tool_use_id": "t1",
        "tool_input": {
            "questions": [{"question": "Which level?", "options": [{"label": "A"}, {"label": "B"}]}]
        },
    }
    call = hooks.read_call(said)
    assert call is not None
    run = hooks.begin_record(world.site.store, call, call.questions[0], "").run
    with world.person() as page:
        page.goto("/runs")
        listed = page.locator(f'li:has(a[href="/runs/{run}"])')
        expect(listed.locator(".context")).to_have_text("reviewer · codex")
        page.goto(f"/runs/{run}")
        expect(page.locator(".origin span[title]")).to_have_attribute(
            "title", re.compile("s1.*m-5|m-5.*s1")
        )


def test_lists_speak_no_jargon(world: World) -> None:
    """Not the names of flows, ways of asking or codes: what somebody calls them in the office."""
    world.clear()
    world.site.ask("Login", "Cache")
    world.site.ask("Tags", text=TAGS, kind="advisory")
    permit(world)
    walks.released(world.site.store)
    with world.person() as page:
        for place in ("/", "/?order=project", "/runs"):
            page.goto(place)
            said = page.locator("main").inner_text()
            assert not re.findall(r"(?i)\b(?:decide|transition|advisory|OTH|None|null)\b", said)
        page.goto("/")
        expect(page.locator("#kind option")).to_have_text(
            ["Everything", "Decisions", "Lists", "Phases", "Steps", "Permissions", "Questions"]
        )


# -- nothing in the way --------------------------------------------------------------------------


@pytest.mark.parametrize("device", [{}, PHONE], ids=["desk", "phone"])
def test_the_bar_that_sends_covers_no_box_and_no_message_covers_it(
    world: World, device: dict[str, Any]
) -> None:
    """A box that is written in stands above it, however long the page is."""
    world.clear()
    plan = "\n\n".join(f"Step {n}." for n in range(30))
    attach = [{"name": "plan.md", "text": plan}]
    asked = [world.site.ask("Plan", attach=attach).run, world.site.ask("Cache").run]
    with world.person(**device) as page:
        for run in asked:
            page.goto(f"/runs/{run}")
            page.keyboard.press(";")
            box, bar = page.locator("textarea:focus"), page.locator(".send")
            expect(box).to_be_visible()
            places = [one.bounding_box() for one in (box, bar)]
            assert places[0] is not None
            assert places[1] is not None
            assert places[0]["y"] + places[0]["height"] <= places[1]["y"] + 1
        page.keyboard.press("Escape")
        page.keyboard.press("u")
        message = page.locator("#live")
        expect(message).to_be_visible()
        said, button = message.bounding_box(), page.locator(".send button").first.bounding_box()
        assert said is not None
        assert button is not None
        across = said["x"] < button["x"] + button["width"]
        down = button["y"] - said["height"] < said["y"] < button["y"] + button["height"]
        assert not (across and down)


def test_no_key_answers_a_question_that_is_not_shown(world: World) -> None:
    """Where there is room for the list alone, keys are for the list; wider, they are for both."""
    world.clear()
    run = world.site.ask("Login", fields=["replicas: integer = 3"]).run
    with world.person(viewport={"width": 768, "height": 900}) as page:
        page.goto("/")
        expect(page.locator("#pane")).to_be_hidden()
        for key in ("1", "Enter", ";", "=", "e", "Enter"):
            page.keyboard.press(key)
        expect(page.locator("main:not([aria-busy])")).to_have_count(1)
        assert runs.look(world.site.store, run).n == 2
        page.set_viewport_size({"width": 1280, "height": 800})
        expect(page.locator("input:checked")).to_have_count(0)
        choose_and_send(page, "1", "Enter")
    assert world.result(run) == ["OK"]


def test_the_login_says_how_somebody_gets_a_token(world: World) -> None:
    """Whoever has neither code nor token reads whom to ask, and what they do."""
    with world.context() as context:
        page = context.new_page()
        page.goto("/login")
        page.get_by_text("I have neither").click()
        expect(page.get_by_text("Ask whoever runs the server")).to_be_visible()
        expect(page.get_by_text("quandary serve --hash -")).to_be_visible()
