"""The story of a walk: what happened to one item on its way through a chart, as plain data."""

from __future__ import annotations

from typing import Literal

import msgspec

from quandary.flows.walk import Outcome
from quandary.journal.entries import Status, Who
from quandary.journal.store import Waits
from quandary.model.calls import Expects, Meaning, Role
from quandary.model.chart import Kind

Verdict = Literal["passed", "failed"]


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an agent or a person was asked, and what came back."""

    key: str
    name: str = ""
    """What it is called at its step: `run`, `retry-1`, `validate-2`, `vote-3`."""
    role: Role = "work"
    agent: str
    """Its codename; HUMAN where a person was asked."""
    expects: Expects | None = None
    prompt: str | None = None
    """What it was told; nothing where that was pruned."""
    asked: str = ""
    """When."""
    answered: str = ""
    """When an answer came; empty as long as there is none."""
    who: Who | None = None
    """Whose hand the answer came from, through what, and under which name."""
    through: str = ""
    by: str = ""
    picked: tuple[str, ...] = ()
    """The codes that a person chose."""
    output: str | None = None
    """What was printed or said; nothing where that was pruned or is still to come."""
    meaning: Meaning | None = None
    """The response that was found in it."""
    problem: str = ""
    """Why it cannot count."""
    stderr: str = ""
    status: int | None = None
    """The exit status."""
    seconds: float = 0.0
    tokens: int = 0
    timed_out: bool = False
    interrupted: bool = False
    truncated: bool = False
    pruned: bool = False
    """Texts of it were taken out of the journal."""
    route: str = ""
    """The way that it names."""
    accepted: bool | None = None
    """Whether the work was done, or passed; nothing where that is not known."""
    retry: bool = True
    """Whether another attempt was thought to be worth it."""


class Attempt(msgspec.Struct, frozen=True):
    """One try at a step: the work, or the votes, and whoever judged it."""

    number: int
    exchanges: tuple[Exchange, ...]
    verdict: Verdict | None = None
    """Whether it counted; nothing where that is open, or no longer known."""
    critique: str = ""
    """What was held against it."""


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """One visit to a step."""

    number: int
    """Its place on the path, from 1."""
    id: str
    name: str
    kind: Kind
    page: str = ""
    """The id of the page that it is drawn on."""
    depth: int = 0
    """How many charts it lies within."""
    visit: int = 1
    cli: str = ""
    """Who was asked last, or who voted."""
    route: str = ""
    attempts: tuple[Attempt, ...] = ()
    validation: Verdict | None = None
    output: str | None = None
    seconds: float = 0.0
    tokens: int = 0
    error: str = ""
    """Why it was given up."""
    current: bool = False
    """The run stands here."""

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All that was asked here."""
        return tuple(exchange for attempt in self.attempts for exchange in attempt.exchanges)


class Leg(msgspec.Struct, frozen=True):
    """A line of the chart that was followed."""

    page: str
    source: str
    target: str
    label: str = ""


class Remark(msgspec.Struct, frozen=True):
    """Something that happened beside the walk and was no answer."""

    at: str
    kind: str
    key: str
    text: str
    who: Who
    through: str
    by: str = ""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A walk from its beginning to where it stands."""

    run: str
    chart: str
    item: str = ""
    status: Status = "waiting"
    waits: Waits | None = None
    """Who has to do something."""
    outcome: Outcome | None = None
    error: str = ""
    began: str = ""
    ended: str = ""
    path: tuple[str, ...] = ()
    """The ids of the steps that it came to."""
    legs: tuple[Leg, ...] = ()
    stops: tuple[Stop, ...] = ()
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    pruned: int = 0
    """How many entries have lost their texts."""
    taken_back: tuple[Exchange, ...] = ()
    """What was asked before an answer was amended or a step tried anew, and no longer counts."""
    unplaced: tuple[Exchange, ...] = ()
    """What belongs to no step of the chart as far as can be seen."""
    remarks: tuple[Remark, ...] = ()
