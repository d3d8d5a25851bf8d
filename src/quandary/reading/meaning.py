"""What a clause of a reply says about the options: this one, not that one, one of those, yes.

Every word has to be accounted for by an option, or be said around a choice anyway.
"""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from quandary.model.asks import MORE
from quandary.model.tree import OTHER
from quandary.reading import option_names
from quandary.reading.clauses import (
    FILLERS,
    edges,
    is_inquiry,
    is_statement,
    limits,
    strip,
    to_whom,
)
from quandary.reading.lexicon import lexicon
from quandary.reading.numbers import cardinal, counts, is_ordinal, places
from quandary.reading.phrases import SAYINGS, WORDS, is_everyday
from quandary.reading.stems import stem
from quandary.reading.words import ARTICLES, opens, wordings, words, wordset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.model.asks import Choice, Question
    from quandary.reading.clauses import Clause
    from quandary.reading.lexicon import Fit

Words = tuple[str, ...]
NAMING = frozenset(("pick", "either"))
"""How words say which options are meant."""
_LONGEST = 60
_EXCLUDING = wordings("instead of,rather than,other than,apart from")
_REFERRING = wordset("a an when if where another")
_LEADING = wordset("but and also plus so or then")
_JOINTS = frozenset(("and", "plus", "also"))
_ALTERNATIVES = frozenset(("or", "nor", "/"))
_MINDING = wordset("understand know see get believe remember care mind")
_DETERMINERS = wordset("the a an my our your these those some any")
_PLACING = wordset("the all both one ones option options choice choices")
_ENDS = {("top",), ("bottom",), ("middle",)}
_GENERAL = wordset("mode approach solution strategy setup setting style format")
"""What may stand behind any label: `dark mode`."""
_KINDS = wordset("variant alternative proposal suggestion idea")
_LETTERED = frozenset(("option", "choice", "code", "letter", "answer"))
_ONES = wordset("one ones option choice person guy something somebody someone")
_WHICHEVER = wordset("whoever whatever whichever when where")
_VAGUE = wordset("some something somewhere someone somebody stuff thing")
_IT = wordings("it,them,this,that")
_TIMES = frozenset(map(stem, WORDS.times))
_THROWN_IN = WORDS.interjections | WORDS.excluders | {"nope", "nah"}
"""Said as a yes or a no, whereas `approve` is more than that."""
_POINTING = wordset("it this that is from me then please to with by for")


class Meaning(NamedTuple):
    """What a clause says."""

    how: Literal["pick", "either", "not", "drop", "rest", "yes", "no", "none", "beyond", "chatter"]
    codes: Words = ()
    firm: bool = True
    """Said so that it cannot well be anything else."""
    tail: int | None = None
    """Where in the text a remark begins that stands in the same clause."""
    listed: bool = False
    """Several were named one by one, or all."""


def options_of(codes: Iterable[str], *, firm: bool = True, apart: bool = False) -> Meaning:
    """One option, or one of several."""
    codes = tuple(codes)
    if len(codes) > 1:
        return Meaning("either", codes, firm, listed=apart)
    return Meaning("pick", codes, firm)


class Interpreter:
    """Reads clauses as replies to one question; `marked` are codes typed as such."""

    def __init__(self, question: Question, marked: frozenset[str], *, lone: bool) -> None:
        self.question = question
        self.lone = lone
        """Whether a number in the reply is the only one."""
        self.options = question.options
        self.marked = marked
        self.shown = [choice.code for choice in question.choices]
        self.real = [code for code in self.shown if code != MORE]
        if question.menu:
            self.shown.append(OTHER)
        self.names = option_names((*question.choices, *question.named))
        self.lexicon = lexicon(self.options)
        labels = [words(option.label) for option in self.options]
        self.nothing = tuple(o.code for o in self.options if words(o.label) in SAYINGS.none)
        self.every = tuple(code for code in self.real if code not in self.nothing)
        """What "all" means."""
        self.negative = frozenset(e for e in labels if e and e[0] in WORDS.excluders)
        self.asked = frozenset(words(question.text[:600]))
        self.context = self.asked - WORDS.neutral | _GENERAL
        nouns = self.context | _KINDS | self.lexicon.label_words - WORDS.neutral
        self.nouns = frozenset(noun for noun in nouns if not counts(noun))
        lines = (words(question.text[:600]), *labels)
        # What has numbers of its own here: `phase 3` is not the third option.
        numbered = {a for line in lines for a, b in pairwise(line) if b[:1].isdigit()}
        self.kinds = (self.nouns & self.context | _KINDS) - numbered

    # -- a clause ----------------------------------------------------------------------------------

    def clause(self, clause: Clause) -> Meaning | None:
        """What one clause says, or None when it says nothing about the options."""
        said = clause.words[:_LONGEST]
        if not self.lexicon.verbatim(said):
            said = _cut_tail(said)
        opening = self._opening(said)
        said, starts = said[opening:], clause.starts[opening:]
        if self._has_sense(said):
            return read_sense(said)
        if (clause.words[0] in WORDS.reasons and len(clause.words) > 1) or self.is_foreign(said):
            return None
        return Meaning("rest") if strip(said) in SAYINGS.rest else self._read(said, starts)

    def _read(self, said: Words, starts: tuple[int, ...]) -> Meaning | None:
        """What words say that are more than a yes or a no, and about the options."""
        if "between" in said[:-3]:
            return self._either(said[said.index("between") + 1 :])
        found = self._named(said)
        if (found is None or found.how == "beyond") and not _ALTERNATIVES.isdisjoint(said):
            found = self._either(said) or found
        if found and found.how == "beyond":
            return self._list(said) or found
        found = found or self.read_drop(said) or self._without(said)
        if found or self._find_excluded(said):
            return found or self._remarked(said, starts) or read_sense(said)
        return (
            self._list(said) or self._told(said) or self._remarked(said, starts) or read_sense(said)
        )

    def _opening(self, said: Words) -> int:
        """How many words at the beginning only lead to what is said: `and`, `start with`."""
        at = 0
        while at < len(said) - 1 and said[at] in _LEADING:
            at += 1
        if at < len(said) - 1 and said[at] in WORDS.dropping and said[at] in self.asked:
            at += 1
        for first in range(at, len(said)):
            for long in (4, 3, 2, 1):
                lead = said[first : first + long]
                own = long == 1 and lead[0] in self.lexicon.label_words
                if lead in SAYINGS.leads and len(said) > first + long and not own:
                    return first + long
            if said[first] not in WORDS.choosing:
                break
        return at

    def is_foreign(self, said: Words) -> bool:
        """Whether words of an option are said of something else.

        `take a break` is not `Break it up`, nor is `delete everything` `Delete old logs`.
        """
        if len(said) > 1 and self.lexicon.verbatim(said):
            return False
        if is_statement(said, self.lexicon) or is_inquiry(said, self.lexicon):
            return True
        if to_whom(said, len(said)) and not self.lexicon.verbatim(said[-2:]):
            return True
        core = edges(said, FILLERS - {"a", "an"})
        begun = core and stem(core[0]) in self.lexicon.openings
        if core[1:] in _IT:
            return not begun and stem(core[0]) in self.lexicon.things
        return core[:1] in {("a",), ("an",)} and stem(core[-1]) in self.lexicon.openings

    def _has_sense(self, said: Words) -> bool:
        """Whether words are a yes or a no before anything else."""
        if said not in SAYINGS.yes and said not in SAYINGS.no:
            return False
        if self.names.match(said) and not _THROWN_IN.issuperset(said):
            return False
        if said in SAYINGS.deeds and len(self.names.beginning(said)) == 1:
            return False
        return len(said) < 2 or said in SAYINGS.no or not self.lexicon.mentions(said)

    # -- names -------------------------------------------------------------------------------------

    def name(self, said: Words) -> Meaning | None:
        """What words say that name options without "or", "and" or "not"."""
        return self._named(said) or self._told(said)

    def _named(self, said: Words) -> Meaning | None:
        """A code, a label, the beginning of one, or a place in the list."""
        if strip(said) in SAYINGS.rest and not self.lexicon.verbatim(said):
            return None
        cores = [*dict.fromkeys((said, edges(said, FILLERS), strip(said), self._strip_own(said)))]
        found = self._none(said)
        for core in cores:
            found = found or self._whole(core, cut=core != said)
        if not found and (said in SAYINGS.yes or said in SAYINGS.no):
            return None
        for core in cores:
            found = found or self._begun(core, cut=core != said)
        if found and found.how == "either":
            codes = self.lexicon.closest(found.codes, said)
            found = self._both(codes, said) or options_of(codes)
        return self._keep_timely(found, said) if found else self.place(said)

    def _strip_own(self, said: Words) -> Words:
        """The words without fillers, except such as an option has as its own: `now`, `go`, `ok`."""
        own = self.names.codes.keys() | self.lexicon.label_words
        return edges(said, FILLERS - own, WORDS.endings - own)

    def _whole(self, core: Words, *, cut: bool) -> Meaning | None:
        """A whole label or code."""
        found = self.names.match(core)
        if not core or (len(core) == 1 and self.place(core) and not (found and core[0].isalpha())):
            return None
        if found:
            return options_of(found)
        lettered = core[1:] if len(core) == 2 and core[0] in _LETTERED else core
        everyday = cut and core == lettered and is_everyday(core[0])
        if len(lettered) > 1 or (everyday and core[0] not in self.marked):
            return None
        if found := self.names.code(lettered[0]):
            begun = self.names.beginning(lettered)
            return options_of(dict.fromkeys((*found, *begun)) if len(begun) > 1 else found)
        return None

    def _begun(self, core: Words, *, cut: bool) -> Meaning | None:
        """The beginning of a label in whole words."""
        small = WORDS.neutral if cut else WORDS.function | WORDS.excluders
        if not core or small.issuperset(core) or (len(core) == 1 and self.place(core)):
            return None
        found = self.names.beginning(core)
        phrase = self.lexicon.phrase(core)
        counted = any(word.isdigit() or is_ordinal(word) for word in core)
        if (
            phrase
            and phrase.label
            and (found or (counted and sum(map(self.lexicon.tells, core)) > 1))
        ):
            found = phrase.codes
        return options_of(found) if found else None

    def _none(self, said: Words) -> Meaning | None:
        """`none of these`, unless a label says so."""
        if said not in SAYINGS.none:
            return None
        phrase = self.lexicon.phrase(said)
        if phrase and phrase.label:
            return options_of(phrase.codes)
        return options_of(self.nothing) if self.nothing else Meaning("none")

    def _both(self, codes: Words, said: Words) -> Meaning | None:
        """`both chocolates`, `everything merged`, where several may be chosen and are that."""
        if not self.question.multi or len(codes) < 2:
            return None
        every = not {"all", "every", "ones"}.isdisjoint(said) or (
            "both" in said and len(codes) == 2
        )
        return Meaning("pick", codes, listed=True) if every else None

    def _keep_timely(self, found: Meaning, said: Words) -> Meaning | None:
        """Nothing, where a time is said that is not an option's: `fix it today`, `Fix it later`."""
        times = {"now", "today"}.intersection(said) if said[-2:] != ("for", "now") else set()
        if len(found.codes) != 1 or not times or found.how != "pick":
            return found
        option = next((o for o in self.options if o.code == found.codes[0]), None)
        own = {*map(stem, words(f"{option.label} {option.description}"))} if option else set()
        return None if own & _TIMES and not own & times else found

    def place(self, said: Words) -> Meaning | None:
        """A place in the list, or several."""
        core = edges(said, FILLERS - _PLACING, WORDS.endings - _PLACING)
        if core[:2] == ("one", "of"):
            those = self.place(core[2:])
            return those and options_of(those.codes, apart=True)
        place = places(
            core, len(self.shown), real=len(self.real), nouns=self.nouns, kinds=self.kinds
        )
        labelled = core in _ENDS and core[0] in self.lexicon.label_words
        one_more = any(one in {"a", "an"} and is_ordinal(two) for one, two in pairwise(said))
        if place is None or labelled or one_more:
            return None
        if place.every:
            return self._count_all(said, core)
        number = cardinal(core[0]) if len(core) == 1 else None
        if place.beyond or number is not None:
            return self._count(core, number, () if place.beyond else (self.shown[place.at[0]],))
        found = tuple(self.shown[at] for at in place.at)
        rivals = self.names.beginning(core) if len(core) == 1 else ()
        either = place.alternatives and not (self.question.multi and "or" not in core)
        if either or rivals:
            return options_of(dict.fromkeys((*found, *rivals)), apart=either)
        return Meaning("pick", found, place.explicit, listed=len(found) > 1)

    def _count_all(self, said: Words, core: Words) -> Meaning | None:
        """All of them, unless an option says that itself; where one is wanted, that is none."""
        if (said[1:] and self.lexicon.verbatim(said)) or self.lexicon.mentions(core):
            return None
        return Meaning("pick", self.every, listed=True) if self.question.multi else Meaning("none")

    def _count(self, core: Words, number: int | None, placed: Words) -> Meaning:
        """A number that is a place, unless a label has it as well; else one that labels have."""
        labels = (words(option.label) for option in self.options)
        valued = any(len(label) == 1 and cardinal(label[0]) is not None for label in labels)
        labelled = self.lexicon.find_in_labels((str(number),)) if number is not None else ()
        found = tuple(code for code in labelled if code in self.real)
        if placed and not (valued and not found):
            return options_of(dict.fromkeys((*placed, *(found if self.lone else ()))))
        near = number is not None and number <= len(self.shown) + 2
        if near and not valued and not self.names.beginning(core):
            return Meaning("beyond")
        phrase = self.lexicon.phrase(strip(core)) or self.lexicon.phrase((f"{core[0]}%",))
        return options_of(phrase.codes) if phrase and phrase.label else Meaning("beyond")

    def _told(self, said: Words) -> Meaning | None:
        """The words of labels and descriptions, in their order or not, or with a slip."""
        core = strip(said) or self._strip_own(said)
        phrased = self._phrased(said) if core else None
        if phrased or not core or "too" in core[:-1]:
            return phrased
        for typed in (core, said):
            mistyped = self.names.find_mistyped(" ".join(typed), wordwise=True)
            if mistyped:
                return options_of(mistyped)
        fit = self.lexicon.account(said, self.context) or self.lexicon.account(core, self.context)
        found = None if fit and not fit.label and self._is_beside(said) else self._fit(fit, said)
        if found is None and core[-1] == "first" and len(core) > 1:
            meant = self.name(core[:-1])
            return meant._replace(firm=False) if meant and meant.firm else None
        return found

    def _phrased(self, said: Words) -> Meaning | None:
        core = strip(said) or self._strip_own(said)
        for part in dict.fromkeys((said, core, _cut_reference(said))):
            polite = edges(said, WORDS.interjections, WORDS.interjections)
            weak = len(part) == 1 and part != polite and part[0] in WORDS.neutral
            found = None if weak else self._fit(self.lexicon.phrase(part), said)
            if found:
                return found
        return None

    def _fit(self, fit: Fit | None, said: Words) -> Meaning | None:
        if fit is None or (not fit.label and (_is_of_a_kind(said) or self._is_deed(said))):
            return None
        codes = self.lexicon.closest(fit.codes, said)
        return self._both(codes, said) or self._keep_timely(options_of(codes, firm=fit.label), said)

    def _is_deed(self, said: Words) -> bool:
        """`pay it`: a deed of their own, which a description's word `pay` does not name."""
        told = [at for at, word in enumerate(said) if self.lexicon.tells(word)]
        if len(told) != 1 or not WORDS.negators.isdisjoint(said):
            return False
        return said[told[0] + 1 : told[0] + 2] in _IT and not self.lexicon.verbatim(said)

    def _is_beside(self, said: Words) -> bool:
        """Whether one word of a description is said with more: `let users choose`."""
        if sum(map(self.lexicon.tells, said)) != 1 or _cut_reference(said) != said:
            return False
        around = WORDS.function | WORDS.negators | _VAGUE
        return len([word for word in strip(said) if word not in around]) > 1

    # -- what is left out --------------------------------------------------------------------------

    def _without(self, said: Words) -> Meaning | None:
        """`not the second`, `anything but deploy`, `2 rather than 3`, `all but 3`."""
        found = self._find_excluded(said)
        if found is None or tuple(word for word in said if word not in _POINTING) in SAYINGS.no:
            return None
        before, after, negator = found
        once = WORDS.excluders.isdisjoint(after)
        # `don't deploy now` leaves `Deploy later`, even where an option says `Do not deploy`.
        other = self.names.match(edges(after, frozenset(), WORDS.interjections))
        if (negator in WORDS.excluders or not before) and once and not other:
            fit = self.lexicon.account(said)
            own = self._phrased(said) or (self._fit(fit, said) if fit and not fit.label else None)
            if own or (negator == "no" and after and after[0].isdigit()):
                return own
        if negator == "no" and not before and not {"it", "them"}.isdisjoint(after):
            return None  # `no keep it` may be a no, and then a choice
        if not self.names.match(after):
            after = edges(after, _REFERRING | WORDS.excluders, frozenset(("again",)))
        after = (*after[:1], *("and" if word in {"no", "not"} else word for word in after[1:]))
        dropped = self._several(after) or self.lexicon.find_in_labels(strip(after))
        if not dropped:
            return None
        core = edges(after, ARTICLES, WORDS.interjections) if other else strip(after)
        dropped = (*dropped, *self.lexicon.find_in_labels(core))
        kept = self.lexicon.find_refusing(dropped) if negator in WORDS.excluders else set()
        return self._left(before, tuple(code for code in dropped if code not in kept) or dropped)

    def _find_excluded(self, said: Words) -> tuple[Words, Words, str] | None:
        """What stands before and after the first word that leaves something out.

        The "no" of a label such as `No limit` leaves nothing out, nor does `that won't work`.
        """
        for at, word in enumerate(said[:-1]):
            if said[at : at + 2] in _EXCLUDING:
                return said[:at], said[at + 2 :], word
            own = opens(said[at:], self.negative)
            unwilling = word in {"wont", "shouldnt", "wouldnt"} and said[max(at - 1, 0)] not in {
                "i",
                "we",
            }
            unknown = word == "dont" and said[at + 1] in _MINDING
            if word in WORDS.excluders and not (own or unwilling or unknown):
                return said[:at], said[at + 1 :], word
            opening = not at and word not in {"but", "save", "bar"}
            if word in WORDS.excepting and (opening or {*said[:at]} & WORDS.quantifiers):
                rest = said[at + 1 :]
                return said[:at], rest[1:] if rest[0] in {"for", "not"} else rest, word
        return None

    def _left(self, before: Words, dropped: Words) -> Meaning | None:
        """What is left when some options are ruled out of those named before.

        All but something is never a plain pick: what is left is asked about.
        """
        quantity = set(before) - WORDS.function - FILLERS
        if before[-2:-1] and before[-2] in WORDS.quantifiers and not self.name(before[-1:]):
            quantity.discard(before[-1])
        if quantity <= WORDS.quantifiers | {"options", "ones"}:
            return Meaning("not", dropped)
        meant = self.name(before)
        if meant is None or meant.how not in NAMING:
            return None
        left = tuple(code for code in meant.codes if code not in dropped)
        return options_of(left) if left else None

    def read_drop(self, said: Words) -> Meaning | None:
        """`drop 2`, where no option is called that."""
        core = edges(said, FILLERS)
        core = ("drop", *core[2:]) if core[:2] == ("leave", "out") else core
        known = core and (stem(core[0]) in self.lexicon.label_stems or core[0] in self.asked)
        if len(core) < 2 or core[0] not in WORDS.dropping or known:
            return None
        codes = self._several(core[1:])
        return Meaning("drop", codes) if codes else None

    # -- several -----------------------------------------------------------------------------------

    def _several(self, said: Words) -> Words | None:
        """Every option that words joined by "and" or "or" name; None when one names nothing."""
        codes: list[str] = []
        whole = (self._named(said) or self._phrased(said)) if said else None
        named = whole is not None and whole.how in NAMING
        for part in [said] if named else _parts(said, _JOINTS | _ALTERNATIVES):
            meant = self.name(part)
            if meant is None or meant.how not in NAMING:
                return None
            codes.extend(meant.codes)
        return tuple(dict.fromkeys(codes)) or None

    def _either(self, said: Words) -> Meaning | None:
        """`1 or 2`, `either the train or the car`."""
        codes = self._several(edges(said, frozenset(("either",))))
        return options_of(codes, apart=True) if codes and len(codes) > 1 else None

    def _list(self, said: Words) -> Meaning | None:
        """`tests and docs`: every part names something, and one of them by its label."""
        parts = _parts(said, _JOINTS)
        if self.question.multi and len(said) > 1 and all(map(self.names.code, said)):
            parts = [(word,) for word in said]
        meanings = [self.name(part) for part in parts] if len(parts) > 1 else []
        named = [m for m in meanings if m is not None and m.how in NAMING]
        if not named or len(named) < len(parts) or not any(meant.firm for meant in named):
            return None
        codes = dict.fromkeys(code for meant in named for code in meant.codes)
        if any(meant.how == "either" for meant in named):
            return options_of(codes, apart=True)
        return Meaning("pick", tuple(codes), listed=True)

    def _remarked(self, said: Words, starts: tuple[int, ...]) -> Meaning | None:
        """`roll back and tell support`: the first part names something, the rest is a remark."""
        for at, word in enumerate(said):
            if word not in _JOINTS or not at:
                continue
            meant = self._list(said[:at]) or self.name(said[:at])
            rest = said[at + 1 :]
            if meant is None or not meant.firm or meant.how not in NAMING:
                return None
            if len(rest) < 2 + self.question.multi or limits(rest):
                return None
            if counts(rest[0]) or rest[0] in _DETERMINERS or self.name(rest):
                return None
            others = self.lexicon.mentions(rest) - set(meant.codes)
            return None if others else meant._replace(tail=starts[at])
        return None

    def begins_a_list(self, said: Words) -> bool:
        """Whether words name an option and go on with "and"."""
        parts = _parts(said, _JOINTS)
        meant = self.name(parts[0]) if len(parts) > 1 else None
        return meant is not None and meant.firm and meant.how in NAMING


def _parts(said: Words, joints: frozenset[str]) -> list[Words]:
    return [tuple(part) for joint, part in groupby(said, joints.__contains__) if not joint]


def _is_of_a_kind(said: Words) -> bool:
    """`a bike` is a thing of their own more often than the `bike shop` of a description."""
    core = edges(said, FILLERS - {"a", "an"} | {"in", "after", "within"}, WORDS.endings)
    last = said[-1] in WORDS.praise | {"one", "option"}
    return len(core) == 2 and core[0] in {"a", "an"} and not last


def _cut_tail(said: Words) -> Words:
    """The words without what is said behind them to no effect: `merge it who cares`."""
    for long in (5, 4, 3, 2):
        if len(said) > long and said[-long:] in SAYINGS.tails:
            return said[:-long]
    return said


def _cut_reference(said: Words) -> Words:
    """What is said of the option that is meant: `whoever has time`, `the one with sleepers`."""
    core = edges(said, FILLERS)
    if len(core) > 1 and core[0] in _ONES and core[1] in WORDS.relative:
        return core[1:] if core[1] in WORDS.negators else core[2:]
    return said[1:] if said[:1] and said[0] in _WHICHEVER else said


# -- yes and no ------------------------------------------------------------------------------------

Sense = Literal["yes", "no"]
_LONGEST_SENSE = 5
_SENTENCE = r"[.!?:]\s"
_TAIL = 600
"""How much of a question's end is looked at."""
_HOW = wordset("what whats how hows")
_ASKING = _HOW | wordset("which who where when why")


def read_sense(said: Words) -> Meaning | None:
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
    if len(senses) > 1:
        return None
    return Meaning(senses.pop() if senses else "chatter")


def _sense_at(said: Words, at: int) -> tuple[int, Sense | None]:
    for long in range(min(_LONGEST_SENSE, len(said) - at), 0, -1):
        phrase = said[at : at + long]
        if phrase in SAYINGS.no and (
            phrase[-1] not in WORDS.excluders or at + long == len(said) or long > 2
        ):
            return long, "no"
        if phrase in SAYINGS.yes:
            return long, "yes"
    polite = said[at] in WORDS.interjections or said[at] in _POINTING
    return (1 if polite else 0), None


def sides(question: Question, sense: Sense) -> Words:
    """The options that a yes or a no stands for."""
    options = question.options
    found = [o for o in options if o.code.rpartition("/")[2].casefold() == sense]
    found = found or [o for o in options if _answers(o, question, sense)]
    plain = [o for o in found if not WORDS.qualifiers.intersection(words(o.label))]
    if all(words(o.label)[0] == sense for o in found if o.label):
        plain = found
    codes = tuple(o.code for o in (plain or found))
    if codes or sense == "yes":
        return codes
    yes = sides(question, "yes") if len(options) == 2 else ()
    return tuple(o.code for o in options if o.code not in yes) if len(yes) == 1 else ()


def _answers(option: Choice, question: Question, sense: Sense) -> bool:
    """Whether an option says yes or no to what was asked.

    Where it was asked what to do, only a label that is one word of sense does, or one that can
    answer anything: `yes` to that does not `Accept the risk`, nor does `no` `Cancel the account`.
    """
    if not _opens(option.label, SAYINGS.affirming if sense == "yes" else SAYINGS.refusing):
        return False
    telling = [word for word in words(option.label) if word not in WORDS.function]
    asking = next((word for word in _last(question.text)[:2] if word in _ASKING), "")
    if len(telling) < 2:
        return True
    if not asking:
        asked = {stem(word) for word in words(question.text[-_TAIL:])}
        opposite = SAYINGS.refusing if sense == "yes" else SAYINGS.affirming
        opposed = any(_opens(other.label, opposite) for other in question.options)
        echoed = any(stem(word) in asked for word in telling)
        return echoed or opposed or _opens(option.label, SAYINGS.approving)
    return asking in _HOW and _opens(option.label, SAYINGS.approving)


def _last(text: str) -> Words:
    """The words of a question's last sentence."""
    return words(re.split(_SENTENCE, text[-_TAIL:].rstrip(" ?\n"))[-1])


def _opens(label: str, known: frozenset[Words]) -> bool:
    """Whether a label opens with a yes or a no; `No button` is neither."""
    said = words(label)
    if said[:1] == ("no",) and words(label.partition(",")[0]) not in known:
        return False
    return opens(said[1:] if said[1:] and said[0] in WORDS.how_often else said, known)
