"""The record of a history: what was sent, committed and heard, and how each run stood when.

Nothing here judges; the oracle looks things up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from simulation.events import AGAIN, Act, is_own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.events import Event, Form, Json, State


class Line(NamedTuple):
    """An entry that was committed."""

    event: Event
    state: State
    """How its run stood after it."""
    act: Act | None
    """What led to it, where somebody did."""


class Record:
    """What happened so far."""

    def __init__(self) -> None:
        self.entries: list[Json] = []
        self.lines: list[Line] = []
        self.clocks = [0.0]
        """What the clock said at each entry, and at first."""
        self.states: dict[str, list[tuple[int, State]]] = {}
        """How each run stood, from which entry on."""
        self.sent, self.heard = Counter[Act](), Counter[Act]()
        self.since, self.until = dict[Act, int](), dict[Act, int]()
        """How many entries there were when it was first sent, and when acknowledged."""
        self.recorded: defaultdict[Act, list[tuple[str, int]]] = defaultdict(list)
        """What came of each act: the run, and the number of the entry."""
        self.at_work: dict[str, str] = {}
        """The processes that have an agent at work, each with the run that it walks."""
        self.cut_off: set[str] = set()
        """Processes whose lock was lost."""
        self.made: set[tuple[str, str]] = set()
        """The calls for which an agent was started."""
        self.owed: dict[tuple[str, int], tuple[str, float]] = {}
        """The entries that have to be told elsewhere: what happened, and when."""
        self.told: set[tuple[str, int]] = set()
        """Those of them that were delivered, or given up."""

    def now(self, run: str) -> State:
        """How a run stands."""
        return self.states[run][-1][1]

    def between(self, run: str, since: int) -> list[State]:
        """How a run stood from when there were so many entries until now."""
        known = self.states.get(run, [])
        ends = [later for _, (later, _) in pairwise(known)] + [len(self.entries) + 1]
        return [state for (_, state), end in zip(known, ends, strict=False) if end > since]

    def after(self, run: str, n: int) -> State:
        """How a run stood after an entry, what was written with it, and what the house then did."""
        after = (s for at, s in self.states[run] if at >= n)
        return next(s for s in after if s.waits != "house" or s.flow == "permit")

    def send(self, act: Act) -> int:
        """Somebody sends something, for the first time or again; how many entries there were."""
        self.sent[act] = self.sent.pop(act, 0) + 1  # the one that was sent last
        self.since.setdefault(act, len(self.entries))
        return len(self.entries)

    def acknowledge(self, act: Act) -> int:
        """Somebody heard that it is done; how often by now."""
        self.heard[act] += 1
        self.until.setdefault(act, len(self.entries))
        return self.heard[act]

    def under_way(self) -> Iterator[Act]:
        """What may still come to something: each act as often as it was sent, with a token once.

        Of those that nobody can tell apart, the one that was sent last is still under way.
        """
        for act, times in reversed(self.sent.items()):
            if act.kind == "report" or len(self.recorded[act]) < (1 if act.token else times):
                yield act

    def stop(self, process: str, *, is_cut_off: bool = False) -> None:
        """A process has ended its agent, or itself, or has lost its lock."""
        self.at_work.pop(process, None)
        self.cut_off |= {process} if is_cut_off else set()

    def moves(self) -> list[tuple[int, Event]]:
        """How the track has moved, and with which entries."""
        lines = enumerate((line.event for line in self.lines), 1)
        return [(n, e) for n, e in lines if e.kind == "noted" and e.what in ("moved", "finished")]

    def preferences(self, question: str) -> list[tuple[int, str]]:
        """What was preferred for a question, from which entry on, in whatever form it is asked."""
        lines = enumerate((line.event for line in self.lines), 1)
        kept = ((n, e) for n, e in lines if e.what == "prefer" and e.name.startswith("prefer"))
        return [(n, e.aim) for n, e in kept if e.about == question]

    def answers_to(self, form: Form) -> list[tuple[int, int, bool]]:
        """What people answered to a question with their own hand: when it was sent and recorded,
        and whether it was as recommended, or somebody who took that had not heard yet.
        """
        found: list[tuple[int, int, bool]] = []
        ends: list[int] = []
        for n, (e, s, act) in enumerate(self.lines, 1):
            for q, (code, hand) in e.answers.items() if act else ():
                if act and s.forms[q] == form and is_own(hand) and code not in AGAIN:
                    agrees = code == form.recommended or any(end >= n for end in ends)
                    found.append((self.since[act], n, agrees))
                    ends += [self.until.get(act, n**2)] if agrees else []
        return found
