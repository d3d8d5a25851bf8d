"""Runs in lists: what waits, and all there are."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from quandary.desk import timeline
from quandary.errors import QuandaryError, StoreError
from quandary.journal import runs
from quandary.journal.entries import now, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.entries import Status
    from quandary.journal.store import Run, Store
    from quandary.model.asks import Ask

PAGE = 50
FURTHEST = 1000
"""So many waiting runs are looked through for those that fit a filter before a page is shown."""
LONGEST = 300
UNREADABLE = "its question cannot be read; run `quandary verify`"
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


class Row(NamedTuple):
    """A run in a list: what it waits with, or what it is about."""

    run: Run
    ask: Ask | None = None
    about: str = ""

    @property
    def folder(self) -> str:
        """The last part of the project, which is how people call it."""
        return self.run.project.rstrip("/").rpartition("/")[2]

    @property
    def since(self) -> str:
        """When something happened to it last."""
        return self.run.since or self.run.began

    @property
    def age(self) -> str:
        """How long ago that was, in one unit."""
        try:
            seconds = (now() - datetime.fromisoformat(self.since)).total_seconds()
        except ValueError:
            return ""
        units = ((size, unit) for size, unit in _UNITS if seconds >= size)
        size, unit = next(units, _UNITS[-1])
        return f"{max(int(seconds // size), 0)} {unit}"


class Wanted(NamedTuple):
    """What a visitor wants to see of the inbox."""

    project: str | None = None
    flow: str | None = None
    kind: str | None = None
    newest: bool = False


class Listed(NamedTuple):
    """A page of runs; `more` is the number of the run behind which the next page begins."""

    rows: list[Row]
    more: int | None


def list_inbox(store: Store, wanted: Wanted, after: int = 0) -> Listed:
    """What waits for a person. No more is read than is shown, unless there are filters."""
    with suppress(StoreError):  # where nobody can write, the list is as old as the store
        for run in store.due(stamp(now())):
            runs.look(store, run)
    found: list[Row] = []
    for seen, row in enumerate(_waiting(store, wanted, after), 1):
        ask = _asked(store, row)
        if wanted.flow in (None, row.flow) and wanted.kind in (None, ask.kind if ask else ""):
            found.append(Row(row, ask, "" if ask else UNREADABLE))
        if len(found) == PAGE or seen == FURTHEST:
            return Listed(found, row.number)
    return Listed(found, None)


def _waiting(store: Store, wanted: Wanted, after: int) -> Iterator[Run]:
    while rows := store.runs(
        waits="person", project=wanted.project, after=after, limit=PAGE, newest=wanted.newest
    ):
        yield from rows
        after = rows[-1].number
        if len(rows) < PAGE:
            return


def _asked(store: Store, row: Run) -> Ask | None:
    """The Ask that a run waits with; nothing where it cannot be read."""
    with suppress(QuandaryError, msgspec.DecodeError, UnicodeDecodeError):
        for entry in store.entries(row.id, after=row.asked - 1, upto=row.asked):
            return entry.read_matter().ask
    return None


def list_runs(store: Store, status: Status | None, after: int = 0) -> Listed:
    """Every run, the newest first."""
    rows = store.runs(status=status, after=after, limit=PAGE, newest=True)
    found = [Row(row, about=timeline.about(store, row.id)) for row in rows]
    return Listed(found, rows[-1].number if len(rows) == PAGE else None)


def short(text: str) -> str:
    """As much of a text as a list shows."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"
