"""Pages that everybody can use: with a finger, at 200 %, in the dark, from right to left."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

import walks
from browsers import NEEDED, PHONE, World, judge, question, turning
from quandary.desk import reply as replies
from quandary.desk.authority import Caller, Scope
from quandary.doors.web import metrics, pages
from quandary.journal import runs
from quandary.journal.chance import now
from quandary.journal.counts import Sums
from quandary.model.asks import Answer, Reply
from sites import TAGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page, Route

pytestmark = NEEDED
ZOOMED = {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}
"""What a browser makes of a window of 1280 by 800 pixels at 200 %."""
HEBREW = "\u05e9\u05dc\u05d5\u05dd"
SIMPLE = "### \u00b6ASK_S\n## Decision: Size\n- [S] Small\n- [L] Large\n- [OTH] Other\n"
FIELDS = ["replicas (How many): integer = 3", "env: staging|prod = staging"]
PLAN = "# Plan\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1\n```\n\n" + "word " * 300
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new\n"


def list_places(world: World) -> list[str]:
    """Every page, with all that can be on it."""
    world.clear()
    many = world.site.ask("Login", "Cache", extras=["L? Show the plan"]).run
    long = world.site.ask("x" * 400, context="y" * 400).run
    several = world.site.ask(HEBREW, text=TAGS, context=f"{HEBREW} {HEBREW}").run
    files = [{"name": "plan.md", "text": PLAN}, {"name": "x.diff", "text": DIFF}]
    shown = world.site.ask("Files", attach=files, fields=FIELDS).run
    done = world.site.ask("Done").run
    reply = Reply((Answer("1:", picked=("OK",)),))
    runs.advance(world.site.store, done, reply, who="person", through="web")
    walk = walks.released(world.site.store).run
    inbox = ["/", "/?kind=decision&q=login", "/?kind=phase", "/?order=project", "/?snoozed=1"]
    asked = [f"/runs/{run}" for run in (many, long, several, shown, done, walk)]
    others = ["/runs", "/runs?q=done", f"/runs/{done}/amend?to=1:", "/trees", "/stats"]
    return [*inbox, *asked, *others, "/login", "/nowhere"]


def test_no_word_is_broken_to_make_room(world: World) -> None:
    """On a phone the line above a question takes two rows rather than a letter a row."""
    run = world.site.ask("Login").run
    with world.person(**PHONE) as page:
        page.goto(f"/runs/{run}")
        menu = page.locator("[data-snooze] summary")
        for width in range(320, 460, 10):
            page.set_viewport_size({"width": width, "height": 740})
            assert menu.evaluate("one => one.getBoundingClientRect().height") < 50, width


@pytest.mark.parametrize("device", [PHONE, ZOOMED], ids=["phone", "200 %"])
def test_nothing_is_wider_than_the_screen(world: World, device: dict[str, Any]) -> None:
    """A small phone and 200 % zoom are enough for every page, even with a word without an end."""
    with world.person(**device) as page:
        for place in list_places(world):
            page.goto(place)
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= device["viewport"]["width"], place


TARGETS = """() => [...document.querySelectorAll(
  "header :is(a, button), nav a, main button, main summary, main select, .card, .tick:has(input), "
  + "main textarea, main input:not([type=hidden], [type=radio], [type=checkbox]), .inbox > li")]
  .filter((one) => one.checkVisibility() && !one.closest(".visually-hidden, .prose .shown"))
  .filter((one) => one.getBoundingClientRect().height < 43.5)
  .map((one) => one.outerHTML.slice(0, 120))"""


def test_whatever_is_touched_is_as_large_as_a_finger(world: World) -> None:
    """44 pixels for every row, card, button and link of the frame."""
    with world.person(**PHONE) as page:
        for place in list_places(world):
            page.goto(place)
            assert page.evaluate(TARGETS) == [], place


def count_still(world: World, page: Page, figures: dict[str, Any] | None) -> None:
    """Open the figures as they look while a long journal is counted."""
    with pytest.MonkeyPatch.context() as patch, world.site.person() as visitor:
        patch.setattr(pages, "find_figures", lambda *_: (figures, False))
        shown = visitor.get("/stats").text
    page.route("**/stats", lambda route: route.fulfill(body=shown, content_type="text/html"))
    page.goto("/stats")
    expect(page.get_by_role("status").filter(has_text="Counting")).to_be_visible()


def visit_states(world: World, page: Page) -> Iterator[str]:
    """One page after another, each in a state that somebody may meet it in; its name."""
    store = world.site.store
    person = Caller("person", "web", scope=Scope(str(world.site.folder), str(world.site.folder)))
    world.clear()
    page.goto("/")
    yield "empty"
    count_still(world, page, None)
    yield "counting"
    page.unroute("**/stats")
    count_still(world, page, metrics.gather_figures(Sums()))
    yield "counting again"
    page.unroute("**/stats")
    asked = [world.site.ask(name, text=SIMPLE).run for name in ("Login", "Cache", "Queue", "Mail")]
    later = world.site.ask("Later").run
    replies.snooze(store, person, later, now() + timedelta(hours=2), None)
    page.goto("/")
    press = page.keyboard.press
    press("?")
    yield "keys"
    press("Escape")
    press("e")
    yield "snooze"
    page.goto("/")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    yield "refused"
    press("1")
    with turning(page):
        press("Enter")
    yield "answered"
    runs.hand_over(store, asked[0], who="agent", through="command")
    with turning(page):
        press("u")
    expect(page.get_by_role("alert")).to_be_visible()
    yield "too late to undo"
    held: list[Route] = []
    page.goto("/")
    page.route("**/runs/*", lambda route: held.append(route))  # noqa: PLW0108 - it wants a function
    press("j")
    expect(page.locator("main[aria-busy=true]")).to_have_count(1)
    yield "loading"
    with turning(page):
        held[0].continue_()
    page.unroute("**/runs/*")
    press("x")
    yield "selected"
    page.goto(f"/together?run={asked[1]}&run={asked[2]}")
    yield "together"
    page.goto("/login")
    page.get_by_label("Code or token").fill("wrong")
    press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    yield "wrong code"
    page.goto("/")
    question(page).locator("[data-words]").fill("mail")
    page.context.set_offline(offline=True)
    question(page).locator("[data-words]").blur()
    expect(page.locator("main[aria-busy=true]")).to_have_count(0)  # news may have it load anew
    press("j")
    expect(page.locator("#live")).to_contain_text("cannot be reached")
    yield "offline"
    page.context.set_offline(offline=False)


def test_axe_finds_nothing_on_any_page_in_any_state(world: World) -> None:
    """Empty, filled, loading, refused, offline; light and dark, with less motion, right to left."""
    found: dict[str, list[str]] = {}

    def look(page: Page, name: str) -> None:
        found[name] = judge(page)
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        found[f"{name}, dark"] = judge(page, "color-contrast")
        page.emulate_media(color_scheme="light", reduced_motion="no-preference")

    with world.person() as page:
        for place in list_places(world):
            page.goto(place)
            look(page, place)
        for state in visit_states(world, page):
            look(page, state)
    assert {name: some for name, some in found.items() if some} == {}


def test_less_motion_and_text_from_right_to_left(world: World) -> None:
    """Whoever wants no motion gets none; a text begins where its script begins."""
    world.clear()
    run = world.site.ask(HEBREW, context=f"{HEBREW} {HEBREW}").run
    with world.person(reduced_motion="reduce") as page:
        page.goto(f"/runs/{run}")
        for part in (".card", ".pane"):
            style = page.locator(part).first.evaluate(
                "one => getComputedStyle(one).transitionDuration"
            )
            assert style == "0s"
        first = page.locator(".preamble p").first
        assert first.evaluate("one => getComputedStyle(one).direction") == "rtl"
        label = page.locator(".card .label").first
        assert label.evaluate("one => getComputedStyle(one).direction") == "ltr"
