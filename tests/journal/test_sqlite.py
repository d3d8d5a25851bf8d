"""The embedded store: the file, its schema, and who may write when."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import processes
import small_flows
from quandary.errors import ParseError, StoreError
from quandary.journal import runs, sqlite
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.settings.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

JOURNALS = Path(__file__).parent.parent / "journals"


def test_answers_survive_a_loss_of_power(store: SqliteStore) -> None:
    """Every commit is on disk before it is acknowledged."""
    assert store._number("synchronous") == 2
    assert store._rows("PRAGMA journal_mode", ()) == [("wal",)]


def test_a_column_takes_only_what_it_is_for(store: SqliteStore, path: Path) -> None:
    """The tables are strict."""
    small_flows.begin(store)
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError):
        db.execute("UPDATE run SET n = 'three'")
    db.close()


def test_a_run_has_one_entry_under_each_number(store: SqliteStore, path: Path) -> None:
    """The fence holds in the file itself."""
    small_flows.begin(store)
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError):
        db.execute("UPDATE entry SET n = 1")
    db.close()


@pytest.mark.parametrize(
    ("where", "index"),
    [
        ("WHERE waits = ? AND number > ? ORDER BY number", "run_waits"),
        ("WHERE project = ? AND waits = ? AND number > ? ORDER BY number", "run_project_waits"),
        ("WHERE status = ? AND number > ? ORDER BY number", "run_status"),
        ("WHERE waits IS NOT NULL AND expires <= ?", "run_expires"),
    ],
)
def test_the_inbox_is_one_indexed_query(store: SqliteStore, where: str, index: str) -> None:
    """No listing reads the runs that it does not show, or sorts those it does."""
    values = ("x",) * where.count("?")
    plan = store._rows(f"EXPLAIN QUERY PLAN SELECT * FROM run {where}", values)  # noqa: S608
    assert len(plan) == 1
    assert index in plan[0][3]


def test_a_locked_store_is_given_up_after_its_time(store: SqliteStore, path: Path) -> None:
    """Writers wait as long as they are patient, then say what holds them; readers go on."""
    state = small_flows.begin(store)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    hasty = SqliteStore(path, patience=0.2)
    before = time.monotonic()
    with pytest.raises(StoreError, match=r"locked by another program for 0\.2 seconds"):
        small_flows.answer(hasty, state)
    assert 0.2 <= time.monotonic() - before < 2
    assert runs.look(hasty, state.run).key == state.key
    holder.execute("ROLLBACK")
    assert small_flows.answer(hasty, state).key == "2:"
    holder.close()
    hasty.close()


def test_a_writer_goes_on_as_soon_as_the_lock_is_gone(store: SqliteStore, path: Path) -> None:
    """Waiting is not failing."""
    state = small_flows.begin(store)
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, holder.execute, ("ROLLBACK",))
    release.start()
    assert small_flows.answer(store, state).key == "2:"
    release.join()
    holder.close()


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    """And left as it was."""
    path.write_text("Dear diary, " * 100)
    with pytest.raises(StoreError, match="not a database"):
        SqliteStore(path)
    assert path.read_text().startswith("Dear diary")


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    """Nobody's tables get a journal beside them."""
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.commit()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path)
    db.execute("PRAGMA user_version = 1")
    db.close()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The message says which file could not be opened."""
    with pytest.raises(StoreError, match=r"nowhere/journal\.db cannot be opened"):
        SqliteStore(tmp_path / "nowhere" / "journal.db")
    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteStore(tmp_path)


def test_a_damaged_file_is_reported(store: SqliteStore, path: Path) -> None:
    """No traceback, and the way out."""
    for _ in range(20):
        small_flows.begin(store)
    store.close()
    written = bytearray(path.read_bytes())
    written[4096:] = bytes(b ^ 0x5A for b in written[4096:])
    path.write_bytes(written)
    broken = SqliteStore(path)
    with pytest.raises(StoreError, match="damaged"):
        broken.runs()
    broken.close()


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user of the machine can enter."""
    folder = Path(tempfile.mkdtemp(prefix="quandary-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("open_elsewhere", [False, True])
def test_a_read_only_store_can_be_read(public: Path, *, open_elsewhere: bool) -> None:
    """Whoever may not write can look and verify, and is told when they try to write."""
    path = public / "journal.db"
    store = SqliteStore(path)
    small_flows.begin(store)
    if not open_elsewhere:
        store.close()
    public.chmod(0o555)
    for file in public.iterdir():
        file.chmod(0o444)
    looked, refused = processes.told("outsider", path)
    assert looked == "waiting 1: True"
    assert refused.startswith("ReadOnly ")
    assert "cannot be written" in refused
    store.close()


def test_a_new_schema_is_brought_to_old_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Migrations run once, in order, whoever opens the file first."""
    old = SqliteStore(path)
    state = small_flows.begin(old)
    old.close()
    more = ("ALTER TABLE run ADD COLUMN colour TEXT", "UPDATE run SET colour = 'red'")
    monkeypatch.setattr(sqlite, "MIGRATIONS", (*sqlite.MIGRATIONS, more))
    for _ in range(2):
        new = SqliteStore(path)
        assert new._number("user_version") == len(sqlite.MIGRATIONS)
        assert new._rows("SELECT colour FROM run", ()) == [("red",)]
        new.close()
    new = SqliteStore(path)
    assert small_flows.answer(new, state).key == "2:"
    assert verify(new).ok
    new.close()


def test_a_migration_that_fails_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schema is changed as a whole or not at all."""
    SqliteStore(path).close()
    with monkeypatch.context() as patched:
        wrong = ("CREATE TABLE further (a INTEGER) STRICT", "CREATE NONSENSE")
        patched.setattr(sqlite, "MIGRATIONS", (*sqlite.MIGRATIONS, wrong))
        with pytest.raises(StoreError, match="NONSENSE"):
            SqliteStore(path)
    store = SqliteStore(path)
    assert store._rows("SELECT name FROM sqlite_master WHERE name = 'further'", ()) == []
    store.close()


@pytest.mark.parametrize("journal", sorted(JOURNALS.glob("*.sql")), ids=lambda p: p.stem)
def test_journals_of_every_schema_are_read_for_ever(path: Path, journal: Path) -> None:
    """They verify, their answers are there, and their waiting runs go on."""
    db = sqlite3.connect(path)
    db.executescript(journal.read_text(encoding="utf-8"))
    db.close()
    store = SqliteStore(path)
    assert verify(store).ok
    done, waiting, errand, declined = (runs.look(store, run.id) for run in store.runs())
    assert done.status == "done"
    assert done.result["chosen"][0] == ["1:", "NO", None, "but soon"]
    assert waiting.key == "2:SUB"
    again = runs.advance(store, waiting.run, who="person", through="terminal")
    assert again == waiting
    assert small_flows.answer(store, waiting).result == {"paths": {"1": "OK", "2": "SUB/OK"}}
    assert errand.calls[0].key == "1:/vote-2"
    assert runs.advance(store, errand.run, who="agent", through="relay") == errand
    assert declined.status == "declined"
    assert verify(store).ok
    store.close()


def test_a_new_store_is_its_owners_alone(tmp_path: Path) -> None:
    """Wherever it is made, with the files beside it; the mode of an old one stays."""
    before = os.umask(0o022)
    try:
        store = SqliteStore(tmp_path / "journal.db")
        small_flows.begin(store)
        store.back_up(str(tmp_path / "saved.db"))
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        assert modes == dict.fromkeys(
            ("journal.db", "journal.db-wal", "journal.db-shm", "saved.db"), 0o600
        )
        store.close()
        (tmp_path / "journal.db").chmod(0o640)
        SqliteStore(tmp_path / "journal.db").close()
        assert (tmp_path / "journal.db").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_opening_a_store_once_more_lets_go_of_no_lock(tmp_path: Path) -> None:
    """Another program that closes the file last takes the log of changes away, under our hands."""
    path = tmp_path / "journal.db"
    look = (
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM run').fetchall()"
    )
    with closing(SqliteStore(path)) as store:
        small_flows.begin(store)
        with closing(SqliteStore(path)):
            pass
        subprocess.run([sys.executable, "-c", look, str(path)], check=True)
        assert path.with_name("journal.db-wal").exists()


def test_nobody_has_us_read_the_files_of_an_open_journal(tmp_path: Path) -> None:
    """To read one and close it would let go of its locks; once it is closed, it is a file."""
    path = tmp_path / "journal.db"
    with closing(SqliteStore(path)) as store:
        small_flows.begin(store)
        (tmp_path / "link.md").symlink_to(path)
        for name in ("journal.db", "journal.db-shm", "link.md"):
            with pytest.raises(ParseError, match="in use"):
                read_text(str(tmp_path / name))
    with pytest.raises(ParseError, match="a binary file"):
        read_text(str(path))


def test_a_file_whose_name_begins_like_an_open_journals_is_read(tmp_path: Path) -> None:
    """A store may be called anything, such as `q` beside `quandary.toml`."""
    (tmp_path / "quandary.toml").write_text("max_visits = 3\n", encoding="utf-8")
    with closing(SqliteStore(tmp_path / "q")):
        assert read_text(str(tmp_path / "quandary.toml")) == "max_visits = 3\n"


def test_whoever_looks_does_not_wait_for_a_thread_that_writes(tmp_path: Path) -> None:
    """There is a connection to read on besides the one that is in a transaction."""
    with closing(SqliteStore(tmp_path / "journal.db")) as store:
        begun, over, seen = threading.Event(), threading.Event(), list[int]()

        def write() -> bool:
            begun.set()
            return over.wait(60)

        writer = threading.Thread(target=store._write, args=(write,))
        reader = threading.Thread(target=lambda: seen.append(len(store.runs())))
        writer.start()
        assert begun.wait(60)
        reader.start()
        reader.join(30)
        looked = list(seen)
        over.set()
        writer.join(60)
        reader.join(60)
        assert looked == [0]


def test_a_writer_that_waits_keeps_nobody_from_the_connection(path: Path) -> None:
    """Between its tries others have it, who copy or export what is there at one moment."""
    with closing(SqliteStore(path, patience=20)) as store:
        state = small_flows.begin(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            writer = threading.Thread(target=small_flows.answer, args=(store, state))
            writer.start()
            while not store._acts:
                time.sleep(0.001)
            begun = time.monotonic()
            for _ in range(3):
                time.sleep(0.01)
                with store.snapshot():
                    assert runs.look(store, state.run).key == state.key
            assert time.monotonic() - begun < 10
            holder.execute("ROLLBACK")
        writer.join()
        assert runs.look(store, state.run).key == "2:"


def test_who_waits_for_news_makes_no_file_where_one_was_taken_away(tmp_path: Path) -> None:
    """An empty file in its place would pass for a journal that nobody has written to."""
    path = tmp_path / "journal.db"
    with closing(SqliteStore(path)) as store, closing(store.news(0.1)) as news:
        path.rename(tmp_path / "elsewhere.db")
        assert next(news)
        assert not path.exists()
