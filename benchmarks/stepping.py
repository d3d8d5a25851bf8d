"""The run of steps that players on PostgreSQL play: every step is given something and says it back.

A player is an iterator. At its first step it opens the database, at each further one it plays a
whole run, from its beginning to its end, and says what came of it; whoever plays the same run has
to say the same. The path that it is given is that of a file with the database's address in it.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from asking import CONTEXT, answer, asked
from asking import begin as begin_questions
from asking import reply as reply_to
from quandary.journal import chance, runs
from quandary.journal.postgres import PostgresStore
from quandary.journal.progress import FLOWS
from quandary.model.calls import Call, Output

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

STEPS = 20
"""Steps of a run, and questions of one that asks."""


def made(number: int) -> str:
    """What the step of that number says: about as much as an agent's report."""
    return f"Part {number} is done. {CONTEXT}"


def start(arguments: dict[str, Any]) -> Generator[Call, Output, list[str]]:
    """One call after another, as many as asked for."""
    said = []
    for number in range(arguments["steps"]):
        output = yield Call(f"s{number}", "AGENT", f"Do part {number}.")
        said.append(output.text)
    return said


def register() -> None:
    """Make it a flow that can be run."""
    flow = types.ModuleType("stepping_flow")
    vars(flow).update(VERSION=1, start=start)
    sys.modules["stepping_flow"] = flow
    FLOWS["stepping"] = "stepping_flow"


def steps(place: Path, _keep: str) -> Iterator[str | None]:
    """Quandary plays runs of calls: each is journalled before it is made and when it has come."""
    register()
    store = opened(place)
    yield None
    while True:
        state = runs.begin(store, "stepping", {"steps": STEPS}, who="agent", through="command")
        for number in range(STEPS):
            output = Output(state.calls[0].key, text=made(number), status=0)
            state = runs.advance(store, state.run, output, who="agent", through="agent")
        yield " ".join(state.result)


def questions(place: Path, _keep: str) -> Iterator[str | None]:
    """Quandary plays runs of questions."""
    store = opened(place)
    yield None
    while True:
        state = begin_questions(store, STEPS)
        for number in range(STEPS):
            assert state.ask == asked(number)
            state = reply_to(store, state, number)
        yield " ".join(state.result["chosen"])


def bare(place: Path, _keep: str) -> Iterator[str | None]:
    """Bare psycopg plays: a row for each step, committed, and nothing else."""
    with psycopg.connect(place.read_text(encoding="utf-8"), autocommit=True) as connection:
        require_durable(connection)
        connection.execute("CREATE TABLE IF NOT EXISTS bare (said text)")
        yield None
        while True:
            said = [made(number) for number in range(STEPS)]
            for one in said:
                connection.execute("INSERT INTO bare VALUES (%s)", (one,))
            yield " ".join(said)


def same(place: Path, _keep: str) -> Iterator[str | None]:
    """Bare psycopg plays runs of questions: the statements of one, their values made beforehand.

    It makes, digests and understands nothing; all that differs from run to run is its name.
    """
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from databases import recorded  # noqa: PLC0415 - the tests' own, found only now

    store = opened(place)
    with recorded() as statements:
        state = begin_questions(store, STEPS)
        for number in range(STEPS):
            state = reply_to(store, state, number)
    store.close()
    chosen = " ".join(state.result["chosen"])
    written = (one for one in statements if "INTO" in one[0] or "FOR UPDATE" in one[0])
    (newest, _), last, begin, *moves = written
    with psycopg.connect(place.read_text(encoding="utf-8"), autocommit=True) as connection:
        require_durable(connection)
        yield None
        while True:
            name = chance.new_id(chance.now(), None)
            with connection.pipeline(), connection.transaction():
                _, _, runs, _ = connection.execute(newest, binary=True).fetchone() or ()
                connection.execute(last[0], (name, last[1][1], runs + 1), binary=True)
                connection.execute(begin[0], begin[1] | {"id": name, "number": runs + 1})
            for sql, values in moves:
                connection.execute(sql, values | {"id": name}).fetchall()
            yield chosen


def opened(place: Path) -> PostgresStore:
    """The store, whose commits are on disk before they return."""
    store = PostgresStore(place.read_text(encoding="utf-8"))
    store._connections.do(require_durable)
    return store


def require_durable(connection: psycopg.Connection[Any]) -> None:
    """Nobody is quick by leaving out the disk."""
    for name in ("fsync", "synchronous_commit"):
        assert connection.execute(f"SHOW {name}").fetchone() == ("on",), name


__all__ = ["STEPS", "answer", "asked", "bare", "made", "questions", "require_durable", "steps"]
