"""The simulated store: one database in memory, and a handle on it for each simulated process.

It is SQLite's store without its file. Every statement is a point before which, and behind what is
written also after which, others go first or a fault strikes. A transaction is one such statement. A
snapshot shows one moment however many others write meanwhile: it gets a copy as soon as one does.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from greenlet import getcurrent, greenlet

from quandary.errors import Rejected, StoreError
from quandary.journal import MEMORY, chance
from quandary.journal.sqlite import SqliteStore
from quandary.journal.store import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from quandary.journal.store import Row
    from simulation.world import Process

T = TypeVar("T")


class Database:
    """What all handles share."""

    def __init__(self) -> None:
        self.db = connect()
        self.lock = threading.RLock()
        self.drivers: dict[str, object] = {}
        """The runs that are driven, and by whom."""
        self.snapshots: dict[tuple[object, greenlet], sqlite3.Connection | None] = {}
        """Who reads as of one moment, and the copy of it, where others wrote since."""

    def change(self, *statements: str) -> int:
        """Change it behind its handles' backs; how many rows that were."""
        return sum(self.db.execute(statement).rowcount for statement in statements)


class SimulatedStore(SqliteStore):
    """A handle on the database that all processes of a world share."""

    def __init__(self, shared: Database, process: Process | None = None) -> None:
        self._shared, self._process = shared, process
        self._closed = self._ready = False
        super().__init__(MEMORY)
        self._lock = shared.lock
        self._ready = True

    @property
    def _db(self) -> sqlite3.Connection:
        return self._shared.snapshots.get((self, getcurrent())) or self._shared.db

    @_db.setter
    def _db(self, _: sqlite3.Connection) -> None:
        """It is what all share."""

    def _connect(self, name: str, *, uri: bool) -> sqlite3.Connection:
        return self._shared.db if name == MEMORY else super()._connect(name, uri=uri)

    def close(self) -> None:
        """Let go of the handle; the database stays."""
        self._closed = True
        self._release()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        reader, snapshots = (self, getcurrent()), self._shared.snapshots
        if reader in snapshots or self._shared.db.in_transaction:
            yield
            return
        snapshots[reader] = None
        try:
            yield
        finally:
            del snapshots[reader]

    def news(self, seconds: float) -> Generator[bool]:
        seen = -1
        while True:
            chance.sleep(seconds)
            before, seen = seen, self._shared.db.total_changes
            yield seen != before

    @contextmanager
    def lock_run(self, run: str) -> Iterator[None]:
        drivers, driver = self._shared.drivers, self._process or self
        self._point("read", f"locking {run[-4:]}")
        if run in drivers:
            raise Rejected(f"run {run} is being driven by another process")
        drivers[run] = driver
        try:
            yield
        finally:
            if drivers.get(run) is driver:
                del drivers[run]

    def has_lost(self, run: str) -> bool:
        """Whether somebody else has taken it since; what nobody has taken is taken again."""
        driver = self._process or self
        return self._shared.drivers.setdefault(run, driver) is not driver

    def is_locked(self, run: str) -> bool:
        self._point("read", f"asking who drives {run[-4:]}")
        return run in self._shared.drivers

    def dump(self, table: str) -> Iterator[Row]:
        yield from self._rows(rows_of(table))

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        self._point("read", "reading")
        return super()._rows(sql, values)

    def _write(
        self, action: Callable[[], T], *, secure: bool = False, patience: float | None = None
    ) -> T:
        self._point("write", "writing")
        with self._shared.lock:
            for reader, copy in self._shared.snapshots.items():
                if copy is None and self._ready:
                    self._shared.snapshots[reader] = connect()
                    self._shared.db.backup(self._shared.snapshots[reader])  # type: ignore[arg-type]
            done = super()._write(action, secure=secure, patience=patience)
        if self._ready and self._process is not None and self._process.place == "here":
            self._process.world.committed()
        self._point("written", "writing")
        return done

    def _point(self, place: str, what: str) -> None:
        if self._closed:
            raise StoreError(f"{self.path} is closed")
        if self._ready and self._process is not None and not self._shared.db.in_transaction:
            self._process.world.point(place, what)


def connect() -> sqlite3.Connection:
    """An empty database in memory."""
    return sqlite3.connect(MEMORY, timeout=0, isolation_level=None, check_same_thread=False)
