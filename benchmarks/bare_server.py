"""A bare Litestar application on SQLite: it runs statements that it was given, and answers."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from litestar import Litestar, MediaType, get, post

Fill = Callable[[str, int], list[Any]]


class Wanted(msgspec.Struct):
    """What is asked."""

    context: str
    options: list[str]
    question: str = ""


class Answer(msgspec.Struct):
    """An answer."""

    key: str
    picked: list[str] = []


class Reply(msgspec.Struct):
    """Answers."""

    to: str
    answers: list[Answer]


def main() -> None:
    """Serve: the store, the script, the port."""
    store, script, port = sys.argv[1:]
    given = msgspec.json.decode(Path(script).read_bytes(), type=dict[str, tuple[Any, Any]])
    db = sqlite3.connect(store, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA synchronous = FULL")
    assert db.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    lock, numbers = threading.Lock(), iter(range(10**6, 10**9))
    bound = {name: [prepare(*one) for one in said] for name, (said, _) in given.items()}

    answers = {
        name: msgspec.json.decode(text) for name, (_, text) in given.items() if text.startswith("{")
    }

    def run(name: str, named: str) -> None:
        with lock:
            number = next(numbers)
            for sql, fill, many in bound[name]:
                values = fill(named, number)
                if many:
                    db.executemany(sql, values)
                else:
                    db.execute(sql, values).fetchall()

    def play(name: str, run_id: str) -> dict[str, Any]:
        run(name, run_id)
        return {**answers[name], "run": run_id}

    @post("/api/asks", sync_to_thread=True)
    def ask(data: Wanted) -> dict[str, Any]:  # noqa: ARG001 - it is read, as ours is
        return play("ask", f"RUN{next(numbers):023}")

    @post("/api/runs/{run:str}/reply", sync_to_thread=True)
    def reply(run: str, data: Reply) -> dict[str, Any]:  # noqa: ARG001 - the same
        return play("reply", run)

    @get("/", sync_to_thread=True, media_type=MediaType.HTML)
    def page() -> str:
        run("page", "")
        return str(given["page"][1])

    @get("/joined", sync_to_thread=True, media_type=MediaType.HTML)
    def joined() -> str:
        run("joined", "")
        return str(given["joined"][1])

    app = Litestar([ask, reply, page, joined], openapi_config=None, logging_config=None)
    quiet: dict[str, Any] = {"log_config": None, "access_log": False, "ws": "none"}
    uvicorn.run(app, port=int(port), http="httptools", loop="asyncio", **quiet)


def prepare(sql: str, values: list[Any], many: bool) -> tuple[str, Fill, bool]:
    """A statement, and what its values are for a run."""
    numbered = sql.startswith("INSERT INTO run ")

    def fill(one: list[Any], run: str, number: int) -> list[Any]:
        found = [put(value, run) for value in one]
        return [number, *found[1:]] if numbered else found

    def put(value: object, run: str) -> object:
        if isinstance(value, dict):
            return bytes(value["bytes"])
        return value.replace("RUN", run) if isinstance(value, str) else value

    if many:
        return sql, lambda run, number: [fill(one, run, number) for one in values], True
    return sql, lambda run, number: fill(values, run, number), False


if __name__ == "__main__":
    main()
