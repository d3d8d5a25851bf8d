"""How deep the queues are, told by a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import databases
import small_flows
from quandary.fleet.depths import depths_of
from quandary.fleet.members import Fleet as Members
from quandary.journal.sqlite import MEMORY, SqliteStore
from quandary.journal.store import open_store
from quandary.people.web.metrics import Fleet, Queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

    from quandary.journal.store import Store

WORKERS = (
    "INSERT INTO procrastinate_workers DEFAULT VALUES",
    "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')",
)
_DOING = """
    UPDATE procrastinate_jobs SET status = 'doing',
        worker_id = (SELECT id FROM procrastinate_workers ORDER BY last_heartbeat {} LIMIT 1)
    WHERE id = %s
"""
JOBS = (
    "UPDATE procrastinate_jobs SET scheduled_at = now() + interval '1 hour' WHERE id = %s",
    _DOING.format("ASC"),
    _DOING.format("DESC"),
    "UPDATE procrastinate_jobs SET status = 'doing' WHERE id = %s",
    "UPDATE procrastinate_jobs SET status = 'failed' WHERE id = %s",
)
"""Of six jobs, what becomes of the first five."""


@pytest.fixture
def store() -> Iterator[Store]:
    """An empty store on a server."""
    with databases.shared().schema() as url:
        store = open_store(url)
        yield store
        store.close()


def test_a_file_has_no_queues() -> None:
    """And nobody looks for any."""
    store = SqliteStore(MEMORY)
    assert depths_of(store) is None
    store.close()


def test_a_store_without_a_fleet(store: Store) -> None:
    """May get one later; until then there is nothing to tell."""
    depths = depths_of(store)
    assert depths is not None
    assert depths() == Fleet()
    Members(store, "claude")
    assert depths() == Fleet()


def test_jobs_by_where_they_stand(store: Store) -> None:
    """Ready, put off, worked on, left behind by a dead worker, given up; and who is alive."""
    depths = depths_of(store)
    assert depths is not None
    fleet = Members(store, "claude", flow="small")
    fleet.begin_into()
    for _ in range(6):
        small_flows.answer(store, small_flows.begin(store, "errand"))
    assert depths() == Fleet((Queue("CLAUDE@small.1", 6, 0, 0, 0, 0),), 0)

    def change(connection: Connection[Any]) -> None:
        for statement in WORKERS:
            connection.execute(statement)
        rows = connection.execute("SELECT id FROM procrastinate_jobs ORDER BY id").fetchall()
        for (job,), statement in zip(rows, JOBS, strict=False):
            connection.execute(statement, (job,))

    fleet.store.with_connection(change)
    assert depths() == Fleet((Queue("CLAUDE@small.1", 1, 1, 3, 2, 1),), 1)
