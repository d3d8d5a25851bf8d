"""The run of `asking.py` as LangGraph plays it, with its SqliteSaver.

As its documentation has people in the loop: one node calls `interrupt` with the question, and is
resumed with a `Command`. The question that waits is in the file, as it is with Quandary.
"""

from __future__ import annotations

import operator
import sqlite3
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import msgspec
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from asking import ANEW, REPLIES, Keep, answer, asked, make_durable, require_durable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

THREAD = {"configurable": {"thread_id": "1"}}


class Chosen(TypedDict):
    """What the graph keeps of the run."""

    chosen: Annotated[list[str], operator.add]


def ask(state: Chosen) -> Chosen:
    """Ask, and take what comes back."""
    return {"chosen": [interrupt(msgspec.to_builtins(asked(len(state["chosen"]))))]}


def onward(state: Chosen) -> str:
    """Where to go from there."""
    return "ask" if len(state["chosen"]) < REPLIES else str(END)


graph = StateGraph(Chosen)
graph.add_node("ask", ask)
graph.add_edge(START, "ask")
graph.add_conditional_edges("ask", onward, ["ask", END])


def connected(path: Path) -> sqlite3.Connection:
    """The file."""
    db = sqlite3.connect(path, check_same_thread=False)
    make_durable(db)
    return db


def built(db: sqlite3.Connection) -> Any:  # noqa: ANN401 - LangGraph is not there for the checks
    """The graph, compiled to be kept in a file."""
    return graph.compile(checkpointer=SqliteSaver(db))


def play(path: Path, keep: Keep, durability: str | None = None) -> Iterator[str]:
    """One question after another; `durability` is LangGraph's own choice if it is left out."""
    first = db = connected(path)
    compiled = built(db)
    state = compiled.invoke({"chosen": []}, THREAD, durability=durability)
    require_durable(first)
    if keep == "alone":
        first.close()
    for number in range(REPLIES):
        yield state["__interrupt__"][0].value["questions"][0]["text"]
        if keep in ANEW:
            db = connected(path)
        if keep != "open":
            compiled = built(db)
        state = compiled.invoke(Command(resume=answer(number)), THREAD, durability=durability)
        if keep in ANEW:
            db.close()
    first.close()
    yield " ".join(state["chosen"])


def play_at_the_end(path: Path, keep: Keep) -> Iterator[str]:
    """The same with one checkpoint for each call in place of one for each step."""
    return play(path, keep, "exit")
