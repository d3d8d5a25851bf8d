"""Programs of agents that outlived whoever ran them.

A process that is killed on the spot cannot end the programs that it has started. So each of them is
noted in a file as long as it runs: its number, and when it began by the clock of the system, which
together no other program can have. Whoever goes on with a run next ends what is left of those whose
process is gone; nobody could hear any more what they say.

Where the system does not tell when a process began, nothing is noted and nothing is ended.
"""

from __future__ import annotations

import atexit
import os
import signal
import time
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from quandary.agents.groups import group_lives, signal_group
from quandary.journal.sqlite import MEMORY

if TYPE_CHECKING:
    from quandary.journal.store import Store

GRACE = 5.0
"""Seconds between asking what is left to end and making it."""
_WEEK = 7 * 24 * 3600.0
"""After so long, nobody needs a note about the processes of another system."""
_SESSION, _BEGAN = 3, 19
"""Which of the fields behind a program's name these are."""


class _Notes:
    """What this process has running, and the file that says so.

    Nobody reads it as long as the process is there, so that it can be written in place.
    """

    def __init__(self) -> None:
        self.folder = ""
        self.path = ""
        """The file, once there is one; it goes with the process, unless that is killed."""
        self.running: dict[int, str] = {}

    def move(self, folder: str) -> None:
        """Note in that folder from now on."""
        if folder != self.folder:
            self.close()
            self.folder = folder

    def write(self) -> None:
        lines = [_system(), *(f"{group} {moment}" for group, moment in self.running.items())]
        with suppress(OSError):  # then there is no note; the program runs all the same
            if not self.path:
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
                self.path = os.path.join(self.folder, f"{os.getpid()}-{began(os.getpid())}")
            with open(self.path, "wb", buffering=0) as file:
                file.write("\n".join(lines).encode())

    def close(self) -> None:
        """Take the note away."""
        if self.path:
            with suppress(OSError):
                os.unlink(self.path)
                os.rmdir(self.folder)
        self.path = ""


_notes = _Notes()
atexit.register(_notes.close)


class _Left(NamedTuple):
    """A group of processes, and when the one began that leads it."""

    group: int
    moment: str

    @property
    def is_there(self) -> bool:
        """Whether it is provably the same that was noted, at the head of a session of its own."""
        fields = _fields(self.group)
        return (
            len(fields) > _BEGAN
            and fields[_BEGAN] == self.moment
            and fields[_SESSION] == str(self.group)
        )


def folder_of(store: Store) -> str:
    """Where the programs are noted that work for runs of a store: beside it, if it is a file."""
    path = store.path
    if path == MEMORY:
        return ""
    if "://" not in path:
        return f"{os.path.realpath(path)}.agents"
    from quandary.settings import data_folder  # noqa: PLC0415 - only for shared stores

    return os.path.join(data_folder(), "agents")


def note_in(folder: str) -> None:
    """Note from now on what this process starts."""
    _notes.move(folder if _fields(os.getpid()) else "")


def started(group: int) -> None:
    """A program runs."""
    if _notes.folder:
        _notes.running[group] = began(group)
        _notes.write()


def ended(group: int) -> None:
    """It does not any more. A note of what has ended means nothing, and goes with the next one."""
    _notes.running.pop(group, None)


def end_leftovers(folder: str, grace: float = GRACE) -> int:
    """End the programs whose process is gone; how many there were."""
    left = list(_orphans(folder))
    for one in left:
        signal_group(one.group, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while any(group_lives(one.group) for one in left) and time.monotonic() < deadline:
        time.sleep(0.02)
    for one in left:
        if one.is_there:
            signal_group(one.group, signal.SIGKILL)
    return len(left)


def _orphans(folder: str) -> list[_Left]:
    """What still runs of the processes that are gone; their notes are taken away."""
    found: list[_Left] = []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        path = os.path.join(folder, name)
        number, _, moment = name.partition("-")
        with suppress(OSError, ValueError):
            if began(int(number)) == moment:
                continue  # it is at work
            with open(path, encoding="utf-8") as file:
                system, *lines = file.read().split("\n")
            if system == _system():
                parts = [line.split(" ") for line in lines]
                found += [_Left(int(group), at) for group, at in parts]
            elif time.time() - os.stat(path).st_mtime < _WEEK:
                continue  # of another machine, or from before this one was started
            os.unlink(path)
    return [one for one in found if one.is_there]


def began(number: int) -> str:
    """When a process began, in ticks since the system did; nothing where that cannot be told."""
    fields = _fields(number)
    return fields[_BEGAN] if len(fields) > _BEGAN else ""


def _fields(number: int) -> list[str]:
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            # The name of the program stands in brackets before this and may hold anything.
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


@cache
def _system() -> str:
    """What numbers of processes belong to: this start of this machine, and this part of it."""
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
        return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
