"""How fast asks and replies are journalled, as ratios within one run; status 1 on a miss.

The peer of the first row is sqlite3 itself: the same statements with the same values on a file set
up the same way, and nothing else. LangGraph and Burr are left for their own environment.
"""

from __future__ import annotations

import json
import random
import sqlite3
import statistics
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from quandary.journal import replay
from quandary.journal.progress import rebuild
from quandary.journal.sqlite import SqliteStore
from quandary.model.ask import Answer, Ask, Choice, Preamble, Question, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

CHOICES = (
    Choice("OK", "Accept it", "It goes in as it stands"),
    Choice("RWK", "Rework it", "The author gets it back with remarks"),
    Choice("NO", "Leave it out", "It is not part of the plan any more"),
)
CONTEXT = "The plan for the spring release has a number of points that need a decision each. " * 4

REPLIES = 100

Row = tuple[str, str, str, bool]
"""What was measured, the figure, the budget, and whether it was kept."""


def start(arguments: dict[str, Any]) -> Generator[Ask, Reply, dict[str, Any]]:
    """One question after another, as many as asked for."""
    preamble = Preamble(CONTEXT)
    chosen = []
    for number in range(arguments["questions"]):
        key = f"{number}:"
        question = Question(key, f"{number}. Point", f"What of point {number}?", CHOICES)
        reply = yield Ask(key, "transition", preamble, (question,))
        chosen.append(reply.answers[0].picked[0])
    return {"chosen": chosen}


def main() -> int:
    """Measure, print a table, and judge."""
    flow = types.ModuleType("benchmark_flow")
    vars(flow).update(VERSION=1, start=start)
    sys.modules["benchmark_flow"] = flow
    replay.FLOWS["benchmark"] = "benchmark_flow"
    rows = []
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        rows += journalling(Path(folder))
        rows += rebuilding(Path(folder))
        rows += an_inbox(Path(folder))
    for what, figure, budget, kept in rows:
        print(f"{'ok  ' if kept else 'MISS'} {figure:>8}  {budget:>9}  {what}")
    return 0 if all(kept for *_, kept in rows) else 1


def journalling(folder: Path) -> list[Row]:
    """Ask and reply, on disk each, against the bare statements.

    The two take turns reply by reply, at random and after uneven pauses, so that both share what
    else the disk is doing and neither falls in step with it.
    """
    model = SqliteStore(folder / "model.db")
    for _ in replies(model, reopened=False):
        pass
    rows = []
    chance = random.Random(1)  # noqa: S311
    for reopened, words in ((False, "the run open"), (True, "rebuilt for each reply")):
        store = SqliteStore(folder / f"ours-{reopened}.db")
        ours, theirs = list[float](), list[float]()
        for turn in range(5):
            bare = bare_statements(model, folder / f"bare-{reopened}-{turn}.db", reopened)
            steps = replies(store, reopened=reopened)
            next(steps)
            next(bare)
            for _ in range(REPLIES - 1):
                for times, turns in chance.sample([(ours, steps), (theirs, bare)], 2):
                    time.sleep(chance.uniform(0, 0.004))
                    times.append(timed(lambda turns=turns: next(turns)))  # type: ignore[misc]
        store.close()
        mine, its = statistics.mean(ours), statistics.mean(theirs)
        ratio = its / mine
        shown = f"{mine * 1000:.2f} against {its * 1000:.2f} ms"
        what = f"ask + reply, {words}, against bare sqlite3 ({shown})"
        rows.append((what, f"{ratio:.2f} x", ">= 0.7 x", ratio >= 0.7))
    model.close()
    return rows


def replies(store: SqliteStore, *, reopened: bool) -> Iterator[None]:
    """A run with an answer at each step."""
    state = replay.begin(store, "benchmark", {"questions": REPLIES}, who="agent", through="relay")
    yield
    while state.status == "waiting":
        if reopened:
            replay._opened.clear()
        reply = Reply((Answer(str(state.key), ("OK",)),))
        state = replay.advance(
            store, state.run, reply, to=state.key, who="person", through="terminal"
        )
        yield


def bare_statements(model: SqliteStore, path: Path, reopened: bool) -> Iterator[None]:
    """The statements of such a run, with the same values, without making or digesting any."""
    run = model.runs()[0]
    entries = [
        (e.run, e.n, e.kind, e.body, e.matter, e.salt, e.seal, e.digest)
        for e in model.entries(run.id)
    ]
    SqliteStore(path).close()
    db = sqlite3.connect(path, timeout=0, isolation_level=None)
    db.execute("PRAGMA synchronous = FULL")
    insert = (
        "INSERT INTO entry (run, n, kind, body, matter, salt, seal, digest) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    )
    row = (1, run.id, run.flow, 1, "", "waiting", "person", "0:", 2, 2, run.first, run.head)
    db.execute("BEGIN IMMEDIATE")
    db.execute("SELECT id, first, runs FROM last").fetchone()
    db.execute(
        f"INSERT INTO run VALUES ({', '.join('?' * 15)})",  # noqa: S608
        (*row, run.began, run.since, None),
    )
    db.execute("INSERT OR REPLACE INTO last VALUES (1, ?, ?, 1)", (run.id, run.first))
    db.executemany(insert, entries[:2])
    db.execute("COMMIT")
    yield
    for n in range(2, len(entries), 2):
        db.execute("SELECT * FROM run WHERE id = ?", (run.id,)).fetchall()
        if reopened:
            db.execute(
                "SELECT body, matter, seal IS NOT NULL AND matter IS NULL FROM entry WHERE run = ? "
                "AND n <= ? AND kind IN ('began', 'answered', 'returned') ORDER BY n",
                (run.id, n),
            ).fetchall()
        db.execute("BEGIN IMMEDIATE")
        db.execute(
            "UPDATE run SET status = ?, waits = ?, key = ?, asked = ?, n = ?, head = ?, "
            "since = ? WHERE id = ? AND n = ?",
            ("waiting", "person", f"{n // 2}:", n + 2, n + 2, run.head, run.since, run.id, n),
        )
        db.executemany(insert, entries[n : n + 2])
        db.execute("COMMIT")
        yield
    db.close()


def rebuilding(folder: Path) -> list[Row]:
    """A run of a thousand answers, from the file to where it waits; in time of the processor."""
    store = SqliteStore(folder / "thousand.db")
    state = replay.begin(store, "benchmark", {"questions": 1001}, who="agent", through="relay")
    for number in range(1000):
        reply = Reply((Answer(f"{number}:", (CHOICES[number % 3].code,)),))
        state = replay.advance(store, state.run, reply, who="person", through="terminal")
    answers = [json.loads(e.body) for e in store.entries(state.run, kinds=("answered",))]
    text = json.dumps([answer["answers"] for answer in answers])
    whole = [msgspec.json.encode(answer).decode() for answer in answers]
    loading, each, again = (
        min(taken)
        for taken in zip(
            *(
                (
                    timed(lambda: json.loads(text), time.process_time),
                    timed(lambda: [json.loads(one) for one in whole], time.process_time),
                    timed(lambda: rebuild(store, state.run), time.process_time),
                )
                for _ in range(100)
            ),
            strict=True,
        )
    )
    store.close()
    ratio = again / loading
    what = (
        f"1,000 answers rebuilt ({again * 1000:.1f} ms) against json.loads of them in one list "
        f"({loading * 1000:.2f} ms; {again / each:.1f} x that of the entries as they lie there)"
    )
    return [(what, f"{ratio:.1f} x", "<= 10 x", ratio <= 10)]


def an_inbox(folder: Path) -> list[Row]:
    """A page of what waits, among a thousand runs and among a million."""
    taken = []
    for runs, waiting in ((1_000, 10), (1_000_000, 10_000)):
        store = SqliteStore(folder / f"inbox-{runs}.db")
        db = sqlite3.connect(folder / f"inbox-{runs}.db")
        db.executemany(
            f"INSERT INTO run VALUES ({', '.join('?' * 15)})",  # noqa: S608
            (
                (n, f"{n:026}", "decide", 1, f"p{n % 5}")
                + (
                    ("waiting", "person", "1:")
                    if n % (runs // waiting) == 0
                    else ("done", None, None)
                )
                + (2, 2, b"", b"", "", "", None)
                for n in range(1, runs + 1)
            ),
        )
        db.commit()
        db.close()
        taken.append(best(lambda s=store: replay.inbox(s, limit=10), 200))  # type: ignore[misc]
        store.close()
    ratio = taken[1] / taken[0]
    what = f"inbox page among 1,000,000 runs ({taken[1] * 1e6:.0f} µs) against 1,000"
    return [(what, f"{ratio:.2f} x", "<= 2 x", ratio <= 2)]


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds."""
    before = clock()
    work()
    return clock() - before


def best(work: Callable[[], object], times: int) -> float:
    """The shortest of several."""
    return min(timed(work) for _ in range(times))


if __name__ == "__main__":
    sys.exit(main())
