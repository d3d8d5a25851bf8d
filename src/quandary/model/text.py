"""Text in messages: made safe to show, cut to length, counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SPACED = re.compile("\r\n|[\t\n\r\u2028\u2029]")
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""What a text looks like on one line: breaks and tabs are spaces, other controls `\x1b`."""

    def escape(match: re.Match[str]) -> str:
        number = ord(match[0])
        return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"

    return _HIDDEN.sub(escape, _SPACED.sub(" ", text))


def shorten(text: str, longest: int = 60) -> str:
    """The text, cut where it would be too long."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def suggest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What may have been meant by a name that is not known."""
    from difflib import get_close_matches  # noqa: PLC0415 - only after a mistake

    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else otherwise
