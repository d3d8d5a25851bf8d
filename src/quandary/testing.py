"""Flows without a journal: driven by scripted replies, to test one's own trees, or by functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from quandary.errors import QuandaryError, Rejected
from quandary.flows.decide import decide
from quandary.model.asks import Answer, Ask, Item, Kind, Limits, Outcome, Question, Reply
from quandary.model.calls import Call, Do, Done, Output
from quandary.reading import read

if TYPE_CHECKING:
    from quandary.flows import Flow
    from quandary.model.tree import Tree

CONTEXT = "A test walks through this tree."


class Walked(NamedTuple):
    """What was asked, and what came of it; no result while replies are missing."""

    asks: list[Ask]
    result: dict[str, Any] | None

    @property
    def questions(self) -> list[Question]:
        """Every question that was asked, in order."""
        return [question for ask in self.asks for question in ask.questions]

    @property
    def chosen(self) -> list[dict[str, Any]]:
        """What was chosen for every item, with comments, tags and whatever else was said."""
        return list((self.result or {}).get("chosenItems", []))

    @property
    def paths(self) -> list[str]:
        return [chosen["path"] for chosen in self.chosen]


def walk(
    tree: Tree,
    *replies: str | Mapping[str, str],
    items: Sequence[Item] = (),
    context: str = CONTEXT,
    kind: Kind | None = None,
    limits: Limits | None = None,
) -> Walked:
    """Answer each Ask in turn. A text answers every question of the Ask, as if it were typed;
    a mapping from keys or item ids answers one by one. An empty text leaves Other blank.
    """
    items = items or [Item("1", tree.name, tree.name)]  # `{title}` and the like need one
    flow = decide(tree, items, context=context, kind=kind, limits=limits)
    asks: list[Ask] = []
    request = next(flow)
    for number, reply in enumerate(replies, 1):
        if not isinstance(request, Ask):
            raise TypeError(f"{request} cannot be answered by a script")
        asks.append(request)
        try:
            request = flow.send(Reply(tuple(_answers(request, reply))))
        except StopIteration as end:
            if number < len(replies):
                left = ", ".join(map(repr, replies[number:]))
                raise AssertionError(f"nothing was left to ask when there came {left}") from None
            return Walked(asks, end.value)
    if isinstance(request, Ask):
        asks.append(request)
    return Walked(asks, None)


def _answers(ask: Ask, reply: str | Mapping[str, str]) -> Iterator[Answer]:
    mode: Literal["strict", "plain"] = "plain" if ask.kind == "advisory" else "strict"
    for question in ask.questions:
        said = {question.key: reply} if isinstance(reply, str) else reply
        if (text := said.get(question.key, said.get(question.item))) is not None:
            yield read(text, question, mode).answer(question.key, text)


class Asks(Protocol):
    """A room that asks, such as `quandary.doors.terminal`."""

    def ask(self, ask: Ask, /) -> Reply | Outcome:
        """Put an Ask before a person."""


def run(
    flow: Flow,
    ask: Callable[[Ask], Reply | Outcome] | Asks,
    call: Callable[[Call], Output] | None = None,
) -> dict[str, Any]:
    """Ask whatever the flow asks, until it is done, and return its result. A reply that is no
    answer ends it: there is no journal here in which the question could wait.
    """
    asking = ask if callable(ask) else ask.ask
    request = next(flow)
    while True:
        if isinstance(request, Ask):
            response: Any = asking(request)
            if isinstance(response, Outcome):
                raise Rejected(f"no answer ({response.kind}): {request.key} was left open")
        elif isinstance(request, Do):
            response = Done(request.key, error=f"{request.deed} cannot be done here")
        elif call is None:
            raise QuandaryError("the flow calls an agent; give `call` to answer it")
        elif isinstance(request, Call):
            response = call(request)
        else:
            response = tuple(call(one) for one in request)
        try:
            request = flow.send(response)
        except StopIteration as end:
            result: dict[str, Any] = end.value
            return result
