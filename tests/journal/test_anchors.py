"""An older file in the place of a journal is noticed: what was seen of it is kept elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import databases
import small_flows
from quandary.errors import Rejected
from quandary.journal import backups, open_store, policy
from quandary.journal import runs as driver
from quandary.journal.entries import digest
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from quandary.journal.store import Store


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of its own, which is not there yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "quandary" / "stores"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal with a run that was answered, and `old.db`, where the same run still waits."""
    journal = tmp_path / "journal.db"
    with closing(open_store(journal)) as store:
        waiting = small_flows.begin(store, questions=1)
        backups.backup(store, str(tmp_path / "old.db"))
        small_flows.answer(store, waiting)
    return journal


def put_back(journal: Path) -> None:
    """Put the older file in the place of the journal."""
    for name in (journal, f"{journal}-wal", f"{journal}-shm"):
        Path(name).unlink(missing_ok=True)
    shutil.copy(journal.with_name("old.db"), journal)


def missing(journal: Path | str) -> str:
    """What is missed when the store is opened."""
    with closing(open_store(journal)) as store:
        told = verify(store).problems
        assert [problem.text for problem in told] == ([store.missing] if store.missing else [])
        return store.missing


def test_one_line_is_kept_of_each_store(journal: Path, state: Path) -> None:
    """With the number and the digest of the newest entry, for nobody else to read."""
    with closing(open_store(journal)) as store:
        seq, newest = store.head() or (0, b"")
    (file,) = state.iterdir()
    assert file.read_text().splitlines()[0].split()[:2] == [str(seq), newest.hex()]
    assert file.read_text().endswith(f" {journal}\n")
    assert (file.stat().st_mode & 0o777, state.stat().st_mode & 0o777) == (0o600, 0o700)


def test_an_older_file_is_reported_with_what_is_missing(journal: Path) -> None:
    """Its own chain holds; it is opened all the same, and the newer one is not forgotten."""
    assert missing(journal) == ""
    put_back(journal)
    assert "older than what was seen here: it ends with entry 2" in missing(journal)
    assert "up to entry 4 is missing" in missing(journal)


def test_writing_to_an_older_file_does_not_hide_that_it_is_one(journal: Path) -> None:
    """However far it comes: what was seen is not in it."""
    put_back(journal)
    with closing(open_store(journal)) as store:
        for _ in range(4):
            small_flows.begin(store)
    assert "entry 4 is another one" in missing(journal)


def test_the_newest_file_put_back_is_what_was_seen(journal: Path) -> None:
    """Nothing has to be accepted then."""
    shutil.copy(journal, journal.with_name("new.db"))
    put_back(journal)
    assert missing(journal)
    shutil.copy(journal.with_name("new.db"), journal)
    assert missing(journal) == ""


def test_entries_removed_under_a_program_that_runs_are_missed_when_it_writes(journal: Path) -> None:
    """Also where as many are added at once as were removed."""
    with closing(open_store(journal)) as store:
        since = store.entries(store.runs()[0].id)[1].read().at
        databases.change(
            journal,
            "DELETE FROM entry WHERE seq > 2",
            f"UPDATE run SET n = 2, status = 'waiting', waits = 'person', key = '1:', asked = 2, "  # noqa: S608
            f"since = '{since}', head = (SELECT digest FROM entry WHERE seq = 2)",
        )
        assert store.missing == ""
        small_flows.begin(store, questions=1)
        assert "not what was seen here" in store.missing
    assert missing(journal)


def test_a_store_begun_anew_is_told_from_an_older_one(journal: Path) -> None:
    """And an older one that is put back after it is still an older one."""
    journal.unlink()
    with closing(open_store(journal)) as store:
        assert "begun anew" in store.missing
        small_flows.begin(store)
    assert "begun anew" in missing(journal)
    put_back(journal)
    assert "older than" in missing(journal)


def test_a_person_accepts_what_is_there(journal: Path) -> None:
    """From then on that is what was seen."""
    put_back(journal)
    with closing(open_store(journal)) as store:
        assert store.keeper is not None
        store.keeper.renew()
        assert store.missing == ""
        small_flows.begin(store)
    assert missing(journal) == ""


def test_what_was_used_up_cannot_be_used_again_in_an_older_file(journal: Path) -> None:
    """Nor does a preference count that was taken back since."""
    with closing(open_store(journal)) as store:
        store.require_newest()
    put_back(journal)
    with closing(open_store(journal)) as store:
        said = {"scope": "", "origin": "user", "who": "person", "through": "terminal"}
        policy.set_preference(store, "colour", "never-ask", **said)  # type: ignore[arg-type]
        verdict = policy.read_policy(store, "").check("colour", "Which colour?")
        assert not verdict.decide
        assert "not what was seen here" in verdict.note
        with pytest.raises(Rejected, match="not what was seen here"):
            store.require_newest()


def test_a_tail_of_one_run_cut_off_with_care_is_found(journal: Path) -> None:
    """The newest entry is another run's and still there; its number tells that some are not."""
    with closing(open_store(journal)) as store:
        cut = small_flows.begin(store)
        small_flows.answer(store, cut)
        small_flows.begin(store)
        began = store.entries(cut.run)[1].read().at
        databases.change(
            journal,
            f"DELETE FROM entry WHERE run = '{cut.run}' AND n > 2",  # noqa: S608 - our own names
            f"UPDATE run SET n = 2, key = '1:', asked = 2, since = '{began}', head = "  # noqa: S608
            f"(SELECT digest FROM entry WHERE run = '{cut.run}' AND n = 2) "
            f"WHERE id = '{cut.run}'",
        )
        (problem,) = verify(store).problems
        assert "were removed: 2" in problem.text
        assert store.missing == ""


def test_what_was_verified_here_cannot_be_rewritten(journal: Path) -> None:
    """Not even with every digest made anew, and it is not called an older store."""
    with closing(open_store(journal)) as store:
        small_flows.begin(store)
        assert store.keeper is not None
        store.keeper.renew(verify(store).digest)
        assert verify(store).ok
        run = store.runs()[0]
        *_, before, last = store.entries(run.id)
        body = last.body.replace(b"done", b"failed")
        made = digest(run.id, run.n, before.digest, body, None).hex()
        databases.change(
            journal,
            f"UPDATE entry SET body = X'{body.hex()}', seal = NULL, matter = NULL, salt = NULL, "  # noqa: S608
            f"digest = X'{made}' WHERE seq = 4",
            f"UPDATE run SET status = 'failed', head = X'{made}' WHERE number = 1",  # noqa: S608
        )
        assert verify(store, seen=False).ok
        (problem,) = verify(store).problems
        assert "altered" in problem.text
    journal.rename(journal.with_name("other.db"))
    journal.symlink_to("other.db")
    with closing(open_store(journal)) as store:
        (problem,) = verify(store).problems
        assert "altered" in problem.text, "by whatever name"


@pytest.mark.parametrize("way", ["copied", "backed up", "moved", "linked", "recovered"])
def test_a_store_elsewhere_is_a_store_of_its_own(journal: Path, tmp_path: Path, way: str) -> None:
    """Whoever goes on with a copy misses nothing, and neither does who goes on with the first."""
    other = tmp_path / "other.db"
    with closing(open_store(journal)) as store:
        if way == "copied":
            with closing(open_store(other)) as new:
                backups.copy(store, new)
        elif way == "backed up":
            backups.backup(store, str(other))
    if way == "recovered":
        with closing(open_store(other)) as new:
            assert backups.recover(str(journal), new).report.ok
    elif way == "moved":
        journal.rename(other)
    elif way == "linked":
        other.symlink_to(journal)
    with closing(open_store(other)) as store:
        small_flows.begin(store)
    assert missing(other) == ""
    if way == "moved":
        shutil.copy(other, journal)
    assert missing(journal) == ""
    if way == "linked":  # it is the same store, and known as such
        put_back(journal)
        assert "older than" in missing(other)


@pytest.mark.parametrize("is_longer", [False, True])
def test_a_link_in_the_place_of_a_store_is_no_way_round(
    journal: Path, tmp_path: Path, is_longer: bool
) -> None:
    """Where it leads there may be a store that is in order, by that name."""
    other = tmp_path / "other.db"
    with closing(open_store(journal)) as store:
        backups.backup(store, str(other))
        small_flows.begin(store)
    with closing(open_store(other)) as store:
        for _ in range(3 if is_longer else 0):
            small_flows.begin(store)
    journal.unlink()
    journal.symlink_to(other)
    assert missing(other) == ""
    assert "seen here" in missing(journal)
    with closing(open_store(journal)) as store:
        assert not verify(store).ok
        assert store.keeper is not None
        store.keeper.renew()
        assert verify(store).ok
    assert missing(journal) == ""


def test_a_copy_into_the_place_of_a_store_that_is_gone(journal: Path, tmp_path: Path) -> None:
    """It is what was seen there, if it is the same journal."""
    journal.rename(tmp_path / "other.db")
    with closing(open_store(tmp_path / "other.db")) as old, closing(open_store(journal)) as new:
        assert new.missing
        backups.copy(old, new)
        assert new.missing == ""
    assert missing(journal) == ""
    put_back(journal)
    assert "older than" in missing(journal)


def test_where_the_state_folder_cannot_be_written_all_else_works(
    journal: Path, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known then, and nothing is missed."""
    shutil.rmtree(state.parent)
    (tmp_path / "state" / "quandary").write_text("a file")
    with closing(open_store(journal)) as store:
        small_flows.begin(store)
    assert missing(journal) == ""
    monkeypatch.setenv("XDG_STATE_HOME", os.devnull)
    put_back(journal)
    assert missing(journal) == ""


@pytest.mark.parametrize("left", [b"", b"12", b"12 ab", b"\0" * 300, b"x y z a b\n", b"\xff\n"])
def test_half_a_line_is_no_line(journal: Path, state: Path, left: bytes) -> None:
    """It is written without waiting for the disk, so that a crash may leave anything."""
    (file,) = state.iterdir()
    file.write_bytes(left)
    with closing(open_store(journal)) as store:
        assert store.missing == ""
        small_flows.begin(store)
        assert file.read_text().startswith("6 ")
    assert missing(journal) == ""


def test_a_store_that_can_only_be_read_is_compared(journal: Path, state: Path) -> None:
    """And nothing is written, neither there nor elsewhere."""
    put_back(journal)
    (file,) = state.iterdir()
    before = file.read_bytes()
    journal.chmod(0o400)
    journal.parent.chmod(0o500)
    try:
        with closing(open_store(journal, create=False)) as store:
            assert "older than" in store.missing
    finally:
        journal.parent.chmod(0o700)
    assert file.read_bytes() == before


def test_a_journal_in_memory_or_opened_directly_leaves_nothing(tmp_path: Path, state: Path) -> None:
    """Only a store that is named, and lasts."""
    with closing(open_store(":memory:")) as store:
        small_flows.begin(store)
    with closing(SqliteStore(tmp_path / "direct.db")) as store:
        small_flows.begin(store)
    assert not state.exists()


WRITER = """
import sys
sys.path.insert(0, "tests")
import small_flows
from quandary.journal import open_store
store = open_store(sys.argv[1])
for _ in range(30):
    small_flows.begin(store)
assert store.missing == "", store.missing
"""


def test_two_processes_that_write_at_once_miss_nothing(journal: Path, state: Path) -> None:
    """Each keeps what it wrote unless the other one has come further."""
    command = [sys.executable, "-c", WRITER, str(journal)]
    writers = [subprocess.Popen(command) for _ in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    (file,) = state.iterdir()
    with closing(open_store(journal)) as store:
        assert store.newest() == 124
        assert store.missing == ""
        small_flows.begin(store)
    assert file.read_text().startswith("126 ")


def test_a_server_restored_from_an_older_dump_is_noticed() -> None:
    """Numbers come again there, with other entries."""
    with databases.shared().schema() as address:
        with closing(open_store(address)) as store:
            small_flows.begin(store)
            small_flows.begin(store)
            assert store.keeper is not None
            assert store.keeper.read() is not None
            assert databases.QUOTED not in Path(store.keeper.path).read_text()
        databases.change(
            address,
            "DELETE FROM entry WHERE seq > 2",
            "DELETE FROM run WHERE number = 2",
            "UPDATE last SET runs = 1, id = (SELECT id FROM run), first = (SELECT first FROM run)",
            "SELECT setval('entry_seq_seq', 2)",
        )
        assert "older than what was seen here" in missing(address)
        with closing(open_store(address)) as store:
            small_flows.begin(store)
        assert "entry 4 is another one" in missing(address)


def test_what_is_carried_elsewhere_is_expected_later(store: Store) -> None:
    """The newest entry of a notice, a metric or an export; older and altered are told apart."""
    state = small_flows.begin(store)
    kept = store.anchor()
    small_flows.answer(store, state)
    assert verify(store, expect=kept).ok
    later = store.anchor()
    seq = int(later.partition("-")[0])
    (problem,) = verify(store, expect=f"{seq + 1}-{'0' * 64}").problems
    assert "older than the expected digest" in problem.text
    (problem,) = verify(store, expect=f"{seq}-{'0' * 64}").problems
    assert "is not what is there now" in problem.text
    assert driver.look(store, state.run).status == "waiting"
