"""What is at the other end of standard output."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import click

from quandary.errors import Rejected
from quandary.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.logging import Form


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


store_option = click.option(
    "--store", "where", metavar="PATH|URL", help="Where runs are kept (also QUANDARY_STORE)."
)


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


PATH = click.Path(readable=False)
"""Any path: whether it can be read is said where it is read."""


class OneSource(click.Command):
    """A command whose only argument is a SOURCE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-#NAME` is a SOURCE, though it looks like an option."""
        sources = [word for word in args if word.startswith("-#")]
        if sources and "--" not in args:
            args = [*(word for word in args if word not in sources), "--", *sources]
        return super().parse_args(ctx, args)


if TYPE_CHECKING:
    Command = TypeVar("Command", bound=Callable[..., object])


def log_options(command: Command) -> Command:
    """`--log-format` and `--log-level`."""
    form = click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="How to log: lines for people, or JSON for programs.",
    )
    level = click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        help="How much to log; by default warnings, and as JSON also what happens.",
    )
    return form(level(command))


def begin(form: Form, level: str | None) -> None:
    """Log like that from now on."""
    from quandary.logging import log_as  # noqa: PLC0415 - slow

    log_as(form, level or "")
