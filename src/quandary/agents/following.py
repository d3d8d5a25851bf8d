"""Following a walk through its chart by what was asked on the way.

The journal says what was asked, under which key, and what came back; the chart says what leads
where. A key is never taken apart: at each step it is known how the keys of this visit begin.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from quandary.agents import verdicts
from quandary.agents.story import Leg
from quandary.flows.planning import Defaults, Planned, planned
from quandary.flows.walk import DEEPEST
from quandary.model import keys
from quandary.model.chart import QUIET, Map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quandary.agents.story import Exchange
    from quandary.model.chart import Chart, Page, Route, Step


_TURN = re.compile("~a?[0-9]+")


class Known(NamedTuple):
    """What is known of how a run was begun; nothing where that was pruned."""

    defaults: Defaults
    codenames: tuple[str, ...]


class Here:
    """One visit to a step, while it is followed."""

    def __init__(self, ways: Map, step: Step, plan: Planned, prefix: str, visit: int) -> None:
        self.ways = ways
        self.step = step
        self.plan = plan
        self.visit = visit
        self.number = 0
        """Its place among the stops, from 0."""
        self.depth = 0
        self.head = f"{prefix}{keys.visit(step.id, visit, '')}"
        self.inner = ""
        """How the keys begin of what is asked in the chart that this step stands for."""
        self.keys: list[str] = []
        self.route = ""
        """The label of the way that was taken from here."""
        self.stuck = False
        """The run ended on coming here."""

    def owns(self, key: str) -> bool:
        """Whether something with this key was asked at this visit."""
        inner = bool(self.inner) and key.startswith(self.inner)
        return self.plan.asks and key.startswith(self.head) and not inner

    def name(self, key: str) -> str:
        """What a key says of what was asked here; showings and rounds are not told apart."""
        return _TURN.sub("", key.removeprefix(self.head))


class _Frame(NamedTuple):
    """A page that is being walked, and the step that it stands for."""

    ways: Map
    prefix: str
    outer: Here | None


class Follower:
    """Goes through a chart as a run did."""

    def __init__(
        self, chart: Chart, known: Known | None, exchanges: Mapping[str, Exchange]
    ) -> None:
        self.chart = chart
        self.known = known
        self.exchanges = exchanges
        """Those that were asked so far; they may get their answers later."""
        self.stops: list[Here] = []
        self.legs: list[Leg] = []
        self.at: Here | None = None
        self.lost = False
        """It cannot be told where the run went from there."""
        self._frames: list[_Frame] = []
        self._maps: dict[str, Map] = {}
        self._visits: Counter[tuple[str, str]] = Counter()
        self._passed = 0
        """How many steps in a row asked nobody."""
        if chart.first is not None:
            self._enter(chart.first, "", None)

    def take(self, exchange: Exchange) -> Here | None:
        """Go to where this was asked, and keep it there.

        Where it is not known which way was taken, nothing after that can be placed.
        """
        while self.at is not None and not self.lost:
            if self.at.owns(exchange.key):
                self.at.keys.append(exchange.key)
                self._passed = 0
                return self.at
            self.lost = not self._onward(self.at, exchange.key)
        return None

    def finish(self, *, done: bool) -> None:
        """Go on to where the run ended: to its end, or to the step at which it failed."""
        while self.at is not None and not self.lost and (done or self._settled(self.at)):
            if not self._onward(self.at):
                break

    @property
    def left(self) -> int:
        """How many stops lie behind the run for good, and all before them."""
        outer = [frame.outer for frame in self._frames]
        standing = [
            here.number for here in (*outer, self.at) if here is not None and here.plan.asks
        ]
        return min(standing, default=len(self.stops))

    def told(self, here: Here) -> list[Exchange]:
        """What was asked at a visit."""
        return [self.exchanges[key] for key in here.keys]

    def _settled(self, here: Here) -> bool:
        """Whether the run can have gone on from a visit."""
        if here.stuck:
            return False
        if not here.plan.asks:
            # Without the limit of visits nobody knows at which of them it was reached.
            return self.known is not None
        return verdicts.left(here.plan, self.told(here))

    # -- from step to step -------------------------------------------------------------------------

    def _enter(self, page: Page, prefix: str, outer: Here | None) -> None:
        ways = self._maps.setdefault(page.id, Map(page, self.chart))
        self._frames.append(_Frame(ways, prefix, outer))
        if ways.start is not None:
            self._arrive(ways.start)
        else:
            self._leave_page()

    def _arrive(self, step: Step) -> None:
        ways, prefix, _ = self._frames[-1]
        place = (ways.page.id, step.id)
        self._visits[place] += 1
        defaults, codenames = self.known or (Defaults(), ())
        plan = planned(ways, step, defaults, codenames)
        here = Here(ways, step, plan, prefix, self._visits[place])
        here.number, here.depth = len(self.stops), len(self._frames) - 1
        self.stops.append(here)
        self.at = here
        self._passed += 1
        if self.known is not None:
            here.stuck = self._visits[place] > defaults.max_visits
        else:  # a circle in which nobody is asked has no end
            here.stuck = self._passed > 2 * sum(len(page.steps) for page in self.chart.pages)
        called = self.chart.called(step) if plan.kind == "subprocess" else None
        if called is None or here.stuck:
            return
        if here.depth >= DEEPEST:
            here.stuck = True
            return
        outer = f"{prefix}{keys.visit(step.id, here.visit, 'chart')}"
        here.inner = keys.within(outer, called.id, "")
        self._enter(called, here.inner, here)

    def _onward(self, here: Here, key: str = "") -> bool:
        """Leave a visit by the way that was taken; what was asked next may show which."""
        if here.stuck:
            return False
        if here.plan.routes:
            route = self._chosen(here) or self._shown(here, key)
            if route is None:
                return False
            here.route = route.label
        else:
            route = here.ways.onward(here.step)
        if route is None:
            self._leave_page()
        else:
            self.legs.append(Leg(here.ways.page.id, route.source, route.target, route.label))
            self._arrive(here.ways.follow(route))
        return True

    def _leave_page(self) -> None:
        outer = self._frames.pop().outer
        self.at = outer
        if outer is not None and not outer.plan.asks:
            self._onward(outer)

    def _chosen(self, here: Here) -> Route | None:
        label = verdicts.chosen(here.plan, self.told(here))
        ways = (route for route in here.ways.ways(here.step) if route.label == label)
        return next(ways, None) if label else None

    def _shown(self, here: Here, key: str) -> Route | None:
        """The only way out that leads to what was asked next; the answer itself was pruned."""
        if not here.keys:
            return None
        fitting, ending = [], []
        for route in here.ways.ways(here.step):
            asked = self._next_asked(here.ways, here.ways.follow(route))
            if asked is None:
                ending.append(route)
            elif key.startswith(self._head(asked)):
                fitting.append(route)
        found = fitting or ending
        if len({route.target for route in found}) != 1:
            return None
        return found[0] if len(found) == 1 else replace(found[0], label="")

    def _head(self, step: Step) -> str:
        """How the keys of the next visit to a step of this page begin."""
        ways, prefix, _ = self._frames[-1]
        return f"{prefix}{keys.visit(step.id, self._visits[ways.page.id, step.id] + 1, '')}"

    def _next_asked(self, ways: Map, step: Step | None, depth: int = 0) -> Step | None:
        """From a step on, the first at which somebody is asked, or in the chart it stands for."""
        for _ in range(len(ways.steps)):
            if step is None or not self._silent(ways, step, depth):
                return step
            onward = ways.onward(step)
            step = ways.follow(onward) if onward is not None else None
        return None

    def _silent(self, ways: Map, step: Step, depth: int) -> bool:
        """Whether a run goes on from a step without asking anybody."""
        called = self.chart.called(step)
        if called is None or any(route.label.strip() for route in ways.ways(step)):
            return ways.kind(step) in QUIET
        inner = self._maps.setdefault(called.id, Map(called, self.chart))
        return depth < DEEPEST and self._next_asked(inner, inner.start, depth + 1) is None
