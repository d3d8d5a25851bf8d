"""Ask and reply, journalled on disk, against LangGraph, Burr and bare sqlite3; status 1 on a miss.

What is fair: each player has a process of its own, so that nobody collects another's garbage or
waits for another's threads, and all have the same interpreter and the environment that
`requirements.txt` describes, with Quandary installed in it. Each has its own file in one folder,
with the same journal mode and the same `synchronous`, which is read back from every player's
connection. They take turns in random order and time themselves; a figure is the median of several
rounds. All must ask the same and come to the same end.

A turn is a burst of answers. With a single one, which is told besides, everybody is slower, and
whoever does least is slowed down most.

A player that is rebuilt for each reply makes anew what it knows of the run (saver and compiled
graph; persister and application; the flow), and keeps the file open. One that opens the file for
each reply makes that anew too, while somebody else has it open. Where nobody has, SQLite makes,
copies and removes its write-ahead log for every reply, which takes longer than all the rest. Both
are told: they say more of SQLite than of the players.

LangGraph writes a checkpoint for every step unless it is told to write one for every call. Its own
default counts for the budget; the other setting is told beside it.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Self

from asking import REPLIES, register
from measuring import Row, Turn, at_least, by_turns, table, told, turns

if TYPE_CHECKING:
    from asking import Keep

ROUNDS = 7
BURST = 25
"""Answers in a row, before it is another's turn."""
OURS = "Quandary"
LANGGRAPH = "LangGraph + SqliteSaver"
BARE = "bare sqlite3"
PLAYERS = {
    OURS: "asking:quandary",
    LANGGRAPH: "in_langgraph:play",
    f"{LANGGRAPH}, durability=exit": "in_langgraph:play_at_the_end",
    "Burr + SQLitePersister": "in_burr:play",
    BARE: "asking:bare",
}
PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "apache-burr")
SILENT = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")
"""Variables that would have LangGraph report its steps to a service."""


def main() -> int:
    """Measure, print a table, and judge."""
    print("    ", ", ".join(f"{name} {version(name)}" for name in PACKAGES))
    kept_open = compared("open", "the run open", {LANGGRAPH: 8, BARE: 0.7})
    rebuilt = compared("replayed", "rebuilt for each reply", {LANGGRAPH: 4})
    reopened = compared("reopened", "opened for each reply", {})
    alone = compared("alone", "opened for each reply, nobody else there", {})
    single = compared("open", "the run open, one at a turn", {}, burst=1)
    return table(kept_open + rebuilt + reopened + alone + single)


def compared(keep: Keep, words: str, least: dict[str, float], *, burst: int = BURST) -> list[Row]:
    """Every player against Quandary."""
    chance = random.Random(1)  # noqa: S311 - the order of turns is no secret
    rounds = [played(keep, burst, chance) for _ in range(ROUNDS)]
    rows = []
    for name in PLAYERS:
        ratio = statistics.median(taken[name] / taken[OURS] for taken in rounds)
        ours, its = (statistics.median(taken[n] for taken in rounds) * 1000 for n in (OURS, name))
        what = f"ask + reply, {words}, against {name} ({ours:.2f} against {its:.2f} ms)"
        if name != OURS:
            rows.append(at_least(ratio, least[name], what) if name in least else told(ratio, what))
    return rows


def played(keep: Keep, burst: int, chance: random.Random) -> dict[str, float]:
    """One round: the seconds that each player takes for an answer and the question after it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=Path(__file__).parent)))
        players = {
            name: stack.enter_context(Elsewhere(player, folder / f"{number}.db", keep))
            for number, (name, player) in enumerate(PLAYERS.items())
        }
        return by_turns(players, REPLIES, chance, burst=burst)


class Elsewhere:
    """A player in a process of its own, which takes a step for every line that it is sent."""

    def __init__(self, player: str, path: Path, keep: Keep) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, player, str(path), keep],
            env={**os.environ, **dict.fromkeys(SILENT, "false")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Turn:
        """One step."""
        sent, got = self.process.stdin, self.process.stdout
        assert sent is not None
        assert got is not None
        sent.write(b"\n")
        sent.flush()
        seconds, said = json.loads(got.readline())
        return Turn(seconds, said)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let it end by itself."""
        self.process.communicate()


def play(player: str, path: str, keep: str) -> None:
    """Be a player: take a step for every line that comes."""
    module, _, name = player.partition(":")
    register()
    steps = turns(getattr(import_module(module), name)(Path(path), keep))
    for _ in sys.stdin.buffer:
        print(json.dumps(next(steps)), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        play(*sys.argv[1:])
    else:
        sys.exit(main())
