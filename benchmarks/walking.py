"""What a walk costs beside its agents, journal and logs included; status 1 on a missed budget.

The peer is `subprocess.run` of the same program with the same prompt. The two take turns, so that
both share what else the machine is doing.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from measuring import at_most, best, table, timed
from quandary.agents import Driver
from quandary.agents.calling import Surroundings
from quandary.cli.walking import Lines, watcher
from quandary.flows.walk import Defaults, most_calls, plan
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.chart import Chart, Page, Route, Step
from quandary.settings import Settings
from quandary.settings.agents import read_catalogue

if TYPE_CHECKING:
    from measuring import Row
    from quandary.journal.store import State
    from quandary.model.calls import Call
    from quandary.reports.logs import Logs

STEPS = 10
ROUNDS = 10
ITEMS, JOBS = 64, 8
LARGE = 100_000
AGENT = """\
#!/bin/sh
printf '{{"completed": true, "comments": "done"}}'
exec sleep {seconds}
"""
"""It does next to nothing: programs that start together would wait for each other on few cores, and
that would be measured instead."""


def main() -> int:
    """Measure, print a table, and judge."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - till the end
        return table([*a_step(Path(folder)), many_items(Path(folder)), planning()])


class House:
    """A store, an agent that takes so long, and a driver that writes logs."""

    def __init__(self, folder: Path, seconds: float, items: int) -> None:
        self.folder = folder / f"{seconds}"
        self.folder.mkdir()
        self.agent = self.folder / "agent.sh"
        self.agent.write_text(AGENT.format(seconds=seconds), encoding="utf-8")
        self.agent.chmod(0o755)
        self.store = SqliteStore(self.folder / "journal.db")
        around = Surroundings(str(self.folder), dict(os.environ))
        catalogue = read_catalogue({"BENCH": {"argv": [str(self.agent)]}})
        self.watching = watcher(self.store, items)
        self.watching.logs.find = lambda *_: Settings(str(self.folder), ())
        self.driver = Driver(self.store, catalogue, around, self.watching)

    def begin(self, chart: Chart, number: int = 1) -> State:
        """A run of a chart."""
        return runs.begin(
            self.store,
            "walk",
            {"defaults": {"cli": "BENCH"}, "item": {"id": str(number)}},
            documents={"chart": msgspec.to_builtins(chart)},
            who="agent",
            through="command",
        )


def row_of(count: int) -> Chart:
    """A chart of so many steps in a row, of which nobody is validated."""
    fields = {"no_validation": "yes"}
    steps = tuple(Step(f"s{n}", f"Do number {n}", metadata=fields) for n in range(count))
    routes = tuple(Route(f"s{n}", f"s{n + 1}") for n in range(count - 1))
    return Chart("Row", (Page("1", "", steps, routes),))


class Timed(Lines):
    """Writes logs like any watcher, and takes the time from one call to the next."""

    def __init__(self, logs: Logs) -> None:
        super().__init__(1, logs)
        self.taken: list[float] = []
        self.last = 0.0

    def calls(self, run: str, calls: tuple[Call, ...]) -> None:
        """A step has begun."""
        moment = time.perf_counter()
        if run in self.rows:
            self.taken.append(moment - self.last)
        self.last = moment
        super().calls(run, calls)


def a_step(folder: Path) -> list[Row]:
    """Step after step of walks, against as many bare runs of a program of 20 ms.

    A step is kept before the next begins, so that the disk has its part: the second peer runs the
    program in a session of its own, as we do, and inserts a row at synchronous=FULL.
    """
    house = House(folder, 0.02, 1)
    chart = row_of(STEPS)
    watching = house.driver.watcher = Timed(house.watching.logs)
    bare: list[float] = []
    kept: list[float] = []
    db = sqlite3.connect(house.folder / "bare.db", isolation_level=None)
    for line in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE kept (body)"):
        db.execute(line)
    for _ in range(ROUNDS):
        with watching:
            state = asyncio.run(house.driver.begin(partial(house.begin, chart)))
        assert state.status == "done"
        bare += [timed(partial(run, house.agent)) for _ in range(STEPS)]
        kept += [timed(partial(run_and_keep, house.agent, db)) for _ in range(STEPS)]
    db.close()
    what = "a step of a walk, journal and logs included, against subprocess.run"
    rows = []
    for peer, more in ((bare, ""), (kept, " in a session of its own and a bare insert")):
        usual = statistics.median(peer)
        ratio, shown = statistics.median(watching.taken) / usual, f"{usual * 1000:.0f} ms"
        rows.append(at_most(ratio, 1.2, f"{what}{more} ({shown})"))
    return rows


def run(agent: Path, *, session: bool = False) -> None:
    """The program by itself."""
    words = [str(agent)]
    subprocess.run(
        words, input=b"Do it.", capture_output=True, check=True, start_new_session=session
    )


def run_and_keep(agent: Path, db: sqlite3.Connection) -> None:
    """The program, and what comes of it kept on the disk."""
    run(agent, session=True)
    db.execute("INSERT INTO kept VALUES (?)", (b"x" * 1000,))


def many_items(folder: Path) -> Row:
    """Items of a 100 ms agent, eight at a time, against the time of one, eight times over."""
    house = House(folder, 0.1, ITEMS)
    chart = row_of(1)

    def all_of_them() -> None:
        work = [partial(house.driver.begin, partial(house.begin, chart, n)) for n in range(ITEMS)]
        with house.driver.watcher:
            states = asyncio.run(house.driver.all(work, JOBS))
        assert all(state.status == "done" for state in states)

    alone = best(partial(run, house.agent), 5)
    ideal = alone * ITEMS / JOBS
    what = f"{ITEMS} items, {JOBS} at once, of an agent of {alone * 1000:.0f} ms, against the ideal"
    return at_most(best(all_of_them, 7) / ideal, 1.2, what)


def planning() -> Row:
    """A plan for 100,000 steps against one for a tenth of them."""
    defaults = Defaults("BENCH")
    taken = []
    for count in (LARGE // 10, LARGE):
        chart = row_of(count)
        begun = time.process_time()
        assert most_calls(chart, plan(chart, defaults, ()), defaults) == 4 * count
        taken.append(time.process_time() - begun)
    what = f"the plan for 100,000 steps ({taken[1]:.1f} s) against one for a tenth of them"
    return at_most(taken[1] / taken[0], 20, what)


if __name__ == "__main__":
    sys.exit(main())
