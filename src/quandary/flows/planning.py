"""What will be done at each step of a chart: the step's own words first, then the defaults."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from quandary.flows.prompting import CHECK
from quandary.model.call import fold, is_human
from quandary.model.chart import Kind, Map
from quandary.model.soundness import named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from quandary.model.chart import Chart, Page, Step

T = TypeVar("T")
RETRIES = 3
TIMEOUT = 600.0
MAX_VISITS = 25
MOST_VOTES = 25
_YES, _NO = frozenset({"true", "yes", "1", "on"}), frozenset({"false", "no", "0", "off"})


class Defaults(msgspec.Struct, frozen=True, omit_defaults=True):
    """What holds where a step says nothing: the command line, the environment, the settings."""

    cli: str = ""
    validate_cli: str = ""
    """Who judges; the agent of the step where nobody else is named."""
    retry_cli: str = ""
    retries: int = RETRIES
    timeout: float = TIMEOUT
    max_visits: int = MAX_VISITS
    on_exhausted: Literal["fail", "continue"] = "fail"
    on_interrupted: Literal["retry", "ask"] = "retry"


class Planned(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step with everything that will be used at it."""

    id: str
    name: str
    kind: Kind
    page: str = ""
    prompt: str = ""
    check: str = ""
    """What the validator is told."""
    validates: bool = False
    cli: str = ""
    validate_cli: str = ""
    retry_cli: str = ""
    retries: int = RETRIES
    timeout: float = TIMEOUT
    votes: tuple[str, ...] = ()
    """The agents that are asked at once; nothing where one decides."""
    on_exhausted: Literal["fail", "continue"] = "fail"
    routes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What is wrong with the step's own settings."""

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent that may be asked, each once."""
        if self.kind in ("terminator", "connector"):
            return ()
        deciding = self.kind != "process"
        judging = (self.validate_cli,) if self.validates else ()
        asked = (*(self.votes if deciding and self.votes else (self.cli,)), self.retry_cli)
        return tuple(dict.fromkeys((*asked, *judging)))

    @property
    def most_calls(self) -> int:
        """The largest number of calls for one visit; a person is no call."""
        if not self.agents or (self.kind == "subprocess" and not self.routes):
            return 0
        first = self.votes or (self.cli,)
        calls = [first[0]] if self.kind == "process" else list(first)
        calls += [self.retry_cli] * self.retries
        if self.validates:  # and each of them once more, where it cannot be read
            calls += [self.validate_cli] * (2 * (1 + self.retries))
        return sum(not is_human(agent) for agent in calls)


class _Wrong(Exception):  # noqa: N818 - always caught
    """A data field with a value of the wrong kind."""


def planned(ways: Map, step: Step, defaults: Defaults, codenames: Sequence[str]) -> Planned:
    """A step's own fields, then its tags, then the defaults. What is wrong is said, not raised."""
    problems: list[str] = []

    def read(field: str, convert: Callable[[str], T], otherwise: T) -> T:
        value = step.field(field)
        if value is None:
            return otherwise
        try:
            return convert(value.strip())
        except _Wrong as wrong:
            problems.append(f"{named(step)}: {field} is {wrong}, not {value.strip()!r}")
            return otherwise

    kind = ways.kind(step)
    cli = step.field("cli") or _tagged(step, codenames) or defaults.cli
    silent = step.tagged("NoValidation") or read("no_validation", _flag, otherwise=False)
    check = step.field("validate_prompt") or CHECK
    routes = tuple(route.label for route in ways.ways(step) if route.label)
    none: tuple[str, ...] = ()
    votes = read("votes", _votes, otherwise=none)
    return Planned(
        id=step.id,
        name=step.name,
        kind=kind,
        page=ways.page.name,
        prompt=step.prompt,
        check=check,
        validates=kind == "process" and not silent,
        cli=cli.strip(),
        validate_cli=(step.field("validate_cli") or defaults.validate_cli or cli).strip(),
        retry_cli=(step.field("retry_cli") or defaults.retry_cli or cli).strip(),
        retries=read("retries", _count, otherwise=defaults.retries),
        timeout=read("timeout", _seconds, otherwise=defaults.timeout),
        votes=tuple(cli.strip() if vote == "" else vote for vote in votes),
        on_exhausted=read("on_exhausted", _exhausted, otherwise=defaults.on_exhausted),
        routes=routes if kind in ("decision", "subprocess") else (),
        problems=tuple(problems),
    )


def plan(chart: Chart, defaults: Defaults, codenames: Sequence[str]) -> list[Planned]:
    """Every step that a run can come to, in the order in which it can."""
    found: list[Planned] = []
    pages: list[Page] = [chart.first] if chart.first is not None else []
    seen = {page.id for page in pages}
    for page in pages:  # grows while we look
        ways = Map(page, chart)
        start = ways.start
        for step in ways.walk(start) if start is not None else ():
            found.append(planned(ways, step, defaults, codenames))
            called = chart.called(step)
            if called is not None and called.id not in seen:
                seen.add(called.id)
                pages.append(called)
    return found


def most_calls(chart: Chart, steps: Sequence[Planned], defaults: Defaults) -> int:
    """The largest number of calls that one item can cost; what is in a loop may come again."""
    looping = {(page.name, step) for page in chart.pages for step in _looping(page)}
    return sum(
        step.most_calls * (defaults.max_visits if (step.page, step.id) in looping else 1)
        for step in steps
    )


def _looping(page: Page) -> set[str]:
    """The ids of steps that can be come to again; at worst also some between two loops."""
    routes = [(route.source, route.target) for route in page.routes]
    left = {step.id for step in page.steps}
    for ends in (routes, [(target, source) for source, target in routes]):
        left = _without_firsts(left, ends)
    return left


def _without_firsts(steps: Iterable[str], routes: Iterable[tuple[str, str]]) -> set[str]:
    """Steps without those that nothing leads to, again and again."""
    left = set(steps)
    onward: dict[str, list[str]] = {}
    for source, target in routes:
        if source in left and target in left:
            onward.setdefault(source, []).append(target)
    into = Counter(target for targets in onward.values() for target in targets)
    free = [step for step in left if not into[step]]
    while free:
        step = free.pop()
        left.discard(step)
        for target in onward.get(step, ()):
            into[target] -= 1
            if not into[target]:
                free.append(target)
    return left


def _tagged(step: Step, codenames: Sequence[str]) -> str:
    """The agent that a tag names."""
    known = {fold(name): name for name in codenames}
    return next((known[fold(tag)] for tag in step.tags if fold(tag) in known), "")


def _count(text: str) -> int:
    if not text.isascii() or not text.removesuffix(".0").isdigit():
        raise _Wrong("a whole number from 0 up")
    return int(text.removesuffix(".0"))


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise _Wrong("a number of seconds above 0")
    return seconds


def _flag(text: str) -> bool:
    if text.casefold() not in _YES | _NO:
        raise _Wrong("true or false")
    return text.casefold() in _YES


def _exhausted(text: str) -> Literal["fail", "continue"]:
    if text == "continue":
        return "continue"
    if text == "fail":
        return "fail"
    raise _Wrong("fail or continue")


def _votes(text: str) -> tuple[str, ...]:
    """A number of votes by the step's own agent, or the agents that vote."""
    if text.removesuffix(".0").isdigit():
        count = int(text.removesuffix(".0"))
        if not 1 <= count <= MOST_VOTES:
            raise _Wrong(f"1 to {MOST_VOTES} votes")
        return ("",) * count if count > 1 else ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not 1 < len(names) <= MOST_VOTES:
        raise _Wrong("a number, or agents with commas between them")
    return names
