"""`quandary install` and `quandary uninstall`: for whom, with which words, to which effect."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from program import SCRIPT, call, consent, environment
from quandary.doors.hosts import host_files

SKILL = ".claude/skills/quandary/SKILL.md"
SETTINGS = ".claude/settings.json"
NOTE = "note: the hooks need Claude Code 2.1.139 or later\n"
HOOKS = "hooks PreToolUse, PermissionRequest, PostToolUse, SessionStart for questions and sessions"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is the current folder, an empty home, and the program on PATH."""
    monkeypatch.setattr(host_files, "temporary_folders", list)
    program = tmp_path / "bin" / "quandary"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    root = tmp_path / "project"
    (root / "deep" / "er").mkdir(parents=True)
    (root / ".git").mkdir()
    monkeypatch.chdir(root)
    return root


def files() -> dict[str, bytes]:
    """Every file in the current folder."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def test_each_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Installing says what was made, doing it again that there was nothing to do."""
    made = f"created {SKILL}: instructions for agents\ncreated {SETTINGS}: {HOOKS}\n"
    assert call(capsys, "install", "claude") == (0, "", made + NOTE)
    nothing = "nothing to do: quandary is installed for claude\n"
    assert call(capsys, "install", "claude") == (0, "", nothing + NOTE)
    every = "SessionStart, PostToolUseFailure for questions and permissions and sessions"
    gone = made.replace("created", "removed").replace(HOOKS.partition("PostToolUse, ")[2], every)
    assert call(capsys, "uninstall", "claude") == (0, "", gone)
    nothing = "nothing to do: quandary is not installed for claude\n"
    assert call(capsys, "uninstall", "claude") == (0, "", nothing)
    assert files() == {}


def test_a_file_in_order_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    """The second time, no file is even touched."""
    call(capsys, "install", "claude")
    before = [(path, os.stat(path).st_mtime_ns, os.stat(path).st_ino) for path in files()]
    call(capsys, "install", "claude")
    assert before == [(path, os.stat(path).st_mtime_ns, os.stat(path).st_ino) for path in files()]


def test_the_project_is_found_from_below(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are named as seen from where one stands."""
    monkeypatch.chdir("deep/er")
    assert f"created ../../{SETTINGS}: " in call(capsys, "install", "claude").err
    monkeypatch.chdir("../..")
    assert Path(SETTINGS).is_file()


def test_outside_a_project_one_has_to_choose(
    capsys: pytest.CaptureFixture[str], project: Path
) -> None:
    """Neither is guessed; `--project` means this folder then."""
    (project / ".git").rmdir()
    for command in ("install", "uninstall"):
        said = "quandary: this is no project; choose --user, or --project for this folder\n"
        assert call(capsys, command, "claude") == (2, "", said)
    assert call(capsys, "install", "claude", "--project").status == 0
    assert Path(SETTINGS).is_file()


def test_for_the_user(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the home folder, or where the host's variable says; the project is not touched."""
    assert call(capsys, "install", "claude", "--user").status == 0
    assert (tmp_path / "home" / SETTINGS).is_file()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    assert call(capsys, "install", "claude", "--user").status == 0
    assert (tmp_path / "elsewhere" / "settings.json").is_file()
    assert call(capsys, "uninstall", "claude", "--user").status == 0
    assert not (tmp_path / "elsewhere").exists()
    assert (tmp_path / "home" / SETTINGS).is_file()
    assert files() == {}


def test_questions_that_wait_in_the_inbox_need_a_patient_hook(
    capsys: pytest.CaptureFixture[str], project: Path, tmp_path: Path
) -> None:
    """Half a minute more than the settings say: the project's here, the user's own for the user."""
    (project / "quandary.toml").write_text('[hooks]\nroute = "inbox"\nwait = 90\n')
    consent(project)
    assert call(capsys, "install", "claude").status == 0
    before, asked, after, _ = json.loads(Path(SETTINGS).read_text())["hooks"].values()
    assert asked[0]["hooks"][0]["timeout"] == 120
    assert not {"timeout"} & {*before[0]["hooks"][0], *after[0]["hooks"][0]}
    assert call(capsys, "install", "claude", "--user").status == 0
    own = tmp_path / "home" / SETTINGS
    assert "timeout" not in own.read_text()
    config = tmp_path / "home" / ".config" / "quandary"
    (config / "config.toml").write_text('[hooks]\nroute = "inbox"\n')
    assert call(capsys, "install", "claude", "--user").status == 0
    assert (
        json.loads(own.read_text())["hooks"]["PermissionRequest"][0]["hooks"][0]["timeout"] == 630
    )
    (project / "quandary.toml").write_text('[hooks]\nroute = "nowhere"\n')
    consent(project)
    assert call(capsys, "install", "claude").status == 2


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["claude", "--project", "--user"], "--project and --user exclude each other"),
        (["emacs"], "emacs"),
        ([], "Choose from: claude, codex, gemini, cursor, vscode"),
    ],
)
def test_wrong_usage_is_one_line(
    capsys: pytest.CaptureFixture[str], command: str, words: list[str], said: str
) -> None:
    """With status 2 and a hint."""
    status, out, err = call(capsys, command, *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert f"see quandary {command} --help" in err


@pytest.mark.parametrize("before", [None, "", '{\r\n  "a": 1\r\n}', "{}\n"])
@pytest.mark.parametrize("host", ["claude", "codex"])
def test_a_dry_run_shows_what_would_change(
    capsys: pytest.CaptureFixture[str], host: str, before: str | None
) -> None:
    """As a patch, which leads to the same files as the real thing, there and back."""
    if before is not None:
        for path in (SETTINGS, "AGENTS.md"):
            Path(path).parent.mkdir(exist_ok=True)
            Path(path).write_bytes(before.encode())
    old = files()
    shown = call(capsys, "install", host, "--dry-run")
    assert shown.status == 0
    assert shown.err.startswith("would ")
    assert files() == old
    call(capsys, "install", host)
    new = files()
    back = call(capsys, "uninstall", host, "--dry-run")
    assert files() == new
    call(capsys, "uninstall", host)
    assert files() == old
    patch(shown.out)
    assert files() == new
    patch(back.out)
    assert files() == old


def patch(text: str) -> None:
    """Have git do what a patch says."""
    command = ["git", "apply", "-p0", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=text.encode(), check=True, cwd=Path.cwd())


def test_where_a_link_leads_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A user's file can lie anywhere, and the person should know."""
    page = tmp_path / "home" / ".codex" / "AGENTS.md"
    page.parent.mkdir(parents=True)
    page.symlink_to(tmp_path / "elsewhere.md")
    (tmp_path / "elsewhere.md").touch()
    where = f"{page} (a link to {tmp_path.resolve()}/elsewhere.md): instructions for agents\n"
    user = ("install", "codex", "--user")
    assert call(capsys, *user, "--dry-run").err.startswith(f"would change {where}")
    assert call(capsys, *user).err.startswith(f"changed {where}")
    assert page.is_symlink()


@pytest.mark.parametrize(("link", "target"), [("AGENTS.md", "x.md"), (".codex", "")])
def test_install_does_not_follow_links_out_of_the_project(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, link: str, target: str
) -> None:
    """A repository that brings such a link has nothing written or removed elsewhere."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("Mine.\n", encoding="utf-8")
    Path(link).symlink_to(outside / target)
    for words in (["--mcp"], ["--mcp", "--dry-run"]):
        ended = call(capsys, "install", "codex", *words)
        assert ended.status == 2
        assert "leads out of the project, to" in ended.err
    assert sorted(os.listdir(outside)) == ["x.md"]
    assert (outside / "x.md").read_text(encoding="utf-8") == "Mine.\n"


def test_bad_settings_stop_everything(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says where, and what belongs there can be pasted; nothing was changed."""
    Path(SETTINGS).parent.mkdir()
    Path(SETTINGS).write_text("{", encoding="utf-8")
    status, out, err = call(capsys, "install", "claude")
    assert (status, err.count("\n")) == (2, 1)
    assert err.startswith(f"quandary: {SETTINGS}: not plain JSON (")
    assert err.endswith("; nothing was changed; add this yourself\n")
    assert set(json.loads(out)["hooks"]) == set(host_files.HOOKS)
    assert call(capsys, "uninstall", "claude").status == 0
    assert files() == {SETTINGS: b"{"}


def test_a_program_that_may_vanish_is_not_written_down(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The reason and the remedy are one line."""
    monkeypatch.setattr(host_files, "temporary_folders", lambda: [str(tmp_path)])
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    status, out, err = call(capsys, "install", "claude")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "is in a temporary folder; install it to stay" in err
    assert files() == {}
    assert call(capsys, "uninstall", "claude").status == 0


def test_a_list_that_claude_code_alone_writes_is_left_to_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command that enters our server there is named."""
    status, _, err = call(capsys, "install", "claude", "--user", "--mcp")
    assert (status, files()) == (2, {})
    assert "claude mcp add --scope user" in err


def test_what_was_edited_is_left_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Uninstalling did not do all that it was asked to, and says so by its status."""
    call(capsys, "install", "claude")
    with open(SKILL, "a", encoding="utf-8") as file:
        file.write("Mine.\n")
    status, _, err = call(capsys, "uninstall", "claude")
    assert status == 1
    assert f"quandary: {SKILL} was edited; delete what you do not need\n" in err
    assert list(files()) == [SKILL]


def test_what_is_installed_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The host starts the program with these arguments, and no shell."""
    call(capsys, "install", "claude")
    question = {"question": "Go on?", "options": [{"label": "Yes"}, {"label": "No"}]}
    hooks = json.loads(Path(SETTINGS).read_text(encoding="utf-8"))["hooks"]
    for event, groups in hooks.items():
        handler = groups[0]["hooks"][0]
        told = {"hook_event_name": event, "tool_name": "AskUserQuestion", "tool_use_id": "t"}
        told["tool_input"] = {"questions": [question]}
        changes = {"PATH": str(SCRIPT.parent), "XDG_DATA_HOME": str(tmp_path / "data")}
        assert handler["command"] == "quandary"
        ended = subprocess.run(
            [SCRIPT, *handler["args"]],
            input=json.dumps(told).encode(),
            env=environment(changes),
            capture_output=True,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, b"")


def test_permissions_are_set_up_as_the_user_chose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules to ask about are written and named, what is missing is said, and all goes again."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    config, home = tmp_path / "config" / "quandary" / "config.toml", tmp_path / "home"
    config.parent.mkdir(parents=True)
    settings, words = home / SETTINGS, ("install", "claude", "--user", "--permissions")
    config.write_text("", encoding="utf-8")
    said = call(capsys, *words)
    assert said.status == 0
    assert '[permissions] route = "inbox"' in said.err
    assert "in its mode auto, Claude Code decides most by itself" in said.err
    config.write_text(
        '[permissions]\nroute = "inbox"\nwait = 900\nask = ["Bash(git push:*)"]\n', encoding="utf-8"
    )
    said = call(capsys, *words)
    assert "note: permissions.ask of Claude Code has Bash(git push:*)\n" in said.err
    assert "route" not in said.err
    found = json.loads(settings.read_text(encoding="utf-8"))
    assert found["permissions"] == {"ask": ["Bash(git push:*)"]}
    (group,) = found["hooks"]["PermissionRequest"]
    assert group["matcher"] == "*"
    assert (group["hooks"][0]["args"], group["hooks"][0]["timeout"]) == (
        ["hook", "permission"],
        930,
    )
    assert call(capsys, "uninstall", "claude", "--user").status == 0
    assert not settings.exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("claude", "--project"), "permissions are decided by you"),
        (("gemini", "--user"), "gemini has no hook that install can write"),
    ],
)
def test_permissions_are_set_up_only_where_they_can_be(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    """Nothing is written for a project, nor for a host without such a hook."""
    refused = call(capsys, "install", *words, "--permissions")
    assert (refused.status, why in refused.err, files()) == (2, True, {})
