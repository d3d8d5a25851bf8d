"""A journal whose file has suffered: it is noticed, said in one line, and what is left is saved."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from faults.kit import complaint
from quandary.journal import runs
from quandary.journal.sqlite import MIGRATIONS, SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from faults.kit import Trouble

PAGE = 4096
REPLY = ("reply", "{waiting}", "1.1: ok\n1.2: cut")
TOUCHING = (("runs", "--all"), ("next", "{waiting}"), REPLY, ("verify",), ("log", "{done}"))


def change(path: Path, offset: int, data: bytes) -> None:
    """Write over a part of a file."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def lay(path: Path, data: bytes | bytearray) -> None:
    """A file with these bytes, and nothing beside it."""
    for other in path.parent.glob(f"{path.name}*"):
        if other.is_file():
            other.unlink()
    path.write_bytes(data)


def cut_short(path: Path) -> None:
    """As if the rest had never come to the disk."""
    os.truncate(path, path.stat().st_size * 3 // 4 // PAGE * PAGE)


def entries(path: Path) -> list[int]:
    """The pages of the table with everything that happened."""
    with closing(sqlite3.connect(path)) as db:
        found = db.execute("SELECT pageno FROM dbstat WHERE name = 'entry'").fetchall()
    return [page for (page,) in found]


def blank_entries(path: Path) -> None:
    """Pages of the journal full of zeros, as some disks return what they lost."""
    for page in entries(path):
        change(path, (page - 1) * PAGE, bytes(PAGE))


def in_place_of(text: bytes) -> Callable[[Path], None]:
    """Something else that lies where the journal should."""
    return lambda path: change(path, 0, text)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut short": (cut_short, "is damaged"),
    "zeros": (blank_entries, "is damaged"),
    "another beginning": (in_place_of(b"SQLite format 9\0"), "is not a journal"),
    "words": (lambda path: path.write_text("Dear diary,\n" * 99), "is not a journal"),
}
"""What can become of the file, and what is said of it."""


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("words", TOUCHING)
def test_damage_is_one_line(trouble: Trouble, name: str, words: tuple[str, ...]) -> None:
    """Whoever comes across it says what to do, and never that there is nothing."""
    damage, said = BROKEN[name]
    damage(trouble.store)
    ended = trouble.start(*words)
    assert ended.status in (1, 2), ended
    assert said in ended.err or "not as it was written" in ended.err, ended
    assert "Traceback" not in ended.err
    assert "internal error" not in ended.err, ended


def blank_the_last(path: Path) -> None:
    """One of those pages."""
    change(path, (entries(path)[-1] - 1) * PAGE, bytes(PAGE))


@pytest.mark.parametrize("name", ["one page", "zeros", "another beginning"])
def test_what_is_left_is_saved_and_what_is_not_is_named(trouble: Trouble, name: str) -> None:
    """The new journal verifies as far as it goes, and goes on."""
    (blank_the_last if name == "one page" else BROKEN[name][0])(trouble.store)
    before = trouble.store.read_bytes()
    ended = trouble.start("store", "recover", "store/journal.db", "--into", "saved.db")
    assert trouble.store.read_bytes() == before
    if name == "zeros":
        assert ended.status == 1, ended
        assert "no entry of a journal could be found" in complaint(ended)
        return
    lost = "quandary: lost: " in ended.err
    assert ended.status == (1 if lost else 0), ended
    assert lost == (name == "one page"), ended
    with closing(SqliteStore(trouble.folder / "saved.db")) as store:
        for run in store.runs():
            runs.look(store, run.id)
    if not lost:
        again = trouble.start(*REPLY, "--store", "saved.db")
        assert again.status == 0, again


def test_any_flipped_bytes_are_found_or_change_nothing(trouble: Trouble) -> None:
    """Whatever is hit, commands end in one line at most, and what is saved was written."""
    whole = trouble.store.read_bytes()
    with closing(SqliteStore(trouble.store)) as store:
        known = {(entry.run, entry.n, entry.body) for entry in store.history()}
    chance = random.Random(11)  # noqa: S311 - no secret
    saved = trouble.folder / "saved.db"
    for _ in range(24):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 4, 40))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        lay(trouble.store, data)
        for words in (("verify",), REPLY):
            ended = trouble.start(*words)
            assert "Traceback" not in ended.err, ended
            assert "internal error" not in ended.err, ended
        lay(trouble.store, data)
        ended = trouble.start("store", "recover", "store/journal.db", "--into", "saved.db")
        assert "internal error" not in ended.err, ended
        if saved.exists():
            with closing(SqliteStore(saved)) as store:
                found = {(one.run, one.n, one.body) for one in store.history() if one.n < 4}
            assert found <= known or ended.status == 1, ended
            for path in trouble.folder.glob("saved.db*"):
                path.unlink()


def test_a_folder_is_no_journal(trouble: Trouble) -> None:
    """It is said, and nothing is put into it."""
    shutil.rmtree(trouble.store.parent)
    trouble.store.mkdir(parents=True)
    for words in TOUCHING:
        ended = trouble.start(*words)
        assert ended.status == 2, ended
        assert str(trouble.store) in complaint(ended)
    assert list(trouble.store.iterdir()) == []


def test_an_empty_file_is_an_empty_journal(trouble: Trouble) -> None:
    """As `touch` leaves one; it has no runs, and takes new ones."""
    trouble.store.write_bytes(b"")
    assert trouble.start("runs", "--all").status == 0
    assert "there is no run" in complaint(trouble.start(*REPLY))
    assert trouble.start("verify").status == 0
    trouble.state("ask", "t.md", "--context", "Two steps wait.", "--item", "1|One")


def test_newest_changes_without_their_file_are_nobodys(trouble: Trouble) -> None:
    """A write-ahead log that was left behind is not taken for the journal, nor mixed into one."""
    with closing(SqliteStore(trouble.store)) as store:
        state = runs.look(store, trouble.names["waiting"])
        runs.withdraw(store, state.run, "because", who="person", through="web")
        shutil.copy(f"{trouble.store}-wal", trouble.folder / "left")
    trouble.store.unlink()
    shutil.move(trouble.folder / "left", f"{trouble.store}-wal")
    ended = trouble.start("runs", "--all")
    assert ended.status in (0, 2), ended
    assert trouble.names["waiting"] not in ended.out
    begun = trouble.state("ask", "t.md", "--context", "Two steps wait.", "--item", "1|One")
    listed = trouble.state("runs", "--all", "--format", "json")["runs"]
    assert [one["run"] for one in listed] == [begun["run"]]
    trouble.whole()


def test_a_journal_of_a_newer_version_is_left_alone(trouble: Trouble) -> None:
    """Every command says which schema it has, and not a byte of it changes."""
    with closing(sqlite3.connect(trouble.store)) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 7}")
    before = trouble.store.read_bytes()
    for words in (*TOUCHING, ("ask", "t.md", "--context", "x y z", "--item", "1|One")):
        ended = trouble.start(*words)
        assert ended.status == 2, ended
        assert "was written by a newer Quandary" in complaint(ended)
    assert trouble.store.read_bytes() == before
