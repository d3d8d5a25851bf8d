"""Answers from elsewhere: one record of a question, whatever became of it here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from quandary.errors import NotFound, Rejected
from quandary.journal import runs
from quandary.journal.runs import answer_of, settle
from quandary.journal.verify import verify
from small_flows import answer, begin, pick

if TYPE_CHECKING:
    from quandary.journal.runs import Said
    from quandary.journal.store import State, Store
    from quandary.model.asks import Reply


PERSON: Said = {"who": "person", "through": "web"}


def settled(store: Store, state: State, reply: Reply) -> State:
    """The host tells what the person answered in its box."""
    return settle(store, state.run, reply, why="elsewhere", who="host", through="hook")


def kinds(store: Store, state: State) -> list[str]:
    """What happened to a run."""
    return [entry.kind for entry in store.entries(state.run)]


def test_a_waiting_run_goes_on(store: Store) -> None:
    """Also where only a person may answer here: that is a rule for our own doors."""
    state = begin(store, questions=2, require="person")
    with pytest.raises(Rejected):
        runs.advance(store, state.run, pick(state.key), who="host", through="hook")
    after = settled(store, state, pick(state.key))
    assert (after.status, after.key) == ("waiting", "2:")
    assert runs.look(store, state.run) == after


def test_a_withdrawn_run_is_closed_by_its_answer(store: Store) -> None:
    """The withdrawal stays in the journal, and the answer counts."""
    state = begin(store, questions=1)
    runs.withdraw(store, state.run, "too late", who="agent", through="hook")
    after = settled(store, state, pick(state.key, "NO"))
    assert (after.status, after.result["chosen"][0][1]) == ("done", "NO")
    assert kinds(store, state) == ["began", "asked", "ended", "answered", "ended"]
    assert runs.look(store, state.run) == after
    assert verify(store).ok


def test_an_answer_that_was_given_here_gives_way(store: Store) -> None:
    """The earlier one is kept; the run is verified and replayed with the later one."""
    state = answer(store, begin(store, questions=1, require="person"))
    assert state.status == "done"
    after = settled(store, state, pick("1:", "NO"))
    assert (after.status, after.result["chosen"][0][1]) == ("done", "NO")
    assert kinds(store, state) == ["began", "asked", "answered", "ended", "answered", "ended"]
    assert verify(store).ok
    found = answer_of(store, state.run)
    assert found is not None
    assert (found[0].through, found[1].picked) == ("hook", ("NO",))


def test_what_is_reported_twice_is_recorded_once(store: Store) -> None:
    """Two reports of one answer may come at the same moment, each before the other is seen."""
    state = begin(store, questions=1)
    first = settled(store, state, pick(state.key))
    assert settled(store, state, pick("1:")) == first
    assert kinds(store, state) == ["began", "asked", "answered", "ended"]


def test_a_report_counts_though_its_question_is_undone_and_over_at_that_moment(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was answered in a host's box is kept, whatever happens here while it is recorded."""
    state = answer(store, begin(store, questions=1))
    amend = runs.amend

    def undo_before(*given: Any, **more: Any) -> State:  # noqa: ANN401 - as amend takes it
        monkeypatch.setattr(runs, "amend", amend)
        undone = runs.undo(store, state.run, **PERSON)
        runs.withdraw(store, undone.run, "its time is up", who="agent", through="hook")
        return amend(*given, **more)

    monkeypatch.setattr(runs, "amend", undo_before)
    after = settled(store, state, pick("1:", "NO"))
    assert (after.status, after.result["chosen"][0][1]) == ("done", "NO")
    assert verify(store).ok


@pytest.mark.parametrize("answered", [False, True])
def test_what_was_undone_here_is_settled_under_its_new_key(store: Store, answered: bool) -> None:
    """A host knows nothing of that: it reports the question as it asked it."""
    state = answer(store, begin(store, questions=1))
    undone = runs.undo(store, state.run, **PERSON)
    assert undone.key != "1:"
    if answered:
        answer(store, undone)
    after = settled(store, state, pick("1:", "NO"))
    assert (after.status, after.result["chosen"][0][1]) == ("done", "NO")
    assert settled(store, state, pick("1:", "NO")).n == after.n
    assert verify(store).ok


def test_what_was_not_offered_is_refused(store: Store) -> None:
    """Nothing changes then, nor for a run that is not there."""
    state = begin(store, questions=1)
    before = store.newest()
    with pytest.raises(Rejected, match="not offered"):
        settled(store, state, pick(state.key, "ELSE"))
    with pytest.raises(NotFound):
        settle(store, "01X", pick("1:"), why="", who="host", through="hook")
    assert store.newest() == before


def test_a_run_without_an_answer_has_none(store: Store) -> None:
    """Whether it waits or was given up."""
    state = begin(store, questions=1)
    assert answer_of(store, state.run) is None
    runs.withdraw(store, state.run, "too late", who="agent", through="hook")
    assert answer_of(store, state.run) is None
