"""The lines of a tree: `Key: value` below its heading, `[CODE] [ ] Label` for an option."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from quandary.model.tree import OTHER, STAND_INS, Extra

if TYPE_CHECKING:
    from quandary.formats.markdown.blocks import Block

MARK = "¶ASK_"
KEYS = ("Trigger", "Extras", "Kind", "Question", "Keywords", "Extends", "Require", "Shape")
KINDS = ("transition", "advisory")
PERSON = "person"
FREE = "free"

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


def undressed(heading: str) -> str:
    """A heading without what makes the name of its tree bold, slanted or code."""
    found = _DRESSED.match(heading)
    if found is None:
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
        if found := _KEY.match(text) or _ANY_KEY.match(text):
            begun.append((found[1].capitalize(), line, column, [text[found.end() :]]))
        elif begun:
            begun[-1][-1].append(text)
    keys = [
        Field(name, " ".join(values).strip(), line, column, line + len(values) - 1)
        for name, line, column, values in begun
    ]
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
    """The value of an `Extras:` line."""
    return " | ".join(extra.shown for extra in extras)


def read_keywords(value: str) -> tuple[str, ...]:
    """Comma-separated words, without blanks and empty ones."""
    return tuple(word for part in value.split(",") if (word := part.strip()))


def plain_name(reference: str) -> str:
    """A tree's name without the `¶ASK_`, `§ASK_` or `ASK_` that references carry."""
    return _REFERENCE.sub("", reference.strip().strip("`"))


TIGHT_BULLET = (
    r"(?:[-+]|\*(?![^*]*+\*)|\d{1,9}[.)])"
    r"(?=(?:\[[ \t]?\][ \t]*)?\[[A-Z]{1,8}\](?![(\]{*_])|\[[ \t]?\][ \t])"
    r"|[•–—](?=[ \t]*\[[A-Z]{1,8}\](?![(\]{*_]))"
)
"""What is meant as the bullet of an option, though Markdown reads it as text: `-[CODE] Label`."""
_EMPTY = r"(?:\[(?:[ \t\u00a0]{0,3}|[_-])\]|[☐□])"
_GAP = r"[ \t\u00a0]*"
_BOX = re.compile(rf"{_EMPTY}(?!\():?{_GAP}")
_TICKED = re.compile(rf"\[[xX]\]{_GAP}(?=\[(?![ \txX]?\])[^\[\]]+\](?:[ \t\u00a0:]|{_EMPTY}|$))")
_SECOND_BOX = re.compile(rf"(?:(?:{_EMPTY}|\[[xX]\])(?!\():?{_GAP})++")
_LAST_BOX = re.compile(rf"(?P<label>.*\S)[ \t]+{_EMPTY}$")
_NEAT_BOX = re.compile(r"\[[ \txX]?\](?:[ \t]+|$)")
_CODE = re.compile(
    r"(?P<wrap>\*\*|__|`)?"
    r"\[[ \t]{0,3}(?P<code>[^\[\]`\s](?:[^\[\]`\n]{0,38}[^\[\]`\s])?)[ \t]{0,3}\]"
    r"(?(wrap)(?P=wrap)):?(?=[ \t\u00a0]|$|\[[ \t\u00a0xX_-]{1,3}\])"
)
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
    r"(?:[-+*•–—]|\d{1,9}[.)])[ \t]*(?:\[[ \t]?\][ \t]*)?\[[A-Z]{1,8}\](?=[ \t\[]|$)"
)
"""Text that looks like an option, wherever it stands."""


class Head(NamedTuple):
    """What an option's first line says."""

    code: str
    """Empty when the author wrote none."""
    multi: bool
    label: str
    box_first: bool = False
    """The `[ ]` stood before the code."""
    near_miss: bool = False
    """Code and `[ ]` do not stand as they should, but it can be told what was meant."""


def read_head(text: str) -> Head:
    """Take a first line apart; whatever is not code or flag is the label."""
    rest = without_comments(text)
    box = _BOX.match(rest) or _TICKED.match(rest)
    multi, misses = box is not None, box is not None and not _NEAT_BOX.match(rest)
    rest = rest[box.end() :] if box else rest
    found = next(filter(None, (pattern.match(rest) for pattern in _CODES)), None)
    if found:
        behind = rest[found.end() :]
        rest = behind.lstrip(" \t\u00a0")
        misses |= found.re is _BROKEN_CODE or behind[:1] not in ("", " ", "\t")
        if second := _SECOND_BOX.match(rest):
            neat = _NEAT_BOX.match(rest)
            multi, misses = True, misses or not neat or neat.end() < second.end()
            rest = rest[second.end() :]
        if not rest.startswith("\\") and (last := _LAST_BOX.match(rest)):
            multi, misses, rest = True, True, last["label"]
    if rest.startswith("\\") and _ambiguous(rest, coded=found is not None):
        rest = rest[1:]
    code, first = (found["code"], box is not None) if found else ("", False)
    return Head(code, multi, rest.strip(" \t"), first, misses)


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
    patterns = (_SECOND_BOX, _LAST_BOX) if coded else (_BOX, _TICKED, *_CODES)
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


class Codes:
    """The codes of one level, and new ones for options whose author wrote none."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)
        self._counted: dict[str, int] = {}

    def derive(self, label: str) -> str:
        """A code made from the label, unlike those of its siblings."""
        reserved = {OTHER, *STAND_INS, "A", "B", "C"}
        if label.rstrip(".… ").casefold() == "other" and OTHER not in self.taken:
            code = OTHER
        else:
            found = (c for c in self._candidates(label) if c not in self.taken)
            code = next(c for c in found if c not in reserved)
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
