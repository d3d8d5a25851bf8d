"""Trees driven by scripts, as their authors test them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import quandary
from quandary.model.calls import Call, Output

TREES = Path(__file__).parents[1] / "examples/trees"


@pytest.fixture
def tree() -> quandary.Tree:
    """The plan review of the examples."""
    return quandary.load(f"{TREES / 'plan-review.md'}#PLAN_REVIEW")


def test_a_script_walks_a_tree(tree: quandary.Tree) -> None:
    """Texts answer as if typed; the asks and the paths can be looked at."""
    walked = quandary.testing.walk(tree, "", "take it out")
    assert [ask.key for ask in walked.asks] == ["1:", "1:OTH"]
    assert walked.paths == ["OTH/REM"]


def test_a_script_answers_items_one_by_one(tree: quandary.Tree) -> None:
    """A mapping names the items."""
    items = [quandary.Item("1", "A"), quandary.Item("2", "B")]
    walked = quandary.testing.walk(tree, {"1": "ok", "2": "something else"}, items=items)
    assert walked.paths == ["OK", "OTH/custom:something else"]


def test_a_script_that_ends_too_soon_shows_what_waits(tree: quandary.Tree) -> None:
    """Without enough replies there is no result."""
    walked = quandary.testing.walk(tree, "")
    assert walked.result is None
    assert walked.asks[-1].key == "1:OTH"


def test_a_script_that_goes_on_too_long_is_told(tree: quandary.Tree) -> None:
    """A reply to nothing is a mistake in the test, or in the tree."""
    with pytest.raises(AssertionError, match="nothing was left to ask when there came 'ok'"):
        quandary.testing.walk(tree, "ok", "ok")


def test_a_script_answers_decisions_one_by_one() -> None:
    """Where an item has several questions, their keys tell them apart."""
    tree = quandary.load(f"{TREES / 'incident.md'}")
    walked = quandary.testing.walk(tree, {"1:1.": "major", "1:2.": "off"})
    assert walked.paths == ["MAJ", "OFF"]
    assert [question.key for question in walked.questions] == ["1:1.", "1:2."]


def test_a_script_is_read_as_the_person_would_be(tree: quandary.Tree) -> None:
    """Numbers count where choices are numbered, and are own words in a form."""
    assert quandary.testing.walk(tree, "2", kind="advisory").paths == ["INF"]
    assert quandary.testing.walk(tree, "2").paths == ["OTH/custom:2"]


def test_a_script_sees_what_a_smaller_box_would_show(tree: quandary.Tree) -> None:
    """Limits are those of the host."""
    items = [quandary.Item(str(number)) for number in range(1, 5)]
    walked = quandary.testing.walk(tree, "ok", "ok", items=items, limits=quandary.Limits(3, 3))
    assert [len(ask.questions) for ask in walked.asks] == [3, 1]


def test_the_example_passes() -> None:
    """It is the one that the page on testing shows, and it is a test that pytest finds."""
    example = TREES.parent / "testing/test_my_tree.py"
    page = (TREES.parents[1] / "docs/testing.md").read_text(encoding="utf-8")
    assert f"```python test_my_tree.py\n{example.read_text(encoding='utf-8')}```" in page
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(example)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, "\n5 passed" in ended.stdout) == (0, True), ended.stdout


def test_run_drives_a_flow(tree: quandary.Tree) -> None:
    """A callable answers what is asked."""
    flow = quandary.decide(tree, [quandary.Item("1", "Auth")], context="The plan is written.")
    result = quandary.run(flow, lambda ask: quandary.Reply((quandary.Answer(ask.key, ("OK",)),)))
    assert result["chosenItems"][0]["path"] == "OK"


def test_run_takes_nothing_for_an_answer(tree: quandary.Tree) -> None:
    """A dismissed question ends the run with an error, not with a choice."""
    flow = quandary.decide(tree, [quandary.Item("1", "Auth")], context="The plan is written.")
    with pytest.raises(quandary.Rejected, match="dismissed"):
        quandary.run(flow, lambda _: quandary.Outcome("dismissed"))


def test_run_answers_calls(tree: quandary.Tree) -> None:
    """An advisor's part is played by `call`."""
    asked: list[Call] = []
    replies = iter(["Q: why?", "ok"])

    def call(request: Call) -> Output:
        asked.append(request)
        return Output(request.key, "because")

    def ask(shown: quandary.Ask) -> quandary.Reply:
        question, text = shown.questions[0], next(replies)
        return quandary.Reply((quandary.read(text, question).answer(question.key, text),))

    flow = quandary.decide(
        tree, [quandary.Item("1", "Auth")], context="The plan is written.", advisor="CLAUDE"
    )
    assert quandary.run(flow, ask, call)["chosenItems"][0]["path"] == "OK"
    assert [request.agent for request in asked] == ["CLAUDE"]
