"""Fields: values that an answer carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from quandary.flows.decide import decide, recall
from quandary.formats.markdown import parse
from quandary.model.asks import Answer, Ask, Field, Item, Reply

if TYPE_CHECKING:
    from quandary.flows import Flow

[TREE] = parse(
    "### ¶ASK_SCALE\nShape: free\n\n## Decision: Scale\n- [OK] Scale it\n- [NO] Leave it\n"
    "- [OTH] Other\n  - [LAT] Later\n  - [ASK] Ask somebody\n"
).trees
FIELDS = (
    Field("replicas", {"type": "integer", "default": 3}),
    Field("note", {"type": "string"}, required=False),
)


def run(*answers: Answer) -> tuple[list[Any], dict[str, Any]]:
    """The Asks of a run that is answered like this, and its result."""
    flow = decide(TREE, [Item("1", "API")], context="Load grows.", fields=FIELDS)
    asks = [next(flow)]
    try:
        for answer in answers:
            asks += [flow.send(Reply((answer,)))]
    except StopIteration as end:
        return asks, end.value["chosenItems"][0]
    raise AssertionError("it still asks")


def test_an_answer_carries_the_values_of_the_fields_and_says_which_were_changed() -> None:
    """Whatever nobody changes stands as its default says."""
    asks, chosen = run(Answer("1:", ("OK",), values={"replicas": 5}))
    assert asks[0].questions[0].values == {"replicas": 3}
    assert (chosen["path"], chosen["values"], chosen["changed"]) == (
        "OK",
        {"replicas": 5},
        ["replicas"],
    )
    assert run(Answer("1:", ("OK",)))[1]["changed"] == []


@pytest.mark.parametrize(
    "words",
    [Answer("1:", text="after lunch"), Answer("1:", prefix="force", argument="skip")],
    ids=["own words", "a skip"],
)
def test_a_default_is_no_value_of_whoever_chose_no_option(words: Answer) -> None:
    """What they filled in counts; what stood there they said nothing about."""
    _, chosen = run(words)
    assert (chosen["values"], chosen["changed"]) == ({}, [])
    _, chosen = run(replace(words, values={"replicas": 5}))
    assert (chosen["values"], chosen["changed"]) == ({"replicas": 5}, ["replicas"])


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (Answer("1:", prefix="fill", values={"replicas": 5}), "1:~2"),
        (Answer("1:", values={"replicas": 5}), "1:OTH"),
        (Answer("1:", prefix="explain", values={"replicas": 5}), "1:~2"),
    ],
)
def test_values_stand_however_often_the_question_comes_again(first: Answer, again: str) -> None:
    """Values alone choose nothing, and neither does what is asked back beside them."""
    codes = ("LAT",) if again == "1:OTH" else ("OK",)
    asks, chosen = run(first, Answer(again, codes, values={"note": "after lunch"}))
    assert asks[1].questions[0].values == {"replicas": 5}
    assert chosen["values"] == {"replicas": 5, "note": "after lunch"}


def test_no_preference_decides_a_question_with_fields() -> None:
    """Their values differ from one asking to the next."""
    [tree] = parse("## Decision: Go\n- [OK] Go (recommended)\n- [NO] Stay\n").trees
    plain = next(decide(tree, context="Now.")).questions[0]  # type: ignore[union-attr]  # an Ask
    filled = next(decide(tree, context="Now.", fields=FIELDS)).questions[0]  # type: ignore[union-attr]  # the same
    assert plain.decidable
    assert not filled.decidable


def drive(flow: Flow, replies: dict[str, Reply]) -> dict[str, Any]:
    """The result of a flow that is sent these replies, by the keys of what it asks."""
    try:
        ask = next(flow)
        while isinstance(ask, Ask):
            ask = flow.send(replies[ask.key])
    except StopIteration as end:
        result: dict[str, Any] = end.value
        return result
    raise AssertionError(f"it asks for {ask}")


def test_a_run_that_is_recalled_has_the_values_that_it_had() -> None:
    """What is followed without asking records the same as what is asked."""
    items = [{"id": str(number)} for number in (1, 2)]
    begun: dict[str, Any] = {"tree": msgspec.to_builtins(TREE), "context": "Load grows."}
    terms = {**begun, "items": items, "limits": {"questions": 1}}
    replies = {f"{n}:": Reply((Answer(f"{n}:", ("OK",)),), (("person", "web"),)) for n in (1, 2)}
    for fields in ((), FIELDS):
        results = []
        for heard in ({}, dict(replies)):
            flow = recall({**terms, "fields": msgspec.to_builtins(fields)}, heard)
            results.append(drive(flow, replies))
            assert not heard or fields
        assert results[0] == results[1]
