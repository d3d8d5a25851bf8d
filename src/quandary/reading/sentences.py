"""A reply in plain text as a whole: what its clauses say together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from quandary.model.asks import Reading
from quandary.model.tree import OTHER
from quandary.reading import GO, HEAD, OWN, names_of, read_above, read_name, reading
from quandary.reading.actions import read_action
from quandary.reading.clauses import (
    Clause,
    find,
    follows_up,
    has_condition,
    is_chatter,
    is_question,
    limits,
    split,
)
from quandary.reading.meaning import (
    NAMING,
    Interpreter,
    Meaning,
    find_affirmed,
    options_of,
    sides,
)
from quandary.reading.numbers import cardinal
from quandary.reading.phrases import SAYINGS, WORDS
from quandary.reading.words import opens, words

if TYPE_CHECKING:
    from quandary.model.asks import Question
    from quandary.reading import Mode

Words = tuple[str, ...]
# These are compiled when they are needed, which for most replies is never.
_NUMBER_SIGN = r"(?i)\b(?:no|nr)\.(?=\s*\d)"
_MARKED = r"\[\s*(\w+)\s*\]|\b([A-Z][A-Z0-9]+)\b"
_LEADING = r"(?i)^(?:[\s,;:.!…()\[\]—–-]+|(?:and|but)\b\s*)+"
_REMARK = (
    r"(?is)(?P<pick>.{1,80}?)(?P<joint>\s*[,;.—–-]+\s+|\s+)(?:but|and|also|please|though|because|since)\b[\s,]*"
    r"(?P<remark>(?!(?:if|unless|only|not|then)\b)\S.*)"
)
_WAITING = r"(?i)(?:i|i'm|i'd|we|let|wait|hold|maybe|perhaps|first|can|could|should|would)\b"
_LONGEST_YES = 40


def read_words(bare: str, question: Question, mode: Mode) -> Reading | None:
    """What a reply says that names no option outright, if anything."""
    if question.gathered and words(bare) in SAYINGS.ended:
        return reading(question.gathered, question, together=True)
    if action := read_action(bare, question):
        return action
    alone = len(bare) <= _LONGEST_YES and not bare.endswith("?")
    affirmed = find_affirmed(words(bare), question) if alone else None
    if affirmed is not None:
        return reading(affirmed, question) if affirmed else None
    return (
        (_read_loosely if mode == "plain" else _read_strictly)(bare, question)
        or _read_remark(bare, question, mode)
        or read_above(bare, question, whole=False)
    )


def _read_strictly(bare: str, question: Question) -> Reading | None:
    """The beginning of a label in whole words, or a whole label with a slip."""
    known = names_of(question)
    found = len(bare) <= HEAD and (known.beginning(words(bare)) or known.find_mistyped(bare))
    return reading(found, question) if found else None


def _read_loosely(bare: str, question: Question) -> Reading | None:
    """Whatever the words say, where it is more than the person's own words.

    Where it has to be outright, they say what an option does, or its place.
    """
    found = Sentences(bare, question).read()
    outright = {*question.outright} & {*found.codes} if found.kind == "pick" else set()
    labels = [words(choice.label) for choice in question.every if choice.code in outright]
    said = {word for word in words(bare) if not word.isdigit()} if labels else set[str]()
    # `Go back` is told by its second word, which `Go ahead` has not.
    told = said <= WORDS.locating or all(label[label[:1] == GO] in said for label in labels)
    return found if found.kind != "own-words" and told else None


def _read_remark(bare: str, question: Question, mode: Mode) -> Reading | None:
    """A code or whole label with a remark behind it: "OK, but rename it".

    What limits the choice, or names another option, is more than a remark.
    """
    found = re.match(_REMARK, bare) if len(bare) <= HEAD and "?" not in bare else None
    if not found or re.match(_WAITING, said := found["remark"]):
        return None
    pick = read_name(found["pick"], question, mode)
    listing = question.multi and not found["joint"].strip()
    if not pick or pick.kind != "pick" or listing:
        return None
    more = Sentences(f"but {said}", question).says_more_than(pick.codes)
    return None if more else replace(pick, comment=said)


class Sentences:
    """A reply cut into clauses, and what each of them says."""

    def __init__(self, text: str, question: Question) -> None:
        self.text = text
        self.question = question
        head = text[:HEAD]
        marked = () if head.isupper() else re.findall(_MARKED, head)
        codes = frozenset((one or two).casefold() for one, two in marked)
        numbers = [word for word in words(head) if cardinal(word) is not None]
        self.interpreter = Interpreter(question, codes, lone=len(numbers) == 1)
        self.lexicon = self.interpreter.lexicon
        self.head = re.sub(_NUMBER_SIGN, "nr ", head)  # a full stop that cuts nothing
        self.clauses = split(self.head, self.lexicon.label_words, self.lexicon.joins)
        self.meanings: list[Meaning | None] = []

    def read(self) -> Reading:
        """What they say together."""
        asking = any(is_question(clause.words) for clause in self.clauses)
        outright = self._read_one() if len(self.clauses) == 1 and "?" not in self.head else None
        if outright:
            return self._sum([(0, outright)])
        if asking or not self.clauses:
            return OWN
        hedging = any(find(SAYINGS.hedges, clause.words) for clause in self.clauses)
        if "?" not in self.head:
            if any(self.hinges(at, clause) for at, clause in enumerate(self.clauses)):
                return OWN
            self.clauses = self._keep_standing()
        return self._read_doubt() if hedging or "?" in self.head else self._combine()

    def says_more_than(self, codes: Words) -> bool:
        """Whether this is more than a remark on a choice of these."""
        for clause in self.clauses:
            said = clause.words
            if limits(said) or is_question(said) or self.lexicon.names(said) - {*codes}:
                return True
        return self.read().kind != "own-words"

    def _read_one(self) -> Meaning | None:
        """What the only clause names in the very words of an option."""
        said = self.clauses[0].words
        if whole := self.interpreter.names.match(said):
            return options_of(whole)
        long = len(said) > 2 or (len(said) > 1 and said[0] in WORDS.leading)
        phrase = self.lexicon.phrase(said) if long else None
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

    def find_veto(self, code: str) -> str | None:
        """Why the text cannot mean an option, if so."""
        if "?" in self.head or any(is_question(clause.words) for clause in self.clauses):
            return "it asks something"
        if any(self.hinges(at, clause) for at, clause in enumerate(self.clauses)):
            return "it sets a condition"
        excluded = any(self._excludes(clause, code) for clause in self.clauses)
        return "it rules that option out" if excluded else None

    def _excludes(self, clause: Clause, code: str) -> bool:
        """Whether a clause says "not" to an option, or drops it."""
        meant = self.interpreter.clause(clause)
        if meant is not None and meant.how in {"not", "drop", "pick", "either"}:
            return meant.how not in NAMING and code in meant.codes
        said = clause.words
        no = next((at for at, word in enumerate(said) if word in WORDS.negators), len(said))
        return code in self.lexicon.mentions(said[no:])

    def _read_doubt(self) -> Reading:
        """Undecided between options that were named, or just undecided; `1 or 2?` says no more."""
        codes: list[str] = []
        for clause in self.clauses:
            hedge = find(SAYINGS.hedges, said := clause.words) or slice(0, 0)
            cut = clause._replace(words=(*said[: hedge.start], *said[hedge.stop :]) or said)
            meant = self.interpreter.clause(clause) or self.interpreter.clause(cut)
            if meant is not None and meant.how in NAMING and meant.firm:
                codes.extend(meant.codes)
            elif "?" in self.head:
                return OWN
        found = tuple(dict.fromkeys(codes))
        asked = "?" in self.head and not any("or" in clause.words for clause in self.clauses)
        return self._settle(found) if len(found) > 1 and not asked else OWN

    def _keep_standing(self) -> list[Clause]:
        """The clauses that still count after a second thought, without the reason for it.

        One that only leaves something out lets the rest stand: `tests and docs. actually no docs`.
        A reason is no choice: `2... no, too slow. 3`.
        """
        first = 0
        for at, clause in enumerate(self.clauses):
            said = clause.words
            drops = said[0] in WORDS.excluders | WORDS.excepting and len(said) > 1
            drops = drops or bool(self.interpreter.read_drop(said))
            bald = said[-1] in WORDS.bare_no and WORDS.interjections.issuperset(said[:-1])
            if clause.corrects and (not drops or self.interpreter.names.match(said)):
                first = at
            elif bald and 0 < at < len(self.clauses) - 1:  # between two choices, such as `lol no`
                first = at + 1
        return self.clauses[first:]

    def _combine(self) -> Reading:
        """What the clauses say: those that name something, if the others are only remarks."""
        self.meanings = [self.interpreter.clause(clause) for clause in self.clauses]
        told = [(at, m) for at, m in enumerate(self.meanings) if m and m.how != "chatter"]
        naming = [(at, m) for at, m in told if m.how not in WORDS.senses] or told
        if not naming:
            return OWN
        first, meant = naming[0]
        senses = {m.how for m in self.meanings if m} & WORDS.senses
        refused = any(m and m.how == "no" for m in self.meanings[first + 1 :])
        if (meant.how in senses and len(senses) > 1) or (refused and meant.how != "no"):
            return OWN
        if any(self._says_more(at, first, meant) for at in range(len(self.clauses))):
            return OWN
        return self._sum(naming)

    def _says_more(self, at: int, first: int, named: Meaning) -> bool:
        """Whether a clause is more than a remark: it speaks of other options, or lists more.

        What stands before a choice makes it one of several thoughts, unless the choice is opened as
        such. A word of a description, a bare `first` and a `wait` carry no remarks at all.
        """
        clause, meant, choice = self.clauses[at], self.meanings[at], self.clauses[first]
        said = clause.words
        if meant is not None:
            other = meant.how == "pick" and not {*meant.codes} <= {*named.codes}
            return at > first and other and not {"is", "are"}.isdisjoint(said)
        if is_chatter(said) or (said[0] in WORDS.reasons and at > first):
            return False
        halts = choice.words in SAYINGS.halts and not self.interpreter.names.match(choice.words)
        told = not {"is", "are"}.isdisjoint(choice.words)
        wrong = told and not WORDS.wrongs.isdisjoint(said)
        liked = said[0] == "but" and not WORDS.liking.isdisjoint(choice.words)
        if not named.firm or halts or wrong or liked:
            return True
        if at < first:
            announced = choice.mark == ":" and not WORDS.announcing.isdisjoint(said)
            return limits(said) or not (announced or _chooses(choice.words))
        if named.how not in NAMING:
            return False
        brief = self.question.multi and len(said) < 3 and said[0] not in WORDS.asides
        listing = clause.mark == "," and brief
        spoken_of = self.lexicon.mentions if "and" in said else self.lexicon.names
        affirmed = WORDS.negators.isdisjoint(said)
        return listing or (affirmed and not spoken_of(said) <= {*named.codes})

    def _settle(
        self, codes: Words, *, together: bool = False, comment: str | None = None
    ) -> Reading:
        """The options as they were named; Other alone is left blank, and goes with nothing else."""
        if OTHER in codes:
            return Reading("blank") if len(codes) == 1 else OWN
        return reading(codes, self.question, together=together, comment=comment) if codes else OWN

    def _sum(self, naming: list[tuple[int, Meaning]]) -> Reading:
        """The options that are left of those that were named, and what was said beside them."""
        meanings = [meant for _, meant in naming]
        how, comment = meanings[0].how, self._find_remark(naming)
        if any(m.how in {"beyond", "none"} for m in meanings):
            return OWN
        if how in {"yes", "no"}:
            return self._settle(sides(self.question, how), comment=comment)
        dropped = {code for m in meanings if m.how in {"not", "drop"} for code in m.codes}
        picked = [c for m in meanings if m.how == "pick" for c in m.codes if c not in dropped]
        either = [c for m in meanings if m.how == "either" for c in m.codes if c not in dropped]
        rest = any(m.how == "rest" for m in meanings)
        if (rest and (picked or not dropped)) or (how == "drop" and not self.question.multi):
            return OWN
        if either:
            both = {*either} & {*picked}
            codes = tuple(both) if len(both) == len({*picked}) == 1 else (*picked, *either)
            return self._settle(codes, together=len({*either}) == 1, comment=comment)
        if picked:
            every = dropped and any(m.codes == self.interpreter.every for m in meanings)
            return self._settle(tuple(picked), together=not every, comment=comment)
        left = (code for code in self.interpreter.real if code not in dropped)
        gone = any(m.how == "pick" for m in meanings)
        return self._settle(() if gone else tuple(left), comment=comment)

    def _find_remark(self, naming: list[tuple[int, Meaning]]) -> str | None:
        """What was said beside the choice."""
        first, at = naming[0][0], naming[-1][0]
        clauses, text = self.clauses, self.text
        if len(text) > HEAD or not all(is_chatter(clause.words) for clause in clauses[at + 1 :]):
            remark = text[clauses[at].end :]
        else:
            before = any(not is_chatter(clause.words) for clause in clauses[:first])
            remark = text[: clauses[first].start].rstrip(" ,;:-–—.") if before else ""
        return re.sub(_LEADING, "", remark).strip() or None


def _chooses(said: Words) -> bool:
    """Whether a clause opens as a choice does, such as "let's" or "so"."""
    return opens(said[1:] if said[0] == "and" else said, SAYINGS.choosers)
