"""How deep the queues are, told by a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import databases
import small_flows
from quandary.doors.web.metrics import Fleet, Queue
from quandary.fleet import Fleet as Members
from quandary.fleet import depths_of
from quandary.journal import MEMORY, open_store
from quandary.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

    from quandary.journal.store import Store

WORKERS = """
    INSERT INTO fleet_worker (seen, silence, host, version)
    VALUES (now(), 15, '', ''), (now() - interval '1 hour', 15, '', '')
"""
JOBS = (
    "due = now() + interval '1 hour'",
    "due = NULL, worker = 1",
    "due = NULL, worker = 2",
    "due = NULL, worker = 99",
    "due = NULL, failed = true",
)
"""Of six runs, what becomes of the first five."""


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
    fleet.take_new_runs()
    for _ in range(6):
        small_flows.answer(store, small_flows.begin(store, "errand"))
    assert depths() == Fleet((Queue("CLAUDE@small.1", 6, 0, 0, 0, 0),), 0)

    def change(connection: Connection[Any]) -> None:
        connection.execute(WORKERS)
        rows = connection.execute("SELECT run FROM fleet_run ORDER BY run").fetchall()
        for (run,), change in zip(rows, JOBS, strict=False):
            connection.execute(f"UPDATE fleet_run SET {change} WHERE run = %s", (run,))  # noqa: S608

    fleet.store.with_connection(change)
    assert depths() == Fleet((Queue("CLAUDE@small.1", 1, 1, 3, 2, 1),), 1)
