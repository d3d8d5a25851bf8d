"""Groups of processes: how they are ended, also when they outlived whoever ran them.

A process that is killed on the spot cannot end the programs that it has started. So it notes them
in a file, which it keeps locked as long as it lives: the number of each and when it began, which
together no other program has. Whoever drives a run next ends what is left of those whose process
is gone; nobody could hear any more what they say.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import psutil

from quandary.journal.sqlite import MEMORY

if TYPE_CHECKING:
    from quandary.journal.store import Store

GRACE = 5.0
"""Seconds between asking what is left to end and making it."""
_CLOSE = 2.0
"""Seconds by which two processes may differ on when a third began, where clocks were set."""


def signal_group(group: int, signum: signal.Signals) -> None:
    """Send a signal to all of a group; nothing happens if there is nobody."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signum)


def group_lives(group: int) -> bool:
    """Whether anyone of a group still runs; those who only wait to be counted do not."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return any(_runs_in(group, number) for number in psutil.pids())


def _runs_in(group: int, number: int) -> bool:
    try:
        return os.getpgid(number) == group and psutil.Process(number).status() not in _DEAD
    except (OSError, psutil.Error):
        return False


_DEAD = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def reap_group(group: int) -> None:
    """Count the dead of a group that have become our own children, if we adopt orphans."""
    with suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass


# -- notes ---------------------------------------------------------------------------------------


class _Notes:
    """What this process has running, and the file that says so, which it keeps locked."""

    def __init__(self) -> None:
        self.folder = ""
        self.path = ""
        self.file = -1
        self.running: dict[int, float] = {}

    def move(self, folder: str) -> None:
        """Note in that folder from now on."""
        if folder != self.folder:
            self.close()
            self.folder = folder

    def write(self) -> None:
        lines = [f"{group} {moment}\n" for group, moment in self.running.items()]
        with suppress(OSError):  # then there is no note; the program runs all the same
            if self.file < 0:
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
                self.path = os.path.join(self.folder, f"{os.getpid()}-{time.time_ns()}")
                self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                fcntl.flock(self.file, fcntl.LOCK_EX)
            os.ftruncate(self.file, 0)
            os.pwrite(self.file, "".join(lines).encode(), 0)

    def close(self) -> None:
        """Take the note away."""
        if self.file >= 0:
            with suppress(OSError):
                os.unlink(self.path)
                os.rmdir(self.folder)
            os.close(self.file)
        self.file = -1


_notes = _Notes()
atexit.register(_notes.close)


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
    _notes.move(folder)


def started(group: int) -> None:
    """A program runs."""
    if _notes.folder:
        _notes.running[group] = began(group) or 0.0
        _notes.write()


def ended(group: int) -> None:
    """It does not any more. A note of what has ended means nothing, and goes with the next one."""
    _notes.running.pop(group, None)


# -- ending what is left -------------------------------------------------------------------------


class _Left(NamedTuple):
    """A group of processes, and when the one began that leads it."""

    group: int
    moment: float

    @property
    def is_there(self) -> bool:
        """Whether it is the same that was noted, at the head of a session of its own."""
        found = began(self.group)
        if found is None or abs(found - self.moment) > _CLOSE:
            return False
        with suppress(OSError):
            return os.getsid(self.group) == self.group
        return False


def end_leftovers(folder: str, grace: float = GRACE) -> int:
    """End the programs whose process is gone; how many there were."""
    left = [one for one in _orphans(folder) if one.is_there]
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
    """What was noted by processes that are gone; their notes are taken away."""
    found: list[_Left] = []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        with suppress(OSError, ValueError), open(os.path.join(folder, name), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused as long as it is at work
            lines = [line.split() for line in file.read().decode().splitlines()]
            found += [_Left(int(group), float(moment)) for group, moment in lines]
            os.unlink(file.name)
    return found


def began(number: int) -> float | None:
    """When a process began; nothing where there is none."""
    try:
        return psutil.Process(number).create_time()
    except psutil.Error:
        return None
