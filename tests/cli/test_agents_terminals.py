"""A terminal that is an agent's own: nothing typed there counts as a person's."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from program import BY_A_PERSON, PROGRAM, Ended, type_at
from quandary.desk import authority
from quandary.desk import reply as desk
from quandary.desk.authority import Caller, HandRefused
from quandary.errors import ParseError
from quandary.journal.entries import Ended as End
from quandary.journal.entries import Noted
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply
from quandary.settings.agents import known_agents
from runs import CONTEXT, Project

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.settings.agents import Agent

PERSON = Caller("person", "terminal")
VARIABLES = [variable for agent in known_agents() for variable in agent.shell]
ASKING = ("ask", "t.md", "--context", CONTEXT)


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with one tree, and nothing of whoever runs the tests."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Project(tmp_path, capsys, monkeypatch)


def at_terminal(*words: str, command: tuple[str, ...] = PROGRAM, **env: str) -> Ended:
    """The program at a terminal, where somebody types an answer."""
    return type_at([*command, *words], "1\n", {"TERM": "dumb", **env})


def noted(project: Project, run: str) -> list[tuple[str, str, str]]:
    """What a run has noted, and whose hand it was."""
    store = SqliteStore(project.store)
    found = []
    for entry in store.entries(run, kinds=("noted",)):
        body = entry.read()
        assert isinstance(body, Noted)
        found.append((body.kind, f"{body.who} ({body.through})", entry.read_matter().text))
    assert store.entries(run, kinds=("answered",)) == []
    store.close()
    return found


def test_a_persons_word_is_not_taken_in_the_shell_of_an_agent(project: Project) -> None:
    """One line says why and what to do, and the run keeps what was seen."""
    run = project.state(*ASKING)["run"]
    ended = at_terminal("next", run, "--via", "terminal", CLAUDECODE="1")
    assert ended.status == 1
    (line,) = ended.out.strip().splitlines()[-1:]
    assert line.startswith("quandary: this is the shell of an agent (CLAUDECODE is set), so ")
    assert "answer in the browser (quandary serve)" in line
    assert "quandary reply" in line
    assert noted(project, run) == [
        (
            "refused",
            "agent (terminal)",
            "No answer was taken at a terminal: this is the shell of an agent (CLAUDECODE is set).",
        )
    ]


def test_nothing_is_begun_that_could_not_be_answered_there(project: Project) -> None:
    """Asked for a terminal it refuses; asked for nothing it relays, as for any agent."""
    ended = at_terminal(*ASKING, "--via", "terminal", CODEX_SANDBOX="seatbelt")
    assert (ended.status, "CODEX_SANDBOX is set" in ended.out) == (1, True)
    assert project.state("runs", "--format", "json")["runs"] == []
    asked = json.loads(at_terminal(*ASKING, GEMINI_CLI="").out.splitlines()[-1])
    assert (asked["status"], "tool_input" in asked["ask"]) == ("waiting", True)
    shown = json.loads(at_terminal("next", asked["run"], CLAUDECODE="1").out.splitlines()[-1])
    assert shown["status"] == "waiting"


@pytest.mark.parametrize("how", ["program", "script"])
def test_the_program_of_an_agent_is_seen_above_this_one(
    project: Project, tmp_path: Path, how: str
) -> None:
    """Whatever it has done to its variables."""
    run, agent = project.state(*ASKING)["run"], tmp_path / "claude"
    line = f"{sys.executable} -m quandary next {run} --via terminal; exit $?"
    if how == "program":
        agent.symlink_to("/bin/bash")
        command = [str(agent), "-c", line]
    else:
        agent.write_text(line, encoding="utf-8")
        command = ["sh", str(agent)]
    ended = type_at(command, "1\n", {"TERM": "dumb"})
    assert (ended.status, "claude has started it" in ended.out) == (1, True)
    assert noted(project, run)[0][0] == "refused"


def test_commands_of_an_agent_at_a_terminal_are_an_agents(project: Project) -> None:
    """It withdraws as itself, and cannot set what only a person sets."""
    run = project.state(*ASKING)["run"]
    assert at_terminal("withdraw", run, "--why", "done", CLAUDECODE="1").status == 0
    store = SqliteStore(project.store)
    body = store.entries(run)[-1].read()
    store.close()
    assert isinstance(body, End)
    assert (body.who, body.through) == ("agent", "command")
    refused = at_terminal("prefer", "set", "step", "never-ask", CLAUDECODE="1")
    assert (refused.status, "only a person sets preferences" in refused.out) == (2, True)


def test_the_users_settings_rule_terminals_out(project: Project) -> None:
    """There and nowhere else: a file of a project can neither allow nor forbid it."""
    (project.folder / "quandary.toml").write_text('[authority]\nperson = ["web"]\n', "utf-8")
    run = project.state(*ASKING)["run"]
    (project.folder / "config/quandary").mkdir(parents=True)
    settings = project.folder / "config/quandary/config.toml"
    settings.write_text('[authority]\nperson = ["web"]\n', "utf-8")
    (project.folder / "quandary.toml").write_text('[authority]\nperson = ["terminal", "web"]\n')
    ended = at_terminal("next", run, "--via", "terminal", command=BY_A_PERSON)
    assert ended.status == 1
    assert "your settings let a person answer only in the browser" in ended.out
    settings.unlink()
    (project.folder / "quandary.toml").write_text('[authority]\nperson = ["web"]\n', "utf-8")
    answered = at_terminal("next", run, "--via", "terminal", command=BY_A_PERSON)
    assert answered.status == 0, answered


@pytest.mark.parametrize("said", ["web", [], ["terminal"], ["web", "hook"], [["web"]]])
def test_a_setting_that_makes_no_sense_lets_nobody_in(said: object) -> None:
    """It is an error, not a default."""
    with pytest.raises(ParseError, match="person is"):
        authority.read_doors({"person": said})
    with pytest.raises(ParseError, match="no key"):
        authority.read_doors({"persons": ["web"]})


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("variable", VARIABLES)
def test_each_agent_is_known_by_its_variables(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Also where they are empty."""
    monkeypatch.setattr(authority, "_ancestors", lambda: iter(()))
    assert authority.find_agent() == ""
    monkeypatch.setenv(variable, "")
    assert authority.find_agent() == f"{variable} is set"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("agent", known_agents(), ids=lambda agent: agent.name)
def test_each_agent_is_known_by_its_program(monkeypatch: pytest.MonkeyPatch, agent: Agent) -> None:
    """As the catalogue names it."""
    name = agent.argv[0]
    monkeypatch.setattr(authority, "_ancestors", lambda: iter(["bash", name, "init"]))
    assert authority.find_agent() == f"{name} has started it"


def test_no_door_of_the_desk_takes_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever calls the desk as a person at a terminal is held to the same rule."""
    run = project.state(*ASKING)["run"]
    monkeypatch.setattr(authority, "find_agent", lambda: "a robot arm")
    store = SqliteStore(project.store)
    reply = Reply((Answer("1:", ("OK",)),))
    with pytest.raises(HandRefused, match="a robot arm"):
        desk.record_reply(store, PERSON, run, reply)
    with pytest.raises(HandRefused, match="a robot arm"):
        desk.amend(store, PERSON, run, reply, key="1:", why="so")
    store.close()
    assert noted(project, run)[0][1] == "agent (terminal)"
