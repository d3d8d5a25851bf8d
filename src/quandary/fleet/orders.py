"""What a worker is told: how much to take on, of what, and how to stop."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

SIGNS_MISSED = 3
"""After so many signs of life that did not come, a worker is taken for dead."""


class Orders(NamedTuple):
    """The command line of a worker."""

    concurrency: int = 8
    """The most runs that it goes on with at the same time."""
    queues: frozenset[str] = frozenset()
    """The names of those that it takes runs from, folded; all, where none is named."""
    limits: Mapping[str, int] = MappingProxyType({})
    """The most calls of an agent at the same time, by its folded name."""
    grace: float = 30.0
    """Seconds that calls get to end by themselves when the worker is told to stop."""
    heartbeat: float = 5.0
    """Seconds between two signs of life."""
    poll: float = 2.0
    """Seconds after which it looks for work that nobody told it of."""
    drain: bool = False
    """Stop when there is nothing left to do."""
    workdir: str = ""
    """Where agents work, in place of the folders in which the runs were begun."""

    @property
    def silence(self) -> float:
        """Seconds after which a worker that gave no sign of life is taken for dead."""
        return self.heartbeat * SIGNS_MISSED
