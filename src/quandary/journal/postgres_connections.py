"""Connections to a server: opened, lent to one thread at a time, and opened anew when lost."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager, suppress
from random import uniform
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from quandary.errors import StoreError
from quandary.journal.postgres_errors import explain, passing, starting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Connection = psycopg.Connection[tuple[Any, ...]]

T = TypeVar("T")

MOST = 8
"""So many connections at once; whoever needs one more waits for it."""
_MOMENT = 1.0
_DEFAULTS: dict[str, str | int] = {
    "client_encoding": "utf8",
    "connect_timeout": 10,
    "fallback_application_name": "quandary",
    "keepalives_count": 3,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "tcp_user_timeout": 30_000,
}
"""What an address can say otherwise. A server that fell off the net is missed within a minute."""
_SETTLE = """
    SELECT set_config('lock_timeout', %s, false),
        set_config('idle_in_transaction_session_timeout', '60s', false),
        set_config('synchronous_commit', CASE current_setting('synchronous_commit')
            WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)
"""
# Its warnings would reach standard error, where one line says what went wrong.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class Connections:
    """The connections of this process to one database."""

    def __init__(
        self,
        address: str,
        place: str,
        patience: float,
        prepare: Callable[[Connection], None],
        marks: Mapping[str, str] | None = None,
    ) -> None:
        self.place = place
        self.patience = patience
        self.marks = dict(marks or {})
        """Settings of our own by which the server's functions tell who writes."""
        self._local = threading.local()
        self.conninfo = self._read(address)
        with self.connect() as first, self._explained():
            prepare(first)
        self._pool = ConnectionPool(
            self.conninfo,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=MOST,
            # The pool tries again after ever longer pauses, and whoever waits has it try at once.
            timeout=min(patience, _MOMENT),
            reconnect_timeout=_MOMENT,
            configure=self._settle,
            open=True,
        )

    def close(self) -> None:
        """Close them all."""
        self._pool.close()

    def connect(self) -> Connection:
        """One more, which is nobody else's. A server that is starting is given time to."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                connection = psycopg.connect(self.conninfo, autocommit=True)
                self._settle(connection)
            except psycopg.Error as error:
                if not starting(error) or time.monotonic() >= deadline:
                    raise StoreError(explain(self.place, error)) from error
            else:
                return connection
            time.sleep(0.1)

    def do(self, action: Callable[[Connection], T]) -> T:
        """Do something on a connection, and again where one was lost or had to give way.

        An action can be done more than once, and has to see whether it was done before.
        """
        if self.holding is not None:
            with self._explained():
                return action(self.holding)

        def attempt() -> T:
            with self._pool.connection() as connection:
                return action(connection)

        return self._patiently(attempt)

    @contextmanager
    def once(self) -> Iterator[Connection]:
        """One of them for something that can be left undone: it is not waited for, nor repeated."""
        with self._pool.connection(timeout=_MOMENT) as connection:
            yield connection

    @property
    def holding(self) -> Connection | None:
        """The connection of a transaction that this thread holds."""
        held: Connection | None = getattr(self._local, "connection", None)
        return held

    @contextmanager
    def held(self, mode: str, *, still: int | None = None) -> Iterator[Connection]:
        """Within it, all that this thread does is done in one transaction.

        It is taken back at the end, unless it was committed before. With `still`, it begins at a
        moment when nobody shares that advisory lock.
        """

        def begin() -> Connection:
            connection = self._pool.getconn()
            try:
                if still is not None:
                    connection.execute("SELECT pg_advisory_lock(%s)", (still,))
                connection.execute(f"BEGIN ISOLATION LEVEL {mode}")
                connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                if still is not None:
                    connection.execute("SELECT pg_advisory_unlock(%s)", (still,))
            except BaseException:
                connection.close()
                self._pool.putconn(connection)
                raise
            return connection

        connection = self._patiently(begin)
        self._local.connection = connection
        try:
            with self._explained():
                yield connection
        finally:
            self._local.connection = None
            with suppress(psycopg.Error):  # one that was lost is taken back by the server
                connection.rollback()
            self._pool.putconn(connection)

    # -- how it is done --------------------------------------------------------------------------

    def _read(self, address: str) -> str:
        try:
            said = conninfo_to_dict(address)
        except psycopg.Error:
            said = {"port": "none"}
        # What PostgreSQL says of it can repeat the password, so it is not passed on.
        if not all(port.isdecimal() or not port for port in str(said.get("port", "")).split(",")):
            raise StoreError(
                f"{self.place} is no address of a database; write it like "
                "postgresql://USER@HOST/DATABASE, with %XX for what is special in URLs"
            )
        missing = {name: value for name, value in _DEFAULTS.items() if name not in said}
        return make_conninfo(address, **missing)

    def _settle(self, connection: Connection) -> None:
        """What is acknowledged is on the server's disk, and nobody waits for ever."""
        connection.execute(_SETTLE, (f"{int(self.patience * 1000)}ms",))
        for mark in self.marks.items():
            connection.execute("SELECT set_config(%s, %s, false)", mark)

    def _patiently(self, attempt: Callable[[], T]) -> T:
        deadline, pause = 0.0, 0.01
        while True:
            try:
                return attempt()
            except PoolTimeout as error:
                moment = time.monotonic()
                deadline = deadline or moment - _MOMENT + self.patience
                if moment < deadline:
                    continue
                self.connect().close()  # which says what is wrong, if anything is
                raise StoreError(
                    f"{self.place}: all {MOST} connections have been in use for "
                    f"{self.patience:g} seconds; try again later"
                ) from error
            except psycopg.Error as error:
                moment = time.monotonic()
                deadline = deadline or moment + self.patience
                if moment >= deadline or not passing(error):
                    raise StoreError(explain(self.place, error, self.patience)) from error
            time.sleep(uniform(0, pause))  # noqa: S311 - no secret
            pause = min(pause * 2, 0.5)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise StoreError(explain(self.place, error, self.patience)) from error
