"""`prune`, `export` and `import`, as people and programs call them."""

from __future__ import annotations

import io
import json
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import walks
from program import at_terminal
from quandary.errors import StoreError
from quandary.journal import archive, chance, runs
from quandary.journal.entries import Source
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import Wanted
from runs import CONTEXT, Project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with one tree."""
    return Project(tmp_path, capsys, monkeypatch)


@pytest.fixture
def months_pass(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Puts the journal's clock forward by 100 days."""
    real = chance.now
    return lambda: monkeypatch.setattr(chance, "now", lambda: real() + timedelta(days=100))


def prune(project: Project, *words: str) -> dict[str, Any]:
    """Prune what is older than 90 days, which has to end well."""
    ended = project.call("prune", "--older-than", "90d", *words)
    assert ended.status == 0, ended
    loaded: dict[str, Any] = json.loads(ended.out)
    return loaded


def test_what_is_old_is_pruned_and_what_was_decided_stays(
    project: Project, months_pass: Callable[[], None]
) -> None:
    """The log tells codes, words, who and when; questions and contexts are gone."""
    run = project.decided()
    result = project.state("next", run)["result"]
    assert prune(project)["runs"] == 0
    months_pass()
    new = project.decided()
    told = prune(project, "--by", "the archive")
    assert (told["runs"], told["entries"], told["keep"]) == (1, 2, "answers")
    assert told["project"] == str(project.folder)
    assert project.state("next", run)["result"] == result
    log = project.call("log", run).out
    assert "answered  1.1: OK — “rename it”; 1.2: CUT  — agent (relay)" in log
    assert "ended     done: Auth design: Fine (OK); Caching: Leave it out (CUT)" in log
    assert CONTEXT not in log
    assert CONTEXT in project.call("log", new).out
    assert "the archive (agent, command)" in project.call("log", told["run"]).out
    assert ", 2 of them pruned" in project.call("verify").out
    assert prune(project)["runs"] == 0


def test_a_dry_run_changes_nothing(project: Project, months_pass: Callable[[], None]) -> None:
    """It says how much it would be."""
    run = project.decided()
    months_pass()
    before = project.call("verify").out
    ended = project.call("prune", "--older-than", "90d", "--dry-run")
    assert json.loads(ended.out)["run"] is None
    assert json.loads(ended.out)["entries"] == 2
    assert ended.err.startswith("would be pruned: 2 entries of 1 run\n")
    assert project.call("verify").out == before
    assert CONTEXT in project.call("log", run).out


def test_with_codes_alone_no_word_is_left(
    project: Project, months_pass: Callable[[], None]
) -> None:
    """What came of the run goes too, and its tree, which nobody needs any more."""
    run = project.decided()
    months_pass()
    told = prune(project, "--keep", "codes")
    assert (told["entries"], told["documents"]) == (4, 1)
    log = project.call("log", run)
    assert "answered  1.1: OK; 1.2: CUT (pruned)  — agent (relay)" in log.out
    assert "rename" not in log.out
    assert project.state("next", run)["result"] is None
    ended = project.call("next", run, "--proof")
    assert (ended.status, ended.out) == (1, "")
    assert "pruned" in ended.err
    assert project.call("verify").status == 0
    assert project.call("log", run, "--format", "markdown").status == 0
    assert project.call("runs").status == 0
    assert project.call("stats").status == 0


def test_a_pruned_run_cannot_be_amended(project: Project, months_pass: Callable[[], None]) -> None:
    """The message says why, and the status that it was not done."""
    run = project.decided()
    months_pass()
    prune(project)
    ended = project.call("amend", run, "--to", "1.2:", "--why", "oh", "ok")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == (
        f"quandary: run {run} can be shown but not resumed: texts of it were pruned\n"
    )


def test_other_projects_are_pruned_only_with_all(
    project: Project, months_pass: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As elsewhere, a command is about the project at hand."""
    run = project.decided()
    months_pass()
    elsewhere = project.folder / "elsewhere"
    (elsewhere / ".quandary").mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    assert prune(project)["runs"] == 0
    told = prune(project, "--all")
    assert (told["runs"], told["project"]) == (1, None)
    assert CONTEXT not in project.call("log", run).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Missing option '--older-than'"),
        (("--older-than", "soon"), "'soon' is no age; write it like 30m, 12h or 2d"),
        (("--older-than", "0d"), "'0d' is no time at all"),
        (("--older-than", "900000d"), "'900000d' is longer than the calendar"),
        (("--older-than", "9d", "--keep", "all"), "Invalid value for '--keep'"),
        (("--older-than", "9d", "--store", "none.db"), "there is no store none.db"),
    ],
)
def test_wrong_usage_prunes_nothing(project: Project, words: tuple[str, ...], said: str) -> None:
    """One line says what was meant."""
    ended = project.call("prune", *words)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"quandary: {said}")
    assert ended.err.count("\n") == 1


def test_at_a_terminal_a_line_says_how_much_it_was(project: Project) -> None:
    """And nothing is printed for programs; who sits there is a person to the journal."""
    run = project.decided()
    store = SqliteStore(project.store)
    store._rows("UPDATE run SET since = '2020-01-01T00:00:00.000000Z'", ())
    store.close()
    ended = at_terminal("prune", "--older-than", "90d")
    assert ended.status == 0
    assert "pruned: 2 entries of 1 run" in ended.out
    assert "{" not in ended.out
    assert CONTEXT not in project.call("log", run).out
    assert "person (terminal)" in project.call("log", "--all").out


def test_what_was_interrupted_is_finished_by_the_next(
    project: Project, months_pass: Callable[[], None]
) -> None:
    """Nothing is left half done, whoever comes next."""
    run = project.decided()
    months_pass()
    store = SqliteStore(project.store)
    source = Source("person", "terminal", "")

    def crash(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        archive.prune(store, Wanted("9999"), "", source, crash)
    store.close()
    waiting = json.loads(project.call("runs", "--all", "--format", "json").out)["runs"][0]
    assert (waiting["flow"], waiting["status"]) == ("prune", "waiting")
    ended = project.call("prune", "--older-than", "90d")
    assert f"finished what was interrupted: run {waiting['run']}\n" in ended.err
    assert project.state("next", waiting["run"])["status"] == "done"
    assert CONTEXT not in project.call("log", run).out


def test_a_store_that_stays_large_is_not_taken_for_done(
    project: Project, months_pass: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The texts are gone, and the status says that something was not done."""

    def locked(_: SqliteStore) -> int:
        raise StoreError("it is locked")

    project.decided()
    months_pass()
    monkeypatch.setattr(SqliteStore, "reclaim", locked)
    ended = project.call("prune", "--older-than", "90d")
    assert ended.status == 1
    assert json.loads(ended.out)["runs"] == 1
    assert ended.err.endswith("the store did not become smaller: it is locked\n")


# -- export and import -----------------------------------------------------------------------------


def exported(project: Project, run: str) -> Path:
    """A run in a file."""
    file = project.folder / "run.json"
    ended = project.call("export", run[:22], "--output", str(file))
    assert (ended.status, ended.out) == (0, "")
    assert f"run {run}; digest " in ended.err
    return file


def test_a_run_goes_through_a_file_into_another_store(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There it is told, verified and exported as it was, and listed with what it is about."""
    run = project.decided()
    file = exported(project, run)
    assert project.call("export", run).out == file.read_text(encoding="utf-8")
    log, record = (project.call("log", run, *form).out for form in ((), ("--format", "markdown")))
    questions = project.call("log", run, "--questions").out
    monkeypatch.setenv("QUANDARY_STORE", str(project.folder / "other.db"))
    ended = project.call("import", str(file), "--by", "grace")
    assert ended.status == 0
    told = json.loads(ended.out)
    assert (told["run"], told["known"], told["entries"]) == (run, False, 4)
    assert f"run {run} was imported; digest {told['digest']}\n" == ended.err
    shown = project.call("log", run)
    assert (shown.out, f"note: run {run} was imported; whose" in shown.err) == (log, True)
    told_here = project.call("log", run, "--format", "markdown").out
    assert [line for line in told_here.splitlines() if line not in record.splitlines()] == [
        "This run was imported; whose answers these are is what its file says."
    ]
    assert project.call("log", run, "--questions").out == questions
    assert project.call("export", run).out == file.read_text(encoding="utf-8")
    verified = project.call("verify", run)
    assert (verified.status, verified.out[-17:]) == (0, "1 run, 4 entries\n")
    assert f"imported: run {run}: STEP: {CONTEXT}" in project.call("runs").out
    assert "grace (agent, command)" in project.call("log", told["record"]).out
    assert project.call("verify").status == 0


def test_the_same_file_twice_is_said_to_be_known(project: Project) -> None:
    """In the store that wrote it, too."""
    run = project.decided()
    file = exported(project, run)
    ended = project.call("import", str(file))
    assert json.loads(ended.out)["known"] is True
    assert json.loads(ended.out)["record"] == run
    assert f"run {run} is here already and is the same; digest 4-" in ended.err


def test_a_walk_is_reported_where_it_was_imported(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the chart that it went through."""
    store = SqliteStore(project.store)
    run = walks.released(store).run
    store.close()
    report = project.call("report", run).out
    file = exported(project, run)
    monkeypatch.setenv("QUANDARY_STORE", str(project.folder / "other.db"))
    project.call("import", str(file))
    told = project.call("report", run).out.splitlines()
    imported = "imported whose answers these are is what its file says"
    assert [" ".join(line.split()) for line in told if "imported" in line] == [imported]
    assert told[-10:] == report.splitlines()[-10:]
    assert "Build the package" in report


def test_standard_input_is_a_file_too(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """`quandary export RUN | ssh … quandary import -`."""
    run = project.decided()
    data = exported(project, run).read_bytes()
    monkeypatch.setenv("QUANDARY_STORE", str(project.folder / "other.db"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert json.loads(project.call("import", "-").out)["run"] == run


def test_an_imported_run_is_answered_where_it_came_from(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says where it can be looked at."""
    run = project.ask()
    file = exported(project, run)
    monkeypatch.setenv("QUANDARY_STORE", str(project.folder / "other.db"))
    project.call("import", str(file))
    ended = project.call("reply", run, "1.1: ok")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"quandary: run {run} was imported and can only be looked at")


def test_whatever_tells_of_an_imported_run_says_so(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where only the document is passed on: its people are those of a file."""
    (project.folder / "c.mmd").write_text("flowchart TD\nA([Start]) --> B([End])\n")
    walked = json.loads(project.call("walk", "c.mmd").out)["run"]
    decided = project.decided()
    told = {
        ("report", walked): "imported  whose answers",
        ("report", walked, "--format", "html"): "<dt>imported</dt>",
        ("report", walked, "--format", "json"): '"imported":true',
        ("log", decided, "--format", "json"): '"imported":true',
        ("log", decided, "--format", "markdown"): "This run was imported; whose answers",
    }
    assert not any(text in project.call(*words).out for words, text in told.items())
    named = {run: project.folder / f"{run}.json" for run in (walked, decided)}
    files = [exported(project, run).rename(file) for run, file in named.items()]
    monkeypatch.setenv("QUANDARY_STORE", str(project.folder / "other.db"))
    for file in files:
        assert project.call("import", str(file)).status == 0
    for words, text in told.items():
        assert text in project.call(*words).out, words


def test_a_changed_file_is_refused(project: Project) -> None:
    """With status 1; what cannot be read at all has status 2."""
    file = exported(project, project.decided())
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("rename it", "delete it"), encoding="utf-8")
    ended = project.call("import", str(file))
    assert (ended.status, ended.out) == (1, "")
    assert "entry 3: the matter or its salt was changed" in ended.err
    file.write_text("hello", encoding="utf-8")
    ended = project.call("import", str(file))
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert project.call("import", "none.json").status == 2


def test_a_file_that_tells_nothing_is_refused(project: Project) -> None:
    """Its chain may hold all the same."""
    store = SqliteStore(project.folder / "odd.db")
    given: dict[str, Any] = {"options": [{"key": "E1", "title": "One"}], "item": "no item"}
    odd = runs.begin(store, "split", given, who="agent", through="x")
    store.close()
    file = project.folder / "odd.json"
    project.call("export", odd.run, "--output", str(file), "--store", str(store.path))
    ended = project.call("import", str(file))
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == f"quandary: {file}: no run that `quandary export` wrote\n"


def test_what_cannot_be_exported_is_said(project: Project) -> None:
    """A run that is not there, a place that is none, a run that was changed."""
    run = project.decided()
    assert project.call("export", "01ZZ").status == 2
    ended = project.call("export", run, "--output", str(project.folder / "none" / "f.json"))
    assert (ended.status, ended.out) == (2, "")
    store = SqliteStore(project.store)
    store._rows("UPDATE entry SET salt = randomblob(16) WHERE n = 3", ())
    store.close()
    ended = project.call("export", run)
    assert (ended.status, ended.out) == (1, "")
    assert f"see `quandary verify {run}`" in ended.err
    store = SqliteStore(project.store)
    store._rows("UPDATE entry SET body = X'FF00' WHERE n = 3", ())
    store.close()
    assert project.call("export", run) == ended
