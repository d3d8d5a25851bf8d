"""A chart: the steps of a process, and the routes that lead from one to the next."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec

from quandary.model.text import shorten
from quandary.model.tree import Content

if TYPE_CHECKING:
    from collections.abc import Iterator

Shape = Literal["process", "decision", "terminator", "subprocess", "connector"]
"""How a step is drawn."""
Kind = Literal["process", "decision", "terminator", "subprocess", "connector"]
"""What a step is: see `Map.kind`."""
SceneryKind = Literal["container", "group", "note"]

QUIET: frozenset[Kind] = frozenset({"terminator", "connector"})
"""Kinds of step at which nobody is called: the run goes on along the only way out, or ends."""
STARTS = frozenset({"start", "begin", "start here", "begin here"})
LONGEST_NAME = 60

_OUTER = " \t\n\r.,;:!?'\"`()[]{}<>*_-–—…“”‘’«»¡¿、。，！？：；"
_IGNORED = re.compile(r"[\s_-]+")


class Step(Content, frozen=True, eq=False, gc=False, omit_defaults=True):
    """One shape of a chart that a run comes through."""

    said = ("id", "text", "shape", "tags", "metadata", "notes", "lane")

    id: str
    text: str = ""
    """What stands in the shape; what an agent or a person is asked to do."""
    shape: Shape = "process"
    tags: tuple[str, ...] = ()
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    """The data fields of the shape, as they were written."""
    notes: tuple[str, ...] = ()
    """Further texts on the shape, and comments on it: for readers, not for agents."""
    lane: str = ""
    """The title of the lane or container that it stands in."""
    line: int = 0
    """Where it stands in its file, if that has lines."""

    @property
    def name(self) -> str:
        """What to call it: its data field `name`, else the first line of its text, else its id."""
        given = self.field("name") or ""
        first = next(iter((given or self.text).strip().splitlines()), "")
        return shorten(" ".join(first.split()), LONGEST_NAME) or self.id

    @property
    def prompt(self) -> str:
        """What to do: the data field `prompt`, where the text is only a title, else the text."""
        return self.field("prompt") or self.text

    def field(self, name: str) -> str | None:
        """A data field by its name, however that is spelt; blank is as good as none."""
        wanted = plain(name)
        found = (value for key, value in self.metadata.items() if plain(key) == wanted)
        return next((value for value in found if value.strip()), None)

    def tagged(self, name: str) -> bool:
        """Whether it has that tag, however that is spelt."""
        wanted = plain(name)
        return any(plain(tag) == wanted for tag in self.tags)


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
    start: str = ""
    """The id of the page that a run begins on."""

    def page(self, name: str) -> Page | None:
        """The page of that name, or of that id; spelling aside as a last try."""
        for kind, wanted in (("name", name), ("id", name), ("plain", plain(name))):
            if (found := self._index.get((kind, wanted))) is not None:
                return found
        return None

    @cached_property
    def _index(self) -> dict[tuple[str, str], Page]:
        found: dict[tuple[str, str], Page] = {}
        for page in self.pages:
            found.setdefault(("id", page.id), page)
            if page.name:
                found.setdefault(("name", page.name), page)
                found.setdefault(("plain", plain(page.name)), page)
        return found

    @property
    def first(self) -> Page | None:
        """The page that a run begins on."""
        return self._index.get(("id", self.start)) or next(iter(self.pages), None)

    def called(self, step: Step) -> Page | None:
        """The page that a subprocess stands for: its field `page`, `chart` or `file`, or its text.

        Any other step stands for itself.
        """
        if step.shape != "subprocess":
            return None
        for name in (*map(step.field, ("page", "chart", "file")), step.text.strip()):
            if name and (found := self.page(name.strip())) is not None:
                return found
        return None


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
        """The ways that lead to a step."""
        return self._in.get(step.id, [])

    def kind(self, step: Step) -> Kind:
        """What a step is, by its ways out rather than by how it is drawn.

        With labelled ways out it is a decision, otherwise a step that is done and goes on.
        Terminators call nobody, nor do connectors and shapes with nothing written in them. A
        subprocess that names a page runs that page, whatever its ways out.
        """
        if step.shape == "terminator":
            return "terminator"
        if self.chart is not None and self.chart.called(step) is not None:
            return "subprocess"
        if any(route.label.strip() for route in self.ways(step)):
            return "decision"
        if step.shape == "connector" or not step.prompt.strip():
            return "connector"
        return "process"

    def choose(self, step: Step, answer: str) -> Route | None:
        """The way out that an answer names: exactly, else without case and outer punctuation.

        An answer that fits none, or several equally well, names none.
        """
        ways = self.ways(step)
        said = answer.strip()
        for same in (str.strip, folded, loosened):
            meant = same(said)
            fitting = [route for route in ways if route.label and same(route.label) == meant]
            if len(fitting) == 1 and meant:
                return fitting[0]
        return None

    def onward(self, step: Step) -> Route | None:
        """The only way out of a step that asks nobody which way to take."""
        ways = self.ways(step)
        return ways[0] if len(ways) == 1 else None

    def follow(self, route: Route) -> Step:
        """The step that a way out leads to."""
        return self.steps[route.target]

    def named(self, name: str) -> list[Step]:
        """The steps of that name, or the one of that id; spelling aside as a last try."""
        if name in self.steps:
            return [self.steps[name]]
        exact, loose = self._names
        return exact.get(name) or loose.get(plain(name), [])

    @cached_property
    def _names(self) -> tuple[dict[str, list[Step]], dict[str, list[Step]]]:
        exact: dict[str, list[Step]] = {}
        loose: dict[str, list[Step]] = {}
        for step in self.steps.values():
            exact.setdefault(step.name, []).append(step)
            loose.setdefault(plain(step.name), []).append(step)
        return exact, loose

    @property
    def starts(self) -> list[Step]:
        """Where a run could begin: at the Start terminator, else at a step with no way in.

        A way from a step to itself is no way in.
        """
        first = {s.id for s in self.steps.values() if all(r.source == s.id for r in self.into(s))}
        ends = [s for s in self.steps.values() if s.shape == "terminator"]
        return (
            [s for s in ends if loosened(s.text) in STARTS and (self.ways(s) or s.id in first)]
            or [s for s in ends if self.ways(s) and s.id in first]
            or [s for s in self.steps.values() if s.id in first]
        )

    @property
    def start(self) -> Step | None:
        """Where a run begins, if that is clear."""
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


def plain(name: str) -> str:
    """A tag, a key or a name without case, spaces, hyphens and underscores."""
    return _IGNORED.sub("", name).casefold()


def folded(label: str) -> str:
    """A label without case, its words one space apart."""
    return " ".join(label.casefold().split())


def loosened(label: str) -> str:
    """A label without case and outer punctuation."""
    return folded(label).strip(_OUTER)
