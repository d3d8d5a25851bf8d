"""A SOURCE, as people write it on the command line, into the tree it names."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from quandary.errors import NotFound, ParseError, QuandaryError
from quandary.formats.markdown import parse, plain_name, read_extra
from quandary.model.asks import BUCKETS, Candidate, Item, problem
from quandary.model.text import as_text, suggest, take_once
from quandary.model.tree import Extra, Tree, extend
from quandary.settings import read_settings
from quandary.settings.files import (
    SUFFIXES,
    is_inside,
    markdown_files,
    project_root,
    read_input,
    read_text,
)

CHARTS = {
    ".json": r"\s*\{",
    ".csv": r'(?i)\s*(?:sep=.\s+)?"?(?:shape )?id"?\s*[,;\t]',
    ".mmd": r"(?s)\s*(?:---[ \t]*\n.*?\n---[ \t]*\n\s*)?(?:%%(?>\{.*?\}%%|[^\n]*\n)\s*+)*+"
    r"(?:graph|flowchart(?:-elk)?)[ \t]*(?:(?:TB|TD|BT|RL|LR)\b|[;\n]|$)",
}
"""How the files of charts end, and what each of them begins with."""


class Found(NamedTuple):
    """A tree and the file it stands in."""

    path: str
    tree: Tree

    def __str__(self) -> str:
        return f"{self.path}:{self.tree.line}"


def load(source: str, text: str | None = None) -> Tree:
    """The tree that a SOURCE names: `file.md#NAME`, `file.md`, `NAME` in the project, or `-`."""
    return _load(source, text)[0]


def load_with_others(source: str, text: str | None = None) -> tuple[Tree, list[Tree]]:
    """The tree that a SOURCE names, and the others beside it that a reply may ask for."""
    tree, family = _load(source, text)
    others: dict[str, Tree] = {}
    for other in family.found:
        name = other.tree.name
        if not other.tree.fenced and name != tree.name and name not in others:
            # A tree that nobody named is not in the way of another; `check` reports it.
            with suppress(NotFound, ParseError):
                others[name] = family.resolve(other)
    return tree, list(others.values())


def _load(source: str, text: str | None) -> tuple[Tree, Family]:
    """The tree that a SOURCE names, and all those among which it was looked for."""
    if not source:
        raise NotFound("name a tree: file.md, file.md#NAME or NAME")
    path, name = split(source)
    if path is None:
        found = list(in_project(os.curdir))
    elif chart_ending(path):
        raise ParseError(f"{path}: a chart, not a tree; name a Markdown file")
    else:
        trees = parse(read_input(path) if text is None else text).trees
        found = [Found(path, tree) for tree in trees]
    family = Family(found)
    return family.resolve(_choose(family, name, path or "the project")), family


def split(source: str) -> tuple[str | None, str]:
    """The file, if one is meant, and the name, if one is given."""
    if source == "-" or os.path.lexists(source):
        return source, ""
    path, mark, name = source.rpartition("#")
    if mark and (path == "-" or os.path.lexists(path)):
        return path, name
    if (path if mark else source).lower().endswith((*SUFFIXES, *CHARTS)):
        return (path, name) if mark else (source, "")
    return None, source


def chart_ending(path: str, text: str | None = None) -> str:
    """How the file of a chart ends; standard input, by its text, as if it were one."""
    if path != "-":
        return next((ending for ending in CHARTS if path.lower().endswith(ending)), "")
    head = (text or "").removeprefix("\ufeff")[:10_000]
    return next((ending for ending, begin in CHARTS.items() if re.match(begin, head)), "")


def tree_places(root: str) -> list[str]:
    """The files and folders of a project that hold its trees: its settings' `trees`, or itself."""
    settings = read_settings(root)
    if (places := settings.strings("trees", "files and folders")) is None:
        return [root]
    for place in () if settings.is_own("trees") else places:
        if not is_inside(root, os.path.join(root, place)):
            raise ParseError(f"quandary.toml: trees names {place!a}, which is not in this project")
    return [os.path.join(root, place) for place in places]


def tree_files(place: str, root: str) -> Iterator[str]:
    """The Markdown files of a place; a link that leads out of the project is none of its files."""
    for path in markdown_files(place):
        if not os.path.islink(path) or is_inside(root, path) or not is_inside(root, place):
            yield path


def in_project(start: str) -> Iterator[Found]:
    """Every tree of the project that `start` is in, or of what its settings name as `trees`."""
    root = project_root(start) or start
    for place in tree_places(root):
        for path in tree_files(place, root):
            try:
                text = read_text(path)
            except ParseError:
                continue  # one bad file does not hide the others' trees; `check` reports it
            shown = os.path.relpath(path)
            yield from (Found(shown, tree) for tree in parse(text).trees)


def _choose(family: Family, name: str, where: str) -> Found:
    """The one tree of that name; examples in fences count only where there is nothing else."""
    fitting = family.called(name) if name else family.found
    fitting = [f for f in fitting if not f.tree.fenced] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if not name and not fitting:
        raise NotFound(f"{where}: no tree in it; see `quandary check {where}`")
    if not name:
        names = ", ".join(f.tree.name for f in fitting[:5])
        more = ", …" if len(fitting) > 5 else ""
        which = f"say which: {where}#{fitting[0].tree.name}"
        raise NotFound(f"{where}: {len(fitting)} trees in it ({names}{more}); {which}")
    if fitting:
        places = ", ".join(str(f) for f in fitting[:5])
        apart = len({f.path for f in fitting}) == len(fitting)
        remedy = f"say {fitting[0].path}#{name}" if apart else "rename all but one"
        raise NotFound(f"{name} is the name of {len(fitting)} trees ({places}); {remedy}")
    known = list(dict.fromkeys(f.tree.name for f in family.found))
    more = f" and {len(known) - _MANY} more" if len(known) > _MANY else ""
    listed = f"it has {', '.join(known[:_MANY]) or 'none'}{more}"
    hint = suggest(plain_name(name).upper(), known, listed)
    raise NotFound(f"no tree named {name} in {where}; {hint}")


def _loose(name: str) -> str:
    """A name as people type it: `plan-review` or `ask_plan_review` for PLAN_REVIEW."""
    return name.casefold().replace("-", "_").replace(" ", "_").lstrip("¶§").removeprefix("ask_")


def matches_name(name: str, typed: str) -> bool:
    """Whether a tree's name begins as somebody has begun to type it."""
    return _loose(name).startswith(_loose(typed)) or "¶ASK_".casefold().startswith(typed.casefold())


_MANY = 8  # so many names are listed
MOST_INHERITED = 100_000  # options taken over, all together: few lines could name millions


class Family:
    """The trees among which one is looked for, and what they inherit from one another."""

    def __init__(
        self, found: list[Found], search: Callable[[str], Iterable[Found]] = in_project
    ) -> None:
        self.found, self._search = found, search
        self._named: defaultdict[tuple[int, str], list[Found]] = defaultdict(list)
        self._projects: dict[str, Family] = {}
        self._resolved: dict[int, Tree] = {}
        self._room = MOST_INHERITED
        for one in found:
            decisions = dict.fromkeys(decision.name for decision in one.tree.decisions)
            self._named[0, one.tree.name].append(one)
            self._named[2, _loose(one.tree.name)].append(one)
            for way, names in ((1, decisions), (3, dict.fromkeys(map(str.casefold, decisions)))):
                for name in names:
                    self._named[way, name].append(one)

    def called(self, name: str) -> list[Found]:
        """The trees of that name, else those with a decision of it, case aside as a last try."""
        bare = plain_name(name)
        ways = ((0, bare), (0, name), (1, name), (2, _loose(bare)), (3, name.casefold()))
        return next((self._named[way] for way in ways if way in self._named), [])

    def resolve(self, found: Found) -> Tree:
        """The tree with what it inherits, if it extends another, which may extend one in turn."""
        line = {found.tree.name: found}
        last, tree = found, self._resolved.get(id(found))
        while tree is None and (name := last.tree.extends):
            self._take(found, 1)
            last = self._base(last, name)
            if last.tree.name in line:
                circle = f"({', '.join([*line, last.tree.name])}); take one of them out"
                raise ParseError(f"{found}: Extends: goes in a circle {circle}")
            line[last.tree.name] = last
            tree = self._resolved.get(id(last))
        _, base = line.popitem()
        tree = tree or base.tree
        for heir in reversed(line.values()):
            tree = self._resolved[id(heir)] = extend(heir.tree, tree)
            walked = (option for decision in tree.decisions for option in decision.walk())
            self._take(found, sum(1 for _ in islice(walked, self._room + 1)))
        return tree

    def _take(self, found: Found, number: int) -> None:
        self._room -= number
        if self._room < 0:
            most = f"{MOST_INHERITED:,} options"
            raise ParseError(f"{found}: Extends: brings more than {most} together; write fewer")

    def _base(self, found: Found, name: str) -> Found:
        """The tree that another extends: in the same file, else in the file's project."""
        if not (bases := self.called(name)):
            start = os.curdir if found.path == "-" else os.path.dirname(found.path) or os.curdir
            if start not in self._projects:
                self._projects[start] = Family(list(self._search(start)))
            bases = self._projects[start].called(name)
        if not bases:
            raise NotFound(f"{found}: extends {name}, which is nowhere in the project")
        return next((base for base in bases if not base.tree.fenced), bases[0])


_OWN = ("id", "label", "title", "context", "question")


def from_options(values: tuple[str, ...]) -> list[Item]:
    """`ID|Label|Title|Context`, where what stands at the end may be left out."""
    items = []
    for value in values:
        parts = [part.strip() for part in value.split("|", 3)]
        if not parts[0]:
            raise QuandaryError(f"--item {value!r} has no id; write 'ID|Label|Title|Context'")
        parts += [""] * (4 - len(parts))
        items.append(Item(parts[0], parts[1], parts[2] or parts[1], parts[3]))
    return items


def from_file(path: str, *, bare: bool = False) -> list[Item]:
    """The items in a file, or from standard input for `-`."""
    return parse_items(read_input(path), path, bare=bare)


def parse_items(text: str, path: str, *, bare: bool = False) -> list[Item]:
    """A JSON list, JSON lines, or CSV with a header line; its first sign tells which."""
    text = text.removeprefix("\ufeff")
    match text.lstrip()[:1]:
        case "[":
            rows = _decode(text, path)
        case "{":
            lines, remedy = enumerate(text.split("\n"), 1), "; write one item on each line"
            rows = [_decode(line, f"{path}:{n}", remedy) for n, line in lines if line.strip()]
        case _:
            rows = _csv(path, text)
    if not rows:
        raise ParseError(f"{path}: there are no items in it; without any, leave --items out")
    return from_rows(path, rows, bare=bare)


def from_rows(name: str, rows: list[Any], *, bare: bool = False) -> list[Item]:
    """Objects with the fields of an item; `name` is what messages call the whole."""
    items = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise ParseError(f"{name}: item {number} is not an object with fields")
        fields = {str(key).strip(): as_text(value) for key, value in row.items()}
        if not bare and not any(fields.get(own) for own in _OWN):
            raise ParseError(f"{name}: item {number} has none of {', '.join(_OWN)}")
        own = {field: fields.pop(field, "") for field in _OWN}
        own["id"] = own["id"] or str(number)
        own["title"] = own["title"] or own["label"]
        items.append(Item(**own, fields=fields))
    return items


def as_rows(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Items as objects, from which `from_rows` makes the same again."""
    return [{**item.fields, **{name: getattr(item, name) for name in _OWN}} for item in items]


def _csv(path: str, text: str) -> list[Any]:
    import csv  # noqa: PLC0415 - only for this kind of file
    import io  # noqa: PLC0415 - only for this kind of file

    try:
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise ParseError(f"{path}: not CSV ({error})") from None
    for number, row in enumerate(rows, 1):
        if None in row:
            raise ParseError(f"{path}: item {number} has more fields than the first line names")
    return rows


def _decode(text: str, where: str, remedy: str = "") -> Any:  # noqa: ANN401 - any JSON
    import json  # noqa: PLC0415 - msgspec keeps the last of two members of one name

    try:
        decoded = msgspec.json.decode(text)
        json.loads(text, object_pairs_hook=take_once)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise ParseError(f"{where}: not JSON ({error}){remedy}") from None
    except ParseError as error:
        raise ParseError(f"{where}: {error}") from None
    return decoded


def extras(values: Sequence[str], option: str = "extras") -> list[Extra] | None:
    """`A: text` or `A? text`, one for each letter; none given leaves the tree's own."""
    if not values:
        return None
    found: dict[str, Extra] = {}
    for value in values:
        if (extra := read_extra(value)) is None:
            raise QuandaryError(f"{option} {value!r}: write it as 'A: text' or 'A? text'")
        if extra.letter in found:
            raise QuandaryError(f"{option} {extra.letter} is given twice")
        found[extra.letter] = extra
    return list(found.values())


def settings(values: tuple[str, ...]) -> dict[str, str]:
    """`key=value` pairs that fill slots."""
    found = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign or not key.strip():
            raise QuandaryError(f"--set {value!r}: write it as key=value")
        found[key.strip()] = text
    return found


_TEXT = (str | None, "text")
_KEYS = (list[str] | None, 'a list of keys, like ["E1"]')
OPTION_FIELDS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("key", "title", "scope", "cost"), _TEXT),
    **dict.fromkeys(("requires", "conflicts"), _KEYS),
    "recommend": (str | None, f"{', '.join(BUCKETS)} or nothing"),
    "because": _TEXT,
}
"""What an entry can say, and what each of it is."""


def parse_options(text: str, name: str) -> tuple[Candidate, ...]:
    """`[{"key": "E1", "title": "…", "requires": ["E0"]}]`; mistakes are named by their entry."""
    return options_from_rows(_decode(text.removeprefix("\ufeff"), name), name)


def options_from_rows(rows: object, name: str) -> tuple[Candidate, ...]:
    """Options that were decoded already."""
    if not isinstance(rows, list):
        example = '[{"key": "E1", "title": "What it is"}]'
        raise ParseError(f"{name}: write a list of options, like {example}")
    found = tuple(_candidate(f"{name}: entry {n}", row) for n, row in enumerate(rows, 1))
    if wrong := problem(found):
        raise ParseError(f"{name}: {wrong}")
    return found


def _candidate(where: str, row: object) -> Candidate:
    if not isinstance(row, dict):
        raise ParseError(f"{where}: write an object with key and title, not {row!r:.60}")
    key = row.get("key")
    if isinstance(key, str) and key.strip():
        where += f" ({' '.join(key.split())})"
    values: dict[str, Any] = {"key": "", "title": ""}
    for field, given in row.items():
        if field not in OPTION_FIELDS:
            raise ParseError(f"{where}: no field {field!r}; there are {', '.join(OPTION_FIELDS)}")
        kind, words = OPTION_FIELDS[field]
        try:
            value = msgspec.convert(given, kind)
        except msgspec.ValidationError:
            raise ParseError(f"{where}: {field} is {words}, not {given!r:.60}") from None
        if isinstance(value, list):
            values[field] = tuple(dict.fromkeys(key.strip() for key in value))
        elif value:
            values[field] = value.strip()
    recommended = values["recommend"] = values.get("recommend", "").lower() or None
    if recommended not in (None, *BUCKETS):
        raise ParseError(f"{where}: recommend is {OPTION_FIELDS['recommend'][1]}")
    return Candidate(**values)
