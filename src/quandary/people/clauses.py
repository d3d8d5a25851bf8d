"""A reply cut into the clauses that each say one thing."""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import category

from quandary.people.numbers import cardinal, counting
from quandary.people.phrases import CONNECTIVES, CORRECTIONS, INTERJECTIONS, QUANTIFIERS
from quandary.people.words import spans, wordset

_BREAK = re.compile(r"[;!?…\n()\[\]{}—:]|\.\.|--|\s[-–~]|[-–]\s|\.\s")
_MILD = frozenset(("actually", "sorry", "hmm", "oh", "ah", "i", "mean", "meant"))
_RANGE = frozenset(("-", "–", "—", "..", "…", "~"))
_LONGEST = max(map(len, CORRECTIONS))
_SAYING = wordset("i id ill im let lets we well go use do just please pick")
_SHORT = {"em": "them", "u": "you", "ur": "your", "w": "with", "n": "and"}
_SHORT |= {"tho": "though", "prolly": "probably", "probs": "probably"}
"""What is typed in a hurry."""


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

    def fuse(self, word: str, end: int) -> bool:
        """Join a word to the last one, where a label has them as one: `mono repo`."""
        if not self.words or {self.words[-1], word} <= self.kept:
            return False
        self.words[-1] += word
        self.end = end
        return True

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
            kept = at > first and {*words[at - 1 : at + 2]} <= self.kept
            if at > first and words[at] in CONNECTIVES and not kept and not _excepting(words, at):
                self._cut(words, first, at)
                first = at
            if at == first and _refusing(words, at):
                self._cut(words, first, at + 1)
                first = at + 1
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
    for typed, start, stop in spans(text):
        word = typed if typed in kept or (typed == "n" and not before) else _SHORT.get(typed, typed)
        gap = text[end:start]
        if before + word in kept and gap in {" ", "-"} and draft.fuse(word, stop):
            before, end = before + word, stop
            continue
        _between(draft, gap, before, word, start)
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
        if phrase == ("rather",) and (at or words[1:2] in {("than",), ()}):
            continue
        if phrase[-1] == "no" and _denies(words, at + long):
            continue
        if long > 1 or INTERJECTIONS.issuperset(words[:at]) or cardinal(words[at - 1]):
            return long
    if words[at : at + 2] == ("make", "it") and words[at + 2 : at + 3]:
        return 2 if counting(words[at + 2]) or words[at + 2] == "the" else 0
    if words[at] == "no" and at and cardinal(words[at - 1]) and words[at + 1 : at + 2]:
        return 1 if cardinal(words[at + 1]) else 0
    if words[at] == "wait" and len(words) == 1 and "wait" not in kept:
        return 1
    return 0


def _denies(words: tuple[str, ...], at: int) -> bool:
    """Whether a "no" is said to what follows: `actually no sushi`."""
    return at < len(words) and not cardinal(words[at]) and words[at] not in _SAYING | {"the"}


def _refusing(words: tuple[str, ...], at: int) -> bool:
    """A "no" that answers, and is not said to what follows: `no let me edit`, `nah use 2`."""
    if words[at] in {"nope", "nah", "naw"}:
        return True
    return words[at] == "no" and len(words) > at + 1 and words[at + 1] in _SAYING


def _excepting(words: tuple[str, ...], at: int) -> bool:
    """The "but" of "anything but", which is no turn."""
    if words[at - 1 : at + 2] == ("last", "but", "one"):
        return True
    return words[at] == "but" and words[at - 1] in QUANTIFIERS | {"nothing"}
