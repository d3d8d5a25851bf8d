"""`quandary report`: walks told as text, JSON and HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import walks
from program import at_terminal
from quandary.journal.sqlite import SqliteStore
from runs import Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with one tree."""
    return Project(tmp_path, capsys, monkeypatch)


@pytest.fixture
def run(project: Project) -> str:
    """A walk that was completed."""
    store = SqliteStore(project.store)
    state = walks.released(store)
    store.close()
    return state.run


def test_text_is_the_usual_form(project: Project, run: str) -> None:
    """A part of the run's name is enough."""
    ended = project.call("report", run[:25].lower())
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("Release: completed\n")
    assert "attempt 1, not accepted" in ended.out


def test_json_has_everything(project: Project, run: str) -> None:
    """One document with the path, the lines taken, and every visit with its attempts."""
    told = project.state("report", run, "--format", "json")
    assert (told["run"], told["outcome"], told["calls"]) == (run, "completed", 7)
    assert told["path"] == ["start", "build", "tests", "mend", "tests", "ship", "end"]
    first = told["stops"][1]["attempts"][0]
    assert (first["verdict"], first["exchanges"][1]["role"]) == ("failed", "check")
    assert first["exchanges"][0]["prompt"].startswith("Build the package")


def test_html_goes_into_a_pipe_or_a_file(project: Project, run: str) -> None:
    """The same page either way, and it is said where it went."""
    piped = project.call("report", run, "--format", "html")
    assert (piped.status, piped.err) == (0, "")
    assert piped.out.startswith("<!DOCTYPE html>")
    filed = project.call("report", run, "--format", "html", "--output", "r.html")
    assert filed == (0, "", "written to r.html\n")
    assert (project.folder / "r.html").read_text(encoding="utf-8") == piped.out
    dashed = project.call("report", run, "--format", "html", "--output", "-")
    assert dashed.out == piped.out


def test_html_is_not_poured_over_a_terminal(project: Project, run: str) -> None:
    """Nobody can read it there."""
    ended = at_terminal("report", run, "--format", "html")
    assert ended.status == 2
    assert ended.out == (
        "quandary: a terminal cannot show HTML; add --output report.html, or send it into a file\n"
    )
    ended = at_terminal("report", run, "--format", "html", "--output", "r.html")
    assert ended.status == 0
    assert (project.folder / "r.html").exists()


def test_the_other_forms_can_go_into_a_file_too(project: Project, run: str) -> None:
    """As UTF-8."""
    for form in ("text", "json"):
        piped = project.call("report", run, "--format", form)
        assert project.call("report", run, "--format", form, "--output", "r").status == 0
        assert (project.folder / "r").read_text(encoding="utf-8") == piped.out


def test_a_file_that_cannot_be_written_is_named(project: Project, run: str) -> None:
    """On one line."""
    ended = project.call("report", run, "--output", "no/such/r.txt")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "quandary: no/such/r.txt: cannot be written (no such file or directory)\n"


def test_a_run_that_is_no_walk_has_its_log(project: Project) -> None:
    """Which is said, with the command."""
    run = project.decided()
    ended = project.call("report", run)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == (
        f"quandary: run {run} is not a walk (its flow is decide); "
        f"`quandary log {run}` tells what was asked and answered\n"
    )


def test_a_run_that_is_not_there_is_not_reported(project: Project, run: str) -> None:
    """Nor is a store made for it."""
    assert run
    assert project.call("report", "01ZZ").status == 2
    ended = project.call("report", "01ZZ", "--store", "none.db")
    assert (ended.status, "there is no store" in ended.err) == (2, True)
    assert not (project.folder / "none.db").exists()


def test_a_failed_run_is_reported_well(project: Project) -> None:
    """The report is what was asked for, and it was made."""
    store = SqliteStore(project.store)
    state = walks.go(store, walks.begin(store), walks.failed)
    store.close()
    ended = project.call("report", state.run)
    assert (ended.status, ended.out.splitlines()[0]) == (
        0,
        "Release: failed at “Build the package”",
    )


def test_an_entry_that_cannot_be_read_is_said_to_be_one(project: Project, run: str) -> None:
    """Without a traceback, and with what to do."""
    store = SqliteStore(project.store)
    store._rows("UPDATE entry SET matter = X'7B' WHERE n = 3", ())
    store.close()
    ended = project.call("report", run)
    assert (ended.status, ended.out) == (2, "")
    assert "cannot be read" in ended.err
    assert "quandary verify" in ended.err
