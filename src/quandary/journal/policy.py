"""Ask, or decide by a preference: the one place that says which.

A preference is what a person wants to be asked. Each change of one is a run of its own, found by
its name; the newest run of a name is what holds. The order is fixed: what cannot be taken back is
always asked, then whatever belongs to a split, and only then a preference counts; and it decides
only where exactly one option is recommended. Whatever is unclear, damaged or missing means: ask.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from quandary.errors import QuandaryError
from quandary.journal.entries import read_beginning
from quandary.journal.store import chosen_by_project
from quandary.model.one_way import one_way
from quandary.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from quandary.journal.runs import Said
    from quandary.journal.store import Store
    from quandary.model.asks import Ask, Question
    from quandary.settings import Settings

Preference = Literal["always-ask", "never-ask", "ask-only-for-one-way"]
PREFERENCES: tuple[Preference, ...] = get_args(Preference)
SUPPRESSING: frozenset[str] = frozenset({"never-ask", "ask-only-for-one-way"})
ID = re.compile(r"[a-z0-9-]{1,64}")
_NAME = "prefer\n"
_SPLIT = re.compile(r"(?:^|-)split-")
_IN_A_SPLIT = "every option of a split is asked about"
_UNDERSTOOD = frozenset({"door", "ask", "title", "summary", "description"})
"""What can be said of a registered question; the last three are for people."""


class SetPreference(NamedTuple):
    """A preference that somebody set."""

    id: str
    preference: str
    scope: str
    """The project, or nothing for everywhere."""
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
) -> None:
    """Set a preference, or clear it with an empty one; each change is a run of its own."""
    from quandary.journal import runs  # noqa: PLC0415 - which uses this module in turn

    arguments = {"id": id_, "preference": preference, "origin": origin}
    runs.begin(store, "prefer", arguments, project=scope, name=_name(scope, id_), **said)


def _name(scope: str, id_: str) -> str:
    return f"{_NAME}{scope}\n{id_}"


def _read(store: Store, name: str) -> SetPreference | None:
    run = store.named(name).get(name)
    if run is None:
        return None
    body, said = read_beginning(store, run)
    if body.flow != "prefer" or body.name != name:
        raise ValueError(f"run {run} set no preference")
    preference = said["preference"]
    if preference and preference not in PREFERENCES:
        raise ValueError(f"{preference!r} is no preference")
    id_, origin = str(said["id"]), str(said.get("origin", ""))
    return SetPreference(
        id_, preference, body.project, run, body.at, body.who, body.through, origin
    )


class Verdict(NamedTuple):
    """What to do with a question, and why where a preference has something to do with it."""

    decide: bool
    note: str = ""
    code: str = ""
    """The option that is taken."""


ASK = Verdict(decide=False)


class Policy(NamedTuple):
    """The preferences and the registry of questions that hold for a project."""

    store: Store | None
    settings: Settings | None
    project: str = ""
    trouble: str = ""
    """Why nothing can be decided."""

    def check(self, id_: str, *texts: str, chain: bool = False) -> Verdict:
        """Judge by the id and by words alone; which option would be taken is not looked at."""
        if self.store is None or self.trouble or self.store.missing:
            trouble = self.trouble or "the store cannot be read"
            if self.store is not None and self.store.missing:
                trouble = "the store is not what was seen here before (see quandary verify)"
            return ASK._replace(note=f"{trouble}, so it is asked")
        try:
            found = find_preference(self.store, id_, self.project)
            if found is None or found.preference not in SUPPRESSING:
                return ASK
            for reason in self._find_reasons(id_, texts, chain=chain):
                return ASK._replace(note=f"{reason}; your {found.preference} does not apply")
        except (QuandaryError, ValueError, KeyError, TypeError) as error:
            return ASK._replace(note=f"the preferences cannot be read ({error}), so it is asked")
        return Verdict(decide=True, note=f"{found.preference} is set for {id_}")

    def judge(self, question: Question) -> Verdict:
        """Judge a question as it would be shown, down to the option that would be taken."""
        if not question.id:
            return ASK
        words = [question.text, question.header, question.title]
        words += [f"{choice.label} {choice.description}" for choice in question.options]
        verdict = self.check(question.id, *words, chain=question.chain)
        if not verdict.decide:
            return verdict
        recommended = [choice.code for choice in question.choices if choice.recommended]
        if len(recommended) != 1:
            many = "more than one option is" if recommended else "no option is"
            return ASK._replace(note=f"{many} recommended, so it has to be asked")
        return verdict._replace(code=recommended[0])

    def judge_all(self, ask: Ask) -> dict[str, Verdict] | None:
        """What to take for each question of an Ask, if every one of them may be decided."""
        if ask.require or not all(question.decidable for question in ask.questions):
            return None
        verdicts = {question.key: self.judge(question) for question in ask.questions}
        return verdicts if all(verdict.decide for verdict in verdicts.values()) else None

    def _find_reasons(self, id_: str, texts: Sequence[str], *, chain: bool) -> Iterator[str]:
        yield from fixed_reasons(self.settings, id_, texts)
        if chain:
            yield _IN_A_SPLIT
        if self.settings is not None:
            yield from (text for _, text in _registered(self.settings, id_))
            if self.store and chosen_by_project(self.settings) == self.store.path:
                yield "the store was chosen by the project's own settings"


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
    if _SPLIT.search(id_):
        yield _IN_A_SPLIT


def _registered(settings: Settings, id_: str) -> Iterator[tuple[bool, str]]:
    """What the settings say of a question, and whether it is that it leads one way.

    Whoever registers a question can only have it asked: what is not understood means that too.
    """
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
