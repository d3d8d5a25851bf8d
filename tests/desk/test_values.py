"""The values that an answer carries, at every door that has no inputs for them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from msgspec.structs import replace

from quandary.desk.drafts import Draft
from quandary.desk.returns import parse
from quandary.desk.sheets import make_sheets, plain_text
from quandary.doors import terminal
from quandary.doors.mcp.forms import make_form, read_form
from quandary.errors import ParseError, QuandaryError, Rejected
from quandary.flows.decide import decide
from quandary.formats.markdown import parse as parse_tree
from quandary.formats.proof import declare_fields
from quandary.model.asks import (
    Annotation,
    Answer,
    Ask,
    Choice,
    Preamble,
    Question,
    Reply,
    read_annotations,
)
from quandary.reading import read

FIELDS = declare_fields(
    [
        "replicas (How many): integer = 3",
        "env: staging|prod = staging",
        {"name": "dry", "type": "boolean", "default": True},
        "note: text?",
    ]
)
CHOICES = (Choice("OK", "Scale it"), Choice("NO", "Leave it"))
QUESTION = Question("1:", "1. API", "Scale the API?", CHOICES, item="1", fields=FIELDS)
ASK = Ask("1:", "transition", Preamble("Load grows."), (QUESTION,))
TEXT = make_sheets(ASK)[0].text


def answer(reply: Any) -> Answer:  # noqa: ANN401 - any JSON, or text
    """The only answer in a reply."""
    came = parse(reply if isinstance(reply, str) else json.dumps(reply), ASK, read)
    assert isinstance(came, Reply)
    return came.answers[0]


@pytest.mark.parametrize(
    "reply",
    [
        {"answers": [{"picked": ["OK"], "values": {"replicas": 5, "env": "prod", "dry": True}}]},
        {"answers": [{"picked": ["OK"], "values": {"replicas": "5", "env": "PROD"}}]},
        {"picked": ["OK"], "values": {"replicas": 5.0, "env": "prod"}},
        {"answers": {TEXT: "Scale it"}, "annotations": {TEXT: {"notes": "how many: 5\nenv: prod"}}},
        {"answers": {TEXT: "Scale it\nreplicas = 5\nenv: prod"}},
        "Scale it\nreplicas: 5\nenv: prod",
    ],
)
def test_values_come_in_every_form_of_reply(reply: Any) -> None:  # noqa: ANN401 - any JSON
    """Only what was changed is recorded, each value as its field declares it."""
    given = answer(reply)
    assert given.picked == ("OK",)
    assert given.values == {"replicas": 5, "env": "prod"}
    assert not given.comment


@pytest.mark.parametrize(
    "reply", ["replicas: 5", {"replicas": 5}, '{"How many": 5}', {"values": {"replicas": 5}}]
)
def test_values_alone_choose_nothing(reply: Any) -> None:  # noqa: ANN401 - any JSON
    """The question comes again, with the values filled in."""
    assert answer(reply).prefix == "fill"
    assert answer(reply).values == {"replicas": 5}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"replicas": "many"}, "How many must be integer and is text"),
        ({"env": "moon"}, "env must be one of staging, prod"),
        ({"dry": 1}, "dry must be boolean and is a number"),
        ({"replicas": ""}, "fill in How many first"),
        ({"size": 1}, "1: has no field size; there are replicas, env, dry, note"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(values: dict[str, Any], said: str) -> None:
    """The message names the field, and the question still waits."""
    with pytest.raises(Rejected, match=said):
        answer({"answers": [{"picked": ["OK"], "values": values}]})


def test_words_about_something_else_are_no_values() -> None:
    """A line counts only where it begins with the name of a field."""
    said = answer("Later: the environment is not ready")
    assert (said.text, said.values) == ("Later: the environment is not ready", {})


def test_a_field_without_a_default_is_filled_in_by_whoever_chooses() -> None:
    """Own words can go without."""
    asked = replace(QUESTION, fields=declare_fields(["who: text"]))
    draft = Draft(asked)
    assert draft.settle() == "Fill in who first."
    draft.typed = {"who": "Ada"}
    assert draft.settle() == ""
    assert draft.answer == Answer("1:", ("OK",), values={"who": "Ada"})
    draft = Draft(asked, at=2, words="Not today")
    assert draft.settle() == ""


def test_a_door_without_inputs_says_the_values_and_how_to_change_them() -> None:
    """In a host's box, as plain text, and at a plain terminal."""
    for text in (TEXT, plain_text(ASK)):
        assert "replicas (integer), How many: 3" in text
        assert "`replicas: 3`" in text
    out = io.StringIO()
    lines = ["env: moon\n", "env: prod\n", "replicas: 4\n", "1\n"]
    came = terminal.numbered(ASK, lines_in=lines, out=out)
    assert came == Reply((Answer("1:", ("OK",), values={"env": "prod", "replicas": 4}, raw="1"),))
    assert "Env must be one of staging, prod." in out.getvalue()
    assert "(env: staging → prod; replicas: 3 → 4)" in out.getvalue()


def test_a_chat_client_shows_an_input_for_each_value() -> None:
    """What comes back unchanged is no change, and no answer."""
    shown: dict[str, Any] = make_form(ASK).requested_schema["properties"]
    assert shown["value_replicas_1"]["default"] == 3
    assert shown["value_env_1"]["enum"] == ["staging", "prod"]
    assert shown["value_dry_1"]["type"] == "boolean"
    assert "[" not in shown["answer_1"]["description"]
    content = {"value_replicas_1": 3, "value_env_1": "prod", "value_dry_1": True}
    chosen = read_form(ASK, "accept", {**content, "answer_1": "OK"}, 9)
    assert chosen == Reply((Answer("1:", ("OK",), values={"env": "prod"}),))
    alone = read_form(ASK, "accept", content, 9)
    assert isinstance(alone, Reply)
    assert alone.answers[0].prefix == "fill"


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("replicas: whole", "type is one of string"),
        ("replicas: integer = many", "the default of replicas must be integer"),
        (": integer", "write it as 'name: type = default'"),
        ({"name": "file", "path-exists": True}, "path-exists is for proofs"),
        ({"name": "a", "minimum": 3}, "asks for minimum, which is not checked here"),
    ],
)
def test_a_field_that_cannot_be_checked_is_refused(declared: Any, said: str) -> None:  # noqa: ANN401
    """Before anybody is asked."""
    with pytest.raises((ParseError, QuandaryError), match=said):
        declare_fields([declared])


@pytest.mark.parametrize(
    "reply",
    [
        "Scale it\n@plan.md:12 too short",
        {"answers": {TEXT: "Scale it"}, "annotations": {TEXT: {"notes": "@plan.md:12: too short"}}},
        {
            "answers": [
                {
                    "picked": ["OK"],
                    "annotations": [{"file": "plan.md", "line": 12, "text": "too short"}],
                }
            ]
        },
    ],
)
def test_remarks_on_lines_come_with_the_answer(reply: Any) -> None:  # noqa: ANN401 - any JSON
    """In every form of reply, apart from the words."""
    given = answer(reply)
    assert given.picked == ("OK",)
    assert given.annotations == (Annotation("plan.md", 12, "too short"),)
    assert not given.comment


def test_remarks_alone_choose_nothing_and_are_kept() -> None:
    """The asker gets them as JSON and as text."""
    assert answer("@plan.md:12 too short").prefix == "fill"
    [tree] = parse_tree("## Decision: Go\n- [OK] Go\n- [NO] Stay\n").trees
    flow = decide(tree, context="Now.")
    next(flow)
    remark = (Annotation("plan.md", 12, "too short"),)
    again = flow.send(Reply((Answer("1:", prefix="fill", annotations=remark),)))
    assert isinstance(again, Ask)
    assert again.notes[0].text == "plan.md:12 too short"
    with pytest.raises(StopIteration) as end:
        flow.send(Reply((Answer("1:~2", ("OK",)),)))
    [chosen] = end.value.value["chosenItems"]
    assert chosen["annotations"] == [{"file": "plan.md", "line": 12, "text": "too short"}]


def test_an_address_is_no_remark() -> None:
    """Only a file and a number, with something behind them, are one."""
    for said in ("Ask ada@example.org about line 3", "@plan.md", "@plan.md:12"):
        assert read_annotations(said) == ([], said)
    assert read_annotations("12: x\na/b.py:3 y\nelse", "plan.md") == (
        [Annotation("plan.md", 12, "x"), Annotation("a/b.py", 3, "y")],
        "else",
    )
