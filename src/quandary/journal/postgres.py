"""The shared store: a database on a PostgreSQL server, for many machines and many writers.

Entries are numbered by a sequence, so that writers of different runs do not wait for each other. A
number can then become visible before a lower one. Each writer therefore holds, from before it takes
a number until it has committed, an advisory lock that names the lowest number it may get. Whoever
reads the entries in order reads them up to where nobody can still come in between: the horizon.
"""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import cache, partial
from sys import maxsize
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from msgspec.structs import asdict

from quandary.errors import Rejected, StoreError
from quandary.journal import chance, without_password
from quandary.journal.connections import Connections, require_known, require_writable, schema
from quandary.journal.entries import sha256
from quandary.journal.store import IS_WHOLE, NEWEST, TABLES, Moved, Store, grams

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from quandary.journal.connections import Connection
    from quandary.journal.entries import Entry
    from quandary.journal.store import Begin, Execute, Marks, Row, Run

T = TypeVar("T")

LONGEST_DEAF = 5.0  # so long can news be missed whose writer was killed before it told them
_SHORTEST = 0.05

_BITS = 40
_OTHERS = (1 << 63 - _BITS) - 1
"""An advisory lock has so many bits for the number of an entry; the others say whose it is."""
_HIGHEST = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM entry_seq_seq"
_LOWEST_UNDER_WAY = """
    SELECT min(key) FROM (
        SELECT (classid::bigint << 32) | objid::bigint AS key FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS locks WHERE key > ? AND key <= ?
"""
_TAKE_OUT = "UPDATE entry SET matter = NULL, salt = NULL WHERE run = ? AND n = ANY(?)"
_SIZE = "SELECT pg_total_relation_size('entry') + pg_total_relation_size('document')"
INDEX = (
    'CREATE TABLE words (number bigint PRIMARY KEY, said text COLLATE "C", grams text[])',
    "CREATE INDEX words_grams ON words USING gin (grams)",
    "CREATE TABLE indexed (number bigint PRIMARY KEY, seq bigint NOT NULL)",
    "INSERT INTO indexed (number, seq) VALUES (0, 0)",
)
"""The index of words, which searchers make: of each run its words, and how far that has come. A run
whose words were pruned waits in `indexed` to be taken anew."""
_PUT_WORDS = (
    "INSERT INTO words (number, said, grams) VALUES (?, ?, ?) ON CONFLICT (number) "
    "DO UPDATE SET said = excluded.said, grams = excluded.grams"
)
_INDEXING = 0x51444E53  # the advisory lock of whoever adds to it
_COUNT_ON = (
    "SELECT setval('entry_seq_seq', greatest(coalesce(max(seq), 0), 1), count(*) > 0) FROM entry"
)
_LOCK = "SELECT pg_try_advisory_lock(%s)"
_UNLOCK = "SELECT pg_advisory_unlock(%s)"
CHANNEL = "quandary"  # listeners on it are told which runs have news
SHORTEST = 0.04
"""Seconds from one telling to the next. Whoever listens rests for longer than that."""
_TELL = (
    "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, run) "
    "FROM unnest(%s::text[]) AS run"
)
"""What is only told need not be on disk."""
_FEW = 4
"""So many entries are written out one by one, which psycopg and the server do more quickly than
lists. What is appended to a run under way are hardly ever more."""
_SMALL = 200_000  # the bytes of a document that is remembered, among a few

_NEWEST = f"{NEWEST.replace('runs', 'runs, (SELECT version FROM quandary)')} FOR UPDATE"  # noqa: S608
_MOVE = f"""
    UPDATE run SET key = %(key)s, asked = %(asked)s, n = %(n)s, head = %(head)b,
        since = %(since)s, status = %(status)s, waits = %(waits)s
    WHERE id = %(id)s AND n = %(seen)s AND (%(notes)s OR {IS_WHOLE})
        AND (SELECT version FROM quandary) = %(version)s
    RETURNING id
"""  # noqa: S608 - our own words
_BEGIN = f"""
    INSERT INTO run ({", ".join(TABLES["run"])})
    VALUES ({", ".join(f"%({name})s" for name in TABLES["run"])}) RETURNING id
"""  # noqa: S608 - our own names
_TOLD = """, told AS (
            INSERT INTO outbox (run, n, address, tries, due)
            SELECT run, event.n, address, 0, %(since)s
            FROM moved JOIN outbox ON run = moved.id AND outbox.n = 0,
                unnest(%(events)s::bigint[]) AS event (n)
        )"""
_TYPES = {"n": "s::bigint", "kind": "s::text"} | dict.fromkeys(
    ("body", "matter", "salt", "seal", "digest"), "b::bytea"
)
"""The columns of what is new, each with how its values are sent."""


class PostgresStore(Store):
    """A journal on a server. Threads may share it; each process opens its own."""

    def __init__(
        self, address: str, *, patience: float = 30.0, create: bool = True, marks: Marks = None
    ) -> None:
        self.path = without_password(address)
        self.address = address
        self.shared = self
        self.beside: Callable[[Connection, Run], None] | None = None
        """Writes something beside a run that is being begun, in the same transaction."""
        self._connections = Connections(address, self.path, patience, marks, create=create)
        self.conninfo = self._connections.conninfo  # how to connect to it, with the password
        (found,) = self._rows("SELECT 'entry'::regclass::oid::bigint")
        self._journal = (int(found[0]) & _OTHERS) << _BITS
        """The advisory lock that every writer shares; above it are those of the numbers."""
        self._locks = Locks(self._connections, self._journal)
        self._teller = Teller(self._connections)
        self._documents: dict[str, bytes] = {}
        """Some that were read, by what their bytes come to; nobody else can mean another one."""

    def close(self) -> None:
        self._teller.close()
        self._locks.close()
        self._connections.close()

    def require_ready(self) -> None:
        def look(connection: Connection) -> None:
            require_known(connection, self.path)
            require_writable(connection, self.path)

        self._connections.do(look)

    def with_connection(self, action: Callable[[Connection], T]) -> T:
        """Do something beside the journal, in its database; again, where a connection was lost."""
        return self._connections.do(action)

    def once(self) -> AbstractContextManager[Connection]:
        """A connection for somebody who sees to it themselves where one is lost."""
        return self._connections.once()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        held = self._connections.held("REPEATABLE READ, READ ONLY", still=self._journal)
        with held if self._connections.holding is None else nullcontext():
            yield

    def news(self, seconds: float) -> Generator[bool]:
        looked = 0.0
        while True:
            try:
                with closing(self._connections.connect(patient=False)) as listener:
                    listener.execute(f"LISTEN {CHANNEL}")
                    looked = 0.0
                    while True:
                        told = any(True for _ in listener.notifies(timeout=seconds, stop_after=1))
                        told = told or chance.monotonic() - looked >= LONGEST_DEAF
                        yield told
                        if told:
                            looked = chance.monotonic()
                            chance.sleep(min(_SHORTEST, seconds))  # many replies are few looks
            except (psycopg.Error, StoreError):
                chance.sleep(seconds)
                yield chance.monotonic() - looked >= LONGEST_DEAF

    def lock_run(self, run: str) -> AbstractContextManager[None]:
        """Within it, nobody else drives the run, on whatever machine."""
        return self._locks.alone(run)

    def has_lost(self, run: str) -> bool:
        return self._locks.has_lost(run)

    def is_locked(self, run: str) -> bool:
        with suppress(Rejected), self._locks.alone(run):
            return False
        return True

    def _create(self, begin: Begin) -> Run:
        made: Run | None = None

        def action(connection: Connection) -> Run:
            nonlocal made
            execute = partial(_execute, connection)
            with connection.pipeline(), connection.transaction():
                *newest, version = execute(_NEWEST).fetchone()
                if version != schema():
                    require_known(connection, self.path)
                # Where the connection was lost while an earlier attempt was being committed, that
                # attempt has come to its end now that the row is ours.
                if made is not None and _written(connection, made):
                    return made
                # None of what follows waits for an answer, so that nobody waits for us.
                made, entries = begin(execute, newest)
                if self.beside is not None:
                    self.beside(connection, made)
                values = {**asdict(made), **_columns(entries), "journal": self._journal}
                added = connection.execute(_statement(_BEGIN, min(len(entries), _FEW + 1)), values)
            self._teller.tell(connection, made.id)
            self._keep([seq for (seq,) in added], entries)
            return made

        return self._connections.do(action)

    def append(
        self, run: Run, entries: Sequence[Entry], *, seen: int, events: Sequence[int] = ()
    ) -> None:
        values = {**asdict(run), **_columns(entries), "journal": self._journal}
        notes = all(entry.kind == "noted" for entry in entries)
        values |= {"seen": seen, "version": schema(), "notes": notes, "events": list(events)}
        statement = _statement(_MOVE, min(len(entries), _FEW + 1), telling=bool(events))
        before = False

        def action(connection: Connection) -> None:
            nonlocal before
            again, before = before, True
            added = connection.execute(statement, values)
            if added.rowcount:
                self._teller.tell(connection, run.id)
                self._keep([seq for (seq,) in added], entries)
            elif not (again and _written(connection, run)):
                require_known(connection, self.path)
                raise Moved(run.id)

        self._connections.do(action)

    def _transact(self, action: Callable[[Execute], T], *, secure: bool = False) -> T:  # noqa: ARG002
        def attempt(connection: Connection) -> T:
            with connection.transaction():
                return action(partial(_execute, connection))

        return self._connections.do(attempt)

    def _take_out(self, execute: Execute, wanted: Mapping[Run, Sequence[int]]) -> None:
        for run, numbers in wanted.items():
            execute(_TAKE_OUT, (run.id, list(numbers)))

    def reclaim(self) -> int:
        """Give back what pruning freed: to the server, which keeps most of it for what comes."""
        ((before,),) = self._rows(_SIZE)

        def clean(connection: Connection) -> None:
            words = ", words" if connection.execute(self._HAS_INDEX).fetchone() else ""
            connection.execute(f"VACUUM entry, document{words}")

        self._connections.do(clean)
        ((after,),) = self._rows(_SIZE)
        return max(int(before - after), 0)

    _WORDS_OF = "words.number"
    _INDEX = INDEX
    _HAS_INDEX = "SELECT 1 WHERE to_regclass('indexed') IS NOT NULL"
    _HOLD, _LOCKED = " FOR SHARE", " FOR UPDATE"

    def index_words(self, words_of: Callable[[str], str]) -> int:
        upto = self._horizon()
        with self._connections.held("READ COMMITTED") as connection:
            connection.execute("SET LOCAL lock_timeout = '1s'")  # it can be done without
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_INDEXING,))
            done = self._index(partial(_execute, connection), upto, words_of)
            connection.commit()
        return done

    def _match(self, words: Sequence[str]) -> Iterator[tuple[str, object]]:
        yield "grams @> ?::text[]", grams(words)
        yield from (("strpos(said, ?) > 0", word) for word in words)

    def _put_words(self, execute: Execute, number: int, words: str) -> None:
        execute(_PUT_WORDS, (number, words, grams(words.split())))

    def _stream(self, sql: str) -> Iterator[Row]:
        connection = self._connections.holding
        assert connection is not None  # noqa: S101 - rows are read on within a snapshot
        with connection.cursor(name=f"stream {sql}"[:60], binary=True) as cursor:
            cursor.itersize = 1000
            yield from cursor.execute(sql)

    def fill(self, dump: Callable[[str], Iterator[Row]], check: Callable[[], None]) -> None:
        with self._connections.held("READ COMMITTED") as connection:
            execute = partial(_execute, connection)
            execute(f"{NEWEST} FOR UPDATE")
            self._require_empty(execute)
            execute("DELETE FROM last")  # the row that is there from the beginning
            for table, columns in TABLES.items():
                statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
                with connection.cursor() as cursor, cursor.copy(statement) as copy:
                    for row in dump(table):
                        copy.write_row(row)
            execute(_COUNT_ON)
            check()
            connection.commit()
        if self.keeper is not None:
            self.keeper.begin()

    def document(self, digest: str) -> bytes | None:
        found = self._documents.get(digest)
        if found is None and (found := super().document(digest)) and len(found) <= _SMALL:
            self._documents = {**dict([*self._documents.items()][1 - _FEW :]), digest: found}
        return found

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        return self._connections.do(lambda c: _execute(c, sql, values).fetchall())

    def _horizon(self) -> int:
        """The number up to which all entries can be seen that there will ever be. The highest
        number is looked up first: what was taken up to then either is committed when its lock is
        looked for, and will be seen, or its lock is found.
        """
        if self._connections.holding is not None:
            return maxsize
        ((highest,),) = self._rows(_HIGHEST)
        among = (self._journal, self._journal + (1 << _BITS) - 1)
        ((lowest,),) = self._rows(_LOWEST_UNDER_WAY, among)
        return int(highest if lowest is None else min(highest, lowest - self._journal - 1))


def _execute(connection: Connection, sql: str, values: Sequence[object] = ()) -> Any:  # noqa: ANN401
    return connection.execute(sql.replace("?", "%s"), values, binary=True)


def _written(connection: Connection, run: Run) -> bool:
    """Whether the entries that lead to this row are there."""
    sql = "SELECT digest FROM entry WHERE run = %s AND n = %s"
    return connection.execute(sql, (run.id, run.n), binary=True).fetchone() == (run.head,)


def _columns(entries: Sequence[Entry]) -> dict[str, Any]:
    """The values of entries, under the names that the statement for so many has for them."""
    if len(entries) > _FEW:
        return {f"{name}_s": [getattr(entry, name) for entry in entries] for name in _TYPES}
    return {
        f"{name}_{number}": getattr(entry, name)
        for number, entry in enumerate(entries)
        for name in _TYPES
    }


@cache
def _statement(moved: str, count: int, *, telling: bool = False) -> str:
    """Change the row of a run and add so many entries in one statement, which takes a number only
    if it may: nothing is added where the row has moved. What it tells elsewhere is added, too.
    """
    names = ", ".join(_TYPES)
    if count > _FEW:
        lists = (f"%({name}_s){kind}[]" for name, kind in _TYPES.items())
        new = f"unnest({', '.join(lists)})"
    else:
        lines = (
            ", ".join(f"%({name}_{number}){kind}" for name, kind in _TYPES.items())
            for number in range(count)
        )
        new = f"(VALUES ({'), ('.join(lines)}))"
    return f"""
        WITH moved AS ({moved}), held AS MATERIALIZED (
            SELECT pg_advisory_xact_lock_shared(%(journal)s),
                pg_advisory_xact_lock_shared(%(journal)s + last_value + is_called::int)
            FROM moved, entry_seq_seq
        ){_TOLD if telling else ""}
        INSERT INTO entry (run, {names})
        SELECT %(id)s, new.* FROM held, {new} AS new ({names}) ORDER BY new.n
        RETURNING seq
    """  # noqa: S608 - our own names


class Locks:
    """The runs that this process has to itself, locked on one connection of its own. The locks go
    with the connection, so that nobody has to clear up after a process that was killed. Where the
    connection is lost, they are taken anew with the next one, except those that somebody else has
    taken by then.
    """

    def __init__(self, connections: Connections, journal: int) -> None:
        self._connections = connections
        self._journal = journal
        self._connection: Connection | None = None
        self._runs: set[str] = set()
        self._lost: set[str] = set()  # those of them that are somebody else's now
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
                raise Rejected(f"run {run} is being driven by another process")
            self._runs.add(run)
        try:
            yield
        finally:
            with self._guard:
                self._runs.discard(run)
                if run not in self._lost and self._connection is not None:
                    with suppress(psycopg.Error):  # then the lock has gone with the connection
                        self._connection.execute(_UNLOCK, (self._key(run),))
                self._lost.discard(run)

    def has_lost(self, run: str) -> bool:
        """Whether a run has become somebody else's while the connection was lost."""
        with self._guard, suppress(StoreError):  # one that is away has given it to nobody
            self._ask("SELECT 1", patient=False)
        return run in self._lost

    def _take(self, run: str) -> bool:
        """Whether the run is ours now."""
        return self._ask(_LOCK, (self._key(run),), patient=True) == (True,)

    def _ask(self, sql: str, values: Sequence[object] = (), *, patient: bool) -> Row | None:
        """What the connection says; one that was lost is replaced, and its locks taken anew."""
        if self._connection is not None:
            try:
                return self._connection.execute(sql, values).fetchone()
            except psycopg.OperationalError:
                self._connection = None
        self._connection = self._connections.connect(patient=patient)
        self._lost |= {run for run in self._runs - self._lost if not self._take(run)}
        return self._connection.execute(sql, values).fetchone()

    def _key(self, run: str) -> int:
        """The locks of entries are above nothing, these are below."""
        digest = sha256(f"{self._journal} {run}".encode()).digest()
        return -1 - (int.from_bytes(digest[:8], "big") >> 1)


class Teller:
    """Tells others which runs have news: at once where it is quiet, else for many appends at once.
    News are told after the fact: to be told within a transaction, they have all writers wait for
    each other until they are on disk. What is lost here is seen a bit later, for listeners look by
    themselves now and then.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._runs: dict[str, None] = {}  # those that nobody was told of yet
        self._told = 0.0
        self._later: threading.Thread | None = None
        self._guard = threading.Lock()

    def tell(self, connection: Connection, run: str) -> None:
        """Say that a run has news: now, or with others in a moment."""
        with self._guard:
            self._runs[run] = None
            if self._later is None and chance.monotonic() < self._told + SHORTEST:
                # No daemon: a program that ends now is kept for a moment until this is said.
                self._later = threading.Thread(target=self._tell_on)
                self._later.start()
            if self._later is not None:
                return
        self._say(connection)

    def _tell_on(self) -> None:
        """Tell time and again, as long as there are news; to begin a thread for each is costly."""
        while self._later is not None:
            chance.sleep(SHORTEST)
            self.close()

    def close(self) -> None:
        """Say what is left to say, now rather than later."""
        with self._guard:
            if not self._runs:
                self._later = None
                return
        try:
            with self._connections.once() as connection:
                self._say(connection)
        except psycopg.Error:
            self._runs = {}

    def _say(self, connection: Connection) -> None:
        with self._guard:
            runs, self._runs = list(self._runs), {}
            self._told = chance.monotonic()
        with suppress(psycopg.Error):
            connection.execute(_TELL, (CHANNEL, runs))
