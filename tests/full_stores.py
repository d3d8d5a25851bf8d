"""Stores in which something of everything has happened, for tests of what is kept for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

import small_flows
import walks
from quandary.journal import runs
from quandary.journal.policy import set_preference
from quandary.model.asks import Answer, Outcome, Reply
from quandary.model.calls import Done, Output

if TYPE_CHECKING:
    from quandary.journal.store import State, Store

WORD = "Zanzibar"
"""Stands in every text that somebody wrote, and in no key, code or name."""

_TEXTS = st.sampled_from([WORD, f'{WORD} ☃ "quoted" \\ \n\t\x01', f"1.0 {WORD} 👩\u200d👧"])
_REPLIES = st.one_of(
    st.tuples(st.sampled_from(["OK", "NO", "SUB", "OTH/MAY"]), st.none() | _TEXTS),
    st.tuples(st.none(), _TEXTS),
    st.sampled_from(["idle", "withdraw", "decline", "amend"]),
)
LIVES = st.lists(
    st.one_of(
        st.tuples(st.just("chain"), st.lists(_REPLIES, max_size=4)),
        st.tuples(st.just("maze"), st.lists(_REPLIES, max_size=4)),
        st.sampled_from([("errand", []), ("walk", []), ("prefer", []), ("empty", [])]),
    ),
    min_size=1,
    max_size=4,
)
"""Runs, each with what becomes of it."""


def live(store: Store, lives: list[Any]) -> list[str]:
    """Have all that happen in a store; the names of the runs, but for those of preferences."""
    return [run for kind, what in lives if (run := _live(store, kind, what))]


def _live(store: Store, kind: str, what: list[Any]) -> str:
    if kind == "prefer":
        set_preference(
            store, "some-id", "never-ask", scope="", origin="user", who="person", through="web"
        )
        return ""
    if kind == "walk":
        return walks.released(store).run
    if kind == "errand":
        return errand(store).run
    given: dict[str, Any] = {"kind": kind, "context": WORD, "questions": 2}
    given |= {"items": ["1", "2"], "most": 3} if kind == "maze" else {}
    words = {"words": {"1:": f"What of {WORD}?"}} if kind == "chain" else {}
    state = runs.begin(
        store,
        small_flows.NAME,
        given,
        documents=words,
        project="here",
        who="agent",
        through="relay",
    )
    for one in what:
        state = _go_on(store, state, one)
    return state.run


def _go_on(store: Store, state: State, what: Any) -> State:  # noqa: ANN401 - as drawn
    source: dict[str, Any] = {"who": "person", "through": "web", "by": "ada"}
    if what == "amend":
        answered = store.entries(state.run, kinds=("answered",))
        if not answered or state.status in ("declined", "withdrawn"):
            return state
        key = getattr(answered[0].read(), "key", "")
        reply = small_flows.pick(key, "NO", comment=WORD)
        return runs.amend(store, state.run, reply, key=key, why=WORD, **source)
    if state.ask is None:
        return state
    if what == "withdraw":
        return runs.withdraw(store, state.run, WORD, **source)
    if what in ("idle", "decline"):
        outcome = Outcome("idle" if what == "idle" else "declined", WORD)
        return runs.note(store, state.run, outcome, **source).state
    code, said = what
    answers = [
        Answer(q.key, (code,), comment=said, raw=said)
        if code
        else Answer(q.key, text=said, raw=said)
        for q in state.ask.questions
    ]
    return runs.advance(store, state.run, Reply(tuple(answers)), to=state.key, **source)


def errand(store: Store) -> State:
    """A run with calls and a deed, to its end."""
    state = small_flows.answer(store, small_flows.begin(store, "errand", file="notes.md"))
    for key in ("1:/run", "1:/vote-1", "1:/vote-2", "1:/vote-3"):
        output = Output(key, WORD, seconds=0.1)
        state = runs.advance(store, state.run, output, who="agent", through="worker")
    state = runs.advance(
        store, state.run, who="policy", through="mending", deeds=lambda do: Done(do.key, WORD)
    )
    return small_flows.answer(store, state)
