"""What a split has put together: made coherent, looked at as a whole, revised, cut down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.flows.split_single import BUCKETS, decide
from quandary.model.ask import Choice

if TYPE_CHECKING:
    from collections.abc import Generator

    from quandary.flows import Request, Response
    from quandary.flows.coherence import Breach
    from quandary.flows.split_board import Board

    Steps = Generator[Request, Response, None]


def mend(board: Board) -> Steps:
    """One question for each breach, until the set is coherent or accepted as it is."""
    while True:
        breaches = board.links.breaches(board.buckets)
        board.accepted = [breach for breach in breaches if breach in board.accepted]
        breach = next((b for b in breaches if b not in board.accepted), None)
        if breach is None:
            return
        board.conflicts += 1
        chosen = yield from board.chooser.inquire(
            board.inquiry(
                f"conflict-{board.conflicts}",
                "conflict",
                "Conflict",
                board.words.breach(breach),
                "What is to give way?",
                _ways_out(board, breach),
            )
        )
        _give_way(board, breach, chosen.code)


def _ways_out(board: Board, breach: Breach) -> list[Choice]:
    """Keep what is needed, cut what needs it, or accept; of two that conflict, one or the other.

    What needs something deferred can be deferred too.
    """
    one, other = breach.option, breach.other
    whole_one, whole_other = board.words.name(one), board.words.name(other)
    accept = Choice("BRK", "Accept it as broken", "Both stay as they are, and the result says so")
    if breach.kind == "conflicts":
        return [
            Choice("KEP", f"Keep {one}", f"Cut {whole_other}"),
            Choice("CUT", f"Cut {one}", f"Keep {whole_other}"),
            accept,
        ]
    keep = Choice("KEP", f"Keep {other}", f"Include {whole_other} after all")
    cut = Choice("CUT", f"Cut {one} too", f"Drop {whole_one} for good")
    defer = Choice("DEF", f"Defer {one} too", f"Keep {whole_one} for later")
    later = board.buckets[other] == "defer"
    return [keep, cut, defer, accept] if later else [keep, cut, accept]


def _give_way(board: Board, breach: Breach, code: str) -> None:
    if code == "BRK":
        board.accepted.append(breach)
    elif code == "KEP":
        board.put([breach.other], "include" if breach.kind == "requires" else "cut")
    else:
        board.put([breach.option], BUCKETS[code])


def confirm(board: Board) -> Steps:
    """The final question, which comes again after every change."""
    while True:
        chosen = yield from _final(board)
        if chosen == "SHP":
            return
        if chosen == "CUT":
            included = board.words.within("include")
            text, asked = f"Included: {board.words.names(included)}.", "Which are to be cut?"
            cut = yield from board.several("more", "more", "Cut more", text, asked, included)
            board.put(cut, "cut")
        else:
            yield from _revise(board, chosen)
        yield from mend(board)


def _final(board: Board) -> Generator[Request, Response, str]:
    """The three buckets, and whether that is it; an option that is named here is to be revised."""
    included = board.words.within("include")
    broken = " ".join(f"Accepted as broken: {board.words.breach(b)}" for b in board.accepted)
    coherent = bool(included) and not broken
    choices = [
        Choice("SHP", "Ship this scope", "It stays as it is", recommended=coherent),
        Choice("REV", "Revise one option", "You say which, and it is asked about again"),
    ]
    if included:
        choices.append(Choice("CUT", "Cut more", "Tick what to cut of those included"))
    final = board.inquiry(
        "final",
        "final",
        "The whole set",
        " ".join(filter(None, (board.words.assembled(), broken))),
        "Ship this scope?",
        choices,
        blocks=board.words.assembled_blocks(),
    )
    return (yield from board.name(final))


def _revise(board: Board, key: str) -> Steps:
    """One option is asked about again, and no other."""
    if key == "REV":
        text, asked = board.words.assembled(), "Which option do you want to revise?"
        choices = map(board.words.brief, board.keys)
        inquiry = board.inquiry("revise", "revise", "Revise one", text, asked, choices)
        key = yield from board.name(inquiry)
    while key:
        key = yield from decide(board, key, f"revise-{board.place[key]}")
