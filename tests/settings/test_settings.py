"""Settings: where they are found, which word counts, and what is said about bad ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from program import consent
from quandary.errors import ParseError
from quandary.journal import place_of
from quandary.settings import config_folder, data_folder, project_of, read_settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and a user whose settings are empty."""
    root = tmp_path / "project"
    (root / "deep").mkdir(parents=True)
    (root / "quandary.toml").touch()
    (tmp_path / "config" / "quandary").mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("QUANDARY_STORE", "QUANDARY_DEFAULT_CLI", "QUANDARY_MAX_VISITS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(root / "deep")
    return root


def write(path: Path, text: str) -> None:
    """A file of settings."""
    path.write_text(text, encoding="utf-8")


def test_the_nearest_word_counts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment, then the project, then the user, then what is built in."""
    user = project.parent / "config" / "quandary" / "config.toml"
    assert read_settings().text("default_cli", "NONE") == "NONE"
    write(user, 'default_cli = "FROM_USER"\nmax_visits = 7\nwrite_log_long = false\n')
    assert read_settings().text("default_cli") == "FROM_USER"
    write(project / "quandary.toml", '\ufeffdefault_cli = "FROM_PROJECT"\n')
    settings = read_settings()
    assert settings.text("default_cli") == "FROM_PROJECT"
    assert settings.number("max_visits", 25) == 7
    assert settings.flag("write_log_long", default=True) is False
    monkeypatch.setenv("QUANDARY_DEFAULT_CLI", "FROM_ENVIRONMENT")
    monkeypatch.setenv("QUANDARY_MAX_VISITS", " 9 ")
    monkeypatch.setenv("QUANDARY_WRITE_LOG_LONG", "Yes")
    assert settings.text("default_cli") == "FROM_ENVIRONMENT"
    assert settings.number("max_visits", 25) == 9
    assert settings.flag("write_log_long", default=False) is True


def test_a_project_lowers_the_limits_of_its_user_and_raises_none(project: Path) -> None:
    """A repository that was cloned spends no more than whoever runs it lets it."""
    write(project.parent / "config/quandary/config.toml", "max_calls = 7\nmax_seconds = 60\n")
    write(project / "quandary.toml", "max_calls = 700\nmax_seconds = 6\nmax_tokens = 5\n")
    settings = read_settings()
    found = [settings.number(f"max_{name}", 0) for name in ("calls", "seconds", "tokens")]
    assert found == [7, 6, 5]
    write(project / "quandary.toml", "max_calls = -1\n")
    assert read_settings().number("max_calls", -1) == 7


def test_tables_are_merged_and_can_be_told_apart(project: Path) -> None:
    """The project's entry of a name takes the place of the user's."""
    write(project.parent / "config/quandary/config.toml", "[agents.A]\nx = 1\n[agents.B]\nx = 2\n")
    write(project / "quandary.toml", "[agents.B]\nx = 3\n")
    settings = read_settings()
    assert settings.table("agents") == {"A": {"x": 1}, "B": {"x": 3}}
    assert [part.origin for part, _ in settings.tables("agents")] == ["project", "user"]
    assert settings.table("questions") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default_cli = 3\n", "quandary.toml: default_cli is a text, not 3"),
        ("max_visits = true\n", "quandary.toml: max_visits is a whole number, not True"),
        (f"max_visits = {10**400}\n", "the setting max_visits is larger than 1000000000000"),
        ("agents = 1\n", "quandary.toml: [agents] is a table"),
        ("= 1\n", "quandary.toml: "),
        (f"a = {'[' * 10_000}\n", "quandary.toml: "),
        (f"a = {'1' * 5_000}\n", "quandary.toml: "),
        (f"a{'.a' * 50_000} = 1\n", "quandary.toml: nested too deeply"),
        (f"[a{' . a' * 50_000}]\n", "quandary.toml: nested too deeply"),
        (f"a = {{b = 1, a{'.a' * 50_000} = 1}}\n", "quandary.toml: nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_file(project: Path, text: str, message: str) -> None:
    """One line, and no traceback."""
    write(project / "quandary.toml", text)

    def look() -> None:
        settings = read_settings()
        settings.text("default_cli")
        settings.number("max_visits", 1)
        settings.table("agents")

    with pytest.raises(ParseError) as caught:
        look()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_values_in_the_environment_are_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number that is none is not taken for the default."""
    for said in ("many", "9" * 5_000):
        monkeypatch.setenv("QUANDARY_MAX_VISITS", said)
        with pytest.raises(ParseError, match="QUANDARY_MAX_VISITS"):
            read_settings(str(project)).number("max_visits", 25)


def test_the_store_can_be_named_in_the_settings(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path there starts from the folder of its file; nearer words go first."""
    assert place_of() == str(project.parent / "data" / "quandary" / "journal.db")
    write(project / "quandary.toml", 'store = "kept/journal.db"\n')
    consent(project)
    assert place_of() == str(project / "kept" / "journal.db")
    monkeypatch.setenv("QUANDARY_STORE", "elsewhere.db")
    assert place_of() == "elsewhere.db"
    assert place_of("here.db") == "here.db"
    monkeypatch.delenv("QUANDARY_STORE")
    for other in ("3", '"a\\u0000b"'):
        write(project / "quandary.toml", f"store = {other}\n")
        with pytest.raises(ParseError, match="store is a path"):
            place_of()


def test_the_users_folders_follow_the_convention(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the home folder unless the environment says otherwise."""
    assert config_folder() == str(project.parent / "config" / "quandary")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(project))
    assert config_folder() == str(project / ".config" / "quandary")
    assert data_folder() == str(project / ".local" / "share" / "quandary")


def test_a_git_file_lends_no_other_project(project: Path) -> None:
    """It can be unpacked from anywhere, so the repository that it names has to know of it."""
    main, stranger = project.parent / "main", project.parent / "stranger"
    inside = main / ".git" / "worktrees" / "real"
    inside.mkdir(parents=True)
    real = project.parent / "real"
    for folder in (real, stranger):
        folder.mkdir()
        write(folder / ".git", f"gitdir: {inside}\n")
    assert project_of(str(real)) == str(real)
    write(inside / "gitdir", f"{real / '.git'}\n")
    assert project_of(str(real)) == str(main)
    assert project_of(str(stranger)) == str(stranger)
    write(inside / "gitdir", "../../../../real/.git\n")
    assert project_of(str(real)) == str(main)
    write(stranger / "gitdir", f"{stranger / '.git'}\n")
    write(stranger / ".git", f"gitdir: {inside.parent}/../../../stranger\n")
    assert project_of(str(stranger)) == str(stranger), "no dots lead back out of the repository"
    unpacked = main / "worktrees" / "own"
    unpacked.mkdir(parents=True)
    write(unpacked / "gitdir", f"{stranger / '.git'}\n")
    write(stranger / ".git", f"gitdir: {unpacked}\n")
    assert project_of(str(stranger)) == str(main), "nor is it a project of the folder around it"
    write(unpacked / "gitdir", "\0\n")
    assert project_of(str(stranger)) == str(stranger)


@pytest.mark.parametrize("endless", ["/dev/zero", "pipe"])
def test_a_worktree_does_not_keep_us_waiting(project: Path, endless: str) -> None:
    """What a `.git` file names may be a link to a device, or a pipe into which nobody writes."""
    inside = project / "x" / "worktrees" / "y"
    inside.mkdir(parents=True)
    os.mkfifo(inside / "pipe")
    (inside / "gitdir").symlink_to(endless)
    write(project / ".git", "gitdir: x/worktrees/y\n")
    assert project_of(str(project)) == str(project)


@pytest.mark.parametrize("mark", ["quandary.toml", ".git"])
def test_a_folder_that_is_everybodys_is_no_project_of_anybody_else(
    project: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    """Whoever works below `/tmp` gets no agents from what another user put there."""
    shared = project.parent / "shared"
    (shared / "mine").mkdir(parents=True)
    for name in {"quandary.toml", mark}:
        write(shared / name, '[agents.CLAUDE]\nargv = ["/tmp/theirs"]\n')
        if os.geteuid() == 0:
            os.chown(shared / name, 54321, -1)
    shared.chmod(0o1777)
    owner = (shared / mark).stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    assert read_settings(str(shared / "mine")).root == str(shared)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    settings = read_settings(str(shared / "mine"))
    assert (settings.root != str(shared), settings.table("agents")) == (True, {})
    shared.chmod(0o755)
    assert read_settings(str(shared / "mine")).root == str(shared)
