"""Charts made of several files: a subprocess may name another file and, in it, a page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from quandary.errors import QuandaryError
from quandary.formats.files import SUFFIXES, project_root
from quandary.formats.sources import CHARTS
from quandary.model.chart import Chart, Page, Step, plain
from quandary.model.soundness import Problem, named

if TYPE_CHECKING:
    from collections.abc import Callable

    Read = Callable[[str, str], tuple[Chart, list[Problem]]]

MOST_FILES = 100
"""Whoever needs more than this should draw less."""
_REFERENCES = ("page", "chart", "file")


def with_parts(
    chart: Chart, path: str, problems: list[Problem], read: Read
) -> tuple[Chart, dict[str, str]]:
    """The chart with the pages of every file that it names, and the files of those pages.

    Pages of other files are called by file and page: `review.csv`, `review.csv#Second look`.
    """
    steps = (step for page in chart.pages for step in page.steps)
    if not any(step.shape == "subprocess" and _reference(step) for step in steps):
        return chart, {}
    return _Parts(chart, path, problems, read).gathered()


class _Parts:
    """A chart while other files are added to it."""

    def __init__(self, chart: Chart, path: str, problems: list[Problem], read: Read) -> None:
        self.chart = chart
        self.path = path
        self.problems = problems
        self.read = read
        self.files: dict[str, str] = {}
        folder = os.path.dirname(os.path.abspath(path)) if path != "-" else os.path.abspath(".")
        self.root = os.path.realpath(project_root(folder) or folder)
        self._begun: dict[tuple[str, str], str] = {(os.path.realpath(path), ""): chart.start}
        """For a file and a name in it, the id of the page that it begins on."""
        self._waiting: list[tuple[Page, Chart, str, str]] = []
        """Pages to look through, their charts, their files, and what their ids begin with."""

    def gathered(self) -> tuple[Chart, dict[str, str]]:
        """The whole chart."""
        pages: list[Page] = []
        self._waiting = [(page, self.chart, self.path, "") for page in self.chart.pages]
        for page, chart, path, prefix in self._waiting:  # grows on the way
            steps = [self._resolved(step, page, chart, path, prefix) for step in page.steps]
            pages.append(replace(page, steps=tuple(steps)))
        return replace(self.chart, pages=tuple(pages)), self.files

    def _resolved(self, step: Step, page: Page, chart: Chart, path: str, prefix: str) -> Step:
        """The step, and if it runs a page, with that page's id as it is in the whole chart."""
        if step.shape != "subprocess":
            return step
        called = chart.called(step)
        if called is not None:
            return _calling(step, prefix + called.id) if prefix else step
        reference = _reference(step)
        if not reference:
            return step
        try:
            return _calling(step, self._begin(reference, path))
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
        chart, problems = self.read(shown, name)
        prefix = f"{reference}:"
        self._begun[real, name] = prefix + chart.start
        taken = {page.name for page, *_ in self._waiting}
        names: dict[str, str] = {}
        for part in chart.pages:
            title = reference if part.id == chart.start else f"{written}#{part.name or part.id}"
            while title in taken:
                title += "′"
            taken.add(title)
            names[part.name] = title
            self.files[title] = shown
            new = replace(part, id=prefix + part.id, name=title)
            self._waiting.append((new, chart, shown, prefix))
        self.problems += [replace(p, page=names.get(p.page, reference)) for p in problems]
        return prefix + chart.start


def _reference(step: Step) -> str:
    """The file that a subprocess names, in a data field or as all of its text."""
    for said in (*map(step.field, _REFERENCES), step.text):
        words = (said or "").strip()
        if words.partition("#")[0].lower().endswith((*CHARTS, *SUFFIXES)) and "\n" not in words:
            return words
    return ""


def _calling(step: Step, page: str) -> Step:
    """The step, naming the page by its id and in no other way."""
    kept = {key: value for key, value in step.metadata.items() if plain(key) not in _REFERENCES}
    return replace(step, metadata={**kept, "page": page})
