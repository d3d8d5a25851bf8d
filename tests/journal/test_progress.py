"""Building a flow again from what the journal holds for it."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import processes
import small_flows
from quandary.desk.begin import Asking, Showing, decide
from quandary.errors import Diverged, QuandaryError
from quandary.flows.decide import Decider
from quandary.journal import runs
from quandary.journal.entries import Asked, Began
from quandary.journal.progress import FLOWS, rebuild
from quandary.journal.verify import verify
from quandary.model import keys
from quandary.model.asks import Answer, Ask, Outcome, Reply
from quandary.model.calls import Output
from small_flows import requests

if TYPE_CHECKING:
    from pathlib import Path

    from journal.conftest import Place
    from quandary.journal.store import State, Store


def go_on(store: Store, run: str) -> State:
    """Another process looks at the run."""
    runs._opened.clear()
    return runs.advance(store, run, who="person", through="terminal")


def asked(store: Store, run: str) -> list[Ask]:
    """The Asks as they were shown."""
    return [
        ask
        for e in store.entries(run, kinds=("asked",))
        if (ask := e.read_matter().ask) is not None
    ]


def test_a_run_is_its_journal(store: Store) -> None:
    """The flow built again asks what was asked, and waits where the run waits."""
    state = small_flows.begin(store, "maze", items=["1", "2", "3", "4", "5"], most=20)
    for code in ("OK", "SUB", "NO", "OK"):
        state = small_flows.answer(store, state, code)
    assert asked(store, state.run) == list(requests(store, state.run))
    assert state == go_on(store, state.run)
    assert rebuild(store, state.run).request == state.ask


REPLIES = st.lists(
    st.one_of(
        st.lists(st.sampled_from(["OK", "NO", "SUB", "OTH/MAY", "own words", ""]), max_size=4),
        st.sampled_from(["idle", "dismissed", "amend", "again"]),
    ),
    max_size=8,
)


def _do(store: Store, state: State, what: list[str] | str) -> State:
    """Whatever a person may do to a run that waits."""
    source: dict[str, Any] = {"who": "person", "through": "terminal"}
    first = asked(store, state.run)[0].key
    if state.ask is None or (what == "amend" and first == state.key):
        return state
    if what == "again":
        return go_on(store, state.run)
    if what == "amend":
        reply = small_flows.pick(first, "SUB")
        return runs.amend(store, state.run, reply, key=first, why="oh", **source)
    if isinstance(what, str):
        outcome = Outcome("idle" if what == "idle" else "dismissed")
        return runs.advance(store, state.run, outcome, to=state.key, **source)
    return _reply(store, state, state.ask, what)


def _reply(store: Store, state: State, ask: Ask, words: list[str]) -> State:
    answers = []
    for question, word in zip(ask.questions, words, strict=False):
        picked = (word,) if word in ("OK", "NO", "SUB", "OTH/MAY") else ()
        answers.append(Answer(question.key, picked, text=None if picked else word, raw=word))
    if not answers:
        return state
    return small_flows.answer(store, state, Reply(tuple(answers)))


def test_any_replies_replay_to_the_same_asks_in_any_process(store: Store, path: Path | str) -> None:
    """Whatever was answered: with other hash seeds the flow asks the same things again."""

    @given(st.integers(1, 6), REPLIES)
    @settings(
        max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    def any_replies(items: int, replies: list[list[str] | str]) -> None:
        names = [str(number) for number in range(1, items + 1)]
        state = small_flows.begin(store, "maze", items=names, most=20)
        for what in replies:
            state = _do(store, state, what)
        again = go_on(store, state.run)
        assert (state.status, state.key, state.result) == (again.status, again.key, again.result)
        now = list(requests(store, state.run))
        assert [ask for ask in asked(store, state.run) if ask in now] == now

    any_replies()
    one = processes.told("retell", path, seed="1")
    two = processes.told("retell", path, seed="4242")
    assert one == two
    here = [
        [
            json.loads(msgspec.json.encode(list(requests(store, run.id)))),
            run.status,
            runs.look(store, run.id).result,
        ]
        for run in store.runs(limit=1000)
    ]
    assert here == [json.loads(line.split(" ", 1)[1]) for line in one]
    assert verify(store).ok


def test_a_response_is_found_by_key_and_not_by_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flow that asks the same things in another order goes on."""
    state = small_flows.begin(store, questions=3)
    for code in ("OK", "NO"):
        state = small_flows.answer(store, state, code)
    place = keys.place
    swapped = {"1": "2", "2": "1"}
    monkeypatch.setattr(keys, "place", lambda item: place(swapped.get(item, str(item))))
    assert go_on(store, state.run).key == "3:"
    done = small_flows.answer(store, state, "SUB")
    assert [chosen[:2] for chosen in done.result["chosen"]] == [
        ["2:", "NO"],
        ["1:", "OK"],
        ["3:", "SUB"],
    ]


def test_an_answer_that_nobody_asks_for_any_more_is_not_dropped(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left over means that the flow has changed: the run is shown, and does not go on."""
    state = small_flows.answer(store, small_flows.begin(store))
    place = keys.place
    monkeypatch.setattr(keys, "place", lambda item: place(f"9.{item}"))
    with pytest.raises(Diverged, match=r"answered to 1: .*--from"):
        go_on(store, state.run)
    with pytest.raises(Diverged):
        small_flows.answer(store, state)
    assert runs.look(store, state.run).ask == state.ask


def test_what_waits_must_still_be_asked_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is booked on a question that was not shown."""
    state = small_flows.begin(store)
    place = keys.place
    monkeypatch.setattr(keys, "place", lambda item: place(f"9.{item}"))
    with pytest.raises(Diverged, match="waits for 1:"):
        go_on(store, state.run)
    opened = runs.open_run(store, state.run)
    assert opened.state.ask is not None  # as it was shown
    reply = Reply((Answer("1:", picked=("OK",)),))
    with pytest.raises(Diverged):
        runs.advance(store, opened, reply, who="person", through="terminal")
    assert store.require_run(state.run).n == state.n


def test_a_short_run_is_answered_without_being_asked_once_more(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its flow is built with the reply, for the question as it was shown is in the journal."""
    wanted = Asking(context="It is due.", options=["Now", "Later"], question="When?")
    begun = decide(wanted, Showing())
    said: Any = {"documents": begun.documents, "who": "agent", "through": "command"}
    state = runs.begin(store, begun.flow, begun.arguments, **said)
    runs._opened.clear()
    opened = runs.open_run(store, state.run)
    ask = opened.state.ask
    assert ask is not None
    assert ask == state.ask
    monkeypatch.setattr(Decider, "question", None)
    reply = Reply((Answer("1:", picked=(ask.questions[0].choices[0].code,)),))
    done = runs.advance(store, opened, reply, who="person", through="terminal")
    assert (done.status, done.result["chosenItems"][0]["labels"]) == ("done", ["Now"])
    assert verify(store).ok


def test_a_recorded_code_must_still_be_offered(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer is not sent to a flow that no longer knows what was picked."""
    state = small_flows.answer(store, small_flows.begin(store), "NO")
    monkeypatch.setattr(small_flows, "CODES", ("OK", "SUB"))
    with pytest.raises(Diverged, match="answered to 1:"):
        go_on(store, state.run)


def test_a_run_of_another_version_of_its_flow_does_not_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says which versions, and how to begin anew."""
    state = small_flows.begin(store)
    monkeypatch.setattr(small_flows, "VERSION", 2)
    with pytest.raises(Diverged, match=r"version 1 of small, .*version 2; .*--from"):
        go_on(store, state.run)
    assert runs.look(store, state.run).key == "1:"


def test_a_run_of_an_unknown_flow_does_not_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is shown; beginning one is refused with the names there are."""
    state = small_flows.begin(store)
    monkeypatch.delitem(FLOWS, small_flows.NAME)
    with pytest.raises(Diverged, match="flow small, which this Quandary lacks"):
        go_on(store, state.run)
    with pytest.raises(QuandaryError, match=r"no flow small; .*decide"):
        small_flows.begin(store)


def test_a_run_that_can_no_longer_begin_has_diverged(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flow that became stricter does not take its old runs for failed."""
    state = small_flows.begin(store)

    def refuse(_: dict[str, Any]) -> None:
        raise QuandaryError("trees need a name now")

    monkeypatch.setattr(small_flows, "start", refuse)
    with pytest.raises(Diverged, match="trees need a name now"):
        go_on(store, state.run)


def test_a_flow_that_asks_twice_under_one_key_is_at_fault(store: Store) -> None:
    """Its answers would mix, so nothing is booked."""
    state = small_flows.begin(store, "odd")
    with pytest.raises(RuntimeError, match="twice under the key 1:"):
        small_flows.answer(store, state)
    assert runs.look(store, state.run) == state


def test_a_run_whose_texts_were_pruned_is_shown_and_does_not_go_on(
    store: Store, place: Place
) -> None:
    """Matter can be taken out; what the flow needs is then gone."""
    reply = small_flows.pick("1:", "OK", comment="secret")
    state = small_flows.answer(store, small_flows.begin(store), reply)
    pruned = "UPDATE entry SET matter = NULL, salt = NULL WHERE kind = 'answered'"
    assert place.change(pruned)
    with pytest.raises(Diverged, match="pruned"):
        go_on(store, state.run)
    assert runs.look(store, state.run).key == "2:"
    report = verify(store)  # which knows that nobody prunes a run that waits
    assert (report.pruned, len(report.problems)) == (1, 1)


def test_a_run_keeps_the_documents_that_it_began_with(store: Store, place: Place) -> None:
    """They come back as arguments; one that is lost is missed."""
    state = runs.begin(
        store,
        small_flows.NAME,
        {"kind": "chain", "questions": 2},
        documents={"words": {"1:": "Shall we?"}},
        who="agent",
        through="relay",
    )
    assert state.ask is not None
    assert state.ask.questions[0].text == "Shall we?"
    assert rebuild(store, state.run).request == state.ask
    began = store.entries(state.run)[0]
    body = began.read()
    assert isinstance(body, Began)
    assert list(body.documents) == ["words"]
    assert b"Shall we" not in (began.matter or b"")
    assert place.change("DELETE FROM document")
    with closing(place.open()) as fresh, pytest.raises(Diverged, match="lost"):
        go_on(fresh, state.run)


def test_outputs_that_have_come_are_sent_again(store: Store) -> None:
    """Of calls made at once, only those without an output wait after a restart."""
    state = small_flows.answer(store, small_flows.begin(store, "errand"))
    state = runs.advance(store, state.run, Output("1:/run", "ran"), who="agent", through="worker")
    state = runs.advance(
        store, state.run, Output("1:/vote-2", "yes"), who="agent", through="worker"
    )
    again = go_on(store, state.run)
    assert [call.key for call in again.calls] == ["1:/vote-1", "1:/vote-3"]
    assert again.calls == state.calls == rebuild(store, state.run).calls


def test_an_asked_entry_keeps_what_was_offered_when_its_text_is_gone(store: Store) -> None:
    """Which codes there were to choose from is part of the body."""
    state = small_flows.begin(store)
    (entry,) = store.entries(state.run, kinds=("asked",))
    body = entry.read()
    assert isinstance(body, Asked)
    assert body.offered == {"1:": ("OK", "NO", "SUB", "OTH/MAY")}
    assert b"decide" not in entry.body
