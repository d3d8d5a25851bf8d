"""From blocks to trees: which headings declare one, and which lists are their options."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby

import msgspec
from msgspec.structs import replace

from quandary.formats import markdown
from quandary.formats.markdown import MARK, MARKER, Field, Head, is_field, read_head
from quandary.formats.markdown.blocks import Block, scan, source_column
from quandary.model.tree import Decision, Extra, Option

_ASK = re.compile(
    r"¶ASK_(?P<name>\S*?)(?:(?:[ \t]*:[ \t]*|[ \t]+[—–-][ \t]+|[ \t]+(?=\())(?P<title>.*))?$"
)
_DECISION = re.compile(r"(?:\*\*)?decision(?:\*\*)?[ \t]*:[ \t]*(?P<name>.*)$", re.IGNORECASE)
_CHOOSE = re.compile(r"choose(?P<one>[ \t]+one)?[ \t]*:[ \t]*(?P<name>.*)$", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\[.*\]$|\{.*\}$|<.*>$")
_TEMPLATE_NAME = re.compile(r"[\[\]{}<>*…]|\.\.\.|^$")
_UNSPACED = re.compile(r"#{1,6}(?:¶ASK_|Decision:)")
_HIDDEN = re.compile(r"#{1,6}[ \t]+¶ASK_(\S+)")
_DIRECTIVE = re.compile(r"<!--[ \t]*quandary:[ \t]*ignore\b([^<>]{0,500}?)-->")
_STRICT_CODE = re.compile(r"[A-Z]{1,8}")


DEEPEST_FENCE = 8  # examples inside examples inside examples are read this far


class Reader:
    """Reads the trees of one document, or of one fence in it."""

    def __init__(
        self, lines: list[str], *, fences: int = 0, line: int = 0, column: int = 0
    ) -> None:
        self.lines = lines
        self.fences = fences
        self.first_line = line
        self.first_column = column
        self.sections: list[markdown.Section] = []
        self.notes: list[markdown.Note] = []
        self.opened: OpenTree | None = None

    def read(self) -> None:
        """Find every tree."""
        root = scan(self.lines)
        self._read_blocks(root.children, 0)
        self._finish(len(self.lines))
        self._attach_directives(root)

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Line and column in the file, from 1, of a place in the blocks."""
        written = self.lines[line] if line < len(self.lines) else ""
        return self.first_line + line + 1, self.first_column + source_column(written, column)

    def note(self, rule: str, line: int, column: int, text: str = "") -> None:
        """Remember something for a rule, with the tree being read if there is one."""
        notes = self.opened.notes if self.opened else self.notes
        notes.append(markdown.Note(rule, *self.place(line, column), text))

    def _read_blocks(self, blocks: list[Block], base: int) -> None:
        seen = (block for block in blocks if not block.is_comment)
        for kind, run in groupby(seen, key=lambda block: block.kind):
            if kind == "item":
                self._read_run(list(run))
            elif kind == "heading":
                for heading in run:
                    self._read_heading(heading, base)
            else:
                for block in run:
                    self._look_inside(block)
                    self._read_prose(block)

    def _read_heading(self, heading: Block, base: int) -> None:
        text = markdown.undressed(heading.lines[0][2]) if heading.lines else ""
        opened = self.opened
        above = opened is not None and not (opened.decisions and opened.decisions[-1].items)
        if heading.marker and above and is_field(text):
            # Markdown takes keys above a line of dashes for a heading; their author did not.
            self._read_prose(heading)
        elif text.startswith(MARK):
            self._begin(heading, text, base)
        elif found := _DECISION.match(text) or _CHOOSE.match(text):
            self._begin_decision(heading, found, base)
        else:
            self._finish(heading.line)

    def _begin(self, heading: Block, text: str, base: int) -> None:
        self._finish(heading.line)
        opened = self.opened = OpenTree(heading, base, bare=False)
        found = _ASK.match(text)
        opened.name = found["name"] if found else text.removeprefix(MARK)
        opened.title = (found["title"] or "") if found else ""
        opened.template = _TEMPLATE_NAME.search(opened.name) is not None
        if chosen := _CHOOSE.match(opened.title):
            choose = "one" if chosen["one"] else "several"
            opened.decisions.append(OpenDecision(chosen["name"], None, choose))
            opened.title = ""
            self.note("decision-missing", heading.line, heading.column)

    def _begin_decision(self, heading: Block, found: re.Match[str], base: int) -> None:
        if self.opened is None or self.opened.bare:
            self._finish(heading.line)
            self.opened = OpenTree(heading, base, bare=True)
        choose = ("one" if found["one"] else "several") if found.re is _CHOOSE else ""
        name = found["name"].strip()
        self.opened.template |= _PLACEHOLDER.match(name) is not None
        self.opened.decisions.append(OpenDecision(name, heading, choose))

    def _read_prose(self, block: Block) -> None:
        """Anything that is neither a heading nor a list: keys, prose, fences."""
        opened = self.opened
        if opened is None:
            return
        decision = opened.decisions[-1] if opened.decisions else None
        keyed = block.kind == "paragraph" and is_field(block.lines[0][2])
        if decision is not None and decision.items and not keyed and block.kind != "html":
            decision.stray.append(block)
            decision.ended |= block.kind == "rule"
            return
        self._note_stray(block, prose=False)
        if block.kind == "html":
            return
        has_text = block.kind in ("paragraph", "heading")
        known, unknown = markdown.read_fields(block) if has_text else ([], [])
        for key in known:
            if key.name == "Question" and decision is not None and not opened.bare:
                decision.question = decision.question or key.value
            elif key.name in {earlier.name for earlier in opened.keys}:
                self.note("key-duplicate", key.line, key.column, key.name)
            else:
                opened.keys.append(key)
        for key in unknown:
            self.note("key-unknown", key.line, key.column, key.name)
        if not known:
            opened.prose = True
            if decision is not None:
                decision.after_prose = True

    def _read_run(self, items: list[Block]) -> None:
        """A run of list items: options of the decision at hand, or just a list."""
        opened = self.opened
        if opened is None:
            for item in items:
                self._read_blocks(item.children, item.indent)
                self._finish(item.end + 1)
            return
        heads = [read_head(first_line(item)[2]) for item in items]
        self._look_inside_items(items)
        if not opened.decisions:
            keyed = all(not h.code and markdown.match_key(h.label) for h in heads)
            if keyed and any(is_field(head.label) for head in heads):
                self._read_keys(items)
                return
            opened.decisions.append(OpenDecision("", None, after_prose=opened.prose))
        decision = opened.decisions[-1]
        new = {head.code for head in heads if _STRICT_CODE.fullmatch(head.code)} - decision.codes
        repeats = any(head.code in decision.codes for head in heads)
        # Behind stray text, a list with new codes goes on with the options if it repeats none.
        if not decision.stray or (new and not repeats and not decision.ended):
            for stray in decision.stray:
                self._note_stray(stray)
            decision.stray.clear()
            decision.items += items
            decision.heads += heads
            decision.codes.update(head.code for head in heads if head.code)
        elif new:
            for (line, column, text), head in zip(map(first_line, items), heads, strict=True):
                if head.code not in decision.codes:
                    self.note("stray-text", line, column, text)

    def _read_keys(self, items: list[Block]) -> None:
        """A list that is no options: keys, one to a bullet, or prose. It was looked into."""
        for block in (child for item in items for child in item.children):
            if block.kind != "code":
                self._read_prose(block)

    def _note_stray(self, block: Block, *, prose: bool = True) -> None:
        """Text that belongs to no option, or, of prose beside the list, what looks like one."""
        for leaf in _leaves(block):
            for line, column, text in leaf.lines or [(leaf.line, leaf.column, "")]:
                looks = leaf.kind != "fence" and MARKER.match(text) is not None
                if looks or prose:
                    rule = "indent" if looks and leaf.kind != "html" else "stray-text"
                    self.note(rule, line, column, text)

    def _look_inside_items(self, items: list[Block]) -> None:
        waiting = list(reversed(items))
        while waiting:
            block = waiting.pop()
            if block.kind == "item":
                waiting.extend(reversed(block.children))
            elif not block.is_comment:
                self._look_inside(block)
                if block.kind == "heading" and block.text.startswith(MARK):
                    self.note("tree-hidden", block.line, block.column, "an option")
                if block.kind == "code":
                    self._note_stray(block, prose=False)

    def _look_inside(self, block: Block) -> None:
        """Trees in a fence are examples; elsewhere they are out of sight, which is worth a word."""
        if block.kind == "fence":
            self._read_fence(block)
        elif block.kind == "quote":
            for inner in _leaves(block):
                if inner.kind == "heading" and inner.text.startswith(MARK):
                    self._hidden(inner.line, inner.column, inner.text, "a block quote")
                elif inner.kind == "fence":
                    self._read_fence(inner)
        elif block.kind in ("code", "html"):
            where = "indented code" if block.kind == "code" else "an HTML block"
            for line, column, text in block.lines:
                if found := _HIDDEN.match(text.lstrip(" \t")):
                    self._hidden(line, column, MARK + found[1], where)
        elif block.kind == "paragraph":
            for line, column, text in block.lines:
                if _UNSPACED.match(text):
                    self.note("tree-hidden", line, column, "no space after the # signs")

    def _hidden(self, line: int, column: int, text: str, where: str) -> None:
        if not _TEMPLATE_NAME.search(text.removeprefix(MARK)):
            self.note("tree-hidden", line, column, where)

    def _read_fence(self, fence: Block) -> None:
        content = [text for _, _, text in fence.lines]
        signs = any(sign in text for text in content for sign in (MARK, "ecision", "hoose"))
        if self.fences == DEEPEST_FENCE or not signs:
            return
        line = self.first_line + fence.line + 1
        column = self.first_column + fence.lines[0][1]
        inner = Reader(content, fences=self.fences + 1, line=line, column=column)
        inner.read()
        self.sections += inner.sections
        if not fence.closed and inner.sections and not self.fences:
            self.note("fence-open", fence.line, fence.column)

    def _finish(self, end: int) -> None:
        opened = self.opened
        if opened is None:
            return
        first = opened.decisions[0] if len(opened.decisions) > 1 else None
        if first and not (first.heading or first.choose or any(h.code for h in first.heads)):
            # A plain list above the first decision's heading is prose, or keys among it.
            decisions, opened.decisions = opened.decisions[1:], []
            self._read_keys(first.items)
            opened.decisions = decisions
        if _is_tree(opened) and (section := self._build(opened)) is not None:
            section.end = end - 1
            self.sections.append(section)
        self.opened = None

    def _build(self, opened: OpenTree) -> markdown.Section | None:
        """The tree of a finished opened, unless it is a template."""
        decisions = tuple(self._decision(opened, decision) for decision in opened.decisions)
        if opened.template:
            return None
        values = {key.name: key.value for key in opened.keys}
        extras: tuple[Extra, ...] = ()
        for key in opened.keys:
            if key.name == "Extras":
                extras, well_formed = markdown.read_extras(key.value)
                if not well_formed:
                    self.note("extras-format", key.line, key.column)
            elif key.name in markdown.WORDS:
                word = key.value.strip().casefold()
                values[key.name] = word if word in markdown.WORDS[key.name] else ""
                if not values[key.name]:
                    self.note(f"{key.name.lower()}-unknown", key.line, key.column, key.value)
        line, column = self.place(opened.heading.line, opened.heading.column)
        place = {"bare": opened.bare, "fenced": self.fences > 0, "line": line, "column": column}
        name = opened.name if not opened.bare else opened.decisions[0].name
        tree = markdown.make_tree(name, decisions, values, extras, title=opened.title, **place)
        section = markdown.Section(tree)
        section.heading, section.base = opened.heading, opened.base
        section.notes, section.keys = opened.notes, opened.keys
        section.listed = [markdown.Listed(d.heading, d.items) for d in opened.decisions]
        return section

    def _decision(self, opened: OpenTree, decision: OpenDecision) -> Decision:
        heading = decision.heading or opened.heading
        if decision.heading is None and not decision.choose:
            self.note("decision-missing", heading.line, heading.column)
        for stray in decision.stray:
            self._note_stray(stray, prose=False)
        options = self._options(opened, decision.items, opened.base, 1)
        if decision.choose:
            options = tuple(_with_multi(o, multi=decision.choose == "several") for o in options)
        place = self.place(heading.line, heading.column)
        return Decision(decision.name or opened.name, options, decision.question, *place)

    def _options(
        self, opened: OpenTree, items: list[Block], expected: int, depth: int
    ) -> tuple[Option, ...]:
        heads = [read_head(first_line(item)[2]) for item in items]
        codes = markdown.Codes(head.code for head in heads if head.code)
        options = []
        for item, head in zip(items, heads, strict=True):
            if item.column != expected and (item is items[0] or item.column != items[0].column):
                self.note("indent", item.line, item.column, str(2 * (depth - 1)))
            tight = item.indent == item.column + len(item.marker)
            if head.near_miss or tight or item.marker in "•–—":
                meant = markdown.write_head(head.code, head.label, multi=head.multi)
                self.note("code-format", item.line, item.column, f"- {meant}")
            elif head.box_first or head.ticked:
                said = "[ ] comes before the code" if head.box_first else "nothing can be ticked"
                self.note("checkbox-order", item.line, item.column, said)
            opened.template |= markdown.is_template(head.code, head.label)
            code, label, description = head.code, head.label, self._description(item)
            if not code and not label and not description.startswith(("`", "~", ">", " ")):
                label, _, description = description.partition("\n")
                description = description.strip("\n")
            if not code:
                code = codes.derive(label)
            children = [child for child in item.children if child.kind == "item"]
            below = self._options(opened, children, item.column + 2, depth + 1)
            place, derived = self.place(item.line, item.column), not head.code
            options.append(Option(code, label, description, head.multi, below, *place, derived))
        return tuple(options)

    def _description(self, item: Block) -> str:
        """All that an option holds besides its first line and its own options."""
        body: list[str] = []
        last = item.line
        for line, column, text, is_text in body_lines(item, self.lines):
            if is_text and column < item.indent:
                self.note("description-indent", line, column)
            if is_text and MARKER.match(text):
                self.note("indent", line, column, text)
            if line > last + 1 and body:
                body.append("")
            last = line
            body.append(text)
        return markdown.without_comments("\n".join(body)).strip("\n")

    def _attach_directives(self, root: Block) -> None:
        """`<!-- quandary: ignore RULE -->` speaks for the tree it precedes, else for its own."""
        if not (places := list(_directives(root))):
            return
        own = [s for s in self.sections if s.tree.fenced == (self.fences > 0)]
        begins = {s.heading.line: s for s in own if s.heading is not None}
        lines = sorted(begins)
        content = _content_from(self.lines)
        named: dict[int, list[markdown.Note]] = {}
        for line, column, names in places:
            section = begins.get(content[line + 1])
            if section is None and (above := bisect_right(lines, line)):
                before = begins[lines[above - 1]]
                section = before if line <= before.end else None
            place = self.place(line, column)
            if section is None:
                self.notes.append(markdown.Note("ignore-unknown", *place, "\0"))
                continue
            notes = named.setdefault(id(section), [])
            notes += [markdown.Note("ignore-unknown", *place, name) for name in names]
        for section in own:
            notes = named.get(id(section), [])
            section.ignored = frozenset(note.text for note in notes)
            section.notes = [*section.notes, *notes]


def _directives(root: Block) -> Iterator[tuple[int, int, list[str]]]:
    """The comments that silence rules: line, column, and what they name."""
    for leaf in _leaves(root):
        if leaf.kind in ("fence", "code"):
            continue
        for line, column, text in leaf.lines:
            ticks = before = 0
            for found in _DIRECTIVE.finditer(text) if "quandary:" in text else ():
                ticks += text.count("`", before, found.start())
                before = found.start()
                # Quoted as code, it belongs to a page that explains it.
                if ticks % 2 == 0:
                    yield line, column + before, re.split(r"[\s,]+", found[1].strip())


def _content_from(lines: list[str]) -> list[int]:
    """For every line, the next one from there on that is neither empty nor a comment."""
    following = [len(lines)] * (len(lines) + 1)
    for number in range(len(lines) - 1, -1, -1):
        bare = lines[number].strip()
        blank = not bare or (bare.startswith("<!--") and bare.endswith("-->"))
        following[number] = following[number + 1] if blank else number
    return following


def _is_tree(opened: OpenTree) -> bool:
    """A ¶ASK heading declares a tree; a bare decision only if what follows looks like options."""
    if opened.template or not opened.decisions:
        return not opened.template
    decision = opened.decisions[0]
    heads = decision.heads
    marked = any(head.code or head.multi for head in heads)
    if not opened.bare:
        implied = decision.heading is None and not decision.choose
        if implied and not marked and decision.after_prose:
            opened.decisions.clear()
        return True
    if marked or decision.choose or opened.heading.level != 2:
        return marked
    if not heads:
        return not opened.prose and bool(decision.name)
    labels = len(heads) > 1 and all(_reads_like_a_label(head.label) for head in heads)
    return labels and not decision.after_prose


def _reads_like_a_label(label: str) -> bool:
    marked = label.endswith((".", ":", ";")) or label.startswith(("**", "__", "["))
    return 0 < len(label) <= 60 and len(label.split()) <= 6 and not marked


def _leaves(block: Block) -> Iterator[Block]:
    waiting = [block]
    while waiting:
        block = waiting.pop()
        if block.children:
            waiting.extend(reversed(block.children))
        else:
            yield block


class OpenDecision(msgspec.Struct, eq=False):
    """A decision whose options are being collected."""

    name: str
    heading: Block | None
    choose: str = ""
    items: list[Block] = []
    heads: list[Head] = []  # the first lines of the items
    codes: set[str] = set()
    stray: list[Block] = []
    ended: bool = False  # a line across the page came: no options go on behind one
    question: str = ""
    after_prose: bool = False


class OpenTree(msgspec.Struct, eq=False):
    """A tree whose end has not been reached."""

    heading: Block
    base: int
    bare: bool
    name: str = ""
    title: str = ""
    template: bool = False
    keys: list[Field] = []
    notes: list[markdown.Note] = []
    decisions: list[OpenDecision] = []
    prose: bool = False  # whether anything but keys and options has been seen


def first_line(item: Block) -> tuple[int, int, str]:
    """The line, column and text of an item's first line of content; empty if it has none."""
    first = next((child for child in item.children if not child.is_comment), None)
    if first is not None and first.lines:
        line, column, text = first.lines[0]
        if first.kind == "heading" and not first.marker:
            return line, first.column, f"{'#' * first.level} {text}"
        below = first.line != item.line and first.kind not in ("paragraph", "heading")
        if not below and first.kind != "fence":
            return line, column, text
    return item.line, item.indent, ""


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


def _with_multi(option: Option, *, multi: bool) -> Option:
    options = tuple(_with_multi(o, multi=False) for o in option.options)
    return replace(option, multi=multi, options=options)
