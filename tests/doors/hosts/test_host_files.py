"""The command that is written into settings, which will be there tomorrow; what agents learn."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from quandary.doors.hosts import host_files
from quandary.doors.hosts.permissions import KNOWN_HOSTS
from quandary.errors import QuandaryError


@pytest.fixture(autouse=True)
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A disk with a folder for temporary files, an empty PATH, and no program beside Python."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(host_files, "temporary_folders", lambda: [str(tmp_path / "tmp")])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere" / "python"))
    monkeypatch.setattr(sys, "argv", ["quandary"])
    monkeypatch.setenv("PATH", "")
    for name in ("UV_CACHE_DIR", "XDG_CACHE_HOME", "npm_config_cache"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def program(folder: Path) -> Path:
    """A program of our name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "quandary"
    path.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def on_path(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """PATH, with these folders."""
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))


def environment(folder: Path) -> Path:
    """A virtual environment with the program."""
    program(folder / "bin")
    (folder / "pyvenv.cfg").touch()
    return folder / "bin"


@pytest.mark.parametrize("scope", ["project", "user"])
def test_the_name_is_enough_where_it_leads_to_a_program(
    disk: Path, monkeypatch: pytest.MonkeyPatch, scope: host_files.Scope
) -> None:
    """No path is written that could go away."""
    on_path(monkeypatch, disk / "empty", program(disk / "bin").parent)
    assert host_files.find_command(scope) == ("quandary", "")


def test_a_program_that_goes_away_is_passed_over(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one on PATH is what the name will lead to then."""
    first = program(disk / "home" / ".cache" / "uv" / "archive-v0" / "x" / "bin").parent
    on_path(monkeypatch, first, program(disk / "bin").parent)
    assert host_files.find_command("project") == ("quandary", "")


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("tmp/x/bin", "is in a temporary folder"),
        ("home/.cache/uv/archive-v0/abc/bin", "is in a cache"),
        ("home/.local/share/pipx/.cache/abc/bin", "is in a cache"),
        ("home/.npm/_npx/abc/node_modules/.bin", "is in a cache"),
        ("Local/uv/cache/x/Scripts", "is in a cache"),
        ("home/Library/Caches/x", "is in a cache"),
        ("named/bin", "is in a cache"),
    ],
)
@pytest.mark.parametrize("scope", ["project", "user"])
def test_a_place_that_is_emptied_is_refused(
    disk: Path, monkeypatch: pytest.MonkeyPatch, folder: str, said: str, scope: host_files.Scope
) -> None:
    """The error names the program, the reason and the remedy."""
    monkeypatch.setenv("UV_CACHE_DIR", str(disk / "named"))
    place = program(disk / folder)
    on_path(monkeypatch, place.parent)
    with pytest.raises(QuandaryError) as caught:
        host_files.find_command(scope)
    assert str(caught.value).startswith(f"{place} {said}")
    assert "uv tool install quandary" in str(caught.value)


def test_a_link_counts_as_what_it_leads_to(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lasting folder does not make its contents last."""
    (disk / "bin").mkdir()
    (disk / "bin" / "quandary").symlink_to(program(disk / "tmp" / "x"))
    on_path(monkeypatch, disk / "bin")
    with pytest.raises(QuandaryError, match="temporary"):
        host_files.find_command("user")


def test_an_environment_is_on_path_only_while_it_is_active(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project gets the name and the person a note; in a user's settings the path is better."""
    folder = environment(disk / "work" / ".venv")
    on_path(monkeypatch, folder)
    word, note = host_files.find_command("project")
    assert word == "quandary"
    assert str(disk / "work" / ".venv") in note
    assert host_files.find_command("user") == (str(folder / "quandary"), "")
    on_path(monkeypatch, folder, program(disk / "bin").parent)
    assert host_files.find_command("project") == host_files.find_command("user") == ("quandary", "")


def test_off_path_only_a_user_gets_the_path(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of this machine has no place in files that others share."""
    folder = environment(disk / "env")
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    assert host_files.find_command("user") == (str(folder / "quandary"), "")
    with pytest.raises(QuandaryError, match=r"not on PATH; install it .*, or use --user$"):
        host_files.find_command("project")


def test_no_program_at_all_is_refused(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of PATH that depends on where one stands does not count either."""
    program(disk / "here")
    monkeypatch.chdir(disk)
    monkeypatch.setenv("PATH", "here")
    with pytest.raises(QuandaryError, match="not on PATH"):
        host_files.find_command("user")


@pytest.mark.parametrize("name", ["TMPDIR", "XDG_RUNTIME_DIR"])
def test_the_environment_names_temporary_folders(
    disk: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Besides those that every system has."""
    monkeypatch.undo()
    monkeypatch.setenv(name, str(disk / "elsewhere"))
    folders = host_files.temporary_folders()
    assert {str(disk / "elsewhere"), "/tmp", "/dev/shm"} <= set(folders)  # noqa: S108 - named only


def test_sub_agents_learn_to_ask_by_the_command_line() -> None:
    """Claude Code offers them no question tool, and its skill says what to run instead."""
    said = " ".join(host_files.places("claude", None).lesson.body.split())
    assert (
        "as a sub-agent, run `quandary next RUN --wait 60` until it is no longer `waiting`" in said
    )


def test_every_host_is_named_with_what_it_cannot_do() -> None:
    """Of permissions and of parked sessions, the page has a word on each."""
    page = (Path(__file__).parents[3] / "docs" / "hosts.md").read_text(encoding="utf-8")
    for heading in ("## Permissions and plans", "## Sessions"):
        part = page.partition(heading)[2].partition("\n## ")[0].casefold()
        for host in {*host_files.HOSTS, *KNOWN_HOSTS, "opencode"}:
            assert {"vscode": "vs code"}.get(host, host) in part, (heading, host)
