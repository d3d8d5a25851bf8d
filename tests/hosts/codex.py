"""Codex: our server among its tools, its forms, and its own question box."""

from __future__ import annotations

import json
import shlex
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hosts.checks import check
from hosts.clients import CODEX
from hosts.models import DONE, MODEL, Call, Model
from hosts.places import PATIENCE, Place, end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Control = Callable[[str, dict[str, Any]], dict[str, Any]]
    """What the program around Codex answers when it is asked something."""

SETTINGS = """\
# Written by hand.
model = "{model}"
model_provider = "ours"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.ours]
name = "Ours"
base_url = "{url}/v1"
env_key = "NO_KEY"
wire_api = "responses"
"""
ASK = Call("quandary_ask", {"source": "deploy.md", "context": "All is green."})
WAITING = ("-c", "mcp_servers.quandary.required=true")
"""Codex begins before servers are there, unless it cannot do without them."""


@contextmanager
def place(model: Model) -> Iterator[Place]:
    """A home for Codex with settings that lead to our model."""
    with Place(NO_KEY="none") as at:
        at.write("~/.codex/config.toml", SETTINGS.format(model=MODEL, url=model.url))
        yield at


class Session:
    """A conversation with Codex, as an editor that embeds it has one."""

    def __init__(self, at: Place, control: Control, *words: str, mode: str = "default") -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        """What the program around it was asked."""
        self._control = control
        with at.started([CODEX.path, "app-server", *words]) as process:
            self._process = process
            clock = threading.Timer(PATIENCE, end, [process])
            clock.start()
            try:
                self._talk(str(at.project), mode)
            finally:
                clock.cancel()

    def _talk(self, folder: str, mode: str) -> None:
        info = {"name": "quandary-hosts", "title": "Hosts", "version": "1"}
        self._call("initialize", clientInfo=info, capabilities={"experimentalApi": True})
        self._send(method="initialized")
        thread = self._call(
            "thread/start", cwd=folder, sandbox="danger-full-access", approvalPolicy="on-request"
        )
        settings = {"model": MODEL, "reasoning_effort": None, "developer_instructions": None}
        self._call(
            "turn/start",
            threadId=thread["thread"]["id"],
            input=[{"type": "text", "text": "Go on."}],
            collaborationMode={"mode": mode, "settings": settings},
        )
        turn = self._until("turn/completed")["turn"]
        assert turn["status"] == "completed", turn

    def _call(self, method: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
        self._send(id=method, method=method, params=params)
        return self._until(method)

    def _send(self, **message: Any) -> None:  # noqa: ANN401 - any JSON
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _until(self, name: str) -> dict[str, Any]:
        """Hear what it says until an answer or a notice of that name, and answer its questions."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            method = message.get("method")
            if method is None:
                if message["id"] == name:
                    assert "error" not in message, message
                    result: dict[str, Any] = message["result"]
                    return result
            elif "id" in message:
                self.asked.append((method, message["params"]))
                self._send(id=message["id"], result=self._control(method, message["params"]))
            elif method == name:
                params: dict[str, Any] = message["params"]
                return params
        raise AssertionError(f"it ended before {name}")


def data(result: str) -> dict[str, Any]:
    """What a tool gave back, without what Codex says above it."""
    found: dict[str, Any] = json.loads(result.partition("Output:\n")[2])
    return found


def shell(line: str) -> dict[str, Any]:
    """A line for its shell, with time to come to its end."""
    return {"cmd": line, "yield_time_ms": 30000}


@check(CODEX)
def its_list_has_our_server() -> None:
    """Its list has our server, in the settings of the user and of a project that it trusts."""
    with Model() as model, place(model) as at:
        before = at.file("~/.codex/config.toml").read_text(encoding="utf-8")
        at.quandary("install", "codex", "--user", "--mcp")
        listed = at.run([CODEX.path, "mcp", "list", "--json"])
        (server,) = json.loads(listed.out)
        assert (server["name"], server["enabled"]) == ("quandary", True), server
        at.quandary("uninstall", "codex", "--user")
        assert json.loads(at.run([CODEX.path, "mcp", "list", "--json"]).out) == []
        assert at.file("~/.codex/config.toml").read_text(encoding="utf-8") == before
        at.quandary("install", "codex", "--project", "--mcp")
        assert json.loads(at.run([CODEX.path, "mcp", "list", "--json"]).out) == []
        trusted = f'{before}\n[projects."{at.project}"]\ntrust_level = "trusted"\n'
        at.write("~/.codex/config.toml", trusted)
        (server,) = json.loads(at.run([CODEX.path, "mcp", "list", "--json"]).out)
        assert server["transport"]["args"] == ["mcp"], server


@check(CODEX)
def in_exec_the_question_comes_back_to_relay() -> None:
    """Run without a window, it declines our form by itself, and the model gets it to relay."""
    with Model(ASK) as model, place(model) as at:
        at.quandary("install", "codex", "--user", "--mcp")
        words = [CODEX.path, "exec", "--skip-git-repo-check", *WAITING, "Go on."]
        ended = at.run(words)
        assert ended.out.strip() == DONE, ended.said
        assert "Decisions go through quandary" in json.dumps(model.seen[0].body["input"])
        told = data(model.results[0])
        assert told["status"] == "waiting", told
        assert [note["kind"] for note in told["notes"]] == ["unavailable"], told
        (question,) = told["ask"]["tool_input"]["questions"]
        assert set(question) == {"id", "header", "question", "options"}, question
        assert "question tool" in told["then"], told
        assert at.only_run().status == "waiting"


@check(CODEX)
def its_form_is_filled_in() -> None:
    """In a program that embeds it, our form is shown and answered, and so is the next one."""
    forms = [{"answer_1": "OTH"}, {"answer_1": "PART", "comment_1": "Only there."}]

    def control(method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert method == "mcpServer/elicitation/request", (method, params)
        assert params["serverName"] == "quandary", params
        time.sleep(0.8)  # as long as somebody needs at the least to read it
        return {"action": "accept", "content": forms.pop(0), "_meta": None}

    with Model(ASK) as model, place(model) as at:
        at.quandary("install", "codex", "--user", "--mcp")
        session = Session(at, control, *WAITING)
        assert len(session.asked) == 2, session.asked
        told = data(model.results[0])
        assert told["status"] == "done", told
        (item,) = told["result"]["chosenItems"]
        assert (item["path"], item["comment"]) == ("OTH/PART", "Only there."), item
        assert at.answers(at.only_run().run) == [("agent", "mcp")] * 2


@check(CODEX)
def the_whole_relay() -> None:
    """The relay from end to end: our command, its own question box in plan mode, the result."""
    with Model() as model, place(model) as at:
        at.quandary("install", "codex", "--user")
        program = shlex.quote(str(at.quandary_path))

        def relayed(results: tuple[str, ...]) -> dict[str, Any]:
            found: dict[str, Any] = data(results[0])["ask"]["tool_input"]
            return found

        def replied(results: tuple[str, ...]) -> dict[str, Any]:
            _, *words = data(results[0])["ask"]["reply_with"]
            return shell(f"{program} {shlex.join(words)} <<'END'\n{results[1]}\nEND")

        def control(method: str, params: dict[str, Any]) -> dict[str, Any]:
            assert method == "item/tool/requestUserInput", (method, params)
            (question,) = params["questions"]
            said = ["Deploy this evening", "user_note: After eight."]
            return {"answers": {question["id"]: {"answers": said}}}

        words = "ask deploy.md --context 'All is green.' --via relay --host codex"
        model.calls = (
            Call("exec_command", shell(f"{program} {words}")),
            Call("request_user_input", relayed),
            Call("exec_command", replied),
        )
        Session(at, control, mode="plan")
        told = data(model.results[2])
        assert told["status"] == "done", told
        (item,) = told["result"]["chosenItems"]
        assert (item["path"], item["comment"]) == ("EVE", "After eight."), item


@check(CODEX)
def its_question_box_is_not_always_there() -> None:
    """Outside plan mode its question box refuses, which is booked as no answer."""
    with Model() as model, place(model) as at:
        how = ("--via", "relay", "--host", "codex")
        begun = json.loads(at.quandary("ask", "deploy.md", "--context", "All is green.", *how))
        model.calls = (Call("request_user_input", begun["ask"]["tool_input"]),)
        at.run([CODEX.path, "exec", "--skip-git-repo-check", "Go on."])
        (said,) = model.results
        at.write("said.txt", said)
        words = ("reply", begun["run"], "--to", "1:", "--file", "said.txt")
        told = json.loads(at.quandary(*words, status=1))
        assert told["status"] == "waiting", told
        assert [note["kind"] for note in told["notes"]] == ["unavailable"], told


@check(CODEX)
def its_sandbox_needs_to_know_our_folder() -> None:
    """In its sandbox our command says that it cannot write; told of our folder, it can."""
    closed = ("exclude_slash_tmp=true", "exclude_tmpdir_env_var=true")
    for more, said in (
        ((), "journal.db cannot be opened"),
        (("writable_roots",), '"status":"waiting"'),
    ):
        with Model() as model, place(model) as at:
            program = shlex.quote(str(at.quandary_path))
            line = f"{program} ask deploy.md --context 'All is green.' --via relay --host codex"
            model.calls = (Call("exec_command", shell(line)),)
            roots = [f'writable_roots=["{at.data}"]' for _ in more]
            words = [f"sandbox_workspace_write.{one}" for one in (*closed, *roots)]
            told = [part for one in words for part in ("-c", one)]
            sandbox = ("--skip-git-repo-check", "--sandbox", "workspace-write")
            at.run([CODEX.path, "exec", *sandbox, *told, "Go on."])
            (result,) = model.results
            assert said in result, result
