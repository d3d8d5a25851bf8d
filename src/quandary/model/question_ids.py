"""Question ids: what preferences and statistics know a question by, the same in every run."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 64
NO_SKILL = "quandary"
NO_SLUG = "option"
RESERVED = ("meta", "conflict", "final", "revise", "rest", "more")
"""Slugs of a split's own questions; no option has them."""

_SPLIT = "-split-"
_VALID = re.compile(r"[a-z0-9-]{1,64}")
_GAP = re.compile(r"[^a-z0-9]+")
_SPELT = ("LETTER", "SYLLABLE", "LIGATURE")


def is_valid(text: str) -> bool:
    """Whether a text can be a question's id."""
    return _VALID.fullmatch(text) is not None


def is_split(text: str) -> bool:
    """Whether an id is that of a question inside a split."""
    return _SPLIT in text


def slug(text: str) -> str:
    """Lower-case ASCII letters, digits and hyphens; nothing where no letter or digit is left."""
    spelt = "".join(map(_spelt, unicodedata.normalize("NFC", text).casefold()))
    return _GAP.sub("-", spelt.lower()).strip("-")


def joined(*names: str) -> str:
    """The id of a question that is known by several names, one inside the other."""
    slugs = [found for name in names if (found := slug(name))]
    return "-".join(slugs)[:LONGEST].strip("-") or NO_SLUG


class SplitIds:
    """`<skill>-split-<slug>` for every option of a split, and for its own questions.

    The reserved slugs are never an option's. The options come next, in their order: those that
    would be alike get `-2`, `-3`. Further questions of the split take what the options left.
    """

    def __init__(self, skill: str, keys: Iterable[str], further: Iterable[str] = ()) -> None:
        self._skill = slug(skill) or NO_SKILL
        self._taken: set[str] = set()
        self.own = {name: self._free(name) for name in RESERVED}
        self.options = {key: self._free(slug(key) or NO_SLUG) for key in keys}
        self.own |= {name: self._free(name) for name in further}

    def _free(self, slug: str) -> str:
        """An id that nobody has, at most 64 long: the slug is cut first, then the skill."""
        number = 1
        while True:
            suffix = f"-{number}" if number > 1 else ""
            room = LONGEST - len(_SPLIT) - len(suffix)
            lead = self._skill[: room - 1].rstrip("-")
            found = f"{lead}{_SPLIT}{slug[: room - len(lead)].rstrip('-')}{suffix}"
            if found not in self._taken:
                self._taken.add(found)
                return found
            number += 1


def _spelt(character: str) -> str:
    """A letter in ASCII: without its accents, else by the name that Unicode gives it."""
    if character.isascii():
        return character
    if unicodedata.combining(character):
        return ""
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    if plain.strip():
        return plain
    name = unicodedata.name(character, "").partition(" WITH ")[0]
    return name.rpartition(" ")[2] if any(word in name for word in _SPELT) else " "
