"""A SOURCE into the chart it names: a drawing from Lucid or Mermaid, or a tree in Markdown."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from quandary.errors import NotFound, QuandaryError, Rejected
from quandary.formats import sources
from quandary.model.calls import HUMAN, fold
from quandary.model.chart import (
    FIELDS,
    Chart,
    Page,
    Problem,
    Route,
    Shape,
    Step,
    check,
    concerned,
    folded,
    named,
)
from quandary.model.tree import Option, Tree, is_multi
from quandary.settings import read_settings
from quandary.settings.agents import read_catalogue
from quandary.settings.files import SUFFIXES, project_root, read_standard_input, read_text

if TYPE_CHECKING:
    _Level = tuple[str, tuple[str, ...], tuple[Option, ...], int]
    """Options that are chosen from together: their step, what led to them, they, their line."""

_KINDS = {
    ".json": re.compile(r"\s*\{"),
    ".csv": re.compile(r'\s*(?:sep=.\s+)?"?(?:shape )?id"?\s*[,;\t]', re.IGNORECASE),
    ".mmd": re.compile(
        r"\s*(?:---[ \t]*\n.*?\n---[ \t]*\n\s*)?(?:%%[^\n]*\n\s*)*"
        r"(?:graph|flowchart(?:-elk)?)[ \t]*(?:(?:TB|TD|BT|RL|LR)\b|[;\n]|$)",
        re.DOTALL,
    ),
}


class Loaded(NamedTuple):
    """A chart, everything that is wrong with it, and where its pages stand."""

    path: str
    chart: Chart
    problems: tuple[Problem, ...]
    files: dict[str, str]
    """The files of pages that stand in others than `path`, by the names of the pages."""

    @property
    def errors(self) -> list[Problem]:
        """The problems for which the chart cannot be walked."""
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
        raise NotFound(_which(loaded.chart, loaded.path))
    if loaded.errors:
        raise Rejected("; ".join(map(loaded.said, loaded.errors)))
    return loaded.chart


def read(source: str, *, page: str = "", text: str | None = None) -> Loaded:
    """The chart that a SOURCE names, as far as it can be understood, and what is wrong with it.

    A page is named by `file.csv#Page` or by `page`; where neither is there and it is not clear
    which page is meant, the chart has no `start`. `text` is what standard input held, if it was
    read already.
    """
    path, name = sources.split(source)
    if path == "-" and text is None:
        text = read_standard_input()
    if path is not None and is_chart(path, text):
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
    found = list(dict.fromkeys([*found, *check(chart), *_misspelt(pages)]))
    places = {name: n for n, name in enumerate(dict.fromkeys(p.page for p in found))}
    found.sort(key=lambda problem: (places[problem.page], problem.line))
    return Loaded(path, chart, tuple(found), files)


def is_chart(path: str, text: str | None = None) -> bool:
    """Whether a file is a drawing, by its ending; standard input has none, but its text tells."""
    return path.lower().endswith(sources.CHARTS) or (text is not None and bool(_kind(text)))


def _kind(text: str) -> str:
    """The ending that a text would have as a file, if it is a drawing."""
    head = text.removeprefix("\ufeff")[:10_000]
    return next((ending for ending, pattern in _KINDS.items() if pattern.match(head)), "")


def _parse(text: str, path: str) -> tuple[Chart, list[Problem]]:
    """The chart in a text, by the ending of its file; every page has an id."""
    ending = _kind(text) if path == "-" else path.lower()
    if ending.endswith(".mmd"):
        from quandary.formats.charts import mermaid  # noqa: PLC0415 - one format at a time

        chart, problems = mermaid.read(text, path)
    else:
        from quandary.formats.charts import lucid  # noqa: PLC0415

        read_lucid = lucid.read_csv if ending.endswith(".csv") else lucid.read_json
        chart, problems = read_lucid(text, path)
    keys = {page.id for page in chart.pages}
    free = next(str(n) for n in range(1, len(keys) + 2) if str(n) not in keys)
    pages = tuple(page if page.id else replace(page, id=free) for page in chart.pages)
    return replace(chart, pages=pages), problems


def _first(chart: Chart, name: str, path: str) -> Page | None:
    """The page that is meant: the one of that name, else the only one that no other page runs."""
    if name:
        found = chart.page(name)
        if found is None:
            raise NotFound(f"{path}: no page named {name}{_pages(chart)}")
        return found
    drawn = [page for page in chart.pages if page.steps]
    if len(drawn) == 1 or not drawn:
        return next(iter(drawn or chart.pages), None)
    called = {
        called.id
        for page in drawn
        for step in page.steps
        if (called := chart.called(step)) is not None and called is not page
    }
    free = [page for page in drawn if page.id not in called]
    return free[0] if len(free) == 1 else None


def _pages(chart: Chart) -> str:
    names = [page.name or page.id for page in chart.pages if page.steps]
    more = ", …" if len(names) > 5 else ""
    return f" ({len(names)} pages: {', '.join(names[:5])}{more})" if names else ""


def _which(chart: Chart, path: str) -> str:
    drawn = next(page.name or page.id for page in chart.pages if page.steps)
    return f"{path}: say which page is meant, as in --page {drawn!r}{_pages(chart)}"


CLOSE, CLOSEST = 0.66, 0.75
"""How much alike two names are for one to be mentioned, and for the other to be a slip at all."""
_OTHER_FIELDS = ("notes", "comments", "text", "title", "tags", "label", "shape", "lane", "image")
"""Fields that mean nothing here, and are no slips either."""


def _misspelt(pages: list[Page]) -> Iterator[Problem]:
    """A tag or a field that means nothing, and would if it were spelt a little differently."""
    every = [(page, step) for page in pages for step in page.steps]
    tags = {tag for _, step in every for tag in step.tags}
    agents = read_catalogue(read_settings().table("agents")).names if tags else []
    slips = {
        **{("tag", tag): _nearest(tag, (*agents, HUMAN, "NoValidation")) for tag in tags},
        **{
            ("field", name): _nearest(name, FIELDS, _OTHER_FIELDS)
            for name in {name for _, step in every for name in step.metadata}
        },
    }
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

    near = (
        get_close_matches(said, known, 2, CLOSE)
        if get_close_matches(said, known, 1, CLOSEST)
        else ()
    )
    return " or ".join(known[one] for one in near)


MOST_FILES = 100
"""Whoever needs more than this should draw less."""
_REFERENCES = ("page", "chart", "file")


class _Parts:
    """A chart while the pages of every file that it names are added to it.

    Pages of other files are called by file and page: `review.csv`, `review.csv#Second look`.
    """

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
            steps = [self._resolve(step, page, chart, path, prefix) for step in page.steps]
            pages.append(replace(page, steps=tuple(steps)))
        return replace(self.chart, pages=tuple(pages)), self.files

    def _resolve(self, step: Step, page: Page, chart: Chart, path: str, prefix: str) -> Step:
        """The step, and if it runs a page, with that page's id as it is in the whole chart."""
        if step.shape != "subprocess":
            return step
        called = chart.called(step)
        if called is not None:
            return _call(step, prefix + called.id) if prefix else step
        try:
            reference = _reference(step)
            return _call(step, self._begin(reference, path)) if reference else step
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
        known = self._begun.get((real, name))
        if known is not None:
            return known
        if len(self._begun) >= MOST_FILES:
            raise QuandaryError(f"{written} is one file too many; {MOST_FILES} are read")
        if is_chart(shown):
            chart, problems = _parse(read_text(shown), shown)
            first = _first(chart, name, shown)
        else:
            chart, problems = from_tree(sources.load(f"{shown}#{name}" if name else shown))
            first = _first(chart, "", shown)
        if first is None:
            raise NotFound(_which(chart, shown))
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
        if (
            words.partition("#")[0].lower().endswith((*sources.CHARTS, *SUFFIXES))
            and "\n" not in words
        ):
            return words
    return ""


def _call(step: Step, page: str) -> Step:
    """The step, naming the page by its id and in no other way."""
    kept = {key: value for key, value in step.metadata.items() if fold(key) not in _REFERENCES}
    return replace(step, metadata={**kept, "page": page})


_SLOT = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


def from_tree(tree: Tree) -> tuple[Chart, list[Problem]]:
    """The chart of a tree, and what of the tree it cannot say.

    Of several decisions, the next begins where the one before ended, whatever was chosen.
    """
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
    meanings = "\n".join(
        f"- {label}: {' '.join(option.description.split())}"
        for option, label in labelled
        if option.description
    )
    return "\n\n".join(filter(None, (question, before, meanings)))


def _label(options: tuple[Option, ...]) -> list[tuple[Option, str]]:
    """Each option with a label that no other option of its level has."""
    times = Counter(folded(option.label) for option in options)
    return [
        (o, o.label if o.label and times[folded(o.label)] == 1 else f"{o.label} ({o.code})".strip())
        for o in options
    ]
