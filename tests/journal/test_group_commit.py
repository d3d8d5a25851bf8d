"""What threads of one process write at once: one commit, and each its own verdict."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

import small_flows
from quandary.errors import AlreadyAnswered, StoreError
from quandary.journal import open_store, runs
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path
    from typing import Any

    from quandary.journal.sqlite import SqliteStore
    from quandary.journal.store import State

WRITERS = 16


class Disk(sqlite3.Connection):
    """A connection whose commits are counted, and fail while its disk does."""

    commits = 0
    fails = False

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - any
        """Run a statement."""
        if sql == "COMMIT":
            type(self).commits += 1
            if self.fails:
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR
                raise error
        return super().execute(sql, values)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store on such a disk."""
    connect = sqlite3.connect
    Disk.commits, Disk.fails = 0, False
    with patch("sqlite3.connect", lambda *said, **more: connect(*said, **more, factory=Disk)):
        store: Any = open_store(tmp_path / "journal.db")
        yield store
        store.close()


def write_together(store: SqliteStore, acts: Sequence[Callable[[], State]]) -> list[Future[State]]:
    """Have threads act that all wait for the store before the first of them writes."""
    with ThreadPoolExecutor(len(acts)) as threads, store._lock:
        futures = [threads.submit(act) for act in acts]
        while len(store._acts) < len(acts):
            time.sleep(0.001)
        return futures


def answers(store: SqliteStore, states: Sequence[State]) -> list[Callable[[], State]]:
    """A reply to each."""
    return [partial(small_flows.answer, store, state) for state in states]


def test_what_waits_is_written_with_one_commit(store: SqliteStore) -> None:
    """Whoever comes first writes for all, and nothing of the chain is different for it."""
    before = Disk.commits
    futures = write_together(store, [partial(small_flows.begin, store)] * WRITERS)
    assert Disk.commits == before + 1
    assert len({future.result().run for future in futures}) == WRITERS == store.count_runs()
    assert verify(store).ok
    assert store.keeper is not None
    assert store.keeper.read().seq == store.newest()  # type: ignore[union-attr]


def test_a_failed_commit_fails_all_of_it(store: SqliteStore) -> None:
    """Each is told, nothing is kept, and each can be sent again."""
    begun = [small_flows.begin(store) for _ in range(WRITERS)]
    newest = store.newest()
    Disk.fails = True
    futures = write_together(store, answers(store, begun))
    Disk.fails = False
    for future in futures:
        with pytest.raises(StoreError, match="disk I/O error"):
            future.result()
    assert store.newest() == newest
    for state in begun:
        assert runs.look(store, state.run).key == state.key
        assert small_flows.answer(store, state).key != state.key
    assert verify(store).ok


def test_what_one_is_refused_hurts_no_other(store: SqliteStore) -> None:
    """Of two replies to one question at once, one is told that it came too late."""
    begun = [small_flows.begin(store) for _ in range(WRITERS)]
    futures = write_together(store, answers(store, [*begun, *begun[:4]]))
    refused = [future for future in futures if isinstance(future.exception(), AlreadyAnswered)]
    assert len(refused) == 4
    assert all(future.exception() is None for future in futures if future not in refused)
    assert all(len(store.entries(state.run, kinds=("answered",))) == 1 for state in begun)
    assert verify(store).ok
