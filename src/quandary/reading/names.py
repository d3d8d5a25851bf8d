"""How words name options: by code, label or place, by what they say of them, or nearly so."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from quandary.model.asks import MORE
from quandary.model.tree import OTHER
from quandary.reading import option_names, phrases
from quandary.reading.clauses import FILLERS, cut_praise, edges, strip
from quandary.reading.evidence import lexicon, phrasal
from quandary.reading.numbers import cardinal, counts, is_ordinal, places
from quandary.reading.words import words, wordset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.model.asks import Question
    from quandary.reading.evidence import Fit

Words = tuple[str, ...]
_ONE = frozenset(("a", "an"))
_PLACING = wordset("the all both one ones option options choice choices")
_ENDS = {("top",), ("bottom",), ("middle",)}
_EVERY = wordset("all every everything")
_GENERAL = wordset("mode approach solution strategy setup setting style format")
"""What may stand behind any label: `dark mode`."""
_KINDS = wordset("variant alternative proposal suggestion idea")
_ONES = wordset("one ones option choice person guy")
_WHICHEVER = wordset("whoever whatever whichever when where")
NAMING = frozenset(("pick", "either"))
"""How words say which options are meant."""
_LETTERED = frozenset(("option", "choice", "code", "letter", "answer"))


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


class Namer:
    """Holds words against the options of one question."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.options = question.options
        self.shown = [choice.code for choice in question.choices]
        self.real = [code for code in self.shown if code != MORE]
        if question.menu:
            self.shown.append(OTHER)
        self.names = option_names((*question.choices, *question.named))
        self.lexicon = lexicon(self.options)
        labels = frozenset(words(option.label) for option in self.options)
        self.nothing = tuple(o.code for o in self.options if words(o.label) in phrases.NONE)
        self.every = tuple(code for code in self.real if code not in self.nothing)
        """What "all" means."""
        self.values = {
            number: option.code
            for option in self.options
            if len(label := words(option.label)) == 1 and (number := cardinal(label[0])) is not None
        }
        """The options whose label is just a number."""
        self.negative = frozenset(e for e in labels if e and e[0] in phrases.EXCLUDERS)
        self.asked = frozenset(words(question.text[:600]))
        self.context = self.asked - phrases.NEUTRAL | _GENERAL
        nouns = self.context | _KINDS | self.lexicon.label_words - phrases.NEUTRAL
        self.nouns = frozenset(noun for noun in nouns if not counts(noun))
        texts = (question.text[:600], *(option.label for option in self.options))
        pairs = (pair for text in texts for pair in pairwise(words(text)))
        # What has numbers of its own here: `phase 3` is not the third option.
        numbered = {thing for thing, number in pairs if number[:1].isdigit()}
        self.kinds = (self.nouns & self.context | _KINDS) - numbered

    def one(self, said: Words) -> Meaning | None:
        """What words say that name options without "or", "and" or "not"."""
        return self.read_outright(said) or self._read_telling(said)

    def _part(self, said: Words) -> Meaning | None:
        """One of several in a list, where a filler such as `now` may be a label's own word."""
        found = self.one(said)
        if found or strip(said):
            return found
        return self._read_phrase(tuple(word for word in said if self.lexicon.tells(word)))

    def read_outright(self, said: Words) -> Meaning | None:
        """A code, a label, the beginning or a part of one, or a place in the list."""
        if strip(said) in phrases.REST and not self.lexicon.verbatim(said):
            return None
        found = self._read_label(said) or self._read_name(said) or self._read_none(said)
        if not found and (said in phrases.YES or said in phrases.NO):
            return None
        for core in (edges(said, FILLERS), strip(said), self._strip_fillers(said)):
            found = found or self._read_name(core, cut=core != said)
        if found and found.how == "either":
            codes = self.lexicon.closest(found.codes, said)
            found = self._both(codes, said) or options_of(codes)
        if found:
            return self._keep_timely(found, said)
        place = self.read_place(said)
        return self._beyond(said) or place if place and place.how == "beyond" else place

    def _beyond(self, said: Words) -> Meaning | None:
        """A number that no option has as its place, but some option has among its words."""
        core = strip(said)
        number = cardinal(core[0]) if len(core) == 1 else None
        if number is not None and number <= len(self.shown) + 2 and not self.names.beginning(core):
            return self._read_name((f"{core[0]}%",))
        phrase = self.lexicon.phrase(core)
        alone = len(said) < 3 and any(map(str.isdigit, said))
        if phrase and (phrase.label or not alone):
            return options_of(phrase.codes, firm=phrase.label)
        known = any(word[0].isdigit() and word in self.lexicon.label_words for word in core)
        return self._fit(self.lexicon.bag(said), said) if known else None

    def _keep_timely(self, found: Meaning, said: Words) -> Meaning | None:
        """Nothing, where a time is said that is not an option's: `fix it today`, `Fix it later`."""
        if len(found.codes) != 1 or not ("today" in said or "now" in said):
            return found
        return None if self.lexicon.elsewhen(found.codes[0], said) else found

    def _both(self, codes: Words, said: Words) -> Meaning | None:
        """`both chocolates`, `everything merged`, where several may be chosen and are that."""
        if not self.question.multi or len(codes) < 2:
            return None
        every = not _EVERY.isdisjoint(said) or ("both" in said and len(codes) == 2)
        return Meaning("pick", codes, listed=True) if every else None

    def _read_label(self, said: Words) -> Meaning | None:
        """A whole label, with fillers around it that it does not end in: `just pay it please`."""
        core = edges(said, FILLERS)
        for last in range(len(core), 0, -1):
            found = self.names.match(core[:last])
            if found and not (last == 1 and self.read_place(core[:1])):
                return options_of(found)
            if core[last - 1] not in phrases.ENDINGS:
                break
        return None

    def _read_none(self, said: Words) -> Meaning | None:
        """`none of these`, unless a label says so."""
        if said not in phrases.NONE:
            return None
        phrase = self.lexicon.phrase(said)
        if phrase and phrase.label:
            return options_of(phrase.codes)
        return options_of(self.nothing) if self.nothing else Meaning("none")

    def _strip_fillers(self, said: Words) -> Words:
        """The words without fillers, except such as an option has as its own: `now`, `go`, `ok`."""
        own = self.names.codes.keys() | self.lexicon.label_words
        return edges(said, FILLERS - own, phrases.ENDINGS - own)

    def _read_name(self, core: Words, *, cut: bool = False) -> Meaning | None:
        if not core:
            return None
        found = self.names.match(core)
        lettered = core[1:] if len(core) == 2 and core[0] in _LETTERED else core
        if not found and len(lettered) == 1:
            found = self.names.code(lettered[0])
            if found and len(self.names.beginning(lettered)) > 1:
                return options_of(dict.fromkeys((*found, *self.names.beginning(lettered))))
        if not found and not (
            phrases.NEUTRAL if cut else phrases.FUNCTION | phrases.EXCLUDERS
        ).issuperset(core):
            found = self.names.beginning(core)
            phrase = self.lexicon.phrase(core) if found else None
            found = phrase.codes if phrase and phrase.label else found
        if found and not (len(core) == 1 and self.read_place(core)):
            return options_of(found)
        counted = any(word.isdigit() or is_ordinal(word) for word in core)
        if counted and sum(map(self.lexicon.tells, core)) > 1:
            phrase = self.lexicon.phrase(core)
            return options_of(phrase.codes) if phrase and phrase.label else None
        return None

    def read_place(self, said: Words) -> Meaning | None:
        """A place in the list, or several."""
        core = edges(said, FILLERS - _PLACING, phrases.ENDINGS - _PLACING)
        counted = self._read_value(core) or self._one_of(core) or self._of_those(core)
        if counted:
            return counted
        place = places(
            core, len(self.shown), real=len(self.real), nouns=self.nouns, kinds=self.kinds
        )
        labelled = core in _ENDS and core[0] in self.lexicon.label_words
        one_more = any(one in _ONE and is_ordinal(two) for one, two in pairwise(said))
        if place is None or labelled or one_more or (place.every and self._mentions(said, core)):
            return None
        if place.beyond or (place.every and not self.question.multi):
            return Meaning("beyond" if place.beyond else "none")
        found = self.every if place.every else tuple(self.shown[at] for at in place.at)
        if len(core) == 1 and len(found) == 1:
            rivals = (*self.names.match(core), *self.names.beginning(core))
            if rivals and rivals != found:
                return options_of(dict.fromkeys((*found, *rivals)))
        if place.alternatives and not (self.question.multi and "or" not in core):
            return options_of(found, apart=True)
        return Meaning("pick", found, place.explicit, listed=len(found) > 1)

    def _mentions(self, said: Words, core: Words) -> bool:
        """Whether `everyone` and the like are an option's own words."""
        return bool((said[1:] and self.lexicon.verbatim(said)) or self.lexicon.mentions(core))

    def _read_value(self, core: Words) -> Meaning | None:
        """A number where labels are numbers: `three` is `Three`, `3` may also be the third."""
        numbers = [cardinal(word) for word in core if word not in {"or", "and"}]
        if not self.values or None in numbers or not numbers:
            return None
        found = [self.values.get(number) for number in numbers if number is not None]
        if None in found or (len(core) == 1 and core[0].isdigit()):
            place = (numbers[0] or 0) - 1
            rival = self.shown[place : place + 1] if core[0].isdigit() else []
            known = [code for code in (*found, *rival) if code]
            unknown = None in found and len(self.values) > 1
            return Meaning("beyond") if unknown else options_of(dict.fromkeys(known))
        return options_of([code for code in found if code], apart="or" in core)

    def _one_of(self, core: Words) -> Meaning | None:
        """`one of the first two`: but which?"""
        those = self.read_place(core[2:]) if core[:2] == ("one", "of") else None
        several = those and those.how == "pick" and len(those.codes) > 1
        return options_of(those.codes, apart=True) if those and several else None

    def _of_those(self, core: Words) -> Meaning | None:
        """`the second saturday`, where only some of the options are Saturdays."""
        core = core[1:] if core[:1] == ("the",) else core
        if len(core) != 2 or not is_ordinal(core[0]) or not self.lexicon.tells(core[1]):
            return None
        those = self.lexicon.find_in_labels(core[1:])
        if len(those) < 2 or len(those) == len(self.real):
            return None
        place = places(core[:1], len(those))
        if place is None or place.beyond:
            return Meaning("beyond")
        return Meaning("pick", tuple(those[at] for at in place.at))

    def _read_telling(self, said: Words) -> Meaning | None:
        """The words of labels and descriptions, or such as mean the same: `take it out`."""
        found = self._read_words(said)
        joined = tuple(phrasal(said)) if found is None else said
        return found if joined == said else self._read_words(joined)

    def _read_words(self, said: Words) -> Meaning | None:
        """The words of labels and descriptions, in their order or not."""
        said = cut_praise(said)
        core = strip(said) or self._strip_fillers(said) or _keep_praise(said)
        phrased = self._read_phrase(said) if core else None
        if phrased or not core or "too" in core[:-1]:
            return phrased
        mistyped = self.names.find_mistyped(" ".join(core), wordwise=True)
        mistyped = mistyped or self.names.find_mistyped(" ".join(said), wordwise=True)
        if mistyped:
            return options_of(mistyped)
        fit = self.lexicon.bag(said, self.context) or self.lexicon.bag(core, self.context)
        return self._fit(fit, said) or self._read_loosely(said, core)

    def _read_loosely(self, said: Words, core: Words) -> Meaning | None:
        """`lint docs` where several may be chosen, and `logs first`."""
        apart = self.lexicon.apart(said) if self.question.multi else ()
        if len(apart) > 1:
            return Meaning("pick", apart, listed=True)
        if core[-1] == "first" and len(core) > 1:
            meant = self.one(core[:-1])
            return meant._replace(firm=False) if meant and meant.firm else None
        return None

    def relative(self, said: Words) -> Meaning | None:
        """`what finance waits for`, which asks nothing: all of it stands in one option."""
        subject = said[2:3] if said[1:2] == ("the",) else said[1:2]
        if said[0] != "what" or len(said) < 3 or not subject:
            return None
        if subject[0] in phrases.VERBS | phrases.FUNCTION | phrases.NEUTRAL:
            return None
        told = [word for word in said if self.lexicon.tells(word)]
        fit = self.lexicon.bag(said[1:]) if len(told) > 1 else None
        return Meaning("pick", fit.codes, firm=False) if fit and len(fit.codes) == 1 else None

    def verbatim(self, said: Words) -> Meaning | None:
        """Three words or more that stand so in a label or a description, or all of the latter."""
        phrase = self.lexicon.phrase(said) if len(said) > 2 else self.lexicon.fit_description(said)
        return options_of(phrase.codes, firm=phrase.label) if phrase else None

    def _read_phrase(self, said: Words) -> Meaning | None:
        core = strip(said) or self._strip_fillers(said) or _keep_praise(said)
        for part in dict.fromkeys((said, core, _cut_reference(said))):
            found = self._fit(self.lexicon.phrase(part), said)
            if found:
                return found
        return None

    def _fit(self, fit: Fit | None, said: Words) -> Meaning | None:
        """The options that words fit; a description is not meant by a thing of their own."""
        if fit is None or (not fit.label and self._beside(said)):
            return None
        codes = self.lexicon.closest(fit.codes, said)
        if self.question.multi and len(codes) > 1 and "ones" in said:
            return Meaning("pick", codes, fit.label, listed=True)
        return self._both(codes, said) or self._keep_timely(options_of(codes, firm=fit.label), said)

    def _beside(self, said: Words) -> bool:
        """Whether words that stand in a description are said of something else.

        `the one who wrote it` points to an option, whatever follows.
        """
        if _refers(said):
            return False
        told = [at for at, word in enumerate(said) if self.lexicon.tells(word)]
        doing = told and not phrases.DECLARING.isdisjoint(said[told[-1] + 1 :])
        return bool(doing) or _of_a_kind(said) or self.lexicon.on_it(said)

    def _idiom(self, said: Words) -> Meaning | None:
        """Words that say little one by one, but stand together in just one option."""
        if said[0] == "the" and len(said) > 4 and said[1] in _LETTERED | {"one"}:
            said = said[3:] if said[2] in phrases.RELATIVE else said
        if len(said) < 2 or phrases.FUNCTION.issuperset(said) or any(map(self.lexicon.tells, said)):
            return None
        codes = self.lexicon.verbatim(said)
        return Meaning("pick", codes, firm=False) if len(codes) == 1 else None


def options_of(codes: Iterable[str], *, firm: bool = True, apart: bool = False) -> Meaning:
    codes = tuple(codes)
    if len(codes) > 1:
        return Meaning("either", codes, firm, listed=apart)
    return Meaning("pick", codes, firm)


def _refers(said: Words) -> bool:
    """Whether an option is described: `the one that …`, `the person who …`."""
    core = edges(said, FILLERS)
    return len(core) > 1 and core[0] in _ONES and core[1] in phrases.RELATIVE


def _cut_reference(said: Words) -> Words:
    """What is said of the option that is meant: `whoever has time`, `the one with sleepers`."""
    if _refers(said):
        core = edges(said, FILLERS)
        return core[1:] if core[1] in phrases.NEGATORS else core[2:]
    return said[1:] if said[:1] and said[0] in _WHICHEVER else said


def _of_a_kind(said: Words) -> bool:
    """`a bike` is a thing of their own more often than the `bike shop` of a description."""
    core = edges(said, FILLERS - _ONE | {"in", "after", "within"}, phrases.ENDINGS)
    return len(core) == 2 and core[0] in _ONE and said[-1] not in {"one", "option"}


def _keep_praise(said: Words) -> Words:
    """`the best` may be an option's own praise."""
    return tuple(word for word in said if word in phrases.PRAISE) if said[:1] == ("the",) else ()
