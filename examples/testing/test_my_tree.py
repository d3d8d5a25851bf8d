"""Is the tree in rollout.md what we think it is? Run this with pytest."""

from pathlib import Path

import pytest

import quandary
from quandary.testing import walk


@pytest.fixture
def tree() -> quandary.Tree:
    """The tree beside this file."""
    return quandary.load(str(Path(__file__).with_name("rollout.md")))


def test_test_systems_are_behind_other(tree: quandary.Tree) -> None:
    """Other left blank opens its menu, and a label there can be typed."""
    walked = walk(tree, "", "to the test systems")
    assert [ask.key for ask in walked.asks] == ["1:", "1:OTH"]
    assert walked.paths == ["OTH/TEST"]


def test_the_question_names_the_service(tree: quandary.Tree) -> None:
    """With no reply, the first question still waits and can be looked at."""
    walked = walk(tree, items=[quandary.Item("1", "Shop")])
    assert walked.result is None
    assert walked.questions[0].text == "How far does Shop go?"
    assert [choice.code for choice in walked.questions[0].choices] == ["ALL", "TEN", "NONE"]


def test_each_service_gets_its_own_answer(tree: quandary.Tree) -> None:
    """Two services are asked about at once, and a remark stays with its answer."""
    services = [quandary.Item("1", "Shop"), quandary.Item("2", "Search")]
    walked = walk(tree, {"1": "all", "2": "none, because it is slow"}, items=services)
    assert walked.paths == ["ALL", "NONE"]
    assert walked.chosen[1]["comment"] == "it is slow"


def test_an_instruction_is_kept_as_it_is(tree: quandary.Tree) -> None:
    """Own words are not bent until they fit an option."""
    walked = walk(tree, "ask the shop team first")
    assert walked.paths == ["OTH/custom:ask the shop team first"]


def test_numbers_count_where_choices_are_numbered(tree: quandary.Tree) -> None:
    """An advisory question is asked as text, and replies to it are read more freely."""
    walked = walk(tree, "the second one", kind="advisory")
    assert walked.paths == ["TEN"]
