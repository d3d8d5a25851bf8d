"""Decide about many options without losing one: each is included, deferred, cut, or talked about.

The number of options gives the shape: one question, one for a few at once, a chain with a question
for each, or first a question on how to go about it. Whatever the shape, what was put together is
checked for ties that it breaks, and a longer way ends with a look at the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec
from msgspec.structs import replace

from quandary.errors import QuandaryError
from quandary.flows import wording
from quandary.flows.split_board import Board, Relation, Terms
from quandary.flows.split_shapes import pick, settle
from quandary.flows.split_whole import confirm, mend
from quandary.model.ask import Limits
from quandary.model.candidates import Candidate, problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quandary.flows import Flow

VERSION = 1


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's `began` describes."""
    return _flow(msgspec.convert(arguments, Terms))


def split(
    options: Sequence[Candidate],
    *,
    skill: str = "",
    relation: Relation = "unsure",
    number: int = 1,
    context: str = "",
    limits: Limits | None = None,
    values: Mapping[str, str] | None = None,
) -> Flow:
    """Ask about every option until each is included, deferred or cut."""
    given = dict(values or {})
    terms = Terms(tuple(options), skill, relation, number, context, limits or Limits(), given)
    return _flow(terms)


def _flow(terms: Terms) -> Flow:
    """Refuse at once what cannot be asked well, before anyone is asked anything."""
    wrong = problem(terms.options)
    if wrong:
        raise QuandaryError(f"the options cannot be asked about: {wrong}")
    if terms.relation not in get_args(Relation):
        raise QuandaryError(f"relation {terms.relation!r}: it is {', '.join(get_args(Relation))}")
    if terms.number < 1:
        raise QuandaryError(f"number {terms.number}: decisions are counted from 1")
    context = wording.fill(terms.context, terms.values)
    wording.require_filled(context, "the context")
    options = tuple(_filled(option, terms.values) for option in terms.options)
    return _steps(Board(replace(terms, options=options, context=context)))


def _filled(option: Candidate, values: Mapping[str, str]) -> Candidate:
    said = {}
    for field in ("title", "scope", "cost", "because"):
        said[field] = wording.fill(getattr(option, field), values)
        wording.require_filled(said[field], f"the {field} of {option.key}")
    return replace(option, **said)


def _steps(board: Board) -> Flow:
    """The shape that fits, then whatever does not go together, then a look at the whole."""
    if board.terms.relation == "alternatives" and len(board.keys) > 1:
        look = yield from pick(board)
    else:
        look = yield from settle(board, board.keys)
    yield from mend(board)
    if look:
        yield from confirm(board)
    return board.result()
