"""What is at the other end of standard output."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from quandary.model.text import printable


def coloured() -> bool:
    """Whether to colour: on a terminal, unless the person asked for none."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """How many columns there are; a pipe has no edge worth wrapping at."""
    if not sys.stdout.isatty():
        return 100
    import shutil  # noqa: PLC0415 - only on a terminal

    return min(max(shutil.get_terminal_size().columns, 40), 120)


def put(text: str | bytes) -> None:
    """Write to standard output as it is."""
    out = sys.stdout
    if isinstance(text, bytes):
        out.flush()
        out.buffer.write(text)
        out.buffer.flush()
    else:
        out.write(text)
        out.flush()


def tell(line: str) -> None:
    """A line for the person, on standard error; with that closed, the exit status has to do."""
    with suppress(OSError):
        print(printable(line), file=sys.stderr, flush=True)


def complain(line: str) -> None:
    """A line about something that went wrong while the rest goes on."""
    tell(f"quandary: {line}")
