"""Runs that leave their store, come from another, or lose their texts: export, import and prune.

An imported run cannot become a link of another store's chain: its first entry follows a run that
is not there. It is kept as a document instead, just as it was written, and a run of the flow
`imported` seals its digest into the chain. It can be looked at like any other run, and nobody can
resume it.

Of a run that ended long ago, what was decided stays, and the chain holds. An entry's body is never
touched: keys, codes, who, through what, when. What goes is the matter, as a whole or not at all,
since its seal covers all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.errors import ParseError, QuandaryError, Rejected
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
from quandary.journal.history import row_of
from quandary.journal.runs import IMPORTED, Elsewhere, find_run
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import (
    IMPORT,
    PRUNE,
    RECORDS,
    Problem,
    Report,
    Wanted,
    find_needed,
    is_prunable,
    may_prune,
    verify,
)
from quandary.model.asks import MARK
from quandary.model.calls import Do, Done

if TYPE_CHECKING:
    from quandary.journal.store import Run, State, Store, Watch

    PruneWatch = Callable[["Amount"], None]

FORMAT = 1
BYTES = "base64"  # what an attachment is in, in a file of JSON
WHOSE = "whose answers these are is what its file says"
"""Said of an imported run: anybody can make a chain that holds."""


class Exported(NamedTuple):
    """A run with all that is needed to check it."""

    run: str
    follows: bytes  # the digest of the first entry of the run before it, where it was written
    entries: tuple[Entry, ...]
    documents: dict[str, bytes]
    newest: str = ""  # how far the store had come from which it was exported

    @property
    def began(self) -> Began:
        """How it began."""
        body = self.entries[0].read()
        assert isinstance(body, Began)  # noqa: S101 - seen to when it was read
        return body

    @property
    def digest(self) -> str:
        """What tells it from any other run, and from itself when its last entry was another."""
        last = self.entries[-1]
        return f"{last.n}-{last.digest.hex()}"


class Imported(NamedTuple):
    """What came of an import."""

    record: str  # the run that keeps it; the run itself, where the store wrote it
    known: bool  # it was there before


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
    check: str = ""  # that this was said of this run: no entry covers it


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
        follows, total = bytes.fromhex(file.follows), len(file.entries)
        entries = tuple(_entry(file.run, line, watch, total) for line in file.entries)
        documents = {digest: _document(digest, value) for digest, value in file.documents.items()}
        exported = Exported(file.run, follows, entries, documents, file.newest)
    except (msgspec.DecodeError, ValueError, OverflowError) as error:
        raise ParseError(f"{name}: no run that `quandary export` wrote ({error})") from None
    for problem in _problems(exported):
        entry = f"entry {problem.n}: " if problem.n else ""
        raise Rejected(f"{name}: not as it was written: {entry}{problem.text}")
    if file.check != _check(exported):
        raise Rejected(f"{name}: not as it was written: how far the store had come")
    return exported


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
    said = f"{exported.digest} {exported.newest}".encode()
    return document_digest(said) if exported.newest else ""


def _entry(run: str, line: _Line, watch: Watch, total: int) -> Entry:
    """An entry with its bytes as they were; a file may have been laid out anew on its way."""
    watch(line.n - 1, total, "entries read")
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
    if moved := next((at for at, entry in enumerate(entries, 1) if entry.n != at), 0):
        return [Problem("entries were removed or moved", run, moved)]
    changed = [name for name, written in documents.items() if document_digest(written) != name]
    found = [Problem(f"the document {name[:12]}… was changed") for name in changed]
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
    """A store that holds this run alone; where it is `lasting`, a look does not expire it."""
    store, entries = SqliteStore(":memory:"), list(exported.entries)
    row = row_of(entries)
    row = replace(row, expires=None) if lasting else row
    store.create(lambda _: (row, entries), exported.documents)
    return store


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
    """Whether everything, or the one run that begins like this, with its record, is unchanged."""
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


_RUNS = 200
_BYTES = 4_000_000
"""No more runs and bytes than this are pruned at once, so that writers wait for milliseconds."""


class Amount(msgspec.Struct, frozen=True):
    """How much it was."""

    runs: int = 0
    entries: int = 0
    bytes: int = 0
    documents: int = 0

    def plus(self, take: Take) -> Amount:
        """With what is taken out of one more run."""
        entries, size = self.entries + take.entries, self.bytes + take.size
        return replace(self, runs=self.runs + 1, entries=entries, bytes=size)


class Take(NamedTuple):
    """What is to be taken out of one run."""

    run: Run
    numbers: tuple[int, ...]
    entries: int
    size: int
    renewed: Exported | None = None
    """What an imported run is after it; its record makes room for another one."""


def find_prunable(
    store: Store, wanted: Wanted, bare: set[str] | None = None, *, resumed: bool = False
) -> Iterator[Take]:
    """What there is to take out, run by run; `bare` gets the documents of runs that need none."""
    for row in store.each_run(project=wanted.project):
        if not may_prune(row, wanted):
            continue
        with suppress(msgspec.DecodeError, UnicodeDecodeError, Rejected):  # `verify` reports it
            entries = store.entries(row.id, upto=1)
            if wanted.keep == "answers" and not resumed and all(one.pruned for one in entries):
                continue
            entries += store.entries(row.id, after=1)
            if take := _take(store, row, entries, wanted, set() if bare is None else bare):
                yield take


def plan(store: Store, wanted: Wanted) -> Amount:
    """How much would be taken out; nothing is."""
    return reduce(Amount.plus, find_prunable(store, wanted), Amount())


def _take(
    store: Store, row: Run, entries: list[Entry], wanted: Wanted, bare: set[str]
) -> Take | None:
    if row.flow == IMPORT:
        return _take_imported(store, row, entries, wanted, bare)
    texts = (entry for entry in entries if entry.matter is not None)
    gone = [entry for entry in texts if is_prunable(row.flow, entry.read(), wanted.keep)]
    numbers, began = {entry.n for entry in gone}, entries[0].read()
    if isinstance(began, Began):
        left = (entry for entry in entries if entry.n not in numbers)
        bare |= set(began.documents.values()) - find_needed(began, left)
    return _take_all(row, gone) if gone else None


def _take_imported(
    store: Store, row: Run, entries: list[Entry], wanted: Wanted, bare: set[str]
) -> Take | None:
    """A run that another store wrote is replaced by one without texts; its record goes."""
    began = entries[0].read()
    documents = set(began.documents.values()) if isinstance(began, Began) else set()
    gone = [entry for entry in entries if entry.matter is not None]
    if isinstance(began, Began) and store.named(began.name).get(began.name) != row.id:  # superseded
        bare |= documents
        return _take_all(row, gone) if gone else None
    exported = read_imported(store, row.id)
    flow = exported.began.flow
    if flow in RECORDS or exported.entries[-1].kind != "ended":
        return None
    renewed = redact(exported, lambda body: is_prunable(flow, body, wanted.keep))
    pairs = zip(exported.entries, renewed.entries, strict=True)
    less = [before for before, after in pairs if before.matter != after.matter]
    if not less:
        return None
    bare |= documents
    return _take_all(row, less)._replace(numbers=tuple(entry.n for entry in gone), renewed=renewed)


def _take_all(row: Run, gone: list[Entry]) -> Take:
    size = sum(len(entry.matter or b"") for entry in gone)
    return Take(row, tuple(entry.n for entry in gone), len(gone), size)


def prune(store: Store, wanted: Wanted, project: str, source: Source, watch: PruneWatch) -> State:
    """Take it out, and keep a record of who did, when, and how much it was."""
    stays = "only codes stay" if wanted.keep == "codes" else "answers stay"
    context = f"what ended before {wanted.before[:16].replace('T', ' ')}Z; {stays}"
    arguments = {**msgspec.to_builtins(wanted), "context": context}
    deeds = partial(do_prune, store, watch=watch, resumed=False)
    return runs.begin(store, PRUNE, arguments, project=project, deeds=deeds, **source._asdict())


def finish(store: Store, source: Source, watch: PruneWatch) -> Iterator[State]:
    """Resume what was interrupted; what was pruned by then is not counted again."""
    deeds = partial(do_prune, store, watch=watch)
    for row in store.each_run(waits="house"):
        if row.flow == PRUNE:
            yield runs.advance(store, row.id, **source._asdict(), deeds=deeds)


def do_prune(
    store: Store, deed: Do, watch: PruneWatch = lambda _: None, *, resumed: bool = True
) -> Done:
    """The deed: every run is pruned as a whole or not at all, whenever it is interrupted."""
    wanted = msgspec.json.decode(deed.argument, type=Wanted)
    amount, bare = Amount(), set[str]()
    for batch in _batches(find_prunable(store, wanted, bare, resumed=resumed)):
        for take in batch:
            if take.renewed is not None:
                flow, source = take.renewed.began.flow, Source("policy", PRUNE, "")
                keep(store, take.renewed, flow, take.run.project, source)
        done = {run.id for run in store.prune([(take.run, take.numbers) for take in batch])}
        amount = reduce(Amount.plus, (take for take in batch if take.run.id in done), amount)
        watch(amount)
    amount = replace(amount, documents=_forget(store, bare))
    return Done(deed.key, msgspec.json.encode(amount).decode())


def _forget(store: Store, among: set[str]) -> int:
    seen = store.newest()
    left = {name for name in among if store.document(name) is not None}
    for row in store.each_run():
        try:
            began = store.entries(row.id, upto=1)[0].read()
        except (msgspec.DecodeError, UnicodeDecodeError, IndexError):
            return 0  # one that cannot be read may need all of them
        if isinstance(began, Began) and not left.isdisjoint(began.documents.values()):
            left -= find_needed(began, store.entries(row.id))
        if not left:
            return 0
    return store.forget(left, seen=seen)


def _batches(takes: Iterator[Take]) -> Iterator[list[Take]]:
    batch: list[Take] = []
    for take in takes:
        batch.append(take)
        if len(batch) >= _RUNS or sum(other.size for other in batch) >= _BYTES:
            yield batch
            batch = []
    if batch:
        yield batch
