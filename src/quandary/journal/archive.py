"""Journals and runs that leave their store: copied, backed up, exported to a file and imported.

An imported run cannot become a link of another store's chain: its first entry follows a run that
is not there. It is kept as a document instead, just as it was written, and a run of the flow
`imported` seals its digest into the chain. It can be looked at like any other run, and nobody can
resume it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from sys import maxsize
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.errors import ParseError, QuandaryError, Rejected, StoreError
from quandary.journal import runs
from quandary.journal.chance import ALPHABET, LENGTH
from quandary.journal.entries import (
    START,
    AnyBody,
    Began,
    Entry,
    Source,
    document_bytes,
    document_digest,
    kind_of,
    read_beginning,
    read_body,
    readable,
)
from quandary.journal.history import IMPORT, find_needed, row_of
from quandary.journal.runs import IMPORTED, Elsewhere, find_run
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import Problem, Report, store_digest, verify
from quandary.model.asks import MARK

if TYPE_CHECKING:
    from quandary.journal.store import Row, Store, Watch

FORMAT = 1
BYTES = "base64"
"""What an attachment is in, in a file of JSON."""
WHOSE = "whose answers these are is what its file says"
"""Said of an imported run: anybody can make a chain that holds."""
_STEP = 1000


# -- whole journals --------------------------------------------------------------------------------


def copy(source: Store, target: Store, watch: Watch = lambda *_: None) -> Report:
    """Copy a journal into an empty store, whole and in order, or not at all.

    It is read at one moment and verified where it arrives, before that is made final. A journal
    that is not what was written is not copied, nor one that somebody writes to meanwhile: whoever
    changes over to the new store would miss what came in between.
    """
    if source.last() is None:
        raise Rejected("that store is empty, so there is nothing to copy")

    def judge(report: Report) -> None:
        if report.problems:
            raise Rejected(
                f"the journal is not as it was written: {report.problems[0].text} (`quandary "
                "verify` names every problem); nothing was copied"
            )
        if source.newest() != int(report.digest.partition("-")[0]):
            raise Rejected(
                "the journal was written to while it was copied, so nothing was copied; stop what "
                "uses it and try again, or make a `quandary store backup`"
            )

    return _carry(source, target, watch, judge)


def backup(source: Store, file: str, watch: Watch = lambda *_: None) -> Report:
    """Save a journal to a new file while it is in use, and check what was saved.

    The file is there when it is complete. What it holds is the journal as it was at one moment,
    with every fault that it may have: the report says so.
    """
    with _new_file(file) as partial:
        if isinstance(source, SqliteStore):
            source.back_up(partial)
            with closing(SqliteStore(partial)) as saved:
                return verify(saved, watch=watch)
        with closing(SqliteStore(partial)) as saved:
            return _carry(source, saved, watch, lambda _: None)


def _carry(source: Store, target: Store, watch: Watch, judge: Callable[[Report], None]) -> Report:
    """Fill a store with another one's rows; what arrives has to have the same digest."""
    report: Report
    with ExitStack() as moment:
        moment.enter_context(source.snapshot())
        expected, total = store_digest(source, maxsize), source.newest()

        def dump(table: str) -> Iterator[Row]:
            for count, row in enumerate(source.dump(table), 1):
                if table == "entry" and count % _STEP == 0:
                    watch(count, total, "entries copied")
                yield row

        def check() -> None:
            nonlocal report
            watch(total, total, "entries copied")
            moment.close()
            report = verify(target, seen=False, watch=watch)
            if report.digest != expected:
                raise StoreError("what arrived is not what was sent; nothing was copied")
            judge(report)

        target.fill(dump, check)
    return report


@contextmanager
def _new_file(file: str) -> Iterator[str]:
    """A name to write to; what is written there becomes the file at the end, if all went well."""
    if os.path.lexists(file):
        raise Rejected(f"{file} exists already; name a new file")
    partial = f"{file}.partial"
    remove(partial)
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield partial
        with open(partial, "rb") as written:
            os.fsync(written)
        os.rename(partial, file)
    except OSError as error:
        raise StoreError(f"{file} cannot be written ({error.strerror})") from error
    finally:
        remove(partial)


def remove(file: str) -> None:
    """Remove a store's file and those that SQLite keeps beside it."""
    for name in (file, f"{file}-wal", f"{file}-shm"):
        with suppress(FileNotFoundError):
            os.remove(name)


# -- single runs -----------------------------------------------------------------------------------


class Exported(NamedTuple):
    """A run with all that is needed to check it."""

    run: str
    follows: bytes
    """The digest of the first entry of the run before it, where it was written."""
    entries: tuple[Entry, ...]
    documents: dict[str, bytes]
    newest: str = ""
    """How far the store had come from which it was exported."""

    @property
    def began(self) -> Began:
        """How it began."""
        body = self.entries[0].read()
        assert isinstance(body, Began)  # noqa: S101 - seen to when it was read
        return body

    @property
    def digest(self) -> str:
        """What tells it from any other run, and from itself at another time.

        It begins with the number of the last entry, whose digest covers all that went before.
        """
        last = self.entries[-1]
        return f"{last.n}-{last.digest.hex()}"


class Imported(NamedTuple):
    """What came of an import."""

    record: str
    """The run that keeps it; the run itself, where the store wrote it."""
    known: bool
    """It was there before."""


class _Line(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    n: int
    body: Any
    matter: Any = None
    salt: str | None = None
    seal: str | None = None
    digest: str = ""


class _File(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag="run",
    tag_field="quandary",
):
    format: int
    run: str
    follows: str
    entries: tuple[_Line, ...]
    documents: dict[str, Any]
    newest: str = ""
    """How far the store had come from which it was exported, for `quandary verify --expect`."""
    check: str = ""
    """That this was said of this run: no entry covers it."""


def export(store: Store, run: str) -> Exported:
    """A run of the store's own as it stands now. One that does not verify is not handed on."""
    with store.snapshot():
        follows = store.link_before(store.require_run(run))
        entries = tuple(replace(entry, seq=0) for entry in store.entries(run))
        names = _names(entries)
        documents = {name: text for name in names if (text := store.document(name)) is not None}
    exported = Exported(run, follows, entries, documents, store.anchor())
    if _problems(exported):
        raise Rejected(f"run {run} is not as it was written; see `quandary verify {run}`")
    return exported


def write(exported: Exported) -> bytes:
    """The file: the same run of a store that has come as far gives the same bytes."""
    return msgspec.json.format(_compact(exported), indent=1) + b"\n"


def read(data: bytes | str, name: str, watch: Watch = lambda *_: None) -> Exported:
    """What a file holds. One that was changed since it was written is refused."""
    try:
        file = msgspec.json.decode(data, type=_File)
        if file.format != FORMAT:
            raise ParseError(f"{name}: written by a newer Quandary (format {file.format}); upgrade")
        exported = Exported(
            file.run,
            bytes.fromhex(file.follows),
            tuple(_entry(file.run, line) for line in _each(file.entries, watch)),
            {digest: _document(digest, value) for digest, value in file.documents.items()},
            file.newest,
        )
    except (msgspec.DecodeError, ValueError, OverflowError) as error:
        raise ParseError(f"{name}: no run that `quandary export` wrote ({error})") from None
    for problem in _problems(exported):
        entry = f"entry {problem.n}: " if problem.n else ""
        raise Rejected(f"{name}: not as it was written: {entry}{problem.text}")
    if file.check != _check(exported):
        raise Rejected(f"{name}: not as it was written: how far the store had come")
    return exported


def _each(lines: Sequence[_Line], watch: Watch) -> Iterator[_Line]:
    for count, line in enumerate(lines):
        watch(count, len(lines), "entries read")
        yield line


def _compact(exported: Exported) -> bytes:
    lines = []
    for entry in exported.entries:
        salt, seal = (None if it is None else it.hex() for it in (entry.salt, entry.seal))
        matter = None if entry.matter is None else msgspec.Raw(entry.matter)
        digest = entry.digest.hex()
        lines.append(_Line(entry.n, msgspec.Raw(entry.body), matter, salt, seal, digest))
    attached = {d for name, d in exported.began.documents.items() if name.startswith(MARK)}
    documents = {
        digest: {BYTES: data} if digest in attached else msgspec.Raw(data)
        for digest, data in sorted(exported.documents.items())
    }
    run, follows, newest = exported.run, exported.follows.hex(), exported.newest
    file = _File(FORMAT, run, follows, tuple(lines), documents, newest, _check(exported))
    return msgspec.json.encode(file)


def _check(exported: Exported) -> str:
    return (
        document_digest(f"{exported.digest} {exported.newest}".encode()) if exported.newest else ""
    )


def _entry(run: str, line: _Line) -> Entry:
    """An entry with its bytes as they were; a file may have been laid out anew on its way."""
    body = msgspec.json.encode(line.body)
    matter = msgspec.json.encode(line.matter) if line.matter is not None else None
    kind = kind_of(read_body(body))
    salt, seal = (None if text is None else bytes.fromhex(text) for text in (line.salt, line.seal))
    return Entry(run, line.n, kind, body, matter, salt, seal, bytes.fromhex(line.digest))


def _document(digest: str, value: object) -> bytes:
    """A document with its bytes as they were, whatever order its keys have come to be in."""
    if isinstance(value, dict) and value.keys() == {BYTES}:
        data = msgspec.convert(value[BYTES], bytes)
        if document_digest(data) == digest:
            return data
    written = msgspec.json.encode(value)
    return written if document_digest(written) == digest else document_bytes(value)


def _problems(exported: Exported) -> list[Problem]:
    run, follows, entries, documents, _ = exported
    if len(run) != LENGTH or not set(run) <= set(ALPHABET) or len(follows) != len(START):
        return [Problem("that is no name of a run, or not what a run follows")]
    if not entries or entries[0].kind != "began":
        return [Problem("it does not begin with its beginning", run, 1)]
    moved = next((at for at, entry in enumerate(entries, 1) if entry.n != at), 0)
    if moved:
        return [Problem("entries were removed or moved", run, moved)]
    found = [
        Problem(f"the document {name[:12]}… was changed")
        for name, written in documents.items()
        if document_digest(written) != name
    ]
    if documents.keys() != _names(entries):
        found.append(Problem("it comes without a document that it began with, or with others"))
    try:
        with closing(open_exported(exported)) as store:
            found += verify(store, run, follows=follows).problems
    except (msgspec.DecodeError, UnicodeDecodeError):
        found.append(Problem("an entry cannot be read", run))
    return found


def _names(entries: Sequence[Entry]) -> set[str]:
    with suppress(msgspec.DecodeError, UnicodeDecodeError, IndexError):
        began = entries[0].read()
        if isinstance(began, Began):
            return find_needed(began, entries)
    return set()


def open_exported(exported: Exported, *, lasting: bool = False) -> Store:
    """A store that holds this run alone, for whoever wants to look at it as at any other.

    Where it is `lasting`, it does not expire by being looked at.
    """
    store, entries = SqliteStore(":memory:"), list(exported.entries)
    row = row_of(entries)
    row = replace(row, expires=None) if lasting else row
    store.create(lambda _: (row, entries), exported.documents)
    return store


# -- runs of other stores ------------------------------------------------------------------------


def import_run(
    store: Store, exported: Exported, *, about: str, project: str, source: Source
) -> Imported:
    """Keep a run of another store. What contradicts a run that is there is refused."""
    run, name = exported.run, IMPORTED + exported.run
    record = run if store.run(run) is not None else store.named(name).get(name)
    if record is not None:
        known = export(store, run) if record == run else read_imported(store, record)
        if known._replace(newest="") == exported._replace(newest=""):
            return Imported(record, known=True)
        if record == run or not _goes_on(known, exported):
            raise Rejected(f"run {run} is here already, and {_difference(known, exported)}")
    return Imported(keep(store, exported, about, project, source), known=False)


def keep(store: Store, exported: Exported, about: str, project: str, source: Source) -> str:
    """Make the record of an imported run; it is what the run's name leads to from now on."""
    run = exported.run
    arguments = {"run": run, "entries": len(exported.entries), "digest": exported.digest}
    arguments |= {"context": f"run {run}: {about}"}
    documents, name = {"file": _compact(exported).decode()}, IMPORTED + run
    said = {"project": project, "name": name, **source._asdict()}
    return runs.begin(store, IMPORT, arguments, documents=documents, **said).run


def read_imported(store: Store, record: str) -> Exported:
    """The run that a record keeps."""
    with readable(record):
        digest = read_beginning(store, record)[0].documents.get("file", "")
        written = store.document(digest)
        if written is None or document_digest(written) != digest:
            raise Rejected(f"the file that run {record} keeps is gone or was changed")
        return read(msgspec.json.decode(written, type=str), f"run {record}")


def find(store: Store, prefix: str) -> tuple[Store, str]:
    """The one run whose name begins like this, and where to read it: here, or in its file."""
    try:
        return store, find_run(store, prefix)
    except Elsewhere as there:
        return open_exported(read_imported(store, there.record), lasting=True), there.run


def fetch(store: Store, prefix: str) -> Exported:
    """The one run whose name begins like this, to be handed on; an imported one as it came."""
    try:
        return export(store, find_run(store, prefix))
    except Elsewhere as there:
        return read_imported(store, there.record)


def examine(
    store: Store, prefix: str | None, expect: str | None = None, watch: Watch = lambda *_: None
) -> Report:
    """Whether everything, or the one run whose name begins like this, is still what was written.

    Of an imported run, its record too.
    """
    try:
        return verify(store, find_run(store, prefix) if prefix else None, expect, watch=watch)
    except Elsewhere as there:
        run, record = there.run, there.record
    ours = verify(store, record, expect)
    try:
        exported = read_imported(store, record)
    except QuandaryError as error:
        return replace(ours, problems=(*ours.problems, Problem(str(error), run)))
    pruned = sum(entry.pruned for entry in exported.entries)
    return replace(ours, entries=len(exported.entries), pruned=pruned)


def redact(exported: Exported, goes: Callable[[AnyBody], bool]) -> Exported:
    """The same run without the matter of some of its entries; its chain holds all the same."""
    entries = tuple(
        replace(entry, matter=None, salt=None) if goes(entry.read()) else entry
        for entry in exported.entries
    )
    names = _names(entries)
    documents = {name: text for name, text in exported.documents.items() if name in names}
    return exported._replace(entries=entries, documents=documents)


def _goes_on(earlier: Exported, later: Exported) -> bool:
    """Whether one tells how the other went on: the same entries, and more."""
    n = len(earlier.entries)
    return len(later.entries) > n and later.entries[n - 1].digest == earlier.entries[-1].digest


def _difference(here: Exported, file: Exported) -> str:
    """Why a file cannot be taken for the run that is here."""
    if here.digest == file.digest:
        return "texts were taken out of one of the two; the file was not imported"
    if _goes_on(file, here):
        return f"the file ends sooner, with entry {len(file.entries)}; it was not imported"
    if _goes_on(here, file):
        return f"the file goes on after entry {len(here.entries)}; it was not imported"
    return "the file says something else of it; it was not imported"
