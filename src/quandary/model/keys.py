"""Keys: the one way to name a place in a run. Made here, compared elsewhere, never parsed."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[^A-Za-z0-9._/-]")
_UNSAFE_OR_LOW = re.compile(r"[^A-Za-z0-9./-]")
_CLEAR = re.compile(r"(?!.*_[0-9a-f]+_)[A-Za-z0-9._/-]*")


def place(item: str, path: tuple[str, ...] = (), root: int | None = None) -> str:
    """A level of a tree, for an item: `1.3/2:OTH`; the second of several roots is `1.3/2:2.OTH`."""
    number = f"{root}." if root is not None else ""
    return f"{_safe(item)}:{number}{'/'.join(_safe(code) for code in path)}"


def decision(number: int, part: str = "") -> str:
    """A split, or a question of it: `D3`, `D3.1`, `D3.final`."""
    return f"D{number}.{part}" if part else f"D{number}"


def visit(step: str, number: int, what: str) -> str:
    """Something done at a step of a chart, at the run's second visit there: `S7@2/validate-1`."""
    return f"S{_distinct(step)}@{number}/{what}"


def turn(key: str, number: int) -> str:
    """The same place shown for the second time, or the third: `1.3/2:OTH~2`."""
    return f"{key}~{number}" if number > 1 else key


def within(key: str, name: str, inner: str) -> str:
    """Something nested in a place: another tree asked beside the question."""
    return f"{key}+{_safe(name)}+{inner}"


def amended(key: str, number: int) -> str:
    """What is asked after a run's second amendment, or its third: `1.3/2:OTH~a2`.

    The same place was shown before the answer was changed, and a reply to that is none to this.
    """
    return f"{key}~a{number}" if number else key


def unamended(key: str, number: int) -> str:
    """The key as the flow made it."""
    return key.removesuffix(f"~a{number}") if number else key


def _safe(text: str) -> str:
    """Letters, digits and a few signs stay; anything else is written as its number."""
    return _UNSAFE.sub(lambda found: f"_{ord(found[0]):x}_", text)


def _distinct(text: str) -> str:
    """The same so that no two texts are written alike: one that looks like that is changed too."""
    if _CLEAR.fullmatch(text):
        return text
    return _UNSAFE_OR_LOW.sub(lambda found: f"_{ord(found[0]):x}_", text)
