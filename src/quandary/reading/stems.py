"""The forms of a word: its stem, what it may be cut short to, and slips."""

from __future__ import annotations

from functools import lru_cache

from quandary.reading.numbers import NTH
from quandary.reading.phrases import ALIKE, IRREGULAR
from quandary.reading.words import slips

_INFLECTIONS = ("ings", "ing", "ied", "ies", "ed", "es", "s")
_DERIVATIONS = (
    *("ations", "ation", "ments", "ment", "ably", "able", "ally", "ions", "ion", "ors", "ers"),
    *("est", "ly", "al", "er", "or", "ate", "ity", "ive"),
)
_LOOKALIKES = {
    "s": ("ss", "us", "is"),
    "ed": ("eed",),
    "ing": ("thing",),
    "est": ("uest", "test", "rest", "nest"),
}
"""Word endings that are no inflection."""
_VOWELS = frozenset("aeiouy")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """What the forms of a word have in common: `approving`, `approval` and `approve` alike."""
    word = ALIKE.get(word) or IRREGULAR.get(word, word)
    if word[:1].isdigit() and word[-2:] in NTH:
        return word[:-2]
    if len(word) <= 3 or not word.isalpha():
        return word
    if word.endswith(("nsion", "nsions")):  # of a verb: `extension`, `suspension`
        word = word[: word.rindex("nsion")] + "nd"
    word = _without(_without(word, _INFLECTIONS, 3), _DERIVATIONS, 4)
    if word.endswith("at") and len(word) > 6:
        word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in _VOWELS:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


@lru_cache(maxsize=8192)
def root(word: str) -> str:
    """What the forms of a verb have in common: `argues` and `arguing`, not `argument`."""
    word = _without(IRREGULAR.get(word, word), _INFLECTIONS, 3)
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _without(word: str, endings: tuple[str, ...], least: int) -> str:
    for ending in endings:
        if not word.endswith(ending) or len(word) - len(ending) < least:
            continue
        if word.endswith(_LOOKALIKES.get(ending, ())):
            continue
        rest = word[: -len(ending)]
        if ending == "es" and not rest.endswith(("s", "x", "z", "ch", "sh", "o")):
            return word[:-1]
        if not _VOWELS.isdisjoint(rest):
            return rest + "y" if ending in {"ied", "ies"} else rest
    return word


def _skips(typed: str, meant: str) -> bool:
    """Whether the letters stand in a word in that order: `fwd`, `cfg`, `mgmt`."""
    letters = iter(meant)
    last = next((letter for letter in reversed(meant) if letter not in _VOWELS), "")
    return typed[-1] == last and all(letter in letters for letter in typed)


def resembles(typed: str, meant: str) -> bool:
    """A word typed with a slip, or cut short, such as `genric`, `prod`, `fwd` or `postgers`."""
    if typed == meant:
        return True
    if typed.isdigit() or meant.isdigit() or len(typed) < 3 or typed[0] not in meant[:2]:
        return False
    if _VOWELS.isdisjoint(typed):
        return typed[0] == meant[0] and typed.isalpha() and _skips(typed, meant)
    return len(typed) > 3 and (_shortens(typed, meant) or _has_slip(typed, meant))


def _shortens(typed: str, meant: str) -> bool:
    """Whether only the beginning of a word was typed: `prod`, `deps`."""
    if meant.startswith(typed):
        return len(meant) - len(typed) > 2 or len(typed) > 4
    plural = typed.endswith("s") and meant.startswith(typed[:-1])
    return plural and len(meant) - len(typed) > 3


def _has_slip(typed: str, meant: str) -> bool:
    """Whether a word, or the beginning of a long one, was typed with a slip."""
    if slips(typed, meant) is not None:
        return True
    return len(typed) >= 7 and typed[:3] == meant[:3] and slips(typed, meant[: len(typed)]) == 1
