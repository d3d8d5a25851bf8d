"""Words are found in every run there is, by an index that those who search make and fill."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import pytest

import small_flows
from quandary.desk import begin as desk
from quandary.desk import timeline
from quandary.desk.authority import Caller
from quandary.desk.begin import Asking
from quandary.desk.timeline import search
from quandary.doors.web import inbox
from quandary.doors.web.inbox import Wanted as Desired
from quandary.doors.web.inbox import find_runs, list_inbox
from quandary.errors import StoreError
from quandary.journal import archive, backups, chance, open_store, runs
from quandary.journal import store as stores
from quandary.journal.entries import Source
from quandary.journal.verify import Wanted, verify
from quandary.model.asks import Note

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.journal.store import Store
    from quandary.journal.verify import Keep

SOURCE = Source("person", "terminal", "grace")


def begin(store: Store, context: str) -> str:
    """A run about something."""
    return small_flows.begin(store, questions=1, context=context).run


def done(store: Store, context: str, comment: str = "fine") -> str:
    """A run that is done, with a remark."""
    state = small_flows.begin(store, questions=1, context=context)
    return small_flows.answer(store, state, small_flows.pick("1:", "NO", comment=comment)).run


def prune(store: Store, keep: Keep = "answers") -> None:
    """Take out whatever there is."""
    archive.prune(store, Wanted("9999", keep), "", SOURCE, lambda _: None)
    store.reclaim()


def unindexed(store: Store, text: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is found where the index cannot be written."""

    def refuse(_: object) -> int:
        raise StoreError("read-only")

    with monkeypatch.context() as patch:
        patch.setattr(store, "index_words", refuse)
        return search(store, text)


def test_every_run_is_searched_however_many_came_after_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is made in pieces, each of which a person can see."""
    monkeypatch.setattr(stores, "_PIECE", 5)
    monkeypatch.setattr(stores, "_PAGE", 3)
    old = begin(store, "the zeppelin")
    for _ in range(12):
        begin(store, "something else")
    new = begin(store, "two zeppelins")
    seen: list[tuple[int, int, str]] = []
    assert search(store, "zeppelin", watch=lambda *told: seen.append(told)) == [new, old]
    assert len(seen) > 3
    assert seen[-1][0] <= seen[-1][1] == store.newest()
    assert len(search(store, "else")) == 12
    assert len(search(store, "else", limit=2)) == 2
    assert verify(store).ok


TEXTS = (
    *("caf", "CAFÉ", "é", "v2", "quo\"te it's", "100%_?", "ſtraße", "STRASSE", "日本", "本語の"),
    *("kubernetes café", "ernet", "fine café", "fine it's", "took nothing", "  ", "AND OR", "*"),
)


def test_the_index_finds_what_reading_every_run_finds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of words, short words, any case and any sign; all of them in one entry."""
    done(store, "Kubernetes in the Café v2: quo\"te it's")
    done(store, "100%_? Straße 日本語の and or *", comment="café")
    begin(store, "nothing")
    for text in TEXTS:
        assert (text, search(store, text)) == (text, unindexed(store, text, monkeypatch))


def test_a_run_that_went_on_is_found_by_what_was_said_since(store: Store) -> None:
    """Also where it was found before, and by what was said before."""
    state = small_flows.begin(store, questions=1, context="a zeppelin")
    assert search(store, "gasbag") == []
    small_flows.answer(store, state, small_flows.pick("1:", "NO", comment="a gasbag"))
    assert search(store, "gasbag") == search(store, "zeppelin") == [state.run]


def test_only_the_runs_of_a_project_are_found_in_it(store: Store) -> None:
    """Others have their own."""
    here = begin(store, "a zeppelin")
    given = {"kind": "chain", "questions": 1, "context": "a zeppelin"}
    begun = runs.begin(store, small_flows.NAME, given, project="there", who="api", through="http")
    there = begun.run
    assert search(store, "zeppelin", "here") == [here]
    assert search(store, "zeppelin") == [there, here]


def test_nobody_finds_what_was_pruned_and_all_else_is_found(store: Store) -> None:
    """What stays of a run is found by whoever searches next."""
    run = done(store, "a zeppelin", comment="gasbag")
    assert search(store, "zeppelin") == search(store, "gasbag") == [run]
    prune(store)
    assert search(store, "zeppelin") == []
    assert search(store, "gasbag") == [run]
    prune(store, "codes")
    assert search(store, "gasbag") == []
    assert run in search(store, "pruned")
    assert verify(store).ok


def test_a_store_is_copied_without_its_index(store: Store, tmp_path: Path) -> None:
    """Whoever searches there makes it."""
    run = done(store, "a zeppelin")
    assert search(store, "zeppelin") == [run]
    new = open_store(tmp_path / "new.db")
    assert backups.copy(store, new).digest == verify(store).digest
    assert search(new, "zeppelin") == [run]
    new.close()


def test_what_searchers_add_no_writer_waits_for(store: Store) -> None:
    """Runs are begun and answered without a look at the index."""
    search(store, "anything")
    names = [sql for sql in _statements(store) if "words" in sql or "indexed" in sql]
    assert names == []


def _statements(store: Store) -> list[str]:
    """What is said to a store while a run is begun and answered, as far as it can be heard."""
    heard: list[str] = []
    if (db := getattr(store, "_db", None)) is not None:
        db.set_trace_callback(heard.append)
    done(store, "something")
    if db is not None:
        db.set_trace_callback(None)
    return heard


def test_words_are_told_apart_by_blanks_alone() -> None:
    """So that a part of any of them is found."""
    assert timeline.words_in("One\u00a0TWO\0three-four") == ["one", "two", "three-four"]


@pytest.mark.parametrize("how", ["trigger", "table"])
def test_verify_knows_the_index_and_what_is_none_of_it(
    tmp_path: Path, how: Literal["trigger", "table"]
) -> None:
    """A program that knows of no index passes over it, and this one finds one that was changed."""
    with closing(open_store(tmp_path / "journal.db")) as store:
        done(store, "a zeppelin")
        search(store, "zeppelin")
        assert verify(store).ok
        with closing(sqlite3.connect(tmp_path / "journal.db")) as raw:
            if how == "table":
                raw.execute("DROP TABLE indexed")
                raw.execute("CREATE TABLE indexed (number, seq)")
            else:
                raw.execute("CREATE TRIGGER t AFTER INSERT ON indexed BEGIN SELECT 1; END")
        assert not verify(store).ok


def test_a_store_that_cannot_be_written_is_searched_all_the_same(tmp_path: Path) -> None:
    """With the index that it has, or without: what came after it is found too."""
    with closing(open_store(tmp_path / "journal.db")) as store:
        old = done(store, "a zeppelin")
        search(store, "zeppelin")
        new = done(store, "a zeppelin")
    with closing(open_store(tmp_path / "journal.db")) as store:
        store._rows("PRAGMA query_only = ON")
        assert search(store, "zeppelin") == [new, old]
        store._rows("PRAGMA query_only = OFF")
        assert search(store, "zeppelin") == [new, old]


def test_a_searcher_does_not_wait_for_whoever_writes(tmp_path: Path) -> None:
    """It reads every run itself when the file is held for longer than a moment."""
    with closing(open_store(tmp_path / "journal.db")) as store:
        run = done(store, "a zeppelin")
        with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as raw:
            raw.execute("BEGIN IMMEDIATE")
            assert search(store, "zeppelin") == [run]


def test_what_waits_is_found_at_once_and_what_was_decided_by_the_index(store: Store) -> None:
    """In either kind of store: by words, by project, and by who asked."""
    text = "## Decision: Size\n- [S] Small\n- [L] Large\n- [OTH] Other\n"
    asking = Asking(context="It is about the harbour.", text=text)
    agent = Caller("agent", "command", "bosun")
    waiting = desk.begin(store, agent, desk.decide(asking, desk.Showing()), desk.Showing()).run
    decided = done(store, "about the harbour too", "as the pilot said")
    begin(store, "about something else")
    found = list_inbox(store, Caller("person", "web"), Desired(q="harbour bosun"))
    assert [row.run.id for row in found.rows] == [waiting]
    assert found.rows[0].asker == "bosun"
    found = list_inbox(store, Caller("person", "web"), Desired(q="harbour"))
    assert [row.run.id for row in found.earlier] == [decided]
    assert [row.id for row in find_runs(store, ["pilot"], None, 10)[0]] == [decided]
    runs.note(store, waiting, Note("snoozed", ""), until="2999-01-01", **SOURCE._asdict())
    later = list_inbox(store, Caller("person", "web"), Desired())
    assert (len(later.rows), later.snoozed, later.due) == (1, 1, "2999-01-01")
    again = list_inbox(store, Caller("person", "web"), Desired(snoozed="1", order="newest"))
    assert [row.run.id for row in again.rows] == [waiting]


def test_a_list_leaves_out_nothing_by_a_clock_that_is_a_year_ahead(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing expires by it, so all of it still waits."""
    now = chance.now()
    given, expires = {"kind": "chain", "questions": 1}, now + timedelta(hours=1)
    said: dict[str, Any] = {"who": "agent", "through": "relay"}
    state = runs.begin(store, small_flows.NAME, given, expires=expires, **said)
    ahead = now + timedelta(days=365)
    monkeypatch.setattr(inbox, "now", lambda: ahead)
    monkeypatch.setattr(chance, "now", lambda: ahead)
    found = list_inbox(store, Caller("person", "web"), Desired())
    assert [row.run.id for row in found.rows] == [state.run]


def test_what_is_snoozed_is_counted_in_no_project(store: Store) -> None:
    """Whichever project is looked at, the others' snoozed questions are not among what waits."""
    given, said = {"kind": "chain", "questions": 1}, {"who": "agent", "through": "relay"}
    waiting = [
        runs.begin(store, small_flows.NAME, given, project=project, **said).run  # type: ignore[arg-type]
        for project in ("/a", "/b", "/b")
    ]
    runs.note(store, waiting[1], Note("snoozed", ""), until="2999-01-01", **SOURCE._asdict())
    wanted = (Desired(), Desired("/a"), Desired("/b"), Desired(snoozed="1"))
    found = [list_inbox(store, Caller("person", "web"), one) for one in wanted]
    assert [(one.counted, one.snoozed, one.projects) for one in found] == [
        ("2", 1, {"/a": 1, "/b": 1}),
        ("1 of 2", 0, {"/a": 1, "/b": 1}),
        ("1 of 2", 1, {"/a": 1, "/b": 1}),
        ("1", 1, {"/a": 1, "/b": 1}),
    ]
