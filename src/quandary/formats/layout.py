"""The lines that a tree takes up in its document, as they should be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from quandary.formats import keys
from quandary.formats.blocks import expand
from quandary.formats.drafts import body_lines, first_line
from quandary.formats.heads import read_head, write_head
from quandary.model.tree import is_multi, other_of

if TYPE_CHECKING:
    from quandary.formats.blocks import Block
    from quandary.formats.findings import Listed, Section
    from quandary.model.tree import Option

Edits = dict[int, list[str]]
"""Line numbers and what stands there instead: no line, one, or several."""

STEP = "  "
STARTS_BLOCK = re.compile(
    r"[-+*](?:[ \t]|$)|0*1[.)](?:[ \t]|$)|#{1,6}(?:[ \t]|$)|`{3}|~{3}|[<>]"
    r"|=+[ \t]*$|[-*_][-*_ \t]+$"
)
"""Text that would begin a block of its own if it stood at the margin of an option."""
_DECISION = re.compile(r"(?:\*\*)?decision(?:\*\*)?[ \t]*:[ \t]*", re.IGNORECASE)
_BLANKS = {
    ("heading", "key"): 0,
    ("key", "key"): 0,
    ("decision", "key"): 0,
    ("decision", "item"): 0,
    ("key", "item"): 1,
    ("heading", "decision"): 1,
    ("key", "decision"): 1,
    ("option", "decision"): 1,
    ("decision", "decision"): 1,
}
"""How many empty lines stand between two parts of a tree; between others, as many as there are."""


def heading_text(text: str) -> str:
    """A heading's text such that # signs at its end are not taken for its closing ones."""
    bare = text.rstrip("#")
    return f"{text} #" if bare != text and (not bare or bare[-1] in " \t") else text


class Mending(NamedTuple):
    """What to change in a tree besides its layout."""

    codes: bool = False
    flags: bool = False
    dots: bool = False


class Layout:
    """The lines of one section as they should be."""

    def __init__(self, section: Section, lines: list[str], mending: Mending) -> None:
        self.lines = lines
        self.mending = mending
        self.edits: Edits = {}
        self.prefix = " " * section.base
        self.parts: dict[int, str] = {}
        """What begins on a line: heading, key, decision, item; any other line is an option's."""
        self.code: set[int] = set()
        self._headings(section)
        for key in section.keys:
            self._key(key)
        for listed, decision in zip(section.listed, section.tree.decisions, strict=True):
            self._list(listed, decision.options)
        self._space_parts()

    def _write(self, line: int, text: str) -> None:
        self.edits.setdefault(line, []).append(text)

    def _headings(self, section: Section) -> None:
        blocks = [section.heading] + [listed.heading for listed in section.listed]
        for block in {id(b): b for b in blocks if b is not None}.values():
            if len(block.lines) != 1:
                continue
            line, _, text = block.lines[0]
            text = keys.undressed(text)
            decision = _DECISION.match(text)
            if decision:
                text = "Decision: " + text[decision.end() :]
            self.parts[line] = "heading" if text.startswith(keys.MARK) else "decision"
            lead = expand(self.lines[line])[: block.column]
            lead = lead if lead.strip() else self.prefix
            self._write(line, f"{lead}{'#' * block.level} {heading_text(text)}".rstrip())
            for further in range(line + 1, block.end + 1):
                self.edits[further] = []

    def _key(self, key: keys.Key) -> None:
        value = key.value
        if key.name == "Extras":
            extras, well_formed = keys.read_extras(value)
            value = keys.write_extras(extras) if well_formed else value
        elif key.name == "Keywords":
            value = ", ".join(keys.read_keywords(value))
        self.parts[key.line] = "key"
        self._write(key.line, f"{self.prefix}{key.name}: {value}".rstrip())
        for further in range(key.line + 1, key.end + 1):
            self.edits[further] = []

    def _list(self, listed: Listed, options: tuple[Option, ...]) -> None:
        if not listed.items:
            return
        heads: set[int] = set()
        for item, option in zip(listed.items, options, strict=True):
            self._item(item, option, 0, options, heads)
        first, last = listed.items[0].line, listed.items[-1].end
        self.parts[first] = "item"
        self._drop_blanks(first, last, heads)

    def _item(
        self, item: Block, option: Option, depth: int, siblings: tuple[Option, ...], heads: set[int]
    ) -> None:
        line, _, text = first_line(item)
        indent = self.prefix + STEP * depth
        bullet = self._head(text, option, siblings)
        self._write(item.line, f"{indent}- {bullet}".rstrip())
        heads.add(item.line)
        for further in range(item.line + 1, line + 1):
            self.edits[further] = []
        body = body_lines(item, self.lines)
        owned = {number: (text, is_text) for number, _, text, is_text in body}
        for child in item.children:
            if child.is_comment:
                for number in range(child.line, child.end + 1):
                    owned[number] = (self.lines[number].strip(" \t"), False)
        above = item.line
        for number in sorted(owned):
            text, is_text = owned[number]
            if not is_text and text.startswith("    "):
                self.code.add(number)
            continues = is_text and number == above + 1 and STARTS_BLOCK.match(text)
            self._write(number, f"{indent}{STEP}{'    ' if continues else ''}{text}".rstrip())
            above = number
        children = [child for child in item.children if child.kind == "item"]
        for child, nested in zip(children, option.options, strict=True):
            self._item(child, nested, depth + 1, option.options, heads)

    def _head(self, written: str, option: Option, siblings: tuple[Option, ...]) -> str:
        label = read_head(written).label
        comment = written[written.find("<!--") :] if "<!--" in written and "-->" in written else ""
        if self.mending.dots:
            label = label.rstrip(".… ") or label
        multi = option.multi
        if self.mending.flags and is_multi(siblings) and option is not other_of(siblings):
            multi = True
        code = option.code if not option.derived or (self.mending.codes and option.label) else ""
        head = write_head(code, label, multi=multi)
        return f"{head} {comment}".strip() if comment else head

    def _drop_blanks(self, first: int, last: int, heads: set[int]) -> None:
        """No empty line stands above an option or between a label and its description."""
        above = first
        for number in range(first + 1, last + 1):
            if not self.lines[number].strip(" \t"):
                continue
            option = number in heads and above in self.edits
            description = above in heads and number in self.edits and number not in self.code
            if option or description:
                self._drop(above + 1, number)
            above = number

    def _space_parts(self) -> None:
        """One empty line above a decision, none among the keys or below a decision's heading."""
        if not self.edits:
            return
        above = min(self.edits)
        for number in range(above + 1, max(self.edits) + 1):
            if not self.lines[number].strip(" \t") or self.edits.get(number) == []:
                continue
            upper = self.parts.get(above, "option" if above in self.edits else "")
            blanks = _BLANKS.get((upper, self.parts.get(number, "")))
            if blanks is not None:
                self._drop(above + 1, number)
                if blanks:
                    self.edits[number].insert(0, "")
            above = number

    def _drop(self, first: int, end: int) -> None:
        for number in range(first, end):
            self.edits[number] = []
