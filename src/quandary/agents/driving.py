"""Runs whose calls are made: each until it waits for a person or is over, many at a time.

A call is journalled before its program starts and again when it has ended. One that was begun by a
process that is gone has no end in the journal: nobody knows what it did, so it counts as an
attempt, and is never simply made again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from quandary.agents.calling import Surroundings, answer
from quandary.errors import Rejected
from quandary.journal import replay
from quandary.journal.entries import Called, Noted
from quandary.model.ask import Note
from quandary.model.call import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from quandary.agents.catalogue import Catalogue
    from quandary.journal.store import State, Store
    from quandary.model.call import Call

THROUGH = "agent"
"""What entries say that came from here."""
STARTED = "started"
INTERRUPTED = "It was interrupted: whoever ran it was gone before it ended."


class Watcher(AbstractContextManager[object], Protocol):
    """Somebody who wants to see what happens, as long as something does."""

    def calls(self, run: str, calls: tuple[Call, ...]) -> None:
        """These calls are about to be made."""

    def came(self, run: str, output: Output) -> None:
        """One of them is done."""

    def stands(self, state: State) -> None:
        """A run waits for a person, or is over."""


class Driver:
    """Makes the calls of runs."""

    def __init__(
        self, store: Store, catalogue: Catalogue, around: Surroundings, watcher: Watcher
    ) -> None:
        self.store = store
        self.catalogue = catalogue
        self.around = around
        self.watcher = watcher

    async def drive(self, state: State) -> State:
        """Go on with a run whose calls nobody has begun yet."""
        if state.calls and not begun(self.store, state.run):
            # They were asked for by a person's answer; from here on they count as begun.
            replay.note(self.store, state.run, Note(STARTED, ""), who="agent", through=THROUGH)
        making: dict[asyncio.Task[Output], str] = {}
        try:
            while state.calls:
                fresh = tuple(c for c in state.calls if c.key not in set(making.values()))
                if fresh:
                    self.watcher.calls(state.run, fresh)
                for call in fresh:
                    made = asyncio.ensure_future(answer(call, self.catalogue, self.around))
                    making[made] = call.key
                done, _ = await asyncio.wait(making, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del making[task]
                    output = task.result()
                    state = replay.record_output(self.store, state.run, output, through=THROUGH)
                    self.watcher.came(state.run, output)
        finally:
            for task in making:
                task.cancel()
            await asyncio.gather(*making, return_exceptions=True)
        self.watcher.stands(state)
        return state

    async def resume(self, run: str) -> State:
        """Go on with a run that another process began; what that left open counts as tried."""
        state = replay.look(self.store, run)
        for call in state.calls if begun(self.store, run) else ():
            lost = Output(call.key, error=INTERRUPTED, interrupted=True)
            state = replay.record_output(self.store, run, lost, through=THROUGH)
            self.watcher.came(run, lost)
        return await self.drive(state)

    async def all(self, begin: Sequence[Callable[[], State]], jobs: int) -> list[State]:
        """Begin runs and drive them, so many at a time; one is begun when there is room for it."""
        states: dict[int, State] = {}
        waiting = iter(enumerate(begin))

        async def work() -> None:
            for number, start in waiting:
                state = start()
                with walking(self.store, state.run):
                    states[number] = await self.drive(state)

        workers = [asyncio.ensure_future(work()) for _ in range(min(jobs, len(begin)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return [states[number] for number in sorted(states)]


def begun(store: Store, run: str) -> bool:
    """Whether somebody who makes calls has come to those that wait."""
    row = store.run(run)
    if row is None or row.waits != "agent":
        return False
    for entry in store.entries(run, after=row.asked - 1):
        body = entry.read()
        if isinstance(body, Called) and body.through in (THROUGH, "command"):
            return True
        if isinstance(body, Noted) and body.kind == STARTED:
            return True
    return False


@contextlib.contextmanager
def walking(store: Store, run: str) -> Iterator[None]:
    """Within it, no other process on this machine makes the calls of the run."""
    import fcntl  # noqa: PLC0415 - not on every system

    path = getattr(store, "path", "")
    if not path:
        yield
        return
    place = f"{path}.{run}.walking"
    with open(place, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Rejected(f"run {run} is being walked by another process") from None
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(place)
