"""`quandary permit`, as scripts use it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from program import at_terminal, call
from quandary.desk import reply
from quandary.desk.authority import Caller
from quandary.desk.permits import read_rules
from quandary.doors.hosts import permissions
from quandary.doors.hosts.permissions import Permissions
from quandary.journal import chance, open_store
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
    plan.write_text('{"build": 812, "build": 812}', encoding="utf-8")
    assert "another one: see line 1" in call(capsys, *use).err
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


def allowed(plan: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The run of a permit that a person has given."""
    asked = call(capsys, "permit", "ask", "--action", "x", "--input", str(plan), *words)
    run = str(json.loads(asked.out)["run"])
    allow = Reply((Answer("1:", ("ONE",)),))
    reply.record_reply(open_store(), Caller("person", "web"), run, allow)
    return run


def test_a_permit_is_used_within_its_time(
    plan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was allowed in time is used in time, or not at all."""
    early, late = (allowed(plan, capsys, "--expires", age) for age in ("3h", "1h"))
    then = chance.now() + timedelta(hours=2)
    monkeypatch.setattr(chance, "now", lambda: then)
    used, refused = (call(capsys, "permit", "use", n, "--input", str(plan)) for n in (early, late))
    assert (used.status, refused.status) == (0, 1)
    assert refused.err.count("\n") == 1
    assert "the time of this permit was up" in refused.err


def look(command: str, folder: Path) -> None:
    """Have a rule deny a command, so that there is a request on record."""
    data = {"tool_name": "Bash", "tool_input": {"command": command}}
    stop = permissions.read_stop(data, "claude", str(folder))
    assert stop is not None
    chosen = Permissions(rules=read_rules({"no": "deny Bash"}))
    permissions.decide(open_store(), stop, "", chosen)


def test_a_rule_is_tried_as_far_back_as_is_said(
    plan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A month, where nothing is said."""
    now, days = chance.now(), 0
    monkeypatch.setattr(chance, "now", lambda: now + timedelta(days=days))
    look("git status", plan.parent)
    days = 10
    for words, lines in (((), 1), (("--since", "11d"), 1), (("--since", "9d"), 0)):
        tried = call(capsys, "permit", "try", "allow Bash command='git status'", *words)
        assert (tried.status, tried.out.count("\n")) == (0, lines), words
    days = 31
    assert call(capsys, "permit", "try", "allow Bash command='git status'").out == ""


def test_a_rule_is_tried_before_a_person_saves_it(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it would have decided is shown first; whoever says no then has saved nothing."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(plan.parent))
    look("git status", plan.parent)
    words = ("permit", "rule", "add", "git", "allow Bash command='git status'")
    no, yes = at_terminal(*words, typed="n\n"), at_terminal(*words, typed="y\n")
    for ended in (no, yes):
        assert ended.out.index("(was deny)") < ended.out.index("Save the rule git?")
    assert (no.status, yes.status) == (1, 0)
    assert [rule.name for rule in permissions.user_permissions().rules] == ["git"]


@pytest.mark.parametrize(
    "words", [("gate", ".", "--reuse", "30d"), ("permit", "ask", "--action", "x", "--reuse", "30d")]
)
def test_no_gate_and_no_permit_takes_an_earlier_answer(
    plan: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """Each is for one occasion, so nobody can even ask for it."""
    assert plan.exists()
    came = call(capsys, *words)
    assert (came.status, "--reuse" in came.err) == (2, True)
