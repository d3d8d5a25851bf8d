"""How deep the queues are, for whoever watches over a fleet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from quandary.fleet.orders import Orders
from quandary.people.web.metrics import Fleet, Queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg import Connection

    from quandary.journal.store import Store

_DEPTHS = """
    SELECT queue_name,
        count(*) FILTER (WHERE status = 'todo' AND coalesce(scheduled_at <= now(), true)),
        count(*) FILTER (WHERE status = 'todo' AND scheduled_at > now()),
        count(*) FILTER (WHERE status = 'doing'),
        count(*) FILTER (WHERE status = 'doing'
            AND coalesce(last_heartbeat < now() - %(silence)s * interval '1 second', true)),
        count(*) FILTER (WHERE status = 'failed')
    FROM procrastinate_jobs LEFT JOIN procrastinate_workers AS worker ON worker.id = worker_id
    GROUP BY queue_name ORDER BY queue_name
"""
_WORKERS = """
    SELECT count(*) FROM procrastinate_workers
    WHERE last_heartbeat >= now() - %(silence)s * interval '1 second'
"""


def depths_of(store: Store) -> Callable[[], Fleet] | None:
    """What tells the depths of a store's queues; nothing where it cannot have any."""
    return partial(store.shared.with_connection, _depths) if store.shared is not None else None


def _depths(connection: Connection[Any]) -> Fleet:
    there = connection.execute("SELECT to_regclass('fleet') IS NOT NULL").fetchone()
    if there != (True,):
        return Fleet()
    values = {"silence": Orders().silence}
    rows = connection.execute(_DEPTHS, values).fetchall()
    found = connection.execute(_WORKERS, values).fetchone()
    return Fleet(tuple(Queue(*row) for row in rows), int(found[0]) if found else 0)
