"""A new journal out of what could be read of a damaged one, and what is missing from it.

What is taken over is what the chain proves: of each run, the entries from the first one on as long
as each follows the one before it. Where whole runs are lost, the new journal says so for ever:
their numbers stay free, and `verify` misses them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.errors import QuandaryError, Rejected
from quandary.journal.draft import Draft, Source
from quandary.journal.entries import START, Began, Entry, Matter, Noted, digest, sealed
from quandary.journal.progress import rebuild
from quandary.journal.rows import row_of
from quandary.journal.salvage import Salvaged, salvage
from quandary.journal.store import TABLES, Last
from quandary.journal.verify import Report, verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import Row, Run, Store


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
    entries: list[Entry]
    cut: str
    """Which of its entries are missing."""


def recover(path: str, target: Store) -> Recovered:
    """Put what can be read of a damaged file into an empty store."""
    salvaged = salvage(path)
    if not salvaged.entries:
        raise Rejected(f"{path}: no entry of a journal could be found in it")
    found, losses, left = _runs(salvaged)
    documents = salvaged.documents
    needed = {name for run in found for name in _began(run.entries).documents.values()}
    losses += [Loss("", f"the document {name[:12]}…") for name in sorted(needed - documents.keys())]
    target.fill(lambda table: _rows(table, found, salvaged), lambda: None)
    for run in found:
        if run.cut:
            _go_on(target, run)
    return Recovered(verify(target), losses, left)


# -- what is proved ------------------------------------------------------------------------------


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
            count = "" if not total else f" of {total} entries" if total > 1 else " of 1 entry"
            losses.append(Loss(id_, f"the whole run{count}"))
            previous, number = (known.first, known.number) if known else (b"", number)
            continue
        cut = _span(len(chain) + 1, total) if total > len(chain) else ""
        if cut:
            losses.append(Loss(id_, cut))
        entries = list(map(_without_damage, chain))
        losses += [
            Loss(id_, f"the texts of entry {mended.n}")
            for mended, entry in zip(entries, chain, strict=True)
            if mended is not entry
        ]
        previous, number = chain[0].digest, place
        found.append(_Found(row_of(entries, number), entries, cut))
    begun = salvaged.last.runs if salvaged.last else 0
    if begun > number:
        some = f"{begun - number} runs" if begun - number > 1 else "1 run"
        losses.append(Loss("", f"{some} at the end"))
    free = _free(salvaged)
    if free:
        losses.append(Loss("", f"perhaps {free} more entries, of which nothing is left"))
    return found, losses, left


def _free(salvaged: Salvaged) -> int:
    """How many numbers no entry is known to have had, up to the highest."""
    seqs = {seq for entries in salvaged.listed.values() for seq in entries.values()}
    kept = (entry for run in salvaged.entries.values() for alike in run.values() for entry in alike)
    seqs.update(entry.seq for entry in kept)
    return max(seqs) - len(seqs)


def _chain(kept: dict[int, list[Entry]], previous: bytes) -> tuple[list[Entry], bool]:
    """The entries of a run that follow each other, and whether the first follows the run before.

    Where the run before is lost, the first entry cannot be proved; it is taken if it can be read.
    """
    chain: list[Entry] = []
    linked = False
    for n in range(1, len(kept) + 1):
        fitting = [entry for entry in kept.get(n, ()) if _follows(entry, previous)]
        linked = linked or (n == 1 and bool(fitting))
        if n == 1 and not fitting:
            fitting = [entry for entry in kept.get(n, ()) if _begins(entry)]
        if not fitting:
            break
        # Texts that were pruned from one of two are not brought back from the other.
        chain.append(next((e for e in fitting if e.pruned), None) or _best(fitting))
        previous = chain[-1].digest
    return chain, linked


def _best(fitting: list[Entry]) -> Entry:
    return next((entry for entry in fitting if sealed(entry)), fitting[0])


def _follows(entry: Entry, previous: bytes) -> bool:
    return digest(entry.run, entry.n, previous, entry.body, entry.seal) == entry.digest


def _begins(entry: Entry) -> bool:
    try:
        return isinstance(entry.read(), Began) and sealed(entry)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def _without_damage(entry: Entry) -> Entry:
    """An entry whose texts are damaged is kept without them, as if they had been pruned."""
    return entry if sealed(entry) else replace(entry, matter=None, salt=None)


def _span(first: int, last: int) -> str:
    return f"entry {first}" if first == last else f"entries {first} to {last}"


# -- the new journal -----------------------------------------------------------------------------


def _began(entries: list[Entry]) -> Began:
    began = entries[0].read()
    assert isinstance(began, Began)  # noqa: S101 - seen to when it was found
    return began


def _rows(table: str, found: list[_Found], salvaged: Salvaged) -> Iterator[Row]:
    """The rows of the new journal."""
    if table == "document":
        yield from salvaged.documents.items()
    elif table == "run":
        for run in found:
            yield tuple(getattr(run.row, column) for column in TABLES["run"])
    elif table == "entry":
        yield from _entries([entry for run in found for entry in run.entries])
    elif table == "name":
        names = {_began(run.entries).name: run.row.id for run in found}
        yield from ((name, run) for name, run in names.items() if name)
    else:
        newest = found[-1].row
        last = Last(newest.id, newest.first, newest.number)
        yield 1, *(salvaged.last if salvaged.last and salvaged.last.runs > last.runs else last)


def _entries(entries: list[Entry]) -> Iterator[Row]:
    """In the order in which they were written; two cannot have been written at once."""
    seq = 0
    for entry in sorted(entries, key=lambda entry: entry.seq):
        seq = max(seq + 1, entry.seq)
        yield tuple(getattr(replace(entry, seq=seq), column) for column in TABLES["entry"])


def _go_on(store: Store, run: _Found) -> None:
    """Say in a run what it lost, and have it stand where its flow stands after what is left."""
    draft = Draft(run.row, Source("policy", "recovery", ""))
    noted = Noted(kind="recovered", key=run.row.key or "", **draft.said)
    draft.add(noted, Matter(text=f"{run.cut} could not be read in the damaged store"))
    if run.row.status == "waiting":
        with suppress(QuandaryError):  # of another version, or without its texts: shown as it is
            draft.stand(rebuild(store, run.row.id, run.row.n))
    draft.append(store)
