"""A question as its page shows it, as plain data: the template only lays it out."""

from __future__ import annotations

import secrets
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.desk.drafts import SEEN_FIRST, Draft
from quandary.formats.markdown import notation
from quandary.journal.entries import read_beginning
from quandary.model.asks import MORE, Reply
from quandary.model.text import printable
from quandary.model.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from quandary.doors.web.access import Fields
    from quandary.journal.store import State, Store
    from quandary.model.asks import Answer, Ask, Question
    from quandary.model.tree import Option

    Levels = AbstractSet[frozenset[tuple[str, str, str]]]

OTHER = "\N{WHITE CIRCLE}"
"""What stands for Other in a form; no code looks like that."""
PICK, TEXT, COMMENT, SEEN, UP, EXTRA = "pick", "text", "comment", "seen", "up", "extra"
LONGEST_TEXT = 10_000

BOTH = "Choose an option or type your own words, not both: choose Other, or clear the box."
NOT_WITH_MORE = "“More…” shows further options: open it first, then type."
TOO_LONG = f"The text is too long; at most {LONGEST_TEXT:,} characters are allowed."


def field(kind: str, number: int) -> str:
    """The name of a field of the question at a place in the Ask."""
    return f"{kind}-{number}"


def read_fields(ask: Ask, fields: Fields) -> tuple[Reply, dict[int, str]]:
    """The answers in a form, and what is wrong with its parts, by the number of the question.

    A question that was left alone has no answer.
    """
    answers: list[Answer] = []
    problems: dict[int, str] = {}
    for number, question in enumerate(ask.questions):
        problem, answer = _answer(ask, question, fields, number)
        if problem:
            problems[number] = problem
        elif answer is not None:
            answers.append(answer)
    return Reply(tuple(answers)), problems


def _answer(ask: Ask, question: Question, fields: Fields, number: int) -> tuple[str, Answer | None]:
    picked = fields.get(field(PICK, number), [])
    draft = Draft(question, "plain" if ask.kind == "advisory" else "strict")
    draft.words = _join(fields, TEXT, number)
    draft.comment = _join(fields, COMMENT, number)
    if max(len(draft.words), len(draft.comment)) > LONGEST_TEXT:
        return TOO_LONG, None
    every = [choice.code for choice in question.choices]
    codes = [code for code in every if code in picked]
    draft.ticked = {code for code in codes if code != MORE}
    letter = "".join(fields.get(field(EXTRA, number), [])[:1])
    if letter or field(UP, number) in fields:
        return draft.press(letter) if letter else draft.settle(up=True), draft.answer
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


def _join(fields: Fields, kind: str, number: int) -> str:
    return "\n".join(fields.get(field(kind, number), [])).replace("\r\n", "\n").strip()


class Line(NamedTuple):
    """A line of a tree."""

    depth: int
    code: str
    label: str
    description: str = ""
    here: bool = False
    """It is asked about now."""


def show_question(
    store: Store, state: State, fields: Fields, problems: Mapping[int, str]
) -> dict[str, Any] | None:
    """The question that a run waits with, perhaps with what was filled in and could not stand."""
    ask = state.ask
    if ask is None:
        return None
    shown = replace(ask.preamble, extras=()).text  # which are buttons
    notes = [note for note in state.notes if note.text.strip() and note.text.strip() not in shown]
    return {
        "key": ask.key,
        "token": secrets.token_urlsafe(16),
        "paragraphs": paragraphs(shown),
        "notes": [note.text for note in notes if note.kind != "held"],
        "held": [f"{note.item}: {note.text}" for note in state.notes if note.kind == "held"],
        "sheets": [
            sheet(number, question, fields, problems.get(number, ""))
            for number, question in enumerate(ask.questions)
        ],
        "person": ask.require == "person",
        "tree": _mark_tree(store, state.run, ask),
    }


def paragraphs(markdown: str) -> list[list[notation.Line]]:
    """Lines that belong together."""
    groups = groupby(notation.lines(markdown), lambda line: bool(line.spans))
    return [list(together) for filled, together in groups if filled]


def sheet(number: int, question: Question, fields: Fields, problem: str) -> dict[str, Any]:
    """One question of a page, perhaps with what was filled in and could not stand."""
    return {
        "number": number,
        "question": question,
        "spans": notation.spans(printable(question.text)),
        "picked": fields.get(field(PICK, number), []),
        "words": "\n".join(fields.get(field(TEXT, number), [])),
        "remark": "\n".join(fields.get(field(COMMENT, number), [])),
        "problem": problem,
        "other": OTHER,
        "seen_first": SEEN_FIRST,
        "more": MORE,
    }


# -- the tree beside it --------------------------------------------------------------------------


def _mark_tree(store: Store, run: str, ask: Ask) -> list[Line]:
    """The tree of a run as lines, with the levels that are asked about marked."""
    written = store.document(read_beginning(store, run)[0].documents.get("tree", ""))
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
