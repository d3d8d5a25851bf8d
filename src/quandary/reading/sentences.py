"""A reply in plain text as a whole: what its clauses say together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quandary.model.asks import MORE, Reading
from quandary.reading import HEAD, OWN, reading
from quandary.reading.clauses import Clause, split
from quandary.reading.meaning import Interpreter, sides
from quandary.reading.names import OTHER, Meaning
from quandary.reading.phrases import (
    ASKING,
    ASKING_ANYTHING,
    ASKING_BEFORE_A_VERB,
    ASKING_WITH_SUBJECT,
    EXCEPT,
    EXCLUDERS,
    FUNCTION,
    HEDGES,
    INTERJECTIONS,
    LIKING,
    NEUTRAL,
    PROVISOS,
    REASONS,
    REQUEST_VERBS,
    REQUESTERS,
    REQUESTS,
    SUBJECTS,
    VERBS,
    YES,
)
from quandary.reading.tone import (
    afterwards,
    announces,
    chatter,
    chosen,
    complaint,
    conditional,
    excuse,
    hinges,
    hurried,
)

if TYPE_CHECKING:
    from quandary.model.asks import Question

Words = tuple[str, ...]
# These are compiled when they are needed, which for most replies is never.
_NUMBER_SIGN = r"(?i)\b(?:no|nr)\.(?=\s*\d)"
_WITH = r"(?i)\bw/"
_LEADING = r"(?i)^[\s,;:.!…()\[\]—–-]+|^(?:and|but)\b\s*"
_COPULAS = frozenset(("is", "are"))
"""In a second clause they tell of an option: `1 and 2; the cart is fine`."""
_HALTS = {("wait",), ("hold",), ("stop",)}
_THERE = frozenset(("the", "there", "it", "this", "that", "these", "those", "any"))
"""Behind a "were" that asks, unlike that of "we're on it"."""
_REFUSALS = frozenset(("no", "nope", "nah", "naw"))
_LONGEST_HEDGE = max(map(len, HEDGES))


def loosely(text: str, question: Question) -> Reading:
    """What a plain-text reply means."""
    interpreter = Interpreter(question)
    head = _spelt_out(text[:HEAD])
    clauses = split(head, interpreter.lexicon.label_words, interpreter.lexicon.joins)
    if not clauses:
        return OWN
    outright = _outright(clauses[0].words, interpreter) if len(clauses) == 1 else None
    if outright and "?" not in head:
        return _reading([(0, outright)], clauses, text, interpreter)
    if asks(head, clauses):
        return _requested(clauses, interpreter)
    hinging = any(_hinges(at, clause, interpreter) for at, clause in enumerate(clauses))
    if hinging or _pointed(head):
        return OWN
    clauses = _excused(_corrected(clauses, interpreter), clauses)
    meanings = [interpreter.clause(clause) for clause in clauses]
    if any(hedged(clause.words, interpreter.lexicon.label_words) for clause in clauses):
        return _torn(clauses, meanings, interpreter)
    return _together(clauses, meanings, text, interpreter)


def _spelt_out(head: str) -> str:
    """The text with `no. 2` and `w/` put so that their marks cut nothing."""
    if "." in head:
        head = re.sub(_NUMBER_SIGN, "nr ", head)
    return re.sub(_WITH, "w ", head) if "/" in head else head


def _outright(said: Words, interpreter: Interpreter) -> Meaning | None:
    """What one clause names without further ado."""
    found = interpreter.verbatim(said) or interpreter.relative(said)
    if found is None and not _asking(said) and not interpreter.foreign(said):
        found = interpreter.outright(said)
    return found if found and found.how in {"pick", "either"} else None


def _pointed(head: str) -> bool:
    """`watch this: https://…`: what stands before an address speaks of that."""
    return "://" in head and re.search(r":\s*\w+://", head) is not None


def _hinges(at: int, clause: Clause, interpreter: Interpreter) -> bool:
    """Whether the choice hangs on a condition; what somebody does later may hang on one."""
    lexicon = interpreter.lexicon
    answers = clause.words[:2] == ("only", "when") and "when" in interpreter.asked
    if has(clause.words, PROVISOS) and not answers and not lexicon.verbatim(clause.words):
        return True
    if not hinges(clause.words, lexicon.label_words):
        return False
    return not at or not afterwards(clause.words) or bool(lexicon.mentioned(clause.words))


def asks(head: str, clauses: list[Clause]) -> bool:
    """Whether the reply is a question rather than an answer."""
    if "?" in head:
        return True
    return any(_asking(clause.words) for clause in clauses)


def _asking(said: Words) -> bool:
    while len(said) > 1 and said[0] in INTERJECTIONS | {"but", "and", "just"}:
        said = said[1:]
    if said in YES or said in HEDGES:
        return False
    if len(said) == 2 and said[-1] in {"what", "why", "huh"}:
        return True
    if said[0] == "were" and len(said) > 1 and said[1] not in SUBJECTS | _THERE:
        return False
    if said[0] in ASKING_BEFORE_A_VERB:
        return len(said) == 1 or said[1] in VERBS
    if said[0] in ASKING or (said[0] in ASKING_ANYTHING and len(said) > 1 and said[1] != "be"):
        return True
    return len(said) > 2 and said[0] in ASKING_WITH_SUBJECT and said[1] in SUBJECTS


def _requested(clauses: list[Clause], interpreter: Interpreter) -> Reading:
    """`can we go with 2?` asks for an option politely; any other question is no choice."""
    said = clauses[0].words
    while said and said[0] in INTERJECTIONS:
        said = said[1:]
    if not any(_asking(clause.words) for clause in clauses):
        return _wavering(clauses, interpreter)
    polite = len(clauses) == 1 and said[:1] and said[0] in REQUESTS and said[1:2]
    if not polite or said[1] not in REQUESTERS or not REQUEST_VERBS.intersection(said[2:4]):
        return OWN
    meant = interpreter.one(said[2:])
    if meant is None or not meant.firm or meant.how not in {"pick", "either"}:
        return OWN
    return reading(meant.codes, interpreter.question, together=meant.listed and meant.how == "pick")


def _wavering(clauses: list[Clause], interpreter: Interpreter) -> Reading:
    """`1 or 2?` asks which of the two, and nothing else."""
    codes: list[str] = []
    if any("or" in clause.words for clause in clauses):
        for clause in clauses:
            meant = interpreter.clause(clause._replace(words=_unhedged(clause.words)))
            if meant is None or meant.how not in {"pick", "either"} or not meant.firm:
                return OWN
            codes.extend(meant.codes)
    found = tuple(dict.fromkeys(codes))
    return reading(found, interpreter.question) if len(found) > 1 else OWN


def hedged(said: Words, own: frozenset[str]) -> bool:
    """Whether the person says that they do not know, or do not mind."""
    said = said[1:] if said[0] == "only" else said
    # What others do not know or mind is no hedge: `users don't mind`.
    first = said.index("dont") if "dont" in said else 0
    others = first and said[first - 1] not in NEUTRAL | FUNCTION | own
    return has(said[:first] if others else said, HEDGES)


def has(said: Words, phrases: frozenset[Words]) -> bool:
    """Whether one of the phrases stands among the words."""
    return any(
        said[at : at + long] in phrases
        for at in range(len(said))
        for long in range(1, min(_LONGEST_HEDGE, len(said) - at) + 1)
    )


def _torn(
    clauses: list[Clause], meanings: list[Meaning | None], interpreter: Interpreter
) -> Reading:
    """Undecided between options that were named, or just undecided."""
    codes: list[str] = []
    for clause, meant in zip(clauses, meanings, strict=True):
        bare = clause._replace(words=_unhedged(clause.words))
        named = meant or (
            interpreter.clause(bare)
            if hedged(clause.words, interpreter.lexicon.label_words)
            else None
        )
        if named is not None and named.how in {"pick", "either"} and named.firm:
            codes.extend(named.codes)
    found = tuple(code for code in dict.fromkeys(codes) if code not in {MORE, OTHER})
    return reading(found, interpreter.question) if len(found) > 1 else OWN


def _unhedged(said: Words) -> Words:
    """The words without the hedge among them."""
    for long in range(_LONGEST_HEDGE, 0, -1):
        for at in range(len(said) - long + 1):
            if said[at : at + long] in HEDGES:
                return (*said[:at], *said[at + long :]) or said
    return said


def _corrected(clauses: list[Clause], interpreter: Interpreter) -> list[Clause]:
    """The clauses that still count after a second thought.

    One that only leaves something out lets the rest stand: `tests and docs. actually no docs`.
    """
    first = 0
    for at, clause in enumerate(clauses):
        leaves_out = clause.words[0] in EXCLUDERS | EXCEPT and len(clause.words) > 1
        leaves_out = leaves_out or bool(interpreter.dropped(clause.words))
        if clause.corrects and (not leaves_out or interpreter.names.worded(clause.words)):
            first = at
        elif 0 < at < len(clauses) - 1 and _refuses(clause.words):
            first = at + 1
    return clauses[first:]


def _excused(clauses: list[Clause], before: list[Clause]) -> list[Clause]:
    """The clauses without a reason for the second thought: `2... no, too slow. 3`."""
    while len(clauses) < len(before) and len(clauses) > 1 and excuse(clauses[0].words):
        clauses, before = clauses[1:], before[1:]
    return clauses


def _refuses(said: Words) -> bool:
    """A bare no between two choices, such as `lol no`."""
    return said[-1] in _REFUSALS and INTERJECTIONS.issuperset(said[:-1])


def _together(
    clauses: list[Clause], meanings: list[Meaning | None], text: str, interpreter: Interpreter
) -> Reading:
    """What the clauses say together: the first that names something, and those that go with it."""
    told = [(at, m) for at, m in enumerate(meanings) if m is not None and m.how != "chatter"]
    naming = [(at, m) for at, m in told if m.how not in {"yes", "no"}] or told
    naming = [
        (at, m)
        for at, m in naming
        if at == naming[0][0] or m.how != "pick" or _COPULAS.isdisjoint(clauses[at].words)
    ]
    if not naming:
        return OWN
    if _unsettled(naming[0], clauses, meanings, interpreter):
        return OWN
    if _doubtful(naming[0], clauses, meanings, interpreter):
        return OWN
    if _unlisted(naming[0][0], clauses, meanings, interpreter):
        return OWN
    return _reading(naming, clauses, text, interpreter)


def _unsettled(
    naming: tuple[int, Meaning],
    clauses: list[Clause],
    meanings: list[Meaning | None],
    interpreter: Interpreter,
) -> bool:
    """Whether what was named is only liked, comes under a condition, or is beside the point."""
    first, meant = naming
    senses = {m.how for m in meanings if m is not None} & {"yes", "no"}
    if meant.how in senses and len(senses) > 1:
        return True
    refused = any(m is not None and m.how == "no" for m in meanings[first + 1 :])
    if refused and meant.how != "no":
        return True
    if any(
        conditional(clause.words)
        and (clause.words[0] != "then" or interpreter.lexicon.mentioned(clause.words))
        and not (interpreter.question.multi and clause.words[0] == "then" and meant)
        and not ("only" in clause.words[:2] and meant and meant.firm)
        for clause, meant in zip(clauses[1:], meanings[1:], strict=True)
    ):
        return True
    behind = [c.words for c, m in zip(clauses[first:], meanings[first:], strict=True) if m is None]
    if any(map(complaint, behind)) and not {"is", "are"}.isdisjoint(clauses[first].words):
        return True
    before = zip(clauses[:first], meanings[:first], strict=True)
    lead = [c for c, m in before if m is None and not chatter(c.words)]
    if lead and clauses[first].announced and announces(lead[-1].words):
        lead.pop()
    if lead and (not chosen(clauses[first].words) or any(conditional(c.words) for c in lead)):
        return True
    after = clauses[first + 1 :]
    liked = not LIKING.isdisjoint(clauses[first].words)
    return liked and bool(after) and after[0].words[0] == "but"


def _unlisted(
    first: int, clauses: list[Clause], meanings: list[Meaning | None], interpreter: Interpreter
) -> bool:
    """Whether a list goes on with something that is no option: `docs, tests and the changelog`."""
    for clause, meant in zip(clauses[first + 1 :], meanings[first + 1 :], strict=True):
        if meant is not None or not clause.comma or chatter(clause.words):
            continue
        if interpreter.question.multi and len(clause.words) < 3 and not hurried(clause.words):
            return True
        if interpreter.begins_a_list(clause.words):
            return True
    return False


def _doubtful(
    naming: tuple[int, Meaning],
    clauses: list[Clause],
    meanings: list[Meaning | None],
    interpreter: Interpreter,
) -> bool:
    """Whether more is said than a word of a description, or a bare `first`, can carry.

    `First, …` counts what is to be done more often than options, and `Wait, …` stops somebody.
    """
    first, named = naming
    if clauses[first].words in _HALTS and not interpreter.names.worded(clauses[first].words):
        named = named._replace(firm=False)
    rest = [
        clause
        for at, (clause, meant) in enumerate(zip(clauses, meanings, strict=True))
        if at != first and meant is None and not chatter(clause.words)
    ]
    return not named.firm and any(clause.words[0] not in REASONS for clause in rest)


def _reading(
    naming: list[tuple[int, Meaning]],
    clauses: list[Clause],
    text: str,
    interpreter: Interpreter,
) -> Reading:
    question = interpreter.question
    dropping = naming[0][1].how == "drop" and not question.multi
    if dropping or any(m.how in {"beyond", "none"} for _, m in naming):
        return OWN
    run = _run(naming)
    if run[0][1].how in {"yes", "no"}:
        codes, together = sides(question, run[0][1].how), False
    else:
        codes, together = _sum([m for _, m in run], interpreter)
    if not codes:
        return OWN
    if OTHER in codes:
        return Reading("blank") if len(codes) == 1 else OWN
    return reading(codes, question, together=together, comment=_remark(run, clauses, text))


def _run(naming: list[tuple[int, Meaning]]) -> list[tuple[int, Meaning]]:
    """The naming clauses that stand together; a firm one further on still counts against them."""
    run = [naming[0]]
    for at, meant in naming[1:]:
        adjoining = at == run[-1][0] + 1 and run[-1][1].tail is None
        if adjoining or (meant.firm and meant.how in {"pick", "not", "drop"}):
            run.append((at, meant))
    return run


def _sum(meanings: list[Meaning], interpreter: Interpreter) -> tuple[Words, bool]:
    """The codes that are left, and whether they are meant together."""
    dropped = {code for m in meanings if m.how in {"not", "drop"} for code in m.codes}
    picked = [c for m in meanings if m.how == "pick" for c in m.codes if c not in dropped]
    either = [c for m in meanings if m.how == "either" for c in m.codes if c not in dropped]
    if either:
        both = tuple(code for code in either if code in picked)
        codes = both if len(both) == 1 and len(set(picked)) == 1 else (*picked, *either)
        return codes, len(set(either)) == 1 and interpreter.question.multi
    rest = any(m.how == "rest" for m in meanings)
    if picked:
        return () if rest else tuple(picked), True
    if any(m.how == "pick" for m in meanings) or (rest and not dropped):
        return (), False
    return tuple(code for code in interpreter.real if code not in dropped), rest


def _remark(run: list[tuple[int, Meaning]], clauses: list[Clause], text: str) -> str | None:
    """What was said beside the choice."""
    at, last = run[-1]
    first = run[0][0]
    if last.tail is not None:
        return _plain(text[last.tail :])
    behind = clauses[at + 1 :]
    if any(not chatter(clause.words) for clause in behind) or len(text) > HEAD:
        return _plain(text[clauses[at].end :])
    before = [clause for clause in clauses[:first] if not chatter(clause.words)]
    if before and before[0].start < clauses[first].start:
        return _plain(text[: clauses[first].start].rstrip(" ,;:-–—."))
    return None


def _plain(remark: str) -> str | None:
    while True:
        shorter = re.sub(_LEADING, "", remark, count=1)
        if shorter == remark:
            return remark.strip() or None
        remark = shorter
