"""The demo runs by itself and shows what it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest

from quandary.desk import authority

ROOT = Path(__file__).resolve().parent.parent
DEMO = [sys.executable, str(ROOT / "examples/demo.py")]
SHOWN = [
    '{"item":"Copy the old mail","path":"OK"}',
    "$ quandary log\n",
    "Keep it — “tell the office”",
    "$ quandary verify\n",
    "$ quandary phase start release --phases phases.json\n",
    "missing: changelog",
    "skips 3.A: Roll out by region",
    "only on a person's own word",
    "How it came here:\n",
    "`quandary serve`",
    "$ quandary runs --status waiting\n",
    "  waiting  ",
    "$ quandary walk fix.mmd",
    "fix: completed\n",
    "yes ━▶ Write the line for the changelog\n",
    ": all clean\n",
    "* [EVE] Deploy this evening...\n",
    "$ quandary check deploy.md\ndeploy.md:7:1: warning label-ellipsis: ",
    "deploy.md:12:5: error indent: ",
    "$ quandary check --fix deploy.md\n",
    "- [EVE] Deploy this evening\n",
    "$ quandary fmt --check deploy.md\n",
]


ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if not key.endswith("_COLOR")},
    "PYTHONUTF8": "1",
    "TERM": "xterm",
}


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run it from another folder, as `make -C` or an editor would."""
    return subprocess.run(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def shown_in_order(output: str) -> bool:
    """Whether the output has everything it should, one after the other."""
    at = 0
    for expected in SHOWN:
        at = output.find(expected, at)
        assert at >= 0, expected
        at += len(expected)
    return True


@pytest.mark.parametrize("command", [DEMO, ["sh", "-c", 'exec "$@" <&-', "sh", *DEMO]])
def test_demo_needs_nobody(command: list[str], tmp_path: Path) -> None:
    """With nobody at standard input, empty or closed, the demo goes through and ends well."""
    ended = run(command, tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert shown_in_order(ended.stdout)
    assert "\x1b" not in ended.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
def test_demo_waits_for_enter_on_a_terminal(tmp_path: Path) -> None:
    """On a terminal it asks, is coloured and pauses between acts, until nobody is there any more.

    Whoever leaves the question has not answered it, and the demo goes on.
    """
    import pty  # noqa: PLC0415 - not everywhere

    if authority.find_agent():
        pytest.skip("an agent runs the tests, and the demo asks nobody at its terminal")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        DEMO,
        cwd=tmp_path,
        env={**ENVIRONMENT, "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    watchdog = Timer(120, process.kill)
    watchdog.start()
    output, keys = b"", b"\x04\n\x04"  # leave the question, Enter, then the end of the input
    while chunk := _read(ours):
        output += chunk
        if keys and b"\n> " in output:
            os.write(ours, keys)
            keys = b""
    os.close(ours)
    status = process.wait()
    watchdog.cancel()
    assert status == 0
    assert b"The question waits" in output
    assert output.count("Enter goes on …".encode()) == 2
    assert b"\x1b[" in output


def test_demo_notices_a_broken_program(tmp_path: Path) -> None:
    """If a command does not end as it should, neither does the demo."""
    broken = tmp_path / "quandary"
    broken.mkdir()
    (broken / "__init__.py").touch()
    (broken / "__main__.py").write_text("raise SystemExit(3)")
    script = f"PYTHONPATH={tmp_path} exec {' '.join(DEMO)}"
    ended = run(["sh", "-c", script], tmp_path)
    assert ended.returncode == 1
    assert "demo: exit status 3, where 0 was expected" in ended.stderr


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other end has closed
        return b""
