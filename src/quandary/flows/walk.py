"""A chart walked: agents do the steps and take the decisions, others check them, people are asked.

One visit to a step is one `Visit`; it asks, reads what came, has it judged, tries again, and ends
with a route or a failure. The walk itself only goes from step to step.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from quandary.errors import Failed, QuandaryError
from quandary.flows import Flow, Steps, wording
from quandary.flows.asking import Chooser
from quandary.flows.steps import UsedUp, Visit, shorten
from quandary.flows.wording import CHECK
from quandary.model import keys
from quandary.model.asks import Item, Limits, Note, Required
from quandary.model.calls import HUMAN, fold, is_human
from quandary.model.chart import (
    LONGEST_NAME,
    QUIET,
    TOLERATED,
    Chart,
    Kind,
    Map,
    Page,
    Step,
    check,
    circles,
    named,
)
from quandary.model.text import shorten as cut

T = TypeVar("T")
RETRIES = 3
TIMEOUT = 600.0
MAX_VISITS = 25
MOST_RETRIES = 1000
MOST_VOTES = 25
_SLOT = r"\{\{[^{}]*\}\}"
_YES, _NO = frozenset({"true", "yes", "1", "on"}), frozenset({"false", "no", "0", "off"})

Exhausted = Literal["fail", "continue"]


class Defaults(msgspec.Struct, frozen=True, omit_defaults=True):
    """What holds where a step says nothing: the command line, the environment, the settings."""

    cli: str = ""
    validate_cli: str = ""  # who judges; the agent of the step where nobody else is named
    retry_cli: str = ""
    retries: int = RETRIES
    timeout: float = TIMEOUT
    max_visits: int = MAX_VISITS
    on_exhausted: Exhausted = "fail"
    on_interrupted: Literal["retry", "ask"] = "retry"


class Planned(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A step with everything that will be used at it."""

    id: str
    name: str
    kind: Kind
    page: str = ""  # the id of the page that it is drawn on
    prompt: str = ""
    validate_prompt: str = ""  # what the validator is told; nothing where nobody judges
    cli: str = ""
    validate_cli: str = ""
    retry_cli: str = ""
    retries: int = RETRIES
    timeout: float = TIMEOUT
    votes: tuple[str, ...] = ()  # the agents that are asked at once; nothing where one decides
    on_exhausted: Exhausted = "fail"
    routes: tuple[str, ...] = ()  # what a decision can be answered with
    targets: tuple[str, ...] = ()  # the names of the steps that the routes lead to
    require: Required = ""  # whether a person themselves has to do the step, or to judge it
    problems: tuple[str, ...] = ()  # what is wrong with the step's own settings

    @property
    def validates(self) -> bool:
        return bool(self.validate_prompt)

    @property
    def asks(self) -> bool:
        """Whether somebody is asked here; a chart that runs another may only do that."""
        return self.kind not in QUIET and (self.kind != "subprocess" or bool(self.routes))

    @property
    def agents(self) -> tuple[str, ...]:
        """Everybody who may be asked, each once; an empty name where none was given."""
        return tuple(dict.fromkeys((*self.workers, *self.judges)))

    @property
    def workers(self) -> tuple[str, ...]:
        """Those who may be asked to do the step, or to choose a way."""
        retry = (self.retry_cli,) if self.retries and not self.votes else ()
        return (*(self.votes or (self.cli,)), *retry) if self.asks else ()

    @property
    def judges(self) -> tuple[str, ...]:
        return (self.validate_cli,) if self.validates else ()

    @property
    def most_calls(self) -> int:
        """The largest number of calls for one visit; a person is no call."""
        if not self.asks:
            return 0
        attempts = 1 + self.retries
        if self.votes:
            return attempts * sum(not is_human(voter) for voter in self.votes)
        calls = (not is_human(self.cli)) + self.retries * (not is_human(self.retry_cli))
        if self.validates:  # and each of them once more, where it cannot be read
            calls += 2 * attempts * (not is_human(self.validate_cli))
        return calls


def plan_step(ways: Map, step: Step, defaults: Defaults, codenames: Sequence[str]) -> Planned:
    """A step's own fields, then its tags, then the defaults. What is wrong is said, not raised."""
    problems: list[str] = []
    field = step.field

    def read(name: str, convert: Callable[[str], T], otherwise: T) -> T:
        if (value := field(name)) is None:
            return otherwise
        try:
            return convert(value.strip())
        except ValueError as wrong:
            said = " ".join(value.split())[:60]
            problems.append(f"{named(step)}: {name} is {wrong}, not {said!r}")
            return otherwise

    kind = ways.kind(step)
    known = {fold(name): name for name in (*codenames, HUMAN)} if step.tags else {}
    tagged = next((known[fold(tag)] for tag in step.tags if fold(tag) in known), "")
    said = field("require")
    require: Required = "" if said is None else "person"
    if said is not None and said.strip().casefold() != "person":
        problems.append(f"{named(step)}: require is person, or left out, not {said.strip()[:60]!r}")
    own = (field("cli") or tagged).strip()
    cli = own or (HUMAN if require else defaults.cli.strip())
    judge = (field("validate_cli") or defaults.validate_cli).strip()
    retry = (field("retry_cli") or defaults.retry_cli).strip() or cli
    silent = read("no_validation", _flag, otherwise="novalidation" in map(fold, step.tags))
    # A person is not asked whether they are content with themselves.
    checked = kind == "process" and not silent and bool(judge or not is_human(cli))
    choices = [] if kind in QUIET else ways.choices(step)
    votes: tuple[str, ...] = read("votes", _votes, otherwise=())
    if votes and not choices:
        problems.append(f"{named(step)}: votes is for decisions, and there is only one way out")
        votes = ()
    votes = tuple(vote or cli for vote in votes)
    if require and (kind in QUIET or (kind == "subprocess" and not choices)):
        problems.append(f"{named(step)}: require is person, but nobody is asked at it")
    if require and not (checked and is_human(judge)):
        # Without a person who judges it, the step is a person's alone, whoever else is named.
        named_here = (own, field("retry_cli") or "", *votes)
        if others := [name for name in named_here if name and not is_human(name)]:
            remedy = "leave that out, or have HUMAN check it"
            problems.append(f"{named(step)}: require is person, and {others[0]} is none; {remedy}")
        cli = retry = HUMAN
        votes = () if others else votes
    return Planned(
        id=step.id,
        name=step.name,
        kind=kind,
        page=ways.page.id,
        prompt=step.prompt,
        validate_prompt=(field("validate_prompt") or CHECK) if checked else "",
        cli=cli,
        validate_cli=judge or cli,
        retry_cli=retry,
        retries=read("retries", _retries, otherwise=defaults.retries),
        timeout=read("timeout", _seconds, otherwise=0.0) or defaults.timeout or TIMEOUT,
        votes=votes,
        on_exhausted=read("on_exhausted", _exhausted, otherwise=defaults.on_exhausted),
        routes=tuple(way.label for way in choices),
        targets=tuple(ways.follow(way).name for way in choices),
        require=require,
        problems=tuple(problems),
    )


def plan(chart: Chart, defaults: Defaults, codenames: Sequence[str]) -> list[Planned]:
    """Every step that a run can come to, in the order in which it can."""
    found: list[Planned] = []
    pages: list[Page] = [chart.first] if chart.first is not None else []
    seen = {page.id for page in pages}
    for page in pages:  # grows while we look
        ways = Map(page, chart)
        for step in ways.walk(ways.start) if ways.start is not None else ():
            found.append(plan_step(ways, step, defaults, codenames))
            if (called := chart.called(step)) is not None and called.id not in seen:
                seen.add(called.id)
                pages.append(called)
    return found


def _whole(text: str) -> int | None:
    """A whole number as people and drawing programs write it: `3`, or `3.0`."""
    return int(found[1]) if (found := re.fullmatch(r"([0-9]{1,9})(\.0)?", text)) else None


def _retries(text: str) -> int:
    if (count := _whole(text)) is None or count > MOST_RETRIES:
        raise ValueError(f"a whole number from 0 to {MOST_RETRIES}")
    return count


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ValueError("a number of seconds, or 0 for the usual one")
    return seconds


def _flag(text: str) -> bool:
    if text.casefold() not in _YES | _NO:
        raise ValueError("true or false")
    return text.casefold() in _YES


def _exhausted(text: str) -> Exhausted:
    if text.casefold() not in ("fail", "continue"):
        raise ValueError("fail or continue")
    return "fail" if text.casefold() == "fail" else "continue"


def _votes(text: str) -> tuple[str, ...]:
    """A number of votes by the step's own agent, or the agents that vote."""
    if (count := _whole(text)) is not None:
        if not 1 <= count <= MOST_VOTES:
            raise ValueError(f"1 to {MOST_VOTES} votes")
        return ("",) * count if count > 1 else ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not 1 < len(names) <= MOST_VOTES:
        raise ValueError("a number, or agents with commas between them")
    return names


def most_calls(chart: Chart, steps: Sequence[Planned], defaults: Defaults) -> int:
    """The largest number of calls that one item can cost. Of several ways the most expensive one
    counts. What lies in a loop may come as often as `max_visits` allows, and nothing more often
    than that, however many pages lead to it.
    """
    if chart.first is None:
        return 0
    pages = {page.id: page for page in reversed(chart.pages)}  # of two with one id, the first
    weights: dict[str, dict[str, int]] = {key: {} for key in pages}  # one may have no beginning
    for step in steps:
        weights[step.page][step.id] = step.most_calls
    inner = {  # for each page, its steps that run another one, and the ids of those
        key: {s.id: to.id for s in pages[key].steps if s.id in reached and (to := chart.called(s))}
        for key, reached in weights.items()
    }
    visits = defaults.max_visits
    costs: dict[str, int] = {}
    for group in circles({key: list(dict.fromkeys(inner[key].values())) for key in weights}):
        for key in group:
            for step_id, called in inner[key].items():
                weights[key][step_id] += costs.get(called, 0)
            costs[key] = _longest(weights[key], pages[key], visits)
    return min(costs.get(chart.first.id, 0), visits * sum(step.most_calls for step in steps))


def _longest(weights: Mapping[str, int], page: Page, visits: int) -> int:
    """The weight of the heaviest way; whatever comes round counts as often as it may."""
    onward: dict[str, list[str]] = {step: [] for step in weights}
    for route in page.routes:
        if route.source in weights and route.target in weights:
            onward[route.source].append(route.target)
    heaviest: dict[str, int] = {}
    for group in circles(onward):
        loops = len(group) > 1 or group[0] in onward[group[0]]
        weight = sum(weights[step] for step in group) * (visits if loops else 1)
        beyond = (heaviest.get(to, 0) for step in group for to in onward[step])
        weight += max(beyond, default=0)
        heaviest |= dict.fromkeys(group, weight)
    return max(heaviest.values(), default=0)


VERSION = 1
DEEPEST = 20  # charts inside one another

Outcome = Literal["completed", "failed", "stopped"]
OWN = ("id", "label", "title", "context", "question")  # the fields that every item has


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one item may cost; nothing set is no limit."""

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None  # of all its agents together, also of those at once


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run was begun with; plain data, kept in the journal as it is."""

    chart: Chart
    item: Item = Item("1")
    defaults: Defaults = Defaults()
    codenames: tuple[str, ...] = ()  # the agents that a tag can name
    budget: Budget = Budget()
    limits: Limits = Limits()
    person: bool = True  # whether somebody can be asked where agents cannot agree
    require: Required = ""  # who has to answer wherever somebody is asked
    allow_changes: bool = False  # whether agents may change things, all but those that judge

    @property
    def name(self) -> str:
        """What the chart is called for this item."""
        return wording.fill_prompt(self.chart.name, values_of(self.item), {})

    @property
    def context(self) -> str:
        """What everybody who is asked in this run should know."""
        about = self.item.title or self.item.label
        head = f"**{self.name}**" + (f", for {about}" if about else "")
        return "\n\n".join(filter(None, (head, shorten(self.item.context))))


def name_item(item: Item) -> str:
    """An item in a message; nothing where a chart is walked for nothing in particular."""
    return "" if item == Item("1") else item.title or item.label or f"item {item.id}"


def values_of(item: Item) -> dict[str, str]:
    """What fills slots: an item by the names of its fields, those that every item has first."""
    own = {name: str(getattr(item, name)) for name in OWN}
    return {**own, **item.fields, **{name: value for name, value in own.items() if value}}


def unfilled(chart: Chart, steps: Iterable[Planned], items: Sequence[Item]) -> list[list[str]]:
    """Slots that nothing fills: what is said of them, and what is refused. Braces and brackets mean
    something in many languages, so an agent may be meant to see them. A person is not, and of
    nothing in particular nobody is told anything.
    """
    wanting: dict[str, tuple[str, bool]] = {}
    shown: dict[str, list[str]] = {}  # what people see of each step, and of each item
    told: list[list[str]] = [[], []]
    ways = {page.id: Map(page, chart) for page in chart.pages}
    for step in steps:
        in_person = bool(step.votes) or any(map(is_human, step.agents))  # who breaks a tie is one
        ahead = (*step.targets, chart.name) if in_person else ()
        seen = "\n".join((step.name, step.prompt, step.validate_prompt, *step.routes, *ahead))
        if in_person:
            checked = step.validate_prompt if any(map(is_human, step.judges)) else ""
            whole = [name for name in (step.name, *ahead) if not name.endswith("…")]
            shown[f"“{step.name}”"] = [*whole, step.prompt, checked, *step.routes]
        fields, outputs = wording.slots(seen) if "{{" in seen else ((), ())
        for field in fields:
            if field not in wanting or in_person:
                wanting[field] = (step.name, in_person)
        lost = [n for n in outputs if in_person and not ways[step.page].may_hand_on(n)]
        told[1] += [f"“{step.name}” uses {{{{steps.{n}.output}}}}; no such step" for n in lost]
    for field, (name, in_person) in wanting.items():
        slot = f"{{{{{field}}}}}"
        found = {item.id: wording.fill_prompt(slot, values_of(item), {}).strip() for item in items}
        if bare := [item for item, value in found.items() if value in (slot, "")]:
            which = "no item has" if len(bare) == len(items) else f"item {bare[0]} does not have"
            empty = "" in found.values()
            refused = in_person or (empty and not any(item.title or item.label for item in items))
            end = "its place would be empty" if empty else "it would stay as it is"
            end = f"{end}; give it with --set {field}=…, or with the item" if refused else end
            told[refused].append(f"“{name}” uses {slot}, a field that {which}; {end}")
    for item in items if shown else ():
        shown[f"item {item.id}"] = [item.label, item.title, item.context]
    for where, texts in shown.items():
        words = (wording.find_unfilled(re.sub(_SLOT, " ", text)) for text in texts)
        if left := next(filter(None, words), ""):
            remedy = "fill it in, make it a {{slot}}, or write it in backticks"
            told[1].append(f"{where} still says {left}; {remedy}")
    return told


class Spent(msgspec.Struct):
    """What an item has cost so far."""

    budget: Budget
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def require(self, further: int) -> None:
        """Refuse so many further calls if they would break a limit; none may begin beyond one."""
        most = self.budget
        if most.max_calls is not None and self.calls + further > most.max_calls:
            raise UsedUp(f"the budget of {most.max_calls} calls is used up")
        if most.max_tokens is not None and self.tokens >= most.max_tokens:
            raise UsedUp(f"the budget of {most.max_tokens} tokens is used up")
        if most.max_seconds is not None and self.seconds >= most.max_seconds:
            raise UsedUp(f"the budget of {most.max_seconds:g} seconds is used up")

    def time(self, wanted: float, calls: int) -> float:
        """The seconds that each of so many calls may take: no more than are left for it."""
        if self.budget.max_seconds is None:
            return wanted
        return min(wanted, max(self.budget.max_seconds - self.seconds, 0.0) / calls)


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's `began` describes."""
    return _flow(msgspec.convert(arguments, Terms), tolerated=TOLERATED)


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
    """Walk a chart once, for one item: yields Calls for agents and Asks for people. The result says
    how it ended and what came of every step. A walk that cannot be finished ends with `Failed`,
    which has the same as its `result`.
    """
    defaults = Defaults(cli, validate_cli, retry_cli, retries, timeout, max_visits, on_exhausted)
    budget = Budget(max_calls, max_tokens, max_seconds)
    names, shown, own = tuple(codenames), limits or Limits(), item or Item("1")
    who: Required = "person" if require_person else ""
    terms = Terms(chart, own, defaults, names, budget, shown, person, who, allow_changes)
    return _flow(terms, refused=unfilled(chart, plan(chart, defaults, names), [own])[1])


def _flow(terms: Terms, tolerated: Sequence[str] = (), refused: Iterable[str] = ()) -> Flow:
    """Refuse a chart that cannot be walked before anything is spent."""
    found = [p for p in check(terms.chart) if p.severity == "error" and p.rule not in tolerated]
    if errors := [*(problem.message for problem in found), *refused]:
        raise QuandaryError(f"the chart cannot be walked: {'; '.join(errors)}")
    return Walk(terms).flow()


class _End(Exception):  # noqa: N818 - leaves the walk, and is always caught
    def __init__(self, outcome: Outcome, why: str, **again: str) -> None:
        super().__init__(why)
        self.outcome: Outcome = outcome
        self.again = again  # where or how it can be taken up again, if it can


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
        self.outputs: dict[tuple[str, str], tuple[int, str]] = {}  # by page and id, and when
        self.named_outputs: dict[str, str] = {}  # by name, for pages without such a step
        self.last: str | None = None  # of the last step, whether it handed on anything or not

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
            "chart": self.terms.name,
            "outcome": outcome,
            "item": self.terms.item.name,
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

    def _page(self, page: Page, prefix: str, depth: int) -> Steps[None]:
        ways = self.maps.setdefault(page.id, Map(page, self.terms.chart))
        step = ways.start
        while step is not None:
            self.path.append(step.id)
            place, defaults = (page.id, step.id), self.terms.defaults
            self.visits[place] += 1
            if self.visits[place] > (most := defaults.max_visits):
                why = f"“{step.name}” was visited more than {most} times (max_visits)"
                raise _End("failed", why, used_up="visits")
            plan, label = plan_step(ways, step, defaults, self.terms.codenames), ""
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
            inner, before = keys.visit(step.id, number, "chart"), len(self.steps)
            yield from self._page(called, keys.within(f"{prefix}{inner}", called.id), depth + 1)
            if not plan.routes:
                if len(self.steps) > before:  # what the last of them handed on is its own output
                    self._hand_on(ways, step, self.last)
                return ""
        visit = Visit(self, plan, self._fill_plan(ways, step, plan), prefix, number)
        ended = yield from visit.flow()
        self.steps.append(visit.record())
        self._hand_on(ways, step, ended.output)
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
        return plan.routes[visit.plan.routes.index(ended.route)] if ended.route else ""

    def _hand_on(self, ways: Map, step: Step, output: str | None) -> None:
        """Keep what a step produced, for slots in the tasks behind it."""
        self.last = output
        if output is not None:
            self.outputs[ways.page.id, step.id] = (len(self.steps), output)
            self.named_outputs |= dict.fromkeys(map(fold, step.names), output)

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
            targets=tuple(self._name(ways, target, ahead=True) for target in targets),
        )

    def _name(self, ways: Map, step: Step, *, ahead: bool = False) -> str:
        return cut(self._fill_line(ways, step.title, ahead=ahead), LONGEST_NAME) or step.id

    def _fill_line(self, ways: Map, text: str, *, ahead: bool = False) -> str:
        return " ".join(self._fill(ways, text, ahead=ahead).split()) if "{{" in text else text

    def _fill(self, ways: Map, text: str, *, ahead: bool = False) -> str:
        """A text with the item's fields and earlier outputs put in; nothing for a way not taken.
        What is still ahead may be handed something until it is reached.
        """
        if "{{" not in text:
            return text
        known: dict[str, str] = {}
        for name in wording.slots(text)[1]:
            output = self._output(ways, name)
            if output is None and ways.may_hand_on(name):
                output = "…" if ahead else ""
                said = f"“{name}” has handed nothing on, so its slot is empty."
                note = Note("empty", said, self.terms.item.id)
                if note not in self.notes and not ahead:
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

    def _output(self, ways: Map, name: str) -> str | None:
        """What a step handed on: one of this page of that id or name, if it has any, else one of
        any page.
        """
        if not (known := ways.named(name)):
            return self.named_outputs.get(fold(name))
        places = ((ways.page.id, step.id) for step in known)
        done = [self.outputs[place] for place in places if place in self.outputs]
        return max(done)[1] if done else None


Again = tuple[str, dict[str, Any]]
"""The key of what is asked anew, if anything is, and the terms that are others from then on."""


def again(began: dict[str, Any], result: dict[str, Any]) -> Again | None:
    """How a walk goes on that ended with this result; nothing where it cannot. A step that was
    given up is tried from its beginning. Where nothing but the budget was used up, or the number of
    visits, it is given as much once more as it was begun with.
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
