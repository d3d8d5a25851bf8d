"""News for open pages, and what many of them cost."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pressure import press
from quandary.desk.authority import Caller
from quandary.doors.web import events, inbox
from quandary.doors.web.events import MANY, Events, following
from quandary.journal import runs

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
        with watched.listening() as every, watched.listening(known) as one:
            other = site.ask("Cache").run
            finish(site, known)
            heard: set[str] = set()
            while heard != {known, other}:
                heard |= set((await following(every)).split())
            assert await following(one) == known
        await watched.stop()

    asyncio.run(listen())


def test_a_page_hears_of_one_run_only_where_it_sees_it(site: Site) -> None:
    """Not of one of another project either, when its own project has news in the same moment."""

    async def listen() -> None:
        watched = Events(site.store)
        with (
            watched.listening("theirs", "here") as stranger,
            watched.listening("own", "here") as own,
        ):
            watched._tell(dict.fromkeys(("own", "theirs")), {"here": {"own"}})
            assert stranger.empty()
            assert await following(own) == "own"

    asyncio.run(listen())


def test_a_page_is_told_that_nothing_happens(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the ways between keep the line open."""
    monkeypatch.setattr(events, "QUIET_SECONDS", 0.05)

    async def listen() -> None:
        with Events(site.store).listening() as queue:
            assert await following(queue) == ""

    asyncio.run(listen())


def test_a_page_that_sleeps_takes_no_memory(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old news is dropped: a page looks anew when it wakes. Many runs at once are told as many."""
    monkeypatch.setattr(events, "MOST_RUNS", 3)

    async def listen() -> None:
        watched = Events(site.store)
        with watched.listening() as queue:
            for _ in range(50):
                watched._tell({"a": None})
            assert queue.qsize() <= 8
            watched._tell(dict.fromkeys("abcd"))
            heard = [await following(queue) for _ in range(queue.qsize())]
            assert heard[-1] == MANY
        assert not watched._pages

    asyncio.run(listen())


def test_a_store_that_is_away_for_a_while(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody stops listening because of that."""
    from quandary.errors import StoreError  # noqa: PLC0415 - only here

    async def listen() -> None:
        watched = Events(site.store)
        await watched.start()
        with watched.listening() as queue:
            with monkeypatch.context() as patch:

                def away(**_: object) -> None:
                    raise StoreError("away")

                patch.setattr(site.store, "happened", away)
                run = site.ask("Login").run
                await asyncio.sleep(0.6)
                assert queue.empty()
            assert await following(queue) == run
        await watched.stop()

    asyncio.run(listen())


def test_pages_of_strangers_give_way(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all places are taken, the oldest page goes; that of a login only after the others."""
    monkeypatch.setattr(events, "MOST_LISTENERS", 3)
    watched = Events(site.store)

    async def listen() -> None:
        with ExitStack() as opened:
            login = opened.enter_context(watched.listening())
            strangers = [opened.enter_context(watched.listening("", "here")) for _ in range(5)]
            assert [watched.hears(one) for one in strangers] == [False, False, False, True, True]
            assert await following(strangers[0]) == ""
            assert watched.hears(login)
            later = [opened.enter_context(watched.listening()) for _ in range(3)]
            assert not watched.hears(login)
            assert all(map(watched.hears, later))
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
            begun = time.perf_counter()
            inbox.list_inbox(site.store, caller, inbox.Wanted())
            times.append(time.perf_counter() - begun)
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
