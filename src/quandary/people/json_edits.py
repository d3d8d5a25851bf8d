"""Entries put into the text of JSON settings, and taken out of it, with the rest left as it is.

Adding only ever puts text in: nothing that was there is replaced or moved. Whoever remembers the
places (`Span`) can take exactly those pieces out again, and has the old text back to the last byte.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.errors import ParseError
from quandary.people.json_text import MARK, Child, Node, comments, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

Span = tuple[int, int]
"""Where a piece stands, and how long it is."""


class Edited(NamedTuple):
    """A text, and what was put into it."""

    text: str
    spans: tuple[Span, ...] = ()

    def with_pieces(self, *pieces: tuple[int, str]) -> Edited:
        """The text with further pieces at places of this text, given in order."""
        text, spans = self.text, self.spans
        for at, piece in reversed(pieces):
            text = text[:at] + piece + text[at:]
            inside = any(start < at < start + length for start, length in spans)
            spans = tuple(_moved(span, at, len(piece)) for span in spans)
            spans = spans if inside else (*spans, (at, len(piece)))
        return Edited(text, tuple(sorted(spans)))


class Style(NamedTuple):
    """How a text is laid out."""

    newline: str
    unit: str
    """The indentation of one level."""
    colon: str
    tall: bool
    """Whether entries stand on lines of their own."""

    @property
    def comma(self) -> str:
        """What stands between two entries on one line."""
        return ", " if self.colon.endswith(" ") else ","


def without_spans(text: str, spans: Sequence[Span]) -> str:
    """The text without these pieces."""
    for at, length in sorted(spans, reverse=True):
        text = text[:at] + text[at + length :]
    return text


def added(edited: Edited, path: Sequence[str], value: Any) -> Edited:  # noqa: ANN401 - any JSON
    """The text with a value at the end of what `path` names, which is made where it is missing.

    What is there is an array that gets one more entry, or an object that gets a new key, the last
    name of the path. An array that is missing is made where the value is a list: that of its
    entries.
    """
    text = edited.text
    root = parse(text)
    if root is None:
        whole = _nested(path, value)
        style = Style(newline_of(text), "  ", ": ", tall=True)
        before = "" if text in ("", MARK) or text.endswith("\n") else style.newline
        piece = before + _rendered(whole, style, "") + style.newline
        return edited.with_pieces((len(text), piece))
    style = _style(text, root)
    node, done = root, 0
    for name in path:
        _require(node, "object", path[:done])
        child = node.member(name)
        if child is None:
            break
        node, done = child.value, done + 1
    missing = list(path[done:])
    if missing:
        return _put(edited, node, style, missing[0], _nested(missing[1:], value))
    _require(node, "array", path)
    for entry in value:
        edited = _put(edited, _at(edited.text, path), style, None, entry)
    return edited


def removed(text: str, path: Sequence[str | int]) -> str:
    """The text without the entry at a path, and without what is empty because of that."""
    while path:
        container = _at(text, path[:-1])
        text = _without_child(text, container, _index(container, path[-1]))
        path = path[:-1]
        left = _at(text, path)
        if left.children or any(comments(text, left.start + 1, left.end - 1)):
            break
    return text


def newline_of(text: str) -> str:
    """How lines end in a text."""
    return "\r\n" if "\r\n" in text else "\n"


def _moved(span: Span, at: int, length: int) -> Span:
    """Where a piece is after another was put in; one that got it in its middle has grown."""
    start, size = span
    if at <= start:
        return start + length, size
    return (start, size + length) if at < start + size else span


def _nested(path: Sequence[str], value: Any) -> Any:  # noqa: ANN401 - any JSON
    for name in reversed(path):
        value = {name: value}
    return value


def _at(text: str, path: Sequence[str | int]) -> Node:
    """The value at a path that is there."""
    node = parse(text)
    assert node is not None  # noqa: S101 - somebody looked before
    for step in path:
        node = node.children[_index(node, step)].value
    return node


def _index(node: Node, step: str | int) -> int:
    if isinstance(step, int):
        return step
    return max(n for n, child in enumerate(node.children) if child.key == step)


def _require(node: Node, kind: str, path: Sequence[str]) -> None:
    if node.kind != kind:
        name = ".".join(path) or "the whole"
        article = {"object": "an object, { … }", "array": "a list, [ … ]"}[kind]
        raise ParseError(f"{name} is not {article}")


def _style(text: str, root: Node) -> Style:
    """How the first entry is laid out is how the whole is."""
    newline = newline_of(text)
    if not root.children:
        return Style(newline, "  ", ": ", tall=True)
    first = root.children[0]
    lead = text[root.start + 1 : first.start]
    unit = lead[lead.rfind("\n") + 1 :] if "\n" in lead else "  "
    between = text[first.start : first.value.start]
    found = between[between.rfind('"') + 1 :]
    colon = found if found.strip(" ") == ":" else ": "
    return Style(newline, unit if not unit.strip(" \t") else "  ", colon, "\n" in lead)


def _put(edited: Edited, node: Node, style: Style, key: str | None, value: Any) -> Edited:  # noqa: ANN401 - any JSON
    """One more entry at the end of an object or array, behind any comments there."""
    text, last = edited.text, node.children[-1] if node.children else None
    behind = node.start + 1 if last is None else _behind(last)
    remarks = list(comments(text, behind, node.end - 1))
    at = remarks[-1].end() if remarks else behind
    forced = bool(remarks) and remarks[-1][0].startswith("//")
    tall = forced or (_is_tall(text, node) if node.children else style.tall)
    own = _indent(text, node.start)
    indent = _indent_of(text, last, own + style.unit) if last else own + style.unit
    entry = "" if key is None else json.dumps(key, ensure_ascii=False) + style.colon
    entry += _rendered(value, style if tall else style._replace(tall=False), indent)
    lead = style.newline + indent if tall else style.comma[1:] if last or remarks else ""
    if last is None:
        open_end = tall and "\n" not in text[at : node.end - 1]
        return edited.with_pieces((at, lead + entry + (style.newline + own if open_end else "")))
    if last.comma is not None:  # the text likes a comma behind the last entry
        return edited.with_pieces((at, lead + entry + ","))
    if at == last.value.end:
        return edited.with_pieces((at, "," + lead + entry))
    return edited.with_pieces((last.value.end, ","), (at, lead + entry))


def _behind(child: Child) -> int:
    return child.value.end if child.comma is None else child.comma + 1


def _is_tall(text: str, node: Node) -> bool:
    return "\n" in text[node.start : node.children[0].start]


def _indent(text: str, at: int) -> str:
    """The white space at the beginning of the line that a place is on."""
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(MARK)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_of(text: str, child: Child, otherwise: str) -> str:
    """The indentation of an entry that begins its line."""
    line = text[text.rfind("\n", 0, child.start) + 1 : child.start]
    return otherwise if line.strip(" \t") else line


def _rendered(value: Any, style: Style, indent: str) -> str:  # noqa: ANN401 - any JSON
    if not style.tall:
        separators = (style.comma, style.colon)
        return json.dumps(value, ensure_ascii=False, separators=separators)
    tall = json.dumps(value, ensure_ascii=False, indent=style.unit, separators=(",", style.colon))
    return tall.replace("\n", style.newline + indent)


def _without_child(text: str, node: Node, index: int) -> str:
    """The text without one entry; comments and all other entries stay where they are."""
    child = node.children[index]
    end = _behind(child)
    start = _space_start(text, node, index, end)
    if len(node.children) == 1:
        text = text[:start] + text[end:]
        closing = node.end - (end - start) - 1
        inside = text[node.start + 1 : closing]
        return text if inside.strip() else text[: node.start + 1] + text[closing:]
    if index < len(node.children) - 1:
        if "\n" in text[start : child.start]:
            return text[:start] + text[end:]
        following = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
        return text[: child.start] + text[following:]
    if child.comma is not None:
        return text[:start] + text[end:]
    comma = node.children[index - 1].comma
    assert comma is not None  # noqa: S101 - it has an entry behind it
    return text[:comma] + text[comma + 1 : start] + text[end:]


def _space_start(text: str, node: Node, index: int, end: int) -> int:
    """Where the white space before an entry begins, as far as it can go with the entry.

    A comment up to the end of its line needs a newline behind it, if not another then this one.
    """
    at = node.children[index].start
    start = len(text[:at].rstrip(" \t\r\n"))
    before = _behind(node.children[index - 1]) if index else node.start + 1
    remarks = list(comments(text, before, at))
    open_line = remarks and remarks[-1].end() == start and remarks[-1][0].startswith("//")
    if not open_line or text[end:].lstrip(" \t").startswith(("\r", "\n")):
        return start
    return start + len(text[start:at]) - len(text[start:at].lstrip("\r\n"))
