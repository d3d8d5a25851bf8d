"""Every answer carries its own source, for ever, whatever is done to the answers beside it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from quandary.desk.timeline import events
from quandary.formats.markdown import parse
from quandary.journal import counts, progress, runs
from quandary.journal.entries import Answered, Body, Source, read_body
from quandary.journal.history import list_answers
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from quandary.journal.store import State, Store

OLD = Path(__file__).parent.parent / "journals" / "flows" / "decide-1.sql"
TREE = "## Decision: Step\n- [OK] Fine\n- [NO] Not yet\n- [CUT] Leave it out\n- [OTH] Other\n"
AGENT: dict[str, Any] = {"who": "agent", "through": "relay"}
PERSON: dict[str, Any] = {"who": "person", "through": "web", "by": "ada"}


def begin(store: Store, items: int = 3, origin: str | None = None, **more: object) -> State:
    """A few steps, asked about at once."""
    [tree] = parse(TREE).trees
    rows = [{"id": str(n), "label": f"S{n}", "title": f"Step {n}"} for n in range(1, items + 1)]
    arguments = {"context": "Three steps wait.", "items": rows, **more}
    documents = {"tree": msgspec.to_builtins(tree)}
    return runs.begin(store, "decide", arguments, documents=documents, origin=origin, **AGENT)


def picks(**codes: str) -> Reply:
    """A reply to some of them."""
    return Reply(tuple(Answer(f"{item.strip('_')}:", (code,)) for item, code in codes.items()))


def answered_by_an_agent(store: Store) -> State:
    """All three answered in one reply that an agent sent, and the second changed by a person."""
    state = runs.advance(store, begin(store).run, picks(_1="OK", _2="OK", _3="OK"), **AGENT)
    return runs.amend(store, state.run, picks(_2="NO"), key="2:", why="not so", **PERSON)


def sources(store: Store, run: str) -> dict[str, Source]:
    """Whose each answer of a run is."""
    return {a.answer.key: a.source for a in list_answers(run, store.entries(run))[1]}


def test_an_amendment_makes_nothing_else_a_persons(store: Store) -> None:
    """Who changes one answer of a batch has not given the others."""
    state = answered_by_an_agent(store)
    assert sources(store, state.run) == {
        "1:": Source("agent", "relay"),
        "2:": Source("person", "web", "ada"),
        "3:": Source("agent", "relay"),
    }
    chosen = state.result["chosenItems"]
    assert [one["path"] for one in chosen] == ["OK", "NO", "OK"]
    assert [one["by"] for one in chosen] == ["agent", "person", "agent"]
    assert [one["through"] for one in chosen] == ["relay", "web", "relay"]
    assert progress.rebuild(store, state.run).result == state.result
    assert verify(store).ok


def test_an_amendment_records_only_what_it_changes(store: Store) -> None:
    """What is sent along unchanged is not in it, and stays whose it was."""
    state = runs.advance(store, begin(store).run, picks(_1="OK", _2="OK", _3="OK"), **AGENT)
    whole = picks(_1="OK", _2="CUT", _3="OK")
    runs.amend(store, state.run, whole, key="1:", why="not so", **PERSON)
    body = store.entries(state.run, kinds=("answered",))[-1].read()
    assert isinstance(body, Answered)
    assert [answer.key for answer in body.answers] == ["2:"]
    assert [source.in_person for source in sources(store, state.run).values()] == [
        False,
        True,
        False,
    ]


def test_to_repeat_an_answer_makes_it_nobody_elses(store: Store) -> None:
    """An amendment that changes nothing upgrades nothing."""
    state = runs.advance(store, begin(store).run, picks(_1="OK", _2="OK", _3="OK"), **AGENT)
    state = runs.amend(store, state.run, picks(_1="OK"), key="1:", why="so it is", **PERSON)
    assert state.result["chosenItems"][0]["by"] == "agent"


def test_an_amendment_of_an_amendment_keeps_all_sources(store: Store) -> None:
    """The fold goes back through as many as there are."""
    state = answered_by_an_agent(store)
    state = runs.amend(store, state.run, picks(_3="CUT"), key="3:", why="no", **AGENT)
    assert [one["by"] for one in state.result["chosenItems"]] == ["agent", "person", "agent"]
    assert [one["path"] for one in state.result["chosenItems"]] == ["OK", "NO", "CUT"]


def test_a_run_with_answers_of_several_takes_each_over_as_whose_it_was(store: Store) -> None:
    """Through one further run and the next."""
    first = answered_by_an_agent(store)
    second = begin(store, origin=first.run)
    third = begin(store, origin=second.run)
    for state in (second, third):
        assert state.status == "done"
        assert [one["by"] for one in state.result["chosenItems"]] == ["agent", "person", "agent"]
        assert sources(store, state.run) == sources(store, first.run)
        (entry,) = store.entries(state.run, kinds=("answered",))
        assert not Body.source.fget(entry.read()).in_person  # type: ignore[attr-defined]  # a property
        assert progress.rebuild(store, state.run).result == state.result
    assert verify(store).ok


def test_a_log_says_of_each_answer_that_was_taken_over_whose_it_is(store: Store) -> None:
    """The entry holds answers of several."""
    state = begin(store, origin=answered_by_an_agent(store).run)
    (event,) = (event for event in events(store, state.run) if event.kind == "answered")
    assert event.source == "agent (relay)"
    assert "Step 1: Fine by agent (relay)" in event.text
    assert "Step 2: Not yet by ada (person, web)" in event.text


def test_statistics_count_each_answer_for_whoever_gave_it(store: Store) -> None:
    """One entry, two sources."""
    begin(store, origin=answered_by_an_agent(store).run)
    every = list(counts.occasions(store))
    assert [occasion.who for occasion in every[3:]] == ["agent", "person", "agent"]


def test_two_levels_of_one_path_name_both_hands(store: Store) -> None:
    """Who only chose the first half has not chosen the second, nor the other way round."""
    nested = "## Decision: Step\n- [OK] Fine\n- [NO] Not yet\n  - [RWK] Rework\n  - [CUT] Cut\n"
    documents = {"tree": msgspec.to_builtins(parse(nested).trees[0])}
    state = runs.begin(store, "decide", {"context": "One step."}, documents=documents, **AGENT)
    state = runs.advance(store, state.run, Reply((Answer(str(state.key), ("NO",)),)), **AGENT)
    state = runs.advance(store, state.run, Reply((Answer(str(state.key), ("CUT",)),)), **PERSON)
    (chosen,) = state.result["chosenItems"]
    assert (chosen["path"], chosen["by"], chosen["through"]) == (
        "NO/CUT",
        "agent, person",
        "relay, web",
    )


def test_advice_and_questions_are_no_hand_in_an_answer(store: Store) -> None:
    """An agent that explains something has decided nothing."""
    state = begin(store, 1)
    asked = Reply((Answer(str(state.key), prefix="question", argument="Why?"),))
    state = runs.advance(store, state.run, asked, **PERSON)
    state = runs.advance(store, state.run, Reply((Answer(str(state.key), advice="So."),)), **AGENT)
    state = runs.advance(store, state.run, Reply((Answer(str(state.key), ("OK",)),)), **PERSON)
    assert state.result["chosenItems"][0]["by"] == "person"


def test_in_journals_written_before_an_amendment_upgrades_nothing(tmp_path: Path) -> None:
    """There it repeats all answers of the batch; those that are equal stay the agent's."""
    path = tmp_path / "journal.db"
    db = sqlite3.connect(path)
    db.executescript(OLD.read_text(encoding="utf-8"))
    db.close()
    store = SqliteStore(path)
    [entry] = [
        entry
        for row in store.runs()
        for entry in store.entries(row.id, kinds=("answered",))
        if getattr(entry.read(), "amends", 0)
    ]
    body = entry.read()
    assert isinstance(body, Answered)
    assert len(body.answers) > 1
    told = sources(store, entry.run)
    assert [key for key, source in told.items() if source.in_person] == ["1.2:"]
    (event,) = (event for event in events(store, entry.run) if event.n == entry.n)
    assert "step 2" in event.text
    assert "step 1" not in event.text
    assert verify(store).ok
    store.close()


def test_what_a_hook_reported_was_never_a_persons_own() -> None:
    """Journals written before say so, and are read as what it was."""
    said = b'{"entry":"answered","at":"","who":"person","through":"hook","key":"1:","answers":[]}'
    assert read_body(said).source == Source("host", "hook")
    assert not Source("host", "hook").in_person
    assert not Source("host", "web").in_person


def test_no_name_looks_like_a_hand() -> None:
    """Whatever somebody calls themselves, the one pair of brackets says whose hand it was."""
    name = "ada (person, web)\n" + " " * 500
    assert Source("agent", "relay", name).told == "ada [person, web] (agent, relay)"
    told = Source("agent", "relay", "x" * 500).told
    assert (len(told) < 80, told.endswith("… (agent, relay)")) == (True, True)
