"""Charts out of Lucid: the CSV export, and the contents of a document as the API gives them."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.errors import ParseError
from quandary.formats.charts import TASKS, Sheet, direction, meaning, shape_of, tags_in
from quandary.model.chart import Chart, Problem, Route, SceneryKind, Shape, Step
from quandary.model.text import as_text

if TYPE_CHECKING:
    from _csv import Reader

    Row = list[str]
    Cells = tuple[str, ...]
    Object = dict[str, Any]

_SQUASHED = re.compile(r"[^a-z0-9]+")
_AREA = re.compile(r"textarea\d*$")
_NAMES = {
    "id": ("id", "shapeid", "objectid"),
    "name": ("name", "shapename", "shapetype", "shape", "type"),
    "page": ("pageid", "page"),
    "source": ("linesource", "source", "sourceid", "from"),
    "target": ("linedestination", "linetarget", "destination", "destinationid", "target", "to"),
    "tail": ("sourcearrow", "linesourcearrow"),
    "head": ("destinationarrow", "linedestinationarrow", "targetarrow"),
    "container": ("containedby", "container"),
    "comments": ("comments", "comment"),
}
"""What a column is for, and its names, of which the later ones stand in for the first."""
_TAGS = ("tags", "tag")
_UNUSED = ("Shape Library", "Group", "Status")


def read_csv(text: str, path: str) -> tuple[Chart, list[Problem]]:
    """The chart in a CSV export, and what is odd about the file; `path` is for messages."""
    text = text.removeprefix("\ufeff")
    if text[:4].casefold() == "sep=":  # a spreadsheet's hint to itself
        text = "\n" + text.partition("\n")[2]
    first = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    usual = csv.field_size_limit(len(text) + 1)
    try:
        lines = io.StringIO(text, newline="")
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        book = _Book(next(filter(None, reader), []), path)
        last = book.fill(reader, reader.line_num)
        if last < reader.line_num:
            _require_closed(text, last, delimiter, path)
    finally:
        csv.field_size_limit(usual)
    pages = tuple(sheet.page(book.problems) for sheet in book.sheets.values())
    return Chart(book.title or os.path.splitext(os.path.basename(path))[0], pages), book.problems


def _require_closed(text: str, begin: int, delimiter: str, path: str) -> None:
    """A last row of many lines may be all that follows a quotation mark that is not closed."""
    lines = islice(io.StringIO(text, newline=""), begin - 1, None)
    try:
        list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            message = "a quotation mark is opened here and never closed; export the document again"
            raise ParseError(f"{path}:{begin}: {message}") from None


def _fields(header: Row, known: set[int]) -> dict[str, int]:
    """The columns that are data of the drawer's own; of two with one name, both are kept, as two
    spellings of it.
    """
    found: dict[str, int] = {}
    for place, written in enumerate(header):
        name = written.strip()
        if place not in known and name:
            while name in found:
                name += "_"
            found[name] = place
    return found


class _Role(NamedTuple):
    """What a row is about, by its name."""

    line: bool
    title: str
    kind: SceneryKind | None
    shape: Shape
    sure: bool  # whether, with some text in it, it is a step and nothing else


def _role(name: str) -> _Role:
    word = name.strip().casefold()
    kind, shape = meaning(word)
    title = word if word in ("document", "page") else ""
    line = word == "line"
    sure = kind is None and shape != "connector" and not title and not line
    return _Role(line, title, kind, shape, sure)


class _Book:
    """The pages of a document while its rows come in."""

    def __init__(self, header: Row, path: str) -> None:
        self.title: str | None = None
        self.sheets: dict[str, Sheet] = {}
        self.problems: list[Problem] = []
        names = [_SQUASHED.sub("", name.casefold()) for name in header]
        self.width = width = len(header)  # a column that is not there stands, empty, behind it
        at = {
            column: next((names.index(name) for name in known if name in names), width)
            for column, known in _NAMES.items()
        }
        tags = [n for n, name in enumerate(names) if name in _TAGS] or [width]
        for column in ("id", "name"):
            if at[column] == width:
                remedy = "export the shape data of a Lucid document as CSV"
                raise ParseError(f"{path}:1: there is no column {column.title()}; {remedy}")
        areas = [n for n, name in enumerate(names) if _AREA.match(name)]
        areas = areas or [n for n, name in enumerate(names) if name in ("text", "label")][:1]
        unused = (header.index(name) for name in _UNUSED if name in header)
        self.fields = _fields(header, {*at.values(), *tags, *areas, *unused})
        """The names of the data, and their columns."""
        self.ends = at["tail"] < width or at["head"] < width  # whether it tells ends of lines
        rest = [*tags, at.pop("comments"), *areas[1:]]
        self.tags, self.data = len(tags), len(rest)  # where, in the rest of a row, these end
        rest += self.fields.values()
        main = [*at.values(), *(areas[:1] or [width])]
        self.padded = width in (*main, *rest)  # whether there is need of that empty cell
        self.main: Callable[[Row], Cells] = itemgetter(*main)
        """Id, name, page, the ends of a line and how they look, container, first text."""
        self.rest: Callable[[Row], Cells] = itemgetter(*rest)  # tags, comments, further texts, data

    def fill(self, reader: Reader, end: int) -> int:
        """Take in every row, and tell on which line the last one begins. Nearly all rows are arrows
        or boxes with a text and nothing else. There may be very many of them, and they are dealt
        with here.
        """
        padded, main, rest = self.padded, self.main, self.rest
        full = self.width + padded
        nothing = rest([""] * full)
        sheets = self.sheets
        roles: dict[str, _Role] = {}
        line = end + 1
        for row in reader:
            line, end = end + 1, reader.line_num
            if padded:
                row.append("")
            if len(row) != full and not self._fit(row, line):
                continue
            key, name, at, source, target, tail, head, container, text = cells = main(row)
            if (role := roles.get(name)) is None:
                role = roles[name] = _role(name)
            if (sheet := sheets.get(at)) is None or container or rest(row) != nothing:
                self._add(role, cells, rest(row), line)
            elif role.line and head == "Arrow" and tail == "None":
                sheet.routes.append(Route(source, target, text.strip(), line))
            elif role.sure and not source and not target and (text := text.strip()):
                shape = role.shape if text[0] in TASKS else shape_of(role.shape, text)
                sheet.shapes.append(Step(key, text, shape, line=line))
            else:
                self._add(role, cells, rest(row), line)
        return line

    def _add(self, role: _Role, cells: Cells, rest: Cells, line: int) -> None:
        """Any row: the document, a page, a line or a shape."""
        key, _, at, source, target, tail, head, container, text = cells
        if not at and role.title:
            title = " | ".join(
                filter(None, map(str.strip, (text, *rest[self.tags + 1 : self.data])))
            )
            if self._entitle(role.title, key, title, line):
                return
        if not any(map(str.strip, (*cells, *rest))):
            return
        if (sheet := self.sheets.get(at)) is None:
            sheet = self.sheets[at] = Sheet(at, "")
        tags = tuple(tag for cell in rest[: self.tags] for tag in tags_in(cell))
        comment, *areas = map(str.strip, rest[self.tags : self.data])
        text, *others = [area for area in (text.strip(), *areas) if area] or [""]
        if role.line or source or target:
            way = direction(tail, head) if self.ends else "forward"
            label = text or next(iter(tags), "")
            sheet.join(Route(source, target, label, line), way, self.problems)
            return
        data = zip(self.fields, rest[self.data :], strict=True)
        fields = {name: value for name, value in data if value}
        notes = tuple(filter(None, (*others, comment)))
        sheet.draw(Step(key, text, role.shape, tags, fields, notes, line=line), role.kind)
        if container:
            sheet.inside[key] = container

    def _entitle(self, role: str, key: str, text: str, line: int) -> bool:
        """Take in the title of the document, or of a page; a second document is a shape."""
        title = " ".join(text.split())
        if role == "page":
            sheet = self.sheets.setdefault(key, Sheet(key, title, line))
            if sheet.name not in ("", title):
                message = f"the pages {sheet.name} and {title} have one id ({key}), and become one"
                self.problems.append(Problem("duplicate-id", "error", message, (key,), line))
            sheet.name, sheet.line = title, line
            return True
        first, self.title = self.title is None, self.title or title
        return first

    def _fit(self, row: Row, line: int) -> bool:
        """Make a row as long as the header, if it says anything; what is behind it is reported."""
        if not any(map(str.strip, row)):
            return False
        width = self.width
        if extra := [cell for cell in row[width:] if cell.strip()]:
            message = f"{len(extra)} more cells than columns ({', '.join(extra)[:60]}); left out"
            self.problems.append(Problem("extra-cells", "warning", message, (), line))
        del row[width:]
        row += [""] * (width + 1 - len(row))
        return True


_HINT = "save what Lucid's API gives as the contents of a document"


def read_json(text: str, path: str) -> tuple[Chart, list[Problem]]:
    """The chart in a document's contents, and what is odd about it; `path` is for messages."""
    try:
        document = msgspec.json.decode(text.removeprefix("\ufeff"))
    except msgspec.DecodeError as error:
        raise ParseError(f"{path}: not JSON ({error})") from None
    except RecursionError:
        raise ParseError(f"{path}: nested too deeply for a drawing; {_HINT}") from None
    if not isinstance(document, dict) or not isinstance(document.get("pages"), list):
        raise ParseError(f"{path}: there are no pages in it; {_HINT}")
    problems: list[Problem] = []
    sheets: dict[str, Sheet] = {}
    for page in _objects(document.get("pages")):
        key, number = _text(page.get("id")), len(sheets) + 1
        while not key or key in sheets:
            key, number = f"page {number}", number + 1
        sheets[key] = Sheet(key, _line(page.get("title")))
        _fill(sheets[key], page.get("items"), problems)
    name = _line(document.get("title")) or os.path.splitext(os.path.basename(path))[0]
    return Chart(name, tuple(sheet.page(problems) for sheet in sheets.values())), problems


def _fill(sheet: Sheet, items: object, problems: list[Problem]) -> None:
    """Take in the shapes, groups and lines of a page."""
    content = items if isinstance(items, dict) else {}
    for shape in _objects(content.get("shapes")):
        key, held = _text(shape.get("id")), shape.get("contains")
        kind, drawn = meaning(_text(shape.get("class")))
        text, notes = _texts(shape)
        sheet.draw(Step(key, text, drawn, _tags(shape), _data(shape), notes), kind)
        members = held.get("shapes") if isinstance(held, dict) else None
        for member in map(_text, members if isinstance(members, list) else ()):
            within = sheet.inside.get(member)
            sheet.inside[member] = f"{within}|{key}" if within else key
    for group in _objects(content.get("groups")):
        sheet.draw(Step(_text(group.get("id")), _texts(group)[0]), "group")
    for line in _objects(content.get("lines")):
        ends = [end if isinstance(end := line.get(f"endpoint{n}"), dict) else {} for n in (1, 2)]
        way = direction(*(_text(end.get("style")) for end in ends))
        source, target = (_text(end.get("connectedTo")) for end in ends)
        label = _texts(line)[0] or next(iter(_tags(line)), "")
        sheet.join(Route(source, target, label), way, problems)


def _texts(thing: Object) -> tuple[str, tuple[str, ...]]:
    """The text of a shape, which is labelled so or else comes first, and its others."""
    areas = _objects(thing.get("textAreas"))
    areas.sort(key=lambda area: _text(area.get("label")).casefold() != "text")
    first, *others = [text for area in areas if (text := _text(area.get("text")))] or [""]
    return first, tuple(others)


def _tags(thing: Object) -> tuple[str, ...]:
    tags = thing.get("tags")
    if isinstance(tags, list):
        return tuple(filter(None, map(_text, tags)))
    return tags_in(_text(tags))


def _data(shape: Object) -> dict[str, str]:
    """The data of a shape, its own before what it is linked to."""
    linked = [_objects(link.get("data")) for link in _objects(shape.get("linkedData"))]
    found: dict[str, str] = {}
    for field in chain(_objects(shape.get("customData")), *linked):
        key, value = _text(field.get("key")), _text(field.get("value"))
        if key and value:
            found.setdefault(key, value)
    return found


def _objects(value: object) -> list[Object]:
    """The objects of a list; whatever else stands there is none of ours."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _line(value: object) -> str:
    return " ".join(_text(value).split())


def _text(value: object) -> str:
    """A value as text: whole numbers as one would write them, nothing as nothing."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return (f"{value:.0f}" if whole else as_text(value)).strip()
