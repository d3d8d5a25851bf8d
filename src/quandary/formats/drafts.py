"""What is known of a tree while its document is being read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.formats.blocks import Block
    from quandary.formats.findings import Note
    from quandary.formats.heads import Head
    from quandary.formats.keys import Key


class Draft:
    """A tree whose end has not been reached."""

    def __init__(self, heading: Block, base: int, *, bare: bool) -> None:
        self.heading = heading
        self.base = base
        self.bare = bare
        self.name = ""
        self.title = ""
        self.template = False
        self.keys: list[Key] = []
        self.notes: list[Note] = []
        self.decisions: list[DraftDecision] = []
        self.prose = False
        """Whether anything but keys and options has been seen."""

    @property
    def listing(self) -> bool:
        """Whether the options of the decision at hand have begun."""
        return bool(self.decisions and self.decisions[-1].items)


class DraftDecision:
    """A decision whose options are being collected."""

    def __init__(self, name: str, heading: Block | None, choose: str = "") -> None:
        self.name = name
        self.heading = heading
        self.choose = choose
        self.items: list[Block] = []
        self.heads: list[Head] = []
        """The first lines of the items."""
        self.codes: set[str] = set()
        self.stray: list[Block] = []
        self.question = ""
        self.after_prose = False

    def add(self, items: list[Block], heads: list[Head]) -> None:
        """These items go on with the options."""
        self.items += items
        self.heads += heads
        self.codes.update(head.code for head in heads if head.code)


def first_line(item: Block) -> tuple[int, int, str]:
    """The line, column and text of an item's first line of content; empty if it has none."""
    first = next((child for child in item.children if not child.is_comment), None)
    if first is not None:
        if first.kind in ("paragraph", "heading") and first.lines:
            return first.lines[0] if first.marker or first.kind == "paragraph" else _atx_line(first)
        if first.line == item.line and first.kind not in ("item", "quote", "fence") and first.lines:
            return first.lines[0]
    return item.line, item.indent, ""


def _atx_line(heading: Block) -> tuple[int, int, str]:
    line, _, text = heading.lines[0]
    return line, heading.column, "#" * heading.level + " " + text


def body_lines(item: Block, lines: list[str]) -> Iterator[tuple[int, int, str, bool]]:
    """The lines below an option's first: line, column, text, and whether it is plain text."""
    head, _, shown = first_line(item)
    for child in item.children:
        if child.kind == "item" or child.is_comment:
            continue
        if child.kind == "paragraph":
            for line, column, text in child.lines:
                if line != head or not shown:
                    yield line, column, text, True
            continue
        for line in range(child.line, child.end + 1):
            if line == head and shown:
                continue
            written = lines[line].expandtabs(4) if "\t" in lines[line] else lines[line]
            cut = min(item.indent, len(written) - len(written.lstrip(" ")))
            text = written[cut:] if line != item.line else written[item.indent :]
            # Only code keeps its inner indentation; elsewhere it means nothing.
            kept = text if child.kind in ("fence", "code") else text.lstrip(" \t")
            yield line, cut, kept.rstrip(" \t"), False
