"""A chart walked: agents do the steps and take the decisions, others check them, people are asked.

One visit to a step is one `Visit`; it asks, reads what came, has it judged, tries again, and ends
with a route or a failure. The walk itself only goes from step to step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from quandary.errors import Failed, QuandaryError
from quandary.flows import Flow, Steps, wording
from quandary.flows.asking import Chooser
from quandary.flows.step_plans import (
    MAX_VISITS,
    RETRIES,
    TIMEOUT,
    Defaults,
    Exhausted,
    Planned,
    plan_step,
)
from quandary.flows.steps import Visit, shorten
from quandary.model import keys
from quandary.model.asks import Item, Limits, Note, Required
from quandary.model.calls import fold
from quandary.model.chart import DOUBTFUL_TASK, LONGEST_NAME, QUIET, Chart, Map, Page, Step, check
from quandary.model.text import shorten as cut

VERSION = 1
DEEPEST = 20
"""Charts inside one another."""

Outcome = Literal["completed", "failed", "stopped"]
OWN = ("id", "label", "title", "context", "question")
"""The fields that every item has."""


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one item may cost; nothing set is no limit."""

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    """Of all its agents together, whether one works at a time or several do."""


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
    require: Required = ""
    """Who has to answer wherever somebody is asked."""
    allow_changes: bool = False
    """Whether agents may change things, all but those that judge."""

    @property
    def about(self) -> str:
        """What it is walked for, in words."""
        return self.item.title or self.item.label or self.item.id

    @property
    def context(self) -> str:
        """What everybody who is asked in this run should know."""
        about = self.item.title or self.item.label
        head = f"**{self.chart.name}**" + (f", for {about}" if about else "")
        return "\n\n".join(filter(None, (head, shorten(self.item.context))))


def name_item(item: Item) -> str:
    """An item in a message; nothing where a chart is walked for nothing in particular."""
    return "" if item == Item("1") else item.title or item.label or f"item {item.id}"


def values_of(item: Item) -> dict[str, str]:
    """What fills slots: an item by the names of its fields, those that every item has first."""
    own = {name: str(getattr(item, name)) for name in OWN}
    return {**own, **item.fields, **{name: value for name, value in own.items() if value}}


class Spent(msgspec.Struct):
    """What an item has cost so far."""

    budget: Budget
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def over(self, further: int) -> str:
        """Which limit so many further calls would break; a call may not begin beyond one."""
        most = self.budget
        if most.max_calls is not None and self.calls + further > most.max_calls:
            return f"the budget of {most.max_calls} calls is used up"
        if most.max_tokens is not None and self.tokens >= most.max_tokens:
            return f"the budget of {most.max_tokens} tokens is used up"
        if most.max_seconds is not None and self.seconds >= most.max_seconds:
            return f"the budget of {most.max_seconds:g} seconds is used up"
        return ""

    def time(self, wanted: float, calls: int) -> float:
        """The seconds that each of so many calls may take: no more than are left for it."""
        if self.budget.max_seconds is None:
            return wanted
        return min(wanted, max(self.budget.max_seconds - self.seconds, 0.0) / calls)


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's `began` describes."""
    # A run that began before such a chart was refused goes on as it began.
    return _flow(msgspec.convert(arguments, Terms), tolerated=DOUBTFUL_TASK)


def walk(
    chart: Chart,
    item: Item | None = None,
    *,
    cli: str = "",
    validate_cli: str = "",
    retry_cli: str = "",
    retries: int = RETRIES,
    timeout: float = TIMEOUT,
    max_visits: int = MAX_VISITS,
    on_exhausted: Exhausted = "fail",
    codenames: Sequence[str] = (),
    max_calls: int | None = None,
    max_tokens: int | None = None,
    max_seconds: float | None = None,
    limits: Limits | None = None,
    person: bool = True,
    require_person: bool = False,
    allow_changes: bool = False,
) -> Flow:
    """Walk a chart once, for one item: yields Calls for agents and Asks for people.

    The result says how it ended and what came of every step. A walk that cannot be finished ends
    with `Failed`, which has the same as its `result`.
    """
    defaults = Defaults(cli, validate_cli, retry_cli, retries, timeout, max_visits, on_exhausted)
    budget = Budget(max_calls, max_tokens, max_seconds)
    names, shown = tuple(codenames), limits or Limits()
    who: Required = "person" if require_person else ""
    own = item or Item("1")
    return _flow(Terms(chart, own, defaults, names, budget, shown, person, who, allow_changes))


def _flow(terms: Terms, tolerated: str = "") -> Flow:
    """Refuse a chart that cannot be walked before anything is spent."""
    found = [p for p in check(terms.chart) if p.severity == "error" and p.rule != tolerated]
    if errors := [problem.message for problem in found]:
        raise QuandaryError(f"the chart cannot be walked: {'; '.join(errors)}")
    return Walk(terms).flow()


class _End(Exception):  # noqa: N818 - leaves the walk, and is always caught
    def __init__(self, outcome: Outcome, why: str, **again: str) -> None:
        super().__init__(why)
        self.outcome: Outcome = outcome
        self.again = again
        """Where or how it can be taken up again, if it can."""


class Walk:
    """One item on its way through a chart."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.steps: list[dict[str, Any]] = []
        self.path: list[str] = []
        self.visits: Counter[tuple[str, str]] = Counter()
        self.spent = Spent(terms.budget)
        self.chooser = Chooser(terms.context, terms.limits)
        self.notes: list[Note] = []
        self.maps: dict[str, Map] = {}
        self.plans: dict[tuple[str, str], Planned] = {}
        self.outputs: dict[tuple[str, str], tuple[int, str]] = {}
        """What each step handed on last, by its page and id, and when that was."""
        self.named_outputs: dict[str, str] = {}
        """The same by name, for pages that have no such step themselves."""

    def flow(self) -> Flow:
        """From the start to an end; what was done on the way is the result, however it ends."""
        ended = _End  # a global name may be gone when an unfinished walk is closed at exit
        try:
            yield from self._page(self.terms.chart.first or Page(), "", 0)
        except ended as end:
            why = ": ".join(filter(None, (name_item(self.terms.item), str(end))))
            raise Failed(why, self._result(end.outcome) | end.again) from None
        return self._result("completed")

    def _result(self, outcome: Outcome) -> dict[str, Any]:
        result: dict[str, Any] = {
            "chart": self.terms.chart.name,
            "outcome": outcome,
            "item": self.terms.about,
            "steps": self.steps,
            "path": self.path,
            "calls": self.spent.calls,
            "tokens": self.spent.tokens,
            "seconds": round(self.spent.seconds, 3),
            **self.chooser.remarks_on(self.terms.item.id).as_result(),
        }
        if notes := dict.fromkeys((*self.notes, *self.chooser.notes)):
            result["notes"] = [msgspec.to_builtins(note) for note in notes]
        return result

    # -- from step to step -----------------------------------------------------------------------

    def _page(self, page: Page, prefix: str, depth: int) -> Steps[None]:
        ways = self.maps.setdefault(page.id, Map(page, self.terms.chart))
        step = ways.start
        while step is not None:
            self.path.append(step.id)
            place, defaults = (page.id, step.id), self.terms.defaults
            self.visits[place] += 1
            most = defaults.max_visits
            if self.visits[place] > most:
                why = f"“{step.name}” was visited more than {most} times (max_visits)"
                raise _End("failed", why, used_up="visits")
            if place not in self.plans:
                self.plans[place] = plan_step(ways, step, defaults, self.terms.codenames)
            plan, label = self.plans[place], ""
            if plan.kind not in QUIET:
                label = yield from self._step(ways, step, plan, prefix, depth)
            taken = (way for way in ways.ways(step) if way.label == label)
            route = next(taken) if label else ways.onward(step)
            step = ways.follow(route) if route is not None else None

    def _step(self, ways: Map, step: Step, plan: Planned, prefix: str, depth: int) -> Steps[str]:
        """Do what a step asks for; the label of the way to take, if there is a choice."""
        number = self.visits[ways.page.id, step.id]
        called = self.terms.chart.called(step) if plan.kind == "subprocess" else None
        if called is not None:
            if depth >= DEEPEST:
                raise _End("failed", f"“{plan.name}”: charts are nested more than {DEEPEST} deep")
            inner = keys.within(f"{prefix}{keys.visit(step.id, number, 'chart')}", called.id)
            yield from self._page(called, inner, depth + 1)
            if not plan.routes:
                return ""
        visit = Visit(self, plan, self._fill_plan(ways, step, plan), prefix, number)
        ended = yield from visit.flow()
        self.steps.append(visit.record())
        if ended.output is not None:
            self.outputs[ways.page.id, step.id] = (len(self.steps), ended.output)
            self.named_outputs[fold(plan.name)] = ended.output
        if ended.used_up:
            raise _End("stopped", ended.why, used_up="budget")
        if ended.stopped:
            raise _End("stopped", ended.why, retry=visit.first)
        if ended.why:
            why = f"“{visit.plan.name}”: {ended.why}"
            # What a person has to let pass, or a way that nobody chose, is not passed over.
            if plan.on_exhausted != "continue" or plan.routes or plan.require:
                raise _End("failed", why, retry=visit.first)
            self.notes.append(Note("exhausted", why, self.terms.item.id))
        shown = visit.plan.routes
        return plan.routes[shown.index(ended.route)] if ended.route else ""

    # -- slots -----------------------------------------------------------------------------------

    def _fill_plan(self, ways: Map, step: Step, plan: Planned) -> Planned:
        """What is done at a step, with every slot filled that an agent or a person would see."""
        targets = map(ways.follow, ways.choices(step))
        routes = tuple(self._fill_line(ways, route) for route in plan.routes)
        if not all(routes) or len(set(routes)) < len(routes):
            routes = plan.routes  # which can be told apart
        return replace(
            plan,
            name=self._name(ways, step),
            prompt=self._fill(ways, plan.prompt),
            validate_prompt=self._fill(ways, plan.validate_prompt),
            routes=routes,
            targets=tuple(self._name(ways, target) for target in targets),
        )

    def _name(self, ways: Map, step: Step) -> str:
        return cut(self._fill_line(ways, step.title), LONGEST_NAME) or step.id

    def _fill_line(self, ways: Map, text: str) -> str:
        return " ".join(self._fill(ways, text).split()) if "{{" in text else text

    def _fill(self, ways: Map, text: str) -> str:
        """A text with the item's fields and earlier outputs put in, as they are.

        The slot of a step that has handed nothing on, as one on a way not taken, is left empty.
        """
        if "{{" not in text:
            return text
        known: dict[str, str] = {}
        for name in wording.slots(text)[1]:
            output = self._output(ways, name)
            if output is None and (ways.named(name) or fold(name) in self._names):
                output = ""
                said = f"“{name}” has handed nothing on, so its slot is empty."
                note = Note("empty", said, self.terms.item.id)
                if note not in self.notes:
                    self.notes.append(note)
                    self.chooser.notes.append(note)
            if output is not None:
                known[name] = output
        return wording.fill_prompt(text, values_of(self.terms.item), known)

    def tell_item(self, prompt: str) -> str:
        """Which item a task is about, where it has no slot for anything of the item."""
        item = self.terms.item
        known = {name: said for name, said in values_of(item).items() if name != "question"}
        if not name_item(item) or wording.fill_prompt(prompt, known, {}) != prompt:
            return ""
        lines = "\n".join(f"{name}: {said}" for name, said in known.items() if said.strip())
        return f"\n\nThe item that this is about:\n{wording.fenced(lines)}"

    @cached_property
    def _names(self) -> set[str]:
        return {fold(step.name) for page in self.terms.chart.pages for step in page.steps}

    def _output(self, ways: Map, name: str) -> str | None:
        """What a step handed on: one of this page of that id or name, else one of any page."""
        places = ((ways.page.id, step.id) for step in ways.named(name))
        done = [self.outputs[place] for place in places if place in self.outputs]
        return max(done)[1] if done else self.named_outputs.get(fold(name))


# -- resuming a walk that failed ------------------------------------------------------------------

Again = tuple[str, dict[str, Any]]
"""The key of what is asked anew, if anything is, and the terms that are others from then on."""


def again(began: dict[str, Any], result: dict[str, Any]) -> Again | None:
    """How a walk goes on that ended with this result; nothing where it cannot.

    A step that was given up is tried from its beginning. Where nothing but the budget was used up,
    or the number of visits, it is given as much once more as it was begun with.
    """
    used_up, key = result.get("used_up"), result.get("retry")
    if used_up == "budget":
        given = dict(began.get("budget") or {})
        more = {name: m + result[name.removeprefix("max_")] for name, m in given.items() if m}
        return "", {"budget": given | more}
    if used_up == "visits":
        defaults = dict(began.get("defaults") or {})
        before = max(Counter(result["path"]).values()) - 1
        most = before + defaults.get("max_visits", MAX_VISITS)
        return "", {"defaults": defaults | {"max_visits": most}}
    return (str(key), {}) if key else None
