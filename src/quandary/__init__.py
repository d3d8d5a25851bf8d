"""Decisions between AI agents and the people they work for: declared, asked, answered, kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from quandary import people, testing
    from quandary.errors import (
        AlreadyAnswered,
        ContextRequired,
        Diverged,
        Failed,
        NotFound,
        ParseError,
        QuandaryError,
        Rejected,
    )
    from quandary.flows.decide import decide
    from quandary.flows.gate import gate
    from quandary.flows.split import split
    from quandary.flows.walk import walk
    from quandary.formats.sources import load
    from quandary.model.asks import Answer, Ask, Item, Limits, Outcome, Question, Reading, Reply
    from quandary.model.calls import Call, Output
    from quandary.model.candidates import Candidate
    from quandary.model.chart import Chart
    from quandary.model.track import Phase, Track
    from quandary.model.tree import Decision, Extra, Option, Tree
    from quandary.reading import read
    from quandary.run import run

__all__ = [
    "AlreadyAnswered",
    "Answer",
    "Ask",
    "Call",
    "Candidate",
    "Chart",
    "ContextRequired",
    "Decision",
    "Diverged",
    "Extra",
    "Failed",
    "Item",
    "Limits",
    "NotFound",
    "Option",
    "Outcome",
    "Output",
    "ParseError",
    "Phase",
    "QuandaryError",
    "Question",
    "Reading",
    "Rejected",
    "Reply",
    "Track",
    "Tree",
    "__version__",
    "decide",
    "gate",
    "load",
    "people",
    "read",
    "run",
    "split",
    "testing",
    "walk",
]

_ROOMS = ("people", "testing")
_HOMES = {
    "AlreadyAnswered": "quandary.errors",
    "Answer": "quandary.model.asks",
    "Ask": "quandary.model.asks",
    "Call": "quandary.model.calls",
    "Candidate": "quandary.model.candidates",
    "Chart": "quandary.model.chart",
    "ContextRequired": "quandary.errors",
    "Decision": "quandary.model.tree",
    "Diverged": "quandary.errors",
    "Extra": "quandary.model.tree",
    "Failed": "quandary.errors",
    "Item": "quandary.model.asks",
    "Limits": "quandary.model.asks",
    "NotFound": "quandary.errors",
    "Option": "quandary.model.tree",
    "Outcome": "quandary.model.asks",
    "Output": "quandary.model.calls",
    "ParseError": "quandary.errors",
    "Phase": "quandary.model.track",
    "QuandaryError": "quandary.errors",
    "Question": "quandary.model.asks",
    "Reading": "quandary.model.asks",
    "Rejected": "quandary.errors",
    "Reply": "quandary.model.asks",
    "Track": "quandary.model.track",
    "Tree": "quandary.model.tree",
    "decide": "quandary.flows.decide",
    "gate": "quandary.flows.gate",
    "load": "quandary.formats.sources",
    "read": "quandary.reading",
    "run": "quandary.run",
    "split": "quandary.flows.split",
    "walk": "quandary.flows.walk",
}


def __getattr__(name: str) -> object:
    """Fetch a public name from its room when it is first used, so that importing stays light."""
    from importlib import import_module  # noqa: PLC0415 - only when something is fetched

    if name in _ROOMS:
        return import_module(f"quandary.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'quandary' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value  # else `run` would be the module of that name from now on
    return value
