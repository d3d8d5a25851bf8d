"""Asking and answering from the command line, as an agent does it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import sqlite3
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from program import BY_A_PERSON
from quandary.cli.console import Words, plain_words, reply_command

if TYPE_CHECKING:
    from pathlib import Path

TREE = """\
### ¶ASK_STEP
Trigger: a step waits
Extras: A: Run the tests first

## Decision: Step
- [OK] Fine
  It stays
- [NO] Not yet
  Something is missing
- [CUT] Leave it out
  Nobody needs it
- [OTH] Other
  - [SPL] Make two of it
    Too much at once
  - [MOV] Move it
    Elsewhere
"""
CONTEXT = "The plan has two steps. None has begun."


class Ended:
    """How the program ended."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err

    @property
    def state(self) -> dict[str, Any]:
        """What it printed, as JSON."""
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with one tree."""
    (tmp_path / ".quandary").mkdir()
    (tmp_path / "t.md").write_text(TREE, encoding="utf-8")
    return tmp_path


def quandary(folder: Path, *words: str, stdin: str | None = None) -> Ended:
    """Run the program in the project, with a store of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "quandary", *words],
        cwd=folder,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        check=False,
        env={"QUANDARY_STORE": str(folder / "journal.db"), "PATH": "", "LANG": "C.UTF-8"},
    )
    assert "Traceback" not in done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def asked(folder: Path, *words: str) -> dict[str, Any]:
    """A run about two items that waits."""
    ended = quandary(
        folder,
        *("ask", "t.md", "--context", CONTEXT),
        *("--item", "1.1|Auth|Auth design|Tokens expire.", "--item", "1.2|Cache|Caching"),
        *words,
    )
    assert (ended.status, ended.err) == (0, "")
    return ended.state


def test_a_waiting_state_has_all_that_an_agent_needs(folder: Path) -> None:
    """The keys of the contract, and a tool_input that the host takes as it is."""
    state = asked(folder)
    assert list(state) == ["run", "flow", "status", "notes", "ask"]
    ask = state["ask"]
    assert ask["keys"] == ["1.1:", "1.2:"]
    assert ask["preamble"].endswith("\n\n")
    assert ask["reply_with"] == ["quandary", "reply", state["run"], "--to", "1.1:", "-"]
    assert [q["header"] for q in ask["tool_input"]["questions"]] == ["1.1. Auth", "1.2. Cache"]


def test_an_agent_loops_until_done(folder: Path) -> None:
    """Ask, pipe the tool's response back, follow up, and get the chosen items."""
    state = asked(folder)
    texts = [q["question"] for q in state["ask"]["tool_input"]["questions"]]
    response = {"answers": {texts[0]: "Fine", texts[1]: "Other"}}
    state = quandary(folder, "reply", state["run"], "-", stdin=json.dumps(response)).state
    assert (state["status"], state["ask"]["key"]) == ("waiting", "1.2:OTH")
    ended = quandary(folder, "reply", state["run"], "--to", "1.2:OTH", "move it")
    assert ended.status == 0
    assert [c["path"] for c in ended.state["result"]["chosenItems"]] == ["OK", "OTH/MOV"]
    assert ended.state["notes"][0]["text"] == "> Matched: Move it"


def test_proof_is_the_whole_output(folder: Path) -> None:
    """`--proof` prints treeName and chosenItems and nothing else."""
    (folder / "a.json").write_text('["1: ok\\n2: cut"]', encoding="utf-8")
    proof = asked(folder, "--answers", "a.json", "--proof")
    assert proof == {
        "treeName": "Step",
        "chosenItems": [
            {"item": "Auth design", "path": "OK"},
            {"item": "Caching", "path": "CUT"},
        ],
    }


def test_proof_names_the_decision_where_there_are_several(folder: Path) -> None:
    """An entry for each item and decision says which of them it is."""
    tree = "".join(f"## Decision: {name}\n- [{name[0]}] One\n" for name in ("Colour", "Engine"))
    (folder / "two.md").write_text(f"### ¶ASK_TWO\nShape: free\n{tree}", encoding="utf-8")
    (folder / "a.json").write_text('[["C", "E"]]', encoding="utf-8")
    command = ("ask", "two.md#TWO", "--context", "A new car.", "--answers", "a.json", "--proof")
    found = quandary(folder, *command).state["chosenItems"]
    assert [(one["decision"], one["path"]) for one in found] == [("Colour", "C"), ("Engine", "E")]


def test_a_byte_order_mark_before_json_is_no_part_of_it(folder: Path) -> None:
    """What was saved or piped on Windows is read as what it says: replies, scripts and cases."""
    replies = folder / "a.json"
    replies.write_text('["1: ok\\n2: cut"]', encoding="utf-8-sig")
    assert len(asked(folder, "--answers", "a.json", "--proof")["chosenItems"]) == 2
    state = asked(folder)
    texts = [q["question"] for q in state["ask"]["tool_input"]["questions"]]
    replies.write_text(json.dumps({"answers": dict.fromkeys(texts, "Fine")}), "utf-8-sig")
    ended = quandary(folder, "reply", state["run"], "--file", "a.json")
    assert [c["path"] for c in ended.state["result"]["chosenItems"]] == ["OK", "OK"]
    case = {"id": 1, "options": [{"code": "OK", "label": "Fine"}], "reply": "fine"}
    replies.write_text(json.dumps(case), "utf-8-sig")
    assert quandary(folder, "read", "--cases", "a.json").state["codes"] == ["OK"]


def test_our_own_form_of_a_reply(folder: Path) -> None:
    """Codes by key, with a comment that reaches the caller."""
    state = asked(folder)
    reply = {"answers": [{"key": "1.1:", "picked": ["NO"], "comment": "rename it"}]}
    state = quandary(folder, "reply", state["run"], "-", stdin=json.dumps(reply)).state
    assert state["ask"]["keys"] == ["1.2:~2"]
    ended = quandary(folder, "reply", state["run"], "ok")
    assert ended.state["result"]["chosenItems"][0]["comment"] == "rename it"


@pytest.mark.parametrize(
    "data", ["", '{"answers": {}, "afkTimeoutMs": 60000}', '{"is_error": true}', '{"error": "x"}']
)
def test_what_is_no_answer_leaves_the_question_open(folder: Path, data: str) -> None:
    """An idle form, an error, an empty pipe: noted, and the run still waits."""
    state = asked(folder)
    ended = quandary(folder, "reply", state["run"], "-", stdin=data)
    assert ended.status == 1
    assert ended.state["status"] == "waiting"
    assert quandary(folder, "next", state["run"]).state["ask"]["key"] == "1.1:"


def test_a_script_that_ends_with_no_answer_fails(folder: Path) -> None:
    """As a reply that is none does; what the script said before and after it still counts."""
    idle = {"answers": {}, "afkTimeoutMs": 5}
    for script, status in (([idle], 1), (["?", ""], 1), ([idle, "ok"], 0), ([], 0)):
        (folder / "a.json").write_text(json.dumps(script))
        ended = quandary(folder, *ONE, "--answers", "a.json")
        left = status or not script
        assert (ended.status, ended.state["status"]) == (status, "waiting" if left else "done")
        assert ("no answer (" in ended.err) == bool(status)


def test_a_way_up_where_nothing_lies_above_is_told_with_the_state(folder: Path) -> None:
    """`<` at the root is no answer: the question comes again and says why."""
    run = asked(folder)["run"]
    state = quandary(folder, "reply", run, "--to", "1.1:", "<").state
    assert (state["status"], state["ask"]["keys"]) == ("waiting", ["1.1:~2"])
    assert [note["kind"] for note in state["notes"]] == ["refused"]
    assert state["ask"]["preamble"].startswith("There are no options before these.")


def test_a_late_reply_is_refused(folder: Path) -> None:
    """What no longer waits is already answered, and nothing changes."""
    run = asked(folder)["run"]
    quandary(folder, "reply", run, "--to", "1.1:", "ok")
    ended = quandary(folder, "reply", run, "--to", "1.1:", "cut")
    assert (ended.status, ended.out) == (1, "")
    assert "already answered" in ended.err


def test_malformed_replies_are_refused(folder: Path) -> None:
    """Broken JSON is an error, not somebody's words."""
    run = asked(folder)["run"]
    ended = quandary(folder, "reply", run, "-", stdin='{"answers": ')
    assert ended.status == 2
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--context", " "),
        ("--context", "About {topic}."),
        ("--context", CONTEXT, "--item", "x y|a"),
        ("--context", CONTEXT, "--set", "novalue"),
        ("--context", CONTEXT, "--extra", "no letter"),
        ("--context", CONTEXT, "--items", "missing.json"),
        ("--context", CONTEXT, "--expires", "soon"),
    ],
)
def test_wrong_usage_is_one_line_and_begins_no_run(folder: Path, words: tuple[str, ...]) -> None:
    """Exit status 2, one line, and the journal has no run."""
    ended = quandary(folder, "ask", "t.md", *words)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert quandary(folder, "runs", "--format", "json").state == {"runs": []}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("i.json", '[{"id": "2.1", "title": "Auth", "owner": "web", "size": 3}]'),
        ("i.jsonl", '{"id": "2.1", "title": "Auth", "owner": "web", "size": 3}\n'),
        ("i.csv", "id,title,owner,size\n2.1,Auth,web,3\n"),
    ],
)
def test_items_come_from_files(folder: Path, name: str, text: str) -> None:
    """JSON, JSON lines and CSV; further fields fill the question's slots."""
    (folder / name).write_text(text, encoding="utf-8")
    ended = quandary(
        folder,
        *("ask", "t.md", "--context", CONTEXT, "--items", name),
        *("--question", "{title} of {owner} ({size}) for {when}?", "--set", "when=May"),
    )
    question = ended.state["ask"]["tool_input"]["questions"][0]
    assert question["question"] == "Auth of web (3) for May?"


def test_text_shows_one_question_with_numbers(folder: Path) -> None:
    """`--via text` prints numbered choices, one item at a time, and reads a number."""
    state = asked(folder, "--via", "text")
    assert state["ask"]["keys"] == ["1.1:"]
    assert "1. **Fine**" in state["ask"]["text"]
    state = quandary(folder, "reply", state["run"], "the second one, please").state
    assert state["notes"][0]["kind"] == "matched"
    assert state["ask"]["keys"] == ["1.2:"]
    state = quandary(folder, "reply", state["run"], "the last one").state
    assert state["ask"]["keys"] == ["1.2:OTH"], "Other is the last of the numbered choices"


def test_codex_gets_three_questions(folder: Path) -> None:
    """A host with less room gets smaller rounds."""
    words = [w for n in range(1, 6) for w in ("--item", f"{n}|Step {n}")]
    state = quandary(folder, "ask", "t.md", "--context", CONTEXT, "--host", "codex", *words).state
    assert len(state["ask"]["keys"]) == 3


def test_advice_comes_back_with_the_question(folder: Path) -> None:
    """A person's question is kept; an agent answers it and offers an extra."""
    run = asked(folder)["run"]
    state = quandary(folder, "reply", run, "--to", "1.1:", "Q: who wrote it?").state
    assert state["notes"][0]["kind"] == "question"
    state = quandary(folder, "advise", run, "The web team.", "--option", "B: Ask them").state
    assert state["ask"]["preamble"].startswith("You asked: who wrote it?\n\nThe web team.")
    assert "B: Ask them" in state["ask"]["preamble"]


def test_an_extra_that_shows_something_comes_back_through_advice(folder: Path) -> None:
    """`A? …` keeps the question open, tells the asker, and is answered with `advise`."""
    extras = ("--extra", "A? Show the SQL", "--extra", "B: Merge both")
    run = quandary(folder, "ask", "t.md", "--context", CONTEXT, *extras).state["run"]
    for reply in ("a", "A?", '{"answers": [{"text": "A"}]}'):
        state = quandary(folder, "reply", run, reply).state
        assert state["status"] == "waiting"
        assert {"kind": "extra", "item": "1", "text": "Show the SQL"} in state["notes"]
        state = quandary(folder, "advise", run, "DROP TABLE plans;").state
        assert state["ask"]["preamble"].startswith("You asked: Show the SQL\n\nDROP TABLE")
    state = quandary(folder, "reply", run, "B").state
    assert state["result"]["chosenItems"][0]["path"] == "OTH/smart:Merge both"
    refused = quandary(folder, "ask", "t.md", "--context", CONTEXT, "--extra", "Show it")
    assert (refused.status, refused.out) == (2, "")
    assert "write it as 'A: text' or 'A? text'" in refused.err


def test_a_reference_shows_a_file_of_the_project(folder: Path) -> None:
    """`@path` stays below the working folder."""
    (folder / "notes.txt").write_text("the notes", encoding="utf-8")
    run = asked(folder)["run"]
    state = quandary(folder, "reply", run, "--to", "1.1:", "@notes.txt").state
    assert "the notes" in state["ask"]["preamble"]
    key = state["ask"]["key"]
    state = quandary(folder, "reply", run, "--to", key, "@../../etc/passwd").state
    assert state["notes"][0]["kind"] == "refused"


def test_a_reference_may_be_an_absolute_path_below_the_folder(folder: Path) -> None:
    """It is held to the same as any other: no way out, also by a link."""
    below, outside = folder / "below", folder / "notes.txt"
    below.mkdir()
    for path in (outside, below / "notes.txt"):
        path.write_text(f"the notes of {path.parent.name}", encoding="utf-8")
    (below / "link.txt").symlink_to(outside)
    (below / "t.md").write_text(TREE, encoding="utf-8")
    run = quandary(below, "ask", "t.md", "--context", CONTEXT).state["run"]
    state = quandary(below, "reply", run, f"@{below}/notes.txt").state
    assert "the notes of below" in state["ask"]["preamble"]
    for path in (outside, below / "link.txt", below / ".." / "notes.txt"):
        state = quandary(below, "reply", run, f"@{path}").state
        assert state["notes"][0]["kind"] == "refused"
        assert "is not below the working folder" in state["ask"]["preamble"]


@pytest.mark.parametrize("name", ["pipe", "binary", "inner/../notes.txt", "inner", ""])
def test_a_reference_shows_nothing_but_text_files(folder: Path, name: str) -> None:
    """A pipe would never end, and other bytes are nothing to read."""
    (folder / "notes.txt").write_text("the notes", encoding="utf-8")
    (folder / "inner").mkdir()
    (folder / "binary").write_bytes(b"a\0b")
    os.mkfifo(folder / "pipe")
    run = asked(folder)["run"]
    state = quandary(folder, "reply", run, "--to", "1.1:", f"@{name}").state
    assert (state["status"], state["notes"][0]["kind"]) == ("waiting", "refused")


def test_a_reference_is_looked_up_where_the_run_began(folder: Path) -> None:
    """Whoever replies may stand elsewhere."""
    (folder / "notes.txt").write_text("the notes", encoding="utf-8")
    (folder / "inner").mkdir()
    run = asked(folder)["run"]
    elsewhere = ["--store", str(folder / "journal.db")]
    state = quandary(folder / "inner", "reply", run, "--to", "1.1:", "@notes.txt", *elsewhere).state
    assert "the notes" in state["ask"]["preamble"]


@pytest.mark.parametrize("source", ["STEP", "t.md#STEP", "-#STEP"])
def test_the_other_trees_that_were_loaded_can_be_asked_for(folder: Path, source: str) -> None:
    """Those of the file, of standard input, or of the project, wherever the tree was found."""
    text = TREE + "\n" + TREE.replace("ASK_STEP", "ASK_DEPTH").replace(": Step", ": Depth")
    (folder / "t.md").write_text(text, encoding="utf-8")
    begun = quandary(folder, "ask", source, "--context", CONTEXT, stdin=text)
    state = quandary(folder, "reply", begun.state["run"], "depth").state
    assert state["ask"]["key"] == "1:+DEPTH+1:"


def test_more_options_than_a_box_holds_can_fit_a_reply(folder: Path) -> None:
    """The clarifying question is paged like any other."""
    listed = "".join(f"- [{c}{c}] Deploy {c}\n" for c in "BCDEFGHI")
    (folder / "t.md").write_text(f"## Decision: Deploy\n{listed}", encoding="utf-8")
    for host, room in (("claude", 4), ("codex", 3)):
        begun = quandary(folder, "ask", "t.md", "--context", CONTEXT, "--host", host)
        state = quandary(folder, "reply", begun.state["run"], "deploy").state
        (question,) = state["ask"]["tool_input"]["questions"]
        assert len(question["options"]) == room
        assert question["options"][-1]["label"] == "More…"


@pytest.mark.parametrize("end", ["done", '{"answers": [{"picked": ["NO/RWK"]}]}'])
def test_a_path_that_was_added_is_the_answer_when_the_gathering_ends(
    folder: Path, end: str
) -> None:
    """`+NO/RWK` adds what lies below an option; ending with it neither fails nor opens Other."""
    below = "  - [RWK] Rework\n  - [DEF] Defer\n"
    text = TREE.replace("] ", "] [ ] ").replace("  Something is missing\n", below)
    (folder / "t.md").write_text(text, encoding="utf-8")
    run = quandary(folder, "ask", "t.md", "--context", CONTEXT).state["run"]
    quandary(folder, "reply", run, "+NO/RWK")
    (chosen,) = quandary(folder, "reply", run, "-", stdin=end).state["result"]["chosenItems"]
    assert chosen["path"] == "NO/RWK"


def test_a_folder_that_is_gone_is_one_line(folder: Path) -> None:
    """It says what to do."""
    gone = folder / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD"; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "quandary", "runs"],
        cwd=gone,
        capture_output=True,
        text=True,
        check=False,
    )
    said = "quandary: the current folder is gone; change to another one\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("option", ["--context", "--item", "--question", "--extra"])
def test_arguments_that_are_no_text_are_one_line(folder: Path, option: str) -> None:
    """Nothing is begun with them."""
    value = {"--extra": "A: \udcff", "--item": "1|\udcff"}.get(option, "About \udcff.")
    ended = quandary(folder, "ask", "t.md", "--context", CONTEXT, option, value)
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "UTF-8" in ended.err


def test_a_run_can_be_withdrawn(folder: Path) -> None:
    """It ends with its reason, and a reply comes too late."""
    run = asked(folder)["run"]
    assert quandary(folder, "withdraw", run, "--why", "not needed").status == 0
    assert quandary(folder, "reply", run, "ok").status == 1
    listed = quandary(folder, "runs", "--status", "withdrawn", "--format", "json").state["runs"]
    assert [row["run"] for row in listed] == [run]


def test_an_answer_can_be_changed(folder: Path) -> None:
    """The old answer stays in the log, and the result is the new one."""
    run = asked(folder)["run"]
    quandary(folder, "reply", run, "1: ok\n2: ok")
    ended = quandary(folder, "amend", run, "cut", "--to", "1.2:", "--why", "second thoughts")
    assert [c["path"] for c in ended.state["result"]["chosenItems"]] == ["OK", "CUT"]
    assert "second thoughts" in quandary(folder, "log", run).out
    assert quandary(folder, "verify").status == 0


def test_the_log_finds_past_decisions(folder: Path) -> None:
    """By words, as a timeline, as a record for a pull request."""
    run = asked(folder)["run"]
    quandary(folder, "reply", run, "1: ok\n2: cut")
    assert run in quandary(folder, "log", "--grep", "caching leave").out
    assert quandary(folder, "log", "--grep", "nothing-like-it").out == ""
    record = quandary(folder, "log", run, "--format", "markdown").out
    assert "- Auth design: **Fine** (`OK`)\n- Caching: **Leave it out** (`CUT`)\n" in record


def test_answers_are_taken_over_from_an_earlier_run(folder: Path) -> None:
    """`--from RUN` asks only what is new."""
    run = asked(folder)["run"]
    quandary(folder, "reply", run, "1: ok\n2: cut")
    state = asked(folder, "--from", run)
    assert [c["path"] for c in state["result"]["chosenItems"]] == ["OK", "CUT"]


def test_next_waits_for_an_answer(folder: Path) -> None:
    """`--wait` returns as soon as somebody has answered."""
    run = asked(folder)["run"]
    with subprocess.Popen(
        [sys.executable, "-m", "quandary", "next", run, "--wait", "60"],
        cwd=folder,
        env={"QUANDARY_STORE": str(folder / "journal.db"), "PATH": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as waiting:
        quandary(folder, "reply", run, "1: ok\n2: ok")
        out, _ = waiting.communicate(timeout=50)
    assert json.loads(out)["status"] == "done"


def test_a_run_is_found_by_the_beginning_of_its_id(folder: Path) -> None:
    """A unique prefix will do; an unknown one is exit status 2."""
    run = asked(folder)["run"]
    assert quandary(folder, "next", run[:20]).state["run"] == run
    assert quandary(folder, "next", "0000000").status == 2


def test_read_says_how_a_reply_would_be_read(folder: Path) -> None:
    """One text against a tree, or a whole set of cases."""
    assert quandary(folder, "read", "t.md", "--mode", "plain", "the second one").state["codes"] == [
        "NO"
    ]
    case = {
        "id": 7,
        "question": "Ship?",
        "options": [
            {"code": "YES", "label": "Ship it", "description": ""},
            {"code": "NO", "label": "Keep it", "description": ""},
        ],
        "multi": False,
        "reply": "ship it",
    }
    (folder / "c.jsonl").write_text(json.dumps(case) + "\n", encoding="utf-8")
    line = quandary(folder, "read", "--cases", "c.jsonl").state
    assert (line["id"], line["kind"], line["codes"]) == (7, "pick", ["YES"])


def test_an_exact_reply_loads_nothing_heavy(folder: Path) -> None:
    """Replies run inside agents' loops, so start-up counts."""
    run = asked(folder)["run"]
    script = (
        "import atexit, sys; from quandary.__main__ import main;"
        "heavy = {'rapidfuzz','platformdirs','rich','asyncio','textual','psycopg','click',"
        "'inspect','typing_extensions','platform','hashlib'};"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr)); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "reply", run, '{"answers": [{"picked": ["OK"]}]}'],
        cwd=folder,
        env={"QUANDARY_STORE": str(folder / "journal.db"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_a_reply_does_not_end_before_its_threads(folder: Path) -> None:
    """A store on a server tells others of several entries in a thread, a moment after the first."""
    run = asked(folder)["run"]
    script = (
        "import os, threading; from quandary.__main__ import main;"
        "threading.Timer(1.0, os.write, (2, b'told')).start(); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "reply", run, '{"answers": [{"picked": ["OK"]}]}'],
        cwd=folder,
        env={"QUANDARY_STORE": str(folder / "journal.db"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "told")


def at_terminal(folder: Path, keys: bytes, *words: str) -> Ended:
    """Ask at a plain terminal, type something, and keep what goes to standard output."""
    screen, line = pty.openpty()
    with subprocess.Popen(
        [*BY_A_PERSON, *words, "--via", "terminal"],
        cwd=folder,
        stdin=line,
        stdout=subprocess.PIPE,
        stderr=line,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no threads
        env={"QUANDARY_STORE": str(folder / "journal.db"), "TERM": "dumb", "LANG": "C.UTF-8"},
    ) as process:
        os.close(line)
        seen = b""
        while b"> " not in seen:
            seen += os.read(screen, 65536)
        os.write(screen, keys)
        with contextlib.suppress(OSError):  # how Linux says that the other end was closed
            while part := os.read(screen, 65536):
                seen += part
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(screen)
    return Ended(process.returncode, out, seen.decode())


ONE = ("ask", "t.md", "--context", CONTEXT, "--item", "1.1|Auth|Auth design")


def test_what_was_chosen_at_the_terminal_goes_to_standard_output(folder: Path) -> None:
    """So that a script can have it, as a state or as proof."""
    ended = at_terminal(folder, b"1\n", *ONE)
    assert (ended.status, ended.state["status"]) == (0, "done")
    ended = at_terminal(folder, b"1\n", *ONE, "--proof")
    assert ended.state == {
        "treeName": "Step",
        "chosenItems": [{"item": "Auth design", "path": "OK"}],
    }


@pytest.mark.parametrize(("keys", "status"), [(b"\x04", 1), (b"\x03", 130)])
def test_leaving_a_terminal_is_no_good_end(folder: Path, keys: bytes, status: int) -> None:
    """Ctrl-D and Ctrl-C leave the question open, and the exit status says so."""
    ended = at_terminal(folder, keys, *ONE)
    assert ended.status == status
    (run,) = quandary(folder, "runs", "--format", "json").state["runs"]
    assert run["status"] == "waiting"


@pytest.mark.parametrize(
    "words",
    [("--answers", "missing.json"), ("--answers", "t.md"), ("--via", "terminal")],
)
def test_what_cannot_be_asked_begins_no_run(folder: Path, words: tuple[str, ...]) -> None:
    """A script that cannot be read, or a terminal that is not there."""
    ended = quandary(folder, *ONE, *words)
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert quandary(folder, "runs", "--format", "json").state == {"runs": []}


def test_answers_can_be_piped_and_taken_over(folder: Path) -> None:
    """`--answers -` reads them, and `--from` takes any prefix of a run's name."""
    ended = quandary(folder, *ONE, "--answers", "-", stdin='["keep"]')
    assert ended.state["status"] in ("done", "waiting")
    ended = quandary(folder, *ONE, "--answers", "-", stdin='["Not yet"]')
    assert ended.state["result"]["chosenItems"][0]["path"] == "NO"
    again = quandary(folder, *ONE, "--from", ended.state["run"][:-1])
    assert again.state["result"]["chosenItems"][0]["path"] == "NO"


def test_what_is_noted_while_a_question_waits_is_shown(folder: Path) -> None:
    """A reply that was none is told beside the question."""
    run = asked(folder)["run"]
    quandary(folder, "reply", run, "-", stdin='{"answers": {}, "afkTimeoutMs": 1000}')
    notes = quandary(folder, "next", run).state["notes"]
    assert [note["kind"] for note in notes] == ["idle"]


def test_the_last_of_several_non_answers_is_told(folder: Path) -> None:
    """What an earlier state has told is not told again with the next one."""
    run = asked(folder)["run"]
    idle = '{"answers": {}, "afkTimeoutMs": 1000}'
    for data, kind in ((idle, "idle"), ("", "error"), ("", "error")):
        state = quandary(folder, "reply", run, "-", stdin=data).state
        assert [note["kind"] for note in state["notes"]] == [kind]


def test_a_damaged_journal_is_said_to_be_one(folder: Path) -> None:
    """One line that says where to look."""
    run = asked(folder)["run"]
    with contextlib.closing(sqlite3.connect(folder / "journal.db")) as db, db:
        db.execute("UPDATE entry SET matter = x'00' WHERE n = 2")
    for words in (("next", run), ("reply", run, "fine")):
        ended = quandary(folder, *words)
        assert (ended.status, ended.err.count("\n")) == (2, 1)
        assert f"quandary verify {run}" in ended.err


@given(
    st.lists(
        st.sampled_from(
            [
                *("01A", "-", "a text", "", "1:", "--", "-x", "--to=1:"),
                *("--to", "--by", "--store", "--file", "--proof", "--help"),
            ]
        ),
        max_size=7,
    )
)
def test_plain_words_are_read_as_click_would(words: list[str]) -> None:
    """Whatever the short way understands means the same to the command in full."""
    plain = plain_words(words)
    if plain is None:
        return
    read = reply_command().make_context("reply", list(words)).params
    assert Words(**read) == plain


def test_the_form_that_we_print_takes_the_short_way() -> None:
    """What `reply_with` says is understood without click."""
    found = plain_words(["01A", "--to", "1:", "-"])
    assert found == Words("01A", "-", to="1:")
