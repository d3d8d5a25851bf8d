"""The programs of `docs/adapters.md` with real packages and a scripted model: `make adapters`.

It needs no network: the model is on loopback. A person, who is a thread of this program, answers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hosts.models import DONE, Call, Model
from quandary.desk import authority
from quandary.desk import reply as desk
from quandary.desk.authority import Caller
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"
PERSON = Caller("person", "terminal", "ada")
MAIL = Call("send_mail", {"to": "list", "text": "2.1 is out"})
EDITOR = Call("ask_editor", {"question": "How long are the notes?"})
CHANGED = '{"to": "team", "text": "2.1 is out"}'
PATIENCE = 120.0


def pick(code: str) -> Callable[[str], Answer]:
    """Choose an option."""
    return lambda key: Answer(key, picked=(code,))


def say(words: str) -> Callable[[str], Answer]:
    """Write something instead."""
    return lambda key: Answer(key, text=words, raw=words)


class Trial(NamedTuple):
    """A program, what its model calls, what the person says, and what the tools then gave back."""

    title: str
    what: str
    calls: tuple[Call, ...]
    answers: tuple[Callable[[str], Answer], ...]
    results: tuple[str, ...]


ALLOW, CHANGE, SEND = pick("ONE"), pick("CHG"), pick("SEND")
SENT = "Sent to list: 2.1 is out"
NOTES = {"file_path": "notes.txt", "content": "2.1 is out\n"}
OTHER = '{"file_path": "2.txt", "content": "2.1"}'
ASKED = {
    "question": "How long are the notes to be?",
    "header": "Length",
    "multiSelect": False,
    "options": [
        {"label": "short", "description": "A line"},
        {"label": "long", "description": "A page"},
    ],
}
TRIALS = (
    Trial("LangGraph", "allow", (MAIL,), (ALLOW,), (SENT,)),
    Trial("LangGraph", "change", (MAIL,), (CHANGE, say(CHANGED)), ("Sent to team: 2.1 is out",)),
    Trial("LangGraph", "deny", (MAIL,), (say("Wait for Ben."),), ("Wait for Ben.",)),
    Trial("LangGraph", "answer", (EDITOR, MAIL), (pick("SHO"), ALLOW), ("short", SENT)),
    Trial("OpenAI Agents SDK", "allow", (MAIL,), (ALLOW,), (SENT,)),
    Trial("OpenAI Agents SDK", "deny", (MAIL,), (say("Wait for Ben."),), ("Wait for Ben.",)),
    Trial("Pydantic AI", "allow", (MAIL,), (ALLOW,), (SENT,)),
    Trial("Pydantic AI", "change", (MAIL,), (CHANGE, say(CHANGED)), ("Sent to team: 2.1 is out",)),
    Trial("Pydantic AI", "deny", (MAIL,), (say("Wait for Ben."),), ("Wait for Ben.",)),
    Trial("Pydantic AI", "answer", (EDITOR,), (say("A line or two"),), ("A line or two",)),
    Trial("Claude Agent SDK", "allow", (Call("Write", NOTES),), (ALLOW,), ("notes.txt",)),
    Trial("Claude Agent SDK", "change", (Call("Write", NOTES),), (CHANGE, say(OTHER)), ("2.txt",)),
    Trial("Claude Agent SDK", "deny", (Call("Write", NOTES),), (say("Not here."),), ("Not here.",)),
    Trial(
        "Claude Agent SDK",
        "answer",
        (Call("AskUserQuestion", {"questions": [ASKED]}),),
        (pick("SHO"),),
        ("short",),
    ),
)


def program(title: str) -> str:
    """The program below a heading of the page."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2]
    found = re.search(r"^```py\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def try_it(trial: Trial) -> str:
    """Run a program to its end; what went wrong, if anything did."""
    with tempfile.TemporaryDirectory() as name, Model(*trial.calls) as model:
        folder = Path(name)
        (folder / "program.py").write_text(program(trial.title), encoding="utf-8")
        store = SqliteStore(folder / "journal.db")
        process = _start(folder, model)
        said = _answer_all(store, process, list(trial.answers))
        out, err = process.communicate(timeout=PATIENCE)
        if trial.title.startswith("OpenAI") and not said:
            said = _try_again(folder, store, trial)
        chain = verify(store).ok
        store.close()
        if said or process.returncode or DONE not in out:
            return f"{said}\n{out}\n{err}"
        told = [result for result in model.results if result]
        fits = all(a in b for a, b in zip(trial.results, told, strict=True))
        return "" if fits and chain else f"the model was told {told}; the journal is sound: {chain}"


def _start(folder: Path, model: Model, *words: str) -> subprocess.Popen[str]:
    keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    own = {
        "HOME": str(folder),
        "QUANDARY_STORE": str(folder / "journal.db"),
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": model.url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
    }
    return subprocess.Popen(
        [sys.executable, "program.py", *words],
        cwd=folder,
        env={**keep, **own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _answer_all(store: Any, process: subprocess.Popen[str], answers: list[Any]) -> str:  # noqa: ANN401
    """Answer what comes to wait, one by one."""
    until = time.monotonic() + PATIENCE
    while answers and time.monotonic() < until and process.poll() is None:
        for row in store.runs(waits="person"):
            state = runs.look(store, row.id)
            if state.ask is not None and answers:
                answer = answers.pop(0)(state.key)
                desk.record_reply(store, PERSON, row.id, Reply((answer,)), to=state.key)
        time.sleep(0.05)
    if answers and process.poll() is None:
        process.kill()
    return f"{len(answers)} answers were not asked for" if answers else ""


def _try_again(folder: Path, store: Any, trial: Trial) -> str:  # noqa: ANN401
    """A second program goes on from the state beside the run; a used permit is not given twice."""
    [run] = [row.id for row in store.runs()]
    with Model(*trial.calls) as model:
        again = _start(folder, model, run)
        out, err = again.communicate(timeout=PATIENCE)
        told = [result for seen in model.seen for result in seen.results]
        wanted = "used already" if trial.what == "allow" else trial.results[0]
        if again.returncode or not any(wanted in result for result in told):
            return f"started again, the model was told {told}\n{out}\n{err}"
    return ""


def main() -> int:
    """Try every program in every way."""
    authority.find_agent = lambda: ""
    failed = 0
    for trial in TRIALS:
        if sys.argv[1:] and not any(word in trial.title for word in sys.argv[1:]):
            continue
        begun = time.monotonic()
        wrong = try_it(trial)
        failed += bool(wrong)
        print(
            f"{trial.title:18} {trial.what:7} {'FAILED' if wrong else 'ok'} "
            f"{time.monotonic() - begun:5.1f} s",
            flush=True,
        )
        if wrong:
            print(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
