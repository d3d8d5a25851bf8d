"""Journalled steps on PostgreSQL against DBOS and bare psycopg; status 1 on a miss.

What is fair: one server, which writes to disk what it acknowledges; `fsync` and
`synchronous_commit` are read back on every player's connection. Each player has a process and a
database of its own, the same interpreter, and the environment that `requirements.txt` describes.
They take turns in random order; a turn is a whole run, its beginning and its end included, and
each player times itself. A figure is the median of the turns. All must come to the same end.

DBOS checks before a step whether it was made before, and keeps what it gave back. Quandary keeps
besides what was asked, and chains all of it; a step here is one of its calls, journalled before it
is made and when it has come.

With several processes at once it is the time until the last is done that counts. Where a person is
asked, DBOS passes events on a hundred times a second, so that a question costs it more time than
work; that is told only.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Row, at_least, by_turns, table, told
from peers import Elsewhere
from stepping import STEPS

if TYPE_CHECKING:
    from databases import Server

ROUNDS = 3
TURNS = 20
AT_ONCE = 4
OURS, DBOS, BARE, SAME = "Quandary", "DBOS", "bare psycopg", "the same statements through psycopg"
STEPPING = {OURS: "stepping:steps", DBOS: "in_dbos:steps", BARE: "stepping:bare"}
ASKING = {OURS: "stepping:questions", DBOS: "in_dbos:questions", SAME: "stepping:same"}


def main() -> int:
    """Measure, print a table, and judge."""
    print("     dbos", version("dbos"))
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from databases import served  # noqa: PLC0415 - the tests' server, found only now

    with served(durable=True) as server, ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=Path(__file__).parent)))
        chance = random.Random(1)  # noqa: S311 - the order of turns is no secret
        places = {name: database(server, folder, name) for name in (OURS, DBOS, BARE)}
        places[SAME] = database(server, folder, "same")
        rows = compared(
            "steps", [alone(STEPPING, places, chance) for _ in range(ROUNDS)], {DBOS: 3}
        )
        together = [at_once(STEPPING, places, chance) for _ in range(ROUNDS)]
        rows += compared(f"steps, {AT_ONCE} processes at once", together, {DBOS: 3})
        asking = [alone(ASKING, places, chance) for _ in range(ROUNDS)]
        rows += compared("ask + reply", asking, {SAME: 0.75})
    return table(rows)


def database(server: Server, folder: Path, name: str) -> Path:
    """A file with the address of a new database in it."""
    called = name.replace(" ", "_").lower()
    with server.admin() as admin:
        admin.execute(f"CREATE DATABASE {called}")
    place = folder / called
    place.write_text(server.url(database=called), encoding="utf-8")
    return place


def alone(
    players: dict[str, str], places: dict[str, Path], chance: random.Random
) -> dict[str, float]:
    """One round: the seconds that each player takes for a step, nobody else there."""
    with ExitStack() as stack:
        started = {
            name: stack.enter_context(Elsewhere(player, places[name], "open"))
            for name, player in players.items()
        }
        taken = by_turns(started, TURNS, chance)
    return {name: seconds / STEPS for name, seconds in taken.items()}


def at_once(
    players: dict[str, str], places: dict[str, Path], chance: random.Random
) -> dict[str, float]:
    """One round: the seconds for a step where several processes of each player are at work."""
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(AT_ONCE))
        teams = {
            name: [
                stack.enter_context(Elsewhere(player, places[name], "open")) for _ in range(AT_ONCE)
            ]
            for name, player in players.items()
        }
        for team in teams.values():
            for player in team:
                next(player)
        taken: dict[str, list[float]] = {name: [] for name in teams}
        for _ in range(TURNS // 2):
            heard = set()
            for name in chance.sample(list(teams), len(teams)):
                before = time.perf_counter()
                heard |= {turn.said for turn in pool.map(next, teams[name])}
                taken[name].append(time.perf_counter() - before)
            assert len(heard) == 1
    return {name: statistics.median(times) / STEPS / AT_ONCE for name, times in taken.items()}


def compared(words: str, rounds: list[dict[str, float]], least: dict[str, float]) -> list[Row]:
    """Every player against Quandary."""
    rows = []
    for name in rounds[0]:
        ratio = statistics.median(taken[name] / taken[OURS] for taken in rounds)
        ours, its = (1 / statistics.median(taken[n] for taken in rounds) for n in (OURS, name))
        what = f"{words}, against {name} ({ours:,.0f} against {its:,.0f} a second)"
        if name != OURS:
            rows.append(at_least(ratio, least[name], what) if name in least else told(ratio, what))
    return rows


if __name__ == "__main__":
    sys.exit(main())
