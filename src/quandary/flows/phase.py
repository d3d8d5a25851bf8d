"""A move along a track that somebody made with a command of their own: the record of it.

There is nothing to ask. The one deed is the move itself, so that the journal has the intent before
the file changes and the outcome after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quandary.errors import Rejected
from quandary.model.call import Do, Done
from quandary.model.track import Move

if TYPE_CHECKING:
    from quandary.flows import Flow

VERSION = 1
KEY = "move"


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's `began` describes."""
    return _flow(arguments["folder"], arguments["from"], arguments["to"])


def _flow(folder: str, source: str, target: str) -> Flow:
    done = yield Do(KEY, "move-phase", Move(folder, source, target).argument)
    if not isinstance(done, Done):
        raise TypeError("a deed is answered with what was done")
    if done.error:
        raise Rejected(done.error)
    return {"from": source, "phase": target}
