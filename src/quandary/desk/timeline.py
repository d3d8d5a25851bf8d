"""The entries of a run in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from quandary.desk.state import outcome_lines
from quandary.journal.entries import Answered, Asked, Began, Called, Ended, Noted, Returned
from quandary.journal.history import GivenAnswer, given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.entries import AnyBody, Matter
    from quandary.journal.store import Store
    from quandary.model.asks import Answer, Question

_MARKS = {
    "question": "Q: ",
    "explain": "? ",
    "deep": "??? ",
    "force": "!",
    "tag": "#",
    "reference": "@",
    "add": "+",
}
"""Prefixes as they are typed."""


class Event(msgspec.Struct, frozen=True):
    """One entry: when, who, through what, and what happened."""

    n: int
    at: str
    kind: str
    who: str
    through: str
    by: str
    text: str
    keys: tuple[str, ...] = ()
    """What was asked or answered here."""

    @property
    def source(self) -> str:
        """Who it was and through what. A name that was given hides nobody's hand."""
        if not self.who:
            return ""
        return (
            f"{self.by} ({self.who}, {self.through})" if self.by else f"{self.who} ({self.through})"
        )


def events(store: Store, run: str) -> Iterator[Event]:
    """What happened to a run, from the beginning."""
    for event, _ in events_with_words(store, run):
        yield event


def events_with_words(store: Store, run: str) -> Iterator[tuple[Event, str]]:
    """What happened to a run, each event with all that was said, which is more than is told."""
    teller = _Teller(store)
    for entry in store.entries(run):
        try:
            body, matter = entry.read(), entry.read_matter()
        except (msgspec.DecodeError, UnicodeDecodeError):
            told = f"cannot be read; see quandary verify {run}"
            yield Event(entry.n, "", entry.kind, "", "", "", told), told
        else:
            text, keys = teller.text(body, matter), _keys(body)
            text = f"{text} (pruned)" if entry.pruned else text
            said = f"{text} {matter.ask.preamble.text if matter.ask else ''} {body.by}"
            yield (
                Event(entry.n, body.at, entry.kind, body.who, body.through, body.by, text, keys),
                said,
            )


def moment(at: str, *, seconds: bool = False) -> str:
    """When something happened, for people; the journal's clock is in UTC, and so is this."""
    return f"{at[:10]} {at[11 : 19 if seconds else 16]}Z" if at else "?"


def about(store: Store, run: str) -> str:
    """What a run is about, as its first entry says."""
    for entry in store.entries(run, kinds=("began",)):
        try:
            return _Teller(store).text(entry.read(), entry.read_matter())
        except (msgspec.DecodeError, UnicodeDecodeError):
            break
    return ""


def standing(store: Store, run: str) -> list[GivenAnswer]:
    """The answers of a run that count, in the order of asking."""
    return given(run, store.entries(run, kinds=("asked", "answered", "noted")))[1]


def answer_text(answer: Answer, question: Question | None) -> str:
    """An answer as the person would tell it."""
    title = f"{question.title}: " if question and question.title else f"{answer.key} "
    said = ", ".join(_parts(answer, question)) or "Other"
    return title + said + (f" — “{answer.comment}”" if answer.comment else "")


def _parts(answer: Answer, question: Question | None) -> Iterator[str]:
    options = (*question.choices, *question.named) if question else ()
    labels = {option.code: option.label for option in options}
    extras = {extra.letter: extra.text for extra in question.extras} if question else {}
    yield from (labels.get(code, code) for code in answer.picked)
    if answer.text:
        fits = " or ".join(labels.get(code, code) for code in answer.among)
        yield f"“{answer.text}”" + (f" ({fits})" if fits else "")
    if answer.extra:
        yield f"{answer.extra}: {extras.get(answer.extra, '')}".removesuffix(": ")
    if answer.tree:
        yield f"first {answer.tree}"
    if answer.advice:
        offers = "".join(f", {offer.letter}: {offer.text}" for offer in answer.offers)
        yield f"advice “{answer.advice}”{offers}"
    if answer.prefix:
        yield f"{_MARKS[answer.prefix]}{answer.argument}".strip()


def _keys(body: AnyBody) -> tuple[str, ...]:
    if isinstance(body, Asked):
        return tuple(body.offered)
    if isinstance(body, Answered):
        return tuple(answer.key for answer in body.answers)
    return ()


class _Teller:
    """Tells entry after entry of one run, and knows what was asked before."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.flow = ""
        self.questions: dict[str, Question] = {}

    def text(self, body: AnyBody, matter: Matter) -> str:
        """What an entry says."""
        if isinstance(body, Began):
            return self._began(body, matter)
        if isinstance(body, Asked):
            asked = matter.ask.questions if matter.ask else ()
            self.questions |= {question.key: question for question in asked}
            return "; ".join(f"{q.key} {q.text}" for q in asked) or "; ".join(body.offered)
        if isinstance(body, Answered):
            return self._answered(body, matter)
        if isinstance(body, Ended):
            return self._ended(body, matter)
        return _otherwise(body, matter)

    def _began(self, body: Began, matter: Matter) -> str:
        self.flow = body.flow
        drawn = body.documents.get("tree") or body.documents.get("chart")
        written = self.store.document(drawn) if drawn else None
        name = _name_in(written) if written else None
        origin = f" (with answers of run {body.origin})" if body.origin else ""
        about = _about(body.flow, matter.arguments or {}) or self._options(body)
        return f"{name or body.flow}{f': {about}' if about else ''}{origin}"

    def _options(self, body: Began) -> str:
        """The options that a split is about, where nothing else was said."""
        written = self.store.document(body.documents.get("options", ""))
        try:
            found = msgspec.json.decode(written, type=list[dict[str, Any]]) if written else []
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""
        titles = [str(option.get("title", "")) for option in found]
        more = f" and {len(titles) - 3} more" if len(titles) > 3 else ""
        return ", ".join(filter(None, titles[:3])) + more

    def _answered(self, body: Answered, matter: Matter) -> str:
        answers = matter.answers or body.answers
        said = "; ".join(answer_text(answer, self.questions.get(answer.key)) for answer in answers)
        if body.amends:
            why = f": {matter.why}" if matter.why else ""
            return f"{said} (amends entry {body.amends}{why})"
        return f"{said} (taken over from run {body.origin})" if body.origin else said

    def _ended(self, body: Ended, matter: Matter) -> str:
        try:
            came = outcome_lines(self.flow, matter.result)
        except (AttributeError, IndexError, KeyError, TypeError):
            came = []  # it was changed, as `verify` tells
        told = "; ".join([*came, matter.error] if matter.error else came)
        return f"{body.status}: {told}" if told else body.status


def _name_in(document: bytes) -> str | None:
    """The name of a tree or a chart; nothing where the document is damaged, as `verify` tells."""
    try:
        found = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found.get("name") if isinstance(found, dict) else None


def _about(flow: str, arguments: dict[str, Any]) -> str:
    """What a run is for, as its arguments say."""
    if flow == "prefer":
        return f"{arguments.get('id')} {arguments.get('preference') or 'cleared'}"
    if flow == "question":
        questions = (arguments.get("ask") or {}).get("questions") or [{}]
        return str(questions[0].get("text", ""))
    item = arguments.get("item") or {}
    said = str(arguments.get("context") or item.get("title") or item.get("label") or "")
    return said.replace("**", "")


def _otherwise(body: AnyBody, matter: Matter) -> str:
    if isinstance(body, Called):
        return body.agent or body.deed
    if isinstance(body, Returned):
        return "came back" if body.ok else "failed"
    if isinstance(body, Noted):
        return f"{body.kind}: {matter.text}" if matter.text else body.kind
    return ""
