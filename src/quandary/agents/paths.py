"""Paths into what an agent printed as JSON: `usage.input_tokens`, `0.response`, `models.*.total`.

A part is a key, a number for a place in a list (`-1` is the last), or `*` for all there are. With
`[key=value]` behind it, only what has that value under that key counts; alone, that stands for
whether the object itself has it: `[type=result].usage`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_PART = re.compile(r"([^.\[\]=]*)(?:\[([^\[\]=]+)=([^\[\]=]*)\])?(?:\.|$)")
_NUMBER = re.compile(r"-?\d{1,9}")


class Part(NamedTuple):
    """One step of a path."""

    name: str
    key: str = ""
    value: str = ""


Path = tuple[Part, ...]


def parse_path(text: str) -> Path | None:
    """A path as it is written in the settings; nothing where it is none."""
    parts = []
    position = 0
    while position < len(text):
        found = _PART.match(text, position)
        if found is None or found.end() == position or not (found[1] or found[2]):
            return None
        parts.append(Part(found[1], found[2] or "", found[3] or ""))
        position = found.end()
    return tuple(parts) if parts and not text.endswith(".") else None


def follow(value: Any, path: Path) -> Iterator[Any]:  # noqa: ANN401 - any JSON
    """Everything that a path leads to, in order."""
    if not path:
        yield value
        return
    for reached in _reach(value, path[0].name):
        if not path[0].key or (
            isinstance(reached, dict) and reached.get(path[0].key) == path[0].value
        ):
            yield from follow(reached, path[1:])


def _reach(value: Any, name: str) -> Iterator[Any]:  # noqa: ANN401 - any JSON
    if not name:
        yield value
    elif isinstance(value, dict):
        if name == "*":
            yield from value.values()
        elif name in value:
            yield value[name]
    elif isinstance(value, list):
        if name == "*":
            yield from value
        elif _NUMBER.fullmatch(name) and -len(value) <= int(name) < len(value):
            yield value[int(name)]
