"""The row that sums up a run, made anew from its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from quandary.journal.entries import Answered, Asked, Began, Called, Ended, Returned
from quandary.journal.store import Run
from quandary.journal.verify import where_it_stands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quandary.journal.entries import AnyBody, Entry, Status
    from quandary.journal.store import Waits


def row_of(entries: Sequence[Entry], number: int = 0) -> Run:
    """The row that sums up a run, from its entries alone."""
    bodies = [entry.read() for entry in entries]
    status, pending = where_it_stands(bodies)
    began = bodies[0]
    assert isinstance(began, Began)  # noqa: S101 - nothing else begins a run
    waits, key, asked, since = _stands(bodies)
    return Run(
        number=number,
        id=entries[0].run,
        flow=began.flow,
        version=began.version,
        project=began.project,
        status=cast("Status", status),
        waits=waits if pending else None,
        key=key if pending else None,
        asked=asked if pending else 0,
        n=len(entries),
        first=entries[0].digest,
        head=entries[-1].digest,
        began=began.at,
        since=since,
        expires=began.expires or None,
    )


def _stands(bodies: list[AnyBody]) -> tuple[Waits | None, str, int, str]:
    """Who has to do something, under which key, and with which entry and when that began."""
    waits: Waits | None = None
    key, asked, since = "", 0, bodies[0].at
    pending: set[str] = set()
    for n, body in enumerate(bodies, 1):
        if isinstance(body, Asked):
            waits, key, asked, since = "person", body.key, n, body.at
        elif isinstance(body, Called):
            if not pending:
                waits, key, asked, since = "house" if body.deed else "agent", body.key, n, body.at
            pending.add(body.key)
        elif isinstance(body, Returned):
            pending.discard(body.key)
        elif isinstance(body, Answered | Ended):
            pending.clear()
            since = body.at
    return waits, key, asked, since
