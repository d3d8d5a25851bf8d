"""`quandary walk --resume RUN --retry-failed`: a run that failed goes on where it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quandary.journal.entries import Noted
from quandary.journal.sqlite import SqliteStore
from walk_projects import DONE, WalkProject, lucid

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def outing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> WalkProject:
    """Two steps in a row; the agent of the second one does nothing."""
    made = WalkProject(tmp_path, capsys, monkeypatch)
    silent = {"tags": "NoValidation", "retries": "1"}
    made.draw(
        lucid(
            {
                "1": {"text": "Write the page", **silent, "cli": "ANN"},
                "2": {"text": "Print it", **silent, "cli": "BEN"},
            },
            "1>2",
        )
    )
    made.says("BEN", {"says": "", "status": 3}, {"says": "", "status": 3}, DONE)
    return made


def test_only_the_step_that_failed_is_done_again(outing: WalkProject) -> None:
    """What was paid for before it is kept."""
    run = outing.walk(status=1)["run"]
    assert outing.called == ["ANN", "BEN", "BEN"]
    state = outing.resume(run, "--retry-failed")
    assert state["status"] == "done"
    assert outing.called == ["ANN", "BEN", "BEN", "BEN"]
    store = SqliteStore(outing.store)
    notes = [entry.read() for entry in store.entries(run, kinds=("noted",))]
    store.close()
    (note,) = [note for note in notes if isinstance(note, Noted) and note.kind == "retried"]
    assert (note.who, note.through) == ("agent", "command")
    assert outing.call("verify", run).status == 0


def test_without_the_flag_a_failed_run_stays_as_it_is(outing: WalkProject) -> None:
    """And whoever resumes it is told how."""
    run = outing.walk(status=1)["run"]
    ended = outing.call("walk", "--resume", run)
    assert ended.status == 1
    assert "--retry-failed" in ended.err
    assert outing.called == ["ANN", "BEN", "BEN"]


def test_the_flag_changes_nothing_about_runs_that_did_not_fail(outing: WalkProject) -> None:
    """Of several runs, those that failed are tried anew."""
    failed = outing.walk(status=1)["run"]
    done = outing.walk()["run"]
    ended = outing.call("walk", "--resume", failed, "--resume", done, "--retry-failed")
    assert ended.status == 0
    assert outing.called == ["ANN", "BEN", "BEN", "ANN", "BEN", "BEN"]


def test_it_needs_a_run(outing: WalkProject) -> None:
    """A chart that is only begun has not failed."""
    ended = outing.call("walk", "c.csv", "--retry-failed")
    assert ended.status == 2
    assert "goes with --resume" in ended.err
    assert outing.called == []
