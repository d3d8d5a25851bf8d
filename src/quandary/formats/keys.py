"""The `Key: value` lines under a tree's heading."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from quandary.model.tree import Extra

if TYPE_CHECKING:
    from quandary.formats.blocks import Block

MARK = "¶ASK_"
KNOWN = ("Trigger", "Extras", "Kind", "Question", "Keywords", "Extends")
KINDS = ("transition", "advisory")

_BOLD = r"(?:\*\*|__)?"
_KEY = re.compile(rf"{_BOLD}({'|'.join(KNOWN)}){_BOLD}[ \t]?:{_BOLD}(?:[ \t]+|$)", re.IGNORECASE)
_ANY_KEY = re.compile(rf"{_BOLD}([A-Z][A-Za-z-]{{2,19}}){_BOLD}:{_BOLD}(?:[ \t]+|$)")
_EXTRA = re.compile(r"([A-Za-z])[ \t]*[:.)][ \t]*(\S.*)$", re.DOTALL)
_DRESSED = re.compile(r"(\*{1,3}|_{1,3}|`+)(?=¶ASK_)")
_REFERENCE = re.compile(r"^(?:[¶§]?ASK_)")


class Key(NamedTuple):
    """One key with its value, and the lines it takes up."""

    name: str
    value: str
    line: int
    column: int
    end: int


def is_key(text: str) -> bool:
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


def read_keys(paragraph: Block) -> tuple[list[Key], list[Key]]:
    """The known and the unknown keys of a paragraph; a value may run on over several lines."""
    known: list[Key] = []
    unknown: list[Key] = []
    if not any(is_key(text) for _, _, text in paragraph.lines):
        return known, unknown
    current: Key | None = None
    words: list[str] = []
    for line, column, text in paragraph.lines:
        found = _KEY.match(text) or _ANY_KEY.match(text)
        if found is None:
            if current is not None:
                words.append(text)
                current = current._replace(end=line)
            continue
        if current is not None:
            _sort(current, words, known, unknown)
        current = Key(found[1].capitalize(), "", line, column, line)
        words = [text[found.end() :]]
    if current is not None:
        _sort(current, words, known, unknown)
    return known, unknown


def _sort(key: Key, words: list[str], known: list[Key], unknown: list[Key]) -> None:
    value = " ".join(words).strip()
    (known if key.name in KNOWN else unknown).append(key._replace(value=value))


def read_extras(value: str) -> tuple[tuple[Extra, ...], bool]:
    """`A: text | B: text` as extras, and whether all of it had that form."""
    extras: list[Extra] = []
    well_formed = True
    for part in value.split("|"):
        found = _EXTRA.match(part.strip())
        letter = found[1].upper() if found else ""
        if found is None or letter in {extra.letter for extra in extras}:
            well_formed = False
            continue
        well_formed = well_formed and letter in "ABC"
        extras.append(Extra(letter, found[2]))
    return tuple(extras), well_formed


def write_extras(extras: tuple[Extra, ...]) -> str:
    """The value of an `Extras:` line."""
    return " | ".join(f"{extra.letter}: {extra.text}" for extra in extras)


def read_keywords(value: str) -> tuple[str, ...]:
    """Comma-separated words, without blanks and empty ones."""
    return tuple(word for part in value.split(",") if (word := part.strip()))


def plain_name(reference: str) -> str:
    """A tree's name without the `¶ASK_`, `§ASK_` or `ASK_` that references carry."""
    return _REFERENCE.sub("", reference.strip().strip("`"))
