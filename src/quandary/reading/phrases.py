"""What people say around their choice; the lists themselves are in `phrases.toml`."""

from __future__ import annotations

import os
import tomllib
from typing import Generic, TypeVar

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
SAYINGS: _Lists[tuple[str, ...]] = _Lists(
    {
        name: frozenset(tuple(saying.split()) for saying in text.split(","))
        for name, text in _read["sayings"].items()
    }
)
IRREGULAR = _turn(_read["irregular"])
"""The verb that a form belongs to."""
ALIKE = _turn(_read["alike"])
"""The word that another one says the same as."""
GROUPS = [group.split() for group in _read["groups"]["verbs"].split(";")]
"""Words that mean much the same."""
NUMBERS: dict[str, str] = _read["numbers"]
SHORT: dict[str, str] = _read["short"]
CUT: dict[str, str] = _read["cut"]


def is_everyday(code: str) -> bool:
    """Whether a code is also a word that people say."""
    return any(code in known for known in (WORDS.everyday, WORDS.neutral, WORDS.function))
