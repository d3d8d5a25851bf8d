"""A tree as a picture: drawn in text for a terminal, listed as nodes for other painters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from unicodedata import category, east_asian_width

import msgspec

from quandary.formats.visible import printable
from quandary.model.tree import Option, is_multi, other_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.model.tree import Decision, Tree

Style = Literal["plain", "bold", "dim", "code"]

BOX = "☐"
ROOM = 20
"""A text has at least this many columns, even where its branch has used up the width."""
LONGEST_CODE = 12
"""A code longer than this pushes its own label down, not the labels of its whole level."""

_JOINER = "\u200d"
_STICKY = frozenset("、。，．：；！？）］｝〉》」』】〕ーっゃゅょッャュョ…🏻🏼🏽🏾🏿")
_SGR = {"bold": "1", "dim": "2", "code": "36"}


class Node(msgspec.Struct, frozen=True, gc=False):
    """One shape of a picture and the shape that leads to it; decisions have none."""

    id: str
    parent: str
    caption: str
    shape: Literal["decision", "branch", "leaf"]
    other: bool = False


def caption(option: Option) -> str:
    """An option in one line, much as its author wrote it: `[OK] Looks good`."""
    code = f"({option.code})" if option.derived else f"[{option.code}]"
    return printable(" ".join(filter(None, (code, BOX if option.multi else "", option.label))))


def nodes(tree: Tree) -> Iterator[Node]:
    """Every decision and option of the tree as a shape, parents first, in the order written."""
    count = 0
    for decision in tree.decisions:
        count += 1
        yield Node(f"n{count}", "", printable(decision.name), "decision")
        waiting = _family(f"n{count}", decision.options)
        while waiting:
            parent, option, other = waiting.pop()
            count += 1
            shape: Literal["branch", "leaf"] = "branch" if option.options else "leaf"
            yield Node(f"n{count}", parent, caption(option), shape, other)
            waiting += _family(f"n{count}", option.options)


def text(tree: Tree, *, width: int, colour: bool) -> str:
    """The tree for people to read: what it is for, then each decision with its branches."""
    page = Canvas(width, colour=colour)
    alone = len(tree.decisions) == 1 and tree.name == tree.decisions[0].name
    if not alone:
        page.add("", tree.name, "bold")
    page.add("", tree.title)
    _fields(page, tree)
    for decision in tree.decisions:
        if page.lines:
            page.lines.append("")
        _decision(page, decision)
    return "".join(f"{line}\n" for line in page.lines)


class Canvas:
    """Lines under way, with the width to keep to and the colours to use."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self.width = width
        self.colour = colour
        self.lines: list[str] = []

    def paint(self, text: str, style: Style) -> str:
        """The text between escapes, if there is anything to colour and colour is wanted."""
        if not self.colour or style == "plain" or not text.strip(" "):
            return text
        return f"\x1b[{_SGR[style]}m{text}\x1b[0m"

    def wrap(self, text: str, indent: int) -> list[str]:
        """The text in lines that fit beside an indent."""
        return _wrapped(printable(text), max(self.width - indent, ROOM))

    def add(self, margin: str, text: str, style: Style = "plain") -> None:
        """Put a text below, each of its lines wrapped and behind the margin."""
        for written in text.split("\n"):
            for line in self.wrap(written, len(margin)):
                self.lines.append(self.paint(margin, "dim") + self.paint(line, style))


def _fields(page: Canvas, tree: Tree) -> None:
    """What the heading of a tree says, as names and values in two columns."""
    fields = [
        ("trigger", tree.trigger),
        ("kind", tree.kind),
        ("question", tree.question),
        *(("" if n else "also", f"{e.letter}: {e.text}") for n, e in enumerate(tree.extras)),
        ("keywords", ", ".join(tree.keywords)),
        ("extends", tree.extends),
    ]
    fields = [(name, value) for name, value in fields if value.strip()]
    column = max((len(name) for name, _ in fields), default=0) + 2
    for name, value in fields:
        first, *rest = page.wrap(value, column) or [""]
        page.lines.append(page.paint(name.ljust(column), "dim") + first)
        page.lines.extend(" " * column + line for line in rest)


def _decision(page: Canvas, decision: Decision) -> None:
    """A decision's name, its question and its branches."""
    note = "  choose several" if decision.multi else ""
    names = page.wrap(decision.name, len(note)) or [""]
    page.lines.extend(page.paint(line, "bold") for line in names)
    page.lines[-1] += page.paint(note, "dim")
    page.add("", decision.question, "dim")
    waiting = _level(decision.options, "")
    while waiting:
        branch = waiting.pop()
        _branch(page, branch)
        waiting += _level(branch.option.options, branch.below)


class _Branch(msgspec.Struct, frozen=True, gc=False):
    """An option at its place in the drawing."""

    option: Option
    stem: str
    """What stands to the left of its line: the trunks of the levels above."""
    last: bool
    column: int
    """How wide the codes of its level are."""
    boxed: bool
    """Whether its level has boxes to tick."""

    @property
    def below(self) -> str:
        return self.stem + ("   " if self.last else "│  ")


def _level(options: tuple[Option, ...], stem: str) -> list[_Branch]:
    """The branches of one level, the first to be drawn at the end."""
    widths = [cells(_code(option)) for option in options]
    column = max((w for w in widths if w <= LONGEST_CODE), default=0)
    boxed = is_multi(options)
    last = len(options) - 1
    return [_Branch(o, stem, n == last, column, boxed) for n, o in enumerate(options)][::-1]


def _branch(page: Canvas, branch: _Branch) -> None:
    """An option's line, and below it whatever did not fit and its description."""
    option = branch.option
    fork = branch.stem + ("└─ " if branch.last else "├─ ")
    # The trunk of the level below starts under the code, beside the description.
    trunk = branch.below + ("│" if option.options else " ")
    margin = trunk.ljust(len(fork) + branch.column + 2 + 2 * branch.boxed)
    box = f"{BOX if option.multi else ' '} " if branch.boxed else ""
    style: Style = "dim" if option.derived else "code"
    code, *overlong = page.wrap(_code(option), len(margin)) or [""]
    label = page.wrap(option.label, len(margin))
    line = page.paint(fork, "dim") + page.paint(code, style)
    if not overlong and cells(code) <= branch.column:
        gap = " " * (branch.column - cells(code) + 2)
        line += gap + page.paint(box, "dim") + "".join(label[:1])
        label = label[1:]
    page.lines.append(line.rstrip(" "))
    page.lines.extend(page.paint(margin, "dim") + page.paint(rest, style) for rest in overlong)
    page.lines.extend(page.paint(margin, "dim") + rest for rest in label)
    page.add(margin, option.description, "dim")


def _code(option: Option) -> str:
    """A code as drawn; one that the author did not write stands in parentheses."""
    return f"({printable(option.code)})" if option.derived else printable(option.code)


def _family(parent: str, options: tuple[Option, ...]) -> list[tuple[str, Option, bool]]:
    """One level's options with their parent, the first to be drawn at the end."""
    other = other_of(options)
    return [(parent, option, option is other) for option in reversed(options)]


def cells(text: str) -> int:
    """How many columns of a terminal a text takes up."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    """Marks and joiners take no column, wide characters two."""
    if category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _wrapped(text: str, room: int) -> list[str]:
    """The text in lines of at most `room` columns, broken between words if words fit."""
    if text.isascii() and len(text) <= room:
        return [text] if text.strip(" ") else []
    lines = [""]
    used = 0
    for piece in _pieces(text):
        wide = cells(piece)
        if used + wide <= room:
            lines[-1] += piece
            used += wide
        elif piece.isspace():
            lines.append("")
            used = 0
        else:
            if used:
                lines.append("")
                used = 0
            for char in piece:
                if used + _cells(char) > room:
                    lines.append("")
                    used = 0
                lines[-1] += char
                used += _cells(char)
    return [line.strip(" ") for line in lines if line.strip(" ")]


def _pieces(text: str) -> Iterator[str]:
    """What a line may be broken between: words, spaces, and characters of wide scripts."""
    start = 0
    for end in range(1, len(text)):
        if _parts(text[end - 1], text[end]):
            yield text[start:end]
            start = end
    if text:
        yield text[start:]


def _parts(before: str, after: str) -> bool:
    """Whether a line may end between two characters."""
    if (before == " ") is not (after == " "):
        return True
    if before == _JOINER or after in _STICKY or not _cells(after):
        return False
    return _cells(before) == 2 or _cells(after) == 2
