"""How a clause is said: what stands around a choice, and what makes it something else."""

from __future__ import annotations

import re
from itertools import dropwhile, pairwise
from typing import TYPE_CHECKING, NamedTuple

from quandary.reading import phrases
from quandary.reading.numbers import cardinal, counts
from quandary.reading.words import opens, spans, spellings, stem, wordings, wordset

if TYPE_CHECKING:
    from quandary.reading.evidence import Lexicon

Words = tuple[str, ...]
FILLERS = phrases.CHOOSING | phrases.INTERJECTIONS
DETERMINERS = wordset("the a an my our your these those some any")
_ARTICLES = frozenset(("a", "an"))
_COPULAS = wordset("is are was were looks look seems feels sounds")
_OTHERS = wordset("there theres nobody he she they people users everybody")
"""Words that open a statement about something or somebody else."""
_PLEAS = wordings("help,help me,help please")
_SPEAKERS = wordset("i we you they")
_TURNS = wordset("but and just so please also")
_TELLING = wordset(
    "tell let ping call shout warn notify ask text mail email message remind alert ill well"
)
_MODALS = wordset("can could will may might must")
_INQUIRIES = wordset("explain describe elaborate clarify compare")
_INQUIRING_LEADS = wordset("first just can could would i we you to want need like maybe")
_WHERE = wordset("at in on from away off out")
_MINDED = wordset("favor favour for board with")
_TO_WHOM = wordings("to me,to us,for her,for him,for them")
_PARTS = wordset("one some half part most many few")
_VOTING = wordset("my our answer choice vote pick preference favourite favorite")
_WHOLES = wordset("everything both all nothing anything")


def edges(said: Words, front: frozenset[str], back: frozenset[str] = frozenset()) -> Words:
    """The words without those at either end that are only said around a choice."""
    first, last = 0, len(said)
    while first < last and said[first] in front and (said[first] != "and" or not first):
        first += 1
    while last > first and not (back and _to_whom(said, last)):
        behind = said[last:]
        joint = said[last - 1] == "and" and behind and phrases.INTERJECTIONS.issuperset(behind)
        if said[last - 1] not in back and not joint:
            break
        last -= 1
    return said[first:last]


def _to_whom(said: Words, last: int) -> bool:
    """`send it to me` is more than `send it`; `looks good to me` is not."""
    pair, before = said[max(last - 2, 0) : last], said[max(last - 3, 0) : max(last - 2, 0)]
    return pair in _TO_WHOM and not (before and before[0] in phrases.PRAISE)


def strip(said: Words) -> Words:
    """The words without what is said around a choice."""
    return edges(said, FILLERS, phrases.ENDINGS)


def cut_praise(said: Words) -> Words:
    """The words without praise in their midst: `memory is fine for sessions`."""
    for at, pair in enumerate(pairwise(said)):
        if 0 < at < len(said) - 2 and pair[0] in _COPULAS and pair[1] in phrases.PRAISE:
            return (*said[:at], *said[at + 2 :])
    return said


def lacks_will(said: Words, at: int) -> bool:
    """Whether a "won't" is nobody's will: `that won't work`, not `we won't publish`."""
    willing = at and said[at - 1] in _SPEAKERS
    return said[at] in {"wont", "shouldnt", "wouldnt"} and not willing


def sets_condition(said: Words) -> bool:
    """Whether a clause opens with a condition, or tells what comes before or after."""
    if said[0] == "but" and said[-1] == "first":
        return True
    said = tuple(dropwhile(_TURNS.__contains__, said))
    return len(said) > 1 and said[0] in phrases.CONDITIONS and not opens(said, phrases.POLITE_IFS)


def follows_up(said: Words) -> bool:
    """`we can move later`, `tell me`: what somebody does then, which changes no choice."""
    while len(said) > 2 and said[0] in _TURNS:
        said = said[1:]
    return said[0] in _TELLING or (said[0] in _SPEAKERS and said[1] in _MODALS)


def complains(said: Words) -> bool:
    """Whether a clause says that something is wrong."""
    return any(verb in _COPULAS and fault in phrases.WRONGS for verb, fault in pairwise(said))


def chats(said: Words) -> bool:
    """Whether nothing was said but thanks and the like."""
    if said in phrases.TAILS or opens(said, phrases.POLITE_IFS):
        return True
    return all(w in phrases.INTERJECTIONS or w in phrases.ENDINGS or w in _VOTING for w in said)


def tells(said: Words, lexicon: Lexicon) -> bool:
    """Whether a clause tells how things are: `I have to leave`, `the logs we still need`."""
    for long in range(2, min(4, len(said) - 1) + 1):
        if said[:long] in phrases.DUTIES and said[long] not in phrases.DECLARING:
            return True
        if said[:long] in phrases.OWNING and said[long] != "to":
            return True
    parts = (part for part, of in pairwise(said[1:]) if of == "of" and "course" not in said)
    if any(part in _PARTS - lexicon.label_words for part in parts):
        return True
    if said[0] == "im" and len(said) > 2 and said[1] in _WHERE and said[2] not in _MINDED:
        return True
    if said[0] in _OTHERS - lexicon.label_words or said in _PLEAS or complains(said):
        return True
    return _inquires(said, lexicon) or any(
        _tells_of(said, at, lexicon) or _describes(said, at, lexicon)
        for at in range(1, len(said) - 1)
    )


def _describes(said: Words, at: int, lexicon: Lexicon) -> bool:
    """Whether it is said here how an option is: `the cook is ill`, not `the cook is best`."""
    if said[at] not in {"is", "are", "was", "were"} or not lexicon.mentions(said[:at]):
        return False
    return any(lexicon.tells(word) and word not in phrases.PRAISE for word in said[at + 1 :])


def _inquires(said: Words, lexicon: Lexicon) -> bool:
    """`tell me about the offer`, `explain 2`: to be told of an option is not to choose it."""
    core = edges(said, phrases.INTERJECTIONS | _INQUIRING_LEADS)
    if len(core) < 2 or lexicon.label_stems.intersection(map(stem, core[:1])):
        return False
    informing = core[0] in {"tell", "show", "teach"} and core[1] in {"me", "us"}
    return informing or core[0] in _INQUIRIES


def _tells_of(said: Words, at: int, lexicon: Lexicon) -> bool:
    """Whether somebody does something here with what was named before."""
    speaks = said[at] in _SPEAKERS or (said[at] == "im" and said[at + 1] in _WHERE)
    if not speaks or said[at + 1] in phrases.OPINING or said[at - 1] == "what":
        return False
    told = any(map(lexicon.tells, said[:at]))
    return told and not lexicon.verbatim(said[at : at + 2])


def another_deed(said: Words, lexicon: Lexicon) -> bool:
    """`take a break` is not `Break it up`, nor is `delete everything` `Delete old logs`."""
    core = edges(said, FILLERS - _ARTICLES)
    if len(core) < 2:
        return False
    first = stem(core[0])
    if core[0] in _ARTICLES:
        return stem(core[1]) in lexicon.deeds
    if first not in lexicon.openings:
        pointing = core[1:] in {("it",), ("them",), ("this",), ("that",)}
        return pointing and first in lexicon.things
    if _to_whom(said, len(said)):
        return not lexicon.verbatim(said[-2:])
    if not (_WHOLES - lexicon.label_words).isdisjoint(core[1:]):
        return True
    bare = len(core) < 4 or core[1] not in DETERMINERS or first not in lexicon.deeds
    return not bare and "thing" not in core and not any(map(lexicon.tells, core[2:]))


_BREAK = re.compile(r"[;!?…\n()\[\]{}—:]|\.\.|--|\s[-–~]|[-–]\s|\.\s")
_MILD = wordset("actually sorry hmm oh ah i mean meant")
_RANGE = wordset("- – — .. … ~")
_LONGEST = max(map(len, phrases.CORRECTIONS))
_SAYING = wordset("i id ill im let lets we well go use do just please pick")
_SIGNS = "$€£"
_UNITS = wordset("s sec second min minute h hr hour day week month year")
_CONCLUDING = wordings("and i think,and id say,and i guess")
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
            turn = words[at] in phrases.CONNECTIVES or words[at : at + 3] in _CONCLUDING
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
        if phrase not in phrases.CORRECTIONS or (long == 1 and phrase[0] in kept):
            continue
        if phrase == ("rather",) and (at or words[1:2] in {("than",), ()}):
            continue
        if phrase[-1] == "no" and _denies(words, at + long):
            continue
        if long > 1 or phrases.INTERJECTIONS.issuperset(words[:at]) or cardinal(words[at - 1]):
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
    return each or words[at - 1] in phrases.QUANTIFIERS | {"nothing"}
