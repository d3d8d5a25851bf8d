"""A question as its page shows it, as plain data: the template only lays it out."""

from __future__ import annotations

import secrets
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from quandary.desk.drafts import Draft
from quandary.formats.markdown import notation
from quandary.journal.entries import read_beginning
from quandary.model.asks import MORE, Reply
from quandary.model.text import printable
from quandary.model.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from quandary.journal.store import State, Store
    from quandary.model.asks import Answer, Ask, Question
    from quandary.model.tree import Option

OTHER = "\N{WHITE CIRCLE}"
"""What stands for Other in a form; no code looks like that."""
PICK, TEXT, COMMENT, SEEN = "pick", "text", "comment", "seen"
LONGEST_TEXT = 10_000

BOTH = "Choose an option or type your own words, not both: choose Other, or clear the box."
NOT_WITH_MORE = "“More…” shows further options: open it first, then type."
TOO_LONG = f"The text is too long; at most {LONGEST_TEXT:,} characters are allowed."


class Filled(NamedTuple):
    """What a form says, and what is wrong with its parts, by the number of the question."""

    reply: Reply
    problems: dict[int, str]


def field(kind: str, number: int) -> str:
    """The name of a field of the question at a place in the Ask."""
    return f"{kind}-{number}"


def filled(ask: Ask, fields: Mapping[str, list[str]]) -> Filled:
    """The answers in a form; a question that was left alone has none."""
    answers: list[Answer] = []
    problems: dict[int, str] = {}
    for number, question in enumerate(ask.questions):
        problem, answer = _answer(ask, question, fields, number)
        if problem:
            problems[number] = problem
        elif answer is not None:
            answers.append(answer)
    return Filled(Reply(tuple(answers)), problems)


def _answer(
    ask: Ask, question: Question, fields: Mapping[str, list[str]], number: int
) -> tuple[str, Answer | None]:
    picked = fields.get(field(PICK, number), [])
    draft = Draft(question, "plain" if ask.kind == "advisory" else "strict")
    draft.words = _joined(fields, TEXT, number)
    draft.comment = _joined(fields, COMMENT, number)
    if max(len(draft.words), len(draft.comment)) > LONGEST_TEXT:
        return TOO_LONG, None
    every = [choice.code for choice in question.choices]
    codes = [code for code in every if code in picked]
    draft.ticked = {code for code in codes if code != MORE}
    if not codes and not draft.words and OTHER not in picked:
        if not question.gathered or field(SEEN, number) not in fields:
            return "", None
        draft.at = 0  # what was ticked on earlier pages is the answer
    elif MORE in codes:
        if draft.words:
            return NOT_WITH_MORE, None
        draft.at = every.index(MORE)
    elif question.multi or not codes:
        draft.at = draft.other if draft.words or OTHER in picked else 0
    elif draft.words:
        return BOTH, None
    else:
        draft.at = every.index(codes[0])
    problem = draft.settle()
    return problem, draft.answer


def _joined(fields: Mapping[str, list[str]], kind: str, number: int) -> str:
    return "\n".join(fields.get(field(kind, number), [])).replace("\r\n", "\n").strip()


if TYPE_CHECKING:
    Levels = AbstractSet[frozenset[tuple[str, str, str]]]


class Sheet(NamedTuple):
    """One question of the page, with what was filled in before."""

    number: int
    question: Question
    spans: tuple[notation.Span, ...]
    """Its text in its styles."""
    before: str
    """What was ticked on other pages of its options."""
    picked: list[str]
    words: str
    remark: str
    problem: str
    other: str = OTHER
    more: str = MORE


class Line(NamedTuple):
    """A line of a tree."""

    depth: int
    code: str
    label: str
    description: str = ""
    here: bool = False
    """It is asked about now."""


class Asking(NamedTuple):
    """What waits, for the page."""

    key: str
    token: str
    paragraphs: list[list[notation.Line]]
    notes: list[str]
    held: list[str]
    sheets: tuple[Sheet, ...]
    person: bool
    tree: list[Line]


def show_question(
    store: Store,
    state: State,
    fields: Mapping[str, list[str]] | None = None,
    problems: Mapping[int, str] | None = None,
) -> Asking | None:
    """The question that a run waits with, perhaps with what was filled in and could not stand."""
    ask = state.ask
    if ask is None:
        return None
    shown = ask.preamble.text
    notes = [note for note in state.notes if note.text.strip() and note.text.strip() not in shown]
    sheets = tuple(
        sheet(number, question, fields or {}, (problems or {}).get(number, ""))
        for number, question in enumerate(ask.questions)
    )
    return Asking(
        ask.key,
        secrets.token_urlsafe(16),
        paragraphs(shown),
        [note.text for note in notes if note.kind != "held"],
        [f"{note.item}: {note.text}" for note in state.notes if note.kind == "held"],
        sheets,
        ask.require == "person",
        _marked_tree(store, state.run, ask),
    )


def paragraphs(markdown: str) -> list[list[notation.Line]]:
    """Lines that belong together."""
    groups = groupby(notation.lines(markdown), lambda line: bool(line.spans))
    return [list(together) for filled, together in groups if filled]


def sheet(number: int, question: Question, fields: Mapping[str, list[str]], problem: str) -> Sheet:
    """One question of a page, perhaps with what was filled in and could not stand."""
    here = {choice.code for choice in question.choices}
    labels = {choice.code: choice.label for choice in question.options}
    before = [labels.get(code, code) for code in question.gathered if code not in here]
    return Sheet(
        number,
        question,
        notation.spans(printable(question.text)),
        ", ".join(before),
        fields.get(field(PICK, number), []),
        "\n".join(fields.get(field(TEXT, number), [])),
        "\n".join(fields.get(field(COMMENT, number), [])),
        problem,
    )


# -- the tree beside it --------------------------------------------------------------------------


def _marked_tree(store: Store, run: str, ask: Ask) -> list[Line]:
    """The tree of a run as lines, with the levels that are asked about marked."""
    digest = read_beginning(store, run)[0].documents.get("tree", "")
    written = store.document(digest) if digest else None
    if written is None:
        return []
    levels: Levels = {
        frozenset((c.code, c.label, c.description) for c in question.choices if c.code != MORE)
        for question in ask.questions
    }
    return lines(msgspec.json.decode(written, type=Tree), levels)


def lines(tree: Tree, levels: Levels = frozenset()) -> list[Line]:
    """A tree line by line; of the levels, those options are marked."""
    return [
        line
        for decision in tree.decisions
        for line in (Line(0, "", decision.name), *_below(decision.options, 1, levels))
    ]


def _below(level: Sequence[Option], depth: int, levels: Levels) -> Iterator[Line]:
    shown = {(option.code, option.label, option.description) for option in level}
    here = {one for marked in levels if marked and marked <= shown for one in marked}
    for option in level:
        known = (option.code, option.label, option.description)
        yield Line(depth, option.code, option.label, option.description, known in here)
        yield from _below(option.options, depth + 1, levels)
