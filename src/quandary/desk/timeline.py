"""The entries of a run in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, islice
from sys import maxsize
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from quandary.desk.attachments import list_attachments
from quandary.desk.sheets import tell_changes
from quandary.desk.state import outcome_lines
from quandary.errors import StoreError
from quandary.flows.wording import fill_prompt
from quandary.journal import entries
from quandary.journal.history import GivenAnswer, list_answers

if TYPE_CHECKING:
    from quandary.journal.entries import AnyBody, Matter
    from quandary.journal.store import Run, Store, Watch
    from quandary.model.asks import Answer, Question

_MARKS = {"question": "Q: ", "explain": "? ", "deep": "??? ", "force": "!", "tag": "#"}
_MARKS |= {"reference": "@", "add": "+", "unclear": "unclear: "}
"""Prefixes as they are typed."""
_TOLD_BY = ("tree", "chart", "options")  # the documents that say what a run is about
WHO = {"api": "a program", "agent": "an agent"}  # who asks, where no name was given


class Event(msgspec.Struct, frozen=True):
    """One entry: when, who, through what, and what happened."""

    n: int
    at: str
    kind: str
    who: entries.Who | Literal[""]
    through: str
    by: str
    text: str
    keys: tuple[str, ...] = ()  # what was asked or answered here

    @property
    def source(self) -> str:
        """Who it was and through what, in words."""
        return entries.Source(self.who, self.through, self.by).told if self.who else ""


def events(
    store: Store, run: str, recorded: Sequence[entries.Entry] | None = None
) -> Iterator[Event]:
    """What happened to a run, from the beginning."""
    return (event for event, _ in events_with_words(store, run, recorded))


def events_with_words(
    store: Store, run: str, recorded: Sequence[entries.Entry] | None = None
) -> Iterator[tuple[Event, str]]:
    """What happened to a run, each event with all that was said, which is more than is told."""
    flow = ""
    questions: dict[str, Question] = {}
    known: dict[str, Answer] = {}
    for entry in store.entries(run) if recorded is None else recorded:
        try:
            body, matter = entry.read(), entry.read_matter()
        except entries.Unreadable:
            told = f"cannot be read; see quandary verify {run}"
            yield Event(entry.n, "", entry.kind, "", "", "", told), told
        else:
            if isinstance(body, entries.Began):
                flow = body.flow
            if matter.ask is not None:
                questions |= {question.key: question for question in matter.ask.questions}
            text = _text(store, body, matter, flow, questions, known)
            if isinstance(body, entries.Answered):
                known |= {answer.key: answer for answer in matter.answers or body.answers}
            text += " (pruned)" if entry.pruned else ""
            said = f"{text} {matter.ask.preamble.text if matter.ask else ''} {body.by}"
            if entry.pruned and entry.kind == "began":  # documents that others still need name it
                said = f"{flow} {body.by}"
            keys = tuple(body.offered) if isinstance(body, entries.Asked) else ()
            if isinstance(body, entries.Answered):
                keys = tuple(answer.key for answer in body.answers)
            yield Event(entry.n, body.at, entry.kind, *body.source, text, keys), said


def search(
    store: Store,
    text: str,
    project: str | None = None,
    limit: int = 20,
    watch: Watch = lambda *_: None,
) -> list[str]:
    """The newest runs, of one project or of all, with an entry that has all words of the text."""
    words = words_in(text)

    def has_words(run: str) -> bool:
        said = (said.casefold() for _, said in events_with_words(store, run))
        return any(all(word in one for word in words) for one in said)

    runs = (row.id for row in candidates(store, words, project, watch))
    return list(islice(filter(has_words, runs), limit))


def words_in(text: str) -> list[str]:
    """The words of a text, in one case; part of a word is a word too, for whoever searches."""
    return text.replace("\0", " ").casefold().split()


def candidates(
    store: Store, words: list[str], project: str | None, watch: Watch = lambda *_: None
) -> Iterator[Run]:
    """The runs that may have the words: those that the index gives, or all where there is none."""
    try:
        while upto := index_some(store):
            watch(upto, store.newest(), "entries indexed")
    except StoreError:  # it cannot be written, by us or now
        for count, row in enumerate(store.each_run(project=project, newest=True)):
            watch(count, 0, "runs searched")
            yield row
        return
    below = maxsize
    while page := store.having(words, project=project, below=below):
        yield from page
        below = page[-1].number


def index_some(store: Store) -> int:
    """Take the words of some more runs into the index; how far that came, 0 at the end."""

    def words_of(run: str) -> str:
        said = [said for _, said in events_with_words(store, run)]
        words = map(words_in, (*said, store.require_run(run).project, run))
        return " ".join(dict.fromkeys(chain.from_iterable(words)))

    return store.index_words(words_of)


def moment(at: str, *, seconds: bool = False) -> str:
    """When something happened, for people; the journal's clock is in UTC, and so is this."""
    return f"{at[:10]} {at[11 : 19 if seconds else 16]}Z" if at else "?"


def local_moment(at: str) -> str:
    """When something happened, by the clock of whoever looks."""
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M") if at else "?"


class Origin(NamedTuple):
    """How a run began, as lists tell it."""

    about: str = ""  # what it is about
    asker: str = ""  # who asked, by name
    further: str = ""  # what else is known of them
    titles: str = ""  # the items that it is about


def tell_origin(
    began: object,
    arguments: dict[str, Any] | None = None,
    find: Callable[[str], bytes | None] = lambda _: None,
) -> Origin:
    """Who began a run, as its first entry says; with its arguments, also what it is about."""
    if not isinstance(began, entries.Began):
        return Origin()
    asker, further = began.asked_by or WHO.get(began.who, ""), began.asker.told
    if arguments is None:
        return Origin("", asker, further)
    items = arguments.get("items") or []
    titles = [str(one.get("title") or one.get("label") or "") for one in items[:3]]
    about = ", ".join(filter(None, [*titles, "…" if len(items) > 3 else ""]))
    return Origin(tell_beginning(find, began, arguments), asker, further, about)


def origins(store: Store, runs: Sequence[str]) -> dict[str, Origin]:
    """How some runs began, as their first entries say; where these cannot be read, nothing."""
    first: dict[str, tuple[entries.Began, dict[str, Any]]] = {}
    for run, (written, matter) in store.first_entries(runs).items():
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            body = entries.read_body(written)
            if isinstance(body, entries.Began):
                first[run] = body, entries.read_matter(matter).arguments or {}
    named = ((body.documents, name) for body, _ in first.values() for name in _TOLD_BY)
    documents = store.some_documents({kept[name] for kept, name in named if name in kept})
    told = {run: tell_origin(*began, documents.get) for run, began in first.items()}
    return dict.fromkeys(runs, Origin()) | told


def given_answers(store: Store, run: str) -> list[GivenAnswer]:
    """The answers of a run that count, in the order of asking."""
    return list_answers(run, store.entries(run, kinds=("asked", "answered", "noted")))[1]


def answer_text(answer: Answer, question: Question | None) -> str:
    """An answer as the person would tell it."""
    title = f"{question.title}: " if question and question.title else f"{answer.key} "
    return title + tell_answer(answer, question)


def tell_answer(answer: Answer, question: Question | None) -> str:
    """The same, without what it is about."""
    said = ", ".join(_parts(answer, question)) or "Other"
    if question and answer.values:
        said += f" ({'; '.join(tell_changes(question, answer.values))})"
    said += "".join(f"; {remark.told}" for remark in answer.annotations)
    return said + (f" — “{answer.comment}”" if answer.comment else "")


def _parts(answer: Answer, question: Question | None) -> Iterator[str]:
    labels = question.labels if question else list
    extras = {extra.letter: extra.shown for extra in question.extras} if question else {}
    yield from labels(answer.picked)
    if answer.text:
        fits = " or ".join(labels(answer.among))
        yield f"“{answer.text}”" + (f" ({fits})" if fits else "")
    if answer.proposed:
        meant = ", ".join(labels(answer.proposed))
        against = "; ".join(dict.fromkeys(answer.barred.values()))
        yield f"proposed: {meant}" + (f" (not asked: {against})" if against else "")
    if answer.extra:
        yield extras.get(answer.extra, answer.extra)
    if answer.tree:
        yield f"first {answer.tree}"
    if answer.advice:
        offers = "".join(f", {offer.shown}" for offer in answer.offers)
        yield f"advice “{answer.advice}”{offers}"
    if answer.prefix == "fill":
        yield "filled in"
    elif answer.prefix and not answer.extra:
        yield f"{_MARKS[answer.prefix]}{answer.argument}".strip()


def _text(
    store: Store,
    body: AnyBody,
    matter: Matter,
    flow: str,
    questions: dict[str, Question],
    known: dict[str, Answer],
) -> str:
    """What an entry of a run says; what was asked and answered before is `known`."""
    if isinstance(body, entries.Began):
        said = tell_beginning(store.document, body, matter.arguments or {})
        files = "; ".join(one.told for one in list_attachments(matter.arguments or {}))
        said += f" (attached: {files})" if files else ""
        said += f" (asked by {asker})" if (asker := body.asker.told) else ""
    elif isinstance(body, entries.Asked):
        asked = matter.ask.questions if matter.ask else ()
        said = "; ".join(f"{q.key} {q.text}" for q in asked) or "; ".join(body.offered)
    elif isinstance(body, entries.Answered):
        answers = matter.answers or body.answers
        if body.amends:
            answers = tuple(a for a in answers if a != known.get(a.key)) or answers
        said = "; ".join(
            answer_text(answer, questions.get(answer.key))
            + (f" by {body.source_of(answer.key).told}" if body.sources else "")
            for answer in answers
        )
        if body.amends:
            said += f" (amends entry {body.amends}{f': {matter.why}' if matter.why else ''})"
        elif body.origin:
            said += f" (taken over from run {body.origin})"
    elif isinstance(body, entries.Ended):
        came = []
        with suppress(AttributeError, IndexError, KeyError, TypeError):  # changed; `verify` tells
            came = outcome_lines(flow, matter.result)
        told = "; ".join([*came, matter.error] if matter.error else came)
        said = f"{body.status}: {told}" if told else body.status
    elif isinstance(body, entries.Noted):
        said = f"{body.kind}: {matter.text}" if matter.text else body.kind
    elif isinstance(body, entries.Called):
        said = body.agent or body.deed
    else:
        said = "came back" if body.ok else "failed"
    return said


def tell_beginning(
    find: Callable[[str], bytes | None], body: entries.Began, arguments: dict[str, Any]
) -> str:
    """What a run is about: its tree or chart, and what it was begun for."""
    drawn = _document(find, body.documents.get("tree") or body.documents.get("chart"))
    name = drawn.get("name") if isinstance(drawn, dict) else None
    if isinstance(name, str) and (item := arguments.get("item")):
        values = {**item.get("fields", {}), **item}
        name = fill_prompt(name, {key: str(value) for key, value in values.items()}, {})
    origin = f" (with answers of run {body.origin})" if body.origin else ""
    if not (about := _about(body.flow, arguments)):  # of a split, the options
        found = _document(find, body.documents.get("options"))
        options = found if isinstance(found, list) else []
        titles = [str(option.get("title", "")) for option in options if isinstance(option, dict)]
        about = ", ".join(filter(None, titles[:3]))
        about += f" and {len(titles) - 3} more" if len(titles) > 3 else ""
    return f"{name or body.flow}{f': {about}' if about else ''}{origin}"


def _document(find: Callable[[str], bytes | None], digest: str | None) -> object:
    """What a run began with; nothing where it is lost or damaged, as `verify` tells."""
    written = find(digest) if digest else None
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(written) if written else None
    return None


def _about(flow: str, arguments: dict[str, Any]) -> str:
    """What a run is for, as its arguments say."""
    if flow == "prefer":
        if "bound" in arguments:
            bound = "decides" if arguments["bound"] else "no longer decides"
            return f"{arguments.get('id')} {bound}: {arguments.get('question')}"
        return f"{arguments.get('id')} {arguments.get('preference') or 'cleared'}"
    if flow == "question":
        questions = (arguments.get("ask") or {}).get("questions") or [{}]
        return str(questions[0].get("text", ""))
    if flow == "permit":
        return str((arguments.get("request") or {}).get("action", ""))
    item = arguments.get("item") or {}
    said = str(arguments.get("context") or item.get("title") or item.get("label") or "")
    return said.replace("**", "")
