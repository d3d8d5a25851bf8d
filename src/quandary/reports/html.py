"""A report of a walk as one HTML file that opens offline, with no script and nothing to fetch.

Every text in it was written by somebody else, so every one is escaped, and a policy in the file
itself keeps a browser from running or loading anything, should one ever slip through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import TopologicalSorter
from html import escape
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from quandary import __version__
from quandary import reports as words
from quandary.model.chart import QUIET, Chart, Kind, Map, Page, Step
from quandary.model.text import one_line, shorten

if TYPE_CHECKING:
    from quandary.reports import Exchange, Stop, Story
    from quandary.reports.retelling import Told


POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_TONES = {"completed": "good", "failed": "bad", "stopped": "bad"}
_VERDICTS = {"passed": "good", "failed": "bad", None: "open"}


def report(told: Told) -> str:
    """The whole file."""
    story = told.story
    name = _text(story.chart or "A walk")
    heading = f"{name}: {_text(words.headline(story))}"
    tone = _TONES.get(story.outcome or "", "open")
    run = _text(story.run)
    style = Path(__file__).with_name("report.css").read_text()
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{heading}</title>\n<style>\n{style}</style>\n</head>",
        f"<body>\n<header>\n<h1><bdi>{name}</bdi></h1>",
        f'<p class="outcome {tone}"><strong>{_text(words.headline(story))}</strong></p>\n<dl>',
        *(f"<dt>{name}</dt><dd><bdi>{_text(text)}</bdi></dd>" for name, text in words.about(story)),
        "</dl>\n</header>\n<main>",
        *(_pages(told.chart, story) if told.chart is not None else ()),
        "<h2>What happened</h2>" if story.stops else "",
        *(line for stop in story.stops for line in _stop(stop)),
        *_others(story),
        f"</main>\n<footer>Run {run}, reported by Quandary {_text(__version__)}.",
        f"<code>quandary verify {run}</code> checks that its journal was not changed.</footer>",
        "</body>\n</html>\n",
    ]
    return "\n".join(filter(None, parts))


def _text(text: str) -> str:
    """A text on one line, safe between tags and in attributes."""
    return escape(one_line(text))


def _pages(chart: Chart, story: Story) -> Iterator[str]:
    if not (pages := words.pages_of(chart, story)):
        return
    yield "<h2>The chart</h2>"
    yield (
        '<p class="legend">What was reached is filled and has the numbers of its visits; what was '
        "taken is drawn thick. A dashed edge is where the run stands.</p>"
    )
    for number, page in enumerate(pages, 1):
        if len(pages) > 1:
            yield f"<h3><bdi>{_text(page.name or page.id)}</bdi></h3>"
        if drawn := picture(page, chart, story, f"page-{number}"):
            label = _text(page.name or chart.name) or "The chart"
            opening = f'<div class="chart" role="region" aria-label="{label}" tabindex="0">'
            yield f"{opening}\n{drawn}\n</div>"
        else:
            yield f"<p>The page has {len(page.steps):,} steps, too many to be drawn.</p>"


def _stop(stop: Stop) -> Iterator[str]:
    quiet = stop.kind in QUIET or not (stop.attempts or stop.error or stop.current)
    kinds = "stop quiet" if quiet else "stop"
    yield f'<section class="{kinds}{" deep" if stop.depth else ""}" id="stop-{stop.number}">'
    yield f"<h3>{stop.number}. <bdi>{_text(words.title(stop))}</bdi></h3>"
    if not quiet and (came := words.sum_up(stop)):
        yield f'<p class="{"bad" if stop.error else "came"}">{_text(came)}</p>'
    for attempt in stop.attempts:
        tone, name = _VERDICTS[attempt.verdict], _text(words.tell_attempt(attempt))
        opened = " open" if len(stop.attempts) == 1 or attempt.verdict != "passed" else ""
        yield f'<details{opened}><summary class="{tone}">{name}</summary>'
        if attempt.critique:
            yield f'<div class="text">{_pre(attempt.critique)}</div>'
        yield from (*_exchanges(attempt.exchanges), "</details>")
    yield "</section>"


def _exchanges(exchanges: Iterable[Exchange]) -> Iterator[str]:
    for exchange in exchanges:
        asked, answer = _text(words.tell_request(exchange)), _text(words.answer(exchange))
        yield f'<details class="exchange">\n<summary><bdi>{asked}</bdi>: {answer}</summary>'
        for name, text in words.texts(exchange):
            yield f'<div class="text"><span class="legend">{name}</span>{_pre(text)}</div>'
        yield "</details>"


def _pre(text: str) -> str:
    return '<pre dir="auto" tabindex="0">\n' + escape("\n".join(words.lines(text))) + "</pre>"


def _others(story: Story) -> Iterator[str]:
    for name, exchanges in words.others(story):
        yield f"<h2>{name}</h2>"
        yield from _exchanges(exchanges)
    if story.remarks:
        yield "<h2>Also noted</h2>\n<ul>"
        for moment, said in words.tell_remarks(story):
            yield f"<li>{moment} <bdi>{escape(said)}</bdi></li>"
        yield "</ul>"


WIDTH, HEIGHT = 190.0, 62.0
ACROSS, DOWN = 34.0, 62.0  # the gaps between boxes and between layers
NARROW = 14.0  # the room of a line that passes through a layer
PORTS = 0.6  # the part of a box's side at which lines may begin and end
APART = 26.0  # how far apart lines leave a box where there is room
LOOP = 46.0  # how far a line reaches out that leads back to its own box
SWEEPS = 6

Point = tuple[float, float]


class Line(NamedTuple):
    """A line from where it begins to where its arrow points."""

    points: tuple[Point, ...]
    loop: bool = False  # it begins and ends at the same box


class Layout(NamedTuple):
    """The middles of the boxes, and the lines in the order in which they were given."""

    boxes: dict[str, Point]
    lines: list[Line]
    width: float
    height: float


def lay_out(ids: Sequence[str], lines: Sequence[tuple[str, str]], most: int) -> Layout | None:
    """Boxes and lines in layers; nothing where that would take more than so many spots. The boxes
    come in the order in which they should be read. Lines that lead back to where one came from are
    those that go up. A line takes a spot in every layer that it passes through.
    """
    numbers = {key: n for n, key in enumerate(ids)}
    pairs = [(numbers[source], numbers[target]) for source, target in lines]
    upward = _backward(len(ids), pairs)
    down = [(b, a) if back else (a, b) for (a, b), back in zip(pairs, upward, strict=True)]
    layer = _layers(len(ids), down)
    chains: list[list[int]] = []
    for upper, lower in down:
        between = range(layer[upper] + 1, layer[lower])
        chains.append([upper, *range(len(layer), len(layer) + len(between)), lower])
        layer += between
        if len(layer) > most:
            return None
    across = _across(layer, chains, len(ids))
    middles = [HEIGHT / 2 + number * (HEIGHT + DOWN) for number in layer]
    drawn = zip(_lines(chains, across, middles), upward, strict=True)
    ways = [line._replace(points=line.points[::-1]) if back else line for line, back in drawn]
    boxes = {key: (across[n], middles[n]) for n, key in enumerate(ids)}
    width = max(across, default=0.0) + WIDTH / 2 + LOOP * any(line.loop for line in ways)
    return Layout(boxes, ways, width, max(middles, default=0.0) + HEIGHT / 2)


def _backward(count: int, pairs: Sequence[tuple[int, int]]) -> list[bool]:
    """Which lines close a circle, when one starts from the first box and follows them all."""
    out: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(pairs):
        out[source].append(number)
    back = [False] * len(pairs)
    seen: set[int] = set()
    for first in range(count):
        trail = [] if first in seen else [(first, iter(out[first]))]
        open_ = {box for box, _ in trail}
        seen |= open_
        while trail:
            at, left = trail[-1]
            line = next(left, None)
            if line is None:
                open_.discard(at)
                trail.pop()
                continue
            target = pairs[line][1]
            if target in open_:
                back[line] = target != at
            elif target not in seen:
                seen.add(target)
                open_.add(target)
                trail.append((target, iter(out[target])))
    return back


def _layers(count: int, down: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box: one below the lowest of those that lead to it."""
    above: dict[int, set[int]] = {box: set() for box in range(count)}
    for upper, lower in down:
        if upper != lower:
            above[lower].add(upper)
    layer = [0] * count
    for box in TopologicalSorter(above).static_order():
        layer[box] = max((layer[upper] + 1 for upper in above[box]), default=0)
    return layer


def _across(layer: Sequence[int], chains: Sequence[Sequence[int]], boxes: int) -> list[float]:
    """How far right each spot is: near to those above and below that it is joined to."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    above: list[list[int]] = [[] for _ in layer]
    below: list[list[int]] = [[] for _ in layer]
    at = [0.0] * len(layer)
    for spot, number in enumerate(layer):
        at[spot] = float(len(rows[number]))
        rows[number].append(spot)
    for upper, lower in (pair for chain in chains for pair in pairwise(chain)):
        if upper != lower:
            above[lower].append(upper)
            below[upper].append(lower)
    for sweep in range(3 * SWEEPS):
        joined = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wanted = {s: sum(at[o] for o in joined[s]) / (len(joined[s]) or 1) for s in row}
            wanted |= {spot: at[spot] for spot in row if not joined[spot]}
            places = [float(n) for n in range(len(row))]
            if sweep < SWEEPS:
                row.sort(key=wanted.__getitem__)
            else:
                places = _apart(row, [wanted[spot] for spot in row], boxes)
            for spot, place in zip(row, places, strict=True):
                at[spot] = place
    left = min(at, default=0.0) - WIDTH / 2
    return [place - left for place in at]


def _apart(row: Sequence[int], wanted: Sequence[float], boxes: int) -> list[float]:
    """Places as near to those wanted as can be, in order and far enough from one another. Without
    the room that each needs, that is a row of numbers that must not fall: where it does, the
    neighbours are put together at their mean.
    """
    room = [0.0]
    for left, right in pairwise(row):
        half = [WIDTH / 2 if spot < boxes else NARROW / 2 for spot in (left, right)]
        room.append(room[-1] + sum(half) + ACROSS)
    blocks: list[tuple[float, int]] = []
    for place, before in zip(wanted, room, strict=True):
        total, size = place - before, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / size:
            earlier, number = blocks.pop()
            total, size = total + earlier, size + number
        blocks.append((total, size))
    level = [total / size for total, size in blocks for _ in range(size)]
    return [place + before for place, before in zip(level, room, strict=True)]


def _lines(
    chains: Sequence[Sequence[int]], across: Sequence[float], middles: Sequence[float]
) -> list[Line]:
    """The lines from top to bottom; where several leave a box, or arrive at it, side by side."""
    sides: dict[tuple[int, bool], list[tuple[float, int]]] = {}
    for number, chain in enumerate(chains):
        if chain[0] != chain[-1]:
            sides.setdefault((chain[0], True), []).append((across[chain[1]], number))
            sides.setdefault((chain[-1], False), []).append((across[chain[-2]], number))
    port: dict[tuple[int, bool], float] = {}
    for (spot, leaves), ends in sides.items():
        step = min(APART, PORTS * WIDTH / max(len(ends) - 1, 1))
        for n, (_, number) in enumerate(sorted(ends)):
            port[number, leaves] = across[spot] + (n - (len(ends) - 1) / 2) * step
    found = []
    for number, (first, *between, last) in enumerate(chains):
        if first == last:
            right, y = across[first] + WIDTH / 2, middles[first]
            found.append(Line(((right, y + 12), (right + LOOP, y), (right, y - 12)), loop=True))
            continue
        points = [(port[number, True], middles[first] + HEIGHT / 2)]
        for spot in between:
            points.append((across[spot], middles[spot] - HEIGHT / 2))
            points.append((across[spot], middles[spot] + HEIGHT / 2))
        points.append((port[number, False], middles[last] - HEIGHT / 2))
        found.append(Line(tuple(points)))
    return found


MOST_STEPS = 250  # a page with more is listed; nobody finds their way through such a picture
MOST_SPOTS = 4_000
MARGIN = 26.0
LONGEST_LABEL = 22
MOST_NUMBERS = 4


def picture(page: Page, chart: Chart, story: Story, name: str) -> str:
    """The picture of a page; nothing where it would be too large. `name` sets its parts apart."""
    ways = Map(page, chart)
    first = ways.walk(ways.start) if ways.start is not None else ()
    steps = list({step.id: step for step in (*first, *ways.steps.values())}.values())
    if not steps or len(steps) > MOST_STEPS:
        return ""
    routes = [route for step in steps for route in ways.ways(step)]
    ends = [(route.source, route.target) for route in routes]
    if (layout := lay_out([step.id for step in steps], ends, MOST_SPOTS)) is None:
        return ""
    taken = words.taken_on(page, story.legs)
    stops: dict[str, list[Stop]] = {}
    for stop in story.stops:
        if stop.page == page.id:
            stops.setdefault(stop.id, []).append(stop)
    found = [_opening(page, chart, layout, name)]
    pairs = zip(routes, layout.lines, strict=True)
    drawn = [(r.label, line, (r.source, r.target, r.label) in taken) for r, line in pairs]
    for label, line, was_taken in sorted(drawn, key=lambda one: one[2]):
        kind = "taken" if was_taken else "drawn"
        said = f"<title>{escape(one_line(label))}</title>" if label.strip() else ""
        path = f'<path d="{_path(line)}" marker-end="url(#{name}-{kind})"/>'
        found.append(f'<g class="line {kind}">{said}{path}</g>')
    for step in steps:
        found += _box(step, ways.kind(step), layout.boxes[step.id], stops.get(step.id, []))
    found += [_label(label, line) for label, line, _ in drawn if label.strip()]
    return "\n".join([*found, "</svg>"])


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
    (x, y), (to_x, to_y) = line.points[:2]
    beside = (x + (to_x - x) * 0.35, y + (to_y - y) * 0.42)
    x, y = (to_x - 14, to_y - 16) if line.loop else beside
    shown = escape(shorten(one_line(label), LONGEST_LABEL))
    return f'<text class="label" x="{x:.1f}" y="{y:.1f}">{shown}</text>'


def _box(step: Step, kind: Kind, middle: Point, stops: list[Stop]) -> Iterator[str]:
    x, y = middle
    state = "reached" if stops else "unreached"
    state += " broken" if any(stop.error for stop in stops) else ""
    state += " current" if any(stop.current for stop in stops) else ""
    yield f'<g class="step {kind} {state}" transform="translate({x:.1f} {y:.1f})">'
    yield f"<title>{escape(one_line(step.text) or one_line(step.name))}</title>"
    if stops:
        yield f'<a href="#stop-{stops[0].number}">'
    yield _shape(kind)
    text = one_line(step.name)
    room = 25 if text.isascii() else 20
    rows = wrap(text, room) or [text]
    if len(rows) > 3:
        rows[2:] = [shorten(" ".join(rows[2:]), room)]
    top = -8.0 * (len(rows) - 1) + 4.5
    for number, row in enumerate(rows):
        yield f'<text x="0" y="{top + 16 * number:.1f}">{escape(row)}</text>'
    if stops:
        numbers = [str(stop.number) for stop in stops]
        more = ["…"] if len(numbers) > MOST_NUMBERS else []
        yield f'<text class="number" x="{-WIDTH / 2:g}" y="{-HEIGHT / 2 - 5:g}">'
        yield f"{', '.join(numbers[:MOST_NUMBERS] + more)}</text></a>"
    yield "</g>"


def _shape(kind: Kind) -> str:
    right, low = WIDTH / 2, HEIGHT / 2
    if kind == "decision":
        slant = 18
        points = (
            f"{-right:g},0 {slant - right:g},{-low:g} {right - slant:g},{-low:g} "
            f"{right:g},0 {right - slant:g},{low:g} {slant - right:g},{low:g}"
        )
        return f'<polygon points="{points}"/>'
    round_ = low if kind in ("terminator", "connector") else 5
    place = f'x="{-right:g}" y="{-low:g}" width="{WIDTH:g}" height="{HEIGHT:g}"'
    bars = f'<path d="M{9 - right:g} {-low:g}V{low:g}M{right - 9:g} {-low:g}V{low:g}"/>'
    return f'<rect {place} rx="{round_:g}"/>{bars if kind == "subprocess" else ""}'
