"""`quandary doctor`: what it looks at, how it says so, and with which status it ends."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

import program
from quandary import __version__
from quandary.cli import doctor
from quandary.settings.agents import known_agents

KNOWN = known_agents()
TRIED = {agent.name: agent.tried for agent in KNOWN if agent.tried}

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, an empty home, and a PATH with our program and no agent."""
    for name in [name for name in os.environ if name.startswith(("QUANDARY_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "journal.db"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), "/usr/bin", "/bin"]))
    (tmp_path / "home").mkdir()
    put(tmp_path, "quandary", f"echo quandary {__version__}")
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    return root


def put(folder: Path, name: str, script: str) -> None:
    """A program on PATH that keeps a list of how it was called."""
    place = folder / "bin" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(f'#!/bin/sh\necho "{name} $*" >> {folder}/calls\n{script}\n')
    place.chmod(0o755)
    doctor.version_of.cache_clear()


def findings(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """What it found, as JSON, with the status that goes with it."""
    ended = program.call(capsys, "doctor", "--format", "json", *words)
    found: dict[str, Any] = json.loads(ended.out)
    assert ended.status == (0 if found["ok"] else 1)
    assert found["ok"] is not any(f["status"] == "broken" for f in found["findings"])
    return found


def agents(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
    """What it says of agents."""
    listed = findings(capsys)["findings"]
    return {f["what"]: (f["status"], f["text"]) for f in listed if f["area"] == "agents"}


def test_everything_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of a report, with the version of this program."""
    found = findings(capsys)
    assert (found["ok"], found["version"]) == (True, __version__)
    areas = list(dict.fromkeys(f["area"] for f in found["findings"]))
    assert areas == ["program", "extras", "settings", "store", "hosts", "agents"]
    assert set(found["findings"][0]) == {"area", "status", "what", "text", "remedy"}


def test_what_is_broken_ends_with_status_1(
    capsys: pytest.CaptureFixture[str], project: Path
) -> None:
    """The text names it, and below it what to do."""
    assert program.call(capsys, "doctor").out.endswith("\nNothing is broken.\n")
    (project / "quandary.toml").write_text("max_visit = 3\n")
    ended = program.call(capsys, "doctor")
    assert ended.status == 1
    said = "  broken  quandary.toml: there is no setting max_visit\n"
    assert f"{said}          → did you mean max_visits?\n" in ended.out
    assert ended.out.endswith("\n1 broken.\n")
    assert findings(capsys)["ok"] is False


def test_a_broken_file_is_a_finding_and_no_failure(
    capsys: pytest.CaptureFixture[str], project: Path
) -> None:
    """Whatever cannot be read, the rest is looked at."""
    (project / "quandary.toml").write_text("= = =\n")
    found = findings(capsys)
    assert found["ok"] is False
    assert {"hosts", "agents"} <= {f["area"] for f in found["findings"]}


def test_it_changes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """No store is made, no folder, no file."""
    before = sorted(tmp_path.rglob("*"))
    findings(capsys)
    assert sorted({*tmp_path.rglob("*")} - {tmp_path / "calls"}) == before


def test_a_store_can_be_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As with every other command."""
    place = tmp_path / "other.db"
    place.write_text("nothing that anybody could read as a journal" * 20)
    assert findings(capsys, "--store", str(place))["ok"] is False


def test_agents_are_only_asked_for_their_versions(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """All that are known, each once, and with nothing else to do."""
    for agent in KNOWN:
        put(tmp_path, agent.argv[0], f"echo {TRIED.get(agent.name, '1.2.3')}")
    found = agents(capsys)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert sorted(calls) == sorted(
        f"{name} --version" for name in ("quandary", *(agent.argv[0] for agent in KNOWN))
    )
    for agent in KNOWN:
        tried = TRIED.get(agent.name)
        text = f"version {tried}, the one that was tried" if tried else "version 1.2.3, never tried"
        assert found[agent.name] == ("ok" if tried else "note", text)


def test_another_version_than_was_tried_is_noted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It may work; what hangs or says nothing is noted too."""
    put(tmp_path, "codex", "echo codex-cli 9.0.0")
    put(tmp_path, "gemini", "exit 41")
    found = agents(capsys)
    assert found["CODEX"] == (
        "note",
        f"version 9.0.0; what is known about it was tried with {TRIED['CODEX']}",
    )
    assert found["GEMINI"] == ("note", "gemini says no version and ended with status 41")
    assert "CLAUDE" in found["others"][1]


def test_a_claude_code_too_old_for_its_hooks_is_broken(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where they are installed."""
    monkeypatch.setattr("quandary.doors.hosts.host_files.temporary_folders", list)
    put(tmp_path, "claude", "echo '2.1.99 (Claude Code)'")
    assert agents(capsys)["CLAUDE"][0] == "note"
    assert program.call(capsys, "install", "claude").status == 0
    assert agents(capsys)["CLAUDE"][0] == "broken"
    put(tmp_path, "claude", "echo '2.1.139 (Claude Code)'")
    assert agents(capsys)["CLAUDE"][0] == "note"


def test_programs_of_your_own_are_not_run(
    capsys: pytest.CaptureFixture[str], project: Path, tmp_path: Path
) -> None:
    """Nobody knows what they make of a question for their version."""
    put(tmp_path, "mine", "echo 1.0")
    put(tmp_path, "theirs", "echo 1.0")
    (project / "quandary.toml").write_text(
        'default_cli = "MINE"\n[agents.MINE]\nargv = ["mine"]\n[agents.CLAUDE]\nargv = ["theirs"]\n'
    )
    found = agents(capsys)
    assert found["MINE"] == ("ok", "mine, as your settings say")
    assert found["CLAUDE"] == ("ok", "theirs, as your settings say")
    assert (tmp_path / "calls").read_text() == "quandary --version\n"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("NOBODY", "there is no such agent"), ("codex", "whose program codex was not found")],
)
def test_an_agent_that_the_settings_rely_on_must_be_there(
    capsys: pytest.CaptureFixture[str], project: Path, name: str, wrong: str
) -> None:
    """Else a chart would fail at its first step."""
    (project / "quandary.toml").write_text(f'default_retry_cli = "{name}"\n')
    status, text = agents(capsys)["default_retry_cli"]
    assert status == "broken"
    assert wrong in text


def test_the_versions_are_those_of_known_agents() -> None:
    """Each has a version that it was tried with, but for the one that was only read about."""
    assert {agent.name for agent in KNOWN} - set(TRIED) == {"CURSOR"}
    assert set(TRIED) <= {agent.name for agent in KNOWN}
