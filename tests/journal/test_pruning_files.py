"""What pruning does to a file: it gets smaller, holds nothing of it, and survives anything."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

import full_stores
import processes
import small_flows
from quandary.desk.timeline import search
from quandary.journal import archive, sqlite
from quandary.journal.entries import Source
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import Wanted, verify

if TYPE_CHECKING:
    import pytest

    from quandary.journal.verify import Keep

SOURCE = Source("person", "terminal", "grace")


def prune(store: SqliteStore, keep: Keep = "answers") -> None:
    """Take out whatever there is."""
    archive.prune(store, Wanted("9999", keep), "", SOURCE, lambda _: None)


def done(store: SqliteStore) -> str:
    """A run that is done, in which everybody had something to say."""
    state = small_flows.begin(store, questions=1, context=full_stores.WORD)
    return small_flows.answer(store, state, small_flows.pick("1:", "NO", comment="fine")).run


def test_the_file_gets_smaller_and_holds_nothing_of_what_was_pruned(
    store: SqliteStore, path: Path
) -> None:
    """Not in its free pages either, nor in the log beside it."""
    for _ in range(60):
        state = small_flows.begin(store, questions=1, context=full_stores.WORD * 500)
        small_flows.answer(store, state)
    assert len(search(store, full_stores.WORD, limit=100)) == 60  # an index has the words too
    store._rows("PRAGMA wal_checkpoint(TRUNCATE)", ())
    before = path.stat().st_size
    assert full_stores.WORD.encode() in path.read_bytes()
    prune(store, "codes")
    saved = store.reclaim()
    after = path.stat().st_size
    assert saved == before - after > before / 2
    assert full_stores.WORD.encode() not in path.read_bytes()
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE VIRTUAL TABLE temp.grams USING fts5vocab(main, words, row)")
        assert raw.execute("SELECT * FROM grams WHERE term = 'zan'").fetchall() == []
    assert full_stores.WORD.encode() not in Path(f"{path}-wal").read_bytes()
    assert verify(store).ok


def test_ordinary_questions_give_their_room_back(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short texts fill no page of their own; what is left of many is put together."""
    monkeypatch.setattr(sqlite, "_STEP", 8)  # many steps, as in a large file
    for _ in range(300):
        done(store)
    store._rows("PRAGMA wal_checkpoint(TRUNCATE)", ())
    before = path.stat().st_size
    text = sum(len(entry.matter or b"") for entry in store.history(limit=9999))
    prune(store, "codes")
    saved = store.reclaim()
    assert saved == before - path.stat().st_size > text * 0.8
    assert verify(store).ok


def test_a_file_of_an_earlier_version_gets_smaller_too(tmp_path: Path) -> None:
    """It is written anew once, and given back in steps after that."""
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA auto_vacuum = NONE")
        database.execute("PRAGMA journal_mode = WAL")
    database.close()
    store = SqliteStore(path)
    assert store._number("auto_vacuum") == 0
    for _ in range(20):
        small_flows.answer(store, small_flows.begin(store, questions=1, context="x" * 9000))
    before = store._number("page_count")
    assert store.reclaim() == 0
    prune(store)
    assert store.reclaim() > 0
    assert store._number("page_count") < before / 2
    assert store._number("freelist_count") == 0
    assert store._number("auto_vacuum") == 2
    assert verify(store).ok
    store.close()


def test_others_write_while_it_is_pruned(tmp_path: Path) -> None:
    """Every batch lets them in between, and both come to their end."""
    path = tmp_path / "journal.db"
    store = SqliteStore(path)
    for _ in range(50):
        done(store)
    with processes.spawn("crowd", path, 0, 1.5) as writer:
        until = time.monotonic() + 20
        while len(store.runs(status="waiting")) == 0:
            assert time.monotonic() < until
        for _ in range(10):
            run = done(store)
            prune(store, "codes")
            store.reclaim()
            assert all(entry.matter is None for entry in store.entries(run))
        output, _ = writer.communicate(timeout=60)
    assert int(output) > 0
    assert verify(store).ok
    store.close()


def test_a_pruning_that_is_killed_leaves_each_run_pruned_or_not_and_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill -9 at any moment; the journal verifies, and the intent is in it."""
    path = tmp_path / "journal.db"
    store = SqliteStore(path)
    runs = [done(store) for _ in range(60)]
    monkeypatch.setattr(archive, "_RUNS", 1)
    child = os.fork()
    if child == 0:  # pragma: no cover - it is killed
        mine = SqliteStore(path)
        try:
            wanted = Wanted("9999")
            archive.prune(
                mine,
                wanted,
                "",
                SOURCE,
                lambda so_far: os.kill(os.getpid(), signal.SIGKILL) if so_far.runs == 7 else None,
            )
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    counts = [sum(entry.pruned for entry in store.entries(run)) for run in runs]
    assert counts == [2] * 7 + [0] * 53
    assert verify(store).ok
    (state,) = archive.finish(store, SOURCE, lambda _: None)
    assert (state.status, state.result["runs"]) == ("done", 53)
    assert all(sum(e.pruned for e in store.entries(run)) == 2 for run in runs)
    assert verify(store).ok
    assert list(archive.finish(store, SOURCE, lambda _: None)) == []
    store.close()
