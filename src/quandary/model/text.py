"""Text in messages: made safe to show, cut to length, counted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from quandary.errors import ParseError

if TYPE_CHECKING:
    from hashlib import sha256 as sha256  # noqa: PLC0414 - others take it from here
else:
    # Agents call `quandary reply` in a loop, and `hashlib` loads OpenSSL, which takes a tenth of
    # that process; what is sealed here is small, so Python's own implementation does as well.
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256 as sha256  # noqa: PLC0414 - others take it from here

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SPACED = "\r\n|[\t\n\r\u2028\u2029]"
_CONTROL = "\x00-\x1f\x7f-\x9f\ud800-\udfff"
_FORMAT = (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What Unicode calls format characters (Cf), which nobody sees, and what it keeps free for more."""
_EMPTY = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159"
)
"""Fillers and variation selectors: text hides in those that take no room, and with blanks that are
no spaces a text is moved to where the next line of ours would begin.
"""
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u20d0-\u20ff\ufe20-\ufe2f"
)
"""Marks above and below a letter; a pile of them covers the lines around it."""
_PICTURE = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINED = (
    "\u0620-\u06d3\u06d5\u06ee-\u06ff\u0750-\u077f\u0860-\u088e\u08a0-\u08c9\u0900-\u0dff"
    "\u0f00-\u109f\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa"
)
"""Letters from Arabic to Mongolian, which a joiner between them gives another form."""
_HIDDEN = f"[{_CONTROL}{_FORMAT}{_EMPTY}]|(?<=[{_MARKS}]{{4}})[{_MARKS}]"


def is_blank(text: str) -> bool:
    """Whether there is nothing in a text that anybody could see."""
    seen = text[:1].isascii() and text[:1].isalnum()  # the beginning of most texts tells
    return not (seen or any(re.sub(_HIDDEN, "", part).strip() for part in (text[:100], text)))


def printable(text: str) -> str:
    r"""What a text looks like on one line: breaks and tabs are spaces, what is hidden `\x1b`."""
    return re.sub(_HIDDEN, _escape, re.sub(_SPACED, " ", text))


def one_line(text: str) -> str:
    """A text on one line, its words one space apart, with nothing hidden in it."""
    return " ".join(printable(text).split())


def reveal(text: str) -> str:
    r"""The same for a text that keeps its lines, as `\u001b`: pages, forms and messages."""
    if text.isascii() and text.isprintable():  # as most are
        return text
    return re.sub(_HIDDEN, _escape_broadly, text)


def _escape(found: re.Match[str]) -> str:
    sign = found[0]
    return f"\\x{ord(sign):02x}" if sign < "\u0100" else _escape_broadly(found)


def _escape_broadly(found: re.Match[str]) -> str:
    sign = found[0]
    if sign in "\t\n" or (sign in _SEEN and _seen().match(found.string, found.start())):
        return sign
    return f"\\u{ord(sign):04x}" if sign <= "\uffff" else f"\\U{ord(sign):08x}"


_SEEN = "\r\u200c\u200d\u200f\u2800\ufe0e\ufe0f"


@cache
def _seen() -> re.Pattern[str]:
    """Where these are part of what one sees: in joined pictures, between joined letters, as the
    mark behind a letter that is written from right to left, in Braille, and at the end of a line.
    By itself, a carriage return has what follows written over what was there.
    """
    return re.compile(
        rf"(?<=[{_PICTURE}\ufe0f])\u200d(?=[{_PICTURE}])|(?<=[{_PICTURE}])[\ufe0e\ufe0f]"
        r"|(?<=[\u05d0-\u05ea\u0620-\u064a\u0671-\u06d3\u0750-\u077f])\u200f"
        r"|\r(?=\n)|(?<=[\u2801-\u28ff])\u2800|\u2800(?=[\u2801-\u28ff])"
        rf"|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])"
    )


def as_text(value: object) -> str:
    """A value as people type and read it: text as it is, nothing as nothing, all else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def shorten(text: str, longest: int = 60) -> str:
    """The text, cut where it would be too long."""
    return text if len(text) <= longest else cut(text, longest - 1).rstrip() + "…"


def cut(text: str, longest: int) -> str:
    """The beginning of a text. What is seen as one sign stays whole, unless it is longer itself."""
    at = max(longest, 0)
    while 0 < at < len(text) and _continues(text, at):
        at -= 1
    return text[: at or max(longest, 0)]


def _continues(text: str, at: int) -> bool:
    """Whether a character belongs to the one before: an accent, a skin, what is joined, a flag."""
    sign = text[at]
    if sign.isascii():
        return False
    if re.match(_FLAGS, sign):
        before = text[:at]
        return (at - len(before.rstrip(_REGIONS))) % 2 == 1
    import unicodedata  # noqa: PLC0415 - a megabyte that English texts do without

    is_joined = text[at - 1] == "\u200d" and bool(re.match(_PICTURES, sign))
    return is_joined or bool(re.match(_ATTACHED, sign)) or unicodedata.category(sign)[0] == "M"


_REGIONS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_FLAGS = f"[{_REGIONS}]"
_ATTACHED = "[\u1160-\u11ff\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
_PICTURES = f"[{_PICTURE}]"


def count(number: int, noun: str) -> str:
    """`1 file`, `2,000 files`, `3 entries`, `4 days`."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}"


def take_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON in which nothing is said twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ParseError(f"“{shorten(twice)}” is said twice in one object; send one of them")
    return found


def suggest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What may have been meant by a name that is not known."""
    from difflib import get_close_matches  # noqa: PLC0415 - only after a mistake

    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else otherwise
