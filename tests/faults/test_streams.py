"""Every command with its streams closed, full or broken: a line, a status, no traceback."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from faults.kit import HOOKED, complaint
from faults.nursery import BROKEN, CLOSED
from quandary.cli import COMMANDS
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from faults.kit import Trouble


class Invocation(NamedTuple):
    """A command that does something worth the name."""

    words: tuple[str, ...]
    prints: bool = True
    """Whether it says something on standard output."""
    text: str | None = None
    """What is piped in."""
    status: int = 0


ASK = ("ask", "t.md", "--context", "Two steps wait.", "--item", "1|One")
NO_OPTION = ("--option", "[NO] No | Not now")
TREE = "## Decision: D\n- [A] x\n"
TABLE = {
    "check json": Invocation(("check", "t.md", "--format", "json")),
    "check": Invocation(("check", "t.md"), prints=False),
    "check github": Invocation(("check", "untidy.md", "--format", "github")),
    "check --fix": Invocation(("check", "--fix", "untidy.md"), prints=False),
    "check -": Invocation(("check", "-", "--format", "json"), text=TREE, status=1),
    "fmt": Invocation(("fmt", "untidy.md"), prints=False),
    "fmt --diff": Invocation(("fmt", "--diff", "untidy.md"), status=1),
    "fmt -": Invocation(("fmt", "-"), text=TREE),
    "rule": Invocation(("rule",)),
    "new": Invocation(
        ("new", "new.md", "--question", "Is it time?", "--option", "[YES] Yes | Now", *NO_OPTION),
        prints=False,
    ),
    "trees": Invocation(("trees", "--format", "json")),
    "preview": Invocation(("preview", "t.md")),
    "schema": Invocation(("schema", "items")),
    "show": Invocation(("show", "t.md")),
    "show json": Invocation(("show", "t.md", "--format", "json")),
    "show chart": Invocation(("show", "c.mmd")),
    "show -": Invocation(("show", "-"), text=TREE),
    "ask": Invocation(ASK),
    "split": Invocation(("split", "options.json")),
    "split -": Invocation(("split", "-"), text='[{"key": "E1", "title": "One"}]'),
    "gate": Invocation(("gate", "track")),
    "phase start": Invocation(("phase", "start", "other", "--phases", "phases.json")),
    "phase go": Invocation(("phase", "go", "track", "1: Plan")),
    "phase status": Invocation(("phase", "status", "track")),
    "walk": Invocation(("walk", "c.mmd", "--via", "relay")),
    "walk --dry-run": Invocation(("walk", "c.mmd", "--dry-run")),
    "worker": Invocation(("worker",), prints=False, status=2),
    "reply": Invocation(("reply", "{waiting}", "1.1: ok\n1.2: cut")),
    "reply -": Invocation(("reply", "{waiting}", "-"), text="1.1: ok\n1.2: cut"),
    "next": Invocation(("next", "{waiting}")),
    "advise": Invocation(("advise", "{waiting}", "Both are small.")),
    "read": Invocation(("read", "t.md", "fine")),
    "read --cases": Invocation(("read", "--cases", "cases.jsonl")),
    "runs": Invocation(("runs", "--all")),
    "runs json": Invocation(("runs", "--all", "--format", "json")),
    "log": Invocation(("log", "{done}")),
    "log --questions": Invocation(("log", "--questions", "--all")),
    "report": Invocation(("report", "{walked}")),
    "report html": Invocation(("report", "{walked}", "--format", "html")),
    "report --output": Invocation(
        ("report", "{walked}", "--format", "html", "--output", "r.html"), prints=False
    ),
    "amend": Invocation(("amend", "{done}", "no", "--to", "1.1:", "--why", "oh")),
    "undo": Invocation(("undo", "{done}"), prints=False, status=1),
    "resume": Invocation(("resume", "{waiting}"), prints=False, status=1),
    "decided": Invocation(("decided", "--format", "json")),
    "permit ask": Invocation(("permit", "ask", "--action", "deploy", "--input", "t.md")),
    "permit use": Invocation(
        ("permit", "use", "{waiting}", "--input", "t.md"), prints=False, status=1
    ),
    "withdraw": Invocation(("withdraw", "{waiting}", "--why", "nobody needs it")),
    "trust": Invocation(("trust", "--list"), prints=False),
    "serve": Invocation(("serve", "--host", "no such host"), prints=False, status=2),
    "mcp": Invocation(("mcp",), prints=False),
    "prefer set": Invocation(
        ("prefer", "set", "a-b", "always-ask", "--origin", "user"), prints=False
    ),
    "prefer check": Invocation(("prefer", "check", "a-b")),
    "prefer list": Invocation(("prefer", "list"), prints=False),
    "prefer clear": Invocation(("prefer", "clear", "a-b", "--origin", "user"), prints=False),
    "prefer stats": Invocation(("prefer", "stats")),
    "stats": Invocation(("stats", "--all")),
    "hook post": Invocation(("hook", "post"), prints=False, text=json.dumps(HOOKED)),
    "verify": Invocation(("verify",)),
    "store copy": Invocation(("store", "copy", "store/journal.db", "new.db")),
    "store backup": Invocation(("store", "backup", "backup.db")),
    "store recover": Invocation(("store", "recover", "store/journal.db", "--into", "saved.db")),
    "prune": Invocation(("prune", "--older-than", "90d")),
    "export": Invocation(("export", "{done}")),
    "export --output": Invocation(("export", "{done}", "--output", "e.json"), prints=False),
    "import": Invocation(("import", "run.json")),
    "install": Invocation(("install", "claude", "--project"), prints=False),
    "uninstall": Invocation(("uninstall", "claude", "--project"), prints=False),
    "doctor": Invocation(("doctor", "--format", "json"), status=1),
    "--help": Invocation(("--help",)),
    "--version": Invocation(("--version",)),
}
EVERY = pytest.mark.parametrize("name", TABLE)
NEEDS_INPUT = frozenset({*(name for name in TABLE if name.endswith(" -")), "mcp"})
FULL = "the output cannot be written (No space left on device)"


def test_every_command_is_in_the_table() -> None:
    """A command that comes to be is tried with every fault from then on."""
    tried = {name.partition(" ")[0] for name in TABLE}
    assert set(COMMANDS) <= tried


@EVERY
def test_a_full_standard_output_is_one_line(trouble: Trouble, name: str) -> None:
    """What could not be said is no success, whatever was done."""
    words, prints, text, status = TABLE[name]
    ended = trouble.start(*words, text=text, stdout="/dev/full")
    assert ended.status == (1 if prints else status), ended
    if prints:
        assert complaint(ended) == FULL
    assert "Traceback" not in ended.err


@EVERY
def test_a_reader_that_has_gone_is_told_nothing(trouble: Trouble, name: str) -> None:
    """With nobody to read it, the program ends, and does not go on about it."""
    words, prints, text, status = TABLE[name]
    ended = trouble.start(*words, text=text, stdout=BROKEN)
    assert ended.status == (1 if prints else status), ended
    assert "Traceback" not in ended.err
    assert "Exception ignored" not in ended.err
    assert not prints or "quandary: " not in ended.err, ended


@EVERY
def test_a_full_standard_error_changes_nothing(trouble: Trouble, name: str) -> None:
    """What cannot be said beside the work does not stop it."""
    words, prints, text, status = TABLE[name]
    ended = trouble.start(*words, text=text, stderr="/dev/full")
    assert (ended.status, bool(ended.out)) == (status, prints), ended


@EVERY
def test_a_closed_standard_input_is_no_answer(trouble: Trouble, name: str) -> None:
    """Where it is not needed nothing changes, and where it is, one line says that it is closed."""
    words, prints, _, status = TABLE[name]
    before = trouble.waits().n
    ended = trouble.start(*words, stdin=CLOSED)
    assert "Traceback" not in ended.err
    if name in NEEDS_INPUT:
        assert ended.status == 2, ended
        assert complaint(ended) == "-: standard input is closed"
        assert trouble.waits().n == before
    else:
        assert (ended.status, bool(ended.out)) == (status, prints), ended


@EVERY
def test_with_every_stream_closed_the_work_is_done(trouble: Trouble, name: str) -> None:
    """A file that the program opens is never taken for one of its streams."""
    words, _, _, status = TABLE[name]
    ended = trouble.start(*words, stdin=CLOSED, stdout=CLOSED, stderr=CLOSED)
    assert ended.status == (2 if name in NEEDS_INPUT else status)
    with closing(SqliteStore(trouble.store)) as store:
        assert verify(store).ok
