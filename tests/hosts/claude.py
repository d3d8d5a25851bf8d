"""Claude Code: its own questions in our inbox, our plugin, and our server among its tools."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hosts.checks import check
from hosts.clients import CLAUDE
from hosts.models import DONE, Call, Model
from hosts.people import at_inbox
from hosts.places import PATIENCE, Place, end
from quandary.doors.hosts.hooks import question_id
from quandary.journal.policy import set_preference

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    Control = Callable[[dict[str, Any]], dict[str, Any] | None]
    """What the program around Claude Code answers when it is asked something; nothing where its
    person leaves the dialog open."""

LEVEL = "The new module has no log level yet. Which level should it use?"
QUESTION = {
    "question": LEVEL,
    "header": "Level",
    "multiSelect": False,
    "options": [
        {"label": "Info (Recommended)", "description": "What an operator wants to know"},
        {"label": "Debug", "description": "What a developer wants to know"},
        {"label": "Silent", "description": "Nothing at all"},
    ],
}
ASKED = Call("AskUserQuestion", {"questions": [QUESTION]})


OWN = "~/.config/quandary/config.toml"
"""The user's settings."""


@contextmanager
def place(route: str = "", wait: float = 60) -> Iterator[Place]:
    """A home for Claude Code, in a project where questions go to the inbox if a route says so."""
    with Place(ANTHROPIC_API_KEY="none", ANTHROPIC_BASE_URL="http://127.0.0.1:9") as at:
        if route:
            at.write(OWN, f'[hooks]\nroute = "{route}"\nwait = {wait:g}\n')
        yield at


class Session:
    """A conversation with Claude Code, as a program that embeds it has one."""

    def __init__(
        self,
        at: Place,
        model: Model,
        control: Control,
        *words: str,
        hooked: Callable[[], None] | None = None,
    ) -> None:
        self._hooked = hooked
        """What to do when the hook before a question has begun."""
        self.asked: list[dict[str, Any]] = []
        """What the program around it was asked."""
        self.cancelled = 0
        """How often a dialog was closed because somebody else had decided."""
        self.events: list[dict[str, Any]] = []
        stream = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
        told = ("--include-hook-events", "--permission-prompt-tool", "stdio")
        command = [CLAUDE.path, "-p", *stream, *told, *words]
        with at.started(command, ANTHROPIC_BASE_URL=model.url) as process:
            clock = threading.Timer(PATIENCE, end, [process])
            clock.start()
            try:
                self._talk(process, control)
            finally:
                clock.cancel()
        assert self.events, "it said nothing"
        last = self.events[-1]
        assert last["type"] == "result", f"it ended early: {last}"
        assert last["result"] == DONE, last

    def _talk(self, process: subprocess.Popen[str], control: Control) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        hello = {"type": "user", "message": {"role": "user", "content": "Go on."}}
        process.stdin.write(json.dumps(hello) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            event = json.loads(line)
            if event["type"] == "control_request":
                self.asked.append(event["request"])
                response = control(event["request"])
                if response is None:
                    continue
                answer = {
                    "subtype": "success",
                    "request_id": event["request_id"],
                    "response": response,
                }
                process.stdin.write(
                    json.dumps({"type": "control_response", "response": answer}) + "\n"
                )
                process.stdin.flush()
                continue
            if event["type"] == "control_cancel_request":
                self.cancelled += 1
                continue
            self.events.append(event)
            if event.get("subtype") == "hook_started" and event["hook_event"] == "PreToolUse":
                self._begin()
            if event["type"] == "result":
                process.stdin.close()
                process.wait(15)
                return

    def _begin(self) -> None:
        """Our hook has just been started; it needs a moment until it waits."""
        if self._hooked is not None:
            threading.Timer(3, self._hooked).start()

    @property
    def start(self) -> dict[str, Any]:
        """What it said about itself."""
        return next(event for event in self.events if event.get("subtype") == "init")


def nobody(request: dict[str, Any]) -> dict[str, Any]:
    """A program around Claude Code that should not have been asked."""
    raise AssertionError(f"asked for {request}")


def silent(_: dict[str, Any]) -> None:
    """One whose person leaves every dialog open."""


def allowing(request: dict[str, Any]) -> dict[str, Any]:
    """One that lets every tool be used."""
    return {"behavior": "allow", "updatedInput": request["input"]}


def choosing(label: str) -> Control:
    """One whose person chooses an option in Claude Code's own form."""

    def control(request: dict[str, Any]) -> dict[str, Any]:
        assert request["tool_name"] == "AskUserQuestion", request
        return {
            "behavior": "allow",
            "updatedInput": {**request["input"], "answers": {LEVEL: label}},
        }

    return control


# -- its own questions -----------------------------------------------------------------------------


def answered_in_the_inbox(at: Place, *words: str) -> Session:
    """Have the person answer at the inbox, and see that Claude Code and the journal have it."""
    with at_inbox(at) as person, Model(ASKED) as model:
        found: list[dict[str, Any]] = []

        def answer() -> None:
            state = person.wait()
            found.append(state)
            assert person.answer(state["run"], "B", "for the tests").status_code == 200

        thread = threading.Thread(target=answer)
        thread.start()
        session = Session(at, model, silent, *words)
        thread.join(PATIENCE)
        assert found, "the question was never in the inbox"
        (question,) = found[0]["ask"]["tool_input"]["questions"]
        assert question["question"] == LEVEL, question
        assert person.inbox() == []
    (result,) = model.results
    assert f'"{LEVEL}"="Debug"' in result, result
    assert "for the tests" in result, result
    state = at.only_run()
    assert (state.status, state.result["codes"]) == ("done", ["B"]), state
    assert at.answers(state.run) == [("person", "web")], at.entries(state.run)
    return session


@check(CLAUDE)
def its_question_is_answered_in_the_inbox() -> None:
    """Its question waits in our inbox, and the answer from there is its tool's result."""
    with place("inbox") as at:
        at.quandary("install", "claude")
        settings = json.loads(at.file(".claude/settings.json").read_text(encoding="utf-8"))
        (hook,) = settings["hooks"]["PermissionRequest"][0]["hooks"]
        assert hook["timeout"] == 90, "half a minute more than a question waits"
        answered_in_the_inbox(at)


@check(CLAUDE)
def nobody_answers_in_time() -> None:
    """When nobody answers in time, its own form stays, and a late answer is refused."""
    with place("inbox", wait=2) as at:
        at.quandary("install", "claude")
        late: list[Any] = []
        with at_inbox(at) as person, Model(ASKED) as model:
            chosen = choosing("Info (Recommended)")

            def control(request: dict[str, Any]) -> dict[str, Any] | None:
                run = person.wait()["run"]
                person.until_gone()
                late.append(person.answer(run, "B"))
                return chosen(request)

            session = Session(at, model, control)
        assert len(session.asked) == 1, session.asked
        (refused,) = late
        assert refused.status_code == 409, refused.text
        assert "nobody answered within 2 seconds" in refused.text, refused.text
        (result,) = model.results
        assert f'"{LEVEL}"="Info (Recommended)"' in result, result
        state = at.only_run()
        kinds = [kind for kind, _, _ in at.entries(state.run)]
        assert "ended" in kinds, kinds
        assert state.result.get("codes") == ["A"], (state, kinds)


@check(CLAUDE)
def a_preference_answers() -> None:
    """A preference for what a person has seen answers its question, and nobody is asked."""
    with place("inbox") as at:
        at.quandary("install", "claude")
        answered_in_the_inbox(at)
        said: dict[str, Any] = {"who": "person", "through": "terminal"}
        set_preference(at.store, question_id(LEVEL), "never-ask", scope="", origin="", **said)
        with Model(ASKED) as model:
            Session(at, model, nobody)
        (result,) = model.results
        assert f'"{LEVEL}"="Info (Recommended)"' in result, result
        state = at.runs()[-1]
        assert at.answers(state.run) == [("policy", "preference")], at.entries(state.run)


@check(CLAUDE)
def a_question_that_cannot_be_answered_is_sent_back() -> None:
    """Where the settings are strict, a question without context is sent back with the reason."""
    options = [{"label": "A", "description": ""}, {"label": "B", "description": ""}]
    bare = {**QUESTION, "question": "Which one?", "options": options}
    with place() as at:
        at.write(OWN, "[hooks]\nstrict = true\n")
        at.quandary("install", "claude")
        with Model(Call("AskUserQuestion", {"questions": [bare]})) as model:
            Session(at, model, nobody)
        (result,) = model.results
        assert "cannot be answered by itself" in result, result
        assert at.runs() == []


@check(CLAUDE)
def a_relayed_question_is_answered_in_the_inbox() -> None:
    """A question that it only relays is answered in the inbox, and it is sent back to the run."""
    with place("inbox") as at:
        at.quandary("install", "claude")
        told = at.quandary("ask", "deploy.md", "--context", "All is green.", "--via", "relay")
        begun = json.loads(told)
        with (
            at_inbox(at) as person,
            Model(Call("AskUserQuestion", begun["ask"]["tool_input"])) as model,
        ):

            def answer() -> None:
                state = person.wait()
                assert person.answer(state["run"], "EVE").status_code == 200

            Session(at, model, silent, hooked=answer)
        (result,) = model.results
        assert f"quandary next {begun['run']}" in result, result
        state = at.only_run()
        assert state.status == "done", state


@check(CLAUDE)
def who_was_quicker_is_not_asked_again() -> None:
    """A question that was answered before it could relay it is not asked once more."""
    with place("inbox") as at:
        at.quandary("install", "claude")
        told = at.quandary("ask", "deploy.md", "--context", "All is green.", "--via", "relay")
        begun = json.loads(told)
        with at_inbox(at) as person:
            assert person.answer(begun["run"], "NOW").status_code == 200
        with Model(Call("AskUserQuestion", begun["ask"]["tool_input"])) as model:
            Session(at, model, silent)
        (result,) = model.results
        assert f"quandary next {begun['run']}" in result, result
        assert at.only_run().status == "done"
