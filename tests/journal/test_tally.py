"""What happened, counted: the same figures whoever counts, and however many sittings it takes."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import databases
import small_flows
from quandary.errors import StoreError
from quandary.journal import entries as clock
from quandary.journal import replay, tally
from quandary.journal.entries import stamp
from quandary.journal.sqlite import MIGRATIONS
from quandary.journal.tally import MOST_NAMES, OTHER, Counting, Few, Tally
from quandary.model.call import Output

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.journal.store import Store

PERSON: dict[str, Any] = {"who": "person", "through": "web"}
LONG = 60.0


def errand(store: Store, *, error: str = "") -> str:
    """A run that asks agents for something."""
    state = small_flows.answer(store, small_flows.begin(store, "errand"))
    output = Output("1:/run", error=error)
    return replay.record_output(store, state.run, output, through="agent").run


def test_all_that_happened_is_counted(store: Store) -> None:
    """Answers by whose they are, calls and failures by agent, ends by outcome."""
    small_flows.answer(store, small_flows.begin(store, questions=1))
    replay.withdraw(store, small_flows.begin(store).run, "no need", **PERSON)
    errand(store)
    errand(store, error="no such program")
    counts, behind = Counting(store).up_to_now(LONG)
    assert behind == 0
    assert counts.begun == {"small": 4}
    assert counts.answers == {("person", "terminal"): 3}
    assert counts.ended == {"done": 1, "withdrawn": 1}
    assert counts.calls == {"claude": 8}
    assert counts.failures == {"claude": 1}
    assert counts.under_way == 6
    kinds = Counter(entry.kind for entry in store.history(limit=1000))
    assert counts.entries == kinds


def test_only_what_is_new_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it comes to the same as if all were counted at once."""
    counting = Counting(store)
    monkeypatch.setattr(tally, "PAGE", 3)
    pages: list[int] = []
    happened = store.happened

    def watched(*, after: int = 0, limit: int = 1000) -> list[tuple[int, str, bytes]]:
        pages.append(after)
        return happened(after=after, limit=limit)

    monkeypatch.setattr(store, "happened", watched)
    for _ in range(4):
        errand(store, error="no")
        counting.up_to_now(LONG)
    assert pages == sorted(set(pages))
    monkeypatch.setattr(store, "happened", happened)
    assert counting.up_to_now(LONG) == Counting(store).up_to_now(LONG)


def test_counting_in_pieces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is not through says so; the counts are told as they are by then."""
    small_flows.begin(store)
    counting = Counting(store)
    assert counting.up_to_now(-1).behind == store.newest() == 2
    monkeypatch.setattr(tally, "PAGE", 1)
    before = counting.up_to_now(LONG)
    assert before.behind == 0
    small_flows.begin(store)
    assert counting.up_to_now(LONG).counts.entries == {"began": 2, "asked": 2}
    assert before.counts.entries == {"began": 1, "asked": 1}


def test_an_entry_that_cannot_be_read_stops_nobody() -> None:
    """`verify` tells of it."""
    counted = Tally()
    counted.count([(1, "r", b"\xff"), (2, "r", b"[]"), (3, "r", b'{"entry": 3}'), (4, "r", b"{}")])
    assert counted.taken().entries == {OTHER: 4}


def test_calls_that_never_come_back_are_forgotten_with_their_run() -> None:
    """Nothing is kept of what is over."""
    counted = Tally()

    def said(entry: str, **more: object) -> bytes:
        return msgspec.json.encode({"entry": entry, **more})

    counted.count([(1, "r", said("called", key="a", agent="X"))])
    assert counted.taken().under_way == 1
    counted.count([(2, "r", said("ended", status="failed"))])
    counted.count([(3, "r", said("returned", key="a", ok=False))])
    assert (counted.taken().under_way, counted.taken().failures) == (0, {})
    assert counted._under_way == {}


def test_names_are_few_and_short() -> None:
    """A journal can hold anything, and every figure has to be kept by somebody."""
    few = Few()
    told = {few[f"agent-{number}"] for number in range(1000)}
    assert len(told) == MOST_NAMES + 1
    assert OTHER in told
    assert few["agent-0"] == "agent-0"
    assert {Few()[name] for name in ("", "a\nb", "x" * 100, '"', "-rf")} == {OTHER}


# -- what waits ----------------------------------------------------------------------------------


def test_what_waits_is_counted_by_who_flow_and_age(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits since just then counts as that old; what is over, or went on, does not."""
    start = clock.now()
    for minutes in (0, 5, 10):
        monkeypatch.setattr(clock, "now", lambda m=minutes: start + timedelta(minutes=m))
        small_flows.begin(store)
        small_flows.answer(store, small_flows.begin(store, questions=1))
    errand(store)
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


def test_a_schema_that_came_later(store: Store, path: Path | str) -> None:
    """A program that runs since before the upgrade says that it is too old."""
    if isinstance(path, str):
        databases.change(path, "UPDATE quandary SET version = version + 1")
    else:
        databases.change(path, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StoreError, match=r"another schema|newer Quandary"):
        store.require_ready()


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    """What is written now would be in no file."""
    from quandary.journal.sqlite import SqliteStore  # noqa: PLC0415 - only here

    store = SqliteStore(tmp_path / "lost.db")
    (tmp_path / "lost.db").unlink()
    with pytest.raises(StoreError, match="is gone"):
        store.require_ready()
    store.close()
