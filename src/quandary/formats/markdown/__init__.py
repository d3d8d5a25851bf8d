"""Decision trees in Markdown documents: `parse` finds them, whatever stands around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from quandary.formats.markdown import notation
from quandary.formats.markdown.notation import MARK, Field
from quandary.model.tree import Decision, Option, Tree

if TYPE_CHECKING:
    from quandary.formats.markdown.blocks import Block
    from quandary.formats.rules import Diagnostic, Level


_BARE = re.compile("decision|choose", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*$")
_TREE_HEADING = re.compile(r"#{1,6}[ \t]+(?:¶ASK_|decision[ \t]*:)", re.IGNORECASE)
_YAML_KEY = re.compile(r"[\w\"'.-][^:=]*[:=]")


class Document:
    """The trees of one text, in the order in which they stand."""

    def __init__(self, sections: list[Section], notes: list[Note]) -> None:
        self.sections = sections
        self.notes = notes

    @property
    def trees(self) -> tuple[Tree, ...]:
        """Every tree, the fenced examples included."""
        return tuple(section.tree for section in self.sections)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the trees; fenced examples are not judged."""
        from quandary.formats.rules import check  # noqa: PLC0415 - lint builds on this room

        return check(self)


def parse(text: str) -> Document:
    """Read every tree in a text. Any text has a reading; what is doubtful becomes a diagnostic."""
    text = text.removeprefix("\ufeff")
    if MARK not in text and not _BARE.search(text) and "quandary:" not in text:
        return Document([], [])
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    skipped = front_matter(text.split("\n")) if text.startswith(("---", "+++")) else 0
    # A comment may speak for a tree far from it.
    quick = _read_quickly(text, skipped) if "quandary:" not in text else None
    return read_sections(text.split("\n")) if quick is None else Document(quick, [])


def read_sections(lines: list[str]) -> Document:
    """The same, and every section knows where its parts stand, for those who rewrite them."""
    from quandary.formats.markdown.sections import Reader  # noqa: PLC0415 - canonical trees do without

    skipped = front_matter(lines)
    reader = Reader([""] * skipped + lines[skipped:])
    reader.read()
    return Document(sorted(reader.sections, key=lambda section: section.tree.line), reader.notes)


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


class Note(NamedTuple):
    """Something seen while reading that a rule may have to say something about."""

    rule: str
    line: int
    column: int
    text: str = ""


class Listed(NamedTuple):
    """A decision as it stands in the document, for writing it anew."""

    heading: Block | None
    items: list[Block]


class Section:
    """A tree, where it stands, and what was seen on the way.

    Most trees have nothing to remember, so the defaults are shared until there is something.
    """

    notes: Sequence[Note] = ()
    ignored: frozenset[str] = frozenset()
    keys: Sequence[Field] = ()
    listed: Sequence[Listed] = ()
    heading: Block | None = None
    base = 0
    """The column at which the section's container begins."""
    end = 0
    """The index of its last line."""
    levels: Sequence[Level] | None = None
    """Its levels, once a rule has looked."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree


# -- a short cut -----------------------------------------------------------------------------------
#
# Most documents have nothing but trees in canonical form, with prose around them. A few regular
# expressions read these, without block structure. Everything else goes through `sections.Reader`.
# Both ways give the same trees; a test holds them to it.

DEEPEST = 100
"""Columns of indentation up to which options are read this way; deeper ones are nobody's."""
_BEGINNING = re.compile(r"\n(?=#{1,6} ¶ASK_)")
_TREE = re.compile(
    r"#{1,6} ¶ASK_([A-Z][A-Z0-9_]*)\n"
    r"((?:(?:Trigger|Extras|Kind|Question|Keywords|Extends|Require|Shape): \S[^\n]*\n)*)"
)
_DECISION = re.compile(r"\n*#{1,6} Decision: ([^\s\[{<#*_`][^\n#]*)\n")
_OPTION = re.compile(
    r"^( *+)- \[([A-Z]{1,8}+)\] (\[ \] )?([^\s\[\\☐□].*+)\n"
    r"(?:\1  ((?!\d+[.)])[^\s\-+*#>`~<=_•–—].*+)\n)?",
    re.MULTILINE,
)
_AFTER = re.compile(r"\n*(?:\Z|(?!(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$))\S)", re.MULTILINE)
_LOUD = re.compile(
    r"\n[ \t>*+\-\d.)#_`]*(?:```|~~~|<[A-Za-z/!?]|¶ASK_"
    r"|(?i:decision|choose|trigger|extras|kind|question|keywords|extends|require|shape)\b)"
)
"""What may begin a tree, belong to one, or hide one from sight; looked for from the end of the
line above, because a search for a line's beginning would stop at every character."""
_MORE_OPTIONS = re.compile(r"\n[ \t]*(?:[-+*•–—]|\d{1,9}[.)])[ \t]*[*_`]*\[")
_UNUSUAL = ("<!--", "[CODE]", "\t", " \n")


def _read_quickly(text: str, skipped: int) -> list[Section] | None:
    """The trees of a text behind its first lines, if all of them stand in canonical form."""
    text = f"\n{text}\n" if not text.endswith("\n") else f"\n{text}"
    at, line = 1, skipped
    for _ in range(skipped):
        at = text.index("\n", at) + 1
    headings = [found.end() for found in _BEGINNING.finditer(text, at - 1)]
    first = headings[0] if headings else len(text)
    if _LOUD.search(text, at - 1, first) or any(text.find(s, first) >= 0 for s in _UNUSUAL):
        return None
    line += text.count("\n", at, first)
    sections = []
    for begin, limit in zip(headings, [*headings[1:], len(text)], strict=False):
        tree = _quick_tree(text, begin, limit, line)
        if tree is None:
            return None
        sections.append(Section(tree))
        line += text.count("\n", begin, limit)
    return sections


def _quick_tree(text: str, start: int, limit: int, line: int) -> Tree | None:
    """The canonical tree at `start` if nothing else up to `limit` could belong to it or be one."""
    heading = _TREE.match(text, start)
    if heading is None:
        return None
    keys = heading[2].split("\n")[:-1]
    values = dict(key.split(": ", 1) for key in keys)
    extras, sound = notation.read_extras(values["Extras"]) if "Extras" in values else ((), True)
    known = values.get("Kind", "advisory") in notation.KINDS
    known &= values.get("Require", notation.PERSON) == notation.PERSON
    known &= values.get("Shape", notation.FREE) == notation.FREE
    if len(values) < len(keys) or not known or not sound:
        return None  # a rule has something to say about them
    decisions: list[Decision] = []
    at, number = heading.end(), line + 1 + len(keys)
    while (named := _DECISION.match(text, at)) is not None:
        number += text.count("\n", at, named.end())
        begin = named.end()
        at = text.find("\n\n", begin) + 1 or len(text)
        count = text.count("\n", begin, at)
        options = _quick_options(_OPTION.findall(text, begin, at), number, number + count)
        if options is None:
            return None
        decisions.append(Decision(named[1].rstrip(), options, "", number, 1))
        number += count
    if not decisions or not _ends(text, at, limit):
        return None
    return Tree(
        heading[1],
        tuple(decisions),
        "",
        values.get("Trigger", ""),
        extras,
        values.get("Kind", ""),
        values.get("Question", ""),
        notation.read_keywords(values["Keywords"]) if "Keywords" in values else (),
        notation.plain_name(values["Extends"]) if "Extends" in values else "",
        "person" if "Require" in values else "",
        "free" if "Shape" in values else "",
        line=line + 1,
    )


def _ends(text: str, at: int, limit: int) -> bool:
    """Whether what stands between a list and the next tree is prose that changes neither."""
    loud = any(pattern.search(text, at - 1, limit) for pattern in (_LOUD, _MORE_OPTIONS))
    return not loud and _AFTER.match(text, at, limit) is not None


def _quick_options(
    found: list[tuple[str, str, str, str, str]], first: int, last: int
) -> tuple[Option, ...] | None:
    """Options out of their parts, last first, so that each finds its own options made.

    `first` and `last` are the lines before and at the end of the list: if the parts do not take
    up all of them, something else stands there too.
    """
    level: list[Option] = []
    open_levels: list[list[Option]] = []
    indent, number = 0, last + 1
    for margin, code, flag, label, description in reversed(found):
        if label.endswith("]"):  # perhaps with the `[ ]` that belongs before it
            return None
        number -= 2 if description else 1
        children: tuple[Option, ...] = ()
        step = len(margin) - indent
        if step == -2:
            level.reverse()
            children = tuple(level)
            level = open_levels.pop()
        elif step > 0 and not step & 1 and len(margin) < DEEPEST:
            for _ in range(step >> 1):
                open_levels.append(level)
                level = []
        elif step:
            return None
        indent += step
        level.append(Option(code, label, description, flag != "", children, number, indent + 1))
    if open_levels or number != first + 1 or not found:
        return None
    level.reverse()
    return tuple(level)
