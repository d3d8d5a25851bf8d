"""The entries of a run in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from quandary.journal.entries import Answered, Asked, Began, Called, Ended, Noted, Returned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.entries import AnyBody, Entry, Matter
    from quandary.journal.store import Store
    from quandary.model.ask import Answer, Ask, Question


class Event(msgspec.Struct, frozen=True):
    """One entry: when, who, through what, and what happened."""

    n: int
    at: str
    kind: str
    who: str
    through: str
    by: str
    text: str


def events(store: Store, run: str) -> Iterator[Event]:
    """What happened to a run, from the beginning."""
    ask: Ask | None = None
    for entry in store.entries(run):
        body, matter = entry.read(), entry.read_matter()
        if isinstance(body, Asked):
            ask = matter.ask
        text = _text(body, matter, ask)
        yield Event(entry.n, body.at, entry.kind, body.who, body.through, body.by, text)


def _text(body: AnyBody, matter: Matter, ask: Ask | None) -> str:
    if isinstance(body, Asked):
        asked = matter.ask.questions if matter.ask else ()
        return "; ".join(question.text for question in asked) or body.key
    if isinstance(body, Answered):
        answers = matter.answers or body.answers
        said = "; ".join(answer_text(answer, _question(ask, answer.key)) for answer in answers)
        return f"{said} (amends entry {body.amends}: {matter.why})" if body.amends else said
    return _plain(body, matter)


def _plain(body: AnyBody, matter: Matter) -> str:
    text = ""
    if isinstance(body, Began):
        context = (matter.arguments or {}).get("context", "")
        text = f"{body.flow}: {context}" if context else body.flow
    elif isinstance(body, Called):
        text = body.agent or body.deed
    elif isinstance(body, Returned):
        text = "came back" if body.ok else "failed"
    elif isinstance(body, Noted):
        text = f"{body.kind}: {matter.text}" if matter.text else body.kind
    elif isinstance(body, Ended):
        text = f"{body.status}: {matter.error}" if matter.error else body.status
    return text


def _question(ask: Ask | None, key: str) -> Question | None:
    return ask.question(key) if ask is not None else None


def answer_text(answer: Answer, question: Question | None) -> str:
    """An answer as the person would tell it."""
    labels = {c.code: c.label for c in (*question.choices, *question.named)} if question else {}
    parts = [labels.get(code, code) for code in answer.picked]
    if answer.text:
        parts.append(f"“{answer.text}”")
    named = ("extra", "tree", "advice")
    parts += [f"{name} {value}" for name in named if (value := getattr(answer, name))]
    if answer.prefix:
        parts.append(f"{answer.prefix} {answer.argument}".strip())
    said = ", ".join(parts) or "Other"
    title = f"{question.title}: " if question and question.title else f"{answer.key} "
    return title + said + (f" ({answer.comment})" if answer.comment else "")


def answered(store: Store, run: str) -> list[tuple[Entry, Ask, Any]]:
    """Every Ask that was answered, with the entry of its answer, in order."""
    found = []
    ask: Ask | None = None
    for entry in store.entries(run, kinds=("asked", "answered")):
        body = entry.read()
        if isinstance(body, Asked):
            ask = entry.read_matter().ask
        elif ask is not None and isinstance(body, Answered) and not body.amends:
            found.append((entry, ask, body))
    return found
