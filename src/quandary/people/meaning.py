"""What a clause of a reply says about the options: this one, not that one, one of those, yes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from quandary.model.ask import MORE
from quandary.people.evidence import lexicon
from quandary.people.manner import (
    DETERMINERS,
    FILLERS,
    another_deed,
    conditional,
    edges,
    of_a_kind,
    stripped,
    tells,
)
from quandary.people.names import names
from quandary.people.numbers import cardinal, counting, ordering, places
from quandary.people.phrases import (
    DROPPING,
    ENDINGS,
    EXCEPT,
    EXCLUDERS,
    FUNCTION,
    INTERJECTIONS,
    LEADS,
    NEUTRAL,
    NO,
    NONE,
    QUANTIFIERS,
    REASONS,
    RELATIVE,
    YES,
)
from quandary.people.senses import POINTING, sense
from quandary.people.words import stem, wordings, words, wordset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.model.ask import Question
    from quandary.people.clauses import Clause
    from quandary.people.evidence import Fit

OTHER = "OTH"
"""Stands for Other where it is chosen by its number."""
Words = tuple[str, ...]
_PLACING = wordset("the all both one ones option options choice choices")
_ENDS = {("top",), ("bottom",), ("middle",)}
_REFERRING = wordset("a an when if where another")
_LETTERED = frozenset(("option", "choice", "code", "letter", "answer"))
_EXCLUDING = wordings("instead of,rather than,other than,apart from")
_LEADING = wordset("but and also plus so or then")
_JOINTS = frozenset(("and", "plus", "also"))
_ALTERNATIVES = frozenset(("or", "nor", "/"))
_NAMING = frozenset(("pick", "either"))
_LONGEST = 60


class Meaning(NamedTuple):
    """What a clause says."""

    how: Literal["pick", "either", "not", "drop", "yes", "no", "none", "beyond", "chatter"]
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
        labels = (words(option.label) for option in self.options)
        self.negative = tuple(label for label in labels if label and label[0] in EXCLUDERS)
        self.asked = frozenset(words(question.text[:600]))
        self.context = self.asked - NEUTRAL
        nouns = self.context | self.lexicon.label_words - NEUTRAL
        self.nouns = frozenset(noun for noun in nouns if not counting(noun))
        self.kinds = self.nouns & self.context

    def clause(self, clause: Clause) -> Meaning | None:
        """What one clause says, or None when it says nothing about the options."""
        said = clause.words[:_LONGEST]
        opening = self._opening(said)
        said, starts = said[opening:], clause.starts[opening:]
        if (said in YES or said in NO) and not (self.names.worded(said) and _weighty(said)):
            return self._sense(said)
        if (clause.words[0] in REASONS and len(clause.words) > 1) or self.foreign(said):
            return None
        found = self._between(said) or self.outright(said)
        if found and found.how == "beyond":
            return self._alternatives(said) or self._listed(said) or found
        found = found or self._dropped(said) or self._without(said) or self._alternatives(said)
        if found or not _ALTERNATIVES.isdisjoint(said):
            return found or self._phrased(said)
        if self._excluded(said):
            return self._phrased(said) or self._remarked(said, starts) or self._sense(said)
        return (
            self._listed(said)
            or self._told(said)
            or self._remarked(said, starts)
            or self._sense(said)
            or self._idiom(said)
        )

    def _opening(self, said: Words) -> int:
        """How many words at the beginning only lead to what is said: `and`, `start with`."""
        at = 0
        while at < len(said) - 1 and said[at] in _LEADING:
            at += 1
        if at < len(said) - 1 and said[at] in {"when", "where"} and said[at] in self.asked:
            at += 1
        lead = next((n for n in (3, 2) if said[at : at + n] in LEADS and len(said) > at + n), 0)
        return at + lead

    def foreign(self, said: Words) -> bool:
        """Whether words of an option are said of something else."""
        if len(said) > 1 and self.lexicon.verbatim(said):
            return False
        if tells(said, self.lexicon):
            return True
        core = edges(said, FILLERS - {"make"}, frozenset())
        if core[:1] == ("make",) and core[1:2] and core[1] in POINTING | {"them", "the"}:
            return not self.outright(core[2:])
        return another_deed(said, self.lexicon)

    def _sense(self, said: Words) -> Meaning | None:
        found = sense(said)
        return Meaning(found) if found else None

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
        found = self._whole(said) or self._named(said) or self._nothing(said)
        for core in (edges(said, FILLERS, frozenset()), stripped(said), self._uncoded(said)):
            found = found or self._named(core)
        if found:
            return _of(self.lexicon.closest(found.codes, said)) if found.how == "either" else found
        if said in YES or said in NO:
            return None
        place = self.placed(said)
        if place and place.how == "beyond":
            core = stripped(said)
            phrase = self.lexicon.phrase(core)
            near = len(core) == 1 and (cardinal(core[0]) or 0) <= len(self.shown) + 2
            near = near and not self.names.beginning(core)
            if phrase and (phrase.label or not any(map(str.isdigit, said))) and not near:
                return _of(phrase.codes, firm=phrase.label)
        return place

    def _whole(self, said: Words) -> Meaning | None:
        """A whole label, with fillers around it that it does not end in: `just pay it please`."""
        core = edges(said, FILLERS, frozenset())
        for last in range(len(core), 0, -1):
            found = self.names.worded(core[:last])
            if found and not (last == 1 and self.placed(core[:1])):
                return _of(found)
            if core[last - 1] not in ENDINGS:
                break
        return None

    def _nothing(self, said: Words) -> Meaning | None:
        """`none of these`, unless a label says so."""
        if said not in NONE:
            return None
        phrase = self.lexicon.phrase(said)
        return _of(phrase.codes) if phrase and phrase.label else Meaning("none")

    def _uncoded(self, said: Words) -> Words:
        """The words without fillers, except such as an option has as its own: `now`, `go`, `ok`."""
        own = self.names.codes.keys() | self.lexicon.label_words
        return edges(said, FILLERS - own, ENDINGS - own)

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
            phrase = self.lexicon.phrase(core) if found else None
            found = phrase.codes if phrase and phrase.label else found
        if found and not (len(core) == 1 and self.placed(core)):
            return _of(found)
        counted = any(word.isdigit() or ordering(word) for word in core)
        if counted and sum(map(self.lexicon.telling, core)) > 1:
            phrase = self.lexicon.phrase(core)
            return _of(phrase.codes) if phrase and phrase.label else None
        return None

    def placed(self, said: Words) -> Meaning | None:
        """A place in the list, or several."""
        core = edges(said, FILLERS - _PLACING, ENDINGS - _PLACING)
        place = places(
            core, len(self.shown), real=len(self.real), nouns=self.nouns, kinds=self.kinds
        )
        labelled = core in _ENDS and core[0] in self.lexicon.label_words
        if place is None or labelled or (place.every and self.lexicon.mentioned(core)):
            return None
        if place.beyond or (place.every and not self.question.multi):
            return Meaning("beyond" if place.beyond else "none")
        found = tuple(self.shown[at] for at in place.at)
        if len(core) == 1 and len(found) == 1:
            rivals = (*self.names.worded(core), *self.names.beginning(core))
            if rivals and rivals != found:
                return _of(dict.fromkeys((*found, *rivals)))
        if place.alternatives and not (self.question.multi and "or" not in core):
            return _of(found, apart=True)
        return Meaning("pick", found, place.explicit, listed=len(found) > 1)

    def _told(self, said: Words) -> Meaning | None:
        """The words of labels and descriptions, in their order or not."""
        core = stripped(said) or self._uncoded(said)
        phrased = self._phrased(said) if core else None
        if phrased or not core or "too" in core[:-1]:
            return phrased
        mistyped = self.names.mistyped(" ".join(core), wordwise=True)
        mistyped = mistyped or self.names.mistyped(" ".join(said), wordwise=True)
        if mistyped:
            return _of(mistyped)
        fit = self.lexicon.bag(said, self.context) or self.lexicon.bag(core, self.context)
        return self._fitting(fit, said) or self._loosely_named(said, core)

    def _loosely_named(self, said: Words, core: Words) -> Meaning | None:
        """`lint docs` where several may be chosen, and `logs first`."""
        apart = self.lexicon.apart(said) if self.question.multi else ()
        if len(apart) > 1:
            return Meaning("pick", apart, listed=True)
        if core[-1] == "first" and len(core) > 1:
            meant = self.one(core[:-1])
            return meant._replace(firm=False) if meant and meant.firm else None
        return None

    def verbatim(self, said: Words) -> Meaning | None:
        """Three words or more that stand so in a label or a description."""
        phrase = self.lexicon.phrase(said) if len(said) > 2 else None
        return _of(phrase.codes, firm=phrase.label) if phrase else None

    def _phrased(self, said: Words) -> Meaning | None:
        for part in dict.fromkeys((said, stripped(said) or self._uncoded(said))):
            found = self._fitting(self.lexicon.phrase(part), said)
            if found:
                return found
        return None

    def _fitting(self, fit: Fit | None, said: Words) -> Meaning | None:
        """The options that words fit; a description is not meant by a thing of their own."""
        if fit is None or (not fit.label and (of_a_kind(said) or self.lexicon.on_it(said))):
            return None
        codes = self.lexicon.closest(fit.codes, said)
        if self.question.multi and len(codes) > 1 and "ones" in said:
            return Meaning("pick", codes, fit.label, listed=True)
        return _of(codes, firm=fit.label)

    def _idiom(self, said: Words) -> Meaning | None:
        """Words that say little one by one, but stand together in just one option."""
        if said[0] == "the" and len(said) > 4 and said[1] in _LETTERED | {"one"}:
            said = said[3:] if said[2] in RELATIVE else said
        if len(said) < 2 or FUNCTION.issuperset(said) or any(map(self.lexicon.telling, said)):
            return None
        codes = self.lexicon.verbatim(said)
        return Meaning("pick", codes, firm=False) if len(codes) == 1 else None

    def _without(self, said: Words) -> Meaning | None:
        """`not the second`, `anything but deploy`, `2 rather than 3`, `all but 3`."""
        found = self._excluded(said)
        if found is None or tuple(word for word in said if word not in POINTING) in NO:
            return None
        before, after, negator = found
        once = EXCLUDERS.isdisjoint(after)
        if (negator in EXCLUDERS or not before) and once:
            own = self._phrased(said) or self._denied(said)
            if own or (negator == "no" and after and after[0].isdigit()):
                return own
        after = edges(after, _REFERRING, frozenset(("again",)))
        dropped = self._several(after) or self.lexicon.labelled(stripped(after))
        preferred = self.names.worded(before) if negator in {"instead", "rather"} else ()
        if dropped and preferred:
            return _of(code for code in preferred if code not in dropped)
        return self._left(before, dropped) if dropped else None

    def _excluded(self, said: Words) -> tuple[Words, Words, str] | None:
        """What stands before and after the first word that leaves something out.

        The "no" of a label such as `No limit` leaves nothing out.
        """
        for at, word in enumerate(said):
            pair = said[at : at + 2]
            if pair in _EXCLUDING:
                return said[:at], said[at + 2 :], pair[0]
            if word in EXCLUDERS and not any(
                said[at : at + len(label)] == label for label in self.negative
            ):
                return said[:at], said[at + 1 :], word
            opening = not at and len(said) > 1 and word not in {"but", "save", "bar"}
            if word in EXCEPT and (opening or not QUANTIFIERS.isdisjoint(said[:at])):
                rest = said[at + 1 :]
                return said[:at], rest[1:] if rest[:1] in {("for",), ("not",)} else rest, word
        return None

    def _dropped(self, said: Words) -> Meaning | None:
        """`drop 2`, where no option is called that."""
        core = edges(said, FILLERS, frozenset())
        if not core or core[0] not in DROPPING or stem(core[0]) in self.lexicon.label_stems:
            return None
        codes = self._several(core[1:]) if len(core) > 1 else None
        return Meaning("drop", codes) if codes else None

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
        if meant is None or meant.how not in _NAMING:
            return None
        left = tuple(code for code in meant.codes if code not in dropped)
        return _of(left) if left else None

    def _several(self, said: Words) -> Words | None:
        """Every option that words joined by "and" or "or" name; None when one names nothing."""
        codes: list[str] = []
        whole = (self.outright(said) or self._phrased(said)) if said else None
        named = whole is not None and whole.how in _NAMING
        parts = [said] if named else _parts(said, _JOINTS | _ALTERNATIVES)
        for part in parts:
            denied = part[0] in EXCLUDERS and not self.outright(part)
            meant = self._part(part[1:] if denied else part)
            if meant is None or meant.how not in _NAMING:
                return None
            codes.extend(meant.codes)
        return tuple(dict.fromkeys(codes)) or None

    def _between(self, said: Words) -> Meaning | None:
        """`between 1 and 3`: one of them, but which?"""
        if "between" not in said[:-3]:
            return None
        codes = self._several(said[said.index("between") + 1 :])
        return _of(codes, apart=True) if codes and len(codes) > 1 else None

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
        named = [m for m in meanings if m is not None and m.how in _NAMING]
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
            if meant is None or not meant.firm or meant.how not in _NAMING:
                return None
            rest = said[at + 1 :]
            if len(rest) < 2 + self.question.multi or conditional(rest) or counting(rest[0]):
                return None
            if rest[0] in DETERMINERS:
                return None
            rest_meant = self._several_or_one(rest)
            if rest_meant is not None and rest_meant.how == "beyond":
                return rest_meant
            if rest_meant is None:
                others = self.lexicon.mentioned(rest) - set(meant.codes)
                return None if others else meant._replace(tail=starts[at])
        return None

    def begins_a_list(self, said: Words) -> bool:
        """Whether words name an option and go on with "and"."""
        parts = _parts(said, _JOINTS)
        meant = self.one(parts[0]) if len(parts) > 1 else None
        return meant is not None and meant.firm and meant.how in _NAMING

    def _several_or_one(self, said: Words) -> Meaning | None:
        return self._listed(said) or self.one(said)


def _of(codes: Iterable[str], *, firm: bool = True, apart: bool = False) -> Meaning:
    codes = tuple(codes)
    if len(codes) > 1:
        return Meaning("either", codes, firm, listed=apart)
    return Meaning("pick", codes, firm)


def _weighty(said: Words) -> bool:
    """Whether a yes or no is more than a word thrown in: `approve`, not `ok`."""
    return not (INTERJECTIONS | EXCLUDERS | {"nope", "nah"}).issuperset(said)


def _parts(said: Words, joints: frozenset[str]) -> list[Words]:
    parts: list[list[str]] = [[]]
    for word in said:
        if word in joints:
            parts.append([])
        else:
            parts[-1].append(word)
    return [tuple(part) for part in parts if part]
