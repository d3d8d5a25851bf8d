"""A chart out of the contents of a Lucid document, as Lucid's API gives them in JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from quandary.errors import ParseError
from quandary.formats.shapes import Sheet, direction, scenery_called, shape_called, tags_in
from quandary.model.chart import Chart, Route, Step

if TYPE_CHECKING:
    from quandary.model.soundness import Problem

    Object = dict[str, Any]

_HINT = "save what Lucid's API gives as the contents of a document"


def read(text: str, path: str) -> tuple[Chart, list[Problem]]:
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
        sheet = Sheet(_free(_text(page.get("id")), sheets), _line(page.get("title")))
        sheets[sheet.id] = sheet
        _fill(sheet, page.get("items"), problems)
    name = _line(document.get("title")) or os.path.splitext(os.path.basename(path))[0]
    return Chart(name, tuple(sheet.page(problems) for sheet in sheets.values())), problems


def _free(key: str, taken: dict[str, Sheet]) -> str:
    """The id of a page, or one that no other page has."""
    if key and key not in taken:
        return key
    number = len(taken) + 1
    while f"page {number}" in taken:
        number += 1
    return f"page {number}"


def _fill(sheet: Sheet, items: object, problems: list[Problem]) -> None:
    """Take in the shapes, groups and lines of a page."""
    content = items if isinstance(items, dict) else {}
    for shape in _objects(content.get("shapes")):
        _draw(sheet, shape)
        key, held = _text(shape.get("id")), shape.get("contains")
        members = held.get("shapes") if isinstance(held, dict) else None
        for member in map(_text, members if isinstance(members, list) else ()):
            within = sheet.inside.get(member)
            sheet.inside[member] = f"{within}|{key}" if within else key
    for group in _objects(content.get("groups")):
        sheet.draw(Step(_text(group.get("id")), _texts(group)[0]), "group")
    for line in _objects(content.get("lines")):
        ends = [end if isinstance(end := line.get(n), dict) else {} for n in _ENDS]
        way = direction(*(_text(end.get("style")) for end in ends))
        source, target = (_text(end.get("connectedTo")) for end in ends)
        label = _texts(line)[0] or next(iter(_tags(line)), "")
        sheet.join(Route(source, target, label), way, problems)


_ENDS = ("endpoint1", "endpoint2")


def _draw(sheet: Sheet, shape: Object) -> None:
    """A shape: surely a step if there is text in it and its class does not say otherwise."""
    name = _text(shape.get("class"))
    kind, drawn = scenery_called(name), shape_called(name)
    text, more = _texts(shape)
    step = Step(_text(shape.get("id")), text, drawn, _tags(shape), _data(shape), more)
    if text and kind is None and drawn != "connector":
        sheet.shapes.append(step)
    else:
        sheet.draw(step, kind)


def _texts(thing: Object) -> tuple[str, tuple[str, ...]]:
    """The text of a shape, which is labelled so or else comes first, and its others."""
    areas = _objects(thing.get("textAreas"))
    areas.sort(key=lambda area: _text(area.get("label")).casefold() != "text")
    texts = [text for area in areas if (text := _text(area.get("text")))]
    return (texts[0] if texts else ""), tuple(texts[1:])


def _tags(thing: Object) -> tuple[str, ...]:
    tags = thing.get("tags")
    if isinstance(tags, list):
        return tuple(filter(None, map(_text, tags)))
    return tags_in(_text(tags))


def _data(shape: Object) -> dict[str, str]:
    """The data of a shape, its own before what it is linked to."""
    linked = [_objects(link.get("data")) for link in _objects(shape.get("linkedData"))]
    found: dict[str, str] = {}
    for field in (
        *_objects(shape.get("customData")),
        *(field for data in linked for field in data),
    ):
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
    """A value as text: numbers as one would write them, nothing as nothing."""
    match value:
        case str():
            return value.strip()
        case None:
            return ""
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case bool() | list() | dict():
            return msgspec.json.encode(value).decode()
    return str(value)
