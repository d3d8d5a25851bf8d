"""Moves along a track as the journal tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quandary.desk import phases
from quandary.formats.tracks import Passage
from quandary.journal import runs
from quandary.journal.entries import Source
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply
from quandary.model.calls import Do, Done
from quandary.model.track import Move

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.entries import Who
    from quandary.journal.store import State, Store

TRACK = {
    "phases": [{"label": "1"}, {"label": "2", "gate": False}, {"label": "3"}],
    "current": {"label": "1"},
}


@pytest.fixture
def store() -> Iterator[Store]:
    """A new store."""
    store = SqliteStore(":memory:")
    yield store
    store.close()


def done(deed: Do) -> Done:
    """A house in which everything works."""
    return Done(deed.key, text="{}")


def gated(store: Store, who: Who, through: str, folder: str = "/t", at: str = "1") -> State:
    """A gate that somebody passed."""
    track = {**TRACK, "current": next(p for p in TRACK["phases"] if p["label"] == at)}  # type: ignore[index]  # a list
    terms = {"folder": folder, "track": track, "seen": 4}
    state = runs.begin(store, "gate", terms, who="agent", through="command")
    if state.deed is None:
        reply = Reply((Answer(str(state.key), ("PRC",)),))
        return runs.advance(store, state.run, reply, who=who, through=through, deeds=done)
    return runs.advance(store, state.run, who=who, through=through, deeds=done)


def moved(store: Store, approval: str = "", folder: str = "/t", *, whole: bool = True) -> State:
    """A move that somebody made with a command."""
    told = {"folder": folder, "from": "1", "to": "2", "approval": approval}
    return runs.begin(
        store,
        "phase",
        told,
        who="agent",
        through="command",
        by="ada",
        deeds=done if whole else None,
    )


def let_pass(store: Store, run: str, phase: str, folder: str = "/t") -> tuple[str, str, str] | None:
    """Who let the move of a run pass, as far as the journal says so."""
    source, journalled = phases.who_let_pass(store, folder, Passage(phase, "", "", run=run))
    return source if journalled else None


def test_who_chose_a_move(store: Store) -> None:
    """The entry that ordered the move has the word of whoever answered."""
    run = gated(store, "person", "web").run
    wanted = Move("/t", "1", "2: By any name", 4)
    chosen = phases.choice_of(store, run, wanted)
    assert chosen is not None
    assert chosen.source == Source("person", "web", "")
    assert chosen.source.in_person
    for other in (
        Move("/u", "1", "2", 4),
        Move("/t", "2", "2", 4),
        Move("/t", "1", "3", 4),
        Move("/t", "1", "2", 5),
        Move("/t", "1", "2", 4, finish=True),
    ):
        assert phases.choice_of(store, run, other) is None


@pytest.mark.parametrize(
    ("who", "through", "own"),
    [
        ("person", "terminal", True),
        ("person", "web", True),
        ("person", "relay", False),
        ("agent", "terminal", False),
        ("policy", "web", False),
        ("api", "answers", False),
    ],
)
def test_a_person_in_person(who: Who, through: str, own: bool) -> None:
    """Only a person's own hand, at a terminal or in a browser."""
    assert Source(who, through, "").in_person is own


def test_who_let_a_move_pass(store: Store) -> None:
    """The one who answered, the one who gave the command, or the track's own policy."""
    person = gated(store, "person", "terminal").run
    assert let_pass(store, person, "2") == Source("person", "terminal", "")
    assert let_pass(store, person, "3") is None
    assert let_pass(store, gated(store, "agent", "relay").run, "2") == Source("agent", "relay", "")
    policy = gated(store, "agent", "command", at="2").run
    assert let_pass(store, policy, "3") == Source("policy", "track", "")
    command = moved(store).run
    assert let_pass(store, command, "2") == Source("agent", "command", "ada")
    assert let_pass(store, command, "3") is None
    granted = moved(store, approval=person).run
    assert let_pass(store, granted, "2") == Source("person", "terminal", "")
    assert let_pass(store, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "2") is None
    for run in (
        person,
        command,
        granted,
    ):  # what happened to another track says nothing of this one
        assert let_pass(store, run, "2", "/u") is None


def test_what_was_interrupted(store: Store) -> None:
    """Runs of this folder that wait for the house, and no others."""
    moved(store)
    gated(store, "agent", "relay")
    wait = moved(store, whole=False)
    moved(store, folder="/elsewhere", whole=False)
    assert [row.id for row in phases.unfinished_runs(store, "/t")] == [wait.run]
