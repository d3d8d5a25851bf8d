"""Moves along a track as the journal has them: who decided on each, and through what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from quandary.errors import NotFound
from quandary.journal.entries import Began, Called, Source
from quandary.journal.ids import LENGTH, find_run
from quandary.model.track import Move, split

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import Run, Store

FLOWS = ("phase", "gate")
_RUN = re.compile(rf"\b[0-9A-Za-z]{{{LENGTH}}}\b")
_moves: msgspec.json.Decoder[Move] = msgspec.json.Decoder(Move)


class Ordered(NamedTuple):
    """A move that a run ordered, and whose word it was."""

    move: Move
    source: Source
    at: str


def read(argument: str) -> Move:
    """The move that a deed is about."""
    return _moves.decode(argument)


def ordered(store: Store, run: str) -> list[Ordered]:
    """Every move that a run ordered, whether or not it came about."""
    found = []
    for entry in store.entries(run, kinds=("called",)):
        body, sent = entry.read(), entry.read_matter().sent
        if isinstance(body, Called) and body.deed == "move-phase" and sent is not None:
            source = Source(body.who, body.through, body.by)
            found.append(Ordered(read(getattr(sent, "argument", "")), source, body.at))
    return found


def choice_of(store: Store, run: str, move: Move) -> Ordered | None:
    """Where a run first ordered just this move: that was the choice; later comes only its proof."""
    return next((found for found in ordered(store, run) if same(found.move, move)), None)


def same(one: Move, other: Move) -> bool:
    """Whether two moves lead from one stand of a track to the same phase."""
    ways = [
        (m.folder, m.source, (split(m.target) or ("",))[0], m.seen, m.finish) for m in (one, other)
    ]
    return ways[0] == ways[1]


def run_named_in(store: Store, text: str) -> str | None:
    """The run that a reason names: by its whole id, or by the beginning of it and nothing else."""
    found = _RUN.search(text)
    try:
        return find_run(store, found[0] if found else text)
    except NotFound:
        return None


def unfinished(store: Store, folder: str) -> Iterator[Run]:
    """The runs that were interrupted while they moved the track of a folder."""
    after = 0
    while rows := store.runs(waits="house", after=after, limit=100):
        after = rows[-1].number
        for row in rows:
            if row.flow in FLOWS and began(store, row.id)[1].get("folder") == folder:
                yield row


def began(store: Store, run: str) -> tuple[Source, dict[str, object]]:
    """Who began a run, and with what."""
    entries = store.entries(run, kinds=("began",))
    body = entries[0].read() if entries else None
    if not isinstance(body, Began):
        return Source("agent", "", ""), {}
    return Source(body.who, body.through, body.by), entries[0].read_matter().arguments or {}


def let_pass(store: Store, run: str, target: str) -> Source | None:
    """Who let the move to a phase pass that a run made; nothing where there is no such run."""
    row = store.run(run)
    if row is None or row.flow not in FLOWS:
        return None
    source, arguments = began(store, run)
    grant = arguments.get("approval")
    if row.flow == "phase" and not grant:
        return source if arguments.get("to") == target else None
    for found in ordered(store, str(grant or run)):
        if found.move.target == target:
            return found.source if found.move.menu else Source("policy", "track", "")
    return None
