"""A tree as a chart: each level a decision, each option a way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given

from quandary.flows.responses import match_route
from quandary.formats.charts import from_tree
from quandary.model.chart import Chart, Map, Step, check
from quandary.model.tree import Decision, Option, Tree
from strategies import trees

if TYPE_CHECKING:
    from quandary.model.chart import Problem

RELEASE = Tree(
    "RELEASE_GO",
    (
        Decision(
            "Release",
            (
                Option("GO", "Publish it", "Everybody gets it"),
                Option(
                    "NO",
                    "Keep it",
                    options=(Option("DAY", "For a day"), Option("EVER", "For ever")),
                ),
                Option("OTH", "Other", options=(Option("CUT", "Cut a part"),)),
            ),
        ),
    ),
    question="Does {title} go out?",
)


def plan(tree: Tree) -> Map:
    """The one page of a tree's chart."""
    chart, _ = from_tree(tree)
    (page,) = chart.pages
    return Map(page, chart)


def kinds(chart: Chart) -> dict[str, str]:
    """The kind of every step."""
    walked = Map(chart.pages[0], chart)
    return {step.id: walked.kind(step) for step in chart.pages[0].steps}


def test_each_level_is_a_decision() -> None:
    """A branch leads to the next level, Other to its menu, a leaf to an end."""
    chart, problems = from_tree(RELEASE)
    assert problems == []
    assert check(chart) == ()
    assert (chart.name, chart.pages[0].name) == ("RELEASE_GO", "RELEASE_GO")
    assert kinds(chart) == {
        "1": "decision",
        "1/GO": "terminator",
        "1/NO": "decision",
        "1/NO/DAY": "terminator",
        "1/NO/EVER": "terminator",
        "1/OTH": "connector",  # the only option is picked by itself
        "1/OTH/CUT": "terminator",
    }
    walked = plan(RELEASE)
    assert walked.start == walked.steps["1"]
    labels = [route.label for route in walked.ways(walked.steps["1"])]
    assert labels == ["Publish it", "Keep it", "Other"]


def test_what_is_asked_at_a_level() -> None:
    """The question with its slots, what was chosen before, and what each option means."""
    steps = plan(RELEASE).steps
    assert steps["1"].text == "Does {{title}} go out?\n\n- Publish it: Everybody gets it"
    assert steps["1/NO"].text == "Does {{title}} go out?\n\nChosen so far: Keep it"
    lunch = Tree("T", (Decision("Lunch", (Option("A", "a"), Option("B", "b"))),))
    first = from_tree(lunch)[0].pages[0].steps[0]
    assert first == Step("1", "Lunch: which one?", "decision")


def test_several_decisions_follow_each_other() -> None:
    """Whatever was chosen at the first, the second comes next."""
    two = Tree(
        "TWO",
        (
            Decision("One", (Option("A", "a"), Option("B", "b", options=(Option("C", "c"),)))),
            Decision("Two", (Option("D", "d"),)),
        ),
    )
    chart, _ = from_tree(two)
    assert check(chart) == ()
    walked = Map(chart.pages[0], chart)
    assert kinds(chart)["1/A"] == "connector"
    for leaf in ("1/A", "1/B/C"):
        onward = walked.onward(walked.steps[leaf])
        assert onward is not None
        assert onward.target == "2"
    assert kinds(chart)["2/D"] == "terminator"


def test_labels_that_are_alike_get_their_codes() -> None:
    """So that an answer names one way."""
    tree = Tree(
        "T",
        (
            Decision(
                "D",
                (Option("A", "Same"), Option("B", "same"), Option("C")),
            ),
        ),
    )
    walked = plan(tree)
    labels = [route.label for route in walked.ways(walked.steps["1"])]
    assert labels == ["Same (A)", "same (B)", "(C)"]


def test_a_leaf_called_start_is_no_start() -> None:
    """The tree begins where it begins."""
    tree = Tree("T", (Decision("D", (Option("A", "Start"), Option("B", "Stop"))),))
    start = plan(tree).start
    assert start is not None
    assert start.id == "1"


def test_several_at_once_cannot_be_said() -> None:
    """A chart takes one way; that is said, with the level."""
    inner = (Option("C", "c", multi=True), Option("D", "d"))
    tree = Tree("T", (Decision("D", (Option("A", "Aa", options=inner), Option("B", "b")), line=4),))
    problems: list[Problem] = from_tree(tree)[1]
    (problem,) = problems
    assert (problem.rule, problem.severity) == ("multi-select", "warning")
    assert "D / Aa" in problem.message


@given(trees())
def test_any_tree_is_a_chart_that_can_be_walked(tree: Tree) -> None:
    """Every option can be come to by naming its label, level by level."""
    chart, _ = from_tree(tree)
    assert [p for p in check(chart) if p.severity == "error"] == []
    walked = Map(chart.pages[0], chart)
    start = walked.start
    assert start is not None
    assert len(list(walked.walk(start))) == len(chart.pages[0].steps)
    for step in chart.pages[0].steps:
        labels = [route.label for route in walked.ways(step) if route.label]
        assert [match_route(label, labels) for label in labels] == labels
    options = sum(decision.count for decision in tree.decisions)
    assert len(chart.pages[0].steps) == options + len(tree.decisions)
