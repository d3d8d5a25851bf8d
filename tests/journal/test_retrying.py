"""A failed run tried anew: at its step, append-only, and as often as somebody wants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import small_flows
import walks
from quandary.desk.timeline import given_answers
from quandary.errors import Rejected
from quandary.journal import chance, runs
from quandary.journal.entries import Noted
from quandary.journal.progress import rebuild
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply
from quandary.model.chart import Chart, Page, Route, Step
from quandary.reports.retelling import retell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quandary.journal.store import State
    from quandary.model.calls import Call, Output


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store of its own."""
    opened = SqliteStore(tmp_path / "journal.db")
    yield opened
    opened.close()


def retried(store: SqliteStore, run: str, **source: Any) -> State:  # noqa: ANN401 - who and through
    """Try it anew; afterwards the journal has to be sound and say the same."""
    before = [entry.digest for entry in store.entries(run)]
    state = runs.retry(store, run, **({"who": "person", "through": "web", "by": "ada"} | source))
    assert [entry.digest for entry in store.entries(run)][: len(before)] == before
    assert verify(store).problems == ()
    return state


def failing(store: SqliteStore, chart: Chart = walks.RELEASE, **arguments: Any) -> State:  # noqa: ANN401
    """A run whose agents do nothing."""
    state = walks.begin(store, chart, **arguments)
    while state.calls:
        state = walks.send(store, state, walks.failed(state.calls[0]))
    assert state.status == "failed"
    return state


def test_a_failed_step_is_tried_from_its_beginning(store: SqliteStore) -> None:
    """With all its attempts; what came of it before is kept and no longer counts."""
    state = failing(store)
    again = retried(store, state.run)
    assert (again.status, [call.key for call in again.calls]) == ("waiting", ["Sbuild@1/run~a1"])
    assert "Feedback" not in again.calls[0].prompt
    ended = walks.answer(store, walks.go(store, again), "SHIP-IT")
    assert ended.status == "done"
    assert [step["attempts"] for step in ended.result["steps"]] == [1, 1, 1]
    story = retell(store, state.run).story
    assert [exchange.key for exchange in story.taken_back] == ["Sbuild@1/run", "Sbuild@1/retry-1"]
    assert [len(stop.attempts) for stop in story.stops] == [0, 1, 1, 1, 0]
    assert story.outcome == "completed"


def test_who_had_it_tried_anew_is_in_the_journal(store: SqliteStore) -> None:
    """As a note, with the keys that it takes back."""
    state = failing(store)
    retried(store, state.run)
    notes = [entry.read() for entry in store.entries(state.run, kinds=("noted",))]
    (note,) = [body for body in notes if isinstance(body, Noted)]
    assert (note.kind, note.who, note.through, note.by) == ("retried", "person", "web", "ada")
    assert note.takes_back == ("Sbuild@1/run", "Sbuild@1/retry-1")


def test_steps_that_were_done_stay_done(store: SqliteStore) -> None:
    """Only the step that failed is asked for again, after a loop too."""
    state = walks.begin(store)
    for output in (walks.did, walks.judged):
        state = walks.send(store, state, output(state.calls[0]))
    state = walks.send(store, state, walks.chose(state.calls[0], "no"))
    state = walks.send(store, state, walks.did(state.calls[0]))
    while state.calls:
        state = walks.send(store, state, walks.chose(state.calls[0], "perhaps"))
    again = retried(store, state.run)
    assert [call.key for call in again.calls] == ["Stests@2/run~a1"]
    assert walks.go(store, again).ask is not None


@pytest.mark.parametrize("failures", [1, 2, 3, 5])
def test_it_can_fail_and_be_tried_as_often_as_anybody_likes(
    store: SqliteStore, failures: int
) -> None:
    """Every showing has a key of its own, and in the end it is done."""
    state = failing(store)
    for number in range(1, failures + 1):
        state = retried(store, state.run)
        assert [call.key for call in state.calls] == [f"Sbuild@1/run~a{number}"]
        if number < failures:
            while state.calls:
                state = walks.send(store, state, walks.failed(state.calls[0]))
    state = walks.answer(store, walks.go(store, state), "SHIP-IT")
    assert state.status == "done"
    shown = [request.key for request in small_flows.requests(store, state.run)]  # type: ignore[union-attr]  # no votes
    assert shown[:2] == [f"Sbuild@1/run~a{failures}", f"Sbuild@1/validate-1~a{failures}"]
    assert rebuild(store, state.run).result == state.result


def test_an_answer_amended_after_a_retry_takes_that_back_too(store: SqliteStore) -> None:
    """The numbers go on, and no key comes twice."""
    state = failing(store)
    state = walks.go(store, retried(store, state.run))
    assert state.key == "Sship@1/run~a1"
    state = walks.answer(store, state, "NOT-YET")
    while state.calls:
        state = walks.send(store, state, walks.failed(state.calls[0]))
    state = retried(store, state.run)
    assert [call.key for call in state.calls] == ["Smend@1/run~a2"]
    reply = Reply((Answer("Sship@1/run~a1", ("SHIP-IT",)),))
    source: dict[str, Any] = {"who": "person", "through": "web"}
    state = runs.amend(store, state.run, reply, key="Sship@1/run~a1", why="enough", **source)
    assert state.status == "done"
    assert verify(store).problems == ()
    assert rebuild(store, state.run).result == state.result


HUMAN = Chart(
    "Judged",
    (
        Page(
            "p",
            "",
            (
                Step("a", "Write it", metadata={"validate_cli": "HUMAN", "retries": "0"}),
                Step("b", "Send it", tags=("NoValidation",)),
            ),
            (Route("a", "b"),),
        ),
    ),
)


def test_a_persons_answer_at_the_step_is_asked_for_again(store: SqliteStore) -> None:
    """It no longer counts, so that nobody can amend it; a new run does not take it over."""
    state = walks.go(store, walks.begin(store, HUMAN))
    state = walks.answer(store, state, "REJ")
    assert state.status == "failed"
    assert [found.question.key for found in given_answers(store, state.run)] == ["Sa@1/validate-1"]
    state = walks.go(store, retried(store, state.run))
    assert state.key == "Sa@1/validate-1~a1"
    assert given_answers(store, state.run) == []
    anew = runs.begin(
        store,
        "walk",
        {"item": {"id": "1"}, "defaults": {"cli": "CLAUDE"}, "codenames": ["CLAUDE", "HUMAN"]},
        documents={"chart": msgspec.to_builtins(HUMAN)},
        who="agent",
        through="command",
        origin=state.run,
    )
    assert anew.ask is not None or anew.calls
    assert walks.answer(store, state, "ACC").calls[0].key == "Sb@1/run~a1"


VOTES = Chart(
    "Votes",
    (
        Page(
            "p",
            "",
            (
                Step("v", "Which?", "decision", metadata={"votes": "CLAUDE, CODEX"}),
                Step("x", "Left", tags=("NoValidation",)),
                Step("y", "Right", tags=("NoValidation",)),
            ),
            (Route("v", "x", "left"), Route("v", "y", "right")),
        ),
    ),
)


def test_votes_are_cast_anew_in_whatever_order_they_came(store: SqliteStore) -> None:
    """All of them, and not those alone that came after the first."""
    state = walks.begin(store, VOTES, person=False)
    first, second = state.calls
    state = walks.send(store, state, walks.chose(second, "right"), walks.chose(first, "left"))
    assert state.status == "failed"
    state = retried(store, state.run)
    assert [call.key for call in state.calls] == ["Sv@1/vote-1~a1", "Sv@1/vote-2~a1"]
    first, second = state.calls
    state = walks.send(store, state, walks.chose(second, "right"))
    assert [call.key for call in rebuild(store, state.run).calls] == [first.key]
    state = walks.send(store, state, walks.chose(first, "right"))
    assert [call.key for call in state.calls] == ["Sy@1/run~a1"]


@pytest.mark.parametrize(
    ("budget", "done"),
    [({"max_calls": 3}, 3), ({"max_tokens": 250}, 3), ({"max_seconds": 4.0}, 3)],
)
def test_a_used_up_budget_is_given_once_more(
    store: SqliteStore, budget: dict[str, float], done: int
) -> None:
    """Nothing is done twice: the run goes on with the call that was too much."""
    state = walks.go(store, walks.begin(store, walks.line(8), budget=budget))
    assert (state.status, state.result["outcome"]) == ("failed", "stopped")
    assert state.result["calls"] == done
    state = walks.go(store, retried(store, state.run))
    assert state.result["calls"] == 2 * done
    state = walks.go(store, retried(store, state.run))
    assert (state.status, state.result["calls"]) == ("done", 8)


def test_a_budget_of_nothing_stays_nothing(store: SqliteStore) -> None:
    """What would fail in the same way at once is not begun."""
    state = walks.begin(store, budget={"max_calls": 0})
    assert state.status == "failed"
    with pytest.raises(Rejected, match="in the same way"):
        runs.retry(store, state.run, who="person", through="web")


def test_a_loop_gets_as_many_visits_once_more(store: SqliteStore) -> None:
    """And its story is told to the end."""
    state = walks.begin(store, defaults={"cli": "CLAUDE", "max_visits": 2})
    never = {"decision": lambda call: walks.chose(call, "no")}

    def stubborn(call: Call) -> Output:
        return never.get(str(call.expects), walks.good)(call)

    state = walks.go(store, state, stubborn)
    assert "max_visits" in (state.error or "")
    state = walks.go(store, retried(store, state.run), stubborn)
    assert state.result["path"].count("tests") == 5
    state = walks.go(store, retried(store, state.run))
    assert state.ask is not None
    story = retell(store, state.run).story
    assert story.path[-1] == "ship"
    assert story.unplaced == ()


def test_only_a_failed_run_is_tried_anew(store: SqliteStore) -> None:
    """One that waits, or is done, or was withdrawn, is left alone."""
    waiting = walks.begin(store)
    done = walks.released(store)
    gone = runs.withdraw(store, walks.begin(store).run, "no", who="person", through="web")
    for state in (waiting, done, gone):
        with pytest.raises(Rejected, match="only a failed run"):
            runs.retry(store, state.run, who="person", through="web")


def test_a_run_whose_time_is_up_is_not_tried_anew(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be withdrawn by being looked at."""
    given = {"item": {"id": "1"}, "defaults": {"cli": "CLAUDE", "retries": 0}}
    moment = datetime(2027, 3, 2, 9, 15, tzinfo=UTC)
    monkeypatch.setattr(chance, "now", lambda: moment)
    state = runs.begin(
        store,
        "walk",
        {**given, "codenames": ["CLAUDE"]},
        documents={"chart": msgspec.to_builtins(walks.line(1))},
        who="agent",
        through="command",
        expires=moment + timedelta(hours=1),
    )
    state = walks.send(store, state, walks.failed(state.calls[0]))
    monkeypatch.setattr(chance, "now", lambda: moment + timedelta(hours=2))
    with pytest.raises(Rejected, match="time of run"):
        runs.retry(store, state.run, who="person", through="web")
    assert runs.look(store, state.run).status == "failed"


def test_of_two_who_try_anew_one_does(store: SqliteStore) -> None:
    """The other is told that the run waits."""
    state = failing(store)
    retried(store, state.run)
    with pytest.raises(Rejected, match="is waiting"):
        runs.retry(store, state.run, who="person", through="web")
