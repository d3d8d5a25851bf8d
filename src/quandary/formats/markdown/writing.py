"""Trees into Markdown: a tree as text of its own, and the trees of a document in canonical form."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from quandary.formats import markdown
from quandary.formats.markdown import Section, parse, read_head, write_head
from quandary.formats.markdown.blocks import Block, expand
from quandary.formats.markdown.sections import body_lines, first_line
from quandary.formats.rules import RULES, Diagnostic, judge
from quandary.model.tree import Option, Tree, is_multi, other_of

_WITH_END = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_COMMENT = re.compile(r"<!--.*?-->")


def format(tree: Tree) -> str:
    """A tree as canonical Markdown; `parse` gives the same tree back."""
    lines: list[str] = []
    keys = {
        "Extends": f"§ASK_{tree.extends}" if tree.extends else "",
        "Trigger": tree.trigger,
        "Extras": markdown.write_extras(tree.extras),
        "Kind": tree.kind,
        "Question": tree.question,
        "Keywords": ", ".join(tree.keywords),
        "Require": tree.require,
        "Shape": tree.shape,
    }
    values = [f"{name}: {value}" for name, value in keys.items() if value]
    if not tree.bare:
        title = f" — {tree.title}" if tree.title else ""
        lines += ["### " + heading_text(f"¶ASK_{tree.name}{title}"), *values]
    for decision in tree.decisions:
        if lines:
            lines.append("")
        lines.append("## " + heading_text(f"Decision: {decision.name}"))
        asked = [f"Question: {decision.question}"] if decision.question else []
        above = asked if not tree.bare else [*values, *asked]
        lines += [*above, ""] if above and decision.options else above
        lines += _option_lines(decision.options)
    return "\n".join(lines) + "\n"


def _option_lines(options: tuple[Option, ...]) -> Iterator[str]:
    waiting = [(option, 0) for option in reversed(options)]
    above_is_text = False
    while waiting:
        option, depth = waiting.pop()
        head = write_head("" if option.derived else option.code, option.label, multi=option.multi)
        if not head and above_is_text:
            yield ""  # right below text, a bullet with nothing behind it is none
        bullet = "-" if head.strip("- ") or not head else "+"  # dashes alone would be a rule
        yield f"{STEP * depth}{bullet} {head}".rstrip(" ")
        above_is_text = bool(head)
        for line in _description_lines(option, headless=not head):
            yield (STEP * (depth + 1) + line).rstrip(" ")
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
        marker = found[0] if found else ""
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif marker and any(_closes(below, marker) for below in lines[index + 1 :]):
            fence = marker
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


def _closes(line: str, marker: str) -> bool:
    bare = line.strip(" \t")
    return len(bare) >= len(marker) and not bare.strip(marker[0])


def canonical(text: str) -> str:
    """The text with its trees in canonical form; not a byte changes outside of them."""
    if is_canonical(text):
        return text
    for _ in range(4):
        before, text = text, rewrite(text)
        if before == text:
            break
    return text


def is_canonical(text: str) -> bool:
    """Whether a quick look sees that nothing is to be laid out anew; headings have any level."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for section in parse(text).sections:
        if section.listed:  # the text had to be read more closely
            return False
        wanted = format(section.tree).split("\n")[:-1]
        begin = section.tree.line - 1
        found = lines[begin : begin + len(wanted)]
        if [line.lstrip("#") for line in found] != [line.lstrip("#") for line in wanted]:
            return False
    return True


def rewrite(text: str, broken: dict[int, list[str]] | None = None) -> str:
    """Lay out the trees anew, or those given; one that would say something else is left."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines: list[str] = _WITH_END.findall(text.removeprefix(mark))
    bare = [line.rstrip("\r\n") for line in lines]
    document = markdown.read_sections(bare)
    layouts: list[Edits] = []
    for section in document.sections:
        line = section.tree.line
        if not section.tree.fenced and (broken is None or line in broken):
            layouts.append(Layout(section, bare, broken[line] if broken else ()).edits)

    def is_sound(candidates: list[Edits]) -> bool:
        # What no fix is about must not change; without fixes, nothing.
        trees = parse(_apply(lines, candidates)).trees
        if broken is None:
            return trees == document.trees
        return _loosely(trees) == _loosely(document.trees)

    if not is_sound(layouts):
        sound: list[Edits] = []
        for layout in layouts:
            if is_sound([*sound, layout]):
                sound.append(layout)
        layouts = sound
    return mark + _apply(lines, layouts)


def _loosely(trees: tuple[Tree, ...]) -> list[object]:
    """Of what the trees say, all that no fix is about."""

    def options(level: tuple[Option, ...]) -> list[object]:
        return [
            (o.code, o.label.rstrip(".… "), o.description, is_multi(level), options(o.options))
            for o in level
        ]

    return [(tree.name, [options(d.options) for d in tree.decisions]) for tree in trees]


def _apply(lines: list[str], layouts: list[Edits]) -> str:
    """The text with some of its lines replaced; a new line ends as the one it replaces."""
    edits = {number: new for layout in layouts for number, new in layout.items()}
    parts: list[str] = []
    for number, line in enumerate(lines):
        end = line[len(line.rstrip("\r\n")) :]
        if number not in edits:
            parts.append(line)
        elif edits[number]:
            parts.append((end or "\n").join(edits[number]) + end)
    return "".join(parts)


Edits = dict[int, list[str]]  # line numbers and what stands there instead: no line, one, or several

STEP = "  "
STARTS_BLOCK = re.compile(
    r"[-+*](?:[ \t]|$)|0*1[.)](?:[ \t]|$)|#{1,6}(?:[ \t]|$)|`{3}|~{3}|[<>]"
    rf"|=+[ \t]*$|[-*_][-*_ \t]+$|{markdown.TIGHT_BULLET}"
)
"""Text that would begin a block of its own if it stood at the margin of an option."""
_DECISION = re.compile(r"(?:\*\*)?decision(?:\*\*)?[ \t]*:[ \t]*", re.IGNORECASE)
_BLANKS = {
    "key": {"heading": 0, "key": 0, "decision": 0},
    "item": {"decision": 0, "key": 1},
    "decision": {"heading": 1, "key": 1, "option": 1, "decision": 1},
}
"""How many empty lines a part of a tree has between it and the one above; else, those there are."""


def heading_text(text: str) -> str:
    """A heading's text such that # signs at its end are not taken for its closing ones."""
    bare = text.rstrip("#")
    return f"{text} #" if bare != text and (not bare or bare[-1] in " \t") else text


class Layout:
    """The lines of one section as they should be."""

    def __init__(self, section: Section, lines: list[str], broken: Container[str]) -> None:
        self.lines = lines
        self.broken = broken  # rules that the tree breaks, to be fixed besides its layout
        self.edits: Edits = {}
        self.prefix = " " * section.base
        self.parts: dict[int, str] = {}
        """What begins on a line: heading, key, decision, item; any other line is an option's."""
        self.heads: set[int] = set()  # where options begin
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
            text = markdown.undressed(text)
            if decision := _DECISION.match(text):
                text = "Decision: " + text[decision.end() :]
            self.parts[line] = "heading" if text.startswith(markdown.MARK) else "decision"
            lead = expand(self.lines[line])[: block.column]
            lead = lead if lead.strip() else self.prefix
            self._write(line, f"{lead}{'#' * block.level} {heading_text(text)}".rstrip(" "))
            self._drop(line + 1, block.end + 1)

    def _key(self, key: markdown.Field) -> None:
        value = key.value
        if key.name == "Extras":
            extras, well_formed = markdown.read_extras(value)
            value = markdown.write_extras(extras) if well_formed else value
        elif key.name == "Keywords":
            value = ", ".join(markdown.read_keywords(value))
        self.parts[key.line] = "key"
        self._write(key.line, f"{self.prefix}{key.name}: {value}".rstrip(" "))
        self._drop(key.line + 1, key.end + 1)

    def _list(self, listed: markdown.Listed, options: tuple[Option, ...]) -> None:
        if not listed.items:
            return
        for item, option in zip(listed.items, options, strict=True):
            self._item(item, option, 0, options)
        first, last = listed.items[0].line, listed.items[-1].end
        self.parts[first] = "item"
        self._drop_blanks(first, last)

    def _item(self, item: Block, option: Option, depth: int, siblings: tuple[Option, ...]) -> None:
        line, _, text = first_line(item)
        indent = self.prefix + STEP * depth
        bullet = self._head(text, option, siblings)
        self._write(item.line, f"{indent}- {bullet}".rstrip(" "))
        self.heads.add(item.line)
        self._drop(item.line + 1, line + 1)
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
            self._write(number, f"{indent}{STEP}{'    ' if continues else ''}{text}".rstrip(" "))
            above = number
        children = [child for child in item.children if child.kind == "item"]
        for child, nested in zip(children, option.options, strict=True):
            self._item(child, nested, depth + 1, option.options)

    def _head(self, written: str, option: Option, siblings: tuple[Option, ...]) -> str:
        label = read_head(written).label
        comments = _COMMENT.findall(written)
        if "label-ellipsis" in self.broken:
            label = label.rstrip(".… ") or label
        mixed = "mixed-multi-select" in self.broken and is_multi(siblings)
        multi = option.multi or (mixed and option is not other_of(siblings))
        coded = not option.derived or ("code-missing" in self.broken and option.label)
        head = write_head(option.code if coded else "", label, multi=multi)
        return " ".join(filter(None, (head, *comments)))

    def _drop_blanks(self, first: int, last: int) -> None:
        """No empty line stands above an option or between a label and its description."""
        above = first
        for number in range(first + 1, last + 1):
            if not self.lines[number].strip(" \t"):
                continue
            option = number in self.heads and above in self.edits
            description = above in self.heads and number in self.edits and number not in self.code
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
            blanks = _BLANKS.get(self.parts.get(number, ""), {}).get(upper)
            if blanks is not None:
                self._drop(above + 1, number)
                if blanks:
                    self.edits[number].insert(0, "")
            above = number

    def _drop(self, first: int, end: int) -> None:
        self.edits |= {number: [] for number in range(first, end)}


def is_fixable(diagnostic: Diagnostic) -> bool:
    """Whether `fix` can fix it; an option that Markdown reads as text only its author can."""
    return RULES[diagnostic.rule].fixable and "Markdown reads" not in diagnostic.message


def fix(text: str, rules: Container[str]) -> tuple[str, int]:
    """The text fixed as far as these rules go, and how many problems that took away."""
    broken = _broken(text, rules)
    before = sum(map(len, broken.values()))
    for _ in range(5):
        better = rewrite(text, broken) if broken else text
        if better == text:
            break
        text, broken = better, _broken(better, rules)
    return text, before - sum(map(len, broken.values()))


def _broken(text: str, rules: Container[str]) -> dict[int, list[str]]:
    """The fixable rules that each tree breaks, by the line of its heading."""
    declared = ((s.tree.line, judge(s)) for s in parse(text).sections if not s.tree.fenced)
    found = {n: [d.rule for d in ds if d.rule in rules and is_fixable(d)] for n, ds in declared}
    return {line: names for line, names in found.items() if names}
