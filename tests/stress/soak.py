"""(d) An hour's work in minutes: questions, answers, walks, open pages; workers come and go.

One server and one worker are there from the beginning to the end. What they hold on to (memory,
files, connections to the database) has a line fitted to it, without the first third, in which they
warm up. The line must be flat.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import httpx
import psycopg

from pressure import memory
from program import PROGRAM, environment
from quandary.journal import open_store
from quandary.journal.verify import verify
from sites import Server
from stress.questions import wanted
from stress.workers import AGENT, SETTINGS
from walk_projects import lucid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stress.ground import Ground

AT_ONCE = 4
"""People who are at it at the same time."""
WALK_EVERY, WALKED = 100, 20
"""After so many cycles so many walks are put into the queue."""
WORKER_EVERY = 60
"""After so many cycles another worker comes, and the one before it is told to go."""
MOST_GROWTH = 5.0
"""Percent of the memory that the line may rise, from the first to the last sample."""
MOST_MORE = 2.0
"""Files or connections that the line may rise."""
TOKEN = "the-token-of-the-soak"  # noqa: S105 - of no server but this one
CONNECTIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


class Sample(NamedTuple):
    """What was held on to at a moment."""

    cycle: int
    serve_memory: int
    worker_memory: int
    serve_files: int
    worker_files: int
    connections: int


def part(ground: Ground) -> None:
    """Keep at it, and see what is left behind."""
    with ground.server.schema() as place:
        soak = Soak(ground, place)
        begun = time.monotonic()
        try:
            soak.start()
            asyncio.run(soak.everything())
        finally:
            soak.end()
        ground.tell("cycles of ask, page, stream, answer", ground.given.cycles)
        ground.tell("cycles a second", ground.given.cycles / (time.monotonic() - begun))
        ground.tell("walks, each an agent, a person, an agent", soak.walks)
        ground.tell("workers that came and went", soak.visitors)
        ground.exactly("requests that failed", len(soak.errors), 0)
        for error in soak.errors[:3]:
            ground.tell("for example", error)
        ground.exactly("workers that ended badly", soak.lost, 0)
        store = open_store(place)
        left = {run.id for run in store.runs(status="waiting", limit=10)}
        ground.exactly("runs left over", len(left), 0)
        ground.exactly("the journal verifies", verify(store).ok, wanted=True)
        store.close()
        _judged(ground, soak.samples)


class Soak:
    """Everything that goes on."""

    def __init__(self, ground: Ground, place: str) -> None:
        self.ground = ground
        self.place = place
        self.folder = ground.folder
        self.server = Server(self.folder, "--store", place, "--token", TOKEN)
        self.worker: subprocess.Popen[bytes] | None = None
        self.visitor: subprocess.Popen[bytes] | None = None
        self.senders: list[subprocess.Popen[bytes]] = []
        """Those that put walks into the queue."""
        self.samples: list[Sample] = []
        self.errors: list[str] = []
        self.cycle = self.walks = self.visitors = self.lost = 0

    def start(self) -> None:
        """A project with an agent, a server, and a worker that stays."""
        agent = self.folder / "agent.sh"
        agent.write_text(AGENT, encoding="utf-8")
        agent.chmod(0o755)
        (self.folder / "quandary.toml").write_text(SETTINGS, encoding="utf-8")
        steps: dict[str, str | dict[str, str]] = {
            "1": {"text": "{{id}} write. Do it", "tags": "NoValidation"},
            "2": {"text": "Is it good?", "tags": "HUMAN"},
            "3": {"text": "{{id}} print. Do it", "tags": "NoValidation"},
            "4": "End",
        }
        (self.folder / "chart.csv").write_text(lucid(steps, "1>2 2>3:OK 2>4:NO 3>4"), "utf-8")
        self.server.start()
        self._run("walk", "chart.csv", "--fleet", "--item", "0|First").wait()
        self.worker = self._work()

    def end(self) -> None:
        """Everybody goes."""
        for process in (self.worker, self.visitor):
            if process is not None:
                process.terminate()
                self.lost += process.wait(60) != 0
        self.server.kill()

    def _run(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*PROGRAM, *words, "--store", self.place],
            cwd=self.folder,
            env=environment({"XDG_CONFIG_HOME": str(self.folder)}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _work(self) -> subprocess.Popen[bytes]:
        return self._run("worker", "--heartbeat", "1", "--log-level", "warning")

    async def everything(self) -> None:
        """Go round and round, and then until nothing is left."""
        watching = asyncio.create_task(self._watch())
        await asyncio.gather(*(self._person() for _ in range(AT_ONCE)))
        for sender in self.senders:
            self.lost += await asyncio.to_thread(sender.wait, 60) != 0
        async with self._client() as client:
            deadline = time.monotonic() + 120
            while await self._left() and time.monotonic() < deadline:
                await self._answer(client)
                await asyncio.sleep(0.2)
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self.server.address,
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=60,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def _person(self) -> None:
        async with self._client() as client:
            while self.cycle < self.ground.given.cycles:
                self.cycle += 1
                await self._round(client, self.cycle)
                self.ground.progress(f"cycle {self.cycle:,} of {self.ground.given.cycles:,}")

    async def _round(self, client: httpx.AsyncClient, cycle: int) -> None:
        """What somebody does who is asked something."""
        if cycle % WALK_EVERY == 0:
            self._walk(cycle)
        if cycle % WORKER_EVERY == 0:
            await self._change_visitor()
        try:
            came = await client.post("/api/asks", json=wanted(f"Number {cycle}"))
            self._require(came, 201)
            run = came.json()["run"]
            async with client.stream("GET", "/events") as stream:
                async for line in stream.aiter_lines():
                    if "hello" in line:
                        break
            self._require(await client.get("/"), 200)
            self._require(await client.get(f"/runs/{run}"), 200)
            await self._answer(client)
        except httpx.HTTPError as error:
            self.errors.append(repr(error))

    async def _answer(self, client: httpx.AsyncClient) -> None:
        """Answer what has waited longest; others may come first."""
        found = (await client.get("/api/inbox?limit=3")).json()["runs"]
        for run in found:
            came = await client.post(f"/api/runs/{run['run']}/reply", json={"text": "OK"})
            if came.status_code != 409:
                self._require(came, 200)

    def _require(self, came: httpx.Response, status: int) -> None:
        if came.status_code != status:
            self.errors.append(f"{came.status_code} {came.text[:200]}")

    def _walk(self, cycle: int) -> None:
        items = [w for n in range(WALKED) for w in ("--item", f"{cycle}-{n}|Item {n}")]
        self.senders.append(self._run("walk", "chart.csv", "--fleet", *items))
        self.walks += WALKED

    async def _change_visitor(self) -> None:
        """One worker goes, another one comes."""
        former, self.visitor = self.visitor, self._work()
        self.visitors += 1
        if former is not None:
            former.terminate()
            self.lost += await asyncio.to_thread(former.wait, 60) != 0

    async def _left(self) -> int:
        async with await psycopg.AsyncConnection.connect(self.place) as connection:
            found = await connection.execute("SELECT count(*) FROM run WHERE status = 'waiting'")
            row = await found.fetchone()
            return int(row[0]) if row else 0

    async def _watch(self) -> None:
        """Take a sample time and again."""
        assert self.server.process is not None
        assert self.worker is not None
        pids = (self.server.process.pid, self.worker.pid)
        async with await psycopg.AsyncConnection.connect(self.place, autocommit=True) as line:
            while True:
                row = await (await line.execute(CONNECTIONS)).fetchone()
                files = (len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
                held = (memory(pid) for pid in pids)
                figures = (self.cycle, *held, *files, int(row[0]) if row else 0)
                self.samples.append(Sample._make(figures))
                await asyncio.sleep(0.5)


def rise(values: Sequence[float]) -> float:
    """By how much a line through the values rises from the first to the last of them."""
    found = statistics.linear_regression(range(len(values)), values)
    return found.slope * (len(values) - 1)


def _judged(ground: Ground, samples: list[Sample]) -> None:
    later = [sample for sample in samples if sample.cycle > ground.given.cycles / 3]
    for name, words in (("serve_memory", "`serve`"), ("worker_memory", "`worker`")):
        held = [getattr(sample, name) for sample in later]
        usual = statistics.median(held)
        ground.at_most(
            f"memory of {words}, {usual / 1024:.0f} MB: the rise",
            rise(held) / usual * 100,
            MOST_GROWTH,
            " %",
        )
    for name, words in (
        ("serve_files", "files that `serve` has open"),
        ("worker_files", "files that `worker` has open"),
        ("connections", "connections to PostgreSQL"),
    ):
        held = [getattr(sample, name) for sample in later]
        usual = statistics.median(held)
        ground.at_most(f"{words}, mostly {usual:.0f}: the rise", rise(held), MOST_MORE)
