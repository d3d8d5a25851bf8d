"""One option of a split after another: Include, Defer, Cut, or Hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from quandary.flows.split_wording import CODES
from quandary.model.ask import Choice, Item, Note

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from quandary.flows import Request, Response
    from quandary.flows.split_board import Board
    from quandary.model.candidates import Bucket

BUCKETS: dict[str, Bucket] = {code: bucket for bucket, code in CODES.items()}
"""What each code decides; Hold decides nothing."""
NO_REASON = "no reason was given"


def chain(board: Board, keys: Sequence[str]) -> Generator[Request, Response, None]:
    """A question for each. Behind a Hold nothing is asked until the person goes on; whatever they
    go on with, those that are still open come afterwards.
    """
    waiting = sorted(keys, key=board.place.__getitem__)
    key = waiting[0]
    while waiting:
        named = yield from decide(board, key, str(board.place[key]))
        if named:
            key = named
            continue
        waiting = [other for other in waiting if other != key]
        behind = [other for other in waiting if board.place[other] > board.place[key]]
        key = (behind or waiting or [key])[0]


def decide(board: Board, key: str, part: str) -> Generator[Request, Response, str]:
    """Ask about an option. After a Hold this is the key to go on with; else nothing.

    Text that names no bucket is a Hold, with the text as its reason.
    """
    chosen = yield from board.chooser.inquire(board.inquiry_on(key, part))
    if chosen.code in BUCKETS:
        board.put([key], BUCKETS[chosen.code])
        return ""
    if chosen.words:
        board.chooser.remarks_on(key).comments.append(chosen.words)
    return (yield from _hold(board, key, chosen.words or chosen.comment))


def _hold(board: Board, key: str, reason: str) -> Generator[Request, Response, str]:
    """Wait until the person continues with the held option, says its bucket, or names another."""
    words = board.words
    reason = " ".join(reason.split()) or NO_REASON
    waiting = [other for other in board.keys if other not in board.buckets and other != key]
    others = [other for other in board.keys if other not in (*waiting, key)]
    buckets = [c for c in words.buckets(key) if c.code in BUCKETS and c.code not in board.place]
    go_on = Choice(board.free("CON"), "Continue", f"Ask about {key} again")
    inquiry = board.inquiry(
        f"hold-{board.place[key]}",
        "hold",
        f"Held: {key}",
        f"{words.name(key)} is held: {reason.rstrip('.')}. Nothing else is asked until you go on.",
        "Continue with it, or with which one?",
        (go_on, *map(words.brief, waiting)),
        named=(*buckets, *map(words.brief, others)),
        always=(Note("held", reason, key),),
    )
    named = yield from board.name(replace(inquiry, item=Item(key)))
    if named in BUCKETS and named not in board.place:
        board.put([key], BUCKETS[named])
        return ""
    return key if named == go_on.code else named
