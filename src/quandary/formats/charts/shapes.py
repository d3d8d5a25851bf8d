"""What drawn shapes and lines mean, whichever program they were drawn with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from msgspec.structs import replace

from quandary.model.chart import (
    ENDS,
    STARTS,
    Page,
    Problem,
    Route,
    Scenery,
    SceneryKind,
    Shape,
    Step,
    loosened,
    named,
)
from quandary.model.text import shorten

Direction = Literal["forward", "back", "both", "none"]

_LETTERS = re.compile(r"[^a-z]")
_SCENERY: dict[SceneryKind, str] = {
    "group": r"group$",
    "container": r".*(swimlane|container|pool(block)?$|frame(block)?$)|lane$",
    "note": r".*(text|note|annotation|callout|image|freehand)(block)?(new|reversed)?$"
    r"|hotspot|svgpath|comment|legend|icon",
}
_SHAPES: dict[Shape, str] = {
    "subprocess": r".*(predefinedprocess|subprocess|subroutine)",
    "terminator": r".*terminat|bpmn.*event|(start|end|stadium)(event|block)?$",
    "decision": r".*(decision|gateway)|diamond|rhombus",
    "connector": r"connector|offpage|onpage|summingjunction|(or|merge)(block)?$",
}
_HEAD = re.compile(r"arrow|generali[sz]ation|triangle", re.IGNORECASE)
_TAGS = re.compile(r"[,;|\n]")


@lru_cache(maxsize=1024)
def meaning(name: str) -> tuple[SceneryKind | None, Shape]:
    """What a shape of that name is, if its name says that it is no step, and how a step is drawn.

    `Predefined Process` and `PredefinedProcessBlock` are alike. A shape that nobody has heard of is
    a step like any other.
    """
    letters = _LETTERS.sub("", name[:100].casefold())
    kind = next((kind for kind, said in _SCENERY.items() if re.match(said, letters)), None)
    return kind, next(
        (shape for shape, said in _SHAPES.items() if re.match(said, letters)), "process"
    )


@lru_cache(maxsize=1024)
def direction(source: str, destination: str) -> Direction:
    """Which way a line leads, by what its two ends look like.

    An ornament, such as the circle at the tail of a message, is taken for the head of an arrow only
    where there is no real one.
    """
    ends = [bool(end) and end.casefold() != "none" for end in (source, destination)]
    heads = [bool(_HEAD.search(end)) for end in (source, destination)]
    at_source, at_destination = heads if heads[0] is not heads[1] else ends
    if at_source:
        return "both" if at_destination else "back"
    return "forward" if at_destination else "none"


@lru_cache(maxsize=1024)
def tags_in(cell: str) -> tuple[str, ...]:
    """The tags of a cell, which may hold several."""
    return tuple(tag for part in _TAGS.split(cell) if (tag := part.strip()))


class Sheet:
    """A page while it is being read: what was drawn, before it is known what is a step."""

    def __init__(self, key: str, name: str, line: int = 0) -> None:
        self.id = key
        self.name = name
        self.line = line
        self.shapes: list[Step] = []
        self.doubtful: dict[int, SceneryKind | None] = {}
        """The places, in the list, of those that may be no steps, and what their names say."""
        self.inside: dict[str, str] = {}
        """For a shape, the containers that it stands in: `4|5`, or `4:2` for the second lane."""
        self.areas: dict[str, tuple[str, ...]] = {}
        """For a container, every text that stands in it."""
        self.routes: list[Route] = []
        self.headless: set[int] = set()
        """The places, in the list, of lines without an arrowhead."""

    def draw(self, step: Step, kind: SceneryKind | None) -> None:
        """Add a shape; only with a text, and if its name agrees, is it surely a step."""
        if kind is not None or not step.text or step.shape == "connector":
            self.doubtful[len(self.shapes)] = kind
        self.shapes.append(step)
        if kind is not None:
            self.areas[step.id] = tuple(filter(None, (step.text, *step.notes)))

    def join(self, route: Route, way: Direction, problems: list[Problem]) -> None:
        """Add a line; one that was drawn backwards is turned round."""
        if way == "back":
            route = replace(route, source=route.target, target=route.source)
        elif way == "both":
            ends = f"{route.source} and {route.target}"
            message = f"a line between {ends} has arrowheads at both ends; draw two lines"
            problem = self._problem("two-way", message, route.source, route.target, line=route.line)
            problems.append(replace(problem, severity="error"))
        elif way == "none":
            self.headless.add(len(self.routes))
        self.routes.append(route)

    def page(self, problems: list[Problem]) -> Page:
        """The page with its steps and routes; what is neither is scenery."""
        steps, scenery = self._sort() if self.doubtful or self.inside else (self.shapes, [])
        # A line between a note and what it is about is no route.
        notes = {thing.id: thing for thing in scenery if thing.kind == "note"}
        routes = [r for r in self.routes if r.source not in notes and r.target not in notes]
        known = {step.id for step in steps} if self.headless or notes else set()
        for key in dict.fromkeys(route.source for route in self._arrows if route.target in known):
            if key in notes and notes[key].text:
                message = (
                    f"“{shorten(notes[key].text)}” is taken for a note, although an arrow leads"
                )
                message += " from it to a step; draw a box if it is to be done"
                problems.append(self._problem("note-arrow", message, key, line=notes[key].line))
        for place in sorted(self.headless):
            route = self.routes[place]
            if route.source in known and route.target in known:
                message = f"a line from {route.source} to {route.target} has no arrowhead"
                message += "; it is followed the way it was drawn"
                ends = (route.source, route.target)
                problems.append(self._problem("no-arrow", message, *ends, line=route.line))
        if any(step.shape == "connector" for step in map(self.shapes.__getitem__, self.doubtful)):
            jumps = list(_jumps(steps, routes))
            routes += jumps
            sources = {route.source for route in routes} - {jump.source for jump in jumps}
            targets = {jump.target for jump in jumps}
            for step in steps:
                words = len(step.text.split()) if step.shape == "connector" else 0
                if words > 1 and step.id in sources - targets:
                    message = f"{named(step)} is drawn as a connector, where nobody is called"
                    message += "; draw a box if it is to be done"
                    problems.append(
                        self._problem("connector-text", message, step.id, line=step.line)
                    )
        if self.inside:
            steps = [self._in_lane(step) for step in steps]
        return Page(self.id, self.name, tuple(steps), tuple(routes), tuple(scenery), self.line)

    def _sort(self) -> tuple[list[Step], list[Scenery]]:
        written = self._written_steps()
        joined = {end for route in self.routes for end in (route.source, route.target)}
        cells = set(self.inside.values())
        holding = {part.partition(":")[0].strip() for cell in cells for part in cell.split("|")}
        steps: list[Step] = []
        scenery: list[Scenery] = []
        for place, step in enumerate(self.shapes):
            kind = self.doubtful.get(place)
            if kind == "note" and step.id in written:
                kind = None
            elif kind is None and step.id not in joined:
                if step.id in holding:
                    kind = "container"
                elif not step.text and not step.metadata:
                    kind = "note"
            if kind is not None:
                text = " | ".join(self.areas.get(step.id, ())) or step.text
                scenery.append(Scenery(step.id, kind, text, step.line))
            else:
                steps.append(step)
        return steps, scenery

    @property
    def _arrows(self) -> list[Route]:
        return [route for n, route in enumerate(self.routes) if n not in self.headless]

    def _written_steps(self) -> set[str]:
        """The texts that are steps, as some people draw with nothing but words and arrows.

        They say Start, an arrow leads to them, or from them to another text, or they have several
        ways out with labels. A text with an arrow to a box may as well be a note on that; where
        other texts are tasks and nothing else leads to the box, it is the step before it.
        """
        notes = (self.shapes[place] for place, kind in self.doubtful.items() if kind == "note")
        texts, arrows = {text.id: loosened(text.text) for text in notes}, self._arrows
        labelled = Counter(route.source for route in arrows if route.label.strip())
        entered = Counter(route.target for route in arrows)
        words = any(text not in ENDS for key, text in texts.items() if entered[key])
        leading = {
            route.source
            for route in arrows
            if route.target in texts or (words and entered[route.target] == 1)
        }
        return {
            key
            for key, text in texts.items()
            if text in STARTS or labelled[key] > 1 or entered[key] or key in leading
        }

    def _in_lane(self, step: Step) -> Step:
        """The step with the title of its innermost lane; of several titles, none is sure."""
        for part in reversed(self.inside.get(step.id, "").split("|")):
            container, _, number = part.strip().partition(":")
            areas = self.areas.get(container, ())
            if number.isdecimal() and 0 < int(number) <= len(areas):
                return replace(step, lane=areas[int(number) - 1])
            if len(areas) == 1:
                return replace(step, lane=areas[0])
        return step

    def _problem(self, rule: str, message: str, *steps: str, line: int) -> Problem:
        return Problem(rule, "warning", message, tuple(filter(None, steps)), line, self.name)


def _jumps(steps: list[Step], routes: list[Route]) -> Iterator[Route]:
    """Connectors with the same letter are one place: where one ends, the other goes on."""
    sources = {route.source for route in routes}
    targets = {route.target for route in routes}
    onward: dict[str, list[Step]] = {}
    for step in steps:
        if step.shape == "connector" and step.text and step.id in sources - targets:
            onward.setdefault(loosened(step.text), []).append(step)
    for step in steps:
        fitting = onward.get(loosened(step.text), []) if step.shape == "connector" else []
        if len(fitting) == 1 and step.id in targets and step.id not in sources:
            yield Route(step.id, fitting[0].id, line=step.line)
