"""Whether a journal is still what was written: nothing changed, moved, cut short or removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import groupby, starmap
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, get_args

import msgspec
from msgspec.structs import replace

from quandary.journal import EMPTY_STORE, UNVERIFIED
from quandary.journal.entries import (
    START,
    Answered,
    AnyBody,
    Began,
    Called,
    Ended,
    Entry,
    Noted,
    digest,
    document_digest,
    is_sealed,
    kind_of,
    read_beginning,
    read_bodies,
    read_body,
)
from quandary.journal.history import describe_beginning, history, where
from quandary.journal.store import Run
from quandary.model.asks import MARK

if TYPE_CHECKING:
    from quandary.journal.store import Store, Watch

Keep = Literal["answers", "codes"]
KEEPS: tuple[Keep, ...] = get_args(Keep)
IMPORT = "imported"  # the flow that keeps a run of another store
PRUNE = "prune"  # the flow that records what was pruned
RECORDS = frozenset({"prefer", "phase", "track", PRUNE})
"""Flows in which nobody is asked and no program runs: what they began with is what was decided."""
RETOLD = frozenset({"walk"})  # flows whose result repeats what programs put out
_MANY = 500  # of so many runs, what is beside them is looked up at once
_BEYOND = "~"  # follows the name of every run


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that is not as it was written."""

    text: str
    run: str = ""
    n: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What came of looking at everything."""

    digest: str  # the store's: kept elsewhere, it shows later that nothing up to now was rewritten
    runs: int
    entries: int
    pruned: int  # entries whose matter was taken out; the chain holds without it
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all is as it was written."""
        return not self.problems


def verify(
    store: Store,
    run: str | None = None,
    expect: str | None = None,
    *,
    follows: bytes | None = None,
    seen: bool = True,
    watch: Watch = lambda *_: None,
) -> Report:
    """Check one run or the whole store; with `expect`, also against a digest kept from before, and
    with `seen`, against what was seen of the store here. A run that is not where it was written
    follows the digest that it brought along.
    """
    with store.snapshot():
        check = _Check(store)
        if run is None:
            check.everything(watch)
        else:
            row = store.require_run(run)
            check.one(row, follows or store.link_before(row), at_home=follows is None)
            check.look_up()
        made = check.digest if run is None and not check.problems else store_digest(store)
        if seen:
            check.seen(made)
        if expect is not None:
            check.expected(expect, made)
        return Report(
            digest=made,
            runs=check.runs,
            entries=check.entries,
            pruned=check.pruned,
            problems=tuple(check.problems),
        )


def store_digest(store: Store, upto: int | None = None) -> str:
    """One digest over the last entries of all runs, at a moment that it names. It begins with the
    number of the newest entry, so that a store that has grown since can still be brought back to
    that moment and compared.
    """
    made, newest = sha256(), 0
    for run, n, last, seq in store.heads(upto):
        made.update(b"%s %d %s" % (run.encode(), n, last))
        newest = max(newest, seq)
    return f"{newest}-{made.hexdigest()}"


class _Check:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.problems: list[Problem] = []
        self.runs = self.entries = self.pruned = 0
        self.missing: set[str] = set()
        self.needed: set[str] = set()
        """Documents that have to be there, and are looked for with others."""
        self.names: dict[str, int] = {}  # the same for names: the newest run that has one
        self.prunes = list(_recorded_prunes(store))
        self.heads, self.newest = sha256(), 0
        """Of the last entries of all runs, what `store_digest` makes of them."""
        self.began = 0  # where the newest run began, of those that were seen
        self.every: Iterator[tuple[str, Iterator[Entry]]] = iter(())
        """All entries, run by run, where everything is checked."""
        self.ahead: tuple[str, list[Entry]] = (_BEYOND, [])  # those of them that were read last

    @property
    def digest(self) -> str:
        """The digest of the store, if everything in it is as it was written."""
        return f"{self.newest}-{self.heads.hexdigest()}"

    def everything(self, watch: Watch) -> None:
        """All runs, and what is beside them."""
        previous, number, newest = START, 0, ""
        last = self.store.last()
        begun = last.runs if last else 0
        self.every, self.ahead = groupby(self.store.each_entry(), attrgetter("run")), ("", [])
        for row in starmap(Run, self.store.dump("run")):
            if missing := row.number - number - 1:
                self._problem(f"runs were removed before this one: {missing}", row.id)
            self.one(row, previous)
            previous, number, newest = row.first, row.number, row.id
            if not self.runs % _MANY:
                self.look_up()
                watch(number, begun, "runs checked")
        self.look_up()
        watch(number, begun, "runs checked")
        if begun != number:
            self._problem(f"{begun} runs were begun; the last one there is number {number}")
        elif last is not None and (last.id, last.first) != (newest, previous):
            self._problem("the newest run is not the one that was begun last", last.id)
        self._beside()

    def _beside(self) -> None:
        """What is beside the runs: entries of none, documents, names, the database itself."""
        for stray in self.store.strays() if self.store.count() != self.entries else ():
            self._problem("the run's row was removed; its entries are still there", stray)
        for name, written in self.store.documents():
            if document_digest(written) != name:
                self._problem(f"the document {name[:12]}… was changed")
        for name in sorted(self.missing):
            self._problem(f"the document {name[:12]}… was removed")
        for name, run, began in self.store.beginnings():
            if not _bears(began, name):
                self._problem("a name leads to a run that does not have it", run)
        for fault in self.store.faults():
            self._problem(fault)

    def one(self, row: Run, previous: bytes, *, at_home: bool = True) -> None:
        """A run, which follows another."""
        entries = self._entries_of(row.id)
        self.runs += 1
        self.entries += len(entries)
        self._chain(row, entries, previous)
        try:
            bodies = read_bodies([entry.body for entry in entries])
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._problem("an entry cannot be read", row.id)
            return
        began = self._compare(row, entries, bodies)
        pruned = [at for at, e in enumerate(entries, 1) if e.matter is None and e.seal]
        if began is not None and began.documents:
            everything = began.documents.values()
            self.needed.update(find_needed(began, entries) if pruned else everything)
        if began is not None and began.name and at_home:
            self.names[began.name] = row.number
        if pruned:
            self.pruned += len(pruned)
            self._prunes(row, pruned, bodies, at_home=at_home)

    def look_up(self) -> None:
        """Whether the documents and names are there of which the runs since the last time told."""
        self.missing |= self.needed - self.store.have_documents(self.needed)
        newest = self.store.numbers_of(self.names)
        if any(newest.get(name, 0) < number for name, number in self.names.items()):
            self._problem("a name does not lead to the newest run that has it")
        self.needed.clear()
        self.names.clear()

    def _entries_of(self, run: str) -> list[Entry]:
        """The entries of a run, which follow those of the run before, unless that was changed."""
        name, entries = self.ahead
        while name < run:
            name, entries = self.ahead = next(
                ((name, [*entries]) for name, entries in self.every), (_BEYOND, [])
            )
        return entries if name == run else self.store.entries(run)

    def _chain(self, row: Run, entries: list[Entry], previous: bytes) -> None:
        """Whether each entry is what it was, and follows the one before."""
        seq = self.began
        for count, entry in enumerate(entries, 1):
            if entry.n != count:
                self._problem(f"entries before number {entry.n} were removed", row.id, count)
                break
            if entry.seq <= seq:
                self._problem("the entry was moved", row.id, count)
            if not is_sealed(entry, sha256):
                self._problem("the matter or its salt was changed", row.id, count)
            made = digest(row.id, count, previous, entry.body, entry.seal, sha256)
            previous, seq = entry.digest, entry.seq
            if made != previous:
                more = ", or a run before this one was changed or removed" if count == 1 else ""
                self._problem(f"the entry was changed{more}", row.id, count)
        if entries:
            self.began, self.newest = entries[0].seq, max(self.newest, seq)
            self.heads.update(b"%s %d %s" % (row.id.encode(), len(entries), previous))
        if len(entries) != row.n or not entries:
            text = f"there are {len(entries)} entries, and the run's row knows of {row.n}"
            self._problem(text, row.id, len(entries))
        elif entries[-1].digest != row.head or entries[0].digest != row.first:
            self._problem("the run's row knows of other entries than there are", row.id, row.n)

    def _compare(self, row: Run, entries: list[Entry], bodies: list[AnyBody]) -> Began | None:
        """Whether the row says what the entries come to; how the run began."""
        for n in [e.n for e, b in zip(entries, bodies, strict=True) if e.kind != kind_of(b)]:
            self._problem("the kind of the entry was changed", row.id, n)
        standing = history(bodies)
        began = standing.began
        if began is None or replace(row, **describe_beginning(began)) != row:
            self._problem("the run's row does not say how the run began", row.id)
        if where(standing) != where(row):
            self._problem("the run's row does not say where the run stands", row.id)
        return began

    def _prunes(self, row: Run, pruned: list[int], bodies: list[AnyBody], *, at_home: bool) -> None:
        """Whether texts are missing that no prune takes, or that none on record took. Of a run that
        was written elsewhere, the record is there. What could not be read when a damaged store was
        recovered is told in the run itself. A copy of another store's run is pruned as a whole,
        once a newer one has taken its place.
        """
        lost = {n for body in bodies if isinstance(body, Noted) for n in body.lost}
        prunes = {prune.keep for prune in self.prunes if may_prune(row, prune)}
        name = getattr(bodies[0], "name", "")
        is_copy = row.flow == IMPORT
        is_replaced = is_copy and self.store.named(name).get(name) != row.id
        for n in pruned:
            body = bodies[n - 1]
            goes = is_replaced if is_copy else is_prunable(row.flow, body, "codes")
            if n in lost:
                continue
            if not goes or not may_prune(row, _ANY):
                self._problem("its texts were removed, which no prune does", row.id, n)
            elif at_home and not any(is_copy or is_prunable(row.flow, body, k) for k in prunes):
                self._problem("its texts were removed, and no prune on record did it", row.id, n)

    def expected(self, expect: str, made: str) -> None:
        """Compare with a digest from before."""
        moment, _, rest = expect.partition("-")
        if not moment.isdecimal() or len(rest) != 64:
            self._problem(f"{expect} is no digest of a store; copy what `quandary verify` printed")
        elif (newest := _moment(made)) < int(moment):
            text = f"the store is older than the expected digest: it ends with entry {newest}, and "
            self._problem(f"{text}what came up to entry {moment} is missing")
        elif not self._had(expect, made):
            self._problem("what was written up to the expected digest is not what is there now")

    def seen(self, made: str) -> None:
        """Compare with what was seen of the store here, as long as it is the same one."""
        if self.store.missing:
            self._problem(self.store.missing)
            return
        anchors = self.store.keeper.read_all() if self.store.keeper is not None else []
        for verified in {anchor.verified for anchor in anchors} - {UNVERIFIED}:
            moment = _moment(verified)
            if not self._had(verified, made):
                text = f"what was verified here up to entry {moment} is not what is there now"
                self._problem(f"{text}: it was altered since")
            elif gaps := self.store.gaps(moment):
                self._problem(f"entries that came after entry {moment} were removed: {gaps}")

    def _had(self, digest: str, made: str) -> bool:
        """Whether the store, or its newest entry, had this digest at the moment that it names."""
        moment = _moment(digest)
        if digest in (made, EMPTY_STORE, f"{moment}-{self.store.digest_at(moment)}"):
            return True
        return store_digest(self.store, moment) == digest

    def _problem(self, text: str, run: str = "", n: int = 0) -> None:
        self.problems.append(Problem(text, run, n))


def _moment(digest: str) -> int:
    return int(digest.partition("-")[0])


def _recorded_prunes(store: Store) -> Iterator[Wanted]:
    """What was to be pruned, whenever somebody pruned."""
    for row in store.each_run(flow=PRUNE):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):  # told when its turn comes
            began, arguments = read_beginning(store, row.id)
            if began.flow == PRUNE:
                yield msgspec.convert(arguments, Wanted)


def _bears(began: bytes | None, name: str) -> bool:
    """Whether a run began under this name."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        body = read_body(began or b"")
        return isinstance(body, Began) and body.name == name
    return False


class Wanted(msgspec.Struct, frozen=True):
    """What is to be pruned."""

    before: str  # runs that ended before that moment
    keep: Keep = "answers"
    project: str | None = None  # of one project, or of all


def may_prune(row: Run, wanted: Wanted) -> bool:
    """Whether a prune reaches a run: one of its project that was over before that moment."""
    over = row.status != "waiting" and row.since < wanted.before
    return over and row.flow not in RECORDS and wanted.project in (None, row.project)


def is_prunable(flow: str, body: AnyBody, keep: Keep) -> bool:
    """Whether the matter of an entry goes: prompts and outputs do, and decisions stay. What the
    house did itself is an order, not a prompt. Answers, notes and ends are the words of whoever
    decided; they stay unless only codes are to be kept.
    """
    if isinstance(body, Called):
        return not body.deed
    retold = isinstance(body, Ended) and flow in RETOLD and body.status in ("done", "failed")
    return retold or keep == "codes" or not isinstance(body, Answered | Noted | Ended)


def find_needed(began: Began, entries: Iterable[Entry]) -> set[str]:
    """The documents that a run needs: what it began with, as long as anything said in it is left.
    What the house did itself is left in any case and says nothing. Attachments are needed as long
    as the arguments are there that name them.
    """
    left = {entry.kind for entry in entries if entry.matter is not None}
    return {
        digest
        for name, digest in began.documents.items()
        if ("began" in left if name.startswith(MARK) else left - {"called"})
    }


_ANY = Wanted(_BEYOND)  # a prune that reaches every run that any can
