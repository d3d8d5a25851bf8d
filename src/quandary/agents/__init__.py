"""Runs whose calls are made: each until it waits for a person or is over, many at a time.

A call is journalled before its program starts and again when it has ended. One that was begun by a
process that is gone has no end in the journal: nobody knows what it did, so it counts as an
attempt, and is never simply made again. Whoever is asked to stop ends the programs first and says
so in the journal; their calls are made when the run is resumed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

import msgspec

from quandary.agents import process
from quandary.agents.calling import Surroundings, make_call
from quandary.desk.walks import STARTED, STOPPED, THROUGH, has_begun
from quandary.errors import AlreadyAnswered, QuandaryError, Rejected
from quandary.journal import chance, runs
from quandary.journal.entries import Source, sha256
from quandary.journal.progress import complete_types
from quandary.model.asks import Note
from quandary.model.calls import Call, Decision, Output, fold
from quandary.settings import read_reader, state_folder, user_settings
from quandary.settings.agents import Catalogue, read_catalogue
from quandary.settings.files import read_text, write_text

if TYPE_CHECKING:
    from quandary.journal.runs import OpenRun
    from quandary.journal.store import Run, State, Store


P = ParamSpec("P")
T = TypeVar("T")

INTERRUPTED = "It was interrupted: whoever ran it was gone before it ended."
LOOK_EVERY = 2.0  # seconds after which somebody may have withdrawn a run whose agents still work


class Watcher:
    """Sees what happens, as long as something does. This one says nothing of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def calls(self, run: str, calls: tuple[Call, ...]) -> None:
        """These calls are about to be made."""

    def came(self, run: str, output: Output) -> None:
        """One of them is done."""

    def stands(self, state: State) -> None:
        """A run waits for a person, or is over."""


class Driver:
    """Makes the calls of runs."""

    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        around: Surroundings,
        watcher: Watcher | None = None,
        reply: Callable[[State], State | None] = lambda _: None,
    ) -> None:
        self.store = store
        self.catalogue = catalogue
        self.around = around
        self.watcher = watcher or Watcher()
        self.reply = reply  # answers what a run asks, if it can; the run is then driven on
        self.under_way: dict[str, None] = {}  # runs that have not come to where they wait or end
        self.taken_up = 0  # how many there were in all
        self.make_call: Callable[[Call, Catalogue, Surroundings], Awaitable[Output]] = make_call
        self.prepare: Callable[[OpenRun], Awaitable[Surroundings]] | None = None
        """Says where the agents of a run work, or refuses, before anything is spent."""
        self.noted = process.notes_of(store)  # where it is noted which programs run
        process.note_programs(self.noted)
        complete_types()

    async def begin(self, start: Callable[[], State]) -> State:
        """Begin a run, and drive it."""
        state = await aside(self._start, start)
        with self.store.lock_run(state.run):
            await aside(self._say_begun, state)
            return await self._drive(state, self.around)

    def _start(self, start: Callable[[], State]) -> State:
        """Begin a run, which is under way even if whoever asked for it is told to stop now."""
        state = start()
        self.taken_up += 1
        self.under_way[state.run] = None
        return state

    async def drive(
        self,
        run: str,
        around: Surroundings | None = None,
        again: Source | None = None,
        *,
        row: Run | None = None,
    ) -> State:
        """Resume a run; calls that another process left open count as tried. With `again`, one that
        has failed is tried anew where it failed, on the word of that source.
        """
        with contextlib.ExitStack() as held:
            handle = await aside(self._open, held, run, row)
            if around is None:
                around = await self.prepare(handle) if self.prepare else self.around
            begun = chance.monotonic()
            state, lost = await aside(self._take_up, handle, again)
            for output in lost:
                self.watcher.came(run, output)
            if state.calls and chance.monotonic() - begun > LOOK_EVERY:  # as in `_make_calls`
                state = await aside(self._look_again, state)
            return await self._drive(state, around)

    def _open(self, held: contextlib.ExitStack, run: str, row: Run | None) -> OpenRun:
        held.enter_context(self.store.lock_run(run))
        process.end_leftovers(self.noted)
        return runs.open_whole(self.store, run, row)

    def _take_up(self, run: OpenRun, again: Source | None) -> tuple[State, list[Output]]:
        """Where the run stands then, and what was lost."""
        if again is not None and run.state.status == "failed":
            return self._say_begun(runs.retry(self.store, run.id, **again._asdict())), []
        state = run.state
        if not has_begun(run):
            return self._say_begun(state, run), []
        lost = [Output(call.key, error=INTERRUPTED, interrupted=True) for call in state.calls]
        for output in lost:
            state = self._record(run.id, output)
        return state, lost

    def _say_begun(self, state: State, run: OpenRun | None = None) -> State:
        """Have the journal say that the calls which wait are being made, unless it does. None is
        made where somebody else has walked on since: the lock can be lost while the store is slow.
        """
        run = run or runs.open_run(self.store, state.run)
        _require_here(state.calls)
        known = run.row.n == state.n
        if state.calls and known and not has_begun(run):
            note = Note(STARTED, "The agents are being asked.")
            noted = runs.note(self.store, run.build(), note, who="agent", through=THROUGH)
            known = noted.row.n == state.n + 1
        if state.calls and not known:
            raise Rejected(f"run {state.run} is being driven by another process")
        return state

    async def all(self, work: Sequence[Callable[[], Awaitable[State]]], jobs: int) -> list[State]:
        """Drive runs, so many at a time; another one is begun when there is room for it."""
        states: dict[int, State] = {}
        waiting = iter(enumerate(work))

        async def some() -> None:
            for number, one in waiting:
                states[number] = await one()

        try:
            # Whatever ends this early, each of them is told once and has the time to clean up.
            async with asyncio.TaskGroup() as group:
                for _ in range(min(jobs, len(work))):
                    group.create_task(some())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [states[number] for number in sorted(states)]

    async def _drive(self, state: State, around: Surroundings) -> State:
        """Make calls, and answer what can be answered here, until there is neither."""
        run = state.run
        self.taken_up += run not in self.under_way
        self.under_way[run] = None
        while True:
            _require_here(state.calls)
            state = await self._make_calls(state, around)
            answered = self.reply(state) if state.ask is not None else None
            if answered is None:
                break
            state = await aside(self._say_begun, answered)
        del self.under_way[run]
        self.watcher.stands(state)
        return state

    async def _make_calls(self, state: State, around: Surroundings) -> State:
        """Make the calls that a run waits for, and those that follow, until it waits for none."""
        run = state.run
        making: dict[asyncio.Task[Output], str] = {}
        try:
            while state.calls:
                fresh = tuple(call for call in state.calls if call.key not in making.values())
                for call in fresh:
                    made = asyncio.ensure_future(self.make_call(call, self.catalogue, around))
                    making[made] = call.key
                if fresh:
                    self.watcher.calls(run, fresh)
                first = asyncio.FIRST_COMPLETED
                done, _ = await asyncio.wait(making, timeout=LOOK_EVERY, return_when=first)
                begun = chance.monotonic()
                for task in done:
                    del making[task]
                    output = task.result()
                    state = await aside(self._record, run, output)
                    self.watcher.came(run, output)
                # Where the store took long, the run may be somebody else's by now.
                if not done or (state.calls and chance.monotonic() - begun > LOOK_EVERY):
                    state = await aside(self._look_again, state)
        except asyncio.CancelledError:
            await self._stop(run, making)
            raise
        finally:
            await _cancel(making)
        return state

    def _record(self, run: str, output: Output) -> State:
        """Record an output; where the run is over by now, nobody wants it any more."""
        try:
            state = runs.advance(self.store, run, output, who="agent", through=THROUGH)
        except AlreadyAnswered:
            state = runs.look(self.store, run)
            if state.status == "waiting":
                raise Rejected(f"run {run} is being driven by another process") from None
        return state

    def _look_again(self, state: State) -> State:
        """The state, unless somebody ended the run or took it over meanwhile, or its time is up."""
        lost = self.store.has_lost(state.run)
        row = self.store.run(state.run)
        if not lost and row and (row.status, row.n, row.expires) == ("waiting", state.n, None):
            return state
        now = runs.look(self.store, state.run)
        ours = {call.key for call in state.calls} <= {call.key for call in now.calls}
        if lost or (now.status == "waiting" and not ours):
            raise Rejected(
                f"run {state.run} is being driven by another process, which took it when the "
                "connection to the store was lost; its agents were stopped here"
            )
        return now

    async def _stop(self, run: str, making: dict[asyncio.Task[Output], str]) -> None:
        """End what is under way. What came in at the last moment is kept, for it was paid for."""
        await _cancel(making)
        with contextlib.suppress(QuandaryError):
            for task in making:
                if not task.cancelled() and task.exception() is None:
                    self._record(run, task.result())
            state = runs.look(self.store, run)
            if state.calls:
                command = "walk --resume" if state.flow == "walk" else "next"
                text = f"The agents were stopped. Resume with: quandary {command} {run}"
                runs.note(self.store, run, Note(STOPPED, text), who="agent", through=THROUGH)


async def aside(act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do what waits for the disk in a thread; whoever is told to stop stops when it is done."""
    work = asyncio.ensure_future(asyncio.to_thread(act, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        work.exception()  # nobody hears of that any more
        raise


def _require_here(calls: Iterable[Call]) -> None:
    """Refuse to go on with a session that is on another machine; that costs no attempt."""
    for call in calls:
        stopped = call.resumes.stopped if call.resumes else None
        if stopped is not None and stopped.machine != os.uname().nodename:
            where = f"{stopped.folder} on {stopped.machine}"
            raise Rejected(f"the session of {call.agent} is in {where}; resume the run there")


def read_replies(store: Store, run: str) -> State:
    """Have an agent of the user's own settings read what a run waits for, in an empty folder.
    Others can write into a shared store, so that there only whom the settings name gives advice.
    """
    own = user_settings().table("agents")
    catalogue = read_catalogue(own)
    advisors = own if store.shared is not None else catalogue.agents
    with tempfile.TemporaryDirectory(prefix="quandary-") as folder:
        driver = Driver(store, catalogue, Surroundings(folder, os.environ))
        driver.make_call = partial(_read_once, {*map(fold, advisors)})
        return process.drive(driver.drive(run))


async def _read_once(
    advisors: Collection[str], call: Call, catalogue: Catalogue, around: Surroundings
) -> Output:
    """What an agent makes of a prompt, asked once; only the route that it chose is kept."""
    reader = read_reader(user_settings().table("reading"))
    if fold(call.agent) not in (advisors if not call.routes else (fold(reader),)):
        why = f"your settings name {reader or 'no agent'} for that ([reading])"
        return Output(call.key, error=f"{call.agent} reads no replies here; {why}")
    asked = msgspec.json.encode((catalogue.agents.get(fold(call.agent)), call.prompt))
    path = os.path.join(state_folder(), "readings", sha256(asked).hexdigest())
    with contextlib.suppress(OSError, QuandaryError):
        route = read_text(path)
        if route in call.routes:
            return Output(call.key, route, meaning=Decision(route, route=route))
    output = await make_call(call, catalogue, around)
    if isinstance(output.meaning, Decision):
        with contextlib.suppress(OSError, QuandaryError):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_text(path, output.meaning.route)
    return output


async def _cancel(making: dict[asyncio.Task[Output], str]) -> None:
    for task in making:
        task.cancel()
    await asyncio.gather(*making, return_exceptions=True)
