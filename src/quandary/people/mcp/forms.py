"""An Ask as a form that a chat client shows, and what a form that came back means.

Every question has up to three fields: the choices, a line for words of the person's own in their
place, and a line for a comment beside them. None of them has to be filled in, because each can
stand alone; a question whose fields are all empty has no answer. A question that is meant to be
read as text comes as text, with a single line for the reply.

What is no answer:

- a form that comes back empty;
- a choice with words in the place of a choice beside it, since either could be what is meant: it is
  told, and the question comes again;
- a form that was declined or closed sooner than anybody can read: a client says so by itself where
  it has nobody to show a form to.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from quandary.desk import returns
from quandary.desk.returns import kind_of, text_of
from quandary.desk.sheets import fold, plain_text, sheets, shorten
from quandary.errors import ParseError, QuandaryError
from quandary.model.asks import Note, Outcome, Reply
from quandary.model.tree import OTHER
from quandary.reading import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quandary.desk.sheets import Sheet
    from quandary.model.asks import Ask, Question

CHOICE, WORDS, COMMENT, REPLY = "answer", "other", "comment", "reply"
INSTANT = 0.5
"""Sooner than this, in seconds, no person has read a form."""
_MENU = "Other… — leave the line for your own words empty to see what else there is"


class Form(NamedTuple):
    """What a client is sent: a text, and the fields as a flat JSON Schema."""

    message: str
    schema: dict[str, Any]


class Came(NamedTuple):
    """What a form means: a reply, or something that is none; and what has to be told besides."""

    response: Reply | Outcome | None
    notes: tuple[Note, ...] = ()


# -- out -----------------------------------------------------------------------------------------


def form(ask: Ask, notes: Sequence[Note] = (), *, titled: bool = True) -> Form:
    """The form of an Ask, below what has been noted since the one before.

    Clients from before 2025-11-25 know no titled choices and cannot let anybody tick several.
    """
    if ask.kind == "advisory":
        line = _line("Your reply", "A number, a label, or your own words")
        text = _told(ask, [note for note in notes if note not in ask.notes], plain_text(ask))
        return Form(text, _object({REPLY: line}, required=[REPLY]))
    fields: dict[str, Any] = {}
    several = len(ask.questions) > 1
    for number, sheet in enumerate(sheets(ask), 1):
        name = fold(sheet.question.header) or f"Question {number}"
        words, comment = "In your own words", "Comment"
        if several:
            words, comment = f"{name}: in your own words", f"{name}: comment"
        choices = _choices(sheet, name, titled=titled)
        if choices:
            fields[field(CHOICE, number)] = choices
        place = "Besides what is ticked" if sheet.question.multi else "In place of a choice"
        about = place if choices else sheet.text
        fields[field(WORDS, number)] = _line(words, about)
        fields[field(COMMENT, number)] = _line(comment, "Said beside the answer")
    return Form(_told(ask, notes, ask.preamble.text), _object(fields))


def field(kind: str, number: int) -> str:
    """The name of a field of the question at a place in the Ask, counted from 1."""
    return f"{kind}_{number}"


def _told(ask: Ask, notes: Sequence[Note], text: str) -> str:
    """What happened, and below it what the Ask says; nothing twice."""
    said = (note.text.strip() for note in notes)
    above = "\n".join(line for line in dict.fromkeys(said) if line and line not in text)
    return "\n\n".join(part for part in (above, text.strip()) if part) or ask.key


def _choices(sheet: Sheet, name: str, *, titled: bool) -> dict[str, Any]:
    """The field in which something is chosen; there is none where nothing is offered."""
    question = sheet.question
    options = [(o.choice.code, _title(o.label, o.description)) for o in sheet.options if o.choice]
    if question.menu and OTHER not in dict(options):
        options.append((OTHER, _MENU))
    if not options:
        return {}
    about = {"title": name, "description": sheet.text}
    if titled:
        listed = [{"const": code, "title": title} for code, title in options]
        if question.multi:
            return {"type": "array", **about, "items": {"anyOf": listed}}
        return {"type": "string", **about, "oneOf": listed}
    if question.multi:
        lines = "\n".join(f"{code}: {title}" for code, title in options)
        about["description"] += f"\n\n{lines}\n\nName those that you choose, with commas."
        return {"type": "string", **about}
    codes, titles = zip(*options, strict=True)
    return {"type": "string", **about, "enum": list(codes), "enumNames": list(titles)}


def _title(label: str, description: str) -> str:
    return label if description in ("", label) else f"{label} — {description}"


def _line(title: str, description: str) -> dict[str, Any]:
    return {"type": "string", "title": title, "description": description}


def _object(fields: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required)}


# -- back ----------------------------------------------------------------------------------------


def came(
    ask: Ask,
    action: Literal["accept", "decline", "cancel"],
    content: Mapping[str, Any] | None,
    seconds: float,
) -> Came:
    """What a client sent back so many seconds after it was given the form."""
    if action == "accept":
        try:
            return _filled_in(ask, content or {})
        except QuandaryError as error:
            return Came(Outcome("error", str(error)))
    done = "declined" if action == "decline" else "closed"
    if seconds < INSTANT:
        told = f"the client {done} the form by itself: nobody reads one in {seconds:.2f} s"
        return Came(Outcome("unavailable", told))
    if action == "decline":
        return Came(Outcome("declined", "declined in the client's form"))
    return Came(Outcome("dismissed", "the form was closed without an answer"))


def _filled_in(ask: Ask, content: Mapping[str, Any]) -> Came:
    if ask.kind == "advisory":
        text = _text(content, REPLY)
        told: dict[str, Any] = {"response": text}
        return Came(returns.parse(json.dumps(told), ask, read) if text else _nothing())
    entries, notes = [], []
    for number, question in enumerate(ask.questions, 1):
        entry = _entry(question, content, number)
        if isinstance(entry, Note):
            notes.append(entry)
        elif entry is not None:
            entries.append({"key": question.key, **entry})
    if entries:
        return Came(returns.parse(json.dumps({"answers": entries}), ask, read), tuple(notes))
    return Came(None if notes else _nothing(), tuple(notes))


def _entry(
    question: Question, content: Mapping[str, Any], number: int
) -> dict[str, Any] | Note | None:
    """The answer in the fields of a question, if there is one; or why it cannot be told.

    A comment alone is what the person has to say. To go on with nothing ticked, where something
    was ticked on pages before, is to choose just that.
    """
    picked = _picked(content, field(CHOICE, number))
    words = _text(content, field(WORDS, number))
    comment = _text(content, field(COMMENT, number))
    if isinstance(picked, str) and question.multi:  # from a client that knows no lists
        picked, words = None, "\n".join(part for part in (picked, words) if part)
    codes = [picked] if isinstance(picked, str) else picked or []
    chosen = [code for code in codes if code != OTHER]
    if words and chosen and not question.multi:
        known = {choice.code: choice.label for choice in question.choices}
        both = f"{known.get(chosen[0], chosen[0])} was chosen, and “{shorten(words)}” was written"
        return Note("refused", f"{both} in the place of a choice. Which is meant?", question.item)
    if not codes and not words:
        if picked is not None and question.gathered:
            return {"picked": list(question.gathered), "comment": comment}
        return {"picked": [], "text": comment} if comment else None
    return {"picked": codes, "text": words, "comment": comment}


def _picked(content: Mapping[str, Any], name: str) -> str | list[str] | None:
    value = content.get(name)
    if isinstance(value, str):
        return value.strip() or None
    if value is None or (isinstance(value, list) and all(isinstance(v, str) for v in value)):
        return value
    raise ParseError(f"{name} is {kind_of(value)}; it is one of the choices, or a list of them")


def _text(content: Mapping[str, Any], name: str) -> str:
    return (text_of(content.get(name), name) or "").strip()


def _nothing() -> Outcome:
    return Outcome("dismissed", "the form came back empty")
