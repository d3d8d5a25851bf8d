"""Many machines: workers that drive runs, and the queue from which they take them."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple, TypeVar

from quandary import __version__
from quandary.agents import aside
from quandary.errors import QuandaryError, StoreError
from quandary.journal import open_store, place_of
from quandary.journal.progress import FLOWS, version_of
from quandary.journal.store import TABLES, Run, Store
from quandary.model.calls import fold

if TYPE_CHECKING:
    from psycopg import Connection

    from quandary.doors.web.metrics import Fleet as Depths
    from quandary.journal.postgres import PostgresStore


T = TypeVar("T")
log = logging.getLogger("quandary.fleet")

THROUGH = "fleet"
"""What entries say that came from here. Nobody has begun to make the calls of such a run."""
DRIVING = "quandary.driving"  # a setting of those connections whose runs have a worker already
ANY = "PEOPLE"  # the queue of charts in which no agent has anything to do
LONGEST = 64
_NAME = re.compile(rf"[^\W_][\w.:/ -]{{0,{LONGEST - 1}}}")
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
"""Seconds between two attempts to reach a server that is away."""


_BY_OTHERS = f"coalesce(current_setting('{DRIVING}', true), '') <> 'on'"
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE fleet_run (
            run text COLLATE "C" PRIMARY KEY,
            queue text NOT NULL
        )""",
        """CREATE TABLE fleet_queue (
            queue text COLLATE "C" PRIMARY KEY,
            name text COLLATE "C" NOT NULL,
            flow text COLLATE "C" NOT NULL,
            version bigint NOT NULL
        )""",
    ),
    (
        # A fleet of version 1 kept its jobs in tables of procrastinate, which are left alone. Its
        # workers stop for want of these functions.
        "DROP TRIGGER IF EXISTS fleet_follow_new ON run",
        "DROP TRIGGER IF EXISTS fleet_follow ON run",
        """DROP FUNCTION IF EXISTS fleet_defer(text), fleet_rescue(), fleet_silent(),
            fleet_return(bigint, bigint, double precision)""",
        "DROP TABLE IF EXISTS fleet_worker",
        """CREATE TABLE fleet_worker (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            seen timestamptz NOT NULL DEFAULT now(),
            silence double precision NOT NULL,
            host text NOT NULL,
            version text NOT NULL
        )""",
        """ALTER TABLE fleet_run
            ADD due timestamptz,
            ADD worker bigint,
            ADD attempts integer NOT NULL DEFAULT 0,
            ADD failed boolean NOT NULL DEFAULT false""",
        """UPDATE fleet_run SET due = now() FROM run
            WHERE run.id = fleet_run.run AND run.waits IN ('agent', 'house')""",
        "CREATE INDEX fleet_run_due ON fleet_run (due) WHERE due IS NOT NULL",
        "CREATE INDEX fleet_run_taken ON fleet_run (worker) WHERE worker IS NOT NULL",
        "CREATE INDEX fleet_run_failed ON fleet_run (run) WHERE failed",
        """CREATE FUNCTION fleet_enqueue(wanted text) RETURNS void LANGUAGE plpgsql AS $$
            BEGIN
                UPDATE fleet_run SET due = least(due, now()), attempts = 0, failed = false
                    WHERE run = wanted;
                IF FOUND THEN
                    PERFORM pg_notify('fleet', '');
                END IF;
            END
            $$""",
        """CREATE OR REPLACE FUNCTION fleet_follow() RETURNS trigger LANGUAGE plpgsql
            SECURITY DEFINER SET search_path FROM CURRENT AS $$
            BEGIN
                IF NEW.waits IN ('agent', 'house') THEN
                    PERFORM fleet_enqueue(NEW.id);
                ELSE
                    UPDATE fleet_run SET due = NULL WHERE run = NEW.id AND due IS NOT NULL;
                END IF;
                RETURN NULL;
            END
            $$""",
        f"""CREATE TRIGGER fleet_follow_new AFTER INSERT ON run FOR EACH ROW
            WHEN (NEW.waits IN ('agent', 'house') AND {_BY_OTHERS})
            EXECUTE FUNCTION fleet_follow()""",
        f"""CREATE TRIGGER fleet_follow AFTER UPDATE OF status, waits, key ON run FOR EACH ROW
            WHEN ((NEW.waits IN ('agent', 'house') OR NEW.status <> 'waiting')
                AND (OLD.waits IS DISTINCT FROM NEW.waits OR OLD.key IS DISTINCT FROM NEW.key)
                AND {_BY_OTHERS})
            EXECUTE FUNCTION fleet_follow()""",
    ),
)
"""The statements at index v bring a fleet of version v to version v + 1."""
_MIGRATING = 0x51464C54  # the advisory lock of whoever changes this: QFLT


def prepare(connection: Connection[Any], place: str) -> None:
    """Bring the queue to where this version needs it; of several at once, one does it."""
    if _version_in(connection) == len(MIGRATIONS):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
        version = _version_in(connection)
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{place} has a queue of a newer Quandary (version {version}, known up to "
                f"{len(MIGRATIONS)}); upgrade this one"
            )
        if not version:
            # Programs that know version 1 read the last column before they refuse the others.
            connection.execute(
                "CREATE TABLE fleet (one integer PRIMARY KEY CHECK (one = 1), "
                "version bigint NOT NULL, procrastinate text NOT NULL DEFAULT '')"
            )
            connection.execute("INSERT INTO fleet VALUES (1, 0)")
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute("UPDATE fleet SET version = %s", (len(MIGRATIONS),))


def _version_in(connection: Connection[Any]) -> int:
    """The version of the fleet's tables in the schema of the journal; 0 where there are none."""
    # Whoever has waited for others to make them must not ask the cache that to_regclass looks into.
    there = connection.execute(
        "SELECT 1 FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
        "AND relname = 'fleet' AND relkind = 'r'"
    ).fetchone()
    if there is None:
        return 0
    row = connection.execute("SELECT version FROM fleet").fetchone()
    return int(row[0]) if row is not None else 0


def share(store: Store) -> PostgresStore:
    """The store, with a queue beside it; one that other machines cannot reach is refused."""
    if store.shared is None:
        raise not_shared(store.path)
    store.shared.with_connection(partial(prepare, place=store.path))
    return store.shared


def open_shared(where: str | None) -> PostgresStore:
    """The store of a worker. What it writes into a run does not make the run due: it has it."""
    place = place_of(where)
    if "://" not in place:
        raise not_shared(place)
    return share(open_store(where, marks={DRIVING: "on"}))


def not_shared(place: str) -> QuandaryError:
    """Why a file will not do."""
    return QuandaryError(
        f"{place} is a file, which workers on other machines cannot share; give "
        "--store postgresql://USER@HOST/DATABASE (`quandary store copy` moves a journal there)"
    )


def is_member(store: Store, run: str) -> bool:
    """Whether workers drive the run."""
    return bool(_ask(store, "SELECT 1 FROM fleet_run WHERE run = %s", run))


def is_queued(store: Store, run: str) -> bool:
    """Whether a worker will take the run."""
    return bool(_ask(store, "SELECT 1 FROM fleet_run WHERE run = %s AND due IS NOT NULL", run))


def enqueue(store: Store, run: str) -> None:
    """Have a worker take a run of the fleet."""
    _ask(store, "SELECT fleet_enqueue(%s)", run)


def _ask(store: Store, sql: LiteralString, run: str) -> list[Any]:
    """What the tables of the fleet say of a run; nothing where the store has no fleet."""

    def look(connection: Connection[Any]) -> list[Any]:
        if not _version_in(connection):
            return []
        prepare(connection, store.path)
        return connection.execute(sql, (run,)).fetchall()

    return store.shared.with_connection(look) if store.shared is not None else []


def depths_of(store: Store) -> Callable[[], Depths] | None:
    """What tells the depths of a store's queues; nothing where it cannot have any."""
    return partial(store.shared.with_connection, _depths) if store.shared is not None else None


_DEPTHS = """
    SELECT queue,
        count(*) FILTER (WHERE worker IS NULL AND due <= now()),
        count(*) FILTER (WHERE worker IS NULL AND due > now()),
        count(worker),
        count(worker) FILTER (WHERE coalesce(seen < now() - silence * interval '1 second', true)),
        count(*) FILTER (WHERE failed)
    FROM fleet_run LEFT JOIN fleet_worker ON id = worker
    WHERE due IS NOT NULL OR worker IS NOT NULL OR failed GROUP BY queue ORDER BY queue
"""
_ALIVE = "SELECT count(*) FROM fleet_worker WHERE seen >= now() - silence * interval '1 second'"


def _depths(connection: Connection[Any]) -> Depths:
    from quandary.doors.web import metrics  # noqa: PLC0415 - an extra

    if _version_in(connection) != len(MIGRATIONS):
        return metrics.Fleet()
    rows = connection.execute(_DEPTHS).fetchall()
    (alive,) = connection.execute(_ALIVE).fetchone() or (0,)
    return metrics.Fleet(tuple(metrics.Queue(*row) for row in rows), alive)


class Queue(NamedTuple):
    """Runs of one flow and version that stand in line together."""

    name: str
    flow: str
    version: int

    @property
    def full(self) -> str:
        """As the tables know it."""
        return f"{self.name}@{self.flow}.{self.version}"

    @property
    def is_known(self) -> bool:
        """Whether its runs can be replayed here."""
        return self.flow in FLOWS and version_of(self.flow) == self.version


def queue_of(name: str, flow: str = "walk") -> Queue:
    """The queue of that name for runs that are begun now; names differ by more than their case."""
    spaced = " ".join(name.split())
    if not _NAME.fullmatch(spaced):
        raise QuandaryError(
            f"{name!r} is no name of a queue; use letters, digits and . : / - up to {LONGEST}"
        )
    return Queue(spaced.upper(), flow, version_of(flow))


def takeable(
    queues: Iterable[Queue], wanted: Collection[str], unable: Collection[str]
) -> list[Queue]:
    """Those that a worker takes runs from: wanted, or all; known; and with an agent it has."""
    able = [queue for queue in queues if queue.is_known and fold(queue.name) not in unable]
    return [queue for queue in able if not wanted or fold(queue.name) in wanted]


_JOIN = """
    INSERT INTO fleet_run (run, queue) VALUES (%s, %s)
    ON CONFLICT (run) DO UPDATE SET queue = excluded.queue
"""


class Fleet:
    """The queue beside a journal, for whoever puts runs into it."""

    def __init__(self, store: Store, name: str, *, flow: str = "walk") -> None:
        self.store = share(store)
        self.queue = queue_of(name, flow)
        known = "INSERT INTO fleet_queue VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
        values = (self.queue.full, *self.queue)
        self.store.with_connection(lambda connection: connection.execute(known, values))

    def take_new_runs(self) -> None:
        """From now on, every run that is begun in the store is one of the fleet. It stands in the
        queue when it stands in the journal: both are one transaction.
        """
        self.store.beside = self._join

    def add(self, run: str) -> None:
        """Take in a run that was begun before; if it waits for an agent, it is queued."""
        due = "SELECT fleet_enqueue(id) FROM run WHERE id = %s AND waits IN ('agent', 'house')"

        def action(connection: Connection[Any]) -> None:
            with connection.transaction():
                connection.execute(_JOIN, (run, self.queue.full))
                connection.execute(due, (run,))

        self.store.with_connection(action)

    def _join(self, connection: Connection[Any], run: Run) -> None:
        connection.execute(_JOIN, (run.id, self.queue.full))


class JobEnd(NamedTuple):
    """What becomes of a run when a worker is through with it."""

    kind: str  # `done`, `back` or `failed`
    why: str = ""
    pause: float = 0.0  # seconds that it waits in the queue before anybody takes it


class Job(NamedTuple):
    """A run that a worker has taken."""

    run: str
    queue: str
    attempts: int
    worker: int
    row: Run


_REGISTER: LiteralString = """
    INSERT INTO fleet_worker (silence, host, version)
    VALUES (%(silence)s, %(host)s, %(version)s) RETURNING id
"""
_SOON: LiteralString = "set_config('synchronous_commit', 'off', true)"
"""Has a statement not wait for the disk. Before a program starts, the journal does; and what is not
known of a run that was settled is that it was: it is put back, and found to be done."""
_TAKE: LiteralString = f"""
    UPDATE fleet_run SET worker = %(worker)s, due = NULL
    FROM run AS row WHERE row.id = fleet_run.run AND fleet_run.run = (
        SELECT run FROM fleet_run
        WHERE due <= now() AND worker IS NULL AND queue = ANY(%(queues)s)
            AND EXISTS (SELECT 1 FROM fleet_worker WHERE id = %(worker)s)
        ORDER BY due LIMIT 1 FOR UPDATE SKIP LOCKED
    ) RETURNING {_SOON}, fleet_run.run, queue, attempts, worker, row.{", row.".join(TABLES["run"])}
"""  # noqa: S608 - our own names
_SETTLE: LiteralString = f"""
    UPDATE fleet_run SET worker = NULL,
        attempts = CASE %(kind)s WHEN 'done' THEN 0 ELSE attempts + (%(pause)s > 0)::int END,
        due = CASE %(kind)s WHEN 'back' THEN least(due, now() + %(pause)s * interval '1 second')
            ELSE due END,
        failed = %(kind)s = 'failed' AND due IS NULL
    WHERE run = %(run)s AND worker = %(worker)s
    RETURNING {_SOON}, CASE WHEN due <= now() THEN pg_notify('fleet', '')::text END
"""  # noqa: S608 - our own words
_RESCUE: LiteralString = """
    WITH rescued AS (
        UPDATE fleet_run SET worker = NULL, due = least(due, now())
        WHERE worker IS NOT NULL AND (worker = %(worker)s AND run <> ALL(%(runs)s)
            OR NOT EXISTS (SELECT 1 FROM fleet_worker WHERE id = worker))
        RETURNING run
    )
    SELECT run, pg_notify('fleet', '')::text FROM rescued
"""
_SILENT: LiteralString = """
    DELETE FROM fleet_worker
    -- nobody could give a sign of life to a server that was away
    WHERE greatest(seen, pg_postmaster_start_time()) < now() - silence * interval '1 second'
    RETURNING id
"""


class JobQueue:
    """The queue of a store, as workers use it."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store
        self.place = store.path
        self.away = False  # the server could not be reached the last time

    async def queues(self) -> list[Queue]:
        """Every queue that a run was ever put into."""
        rows = await self._rows("SELECT name, flow, version FROM fleet_queue ORDER BY queue")
        return [Queue(*row) for row in rows]

    async def take(self, queues: Iterable[str], worker: int) -> Job | None:
        """The run of these queues that is due for longest, which is the worker's from now on. There
        is none for a worker that was presumed dead; its next sign of life tells it so.
        """
        rows = await self._rows(_TAKE, queues=list(queues), worker=worker)
        for _, run, queue, attempts, _, *row in rows:
            return Job(run, queue, attempts, worker, Run(*row))
        return None

    async def settle(self, job: Job, end: JobEnd) -> None:
        """Record what became of a run, if it is still the worker's."""
        await self._rows(_SETTLE, **job._asdict(), **end._asdict())

    async def count_due(self, queue: str) -> int:
        """How many runs stand in a queue."""
        sql = "SELECT count(*) FROM fleet_run WHERE due <= now() AND queue = %(queue)s"
        ((count,),) = await self._rows(sql, queue=queue)
        return int(count)

    async def register(self, silence: float) -> int:
        """A number for a worker, which is presumed dead when it is silent for so long."""
        host = socket.gethostname()
        rows = await self._rows(_REGISTER, silence=silence, host=host, version=__version__)
        return int(rows[0][0])

    async def unregister(self, worker: int) -> None:
        """The worker is gone; whatever was still its own can be taken by others at once."""
        sql = "DELETE FROM fleet_worker WHERE id = %(worker)s RETURNING id"
        await self._rows(sql, worker=worker)
        await self.rescue(worker, ())

    async def beat(self, worker: int) -> bool:
        """Give a sign of life; whether the worker is still known."""
        sql = "UPDATE fleet_worker SET seen = now() WHERE id = %(worker)s RETURNING id"
        return bool(await self._rows(sql, worker=worker))

    async def rescue(self, worker: int, runs: Iterable[str]) -> list[str]:
        """Put back the runs of silent workers, and those that this one has without knowing."""
        await self._rows(_SILENT)
        rows = await self._rows(_RESCUE, worker=worker, runs=list(runs))
        return [run for run, _ in rows]

    async def listen(self, wake: Callable[[], None]) -> None:
        """Have somebody woken whenever a run is due, for ever."""
        from psycopg import AsyncConnection  # noqa: PLC0415 - an extra

        async def attempt() -> None:
            place = self.store.conninfo
            async with await AsyncConnection.connect(place, autocommit=True) as connection:
                await connection.execute("LISTEN fleet")
                wake()
                async for _ in connection.notifies():
                    wake()

        while True:
            await self._patiently(attempt)

    async def _rows(self, sql: LiteralString, **values: object) -> list[tuple[Any, ...]]:
        def attempt() -> list[tuple[Any, ...]]:
            with self.store.once() as connection:
                return connection.execute(sql, values, binary=True).fetchall()

        return await self._patiently(partial(aside, attempt))

    async def _patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Do something with the server; while it is away, wait for it."""
        from psycopg import OperationalError  # noqa: PLC0415 - an extra

        pause = _SHORTEST_PAUSE
        while True:
            try:
                result = await attempt()
            except OperationalError as error:
                if not self.away:
                    self.away = True
                    line = str(error).strip().partition("\n")[0]
                    log.warning("%s is away; waiting for it (%s)", self.place, line)
            else:
                if self.away:
                    self.away = False
                    log.warning("%s is back", self.place)
                return result
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
