"""The world of one seed: virtual time, processes that can be killed, and faults at every call of
the store. Nothing here waits, and every chance comes from the seed.

A simulated process is a store of its own and the requests that it works on, each a greenlet. The
baton is passed in virtual time: who sleeps, or is kept waiting at a call of the store, lets those
go first whose time comes sooner. Whoever is killed is never given the baton again.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from unittest.mock import patch

from greenlet import GreenletExit, getcurrent, greenlet

from quandary.errors import QuandaryError, StoreError
from quandary.journal import chance

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from quandary.journal.store import Store

T = TypeVar("T")

START = datetime(2027, 3, 1, 9, tzinfo=UTC)
LONGEST = 4_000
"""So often is the baton passed at most; who needs it more often than that goes in circles."""
FAULTS = {
    "read": ("pause", "pause", "pause", "slow", "refused", "killed"),
    "write": ("pause", "pause", "pause", "slow", "refused", "killed"),
    "written": ("pause", "pause", "slow", "unheard", "killed"),
    "file": ("pause", "slow", "killed"),
}
"""What can happen before something is read or written, when it was written, and around a file."""
WEATHER = (0.0, 0.02, 0.06, 0.15)
"""How often it does; each seed has one of these."""


class Lost(Exception):  # noqa: N818 - said of a request
    """The process that worked on a request is gone; nobody knows what came of it."""


class Broken(Exception):  # noqa: N818 - said of the program
    """Something is not as it must be."""


class Only(NamedTuple):
    """As much of a seed as is played: some actors, each for so many acts, and some faults."""

    acts: dict[str, int]
    faults: frozenset[str]

    @classmethod
    def read(cls, text: str) -> Only:
        """`ann=4 bob=2 ann@17` is what `str` gives."""
        words = [word.partition("=") for word in text.split() if "=" in word]
        faults = frozenset(word for word in text.split() if "@" in word)
        return cls({name: int(number) for name, _, number in words}, faults)

    def __str__(self) -> str:
        named = [f"{name}={number}" for name, number in self.acts.items()]
        return " ".join([*named, *sorted(self.faults)])


class Process:
    """A program at work on the store, as long as it lives."""

    def __init__(self, world: World, name: str, place: str = "here") -> None:
        self.world, self.name, self.place = world, name, place
        self.is_dead = False
        self.store: Store = world.open_store(self)
        self.requests: list[Request] = []

    def kill(self) -> None:
        """End it at once: nothing of it is done any more, and what it held is free."""
        self.is_dead = True
        self.world.tell(f"{self.name} is killed")
        self.world.killed(self)
        for run in [run for run, owner in self.world.locks.items() if owner is self]:
            del self.world.locks[run]
        for request in self.requests:
            self.world.buried.append(request.fiber)
            self.world.wake(request.client, Lost())


class Request(NamedTuple):
    """What a process works on for a client."""

    fiber: greenlet
    client: greenlet
    actor: str
    process: Process


class World:
    """Everything that one seed decides."""

    def __init__(self, seed: int | str, only: Only | None = None) -> None:
        self.seed, self.only = seed, only
        self.time = self.skew = self.gone_until = 0.0
        self.locks: dict[str, object] = {}
        """The runs that are driven, the tracks that are changed, and by whom."""
        self.buried: list[greenlet] = []
        self.lines: list[str] = []
        """The history, for people."""
        self.struck: list[str] = []
        """The faults that struck, in order."""
        self.committed: Callable[[], None] = lambda: None
        """Called whenever something was written."""
        self.killed: Callable[[Process], None] = lambda _: None
        self.open_store: Callable[[Process], Store]
        self._queue: list[tuple[float, int, greenlet, object]] = []
        self._order = count()
        self._hub = getcurrent()
        self._requests: dict[greenlet, Request] = {}
        self._actors: dict[greenlet, str] = {}
        self._points = Counter[str]()
        self._over = False
        self._chance, self._streams = self.random("chance"), dict[str, Random]()
        self._weather = self.random("weather").choice(WEATHER)

    def random(self, name: str) -> Random:
        """A source of chance of its own, so that what is cut elsewhere changes nothing here."""
        return Random(f"{self.seed}/{name}")  # noqa: S311 - it has to be foreseen

    def tell(self, line: str) -> None:
        """Add a line to the history."""
        self.lines.append(f"{self.time:9.3f}  {line}")

    @property
    def digest(self) -> str:
        """By what two histories are compared, byte for byte."""
        return sha256("\n".join(self.lines).encode()).hexdigest()

    # -- time ------------------------------------------------------------------------------------

    def now(self) -> datetime:
        """The clock on the wall, which may be wrong."""
        return START + timedelta(seconds=round(self.time + self.skew, 6))

    def sleep(self, seconds: float) -> None:
        """Let others go first."""
        if self._over:
            raise GreenletExit
        self.wake(getcurrent(), None, seconds)
        self._pass_baton()

    def _pass_baton(self) -> Any:  # noqa: ANN401 - what `wake` gives
        """Wait for the next turn; others may have event loops of their own."""
        loop = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        value = self._hub.switch()
        asyncio._set_running_loop(loop)
        return value

    def wake(self, fiber: greenlet, value: object, seconds: float = 0.0) -> None:
        """Have somebody given the baton, and a value with it."""
        heappush(self._queue, (self.time + max(seconds, 0.0), next(self._order), fiber, value))

    def act(self, name: str, habits: Callable[..., object]) -> None:
        """Let an actor begin."""
        fiber = greenlet(habits, self._hub)
        self._actors[fiber] = name
        self.wake(fiber, None, self.random(f"{name} comes").uniform(0, 5))

    def run(self) -> None:
        """Pass the baton until nobody wants it."""
        for _ in range(LONGEST):
            if not self._queue:
                return
            self.time, _, fiber, value = heappop(self._queue)
            if fiber not in self.buried and not fiber.dead:
                fiber.switch(*(() if value is None else (value,)))
        raise Broken(f"it goes in circles: the baton was passed {LONGEST:,} times")

    def close(self) -> None:
        """Let go of whoever is left in the middle of something."""
        self._over = True
        for fiber in {*self.buried, *self._actors, *self._requests}:
            with suppress(BaseException):
                fiber.throw(GreenletExit)
        self._requests.clear()

    # -- processes -------------------------------------------------------------------------------

    def call(self, process: Process, work: Callable[[Store], T]) -> T:
        """Have a process do something for the actor whose turn it is; `Lost` where it is killed."""
        client = getcurrent()

        def body(*_: object) -> None:
            came: object
            try:
                came = (work(process.store),)
            except (QuandaryError, Lost) as error:
                came = error
            del self._requests[request.fiber]
            process.requests.remove(request)
            self.wake(client, came)

        request = Request(greenlet(body, self._hub), client, self._actors[client], process)
        self._requests[request.fiber] = request
        process.requests.append(request)
        self.wake(request.fiber, None)
        came = self._pass_baton()
        if isinstance(came, Exception):
            raise came
        return came[0]  # type: ignore[no-any-return]  # as it was given

    @property
    def request(self) -> Request | None:
        """What is worked on at this moment."""
        return self._requests.get(getcurrent())

    def point(self, place: str, what: str) -> None:
        """A call of the store: here others may go first, and a fault may strike."""
        request = self.request
        if self._over:
            raise GreenletExit
        if request is not None and self.time < self.gone_until and place != "file":
            raise StoreError("the store is restarted")
        if request is None or not self._weather:
            return
        actor = request.actor
        chances = self._streams.setdefault(actor, self.random(f"{actor}'s faults"))
        if chances.random() >= self._weather:
            return
        self._points[actor] += 1
        name, kind = f"{actor}@{self._points[actor]}", chances.choice(FAULTS[place])
        seconds = chances.uniform(0, 2) if kind == "pause" else chances.uniform(5, 120)
        if self.only is not None and name not in self.only.faults:
            return
        self.struck.append(name)
        self.tell(f"{name}: {kind} {'after' if place == 'written' else 'before'} {what}")
        if kind in ("pause", "slow"):
            self.sleep(seconds)
        elif kind in ("refused", "unheard"):
            raise StoreError(f"the store is gone for a moment ({kind})")
        else:
            request.process.kill()
            self._pass_baton()


class Loop(asyncio.BaseEventLoop):
    """An event loop in virtual time, for one request of a process."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self._selector = world, self
        self.is_over = False

    def run(self, work: Coroutine[Any, Any, T], patience: float | None = None) -> T:
        """What comes of it; after so long it is asked to stop."""
        task = self.create_task(work)
        if patience is not None:
            self.call_later(patience, task.cancel)
        try:
            return self.run_until_complete(task)
        finally:
            self.is_over = True
            if left := asyncio.all_tasks(self):
                for one in left:
                    one.cancel()
                self.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.close()

    def time(self) -> float:
        return self.world.time

    def select(self, timeout: float | None) -> list[object]:
        """Wait for what comes next; nothing comes from outside."""
        if (timeout is None or timeout > 0) and not self.is_over:
            self.world.sleep(timeout or 0.0)
        return []

    def run_in_executor(self, _: object, work: Callable[..., T], *args: object) -> Any:  # noqa: ANN401
        """There are no threads here."""
        future = self.create_future()
        future.set_result(work(*args))
        return future

    def _process_events(self, _: object) -> None:
        pass

    def _write_to_self(self) -> None:
        pass


@contextmanager
def played(world: World, *patches: Any) -> Iterator[None]:  # noqa: ANN401 - whatever `patch` gives
    """Within it, every chance is the world's."""
    draw = world._chance

    def new_id(moment: datetime, last: str | None) -> str:
        with patch.object(os, "urandom", draw.randbytes):
            return real_id(moment, last)

    real_id, before = chance.new_id, os.getcwd()
    replaced = {
        "now": world.now,
        "monotonic": lambda: world.time,
        "sleep": lambda seconds: world.sleep(seconds) if world.request else None,
        "salt": lambda: draw.randbytes(16),
        "uniform": draw.uniform,
        "new_id": new_id,
    }
    with ExitStack() as stack:
        for name, instead in replaced.items():
            stack.enter_context(patch.object(chance, name, instead))
        for one in patches:
            stack.enter_context(one)
        stack.callback(os.chdir, before)
        os.chdir(os.sep)
        stack.callback(world.close)
        yield
