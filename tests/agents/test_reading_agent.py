"""`[reading] agent`: an agent of the user's own that proposes what words mean."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from program import BY_A_PERSON, DEPLOY
from quandary.desk.authority import Caller
from quandary.desk.reply import record_reply
from quandary.flows import proposals
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Note, Reply
from quandary.model.calls import Call
from runs import Project

AGENT = Path(__file__).with_name("reading_agent.py")
WORDS = "once it is dark outside"


class Read(Project):
    """A project whose user has replies read."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        super().__init__(folder, capsys, monkeypatch)
        (folder / "t.md").write_text(DEPLOY, encoding="utf-8")
        self.asked = folder / "asked"
        self.config = folder / "config" / "quandary" / "config.toml"
        self.config.parent.mkdir(parents=True)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        self.set_reader()

    def set_reader(self, reading: str = '[reading]\nagent = "Ann"\n') -> None:
        """Write the user's settings."""
        argv = json.dumps([sys.executable, str(AGENT), str(self.asked)])
        self.config.write_text(f"{reading}[agents.ANN]\nargv = {argv}\n", encoding="utf-8")

    @property
    def calls(self) -> list[str]:
        """The folders in which the agent was asked."""
        return self.asked.read_text(encoding="utf-8").splitlines() if self.asked.exists() else []

    def begin(self, *words: str) -> str:
        """Begin a run about one thing."""
        state = self.state("ask", "t.md", "--context", "A build is ready.", *words)
        return str(state["run"])


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Read:
    """A project whose user has replies read."""
    return Read(tmp_path, capsys, monkeypatch)


def see(host: int, wanted: str) -> str:
    """What a terminal shows, until it shows this."""
    shown = ""
    while wanted not in shown:
        assert select.select([host], [], [], 30)[0], shown
        shown += os.read(host, 65536).decode()
    return shown


def outcome(state: dict[str, Any]) -> dict[str, Any]:
    """What became of the only item."""
    found: dict[str, Any] = state["result"]["chosenItems"][0]
    return found


def test_an_agent_of_the_user_proposes_and_the_person_confirms(project: Read) -> None:
    """The same confirmation as any; the journal keeps who proposed, in a call of its own."""
    run = project.begin()
    state = project.reply(run, WORDS)
    (form,) = state["ask"]["tool_input"]["questions"]
    assert form["question"].endswith(f"You wrote “{WORDS}”; is that “Deploy this evening”?")
    assert "Proposed by Ann" in state["ask"]["preamble"]
    state = project.reply(run, "yes")
    (told,) = outcome(state)["proposals"]
    assert (outcome(state)["path"], told["proposedBy"], told["by"]) == (
        "EVE",
        "Ann",
        "agent (relay)",
    )
    assert project.call("verify").status == 0
    (folder,) = project.calls
    assert not folder.startswith(str(project.folder))


def test_what_was_read_before_is_not_read_again(project: Read) -> None:
    """Not in another run either; and nothing of what the person wrote is kept for that."""
    for _ in range(2):
        assert "Ann" in project.reply(project.begin(), WORDS)["ask"]["preamble"]
    assert len(project.calls) == 1
    kept = [file for file in (project.folder / "state").rglob("readings/*") if file.is_file()]
    assert [file.read_text(encoding="utf-8") for file in kept] == ["EVE: Deploy this evening"]


def test_no_reply_is_read_by_an_agent_unless_the_user_said_so(project: Read) -> None:
    """It is off by default, and a repository cannot switch it on or name the program."""
    project.set_reader("")
    evil = '[reading]\nagent = "ANN"\n[agents.ANN]\nargv = ["false"]\n'
    (project.folder / "quandary.toml").write_text(evil, encoding="utf-8")
    assert outcome(project.reply(project.begin(), WORDS))["path"] == f"OTH/custom:{WORDS}"
    assert project.calls == []
    project.set_reader()
    assert "Ann" in project.reply(project.begin(), WORDS)["ask"]["preamble"]
    assert len(project.calls) == 1  # the user's program, and not the repository's


@pytest.mark.parametrize("reply", ["now", "what if it is dark?", "when dark, if the tests pass"])
def test_what_our_reader_understood_or_vetoes_costs_nothing(project: Read, reply: str) -> None:
    """A clear reply, a question and a condition are not sent anywhere."""
    assert project.reply(project.begin(), reply)["status"] == "done"
    assert project.calls == []


def test_an_agent_is_offered_only_what_the_words_do_not_rule_out(project: Read) -> None:
    """An option that our reader saw excluded is no route of the prompt."""
    run = project.begin()
    project.reply(run, "please not now, it should be dark first")
    with closing(SqliteStore(project.store)) as store:
        sent = [entry.read_matter().sent for entry in store.entries(run, kinds=("called",))]
    (call,) = [one for one in sent if isinstance(one, Call)]
    assert "EVE: Deploy this evening" in call.routes
    assert "NOW: Deploy now" not in call.routes


@pytest.mark.parametrize("words", ["a rainy day", "quoting a log", "failing"])
def test_without_a_proposal_words_count_as_they_were_read(project: Read, words: str) -> None:
    """An agent that has none, quotes one, or fails changes nothing."""
    state = project.reply(project.begin(), words)
    assert outcome(state)["path"] == f"OTH/custom:{words}"
    told = [note["kind"] for note in state["notes"]]
    assert told == ([] if words == "a rainy day" else ["reader"])


def test_reading_is_limited_in_time(project: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person is not kept waiting for an agent."""
    monkeypatch.setattr(proposals, "SECONDS", 0.5)
    state = project.reply(project.begin(), "sleeping")
    assert outcome(state)["path"] == "OTH/custom:sleeping"
    assert "had not ended" in state["notes"][0]["text"]


def test_an_agent_that_is_not_there_is_told_of(project: Read) -> None:
    """The reply counts, and a note says what to mend."""
    project.set_reader('[reading]\nagent = "NOSUCH"\n')
    state = project.reply(project.begin(), WORDS)
    assert outcome(state)["path"] == f"OTH/custom:{WORDS}"
    assert "there is no agent NOSUCH" in state["notes"][0]["text"]


@pytest.mark.parametrize("wrong", ["agent = 7", 'program = "x"'])
def test_settings_that_cannot_be_meant_are_refused(project: Read, wrong: str) -> None:
    """One line says what is wrong."""
    project.set_reader(f"[reading]\n{wrong}\n")
    ended = project.call("ask", "t.md", "--context", "A build is ready.")
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "[reading]" in ended.err


def test_a_run_starts_no_agent_that_the_settings_here_do_not_name(project: Read) -> None:
    """Somebody else may have begun it, in a store that several share."""
    run = project.begin()
    project.set_reader("")
    state = project.reply(run, WORDS)
    assert outcome(state)["path"] == f"OTH/custom:{WORDS}"
    assert "your settings name no agent for that" in state["notes"][0]["text"]
    assert project.calls == []


def test_doctor_knows_the_setting(project: Read) -> None:
    """In the user's file it is checked, and in a repository's it is said to be ignored."""
    (project.folder / "quandary.toml").write_text('[reading]\nagent = "ANN"\n', encoding="utf-8")
    said = project.call("doctor").out
    assert "[reading] of a project is ignored" in said
    assert "sets reading, agents" in said
    project.set_reader("[reading]\nagent = 7\n")
    assert "[reading] agent is a codename" in project.call("doctor").out


def test_a_script_is_asked_nothing_more(project: Read) -> None:
    """Nobody is there who could confirm."""
    (project.folder / "a.json").write_text(json.dumps([WORDS]), encoding="utf-8")
    state = project.state("ask", "t.md", "--context", "A build is ready.", "--answers", "a.json")
    assert state["status"] == "done"
    assert project.calls == []


def test_a_proposal_of_the_relaying_agent_is_not_read_again(project: Read) -> None:
    """Whoever relays has understood it."""
    run = project.begin()
    assert "agent (relay)" in project.reply(run, WORDS, "--proposed", "EVE")["ask"]["preamble"]
    assert project.calls == []


def test_where_a_person_is_required_the_person_confirms(project: Read) -> None:
    """An agent proposes what the person wrote, and only the person says yes."""
    run = project.begin("--require", "person")
    with closing(SqliteStore(project.store)) as store:
        key = runs.look(store, run).key or ""
        person = Caller("person", "web")
        state = record_reply(store, person, run, Reply((Answer(key, text=WORDS),)), to=key)
        assert (state.ask, len(state.calls)) == (None, 1)
    state_out = project.state("next", run)
    assert "Proposed by Ann" in state_out["ask"]["preamble"]
    ended = project.call("reply", run, "yes")
    assert ended.status == 1
    assert "only a person can answer this" in ended.err
    with closing(SqliteStore(project.store)) as store:
        key = runs.look(store, run).key or ""
        state = record_reply(store, person, run, Reply((Answer(key, picked=("YES",)),)), to=key)
    chosen = state.result["chosenItems"][0]
    assert (chosen["path"], chosen["by"]) == ("EVE", "person")


def test_a_reading_that_was_interrupted_is_not_made_twice(project: Read) -> None:
    """Somebody was gone in the middle of it: the words count as they were read."""
    run = project.begin()
    with closing(SqliteStore(project.store)) as store:
        key = runs.look(store, run).key or ""
        agent = Caller("agent", "relay")
        record_reply(store, agent, run, Reply((Answer(key, text=WORDS),)), to=key)
        runs.note(store, run, Note("started", "…"), who="agent", through="agent")
    assert outcome(project.state("next", run))["path"] == f"OTH/custom:{WORDS}"
    assert project.calls == []


def test_a_key_pressed_while_an_agent_reads_confirms_nothing(project: Read) -> None:
    """Whatever was typed before the confirmation was shown cannot be an answer to it."""
    host, screen = pty.openpty()
    program = subprocess.Popen(
        [*BY_A_PERSON, "ask", "t.md", "--context", "A build is ready."],
        stdin=screen,
        stdout=screen,
        stderr=screen,
        env={**os.environ, "TERM": "dumb"},
        cwd=project.folder,
    )
    os.close(screen)
    see(host, "> ")
    os.write(host, b"slowly, in the dark\n")
    see(host, "reads what you wrote")
    while not project.asked.exists():
        time.sleep(0.01)
    os.write(host, b"1\n")
    project.asked.with_name("asked.go").touch()
    assert "1. Yes" in see(host, "> ")
    os.write(host, b"2\n")
    assert "OTH/custom:slowly, in the dark" in see(host, "custom")
    assert program.wait(30) == 0
    os.close(host)


def test_an_advisor_answers_what_the_person_asks_back(project: Read) -> None:
    """`--advisor` names the agent, and the answer says whose it is."""
    says = json.dumps([sys.executable, "-c", "print('The web team.')"])
    project.set_reader(f"[agents.SAGE]\nargv = {says}\n")
    run = project.begin("--advisor", "sage", "--extra", "A? Show the plan")
    for reply, asked in (("Q: who wrote it?", "who wrote it?"), ("A", "Show the plan")):
        state = project.reply(run, reply)
        told = f"You asked: {asked}\n\nSAGE: The web team."
        assert state["ask"]["preamble"].startswith(told)
    refused = project.call("ask", "t.md", "--context", "x", "--advisor", "NOBODY")
    assert refused.status == 2
    assert "there is no agent NOBODY" in refused.err
