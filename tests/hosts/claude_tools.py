"""Claude Code with our plugin, and with our server among its tools."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING, Any

from hosts.checks import check
from hosts.claude import Session, answered_in_the_inbox, place
from hosts.clients import CLAUDE, ROOT
from hosts.models import DONE, Call, Model

if TYPE_CHECKING:
    from hosts.claude import Control
    from hosts.places import Place

ASK = Call("quandary_ask", {"source": "deploy.md", "context": "All is green."})
WAITING = {"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000"}
"""A conversation begins when all servers are there."""
AT_ONCE = {"ENABLE_TOOL_SEARCH": "false", **WAITING}
"""The same, and no tool is left aside until it is searched for."""
OURS = ("--allowedTools", "mcp__quandary")

# -- the plugin ------------------------------------------------------------------------------------


def _clone(at: Place) -> None:
    """The repository as somebody has it beside their project, as far as plugins go."""
    for name in (".claude-plugin", "plugin"):
        shutil.copytree(ROOT / name, at.root / "quandary" / name)


def _claude(at: Place, *words: str, status: int = 0) -> str:
    ended = at.run([CLAUDE.path, *words])
    assert ended.status == status, ended.said
    return ended.said


@check(CLAUDE)
def the_plugin_is_valid() -> None:
    """Its own validator has nothing against our plugin and our marketplace."""
    with place() as at:
        _clone(at)
        for folder in ("quandary", "quandary/plugin"):
            said = _claude(at, "plugin", "validate", "--strict", str(at.root / folder))
            assert "Validation passed" in said, said


@check(CLAUDE)
def the_plugin_works() -> None:
    """Installed as a plugin: skill, server and hooks are there; taken out, they are gone."""
    with place("inbox") as at:
        _clone(at)
        _claude(at, "plugin", "marketplace", "add", str(at.root / "quandary"))
        _claude(at, "plugin", "install", "quandary@quandary")
        texts = [finding["text"] for finding in at.doctor()]
        assert "the plugin quandary@quandary is switched on" in texts, texts
        at.env |= AT_ONCE
        start = answered_in_the_inbox(at).start
        assert "quandary:quandary" in start["skills"], start["skills"]
        servers = {server["name"]: server["status"] for server in start["mcp_servers"]}
        assert servers.get("plugin:quandary:quandary") == "connected", servers
        _claude(at, "plugin", "uninstall", "quandary@quandary")
        (finding,) = at.doctor()
        assert "installed for none" in finding["text"], finding


# -- our server ------------------------------------------------------------------------------------


def person(*turns: tuple[str, dict[str, Any]]) -> Control:
    """A program around Claude Code with somebody who fills in one form after the other."""
    left = list(turns)

    def control(request: dict[str, Any]) -> dict[str, Any]:
        if request["subtype"] != "elicitation":
            return {"behavior": "allow", "updatedInput": request["input"]}
        assert request["mcp_server_name"] == "quandary", request
        time.sleep(0.8)  # as long as somebody needs at the least to read it
        action, content = left.pop(0)
        return {"action": action, **({"content": content} if content else {})}

    return control


@check(CLAUDE)
def its_form_is_filled_in() -> None:
    """Its model calls our server, which shows a form, and the next one; both are answered."""
    with place() as at:
        at.env |= AT_ONCE
        at.quandary("install", "claude", "--mcp")
        forms = [("accept", {"answer_1": "OTH"}), ("accept", {"answer_1": "PART"})]
        with Model(ASK) as model:
            session = Session(at, model, person(*forms), *OURS)
        assert len(session.asked) == 2, session.asked
        choices = session.asked[0]["requested_schema"]["properties"]["answer_1"]["oneOf"]
        assert [choice["const"] for choice in choices] == ["NOW", "EVE", "NO", "OTH"], choices
        told = json.loads(model.results[0])
        assert told["status"] == "done", told
        assert told["result"]["chosenItems"][0]["path"] == "OTH/PART", told
        answers = at.answers(at.only_run().run)
        assert answers == [("agent", "mcp")] * 2, answers


@check(CLAUDE)
def its_form_is_declined() -> None:
    """A form that is declined ends the run, one that is closed leaves it waiting."""
    for action, status in (("decline", "declined"), ("cancel", "waiting")):
        with place() as at:
            at.env |= AT_ONCE
            at.quandary("install", "claude", "--mcp")
            with Model(ASK) as model:
                Session(at, model, person((action, {})), *OURS)
            told = json.loads(model.results[0])
            assert told["status"] == status, told
            assert at.only_run().status == status


@check(CLAUDE)
def in_print_mode_the_question_comes_back_to_relay() -> None:
    """In print mode nobody sees a form: it is closed at once, and the model gets it to relay."""
    with place() as at:
        at.env |= AT_ONCE
        at.quandary("install", "claude", "--mcp")
        with Model(ASK, Call("quandary_runs", {})) as model:
            words = [CLAUDE.path, "-p", "Go on.", *OURS]
            ended = at.run(words, ANTHROPIC_BASE_URL=model.url)
        assert ended.out.strip() == DONE, ended
        assert "AskUserQuestion" not in model.tools, "a question box with nobody at it"
        asked, runs = map(json.loads, model.results)
        assert asked["status"] == "waiting", asked
        assert [note["kind"] for note in asked["notes"]] == ["unavailable"], asked
        assert asked["ask"]["tool_input"]["questions"][0]["header"] == "1. Deploy", asked
        assert "question tool" in asked["then"], asked
        assert [run["run"] for run in runs["runs"]] == [asked["run"]], runs


@check(CLAUDE)
def the_whole_relay() -> None:
    """The relay from end to end: our tool, its own question box, our command, the result."""
    with place() as at:
        at.env |= AT_ONCE
        at.quandary("install", "claude", "--mcp")

        def control(request: dict[str, Any]) -> dict[str, Any]:
            if request["subtype"] == "elicitation":
                return {"action": "cancel"}
            given = request["input"]
            if request["tool_name"] == "AskUserQuestion":
                text = given["questions"][0]["question"]
                given = {**given, "answers": {text: "Deploy this evening"}}
            return {"behavior": "allow", "updatedInput": given}

        def relayed(results: tuple[str, ...]) -> dict[str, Any]:
            found: dict[str, Any] = json.loads(results[0])["ask"]["tool_input"]
            return found

        def replied(results: tuple[str, ...]) -> dict[str, Any]:
            line = " ".join(json.loads(results[0])["ask"]["reply_with"])
            return {"command": f"{line} <<'END'\n{results[1]}\nEND", "description": "Hand it back"}

        calls = (ASK, Call("AskUserQuestion", relayed), Call("Bash", replied))
        with Model(*calls) as model:
            Session(at, model, control, *OURS)
        assert len(model.results) == 3, model.results
        told = json.loads(model.results[2])
        assert told["status"] == "done", told
        assert told["result"]["chosenItems"][0]["path"] == "EVE", told
        assert at.answers(at.only_run().run) == [("agent", "relay")]


@check(CLAUDE)
def its_search_finds_our_tools() -> None:
    """Where it leaves tools aside until they are searched for, ours are found and called."""
    with place() as at:
        at.env |= WAITING
        at.quandary("install", "claude", "--mcp")
        search = Call("ToolSearch", {"query": "ask the person to decide", "max_results": 5})
        with Model(search, ASK) as model:
            words = [CLAUDE.path, "-p", "Go on.", *OURS]
            at.run(words, ANTHROPIC_BASE_URL=model.url)
        found, told = model.results
        assert "mcp__quandary__ask" in found, found
        assert json.loads(told)["status"] == "waiting", told


@check(CLAUDE)
def it_lists_our_server() -> None:
    """Its list has our server: a project's once it is approved, a user's as our message says."""
    with place() as at:
        at.quandary("install", "claude", "--mcp")
        assert "Pending approval" in _claude(at, "mcp", "list")
        at.write("~/.claude/settings.json", json.dumps({"enabledMcpjsonServers": ["quandary"]}))
        assert "quandary mcp - ✔ Connected" in _claude(at, "mcp", "list")
        at.quandary("uninstall", "claude")
        assert "No MCP servers configured" in _claude(at, "mcp", "list")
    with place() as at:
        refused = at.run(["quandary", "install", "claude", "--user", "--mcp"])
        _claude(at, *refused.err.partition("run: claude ")[2].split())
        assert "quandary mcp - ✔ Connected" in _claude(at, "mcp", "list")
        texts = [finding["text"] for finding in at.doctor()]
        assert f"the MCP server in {at.home / '.claude.json'}" in texts, texts
