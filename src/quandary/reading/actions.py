"""A reply that begins with what is to be done: `cut it`, `Defer to v2`, `A) Include`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quandary.reading import HEAD, OWN, option_names, reading
from quandary.reading.words import spans, words, wordset

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from quandary.model.asks import Choice, Question, Reading

_OPENING = wordset(
    "please pls ok okay yes yeah yep just so then well lets id i we would should say option"
)
_FILLER = _OPENING | wordset(
    "it this that them these those the one ones item feature thing all for here too"
)
_NEGATORS = wordset("not dont never")
_LIMITS = _NEGATORS | wordset(
    "if unless only when once except but or maybe perhaps instead rather provided assuming "
    "depending whether without wait actually unsure sure half part partly partially"
)
"""Words that make a choice depend on something, or take some of it back."""
_OTHERS = wordset("you your me my judgement judgment opinion opinions call decision")
"""Whoever defers to these leaves the choice to somebody."""
_AROUND = re.compile(
    r"(?i)^option\s+|\((?:not )?recommended[^)]*\)|[\s,]*\b(?:please|pls|plz|thanks)\W*$"
)
_NUMBER = re.compile(r"(?i)d\d+\.\d+\W*")
"""That of an option, such as `D1.4`: the flow knows which one it is."""
_LETTER = re.compile(r"(?i)\(?([a-z])[).:]+\s*")
_BREAK = re.compile(r"(?i)\s+-+\s+|[,;:.!(–—]+(?!\d)|\s(?=because\b|since\b)")


def read_action(text: str, question: Question) -> Reading | None:
    """The action that a reply names by its letter, or begins with and says nothing else.

    A remark may follow behind a comma or the like. What begins with an action and says more is in
    the person's own words; what begins with one and names another is asked about.
    """
    if len(text) > HEAD or "?" in text:
        return None
    actions = [choice for choice in question.options if choice.also]
    bare, lettered = _AROUND.sub("", text).strip(), None
    called = _find_called(bare, actions)
    if called or _NUMBER.fullmatch(bare):
        return reading(called, question) if called else OWN
    if found := _LETTER.match(bare):
        lettered = next((c for c in actions if found[1].upper() in c.also), None)
        bare = bare[found.end() :] if lettered else bare
    verb, first, _ = next((found for found in spans(bare) if found[0] not in _OPENING), ("", 0, 0))
    bare = bare[first:]
    chosen = next((choice for choice in actions if verb in _verbs(choice)), None)
    if chosen is None or lettered not in (None, chosen):
        begun = [
            c.code for c in actions if any(words(n)[:1] == (verb,) for n in (c.label, *c.also))
        ]
        return OWN if lettered else reading(tuple(begun), question) if len(begun) > 1 else None
    every, own = set(words(bare)), _FILLER | _words_of(question.title, *chosen.also)
    others = [c.code for c in actions if c is not chosen and _names(every, _verbs(c) - own)]
    if others:
        return None if _NEGATORS & every else reading((chosen.code, *others), question)
    head, *behind = _BREAK.split(bare, maxsplit=1)
    titled = words(question.title)[-len(words(bare)) :] == words(bare)  # “Cut the price”
    if titled or (_LIMITS - own) & every or not _belongs(words(head), chosen, own):
        return OWN
    remark = "".join(behind) or ("" if own.issuperset(words(head)) else head)
    return reading((chosen.code,), question, comment=remark.strip() or None)


def _verbs(choice: Choice) -> set[str]:
    """The word that a reply may begin with: the first of its label, where a wording has it too."""
    verb = words(choice.label)[:1]
    return set(verb) if any(words(name)[:1] == verb for name in choice.also) else set()


def _find_called(bare: str, actions: list[Choice]) -> tuple[str, ...]:
    """What goes by just that, or stands behind an action: `B`, `D1.4`, `continue with E4`."""
    said = words(bare)
    exact = tuple(c.code for c in actions if said and said in map(words, c.also))
    verb, _, name = bare.partition(" ")
    if exact or not any(_verbs(choice).intersection(words(verb)) for choice in actions):
        return exact
    known = option_names(tuple(choice for choice in actions if not _verbs(choice)))
    name = name.removeprefix("with ")
    return known.code(name) or known.label(name)


def _names(said: AbstractSet[str], verbs: AbstractSet[str]) -> bool:
    """Whether one of the verbs is among the words, in whatever form."""
    return any(word.startswith(verb.rstrip("e")) for word in said for verb in verbs)


def _belongs(said: tuple[str, ...], choice: Choice, own: AbstractSet[str]) -> bool:
    """Whether words say nothing that the action does not; behind an open wording all may follow."""
    opened = {words(name)[-1] for name in choice.also if name.endswith("…")}
    beyond = next((word for word in said if word in opened or word not in own), "")
    return not beyond or (beyond in opened and _OTHERS.isdisjoint(said))


def _words_of(*names: str) -> set[str]:
    return {word for name in names for word in words(name)}
