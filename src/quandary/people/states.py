"""The state of a run as the JSON document that agents and scripts read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from quandary.desk import sheets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quandary.model.ask import Ask, Note

Status = Literal["waiting", "done", "failed", "declined", "withdrawn"]
Via = Literal["relay", "text"]


def state_json(
    run: str,
    flow: str,
    status: Status,
    *,
    notes: Sequence[Note] = (),
    ask: Ask | None = None,
    result: Any = None,  # noqa: ANN401 - whatever the flow returns
    error: str = "",
    via: Via = "relay",
    host: str = "claude",
) -> bytes:
    """The run's state, its keys in the order of the contract.

    `notes` are those that the Ask does not carry itself; they stand behind the Ask's own.
    """
    every = (*(ask.notes if ask is not None else ()), *notes)
    state: dict[str, Any] = {
        "run": run,
        "flow": flow,
        "status": status,
        "notes": [{"kind": n.kind, "item": n.item or None, "text": n.text} for n in every],
    }
    for held in (note for note in every if note.kind == "held"):
        state["held"] = {"option": held.item, "reason": held.text}
    if ask is not None:
        state["ask"] = _asked(run, ask, via, host)
    if status == "done" or result is not None:
        state["result"] = result
    if status == "failed" or error:
        state["error"] = error
    return msgspec.json.encode(state)


def _asked(run: str, ask: Ask, via: Via, host: str) -> dict[str, Any]:
    """What waits, and how to reply to it.

    An advisory question is meant to be read as text, so that it has the text beside the form.
    """
    if via == "text":
        ask = sheets.keep_first_question(ask)
    asked: dict[str, Any] = {
        "key": ask.key,
        "kind": ask.kind,
        "preamble": ask.preamble.text,
        "keys": [question.key for question in ask.questions],
        "reply_with": ["quandary", "reply", run, "--to", ask.key, "-"],
    }
    if via == "relay":
        asked["tool_input"] = sheets.tool_input(ask, host)
    if via == "text" or ask.kind == "advisory":
        asked["text"] = sheets.plain_text(ask)
    return asked
