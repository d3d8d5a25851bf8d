"""The queue as a worker sees it: procrastinate's, reached by a connection of its own.

A worker that was taken for dead may only have been slow. So whatever it says of a job counts only
as long as the job is still its own.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any, LiteralString, Self, TypeVar

from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException, UniqueViolation
from psycopg import AsyncConnection, OperationalError
from psycopg.errors import ForeignKeyViolation
from psycopg_pool import AsyncConnectionPool

from quandary import __version__
from quandary.fleet.queues import Queue

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from procrastinate.jobs import Job

    from quandary.fleet.outcomes import Outcome
    from quandary.journal.postgres import PostgresStore

T = TypeVar("T")
log = logging.getLogger("quandary.fleet")

_SETTLE: dict[str, LiteralString] = {
    "done": "DELETE FROM procrastinate_jobs "
    "WHERE id = %(job)s AND status = 'doing' AND worker_id = %(worker)s RETURNING id",
    "back": "SELECT fleet_return(%(job)s, %(worker)s, %(pause)s)",
    "failed": "UPDATE procrastinate_jobs SET status = 'failed', attempts = attempts + 1 "
    "WHERE id = %(job)s AND status = 'doing' AND worker_id = %(worker)s RETURNING id",
}
_KNOWN: LiteralString = (
    "INSERT INTO fleet_worker (worker, silence, host, version) "
    "SELECT id, %(silence)s, %(host)s, %(version)s FROM procrastinate_workers "
    "WHERE id = %(worker)s ON CONFLICT DO NOTHING RETURNING worker"
)
_BEAT: LiteralString = (
    "UPDATE procrastinate_workers SET last_heartbeat = now() WHERE id = %(worker)s RETURNING id"
)
_SHORTEST, _LONGEST = 0.1, 2.0
"""Seconds between two attempts to reach a server that is away."""


class JobQueue:
    """The queue of a store."""

    def __init__(self, store: PostgresStore) -> None:
        self.place = store.path
        self.away = False
        """The server could not be reached the last time."""
        self._connector = PsycopgConnector(
            conninfo=store.conninfo,
            configure=_settle,
            min_size=1,
            max_size=2,
            timeout=5.0,
            reconnect_timeout=1.0,
            pool_factory=_pool,
        )
        self._app = App(connector=self._connector)
        self._jobs = self._app.job_manager

    async def __aenter__(self) -> Self:
        await self.patiently(self._app.open_async)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._app.close_async()

    # -- jobs ------------------------------------------------------------------------------------

    async def queues(self) -> list[Queue]:
        """Every queue that a run was ever put into."""
        rows = await self._rows("SELECT name, flow, version FROM fleet_queue ORDER BY queue")
        return [Queue(row["name"], row["flow"], row["version"]) for row in rows]

    async def fetch(self, queues: Iterable[str], worker: int) -> Job | None:
        """The next job of these queues, which is the worker's from now on.

        There is none for a worker that was taken for dead; its next sign of life tells it so.
        """
        try:
            return await self.patiently(
                lambda: self._jobs.fetch_job(queues=list(queues), worker_id=worker)
            )
        except UniqueViolation:  # another job of the same run was taken at the same moment
            return None
        except ConnectorException as error:
            if isinstance(error.__cause__, ForeignKeyViolation):
                return None
            raise

    async def settle(self, job: int, worker: int, outcome: Outcome) -> None:
        """Say what became of a job, if it is still the worker's."""
        values = {"pause": outcome.pause} if outcome.kind == "back" else {}
        await self._rows(_SETTLE[outcome.kind], job=job, worker=worker, **values)

    async def waiting(self, queues: Iterable[str]) -> int:
        """How many jobs stand in these queues."""
        (row,) = await self._rows(
            "SELECT count(*) AS jobs FROM procrastinate_jobs "
            "WHERE status = 'todo' AND queue_name = ANY(%(queues)s)",
            queues=list(queues),
        )
        return int(row["jobs"])

    # -- workers ---------------------------------------------------------------------------------

    async def register(self, silence: float) -> int:
        """A number for a worker, which is taken for dead when it is silent for so long."""
        worker = await self.patiently(self._jobs.register_worker)
        values = {"host": socket.gethostname(), "version": __version__}
        await self._rows(_KNOWN, worker=worker, silence=silence, **values)
        return worker

    async def unregister(self, worker: int) -> None:
        """The worker is gone; whatever was still its own can be taken by others at once."""
        await self.patiently(lambda: self._jobs.unregister_worker(worker))

    async def beat(self, worker: int) -> bool:
        """Give a sign of life; whether the worker is still known."""
        return bool(await self._rows(_BEAT, worker=worker))

    async def rescue(self) -> list[str]:
        """Put back the jobs of workers that were silent for too long; their runs."""
        rows = await self._rows("SELECT fleet_rescue() AS run")
        return [row["run"] for row in rows]

    async def listen(self, woken: Callable[[], None]) -> None:
        """Have somebody told of every new job, for ever."""

        async def told(**_: object) -> None:
            woken()

        while True:
            await self.patiently(lambda: self._jobs.listen_for_jobs(on_notification=told))

    # -- how it is done --------------------------------------------------------------------------

    async def _rows(self, query: LiteralString, **values: Any) -> list[dict[str, Any]]:  # noqa: ANN401
        return await self.patiently(
            lambda: self._connector.execute_query_all_async(query, **values)
        )

    async def patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Do something with the server; while it is away, wait for it."""
        pause = _SHORTEST
        while True:
            try:
                result = await attempt()
            except (ConnectorException, OperationalError) as error:
                cause = error.__cause__ if isinstance(error, ConnectorException) else error
                if not isinstance(cause, OperationalError):
                    raise
                if not self.away:
                    self.away = True
                    log.warning("%s is away; waiting for it (%s)", self.place, _line(cause))
            else:
                if self.away:
                    self.away = False
                    log.warning("%s is back", self.place)
                return result
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST)


async def _settle(connection: AsyncConnection[Any]) -> None:
    """Each statement is a transaction of its own."""
    await connection.set_autocommit(True)


def _pool(**arguments: Any) -> AsyncConnectionPool:  # noqa: ANN401 - procrastinate's own
    """A pool that does not ask before each use whether a connection still works: we notice."""
    return AsyncConnectionPool(**{**arguments, "check": None})


def _line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
