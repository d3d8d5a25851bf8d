"""What people say around their choice; the lists themselves are in `phrases.toml`."""

from __future__ import annotations

import os
import tomllib
from typing import Generic, TypeVar

Words = tuple[str, ...]
T = TypeVar("T")


class _Lists(Generic[T]):
    """Lists by their names."""

    def __init__(self, known: dict[str, frozenset[T]]) -> None:
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> frozenset[T]:
        raise AttributeError(name)


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


def _turn(lists: dict[str, str]) -> dict[str, str]:
    """Each word of the lists, with the name of its list."""
    return {word: name for name, text in lists.items() for word in text.split()}


with open(os.path.join(os.path.dirname(__file__), "phrases.toml"), "rb") as _file:
    _read = tomllib.load(_file)
WORDS: _Lists[str] = _Lists(_collect(_read["words"]))
SAYINGS: _Lists[Words] = _Lists(
    {
        name: frozenset(tuple(saying.split()) for saying in text.split(","))
        for name, text in _read["sayings"].items()
    }
)
IRREGULAR = _turn(_read["irregular"])  # the verb that a form belongs to
ALIKE = _turn(_read["alike"])  # the word that another one says the same as
NUMBERS: dict[str, str] = _read["numbers"]
SHORT: dict[str, str] = _read["short"]
CUT: dict[str, str] = _read["cut"]
FILLERS = WORDS.choosing | WORDS.interjections


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
