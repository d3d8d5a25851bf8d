"""Keys: the one way to name a place in a run. Made here, compared elsewhere, never parsed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_UNSAFE = re.compile(r"[^A-Za-z0-9._/-]")
_UNSAFE_OR_LOW = re.compile(r"[^A-Za-z0-9./-]")
_CLEAR = re.compile(r"(?!.*_[0-9a-f]+_)[A-Za-z0-9._/-]*")


def place(item: str, path: tuple[str, ...] = (), root: int | None = None) -> str:
    """A level of a tree, for an item: `1.3/2:OTH`; the second of several roots is `1.3/2:2.OTH`."""
    number = f"{root}." if root is not None else ""
    return f"{_safe(item)}:{number}{'/'.join(map(_safe, path)) if path else ''}"


def decision(number: int, part: str = "") -> str:
    """A split, or a question of it: `D3`, `D3.1`, `D3.final`."""
    return f"D{number}.{part}" if part else f"D{number}"


def visit(step: str, number: int, what: str) -> str:
    """Something done at a step of a chart, at the run's second visit there: `S7@2/validate-1`."""
    named = step if _CLEAR.fullmatch(step) else _safe(step, _UNSAFE_OR_LOW)  # no two alike
    return f"S{named}@{number}/{what}"


def turn(key: str, number: int) -> str:
    """The same place shown for the second time, or the third: `1.3/2:OTH~2`."""
    return f"{key}~{number}" if number > 1 else key


def within(key: str, name: str) -> str:
    """What begins the keys of something nested in a place: another tree beside the question."""
    return f"{key}+{_safe(name)}+"


def amended(key: str, number: int) -> str:
    """What is asked after a run's second amendment, or its third: `1.3/2:OTH~a2`."""
    return f"{key}~a{number}" if number else key


def unamended(key: str, number: int) -> str:
    """The key as the flow made it."""
    return key.removesuffix(f"~a{number}") if number else key


def _safe(text: str, unsafe: re.Pattern[str] = _UNSAFE) -> str:
    """Letters, digits and a few signs stay; anything else is written as its number."""
    if text.isascii() and text.isalnum():  # as most are
        return text
    return unsafe.sub(lambda found: f"_{ord(found[0]):x}_", text)


LONGEST = 64
NO_SKILL = "quandary"
NO_SLUG = "option"
RESERVED = ("meta", "conflict", "final", "revise", "rest", "more")  # a split's own slugs

_SPLIT = "-split-"
_VALID = re.compile(r"[a-z0-9-]{1,64}")
_GAP = re.compile(r"[^a-z0-9]+")
_SPELT = ("LETTER", "SYLLABLE", "LIGATURE", "THAI CHARACTER")


def is_valid(text: str) -> bool:
    """Whether a text can be a question's id."""
    return _VALID.fullmatch(text) is not None


def is_split(text: str) -> bool:
    """Whether an id is that of a question inside a split."""
    return _SPLIT in text


def slug(text: str) -> str:
    """Lower-case ASCII letters, digits and hyphens; nothing where no letter or digit is left."""
    spelt = text
    if not text.isascii():
        spelt = "".join(map(_spelt, unicodedata.normalize("NFC", text).casefold()))
    return _GAP.sub("-", spelt.lower()).strip("-")


@lru_cache(maxsize=1024)  # many items of many runs are asked the same things
def joined(*names: str) -> str:
    """The id of a question that is known by several names, one inside the other."""
    slugs = [found for name in names if (found := slug(name))]
    return "-".join(slugs)[:LONGEST].strip("-") or NO_SLUG


class SplitIds:
    """`<skill>-split-<slug>` for every option of a split, and for its own questions. The reserved
    slugs are never an option's. The options come next, in their order: those that would be alike
    get `-2`, `-3`. Further questions of the split take what the options left.
    """

    def __init__(self, skill: str, keys: Iterable[str], further: Iterable[str] = ()) -> None:
        self._skill = slug(skill) or NO_SKILL
        self._taken: set[str] = set()
        self._tried: dict[tuple[str, int], int] = {}
        """The next number to try behind a text, by how long the number before it was."""
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
            stem = f"{lead}{_SPLIT}{slug[: room - len(lead)].rstrip('-')}"
            if (found := stem + suffix) not in self._taken:
                self._taken.add(found)
                return found
            tried = (stem, len(suffix))
            number = self._tried[tried] = max(number + 1, self._tried.get(tried, 0))


def _spelt(character: str) -> str:
    """A letter or digit in ASCII: without its accents, else by what Unicode says that it is."""
    if character.isascii():
        return character
    if unicodedata.combining(character):
        return ""
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    if found := plain.strip() or str(unicodedata.digit(character, "")):
        return found
    name = unicodedata.name(character, "").partition(" WITH ")[0]
    return name.rpartition(" ")[2] if any(word in name for word in _SPELT) else " "
