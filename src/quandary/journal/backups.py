"""Whole journals: copied, backed up, and made anew out of what can be read of a damaged file.

What is taken out of a damaged file is what the chain proves: of each run, the entries from the
first one on as long as each follows the one before it. Where whole runs are lost, the new journal
says so for ever: their numbers stay free, and `verify` misses them.

The file is read page by page without SQLite. What SQLite refuses to open or to scan can still hold
most of its rows: each leaf of a table stands for itself. A row is known by its shape, and an entry
proves by its digest that it is as it was written.
https://www.sqlite.org/fileformat2.html describes the pages.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from sys import maxsize
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

import msgspec
from msgspec.structs import astuple, replace

from quandary.errors import QuandaryError, Rejected, StoreError
from quandary.journal.chance import LENGTH
from quandary.journal.entries import (
    START,
    Began,
    Entry,
    Kind,
    Matter,
    Noted,
    Source,
    Unreadable,
    digest,
    document_digest,
    is_sealed,
)
from quandary.journal.history import Writer, row_of
from quandary.journal.progress import rebuild
from quandary.journal.sqlite import SqliteStore
from quandary.journal.store import TABLES, Last, Row, Run, Store
from quandary.journal.verify import Report, find_needed, store_digest, verify
from quandary.model.text import count

if TYPE_CHECKING:
    from quandary.journal.store import Watch

    Value = None | int | str | bytes

_STEP = 1000
_MAGIC = b"SQLite format 3\0"
_BEYOND = 1 << 53
_HEAD = 100  # so long is the file's own head, on its first page
_LEAF, _LEAF_OF_INDEX, _BRANCH_OF_INDEX = 0x0D, 0x0A, 0x02
_BEFORE_CELLS = {_LEAF: 8, _LEAF_OF_INDEX: 8, _BRANCH_OF_INDEX: 12}
"""The kinds of pages that hold rows, and where the list of rows begins on each."""
_WAL_HEAD, _FRAME_HEAD = 32, 24
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_KINDS = frozenset(get_args(Kind))
_RUN_COLUMNS = len(TABLES["run"])
_CONSTANTS: dict[int, int | None] = {0: None, 8: 0, 9: 1}
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def copy(source: Store, target: Store, watch: Watch = lambda *_: None) -> Report:
    """Copy a journal into an empty store, whole and in order, or not at all. It is read at one
    moment and verified where it arrives, before that is made final. A journal that is not what was
    written is not copied, nor one that somebody writes to meanwhile: whoever changes over to the
    new store would miss what came in between.
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
    """Save a journal to a new file while it is in use, and check what was saved. The file is there
    when it is complete. What it holds is the journal as it was at one moment, with every fault that
    it may have: the report says so.
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


class Loss(NamedTuple):
    """Something that was in the journal once."""

    run: str
    what: str


class Recovered(NamedTuple):
    """What came of it."""

    report: Report
    losses: list[Loss]
    left: list[Entry]
    """Entries that can be read and have no place: something before them is missing."""


class _Found(NamedTuple):
    """A run as far as it goes."""

    row: Run
    began: Began
    entries: list[Entry]
    cut: str  # which of its entries are missing
    lost: tuple[int, ...]  # those whose texts are


def recover(path: str, target: Store) -> Recovered:
    """Put what can be read of a damaged file into an empty store."""
    salvaged = salvage(path)
    found, losses, left = _runs(salvaged) if salvaged.entries else ([], [], [])
    if not found:
        raise Rejected(f"{path}: no entry of a journal could be found in it")
    needed = {name for run in found for name in find_needed(run.began, run.entries)}
    lost = sorted(needed - salvaged.documents.keys())
    losses += [Loss("", f"the document {name[:12]}…") for name in lost]
    tables = _tables(found, salvaged)
    target.fill(lambda table: iter(tables[table]), lambda: None)
    for run in found:
        if run.cut or run.lost:
            _resume(target, run)
    return Recovered(verify(target, seen=False), losses, left)


def _runs(salvaged: Salvaged) -> tuple[list[_Found], list[Loss], list[Entry]]:
    """The runs in the order they began, as far as each can be followed."""
    found: list[_Found] = []
    losses: list[Loss] = []
    left: list[Entry] = []
    previous, number = START, 0
    for id_ in sorted(salvaged.entries.keys() | salvaged.rows.keys() | salvaged.listed.keys()):
        kept, known = salvaged.entries.get(id_, {}), salvaged.rows.get(id_)
        listed = salvaged.listed.get(id_, {})
        chain, linked = _chain(kept, previous)
        total = max(known.n if known else 0, *kept, *listed, 0)
        told = known.number if known else 0
        # Where a run follows the one before it, nothing is missing between them.
        place = number + 1 if linked else max(told, number + 1 if told else number + 2)
        if place == number + 1 and not linked:
            chain = []
        left += [alike[0] for n, alike in sorted(kept.items()) if n > len(chain)]
        if not chain:
            of = "" if not total else f" of {total} entries" if total > 1 else " of 1 entry"
            losses.append(Loss(id_, f"the whole run{of}"))
            previous, number = (known.first, known.number) if known else (b"", number)
            continue
        first, cut = len(chain) + 1, ""
        if total >= first:
            cut = f"entry {first}" if total == first else f"entries {first} to {total}"
            losses.append(Loss(id_, cut))
        # An entry whose texts are damaged is kept without them, as if they had been pruned.
        entries = [e if is_sealed(e) else replace(e, matter=None, salt=None) for e in chain]
        lost = tuple(e.n for e in chain if not is_sealed(e))
        losses += [Loss(id_, f"the texts of entry {n}") for n in lost]
        previous, number = chain[0].digest, place
        began = chain[0].read()
        assert isinstance(began, Began)  # noqa: S101 - by its digest, or seen to
        found.append(_Found(row_of(entries, number), began, entries, cut, lost))
    begun = salvaged.last.runs if salvaged.last else 0
    if begun > number:
        losses.append(Loss("", f"{count(begun - number, 'run')} at the end"))
    seqs = {seq for entries in salvaged.listed.values() for seq in entries.values()}
    seqs |= {e.seq for kept in salvaged.entries.values() for alike in kept.values() for e in alike}
    if free := max(seqs) - len(seqs):
        losses.append(Loss("", f"perhaps {free} more entries, of which nothing is left"))
    return found, losses, left


def _chain(kept: dict[int, list[Entry]], previous: bytes) -> tuple[list[Entry], bool]:
    """The entries of a run that follow each other, and whether the first follows the run before."""
    chain: list[Entry] = []
    linked = False
    for n in range(1, len(kept) + 1):
        alike = kept.get(n, [])
        fitting = [e for e in alike if digest(e.run, n, previous, e.body, e.seal) == e.digest]
        if n == 1:
            linked = bool(fitting)
            fitting = fitting or list(filter(_begins, alike))
        if not fitting:
            break
        # Texts that were pruned from one of two are not brought back from the other.
        chain.append(min(fitting, key=lambda entry: (not entry.pruned, not is_sealed(entry))))
        previous = chain[-1].digest
    return chain, linked


def _begins(entry: Entry) -> bool:
    with suppress(Unreadable):
        return isinstance(entry.read(), Began) and is_sealed(entry)
    return False


def _tables(found: list[_Found], salvaged: Salvaged) -> dict[str, list[Row]]:
    # In the order in which they were written; two cannot have been written at once.
    entries = sorted((e for run in found for e in run.entries), key=lambda e: e.seq)
    seqs = accumulate((e.seq for e in entries), lambda before, seq: max(before + 1, seq))
    names = {run.began.name: run.row.id for run in found}
    newest = found[-1].row
    last = Last(newest.id, newest.first, newest.number)
    return {
        "document": list(salvaged.documents.items()),
        "run": [astuple(run.row) for run in found],
        "entry": [(seq, *astuple(e)[:-1]) for seq, e in zip(seqs, entries, strict=True)],
        "name": [(name, run) for name, run in names.items() if name],
        "last": [(1, *max(last, salvaged.last or last, key=lambda known: known.runs))],
        "outbox": [
            (run.row.id, 0, address, 0, None)  # from now on it tells of what happens to it
            for run in found
            for address in (run.entries[0].read_matter().arguments or {}).get("callbacks", ())
        ],
    }


def _resume(store: Store, run: _Found) -> None:
    """Say in a run what it lost, and have it stand where its flow stands after what is left."""
    writer = Writer(run.row, Source("policy", "recovery", ""))
    noted = Noted(kind="recovered", key=run.row.key or "", lost=run.lost, **writer.said)
    what = [f"the texts of entry {n}" for n in run.lost] + ([run.cut] if run.cut else [])
    writer.add(noted, Matter(text=f"{', '.join(what)} could not be read in the damaged store"))
    if run.cut and run.row.status == "waiting":
        with suppress(QuandaryError):  # of another version, or without its texts: shown as it is
            writer.stand(rebuild(store, run.row.id, [entry.recorded for entry in run.entries]))
    writer.append(store)


class RunRow(NamedTuple):
    """What the row of a run still tells of it."""

    number: int
    n: int
    first: bytes


class Salvaged(msgspec.Struct):
    """Everything that could be read."""

    entries: dict[str, dict[int, list[Entry]]] = {}  # by run and number; several where they differ
    documents: dict[str, bytes] = {}
    rows: dict[str, RunRow] = {}
    last: Last | None = None
    listed: dict[str, dict[int, int]] = {}
    """What the index of the entries tells of them, even of lost ones: numbers, by run and `n`."""


def salvage(path: str) -> Salvaged:
    """Read what can be read of the file, and of the log of its newest changes beside it."""
    try:
        main, log = _contents(path), b""
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror})") from error
    with suppress(OSError):
        log = _contents(f"{path}-wal")
    # The size of a page is as the file's head says; where that is damaged, as SQLite makes it.
    said, kept = (int.from_bytes(main[16:18]), main[20]) if main.startswith(_MAGIC) else (0, 0)
    size = {1: 65536}.get(said, said if said >= 512 and said & (said - 1) == 0 else 4096)
    found = Salvaged()
    # Once with the newest changes, and once without: either may have suffered.
    for changed in (_read_log(log, size), {}):
        for rowid, row in _Pages(main, size, changed, size - kept).rows():
            _sort(found, rowid, row)
    return found


def _contents(path: str) -> bytes:
    """All of a file, however large; what is none may have no end."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "not a regular file", path)
    return Path(path).read_bytes()


def _read_log(log: bytes, size: int) -> dict[int, bytes]:
    """The newest pages in a write-ahead log, as far as they were committed."""
    changed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    if int.from_bytes(log[:4]) not in _WAL_MAGIC:
        return changed
    for at in range(_WAL_HEAD, len(log) - _FRAME_HEAD - size + 1, _FRAME_HEAD + size):
        if log[at + 8 : at + 16] != log[16:24]:  # written before the log was begun anew
            break
        waiting[int.from_bytes(log[at : at + 4])] = log[at + _FRAME_HEAD : at + _FRAME_HEAD + size]
        if log[at + 4 : at + 8] != bytes(4):
            changed |= waiting
            waiting = {}
    return changed


class _Pages(NamedTuple):
    main: bytes
    size: int
    changed: dict[int, bytes]
    usable: int

    def page(self, number: int) -> bytes:
        """A page by its number, from 1."""
        at = (number - 1) * self.size
        return self.changed.get(number) or self.main[at : at + self.size]

    def rows(self) -> Iterator[tuple[int, list[Value]]]:
        """Every row on every page of a table or an index, with its number where it has one."""
        count = max(len(self.main) // self.size, *self.changed, 0)
        for number in range(1, count + 1):
            page = self.page(number)
            head = _HEAD if number == 1 else 0
            if len(page) < self.size or page[head] not in _BEFORE_CELLS:
                continue
            first = head + _BEFORE_CELLS[page[head]]
            for cell in range(int.from_bytes(page[head + 3 : head + 5])):
                at = first + 2 * cell
                with suppress(IndexError, ValueError):  # damaged, so the next one
                    yield self._row(page[head], page, int.from_bytes(page[at : at + 2]))

    def _row(self, kind: int, page: bytes, at: int) -> tuple[int, list[Value]]:
        at += 4 if kind == _BRANCH_OF_INDEX else 0
        length, at = _number(page, at)
        if kind != _LEAF:
            return 0, _record(page[at : at + length])
        rowid, at = _number(page, at)
        if not 0 < rowid < _BEYOND:
            raise ValueError("that is no number of a row")
        return rowid, _record(self._payload(page, at, length))

    def _payload(self, page: bytes, at: int, length: int) -> bytes:
        """What a row holds; the rest of a long one is on pages that are chained to it."""
        most, least = self.usable - 35, (self.usable - 12) * 32 // 255 - 23
        if length <= most:
            return page[at : at + length]
        here = least + (length - least) % (self.usable - 4)
        here = here if here <= most else least
        if length > len(self.main) + len(self.changed) * self.size:
            raise ValueError("that is longer than all there is")
        parts, left = [page[at : at + here]], length - here
        number = int.from_bytes(page[at + here : at + here + 4])
        while left > 0:
            following = self.page(number) if number else b""
            if len(following) < self.size:
                raise ValueError("the chain is broken")
            parts.append(following[4 : min(self.usable, 4 + left)])
            left -= len(parts[-1])
            number = int.from_bytes(following[:4])
        return b"".join(parts)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where the next thing begins."""
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9


def _record(data: bytes) -> list[Value]:
    """The values of a row: first come their kinds, which say how long each of them is."""
    end, at = _number(data, 0)
    values: list[Value] = []
    place = end
    while at < end:
        kind, at = _number(data, at)
        if kind in _CONSTANTS:
            values.append(_CONSTANTS[kind])
            continue
        length = _INTEGERS.get(kind, (kind - 12) // 2 if kind >= 12 else -1)
        part = data[place : place + length]
        if length < 0 or len(part) < length:
            raise ValueError("the row is cut off")
        place += length
        if kind < 12:
            values.append(int.from_bytes(part, signed=True))
        else:
            values.append(part.decode() if kind % 2 else part)
    return values


def _sort(found: Salvaged, rowid: int, row: list[Value]) -> None:
    """Put a row where it belongs, by its shape; one that has none of ours belongs nowhere."""
    match row:
        case [None, str(run), int(n), str(kind), bytes(body), *texts, bytes(proof)]:
            octets = all(isinstance(text, bytes | None) for text in texts)
            if kind in _KINDS and octets and len(texts) == 3:
                matter, salt, seal = cast("list[bytes | None]", texts)
                entry = Entry(run, n, cast("Kind", kind), body, matter, salt, seal, proof, rowid)
                alike = found.entries.setdefault(run, {}).setdefault(n, [])
                if entry not in alike:
                    alike.append(entry)
        case [str(name), bytes(written)] if document_digest(written) == name:
            found.documents[name] = written
        case [None, str(run), *_, int(), int(n), bytes(first), bytes(), str(), str(), _]:
            if len(row) == _RUN_COLUMNS and (run not in found.rows or found.rows[run].n < n):
                found.rows[run] = RunRow(rowid, n, first)
        case [str(run), int(n), int(seq)] if len(run) == LENGTH:
            found.listed.setdefault(run, {})[n] = seq
        case [None, str(run), bytes(first), int(runs)]:
            if found.last is None or found.last.runs < runs:
                found.last = Last(run, first, runs)
