"""`.state.json`, where a track is kept: read as people and programs wrote it, changed in place.

Whatever is not ours in the file stays as it is, byte for byte: members that we do not know, entries
of phases and of the history. Only what a move changes is written anew.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.errors import ParseError, QuandaryError, Rejected
from quandary.model.text import printable
from quandary.model.track import PATH_EXISTS, Field, Phase, Track, Transition, shown, split
from quandary.settings.files import compile_pattern, is_inside, read_text, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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
_LARGEST_PATTERN = 5_000
_STEPS = 50_000_000
"""No proof is compared with a pattern for longer than this, which is less than a second."""
_UNFILLED = re.compile(r"_{3,}")
_KEY = re.compile(r"[A-Za-z_][\w .-]*")


# -- what is declared ----------------------------------------------------------------------------


def read_fields(proof: object, where: str) -> tuple[Field, ...]:
    """The fields that a phase declares, with patterns that can be checked."""
    fields = _read_fields(proof, where)
    for field in fields:
        if problem := _pattern_problem(field):
            raise ParseError(f"{where}: the proof field {field.name}: {problem}")
    return fields


def _read_fields(proof: object, where: str) -> tuple[Field, ...]:
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
        if _is_missing(value):
            missing += [field.name] if field.required else []
        elif isinstance(value, str) and _UNFILLED.fullmatch(value.strip()):
            unfilled.append(field.name)
        elif why := _misfit(field, value, exists):
            wrong[field.name] = why
    return Gaps(tuple(missing), tuple(unfilled), wrong)


def _is_missing(value: object) -> bool:
    """Nothing is shown by null, false or blank text, nor by a list or an object of only those."""
    if isinstance(value, dict):
        value = list(value.values())
    return all(
        one is None or one is False or (isinstance(one, str) and not one.strip())
        for one in (value if isinstance(value, list) else [value])
    )


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
        if "pattern" in schema and (why := _pattern_misfit(field, value)):
            return why
    if schema.get(PATH_EXISTS):
        paths = value if isinstance(value, list) else [value]
        absent = [p for p in paths if not isinstance(p, str) or not exists(p)]
        if absent:
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


NAME = ".state.json"
PATIENCE = 30.0


class Passage(msgspec.Struct, frozen=True, omit_defaults=True, rename={"source": "from"}):
    """An entry of the history: how the track came to a phase, and who let it."""

    phase: str
    source: str = ""
    at: str = ""
    who: str = ""
    through: str = ""
    by: str = ""
    reason: str = ""
    """Why the user approved, as it was said."""
    proof: dict[str, Any] = {}
    run: str = ""
    """The run of the journal that has it too."""
    finished: bool = False

    @property
    def label(self) -> str:
        """The label of the phase; nothing where somebody wrote none."""
        return (split(self.phase) or ("",))[0]


class Kept(NamedTuple):
    """A track as its file has it."""

    members: dict[str, msgspec.Raw]
    track: Track
    history: tuple[Passage, ...]


# -- the file ------------------------------------------------------------------------------------


def path_in(folder: str) -> str:
    """Where the track of a folder is kept."""
    return os.path.join(folder, NAME)


def load(folder: str) -> Kept:
    """The track of a folder."""
    path, text = path_in(folder), read(folder)
    if text is None:
        remedy = f"begin a track with quandary phase start {folder} --phases FILE"
        raise ParseError(f"{path}: no such file; {remedy}")
    return parse(text, path)


def read(folder: str) -> str | None:
    """The text of the file, if there is one."""
    path = path_in(folder)
    if not os.path.lexists(path):
        return None
    _require_inside(folder)
    return read_text(path)


def _require_inside(folder: str) -> None:
    """Refuse a file that is a link to elsewhere: the repository may have brought it."""
    path = path_in(folder)
    if not is_inside(folder, path):
        real = printable(os.path.realpath(path))
        raise ParseError(f"{path} leads out of its folder, to {real}; put a file in its place")


def save(folder: str, text: str) -> None:
    """Put a text in the place of the file, all of it or nothing, and on disk when this returns."""
    _require_inside(folder)
    write_text(path_in(folder), text)
    with suppress(OSError):  # the move is made; not every file system can say that it will last
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def lock(folder: str) -> Iterator[None]:
    """Nobody else changes the track meanwhile; the lock ends with the process that holds it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParseError(f"{folder}: no folder that can be used ({reason.lower()})") from None
    try:
        deadline = time.monotonic() + PATIENCE
        while not _lock(descriptor):
            if time.monotonic() >= deadline:
                wait = f"for {PATIENCE:g} seconds; try again when it is done"
                raise Rejected(f"{folder}: another program has been changing the track {wait}")
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise QuandaryError(f"the track's folder cannot be locked ({error.strerror})") from None
    return True


# -- reading -------------------------------------------------------------------------------------


def parse(text: str, where: str) -> Kept:
    """The track that a text describes; what is wrong with it is said in one line."""
    members = _members(text, where)
    for name in ("phases", "phaseHistory"):
        if not isinstance(_value(members, name, where), list | None):
            raise ParseError(f"{where}: {name} is a list")
    phases = read_phases(_value(members, "phases", where), where)
    history = tuple(map(_passage, _value(members, "phaseHistory", where) or []))
    current = _current(_value(members, "currentPhase", where), phases, where)
    last = history[-1] if history else None
    finished = bool(last and last.finished and current and last.label == current.label)
    visited = tuple(passage.label for passage in history if passage.label)
    return Kept(members, Track(phases, current, visited, finished), history)


def read_phases(entries: object, where: str) -> tuple[Phase, ...]:
    """The phases that a list declares, in whatever order it has them."""
    if not isinstance(entries, list) or not entries:
        raise ParseError(f"{where}: no phases in it; phases is a list of labels and names")
    phases: dict[str, Phase] = {}
    for number, entry in enumerate(entries, 1):
        phase = _phase(entry, f"{where}: phase {number}")
        if phase.label in phases:
            raise ParseError(f"{where}: two phases have the label {phase.label}; change one")
        phases[phase.label] = phase
    return tuple(phases.values())


def _members(text: str, where: str) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(text.removeprefix("\ufeff"), type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        raise ParseError(f"{where}: not a JSON object; a track is one with phases in it") from None
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        remedy = "fix it or restore it from a backup"
        raise ParseError(f"{where}: not JSON ({error}); {remedy}") from None
    except RecursionError:
        raise ParseError(f"{where}: nested too deeply to be read") from None


def _value(members: dict[str, msgspec.Raw], name: str, where: str) -> Any:  # noqa: ANN401 - JSON
    try:
        return msgspec.json.decode(members[name]) if name in members else None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ParseError(f"{where}: {name} cannot be read ({error})") from None


def _phase(entry: object, where: str) -> Phase:
    """An entry with a `label`, or with `major` and `minor` as they were written before."""
    if isinstance(entry, str):
        entry = {"label": entry}
    if not isinstance(entry, dict):
        raise ParseError(f'{where}: expected an object such as {{"label": "1", "name": "Plan"}}')
    label, named = _label(entry, where)
    name = entry.get("name", named)
    if not isinstance(name, str):
        raise ParseError(f"{where}: name is text")
    gate, approval = entry.get("gate", True), entry.get("approval")
    if not isinstance(gate, bool):
        raise ParseError(f"{where}: gate is true or false")
    if approval not in (None, "", "person"):
        raise ParseError(f'{where}: approval is "person", or left out')
    fields = _read_fields(entry.get("proof"), where)
    return Phase(label, " ".join(name.split()), fields, gate, "person" if approval else "")


def _label(entry: dict[str, Any], where: str) -> tuple[str, str]:
    label = entry.get("label")
    if label is None and "major" in entry:
        major, minor = entry["major"], entry.get("minor") or 0
        if not all(type(number) is int and number >= 0 for number in (major, minor)):
            raise ParseError(f"{where}: major and minor are whole numbers")
        label = f"{major}.{minor}" if minor else str(major)
    elif type(label) is int:
        label = str(label)
    parts = split(label) if isinstance(label, str) else None
    if parts is None:
        raise ParseError(f'{where}: label is text such as "2", "3.1" or "3.A"')
    return parts


def _passage(entry: object) -> Passage:
    """An entry of the history; of one that others wrote, as much as can be understood."""
    if not isinstance(entry, dict):
        return Passage(entry if isinstance(entry, str) else "")
    try:
        return msgspec.convert(entry, Passage)
    except msgspec.ValidationError:
        texts = {k: v for k, v in entry.items() if isinstance(v, str)}
        return msgspec.convert({"phase": "", **texts}, Passage)


def _current(value: object, phases: tuple[Phase, ...], where: str) -> Phase | None:
    if value is None or value == "":
        return None
    parts = split(value) if isinstance(value, str) else None
    if parts is None:
        raise ParseError(f'{where}: currentPhase is text such as "2: Build"')
    label, name = parts
    return next((phase for phase in phases if phase.label == label), Phase(label, name))


# -- changing ------------------------------------------------------------------------------------


def write_new(given: str, where: str, before: str | None, path: str) -> str:
    """The text of a new track with the phases of a file; `before` is what the folder had."""
    stripped = given.removeprefix("\ufeff").strip()
    new = _members(f'{{"phases": {stripped}}}' if stripped.startswith("[") else given, where)
    declared = _value(new, "phases", where)
    read_phases(declared, where)
    for number, entry in enumerate(declared, 1):
        read_fields(
            entry.get("proof") if isinstance(entry, dict) else None, f"{where}: phase {number}"
        )
    for name in ("currentPhase", "phaseHistory"):
        if _value(new, name, where):
            raise QuandaryError(f"{where}: {name} is not for a file of phases; take it out")
        new.pop(name, None)
    old = _members(before, path) if before is not None else {}
    if _value(old, "phases", path):
        raise Rejected(f"{path}: there is a track already; see quandary phase status")
    old.pop("phases", None)
    fresh = {"currentPhase": msgspec.Raw(b"null"), "phaseHistory": msgspec.Raw(b"[]")}
    return _write({**new, **fresh, **old})


def write_move(kept: Kept, transition: Transition, passage: Passage) -> str:
    """The text of the file after a move."""
    members, target = dict(kept.members), transition.target
    if transition.added:
        added = {"label": target.label, "name": target.name}
        members["phases"] = _with(members["phases"], added)
    members["currentPhase"] = msgspec.Raw(msgspec.json.encode(target.title))
    history = members.get("phaseHistory", msgspec.Raw(b"[]"))
    members["phaseHistory"] = _with(history, passage)
    return _write(members)


def track_after(kept: Kept, transition: Transition) -> Track:
    """The track after a move."""
    track, target = kept.track, transition.target
    return replace(
        track,
        phases=(*track.phases, target) if transition.added else track.phases,
        current=target,
        visited=(*track.visited, target.label),
        finished=transition.kind == "finish",
    )


def _with(entries: msgspec.Raw, entry: object) -> msgspec.Raw:
    """A list with one entry more, the others as they were written."""
    before = msgspec.json.decode(entries, type=list[msgspec.Raw] | None) or []
    lines = [bytes(old) for old in before] + [msgspec.json.encode(entry)]
    return msgspec.Raw(b"[\n    " + b",\n    ".join(lines) + b"\n  ]")


def _write(members: dict[str, msgspec.Raw]) -> str:
    lines = (b"  %b: %b" % (msgspec.json.encode(k), bytes(v)) for k, v in members.items())
    return (b"{\n" + b",\n".join(lines) + b"\n}\n").decode()
