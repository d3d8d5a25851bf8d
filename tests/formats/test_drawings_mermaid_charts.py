"""A chart as a Mermaid flowchart: readable by the real Mermaid, and by us as the same chart."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings

import node_judges
from chart_strategies import HOSTILE_TEXTS, charts, page
from quandary.formats import drawings
from quandary.formats.charts import mermaid
from quandary.formats.charts.mermaid import compact, quote_lines, shown
from quandary.model.chart import Chart, Page, Route, Scenery, Step
from quandary.model.text import printable

RELEASE = Chart(
    "Release",
    (
        Page(
            "2",
            "Main",
            (
                Step("3", "Start", "terminator"),
                Step("4", "Run it\nand look", tags=("CODEX",), metadata={"retries": "2"}),
                Step("5", 'Is it "good"?', "decision"),
                Step("end", "A", "connector"),
                Step("7", "Publish", "subprocess", lane="Team"),
            ),
            (
                Route("3", "4"),
                Route("4", "5"),
                Route("5", "7", "Yes"),
                Route("5", "4", "No, not at all"),
                Route("7", "end"),
            ),
            (Scenery("9", "note", "Ask twice"),),
        ),
    ),
)


def judge(texts: list[str]) -> list[dict[str, Any]]:
    """What Mermaid makes of each flowchart."""
    return node_judges.judge("mermaid", texts)


def again(chart: Chart) -> Chart:
    """The chart, written and read."""
    found, problems = mermaid.read(drawings.chart_as_mermaid(chart), "x.mmd")
    assert [p for p in problems if p.severity == "error"] == []
    return found


def gathered(count: int) -> list[Chart]:
    """About that many charts at once, for a judge that is slow to start."""
    found: list[Chart] = []

    @settings(max_examples=count, database=None)
    @given(charts())
    def gather(chart: Chart) -> None:
        found.append(chart)

    gather()
    return found


def test_a_chart_is_a_flowchart_from_top_to_bottom() -> None:
    """Shapes keep their outlines, lines their labels; the rest stands in comments."""
    expected = """\
---
title: "Release"
---
flowchart TD
  %% quandary: {"page":{"id":"2","name":"Main"}}
  %% quandary: {"scenery":{"id":"9","kind":"note","text":"Ask twice"}}
  3(["Start"])
  4["Run it<br/>and look"]
  %% quandary: {"step":"4","tags":["CODEX"],"metadata":{"retries":"2"}}
  5{"Is it #34;good#34;?"}
  n1(("A"))
  %% quandary: {"step":"n1","id":"end","shape":"connector"}
  7[["Publish"]]
  %% quandary: {"step":"7","lane":"Team"}
  3 --> 4
  4 --> 5
  5 -->|"Yes"| 7
  5 -->|"No, not at all"| 4
  7 --> n1
"""
    assert expected == drawings.chart_as_mermaid(RELEASE)
    assert again(RELEASE) == RELEASE


def test_pages_are_subgraphs() -> None:
    """Each has its own steps, even where their ids are the same."""
    one = page(Step("1", "One"), Step("2", "Two", "subprocess"), routes="1>2")
    two = Page("2", "Two", (Step("1", "Other one"),))
    chart = Chart("Both", (one, two), "1")
    text = drawings.chart_as_mermaid(chart)
    assert '  subgraph page1["Main"]\n' in text
    assert text.count("  end\n") == 2
    assert again(chart) == chart


@given(charts())
@example(RELEASE)
@example(Chart("", (Page("", "", (Step("a", "Start"), Step("b", "end", "process"))),)))
@example(Chart("x", (Page("", "", (Step("a", "a b"),), (Route("a", "a", " b "),)),)))
def test_a_chart_comes_back_as_it_was(chart: Chart) -> None:
    """Ids, texts, shapes, tags, data, notes, lanes, labels, pages: written and read, the same."""
    assert again(chart) == chart
    assert again(chart).digest == chart.digest


def test_hostile_texts_come_back_as_they_were() -> None:
    """In a step, on a line, as a name, a tag, a key or an id."""
    for text in HOSTILE_TEXTS:
        step = Step(f"{text} 1", text, "decision", (text,), {text: text}, (text,), text)
        other = Step("2", text)
        drawn = Page("1", text, (step, other), (Route(step.id, "2", text),))
        chart = Chart(text, (drawn, Page("2", text)), "1")
        assert again(chart) == chart


def test_mermaid_reads_any_chart_as_it_was_written() -> None:
    """Whatever a chart says, Mermaid finds the same words and the same lines."""
    single = [chart for chart in gathered(150) if len(chart.pages) == 1]
    drawn = [drawings.chart_as_mermaid(chart) for chart in single]
    for chart, text, verdict in zip(single, drawn, judge(drawn), strict=True):
        (page,) = chart.pages
        labels = ["".join(map(printable, s.text.split("\n"))).strip() for s in page.steps]
        known = {step.id for step in page.steps}
        count = sum(route.source in known and route.target in known for route in page.routes)
        assert verdict.get("ok"), (verdict, text)
        assert [label.strip() for label in verdict["labels"]] == labels
        assert len(verdict["edges"]) == count


def test_mermaid_reads_several_pages() -> None:
    """Subgraphs and comments are in order, too."""
    several = [chart for chart in gathered(60) if len(chart.pages) > 1]
    drawn = [drawings.chart_as_mermaid(chart) for chart in several]
    for text, verdict in zip(drawn, judge(drawn), strict=True):
        assert verdict.get("ok"), (verdict, text)


def test_mermaid_reads_hostile_text_as_text() -> None:
    """No text in a shape, on a line, in a title or in a comment breaks out of its place."""
    hostile = [
        Chart(t, (Page("1", t, (Step(t, t, "decision", (t,), {t: t}),), (Route(t, t, t),)),))
        for t in HOSTILE_TEXTS
    ]
    verdicts = judge([drawings.chart_as_mermaid(chart) for chart in hostile])
    for text, verdict in zip(HOSTILE_TEXTS, verdicts, strict=True):
        expected = "".join(map(printable, text.split("\n"))).strip()
        assert verdict.get("labels") == [expected], (text, verdict)
        assert len(verdict["edges"]) == 1


def test_mermaid_reads_every_ascii_character_anywhere_in_a_label() -> None:
    """Each character comes back from the start, the middle and the end of a text."""
    marks = [chr(n) for n in range(0x20, 0x7F)]
    steps = tuple(Step(f"s{n}", f"{c}a{c}1{c}") for n, c in enumerate(marks))
    chart = Chart("C", (Page("1", "", steps),))
    (verdict,) = judge([drawings.chart_as_mermaid(chart)])
    assert verdict["labels"] == [step.text.strip() for step in steps]
    assert again(chart) == chart


def test_prose_stays_readable() -> None:
    """A person who opens the file finds sentences, not numbers."""
    prose = "Well-known, isn't it? Yes (of course). Go!"
    assert quote_lines(prose) == prose
    assert quote_lines("1. first") == "1#46; first"
    assert quote_lines("- a") == "#45; a"
    assert quote_lines("") == " "


def test_entities_are_read_once() -> None:
    """Numbers and names, with one sign or the other; what is no entity stays as it is."""
    assert shown("#35; &#35; &amp; #quot; #9829;") == '# # & " ♥'
    assert shown("#35;35;") == "#35;"
    assert shown("#nonsense; #99999999; #55296; C# and R&D;") == (
        "#nonsense; #99999999; #55296; C# and R&D;"
    )
    assert shown("one <br> two<BR/>three") == "one\ntwo\nthree"
    assert shown(" `**bold**` ") == "**bold**"


def test_comments_hold_no_sign_with_a_meaning() -> None:
    """Neither for Mermaid, nor for a page that shows it, nor for a terminal."""
    text = compact("%%{init}%% <b> & \x1b[31m\x9b \u202e \u2028 😀 é")
    assert text.isprintable()
    assert not set("%<>&") & set(text)
    assert json.loads(text) == "%%{init}%% <b> & \x1b[31m\x9b \u202e \u2028 😀 é"
