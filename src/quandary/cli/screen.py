"""What is at the other end of standard output."""

from __future__ import annotations

import os
import sys

import click


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
    click.echo(text, nl=False, color=True)


def tell(text: str) -> None:
    """A line for the person, on standard error."""
    click.echo(text, err=True)


def complain(text: str) -> None:
    """A line about something that went wrong while the rest goes on."""
    from quandary.formats.drawing import printable  # noqa: PLC0415 - only when something failed

    click.echo(f"quandary: {printable(text)}", err=True)
