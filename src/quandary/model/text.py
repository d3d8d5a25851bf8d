"""Text that strangers wrote, made safe to show on a terminal."""

from __future__ import annotations

import re

_SPACED = re.compile("\r\n|[\t\n\r\u2028\u2029]")
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""What a text looks like on one line: breaks and tabs are spaces, other controls `\x1b`."""
    return _HIDDEN.sub(_escape, _SPACED.sub(" ", text))


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
