"""What the doctor sees: programs, extras, settings, the store, and what is installed for hosts."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from program import consent
from quandary import __version__
from quandary.cli import doctor
from quandary.desk import notices
from quandary.doors.hosts.host_files import HOOKS, HOSTS, places
from quandary.doors.hosts.install import carry_out, lesson_entry, plan_install
from quandary.journal.sqlite import SqliteStore
from quandary.settings import KNOWN
from small_flows import answer, begin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.cli.doctor import Finding

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is the current folder, an empty home, and nothing but our program on PATH."""
    for name in [name for name in os.environ if name.startswith(("QUANDARY_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), "/usr/bin", "/bin"]))
    (tmp_path / "home" / ".config" / "quandary").mkdir(parents=True)
    program(tmp_path, "quandary", f"echo quandary {__version__}")
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    doctor.version_of.cache_clear()
    return root


def program(folder: Path, name: str, script: str) -> None:
    """A program on PATH."""
    place = folder / "bin" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    place.chmod(0o755)
    doctor.version_of.cache_clear()


def install(host: str, root: str | None = "", *, mcp: bool = False) -> None:
    """What `quandary install` does."""
    carry_out(plan_install(places(host, root), "quandary", mcp=mcp))


def said(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """The findings that are not simply well: their status and their text."""
    return [(f.status, f.text) for f in findings if f.status != "ok"]


def own(project: Path, text: str) -> Path:
    """The user's own settings."""
    path = project.parent / "home" / ".config" / "quandary" / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


# -- programs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "text", "trouble"),
    [
        ("echo '2.1.325 (Claude Code)'", "2.1.325", ""),
        ("echo 'aider 0.86.2' >&2", "0.86.2", ""),
        ("echo v12.3.4-beta.1; exit 1", "12.3.4", ""),
        ("exit 3", "", "says no version and ended with status 3"),
        ("cat; echo who knows", "", "says no version"),
        ("sleep 60 & sleep 60", "", "did not say its version within"),
    ],
)
def test_a_program_is_asked_for_its_version(
    project: Path, monkeypatch: pytest.MonkeyPatch, script: str, text: str, trouble: str
) -> None:
    """In a few seconds, with nothing on its standard input and nothing left behind."""
    monkeypatch.setattr(doctor, "SECONDS", 1.0)
    program(project.parent, "thing", script)
    begun = time.monotonic()
    version, why = doctor.version_of(str(project.parent / "bin" / "thing"))
    assert (version, trouble in why) == (text, True)
    assert time.monotonic() - begun < 5
    assert doctor.version_of(str(project / "nowhere"))[1].startswith("cannot be started")


def test_a_program_sees_no_keys(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is only asked for its version."""
    monkeypatch.setenv("SOME_API_KEY", "s3cret")
    program(project.parent, "thing", f"env > {project}/seen; echo 1.0")
    assert doctor.version_of(str(project.parent / "bin" / "thing"))[0] == "1.0"
    assert "s3cret" not in (project / "seen").read_text()


def test_the_program_on_path_is_named(project: Path) -> None:
    """Its place, its version, and whether it runs at all."""
    *_, found = doctor.examine_program()
    assert (found.status, found.what) == ("ok", "PATH")
    program(project.parent, "quandary", "echo quandary 9.9.9")
    *_, found = doctor.examine_program()
    assert found.status == "note"
    assert "9.9.9" in found.text
    program(project.parent, "quandary", "exit 1")
    *_, found = doctor.examine_program()
    assert found.status == "broken"
    (project.parent / "bin" / "quandary").unlink()
    *_, found = doctor.examine_program()
    assert (found.status, "does not lead to" in found.text) == ("note", True)


def test_extras_are_those_of_the_package() -> None:
    """Each with its packages and their versions."""
    found = {finding.what: finding for finding in doctor.examine_extras()}
    assert {"terminal", "web", "mcp"} <= set(found)
    assert "all" not in found
    assert found["terminal"].status == "ok"
    assert re.search(r"textual \d", found["terminal"].text)


def test_a_missing_extra_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that adds it."""
    needed = ["click>=8", "no-such-package>=1; extra == 'ghost'"]
    monkeypatch.setattr("importlib.metadata.requires", lambda _: needed)
    (found,) = doctor.examine_extras()
    assert (found.status, found.remedy) == ("note", "pip install 'quandary[ghost]'")


# -- what a project names --------------------------------------------------------------------------


def test_nothing_that_a_project_names_is_started(project: Path, tmp_path: Path) -> None:
    """A cloned repository that names a program of its own is only told of."""
    evil = project / "evil" / "quandary"
    evil.parent.mkdir()
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\necho {__version__}\n")
    evil.chmod(0o755)
    for name, command in (("mcp", "./evil/quandary"), ("settings", str(evil))):
        server = {"command": command, "args": ["mcp"]}
        hook = {"type": "command", "command": f"{command} hook pre"}
        files = {
            ".mcp.json": {"mcpServers": {"quandary": server}},
            ".cursor/mcp.json": {"mcpServers": {"quandary": server}},
            ".gemini/settings.json": {"mcpServers": {"quandary": server}},
            ".vscode/mcp.json": {"servers": {"quandary": {"type": "stdio", **server}}},
            f".claude/{name}.json": {"hooks": {"PreToolUse": [{"hooks": [hook]}]}},
        }
        for path, data in files.items():
            (project / path).parent.mkdir(exist_ok=True)
            (project / path).write_text(json.dumps(data), encoding="utf-8")
        found = [f for f in doctor.examine_hosts() if "it was not started" in f.text]
        assert {f.status for f in found} == {"note"}
        assert len(found) >= 4
    assert not (tmp_path / "started").exists()


def test_a_program_in_the_current_folder_is_not_started(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever PATH leads there; and none is started from within the project."""
    for name in ("quandary", "claude"):
        (project / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n", encoding="utf-8")
        (project / name).chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", os.environ["PATH"]]))
    program(tmp_path, "codex", "pwd; echo 1.2.3")
    assert [f.status for f in doctor.examine_program()] == ["ok", "ok"]
    [*doctor.examine_agents(hooked=False)]
    assert not (tmp_path / "started").exists()
    program(tmp_path, "codex", f"pwd > {tmp_path}/place")
    doctor.version_of(str(tmp_path / "bin" / "codex"))
    assert (tmp_path / "place").read_text(encoding="utf-8") == "/\n"


def test_what_waits_for_trust_is_noted(project: Path) -> None:
    """With the command to type; once it is trusted, there is nothing to say."""
    (project / "quandary.toml").write_text('store = "kept.db"\n[agents.X]\nargv = ["x"]\n')
    found = [f for f in doctor.examine_settings() if f.what == "trust"]
    assert [f.status for f in found] == ["note", "note"]
    assert {f.remedy for f in found} == {f"quandary trust {project}"}
    (store,) = doctor.examine_store()
    assert (store.status, store.remedy) == ("broken", f"quandary trust {project}")
    consent(project)
    assert [f for f in doctor.examine_settings() if f.what == "trust"] == []
    (store,) = doctor.examine_store()
    assert store.status == "ok"


# -- the store -------------------------------------------------------------------------------------


def test_a_store_is_measured_and_verified(tmp_path: Path) -> None:
    """Nothing is made where there is none."""
    path = tmp_path / "journal.db"
    (found,) = doctor.examine_store(str(path))
    assert (found.status, found.text) == ("ok", "nothing has been recorded there yet")
    assert not path.exists()
    store = SqliteStore(path)
    answer(store, begin(store))
    store.close()
    (found,) = doctor.examine_store(str(path))
    assert found.status == "ok"
    assert re.fullmatch(r"1 run, \d entries, \d+ KiB, all as they were written", found.text)


def test_an_old_store_that_others_can_read_is_noted() -> None:
    """With the command to type; a folder that is closed to others is enough."""
    with TemporaryDirectory() as folder:  # pytest closes its own to others
        Path(folder).chmod(0o755)
        path = Path(folder).resolve() / "journal.db"
        SqliteStore(path).close()
        assert said(doctor.examine_store(str(path))) == []
        path.chmod(0o644)
        found = next(f for f in doctor.examine_store(str(path)) if f.status != "ok")
        assert (found.status, found.text) == ("note", "others on this machine can read it")
        assert found.remedy.startswith(f"chmod 600 {path}")
        Path(folder).chmod(0o700)
        assert said(doctor.examine_store(str(path))) == []


def test_a_store_that_was_changed_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it is too large to look through in passing."""
    path = tmp_path / "journal.db"
    store = SqliteStore(path)
    answer(store, begin(store))
    store.close()
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "UPDATE entry SET body = CAST(replace(body, 'OK', 'NO') AS BLOB) WHERE n = 3"
        )
        database.commit()
    (found,) = doctor.examine_store(str(path))
    assert (found.status, found.remedy) == ("broken", "quandary verify names them all")
    monkeypatch.setattr(doctor, "MANY", 1)
    (found,) = doctor.examine_store(str(path))
    assert (found.status, "too many entries" in found.text) == ("ok", True)


def test_a_file_that_is_no_store_is_broken(tmp_path: Path) -> None:
    """With the reason."""
    path = tmp_path / "journal.db"
    path.write_text("no database at all, but long enough to be taken for one" * 9)
    (found,) = doctor.examine_store(str(path))
    assert (found.status, "not a database" in found.text) == ("broken", True)


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wrong", "remedy"),
    [
        ("default_cly = 'X'\n", "no setting default_cly", "did you mean default_cli?"),
        ("qqqqqq = 1\n", "no setting qqqqqq", "take it out"),
        ("max_visits = 'many'\n", "max_visits is a whole number", ""),
        ("max_calls = 'many'\n", "max_calls is a whole number", ""),
        ("hooks = 3\n", "hooks is a table", ""),
        ("trees = 3\n", "trees is a list", ""),
        ("= 1\n", "line 1", "correct it"),
        ("[hooks]\nroute = 'browser'\n", 'route is "inbox" or "host"', ""),
        ("[hooks]\nroutes = 'inbox'\n", "[hooks] has no key routes", ""),
        ("[hooks]\nstrict = 1\n", "strict is true or false", ""),
        ("[questions.a]\ndoor = 'oneway'\n", 'door is "one-way" or "two-way"', ""),
        ("[questions]\na = 1\n", "[questions.a] is a table", ""),
        ("[notify]\ncomand = ['x']\n", "no key comand", ""),
        ("[notify]\ncommand = ['no-such-program']\n", "was not found", ""),
        ("[serve]\nhosts = 'a'\n", "hosts is a list", ""),
        ("[users.ada]\ntoken = 'plain'\n", "[users.ada]", ""),
        ("[agents.X]\nargs = []\n", "argv is missing", ""),
    ],
)
def test_settings_that_do_nothing_are_broken(
    project: Path, text: str, wrong: str, remedy: str
) -> None:
    """Each with the file, what is wrong, and what may have been meant."""
    path = own(project, text)
    found = [f for f in doctor.examine_settings() if f.status != "ok"]
    assert [(f.status, f.what) for f in found] == [("broken", str(path))]
    assert wrong in found[0].text
    assert remedy in found[0].remedy


def test_settings_that_are_right_are_well(project: Path) -> None:
    """In small letters or in capitals, in both files."""
    (project / "quandary.toml").write_text(
        'trees = "skills"\nMAX_VISITS = 7\n[questions.a]\ndoor = "one-way"\nask = "always"\n'
    )
    own(
        project,
        '[hooks]\nstrict = true\nroute = "inbox"\nwait = 90\n'
        '[notify]\ncommand = ["sh", "-c", "true"]\n',
    )
    assert said(doctor.examine_settings()) == []


@pytest.mark.parametrize("text", ["[notify]\ncommand = 3\n", "[users.a]\n", "[serve]\nhost = 1\n"])
def test_what_a_project_has_no_say_in_is_ignored_with_a_note(project: Path, text: str) -> None:
    """Whatever it says there, nothing of it counts."""
    (project / "quandary.toml").write_text(text)
    ((status, told),) = said(doctor.examine_settings())
    assert (status, "of a project is ignored" in told) == ("note", True)


def test_a_secret_that_others_can_read_is_noted(project: Path) -> None:
    """Until they cannot."""
    path = own(project, '[notify]\nwebhook = "https://example.org/x"\nsecret = "s"\n')
    path.chmod(0o644)
    ((status, text),) = said(doctor.examine_settings())
    assert (status, "can read the secret" in text) == ("note", True)
    path.chmod(0o600)
    assert said(doctor.examine_settings()) == []


def test_variables_that_mean_nothing_are_noted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that do are not."""
    monkeypatch.setenv("QUANDARY_STORE", str(project / "a.db"))
    monkeypatch.setenv("QUANDARY_MAX_VISITS", "3")
    monkeypatch.setenv("QUANDARY_MAX_VISIT", "3")
    (found,) = [f for f in doctor.examine_settings() if f.status != "ok"]
    assert (found.what, found.remedy) == ("QUANDARY_MAX_VISIT", "did you mean QUANDARY_MAX_VISITS?")


def test_every_setting_that_is_read_is_known() -> None:
    """The doctor calls none of our own settings a mistake."""
    read = re.compile(r"\.(?:text|number|flag|strings|tables?)\(\s*\"([a-z_]+)\"")
    names = {
        name
        for path in (ROOT / "src").rglob("*.py")
        if "settings" in path.read_text(encoding="utf-8")
        for name in read.findall(path.read_text(encoding="utf-8"))
    }
    assert {"default_cli", "trees", "hooks", "notify"} <= names
    assert names <= set(KNOWN)


# -- hosts -----------------------------------------------------------------------------------------


def test_nothing_installed_is_said_once() -> None:
    """With the command that would change it."""
    (found,) = doctor.examine_hosts()
    assert (found.status, found.remedy) == ("note", "quandary install claude, or another")


@pytest.mark.parametrize("host", list(HOSTS))
@pytest.mark.parametrize("root", ["", None])
def test_what_was_installed_is_found(host: str, root: str | None) -> None:
    """In the project or for the user, with the program that it calls."""
    mcp = host != "claude" or root is not None
    install(host, root, mcp=mcp)
    found = list(doctor.examine_hosts())
    assert said(found) == []
    assert any(finding.text.startswith("the MCP server in ") for finding in found) is mcp
    where = "for you" if root is None else "in this project"
    assert {finding.what for finding in found} == {f"{host}, {where}"}
    assert any(f"version {__version__}" in finding.text for finding in found)
    assert any("hooks in" in finding.text for finding in found) is (host == "claude")


def test_a_server_that_claude_code_was_told_of_is_found(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`claude mcp add --scope user` writes into a file that is its own."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(project.parent))
    entry = {"type": "stdio", "command": "quandary", "args": ["mcp"], "env": {}}
    text = json.dumps({"numStartups": 3, "mcpServers": {"quandary": entry}})
    (project.parent / ".claude.json").write_text(text)
    found = list(doctor.examine_hosts())
    assert {finding.what for finding in found} == {"claude, for you"}
    assert [finding.status for finding in found] == ["note", "ok", "ok"]
    assert "its agents get no instructions" in found[0].text
    assert found[1].text == f"the MCP server in {project.parent / '.claude.json'}"


def test_a_program_that_is_gone_is_broken(project: Path) -> None:
    """Hooks that lead nowhere are worse than none."""
    install("claude")
    (project.parent / "bin" / "quandary").unlink()
    ((status, text),) = said(doctor.examine_hosts())
    assert (status, text) == ("broken", "calls quandary, which is not on PATH")


def test_a_program_of_another_version_is_noted(project: Path) -> None:
    """Both are named."""
    install("gemini")
    program(project.parent, "quandary", "echo quandary 7.0.1")
    ((status, text),) = said(doctor.examine_hosts())
    assert status == "note"
    assert "version 7.0.1" in text
    assert __version__ in text


def test_half_an_installation_is_broken(project: Path) -> None:
    """A hook that was taken out, or comments that make Claude Code refuse the file."""
    install("claude")
    path = project / ".claude" / "settings.json"
    whole = path.read_text()
    path.write_text("// mine\n" + whole)
    ((status, text),) = said(doctor.examine_hosts())
    assert (status, "refuses" in text) == ("broken", True)
    settings: Any = json.loads(whole)
    del settings["hooks"]["PostToolUse"]
    path.write_text(json.dumps(settings))
    ((status, text),) = said(doctor.examine_hosts())
    assert (status, "no hook PostToolUse" in text) == ("broken", True)
    path.write_text("{")
    assert said(doctor.examine_hosts())[0][0] == "broken"


def test_a_hook_that_is_not_patient_enough_is_broken(project: Path) -> None:
    """Questions that wait in the inbox need a host that waits longer."""
    install("claude")
    (project / "quandary.toml").write_text('[hooks]\nroute = "inbox"\nwait = 500\n')
    assert said(doctor.examine_hosts()) == []
    (project / "quandary.toml").write_text('[hooks]\nroute = "inbox"\nwait = 600\n')
    assert said(doctor.examine_hosts()) == []  # nobody has agreed to it
    consent(project)
    ((status, text),) = said(doctor.examine_hosts())
    assert (status, "after 600 seconds" in text) == ("broken", True)
    carry_out(plan_install(places("claude", ""), "quandary", mcp=False, timeout=630))
    assert said(doctor.examine_hosts()) == []


def test_instructions_are_compared_with_those_of_today(project: Path) -> None:
    """Those of another version are noted; your own changes are yours."""
    install("codex")
    path = project / "AGENTS.md"
    text = path.read_text()
    path.write_text(text.replace("Leave none out", "Leave some out"))
    assert said(doctor.examine_hosts()) == []
    lesson = places("codex", "").lesson
    path.write_text(lesson_entry(lesson._replace(body="an older text\n"), "quandary").add(""))
    ((status, said_of_it),) = said(doctor.examine_hosts())
    assert (status, "another version" in said_of_it) == ("note", True)
    (project / "AGENTS.override.md").write_text("mine")
    _, (status, said_of_it) = said(doctor.examine_hosts())
    assert (status, "in the place of AGENTS.md" in said_of_it) == ("broken", True)


@pytest.mark.parametrize("host", ["gemini", "cursor", "vscode", "codex", "claude"])
def test_a_program_that_only_the_instructions_name_is_the_one_that_is_looked_at(
    project: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """Some hosts get nothing but instructions, and our name may lead nowhere."""
    path = str(project.parent / "bin" / "quandary")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    carry_out(plan_install(places(host, None), path, mcp=False))
    assert said(doctor.examine_hosts()) == []
    (project.parent / "bin" / "quandary").unlink()
    assert [status for status, _ in said(doctor.examine_hosts())] == ["broken"]


def test_two_sources_of_hooks_are_noted(project: Path) -> None:
    """Settings of both kinds, or settings and the plugin."""
    install("claude")
    install("claude", None)
    ((status, text),) = said(doctor.examine_hosts())
    assert (status, "more than once" in text) == ("note", True)
    (project / ".claude" / "settings.json").write_text('{"enabledPlugins": {"quandary@q": true}}')
    notes = said(doctor.examine_hosts())
    assert any("the plugin quandary@q" in text for _, text in notes)


def test_a_hook_written_by_hand_counts(project: Path) -> None:
    """A line for a shell calls the same program."""
    lines = {event: f"quandary hook {word}" for event, word in HOOKS.items()}
    groups = {
        event: [{"hooks": [{"type": "command", "command": line}]}] for event, line in lines.items()
    }
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": groups}))
    ((status, text),) = said(doctor.examine_hosts())
    assert (status, "no instructions" in text) == ("note", True)


# -- logs ------------------------------------------------------------------------------------------


def test_the_last_complaint_is_shown(project: Path) -> None:
    """Without what it could do to a terminal."""
    assert list(doctor.examine_logs()) == []
    notices.log_trouble("hook", "first")
    notices.log_trouble("hook", "second \x1b[2J\nthird")
    (found,) = doctor.examine_logs()
    assert "\x1b" not in Path(notices.trouble_log("hook")).read_text(encoding="utf-8")
    assert found.status == "note"
    assert found.text.endswith(r"second \x1b[2J third")
    assert str(project.parent / "home") in found.what
