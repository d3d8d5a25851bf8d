"""A run with a thousand items, four at a time: whether its last replies cost more than its first.

Two runs are under way at once, one at its beginning and one near its end, and take turns reply by
reply; figures are medians. Ends with status 1 when a budget is missed.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from measuring import Row, at_most, by_turns, table, timed, told, turns
from quandary import load
from quandary.desk import sheets
from quandary.flows.decide import Terms
from quandary.journal import runs
from quandary.journal.progress import rebuild
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Item, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import State

TREE = Path(__file__).parent.parent / "examples" / "trees" / "plan-review.md"
ITEMS = 1000
REPLIES = ITEMS // 4
MEASURED = 50


def main() -> int:
    """Measure, print a table, and judge."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        return table([*last_against_first(Path(folder)), rebuilding(Path(folder))])


def last_against_first(folder: Path) -> list[Row]:
    """Milliseconds per reply at the end of the run and at its beginning, kept open and rebuilt."""
    chance = random.Random(1)  # noqa: S311 - the order of turns is no secret
    rows = []
    for rebuilt, words in ((False, "kept open"), (True, "rebuilt for each reply")):
        players = {
            name: turns(replies(folder / f"{name}-{rebuilt}.db", skipped, rebuilt))
            for name, skipped in (("first", 0), ("last", REPLIES - MEASURED))
        }
        taken = by_turns(players, MEASURED, chance)
        first, last = taken["first"], taken["last"]
        shown = f"{last * 1000:.2f} against {first * 1000:.2f} ms"
        what = f"the last replies of a run with 1,000 items, {words}, against its first ({shown})"
        rows.append(told(last / first, what) if rebuilt else at_most(last / first, 1.5, what))
    return rows


def rebuilding(folder: Path) -> Row:
    """The run near its end, from the file to where it waits; in time of the processor."""
    store = SqliteStore(folder / "rebuilt.db")
    state = begin(store)
    for _ in range(REPLIES - 1):
        state = reply(store, state)
    bodies = [json.loads(entry.body) for entry in store.entries(state.run, kinds=("answered",))]
    text = json.dumps([body["answers"] for body in bodies])
    pairs = [
        (
            timed(lambda: json.loads(text), time.process_time),
            timed(lambda: rebuild(store, state.run), time.process_time),
        )
        for _ in range(20)
    ]
    loading, again = (min(taken) for taken in zip(*pairs, strict=True))
    shown = f"{again * 1000:.1f} against {loading * 1000:.2f} ms"
    return at_most(
        again / loading, 25, f"such a run rebuilt, against json.loads of its answers ({shown})"
    )


def replies(path: Path, skipped: int, rebuilt: bool) -> Iterator[None]:
    """A run with some replies behind it, and then one more with each step."""
    store = SqliteStore(path)
    state = begin(store)
    for _ in range(skipped):
        state = reply(store, state)
    yield
    while state.status == "waiting":
        if rebuilt:
            runs._opened.clear()
        state = reply(store, state)
        yield


def begin(store: SqliteStore) -> State:
    """A plan of a thousand steps is to be reviewed."""
    items = tuple(
        Item(str(n), f"Step {n}", f"Step number {n}", f"Without it, step {n + 1} cannot begin.")
        for n in range(1, ITEMS + 1)
    )
    context = "The plan for the move to the new office has been written; say what you think of it."
    arguments = msgspec.to_builtins(
        Terms(load(str(TREE)), context, items, limits=sheets.find_host("claude").limits)
    )
    tree = {"tree": arguments.pop("tree")}
    return runs.begin(store, "decide", arguments, documents=tree, who="agent", through="command")


def reply(store: SqliteStore, state: State) -> State:
    """Approve of what is asked."""
    questions = state.ask.questions if state.ask else ()
    answers = Reply(tuple(Answer(question.key, ("OK",)) for question in questions))
    return runs.advance(store, state.run, answers, to=state.key, who="person", through="terminal")


if __name__ == "__main__":
    sys.exit(main())
