"""Tracks to try things on, and the program at work in their folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.cli import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PHASES: list[dict[str, Any]] = [
    {"label": "1", "name": "Plan", "proof": ["scope", {"name": "risk", "enum": ["low", "high"]}]},
    {"label": "2", "name": "Build", "proof": [{"name": "report", "path-exists": True}]},
    {"label": "3.A", "name": "Slowly"},
    {"label": "3.B", "name": "At once"},
    {"label": "4", "name": "Watch", "proof": [{"name": "hours", "type": "integer"}]},
]
PLANNED = {"scope": "all of it", "risk": "low"}
EVERYTHING = {**PLANNED, "report": ".", "hours": 1}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        **{n: {"type": "string"} for n in ("executed", "phaseGated", "nextPhase", "proofProvided")},
        "userChoice": {"enum": ["back", "custom", "other", "proceed", "walkthrough"]},
    },
    "required": ["phaseGated", "userChoice", "executed"],
}
"""The form of a gate's result."""
FIVE = ("executed", "userChoice", "phaseGated", "nextPhase", "proofProvided")
_KILLER = """\
import os, signal, sys
from quandary.cli import run
from quandary.formats import tracks

real = tracks.save


def save(folder, text):
    if {after}:
        real(folder, text)
    os.kill(os.getpid(), signal.SIGKILL)


tracks.save = save
sys.exit(run(sys.argv[1:]))
"""


class Ended(NamedTuple):
    """How the program ended."""

    status: int
    out: str
    err: str

    @property
    def state(self) -> dict[str, Any]:
        """What it printed, as JSON."""
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded


class Tried:
    """A folder with a track in it and a store of its own, in which the program is called."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self.store = folder / "journal.db"
        self.file = folder / "rel" / ".state.json"
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        (folder / ".quandary").mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setenv("QUANDARY_STORE", str(self.store))
        self.declare(*PHASES)

    def declare(self, *phases: object) -> None:
        """Begin the track anew."""
        (self.folder / "phases.json").write_text(json.dumps(phases), encoding="utf-8")
        self.file.unlink(missing_ok=True)
        ended = self.run("phase", "start", "rel", "--phases", "phases.json")
        assert ended.status == 0, ended

    def run(self, *words: str, stdin: str | bytes | None = None) -> Ended:
        """Call the program with a file on its standard input, or with the null device."""
        source = os.devnull
        if stdin is not None:
            piped = self.folder / ".piped"
            piped.write_bytes(stdin.encode() if isinstance(stdin, str) else stdin)
            source = str(piped)
        with open(source, encoding="utf-8") as file:
            self._monkeypatch.setattr(sys, "stdin", file)
            status = run(words)
        return Ended(status, *self._capsys.readouterr())

    def process(self, *words: str, **how: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
        """Start the program as a process of its own."""
        how = {"stdin": subprocess.DEVNULL, **how}
        return subprocess.Popen(
            [sys.executable, "-m", "quandary", *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **how,
        )

    def killed(self, *words: str, after: bool, stdin: str = "") -> None:
        """Have the program killed just before or just after it writes the track."""
        done = subprocess.run(
            [sys.executable, "-c", _KILLER.format(after=after), *words],
            cwd=self.folder,
            input=stdin.encode(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == -9, done

    def go(self, target: str, proof: object = None, approved: str = "") -> Ended:
        """Move along the track."""
        words = ["--user-approved", approved] if approved else []
        stdin = None if proof is None else json.dumps(proof)
        return self.run("phase", "go", "rel", target, *words, stdin=stdin)

    def stand(self, *targets: str) -> None:
        """Be at a phase, come what may."""
        for target in targets:
            ended = self.go(target, EVERYTHING, "the test says so")
            assert ended.status == 0, ended

    @property
    def state(self) -> dict[str, Any]:
        """The track as it is kept."""
        loaded: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))
        return loaded

    @property
    def current(self) -> str | None:
        """The current phase."""
        found: str | None = self.state["currentPhase"]
        return found

    @property
    def status(self) -> dict[str, Any]:
        """What `quandary phase status` says."""
        ended = self.run("phase", "status", "rel", "--format", "json")
        assert (ended.status, ended.err) == (0, ""), ended
        return ended.state
