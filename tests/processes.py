"""Processes of `journal/writer.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_TESTS = Path(__file__).parent


def spawn(*words: object, seed: str = "random") -> subprocess.Popen[str]:
    """A process with pipes to talk to it."""
    return subprocess.Popen(
        [sys.executable, str(_TESTS / "journal" / "writer.py"), *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(_TESTS), "PYTHONHASHSEED": seed},
    )


def told(*words: object, seed: str = "random") -> list[str]:
    """The lines of a process that ends by itself, and well."""
    with spawn(*words, seed=seed) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return output.splitlines()


def line(process: subprocess.Popen[str]) -> str:
    """The next line that it writes."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def say(process: subprocess.Popen[str], text: str) -> None:
    """A line for it to read."""
    assert process.stdin is not None
    process.stdin.write(f"{text}\n")
    process.stdin.flush()


def children() -> set[int]:
    """The processes that this one has, and those that ended and were never asked how."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has just gone
        if int(stat.rpartition(")")[2].split()[1]) == os.getpid():
            found.add(int(folder.name))
    return found
