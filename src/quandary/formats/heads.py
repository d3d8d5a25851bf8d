"""The first line of an option: `[CODE] [ ] Label`, read tolerantly and written strictly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from quandary.model.tree import OTHER, STAND_INS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BOX = re.compile(r"\[[ \t]?\](?:[ \t]+|$)")
_TICKED = re.compile(r"\[[xX]\][ \t]+(?=\[(?![ \txX]?\])[^\[\]]+\](?:[ \t:]|$))")
_SECOND_BOX = re.compile(r"\[[ \txX]?\](?:[ \t]+|$)")
_CODE = re.compile(
    r"(?P<wrap>\*\*|__|`)?"
    r"\[[ \t]{0,3}(?P<code>[^\[\]`\s](?:[^\[\]`\n]{0,38}[^\[\]`\s])?)[ \t]{0,3}\]"
    r"(?(wrap)(?P=wrap)):?(?=[ \t]|$)"
)
_TIGHT_CODE = re.compile(r"\[(?P<code>[A-Z]{1,8})\](?=[^\s(\[:{])")
_STARTS_BLOCK = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)|`{3}|~{3}|[<>]|[-_*][-_* \t]*$")
_WORD = re.compile(r"[A-Za-z]+")
_TEMPLATE_LABEL = re.compile(r"label\b|[\[<{].*[\]>}]$", re.IGNORECASE)
MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ \t]?\][ \t]+)?\[[A-Z]{1,8}\](?=[ \t]|$)")
"""Text that looks like an option, wherever it stands."""


class Head(NamedTuple):
    """What an option's first line says."""

    code: str
    """Empty when the author wrote none."""
    multi: bool
    label: str
    box_first: bool = False
    """The `[ ]` stood before the code."""


def read_head(text: str) -> Head:
    """Take a first line apart; whatever is not code or flag is the label."""
    rest = without_comments(text)
    box = _BOX.match(rest) or _TICKED.match(rest)
    if box:
        rest = rest[box.end() :]
    found = _CODE.match(rest) or _TIGHT_CODE.match(rest)
    code = found["code"] if found else ""
    multi = box is not None
    if found:
        rest = rest[found.end() :].lstrip(" \t")
        second = _SECOND_BOX.match(rest)
        if second:
            multi, rest = True, rest[second.end() :]
    if rest.startswith("\\") and _ambiguous(rest, coded=found is not None):
        rest = rest[1:]
    return Head(code, multi, rest.strip(" \t"), box is not None and found is not None)


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
    patterns = (_SECOND_BOX,) if coded else (_BOX, _TICKED, _CODE, _TIGHT_CODE)
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
        if label.rstrip(".… ").casefold() == "other" and OTHER not in self.taken:
            code = OTHER
        else:
            code = next(found for found in self._candidates(label) if self._is_free(found))
        self.taken.add(code)
        return code

    def _is_free(self, code: str) -> bool:
        return code not in self.taken and code not in _RESERVED

    def _candidates(self, label: str) -> Iterator[str]:
        stem = _stem(label)
        yield from _from_words(label)
        number = self._counted.get(stem, 0)
        while True:
            # Counting goes on where it stopped, so that many siblings cost no more than few.
            self._counted[stem] = number + 1
            yield stem + _in_letters(number)
            number += 1


_RESERVED = frozenset({OTHER, *STAND_INS, "A", "B", "C"})


def _stem(label: str) -> str:
    return "".join(word.upper() for word in _WORD.findall(label[:200]))[:2] or "OP"


def _in_letters(number: int) -> str:
    tail = ""
    while True:
        tail = chr(ord("A") + number % 26) + tail
        number = number // 26 - 1
        if number < 0:
            return tail


def _from_words(label: str) -> Iterator[str]:
    words = [word.upper() for word in _WORD.findall(label[:200])]
    initials = "".join(word[0] for word in words)
    if len(initials) > 1:
        yield initials[:4]
    letters = "".join(words)
    if words:
        yield words[0][:3]
        yield words[0][:4]
        yield letters[0] + "".join(c for c in letters[1:] if c not in "AEIOU")[:3]
        yield letters[:4]
        yield letters[:2]
    else:
        yield "OPT"
