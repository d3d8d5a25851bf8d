"""The question that everybody is asked, and how it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from quandary.desk.begin import Asking, Showing, decide
from quandary.journal import runs
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from quandary.journal.store import State, Store

TREE = """\
### ¶ASK_RELEASE
## Decision: Release
- [OK] Release it
  Users get it today
- [LAT] Later
  It waits for the next round
- [NO] Leave it out
  Nobody gets it
- [OTH] Other
"""
CODES = ("OK", "LAT", "NO")
CONTEXT = "A change is ready. Its tests have passed, and nothing depends on it yet."


def wanted(title: str) -> dict[str, object]:
    """The same for the HTTP interface."""
    return {"context": CONTEXT, "text": TREE, "items": [{"id": "1", "title": title}]}


def begin(store: Store, title: str) -> State:
    """Ask about something."""
    begun = decide(msgspec.convert(wanted(title), Asking), Showing())
    return runs.begin(
        store,
        begun.flow,
        begun.arguments,
        documents=begun.documents,
        project="stress",
        who="agent",
        through="command",
    )


def answer(store: Store, run: str, key: str, code: str = "OK") -> State:
    """Answer it, as somebody at a page does."""
    reply = Reply((Answer(key, (code,)),))
    return runs.advance(store, run, reply, to=key, who="person", through="web", by="ada")
