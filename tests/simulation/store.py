"""The simulated store: one database in memory, and a handle on it for each simulated process.

It is SQLite's store without its file. Before and after every statement there is a point at which
others go first or a fault strikes, but never within a transaction or a snapshot.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from quandary.errors import Rejected, StoreError
from quandary.journal.sqlite import MEMORY, SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simulation.world import Process

T = TypeVar("T")


class SimulatedStore(SqliteStore):
    """A handle on the database that all processes of a world share."""

    def __init__(self, database: sqlite3.Connection, process: Process | None = None) -> None:
        self._shared, self._process = database, process
        self._closed = False
        self._ready = False
        super().__init__(MEMORY)
        self._ready = True

    def close(self) -> None:
        """Let go of the handle; the database stays."""
        self._closed = True
        self._release()

    @contextmanager
    def lock_run(self, run: str) -> Iterator[None]:
        process = self._process
        if process is None:
            yield
            return
        locks = process.world.locks
        self._point("read", f"locking {run[-4:]}")
        if run in locks:
            raise Rejected(f"run {run} is being driven by another process")
        locks[run] = process
        try:
            yield
        finally:
            if locks.get(run) is process:
                del locks[run]

    def has_lost(self, run: str) -> bool:
        """Whether somebody else has taken it since; what nobody has taken is taken again."""
        process = self._process
        return process is not None and process.world.locks.setdefault(run, process) is not process

    def is_locked(self, run: str) -> bool:
        self._point("read", f"asking who drives {run[-4:]}")
        return self._process is not None and run in self._process.world.locks

    def _connect(self, name: str, *, uri: bool) -> sqlite3.Connection:  # noqa: ARG002
        return self._shared

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        self._point("read", "reading")
        return super()._rows(sql, values)

    def _write(
        self, action: Callable[[], T], *, secure: bool = False, patience: float | None = None
    ) -> T:
        self._point("write", "writing")
        done = super()._write(action, secure=secure, patience=patience)
        if self._ready and self._process is not None and self._process.place == "here":
            self._process.world.committed()
        self._point("written", "writing")
        return done

    def _point(self, place: str, what: str) -> None:
        if self._closed:
            raise StoreError(f"{self.path} is closed")
        if self._ready and self._process is not None and not self._shared.in_transaction:
            self._process.world.point(place, what)


def new_database() -> sqlite3.Connection:
    """A database with the tables of a journal, that any number of handles share."""
    return sqlite3.connect(MEMORY, timeout=0, isolation_level=None, check_same_thread=False)
