"""Who asked: said with the run, kept with its beginning, shown wherever runs are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.doors.hosts import hooks
from quandary.journal.entries import Asker, Began, encode, read_beginning, read_body
from quandary.journal.sqlite import SqliteStore
from runs import Project

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_who_asks_is_recorded_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name that was given, and the host in whose shell the command ran."""
    project = Project(tmp_path, capsys, monkeypatch)
    monkeypatch.setenv("CLAUDECODE", "1")
    run = project.ask("--by", "release-bot")
    assert project.call("runs").out.endswith(" — release-bot · claude\n")
    [listed] = project.state("runs", "--format", "json")["runs"]
    assert listed["by"] == "release-bot · claude"
    [log] = project.state("log", run, "--format", "json")["runs"]
    assert log["entries"][0]["by"] == "release-bot"
    assert log["entries"][0]["text"].endswith("(asked by host claude)")
    assert "release-bot" in project.call("log", "--grep", "release-bot").out


def test_a_host_says_who_asks_with_every_question(tmp_path: Path) -> None:
    """Its session, the agent in it, and the model, where it tells."""
    options = [{"label": "Info"}, {"label": "Debug"}]
    said = {
        "session_id": "s1",
        "turn_id": "7",
        "agent_type": "reviewer",
        "model": "m-5",
        "tool_name": "AskUserQuestion",
        "tool_use_id": "t1",
        "tool_input": {"questions": [{"question": "Which level?", "options": options}]},
    }
    call = hooks.read_call(said)
    assert call is not None
    store = SqliteStore(tmp_path / "journal.db")
    state = hooks.begin_record(store, call, call.questions[0], "")
    body, _ = read_beginning(store, state.run)
    assert body.asker == Asker("codex", "s1", "reviewer", "m-5")
    assert body.asked_by == "reviewer · codex"
    store.close()


def test_a_beginning_from_before_names_nobody() -> None:
    """What is not said is not written either, so that old digests hold."""
    old = (
        b'{"entry":"began","at":"2026-01-01","who":"agent","through":"command",'
        b'"flow":"decide","version":1}'
    )
    body = read_body(old)
    assert isinstance(body, Began)
    assert (body.asker, body.asked_by, encode(body)) == (Asker(), "", old)
