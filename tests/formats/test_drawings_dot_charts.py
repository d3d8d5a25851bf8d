"""A chart as a Graphviz graph, laid out by the real Graphviz."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

import node_judges
from chart_strategies import HOSTILE_TEXTS, charts, page
from quandary.formats import drawings
from quandary.model.chart import Chart, Page, Route, Step
from quandary.model.text import printable


def judge(texts: list[str]) -> list[dict[str, Any]]:
    """What Graphviz makes of each graph."""
    return node_judges.judge("dot", texts)


def drawn(chart: Chart) -> str:
    """All pages of a chart."""
    return drawings.chart_as_dot(chart, list(chart.pages))


def test_a_chart_is_a_graph_from_top_to_bottom() -> None:
    """Decisions are diamonds, terminators rounded, subprocesses have a double frame."""
    steps = (
        Step("s", "Start", "terminator"),
        Step("d", 'Is it\n"good"?', "decision"),
        Step("p", "Publish", "subprocess"),
        Step("c", "A", "connector"),
        Step("w", "Work"),
    )
    chart = Chart("Release", (page(*steps, routes="s>d d>p:Yes d>w:No p>c w>nowhere"),))
    assert (
        drawn(chart)
        == r"""digraph "Release" {
  node [fontname="Helvetica,Arial,sans-serif" fontsize=12]
  edge [fontname="Helvetica,Arial,sans-serif" fontsize=10 arrowsize=0.7]
  n1 [label="Start" shape=box style=rounded]
  n2 [label="Is it\n\"good\"?" shape=diamond]
  n3 [label="Publish" shape=box peripheries=2]
  n4 [label="A" shape=circle]
  n5 [label="Work" shape=box]
  n1 -> n2
  n2 -> n3 [label="Yes"]
  n2 -> n5 [label="No"]
  n3 -> n4
}
"""
    )


def test_several_pages_have_frames() -> None:
    """Each with its name; steps with one id on two pages are two."""
    chart = Chart("C", (Page("1", "One", (Step("a", "A"),)), Page("2", "", (Step("a", "B"),))))
    text = drawn(chart)
    assert '  subgraph cluster_1 {\n    label="One"\n    p1n1 [label="A" shape=box]\n' in text
    assert '    label="2"\n    p2n1 [label="B" shape=box]\n' in text
    (verdict,) = judge([text])
    assert verdict["ok"]


def test_graphviz_reads_any_chart_as_it_was_written() -> None:
    """Whatever a chart says, Graphviz draws the same words and the same lines."""
    found: list[Chart] = []

    @settings(max_examples=100, database=None)
    @given(charts())
    def gather(chart: Chart) -> None:
        found.append(chart)

    gather()
    single = [chart for chart in found if len(chart.pages) == 1]
    for chart, verdict in zip(single, judge(list(map(drawn, single))), strict=True):
        (only,) = chart.pages
        known = {step.id for step in only.steps}
        # Graphviz draws nothing for a line with nothing on it.
        said = ["\n".join(filter(None, _lines(step.text))) for step in only.steps]
        assert ["\n".join(filter(None, text.split("\n"))) for text in verdict["labels"]] == said
        lines = [r for r in only.routes if r.source in known and r.target in known]
        assert len(verdict["edges"]) == len(lines)


def test_graphviz_reads_hostile_text_as_text() -> None:
    """No text in a shape, on a line or in a name breaks out of its place."""
    hostile = [
        Chart(t, (Page("1", t, (Step("a", t),), (Route("a", "a", t),)),)) for t in HOSTILE_TEXTS
    ]
    verdicts = judge(list(map(drawn, hostile)))
    expected = ["\n".join(_lines(text)) for text in HOSTILE_TEXTS]
    assert [verdict["labels"][0] for verdict in verdicts] == expected


def _lines(text: str) -> list[str]:
    """A text as it is drawn."""
    return [printable(line) for line in text.split("\n")]
