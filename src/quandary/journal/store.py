"""Where journals are kept: the tables, and what any store can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import starmap
from sys import maxsize
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from quandary.errors import NotFound, Rejected
from quandary.journal.entries import START, Began, Entry, Kind, Status, read_bodies
from quandary.model.asks import Ask, Note
from quandary.model.calls import Call, Do

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from quandary.journal import Keeper
    from quandary.journal.postgres import PostgresStore

    Written = tuple["Run", list[Entry]]
    Write = Callable[["Last | None"], Written]
    Execute = Callable[[str, Sequence[object]], Any]  # runs one statement, and gives a cursor
    Begin = Callable[[Execute, "Row | None"], Written]
    Watch = Callable[[int, int, str], None]
    """Is told how much is done, of how much (0 where nobody knows), and what that counts."""
    Marks = Mapping[str, str] | None
    """Settings of our own by which a server's functions tell who writes."""

T = TypeVar("T")
Waits = Literal["person", "agent", "house"]
Row = tuple[Any, ...]
Recorded = tuple[bytes, bytes | None, int]
"""As much of an entry as a flow is built from: its body, its matter, and whether that was pruned.
A run has thousands of them, so they are plain tuples."""


class Run(msgspec.Struct, frozen=True, gc=False):
    """A run at a glance. Its entries say the same; this row only makes it quick to find."""

    number: int  # its place among the runs of the store, from 1; given by the store
    id: str
    flow: str
    version: int
    project: str = ""
    status: Status = "waiting"
    waits: Waits | None = None
    """Who has to do something: a person to answer, an agent to be called, the house itself."""
    key: str | None = None  # the key of what waits
    asked: int = 0  # the entry with which that began to wait
    n: int = 0  # how many entries there are; whoever appends must have seen them all
    first: bytes = b""
    head: bytes = b""  # the digests of its first and of its last entry
    began: str = ""
    since: str = ""  # when it came to where it stands
    expires: str | None = None


TABLES = {
    "document": ("digest", "written"),
    "run": Run.__struct_fields__,
    "entry": ("seq", "run", "n", "kind", "body", "matter", "salt", "seal", "digest"),
    "name": ("name", "run"),
    "last": ("one", "id", "first", "runs"),
    "outbox": ("run", "n", "address", "tries", "due"),
}
"""The tables that every store has, with their columns, each sorted by the first of them."""
CREATE = {
    "entry": """CREATE TABLE entry (
        seq INTEGER PRIMARY KEY, run TEXT NOT NULL, n INTEGER NOT NULL, kind TEXT NOT NULL,
        body BLOB NOT NULL, matter BLOB, salt BLOB, seal BLOB, digest BLOB NOT NULL,
        UNIQUE (run, n)
    ) STRICT""",
    "run": """CREATE TABLE run (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, flow TEXT NOT NULL,
        version INTEGER NOT NULL, project TEXT NOT NULL, status TEXT NOT NULL, waits TEXT,
        key TEXT, asked INTEGER NOT NULL, n INTEGER NOT NULL, first BLOB NOT NULL,
        head BLOB NOT NULL, began TEXT NOT NULL, since TEXT NOT NULL, expires TEXT
    ) STRICT""",
    "document": "CREATE TABLE document (digest TEXT PRIMARY KEY, written BLOB NOT NULL) STRICT",
    "last": """CREATE TABLE last (
        one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, first BLOB NOT NULL,
        runs INTEGER NOT NULL
    ) STRICT""",
    "name": "CREATE TABLE name (name TEXT PRIMARY KEY, run TEXT NOT NULL) STRICT, WITHOUT ROWID",
}
"""How SQLite is told of them; PostgreSQL has other words for the types."""
INDEXES = (
    "CREATE INDEX run_status ON run (status, number)",
    "CREATE INDEX run_project ON run (project, status, number)",
    "CREATE INDEX run_waits ON run (waits, number) WHERE waits IS NOT NULL",
    "CREATE INDEX run_project_waits ON run (project, waits, number) WHERE waits IS NOT NULL",
    "CREATE INDEX run_expires ON run (expires) WHERE waits IS NOT NULL AND expires IS NOT NULL",
)
OUTBOX = (
    """CREATE TABLE outbox (
        run TEXT NOT NULL, n INTEGER NOT NULL, address TEXT NOT NULL, tries INTEGER NOT NULL,
        due TEXT, PRIMARY KEY (run, n, address)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX outbox_due ON outbox (due) WHERE due IS NOT NULL",
)
"""What runs have to tell elsewhere. A run that is to tell has a row numbered 0 for each address; an
entry that is worth telling adds a row under its own number, in its own transaction."""
ADD_LETTER = "INSERT INTO outbox (run, n, address, tries, due) VALUES (?, ?, ?, 0, ?)"
TELL = (
    "INSERT INTO outbox (run, n, address, tries, due) "
    "SELECT run, ?, address, 0, ? FROM outbox WHERE run = ? AND n = 0"
)
_DUE = """
    SELECT run, n, address, tries, due FROM outbox AS own WHERE due <= ? AND NOT EXISTS (
        SELECT 1 FROM outbox AS earlier WHERE earlier.run = own.run
            AND earlier.address = own.address AND earlier.n < own.n AND earlier.due IS NOT NULL
    ) ORDER BY due, run, n LIMIT ?
"""
_OWN = "WHERE run = ? AND n = ? AND address = ?"
_PAGE = 500
_PIECE = 1000
"""So many entries are taken into the index of words at once, so that writers wait for a moment."""
_GRAM = 3
RUN = ", ".join(TABLES["run"])
ENTRY = ", ".join(TABLES["entry"][1:])
NEWEST = "SELECT id, first, runs FROM last"
_IS_OVER = "SELECT 1 FROM run WHERE id = ? AND n = ? AND status <> 'waiting'"
IS_WHOLE = (
    "(status = 'waiting' OR EXISTS (SELECT 1 FROM entry "
    "WHERE entry.run = run.id AND entry.n = 1 AND matter IS NOT NULL))"
)
"""Of a run that is over, no text was pruned; one that was takes nothing more but notes."""
_RECORDED = (
    "SELECT body, matter, seal IS NOT NULL AND matter IS NULL FROM entry "
    "WHERE run = ? AND n <= ? AND kind IN ('began', 'answered', 'returned', 'noted') ORDER BY n"
)
_KEEP_DOCUMENT = "INSERT INTO document (digest, written) VALUES (?, ?) ON CONFLICT DO NOTHING"
_KEEP_NAME = (
    "INSERT INTO name (name, run) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET run = excluded.run"
)
_KEEP_LAST = (
    "INSERT INTO last (one, id, first, runs) VALUES (1, ?, ?, ?) ON CONFLICT (one) "
    "DO UPDATE SET id = excluded.id, first = excluded.first, runs = excluded.runs"
)


class State(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where a run stands: what waits, or what came of it."""

    run: str
    flow: str
    status: Status
    n: int
    key: str | None = None
    ask: Ask | None = None
    calls: tuple[Call, ...] = ()  # what agents have to be asked, and has not come back yet
    deed: Do | None = None  # what the house has to do, where nobody who could do it has looked yet
    result: Any = None
    error: str | None = None
    notes: tuple[Note, ...] = ()  # what happened since the state before


class Last(NamedTuple):
    """The newest run of a store: its id, the digest of its first entry, how many runs there are."""

    id: str
    first: bytes
    runs: int


class Awaited(msgspec.Struct, frozen=True):
    """Runs that wait for the same, for about as long."""

    waits: Waits
    flow: str
    age: int  # how many of the moments that were asked about it has waited since
    runs: int
    oldest: str  # since when the first of them waits


Order = Literal["oldest", "newest", "project"]
_ORDERS = {"oldest": "number", "newest": "number DESC", "project": "project, number"}
_BEHIND = {
    "oldest": "number > ?",
    "newest": "number < ?",
    "project": "(project, number) > ((SELECT project FROM run WHERE number = ?), ?)",
}
"""What comes behind a run of that number in each order."""


class Waiting(msgspec.Struct, frozen=True):
    """A run that waits for a person, with what a list tells of it."""

    run: Run
    began: bytes | None  # the body of its first entry
    asked: bytes | None  # the matter of the entry with which it waits
    notes: list[bytes]  # the bodies of the notes since then


class Letter(msgspec.Struct, frozen=True):
    """Something to be told to an address."""

    run: str
    n: int  # the entry it tells of
    address: str
    tries: int
    due: str


class Moved(Exception):  # noqa: N818 - never leaves the journal
    """Somebody else appended to the run first; look again."""


class Taken(Exception):  # noqa: N818 - never leaves the journal
    """A run has that name already, and was to have it alone; the argument is the run."""


class Store(ABC):
    """What the journal needs of a database. Every method is one transaction. What both kinds of
    stores say in the same SQL is here; `?` stands for a value. A dialect adds how statements reach
    the database and how it is written to.
    """

    path: str  # where it is, as it may be shown: without a password
    address: str  # the same with all that is needed to open it, for our own programs only
    keeper: Keeper | None = None
    """Keeps outside what was seen of the store, where it is one that lasts."""
    named_in: str = ""  # the project whose settings named it; nothing where its user did
    shared: PostgresStore | None = None
    """The same store, where its database can also be used for what stands beside a journal."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    @abstractmethod
    def require_ready(self) -> None:
        """Refuse where it cannot be read, or where it is not what this version knows any more."""

    @abstractmethod
    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows that a statement gives."""

    def _horizon(self) -> int:
        """The `seq` up to which all entries can be seen that there will ever be."""
        return maxsize

    def run(self, run: str) -> Run | None:
        """The row of a run."""
        rows = self._rows(f"SELECT {RUN} FROM run WHERE id = ?", (run,))  # noqa: S608
        return Run(*rows[0]) if rows else None

    def require_run(self, run: str) -> Run:
        """The row of a run that has to be there."""
        if (row := self.run(run)) is None:
            raise NotFound(f"there is no run {run}; `quandary runs` lists them")
        return row

    def link_before(self, row: Run) -> bytes:
        """What the first entry of a run follows: the digest of the one of the run before it."""
        before = self.runs(after=row.number, newest=True, limit=1)
        return before[0].first if before else START

    def runs(
        self,
        *,
        status: Status | None = None,
        waits: Waits | None = None,
        project: str | None = None,
        flow: str | None = None,
        after: int = 0,
        limit: int = 100,
        newest: bool = False,
    ) -> list[Run]:
        """A page of runs in the order they began, beyond the run numbered `after`."""
        wanted = {"status": status, "waits": waits, "project": project, "flow": flow}
        terms: dict[str, object] = {f"{n} = ?": v for n, v in wanted.items() if v is not None}
        if after or not newest:
            terms["number < ?" if newest else "number > ?"] = after
        where = f"WHERE {' AND '.join(terms)}" if terms else ""
        order = "DESC" if newest else "ASC"
        sql = f"SELECT {RUN} FROM run {where} ORDER BY number {order} LIMIT ?"  # noqa: S608
        return list(starmap(Run, self._rows(sql, (*terms.values(), limit))))

    def waiting(
        self, *, project: str | None = None, after: int = 0, limit: int, order: Order = "oldest"
    ) -> list[Waiting]:
        """A page of the runs that wait for a person, and what they wait with."""
        own, wanted = _of(project)
        behind = f" AND {_BEHIND[order]}" if after else ""
        values = (*wanted, *[after] * behind.count("?"), limit)
        page = f"SELECT {RUN} FROM run WHERE waits = 'person'{own}{behind}"  # noqa: S608
        sql = (
            "SELECT page.*, first.body, asked.matter, note.body "  # noqa: S608 - our own words
            f"FROM ({page} ORDER BY {_ORDERS[order]} LIMIT ?) AS page "
            "LEFT JOIN entry AS first ON first.run = page.id AND first.n = 1 "
            "LEFT JOIN entry AS asked ON asked.run = page.id AND asked.n = page.asked "
            "LEFT JOIN entry AS note ON note.run = page.id AND note.n > page.asked "
            f"AND note.kind = 'noted' ORDER BY {_ORDERS[order]}, note.n"
        )
        found: list[Waiting] = []
        for row in self._rows(sql, values):
            run, (began, asked, note) = Run(*row[:-3]), row[-3:]
            if note is None or not found or found[-1].run.id != run.id:
                found.append(Waiting(run, began, asked, []))
            found[-1].notes.extend([note] if note is not None else [])
        return found

    def count_waiting(
        self, limit: int, *, project: str | None = None
    ) -> tuple[dict[str, int], dict[tuple[str, str], list[bytes]]]:
        """How many runs wait for a person in each project, among so many that have waited longest.
        Nobody counts further than that, however many there are. With it go the notes on what they
        wait with, by project and run.
        """
        own, wanted = _of(project)
        first = f"SELECT project, id, n, asked FROM run WHERE waits = 'person'{own}"  # noqa: S608
        sql = (
            f"WITH first AS ({first} ORDER BY number LIMIT ?) "  # noqa: S608 - our own words
            "SELECT project, '', count(*), NULL FROM first "
            "GROUP BY project UNION ALL SELECT project, id, note.n, note.body FROM first "
            "JOIN entry AS note ON note.run = first.id AND note.n > first.asked "
            "AND note.kind = 'noted' WHERE first.n > first.asked ORDER BY 1, 2, 3"
        )
        counts: dict[str, int] = {}
        notes: dict[tuple[str, str], list[bytes]] = {}
        for where, run, number, body in self._rows(sql, (*wanted, limit)):
            if run:
                notes.setdefault((where, run), []).append(body)
            else:
                counts[where] = number
        return counts, notes

    def each_run(
        self,
        *,
        waits: Waits | None = None,
        project: str | None = None,
        flow: str | None = None,
        newest: bool = False,
    ) -> Iterator[Run]:
        """Every run in the order they began, or the newest first, read page by page."""
        after = 0
        wanted: dict[str, Any] = {"waits": waits, "project": project, "flow": flow}
        while page := self.runs(**wanted, after=after, limit=_PAGE, newest=newest):
            yield from page
            after = page[-1].number

    def between(self, low: str, high: str, limit: int, *, project: str | None = None) -> list[str]:
        """Ids of runs from `low` up to and without `high`, of one project or of all."""
        # The column is hidden from the index of projects, by which all of a project's are sorted.
        own, wanted = ("", ()) if project is None else (" AND project || '' = ?", (project,))
        sql = f"SELECT id FROM run WHERE id >= ? AND id < ?{own} ORDER BY id LIMIT ?"  # noqa: S608
        return [row[0] for row in self._rows(sql, (low, high, *wanted, limit))]

    def among(self, runs: Sequence[str], project: str) -> set[str]:
        """Those of some runs that belong to a project."""
        found: set[str] = set()
        for begin in range(0, len(runs), _PAGE):
            some = runs[begin : begin + _PAGE]
            sql = f"SELECT id FROM run WHERE id IN ({_marks(some)}) AND project = ?"  # noqa: S608
            found |= {row[0] for row in self._rows(sql, (*some, project))}
        return found

    def due(self, moment: str) -> list[str]:
        """Ids of runs that still wait although they expired by then."""
        sql = "SELECT id FROM run WHERE waits IS NOT NULL AND expires <= ?"
        return [row[0] for row in self._rows(sql, (moment,))]

    def entries(
        self, run: str, *, kinds: Sequence[Kind] = (), after: int = 0, upto: int = maxsize
    ) -> list[Entry]:
        """The entries of a run beyond the one numbered `after`, as far as the one at `upto`."""
        among = f"AND kind IN ({_marks(kinds)})" if kinds else ""
        where = f"WHERE run = ? AND n > ? AND n <= ? {among} ORDER BY n"
        return self._entries(where, (run, after, upto, *kinds))

    def first_entries(self, runs: Sequence[str]) -> dict[str, tuple[bytes, bytes | None]]:
        """How some runs began: the body and the matter of the first entry of each."""
        sql = f"SELECT run, body, matter FROM entry WHERE n = 1 AND run IN ({_marks(runs)})"  # noqa: S608
        return {run: (body, matter) for run, body, matter in self._rows(sql, runs)} if runs else {}

    def recorded(self, run: str, upto: int | None = None) -> list[Recorded]:
        """The entries that a run's flow is built from; notes may say that some no longer count."""
        return self._rows(_RECORDED, (run, maxsize if upto is None else upto))

    def history(self, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """The entries of all runs as they came, beyond the one with that `seq`."""
        where = "WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        return self._entries(where, (after, self._horizon(), limit))

    def happened(
        self, *, after: int = 0, limit: int = 1000, project: str | None = None
    ) -> list[tuple[int, str, bytes]]:
        """The same without what was said, of one project or of all: `seq`, run and body of each."""
        own, wanted = _of(project, "run")
        where = f"WHERE seq > ? AND seq <= ?{own} ORDER BY seq LIMIT ?"
        sql = f"SELECT seq, run, body FROM entry {where}"  # noqa: S608 - our own words
        return self._rows(sql, (after, self._horizon(), *wanted, limit))

    def heads(self, upto: int | None = None) -> Iterator[tuple[str, int, bytes, int]]:
        """Of each run, its last entry up to that `seq`: the run, its number, digest and `seq`."""
        upto = self._horizon() if upto is None else upto
        newest = (
            "SELECT max(seq) AS seq FROM entry WHERE run > ? AND seq <= ? "
            "GROUP BY run ORDER BY run LIMIT ?"
        )
        sql = f"SELECT run, n, digest, seq FROM entry WHERE seq IN ({newest}) ORDER BY run"  # noqa: S608
        return self._each(sql, upto)

    def _each(self, sql: str, *values: object) -> Iterator[Any]:
        """All rows, page by page; the statement is told behind which one, and how many."""
        after = ""
        while page := self._rows(sql, (after, *values, _PAGE)):
            yield from page
            after = page[-1][0]

    def _entries(self, where: str, values: Sequence[object]) -> list[Entry]:
        sql = f"SELECT {ENTRY}, seq FROM entry {where}"  # noqa: S608 - our own words
        return list(starmap(Entry, self._rows(sql, values)))

    def awaited(self, moments: Sequence[str], project: str | None = None) -> list[Awaited]:
        """What waits, of one project or of all, counted: by who is waited for, by flow, by age.
        What waits since one of the moments, or since before it, counts as that old.
        """
        age = " + ".join(["0", *("CASE WHEN since <= ? THEN 1 ELSE 0 END" for _ in moments)])
        counted = f"waits, flow, {age}, count(*), min(since)"
        own, wanted = _of(project)
        where = f"WHERE waits IS NOT NULL{own} GROUP BY 1, 2, 3"
        sql = f"SELECT {counted} FROM run {where}"  # noqa: S608 - our own words
        return [Awaited(*row) for row in self._rows(sql, (*moments, *wanted))]

    def newest(self) -> int:
        """The `seq` of the newest entry; 0 where there is none."""
        return (self.head() or (0, b""))[0]

    def head(self) -> tuple[int, bytes] | None:
        """The `seq` and the digest of the newest entry."""
        sql = "SELECT seq, digest FROM entry WHERE seq <= ? ORDER BY seq DESC LIMIT 1"
        rows = self._rows(sql, (self._horizon(),))
        return rows[0] if rows else None

    def anchor(self) -> str:
        """The same as `quandary verify --expect` takes it: kept elsewhere, it shows a rollback."""
        seq, digest = self.head() or (0, b"")
        return f"{seq}-{digest.hex()}" if seq else ""

    def origin(self) -> str:
        """The digest of the oldest entry, which no other store has; nothing where there is none."""
        rows = self._rows("SELECT digest FROM entry ORDER BY seq LIMIT 1")
        return rows[0][0].hex() if rows else ""

    def digest_at(self, seq: int) -> str:
        """The digest of the entry with that `seq`; nothing where there is none."""
        rows = self._rows("SELECT digest FROM entry WHERE seq = ?", (seq,))
        return rows[0][0].hex() if rows else ""

    @property
    def missing(self) -> str:
        """What was seen of this store and is not in it, in words; nothing where all of it is."""
        return self.keeper.missing if self.keeper is not None else ""

    def require_newest(self) -> None:
        """Refuse where it is not what was seen: what was used up could be used again."""
        if self.missing:
            raise Rejected(self.missing)

    def document(self, digest: str) -> bytes | None:
        """A document that runs began with."""
        rows = self._rows("SELECT written FROM document WHERE digest = ?", (digest,))
        return rows[0][0] if rows else None

    def some_documents(self, digests: Collection[str]) -> dict[str, bytes]:
        """Those of these documents that are there, by their digests."""
        sql = f"SELECT digest, written FROM document WHERE digest IN ({_marks(digests)})"  # noqa: S608
        return dict(self._rows(sql, (*digests,))) if digests else {}

    def documents(self) -> Iterator[tuple[str, bytes]]:
        """All of them, each with its digest."""
        sql = "SELECT digest FROM document WHERE digest > ? ORDER BY digest LIMIT ?"
        for (digest,) in self._each(sql):
            yield from self.some_documents([digest]).items()

    def have_documents(self, digests: Collection[str]) -> set[str]:
        """Those of these documents that are there."""
        sql = f"SELECT digest FROM document WHERE digest IN ({_marks(digests)})"  # noqa: S608
        return {row[0] for row in self._rows(sql, (*digests,))} if digests else set()

    def named(
        self, first: str, last: str | None = None, *, project: str | None = None
    ) -> dict[str, str]:
        """The runs that bear a name, or names as far as another; of one project or of all."""
        own, wanted = _of(project, "run")
        sql = f"SELECT name, run FROM name WHERE name >= ? AND name <= ?{own} ORDER BY name"  # noqa: S608
        return dict(self._rows(sql, (first, first if last is None else last, *wanted)))

    def numbers_of(self, names: Collection[str]) -> dict[str, int]:
        """The numbers of the runs that bear these names."""
        where = f"WHERE name.name IN ({_marks(names)})"
        sql = f"SELECT name.name, number FROM name JOIN run ON id = run {where}"  # noqa: S608
        return dict(self._rows(sql, (*names,))) if names else {}

    def beginnings(self) -> Iterator[tuple[str, str, bytes | None]]:
        """Every name with the run that bears it, and how that began."""
        sql = (
            "SELECT name.name, name.run, body FROM name LEFT JOIN entry "
            "ON entry.run = name.run AND n = 1 WHERE name.name > ? ORDER BY name.name LIMIT ?"
        )
        return self._each(sql)

    def faults(self) -> list[str]:
        """What is wrong with the database itself, beside what stands in its tables."""
        return []

    def gaps(self, after: int) -> int:  # noqa: ARG002 - a server leaves numbers out
        """How many numbers beyond that `seq` have no entry, where each is given to one."""
        return 0

    def last(self) -> Last | None:
        """The newest run as the store remembers it, apart from the rows of the runs."""
        rows = self._rows(NEWEST)
        return Last(*rows[0]) if rows and rows[0][2] else None

    def count(self) -> int:
        """How many entries there are."""
        return int(self._rows("SELECT count(*) FROM entry")[0][0])

    def count_runs(self, status: Status | None = None, *, project: str | None = None) -> int:
        """How many runs there are, of a project or of all; of one status, or of any."""
        own, wanted = _of(project)
        where = (own + " AND status = ?" * bool(status)).replace(" AND", " WHERE", 1)
        values = (*wanted, *([status] if status else []))
        return int(self._rows(f"SELECT count(*) FROM run{where}", values)[0][0])  # noqa: S608

    def strays(self) -> list[str]:
        """Names of runs that have entries and no row."""
        rows = "SELECT 1 FROM run WHERE id = entry.run"
        sql = f"SELECT DISTINCT run FROM entry WHERE NOT EXISTS ({rows}) ORDER BY run"  # noqa: S608
        return [row[0] for row in self._rows(sql)]

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Within it, every reading sees the same moment."""

    @abstractmethod
    def news(self, seconds: float) -> Generator[bool]:
        """Time and again, and never after more than so long: whether to look for new entries."""

    @abstractmethod
    def lock_run(self, run: str) -> AbstractContextManager[None]:
        """Within it, nobody else drives the run; `Rejected` where somebody does."""

    def has_lost(self, run: str) -> bool:  # noqa: ARG002 - a file's lock cannot be lost
        """Whether a run that is locked here has become somebody else's all the same."""
        return False

    @abstractmethod
    def is_locked(self, run: str) -> bool:
        """Whether somebody drives the run at this moment."""

    def dump(self, table: str) -> Iterator[Row]:
        """Every row of a table, as it is; within a snapshot."""
        return self._stream(rows_of(table))

    def each_entry(self) -> Iterator[Entry]:
        """Every entry, run by run in their order; within a snapshot."""
        sql = f"SELECT {ENTRY}, seq FROM entry ORDER BY run, n"  # noqa: S608 - our own words
        return starmap(Entry, self._stream(sql))

    @abstractmethod
    def _stream(self, sql: str) -> Iterator[Row]:
        """The rows that a statement gives, read as they are wanted."""

    def find_letters(self, moment: str, limit: int = 20) -> list[Letter]:
        """What is due by then: of each run only the first, so that all of it comes in order."""
        return list(starmap(Letter, self._rows(_DUE, (moment, limit))))

    def claim_letter(self, letter: Letter, due: str | None) -> bool:
        """Put off when a letter is due again, or for ever; whether nobody else was quicker."""
        sql = f"UPDATE outbox SET tries = tries + 1, due = ? {_OWN} AND due = ?"  # noqa: S608
        return self._change(sql, (due, letter.run, letter.n, letter.address, letter.due)) > 0

    def remove_letter(self, letter: Letter) -> None:
        """It was delivered."""
        sql = f"DELETE FROM outbox {_OWN}"  # noqa: S608 - our own words
        self._change(sql, (letter.run, letter.n, letter.address))

    def count_letters(self) -> dict[str, int]:
        """How many letters wait to be delivered, and how many nobody tries to any more."""
        rows = self._rows("SELECT due IS NULL, count(*) FROM outbox WHERE n > 0 GROUP BY 1")
        found = {bool(over): int(number) for over, number in rows}
        return {"waiting": found.get(False, 0), "given up": found.get(True, 0)}

    def having(
        self,
        words: Sequence[str],
        *,
        project: str | None = None,
        below: int = maxsize,
        limit: int = _PAGE,
    ) -> list[Run]:
        """A page of the runs below a number that have all these words, the newest first."""
        place, (own, wanted) = self._WORDS_OF, _of(project)
        terms = [*self._match(words), (f"{place} < ?", below)]
        where = " AND ".join([f"run.number = {place}", *(term for term, _ in terms)]) + own
        columns = ", ".join(f"run.{name}" for name in TABLES["run"])
        sql = f"SELECT {columns} FROM words CROSS JOIN run WHERE {where}"  # noqa: S608
        values = (*(value for _, value in terms), *wanted, limit)
        return list(starmap(Run, self._rows(f"{sql} ORDER BY {place} DESC LIMIT ?", values)))

    @abstractmethod
    def index_words(self, words_of: Callable[[str], str]) -> int:
        """Take the words of some more runs into the index, which is made where there is none.

        It has come as far as the entry that is given back, or to the end: then it is 0. Searchers
        call it, and nobody who writes waits for it for long; `StoreError` where it cannot be done.
        """

    _WORDS_OF: str  # what the index calls the number of a run
    _INDEX: Sequence[str]  # how the index is made
    _HAS_INDEX: str  # gives a row if it was made
    _HOLD = _LOCKED = ""
    """What has others wait who would change the rows that are read, or read them to change them."""

    @abstractmethod
    def _match(self, words: Sequence[str]) -> Iterator[tuple[str, object]]:
        """The conditions for runs that have all the words, each with its value."""

    @abstractmethod
    def _put_words(self, execute: Execute, number: int, words: str) -> None:
        """Have these be the words of a run."""

    def _index(self, execute: Execute, upto: int, words_of: Callable[[str], str]) -> int:
        """As `index_words`, within a transaction; the words are read within it too, so that nobody
        prunes them meanwhile. A run that goes on beyond this piece is taken when its end comes.
        """
        if not execute(self._HAS_INDEX, ()).fetchone():
            for sql in self._INDEX:
                execute(sql, ())
        sql = f"SELECT seq FROM indexed WHERE number = 0{self._HOLD}"  # noqa: S608
        ((seen,),) = execute(sql, ()).fetchall()
        sql = "SELECT seq, run FROM entry WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        new = execute(sql, (seen, upto, _PIECE)).fetchall()
        sql = "SELECT number FROM indexed WHERE number > 0 ORDER BY number LIMIT ?"
        pruned = [number for (number,) in execute(sql, (_PAGE,)).fetchall()]
        end, runs = new[-1][0] if new else seen, list({run for _, run in new})
        among = f"run IN ({_marks(runs)}) AND seq <= ?"
        sql = f"SELECT run FROM entry WHERE {among} GROUP BY run HAVING max(seq) <= ?"  # noqa: S608
        whole = [run for (run,) in execute(sql, (*runs, upto, end)).fetchall()]
        among = f"id IN ({_marks(whole)}) OR number IN ({_marks(pruned)})"
        sql = f"SELECT number, id FROM run WHERE {among} ORDER BY id{self._HOLD}"  # noqa: S608
        for number, run in execute(sql, (*whole, *pruned)).fetchall():
            self._put_words(execute, number, words_of(run))
        execute("UPDATE indexed SET seq = ? WHERE number = 0", (end,))
        for number in pruned:
            execute("DELETE FROM indexed WHERE number = ?", (number,))
        return end if len(new) == _PIECE or len(pruned) == _PAGE else 0

    def create(
        self,
        write: Write,
        documents: Mapping[str, bytes],
        *,
        name: str = "",
        once: bool = False,
        callbacks: Sequence[str] = (),
        events: Sequence[int] = (),
    ) -> Run:
        """Begin a run. `write` is told which run is the newest, and nobody else begins one. The
        name is the new run's from now on; with `once`, `Taken` where a run has it already. The
        entries numbered `events`, and later ones, are told to the `callbacks`.
        """

        def begin(execute: Execute, newest: Row | None) -> Written:
            sql = "SELECT run FROM name WHERE name = ?"
            if once and (taken := execute(sql, (name,)).fetchone()):
                raise Taken(taken[0])
            last = Last(*newest) if newest and newest[2] else None
            run, entries = write(last)
            run = replace(run, number=last.runs + 1 if last else 1)
            for document in documents.items():
                execute(_KEEP_DOCUMENT, document)
            if name:
                execute(_KEEP_NAME, (name, run.id))
            execute(_KEEP_LAST, (run.id, run.first, run.number))
            for address in callbacks:
                execute(ADD_LETTER, (run.id, 0, address, None))
                for n in events:
                    execute(ADD_LETTER, (run.id, n, address, run.since))
            return run, entries

        return self._create(begin)

    @abstractmethod
    def _create(self, begin: Begin) -> Run:
        """Write the row and entries that `begin` gives; it is told which run is the newest."""

    @abstractmethod
    def append(
        self, run: Run, entries: Sequence[Entry], *, seen: int, events: Sequence[int] = ()
    ) -> None:
        """Add entries and put the row in its new state; `events` are those that the run may tell.

        `Moved` unless the count is `seen`, and, but for notes, where the run was pruned meanwhile.
        """

    @abstractmethod
    def _transact(self, action: Callable[[Execute], T], *, secure: bool = False) -> T:
        """Do something as one transaction; if `secure`, what it deletes is overwritten."""

    def _change(self, sql: str, values: Sequence[object]) -> int:
        """Change rows that stand beside the journal, and say how many."""
        return self._transact(lambda execute: int(execute(sql, values).rowcount))

    def prune(self, wanted: Sequence[tuple[Run, Sequence[int]]]) -> list[Run]:
        """Take matter and salt out of the entries with these numbers, of all these runs at once.
        All else of an entry stays, its seal included. A run that waits, or that has other than `n`
        entries by now, is left as it is; the others are given back.
        """

        def action(execute: Execute) -> list[Run]:
            pruned = {
                run: numbers
                for run, numbers in sorted(wanted, key=lambda pair: pair[0].id)
                if execute(f"{_IS_OVER}{self._LOCKED}", (run.id, run.n)).fetchone()
            }
            self._take_out(execute, pruned)
            if execute(self._HAS_INDEX, ()).fetchone():  # what is left of them comes in later
                for run in pruned:
                    execute(f"DELETE FROM words WHERE {self._WORDS_OF} = ?", (run.number,))  # noqa: S608
                    again = "INSERT INTO indexed (number, seq) VALUES (?, 0) ON CONFLICT DO NOTHING"
                    execute(again, (run.number,))
            return list(pruned)

        return self._transact(action, secure=True)

    @abstractmethod
    def _take_out(self, execute: Execute, wanted: Mapping[Run, Sequence[int]]) -> None:
        """Take matter and salt out of these entries."""

    def forget(self, documents: Collection[str], *, seen: int) -> int:
        """Remove documents, but none with which a run began after `seen`; how many those are."""

        def action(execute: Execute) -> int:
            execute(f"{NEWEST}{self._LOCKED}", ())
            sql = "SELECT body FROM entry WHERE seq > ? AND kind = 'began'"
            began = read_bodies(row[0] for row in execute(sql, (seen,)).fetchall())
            needed = {d for b in began if isinstance(b, Began) for d in b.documents.values()}
            sql = "DELETE FROM document WHERE digest = ?"
            return sum(execute(sql, (digest,)).rowcount for digest in {*documents} - needed)

        return self._transact(action, secure=True)

    @abstractmethod
    def reclaim(self) -> int:
        """Give back to the disk what pruning freed, in steps that keep nobody waiting for long.

        How many bytes that were, as far as it is known.
        """

    @abstractmethod
    def fill(self, dump: Callable[[str], Iterator[Row]], check: Callable[[], None]) -> None:
        """Put the rows of another journal into an empty store, all of them or, if `check` raises,
        none: it is called last, and reads the store as it is about to become.
        """

    def _keep(self, seqs: Sequence[int], entries: Sequence[Entry]) -> None:
        """Have what was just committed kept outside."""
        if self.keeper is not None and seqs:
            self.keeper.keep(seqs[0], seqs[-1], entries[-1].digest)

    def _require_empty(self, execute: Execute) -> None:
        for table in TABLES:
            if execute(f"{rows_of(table)} LIMIT 1", ()).fetchone():
                raise Rejected(f"{self.path} is not empty; a journal is copied into an empty store")


def rows_of(table: str) -> str:
    """The statement that gives every row of a table, in order."""
    columns = TABLES[table]
    where = " WHERE runs > 0" if table == "last" else ""
    return f"SELECT {', '.join(columns)} FROM {table}{where} ORDER BY {columns[0]}"  # noqa: S608


def grams(words: Sequence[str]) -> list[str]:
    """Every three letters that follow each other in one of the words, in no order."""
    return list({word[at : at + _GRAM] for word in words for at in range(len(word) - _GRAM + 1)})


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"


def _of(project: str | None, run: str = "") -> tuple[str, tuple[str, ...]]:
    """What is added to a condition for what belongs to one project, and its value."""
    if project is None:
        return "", ()
    own = f"{run} IN (SELECT id FROM run WHERE project = ?)" if run else "project = ?"  # noqa: S608
    return f" AND {own}", (project,)
