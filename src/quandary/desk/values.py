"""The values that an answer carries: said in words, read out of what was typed, checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from quandary.errors import Rejected
from quandary.model.asks import (
    Answer,
    Field,
    Question,
    find_changes,
    read_annotations,
    read_defaults,
    shown,
)
from quandary.model.text import printable

_LINE = re.compile(r"\s*([^:=\n]{1,100}?)\s*[:=](?:\s+|\Z)(.*?)\s*", re.DOTALL)
HOW = "To change one, add a line such as `{}: {}` to your reply, or to a note beside it."


def tell_fields(question: Question) -> list[str]:
    """Each field on a line, with what stands in it."""
    now = question.values
    return [
        printable(
            f"{field.described}{'' if field.label == field.name else f', {field.label}'}: "
            f"{shown(now[field.name]) if now.get(field.name) is not None else '(empty)'}"
        )
        for field in question.fields
    ]


def tell_how(question: Question) -> str:
    """How somebody changes a value who has no input for it."""
    first, now = question.fields[0], question.values
    return HOW.format(first.name, printable(shown(now.get(first.name, "…"))))


def tell_changes(question: Question, values: Mapping[str, Any]) -> list[str]:
    """What was changed against what was proposed: `replicas: 3 → 5`."""
    usual = read_defaults(question.fields)
    return [
        f"{name}: {f'{shown(usual[name])} → ' if name in usual else ''}{shown(value)}"
        for name, value in find_changes(question.fields, values).items()
    ]


def _names(question: Question) -> dict[str, str]:
    return {name.casefold(): f.name for f in question.fields for name in (f.label, f.name)}


def name_values(question: Question, given: object) -> dict[str, Any]:
    """The values in an object; nothing where it has anything else."""
    names = _names(question)
    if not isinstance(given, dict) or any(name.casefold() not in names for name in given):
        return {}
    return {names[name.casefold()]: value for name, value in given.items()}


def take_values(question: Question, text: str) -> tuple[dict[str, Any], str]:
    """The values in a text, as `name: value` lines or as a JSON object, and the rest of it."""
    names = _names(question)
    if not names or not text:
        return {}, text
    if text.lstrip().startswith("{"):
        with suppress(msgspec.DecodeError):
            if values := name_values(question, msgspec.json.decode(text)):
                return values, ""
    values, rest = {}, []
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found and found[1].casefold() in names:
            values[names[found[1].casefold()]] = found[2]
        else:
            rest.append(line)
    return (values, "\n".join(rest).strip()) if values else ({}, text)


def read_typed(question: Question, text: str, read: Callable[[str], Answer]) -> Answer:
    """What was typed, without the values and remarks in it, which alone choose nothing."""
    found, rest = read_annotations(text) if "@" in text else ([], text)
    values, rest = take_values(question, rest)
    if not values and not found:
        return read(text)
    beside: dict[str, Any] = {"values": values, "annotations": tuple(found), "raw": text}
    if not rest:
        return Answer(question.key, prefix="fill", **beside)
    return replace(read(rest), **beside)


def check_values(question: Question, answer: Answer) -> Answer:
    """The answer with those values that somebody changed, each as its field declares it.

    Text stands for what a field asks for. Whoever chooses an option has filled in all that has to
    be; own words, and what is no answer, can go without.
    """
    fields = {field.name: field for field in question.fields}
    now, changed = question.values, {}
    for name, given in answer.values.items():
        if name not in fields:
            known = f"there are {', '.join(fields)}" if fields else "it has none"
            raise Rejected(f"{question.key} has no field {shown(name)}; {known}")
        value = _read_value(fields[name], given)
        if (
            name not in now
            or now[name] != value
            or isinstance(now[name], bool) != isinstance(value, bool)
        ):
            changed[name] = value
    now |= changed
    empty = [f.label for f in question.fields if f.required and now.get(f.name) in (None, "")]
    if empty and answer.picked and answer.settles and not answer.extra:
        raise Rejected(f"fill in {', '.join(empty)} first; the question still waits")
    return answer if changed == answer.values else replace(answer, values=changed)


def _read_value(field: Field, given: Any) -> Any:  # noqa: ANN401 - whatever the schema asks for
    from quandary.formats import proof  # noqa: PLC0415 - few questions have fields

    value = proof.read_typed(field, given) if isinstance(given, str) else given
    if value is None or (isinstance(value, str) and not value.strip()):
        return "" if isinstance(value, str) and "string" in (field.types or ("string",)) else None
    if why := proof.find_misfit(field, value):
        raise Rejected(f"{field.label} {why}; the question still waits")
    return value
