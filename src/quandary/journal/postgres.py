"""The shared store: a database on a PostgreSQL server, for many machines and many writers.

Entries are numbered by a sequence, so that writers of different runs do not wait for each other. A
number can then become visible before a lower one. Each writer therefore holds, from before it takes
a number until it has committed, an advisory lock that names the lowest number it may get. Whoever
reads the entries in order reads them up to where nobody can still come in between: the horizon.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from sys import maxsize
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from msgspec.structs import asdict, replace

from quandary.errors import Rejected, StoreError
from quandary.journal import postgres_bulk as bulk
from quandary.journal.entries import Entry, Kind, Status
from quandary.journal.postgres_appending import ENTRY, appending, beginning, columns
from quandary.journal.postgres_connections import Connections
from quandary.journal.postgres_locks import Locks
from quandary.journal.postgres_schema import prepare, require_known
from quandary.journal.postgres_telling import CHANNEL, Teller
from quandary.journal.store import TABLES, Awaited, Last, Moved, Run, Taken, Waits, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from quandary.journal.postgres_connections import Connection
    from quandary.journal.store import Recorded, Row, Written

T = TypeVar("T")

LONGEST_DEAF = 5.0
"""So long can news be missed whose writer was killed before it told them."""
_SHORTEST = 0.05

_BITS = 40
_OTHERS = (1 << 63 - _BITS) - 1
"""An advisory lock has so many bits for the number of an entry; the others say whose it is."""
_RUN = ", ".join(TABLES["run"])
_HIGHEST = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM entry_seq_seq"
_LOWEST_UNDER_WAY = """
    SELECT min(key) FROM (
        SELECT (classid::bigint << 32) | objid::bigint AS key FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS locks WHERE key > %s AND key <= %s
"""


class PostgresStore:
    """A journal on a server. Threads may share it; each process opens its own."""

    def __init__(
        self,
        address: str,
        *,
        patience: float = 30.0,
        create: bool = True,
        marks: Mapping[str, str] | None = None,
    ) -> None:
        self.path = shown(address)
        """Where it is, as it may be shown: without a password."""
        self.address = address
        self.patience = patience
        self.beside: Callable[[Connection, Run], None] | None = None
        """Writes something beside a run that is being begun, in the same transaction."""
        prepared = partial(prepare, place=self.path, create=create)
        self._connections = Connections(address, self.path, patience, prepared, marks)
        (found,) = self._rows("SELECT 'entry'::regclass::oid::bigint")
        self._journal = (int(found[0]) & _OTHERS) << _BITS
        """The advisory lock that every writer shares; above it are those of the numbers."""
        self._locks = Locks(self._connections, self._journal)
        self._teller = Teller(self._connections)

    def close(self) -> None:
        """Let go of it."""
        self._teller.close()
        self._locks.close()
        self._connections.close()

    def require_ready(self) -> None:
        """Refuse where it cannot be read, or where it is not what this version knows any more."""
        self._connections.do(partial(require_known, place=self.path))

    @property
    def conninfo(self) -> str:
        """How to connect to it, with the password."""
        return self._connections.conninfo

    @property
    def shared(self) -> PostgresStore:
        """The same store: its database can also be used for what stands beside a journal."""
        return self

    def with_connection(self, action: Callable[[Connection], T]) -> T:
        """Do something beside the journal, in its database; again, where a connection was lost."""
        return self._connections.do(action)

    # -- reading ---------------------------------------------------------------------------------

    def run(self, run: str) -> Run | None:
        """The row of a run."""
        rows = self._rows(f"SELECT {_RUN} FROM run WHERE id = %s", (run,))  # noqa: S608
        return _run(rows[0]) if rows else None

    def runs(
        self,
        *,
        status: Status | None = None,
        waits: Waits | None = None,
        project: str | None = None,
        after: int = 0,
        limit: int = 100,
        newest: bool = False,
    ) -> list[Run]:
        """A page of runs in the order they began, beyond the run numbered `after`."""
        wanted = {"status": status, "waits": waits, "project": project}
        terms = [f"{name} = %({name})s" for name, value in wanted.items() if value is not None]
        if after or not newest:
            terms.append("number < %(after)s" if newest else "number > %(after)s")
        where = f"WHERE {' AND '.join(terms)}" if terms else ""
        order = "DESC" if newest else "ASC"
        rows = self._rows(
            f"SELECT {_RUN} FROM run {where} ORDER BY number {order} LIMIT %(limit)s",  # noqa: S608
            {**wanted, "after": after, "limit": limit},
        )
        return [_run(row) for row in rows]

    def between(self, low: str, high: str, limit: int) -> list[str]:
        """Ids of runs from `low` up to and without `high`."""
        sql = "SELECT id FROM run WHERE id >= %s AND id < %s ORDER BY id LIMIT %s"
        return [row[0] for row in self._rows(sql, (low, high, limit))]

    def due(self, moment: str) -> list[str]:
        """Ids of runs that still wait although they expired by then."""
        sql = "SELECT id FROM run WHERE waits IS NOT NULL AND expires <= %s"
        return [row[0] for row in self._rows(sql, (moment,))]

    def entries(
        self,
        run: str,
        *,
        kinds: Sequence[Kind] | None = None,
        after: int = 0,
        upto: int | None = None,
    ) -> list[Entry]:
        """The entries of a run beyond the one numbered `after`, as far as the one at `upto`."""
        among = "AND kind = ANY(%s)" if kinds else ""
        rows = self._rows(
            f"SELECT {ENTRY}, seq FROM entry "  # noqa: S608
            f"WHERE run = %s AND n > %s AND n <= %s {among} ORDER BY n",
            (run, after, _limit(upto), *([list(kinds)] if kinds else ())),
        )
        return [Entry(*row) for row in rows]

    def recorded(self, run: str, upto: int | None = None) -> list[Recorded]:
        """The entries that a run's flow is built from, as far as `upto`."""
        sql = (
            "SELECT body, matter, seal IS NOT NULL AND matter IS NULL FROM entry WHERE run = %s "
            "AND n <= %s AND kind IN ('began', 'answered', 'returned', 'noted') ORDER BY n"
        )
        return self._rows(sql, (run, _limit(upto)))

    def history(self, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """The entries of all runs as they came, beyond the one with that `seq`."""
        sql = (
            f"SELECT {ENTRY}, seq FROM entry "  # noqa: S608
            "WHERE seq > %s AND seq <= %s ORDER BY seq LIMIT %s"
        )
        return [Entry(*row) for row in self._rows(sql, (after, self._horizon(), limit))]

    def happened(self, *, after: int = 0, limit: int = 1000) -> list[tuple[int, str, bytes]]:
        """The same entries without what was said: the `seq`, the run, and the body of each."""
        sql = "SELECT seq, run, body FROM entry WHERE seq > %s AND seq <= %s ORDER BY seq LIMIT %s"
        return self._rows(sql, (after, self._horizon(), limit))

    def awaited(self, moments: Sequence[str]) -> list[Awaited]:
        """All that waits, counted: by who is waited for, by flow, and by age."""
        age = " + ".join(["0", *("(since <= %s)::int" for _ in moments)])
        rows = self._rows(
            f"SELECT waits, flow, {age}, count(*), min(since) FROM run "  # noqa: S608
            "WHERE waits IS NOT NULL GROUP BY 1, 2, 3",
            tuple(moments),
        )
        return [Awaited(*row) for row in rows]

    def newest(self) -> int:
        """The `seq` of the newest entry; 0 where there is none."""
        sql = "SELECT coalesce(max(seq), 0) FROM entry WHERE seq <= %s"
        return int(self._rows(sql, (self._horizon(),))[0][0])

    def document(self, digest: str) -> bytes | None:
        """A document that runs began with."""
        rows = self._rows("SELECT written FROM document WHERE digest = %s", (digest,))
        return rows[0][0] if rows else None

    def documents(self) -> Iterator[tuple[str, bytes]]:
        """All of them, each with its digest."""
        for (digest,) in self._rows("SELECT digest FROM document"):
            written = self.document(digest)
            if written is not None:
                yield digest, written

    def named(self, first: str, last: str | None = None) -> dict[str, str]:
        """The runs that bear a name, or the names from one as far as another."""
        sql = "SELECT name, run FROM name WHERE name >= %s AND name <= %s ORDER BY name"
        return dict(self._rows(sql, (first, first if last is None else last)))

    def last(self) -> Last | None:
        """The newest run as the store remembers it, apart from the rows of the runs."""
        rows = self._rows("SELECT id, first, runs FROM last WHERE runs > 0")
        return Last(*rows[0]) if rows else None

    def heads(self, upto: int | None = None) -> list[Entry]:
        """The last entry of each run as it was when `seq` had come to `upto`, sorted by run."""
        rows = self._rows(
            f"SELECT {ENTRY}, seq FROM entry WHERE seq IN "  # noqa: S608
            "(SELECT max(seq) FROM entry WHERE seq <= %s GROUP BY run) ORDER BY run",
            (self._horizon() if upto is None else upto,),
        )
        return [Entry(*row) for row in rows]

    def strays(self) -> list[str]:
        """Names of runs that have entries and no row."""
        sql = (
            "SELECT DISTINCT run FROM entry "
            "WHERE NOT EXISTS (SELECT 1 FROM run WHERE id = entry.run) ORDER BY run"
        )
        return [row[0] for row in self._rows(sql)]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it, every reading sees the same moment."""
        if self._connections.holding is not None:
            yield
            return
        with self._connections.held("REPEATABLE READ, READ ONLY", still=self._journal):
            yield

    def news(self, seconds: float) -> Generator[bool]:
        """Time and again, and never after more than so long: whether to look for new entries."""
        listener: Connection | None = None
        looked = 0.0
        try:
            while True:
                try:
                    if listener is None:
                        listener = self._connections.connect()
                        listener.execute(f"LISTEN {CHANNEL}")
                        looked = 0.0
                    told = any(True for _ in listener.notifies(timeout=seconds, stop_after=1))
                except (psycopg.Error, StoreError):
                    if listener is not None:
                        listener.close()
                    listener, told = None, False
                    time.sleep(seconds)
                moment = time.monotonic()
                told = told or moment - looked >= LONGEST_DEAF
                looked = moment if told else looked
                yield told
                if told:
                    time.sleep(min(_SHORTEST, seconds))  # many replies are few looks
        finally:
            if listener is not None:
                listener.close()

    def lock_run(self, run: str) -> AbstractContextManager[None]:
        """Within it, nobody else drives the run, on whatever machine."""
        return self._locks.alone(run)

    def is_locked(self, run: str) -> bool:
        """Whether somebody drives the run at this moment."""
        try:
            with self._locks.alone(run):
                return False
        except Rejected:
            return True

    # -- writing ---------------------------------------------------------------------------------

    def create(
        self,
        write: Callable[[Last | None], Written],
        documents: Mapping[str, bytes],
        *,
        name: str = "",
        once: bool = False,
    ) -> Run:
        """Begin a run. `write` is told which run is the newest, and nobody else begins one.

        The name is the new run's from now on; with `once`, `Taken` where a run has it already.
        """
        made: Run | None = None

        def action(connection: Connection) -> Run:
            nonlocal made
            with connection.pipeline(), connection.transaction():
                newest = connection.execute(
                    "SELECT id, first, runs FROM last FOR UPDATE"
                ).fetchone()
                # Where the connection was lost while an earlier attempt was being committed, that
                # attempt has come to its end now that the row is ours.
                if made is not None and _written(connection, made):
                    return made
                taken = _bearer(connection, name) if once else None
                if taken is not None:
                    raise Taken(taken)
                last = Last(*newest) if newest and newest[2] else None
                run, entries = write(last)
                made = replace(run, number=last.runs + 1 if last else 1)
                self._begin(connection, made, entries, documents, name)
            self._teller.tell(connection, made.id)
            return made

        return self._connections.do(action)

    def _begin(
        self,
        connection: Connection,
        run: Run,
        entries: Sequence[Entry],
        documents: Mapping[str, bytes],
        name: str,
    ) -> None:
        """Write down a run. None of this waits for an answer, so that nobody waits for us."""
        for document in documents.items():
            connection.execute(
                "INSERT INTO document (digest, written) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                document,
            )
        if name:
            connection.execute(
                "INSERT INTO name (name, run) VALUES (%s, %s) "
                "ON CONFLICT (name) DO UPDATE SET run = excluded.run",
                (name, run.id),
            )
        connection.execute(
            "UPDATE last SET id = %s, first = %s, runs = %s", (run.id, run.first, run.number)
        )
        if self.beside is not None:
            self.beside(connection, run)
        values = {**asdict(run), **columns(entries), "journal": self._journal}
        connection.execute(beginning(len(entries)), values)

    def append(self, run: Run, entries: Sequence[Entry], *, seen: int) -> None:
        """Add entries and put the row in its new state; `Moved` unless the count is `seen`."""
        values = {**asdict(run), **columns(entries), "journal": self._journal, "seen": seen}
        statement = appending(len(entries))
        before = False

        def action(connection: Connection) -> None:
            nonlocal before
            again, before = before, True
            if connection.execute(statement, values).rowcount:
                self._teller.tell(connection, run.id)
            elif not (again and _written(connection, run)):
                raise Moved(run.id)

        self._connections.do(action)

    def prune(self, wanted: Sequence[tuple[Run, Sequence[int]]]) -> list[Run]:
        """Take matter and salt out of the entries with these numbers, of all these runs at once.

        All else of an entry stays, its seal included. A run that waits, or that has other than `n`
        entries by now, is left as it is; the others are given back.
        """
        return self._connections.do(lambda connection: bulk.prune(connection, wanted))

    def forget(self, documents: Collection[str], *, seen: int) -> int:
        """Remove documents, and say how many; those stay with which a run began after entry `seen`.

        Nobody begins a run meanwhile.
        """
        return self._connections.do(lambda connection: bulk.forget(connection, documents, seen))

    def reclaim(self) -> int:
        """Give back what pruning freed: to the server, which keeps most of it for what comes."""
        return self._connections.do(bulk.reclaim)

    def dump(self, table: str) -> Iterator[Row]:
        """Every row of a table, as it is; within a snapshot."""
        connection = self._connections.holding
        if connection is None:
            raise StoreError("rows are dumped within a snapshot")
        return bulk.dump(connection, table)

    def fill(self, dump: Callable[[str], Iterator[Row]], check: Callable[[], None]) -> None:
        """Put the rows of another journal into an empty store, all of them or, if `check` raises,
        none: it is called last, and reads the store as it is about to become.
        """
        with self._connections.held("READ COMMITTED") as connection:
            bulk.fill(connection, self.path, dump)
            check()
            connection.commit()

    # -- how it is done --------------------------------------------------------------------------

    def _rows(self, sql: str, values: Any = None) -> list[Any]:  # noqa: ANN401 - a tuple, or names
        return self._connections.do(lambda c: c.execute(sql, values, binary=True).fetchall())

    def _horizon(self) -> int:
        """The number up to which all entries can be seen that there will ever be.

        The highest number is looked up first: what was taken up to then either is committed when
        its lock is looked for, and will be seen, or its lock is found.
        """
        if self._connections.holding is not None:
            return maxsize
        ((highest,),) = self._rows(_HIGHEST)
        among = (self._journal, self._journal + (1 << _BITS) - 1)
        ((lowest,),) = self._rows(_LOWEST_UNDER_WAY, among)
        return int(highest if lowest is None else min(highest, lowest - self._journal - 1))


def _written(connection: Connection, run: Run) -> bool:
    """Whether the entries that lead to this row are there."""
    sql = "SELECT digest FROM entry WHERE run = %s AND n = %s"
    return connection.execute(sql, (run.id, run.n), binary=True).fetchone() == (run.head,)


def _bearer(connection: Connection, name: str) -> str | None:
    """The run that has a name."""
    found = connection.execute("SELECT run FROM name WHERE name = %s", (name,)).fetchone()
    return found[0] if found else None


def _limit(upto: int | None) -> int:
    return maxsize if upto is None else upto


def _run(row: Row) -> Run:
    return Run(**dict(zip(TABLES["run"], row, strict=True)))
