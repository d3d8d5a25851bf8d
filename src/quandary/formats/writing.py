"""Trees into Markdown: a tree as text of its own, and the trees of a document in canonical form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from quandary.formats import keys
from quandary.formats.blocks import expand
from quandary.formats.drafts import body_lines, first_line
from quandary.formats.heads import read_head, write_head
from quandary.formats.markdown import parse, read
from quandary.model.tree import is_multi, other_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.formats.blocks import Block
    from quandary.formats.drafts import Listed, Section
    from quandary.model.tree import Option, Tree

STEP = "  "
_WITH_END = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_STARTS_BLOCK = re.compile(
    r"[-+*](?:[ \t]|$)|0*1[.)](?:[ \t]|$)|#{1,6}(?:[ \t]|$)|`{3}|~{3}|[<>]"
    r"|=+[ \t]*$|[-*_][-*_ \t]+$"
)


def format(tree: Tree) -> str:
    """A tree as canonical Markdown; `parse` gives the same tree back."""
    lines: list[str] = []
    values = list(_key_lines(tree))
    if not tree.bare:
        title = f" — {tree.title}" if tree.title else ""
        lines += [f"### ¶ASK_{tree.name}{title}", *values]
    for decision in tree.decisions:
        if lines:
            lines.append("")
        lines.append(f"## Decision: {decision.name}")
        asked = [f"Question: {decision.question}"] if decision.question else []
        above = asked if not tree.bare else [*values, *asked]
        if above:
            lines += [*above, ""]
        lines += _option_lines(decision.options)
    return "\n".join(lines) + "\n"


def _key_lines(tree: Tree) -> Iterator[str]:
    if tree.extends:
        yield f"Extends: §ASK_{tree.extends}"
    if tree.trigger:
        yield f"Trigger: {tree.trigger}"
    if tree.extras:
        yield f"Extras: {keys.write_extras(tree.extras)}"
    if tree.kind:
        yield f"Kind: {tree.kind}"
    if tree.question:
        yield f"Question: {tree.question}"
    if tree.keywords:
        yield f"Keywords: {', '.join(tree.keywords)}"


def _option_lines(options: tuple[Option, ...]) -> Iterator[str]:
    waiting = [(option, 0) for option in reversed(options)]
    above_is_text = False
    while waiting:
        option, depth = waiting.pop()
        code = "" if option.derived else option.code
        head = write_head(code, option.label, multi=option.multi)
        if not head and above_is_text:
            yield ""  # right below text, a bullet with nothing behind it is none
        bullet = "-" if head.strip("- ") or not head else "+"  # dashes alone would be a rule
        yield f"{STEP * depth}{bullet} {head}".rstrip()
        above_is_text = bool(head)
        for line in _description_lines(option, headless=not head):
            yield (STEP * (depth + 1) + line).rstrip()
            above_is_text = bool(line)
        waiting.extend((child, depth + 1) for child in reversed(option.options))


def _description_lines(option: Option, *, headless: bool) -> Iterator[str]:
    """A description such that it is read as one again and swallows nothing that follows."""
    if not option.description:
        return
    lines = option.description.split("\n")
    if lines[0].startswith(" ") and not headless:
        yield ""
    fence, above, open_html = "", not headless, False
    for index, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence:
            if line.rstrip(" \t") and not line.strip(" \t").strip(fence[0]):
                fence = "" if len(line.strip(" \t")) >= len(fence) else fence
        elif found and _closes(lines[index + 1 :], found[1] or found[2]):
            fence = found[1] or found[2]
        elif above and _STARTS_BLOCK.match(line):
            # Indented this far, a line can only go on with the paragraph above it.
            line = "    " + line  # noqa: PLW2901
        elif line.startswith("<"):
            open_html = True
        above = bool(line) and not fence
        open_html = open_html and bool(line)
        yield line
    if open_html and option.options:
        yield ""


def _closes(lines: list[str], marker: str) -> bool:
    return any(
        len(bare := line.strip(" \t")) >= len(marker) and not bare.strip(marker[0])
        for line in lines
    )


# -- a document's trees, rewritten where they stand ----------------------------------------------


class Mending(NamedTuple):
    """What to change in a tree besides its layout."""

    codes: bool = False
    flags: bool = False
    dots: bool = False


def canonical(text: str) -> str:
    """The text with its trees in canonical form; not a byte changes outside of them."""
    for _ in range(4):
        rewritten = rewrite(text)
        if rewritten == text:
            break
        text = rewritten
    return text


def rewrite(text: str, mendings: dict[int, Mending] | None = None) -> str:
    """Lay out the trees anew: all of them, or those on the lines given, mended as told.

    Should a layout ever say something else than the original, that tree is left as it is.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    lines: list[str] = _WITH_END.findall(body)
    document = read([line.rstrip("\r\n") for line in lines])
    layouts: list[dict[int, list[str]]] = []
    for section in document.sections:
        if section.tree.fenced or (mendings is not None and section.tree.line not in mendings):
            continue
        mending = (mendings or {}).get(section.tree.line, Mending())
        layouts.append(_Layout(section, document.lines, mending).edits)
    rewritten = _apply(lines, _together(layouts))
    if mendings is None and parse(rewritten).trees != document.trees:
        sound: list[dict[int, list[str]]] = []
        for layout in layouts:
            alone = _apply(lines, _together([*sound, layout]))
            if parse(alone).trees == document.trees:
                sound.append(layout)
        rewritten = _apply(lines, _together(sound))
    return mark + rewritten


def _together(layouts: list[dict[int, list[str]]]) -> dict[int, list[str]]:
    return {number: new for layout in layouts for number, new in layout.items()}


def _apply(lines: list[str], edits: dict[int, list[str]]) -> str:
    """The text with some of its lines replaced; a new line ends as the one it replaces."""
    parts: list[str] = []
    for number, line in enumerate(lines):
        replacement = edits.get(number)
        if replacement is None:
            parts.append(line)
            continue
        end = line[len(line.rstrip("\r\n")) :]
        parts += [new + (end or "\n") for new in replacement]
        if not end and replacement:
            parts[-1] = replacement[-1]
    return "".join(parts)


class _Layout:
    """The lines of one section as they should be."""

    def __init__(self, section: Section, lines: list[str], mending: Mending) -> None:
        self.lines = lines
        self.mending = mending
        self.edits: dict[int, list[str]] = {}
        self.prefix = ""
        if section.heading is not None and section.base:
            self.prefix = " " * section.base
        self.heading_line = section.heading.line if section.heading is not None else 0
        self._headings(section)
        for key in section.keys:
            self._key(key)
        for listed, decision in zip(section.listed, section.tree.decisions, strict=True):
            self._list(listed, decision.options)

    def _write(self, line: int, text: str) -> None:
        self.edits.setdefault(line, []).append(text)

    def _headings(self, section: Section) -> None:
        blocks = [section.heading] + [listed.heading for listed in section.listed]
        for block in {id(b): b for b in blocks if b is not None}.values():
            if len(block.lines) != 1:
                continue
            line, _, text = block.lines[0]
            decision = re.match(r"(?:\*\*)?decision(?:\*\*)?[ \t]*:[ \t]*", text, re.IGNORECASE)
            if decision:
                text = "Decision: " + text[decision.end() :]
            lead = expand(self.lines[line])[: block.column]
            lead = lead if lead.strip() else self.prefix
            self._write(line, f"{lead}{'#' * block.level} {text}".rstrip())
            for further in range(line + 1, block.end + 1):
                self.edits[further] = []

    def _key(self, key: keys.Key) -> None:
        value = key.value
        if key.name == "Extras":
            extras, well_formed = keys.read_extras(value)
            value = keys.write_extras(extras) if well_formed else value
        elif key.name == "Keywords":
            value = ", ".join(keys.read_keywords(value))
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
            continues = is_text and number == above + 1 and _STARTS_BLOCK.match(text)
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
            tight = number in heads and above in self.edits
            tight = tight or (above in heads and number in self.edits)
            if tight and not self._is_code(number):
                for blank in range(above + 1, number):
                    self.edits[blank] = []
            above = number

    def _is_code(self, number: int) -> bool:
        """An indented code block needs the empty line above it."""
        written = self.edits.get(number) or [""]
        return written[0].lstrip(" ") != written[0] and not written[0].lstrip(" ").startswith("-")
