"""What a clause of a reply says about the options: this one, not that one, one of those, yes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from quandary.model.ask import MORE
from quandary.people.evidence import lexicon
from quandary.people.names import names
from quandary.people.numbers import counting, places
from quandary.people.phrases import (
    AFFIRMING,
    CHOOSERS,
    CHOOSING,
    CONDITIONS,
    ENDINGS,
    EXCEPT,
    EXCLUDERS,
    FUNCTION,
    INTERJECTIONS,
    NEUTRAL,
    NO,
    NONE,
    POLITE_IFS,
    QUALIFIERS,
    QUANTIFIERS,
    REASONS,
    REFUSING,
    YES,
)
from quandary.people.words import words, wordset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.model.ask import Question
    from quandary.people.clauses import Clause

OTHER = "OTH"
"""Stands for Other where it is chosen by its number."""
Words = tuple[str, ...]
_PLACING = wordset("the all both one ones option options choice choices")
_LETTERED = frozenset(("option", "choice", "code", "letter", "answer"))
_POINTING = wordset("it this that is from me then please")
_JOINTS = frozenset(("and", "plus", "also"))
_ALTERNATIVES = frozenset(("or", "nor", "/"))
FILLERS = CHOOSING | INTERJECTIONS
_LONGEST = 60


class Meaning(NamedTuple):
    """What a clause says."""

    how: Literal["pick", "either", "not", "yes", "no", "none", "beyond", "chatter"]
    codes: Words = ()
    firm: bool = True
    """Said so that it cannot well be anything else."""
    tail: int | None = None
    """Where in the text a remark begins that stands in the same clause."""
    listed: bool = False
    """Several were named one by one, or all."""


class Interpreter:
    """Reads clauses as replies to one question."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.options = question.options
        self.shown = [choice.code for choice in question.choices]
        self.real = [code for code in self.shown if code != MORE]
        if question.menu:
            self.shown.append(OTHER)
        self.names = names((*question.choices, *question.named))
        self.lexicon = lexicon(self.options)
        self.context = frozenset(words(question.text[:600])) - NEUTRAL
        nouns = self.context | self.lexicon.label_words - NEUTRAL
        self.nouns = frozenset(noun for noun in nouns if not counting(noun))
        self.kinds = self.nouns & self.context

    def clause(self, clause: Clause) -> Meaning | None:
        """What one clause says, or None when it says nothing about the options."""
        said, starts = clause.words[:_LONGEST], clause.starts
        if said[0] in REASONS and len(said) > 1:
            return None
        while len(said) > 1 and said[0] in {"but", "and", "also", "plus", "so"}:
            said, starts = said[1:], starts[1:]
        found = self.outright(said) or self._without(said) or self._alternatives(said)
        if found or not _ALTERNATIVES.isdisjoint(said):
            return found or self._phrased(said)
        if _excluded(said):
            return self._phrased(said) or self._remarked(said, starts) or _sense(said)
        return (
            self._listed(said)
            or self._told(said)
            or self._remarked(said, starts)
            or _sense(said)
            or self._idiom(said)
        )

    def one(self, said: Words) -> Meaning | None:
        """What words say that name options without "or", "and" or "not"."""
        return self.outright(said) or self._told(said)

    def _part(self, said: Words) -> Meaning | None:
        """One of several in a list, where a filler such as `now` may be a label's own word."""
        found = self.one(said)
        if found or stripped(said):
            return found
        return self._phrased(tuple(word for word in said if self.lexicon.telling(word)))

    def outright(self, said: Words) -> Meaning | None:
        """A code, a label, the beginning or a part of one, or a place in the list."""
        found = self._named(said) or self._nothing(said)
        for core in (stripped(said), self._uncoded(said)):
            found = found or self._named(core)
        if found:
            return found
        if said in YES or said in NO:
            return None
        place = self.placed(said)
        if place and place.how == "beyond":
            phrase = self.lexicon.phrase(stripped(said))
            if phrase and (phrase.label or not any(map(str.isdigit, said))):
                return _of(phrase.codes, firm=phrase.label)
        return place

    def _nothing(self, said: Words) -> Meaning | None:
        """`none of these`, unless a label says so."""
        if said not in NONE:
            return None
        phrase = self.lexicon.phrase(said)
        return _of(phrase.codes) if phrase and phrase.label else Meaning("none")

    def _uncoded(self, said: Words) -> Words:
        """The words without fillers, except such as are an option's code: `now`, `go`, `ok`."""
        return edges(said, FILLERS - self.names.codes.keys(), ENDINGS - self.names.codes.keys())

    def _named(self, core: Words) -> Meaning | None:
        if not core:
            return None
        found = self.names.worded(core)
        lettered = core[1:] if len(core) == 2 and core[0] in _LETTERED else core
        if not found and len(lettered) == 1:
            found = self.names.code(lettered[0])
            if found and len(self.names.beginning(lettered)) > 1:
                return _of(dict.fromkeys((*found, *self.names.beginning(lettered))))
        if not found and not (FUNCTION | EXCLUDERS).issuperset(core):
            found = self.names.beginning(core)
        if found and not (len(core) == 1 and self.placed(core)):
            return _of(found)
        if any(word.isdigit() for word in core) and len(core) > 1:
            phrase = self.lexicon.phrase(core)
            return _of(phrase.codes) if phrase and phrase.label else None
        return None

    def placed(self, said: Words) -> Meaning | None:
        """A place in the list, or several."""
        core = edges(said, FILLERS - _PLACING, ENDINGS - _PLACING)
        place = places(
            core, len(self.shown), real=len(self.real), nouns=self.nouns, kinds=self.kinds
        )
        if place is None:
            return None
        if place.every and self.lexicon.mentioned(core):
            return None
        if place.beyond or (place.every and not self.question.multi):
            return Meaning("beyond" if place.beyond else "none")
        found = tuple(self.shown[at] for at in place.at)
        if len(core) == 1 and len(found) == 1:
            rivals = (*self.names.worded(core), *self.names.beginning(core))
            if rivals and rivals != found:
                return _of(dict.fromkeys((*found, *rivals)))
        if place.alternatives:
            return _of(found, apart=True)
        return Meaning("pick", found, place.explicit, listed=len(found) > 1)

    def _told(self, said: Words) -> Meaning | None:
        """The words of labels and descriptions, in their order or not."""
        core = stripped(said)
        phrased = self._phrased(said) if core else None
        if phrased or not core or "too" in core[:-1]:
            return phrased
        mistyped = self.names.mistyped(" ".join(core)) or self.names.mistyped(" ".join(said))
        if mistyped:
            return _of(mistyped)
        fit = self.lexicon.bag(said, self.context) or self.lexicon.bag(core, self.context)
        if fit and (fit.label or not _of_a_kind(said)):
            return _of(fit.codes, firm=fit.label)
        if self.question.multi:
            apart = self.lexicon.apart(said)
            return Meaning("pick", apart, listed=True) if len(apart) > 1 else None
        return None

    def verbatim(self, said: Words) -> Meaning | None:
        """Three words or more that stand so in a label or a description."""
        phrase = self.lexicon.phrase(said) if len(said) > 2 else None
        return _of(phrase.codes, firm=phrase.label) if phrase else None

    def _phrased(self, said: Words) -> Meaning | None:
        for part in dict.fromkeys((said, stripped(said))):
            phrase = self.lexicon.phrase(part)
            if phrase and (phrase.label or not _of_a_kind(said)):
                return _of(phrase.codes, firm=phrase.label)
        return None

    def _idiom(self, said: Words) -> Meaning | None:
        """Words that say little one by one, but stand together in just one option."""
        if len(said) < 2 or FUNCTION.issuperset(said) or any(map(self.lexicon.telling, said)):
            return None
        codes = self.lexicon.verbatim(said)
        return Meaning("pick", codes, firm=False) if len(codes) == 1 else None

    def _without(self, said: Words) -> Meaning | None:
        """`not the second`, `anything but deploy`, `2 rather than 3`, `all but 3`."""
        found = _excluded(said)
        if found is None or tuple(word for word in said if word not in _POINTING) in NO:
            return None
        before, after, negator = found
        if negator in EXCLUDERS:
            own = self._phrased(said) or self._denied(said)
            if own or (negator == "no" and after and after[0].isdigit()):
                return own
        dropped = self._several(after[1:] if after[:1] in {("a",), ("an",)} else after)
        return self._left(before, dropped) if dropped else None

    def _denied(self, said: Words) -> Meaning | None:
        """`don't merge` where an option itself says so: `Close without merging`."""
        fit = self.lexicon.bag(said) if self.lexicon.denies(said) else None
        return _of(fit.codes, firm=fit.label) if fit else None

    def _left(self, before: Words, dropped: Words) -> Meaning | None:
        """What is left when some options are ruled out of those named before."""
        quantity = set(before) - FUNCTION - FILLERS
        if not quantity:
            return Meaning("not", dropped)
        if quantity <= QUANTIFIERS | {"options"}:
            if quantity & {"any", "anything", "anyone"} or not self.question.multi:
                return Meaning("not", dropped)
            return Meaning("pick", tuple(c for c in self.real if c not in dropped), listed=True)
        meant = self.one(before)
        if meant is None or meant.how not in {"pick", "either"}:
            return None
        left = tuple(code for code in meant.codes if code not in dropped)
        return _of(left) if left else None

    def _several(self, said: Words) -> Words | None:
        """Every option that words joined by "and" or "or" name; None when one names nothing."""
        codes: list[str] = []
        whole = (self.outright(said) or self._phrased(said)) if said else None
        parts = [said] if whole else _parts(said, _JOINTS | _ALTERNATIVES)
        for part in parts:
            meant = self._part(part[1:] if part[0] in EXCLUDERS else part)
            if meant is None or meant.how not in {"pick", "either"}:
                return None
            codes.extend(meant.codes)
        return tuple(dict.fromkeys(codes)) or None

    def _alternatives(self, said: Words) -> Meaning | None:
        """`1 or 2`, `either the train or the car`."""
        parts = _parts(said, _ALTERNATIVES)
        if len(parts) < 2:
            return None
        codes = self._several(said)
        return _of(codes, apart=True) if codes and len(codes) > 1 else None

    def _listed(self, said: Words) -> Meaning | None:
        """`tests and docs`: every part names something, and one of them by its label."""
        parts = _parts(said, _JOINTS)
        if len(parts) < 2:
            return None
        meanings = [self._part(part) for part in parts]
        named = [m for m in meanings if m is not None and m.how in {"pick", "either"}]
        if len(named) < len(parts) or not any(meant.firm for meant in named):
            return None
        codes = dict.fromkeys(code for meant in named for code in meant.codes)
        if any(meant.how == "either" for meant in named):
            return _of(codes, apart=True)
        return Meaning("pick", tuple(codes), listed=True)

    def _remarked(self, said: Words, starts: tuple[int, ...]) -> Meaning | None:
        """`roll back and tell support`: the first part names something, the rest is a remark."""
        for at, word in enumerate(said):
            if word not in _JOINTS or not at:
                continue
            meant = self._several_or_one(said[:at])
            if meant is None or not meant.firm or meant.how not in {"pick", "either"}:
                return None
            rest = said[at + 1 :]
            if not rest or conditional(rest) or counting(rest[0]):
                return None
            rest_meant = self._several_or_one(rest)
            if rest_meant is not None and rest_meant.how == "beyond":
                return rest_meant
            if rest_meant is None:
                others = self.lexicon.mentioned(rest) - set(meant.codes)
                return None if others else meant._replace(tail=starts[at])
        return None

    def _several_or_one(self, said: Words) -> Meaning | None:
        return self._listed(said) or self.one(said)

    def sides(self, sense: str) -> Words:
        """The options that a yes or a no stands for."""
        wanted = AFFIRMING if sense == "yes" else REFUSING
        found = [o for o in self.options if _takes_side(o.label, wanted)]
        plain = [o for o in found if not QUALIFIERS.intersection(words(o.label))]
        codes = tuple(o.code for o in (plain or found))
        if not codes and sense == "no" and len(self.options) == 2:
            yes = self.sides("yes")
            if len(yes) == 1:
                codes = tuple(o.code for o in self.options if o.code not in yes)
        return codes


def _of_a_kind(said: Words) -> bool:
    """`a bike` is a thing of their own more often than the `bike shop` of a description."""
    core = edges(said, FILLERS - {"a", "an"}, ENDINGS)
    return len(core) == 2 and core[0] in {"a", "an"}


def stripped(said: Words) -> Words:
    """The words without what is said around a choice; all of them when nothing else is there."""
    return edges(said, FILLERS, ENDINGS)


def edges(said: Words, front: frozenset[str], back: frozenset[str]) -> Words:
    """The words without those at either end that are only said around a choice."""
    first, last = 0, len(said)
    while first < last and said[first] in front:
        first += 1
    while last > first and said[last - 1] in back:
        last -= 1
    return said[first:last]


def chosen(said: Words) -> bool:
    """Whether a clause opens as a choice does, such as "let's" or "so"."""
    return any(said[: len(opening)] == opening for opening in CHOOSERS)


def conditional(said: Words) -> bool:
    """Whether a clause opens with a condition, or tells what comes after."""
    while said and said[0] in {"but", "and", "just", "so"}:
        said = said[1:]
    polite = any(said[: len(phrase)] == phrase for phrase in POLITE_IFS)
    return bool(said) and said[0] in CONDITIONS and not polite


def chatter(said: Words) -> bool:
    """Whether nothing was said but thanks and the like."""
    return any(said[: len(p)] == p for p in POLITE_IFS) or all(
        word in INTERJECTIONS or word in ENDINGS for word in said
    )


def _sense(said: Words) -> Meaning | None:
    """Yes, no, or nothing but fillers."""
    senses: set[Literal["yes", "no"]] = set()
    at = 0
    while at < len(said):
        long, sense = _sense_at(said, at)
        if not long:
            return None
        if sense:
            senses.add(sense)
        at += long
    if not senses:
        return Meaning("chatter")
    return Meaning(senses.pop()) if len(senses) == 1 else None


def _sense_at(said: Words, at: int) -> tuple[int, Literal["yes", "no"] | None]:
    for long in range(min(5, len(said) - at), 0, -1):
        phrase = said[at : at + long]
        if phrase in NO and (phrase[-1] not in EXCLUDERS or at + long == len(said) or long > 2):
            return long, "no"
        if phrase in YES:
            return long, "yes"
    polite = said[at] in INTERJECTIONS or said[at] in _POINTING
    return (1 if polite else 0), None


def _of(codes: Iterable[str], *, firm: bool = True, apart: bool = False) -> Meaning:
    codes = tuple(codes)
    if len(codes) > 1:
        return Meaning("either", codes, firm, listed=apart)
    return Meaning("pick", codes, firm)


def _excluded(said: Words) -> tuple[Words, Words, str] | None:
    """What stands before and after the first word that leaves something out."""
    for at, word in enumerate(said):
        pair = said[at : at + 2]
        if pair in {("instead", "of"), ("rather", "than"), ("other", "than"), ("apart", "from")}:
            return said[:at], said[at + 2 :], pair[0]
        if word in EXCLUDERS:
            return said[:at], said[at + 1 :], word
        if word in EXCEPT and not QUANTIFIERS.isdisjoint(said[:at]):
            rest = said[at + 1 :]
            return said[:at], rest[1:] if rest[:1] in {("for",), ("not",)} else rest, word
    return None


def _parts(said: Words, joints: frozenset[str]) -> list[Words]:
    parts: list[list[str]] = [[]]
    for word in said:
        if word in joints:
            parts.append([])
        else:
            parts[-1].append(word)
    return [tuple(part) for part in parts if part]


def _takes_side(label: str, phrases: frozenset[Words]) -> bool:
    """Whether a label opens with a yes or a no; `No button` is neither."""
    said = words(label)
    if said[:1] == ("no",) and words(label.partition(",")[0]) not in phrases:
        return False
    return any(said[: len(phrase)] == phrase for phrase in phrases)
