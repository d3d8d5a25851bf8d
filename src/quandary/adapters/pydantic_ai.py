"""Pydantic AI: tools that require approval, and calls whose result somebody else gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied

from quandary.adapters import Desk, Stop

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.run import AgentRunResult

HOST = "pydantic-ai"


async def run(
    agent: Agent[Any, Any],
    given: str,
    desk: Desk | None = None,
    **options: Any,  # noqa: ANN401 - of Agent.run
) -> AgentRunResult[Any]:
    """Run an agent to its end. `DeferredToolRequests` has to be among its output types."""
    desk = desk or Desk()
    result = await agent.run(given, **options)
    while isinstance(result.output, DeferredToolRequests):
        options["deferred_tool_results"] = await resolve(result.output, desk)
        options["message_history"] = result.all_messages()
        result = await agent.run(**options)
    return result


async def resolve(asked: DeferredToolRequests, desk: Desk) -> DeferredToolResults:
    """What people said: to calls that need approval, and in place of a result."""
    results = DeferredToolResults()
    for call in asked.approvals:
        decision = await desk.adecide(_stop(call))
        if decision.allowed:
            results.approvals[call.tool_call_id] = ToolApproved(override_args=decision.arguments)
        else:
            results.approvals[call.tool_call_id] = ToolDenied(decision.message)
    for call in asked.calls:
        stop = _stop(call)
        told = ", ".join(f"{name}: {value}" for name, value in stop.arguments.items())
        results.calls[call.tool_call_id] = await desk.aanswer(stop, f"{call.tool_name}: {told}?")
    return results


def _stop(call: ToolCallPart) -> Stop:
    return Stop(HOST, call.tool_call_id, call.tool_name, call.args_as_dict(), takes_changes=True)
