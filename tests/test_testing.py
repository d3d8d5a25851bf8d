"""Trees driven by scripts, as their authors test them."""

from __future__ import annotations

from pathlib import Path

import pytest

import quandary
from quandary.model.call import Call, Output

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


def test_run_drives_a_flow(tree: quandary.Tree) -> None:
    """A callable answers what is asked."""
    flow = quandary.decide(tree, context="The plan is written.")
    result = quandary.run(flow, lambda ask: quandary.Reply((quandary.Answer(ask.key, ("OK",)),)))
    assert result["chosenItems"][0]["path"] == "OK"


def test_run_takes_nothing_for_an_answer(tree: quandary.Tree) -> None:
    """A dismissed question ends the run with an error, not with a choice."""
    flow = quandary.decide(tree, context="The plan is written.")
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

    flow = quandary.decide(tree, context="The plan is written.", advisor="CLAUDE")
    assert quandary.run(flow, ask, call)["chosenItems"][0]["path"] == "OK"
    assert [request.agent for request in asked] == ["CLAUDE"]
