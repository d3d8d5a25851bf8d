"""`quandary store`, and every other command with a store on a server."""

from __future__ import annotations

import json
import re
import threading
from itertools import count
from typing import TYPE_CHECKING

import pytest

import databases
import program
from databases import PASSWORD, QUOTED
from runs import CONTEXT, ITEMS, Project
from walk_projects import DONE, GOOD, WalkProject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINE = re.compile(r"\d+-[0-9a-f]{64}  \d+ runs?, \d+ entries\n")


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with a store in a file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Project(tmp_path, capsys, monkeypatch)


@pytest.fixture
def url() -> Iterator[str]:
    """An empty schema on a server."""
    with databases.shared().schema() as url:
        yield url


def test_a_journal_moves_to_a_server_and_back(project: Project, url: str) -> None:
    """It is the same journal each time, and goes on wherever it is."""
    run = project.decided()
    waiting = project.ask()
    verified = project.call("verify").out
    assert LINE.fullmatch(verified)
    assert project.call("store", "copy", "journal.db", url) == (0, verified, "")
    assert project.call("verify", "--store", url, "--expect", verified.split()[0]).status == 0
    assert project.call("store", "copy", url, "back.db") == (0, verified, "")
    shown = [project.call("log", run, "--store", where).out for where in (url, "back.db")]
    assert shown == [project.call("log", run).out] * 2
    state = project.reply(waiting, "1.1: ok\n1.2: ok", "--store", url)
    assert state["status"] == "done"


def test_a_store_that_is_not_empty_is_not_copied_into(project: Project, url: str) -> None:
    """Exit 1, and both are as they were."""
    project.ask()
    assert project.call("store", "copy", "journal.db", url).status == 0
    before = project.call("verify", "--store", url).out
    project.ask()
    ended = project.call("store", "copy", "journal.db", url)
    assert (ended.status, ended.out) == (1, "")
    assert "is not empty" in ended.err
    assert project.call("verify", "--store", url).out == before


def test_a_copy_that_fails_leaves_no_file(project: Project) -> None:
    """Neither of the store, nor beside it."""
    project.ask()
    databases.change(project.store, "UPDATE entry SET kind = 'noted' WHERE seq = 1")
    ended = project.call("store", "copy", "journal.db", "new.db")
    assert ended.status == 1
    assert "not as it was written" in ended.err
    assert list(project.folder.glob("new.db*")) == []


def test_what_is_not_there_is_not_copied(project: Project) -> None:
    """A slip in the path of the store must not look like a good outcome."""
    ended = project.call("store", "copy", "nothing.db", "new.db")
    assert (ended.status, "there is no store nothing.db" in ended.err) == (2, True)
    assert list(project.folder.glob("n*.db")) == []


def test_progress_is_shown_on_a_terminal(project: Project) -> None:
    """And gone when it is done."""
    project.ask()
    shown = program.at_terminal("store", "copy", "journal.db", "new.db")
    assert shown.status == 0
    assert "2 of 2 entries" in shown.out
    assert LINE.search(shown.out)


def test_a_backup_is_taken_of_either_kind(project: Project, url: str) -> None:
    """It prints the digest that the original has, and is a store itself."""
    project.decided()
    verified = project.call("verify").out
    assert project.call("store", "backup", "one.db") == (0, verified, "")
    assert project.call("store", "copy", "journal.db", url).status == 0
    assert project.call("store", "backup", "two.db", "--store", url) == (0, verified, "")
    for name in ("one.db", "two.db"):
        assert project.call("verify", "--store", name).out == verified
    again = project.call("store", "backup", "one.db")
    assert (again.status, "one.db exists already" in again.err) == (1, True)


def test_a_journal_with_a_fault_is_saved_and_the_fault_told(project: Project) -> None:
    """Exit 1."""
    run = project.decided()
    databases.change(project.store, "UPDATE entry SET kind = 'noted' WHERE seq = 1")
    ended = project.call("store", "backup", "one.db")
    assert ended.status == 1
    assert f"quandary: run {run} entry 1: the kind of the entry was changed\n" in ended.err
    assert (project.folder / "one.db").exists()


def test_what_a_damaged_file_holds_is_saved(project: Project) -> None:
    """With what is missing, one line for each run, and exit 1."""
    runs = [project.decided() for _ in range(3)]
    assert project.call("store", "recover", "journal.db").status == 0
    project.call("store", "backup", "broken.db")
    at = (project.folder / "broken.db").read_bytes().index(b'"entry":"answered"')
    with open(project.folder / "broken.db", "r+b") as file:
        file.seek(at + 9)
        file.write(b"unheard ")
    ended = project.call("store", "recover", "broken.db", "--into", "saved.db")
    assert ended.status == 1
    (lost,) = re.findall(r"quandary: lost: (entries 3 to 4) of run (\w+)\n", ended.err)
    assert lost[1] in runs
    assert LINE.fullmatch(ended.out)
    left = (project.folder / "saved.db.left.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["n"] for line in left] == [3, 4]
    for name in ("saved.db", "saved.db.left.jsonl"):
        assert (project.folder / name).stat().st_mode & 0o077 == 0, "others cannot read it"
    assert project.call("verify", "--store", "saved.db").status == 0
    told = json.loads(project.call("next", lost[1], "--store", "saved.db").out)
    assert told["status"] == "waiting"


def test_nothing_is_recovered_from_what_is_no_file(project: Project, url: str) -> None:
    """A server takes care of its own; what is there is not overwritten."""
    project.ask()
    ended = project.call("store", "recover", url)
    assert ended.status == 2
    assert QUOTED not in ended.err
    ended = project.call("store", "recover", "journal.db", "--into", "t.md")
    assert (ended.status, "t.md exists already" in ended.err) == (1, True)
    ended = project.call("store", "recover", "t.md", "--into", "new.db")
    assert (ended.status, "no entry of a journal" in ended.err) == (1, True)
    assert list(project.folder.glob("new.db*")) == []


def test_every_command_works_with_a_server_and_none_shows_its_password(
    project: Project, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking, replying, preferring, judging, listing, looking, verifying."""
    monkeypatch.setenv("QUANDARY_STORE", url)
    said = [project.call("ask", "t.md", "--context", CONTEXT, *ITEMS)]
    run = json.loads(said[0].out)["run"]
    said += [
        project.call(*words)
        for words in (
            ("reply", run, "1.1: ok\n1.2: cut"),
            ("next", run),
            ("runs",),
            ("log", run),
            ("amend", run, "--to", "1.2:", "no", "--why", "after all"),
            ("prefer", "set", "log-level", "never-ask", "--origin", "user"),
            ("prefer", "check", "log-level"),
            ("prefer", "list"),
            ("stats",),
            ("verify",),
            ("doctor",),
        )
    ]
    assert [ended.status for ended in said[:-1]] == [0] * 11
    assert json.loads(said[7].out)["verdict"] == "AUTO_DECIDE"
    assert "postgresql://" in said[-1].out
    shown = "".join(ended.out + ended.err for ended in said)
    assert PASSWORD not in shown
    assert QUOTED not in shown


def test_a_hook_keeps_what_a_host_asked_on_a_server(project: Project, url: str) -> None:
    """One record for each question, however often it comes."""
    asked = {"question": "Deploy?", "header": "Deploy", "multiSelect": False}
    options = [{"label": "Yes", "description": ""}, {"label": "No", "description": ""}]
    event = {
        "session_id": "s",
        "cwd": str(project.folder),
        "hook_event_name": "PostToolUse",
        "tool_name": "AskUserQuestion",
        "tool_use_id": "t1",
        "tool_input": {"questions": [{**asked, "options": options}]},
        "tool_response": {"answers": {"Deploy?": "Yes"}},
    }
    for _ in range(2):
        ended = program.start("hook", "post", stdin=json.dumps(event), env={"QUANDARY_STORE": url})
        assert ended == (0, "", "")
    kept = json.loads(project.call("runs", "--format", "json", "--store", url).out)
    assert len(kept) == 1


def test_charts_are_walked_with_a_server(
    tmp_path: Path,
    url: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Several items at once, each called once, and nothing is left beside the project."""
    outing = WalkProject(tmp_path, capsys, monkeypatch)
    monkeypatch.setenv("QUANDARY_STORE", url)
    outing.says("ANN", {**DONE, **GOOD})
    before = {path.name for path in tmp_path.iterdir()}
    items = [word for number in range(4) for word in ("--item", f"{number}|Page {number}")]
    walked = outing.walk(*items, "--jobs", "4")
    assert [run["status"] for run in walked["runs"]] == ["done"] * 4
    assert outing.call("verify").status == 0
    assert not [name for name in {path.name for path in tmp_path.iterdir()} - before if ":" in name]


def test_a_server_that_is_away_is_one_line_and_exit_2(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to look at, after half a minute."""
    passed = count(step=10)
    monkeypatch.setattr("quandary.journal.chance.monotonic", lambda: float(next(passed)))
    ended = project.call("runs", "--store", "postgresql://me:hush@127.0.0.1:9/db")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("quandary: postgresql://me@127.0.0.1:9/db cannot be reached")
    assert "hush" not in ended.err
    assert ended.err.count("\n") == 1


def test_two_processes_can_answer_one_question_once(project: Project, url: str) -> None:
    """The other one is told that it is answered already."""
    run = project.ask("--store", url)
    ended: list[program.Ended] = []

    def reply() -> None:
        words = ("reply", run, "1.1: ok\n1.2: ok", "--to", "1.1:", "--store", url)
        ended.append(program.start(*words))

    threads = [threading.Thread(target=reply) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.status or 0 for one in ended) == [0, 1, 1, 1]
    assert all("already answered" in one.err for one in ended if one.status)
