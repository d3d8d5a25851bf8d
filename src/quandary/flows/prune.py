"""Texts taken out of the journal: the intent before it is done, and how much it came to after it.

There is nothing to ask. The one deed is the pruning itself, so that one that was interrupted is
seen, and finished by whoever comes next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from quandary.model.call import Do, Done

if TYPE_CHECKING:
    from quandary.flows import Flow

VERSION = 1
KEY = "prune"


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's `began` describes."""
    wanted = {name: arguments[name] for name in ("before", "keep", "project")}
    return _prune(wanted)


def _prune(wanted: dict[str, Any]) -> Flow:
    done = yield Do(KEY, "prune", msgspec.json.encode(wanted).decode())
    if not isinstance(done, Done):
        raise TypeError("a deed is answered with what was done")
    return {**wanted, **msgspec.json.decode(done.text)}
