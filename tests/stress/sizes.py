"""(c) A store of a thousand runs, and of a million: nobody who asks or answers can tell which.

All sizes are filled first and then measured by turns, so that they share what else the machine is
doing. A figure is a median; what counts is how it compares with that of the smallest store.
"""

from __future__ import annotations

import http.client
import random
import statistics
import subprocess
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import psycopg

from program import PROGRAM, environment
from quandary.journal import open_store, runs
from sites import Server
from stress.filling import Model, sound
from stress.questions import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.journal.store import Store
    from stress.ground import Ground

MOST = 2.0
"""So much longer may something take in the largest store than in the smallest."""
ROUNDS = 7
QUERIES, PAGES, REPLIES = 40, 6, 6
"""How often in each round; of the whole process once."""
PAGE = 50


class Filled(NamedTuple):
    """A store of some size, and a server before it."""

    runs: int
    place: str
    store: Store
    server: Server
    waiting: list[str]
    """Runs that can be answered."""


def part(ground: Ground) -> None:
    """Fill stores of every size, on both kinds of database, and measure."""
    sizes = [size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= ground.given.size]
    for kind in ("SQLite", "PostgreSQL"):
        with ExitStack() as stack:
            filled = [_filled(ground, stack, kind, size) for size in sizes]
            _compared(ground, kind, filled)


def _filled(ground: Ground, stack: ExitStack, kind: str, size: int) -> Filled:
    folder = ground.folder / f"{kind}-{size}"
    folder.mkdir()
    place = str(folder / "journal.db")
    if kind == "PostgreSQL":
        place = stack.enter_context(ground.server.schema())
    begun = time.monotonic()
    store = open_store(place)
    stack.callback(store.close)
    store.fill(Model(folder, size, ground.progress).dump, lambda: None)
    if kind == "PostgreSQL":
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("ANALYZE")  # which the server does by itself in a minute
    ground.progress(f"{kind}, {size:,} runs: being verified")
    ground.exactly(
        f"{kind}: the journal of {size:,} runs verifies (filled in "
        f"{time.monotonic() - begun:.0f} s)",
        sound(store, size),
        wanted=True,
    )
    server = Server(folder, "--store", place)
    stack.callback(server.kill)
    server.start()
    waiting = [run.id for run in runs.inbox(store, limit=10_000)]
    random.Random(size).shuffle(waiting)  # noqa: S311 - no secret
    return Filled(size, place, store, server, waiting)


def _compared(ground: Ground, kind: str, filled: list[Filled]) -> None:
    works: dict[str, tuple[Callable[[Filled], None], int]] = {
        "the inbox, asked of the store": (_inbox, QUERIES),
        "the inbox as a page over HTTP": (_page, PAGES),
        "a reply, the store open": (_reply, REPLIES),
        "a reply, the whole process": (_process, 1),
    }
    taken: dict[tuple[str, int], list[float]] = {}
    chance = random.Random(1)  # noqa: S311 - the order of turns is no secret
    for turn in range(ROUNDS):
        for one in chance.sample(filled, len(filled)):
            ground.progress(f"{kind}, {one.runs:,} runs: round {turn + 1} of {ROUNDS}")
            for words, (work, times) in works.items():
                for number in range(times + 1):
                    before = time.perf_counter()
                    work(one)
                    if number:  # the first one finds what the others left in the way
                        found = taken.setdefault((words, one.runs), [])
                        found.append(time.perf_counter() - before)
    smallest = filled[0].runs
    for words in works:
        few = statistics.median(taken[words, smallest])
        for one in filled:
            much = statistics.median(taken[words, one.runs])
            what = f"{kind}: {words}, {one.runs:,} runs ({much * 1000:.2f} ms)"
            if one.runs == smallest:
                ground.tell(what, "1 ×")
            else:
                ground.at_most(what, much / few, MOST, " ×")


def _inbox(one: Filled) -> None:
    assert len(runs.inbox(one.store, limit=PAGE)) == PAGE


def _page(one: Filled) -> None:
    line = http.client.HTTPConnection("127.0.0.1", one.server.port, timeout=60)
    line.request("GET", "/")
    came = line.getresponse()
    page = came.read().decode()
    line.close()
    assert came.status == 200, page
    assert page.count('href="/runs/') >= PAGE, page


def _reply(one: Filled) -> None:
    run = one.waiting.pop()
    row = one.store.run(run)
    assert row is not None
    assert answer(one.store, run, str(row.key)).status == "done"


def _process(one: Filled) -> None:
    command = [*PROGRAM, "reply", one.waiting.pop(), "OK", "--store", one.place]
    subprocess.run(command, check=True, capture_output=True, env=environment())
