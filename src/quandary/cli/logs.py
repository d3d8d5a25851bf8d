"""What commands that run for long have in common: where to and how they log."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.logging_json import Form

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
    from quandary.logging_json import log_as  # noqa: PLC0415 - slow

    log_as(form, level or "")
