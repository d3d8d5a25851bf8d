"""News for open pages, and what many of them cost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from pressure import press
from quandary.desk.authority import Caller
from quandary.doors.web import events, inbox
from quandary.doors.web.events import MANY, Events
from quandary.journal import runs
from sites import Listener

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from sites import Site


def finish(site: Site, run: str) -> None:
    """End a run."""
    runs.withdraw(site.store, run, "no need", who="person", through="terminal")


def test_pages_hear_of_all_runs_or_of_one(site: Site) -> None:
    """What came between two looks is told at once."""

    async def listen() -> None:
        known = site.ask("Login").run
        watched = Events(site.store)
        await watched.start()
        every, one = Listener(watched), Listener(watched, known)
        other = site.ask("Cache").run
        finish(site, known)
        heard: set[str] = set()
        while heard != {known, other}:
            heard |= set((await every.told.get()).split())
        assert await one.told.get() == known
        await watched.stop()

    asyncio.run(listen())


ENDING = """\
import asyncio, sys, threading, time
from quandary.doors.web.events import Events
from quandary.journal.sqlite import SqliteStore

async def watch():
    await Events(SqliteStore(sys.argv[1])).start()
    await asyncio.sleep(60)

threading.Thread(target=asyncio.run, args=(watch(),), daemon=True).start()
time.sleep(0.6)
"""


def test_a_program_that_ends_complains_of_no_news(tmp_path: Path) -> None:
    """What looks for them in a thread is stopped by the end itself, and says nothing of it."""
    words = [sys.executable, "-c", ENDING, str(tmp_path / "journal.db")]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stderr == ""


def test_a_page_hears_of_one_run_only_where_it_sees_it(site: Site) -> None:
    """Not of one of another project either, when its own project has news in the same moment."""

    async def listen() -> None:
        watched = Events(site.store)
        stranger, own = Listener(watched, "theirs", "here"), Listener(watched, "own", "here")
        watched._tell(dict.fromkeys(("own", "theirs")), {"here": {"own"}})
        assert stranger.told.empty()
        assert await own.told.get() == "own"

    asyncio.run(listen())


def test_a_page_is_told_that_nothing_happens(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the ways between keep the line open."""
    monkeypatch.setattr(events, "QUIET_SECONDS", 0.05)

    async def listen() -> None:
        watched = Events(site.store)
        await watched.start()
        assert await Listener(watched).told.get() == ""
        await watched.stop()

    asyncio.run(listen())


def test_a_page_that_sleeps_takes_no_memory(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old news is dropped: a page looks anew when it wakes. Many runs at once are told as many."""
    monkeypatch.setattr(events, "MOST_RUNS", 3)

    async def listen() -> None:
        watched = Events(site.store)
        page = Listener(watched)
        never: Any = asyncio.Event().wait
        streaming = asyncio.create_task(watched.stream(page, never))
        await asyncio.sleep(0)
        for _ in range(50):
            watched._tell({"a": None})
        assert page.told.qsize() <= 8
        watched._tell(dict.fromkeys("abcd"))
        while await page.told.get() != MANY:
            assert page.stirred.is_set()
        watched.end()
        await streaming
        assert not watched._pages

    asyncio.run(listen())


def test_a_store_that_is_away_for_a_while(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody stops listening because of that."""
    from quandary.errors import StoreError  # noqa: PLC0415 - only here

    async def listen() -> None:
        watched = Events(site.store)
        await watched.start()
        page = Listener(watched)
        with monkeypatch.context() as patch:

            def away(**_: object) -> None:
                raise StoreError("away")

            patch.setattr(site.store, "happened", away)
            run = site.ask("Login").run
            await asyncio.sleep(0.6)
            assert page.told.empty()
        assert await page.told.get() == run
        await watched.stop()

    asyncio.run(listen())


def test_pages_of_strangers_give_way(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all places are taken, the oldest page goes; that of a login only after the others."""
    monkeypatch.setattr(events, "MOST_LISTENERS", 3)
    watched = Events(site.store)

    async def listen() -> None:
        login, strangers = Listener(watched), [Listener(watched, "", "here") for _ in range(5)]
        hears = watched._pages.__contains__
        assert list(map(hears, strangers)) == [False, False, False, True, True]
        assert strangers[0].stirred.is_set()
        assert hears(login)
        later = [Listener(watched) for _ in range(3)]
        assert not hears(login)
        assert all(map(hears, later))
        for page in later:
            watched.let_go(page)
        assert watched.listeners == 0

    asyncio.run(listen())


def test_two_hundred_pages_and_fifty_replies_a_second(tmp_path: Path) -> None:
    """No error, no page lost, everybody told, and no more memory at the end than before."""
    felt = press(tmp_path, pages=200, rate=50, seconds=4)
    assert felt.errors == []
    assert (felt.replies, felt.lost, felt.uninformed) == (200, 0, 0)
    assert felt.grown < 0.15


def test_a_long_journal_does_not_slow_the_inbox(site: Site) -> None:
    """No more is read than is shown: the work is the same with a hundred times as many runs."""
    for _ in range(inbox.PAGE + 10):
        site.ask("Login")
    caller = Caller("person", "web")

    def cost() -> tuple[int, float]:
        asked: list[str] = []
        site.store._db.set_trace_callback(asked.append)
        inbox.list_inbox(site.store, caller, inbox.Wanted())
        site.store._db.set_trace_callback(None)
        times = []
        for _ in range(7):
            begun = time.thread_time()
            inbox.list_inbox(site.store, caller, inbox.Wanted())
            times.append(time.thread_time() - begun)
        return len(asked), min(times)

    statements, few = cost()
    site.store._rows(
        """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        INSERT INTO run SELECT 1000000 + i, printf('0%025d', i), 'decide', 1, project,
        CASE i % 10 WHEN 0 THEN 'waiting' ELSE 'done' END, CASE i % 10 WHEN 0 THEN 'person' END,
        '1:', 2, 2, first, head, began, since, NULL FROM run, n WHERE number = 1""",
        (),
    )
    more, many = cost()
    assert statements == more == 2  # those that are shown, and how many there are
    assert many < 2 * few + 0.005
