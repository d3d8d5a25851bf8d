"""What a machine has to ask agents with: their programs, their logins, and room for so many."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from quandary.agents.calling import logged_out, obstacles
from quandary.errors import NotFound
from quandary.model.call import fold

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from quandary.agents.agent import Agent
    from quandary.agents.calling import Surroundings
    from quandary.agents.catalogue import Catalogue

REMEMBERED, LOGGED_IN = 30.0, 600.0
"""Seconds for which it is known whether an agent can be asked here; and that somebody is logged in,
which takes a program to find out."""
MOST_PLACES = 1000


class Means:
    """The agents of this machine."""

    def __init__(self, catalogue: Catalogue, limits: Mapping[str, int]) -> None:
        self.catalogue = catalogue
        self._room = {name: asyncio.Semaphore(most) for name, most in limits.items()}
        self._places: dict[tuple[str, str], tuple[float, str]] = {}
        self._logins: dict[str, tuple[float, str]] = {}
        self._asking = asyncio.Lock()

    async def lacking(self, codename: str, around: Surroundings) -> str:
        """Why an agent cannot be asked in a folder of this machine; nothing if it can."""
        try:
            agent = self.catalogue.find(codename)
        except NotFound as unknown:
            return str(unknown)
        return self._obstacle(agent, around) or await self._logged_out(agent, around)

    def _obstacle(self, agent: Agent, around: Surroundings) -> str:
        place, moment = (agent.name, around.folder), time.monotonic()
        until, why = self._places.get(place, (0.0, ""))
        if moment >= until:
            why = next(iter(obstacles(agent, around)), "")
            if len(self._places) >= MOST_PLACES:  # there can be a folder for each run
                self._places.clear()
            self._places[place] = (moment + REMEMBERED, why)
        return why

    async def _logged_out(self, agent: Agent, around: Surroundings) -> str:
        """The same for logins; many runs that begin at once have it looked up once."""
        if not agent.login:
            return ""
        async with self._asking:
            until, why = self._logins.get(agent.name, (0.0, ""))
            if time.monotonic() >= until:
                why = await logged_out(agent, around)
                until = time.monotonic() + (REMEMBERED if why else LOGGED_IN)
                self._logins[agent.name] = (until, why)
        return why

    def room(self, agent: str) -> AbstractAsyncContextManager[None]:
        """Within it, no more calls of the agent are made than allowed."""
        return self._room.get(fold(agent)) or nullcontext()

    def unable(self, around: Surroundings) -> frozenset[str]:
        """The folded names of agents that are known here and cannot be asked."""
        agents = self.catalogue.agents
        return frozenset(name for name, agent in agents.items() if self._obstacle(agent, around))
