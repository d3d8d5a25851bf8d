"""opencode and Copilot CLI: our server among their tools, entered as their own pages say."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import httpx

from hosts.checks import check
from hosts.clients import COPILOT, GEMINI, OPENCODE, ROOT
from hosts.gemini import ASK, require_relay
from hosts.gemini import settings as gemini_settings
from hosts.models import DONE, MODEL, Call, Model
from hosts.people import at_inbox
from hosts.places import PATIENCE, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hosts.people import Person

OWN = "~/.config/quandary/config.toml"
GATED = '[permissions]\nroute = "inbox"\nwait = 60\n'

QUESTION = {
    "question": "Which log level should the module use?",
    "header": "Level",
    "options": [{"label": "Info", "description": "a"}, {"label": "Debug", "description": "b"}],
}
TOUCH = Call("bash", {"command": "touch made.txt", "description": "Make a file"})
PAUSE = Call("bash", {"command": "sleep 3", "description": "Wait", "initial_wait": 30})
"""Copilot begins before servers are there."""


def settings(model: Model, **more: object) -> str:
    """What opencode is told: our model, and that nothing is sent anywhere."""
    ours = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
        "models": {MODEL: {"tool_call": True}},
    }
    alone = {"autoupdate": False, "share": "disabled"}
    return json.dumps({"model": f"ours/{MODEL}", "provider": {"ours": ours}, **alone, **more})


@check(OPENCODE)
def opencode_calls_our_server() -> None:
    """With our server in its settings, its model calls it and gets the question to relay."""
    with Model(Call("quandary_ask", ASK)) as model, Place() as at:
        ours = {"quandary": {"type": "local", "command": ["quandary", "mcp"]}}
        at.write("opencode.json", settings(model, mcp=ours))
        listed = at.run([OPENCODE.path, "mcp", "list"])
        assert "✓ quandary" in listed.out, listed.said
        ended = at.run([OPENCODE.path, "run", "Go on."])
        assert ended.out.strip() == DONE, ended.said
        require_relay(json.loads(model.results[0]))


@contextmanager
def followed(at: Place, model: Model) -> Iterator[httpx.Client]:
    """The server of opencode, which has our settings and is followed by us."""
    at.write("opencode.json", settings(model, permission={"bash": "ask"}))
    at.write(OWN, f'{GATED}[hooks]\nroute = "inbox"\nwait = 60\n')
    at.env["OPENCODE_SERVER_PASSWORD"] = "a-password"  # noqa: S105 - of this one server
    at.run(["git", "init", "--quiet", "."])  # or it looks through all that is on the machine
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    address, auth = f"http://127.0.0.1:{port}", ("opencode", "a-password")
    with (
        at.started([OPENCODE.path, "serve", "--port", str(port)]),
        httpx.Client(base_url=address, auth=auth, trust_env=False, timeout=PATIENCE) as http,
    ):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(httpx.TransportError):
                if http.get("/permission").status_code == httpx.codes.OK:
                    break
            time.sleep(0.2)
        with at.started([str(at.quandary_path), "hook", "opencode", address]):
            yield http


def converse(http: httpx.Client) -> None:
    """A conversation until opencode has nothing more to say."""
    session = http.post("/session", json={}).json()["id"]
    parts = [{"type": "text", "text": "Go on."}]
    sent = http.post(f"/session/{session}/message", json={"parts": parts})
    assert sent.status_code == httpx.codes.OK, sent.text


@check(OPENCODE)
def opencode_is_answered_in_the_inbox() -> None:
    """A command is allowed, another denied with words, and a question answered, in the inbox."""
    calls = (TOUCH, Call("bash", {"command": "touch other.txt", "description": "Another"}))
    with Model(*calls, Call("question", {"questions": [QUESTION]})) as model, Place() as at:
        with at_inbox(at) as person, followed(at, model) as http:
            thread = threading.Thread(target=converse, args=(http,))
            thread.start()
            assert person.answer(person.wait()["run"], "ONE").status_code == 200
            person.until_gone()
            assert person.say(person.wait()["run"], "one file is enough").status_code == 200
            person.until_gone()
            assert person.answer(person.wait()["run"], "B").status_code == 200
            thread.join(PATIENCE)
        allowed, denied, answered = model.results
        assert at.file("made.txt").exists(), allowed
        assert not at.file("other.txt").exists()
        assert "one file is enough" in denied, denied
        assert f'"{QUESTION["question"]}"="Debug"' in answered, answered
        assert [at.answers(state.run) for state in at.runs()] == [[("person", "web")]] * 3


@check(OPENCODE)
def opencode_is_answered_in_its_own_window() -> None:
    """Answered there first, what waits in the inbox is withdrawn."""
    with Model(TOUCH) as model, Place() as at:
        with at_inbox(at) as person, followed(at, model) as http:
            thread = threading.Thread(target=converse, args=(http,))
            thread.start()
            person.wait()
            (one,) = http.get("/permission").json()
            assert (
                http.post(f"/permission/{one['id']}/reply", json={"reply": "once"}).json() is True
            )
            person.until_gone()
            thread.join(PATIENCE)
        assert at.file("made.txt").exists()
        assert at.only_run().status == "withdrawn"


@check(COPILOT)
def copilot_is_decided_in_the_inbox() -> None:
    """With the hook of our page, a command is denied with words, and allowed, without a window."""
    for code, is_made in (("NO", False), ("ONE", True)):
        with Model(TOUCH) as model, Place() as at:
            at.env |= {"COPILOT_MODEL": MODEL, "COPILOT_PROVIDER_API_KEY": "none"}
            at.env |= {"COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1"}
            at.env |= {"COPILOT_PROVIDER_TYPE": "openai"}
            at.write(OWN, GATED)
            at.write("~/.copilot/hooks/quandary.json", hook_of("copilot"))
            with at_inbox(at) as person:
                said = decide_next(person, code)
                ended = at.run([COPILOT.path, "-p", "Go on."])
                said.join(PATIENCE)
            (result,) = model.results
            assert at.file("made.txt").exists() is is_made, (result, ended.said)
            assert is_made or "Not today." in result, result
            assert at.answers(at.only_run().run) == [("person", "web")]


def decide_next(person: Person, code: str) -> threading.Thread:
    """Somebody who answers the next request, with words where they deny it."""
    words = "Not today." if code == "NO" else ""
    thread = threading.Thread(target=lambda: person.answer(person.wait()["run"], code, words))
    thread.start()
    return thread


def hook_of(host: str) -> str:
    """What our page tells people to write for a host."""
    page = (ROOT / "docs" / "permissions.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"(?s)```json\n([^`]*hook permission {host}[^`]*)```", page)
    return str(found)


@check(GEMINI)
def gemini_is_denied_in_the_inbox() -> None:
    """With the hook of our page in mode yolo, a command is denied with words, or goes on."""
    command = {"command": "touch made.txt", "description": "Make a file"}
    for code, is_made in (("NO", False), ("ONE", True)):
        with (
            Model(Call("run_shell_command", command)) as model,
            Place(
                GEMINI_API_KEY="none",
                GEMINI_CLI_TRUST_WORKSPACE="true",
                GEMINI_MODEL="gemini-2.5-flash",
                GOOGLE_GEMINI_BASE_URL=model.url,
            ) as at,
        ):
            own = json.loads(gemini_settings("gemini-api-key")) | json.loads(hook_of("gemini"))
            at.write("~/.gemini/settings.json", json.dumps(own))
            at.write(OWN, GATED)
            with at_inbox(at) as person:
                said = decide_next(person, code)
                ended = at.run([GEMINI.path, "-p", "Go on.", "--approval-mode", "yolo"])
                said.join(PATIENCE)
            (result,) = model.results
            assert at.file("made.txt").exists() is is_made, (result, ended.said)
            assert is_made or "Not today." in result, result


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
