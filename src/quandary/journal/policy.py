"""Ask, or decide by a preference: the one place that says which.

A preference is what a person wants to be asked. Each change of one is a run of its own, found by
its name; the newest run of a name is what holds. The order is fixed: what cannot be taken back is
always asked, then whatever belongs to a split, and only then a preference counts; and it decides
only where exactly one option is recommended. Whatever is unclear, damaged or missing means: ask.

An id belongs to whoever asks, so a preference is bound to the content that the person saw. It
decides a question in the forms in which that person themselves took what is recommended, and in no
other. What it is bound to is a run too, named after the preference's own run and the form, so that
another preference begins with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple, Unpack, get_args

from quandary.errors import QuandaryError
from quandary.journal import is_trusted
from quandary.journal.entries import (
    Answered,
    Source,
    Unreadable,
    document_bytes,
    document_digest,
    read_beginning,
)
from quandary.journal.history import list_answers
from quandary.model.keys import is_split
from quandary.model.one_way import one_way
from quandary.settings import Settings, read_settings

if TYPE_CHECKING:
    from quandary.journal.runs import Said
    from quandary.journal.store import Store
    from quandary.model.asks import Answer, Ask, Question, Reply

Preference = Literal["always-ask", "never-ask", "ask-only-for-one-way"]
PREFERENCES: tuple[Preference, ...] = get_args(Preference)
SUPPRESSING: frozenset[str] = frozenset({"never-ask", "ask-only-for-one-way"})
_NAME = "prefer\n"
_BOUND = "bound\n"
_LATELY = 1000
"""Among so many runs, the newest first, a question is looked for that a preference is set for."""
_UNREADABLE = (Unreadable, ValueError, KeyError, TypeError)
_DAMAGE = (QuandaryError, *_UNREADABLE)
_IN_A_SPLIT = "every option of a split is asked about"
_RECORDS = frozenset({"prefer", "phase", "prune", "imported"})
_UNDERSTOOD = frozenset({"door", "ask", "title", "summary", "description"})
"""What can be said of a registered question; the last three are for people."""


class SetPreference(NamedTuple):
    """A preference that somebody set."""

    id: str
    preference: str
    scope: str  # the project, or nothing for everywhere
    run: str
    at: str
    who: str
    through: str
    origin: str


def find_preference(store: Store, id_: str, project: str) -> SetPreference | None:
    """The preference that holds for a question: the project's, else the one for everywhere."""
    both = (_read(store, _name(scope, id_)) for scope in dict.fromkeys((project, "")))
    return next((found for found in both if found is not None and found.preference), None)


def list_preferences(store: Store, project: str | None = None) -> list[SetPreference]:
    """Every preference that is set, of one project and of all, or of every project."""
    names = store.named(_NAME, f"{_NAME}\U0010ffff")
    found = [kept for name in names if (kept := _read(store, name)) and kept.preference]
    return [kept for kept in found if project is None or kept.scope in (project, "")]


def set_preference(
    store: Store, id_: str, preference: str, *, scope: str, origin: str, **said: Unpack[Said]
) -> Question | None:
    """Set a preference, or clear it with an empty one; each change is a run of its own."""
    from quandary.journal import runs  # noqa: PLC0415 - which uses this module in turn

    seen = None
    if preference in SUPPRESSING:
        seen = _find_seen(store, id_, scope, by_hand=Source(**said).in_person)
    arguments = {"id": id_, "preference": preference, "origin": origin}
    runs.begin(store, "prefer", arguments, project=scope, name=_name(scope, id_), **said)
    found = _read(store, _name(scope, id_)) if seen else None
    if seen is not None and found is not None:  # once: who took something else meanwhile is asked
        _bind(store, found, seen, bound=True, once=True, **said)
    return seen


def bind_preferences(
    store: Store, project: str, ask: Ask, reply: Reply, *, agreed: bool, **said: Unpack[Said]
) -> None:
    """Bind preferences to what a person answers with their own hand, where they `agreed` or not.
    From now on a preference decides a question in the form in which they took the one recommended
    option; where they said something else, it no longer does. Damage means that it is asked; only a
    store that cannot be written now must not keep what they want otherwise.
    """
    with suppress(*(_DAMAGE if agreed else _UNREADABLE)):
        for question in ask.questions:
            answer = reply.to(question.key)
            if not question.decidable or answer is None or not answer.settles:
                continue
            if _agrees(question, answer) != agreed:
                continue
            found = find_preference(store, question.id, project)
            suppressing = found is not None and found.preference in SUPPRESSING
            if found and suppressing and agreed is not is_bound(store, found, question):
                _bind(store, found, question, bound=agreed, **said)


def is_bound(store: Store, found: SetPreference, question: Question) -> bool | None:
    """Whether a person wants the question decided in this form; None where nobody has said."""
    name = _bound_name(found, question)
    if (run := store.named(name).get(name)) is None:
        return None
    body, said = read_beginning(store, run)
    return (body.flow, body.name) == ("prefer", name) and bool(said["preference"])


def _bind(
    store: Store,
    found: SetPreference,
    question: Question,
    *,
    bound: bool,
    once: bool = False,
    **said: Unpack[Said],
) -> None:
    from quandary.journal import runs  # noqa: PLC0415 - the same

    arguments = {"id": found.id, "preference": found.preference if bound else "", "bound": bound}
    arguments |= {"origin": found.origin, "question": question.text}
    name = _bound_name(found, question)
    runs.begin(store, "prefer", arguments, project=found.scope, name=name, once=once, **said)


def _bound_name(found: SetPreference, question: Question) -> str:
    return f"{_BOUND}{found.run}\n{document_digest(document_bytes(question.content))}"


def _find_seen(store: Store, id_: str, scope: str, *, by_hand: bool) -> Question | None:
    """The question of that id that a person answered last, as they saw it. What was taken over or
    passed on is not their answer. Whoever sets a preference `by_hand` is shown the question, so
    that there what a host reports of its own question will do, and so will any answer; for a
    preference that somebody else types, it has to be the recommended one.
    """
    reported, refused = None, list[object]()
    for row in store.runs(project=scope or None, newest=True, limit=_LATELY):
        entries = store.entries(row.id, kinds=("asked",)) if row.flow not in _RECORDS else ()
        if not any(q.id == id_ for e in entries if (a := e.read_matter().ask) for q in a.questions):
            continue
        every = store.entries(row.id)
        bodies = [entry.read() for entry in every]
        elsewhere = {body.key for body in bodies if isinstance(body, Answered) and body.origin}
        for one in reversed(list_answers(row.id, every, whole=False)[1]):
            question, source, answer = one.question, one.source, one.answer
            if question.id != id_ or one.ask.key in elsewhere or not answer.settles:
                continue
            if source.in_person and question.content not in refused:
                if by_hand or _agrees(question, answer):
                    return question
                refused.append(question.content)  # the last word counts, and none before it
            if by_hand and row.flow == "question" and source.through == "hook":
                reported = reported or question
    return reported


def _agrees(question: Question, answer: Answer) -> bool:
    """Whether the one recommended option was taken, and nothing else chosen or said."""
    said = answer.text or answer.comment or question.gathered
    return len(question.recommended) == 1 and answer.picked == question.recommended and not said


def _name(scope: str, id_: str) -> str:
    return f"{_NAME}{scope}\n{id_}"


def _read(store: Store, name: str) -> SetPreference | None:
    if (run := store.named(name).get(name)) is None:
        return None
    body, said = read_beginning(store, run)
    if body.flow != "prefer" or body.name != name:
        raise ValueError(f"run {run} set no preference")
    preference = said["preference"]
    if preference and preference not in PREFERENCES:
        raise ValueError(f"{preference!r} is no preference")
    where, who = (body.project, run), (body.at, body.who, body.through)
    return SetPreference(str(said["id"]), preference, *where, *who, str(said.get("origin", "")))


class Verdict(NamedTuple):
    """What to do with a question, and why where a preference has something to do with it."""

    decide: bool
    note: str = ""
    code: str = ""  # the option that is taken
    unseen: Literal["", "unbound", "changed"] = ""
    """It is asked because the person has not answered it yet, or not in this form."""


ASK = Verdict(decide=False)


class Policy(NamedTuple):
    """The preferences and the registry of questions that hold for a project."""

    store: Store | None
    settings: Settings | None
    project: str = ""
    trouble: str = ""  # why nothing can be decided

    def check(
        self, id_: str, *texts: str, chain: bool = False, shown: Question | None = None
    ) -> Verdict:
        """Judge by the id and by words alone, not by which option would be taken."""
        if self.store is None or self.trouble or self.store.missing:
            trouble = self.trouble or "the store cannot be read"
            if self.store is not None and self.store.missing:
                trouble = "the store is not what was seen here before (see quandary verify)"
            return ASK._replace(note=f"{trouble}, so it is asked")
        try:
            found = find_preference(self.store, id_, self.project)
            if found is None or found.preference not in SUPPRESSING:
                return ASK
            for reason in self.find_reasons(id_, texts, chain=chain):
                return ASK._replace(note=f"{reason}; your {found.preference} does not apply")
            if shown is not None and not (bound := is_bound(self.store, found, shown)):
                return _judge_unseen(self.store, found, refused=bound is False)
        except _DAMAGE as error:
            return ASK._replace(note=f"the preferences cannot be read ({error}), so it is asked")
        return Verdict(decide=True, note=f"{found.preference} is set for {id_}")

    def judge(self, question: Question, *beside: str) -> Verdict:
        """Judge a question as it is shown, with what stands `beside` it and would be taken."""
        if not question.id:
            return ASK
        words = [question.text, question.header, question.title, *beside]
        words += [f"{choice.label}. {choice.description}" for choice in question.options]
        shown = question if len(question.recommended) == 1 else None  # else no answer helps
        verdict = self.check(question.id, *words, chain=question.chain, shown=shown)
        if not verdict.decide:
            return verdict
        if shown is None:
            many = "more than one option is" if question.recommended else "no option is"
            return ASK._replace(note=f"{many} recommended, so it has to be asked")
        return verdict._replace(code=question.recommended[0])

    def judge_all(self, ask: Ask) -> dict[str, Verdict]:
        """What to do with each question of an Ask; nothing where not all of them can be decided."""
        if ask.require or ask.back or not all(question.decidable for question in ask.questions):
            return {}
        beside = (ask.preamble.context, *ask.preamble.blocks)
        return {question.key: self.judge(question, *beside) for question in ask.questions}

    def find_reasons(
        self, id_: str, texts: Sequence[str] = (), *, chain: bool = False
    ) -> Iterator[str]:
        """Why a question is asked, whatever is preferred."""
        yield from fixed_reasons(self.settings, id_, texts)
        if chain:
            yield _IN_A_SPLIT
        if self.settings is not None:
            yield from (text for _, text in _registered(self.settings, id_))
        if self.store is not None and not is_trusted(self.store):
            yield f"you no longer trust {self.store.named_in}, which named the store"


def _judge_unseen(store: Store, found: SetPreference, *, refused: bool) -> Verdict:
    """Say why a preference does not decide a question in this form."""
    which, how = f"{found.preference} for {found.id}", "at a terminal or in the browser"
    kept = f"{_BOUND}{found.run}\n"
    note = f"This question has changed since you answered it, so your {which} does not decide it."
    if not refused and store.named(kept, f"{kept}~"):
        return Verdict(decide=False, note=note, unseen="changed")
    note = f"Your {which} decides once you have taken the recommended option yourself, {how}."
    return Verdict(decide=False, note=note, unseen="unbound")


def read_policy(store: Store, project: str) -> Policy:
    """The policy that holds for the runs of a project."""
    try:
        return Policy(store, read_settings(project or None), project)
    except QuandaryError as error:
        return Policy(store, None, project, trouble=f"the settings cannot be read ({error})")


def fixed_reasons(settings: Settings | None, id_: str, texts: Sequence[str] = ()) -> Iterator[str]:
    """Why a question leads one way, or belongs to a split; these can never be silenced."""
    if settings is not None:
        yield from (text for one_way_door, text in _registered(settings, id_) if one_way_door)
    if danger := one_way(id_, *texts):
        yield f"it cannot be taken back ({danger})"
    if is_split(id_):
        yield _IN_A_SPLIT


def is_registered_one_way(settings: Settings | None, ask: Ask) -> bool:
    """Whether the settings say of one of its questions that it leads one way."""
    return settings is not None and any(
        leads for question in ask.questions for leads, _ in _registered(settings, question.id)
    )


def _registered(settings: Settings, id_: str) -> Iterator[tuple[bool, str]]:
    """What the settings say of a question; they can only have it asked."""
    try:
        tables = settings.tables("questions")
    except QuandaryError as error:
        yield True, f"the settings cannot be read ({error})"
        return
    for part, entries in tables:
        entry = entries.get(id_, {})
        if not isinstance(entry, dict):
            yield True, f"{part.path}: [questions.{id_}] is no table"
            continue
        if entry.get("door", "two-way") != "two-way":
            yield True, f"{part.path} calls it a one-way door"
        if entry.get("ask", "") != "":
            yield False, f"{part.path} wants it asked"
        for name in sorted(entry.keys() - _UNDERSTOOD):
            yield False, f"{part.path} says {name} of it, which means nothing here"
