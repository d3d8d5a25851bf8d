"""Rules: what they allow, what they never do, and what they would have decided."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quandary.desk.permits import (
    find_rule,
    read_rule,
    read_rules,
    save_rule,
    split_command,
    try_rule,
)
from quandary.doors.hosts import permissions
from quandary.doors.hosts.permissions import Permissions
from quandary.errors import ParseError
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.requests import PermitRequest
from quandary.settings import load_toml

GIT = read_rules({"git": "allow Bash command='git status' command='git diff' command=ls"})


def bash(command: str, folder: str = "/shop", host: str = "claude") -> PermitRequest:
    """A command that an agent wants to run."""
    text = json.dumps({"command": command})
    return PermitRequest("run a command", text, tool="Bash", folder=folder, host=host)


def code(rules: tuple[str, ...] | str, request: PermitRequest) -> str:
    """What rules decide; nothing where a person is asked."""
    texts = (rules,) if isinstance(rules, str) else rules
    verdict = find_rule([read_rule(f"r{n}", text) for n, text in enumerate(texts)], request)
    return verdict.code if verdict else ""


@pytest.mark.parametrize(
    ("command", "is_allowed"),
    [
        ("git status", True),
        ("git status --short src", True),
        ("git 'status'", True),
        ("git status && git diff | ls", True),
        ("git status 2>&1 > /dev/null", True),
        ("git diff $(git status)", True),
        ("git statusx", False),
        ("git", False),
        ("git push", False),
        ("echo git status", False),
        ("git status; git push", False),
        ("git status & git push", False),
        ("git status | sh", False),
        ("git status\ngit push", False),
        ("git diff $(git push)", False),
        ("git diff `git push`", False),
        ("git diff $(git status $(git push))", False),
        ("git$(ls) status", False),
        ("git status > /etc/passwd", False),
        ("git diff <(git push)", False),
        ("(git status)", False),
        ("$X git status", False),
        ("git status $X", False),
        ("PATH=/evil git status", False),
        ("git status 'unfinished", False),
        ("git \\\nstatus", False),
        ("sudo git status", False),
        ("git status 2>&1x", False),
        ("ls\n2>&1 touch x", False),
        ("ls\n>/dev/null touch x", False),
        ("ls # 'x\ntouch y #'", False),
        ("ls\rtouch x", False),
        ("ls\x00touch", False),
        ("ls {a,b}", False),
        ("l\u0455", False),
        ("git status \u202ex", False),
        ("LS", False),
        ("./ls", False),
        ("git -c alias.status='!touch x' status", False),
        ("git diff --ext-diff", False),
        ("sh -c ls", False),
        ("xargs ls", False),
        ("env ls", False),
        ("", False),
    ],
)
def test_a_command_is_allowed_by_its_words(command: str, is_allowed: bool) -> None:
    """Each part of it has to be; what cannot be taken apart for certain never is."""
    assert (find_rule(GIT, bash(command)) is not None) is is_allowed


@given(st.lists(st.sampled_from(["git status", ";", "&&", "|", "$(", ")", "`", "rm x", "'", "\n"])))
def test_no_arrangement_hides_a_command(parts: list[str]) -> None:
    """Wherever something else stands, outside of quotation marks, it is found."""
    line = " ".join(parts)
    if "rm x" in parts and "'" not in parts:
        assert find_rule(GIT, bash(line)) is None
    for words in split_command(line):
        assert words


FRAGMENTS = ["git status", "ls", "evil", "'", '"', "\\", "\n", "#", ";", "|", "&", " 2>&1", "!"]
FRAGMENTS += [
    " >/dev/null",
    "$(",
    ")",
    "`",
    "{",
    ",",
    "}",
    "<<X",
    "\r",
    "\t",
    "X=1",
    "$'",
    "*",
    " ",
]
ENDS = ["evil", " evil", "'evil'", "evil'", 'evil"', "\nevil #'", "evil\n"]


@settings(max_examples=400)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=6), st.sampled_from(ENDS))
@example([" ", "#", " ", "'"], "\nevil #'")
@example(["\n2>&1"], " evil")
def test_a_real_shell_runs_nothing_but_what_was_allowed(parts: list[str], end: str) -> None:
    """Whatever a rule lets pass, bash makes no other command of it."""
    line = "".join(["ls", *parts, end])
    if find_rule(GIT, bash(line)) is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in ("git", "ls", "evil"):
            program = Path(folder, name)
            program.write_text(f"#!/bin/sh\necho {name} >> {folder}/ran\n", encoding="utf-8")
            program.chmod(0o700)
        subprocess.run(
            ["/bin/bash", "-c", line],
            cwd=folder,
            env={"PATH": folder},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=20,
        )
        ran = Path(folder, "ran")
        assert "evil" not in (ran.read_text(encoding="utf-8") if ran.exists() else ""), line


def test_a_program_that_runs_anything_has_to_be_told_what() -> None:
    """A rule that names only such a program is refused, and its options are never covered."""
    for text in ("sh", "'bash -c'", "xargs", "env", "/usr/bin/env", "'python -m'", "sudo", "awk"):
        with pytest.raises(ParseError, match="say what it may run"):
            read_rule("x", f"allow Bash command={text}")
    assert read_rule("x", "deny Bash command=sudo").decision == "deny"
    assert code("allow Bash command='python tests.py'", bash("python tests.py src")) == "ONE"
    for command in ("find . -exec touch x +", "find . -delete", "find . -fprintf y x"):
        assert code("allow Bash command=find", bash(command)) == ""
    assert code("allow Bash command=find", bash("find . -name a.py")) == "ONE"


def test_nothing_that_resembles_a_denial_is_allowed() -> None:
    """Other options between its words, or another way to write them, and a person is asked."""
    rules = ("allow Bash command=git command=npm", "deny bash command='git push'")
    assert code(rules, bash("git push")) == "NO", "tools are denied however they are spelt"
    for command in (
        "git -C . push",
        "git -c alias.p=push p",
        "npm exec git push",
        "git 'log' push",
    ):
        assert code(rules, bash(command)) == ""
    assert code(rules, bash("git log")) == "ONE"


def test_a_command_stays_in_the_project(tmp_path: Path) -> None:
    """No word of it leads out, to a hidden file, or by a pattern to a link or an option."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "-exec").touch()

    def cat(words: str, **more: object) -> str:
        text = json.dumps({"command": f"cat {words}", **more})
        request = PermitRequest("run", text, tool="Bash", folder=str(tmp_path))
        return code("allow Bash command=cat command=cd", request)

    for words in ("src/a.py", "src", "-n src/*", "a=b main..dev", "HEAD~1"):
        assert cat(words) == "ONE", words
    for words in (
        *("/etc/passwd", "../x", "src/../../x", "~/x", "out/passwd", "o*/passwd", "--from=/etc/x"),
        *("-f/etc/x", "@/etc/x", "a:../../x", ".env", "src/.env", ".git/config", "*/*"),
    ):
        assert cat(words) == "", words
    assert cat("a && cd / && cat etc/shadow") == ""
    (tmp_path / "src" / "there").symlink_to("/etc/passwd")
    assert cat("a && cd src && cat a.py") == "ONE"
    for words in (
        "a && cd src && cat there",
        "a; cd; cat b",
        "a; cd - && cat b",
        "$(cd src) there",
    ):
        assert cat(words) == "", words
    assert cat("a", timeout=5, description="x") == "ONE"
    assert cat("a", dangerouslyDisableSandbox=True) == "", "more was asked for than the command"


@pytest.mark.parametrize(
    "command",
    [
        *("git log --output=a.py", "git diff --outp a.py", "git grep -Osh x", "git grep -O less x"),
        *("sort -o a.py b", "sort -uo a.py b", "sort --out=x y", "sort --compress-prog=sh x"),
        *("tar xf a.tar -I sh", "tar xfI a.tar sh", "tar xf a.tar --use-comp=sh", "tar xPf a.tar"),
        *("tar xf a.tar --to-c=sh", "tar xf a.tar --info-script=sh", "tar xf a.tar -F sh"),
        *(
            "rg --hostname-bin=sh x",
            "rg --hidden x",
            "rg -uuu x",
            "rg -. x",
            "rg -L x",
            "rg --pre sh x",
        ),
        *("make CC=sh", "make SHELL:=sh all", "go build -toolexec=sh", "go test -exec sh ./..."),
        *("cargo --config x build", "npm test --script-shell=sh", "pytest --basetemp=src"),
        *("find src -exec sh {} +", "find src -fprintf a b", "git branch -f main HEAD~3"),
    ],
)
def test_a_rule_for_a_program_is_none_for_what_it_is_told_to_run_or_write(command: str) -> None:
    """Whatever the option is called, spelt out, joined with others or cut short."""
    words = command.split()
    assert code(f"allow Bash command={words[0]}", bash(command)) == ""
    plain = "grep x" if words[0] == "git" else "src"
    assert code(f"allow Bash command={words[0]}", bash(f"{words[0]} {plain}")) == "ONE"


def test_nothing_hidden_is_read_by_going_through_a_folder(tmp_path: Path) -> None:
    """A program that goes through folders comes upon hidden files, and upon links that lead out."""
    for name in (".git", "src", "odd", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "odd" / ".env").touch()
    (tmp_path / "out" / "to").symlink_to("/etc")
    (tmp_path / "src" / "a.py").touch()
    (tmp_path / "src" / "b.py").symlink_to(tmp_path / "src" / "a.py")

    def run(command: str) -> str:
        text = json.dumps({"command": command})
        request = PermitRequest("run", text, tool="Bash", folder=str(tmp_path))
        rule = "allow Bash command='xargs grep' command=grep command=cp command=diff command=rg"
        return code(f"{rule} command=ls command=cd", request)

    for command in (
        "grep -rn x src",
        "grep x src/a.py",
        "cp -r src new",
        "rg x",
        "ls -r",
        "ls odd",
    ):
        assert run(command) == "ONE", command
    for command in ("grep -r x", "grep -nR x .", "grep --recursive x odd", "grep -r x src odd"):
        assert run(command) == "", command
    for command in ("ls | xargs grep -r x .", "cd odd && grep -r x"):
        assert run(command) == "", command
    for command in ("grep -r x out", "cp -r odd new", "diff src odd", "grep -d recurse x"):
        assert run(command) == "", command


def test_a_home_is_no_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An agent that got as far as that has no rules there: everything would be inside."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "shop").mkdir(parents=True)
    text = json.dumps({"command": "cat a"})
    for folder, expected in (("home/shop", "ONE"), ("home", ""), (".", ""), ("/", "")):
        request = PermitRequest("run", text, tool="Bash", folder=str(tmp_path / folder))
        assert code("allow Bash command=cat", request) == expected, folder


def test_a_tool_that_removes_files_is_never_allowed_by_their_place(tmp_path: Path) -> None:
    """What a tool writes is judged when it is run; what it removes is gone."""
    given_ = json.dumps({"path": "src/a.py"})
    for tool, expected in (("read_file", "ONE"), ("edit_file", "ONE"), ("delete_file", "")):
        request = PermitRequest("use", given_, tool=f"mcp__fs__{tool}", folder=str(tmp_path))
        assert code("allow mcp__fs__* path=src", request) == expected
    for tool in ("remove_tree", "rm", "unlink"):
        request = PermitRequest("use", given_, tool=f"mcp__fs__{tool}", folder=str(tmp_path))
        assert code("allow mcp__fs__*", request) == ""


def test_every_path_of_a_request_counts(tmp_path: Path) -> None:
    """A second one, or one under a name of its own, leads nowhere else."""
    others = ({"filePath": "/etc/passwd"}, {"path": "/etc/passwd"}, {"directory": "/etc"})
    for given_ in (
        *({"file_path": "a", **one} for one in others),
        *({"target": "/etc/passwd"}, {"file": "a", "target": ["/etc/passwd"]}),
        *({"path": ["a", "/etc/passwd"]}, {"file": ["a", ".env"]}, {"file": {"of": "/etc/x"}}),
    ):
        request = PermitRequest("use", json.dumps(given_), tool="mcp__x__y", folder=str(tmp_path))
        assert code("allow mcp__x__*", request) == ""


def test_another_path_hides_none_that_is_denied(tmp_path: Path) -> None:
    """A rule that denies a folder counts as soon as one path leads there."""
    rules = ("allow Write", "deny Write path=kept")
    for more, expected in (({}, "NO"), ({"folder": "src"}, "NO"), ({"file_path": "a"}, "ONE")):
        given_ = json.dumps({"file_path": "kept/a", "content": "x", **more})
        request = PermitRequest("write", given_, tool="Write", folder=str(tmp_path))
        assert code(rules, request) == expected, more


def test_a_path_excuses_nothing_but_what_is_written(tmp_path: Path) -> None:
    """What a tool is told to do to a file, by whatever name, is judged as without the file."""
    for name in ("path", "file", "directory"):
        for told in ({"sql": "drop table users"}, {"command": "rm -rf build"}, {"cmd": "ls -l"}):
            text = json.dumps({name: "a", **told})
            request = PermitRequest("use", text, tool="mcp__x__y", folder=str(tmp_path))
            assert code("allow mcp__x__*", request) == "", text
        written = {name: "a", "command": "create", "file_text": "drop table users"}
        request = PermitRequest("use", json.dumps(written), tool="mcp__x__y", folder=str(tmp_path))
        assert code("allow mcp__x__*", request) == "ONE"


def test_what_cannot_be_taken_back_is_never_allowed() -> None:
    """Whatever a rule says."""
    assert code("allow Bash command=git", bash("git push")) == "ONE"
    for command in ("git push --force", "git reset --hard", "git status && git clean -fd"):
        assert code("allow Bash command=git", bash(command)) == ""
    request = PermitRequest("use it", '{"sql": "drop table users"}', tool="mcp__db__run")
    assert code("allow mcp__db__*", request) == ""


def test_a_denial_comes_first() -> None:
    """It counts for each part of a command, however that is written."""
    rules = ("allow Bash command=git", "deny Bash command='git push'")
    assert code(rules, bash("git status")) == "ONE"
    for command in ("git push", "git status && git push", "echo $(git push)", "git push > x $Y"):
        assert code(rules, bash(command)) == "NO"
    assert code("deny WebFetch", PermitRequest("fetch", "{}", tool="WebFetch")) == "NO"


def test_a_command_needs_words(tmp_path: Path) -> None:
    """A rule without any allows no command; one with words allows nothing else."""
    assert code("allow *", bash("ls")) == ""
    for tool in ("PowerShell", "exec_command", "mcp__term__run"):
        for given_ in ({"command": "ls"}, {"cmd": "ls"}):
            request = PermitRequest("run", json.dumps(given_), tool=tool, folder=str(tmp_path))
            assert code(f"allow {tool}", request) == ""
            assert code(f"allow {tool} command=ls", request) == (
                "ONE" if "command" in given_ else ""
            )
    odd = PermitRequest("run", '{"argv": ["ls"]}', tool="shell", folder=str(tmp_path))
    assert code("allow shell", odd) == ""
    read = PermitRequest("read", json.dumps({"file_path": "a"}), tool="Read", folder=str(tmp_path))
    assert code("allow * command=ls", read) == ""
    assert code("allow *", read) == "ONE"


def test_files_are_those_of_the_project(tmp_path: Path) -> None:
    """Below the folder of the rule, wherever links lead, and never hidden ones."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "out").symlink_to("/etc")

    def edit(path: str, rule: str = "allow Edit path=src") -> str:
        text = json.dumps({"file_path": path, "old_string": "a", "new_string": "b"})
        return code(rule, PermitRequest("edit", text, tool="Edit", folder=str(tmp_path / "src")))

    assert edit("a.py") == edit(str(tmp_path / "src" / "x" / "a.py")) == "ONE"
    for path in ("../a.py", "/etc/passwd", "out/passwd", "../srcs/a.py", ".env", "x/.hidden/a"):
        assert edit(path) == ""
    assert edit("../a.py", "allow Edit") == "ONE"
    for path in ("../.git/config", "/etc/passwd", "../../a.py"):
        assert edit(path, "allow Edit") == ""


def test_host_and_tool_have_to_fit() -> None:
    """A rule for one host says nothing of another; plans are for people."""
    assert code("allow Bash command=ls host=codex", bash("ls", host="codex")) == "ONE"
    assert code("allow Bash command=ls host=codex", bash("ls")) == ""
    plan = PermitRequest("plan", '{"plan": "x"}', tool="ExitPlanMode")
    assert code("allow *", plan) == code("deny *", plan) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "allow",
        "permit Bash",
        "allow Bash git status",
        "allow Bash command=",
        "allow 'x",
        "deny Bash command='\"'",
        "allow ,",
    ],
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    """With how to write one."""
    with pytest.raises(ParseError, match="write it like: allow Bash"):
        read_rule("x", text)


def test_a_decision_by_rule_is_recorded_as_policy_and_can_be_tried(tmp_path: Path) -> None:
    """With the rule's name; trying another rule shows what differs."""
    store = SqliteStore(tmp_path / "journal.db")
    chosen = Permissions(rules=read_rules({"look": "allow Bash command=ls", "no": "deny WebFetch"}))
    for tool, given_ in (("Bash", {"command": "ls src"}), ("WebFetch", {"url": "x"})):
        stop = permissions.read_stop({"tool_name": tool, "tool_input": given_}, "claude", "/shop")
        assert stop is not None
        assert permissions.decide(store, stop, "/shop", chosen) is not None
    allowed, denied = (runs.look(store, row.id) for row in store.runs())
    assert (allowed.result["decision"], allowed.result["by"]) == ("allow", "policy")
    assert denied.result["decision"] == "deny"
    sources = [entry.read().source for entry in store.entries(allowed.run, kinds=("answered",))]
    assert sources == [("policy", "rule", "look")]
    (trial,) = try_rule(store, read_rule("x", "deny Bash command=ls"), "")
    assert (trial.run.id, trial.would, trial.was) == (allowed.run, "deny", "allow")
    assert list(try_rule(store, read_rule("x", "allow Bash command=ls"), "9999")) == []


def test_a_rule_is_added_to_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All else in the file stays, and what cannot be added to is left alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "quandary" / "config.toml"
    text = "allow Bash command='git \"x\"'"
    assert save_rule(read_rule("one", text), text) == str(path)
    path.write_text(f"# mine\n{path.read_text()}[hooks]\nstrict = true\n", encoding="utf-8")
    save_rule(read_rule("two", "deny Write"), "deny Write")
    kept = path.read_text(encoding="utf-8")
    assert kept.startswith("# mine\n")
    found = load_toml(kept)
    assert found["permissions"]["rules"] == {"one": text, "two": "deny Write"}
    assert found["hooks"] == {"strict": True}
    path.write_text('permissions = {route = "inbox"}\n', encoding="utf-8")
    with pytest.raises(ParseError, match="write it yourself"):
        save_rule(read_rule("two", "deny Write"), "deny Write")
    assert path.read_text(encoding="utf-8") == 'permissions = {route = "inbox"}\n'
