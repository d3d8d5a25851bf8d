"""A SOURCE, as people write it on the command line, into the tree it names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from quandary.errors import NotFound, ParseError
from quandary.formats.markdown import parse
from quandary.formats.markdown.notation import plain_name
from quandary.model.text import suggest
from quandary.model.tree import extend
from quandary.settings import read_settings
from quandary.settings.files import SUFFIXES, markdown_files, project_root, read_input, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quandary.model.tree import Tree

CHARTS = (".csv", ".json", ".mmd")


class Found(NamedTuple):
    """A tree and the file it stands in."""

    path: str
    tree: Tree

    def __str__(self) -> str:
        return f"{self.path}:{self.tree.line}"


def load(source: str, text: str | None = None) -> Tree:
    """The tree that a SOURCE names: `file.md#NAME`, `file.md`, `NAME` in the project, or `-`.

    `text` is what the file or standard input held, if it was read already.
    """
    found, name, where = _loaded(source, text)
    return _resolve(_choose(found, name, where), found)


def load_with_others(source: str, text: str | None = None) -> tuple[Tree, list[Tree]]:
    """The tree that a SOURCE names, and the others of its file, of standard input or of the
    project, wherever it was found: a reply may ask for one of them.
    """
    found, name, where = _loaded(source, text)
    tree = _resolve(_choose(found, name, where), found)
    others: dict[str, Tree] = {}
    for other in found:
        if other.tree.fenced or other.tree.name in (tree.name, *others):
            continue
        try:
            others[other.tree.name] = _resolve(other, found)
        except NotFound:
            continue  # a tree that nobody named is not in the way of another; `check` reports it
    return tree, list(others.values())


def _loaded(source: str, text: str | None) -> tuple[list[Found], str, str]:
    """The trees among which a SOURCE names one, the name, and what to call the whole."""
    if not source:
        raise NotFound("name a tree: file.md, file.md#NAME or NAME")
    path, name = split(source)
    if path is None:
        return list(in_project(os.curdir)), name, "the project's trees"
    if path.lower().endswith(CHARTS):
        raise ParseError(f"{path}: a chart, not a tree; name a Markdown file")
    if text is None:
        text = read_input(path)
    return [Found(path, tree) for tree in parse(text).trees], name, path


def split(source: str) -> tuple[str | None, str]:
    """The file, if one is meant, and the name, if one is given."""
    if source == "-" or os.path.lexists(source):
        return source, ""
    path, mark, name = source.rpartition("#")
    if mark and (path == "-" or os.path.lexists(path)):
        return path, name
    if (path if mark else source).lower().endswith(SUFFIXES + CHARTS):
        return (path, name) if mark else (source, "")
    return None, source


def tree_places(root: str) -> list[str]:
    """The files and folders of a project that hold its trees: its settings' `trees`, or itself."""
    places = read_settings(root).strings("trees", "files and folders")
    return [root] if places is None else [os.path.join(root, place) for place in places]


def in_project(start: str) -> Iterator[Found]:
    """Every tree of the project that `start` is in, or of what its settings name as `trees`."""
    root = project_root(start) or start
    for place in tree_places(root):
        for path in markdown_files(place):
            try:
                text = read_text(path)
            except ParseError:
                continue  # one bad file does not hide the others' trees; `check` reports it
            shown = os.path.relpath(path)
            yield from (Found(shown, tree) for tree in parse(text).trees)


def _choose(found: list[Found], name: str, where: str) -> Found:
    """The one tree of that name; examples in fences count only where there is nothing else."""
    if not name:
        fitting = [f for f in found if not f.tree.fenced] or found
        if not fitting:
            raise NotFound(f"{where}: no tree in it; see `quandary check {where}`")
        if len(fitting) > 1:
            names = ", ".join(f.tree.name for f in fitting[:5])
            more = ", …" if len(fitting) > 5 else ""
            raise NotFound(
                f"{where}: {len(fitting)} trees in it ({names}{more}); "
                f"say which: {where}#{fitting[0].tree.name}"
            )
        return fitting[0]
    fitting = _called(found, name)
    fitting = [f for f in fitting if not f.tree.fenced] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        places = ", ".join(str(f) for f in fitting[:5])
        apart = len({f.path for f in fitting}) == len(fitting)
        remedy = f"say {fitting[0].path}#{name}" if apart else "rename all but one"
        raise NotFound(f"{name} is the name of {len(fitting)} trees ({places}); {remedy}")
    hint = suggest(plain_name(name), {f.tree.name for f in found})
    raise NotFound("; ".join(filter(None, (f"no tree named {name} in {where}", hint))))


def _called(found: list[Found], name: str) -> list[Found]:
    """The trees of that name, else those with a decision of that name, case aside as a last try."""
    bare = plain_name(name)
    ways: tuple[Callable[[Found], bool], ...] = (
        lambda f: f.tree.name in (bare, name),
        lambda f: any(d.name == name for d in f.tree.decisions),
        lambda f: _loose(bare) == _loose(f.tree.name),
        lambda f: any(d.name.casefold() == name.casefold() for d in f.tree.decisions),
    )
    return next(filter(None, ([f for f in found if fits(f)] for fits in ways)), [])


def _loose(name: str) -> str:
    """A name as people type it: `plan-review` for PLAN_REVIEW."""
    return name.casefold().replace("-", "_").replace(" ", "_")


def _resolve(found: Found, beside: list[Found]) -> Tree:
    """The tree with what it inherits, if it extends another, which may extend one in turn."""
    line = [found]
    while name := line[-1].tree.extends:
        base = _base(line[-1], name, beside)
        names = [f.tree.name for f in line]
        if base.tree.name in names:
            circle = ", ".join([*names, base.tree.name])
            raise NotFound(f"{found}: Extends: goes in a circle ({circle}); take one of them out")
        line.append(base)
    tree = line.pop().tree
    while line:
        tree = extend(line.pop().tree, tree)
    return tree


def _base(found: Found, name: str, beside: list[Found]) -> Found:
    """The tree that another extends: in the same file, else in the file's project."""
    bases = _called(beside, name)
    if not bases:
        start = os.curdir if found.path == "-" else os.path.dirname(found.path) or os.curdir
        bases = _called(list(in_project(start)), name)
    if not bases:
        raise NotFound(f"{found}: extends {name}, which is nowhere in the project")
    return next((base for base in bases if not base.tree.fenced), bases[0])
