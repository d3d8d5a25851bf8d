"""Decisions between AI agents and the people they work for: declared, asked, answered, kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from quandary.errors import NotFound, ParseError, QuandaryError
    from quandary.formats.sources import load
    from quandary.model.tree import Decision, Extra, Option, Tree

__all__ = [
    "Decision",
    "Extra",
    "NotFound",
    "Option",
    "ParseError",
    "QuandaryError",
    "Tree",
    "__version__",
    "load",
]

_HOMES = {
    "Decision": "quandary.model.tree",
    "Extra": "quandary.model.tree",
    "NotFound": "quandary.errors",
    "Option": "quandary.model.tree",
    "ParseError": "quandary.errors",
    "QuandaryError": "quandary.errors",
    "Tree": "quandary.model.tree",
    "load": "quandary.formats.sources",
}


def __getattr__(name: str) -> object:
    """Fetch a public name from its room when it is first used, so that importing stays light."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'quandary' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only when something is fetched

    return getattr(import_module(home), name)
