"""The run of `asking.py` as Burr plays it, with its SQLitePersister.

As its documentation has people in the loop: one action asks, the next one takes the answer as its
input, and the application halts before it. The question that waits is part of the state, so that it
is in the file, as it is with Quandary.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import msgspec
from burr.core import ApplicationBuilder, action, expr
from burr.core.persistence import SQLitePersister

from asking import ANEW, REPLIES, Keep, answer, asked, make_durable, require_durable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def ask(state: Any) -> Any:  # noqa: ANN401 - Burr is not there when types are checked
    """Put the next question into the state."""
    return state.update(ask=msgspec.to_builtins(asked(len(state["chosen"]))))


def take(state: Any, code: str) -> Any:  # noqa: ANN401 - as above
    """Keep an answer."""
    return state.append(chosen=code)


def end(state: Any) -> Any:  # noqa: ANN401 - as above
    """Nothing is left to ask."""
    return state.update(ask=None)


ACTIONS = {
    "ask": action(reads=["chosen"], writes=["ask"])(ask),
    "take": action(reads=["chosen"], writes=["chosen"])(take),
    "end": action(reads=[], writes=["ask"])(end),
}
MORE = f"len(chosen) < {REPLIES}"


def connected(path: Path) -> tuple[sqlite3.Connection, Any]:
    """The file, and its persister, which closes the one when the other is no longer needed."""
    db = sqlite3.connect(path)
    make_durable(db)
    persister = SQLitePersister(str(path), connection=db)
    persister.initialize()
    return db, persister


def built(persister: Any) -> Any:  # noqa: ANN401 - as above
    """The application at the state that a file holds."""
    return (
        ApplicationBuilder()
        .with_actions(**ACTIONS)
        .with_transitions(("ask", "take"), ("take", "ask", expr(MORE)), ("take", "end"))
        .with_identifiers(app_id="1", partition_key="benchmark")
        .initialize_from(
            persister,
            resume_at_next_action=True,
            default_state={"chosen": []},
            default_entrypoint="ask",
        )
        .with_state_persister(persister)
        .build()
    )


def play(path: Path, keep: Keep) -> Iterator[str]:
    """One question after another."""
    db, persister = kept = connected(path)
    application = built(persister)
    require_durable(db)
    application.run(halt_before=["take"])
    if keep == "alone":
        db.close()
    for number in range(REPLIES):
        yield application.state["ask"]["questions"][0]["text"]
        if keep in ANEW:
            db, persister = connected(path)
        if keep != "open":
            application = built(persister)
        code = {"code": answer(number)}
        application.run(halt_before=["take"], halt_after=["end"], inputs=code)
        if keep in ANEW:
            db.close()
    kept[0].close()
    yield " ".join(application.state["chosen"])
