"""Driving walks from the command line: what is shown meanwhile, who answers, and how it ends."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from quandary.cli import running
from quandary.cli.screen import complain, put, tell
from quandary.desk.reply import play_script
from quandary.desk.state import encode_state
from quandary.errors import QuandaryError, Rejected

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from quandary.agents.calling import Surroundings
    from quandary.agents.driving import Driver
    from quandary.cli.asking import Way
    from quandary.journal.store import State, Store
    from quandary.settings import Settings
    from quandary.settings.agents import Agent, Catalogue

    Work = Callable[[], Awaitable[State]]
    """What drives one run, when there is room for it."""

T = TypeVar("T")
SHOWN = 20
"""How many runs are named when they were interrupted; more than that fit no command line."""


class LocalAgents:
    """The programs that a walk calls, as this machine has them."""

    def __init__(self, settings: Settings) -> None:
        from quandary.settings.agents import read_catalogue  # noqa: PLC0415 - only for charts

        self.settings = settings
        self.catalogue: Catalogue = read_catalogue(settings.table("agents"))

    def obstacles(self, agent: Agent, folder: str) -> list[str]:
        """Why an agent cannot be called there, as far as can be seen without running anything."""
        from quandary.agents.calling import obstacles  # noqa: PLC0415 - only for charts

        return obstacles(agent, surroundings(folder, self.settings))

    def require_logins(self, names: Sequence[str], folder: str) -> None:
        """Refuse agents that would not get past their login, before anything is spent."""
        import asyncio  # noqa: PLC0415 - slow, and only for charts

        from quandary.agents.calling import logged_out  # noqa: PLC0415 - the same
        from quandary.agents.process import drive  # noqa: PLC0415 - the same

        known = [self.catalogue.find(name) for name in names]
        if not any(agent.login for agent in known):
            return
        around = surroundings(folder, self.settings)

        async def ask() -> list[str]:
            return await asyncio.gather(*(logged_out(agent, around) for agent in known))

        missing = [problem for problem in drive(ask()) if problem]
        if missing:
            raise Rejected("; ".join(missing))


def surroundings(folder: str, settings: Settings) -> Surroundings:
    """Where agents work, and with what."""
    from quandary.agents.calling import Surroundings  # noqa: PLC0415 - only for charts

    timeout = float(settings.number("default_timeout", 600))
    return Surroundings(folder, os.environ, timeout)


def opened(way: Way, *, existing: bool = False) -> Store:
    """The store; whoever asks right here, or plays a script, needs nobody told of a question."""
    telling = way.via != "terminal" and not way.answers
    return running.opened(way.where, existing=existing, telling=telling)


class Session:
    """Some runs that are driven together by one command."""

    def __init__(
        self,
        store: Store,
        agents: LocalAgents,
        around: Surroundings,
        way: Way,
        items: int,
    ) -> None:
        from quandary.agents.driving import Driver  # noqa: PLC0415 - only for charts
        from quandary.cli.watching import watcher  # noqa: PLC0415 - the same

        self.store = store
        self.way = way
        self.items = items
        self.script = running.script(way.answers) if way.answers else []
        self.played: dict[str, int] = {}
        self.left = False
        """Somebody at the terminal went away from a question."""
        watching = watcher(store, agents.settings, items)
        self.driver: Driver = Driver(store, agents.catalogue, around, watching, self._from_script)

    def _from_script(self, state: State) -> State | None:
        """The next reply of the script, recorded; every run is played the whole of it."""
        number = self.played.get(state.run, 0)
        if number >= len(self.script):
            return None
        self.played[state.run] = number + 1
        return play_script(self.store, running.SCRIPT, state, [self.script[number]])

    def go(self, work: Sequence[Work], jobs: int) -> list[State]:
        """Drive runs, with the progress shown."""
        with self.driver.watcher:
            return self._run(self.driver.all(work, jobs))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something with agents; Ctrl-C ends their programs, and then the command."""
        from quandary.agents.process import drive  # noqa: PLC0415 - only for charts

        try:
            return drive(work)
        except (KeyboardInterrupt, QuandaryError):
            self._tell_what_is_left()
            raise

    def _tell_what_is_left(self) -> None:
        runs = list(self.driver.under_way)
        for run in runs[:SHOWN]:
            tell(f"Go on with: quandary walk --resume {run}")
        if len(runs) > SHOWN:
            tell(f"and {len(runs) - SHOWN} more; `quandary runs --status waiting` lists them")
        left = self.items - self.driver.taken_up
        if left > 0:
            tell(f"{left} of {self.items} items were not begun")

    # -- the end ---------------------------------------------------------------------------------

    def end(self, states: list[State], *, several: bool) -> int:
        """Ask here whatever waits for a person, then say where everything stands."""
        here = self.way.via == "terminal"
        if here:
            states = [self._asked(state) for state in states]
        if here and sys.stdout.isatty():
            for state in states:
                running.show_outcome(state)
        elif several:
            parts = [encode_state(self.store, state) for state in states]
            put(b'{"runs":[' + b",".join(parts) + b"]}\n")
        else:
            running.show(self.store, states[0], proof=self.way.proof)
        failed = [state for state in states if state.status not in ("done", "waiting")]
        if not (here and sys.stdout.isatty()):
            for state in failed:
                complain(f"run {state.run} is {state.status}: {state.error or 'it was ended'}")
        return 1 if failed or self.left else 0

    def _asked(self, state: State) -> State:
        """A person at this terminal answers what the run asks, and the run goes on."""
        while state.ask is not None:
            before = state
            state = running.ask_once(self.store, state)
            if state.status == "waiting" and state.key == before.key:
                self.left = True
                break
            if state.calls:
                (state,) = self.go([partial(self.driver.drive, state.run)], 1)
        return state
