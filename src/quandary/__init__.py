"""Decisions between AI agents and the people they work for: declared, asked, answered, kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from quandary import people, testing
    from quandary.client import (
        Client,
        Verdict,
        Verdicts,
        aask,
        achoose,
        aconfirm,
        aform,
        apermit,
        ask,
        choose,
        confirm,
        form,
        permit,
    )
    from quandary.errors import (
        AlreadyAnswered,
        ContextRequired,
        Declined,
        Diverged,
        Expired,
        Failed,
        NotFound,
        OwnWords,
        ParseError,
        QuandaryError,
        Rejected,
        Reused,
        TimedOut,
        Unanswered,
        Withdrawn,
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
    from quandary.model.requests import PermitRequest
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
    "Client",
    "ContextRequired",
    "Decision",
    "Declined",
    "Diverged",
    "Expired",
    "Extra",
    "Failed",
    "Item",
    "Limits",
    "NotFound",
    "Option",
    "Outcome",
    "Output",
    "OwnWords",
    "ParseError",
    "PermitRequest",
    "Phase",
    "QuandaryError",
    "Question",
    "Reading",
    "Rejected",
    "Reply",
    "Reused",
    "TimedOut",
    "Track",
    "Tree",
    "Unanswered",
    "Verdict",
    "Verdicts",
    "Withdrawn",
    "__version__",
    "aask",
    "achoose",
    "aconfirm",
    "aform",
    "apermit",
    "ask",
    "choose",
    "confirm",
    "decide",
    "form",
    "gate",
    "load",
    "people",
    "permit",
    "read",
    "run",
    "split",
    "testing",
    "walk",
]

_HOMES = {
    "client": "Client Verdict Verdicts aask achoose aconfirm aform apermit ask choose confirm"
    " form permit",
    "errors": "AlreadyAnswered ContextRequired Declined Diverged Expired Failed NotFound OwnWords"
    " ParseError QuandaryError Rejected Reused TimedOut Unanswered Withdrawn",
    "flows.decide": "decide",
    "flows.gate": "gate",
    "flows.split": "split",
    "flows.walk": "walk",
    "formats.sources": "load",
    "model.asks": "Answer Ask Item Limits Outcome Question Reading Reply",
    "model.calls": "Call Output",
    "model.candidates": "Candidate",
    "model.chart": "Chart",
    "model.requests": "PermitRequest",
    "model.track": "Phase Track",
    "model.tree": "Decision Extra Option Tree",
    "reading": "read",
    "run": "run",
}
"""The modules that public names live in."""


def __getattr__(name: str) -> object:
    """Fetch a public name from its room when it is first used, so that importing stays light."""
    from importlib import import_module  # noqa: PLC0415 - only when something is fetched

    if name in ("people", "testing"):
        return import_module(f"quandary.{name}")
    for home, names in _HOMES.items():
        if name in names.split():
            value: object = getattr(import_module(f"quandary.{home}"), name)
            globals()[name] = value  # else `run` would be the module of that name from now on
            return value
    raise AttributeError(f"module 'quandary' has no attribute {name!r}")
