"""Texts taken out of runs that ended long ago: what was decided stays, and the chain holds.

An entry's body is never touched: keys, codes, who, through what, when. What goes is the matter, as
a whole or not at all, since its seal covers all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.errors import Rejected
from quandary.journal import archive, runs
from quandary.journal.entries import Began, Entry, Source
from quandary.journal.history import (
    IMPORT,
    PRUNE,
    RECORDS,
    Wanted,
    find_needed,
    is_prunable,
    may_prune,
)
from quandary.model.calls import Do, Done

if TYPE_CHECKING:
    from quandary.journal.archive import Exported
    from quandary.journal.store import Run, State, Store

    Watch = Callable[["Amount"], None]

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
    """What there is to take out, run by run; `bare` gets the documents of runs that need none.

    Whoever has `resumed` looks at runs that were pruned, too: their documents may be left.
    """
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
    gone = [
        e for e in entries if e.matter is not None and is_prunable(row.flow, e.read(), wanted.keep)
    ]
    numbers, began = {entry.n for entry in gone}, entries[0].read()
    if isinstance(began, Began):
        left = (entry for entry in entries if entry.n not in numbers)
        bare |= set(began.documents.values()) - find_needed(began, left)
    return _of(row, gone) if gone else None


def _take_imported(
    store: Store, row: Run, entries: list[Entry], wanted: Wanted, bare: set[str]
) -> Take | None:
    """A run that another store wrote is replaced by one without texts; its record goes."""
    began = entries[0].read()
    gone = [entry for entry in entries if entry.matter is not None]
    if isinstance(began, Began) and store.named(began.name).get(began.name) != row.id:  # superseded
        bare |= _documents(entries)
        return _of(row, gone) if gone else None
    exported = archive.read_imported(store, row.id)
    flow = exported.began.flow
    if flow in RECORDS or exported.entries[-1].kind != "ended":
        return None
    renewed = archive.redact(exported, lambda body: is_prunable(flow, body, wanted.keep))
    pairs = zip(exported.entries, renewed.entries, strict=True)
    less = [before for before, after in pairs if before.matter != after.matter]
    if not less:
        return None
    bare |= _documents(entries)
    return _of(row, less)._replace(numbers=tuple(entry.n for entry in gone), renewed=renewed)


def _of(row: Run, gone: list[Entry]) -> Take:
    size = sum(len(entry.matter or b"") for entry in gone)
    return Take(row, tuple(entry.n for entry in gone), len(gone), size)


def _documents(entries: list[Entry]) -> set[str]:
    began = entries[0].read()
    return set(began.documents.values()) if isinstance(began, Began) else set()


def prune(store: Store, wanted: Wanted, project: str, source: Source, watch: Watch) -> State:
    """Take it out, and keep a record of who did, when, and how much it was."""
    stays = "only codes stay" if wanted.keep == "codes" else "answers stay"
    context = f"what ended before {wanted.before[:16].replace('T', ' ')}Z; {stays}"
    return runs.begin(
        store,
        PRUNE,
        {**msgspec.to_builtins(wanted), "context": context},
        project=project,
        **source._asdict(),
        deeds=partial(do_prune, store, watch=watch, resumed=False),
    )


def finish(store: Store, source: Source, watch: Watch) -> Iterator[State]:
    """Resume what was interrupted; what was pruned by then is not counted again."""
    deeds = partial(do_prune, store, watch=watch)
    for row in store.each_run(waits="house"):
        if row.flow == PRUNE:
            yield runs.advance(store, row.id, **source._asdict(), deeds=deeds)


def do_prune(
    store: Store, deed: Do, watch: Watch = lambda _: None, *, resumed: bool = True
) -> Done:
    """The deed: every run is pruned as a whole or not at all, whenever it is interrupted."""
    wanted = msgspec.json.decode(deed.argument, type=Wanted)
    amount, bare = Amount(), set[str]()
    for batch in _batches(find_prunable(store, wanted, bare, resumed=resumed)):
        for take in batch:
            if take.renewed is not None:
                flow, source = take.renewed.began.flow, Source("policy", PRUNE, "")
                archive.keep(store, take.renewed, flow, take.run.project, source)
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
