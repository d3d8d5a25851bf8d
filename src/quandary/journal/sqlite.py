"""The embedded store: one SQLite file, safe against crashes and against many writers at once."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from weakref import finalize

from msgspec.structs import astuple

from quandary.errors import ReadOnly, Rejected, StoreError
from quandary.journal import MEMORY, chance
from quandary.journal.entries import Entry, sha256
from quandary.journal.store import (
    CREATE,
    INDEXES,
    IS_WHOLE,
    NEWEST,
    OUTBOX,
    TABLES,
    TELL,
    Moved,
    Store,
    grams,
)
from quandary.settings.files import hold_files

if TYPE_CHECKING:
    from quandary.journal.store import Begin, Execute, Row, Run

T = TypeVar("T")

APPLICATION = 0x51444E52  # stands in the file's head and says whose it is: QDNR

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        *(sql for table, sql in CREATE.items() if table != "name"),
        *INDEXES,
        f"PRAGMA application_id = {APPLICATION}",
    ),
    (CREATE["name"],),
    OUTBOX,
)
"""The statements at index v bring a file of schema version v to version v + 1."""
INDEX = {
    "words": "CREATE VIRTUAL TABLE words USING fts5(said, "
    "tokenize='trigram case_sensitive 1', detail=none, columnsize=0)",
    "indexed": "CREATE TABLE indexed (number INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT",
}
"""The index of words, which searchers make: of each run its words, and how far that has come. A run
whose words were pruned waits in `indexed` to be taken anew."""


def _insert(table: str, columns: Sequence[str]) -> str:
    values = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"  # noqa: S608


_ADD_RUN, _ADD_ENTRY = _insert("run", TABLES["run"]), _insert("entry", TABLES["entry"][1:])
_STAY = (
    "UPDATE run SET key = ?, asked = ?, n = ?, head = ?, since = ? "  # noqa: S608 - our own words
    f"WHERE id = ? AND n = ? AND status = ? AND waits IS ? AND (? OR {IS_WHOLE})"
)
_MOVE = (
    "UPDATE run SET key = ?, asked = ?, n = ?, head = ?, since = ?, status = ?, waits = ? "  # noqa: S608
    f"WHERE id = ? AND n = ? AND (? OR {IS_WHOLE})"
)
_TAKE_OUT = f"DELETE FROM entry WHERE run = ? RETURNING {', '.join(TABLES['entry'])}"  # noqa: S608
_PUT_BACK = _insert("entry", TABLES["entry"])
_INCREMENTAL = 2  # what SQLite calls `auto_vacuum = INCREMENTAL`
_STEP = 1024  # so many pages are given back to the disk at once
_MERGED = 128  # so many pages of the index of words are written anew at once
_BRIEFLY = 1.0
"""Seconds that a searcher waits for a file that others hold; it can do without the index."""
_UNWRITTEN = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
_ROOM = 65536  # bytes that have to be free on a disk that is not full
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_PLACES = 2**62
"""More than anyone has runs; the largest number that a lock can have is not much higher."""
_LOOKS = 5
_LOOKED = 0.01
_GLANCE = 0.04
"""Seconds from one glance at whether others have written to the next: costs next to nothing."""
_FAULTS = {
    sqlite3.SQLITE_NOTADB: " is not a journal: it is not a database; name another store",
    sqlite3.SQLITE_READONLY: " cannot be written: the file or its folder is read-only",
    sqlite3.SQLITE_CANTOPEN: " cannot be opened; is its folder there, and may you write to it?",
    sqlite3.SQLITE_FULL: " cannot grow: the disk is full; free some space and try again",
    sqlite3.SQLITE_IOERR: (
        " cannot be read or written ({error}); check whether its disk is full or failing"
    ),
    sqlite3.SQLITE_CORRUPT: (
        " is damaged ({error}); restore it from a backup, or recover what can be read: "
        "quandary store recover {path}"
    ),
}
"""What is said behind the name of the file, by what SQLite calls the fault."""


class _Act:
    """Something that a thread wants to write, alone or with others, and what became of it."""

    def __init__(self, action: Callable[[], Any], *, alone: bool) -> None:
        self.action, self.alone, self.is_over = action, alone, False
        self.result, self.error = None, cast("Exception | None", None)
        self.turn = threading.Lock()  # let go of when it was written, or has to write
        self.turn.acquire()


class SqliteStore(Store):
    """A journal in a file. Threads may share it; each process opens its own."""

    def __init__(self, path: str | os.PathLike[str], *, patience: float = 30.0) -> None:
        self.path = os.fspath(path)
        self.address = self.path if self.path == MEMORY else os.path.abspath(self.path)
        self.patience = patience
        self._lock = threading.RLock()  # of the connection
        self._acts, self._queue = list[_Act](), threading.Lock()
        """What waits to be written: the first of them writes, and as many as it can with it."""
        self._taken: Sequence[_Act] = ()  # what it is writing at this moment
        self._added: list[tuple[int, int, bytes]] = []
        """What a transaction has added: the first and the last number, and the last digest."""
        self._reading = threading.Lock()
        self._reader: sqlite3.Connection | None = None
        """A second one, for whoever only looks while a thread beside them has the first."""
        if sqlite3.sqlite_version_info < (3, 37):
            raise StoreError(f"SQLite 3.37 or later is needed; this is {sqlite3.sqlite_version}")
        self._name = self.address
        self._db = self._connect(self._name, uri=False)
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise
        beside = [f"{self.address}{end}" for end in ("", "-wal", "-shm", "-journal")]
        held = hold_files([*beside, _beside(self.address)])
        # What is only in memory goes with the last who knows it; a file is left tidy.
        files = () if self._name == MEMORY else (self._db,)
        self._release = finalize(self, _let_go, held, *files)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock, self._reading:
            self._db.close()
            if self._reader is not None:
                self._reader.close()
            self._release()

    def require_ready(self) -> None:
        self._read(self._require_known)
        if self.path == MEMORY:
            return
        folder = os.path.dirname(self.address)
        if not os.access(self.address, os.W_OK) or not os.access(folder, os.W_OK):
            raise StoreError(self.path + _FAULTS[sqlite3.SQLITE_READONLY])
        disk = os.statvfs(folder)
        if disk.f_bavail * disk.f_frsize < _ROOM:
            raise StoreError(self.path + _FAULTS[sqlite3.SQLITE_FULL])

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._lock:
            if self._db.in_transaction:
                yield
                return
            self._rows("BEGIN")
            try:
                yield
            finally:
                self._rows("ROLLBACK")

    def news(self, seconds: float) -> Generator[bool]:
        """Nobody tells about a file, but SQLite counts what other connections write to it."""
        own, seen = self._name == MEMORY, cast("object", None)
        with ExitStack() as opened:
            watcher: sqlite3.Connection | None = None
            while True:
                deadline, told = chance.monotonic() + seconds, False
                while not told and (left := deadline - chance.monotonic()) > 0:
                    chance.sleep(min(left, seconds if own else _GLANCE))
                    before, seen = seen, None
                    with suppress(sqlite3.Error, StoreError):  # then it is looked for
                        watcher = watcher or opened.enter_context(closing(self._connect_again()))
                        seen = watcher.execute("PRAGMA data_version").fetchone()
                    told = own or seen is None or seen != before
                yield told

    @contextmanager
    def lock_run(self, run: str) -> Iterator[None]:
        """Within it, nobody else drives the run; nobody else reaches a journal in memory."""
        if self.path == MEMORY:
            yield
            return
        with _lock_file(self.path) as file:
            if run in file.runs or not file.take(run):
                raise Rejected(f"run {run} is being driven by another process")
            file.runs.add(run)
        try:
            yield
        finally:
            with _lock_file(self.path) as file:
                file.runs.discard(run)
                file.lock(run, "LOCK_UN")

    def is_locked(self, run: str) -> bool:
        if self.path == MEMORY or not os.path.exists(_beside(self.path)):
            return False
        with _lock_file(self.path) as file:
            # As far as taking it for a moment tells.
            if run in file.runs or not file.lock(run, "LOCK_SH"):
                return True
            file.lock(run, "LOCK_UN")
            return False

    def faults(self) -> list[str]:
        """What was added to the file or defined otherwise, and what its indexes hide."""
        with closing(sqlite3.connect(MEMORY)) as fresh:
            for sql in chain(*MIGRATIONS):
                fresh.execute(sql)
            made = INDEX | dict(fresh.execute("SELECT name, sql FROM sqlite_master"))
        found = []
        for kind, name, sql in self._rows("SELECT type, name, sql FROM sqlite_master"):
            if kind in ("trigger", "view"):
                found.append(f"the {kind} {name} was added to the file")
            elif (sql or "").split() != (made.get(name, sql) or "").split():
                found.append(f"the {kind} {name} is defined otherwise than it was made")
        for table in TABLES.keys() - {"entry"}:  # what is missing there is missed by its run
            (said,), *_ = self._rows(f"PRAGMA integrity_check({table})")
            if said != "ok":
                found.append(f"the table {table} and its indexes do not agree: {said}")
        return found

    def gaps(self, after: int) -> int:
        sql = "SELECT coalesce(max(seq), ?) - ? - count(*) FROM entry WHERE seq > ?"
        return int(self._rows(sql, (after, after, after))[0][0])

    def _stream(self, sql: str) -> Iterator[Row]:
        try:
            yield from self._patiently(lambda: self._db.execute(sql))
        except sqlite3.Error as error:
            raise StoreError(self._explain(error)) from error

    def _create(self, begin: Begin) -> Run:
        def action() -> Run:
            run, entries = begin(self._db.execute, self._db.execute(NEWEST).fetchone())
            self._db.execute(_ADD_RUN, astuple(run))
            self._add(entries)
            return run

        return self._write(action)

    def append(
        self, run: Run, entries: Sequence[Entry], *, seen: int, events: Sequence[int] = ()
    ) -> None:
        def action() -> None:
            told = (run.key, run.asked, run.n, run.head, run.since)
            notes = all(entry.kind == "noted" for entry in entries)
            # Most answers leave the run waiting for the same kind of answer. Not to touch what the
            # indexes hold then halves what goes to the disk.
            as_before = (*told, run.id, seen, run.status, run.waits, notes)
            if not run.waits or not self._db.execute(_STAY, as_before).rowcount:
                moved = self._db.execute(_MOVE, (*told, run.status, run.waits, run.id, seen, notes))
                if not moved.rowcount:
                    raise Moved(run.id)
            for n in events:
                self._db.execute(TELL, (n, run.since, run.id))
            self._add(entries)

        self._write(action)

    def _transact(self, action: Callable[[Execute], T], *, secure: bool = False) -> T:
        return self._write(lambda: action(self._db.execute), secure=secure)

    def _add(self, entries: Sequence[Entry]) -> None:
        """Add entries, and remember which numbers they have got."""
        self._db.executemany(_ADD_ENTRY, (astuple(entry)[:-1] for entry in entries))
        ((last,),) = self._db.execute("SELECT last_insert_rowid()").fetchall()
        self._added.append((last - len(entries) + 1, last, entries[-1].digest))

    def _take_out(self, execute: Execute, wanted: Mapping[Run, Sequence[int]]) -> None:
        rows = [
            (*row[:5], None, None, *row[7:]) if row[2] in numbers else row
            for run, numbers in wanted.items()
            for row in execute(_TAKE_OUT, (run.id,)).fetchall()
        ]
        # Entries that only shrink leave their pages half empty. Those that are taken out all
        # together and put back in order fill theirs, and the others are free.
        self._db.executemany(_PUT_BACK, sorted(rows))

    def reclaim(self) -> int:
        """A file of an earlier Quandary is written anew once, to learn to be freed in steps."""
        pages = before = self._number("page_count")
        self._forget_for_good()
        if self._number("freelist_count") and self._number("auto_vacuum") != _INCREMENTAL:
            learn = "PRAGMA auto_vacuum = INCREMENTAL; VACUUM"
            self._patiently(lambda: self._db.executescript(learn), self._lock)
        step = f"PRAGMA incremental_vacuum({_STEP})"
        while self._number("freelist_count"):
            self._patiently(lambda: self._db.executescript(step), self._lock)
            pages, last = self._number("page_count"), pages
            if pages >= last:
                break
        self._patiently(
            lambda: self._db.executescript("PRAGMA wal_checkpoint(TRUNCATE)"), self._lock
        )
        return (before - self._number("page_count")) * self._number("page_size")

    _WORDS_OF = "words.rowid"
    _HAS_INDEX = "SELECT 1 FROM sqlite_master WHERE name = 'indexed'"
    _INDEX = (*INDEX.values(), "INSERT INTO indexed (number, seq) VALUES (0, 0)")

    def index_words(self, words_of: Callable[[str], str]) -> int:
        index = partial(self._index, self._db.execute, self._horizon(), words_of)
        return self._write(index, patience=_BRIEFLY)

    def _match(self, words: Sequence[str]) -> Iterator[tuple[str, object]]:
        if quoted := ['"' + gram.replace('"', '""') + '"' for gram in grams(words)]:
            yield "words MATCH ?", " AND ".join(quoted)
        yield from (("instr(said, ?) > 0", word) for word in words)

    def _put_words(self, execute: Execute, number: int, words: str) -> None:
        execute("INSERT OR REPLACE INTO words (rowid, said) VALUES (?, ?)", (number, words))

    def _forget_for_good(self) -> None:
        """Write the index anew, step by step: until then it keeps what was taken out of it."""

        def merge(pages: int) -> int:
            if not self._db.execute(self._HAS_INDEX).fetchone():
                return 0
            before = self._db.total_changes
            self._db.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
            return self._db.total_changes - before

        pages = -_MERGED  # the first step has all of it be written anew
        while self._write(partial(merge, pages), secure=True) > 1:
            pages = _MERGED

    def fill(self, dump: Callable[[str], Iterator[Row]], check: Callable[[], None]) -> None:
        def action() -> None:
            self._require_empty(self._db.execute)
            for table, columns in TABLES.items():
                self._db.executemany(_insert(table, columns), dump(table))
            check()

        self._write(action)
        if self.keeper is not None:
            self.keeper.begin()

    def back_up(self, path: str) -> None:
        """Copy the file page by page as it is at one moment; others may go on writing."""
        with closing(self._connect(path, uri=False)) as target:
            try:
                self._patiently(lambda: self._db.backup(target), self._lock)
            except StoreError as error:
                if _code(error.__cause__) == sqlite3.SQLITE_FULL:
                    raise StoreError(f"{path} cannot be written: the disk is full") from error
                raise

    def _connect(self, name: str, *, uri: bool) -> sqlite3.Connection:
        if not uri and name != MEMORY:
            # A new file is its owner's alone; SQLite gives those beside it the same mode. One that
            # is there is not opened: to close it would let go of the locks that SQLite has on it.
            with suppress(OSError, ValueError):  # what cannot be made, SQLite explains
                os.close(os.open(name, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            return sqlite3.connect(
                name, timeout=0, isolation_level=None, check_same_thread=False, uri=uri
            )
        except sqlite3.Error as error:
            raise StoreError(self._explain(error)) from error

    def _connect_again(self) -> sqlite3.Connection:
        """One more connection; where the file was taken away, none is made in its place."""
        if self._name != self.address or self._name == MEMORY:
            return self._connect(self._name, uri=self._name != MEMORY)
        from pathlib import Path  # noqa: PLC0415 - slow, and not for whoever only answers

        return self._connect(f"{Path(self.address).as_uri()}?mode=rw", uri=True)

    def _prepare(self) -> None:
        """See whose file it is, and bring it to the schema of this version."""
        try:
            version = self._number("user_version")
        except StoreError as error:
            # SQLite needs a file beside the journal, even to read; where none can be made, nobody
            # writes either, and the journal can be read as it lies there.
            if (
                _code(error.__cause__) not in _UNWRITTEN
                or not os.path.isfile(self.path)
                or os.path.exists(f"{self.path}-wal")
            ):
                raise
            self._db.close()
            from pathlib import Path  # noqa: PLC0415 - slow, and rarely needed

            self._name = f"{Path(self.address).as_uri()}?immutable=1"
            self._db = self._connect(self._name, uri=True)
            version = self._number("user_version")
        self._identity = self._file()
        if version or self._rows("SELECT 1 FROM sqlite_master LIMIT 1"):
            if self._number("application_id") != APPLICATION:
                raise StoreError(f"{self.path} belongs to another program; name another store")
            version = self._number("user_version")  # the tables may have come just now
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{self.path} was written by a newer Quandary (schema {version}, known up to "
                f"{len(MIGRATIONS)}); upgrade this one"
            )
        self._rows("PRAGMA synchronous = FULL")
        if sys.platform == "darwin":
            self._rows("PRAGMA fullfsync = ON")
        if version == 0:  # a file can learn it only before anything is in it
            self._rows("PRAGMA auto_vacuum = INCREMENTAL")
        if os.access(self.path, os.W_OK) and self._rows("PRAGMA journal_mode") != [("wal",)]:
            self._rows("PRAGMA journal_mode = WAL")
        if version < len(MIGRATIONS):
            try:
                self._write(self._migrate)
            except StoreError as error:
                if _code(error.__cause__) not in _UNWRITTEN or not version:
                    raise
                self._read_in_memory()

    def _read_in_memory(self) -> None:
        """Read an old layout that cannot be brought to the new one where it lies."""
        with self._db as old:
            self._name, self._db = MEMORY, self._connect(MEMORY, uri=False)
            old.backup(self._db)
        old.close()
        self._migrate()
        self._db.execute("PRAGMA query_only = ON")

    def _migrate(self) -> None:
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        for statement in chain.from_iterable(MIGRATIONS[version:]):
            self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")

    def _number(self, pragma: str) -> int:
        return int(self._rows(f"PRAGMA {pragma}")[0][0])

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        return self._read(lambda db: self._patiently(lambda: db.execute(sql, values).fetchall()))

    def _read(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Read on a connection; whoever writes, or waits to, in another thread keeps nobody."""
        if self._lock.acquire(blocking=self._name == MEMORY):
            try:
                return action(self._db)
            finally:
                self._lock.release()
        with self._reading:
            if self._reader is None:
                self._require_file()
                self._reader = self._connect_again()
            return action(self._reader)

    def _file(self) -> tuple[int, int] | None:
        """Which file lies where ours should; nothing where there is none, or none is needed."""
        with suppress(OSError):
            found = os.stat(self.address)
            return found.st_dev, found.st_ino
        return None

    def _require_known(self, db: sqlite3.Connection) -> None:
        """Refuse to write to a file that a newer program has brought to another schema."""
        self._require_file()
        if db.execute("PRAGMA user_version").fetchone()[0] > len(MIGRATIONS):
            raise StoreError(f"{self.path} was upgraded to another schema; restart this program")

    def _require_file(self) -> None:
        """Refuse to write to a file that was taken away: whoever opens its place would miss it."""
        found = self._file()
        if found != self._identity:
            raise StoreError(
                f"{self.path} no longer exists; restore it from a backup"
                if found is None
                else f"{self.path} was replaced by another file; restart this program"
            )

    def _write(
        self, action: Callable[[], T], *, secure: bool = False, patience: float | None = None
    ) -> T:
        """Do something as one transaction, on disk when this returns. What other threads want to
        write meanwhile waits, and is then written with a single commit by the first of them; each
        hears what became of its own only after that. What takes longer, with a `patience` of its
        own or `secure`, is written alone. If `secure`, what it deletes is overwritten, from now on.
        """
        act = _Act(action, alone=secure or patience is not None)
        came = chance.monotonic()

        def attempt() -> None:
            if not act.is_over:
                with self._lock:
                    with self._queue:
                        together = takewhile(lambda one: not one.alone, self._acts)
                        self._taken = (act,) if act.alone else tuple(together)
                    if secure:
                        self._db.execute("PRAGMA secure_delete = ON")
                    self._commit(self._taken)
            if act.error is not None:
                raise act.error

        try:
            with self._queue:
                self._acts.append(act)
                is_first = self._acts[0] is act
            if not is_first:
                self._await_turn(act, came, self.patience if patience is None else patience)
            self._patiently(attempt, patience=patience, since=came)
        finally:
            self._leave(act)
        return cast("T", act.result)

    def _await_turn(self, act: _Act, came: float, patience: float) -> None:
        """Until somebody has written it, or it has to write; in vain where time is up before."""
        if not act.turn.acquire(timeout=max(came + patience - chance.monotonic(), 0)):
            with self._queue:
                if not (act.is_over or act in self._taken or self._acts[0] is act):
                    self._acts.remove(act)
                    raise StoreError(self._locked(patience))
            act.turn.acquire()

    def _leave(self, act: _Act) -> None:
        """Wake those whose acts were written with this one, and who writes next, each once."""
        with self._queue:
            if self._acts[:1] != [act]:  # then somebody else wakes whoever waits
                self._acts = [one for one in self._acts if one is not act]
                return
            taken, self._taken = self._taken, ()
            self._acts = [one for one in self._acts if one is not act and not one.is_over]
            woken = [one for one in taken if one is not act and one.is_over] + self._acts[:1]
        for one in woken:
            one.turn.release()

    def _commit(self, acts: Sequence[_Act]) -> None:
        """Do all of it as one transaction; where that fails, all of it has failed."""
        db, is_done = self._db, False
        self._added.clear()
        try:
            db.execute("BEGIN IMMEDIATE")
            self._require_known(db)
            for act in acts:
                self._do(act, alone=len(acts) == 1)
            is_done = True
            db.execute("COMMIT")
            for act in acts:
                act.is_over = True
        except Exception as error:
            if _code(error) in _BUSY:
                raise  # it still waits
            self._added.clear()
            for act in acts:
                act.error, act.is_over = error, True
        except BaseException:
            for act in acts:  # who interrupts a commit is heard when it is on disk
                act.is_over = is_done and not db.in_transaction
            raise
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
        if self._added and self.keeper is not None:
            self.keeper.keep(self._added[0][0], *self._added[-1][1:])

    def _do(self, act: _Act, *, alone: bool) -> None:
        """Do one of several things in a transaction; what it refuses to do leaves no trace."""
        act.error, before = None, len(self._added)
        if alone:
            act.result = act.action()
            return
        self._db.execute("SAVEPOINT act")
        try:
            act.result = act.action()
        except Exception as error:
            if not self._db.in_transaction:
                raise  # SQLite has undone everything
            act.error = error
            self._db.execute("ROLLBACK TO act")
            del self._added[before:]
        self._db.execute("RELEASE act")

    def _patiently(
        self,
        action: Callable[[], T],
        lock: AbstractContextManager[object] | None = None,
        patience: float | None = None,
        since: float | None = None,
    ) -> T:
        """Try again while others hold the file, after pauses too uneven to leave anyone behind.
        SQLite's own way of waiting starves writers: its pauses grow, so that newcomers win. The
        lock is held for each try, not between them.
        """
        patience = self.patience if patience is None else patience
        deadline = (chance.monotonic() if since is None else since) + patience
        while True:
            try:
                if lock is None:
                    return action()
                with lock:
                    return action()
            except (UnicodeDecodeError, sqlite3.Error) as error:
                if _code(error) == sqlite3.SQLITE_READONLY:
                    raise ReadOnly(self._explain(error)) from error
                if _code(error) not in _BUSY:
                    raise StoreError(self._explain(error)) from error
                if chance.monotonic() >= deadline:
                    raise StoreError(self._locked(patience)) from error
            chance.sleep(chance.uniform(0.0003, 0.003))

    def _locked(self, patience: float) -> str:
        held = f"{self.path} has been locked by another program for {patience:g} seconds"
        return f"{held}; try again when it is done"

    def _explain(self, error: Exception) -> str:
        said = _FAULTS.get(_code(error), ": {error}")
        return self.path + said.format(error=error, path=self.path)


def _let_go(release: Callable[[], object], *files: sqlite3.Connection) -> None:
    for file in files:
        file.close()
    release()


def _code(error: BaseException | None) -> int:
    """The primary code; a closed connection has none."""
    if isinstance(error, UnicodeDecodeError):  # SQLite quotes what is damaged
        return sqlite3.SQLITE_CORRUPT
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


class _LockFile:
    """A file beside a store with a place for each run; locks go with the process."""

    def __init__(self, place: str) -> None:
        try:
            self.number = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"{place} cannot be written: {error.strerror}") from None
        self.runs: set[str] = set()
        """Those that are ours: the system only knows that we are one process, so we count."""

    def lock(self, run: str, kind: Literal["LOCK_EX", "LOCK_SH", "LOCK_UN"]) -> bool:
        """Lock the place of a run, or unlock it; whether that was possible."""
        import fcntl  # noqa: PLC0415 - nothing of this where a run is only answered

        place = int.from_bytes(sha256(run.encode()).digest()[:8]) % _PLACES
        with suppress(OSError):
            wait = 0 if kind == "LOCK_UN" else fcntl.LOCK_NB
            fcntl.lockf(self.number, getattr(fcntl, kind) | wait, 1, place)
            return True
        return False

    def take(self, run: str) -> bool:
        """Whether the run is ours now; who only looks whether it is locked has gone in a moment."""
        for _ in range(_LOOKS):
            if self.lock(run, "LOCK_EX"):
                return True
            chance.sleep(_LOOKED)
        return False


_lock_files: dict[str, _LockFile] = {}
"""Those that are open, by their real paths. Closing one lets go of every lock in it."""
_guard = threading.Lock()  # held by whoever opens or closes one, for the same reason


@contextmanager
def _lock_file(store: str) -> Iterator[_LockFile]:
    """The file, which is closed behind whoever does not leave a run in it."""
    place = _beside(store)
    with _guard:
        file = _lock_files.get(place) or _LockFile(place)
        _lock_files[place] = file
        try:
            yield file
        finally:
            if not file.runs and _lock_files.pop(place, None) is not None:
                os.close(file.number)


def _beside(store: str) -> str:
    return f"{os.path.realpath(store)}.walking"
