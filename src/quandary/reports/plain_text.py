"""A report of a walk for the terminal, and for whoever reads plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.model.chart import QUIET, Map
from quandary.reports import story as words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quandary.model.chart import Chart, Page
    from quandary.reports.retelling import Told
    from quandary.reports.story import Exchange, Stop, Story

TAKEN, DRAWN = "━▶", "─▷"
REACHED, UNREACHED = "●", "○"


def report(told: Told) -> str:
    """Where the run stands, the chart with its route, and each step with all that was said."""
    story = told.story
    found = [f"{words.one_line(story.chart) or 'A walk'}: {words.headline(story)}", ""]
    facts = words.about(story)
    column = max(len(name) for name, _ in facts)
    found += [f"  {name:{column}}  {text}" for name, text in facts]
    if told.chart is not None:
        found += ["", f"The chart ({REACHED} reached, {TAKEN} taken)", *drawn(told.chart, story)]
    for stop in story.stops:
        found += ["", *_stop(stop)]
    for name, exchanges in words.others(story):
        found += ["", name, *_exchanges(exchanges)]
    found += ["", "Also noted"] if story.remarks else []
    found += [f"  {moment}  {said}" for moment, said in words.noted(story)]
    return "\n".join(found) + "\n"


def drawn(chart: Chart, story: Story) -> Iterator[str]:
    """The pages that the run came to, each step with its ways, and those marked that it took."""
    pages = words.pages(chart, story)
    for page in pages:
        yield ""
        if len(pages) > 1:
            yield f"  {words.one_line(page.name or page.id)}"
        yield from _page(page, chart, story)


def _page(page: Page, chart: Chart, story: Story) -> Iterator[str]:
    ways = Map(page, chart)
    visits = {stop.id: stop.visit for stop in story.stops if stop.page == page.id}
    taken = {(leg.source, leg.target, leg.label) for leg in story.legs if leg.page == page.id}
    for step in ways.steps.values():
        often = visits.get(step.id, 0)
        times = f"  ({often} times)" if often > 1 else ""
        yield f"  {REACHED if often else UNREACHED} {words.one_line(step.name)}{times}"
        for route in ways.ways(step):
            arrow = TAKEN if (route.source, route.target, route.label) in taken else DRAWN
            label = f"{words.one_line(route.label)} " if route.label else ""
            yield f"      {label}{arrow} {words.one_line(ways.follow(route).name)}"


def _stop(stop: Stop) -> Iterator[str]:
    margin = "  " * stop.depth
    kind = f"  ({stop.kind})" if stop.kind != "process" else ""
    yield f"{margin}{stop.number}. {words.title(stop)}{kind}"
    if stop.kind not in QUIET and (came := words.came_of(stop)):
        yield f"{margin}   {came}"
    for attempt in stop.attempts:
        for line in (words.tried(attempt), *_exchanges(attempt.exchanges)):
            yield f"{margin}   {line}".rstrip()


def _exchanges(exchanges: Iterable[Exchange]) -> Iterator[str]:
    for exchange in exchanges:
        yield f"  {words.asked(exchange)}: {words.answer(exchange)}"
        for name, text in words.texts(exchange):
            yield f"    {name}"
            yield from (f"    │ {line}" for line in words.lines(text))
