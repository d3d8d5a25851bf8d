"""A journal that may only be looked at: what looks works, and what writes says that it cannot."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import databases
from faults.kit import NOBODY, complaint, mounted
from faults.test_full_disks import WRITING
from quandary.journal.sqlite import SqliteStore
from sites import Site

if TYPE_CHECKING:
    from faults.kit import Trouble

READING = {
    "runs": ("runs", "--all"),
    "next": ("next", "{waiting}"),
    "log": ("log", "{done}"),
    "log --questions": ("log", "--questions", "--all"),
    "report": ("report", "{walked}"),
    "verify": ("verify",),
    "stats": ("stats", "--all"),
    "export": ("export", "{done}"),
    "prefer list": ("prefer", "list"),
    "prefer check": ("prefer", "check", "a-b"),
    "phase status": ("phase", "status", "track"),
}
KEPT = ("ask", "reply", "advise", "amend", "withdraw", "prefer set", "walk", "split", "gate")
"""What writes to the journal."""
WAYS = ("file", "folder", "disk")


def lock_up(trouble: Trouble, way: str) -> dict[str, int]:
    """Take the right to write away; who the program has to be for that to count."""
    for file in trouble.store.parent.glob(f"{trouble.store.name}*"):
        file.chmod(0o444)
    if way == "folder":
        trouble.store.parent.chmod(0o555)
    else:  # SQLite may write beside it
        trouble.store.parent.chmod(0o777)
    return {"user": NOBODY} if os.geteuid() == 0 else {}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", READING)
def test_what_only_looks_works(trouble: Trouble, name: str, way: str) -> None:
    """Whoever may not write to the file, in its folder or on its disk can read it."""
    before = trouble.start(*READING[name])
    assert before.status == 0, before
    if way == "disk":
        with mounted(trouble.store.parent, read_only=True):
            ended = trouble.start(*READING[name])
    else:
        ended = trouble.start(*READING[name], **lock_up(trouble, way))
    assert (ended.status, ended.out) == (0, before.out), ended


@pytest.mark.parametrize("way", WAYS)
def test_an_old_layout_is_read_where_it_cannot_be_brought_up_to_date(
    trouble: Trouble, way: str
) -> None:
    """As it would be read if it could; who wants to write is told that they cannot."""
    before = trouble.start("runs", "--all")
    databases.change(
        trouble.store, "DROP TABLE name", "DROP TABLE outbox", "PRAGMA user_version = 1"
    )
    if way == "disk":
        with mounted(trouble.store.parent, read_only=True):
            ended, wrote = trouble.start("runs", "--all"), trouble.start(*WRITING["reply"])
    else:
        who = lock_up(trouble, way)
        ended = trouble.start("runs", "--all", **who)
        wrote = trouble.start(*WRITING["reply"], **who)
    assert (ended.status, ended.out) == (0, before.out), ended
    assert wrote.status == 2
    assert "read-only" in complaint(wrote)


def test_a_server_that_cannot_write_is_not_ready(trouble: Trouble) -> None:
    """Whoever watches over it learns so before somebody has an answer refused."""
    site = Site(trouble.folder, SqliteStore(trouble.store))
    with site.visitor() as visitor:
        assert visitor.get("/readyz").status_code == 200
        with mounted(trouble.store.parent, read_only=True):
            refused = visitor.get("/readyz")
        assert (refused.status_code, "read-only" in refused.text) == (503, True)
        assert visitor.get("/readyz").status_code == 200
    site.store.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KEPT)
def test_what_writes_says_that_it_cannot(trouble: Trouble, name: str, way: str) -> None:
    """One line names the file, and nothing has changed."""
    before = trouble.store.read_bytes()
    if way == "disk":
        with mounted(trouble.store.parent, read_only=True):
            ended = trouble.start(*WRITING[name])
    else:
        ended = trouble.start(*WRITING[name], **lock_up(trouble, way))
    assert ended.status == 2, ended
    said = complaint(ended)
    assert str(trouble.store) in said
    assert "read-only" in said
    assert trouble.store.read_bytes() == before


@pytest.mark.parametrize("name", ["fmt", "check --fix", "install", "export", "report"])
def test_a_folder_that_cannot_be_written_is_one_line(trouble: Trouble, name: str) -> None:
    """Files beside the journal are no different."""
    with mounted(trouble.folder, read_only=True):
        ended = trouble.start(*WRITING[name])
    assert ended.status == 2, ended
    said = complaint(ended).casefold()
    assert "read-only" in said or "permission denied" in said


@pytest.mark.parametrize("mode", [0o000, 0o111])
@pytest.mark.parametrize("words", [("runs",), ("reply", "{waiting}", "x"), ("verify",)])
def test_a_journal_that_is_closed_to_us_is_not_taken_for_none(
    trouble: Trouble, mode: int, words: tuple[str, ...]
) -> None:
    """It is said what may not be opened, and not that there is nothing."""
    trouble.store.chmod(0o000)
    trouble.store.parent.chmod(mode)
    user = NOBODY if os.geteuid() == 0 else None
    ended = trouble.start(*words, user=user)
    trouble.store.parent.chmod(0o755)
    assert ended.status == 2, ended
    assert f"{trouble.store} cannot be opened" in complaint(ended)


def test_trees_that_are_closed_to_us_are_named(trouble: Trouble) -> None:
    """A folder that cannot be looked into is no folder without trees."""
    (trouble.folder / "docs").mkdir(mode=0o000)
    user = NOBODY if os.geteuid() == 0 else None
    ended = trouble.start("check", "docs", user=user)
    assert ended.status == 2, ended
    assert "quandary: docs: permission denied\n" in ended.err
