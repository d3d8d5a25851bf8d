"""The project's trees for their page, with what is wrong with them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from quandary.errors import QuandaryError
from quandary.formats.markdown import parse
from quandary.people.web.asked import lines
from quandary.settings import read_settings
from quandary.settings.files import markdown_files, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quandary.people.web.asked import Line


class Drawn(NamedTuple):
    """A tree, or a file that cannot be read."""

    path: str
    name: str
    trigger: str
    lines: list[Line]
    problems: Sequence[tuple[str, str]]
    """Each with its severity."""


def list_trees(project: str) -> Iterator[Drawn]:
    """Every tree of a project that is no example."""
    if not project:
        return
    places = read_settings(project).strings("trees", "files and folders")
    for place in [project] if places is None else [os.path.join(project, p) for p in places]:
        try:
            paths = list(markdown_files(place))
        except QuandaryError as error:
            yield Drawn(os.path.relpath(place, project), "", "", [], [("error", str(error))])
            continue
        for path in paths:
            yield from _in_file(path, os.path.relpath(path, project))


def _in_file(path: str, shown: str) -> Iterator[Drawn]:
    try:
        document = parse(read_text(path))
    except QuandaryError as error:
        yield Drawn(shown, "", "", [], [("error", str(error))])
        return
    declared = [tree for tree in document.trees if not tree.fenced]
    found = document.diagnostics if declared else ()
    for tree in declared:
        problems = [
            (d.severity, f"line {d.line}: {d.message} ({d.rule})")
            for d in found
            if d.tree == tree.name
        ]
        yield Drawn(shown, tree.name, tree.trigger, lines(tree), problems)
