"""What happened in a journal, counted: from the first entry on, and then only what is new.

Every entry stays, also where what was said in it was pruned, so whoever counts them comes to the
same figures, in whatever process and however often it was started again.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.journal.store import Store

PAGE = 5000
MOST_NAMES = 50
"""So many names of one sort are told apart: journals can hold anything, and figures are few."""
OTHER = "other"
_NAME = re.compile(r"\w[\w .:/@+-]{0,79}")


class _Said(msgspec.Struct, gc=False):
    """As much of a body as is counted, whatever kind of entry it is."""

    entry: str = ""
    who: str = ""
    through: str = ""
    flow: str = ""
    key: str = ""
    agent: str = ""
    ok: bool = True
    status: str = ""


_read = msgspec.json.Decoder(_Said).decode


class Few:
    """Names, as long as they are few and short; all others are one."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        known = self._known.get(name)
        if known is None:
            known = OTHER
            if len(self._known) < MOST_NAMES and _NAME.fullmatch(name):
                self._known[name] = known = name
        return known


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


class Tally:
    """Entries, counted one after another."""

    def __init__(self) -> None:
        self.counts = Counts(Counter(), Counter(), Counter(), Counter(), Counter(), Counter())
        self._kinds, self._flows, self._agents = Few(), Few(), Few()
        self._people, self._ways, self._outcomes = Few(), Few(), Few()
        self._under_way: dict[str, dict[str, str]] = {}
        """Of each run, the calls that have not come back, and the agent of each."""

    def count(self, happened: Iterable[tuple[int, str, bytes]]) -> None:
        """Count entries that follow those counted before."""
        for _, run, body in happened:
            try:
                said = _read(body)
            except (msgspec.DecodeError, UnicodeDecodeError):
                said = _Said()  # `verify` tells of it; a figure is no place for that
            self.counts.entries[self._kinds[said.entry]] += 1
            self._count(run, said)

    def _count(self, run: str, said: _Said) -> None:
        kind = said.entry
        if kind == "answered":
            self.counts.answers[self._people[said.who], self._ways[said.through]] += 1
        elif kind == "called" and said.agent:
            agent = self._agents[said.agent]
            self.counts.calls[agent] += 1
            self._under_way.setdefault(run, {})[said.key] = agent
        elif kind == "returned":
            self._returned(run, said)
        elif kind == "began":
            self.counts.begun[self._flows[said.flow]] += 1
        elif kind == "ended":
            self.counts.ended[self._outcomes[said.status]] += 1
            self._under_way.pop(run, None)

    def _returned(self, run: str, said: _Said) -> None:
        calls = self._under_way.get(run, {})
        agent = calls.pop(said.key, None)
        if not calls:
            self._under_way.pop(run, None)
        if agent is not None and not said.ok:
            self.counts.failures[agent] += 1

    def taken(self) -> Counts:
        """The counts as they are now; they stay so."""
        counts = self.counts
        return Counts(
            counts.entries.copy(),
            counts.begun.copy(),
            counts.answers.copy(),
            counts.calls.copy(),
            counts.failures.copy(),
            counts.ended.copy(),
            sum(map(len, self._under_way.values())),
        )


class Counted(NamedTuple):
    """How far the counting has come."""

    counts: Counts
    behind: int
    """About how many entries are still to be counted; until there are none, the counts are too
    low."""


class Counting:
    """A journal that is counted in pieces, whenever somebody wants to know."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tally = Tally()
        self._seen = 0
        self._lock = threading.Lock()

    def up_to_now(self, seconds: float) -> Counted:
        """Count what came since the last time, for about as long as this at most."""
        deadline = time.monotonic() + seconds
        with self._lock:
            newest = self._store.newest()
            while self._seen < newest and time.monotonic() < deadline:
                page = self._store.happened(after=self._seen, limit=PAGE)
                if not page:
                    break
                self._tally.count(page)
                self._seen = page[-1][0]
            return Counted(self._tally.taken(), max(newest - self._seen, 0))
