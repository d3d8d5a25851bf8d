"""What holds in every kind of store."""

from __future__ import annotations

import threading
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import small_flows
from quandary.errors import Rejected, StoreError
from quandary.journal import chance, runs
from quandary.journal.chance import stamp
from quandary.journal.entries import Noted, Source
from quandary.journal.history import Writer
from quandary.journal.sqlite import MIGRATIONS, SqliteStore
from quandary.journal.store import TABLES, Moved
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from journal.conftest import Place
    from quandary.journal.store import Row, Store


def test_a_document_is_kept_once(store: Store) -> None:
    """Runs with the same tree share it."""
    for _ in range(3):
        runs.begin(
            store,
            small_flows.NAME,
            {"kind": "empty"},
            documents={"tree": {"name": "PLAN", "options": ["OK"]}},
            who="agent",
            through="relay",
        )
    assert len(list(store.documents())) == 1


def test_runs_are_listed_page_by_page(store: Store) -> None:
    """In the order they began, either way round, by status and by project."""
    states = [small_flows.begin(store) for _ in range(5)]
    runs.withdraw(store, states[2].run, "no need", who="person", through="web")
    ids = [state.run for state in states]
    assert [run.id for run in store.runs()] == ids
    page = store.runs(limit=2)
    assert [run.id for run in store.runs(after=page[-1].number, limit=2)] == ids[2:4]
    assert [run.id for run in store.runs(newest=True, limit=2)] == [ids[4], ids[3]]
    assert [run.id for run in store.runs(newest=True, after=4, limit=2)] == [ids[2], ids[1]]
    assert [run.id for run in store.runs(status="withdrawn")] == [ids[2]]
    assert [run.id for run in store.runs(waits="person", project="here")] == ids[:2] + ids[3:]
    assert store.runs(project="elsewhere") == []


def test_history_tells_the_entries_of_all_runs_as_they_came(store: Store) -> None:
    """One order over everything."""
    one, two = small_flows.begin(store), small_flows.begin(store)
    small_flows.answer(store, one)
    told = [(entry.run, entry.n) for entry in store.history()]
    expected = [(one.run, 1), (one.run, 2), (two.run, 1), (two.run, 2), (one.run, 3), (one.run, 4)]
    assert expected == told
    assert store.history(after=5, limit=1)[0].seq == 6


def test_threads_may_share_a_store(store: Store) -> None:
    """Each transaction is one thread's at a time."""
    states = [small_flows.begin(store, questions=5) for _ in range(4)]

    def reply(number: int) -> None:
        state = states[number]
        while state.status == "waiting":
            state = small_flows.answer(store, state)
        states[number] = state

    threads = [threading.Thread(target=reply, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {state.status for state in states} == {"done"}
    assert verify(store).ok


def test_a_closed_store_says_so(store: Store) -> None:
    """Nothing is written to a store that was let go."""
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.runs()


def test_runs_that_begin_at_once_are_numbered_without_gaps(place: Place) -> None:
    """Each follows the one before it, whoever began it."""
    stores = [place.open() for _ in range(4)]

    def begin(store: Store) -> None:
        for _ in range(5):
            small_flows.begin(store)

    threads = [threading.Thread(target=begin, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [run.number for run in stores[0].runs()] == list(range(1, 21))
    assert verify(stores[0]).ok
    for store in stores:
        store.close()


def test_history_read_bit_by_bit_misses_nothing(place: Place) -> None:
    """Whoever asks for what came after the last entry they saw sees every entry, in order."""
    stores = [place.open() for _ in range(4)]
    reader = place.open()
    seen: list[tuple[str, int]] = []

    def write(store: Store) -> None:
        state = small_flows.begin(store, questions=15)
        while state.status == "waiting":
            state = small_flows.answer(store, state)

    threads = [threading.Thread(target=write, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    after = 0
    while any(thread.is_alive() for thread in threads) or after < reader.newest():
        for entry in reader.history(after=after):
            seen.append((entry.run, entry.n))
            after = entry.seq
    assert seen == [(entry.run, entry.n) for entry in reader.history()]
    assert len(seen) == sum(run.n for run in reader.runs())
    for store in (*stores, reader):
        store.close()


def test_who_has_not_seen_every_entry_appends_nothing(store: Store) -> None:
    """The count is the fence."""
    state = small_flows.begin(store)
    row = store.run(state.run)
    assert row is not None
    small_flows.answer(store, state)
    writer = Writer(row, Source("agent", "relay", ""))
    writer.add(Noted(kind="idle", **writer.said))
    with pytest.raises(Moved):
        writer.append(store)
    assert len(store.entries(state.run)) == 4


def test_an_entry_may_have_no_texts_at_all(store: Store) -> None:
    """Nor salt, nor seal."""
    state = small_flows.begin(store)
    row = store.run(state.run)
    assert row is not None
    writer = Writer(row, Source("agent", "relay", ""))
    writer.add(Noted(kind="idle", **writer.said))
    writer.append(store)
    entry = store.entries(state.run)[-1]
    assert (entry.matter, entry.salt, entry.seal) == (None, None, None)


def test_texts_of_any_script_and_length_are_kept(store: Store) -> None:
    """Nothing is folded, trimmed or reordered on the way."""
    words = "é \U0001f600 \u202e \\x00 %s $1 ' \" " + "long " * 20_000
    state = small_flows.begin(store, words={"1:": words})
    assert state.ask is not None
    found = runs.look(store, state.run).ask
    assert found is not None
    assert found.questions[0].text == words


def test_names_sort_byte_by_byte(store: Store) -> None:
    """In every store alike, whatever language its server speaks."""
    names = ["Z", "a", "_b", "é", "a\nb", "B", "~", "\U0001f600"]
    for name in names:
        runs.begin(
            store, small_flows.NAME, {"kind": "empty"}, who="agent", through="relay", name=name
        )
    assert list(store.named("", "\U0010ffff")) == sorted(names)
    assert list(store.named("Z", "a")) == ["Z", "_b", "a"]
    assert list(store.named("a")) == ["a"]


def test_the_newest_run_of_a_name_has_it_unless_it_was_to_be_had_once(store: Store) -> None:
    """Whoever wants to be the only one is told who was first."""

    def begin(*, once: bool) -> str:
        return runs.begin(
            store,
            small_flows.NAME,
            {"kind": "chain", "questions": 1},
            who="agent",
            through="relay",
            name="x",
            once=once,
        ).run

    first, second = begin(once=False), begin(once=False)
    assert first != second
    assert store.named("x") == {"x": second}
    assert begin(once=True) == second
    assert len(store.runs()) == 2


def test_a_snapshot_is_one_moment(store: Store, place: Place) -> None:
    """What others write meanwhile is seen afterwards."""
    other = place.open()
    small_flows.begin(store)
    with store.snapshot():
        assert store.newest() == 2
        small_flows.begin(other)
        assert (store.newest(), len(store.runs())) == (2, 1)
        with store.snapshot():
            assert len(store.history()) == 2
    assert (store.newest(), len(store.runs())) == (4, 2)
    other.close()


def test_news_come_soon_after_an_append(store: Store, place: Place) -> None:
    """From another process too, as far as the store can know."""
    other = place.open()
    news = other.news(0.3)
    assert any(islice(news, 3))
    small_flows.begin(store)
    assert any(islice(news, 3))
    other.close()


def test_a_filled_store_holds_just_what_was_dumped(store: Store, place: Place) -> None:
    """And goes on from there: the next run follows the last one."""
    done = small_flows.answer(store, small_flows.begin(store, questions=2))
    small_flows.answer(store, done)
    waiting = small_flows.begin(store)
    with store.snapshot():
        rows = {table: list(store.dump(table)) for table in TABLES}

    def dump(table: str) -> Iterator[Row]:
        return iter(rows[table])

    with pytest.raises(Rejected, match="not empty"):
        store.fill(dump, lambda: None)
    for table in TABLES:
        empty(place, table)
    seen: list[str] = []
    store.fill(dump, lambda: seen.append(verify(store).digest))
    with store.snapshot():
        assert {table: list(store.dump(table)) for table in TABLES} == rows
    assert seen == [verify(store).digest]
    small_flows.answer(store, waiting)
    small_flows.begin(store)
    assert verify(store).ok


def test_a_store_that_does_not_pass_its_check_stays_empty(store: Store, place: Place) -> None:
    """All or nothing."""
    small_flows.begin(store)
    with store.snapshot():
        rows = {table: list(store.dump(table)) for table in TABLES}
    for table in TABLES:
        empty(place, table)

    def refuse() -> None:
        assert store.newest() == 2
        raise Rejected("no")

    with pytest.raises(Rejected, match="no"):
        store.fill(lambda table: iter(rows[table]), refuse)
    assert store.last() is None
    assert store.runs() == []
    assert small_flows.begin(store).status == "waiting"
    assert verify(store, seen=False).ok


def test_texts_are_pruned_of_runs_that_are_over_and_as_they_were(store: Store) -> None:
    """The chain holds without them; a run that waits, or went on meanwhile, is left alone."""
    done = small_flows.answer(store, small_flows.begin(store, questions=1))
    waiting = small_flows.begin(store)
    over, still = store.run(done.run), store.run(waiting.run)
    assert over is not None
    assert still is not None
    wanted = [(over, [1, 2]), (still, [1]), (replace(over, n=over.n - 1), [4])]
    assert store.prune(wanted) == [over]
    assert [entry.pruned for entry in store.entries(done.run)] == [True, True, False, False]
    assert not any(entry.pruned for entry in store.entries(waiting.run))
    assert [entry.salt for entry in store.entries(done.run)[:2]] == [None, None]
    assert store.reclaim() >= 0
    assert {"no prune on record" in problem.text for problem in verify(store).problems} == {True}
    assert verify(store).pruned == 2


def test_a_run_that_was_pruned_is_not_taken_up_again(store: Store) -> None:
    """Whoever read it before that, to amend it, would leave a question that nobody can answer."""
    state = small_flows.answer(store, small_flows.begin(store, questions=1))
    row = store.require_run(state.run)
    assert store.prune([(row, (1, 2))]) == [row]
    writer = Writer(row, Source("person", "web"))
    writer.end("withdrawn", "late")
    with pytest.raises(Moved):
        writer.append(store)
    writer = Writer(row, Source("policy", "recovery"))
    writer.add(Noted(kind="recovered", **writer.said))
    assert writer.append(store).n == row.n + 1


def test_documents_are_forgotten_but_those_that_a_new_run_needs(store: Store) -> None:
    """What began while somebody counted is not taken from."""

    def begin(words: str) -> None:
        runs.begin(
            store,
            small_flows.NAME,
            {"kind": "empty"},
            documents={"words": words},
            who="agent",
            through="relay",
        )

    begin("old")
    seen, (old, *_) = store.newest(), store.documents()
    begin("new")
    digests = [digest for digest, _ in store.documents()]
    assert store.forget(digests, seen=seen) == 1
    assert [digest for digest, _ in store.documents()] == [d for d in digests if d != old[0]]
    assert store.forget([], seen=seen) == 0


def empty(place: Place, table: str) -> None:
    """As if nothing had ever been written to it."""
    if table == "last" and place.is_shared:
        place.change("UPDATE last SET id = '', first = '', runs = 0")
    else:
        place.change(f"DELETE FROM {table}")  # noqa: S608


# -- what waits ----------------------------------------------------------------------------------


def test_what_waits_is_counted_by_who_flow_and_age(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits since just then counts as that old; what is over, or went on, does not."""
    start = chance.now()
    for minutes in (0, 5, 10):
        monkeypatch.setattr(chance, "now", lambda m=minutes: start + timedelta(minutes=m))
        small_flows.begin(store)
        small_flows.answer(store, small_flows.begin(store, questions=1))
    small_flows.answer(store, small_flows.begin(store, "errand"))
    moments = [stamp(start + timedelta(minutes=minutes)) for minutes in (7, 5, -1)]
    found = {(one.waits, one.flow, one.age): one for one in store.awaited(moments)}
    assert {name: one.runs for name, one in found.items()} == {
        ("person", "small", 0): 1,
        ("person", "small", 2): 2,
        ("agent", "small", 0): 1,
    }
    assert found["person", "small", 2].oldest == stamp(start)
    assert sum(one.runs for one in store.awaited([])) == 4


# -- whether it can be used ----------------------------------------------------------------------


def test_a_store_that_is_ready(store: Store) -> None:
    """Says nothing."""
    store.require_ready()


def test_a_schema_that_came_later(store: Store, place: Place) -> None:
    """A program that runs since before the upgrade says that it is too old."""
    if place.is_shared:
        place.change("UPDATE quandary SET version = version + 1")
    else:
        place.change(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StoreError, match=r"another schema|newer Quandary"):
        store.require_ready()


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    """What is written now would be in no file."""
    store = SqliteStore(tmp_path / "lost.db")
    (tmp_path / "lost.db").unlink()
    with pytest.raises(StoreError, match="no longer exists"):
        store.require_ready()
    store.close()


def test_a_store_that_was_brought_to_another_schema_is_not_written_to(
    store: Store, place: Place
) -> None:
    """Whoever has it open meanwhile is told to start again; nothing of theirs gets in."""
    state = small_flows.begin(store)
    newer = "UPDATE quandary SET version = 99" if place.is_shared else "PRAGMA user_version = 99"
    place.change(newer)
    before = store.entries(state.run)
    for work in (
        store.require_ready,
        lambda: small_flows.begin(store),
        lambda: small_flows.answer(store, state),
    ):
        with pytest.raises(StoreError, match=r"another schema|newer Quandary"):
            work()
    assert store.entries(state.run) == before
