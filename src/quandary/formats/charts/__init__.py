"""A SOURCE into the chart it names: a drawing from Lucid or Mermaid, or a tree in Markdown."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from string import ascii_letters
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from quandary.errors import NotFound, QuandaryError, Rejected
from quandary.formats import sources
from quandary.model.calls import HUMAN, fold
from quandary.model.chart import (
    ENDS,
    FIELDS,
    STARTS,
    Chart,
    Page,
    Problem,
    Route,
    Scenery,
    SceneryKind,
    Shape,
    Step,
    check,
    concerned,
    folded,
    loosened,
    named,
)
from quandary.model.text import count, shorten
from quandary.model.tree import Option, Tree, is_multi
from quandary.settings import read_settings
from quandary.settings.agents import read_catalogue
from quandary.settings.files import SUFFIXES, project_root, read_standard_input, read_text

if TYPE_CHECKING:
    _Level = tuple[str, tuple[str, ...], tuple[Option, ...], int]
    """Options that are chosen from together: their step, what led to them, they, their line."""


class Loaded(NamedTuple):
    """A chart, everything that is wrong with it, and where its pages stand."""

    path: str
    chart: Chart
    problems: tuple[Problem, ...]
    files: dict[str, str]  # the files of pages that stand in others than `path`, by page

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.severity == "error"]

    def said(self, problem: Problem) -> str:
        """A problem as a line for people, with its place."""
        path = self.files.get(problem.page, self.path)
        place = f"{path}:{problem.line}" if problem.line else path
        return f"{place}: {problem.severity} {problem.rule}: {problem.message}"


def load(source: str, *, page: str = "") -> Chart:
    """The chart that a SOURCE names, ready to be walked: what is wrong with it is an error."""
    loaded = read(source, page=page)
    if not loaded.chart.start:
        raise no_page(loaded.chart, loaded.path)
    if loaded.errors:
        raise Rejected("; ".join(map(loaded.said, loaded.errors)))
    return loaded.chart


def read(source: str, *, page: str = "", text: str | None = None) -> Loaded:
    """The chart that a SOURCE names, as far as it can be understood, and what is wrong with it. A
    page is named by `file.csv#Page` or by `page`; where neither is there and it is not clear which
    page is meant, the chart has no `start`. `text` is what standard input held, if it was read
    already.
    """
    path, name = sources.split(source)
    if path == "-" and text is None:
        text = read_standard_input()
    if path is not None and sources.chart_ending(path, text):
        chart, problems = _parse(read_text(path) if text is None else text, path)
    else:
        chart, problems = from_tree(sources.load(source, text))
        path, name = path or source, ""
    first = _first(chart, page or name, path)
    chart = replace(chart, start=first.id if first is not None else "")
    chart, files = _Parts(chart, path, problems).gather()
    pages = concerned(chart)
    names = {page.name for page in pages}
    found = [problem for problem in problems if not problem.page or problem.page in names]
    unread = {("subprocess-plain", p.page, p.steps) for p in found if p.rule == "subprocess-file"}
    drawn = (p for p in check(chart) if (p.rule, p.page, p.steps) not in unread)
    found = list(dict.fromkeys([*found, *drawn, *_misspelt(pages)]))
    places = {name: n for n, name in enumerate(dict.fromkeys(p.page for p in found))}
    found.sort(key=lambda problem: (places[problem.page], problem.line))
    return Loaded(path, chart, tuple(found), files)


def _parse(text: str, path: str) -> tuple[Chart, list[Problem]]:
    """The chart in a text, by the ending of its file; every page has an id."""
    ending = sources.chart_ending(path, text)
    if ending == ".mmd":
        from quandary.formats.charts import mermaid  # noqa: PLC0415 - one format at a time

        chart, problems = mermaid.read(text, path)
    else:
        from quandary.formats.charts import lucid  # noqa: PLC0415

        read_lucid = lucid.read_csv if ending == ".csv" else lucid.read_json
        chart, problems = read_lucid(text, path)
    keys = {page.id for page in chart.pages}
    free = next(str(n) for n in range(1, len(keys) + 2) if str(n) not in keys)
    pages = tuple(page if page.id else replace(page, id=free) for page in chart.pages)
    return replace(chart, pages=pages), problems


def _first(chart: Chart, name: str, path: str) -> Page | None:
    """The page that is meant: the one of that name, else the one that the chart itself says, else
    the only one that no other page runs.
    """
    if said := name or chart.start:
        own = [] if name else [page for page in chart.pages if page.id == said][:1]
        return _one_of(chart, said, own or chart.named(said), f"{path}: ")
    drawn = [page for page in chart.pages if page.steps]
    if len(drawn) == 1 or not drawn:
        return next(iter(drawn or chart.pages), None)
    pairs = ((page, chart.called(step)) for page in drawn for step in page.steps)
    called = {other.id for page, other in pairs if other is not None and other is not page}
    free = [page for page in drawn if page.id not in called]
    return free[0] if len(free) == 1 else None


def _one_of(chart: Chart, name: str, found: list[Page], where: str = "") -> Page:
    """The page of a name; one that several have is the name of none."""
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(f"{where}no page named {name}{_pages(chart)}")
    ids = ", ".join(page.id for page in found)
    raise NotFound(f"{where}{len(found)} pages are named {name} with the ids {ids}; say which")


def _pages(chart: Chart) -> str:
    names = [page.name or page.id for page in chart.pages if page.steps]
    more = ", …" if len(names) > 5 else ""
    return f" ({count(len(names), 'page')}: {', '.join(names[:5])}{more})" if names else ""


def no_page(chart: Chart, path: str) -> NotFound:
    """That it is not clear which page to begin on, or that there is none."""
    drawn = next((page.name or page.id for page in chart.pages if page.steps), None)
    meant = f"say which page is meant, as in --page {drawn!r}{_pages(chart)}"
    return NotFound(f"{path}: {meant if drawn else 'there is no page in it; draw a chart first'}")


CLOSE, CLOSEST = 0.66, 0.75  # alike enough to be mentioned, and to be a slip at all
_MEANT = frozenset(map(fold, FIELDS))
_OTHER_FIELDS = ("notes", "comments", "text", "title", "tags", "label", "shape", "lane", "image")
"""Fields that mean nothing here, and are no slips either."""


def _misspelt(pages: list[Page]) -> Iterator[Problem]:
    """A tag or a field that means nothing, and would if it were spelt a little differently."""
    every = [(page, step) for page in pages for step in page.steps]
    tags = {tag for _, step in every for tag in step.tags}
    agents = read_catalogue(read_settings().table("agents")).names if tags else []
    fields = {name for _, step in every for name in step.metadata}
    slips = {("tag", tag): _nearest(tag, (*agents, HUMAN, "NoValidation")) for tag in tags}
    slips |= {("field", name): _nearest(name, FIELDS, _OTHER_FIELDS) for name in fields}
    for page, step in every:
        said = [*(("tag", tag) for tag in step.tags), *(("field", name) for name in step.metadata)]
        for what, name in said:
            if meant := slips[what, name]:
                message = f"{named(step)} has the {what} {name!r}, which means nothing; "
                message += f"did you mean {meant}?"
                yield Problem("misspelt", "warning", message, (step.id,), step.line, page.name)


def _nearest(name: str, meant: Iterable[str], other: Iterable[str] = ()) -> str:
    """The names that one is a slip for; nothing where it is one of them, or like none."""
    known = {fold(one): one for one in meant}
    said = fold(name)
    if said in known or said in other or not 2 < len(said) < 40:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 - only where a name is unknown

    is_slip = get_close_matches(said, known, 1, CLOSEST)
    near = get_close_matches(said, known, 2, CLOSE) if is_slip else ()
    return " or ".join(known[one] for one in near)


MOST_FILES = 100  # whoever needs more than this should draw less
_REFERENCES = ("page", "chart", "file")


class _Parts:
    """A chart while pages are added to it; those of other files are named by file and page."""

    def __init__(self, chart: Chart, path: str, problems: list[Problem]) -> None:
        self.chart = chart
        self.problems = problems
        self.files: dict[str, str] = {}
        folder = os.path.dirname(os.path.abspath(path)) if path != "-" else os.path.abspath(".")
        self.root = os.path.realpath(project_root(folder) or folder)
        self._begun: dict[tuple[str, str], str] = {(os.path.realpath(path), ""): chart.start}
        """For a file and a name in it, the id of the page that it begins on."""
        self._waiting = [(page, chart, path, "") for page in chart.pages]
        """Pages to look through, their charts, their files, and what their ids begin with."""

    def gather(self) -> tuple[Chart, dict[str, str]]:
        """The whole chart, and the files of the pages that stand in others."""
        pages: list[Page] = []
        for page, chart, path, prefix in self._waiting:  # grows on the way
            steps = (self._drop_doubles(step, page) for step in page.steps)
            steps = (self._resolve(step, page, chart, path, prefix) for step in steps)
            pages.append(replace(page, steps=tuple(steps)))
        return replace(self.chart, pages=tuple(pages)), self.files

    def _drop_doubles(self, step: Step, page: Page) -> Step:
        """The step with each data field once: of several spellings, a journal keeps no order."""
        data = {name: value for name, value in step.metadata.items() if value.strip()}
        doubles = [n for n, value in data.items() if fold(n) in _MEANT and step.field(n) != value]
        for name in doubles:
            message = (
                f"{named(step)} has {name!r} as well as another spelling of it; that one counts"
            )
            found = Problem("field-twice", "warning", message, (step.id,), step.line, page.name)
            self.problems.append(found)
        kept = {name: value for name, value in data.items() if name not in doubles}
        return replace(step, metadata=kept) if doubles else step

    def _resolve(self, step: Step, page: Page, chart: Chart, path: str, prefix: str) -> Step:
        """The step, and if it runs a page, with that page's id as it is in the whole chart."""
        if step.shape != "subprocess":
            return step
        try:
            if found := chart.pages_called(step):
                called = _one_of(chart, found[0].name, found)
                return _call(step, prefix + called.id) if prefix else step
            if reference := _reference(step):
                return _call(step, self._begin(reference, path))
            if unknown := next(filter(None, map(step.field, _REFERENCES)), ""):
                _one_of(chart, unknown.strip(), [])
        except QuandaryError as error:
            message = f"{named(step)} cannot be run: {error}"
            problem = Problem("subprocess-file", "error", message, (step.id,), step.line, page.name)
            self.problems.append(problem)
        return step

    def _begin(self, reference: str, path: str) -> str:
        """The id of the page that a reference leads to, having read its file if need be."""
        written, _, name = reference.partition("#")
        folder = os.path.dirname(path) if path != "-" else ""
        shown = os.path.normpath(os.path.join(folder, written))
        real = os.path.realpath(shown)
        if os.path.isabs(written) or os.path.commonpath([self.root, real]) != self.root:
            raise QuandaryError(f"{written} is not a file of this project")
        if (known := self._begun.get((real, name))) is not None:
            return known
        if len(self._begun) >= MOST_FILES:
            raise QuandaryError(f"{written} is one file too many; {MOST_FILES} are read")
        if sources.chart_ending(shown):
            chart, problems = _parse(read_text(shown), shown)
            first = _first(chart, name, shown)
        else:
            chart, problems = from_tree(sources.load(f"{shown}#{name}" if name else shown))
            first = _first(chart, "", shown)
        if first is None:
            raise no_page(chart, shown)
        prefix = f"{reference}:"
        self._begun[real, name] = prefix + first.id
        taken = {page.name for page, *_ in self._waiting}
        names: dict[str, str] = {}
        for part in chart.pages:
            title = reference if part.id == first.id else f"{written}#{part.name or part.id}"
            while title in taken:
                title += "′"
            taken.add(title)
            names[part.name] = title
            self.files[title] = shown
            new = replace(part, id=prefix + part.id, name=title)
            self._waiting.append((new, chart, shown, prefix))
        self.problems += [replace(p, page=names.get(p.page, reference)) for p in problems]
        return prefix + first.id


def _reference(step: Step) -> str:
    """The file that a subprocess names, in a data field or as all of its text."""
    for said in (*map(step.field, _REFERENCES), step.text):
        words = (said or "").strip()
        file = words.partition("#")[0].lower()
        if file.endswith((*sources.CHARTS, *SUFFIXES)) and not {"\n", "\0"} & {*words}:
            return words
    return ""


def _call(step: Step, page: str) -> Step:
    """The step, naming the page by its id and in no other way."""
    kept = {key: value for key, value in step.metadata.items() if fold(key) not in _REFERENCES}
    return replace(step, metadata={**kept, "page": page})


_SLOT = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


def from_tree(tree: Tree) -> tuple[Chart, list[Problem]]:
    """The chart of a tree, and what it cannot say of it; decisions follow each other."""
    steps: list[Step] = []
    routes: list[Route] = []
    problems: list[Problem] = []
    held = {"require": tree.require} if tree.require else {}
    for number, decision in enumerate(tree.decisions, 1):
        onward = str(number + 1) if number < len(tree.decisions) else ""
        question = decision.question or tree.question or f"{decision.name}: which one?"
        question = _SLOT.sub(r"{{\1}}", question)
        waiting: list[_Level] = [(str(number), (), decision.options, decision.line)]
        while waiting:
            at, chosen, options, line = waiting.pop()
            if is_multi(options):
                where = " / ".join((decision.name, *chosen))
                message = f"several may be chosen at {where}; in a chart, one way is taken"
                problems.append(Problem("multi-select", "warning", message, (), line))
            labelled = _label(options)
            asked = _level_text(question, chosen, labelled)
            shape: Shape = "decision" if len(options) > 1 else "connector"
            data: dict[str, str] = {**held} if len(options) > 1 else {}
            steps.append(Step(at, asked, shape, metadata=data, line=line))
            below: list[_Level] = []
            for option, label in labelled:
                key = f"{at}/{option.code}"
                routes.append(Route(at, key, label, option.line))
                if option.options:
                    below.append((key, (*chosen, label), option.options, option.line))
                    continue
                steps.append(Step(key, label, "connector" if onward else "terminator"))
                if onward:
                    routes.append(Route(key, onward))
            waiting += reversed(below)
    page = Page("1", tree.name, tuple(steps), tuple(routes), line=tree.line)
    return Chart(tree.title or tree.name, (page,)), problems


def _level_text(question: str, chosen: tuple[str, ...], labelled: list[tuple[Option, str]]) -> str:
    """What is asked at a level: the question, what was chosen before, what each option means."""
    before = f"Chosen so far: {' / '.join(chosen)}" if chosen else ""
    described = [(label, " ".join(option.description.split())) for option, label in labelled]
    meanings = "\n".join(f"- {label}: {said}" for label, said in described if said)
    return "\n\n".join(filter(None, (question, before, meanings)))


def _label(options: tuple[Option, ...]) -> list[tuple[Option, str]]:
    """Each option with a label that no other option of its level has."""
    times = Counter(folded(option.label) for option in options)
    return [
        (o, o.label if o.label and times[folded(o.label)] == 1 else f"{o.label} ({o.code})".strip())
        for o in options
    ]


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
TASKS = frozenset(ascii_letters) - {sign for end in ENDS for sign in (end[0], end[0].upper())}
"""What no start or end begins with, and most tasks do."""


@lru_cache(maxsize=1024)
def meaning(name: str) -> tuple[SceneryKind | None, Shape]:
    """What a shape of that name is, if its name says that it is no step, and how a step is drawn.
    `Predefined Process` and `PredefinedProcessBlock` are alike. A shape that nobody has heard of is
    a step like any other.
    """
    letters = _LETTERS.sub("", name[:100].casefold())
    kind = next((kind for kind, said in _SCENERY.items() if re.match(said, letters)), None)
    shapes = (shape for shape, said in _SHAPES.items() if re.match(said, letters))
    return kind, next(shapes, "process")


def shape_of(drawn: Shape, text: str) -> Shape:
    """What a shape with that text is; `Start` and `End` are terminators in any box."""
    ends = drawn == "process" and text[:1] not in TASKS and loosened(text) in ENDS
    return "terminator" if ends else drawn


@lru_cache(maxsize=1024)
def direction(source: str, destination: str) -> Direction:
    """Which way a line leads, by what its two ends look like. An ornament, such as the circle at
    the tail of a message, is taken for the head of an arrow only where there is no real one.
    """
    ends = [bool(end) and end.casefold() != "none" for end in (source, destination)]
    heads = [bool(_HEAD.search(end)) for end in (source, destination)]
    at_source, at_destination = heads if heads[0] is not heads[1] else ends
    if at_source:
        return "both" if at_destination else "back"
    return "forward" if at_destination else "none"


@lru_cache(maxsize=1024)
def tags_in(cell: str) -> tuple[str, ...]:
    return tuple(tag for part in _TAGS.split(cell) if (tag := part.strip()))


class Sheet:
    """A page while it is being read: what was drawn, before it is known what is a step."""

    def __init__(self, key: str, name: str, line: int = 0) -> None:
        self.id = key
        self.name = name
        self.line = line
        self.shapes: list[Step] = []
        self.doubtful: dict[int, SceneryKind | None] = {}  # by place in the list, if no step
        self.inside: dict[str, str] = {}  # its containers: `4|5`, or `4:2` for a second lane
        self.areas: dict[str, tuple[str, ...]] = {}  # for a container, every text that stands in it
        self.routes: list[Route] = []
        self.headless: set[int] = set()  # the places, in the list, of lines without an arrowhead

    def draw(self, step: Step, kind: SceneryKind | None) -> None:
        """Add a shape; only with a text, and if its name agrees, is it surely a step."""
        shape = shape_of(step.shape, step.text)
        if shape != step.shape and not step.field("prompt"):  # with one, its text is only a title
            step = replace(step, shape=shape)
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
            ends = tuple(filter(None, (route.source, route.target)))
            message = f"a line between {' and '.join(ends)} has two arrowheads; draw two lines"
            problems.append(Problem("two-way", "error", message, ends, route.line, self.name))
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
                message = f"“{shorten(notes[key].text)}” is taken for a note, although an arrow "
                message += "leads from it to a step; draw a box if it is to be done"
                problems.append(self._problem("note-arrow", message, key, line=notes[key].line))
        for route in map(self.routes.__getitem__, sorted(self.headless)):
            if known.issuperset(ends := (route.source, route.target)):
                message = f"a line from {route.source} to {route.target} has no arrowhead"
                message += "; it is followed the way it was drawn"
                problems.append(self._problem("no-arrow", message, *ends, line=route.line))
        drawn = (self.shapes[place] for place, kind in self.doubtful.items() if kind is None)
        if connectors := [s for s in drawn if s.shape == "connector" and s.text]:
            jumps = list(_jumps(connectors, routes))
            onward = {route.source for route in routes} - {jump.target for jump in jumps}
            routes += jumps
            last = {route.target for route in routes} - {route.source for route in routes}
            for step in connectors:
                said = f"{named(step)} is drawn as a connector, "
                if step.id in onward and len(step.text.split()) > 1:
                    said += "where nobody is called; draw a box if it is to be done"
                    problems.append(self._problem("connector-text", said, step.id, line=step.line))
                elif step.id in last:
                    said += "and goes on nowhere on this page; a run ends there"
                    problems.append(self._problem("connector-end", said, step.id, line=step.line))
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
        """The texts that are steps, as some people draw with nothing but words and arrows. They say
        Start, an arrow leads to them, or from them to another text, or they have several ways out
        with labels. A text with an arrow to a box may as well be a note on that; where other texts
        are tasks and nothing else leads to the box, it is the step before it.
        """
        notes = (self.shapes[place] for place, kind in self.doubtful.items() if kind == "note")
        texts, arrows = {text.id: loosened(text.text) for text in notes}, self._arrows
        labelled = Counter(route.source for route in arrows if route.label.strip())
        entered = Counter(route.target for route in arrows)
        words = any(text not in ENDS for key, text in texts.items() if entered[key])
        ends = {*texts, *(key for key, times in entered.items() if words and times == 1)}
        leading = {arrow.source for arrow in arrows if arrow.target in ends}
        leading |= {key for key, text in texts.items() if text in STARTS}
        return {k for k in texts if labelled[k] > 1 or entered[k] or k in leading}

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


def _jumps(connectors: list[Step], routes: list[Route]) -> Iterator[Route]:
    """Connectors with the same letter are one place: where one ends, the other goes on."""
    sources = {route.source for route in routes}
    targets = {route.target for route in routes}
    onward: dict[str, list[Step]] = {}
    for step in connectors:
        if step.id in sources and step.id not in targets:
            onward.setdefault(loosened(step.text), []).append(step)
    for step in connectors:
        fitting = onward.get(loosened(step.text), [])
        if len(fitting) == 1 and step.id in targets and step.id not in sources:
            yield Route(step.id, fitting[0].id, line=step.line)
