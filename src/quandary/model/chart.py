"""A chart: the steps of a process, and the routes that lead from one to the next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal

import msgspec

from quandary.model.calls import fold
from quandary.model.text import shorten
from quandary.model.tree import Content

Shape = Literal["process", "decision", "terminator", "subprocess", "connector"]
"""How a step is drawn."""
Kind = Literal["process", "decision", "terminator", "subprocess", "connector"]
"""What a step is: see `Map.kind`."""
SceneryKind = Literal["container", "group", "note"]

QUIET: frozenset[Kind] = frozenset({"terminator", "connector"})  # nobody is called there
STARTS = frozenset({"start", "begin", "start here", "begin here"})
ENDS = STARTS | {"end", "stop", "finish", "exit"}  # what says no more in a terminator
LONGEST_NAME = 60
FIELDS = (
    *("cli", "validate_cli", "retry_cli", "validate_prompt", "no_validation", "retries", "timeout"),
    *("votes", "on_exhausted", "require", "prompt", "name", "page", "chart", "file", "kind"),
)
"""The data fields that mean something."""

_OUTER = " \t\n\r.,;:!?'\"`()[]{}<>*_-–—…“”‘’«»¡¿、。，！？：；"


class Step(Content, frozen=True, eq=False, gc=False, omit_defaults=True):
    """One shape of a chart that a run comes through."""

    said = ("id", "text", "shape", "tags", "metadata", "notes", "lane")

    id: str
    text: str = ""  # what stands in the shape; what an agent or a person is asked to do
    shape: Shape = "process"
    tags: tuple[str, ...] = ()
    metadata: dict[str, str] = msgspec.field(default_factory=dict)  # fields as written
    notes: tuple[str, ...] = ()  # further texts and comments: for readers, not for agents
    lane: str = ""  # the title of the lane or container that it stands in
    line: int = 0  # where it stands in its file, if that has lines

    @property
    def name(self) -> str:
        """What to call it, cut where it would be too long; its id where nothing is written."""
        return shorten(self.title, LONGEST_NAME) or self.id

    @property
    def title(self) -> str:
        """Its data field `name`, else the first line of its text."""
        given = self.field("name") or self.text
        return " ".join(next(iter(given.strip().splitlines()), "").split())

    @property
    def names(self) -> set[str]:
        """What a slot may call it: its title, whole or cut."""
        return {self.name, self.title or self.name}

    @property
    def prompt(self) -> str:
        """What to do: the data field `prompt`, where the text is only a title, else the text."""
        return self.field("prompt") or self.text

    def field(self, name: str) -> str | None:
        """A data field by its name, however that is spelt; blank is as good as none."""
        wanted = fold(name)
        found = (value for key, value in self.metadata.items() if fold(key) == wanted)
        return next((value for value in found if value.strip()), None)

    @property
    def is_terminator(self) -> bool:
        """Whether nobody is called there, as it is drawn, unless its data field `kind` says so."""
        return self.shape == "terminator" and self._declared != "process"

    @property
    def has_doubtful_task(self) -> bool:
        """Whether it is a terminator by its outline alone, and its words may be a task."""
        ending = loosened(self.prompt) in ENDS or not self.prompt.strip()
        return self.is_terminator and not ending and self._declared != "terminator"

    @property
    def _declared(self) -> str:
        return (self.field("kind") or "").strip().casefold()


class Route(Content, frozen=True, eq=False, gc=False, omit_defaults=True):
    """A line from one step to another; an end that is joined to nothing is empty."""

    said = ("source", "target", "label")

    source: str
    target: str
    label: str = ""
    line: int = 0


class Scenery(Content, frozen=True, eq=False, gc=False, omit_defaults=True):
    """Something drawn that is no step: a lane, a container, a group, a note, a picture."""

    said = ("id", "kind", "text")

    id: str
    kind: SceneryKind
    text: str = ""
    line: int = 0


class Page(Content, frozen=True, eq=False, omit_defaults=True):
    """One drawing: steps, the routes between them, and what else is drawn there."""

    said = ("id", "name", "steps", "routes", "scenery")

    id: str = ""
    name: str = ""
    steps: tuple[Step, ...] = ()
    routes: tuple[Route, ...] = ()
    scenery: tuple[Scenery, ...] = ()
    line: int = 0


class Chart(Content, frozen=True, eq=False, omit_defaults=True, dict=True):
    """One or more pages. A run begins on `start`; a subprocess may lead to any other page."""

    said = ("name", "pages", "start")

    name: str
    pages: tuple[Page, ...] = ()
    start: str = ""  # the id of the page that a run begins on

    def named(self, name: str) -> list[Page]:
        """The pages of that name, or of that id; spelling aside as a last try."""
        keys = ("name", name), ("id", name), ("fold", fold(name))
        return next((self._index[key] for key in keys if key in self._index), [])

    @cached_property
    def _index(self) -> dict[tuple[str, str], list[Page]]:
        found: dict[tuple[str, str], list[Page]] = {}
        for page in self.pages:
            found.setdefault(("id", page.id), []).append(page)
            if page.name:
                found.setdefault(("name", page.name), []).append(page)
                found.setdefault(("fold", fold(page.name)), []).append(page)
        return found

    @cached_property
    def step_names(self) -> set[str]:
        return {fold(name) for page in self.pages for step in page.steps for name in step.names}

    @property
    def first(self) -> Page | None:
        return next(iter(self._index.get(("id", self.start), self.pages)), None)

    def called(self, step: Step) -> Page | None:
        """The page that a subprocess runs."""
        return next(iter(self.pages_called(step)), None)

    def pages_called(self, step: Step) -> list[Page]:
        """What a subprocess names in its field `page`, `chart` or `file`, or its text."""
        said = (*map(step.field, ("page", "chart", "file")), step.text.strip())
        names = (name.strip() for name in said if name and step.shape == "subprocess")
        return next(filter(None, map(self.named, names)), [])


class Map:
    """A page to find one's way on: what leads where, and what kind each step is."""

    def __init__(self, page: Page, chart: Chart | None = None) -> None:
        self.page = page
        self.chart = chart
        self.steps: dict[str, Step] = {}
        for step in page.steps:
            self.steps.setdefault(step.id, step)
        self._out: dict[str, list[Route]] = {}
        self._in: dict[str, list[Route]] = {}
        for route in page.routes:
            if route.source in self.steps and route.target in self.steps:
                self._out.setdefault(route.source, []).append(route)
                self._in.setdefault(route.target, []).append(route)

    def ways(self, step: Step) -> list[Route]:
        """The ways out of a step, in the order drawn."""
        return self._out.get(step.id, [])

    def into(self, step: Step) -> list[Route]:
        return self._in.get(step.id, [])

    def kind(self, step: Step) -> Kind:
        """What a step is, by its ways out rather than by how it is drawn. With several ways out it
        is a decision, otherwise a step that is done and goes on, whether its only way out has a
        label or not. Terminators call nobody, nor do connectors and shapes with nothing written in
        them. A subprocess that names a page runs that page.
        """
        if step.is_terminator:
            return "terminator"
        if self.chart is not None and self.chart.called(step) is not None:
            return "subprocess"
        if self.choices(step):
            return "decision"
        if step.shape == "connector" or not step.prompt.strip():
            return "connector"
        return "process"

    def choices(self, step: Step) -> list[Route]:
        """The labelled ways out of which one is chosen; nothing where there is only one way."""
        ways = self.ways(step)
        return [route for route in ways if route.label.strip()] if len(ways) > 1 else []

    def onward(self, step: Step) -> Route | None:
        """The only way out of a step that asks nobody which way to take."""
        ways = self.ways(step)
        return ways[0] if len(ways) == 1 else None

    def follow(self, route: Route) -> Step:
        return self.steps[route.target]

    def named(self, name: str) -> list[Step]:
        """The steps of that name, or the one of that id; spelling aside as a last try."""
        if name in self.steps:
            return [self.steps[name]]
        return self._names.get(("name", name)) or self._names.get(("fold", fold(name)), [])

    def may_hand_on(self, name: str) -> bool:
        """Whether a slot can name a step so: one of this page, or by its name one of any page."""
        known = bool(self.named(name))
        return known or (self.chart is not None and fold(name) in self.chart.step_names)

    @cached_property
    def _names(self) -> dict[tuple[str, str], list[Step]]:
        found: dict[tuple[str, str], list[Step]] = {}
        for step in self.steps.values():
            for name in step.names:
                found.setdefault(("name", name), []).append(step)
                found.setdefault(("fold", fold(name)), []).append(step)
        return found

    @property
    def starts(self) -> list[Step]:
        """Where a run could begin: at Start, else at a step with no way in but from itself."""
        first = {s.id for s in self.steps.values() if all(r.source == s.id for r in self.into(s))}
        ends = [s for s in self.steps.values() if s.is_terminator]
        return (
            [s for s in ends if loosened(s.text) in STARTS and (self.ways(s) or s.id in first)]
            or [s for s in ends if self.ways(s) and s.id in first]
            or [s for s in self.steps.values() if s.id in first]
        )

    @property
    def start(self) -> Step | None:
        starts = self.starts
        return starts[0] if len(starts) == 1 else None

    def walk(self, step: Step) -> Iterator[Step]:
        """Every step that can be reached from one, that one first, along the ways as drawn."""
        seen = {step.id}
        waiting = [step]
        while waiting:
            at = waiting.pop()
            yield at
            onward = []
            for route in self.ways(at):
                if route.target not in seen:
                    seen.add(route.target)
                    onward.append(self.steps[route.target])
            waiting += reversed(onward)


def folded(label: str) -> str:
    """A label without case, its words one space apart."""
    return " ".join(label.casefold().split())


def loosened(label: str) -> str:
    return folded(label).strip(_OUTER)


DOUBTFUL_TASK, UNREACHABLE = TOLERATED = ("terminator-task", "unreachable")
"""What a run may have begun with before such a chart was refused, and goes on with."""
SHOWN = 5  # how many shapes a message names before it only counts them
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
            if (called := chart.called(step)) is not None and called.id not in found:
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


def _doubles(page: Page) -> Iterator[Problem]:
    """Every shape has an id of its own."""
    known: dict[str, Step] = {}
    for step in page.steps:
        if (other := known.setdefault(step.id, step)) is not step:
            message = f"two shapes have the id {_cut(step.id)}: “{other.name}” and “{step.name}”"
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
        if (thing := scenery.get(key)) is not None:
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
    elif len(ways) > 1 and step.is_terminator:
        message = f"the terminator {named(step)} has {len(ways)} ways out, and nobody is asked"
        yield _error("terminator-choice", f"{message} there; draw a decision after it", step)
    elif step.has_doubtful_task and (ways or step.field("prompt")):
        yield _doubtful_task(plan, step)
    if step.shape == "decision" and len(ways) < 2:
        out = "one way out" if ways else "no way out"
        message = f"{named(step)} is drawn as a decision and has {out}; it is run as a plain step"
        yield _warning("lone-decision", message, step)
    # No two ways out of a step have the same label, case and spaces aside.
    known: dict[str, Route] = {}
    for route in ways:
        other = known.setdefault(folded(route.label), route)
        if route.label.strip() and other is not route:
            targets = f"{named(plan.follow(other))} and {named(plan.follow(route))}"
            message = f"two ways out of {named(step)} are labelled “{_cut(route.label)}”"
            message = f"{message} (to {targets}); each needs a label of its own"
            yield _error("duplicate-route", message, step, line=route.line)


def _doubtful_task(plan: Map, step: Step) -> Problem:
    """What is written in a terminator is not done: said at a beginning, refused on the way."""
    message = f"{named(step)} is drawn as a terminator, where nobody is called"
    remedy = "draw a box if it is to be done, or say so in its data field kind: process, terminator"
    if any(route.source != step.id for route in plan.into(step)):
        has = "ways in and out" if plan.ways(step) else "a prompt"
        return _error(DOUBTFUL_TASK, f"{message}, and has {has}; {remedy}", step)
    return _warning("start-text", f"{message}: a run begins there; {remedy}", step)


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
            if len(fitting) > 1 or not plan.may_hand_on(name):
                which = f"{len(fitting)} steps are" if fitting else "no step is"
                message = f"{named(step)} uses {match[0]}, and {which} called {_cut(name)} here"
                yield _warning("slot-unknown", message, step)


def _reach(plan: Map) -> Iterator[Problem]:
    """There is one beginning; from there every step is reached, and from every step an end."""
    starts = plan.starts
    if len(starts) > 1:
        message = f"it could begin at {listed(starts)}; join them, or draw one terminator"
        yield _error("several-starts", f"{message} called Start", *starts)
        return
    if not starts:
        steps = list(plan.steps.values())
        message = f"every step has a way in ({listed(steps)}), so there is no beginning"
        yield _error("no-start", f"{message}; draw a terminator called Start", *steps)
        return
    reached = {step.id: step for step in plan.walk(starts[0])}
    if lost := [step for key, step in plan.steps.items() if key not in reached]:
        message = f"nothing leads to {listed(lost)} from {named(starts[0])}; never run"
        nothing_done = starts[0].is_terminator and not plan.ways(starts[0])
        yield (_error if nothing_done else _warning)(UNREACHABLE, message, *lost)
    ending = _ending(plan, reached)
    if endless := [step for key, step in reached.items() if key not in ending]:
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
    group_of = {key: number for number, group in enumerate(circles(calls)) for key in group}
    for page in pages:
        for key, step in calls[page.id].items():
            if group_of[key] == group_of[page.id]:
                message = f"{named(step)} comes to its own page again; no page is a part of itself"
                found = _error("subprocess-circle", message, step)
                yield msgspec.structs.replace(found, page=page.name)


def circles(onward: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Groups of those that lead to each other, each behind all the groups that it leads to. This is
    Tarjan's way to find them, with a list in place of recursion, which would end early in a chart
    of thousands of steps.
    """
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    standing: dict[str, None] = {}  # those without a group, as they were come to
    for first in onward:
        waiting = [] if first in number else [(first, iter(onward[first]))]
        while waiting:
            step, ways = waiting[-1]
            if step not in number:
                number[step] = lowest[step] = len(number)
                standing[step] = None
            below = next(ways, None)
            if below is None:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    lowest[above] = min(lowest[above], lowest[step])
                if lowest[step] == number[step]:
                    group = [standing.popitem()[0]]
                    while group[-1] != step:
                        group.append(standing.popitem()[0])
                    yield group
            elif below not in number:
                waiting.append((below, iter(onward.get(below, ()))))
            elif below in standing:
                lowest[step] = min(lowest[step], number[below])


def _cut(text: str) -> str:
    return shorten(" ".join(text.split()))
