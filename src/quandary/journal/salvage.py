"""Rows out of a damaged SQLite file, read page by page without SQLite.

What SQLite refuses to open or to scan can still hold most of its rows: each leaf of a table stands
for itself. A row is known by its shape, and an entry proves by its digest that it is as it was
written. https://www.sqlite.org/fileformat2.html describes the pages.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

from quandary.errors import StoreError
from quandary.journal.entries import Entry, Kind, document_digest
from quandary.journal.ids import LENGTH
from quandary.journal.store import TABLES, Last

if TYPE_CHECKING:
    from collections.abc import Iterator

    Value = None | int | str | bytes

_MAGIC = b"SQLite format 3\0"
_BEYOND = 1 << 53
_HEAD = 100
"""So long is the file's own head, on its first page."""
_LEAF, _LEAF_OF_INDEX, _BRANCH_OF_INDEX = 0x0D, 0x0A, 0x02
_BEFORE_CELLS = {_LEAF: 8, _LEAF_OF_INDEX: 8, _BRANCH_OF_INDEX: 12}
"""The kinds of pages that hold rows, and where the list of rows begins on each."""
_WAL_HEAD, _FRAME_HEAD = 32, 24
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_KINDS = frozenset(get_args(Kind))
_RUN_COLUMNS = len(TABLES["run"])
_CONSTANTS: dict[int, int | None] = {0: None, 8: 0, 9: 1}
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class RunRow(NamedTuple):
    """What the row of a run still tells of it."""

    number: int
    n: int
    first: bytes


class Salvaged(NamedTuple):
    """Everything that could be read."""

    entries: dict[str, dict[int, list[Entry]]]
    """By run and number; several where they differ."""
    documents: dict[str, bytes]
    rows: dict[str, RunRow]
    last: Last | None
    listed: dict[str, dict[int, int]]
    """What the index of the entries tells of them, even of lost ones: numbers, by run and `n`."""


def salvage(path: str) -> Salvaged:
    """Read what can be read of the file, and of the log of its newest changes beside it."""
    try:
        main = _bytes(path)
        log = _bytes(f"{path}-wal") if os.path.exists(f"{path}-wal") else b""
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror})") from error
    size = _page_size(main)
    found = Salvaged({}, {}, {}, None, {})
    changed = _logged(log, size)
    # Once with the newest changes, and once without: either may have suffered.
    for pages in (_Pages(main, size, changed), _Pages(main, size, {})):
        for rowid, row in pages.rows():
            found = _sort(found, rowid, row)
        if not changed:
            break
    return found


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _page_size(main: bytes) -> int:
    """As the file's head says; where that is damaged, as SQLite makes it."""
    said = int.from_bytes(main[16:18], "big") if main.startswith(_MAGIC) else 0
    said = 65536 if said == 1 else said
    return said if said >= 512 and said & (said - 1) == 0 else 4096


def _logged(log: bytes, size: int) -> dict[int, bytes]:
    """The newest pages in a write-ahead log, as far as they were committed."""
    changed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    if int.from_bytes(log[:4], "big") not in _WAL_MAGIC:
        return changed
    salts = log[16:24]
    for at in range(_WAL_HEAD, len(log) - _FRAME_HEAD - size + 1, _FRAME_HEAD + size):
        if log[at + 8 : at + 16] != salts:
            break
        number = int.from_bytes(log[at : at + 4], "big")
        waiting[number] = log[at + _FRAME_HEAD : at + _FRAME_HEAD + size]
        if log[at + 4 : at + 8] != bytes(4):
            changed |= waiting
            waiting = {}
    return changed


class _Pages:
    def __init__(self, main: bytes, size: int, changed: dict[int, bytes]) -> None:
        self.main = main
        self.size = size
        self.changed = changed
        self.usable = size - (main[20] if main.startswith(_MAGIC) else 0)

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
            for cell in range(int.from_bytes(page[head + 3 : head + 5], "big")):
                at = first + 2 * cell
                try:
                    yield self._row(page[head], page, int.from_bytes(page[at : at + 2], "big"))
                except (IndexError, ValueError):  # damaged, so the next one
                    continue

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
        parts, left = [page[at : at + here]], length - here
        number = int.from_bytes(page[at + here : at + here + 4], "big")
        while left > 0:
            following = self.page(number) if number else b""
            if len(following) < self.size:
                raise ValueError("the chain is broken")
            part = following[4 : min(self.usable, 4 + left)]
            parts.append(part)
            left -= len(part)
            number = int.from_bytes(following[:4], "big")
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
    """The values of a row."""
    end, at = _number(data, 0)
    kinds = []
    while at < end:
        kind, at = _number(data, at)
        kinds.append(kind)
    values: list[Value] = []
    at = end
    for kind in kinds:
        value, at = _value(data, at, kind)
        values.append(value)
    return values


def _value(data: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], at
    length = _INTEGERS.get(kind, (kind - 12) // 2 if kind >= 12 else -1)
    part = data[at : at + length]
    if length < 0 or len(part) < length:
        raise ValueError("the row is cut off")
    if kind < 12:
        return int.from_bytes(part, "big", signed=True), at + length
    return part.decode() if kind % 2 else part, at + length


def _sort(found: Salvaged, rowid: int, row: list[Value]) -> Salvaged:
    """Put a row where it belongs, by its shape; one that has none of ours belongs nowhere."""
    match row:
        case [None, str(run), int(n), str(kind), bytes(body), *texts, bytes(digest)]:
            match texts:
                case [bytes() | None as matter, bytes() | None as salt, bytes() | None as seal] if (
                    kind in _KINDS
                ):
                    known = cast("Kind", kind)
                    entry = Entry(run, n, known, body, matter, salt, seal, digest, rowid)
                    alike = found.entries.setdefault(run, {}).setdefault(n, [])
                    if entry not in alike:
                        alike.append(entry)
        case [str(digest), bytes(written)] if document_digest(written) == digest:
            found.documents[digest] = written
        case [None, str(run), *_, int(), int(n), bytes(first), bytes(), str(), str(), _]:
            if len(row) == _RUN_COLUMNS and (run not in found.rows or found.rows[run].n < n):
                found.rows[run] = RunRow(rowid, n, first)
        case [str(run), int(n), int(seq)] if len(run) == LENGTH:
            found.listed.setdefault(run, {})[n] = seq
        case [None, str(run), bytes(first), int(runs)]:
            if found.last is None or found.last.runs < runs:
                return found._replace(last=Last(run, first, runs))
    return found
