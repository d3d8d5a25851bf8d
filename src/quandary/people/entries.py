"""The words of an option, as replies are held against them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from quandary.people.forms import root, stem
from quandary.people.phrases import (
    ALIKE,
    FUNCTION,
    NEGATORS,
    NEUTRAL,
    PHRASAL,
    REFUSALS,
    STATING,
    UNDOINGS,
)
from quandary.people.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.model.ask import Choice

_PIECES = re.compile(r"[.,;:!?]+(?=\s|$)|[()\[\]—–]|\s-\s")
_REACH = 3
"""How many telling words a "not" reaches."""
EMPTY = NEGATORS | frozenset(map(stem, FUNCTION | STATING))
_ARTICLES = frozenset(("the", "a", "an"))
_PARTICLES = frozenset(("up", "down", "out", "off", "back", "over", "until", "till", "all"))
GROUPS: dict[str, set[int]] = {}
for _number, _group in enumerate(ALIKE):
    for _word in _group:
        GROUPS.setdefault(root(_word), set()).add(_number)
"""The lists of `ALIKE` that a word stands in."""


class Entry(NamedTuple):
    """An option's words, cut to their stems."""

    code: str
    label: tuple[str, ...]
    description: tuple[str, ...]
    needed: frozenset[str]
    """The words of the label that tell it from others."""
    in_label: frozenset[str]
    in_description: frozenset[str]
    groups: frozenset[int]
    plain: frozenset[str]
    """The words of the label as they stand."""
    roots: frozenset[str]
    """The words of label and description but for their inflection."""
    deed: str
    """The verb that the label opens with, where it is one."""
    undoing: str
    """The verb that the label opens with, where its object alone would not say so."""


def signed(said: Iterable[str]) -> list[str]:
    """The stems of words, those behind a "not" or "no" marked with `!`."""
    tokens: list[str] = []
    reach = 0
    for word in said:
        if word in NEGATORS or word == "nothing":
            tokens.append("not" if word.endswith("nt") else word)
            reach = 1 if word == "nobody" else _REACH
        elif word in {"but", "and"}:
            tokens.append(word)
            reach = 0
        elif word in FUNCTION or not reach:
            tokens.append(stem(word))
        else:
            tokens.append("!" + stem(word))
            reach -= 1
    return tokens


def entry_of(option: Choice) -> Entry:
    """What there is to hold a reply against."""
    label, description = _tokens(option.label), _tokens(option.description)
    in_label = set(label) - EMPTY
    needed = frozenset(in_label)
    in_description = set(description) - EMPTY
    first = words(option.label)[:1]
    if first and first[0] in REFUSALS:
        in_label |= {"!" + token for token in in_label if token != stem(first[0])}
    code = option.code.rpartition("/")[2].casefold()
    if len(code) > 1 and code not in NEUTRAL | FUNCTION | NEGATORS and not code.isdigit():
        in_label.add(code)
    groups = frozenset(
        number
        for word in (*phrasal(words(option.label)), code)
        for number in GROUPS.get(root(word), ())
    )
    undoing = first[0] if len(label) > 1 and first[0] in UNDOINGS else ""
    return Entry(
        option.code,
        label,
        description,
        needed,
        frozenset(in_label),
        frozenset(in_description),
        groups,
        frozenset(words(option.label)),
        frozenset(map(root, words(f"{option.label} {option.description}"))),
        _deed(option),
        stem(undoing),
    )


def _deed(option: Choice) -> str:
    """The verb that a label opens with: `Break it up`, `Wait until Monday`, not `Break room`."""
    first, *rest = words(option.label) or ("",)
    return stem(first) if rest and rest[0] in FUNCTION | _PARTICLES else ""


def _tokens(text: str) -> tuple[str, ...]:
    pieces = _PIECES.split(text)
    return joined([token for piece in pieces for token in signed(words(piece))])


def joined(tokens: list[str]) -> tuple[str, ...]:
    """The tokens without articles."""
    return tuple(token for token in tokens if token not in _ARTICLES)


def phrasal(said: tuple[str, ...]) -> list[str]:
    """The words with verbs such as "turn down" put into one."""
    found: list[str] = []
    for at, word in enumerate(said):
        apart = 2 if at > 1 and said[at - 1] in {"it", "this", "that", "them"} else 1
        if at >= apart and (joined := PHRASAL.get((said[at - apart], word))):
            found[-apart] = joined
        else:
            found.append(word)
    return found


def within(tokens: tuple[str, ...], line: tuple[str, ...]) -> bool:
    """Whether the tokens stand in a line in that order, side by side."""
    if not tokens or tokens[0] not in line:
        return False
    long = len(tokens)
    return any(line[at : at + long] == tokens for at in range(len(line) - long + 1))
