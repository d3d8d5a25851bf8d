"""`quandary prefer`, `stats` and `log --questions`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import program
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply
from runs import Project

if TYPE_CHECKING:
    from pathlib import Path

RECOMMENDING = """\
### ¶ASK_LEVEL
Trigger: a service has no log level

## Decision: Level
- [LOW] Quiet (recommended)
  Only what goes wrong
- [MID] As now
  Nothing changes
- [HIG] Loud
  Everything
- [OTH] Other
  - [WAI] Wait
    Until it is measured
  - [OFF] None at all
    Write nothing
"""


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with a tree that recommends something."""
    found = Project(tmp_path, capsys, monkeypatch)
    (tmp_path / "level.md").write_text(RECOMMENDING, encoding="utf-8")
    return found


def set_(project: Project, id_: str, preference: str, *more: str) -> program.Ended:
    """On behalf of a person."""
    return project.call("prefer", "set", id_, preference, "--origin", "user", *more)


def answer_in_person(project: Project, run: str, code: str) -> None:
    """As a person at a terminal does."""
    store = SqliteStore(project.store)
    state = runs.look(store, run)
    assert state.ask is not None
    reply = Reply(tuple(Answer(question.key, (code,)) for question in state.ask.questions))
    runs.advance(store, run, reply, to=state.key, who="person", through="terminal")


def verdict(project: Project, id_: str, *more: str) -> tuple[str, str | None]:
    """What `check` says."""
    said = project.state("prefer", "check", id_, *more)
    assert set(said) == {"verdict", "note"}
    return said["verdict"], said["note"]


def test_check_says_ask_or_decide(project: Project) -> None:
    """By the id and the summary alone."""
    assert set_(project, "log-level", "never-ask").status == 0
    assert verdict(project, "another") == ("ASK_NORMALLY", None)
    assert verdict(project, "log-level", "--summary", "Which one?")[0] == "AUTO_DECIDE"
    asked, note = verdict(project, "log-level", "--summary", "Drop the table?")
    assert asked == "ASK_NORMALLY"
    assert "drop" in str(note)
    set_(project, "log-level", "always-ask")
    assert verdict(project, "log-level")[0] == "ASK_NORMALLY"
    set_(project, "log-level", "ask-only-for-one-way")
    assert verdict(project, "log-level")[0] == "AUTO_DECIDE"


def test_a_missing_store_means_ask_with_a_note(project: Project) -> None:
    """And it is not made by looking for it."""
    asked, note = verdict(project, "log-level")
    assert asked == "ASK_NORMALLY"
    assert "there is no store" in str(note)
    assert not project.store.exists()


def test_whatever_else_a_file_says_of_a_question_has_it_asked(project: Project) -> None:
    """What is not understood can only make asking stricter."""
    set_(project, "log-level", "never-ask")
    settings = project.folder / "quandary.toml"
    settings.write_text('[questions.log-level]\ntitle = "The level"\n', encoding="utf-8")
    assert verdict(project, "log-level")[0] == "AUTO_DECIDE"
    settings.write_text("[questions.log-level]\nalways-ask = true\n", encoding="utf-8")
    asked, note = verdict(project, "log-level")
    assert asked == "ASK_NORMALLY"
    assert "always-ask" in str(note)


def test_the_summary_can_be_piped(project: Project) -> None:
    """A long one does not fit on a command line."""
    set_(project, "log-level", "never-ask")
    ended = program.start("prefer", "check", "log-level", "--summary", "-", stdin="force-push it")
    assert json.loads(ended.out)["verdict"] == "ASK_NORMALLY"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("log-level", "never-ask"), "only a person"),
        (("log-level", "never-ask", "--origin", "tool"), "no origin"),
        (("log-level", "never-ask", "--origin", "User"), "no origin"),
        (("ship-split-e1", "never-ask", "--origin", "user"), "split"),
        (("drop-table", "never-ask", "--origin", "user"), "taken back"),
        (("drop-table", "ask-only-for-one-way", "--origin", "user"), "taken back"),
        (("Log Level", "never-ask", "--origin", "user"), "no id"),
        (("x" * 65, "never-ask", "--origin", "user"), "no id"),
        (("registered", "never-ask", "--origin", "user"), "one-way"),
    ],
)
def test_what_may_not_be_set_is_refused(
    project: Project, words: tuple[str, ...], message: str
) -> None:
    """With one line and status 2, and nothing is kept."""
    (project.folder / "quandary.toml").write_text(
        '[questions.registered]\ndoor = "one-way"\n', encoding="utf-8"
    )
    ended = project.call("prefer", "set", *words)
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert message in ended.err
    assert json.loads(project.call("prefer", "list", "--format", "json").out) == []


def test_always_ask_can_be_set_for_anything(project: Project) -> None:
    """It only makes asking stricter."""
    assert set_(project, "drop-table", "always-ask").status == 0


def test_preferences_are_listed_and_cleared(project: Project) -> None:
    """Of this project, and of all with --global."""
    set_(project, "one", "never-ask")
    set_(project, "two", "never-ask", "--global")
    set_(project, "three", "always-ask")
    rows = json.loads(project.call("prefer", "list", "--format", "json").out)
    assert {(row["id"], row["preference"], bool(row["scope"])) for row in rows} == {
        ("one", "never-ask", True),
        ("two", "never-ask", False),
        ("three", "always-ask", True),
    }
    assert project.call("prefer", "clear", "one").status == 0
    assert verdict(project, "one")[0] == "ASK_NORMALLY"
    assert verdict(project, "two")[0] == "AUTO_DECIDE"
    refused = project.call("prefer", "clear")
    assert (refused.status, "only a person" in refused.err) == (2, True)
    assert project.call("prefer", "clear", "--origin", "user").status == 0
    assert project.call("prefer", "clear", "--global", "--origin", "user").status == 0
    assert json.loads(project.call("prefer", "list", "--format", "json").out) == []
    assert "nothing is set" in project.call("prefer", "clear", "one").err


def test_stats_tell_what_is_in_force_from_what_is_inert(project: Project) -> None:
    """A registry that came later, or a preference of the project's own, makes one inert."""
    set_(project, "one", "never-ask")
    set_(project, "two", "never-ask")
    set_(project, "one", "always-ask", "--global")
    (project.folder / "quandary.toml").write_text(
        '[questions.two]\ndoor = "one-way"\n', encoding="utf-8"
    )
    counts = json.loads(project.call("prefer", "stats", "--format", "json").out)
    assert (counts["set"], counts["in_force"], counts["inert"]) == (3, 1, 2)
    assert counts["by_preference"]["never-ask"] == 2
    why = {row["id"]: row["why"] for row in counts["inert_preferences"]}
    assert "own" in why["one"]
    assert "one-way" in why["two"]
    assert "3 set, 1 in force, 2 inert" in project.call("prefer", "stats").out


@pytest.mark.parametrize("where", [(), ("--global",)])
def test_a_project_that_wants_a_question_asked_overrules_and_both_say_so(
    project: Project, where: tuple[str, ...]
) -> None:
    """`set` keeps the preference and says what it is worth here, and `stats` counts it as inert."""
    (project.folder / "quandary.toml").write_text(
        '[questions.log-level]\nask = "always"\n', encoding="utf-8"
    )
    told = set_(project, "log-level", "never-ask", *where).err
    assert "never-ask is set for log-level" in told
    assert "it decides nothing in this project" in told
    assert "quandary.toml wants it asked" in told
    assert "it applies once" not in told
    counts = json.loads(project.call("prefer", "stats", "--format", "json").out)
    assert (counts["set"], counts["in_force"], counts["inert"]) == (1, 0, 1)
    assert "wants it asked" in counts["inert_preferences"][0]["why"]
    assert "nothing" not in set_(project, "log-level", "always-ask").err


def test_at_a_terminal_no_origin_is_needed(project: Project) -> None:
    """Whoever sits there is a person, and is booked as one."""
    ended = program.at_terminal("prefer", "set", "log-level", "never-ask")
    assert (ended.status, "is set" in ended.out) == (0, True)
    (row,) = json.loads(project.call("prefer", "list", "--format", "json").out)
    assert (row["who"], row["through"]) == ("person", "terminal")


def test_a_damaged_store_means_ask(project: Project) -> None:
    """With a note, and status 0: the caller goes on by asking."""
    project.store.write_text("no database at all, but long enough to be taken for one" * 9)
    asked, note = verdict(project, "log-level")
    assert asked == "ASK_NORMALLY"
    assert "not a database" in str(note)


def test_a_decided_question_is_told_and_counted(project: Project) -> None:
    """In the state, in the log of questions, and in the statistics."""
    words = ("ask", "level.md", "--context", "The web service has no log level.")
    state = project.state(*words, "--via", "relay")
    project.call("reply", state["run"], "loud")
    set_(project, "level", "never-ask")
    state = project.state(*words, "--via", "relay")
    assert [note["kind"] for note in state["notes"]] == ["unbound"]
    answer_in_person(project, state["run"], "LOW")
    state = project.state(*words, "--via", "relay")
    assert state["status"] == "done"
    assert [note["kind"] for note in state["notes"]] == ["decided"]
    rows = project.state("log", "--questions", "--format", "json")["questions"]
    assert [(row["answer"], row["who"], row["followed"]) for row in rows] == [
        (["Quiet"], "policy", True),
        (["Quiet"], "person", True),
        (["Loud"], "agent", False),
    ]
    assert "as recommended — policy (preference)" in project.call("log", "--questions").out
    found = project.call("log", "--questions", "--grep", "loud").out
    assert found.count("\n") == 1
    counts = project.state("stats", "--format", "json")
    by = {"agent": 1, "person": 1, "policy": 1}
    assert (counts["asked"], counts["questions"][0]["by"]) == (3, by)
    assert "advice followed 2 of 3" in project.call("stats").out


def test_no_command_is_offered_that_would_silence_nothing(project: Project) -> None:
    """What the project wants asked is no candidate, however often the answer was the same."""
    for _ in range(5):
        state = project.state("ask", "level.md", "--context", "No level yet.", "--via", "relay")
        project.call("reply", state["run"], "LOW")
    assert "quandary prefer set level never-ask" in project.call("stats").out
    (project.folder / "quandary.toml").write_text(
        '[questions.level]\nask = "always"\n', encoding="utf-8"
    )
    assert "prefer set" not in project.call("stats").out
    assert project.state("stats", "--format", "json")["candidates"] == []


def test_an_id_that_was_silenced_lends_itself_to_no_other_question(project: Project) -> None:
    """The id belongs to whoever asks: a tree of the same name is asked, and says why."""
    words = ("ask", "level.md", "--context", "The web service has no log level.", "--via", "relay")
    ended = set_(project, "level", "never-ask")
    assert "once you have answered" in ended.err
    other = RECOMMENDING.replace("Quiet (recommended)", "Copy it to the mirror (recommended)")
    (project.folder / "other.md").write_text(other, encoding="utf-8")
    copied = ("ask", "other.md", *words[2:])
    assert project.state(*copied)["status"] == "waiting"
    answer_in_person(project, project.state(*words)["run"], "LOW")
    assert project.state(*words)["status"] == "done"
    state = project.state(*copied)
    assert state["status"] == "waiting"
    assert [note["kind"] for note in state["notes"]] == ["changed"]
    assert verdict(project, "level", "--summary", "Copy it to the mirror")[0] == "AUTO_DECIDE"


def test_a_preference_says_what_it_is_bound_to(project: Project) -> None:
    """Set after an answer, it names the question and what it takes."""
    words = ("ask", "level.md", "--context", "The web service has no log level.", "--via", "relay")
    answer_in_person(project, project.state(*words)["run"], "LOW")
    ended = set_(project, "level", "never-ask")
    assert "it takes “Quiet” for: The web service has no log level." in ended.err
    assert project.state(*words)["status"] == "done"
