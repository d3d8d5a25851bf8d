"""What a command costs an agent: the time of a whole process, and the bytes that it has to read.

The times are ratios to that of `python -c pass`, taken by turns. Ends with status 1 when a budget
is missed.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measuring import Row, at_most, table, timed

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
TREES = ROOT / "examples" / "trees"
INSTRUCTION = ROOT / "docs" / "agents.md"
PROGRAM = str(Path(sys.executable).with_name("quandary"))

PROMPT = 14_212
"""Bytes of the prompt that used to tell an agent how to put such a question."""

ITEMS = 100
LONG = 5_000
TIMES, LONG_TIMES = 21, 9
Waiting = tuple[Path, dict[str, Any]]
"""A store, and the state of the run in it."""
CONTEXT = (
    "The plan for the spring release is written. Each point needs your word before work begins."
)


def main() -> int:
    """Measure, print a table, and judge."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as name:
        folder = Path(name)
        rows = [*a_process(folder), *a_long_run(folder), *a_hook(folder)]
        return table([*rows, *a_move(folder), *a_decision(folder)])


# -- time --------------------------------------------------------------------------------------


def a_process(folder: Path) -> list[Row]:
    """`quandary reply`, as a process, to the last question of a run of a hundred answers."""
    ways = (
        ("relay", "the tool's response to four questions, 96 answers before them"),
        ("text", "a code in reply to one question, 99 answers before it"),
    )
    rows = []
    for via, words in ways:
        store, state = nearly_done(folder, via)
        reply = response(state) if via == "relay" else "OK"
        pairs = [one_of_each(folder, store, state, reply) for _ in range(TIMES)]
        ratio = statistics.median(ours / bare for ours, bare in pairs)
        ours, bare = (statistics.median(taken) * 1000 for taken in zip(*pairs, strict=True))
        shown = f"{ours:.0f} against {bare:.1f} ms"
        rows.append(at_most(ratio, 5.5, f"quandary reply with {words}, a process ({shown})"))
    return rows


def a_long_run(folder: Path) -> list[Row]:
    """The same for a run of many more answers, against the one of a hundred: in its middle, and at
    its end, where what came of every item is written. How much of that nobody can do without, a
    bare program says. In processor time: what is compared is a tenth of what a busy machine adds.
    """
    first, last = ({n: waiting(folder, n, left) for n in (ITEMS, LONG)} for left in (0.5, 0.0))
    few, many = replied(folder, first)
    what = f"quandary reply in the middle of {LONG:,} items ({many * 1000:.0f} ms)"
    middle = at_most(many / few, 1.5, f"{what}, against that of {ITEMS}")
    few, many = replied(folder, last)
    each = [[bare_reply(folder, *one) for one in last.values()] for _ in range(LONG_TIMES)]
    further = statistics.median(more - less for less, more in each)
    what = f"the last reply of all ({many * 1000:.0f} ms, {many / few:.2f} x that of {ITEMS})"
    shown = f"the last of {ITEMS} and what a bare program takes longer ({further * 1000:.0f} ms)"
    return [middle, at_most(many / (few + further), 1.5, f"{what}, against {shown}")]


def waiting(folder: Path, items: int, left: float) -> Waiting:
    """A run of so many items, of which a part is left."""
    place = folder / f"{items}-{left}"
    place.mkdir()
    return nearly_done(place, "text", items, int(items * left))


def replied(folder: Path, made: dict[int, Waiting]) -> list[float]:
    """Seconds that a reply to each takes."""
    taken = [
        [one_of_each(folder, *one, "OK", spent)[0] for one in made.values()]
        for _ in range(LONG_TIMES)
    ]
    return [statistics.median(times) for times in zip(*taken, strict=True)]


def bare_reply(folder: Path, store: Path, state: dict[str, Any]) -> float:
    """Seconds of a program that does no more than it must."""
    program = str(Path(__file__).with_name("bare_reply.py"))
    copy = copied(folder, store)
    return timed(lambda: run(sys.executable, program, str(copy), state["run"]), spent)


def spent() -> float:
    """Seconds of processor time that all processes which were started have had."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def nearly_done(folder: Path, via: str, count: int = ITEMS, left: int = 0) -> Waiting:
    """A store with one run in it, which waits for its last reply, or has some left behind it."""
    store, items, answers = (folder / f"{via}{ending}" for ending in (".db", ".items", ".answers"))
    listed = [
        {"id": str(n), "label": f"Step {n}", "title": f"Step number {n}", "context": CONTEXT}
        for n in range(1, count + 1)
    ]
    items.write_text(json.dumps(listed), encoding="utf-8")
    at_once = 4 if via == "relay" else 1
    approval = {"answers": [{"picked": ["OK"]}] * at_once}
    answers.write_text(json.dumps([approval] * (count // at_once - 1 - left)), encoding="utf-8")
    state = quandary(
        store, *asking("plan-review"), "--via", via, "--items", items, "--answers", answers
    )
    assert state["ask"]["keys"][-1] == f"{count - left}:"
    return store, state


def one_of_each(
    folder: Path,
    store: Path,
    state: dict[str, Any],
    reply: str,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """Seconds for the reply, on a copy of the store, and for the empty program."""
    words = [*state["ask"]["reply_with"][1:], "--store", str(copied(folder, store))]
    bare = timed(lambda: run(sys.executable, "-c", "pass"), clock)
    ours = timed(lambda: run(PROGRAM, *words, stdin=reply), clock)
    return ours, bare


def copied(folder: Path, store: Path) -> Path:
    """A store to write to."""
    copy = Path(tempfile.mkdtemp(dir=folder), "copy.db")
    with closing(sqlite3.connect(store)) as kept, closing(sqlite3.connect(copy)) as other:
        kept.backup(other)
    return copy


def a_hook(folder: Path) -> list[Row]:
    """Each hook of a host, as a process, around what it is called for most often."""
    (folder / "quandary").mkdir()
    rules = '[permissions]\nroute = "inbox"\ntools = ["Bash"]\n'
    rules += '[permissions.rules]\nlooks = "allow Bash command=ls"\n'
    (folder / "quandary" / "config.toml").write_text(rules, encoding="utf-8")
    asked = {
        "question": "The new module has no log level yet. Which level should it use?",
        "header": "Level",
        "options": [{"label": "Info", "description": "a"}, {"label": "Debug", "description": "b"}],
    }
    told = {"session_id": "s1", "tool_use_id": "t1", "cwd": str(folder)}
    question = {**told, "tool_name": "AskUserQuestion", "tool_input": {"questions": [asked]}}
    command = {**told, "tool_name": "Bash", "tool_input": {"command": "ls src"}}
    read = {**told, "tool_name": "Read", "tool_input": {"file_path": "a.py"}}
    ways = (
        ("pre", 5.5, "a question", question),
        ("post", 5.5, "a command that was run", {**command, "tool_response": {}}),
        ("permission", 5.5, "a tool that the host is to ask about", read),
        ("permission", 7, "a command that a rule allows, judged and recorded", command),
        ("session", 5.5, "a project where a hundred things were decided", told),
    )
    store, _ = nearly_done(folder / "quandary", "relay")
    rows = []
    for event, most, what, said in ways:
        words = (PROGRAM, "hook", event)
        env = {"QUANDARY_STORE": str(store), "XDG_CONFIG_HOME": str(folder)}
        pairs = []
        for _ in range(TIMES):
            bare = timed(lambda: run(sys.executable, "-c", "pass"))
            ours = timed(partial(run, *words, stdin=json.dumps(said), **env))
            pairs.append((ours, bare))
        ratio = statistics.median(ours / bare for ours, bare in pairs)
        ours, bare = (statistics.median(taken) * 1000 for taken in zip(*pairs, strict=True))
        shown = f"{ours:.0f} against {bare:.1f} ms"
        rows.append(at_most(ratio, most, f"quandary hook {event} for {what}, a process ({shown})"))
    return rows


def a_move(folder: Path) -> list[Row]:
    """`quandary phase go`, as a process, each time to the next of many phases, with proof."""
    track, store, phases = folder / "track", folder / "moves.db", folder / "phases.json"
    declared = [{"label": str(n), "proof": ["tests"]} for n in range(TIMES + 2)]
    phases.write_text(json.dumps(declared), encoding="utf-8")
    run(PROGRAM, "phase", "start", str(track), "--phases", str(phases))
    pairs = []
    for number in range(TIMES + 1):
        words = ["phase", "go", str(track), str(number), "--store", str(store)]
        bare = timed(lambda: run(sys.executable, "-c", "pass"))
        ours = timed(partial(run, PROGRAM, *words, stdin='{"tests": "42 passed"}'))
        pairs.append((ours, bare))
    ratio = statistics.median(ours / bare for ours, bare in pairs[1:])
    ours, bare = (statistics.median(taken) * 1000 for taken in zip(*pairs[1:], strict=True))
    shown = f"{ours:.0f} against {bare:.1f} ms"
    return [at_most(ratio, 8, f"quandary phase go with proof, a process ({shown})")]


# -- bytes -------------------------------------------------------------------------------------


def a_decision(folder: Path) -> list[Row]:
    """All that an agent reads for one decision, against the prompt that it replaces."""
    taught = sum(len(line.encode()) for line in instruction())
    item = "2|Cache|Cache the search results|Searching takes 900 ms; most searches are repeated."
    words = ["--via", "relay", "--item", item]
    store = folder / "decision.db"
    asked = run(PROGRAM, *asking("plan-review"), *words, "--store", str(store))
    state = json.loads(asked)
    done = run(
        PROGRAM, *state["ask"]["reply_with"][1:], "--store", str(store), stdin=response(state)
    )
    assert json.loads(done)["status"] == "done"
    read = taught + len(asked) + len(done)
    shown = f"{taught} + {len(asked)} + {len(done)} bytes"
    what = f"instruction, question and result that an agent reads ({shown}) against {PROMPT:,}"
    share = read / PROMPT
    return [Row(what, f"{share:.1%}", "<= 15 %", share <= 0.15)]


def instruction() -> list[str]:
    """The ten lines that tell an agent what to do."""
    text = INSTRUCTION.read_text(encoding="utf-8")
    lines = re.findall(r"(?m)^\d+\. .*\n", text)
    assert len(lines) == 10, "docs/agents.md has another instruction than one of ten lines"
    return lines


# -- the program -------------------------------------------------------------------------------


def asking(tree: str) -> list[str]:
    """The words that put a tree before somebody."""
    return ["ask", str(TREES / f"{tree}.md"), "--context", CONTEXT]


def response(state: dict[str, Any]) -> str:
    """What a host's question tool gives back when the first option is chosen everywhere."""
    questions = state["ask"]["tool_input"]["questions"]
    answers = {form["question"]: form["options"][0]["label"] for form in questions}
    return json.dumps({"questions": questions, "answers": answers})


def quandary(store: Path, *words: str | Path) -> dict[str, Any]:
    """The state that the program prints."""
    state: dict[str, Any] = json.loads(run(PROGRAM, *map(str, words), "--store", str(store)))
    return state


def run(*command: str, stdin: str = "", **more: str) -> bytes:
    """What a program that must succeed prints."""
    env = {**os.environ, "TERM": "dumb", **more}
    ended = subprocess.run(command, input=stdin.encode(), check=True, capture_output=True, env=env)
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
