"""Proof: what a phase declares that it will show, and whether what was given shows it.

A field is declared by its name, or with a small JSON Schema: `type`, `enum`, `minLength`,
`pattern`, and our own `path-exists`. Whatever else a schema asks for is refused where it is
declared, since a rule that nobody checks would only look like one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.errors import ParseError, Rejected
from quandary.model.track import PATH_EXISTS, Field, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

LARGEST = 16 * 1024 * 1024
_CHECKED = frozenset(("type", "enum", "minLength", "pattern", PATH_EXISTS))
_SAID = frozenset(("title", "description", "default", "examples", "$comment", "$schema", "$id"))
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_NAMES: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_UNFILLED = re.compile(r"_{3,}")
_KEY = re.compile(r"[A-Za-z_][\w .-]*")


# -- what is declared ----------------------------------------------------------------------------


def read_fields(proof: object, where: str) -> tuple[Field, ...]:
    """The fields of a phase: names, schemas with a `name`, or schemas by name."""
    entries = proof if isinstance(proof, list) else [proof] if proof else []
    found: dict[str, Field] = {}
    for entry in entries:
        for field in _fields(entry, where):
            if field.name in found:
                raise ParseError(f"{where}: the proof field {field.name} is declared twice")
            found[field.name] = field
    return tuple(found.values())


def _fields(entry: object, where: str) -> Iterable[Field]:
    if isinstance(entry, str) and entry.strip():
        return [Field(entry.strip())]
    if not isinstance(entry, dict) or not entry:
        raise ParseError(f"{where}: a proof field is a name, or a schema with a name")
    if isinstance(entry.get("name"), str):
        schema = {key: value for key, value in entry.items() if key not in ("name", "required")}
        return [_field(entry["name"], schema, where, required=entry.get("required") is not False)]
    if isinstance(entry.get("properties"), dict):
        named = entry["properties"]
        needed = entry.get("required", list(named))
        return [_field(name, named[name], where, required=name in needed) for name in named]
    if _CHECKED & entry.keys():
        raise ParseError(f'{where}: a proof schema has no name; give it one: "name": "tests"')
    return [_field(name, schema, where) for name, schema in entry.items()]


def _field(name: str, schema: object, where: str, *, required: bool = True) -> Field:
    name, schema = name.strip(), {} if schema is True else schema
    where = f"{where}: the proof field {name}"
    if not name or not isinstance(schema, dict):
        raise ParseError(f"{where} needs a name and a schema, such as {{}}")
    schema = dict(schema)
    if schema.get("format") == PATH_EXISTS:
        del schema["format"]
        schema[PATH_EXISTS] = True
    strange = sorted(schema.keys() - _CHECKED - _SAID)
    if strange:
        known = ", ".join(sorted(_CHECKED))
        raise ParseError(f"{where} asks for {strange[0]}, which is not checked here; use {known}")
    field = Field(name, schema, required)
    problem = _schema_problem(field, schema)
    if problem:
        raise ParseError(f"{where}: {problem}")
    return field


def _schema_problem(field: Field, schema: dict[str, Any]) -> str:
    if not all(isinstance(kind, str) and kind in _TYPES for kind in field.types):
        return f"type is one of {', '.join(_TYPES)}"
    if "enum" in schema and (not isinstance(schema["enum"], list) or not schema["enum"]):
        return "enum is a list of values"
    shortest = schema.get("minLength", 0)
    if isinstance(shortest, bool) or not isinstance(shortest, int) or shortest < 0:
        return "minLength is a number from 0 on"
    if not isinstance(schema.get(PATH_EXISTS, True), bool):
        return f"{PATH_EXISTS} is true or false"
    try:
        re.compile(schema.get("pattern", ""))
    except (re.error, TypeError) as error:
        return f"pattern is no regular expression ({error})"
    return ""


# -- what is given -------------------------------------------------------------------------------


class Gaps(NamedTuple):
    """What is wrong with a proof, all of it."""

    missing: tuple[str, ...] = ()
    unfilled: tuple[str, ...] = ()
    wrong: dict[str, str] = {}  # noqa: RUF012 - never changed
    """Fields whose values are not what was declared, and why."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every field that something is wrong with."""
        return (*self.missing, *self.unfilled, *self.wrong)

    @property
    def text(self) -> str:
        """All of it in one line."""
        parts = [f"missing: {', '.join(self.missing)}"] if self.missing else []
        parts += [f"unfilled: {', '.join(self.unfilled)}"] if self.unfilled else []
        parts += [f"{name} {why}" for name, why in self.wrong.items()]
        return "; ".join(parts)


def find_gaps(
    fields: Iterable[Field], given: Mapping[str, Any], exists: Callable[[str], bool]
) -> Gaps:
    """Compare a proof with what is due; `exists` says whether a path is there."""
    missing, unfilled, wrong = [], [], {}
    for field in fields:
        value = given.get(field.name)
        if is_missing(value):
            missing += [field.name] if field.required else []
        elif isinstance(value, str) and _UNFILLED.fullmatch(value.strip()):
            unfilled.append(field.name)
        elif why := _misfit(field, value, exists):
            wrong[field.name] = why
    return Gaps(tuple(missing), tuple(unfilled), wrong)


def is_missing(value: object) -> bool:
    """Nothing is shown by null, false or blank text, nor by a list or an object of only those."""
    if isinstance(value, list | dict):
        return all(map(_is_blank, value.values() if isinstance(value, dict) else value))
    return _is_blank(value)


def _is_blank(value: object) -> bool:
    return value is None or value is False or (isinstance(value, str) and not value.strip())


def _misfit(field: Field, value: object, exists: Callable[[str], bool]) -> str:
    schema, kinds = field.schema, field.types
    if kinds and not any(_has_type(value, kind) for kind in kinds):
        return f"must be {' or '.join(kinds)} and is {_NAMES[type(value)]}"
    if "enum" in schema and not any(
        value == choice and isinstance(value, bool) == isinstance(choice, bool)
        for choice in schema["enum"]
    ):
        return "must be one of " + ", ".join(shown(choice) for choice in schema["enum"])
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            return f"must have at least {schema['minLength']} characters"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return f"must match {schema['pattern']}"
    if schema.get(PATH_EXISTS):
        paths = value if isinstance(value, list) else [value]
        absent = [p for p in paths if not isinstance(p, str) or not exists(p)]
        if absent:
            return f"must name a path that exists, and {shown(absent[0])} does not"
    return ""


def _has_type(value: object, kind: str) -> bool:
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean")


class Given(NamedTuple):
    """A proof as it was sent."""

    values: dict[str, Any]
    lines: bool = False
    """It came as `key: value` lines, the old way."""


def read_proof(text: str) -> Given:
    """A proof: a JSON object, or `key: value` lines."""
    body = text.removeprefix("\ufeff").strip()
    if not body:
        return Given({})
    try:
        values = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        if body[0] in '{["':
            raise Rejected(f"the proof is not JSON ({error}); send a JSON object") from None
        return _from_lines(body)
    if not isinstance(values, dict):
        what = _NAMES[type(values)]
        raise Rejected(f'the proof is {what}; send a JSON object such as {{"tests": "42 passed"}}')
    return Given(values)


def _from_lines(body: str) -> Given:
    values = {}
    for number, line in enumerate(body.splitlines(), 1):
        if not line.strip():
            continue
        key, colon, value = line.partition(":")
        if not colon or value[:1].strip() or not _KEY.fullmatch(key.strip()):
            raise Rejected(f"line {number} of the proof says no `key: value`; send a JSON object")
        values[key.strip()] = value.strip()
    return Given(values, lines=True)


def read_typed(field: Field, text: str) -> Any:  # noqa: ANN401 - whatever the schema asks for
    """The value that a typed text stands for, where the field is no text."""
    kinds = field.types
    fitting = [choice for choice in field.schema.get("enum", []) if shown(choice) == text.strip()]
    if fitting:
        return fitting[0]
    if not kinds or "string" in kinds:
        return text
    try:
        return msgspec.json.decode(text.strip())
    except msgspec.DecodeError:
        listed = [part.strip() for part in text.split(",") if part.strip()]
        return listed if "array" in kinds else text


def convert_typed(
    fields: Iterable[Field], values: Mapping[str, Any], names: Iterable[str]
) -> dict[str, Any]:
    """The values of a proof; those of the named ones that are text become what is asked for."""
    names = set(names)
    typed = [f for f in fields if f.name in names and isinstance(values.get(f.name), str)]
    return {**values, **{field.name: read_typed(field, values[field.name]) for field in typed}}
