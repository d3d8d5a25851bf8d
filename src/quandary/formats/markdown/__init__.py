"""Decision trees in Markdown documents: `parse` finds them, whatever stands around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.model.tree import OTHER, STAND_INS, Decision, Extra, Option, Tree

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
    """A tree, where it stands, and what was seen on the way; the defaults are shared."""

    notes: Sequence[Note] = ()
    ignored: frozenset[str] = frozenset()
    keys: Sequence[Field] = ()
    listed: Sequence[Listed] = ()
    heading: Block | None = None
    base = 0  # the column at which the section's container begins
    end = 0  # the index of its last line
    levels: Sequence[Level] | None = None  # its levels, once a rule has looked

    def __init__(self, tree: Tree) -> None:
        self.tree = tree


#
# Most documents have nothing but trees in canonical form, with prose around them. A few regular
# expressions read these, without block structure. Everything else goes through `sections.Reader`.
# Both ways give the same trees; a test holds them to it.

DEEPEST = 100  # columns of indentation up to which options are read this way
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
_MORE_OPTIONS = re.compile(r"\n[ \t]*(?:[-+*•–—]|\d{1,9}[.)])[^\S\n]*[*_`]*\[")
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
        if (tree := _quick_tree(text, begin, limit, line)) is None:
            return None
        sections.append(Section(tree))
        line += text.count("\n", begin, limit)
    return sections


def _quick_tree(text: str, start: int, limit: int, line: int) -> Tree | None:
    """The canonical tree at `start` if nothing else up to `limit` could belong to it or be one."""
    if (heading := _TREE.match(text, start)) is None:
        return None
    keys = heading[2].split("\n")[:-1]
    values = dict(key.split(": ", 1) for key in keys)
    extras, sound = read_extras(values["Extras"]) if "Extras" in values else ((), True)
    known = all(values[name] in WORDS[name] for name in values.keys() & WORDS.keys())
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
    return make_tree(heading[1], decisions, values, extras, line=line + 1)


def make_tree(
    name: str,
    decisions: Iterable[Decision],
    values: dict[str, str],
    extras: tuple[Extra, ...],
    title: str = "",
    **place: Any,  # noqa: ANN401 - further fields of a tree
) -> Tree:
    """A tree from the values of its keys. Whatever Require says, it was meant to be held to."""
    return Tree(
        name,
        tuple(decisions),
        title,
        values.get("Trigger", ""),
        extras,
        values.get("Kind", ""),
        values.get("Question", ""),
        read_keywords(values["Keywords"]) if "Keywords" in values else (),
        plain_name(values["Extends"]) if "Extends" in values else "",
        "person" if "Require" in values else "",
        "free" if values.get("Shape") else "",
        **place,
    )


def _ends(text: str, at: int, limit: int) -> bool:
    """Whether what stands between a list and the next tree is prose that changes neither."""
    loud = _LOUD.search(text, at - 1, limit) or _MORE_OPTIONS.search(text, at - 1, limit)
    return not loud and _AFTER.match(text, at, limit) is not None


def _quick_options(
    found: list[tuple[str, str, str, str, str]], first: int, last: int
) -> tuple[Option, ...] | None:
    """Options out of their parts, last first, so that each finds its own options made. `first` and
    `last` are the lines before and at the end of the list: if the parts do not take up all of them,
    something else stands there too.
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


MARK = "¶ASK_"
KEYS = ("Trigger", "Extras", "Kind", "Question", "Keywords", "Extends", "Require", "Shape")
WORDS = {"Kind": ("advisory", "transition"), "Require": ("person",), "Shape": ("free",)}
"""What the keys say that have words of their own."""

_BOLD = r"(?:\*\*|__)?"
_KEY = re.compile(rf"{_BOLD}({'|'.join(KEYS)}){_BOLD}[ \t]?:{_BOLD}(?:[ \t]+|$)", re.IGNORECASE)
_ANY_KEY = re.compile(rf"{_BOLD}([A-Z][A-Za-z-]{{2,19}}){_BOLD}:{_BOLD}(?:[ \t]+|$)")
_EXTRA = re.compile(r"([A-Za-z])[ \t]*([:.)?])[ \t]*(\S.*)$", re.DOTALL)
_DRESSED = re.compile(r"(\*{1,3}|_{1,3}|`+)(?=¶ASK_)")
_REFERENCE = re.compile(r"^(?:[¶§]?ASK_)")


class Field(NamedTuple):
    """One key with its value, and the lines it takes up."""

    name: str
    value: str
    line: int
    column: int
    end: int


def is_field(text: str) -> bool:
    """Whether a line begins with one of the keys that trees have."""
    return _KEY.match(text) is not None


def match_key(text: str) -> re.Match[str] | None:
    """The beginning of a line that has the form of a key, known or not."""
    return _KEY.match(text) or _ANY_KEY.match(text)


def undressed(heading: str) -> str:
    """A heading without what makes the name of its tree bold, slanted or code."""
    if (found := _DRESSED.match(heading)) is None:
        return heading
    rest = heading[found.end() :]
    if rest.endswith(found[1]):
        return rest.removesuffix(found[1]).rstrip()
    return re.sub(rf"{re.escape(found[1])}(?=[\s:]|$)", "", rest, count=1)


def read_fields(paragraph: Block) -> tuple[list[Field], list[Field]]:
    """The known and the unknown keys of a paragraph; a value may run on over several lines."""
    if not any(is_field(text) for _, _, text in paragraph.lines):
        return [], []
    begun: list[tuple[str, int, int, list[str]]] = []
    for line, column, text in paragraph.lines:
        if found := match_key(text):
            begun.append((found[1].capitalize(), line, column, [text[found.end() :]]))
        elif begun:
            begun[-1][-1].append(text)
    keys = [Field(n, " ".join(v).strip(), line, at, line + len(v) - 1) for n, line, at, v in begun]
    return [key for key in keys if key.name in KEYS], [key for key in keys if key.name not in KEYS]


def read_extra(text: str) -> Extra | None:
    """`A: text` decides; `A? text` wants to see something first."""
    found = _EXTRA.match(text.strip())
    return Extra(found[1].upper(), found[3], found[2] == "?") if found else None


def read_extras(value: str) -> tuple[tuple[Extra, ...], bool]:
    """`A: text | B? text` as extras, and whether all of it had that form."""
    extras: dict[str, Extra] = {}
    well_formed = True
    for part in value.split("|"):
        extra = read_extra(part)
        if extra is None or extra.letter in extras:
            well_formed = False
            continue
        well_formed = well_formed and extra.letter in "ABC"
        extras[extra.letter] = extra
    return tuple(extras.values()), well_formed


def write_extras(extras: tuple[Extra, ...]) -> str:
    return " | ".join(extra.shown for extra in extras)


def read_keywords(value: str) -> tuple[str, ...]:
    """Comma-separated words, without blanks and empty ones."""
    return tuple(word for part in value.split(",") if (word := part.strip()))


def plain_name(reference: str) -> str:
    """A tree's name without the `¶ASK_`, `§ASK_` or `ASK_` that references carry."""
    return _REFERENCE.sub("", reference.strip().strip("`"))


TIGHT_BULLET = (
    r"(?:[-+]|\*(?![^*]*+\*)|\d{1,9}[.)])"
    r"(?=[^\S\n]*+(?:(?:\[[ \t]?\][ \t]*)?\[[A-Z]{1,8}\](?![(\]{*_])|\[[ \t]?\][ \t]))"
    r"|[•–—](?=[^\S\n]*\[[A-Z]{1,8}\](?![(\]{*_]))"
)
"""What is meant as the bullet of an option, though Markdown reads it as text: `-[CODE] Label`, and
the same with a blank between them that is none to Markdown, such as one that does not break."""
_EMPTY = r"(?:\[(?:[ \t\u00a0]{0,3}|[_-])\]|[☐□])"
_GAP = r"[ \t\u00a0]*"
_BOX = re.compile(rf"{_EMPTY}(?!\():?{_GAP}")
_TICKED = re.compile(rf"\[[xX]\]{_GAP}(?=\[(?![ \txX]?\])[^\[\]]+\](?:[ \t\u00a0:]|{_EMPTY}|$))")
_SECOND_BOX = re.compile(rf"(?:(?:{_EMPTY}|\[[xX]\])(?!\():?{_GAP})++")
_LAST_BOX = re.compile(rf"(?P<label>.*\S)[ \t]+{_EMPTY}$")
_NEAT_BOX = re.compile(r"\[[ \txX]?\](?:[ \t]+|$)")
_BRACKETED = r"\[[ \t]{0,3}(?P<code>[^\[\]`\s](?:[^\[\]`\n]{0,38}[^\[\]`\s])?)[ \t]{0,3}\]"
_END = r":?(?=[ \t\u00a0]|$|\[[ \t\u00a0xX_-]{1,3}\])"
_CODE = re.compile(_BRACKETED + _END)
_DRESSED_CODE = re.compile(
    r"(?P<dress>\*{1,3}|_{1,3}|`)"
    rf"{_BRACKETED}(?:(?::?[ \t]+|(?<=[A-Z]\])(?![(\[:{{*_`]))(?P<label>\S(?:.*?\S)??))?"
    rf"(?P=dress)(?={_END})"
)
"""A code in bold or the like, perhaps together with the label or its beginning."""
_TIGHT_CODE = re.compile(rf"\[(?P<code>[A-Z]{{1,8}})\](?=[^\s(\[:{{]|{_EMPTY})")
_BROKEN_CODE = re.compile(
    rf"[\[(]?(?P<code>[A-Z]{{1,8}})(?:[\])]?:?{_GAP}(?={_EMPTY})|\](?=[ \t]))"
)
"""A bracket is missing, or is another one, and a box or a bracket says that a code was meant."""
_STARTS_BLOCK = re.compile(
    rf"(?:[-+*]|\d{{1,9}}[.)])(?:[ \t]|$)|{TIGHT_BULLET}|`{{3}}|~{{3}}|[<>]|[-_*][-_* \t]*$"
)
_CODES = (_CODE, _TIGHT_CODE, _BROKEN_CODE)
_WORD = re.compile(r"[A-Za-z]+")
_TEMPLATE_LABEL = re.compile(r"label\b|[\[<{].*[\]>}]$", re.IGNORECASE)
MARKER = re.compile(
    r"(?:[-+*•–—]|\d{1,9}[.)])[^\S\n]*(?:\[[ \t]?\][ \t]*)?\[[A-Z]{1,8}\](?=[ \t\[]|$)"
)
"""Text that looks like an option, wherever it stands."""


class Head(NamedTuple):
    """What an option's first line says."""

    code: str  # empty when the author wrote none
    multi: bool
    label: str
    box_first: bool = False  # the `[ ]` stood before the code
    near_miss: bool = False  # code and `[ ]` are not as they should be, but it is clear
    ticked: bool = False  # the box is `[x]`, and nothing is chosen beforehand


def read_head(text: str) -> Head:
    """Take a first line apart; whatever is not code or flag is the label."""
    rest = without_comments(text)
    if odd_blank := rest[:1].isspace() and rest.lstrip().startswith("["):
        rest = rest.lstrip()
    box = _BOX.match(rest) or _TICKED.match(rest)
    multi, misses = box is not None, odd_blank or (box is not None and not _NEAT_BOX.match(rest))
    ticks = box[0] if box else ""
    rest = rest[box.end() :] if box else rest
    if dressed := _DRESSED_CODE.match(rest):
        dress, written, label = dressed.groups("")
        rest = rest[dressed.end() :]
        misses |= label != ""
        label = f" {dress}{label}{dress}" if label and rest.strip() else f" {label}".rstrip()
        rest = f"[{written}]{label}{rest}"
    if found := next(filter(None, (pattern.match(rest) for pattern in _CODES)), None):
        behind = rest[found.end() :]
        rest = behind.lstrip(" \t\u00a0")
        misses |= found.re is _BROKEN_CODE or behind[:1] not in ("", " ", "\t")
        if second := _SECOND_BOX.match(rest):
            neat = _NEAT_BOX.match(rest)
            multi, misses = True, misses or not neat or neat.end() < second.end()
            ticks, rest = ticks + second[0], rest[second.end() :]
        if not rest.startswith("\\") and (last := _LAST_BOX.match(rest)):
            multi, misses, rest = True, True, last["label"]
    if rest.startswith("\\") and _ambiguous(rest, coded=found is not None):
        rest = rest[1:]
    code, first = (found["code"], box is not None) if found else ("", False)
    return Head(code, multi, rest.strip(" \t"), first, misses, "x" in ticks.lower())


def write_head(code: str, label: str, *, multi: bool) -> str:
    """The first line in canonical form, without its bullet; an empty code is left out."""
    parts = [f"[{code}]"] if code else []
    if multi:
        parts.append("[ ]")
    if label:
        parts.append("\\" + label if _ambiguous(label, coded=bool(code)) else label)
    if label and len(parts) == 1 and _STARTS_BLOCK.match(parts[0]):
        # Indented this far it is text; nearer to its bullet it would be a list or a quote.
        parts[0] = "    " + parts[0]
    return " ".join(parts)


def _ambiguous(label: str, *, coded: bool) -> bool:
    """Whether a label, or what is left of it behind its backslashes, would be taken for markup."""
    bare = label.lstrip("\\")
    patterns = (_SECOND_BOX, _LAST_BOX) if coded else (_BOX, _TICKED, _DRESSED_CODE, *_CODES)
    return any(pattern.match(bare) for pattern in patterns)


def without_comments(text: str) -> str:
    """The text without its HTML comments, which are for authors and not for those who answer."""
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start].rstrip(" \t"))
        at = end + 3
    return "".join([*kept, text[at:]]).strip(" \t") if kept else text


def is_template(code: str, label: str) -> bool:
    """`[CODE] Label text` is a place to be filled in, not an option."""
    return code == "CODE" and (not label or _TEMPLATE_LABEL.match(label) is not None)


RESERVED = frozenset((OTHER, *STAND_INS, "A", "B", "C"))  # what no code is made like


class Codes:
    """The codes of one level, and new ones for options whose author wrote none."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)
        self._counted: dict[str, int] = {}

    def derive(self, label: str) -> str:
        """A code made from the label, unlike those of its siblings."""
        if label.rstrip(".… ").casefold() == "other" and OTHER not in self.taken:
            code = OTHER
        else:
            found = (c for c in self._candidates(label) if c not in self.taken)
            code = next(c for c in found if c not in RESERVED)
        self.taken.add(code)
        return code

    def _candidates(self, label: str) -> Iterator[str]:
        words = [word.upper() for word in _WORD.findall(label[:200])]
        letters = "".join(words)
        if len(words) > 1:
            yield "".join(word[0] for word in words)[:4]
        if words:
            yield words[0][:3]
            yield words[0][:4]
            yield letters[0] + "".join(c for c in letters[1:] if c not in "AEIOU")[:3]
            yield letters[:4]
            yield letters[:2]
        else:
            yield "OPT"
        stem = letters[:2] or "OP"
        while True:
            # Counting goes on where it stopped, so that many siblings cost no more than few.
            number = self._counted.get(stem, 0)
            self._counted[stem] = number + 1
            tail = ""
            while number >= 0:
                number, letter = number // 26 - 1, number % 26
                tail = chr(ord("A") + letter) + tail
            yield stem + tail
