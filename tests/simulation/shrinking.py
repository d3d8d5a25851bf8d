"""Shrinking: as little of a failing seed as still fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.town import play
from simulation.world import Only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.town import Played

MOST = 500
"""So often is a seed played again at most."""


def shrink(found: Played, plant: str = "") -> Played:
    """Leave out actors, then acts, then faults, as long as something is wrong all the same."""
    for _ in range(MOST):
        for only in _smaller(found.only):
            tried = play(found.seed, only, plant)
            if tried.wrong:
                found = tried
                break
        else:
            break
    return found


def _smaller(only: Only) -> Iterator[Only]:
    """What could be left out next, the largest parts first."""
    acts, faults = only
    for name in acts:
        yield Only({other: acts[other] for other in acts if other != name}, faults)
    for name, number in acts.items():
        for fewer in dict.fromkeys((number // 2, number - 1)):
            if 0 < fewer < number:
                yield Only(acts | {name: fewer}, faults)
    listed, size = sorted(faults), len(faults)
    while size:
        for first in range(0, len(listed), size):
            yield Only(acts, faults - {*listed[first : first + size]})
        size //= 2


def tell(found: Played, plant: str = "") -> str:
    """The line that plays it again, and the history."""
    planted = f" PLANT={plant}" if plant else ""
    line = f"make simulate SEED={found.seed}{planted} ONLY='{found.only}'"
    history = "\n".join(f"  {line}" for line in found.lines)
    return f"{found.wrong}\n\n{line}\n\n{history}\n"
