"""The program itself: its commands, its errors, its streams, its weight."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import quandary
from program import DEPLOY, PROGRAM, SCRIPT, call, environment, shell, start
from quandary.cli import COMMANDS, GROUPS
from quandary.formats import rules


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one good tree that is the current one."""
    monkeypatch.chdir(tmp_path)
    Path("t.md").write_text(DEPLOY, encoding="utf-8")
    return tmp_path


def python(code: str, *words: str) -> str:
    """What a line of Python prints in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return ended.stdout


# commands


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` says which one it is."""
    assert (0, f"quandary {quandary.__version__}\n", "") == call(capsys, "--version")


def test_program_and_module_are_one() -> None:
    """`quandary` and `python -m quandary` are the same program."""
    script = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, check=True)
    assert start("--version").out == script.stdout


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_lists_every_command(capsys: pytest.CaptureFixture[str], word: str) -> None:
    """Help names every command in its group and says what it is for; hosts know of `hook`."""
    ended = call(capsys, word)
    assert ended.status == 0
    assert re.findall(r"(?m)^(\w[\w ]*):$", ended.out)[1:] == list(GROUPS)
    listed = " ".join(ended.out.partition("Declare:")[2].split())
    shown = [name for name, (_, said) in COMMANDS.items() if f" {name} {said}" in f" {listed}"]
    assert shown == [name for name in COMMANDS if name != "hook"]


def test_help_loads_no_command() -> None:
    """The list of commands comes from a table, so that help and completion stay quick."""
    loaded = python(
        "import sys; from quandary.cli import run; run(['--help']);"
        "print(*[name for name in sys.modules if name.startswith('quandary.')])"
    )
    assert sorted(loaded.splitlines()[-1].split()) == [
        "quandary.cli",
        "quandary.cli.program",
        "quandary.errors",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """Each command in the table exists and has help of its own."""
    ended = call(capsys, command, "--help")
    assert ended.status == 0
    assert ended.out.startswith(f"Usage: quandary {command} [OPTIONS]")


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The bare program shows its help to the person and tells a script that this was no use."""
    status, out, err = call(capsys)
    assert (status, out) == (2, "")
    assert err.startswith("Usage: quandary [OPTIONS] COMMAND [ARGS]...\n")


# errors


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek"], "no command 'chek'; did you mean check?"),
        (["xyzzy"], "no command 'xyzzy'; see quandary --help"),
        (["rule", "always-for"], "there is no rule always-for; did you mean always-four?"),
        (["rule", "xyzzy"], "there is no rule xyzzy; `quandary rule` lists them"),
        (
            ["check", "--select", "label-coma"],
            "there is no rule label-coma; did you mean label-comma?",
        ),
        (["show", "T"], "no tree named T in the project; it has DEPLOY"),
        (["show", "DEPLOI"], "no tree named DEPLOI in the project; did you mean DEPLOY?"),
        (["check", "nowhere.md"], "nowhere.md: no such file or folder"),
        (["phase"], "say which: go, start, status; see quandary phase --help"),
    ],
)
def test_an_error_is_one_line_that_says_what_to_do(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    """What was wrong with the call is said in one line, with the nearest thing that exists."""
    assert (2, "", f"quandary: {said}\n") == call(capsys, *words)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["check", "--fromat", "json"], "--format"),
        (["--debgu"], "--debug"),
        (["check", "--format", "xml"], "see quandary check --help"),
        (["show"], "see quandary show --help"),
        (["show", "a", "b"], "see quandary show --help"),
        (["rule", "a", "b"], "see quandary rule --help"),
        (["fmt", "--check", "--diff"], "see quandary fmt --help"),
    ],
)
def test_wrong_usage_is_one_line_with_a_hint(
    capsys: pytest.CaptureFixture[str], words: list[str], hint: str
) -> None:
    """Wrong usage, in whatever words click reports it, is one line with status 2."""
    status, out, err = call(capsys, *words)
    assert (status, out) == (2, "")
    assert err.startswith("quandary: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert hint in err
    assert "?;" not in err


def test_an_argument_that_is_no_text_is_one_line() -> None:
    """Bytes that are no Unicode are shown escaped, and nothing breaks on them."""
    ended = start("check", b"\xff\xfe\x1b.md")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "quandary: '\\udcff\\udcfe\\x1b.md': no such file or folder\n"


def test_a_fault_of_ours_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even what should never happen is one line, which says how to learn more."""
    monkeypatch.setattr(rules, "RULES", {})
    status, out, err = call(capsys, "rule")
    assert (status, out) == (1, "")
    assert err == "quandary: internal error (KeyError: 'always-four'); run it again with --debug\n"


@pytest.mark.parametrize("words", [["--debug", "rule", "nope"], ["rule", "nope", "--debug"]])
def test_debug_shows_a_traceback(words: list[str]) -> None:
    """`--debug`, before or behind the command, adds a traceback and changes nothing else."""
    ended = start(*words)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("Traceback (most recent call last):\n")
    assert ended.err.endswith("\nquandary: there is no rule nope; `quandary rule` lists them\n")


def test_debug_behind_two_dashes_is_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    """What stands behind `--` is a path, whatever it looks like."""
    said = "quandary: --debug: no such file or folder\n"
    assert (2, "", said) == call(capsys, "check", "--", "--debug")


def test_ctrl_c_ends_the_work() -> None:
    """Interrupted while it reads an endless input, the program says so and exits with 130."""
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "import sys; from quandary.cli import work; sys.exit(work())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"- x\n" * 250_000)  # more than a pipe holds: it is being read
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (130, b"", b"quandary: interrupted")


# streams


@pytest.mark.parametrize(
    "words",
    [["--help"], ["rule"], ["rule", "always-four"], ["show", "t.md"], ["check", "--format=sarif"]],
)
def test_a_reader_that_goes_away_is_no_error(words: list[str]) -> None:
    """With nobody left to read the output, the program ends without a word."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*PROGRAM, *words], stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (1, b"")


def test_the_first_line_of_a_long_list() -> None:
    """`quandary rule | head -1` shows one line and nothing else."""
    ended = shell('"$@" | head -1', "rule")
    assert (ended.err, ended.status) == ("", 0)
    assert ended.out.startswith("always-four ")


@pytest.mark.parametrize(
    ("closing", "words", "expected"),
    [
        (">&-", ["check", "t.md"], (0, "", "1 tree in 1 file: all clean\n")),
        (">&-", ["show", "t.md"], (0, "", "")),
        (">&-", ["fmt", "-"], (2, "", "quandary: -: standard input is closed\n")),
        ("2>&-", ["check", "t.md"], (0, "", "")),
        ("2>&-", ["check", "nowhere.md"], (2, "", "")),
        ("2>&-", ["chek"], (2, "", "")),
        (">&- 2>&-", ["check", "nowhere.md"], (2, "", "")),
        ("2>/dev/full", ["check", "nowhere.md", "t.md"], (2, "", "")),
        ("2>/dev/full", ["check", "t.md"], (0, "", "")),
    ],
)
def test_closed_streams_change_no_status(
    closing: str, words: list[str], expected: tuple[int, str, str]
) -> None:
    """The exit status is that of the work, also where nothing can be said."""
    closed = "<&-" if "-" in words else ""
    assert expected == shell(f'exec "$@" {closed} {closing}', *words)


@pytest.mark.parametrize("words", [["--help"], ["rule"], ["check", "--format", "json"]])
def test_a_full_disk_is_one_line(words: list[str]) -> None:
    """Output that cannot be written is an error that names the reason."""
    said = "quandary: the output cannot be written (No space left on device)\n"
    assert (1, "", said) == shell('exec "$@" >/dev/full', *words)


@pytest.mark.parametrize("words", [["--help"], ["rule"], ["show", "t.md"], ["show", "é"]])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_a_terminal_without_unicode(words: list[str], encoding: str) -> None:
    """Whatever the terminal can show, the program ends as it would elsewhere."""
    plain = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = subprocess.run(
        [*PROGRAM, *words],
        env=environment({**plain, "PYTHONIOENCODING": encoding}),
        capture_output=True,
        check=False,
    )
    assert ended.returncode == (2 if "é" in words else 0)
    assert b"Traceback" not in ended.stderr
    assert bool(ended.stdout) != bool(ended.stderr)


def test_what_an_encoding_lacks_is_escaped() -> None:
    """A character that cannot be shown becomes an escape and takes no other with it."""
    ended = start("show", "t.md", env={"PYTHONIOENCODING": "latin-1"})
    assert r"\u2514\u2500 OTH" in ended.out


# completion


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_script(name: str) -> None:
    """The program prints a completion script for each shell."""
    ended = start(env={"_QUANDARY_COMPLETE": f"{name}_source"})
    assert (ended.status, ended.err) == (0, "")
    assert f"_QUANDARY_COMPLETE={name}_complete" in ended.out


def test_completion_in_a_real_shell() -> None:
    """Sourced by bash, the script turns `quandary ch` into `quandary check`."""
    script = (
        'eval "$(_QUANDARY_COMPLETE=bash_source quandary)";'
        "COMP_WORDS=(quandary ch); COMP_CWORD=1; _quandary_completion quandary;"
        'echo "${COMPREPLY[@]}"'
    )
    path = os.pathsep.join([str(SCRIPT.parent), os.environ["PATH"]])
    ended = subprocess.run(
        ["bash", "-c", script], env=environment({"PATH": path}), capture_output=True, check=True
    )
    assert (ended.stdout, ended.stderr) == (b"check\n", b"")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ch", ["plain,check"]),
        ("check t", ["file,t"]),
        ("fmt t", ["file,t"]),
        ("show t", ["file,t"]),
        ("rule always", ["plain,always-four"]),
        ("check --select label-m", ["plain,label-missing"]),
        ("check --ignore label-m", ["plain,label-missing"]),
        ("check --format s", ["plain,sarif"]),
        ("check --fen", ["plain,--fenced"]),
    ],
)
def test_completion_knows_what_comes_next(typed: str, offered: list[str]) -> None:
    """Commands, options, their values, rules and files are offered where they belong."""
    words = f"quandary {typed}"
    ended = start(
        env={
            "_QUANDARY_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
    )
    assert (ended.status, ended.err) == (0, "")
    assert offered == ended.out.split()


def test_completion_in_zsh_and_fish_offers_the_same() -> None:
    """The protocols of the other two shells lead to the same command."""
    zsh = {"COMP_WORDS": "quandary ch", "COMP_CWORD": "1", "_QUANDARY_COMPLETE": "zsh_complete"}
    fish = {"COMP_WORDS": "quandary ch", "COMP_CWORD": "ch", "_QUANDARY_COMPLETE": "fish_complete"}
    assert start(env=zsh).out.splitlines()[:2] == ["plain", "check"]
    assert start(env=fish).out.startswith("plain,check")


# weight

HEAVY = (
    "asyncio",
    "dataclasses",
    "difflib",
    "hashlib",
    "importlib.metadata",
    "json",
    "jsonschema",
    "logging",
    "markdown_it",
    "pathlib",
    "platformdirs",
    "psycopg",
    "rich",
    "sqlite3",
    "subprocess",
    "tempfile",
    "textual",
    "tomllib",
    "urllib.parse",
)


@pytest.mark.parametrize("words", [["--help"], ["check", "t.md"]])
def test_a_small_check_loads_nothing_heavy(words: list[str]) -> None:
    """Help and the check of a small file load nothing that takes its time."""
    code = "import sys; from quandary.cli import run; run(sys.argv[1:]); print(*sys.modules)"
    loaded = python(code, *words).splitlines()[-1].split()
    assert [name for name in HEAVY if name in loaded] == []


def test_importing_quandary_is_light() -> None:
    """The package by itself loads neither click nor msgspec, only what is asked of it."""
    code = "import sys, quandary; print(*{'click', 'msgspec', 'quandary.errors'} & {*sys.modules})"
    assert python(code) == "\n"


def test_public_names_are_there() -> None:
    """Every name that the package announces can be fetched from it, and no other."""
    for name in quandary.__all__:
        assert getattr(quandary, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = quandary.nothing


# completion


def offered(words: str, monkeypatch: pytest.MonkeyPatch, shell: str = "bash") -> list[str]:
    """What a shell is told to offer for the last of these words."""
    env = {"COMP_WORDS": f"quandary {words}", "COMP_CWORD": str(len(words.split(" ")))}
    env |= {"_QUANDARY_COMPLETE": f"{shell}_complete"}
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return start().out.splitlines()


def test_runs_are_completed_by_their_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were begun on one day begin alike; wherever a command takes a run."""
    monkeypatch.setenv("QUANDARY_STORE", "journal.db")
    asking = ("ask", "t.md", "--context", "c", "--via", "relay")
    runs = [json.loads(call(capsys, *asking).out)["run"] for _ in range(2)]
    assert runs[0][-5:] != runs[1][-5:]
    for words in ("reply", "ask t.md --from"):
        assert offered(f"{words} {runs[0][-5:].lower()}", monkeypatch) == [f"plain,{runs[0]}"]
    newest_first = [f"plain,{run}" for run in reversed(runs)]
    assert offered("next ", monkeypatch) == newest_first
    assert offered(f"export {runs[0][:6]}", monkeypatch) == newest_first


def test_trees_and_files_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of a tree, by a file, and by a name in a file."""
    assert offered("ask ask_dep", monkeypatch) == ["plain,DEPLOY"]
    assert offered("show ", monkeypatch) == ["plain,DEPLOY", "plain,t.md"]
    assert offered("show t.md#d", monkeypatch) == ["plain,t.md#DEPLOY"]
    for words in ("show ./", "ask DEPLOY --items ", "store copy a "):
        assert offered(words, monkeypatch)[0].startswith("file,")
    assert offered("gate ", monkeypatch)[0].startswith("dir,")
