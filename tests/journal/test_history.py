"""What the entries of a run come to: which responses count, where it stands, what its row says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import small_flows
from quandary.journal import runs
from quandary.journal.entries import Answered, Asked, Began, Called, Ended, Noted, Returned, Source
from quandary.journal.history import history, list_answers, row_of
from quandary.model.calls import Output

if TYPE_CHECKING:
    from quandary.journal.entries import AnyBody
    from quandary.journal.store import Store

SAID: dict[str, Any] = {"at": "2026-01-01T00:00:00.000000Z", "who": "person", "through": "web"}
PERSON: dict[str, Any] = {"who": "person", "through": "terminal"}


def ask(key: str) -> list[AnyBody]:
    """A question and its answer."""
    return [Asked(key=key, offered={}, **SAID), Answered(key=key, answers=(), **SAID)]


BEGAN = Began(flow="small", version=1, **SAID)
THREE: list[AnyBody] = [BEGAN, *ask("1:"), *ask("2:"), *ask("3:"), Ended(status="done", **SAID)]


def test_an_amendment_takes_the_place_of_an_answer_and_of_all_after_it() -> None:
    """The run is open again, and the number of the amendment is known."""
    assert history(THREE).responses == {"1:": 3, "2:": 5, "3:": 7}
    amended = Answered(key="2:", answers=(), amends=5, amendment=1, **SAID)
    standing = history([*THREE, amended])
    assert standing.responses == {"1:": 3, "2:": 9}
    assert standing.amendments == {"2:": 1}
    assert (standing.status, standing.amendment) == ("waiting", 1)


def test_a_retry_takes_back_what_it_names() -> None:
    """Nothing else is forgotten."""
    retried = Noted(kind="retried", key="2:", takes_back=("2:",), amendment=1, **SAID)
    standing = history([*THREE[:-1], Ended(status="failed", **SAID), retried])
    assert standing.responses == {"1:": 3, "3:": 7}
    assert (standing.status, standing.retries, standing.counting) == ("waiting", (9,), {"1:", "3:"})


def test_of_several_calls_the_first_stands_for_all_until_each_came_back() -> None:
    """Then nothing waits, until the next request."""
    calls: list[AnyBody] = [Called(key=key, agent="A", **SAID) for key in ("a", "b")]
    came = [Returned(key=key, **SAID) for key in ("a", "b")]
    for returned, waits, pending in ((0, "agent", ("a", "b")), (1, "agent", ("b",)), (2, None, ())):
        standing = history([BEGAN, *calls, *came[:returned]])
        assert (standing.waits, standing.pending) == (waits, pending)
        assert (standing.key, standing.asked) == (("a", 2) if waits else (None, 0))


def test_the_row_of_a_run_is_what_its_entries_come_to(store: Store) -> None:
    """After every way of appending: writers and readers work it out by the same step."""
    state = small_flows.begin(store, "errand")
    small_flows.begin(store)
    state = small_flows.answer(store, state)
    while state.calls:
        for call in state.calls:
            state = runs.advance(store, state.run, Output(call.key), who="agent", through="x")
            check_rows(store)
    chain = small_flows.answer(store, small_flows.begin(store), "OK")
    reply = small_flows.pick("1:", "NO")
    chain = runs.amend(store, chain.run, reply, key="1:", why="oh", **PERSON)
    check_rows(store)
    runs.withdraw(store, chain.run, "no need", **PERSON)
    check_rows(store)


def check_rows(store: Store) -> None:
    """Every row of the store is the one that its entries lead to."""
    for row in store.runs():
        assert row_of(store.entries(row.id), row.number) == row


def test_answers_that_count_come_with_the_question_as_it_was_shown(store: Store) -> None:
    """An amended one as it is now, and nothing of what was asked after it."""
    state = small_flows.answer(store, small_flows.begin(store), "OK")
    state = small_flows.answer(store, state, "OK")
    runs.amend(store, state.run, small_flows.pick("1:", "NO"), key="1:", why="oh", **PERSON)
    _, (found,) = list_answers(state.run, store.entries(state.run))
    assert (found.question.key, found.answer.picked) == ("1:", ("NO",))
    assert found.source == Source("person", "terminal")
