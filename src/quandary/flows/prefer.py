"""A preference as a run of its own: nothing is asked, and who set it is kept like any answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quandary.flows import Flow

VERSION = 1


def start(arguments: dict[str, Any]) -> Flow:
    """What was preferred, in the words of whoever did."""
    return _prefer(arguments)


def _prefer(arguments: dict[str, Any]) -> Flow:
    yield from ()
    return {name: arguments[name] for name in ("id", "preference", "origin")}
