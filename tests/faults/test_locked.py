"""A journal that another program holds: who writes waits, who looks does not."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from faults.kit import complaint
from faults.test_read_only import READING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from faults.kit import Trouble

HELD = 10.0
"""Seconds for which a writer of somebody else's keeps the file."""
PATIENCE = 30.0
"""What a command waits at most, as `journal/sqlite.py` has it."""
FASTER = 20.0
HURRIED = f"""\
import time
_monotonic = time.monotonic
time.monotonic = lambda: _monotonic() * {FASTER}
"""
"""For a child in which twenty seconds pass while one does here."""


@contextmanager
def held(path: Path) -> Iterator[sqlite3.Connection]:
    """Somebody else writes and does not come to an end."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other
        if other.in_transaction:
            other.execute("ROLLBACK")


def test_a_reply_waits_until_the_store_is_free(trouble: Trouble) -> None:
    """Ten seconds are nothing to somebody who has made up their mind."""
    with held(trouble.store) as other:
        freed = threading.Timer(HELD / FASTER, other.execute, ["ROLLBACK"])
        freed.start()
        begun = time.monotonic()
        ended = trouble.start("reply", "{waiting}", "1.1: ok\n1.2: cut", before=HURRIED)
        took = time.monotonic() - begun
        freed.join()
    assert ended.status == 0, ended
    assert trouble.waits().status == "done"
    assert took >= HELD / FASTER * 0.9


def test_beyond_its_patience_a_reply_says_so(trouble: Trouble) -> None:
    """One line and a status; nothing was booked, and the same words work later."""
    with held(trouble.store):
        begun = time.monotonic()
        ended = trouble.start("reply", "{waiting}", "1.1: ok\n1.2: cut", before=HURRIED)
        took = time.monotonic() - begun
    assert ended.status == 2, ended
    said = complaint(ended)
    assert said.startswith(f"{trouble.store} has been locked by another program for 30 seconds")
    assert took >= PATIENCE / FASTER * 0.9
    assert trouble.waits().status == "waiting"
    assert trouble.start("reply", "{waiting}", "1.1: ok\n1.2: cut").status == 0


@pytest.mark.parametrize("name", READING)
def test_who_only_looks_is_not_kept_waiting(trouble: Trouble, name: str) -> None:
    """The inbox and everything else can be read while somebody writes."""
    before = trouble.start(*READING[name])
    with held(trouble.store):
        begun = time.monotonic()
        ended = trouble.start(*READING[name], before=HURRIED)
        took = time.monotonic() - begun
    assert (ended.status, ended.out) == (0, before.out), ended
    assert took < PATIENCE / FASTER


def test_a_hook_gives_up_without_a_word(trouble: Trouble) -> None:
    """A host is not told, and goes on as if there were no hook."""
    with held(trouble.store):
        stdin = str(trouble.folder / "hooked.json")
        ended = trouble.start("hook", "post", stdin=stdin, before=HURRIED)
    assert ended == (0, "", "")
    trouble.whole()
