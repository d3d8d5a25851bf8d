"""A reply cut into the clauses that each say one thing."""

from __future__ import annotations

import re
from typing import NamedTuple

from quandary.reading import phrases
from quandary.reading.numbers import cardinal, counting
from quandary.reading.words import spans, spellings, wordset

_BREAK = re.compile(r"[;!?…\n()\[\]{}—:]|\.\.|--|\s[-–~]|[-–]\s|\.\s")
_MILD = frozenset(("actually", "sorry", "hmm", "oh", "ah", "i", "mean", "meant"))
_RANGE = frozenset(("-", "–", "—", "..", "…", "~"))
_LONGEST = max(map(len, phrases.CORRECTIONS))
_SAYING = wordset("i id ill im let lets we well go use do just please pick")
_SIGNS = "$€£"
_UNITS = wordset("s sec second min minute h hr hour day week month year")
_CONCLUDING = {("and", "i", "think"), ("and", "id", "say"), ("and", "i", "guess")}
_EACH = frozenset(("any", "every", "all"))
_SHORT = spellings(
    "em them,u you,ur your,w with,n and,till until,til until,tho though,prolly probably,"
    "probs probably"
)
"""What is typed in a hurry."""
_LONG = spellings(
    "prod production,dev development,repo repository,db database,docs documentation,"
    "env environment,auth authentication,perf performance,deps dependencies,infra infrastructure,"
    "k8s kubernetes,app application,config configuration,info information,var variable"
)
"""What people who write programs cut short, where an option has it in full."""


class Clause(NamedTuple):
    """Some words of a reply, and where they stand in it."""

    words: tuple[str, ...]
    starts: tuple[int, ...]
    end: int
    comma: bool = False
    """A comma stands before it, nothing stronger."""
    corrects: bool = False
    """It takes back what was said before."""
    announced: bool = False
    """A colon stands before it."""

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
        self.colon = False
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

    def close(self, *, comma: bool = False, colon: bool = False) -> None:
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
            turn = words[at] in phrases.CONNECTIVES or words[at : at + 3] in _CONCLUDING
            if at > first and turn and not kept and not _excepting(words, at):
                self._cut(words, first, at)
                first = at
            if at == first and _refusing(words, at):
                self._cut(words, first, at + 1)
                first = at + 1
            at += 1
        self._cut(words, first, len(words))
        self.words, self.starts, self.comma, self.colon = [], [], comma, colon

    def _cut(self, words: tuple[str, ...], first: int, last: int) -> None:
        if first < last:
            end = self.end if last == len(words) else self.starts[last]
            starts = tuple(self.starts[first:last])
            comma, colon = self.comma and not first, self.colon and not first
            said = words[first:last]
            self.clauses.append(Clause(said, starts, end, comma, self.corrects, colon))
            self.corrects = False
            self.marker = ()

    def leave(self, at: int) -> None:
        """A second thought with nothing behind it takes back what was said: `2, no wait`."""
        words = tuple(word for word in self.marker if word not in _MILD)
        if words:
            said = words if words == ("no",) else ("nevermind",)
            self.clauses.append(Clause(said, (at,), at, corrects=True))


def split(
    text: str,
    kept: frozenset[str] = frozenset(),
    joins: frozenset[tuple[str, str, str]] = frozenset(),
) -> list[Clause]:
    """The clauses of a reply.

    `kept` are words of the options, never a turn of speech, and `joins` are two of them with what
    stands between them there, which is no break.
    """
    draft = _Draft(kept)
    before, end = "", 0
    for typed, start, stop in spans(text):
        word = typed if typed in kept or (typed == "n" and not before) else _known(typed, kept)
        if word.isdigit() and (before == "at" or before in kept) and f"{word}:00" in kept:
            word = f"{word}:00"
        gap = text[end:start]
        if (before, gap.strip(), word) in joins:
            gap = " "
        if before + word in kept and gap in {" ", "-"} and draft.fuse(word, stop):
            before, end = before + word, stop
            continue
        _between(draft, gap, before, word, start)
        draft.add(word, start, stop)
        before, end = word, stop
    draft.close()
    draft.leave(end)
    return draft.clauses


def _known(typed: str, kept: frozenset[str]) -> str:
    """What is typed in a hurry, as it is mostly spelt: `u`, or `2.5` where there is `2.5.0`."""
    if typed[0] in _SIGNS:
        return typed[1:] if typed[1:] in kept else typed
    if not typed[0].isdigit():
        digits = str(cardinal(typed)) if typed != "one" else typed
        if _LONG.get(typed) in kept:
            return _LONG[typed]
        return digits if digits in kept else _SHORT.get(typed, typed)
    if f"{typed}%" in kept and len(typed) > 1:
        return f"{typed}%"
    if "." in typed:
        longer = [word for word in kept if word.startswith(typed + ".")]
        return longer[0] if len(longer) == 1 else typed
    marked = (f"v{typed}", *(f"{sign}{typed}" for sign in _SIGNS))
    return next((word for word in marked if len(typed) > 1 and word in kept), typed)


def _between(draft: _Draft, gap: str, before: str, word: str, start: int) -> None:
    """What stands between two words: a range, a break, a joint, or nothing."""
    if gap == ":" and word[0].isdigit() and before:
        return
    if before.isdigit() and word.isdigit() and gap.strip() in _RANGE:
        draft.add("to", start, start)
    elif _BREAK.search(gap) or _pictured(gap + word) or (before.isdigit() and "." in gap):
        draft.close(colon=gap.strip() == ":")
    elif "," in gap:
        draft.close(comma=True)
    elif draft.words and ("&" in gap or "+" in gap):
        draft.add("and", start, start)
    elif gap == "/" and before.isdigit() and word in _UNITS:
        draft.add("per", start, start)
    elif draft.words and "/" in gap:
        draft.add("/", start, start)
    if "#" in gap and word.isdigit():
        draft.add("number", start, start)


def _pictured(gap: str) -> bool:
    """Whether an emoji stands here."""
    if gap.isascii():
        return False
    from unicodedata import category  # noqa: PLC0415 - a megabyte that English replies do without

    return any(category(character) == "So" for character in gap)


def _correction(words: tuple[str, ...], at: int, kept: frozenset[str]) -> int:
    """How many words of a second thought stand here."""
    for long in range(min(_LONGEST, len(words) - at), 0, -1):
        phrase = words[at : at + long]
        if phrase not in phrases.CORRECTIONS or (long == 1 and phrase[0] in kept):
            continue
        if phrase == ("rather",) and (at or words[1:2] in {("than",), ()}):
            continue
        if phrase[-1] == "no" and _denies(words, at + long):
            continue
        if long > 1 or phrases.INTERJECTIONS.issuperset(words[:at]) or cardinal(words[at - 1]):
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
    if words[at] != "but":
        return False
    return words[at - 1] in phrases.QUANTIFIERS | {"nothing"} or words[max(at - 2, 0)] in _EACH
