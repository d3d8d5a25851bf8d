"""What the benchmarks have in common: rows with budgets, taking the time, and taking turns."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator, Mapping

UNEVEN = 0.004
"""The longest pause between two turns, in seconds."""


class Row(NamedTuple):
    """A line of the table; without a budget it only tells."""

    what: str
    figure: str
    budget: str = ""
    kept: bool = True


def at_least(ratio: float, least: float, what: str) -> Row:
    """A ratio that must not be smaller."""
    return Row(what, f"{ratio:.2f} x", f">= {least:g} x", ratio >= least)


def at_most(ratio: float, most: float, what: str) -> Row:
    """A ratio that must not be larger."""
    return Row(what, f"{ratio:.2f} x", f"<= {most:g} x", ratio <= most)


def told(ratio: float, what: str) -> Row:
    """A ratio that nothing depends on."""
    return Row(what, f"{ratio:.2f} x")


def table(rows: Iterable[Row]) -> int:
    """Print the rows; the exit status is 1 if one of them missed its budget."""
    status = 0
    for row in rows:
        mark = "    " if not row.budget else "ok  " if row.kept else "MISS"
        print(f"{mark} {row.figure:>8}  {row.budget:>9}  {row.what}", flush=True)
        status |= not row.kept
    return status


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds."""
    before = clock()
    work()
    return clock() - before


def best(work: Callable[[], object], times: int) -> float:
    """The shortest of several tries: the one that was disturbed least."""
    return min(timed(work) for _ in range(times))


class Turn(NamedTuple):
    """A step of a player: how long it took, and what the player said."""

    seconds: float
    said: object


def turns(player: Iterator[object]) -> Iterator[Turn]:
    """The steps of a player."""
    while True:
        before = time.perf_counter()
        try:
            said = next(player)
        except StopIteration:
            return
        yield Turn(time.perf_counter() - before, said)


def by_turns(
    players: Mapping[str, Iterator[Turn]], count: int, chance: random.Random, *, burst: int = 1
) -> dict[str, float]:
    """Seconds that each player typically takes for a step; at every step all must say the same.

    All begin, which does not count. Then each takes a burst of steps in a row, and it is another's
    turn, at random and after an uneven pause, so that all share what else the machine and its disk
    are doing and none falls in step with it.
    """
    for player in players.values():
        next(player)
    taken: dict[str, list[float]] = {name: [] for name in players}
    for _ in range(0, count, burst):
        heard: list[set[object]] = [set() for _ in range(burst)]
        for name in chance.sample(list(players), len(players)):
            time.sleep(chance.uniform(0, UNEVEN))
            for words in heard:
                seconds, said = next(players[name])
                taken[name].append(seconds)
                words.update({said} - {None})
        assert all(len(words) < 2 for words in heard), heard
    return {name: statistics.median(times) for name, times in taken.items()}
