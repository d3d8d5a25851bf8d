"""What is shown beside a question: files as they were when it was asked."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

MARK = "@"
"""What the names of attachments begin with among the documents of a run."""
Shape = Literal["text", "markdown", "diff", "json", "csv", "image", "pdf", "file"]


class Attachment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that was attached to a run; what is in it is kept once for each digest."""

    name: str
    digest: str
    """The SHA-256 of what is in it."""
    size: int
    shape: Shape = "text"

    @property
    def is_text(self) -> bool:
        """Whether it has lines."""
        return self.shape not in ("image", "pdf", "file")

    @property
    def told(self) -> str:
        """The name, how large it is, and what it is known by."""
        return f"{self.name} ({tell_size(self.size)}, sha256 {self.digest[:12]}…)"


class Annotation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A remark on a line of what is attached, or of a file in a diff."""

    file: str
    line: int
    text: str

    @property
    def told(self) -> str:
        """As it is typed and told: `plan.md:12 too short`."""
        return f"{self.file}:{self.line} {self.text}"


_SAID = r"(?P<line>\d{1,7})[: \t]\s*(?P<text>\S.*)"
_MARKED = re.compile(rf"\s*@(?P<file>\S.*?):{_SAID}")
_UNMARKED = re.compile(rf"\s*(?:@?(?P<file>\S.*?):)?{_SAID}")


def read_annotations(text: str, file: str = "") -> tuple[list[Annotation], str]:
    """The remarks among the lines of a text, and the rest of it.

    One is `@plan.md:12 too short`; about a file that is known already, `12: too short` will do.
    """
    found, rest = [], []
    for line in text.splitlines():
        remark = (_UNMARKED if file else _MARKED).fullmatch(line[:10_000])
        if remark:
            about = remark["file"] or file
            found.append(Annotation(about, int(remark["line"]), remark["text"].strip()))
        else:
            rest.append(line)
    return found, "\n".join(rest).strip()


def tell_size(size: int) -> str:
    """A number of bytes, rounded."""
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.1f} KB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
