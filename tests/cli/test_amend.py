"""Changing an answer afterwards."""

from __future__ import annotations

import io
import sqlite3
from typing import TYPE_CHECKING

import pytest

from program import at_terminal
from runs import Project

if TYPE_CHECKING:
    from pathlib import Path

NUMBERED = {"TERM": "dumb"}
"""A terminal that can show no box, so that lines can be typed ahead."""


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with one tree."""
    return Project(tmp_path, capsys, monkeypatch)


def paths(project: Project, run: str) -> list[str]:
    """What was decided."""
    chosen = project.state("next", run)["result"]["chosenItems"]
    return [entry["path"] for entry in chosen]


def test_an_amendment_needs_a_reason(project: Project) -> None:
    """A blank one is none, also where it only looks blank, and nothing changes."""
    run = project.decided()
    for blank in (" ", "\u200b"):
        ended = project.call("amend", run, "no", "--to", "1.1:", "--why", blank)
        assert ended.status == 2
        assert "give a reason that somebody can read (--why)" in ended.err
    assert paths(project, run) == ["OK", "CUT"]


def test_an_amendment_is_read_from_standard_input(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a reply is; `-` is nobody's words."""
    run = project.decided()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"CUT\n")))
    ended = project.call("amend", run, "-", "--to", "1.1:", "--why", "too early")
    assert ended.status == 0
    assert paths(project, run) == ["CUT", "CUT"]


def test_what_is_missing_is_named_with_the_keys_there_are(project: Project) -> None:
    """Who has no terminal has to name the question, and learns here which names there are."""
    run = project.decided()
    ended = project.call("amend", run)
    assert ended.status == 2
    assert "--to KEY (1.1:, 1.2:)" in ended.err
    ended = project.call("amend", run, "ok", "--to", "9:", "--why", "x")
    assert ended.status == 2
    assert "has no answer to 9: that counts; there are 1.1:, 1.2:" in ended.err


def test_an_answer_that_was_taken_back_cannot_be_changed(project: Project) -> None:
    """It went with the answer before it."""
    run = project.ask()
    project.reply(run, "1.1: other\n1.2: ok")
    project.reply(run, "move it")
    project.state("amend", run, "cut", "--to", "1.1:", "--why", "no need")
    ended = project.call("amend", run, "split", "--to", "1.1:OTH", "--why", "x")
    assert ended.status == 2
    assert "there are 1.1:, 1.2:" in ended.err


def test_at_a_terminal_the_question_is_chosen_and_answered_anew(project: Project) -> None:
    """From a list with the answers so far; the other question of the batch is left alone."""
    run = project.decided()
    ended = at_terminal("amend", run, typed="2\nit is needed\n1\n", env=NUMBERED)
    assert ended.status == 0
    assert "2. The plan has two steps. None has begun. Step: Caching? → Caching: Leave it out" in (
        ended.out
    )
    assert "{" not in ended.out
    assert paths(project, run) == ["OK", "OK"]
    assert "(amends entry 3: it is needed)  — person (terminal)" in project.call("log", run).out


def test_at_a_terminal_only_what_is_missing_is_asked_for(project: Project) -> None:
    """Whoever names the question is not asked which one."""
    run = project.decided()
    typed = "it is needed\n2\n"
    ended = at_terminal("amend", run, "--to", "1.2:", typed=typed, env=NUMBERED)
    assert ended.status == 0
    assert "Which one" not in ended.out
    assert paths(project, run) == ["OK", "NO"]


def test_what_an_amendment_opens_is_asked_at_the_terminal_too(project: Project) -> None:
    """The person is still there."""
    run = project.decided()
    typed = "another place\nother\nmove it\n"
    ended = at_terminal("amend", run, "--to", "1.2:", typed=typed, env=NUMBERED)
    assert ended.status == 0
    assert paths(project, run) == ["OK", "OTH/MOV"]


def test_leaving_an_amendment_changes_nothing(project: Project) -> None:
    """No answer is no amendment."""
    run = project.decided()
    typed = "well\n\x04"
    ended = at_terminal("amend", run, "--to", "1.2:", typed=typed, env=NUMBERED)
    assert ended.status == 1
    assert "nothing was changed" in ended.out
    assert paths(project, run) == ["OK", "CUT"]


def test_a_damaged_run_is_not_amended(project: Project) -> None:
    """One line says where to look."""
    run = project.decided()
    with sqlite3.connect(project.store) as database:
        database.execute("UPDATE entry SET matter = x'00' WHERE n = 2")
    database.close()
    ended = project.call("amend", run, "ok", "--to", "1.2:", "--why", "x")
    said = f"run {run} has an entry that cannot be read; `quandary verify {run}` says which"
    assert (ended.status, ended.err) == (2, f"quandary: {said}\n")
