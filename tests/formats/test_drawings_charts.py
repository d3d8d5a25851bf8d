"""A chart in text, for people to read."""

from __future__ import annotations

import re

from hypothesis import given
from msgspec.structs import replace

from chart_strategies import charts, page, plain_page
from quandary.formats.drawings import cells, draw_chart
from quandary.model.chart import Chart, Page, Route, Scenery, Step
from quandary.model.text import printable

MAIN = page(
    Step("s", "Start", "terminator"),
    Step("a", "Build it\nwith every option", tags=("CODEX",), metadata={"retries": "2"}),
    Step("d", "Does it run?", "decision", notes=("ask twice",), lane="Team"),
    Step("p", "Publish", "subprocess"),
    Step("e", "End", "terminator"),
    routes="s>a a>d d>p:Yes d>a:Not-yet p>e",
)
PUBLISH = Page("2", "Publish", (Step("u", "Upload"),))


def drawn(chart: Chart, width: int = 60) -> str:
    """All pages, without colour."""
    return draw_chart(chart, list(chart.pages), width=width, colour=False)


def test_a_chart_is_a_list_of_steps_with_their_ways() -> None:
    """In the order in which a run comes to them; what is said of a step stands below it."""
    assert (
        drawn(Chart("Release", (MAIN, PUBLISH)))
        == """\
Release

Main

1  Start  terminator
   → 2  Build it
2  Build it
   with every option
   tags: CODEX
   retries: 2
   → 3  Does it run?
3  Does it run?  decision
   in: Team
   note: ask twice
   Yes     → 4  Publish
   Not-yet → 2  Build it
4  Publish  subprocess
   runs: Publish
   → 5  End
5  End  terminator

Publish

1  Upload
"""
    )


def test_a_single_page_needs_no_title_of_its_own() -> None:
    """Unless it has one that says something."""
    assert drawn(Chart("C", (Page("1", "", (Step("a", "A"),)),))) == "C\n\n1  A\n"
    assert drawn(Chart("C", (Page("1", "C", (Step("a", "A"),)),))) == "C\n\n1  A\n"
    assert drawn(Chart("C", (Page("1", "D", (Step("a", "A"),)),))) == "C\n\nD\n\n1  A\n"
    assert drawn(Chart("C", (Page("1"),))) == "C\n"


def test_what_nothing_leads_to_comes_last() -> None:
    """With a word, so that it is noticed; without a start there is no such word."""
    lost = page(Step("x", "X"), Step("s", "Start", "terminator"), Step("a", "A"), routes="s>a")
    assert drawn(Chart("C", (replace(lost, name=""),))).endswith("\nNothing leads here:\n3  X\n")
    assert "Nothing" not in drawn(Chart("C", (plain_page("a>b b>a"),)))


def test_other_things_on_the_page_are_listed() -> None:
    """Notes and lanes with a text, not too many."""
    scenery = (Scenery("n", "note", "Mind\nthe gap"), Scenery("g", "group"))
    end = drawn(Chart("C", (Page("1", "", (Step("a", "A"),), (), scenery),)))
    assert end.endswith("\nAlso drawn:\n  note: Mind the gap\n")
    many = tuple(Scenery(str(n), "note", "x") for n in range(15))
    assert "… and 5 more" in drawn(Chart("C", (Page("1", "", (), (), many),)))


def test_a_long_prompt_in_a_data_field() -> None:
    """It is shown where the text would be, once."""
    step = Step("a", "Title", metadata={"prompt": "Do all of this\nand that"})
    shown = drawn(Chart("C", (Page("1", "", (step,)),)))
    assert shown == "C\n\n1  Title\n   Do all of this\n   and that\n"


def test_a_long_label_stands_above_its_arrow() -> None:
    """So that the others stay in their columns."""
    ways = (Route("a", "b", "Yes"), Route("a", "c", "No, and it will not be for a while"))
    drawn_page = Page("1", "", (Step("a", "A"), Step("b", "B"), Step("c", "C")), ways)
    expected = """\
1  A  decision
   Yes → 2  B
   No, and it will not be for a while
       → 3  C
"""
    assert expected in drawn(Chart("C", (drawn_page,)))


def test_colours_change_nothing_else() -> None:
    """The coloured drawing is the plain one with escapes."""
    chart = Chart("Release", (MAIN, PUBLISH))
    coloured = draw_chart(chart, list(chart.pages), width=60, colour=True)
    assert "\x1b[36m" in coloured
    assert re.sub(r"\x1b\[\d*m", "", coloured) == drawn(chart)


@given(charts())
def test_any_chart_is_drawn(chart: Chart) -> None:
    """Every step and every way is there; no control character and no overlong line is."""
    shown = drawn(chart, 50)
    lines = shown.split("\n")
    assert all(line == printable(line) for line in lines)
    assert all(cells(line) <= 50 for line in lines)
    for drawn_page in chart.pages:
        known = {step.id for step in drawn_page.steps}
        assert all(re.search(rf"(?m)^ *{n + 1}  ", shown) for n in range(len(known)))


def test_long_charts_are_drawn_in_no_time() -> None:
    """A line of ten thousand steps is no deeper than one of ten."""
    steps = [Step(str(n), f"Do {n}") for n in range(10_000)]
    routes = " ".join(f"{n}>{n + 1}" for n in range(9_999))
    shown = drawn(Chart("C", (page(*steps, routes=routes),)))
    assert shown.endswith("\n10000  Do 9999\n")
