"""A reply cut into the clauses that each say one thing."""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import category

from quandary.people.numbers import cardinal
from quandary.people.phrases import CONNECTIVES, CORRECTIONS, QUANTIFIERS
from quandary.people.words import spans

_BREAK = re.compile(r"[;!?…\n()\[\]{}—:]|\.\.|--|\s[-–~]|[-–]\s|\.\s")
_MILD = frozenset(("actually", "sorry", "hmm", "oh", "ah", "i", "mean", "meant"))
_RANGE = frozenset(("-", "–", "—", "..", "…", "~"))
_LONGEST = max(map(len, CORRECTIONS))


class Clause(NamedTuple):
    """Some words of a reply, and where they stand in it."""

    words: tuple[str, ...]
    starts: tuple[int, ...]
    end: int
    comma: bool = False
    """A comma stands before it, nothing stronger."""
    corrects: bool = False
    """It takes back what was said before."""

    @property
    def start(self) -> int:
        """Where its first word begins."""
        return self.starts[0]


class _Draft:
    """The clause that is being gathered, and those before it."""

    def __init__(self, kept: frozenset[str]) -> None:
        self.clauses: list[Clause] = []
        self.kept = kept
        self.words: list[str] = []
        self.starts: list[int] = []
        self.end = 0
        self.comma = False
        self.corrects = False
        self.marker: tuple[str, ...] = ()

    def add(self, word: str, start: int, end: int) -> None:
        self.words.append(word)
        self.starts.append(start)
        self.end = end

    def close(self, *, comma: bool = False) -> None:
        """End the clause, cut once more before words such as "because", "but" and "no wait"."""
        words, first, at = tuple(self.words), 0, 0
        while at < len(words):
            long = _correction(words, at, self.kept)
            if long:
                self._cut(words, first, at)
                self.corrects = bool(self.clauses) or self.corrects
                self.marker = words[at : at + long]
                first = at = at + long
                continue
            if at > first and words[at] in CONNECTIVES and not _excepting(words, at):
                self._cut(words, first, at)
                first = at
            at += 1
        self._cut(words, first, len(words))
        self.words, self.starts, self.comma = [], [], comma

    def _cut(self, words: tuple[str, ...], first: int, last: int) -> None:
        if first < last:
            end = self.end if last == len(words) else self.starts[last]
            starts = tuple(self.starts[first:last])
            comma = self.comma and not first
            self.clauses.append(Clause(words[first:last], starts, end, comma, self.corrects))
            self.corrects = False
            self.marker = ()

    def leave(self, at: int) -> None:
        """A second thought with nothing behind it takes back what was said: `2, no wait`."""
        words = tuple(word for word in self.marker if word not in _MILD)
        if words:
            said = words if words == ("no",) else ("nevermind",)
            self.clauses.append(Clause(said, (at,), at, corrects=True))


def split(text: str, kept: frozenset[str] = frozenset()) -> list[Clause]:
    """The clauses of a reply. `kept` are words of the options, never a turn of speech."""
    draft = _Draft(kept)
    before, end = "", 0
    for word, start, stop in spans(text):
        _between(draft, text[end:start], before, word, start)
        draft.add(word, start, stop)
        before, end = word, stop
    draft.close()
    draft.leave(end)
    return draft.clauses


def _between(draft: _Draft, gap: str, before: str, word: str, start: int) -> None:
    """What stands between two words: a range, a break, a joint, or nothing."""
    if before.isdigit() and word.isdigit() and gap.strip() in _RANGE:
        draft.add("to", start, start)
    elif _BREAK.search(gap) or _pictured(gap) or (before.isdigit() and "." in gap):
        draft.close()
    elif "," in gap:
        draft.close(comma=True)
    elif draft.words and ("&" in gap or "+" in gap):
        draft.add("and", start, start)
    elif draft.words and "/" in gap:
        draft.add("/", start, start)
    if "#" in gap and word.isdigit():
        draft.add("number", start, start)


def _pictured(gap: str) -> bool:
    """Whether an emoji stands here."""
    return not gap.isascii() and any(category(character) == "So" for character in gap)


def _correction(words: tuple[str, ...], at: int, kept: frozenset[str]) -> int:
    """How many words of a second thought stand here."""
    for long in range(min(_LONGEST, len(words) - at), 0, -1):
        phrase = words[at : at + long]
        if phrase not in CORRECTIONS or (long == 1 and phrase[0] in kept):
            continue
        if long > 1 or not at or cardinal(words[at - 1]):
            return long
    if words[at] == "wait" and len(words) == 1 and "wait" not in kept:
        return 1
    return 0


def _excepting(words: tuple[str, ...], at: int) -> bool:
    """The "but" of "anything but", which is no turn."""
    return words[at] == "but" and words[at - 1] in QUANTIFIERS | {"nothing"}
