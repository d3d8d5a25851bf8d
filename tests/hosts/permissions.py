"""Permissions and plans of Claude Code and Codex, decided in our inbox beside their dialogs."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hosts import codex
from hosts.checks import check
from hosts.claude import ASKED, LEVEL, OWN, Session, allowing, silent
from hosts.claude import place as claude_place
from hosts.clients import CLAUDE, CODEX
from hosts.models import Call, Model
from hosts.people import Person, at_inbox
from hosts.places import PATIENCE, Place
from quandary.doors.hosts.host_files import EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hosts.claude import Control

OPTIONS = [
    {"label": "Info", "description": "What an operator wants to know"},
    {"label": "Debug", "description": "What a developer wants to know"},
]
SETTINGS = '[permissions]\nroute = "inbox"\nwait = {:g}\n'
TOUCH = Call("Bash", {"command": "touch made.txt", "description": "Make a file"})
FAILING = Call("Bash", {"command": "touch made.txt; exit 3", "description": "Make a file"})


@contextmanager
def gated(wait: float = 60) -> Iterator[tuple[Place, Person]]:
    """Claude Code with its permissions in the inbox, and somebody there."""
    with claude_place() as at:
        at.write(OWN, SETTINGS.format(wait))
        at.quandary("install", "claude", "--user", "--permissions")
        with at_inbox(at) as person:
            yield at, person


def decided(
    at: Place,
    person: Person,
    answer: Callable[[str], object],
    *calls: Call,
    control: Control = silent,
    words: tuple[str, ...] = (),
) -> tuple[Session, Model]:
    """A conversation in which somebody at the inbox answers each request with its run."""
    with Model(*calls) as model:
        trouble: list[BaseException] = []

        def decide() -> None:
            try:
                for _ in calls:
                    answer(person.wait()["run"])
                    person.until_gone()
            except BaseException as error:  # noqa: BLE001 - told below
                trouble.append(error)

        thread = threading.Thread(target=decide)
        thread.start()
        session = Session(at, model, control, *words)
        thread.join(PATIENCE)
        assert not trouble, trouble
    return session, model


@check(CLAUDE)
def a_command_is_allowed_in_the_inbox() -> None:
    """Allowed in the inbox, its command runs, its dialog closes, and the permit is used."""
    with gated() as (at, person):
        session, model = decided(at, person, lambda run: person.answer(run, "ONE"), TOUCH)
        assert len(model.results) == 1
        assert at.file("made.txt").exists()
        assert (len(session.asked), session.cancelled) == (1, 1), session.asked
        state = at.only_run()
        assert (state.result["decision"], state.result["used"]) == ("allow", True), state
        assert at.answers(state.run) == [("person", "web")]


@check(CLAUDE)
def a_command_is_denied_with_words() -> None:
    """Denied with words, it does not run, and its agent reads just these words."""
    with gated() as (at, person):
        words = "write notes.txt instead"
        _, model = decided(at, person, lambda run: person.say(run, words), TOUCH)
        assert model.results == (words,), model.results
        assert not at.file("made.txt").exists()


@check(CLAUDE)
def a_command_is_changed() -> None:
    """Allowed with changes, the changed command runs and the other does not."""
    with gated() as (at, person):

        def change(run: str) -> None:
            assert person.answer(run, "CHG").status_code == 200
            assert person.say(run, "touch other.txt").status_code == 200

        decided(at, person, change, TOUCH)
        assert at.file("other.txt").exists()
        assert not at.file("made.txt").exists()


@check(CLAUDE)
def nobody_decides_in_time() -> None:
    """When nobody decides in time, its own dialog decides, and that is what is recorded."""
    with gated(wait=2) as (at, person):

        def control(request: dict[str, Any]) -> dict[str, Any]:
            person.wait()
            person.until_gone()
            return allowing(request)

        with Model(TOUCH) as model:
            Session(at, model, control)
        assert at.file("made.txt").exists()
        state = at.only_run()
        assert (state.status, state.result["by"]) == ("done", "host"), state
        refused = person.answer(state.run, "NO")
        assert refused.status_code == 409, refused.text


@check(CLAUDE)
def its_own_dialog_is_quicker() -> None:
    """Allowed in its own dialog while it waits in the inbox, it is closed there as the host's."""
    with gated() as (at, person):

        def control(request: dict[str, Any]) -> dict[str, Any]:
            person.wait()
            return allowing(request)

        with Model(FAILING) as model:  # it was allowed, whatever came of it
            Session(at, model, control)
        assert at.file("made.txt").exists()
        person.until_gone()
        state = at.only_run()
        assert (state.result["decision"], state.result["by"]) == ("allow", "host"), state


@check(CLAUDE)
def both_places_answer_at_once() -> str:
    """Denied in the inbox and allowed in its dialog at once, one counts, and the record says so."""
    with gated() as (at, person):
        sent: list[threading.Thread] = []

        def control(request: dict[str, Any]) -> dict[str, Any]:
            run = person.wait()["run"]
            sent.append(threading.Thread(target=lambda: person.answer(run, "NO")))
            sent[0].start()
            return allowing(request)

        with Model(TOUCH) as model:
            Session(at, model, control)
        sent[0].join(PATIENCE)
        person.until_gone()
        state, was_made = at.only_run(), at.file("made.txt").exists()
        entries = at.store.entries(state.run, kinds=("noted",))
        notes = [entry.read_matter().text for entry in entries]
        assert state.result, (state, at.entries(state.run), notes, was_made)
        told = state.result["decision"] == "allow" or any("all the same" in one for one in notes)
        assert told is was_made, (state, notes, model.results)
        return f"{state.result['decision']}, {'done' if was_made else 'not done'}"


@check(CLAUDE)
def a_running_server_is_the_hook_itself() -> None:
    """A server that runs is the hook itself: allowed, denied with words, allowed in the dialog."""
    with claude_place() as at, at_inbox(at) as person:
        at.write(OWN, SETTINGS.format(60))
        at.quandary("install", "claude", "--user", "--permissions")
        settings = json.loads(at.file("~/.claude/settings.json").read_text(encoding="utf-8"))
        kinds = {event: settings["hooks"][event][0]["hooks"][0]["type"] for event in EVENTS}
        assert kinds == {
            "PreToolUse": "command",
            "PermissionRequest": "http",
            "PostToolUse": "http",
            "SessionStart": "command",
            "PostToolUseFailure": "http",
        }, kinds
        session, _ = decided(at, person, lambda run: person.answer(run, "ONE"), TOUCH)
        assert at.file("made.txt").exists()
        assert (len(session.asked), session.cancelled) == (1, 1), session.asked
        at.file("made.txt").unlink()
        _, model = decided(at, person, lambda run: person.say(run, "not today"), TOUCH)
        assert model.results == ("not today",), model.results
        assert not at.file("made.txt").exists()

        def control(request: dict[str, Any]) -> dict[str, Any]:
            person.wait()
            return allowing(request)

        with Model(FAILING) as model:
            Session(at, model, control)
        person.until_gone()
        allowed, denied, elsewhere = at.runs()
        assert (allowed.result["used"], denied.result["decision"]) == (True, "deny")
        assert (elsewhere.result["decision"], elsewhere.result["by"]) == ("allow", "host")
        at.quandary("uninstall", "claude", "--user")
        assert not at.file("~/.claude/settings.json").exists()


@check(CLAUDE)
def a_plan_is_revised_and_approved() -> None:
    """A plan is sent back with remarks; its next version shows what changed, and is approved."""
    with gated() as (at, person):
        at.env["ENABLE_TOOL_SEARCH"] = "false"  # or the tool that ends planning is left aside
        model: list[Model] = []

        def write(text: str) -> Call:
            def arguments(_: tuple[str, ...]) -> dict[str, Any]:
                said = str(model[0].seen[0].body)
                path = re.findall(r"/[\w./-]+/plans/[\w.-]+\.md", said)[0]
                return {"file_path": path, "content": text}

            return Call("Write", arguments)

        seen: list[str] = []

        def answer(run: str) -> None:
            state = person.http.get(f"/api/runs/{run}").json()
            seen.append(str(state["ask"]))
            one: dict[str, Any] = {"key": "1:", "picked": ["OK"], "comment": "And lint."}
            if len(seen) == 1:
                remark = {"file": "plan.md", "line": 3, "text": "What of it?"}
                one = {"key": "1:", "picked": ["REV"], "annotations": [remark]}
            sent = person.http.post(f"/api/runs/{run}/reply", json={"answers": [one]})
            assert sent.status_code == 200, sent.text

        leave = Call("ExitPlanMode", {})
        calls = (write("# Plan\n\n- build\n"), leave, write("# Plan\n\n- test\n- build\n"), leave)
        with Model(*calls) as scripted:
            model.append(scripted)

            def decide() -> None:
                for _ in range(2):
                    answer(person.wait()["run"])
                    person.until_gone()

            thread = threading.Thread(target=decide)
            thread.start()
            Session(at, scripted, silent, "--permission-mode", "plan")
            thread.join(PATIENCE)
        assert "wants the plan revised. plan.md:3 What of it?" in scripted.results[1]
        assert "plan.md" in seen[0], seen
        assert "+- test" in seen[1], seen
        assert "approved" in scripted.results[3].casefold(), scripted.results[3]
        assert "And lint." in scripted.results[3], scripted.results[3]


@check(CLAUDE)
def a_plan_and_a_question_are_answered_in_its_own_dialogs() -> None:
    """Both leave the inbox at once, recorded as the host's report."""
    with gated() as (at, person):
        at.write(OWN, SETTINGS.format(60) + '[hooks]\nroute = "inbox"\nwait = 60\n')
        at.env["ENABLE_TOOL_SEARCH"] = "false"
        model: list[Model] = []

        def control(request: dict[str, Any]) -> dict[str, Any]:
            person.wait()
            given = request["input"]
            if request["tool_name"] == "AskUserQuestion":
                given = {**given, "answers": {LEVEL: "Debug"}}
            return {"behavior": "allow", "updatedInput": given}

        def plan(_: tuple[str, ...]) -> dict[str, Any]:
            path = re.findall(r"/[\w./-]+/plans/[\w.-]+\.md", str(model[0].seen[0].body))[0]
            return {"file_path": path, "content": "# Plan\n"}

        calls = (Call("Write", plan), ASKED, Call("ExitPlanMode", {}))
        with Model(*calls) as scripted:
            model.append(scripted)
            Session(at, scripted, control, "--permission-mode", "plan")
        asked, planned = at.runs()
        assert (asked.status, asked.result["by"]) == ("done", "host"), asked
        assert (planned.status, planned.result["by"]) == ("done", "host"), planned


@check(CODEX)
def its_question_is_answered_in_the_inbox() -> None:
    """Its question waits in the inbox, and the answer reaches it as the reason of a refusal."""
    asked = {"id": "level", "header": "Level", "question": LEVEL, "options": OPTIONS}
    with (
        Model(Call("request_user_input", {"questions": [asked]})) as model,
        codex.place(model) as at,
    ):
        at.write(OWN, '[hooks]\nroute = "inbox"\nwait = 60\n')
        at.quandary("install", "codex", "--user")
        with at_inbox(at) as person:
            answer = lambda: person.answer(person.wait()["run"], "B", "for the tests")  # noqa: E731
            thread = threading.Thread(target=answer)
            thread.start()
            trusted = ("--skip-git-repo-check", "--dangerously-bypass-hook-trust")
            ended = at.run([CODEX.path, "exec", *trusted, "Go on."])
            thread.join(PATIENCE)
        (result,) = model.results
        assert f"“{LEVEL}”: “Debug”, with the note “for the tests”" in result, (result, ended.said)
        state = at.only_run()
        assert (state.status, state.result["codes"]) == ("done", ["B"]), state
        assert at.answers(state.run) == [("person", "web")], at.entries(state.run)


@check(CODEX)
def its_command_is_decided_in_the_inbox() -> None:
    """A command beyond its sandbox is denied with words, and allowed, in the inbox."""
    line = {"cmd": "touch made.txt", "sandbox_permissions": "require_escalated"}
    line |= {"justification": "The file has to be there."}
    for code, is_made in (("NO", False), ("ONE", True)):
        with Model(Call("exec_command", line)) as model, codex.place(model) as at:
            at.write(OWN, SETTINGS.format(60))
            at.quandary("install", "codex", "--user", "--permissions")
            with at_inbox(at) as person:

                def decide(person: Person = person, code: str = code) -> None:
                    person.answer(person.wait()["run"], code, "Not today." if code == "NO" else "")

                thread = threading.Thread(target=decide)
                thread.start()
                trusted = ("--approve-for-me", "--dangerously-bypass-hook-trust")
                ended = at.run([CODEX.path, "exec", "--skip-git-repo-check", *trusted, "Go on."])
                thread.join(PATIENCE)
            (result,) = model.results
            assert at.file("made.txt").exists() is is_made, ended.said
            assert is_made or "Not today." in result, result
