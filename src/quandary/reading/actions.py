"""A reply that begins with what is to be done: `cut it`, `Defer to v2`, `A) Include`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quandary.reading import HEAD, OWN, option_names, reading
from quandary.reading.phrases import WORDS
from quandary.reading.words import spans, words

if TYPE_CHECKING:
    from quandary.model.asks import Choice, Question, Reading

_AROUND = r"(?i)^option\s+|\((?:not )?recommended[^)]*\)|[\s,]*\b(?:please|pls|plz|thanks)\W*$"
_NUMBER = r"(?i)d\d+\.\d+\W*"
"""That of an option, such as `D1.4`: the flow knows which one it is."""
_LETTER = r"(?i)\(?([a-z])[).:]+\s*"
_BREAK = r"(?i)\s+-+\s+|[,;:.!(–—]+(?!\d)|\s(?=because\b|since\b)"


def read_action(text: str, question: Question) -> Reading | None:
    """The action that a reply names by its letter, or begins with and says nothing else.

    A remark may follow behind a comma or the like. What begins with an action and says more is in
    the person's own words; what begins with one and names another is asked about.
    """
    actions = [choice for choice in question.options if choice.also]
    if not actions or len(text) > HEAD or "?" in text:
        return None
    bare, lettered = re.sub(_AROUND, "", text).strip(), None
    called = _find_called(bare, actions)
    if called or re.fullmatch(_NUMBER, bare):
        return reading(called, question) if called else OWN
    if found := re.match(_LETTER, bare):
        lettered = next((c for c in actions if found[1].upper() in c.also), None)
        bare = bare[found.end() :] if lettered else bare
    typed = (found for found in spans(bare) if found[0] not in WORDS.ordering)
    verb, first, _ = next(typed, ("", 0, 0))
    bare = bare[first:]
    chosen = next((choice for choice in actions if verb in _verbs(choice)), None)
    if chosen is None or lettered not in (None, chosen):
        named = ((c.code, (c.label, *c.also)) for c in actions)
        begun = tuple(code for code, names in named if any(words(n)[:1] == (verb,) for n in names))
        return OWN if lettered else reading(begun, question) if len(begun) > 1 else None
    said, known = words(bare), (question.title, *chosen.also)
    own = WORDS.ordered.union(*map(words, known))
    # Another action may be named in any form: `cutting`.
    roots = {c.code: {verb.rstrip("e") for verb in _verbs(c) - own} for c in actions}
    others = [c for c, verbs in roots.items() if any(w.startswith(v) for w in said for v in verbs)]
    if others:
        denied = not WORDS.negators.isdisjoint(said)
        return None if denied else reading((chosen.code, *others), question)
    head, *behind = re.split(_BREAK, bare, maxsplit=1)
    titled = words(question.title)[-len(said) :] == said  # “Cut the price”
    if titled or not (WORDS.reserving - own).isdisjoint(said) or not _belongs(head, chosen, own):
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


def _belongs(head: str, choice: Choice, own: frozenset[str]) -> bool:
    """Whether words say nothing that the action does not; behind an open wording all may follow."""
    opened = {words(name)[-1] for name in choice.also if name.endswith("…")}
    beyond = next((word for word in words(head) if word in opened or word not in own), "")
    return not beyond or (beyond in opened and WORDS.deciders.isdisjoint(words(head)))
