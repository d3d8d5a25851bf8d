"""Trees into Markdown: a tree as text of its own, and the trees of a document in canonical form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quandary.formats import keys
from quandary.formats.heads import write_head
from quandary.formats.layout import STARTS_BLOCK, STEP, Edits, Layout, Mending, heading_text
from quandary.formats.markdown import parse, read
from quandary.model.tree import is_multi

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.model.tree import Option, Tree

_WITH_END = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")


def format(tree: Tree) -> str:
    """A tree as canonical Markdown; `parse` gives the same tree back."""
    lines: list[str] = []
    values = list(_key_lines(tree))
    if not tree.bare:
        title = f" — {tree.title}" if tree.title else ""
        lines += ["### " + heading_text(f"¶ASK_{tree.name}{title}"), *values]
    for decision in tree.decisions:
        if lines:
            lines.append("")
        lines.append("## " + heading_text(f"Decision: {decision.name}"))
        asked = [f"Question: {decision.question}"] if decision.question else []
        above = asked if not tree.bare else [*values, *asked]
        lines += above
        if above and decision.options:
            lines.append("")
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
        elif above and STARTS_BLOCK.match(line):
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
    bare = [line.rstrip("\r\n") for line in lines]
    document = read(bare)
    layouts: list[Edits] = []
    for section in document.sections:
        if section.tree.fenced or (mendings is not None and section.tree.line not in mendings):
            continue
        mending = (mendings or {}).get(section.tree.line, Mending())
        layouts.append(Layout(section, bare, mending).edits)
    meant = _meaning(document.trees, loosely=mendings is not None)

    def is_sound(candidates: list[Edits]) -> bool:
        trees = parse(_apply(lines, _together(candidates))).trees
        return _meaning(trees, loosely=mendings is not None) == meant

    if not is_sound(layouts):
        sound: list[Edits] = []
        for layout in layouts:
            if is_sound([*sound, layout]):
                sound.append(layout)
        layouts = sound
    return mark + _apply(lines, _together(layouts))


def _meaning(trees: tuple[Tree, ...], *, loosely: bool) -> object:
    """What must not change: everything, or (loosely) everything that no mending is about."""
    if not loosely:
        return trees

    def options(level: tuple[Option, ...]) -> list[object]:
        return [
            (o.code, o.label.rstrip(".… "), o.description, is_multi(level), options(o.options))
            for o in level
        ]

    return [(tree.name, [options(d.options) for d in tree.decisions]) for tree in trees]


def _together(layouts: list[Edits]) -> Edits:
    return {number: new for layout in layouts for number, new in layout.items()}


def _apply(lines: list[str], edits: Edits) -> str:
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
