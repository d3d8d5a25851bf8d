"""Text in Mermaid: in shapes and on lines, and in the comments that say what Mermaid cannot."""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING, Any

import msgspec

from quandary.formats.visible import printable
from quandary.model.chart import STARTS, loosened

if TYPE_CHECKING:
    from quandary.model.chart import Shape

REMARK = "%% quandary:"
"""How a comment begins that is meant for us."""
ENDS = STARTS | {"end", "stop", "finish", "exit"}
"""What stands in a shape that is a terminator whatever its outline."""
OUTLINES: dict[str, Shape] = {
    "([": "terminator",
    "((": "terminator",
    "(((": "terminator",
    "{": "decision",
    "[[": "subprocess",
}
_NAMED: dict[str, Shape] = {
    **dict.fromkeys(("stadium", "terminal", "pill", "circle", "circ", "sm-circ"), "terminator"),
    **dict.fromkeys(("small-circle", "start", "stop", "dbl-circ", "double-circle"), "terminator"),
    **dict.fromkeys(("fr-circ", "framed-circle"), "terminator"),
    **dict.fromkeys(("diam", "diamond", "decision", "question"), "decision"),
    **dict.fromkeys(("fr-rect", "subproc", "subprocess", "subroutine"), "subprocess"),
    "framed-rectangle": "subprocess",
}
"""The names of shapes in `a@{ shape: diamond }`."""

_UNSAFE = re.compile(r"[^\w ]|_")
_UNSAFE_IN_PROSE = re.compile(r"[^\w ,?!'().-]|_|(?<![^\W\d_])[)-]|(?<![^\W\d_])(?<!\))\.")
_ENTITY = re.compile(r"[#&](?:#?(\d{1,7})|([A-Za-z][A-Za-z0-9]{1,31}));")
_BREAK = re.compile(r"[ \t]*<br\s*/?>[ \t]*", re.IGNORECASE)
_TELLING = re.compile(r"[%<>&]")


def quote(text: str) -> str:
    """A text that Mermaid reads as nothing but text: all but letters, digits and spaces encoded."""
    # Mermaid has no empty string: it takes a blank one for it.
    return _UNSAFE.sub(_number, text) or " "


def quote_lines(text: str) -> str:
    """The same for prose of several lines, which people may want to read and change.

    A few signs stay as they are: full stops, hyphens and brackets only behind a letter, since a
    number or a line's beginning in front of them makes a list.
    """
    lines = (_UNSAFE_IN_PROSE.sub(_number, printable(line)) for line in text.split("\n"))
    return "<br/>".join(lines) or " "


def shown(label: str) -> str:
    """What a reader of the picture sees: entities as signs, breaks as breaks, no space around."""
    text = label.strip()
    if len(text) > 1 and text[0] == text[-1] == "`":  # a string in Markdown
        text = text[1:-1]
    if "<" in text:
        text = _BREAK.sub("\n", text)
    if "#" in text or "&" in text:
        text = _ENTITY.sub(_sign, text)
    return text.strip()


def outlined(outline: str, text: str) -> Shape:
    """What a shape with that outline is; `Start` and `End` are terminators in any box."""
    shape = OUTLINES.get(outline, "process")
    return "terminator" if shape == "process" and loosened(text) in ENDS else shape


def called(name: str, text: str) -> Shape:
    """The same for a shape that is drawn by name."""
    shape = _NAMED.get(name, "process")
    return "terminator" if shape == "process" and loosened(text) in ENDS else shape


def remark(**said: Any) -> str:  # noqa: ANN401 - anything that JSON can say
    """A comment for us, on one line that no reader takes for anything but a comment."""
    return f"{REMARK} {compact(said)}"


def compact(value: object) -> str:
    """JSON that holds no sign with a meaning of its own, in Mermaid, HTML or a terminal."""
    text = msgspec.json.encode(value).decode()
    if not text.isprintable() or _TELLING.search(text):
        text = "".join(map(_safe, text))
    return text


def _number(match: re.Match[str]) -> str:
    return f"#{ord(match[0])};"


def _safe(char: str) -> str:
    if char.isprintable() and char not in "%<>&":
        return char
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))


def _sign(match: re.Match[str]) -> str:
    number, name = match[1], match[2]
    if name is not None:
        return html5.get(f"{name};", match[0])
    code = int(number)
    return chr(code) if code < 0xD800 or 0xDFFF < code <= 0x10FFFF else match[0]
