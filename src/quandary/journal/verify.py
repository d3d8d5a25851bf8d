"""Whether a journal is still what was written: nothing changed, moved, cut short or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from quandary.journal.entries import (
    START,
    AnyBody,
    Began,
    Entry,
    Unreadable,
    digest,
    document_digest,
    is_sealed,
    kind_of,
    sha256,
)
from quandary.journal.history import describe_beginning, history

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.journal.store import Run, Store


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that is not as it was written."""

    text: str
    run: str = ""
    n: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What came of looking at everything."""

    digest: str
    """The store's: kept elsewhere, it shows later that nothing up to now was rewritten."""
    runs: int
    entries: int
    pruned: int
    """Entries whose matter was taken out; the chain holds without it."""
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all is as it was written."""
        return not self.problems


def verify(
    store: Store, run: str | None = None, expect: str | None = None, *, follows: bytes | None = None
) -> Report:
    """Check one run or the whole store; with `expect`, also against a digest kept from before.

    A run that is not where it was written follows the digest that it brought along.
    """
    with store.snapshot():
        check = _Check(store)
        if run is None:
            check.everything()
        else:
            row = store.require_run(run)
            check.run(row, follows or store.link_before(row))
        if expect is not None:
            check.expected(expect)
        return Report(
            digest=store_digest(store),
            runs=check.runs,
            entries=check.entries,
            pruned=check.pruned,
            problems=tuple(check.problems),
        )


def store_digest(store: Store, upto: int | None = None) -> str:
    """One digest over the last entries of all runs, at a moment that it names.

    It begins with the number of the newest entry, so that a store that has grown since can still
    be brought back to that moment and compared.
    """
    made, newest = sha256(), 0
    for entry in store.heads(upto):
        made.update(b"%s %d %s" % (entry.run.encode(), entry.n, entry.digest))
        newest = max(newest, entry.seq)
    return f"{newest}-{made.hexdigest()}"


class _Check:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.problems: list[Problem] = []
        self.runs = self.entries = self.pruned = 0
        self.documents: set[str] = set()
        self.names: dict[str, str] = {}

    def everything(self) -> None:
        """All runs, and what is beside them."""
        previous, number = START, 0
        for row in self.store.each_run():
            if missing := row.number - number - 1:
                self._problem(f"runs were removed before this one: {missing}", row.id)
            self.run(row, previous)
            previous, number = row.first, row.number
        last = self.store.last()
        begun = last.runs if last else 0
        if begun != number:
            self._problem(f"{begun} runs were begun; the last one there is number {number}")
        elif last is not None and last.first != previous:
            self._problem("the newest run is not the one that was begun last", last.id)
        for stray in self.store.strays():
            self._problem("the run's row was removed; its entries are still there", stray)
        for name, written in self.store.documents():
            self.documents.discard(name)
            if document_digest(written) != name:
                self._problem(f"the document {name[:12]}… was changed")
        for name in sorted(self.documents):
            self._problem(f"the document {name[:12]}… was removed")
        if self.store.named("", "\U0010ffff") != self.names:
            self._problem("a name does not lead to the newest run that has it")

    def run(self, row: Run, previous: bytes) -> None:
        """One run: its chain, and the row that sums it up."""
        entries = self.store.entries(row.id)
        self.runs += 1
        self.entries += len(entries)
        self.pruned += sum(entry.pruned for entry in entries)
        seq = 0
        for count, entry in enumerate(entries, 1):
            if entry.n != count:
                self._problem(f"entries before number {entry.n} were removed", row.id, count)
                break
            if entry.seq <= seq:
                self._problem("the entry was moved", row.id, entry.n)
            if not is_sealed(entry):
                self._problem("the matter or its salt was changed", row.id, entry.n)
            if digest(entry.run, entry.n, previous, entry.body, entry.seal) != entry.digest:
                more = ", or a run before this one was changed or removed" if count == 1 else ""
                self._problem(f"the entry was changed{more}", row.id, entry.n)
            previous, seq = entry.digest, entry.seq
        if len(entries) != row.n:
            text = f"there are {len(entries)} entries, and the run's row knows of {row.n}"
            self._problem(text, row.id, len(entries))
        elif entries[-1].digest != row.head or entries[0].digest != row.first:
            self._problem("the run's row knows of other entries than there are", row.id, row.n)
        try:
            bodies = [entry.read() for entry in entries]
        except Unreadable:
            self._problem("an entry cannot be read", row.id)
        else:
            self._compare(row, entries, bodies)

    def _compare(self, row: Run, entries: list[Entry], bodies: list[AnyBody]) -> None:
        for entry, body in zip(entries, bodies, strict=True):
            if kind_of(body) != entry.kind:
                self._problem("the kind of the entry was changed", row.id, entry.n)
            if isinstance(body, Began):
                self.documents.update(body.documents.values() if needs_documents(entries) else ())
                self.names |= {body.name: row.id} if body.name else {}
                if replace(row, **describe_beginning(body)) != row:
                    self._problem("the run's row does not say how the run began", row.id)
        if replace(history(bodies).row(row), n=row.n) != row:
            self._problem("the run's row does not say where the run stands", row.id)

    def expected(self, expect: str) -> None:
        """Compare with a digest from before."""
        moment, _, rest = expect.partition("-")
        if not moment.isdecimal() or len(rest) != 64:
            self._problem(f"{expect} is no digest of a store; copy what `quandary verify` printed")
        elif store_digest(self.store, int(moment)) != expect:
            self._problem("what was written up to the expected digest is not what is there now")

    def _problem(self, text: str, run: str = "", n: int = 0) -> None:
        self.problems.append(Problem(text, run, n))


def needs_documents(entries: Iterable[Entry]) -> bool:
    """Whether a run needs what it began with: as long as anything said in it is left.

    What the house did itself is left in any case and says nothing.
    """
    return any(entry.matter is not None and entry.kind != "called" for entry in entries)
