"""Nothing in a journal can be changed, moved, cut short or removed unseen."""

from __future__ import annotations

import sqlite3
import tracemalloc
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import databases
import small_flows
from quandary.errors import NotFound
from quandary.journal import archive, policy
from quandary.journal import runs as driver
from quandary.journal.entries import Source
from quandary.journal.sqlite import SqliteStore
from quandary.journal.store import Run
from quandary.journal.verify import Wanted, verify
from quandary.model.asks import Answer, Outcome, Reply
from quandary.model.calls import Done, Output

if TYPE_CHECKING:
    from pathlib import Path

    from journal.conftest import Place
    from quandary.journal.store import Store


@pytest.fixture
def runs(store: Store) -> list[str]:
    """Three runs: one done, one that waits, one withdrawn."""
    first = small_flows.begin(store, questions=2)
    state = small_flows.answer(store, first, small_flows.pick("1:", "OK", comment="fine by me"))
    second = small_flows.begin(store)
    small_flows.answer(store, state, "NO")
    small_flows.answer(store, second, Reply((Answer("1:", text="my own", raw="my own"),)))
    third = driver.begin(
        store,
        small_flows.NAME,
        {"kind": "chain", "questions": 1},
        documents={"words": {"1:": "Shall we?"}},
        who="agent",
        through="relay",
    )
    driver.withdraw(store, third.run, "no need", who="person", through="web", by="ada")
    return [first.run, second.run, third.run]


IN_RUN = {
    "@1": "run = (SELECT id FROM run WHERE number = 1)",
    "@2": "run = (SELECT id FROM run WHERE number = 2)",
    "@3": "run = (SELECT id FROM run WHERE number = 3)",
}
"""How the statements below name the entries of a run."""


def changed(column: str, old: str, new: str) -> str:
    """A statement that changes a few letters of the first run's first answer."""
    text = f"replace(CAST({column} AS TEXT), '{old}', '{new}')"
    return f"UPDATE entry SET {column} = CAST({text} AS BLOB) WHERE @1 AND n = 3"  # noqa: S608


BLANK = "UPDATE entry SET matter = NULL, salt = NULL WHERE seal IS NOT NULL AND "
"""What a prune does to an entry."""

TAMPERINGS = {
    "a byte of a body": [changed("body", '"OK"', '"NO"')],
    "who answered": [changed("body", "person", "policy")],
    "a byte of a matter": [changed("matter", "fine", "hate")],
    "a salt": ["UPDATE entry SET salt = randomblob(16) WHERE @1 AND n = 3"],
    "a seal": ["UPDATE entry SET seal = randomblob(32) WHERE @1 AND n = 3"],
    "matter, salt and seal removed": [
        "UPDATE entry SET matter = NULL, salt = NULL, seal = NULL WHERE @1 AND n = 3"
    ],
    "matter where there was none": [
        "UPDATE entry SET matter = CAST('{}' AS BLOB) WHERE @1 AND n = 5"
    ],
    "a digest": ["UPDATE entry SET digest = randomblob(32) WHERE @1 AND n = 4"],
    "a kind": ["UPDATE entry SET kind = 'noted' WHERE @1 AND n = 3"],
    "an entry removed": ["DELETE FROM entry WHERE @1 AND n = 3"],
    "an entry removed and the rest moved up": [
        "DELETE FROM entry WHERE @1 AND n = 3",
        "UPDATE entry SET n = -n WHERE @1 AND n > 3",
        "UPDATE entry SET n = -n - 1 WHERE @1 AND n < 0",
        "UPDATE run SET n = n - 1 WHERE number = 1",
    ],
    "the first entry removed": ["DELETE FROM entry WHERE @1 AND n = 1"],
    "a tail removed": ["DELETE FROM entry WHERE @1 AND n > 3"],
    "a tail removed, and its count": [
        "DELETE FROM entry WHERE @1 AND n > 3",
        "UPDATE run SET n = 3 WHERE number = 1",
    ],
    "all entries of a run removed": ["DELETE FROM entry WHERE @1"],
    "two entries swapped": [
        "UPDATE entry SET n = -4 WHERE @1 AND n = 4",
        "UPDATE entry SET n = 4 WHERE @1 AND n = 2",
        "UPDATE entry SET n = 2 WHERE @1 AND n = -4",
    ],
    "the order of writing changed": [
        "UPDATE entry SET seq = -1 WHERE @1 AND n = 4",
    ],
    "an entry moved to another run": [
        "DELETE FROM entry WHERE @2 AND n = 3",
        "UPDATE entry SET run = (SELECT id FROM run WHERE number = 2) WHERE @1 AND n = 3",
    ],
    "a run removed": ["DELETE FROM entry WHERE @2", "DELETE FROM run WHERE number = 2"],
    "the first run removed": [
        "DELETE FROM entry WHERE @1",
        "DELETE FROM run WHERE number = 1",
    ],
    "a run removed and the rest renumbered": [
        "DELETE FROM entry WHERE @2",
        "DELETE FROM run WHERE number = 2",
        "UPDATE run SET number = 2 WHERE number = 3",
        "UPDATE last SET runs = 2",
    ],
    "the newest run removed": [
        "DELETE FROM entry WHERE @3",
        "DELETE FROM run WHERE number = 3",
    ],
    "only the row of a run removed": ["DELETE FROM run WHERE number = 2"],
    "everything removed": ["DELETE FROM entry", "DELETE FROM run"],
    "two runs swapped": [
        "UPDATE run SET number = 9 WHERE number = 1",
        "UPDATE run SET number = 1 WHERE number = 2",
        "UPDATE run SET number = 2 WHERE number = 9",
    ],
    "a head": ["UPDATE run SET head = randomblob(32) WHERE number = 2"],
    "a first digest": ["UPDATE run SET first = randomblob(32) WHERE number = 2"],
    "a status": ["UPDATE run SET status = 'done', waits = NULL WHERE number = 2"],
    "a waiting key": ["UPDATE run SET key = '9:' WHERE number = 2"],
    "a project": ["UPDATE run SET project = 'elsewhere' WHERE number = 2"],
    "a run put off": ["UPDATE run SET expires = '2099' WHERE number = 2"],
    "a document": ["UPDATE document SET written = CAST('{}' AS BLOB)"],
    "a document removed": ["DELETE FROM document"],
    "all that waits for a person": ["UPDATE run SET waits = 'agent'"],
    "the newest run as the store remembers it": ["UPDATE last SET id = 'another'"],
    "a run emptied with care": [
        "DELETE FROM entry WHERE @2",
        "UPDATE run SET n = 0 WHERE number = 2",
    ],
    "texts of a run that is over blanked": [BLANK + "@1"],
    "a text of a run that waits blanked": [BLANK + "@2 AND n = 2"],
    "a text blanked and its salt left": ["UPDATE entry SET matter = NULL WHERE @1 AND n = 3"],
    "a body that is no JSON": ["UPDATE entry SET body = X'FF00' WHERE @1 AND n = 2"],
}


def tamper(place: Place, statements: list[str]) -> None:
    """Change it behind the store's back."""
    for name, rows in IN_RUN.items():
        statements = [statement.replace(name, rows) for statement in statements]
    assert place.change(*statements)


def test_an_untouched_journal_verifies(store: Store, runs: list[str]) -> None:
    """The whole of it, and each run."""
    report = verify(store)
    assert report.ok
    assert (report.runs, report.entries, report.pruned) == (3, 13, 0)
    assert all(verify(store, run).ok for run in runs)
    assert {verify(store, run).digest for run in runs} == {report.digest}


def test_an_empty_journal_verifies(store: Store) -> None:
    """There is nothing to find."""
    assert verify(store).ok
    assert verify(store, expect=verify(store).digest).ok


@pytest.mark.parametrize("what", TAMPERINGS)
def test_every_tampering_is_found(store: Store, place: Place, runs: list[str], what: str) -> None:
    """And a problem says in words what it is, with the run where there is one."""
    tamper(place, TAMPERINGS[what])
    report = verify(store)
    assert not report.ok, runs
    assert all(problem.text for problem in report.problems)


ROW = {
    "flow": "'other'",
    "version": "version + 1",
    "project": "'elsewhere'",
    "status": "'failed'",
    "waits": "'house'",
    "key": "'9:'",
    "asked": "asked + 1",
    "n": "n + 1",
    "first": "head",
    "head": "first",
    "began": "'2020-01-01'",
    "since": "'2020-01-01'",
    "expires": "'2099-01-01'",
    "number": "number + 10",
    "id": "lower(id)",
}


@pytest.mark.parametrize("column", Run.__struct_fields__)
def test_every_column_of_a_run_is_checked(
    store: Store, place: Place, runs: list[str], column: str
) -> None:
    """Whatever it says, the entries have to say too."""
    tamper(place, [f"UPDATE run SET {column} = {ROW[column]} WHERE number = 2"])  # noqa: S608
    assert not verify(store).ok, runs


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE name SET run = (SELECT id FROM run WHERE number = 5)",
        "UPDATE name SET run = (SELECT id FROM run WHERE number = 1)",
        "UPDATE name SET name = 'another'",
        "DELETE FROM name",
    ],
)
def test_a_name_leads_to_the_newest_run_that_has_it(
    store: Store, place: Place, runs: list[str], statement: str
) -> None:
    """A preference is found by its name: an older one must not come back, nor one be lost."""
    for preference in ("always-ask", "never-ask"):
        policy.set_preference(
            store, "a", preference, scope="", origin="user", who="person", through="web"
        )
    ended = small_flows.begin(store, "empty")
    assert verify(store).ok, (runs, ended)
    tamper(place, [statement.replace("number = 5", "number = 4")])
    assert not verify(store).ok


def test_a_trigger_or_an_index_that_hides_rows_is_found(tmp_path: Path) -> None:
    """The rows are as they were, and lists that are read through the index are empty."""
    place = tmp_path / "journal.db"
    with closing(SqliteStore(place)) as store:
        small_flows.begin(store)
    index = "UPDATE sqlite_master SET sql = replace(sql, '{}', '{}') WHERE name = 'run_waits'"
    usual, none = "WHERE waits IS NOT NULL", "WHERE waits = 'nobody'"
    for statement in (
        index.format(usual, none.replace("'", "''")),
        "",
        index.format(none.replace("'", "''"), usual),
    ):
        with closing(sqlite3.connect(place, isolation_level=None)) as db:
            db.execute("PRAGMA writable_schema = ON")
            db.execute(statement or "REINDEX run_waits")
    with closing(SqliteStore(place)) as store:
        assert driver.inbox(store) == []
        (problem,) = verify(store).problems
        assert "run and its indexes" in problem.text
        databases.change(place, "REINDEX run_waits")
        assert verify(store).ok
        trigger = "CREATE TRIGGER quiet AFTER INSERT ON run BEGIN UPDATE run SET waits = NULL; END"
        databases.change(place, trigger)
        (problem,) = verify(store).problems
        assert "quiet" in problem.text


def test_a_table_that_drops_what_is_written_is_found(tmp_path: Path) -> None:
    """A definition can do what a trigger does, before anything is missing."""
    place = tmp_path / "journal.db"
    with closing(SqliteStore(place)) as store:
        small_flows.begin(store)
        assert verify(store).ok
    column = "quiet INT AS (nullif(name LIKE ''prefer%'', 1)) NOT NULL ON CONFLICT IGNORE"
    with closing(sqlite3.connect(place, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(
            f"UPDATE sqlite_master SET sql = replace(sql, ') STRICT', ', {column}) STRICT') "  # noqa: S608
            "WHERE name = 'name'"
        )
    with closing(SqliteStore(place)) as store:
        [problem] = verify(store).problems
        assert "the table name is defined otherwise" in problem.text


def test_memory_does_not_grow_with_the_store(tmp_path: Path) -> None:
    """It is read in pieces, however many runs there are."""
    peaks = []
    with closing(SqliteStore(tmp_path / "journal.db")) as store:
        store._rows("PRAGMA synchronous = OFF")
        for runs in (500, 700):
            for _ in range(runs):
                small_flows.begin(store)
            tracemalloc.start()
            assert verify(store).ok
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_a_text_is_gone_only_where_a_prune_on_record_took_it(
    store: Store, place: Place, runs: list[str]
) -> None:
    """What it left has to be there, whether or not another one would have taken it."""
    archive.prune(store, Wanted("9999"), "", Source("person", "terminal", ""), lambda _: None)
    assert verify(store).pruned > 0
    assert verify(store).ok
    tamper(place, [BLANK + "@1 AND kind = 'answered'"])
    (problem,) = verify(store).problems
    assert (problem.run, "on record" in problem.text) == (runs[0], True)
    assert not verify(store, runs[0]).ok
    codes = Wanted("9999", "codes")
    archive.prune(store, codes, "", Source("person", "terminal", ""), lambda _: None)
    assert verify(store).ok
    tamper(place, [BLANK + "run IN (SELECT id FROM run WHERE flow = 'prune')"])  # noqa: S608
    assert {"no prune does" in problem.text for problem in verify(store).problems} >= {True}


def test_a_prune_of_one_project_explains_no_other(
    store: Store, place: Place, runs: list[str]
) -> None:
    """Nor one of what ended before."""
    for wanted in (Wanted("9999", "codes", "/elsewhere"), Wanted("2001", "codes")):
        archive.prune(store, wanted, "", Source("person", "terminal", ""), lambda _: None)
    tamper(place, [BLANK + "@1 AND n = 1"])
    (problem,) = verify(store).problems
    assert (problem.run, problem.n) == (runs[0], 1)


def test_a_changed_run_is_named(store: Store, place: Place, runs: list[str]) -> None:
    """The run, the number of the entry; the other runs verify."""
    tamper(place, TAMPERINGS["a byte of a matter"])
    (problem,) = verify(store).problems
    assert (problem.run, problem.n) == (runs[0], 3)
    assert "matter" in problem.text
    assert not verify(store, runs[0]).ok
    assert verify(store, runs[1]).ok


def test_a_tail_cut_off_with_care_is_found_by_the_stores_digest(
    store: Store, place: Place, runs: list[str]
) -> None:
    """Whoever also rewrites the row leaves a journal that verifies, but not as the one it was."""
    digest = verify(store).digest
    since = store.entries(runs[1])[1].read().at
    tamper(
        place,
        [
            "DELETE FROM entry WHERE @2 AND n > 2",
            f"UPDATE run SET since = '{since}' WHERE number = 2",  # noqa: S608 - a date of ours
            """UPDATE run SET n = 2, key = '1:', asked = 2,
                head = (SELECT digest FROM entry WHERE @2 AND n = 2) WHERE number = 2""",
        ],
    )
    assert verify(store, seen=False).ok
    report = verify(store, expect=digest)
    assert not report.ok
    assert "expected" in report.problems[-1].text


def test_a_digest_from_before_still_holds_when_the_journal_has_grown(
    store: Store, runs: list[str]
) -> None:
    """It names its moment, and the journal is brought back to it."""
    digest = verify(store).digest
    small_flows.answer(store, driver.look(store, runs[1]))
    small_flows.begin(store)
    report = verify(store, expect=digest)
    assert report.ok
    assert report.digest != digest
    assert verify(store, runs[0], expect=digest).ok


@pytest.mark.parametrize("expect", ["", "abc", "12-abc", "9" * 64, f"12-{'0' * 64}"])
def test_a_wrong_digest_is_a_problem(store: Store, runs: list[str], expect: str) -> None:
    """Also one that is no digest at all."""
    assert runs
    assert not verify(store, expect=expect).ok


def test_an_unknown_run_cannot_be_verified(store: Store) -> None:
    """It is said, rather than taken for well."""
    with pytest.raises(NotFound):
        verify(store, "0" * 26)


def test_the_row_is_checked_against_everything_that_can_happen(store: Store) -> None:
    """Calls, deeds, notes, amendments, declines and failures all leave a journal that verifies."""
    state = small_flows.begin(store, "errand")
    driver.note(store, state.run, Outcome("idle"), who="agent", through="relay")
    state = small_flows.answer(store, state)
    state = driver.advance(store, state.run, Output("1:/run"), who="agent", through="worker")
    for number in (3, 1, 2):
        assert verify(store).ok
        output = Output(f"1:/vote-{number}")
        state = driver.advance(store, state.run, output, who="agent", through="worker")
    assert verify(store).ok
    state = driver.advance(
        store,
        state.run,
        who="agent",
        through="relay",
        deeds=lambda do: Done(do.key, "text"),
    )
    small_flows.answer(store, state)
    reply = small_flows.pick("1:", "NO")
    driver.amend(store, state.run, reply, key="1:", why="oh", who="person", through="web")
    failed = small_flows.begin(store)
    small_flows.answer(store, failed, Reply((Answer("1:", text="fail"),)))
    declined = small_flows.begin(store)
    driver.note(store, declined.run, Outcome("declined"), who="person", through="web")
    small_flows.begin(store, "empty")
    assert verify(store).ok
