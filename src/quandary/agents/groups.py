"""Groups of processes: whether one still lives, and how it is told to end."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal

_DEAD = (b"Z", b"X")


def signal_group(group: int, signum: signal.Signals) -> None:
    """Send a signal to all of a group; nothing happens if there is nobody."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signum)


def group_lives(group: int) -> bool:
    """Whether anyone of a group still runs; those who only wait to be counted do not."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True
    return any(_runs_in(number, group) for number in numbers) if numbers else True


def _runs_in(number: str, group: int) -> bool:
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            # The name of the program stands in brackets before this and may hold anything.
            state, _, belongs, *_ = file.read().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return False
    return int(belongs) == group and state not in _DEAD


def reap_group(group: int) -> None:
    """Count the dead of a group that have become our own children, if we adopt orphans."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
