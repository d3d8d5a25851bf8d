"""Sessions of Claude Code and Codex: told what was decided, parked while they wait, and resumed."""

from __future__ import annotations

import json
import os
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hosts import codex
from hosts.checks import check
from hosts.claude import ASKED, LEVEL, OWN, place
from hosts.clients import CLAUDE, CODEX
from hosts.models import DONE, Call, Model
from hosts.people import at_inbox
from hosts.places import PATIENCE, SILENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hosts.models import Seen, Turn
    from hosts.places import Place


def decide(at: Place) -> str:
    """Have something decided in a project, and give the answer."""
    asked = at.quandary("ask", "deploy.md", "--context", "Build 812 is ready.", "--via", "relay")
    run = json.loads(asked)["run"]
    at.quandary("reply", run, "after the audit in March")
    return "after the audit in March"


def is_told(model: Model, words: str) -> bool:
    """Whether the model was sent these words, as those of our hook."""
    return any(words in body and "follow nothing in it" in body for body in map(str, seen(model)))


def seen(model: Model) -> list[str]:
    """What the model was sent."""
    return [json.dumps(one.body, ensure_ascii=False) for one in model.seen]


@check(CLAUDE)
def a_session_is_told_what_was_decided() -> None:
    """A session that starts knows what was decided before."""
    with place() as at, Model() as model:
        at.quandary("install", "claude")
        answer = decide(at)
        ended = at.run([CLAUDE.path, "-p", "Go on."], ANTHROPIC_BASE_URL=model.url)
        assert DONE in ended.out, ended.said
        assert is_told(model, answer), seen(model)


@check(CODEX)
def its_session_is_told_what_was_decided() -> None:
    """A session that starts knows what was decided before, once its person trusts the hook."""
    with Model() as model, codex.place(model) as at:
        at.quandary("install", "codex", "--user")
        answer = decide(at)
        words = ("--skip-git-repo-check", "--dangerously-bypass-hook-trust", "Go on.")
        ended = at.run([CODEX.path, "exec", *words])
        assert is_told(model, answer), ended.said


@check(CLAUDE)
def a_parked_question_is_resumed() -> None:
    """Without a window its question is set aside; answered in the inbox, its session goes on."""
    with place() as at, Model(ASKED) as model:
        at.write(OWN, "[hooks]\npark = true\n")
        at.quandary("install", "claude")
        at.env["PATH"] += os.pathsep + os.path.dirname(CLAUDE.path)
        at.env["ANTHROPIC_BASE_URL"] = model.url
        words = ("-p", "--permission-prompt-tool", "stdio", "--output-format", "json", "Go on.")
        parked = json.loads(at.run([CLAUDE.path, *words]).out)
        assert parked["stop_reason"] == "tool_deferred", parked
        with at_inbox(at) as person:
            run = person.wait()["run"]
            at.quandary("resume", run, status=1)
            assert person.answer(run, "B").status_code == 200
        assert DONE in at.quandary("resume", run)
        (result,) = model.results
        assert f'"{LEVEL}"="Debug"' in result, result
        assert at.answers(run) == [("person", "web")], at.entries(run)


TASK = "Find out by the command line when build 812 goes out."


class Delegating(Model):
    """A model that has a sub-agent do its task, and speaks for that as well."""

    def __init__(self, *calls: Call) -> None:
        given = {"description": "Ask", "prompt": TASK, "subagent_type": "general-purpose"}
        super().__init__(Call("Agent", given))
        self.delegate = Model(*calls)

    def turn(self, seen: Seen) -> Turn:
        """What the sub-agent says, where its task is what the conversation begins with."""
        if TASK in json.dumps(seen.body["messages"][:1]):
            return self.delegate.turn(seen)
        return super().turn(seen)


@check(CLAUDE)
def a_sub_agent_asks_by_the_command_line() -> None:
    """A sub-agent, which has no question tool, asks by the command line and hears the answer."""
    line = "quandary ask deploy.md --context 'Build 812 is ready.' --via relay"

    def wait(results: tuple[str, ...]) -> dict[str, str]:
        return {"command": f"quandary next {json.loads(results[0])['run']} --wait 60"}

    asked, waited = Call("Bash", {"command": line}), Call("Bash", wait)
    with place() as at, Delegating(asked, waited) as model, at_inbox(at) as person:
        answered: list[int] = []

        def answer() -> None:
            state = person.wait()
            code = state["ask"]["tool_input"]["questions"][0]["options"][0]["label"]
            answered.append(person.say(state["run"], code).status_code)

        thread = threading.Thread(target=answer)
        thread.start()
        words = ("-p", "--allowedTools", "Bash(quandary:*)", "--", "Go on.")
        ended = at.run([CLAUDE.path, *words], ANTHROPIC_BASE_URL=model.url)
        thread.join(PATIENCE)
        assert answered == [200], ended.said
        offered = {tool.name for seen in model.delegate.seen for tool in seen.tools}
        assert "AskUserQuestion" not in offered, offered
        state = json.loads(model.delegate.results[1])
        assert state["status"] == "done", state


# -- in the middle of a walk's step ----------------------------------------------------------------

CHART = "flowchart TD\n  a{Ship it?} -->|yes| b([End])\n  a -->|no| c([End])\n"
WALK = ("walk", "step.mmd", "--cli", "CLAUDE", "--via", "relay")
HANDED_IN = {"choices": ["yes", "no"], "answer": "yes", "reasons": "It is ready."}
TOUCH = Call("Bash", {"command": "touch made.txt", "description": "Make a file"})


class Working(Model):
    """A model that does a step of a walk: it calls tools, and then hands in what was asked for."""

    def __init__(self, *calls: Call) -> None:
        super().__init__(*calls, Call("StructuredOutput", self.hand_in))

    def hand_in(self, _: tuple[str, ...]) -> dict[str, Any]:
        """The response that the prompt asks for, with the nonce of its call."""
        said = json.dumps(self.seen[0].body, ensure_ascii=False)
        return {**HANDED_IN, "nonce": re.findall(r"with the text (\w+):", said)[-1]}


@contextmanager
def walking(model: Model) -> Iterator[Place]:
    """A project whose chart Claude Code walks, and may ask on the way."""
    with place() as at:
        names = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", *SILENCE)
        env = json.dumps([name for name in names if name in at.env])
        at.write(OWN, f'[agents.CLAUDE]\npermissions = "ask"\nenv = {env}\n')
        at.write("step.mmd", CHART)
        at.env["PATH"] += os.pathsep + os.path.dirname(CLAUDE.path)
        at.env["ANTHROPIC_BASE_URL"] = model.url
        yield at


@check(CLAUDE)
def a_question_in_a_step_is_one_of_its_run() -> None:
    """In a walk, its question waits in that run; answered, its session hands in the step."""
    with Working(ASKED) as model, walking(model) as at, at_inbox(at) as person:
        state = json.loads(at.quandary(*WALK))
        (question,) = state["ask"]["tool_input"]["questions"]
        assert LEVEL in question["question"], question
        key = state["ask"]["key"]
        assert person.answer(state["run"], "B", key=key).status_code == 200
        done = json.loads(at.quandary("walk", "--resume", state["run"], "--via", "relay"))
        assert done["status"] == "done", done
        (step,) = done["result"]["steps"]
        assert (step["route"], step["attempts"]) == ("yes", 1), step
        assert f'"{LEVEL}"="Debug"' in model.seen[-1].results[0], model.seen[-1]
        assert len(at.runs()) == 1, "nothing but the walk is recorded"


@check(CLAUDE)
def a_permission_in_a_step_is_one_of_its_run() -> None:
    """In a walk, what it wants to do waits in that run; allowed, it is done, and just that."""
    with Working(TOUCH) as model, walking(model) as at, at_inbox(at) as person:
        state = json.loads(at.quandary(*WALK))
        assert "touch made.txt" in state["ask"]["preamble"], state
        assert not at.file("made.txt").exists()
        key = state["ask"]["key"]
        assert person.answer(state["run"], "ONE", key=key).status_code == 200
        done = json.loads(at.quandary("walk", "--resume", state["run"], "--via", "relay"))
        assert done["status"] == "done", done
        assert at.file("made.txt").exists()


@check(CLAUDE)
def two_stops_of_a_step_follow_each_other() -> None:
    """A step stops for a question, then for a permission that is denied with words; one attempt."""
    words = "leave the files alone"
    with Working(ASKED, TOUCH) as model, walking(model) as at, at_inbox(at) as person:
        state = json.loads(at.quandary(*WALK))
        assert person.answer(state["run"], "A", key=state["ask"]["key"]).status_code == 200
        again = json.loads(at.quandary("walk", "--resume", state["run"], "--via", "relay"))
        assert person.say(state["run"], words).status_code == 200, again
        done = json.loads(at.quandary("walk", "--resume", state["run"], "--via", "relay"))
        assert (done["status"], done["result"]["steps"][0]["attempts"]) == ("done", 1), done
        assert words in model.seen[-1].results[1], model.seen[-1]
        assert not at.file("made.txt").exists()


# -- permissions that are parked -------------------------------------------------------------------


@contextmanager
def parking(model: Model) -> Iterator[Place]:
    """A home in which sessions without a window are parked before they do anything."""
    with place() as at:
        at.write(OWN, "[permissions]\npark = true\n")
        at.quandary("install", "claude", "--user", "--permissions")
        at.env["PATH"] += os.pathsep + os.path.dirname(CLAUDE.path)
        at.env["ANTHROPIC_BASE_URL"] = model.url
        yield at


@check(CLAUDE)
def a_parked_permission_is_allowed() -> None:
    """Without a window it is parked before it does something; allowed, it does it, once."""
    with Model(TOUCH) as model, parking(model) as at, at_inbox(at) as person:
        words = ("-p", "--output-format", "json", "Go on.")
        parked = json.loads(at.run([CLAUDE.path, *words]).out)
        assert parked["stop_reason"] == "tool_deferred", parked
        run = person.wait()["run"]
        at.quandary("resume", run, status=1)
        assert person.answer(run, "ONE").status_code == 200
        assert DONE in at.quandary("resume", run)
        assert at.file("made.txt").exists()
        state = at.only_run()
        assert (state.result["decision"], state.result["used"]) == ("allow", True), state
        at.quandary("resume", run, status=1)


@check(CLAUDE)
def a_parked_permission_is_denied_with_words() -> None:
    """Denied with words, it does nothing, and its agent reads these words."""
    words = "write notes.txt instead"
    with Model(TOUCH) as model, parking(model) as at, at_inbox(at) as person:
        at.run([CLAUDE.path, "-p", "Go on."])
        run = person.wait()["run"]
        assert person.say(run, words).status_code == 200
        assert DONE in at.quandary("resume", run)
        assert words in model.results[0], model.results
        assert not at.file("made.txt").exists()
