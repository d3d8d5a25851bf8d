"""Fields with a small schema: what is declared of them, and whether values fit.

Proofs of phases have them, and questions whose answer carries values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from quandary.errors import ParseError, Rejected
from quandary.model.asks import PATH_EXISTS, Field, shown
from quandary.model.text import is_blank
from quandary.settings.files import compile_pattern

_CHECKED = frozenset(("type", "enum", "minLength", "pattern", PATH_EXISTS))
_SAID = frozenset(("title", "description", "default", "examples", "$comment", "$schema", "$id"))
_WHOLE = frozenset(("type", "properties", "required", "additionalProperties"))
_TYPES: dict[str, Any] = {"string": str, "boolean": bool, "array": list, "object": dict}
_TYPES |= {"number": int | float, "integer": int | float, "null": type(None)}
_NAMES: dict[type, str] = {str: "text", bool: "true or false", int: "a number", float: "a number"}
_NAMES |= {list: "a list", dict: "an object", type(None): "null"}
_LARGEST_PATTERN = 5_000
_STEPS = 50_000_000  # no longer than this, less than a second, is a pattern tried
_UNFILLED = re.compile(r"_{3,}")


def read_fields(proof: object, where: str) -> tuple[Field, ...]:
    """The fields that a phase declares, with patterns that can be checked."""
    fields = read_unchecked(proof, where, declared=True)
    for field in fields:
        if problem := _pattern_problem(field):
            raise ParseError(f"{where}: the field {field.name}: {problem}")
    return fields


def read_unchecked(proof: object, where: str, *, declared: bool = False) -> tuple[Field, ...]:
    """The fields of a phase: names, schemas with a `name`, or schemas by name."""
    entries = proof if isinstance(proof, list) else [proof] if proof else []
    found: dict[str, Field] = {}
    for entry in entries:
        for field in _fields(entry, where, declared=declared):
            if field.name in found:
                raise ParseError(f"{where}: the field {field.name} is declared twice")
            found[field.name] = field
    return tuple(found.values())


def _fields(entry: object, where: str, *, declared: bool) -> Iterable[Field]:
    if isinstance(entry, str) and entry.strip():
        return [Field(entry.strip())]
    if not isinstance(entry, dict) or not entry:
        raise ParseError(f"{where}: a field is a name, or a schema with a name")
    if isinstance(entry.get("name"), str):
        schema = {key: value for key, value in entry.items() if key not in ("name", "required")}
        return [_field(entry["name"], schema, where, required=entry.get("required") is not False)]
    if isinstance(entry.get("properties"), dict):
        named = entry["properties"]
        needed = entry.get("required", list(named))
        if not isinstance(needed, list) or not all(isinstance(name, str) for name in needed):
            raise ParseError(f"{where}: required is a list of names")
        if declared and (strange := sorted(entry.keys() - _WHOLE - _SAID)):
            raise ParseError(f"{where}: the proof asks for {strange[0]}, which is not checked here")
        named = dict.fromkeys([*named, *needed], True) | named
        return [_field(name, named[name], where, required=name in needed) for name in named]
    if _CHECKED & entry.keys():
        raise ParseError(f'{where}: a schema has no name; give it one: "name": "tests"')
    return [_field(name, schema, where) for name, schema in entry.items()]


def _field(name: str, schema: object, where: str, *, required: bool = True) -> Field:
    name, schema = name.strip(), {} if schema is True else schema
    where = f"{where}: the field {name}"
    if not name or not isinstance(schema, dict):
        raise ParseError(f"{where} needs a name and a schema, such as {{}}")
    schema = dict(schema)
    if schema.get("format") == PATH_EXISTS:
        del schema["format"]
        schema[PATH_EXISTS] = True
    if strange := sorted(schema.keys() - _CHECKED - _SAID):
        known = ", ".join(sorted(_CHECKED))
        raise ParseError(f"{where} asks for {strange[0]}, which is not checked here; use {known}")
    field = Field(name, schema, required)
    if problem := _schema_problem(field):
        raise ParseError(f"{where}: {problem}")
    return field


def _schema_problem(field: Field) -> str:
    schema = field.schema
    if not all(isinstance(kind, str) and kind in _TYPES for kind in field.types):
        return f"type is one of {', '.join(_TYPES)}"
    if "enum" in schema and (not isinstance(schema["enum"], list) or not schema["enum"]):
        return "enum is a list of values"
    shortest = schema.get("minLength", 0)
    if isinstance(shortest, bool) or not isinstance(shortest, int) or shortest < 0:
        return "minLength is a number from 0 on"
    if not isinstance(schema.get(PATH_EXISTS, True), bool):
        return f"{PATH_EXISTS} is true or false"
    if not isinstance(schema.get("pattern", ""), str):
        return "pattern is no regular expression (it is text)"
    return ""


def _pattern_problem(field: Field) -> str:
    try:
        if compile_pattern(field.schema.get("pattern", "")).programsize > _LARGEST_PATTERN:
            raise ValueError("it is too large")  # noqa: TRY301 - like those that do not compile
    except ValueError as error:
        return f"pattern is no regular expression that can be checked here ({error})"
    return ""


_NOTATION = re.compile(
    r"\s*(?P<name>[^:=()]+?)\s*(?:\((?P<title>[^()]*)\)\s*)?"
    r"(?::\s*(?P<type>[^=?]*?)\s*(?P<optional>\?)?\s*)?(?:=\s*(?P<default>.*?)\s*)?",
    re.DOTALL,
)
FORM = "'name: type = default', with text, integer, number, boolean or a|b as the type"


def declare_fields(entries: Iterable[Any]) -> tuple[Field, ...]:
    """The fields of a question: schemas with a name, or `name (label): type = default` as text. A
    type of several words with `|` between them is a choice of those; `?` behind it makes the field
    optional. A default has to fit.
    """
    rows = [_read_notation(entry) if isinstance(entry, str) else entry for entry in entries]
    for number, row in enumerate(rows):
        if isinstance(row, dict):
            rows[number] = {{"label": "title"}.get(key, key): value for key, value in row.items()}
    fields = read_fields(rows, "fields")
    for field in fields:
        if PATH_EXISTS in field.schema:
            raise ParseError(f"fields: the field {field.name}: {PATH_EXISTS} is for proofs")
        default = field.schema.get("default")
        if default is not None and (why := find_misfit(field, default)):
            raise ParseError(f"fields: the default of {field.name} {why}")
    return fields


def _read_notation(text: str) -> dict[str, Any]:
    if not (found := _NOTATION.fullmatch(text)):
        raise ParseError(f"the field {text!r:.60}: write it as {FORM}")
    kind = found["type"] or "string"
    schema: dict[str, Any] = {"type": {"text": "string"}.get(kind, kind)}
    if "|" in kind:
        schema = {"enum": [choice.strip() for choice in kind.split("|")]}
    if found["title"]:
        schema["title"] = found["title"].strip()
    if found["default"] is not None:
        field = Field(found["name"], schema)
        if problem := _schema_problem(field):
            raise ParseError(f"the field {field.name}: {problem}")
        schema["default"] = read_typed(field, found["default"])
    return {"name": found["name"], **schema, "required": not found["optional"]}


class Gaps(NamedTuple):
    """What is wrong with a proof, all of it."""

    missing: tuple[str, ...] = ()
    unfilled: tuple[str, ...] = ()
    wrong: dict[str, str] = {}  # noqa: RUF012 - never changed
    """Fields whose values are not what was declared, and why."""

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.missing, *self.unfilled, *self.wrong)

    @property
    def text(self) -> str:
        named = {"missing": self.missing, "unfilled": self.unfilled}
        parts = [f"{what}: {', '.join(names)}" for what, names in named.items() if names]
        return "; ".join([*parts, *(f"{name} {why}" for name, why in self.wrong.items())])


def find_gaps(
    fields: Iterable[Field], given: Mapping[str, Any], exists: Callable[[str], bool]
) -> Gaps:
    """Compare a proof with what is due; `exists` says whether a path is there."""
    missing, unfilled, wrong = [], [], {}
    for field in fields:
        value = given.get(field.name)
        if not (said := list(_contents(value))):
            missing += [field.name] if field.required else []
        elif all(isinstance(one, str) and _UNFILLED.fullmatch(one.strip()) for one in said):
            unfilled.append(field.name)
        elif why := find_misfit(field, value, exists):
            wrong[field.name] = why
    return Gaps(tuple(missing), tuple(unfilled), wrong)


def _contents(value: object) -> Iterator[object]:
    """What a value shows, at any depth; nothing is shown by null, false or blank text."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict | list):
            left += one.values() if isinstance(one, dict) else one
        elif not (one is None or one is False or (isinstance(one, str) and is_blank(one))):
            yield one


def find_misfit(
    field: Field, value: object, exists: Callable[[str], bool] = lambda _: False
) -> str:
    """Why a value is not what the field declares; nothing where it is."""
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
        if "pattern" in schema and (why := _pattern_misfit(field, value)):
            return why
    if schema.get(PATH_EXISTS):
        paths = value if isinstance(value, list) else [value]
        if absent := [p for p in paths if not isinstance(p, str) or not exists(p)]:
            return f"must name a path that exists, and {shown(absent[0])} does not"
    return ""


def _pattern_misfit(field: Field, text: str) -> str:
    """Why a text does not match; tracks of before may have a pattern that cannot be checked."""
    if problem := _pattern_problem(field):
        return f"cannot be checked: its {problem}; declare the track again"
    pattern = compile_pattern(field.schema["pattern"])
    if pattern.programsize * len(text) > _STEPS:
        return "is too long to be compared with its pattern"
    found = pattern.search(text.encode(errors="replace").decode())
    return "" if found else f"must match {field.schema['pattern']}"


def _has_type(value: object, kind: str) -> bool:
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean")


class Given(NamedTuple):
    """A proof as it was sent."""

    values: dict[str, Any]
    lines: bool = False  # it came as `key: value` lines, the old way


def read_proof(text: str) -> Given:
    """A proof: a JSON object, or `key: value` lines."""
    if not (body := text.removeprefix("\ufeff").strip()):
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
        if not colon or value[:1].strip() or is_blank(key):
            raise Rejected(f"line {number} of the proof says no `key: value`; send a JSON object")
        values[key.strip()] = value.strip()
    return Given(values, lines=True)


_TRUTHS = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


def read_typed(field: Field, text: str) -> Any:  # noqa: ANN401 - whatever the schema asks for
    """The value that a typed text stands for, where the field is no text."""
    kinds, said = field.types, text.strip().casefold()
    for choice in field.schema.get("enum", []):
        if shown(choice).casefold() == said:
            return choice
    if "boolean" in kinds and said in _TRUTHS:
        return _TRUTHS[said]
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
