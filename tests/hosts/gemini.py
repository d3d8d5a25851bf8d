"""Gemini CLI, and Qwen Code, which comes from it: our server among their tools."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from hosts.checks import check
from hosts.clients import GEMINI, QWEN
from hosts.models import DONE, MODEL, Call, Model
from hosts.places import Place

if TYPE_CHECKING:
    from hosts.clients import Client

IN_LIST = ("Connected", "Disconnected")
"""On a busy machine five seconds are not enough; that it connects is what the other checks show."""
ASK = {"source": "deploy.md", "context": "All is green."}


def settings(kind: str) -> str:
    """A user's settings: how they pay, and that nothing is to be sent anywhere."""
    said: dict[str, Any] = {
        "security": {"auth": {"selectedType": kind}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    return json.dumps(said, indent=2)


def listed(at: Place, client: Client) -> str:
    """What its list of servers says of ours; nothing where it is not in it.

    It starts the server to see whether it answers, and has five seconds of patience.
    """
    found = re.search(r"quandary mcp \(stdio\) - (\w+)", at.run([client.path, "mcp", "list"]).said)
    return found[1] if found else ""


def require_relay(told: dict[str, Any]) -> None:
    """The question as an agent relays it, with what to do about it."""
    assert told["status"] == "waiting", told
    (question,) = told["ask"]["tool_input"]["questions"]
    labels = [option["label"] for option in question["options"]]
    assert labels == ["Deploy now", "Deploy this evening", "Do not deploy"], told
    assert told["ask"]["reply_with"][:2] == ["quandary", "reply"], told
    assert "question tool" in told["then"], told


@check(GEMINI)
def gemini_lists_our_server() -> str:
    """Its list has our server, in a project and for a user; taken out, it is gone."""
    said = []
    with Place(GEMINI_CLI_TRUST_WORKSPACE="true") as at:
        at.write("~/.gemini/settings.json", settings("gemini-api-key"))
        for scope in ("--project", "--user"):
            at.quandary("install", "gemini", scope, "--mcp")
            said.append(listed(at, GEMINI))
            assert said[-1] in IN_LIST, said
            at.quandary("uninstall", "gemini", scope)
            assert listed(at, GEMINI) == ""
        at.quandary("install", "gemini", "--mcp")
        del at.env["GEMINI_CLI_TRUST_WORKSPACE"]
        assert listed(at, GEMINI) == "Disabled", "a folder that nobody trusts"
    return " and ".join(said).lower()


@check(GEMINI)
def gemini_calls_our_server() -> None:
    """Its model is told of quandary, calls our server, and gets the question to relay."""
    with (
        Model(Call("quandary_ask", ASK), Call("quandary_runs", {})) as model,
        Place(
            GEMINI_API_KEY="none",
            GEMINI_CLI_TRUST_WORKSPACE="true",
            GEMINI_MODEL="gemini-2.5-flash",
            GOOGLE_GEMINI_BASE_URL=model.url,
        ) as at,
    ):
        at.write("~/.gemini/settings.json", settings("gemini-api-key"))
        at.quandary("install", "gemini", "--mcp")
        ended = at.run([GEMINI.path, "-p", "Go on.", "--approval-mode", "yolo"])
        assert ended.out.strip() == DONE, ended.said
        assert "Decisions go through quandary" in json.dumps(model.seen[0].body)
        asked, runs = (
            json.loads(text.partition(">\n")[2].rpartition("\n<")[0]) for text in model.results
        )
        require_relay(asked)
        assert [run["run"] for run in runs["runs"]] == [asked["run"]], runs
        assert at.only_run().status == "waiting"


@check(QWEN)
def qwen_calls_our_server() -> None:
    """Added with its own command, our server is found by its search and gives what to relay."""
    calls = (
        Call("tool_search", {"query": "select:mcp__quandary__ask"}),
        Call("tool_call", {"name": "mcp__quandary__ask", "arguments": ASK}),
    )
    with (
        Model(*calls) as model,
        Place(OPENAI_API_KEY="none", OPENAI_BASE_URL=f"{model.url}/v1", OPENAI_MODEL=MODEL) as at,
    ):
        at.write("~/.qwen/settings.json", settings("openai"))
        added = at.run([QWEN.path, "mcp", "add", "--scope", "user", "quandary", "quandary", "mcp"])
        assert added.status == 0, added.said
        assert listed(at, QWEN) in IN_LIST
        ended = at.run([QWEN.path, "-p", "Go on.", "--approval-mode", "yolo"])
        assert ended.out.strip() == DONE, ended.said
        require_relay(json.loads(model.results[1]))
