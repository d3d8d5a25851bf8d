"""Quandary made known to a host: planned for all files first, then written, all of it or nothing.

Nothing is replaced: entries are put into the text of a file, and the pieces are noted in a receipt
at the end of the lesson that is written too (`marked`). Taking out a file's pieces gives the text
that was there before, which the receipt's digest proves. Where a file has changed in the meantime,
our entries are looked up in it and taken out, and what somebody else wrote stays.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.errors import QuandaryError
from quandary.formats.files import read_text, write_text
from quandary.people import marked
from quandary.people.install_edits import Entry, Hooks, server
from quandary.people.json_edits import Span, without_spans
from quandary.people.json_text import is_strict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.people.install_places import Lesson, Places


class Change(NamedTuple):
    """What becomes of a file; no text means no file."""

    path: str
    before: str | None
    after: str | None
    what: str
    folders: int
    """How many folders above the file come and go with it."""


class Plan(NamedTuple):
    """What is to be done."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    """What the person should know."""
    left: tuple[str, ...] = ()
    """What stays although it was to go, and why."""


class _Trace(NamedTuple):
    """What a receipt says about one file."""

    was: str | None
    """The digest of the text before; none where there was no file."""
    spans: tuple[Span, ...] = ()
    folders: int = 0

    def noted(self) -> list[Any]:
        """As it stands in the receipt."""
        return [self.was, self.folders, *(list(span) for span in self.spans)]


def to_install(places: Places, command: str, *, mcp: bool, timeout: int | None = None) -> Plan:
    """The plan that makes `command` known to a host, with our server if that is wanted.

    The hook before a question may take `timeout` seconds, where questions wait in the inbox.
    """
    if mcp and places.servers is None:
        raise QuandaryError(places.elsewhere)
    lesson = places.lesson
    text = _read(lesson.path)
    found = _found(lesson, text)
    if text is not None and found is None and lesson.marks == marked.FILE:
        raise QuandaryError(f"{lesson.path} is there already and is not ours; move it away")
    receipt = dict(found.receipt) if found else {}
    if found is None:
        receipt["lesson"] = _trace(lesson.path, text).noted()
    changes, notes = [], []
    for name, path, entry in _entries(places, command, timeout):
        if name == "server" and not mcp:
            continue
        change, trace = _put(path, entry, _traced(receipt, name))
        if change is not None and trace is not None:
            changes.append(change)
            receipt[name] = trace.noted()
        if name == "hooks" and not is_strict((change.after if change else _read(path)) or ""):
            notes.append(f"Claude Code refuses {path} as it is: comments, or a comma too many")
    if found is not None and not found.pristine:
        notes.append(f"{lesson.path} was edited and stays as it is")
        after = marked.noted(text or "", lesson.marks, receipt)
    else:
        after = marked.put(text, lesson.marks, lesson.read_with(command), receipt)
    if after != text:
        folders = _trace(lesson.path, text).folders
        changes.insert(0, Change(lesson.path, text, after, "how to ask", folders))
    return Plan(tuple(changes), (*notes, *places.notes))


def to_uninstall(places: Places) -> Plan:
    """The plan that takes out whatever `to_install` put there."""
    lesson = places.lesson
    text = _read(lesson.path)
    found = _found(lesson, text)
    receipt = found.receipt if found else {}
    changes, left = [], []
    if found is not None and text is not None:
        trace = _traced(receipt, "lesson")
        if found.pristine:
            after = _without_lesson(text, lesson, trace)
            folders = trace.folders if trace else 0
            changes.append(Change(lesson.path, text, after, "how to ask", folders))
        else:
            left.append(f"{lesson.path} was edited; delete what you do not need")
    for name, path, entry in _entries(places, ""):
        now = _read(path)
        with _about(path):
            if now is None or not entry.present(now):
                continue
            trace = _traced(receipt, name)
            after = _restored(now, entry, trace)
        changes.append(Change(path, now, after, entry.what, trace.folders if trace else 0))
    return Plan(tuple(changes), left=tuple(left))


def carry_out(plan: Plan) -> None:
    """Do all of it; if something fails, put back what was done before."""
    done: list[Change] = []
    try:
        for change in plan.changes:
            _check(change)
            done.append(change)
            _write(change)
    except BaseException:
        for change in reversed(done):
            with suppress(QuandaryError):
                _write(change._replace(before=change.after, after=change.before))
        raise


def _entries(
    places: Places, command: str, timeout: int | None = None
) -> Iterator[tuple[str, str, Entry]]:
    """What belongs into files of settings: its name in the receipt, the file, and the entry."""
    if places.hooks is not None:
        yield "hooks", places.hooks, Hooks(command, timeout)
    if places.servers is not None:
        yield "server", places.servers.path, server(places.servers, command)


def _put(path: str, entry: Entry, trace: _Trace | None) -> tuple[Change | None, _Trace | None]:
    """The entry put into a file, an older one of ours taken out first."""
    text = _read(path)
    with _about(path):
        if text is not None and entry.installed(text):
            return None, trace
        base = text
        if text is not None and entry.present(text):
            base = _restored(text, entry, trace)
        edited = entry.put(base or "")
    fresh = _trace(path, base)
    if trace is not None and text is not None:
        fresh = fresh._replace(folders=trace.folders)
    change = Change(path, text, edited.text, entry.what, _trace(path, text).folders)
    return change, fresh._replace(spans=edited.spans)


def _restored(text: str, entry: Entry, trace: _Trace | None) -> str | None:
    """The text before our entry: the very same if nothing else has changed, else what is left."""
    if trace is not None:
        before = without_spans(text, trace.spans)
        if trace.was is None and not before:
            return None
        if trace.was == _digest(before):
            return before
    return entry.taken_out(text)


def _without_lesson(text: str, lesson: Lesson, trace: _Trace | None) -> str | None:
    if lesson.marks == marked.FILE:
        return None
    left = marked.taken_out(text, lesson.marks)
    return None if trace is not None and trace.was is None and not left else left


def _found(lesson: Lesson, text: str | None) -> marked.Found | None:
    with _about(lesson.path):
        return marked.find(text, lesson.marks) if text is not None else None


def _trace(path: str, text: str | None) -> _Trace:
    """What a file was before anything was put into it."""
    folder, folders = os.path.dirname(os.path.realpath(path)), 0
    while text is None and not os.path.lexists(folder):
        folder, folders = os.path.dirname(folder), folders + 1
    return _Trace(None if text is None else _digest(text), (), folders)


def _traced(receipt: marked.Receipt, name: str) -> _Trace | None:
    """What the receipt says about a file; nothing where it makes no sense."""
    match receipt.get(name):
        case [None | str() as was, int() as folders, *spans] if all(map(_is_span, spans)):
            return _Trace(was, tuple((span[0], span[1]) for span in spans), folders)
    return None


def _is_span(span: object) -> bool:
    match span:
        case [int() as start, int() as length]:
            return start >= 0 and length >= 0
    return False


def _digest(text: str) -> str:
    from hashlib import sha256  # noqa: PLC0415 - only here

    return sha256(text.encode()).hexdigest()[:16]


def _read(path: str) -> str | None:
    """The text of a file that may not be there."""
    return read_text(path) if os.path.exists(path) else None


class _about:  # noqa: N801 - reads as a preposition
    """Errors within are about a file, and say so."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Put the name of the file before the message."""
        if isinstance(error, QuandaryError):
            raise type(error)(f"{self.path}: {error}; nothing was changed") from None


def _check(change: Change) -> None:
    """A host may have written to its settings since they were read."""
    if _read(change.path) != change.before:
        raise QuandaryError(f"{change.path} has just been changed by others; try again")


def _write(change: Change) -> None:
    """One file, with the folders that come and go with it."""
    real = os.path.realpath(change.path)
    folder = os.path.dirname(real)
    try:
        if change.after is None:
            with suppress(FileNotFoundError):
                os.unlink(real)
            _remove_folders(folder, change.folders)
            return
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        words = error.strerror or str(error)
        raise QuandaryError(f"{change.path}: cannot be changed ({words.lower()})") from None
    write_text(change.path, change.after)


def _remove_folders(folder: str, count: int) -> None:
    """Folders that were made for a file, as far as nothing else is in them."""
    with suppress(OSError):
        for _ in range(count):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
