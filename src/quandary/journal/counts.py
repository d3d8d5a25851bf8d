"""What a journal holds, counted: its questions over time, and figures for whoever runs a server.

Every entry stays, also where what was said in it was pruned, so whoever counts them comes to the
same figures, in whatever process and however often it was started again.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from quandary.journal import chance, entries
from quandary.model.keys import is_split
from quandary.model.one_way import one_way

if TYPE_CHECKING:
    from quandary.journal.store import Store, Watch
    from quandary.model.asks import Answer, Question

PAGE = 5000
SETTLED = 5
"""So many answers alike, and none that differs, make a question a candidate for never-ask."""


class Occasion(NamedTuple):
    """One question put before somebody, and what became of it, detours included."""

    run: str
    project: str
    key: str
    id: str
    text: str
    asked: str
    answered: str = ""  # when; nothing while it waits, or where nobody ever answered
    who: str = ""
    through: str = ""
    answer: tuple[str, ...] = ()  # labels, or the person's own words
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
) -> list[Occasion]:
    """Every question of every run, in the order in which they were answered; then what was not."""
    found: dict[tuple[str, str], Occasion] = {}
    for sign, one in Following(store, project).news(watch):
        found.pop((one.run, one.key), None)
        if sign > 0:
            found[one.run, one.key] = one
    return sorted(found.values(), key=lambda one: not one.answered)


class Following:
    """The questions of a journal as its entries come: each is added, and taken back where another
    takes its place. What came back to the same question has not answered it: words that an agent
    read and the person is asked about, or a look at something.
    """

    def __init__(self, store: Store, project: str | None = None) -> None:
        self._store, self._project, self._seen = store, project, 0
        self._projects: dict[str, str] = {}
        self._waiting: dict[str, list[tuple[Question, Occasion]]] = {}
        self._answered: dict[str, list[tuple[str, Occasion]]] = {}
        """With the item, until it is known whether the question comes again."""

    def news(self, watch: Watch = lambda *_: None) -> Iterator[tuple[int, Occasion]]:
        """What is to be added (1) or taken back (-1) since the last time."""
        while page := self._store.history(after=self._seen, limit=PAGE):
            for entry in page:
                self._seen = entry.seq
                yield from self._follow(entry)
            watch(self._seen, self._store.newest(), "entries read")

    def _follow(self, entry: entries.Entry) -> Iterator[tuple[int, Occasion]]:
        run = entry.run
        try:
            body = entry.read()
            ask = entry.read_matter().ask if isinstance(body, entries.Asked) else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            return  # `verify` reports it
        if isinstance(body, entries.Began):
            self._projects[run] = body.project
        elif ask is not None and self._project in (None, self._projects.get(run)):
            place = (run, self._projects.get(run, ""))
            yield from ((-1, shown) for _, shown in self._waiting.pop(run, ()))
            again = {(q.item, (q.confirms or q).id) for q in ask.questions if ask.back}
            done = self._answered.pop(run, ())
            yield from ((-1, found) for item, found in done if (item, found.id) in again)
            self._waiting[run] = [(q, _shown(q, *place, body.at)) for q in ask.questions]
            yield from ((1, shown) for _, shown in self._waiting[run])
        elif isinstance(body, entries.Answered) and not body.amends and run in self._waiting:
            answers = {a.key: a for a in (entry.read_matter().answers or body.answers)}
            for question, occasion in self._waiting.pop(run):
                yield -1, occasion
                answer = answers.get(question.key)
                if answer is not None and answer.settles:
                    said = tuple(_said(question, answer))
                    who, through, _ = body.source_of(question.key)
                    asked = occasion.asked
                    if body.seconds is not None:  # a host had begun to ask before
                        begun = datetime.fromisoformat(body.at) - timedelta(seconds=body.seconds)
                        asked = chance.stamp(begun)
                    found = occasion._replace(
                        asked=asked, answered=body.at, who=who, through=through, answer=said
                    )
                    self._answered.setdefault(run, []).append((question.item, found))
                    yield 1, found
        elif isinstance(body, entries.Noted) and body.takes_back:
            yield from ((-1, found) for found in self._find_taken_back(entry, body.takes_back))
        elif isinstance(body, entries.Ended):
            self._answered.pop(run, None)
            if body.status != "withdrawn":  # of that one, a host may still report the answer
                self._waiting.pop(run, None)

    def _find_taken_back(self, note: entries.Entry, keys: Sequence[str]) -> list[Occasion]:
        """What was answered to these Asks before a note that takes it back."""
        before, found = Following(self._store, self._project), dict[str, Occasion]()
        taken, earlier = set[str](), self._store.entries(note.run, upto=note.n - 1)
        for entry in (entry for entry in earlier if entry.kind != "noted"):  # each follows others
            found |= {one.key: one for sign, one in before._follow(entry) if sign > 0}
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                ask = entry.read_matter().ask
                taken |= {q.key for q in ask.questions} if ask and ask.key in keys else set()
        return [one for key, one in found.items() if key in taken and one.answered]


def _shown(question: Question, run: str, project: str, asked: str) -> Occasion:
    known = question.confirms or question
    about = (run, project, question.key, known.id, known.text, asked)
    recommended = tuple(choice.label for choice in question.choices if choice.recommended)
    return Occasion(*about, recommended=recommended, chain=question.chain)


def _said(question: Question, answer: Answer) -> Iterator[str]:
    """Labels, or the words that stand in their place."""
    answer = question.settle(answer)
    yield from question.labels(answer.picked)
    if answer.text:
        yield answer.text
    if answer.extra:
        yield next((e.text for e in question.extras if e.letter == answer.extra), answer.extra)
    if answer.prefix:
        yield f"!{answer.argument}"


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """A question over time."""

    id: str
    text: str  # as it was last shown
    asked: int
    answered: int
    by: dict[str, int]
    median_seconds: float | None  # how long people took
    recommended: int  # how often one option was recommended and the question answered
    followed: int
    answers: dict[str, int]
    candidate: bool
    """People always gave the same answer, so that nobody may want to be asked any more."""


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    asked: int
    answered: int
    last_hour: int  # how many were put before people in the last hour
    candidates: tuple[str, ...]
    questions: tuple[Tally, ...]


class Sums:
    """Questions, counted as they come."""

    def __init__(self, found: Iterable[Occasion] = ()) -> None:
        self.questions: defaultdict[str, Sum] = defaultdict(Sum)
        self.days: Counter[str] = Counter()
        self._recent: Counter[str] = Counter()
        """When people were asked something, as far as that was within the last hour."""
        for one in found:
            self.count(one)

    def count(self, one: Occasion, sign: int = 1) -> None:
        """Add a question, or take it back."""
        self.questions[one.id or one.text].count(one, sign)
        self.days[one.asked[:10]] += sign
        if one.who != "policy" and one.asked >= _hour_ago():
            self._recent[one.asked] += sign

    def summarize(self) -> Statistics:
        """All of them, those first that were asked most."""
        hour_ago = _hour_ago()
        self._recent = Counter({at: n for at, n in self._recent.items() if at >= hour_ago})
        every = (one.tally(name) for name, one in self.questions.items() if one.asked)
        tallies = sorted(every, key=lambda tally: (-tally.asked, tally.id))
        return Statistics(
            asked=sum(tally.asked for tally in tallies),
            answered=sum(tally.answered for tally in tallies),
            last_hour=self._recent.total(),
            candidates=tuple(tally.id for tally in tallies if tally.candidate),
            questions=tuple(tallies),
        )


class Sum:
    """One of them."""

    def __init__(self) -> None:
        self._newest = ("", "")  # when it was last shown, and how
        self.asked = self._chains = 0
        self.by, self.judged = Counter[str](), Counter[bool]()
        self._answers, self._of_people = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        self._times: list[float] = []

    def count(self, one: Occasion, sign: int) -> None:
        """Add an occasion, or take it back."""
        self._newest = max(self._newest, (one.asked, one.text))
        self.asked += sign
        self._chains += sign * one.chain
        if not one.answered:
            return
        self.by[one.who] += sign
        self._answers[one.answer] += sign
        if one.followed is not None:
            self.judged[one.followed] += sign
        if one.who != "policy":
            self._of_people[one.answer] += sign
            (self._times.append if sign > 0 else self._times.remove)(one.seconds or 0.0)

    @property
    def times(self) -> list[float]:
        """How many seconds people took, the quickest first."""
        self._times.sort()  # hardly anything to do where little is new
        return self._times

    def tally(self, id_: str) -> Tally:
        """What it comes to."""
        people, times, text = +self._of_people, self.times, self._newest[1]
        settled = len(times) >= SETTLED and len(people) == 1 and all(people)
        candidate = settled and not self._chains and not is_split(id_)
        answers: Counter[str] = Counter()  # two that read alike are one
        for answer, times_given in (+self._answers).most_common():
            answers[", ".join(answer)] += times_given
        return Tally(
            id=id_,
            text=text,
            asked=self.asked,
            answered=self.by.total(),
            by=dict(+self.by),
            median_seconds=times[len(times) // 2] if times else None,
            recommended=self.judged.total(),
            followed=self.judged[True],
            answers=dict(answers.most_common()),
            candidate=candidate and not one_way(id_, text, *next(iter(people))),
        )


def _hour_ago() -> str:
    return chance.stamp(chance.now() - timedelta(hours=1))


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

    entries: Counter[str]  # by kind
    begun: Counter[str]  # by flow
    answers: Counter[tuple[str, str]]  # by whose word it is, and the way it came
    calls: Counter[str]  # by agent
    failures: Counter[str]  # calls of an agent that came to nothing
    ended: Counter[str]  # by outcome
    under_way: int = 0  # calls that have not come back
    behind: int = 0
    """About how many entries are still to be counted; until there are none, the counts are too
    low."""


class Counting:
    """A journal that is counted in pieces, whenever somebody wants to know. Whose word an answer is
    and which agent was called stand in the bodies of entries, which SQL cannot read in both kinds
    of stores; and to count all rows each time takes seconds where there are millions. So only what
    is new is read.
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
            body = entries.read_body(written)
        except (msgspec.DecodeError, UnicodeDecodeError):
            counts.entries[OTHER] += 1  # `verify` tells of it; a figure is no place for that
            return
        counts.entries[entries.kind_of(body)] += 1
        if isinstance(body, entries.Answered):
            counts.answers[body.source.who, few["through"][body.through]] += 1
        elif isinstance(body, entries.Called) and body.agent:
            agent = few["agent"][body.agent]
            counts.calls[agent] += 1
            self._under_way.setdefault(run, {})[body.key] = agent
        elif isinstance(body, entries.Returned):
            under_way = self._under_way.get(run, {})
            called = under_way.pop(body.key, None)
            if called is not None and not body.ok:
                counts.failures[called] += 1
            if not under_way:
                self._under_way.pop(run, None)
        elif isinstance(body, entries.Began):
            counts.begun[few["flow"][body.flow]] += 1
        elif isinstance(body, entries.Ended):
            counts.ended[body.status] += 1
            self._under_way.pop(run, None)
