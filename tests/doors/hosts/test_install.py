"""Quandary made known to hosts: merged into what is there, and taken out without a trace."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

import quandary
from quandary.doors.hosts import install as installing
from quandary.doors.hosts.host_files import HOOKS, HOSTS, MATCHER, STARTS, Places, places
from quandary.doors.hosts.install import CannotEdit, Gate, carry_out, plan_install, plan_uninstall
from quandary.errors import QuandaryError
from quandary.formats.markdown import parse
from quandary.model.asks import problem
from quandary.settings import files
from settings_texts import settings_texts

NAME = "quandary"
SKILL = ".claude/skills/quandary/SKILL.md"
SETTINGS = ".claude/settings.json"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is the current folder, and a home that is empty."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def install(host: str, root: str | None = "", command: str = NAME, *, mcp: bool = False) -> None:
    """Install, and see that doing it again would change nothing."""
    carry_out(plan_install(places(host, root), command, mcp=mcp))
    assert plan_install(places(host, root), command, mcp=mcp).changes == ()


def uninstall(host: str, root: str | None = "") -> None:
    """Uninstall, and see that there is nothing left to do."""
    plan = plan_uninstall(places(host, root))
    carry_out(plan)
    assert plan_uninstall(places(host, root)).changes == ()
    assert plan.left == ()


def tree(folder: str | Path = ".") -> dict[str, bytes | None]:
    """Everything in a folder: files with their bytes, and folders."""
    return {
        str(path): None if path.is_dir() else path.read_bytes() for path in Path(folder).rglob("*")
    }


def put(path: str, text: str) -> None:
    """A file with this text, line ends as they are."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text.encode())


def read(path: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What a JSON file says."""
    return json.loads(Path(path).read_bytes().decode("utf-8-sig"))


def hook(word: str, command: str = NAME) -> dict[str, Any]:
    """Our group of hooks."""
    handler = {"type": "command", "command": command, "args": ["hook", word]}
    return {"matcher": MATCHER, "hooks": [handler]}


OURS = {
    "PreToolUse": [hook("pre")],
    "PermissionRequest": [hook("permission")],
    "PostToolUse": [hook("post")],
    "SessionStart": [{**hook("session"), "matcher": STARTS}],
}

# Claude Code


def test_hooks_and_a_skill_are_installed() -> None:
    """Both hooks call the program itself, with no shell between."""
    install("claude")
    assert read(SETTINGS) == {"hooks": OURS}
    skill = Path(SKILL).read_text(encoding="utf-8")
    assert skill.startswith("---\nname: quandary\ndescription: ")
    for word in ("ask", "split", "gate", "reply_with", "tool_input", "advise", "Never answer"):
        assert word in skill
    assert len(re.findall(r"(?m)^\d+\. ", skill)) == 10


@pytest.mark.parametrize(
    ("tool", "ours"),
    [
        ("AskUserQuestion", True),
        ("mcp__forms__AskUserQuestion", True),
        ("mcp__a_b__c__AskUserQuestion", True),
        ("AskUserQuestionnaire", False),
        ("mcp__forms__AskUserQuestionLater", False),
        ("Bash", False),
    ],
)
def test_the_matcher_fits_question_tools_only(tool: str, ours: bool) -> None:
    """Wherever in the name a host looks for it."""
    assert bool(re.search(MATCHER, tool)) is ours


def test_hooks_of_others_stay_in_front() -> None:
    """With all other settings, in their order."""
    others = {"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}
    text = json.dumps({"z": 1, "hooks": {"PreToolUse": [others], "Stop": []}, "a": 2}, indent=4)
    put(SETTINGS, text)
    install("claude")
    found = read(SETTINGS)
    assert list(found) == ["z", "hooks", "a"]
    assert list(found["hooks"]) == ["PreToolUse", "Stop", *list(HOOKS)[1:]]
    assert found["hooks"]["PreToolUse"] == [others, hook("pre")]
    uninstall("claude")
    assert Path(SETTINGS).read_text(encoding="utf-8") == text


def test_a_hook_that_waits_for_the_inbox_has_more_time() -> None:
    """Only the one that waits for a person; what was there is renewed, and a longer time stays."""
    install("claude")
    carry_out(plan_install(places("claude", ""), NAME, mcp=False, timeout=630))
    patient = hook("permission")
    patient["hooks"][0]["timeout"] = 630
    wanted = {"hooks": {**OURS, "PermissionRequest": [patient]}}
    assert read(SETTINGS) == wanted
    for seconds in (630, 90, None):
        assert plan_install(places("claude", ""), NAME, mcp=False, timeout=seconds).changes == ()
    carry_out(plan_install(places("claude", ""), NAME, mcp=False, timeout=3630))
    assert read(SETTINGS)["hooks"]["PermissionRequest"][0]["hooks"][0]["timeout"] == 3630
    uninstall("claude")
    assert tree() == {}


@settings(max_examples=60)
@given(settings_texts())
def test_uninstalling_brings_back_every_byte(text: str) -> None:
    """Whatever the settings are, and however they are written; comments are refused."""
    with tempfile.TemporaryDirectory() as root:
        put(f"{root}/{SETTINGS}", text)
        before = tree(root)
        try:
            install("claude", root)
        except CannotEdit:
            assert tree(root) == before
            return
        assert tree(root) != before
        uninstall("claude", root)
        assert tree(root) == before


@pytest.mark.parametrize(
    ("host", "root", "mcp"),
    [
        (host, root, mcp)
        for host in HOSTS
        for root in ("", None)
        for mcp in (False, True)
        if (host, root, mcp) != ("claude", None, True)  # which is Claude Code's own business
    ],
)
def test_nothing_is_left_where_nothing_was(
    project: Path, host: str, root: str | None, mcp: bool
) -> None:
    """Files and folders that were made are gone again; an empty one that was there is not."""
    (project / ".claude").mkdir()
    (project.parent / "data" / "quandary").mkdir(parents=True)
    before = tree(project.parent)
    install(host, root, mcp=mcp)
    assert len(tree(project.parent)) > len(before)
    uninstall(host, root)
    assert tree(project.parent) == before


@pytest.mark.parametrize(
    "text", ["", "\n", "{}", "{\n}\n", "\ufeff", "\ufeff{ }\r\n", '{"hooks":{}}']
)
def test_an_empty_file_stays_an_empty_file(text: str) -> None:
    """It is not taken for one that we made."""
    put(SETTINGS, text)
    install("claude")
    assert read(SETTINGS)["hooks"]["PostToolUse"] == [hook("post")]
    uninstall("claude")
    assert tree() == {".claude": None, SETTINGS: text.encode()}


@pytest.mark.parametrize(
    "text", ['{\n  // mine\n  "a": 1\n}\n', '{"a": 1,}', '{"a": 1, "a": 2}', '{"a": }']
)
def test_what_cannot_be_edited_safely_is_refused_with_what_to_paste(text: str) -> None:
    """Comments would be lost; the person can add the hooks themselves."""
    put(SETTINGS, text)
    before = tree()
    with pytest.raises(CannotEdit, match="nothing was changed; add this yourself") as refused:
        install("claude")
    wanted = {"hooks": OURS}
    assert json.loads(refused.value.snippet) == wanted
    assert tree() == before
    uninstall("claude")
    assert tree() == before


def test_what_was_edited_beyond_our_reach_is_refused_with_what_to_remove() -> None:
    """Nothing is uninstalled by halves."""
    install("claude")
    put(SETTINGS, Path(SETTINGS).read_text(encoding="utf-8") + "// mine\n")
    before = tree()
    with pytest.raises(CannotEdit, match="nothing was changed; remove this yourself") as refused:
        uninstall("claude")
    assert "hooks" in json.loads(refused.value.snippet)
    assert tree() == before


@pytest.mark.parametrize("indent", [None, 1, 2, 4, "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_the_layout_stays(indent: int | str | None, newline: str, end: str) -> None:
    """Indentation, the order of keys, line ends, and whether there is a last newline."""
    data = {"z": {"y": ["x"]}, "a": "é"}
    text = json.dumps(data, indent=indent, ensure_ascii=False) + end
    put(SETTINGS, text.replace("\n", newline))
    install("claude")
    hooks = OURS
    wanted = json.dumps({**data, "hooks": hooks}, indent=indent, ensure_ascii=False) + end
    assert Path(SETTINGS).read_bytes().decode() == wanted.replace("\n", newline)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "the whole is not an object"),
        ('{"hooks": {"PreToolUse": 3}}', "hooks.PreToolUse is not a list"),
        ('{"hooks": {"PostToolUse": "x"}}', "hooks.PostToolUse is not a list"),
        ("\0", "a binary file"),
    ],
)
def test_settings_that_make_no_sense_are_left_alone(text: str, said: str) -> None:
    """The error says where; not even the skill is written."""
    put(SETTINGS, text)
    before = tree()
    with pytest.raises(QuandaryError) as caught:
        install("claude")
    assert str(caught.value).startswith(f"{SETTINGS}: {said}")
    assert tree() == before


def test_a_call_that_moved_is_renewed() -> None:
    """An older path goes, and what was there before all this still comes back."""
    text = '{"hooks": {"PreToolUse": [ ]}}'
    put(SETTINGS, text)
    install("claude", command="/old/bin/quandary")
    install("claude", command="/new/bin/quandary")
    found = read(SETTINGS)["hooks"]
    assert found["PreToolUse"] == [hook("pre", "/new/bin/quandary")]
    assert found["PostToolUse"] == [hook("post", "/new/bin/quandary")]
    assert "/new/bin/quandary" in Path(SKILL).read_text(encoding="utf-8")
    uninstall("claude")
    assert Path(SETTINGS).read_text(encoding="utf-8") == text


def test_a_line_somebody_wrote_by_hand_is_enough() -> None:
    """The same call for a shell is not doubled, and not ours to remove."""
    events = HOOKS.items()
    by_hand = {
        event: [{"hooks": [{"type": "command", "command": f"/bin/quandary hook {word}"}]}]
        for event, word in events
    }
    put(SETTINGS, json.dumps({"hooks": by_hand}))
    install("claude")
    uninstall("claude")
    assert read(SETTINGS) == {"hooks": by_hand}


def test_after_other_changes_only_our_entries_go() -> None:
    """Layout, order and what others added or moved into our groups stay."""
    put(SETTINGS, '{"a": 1}')
    install("claude")
    changed = read(SETTINGS)
    mine = {"type": "command", "command": "mine"}
    changed["hooks"]["PreToolUse"][0]["hooks"].insert(0, mine)
    changed["hooks"]["Stop"] = []
    changed["b"] = 2
    put(SETTINGS, json.dumps(changed, indent="\t"))
    uninstall("claude")
    kept = {"matcher": MATCHER, "hooks": [mine]}
    left = {"a": 1, "hooks": {"PreToolUse": [kept], "Stop": []}, "b": 2}
    assert Path(SETTINGS).read_text(encoding="utf-8") == json.dumps(left, indent="\t")


def test_without_a_copy_our_entries_are_found(tmp_path: Path) -> None:
    """Somebody else installed it, on another machine; the rest says what it said."""
    put(SETTINGS, '{\n  "a": 1\n}\n')
    before = tree()
    install("claude")
    install("codex", mcp=True)
    shutil.rmtree(tmp_path / "data")
    uninstall("claude")
    uninstall("codex")
    left = {path: data for path, data in tree().items() if data is not None}
    assert left == {SETTINGS: before[SETTINGS]}
    assert not Path(SKILL).parent.exists()


@pytest.mark.parametrize("copy", ["", "[", '{"path": 3}', '{"text": "forged"}'])
def test_a_damaged_copy_does_no_harm(copy: str, tmp_path: Path) -> None:
    """Then our entries are looked up."""
    put(SETTINGS, '{"a": 1}')
    install("claude")
    for path in (tmp_path / "data" / "quandary" / "installed").iterdir():
        path.write_text(copy, encoding="utf-8")
    uninstall("claude")
    assert read(SETTINGS) == {"a": 1}


def test_copies_are_for_the_user_alone(tmp_path: Path) -> None:
    """Settings can hold secrets; after uninstalling, no copy is left."""
    put(SETTINGS, '{"key": "secret"}')
    install("claude")
    folder = tmp_path / "data" / "quandary" / "installed"
    assert folder.stat().st_mode & 0o077 == 0
    assert any("secret" in path.read_text(encoding="utf-8") for path in folder.iterdir())
    uninstall("claude")
    assert not folder.exists()


OLD = Path(__file__).with_name("old_install")


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_what_an_older_version_installed_can_be_removed(host: str, project: Path) -> None:
    """It kept receipts in its last line, and no copies."""
    shutil.copytree(OLD / host / "installed", project, dirs_exist_ok=True)
    uninstall(host)
    before = OLD / host / "before"
    kept = {str(path.relative_to(before)): path for path in before.rglob("*")}
    assert {path for path, data in tree().items() if data is not None} == {
        path for path, file in kept.items() if file.is_file()
    }
    for path, file in kept.items():
        assert file.is_dir() or file.read_bytes() == Path(path).read_bytes()


def test_a_skill_of_the_same_name_is_not_touched() -> None:
    """Somebody else made it, so nothing at all is installed."""
    put(SKILL, "# mine\n")
    with pytest.raises(QuandaryError, match=r"SKILL.md: the file is there already and is not ours"):
        install("claude")
    assert not Path(SETTINGS).exists()
    uninstall("claude")
    assert Path(SKILL).read_text(encoding="utf-8") == "# mine\n"


def test_an_edited_skill_is_kept() -> None:
    """Installing again leaves it; uninstalling leaves it too and says so."""
    install("claude")
    edited = Path(SKILL).read_text(encoding="utf-8").replace("Never answer", "Do not answer")
    put(SKILL, edited)
    plan = plan_install(places("claude", ""), NAME, mcp=True)
    carry_out(plan)
    assert f"{SKILL} was edited and stays as it is" in plan.notes
    kept = Path(SKILL).read_text(encoding="utf-8")
    assert kept.rpartition("<!--")[0] == edited.rpartition("<!--")[0]
    plan = plan_uninstall(places("claude", ""))
    carry_out(plan)
    assert plan.left == (f"{SKILL} was edited; delete what you do not need",)
    assert [path for path, data in tree().items() if data is not None] == [SKILL]


def test_an_older_skill_is_renewed() -> None:
    """As long as nobody has edited it."""
    found = places("claude", "")
    older = found._replace(lesson=found.lesson._replace(body="---\nname: quandary\n---\nold\n"))
    carry_out(plan_install(older, NAME, mcp=False))
    changes = plan_install(found, NAME, mcp=False).changes
    assert [change.path for change in changes] == [SKILL]
    install("claude")
    uninstall("claude")
    assert tree() == {}


# Files


def test_a_link_stays_a_link() -> None:
    """What is changed is the file that it leads to."""
    put("dotfiles/settings.json", '{"a": 1}')
    Path(".claude").mkdir()
    Path(SETTINGS).symlink_to("../dotfiles/settings.json")
    install("claude")
    assert Path(SETTINGS).is_symlink()
    assert "hooks" in read("dotfiles/settings.json")
    uninstall("claude")
    assert Path(SETTINGS).is_symlink()
    assert Path("dotfiles/settings.json").read_text(encoding="utf-8") == '{"a": 1}'


def test_a_link_to_nothing_leads_to_a_file_for_a_while() -> None:
    """Afterwards it leads to nothing again."""
    Path(".claude").mkdir()
    Path(SETTINGS).symlink_to("../shared/settings.json")
    install("claude")
    assert Path("shared/settings.json").is_file()
    uninstall("claude")
    assert Path(SETTINGS).is_symlink()
    assert not Path("shared").exists()


def test_the_mode_stays() -> None:
    """Settings can hold secrets, and others may not read them afterwards either."""
    put(SETTINGS, "{}")
    Path(SETTINGS).chmod(0o600)
    install("claude")
    assert Path(SETTINGS).stat().st_mode & 0o777 == 0o600


def test_if_one_file_cannot_be_written_none_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written before is put back."""
    put("AGENTS.md", "mine\n")
    before = tree()

    def refuse(path: str, text: str) -> None:
        if path.endswith(".toml"):
            raise QuandaryError(f"{path}: cannot be written (no space)")
        files.write_text(path, text)

    monkeypatch.setattr(installing, "write_text", refuse)
    with pytest.raises(QuandaryError, match="no space"):
        install("codex", mcp=True)
    assert tree() == before


def test_a_file_in_the_way_of_a_folder_is_named() -> None:
    """Nothing is written then."""
    put(".claude", "a file\n")
    with pytest.raises(QuandaryError, match=r"\.claude/.*: "):
        install("claude")
    assert tree() == {".claude": b"a file\n"}


def test_a_change_in_the_meantime_is_not_overwritten() -> None:
    """Hosts write to their settings too."""
    put(SETTINGS, "{}")
    plan = plan_install(places("claude", ""), NAME, mcp=False)
    put(SETTINGS, '{"new": 1}')
    with pytest.raises(QuandaryError, match="has just been changed by others"):
        carry_out(plan)
    assert tree() == {".claude": None, SETTINGS: b'{"new": 1}'}


# The other hosts


def where(found: Places) -> list[str]:
    """All files of a host."""
    every = (found.lesson.path, found.hooks, found.servers and found.servers.path)
    return [path for path in every if path]


@pytest.mark.parametrize(
    ("host", "paths"),
    [
        ("claude", [SKILL, SETTINGS, ".mcp.json"]),
        ("codex", ["AGENTS.md", ".codex/config.toml"]),
        ("gemini", ["GEMINI.md", ".gemini/settings.json"]),
        ("cursor", [".cursor/rules/quandary.mdc", ".cursor/mcp.json"]),
        ("vscode", [".github/copilot-instructions.md", ".vscode/mcp.json"]),
    ],
)
def test_a_project_has_its_files_where_hosts_look(host: str, paths: list[str]) -> None:
    """Below its root, wherever one stands."""
    assert where(places(host, "")) == paths
    assert where(places(host, "..")) == [f"../{path}" for path in paths]


def test_a_user_has_files_where_hosts_look(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Below the home folder, or where the host's own variable says."""
    monkeypatch.setattr("sys.platform", "linux")
    home = f"{tmp_path}/home"
    usual = {
        "claude": [f"{home}/{SKILL}", f"{home}/{SETTINGS}"],
        "codex": [f"{home}/.codex/AGENTS.md", f"{home}/.codex/config.toml"],
        "gemini": [f"{home}/.gemini/GEMINI.md", f"{home}/.gemini/settings.json"],
        "cursor": [f"{home}/.cursor/skills/quandary/SKILL.md", f"{home}/.cursor/mcp.json"],
        "vscode": [
            f"{home}/.copilot/instructions/quandary.instructions.md",
            f"{home}/.config/Code/User/mcp.json",
        ],
    }
    assert {host: where(places(host, None)) for host in HOSTS} == usual
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "/x")
    assert where(places("claude", None)) == ["/x/skills/quandary/SKILL.md", "/x/settings.json"]
    assert where(places("codex", None)) == ["/x/AGENTS.md", "/x/config.toml"]
    assert where(places("gemini", None)) == ["/x/.gemini/GEMINI.md", "/x/.gemini/settings.json"]
    assert where(places("vscode", None))[1] == "/x/Code/User/mcp.json"
    monkeypatch.setattr("sys.platform", "darwin")
    mac = f"{home}/Library/Application Support/Code/User/mcp.json"
    assert where(places("vscode", None))[1] == mac


@pytest.mark.parametrize(
    ("host", "key", "entry"),
    [
        ("claude", "mcpServers", {"command": NAME, "args": ["mcp"]}),
        ("gemini", "mcpServers", {"command": NAME, "args": ["mcp"]}),
        ("cursor", "mcpServers", {"command": NAME, "args": ["mcp"]}),
        ("vscode", "servers", {"type": "stdio", "command": NAME, "args": ["mcp"]}),
    ],
)
def test_the_server_is_registered_only_if_wanted(host: str, key: str, entry: object) -> None:
    """Beside the servers of others."""
    path = where(places(host, ""))[-1]
    text = json.dumps({key: {"x": {"command": "y"}}}, indent=2)
    put(path, text)
    install(host)
    assert Path(path).read_text(encoding="utf-8") == text
    install(host, mcp=True)
    assert read(path) == {key: {"x": {"command": "y"}, NAME: entry}}
    install(host)
    assert NAME in Path(path).read_text(encoding="utf-8")
    uninstall(host)
    assert Path(path).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("host", ["codex", "gemini"])
def test_a_server_of_our_name_that_is_not_ours_stays(host: str) -> None:
    """The person has to decide what it should be called."""
    path = where(places(host, ""))[-1]
    text = (
        '[mcp_servers.quandary]\nurl = "x"\n'
        if host == "codex"
        else '{"mcpServers": {"quandary": {}}}'
    )
    put(path, text)
    before = tree()
    with pytest.raises(QuandaryError, match=r"\.quandary is there already and is another server"):
        install(host, mcp=True)
    assert tree() == before
    uninstall(host)
    assert tree() == before


@pytest.mark.parametrize(
    "text", ["", "# mine", 'model = "x"\r\n', "\ufeff[a]\nb = 1\n", "[mcp_servers.x]\n"]
)
def test_a_table_goes_to_the_end_of_a_toml_file(text: str) -> None:
    """Between marks, with everything before it as it was."""
    path = ".codex/config.toml"
    put(path, text)
    install("codex", mcp=True)
    after = Path(path).read_bytes().decode()
    assert after.startswith(text)
    servers = tomllib.loads(after.removeprefix("\ufeff"))["mcp_servers"]
    assert servers[NAME] == {"command": NAME, "args": ["mcp"]}
    install("codex", command="/opt/é/quandary", mcp=True)
    assert '"/opt/é/quandary"' in Path(path).read_bytes().decode()
    uninstall("codex")
    assert Path(path).read_bytes().decode() == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("= 1\n", "not TOML"),
        (f"a = {'1' * 5_000}\n", "not TOML"),
        ("mcp_servers = {}\n", "no table can be added to mcp_servers"),
        ("mcp_servers = 1\n", "no table can be added"),
    ],
)
def test_toml_that_cannot_be_added_to_is_left_alone(text: str, said: str) -> None:
    """Nothing is written then."""
    put(".codex/config.toml", text)
    before = tree()
    with pytest.raises(QuandaryError, match=rf"^\.codex/config\.toml: {said}"):
        install("codex", mcp=True)
    assert tree() == before


@pytest.mark.parametrize("text", ["", "# Mine", "# Mine\r\n\r\nText\r\n", "\ufeffx\n\n\n"])
def test_a_section_goes_to_the_end_of_a_page(text: str) -> None:
    """Between marks that tell people what is whose."""
    put("AGENTS.md", text)
    install("codex")
    after = Path("AGENTS.md").read_bytes().decode()
    assert after.startswith(text)
    assert "<!-- quandary:begin -->" in after
    assert "--host codex" in after
    uninstall("codex")
    assert tree() == {"AGENTS.md": text.encode()}


def test_a_page_that_codex_does_not_read_is_mentioned() -> None:
    """An override hides what is beside it."""
    put("AGENTS.override.md", "x\n")
    assert "AGENTS.override.md" in plan_install(places("codex", ""), NAME, mcp=False).notes[0]


@pytest.mark.parametrize("host", ["gemini", "cursor", "vscode"])
def test_hosts_without_a_known_form_are_taught_plain_text(host: str) -> None:
    """Their agents show the text and wait for what the person writes."""
    body = places(host, "").lesson.body
    assert "--via text" in body
    assert "tool_input" not in body


@pytest.mark.parametrize("host", HOSTS)
def test_instructions_say_which_shape_fits_with_an_example_that_runs(host: str) -> None:
    """A tree is asked; of a list, either one is picked or each is decided, with its ties."""
    body = places(host, "").lesson.body
    for words in ("quandary ask", "--relation", "alternatives", "unsure", "requires", "conflicts"):
        assert words in body
    example = body.partition("```json\n")[2].partition("```")[0]
    options = msgspec.json.decode(example, type=list[quandary.Candidate])
    assert (len(example.strip().splitlines()), problem(options)) == (5, "")
    assert next(quandary.split(options)).key == "D1"  # type: ignore[union-attr]


@pytest.mark.parametrize("host", [*HOSTS, "agents.md"])
def test_instructions_say_what_advice_and_extras_are(host: str) -> None:
    """A question that has `text` is no form, a chosen extra is done, one to see is answered, and
    what is held is talked about.
    """
    page = Path(__file__).parents[3] / "docs" / "agents.md"
    told = page.read_text("utf-8") if host == "agents.md" else places(host, "").lesson.body
    said = " ".join(told.split())
    for words in ("`OTH/smart:TEXT`", "do what TEXT says", "`question` or `extra`", "advise RUN"):
        assert words in said
    assert re.search(r"has a `text`, show|Show `ask\.text`", said)
    assert "state has a `held`" in said


def test_instructions_pass_our_own_checks() -> None:
    """They declare no tree by accident."""
    for host in HOSTS:
        for root in ("", None):
            assert parse(places(host, root).lesson.body).diagnostics == ()
            assert parse(places(host, root).lesson.body).trees == ()


def test_paths_outside_ascii_work() -> None:
    """Folders are called what people call them."""
    os.mkdir("Übung 日本")
    install("claude", "Übung 日本", "/opt/é dir/quandary")
    assert read(f"Übung 日本/{SETTINGS}")["hooks"]["PreToolUse"] == [
        hook("pre", "/opt/é dir/quandary")
    ]
    uninstall("claude", "Übung 日本")
    assert tree() == {"Übung 日本": None}


# -- permissions -----------------------------------------------------------------------------------


def test_permissions_come_with_the_hooks_of_claude_code() -> None:
    """Every tool, or those that are named; rules to ask about join those that are there."""
    put(SETTINGS, '{"permissions": {"ask": ["Write"], "deny": []}}')
    before = tree()
    gate = Gate(("Bash", "mcp__db__*"), ("Bash(git push:*)", "Write"))
    here = places("claude", "")
    carry_out(plan_install(here, NAME, mcp=False, timeout=630, gate=gate))
    found = read(SETTINGS)
    assert found["permissions"] == {"ask": ["Write", "Bash(git push:*)"], "deny": []}
    assert found["hooks"]["PreToolUse"] == [hook("pre")]
    for event in ("PermissionRequest", "PostToolUse", "PostToolUseFailure"):
        (group,) = found["hooks"][event]
        fits = [
            name
            for name in ("Bash", "mcp__db__q", "AskUserQuestion", "BashOutput", "Edit")
            if re.search(group["matcher"], name)
        ]
        assert fits == ["Bash", "mcp__db__q", "AskUserQuestion"]
    assert plan_install(here, NAME, mcp=False, timeout=630, gate=gate).changes == ()
    carry_out(plan_install(here, NAME, mcp=False, timeout=630, gate=Gate()))
    assert read(SETTINGS)["hooks"]["PostToolUse"][0]["matcher"] == "*"
    uninstall("claude")
    assert tree() == before


def test_nobody_else_reads_the_token_of_a_server_and_a_new_one_takes_its_place() -> None:
    """Whether the file was there or not, and whatever others could do with it."""
    here = places("claude", "")
    for before in (None, '{"model": "x"}'):
        if before is not None:
            put(SETTINGS, before)
            os.chmod(SETTINGS, 0o644)
        for token in ("one", "two"):
            gate = Gate(server="http://127.0.0.1:8420/", token=token)
            carry_out(plan_install(here, NAME, mcp=False, timeout=630, gate=gate))
            assert plan_install(here, NAME, mcp=False, timeout=630, gate=gate).changes == ()
            (group,) = read(SETTINGS)["hooks"]["PermissionRequest"]
            assert group["hooks"][0]["headers"] == {"Authorization": f"Bearer {token}"}
            assert os.stat(SETTINGS).st_mode & 0o777 == 0o600
        uninstall("claude")


def test_rules_to_ask_about_go_with_the_hooks_though_the_file_has_changed() -> None:
    """Those of the settings, and none besides."""
    gate, here = Gate(ask=("Bash(git push:*)",)), places("claude", "")
    carry_out(plan_install(here, NAME, mcp=False, gate=gate))
    changed = read(SETTINGS)
    changed["permissions"]["ask"].append("WebFetch")
    put(SETTINGS, json.dumps(changed))
    carry_out(plan_uninstall(here, gate))
    assert read(SETTINGS) == {"permissions": {"ask": ["WebFetch"]}}


def test_the_hook_of_codex_is_a_line_for_a_shell(tmp_path: Path) -> None:
    """It is renewed where it is there already, and goes without a trace."""
    here, path = places("codex", None), tmp_path / "home" / ".codex" / "hooks.json"
    mine = {"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "x"}]}]}}
    put(str(path), json.dumps(mine))
    carry_out(plan_install(here, "/a b/quandary", mcp=False, timeout=90, gate=Gate(("Bash",))))
    first, ours = read(str(path))["hooks"]["PermissionRequest"]
    assert first == mine["hooks"]["PermissionRequest"][0]
    assert ours["hooks"][0]["command"] == "'/a b/quandary' hook permission codex"
    assert ours["hooks"][0]["timeout"] == 90
    [start] = read(str(path))["hooks"]["SessionStart"]
    assert start["hooks"][0]["command"] == "'/a b/quandary' hook session codex"
    put(str(path), json.dumps({**read(str(path)), "mine": 1}))
    carry_out(plan_install(here, NAME, mcp=False, timeout=630, gate=Gate()))
    assert len(read(str(path))["hooks"]["PermissionRequest"]) == 2
    carry_out(plan_uninstall(here))
    assert read(str(path)) == {**mine, "mine": 1}
