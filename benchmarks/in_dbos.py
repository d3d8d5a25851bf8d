"""The runs of `stepping.py` as DBOS plays them, on PostgreSQL.

As its documentation has it: a workflow calls functions that are steps, and what each gives back is
kept before the next one begins. Where a person is in the loop, the workflow sets an event with the
question and receives a message with the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from dbos import DBOS

from stepping import STEPS, answer, asked, made, require_durable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 60.0


def work() -> str:
    """A workflow of steps."""
    return " ".join([step(number) for number in range(STEPS)])


def ask() -> str:
    """A workflow of questions."""
    chosen = []
    for number in range(STEPS):
        DBOS.set_event(f"ask-{number}", msgspec.to_builtins(asked(number)))
        chosen.append(DBOS.recv("reply", timeout_seconds=PATIENCE))
    return " ".join(chosen)


step = DBOS.step()(made)
work_flow = DBOS.workflow()(work)
ask_flow = DBOS.workflow()(ask)


def steps(place: Path, _keep: str) -> Iterator[str | None]:
    """Workflows of steps, one after another."""
    launch(place)
    yield None
    while True:
        yield work_flow()


def questions(place: Path, _keep: str) -> Iterator[str | None]:
    """Workflows of questions, each answered as soon as it can be read."""
    launch(place)
    yield None
    while True:
        handle = DBOS.start_workflow(ask_flow)
        for number in range(STEPS):
            name = f"ask-{number}"
            shown = DBOS.get_event(handle.workflow_id, name, timeout_seconds=PATIENCE)
            assert shown == msgspec.to_builtins(asked(number))
            DBOS.send(handle.workflow_id, answer(number), "reply")
        yield handle.get_result()


def launch(place: Path) -> None:
    """DBOS as it comes, quiet, and as durable as the others."""
    address = place.read_text(encoding="utf-8").replace("postgresql:", "postgresql+psycopg:", 1)
    system = DBOS(
        config={"name": "benchmark", "system_database_url": address, "log_level": "ERROR"}
    )
    DBOS.launch()
    with system._sys_db.engine.connect() as connection:
        require_durable(connection.connection.dbapi_connection)
