"""Runs in lists: what waits, and all there are."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from quandary.errors import QuandaryError, StoreError
from quandary.journal import replay
from quandary.journal.entries import now, stamp
from quandary.people import timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.entries import Status
    from quandary.journal.store import Run, Store
    from quandary.model.ask import Ask

PAGE = 50
FURTHEST = 1000
"""So many waiting runs are looked through for those that fit a filter before a page is shown."""
LONGEST = 300
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


class Row(NamedTuple):
    """A run in a list."""

    run: str
    flow: str
    status: str
    project: str
    folder: str
    """The last part of the project, which is how people call it."""
    about: str
    since: str
    age: str
    questions: tuple[str, ...] = ()
    kind: str = ""
    person: bool = False
    """Only a person can answer it."""


class Wanted(NamedTuple):
    """What a visitor wants to see of the inbox."""

    project: str | None = None
    flow: str | None = None
    kind: str | None = None
    newest: bool = False

    def fits(self, row: Run, ask: Ask | None) -> bool:
        """Whether a run is to be shown."""
        return self.flow in (None, row.flow) and self.kind in (None, ask.kind if ask else "")


class Listed(NamedTuple):
    """A page of runs; `more` is the number of the run behind which the next page begins."""

    rows: list[Row]
    more: int | None


def inbox(store: Store, wanted: Wanted, after: int = 0) -> Listed:
    """What waits for a person. No more is read than is shown, unless there are filters."""
    with suppress(StoreError):  # where nobody can write, the list is as old as the store
        for run in store.due(stamp(now())):
            replay.look(store, run)
    found: list[Row] = []
    seen, last = 0, 0
    for row in _waiting(store, wanted, after):
        ask = _asked(store, row)
        seen, last = seen + 1, row.number
        if wanted.fits(row, ask):
            found.append(_waits(row, ask))
        if len(found) == PAGE or seen == FURTHEST:
            return Listed(found, last)
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


def _waits(row: Run, ask: Ask | None) -> Row:
    if ask is None:
        return _row(row, "its question cannot be shown; see quandary verify")
    texts = tuple(short(question.text) for question in ask.questions)
    return _row(row, "")._replace(questions=texts, kind=ask.kind, person=ask.require == "person")


def _row(row: Run, about: str) -> Row:
    folder = row.project.rstrip("/").rpartition("/")[2]
    since = row.since or row.began
    return Row(row.id, row.flow, row.status, row.project, folder, short(about), since, age(since))


def runs(store: Store, status: Status | None, after: int = 0) -> Listed:
    """Every run, the newest first."""
    rows = store.runs(status=status, after=after, limit=PAGE, newest=True)
    found = [_row(row, timeline.about(store, row.id)) for row in rows]
    return Listed(found, rows[-1].number if len(rows) == PAGE else None)


def short(text: str) -> str:
    """As much of a text as a list shows."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"


def age(moment: str) -> str:
    """How long ago, in one unit."""
    try:
        seconds = (now() - datetime.fromisoformat(moment)).total_seconds()
    except ValueError:
        return ""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "0 s"
