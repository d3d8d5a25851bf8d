"""MCP Inspector, the protocol's own client: everything that our server has, over both carriers."""

from __future__ import annotations

import json
from typing import Any

from hosts.checks import check
from hosts.clients import INSPECTOR
from hosts.gemini import require_relay
from hosts.people import served
from hosts.places import Place
from program import DEPLOY
from quandary.doors.mcp.tools import TOOLS

TOKEN = "a-token-of-the-inspector"  # noqa: S105 - of no server but this one
STDIO = ("quandary", "mcp")
GREEN = ("--tool-arg", "context=All is green.")


def _asked(at: Place, target: tuple[str, ...], method: str, *words: str) -> dict[str, Any]:
    ended = at.run([INSPECTOR.path, "--cli", *target, "--method", method, *words])
    assert ended.status == 0, ended.said
    found: dict[str, Any] = json.loads(ended.out)
    return found


def _require_all(at: Place, target: tuple[str, ...], *tree: str) -> None:
    """Everything is listed, can be read, and can be called."""
    tools = _asked(at, target, "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == list(TOOLS), tools
    (resource,) = _asked(at, target, "resources/list")["resources"]
    assert resource["uri"] == "quandary://trees/DEPLOY", resource
    (read,) = _asked(at, target, "resources/read", "--uri", resource["uri"])["contents"]
    assert read["text"] == DEPLOY, read
    (prompt,) = _asked(at, target, "prompts/list")["prompts"]
    assert prompt["name"] == "relay", prompt
    (message,) = _asked(at, target, "prompts/get", "--prompt-name", "relay")["messages"]
    assert "ask.reply_with" in message["content"]["text"], message
    told = _asked(at, target, "tools/call", "--tool-name", "ask", *GREEN, "--tool-arg", *tree)
    require_relay(told["structuredContent"])
    (text,) = told["content"]
    assert json.loads(text["text"]) == told["structuredContent"], told
    assert at.only_run().run == told["structuredContent"]["run"]


@check(INSPECTOR)
def everything_over_stdio() -> None:
    """Started as a program: tools, resources, prompts, and a call."""
    with Place() as at:
        _require_all(at, STDIO, "source=deploy.md")


@check(INSPECTOR)
def everything_over_http() -> None:
    """At /mcp of the server with a token: the same; without one or with another, nothing."""
    others = ("--host", "0.0.0.0", "--token", TOKEN)  # noqa: S104 - then nobody comes in without it
    with Place() as at:
        (at.data / "deploy.md").write_text(DEPLOY, encoding="utf-8")
        with served(at, *others) as server:
            target = (f"{server.address}/mcp", "--transport", "http")
            _require_all(
                at, (*target, "--header", f"Authorization: Bearer {TOKEN}"), "source=deploy.md"
            )
            for header in ((), ("--header", "Authorization: Bearer another")):
                words = [INSPECTOR.path, "--cli", *target, *header, "--method", "tools/list"]
                refused = at.run(words)
                assert refused.status != 0, refused.said
                assert "Ask the person" not in refused.said, refused.said
