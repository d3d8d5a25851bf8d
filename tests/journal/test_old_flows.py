"""Journals of every version of every flow: shown, and gone on with, for ever."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import small_flows
from quandary.journal import progress
from quandary.journal import runs as driver
from quandary.journal.entries import Asked, offered
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Ask

JOURNALS = sorted((Path(__file__).parent.parent / "journals" / "flows").glob("*.sql"))


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.stem)
def test_journals_of_every_flow_are_gone_on_with(tmp_path: Path, journal: Path) -> None:
    """The flow of today asks what was asked then, and comes to the same end."""
    path = tmp_path / "journal.db"
    db = sqlite3.connect(path)
    db.executescript(journal.read_text(encoding="utf-8"))
    db.close()
    store = SqliteStore(path)
    assert verify(store).ok
    runs = store.runs()
    assert {run.status for run in runs} >= {"waiting", "done"}
    for run in runs:
        shown = driver.look(store, run.id)
        now = list(small_flows.requests(store, run.id))
        bodies = [entry.read() for entry in store.entries(run.id, kinds=("asked",))]
        asked = {body.key: body.offered for body in bodies if isinstance(body, Asked)}
        standing = [ask for ask in now if isinstance(ask, Ask)]
        assert standing
        for ask in standing:
            assert asked[ask.key] == {q.key: offered(q) for q in ask.questions}
        end = progress.rebuild(store, run.id)
        assert _meant(end.result) == _meant(shown.result)
        if shown.status == "waiting":
            driver._opened.clear()
            assert driver.advance(store, run.id, who="person", through="web").key == shown.key
    store.close()


def _meant(result: object) -> object:
    """A result without what only people read, and without whose hand it was, which is newer."""
    if isinstance(result, dict):
        beside = ("labels", "name", "by", "through", "notes")
        return {name: _meant(value) for name, value in result.items() if name not in beside}
    return [_meant(value) for value in result] if isinstance(result, list | tuple) else result
