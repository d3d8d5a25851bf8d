"""For people who test their own trees: drive one with scripted replies and look at what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.flows.decide import decide
from quandary.model.ask import Answer, Ask, Item, Reply
from quandary.people.reading import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quandary.model.tree import Tree

CONTEXT = "A test walks through this tree."


class Walked(NamedTuple):
    """What was asked, and what came of it; no result while replies are missing."""

    asks: list[Ask]
    result: dict[str, Any] | None

    @property
    def paths(self) -> list[str]:
        """The path of every item."""
        return [chosen["path"] for chosen in (self.result or {}).get("chosenItems", [])]


def walk(
    tree: Tree,
    *replies: str | Mapping[str, str],
    items: Sequence[Item] = (),
    context: str = CONTEXT,
) -> Walked:
    """Answer each Ask in turn. A text answers every question of the Ask, as if it were typed;
    a mapping from item ids answers one by one. An empty text leaves Other blank.
    """
    flow = decide(tree, items, context=context)
    asks: list[Ask] = []
    request = next(flow)
    for reply in replies:
        if not isinstance(request, Ask):
            raise TypeError(f"{request} cannot be answered by a script")
        asks.append(request)
        try:
            request = flow.send(Reply(tuple(_answers(request, reply))))
        except StopIteration as end:
            return Walked(asks, end.value)
    if isinstance(request, Ask):
        asks.append(request)
    return Walked(asks, None)


def _answers(ask: Ask, reply: str | Mapping[str, str]) -> list[Answer]:
    answers = []
    for question in ask.questions:
        text = reply if isinstance(reply, str) else reply.get(question.item)
        if text is not None:
            answers.append(read(text, question, "strict").answer(question.key, text))
    return answers
