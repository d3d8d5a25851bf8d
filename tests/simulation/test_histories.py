"""Histories that real clients saw are judged: what holds, and what does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from quandary.desk import begin, reply
from quandary.desk.authority import Caller
from quandary.journal.entries import Source
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply
from simulation.events import Act, Wrong
from simulation.histories import Recorder, judge
from simulation.people import questions, view_of

if TYPE_CHECKING:
    from pathlib import Path

AGENT, ANN = Caller("agent", "command", "bot"), Caller("person", "web", "ann")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Somebody asks, somebody answers, and both hear of it."""
    store, file = SqliteStore(tmp_path / "journal.db"), tmp_path / "history.jsonl"
    recorder = Recorder(file, str(tmp_path / "journal.db"))
    asking = Act("begin", Source(**AGENT.source), to="decide")
    number = recorder.send(asking)
    state = begin.begin(store, AGENT, questions(1, 1, 2, require=False), begin.Showing())
    recorder.hear(number, asking, "ok", view_of(state))
    replying = Act("reply", Source(**ANN.source), state.run, "1:", (("1:", "OK"),))
    number = recorder.send(replying)
    said = Reply((Answer("1:", ("OK",)),))
    recorder.hear(number, replying, "ok", view_of(reply.record_reply(store, ANN, state.run, said)))
    recorder.close()
    store.close()
    return file


def test_what_everybody_saw_holds(history: Path) -> None:
    """Two acts, each sent, committed and heard."""
    assert judge(history) == 6


def change(history: Path, what: str, **changes: Any) -> None:  # noqa: ANN401 - any JSON
    """Have the last line of that kind say something else."""
    lines = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    *_, last = (n for n, line in enumerate(lines) if line[0] == what)
    for place, value in changes.items():
        lines[last][int(place[1:])] = value
    text = "".join(f"{json.dumps(line)}\n" for line in lines if len(line) > 1)
    history.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("what", "changes", "wrong"),
    [
        ("hear", {"_2": "already"}, "refused"),
        ("hear", {"_3": ["waiting", "1:", [["1", ""]], []]}, "is told"),
        ("hear", {"_3": ["done", None, [], [["1", "NO", "person", "web"]]]}, "is told"),
        ("commit", {"_1": []}, "acknowledged and not recorded"),
        ("send", {"_2": ["reply", ["person", "web", "cleo"], "", "1:"]}, "did not send that"),
    ],
)
def test_what_cannot_have_been_is_found(
    history: Path, what: str, changes: dict[str, Any], wrong: str
) -> None:
    """A refusal of what was recorded, another state or result, an answer lost or of nobody."""
    change(history, what, **changes)
    with pytest.raises(Wrong, match=wrong):
        judge(history)
