"""A run that another store wrote, kept here: there is nothing to ask, only a record of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quandary.flows import Flow

VERSION = 1


def start(arguments: dict[str, Any]) -> Flow:
    """What was brought in; the file itself is one of the documents."""
    return _imported(arguments)


def _imported(arguments: dict[str, Any]) -> Flow:
    yield from ()
    return {name: arguments[name] for name in ("run", "entries", "digest")}
