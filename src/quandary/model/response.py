"""What an agent says when its step is done: three kinds of response, and what each must hold."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Expects = Literal["process", "decision", "validation"]
"""The kinds of response that a prompt can ask for."""


class Process(msgspec.Struct, frozen=True, omit_defaults=True, tag="process"):
    """A step was worked on."""

    completed: bool
    secs_taken: float = 0.0
    tokens_used: int = 0
    comments: str = ""


class Decision(msgspec.Struct, frozen=True, omit_defaults=True, tag="decision"):
    """A route was chosen."""

    answer: str
    """The choice in the agent's own spelling."""
    choices: tuple[str, ...] = ()
    reasons: str = ""
    route: str = ""
    """The route that the answer names, as the chart spells it."""


class Validation(msgspec.Struct, frozen=True, omit_defaults=True, tag="validation"):
    """The work of another agent was judged."""

    fully_completed: bool
    partially_completed: bool = False
    should_retry: bool = True
    warnings: tuple[str, ...] = ()


Meaning = Process | Decision | Validation

_FLAG, _TEXT = {"type": "boolean"}, {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def schema(expects: Expects, routes: tuple[str, ...] = ()) -> dict[str, Any]:
    """The JSON Schema of a response, for agents that can be held to one.

    Every key is required and no other is allowed, because some agents refuse anything looser; and
    there is no `format`, because some then drop the response without a word.
    """
    properties: dict[str, Any]
    if expects == "process":
        properties = {
            "completed": _FLAG,
            "secs_taken": {"type": "number"},
            "tokens_used": {"type": "integer"},
            "comments": _TEXT,
        }
    elif expects == "decision":
        answer = {**_TEXT, "enum": list(routes)} if routes else _TEXT
        properties = {"choices": _TEXTS, "answer": answer, "reasons": _TEXT}
    else:
        properties = {
            "fully_completed": _FLAG,
            "partially_completed": _FLAG,
            "should_retry": _FLAG,
            "warnings": _TEXTS,
        }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
