"""What was asked and answered, told as a timeline, as JSON and as a decision record."""

from __future__ import annotations

import json
import os
import pty
import re
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from program import at_terminal
from quandary.journal import store as stores
from runs import CONTEXT, Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with one tree."""
    return Project(tmp_path, capsys, monkeypatch)


def told(project: Project, run: str) -> list[str]:
    """The texts of the timeline, without numbers, moments and who."""
    lines = project.call("log", run).out.splitlines()[1:]
    return [re.sub(r"^ +\d+  .{20}  |  — .*$", "", line) for line in lines]


def test_a_timeline_tells_what_happened_from_the_beginning(project: Project) -> None:
    """The tree and the context, the questions with their keys, the answers, and what came of it."""
    assert told(project, project.decided()) == [
        "began     STEP: The plan has two steps. None has begun.",
        f"asked     1.1: Tokens expire. Step: Auth design?; 1.2: {CONTEXT} Step: Caching?",
        "answered  Auth design: Fine — “rename it”; Caching: Leave it out",
        "ended     done: Auth design: Fine (OK); Caching: Leave it out (CUT)",
    ]


def test_a_log_that_ends_before_all_runs_says_so(project: Project) -> None:
    """And how the rest is seen."""
    for _ in range(3):
        project.decided()
    assert "the newest 2 runs; --limit shows more" in project.call("log", "--limit", "2").err
    assert "newest" not in project.call("log", "--all").err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Q: who wrote it?", "Q: who wrote it?"),
        ("?", "?"),
        ("???", "???"),
        ("#later", "#later"),
        ("@t.md", "@t.md"),
        ("!skip", "!skip"),
        ("a", "A: Run the tests first"),
        ("other", "Other"),
        ("move it", "Move it"),
        ("wait for the audit", "“wait for the audit”"),
    ],
)
def test_an_answer_is_told_as_it_was_given(project: Project, text: str, shown: str) -> None:
    """Prefixes as they are typed, extras with what they stand for, own words in quotes."""
    run = project.ask()
    project.reply(run, text, "--to", "1.1:")
    answers = [line for line in told(project, run) if line.startswith("answered")]
    assert answers == [f"answered  Auth design: {shown}"]


def test_a_reply_that_fits_several_is_told_with_what_it_fits(project: Project) -> None:
    """Which is why the question comes again."""
    run = project.ask("--via", "text")
    project.reply(run, "1 or 2")
    assert "answered  Auth design: “1 or 2” (Fine or Not yet)" in told(project, run)


def test_advice_and_its_options_are_told(project: Project) -> None:
    """They are an agent's words and are marked as such."""
    run = project.ask()
    project.state("advise", run, "The web team wrote it.", "--option", "B: Ask them")
    assert "answered  Auth design: advice “The web team wrote it.”, B: Ask them" in told(
        project, run
    )


def test_an_amended_answer_names_the_entry_it_replaces(project: Project) -> None:
    """Even when something else was asked in between, it is clear what the answer was about."""
    run = project.ask()
    project.reply(run, "1.1: ok\n1.2: other")
    project.reply(run, "move it")
    project.state("amend", run, "cut", "--to", "1.1:", "--why", "second thoughts")
    changed = "answered  Auth design: Leave it out (amends entry 3: second thoughts)"
    assert changed in told(project, run)


def test_answers_that_were_taken_over_say_from_where(project: Project) -> None:
    """Nobody gave them here."""
    run = project.decided()
    second = project.ask("--from", run)
    began, _, answered, _ = told(project, second)
    assert began.endswith(f"(with answers of run {run})")
    assert answered.endswith(f"(taken over from run {run})")


def test_the_reason_of_an_end_is_told(project: Project) -> None:
    """Why a run was withdrawn is what a reader of the log wants to know."""
    run = project.ask()
    project.call("withdraw", run, "--why", "the plan was dropped")
    assert told(project, run)[-1] == "ended     withdrawn: the plan was dropped"
    record = project.call("log", run, "--format", "markdown").out
    assert "**Withdrawn**: the plan was dropped" in record


def test_an_entry_that_cannot_be_read_is_named_and_the_rest_is_told(project: Project) -> None:
    """A damaged journal is shown as far as it goes."""
    run = project.decided()
    with sqlite3.connect(project.store) as database:
        database.execute("UPDATE entry SET matter = x'00' WHERE n = 2")
    database.close()
    lines = told(project, run)
    assert lines[1] == f"asked     cannot be read; see quandary verify {run}"
    assert lines[3].startswith("ended     done")


def test_a_very_long_answer_is_cut_in_the_timeline_and_whole_in_json(project: Project) -> None:
    """A timeline is for reading."""
    run = project.ask()
    project.reply(run, "x" * 9_000, "--to", "1.1:")
    assert len(max(told(project, run), key=len)) < 2_200
    entries = project.state("log", run, "--format", "json")["runs"][0]["entries"]
    assert "x" * 9_000 in entries[2]["text"]
    assert entries[2]["keys"] == ["1.1:"]


def test_words_are_found_in_what_was_shown_too(project: Project) -> None:
    """The context of an item is in the preamble, and people remember it."""
    run = project.decided()
    assert run in project.call("log", "--grep", "tokens expire").out
    assert run in project.call("log", "--grep", "RENAME fine").out
    ended = project.call("log", "--grep", "nothing-like-it")
    assert (ended.status, ended.out, ended.err) == (0, "", "nothing found\n")


def test_a_record_says_what_was_decided_by_whom_and_how(project: Project) -> None:
    """Ready for a pull request."""
    run = project.ask()
    project.reply(run, "1.1: ok, but rename it\n1.2: use <b>*bold*</b> [x]", "--by", "web team")
    record = project.call("log", run, "--format", "markdown").out
    shown = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\dZ", "WHEN", record).replace(run, "RUN")
    assert shown == (
        "## Decision record: STEP\n\n"
        "> The plan has two steps. None has begun.\n\n"
        "Decided on WHEN:\n\n"
        "- Auth design: **Fine** (`OK`), “rename it”\n"
        "- Caching: **use \\<b>\\*bold\\*\\</b> \\[x\\]** "
        "(`OTH/custom:use <b>*bold*</b> [x]`)\n\n"
        "How it came about:\n\n"
        "- 1.1: Tokens expire. Step: Auth design?; "
        "1.2: The plan has two steps. None has begun. Step: Caching?\n"
        "  - Auth design: Fine — “rename it”; Caching: “use \\<b>\\*bold\\*\\</b> \\[x\\]” "
        "*web team (agent, relay), WHEN*\n\n"
        "Run `RUN`; `quandary verify RUN` checks that nothing in it was changed.\n"
    )


def test_a_record_is_whole_where_words_were_looked_for(project: Project) -> None:
    """Half of a record would be a wrong one."""
    run = project.decided()
    whole = project.call("log", run, "--format", "markdown").out
    assert project.call("log", "--grep", "rename", "--format", "markdown").out == whole


def test_no_line_is_wider_than_the_screen(project: Project) -> None:
    """On a terminal, texts are broken at spaces and go on below where they began."""
    run = project.decided()
    shown = at_terminal("log", run, env={"COLUMNS": "70", "NO_COLOR": "1"}).out
    assert max(map(len, shown.splitlines())) <= 70
    assert json.dumps("Caching: Leave it out")[1:-1] in " ".join(shown.split())


def test_progress_is_shown_on_a_terminal_and_is_gone_after(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of whatever reads a whole journal; a pipe gets none of it, nor a terminal that cannot."""
    run = project.decided()
    file = tmp_path / "run.json"
    project.call("export", run, "--output", str(file))
    commands = {
        "entries indexed": ("log", "--grep", "tokens"),
        "runs checked": ("verify",),
        "entries read": ("stats",),
        "entries read ": ("import", str(file)),
        "entries copied": ("store", "copy", str(project.store), str(tmp_path / "new.db")),
        "runs pruned": ("prune", "--older-than", "90d"),
    }
    monkeypatch.setattr(stores, "_PIECE", 1)
    for what, words in commands.items():
        if words[0] == "prune":
            with closing(sqlite3.connect(project.store)) as raw, raw:
                raw.execute("UPDATE run SET since = '2020-01-01T00:00:00.000000Z'")
        shown = stderr_at_terminal(project, monkeypatch, "xterm", words)
        assert what.strip() in shown
        assert shown.rpartition("\r\x1b[K")[2].count("\x1b") == 0
        assert what.strip() not in shown.rpartition("\r\x1b[K")[2]
    assert "\x1b" not in stderr_at_terminal(project, monkeypatch, "dumb", ("verify",))
    assert "\x1b" not in project.call("verify").err


def stderr_at_terminal(
    project: Project, monkeypatch: pytest.MonkeyPatch, term: str, words: tuple[str, ...]
) -> str:
    """What a command says on standard error where that is a terminal."""
    screen, line = pty.openpty()
    with monkeypatch.context() as patch, open(line, "w", encoding="utf-8") as error:
        patch.setenv("TERM", term)
        patch.setattr("sys.stderr", error)
        project.call(*words)
    shown = b""
    with suppress(OSError):  # how Linux says that the other end was closed
        while part := os.read(screen, 65536):
            shown += part
    os.close(screen)
    return shown.decode()
