"""Choices named by their place in the list: `2`, `the second one`, `1-3`, `the last two`, `all`."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from quandary.reading.words import NTH, number_words, wordings, wordset

_CARDINALS = number_words(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_ORDINALS = number_words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
)
_FIGURES = 6
"""How many figures a number in a reply has at most."""
_EXPLICIT = wordset(
    "number nr num option opt choice answer item point pos position numbers nrs options choices "
    "items points"
)
_BEFORE = _EXPLICIT | {"the"}
_AFTER = wordset("one ones option options choice choices item")
_JOINTS = {"and": "and", "or": "or", "/": "or", "plus": "and", "also": "and", "then": "and"}
_ENDS = wordset("last final bottom top middle former latter penultimate next")
_TIMES = wordset("time year month week night quarter sprint monday friday weekend")
_SPANNING = wordset("to through thru till until")
_EVERY = wordings(
    "all,everything,everyone,everybody,all of them,all of these,all of those,all of it,"
    "all of the above,all the above,every one,every one of them,the lot,the whole lot,"
    "every option,all options,all the options,them all,any and all,all together,each of them,"
    "every single one,all items,everything on the list,all on the list,everything here,"
    "the whole list,the entire list,everything listed"
)
_BOTH = wordings("both,both of them,both of these,both of those,both options,both please")
_BEFORE_LAST = wordings("one before last,next to last")
_TO_LAST = wordings("last,to last,from last,to the last,from the last")
_OF_ALL = wordings("of them,of these,of those,of the list,on the list")
_OF_THEM = wordings("of them,of these,of those,options,items,please") | {()}


class Places(NamedTuple):
    """Places in the list, counted from 0."""

    at: tuple[int, ...]
    alternatives: bool = False
    """Joined by "or": one of them, but which?"""
    explicit: bool = True
    """It can be nothing but a place: `the second one`, `option 2`, not a bare `second`."""
    every: bool = False
    """All that there are."""
    beyond: bool = False
    """A number that no choice has."""


class _Item(NamedTuple):
    place: int
    end: int
    explicit: bool


def places(
    words: tuple[str, ...],
    count: int,
    *,
    real: int | None = None,
    nouns: frozenset[str] = frozenset(),
    kinds: frozenset[str] = frozenset(),
) -> Places | None:
    """The places that these words name, or None when they say anything else as well.

    `real` leaves out places at the end that "all" does not mean, such as More and Other. `nouns`
    are words that may stand for "option" here, such as `visa` in "the second visa", and `kinds`
    those that may stand before a number, such as `topic` in "topic 2".
    """
    if not words or not count:
        return None
    options = count if real is None else real
    for tail in _OF_ALL:
        if words[-len(tail) :] == tail and len(words) > len(tail):
            words = words[: -len(tail)]
    if words[-3:-1] == ("of", "the") and cardinal(words[-1]) == options:
        words = words[:-3]
    together = _every(words, options) or _some(words, options)
    if together is not None:
        return together
    if words[-1] == "first" and len(words) > 1 and cardinal(words[-2]) is not None:
        words = words[:-1]
    listed = tuple(word for word in words if word not in {"both", "very"})
    return _list(listed, count, nouns, kinds) if listed else None


def _list(
    words: tuple[str, ...], count: int, nouns: frozenset[str], kinds: frozenset[str]
) -> Places | None:
    found: list[int] = []
    joints: set[str] = set()
    explicit, at = True, 0
    while at < len(words):
        ends = (end for end in (at + 4, at + 3, at + 2) if end <= len(words))
        some = next(((end, some) for end in ends if (some := _some(words[at:end], count))), None)
        if some:  # `the first three` within a longer list
            at = some[0]
            found.extend(some[1].at)
        else:
            item = _item(words, at, count, nouns, kinds)
            if item is None:
                return None
            last = _span(words, item, count, nouns)
            found.extend(range(item.place, last.place + 1))
            explicit = explicit and (item.explicit or last is not item)
            at = last.end
        while at < len(words) and words[at] in _JOINTS:
            joints.add(_JOINTS[words[at]])
            at += 1
    if words[-1] in _JOINTS:
        return None
    if any(not 0 <= place < count for place in found):
        return Places((), beyond=True)
    distinct = tuple(dict.fromkeys(found))
    return Places(distinct, "or" in joints, explicit or len(distinct) > 1)


def _span(words: tuple[str, ...], item: _Item, count: int, nouns: frozenset[str]) -> _Item:
    """The end of a range that begins with an item, or the item itself."""
    if item.end < len(words) and words[item.end] in _SPANNING:
        last = _item(words, item.end + 1, count, nouns, frozenset())
        if last is not None and item.place <= last.place <= item.place + 100:
            return last
    return item


def _every(words: tuple[str, ...], count: int) -> Places | None:
    words = words[1:] if words[0] == "the" and len(words) > 2 else words
    every = words in _EVERY or (words in _BOTH and count == 2)
    if len(words) > 1 and words[0] == "all" and words[2:] in _OF_THEM:
        every = every or cardinal(words[1]) == count
    return Places(tuple(range(count)), every=True) if every else None


def _some(words: tuple[str, ...], count: int) -> Places | None:
    """`the first two`, `the last three`, `top 2`."""
    words = tuple(word for word in words if word != "the")
    if words and words[-1] in _AFTER and len(words) == 3:
        words = words[:-1]
    if len(words) != 2:
        return None
    many = cardinal(words[1])
    if many is None or words[1] == "one" or not 1 < many <= count:
        return None
    if words[0] in {"first", "top"}:
        return Places(tuple(range(many)))
    if words[0] in {"last", "bottom", "final"}:
        return Places(tuple(range(count - many, count)))
    return None


def _item(
    words: tuple[str, ...], at: int, count: int, nouns: frozenset[str], kinds: frozenset[str]
) -> _Item | None:
    begun = at
    while at < len(words) and (words[at] in _BEFORE or words[at] in kinds):
        at += 1
    lead = words[begun:at]
    if at == len(words):
        return None
    place, end, ordinal = _place(words, at, count)
    if place is None or (words[at] == "one" and not ordinal and "the" in lead):
        return None
    if ordinal and not kinds.isdisjoint(lead):
        return None
    after = end
    while ordinal and after < len(words) and (words[after] in _AFTER or words[after] in nouns):
        after += 1
    tail = after > end
    if words[at] in {"last", "next"} and "the" not in lead and not _TIMES.isdisjoint(words[end:]):
        return None
    bare = words[at] in {"top", "bottom", "middle", "final"} and not tail and "the" not in lead
    if bare and (len(words) > 1 or words[at] == "final"):
        return None
    explicit = tail or bool(lead) or not ordinal
    if not ordinal and lead and not (_EXPLICIT | kinds).intersection(lead):
        explicit = "the" not in lead
    return _Item(place, after, explicit)


def _place(words: tuple[str, ...], at: int, count: int) -> tuple[int | None, int, bool]:
    word = words[at]
    from_end = _from_end(words, at)
    if from_end is not None:
        back, end = from_end
        return count - back, end, True
    number = cardinal(word)
    if number is not None:
        return number - 1, at + 1, False
    nth = _nth(word)
    if nth is not None:
        return nth - 1, at + 1, True
    named = {"top": 0, "middle": count // 2 if count % 2 and count > 1 else None}
    if count == 2:
        named |= {"former": 0, "latter": 1}
    return named.get(word), at + 1, True


def _from_end(words: tuple[str, ...], at: int) -> tuple[int, int] | None:
    word, rest = words[at], words[at + 1 : at + 4]
    if word == "penultimate":
        return 2, at + 1
    if (word, *rest) == ("last", "but", "one") or (word, *rest[:2]) in _BEFORE_LAST:
        return 2, at + 3
    nth = _nth(word)
    for tail in _TO_LAST:
        if nth is not None and rest[: len(tail)] == tail:
            return nth, at + 1 + len(tail)
    return (1, at + 1) if word in {"last", "bottom", "final"} else None


def _nth(word: str) -> int | None:
    """The number that an ordinal stands for."""
    figures = word[-2:] in NTH and _figures(word[:-2])
    return int(word[:-2]) if figures else _ORDINALS.get(word)


def is_ordinal(word: str) -> bool:
    """Whether a word is an ordinal."""
    return word == "last" or _nth(word) is not None


@lru_cache(maxsize=4096)
def counts(word: str) -> bool:
    """Whether a word is a number or an ordinal, and so never a noun."""
    numbered = cardinal(word) is not None or _nth(word) is not None
    return numbered or word in _ENDS | _SPANNING | _JOINTS.keys()


def cardinal(word: str) -> int | None:
    """The number that a word of digits or letters stands for."""
    return int(word) if _figures(word) else _CARDINALS.get(word)


def _figures(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= _FIGURES
