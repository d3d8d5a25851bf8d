"""Who walks a run: one process at a time, on whatever machine.

The runs of a process are locked on one connection of its own. The locks go with the connection, so
that nobody has to clear up after a process that was killed. Where the connection is lost, they are
taken anew with the next one; until then only the journal's fence stands between two who walk.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import psycopg

from quandary.errors import Rejected, StoreError
from quandary.journal.digests import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.postgres_connections import Connection, Connections

_TAKE = "SELECT pg_try_advisory_lock(%s)"
_LEAVE = "SELECT pg_advisory_unlock(%s)"


class Locks:
    """The runs that this process has to itself."""

    def __init__(self, connections: Connections, journal: int) -> None:
        self._connections = connections
        self._journal = journal
        self._connection: Connection | None = None
        self._runs: set[str] = set()
        self._guard = threading.Lock()

    def close(self) -> None:
        """Let go of all of them."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()

    __del__ = close

    @contextmanager
    def alone(self, run: str) -> Iterator[None]:
        """Within it, nobody else walks the run."""
        with self._guard:
            if run in self._runs or not self._take(run):
                raise Rejected(f"run {run} is being walked by another process")
            self._runs.add(run)
        try:
            yield
        finally:
            with self._guard:
                self._runs.discard(run)
                if self._connection is not None:
                    with suppress(psycopg.Error):  # then the lock has gone with the connection
                        self._connection.execute(_LEAVE, (self._key(run),))

    def _take(self, run: str) -> bool:
        """Whether the run is ours now; a lost connection is made anew, and its locks with it."""
        for _ in range(2):
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = self._connections.connect()
                    for other in self._runs:
                        self._connection.execute(_TAKE, (self._key(other),))
                found = self._connection.execute(_TAKE, (self._key(run),)).fetchone()
            except psycopg.OperationalError:
                self._connection = None
            else:
                return found == (True,)
        raise StoreError(f"{self._connections.place} cannot be reached; is the server running?")

    def _key(self, run: str) -> int:
        """The locks of entries are above nothing, these are below."""
        digest = sha256(f"{self._journal} {run}".encode()).digest()
        return -1 - (int.from_bytes(digest[:8], "big") >> 1)
