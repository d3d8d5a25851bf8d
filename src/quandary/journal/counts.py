"""What a journal holds, counted: its questions over time, and figures for whoever runs a server.

Every entry stays, also where what was said in it was pruned, so whoever counts them comes to the
same figures, in whatever process and however often it was started again.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from quandary.journal import chance
from quandary.journal.chance import stamp
from quandary.journal.entries import (
    Answered,
    Asked,
    Began,
    Called,
    Ended,
    Entry,
    Returned,
    kind_of,
    read_body,
)
from quandary.model.keys import is_split
from quandary.model.one_way import one_way

if TYPE_CHECKING:
    from quandary.journal.store import Store, Watch
    from quandary.model.asks import Answer, Question

PAGE = 5000
SETTLED = 5
"""So many answers alike, and none that differs, make a question a candidate for never-ask."""


class Occasion(NamedTuple):
    """One question put before somebody, and what became of it.

    What is turned to, looked up or asked back on the way to an answer makes no further one.
    """

    run: str
    project: str
    key: str
    id: str
    text: str
    asked: str
    answered: str = ""
    """When; nothing while it waits, or where nobody ever answered."""
    who: str = ""
    through: str = ""
    answer: tuple[str, ...] = ()
    """Labels, or the person's own words."""
    recommended: tuple[str, ...] = ()
    chain: bool = False

    @property
    def seconds(self) -> float | None:
        """How long it waited for its answer."""
        if not self.answered:
            return None
        begun, ended = (datetime.fromisoformat(at) for at in (self.asked, self.answered))
        return max((ended - begun).total_seconds(), 0.0)

    @property
    def followed(self) -> bool | None:
        """Whether the only recommended option was taken; nothing where there was none."""
        if not self.answered or len(self.recommended) != 1:
            return None
        return self.answer == self.recommended


def occasions(
    store: Store, project: str | None = None, watch: Watch = lambda *_: None
) -> Iterator[Occasion]:
    """Every question of every run, in the order in which they were answered or given up.

    What came back to the same question has not answered it: words that an agent read and the person
    is asked about, or a look at something.
    """
    projects: dict[str, str] = {}
    waiting: dict[str, list[tuple[Question, Occasion]]] = {}
    answered: dict[str, list[tuple[str, Occasion]]] = {}
    """With the item, until it is known whether the question comes again."""
    for entry in _history(store, watch):
        run = entry.run
        try:
            body = entry.read()
            ask = entry.read_matter().ask if isinstance(body, Asked) else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # `verify` reports it
        if isinstance(body, Began):
            projects[run] = body.project
        elif ask is not None and project in (None, projects.get(run)):
            place = (run, projects.get(run, ""))
            waiting[run] = [(q, _shown(q, *place, body.at)) for q in ask.questions]
            again = {(q.item, (q.confirms or q).id) for q in ask.questions if ask.back}
            done = answered.pop(run, ())
            yield from (found for item, found in done if (item, found.id) not in again)
        elif isinstance(body, Answered) and not body.amends and run in waiting:
            answers = {a.key: a for a in (entry.read_matter().answers or body.answers)}
            for question, occasion in waiting.pop(run):
                answer = answers.get(question.key)
                if answer is not None and answer.settles:
                    said = tuple(_said(question, answer))
                    who, through, _ = body.source_of(question.key)
                    asked = _earlier(body.at, body.seconds) or occasion.asked
                    found = occasion._replace(
                        asked=asked, answered=body.at, who=who, through=through, answer=said
                    )
                    answered.setdefault(run, []).append((question.item, found))
        elif isinstance(body, Ended):
            yield from (found for _, found in answered.pop(run, ()))
    for rest in answered.values():
        yield from (found for _, found in rest)
    for shown in waiting.values():
        yield from (occasion for _, occasion in shown)


def _earlier(at: str, seconds: float | None) -> str:
    """When a host began to ask; nothing where it was not said how long it took."""
    if seconds is None:
        return ""
    return stamp(datetime.fromisoformat(at) - timedelta(seconds=seconds))


def _history(store: Store, watch: Watch = lambda *_: None) -> Iterator[Entry]:
    after = 0
    while page := store.history(after=after, limit=PAGE):
        after = page[-1].seq
        watch(after, store.newest(), "entries read")
        yield from page


def _shown(question: Question, run: str, project: str, asked: str) -> Occasion:
    known = question.confirms or question
    about = (run, project, question.key, known.id, known.text, asked)
    recommended = tuple(choice.label for choice in question.choices if choice.recommended)
    return Occasion(*about, recommended=recommended, chain=question.chain)


def _said(question: Question, answer: Answer) -> Iterator[str]:
    """Labels, or the words that stand in their place."""
    labels = {choice.code: choice.label for choice in question.options}
    answer = question.settle(answer)
    yield from (labels.get(code, code) for code in answer.picked)
    if answer.text:
        yield answer.text
    if answer.extra:
        yield next((e.text for e in question.extras if e.letter == answer.extra), answer.extra)
    if answer.prefix:
        yield f"!{answer.argument}"


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """A question over time."""

    id: str
    text: str
    """As it was last shown."""
    asked: int
    answered: int
    by: dict[str, int]
    median_seconds: float | None
    """How long people took."""
    recommended: int
    """How often one option was recommended and the question answered."""
    followed: int
    answers: dict[str, int]
    candidate: bool
    """People always gave the same answer, so that nobody may want to be asked any more."""


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    asked: int
    answered: int
    last_hour: int
    """How many were put before people in the last hour."""
    candidates: tuple[str, ...]
    questions: tuple[Tally, ...]


def summarize_questions(found: Sequence[Occasion]) -> Statistics:
    """Count questions, those first that were asked most."""
    hour_ago = stamp(chance.now() - timedelta(hours=1))
    by_id: defaultdict[str, list[Occasion]] = defaultdict(list)
    for occasion in found:
        by_id[occasion.id or occasion.text].append(occasion)
    tallies = sorted(starmap(_tally, by_id.items()), key=lambda tally: (-tally.asked, tally.id))
    return Statistics(
        asked=len(found),
        answered=sum(bool(occasion.answered) for occasion in found),
        last_hour=sum(o.asked >= hour_ago and o.who != "policy" for o in found),
        candidates=tuple(tally.id for tally in tallies if tally.candidate),
        questions=tuple(tallies),
    )


def _tally(id_: str, every: list[Occasion]) -> Tally:
    done = [occasion for occasion in every if occasion.answered]
    people = [occasion for occasion in done if occasion.who != "policy"]
    times = sorted(o.seconds for o in people if o.seconds is not None)
    judged = [occasion.followed for occasion in done if occasion.followed is not None]
    alike = len({occasion.answer for occasion in people}) == 1 and bool(people[0].answer)
    settled = len(people) >= SETTLED and alike
    harmless = not any(o.chain for o in every) and not is_split(id_)
    return Tally(
        id=id_,
        text=every[-1].text,
        asked=len(every),
        answered=len(done),
        by=dict(Counter(occasion.who for occasion in done)),
        median_seconds=times[len(times) // 2] if times else None,
        recommended=len(judged),
        followed=sum(judged),
        answers=dict(Counter(", ".join(occasion.answer) for occasion in done).most_common()),
        candidate=settled and harmless and not one_way(id_, every[-1].text, *people[0].answer),
    )


# -- figures for whoever runs a server -----------------------------------------------------------

MOST_NAMES = 50
"""So many names of one sort are told apart: journals can hold anything, and figures are few."""
OTHER = "other"
_NAME = re.compile(r"\w[\w .:/@+-]{0,79}")


class Few(dict[str, str]):
    """Names, as long as they are few and short; all others are one."""

    def __missing__(self, name: str) -> str:
        if len(self) >= MOST_NAMES or not _NAME.fullmatch(name):
            return OTHER
        self[name] = name
        return name


class Counts(NamedTuple):
    """How often things happened."""

    entries: Counter[str]
    """By kind."""
    begun: Counter[str]
    """By flow."""
    answers: Counter[tuple[str, str]]
    """By whose word it is, and the way it came."""
    calls: Counter[str]
    """By agent."""
    failures: Counter[str]
    """Calls of an agent that came to nothing."""
    ended: Counter[str]
    """By outcome."""
    under_way: int = 0
    """Calls that have not come back."""
    behind: int = 0
    """About how many entries are still to be counted; until there are none, the counts are too
    low."""


class Counting:
    """A journal that is counted in pieces, whenever somebody wants to know.

    Whose word an answer is and which agent was called stand in the bodies of entries, which SQL
    cannot read in both kinds of stores; and to count all rows each time takes seconds where there
    are millions. So only what is new is read.
    """

    def __init__(self, store: Store, project: str | None = None) -> None:
        self._store = store
        self._of = {} if project is None else {"project": project}
        self._counts = Counts(Counter(), Counter(), Counter(), Counter(), Counter(), Counter())
        self._few: defaultdict[str, Few] = defaultdict(Few)
        self._under_way: dict[str, dict[str, str]] = {}
        """Of each run, the calls that have not come back, and the agent of each."""
        self._seen = 0
        self._lock = threading.Lock()

    def up_to_now(self, seconds: float) -> Counts:
        """Count what came since the last time, for about as long as this at most."""
        deadline = chance.monotonic() + seconds
        with self._lock:
            newest = self._store.newest()
            while self._seen < newest and chance.monotonic() < deadline:
                page = self._store.happened(after=self._seen, limit=PAGE, **self._of)
                if not page:
                    self._seen = newest  # what is left belongs to other projects
                    break
                for self._seen, run, body in page:
                    self._count(run, body)
            under_way, behind = sum(map(len, self._under_way.values())), newest - self._seen
            return deepcopy(self._counts)._replace(under_way=under_way, behind=max(behind, 0))

    def _count(self, run: str, written: bytes) -> None:
        counts, few = self._counts, self._few
        try:
            body = read_body(written)
        except (msgspec.DecodeError, UnicodeDecodeError):
            counts.entries[OTHER] += 1  # `verify` tells of it; a figure is no place for that
            return
        counts.entries[kind_of(body)] += 1
        if isinstance(body, Answered):
            counts.answers[body.source.who, few["through"][body.through]] += 1
        elif isinstance(body, Called) and body.agent:
            agent = few["agent"][body.agent]
            counts.calls[agent] += 1
            self._under_way.setdefault(run, {})[body.key] = agent
        elif isinstance(body, Returned):
            under_way = self._under_way.get(run, {})
            called = under_way.pop(body.key, None)
            if called is not None and not body.ok:
                counts.failures[called] += 1
            if not under_way:
                self._under_way.pop(run, None)
        elif isinstance(body, Began):
            counts.begun[few["flow"][body.flow]] += 1
        elif isinstance(body, Ended):
            counts.ended[body.status] += 1
            self._under_way.pop(run, None)
