"""A run as its page tells it: what happened, the chart with its route, the phases of its track."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from markupsafe import Markup

from quandary.desk import phases, timeline
from quandary.desk.state import outcome_lines
from quandary.errors import QuandaryError
from quandary.journal.chance import now
from quandary.model.calls import HUMAN
from quandary.model.track import split

if TYPE_CHECKING:
    from types import ModuleType

    from quandary.formats.tracks import Passage
    from quandary.journal.store import State, Store
    from quandary.model.track import Track
    from quandary.reports.story import Stop, Story

MOST_EVENTS = 200
MOST_STOPS = 200
LONGEST = 4_000
"""As many signs of one text as a page shows; `quandary log` and `report` have them all."""
SIGNS = {
    "done": "✓",
    "current": "▶",
    "next": "→",
    "skipped": "↷",
    "not taken": "×",
    "ahead": "·",
}


class Walk(NamedTuple):
    """A walk through a chart, for the template to tell with the words of reports."""

    words: ModuleType
    story: Story
    pictures: list[tuple[str, Markup]]
    stops: tuple[Stop, ...]
    since: str | None
    """When somebody began to ask the agents that are asked now; nothing where nobody does."""

    @property
    def left_out(self) -> int:
        """How many steps there are besides those."""
        return len(self.story.stops) - len(self.stops)

    def working(self, stop: Stop) -> list[tuple[str, int]]:
        """Who is at work on a step, and for how many seconds."""
        if self.since is None:
            return []
        return [
            (self.words.asked(exchange), _seconds_since(max(exchange.asked, self.since)))
            for exchange in stop.exchanges
            if not exchange.answered and exchange.agent != HUMAN
        ]


class Passed(NamedTuple):
    """How a track came from one phase to another, and who let it."""

    at: str
    way: str
    who: str
    reason: str
    journalled: bool


class Tracked(NamedTuple):
    """A track, and how it came to where it stands."""

    track: Track
    passed: dict[str, str]
    """Who let the track go on from a phase the last time, by the label of the phase."""
    history: list[Passed]
    signs: dict[str, str] = SIGNS


class Told(NamedTuple):
    """All that a page tells of a run."""

    events: list[timeline.Event]
    earlier: int
    """How many events came before those."""
    result: list[str]
    walk: Walk | None
    track: Tracked | None


def tell_run(store: Store, state: State, *, under_way: bool = False) -> Told:
    """A run from its beginning to where it stands; with what works, where somebody is at it."""
    events = list(timeline.events(store, state.run))
    walk = _walk(store, state.run, under_way=under_way) if state.flow == "walk" else None
    return Told(
        events[-MOST_EVENTS:],
        max(len(events) - MOST_EVENTS, 0),
        result(state) if walk is None else [],  # a walk's story says it all
        walk,
        _track(store, state.run) if state.flow in phases.FLOWS else None,
    )


def cut(text: str) -> str:
    """As much of a text as a page shows."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} signs)"


def result(state: State) -> list[str]:
    """What came of a run, for a reader."""
    if state.status != "done" or not isinstance(state.result, dict):
        return [state.error] if state.error else []
    lines: list[str] = []
    with suppress(KeyError, TypeError, AttributeError):  # as some other version wrote it
        lines = outcome_lines(state.flow, state.result)
    return lines or [msgspec.json.encode(state.result).decode()]


def _walk(store: Store, run: str, *, under_way: bool) -> Walk | None:
    """The story of a walk, told by those who tell it in reports."""
    from quandary.reports import story as report_words  # noqa: PLC0415 - only for charts
    from quandary.reports.drawing import picture  # noqa: PLC0415 - the same
    from quandary.reports.retelling import retell  # noqa: PLC0415 - the same

    try:
        found = retell(store, run)
    except QuandaryError:
        return None  # what happened is told all the same, entry by entry
    story, chart = found.story, found.chart
    # Whoever watches wants to see where it stands, and not where it once began.
    shown = story.stops[-MOST_STOPS:] if under_way else story.stops[:MOST_STOPS]
    reached = {stop.page for stop in story.stops}
    pages = [page for page in chart.pages if page.id in reached] if chart is not None else []
    pictures = [
        (page.name or story.chart, Markup(drawn))  # noqa: S704 - it escapes what it shows
        for number, page in enumerate(pages, 1)
        if chart is not None and (drawn := picture(page, chart, story, f"page-{number}"))
    ]
    bodies: list[Any] = [entry.read() for entry in store.entries(run, kinds=("noted",))]
    starts = ["", *(body.at for body in bodies if getattr(body, "kind", "") == "started")]
    return Walk(report_words, story, pictures, shown, starts[-1] if under_way else None)


def _seconds_since(at: str) -> int:
    return max(round((now() - datetime.fromisoformat(at)).total_seconds()), 0)


def _track(store: Store, run: str) -> Tracked | None:
    """The track that a run is about, as it stands now."""
    from quandary.formats import tracks  # noqa: PLC0415 - only at gates

    folder = phases.beginning_of(store, run)[1].get("folder")
    if not isinstance(folder, str):
        return None
    try:
        kept = tracks.load(folder)
    except QuandaryError:
        return None  # its folder is elsewhere, or gone
    passed: dict[str, str] = {}
    history: list[Passed] = []
    for passage in kept.history[-MOST_EVENTS:]:
        history.append(_passed(store, passage))
        left = passage.phase if passage.finished else passage.source
        passed[(split(left or "") or ("",))[0]] = history[-1].who
    return Tracked(kept.track, passed, history)


def _passed(store: Store, passage: Passage) -> Passed:
    """Who let it pass is the journal's word wherever it has one."""
    (who, through, by), journalled = phases.who_let_pass(store, passage)
    name = f"{by} ({who}, {through})" if by else f"{who} ({through})" if through else who
    way = f"{passage.source} → {passage.phase}" if passage.source else passage.phase
    if passage.finished:
        way = f"{passage.phase} finished"
    at, reason = timeline.moment(passage.at), str(passage.reason or "")
    return Passed(at, way, name or "somebody", reason, journalled)
