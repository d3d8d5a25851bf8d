"""A reply in plain text as a whole: what its clauses say together."""

from __future__ import annotations

import re
from itertools import dropwhile
from typing import TYPE_CHECKING

from quandary.model.asks import MORE, Reading
from quandary.model.tree import OTHER
from quandary.reading import HEAD, OWN, reading
from quandary.reading.clauses import (
    Clause,
    cut_hedge,
    follows_up,
    has_condition,
    is_chatter,
    is_hedge,
    is_question,
    limits,
    split,
)
from quandary.reading.meaning import NAMING, Interpreter, Meaning, options_of, read_sense, sides
from quandary.reading.numbers import cardinal
from quandary.reading.phrases import SAYINGS, WORDS
from quandary.reading.words import opens, words, wordset

if TYPE_CHECKING:
    from quandary.model.asks import Question

Words = tuple[str, ...]
# These are compiled when they are needed, which for most replies is never.
_NUMBER_SIGN = r"(?i)\b(?:no|nr)\.(?=\s*\d)"
_WITH = r"(?i)\bw/"
_MARKED = r"\[\s*(\w+)\s*\]|\b([A-Z][A-Z0-9]+)\b"
_LEADING = r"(?i)^(?:[\s,;:.!…()\[\]—–-]+|(?:and|but)\b\s*)+"
_SENSES = frozenset(("yes", "no"))
_REFUSALS = frozenset(("no", "nope", "nah", "naw"))
_HALTS = {("wait",), ("hold",), ("stop",)}
_PREPOSITIONS = wordset("as in with for on by to at via per until from")
_WHEN = wordset("asap today tonight tomorrow now soon first later monday friday urgent")
_ANNOUNCING = wordset("decision verdict conclusion final result opinion think vote pick choice do")


def read_sentences(text: str, question: Question) -> Reading:
    """What a plain-text reply means."""
    return _Sentences(text, question).read()


def find_veto(text: str, question: Question, code: str) -> str | None:
    """Why a text cannot mean an option, if so."""
    said = _Sentences(text, question)
    if "?" in said.head or any(is_question(clause.words) for clause in said.clauses):
        return "it asks something"
    if any(said.hinges(at, clause) for at, clause in enumerate(said.clauses)):
        return "it sets a condition"
    excluded = any(said.excludes(clause, code) for clause in said.clauses)
    return "it rules that option out" if excluded else None


def find_affirmed(said: Words, question: Question) -> Words | None:
    """What a yes stands for: one option, or all that it could mean; None where it is no yes."""
    meant = read_sense(said) if said else None
    if meant is None or meant.how != "yes":
        return None
    recommended = tuple(c.code for c in question.options if c.recommended)
    codes = sides(question, "yes") or (recommended if len(recommended) == 1 else ())
    every = tuple(c.code for c in question.choices if c.code != MORE)
    return codes or (every if len(every) > 1 else ())


class _Sentences:
    """A reply cut into clauses, and what each of them says."""

    def __init__(self, text: str, question: Question) -> None:
        self.text = text
        self.question = question
        self.head = text[:HEAD]
        marked = () if self.head.isupper() else re.findall(_MARKED, self.head)
        codes = frozenset((one or two).casefold() for one, two in marked)
        numbers = [word for word in words(self.head) if cardinal(word) is not None]
        self.interpreter = Interpreter(question, codes, lone=len(numbers) == 1)
        self.lexicon = self.interpreter.lexicon
        # The marks of `no. 2` and `w/` cut nothing.
        if "." in self.head:
            self.head = re.sub(_NUMBER_SIGN, "nr ", self.head)
        if "/" in self.head:
            self.head = re.sub(_WITH, "w ", self.head)
        self.clauses = split(self.head, self.lexicon.label_words, self.lexicon.joins)
        self.meanings: list[Meaning | None] = []

    def read(self) -> Reading:
        """What they say together."""
        if not self.clauses:
            return OWN
        asks = any(is_question(clause.words) for clause in self.clauses)
        outright = self._read_one() if len(self.clauses) == 1 and "?" not in self.head else None
        if outright:
            return self._reading([(0, outright)])
        if "?" in self.head or asks:
            return self._read_request() if asks else self._read_doubt()
        # `watch this: https://…`: what stands before an address speaks of that.
        pointed = "://" in self.head and re.search(r":\s*\w+://", self.head)
        if pointed or any(self.hinges(at, clause) for at, clause in enumerate(self.clauses)):
            return OWN
        self.clauses = self._keep_standing()
        self.meanings = [self.interpreter.clause(clause) for clause in self.clauses]
        if any(is_hedge(clause.words, self.lexicon) for clause in self.clauses):
            return self._read_hedges()
        return self._combine()

    def _read_one(self) -> Meaning | None:
        """What the only clause names in the very words of an option."""
        said = self.clauses[0].words
        if whole := self.lexicon.describe(said) or self.interpreter.names.match(said):
            return options_of(whole)
        phrase = self.lexicon.phrase(said) if len(said) > 2 else None
        return options_of(phrase.codes, firm=phrase.label) if phrase else None

    def hinges(self, at: int, clause: Clause) -> bool:
        """Whether the choice hangs on a condition; what somebody does later may hang on one."""
        said = clause.words
        if has_condition(said, self.lexicon):
            return not at or not follows_up(said) or bool(self.lexicon.mentions(said))
        if not at or not limits(said):
            return False
        sequel = said[0] == "then" and (self.question.multi or not self.lexicon.mentions(said))
        return not sequel and not (said[0] == "only" and self.interpreter.clause(clause))

    def excludes(self, clause: Clause, code: str) -> bool:
        """Whether a clause says "not" to an option, or drops it."""
        meant = self.interpreter.clause(clause)
        if meant is not None and meant.how in {"not", "drop"}:
            return code in meant.codes
        if meant is not None and meant.how in NAMING:
            return False
        said = clause.words
        no = next((at for at, word in enumerate(said) if word in WORDS.negators), len(said))
        return code in self.lexicon.mentions(said[no:])

    def _read_request(self) -> Reading:
        """`can we go with 2?` asks for an option politely; any other question is no choice."""
        said = tuple(dropwhile(WORDS.interjections.__contains__, self.clauses[0].words))
        if (
            len(self.clauses) > 1
            or WORDS.requests.isdisjoint(said[:1])
            or WORDS.requesters.isdisjoint(said[1:2])
            or WORDS.request_verbs.isdisjoint(said[2:4])
        ):
            return OWN
        meant = self.interpreter.name(said[2:])
        if meant is None or not meant.firm or meant.how not in NAMING:
            return OWN
        return self._settle(meant.codes, together=meant.listed and meant.how == "pick")

    def _read_doubt(self) -> Reading:
        """`1 or 2?` asks which of the two, and nothing else."""
        codes: list[str] = []
        if any("or" in clause.words for clause in self.clauses):
            for clause in self.clauses:
                meant = self.interpreter.clause(clause._replace(words=cut_hedge(clause.words)))
                if meant is None or meant.how not in NAMING or not meant.firm:
                    return OWN
                codes.extend(meant.codes)
        found = tuple(dict.fromkeys(codes))
        return self._settle(found) if len(found) > 1 else OWN

    def _read_hedges(self) -> Reading:
        """Undecided between options that were named, or just undecided."""
        codes: list[str] = []
        for clause, meant in zip(self.clauses, self.meanings, strict=True):
            named = meant
            if not named and is_hedge(clause.words, self.lexicon):
                named = self.interpreter.clause(clause._replace(words=cut_hedge(clause.words)))
            if named is not None and named.how in NAMING and named.firm:
                codes.extend(named.codes)
        found = tuple(code for code in dict.fromkeys(codes) if code not in {MORE, OTHER})
        return reading(found, self.question) if len(found) > 1 else OWN

    def _keep_standing(self) -> list[Clause]:
        """The clauses that still count after a second thought, without the reason for it.

        One that only leaves something out lets the rest stand: `tests and docs. actually no docs`.
        A reason is no choice: `2... no, too slow. 3`.
        """
        first = 0
        for at, clause in enumerate(self.clauses):
            said = clause.words
            leaves_out = said[0] in WORDS.excluders | WORDS.excepting and len(said) > 1
            leaves_out = leaves_out or bool(self.interpreter.read_drop(said))
            if clause.corrects and (not leaves_out or self.interpreter.names.match(said)):
                first = at
            elif (
                0 < at < len(self.clauses) - 1
                and said[-1] in _REFUSALS
                and WORDS.interjections.issuperset(said[:-1])
            ):  # a bare no between two choices, such as `lol no`
                first = at + 1
        last = len(self.clauses) - 1
        while 0 < first < last and _excuses(self.clauses[first].words):
            first += 1
        return self.clauses[first:]

    def _combine(self) -> Reading:
        """What the clauses say: those that name something, if the others are only remarks."""
        told = [(at, m) for at, m in enumerate(self.meanings) if m and m.how != "chatter"]
        naming = [(at, m) for at, m in told if m.how not in _SENSES] or told
        if not naming or self._wavers(*naming[0]) or self._says_more(*naming[0]):
            return OWN
        return self._reading(naming)

    def _wavers(self, first: int, meant: Meaning) -> bool:
        """Whether what was named is only liked, refused, or led to by something else."""
        clauses, meanings = self.clauses, self.meanings
        senses = {m.how for m in meanings if m} & _SENSES
        refused = any(m and m.how == "no" for m in meanings[first + 1 :])
        if (meant.how in senses and len(senses) > 1) or (refused and meant.how != "no"):
            return True
        before = zip(clauses[:first], meanings[:first], strict=True)
        lead = [c.words for c, m in before if m is None and not is_chatter(c.words)]
        if lead and clauses[first].announced and _announces(lead[-1]):
            lead.pop()
        if lead and (not _chooses(clauses[first].words) or any(map(limits, lead))):
            return True
        after = clauses[first + 1 :]
        liked = not WORDS.liking.isdisjoint(clauses[first].words)
        return liked and bool(after) and after[0].words[0] == "but"

    def _says_more(self, first: int, named: Meaning) -> bool:
        """Whether a remark is more than that: it speaks of other options, or goes on with a list.

        A word of a description, a bare `first` and a `wait` carry no remarks at all.
        """
        halts = self.clauses[first].words in _HALTS and not self.interpreter.names.match(
            self.clauses[first].words
        )
        for at, (clause, meant) in enumerate(zip(self.clauses, self.meanings, strict=True)):
            said = clause.words
            told = not {"is", "are"}.isdisjoint(said)
            other = meant is not None and {*meant.codes} - {*named.codes}
            if at > first and meant is not None and meant.how == "pick" and told and other:
                return True
            if meant is not None or is_chatter(said) or said[0] in WORDS.reasons:
                continue
            if not named.firm or halts:
                return True
            if at > first and named.how in NAMING:
                denied = not WORDS.negators.isdisjoint(said)
                if not denied and self.lexicon.names(said) - {*named.codes}:
                    return True
                if not WORDS.wrongs.isdisjoint(said):
                    return True
                brief = self.question.multi and len(said) < 3 and not _hurries(said)
                if clause.comma and (brief or self.interpreter.begins_a_list(said)):
                    return True
        return False

    def _reading(self, naming: list[tuple[int, Meaning]]) -> Reading:
        question = self.question
        dropping = naming[0][1].how == "drop" and not question.multi
        if dropping or any(m.how in {"beyond", "none"} for _, m in naming):
            return OWN
        how = naming[0][1].how
        if how in {"yes", "no"}:
            codes, together = sides(question, how), False
        else:
            codes, together = self._sum([m for _, m in naming])
        return self._settle(codes, together=together, comment=self._remark(naming))

    def _settle(
        self, codes: Words, *, together: bool = False, comment: str | None = None
    ) -> Reading:
        """The options as they were named; Other alone is left blank, and goes with nothing else."""
        if OTHER in codes:
            return Reading("blank") if len(codes) == 1 else OWN
        return reading(codes, self.question, together=together, comment=comment) if codes else OWN

    def _sum(self, meanings: list[Meaning]) -> tuple[Words, bool]:
        """The codes that are left, and whether they are meant together."""
        dropped = {code for m in meanings if m.how in {"not", "drop"} for code in m.codes}
        picked = [c for m in meanings if m.how == "pick" for c in m.codes if c not in dropped]
        either = [c for m in meanings if m.how == "either" for c in m.codes if c not in dropped]
        if either:
            both = tuple(code for code in either if code in picked)
            codes = both if len(both) == 1 and len(set(picked)) == 1 else (*picked, *either)
            return codes, len(set(either)) == 1 and self.question.multi
        rest = any(m.how == "rest" for m in meanings)
        every = dropped and any(m.codes == self.interpreter.every for m in meanings)
        if picked:
            return () if rest else tuple(picked), not every
        if any(m.how == "pick" for m in meanings) or (rest and not dropped):
            return (), False
        return tuple(code for code in self.interpreter.real if code not in dropped), False

    def _remark(self, run: list[tuple[int, Meaning]]) -> str | None:
        """What was said beside the choice."""
        (first, _), (at, last) = run[0], run[-1]
        clauses, text = self.clauses, self.text
        if last.tail is not None:
            return _trim(text[last.tail :])
        behind = clauses[at + 1 :]
        if any(not is_chatter(clause.words) for clause in behind) or len(text) > HEAD:
            return _trim(text[clauses[at].end :])
        start = clauses[first].starts[0]
        before = [clause for clause in clauses[:first] if not is_chatter(clause.words)]
        if before and before[0].starts[0] < start:
            return _trim(text[:start].rstrip(" ,;:-–—."))
        return None


def _announces(said: Words) -> bool:
    """Whether a choice may follow behind a colon: `my verdict: …`, `let's do it properly: …`."""
    if not WORDS.excluders.isdisjoint(said) or not WORDS.wrongs.isdisjoint(said):
        return False
    return _chooses(said) or not _ANNOUNCING.isdisjoint(said)


def _chooses(said: Words) -> bool:
    """Whether a clause opens as a choice does, such as "let's" or "so"."""
    return opens(said[1:] if said[0] == "and" else said, SAYINGS.choosers)


def _excuses(said: Words) -> bool:
    """`no time`, `too slow`, `because of the tests`: why not, rather than what."""
    return len(said) > 1 and (said[0] in WORDS.reasons or said[0] in {"no", "not", "too"})


def _hurries(said: Words) -> bool:
    """Whether words say when, how or why rather than what: `quickly`, `asap`, `no hurry`."""
    if said[0] in WORDS.reasons | WORDS.excluders | _PREPOSITIONS | {"but"}:
        return True
    return any(word in _WHEN or word.endswith("ly") for word in said)


def _trim(remark: str) -> str | None:
    return re.sub(_LEADING, "", remark).strip() or None


def opens_yes(said: Words) -> bool:
    """Whether words are a deed rather than a yes, where a label opens with them: `continue`."""
    return said in SAYINGS.deeds
