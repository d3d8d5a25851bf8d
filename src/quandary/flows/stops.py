"""Stops: an agent that cannot go on before a person has answered its question, or allowed a step.

A stop in the middle of a walk's step becomes a question of that run. What a person says is told to
the agent's session, which goes on from there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from quandary.model.asks import Choice, Question, Required
from quandary.model.calls import Resumption, Stopped
from quandary.model.requests import PermitRequest, name_action
from quandary.model.text import LETTERS

if TYPE_CHECKING:
    from quandary.flows import Steps
    from quandary.flows.asking import Chooser, Inquiry

TOOL = re.compile(r"(?:mcp__.+__)?AskUserQuestion")
"""The question tool of a host."""
_RECOMMENDED = re.compile(r"\s*[(\[]\s*recommended\s*[)\]]", re.IGNORECASE)
_UNCLEAR = "This cannot be shown to the person: give each question a text and options of its own."


def resolve(
    stopped: Stopped, agent: str, chooser: Chooser, frame: Inquiry, require: Required
) -> Steps[Resumption]:
    """Ask what an agent stopped for, and give what its session is told.

    Its questions are asked as it asks them. What it wants to do only a person can allow, with the
    choices that every permit has.
    """
    if TOOL.fullmatch(stopped.tool):
        chooser.require = require
        return (yield from _ask_questions(stopped, agent, chooser, frame))
    from quandary.flows import permit  # noqa: PLC0415 - not where hooks only read questions

    chooser.require = "person"
    request = PermitRequest(
        action=name_action(stopped.tool),
        input=stopped.input,
        tool=stopped.tool,
        folder=stopped.folder,
        host=agent,
        session=stopped.session,
        takes="text" if stopped.tool == "Bash" else "json",
    )
    asked = permit.make_inquiry(request)
    blocks = (*frame.blocks, permit.describe(request), *asked.blocks)
    placed = {"item": frame.item, "key": frame.key, "assignment": frame.assignment}
    inquiry = replace(asked, blocks=blocks, **placed)
    result = yield from permit.ask_permission(request, chooser, inquiry)
    return Resumption(stopped, *permit.tell_agent(request, result))


def _ask_questions(
    stopped: Stopped, agent: str, chooser: Chooser, frame: Inquiry
) -> Steps[Resumption]:
    """Ask an agent's questions, one after the other; the tool is used with the answers in it."""
    given = PermitRequest("", stopped.input).values
    listed = given.get("questions")
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    texts = {text for entry in entries if isinstance(text := entry.get("question"), str)}
    many = max((len(options_of(entry)) for entry in entries), default=0)
    if not entries or "" in texts or len(texts) < len(entries) or many > len(LETTERS):
        return Resumption(stopped, allow=False, message=_UNCLEAR)
    answers, notes = {}, {}
    for number, entry in enumerate(entries, 1):
        question = read_question(number, entry)
        inquiry = replace(
            frame,
            key=f"{frame.key}{number}",
            label=question.header or frame.label,
            text=f"{agent} asks:",
            asked=question.text,
            choices=question.choices,
            multi=question.multi,
            own_words=True,
            blocks=(*frame.blocks, *previews_of(entry)),
        )
        chosen = yield from chooser.inquire(inquiry)
        labels = dict(zip(LETTERS, map(label_of, options_of(entry)), strict=False))
        said = [*(labels[code] for code in chosen.codes), chosen.words]
        answers[entry["question"]] = ", ".join(filter(None, said))
        if chosen.comment:
            notes[entry["question"]] = {"notes": chosen.comment}
    answered = {**given, "answers": answers, **({"annotations": notes} if notes else {})}
    return Resumption(stopped, allow=True, input=msgspec.json.encode(answered).decode())


# -- a question as a host asks it ------------------------------------------------------------------


def read_question(number: int, entry: dict[str, Any]) -> Question:
    """A question of a call to a question tool."""
    choices = []
    for code, option in zip(LETTERS, options_of(entry), strict=False):
        label, marks = _RECOMMENDED.subn("", label_of(option))
        description = option.get("description") if isinstance(option, dict) else ""
        choices.append(Choice(code, label, str(description or ""), recommended=bool(marks)))
    return Question(
        key=f"{number}:",
        header=str(entry.get("header") or ""),
        text=str(entry.get("question") or "").strip(),
        choices=tuple(choices),
        multi=entry.get("multiSelect") is True,
        item=str(number),
    )


def options_of(entry: object) -> list[Any]:
    """What is offered with a question."""
    found = entry.get("options") if isinstance(entry, dict) else None
    return found if isinstance(found, list) else []


def label_of(option: object) -> str:
    """An option as the host spells it."""
    return str(option.get("label", "")) if isinstance(option, dict) else str(option)


def previews_of(entry: object) -> tuple[str, ...]:
    """What the options of a question look like, where the host shows that."""
    shown = ((o, o.get("preview")) for o in options_of(entry) if isinstance(o, dict))
    return tuple(
        f"**{option.get('label')}**\n\n{preview.strip()}"
        for option, preview in shown
        if isinstance(preview, str) and preview.strip()
    )
