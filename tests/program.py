"""The program as people run it: called, in a process of its own, or at a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from quandary.cli import run
from quandary.cli.setup import named_by_project
from quandary.settings import read_settings, trust

PROGRAM = (sys.executable, "-m", "quandary")
BY_A_PERSON = (sys.executable, str(Path(__file__).with_name("person.py")))
SCRIPT = Path(sys.executable).with_name("quandary")

DEPLOY = """\
### ¶ASK_DEPLOY
Trigger: A build has passed every check

## Decision: Deploy
- [NOW] Deploy now
  Users get it within minutes
- [EVE] Deploy this evening
  Fewer people would notice
- [NO] Do not deploy
  The build stays where it is
- [OTH] Other
  - [PART] Deploy to one region
    Watch it there first
  - [LOOK] Look at the changes
    Decide afterwards
"""
"""A tree with nothing to complain about, in canonical form."""


class Ended(NamedTuple):
    """What came of a call."""

    status: int | None
    out: str
    err: str


def consent(folder: Path, config: Path | None = None) -> None:
    """Agree to what a project's settings name, as its user does with `quandary trust`."""
    with pytest.MonkeyPatch.context() as patch:
        if config is not None:
            patch.setenv("XDG_CONFIG_HOME", str(config))
        settings = read_settings(str(folder))
        said = named_by_project(settings)
        trust.give(settings, trust.consent_to(settings, said, "2027-03-02T09:15:00Z"))


def call(capsys: pytest.CaptureFixture[str], *words: str) -> Ended:
    """Call the program without starting a process."""
    status = run(words)
    return Ended(status, *capsys.readouterr())


def start(
    *words: str | bytes,
    stdin: str | bytes = b"",
    env: dict[str, str] | None = None,
    seconds: float = 60,
    kilobytes: int | None = None,
) -> Ended:
    """Start the program as a process, in at most this much time and memory."""
    command: list[str | bytes] = [*PROGRAM, *words]
    if kilobytes is not None:
        command = ["sh", "-c", f'ulimit -v {kilobytes}; exec "$@"', "sh", *command]
    ended = subprocess.run(
        command,
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        env=environment(env),
        timeout=seconds,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def shell(script: str, *words: str) -> Ended:
    """Run a line of shell in which `"$@"` is the program with these arguments."""
    ended = subprocess.run(
        ["sh", "-c", script, "sh", *PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        text=True,
        timeout=60,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def at_terminal(
    *words: str, typed: str = "", env: dict[str, str] | None = None, ahead: str = ""
) -> Ended:
    """Have a person start the program at a terminal, which shows both of its streams as one."""
    return type_at([*BY_A_PERSON, *words], typed, env, ahead)


def type_at(
    command: list[str], typed: str = "", env: dict[str, str] | None = None, ahead: str = ""
) -> Ended:
    """Start something at a terminal; type a line whenever one is asked for, `ahead` at once."""
    screen, line = pty.openpty()
    os.write(screen, ahead.encode())
    process = subprocess.Popen(command, stdin=line, stdout=line, stderr=line, env=environment(env))
    os.close(line)
    shown, lines = b"", typed.splitlines(keepends=True)
    while part := _read(screen):
        shown += part
        if lines and shown.endswith((b"> ", b": ")):
            os.write(screen, lines.pop(0).encode())
    os.close(screen)
    return Ended(process.wait(60), shown.decode().replace("\r\n", "\n"), "")


def _read(screen: int) -> bytes:
    try:
        return os.read(screen, 65536)
    except OSError:  # how Linux says that the other end was closed
        return b""


def environment(changes: dict[str, str] | None = None) -> dict[str, str]:
    """The variables of this process without those that colour, and with some changes."""
    unwanted = ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    kept = {key: value for key, value in os.environ.items() if key not in unwanted}
    return {**kept, "TERM": "xterm", **(changes or {})}
