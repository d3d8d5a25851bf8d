"""The verbs: generators that do no input or output. They yield requests and are sent responses."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeVar

import msgspec

from quandary.errors import Rejected
from quandary.model.asks import Ask, Hand, Reply
from quandary.model.calls import Call, Do, Done, Output
from quandary.model.track import Move

Request = Ask | Call | tuple[Call, ...] | Do
Response = Reply | Output | tuple[Output, ...] | Done
T = TypeVar("T")
Steps = Generator[Request, Response, T]  # a part of a flow, with what comes of it
Flow = Steps[dict[str, Any]]
R = TypeVar("R", Reply, Output, Done)


def send(request: Ask | Call | Do, kind: type[R]) -> Steps[R]:
    """Yield a request; what came back has to be of the kind that answers it."""
    response = yield request
    if not isinstance(response, kind):
        raise TypeError(f"{request.key} is answered with {kind.__name__}, not {response!r:.60}")
    return response


def tell_hands(hands: Iterable[Hand]) -> dict[str, str]:
    """Who answered, and through what, as results say it beside an answer."""
    told = list(dict.fromkeys(hands))
    if len(told) == 1:
        by, through = told[0]
        return {"by": by, "through": through}
    names = zip(("by", "through"), zip(*told, strict=True), strict=False)
    return {name: ", ".join(words) for name, words in names}


VERSION = 1


def phase(arguments: dict[str, Any]) -> Flow:
    """A move along a track that somebody made with a command of their own."""
    source, target = arguments["from"], arguments["to"]
    move = Move(arguments["folder"], source, target)
    done = yield from send(Do("move", "move-phase", move.argument), Done)
    if done.error:
        raise Rejected(done.error)
    return {"from": source, "phase": target}


def track(arguments: dict[str, Any]) -> Flow:
    """A track as it was declared; every move along it is noted behind that."""
    yield from ()
    return {"folder": arguments["folder"], "phases": len(arguments["phases"])}


def question(arguments: dict[str, Any]) -> Flow:
    """One question that is asked by somebody else, in a box of their own."""
    ask = msgspec.convert(arguments["ask"], Ask)
    reply = yield from send(ask, Reply)
    question, answer = ask.questions[0], reply.answers[0]
    recommended = [choice.label for choice in question.choices if choice.recommended]
    picked = question.labels(answer.picked)
    return {
        "id": question.id,
        "question": question.text,
        "codes": list(answer.picked),
        "answer": picked,
        "text": answer.text,
        "comment": answer.comment,
        "recommended": recommended,
        "followed": picked == recommended if len(recommended) == 1 else None,
        **tell_hands(reply.hands),
    }


def prefer(arguments: dict[str, Any]) -> Flow:
    """A preference, in the words of whoever set it."""
    yield from ()
    names = ("id", "preference", "origin", "bound", "question")
    return {name: arguments[name] for name in names if name in arguments}


def prune(arguments: dict[str, Any]) -> Flow:
    """Texts taken out of the journal, and how much it came to."""
    wanted = {name: arguments[name] for name in ("before", "keep", "project")}
    done = yield from send(Do("prune", "prune", msgspec.json.encode(wanted).decode()), Done)
    return {**wanted, **msgspec.json.decode(done.text)}


def imported(arguments: dict[str, Any]) -> Flow:
    """A run that another store wrote; the file itself is one of the documents."""
    yield from ()
    return {name: arguments[name] for name in ("run", "entries", "digest")}
