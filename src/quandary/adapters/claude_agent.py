"""Claude Agent SDK: a `can_use_tool` that asks people, also what the agent asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

from quandary.adapters import Desk, Stop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from claude_agent_sdk import PermissionResult, ToolPermissionContext

    CanUseTool = Callable[[str, dict[str, Any], ToolPermissionContext], Awaitable[PermissionResult]]

HOST = "claude"
QUESTION = "AskUserQuestion"


def can_use_tool(desk: Desk | None = None) -> CanUseTool:
    """What goes into `ClaudeAgentOptions(can_use_tool=…)`."""
    journal = desk or Desk()

    async def ask(
        name: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        id_, why = context.tool_use_id or "", context.decision_reason or ""
        stop = Stop(HOST, id_, name, given, why, takes_changes=True)
        if name == QUESTION:
            answers = {}
            for one in given["questions"]:
                options = {o["label"]: o.get("description", "") for o in one["options"]}
                several = one.get("multiSelect") is True
                said = await journal.aanswer(stop, one["question"], options, several=several)
                answers[one["question"]] = said
            return PermissionResultAllow(updated_input={**given, "answers": answers})
        decision = await journal.adecide(stop)
        if decision.allowed:
            changed = decision.arguments
            return PermissionResultAllow(updated_input=given if changed is None else changed)
        return PermissionResultDeny(message=decision.message)

    return ask
