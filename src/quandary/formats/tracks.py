"""`.state.json`, where a track is kept: read as people and programs wrote it, changed in place.

Whatever is not ours in the file stays as it is, byte for byte: members that we do not know, entries
of phases and of the history. Only what a move changes is written anew.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import msgspec

from quandary.errors import ParseError, QuandaryError, Rejected
from quandary.formats.proof import read_fields, read_unchecked
from quandary.model.text import printable
from quandary.model.track import Phase, Track, Transition, split
from quandary.settings.files import is_inside, read_text, write_text

LARGEST = 16 * 1024 * 1024
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
    reason: str = ""  # why the user approved, as it was said
    proof: dict[str, Any] = {}
    run: str = ""  # the run of the journal that has it too
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


def path_in(folder: str) -> str:
    """Where the track of a folder is kept."""
    return os.path.join(folder, NAME)


def load(folder: str) -> Kept:
    path, text = path_in(folder), read(folder)
    if text is None:
        remedy = f"begin a track with quandary phase start {folder} --phases FILE"
        raise ParseError(f"{path}: no such file; {remedy}")
    return parse(text, path)


def read(folder: str) -> str | None:
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
        why = f"({reason.lower()}); quandary phase start DIR makes one"
        raise ParseError(f"{folder}: no folder that can be used {why}") from None
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
        raise ParseError(f"{where}: not JSON ({error}); fix it or restore a backup") from None
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
    proof = read_unchecked(entry.get("proof"), where)
    return Phase(label, " ".join(name.split()), proof, gate, "person" if approval else "")


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
    return next((phase for phase in phases if phase.label == parts[0]), Phase(*parts))


def write_new(given: str, where: str, before: str | None, path: str) -> str:
    """The text of a new track with the phases of a file; `before` is what the folder had."""
    stripped = given.removeprefix("\ufeff").strip()
    new = _members(f'{{"phases": {stripped}}}' if stripped.startswith("[") else given, where)
    declared = _value(new, "phases", where)
    read_phases(declared, where)
    for number, entry in enumerate(declared, 1):
        proof = entry.get("proof") if isinstance(entry, dict) else None
        read_fields(proof, f"{where}: phase {number}")
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
    members, target = dict(kept.members), transition.target
    if transition.added:
        members["phases"] = _with(members["phases"], {"label": target.label, "name": target.name})
    members["currentPhase"] = msgspec.Raw(msgspec.json.encode(target.title))
    members["phaseHistory"] = _with(members.get("phaseHistory", msgspec.Raw(b"[]")), passage)
    return _write(members)


def _with(entries: msgspec.Raw, entry: object) -> msgspec.Raw:
    """A list with one entry more, the others as they were written."""
    before = msgspec.json.decode(entries, type=list[msgspec.Raw] | None) or []
    lines = [bytes(old) for old in before] + [msgspec.json.encode(entry)]
    return msgspec.Raw(b"[\n    " + b",\n    ".join(lines) + b"\n  ]")


def _write(members: dict[str, msgspec.Raw]) -> str:
    lines = (b"  %b: %b" % (msgspec.json.encode(k), bytes(v)) for k, v in members.items())
    return (b"{\n" + b",\n".join(lines) + b"\n}\n").decode()
