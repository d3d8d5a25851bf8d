"""A chart out of a Mermaid flowchart: the parts of the language that say what leads where.

Looks (styles, classes, directions) and clicks are passed over. What Mermaid has no words for stands
in comments that begin with `%% quandary:`; see `mermaid_pages`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from quandary.errors import ParseError
from quandary.formats import mermaid_text
from quandary.formats.mermaid_pages import Pages
from quandary.model.soundness import Problem

if TYPE_CHECKING:
    from quandary.formats.shapes import Direction
    from quandary.model.chart import Chart

MOST_AT_ONCE = 10_000
"""`a & b --> c & d` multiplies; more lines than this are not drawn by one arrow."""
LONGEST_ATTRIBUTES = 4_000

_HEADER = re.compile(
    r"(?:graph|flowchart(?:-elk)?)(?![\w-])[ \t]*(?:(?:TB|TD|BT|RL|LR)(?!\w)|[<>^](?=\s)|v(?=\s))?"
)
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
_ID = re.compile(r"(?:[\w!#$'*+./?\\`]|-(?![->.\s]|$)|=(?!=)|%(?!%))+")
_LINK = re.compile(
    r"(?P<tail>[xo<]?)(?:--+(?P<a>[-xo>])|==+(?P<b>[=xo>])|-?\.+-(?P<c>[xo>]?)|(?P<none>~~~+))"
)
_OPENED = re.compile(r"(?P<tail>[xo<]?)(?P<line>--|==|-\.)")
_CLOSED = {
    "--": re.compile(r"--+(?P<head>[-xo>])"),
    "==": re.compile(r"==+(?P<head>[=xo>])"),
    "-.": re.compile(r"\.+-(?P<head>[xo>]?)"),
}
_EDGE_NAME = re.compile(r"[\w-]+@(?=[-=~.<xo])")
_CLASS = re.compile(r":::[\w-]+(?:,[\w-]+)*")
_OUTLINES = tuple(
    # A text may go over several lines, but not behind `>`, which closes nothing and opens often.
    (
        opener,
        re.compile(rf'[^\[\](){{}}"|{"" if opener != ">" else chr(10)}]*?(?={closer})'),
        re.compile(closer),
    )
    for opener, closer in (
        ("(((", r"\)\)\)"),
        ("((", r"\)\)"),
        ("([", r"\]\)"),
        ("(-", r"-\)"),
        ("(", r"\)"),
        ("[[", r"\]\]"),
        ("[(", r"\)\]"),
        ("[/", r"[/\\]\]"),
        ("[\\", r"[/\\]\]"),
        ("[", r"\]"),
        ("{{", r"\}\}"),
        ("{", r"\}"),
        (">", r"\]"),
    )
)
_ATTRIBUTES = re.compile(r"""(?:"[^"]*"|'[^']*'|[^"'}])*\}""")
_ATTRIBUTE = re.compile(r'(\w+)[ \t]*:[ \t]*(?:"([^"]*)"|\'([^\']*)\'|([^,}\n]*))')


class _Lost(Exception):  # noqa: N818 - said of a reader who does not know how to go on
    """The statement cannot be read from here on."""

    def __init__(self, at: int, wanted: str) -> None:
        super().__init__(wanted)
        self.at = at


def read(text: str, path: str) -> tuple[Chart, list[Problem]]:
    """The chart in a flowchart, and what is odd about it; `path` is for messages."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    reader = _Reader(text)
    begin = reader.header()
    if begin is None:
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
        self._directives = True
        """Whether there may still be the end of one further down."""
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    def line(self, at: int) -> int:
        """The number of the line that a place is on."""
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
        found = _HEADER.match(self.text, at)
        return found.end() if found else None

    def statements(self, at: int) -> None:
        """Every statement; one that cannot be read is reported, and its line passed over."""
        while (at := self._after(_BLANK, at)) < len(self.text):
            try:
                at = self._statement(at)
            except _Lost as lost:
                rest = self.text[lost.at : self._after(_LINE, lost.at)].strip()
                place = f"at “{rest[:40]}”; the rest of the line is left out"
                message = f"expected {lost} {place if rest else 'at the end of the line'}"
                problem = Problem("syntax", "error", message, (), self.line(at))
                self.pages.problems.append(problem)
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
        return self._chain(at)

    # -- lines ---------------------------------------------------------------------------------

    def _chain(self, at: int) -> int:
        """Nodes, and arrows from each group of them to the next."""
        begin = at
        sources, at = self._nodes(at)
        while True:
            at = self._after(_SPACE, at)
            if self._ends(at):
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

    def _ends(self, at: int) -> bool:
        return at >= len(self.text) or self.text[at] in "\n;" or self.text.startswith("%%", at)

    def _arrow(self, at: int) -> tuple[str, Direction | None, int]:
        """What stands on an arrow, where it points, and where it ends; hidden ones lead nowhere."""
        at = self._after(_EDGE_NAME, at)
        label = ""
        if found := _LINK.match(self.text, at):
            tail, head = found["tail"], found["a"] or found["b"] or found["c"] or ""
            hidden = found["none"] is not None
            at = found.end()
        elif found := _OPENED.match(self.text, at):
            tail, hidden = found["tail"], False
            label, head, at = self._text_on_arrow(found["line"], found.end())
        else:
            raise _Lost(at, "an arrow such as -->")
        after = self._after(_SPACE, at)
        if self.text.startswith("|", after):
            label, at = self._between_bars(after + 1)
        if hidden:
            return "", None, at
        return mermaid_text.shown(label), _pointing(tail, head), at

    def _text_on_arrow(self, line: str, at: int) -> tuple[str, str, int]:
        """The text of `-- text -->`, up to the end of the line at most."""
        begin = self._after(_SPACE, at)
        label = None
        if self.text.startswith('"', begin) and (end := self.text.find('"', begin + 1)) > 0:
            label, at = self.text[begin + 1 : end], end + 1
        limit = self._after(_LINE, at)
        found = _CLOSED[line].search(self.text, at, limit)
        if not found:
            raise _Lost(at, f"the end of the arrow that begins with {line}")
        return label or self.text[at : found.start()], found["head"], found.end()

    def _between_bars(self, at: int) -> tuple[str, int]:
        """The text of `-->|text|`."""
        begin = self._after(_SPACE, at)
        if self.text.startswith('"', begin):
            end = self.text.find('"', begin + 1)
            bar = self._after(_SPACE, end + 1)
            if end > 0 and self.text.startswith("|", bar):
                return self.text[begin + 1 : end], bar + 1
        bar = self.text.find("|", at, self._after(_LINE, at))
        if bar < 0:
            raise _Lost(at, "a second | behind the text")
        return self.text[at:bar], bar + 1

    # -- nodes ---------------------------------------------------------------------------------

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
        found = _ID.match(self.text, at)
        if not found:
            raise _Lost(at, "the name of a step")
        key = found[0]
        self.pages.node(key, self.line(at))
        at = found.end()
        if self.text.startswith("@{", at):
            at = self._attributes(key, at + 2)
        else:
            at = self._outline(key, at)
        return key, self._after(_CLASS, at)

    def _outline(self, key: str, at: int) -> int:
        """The shape behind a node's name, with its text, if there is one."""
        for opener, plain, closer in _OUTLINES:
            if not self.text.startswith(opener, at):
                continue
            label, end = self._label(at + len(opener), plain, closer)
            text = mermaid_text.shown(label)
            self.pages.shape(key, text, mermaid_text.outlined(opener, text))
            return end
        return at

    def _label(self, at: int, plain: re.Pattern[str], closer: re.Pattern[str]) -> tuple[str, int]:
        begin = self._after(_ANY_SPACE, at)
        if self.text.startswith('"', begin):
            end = self.text.find('"', begin + 1)
            closed = closer.match(self.text, self._after(_ANY_SPACE, end + 1)) if end > 0 else None
            if closed:
                return self.text[begin + 1 : end], closed.end()
        found = plain.match(self.text, at)
        if not found:  # Mermaid itself would have none of it, but what is meant is clear
            limit = self._after(_LINE, at)
            found = closer.search(self.text, at, limit)
            if not found:
                raise _Lost(at, f"{closer.pattern.replace(chr(92), '')} behind the text of a shape")
            return self.text[at : found.start()].strip().strip('"'), found.end()
        closed = closer.match(self.text, found.end())
        return found[0], closed.end() if closed else found.end()

    def _attributes(self, key: str, at: int) -> int:
        """`@{ shape: diamond, label: "text" }`"""
        end = self._closing_brace(at)
        said = {
            match[1]: next(part for part in match.groups()[1:] if part is not None)
            for match in _ATTRIBUTE.finditer(self.text, at, end)
        }
        text = mermaid_text.shown(said.get("label", key))
        self.pages.shape(key, text, mermaid_text.called(said.get("shape", "").strip(), text))
        return end + 1

    def _closing_brace(self, at: int) -> int:
        limit = at + LONGEST_ATTRIBUTES
        last = self.text.rfind("}", at, limit)
        found = _ATTRIBUTES.match(self.text, at, last + 1) if last > 0 else None
        if not found:
            raise _Lost(at, "} behind the attributes")
        return found.end() - 1

    # -- the rest ------------------------------------------------------------------------------

    def _subgraph(self, at: int) -> int:
        """`subgraph id [Title]`, or a title alone."""
        end = self._after(_REST, at)
        words = self.text[at:end].strip()
        key, bracket, title = words.partition("[")
        key = key.strip()
        if bracket and key and title.rstrip().endswith("]"):
            title = title.rstrip()[:-1]
        else:
            key, title = words.strip('"'), words
        title = mermaid_text.shown(title.strip().strip('"'))
        self.pages.open(key, title, self.line(at))
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


def _pointing(tail: str, head: str) -> Direction:
    if tail:
        return "both" if head in tuple("xo>") else "back"
    return "forward" if head in tuple("xo>") else "none"


def _unquoted(title: str) -> str:
    """A title as YAML has it: in quotes or not."""
    if title.startswith('"'):
        try:
            return msgspec.json.decode(title, type=str)
        except msgspec.DecodeError:
            return title.strip('"')
    return title.strip("'")
