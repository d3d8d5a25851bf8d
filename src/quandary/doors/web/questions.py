"""A question as its page shows it, as plain data: the template only lays it out."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.desk.drafts import SEEN_FIRST, Draft
from quandary.desk.values import as_input
from quandary.doors.web.evidence import find_pictures, show_attachments
from quandary.doors.web.prose import render
from quandary.journal.entries import read_beginning
from quandary.model.asks import MORE, Answer, Reply
from quandary.model.attachment import read_annotations
from quandary.model.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from quandary.doors.web.access import Fields
    from quandary.journal.entries import Began
    from quandary.journal.store import State, Store
    from quandary.model.asks import Ask, Note, Question
    from quandary.model.attachment import Annotation
    from quandary.model.fields import Field
    from quandary.model.tree import Option

    Levels = AbstractSet[frozenset[tuple[str, str, str]]]

OTHER = "\N{WHITE CIRCLE}"
"""What stands for Other in a form; no code looks like that."""
PICK, TEXT, COMMENT, SEEN, UP, EXTRA = "pick", "text", "comment", "seen", "up", "extra"
VALUE, REMARKS = "value", "remarks:"
LONGEST_TEXT = 10_000

BOTH = "Choose an option or type your own words, not both: choose Other, or clear the box."
NOT_WITH_MORE = "“More…” shows further options: open it first, then type."
REMARK_FORM = "“{}” is no remark on a line: write it as 12: what you think of line 12."
NOTHING_CHOSEN = "You changed a value: choose an option too."
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
    remarks, rest = _read_remarks(fields)
    if rest:
        problems[0] = REMARK_FORM.format(rest)
    if remarks and not problems:
        answers = answers or [Answer(ask.questions[0].key, prefix="fill")]
        answers[0] = replace(answers[0], annotations=tuple(remarks))
    return Reply(tuple(answers)), problems


def _read_remarks(fields: Fields) -> tuple[list[Annotation], str]:
    """The remarks on lines in a form, and the first line that is none."""
    found, rest = [], ""
    for name, texts in fields.items():
        if name.startswith(REMARKS):
            more, left = read_annotations("\n".join(texts), name.removeprefix(REMARKS))
            found += more
            rest = rest or left.partition("\n")[0]
    return sorted(found, key=lambda one: (one.file, one.line)), rest


def _answer(ask: Ask, question: Question, fields: Fields, number: int) -> tuple[str, Answer | None]:
    picked = fields.get(field(PICK, number), [])
    draft = Draft(question, "plain" if ask.kind == "advisory" else "strict")
    draft.words = _join(fields, TEXT, number)
    draft.comment = _join(fields, COMMENT, number)
    draft.typed = {
        one.name: fields[name][-1].replace("\r\n", "\n")
        for place, one in enumerate(question.fields)
        if (name := field(f"{VALUE}-{number}", place)) in fields
    }
    if max(map(len, (draft.words, draft.comment, *draft.typed.values()))) > LONGEST_TEXT:
        return TOO_LONG, None
    every = [choice.code for choice in question.choices]
    codes = [code for code in every if code in picked]
    draft.ticked = {code for code in codes if code != MORE}
    letter = "".join(fields.get(field(EXTRA, number), [])[:1])
    if letter or field(UP, number) in fields:
        return draft.press(letter) if letter else draft.settle(up=True), draft.answer
    if not codes and not draft.words and OTHER not in picked:
        if not question.gathered or field(SEEN, number) not in fields:
            problem = draft.keep(Answer(question.key, prefix="fill"))
            changed = draft.answer is not None and draft.answer.values
            return problem or (NOTHING_CHOSEN if changed else ""), None
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
    store: Store,
    state: State,
    fields: Fields,
    problems: Mapping[int, str],
    beginning: tuple[Began, dict[str, Any]] | None = None,
) -> dict[str, Any] | None:
    """The question that a run waits with, perhaps with what was filled in and could not stand."""
    ask = state.ask
    if ask is None:
        return None
    began, arguments = beginning or read_beginning(store, state.run)
    return show_ask(ask, state.notes, fields, problems, find_pictures(state.run, arguments)) | {
        "key": ask.key,
        "token": secrets.token_urlsafe(16),
        "attached": show_attachments(store, state.run, arguments, began.origin, fields),
        "person": ask.require == "person",
        "tree": _mark_tree(store, began.documents.get("tree", ""), ask),
    }


def show_ask(
    ask: Ask,
    notes: Sequence[Note],
    fields: Fields,
    problems: Mapping[int, str],
    pictures: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """An Ask with its notes, wherever it comes from."""
    shown = replace(ask.preamble, extras=()).text  # which are buttons
    new = [note for note in notes if note.text.strip() and note.text.strip() not in shown]
    return {
        "preamble": render(shown, pictures),
        "attached": (),
        "notes": [note.text for note in new if note.kind != "held"],
        "held": [f"{note.item}: {note.text}" for note in notes if note.kind == "held"],
        "sheets": [
            sheet(number, question, fields, problems.get(number, ""))
            for number, question in enumerate(ask.questions)
        ],
    }


def sheet(number: int, question: Question, fields: Fields, problem: str) -> dict[str, Any]:
    """One question of a page, perhaps with what was filled in and could not stand."""
    return {
        "number": number,
        "question": question,
        "picked": fields.get(field(PICK, number), []),
        "words": "\n".join(fields.get(field(TEXT, number), [])),
        "remark": "\n".join(fields.get(field(COMMENT, number), [])),
        "fields": [
            _show_field(one, number, place, fields, question.values.get(one.name))
            for place, one in enumerate(question.fields)
        ],
        "problem": problem,
        "other": OTHER,
        "seen_first": SEEN_FIRST,
        "more": MORE,
    }


def _show_field(one: Field, number: int, place: int, fields: Fields, now: object) -> dict[str, Any]:
    """An input for a value, with what was typed there before or what stands in it."""
    name = field(f"{VALUE}-{number}", place)
    value = fields[name][-1] if fields.get(name) else as_input(now)
    kinds = [kind for kind in one.types if kind != "null"]
    options = one.schema.get("enum") or ([True, False] if kinds == ["boolean"] else [])
    choices = [as_input(choice) for choice in options]
    return {
        "name": name,
        "label": one.label,
        "about": one.schema.get("description", ""),
        "kind": "choice" if choices else kinds[0] if len(kinds) == 1 else "string",
        "choices": choices if value in choices else ["", *choices],
        "value": value,
        "long": "\n" in value or len(value) > 60,
        "required": one.required,
        "proposed": as_input(one.schema.get("default")),
    }


# -- the tree beside it --------------------------------------------------------------------------


def _mark_tree(store: Store, digest: str, ask: Ask) -> list[Line]:
    """The tree of a run as lines, with the levels that are asked about marked."""
    written = store.document(digest) if digest else None
    if written is None:
        return []
    return mark_levels(msgspec.json.decode(written, type=Tree), ask)


def mark_levels(tree: Tree, ask: Ask) -> list[Line]:
    """A tree as lines, with the levels marked that an Ask is about."""
    levels: Levels = {
        frozenset((c.code, c.label, c.description) for c in question.choices if c.code != MORE)
        for question in ask.questions
    }
    return lines(tree, levels)


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
