"""A reply in plain text as a whole: how it is cut into clauses, and what they say together."""

from __future__ import annotations

import re
from itertools import dropwhile
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from quandary.reading import HEAD, OWN, names_of, option_names, read_name, reading, spans, words
from quandary.reading.lexicon import WHOLE, Lexicon, stem
from quandary.reading.meaning import NAMING, Interpreter, Meaning, find_affirmed, options_of, sides
from quandary.reading.phrases import CUT, FILLERS, SAYINGS, SHORT, WORDS, cardinal, edges, opens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.model.asks import Choice, Question, Reading
    from quandary.reading import Mode, Span, Words

_LEADING = r"(?i)^(?:[\s,;:.!…()\[\]—–-]+|(?:and|but)\b\s*)+"
_REMARK = (
    r"(?is)(?P<pick>.{1,80}?)(?P<joint>\s*[,;.—–-]+\s+|\s+)"
    r"(?P<turn>but|and|also|please|though|because|since)\b[\s,]*"
    r"(?P<remark>(?!(?:if|unless|only|not|then)\b)\S.*)"
)
_WAITING = r"(?i)(?:i|i'm|i'd|we|let|wait|hold|maybe|perhaps|first|can|could|should|would)\b"
_BREAK = r"[;!?…\n()\[\]{}—:]|\.\.|--|\s[-–~]|[-–]\s|\.\s|[\u2600-\u27bf\U0001f000-\U0001faff]"
_MARKS = frozenset(".,:")
_AROUND = r"(?i)^option\s+|\((?:not )?recommended[^)]*\)|[\s,]*\b(?:please|pls|plz|thanks)\W*$"
_HALT = r"(?i)\s+-+\s+|[,;:.!(–—]+(?!\d)|\s(?=because\b|since\b)"
_LONGEST = max(map(len, SAYINGS.hedges | SAYINGS.corrections))


def read_words(bare: str, question: Question, mode: Mode) -> Reading | None:
    """What a reply says that names no option outright, if anything."""
    if question.gathered and words(bare) in SAYINGS.ended:
        return replace(OWN, kind="pick", codes=question.gathered, matched=bare)
    if action := read_action(bare, question):
        return action
    alone = len(bare) <= 40 and not bare.endswith("?")
    if alone and (affirmed := find_affirmed(bare, question)) is not None:
        return reading(affirmed, question)
    known, plain = names_of(question), mode == "plain"
    found = () if plain else known.beginning(words(bare))
    found = found or (known.find_mistyped(bare) if question.outright or not plain else ())
    named = reading(found, question) if found and len(bare) <= HEAD else None
    return named or (plain and _read_loosely(bare, question)) or _read_remark(bare, question, mode)


def _read_loosely(bare: str, question: Question) -> Reading | None:
    """Whatever the words say; where it has to be outright, what an option does, or its place."""
    found = Sentences(bare, question).read()
    outright = {*question.outright} & {*found.codes} if len(found.codes) == 1 else set()
    labels = [words(choice.label) for choice in question.every if choice.code in outright]
    said = {word for word in words(bare) if not word.isdigit()} if labels else set[str]()
    # `Go back` is told by its second word, which `Go ahead` has not.
    told = said <= WORDS.locating or all(label[label[:1] == ("go",)] in said for label in labels)
    return found if found.kind != "own-words" and told else None


def _read_remark(bare: str, question: Question, mode: Mode) -> Reading | None:
    """A code or whole label with a remark behind it that limits nothing: "OK, but rename it"."""
    found = re.match(_REMARK, bare) if len(bare) <= HEAD and "?" not in bare else None
    if not found or re.match(_WAITING, said := found["remark"]):
        return None
    pick = read_name(found["pick"], question, mode)
    task = found["turn"] == "and" and {*words(said)[:1]} & WORDS.requests  # `2 and add a test`
    if task and not pick and mode == "plain":
        pick = _read_loosely(found["pick"], question)
    # Without a comma, one more word is as likely one more thing to do: `save and close`.
    brief = question.multi or len(words(said)) == 1
    alone = brief or not WORDS.quantifiers.isdisjoint(words(found["pick"]))  # `all but x`
    if not pick or pick.kind != "pick" or (alone and not found["joint"].strip()):
        return None
    turn = "but" if found["turn"].casefold() == "but" else "but please"
    more = Sentences(f"{turn} {said}", question).says_more_than(pick.codes)
    more = more or (question.multi and is_member(words(f"{found['turn']} {said}"), ","))
    return None if more else replace(pick, comment=said)


class Sentences:
    """A reply cut into clauses, and what each of them says."""

    def __init__(self, text: str, question: Question) -> None:
        self.text, self.question, head = text, question, text[:HEAD]
        self.interpreter = Interpreter(question, head)
        self.lexicon = self.interpreter.lexicon
        self.head = re.sub(r"(?i)\b(?:no|nr)\.(?=\s*\d)", "nr ", head)  # it cuts nothing
        self.clauses = split(self.head, self.lexicon.label_words, self.lexicon.joins)
        self.asks = any(is_question(clause.words) for clause in self.clauses)
        self.meanings: list[Meaning | None] = []

    def read(self) -> Reading:
        """What they say together."""
        wondering = "?" in self.head
        if len(self.clauses) == 1 and not wondering:  # in the very words of an option?
            said = self.clauses[0].words
            long = len(said) > 2 or (len(said) > 1 and said[0] in WORDS.leading)
            phrase = self.lexicon.phrase(said) if long else None
            if phrase and (phrase.evidence or said[0] not in WORDS.denying):
                return self._sum([(0, options_of(phrase.codes, phrase.evidence))])
        if self.asks or not self.clauses or (not wondering and self.hinges()):
            return OWN
        hedging = any(find(SAYINGS.hedges, clause.words) for clause in self.clauses)
        self.clauses = self.clauses if wondering else self._keep_standing()
        return self._read_doubt() if hedging or wondering else self._combine()

    def says_more_than(self, codes: Words) -> bool:
        """Whether this is more than a remark on a choice of these."""
        said = [clause.words for clause in self.clauses]
        other = any(limits(one) or self.lexicon.speaks_of(one, codes) for one in said)
        turned = any(c.corrects or opens(c.words, SAYINGS.adding) for c in self.clauses)
        meant = [m for one in said if (m := self.interpreter.clause(one))]
        turned = turned or any(m.how not in NAMING | {"yes", "chatter"} for m in meant)
        more = other or turned or said[-1][-1] == "too" or self.asks or self.hinges()
        return more or not {*self.read().codes} <= {*codes}

    def hinges(self) -> bool:
        """Whether the choice hangs on a condition; what somebody does later may hang on one."""
        return any(self._hinges_on(clause.words, at) for at, clause in enumerate(self.clauses))

    def _hinges_on(self, said: Words, at: int) -> bool:
        if (hanging := has_condition(said, self.lexicon)) or not at or not limits(said):
            return hanging
        sequel = said[0] == "then" and (self.question.multi or not self.lexicon.mentions(said))
        opposed = said[0] == "but" and self.clauses[at - 1].words[0] == "not"  # `not this but that`
        limited = said[0] in {"only", "so"} or opposed  # `so only the critical one`
        return not sequel and not (limited and self.interpreter.clause(said))

    def find_veto(self, code: str) -> str | None:
        """Why the text cannot mean an option: ruled out, made to depend, or asked about."""
        if {*"?？؟"} & {*self.head} or self.asks:
            return "it asks something"
        if self.hinges():
            return "it sets a condition"
        excluded = any(self._excludes(clause, code) for clause in self.clauses)
        return "it rules that option out" if excluded else None

    def _excludes(self, clause: Clause, code: str) -> bool:
        """Whether a clause says "not" to an option, or drops it."""
        meant = self.interpreter.clause(said := clause.words)
        if meant is not None and meant.how in {"not", "drop", "pick", "either"}:
            return meant.how in {"not", "drop"} and code in meant.codes
        no = next((at for at, word in enumerate(said) if word in WORDS.negators), len(said))
        return code in self.lexicon.mentions(said[no:])

    def _read_doubt(self) -> Reading:
        """Undecided between options that were named, or just undecided; `1 or 2?` says no more."""
        codes: list[str] = []
        for clause in self.clauses:
            hedge = find(SAYINGS.hedges, said := clause.words) or slice(0, 0)
            cut = (*said[: hedge.start], *said[hedge.stop :]) or said
            meant = self.interpreter.clause(said) or self.interpreter.clause(cut)
            if meant is not None and meant.how in NAMING and meant.evidence:
                codes.extend(meant.codes)
        return reading(tuple(codes), self.question) if len({*codes}) > 1 else OWN

    def _keep_standing(self) -> list[Clause]:
        """The clauses that count after a second thought, all where it only leaves something out."""
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
        self.meanings = [self.interpreter.clause(clause.words) for clause in self.clauses]
        told = [(at, m) for at, m in enumerate(self.meanings) if m and m.how != "chatter"]
        naming = [(at, m) for at, m in told if m.how not in WORDS.senses] or told
        more = not naming or any(self._says_more(at, *naming[0]) for at in range(len(self.clauses)))
        # A yes or no beside its opposite is neither: `nope, all good`, `no, merge`.
        senses = {m.how for _, m in told if m.how in WORDS.senses}
        said = [clause.words for clause in self.clauses]
        agreeing = {said[0][0], said[-1][-1]} & {"yes", "yep", "yup", "yeah"}
        senses |= {"yes"} if agreeing or any(opens(one, SAYINGS.going) for one in said) else set()
        opposed = sides(self.question, "yes" if "no" in senses else "no") if senses else ()
        before = [at for at, m in naming[:1] if m.how in NAMING]
        denied = any(at > first for at, m in told if m.how == "no" for first in before)
        against = denied or len(senses) > 1 or any({*opposed} & {*m.codes} for _, m in naming)
        # `no, later`, where an option is itself the No: two are named.
        labels, named = self.interpreter.labels, {code for _, m in naming for code in m.codes}
        side = sides(self.question, "yes" if "yes" in senses else "no") if named else ()
        own = {c for c in side if senses & {*labels[c][:1]}} if named.isdisjoint(side) else ()
        asked = reading((*named, *own), self.question) if own else None
        return OWN if more or against else asked or self._sum(naming)

    def _find_others(self, first: int, codes: Words) -> Words | None:
        """The other options that remarks speak of, but not against; None where no remark does."""
        meant = [m for m in self.meanings if m]
        named = {code for m in meant if m.how in NAMING for code in m.codes}
        apart = any(m.how == "not" and named.isdisjoint(m.codes) for m in meant)
        said = [self.clauses[n].words for n, m in enumerate(self.meanings) if n != first and not m]
        spoken = {one: self.lexicon.speaks_of(one, codes) for one in said}
        if not any(spoken.values()) and not (apart and self.question.multi):
            return None
        return tuple({c for one, f in spoken.items() if WORDS.negators.isdisjoint(one) for c in f})

    def _says_more(self, at: int, first: int, named: Meaning) -> bool:
        """Whether a clause is more than a remark: it takes some back, lists more, or judges."""
        clause, meant, choice = self.clauses[at], self.meanings[at], self.clauses[first]
        said = clause.words[clause.words[:2] == ("so", "not") :]
        if meant is not None:
            other = meant.how == "pick" and not {*meant.codes} <= {*named.codes}
            stated = not {"is", "are"}.isdisjoint(said) or said[0] in {"we", "they", "it"}
            return at > first and other and stated
        contrast = said[0] in WORDS.contrasts and len(said) > 1
        if is_chatter(said) or (said[0] in WORDS.reasons and not contrast and at > first):
            return False
        affirmed = WORDS.negators.isdisjoint(said)
        halts = choice.words in SAYINGS.halts and not self.interpreter.names.match(choice.words)
        faulty = said[:2] == ("its", "the") and named.evidence < WHOLE  # `…, it's the cache`
        wrong = {"is", "are"} & {*choice.words} and (faulty or not WORDS.wrongs.isdisjoint(said))
        loose = said[0] != "but" or len(said) < 3 or named.evidence < WHOLE
        liked = contrast and (loose or {*choice.words} & WORDS.liking)
        # What takes some back: `without tests`, `ten percent`, `not the old ones`, `capped at 9`
        less = said[0] in WORDS.excepting - {"but"} | {"or"} or (cardinal(said[0]) or 1) > 1
        less = less or (said[0][3:].endswith("ed") and not WORDS.manner.isdisjoint(said[1:2]))
        less = less or (said[0] in WORDS.bare_no and self.interpreter.place(said[1:]) is not None)
        less = less or (not affirmed and bool(self.lexicon.mentions(said) & {*named.codes}))
        partly = said[0] == "not" and named.how == "pick"
        less = less or (partly and (len(said) < 3 or said[1] in WORDS.function))
        if not named.evidence or halts or wrong or liked or (less and at > first):
            return True
        explained = self._explains(said, choice.words, named)
        if at < first:
            other = named.how in WORDS.senses and bool(self.lexicon.names(said))
            return other or limits(said) or not (explained or opens(choice.words, SAYINGS.choosers))
        if named.how not in NAMING:  # `no, separately`
            side = self.interpreter.find_side(named.how)[0] if named.how in {"yes", "no"} else ()
            return bool(side) and not self.lexicon.mentions(said) <= {*side}
        listing = self.question.multi and named.how == "pick" and is_member(said, clause.mark)
        listing = listing and not self.lexicon.speaks_of(said, named.codes)
        more = affirmed and "and" in said and not self.lexicon.mentions(said) <= {*named.codes}
        verdict = clause.mark == ":" and ("too" in said or not explained)  # `E1: too expensive`
        return listing or more or verdict or WORDS.verdicts.issuperset(said)

    def _explains(self, said: Words, choice: Words, named: Meaning) -> bool:
        """Whether a clause says how things are, before what follows: `it is green, merge`."""
        stated = said[0] in WORDS.stating_how or not WORDS.being.isdisjoint(said)
        clear = named.evidence == WHOLE or WORDS.theirs.isdisjoint(choice)  # not `…, fix that`
        wished = not WORDS.wishing.isdisjoint(said)
        return stated and clear and not wished and self.lexicon.mentions(said) <= {*named.codes}

    def _sum(self, naming: list[tuple[int, Meaning]]) -> Reading:
        """The options that are left of those that were named, and what was said beside them."""
        meanings = [meant for _, meant in naming]
        how, comment, every = meanings[0].how, self._find_remark(naming), self.interpreter.every
        dropped = {code for m in meanings if m.how in {"not", "drop"} for code in m.codes}
        picked = [c for m in meanings if m.how == "pick" for c in m.codes if c not in dropped]
        either = [c for m in meanings if m.how == "either" for c in m.codes if c not in dropped]
        rest = any(m.how == "rest" for m in meanings) and (picked or not dropped)
        lone_drop = how == "drop" and not self.question.multi
        if rest or lone_drop or any(m.how in {"beyond", "none"} for m in meanings):
            return OWN
        named = [(self.clauses[at].words, m) for at, m in naming if m.how in NAMING]
        partly = dropped and any(m.codes == every or WORDS.quantifiers & {*w} for w, m in named)
        doubtful = partly or any(m.doubtful or self._judges(said, m) for said, m in named)
        together, doubtful = False, doubtful or (not named and any(m.doubtful for m in meanings))
        if how in {"yes", "no"}:
            codes, doubtful = self.interpreter.find_side(how)
        elif either or picked:
            rivals = meanings[0].rivals if len(meanings) == 1 and not either else ()
            together = len({*either}) == 1 if either else not rivals
            both = {*either} & {*picked}
            codes = tuple(both) if len(both) == len({*picked}) == 1 else (*picked, *either, *rivals)
        else:
            left = tuple(code for code in self.interpreter.real if code not in dropped)
            # What is left over is chosen where nothing else was said: not `no tests, i'll wait`.
            weak = len(left) == 1 and (comment or any(m.evidence < WHOLE for m in meanings))
            codes = () if weak or any(m.how == "pick" for m in meanings) else left
        found = reading(codes, self.question, together=together, comment=comment)
        others = self._find_others(naming[0][0], found.codes) if found.kind == "pick" else None
        if found.kind != "pick" or (others is None and not doubtful):
            return found
        asked = reading((*found.codes, *(others or ())), self.question)
        return replace(asked, kind="ambiguous", comment=None)

    def _judges(self, said: Words, named: Meaning) -> bool:
        """Whether something is said to be fine: of several, or what is to be mended or changed."""
        core = edges(said, frozenset(), WORDS.judged)
        last = words(re.split(r"[.!:]\s", self.question.text[-600:].rstrip())[-1])
        told = {stem(word) for word in core if self.lexicon.tells(word)}
        labels = (tuple(map(stem, self.interpreter.labels.get(c, ()))) for c in named.codes)
        acts = any(told & {*e[1:]} and e[0] not in told | WORDS.lesser_verbs for e in labels)
        acts = acts and not WORDS.stative.isdisjoint(said)
        if not core[1:] or not (self.question.multi or WORDS.faults & {*last} or acts):
            return False
        wished = {"be", "sound", "sounds"} & {*said}  # `docs would be good`
        return not wished and core[-1] in WORDS.judging - self.lexicon.label_words

    def _find_remark(self, naming: list[tuple[int, Meaning]]) -> str | None:
        """What was said beside the choice."""
        first, at, clauses, text = naming[0][0], naming[-1][0], self.clauses, self.text
        if len(text) > HEAD or not all(is_chatter(clause.words) for clause in clauses[at + 1 :]):
            remark = text[clauses[at].end :]
        else:
            before = any(not is_chatter(clause.words) for clause in clauses[:first])
            remark = text[: clauses[first].start].rstrip(" ,;:-–—.") if before else ""
        return re.sub(_LEADING, "", remark).strip() or None


def is_chatter(said: Words) -> bool:
    """Whether nothing was said but thanks and the like."""
    return said in SAYINGS.tails or (FILLERS | WORDS.endings | WORDS.voting).issuperset(said)


def is_member(said: Words, mark: str) -> bool:
    """Whether a clause is one more of a list, not a remark: that opens as one, or is a sentence."""
    joined = opens(said, SAYINGS.adding)
    body = tuple(dropwhile(WORDS.joining.__contains__, said)) if joined else said
    if not body or body[0] in WORDS.remarking or not WORDS.left_over.isdisjoint(body[:3]):
        return False
    thing = len(body) < 3 or (len(body) < 5 and WORDS.small.isdisjoint(body))
    of = not WORDS.belonging.isdisjoint(body) and {"it", "them"}.isdisjoint(body)
    return joined or (mark == "," and (thing or of or body[0] in WORDS.determining))


def is_question(said: Words) -> bool:
    """Whether a clause asks something, as its first words say."""
    said = tuple(dropwhile((WORDS.interjections | {"but", "and", "just"}).__contains__, said))
    if not said or said in SAYINGS.yes or said in SAYINGS.hedges:
        return False
    first, second = said[0], said[1] if len(said) > 1 else ""
    if opens(said, SAYINGS.asking) or (len(said) == 2 and second in {"what", "why", "huh"}):
        return True
    subject = said[2:3] if second == "the" else said[1:2]
    relative = first == "what" and len(said) > 2 and subject[0] not in WORDS.no_subjects
    if relative or (first == "were" and second and second not in WORDS.subjects | WORDS.there):
        return False  # `what finance waits for`, `we're on it`
    return first in WORDS.asking or (first in WORDS.asking_anything and second not in {"", "be"})


def has_condition(said: Words, lexicon: Lexicon) -> bool:
    """Whether a clause has a condition that is no option's own: `2 if it is green`."""
    proviso = find(SAYINGS.provisos, said) if not lexicon.verbatim(said) else None
    if proviso and said[proviso.start :] not in SAYINGS.polite_ifs:
        return True
    hanging = (at for at, word in enumerate(said) if word in {"if", "unless"} - lexicon.label_words)
    first = next((at for at in hanging if said[max(at - 1, 0)] not in {"as", "even"}), None)
    return first is not None and said[first:] not in SAYINGS.polite_ifs


def limits(said: Words) -> bool:
    """Whether a clause opens with a condition or a sequence, or limits what was chosen."""
    more = WORDS.requests.isdisjoint(said[1:2]) or said[-1] in {"first", "one", "ones"}
    if said[0] == "but" and said[1:] and (more or {*said} & WORDS.limits):
        return True
    said = tuple(dropwhile(WORDS.turns.__contains__, said))
    polite = len(said) < 2 or said in SAYINGS.polite_ifs
    return (len(said) > 2 and said[-1] == "only") or (not polite and said[0] in WORDS.conditions)


def find(known: frozenset[Words], said: Words) -> slice | None:
    """Where the longest of the phrases stands that are among the words."""
    spans = (slice(at, at + n) for n in range(_LONGEST, 0, -1) for at in range(len(said) - n + 1))
    return next((span for span in spans if said[span] in known), None)


class Clause(NamedTuple):
    """Some words of a reply, and where they stand in it."""

    words: Words
    start: int
    end: int
    mark: str = ""  # what stands before it: a comma, a colon or something else
    corrects: bool = False  # it takes back what was said before


def split(text: str, kept: frozenset[str], joins: frozenset[Words]) -> list[Clause]:
    """The clauses of a reply, also cut before words such as "because", "but" and "no wait"."""
    typed = [*_cut(text, kept, joins), (".", len(text), len(text))]
    words, clauses = tuple(word for word, _, _ in typed), list[Clause]()
    first, mark, corrects = 0, ".", False
    marker: Words = ()

    def end_clause(last: int, following: int, sign: str = "") -> None:
        nonlocal first, mark, marker, corrects
        if first < last:
            start, end = typed[first][1], typed[last - 1][2]
            clauses.append(Clause(words[first:last], start, end, mark, corrects))
            marker, corrects = (), False
        first, mark = following, sign or mark

    for at, word in enumerate(words):
        if at < first:
            continue
        long = _find_correction(words[first:], at - first, kept)
        denied = word in WORDS.bare_no and (word != "no" or words[at + 1] in WORDS.answering)
        if word in _MARKS:
            end_clause(at, at + 1, word)
        elif long:
            end_clause(at, at + long)
            marker, corrects = words[at : at + long], bool(clauses) or corrects
        elif at > first and _turns(words, at, kept):
            end_clause(at, at, ".")
        elif at == first and denied:  # `no let me edit`, `nah use 2`
            end_clause(at + 1, at + 1, ".")
    # A second thought with nothing behind it takes back what was said: `2, no wait`.
    if left := tuple(word for word in marker if word not in WORDS.mild):
        said = left if left == ("no",) else ("nevermind",)
        clauses.append(Clause(said, len(text), len(text), corrects=True))
    return clauses


def _cut(text: str, kept: frozenset[str], joins: frozenset[Words]) -> Iterator[Span]:
    """The words of a reply with where they begin and end, and between them marks and joints."""
    before, end = "", 0
    for typed, start, stop in spans(text):
        word = typed if typed in kept or (typed == "n" and not before) else _expand(typed, kept)
        if word.isdigit() and before in kept - WORDS.function | {"at"}:
            word = next((more for end in (":00", ".0") if (more := word + end) in kept), word)
        gap = text[end:start]
        joined = (before, gap.strip(), word) in joins or (before, gap[:1]) == ("with", "/")
        if joined or (gap == ":" and word[0].isdigit() and before):
            gap = " "
        if before and (joint := _join(gap, before, word)):
            yield joint, start, start
        yield from ((one, start, stop) for one in word.split("_"))
        before, end = word, stop


def _join(gap: str, before: str, word: str) -> str:
    """What stands between two words: a range, a mark, a joint, or nothing."""
    if re.fullmatch(r"([^\W\d_]*)\d+\s*(?:[-–—…~]|\.\.)\s*\1\d+", before + gap + word):  # `E1-E3`
        return "to"
    if re.match(r"\s*(?::|[-=]?>|=|→)", gap):  # `E1: cut`, `E1 -> cut`
        return ":"
    if before in WORDS.quantifiers and re.fullmatch(r"[\s,]*[-–−]\s*", gap):  # `all - email`
        return "minus"
    halted = re.search(_BREAK, gap if word.isascii() else gap + word)
    if halted or (before.isdigit() and "." in gap):
        return "."
    joints = {",": ",", "&": "and", "+": "and", "/": "/"}
    return next((joint for sign, joint in joints.items() if sign in gap), "")


def _expand(typed: str, kept: frozenset[str]) -> str:
    """What is typed in a hurry, as it is mostly spelt: `u`, or `2.5` where there is `2.5.0`."""
    if not typed[0].isdigit():
        digits = str(cardinal(typed)) if typed != "one" else typed
        if typed in CUT and kept.issuperset(CUT[typed].split("_")):
            return CUT[typed]
        return digits if digits in kept else SHORT.get(typed, typed)
    longer = [word for word in kept if "." in typed and word.startswith(typed + ".")]
    marked = [f"{typed}%", f"v{typed}", *(f"{sign}{typed}" for sign in "$€£")]
    found = [*longer, *(word for word in marked if len(typed) > 1 and word in kept)]
    return found[0] if len(found) == 1 else typed


def _find_correction(words: Words, at: int, kept: frozenset[str]) -> int:
    """How many words of a second thought stand here."""
    for long in range(min(_LONGEST, len(words) - at), 0, -1):
        phrase = words[at : at + long]
        if phrase not in SAYINGS.corrections or (long == 1 and phrase[0] in kept):
            continue
        following = (*words[at + long :], ".")[0]
        denied = phrase[-1] == "no" and following not in WORDS.saying | _MARKS  # `hmm no sushi`
        alone = long > 1 or WORDS.interjections.issuperset(words[:at]) or cardinal(words[at - 1])
        if alone and (not denied or cardinal(following)):
            return long
    here, behind = (*words[at : at + 2], "")[:2]
    halt = here == "wait" and not at and behind in _MARKS and here not in kept
    return int(halt or bool(here == "no" and at and cardinal(words[at - 1]) and cardinal(behind)))


def _turns(words: Words, at: int, kept: frozenset[str]) -> bool:
    """Whether another thought begins here, unless it is the "but" of "anything but"."""
    graded = words[at] == "so" and (words[at - 1] in WORDS.grading or words[at + 1] in _MARKS)
    if graded or words[at] not in WORDS.reasons or {*words[at - 1 : at + 2]} <= kept:
        return False
    each = words[max(at - 2, 0)] in {"any", "every", "all"} or words[at - 1] in WORDS.quantifiers
    return words[at] != "but" or not (each or words[at - 1] in {"nothing", "last"})


def read_action(text: str, question: Question) -> Reading | None:
    """The action that a reply names by its letter, or begins with and only remarks on."""
    actions = [choice for choice in question.options if choice.also]
    if not actions or len(text) > HEAD or "?" in text:
        return None
    bare, lettered = re.sub(_AROUND, "", text).strip(), None
    called = _find_called(bare, actions)
    if called or re.fullmatch(r"(?i)d\d+\.\d+\W*", bare):  # `D1.4`: the flow knows which one
        return reading(called, question)
    if found := re.match(r"(?i)\(?([a-z])[).:]+\s*", bare):
        lettered = next((c for c in actions if found[1].upper() in c.also), None)
        bare = bare[found.end() :] if lettered else bare
    typed = (found for found in spans(bare) if found[0] not in WORDS.ordering)
    verb, first, _ = next(typed, ("", 0, 0))
    chosen = next((choice for choice in actions if verb in _verbs(choice)), None)
    if chosen is None or lettered not in (None, chosen):
        named = ((c.code, (c.label, *c.also)) for c in actions)
        begun = tuple(code for code, names in named if any(words(n)[:1] == (verb,) for n in names))
        return OWN if lettered else reading(begun, question) if len(begun) > 1 else None
    said = words(bare := bare[first:])
    known = {w for name in (question.title, chosen.label, *chosen.also) for w in words(name)}
    own = WORDS.ordered.union(() if question.item else ("all",), known)
    # Another action may be named in any form: `cutting`. Said of one option, `all` says more.
    roots = {c.code: {verb.rstrip("e") for verb in _verbs(c) - own} for c in actions}
    others = [c for c, verbs in roots.items() if any(w.startswith(v) for w in said for v in verbs)]
    if others:
        return None if WORDS.negators & {*said} else reading((chosen.code, *others), question)
    head, *behind = re.split(_HALT, bare, maxsplit=1)
    remark = "".join(behind) or ("" if own.issuperset(words(head)) else head)
    more = not _belongs(remark, chosen, own) and _exceeds(remark, question, chosen, known)
    titled = words(question.title)[-len(said) :] == said  # “Cut the price”
    if titled or more or not _belongs(head, chosen, own):
        return OWN
    return reading((chosen.code,), question, comment=remark.strip() or None)


def _exceeds(remark: str, question: Question, choice: Choice, known: set[str]) -> bool:
    """Whether a remark on an action takes some of it back, or names another option."""
    asked = frozenset(() if question.item else words(question.text)) - WORDS.neutral
    beyond = (WORDS.exceeding | asked - WORDS.function) - known | _verbs(choice)
    keys = {word for word in words(remark) if re.fullmatch(r"[a-z]+\d+", word)} - known
    more = keys or beyond & {*words(remark)} or find(SAYINGS.exceeding, words(remark))
    return bool(more) or Sentences(remark, question).says_more_than((choice.code,))


def _verbs(choice: Choice) -> set[str]:
    """The word that a reply may begin with: the first of its label, where a wording has it too."""
    verb = words(choice.label)[:1]
    return set(verb) if any(words(name)[:1] == verb for name in choice.also) else set()


def _find_called(bare: str, actions: list[Choice]) -> Words:
    """What goes by just that, or stands behind an action: `B`, `D1.4`, `continue with E4`."""
    said = words(bare)
    exact = tuple(c.code for c in actions if said and said in map(words, c.also))
    verb, _, name = bare.partition(" ")
    if exact or not any(_verbs(choice).intersection(words(verb)) for choice in actions):
        return exact
    options = [choice for choice in actions if not _verbs(choice)]
    known, name = option_names(tuple(options)), name.removeprefix("with ")
    return _find_called(name, options) or known.code(name) or known.label(name)


def _belongs(head: str, choice: Choice, own: frozenset[str]) -> bool:
    """Whether words say nothing that the action does not; behind an open wording all may follow."""
    opened = {words(name)[-1] for name in choice.also if name.endswith("…")}
    beyond = next((word for word in words(head) if word in opened or word not in own), "")
    return not beyond or (beyond in opened and WORDS.deciders.isdisjoint(words(head)))
