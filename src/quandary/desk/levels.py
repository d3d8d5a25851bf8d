"""What a person will be asked about a tree, level by level, before anybody is asked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from quandary.flows.decide import decide
from quandary.flows.wording import find_slots
from quandary.model.asks import Answer, Ask, Item, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quandary.flows import Flow
    from quandary.model.asks import Question
    from quandary.model.tree import Tree

CONTEXT = "What has to be decided stands here, and all that somebody new to it needs to know."
ITEM = Item("1", "An item", "a made-up item", "What is to be known about this item stands here.")
OTHER = "Other"
_WORDS = "own words"


class Level(NamedTuple):
    """An Ask, and by which choices a person comes to it."""

    name: str
    ask: Ask


def list_levels(tree: Tree, others: Sequence[Tree] = ()) -> Iterator[Level]:
    """Every Ask that choosing can lead to, each once, with a made-up item and filled slots."""
    begin = partial(decide, tree, [ITEM], context=CONTEXT, values=_fill(tree), trees=others)
    seen: set[tuple[object, ...]] = set()
    waiting: list[tuple[str, tuple[Reply, ...]]] = [(tree.name, ())]
    while waiting:
        name, replies = waiting.pop(0)
        ask = _follow(begin(), replies)
        if ask is None:
            continue
        shown = tuple((question.text, question.choices) for question in ask.questions)
        if shown in seen:
            continue  # behind the last page comes the first one
        seen.add(shown)
        yield Level(name, ask)
        for question in ask.questions:
            ways = [(choice.label, (choice.code,)) for choice in question.choices]
            for label, picked in [*ways, *([(OTHER, ())] if question.menu else [])]:
                reply = _choose(ask, question, picked)
                waiting.append((f"{name} › {label}", (*replies, reply)))


def _choose(ask: Ask, question: Question, picked: tuple[str, ...]) -> Reply:
    """A choice, with nothing left to ask about the questions beside it."""
    mine = Answer(question.key, picked=picked)
    own = (Answer(other.key, text=_WORDS, raw=_WORDS) for other in ask.questions)
    return Reply(tuple(mine if one.key == question.key else one for one in own))


def _fill(tree: Tree) -> dict[str, str]:
    """Something for every slot that no item fills."""
    texts = [tree.question, *(extra.text for extra in tree.extras)]
    for decision in tree.decisions:
        texts += [decision.question, *(f"{o.label} {o.description}" for _, o in decision.walk())]
    own = {"id", "label", "title", "context"}
    return {name: f"some {name}" for name in find_slots(" ".join(texts)) if name not in own}


def _follow(flow: Flow, replies: Sequence[Reply]) -> Ask | None:
    """What is asked after these replies; nothing where they settle all of it."""
    request = next(flow)
    try:
        for reply in replies:
            request = flow.send(reply)
    except StopIteration:
        return None
    return request if isinstance(request, Ask) else None
