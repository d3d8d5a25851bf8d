"""Finding JSON objects in text of any kind, in time that grows with its length and no faster.

The obvious way, to try each `{` in turn, takes for ever on `{"a":{"a":{"a":…`. Here every `{` is
followed once. An object that turns out broken takes all those that are still open around it along,
since they break at the same place; those that were closed inside it stand. What remains to be tried
are braces inside of what was taken for a string. Such a second reading holds for a string what the
first does not and the other way round, so that no place is looked at by more than two.
"""

from __future__ import annotations

import json
import re
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_GAP = r"[ \t\r\n]*+"
_STRING = r'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\]*+)*+"'
_WORD = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|true|false|null|NaN|-?Infinity"
_SIMPLE = rf"(?:{_STRING}|{_WORD})"
_KEY = re.compile(
    rf"(?:{_GAP}{_STRING}{_GAP}:{_GAP}{_SIMPLE}{_GAP},)*+{_GAP}(?:{_STRING}{_GAP}:|(\}}))"
)
"""In an object: simple members, all at once; then a key, or the end, also behind a comma."""
_VALUE = re.compile(rf"{_GAP}(?:{_SIMPLE}|([{{\[]))")
"""Behind a key: a simple value, or the beginning of something nested."""
_ELEMENT = re.compile(rf"(?:{_GAP}{_SIMPLE}{_GAP},)*+{_GAP}(?:{_SIMPLE}|([{{\[])|(\]))")
"""In an array: simple values, all at once; then one more, a beginning, or the end."""
_OPENING = re.compile(rf"\{{(?={_GAP}\")")
_NEXT = re.compile(rf"{_GAP}([,}}\]])")
_EXTRA_COMMA = re.compile(rf"({_STRING})|,(?={_GAP}[}}\]])")
_BROKEN = -1
MOST_OBJECTS = 1000
"""Objects that are looked into; what stands before that many others is no answer."""


def last_objects(text: str, word: str) -> Iterator[dict[str, Any]]:
    """The objects in a text from the last to the first, nested ones aside, if `word` is in them."""
    if word not in text:
        return
    starts, ends = _spans(text)
    looked_into = 0
    for start in reversed(starts):
        end = ends[start]
        if text.find(word, start, end) >= 0:
            value = _decoded(text[start:end])
            if value is not None:
                yield value
            looked_into += 1
            if looked_into == MOST_OBJECTS:
                return


def _spans(text: str) -> tuple[array[int], array[int]]:
    """Where the outermost objects begin, empty ones aside, and for every `{` where it ends."""
    starts, ends = array("i"), array("i")
    found = _OPENING.search(text)
    if found:
        ends = array("i", bytes(ends.itemsize * len(text)))
    while found:
        start = found.start()
        end = ends[start] or _follow(text, start, ends)
        if end > 0:
            starts.append(start)
        found = _OPENING.search(text, max(end, start + 1))
    return starts, ends


def _follow(text: str, start: int, ends: array[int]) -> int:
    """The end of the object that begins here, or `_BROKEN`; noted for it and all that is in it."""
    opened = [start]
    """Where the objects and, as negative numbers, the arrays begin that are still open."""
    position, awaited = start + 1, _KEY
    while opened:
        found = awaited.match(text, position)
        if found is None:
            break
        position, kind = found.end(), found.lastindex
        if awaited is _KEY and kind is None:
            awaited = _VALUE
            continue
        if awaited is not _KEY and kind == 1:
            begun = position - 1
            known = ends[begun]
            if known == _BROKEN:
                break
            if not known:
                awaited = _KEY if text[begun] == "{" else _ELEMENT
                opened.append(begun if awaited is _KEY else -begun)
                continue
            position = known
        elif kind is not None:
            _close(opened, position, ends)
        position, well = _pass_ends(text, position, opened, ends)
        if not well:
            break
        awaited = _KEY if opened and opened[-1] >= 0 else _ELEMENT
    for begun in opened:
        if begun >= 0:
            ends[begun] = _BROKEN
    return ends[start]


def _pass_ends(text: str, position: int, opened: list[int], ends: array[int]) -> tuple[int, bool]:
    """Behind a value: close what is closed here, up to a comma; and whether that went well."""
    while opened:
        found = _NEXT.match(text, position)
        if found is None:
            return position, False
        position = found.end()
        if found[1] == ",":
            return position, True
        if (found[1] == "}") is not (opened[-1] >= 0):
            return position, False
        _close(opened, position, ends)
    return position, True


def _close(opened: list[int], position: int, ends: array[int]) -> None:
    begun = opened.pop()
    if begun >= 0:
        ends[begun] = position


def _decoded(text: str) -> dict[str, Any] | None:
    """An object as Python has it; raw line breaks in strings and commas at ends are forgiven."""
    value = _loaded(text)
    return value if value is not None else _loaded(_EXTRA_COMMA.sub(r"\1", text))


def _loaded(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
