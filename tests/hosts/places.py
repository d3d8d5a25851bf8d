"""A home and a project for every check, with nothing of this machine's user in them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from hosts.clients import NODE, ROOT
from program import DEPLOY
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quandary.journal.store import State

PATIENCE = 150.0
"""Seconds that a client has for one conversation before it is ended."""

SILENCE = {
    "DO_NOT_TRACK": "1",
    "NO_UPDATE_NOTIFIER": "1",
    # Claude Code
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    # Gemini CLI and Qwen Code
    "GEMINI_TELEMETRY_ENABLED": "false",
    "QWEN_TELEMETRY_ENABLED": "false",
    # opencode
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    # Copilot CLI
    "COPILOT_AUTO_UPDATE": "false",
    "COPILOT_OFFLINE": "true",
}
"""What clients are told so that they speak to nobody but us."""


class Ended(NamedTuple):
    """What came of a program."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Both streams."""
        return f"{self.out}\n{self.err}"


class Place:
    """A home, a project in it that has a tree, and a journal."""

    def __init__(self, **env: str) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="quandary-hosts-"))
        self.home = self.root / "home"
        self.project = self.root / "project"
        self.data = self.home / ".local" / "share" / "quandary"
        self.data.mkdir(parents=True)
        (self.project / ".git").mkdir(parents=True)
        (self.project / "deploy.md").write_text(DEPLOY, encoding="utf-8")
        path = [str(NODE.bin), str(ROOT / ".venv" / "bin"), os.environ.get("PATH", os.defpath)]
        self.env = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(path),
            "TERM": "xterm",
            "LANG": "C.UTF-8",
            **SILENCE,
            **env,
        }

    def __enter__(self) -> Self:
        """Be there."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind; what a client has just ended may still be writing."""
        for _n in range(20):
            shutil.rmtree(self.root, ignore_errors=True)
            if not self.root.exists():
                return
            time.sleep(0.25)

    # -- files ---------------------------------------------------------------------------------

    def write(self, path: str, text: str) -> None:
        """Put a file into the project, or with `~/` before its name into the home."""
        file = self.file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def file(self, path: str) -> Path:
        """Where a file of the project is, or of the home."""
        return self.home / path[2:] if path.startswith("~/") else self.project / path

    # -- programs ------------------------------------------------------------------------------

    def quandary(self, *words: str, status: int = 0) -> str:
        """Call our own program, which has to end like this."""
        ended = self.run(["quandary", *words])
        assert ended.status == status, f"quandary {words[0]}: {ended.said.strip()}"
        return ended.out

    def run(self, words: Sequence[str], *, seconds: float = PATIENCE, **env: str) -> Ended:
        """Run a program in the project to its end, or end it when it takes too long."""
        with self.started(words, stdin=subprocess.DEVNULL, **env) as process:
            try:
                out, err = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                end(process)
                out, err = process.communicate()
                last = (out + err).strip().splitlines()[-3:]
                raise TimeoutError(f"nothing after {seconds:g} seconds; last: {last}") from None
        return Ended(process.returncode, out, err)

    @contextmanager
    def started(
        self, words: Sequence[str], stdin: int = subprocess.PIPE, **env: str
    ) -> Iterator[subprocess.Popen[str]]:
        """A program at work in the project, with all that it starts ended in the end."""
        process = subprocess.Popen(
            words,
            cwd=self.project,
            env={**self.env, **env},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            end(process)

    @property
    def quandary_path(self) -> Path:
        """Our own program."""
        return ROOT / ".venv" / "bin" / "quandary"

    def doctor(self) -> list[dict[str, Any]]:
        """What our doctor finds about hosts."""
        import json  # noqa: PLC0415 - only here

        ended = self.run(["quandary", "doctor", "--format", "json"])
        found: list[dict[str, Any]] = json.loads(ended.out)["findings"]
        return [finding for finding in found if finding["area"] == "hosts"]

    # -- the journal ---------------------------------------------------------------------------

    @property
    def store(self) -> SqliteStore:
        """The journal, where programs in this home have it by themselves."""
        return SqliteStore(self.data / "journal.db")

    def runs(self) -> list[State]:
        """All runs in which something was asked."""
        store = self.store
        rows = [row for row in store.runs() if row.flow != "prefer"]
        return [runs.look(store, row.id) for row in rows]

    def only_run(self) -> State:
        """The one run that there should be."""
        found = self.runs()
        assert len(found) == 1, [(state.flow, state.status) for state in found]
        return found[0]

    def entries(self, run: str) -> list[tuple[str, str, str]]:
        """What happened to a run: what, by whom, and through what."""
        bodies = [(entry.kind, entry.read()) for entry in self.store.entries(run)]
        return [
            (kind, getattr(body, "who", ""), getattr(body, "through", "")) for kind, body in bodies
        ]

    def answers(self, run: str) -> list[tuple[str, str]]:
        """Whose word each answer of a run is booked as, and through what it came."""
        return [(who, through) for kind, who, through in self.entries(run) if kind == "answered"]


def end(process: subprocess.Popen[str]) -> None:
    """End a program that we started, with everything that it started itself."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
            return
