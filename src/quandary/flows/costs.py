"""The most that a walk can cost: the longest way through a chart, loops as often as they may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from quandary.flows.planning import Defaults, Planned
    from quandary.model.chart import Chart, Page

Ways = dict[str, list[str]]


def most_calls(chart: Chart, steps: Sequence[Planned], defaults: Defaults) -> int:
    """The largest number of calls that one item can cost.

    Of several ways the most expensive one counts. What lies in a loop may come as often as
    `max_visits` allows, and nothing more often than that, however many pages lead to it.
    """
    if chart.first is None:
        return 0
    pages: dict[str, Page] = {}
    for page in chart.pages:
        pages.setdefault(page.id, page)
    weights: dict[str, dict[str, int]] = {}
    for step in steps:
        weights.setdefault(step.page, {})[step.id] = step.most_calls
    inner = {key: dict(_inner(chart, pages[key], weights[key])) for key in weights}
    visits = defaults.max_visits
    costs: dict[str, int] = {}
    for group in circles({key: list(dict.fromkeys(inner[key].values())) for key in weights}):
        for key in group:
            for step_id, called in inner[key].items():
                weights[key][step_id] += costs.get(called, 0)
            costs[key] = _longest(weights[key], _onward(pages[key], weights[key]), visits)
    return min(costs.get(chart.first.id, 0), visits * sum(step.most_calls for step in steps))


def _inner(chart: Chart, page: Page, reached: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """The steps of a page that run another page, and the ids of those."""
    for step in page.steps:
        called = chart.called(step) if step.id in reached else None
        if called is not None:
            yield step.id, called.id


def _onward(page: Page, reached: Mapping[str, int]) -> Ways:
    onward: Ways = {step: [] for step in reached}
    for route in page.routes:
        if route.source in reached and route.target in reached:
            onward[route.source].append(route.target)
    return onward


def _longest(weights: Mapping[str, int], onward: Ways, visits: int) -> int:
    """The weight of the heaviest way; whatever comes round counts as often as it may."""
    heaviest: dict[str, int] = {}
    for group in circles(onward):
        inside = set(group)
        loops = len(group) > 1 or group[0] in onward[group[0]]
        weight = sum(weights[step] for step in group) * (visits if loops else 1)
        beyond = (heaviest[to] for step in group for to in onward[step] if to not in inside)
        weight += max(beyond, default=0)
        heaviest |= dict.fromkeys(group, weight)
    return max(heaviest.values(), default=0)


def circles(onward: Ways) -> Iterator[list[str]]:
    """Groups of steps that lead to each other, each behind all the groups that it leads to.

    This is Tarjan's way to find them, with a list in place of recursion, which would end early in
    a chart of thousands of steps.
    """
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    standing: dict[str, None] = {}
    """Those that have no group yet, in the order in which they were come to."""
    for first in onward:
        waiting = [] if first in number else [(first, iter(onward[first]))]
        while waiting:
            step, ways = waiting[-1]
            if step not in number:
                number[step] = lowest[step] = len(number)
                standing[step] = None
            below = next(ways, None)
            if below is None:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    lowest[above] = min(lowest[above], lowest[step])
                if lowest[step] == number[step]:
                    group = [standing.popitem()[0]]
                    while group[-1] != step:
                        group.append(standing.popitem()[0])
                    yield group
            elif below not in number:
                waiting.append((below, iter(onward.get(below, ()))))
            elif below in standing:
                lowest[step] = min(lowest[step], number[below])
