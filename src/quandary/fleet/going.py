"""Going on with one run, as far as this worker can."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any, Self

from quandary import deeds
from quandary.agents.calling import Surroundings, answer
from quandary.agents.driving import SET_ASIDE, Driver
from quandary.errors import QuandaryError, Rejected
from quandary.fleet.members import THROUGH
from quandary.fleet.outcomes import DONE, back, verdict
from quandary.journal import replay
from quandary.journal.entries import readable
from quandary.model.ask import Note

if TYPE_CHECKING:
    from quandary.agents.catalogue import Catalogue
    from quandary.fleet.means import Means
    from quandary.fleet.outcomes import Outcome
    from quandary.journal.store import State, Store
    from quandary.model.call import Call, Output

log = logging.getLogger("quandary.fleet")
STOPPING = "this worker stops"
GIVEN_UP = "given-up"
"""A note: nobody goes on with the run by itself."""


class Going:
    """One run while this worker goes on with it."""

    def __init__(
        self, store: Store, means: Means, around: Surroundings, run: str, queue: str, attempts: int
    ) -> None:
        self.store = store
        self.means = means
        self.around = around
        self.run = run
        self.queue = queue
        self.attempts = attempts
        self.task: asyncio.Task[Any] | None = None
        self.calling = 0
        """How many programs work for it."""
        self.aside = ""
        """Why it goes on elsewhere or later, once no program works for it."""
        self.driven = False
        """Whether it can be interrupted."""
        self.untouched = False
        """It was interrupted when no program worked for it."""

    async def go(self, workdir: str = "") -> Outcome:
        """Go on until it waits for a person or is over; what becomes of its job."""
        self.driven = True
        try:
            state = await self._drive(workdir)
        except asyncio.CancelledError:
            if not self.aside:
                raise
            outcome = back(self.aside, -1 if self.aside == STOPPING else self.attempts)
            level = logging.INFO if self.aside == STOPPING else logging.WARNING
            self._say(level, f"put back: {self.aside}")
            if self.untouched:
                self._note(SET_ASIDE, f"No agent has begun with it: {self.aside}.")
        except Exception as error:  # noqa: BLE001 - whatever it is, the other runs go on
            outcome = verdict(error, self.attempts)
            foreseen = isinstance(error, QuandaryError)
            if outcome.kind == "back":
                told = f"put back: {outcome.why}"
                self._say(logging.WARNING, told, error=None if foreseen else error)
            else:
                self._say(logging.ERROR, f"given up: {outcome.why}", error=error)
                self._note(GIVEN_UP, f"Workers have given this run up: {outcome.why}")
        else:
            outcome = DONE
            self._say(logging.INFO, _told(state), status=state.status, entries=state.n)
        finally:
            self.driven = False
        return outcome

    def _say(self, level: int, what: str, error: Exception | None = None, **facts: object) -> None:
        log.log(
            level, "run %s: %s", self.run, what, exc_info=error, extra={"run": self.run, **facts}
        )

    def _note(self, kind: str, text: str) -> None:
        """Have the journal say it, if the run is still waiting and the journal can be written."""
        with contextlib.suppress(QuandaryError):
            replay.note(self.store, self.run, Note(kind, text), who="agent", through=THROUGH)

    async def _drive(self, workdir: str) -> State:
        around = self._place(workdir)
        driver = Driver(self.store, self.means.catalogue, around, Watching())
        driver.answer = self._answer
        while True:
            # Whatever keeps the run from going on is found out before anything is spent.
            do = deeds.of(self.store, self.run)
            state = replay.advance(self.store, self.run, who="agent", through=THROUGH, deeds=do)
            for call in state.calls:
                lacking = await self.means.lacking(call.agent, around)
                if lacking:
                    raise Rejected(lacking)
            state = await driver.drive(self.run)
            if state.deed is None:
                return state

    def _place(self, workdir: str) -> Surroundings:
        """Where the agents of the run work."""
        folder = workdir
        if not folder:
            began = self.store.entries(self.run, kinds=("began",))
            with readable(self.run):
                arguments = (began[0].read_matter().arguments if began else None) or {}
            folder = str(arguments.get("workdir") or os.getcwd())
        if not os.path.isdir(folder):
            raise Rejected(f"the folder {folder} is not on this machine; see --workdir")
        return Surroundings(folder, self.around.environment, self.around.timeout)

    # -- its calls -------------------------------------------------------------------------------

    async def _answer(self, call: Call, catalogue: Catalogue, around: Surroundings) -> Output:
        """Make a call when there is room for it; one that cannot be made here is not begun."""
        lacking = await self.means.lacking(call.agent, around)
        if lacking:
            self.put_aside(lacking)
        async with self.means.room(call.agent):
            if self.aside:
                await asyncio.Event().wait()  # until the run is interrupted
            self.calling += 1
            try:
                log.debug("run %s: %s %s", self.run, call.key, call.agent, extra={"run": self.run})
                return await answer(call, catalogue, around)
            finally:
                self.calling -= 1
                if self.aside:
                    self.put_aside(self.aside)

    def put_aside(self, why: str) -> None:
        """Begin no further call, and interrupt the run when those under way have ended.

        That costs no attempt: the journal says that what had not ended is to be made anew.
        """
        self.aside = why
        if not self.calling:
            asyncio.get_running_loop().call_soon(self.interrupt)

    def interrupt(self) -> None:
        """Stop now, and say so in the journal."""
        if self.driven and self.task is not None:
            self.driven = False  # it is told once, and has the time to clean up
            self.untouched = not self.calling
            self.task.cancel()


class Watching:
    """Nobody watches a worker; what happens is in the journal."""

    def calls(self, run: str, calls: tuple[Call, ...]) -> None:
        """These calls are about to be made."""

    def came(self, run: str, output: Output) -> None:
        """One of them is done."""

    def stands(self, state: State) -> None:
        """A run waits for a person, or is over."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _told(state: State) -> str:
    if state.status == "waiting":
        return "waits for a person"
    return f"{state.status}: {state.error}" if state.error else state.status
