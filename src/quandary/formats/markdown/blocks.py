"""The block structure of a Markdown document, as CommonMark defines it.

Only what decides where a heading, a list item, a fence or a paragraph begins and ends is followed;
inline markup stays text. The algorithm is CommonMark's own: each line first continues the blocks
that are open, then may open new ones, and what is left is text. There is one departure: `-[CODE]`,
which CommonMark takes for text, begins an item.
"""

from __future__ import annotations

import re

import msgspec

from quandary.formats.markdown import TIGHT_BULLET

MAX_NESTING = 100  # deeper containers are text: depth costs time on every line

_ATX = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_FENCE = re.compile(r"(`{3,})(?=[^`]*$)|(~{3,})")
_SETEXT = re.compile(r"(?:=+|-+)[ \t]*$")
_BULLET = re.compile(rf"(?:[*+-]|\d{{1,9}}[.)])(?=[ \t]|$)|{TIGHT_BULLET}")
_BLANKS = re.compile(r"[ \t]*+")
_TAB_PREFIX = re.compile(r"[ \t>*+\-\d.)]*")

_TAG = r"[A-Za-z][A-Za-z0-9-]*"
_ATTRIBUTE = (
    r"(?:[ \t]+[A-Za-z_:][A-Za-z0-9_.:-]*"
    r"(?:[ \t]*=[ \t]*(?:[^ \t\"'=<>`]+|'[^']*'|\"[^\"]*\"))?)"
)
_HTML_BLOCKS = (
    (
        re.compile(r"<(?:script|pre|textarea|style)(?:[ \t>]|$)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|textarea|style)>", re.IGNORECASE),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (
        re.compile(
            r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup"
            r"|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset"
            r"|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol"
            r"|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title"
            r"|tr|track|ul)(?:[ \t]|/?>|$)",
            re.IGNORECASE,
        ),
        None,
    ),
    (re.compile(rf"(?:<{_TAG}{_ATTRIBUTE}*[ \t]*/?>|</{_TAG}[ \t]*>)[ \t]*$"), None),
)
_COMMENT, _ANY_TAG = 1, 6
_LONGEST_TAG = 10_000  # a longer line is no lone tag; matching it would cost memory


class Block(msgspec.Struct, eq=False):
    """A block and what is in it. `line` and `end` are indices of source lines, both included."""

    kind: str  # document, quote, item, heading, paragraph, code, fence, html or rule
    line: int
    end: int
    column: int  # where it begins, as an index into the line with its tabs expanded
    children: list[Block] = []
    lines: list[tuple[int, int, str]] = []  # of a leaf: line, column and text of each of its lines
    level: int = 0
    marker: str = ""
    form: int = 0
    indent: int = 0  # of a fence: its indentation; of an item: where its content begins
    width: int = 0  # of an item: how far its content is indented against its container
    closed: bool = True

    @property
    def is_comment(self) -> bool:
        """Whether this is an HTML comment and nothing else."""
        return self.kind == "html" and self.form == _COMMENT

    @property
    def text(self) -> str:
        return "\n".join(text for _, _, text in self.lines)


def expand(line: str) -> str:
    """The line with the tabs among its leading markers replaced by spaces, four to a stop."""
    if "\t" not in line:
        return line
    return _TAB_PREFIX.sub(lambda found: found[0].expandtabs(4), line, count=1)


def source_column(line: str, column: int) -> int:
    """The 1-based column in the line as written of an index into the line as expanded."""
    if "\t" not in line:
        return column + 1
    at = 0
    for index, character in enumerate(line):
        if at >= column:
            return index + 1
        at += 4 - at % 4 if character == "\t" else 1
    return len(line) + 1


def _after_blanks(line: str, at: int) -> int:
    found = _BLANKS.match(line, at)
    return found.end() if found else at


def scan(lines: list[str]) -> Block:
    """The document as a tree of blocks. Any list of lines has one."""
    scanner = _Scanner()
    for number, line in enumerate(lines):
        scanner.feed(number, line)
    return scanner.root


class _Scanner:
    """The open blocks, and one line at a time."""

    def __init__(self) -> None:
        self.root = Block("document", 0, 0, 0)
        self.open = [self.root]
        self.matched = 1  # how many open containers this line continues, or has opened
        self.leaf: Block | None = None
        self.number = 0
        self.written = ""  # the line in the source; `line` has its leading tabs expanded
        self.line = ""
        self.at = 0
        self.first = 0

    @property
    def blank(self) -> bool:
        return self.first == len(self.line)

    @property
    def interrupts(self) -> bool:
        """Whether a block that begins here cuts off a paragraph, which not every block may."""
        return self.leaf is not None and self.matched == len(self.open)

    def feed(self, number: int, written: str) -> None:
        self.number, self.written, self.line, self.at = number, written, expand(written), 0
        self._look()
        self._match_containers()
        if self.leaf is not None and self.leaf.kind != "paragraph":
            if self.matched == len(self.open) and self._continue_leaf(self.leaf):
                return
            self.leaf = None
        if self._open_blocks():
            return
        if self.blank:
            del self.open[self.matched :]
            self.leaf = None
        else:
            # A line that only continues a paragraph may leave out its containers' markers.
            self._append(self.leaf or self._start("paragraph"))

    def _look(self) -> None:
        self.first = _after_blanks(self.line, self.at)

    def _match_containers(self) -> None:
        self.matched = 1
        for container in self.open[1:]:
            if container.kind == "quote":
                if self.blank or self.first - self.at > 3 or self.line[self.first] != ">":
                    break
                self._enter_quote()
            elif self.blank:
                if not container.children:
                    break
            elif self.first - self.at >= container.width:
                self.at += container.width
            else:
                break
            self.matched += 1

    def _enter_quote(self) -> None:
        self.at = self.first + 1
        if self.line[self.at : self.at + 1] == " ":
            self.at += 1
        self._look()

    def _continue_leaf(self, leaf: Block) -> bool:
        """Whether an open fence, HTML block or code block takes this line."""
        if leaf.kind == "fence":
            self._continue_fence(leaf)
        elif leaf.kind == "html":
            ending = _HTML_BLOCKS[leaf.form][1]
            if ending is None and self.blank:
                return False
            self._append(leaf, self.first)
            if ending is not None and ending.search(self.line, self.first):
                self.leaf, leaf.closed = None, True
        elif self.first - self.at >= 4 and not self.blank:
            self._append(leaf, self.at + 4)
        else:
            return self.blank
        return True

    def _continue_fence(self, fence: Block) -> None:
        rest = self.line[self.first :].rstrip(" \t")
        long_enough = len(rest) >= len(fence.marker) and self.first - self.at <= 3
        if long_enough and rest == fence.marker[0] * len(rest):
            fence.closed, fence.end, self.leaf = True, self.number, None
            self._stretch()
        else:
            self._append(fence, min(self.first, self.at + fence.indent))

    def _open_blocks(self) -> bool:
        """Open whatever blocks begin on this line; True when one of them has taken all of it."""
        while not self.blank:
            character = self.line[self.first]
            if self.first - self.at >= 4:
                if self.leaf is not None:
                    return False
                self._append(self._start("code"), self.at + 4)
                return True
            if character == ">" and self.matched < MAX_NESTING:
                self._start("quote")
                self._enter_quote()
            elif self._open_leaf(character):
                return True
            elif not self._open_item(character):
                return False
        return False

    def _open_leaf(self, character: str) -> bool:
        if character == "#":
            return self._open_atx()
        if character in "`~":
            return self._open_fence()
        if character == "<":
            return self._open_html()
        if character in "=-" and self.interrupts and _SETEXT.match(self.line, self.first):
            return self._turn_into_heading(character)
        if character in "*_-" and self._is_thematic(character):
            self._append(self._start("rule"))
            self.leaf = None
            return True
        return False

    def _is_thematic(self, character: str) -> bool:
        if self.line[-1] not in (character, " ", "\t"):
            return False  # told apart without looking at all of a very long line
        rest = self.line[self.first :]
        return not rest.strip(character + " \t") and rest.count(character) >= 3

    def _open_atx(self) -> bool:
        if (found := _ATX.match(self.line, self.first)) is None:
            return False
        heading = self._start("heading")
        heading.level = len(found[1])
        text = self.line[found.end() :].strip(" \t")
        bare = text.rstrip("#")
        if not bare or bare[-1] in " \t":  # then the signs only close it
            text = bare.rstrip(" \t")
        heading.lines.append((self.number, found.end(), text))
        self.leaf = None
        return True

    def _open_fence(self) -> bool:
        if (found := _FENCE.match(self.line, self.first)) is None:
            return False
        fence = self._start("fence")
        fence.marker = found[1] or found[2]
        fence.indent = self.first - self.at
        fence.closed = False
        return True

    def _open_html(self) -> bool:
        forms = _HTML_BLOCKS if len(self.line) < _LONGEST_TAG else _HTML_BLOCKS[:_ANY_TAG]
        for form, (opening, ending) in enumerate(forms):
            if not opening.match(self.line, self.first):
                continue
            if form == _ANY_TAG and self.leaf is not None:
                return False
            html = self._start("html")
            html.form = form
            html.closed = ending is None
            self._append(html)
            if ending is not None and ending.search(self.line, self.first):
                self.leaf, html.closed = None, True
            return True
        return False

    def _turn_into_heading(self, character: str) -> bool:
        heading = self.leaf
        assert heading is not None  # noqa: S101 - `interrupts` says that a paragraph is open
        heading.kind = "heading"
        heading.level = 1 if character == "=" else 2
        heading.marker = "setext"
        heading.end = self.number
        self._stretch()
        self.leaf = None
        return True

    def _open_item(self, character: str) -> bool:
        """Open a list item: marker, then one to four spaces, then content."""
        if character not in "*+-0123456789•–—" or self.matched >= MAX_NESTING:
            return False
        if (found := _BULLET.match(self.line, self.first)) is None:
            return False
        after, indent = found.end(), self.first - self.at
        content = _after_blanks(self.line, after)
        empty = content == len(self.line)
        first = not character.isdecimal() or found[0][:-1].lstrip("0") == "1"
        if self.interrupts and (empty or not first):
            return False
        spaces = 1 if empty or content - after > 4 else content - after
        item = self._start("item")
        item.marker = found[0]
        item.width = indent + len(found[0]) + spaces
        item.indent = after + spaces
        self.at = min(item.indent, len(self.line))
        self.first = content
        return True

    def _start(self, kind: str) -> Block:
        """Open a block in the innermost container of this line."""
        del self.open[self.matched :]
        block = Block(kind, self.number, self.number, self.first)
        self.open[-1].children.append(block)
        self.leaf = block
        if kind in ("quote", "item"):
            self.open.append(block)
            self.leaf, self.matched = None, len(self.open)
        self._stretch()
        return block

    def _append(self, leaf: Block, at: int | None = None) -> None:
        """Add this line to a leaf; a line of text without its outer blanks."""
        text = self._from(self.first if at is None else at)
        if at is None:
            at, text = self.first, text.rstrip(" \t")
        leaf.lines.append((self.number, at, text))
        leaf.end = self.number
        self._stretch()

    def _from(self, at: int) -> str:
        """The rest of the line as written, unless `at` is in the middle of a tab."""
        cut = source_column(self.written, at) - 1
        if "\t" not in self.written or len(self.written[:cut].expandtabs(4)) == at:
            return self.written[cut:]
        return self.line[at:]

    def _stretch(self) -> None:
        """What holds a block reaches at least as far as the block."""
        for container in self.open:
            container.end = self.number
