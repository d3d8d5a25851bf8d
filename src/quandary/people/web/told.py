"""A run as its page tells it: what happened, the chart with its route, the phases of its track."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from markupsafe import Markup

from quandary.errors import QuandaryError
from quandary.journal import moves
from quandary.journal.entries import now
from quandary.model.call import HUMAN
from quandary.model.track import split
from quandary.people import outcomes, timeline

if TYPE_CHECKING:
    from quandary.agents.story import Exchange, Stop
    from quandary.formats.tracks import Passage
    from quandary.journal.store import State, Store
    from quandary.model.track import Track

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


class Event(NamedTuple):
    """Something that happened."""

    at: str
    kind: str
    text: str
    who: str


class Said(NamedTuple):
    """What somebody was asked for, and what came back, text by text."""

    summary: str
    texts: list[tuple[str, str]]


class Tried(NamedTuple):
    """An attempt at a step."""

    summary: str
    verdict: str
    critique: str
    said: list[Said]


class Working(NamedTuple):
    """Somebody who is at work now, and for how many seconds."""

    who: str
    seconds: int


class Step(NamedTuple):
    """A visit to a step of a chart."""

    number: int
    name: str
    came: str
    quiet: bool
    broken: bool
    deep: bool
    tried: list[Tried]
    working: list[Working]


class Walk(NamedTuple):
    """A walk through a chart."""

    name: str
    headline: str
    facts: list[tuple[str, str]]
    pictures: list[tuple[str, Markup]]
    steps: list[Step]
    left_out: int
    """How many steps there are besides those."""


class Phase(NamedTuple):
    """A phase of a track."""

    label: str
    name: str
    mark: str
    sign: str
    person: bool
    """Only a person can say that it is over."""
    passed: str
    """Who let the track go on from it the last time."""


class Passed(NamedTuple):
    """How a track came from one phase to another, and who let it."""

    at: str
    way: str
    who: str
    reason: str
    journalled: bool


class Tracked(NamedTuple):
    """A track: its phases in a line, and how it came to where it stands."""

    folder: str
    phases: list[Phase]
    history: list[Passed]
    finished: bool


class Told(NamedTuple):
    """All that a page tells of a run."""

    events: list[Event]
    earlier: int
    """How many events came before those."""
    result: list[str]
    walk: Walk | None
    track: Tracked | None


def told(store: Store, state: State, *, under_way: bool = False) -> Told:
    """A run from its beginning to where it stands; with what works, where somebody is at it."""
    events = [_event(event) for event in timeline.events(store, state.run)]
    walk = _walk(store, state.run, under_way=under_way) if state.flow == "walk" else None
    return Told(
        events[-MOST_EVENTS:],
        max(len(events) - MOST_EVENTS, 0),
        result(state) if walk is None else [],  # a walk's story says it all
        walk,
        _track(store, state.run) if state.flow in moves.FLOWS else None,
    )


def _event(event: timeline.Event) -> Event:
    return Event(timeline.moment(event.at, seconds=True), event.kind, cut(event.text), event.source)


def cut(text: str) -> str:
    """As much of a text as a page shows."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} signs)"


def result(state: State) -> list[str]:
    """What came of a run, for a reader."""
    if state.status == "done" and isinstance(state.result, dict):
        with suppress(KeyError, TypeError, AttributeError):  # as some other version wrote it
            return outcomes.lines(state.flow, state.result) or [_json(state.result)]
        return [_json(state.result)]
    return [state.error] if state.error else []


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


# -- charts --------------------------------------------------------------------------------------


def _walk(store: Store, run: str, *, under_way: bool) -> Walk | None:
    """The story of a walk, told by those who tell it in reports."""
    from quandary.agents import report_words as words  # noqa: PLC0415 - only for charts
    from quandary.agents.report_drawing import picture  # noqa: PLC0415 - the same
    from quandary.agents.retelling import retell  # noqa: PLC0415 - the same

    try:
        found = retell(store, run)
    except QuandaryError:
        return None  # what happened is told all the same, entry by entry
    story, chart = found.story, found.chart
    since = _begun(store, run) if under_way else ""
    # Whoever watches wants to see where it stands, and not where it once began.
    shown = story.stops[-MOST_STOPS:] if under_way else story.stops[:MOST_STOPS]
    reached = {stop.page for stop in story.stops}
    pages = [page for page in chart.pages if page.id in reached] if chart is not None else []
    pictures = [
        (page.name or story.chart, Markup(drawn))  # noqa: S704 - it escapes what it shows
        for number, page in enumerate(pages, 1)
        if chart is not None and (drawn := picture(page, chart, story, f"page-{number}"))
    ]
    return Walk(
        story.chart,
        words.headline(story),
        words.about(story),
        pictures,
        [_step(stop, since if under_way else None) for stop in shown],
        max(len(story.stops) - MOST_STOPS, 0),
    )


def _begun(store: Store, run: str) -> str:
    """When somebody began to ask the agents that are asked now."""
    bodies = [entry.read() for entry in store.entries(run, kinds=("noted",))]
    starts = [body.at for body in bodies if getattr(body, "kind", "") == "started"]
    return starts[-1] if starts else ""


def _step(stop: Stop, since: str | None) -> Step:
    from quandary.agents import report_words as words  # noqa: PLC0415 - only for charts

    return Step(
        stop.number,
        words.title(stop),
        words.came_of(stop),
        not (stop.attempts or stop.error or stop.current),
        bool(stop.error),
        stop.depth > 0,
        [
            Tried(
                words.tried(attempt),
                attempt.verdict or "open",
                cut(attempt.critique),
                [_said(exchange) for exchange in attempt.exchanges],
            )
            for attempt in stop.attempts
        ],
        _working(stop, since) if since is not None else [],
    )


def _working(stop: Stop, since: str) -> list[Working]:
    """Who is at work on a step; nobody was before the run was gone on with."""
    from quandary.agents import report_words as words  # noqa: PLC0415 - only for charts

    return [
        Working(words.asked(exchange), _seconds_since(max(exchange.asked, since)))
        for attempt in stop.attempts
        for exchange in attempt.exchanges
        if not exchange.answered and exchange.agent != HUMAN
    ]


def _seconds_since(at: str) -> int:
    return max(round((now() - datetime.fromisoformat(at)).total_seconds()), 0)


def _said(exchange: Exchange) -> Said:
    from quandary.agents import report_words as words  # noqa: PLC0415 - only for charts

    texts = [(name, cut(text)) for name, text in words.texts(exchange)]
    return Said(f"{words.asked(exchange)}: {words.answer(exchange)}", texts)


# -- tracks --------------------------------------------------------------------------------------


def _track(store: Store, run: str) -> Tracked | None:
    """The track that a run is about, as it stands now."""
    from quandary.formats import tracks  # noqa: PLC0415 - only at gates

    folder = moves.began(store, run)[1].get("folder")
    if not isinstance(folder, str):
        return None
    try:
        kept = tracks.load(folder)
    except QuandaryError:
        return None  # its folder is elsewhere, or gone
    history = [(passage, _passed(store, passage)) for passage in kept.history[-MOST_EVENTS:]]
    return Tracked(
        folder,
        _phases(kept.track, {_left(passage): passed.who for passage, passed in history}),
        [passed for _, passed in history],
        kept.track.finished,
    )


def _left(passage: Passage) -> str:
    """The label of the phase that was left."""
    left = passage.phase if passage.finished else passage.source
    return (split(left or "") or ("",))[0]


def _phases(track: Track, passed: dict[str, str]) -> list[Phase]:
    return [
        Phase(
            phase.label,
            phase.name,
            mark := track.mark(phase),
            SIGNS[mark],
            phase.approval == "person" and mark not in ("done", "skipped"),
            passed.get(phase.label, "") if mark == "done" else "",
        )
        for phase in track.ordered
    ]


def _passed(store: Store, passage: Passage) -> Passed:
    """Who let it pass is the journal's word wherever it has one."""
    source = moves.let_pass(store, passage.run, passage.phase) if passage.run else None
    who, through, by = source or (passage.who, passage.through, passage.by)
    name = f"{by} ({who}, {through})" if by else f"{who} ({through})" if through else who
    way = f"{passage.source} → {passage.phase}" if passage.source else passage.phase
    if passage.finished:
        way = f"{passage.phase} finished"
    return Passed(
        timeline.moment(passage.at),
        way,
        name or "somebody",
        str(passage.reason or ""),
        source is not None,
    )
