"""What will be done at each step of a chart: the step's own words first, then the defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

import msgspec

from quandary.flows.wording import CHECK
from quandary.model.asks import Required
from quandary.model.calls import HUMAN, fold, is_human
from quandary.model.chart import QUIET, Chart, Kind, Map, Page, Step, circles, named

T = TypeVar("T")
RETRIES = 3
TIMEOUT = 600.0
MAX_VISITS = 25
MOST_RETRIES = 1000
MOST_VOTES = 25
_LONGEST_NUMBER = 9
_YES, _NO = frozenset({"true", "yes", "1", "on"}), frozenset({"false", "no", "0", "off"})

Exhausted = Literal["fail", "continue"]


class Defaults(msgspec.Struct, frozen=True, omit_defaults=True):
    """What holds where a step says nothing: the command line, the environment, the settings."""

    cli: str = ""
    validate_cli: str = ""
    """Who judges; the agent of the step where nobody else is named."""
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
    page: str = ""
    """The id of the page that it is drawn on."""
    prompt: str = ""
    validate_prompt: str = ""
    """What the validator is told; nothing where nobody judges."""
    cli: str = ""
    validate_cli: str = ""
    retry_cli: str = ""
    retries: int = RETRIES
    timeout: float = TIMEOUT
    votes: tuple[str, ...] = ()
    """The agents that are asked at once; nothing where one decides."""
    on_exhausted: Exhausted = "fail"
    routes: tuple[str, ...] = ()
    """What a decision can be answered with."""
    targets: tuple[str, ...] = ()
    """The names of the steps that the routes lead to."""
    require: Required = ""
    """Whether a person themselves has to do the step, or to judge it."""
    problems: tuple[str, ...] = ()
    """What is wrong with the step's own settings."""

    @property
    def validates(self) -> bool:
        """Whether somebody judges what was done."""
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
        """Whoever is asked whether it was done."""
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
        value = field(name)
        if value is None:
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
    silent = read("no_validation", _flag, otherwise=step.tagged("NoValidation"))
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
    digits = text.removesuffix(".0")
    fitting = digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_NUMBER
    return int(digits) if fitting else None


def _retries(text: str) -> int:
    count = _whole(text)
    if count is None or count > MOST_RETRIES:
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
    count = _whole(text)
    if count is not None:
        if not 1 <= count <= MOST_VOTES:
            raise ValueError(f"1 to {MOST_VOTES} votes")
        return ("",) * count if count > 1 else ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not 1 < len(names) <= MOST_VOTES:
        raise ValueError("a number, or agents with commas between them")
    return names


def most_calls(chart: Chart, steps: Sequence[Planned], defaults: Defaults) -> int:
    """The largest number of calls that one item can cost.

    Of several ways the most expensive one counts. What lies in a loop may come as often as
    `max_visits` allows, and nothing more often than that, however many pages lead to it.
    """
    if chart.first is None:
        return 0
    pages = {page.id: page for page in reversed(chart.pages)}  # of two with one id, the first
    weights: dict[str, dict[str, int]] = {}
    for step in steps:
        weights.setdefault(step.page, {})[step.id] = step.most_calls
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
