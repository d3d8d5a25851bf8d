"""What people say around their choice, and how they count; the lists are in `phrases.toml`."""

from __future__ import annotations

import os
import tomllib
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from quandary.reading import Words


def _collect(lists: dict[str, str]) -> dict[str, frozenset[str]]:
    """The words of each list, those of the lists that it names among them."""
    found: dict[str, frozenset[str]] = {}
    for name, text in lists.items():
        said: set[str] = set()
        for word in text.split():
            bare = word.removeprefix("-")
            those = found[bare[1:]] if bare[0] == "@" else {bare}
            said = said - those if bare != word else said | those
        found[name] = frozenset(said)
    return found


with open(os.path.join(os.path.dirname(__file__), "phrases.toml"), "rb") as _file:
    _read = tomllib.load(_file)
WORDS = SimpleNamespace(**_collect(_read["words"]))  # sets of words by their names
_sayings = {name: map(str.split, text.split(",")) for name, text in _read["sayings"].items()}
SAYINGS = SimpleNamespace(**{name: frozenset(map(tuple, said)) for name, said in _sayings.items()})
ALIKE, IRREGULAR, SHORT, CUT = (  # each form with the word that it stands behind
    {form: word for word, *forms in map(str.split, text.split(",")) for form in forms}
    for text in _read["forms"].values()
)
OPPOSED = _collect(_read["opposed"])
SUFFIXES = SimpleNamespace(**{name: (*text.split(),) for name, text in _read["suffixes"].items()})
FILLERS = WORDS.choosing | WORDS.interjections
_CARDINALS = {word: number for number, word in enumerate(_read["numbers"]["cardinals"].split(), 1)}
_ORDINALS = {word: number for number, word in enumerate(_read["numbers"]["ordinals"].split(), 1)}
_FROM_END = dict.fromkeys(SAYINGS.last, 1) | dict.fromkeys(SAYINGS.last_but_one, 2)
_FROM_END |= dict.fromkeys(SAYINGS.last_but_two, 3)
_JOINTS = {"and": "and", "or": "or", "/": "or", "plus": "and", "also": "and", "then": "and"}
_COUNTS = WORDS.ends | WORDS.spanning | _JOINTS.keys()  # and so is never a noun


def edges(said: Words, front: frozenset[str], back: frozenset[str] = frozenset()) -> Words:
    """The words without those at either end that are only said around a choice."""
    first, last = 0, len(said)
    while first < last and said[first] in front and (said[first] != "and" or not first):
        first += 1
    while last > first and said[last - 1] in back:
        last -= 1
    return said[first:last]


def strip(said: Words) -> Words:
    """The words without what is said around a choice."""
    return edges(said, FILLERS, WORDS.endings)


def opens(said: Words, known: frozenset[Words]) -> bool:
    """Whether one of the phrases stands first among the words."""
    return any(said[: len(phrase)] == phrase for phrase in known)


class Places(NamedTuple):
    """Places in the list, counted from 0; none where a number is beyond it."""

    at: tuple[int, ...]
    end: int = 0
    explicit: bool = True  # nothing but a place: `the second one`, `option 2`, no bare `second`
    alternatives: bool = False  # joined by "or": one of them, but which?


def places(words: Words, count: int, nouns: frozenset[str]) -> Places | None:
    """The places that these words name, or None; `nouns` may stand for "option": "the 2nd visa"."""
    words = tuple(word for word in words if word not in {"both", "very"})
    found: list[int] = []
    joints, explicit, at = set[str](), True, 0
    while at < len(words):
        item = _read_item(words, at, count, nouns)
        if item is None:
            return None
        found.extend(item.at)
        explicit, at = explicit and item.explicit, item.end
        while at < len(words) and words[at] in _JOINTS:
            joints.add(_JOINTS[words[at]])
            at += 1
    if not found or words[-1] in _JOINTS:
        return None
    distinct = tuple(dict.fromkeys(found)) if 0 <= min(found) <= max(found) < count else ()
    return Places(distinct, at, explicit or len(distinct) > 1, "or" in joints)


def _read_item(words: Words, at: int, count: int, nouns: frozenset[str]) -> Places | None:
    """One place, or several that belong together: `first two`, `last three options`, `1 to 3`."""
    begun = at
    while at < len(words) and words[at] in WORDS.numbering | {"the"}:
        at += 1
    lead, (here, behind, then) = words[begun:at], (*words[at : at + 3], "", "", "")[:3]
    number, many, last = cardinal(here), cardinal(behind), cardinal(then)
    if many and behind != "one" and 1 < many <= count and here in WORDS.counting:
        first = 0 if here in {"first", "top"} else count - many
        return Places(tuple(range(first, first + many)), at + 2 + (then in WORDS.after))
    if number and last and behind in WORDS.spanning and number <= last <= number + 100:
        return Places(tuple(range(number - 1, last)), at + 3)
    if number is not None and words[at : at + 3] not in _FROM_END:
        explicit = not {"the", "one"} & {*lead, here} or bool(WORDS.numbering.intersection(lead))
        bare = here != "one" or "the" not in lead
        return Places((number - 1,), at + 1, explicit) if bare else None
    place, end = _read_ordinal(words, at, count) if here else (None, at)
    after = end
    things = {word for word in words if lead and word in nouns} - _COUNTS
    things = {word for word in things if cardinal(word) is None and find_nth(word) is None}
    while after < len(words) and words[after] in WORDS.after | things:
        after += 1
    return None if place is None else Places((place,), after, after > end or bool(lead))


def _read_ordinal(words: Words, at: int, count: int) -> tuple[int | None, int]:
    """The place that an ordinal or the like names, and where it ends."""
    for long in (4, 3, 2, 1):
        if words[at : at + long] in _FROM_END and len(words) >= at + long:
            return count - _FROM_END[words[at : at + long]], at + long
    named = {"top": 0, "middle": count // 2 if count % 2 and count > 1 else None}
    named |= {"former": 0, "latter": 1} if count == 2 else {}
    nth = find_nth(words[at])
    return (named.get(words[at]) if nth is None else nth - 1), at + 1


def find_nth(word: str) -> int | None:
    """The number that an ordinal stands for."""
    figures = word[-2:] in WORDS.nth and word[0].isdigit()
    return cardinal(word[:-2]) if figures else _ORDINALS.get(word)


def cardinal(word: str) -> int | None:
    """The number that a word of digits or letters stands for."""
    figures = word.isascii() and word.isdigit() and len(word) < 7
    return int(word) if figures else _CARDINALS.get(word)
