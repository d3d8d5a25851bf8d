"""Where the boxes and lines of a chart go: in layers from top to bottom, with few crossings."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 190.0, 62.0
ACROSS, DOWN = 34.0, 62.0
"""The gaps between boxes and between layers."""
NARROW = 14.0
"""The room of a line that passes through a layer."""
PORTS = 0.6
"""The part of a box's side at which lines may begin and end."""
APART = 26.0
"""How far apart lines leave a box where there is room."""
LOOP = 46.0
"""How far a line reaches out that leads back to its own box."""
SWEEPS = 6

Point = tuple[float, float]


class Line(NamedTuple):
    """A line from where it begins to where its arrow points."""

    points: tuple[Point, ...]
    loop: bool = False
    """It begins and ends at the same box."""


class Layout(NamedTuple):
    """The middles of the boxes, and the lines in the order in which they were given."""

    boxes: dict[str, Point]
    lines: list[Line]
    width: float
    height: float


def lay_out(ids: Sequence[str], lines: Sequence[tuple[str, str]], most: int) -> Layout | None:
    """Boxes and lines in layers; nothing where that would take more than so many spots.

    The boxes come in the order in which they should be read. Lines that lead back to where one
    came from are those that go up. A line takes a spot in every layer that it passes through.
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
    drawn = _lines(chains, across, middles)
    ways = [
        Line(line.points[::-1], line.loop) if back else line
        for line, back in zip(drawn, upward, strict=True)
    ]
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
    below: list[list[int]] = [[] for _ in range(count)]
    into = [0] * count
    for upper, lower in down:
        if upper != lower:
            below[upper].append(lower)
            into[lower] += 1
    layer = [0] * count
    free = [box for box in range(count) if not into[box]]
    for box in free:  # grows while we look
        for lower in below[box]:
            layer[lower] = max(layer[lower], layer[box] + 1)
            into[lower] -= 1
            if not into[lower]:
                free.append(lower)
    return layer


def _across(layer: Sequence[int], chains: Sequence[Sequence[int]], boxes: int) -> list[float]:
    """How far right each spot is: near to those above and below that it is joined to.

    First the order in each layer is found, by what would be the places in it; then the places.
    """
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
    """Places as near to those wanted as can be, in order and far enough from one another.

    Without the room that each needs, that is a row of numbers that must not fall: where it does,
    the neighbours are put together at their mean.
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
