"""What a walk is begun with, and what it costs."""

from __future__ import annotations

import msgspec

from quandary.flows.planning import Defaults
from quandary.model.ask import Item, Limits
from quandary.model.chart import Chart

OWN = ("id", "label", "title", "context", "question")
"""The fields that every item has."""


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one item may cost; nothing set is no limit."""

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    """Of all its agents together, whether one works at a time or several do."""


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run was begun with; plain data, kept in the journal as it is."""

    chart: Chart
    item: Item = Item("1")
    defaults: Defaults = Defaults()
    codenames: tuple[str, ...] = ()
    """The agents that a tag can name."""
    budget: Budget = Budget()
    limits: Limits = Limits()
    person: bool = True
    """Whether somebody can be asked where agents cannot agree."""

    @property
    def about(self) -> str:
        """What it is walked for, in words."""
        return self.item.title or self.item.label or self.item.id

    @property
    def values(self) -> dict[str, str]:
        """What fills slots."""
        return values_of(self.item)


def values_of(item: Item) -> dict[str, str]:
    """An item by the names of its fields; what it is known by goes before any other field."""
    own = {name: str(getattr(item, name)) for name in OWN}
    return {**own, **item.fields, **{name: value for name, value in own.items() if value}}


class Spent:
    """What an item has cost so far."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.calls = 0
        self.tokens = 0
        self.seconds = 0.0

    def over(self, further: int) -> str:
        """Which limit so many further calls would break; a call may not begin beyond one."""
        most = self.budget
        if most.max_calls is not None and self.calls + further > most.max_calls:
            return f"the budget of {most.max_calls} calls is used up"
        if most.max_tokens is not None and self.tokens >= most.max_tokens:
            return f"the budget of {most.max_tokens} tokens is used up"
        if most.max_seconds is not None and self.seconds >= most.max_seconds:
            return f"the budget of {most.max_seconds:g} seconds is used up"
        return ""

    def time(self, wanted: float, calls: int = 1) -> float:
        """The seconds that each of so many calls may take: no more than are left for it."""
        if self.budget.max_seconds is None:
            return wanted
        return min(wanted, max(self.budget.max_seconds - self.seconds, 0.0) / calls)
