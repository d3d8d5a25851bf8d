"""`quandary trust`, and what every command says of a project that nobody trusts yet."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from program import DEPLOY, PROGRAM, at_terminal, call, consent, start, type_at
from quandary.journal.sqlite import SqliteStore
from small_flows import begin

SETTINGS = """\
store = "kept.db"

[hooks]
route = "inbox"
wait = 1

[agents.BOT]
argv = ["./bot.sh", "\\u001b[2J"]
"""
CALL = {
    "tool_name": "AskUserQuestion",
    "tool_use_id": "1",
    "tool_input": {"questions": [{"question": "Now?", "options": [{"label": "A"}]}]},
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cloned repository that brings a store along, seen for the first time."""
    for name in [name for name in os.environ if name.startswith("QUANDARY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "t.md").write_text(DEPLOY, encoding="utf-8")
    (root / "bot.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (root / "quandary.toml").write_text(SETTINGS, encoding="utf-8")
    store = SqliteStore(root / "kept.db")
    begin(store)
    store.close()
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize(
    "words",
    [
        "runs",
        "log",
        "verify",
        "stats",
        "prefer list",
        "ask t.md --context Why. --via relay",
        "reply 0 yes",
        "next 0",
        "prune --older-than 1d",
        "mcp",
        "store backup saved.db",
    ],
)
def test_nothing_opens_a_store_that_a_repository_brings(
    capsys: pytest.CaptureFixture[str], project: Path, words: str
) -> None:
    """Looking included: one line with the command to type, and the file is not even opened."""
    before = sorted(os.listdir())
    ended = call(capsys, *words.split())
    assert ended.status == 2
    assert ended.out == ""
    assert ended.err == (
        f"quandary: {project}/quandary.toml names a store of its own ({project}/kept.db); "
        f"if you trust that, type: quandary trust {project}\n"
    )
    assert sorted(os.listdir()) == before


def test_a_server_does_not_open_such_a_store(project: Path) -> None:
    """It ends before it serves anybody."""
    ended = start("serve", "--port", "0")
    assert ended.status == 2
    assert f"quandary trust {project}" in ended.err


def test_a_preference_in_such_a_store_decides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """It is not looked at, so the question is asked, with a note that says why."""
    said = json.loads(call(capsys, "prefer", "check", "log-level").out)
    assert said["verdict"] == "ASK_NORMALLY"
    assert "quandary trust" in said["note"]


def test_a_store_that_its_user_names_is_opened(capsys: pytest.CaptureFixture[str]) -> None:
    """The nearer word counts, as ever."""
    assert call(capsys, "runs", "--store", "kept.db").status == 0


@pytest.mark.parametrize("event", ["pre", "post"])
def test_a_hook_does_not_stand_in_the_way_of_a_project_without_consent(
    project: Path, tmp_path: Path, event: str
) -> None:
    """The host asks in its own form, and the log says why nothing was recorded."""
    before = sorted(os.listdir())
    told = json.dumps({**CALL, "cwd": str(project)})
    assert start("hook", event, stdin=told) == (0, "", "")
    assert sorted(os.listdir()) == before
    log = (tmp_path / "data" / "quandary" / "hook.log").read_text(encoding="utf-8")
    assert f"quandary trust {project}" in log


def test_a_hook_ignores_the_route_of_a_project_without_consent(project: Path) -> None:
    """A repository cannot have questions wait where nobody looks."""
    Path("quandary.toml").write_text('[hooks]\nroute = "inbox"\nwait = 80000\n')
    told = json.dumps({**CALL, "cwd": str(project)})
    assert start("hook", "pre", stdin=told, seconds=30) == (0, "", "")


def test_consent_is_asked_at_a_terminal(
    capsys: pytest.CaptureFixture[str], project: Path, tmp_path: Path
) -> None:
    """All that is named is shown, with nothing hidden; then it counts, and is not asked again."""
    refused = call(capsys, "trust")
    assert refused.status == 2
    assert refused.err.endswith(f"if you trust that, type: quandary trust {project}\n")
    ended = type_at([*PROGRAM, "trust"], "y\n", {"CLAUDECODE": "1"})
    assert (ended.status, "CLAUDECODE is set" in ended.out) == (2, True)
    ended = at_terminal("trust", typed="n\n")
    assert ended.status == 1
    assert not (tmp_path / "config").exists()
    ended = at_terminal("trust", typed="y\n")
    assert ended.status == 0
    for shown in (f"store = {project}/kept.db", "route = 'inbox'", "./bot.sh", "the file bot.sh"):
        assert shown in ended.out
    assert "\x1b[2J" not in ended.out
    assert call(capsys, "runs", "--all").status == 0
    assert call(capsys, "trust").err == f"nothing to do: {project} is trusted\n"


def test_consent_is_to_what_was_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    """Somebody may change a script while its user looks at it."""

    def swap(*_: object, **__: object) -> bool:
        (project / "bot.sh").write_text("another", encoding="utf-8")
        return True

    monkeypatch.setattr("quandary.cli.setup.is_terminal", lambda: True)
    monkeypatch.setattr("quandary.cli.setup.find_agent", lambda: "")
    monkeypatch.setattr("click.confirm", swap)
    assert call(capsys, "trust").status == 0
    assert "it names something else now" in call(capsys, "trust", "--list").out


def test_consents_are_listed_and_removed(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    """Also where the project has changed, or is gone."""
    assert call(capsys, "trust", "--list") == (0, "", "")
    consent(project)
    line = f"{project}  store, hooks, agents, since 2027-03-02"
    assert call(capsys, "trust", "--list").out == f"{line}\n"
    Path("bot.sh").write_text("#!/bin/sh\nrm\n", encoding="utf-8")
    assert call(capsys, "trust", "--list").out == f"{line}; it names something else now\n"
    Path("quandary.toml").unlink()
    assert call(capsys, "trust", "--list").out == f"{line}; it names nothing any more\n"
    assert call(capsys, "trust").err == (
        f"nothing to do: {project} names nothing that needs trust\n"
    )
    assert call(capsys, "trust", "--remove").status == 0
    assert call(capsys, "trust", "--list").out == ""
    assert call(capsys, "trust", "--remove").status == 1
    assert call(capsys, "trust", "nowhere").status == 2
