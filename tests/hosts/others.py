"""opencode and Copilot CLI: our server among their tools, entered as their own pages say."""

from __future__ import annotations

import json

from hosts.checks import check
from hosts.clients import COPILOT, OPENCODE
from hosts.gemini import ASK, require_relay
from hosts.models import DONE, MODEL, Call, Model
from hosts.places import Place

PAUSE = Call("bash", {"command": "sleep 3", "description": "Wait", "initial_wait": 30})
"""Copilot begins before servers are there."""


@check(OPENCODE)
def opencode_calls_our_server() -> None:
    """With our server in its settings, its model calls it and gets the question to relay."""
    with Model(Call("quandary_ask", ASK)) as model, Place() as at:
        ours = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
            "models": {MODEL: {"tool_call": True}},
        }
        said = {
            "model": f"ours/{MODEL}",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"ours": ours},
            "mcp": {"quandary": {"type": "local", "command": ["quandary", "mcp"]}},
        }
        at.write("opencode.json", json.dumps(said))
        listed = at.run([OPENCODE.path, "mcp", "list"])
        assert "✓ quandary" in listed.out, listed.said
        ended = at.run([OPENCODE.path, "run", "Go on."])
        assert ended.out.strip() == DONE, ended.said
        require_relay(json.loads(model.results[0]))


@check(COPILOT)
def copilot_calls_our_server() -> None:
    """It declines our form by itself when run without a window; its model gets what to relay."""
    with (
        Model(Call("quandary_ask", ASK), meanwhile=PAUSE) as model,
        Place(
            COPILOT_MODEL=MODEL,
            COPILOT_PROVIDER_API_KEY="none",
            COPILOT_PROVIDER_BASE_URL=f"{model.url}/v1",
            COPILOT_PROVIDER_TYPE="openai",
        ) as at,
    ):
        added = at.run([COPILOT.path, "mcp", "add", "quandary", "--", "quandary", "mcp"])
        assert added.status == 0, added.said
        listed = at.run([COPILOT.path, "mcp", "list"])
        assert "quandary" in listed.out, listed.said
        ended = at.run([COPILOT.path, "-p", "Go on.", "--allow-all-tools"])
        assert DONE in ended.out, ended.said
        told = json.loads(model.results[0])
        require_relay(told)
        assert [note["kind"] for note in told["notes"]] == ["unavailable"], told
