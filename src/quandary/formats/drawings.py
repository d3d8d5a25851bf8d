"""Trees and charts as pictures: in text for a terminal, for Mermaid and for Graphviz."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Literal
from unicodedata import category, east_asian_width

import msgspec

from quandary.formats.charts.mermaid import compact, outlined, quote, quote_lines, remark, shown
from quandary.model.calls import fold
from quandary.model.chart import Chart, Map, Page, Route, Step
from quandary.model.text import printable
from quandary.model.tree import Decision, Option, Tree, is_multi, other_of

Style = Literal["plain", "bold", "dim", "code"]

BOX = "☐"
ROOM = 20  # a text has at least this many columns, even where its branch has used up the width
LONGEST_CODE = 12  # a longer one pushes its own label down, not those of its level

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
    ids = map("n{}".format, count(1))
    for decision in tree.decisions:
        yield (node := Node(next(ids), "", printable(decision.name), "decision"))
        waiting = _family(node.id, decision.options)
        while waiting:
            parent, option, other = waiting.pop()
            shape: Literal["branch", "leaf"] = "branch" if option.options else "leaf"
            yield (node := Node(next(ids), parent, caption(option), shape, other))
            waiting += _family(node.id, option.options)


def draw_tree(tree: Tree, *, width: int, colour: bool) -> str:
    """The tree for people to read: what it is for, then each decision with its branches."""
    page = Canvas(width, colour=colour)
    if [decision.name for decision in tree.decisions] != [tree.name]:
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

    def hang(
        self, first: str, margin: str, text: str, style: Style = "plain", note: str = ""
    ) -> None:
        """Put a text below, wrapped behind `first` and then the margin, with a note at its end."""
        for n, line in enumerate(self.wrap(text, len(margin) + len(note)) or [""]):
            self.lines.append((margin if n else first) + self.paint(line, style))
        self.lines[-1] += self.paint(note, "dim")


def _fields(page: Canvas, tree: Tree) -> None:
    """What the heading of a tree says, as names and values in two columns."""
    fields = [(name, getattr(tree, name)) for name in ("trigger", "kind", "question")]
    fields += [("" if n else "also", extra.shown) for n, extra in enumerate(tree.extras)]
    fields.append(("keywords", ", ".join(tree.keywords)))
    fields += [(name, getattr(tree, name)) for name in ("extends", "require", "shape")]
    fields = [(name, value) for name, value in fields if value.strip()]
    column = max((len(name) for name, _ in fields), default=0) + 2
    for name, value in fields:
        page.hang(page.paint(name.ljust(column), "dim"), " " * column, value)


def _decision(page: Canvas, decision: Decision) -> None:
    """A decision's name, its question and its branches."""
    page.hang("", "", decision.name, "bold", "  choose several" if decision.multi else "")
    page.add("", decision.question, "dim")
    waiting = _level(decision.options, "")
    while waiting:
        branch = waiting.pop()
        _branch(page, branch)
        waiting += _level(branch.option.options, branch.below)


class _Branch(msgspec.Struct, frozen=True, gc=False):
    """An option at its place in the drawing."""

    option: Option
    fork: str  # what stands to the left of its line: trunks from above, and its own branch
    below: str  # what stands to the left of whatever is below it
    column: int  # how wide the codes of its level are
    boxed: bool  # whether its level has boxes to tick


def _level(options: tuple[Option, ...], stem: str) -> list[_Branch]:
    """The branches of one level, the first to be drawn at the end."""
    widths = [cells(_code(option)) for option in options]
    column = max((w for w in widths if w <= LONGEST_CODE), default=0)
    sides = [("├─ ", "│  ")] * (len(options) - 1) + [("└─ ", "   ")]
    boxed = is_multi(options)
    pairs = zip(options, sides, strict=False)
    level = [_Branch(o, stem + fork, stem + below, column, boxed) for o, (fork, below) in pairs]
    return level[::-1]


def _branch(page: Canvas, branch: _Branch) -> None:
    """An option's line, and below it whatever did not fit and its description."""
    option = branch.option
    # The trunk of the level below starts under the code, beside the description.
    trunk = branch.below + ("│" if option.options else " ")
    margin = trunk.ljust(len(branch.fork) + branch.column + 2 + 2 * branch.boxed)
    box = f"{BOX if option.multi else ' '} " if branch.boxed else ""
    style: Style = "dim" if option.derived else "code"
    code, *overlong = page.wrap(_code(option), len(margin)) or [""]
    label = page.wrap(option.label, len(margin))
    line = page.paint(branch.fork, "dim") + page.paint(code, style)
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
    return len(text) if text.isascii() else sum(map(_cells, text))


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
            continue
        if used or piece.isspace():
            lines.append("")
            used = 0
        if not piece.isspace():
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
        before, after = text[end - 1], text[end]
        spaced = (before == " ") is not (after == " ")
        glued = before == _JOINER or after in _STICKY or not _cells(after)
        if spaced or (not glued and 2 in (_cells(before), _cells(after))):
            yield text[start:end]
            start = end
    if text:
        yield text[start:]


LONGEST_LABEL = 20  # a label longer than this stands above its arrow
LONGEST_LIST = 10  # how many notes and frames are listed


def draw_chart(chart: Chart, pages: list[Page], *, width: int, colour: bool) -> str:
    """Pages of a chart, each step with what leads on from it."""
    canvas = Canvas(width, colour=colour)
    canvas.add("", chart.name, "bold")
    for page in pages:
        if page.name and (len(pages) > 1 or page.name != chart.name):
            canvas.lines.append("")
            canvas.add("", page.name, "bold")
        if page.steps:
            canvas.lines.append("")
        _draw_page(canvas, chart, page)
    return "".join(f"{line}\n" for line in canvas.lines)


def _draw_page(canvas: Canvas, chart: Chart, page: Page) -> None:
    plan = Map(page, chart)
    reached = list(plan.walk(plan.start)) if plan.start is not None else []
    known = {step.id for step in reached}
    lost = [step for step in plan.steps.values() if step.id not in known]
    numbers = {step.id: n for n, step in enumerate([*reached, *lost], 1)}
    for step in (*reached, *lost):
        if reached and lost and step is lost[0]:
            canvas.lines.append("")
            canvas.add("", "Nothing leads here:", "dim")
        _draw_step(canvas, plan, step, numbers)
    # What else is drawn there, which nobody is asked about.
    if said := [thing for thing in page.scenery if thing.text]:
        canvas.lines.append("")
        canvas.add("", "Also drawn:", "dim")
    for thing in said[:LONGEST_LIST]:
        canvas.add("  ", f"{thing.kind}: {' '.join(thing.text.split())}", "dim")
    if len(said) > LONGEST_LIST:
        canvas.add("  ", f"… and {len(said) - LONGEST_LIST} more", "dim")


def _draw_step(canvas: Canvas, plan: Map, step: Step, numbers: dict[str, int]) -> None:
    """A step: its number and name, what is to be done, what is said of it, its ways out."""
    margin = " " * (len(str(len(numbers))) + 2)
    number = str(numbers[step.id]).rjust(len(margin) - 2)
    kind = plan.kind(step)
    note = "" if kind == "process" else f"  {kind}"
    canvas.hang(f"{canvas.paint(number, 'code')}  ", margin, step.name, "bold", note)
    # What is to be done, as far as the name does not say it.
    head, _, rest = step.prompt.strip().partition("\n")
    named = " ".join(head.split()) == step.name
    canvas.add(margin, rest.strip() if named else step.prompt.strip())
    for name, value in _facts(plan, step):
        canvas.add(margin, f"{name}: {' '.join(value.split())}", "dim")
    _ways(canvas, plan, plan.ways(step), numbers, margin)


def _facts(plan: Map, step: Step) -> list[tuple[str, str]]:
    """What is said of a step besides its text."""
    called = plan.chart.called(step) if plan.chart is not None else None
    facts = [("runs", called.name or called.id)] if called is not None else []
    facts += [("tags", ", ".join(step.tags))] if step.tags else []
    facts += [("in", step.lane)] if step.lane else []
    hidden = {"page", "chart", "file"} if called is not None else set()
    told = ((name, value) for name, value in step.metadata.items() if fold(name) not in hidden)
    facts += [fact for fact in told if fact[1] != step.prompt]
    return [*facts, *(("note", note) for note in step.notes)]


def _ways(
    canvas: Canvas, plan: Map, ways: list[Route], numbers: dict[str, int], margin: str
) -> None:
    labels = [printable(route.label).strip(" ") for route in ways]
    column = max((cells(label) for label in labels if cells(label) <= LONGEST_LABEL), default=0)
    for route, label in zip(ways, labels, strict=True):
        target = plan.follow(route)
        if cells(label) > LONGEST_LABEL:
            canvas.add(margin, label, "code")
            label = ""  # noqa: PLW2901 - it stands above the arrow
        gap = " " * (column - cells(label) + 1) if column else ""
        arrow = f"{gap}→ {numbers[target.id]}  "
        room = len(margin) + cells(label) + len(arrow)
        first, *rest = canvas.wrap(target.name, room) or [""]
        line = f"{margin}{canvas.paint(label, 'code')}{arrow}{canvas.paint(first, 'dim')}"
        canvas.lines.append(line.rstrip(" "))
        canvas.lines.extend(" " * room + canvas.paint(part, "dim") for part in rest)


_DOT_ROUND = "shape=box style=rounded"
_DOT_SHAPES = {"decision": "shape=hexagon", "branch": "shape=box", "leaf": _DOT_ROUND}
_DOT_OTHER = {"branch": "shape=box style=dashed", "leaf": 'shape=box style="rounded,dashed"'}
_DOT_STEPS = {
    "process": "shape=box",
    "decision": "shape=diamond",
    "terminator": _DOT_ROUND,
    "subprocess": "shape=box peripheries=2",
    "connector": "shape=circle",
}
# Graphviz reads entities in every label, so an ampersand needs its own.
_DOT_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def tree_as_dot(tree: Tree) -> str:
    """The tree as a digraph: decisions in hexagons, branches in boxes, leaves rounded."""
    lines = [
        f"digraph {_dot_text(printable(tree.name))} {{",
        "  rankdir=LR",
        '  node [fontname="Helvetica,Arial,sans-serif" fontsize=12]',
        "  edge [arrowsize=0.7]",
    ]
    for node in nodes(tree):
        look = (_DOT_OTHER if node.other else _DOT_SHAPES)[node.shape]
        lines.append(f"  {node.id} [label={_dot_text(node.caption)} {look}]")
        if node.parent:
            lines.append(f"  {node.parent} -> {node.id}")
    lines.append("}")
    return "".join(f"{line}\n" for line in lines)


def chart_as_dot(chart: Chart, pages: list[Page]) -> str:
    """Pages of a chart as a digraph; of several, each has a frame of its own."""
    lines = [
        f"digraph {_dot_text(printable(chart.name))} {{",
        '  node [fontname="Helvetica,Arial,sans-serif" fontsize=12]',
        '  edge [fontname="Helvetica,Arial,sans-serif" fontsize=10 arrowsize=0.7]',
    ]
    for number, page in enumerate(pages, 1):
        if len(pages) == 1:
            lines += _dot_page(page, "n")
            continue
        lines += [f"  subgraph cluster_{number} {{", f"    label={_dot_text(page.name or page.id)}"]
        lines += (f"  {line}" for line in _dot_page(page, f"p{number}n"))
        lines.append("  }")
    lines.append("}")
    return "".join(f"{line}\n" for line in lines)


def _dot_page(page: Page, prefix: str) -> Iterator[str]:
    known: dict[str, str] = {}
    for number, step in enumerate(page.steps, 1):
        key = f"{prefix}{number}"
        known.setdefault(step.id, key)
        yield f"  {key} [label={_dot_text(step.text)} {_DOT_STEPS[step.shape]}]"
    for route in page.routes:
        source, target = known.get(route.source), known.get(route.target)
        if source and target:
            label = f" [label={_dot_text(route.label)}]" if route.label else ""
            yield f"  {source} -> {target}{label}"


def _dot_text(text: str) -> str:
    lines = (printable(line).translate(_DOT_ESCAPES) for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'


_MERMAID_SHAPES = {"decision": '{{{{"{}"}}}}', "branch": '["{}"]', "leaf": '("{}")'}
_MERMAID_OUTLINES = {
    "process": ("[", "]"),
    "decision": ("{", "}"),
    "terminator": ("([", "])"),
    "subprocess": ("[[", "]]"),
    "connector": ("((", "))"),
}
_KEY = re.compile(r"[A-Za-z0-9_]{1,40}")
_WORDS = frozenset(
    {
        *("graph", "flowchart", "subgraph", "end", "direction", "default", "interpolate"),
        *("class", "classdef", "style", "linkstyle", "click", "call", "href"),
    }
)


def tree_as_mermaid(tree: Tree) -> str:
    """The tree as a flowchart: decisions in hexagons, branches in boxes, leaves rounded. Mermaid
    itself refuses more than 500 options, or 50,000 characters, unless the page that shows the chart
    raises its `maxEdges` and `maxTextSize`.
    """
    lines = ["flowchart LR"]
    others = []
    for node in nodes(tree):
        shape = _MERMAID_SHAPES[node.shape].format(quote(node.caption))
        lines.append(f"  {f'{node.parent} --> ' if node.parent else ''}{node.id}{shape}")
        others += [node.id] if node.other else []
    if others:
        lines += ["  classDef other stroke-dasharray:4 3", f"  class {','.join(others)} other"]
    return "".join(f"{line}\n" for line in lines)


def chart_as_mermaid(chart: Chart) -> str:
    """The chart as a flowchart that reads back as the same chart; each page is a subgraph."""
    lines = ["---", f"title: {compact(chart.name)}", "---", "flowchart TD"]
    if chart.start:
        lines.append(f"  {remark(start=chart.start)}")
    given: set[str] = set()
    numbers = count(1)

    def name(wanted: str) -> str:
        """The name that is wanted for a node, if Mermaid accepts it and it is free, or another."""
        while not _KEY.fullmatch(wanted) or wanted.casefold() in _WORDS or wanted in given:
            wanted = f"n{next(numbers)}"
        given.add(wanted)
        return wanted

    if len(chart.pages) == 1:
        lines += _mermaid_page(chart.pages[0], name)
    else:
        for number, page in enumerate(chart.pages, 1):
            lines.append(f'  subgraph {name(f"page{number}")}["{quote_lines(page.name)}"]')
            lines += (f"  {line}" for line in _mermaid_page(page, name, always=True))
            lines.append("  end")
    return "".join(f"{line}\n" for line in lines)


def _mermaid_page(page: Page, name: Callable[[str], str], *, always: bool = False) -> Iterator[str]:
    if always or page.id or page.name:
        yield f"  {remark(page={'id': page.id, 'name': page.name})}"
    for thing in page.scenery:
        yield f"  {remark(scenery={field: getattr(thing, field) for field in thing.said})}"
    known: dict[str, str] = {}
    for step in page.steps:
        key = name(step.id)
        known.setdefault(step.id, key)
        yield from _mermaid_step(step, key)
    for route in page.routes:
        source, target = known.get(route.source), known.get(route.target)
        label = quote_lines(route.label)
        if source is None or target is None:
            yield f"  {remark(route={field: getattr(route, field) for field in route.said})}"
        elif not route.label:
            yield f"  {source} --> {target}"
        else:
            yield f'  {source} -->|"{label}"| {target}'
            if shown(label) != route.label:
                yield f"  {remark(label=route.label)}"


def _mermaid_step(step: Step, key: str) -> Iterator[str]:
    opener, closer = _MERMAID_OUTLINES[step.shape]
    label = quote_lines(step.text)
    yield f'  {key}{opener}"{label}"{closer}'
    said: dict[str, Any] = {}
    if key != step.id:
        said["id"] = step.id
    if (text := shown(label)) != step.text:
        said["text"] = step.text
    if outlined(opener, text) != step.shape:
        said["shape"] = step.shape
    for name in ("tags", "metadata", "notes", "lane"):
        if value := getattr(step, name):
            said[name] = value
    if said:
        yield f"  {remark(step=key, **said)}"
