"""Replies that are sent twice: booked once, answered as the first time, and never mistaken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import small_flows
from quandary.errors import Reused
from quandary.journal import MEMORY, chance, runs
from quandary.journal.runs import find_reply
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Note, Reply
from quandary.model.calls import Do, Done, Output

if TYPE_CHECKING:
    from quandary.journal.store import State, Store

PERSON: dict[str, Any] = {"who": "person", "through": "web"}


def send(store: Store, state: State, token: str, *codes: str, **more: Any) -> State:  # noqa: ANN401
    """Answer what waits, with a token."""
    assert state.ask is not None
    reply = Reply(
        tuple(
            Answer(question.key, (code,))
            for question, code in zip(state.ask.questions, codes, strict=False)
        )
    )
    return runs.advance(
        store,
        state.run,
        reply,
        to=state.key,
        token=token,
        request=" ".join(codes),
        **PERSON,
        **more,
    )


def test_what_was_sent_is_told_from_something_else(store: Store) -> None:
    """The same is not booked again; something else is refused, before and after the end."""
    first = small_flows.begin(store, questions=2)
    second = send(store, first, "a", "OK")
    assert send(store, first, "a", "OK") == second
    with pytest.raises(Reused, match="with one of its own"):
        send(store, first, "a", "NO")
    last = send(store, second, "b", "NO")
    assert last.status == "done"
    assert send(store, first, "a", "OK") == second
    assert send(store, second, "b", "NO") == last
    with pytest.raises(Reused):
        send(store, second, "a", "NO")
    assert len(store.entries(first.run, kinds=("answered",))) == 2


def test_a_token_that_was_never_booked_is_unknown(store: Store) -> None:
    """And one belongs to its run."""
    state = send(store, small_flows.begin(store), "a", "OK")
    assert find_reply(store, state.run, "b") is None
    assert find_reply(store, small_flows.begin(store).run, "a") is None


def test_the_same_is_told_whatever_happened_since(store: Store) -> None:
    """Notes, changed answers and the end of a run are no part of what it led to."""
    begun = small_flows.begin(store)
    told = send(store, begun, "a", "OK")
    runs.note(store, begun.run, Note("question", "why?"), **PERSON)
    assert find_reply(store, begun.run, "a") == told
    runs.amend(store, begun.run, small_flows.pick("1:", "NO"), key="1:", why="no", **PERSON)
    assert find_reply(store, begun.run, "a") == told
    runs.withdraw(store, begun.run, "no need", **PERSON)
    assert find_reply(store, begun.run, "a") == told


def test_deeds_that_were_done_right_away_belong_to_it(store: Store) -> None:
    """Whoever replied was told what came after them."""

    def do(deed: Do) -> Done:
        return Done(deed.key, text="what is in the file")

    begun = small_flows.begin(store, "errand")
    called = send(store, begun, "a", "OK", deeds=do)
    assert [call.key for call in called.calls] == ["1:/run"]
    state = runs.advance(store, begun.run, Output("1:/run", "yes"), who="agent", through="agent")
    assert len(state.calls) == 3
    for call in state.calls:
        output = Output(call.key, "yes")
        state = runs.advance(store, begun.run, output, who="agent", through="agent", deeds=do)
    done = send(store, state, "b", "NO", deeds=do)
    assert done.status == "done"
    assert find_reply(store, begun.run, "a") == called
    assert find_reply(store, begun.run, "b") == done


def test_a_clock_that_stands_still(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies that bear one date are still told apart."""
    moment = chance.now()
    monkeypatch.setattr(chance, "now", lambda: moment)
    states = [small_flows.begin(store)]
    for token in "abc":
        states.append(send(store, states[-1], token, "OK"))
    assert [find_reply(store, states[0].run, token) for token in "abc"] == states[1:]


@given(st.lists(st.lists(st.sampled_from(("OK", "NO", "SUB")), min_size=1), max_size=12))
def test_every_reply_is_answered_as_the_first_time(answers: list[list[str]]) -> None:
    """However a run goes, to its end or not so far."""
    store = SqliteStore(MEMORY)
    state = small_flows.begin(store, "maze", items=["a", "b", "c", "d", "e"], most=20)
    told = {}
    for number, codes in enumerate(answers):
        if state.ask is None:
            break
        state = send(store, state, str(number), *codes)
        told[str(number)] = state
    for token, before in told.items():
        assert find_reply(store, state.run, token) == before
    store.close()
