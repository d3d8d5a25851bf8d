"""A question as its page shows it, as plain data: the template only lays it out.

With it goes what it is judged by: its attachments, in place and as files.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from markupsafe import Markup
from msgspec.structs import replace

from quandary.desk.attachments import find_media, list_attachments, load
from quandary.desk.drafts import SEEN_FIRST, Draft
from quandary.desk.reply import arguments_of
from quandary.desk.sheets import tell_question
from quandary.doors.web import prose
from quandary.doors.web.access import RunId, TheSite, Visit
from quandary.doors.web.prose import render
from quandary.errors import QuandaryError
from quandary.flows import wording
from quandary.flows.asking import PERSON
from quandary.journal.entries import read_beginning
from quandary.model.asks import MORE, Answer, Reply, read_annotations, tell_size
from quandary.model.text import as_text, reveal
from quandary.model.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from quandary.doors.web.access import Fields
    from quandary.journal.entries import Began, Entry
    from quandary.journal.store import State, Store
    from quandary.model.asks import Annotation, Ask, Attachment, Field, Note, Question
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
    entries: Sequence[Entry] = (),
) -> dict[str, Any] | None:
    """The question that a run waits with, perhaps with what was filled in and could not stand.

    With the entries of the run, also what changed since it was asked before.
    """
    ask = state.ask
    if ask is None:
        return None
    began, arguments = beginning or read_beginning(store, state.run)
    return show_ask(ask, state.notes, fields, problems, find_pictures(state.run, arguments)) | {
        "key": ask.key,
        "changes": _find_changes(ask, entries),
        "token": secrets.token_urlsafe(16),
        "attached": show_attachments(store, state.run, arguments, began.origin, fields),
        "person": ask.require == "person",
        "tree": _mark_tree(store, began.documents.get("tree", ""), ask),
    }


def _find_changes(ask: Ask, entries: Sequence[Entry]) -> Markup:
    """What a question was about when it was asked before in this run, against what it is about now.

    Nothing where that only got longer.
    """
    one = ask.questions[0]
    for entry in reversed([entry for entry in entries if entry.kind == "asked"]):
        before = entry.read_matter().ask
        if before is None or before.key == ask.key:
            continue
        if any((old.id, old.item) == (one.id, one.item) for old in before.questions):
            alone = len(before.questions) == len(ask.questions) == 1  # else others' blocks differ
            was, now = (
                "\n\n".join((said.context, *(said.blocks if alone else ())))
                for said in (before.preamble, ask.preamble)
            )
            gone = set(was.splitlines()) - set(now.splitlines())
            return prose.compare(was, now, one.title or "text") if gone else Markup("")
    return Markup("")


def show_ask(
    ask: Ask,
    notes: Sequence[Note],
    fields: Fields,
    problems: Mapping[int, str],
    pictures: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """An Ask with its notes, wherever it comes from."""
    shown = replace(ask.preamble, extras=(), hints="").text  # which have places of their own
    new = [note for note in notes if note.text.strip() and note.text.strip() not in shown]
    new = [note for note in new if note.text != PERSON]  # there is a mark for that
    hints = ask.preamble.hints.split(" | ") if ask.preamble.hints else []
    return {
        "preamble": render(shown, pictures),
        "changes": "",
        "hints": [hint for hint in hints if hint not in (wording.BLANK, wording.UP)],
        "attached": (),
        "notes": [note.text for note in new if note.kind != "held"],
        "held": [f"{note.item}: {note.text}" for note in notes if note.kind == "held"],
        "sheets": [
            sheet(ask, number, question, fields, problems.get(number, ""))
            for number, question in enumerate(ask.questions)
        ],
    }


def sheet(
    ask: Ask, number: int, question: Question, fields: Fields, problem: str
) -> dict[str, Any]:
    """One question of a page, perhaps with what was filled in and could not stand."""
    where, text = tell_question(ask, question)
    header = question.header if len(ask.questions) > 1 else ""  # it tells several apart
    return {
        "number": number,
        "where": " › ".join(filter(None, (header, where))),
        "text": text,
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
    value = fields[name][-1] if fields.get(name) else as_text(now)
    kinds = [kind for kind in one.types if kind != "null"]
    options = one.schema.get("enum") or ([True, False] if kinds == ["boolean"] else [])
    choices = [as_text(choice) for choice in options]
    return {
        "name": name,
        "label": one.label,
        "about": one.schema.get("description", ""),
        "kind": "choice" if choices else kinds[0] if len(kinds) == 1 else "string",
        "choices": choices if value in choices else ["", *choices],
        "value": value,
        "long": "\n" in value or len(value) > 60,
        "required": one.required,
        "proposed": as_text(one.schema.get("default")),
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


HARMLESS = "default-src 'none'; sandbox"
LARGEST_SHOWN = 200_000
"""Characters of an attachment that are looked at to show it in place."""


def find_address(run: str, digest: str) -> str:
    """Where an attachment is served."""
    return f"/runs/{run}/attachments/{digest}"


def find_pictures(run: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The attached images, which Markdown may show."""
    images = (one for one in list_attachments(arguments) if one.shape == "image")
    return {one.name: find_address(run, one.digest) for one in images}


def show_attachments(
    store: Store, run: str, arguments: Mapping[str, Any], origin: str, fields: Fields
) -> list[dict[str, Any]]:
    """The attachments of a run as a page shows them, with what changed since another run."""
    pictures = find_pictures(run, arguments)
    earlier = {}
    with suppress(QuandaryError):  # it may be gone
        known = list_attachments(arguments_of(store, origin)) if origin else []
        earlier = {one.name: one.digest for one in known}
    return [
        {
            "name": one.name,
            "size": tell_size(one.size),
            "digest": one.digest,
            "address": find_address(run, one.digest),
            "is_text": one.is_text,
            "shown": _show(store, run, one, pictures),
            "changes": _compare(store, one, earlier.get(one.name, one.digest)),
            "remarks": "\n".join(fields.get(f"remarks:{one.name}", [])),
        }
        for one in list_attachments(arguments)
    ]


def _show(store: Store, run: str, one: Attachment, pictures: dict[str, str]) -> Markup:
    """What is in an attachment, as far as it can be shown in place."""
    if one.shape == "image":
        return Markup('<img src="%s" alt="%s">') % (find_address(run, one.digest), one.name)
    data = store.document(one.digest) if one.is_text else None
    if data is None:
        return Markup("")
    text = reveal(data.decode(errors="replace"))
    head, cut = text[:LARGEST_SHOWN], len(text) > LARGEST_SHOWN
    if one.shape == "markdown":
        return prose.render(head, pictures)
    shape = "text" if cut and one.shape == "json" else one.shape
    renders = {"diff": prose.render_diff, "csv": prose.render_table, "json": prose.render_json}
    shown = renders[shape](head) if shape in renders else prose.render_lines(head, one.name)
    more = Markup("<p>This is its beginning; the whole file is behind its name.</p>")
    return shown + more if cut else shown


def _compare(store: Store, one: Attachment, before: str) -> Markup:
    """What changed in a text since it was shown in the run before."""
    old, new = (store.document(digest) for digest in (before, one.digest))
    if before == one.digest or not one.is_text or old is None or new is None:
        return Markup("")
    was, now = (reveal(data.decode(errors="replace"))[:LARGEST_SHOWN] for data in (old, new))
    return prose.compare(was, now, one.name)


@get("/runs/{run:str}/attachments/{digest:str}", sync_to_thread=True, include_in_schema=False)
def attachment(request: Visit, site: TheSite, run: RunId, digest: FromPath[str]) -> Response[bytes]:
    """An attachment as a file. Whatever it is, it is never a page of ours, and runs nothing."""
    name = site.find_run(request, run)
    about, data = load(site.store, name, digest)
    media = "text/plain; charset=utf-8" if about.is_text else find_media(data)
    way = "inline" if about.is_text or about.shape == "image" else "attachment"
    return Response(
        data,
        media_type=media,
        headers={
            "Content-Security-Policy": HARMLESS,
            "Content-Disposition": f"{way}; filename*=UTF-8''{quote(about.name, safe='')}",
        },
    )
