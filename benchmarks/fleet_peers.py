"""Jobs that call an agent of 5 ms, against procrastinate with the same agent; status 1 on a miss.

What is fair: one server, which writes to disk what it acknowledges; a process and a database for
each player, the same interpreter, as many jobs at a time. All jobs of a turn stand in the queue
before its time begins; then a worker starts, does them all, and ends when nothing is left. Players
take turns in random order, and the figure is the median of the ratios, turn by turn.

A task of procrastinate runs the program and keeps nothing of what it says. Quandary journals each
call before it is made and when it has come, and nobody else drives the run meanwhile. How many
statements that takes is counted, all that a worker does besides included, but for telling listeners
of news: that is done for many runs at once, some fifty times a second at most.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import tempfile
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measuring import Row, at_least, at_most, table
from peers import Elsewhere
from postgres_peers import database
from quandary.agents.calling import Surroundings
from quandary.fleet import Fleet, open_shared
from quandary.fleet.worker import Orders, Worker
from quandary.journal import open_store, runs
from quandary.settings.agents import read_catalogue
from stepping import require_durable
from walking import row_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import Store

TURNS = 7
JOBS = 150
AT_ONCE = 8
OURS, PEER = "Quandary", "procrastinate"
PLAYERS = {OURS: "fleet_peers:play", PEER: "in_procrastinate:play"}
PROGRAM = """\
#!/bin/sh
printf '{"completed": true, "comments": "done"}'
exec sleep 0.005
"""


def main() -> int:
    """Measure, print a table, and judge."""
    print("     procrastinate", version("procrastinate"))
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from databases import served  # noqa: PLC0415 - the tests' server, found only now

    with served(durable=True) as server, ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=Path(__file__).parent)))
        agent_in(folder)
        places = {name: database(server, folder, name) for name in PLAYERS}
        chance = random.Random(1)  # noqa: S311 - the order of turns is no secret
        rows = [*against_each_other(places, chance), *counted(database(server, folder, "counted"))]
    return table(rows)


def against_each_other(places: dict[str, Path], chance: random.Random) -> list[Row]:
    """Jobs a second, by turns."""
    taken: dict[str, list[float]] = {name: [] for name in PLAYERS}
    with ExitStack() as stack:
        started = {
            name: stack.enter_context(Elsewhere(player, places[name], "open"))
            for name, player in PLAYERS.items()
        }
        for player in started.values():
            next(player)
        for turn in range(TURNS + 1):
            for name in chance.sample(list(started), len(started)):
                next(started[name])  # which puts the jobs into the queue
                ended = next(started[name])
                assert ended.said == JOBS, ended
                taken[name] += [ended.seconds] if turn else []
    ratios = [its / ours for ours, its in zip(taken[OURS], taken[PEER], strict=True)]
    ours, its = (JOBS / statistics.median(taken[name]) for name in (OURS, PEER))
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    what = f"jobs of a 5 ms agent, {AT_ONCE} at a time, against {PEER} ({ours:,.0f} against "
    return [at_least(statistics.median(ratios), 0.8, f"{what}{its:,.0f} a second; {spread})")]


def counted(place: Path) -> list[Row]:
    """The statements of a worker for each job, and for each further step of one."""
    from databases import recorded  # noqa: PLC0415 - as above

    per_job = []
    for steps in (1, 5):
        store = begun(place, steps)
        with recorded() as statements:
            assert drained(place, store) == JOBS
        per_job.append(sum("AS run" not in sql for sql, _ in statements) / JOBS)
        store.close()
    one, five = per_job
    return [
        at_most(one, 8, "statements for a job of one step"),
        at_most((five - one) / 4, 1.05, "statements for each further step"),
    ]


def play(place: Path, _keep: str) -> Iterator[int | None]:
    """A worker of Quandary."""
    begun(place, 1, jobs=0).close()
    yield None
    while True:
        store = begun(place, 1)
        yield None
        yield drained(place, store)
        store.close()


def agent_in(folder: Path) -> None:
    """The program that is the agent."""
    agent = folder / "agent.sh"
    agent.write_text(PROGRAM, encoding="utf-8")
    agent.chmod(0o755)


def begun(place: Path, steps: int, jobs: int = JOBS) -> Store:
    """The store, with so many runs in the queue."""
    store = open_store(place.read_text(encoding="utf-8"))
    fleet = Fleet(store, "BENCH")
    fleet.store.with_connection(require_durable)
    fleet.take_new_runs()
    chart = row_of(steps)
    for number in range(jobs):
        arguments = {"defaults": {"cli": "BENCH"}, "item": {"id": str(number)}}
        said: Any = {"who": "agent", "through": "fleet"}
        runs.begin(store, "walk", arguments, documents={"chart": chart}, **said)
    return store


def drained(place: Path, store: Store) -> int:
    """How many runs a worker has brought to their ends."""
    folder = str(place.parent)
    before = store.count_runs("done")
    catalogue = read_catalogue({"BENCH": {"argv": [f"{folder}/agent.sh"]}})
    shared = open_shared(place.read_text(encoding="utf-8"))

    async def work() -> None:
        around = Surroundings(folder, dict(os.environ))
        orders = Orders(concurrency=AT_ONCE, drain=True, workdir=folder)
        await Worker(shared, catalogue, around, orders).work()

    asyncio.run(work())
    shared.close()
    return store.count_runs("done") - before


if __name__ == "__main__":
    sys.exit(main())
