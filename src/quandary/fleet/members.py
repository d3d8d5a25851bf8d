"""Runs that belong to the fleet: begun into the queue, or put there afterwards."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from quandary.errors import QuandaryError
from quandary.fleet.queues import Queue, queue_of
from quandary.journal.store import open_store, place_of

if TYPE_CHECKING:
    from psycopg import Connection

    from quandary.journal.postgres import PostgresStore
    from quandary.journal.store import Run, Store

DRIVING = "quandary.driving"
"""A setting of those connections whose runs have a worker already."""
THROUGH = "fleet"
"""What entries say that came from here. Nobody has begun to make the calls of such a run."""

_JOIN = """
    INSERT INTO fleet_run (run, queue, priority) VALUES (%s, %s, %s)
    ON CONFLICT (run) DO UPDATE SET queue = excluded.queue, priority = excluded.priority
"""


def shared(store: Store) -> PostgresStore:
    """The store, with a queue beside it; one that other machines cannot reach is refused."""
    try:
        from quandary.fleet.schema import prepare  # noqa: PLC0415 - an extra
        from quandary.journal.postgres import PostgresStore  # noqa: PLC0415 - the same
    except ImportError as missing:
        raise missing_packages(missing) from None
    if not isinstance(store, PostgresStore):
        raise not_shared(store.path)
    try:
        import procrastinate  # noqa: F401, PLC0415 - an extra, and slow
    except ImportError as missing:
        raise missing_packages(missing) from None
    store.with_connection(partial(prepare, place=store.path))
    return store


def shared_at(where: str | None) -> PostgresStore:
    """The store of a worker. What it writes into a run puts that run into no queue: it has it."""
    place = place_of(where)
    if "://" not in place:
        raise not_shared(place)
    return shared(open_store(where, marks={DRIVING: "on"}))


def not_shared(place: str) -> QuandaryError:
    """Why a file will not do."""
    return QuandaryError(
        f"{place} is a file, which workers on other machines cannot share; give "
        "--store postgresql://USER@HOST/DATABASE (`quandary store copy` moves a journal there)"
    )


def missing_packages(missing: ImportError) -> QuandaryError:
    """What to install."""
    return QuandaryError(
        f"a fleet needs more packages ({missing.name}): pip install 'quandary[fleet]'"
    )


class Fleet:
    """The queue beside a journal, for whoever puts runs into it."""

    def __init__(self, store: Store, name: str, *, flow: str = "walk", priority: int = 0) -> None:
        self.store = shared(store)
        self.queue = queue_of(name, flow)
        self.priority = priority
        self.store.with_connection(lambda connection: _know(connection, self.queue))

    def begin_into(self) -> None:
        """From now on, every run that is begun in the store is one of the fleet.

        It stands in the queue when it stands in the journal: both are one transaction.
        """
        self.store.beside = self._join

    def add(self, run: str) -> None:
        """Take in a run that was begun before; if it waits for an agent, it is queued."""

        def action(connection: Connection[Any]) -> None:
            with connection.transaction():
                connection.execute(_JOIN, (run, self.queue.full, self.priority))
                connection.execute(
                    "SELECT fleet_defer(id) FROM run WHERE id = %s AND waits IN ('agent', 'house')",
                    (run,),
                )

        self.store.with_connection(action)

    def _join(self, connection: Connection[Any], run: Run) -> None:
        connection.execute(_JOIN, (run.id, self.queue.full, self.priority))


def _know(connection: Connection[Any], queue: Queue) -> None:
    connection.execute(
        "INSERT INTO fleet_queue (queue, name, flow, version) VALUES (%s, %s, %s, %s) "
        "ON CONFLICT DO NOTHING",
        (queue.full, *queue),
    )
