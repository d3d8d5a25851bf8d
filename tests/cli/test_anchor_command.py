"""`quandary verify` and every other command notice an older journal, here or by a kept anchor."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from program import at_terminal
from runs import Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with a store in a file, and a state folder of its own."""
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return Project(tmp_path, capsys, monkeypatch)


@pytest.fixture
def rolled_back(project: Project, tmp_path: Path) -> str:
    """A run that was answered, and waits again since an older file was restored; its name."""
    run = project.ask()
    assert project.call("store", "backup", "old.db").status == 0
    assert project.reply(run, "1.1: ok\n1.2: ok")["status"] == "done"
    for name in ("journal.db", "journal.db-wal", "journal.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "old.db", tmp_path / "journal.db")
    return run


@pytest.mark.parametrize("words", [("runs",), ("next",), ("reply", "-"), ("log",), ("export",)])
def test_whoever_opens_an_older_journal_is_told(
    project: Project, rolled_back: str, words: tuple[str, ...]
) -> None:
    """One line that says what is missing and what to do; the command does its work."""
    name, *rest = words
    run = () if name == "runs" else (rolled_back,)
    rest = ["1.1: ok\n1.2: ok"] if name == "reply" else rest
    ended = project.call(name, *run, *rest)
    (line, *_) = ended.err.splitlines()
    assert "older than what was seen here" in line
    assert "quandary verify --accept" in line
    assert ended.status == 0


def test_verify_finds_an_older_journal_until_a_person_accepts_it(
    project: Project, rolled_back: str
) -> None:
    """No program can; at a terminal it is one command."""
    ended = project.call("verify")
    assert (ended.status, ended.err.count("older than what was seen here")) == (1, 1)
    assert rolled_back not in ended.err
    refused = project.call("verify", "--accept")
    assert (refused.status, "only a person" in refused.err) == (1, True)
    assert project.call("verify").status == 1
    assert at_terminal("verify", "--accept").status == 0
    assert project.call("verify").status == 0


def test_an_anchor_is_written_compared_and_brought_up_to_date(
    project: Project, tmp_path: Path
) -> None:
    """One command from time to time; it is the line that verify prints."""
    run = project.ask()
    first = project.call("verify", "--anchor", "anchor.txt")
    assert (first.status, (tmp_path / "anchor.txt").read_text()) == (0, first.out)
    assert "was written" in first.err
    project.reply(run, "1.1: ok\n1.2: ok")
    second = project.call("verify", "--anchor", "anchor.txt")
    assert (second.status, (tmp_path / "anchor.txt").read_text()) == (0, second.out)
    assert first.out != second.out
    assert "fits" in second.err


def test_an_anchor_outlives_the_state_folder(
    project: Project, rolled_back: str, tmp_path: Path
) -> None:
    """It is not brought up to date with what does not fit it."""
    anchor = tmp_path / "anchor.txt"
    assert project.call("verify", "--anchor", "anchor.txt").status == 1
    assert not anchor.exists(), rolled_back
    anchor.write_text(f"9-{'a' * 64}  1 run, 9 entries\n")
    shutil.rmtree(tmp_path / "state")
    ended = project.call("verify", "--anchor", "anchor.txt")
    assert (ended.status, "older than the expected digest" in ended.err) == (1, True)
    anchor.write_text(f"2-{'a' * 64}\n")
    ended = project.call("verify", "--anchor", "anchor.txt")
    assert (ended.status, "is not what is there now" in ended.err) == (1, True)
    assert anchor.read_text() == f"2-{'a' * 64}\n"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("01J", "--anchor", "a"), 2),
        (("01J", "--accept"), 2),
        (("--anchor", "a", "--expect", f"1-{'a' * 64}"), 2),
        (("--anchor", "quandary.toml"), 2),
        (("--anchor", "no/such/folder"), 2),
    ],
)
def test_an_anchor_that_is_none(
    project: Project, tmp_path: Path, words: tuple[str, ...], status: int
) -> None:
    """One line, and nothing is written."""
    project.ask()
    (tmp_path / "quandary.toml").write_text("")
    ended = project.call("verify", *words)
    assert (ended.status, ended.err.count("quandary: ")) == (status, 1)
    assert (tmp_path / "quandary.toml").read_text() == ""


def test_an_export_carries_how_far_its_store_had_come(project: Project) -> None:
    """And `verify --expect` takes it."""
    run = project.ask()
    exported = json.loads(project.call("export", run).out)
    project.reply(run, "1.1: ok\n1.2: ok")
    assert project.call("verify", "--expect", exported["newest"]).status == 0
    seq, _, digest = exported["newest"].partition("-")
    assert exported["entries"][int(seq) - 1]["digest"] == digest
