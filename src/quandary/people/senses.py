"""Yes and no: whether a clause says either, and which options that stands for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from quandary.people.forms import stem
from quandary.people.phrases import (
    AFFIRMING,
    APPROVING,
    EXCLUDERS,
    FUNCTION,
    INTERJECTIONS,
    NEUTRAL,
    NO,
    QUALIFIERS,
    REFUSING,
    YES,
)
from quandary.people.words import words, wordset

if TYPE_CHECKING:
    from quandary.model.ask import Choice, Question

Words = tuple[str, ...]
Sense = Literal["yes", "no", "chatter"]
POINTING = wordset("it this that is from me then please to with by for")
_LONGEST = 5
_SENTENCE = r"[.!?:]\s"
_TAIL = 600
"""How much of a question's end is looked at."""
_HOW_OFTEN = wordset("always just only temporarily permanently conditional conditionally")
_HOW = wordset("what whats how hows")
_ASKING = _HOW | wordset("which who where when why")


def sense(said: Words) -> Sense | None:
    """Yes, no, or nothing but fillers; None when anything else is said, or both."""
    senses: set[Sense] = set()
    at = 0
    while at < len(said):
        long, found = _sense_at(said, at)
        if not long:
            return None
        if found:
            senses.add(found)
        at += long
    if not senses:
        return "chatter"
    return senses.pop() if len(senses) == 1 else None


def _sense_at(said: Words, at: int) -> tuple[int, Sense | None]:
    for long in range(min(_LONGEST, len(said) - at), 0, -1):
        phrase = said[at : at + long]
        if phrase in NO and (phrase[-1] not in EXCLUDERS or at + long == len(said) or long > 2):
            return long, "no"
        if phrase in YES:
            return long, "yes"
    polite = said[at] in INTERJECTIONS or said[at] in POINTING
    return (1 if polite else 0), None


def sides(question: Question, sense: Sense) -> Words:
    """The options that a yes or a no stands for."""
    options = question.options
    found = [o for o in options if o.code.rpartition("/")[2].casefold() == sense]
    found = found or [o for o in options if _answers(o, question, sense)]
    plain = [o for o in found if not QUALIFIERS.intersection(words(o.label))]
    if all(words(o.label)[0] == sense for o in found if o.label):
        plain = found
    codes = tuple(o.code for o in (plain or found))
    if codes:
        return codes
    if sense == "yes":
        return _echoed(question)
    yes = sides(question, "yes") if len(options) == 2 else ()
    return tuple(o.code for o in options if o.code not in yes) if len(yes) == 1 else ()


def _answers(option: Choice, question: Question, sense: Sense) -> bool:
    """Whether an option says yes or no to what was asked.

    Where it was asked what to do, only a label that is one word of sense does, or one that can
    answer anything: `yes` to that does not `Accept the risk`, nor does `no` `Cancel the account`.
    The same holds where nothing was asked that has an opposite.
    """
    if not _opens(option.label, AFFIRMING if sense == "yes" else REFUSING):
        return False
    asking = _asking(question.text)
    telling = [word for word in words(option.label) if word not in FUNCTION]
    if len(telling) < 2:
        return True
    if not asking:
        asked = {stem(word) for word in words(question.text[-_TAIL:])}
        echoed = any(stem(word) in asked for word in telling)
        opposite = REFUSING if sense == "yes" else AFFIRMING
        opposed = any(_opens(other.label, opposite) for other in question.options)
        return echoed or opposed or _opens(option.label, APPROVING)
    return asking in _HOW and _opens(option.label, APPROVING)


def _echoed(question: Question) -> Words:
    """The options that say just what was asked: yes to `Send it?` is `Send it now`."""
    if _asking(question.text):
        return ()
    asked = _last(question.text)
    known = NEUTRAL | FUNCTION | {*asked}
    labels = ((option.code, words(option.label)) for option in question.options)
    return tuple(c for c, said in labels if asked[:1] == said[:1] and known.issuperset(said))


def _asking(text: str) -> str:
    """The word by which a question asks for more than yes or no, if there is one."""
    return next((word for word in _last(text)[:2] if word in _ASKING), "")


def _last(text: str) -> Words:
    """The words of a question's last sentence."""
    return words(re.split(_SENTENCE, text[-_TAIL:].rstrip(" ?\n"))[-1])


def _opens(label: str, phrases: frozenset[Words]) -> bool:
    """Whether a label opens with a yes or a no; `No button` is neither."""
    said = words(label)
    if said[1:] and said[0] in _HOW_OFTEN:
        said = said[1:]
    if said[:1] == ("no",) and words(label.partition(",")[0]) not in phrases:
        return False
    return any(said[: len(phrase)] == phrase for phrase in phrases)
