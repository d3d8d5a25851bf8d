"""Connections to a server: opened, lent to one thread at a time, and opened anew when lost.

What the tables of a journal are there, and what can go wrong, as one line that says what to do.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import OperationalError, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from quandary.errors import ReadOnly, StoreError
from quandary.journal import NoStore, chance
from quandary.journal.store import CREATE, INDEXES, OUTBOX

if TYPE_CHECKING:
    from quandary.journal.store import Marks

    Connection = psycopg.Connection[tuple[Any, ...]]

T = TypeVar("T")

MOST = 8  # so many connections at once; whoever needs one more waits for it
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
        self, address: str, place: str, patience: float, marks: Marks, *, create: bool
    ) -> None:
        self.place = place
        self.patience = patience
        self.marks = dict(marks or {})
        self._local = threading.local()
        self.conninfo = self._read(address)
        with self.connect() as first, self._explained():
            prepare(first, place, create=create)
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

    def connect(self, *, patient: bool = True) -> Connection:
        """One more, which is nobody else's. A server that is away or full is given time."""
        deadline = chance.monotonic() + self.patience
        while True:
            try:
                connection = psycopg.connect(self.conninfo, autocommit=True)
                self._settle(connection)
            except psycopg.Error as error:
                if not (patient and _may_come(error)) or chance.monotonic() >= deadline:
                    raise explain(self.place, error) from error
            else:
                return connection
            chance.sleep(0.1)

    def do(self, action: Callable[[Connection], T]) -> T:
        """Do something that bears being repeated, again where a connection was lost or gave way."""
        if self.holding is not None:
            with self._explained():
                return action(self.holding)

        def attempt() -> T:
            connection = self._pool.getconn()
            try:
                return action(connection)
            finally:
                self._pool.putconn(connection)

        return self._patiently(attempt)

    def once(self) -> AbstractContextManager[Connection]:
        """One of them for something that can be left undone: it is not waited for, nor repeated."""
        return self._pool.connection(timeout=_MOMENT)

    @property
    def holding(self) -> Connection | None:
        """The connection of a transaction that this thread holds."""
        held: Connection | None = getattr(self._local, "connection", None)
        return held

    @contextmanager
    def held(self, mode: str, *, still: int | None = None) -> Iterator[Connection]:
        """Within it, all that this thread does is done in one transaction. It is taken back at the
        end, unless it was committed before. With `still`, it begins at a moment when nobody shares
        that advisory lock.
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

    def _read(self, address: str) -> str:
        try:
            said = conninfo_to_dict(address)
        except psycopg.Error:
            said = {"port": "none"}
        # What PostgreSQL says of it can repeat the password, so it is not passed on.
        if not all(port.isdecimal() or not port for port in str(said.get("port", "")).split(",")):
            raise StoreError(
                f"{self.place} is not the address of a database; write it like "
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
            except psycopg.Error as error:
                moment = chance.monotonic()
                deadline = deadline or moment + self.patience
                if moment >= deadline or not passing(error):
                    if isinstance(error, PoolTimeout):
                        self.connect(patient=False).close()  # which says what is wrong
                    raise explain(self.place, error, self.patience) from error
            chance.sleep(chance.uniform(0, pause))
            pause = min(pause * 2, 0.5)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise explain(self.place, error, self.patience) from error


_PASSING = frozenset({"40001", "40P01", "25P03", "53300", "57P01", "57P02", "57P03"})
"""Two transactions were in each other's way, or the server goes down, comes up or is full."""
_PASSING_WORDS = (
    *("is starting up", "is shutting down", "in recovery mode", "not yet accepting"),
    *("too many clients", "too many connections", "connection slots"),
)
"""The same where a server refuses to connect, and gives no code."""
_LASTING_WORDS = ("FATAL:", "resolve host", "translate host", "invalid")

_EXPLANATIONS: dict[type[psycopg.Error], str] = {
    PoolClosed: "{place}: the store was closed",
    PoolTimeout: (
        f"{{place}}: all {MOST} connections have been in use for {{patience}} seconds; "
        "try again later"
    ),
    errors.LockNotAvailable: (
        "{place} has been locked by another program for {patience} seconds; "
        "try again when it is done"
    ),
    errors.ReadOnlySqlTransaction: "{place} cannot be written: the server only lets it be read",
    errors.InsufficientPrivilege: (
        "{place}: its user may not do that ({told}); ask whoever runs the server"
    ),
    errors.DiskFull: "{place} cannot be written: the server's disk is full",
    errors.DataCorrupted: "{place} is damaged ({told}); restore it from a backup",
    errors.IndexCorrupted: "{place} is damaged ({told}); restore it from a backup",
    errors.UndefinedTable: "{place} is no longer a journal ({told}); restore it from a backup",
}


def passing(error: psycopg.Error) -> bool:
    """Whether trying again may help: the connection was lost, or somebody had to give way."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, OperationalError) and not isinstance(error, PoolClosed)
    return state in _PASSING or state.startswith("08")


def _may_come(error: psycopg.Error) -> bool:
    """Whether a server may let us in a bit later: nobody is there, or it has no room yet."""
    said = str(error)
    lasting = not passing(error) or any(words in said for words in _LASTING_WORDS)
    return not lasting or any(words in said for words in _PASSING_WORDS)


def explain(place: str, error: psycopg.Error, patience: float = 0) -> StoreError:
    """What happened, and what to do about it."""
    kind = ReadOnly if isinstance(error, errors.ReadOnlySqlTransaction) else StoreError
    return kind(_tell(place, error, patience))


def _tell(place: str, error: psycopg.Error, patience: float) -> str:
    # The words of the server, without where the connection went: that is said already.
    said = error.diag.message_primary or str(error).strip().partition("\n")[0]
    told = said.rpartition(" failed: ")[2].strip() or type(error).__name__
    for kind, text in _EXPLANATIONS.items():
        if isinstance(error, kind):
            return text.format(place=place, told=told, patience=f"{patience:g}")
    if error.sqlstate is not None or not isinstance(error, OperationalError):
        return f"{place}: {told}"
    if "authentication failed" in told or "no password supplied" in told:
        return f"{place} rejects this user or password; correct them and try again"
    if told.startswith("FATAL:") and "database" in told and "does not exist" in told:
        return f"{place}: there is no such database; `createdb` makes it"
    is_there = any(words in told for words in _PASSING_WORDS)
    remedy = "try again later" if is_there else "is the server running, and is that its address?"
    return f"{place} cannot be reached ({told}); {remedy}"


_WORDS = (
    ("seq INTEGER PRIMARY KEY", "seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"),
    (" INTEGER", " bigint"),
    (" TEXT", ' text COLLATE "C"'),
    (" BLOB", " bytea"),
    (" STRICT, WITHOUT ROWID", ""),
    (" STRICT", ""),
)
"""What SQLite calls something, and what PostgreSQL does. Text is compared byte by byte in every
column, as in the embedded store, whatever language the server speaks."""


def _in_its_words(sql: str) -> str:
    return reduce(lambda s, words: s.replace(*words), _WORDS, sql)


MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        *map(_in_its_words, CREATE.values()),
        "ALTER TABLE run SET (fillfactor = 80)",
        *INDEXES,
        # Whoever begins a run locks this row, so it is there before the first of them.
        "INSERT INTO last (one, id, first, runs) VALUES (1, '', '', 0)",
        "CREATE TABLE quandary (one integer PRIMARY KEY CHECK (one = 1), version bigint NOT NULL)",
        "INSERT INTO quandary (one, version) VALUES (1, 0)",
    ),
    tuple(map(_in_its_words, OUTBOX)),
)
"""The statements at index v bring a database of schema version v to version v + 1."""

OLDEST_SERVER = 120000
_MIGRATING = 0x51444E52  # the advisory lock of whoever changes the schema: QDNR

_OURS = """
    SELECT current_schema(),
        current_setting('server_encoding'),
        EXISTS (
            SELECT 1 FROM pg_class JOIN pg_namespace AS space ON space.oid = relnamespace
            WHERE nspname = current_schema() AND relkind = 'r' AND relname = 'quandary'
        ),
        EXISTS (
            SELECT 1 FROM pg_class AS thing JOIN pg_namespace AS space ON space.oid = relnamespace
            WHERE nspname = current_schema() AND relkind IN ('r', 'p', 'v', 'm', 'f')
                AND NOT EXISTS (
                    SELECT 1 FROM pg_depend
                    WHERE objid = thing.oid AND classid = 'pg_class'::regclass AND deptype = 'e'
                )
        )
"""


def prepare(connection: Connection, place: str, *, create: bool) -> None:
    """See whose database it is, and bring it to this schema; `NoStore` where nothing is made."""
    if connection.info.server_version < OLDEST_SERVER:
        raise StoreError(f"{place}: this PostgreSQL is too old; version 12 or later is needed")
    version = _version(connection, place)
    if not version and not create:
        raise NoStore(place)
    if version < len(MIGRATIONS):
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
            version = _version(connection, place)
            for statement in chain.from_iterable(MIGRATIONS[version:]):
                connection.execute(statement)
            connection.execute("UPDATE quandary SET version = %s", (len(MIGRATIONS),))


def schema() -> int:
    """The version of the schema that this program knows."""
    return len(MIGRATIONS)


def require_known(connection: Connection, place: str) -> None:
    """Refuse a database that has another schema than this version's."""
    if _version(connection, place) != schema():
        raise StoreError(f"{place} was upgraded to another schema; restart this program")


def require_writable(connection: Connection, place: str) -> None:
    """Refuse a database that can only be read: a standby, or one that was set so."""
    if connection.execute("SHOW transaction_read_only").fetchone() == ("on",):
        raise ReadOnly(_EXPLANATIONS[errors.ReadOnlySqlTransaction].format(place=place))


def _version(connection: Connection, place: str) -> int:
    """The schema that is there; 0 in an empty database."""
    schema, encoding, ours, anything = connection.execute(_OURS).fetchone() or ("", "", False, True)
    if schema is None:
        raise StoreError(f"{place} has no schema for tables; create the one that search_path names")
    if not ours and not anything:
        if encoding == "UTF8":
            return 0
        raise StoreError(
            f"{place} cannot store every text ({encoding}); create the database with UTF8"
        )
    row = None
    with suppress(errors.UndefinedColumn):
        if ours:
            row = connection.execute("SELECT version FROM quandary WHERE one = 1").fetchone()
    if row is None:
        raise StoreError(
            f"{place} belongs to another program; name another database, or a schema of its own "
            "with ?options=-csearch_path%3DNAME"
        )
    version = int(row[0])
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{place} was written by a newer Quandary (schema {version}, known up to "
            f"{len(MIGRATIONS)}); upgrade this one"
        )
    return version
