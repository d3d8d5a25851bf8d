"""Decisions between AI agents and the people they work for: declared, asked, answered, kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from quandary import people as people
    from quandary import testing as testing
    from quandary.client import Client as Client
    from quandary.client import Verdict as Verdict
    from quandary.client import Verdicts as Verdicts
    from quandary.client import aask as aask
    from quandary.client import achoose as achoose
    from quandary.client import aconfirm as aconfirm
    from quandary.client import aform as aform
    from quandary.client import apermit as apermit
    from quandary.client import ask as ask
    from quandary.client import choose as choose
    from quandary.client import confirm as confirm
    from quandary.client import form as form
    from quandary.client import permit as permit
    from quandary.errors import AlreadyAnswered as AlreadyAnswered
    from quandary.errors import ContextRequired as ContextRequired
    from quandary.errors import Declined as Declined
    from quandary.errors import Diverged as Diverged
    from quandary.errors import Expired as Expired
    from quandary.errors import Failed as Failed
    from quandary.errors import NotFound as NotFound
    from quandary.errors import OwnWords as OwnWords
    from quandary.errors import ParseError as ParseError
    from quandary.errors import QuandaryError as QuandaryError
    from quandary.errors import Rejected as Rejected
    from quandary.errors import Reused as Reused
    from quandary.errors import TimedOut as TimedOut
    from quandary.errors import Unanswered as Unanswered
    from quandary.errors import Withdrawn as Withdrawn
    from quandary.flows.decide import decide as decide
    from quandary.flows.gate import gate as gate
    from quandary.flows.split import split as split
    from quandary.flows.walk import walk as walk
    from quandary.formats.sources import load as load
    from quandary.model.asks import Answer as Answer
    from quandary.model.asks import Ask as Ask
    from quandary.model.asks import Candidate as Candidate
    from quandary.model.asks import Item as Item
    from quandary.model.asks import Limits as Limits
    from quandary.model.asks import Outcome as Outcome
    from quandary.model.asks import Question as Question
    from quandary.model.asks import Reading as Reading
    from quandary.model.asks import Reply as Reply
    from quandary.model.calls import Call as Call
    from quandary.model.calls import Output as Output
    from quandary.model.chart import Chart as Chart
    from quandary.model.requests import PermitRequest as PermitRequest
    from quandary.model.track import Phase as Phase
    from quandary.model.track import Track as Track
    from quandary.model.tree import Decision as Decision
    from quandary.model.tree import Extra as Extra
    from quandary.model.tree import Option as Option
    from quandary.model.tree import Tree as Tree
    from quandary.reading import read as read
    from quandary.testing import run as run

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
    "model.asks": "Answer Ask Candidate Item Limits Outcome Question Reading Reply",
    "model.calls": "Call Output",
    "model.chart": "Chart",
    "model.requests": "PermitRequest",
    "model.track": "Phase Track",
    "model.tree": "Decision Extra Option Tree",
    "reading": "read",
    "testing": "run",
}
"""The modules that public names live in; type checkers read the same from the imports above."""
__all__ = list(" ".join(("__version__ people testing", *_HOMES.values())).split())


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
