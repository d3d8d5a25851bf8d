"""A chart out of a Mermaid flowchart: the parts of the language that say what leads where.

Looks (styles, classes, directions) and clicks are passed over. What Mermaid has no words for stands
in comments that begin with `%% quandary:`.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from html.entities import html5
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from quandary.errors import ParseError
from quandary.formats.charts import Direction, Sheet, direction, shape_of, tags_in
from quandary.model.chart import Chart, Page, Problem, Route, Scenery, SceneryKind, Shape, Step
from quandary.model.text import as_text, printable

MOST_AT_ONCE = 10_000  # lines that one arrow draws: `a & b --> c & d` multiplies
LONGEST_ATTRIBUTES = 4_000

_HEADER = re.compile(
    r"(?:graph|flowchart(?:-elk)?)(?![\w-])[ \t]*(?:(?:TB|TD|BT|RL|LR)(?!\w)|[<>^](?=\s)|v(?=\s))?"
)
_HEADER_AGAIN = re.compile(rf"{_HEADER.pattern}[ \t]*(?:[;\n]|$)")
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", re.DOTALL)
_TITLE = re.compile(r"(?m)^title[ \t]*:[ \t]*(.*?)[ \t]*$")
_BLANK = re.compile(r"[\s;]+")
_SPACE = re.compile(r"[ \t]*")
_ANY_SPACE = re.compile(r"\s*")
_LINE = re.compile(r"[^\n]*")
_REST = re.compile(r'(?:"[^"\n]*"|[^;\n])*')
_LOOKS = re.compile(r"(?:classDef|class|style|linkStyle|click|direction)(?=[ \t])|accTitle\s*:|```")
_DESCRIPTION = re.compile(r"accDescr\s*(?::[^\n]*|\{[^}]*\}?)")
_SUBGRAPH = re.compile(r"subgraph(?![\w-])[ \t]*")
_END = re.compile(r"end(?![\w-])")
_ID = re.compile(r"(?:[\w!#$'*+,./?\\`]|:(?!::)|-(?![->.\s]|$)|=(?!=)|%(?!%))+")
_LINK = re.compile(r"(?P<tail>[xo<]?)(?:--+[-xo>]|==+[=xo>]|-?\.+-[xo>]?|~~~+)")
_OPENED = re.compile(r"(?P<tail>[xo<]?)(?P<line>--|==|-\.)")
_GOES_ON = re.compile(r"\n\s*+(?=--|==|-\.|<[-=]|~~~)")  # with an arrow, on a further line
_CLOSED = {"--": r"--+[-xo>]", "==": r"==+[=xo>]", "-.": r"\.+-[xo>]?"}
_EDGE_NAME = re.compile(r"([\w-]+)@(?=[-=~.<xo])")
_EDGE_LOOKS = frozenset({"animate", "animation", "curve"})  # as in `e1@{ animate: true }`
_NAMED = re.compile(r"([\w-]+)@\{")
_CLASS = re.compile(r":::(?:[\w,]|-(?![-.]))+")
_BARS = re.compile(r'[ \t]*"([^"]*)"[ \t]*\||([^|]*)\|')
_OUTLINES = tuple(
    # A text may go over several lines, but not behind `>`, which closes nothing and opens often.
    # What stands on one line up to the closing sign is clear, if Mermaid itself would not have it.
    (
        opener,
        closer.replace("\\", ""),
        re.compile(
            rf'\s*"([^"]*)"\s*{closer}'
            rf'|([^\[\](){{}}"|{"" if opener != ">" else chr(10)}]*?){closer}'
            rf"|([^\n]*?){closer}"
        ),
    )
    for opener, closer in (
        *(("(((", r"\)\)\)"), ("((", r"\)\)"), ("([", r"\]\)"), ("(-", r"-\)"), ("(", r"\)")),
        *(("[[", r"\]\]"), ("[(", r"\)\]"), ("[/", r"[/\\]\]"), ("[\\", r"[/\\]\]"), ("[", r"\]")),
        *(("{{", r"\}\}"), ("{", r"\}"), (">", r"\]")),
    )
)
_QUOTED = r"""(?:"(?:\\.|[^"\\]++)*+"|(?<![^\s:,])'(?:''|[^']++)*+')"""
_ATTRIBUTES = re.compile(rf"""(?s)((?:{_QUOTED}|[^"'}}]++|')*+)\}}""")
_KEY = r"""["']?\b\w++["']?[ \t]*:"""
# A value without quotes goes on up to the next key.
_ATTRIBUTE = re.compile(rf"(?s)({_KEY})[ \t]*({_QUOTED}|(?:(?![,\n][ \t]*{_KEY}).)*+)")


class _Lost(Exception):  # noqa: N818 - said of a reader who does not know how to go on
    """The statement cannot be read from here on."""

    def __init__(self, at: int, wanted: str) -> None:
        super().__init__(wanted)
        self.at = at


def read(text: str, path: str) -> tuple[Chart, list[Problem]]:
    """The chart in a flowchart, and what is odd about it; `path` is for messages."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    reader = _Reader(text)
    if (begin := reader.header()) is None:
        first = next((line for line in text.split("\n") if line.strip()), "").strip()
        said = f" but {first[:30]!r}" if first else ""
        raise ParseError(f"{path}:1: there is no flowchart{said}; begin with `flowchart TD`")
    reader.statements(begin)
    return reader.pages.chart(path), reader.pages.problems


class _Reader:
    """A flowchart from its first statement to its last."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pages = Pages()
        self._directives = True  # whether there may still be the end of one further down
        self._edges: set[str] = set()  # the names of arrows
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    def line(self, at: int) -> int:
        return bisect_right(self._breaks, at - 1) + 1

    def header(self) -> int | None:
        """Where the first statement begins, behind titles, directives and comments."""
        at = self._after(_BLANK, 0)
        if front := _FRONT.match(self.text, at):
            if title := _TITLE.search(front[1]):
                self.pages.title = _unquoted(title[1])
            at = front.end()
        while True:
            at = self._after(_BLANK, at)
            if self.text.startswith("%%", at):
                at = self._comment(at)
            elif self.text.startswith("```", at):
                at = self._after(_LINE, at)
            else:
                break
        return found.end() if (found := _HEADER.match(self.text, at)) else None

    def statements(self, at: int) -> None:
        """Every statement; one that cannot be read is reported, and its line passed over."""
        while (at := self._after(_BLANK, at)) < len(self.text):
            try:
                at = self._statement(at)
            except _Lost as lost:
                rest = self.text[lost.at : self._after(_LINE, lost.at)].strip()
                place = f"at “{rest[:40]}”; the rest of the line is left out"
                message = f"expected {lost} {place if rest else 'at the end of the line'}"
                self.pages.complain("syntax", "error", message, self.line(at))
                at = self._after(_LINE, max(at, lost.at))

    def _statement(self, at: int) -> int:
        text = self.text
        if text.startswith("%%", at):
            return self._comment(at)
        if _LOOKS.match(text, at):
            return self._after(_REST, at)
        if found := _DESCRIPTION.match(text, at):
            return found.end()
        if found := _SUBGRAPH.match(text, at):
            return self._subgraph(found.end())
        if found := _END.match(text, at):
            self.pages.close(self.line(at))
            return found.end()
        if _HEADER_AGAIN.match(text, at):
            raise _Lost(at, "one flowchart in a file")
        return self._chain(at)

    def _chain(self, at: int) -> int:
        """Nodes, and arrows from each group of them to the next; or how an arrow looks."""
        begin = at
        if named := _NAMED.match(self.text, at):
            said, end = self._attributes(named.end())
            if named[1] in self._edges or (said and said.keys() <= _EDGE_LOOKS):
                return end
        sources, at = self._nodes(at)
        while True:
            at = self._after(_GOES_ON, self._after(_SPACE, at))
            if at >= len(self.text) or self.text[at] in "\n;" or self.text.startswith("%%", at):
                return at
            label, way, at = self._arrow(at)
            targets, at = self._nodes(self._after(_ANY_SPACE, at))
            if len(sources) * len(targets) > MOST_AT_ONCE:
                raise _Lost(begin, "fewer lines in one statement")
            if way is not None:
                for source in sources:
                    for target in targets:
                        self.pages.join(source, target, label, way, self.line(begin))
            sources = targets

    def _arrow(self, at: int) -> tuple[str, Direction | None, int]:
        """What stands on an arrow, where it points, and where it ends; hidden ones lead nowhere."""
        if name := _EDGE_NAME.match(self.text, at):
            self._edges.add(name[1])
            at = name.end()
        label = ""
        if found := _LINK.match(self.text, at):
            end = found
        elif found := _OPENED.match(self.text, at):
            label, end = self._text_on_arrow(found["line"], found.end())
        else:
            raise _Lost(at, "an arrow such as -->")
        at = end.end()
        after = self._after(_SPACE, at)
        if self.text.startswith("|", after):
            if not (bars := _BARS.match(self.text, after + 1)):
                raise _Lost(after + 1, "a second | after the text")
            label, at = bars[1] or bars[2] or "", bars.end()
        way = direction(found["tail"], end[0][-1].strip("-=")) if "~" not in found[0] else None
        return shown(label), way, at

    def _text_on_arrow(self, line: str, at: int) -> tuple[str, re.Match[str]]:
        """The text of `-- text -->`, up to the end of the line at most, and what ends it."""
        begin = self._after(_SPACE, at)
        label = ""
        if self.text.startswith('"', begin) and (end := self.text.find('"', begin + 1)) > 0:
            label, at = self.text[begin + 1 : end], end + 1
        found = re.compile(_CLOSED[line]).search(self.text, at, self._after(_LINE, at))
        if not found:
            raise _Lost(at, f"the end of the arrow that begins with {line}")
        return label or self.text[at : found.start()], found

    def _nodes(self, at: int) -> tuple[list[str], int]:
        """One node, or several with `&` between them."""
        keys = []
        while True:
            key, at = self._node(at)
            keys.append(key)
            after = self._after(_SPACE, at)
            if not self.text.startswith("&", after):
                return keys, at
            at = self._after(_ANY_SPACE, after + 1)

    def _node(self, at: int) -> tuple[str, int]:
        if not (found := _ID.match(self.text, at)):
            raise _Lost(at, "the name of a step")
        key = found[0]
        self.pages.node(key, self.line(at))
        at = self._outline(key, found.end())
        if self.text.startswith("@{", at):
            said, at = self._attributes(at + 2)
            self.pages.shape(key, said.get("shape", ""), shown(said.get("label", "")) or None)
        return key, self._after(_CLASS, at)

    def _outline(self, key: str, at: int) -> int:
        """The shape behind a node's name, with its text, if there is one."""
        for opener, closer, pattern in _OUTLINES:
            if self.text.startswith(opener, at):
                at += len(opener)
                if not (found := pattern.match(self.text, at)):
                    raise _Lost(at, f"{closer} after the text of a shape")
                text = shown((found[1] or found[2] or found[3] or "").strip().strip('"'))
                self.pages.shape(key, opener, text)
                return found.end()
        return at

    def _attributes(self, at: int) -> tuple[dict[str, str], int]:
        """What `@{ shape: diamond, label: "text" }` says, and where it ends."""
        last = self.text.rfind("}", at, at + LONGEST_ATTRIBUTES)
        closed = _ATTRIBUTES.match(self.text, at, last + 1) if last > 0 else None
        if not closed:
            raise _Lost(at, "} after the attributes")
        said = {
            key.strip("\"' \t:"): _unquoted(value.strip().removesuffix(","))
            for key, value in _ATTRIBUTE.findall(closed[1])
        }
        return said, closed.end()

    def _subgraph(self, at: int) -> int:
        """`subgraph id [Title]`, or a title alone."""
        end = self._after(_REST, at)
        words = self.text[at:end].strip()
        key, bracket, title = words.partition("[")
        if key and bracket and title.endswith("]"):
            key, title = key.strip(), title[:-1]
        else:
            key, title = words.strip('"'), words
        self.pages.open(key, shown(title.strip().strip('"')), self.line(at))
        return end

    def _comment(self, at: int) -> int:
        """A comment, a directive, or a remark that is meant for us."""
        if self.text.startswith("%%{", at):
            end = self.text.find("}%%", at) if self._directives else -1
            self._directives = end > 0
            return end + 3 if end > 0 else self._after(_LINE, at)
        end = self._after(_LINE, at)
        words = self.text[at + 2 : end].strip()
        if words.startswith("quandary:"):
            self.pages.remark(words.removeprefix("quandary:"), self.line(at))
        return end

    def _after(self, pattern: re.Pattern[str], at: int) -> int:
        found = pattern.match(self.text, at)
        return found.end() if found else at


def _unquoted(value: str) -> str:
    """A text as YAML has it: in quotes or not."""
    if value.startswith('"'):
        try:
            return msgspec.json.decode(value, type=str)
        except msgspec.DecodeError:
            return value.strip('"')
    if value.startswith("'"):
        return value[1:].removesuffix("'").replace("''", "'")
    return re.sub(r"^[|>][+-]?\s+", "", value)


_SHAPES = frozenset(get_args(Shape))
_SCENERY = frozenset(get_args(SceneryKind))
_STEP = ("step", "id", "text", "shape", "tags", "metadata", "notes", "lane")


class _Stroke(msgspec.Struct):
    """A line between nodes, or one that a comment gives by the ids of steps."""

    source: str
    target: str
    label: str
    way: Direction
    line: int
    drawn: bool = True


class _Sheet(msgspec.Struct):
    """A page under way."""

    id: str = ""
    name: str = ""
    line: int = 0
    keys: list[str] = []  # the names of its nodes
    strokes: list[_Stroke] = []
    scenery: list[Scenery] = []


class Pages:
    """The pages of a chart while statements come in."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.start = ""
        self.problems: list[Problem] = []
        self._sheet = self._root = _Sheet()
        self._sheets = [self._root]
        self._nodes: dict[str, Step] = {}  # the last that was said of each; lines know names
        self._homes: dict[str, _Sheet] = {}
        self._bare: set[str] = set()  # nodes of which nothing but the name has been said
        self._open: list[tuple[str, str, _Sheet]] = []  # subgraphs: id, title, the page before
        self._last: _Stroke | None = None

    def node(self, key: str, line: int) -> None:
        if key not in self._nodes:
            lane = self._open[-1][1] if self._open else ""
            self._nodes[key] = Step(key, key, outlined("", key), lane=lane, line=line)
            self._homes[key] = self._sheet
            self._bare.add(key)
            self._sheet.keys.append(key)

    def shape(self, key: str, outline: str, text: str | None) -> None:
        """A node is drawn; the last text counts, as it does for Mermaid."""
        text = self._nodes[key].text if text is None else text
        self._nodes[key] = replace(self._nodes[key], text=text, shape=outlined(outline, text))
        self._bare.discard(key)

    def join(self, source: str, target: str, label: str, way: Direction, line: int) -> None:
        self._last = _Stroke(source, target, label, way, line)
        self._homes[source].strokes.append(self._last)

    def open(self, key: str, title: str, line: int) -> None:
        """A subgraph begins: a frame around steps, unless a comment says that it is a page."""
        self._open.append((key, title, self._sheet))
        self._sheet.scenery.append(Scenery(key, "container", title, line))

    def close(self, line: int) -> None:
        if self._open:
            _, _, self._sheet = self._open.pop()
        else:
            self.complain("end-alone", "warning", "an `end` without a subgraph; left out", line)

    def chart(self, path: str) -> Chart:
        """The chart as a whole, once everything was said."""
        if self._open:
            key, title, _ = self._open[-1]
            message = f"the subgraph {title or key} is never closed; write `end` after it"
            self.complain("subgraph-open", "warning", message, 0)
        root = self._root
        used = root.id or root.name or root.keys or root.strokes or root.scenery
        sheets = self._sheets if used or len(self._sheets) == 1 else self._sheets[1:]
        name = os.path.splitext(os.path.basename(path))[0] if self.title is None else self.title
        return Chart(name, tuple(map(self._page, sheets)), self.start)

    def _page(self, sheet: _Sheet) -> Page:
        drawn = Sheet(sheet.id, sheet.name, sheet.line)
        frames = {thing.id for thing in sheet.scenery}
        kept = [key for key in sheet.keys if key not in frames & self._bare]
        drawn.shapes = [self._nodes[key] for key in kept]
        for stroke in sheet.strokes:
            ends = (stroke.source, stroke.target)
            source, target = (self._nodes[end].id for end in ends) if stroke.drawn else ends
            drawn.join(Route(source, target, stroke.label, stroke.line), stroke.way, self.problems)
        return replace(drawn.page(self.problems), scenery=tuple(sheet.scenery))

    def remark(self, text: str, line: int) -> None:
        """What a comment adds to a step, a line, a page or the chart."""
        try:
            said = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            said = None
        if not isinstance(said, dict):
            message = 'a comment for quandary is JSON, like {"step": "a", "tags": ["HUMAN"]}'
            self.complain("comment", "error", message, line)
        elif "step" in said:
            self._add_to_step(said, line)
        elif isinstance(page := said.get("page"), dict):
            self._turn_page(as_text(page.get("id")), as_text(page.get("name")), line)
        elif isinstance(route := said.get("route"), dict):
            ends = as_text(route.get("source")), as_text(route.get("target"))
            label = as_text(route.get("label"))
            self._sheet.strokes.append(_Stroke(*ends, label, "forward", line, drawn=False))
        elif isinstance(thing := said.get("scenery"), dict) and thing.get("kind") in _SCENERY:
            key, words = as_text(thing.get("id")), as_text(thing.get("text"))
            self._sheet.scenery.append(Scenery(key, thing["kind"], words, line))
        elif "label" in said and self._last is not None:
            self._last.label = as_text(said["label"])
        elif "start" in said:
            self.start = as_text(said["start"])
        else:
            message = f"a comment for quandary says {', '.join(said) or 'nothing'}"
            self.complain("comment", "warning", f"{message}, which means nothing here", line)

    def _add_to_step(self, said: dict[str, Any], line: int) -> None:
        key = as_text(said["step"])
        self.node(key, line)
        step = self._nodes[key]
        given, tags = said.get("metadata"), said.get("tags")
        data = dict(given) if isinstance(given, dict) else {}
        data |= {name: value for name, value in said.items() if name not in _STEP}
        self._nodes[key] = replace(
            step,
            id=as_text(said.get("id", step.id)),
            text=as_text(said.get("text", step.text)),
            shape=said["shape"] if said.get("shape") in _SHAPES else step.shape,
            tags=(*step.tags, *(tags_in(tags) if isinstance(tags, str) else _texts(tags))),
            metadata={**step.metadata, **{name: as_text(value) for name, value in data.items()}},
            notes=(*step.notes, *_texts(said.get("notes"))),
            lane=as_text(said.get("lane", step.lane)),
        )

    def _turn_page(self, key: str, name: str, line: int) -> None:
        """The subgraph that is open is a page of its own; outside of one, the page has a name."""
        if not self._open:
            self._root.id, self._root.name, self._root.line = key, name, line
            return
        frame, _, above = self._open[-1]
        if above.scenery and above.scenery[-1].id == frame:
            above.scenery.pop()
        self._open[-1] = (frame, "", above)
        self._sheet = _Sheet(key, name, line)
        self._sheets.append(self._sheet)

    def complain(self, rule: str, severity: Any, message: str, line: int) -> None:  # noqa: ANN401
        self.problems.append(Problem(rule, severity, message, (), line))


def _texts(value: object) -> list[str]:
    if isinstance(value, list):
        return [as_text(part) for part in value]
    return [as_text(value)] if value else []


_NAMES: dict[Shape, str] = {
    "terminator": "([ (( ((( stadium terminal pill circle circ sm-circ small-circle start stop "
    "dbl-circ double-circle fr-circ framed-circle",
    "decision": "{ diam diamond decision question",
    "subprocess": "[[ fr-rect framed-rectangle subproc subprocess subroutine",
}
OUTLINES = {name: shape for shape, names in _NAMES.items() for name in names.split()}
"""What shapes are by the sign that opens them, or by their names in `a@{ shape: diamond }`."""

_UNSAFE = re.compile(r"[^\w ]|_")
_UNSAFE_IN_PROSE = re.compile(r"[^\w ,?!'().-]|_|(?<![^\W\d_])[)-]|(?<![^\W\d_])(?<!\))\.")
_ENTITY = re.compile(r"[#&](?:#?(\d{1,7})|([A-Za-z][A-Za-z0-9]{1,31}));")
_BREAK = re.compile(r"[ \t]*<br\s*/?>[ \t]*", re.IGNORECASE)


def quote(text: str) -> str:
    """A text that Mermaid reads as nothing but text: all but letters, digits and spaces encoded."""
    # Mermaid has no empty string: it takes a blank one for it.
    return _UNSAFE.sub(_number, text) or " "


def quote_lines(text: str) -> str:
    """The same for prose of several lines, which people may want to read and change. A few signs
    stay as they are: full stops, hyphens and brackets only behind a letter, since a number or a
    line's beginning in front of them makes a list.
    """
    lines = (_UNSAFE_IN_PROSE.sub(_number, printable(line)) for line in text.split("\n"))
    return "<br/>".join(lines) or " "


def shown(label: str) -> str:
    """What a reader of the picture sees: entities as signs, breaks as breaks, no space around."""
    text = label.strip()
    if len(text) > 1 and text[0] == text[-1] == "`":  # a string in Markdown
        text = text[1:-1]
    if "<" in text:
        text = _BREAK.sub("\n", text)
    if "#" in text or "&" in text:
        text = _ENTITY.sub(_sign, text)
    return text.strip()


def outlined(outline: str, text: str) -> Shape:
    """What a shape of that outline or name is, with that text in it."""
    return shape_of(OUTLINES.get(outline, "process"), text)


def remark(**said: Any) -> str:  # noqa: ANN401 - anything that JSON can say
    """A comment for us, on one line that no reader takes for anything but a comment."""
    return f"%% quandary: {compact(said)}"


def compact(value: object) -> str:
    """JSON that holds no sign with a meaning of its own, in Mermaid, HTML or a terminal."""
    return "".join(map(_safe, msgspec.json.encode(value).decode()))


def _number(match: re.Match[str]) -> str:
    return f"#{ord(match[0])};"


def _safe(char: str) -> str:
    if char.isprintable() and char not in "%<>&":
        return char
    return re.sub("(....)", r"\\u\1", char.encode("utf-16-be").hex())


def _sign(match: re.Match[str]) -> str:
    number, name = match[1], match[2]
    if name is not None:
        return html5.get(f"{name};", match[0])
    code = int(number)
    return chr(code) if code < 0xD800 or 0xDFFF < code <= 0x10FFFF else match[0]
