"""Runs from outside: listed, waited for, advised, withdrawn and verified."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from program import at_terminal
from quandary.formats.drawings import cells
from runs import CONTEXT, Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with one tree."""
    return Project(tmp_path, capsys, monkeypatch)


def test_a_list_says_what_each_run_is_about(project: Project) -> None:
    """A name of 26 letters tells nobody anything."""
    run = project.ask()
    line = project.call("runs").out
    assert line.startswith(f"{run}  waiting    ")
    assert line.endswith(f"  STEP: {CONTEXT}\n")
    assert project.state("runs", "--format", "json")["runs"][0]["about"] == f"STEP: {CONTEXT}"


def test_a_list_fits_the_screen(project: Project) -> None:
    """One run is one line there."""
    project.ask()
    project.ask("--context", "計画は書かれています。" * 5)
    for columns in (100, 80, 60, 40):
        for words in (("runs",), ("runs", "--all")):
            shown = at_terminal(*words, env={"COLUMNS": str(columns), "NO_COLOR": "1"}).out
            assert max(map(cells, shown.splitlines())) <= columns
            assert all(line.endswith("…") for line in shown.splitlines())


def test_a_list_of_every_project_says_which(project: Project, tmp_path: Path) -> None:
    """By the name of its folder; a list of one has no use for that."""
    project.ask()
    assert f"  {tmp_path.name[:15]}" in project.call("runs", "--all").out
    assert tmp_path.name[:15] not in project.call("runs").out


def test_a_list_tells_the_time_of_whoever_looks(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of the journal, which is in UTC."""
    run = project.ask()
    with closing(sqlite3.connect(project.store)) as raw, raw:
        raw.execute("UPDATE run SET since = '2027-03-02T23:15:00.000000Z'")
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert project.call("runs").out.startswith(f"{run}  waiting    2027-03-03 04:45  STEP")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_where_there_are_no_runs_the_others_are_counted(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody takes a folder without runs for a store without any."""
    project.decided()
    (tmp_path / "other" / ".quandary").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "other")
    assert project.call("runs").err == "no runs here; 1 run elsewhere: --all lists them\n"
    assert project.call("log").err == "no runs here; 1 run elsewhere: --all lists them\n"
    done = project.call("runs", "--status", "done").err
    assert done == "no done runs here; 1 done run elsewhere: --all lists them\n"
    assert project.call("runs", "--status", "failed").err == "no failed runs\n"


def test_what_has_expired_is_not_listed_as_waiting(project: Project) -> None:
    """Nobody has to look at the run itself for that."""
    run = project.ask("--expires", "1s")
    time.sleep(1.1)
    assert project.state("runs", "--status", "waiting", "--format", "json")["runs"] == []
    assert "withdrawn: nobody answered until" in project.call("log", run).out


def test_a_finished_run_is_told_in_words_at_a_terminal(project: Project) -> None:
    """JSON is for programs; with --via relay a person gets it too."""
    run = project.decided()
    ended = at_terminal("next", run)
    assert (ended.status, "Auth design: Fine (OK)\nCaching: Leave it out (CUT)\n" in ended.out) == (
        0,
        True,
    )
    assert "{" not in ended.out
    assert at_terminal("next", run, "--via", "relay").out.startswith("{")


def test_waiting_takes_a_number_of_seconds(project: Project) -> None:
    """What is no number would never be over."""
    run = project.ask()
    ended = project.call("next", run, "--wait", "nan")
    assert (ended.status, ended.out) == (2, "")


@pytest.mark.parametrize("text", ["", "  "])
def test_empty_advice_is_refused(project: Project, text: str) -> None:
    """It would say nothing, and must not be taken for Other left blank."""
    run = project.ask()
    ended = project.call("advise", run, text)
    assert (ended.status, ended.out) == (2, "")
    assert project.state("next", run)["ask"]["key"] == "1.1:"


def test_advice_offers_letters_that_are_free(project: Project) -> None:
    """The tree's own extra would win, and another thing be chosen than was read."""
    run = project.ask()
    ended = project.call("advise", run, "Ask them.", "--option", "a: Ask the web team")
    assert (ended.status, ended.out) == (2, "")
    assert "--option A is taken already; free are B, C, D" in ended.err
    ended = project.call("advise", run, "Ask them.", "--option", "no letter")
    assert "--option 'no letter'" in ended.err
    ended = project.call("advise", run, "Ask them.", "--option", "D: Ask {team}")
    assert (ended.status, ended.out) == (2, "")
    assert "option D still says {team}" in ended.err
    ended = project.call("advise", run, "It is up to [name].")
    assert (ended.status, "the advice still says [name]" in ended.err) == (2, True)


@pytest.mark.parametrize("code", ["N", "M"])
def test_no_letter_of_an_option_is_given_to_something_else(project: Project, code: str) -> None:
    """Also of one behind Other: whoever types it means that option, and not words of an agent's."""
    tree = project.folder / "t.md"
    text = tree.read_text(encoding="utf-8")
    text = text.replace("[NO]", "[N]").replace("[MOV]", "[M]")
    tree.write_text(text, encoding="utf-8")
    extra = f"{code}: It is fine"
    ended = project.call("ask", "t.md", "--context", CONTEXT, "--extra", extra)
    assert (ended.status, ended.out) == (2, "")
    assert f"extra {code} is the code of an option" in ended.err
    ended = project.call("advise", project.ask(), "Think of it.", "--option", extra)
    assert (ended.status, ended.out) == (2, "")
    assert f"--option {code} is taken already" in ended.err


def test_a_withdrawn_run_is_shown_to_its_caller(project: Project) -> None:
    """The work was done, so the exit status is 0, and the state says what became of the run."""
    run = project.ask()
    ended = project.call("withdraw", run, "--why", "not needed")
    assert ended.status == 0
    assert f'"run":"{run}","flow":"decide","status":"withdrawn"' in ended.out
    assert '"error":"not needed"' in ended.out


def test_a_reply_that_is_none_says_why(project: Project) -> None:
    """An agent that reads the line knows what to do about it."""
    run = project.ask()
    ended = project.call("reply", run, "")
    assert ended.status == 1
    assert ended.err == "quandary: no answer (error: nothing came back); the question waits\n"


def test_a_problem_with_a_whole_run_names_no_entry(project: Project) -> None:
    """There is no entry 0."""
    first, second = project.ask(), project.ask()
    with sqlite3.connect(project.store) as database:
        database.execute("DELETE FROM run WHERE id = ?", (first,))
    database.close()
    ended = project.call("verify")
    assert ended.status == 1
    assert f"quandary: run {second}: runs were removed before this one: 1\n" in ended.err
    assert "entry 0" not in ended.err


@pytest.mark.parametrize("digest", ["", "abc", "12-34", "x-" + "0" * 64])
def test_what_is_no_digest_is_wrong_usage(project: Project, digest: str) -> None:
    """It could not have been printed by verify."""
    project.ask()
    ended = project.call("verify", "--expect", digest)
    assert (ended.status, ended.out) == (2, "")


def test_an_empty_store_is_said_to_be_empty(project: Project) -> None:
    """A slip in the path of the store must not look like a good outcome."""
    ended = project.call("verify", "--store", "another.db")
    assert (ended.status, "there is no store another.db" in ended.err) == (2, True)
    assert not (project.folder / "another.db").exists()
