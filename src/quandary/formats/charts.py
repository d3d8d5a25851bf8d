"""A SOURCE into the chart it names: a drawing from Lucid or Mermaid, or a tree in Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from quandary.errors import NotFound, Rejected
from quandary.formats import sources
from quandary.formats.chart_parts import with_parts
from quandary.formats.files import read_standard_input, read_text
from quandary.model.soundness import check, concerned

if TYPE_CHECKING:
    from quandary.model.chart import Chart, Page
    from quandary.model.soundness import Problem

_MERMAID = re.compile(
    r"\s*(?:---[ \t]*\n.*?\n---[ \t]*\n\s*)?(?:%%[^\n]*\n\s*)*"
    r"(?:graph|flowchart(?:-elk)?)[ \t]*(?:(?:TB|TD|BT|RL|LR)\b|[;\n]|$)",
    re.DOTALL,
)
_CSV = re.compile(r'\s*(?:sep=.\s+)?"?(?:shape )?id"?\s*[,;\t]', re.IGNORECASE)
_JSON = re.compile(r"\s*\{")


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


class Unsound(Rejected):
    """A chart that cannot be walked, with every reason."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__("; ".join(loaded.said(problem) for problem in loaded.errors))
        self.loaded = loaded


def load(source: str, *, page: str = "") -> Chart:
    """The chart that a SOURCE names, ready to be walked: what is wrong with it is an error."""
    loaded = read(source, page=page)
    if not loaded.chart.start:
        raise NotFound(_which(loaded.chart, loaded.path))
    if loaded.errors:
        raise Unsound(loaded)
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
    if path is None or not is_chart(path, text):
        chart, problems = _of_tree(source, text)
        path, name = path or source, ""
    else:
        chart, problems = _parsed(read_text(path) if text is None else text, path)
    first = _first(chart, page or name, path)
    chart = replace(chart, start=first.id if first is not None else "")
    chart, files = with_parts(chart, path, problems, _part)
    names = {concern.name for concern in concerned(chart)}
    problems = [problem for problem in problems if not problem.page or problem.page in names]
    return Loaded(path, chart, tuple(_in_order([*problems, *check(chart)])), files)


def is_chart(path: str, text: str | None = None) -> bool:
    """Whether a file is a drawing, by its ending; standard input has none, but its text tells."""
    return path.lower().endswith(sources.CHARTS) or (text is not None and bool(_kind(text)))


def _kind(text: str) -> str:
    """The ending that a text would have as a file, if it is a drawing."""
    head = text.removeprefix("\ufeff")[:10_000]
    kinds = ((".json", _JSON), (".csv", _CSV), (".mmd", _MERMAID))
    return next((ending for ending, pattern in kinds if pattern.match(head)), "")


def _parsed(text: str, path: str) -> tuple[Chart, list[Problem]]:
    chart, problems = _as_written(text, path)
    keys = {page.id for page in chart.pages}
    free = next(str(n) for n in range(1, len(keys) + 2) if str(n) not in keys)
    pages = tuple(page if page.id else replace(page, id=free) for page in chart.pages)
    return replace(chart, pages=pages), problems


def _as_written(text: str, path: str) -> tuple[Chart, list[Problem]]:
    ending = _kind(text) if path == "-" else path.lower()
    if ending.endswith(".csv"):
        from quandary.formats import lucid_csv  # noqa: PLC0415 - one format at a time

        return lucid_csv.read(text, path)
    if ending.endswith(".json"):
        from quandary.formats import lucid_json  # noqa: PLC0415

        return lucid_json.read(text, path)
    from quandary.formats import mermaid_in  # noqa: PLC0415

    return mermaid_in.read(text, path)


def _of_tree(source: str, text: str | None = None) -> tuple[Chart, list[Problem]]:
    from quandary.formats.tree_chart import from_tree  # noqa: PLC0415 - only for Markdown

    return from_tree(sources.load(source, text))


def _part(path: str, name: str) -> tuple[Chart, list[Problem]]:
    """The chart in another file that a subprocess names; it begins on the page of that name."""
    if is_chart(path):
        chart, problems = _parsed(read_text(path), path)
    else:
        chart, problems = _of_tree(f"{path}#{name}" if name else path)
        name = ""
    first = _first(chart, name, path)
    if first is None:
        raise NotFound(_which(chart, path))
    return replace(chart, start=first.id), problems


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


def _which(chart: Chart, path: str) -> str:
    drawn = [page.name or page.id for page in chart.pages if page.steps]
    return f"{path}: say which page is meant, as in --page {drawn[0]!r}{_pages(chart)}"


def _pages(chart: Chart) -> str:
    names = [page.name or page.id for page in chart.pages if page.steps]
    more = ", …" if len(names) > 5 else ""
    return f" ({len(names)} pages: {', '.join(names[:5])}{more})" if names else ""


def _in_order(problems: list[Problem]) -> list[Problem]:
    """By page and line, each once."""
    places = {name: n for n, name in enumerate(dict.fromkeys(p.page for p in problems))}
    return sorted(dict.fromkeys(problems), key=lambda p: (places[p.page], p.line))
