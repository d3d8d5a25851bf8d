"""What was kept and has been damaged: exported runs, and the files of stores."""

from __future__ import annotations

import json
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import small_flows
from fuzz.target import Target, folder, hold
from quandary.errors import QuandaryError, StoreError
from quandary.journal import archive, runs
from quandary.journal.backups import recover
from quandary.journal.entries import Noted, Source
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.entries import Entry


@cache
def _folder() -> Path:
    return folder()


@cache
def _original() -> bytes:
    """A run with a bit of everything, as a file."""
    store = SqliteStore(":memory:")
    state = small_flows.begin(store, questions=3)
    state = small_flows.answer(store, state)
    state = small_flows.answer(store, state, small_flows.pick(state.key, "NO", comment="because"))
    return archive.write(archive.export(store, state.run))


def _exported(data: bytes) -> None:
    """A file is taken in only as it was written, however it is laid out."""
    found = archive.read(data, "run.json")
    whole = archive.read(_original(), "run.json")
    hold(found.run != whole.run or found.entries == whole.entries[: len(found.entries)], "changed")
    store = SqliteStore(":memory:")
    source = Source("agent", "command", "")
    brought = archive.import_run(store, found, about="x", project="here", source=source)
    hold(verify(store).ok, "the store does not verify")
    hold(archive.read_imported(store, brought.record) == found, "another run came out")
    store.close()


def _edited(data: bytes) -> None:
    """The same with a few bytes changed, which gets further than any bytes do."""
    text = bytearray(_original())
    for at in range(0, min(len(data) - 2, 24), 3):
        text[(data[at] << 8 | data[at + 1]) % len(text)] = data[at + 2]
    _exported(bytes(text))


@cache
def _journal() -> bytes:
    path = _folder() / "whole.db"
    store = SqliteStore(path)
    for number in range(4):
        state = small_flows.begin(store, questions=4)
        for _ in range(number):
            state = small_flows.answer(store, state)
    store.close()
    return path.read_bytes()


@cache
def _bodies() -> set[tuple[str, int, bytes]]:
    store = SqliteStore(_folder() / "whole.db")
    return {(entry.run, entry.n, entry.body) for entry in store.history()}


def _damaged(data: bytes) -> None:
    """Of a damaged store nothing is made up, and what is saved verifies and can be gone on with."""
    text = bytearray(_journal())
    for at in range(0, min(len(data) - 3, 64), 4):
        place = (data[at] << 16 | data[at + 1] << 8 | data[at + 2]) % len(text)
        text[place] = data[at + 3]
    if len(data) % 5 == 1:
        del text[(data[0] << 8) % len(text) :]
    path, new = _folder() / "damaged.db", _folder() / "new.db"
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
        Path(f"{new}{suffix}").unlink(missing_ok=True)
    path.write_bytes(text)
    _looked_at(path)
    path.write_bytes(text)
    with closing(SqliteStore(new)) as store:
        found = recover(str(path), store)
        saved = {one for run in store.runs() for one in _before_recovery(store.entries(run.id))}
        hold(saved <= _bodies(), "an entry was made up")
        hold(saved == _bodies() or bool(found.losses), "entries are missing, and nobody says so")
        for run in store.runs():
            runs.look(store, run.id)


def _before_recovery(entries: list[Entry]) -> Iterator[tuple[str, int, bytes]]:
    """The entries of a run that were not added when it was saved."""
    for entry in entries:
        body = entry.read()
        if isinstance(body, Noted) and body.kind == "recovered":
            return
        yield entry.run, entry.n, entry.body


def _looked_at(path: Path) -> None:
    """The store as it is: read, or refused in one line."""
    try:
        with closing(SqliteStore(path, patience=0.1)) as store:
            for run in store.runs():
                try:
                    runs.look(store, run.id)
                except QuandaryError:
                    continue
            verify(store)
    except StoreError:
        return


_JSON = (
    '"quandary"',
    '"run"',
    '"format"',
    '"entries"',
    '"documents"',
    '"body"',
    '"matter"',
    "null",
)


def _layouts() -> list[bytes]:
    whole = _original()
    return [whole, json.dumps(json.loads(whole)).encode(), b"{}"]


TARGETS = (
    Target("exported", _exported, _layouts, _JSON, grows=False),
    Target("edited", _edited, lambda: [b"", b"\x00\x10x" * 3], grows=False),
    Target("damaged", _damaged, lambda: [b"", b"\x00\x40\x10x" * 4, b"\x00"], grows=False),
)
