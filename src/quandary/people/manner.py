"""How a clause is said: what stands around a choice, and what makes it something else."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from quandary.people.phrases import (
    CHOOSERS,
    CHOOSING,
    CONDITIONS,
    DECLARING,
    DUTIES,
    ENDINGS,
    EXCLUDERS,
    INTERJECTIONS,
    OPINING,
    OWNING,
    POLITE_IFS,
    REASONS,
    WRONGS,
)
from quandary.people.words import stem, wordset

if TYPE_CHECKING:
    from quandary.people.evidence import Lexicon

Words = tuple[str, ...]
FILLERS = CHOOSING | INTERJECTIONS
DETERMINERS = wordset("the a an my our your these those some any")
_ARTICLES = frozenset(("a", "an"))
_COPULAS = wordset("is are was were looks look seems feels sounds")
_OTHERS = wordset("there theres nobody he she they people users everybody")
"""Words that open a statement about something or somebody else."""
_PLEAS = {("help",), ("help", "me"), ("help", "please")}
_SPEAKERS = wordset("i we you they")
_VOTING = wordset("my our answer choice vote pick preference favourite favorite")
_WHEN = wordset("asap today tonight tomorrow now soon first later monday friday urgent")
_WHOLES = wordset("everything both all nothing anything")


def edges(said: Words, front: frozenset[str], back: frozenset[str]) -> Words:
    """The words without those at either end that are only said around a choice."""
    first, last = 0, len(said)
    while first < last and said[first] in front and (said[first] != "and" or not first):
        first += 1
    while last > first:
        joint = said[last - 1] == "and" and INTERJECTIONS.issuperset(said[last:]) and said[last:]
        if said[last - 1] not in back and not joint:
            break
        last -= 1
    return said[first:last]


def stripped(said: Words) -> Words:
    """The words without what is said around a choice."""
    return edges(said, FILLERS, ENDINGS)


def of_a_kind(said: Words) -> bool:
    """`a bike` is a thing of their own more often than the `bike shop` of a description."""
    core = edges(said, FILLERS - _ARTICLES, ENDINGS)
    return len(core) == 2 and core[0] in _ARTICLES and said[-1] not in {"one", "option"}


def chosen(said: Words) -> bool:
    """Whether a clause opens as a choice does, such as "let's" or "so"."""
    return any(said[: len(opening)] == opening for opening in CHOOSERS)


def conditional(said: Words) -> bool:
    """Whether a clause opens with a condition, or tells what comes before or after."""
    if said[0] == "but" and said[-1] == "first":
        return True
    while said and said[0] in {"but", "and", "just", "so"}:
        said = said[1:]
    polite = any(said[: len(phrase)] == phrase for phrase in POLITE_IFS)
    return len(said) > 1 and said[0] in CONDITIONS and not polite


def hinges(said: Words, own: frozenset[str]) -> bool:
    """Whether a clause goes on with a condition that is no option's own: `2 if it is green`."""
    for at in range(1, len(said)):
        if said[at] in {"if", "unless"} - own and said[at - 1] not in {"as", "even"}:
            return not any(said[at : at + len(phrase)] == phrase for phrase in POLITE_IFS)
    return False


def complaint(said: Words) -> bool:
    """Whether a clause says that something is wrong."""
    return any(verb in _COPULAS and fault in WRONGS for verb, fault in pairwise(said))


def hurried(said: Words) -> bool:
    """Whether words say when, how or why rather than what: `quickly`, `asap`, `no hurry`."""
    if said[0] in REASONS | EXCLUDERS | {"but"}:
        return True
    return any(word in _WHEN or word.endswith("ly") for word in said)


def chatter(said: Words) -> bool:
    """Whether nothing was said but thanks and the like."""
    return any(said[: len(p)] == p for p in POLITE_IFS) or all(
        word in INTERJECTIONS or word in ENDINGS or word in _VOTING for word in said
    )


def tells(said: Words, lexicon: Lexicon) -> bool:
    """Whether a clause tells how things are: `I have to leave`, `the logs we still need`."""
    for long in range(2, min(4, len(said) - 1) + 1):
        if said[:long] in DUTIES and said[long] not in DECLARING:
            return True
        if said[:long] in OWNING and said[long] != "to":
            return True
    if said[0] in _OTHERS or said in _PLEAS or complaint(said):
        return True
    return any(_tells_of(said, at, lexicon) for at in range(1, len(said) - 1))


def _tells_of(said: Words, at: int, lexicon: Lexicon) -> bool:
    """Whether somebody does something here with what was named before."""
    if said[at] not in _SPEAKERS or said[at + 1] in OPINING or said[at - 1] == "what":
        return False
    told = any(map(lexicon.telling, said[:at]))
    return told and not lexicon.verbatim(said[at : at + 2])


def another_deed(said: Words, lexicon: Lexicon) -> bool:
    """`take a break` is not `Break it up`, nor is `delete everything` `Delete old logs`."""
    core = edges(said, FILLERS - _ARTICLES, frozenset())
    if len(core) < 2:
        return False
    if core[0] in _ARTICLES:
        return stem(core[1]) in lexicon.deeds
    if stem(core[0]) not in lexicon.openings:
        return False
    if not (_WHOLES - lexicon.label_words).isdisjoint(core[1:]):
        return True
    if len(core) < 4 or core[1] not in DETERMINERS or stem(core[0]) not in lexicon.deeds:
        return False
    return "thing" not in core and not any(map(lexicon.telling, core[2:]))
