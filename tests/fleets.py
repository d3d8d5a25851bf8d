"""A fleet for tests: a project, a schema of a real server, workers here and in other processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from program import PROGRAM
from quandary.agents.calling import Surroundings
from quandary.fleet import open_shared
from quandary.fleet.worker import Orders, Worker
from quandary.journal import open_store
from quandary.journal.verify import verify
from quandary.settings import read_settings
from quandary.settings.agents import read_catalogue
from walk_projects import WalkProject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from quandary.journal.postgres import PostgresStore

COUNTING = Path(__file__).parent / "fleet" / "counting_agent.py"
SOON = 60.0
"""Seconds within which everything that is waited for has to happen, on a busy machine."""


class Camp(WalkProject):
    """A folder with agents and a chart, and a journal that workers share."""

    def __init__(
        self,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        url: str,
    ) -> None:
        super().__init__(folder, capsys, monkeypatch)
        self.url = url
        monkeypatch.setenv("QUANDARY_STORE", url)

    # -- runs --------------------------------------------------------------------------------------

    def queue(self, *words: str, chart: str = "c.csv") -> list[str]:
        """Put runs of the chart into the queue."""
        told = self.walk("--fleet", *words, chart=chart)
        return [state["run"] for state in told.get("runs", [told])]

    def state(self, run: str) -> dict[str, Any]:
        """Where a run stands."""
        ended = self.call("next", run, "--via", "relay")
        loaded: dict[str, Any] = json.loads(ended.out)
        return loaded

    @contextmanager
    def opened(self) -> Iterator[PostgresStore]:
        """The store as any door opens it."""
        store = open_store(self.url)
        yield store  # type: ignore[misc]  # a URL opens no other
        store.close()

    def verified(self) -> bool:
        """Whether the journal is what was written."""
        with self.opened() as store:
            return verify(store).ok

    # -- behind the scenes -------------------------------------------------------------------------

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds, behind everybody's back."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

    def jobs(self) -> list[tuple[str, str]]:
        """The runs in the queue, and how they stand in it: taken by a worker, due, or given up."""
        return self.rows(
            "SELECT run, 'taken' FROM fleet_run WHERE worker IS NOT NULL "
            "UNION ALL SELECT run, 'due' FROM fleet_run WHERE due IS NOT NULL "
            "UNION ALL SELECT run, 'failed' FROM fleet_run WHERE failed ORDER BY 1, 2 DESC"
        )

    def make_due(self) -> None:
        """Nobody waits any longer before they try again what was put back."""
        self.rows("UPDATE fleet_run SET due = now() WHERE due IS NOT NULL")

    def statuses(self) -> dict[str, int]:
        """How many runs stand where."""
        return dict(self.rows("SELECT status, count(*) FROM run GROUP BY 1"))

    def entries(self, run: str) -> list[Any]:
        """The bodies of a run's entries."""
        with self.opened() as store:
            return [entry.read() for entry in store.entries(run)]

    # -- workers -----------------------------------------------------------------------------------

    def worker(self, store: PostgresStore, **orders: Any) -> Worker:  # noqa: ANN401
        """A worker in this process; made where it runs, in an event loop."""
        settings = read_settings()
        around = Surroundings(os.getcwd(), os.environ)
        catalogue = read_catalogue(settings.table("agents"))
        return Worker(store, catalogue, around, Orders(**{"poll": 0.1, **orders}))

    def drain(self, **orders: Any) -> Worker:  # noqa: ANN401
        """Have a worker in this process do all there is to do."""
        store = open_shared(self.url)

        async def work() -> Worker:
            worker = self.worker(store, drain=True, **orders)
            await worker.work()
            return worker

        try:
            return asyncio.run(work())
        finally:
            store.close()

    @contextmanager
    def working(self, **orders: Any) -> Iterator[Working]:  # noqa: ANN401
        """A worker in a thread of this process, which has stopped afterwards."""
        working = Working(self, orders)
        working.start()
        try:
            yield working
        finally:
            working.stop()
            working.stop()
            working.join(SOON)

    @contextmanager
    def workers(
        self, *words: str, count: int = 1, program: tuple[str, ...] = PROGRAM
    ) -> Iterator[list[subprocess.Popen[str]]]:
        """Workers in processes of their own, which are gone afterwards."""
        started = [
            subprocess.Popen(
                [*program, "worker", "--heartbeat", "1", *words],
                cwd=self.folder,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(count)
        ]
        try:
            yield started
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
                process.communicate()


class Working(threading.Thread):
    """A worker beside a test."""

    def __init__(self, camp: Camp, orders: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.camp = camp
        self.orders = {"heartbeat": 1.0, **orders}
        self.loop = asyncio.new_event_loop()
        self.worker: Worker | None = None

    def run(self) -> None:
        """Work until told to stop."""
        store = open_shared(self.camp.url)

        async def work() -> None:
            self.worker = self.camp.worker(store, **self.orders)
            await self.worker.work()

        try:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                runner.run(work())
        finally:
            store.close()

    def stop(self) -> None:
        """Tell it to stop, as a signal would."""
        if self.worker is not None and self.is_alive():
            with contextlib.suppress(RuntimeError):  # it has stopped by itself
                self.loop.call_soon_threadsafe(self.worker.stop, signal.SIGTERM)

    def stopped(self) -> bool:
        """Whether it comes to an end."""
        self.stop()
        self.join(SOON)
        return not self.is_alive()


def until(holds: Callable[[], bool], seconds: float = SOON) -> None:
    """Wait for something that has to happen."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def ended(process: subprocess.Popen[str], signum: signal.Signals | None = None) -> tuple[int, str]:
    """The exit status of a worker and what it logged, after it was told to stop."""
    if signum is not None:
        process.send_signal(signum)
    _, said = process.communicate(timeout=SOON)
    return process.returncode, said


def patched(folder: Path, line: str) -> tuple[str, ...]:
    """The program with one thing about it changed."""
    script = folder / "patched.py"
    script.write_text(
        f"{line}\nimport sys\nfrom quandary.cli import work\nsys.exit(work())\n", encoding="utf-8"
    )
    return (sys.executable, str(script))
