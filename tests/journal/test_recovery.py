"""What a damaged file still holds is saved, what is not is named, and nothing is made up."""

from __future__ import annotations

import os
import random
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import small_flows
import strategies  # noqa: F401 - its profile is patient
from quandary.errors import QuandaryError, Rejected, StoreError
from quandary.journal import archive, runs
from quandary.journal.backups import Recovered, recover
from quandary.journal.entries import Noted, Source
from quandary.journal.history import row_of
from quandary.journal.sqlite import SqliteStore
from quandary.journal.store import TABLES
from quandary.journal.verify import Wanted, verify
from quandary.model.asks import Answer, Outcome, Reply
from quandary.model.calls import Done, Output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.journal.entries import Entry
    from quandary.journal.store import Row, Store

RUNS = 12
PAGE = 4096


def lives(store: Store) -> None:
    """Runs with everything that can happen to one."""
    state = small_flows.begin(store, "errand")
    runs.note(store, state.run, Outcome("idle"), who="agent", through="relay")
    state = small_flows.answer(store, state)
    state = runs.advance(store, state.run, Output("1:/run"), who="agent", through="worker")
    runs.advance(store, state.run, Output("1:/vote-2"), who="agent", through="worker")
    state = small_flows.begin(store, "errand")
    state = small_flows.answer(store, state)
    for key in ("1:/run", "1:/vote-2", "1:/vote-1", "1:/vote-3"):
        state = runs.advance(store, state.run, Output(key), who="agent", through="worker")
    other = small_flows.answer(store, small_flows.begin(store, "errand"))
    for key in ("1:/run", "1:/vote-2", "1:/vote-1", "1:/vote-3"):
        other = runs.advance(store, other.run, Output(key), who="agent", through="worker")
    other = runs.advance(
        store, other.run, who="agent", through="relay", deeds=lambda do: Done(do.key, "text")
    )
    small_flows.answer(store, other)
    runs.amend(
        *(store, other.run, small_flows.pick("1:", "NO")),
        key="1:",
        why="oh",
        who="person",
        through="web",
    )
    failed = small_flows.begin(store)
    small_flows.answer(store, failed, Reply((Answer("1:", text="fail"),)))
    declined = small_flows.begin(store)
    runs.note(store, declined.run, Outcome("declined"), who="person", through="web")
    small_flows.begin(store, "empty")


class Written(NamedTuple):
    """The bytes of a journal, and what is in it."""

    data: bytes
    kept: dict[str, list[Entry]]

    def __repr__(self) -> str:
        return "a journal"


def write(path: Path) -> dict[str, list[Entry]]:
    """A journal with a dozen runs, some of them long, and what is in it."""
    store = SqliteStore(path)
    states = [
        runs.begin(
            store,
            small_flows.NAME,
            {"kind": "chain", "questions": 8},
            documents={"words": {"1:": f"Shall we {number}? " + "yes " * (400 * number)}},
            project="here",
            who="agent",
            through="relay",
            name=f"run {number}",
        )
        for number in range(RUNS)
    ]
    chance = random.Random(8)  # noqa: S311
    for _ in range(50):
        number = chance.randrange(RUNS)
        if states[number].status == "waiting":
            reply = small_flows.pick(states[number].key, "OK", comment="so " * chance.randrange(99))
            states[number] = small_flows.answer(store, states[number], reply)
    kept = {run.id: store.entries(run.id) for run in store.runs()}
    store.close()
    return kept


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The bytes of such a journal, and what is in it."""
    path = tmp_path_factory.mktemp("whole") / "journal.db"
    kept = write(path)
    return Written(path.read_bytes(), kept)


class Saved(NamedTuple):
    """What came out of a damaged file."""

    found: Recovered
    rows: dict[str, list[Row]]
    entries: dict[str, list[Entry]]


def rescued(data: bytes, folder: Path) -> Saved:
    """Recover a file with these bytes."""
    (folder / "old.db").write_bytes(data)
    (folder / "new.db").unlink(missing_ok=True)
    store = SqliteStore(folder / "new.db")
    try:
        found = recover(str(folder / "old.db"), store)
        with store.snapshot():
            rows = {table: list(store.dump(table)) for table in TABLES}
        return Saved(found, rows, {run.id: store.entries(run.id) for run in store.runs()})
    finally:
        store.close()
        for name in ("new.db", "new.db-wal", "new.db-shm"):
            (folder / name).unlink(missing_ok=True)


def pages_of(data: bytes, folder: Path, name: str) -> list[int]:
    """The pages that a table or an index has, the root first."""
    path = folder / "look.db"
    path.write_bytes(data)
    db = sqlite3.connect(path)
    root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
    db.close()
    path.unlink()
    found, todo = [], [root]
    while todo:
        number = todo.pop(0)
        found.append(number)
        page = data[(number - 1) * PAGE : number * PAGE]
        if page[0] in (2, 5):
            cells = [int.from_bytes(page[at : at + 2], "big") for at in _pointers(page)]
            todo += [int.from_bytes(page[at : at + 4], "big") for at in (*cells, 8)]
    return found


def _pointers(page: bytes) -> Iterable[int]:
    return range(12, 12 + 2 * int.from_bytes(page[3:5], "big"), 2)


def without(data: bytes, *pages: int) -> bytes:
    """The same with some pages overwritten."""
    changed = bytearray(data)
    for number in pages:
        changed[(number - 1) * PAGE : number * PAGE] = b"\xa5" * PAGE
    return bytes(changed)


# -- nothing lost --------------------------------------------------------------------------------


def test_a_file_without_damage_comes_out_as_it_went_in(written: Written, tmp_path: Path) -> None:
    """Every row of every table."""
    data, kept = written
    saved = rescued(data, tmp_path)
    assert saved.found.losses == []
    assert saved.found.left == []
    assert saved.found.report.ok
    assert saved.entries == kept
    whole = SqliteStore(tmp_path / "old.db")
    with whole.snapshot():
        assert {table: list(whole.dump(table)) for table in TABLES} == saved.rows
    whole.close()


def test_what_is_only_in_the_log_of_newest_changes_is_found(tmp_path: Path) -> None:
    """The newest entries are there before SQLite moves them into the file."""
    path = tmp_path / "journal.db"
    store = SqliteStore(path)
    state = small_flows.begin(store, questions=40)
    while state.status == "waiting":
        state = small_flows.answer(store, state)
    assert path.with_name("journal.db-wal").stat().st_size > 100_000
    new = SqliteStore(tmp_path / "new.db")
    found = recover(str(path), new)
    assert found.losses == []
    assert verify(new).digest == verify(store).digest
    store.close()
    new.close()


@pytest.mark.parametrize("name", ["sqlite_autoindex_entry_1", "run", "run_waits", "last", "name"])
def test_what_entries_say_too_can_be_lost(written: Written, tmp_path: Path, name: str) -> None:
    """Rows of runs, names and indexes are made anew."""
    data, kept = written
    saved = rescued(without(data, *pages_of(data, tmp_path, name)), tmp_path)
    assert saved.found.losses == []
    assert saved.found.report.ok
    assert saved.entries == kept


def test_a_file_that_sqlite_cannot_open_is_read_all_the_same(
    written: Written, tmp_path: Path
) -> None:
    """Its head and the roots of its tables are not needed."""
    data, kept = written
    roots = [pages_of(data, tmp_path, table)[0] for table in ("entry", "run")]
    saved = rescued(without(data, 1, *roots), tmp_path)
    with pytest.raises(StoreError, match="not a database"):
        SqliteStore(tmp_path / "old.db")
    assert saved.found.losses == []
    assert saved.entries == kept


def test_a_row_follows_from_its_entries(tmp_path: Path) -> None:
    """Whatever happened to a run, its row is what its entries say."""
    store = SqliteStore(tmp_path / "journal.db")
    lives(store)
    for row in store.runs():
        assert row_of(store.entries(row.id), row.number) == row
    store.close()


# -- something lost --------------------------------------------------------------------------------


@pytest.fixture
def long_run(tmp_path: Path) -> tuple[bytes, str]:
    """A journal with one long run between two short ones, and its name."""
    path = tmp_path / "journal.db"
    store = SqliteStore(path)
    small_flows.begin(store)
    state = small_flows.begin(store, questions=60)
    run = state.run
    for _ in range(30):
        reply = small_flows.pick(state.key, "OK", comment="because " * 20)
        state = small_flows.answer(store, state, reply)
    small_flows.begin(store)
    store.close()
    return path.read_bytes(), run


def test_a_run_that_lost_its_tail_goes_on_from_what_is_left(
    long_run: tuple[bytes, str], tmp_path: Path
) -> None:
    """Its answers count, the next question is asked again, and a note says what is missing."""
    data, run = long_run
    leaves = pages_of(data, tmp_path, "entry")[1:]
    (tmp_path / "old.db").write_bytes(without(data, leaves[len(leaves) // 2]))
    store = SqliteStore(tmp_path / "new.db")
    found = recover(str(tmp_path / "old.db"), store)
    (loss,) = (loss for loss in found.losses if loss.run == run)
    assert loss.what.startswith("entries ")
    assert found.left
    assert {entry.run for entry in found.left} == {run}
    state = runs.look(store, run)
    entries = store.entries(run)
    (noted,) = (body for entry in entries if isinstance(body := entry.read(), Noted))
    assert noted.kind == "recovered"
    assert state.status == "waiting"
    answers = sum(entry.kind == "answered" for entry in entries)
    assert 3 < answers < 30
    assert state.key == f"{answers + 1}:"
    assert small_flows.answer(store, state).key == f"{answers + 2}:"
    assert verify(store).ok
    store.close()


def test_a_run_that_is_lost_is_missed_for_ever(long_run: tuple[bytes, str], tmp_path: Path) -> None:
    """The others are whole, and `verify` goes on saying that one is not there."""
    data, run = long_run
    first = pages_of(data, tmp_path, "entry")[1]
    saved = rescued(without(data, first), tmp_path)
    assert {loss.run for loss in saved.found.losses} >= {run}
    assert run not in saved.entries
    assert len(saved.entries) == 1
    assert not saved.found.report.ok
    assert any("removed" in problem.text for problem in saved.found.report.problems)


def test_damage_to_texts_leaves_the_decision(written: Written, tmp_path: Path) -> None:
    """An entry whose texts are not what was sealed is kept without them, and the chain holds."""
    data, kept = written
    at = data.index(b'"comment":"so so')
    saved = rescued(data[: at + 12] + b"no" + data[at + 14 :], tmp_path)
    (loss,) = saved.found.losses
    assert loss.what.startswith("the texts of entry ")
    number = int(loss.what.split()[-1])
    entry = saved.entries[loss.run][number - 1]
    assert entry.pruned
    assert entry.body == kept[loss.run][number - 1].body
    assert saved.found.report.ok
    assert saved.found.report.pruned == 1


def test_an_entry_that_was_changed_is_not_taken_over(written: Written, tmp_path: Path) -> None:
    """What the chain does not prove may be anything."""
    data, kept = written
    run = next(iter(kept))
    answer = next(entry for entry in kept[run] if entry.kind == "answered")
    saved = rescued(data.replace(answer.body, answer.body.replace(b'"OK"', b'"NO"')), tmp_path)
    assert next(entry.n for entry in saved.found.left if entry.run == run) == answer.n
    assert all(b'"NO"]' not in entry.body for entry in saved.entries[run])


def test_texts_that_were_pruned_do_not_come_back(tmp_path: Path) -> None:
    """Not even where an old page still holds them."""
    path = tmp_path / "journal.db"
    store = SqliteStore(path)
    state = small_flows.begin(store, questions=1)
    small_flows.answer(store, state, small_flows.pick("1:", "OK", comment="a secret"))
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store._db.execute("UPDATE entry SET matter = NULL, salt = NULL WHERE kind = 'answered'")
    assert b"a secret" in path.read_bytes()
    new = SqliteStore(tmp_path / "new.db")
    assert recover(str(path), new).losses == []
    assert [entry.pruned for entry in new.entries(state.run, kinds=("answered",))] == [True]
    store.close()
    new.close()


def test_a_document_that_was_pruned_is_not_lost(tmp_path: Path) -> None:
    """It went with the last text of the run that it belonged to."""
    store = SqliteStore(tmp_path / "journal.db")
    state = runs.begin(
        *(store, small_flows.NAME, {"kind": "chain", "questions": 1}),
        documents={"words": {"1:": "Shall we?"}},
        who="agent",
        through="relay",
    )
    small_flows.answer(store, state)
    wanted = Wanted("9999", "codes")
    assert (
        archive.prune(store, wanted, "", Source("person", "terminal"), lambda _: None).result[
            "documents"
        ]
        == 1
    )
    store.close()
    new = SqliteStore(tmp_path / "new.db")
    found = recover(str(tmp_path / "journal.db"), new)
    assert (found.losses, found.report.ok) == ([], True)
    new.close()


def test_a_lost_document_is_named(written: Written, tmp_path: Path) -> None:
    """What a run began with is part of it."""
    data, _ = written
    saved = rescued(data.replace(b"Shall we 3?", b"Shall we 4?"), tmp_path)
    assert any("document" in loss.what for loss in saved.found.losses)


@pytest.mark.parametrize("data", [b"", b"Dear diary, " * 1000, bytes(40_000)])
def test_a_file_that_holds_no_journal_is_said_to(data: bytes, tmp_path: Path) -> None:
    """There is nothing to save."""
    with pytest.raises(Rejected, match="no entry of a journal"):
        rescued(data, tmp_path)


def test_a_row_without_end_is_none(tmp_path: Path) -> None:
    """It is said to be longer than the file, and to go on where it began."""
    size = 4096
    head = b"SQLite format 3\0" + size.to_bytes(2) + bytes(size - 18)
    leaf = bytes([0x0D, 0, 0, 0, 1, 0, 0, 0]) + (100).to_bytes(2) + bytes(90)
    leaf += b"\xff\xff\xff\xff\x7f\x01"  # so long is the row, and its number
    leaf += bytes(1) + (3).to_bytes(4) * ((size - len(leaf)) // 4 + 1)
    with pytest.raises(Rejected, match="no entry of a journal"):
        rescued(head + leaf[:size] + (3).to_bytes(4) + bytes(size - 4), tmp_path)


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_what_has_no_end_is_not_recovered(tmp_path: Path, name: str) -> None:
    """Nobody waits for it, also in the place of the log beside a file."""
    os.mkfifo(tmp_path / "pipe")
    store = SqliteStore(tmp_path / "new.db")
    with pytest.raises(StoreError, match="not a regular file"):
        recover(str(tmp_path / name), store)
    (tmp_path / "old.db").write_bytes(b"")
    (tmp_path / "old.db-wal").symlink_to(name)
    with pytest.raises(Rejected, match="no entry of a journal"):
        recover(str(tmp_path / "old.db"), store)
    store.close()


def test_a_file_that_is_not_there_is_said_to(tmp_path: Path) -> None:
    """In one line."""
    store = SqliteStore(tmp_path / "new.db")
    with pytest.raises(StoreError, match="cannot be read"):
        recover(str(tmp_path / "old.db"), store)
    store.close()


@given(seed=st.integers(0, 2**32), share=st.sampled_from([1, 5, 20, 60]), cut=st.booleans())
@settings(max_examples=25)
def test_whatever_is_damaged_nothing_is_made_up_and_every_loss_is_named(
    written: Written, seed: int, share: int, cut: bool
) -> None:
    """What comes out was in it, follows what comes before it, and the rest is said to be lost."""
    data, kept = written
    chance = random.Random(seed)  # noqa: S311
    broken = bytearray(data)
    for at in range(0, len(data), PAGE):
        if chance.randrange(100) < share:
            length = chance.choice([1, 16, 500, PAGE])
            begin = at + chance.randrange(PAGE - length + 1)
            broken[begin : begin + length] = chance.randbytes(length)
    if cut:
        del broken[chance.randrange(len(broken)) :]
    with tempfile.TemporaryDirectory() as folder:
        try:
            saved = rescued(bytes(broken), Path(folder))
        except QuandaryError:
            return
    named = {loss.run for loss in saved.found.losses}
    newest = max(entry.seq for entries in saved.entries.values() for entry in entries)
    for run, entries in kept.items():
        found = [entry.body for entry in saved.entries.get(run, ()) if entry.n <= len(entries)]
        assert found == [entry.body for entry in entries[: len(found)]] or run in named
        missing = [entry for entry in entries[len(found) :] if entry.seq < newest]
        assert not missing or run in named or "" in named
    for problem in saved.found.report.problems:
        assert any(word in problem.text for word in ("removed", "begun")), problem
