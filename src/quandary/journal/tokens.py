"""Replies that are sent twice, known by the token that their sender gave them.

A token is booked with its reply, and beside it a digest of what was sent, in the part of the entry
that can be pruned: so the same reply is known again in any process, and nobody can guess from a
pruned one what it said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from quandary.errors import Reused
from quandary.journal.entries import (
    Answered,
    AnyBody,
    Asked,
    Called,
    Ended,
    Returned,
    readable,
)
from quandary.journal.states import look_at

if TYPE_CHECKING:
    from quandary.journal.entries import Entry
    from quandary.journal.store import Run, State, Store


def replied(store: Store, run: str, token: str, request: str = "") -> State | None:
    """Where a run stood after the reply with this token; nothing where it was not booked.

    `request` is the digest of what is sent now. What is not what was sent the first time is
    refused, whatever the run waits for by now.
    """
    with readable(run):
        for entry in store.entries(run, kinds=("answered",)):
            body = entry.read()
            if isinstance(body, Answered) and body.token == token:
                before = entry.read_matter().request
                if before and request and before != request:
                    raise Reused(
                        "another reply was sent with that key before; send each with one of its own"
                    )
                return _state_after(store, run, entry.n)
    return None


def _state_after(store: Store, run: str, n: int) -> State | None:
    """The state as whoever sent the reply numbered `n` was told it."""
    row = store.run(run)
    if row is None:
        return None
    entries = store.entries(run, after=n - 1, upto=row.n)
    return look_at(store, _row_after(row, entries), after=n)


def _row_after(row: Run, entries: list[Entry]) -> Run:
    """The row as it was when all that the first of these entries led to had been done."""
    stood = replace(row, waits=None, key=None, asked=0, status="waiting")
    at = ""
    for number, entry in enumerate(entries):
        body = entry.read()
        if number and not _belongs(body, stood, at):
            break
        at = body.at
        stood = replace(_moved(stood, body, entry.n), n=entry.n)
    return stood


def _belongs(body: AnyBody, stood: Run, at: str) -> bool:
    """Whether an entry came with those before it.

    What was appended at once bears one date. Then come the deeds that the house did right away,
    and what these led to. Clocks can stand still, so what somebody else said is told by that.
    """
    if isinstance(body, Returned):
        return stood.waits == "house"
    return body.at == at and not (isinstance(body, Answered) and body.who != "policy")


def _moved(row: Run, body: AnyBody, n: int) -> Run:
    if isinstance(body, Asked):
        return replace(row, waits="person", key=body.key, asked=n, since=body.at)
    if isinstance(body, Called):
        if row.waits == "agent":  # of several calls, the first one stands for all
            return row
        waits = "agent" if body.agent else "house"
        return replace(row, waits=waits, key=body.key, asked=n, since=body.at)
    if isinstance(body, Ended):
        return replace(row, waits=None, key=None, asked=0, status=body.status, since=body.at)
    if isinstance(body, Answered | Returned):
        return replace(row, waits=None, key=None, asked=0)
    return row
