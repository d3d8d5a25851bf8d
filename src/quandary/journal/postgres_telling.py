"""Telling others that runs have news: at once where it is quiet, and for many appends in few words.

News are told after the fact: to be told within a transaction, they have all writers wait for each
other until they are on disk. What is lost here is seen a bit later, for listeners look by
themselves now and then.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from quandary.journal.postgres_connections import Connection, Connections

CHANNEL = "quandary"
"""Listeners on it are told which runs have news."""
SHORTEST = 0.02
"""Seconds from one telling to the next. Whoever listens rests for longer than that."""
_TELL = "SELECT pg_notify(%s, run) FROM unnest(%s::text[]) AS run"


class Teller:
    """Tells of the runs that this process appends to."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._runs: dict[str, None] = {}
        """Those that nobody was told of yet."""
        self._told = 0.0
        self._later: threading.Timer | None = None
        self._guard = threading.Lock()

    def tell(self, connection: Connection, run: str) -> None:
        """Say that a run has news: now, or with others in a moment."""
        with self._guard:
            self._runs[run] = None
            if self._later is not None:
                return
            left = self._told + SHORTEST - time.monotonic()
            if left > 0:
                # No daemon: a program that ends now is kept for a moment until this is said.
                self._later = threading.Timer(left, self._tell_later)
                self._later.start()
                return
        self._say(connection)

    def close(self) -> None:
        """Say what is left to say."""
        with self._guard:
            later, self._later = self._later, None
        if later is not None:
            later.cancel()
            self._tell_later()

    def _tell_later(self) -> None:
        with self._guard:
            self._later = None
        with suppress(psycopg.Error), self._connections.once() as connection:
            self._say(connection)

    def _say(self, connection: Connection) -> None:
        with self._guard:
            runs, self._runs = list(self._runs), {}
            self._told = time.monotonic()
        if runs:
            with suppress(psycopg.Error):
                connection.execute(_TELL, (CHANNEL, runs))
