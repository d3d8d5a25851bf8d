"""Whole stores as earlier programs wrote them: every later program opens and works on them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from program import call
from quandary.journal import open_store

if TYPE_CHECKING:
    from program import Ended

KEPT = sorted((Path(__file__).parent.parent / "journals" / "stores").glob("*.sql"))
FLOWS = {
    *("decide", "gate", "imported", "phase", "prefer"),
    *("prune", "question", "split", "walk"),
}
STATUSES = {"waiting", "done", "failed", "declined", "withdrawn"}


@pytest.fixture(params=KEPT, ids=lambda kept: kept.stem)
def kept(
    request: pytest.FixtureRequest,
    path: Path | str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """A store that an earlier program wrote; on a server, it is copied there as users would."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "journal.db"
    with closing(sqlite3.connect(file)) as db:
        db.executescript(request.param.read_text(encoding="utf-8"))
    if isinstance(path, str):
        assert call(capsys, "store", "copy", str(file), path).status == 0
    monkeypatch.setenv("QUANDARY_STORE", str(path))
    return str(path)


def test_a_kept_store_is_shown_and_worked_on(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every run is listed and shown, a waiting one is answered, and everything verifies."""

    def quandary(*words: str) -> Ended:
        ended = call(capsys, *words)
        assert "Traceback" not in ended.err
        return ended

    assert quandary("verify").status == 0
    listed = json.loads(quandary("runs", "--all", "--format", "json").out)["runs"]
    assert {run["status"] for run in listed} == STATUSES
    with closing(open_store(kept)) as store:
        runs = store.runs()
        assert {run.flow for run in runs} == FLOWS
    for run in {(run.flow, run.status): run for run in runs}.values():
        assert quandary("log", run.id, "--format", "json").status == 0
        if run.flow == "walk":
            assert quandary("report", run.id).status == 0
        if run.waits == "person" and run.flow == "decide":
            state = json.loads(quandary("next", run.id).out)
            assert state["status"] == "waiting"
            key, keys = state["ask"]["key"], state["ask"]["keys"]
            answers = json.dumps({"answers": [{"key": key, "picked": ["OK"]} for key in keys]})
            answered = quandary("reply", run.id, answers, "--to", key)
            assert json.loads(answered.out)["status"] == "done"
        if run.flow != "imported":
            assert quandary("export", run.id).status == 0
    assert quandary("stats", "--all").status == 0
    assert quandary("verify").status == 0
    assert quandary("prune", "--older-than", "1s", "--all").status == 0
    assert quandary("verify").status == 0


def test_a_newer_store_is_refused_with_one_line(
    path: Path | str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What this program does not know, it does not touch, and it says what to do."""
    open_store(path).close()
    if isinstance(path, str):
        with psycopg.connect(path, autocommit=True) as connection:
            connection.execute("UPDATE quandary SET version = 99")
    else:
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version = 99")
    ended = call(capsys, "runs", "--store", str(path))
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("quandary: ")
    assert ended.err.count("\n") == 1
    assert "was written by a newer Quandary (schema 99" in ended.err
