"""The run that everybody plays: one question after another, in the same words, answered alike.

A player is an iterator. At its first step it begins a run, at each further one it gives an answer,
and every time it says what is asked then; in the end, what was chosen. Whoever plays the same run
has to say the same.

How long a player keeps its run is its `Keep`:

- `open`: from the first answer to the last;
- `replayed`: for one answer; then what knows of the run is built again from the open file;
- `reopened`: the same, and the file is opened anew too, while somebody else has it open;
- `alone`: the same, and nobody else has it open, so that SQLite makes its write-ahead log for every
  answer, and copies it into the file and removes it afterwards.
"""

from __future__ import annotations

import sqlite3
import sys
import types
from typing import TYPE_CHECKING, Any, Literal

from quandary.journal import runs
from quandary.journal.progress import FLOWS
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Ask, Choice, Preamble, Question, Reply

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from quandary.journal.store import State, Store

Keep = Literal["open", "replayed", "reopened", "alone"]
ANEW = ("reopened", "alone")
"""Those that open the file for each answer."""

CHOICES = (
    Choice("OK", "Accept it", "It goes in as it stands"),
    Choice("RWK", "Rework it", "The author gets it back with remarks"),
    Choice("NO", "Leave it out", "It is not part of the plan any more"),
)
CONTEXT = "The plan for the spring release has a number of points that need a decision each. " * 4

REPLIES = 100
FULL = 2
"""What SQLite calls `synchronous = FULL`."""


def asked(number: int) -> Ask:
    """The question of that number."""
    key = f"{number}:"
    question = Question(key, f"{number}. Point", f"What of point {number}?", CHOICES)
    return Ask(key, "transition", Preamble(CONTEXT), (question,))


def answer(number: int) -> str:
    """The code that answers it."""
    return CHOICES[number % len(CHOICES)].code


def start(arguments: dict[str, Any]) -> Generator[Ask, Reply, dict[str, Any]]:
    """One question after another, as many as asked for."""
    chosen = []
    for number in range(arguments["questions"]):
        reply = yield asked(number)
        chosen.append(reply.answers[0].picked[0])
    return {"chosen": chosen}


def register() -> None:
    """Make it a flow that can be run."""
    flow = types.ModuleType("benchmark_flow")
    vars(flow).update(VERSION=1, start=start)
    sys.modules["benchmark_flow"] = flow
    FLOWS["benchmark"] = "benchmark_flow"


def begin(store: Store, questions: int = REPLIES) -> State:
    """A new run of so many questions."""
    return runs.begin(store, "benchmark", {"questions": questions}, who="agent", through="command")


def reply(store: Store, state: State, number: int) -> State:
    """Answer what waits."""
    said = Reply((Answer(str(state.key), (answer(number),)),))
    return runs.advance(store, state.run, said, to=state.key, who="person", through="terminal")


def quandary(path: Path, keep: Keep) -> Iterator[str]:
    """Quandary plays."""
    first = store = SqliteStore(path)
    require_durable(store._db)
    state = begin(store)
    if keep == "alone":
        first.close()
    for number in range(REPLIES):
        yield state.ask.questions[0].text if state.ask else ""
        if keep in ANEW:
            store = SqliteStore(path)
        elif keep == "replayed":
            runs._opened.clear()
        state = reply(store, state, number)
        if keep in ANEW:
            store.close()
    first.close()
    yield " ".join(state.result["chosen"])


def bare(path: Path, keep: Keep) -> Iterator[None]:
    """Bare sqlite3 plays: the statements of such a run, their values made beforehand.

    It makes, digests, reads and understands nothing, and so has nothing to say.
    """
    run, entries = _played(path.with_suffix(".model"))
    SqliteStore(path).close()
    first = db = connected(path)
    insert = (
        "INSERT INTO entry (run, n, kind, body, matter, salt, seal, digest) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    )
    row = (1, run.id, run.flow, 1, "", "waiting", "person", "0:", 2, 2, run.first, run.head)
    db.execute("BEGIN IMMEDIATE")
    db.execute("SELECT id, first, runs FROM last").fetchone()
    db.execute(
        f"INSERT INTO run VALUES ({', '.join('?' * 15)})",  # noqa: S608 - question marks
        (*row, run.began, run.since, None),
    )
    db.execute("INSERT OR REPLACE INTO last VALUES (1, ?, ?, 1)", (run.id, run.first))
    db.executemany(insert, entries[:2])
    db.execute("COMMIT")
    if keep == "alone":
        first.close()
    yield
    for n in range(2, len(entries), 2):
        if keep in ANEW:
            db = connected(path)
        if keep != "open":
            db.execute("SELECT * FROM run WHERE id = ?", (run.id,)).fetchall()
            db.execute(
                "SELECT body, matter, seal IS NOT NULL AND matter IS NULL FROM entry WHERE run = ? "
                "AND n <= ? AND kind IN ('began', 'answered', 'returned') ORDER BY n",
                (run.id, n),
            ).fetchall()
        db.execute("BEGIN IMMEDIATE")
        db.execute(
            "UPDATE run SET key = ?, asked = ?, n = ?, head = ?, since = ? "
            "WHERE id = ? AND n = ? AND status = ? AND waits IS ?",
            (f"{n // 2}:", n + 2, n + 2, run.head, run.since, run.id, n, "waiting", "person"),
        )
        db.executemany(insert, entries[n : n + 2])
        db.execute("COMMIT")
        if keep in ANEW:
            db.close()
        yield
    first.close()


def _played(path: Path) -> tuple[Any, list[tuple[Any, ...]]]:
    """A run that Quandary has played: its row and its entries."""
    for _ in quandary(path, "open"):
        pass
    store = SqliteStore(path)
    run = store.runs()[-1]
    entries = [
        (e.run, e.n, e.kind, e.body, e.matter, e.salt, e.seal, e.digest)
        for e in store.entries(run.id)
    ]
    store.close()
    return run, entries


def connected(path: Path) -> sqlite3.Connection:
    """A connection that is set as Quandary sets its own."""
    db = sqlite3.connect(path, timeout=0, isolation_level=None)
    make_durable(db)
    return db


def make_durable(db: sqlite3.Connection) -> None:
    """Have every commit on disk before it returns."""
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")


def require_durable(db: sqlite3.Connection) -> None:
    """Nobody is quick by leaving out the disk."""
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (FULL,)
