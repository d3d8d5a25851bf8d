"""How a clause is said: what stands around a choice, and what makes it something else."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from quandary.reading import phrases
from quandary.reading.words import stem, wordset

if TYPE_CHECKING:
    from quandary.reading.evidence import Lexicon

Words = tuple[str, ...]
FILLERS = phrases.CHOOSING | phrases.INTERJECTIONS
DETERMINERS = wordset("the a an my our your these those some any")
_ARTICLES = frozenset(("a", "an"))
_COPULAS = wordset("is are was were looks look seems feels sounds")
_OTHERS = wordset("there theres nobody he she they people users everybody")
"""Words that open a statement about something or somebody else."""
_PLEAS = {("help",), ("help", "me"), ("help", "please")}
_SPEAKERS = wordset("i we you they")
_TURNS = wordset("but and just so please also")
_TELLING = wordset("tell let ping call shout warn notify ask text mail email message remind alert")
_WILL = {("ill",), ("well",)}
_MODALS = wordset("can could will may might must")
_ANNOUNCING = wordset("decision verdict conclusion final result opinion think vote pick choice do")
_INQUIRIES = wordset("explain describe elaborate clarify compare")
_INQUIRING_LEADS = wordset("first just can could would i we you to want need like maybe")
_INFORMING = wordset("tell show teach")
_ONES = wordset("one ones option choice person guy")
_BEING = wordset("is are was were")
_PREPOSITIONS = wordset("as in with for on by to at via per until from")
_WHICHEVER = wordset("whoever whatever whichever when where")
_WILLING = wordset("wont shouldnt wouldnt")
_DURING = wordset("in for after within")
_IT = wordset("it them this that")
_WHERE = wordset("at in on from away off out")
_MINDED = wordset("favor favour for board with")
_TO_WHOM = {("to", "me"), ("to", "us"), ("for", "her"), ("for", "him"), ("for", "them")}
_MINDING = wordset("understand know see get believe remember care mind")
_PARTS = wordset("one some half part most many few")
_VOTING = wordset("my our answer choice vote pick preference favourite favorite")
_WHEN = wordset("asap today tonight tomorrow now soon first later monday friday urgent")
_WHOLES = wordset("everything both all nothing anything")


def edges(said: Words, front: frozenset[str], back: frozenset[str]) -> Words:
    """The words without those at either end that are only said around a choice."""
    first, last = 0, len(said)
    while first < last and said[first] in front and (said[first] != "and" or not first):
        first += 1
    while last > first:
        joint = (
            said[last - 1] == "and"
            and phrases.INTERJECTIONS.issuperset(said[last:])
            and said[last:]
        )
        if (said[last - 1] not in back and not joint) or (back and _to_whom(said, last)):
            break
        last -= 1
    return said[first:last]


def _to_whom(said: Words, last: int) -> bool:
    """`send it to me` is more than `send it`; `looks good to me` is not."""
    pair, before = said[max(last - 2, 0) : last], said[max(last - 3, 0) : max(last - 2, 0)]
    return pair in _TO_WHOM and not (before and before[0] in phrases.PRAISE)


def stripped(said: Words) -> Words:
    """The words without what is said around a choice."""
    return edges(said, FILLERS, phrases.ENDINGS)


def untailed(said: Words) -> Words:
    """The words without what is said behind them to no effect: `merge it who cares`."""
    for long in (5, 4, 3, 2):
        if len(said) > long and said[-long:] in phrases.TAILS:
            return said[:-long]
    return said


def unpraised(said: Words) -> Words:
    """The words without praise in their midst: `memory is fine for sessions`."""
    for at, pair in enumerate(pairwise(said)):
        if 0 < at < len(said) - 2 and pair[0] in _COPULAS and pair[1] in phrases.PRAISE:
            return (*said[:at], *said[at + 2 :])
    return said


def referring(said: Words) -> bool:
    """Whether an option is described: `the one that …`, `the person who …`."""
    core = edges(said, FILLERS, frozenset())
    return core[:1] != () and core[0] in _ONES and core[1:2] != () and core[1] in phrases.RELATIVE


def described(said: Words) -> Words:
    """What is said of the option that is meant: `whoever has time`, `the one with sleepers`."""
    if referring(said):
        core = edges(said, FILLERS, frozenset())
        return core[1:] if core[1] in phrases.NEGATORS else core[2:]
    return said[1:] if said[:1] and said[0] in _WHICHEVER else said


def unwilled(said: Words, at: int) -> bool:
    """Whether a "won't" is nobody's will: `that won't work`, not `we won't publish`."""
    return said[at] in _WILLING and (not at or said[at - 1] not in _SPEAKERS)


def superlative(said: Words) -> Words:
    """`the best` may be an option's own praise."""
    return tuple(word for word in said if word in phrases.PRAISE) if said[:1] == ("the",) else ()


def at_a_loss(said: Words, at: int) -> bool:
    """`i don't understand the verdict` rules nothing out."""
    return said[at] == "dont" and said[at + 1 : at + 2] != () and said[at + 1] in _MINDING


def of_a_kind(said: Words) -> bool:
    """`a bike` is a thing of their own more often than the `bike shop` of a description."""
    core = edges(said, (FILLERS | _DURING) - _ARTICLES, phrases.ENDINGS)
    return len(core) == 2 and core[0] in _ARTICLES and said[-1] not in {"one", "option"}


def chosen(said: Words) -> bool:
    """Whether a clause opens as a choice does, such as "let's" or "so"."""
    said = said[1:] if said[0] == "and" else said
    return any(said[: len(opening)] == opening for opening in phrases.CHOOSERS)


def conditional(said: Words) -> bool:
    """Whether a clause opens with a condition, or tells what comes before or after."""
    if said[0] == "but" and said[-1] == "first":
        return True
    while said and said[0] in _TURNS:
        said = said[1:]
    polite = any(said[: len(phrase)] == phrase for phrase in phrases.POLITE_IFS)
    return len(said) > 1 and said[0] in phrases.CONDITIONS and not polite


def hinges(said: Words, own: frozenset[str]) -> bool:
    """Whether a clause has a condition that is no option's own: `2 if it is green`."""
    for at in range(len(said)):
        if said[at] in {"if", "unless"} - own and said[max(at - 1, 0)] not in {"as", "even"}:
            return not any(said[at : at + len(phrase)] == phrase for phrase in phrases.POLITE_IFS)
    return False


def afterwards(said: Words) -> bool:
    """`we can move later`, `tell me`: what somebody does then, which changes no choice."""
    while len(said) > 2 and said[0] in _TURNS:
        said = said[1:]
    return said[0] in _TELLING or said[:1] in _WILL or (said[0] in _SPEAKERS and said[1] in _MODALS)


def announces(said: Words) -> bool:
    """Whether a choice may follow behind a colon: `my verdict: …`, `let's do it properly: …`."""
    if not phrases.EXCLUDERS.isdisjoint(said) or not phrases.WRONGS.isdisjoint(said):
        return False
    return chosen(said) or not _ANNOUNCING.isdisjoint(said)


def complaint(said: Words) -> bool:
    """Whether a clause says that something is wrong."""
    return any(verb in _COPULAS and fault in phrases.WRONGS for verb, fault in pairwise(said))


def excuse(said: Words) -> bool:
    """`no time`, `too slow`, `because of the tests`: why not, rather than what."""
    return len(said) > 1 and (said[0] in phrases.REASONS or said[0] in {"no", "not", "too"})


def hurried(said: Words) -> bool:
    """Whether words say when, how or why rather than what: `quickly`, `asap`, `no hurry`."""
    if said[0] in phrases.REASONS | phrases.EXCLUDERS | _PREPOSITIONS | {"but"}:
        return True
    return any(word in _WHEN or word.endswith("ly") for word in said)


def chatter(said: Words) -> bool:
    """Whether nothing was said but thanks and the like."""
    return (
        said in phrases.TAILS
        or any(said[: len(p)] == p for p in phrases.POLITE_IFS)
        or all(
            word in phrases.INTERJECTIONS or word in phrases.ENDINGS or word in _VOTING
            for word in said
        )
    )


def tells(said: Words, lexicon: Lexicon) -> bool:
    """Whether a clause tells how things are: `I have to leave`, `the logs we still need`."""
    for long in range(2, min(4, len(said) - 1) + 1):
        if said[:long] in phrases.DUTIES and said[long] not in phrases.DECLARING:
            return True
        if said[:long] in phrases.OWNING and said[long] != "to":
            return True
    for at, (part, of) in enumerate(pairwise(said)):
        if at and part in _PARTS - lexicon.label_words and of == "of" and "course" not in said:
            return True
    if said[0] == "im" and len(said) > 2 and said[1] in _WHERE and said[2] not in _MINDED:
        return True
    if (
        said[0] in _OTHERS - lexicon.label_words
        or said in _PLEAS
        or complaint(said)
        or _inquires(said, lexicon)
    ):
        return True
    return any(
        _tells_of(said, at, lexicon) or _describes(said, at, lexicon)
        for at in range(1, len(said) - 1)
    )


def _describes(said: Words, at: int, lexicon: Lexicon) -> bool:
    """Whether it is said here how an option is: `the cook is ill`, not `the cook is best`."""
    if said[at] not in _BEING or not lexicon.mentioned(said[:at]):
        return False
    return any(lexicon.telling(word) and word not in phrases.PRAISE for word in said[at + 1 :])


def _inquires(said: Words, lexicon: Lexicon) -> bool:
    """`tell me about the offer`, `explain 2`: to be told of an option is not to choose it."""
    core = edges(said, phrases.INTERJECTIONS | _INQUIRING_LEADS, frozenset())
    if len(core) < 2 or lexicon.label_stems.intersection(map(stem, core[:1])):
        return False
    if core[0] in _INQUIRIES:
        return True
    return core[1] in {"me", "us"} and core[0] in _INFORMING


def _tells_of(said: Words, at: int, lexicon: Lexicon) -> bool:
    """Whether somebody does something here with what was named before."""
    speaks = said[at] in _SPEAKERS or (said[at] == "im" and said[at + 1] in _WHERE)
    if not speaks or said[at + 1] in phrases.OPINING or said[at - 1] == "what":
        return False
    told = any(map(lexicon.telling, said[:at]))
    return told and not lexicon.verbatim(said[at : at + 2])


def another_deed(said: Words, lexicon: Lexicon) -> bool:
    """`take a break` is not `Break it up`, nor is `delete everything` `Delete old logs`."""
    core = edges(said, FILLERS - _ARTICLES, frozenset())
    if len(core) < 2:
        return False
    first = stem(core[0])
    if core[0] in _ARTICLES:
        return stem(core[1]) in lexicon.deeds
    if first not in lexicon.openings:
        return len(core) == 2 and core[1] in _IT and first in lexicon.things
    if _to_whom(said, len(said)):
        return not lexicon.verbatim(said[-2:])
    if not (_WHOLES - lexicon.label_words).isdisjoint(core[1:]):
        return True
    bare = len(core) < 4 or core[1] not in DETERMINERS or first not in lexicon.deeds
    return not bare and "thing" not in core and not any(map(lexicon.telling, core[2:]))
