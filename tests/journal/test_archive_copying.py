"""A journal that was moved or saved is the same journal."""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

import databases
import processes
import small_flows
from quandary.errors import Rejected, StoreError
from quandary.journal import open_store, runs
from quandary.journal.backups import backup, copy
from quandary.journal.sqlite import SqliteStore
from quandary.journal.store import TABLES
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quandary.journal.store import Row, State, Store


@pytest.fixture(params=["embedded", "shared"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path | str, ...]]:
    """Where a journal is, and where it is to be: a store of the other kind."""
    with databases.shared().schema() as url:
        file = tmp_path / "journal.db"
        yield (file, url) if request.param == "embedded" else (url, file)


@pytest.fixture
def old(places: tuple[Path | str, ...]) -> Iterator[Store]:
    """A journal with runs of every kind."""
    store = open_store(places[0])
    live(store)
    yield store
    store.close()


@pytest.fixture
def new(places: tuple[Path | str, ...]) -> Iterator[Store]:
    """An empty store of the other kind."""
    store = open_store(places[1])
    yield store
    store.close()


def live(store: Store) -> State:
    """Runs that are done, that wait for a person, that wait for agents, that were withdrawn."""
    done = small_flows.begin(store, questions=1)
    small_flows.answer(store, done, small_flows.pick("1:", "NO", comment="é \U0001f600 \x7f"))
    waiting = small_flows.answer(store, small_flows.begin(store))
    small_flows.answer(store, small_flows.begin(store, "errand"))
    gone = runs.begin(
        store,
        small_flows.NAME,
        {"kind": "chain", "questions": 1},
        documents={"words": {"1:": "Shall we?"}},
        project="there",
        who="agent",
        through="relay",
        name="the one",
    )
    runs.withdraw(store, gone.run, "no need", who="person", through="web", by="ada")
    return waiting


def rows(store: Store) -> dict[str, list[Row]]:
    """All that is in a store."""
    with store.snapshot():
        return {table: list(store.dump(table)) for table in TABLES}


def test_a_copy_is_the_same_to_the_last_byte(old: Store, new: Store) -> None:
    """Every row, its number included, so that digests from before still hold."""
    digest = verify(old).digest
    report = copy(old, new)
    assert report.digest == digest == verify(new, expect=digest).digest
    assert rows(new) == rows(old)
    assert (report.runs, report.entries) == (4, 15)


def test_a_copy_may_be_of_the_same_kind(tmp_path: Path) -> None:
    """From one file into another, and from one database into another."""
    with databases.shared().schema() as one, databases.shared().schema() as two:
        for places in ((tmp_path / "one.db", tmp_path / "two.db"), (one, two)):
            old, new = (open_store(place) for place in places)
            live(old)
            assert copy(old, new).ok
            assert rows(old) == rows(new)
            for store in (old, new):
                store.close()


def test_runs_go_on_in_the_copy(old: Store, new: Store) -> None:
    """What waited waits, and the next run follows the last one."""
    copy(old, new)
    waiting = next(runs.look(new, row.id) for row in new.runs(waits="person"))
    assert runs.look(old, waiting.run) == waiting
    assert small_flows.answer(new, waiting).key == "3:"
    small_flows.begin(new)
    assert [run.number for run in new.runs()] == [1, 2, 3, 4, 5]
    assert verify(new).ok
    assert new.named("the one") == old.named("the one")


def test_progress_is_told_up_to_the_end(old: Store, new: Store) -> None:
    """All of it was copied, and then checked."""
    told: list[tuple[int, int, str]] = []
    copy(old, new, lambda *words: told.append(words))
    assert told == [(15, 15, "entries copied"), (4, 4, "runs checked")]


def test_nothing_is_copied_into_a_store_that_holds_something(old: Store, new: Store) -> None:
    """Two journals cannot become one."""
    small_flows.begin(new)
    before = rows(new)
    with pytest.raises(Rejected, match="not empty"):
        copy(old, new)
    assert rows(new) == before


def test_an_empty_journal_is_not_copied(old: Store, new: Store) -> None:
    """It was probably another one that was meant."""
    with pytest.raises(Rejected, match="that store is empty"):
        copy(new, old)


def test_a_journal_that_was_tampered_with_is_not_copied(
    places: tuple[Path | str, ...], old: Store, new: Store
) -> None:
    """And the new store stays empty."""
    databases.change(places[0], "UPDATE entry SET kind = 'noted' WHERE seq = 3")
    with pytest.raises(Rejected, match="the kind of the entry was changed"):
        copy(old, new)
    assert new.last() is None


def test_a_journal_that_is_written_to_meanwhile_is_not_copied(
    places: tuple[Path | str, ...], old: Store, new: Store
) -> None:
    """Whoever changes over would miss what came in between."""
    other = open_store(places[0])
    with pytest.raises(Rejected, match="written to while it was copied"):
        copy(old, new, lambda *_: write_aside(other))
    assert new.last() is None
    assert verify(old).ok
    other.close()


def write_aside(store: Store) -> None:
    """In another thread, as another process would."""
    thread = threading.Thread(target=small_flows.begin, args=(store,))
    thread.start()
    thread.join()


def test_what_does_not_arrive_as_it_was_sent_is_not_kept(
    old: Store, new: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digests at both ends have to agree."""
    fill = new.fill

    def lossy(dump: object, check: object) -> None:
        def fewer(table: str) -> list[Row]:
            found = list(dump(table))  # type: ignore[operator]  # it is a dump
            return [row for row in found if table != "entry" or row[0] != len(found)]

        fill(lambda table: iter(fewer(table)), check)  # type: ignore[arg-type]  # it is a check

    monkeypatch.setattr(new, "fill", lossy)
    with pytest.raises(StoreError, match="not what was sent"):
        copy(old, new)
    assert new.last() is None


# -- backups -------------------------------------------------------------------------------------


def test_a_backup_is_a_store_with_the_same_digest(old: Store, tmp_path: Path) -> None:
    """Whatever the journal is kept in, the backup is a file."""
    file = tmp_path / "saved.db"
    report = backup(old, str(file))
    assert report.ok
    assert report.digest == verify(old).digest
    saved = SqliteStore(file)
    assert rows(saved) == rows(old)
    saved.close()
    assert sorted(path.name for path in tmp_path.glob("saved*")) == ["saved.db"]
    assert file.stat().st_mode & 0o077 == 0


def test_a_backup_never_takes_the_place_of_a_file(old: Store, tmp_path: Path) -> None:
    """Neither of one that is there, nor of a link to nowhere."""
    file, link = tmp_path / "saved.db", tmp_path / "link.db"
    file.write_text("mine", encoding="utf-8")
    link.symlink_to(tmp_path / "nowhere")
    for name in (file, link):
        with pytest.raises(Rejected, match="exists already"):
            backup(old, str(name))
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_backup_that_cannot_be_written_leaves_nothing(old: Store, tmp_path: Path) -> None:
    """One line says why."""
    with pytest.raises(StoreError, match="cannot be written"):
        backup(old, str(tmp_path / "nowhere" / "saved.db"))
    assert list(tmp_path.glob("saved*")) == []


def test_a_journal_with_a_fault_is_saved_with_it(
    places: tuple[Path | str, ...], old: Store, tmp_path: Path
) -> None:
    """A backup with a fault is better than none; the report tells of it."""
    databases.change(places[0], "UPDATE entry SET kind = 'noted' WHERE seq = 3")
    report = backup(old, str(tmp_path / "saved.db"))
    assert [problem.text for problem in report.problems] == ["the kind of the entry was changed"]
    saved = SqliteStore(tmp_path / "saved.db")
    assert rows(saved) == rows(old)
    saved.close()


def test_a_backup_is_taken_while_others_write(
    places: tuple[Path | str, ...], old: Store, tmp_path: Path
) -> None:
    """It holds one moment of the journal, to which the journal can be brought back."""
    run = small_flows.begin(old, questions=1_000_000).run
    with processes.spawn("steady", places[0], run, 1.5) as writer:
        processes.line(writer)
        digests = [backup(old, str(tmp_path / f"{n}.db")).digest for n in range(4)]
        output, _ = writer.communicate(timeout=60)
    assert output.count("booked") > 10
    assert len(set(digests)) > 1
    assert all(verify(old, expect=digest).ok for digest in digests)
    for number in range(4):
        saved = SqliteStore(tmp_path / f"{number}.db")
        assert verify(saved).ok
        saved.close()


def test_what_a_killed_backup_left_is_cleared_away(old: Store, tmp_path: Path) -> None:
    """The next one begins anew."""
    partial = tmp_path / "saved.db.partial"
    partial.write_text("half", encoding="utf-8")
    assert backup(old, str(tmp_path / "saved.db")).ok
    assert not partial.exists()


def test_a_damaged_file_is_named_as_the_damaged_one(tmp_path: Path) -> None:
    """Not the one that it was to be copied into."""
    path = tmp_path / "old.db"
    store = SqliteStore(path)
    for _ in range(50):
        small_flows.begin(store)
    store.close()
    with sqlite3.connect(path) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entry'").fetchone()[0]
    db.close()
    with open(path, "r+b") as file:
        file.seek((root - 1) * size)
        file.write(os.urandom(size))
    damaged, target = SqliteStore(path), SqliteStore(tmp_path / "new.db")
    with pytest.raises(StoreError, match=r"old\.db is damaged"):
        copy(damaged, target)
    assert target.last() is None
    damaged.close()
    target.close()
