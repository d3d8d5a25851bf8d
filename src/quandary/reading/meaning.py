"""What a clause of a reply says about the options: this one, not that one, one of those, yes."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from quandary.reading import phrases
from quandary.reading.clauses import (
    DETERMINERS,
    FILLERS,
    another_deed,
    cut_praise,
    edges,
    lacks_will,
    sets_condition,
    strip,
    tells,
)
from quandary.reading.evidence import phrasal
from quandary.reading.names import NAMING, Meaning, Namer, options_of
from quandary.reading.numbers import counts
from quandary.reading.words import ARTICLES, opens, stem, wordings, words, wordset

if TYPE_CHECKING:
    from quandary.model.asks import Choice, Question
    from quandary.reading.clauses import Clause

Words = tuple[str, ...]
_REFERRING = wordset("a an when if where another")
_EXCLUDING = wordings("instead of,rather than,other than,apart from")
_UNABLE = frozenset(("cant", "cannot"))
_ASKED_OF = phrases.DROPPING | {"when", "where"}
"""What only repeats the question: `skip the tour`, to `Which steps shall we skip?`."""
_ANY = wordset("any anything anyone anywhere anytime")
_LEADING = wordset("but and also plus so or then")
_JOINTS = frozenset(("and", "plus", "also"))
_ALTERNATIVES = frozenset(("or", "nor", "/"))
_MINDING = wordset("understand know see get believe remember care mind")
_LONGEST = 60
_THROWN_IN = phrases.INTERJECTIONS | phrases.EXCLUDERS | {"nope", "nah"}
"""Said as a yes or a no, whereas `approve` is more than that."""


class Interpreter(Namer):
    """Reads clauses as replies to one question."""

    def clause(self, clause: Clause) -> Meaning | None:
        """What one clause says, or None when it says nothing about the options."""
        said = clause.words[:_LONGEST]
        if not self.lexicon.verbatim(said):
            said = _cut_tail(said)
        opening = self._opening(said)
        said, starts = said[opening:], clause.starts[opening:]
        if self._has_sense(said):
            return read_sense(said)
        if (clause.words[0] in phrases.REASONS and len(clause.words) > 1) or self.foreign(said):
            return None
        return Meaning("rest") if strip(said) in phrases.REST else self._read(said, starts)

    def _read(self, said: Words, starts: tuple[int, ...]) -> Meaning | None:
        """What words say that are more than a yes or a no, and about the options."""
        found = self._between(said) or self.read_outright(said)
        if found and found.how == "beyond":
            return self._alternatives(said) or self._read_list(said) or found
        found = found or self.read_drop(said) or self._without(said) or self._alternatives(said)
        if found or not _ALTERNATIVES.isdisjoint(said):
            return found or self._read_phrase(said)
        if self._find_excluded(said):
            return self._read_phrase(said) or self._read_remark(said, starts) or read_sense(said)
        return (
            self._read_list(said)
            or self._read_telling(said)
            or self._read_remark(said, starts)
            or read_sense(said)
            or self._idiom(said)
        )

    def _opening(self, said: Words) -> int:
        """How many words at the beginning only lead to what is said: `and`, `start with`."""
        at = 0
        while at < len(said) - 1 and said[at] in _LEADING:
            at += 1
        if at < len(said) - 1 and said[at] in _ASKED_OF and said[at] in self.asked:
            at += 1
        for first in range(at, len(said)):
            for long in (4, 3, 2, 1):
                lead = said[first : first + long]
                own = long == 1 and lead[0] in self.lexicon.label_words
                if lead in phrases.LEADS and len(said) > first + long and not own:
                    return first + long
            if said[first] not in phrases.CHOOSING:
                break
        return at

    def foreign(self, said: Words) -> bool:
        """Whether words of an option are said of something else."""
        if len(said) > 1 and self.lexicon.verbatim(said):
            return False
        if tells(cut_praise(said), self.lexicon):
            return True
        core = edges(said, FILLERS - {"make"})
        if core[:1] == ("make",) and core[1:2] and core[1] in POINTING | {"them", "the"}:
            return not self.read_outright(core[2:])
        return another_deed(said, self.lexicon)

    def _has_sense(self, said: Words) -> bool:
        """Whether words are a yes or a no before anything else.

        `ship it` is more where nothing says yes, but something can be shipped.
        """
        if not (said in phrases.YES or said in phrases.NO) or (
            self.names.match(said) and not _THROWN_IN.issuperset(said)
        ):
            return False
        if len(said) < 2 or said in phrases.NO or self.lexicon.mentions(said):
            return True
        return bool(sides(self.question, "yes"))

    def _without(self, said: Words) -> Meaning | None:
        """`not the second`, `anything but deploy`, `2 rather than 3`, `all but 3`."""
        found = self._find_excluded(said)
        if found is None or tuple(word for word in said if word not in POINTING) in phrases.NO:
            return None
        before, after, negator = found
        once = phrases.EXCLUDERS.isdisjoint(after)
        # `don't deploy now` leaves `Deploy later`, even where an option says `Do not deploy`.
        other = self.names.match(edges(after, frozenset(), phrases.INTERJECTIONS))
        if (negator in phrases.EXCLUDERS or not before) and once and not other:
            own = self._read_phrase(said) or self._read_denial(said)
            if own or (negator == "no" and after and after[0].isdigit()):
                return own
        after = edges(after, _REFERRING, frozenset(("again",)))
        after = (*after[:1], *("and" if word in {"no", "not"} else word for word in after[1:]))
        dropped = self._several(after) or self.lexicon.find_in_labels(strip(after))
        if dropped:
            core = edges(after, ARTICLES, phrases.INTERJECTIONS) if other else strip(after)
            dropped = (*dropped, *self.lexicon.find_in_labels(core))
        preferred = self.names.match(before) if negator in {"instead", "rather"} else ()
        if dropped and preferred:
            return options_of(code for code in preferred if code not in dropped)
        return self._left(before, dropped) if dropped else None

    def _find_excluded(self, said: Words) -> tuple[Words, Words, str] | None:
        """What stands before and after the first word that leaves something out.

        The "no" of a label such as `No limit` leaves nothing out.
        """
        for at, word in enumerate(said):
            pair = said[at : at + 2]
            if pair in _EXCLUDING:
                return said[:at], said[at + 2 :], pair[0]
            own = opens(said[at:], self.negative)
            if word in phrases.EXCLUDERS and not (
                own or lacks_will(said, at) or _at_a_loss(said, at)
            ):
                return said[:at], said[at + 1 :], word
            if word in _UNABLE and said[at + 1 : at + 2] in {("do",), ("make",)}:
                return said[:at], said[at + 2 :], word
            opening = not at and len(said) > 1 and word not in {"but", "save", "bar"}
            if word in phrases.EXCEPT and (
                opening or not phrases.QUANTIFIERS.isdisjoint(said[:at])
            ):
                rest = said[at + 1 :]
                return said[:at], rest[1:] if rest[:1] in {("for",), ("not",)} else rest, word
        return None

    def read_drop(self, said: Words) -> Meaning | None:
        """`drop 2`, where no option is called that."""
        typed = edges(said, FILLERS)
        core = phrasal(typed)
        own = self.lexicon.label_stems.intersection(map(stem, (*core[:1], *typed[:1])))
        own = own or self.asked.intersection(core[:1])
        if not core or core[0] not in phrases.DROPPING or own:
            return None
        codes = self._several(tuple(core[1:])) if len(core) > 1 else None
        return Meaning("drop", codes) if codes else None

    def _read_denial(self, said: Words) -> Meaning | None:
        """`don't merge` where an option itself says so: `Close without merging`.

        Where the label says more than that, the others that do not merge fit as well.
        """
        fit = self.lexicon.bag(said) if self.lexicon.denies(said) else None
        if fit is None:
            return None
        if len(fit.codes) > 1 or not fit.label or self.lexicon.wholly(fit.codes[0], said):
            return options_of(fit.codes, firm=fit.label)
        doing = self.lexicon.find_affirming(said)
        return options_of(code for code in self.real if code not in doing)

    def _left(self, before: Words, dropped: Words) -> Meaning | None:
        """What is left when some options are ruled out of those named before."""
        quantity = set(before) - phrases.FUNCTION - FILLERS
        if not quantity:
            return Meaning("not", dropped)
        kind = {word for word in before[-1:] if before[-2:-1] and before[-2] in phrases.QUANTIFIERS}
        if not self.lexicon.mentions(tuple(kind)):
            quantity -= kind - phrases.QUANTIFIERS
        if quantity <= phrases.QUANTIFIERS | {"options"}:
            if quantity & _ANY or not self.question.multi:
                return Meaning("not", dropped)
            return Meaning("pick", tuple(c for c in self.every if c not in dropped), listed=True)
        meant = self.one(before)
        if meant is None or meant.how not in NAMING:
            return None
        left = tuple(code for code in meant.codes if code not in dropped)
        return options_of(left) if left else None

    def _several(self, said: Words) -> Words | None:
        """Every option that words joined by "and" or "or" name; None when one names nothing."""
        codes: list[str] = []
        whole = (self.read_outright(said) or self._read_phrase(said)) if said else None
        named = whole is not None and whole.how in NAMING
        parts = [said] if named else _parts(said, _JOINTS | _ALTERNATIVES)
        for part in parts:
            denied = part[0] in phrases.EXCLUDERS and not self.read_outright(part)
            meant = self._part(part[1:] if denied else part)
            if meant is None or meant.how not in NAMING:
                return None
            codes.extend(meant.codes)
        return tuple(dict.fromkeys(codes)) or None

    def _between(self, said: Words) -> Meaning | None:
        """`between 1 and 3`: one of them, but which?"""
        return self._either(said[said.index("between") + 1 :]) if "between" in said[:-3] else None

    def _alternatives(self, said: Words) -> Meaning | None:
        """`1 or 2`, `either the train or the car`."""
        return self._either(said) if len(_parts(said, _ALTERNATIVES)) > 1 else None

    def _either(self, said: Words) -> Meaning | None:
        codes = self._several(said)
        return options_of(codes, apart=True) if codes and len(codes) > 1 else None

    def _read_list(self, said: Words) -> Meaning | None:
        """`tests and docs`: every part names something, and one of them by its label."""
        parts = _parts(said, _JOINTS)
        if len(parts) < 2:
            return None
        meanings = [self._part(part) for part in parts]
        named = [m for m in meanings if m is not None and m.how in NAMING]
        if len(named) < len(parts) or not any(meant.firm for meant in named):
            return None
        codes = dict.fromkeys(code for meant in named for code in meant.codes)
        if any(meant.how == "either" for meant in named):
            return options_of(codes, apart=True)
        return Meaning("pick", tuple(codes), listed=True)

    def _read_remark(self, said: Words, starts: tuple[int, ...]) -> Meaning | None:
        """`roll back and tell support`: the first part names something, the rest is a remark."""
        for at, word in enumerate(said):
            if word not in _JOINTS or not at:
                continue
            meant = self._read_list(said[:at]) or self.one(said[:at])
            if meant is None or not meant.firm or meant.how not in NAMING:
                return None
            rest = said[at + 1 :]
            if len(rest) < 2 + self.question.multi or sets_condition(rest):
                return None
            if counts(rest[0]) or rest[0] in DETERMINERS:
                return None
            rest_meant = self._read_list(rest) or self.one(rest)
            if rest_meant is not None and rest_meant.how == "beyond":
                return rest_meant
            if rest_meant is None:
                others = self.lexicon.mentions(rest) - set(meant.codes)
                return None if others else meant._replace(tail=starts[at])
        return None

    def begins_a_list(self, said: Words) -> bool:
        """Whether words name an option and go on with "and"."""
        parts = _parts(said, _JOINTS)
        meant = self.one(parts[0]) if len(parts) > 1 else None
        return meant is not None and meant.firm and meant.how in NAMING


def _parts(said: Words, joints: frozenset[str]) -> list[Words]:
    return [tuple(part) for joint, part in groupby(said, joints.__contains__) if not joint]


def _cut_tail(said: Words) -> Words:
    """The words without what is said behind them to no effect: `merge it who cares`."""
    for long in (5, 4, 3, 2):
        if len(said) > long and said[-long:] in phrases.TAILS:
            return said[:-long]
    return said


def _at_a_loss(said: Words, at: int) -> bool:
    """`i don't understand the verdict` rules nothing out."""
    return said[at] == "dont" and said[at + 1 : at + 2] != () and said[at + 1] in _MINDING


Sense = Literal["yes", "no"]
POINTING = wordset("it this that is from me then please to with by for")
_LONGEST_SENSE = 5
_SENTENCE = r"[.!?:]\s"
_TAIL = 600
"""How much of a question's end is looked at."""
_HOW_OFTEN = wordset("always just only temporarily permanently conditional conditionally")
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
        if phrase in phrases.NO and (
            phrase[-1] not in phrases.EXCLUDERS or at + long == len(said) or long > 2
        ):
            return long, "no"
        if phrase in phrases.YES:
            return long, "yes"
    polite = said[at] in phrases.INTERJECTIONS or said[at] in POINTING
    return (1 if polite else 0), None


def sides(question: Question, sense: Sense) -> Words:
    """The options that a yes or a no stands for."""
    options = question.options
    found = [o for o in options if o.code.rpartition("/")[2].casefold() == sense]
    found = found or [o for o in options if _answers(o, question, sense)]
    plain = [o for o in found if not phrases.QUALIFIERS.intersection(words(o.label))]
    if all(words(o.label)[0] == sense for o in found if o.label):
        plain = found
    codes = tuple(o.code for o in (plain or found))
    if codes:
        return codes
    if sense == "yes":
        return _echo(question)
    yes = sides(question, "yes") if len(options) == 2 else ()
    return tuple(o.code for o in options if o.code not in yes) if len(yes) == 1 else ()


def _answers(option: Choice, question: Question, sense: Sense) -> bool:
    """Whether an option says yes or no to what was asked.

    Where it was asked what to do, only a label that is one word of sense does, or one that can
    answer anything: `yes` to that does not `Accept the risk`, nor does `no` `Cancel the account`.
    The same holds where nothing was asked that has an opposite.
    """
    if not _opens(option.label, phrases.AFFIRMING if sense == "yes" else phrases.REFUSING):
        return False
    asking = _find_asking(question.text)
    telling = [word for word in words(option.label) if word not in phrases.FUNCTION]
    if len(telling) < 2:
        return True
    if not asking:
        asked = {stem(word) for word in words(question.text[-_TAIL:])}
        echoed = any(stem(word) in asked for word in telling)
        opposite = phrases.REFUSING if sense == "yes" else phrases.AFFIRMING
        opposed = any(_opens(other.label, opposite) for other in question.options)
        return echoed or opposed or _opens(option.label, phrases.APPROVING)
    return asking in _HOW and _opens(option.label, phrases.APPROVING)


def _echo(question: Question) -> Words:
    """The options that say just what was asked: yes to `Send it?` is `Send it now`."""
    if _find_asking(question.text):
        return ()
    asked = _last(question.text)
    known = phrases.NEUTRAL | phrases.FUNCTION | {*asked}
    labels = ((option.code, words(option.label)) for option in question.options)
    return tuple(c for c, said in labels if asked[:1] == said[:1] and known.issuperset(said))


def _find_asking(text: str) -> str:
    """The word by which a question asks for more than yes or no, if there is one."""
    return next((word for word in _last(text)[:2] if word in _ASKING), "")


def _last(text: str) -> Words:
    """The words of a question's last sentence."""
    return words(re.split(_SENTENCE, text[-_TAIL:].rstrip(" ?\n"))[-1])


def _opens(label: str, known: frozenset[Words]) -> bool:
    """Whether a label opens with a yes or a no; `No button` is neither."""
    said = words(label)
    if said[1:] and said[0] in _HOW_OFTEN:
        said = said[1:]
    if said[:1] == ("no",) and words(label.partition(",")[0]) not in known:
        return False
    return opens(said, known)
