"""A page of a chart as a picture in SVG, with the route that was taken marked in it.

What was reached is filled, numbered and leads to its story; what was taken is drawn thick. Nothing
is told by colour alone.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING

from quandary.agents import layers
from quandary.agents.report_words import one_line
from quandary.model.chart import Map

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quandary.agents.layers import Layout, Line, Point
    from quandary.agents.story import Leg, Stop, Story
    from quandary.model.chart import Chart, Kind, Page, Step

MOST_STEPS = 250
"""A page with more is listed; nobody finds their way through such a picture."""
MOST_SPOTS = 4_000
MARGIN = 26.0
LONGEST_LABEL = 22
MOST_NUMBERS = 4

Taken = set[tuple[str, str, str]]


def picture(page: Page, chart: Chart, story: Story, name: str) -> str:
    """The picture of a page; nothing where it would be too large. `name` sets its parts apart."""
    ways = Map(page, chart)
    steps = _in_reading_order(ways)
    if not steps or len(steps) > MOST_STEPS:
        return ""
    routes = [route for step in steps for route in ways.ways(step)]
    ends = [(route.source, route.target) for route in routes]
    layout = layers.lay_out([step.id for step in steps], ends, MOST_SPOTS)
    if layout is None:
        return ""
    taken = taken_on(page, story.legs)
    stops: dict[str, list[Stop]] = {}
    for stop in story.stops:
        if stop.page == page.id:
            stops.setdefault(stop.id, []).append(stop)
    found = [_opening(page, chart, layout, name)]
    drawn = [
        (route.label, line, (route.source, route.target, route.label) in taken)
        for route, line in zip(routes, layout.lines, strict=True)
    ]
    for label, line, was_taken in sorted(drawn, key=lambda one: one[2]):
        found.append(_line(label, line, name, taken=was_taken))
    for step in steps:
        found += _box(step, ways.kind(step), layout.boxes[step.id], stops.get(step.id, []))
    found += [_label(label, line) for label, line, _ in drawn if label.strip()]
    return "\n".join([*found, "</svg>"])


def taken_on(page: Page, legs: Sequence[Leg]) -> Taken:
    """The lines of a page that were taken; one whose label is not known may be any of its kind."""
    found = {(leg.source, leg.target, leg.label) for leg in legs if leg.page == page.id}
    nameless = {(source, target) for source, target, label in found if not label}
    some = ((r.source, r.target, r.label) for r in page.routes if (r.source, r.target) in nameless)
    return found | set(some)


def _in_reading_order(ways: Map) -> list[Step]:
    """What can be reached from the start first, then whatever is left."""
    first = list(ways.walk(ways.start)) if ways.start is not None else []
    known = {step.id for step in first}
    return [*first, *(step for step in ways.steps.values() if step.id not in known)]


def _opening(page: Page, chart: Chart, layout: Layout, name: str) -> str:
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    title = escape(one_line(page.name or chart.name) or "The chart")
    box = f"{-MARGIN:g} {-MARGIN:g} {width:.0f} {height:.0f}"
    arrows = "".join(
        f'<marker id="{name}-{kind}" class="{kind}" viewBox="0 0 10 10" refX="9" refY="5" '
        f'markerWidth="{size}" markerHeight="{size}" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0 10 5 0 10z"/></marker>'
        for kind, size in (("drawn", 9), ("taken", 13))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{width:.0f}" '
        f'height="{height:.0f}" role="group" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{title}: the steps, and the route that was taken</title>'
        f"<defs>{arrows}</defs>"
    )


def _line(label: str, line: Line, name: str, *, taken: bool) -> str:
    kind = "taken" if taken else "drawn"
    said = f"<title>{escape(one_line(label))}</title>" if label.strip() else ""
    return (
        f'<g class="line {kind}">{said}'
        f'<path d="{_path(line)}" marker-end="url(#{name}-{kind})"/></g>'
    )


def _path(line: Line) -> str:
    if line.loop:
        (x, y), (far, _), (_, end) = line.points
        return f"M{x:.1f} {y:.1f}C{far:.1f} {y + 14:.1f} {far:.1f} {end - 14:.1f} {x:.1f} {end:.1f}"
    (x, y) = line.points[0]
    parts = [f"M{x:.1f} {y:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(line.points):
        half = (y + to_y) / 2
        parts.append(f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}")
    return "".join(parts)


def _label(label: str, line: Line) -> str:
    """The label of a line, near the box that it leaves."""
    (x, y), (to_x, to_y) = line.points[:2]
    if line.loop:
        x, y = to_x - 14, to_y - 16
    else:
        x, y = x + (to_x - x) * 0.35, y + (to_y - y) * 0.42
    return (
        f'<text class="label" x="{x:.1f}" y="{y:.1f}">{escape(_cut(label, LONGEST_LABEL))}</text>'
    )


def _box(step: Step, kind: Kind, middle: Point, stops: list[Stop]) -> Iterator[str]:
    x, y = middle
    state = "reached" if stops else "unreached"
    if any(stop.error for stop in stops):
        state += " broken"
    if any(stop.current for stop in stops):
        state += " current"
    yield f'<g class="step {kind} {state}" transform="translate({x:.1f} {y:.1f})">'
    yield f"<title>{escape(one_line(step.text) or one_line(step.name))}</title>"
    if stops:
        yield f'<a href="#stop-{stops[0].number}">'
    yield _shape(kind)
    rows = _rows(step.name)
    top = -8.0 * (len(rows) - 1) + 4.5
    for number, row in enumerate(rows):
        yield f'<text x="0" y="{top + 16 * number:.1f}">{escape(row)}</text>'
    if stops:
        numbers = [str(stop.number) for stop in stops]
        more = ["…"] if len(numbers) > MOST_NUMBERS else []
        shown = ", ".join(numbers[:MOST_NUMBERS] + more)
        yield f'<text class="number" x="{-layers.WIDTH / 2:g}" y="{-layers.HEIGHT / 2 - 5:g}">'
        yield f"{shown}</text></a>"
    yield "</g>"


def _shape(kind: Kind) -> str:
    width, height = layers.WIDTH, layers.HEIGHT
    right, low = width / 2, height / 2
    if kind == "decision":
        slant = 18
        points = (
            f"{-right:g},0 {slant - right:g},{-low:g} {right - slant:g},{-low:g} "
            f"{right:g},0 {right - slant:g},{low:g} {slant - right:g},{low:g}"
        )
        return f'<polygon points="{points}"/>'
    round_ = low if kind in ("terminator", "connector") else 5
    place = f'x="{-right:g}" y="{-low:g}" width="{width:g}" height="{height:g}"'
    bars = (
        f'<path d="M{9 - right:g} {-low:g}V{low:g}M{right - 9:g} {-low:g}V{low:g}"/>'
        if kind == "subprocess"
        else ""
    )
    return f'<rect {place} rx="{round_:g}"/>{bars}'


def _rows(name: str) -> list[str]:
    """A name in the three lines that fit into a box."""
    text = one_line(name)
    room = 25 if text.isascii() else 20
    rows = wrap(text, room) or [text]
    return [*rows[:2], _cut(" ".join(rows[2:]), room)] if len(rows) > 2 else rows


def _cut(text: str, most: int) -> str:
    text = one_line(text)
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
