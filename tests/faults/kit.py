"""What the tests of faults have in common: a project with a past, and the program in trouble."""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from phases import PHASES
from program import Ended
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from runs import CONTEXT, ITEMS, TREE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import State

NOBODY = 65534
MEMORY = next((m for m in ("/dev/shm",) if os.access(m, os.W_OK)), None)  # noqa: S108 - a test's
"""A folder that is quick to fill and to empty, where there is one."""
UNTIDY = TREE.replace("- [NO]", "*   [NO]").replace("STEP", "OTHER")
ECHO = '{"completed": true, "fully_completed": true, "answer": "yes"}'
SETTINGS = f"""\
default_cli = "ECHO"
[agents.ECHO]
argv = ["/bin/echo", {json.dumps(ECHO)}]
prompt = "stdin"
"""
CHART = 'flowchart TD\n  s([Start]) --> a["Write the page"] --> e([End])\n'
ASKED = {
    "question": "Ship it now, or wait a day?",
    "options": [{"label": "Now"}, {"label": "Wait"}],
}
HOOKED = {
    "session_id": "s1",
    "tool_use_id": "t1",
    "tool_name": "AskUserQuestion",
    "tool_input": {"questions": [ASKED]},
    "tool_response": {"answers": {"Ship it now, or wait a day?": "Now"}},
}
STAYS = "from quandary.doors.hosts import host_files; host_files.temporary_folders = list"
"""A program in a temporary folder could not be installed."""
OPTIONS = [{"key": "E1", "title": "One"}, {"key": "E2", "title": "Two"}]


class Nursery:
    """The program, started quickly and in whatever circumstances."""

    def __init__(self) -> None:
        folder = Path(__file__).parent
        self._process = subprocess.Popen(
            [sys.executable, str(folder / "nursery.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(folder.parent)},
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def start(
        self,
        words: tuple[str, ...],
        *,
        folder: Path,
        env: dict[str, str],
        stdin: str = "/dev/null",
        stdout: str = "",
        stderr: str = "",
        largest: int | None = None,
        user: int | None = None,
        before: str = "",
        seconds: float = 30,
    ) -> Ended:
        """Start it; each stream is a path, `closed` or `broken`, and by default is given back."""
        with tempfile.TemporaryDirectory(prefix="quandary-", dir=MEMORY) as said:
            out, err = Path(said, "out"), Path(said, "err")
            told = {
                "words": words,
                "cwd": str(folder),
                "env": env,
                "streams": [stdin, stdout or str(out), stderr or str(err)],
                "largest": largest,
                "user": user,
                "before": before,
                "seconds": seconds,
            }
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(told) + "\n")
            self._process.stdin.flush()
            status = int(self._line())
            return Ended(status, _read(out), _read(err))

    def close(self) -> None:
        """Have it end."""
        self._process.communicate(timeout=30)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


class Trouble:
    """A project with a tree, a chart, a track and a journal, and the program at work in it."""

    def __init__(self, folder: Path, nursery: Nursery) -> None:
        self.folder = folder
        self.store = folder / "store" / "journal.db"
        self.nursery = nursery
        shutil.copytree(past(), folder, dirs_exist_ok=True)
        folder.chmod(0o755)
        self.names: dict[str, str] = json.loads((folder / "names.json").read_text(encoding="utf-8"))

    @property
    def env(self) -> dict[str, str]:
        """The variables that the program sees."""
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "XDG_CONFIG_HOME": str(self.folder / "home" / "config"),
            "XDG_DATA_HOME": str(self.folder / "home" / "data"),
            "XDG_STATE_HOME": str(self.folder / "home" / "state"),
            "QUANDARY_STORE": str(self.store),
            "TMPDIR": str(self.folder / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
        }

    def start(self, *words: str, **how: Any) -> Ended:  # noqa: ANN401 - of Nursery.start
        """Start the program; `{waiting}`, `{done}` and `{walked}` are runs."""
        named = tuple(_filled(word, self.names) for word in words)
        text = how.pop("text", None)
        if text is not None:
            (self.folder / "piped").write_text(_filled(text, self.names), encoding="utf-8")
            how["stdin"] = str(self.folder / "piped")
        env = {**self.env, **how.pop("env", {})}
        how["before"] = f"{STAYS}\n{how.get('before', '')}"
        folder = how.pop("folder", self.folder)
        return self.nursery.start(named, folder=folder, env=env, **how)

    def state(self, *words: str, **how: Any) -> dict[str, Any]:  # noqa: ANN401 - the same
        """Start it, see it end well, and load what it printed."""
        ended = self.start(*words, **how)
        assert ended.status == 0, ended
        loaded: dict[str, Any] = json.loads(ended.out)
        return loaded

    def whole(self) -> None:
        """The journal is what was written, and the run that waits can be answered."""
        ended = self.start("verify")
        assert ended.status == 0, ended
        store = SqliteStore(self.store)
        assert verify(store).ok
        store.close()

    def waits(self) -> State:
        """Where the run stands that waits."""
        store = SqliteStore(self.store)
        state = runs.look(store, self.names["waiting"])
        store.close()
        return state


def _filled(word: str, names: dict[str, str]) -> str:
    for name, run in names.items():
        word = word.replace(f"{{{name}}}", run)
    return word


@cache
def past() -> Path:
    """A folder in which a few things have happened; it is copied, and stays as it is."""
    folder = Path(tempfile.mkdtemp(prefix="quandary-past-"))
    atexit.register(shutil.rmtree, folder)
    for name in (
        "store",
        ".quandary",
        "home/config/quandary",
        "home/data",
        "track",
        "other",
        "bin",
        "tmp",
    ):
        (folder / name).mkdir(parents=True)
    files = {
        "t.md": TREE,
        "untidy.md": UNTIDY,
        "c.mmd": CHART,
        "quandary.toml": SETTINGS,
        "options.json": json.dumps(OPTIONS),
        "phases.json": json.dumps(PHASES),
        "hooked.json": json.dumps(HOOKED),
        "cases.jsonl": '{"id": 1, "question": "?", "options": [{"code": "A"}], "reply": "a"}\n',
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    program = folder / "bin" / "quandary"  # something to install
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    _live(folder)
    return folder


def _live(folder: Path) -> None:
    """Have things happen: questions answered and not, a chart walked, a phase begun."""
    from quandary.cli import run  # noqa: PLC0415 - in this process, once

    here = os.getcwd()
    told = Path(folder, "said")
    changes = {
        "QUANDARY_STORE": str(folder / "store" / "journal.db"),
        "XDG_CONFIG_HOME": str(folder / "home" / "config"),
        "XDG_DATA_HOME": str(folder / "home" / "data"),
        "XDG_STATE_HOME": str(folder / "home" / "state"),
    }

    def call(*words: str) -> dict[str, Any]:
        with (
            told.open("w", encoding="utf-8") as out,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            assert run(words) == 0
        said = told.read_text(encoding="utf-8")
        return json.loads(said) if said.startswith("{") else {}

    with pytest.MonkeyPatch.context() as patch:
        for name, value in changes.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        asking = ("ask", "t.md", "--context", CONTEXT, *ITEMS, "--via", "relay")
        done = call(*asking)["run"]
        call("reply", done, "1.1: ok, but rename it\n1.2: cut")
        waiting = call(*asking)["run"]
        walked = call("walk", "c.mmd", "--via", "relay")["run"]
        call("phase", "start", "track", "--phases", "phases.json")
        call("phase", "go", "track", "1: Plan")
        call("export", done, "--output", "run.json")
    assert os.getcwd() == here
    told.unlink()
    with contextlib.closing(sqlite3.connect(changes["QUANDARY_STORE"])) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for beside in (folder / "store").glob("journal.db-*"):
        beside.unlink()
    names = {"waiting": waiting, "done": done, "walked": walked}
    (folder / "names.json").write_text(json.dumps(names), encoding="utf-8")


@contextlib.contextmanager
def mounted(folder: Path, kilobytes: int = 0, *, read_only: bool = False) -> Iterator[None]:
    """A small disk of its own in a folder, or the folder itself as a disk that cannot be written.

    What the folder holds is on the disk as well.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    words = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=777", "tmpfs", str(folder)]
    if read_only:
        words = ["mount", "--bind", str(folder), str(folder)]
    before = Path(tempfile.mkdtemp(prefix="quandary-"))
    if not read_only:
        shutil.copytree(folder, before, dirs_exist_ok=True)
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"this system mounts nothing ({made.stderr.strip()})")
    try:
        if read_only:
            again = ["mount", "-o", "remount,ro,bind", str(folder)]
            subprocess.run(again, capture_output=True, check=True)
        else:
            shutil.copytree(before, folder, dirs_exist_ok=True)
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=True)
        shutil.rmtree(before)


def complaint(ended: Ended) -> str:
    """The one line that a command has to say about what went wrong."""
    assert "Traceback" not in ended.err, ended.err
    assert "internal error" not in ended.err, ended.err
    lines = [line for line in ended.err.splitlines() if line.startswith("quandary: ")]
    assert len(lines) == 1, ended
    return lines[0].removeprefix("quandary: ")
