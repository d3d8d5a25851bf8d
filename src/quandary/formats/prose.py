"""Markdown as a terminal shows it: bold, code, headings, lists; the rest as it was written."""

from __future__ import annotations

import re
from typing import NamedTuple

from quandary.model.text import printable

WIDEST = 100
"""Lines with more cells than this are hard to read, however wide the terminal is."""


class Span(NamedTuple):
    """A stretch of text in one style: plain, `bold`, `italic` or `code`."""

    text: str
    style: str = ""


class Line(NamedTuple):
    """A paragraph, heading or list item; its further rows stand `indent` cells in."""

    spans: tuple[Span, ...] = ()
    indent: int = 0

    @property
    def text(self) -> str:
        """The line without its styles."""
        return "".join(span.text for span in self.spans)


_FENCE = re.compile(r"\s*(?:```|~~~)")
_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*$")
_BULLET = re.compile(r"(\s*)([-*+]|\d{1,3}[.)])\s+(?=\S)")
_MARKED = re.compile(
    r"(?P<tick>`+)(?P<code>.+?)(?P=tick)"
    r"|\*\*(?P<bold>(?=\S).+?(?<=\S))\*\*"
    r"|(?<![\w*])\*(?P<italic>(?=[^\s*])[^*]*?(?<=\S))\*(?![\w*])"
)


def lines(markdown: str) -> list[Line]:
    """The text line by line, safe to show; lines that belong to one paragraph are kept apart."""
    shown: list[Line] = []
    fenced = False
    for raw in markdown.strip("\n").split("\n"):
        if _FENCE.match(raw):
            fenced = not fenced
            continue
        safe = printable(raw.expandtabs(4)).rstrip()
        shown.append(Line((Span(safe, "code"),)) if fenced and safe else _line(safe))
    return shown


def _line(safe: str) -> Line:
    if heading := _HEADING.match(safe):
        return Line((Span(Line(spans(heading[1])).text, "bold"),))
    if bullet := _BULLET.match(safe):
        mark = "•" if bullet[2] in "-*+" else bullet[2]
        head = f"{bullet[1]}{mark} "
        return Line((Span(head), *spans(safe[bullet.end() :])), len(head))
    return Line(spans(safe)) if safe else Line()


def spans(safe: str) -> tuple[Span, ...]:
    """One line in its styles, without the marks that give them."""
    found: list[Span] = []
    done = 0
    for match in _MARKED.finditer(safe):
        found.append(Span(safe[done : match.start()]))
        style = match.lastgroup or ""
        found.append(Span(match[style], style))
        done = match.end()
    found.append(Span(safe[done:]))
    return tuple(span for span in found if span.text)
