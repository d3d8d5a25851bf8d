"""Walks for tests: charts written in short, and runs of them whose calls are answered from here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from quandary.journal import runs
from quandary.model.asks import Answer, Reply
from quandary.model.calls import Call, Output
from quandary.model.chart import Chart, Page, Route, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.journal.store import State, Store

    Agent = Callable[[Call], Output]

RELEASE = Chart(
    "Release",
    (
        Page(
            "p1",
            "Main",
            (
                Step("start", "Start", "terminator"),
                Step("build", "Build the package"),
                Step("tests", "Do the tests pass?", "decision"),
                Step("mend", "Mend what fails", metadata={"no_validation": "yes"}),
                Step("ship", "May it be shipped?", "decision", ("HUMAN",)),
                Step("end", "End", "terminator"),
            ),
            (
                Route("start", "build"),
                Route("build", "tests"),
                Route("tests", "ship", "yes"),
                Route("tests", "mend", "no"),
                Route("mend", "tests"),
                Route("ship", "end", "ship it"),
                Route("ship", "mend", "not yet"),
            ),
        ),
    ),
)
"""A process, a loop, a decision of an agent and one of a person."""


def begin(store: Store, chart: Chart = RELEASE, **arguments: Any) -> State:  # noqa: ANN401
    """A walk of the chart, waiting for its first call; from the run `origin`, if that is said."""
    origin = arguments.pop("origin", None)
    given = {
        "item": {"id": "1", "title": "Version 2"},
        "defaults": {"cli": "CLAUDE", "retries": 1},
        "codenames": ["CLAUDE", "CODEX", "HUMAN"],
        **arguments,
    }
    documents = {"chart": msgspec.to_builtins(chart)}
    said: dict[str, Any] = {"project": "here", "who": "agent", "through": "command"}
    return runs.begin(store, "walk", given, documents=documents, origin=origin, **said)


def did(call: Call, text: str = "It is built.", *, completed: bool = True) -> Output:
    """A step was worked on."""
    said = json.dumps({"completed": completed, "comments": text, "tokens_used": 10})
    return Output(call.key, text=f"Well.\n{said}", status=0, seconds=1.5, tokens=100)


def chose(call: Call, answer: str) -> Output:
    """A way was chosen."""
    said = json.dumps({"answer": answer, "reasons": "It is the better one."})
    return Output(call.key, text=said, status=0, seconds=0.5, tokens=20)


def judged(call: Call, *warnings: str, retry: bool = True) -> Output:
    """Work was found good, or there is something to say against it."""
    said = {"fully_completed": not warnings, "should_retry": retry, "warnings": warnings}
    return Output(call.key, text=json.dumps(said), status=0, seconds=0.25)


def failed(call: Call, error: str = "It ended with exit status 3.") -> Output:
    """A program that came to nothing."""
    return Output(call.key, error=error, stderr="no such model\n", status=3, seconds=0.1)


def good(call: Call) -> Output:
    """What an agent says that always does as it should."""
    if call.expects == "decision":
        return chose(call, call.routes[0])
    return judged(call) if call.expects == "validation" else did(call)


def send(store: Store, state: State, *outputs: Output) -> State:
    """Book what came back."""
    for output in outputs:
        state = runs.advance(store, state.run, output, who="agent", through="worker")
    return state


def answer(store: Store, state: State, code: str = "", **more: Any) -> State:  # noqa: ANN401
    """A person at the terminal answers what waits."""
    assert state.key is not None
    reply = Reply((Answer(state.key, (code,) if code else (), **more),))
    return runs.advance(
        store, state.run, reply, to=state.key, who="person", through="terminal", by="ada"
    )


def go(store: Store, state: State, agent: Agent = good, most: int = 10_000) -> State:
    """Have an agent answer every call until a person is asked or the run is over."""
    while state.calls and most:
        state = send(store, state, agent(state.calls[0]))
        most -= 1
    return state


def released(store: Store) -> State:
    """A run in which something of everything happens: a retry, a loop, a person."""
    state = begin(store)
    state = send(store, state, did(state.calls[0]))
    state = send(store, state, judged(state.calls[0], "The version is missing."))
    state = send(store, state, did(state.calls[0], "Version 2 is built."))
    state = send(store, state, judged(state.calls[0]))
    state = send(store, state, chose(state.calls[0], "no"))
    state = send(store, state, did(state.calls[0], "Mended."))
    state = send(store, state, chose(state.calls[0], "Yes!"))
    return answer(store, state, "SHIP-IT", comment="at last")


def line(count: int) -> Chart:
    """A chart of so many steps in a row, which nobody judges."""
    silent = ("NoValidation",)
    steps = tuple(Step(f"s{n}", f"Do part {n}", tags=silent) for n in range(count))
    routes = tuple(Route(f"s{n}", f"s{n + 1}") for n in range(count - 1))
    return Chart("A long row", (Page("1", "", steps, routes),))


def pruned(store: Any, run: str, *kinds: str) -> None:  # noqa: ANN401 - the SQLite one
    """Take the texts out of a run's entries, of all or of some kinds."""
    for kind in kinds or ("began", "asked", "answered", "called", "returned", "noted", "ended"):
        store._rows(
            "UPDATE entry SET matter = NULL, salt = NULL WHERE run = ? AND kind = ?", (run, kind)
        )
