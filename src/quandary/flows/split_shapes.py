"""How a split goes about its options: all at once, one by one, in batches, narrowed down first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.flows.split_single import BUCKETS, chain
from quandary.flows.split_wording import CODES, VERBS
from quandary.model.ask import Choice

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from quandary.flows import Request, Response
    from quandary.flows.split_board import Board
    from quandary.model.candidates import Bucket

    Look = Generator[Request, Response, bool]
    """Steps, and whether they call for a look at the whole."""

AT_ONCE = 4
LONGEST_CHAIN = 6
_REST: tuple[tuple[Bucket, str], ...] = (("defer", "Kept for later"), ("cut", "Dropped for good"))


def settle(board: Board, keys: Sequence[str]) -> Look:
    """One gets the four buckets, a few are asked about at once, more make a chain, and before a
    long chain comes the question how to go about it.
    """
    if 1 < len(keys) <= AT_ONCE:
        return (yield from _group(board, keys))
    if len(keys) > LONGEST_CHAIN:
        return (yield from _meta(board, keys))
    yield from chain(board, keys)
    return len(keys) > 1


def pick(board: Board) -> Look:
    """Alternatives: four at a time, and the next ones when none of these fits."""
    room = min(AT_ONCE, max(board.terms.limits.options, 2))
    advised = [key for key in board.keys if board.advised([key], "include")]
    for first in range(0, len(board.keys), room):
        page, later = board.keys[first : first + room], board.keys[first + room :]
        are = "is" if len(later) == 1 else "are"
        further = f" There {are} {len(later)} more if none of these fits." if later else ""
        none = board.none(f"See the other {len(later)}" if later else "None of them is chosen")
        chosen = yield from board.chooser.inquire(
            board.inquiry(
                "",
                "pick",
                "Which one",
                f"One of {len(board.keys)} is to be chosen; here are {board.words.names(page)}."
                f"{further}",
                "Which one is it?",
                (board.words.choice(key, recommended=advised == [key]) for key in page),
                none=none,
                blank_is_none=bool(later),
                named=tuple(board.words.choice(key) for key in board.keys if key not in page),
            )
        )
        if chosen.code != none.code:
            board.put(board.keys, "cut")
            board.put([chosen.code], "include")
            return False
    yield from _rest(board, board.keys, "rest")
    return False


def _meta(board: Board, keys: Sequence[str]) -> Look:
    """How to go about many."""
    apart = board.terms.relation == "independent" and not board.links.any()
    chosen = yield from board.chooser.inquire(
        board.inquiry(
            "0",
            "meta",
            "How to go about it",
            f"There are {len(keys)} options to decide about: {board.words.names(keys)}. Asked one "
            f"by one, that makes {len(keys)} questions.",
            "How do you want to go about it?",
            (
                Choice("ALL", "Proceed one by one", "A question for each", recommended=apart),
                Choice("NAR", "Narrow it down first", "Tick what to decide now, defer the others"),
                Choice("BAT", "Batches of four", "Tick what to include, four at a time"),
            ),
            blocks=board.words.listing("The options", keys),
        )
    )
    if chosen.code == "NAR":
        yield from _narrow(board, keys)
    elif chosen.code == "BAT":
        yield from _batches(board, keys)
    else:
        yield from chain(board, keys)
    return True


def _narrow(board: Board, keys: Sequence[str]) -> Generator[Request, Response, None]:
    """What is not ticked to be decided now is deferred, once that has been confirmed."""
    text = f"There are {len(keys)} options: {board.words.names(keys)}. Those left out are deferred."
    asked = "Which are to be decided now?"
    while True:
        chosen = yield from board.several("narrow", "narrow", "Decide now", text, asked, keys)
        rest = [key for key in keys if key not in chosen]
        if not rest or (yield from _defer(board, rest)):
            break
    if chosen:
        yield from settle(board, chosen)


def _defer(board: Board, keys: Sequence[str]) -> Look:
    answer = yield from board.chooser.inquire(
        board.inquiry(
            "rest",
            "rest",
            "The rest",
            f"Left out: {board.words.names(keys)}.",
            f"Shall {'all ' if len(keys) > 1 else ''}{len(keys)} be deferred?",
            (
                Choice(CODES["defer"], f"Defer {_them(keys)}", "Kept for later"),
                Choice("AGN", "Choose again", "Tick once more what to decide now"),
            ),
            blocks=board.words.listing("Left out", keys),
        )
    )
    if answer.code == CODES["defer"]:
        board.put(keys, "defer")
    return answer.code == CODES["defer"]


def _batches(board: Board, keys: Sequence[str]) -> Generator[Request, Response, None]:
    for number, first in enumerate(range(0, len(keys), AT_ONCE), 1):
        # A Hold may have led to one of a later batch; it is decided by now.
        batch = [key for key in keys[first : first + AT_ONCE] if key not in board.buckets]
        if len(batch) == 1:
            yield from chain(board, batch)
        elif batch:
            yield from _group(board, batch, f"batch-{number}", f"rest-{number}")


def _group(board: Board, keys: Sequence[str], part: str = "", rest_part: str = "rest") -> Look:
    """A few at once: what to include, then what becomes of the rest."""
    text = f"There are {len(keys)} options: {board.words.names(keys)}."
    asked = "Which of them are to be included?"
    included = yield from board.several(part, "include", "What to include", text, asked, keys)
    board.put(included, "include")
    rest = [key for key in keys if key not in included]
    if not rest:
        return False
    one_by_one = Choice("ONE", "One by one", "A question of its own for each")
    code = yield from _rest(board, rest, rest_part, one_by_one)
    if code == one_by_one.code:
        yield from chain(board, rest)
    return code == one_by_one.code


def _rest(
    board: Board, keys: Sequence[str], part: str, *more: Choice
) -> Generator[Request, Response, str]:
    """What becomes of those that were not chosen."""
    them = _them(keys)
    choices = [
        Choice(CODES[b], f"{VERBS[b]} {them}", said, recommended=board.advised(keys, b))
        for b, said in _REST
    ]
    chosen = yield from board.chooser.inquire(
        board.inquiry(
            part,
            "rest",
            "The rest",
            f"Not chosen: {board.words.names(keys)}.",
            f"What becomes of {them}?",
            (*choices, *more),
            blocks=board.words.listing("Not chosen", keys),
        )
    )
    if chosen.code in BUCKETS:
        board.put(keys, BUCKETS[chosen.code])
    return chosen.code


def _them(keys: Sequence[str]) -> str:
    return "it" if len(keys) == 1 else "them"
