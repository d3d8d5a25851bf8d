"""`quandary permit`, as scripts use it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from program import call
from quandary.desk import reply
from quandary.desk.authority import Caller
from quandary.desk.permits import read_rules
from quandary.doors.hosts import permissions
from quandary.doors.hosts.permissions import Permissions
from quandary.journal import open_store
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An input, in a folder with a store of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "journal.db"))
    path = tmp_path / "plan.json"
    path.write_text('{"build": 812}\n', encoding="utf-8")
    return path


def test_a_script_asks_and_uses(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 1 until a person has allowed it, 0 once, and 1 from then on."""
    words = ("permit", "ask", "--action", "deploy build 812", "--input", str(plan))
    asked = call(capsys, *words, "--expires", "1h")
    state = json.loads(asked.out)
    assert (asked.status, state["flow"], state["status"]) == (0, "permit", "waiting")
    use = ("permit", "use", state["run"], "--input", str(plan))
    assert call(capsys, *use).status == 1
    allow = Reply((Answer("1:", ("ONE",)),))
    reply.record_reply(open_store(), Caller("person", "web"), state["run"], allow)
    told = call(capsys, "next", state["run"])
    assert [note["kind"] for note in json.loads(told.out)["notes"]] == ["allowed"]
    plan.write_text('{"build": 813}', encoding="utf-8")
    refused = call(capsys, *use)
    assert refused.status == 1
    assert refused.err.strip() == (
        "quandary: the input is another one: build is 813, and 812 was allowed"
    )
    plan.write_text('{ "build": 812.0 }', encoding="utf-8")
    assert call(capsys, *use).status == 0
    again = call(capsys, *use)
    assert again.status == 1
    assert "was used already" in again.err


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("ask", "--action", " "), 2, "the action is missing"),
        (("ask", "--action", "x", "--input", "nowhere"), 2, "nowhere"),
        (("ask", "--action", "x", "--expires", "soon"), 2, "is no age"),
        (("use", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), 2, "there is no run"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(
    plan: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, says: str
) -> None:
    """And nothing is asked."""
    call(capsys, "permit", "ask", "--action", "first", "--input", str(plan))
    came = call(capsys, "permit", *words)
    assert (came.status, came.out) == (status, "")
    assert says in came.err
    assert came.err.count("\n") == 1


def test_a_rule_is_tried_and_only_a_person_saves_it(
    plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An agent, or a script, can look what it would have decided, and no more."""
    data = {"tool_name": "Bash", "tool_input": {"command": "git status"}}
    stop = permissions.read_stop(data, "claude", str(plan.parent))
    assert stop is not None
    chosen = Permissions(rules=read_rules({"look": "deny Bash command='git status'"}))
    permissions.decide(open_store(), stop, "", chosen)
    tried = call(capsys, "permit", "try", "allow Bash command='git status'")
    assert tried.status == 0
    assert tried.out.startswith("!")
    assert "allow  (was deny)  Bash  git status" in tried.out
    assert "1 of them were not" in tried.err
    saved = call(capsys, "permit", "rule", "add", "git", "allow Bash command='git status'")
    assert (saved.status, "only a person can save a rule" in saved.err) == (1, True)
    assert call(capsys, "permit", "try", "allow everything please").status == 2
