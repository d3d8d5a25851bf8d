"""Whether a chart can be walked: everything that is wrong with it, found at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from quandary.model.chart import Chart, Map, Page, Route, Step, folded
from quandary.model.text import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHOWN = 5
"""How many shapes a message names before it only counts them."""
_SLOT = re.compile(r"\{\{\s*steps\.([^{}]+)\.\w+\s*\}\}")


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong with a chart, and the shapes that it concerns."""

    rule: str
    severity: Literal["error", "warning"]
    message: str
    steps: tuple[str, ...] = ()
    line: int = 0
    page: str = ""


def check(chart: Chart) -> tuple[Problem, ...]:
    """Every problem on the pages that a run can come to; with no beginning, on every page."""
    pages = concerned(chart)
    found = [problem for page in pages for problem in _page(Map(page, chart))]
    if not pages:
        found.append(Problem("no-steps", "error", "there is no page in it; draw a chart first"))
    found += _circles(chart, pages)
    return tuple(found)


def named(step: Step) -> str:
    """A step in a message."""
    return f"“{step.name}” ({_cut(step.id)})" if step.name != step.id else f"“{_cut(step.id)}”"


def listed(steps: Iterable[Step]) -> str:
    """Steps in a message, the first few by name."""
    every = list(steps)
    more = f" and {len(every) - SHOWN} more" if len(every) > SHOWN else ""
    return ", ".join(map(named, every[:SHOWN])) + more


def concerned(chart: Chart) -> list[Page]:
    """The pages that a run can come to from the one it begins on."""
    first = [chart.first] if chart.start and chart.first is not None else []
    waiting = first or [page for page in chart.pages if page.steps or page.routes]
    found = {page.id: page for page in waiting or chart.pages}
    while waiting:
        for step in waiting.pop().steps:
            called = chart.called(step) if step.shape == "subprocess" else None
            if called is not None and called.id not in found:
                found[called.id] = called
                waiting.append(called)
    return list(found.values())


def _page(plan: Map) -> list[Problem]:
    page = plan.page
    if not page.steps:
        message = "there is no step on this page; draw shapes and join them with lines"
        return [Problem("no-steps", "error", message, (), page.line, page.name)]
    found = [*_doubles(page), *_ends(plan)]
    for step in plan.steps.values():
        ways = plan.ways(step)
        if len(ways) > 1 or step.shape != "process":
            found += _ways(plan, step, ways)
        if not step.text:
            found += _blank(plan, step)
        if step.metadata or "{{" in step.text:
            found += _slots(plan, step)
        if step.shape == "subprocess" and plan.chart and plan.chart.called(step) is None:
            message = f"{named(step)} names no other page; it is run as a plain step"
            found.append(_warning("subprocess-plain", message, step))
    found += _reach(plan)
    found.sort(key=lambda problem: problem.line)
    return [msgspec.structs.replace(problem, page=page.name) for problem in found]


def _error(rule: str, message: str, *steps: Step, line: int = 0) -> Problem:
    """Something for which the chart cannot be walked, where the first of the steps stands."""
    line = line or (steps[0].line if steps else 0)
    return Problem(rule, "error", message, tuple(step.id for step in steps), line)


def _warning(rule: str, message: str, *steps: Step, line: int = 0) -> Problem:
    return msgspec.structs.replace(_error(rule, message, *steps, line=line), severity="warning")


# -- lines -----------------------------------------------------------------------------------------


def _doubles(page: Page) -> Iterator[Problem]:
    """Every shape has an id of its own."""
    known: dict[str, Step] = {}
    for step in page.steps:
        other = known.setdefault(step.id, step)
        if other is not step:
            names = f"“{other.name}” and “{step.name}”"
            message = f"two shapes have the id {_cut(step.id)}: {names}"
            yield _error("duplicate-id", message, step)
    if "" in known:
        message = f"“{_cut(known[''].text)}” has no id, so that no line can lead to it"
        yield _error("id-missing", message, known[""])


def _ends(plan: Map) -> Iterator[Problem]:
    """Both ends of every line are joined to steps; a line joined to nothing is left out."""
    scenery = {thing.id: thing for thing in plan.page.scenery}

    def end(key: str) -> str:
        if key in plan.steps:
            return named(plan.steps[key])
        thing = scenery.get(key)
        if thing is not None:
            return f"the {thing.kind} {f'“{_cut(thing.text)}”' if thing.text else _cut(key)}"
        return f"{_cut(key)}, which is no step here" if key else "nowhere"

    for route in plan.page.routes:
        ends = (route.source, route.target)
        steps = [plan.steps[key] for key in ends if key in plan.steps]
        line = f"the line “{_cut(route.label)}”" if route.label else "a line"
        if not any(ends):
            message = f"{line} is joined to nothing; it is left out"
            yield _warning("loose-line", message, line=route.line)
        elif len(steps) < 2:
            where = f"from {end(route.source)} leads to {end(route.target)}"
            message = f"{line} {where}; join both of its ends to steps"
            yield _error("line-to-nowhere", message, *steps, line=route.line)


def _ways(plan: Map, step: Step, ways: list[Route]) -> Iterator[Problem]:
    """Ways out are told apart by their labels; only a step's sole way out may go without one."""
    bare = [route for route in ways if not route.label.strip()]
    if len(bare) > 1:
        targets = listed(plan.follow(route) for route in bare)
        message = f"{named(step)} has {len(bare)} unlabelled ways out (to {targets})"
        remedy = "write on each line when it is taken"
        yield _error("several-unlabelled", f"{message}; {remedy}", step, line=bare[1].line)
    elif bare and len(ways) > 1:
        target = named(plan.follow(bare[0]))
        message = f"the way from {named(step)} to {target} has no label and others have"
        remedy = "write on it when it is taken"
        yield _error("label-missing", f"{message}; {remedy}", step, line=bare[0].line)
    elif len(ways) > 1 and step.shape == "terminator":
        message = (
            f"the terminator {named(step)} has {len(ways)} ways out, and nobody is asked there"
        )
        yield _error("terminator-choice", f"{message}; draw a decision after it", step)
    if step.shape == "decision" and len(bare) == len(ways) < 2:
        out = "one unlabelled way out" if ways else "no way out"
        message = f"{named(step)} is drawn as a decision and has {out}; it is run as a plain step"
        yield _warning("lone-decision", message, step)
    # No two ways out of a step have the same label, case and spaces aside.
    known: dict[str, Route] = {}
    for route in ways:
        other = known.setdefault(folded(route.label), route)
        if route.label.strip() and other is not route:
            targets = f"{named(plan.follow(other))} and {named(plan.follow(route))}"
            message = f"two ways out of {named(step)} are labelled “{_cut(route.label)}”"
            remedy = "each needs a label of its own"
            message = f"{message} (to {targets}); {remedy}"
            yield _error("duplicate-route", message, step, line=route.line)


# -- steps -----------------------------------------------------------------------------------------


def _blank(plan: Map, step: Step) -> Iterator[Problem]:
    """A decision says what is to be decided; at any other shape without text nobody is called."""
    if step.prompt.strip() or step.shape == "connector":
        return
    if plan.kind(step) == "decision":
        labels = ", ".join(f"“{_cut(route.label)}”" for route in plan.ways(step)[:SHOWN])
        message = f"{named(step)} has no text; write what is to be decided ({labels})"
        yield _error("no-text", message, step)
    elif plan.kind(step) == "connector":
        yield _warning("no-text", f"{named(step)} has no text; nobody is called there", step)


def _slots(plan: Map, step: Step) -> Iterator[Problem]:
    """A slot for an earlier answer names one step."""
    for text in (step.text, *step.metadata.values()):
        for match in _SLOT.finditer(text) if "{{" in text else ():
            name = match[1].strip()
            fitting = plan.named(name)
            if len(fitting) != 1:
                which = f"{len(fitting)} steps are" if fitting else "no step is"
                message = f"{named(step)} uses {match[0]}, and {which} called {_cut(name)} here"
                yield _warning("slot-unknown", message, step)


# -- the whole -------------------------------------------------------------------------------------


def _reach(plan: Map) -> Iterator[Problem]:
    """There is one beginning; from there every step is reached, and from every step an end."""
    starts = plan.starts
    if len(starts) > 1:
        remedy = "join them, or draw one terminator called Start"
        message = f"it could begin at {listed(starts)}; {remedy}"
        yield _error("several-starts", message, *starts)
        return
    if not starts:
        steps = list(plan.steps.values())
        message = f"every step has a way in ({listed(steps)}), so there is no beginning"
        yield _error("no-start", f"{message}; draw a terminator called Start", *steps)
        return
    reached = {step.id: step for step in plan.walk(starts[0])}
    lost = [step for key, step in plan.steps.items() if key not in reached]
    if lost:
        message = f"nothing leads to {listed(lost)} from {named(starts[0])}; never run"
        yield _warning("unreachable", message, *lost)
    ending = _ending(plan, reached)
    endless = [step for key, step in reached.items() if key not in ending]
    if endless:
        message = f"no end can be reached from {listed(endless)}; a run would loop forever"
        yield _warning("endless", message, *endless)


def _ending(plan: Map, among: dict[str, Step]) -> set[str]:
    """The ids of the steps from which an end can be reached."""
    waiting = [step for step in among.values() if not plan.ways(step)]
    found = {step.id for step in waiting}
    while waiting:
        for route in plan.into(waiting.pop()):
            if route.source not in found:
                found.add(route.source)
                waiting.append(plan.steps[route.source])
    return found


def _circles(chart: Chart, pages: list[Page]) -> Iterator[Problem]:
    """No page is run as a part of itself."""
    calls = {
        page.id: {called.id: step for step in page.steps if (called := chart.called(step))}
        for page in pages
    }
    left = _tied(_tied({key: set(below) for key, below in calls.items()}))
    for page in pages:
        for key, step in calls[page.id].items():
            if page.id in left and key in left:
                message = f"{named(step)} comes to its own page again; no page is a part of itself"
                found = _error("subprocess-circle", message, step)
                yield msgspec.structs.replace(found, page=page.name)


def _tied(calls: dict[str, set[str]]) -> dict[str, set[str]]:
    """Those that go on without end, and for each of them which of those go on to it."""
    above: dict[str, set[str]] = {key: set() for key in calls}
    for key, below in calls.items():
        for other in below:
            above[other].add(key)
    count = {key: len(below) for key, below in calls.items()}
    waiting = [key for key, below in count.items() if not below]
    while waiting:
        for key in above.pop(waiting.pop()):
            count[key] -= 1
            if not count[key]:
                waiting.append(key)
    return {key: found & above.keys() for key, found in above.items()}


def _cut(text: str) -> str:
    return shorten(" ".join(text.split()))
