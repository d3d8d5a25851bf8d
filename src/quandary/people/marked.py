"""Text of ours in files that others may read and edit: a whole file, or a block between marks.

The last line carries a digest, by which we see whether somebody has edited the text since, and a
receipt: what else was added at the same time, so that it can be taken out again exactly.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from quandary.errors import ParseError
from quandary.people.json_edits import newline_of
from quandary.people.json_text import MARK

Receipt = dict[str, Any]


class Marks(NamedTuple):
    """The lines around a text of ours, in the comments of some format."""

    begin: str
    """Empty where the whole file is ours."""
    opening: str
    closing: str

    def end(self, body: str, receipt: Receipt) -> str:
        """The last line."""
        noted = json.dumps(receipt, separators=(",", ":")).replace(">", r"\u003e")
        return f"{self.opening}quandary:end {digest(body)} {noted}{self.closing}"


FILE = Marks("", "<!-- ", " -->")
BLOCK = Marks("<!-- quandary:begin -->", "<!-- ", " -->")
TOML = Marks("# quandary:begin", "# ", "")


class Found(NamedTuple):
    """A text of ours as it is now."""

    start: int
    end: int
    """Where it ends, before the newline."""
    body: str
    mark: str
    """The digest of what we wrote."""
    receipt: Receipt

    @property
    def pristine(self) -> bool:
        """Whether it is still as we wrote it."""
        return digest(self.body) == self.mark


def digest(text: str) -> str:
    """A short digest, the same whatever the ends of the lines."""
    from hashlib import sha256  # noqa: PLC0415 - only here

    return sha256(text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")).hexdigest()[:16]


def find(text: str, marks: Marks) -> Found | None:
    """The text of ours in a file, if there is one."""
    skipped = len(text) - len(text.removeprefix(MARK))
    text = text.removeprefix(MARK)
    ends = list(re.finditer(_line(f"{marks.opening}quandary:end ", marks.closing), text))
    begins = list(re.finditer(_line(marks.begin), text)) if marks.begin else []
    if not ends and not begins:
        return None
    if len(ends) != 1 or (marks.begin and (len(begins) != 1 or begins[0].end() > ends[0].start())):
        raise ParseError("the marks quandary:begin and quandary:end do not match; mend them")
    end = ends[0]
    mark, _, noted = end["rest"].partition(" ")
    if begins:
        start, body = begins[0].start(), text[begins[0].end() : end.start()]
        body = body.removeprefix("\r").removeprefix("\n")
    else:
        start, body = 0, text[: end.start()] + text[end.end() :].strip()
    return Found(start + skipped, end.end() + skipped, body, mark, _receipt(noted))


def put(text: str | None, marks: Marks, body: str, receipt: Receipt) -> str:
    """A file with our text, in the place of an older one or else at its end.

    A block takes over whether the file ends with a newline; by that, `taken_out` knows how much
    space was put before it.
    """
    text = text or ""
    newline = newline_of(text)
    ours = f"{marks.begin}\n{body}" if marks.begin else body
    ours = (ours + marks.end(body, receipt)).replace("\n", newline)
    found = find(text, marks)
    if found:
        return text[: found.start] + ours + text[found.end :]
    if text in ("", MARK):
        return text + ours + newline
    if text.endswith(newline):
        return text + newline + ours + newline
    return text + newline * 2 + ours


def noted(text: str, marks: Marks, receipt: Receipt) -> str:
    """A file with another receipt, and our text in it as somebody has edited it."""
    found = find(text, marks)
    assert found is not None  # noqa: S101 - somebody looked before
    line = text.rfind("\n", 0, found.end) + 1
    end = marks.end(found.body, receipt).replace(digest(found.body), found.mark)
    return text[:line] + end + text[found.end :]


def taken_out(text: str, marks: Marks) -> str:
    """A file without our block, and without the space that was put before it."""
    found = find(text, marks)
    assert found is not None  # noqa: S101 - somebody looked before
    newline = newline_of(text)
    before, behind = text[: found.start], text[found.end :]
    if not behind:
        return before.removesuffix(newline).removesuffix(newline)
    behind = behind.removeprefix("\r").removeprefix("\n")
    if before.endswith(newline * 2):
        before = before.removesuffix(newline)
    return before + behind


def _line(beginning: str, ending: str | None = None) -> str:
    """A line with one of our marks, with or without something between its two ends."""
    rest = "" if ending is None else rf"(?P<rest>[^\r\n]*){re.escape(ending)}"
    return rf"(?m)^{re.escape(beginning)}{rest}(?=\r?$)"


def _receipt(noted: str) -> Receipt:
    """What was noted; nothing where that is damaged."""
    try:
        receipt = json.loads(noted)
    except (ValueError, RecursionError):
        return {}
    return receipt if isinstance(receipt, dict) else {}
