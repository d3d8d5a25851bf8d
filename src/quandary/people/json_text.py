"""JSON as people keep it in settings files, with the place of everything in the text.

Settings are edited by changing their text, so that order, layout and comments stay as somebody
wrote them. What is read is JSON, and besides it what editors allow in their own settings: `//` and
`/* */` comments, and a comma behind the last entry.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.errors import ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "\ufeff"
"""What some editors put at the beginning of a file."""

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]+|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
_SCALAR = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9a-zA-Z.+-])"
    r"|(?:true|false|null)(?![0-9a-zA-Z])"
)


class Node(NamedTuple):
    """A value in the text."""

    kind: str
    """`object`, `array` or `scalar`."""
    start: int
    end: int
    children: tuple[Child, ...] = ()

    def member(self, key: str) -> Child | None:
        """The entry of that name; of several the last, which is the one that programs take."""
        return next((c for c in reversed(self.children) if c.key == key), None)


class Child(NamedTuple):
    """An entry of an object or an array."""

    key: str | None
    start: int
    """Where it begins, which in an object is its key."""
    value: Node
    comma: int | None
    """Where the comma behind it is."""


def parse(text: str) -> Node | None:
    """The value that a text holds; nothing for a text with nothing in it but comments."""
    reader = _Reader(text)
    at = reader.skip(1 if text.startswith(MARK) else 0)
    if at == len(text):
        return None
    try:
        node = reader.value(at)
    except RecursionError:
        raise ParseError("nested too deeply") from None
    at = reader.skip(node.end)
    if at < len(text):
        raise reader.wrong(at, "something follows the end")
    return node


def data(text: str, node: Node) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What a value says."""
    if node.kind == "object":
        return {child.key: data(text, child.value) for child in node.children}
    if node.kind == "array":
        return [data(text, child.value) for child in node.children]
    token = text[node.start : node.end]
    try:
        return json.loads(token)
    except ValueError:  # a number with more digits than Python wants to read
        return token


def comments(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The comments between two entries, or between an entry and a bracket."""
    return _COMMENT.finditer(text, start, end)


def is_strict(text: str) -> bool:
    """Whether a program that knows JSON and no comments could read the text."""
    try:
        json.loads(text.removeprefix(MARK))
    except ValueError:
        return False
    return True


class _Reader:
    """Reads values from a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def skip(self, at: int) -> int:
        """Past white space and comments."""
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int) -> Node:
        """The value that begins here."""
        first = self.text[at : at + 1]
        if first == "{":
            return self.container("object", at, "}")
        if first == "[":
            return self.container("array", at, "]")
        found = (_STRING if first == '"' else _SCALAR).match(self.text, at)
        if not found:
            raise self.wrong(at, "the text ends too early" if not first else "no value")
        return Node("scalar", at, found.end())

    def container(self, kind: str, start: int, closing: str) -> Node:
        """An object or an array, up to its closing bracket."""
        children: list[Child] = []
        at = self.skip(start + 1)
        while self.text[at : at + 1] != closing:
            if children and children[-1].comma is None:
                raise self.wrong(at, f"a comma or {closing} belongs here")
            child = self.child(kind, at)
            at = self.skip(child.value.end)
            if self.text[at : at + 1] == ",":
                child = child._replace(comma=at)
                at = self.skip(at + 1)
            children.append(child)
        return Node(kind, start, at + 1, tuple(children))

    def child(self, kind: str, at: int) -> Child:
        """The entry that begins here."""
        if kind == "array":
            return Child(None, at, self.value(at), None)
        found = _STRING.match(self.text, at)
        if not found:
            ends = at == len(self.text)
            raise self.wrong(at, "the text ends too early" if ends else "a key in quotes belongs")
        colon = self.skip(found.end())
        if self.text[colon : colon + 1] != ":":
            raise self.wrong(colon, "a colon belongs here")
        return Child(json.loads(found[0]), at, self.value(self.skip(colon + 1)), None)

    def wrong(self, at: int, what: str) -> ParseError:
        """The error, with its line and column."""
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return ParseError(f"not JSON (line {line}, column {column}: {what})")
