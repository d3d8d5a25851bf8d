"""OpenAI Agents SDK: tools with `needs_approval`, and what they interrupt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from agents import Runner, RunState

from quandary.adapters import Desk, Stop

if TYPE_CHECKING:
    from agents import Agent, RunResult, TResponseInputItem

HOST = "openai-agents"


async def run(
    agent: Agent[Any],
    given: str | list[TResponseInputItem] | RunState[Any, Any],
    desk: Desk | None = None,
    **options: Any,  # noqa: ANN401 - of Runner.run
) -> RunResult:
    """Run an agent to its end; people decide about each call that needs approval. The state of the
    agent is kept beside every question. A program that was stopped goes on with `given=await
    load(agent, RUN)`.
    """
    desk = desk or Desk()
    result = await Runner.run(agent, given, **options)
    while result.interruptions:
        state = result.to_state()
        kept = state.to_json()
        for call in result.interruptions:
            arguments = msgspec.json.decode(call.arguments or "{}")
            named = call.name or call.tool_name or "a tool"
            stop = Stop(HOST, call.call_id or "", named, arguments, state=kept)
            decision = await desk.adecide(stop)
            if decision.allowed:
                state.approve(call)
            else:
                state.reject(call, rejection_message=decision.message)
        result = await Runner.run(agent, state, **options)
    return result


async def load(agent: Agent[Any], run_id: str, desk: Desk | None = None) -> RunState[Any, Any]:
    """The agent as it stood when the question of that run was asked."""
    return await RunState.from_json(agent, (desk or Desk()).state_of(run_id))
