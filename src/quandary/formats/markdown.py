"""Decision trees in Markdown documents: `parse` finds them, whatever stands around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quandary.formats import quick
from quandary.formats.keys import MARK

if TYPE_CHECKING:
    from quandary.formats.findings import Note, Section
    from quandary.formats.lint import Diagnostic
    from quandary.model.tree import Tree

_BARE = re.compile("decision|choose", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*$")
_TREE_HEADING = re.compile(r"#{1,6}[ \t]+(?:¶ASK_|decision[ \t]*:)", re.IGNORECASE)
_YAML_KEY = re.compile(r"[\w\"'.-][^:=]*[:=]")


class Document:
    """The trees of one text, in the order in which they stand."""

    __slots__ = ("_diagnostics", "notes", "sections")

    def __init__(self, sections: list[Section], notes: list[Note]) -> None:
        self.sections = sections
        self.notes = notes
        self._diagnostics: tuple[Diagnostic, ...] | None = None

    @property
    def trees(self) -> tuple[Tree, ...]:
        """Every tree, the fenced examples included."""
        return tuple(section.tree for section in self.sections)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the trees; fenced examples are not judged."""
        if self._diagnostics is None:
            from quandary.formats.lint import check  # noqa: PLC0415 - lint builds on this room

            self._diagnostics = check(self)
        return self._diagnostics


def parse(text: str) -> Document:
    """Read every tree in a text. Any text has a reading; what is doubtful becomes a diagnostic."""
    text = text.removeprefix("\ufeff")
    if MARK not in text and not _BARE.search(text) and "quandary:" not in text:
        return Document([], [])
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "quandary:" in text:
        # A comment may speak for a tree far from it, so the document is read as one.
        return read(text.split("\n"))
    start = line = 0
    if text.startswith(("---", "+++")):
        line = front_matter(text.split("\n"))
        for _ in range(line):
            start = text.index("\n", start) + 1
    sections, notes = quick.read(text if text.endswith("\n") else text + "\n", start, line)
    return _document(sections, notes)


def read(lines: list[str]) -> Document:
    """The same, and every section knows where its parts stand, for those who rewrite them."""
    from quandary.formats.sections import Reader  # noqa: PLC0415 - canonical trees do without

    skipped = front_matter(lines)
    if skipped:
        lines = [""] * skipped + lines[skipped:]
    reader = Reader(lines)
    reader.read()
    return _document(reader.sections, reader.notes)


def _document(sections: list[Section], notes: list[Note]) -> Document:
    return Document(sorted(sections, key=lambda section: section.tree.line), notes)


def front_matter(lines: list[str]) -> int:
    """How many lines of YAML or TOML stand above the document proper."""
    opening = _FRONT_MATTER.match(lines[0]) if lines else None
    if opening is None or len(lines) < 2 or not lines[1].strip():
        return 0
    ends = ("---", "...") if opening[1] == "---" else ("+++",)
    seen_key = False
    for number, line in enumerate(lines[1:], start=2):
        if line.rstrip(" \t") in ends:
            return number if seen_key or number == 2 else 0
        if _TREE_HEADING.match(line):
            return 0
        if not seen_key and line.strip() and not line.startswith("#"):
            if not _YAML_KEY.match(line):
                return 0
            seen_key = True
    return 0
