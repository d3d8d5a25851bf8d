"""What is at the other ends of standard input and output."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from quandary.errors import Rejected
from quandary.model.text import printable

if TYPE_CHECKING:
    from quandary.journal.store import Watch


def coloured() -> bool:
    """Whether to colour: on a terminal, unless the person asked for none."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, **style: Any) -> str:  # noqa: ANN401 - as click has them
    """A text in colour, where there are colours."""
    if not coloured():
        return text
    import click  # noqa: PLC0415 - slow, and a reply does without

    return click.style(text, **style)


def draw_diff(path: str, before: str | None, after: str | None) -> str:
    """A change as `patch` takes it; no text means no file. On a terminal, nothing is hidden."""
    from difflib import unified_diff  # noqa: PLC0415 - rarely wanted
    from io import StringIO  # noqa: PLC0415 - the same

    texts = (before, after)
    left, right = (os.devnull if text is None else printable(path) for text in texts)
    # For `patch`, only line feeds end a line.
    old, new = (StringIO(text or "", newline="\n").readlines() for text in texts)
    lines = []
    for line in unified_diff(old, new, left, right):
        text = line.removesuffix("\n")
        end = "\n" if text != line else "\n\\ No newline at end of file\n"
        text = printable(text) if sys.stdout.isatty() else text
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[0])
        lines.append((paint(text, fg=colour) if colour else text) + end)
    return "".join(lines)


def width() -> int:
    """How many columns there are; a pipe has no edge worth wrapping at."""
    if not sys.stdout.isatty():
        return 100
    import shutil  # noqa: PLC0415 - only on a terminal

    return min(max(shutil.get_terminal_size().columns, 40), 120)


def put(text: str | bytes) -> None:
    """Write to standard output as it is."""
    if isinstance(text, bytes):
        sys.stdout.flush()
        sys.stdout.buffer.write(text)
    else:
        sys.stdout.write(text)
    sys.stdout.flush()


def tell(line: str) -> None:
    """A line for the person, on standard error; with that closed, the exit status has to do."""
    with suppress(OSError):
        print(printable(line), file=sys.stderr, flush=True)


def complain(line: str) -> None:
    """A line about something that went wrong while the rest goes on."""
    tell(f"quandary: {line}")


_BAR = 20
_PAUSE = 0.1
"""Seconds for which a person can read how far something is."""


@contextmanager
def show_progress() -> Iterator[Watch]:
    """Give what is told how far something is; on a terminal a line shows it, which is gone after.

    Where it is not known how much there is to do, there is no bar.
    """
    from shutil import get_terminal_size  # noqa: PLC0415 - only for what takes long
    from time import monotonic  # noqa: PLC0415 - the same

    shown = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    last = 0.0

    def watch(done: int, total: int, what: str) -> None:
        nonlocal last
        if not shown or (last and monotonic() - last < _PAUSE):
            return
        last = monotonic()
        part = min(done / total, 1) if total else 0
        bar = f"[{'#' * int(part * _BAR):.<{_BAR}}] {part:4.0%}  " if total else ""
        line = f"{bar}{done:,}{f' of {total:,}' if total else ''} {what}"
        sys.stderr.write(f"\r\x1b[K{line[: get_terminal_size().columns - 1]}")
        sys.stderr.flush()

    try:
        yield watch
    finally:
        if last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def is_terminal() -> bool:
    """Whether a person can be asked right here."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


SILENCE = 1.0
"""Seconds that an open pipe may say nothing before it is taken to be nobody's."""
_AT_ONCE = 1 << 16


def read_pipe(largest: int) -> str:
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
    data = bytearray()
    while _speaks(descriptor) and (part := os.read(descriptor, _AT_ONCE)):
        data += part
        if len(data) > largest:
            raise Rejected(f"more than {largest >> 20} MiB were piped in; name a file instead")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Rejected(f"what was piped in is not UTF-8 text (byte {error.start})") from None


def _speaks(descriptor: int) -> bool:
    """Whether there is something to read, or the end, within the time."""
    if sys.platform == "win32":  # pragma: no cover - pipes cannot be selected there
        return True
    import select  # noqa: PLC0415 - not everywhere

    ready, _, _ = select.select([descriptor], [], [], SILENCE)
    return bool(ready)
