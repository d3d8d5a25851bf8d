"""How a reply is cut into clauses, and what kind of clause each is."""

from __future__ import annotations

import re
from itertools import dropwhile, pairwise
from typing import TYPE_CHECKING, NamedTuple

from quandary.reading.numbers import cardinal
from quandary.reading.phrases import CUT, SAYINGS, SHORT, WORDS
from quandary.reading.words import opens, spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.reading.lexicon import Lexicon

Words = tuple[str, ...]
FILLERS = WORDS.choosing | WORDS.interjections
_NO_SUBJECTS = WORDS.verbs | WORDS.function | WORDS.neutral
_LONGEST_HEDGE = max(map(len, SAYINGS.hedges))


def edges(said: Words, front: frozenset[str], back: frozenset[str] = frozenset()) -> Words:
    """The words without those at either end that are only said around a choice."""
    first, last = 0, len(said)
    while first < last and said[first] in front and (said[first] != "and" or not first):
        first += 1
    while last > first and said[last - 1] in back and not to_whom(said, last):
        last -= 1
    return said[first:last]


def to_whom(said: Words, last: int) -> bool:
    """`send it to me` is more than `send it`; `looks good to me` is not."""
    pair, before = said[max(last - 2, 0) : last], said[max(last - 3, 0) : max(last - 2, 0)]
    return pair in SAYINGS.to_whom and not (before and before[0] in WORDS.praise)


def strip(said: Words) -> Words:
    """The words without what is said around a choice."""
    return edges(said, FILLERS, WORDS.endings)


def is_chatter(said: Words) -> bool:
    """Whether nothing was said but thanks and the like."""
    if said in SAYINGS.tails or opens(said, SAYINGS.polite_ifs):
        return True
    return (FILLERS | WORDS.endings | WORDS.voting).issuperset(said)


def is_statement(said: Words, lexicon: Lexicon) -> bool:
    """Whether a clause tells how things are: `I have to leave`, `the logs we still need`."""
    if said[0] in WORDS.others - lexicon.label_words or said in SAYINGS.pleas:
        return True
    if to_whom(said, len(said)) and not lexicon.verbatim(said[-2:]):
        return True
    parts = WORDS.parts - lexicon.label_words
    if any(two == "of" and one in parts for one, two in pairwise(said[1:])):
        return True
    if find(SAYINGS.away, said) or opens(said, SAYINGS.owning):
        return True
    return any(_tells_of(said, at, lexicon) for at in range(1, len(said) - 1))


def _tells_of(said: Words, at: int, lexicon: Lexicon) -> bool:
    """Whether something is said here of what was named: that it is so, or does or needs something.

    `the cook is best` is a choice, and `the map i think`; `the cook is ill` is none.
    """
    if not any(map(lexicon.tells, said[:at])) or lexicon.verbatim(said[at : at + 2]):
        return False
    if said[at] in WORDS.speakers:
        return said[at + 1] not in WORDS.opining and said[at - 1] != "what"
    more = {word for word in said[at + 1 :] if lexicon.tells(word)} - WORDS.praise
    wrong = more or not (WORDS.wrongs | WORDS.negators).isdisjoint(said[at + 1 :])
    return bool(wrong if said[at] in WORDS.copulas else said[at] in WORDS.modals and more)


def is_question(said: Words) -> bool:
    """Whether a clause asks something, as its first words say."""
    said = tuple(dropwhile((WORDS.interjections | {"but", "and", "just"}).__contains__, said))
    if not said or said in SAYINGS.yes or said in SAYINGS.hedges:
        return False
    first, second = said[0], said[1] if len(said) > 1 else ""
    if len(said) == 2 and second in {"what", "why", "huh"}:
        return True
    subject = said[2:3] if second == "the" else said[1:2]
    relative = first == "what" and len(said) > 2 and subject[0] not in _NO_SUBJECTS
    if relative or (first == "were" and second and second not in WORDS.subjects | WORDS.there):
        return False  # `what finance waits for`, `we're on it`
    if first in {"when", "where"}:
        return not second or second in WORDS.verbs
    if first in WORDS.asking or (first in WORDS.asking_anything and second not in {"", "be"}):
        return True
    return len(said) > 2 and first in WORDS.asking_with_subject and second in WORDS.subjects


def has_condition(said: Words, lexicon: Lexicon) -> bool:
    """Whether a clause has a condition that is no option's own: `2 if it is green`."""
    if find(SAYINGS.provisos, said) and not lexicon.verbatim(said):
        return True
    conditions = {"if", "unless"} - lexicon.label_words
    hanging = (at for at, word in enumerate(said) if word in conditions)
    first = next((at for at in hanging if said[max(at - 1, 0)] not in {"as", "even"}), None)
    return first is not None and not opens(said[first:], SAYINGS.polite_ifs)


def limits(said: Words) -> bool:
    """Whether a clause opens with a condition or a sequence, or limits what was chosen."""
    if said[0] == "but" and (
        said[-1] == "first" or (not WORDS.limits.isdisjoint(said) and not follows_up(said))
    ):
        return True
    said = tuple(dropwhile(WORDS.turns.__contains__, said))
    return len(said) > 1 and said[0] in WORDS.conditions and not opens(said, SAYINGS.polite_ifs)


def follows_up(said: Words) -> bool:
    """`we can move later`, `tell me`: what somebody does then, which changes no choice."""
    said = tuple(dropwhile(WORDS.turns.__contains__, said[:-2])) + said[-2:]
    return said[0] in WORDS.following or (said[0] in WORDS.speakers and said[1] in WORDS.modals)


def find(known: frozenset[Words], said: Words) -> slice | None:
    """Where the longest of the phrases stands that are among the words."""
    spans = (
        slice(at, at + long)
        for long in range(_LONGEST_HEDGE, 0, -1)
        for at in range(len(said) - long + 1)
    )
    return next((span for span in spans if said[span] in known), None)


_BREAK = re.compile(
    r"[;!?…\n()\[\]{}—:]|\.\.|--|\s[-–~]|[-–]\s|\.\s|[\u2600-\u27bf\U0001f000-\U0001faff]"
)
_MARKS = frozenset(".,:")
_LONGEST = max(map(len, SAYINGS.corrections))
_RANGE = frozenset(("-", "–", "—", "..", "…", "~"))
_SIGNS = "$€£"


class Clause(NamedTuple):
    """Some words of a reply, and where they stand in it."""

    words: Words
    start: int
    end: int
    mark: str = ""
    """What stands before it: a comma, a colon or something else."""
    corrects: bool = False
    """It takes back what was said before."""


def split(text: str, kept: frozenset[str], joins: frozenset[tuple[str, str, str]]) -> list[Clause]:
    """The clauses of a reply, also cut before words such as "because", "but" and "no wait".

    `kept` are words of the options, never a turn of speech, and `joins` are two of them with what
    stands between them there, which is no break.
    """
    typed = [*_cut(text, kept, joins), (".", len(text), len(text))]
    words = tuple(word for word, _, _ in typed)
    clauses: list[Clause] = []
    first, mark, corrects = 0, ".", False
    marker: Words = ()

    def end_clause(last: int, following: int, sign: str = "") -> None:
        nonlocal first, mark, marker, corrects
        if first < last:
            start, end = typed[first][1], typed[last - 1][2]
            clauses.append(Clause(words[first:last], start, end, mark, corrects))
            marker, corrects = (), False
        first, mark = following, sign or mark

    for at, word in enumerate(words):
        if at < first:
            continue
        long = _find_correction(words[first:], at - first, kept)
        if word in _MARKS:
            end_clause(at, at + 1, word)
        elif long:
            end_clause(at, at + long)
            marker, corrects = words[at : at + long], bool(clauses) or corrects
        elif at > first and _turns(words, at, kept):
            end_clause(at, at, ".")
        elif at == first and (
            word in WORDS.bare_no - {"no"} or (word == "no" and words[at + 1] in WORDS.answering)
        ):  # `no let me edit`, `nah use 2`
            end_clause(at + 1, at + 1, ".")
    # A second thought with nothing behind it takes back what was said: `2, no wait`.
    if left := tuple(word for word in marker if word not in WORDS.mild):
        said = left if left == ("no",) else ("nevermind",)
        clauses.append(Clause(said, len(text), len(text), corrects=True))
    return clauses


def _cut(
    text: str, kept: frozenset[str], joins: frozenset[tuple[str, str, str]]
) -> Iterator[tuple[str, int, int]]:
    """The words of a reply with where they begin and end, and between them marks and joints."""
    before, end = "", 0
    for typed, start, stop in spans(text):
        word = typed if typed in kept or (typed == "n" and not before) else _expand(typed, kept)
        if word.isdigit() and (before == "at" or before in kept) and f"{word}:00" in kept:
            word = f"{word}:00"
        gap = text[end:start]
        if (before, gap.strip(), word) in joins or (gap == ":" and word[0].isdigit() and before):
            gap = " "
        if before and (joint := _join(gap, before, word)):
            yield joint, start, start
        yield word, start, stop
        before, end = word, stop


def _join(gap: str, before: str, word: str) -> str:
    """What stands between two words: a range, a mark, a joint, or nothing."""
    if before.isdigit() and word.isdigit() and gap.strip() in _RANGE:
        return "to"
    if _BREAK.search(gap if word.isascii() else gap + word) or (before.isdigit() and "." in gap):
        return ":" if gap.strip() == ":" else "."
    if "," in gap:
        return ","
    if "&" in gap or "+" in gap:
        return "and"
    return "per" if gap == "/" and before.isdigit() and word in WORDS.units else "/" * ("/" in gap)


def _expand(typed: str, kept: frozenset[str]) -> str:
    """What is typed in a hurry, as it is mostly spelt: `u`, or `2.5` where there is `2.5.0`."""
    if typed[0] in _SIGNS:
        return typed[1:] if typed[1:] in kept else typed
    if not typed[0].isdigit():
        digits = str(cardinal(typed)) if typed != "one" else typed
        if CUT.get(typed) in kept:
            return CUT[typed]
        return digits if digits in kept else SHORT.get(typed, typed)
    longer = [word for word in kept if "." in typed and word.startswith(typed + ".")]
    marked = [f"{typed}%", f"v{typed}", *(f"{sign}{typed}" for sign in _SIGNS)]
    found = [*longer, *(word for word in marked if len(typed) > 1 and word in kept)]
    return found[0] if len(found) == 1 else typed


def _find_correction(words: Words, at: int, kept: frozenset[str]) -> int:
    """How many words of a second thought stand here."""
    for long in range(min(_LONGEST, len(words) - at), 0, -1):
        phrase = words[at : at + long]
        if phrase not in SAYINGS.corrections or (long == 1 and phrase[0] in kept):
            continue
        following = words[at + long : at + long + 1] or (".",)
        denied = phrase[-1] == "no" and following[0] not in WORDS.saying | _MARKS
        if denied and not cardinal(following[0]):  # `actually no sushi`
            continue
        if long > 1 or WORDS.interjections.issuperset(words[:at]) or cardinal(words[at - 1]):
            return long
    here, behind, then = (*words[at : at + 3], "", "")[:3]
    if (here, behind) == ("make", "it") and cardinal(then):
        return 2
    numbers = here == "no" and at and cardinal(words[at - 1]) and cardinal(behind)
    halt = here == "wait" and not at and behind in _MARKS and here not in kept
    return int(bool(numbers or halt))


def _turns(words: Words, at: int, kept: frozenset[str]) -> bool:
    """Whether another thought begins here, unless it is the "but" of "anything but"."""
    if words[at] not in WORDS.reasons | {"but"} or {*words[at - 1 : at + 2]} <= kept:
        return False
    each = words[max(at - 2, 0)] in {"any", "every", "all"} or words[at - 1] in WORDS.quantifiers
    return words[at] != "but" or not (each or words[at - 1] in {"nothing", "last"})
