"""A reply in plain text as a whole: what its clauses say together."""

from __future__ import annotations

import re
from itertools import dropwhile
from typing import TYPE_CHECKING

from quandary.model.asks import MORE, Reading
from quandary.model.tree import OTHER
from quandary.reading import HEAD, OWN, phrases, reading
from quandary.reading.clauses import Clause, chats, complains, follows_up, sets_condition, split
from quandary.reading.meaning import Interpreter, read_sense, sides
from quandary.reading.names import NAMING, Meaning
from quandary.reading.words import opens, wordset

if TYPE_CHECKING:
    from quandary.model.asks import Question

Words = tuple[str, ...]
# These are compiled when they are needed, which for most replies is never.
_NUMBER_SIGN = r"(?i)\b(?:no|nr)\.(?=\s*\d)"
_WITH = r"(?i)\bw/"
_LEADING = r"(?i)^(?:[\s,;:.!…()\[\]—–-]+|(?:and|but)\b\s*)+"
_COPULAS = frozenset(("is", "are"))
"""In a second clause they tell of an option: `1 and 2; the cart is fine`."""
_HALTS = {("wait",), ("hold",), ("stop",)}
_THERE = frozenset(("the", "there", "it", "this", "that", "these", "those", "any"))
"""Behind a "were" that asks, unlike that of "we're on it"."""
_SENSES = frozenset(("yes", "no"))
_REFUSALS = frozenset(("no", "nope", "nah", "naw"))
_PREPOSITIONS = wordset("as in with for on by to at via per until from")
_WHEN = wordset("asap today tonight tomorrow now soon first later monday friday urgent")
_ANNOUNCING = wordset("decision verdict conclusion final result opinion think vote pick choice do")
_LONGEST_HEDGE = max(map(len, phrases.HEDGES))


def read_sentences(text: str, question: Question) -> Reading:
    """What a plain-text reply means."""
    return _Sentences(text, question).read()


def find_veto(text: str, question: Question, code: str) -> str | None:
    """Why a text cannot mean an option, if so."""
    said = _Sentences(text, question)
    if "?" in said.head or any(_asks(clause.words) for clause in said.clauses):
        return "it asks something"
    if any(said.sets_terms(at, clause) for at, clause in enumerate(said.clauses)):
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
        self.interpreter = Interpreter(question)
        self.lexicon = self.interpreter.lexicon
        self.head = text[:HEAD]
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
        outright = self._read_one() if len(self.clauses) == 1 and "?" not in self.head else None
        if outright:
            return self._reading([(0, outright)])
        if "?" in self.head or any(_asks(clause.words) for clause in self.clauses):
            return self._read_request()
        # `watch this: https://…`: what stands before an address speaks of that.
        pointed = "://" in self.head and re.search(r":\s*\w+://", self.head)
        if pointed or any(self._hinges(at, clause) for at, clause in enumerate(self.clauses)):
            return OWN
        self.clauses = self._keep_standing()
        self.meanings = [self.interpreter.clause(clause) for clause in self.clauses]
        own = self.lexicon.label_words
        if any(_hedges(clause.words, own) for clause in self.clauses):
            return self._read_hedges()
        return self._combine()

    def _read_one(self) -> Meaning | None:
        """What the only clause names without further ado."""
        said = self.clauses[0].words
        found = self.interpreter.verbatim(said) or self.interpreter.relative(said)
        if found is None and not _asks(said) and not self.interpreter.foreign(said):
            found = self.interpreter.read_outright(said)
        return found if found and found.how in NAMING else None

    def _hinges(self, at: int, clause: Clause) -> bool:
        """Whether the choice hangs on a condition; what somebody does later may hang on one."""
        said = clause.words
        answers = said[:2] == ("only", "when") and "when" in self.interpreter.asked
        if _find(phrases.PROVISOS, said) and not answers and not self.lexicon.verbatim(said):
            return True
        if not _has_condition(said, self.lexicon.label_words):
            return False
        return not at or not follows_up(said) or bool(self.lexicon.mentions(said))

    def sets_terms(self, at: int, clause: Clause) -> bool:
        """Whether a clause makes the choice depend on something."""
        return self._hinges(at, clause) or (bool(at) and self._conditions(clause, None))

    def excludes(self, clause: Clause, code: str) -> bool:
        """Whether a clause says "not" to an option, or drops it."""
        meant = self.interpreter.clause(clause)
        if meant is not None and meant.how in {"not", "drop"}:
            return code in meant.codes
        if meant is not None and meant.how in NAMING:
            return False
        said = clause.words
        no = next((at for at, word in enumerate(said) if word in phrases.NEGATORS), len(said))
        return code in self.lexicon.mentions(said[no:])

    def _read_request(self) -> Reading:
        """`can we go with 2?` asks for an option politely; any other question is no choice."""
        if not any(_asks(clause.words) for clause in self.clauses):
            return self._read_doubt()
        said = tuple(dropwhile(phrases.INTERJECTIONS.__contains__, self.clauses[0].words))
        if (
            len(self.clauses) > 1
            or phrases.REQUESTS.isdisjoint(said[:1])
            or phrases.REQUESTERS.isdisjoint(said[1:2])
            or phrases.REQUEST_VERBS.isdisjoint(said[2:4])
        ):
            return OWN
        meant = self.interpreter.one(said[2:])
        if meant is None or not meant.firm or meant.how not in NAMING:
            return OWN
        return self._settle(meant.codes, together=meant.listed and meant.how == "pick")

    def _read_doubt(self) -> Reading:
        """`1 or 2?` asks which of the two, and nothing else."""
        codes: list[str] = []
        if any("or" in clause.words for clause in self.clauses):
            for clause in self.clauses:
                meant = self.interpreter.clause(clause._replace(words=_cut_hedge(clause.words)))
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
            if not named and _hedges(clause.words, self.lexicon.label_words):
                named = self.interpreter.clause(clause._replace(words=_cut_hedge(clause.words)))
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
            leaves_out = said[0] in phrases.EXCLUDERS | phrases.EXCEPT and len(said) > 1
            leaves_out = leaves_out or bool(self.interpreter.read_drop(said))
            if clause.corrects and (not leaves_out or self.interpreter.names.match(said)):
                first = at
            elif (
                0 < at < len(self.clauses) - 1
                and said[-1] in _REFUSALS
                and phrases.INTERJECTIONS.issuperset(said[:-1])
            ):  # a bare no between two choices, such as `lol no`
                first = at + 1
        last = len(self.clauses) - 1
        while 0 < first < last and _excuses(self.clauses[first].words):
            first += 1
        return self.clauses[first:]

    def _combine(self) -> Reading:
        """What the clauses say: the first that names something, and those that go with it."""
        told = [(at, m) for at, m in enumerate(self.meanings) if m and m.how != "chatter"]
        naming = [(at, m) for at, m in told if m.how not in _SENSES] or told
        naming = [
            (at, m)
            for at, m in naming
            if at == naming[0][0] or m.how != "pick" or _COPULAS.isdisjoint(self.clauses[at].words)
        ]
        if not naming:
            return OWN
        first, meant = naming[0]
        if self._wavers(first, meant) or self._doubts(first, meant) or self._lists_more(first):
            return OWN
        return self._reading(naming)

    def _wavers(self, first: int, meant: Meaning) -> bool:
        """Whether what was named is only liked, comes under a condition, or is beside the point."""
        clauses, meanings = self.clauses, self.meanings
        senses = {m.how for m in meanings if m} & _SENSES
        refused = any(m and m.how == "no" for m in meanings[first + 1 :])
        if (meant.how in senses and len(senses) > 1) or (refused and meant.how != "no"):
            return True
        if any(map(self._conditions, clauses[1:], meanings[1:])):
            return True
        behind = zip(clauses[first:], meanings[first:], strict=True)
        wrong = any(complains(clause.words) for clause, m in behind if m is None)
        if wrong and not _COPULAS.isdisjoint(clauses[first].words):
            return True
        before = zip(clauses[:first], meanings[:first], strict=True)
        lead = [c.words for c, m in before if m is None and not chats(c.words)]
        if lead and clauses[first].announced and _announces(lead[-1]):
            lead.pop()
        if lead and (not _chooses(clauses[first].words) or any(map(sets_condition, lead))):
            return True
        after = clauses[first + 1 :]
        liked = not phrases.LIKING.isdisjoint(clauses[first].words)
        return liked and bool(after) and after[0].words[0] == "but"

    def _conditions(self, clause: Clause, meant: Meaning | None) -> bool:
        """Whether a further clause is a condition, rather than the next thing or a limit."""
        said = clause.words
        if not sets_condition(said) or (said[0] == "then" and not self.lexicon.mentions(said)):
            return False
        if meant and said[0] == "then" and self.question.multi:
            return False
        return not (meant and meant.firm and "only" in said[:2])

    def _lists_more(self, first: int) -> bool:
        """Whether a list ends with something that is no option: `docs, tests and the changelog`."""
        behind = zip(self.clauses[first + 1 :], self.meanings[first + 1 :], strict=True)
        for clause, meant in behind:
            said = clause.words
            if meant is not None or not clause.comma or chats(said):
                continue
            brief = self.question.multi and len(said) < 3 and not _hurries(said)
            if brief or self.interpreter.begins_a_list(said):
                return True
        return False

    def _doubts(self, first: int, named: Meaning) -> bool:
        """Whether more is said than a word of a description, or a bare `first`, can carry.

        `First, …` counts what is to be done more often than options, and `Wait, …` stops somebody.
        """
        said = self.clauses[first].words
        halts = said in _HALTS and not self.interpreter.names.match(said)
        return (not named.firm or halts) and any(
            meant is None and not chats(clause.words) and clause.words[0] not in phrases.REASONS
            for at, (clause, meant) in enumerate(zip(self.clauses, self.meanings, strict=True))
            if at != first
        )

    def _reading(self, naming: list[tuple[int, Meaning]]) -> Reading:
        question = self.question
        dropping = naming[0][1].how == "drop" and not question.multi
        if dropping or any(m.how in {"beyond", "none"} for _, m in naming):
            return OWN
        # Those that stand together count; a firm one further on still counts against them.
        run = naming[:1]
        for at, meant in naming[1:]:
            adjoining = at == run[-1][0] + 1 and run[-1][1].tail is None
            if adjoining or (meant.firm and meant.how in {"pick", "not", "drop"}):
                run.append((at, meant))
        how = run[0][1].how
        if how in {"yes", "no"}:
            codes, together = sides(question, how), False
        else:
            codes, together = self._sum([m for _, m in run])
        return self._settle(codes, together=together, comment=self._remark(run))

    def _settle(
        self, codes: Words, *, together: bool = False, comment: str | None = None
    ) -> Reading:
        """The options as they were named; Other alone is left blank, and goes with nothing else."""
        if OTHER in codes:
            return Reading("blank") if len(codes) == 1 else OWN
        if not codes:
            return OWN
        return reading(codes, self.question, together=together, comment=comment)

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
        if picked:
            return () if rest else tuple(picked), True
        if any(m.how == "pick" for m in meanings) or (rest and not dropped):
            return (), False
        return tuple(code for code in self.interpreter.real if code not in dropped), rest

    def _remark(self, run: list[tuple[int, Meaning]]) -> str | None:
        """What was said beside the choice."""
        (first, _), (at, last) = run[0], run[-1]
        clauses, text = self.clauses, self.text
        if last.tail is not None:
            return _trim(text[last.tail :])
        behind = clauses[at + 1 :]
        if any(not chats(clause.words) for clause in behind) or len(text) > HEAD:
            return _trim(text[clauses[at].end :])
        start = clauses[first].starts[0]
        before = [clause for clause in clauses[:first] if not chats(clause.words)]
        if before and before[0].starts[0] < start:
            return _trim(text[:start].rstrip(" ,;:-–—."))
        return None


def _has_condition(said: Words, own: frozenset[str]) -> bool:
    """Whether a clause has a condition that is no option's own: `2 if it is green`."""
    for at in range(len(said)):
        if said[at] in {"if", "unless"} - own and said[max(at - 1, 0)] not in {"as", "even"}:
            return not opens(said[at:], phrases.POLITE_IFS)
    return False


def _announces(said: Words) -> bool:
    """Whether a choice may follow behind a colon: `my verdict: …`, `let's do it properly: …`."""
    if not phrases.EXCLUDERS.isdisjoint(said) or not phrases.WRONGS.isdisjoint(said):
        return False
    return _chooses(said) or not _ANNOUNCING.isdisjoint(said)


def _chooses(said: Words) -> bool:
    """Whether a clause opens as a choice does, such as "let's" or "so"."""
    return opens(said[1:] if said[0] == "and" else said, phrases.CHOOSERS)


def _excuses(said: Words) -> bool:
    """`no time`, `too slow`, `because of the tests`: why not, rather than what."""
    return len(said) > 1 and (said[0] in phrases.REASONS or said[0] in {"no", "not", "too"})


def _hurries(said: Words) -> bool:
    """Whether words say when, how or why rather than what: `quickly`, `asap`, `no hurry`."""
    if said[0] in phrases.REASONS | phrases.EXCLUDERS | _PREPOSITIONS | {"but"}:
        return True
    return any(word in _WHEN or word.endswith("ly") for word in said)


def _asks(said: Words) -> bool:
    while len(said) > 1 and said[0] in phrases.INTERJECTIONS | {"but", "and", "just"}:
        said = said[1:]
    if said in phrases.YES or said in phrases.HEDGES:
        return False
    if len(said) == 2 and said[-1] in {"what", "why", "huh"}:
        return True
    if said[0] == "were" and len(said) > 1 and said[1] not in phrases.SUBJECTS | _THERE:
        return False
    if said[0] in phrases.ASKING_BEFORE_A_VERB:
        return len(said) == 1 or said[1] in phrases.VERBS
    if said[0] in phrases.ASKING or (
        said[0] in phrases.ASKING_ANYTHING and len(said) > 1 and said[1] != "be"
    ):
        return True
    return len(said) > 2 and said[0] in phrases.ASKING_WITH_SUBJECT and said[1] in phrases.SUBJECTS


def _hedges(said: Words, own: frozenset[str]) -> bool:
    """Whether the person says that they do not know, or do not mind."""
    said = said[1:] if said[0] == "only" else said
    # What others do not know or mind is no hedge: `users don't mind`.
    first = said.index("dont") if "dont" in said else 0
    others = first and said[first - 1] not in phrases.NEUTRAL | phrases.FUNCTION | own
    return _find(phrases.HEDGES, said[:first] if others else said) is not None


def _find(known: frozenset[Words], said: Words) -> slice | None:
    """Where the longest of the phrases stands that are among the words."""
    spans = (
        slice(at, at + long)
        for long in range(_LONGEST_HEDGE, 0, -1)
        for at in range(len(said) - long + 1)
    )
    return next((span for span in spans if said[span] in known), None)


def _cut_hedge(said: Words) -> Words:
    """The words without the hedge among them."""
    hedge = _find(phrases.HEDGES, said) or slice(0, 0)
    return (*said[: hedge.start], *said[hedge.stop :]) or said


def _trim(remark: str) -> str | None:
    return re.sub(_LEADING, "", remark).strip() or None
