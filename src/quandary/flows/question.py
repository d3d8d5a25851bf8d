"""One question that is asked by somebody else, in a box of their own, and kept here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from quandary.model.ask import Ask, Reply

if TYPE_CHECKING:
    from quandary.flows import Flow

VERSION = 1


def start(arguments: dict[str, Any]) -> Flow:
    """The question as it was put; the result says what became of it."""
    return _question(msgspec.convert(arguments["ask"], Ask))


def _question(ask: Ask) -> Flow:
    reply = yield ask
    if not isinstance(reply, Reply):
        raise TypeError("an Ask is answered with a Reply")
    question, answer = ask.questions[0], reply.answers[0]
    labels = {choice.code: choice.label for choice in question.options}
    recommended = [c.label for c in question.choices if c.recommended]
    picked = [labels[code] for code in answer.picked]
    return {
        "id": question.id,
        "question": question.text,
        "codes": list(answer.picked),
        "answer": picked,
        "text": answer.text,
        "comment": answer.comment,
        "recommended": recommended,
        "followed": picked == recommended if len(recommended) == 1 else None,
    }
