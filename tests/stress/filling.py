"""A store with a great many runs in it, each as good as if it had been asked and answered.

Two runs are really played; all others are written from them under names and times of their own,
each entry sealed to the one before, as they would be. They go into the store the way in which
journals are copied.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from quandary.journal.chance import ALPHABET, stamp
from quandary.journal.entries import START, Entry, digest
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import _Check, verify
from stress.questions import answer, begin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from quandary.journal.store import Row, Run, Store

APART = timedelta(seconds=30)
"""So long after one run the next one began: a million of them in a year."""
FEWEST_WAITING = 250
"""More than a page shows, however small the store."""
VERIFIED_WHOLE = 100_000
SAMPLE = 2_000


class Played(NamedTuple):
    """A run that was played: its row, and its entries with the parts of their bodies that stand
    before and after the time.
    """

    row: Run
    entries: list[tuple[Entry, bytes, bytes]]


class Model:
    """Runs made after two that were played: one that is over, and now and then one that waits."""

    def __init__(self, folder: Path, runs: int, progress: Callable[[str], None]) -> None:
        self.runs = runs
        self.waiting = max(runs // 100, min(FEWEST_WAITING, runs))
        self._every = runs // self.waiting
        self._progress = progress
        self._first = datetime.now(UTC) - APART * runs
        self._last: Row = ()
        with_two = SqliteStore(folder / f"played-{runs}.db")
        over, waits = begin(with_two, "Number 1"), begin(with_two, "Number 2")
        answer(with_two, over.run, str(over.key))
        self._played = [_played(with_two, state.run) for state in (over, waits)]
        with with_two.snapshot():
            self._documents = list(with_two.dump("document"))
        with_two.close()

    def dump(self, table: str) -> Iterator[Row]:
        """The rows of a table, as a store that held these runs would give them."""
        if table == "document":
            yield from self._documents
        elif table == "run":
            for run, _ in self._made(table):
                yield run
                self._last = (1, run[1], run[10], self.runs)
        elif table == "entry":
            for _, entries in self._made(table):
                yield from entries
        elif table == "last":
            yield self._last

    def _made(self, table: str) -> Iterator[tuple[Row, list[Row]]]:
        previous, seq = START, 0
        for number in range(1, self.runs + 1):
            run, entries = self._one(number, previous, seq)
            previous = run[10]
            seq += len(entries)
            if number % 10_000 == 0:
                self._progress(f"{table}: {number:,} of {self.runs:,} runs are written")
            yield run, entries

    def _one(self, number: int, previous: bytes, seq: int) -> tuple[Row, list[Row]]:
        row, played = self._played[number % self._every == 0]
        moment = self._first + APART * number
        name, at = _name(moment, number), stamp(moment)
        first = b""
        rows: list[Row] = []
        for entry, before, after in played:
            body = b"%s%s%s" % (before, at.encode(), after)
            previous = digest(name, entry.n, previous, body, entry.seal)
            first = first or previous
            said = (seq + entry.n, name, entry.n, entry.kind, body, entry.matter, entry.salt)
            rows.append((*said, entry.seal, previous))
        begun = (number, name, row.flow, row.version, row.project, row.status, row.waits, row.key)
        return (*begun, row.asked, row.n, first, previous, at, at, None), rows


def _played(store: Store, run: str) -> Played:
    row = store.run(run)
    assert row is not None
    entries = []
    for entry in store.entries(run):
        before, _, after = entry.body.partition(entry.read().at.encode())
        entries.append((entry, before, after))
    return Played(row, entries)


def _name(moment: datetime, number: int) -> str:
    """A name as runs have them: when it began, and what tells it apart."""
    left = int(moment.timestamp() * 1000)
    digits = ""
    for _ in range(10):
        left, digit = divmod(left, 32)
        digits = ALPHABET[digit] + digits
    return f"{digits}{number:016}"


def sound(store: Store, runs: int) -> bool:
    """Whether the journal verifies: all of it, or of a very large one so many runs at random."""
    if runs <= VERIFIED_WHOLE:
        return verify(store).ok
    check = _Check(store)
    chance = random.Random(1)  # noqa: S311 - no secret
    for number in chance.sample(range(2, runs + 1), SAMPLE):
        before, row = store.runs(after=number - 2, limit=2)
        check.one(row, before.first)
    check.look_up()
    return not check.problems
