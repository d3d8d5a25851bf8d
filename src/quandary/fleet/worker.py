"""A worker: takes runs out of the queue and drives them, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from quandary.agents import Driver, aside
from quandary.agents.calling import Surroundings, logged_out, make_call, obstacles
from quandary.agents.process import catching
from quandary.desk.reply import actions
from quandary.desk.walks import SET_ASIDE, find_answered, launch
from quandary.errors import NotFound, QuandaryError, Rejected, StoreError
from quandary.fleet import THROUGH, Job, JobEnd, JobQueue, Queue, takeable
from quandary.journal import runs
from quandary.journal.entries import Source
from quandary.model.asks import Note
from quandary.model.calls import Call, Output, fold

if TYPE_CHECKING:
    from quandary.journal.postgres import PostgresStore
    from quandary.journal.runs import OpenRun
    from quandary.settings.agents import Catalogue

log = logging.getLogger("quandary.fleet")
STOPPING = "this worker stops"
GIVEN_UP = "given-up"  # a note: no worker takes the run by itself
SIGNS_MISSED = 3  # after so many signs of life that did not come, a worker is presumed dead
LONGEST_PAUSE = 60.0  # seconds before something is tried again that has failed many times
MOST_ATTEMPTS = 5  # how often an error is tried again that nobody foresaw
LOGGED_OUT, LOGGED_IN = 30.0, 600.0
"""Seconds for which it is remembered whether somebody is logged in: it takes a program to ask."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SESSIONS = "CLAUDE"
"""The queue of a worker that resumes parked sessions, and the agent whose limit holds for them."""
_LOOK = 0.5  # seconds after which it is looked whether a session has ended
_FAREWELL = 5.0  # seconds that a worker tries to say that it is gone
_THREADS = 4
"""So many store calls are made at once, each on a connection; two more listen and hold locks."""


class Orders(NamedTuple):
    """What a worker is told: how much to take on, of what, and how to stop."""

    concurrency: int = 8  # the most runs that it drives at the same time
    queues: frozenset[str] = frozenset()
    """The names of those that it takes runs from, folded; all, where none is named."""
    limits: Mapping[str, int] = MappingProxyType({})
    """The most calls of an agent at the same time, by its folded name."""
    grace: float = 30.0
    """Seconds that calls get to end by themselves when the worker is told to stop."""
    heartbeat: float = 5.0  # seconds between two signs of life
    poll: float = 2.0  # seconds after which it looks for work that nobody told it of
    drain: bool = False  # stop when there is nothing left to do
    workdir: str = ""  # where agents work, in place of the folders in which the runs were begun

    @property
    def silence(self) -> float:
        """Seconds after which a worker that gave no sign of life is presumed dead."""
        return self.heartbeat * SIGNS_MISSED


def put_back(why: str, attempts: int = -1) -> JobEnd:
    """Into the queue again: at once, or after a while that doubles with each attempt."""
    pause = min(2.0 ** min(attempts, 10), LONGEST_PAUSE) if attempts >= 0 else 0.0
    return JobEnd("back", why, pause)


def judge(error: Exception, attempts: int) -> JobEnd:
    """What an error means for the run. Only what has nothing to do with the run is tried again: the
    database is away, another process drives the run. A run that cannot be resumed could not be the
    next time either.
    """
    foreseen = isinstance(error, QuandaryError)
    why = str(error) if foreseen else f"{type(error).__name__}: {error}"
    passing = isinstance(error, StoreError | Rejected)
    if passing or (not foreseen and attempts + 1 < MOST_ATTEMPTS):
        return put_back(why, attempts)
    return JobEnd("failed", why)


class WorkerAgents:
    """The agents of this machine: their programs, their logins, and room for so many calls."""

    def __init__(self, catalogue: Catalogue, limits: Mapping[str, int]) -> None:
        self.catalogue = catalogue
        self._room = {name: asyncio.Semaphore(most) for name, most in limits.items()}
        self._logins: dict[str, tuple[float, str]] = {}
        self._asking = asyncio.Lock()

    async def obstacle(self, codename: str, around: Surroundings) -> str:
        """Why an agent cannot be asked in a folder of this machine; nothing if it can."""
        try:
            agent = self.catalogue.find(codename)
        except NotFound as unknown:
            return str(unknown)
        found = obstacles(agent, around)
        if found or not agent.login:
            return found[0] if found else ""
        async with self._asking:  # many runs that begin at once have it looked up once
            until, why = self._logins.get(agent.name, (0.0, ""))
            if time.monotonic() >= until:
                why = await logged_out(agent, around)
                until = time.monotonic() + (LOGGED_OUT if why else LOGGED_IN)
                self._logins[agent.name] = (until, why)
        return why

    def room(self, agent: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Within it, no more calls of the agent are made than allowed."""
        return self._room.get(fold(agent)) or contextlib.nullcontext()

    def unable(self, around: Surroundings) -> frozenset[str]:
        """The folded names of agents that are known here and cannot be asked."""
        agents = self.catalogue.agents
        return frozenset(name for name, agent in agents.items() if obstacles(agent, around))


class Turn:
    """One run while this worker has it."""

    def __init__(self, driver: Driver, agents: WorkerAgents, job: Job, workdir: str) -> None:
        self.driver = copy(driver)
        self.driver.make_call, self.driver.prepare = self._make_call, self._prepare
        self.store, self.agents, self.job, self.workdir = driver.store, agents, job, workdir
        self.run = job.run
        self.task: asyncio.Task[Any] | None = None
        self.calling = 0  # how many programs work for it
        self.aside = ""  # why it goes on elsewhere or later, once no program works for it
        self.driven = False  # whether it can be interrupted
        self.untouched = False  # it was interrupted when no program worked for it

    async def drive(self) -> JobEnd:
        """Drive it until it waits for a person or is over; what becomes of it in the queue."""
        self.driven = True
        attempts = self.job.attempts
        try:
            state = await self.driver.drive(self.run, row=self.job.row)
            while state.deed is not None:
                state = await self.driver.drive(self.run)
        except asyncio.CancelledError:
            if not self.aside:
                raise
            end = put_back(self.aside, -1 if self.aside == STOPPING else attempts)
            level = logging.INFO if self.aside == STOPPING else logging.WARNING
            self._log(level, f"put back: {self.aside}")
            if self.untouched:
                self._note(SET_ASIDE, f"No agent has begun with it: {self.aside}.")
        except Exception as error:  # noqa: BLE001 - whatever it is, the other runs go on
            end = judge(error, attempts)
            if end.kind == "back":
                trace = None if isinstance(error, QuandaryError) else error
                self._log(logging.WARNING, f"put back: {end.why}", error=trace)
            else:
                self._log(logging.ERROR, f"given up: {end.why}", error=error)
                self._note(GIVEN_UP, f"Workers have given up this run: {end.why}")
        else:
            end = JobEnd("done")
            text = "waits for a person" if state.status == "waiting" else state.status
            why = f": {state.error}" if state.error else ""
            self._log(logging.INFO, text + why, status=state.status, entries=state.n)
        finally:
            self.driven = False
        return end

    def _log(self, level: int, what: str, error: Exception | None = None, **facts: object) -> None:
        facts["run"] = self.run
        log.log(level, "run %s: %s", self.run, what, exc_info=error, extra=facts)

    def _note(self, kind: str, text: str) -> None:
        """Have the journal say it, if the run is still waiting and the journal can be written."""
        with contextlib.suppress(QuandaryError):
            runs.note(self.store, self.run, Note(kind, text), who="agent", through=THROUGH)

    async def _prepare(self, run: OpenRun) -> Surroundings:
        """Whatever keeps the run from going on is found out before anything is spent."""
        folder = self.workdir or str(run.arguments.get("workdir") or os.getcwd())
        if not os.path.isdir(folder):
            raise Rejected(f"the folder {folder} is not on this machine; see --workdir")
        around = replace(self.driver.around, folder=folder)
        if run.row.waits == "house":
            do, said = actions(self.store, self.run), Source("agent", THROUGH)
            await aside(runs.advance, self.store, run, deeds=do, **said._asdict())
        for call in run.state.calls:
            if obstacle := await self.agents.obstacle(call.agent, around):
                raise Rejected(obstacle)
        return around

    async def _make_call(self, call: Call, catalogue: Catalogue, around: Surroundings) -> Output:
        """Make a call when there is room for it; one that cannot be made here is not begun."""
        if obstacle := await self.agents.obstacle(call.agent, around):
            self.put_aside(obstacle)
        async with self.agents.room(call.agent):
            if self.aside:
                await asyncio.Event().wait()  # until the run is interrupted
            self.calling += 1
            try:
                log.debug("run %s: %s %s", self.run, call.key, call.agent, extra={"run": self.run})
                # What agents may change on this machine is for its own settings to say.
                return await make_call(replace(call, changes=False), catalogue, around)
            finally:
                self.calling -= 1
                if self.aside:
                    self.put_aside(self.aside)

    def put_aside(self, why: str) -> None:
        """Begin no further call, and interrupt the run, at no cost, when those under way ended."""
        self.aside = why
        if not self.calling:
            asyncio.get_running_loop().call_soon(self.interrupt)

    def interrupt(self) -> None:
        """Stop now, and say so in the journal."""
        if self.driven and self.task is not None:
            self.driven = False  # it is told once, and has the time to clean up
            self.untouched = not self.calling
            self.task.cancel()


class Worker:
    """One process of a fleet."""

    def __init__(
        self, store: PostgresStore, catalogue: Catalogue, around: Surroundings, orders: Orders
    ) -> None:
        self.orders = orders
        self.agents = WorkerAgents(catalogue, orders.limits)
        self.driver = Driver(store, catalogue, around)
        self.queue = JobQueue(store)
        self.id = 0
        self.turns: set[Turn] = set()  # the runs that it has
        self.failed = 0  # how many it had to give up
        self.stopped_by: signal.Signals | None = None
        self._queues: list[Queue] = []
        self._strange: set[str] = set()
        """Queues of versions that it does not know, as far as that was said."""
        self._woken = asyncio.Event()
        self._alone = asyncio.Lock()  # held by whoever takes a run or gives a sign of life
        self._sessions: dict[str, asyncio.Task[None]] = {}  # parked sessions that it resumes
        self._known: set[str] = set()
        """Runs with which no session is parked that it could resume, or not any more."""
        self._ending = False
        self._error: BaseException | None = None
        runs.keep_open(store, orders.concurrency)

    async def work(self) -> None:
        """Take runs and drive them until somebody says stop, or nothing is left to do."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
        self.id = await self.queue.register(self.orders.silence)
        log.info("worker %d begins on %s", self.id, self.queue.place, extra={"worker": self.id})
        work_beside = (self.queue.listen(self._woken.set), self._live())
        beside = [asyncio.create_task(each) for each in work_beside]
        for task in beside:
            task.add_done_callback(self._fail)
        try:
            with catching(_SIGNALS, self.stop):
                await self._take()
                await self._finish()
        finally:
            await _cancel(*beside, *self._sessions.values())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL):
                    await self.queue.unregister(self.id)
        if self._error is not None:
            raise self._error
        log.info("worker %d ends", self.id, extra={"worker": self.id})

    def _fail(self, task: asyncio.Task[None]) -> None:
        """Without signs of life, or deaf, a worker had better stop: somebody starts it anew."""
        if not task.cancelled() and task.exception() is not None:
            self._error = task.exception()
            self._ending = True
            self._woken.set()

    async def _take(self) -> None:
        """Take one run after another, as many at a time as there is room for."""
        while not self._ending:
            self._woken.clear()
            idle = not self.turns
            if len(self.turns) < self.orders.concurrency:
                if await self._take_one():
                    continue
                # What ended while it looked may have left something to do.
                if self.orders.drain and idle and await self._beat():
                    return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.orders.poll):
                    await self._woken.wait()

    async def _take_one(self) -> bool:
        """Take a run out of a queue for which there is room; whether there was one."""
        for _ in range(2):
            names = [queue.full for queue in self._queues if self._has_room(queue)]
            async with self._alone:
                job = await self.queue.take(names, self.id) if names else None
                if job is not None:
                    turn = Turn(self.driver, self.agents, job, self.orders.workdir)
                    self.turns.add(turn)
                    turn.task = asyncio.create_task(self._drive(turn))
                    if self._ending:
                        turn.put_aside(STOPPING)
                    return True
            if not await self._list_queues():
                break
        return False

    async def _list_queues(self) -> bool:
        """Look which queues there are; whether there are others than before."""
        known, found = self._queues, await self.queue.queues()
        self._queues = takeable(found, self.orders.queues, self.agents.unable(self.driver.around))
        for queue in found:
            if not queue.is_known and queue.full not in self._strange:
                self._strange.add(queue.full)
                if waiting := await self.queue.count_due(queue.full):
                    log.warning(
                        "%d runs in %s are of version %d of %s, which this worker does not know; "
                        "they need one that does",
                        *(waiting, queue.name, queue.version, queue.flow),
                    )
        return self._queues != known

    def _has_room(self, queue: Queue) -> bool:
        """Whether the agent after whom a queue is named may be asked once more."""
        most = self.orders.limits.get(fold(queue.name), self.orders.concurrency)
        names = [turn.job.queue.rpartition("@")[0] for turn in self.turns]
        return names.count(queue.name) < most

    async def _drive(self, turn: Turn) -> None:
        """Drive a run, and record in the queue what became of it."""
        try:
            end = await turn.drive()
            self.failed += end.kind == "failed"
            await self.queue.settle(turn.job, end)
        except Exception:
            log.exception("run %s: it is put back later", turn.run, extra={"run": turn.run})
        finally:
            self.turns.discard(turn)
            self._woken.set()

    async def _resume_sessions(self) -> None:
        """Resume what was parked on this machine and is answered, each session once."""
        wanted = not self.orders.queues or fold(SESSIONS) in self.orders.queues
        if not wanted or self._ending:
            return
        try:
            found = await asyncio.to_thread(find_answered, self.driver.store, self._known)
        except StoreError as error:  # the next sign of life waits until the server is back
            log.warning("parked sessions are looked for later: %s", error)
            return
        for session, run in found.items():
            # One that has not ended may have been parked again; then its turn comes after that.
            if session not in self._sessions or self._sessions[session].done():
                self._known.add(run)
                self._sessions[session] = asyncio.create_task(self._resume_session(run))

    async def _resume_session(self, run: str) -> None:
        """Have a program resume it, which outlives this one; no more at a time than allowed."""
        async with self.agents.room(SESSIONS):
            log.info("run %s: resuming its session", run, extra={"run": run})
            try:
                program = launch(self.driver.store, run, os.curdir)
            except QuandaryError as error:
                log.warning("run %s: its session waits: %s", run, error, extra={"run": run})
                return
            while program.poll() is None:
                await asyncio.sleep(_LOOK)
            facts = {"run": run, "ended": program.returncode}
            level = logging.WARNING if program.returncode else logging.INFO
            log.log(level, "run %s: its session ended (%d)", run, program.returncode, extra=facts)

    async def _live(self) -> None:
        """Give a sign of life time and again, and take care of those that gave none."""
        while True:
            await self._beat()
            await self._resume_sessions()
            async with self._alone:
                rescued = await self.queue.rescue(self.id, [turn.run for turn in self.turns])
            for run in rescued:
                log.warning("run %s: its worker is gone; put back", run, extra={"run": run})
            await asyncio.sleep(self.orders.heartbeat)

    async def _beat(self) -> bool:
        """Give a sign of life; whoever was presumed dead goes on under another number."""
        async with self._alone:
            if await self.queue.beat(self.id):
                return True
            lost = self.id
            self.id = await self.queue.register(self.orders.silence)
            log.warning("worker %d was presumed dead; it is %d now", lost, self.id)
            self._woken.set()
            return False

    def stop(self, signum: signal.Signals) -> None:
        """Begin nothing new. Who says it twice does not want to wait for what is under way."""
        again, self.stopped_by = self.stopped_by is not None, signum
        self._ending = True
        self._woken.set()
        log.info("told to stop (%s)", signum.name)
        for turn in list(self.turns):
            turn.put_aside(STOPPING)
            if again:
                turn.interrupt()

    async def _finish(self) -> None:
        """Let calls that are under way end by themselves for a while, then stop them."""
        tasks = [turn.task for turn in self.turns if turn.task is not None]
        if not tasks:
            return
        await asyncio.wait(tasks, timeout=self.orders.grace)
        for turn in list(self.turns):
            turn.interrupt()
        await asyncio.wait(tasks)


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    """End tasks, which in Python 3.11 may overhear it while they wait for a connection."""
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=0.2)
