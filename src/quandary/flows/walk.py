"""A chart walked: agents do the steps and take the decisions, others check them, people are asked.

One visit to a step is one `_Visit`; it asks, reads what came, has it judged, tries again, and ends
with a route or a failure. The walk itself only goes from step to step.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from quandary.errors import Failed, QuandaryError
from quandary.flows import prompting
from quandary.flows.at_step import Budget, Spent, Visit
from quandary.flows.planning import Defaults, Planned, planned
from quandary.model import keys
from quandary.model.ask import Item, Limits
from quandary.model.chart import QUIET, Chart, Map, Page
from quandary.model.soundness import check

if TYPE_CHECKING:
    from collections.abc import Generator

    from quandary.flows import Flow, Request, Response
    from quandary.model.chart import Step

VERSION = 1
DEEPEST = 20
"""Charts inside one another."""


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run was begun with; plain data, kept in the journal as it is."""

    chart: Chart
    item: Item = Item("1")
    defaults: Defaults = Defaults()
    codenames: tuple[str, ...] = ()
    """The agents that a tag can name."""
    budget: Budget = Budget()
    limits: Limits = Limits()
    person: bool = True
    """Whether somebody can be asked where agents cannot agree."""


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's beginning describes."""
    names = Terms.__struct_fields__
    known = {name: value for name, value in arguments.items() if name in names}
    return walk(msgspec.convert(known, Terms))


def walk(terms: Terms) -> Flow:
    """Walk a chart once. A chart that cannot be walked is refused before anything is spent."""
    errors = [p.message for p in check(terms.chart) if p.severity == "error"]
    if errors:
        raise QuandaryError(f"the chart cannot be walked: {'; '.join(errors)}")
    return _Walk(terms).flow()


Outcome = Literal["completed", "failed", "stopped"]


class _End(Exception):  # noqa: N818 - leaves the walk, and is always caught
    def __init__(self, outcome: Outcome, why: str) -> None:
        super().__init__(why)
        self.outcome: Outcome = outcome


class _Walk:
    """One item on its way through a chart."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.steps: list[dict[str, Any]] = []
        self.path: list[str] = []
        self.outputs: dict[str, str] = {}
        self.visits: Counter[tuple[str, str]] = Counter()
        self.spent = Spent()

    def flow(self) -> Flow:
        """From the start to an end; what was done on the way is the result, however it ends."""
        page = self.terms.chart.first or Page()
        try:
            yield from self._page(page, "", 0)
        except _End as end:
            raise Failed(str(end), self._result(end.outcome)) from None
        return self._result("completed")

    def _result(self, outcome: Outcome) -> dict[str, Any]:
        item = self.terms.item
        return {
            "chart": self.terms.chart.name,
            "outcome": outcome,
            "item": item.title or item.label or item.id,
            "steps": self.steps,
            "path": self.path,
            "calls": self.spent.calls,
            "tokens": self.spent.tokens,
            "seconds": round(self.spent.seconds, 3),
        }

    def _page(self, page: Page, prefix: str, depth: int) -> Generator[Request, Response, None]:
        ways = Map(page, self.terms.chart)
        step = ways.start
        while step is not None:
            self._arrive(page, step)
            visit = self.visits[page.id, step.id]
            plan = planned(ways, step, self.terms.defaults, self.terms.codenames)
            if plan.kind in QUIET:
                route = ways.onward(step)
            else:
                label = yield from self._step(plan, step, visit, prefix, depth)
                route = ways.choose(step, label) if label else ways.onward(step)
                if label and route is None:
                    raise _End("failed", f"“{plan.name}”: no line is labelled {label!r}")
            step = ways.follow(route) if route is not None else None

    def _arrive(self, page: Page, step: Step) -> None:
        self.path.append(step.id)
        self.visits[page.id, step.id] += 1
        most = self.terms.defaults.max_visits
        if self.visits[page.id, step.id] > most:
            raise _End("failed", f"“{step.name}” came round more than {most} times (max_visits)")

    def _step(
        self, plan: Planned, step: Step, visit: int, prefix: str, depth: int
    ) -> Generator[Request, Response, str]:
        """Do what a step asks for; the label of the way to take, if there is a choice."""
        called = self.terms.chart.called(step)
        if plan.kind == "subprocess" and called is not None:
            if depth >= DEEPEST:
                raise _End("failed", f"“{plan.name}”: charts lie more than {DEEPEST} deep")
            inner = keys.within(f"{prefix}{keys.visit(step.id, visit, 'chart')}", called.id, "")
            yield from self._page(called, inner, depth + 1)
            if not plan.routes:
                return ""
        task = self._filled(plan.prompt)
        at = Visit(
            replace(plan, check=self._filled(plan.check)),
            task,
            prefix=prefix,
            visit=visit,
            terms=self.terms,
            spent=self.spent,
        )
        outcome = yield from at.flow()
        self.steps.append(at.record())
        if outcome.output is not None:
            self.outputs[plan.name] = self.outputs[plan.id] = outcome.output
        if outcome.stopped:
            raise _End("stopped", outcome.why)
        if outcome.why and (plan.on_exhausted != "continue" or plan.kind != "process"):
            raise _End("failed", f"“{plan.name}”: {outcome.why}")
        return outcome.route

    def _filled(self, text: str) -> str:
        item = self.terms.item
        own = {"id": item.id, "label": item.label, "title": item.title, "context": item.context}
        return prompting.fill(text, {**own, **item.fields}, self.outputs)
