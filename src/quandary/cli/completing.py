"""What a shell offers behind a half-typed word."""

from __future__ import annotations

import click

from quandary.formats.rules import RULES

PATH = click.Path(readable=False)
"""Any path: whether it can be read is said where it is read."""


def rules(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """The rules that begin like what was typed."""
    return [name for name in RULES if name.startswith(typed)]
