"""Following a walk through its chart by what was asked on the way.

The journal says what was asked, under which key, and what came back; the chart says what leads
where. A key is never taken apart: at each step it is known how the keys of this visit begin.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from quandary.agents.story import Attempt, Leg
from quandary.flows.planning import Defaults, Planned, planned
from quandary.flows.walk import DEEPEST
from quandary.model import keys
from quandary.model.call import HUMAN
from quandary.model.chart import QUIET, Map

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from quandary.agents.story import Exchange, Verdict
    from quandary.model.chart import Chart, Page, Route, Step


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

    @property
    def asks(self) -> bool:
        """Whether somebody is asked here, apart from what is asked in an inner chart."""
        quiet = self.plan.kind in QUIET
        return not quiet and (self.plan.kind != "subprocess" or bool(self.plan.routes))

    @property
    def decides(self) -> bool:
        """Whether it is asked which way to take."""
        return self.asks and self.plan.kind != "process"

    def owns(self, key: str) -> bool:
        """Whether something with this key was asked at this visit."""
        inner = bool(self.inner) and key.startswith(self.inner)
        return self.asks and key.startswith(self.head) and not inner

    def name(self, key: str) -> str:
        """What the key says of what was asked here, whichever showing it was."""
        return key.removeprefix(self.head).partition("~")[0]


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
        self._frames: list[_Frame] = []
        self._maps: dict[str, Map] = {}
        self._visits: Counter[tuple[str, str]] = Counter()
        self._passed = 0
        """How many steps in a row asked nobody."""
        if chart.first is not None:
            self._enter(chart.first, "", None)

    def take(self, exchange: Exchange) -> Here | None:
        """Go to where this was asked, and keep it there."""
        while self.at is not None:
            if self.at.owns(exchange.key):
                self.at.keys.append(exchange.key)
                self._passed = 0
                return self.at
            if not self._onward(self.at, exchange.key):
                break
        return None

    def finish(self, *, done: bool) -> None:
        """Go on to where the run ended: to its end, or to the step at which it failed."""
        while self.at is not None and (done or self._settled(self.at)):
            if not self._onward(self.at):
                break

    @property
    def left(self) -> int:
        """How many stops lie behind the run for good, and all before them."""
        outer = [frame.outer for frame in self._frames]
        standing = [here.number for here in (*outer, self.at) if here is not None and here.asks]
        return min(standing, default=len(self.stops))

    # -- what came of a visit ----------------------------------------------------------------------

    def attempts(self, here: Here) -> tuple[Attempt, ...]:
        """What was tried at a visit, each time with what came of it."""
        groups: dict[str, list[Exchange]] = {}
        attempt = ""
        for key in here.keys:
            exchange = self.exchanges[key]
            if exchange.role == "work" or not groups:
                attempt = here.name(key)
            groups.setdefault(attempt, []).append(exchange)
        return tuple(
            Attempt(number, tuple(group), *self._verdict(here, group))
            for number, group in enumerate(groups.values(), 1)
        )

    def _verdict(self, here: Here, group: list[Exchange]) -> tuple[Verdict | None, str]:
        """Whether an attempt counted, and what was held against it."""
        if group[-1].role == "again" and not group[-1].accepted:
            return None, ""
        if here.decides:
            return self._decision(group)
        work = [exchange for exchange in group if exchange.role == "work"]
        checks = [exchange for exchange in group if exchange.role == "check"]
        last = work[-1] if work else group[-1]
        if last.accepted is not True:
            return ("failed", last.problem) if last.accepted is False else (None, "")
        if not checks:
            unchecked = self.known is not None and not here.plan.validates
            return ("passed", "") if unchecked else (None, "")
        verdict = checks[-1]
        if verdict.accepted is None or (len(checks) == 1 and _unread(verdict)):
            return None, ""
        return ("passed", "") if verdict.accepted else ("failed", verdict.problem)

    def _decision(self, group: list[Exchange]) -> tuple[Verdict | None, str]:
        if chosen(group):
            return "passed", ""
        if any(exchange.accepted is None for exchange in group):
            return None, ""
        problems = [exchange.problem for exchange in group if exchange.problem]
        return "failed", "\n".join(dict.fromkeys(problems)) or "The votes are tied."

    def _settled(self, here: Here) -> bool:
        """Whether the run can have gone on from a visit."""
        if here.stuck:
            return False
        if not here.asks:
            return True
        attempts = self.attempts(here)
        if not attempts:
            return False
        last = attempts[-1]
        if here.decides or last.verdict == "passed":
            return last.verdict == "passed"
        checks = [exchange for exchange in last.exchanges if exchange.role == "check"]
        vain = bool(checks) and not (checks[-1].retry and not _unread(checks[-1]))
        used_up = vain or len(attempts) > here.plan.retries
        return last.verdict == "failed" and used_up and here.plan.on_exhausted == "continue"

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
        if here.decides:
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
        if outer is not None and not outer.asks:
            self._onward(outer)

    def _chosen(self, here: Here) -> Route | None:
        label = chosen(self.exchanges[key] for key in here.keys)
        return here.ways.choose(here.step, label) if label else None

    def _shown(self, here: Here, key: str) -> Route | None:
        """The only way out that leads to what was asked next; the answer itself was pruned."""
        if not here.keys:
            return None
        fitting, ending = [], []
        for route in here.ways.ways(here.step):
            leads = self._leads(here, route, key)
            if leads:
                fitting.append(route)
            elif leads is None:
                ending.append(route)
        found = fitting or ending
        if len({route.target for route in found}) != 1:
            return None
        return found[0] if len(found) == 1 else replace(found[0], label="")

    def _leads(self, here: Here, route: Route, key: str) -> bool | None:
        """Whether a way leads to what has this key; nothing where it leads off the page."""
        ways, prefix, _ = self._frames[-1]
        step: Step | None = here.ways.follow(route)
        for _ in range(len(ways.steps)):
            if step is None:
                return None
            if ways.kind(step) not in QUIET:
                visit = self._visits[ways.page.id, step.id] + 1
                return key.startswith(f"{prefix}{keys.visit(step.id, visit, '')}")
            onward = ways.onward(step)
            step = ways.follow(onward) if onward is not None else None
        return False


def chosen(exchanges: Iterable[Exchange]) -> str:
    """The way that was decided on: by whoever was asked last, or by most of those who voted."""
    every = list(exchanges)
    if not every or every[-1].role != "vote":
        return every[-1].route if every else ""
    if any(not exchange.answered for exchange in every):
        return ""
    counted = Counter(exchange.route for exchange in every if exchange.route).most_common(2)
    tied = len(counted) == 2 and counted[0][1] == counted[1][1]
    return counted[0][0] if counted and not tied else ""


def _unread(check: Exchange) -> bool:
    """A verdict of an agent that could not be understood."""
    return check.agent != HUMAN and check.accepted is False and check.meaning is None
