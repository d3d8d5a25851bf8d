"""What is piped into a command that can do without it."""

from __future__ import annotations

import os
import stat
import sys

from quandary.errors import Rejected

SILENCE = 1.0
"""Seconds that an open pipe may say nothing before it is taken to be nobody's."""
_AT_ONCE = 1 << 16


def piped(largest: int) -> str:
    """The text on standard input, if a file or a pipe is there; an open silent pipe is none.

    A terminal, the null device and a closed input are none either.
    """
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return ""
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    parts: list[bytes] = []
    size = 0
    while _speaks(descriptor):
        part = os.read(descriptor, _AT_ONCE)
        size += len(part)
        if size > largest:
            raise Rejected(f"more than {largest >> 20} MiB were piped in; name a file instead")
        if not part:
            break
        parts.append(part)
    try:
        return b"".join(parts).decode()
    except UnicodeDecodeError as error:
        raise Rejected(f"what was piped in is not UTF-8 text (byte {error.start})") from None


def _speaks(descriptor: int) -> bool:
    """Whether there is something to read, or the end, within the time."""
    if sys.platform == "win32":  # pragma: no cover - pipes cannot be selected there
        return True
    import select  # noqa: PLC0415 - not everywhere

    ready, _, _ = select.select([descriptor], [], [], SILENCE)
    return bool(ready)
