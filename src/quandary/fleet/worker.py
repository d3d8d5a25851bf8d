"""A worker: takes runs out of the queue and goes on with them, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from typing import TYPE_CHECKING

from quandary.fleet.going import STOPPING, Going
from quandary.fleet.means import Means
from quandary.fleet.queue import JobQueue
from quandary.fleet.queues import takeable
from quandary.journal import replay
from quandary.model.call import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from procrastinate.jobs import Job

    from quandary.agents.calling import Surroundings
    from quandary.agents.catalogue import Catalogue
    from quandary.fleet.orders import Orders
    from quandary.fleet.queues import Queue
    from quandary.journal.postgres import PostgresStore

log = logging.getLogger("quandary.fleet")
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FAREWELL = 5.0
"""Seconds that a worker tries to say that it is gone."""


class Worker:
    """One process of a fleet."""

    def __init__(
        self, store: PostgresStore, catalogue: Catalogue, around: Surroundings, orders: Orders
    ) -> None:
        self.store = store
        self.around = around
        self.orders = orders
        self.means = Means(catalogue, orders.limits)
        self.queue = JobQueue(store)
        self.id = 0
        self.under_way: set[Going] = set()
        """The runs that it goes on with."""
        self.failed = 0
        """How many it had to give up."""
        self.stopped_by: signal.Signals | None = None
        self._queues: list[Queue] = []
        self._strange: set[str] = set()
        """Queues of versions that it does not know, as far as that was said."""
        self._woken = asyncio.Event()
        self._beating = asyncio.Lock()
        self._ending = False
        self._error: BaseException | None = None
        replay.MOST_OPEN = max(replay.MOST_OPEN, orders.concurrency + 8)

    async def work(self) -> None:
        """Take runs and go on with them until somebody says stop, or nothing is left to do."""
        async with self.queue:
            self.id = await self.queue.register(self.orders.silence)
            log.info("worker %d begins on %s", self.id, self.queue.place, extra={"worker": self.id})
            beside = [
                asyncio.create_task(self.queue.listen(self._woken.set)),
                asyncio.create_task(self._live()),
            ]
            for task in beside:
                task.add_done_callback(self._fail)
            try:
                with self._signals():
                    await self._take()
                    await self._finish()
            finally:
                await _cancelled(*beside)
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

    # -- taking ----------------------------------------------------------------------------------

    async def _take(self) -> None:
        """Take one run after another, as many at a time as there is room for."""
        while not self._ending:
            self._woken.clear()
            idle = not self.under_way
            if len(self.under_way) < self.orders.concurrency:
                job = await self._next()
                if job is not None:
                    self._begin(job)
                    continue
                # What ended while it looked may have left something to do.
                if self.orders.drain and idle and await self._beat():
                    return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.orders.poll):
                    await self._woken.wait()

    async def _next(self) -> Job | None:
        """A job out of a queue for which there is room."""
        for _ in range(2):
            names = [queue.full for queue in self._queues if self._has_room(queue)]
            job = await self.queue.fetch(names, self.id) if names else None
            if job is not None:
                return job
            if not await self._list_queues():
                break
        return None

    async def _list_queues(self) -> bool:
        """Look which queues there are; whether there are others than before."""
        known, found = self._queues, await self.queue.queues()
        self._queues = takeable(found, self.orders.queues, self.means.unable(self.around))
        for queue in found:
            if not queue.known and queue.full not in self._strange:
                self._strange.add(queue.full)
                waiting = await self.queue.waiting([queue.full])
                if waiting:
                    log.warning(
                        "%d runs in %s are of version %d of %s, which this worker does not know; "
                        "they need one that does",
                        *(waiting, queue.name, queue.version, queue.flow),
                    )
        return self._queues != known

    def _has_room(self, queue: Queue) -> bool:
        """Whether the agent after whom a queue is named may be asked once more."""
        most = self.orders.limits.get(fold(queue.name))
        if most is None:
            return True
        return sum(going.queue == fold(queue.name) for going in self.under_way) < most

    def _begin(self, job: Job) -> None:
        run = str(job.task_kwargs["run"])
        name = fold(job.queue.rpartition("@")[0])
        going = Going(self.store, self.means, self.around, run, name, job.attempts)
        self.under_way.add(going)
        going.task = asyncio.create_task(self._go(job, going))
        if self._ending:
            going.put_aside(STOPPING)

    async def _go(self, job: Job, going: Going) -> None:
        """Go on with a run, and say what became of its job."""
        try:
            outcome = await going.go(self.orders.workdir)
            self.failed += outcome.kind == "failed"
            assert job.id is not None  # noqa: S101 - it came out of the database
            assert job.worker_id is not None  # noqa: S101 - as above
            await self.queue.settle(job.id, job.worker_id, outcome)
        except Exception:
            told = "run %s: nothing could be said of its job; others get it when this worker ends"
            log.exception(told, going.run, extra={"run": going.run})
        finally:
            self.under_way.discard(going)
            self._woken.set()

    # -- signs of life ---------------------------------------------------------------------------

    async def _live(self) -> None:
        """Give a sign of life time and again, and take care of those that gave none."""
        while True:
            await self._beat()
            for run in await self.queue.rescue():
                log.warning("run %s: its worker is gone; put back", run, extra={"run": run})
            await asyncio.sleep(self.orders.heartbeat)

    async def _beat(self) -> bool:
        """Give a sign of life; whoever was taken for dead goes on under another number."""
        async with self._beating:
            if await self.queue.beat(self.id):
                return True
            lost = self.id
            self.id = await self.queue.register(self.orders.silence)
            log.warning("worker %d was taken for dead; it is %d now", lost, self.id)
            self._woken.set()
            return False

    # -- stopping --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Within it, signals tell the worker to stop, if it has the process to itself."""
        loop = asyncio.get_running_loop()
        caught = _SIGNALS if threading.current_thread() is threading.main_thread() else ()
        for one in caught:
            loop.add_signal_handler(one, self.stop, one)
        try:
            yield
        finally:
            for one in caught:
                loop.remove_signal_handler(one)

    def stop(self, signum: signal.Signals) -> None:
        """Begin nothing new. Who says it twice does not want to wait for what is under way."""
        again, self.stopped_by = self.stopped_by is not None, signum
        self._ending = True
        self._woken.set()
        log.info("told to stop (%s)", signum.name)
        for going in list(self.under_way):
            going.put_aside(STOPPING)
            if again:
                going.interrupt()

    async def _finish(self) -> None:
        """Let calls that are under way end by themselves for a while, then stop them."""
        tasks = [going.task for going in self.under_way if going.task is not None]
        if not tasks:
            return
        await asyncio.wait(tasks, timeout=self.orders.grace)
        for going in list(self.under_way):
            going.interrupt()
        await asyncio.wait(tasks)


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    """End tasks, which in Python 3.11 may overhear it while they wait for a connection."""
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=0.2)
