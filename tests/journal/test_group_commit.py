"""What threads of one process write at once: one commit, and each its own verdict."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from unittest.mock import patch

import pytest

import small_flows
from quandary.errors import AlreadyAnswered, StoreError
from quandary.journal import open_store, runs
from quandary.journal.sqlite import _Act
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path
    from typing import Any

    from quandary.journal.sqlite import SqliteStore
    from quandary.journal.store import State

T = TypeVar("T")
WRITERS = 16


class Disk(sqlite3.Connection):
    """A connection whose commits are counted, fail while its disk does, and can be interrupted."""

    commits = 0
    fails = False
    interrupts = False

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - any
        """Run a statement."""
        if sql == "COMMIT":
            type(self).commits += 1
            if self.fails:
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR
                raise error
        found = super().execute(sql, values)
        if sql == "COMMIT" and self.interrupts:  # a signal is heard when the call returns
            type(self).interrupts = False
            raise KeyboardInterrupt
        return found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store on such a disk."""
    connect = sqlite3.connect
    Disk.commits, Disk.fails, Disk.interrupts = 0, False, False
    with patch("sqlite3.connect", lambda *said, **more: connect(*said, **more, factory=Disk)):
        store: Any = open_store(tmp_path / "journal.db")
        yield store
        store.close()


def write_together(store: SqliteStore, acts: Sequence[Callable[[], T]]) -> list[Future[T]]:
    """Have threads act that all wait for the store, in order, before the first of them writes."""
    with ThreadPoolExecutor(len(acts)) as threads, store._lock:
        futures: list[Future[T]] = []
        for act in acts:
            futures.append(threads.submit(act))
            while len(store._acts) < len(futures):
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


@pytest.mark.parametrize("moment", ["on disk", "told", "kept"])
def test_an_interrupt_has_nothing_written_twice(store: SqliteStore, moment: str) -> None:
    """Whoever writes for all may be stopped when it is on disk, or while that is told or kept."""
    acts = [partial(small_flows.begin, store)] * WRITERS
    keep = [KeyboardInterrupt if moment == "kept" else None, *[None] * WRITERS]
    told = [KeyboardInterrupt] if moment == "told" else []
    Disk.interrupts = moment == "on disk"

    def tell(act: _Act, name: str, value: object) -> None:
        object.__setattr__(act, name, value)
        if name == "is_over" and value and told:
            raise told.pop()

    patched = patch.object(_Act, "__setattr__", tell)
    with patched, patch.object(store.keeper, "keep", side_effect=keep):
        futures = write_together(store, acts)
    assert sum(isinstance(one.exception(), KeyboardInterrupt) for one in futures) == 1
    assert store.count_runs() == WRITERS
    assert verify(store).ok


def test_who_gives_up_lets_the_next_one_try(store: SqliteStore, tmp_path: Path) -> None:
    """While somebody else holds the file each waits as long as it may, and is told; none hangs."""
    store.patience = 1.0
    with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        futures = write_together(store, [partial(small_flows.begin, store)] * WRITERS)
        assert time.monotonic() - began < 4 * store.patience  # not one patience after another
    for future in futures:
        with pytest.raises(StoreError, match="locked by another program for 1 seconds"):
            future.result()
    assert store.count_runs() == 0
    small_flows.begin(store)
    assert store.count_runs() == 1


def test_what_waits_in_vain_is_not_written_later(store: SqliteStore) -> None:
    """Whoever has been told that it failed can send it again."""
    store.patience = 0.1
    running, goes_on = threading.Event(), threading.Event()

    def wait() -> None:
        running.set()
        assert goes_on.wait(60)

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(store._write, wait)
        assert running.wait(60)
        with pytest.raises(StoreError, match="try again when it is done"):
            small_flows.begin(store)
        goes_on.set()
    assert first.exception() is None
    assert (store.count_runs(), store._acts) == (0, [])


def test_what_takes_longer_is_written_alone(store: SqliteStore) -> None:
    """In its turn, with a commit of its own."""
    before = Disk.commits
    write_together(store, [partial(store._write, list, secure=at == 2) for at in range(5)])
    assert Disk.commits == before + 3
