"""How a reply is cut into clauses, and what kind of clause each is."""

from __future__ import annotations

import re
from itertools import dropwhile, pairwise
from typing import TYPE_CHECKING, NamedTuple

from quandary.reading.numbers import cardinal, counts
from quandary.reading.phrases import CUT, SAYINGS, SHORT, WORDS
from quandary.reading.stems import stem
from quandary.reading.words import opens, spans, wordings, wordset

if TYPE_CHECKING:
    from quandary.reading.lexicon import Lexicon

Words = tuple[str, ...]
FILLERS = WORDS.choosing | WORDS.interjections
_COPULAS = wordset("is are was were")
_OTHERS = wordset("there theres nobody he she they people users everybody")
"""Words that open a statement about something or somebody else."""
_SPEAKERS = wordset("i we you they")
_TURNS = wordset("but and just so please also")
_FOLLOWING = wordset(
    "tell let ping call shout warn notify ask text mail email message remind alert ill well"
)
_INQUIRIES = wordset("explain describe elaborate clarify compare")
_INQUIRING_LEADS = wordset("first just can could would i we you to want need like maybe")
_TO_WHOM = wordings("to me,to us,for her,for him,for them")
_WHERE = wordset("at in on from away off out")
_PARTS = wordset("one some half part most many few")
_VOTING = wordset("my our answer choice vote pick preference favourite favorite")
_THERE = wordset("the there it this that these those any")
"""Behind a "were" that asks, unlike that of "we're on it"."""
_NO_SUBJECTS = WORDS.verbs | WORDS.function | WORDS.neutral
_LONGEST_HEDGE = max(map(len, SAYINGS.hedges))


def edges(said: Words, front: frozenset[str], back: frozenset[str] = frozenset()) -> Words:
    """The words without those at either end that are only said around a choice."""
    first, last = 0, len(said)
    while first < last and said[first] in front and (said[first] != "and" or not first):
        first += 1
    while last > first and not (back and to_whom(said, last)):
        behind = said[last:]
        joint = said[last - 1] == "and" and behind and WORDS.interjections.issuperset(behind)
        if said[last - 1] not in back and not joint:
            break
        last -= 1
    return said[first:last]


def to_whom(said: Words, last: int) -> bool:
    """`send it to me` is more than `send it`; `looks good to me` is not."""
    pair, before = said[max(last - 2, 0) : last], said[max(last - 3, 0) : max(last - 2, 0)]
    return pair in _TO_WHOM and not (before and before[0] in WORDS.praise)


def strip(said: Words) -> Words:
    """The words without what is said around a choice."""
    return edges(said, FILLERS, WORDS.endings)


def is_chatter(said: Words) -> bool:
    """Whether nothing was said but thanks and the like."""
    if said in SAYINGS.tails or opens(said, SAYINGS.polite_ifs):
        return True
    return all(w in WORDS.interjections or w in WORDS.endings or w in _VOTING for w in said)


def is_statement(said: Words, lexicon: Lexicon) -> bool:
    """Whether a clause tells how things are: `I have to leave`, `the logs we still need`."""
    if said[0] in _OTHERS - lexicon.label_words or said in SAYINGS.pleas:
        return True
    for one, two in pairwise(said):
        away = one == "im" and two in _WHERE
        if away or (two == "of" and one in _PARTS - lexicon.label_words and one != said[0]):
            return True
    for long in (2, 3, 4):
        if said[:long] in SAYINGS.owning and said[long:] and said[long] not in WORDS.declaring:
            return True
    return any(_tells_of(said, at, lexicon) for at in range(1, len(said) - 1))


def _tells_of(said: Words, at: int, lexicon: Lexicon) -> bool:
    """Whether something is said here of what was named: that it is so, or does or needs something.

    `the cook is best` is a choice, and `the map i think`; `the cook is ill` is none.
    """
    if not any(map(lexicon.tells, said[:at])) or lexicon.verbatim(said[at : at + 2]):
        return False
    if said[at] in _SPEAKERS:
        return said[at + 1] not in WORDS.opining and said[at - 1] != "what"
    if said[at] in _COPULAS:
        wrong = not (WORDS.wrongs | WORDS.negators).isdisjoint(said[at + 1 :])
        return wrong or any(lexicon.tells(w) and w not in WORDS.praise for w in said[at + 1 :])
    modal = said[at] in WORDS.modals
    return modal and any(map(lexicon.tells, said[at + 1 :]))


def is_inquiry(said: Words, lexicon: Lexicon) -> bool:
    """`tell me about the offer`, `explain 2`: to be told of an option is not to choose it."""
    core = edges(said, WORDS.interjections | _INQUIRING_LEADS)
    if len(core) < 2 or lexicon.label_stems.intersection(map(stem, core[:1])):
        return False
    informing = core[0] in {"tell", "show", "teach"} and core[1] in {"me", "us"}
    return informing or core[0] in _INQUIRIES


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
    if relative or (first == "were" and second and second not in WORDS.subjects | _THERE):
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
    for at, word in enumerate(said):
        conditional = word in {"if", "unless"} - lexicon.label_words
        if conditional and said[max(at - 1, 0)] not in {"as", "even"}:
            return not opens(said[at:], SAYINGS.polite_ifs)
    return False


def limits(said: Words) -> bool:
    """Whether a clause opens with a condition or a sequence, or limits what was chosen."""
    if said[0] == "but" and (
        said[-1] == "first" or (not WORDS.limits.isdisjoint(said) and not follows_up(said))
    ):
        return True
    said = tuple(dropwhile(_TURNS.__contains__, said))
    return len(said) > 1 and said[0] in WORDS.conditions and not opens(said, SAYINGS.polite_ifs)


def follows_up(said: Words) -> bool:
    """`we can move later`, `tell me`: what somebody does then, which changes no choice."""
    while len(said) > 2 and said[0] in _TURNS:
        said = said[1:]
    return said[0] in _FOLLOWING or (said[0] in _SPEAKERS and said[1] in WORDS.modals)


def is_hedge(said: Words, lexicon: Lexicon) -> bool:
    """Whether the person says that they do not know, or do not mind."""
    said = said[1:] if said[0] == "only" else said
    # What others do not know or mind is no hedge: `users don't mind`.
    first = said.index("dont") if "dont" in said else 0
    around = WORDS.neutral | WORDS.function | lexicon.label_words
    others = first and said[first - 1] not in around
    return find(SAYINGS.hedges, said[:first] if others else said) is not None


def cut_hedge(said: Words) -> Words:
    """The words without the hedge among them."""
    hedge = find(SAYINGS.hedges, said) or slice(0, 0)
    return (*said[: hedge.start], *said[hedge.stop :]) or said


def find(known: frozenset[Words], said: Words) -> slice | None:
    """Where the longest of the phrases stands that are among the words."""
    spans = (
        slice(at, at + long)
        for long in range(_LONGEST_HEDGE, 0, -1)
        for at in range(len(said) - long + 1)
    )
    return next((span for span in spans if said[span] in known), None)


_BREAK = re.compile(r"[;!?…\n()\[\]{}—:]|\.\.|--|\s[-–~]|[-–]\s|\.\s")
_MILD = wordset("actually sorry hmm oh ah i mean meant")
_RANGE = wordset("- – — .. … ~")
_LONGEST = max(map(len, SAYINGS.corrections))
_SAYING = wordset("i id ill im let lets we well go use do just please pick")
_SIGNS = "$€£"
_UNITS = wordset("s sec second min minute h hr hour day week month year")
_CONCLUDING = wordings("and i think,and id say,and i guess")


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


class _Gathering:
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
            turn = words[at] in (WORDS.reasons | {"but"}) or words[at : at + 3] in _CONCLUDING
            if at > first and turn and not kept and not _excepts(words, at):
                self._cut(words, first, at)
                first = at
            if at == first and _refuses(words, at):
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
            self.corrects, self.marker = False, ()

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
    draft = _Gathering(kept)
    before, end = "", 0
    for typed, start, stop in spans(text):
        word = typed if typed in kept or (typed == "n" and not before) else _expand(typed, kept)
        if word.isdigit() and (before == "at" or before in kept) and f"{word}:00" in kept:
            word = f"{word}:00"
        gap = text[end:start]
        if (before, gap.strip(), word) in joins:
            gap = " "
        if before + word in kept and gap in {" ", "-"} and draft.fuse(word, stop):
            before, end = before + word, stop
            continue
        _close_gap(draft, gap, before, word, start)
        draft.add(word, start, stop)
        before, end = word, stop
    draft.close()
    draft.leave(end)
    return draft.clauses


def _expand(typed: str, kept: frozenset[str]) -> str:
    """What is typed in a hurry, as it is mostly spelt: `u`, or `2.5` where there is `2.5.0`."""
    if typed[0] in _SIGNS:
        return typed[1:] if typed[1:] in kept else typed
    if not typed[0].isdigit():
        digits = str(cardinal(typed)) if typed != "one" else typed
        if CUT.get(typed) in kept:
            return CUT[typed]
        return digits if digits in kept else SHORT.get(typed, typed)
    if f"{typed}%" in kept and len(typed) > 1:
        return f"{typed}%"
    if "." in typed:
        longer = [word for word in kept if word.startswith(typed + ".")]
        return longer[0] if len(longer) == 1 else typed
    marked = (f"v{typed}", *(f"{sign}{typed}" for sign in _SIGNS))
    return next((word for word in marked if len(typed) > 1 and word in kept), typed)


def _close_gap(draft: _Gathering, gap: str, before: str, word: str, start: int) -> None:
    """What stands between two words: a range, a break, a joint, or nothing."""
    if gap == ":" and word[0].isdigit() and before:
        return
    if before.isdigit() and word.isdigit() and gap.strip() in _RANGE:
        draft.add("to", start, start)
    elif _BREAK.search(gap) or _has_emoji(gap + word) or (before.isdigit() and "." in gap):
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


def _has_emoji(gap: str) -> bool:
    """Whether an emoji stands here."""
    if gap.isascii():
        return False
    from unicodedata import category  # noqa: PLC0415 - a megabyte that English replies do without

    return any(category(character) == "So" for character in gap)


def _correction(words: tuple[str, ...], at: int, kept: frozenset[str]) -> int:
    """How many words of a second thought stand here."""
    for long in range(min(_LONGEST, len(words) - at), 0, -1):
        phrase = words[at : at + long]
        if phrase not in SAYINGS.corrections or (long == 1 and phrase[0] in kept):
            continue
        if phrase == ("rather",) and (at or words[1:2] in {("than",), ()}):
            continue
        if phrase[-1] == "no" and _denies(words, at + long):
            continue
        if long > 1 or WORDS.interjections.issuperset(words[:at]) or cardinal(words[at - 1]):
            return long
    if words[at : at + 2] == ("make", "it") and words[at + 2 : at + 3]:
        return 2 if counts(words[at + 2]) or words[at + 2] == "the" else 0
    if words[at] == "no" and at and cardinal(words[at - 1]) and words[at + 1 : at + 2]:
        return 1 if cardinal(words[at + 1]) else 0
    return 1 if words == ("wait",) and "wait" not in kept else 0


def _denies(words: tuple[str, ...], at: int) -> bool:
    """Whether a "no" is said to what follows: `actually no sushi`."""
    return at < len(words) and not cardinal(words[at]) and words[at] not in _SAYING | {"the"}


def _refuses(words: tuple[str, ...], at: int) -> bool:
    """A "no" that answers, and is not said to what follows: `no let me edit`, `nah use 2`."""
    answering = words[at] == "no" and not _SAYING.isdisjoint(words[at + 1 : at + 2])
    return answering or words[at] in {"nope", "nah", "naw"}


def _excepts(words: tuple[str, ...], at: int) -> bool:
    """The "but" of "anything but", which is no turn."""
    if words[at - 1 : at + 2] == ("last", "but", "one"):
        return True
    if words[at] != "but":
        return False
    each = words[max(at - 2, 0)] in {"any", "every", "all"}
    return each or words[at - 1] in WORDS.quantifiers | {"nothing"}
