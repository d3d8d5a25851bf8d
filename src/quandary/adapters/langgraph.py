"""LangGraph: whatever a graph interrupts for, by itself or by LangChain's middleware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from langgraph.types import Command, Interrupt

from quandary.adapters import Desk, Stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

HOST = "langgraph"


def run(
    graph: CompiledStateGraph[Any, Any, Any, Any],
    given: Any,  # noqa: ANN401 - whatever the graph takes
    config: RunnableConfig,
    desk: Desk | None = None,
) -> Any:  # noqa: ANN401 - whatever the graph gives
    """Run a graph to its end; people decide where it interrupts. It needs a checkpointer. A program
    that was stopped goes on with `given=None` and the same thread.
    """
    desk = desk or Desk()
    result = graph.invoke(given, config)
    while interrupts := graph.get_state(config).interrupts:
        result = graph.invoke(resume(interrupts, desk), config)
    return result


def resume(interrupts: Sequence[Interrupt], desk: Desk) -> Command[Any]:
    """The command that goes on, with what people said to each interrupt."""
    return Command(resume={one.id: _answer(one, desk) for one in interrupts})


def _answer(interrupt: Interrupt, desk: Desk) -> Any:  # noqa: ANN401 - what the graph waits for
    value = interrupt.value
    if isinstance(value, dict) and "action_requests" in value:
        reviewed = {one["action_name"]: one["allowed_decisions"] for one in value["review_configs"]}
        return {
            "decisions": [
                _decide(f"{interrupt.id}/{number}", action, reviewed[action["name"]], desk)
                for number, action in enumerate(value["action_requests"], 1)
            ]
        }
    asked = value if isinstance(value, dict) else {"question": value}
    question = asked.get("question") or asked.get("query") or msgspec.json.encode(asked).decode()
    stop = Stop(HOST, interrupt.id, "interrupt", {}, str(asked.get("context", "")))
    return desk.answer(stop, str(question), asked.get("options", ()))


def _decide(id_: str, action: dict[str, Any], may: list[str], desk: Desk) -> dict[str, Any]:
    """One decision, in the middleware's words."""
    about = action.get("description") or ""
    stop = Stop(HOST, id_, action["name"], action["args"], about, takes_changes="edit" in may)
    decision = desk.decide(stop)
    if decision.allowed and decision.arguments is None:
        return {"type": "approve"}
    if decision.allowed:
        edited = {"name": action["name"], "args": decision.arguments}
        return {"type": "edit", "edited_action": edited}
    return {"type": "reject" if "reject" in may else "respond", "message": decision.message}
