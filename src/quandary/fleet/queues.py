"""Queues: which runs stand in which, and which of them a worker may take.

A queue is named by whoever fills it, by default after the agent that does most of a chart. Behind
the name stand the flow and its version, so that a worker never takes a run that it cannot replay:
`CLAUDE@walk.1`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from quandary.errors import QuandaryError
from quandary.journal.progress import FLOWS, version_of
from quandary.model.call import fold

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ANY = "PEOPLE"
"""The queue of charts in which no agent has anything to do."""
LONGEST = 64
_NAME = re.compile(rf"[^\W_][\w.:/ -]{{0,{LONGEST - 1}}}")


class Queue(NamedTuple):
    """Runs of one flow and version that stand in line together."""

    name: str
    flow: str
    version: int

    @property
    def full(self) -> str:
        """As procrastinate knows it."""
        return f"{self.name}@{self.flow}.{self.version}"

    @property
    def known(self) -> bool:
        """Whether its runs can be replayed here."""
        return self.flow in FLOWS and version_of(self.flow) == self.version


def queue_of(name: str, flow: str = "walk") -> Queue:
    """The queue of that name for runs that are begun now; names differ by more than their case."""
    told = " ".join(name.split())
    if not _NAME.fullmatch(told):
        raise QuandaryError(
            f"{name!r} names no queue; write letters, digits and . : / - up to {LONGEST} of them"
        )
    return Queue(told.upper(), flow, version_of(flow))


def takeable(
    queues: Iterable[Queue], wanted: Collection[str], unable: Collection[str]
) -> list[Queue]:
    """Those that a worker takes runs from: wanted, or all; known; and with an agent it has."""
    return [
        queue
        for queue in queues
        if queue.known
        and (not wanted or fold(queue.name) in wanted)
        and fold(queue.name) not in unable
    ]
