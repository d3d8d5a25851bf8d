"""Where the boxes and lines of a chart go: in layers from top to bottom, with few crossings."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


class _Chain(NamedTuple):
    """A line as the spots that it goes through from top to bottom."""

    spots: tuple[int, ...]
    upward: bool
    """It is drawn against that direction."""


def lay_out(ids: Sequence[str], lines: Sequence[tuple[str, str]], most: int) -> Layout | None:
    """Boxes and lines in layers; nothing where that would take more than so many spots.

    The boxes come in the order in which they should be read. Lines that lead back to where one
    came from are those that go up.
    """
    numbers = {key: n for n, key in enumerate(ids)}
    pairs = [(numbers[source], numbers[target]) for source, target in lines]
    upward = _backward(len(ids), pairs)
    down = [(b, a) if back else (a, b) for (a, b), back in zip(pairs, upward, strict=True)]
    layer = _layers(len(ids), [(a, b) for a, b in down if a != b])
    chains = []
    for (upper, lower), back in zip(down, upward, strict=True):
        spots = [upper]
        for between in range(layer[upper] + 1, layer[lower]):
            spots.append(len(layer))
            layer.append(between)
        chains.append(_Chain((*spots, lower), back))
        if len(layer) > most:
            return None
    rows = _ordered(layer, chains)
    across = _across(rows, chains, len(ids))
    return _drawn(ids, chains, across, layer)


def _backward(count: int, pairs: Sequence[tuple[int, int]]) -> list[bool]:
    """Which lines close a circle, when one starts from the first box and follows them all."""
    out: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(pairs):
        out[source].append(number)
    back = [False] * len(pairs)
    seen, open_ = [False] * count, [False] * count
    for first in range(count):
        if seen[first]:
            continue
        seen[first] = open_[first] = True
        trail = [(first, iter(out[first]))]
        while trail:
            at, left = trail[-1]
            line = next(left, None)
            if line is None:
                open_[at] = False
                trail.pop()
                continue
            target = pairs[line][1]
            if open_[target]:
                back[line] = target != at
            elif not seen[target]:
                seen[target] = open_[target] = True
                trail.append((target, iter(out[target])))
    return back


def _layers(count: int, down: Iterable[tuple[int, int]]) -> list[int]:
    """The layer of each box: one below the lowest of those that lead to it."""
    below: list[list[int]] = [[] for _ in range(count)]
    into = [0] * count
    for upper, lower in down:
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


def _neighbours(count: int, chains: Iterable[_Chain]) -> tuple[list[list[int]], list[list[int]]]:
    """For each spot those joined to it in the layer above, and those in the layer below."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for chain in chains:
        for upper, lower in pairwise(chain.spots):
            if upper != lower:
                above[lower].append(upper)
                below[upper].append(lower)
    return above, below


def _ordered(layer: Sequence[int], chains: Sequence[_Chain]) -> list[list[int]]:
    """The spots of each layer from left to right, near to those that they are joined to."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for spot, number in enumerate(layer):
        rows[number].append(spot)
    above, below = _neighbours(len(layer), chains)
    at = [0.0] * len(layer)
    for row in rows:
        for n, spot in enumerate(row):
            at[spot] = float(n)
    for sweep in range(SWEEPS):
        joined = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wanted = {spot: _mean([at[other] for other in joined[spot]], at[spot]) for spot in row}
            row.sort(key=wanted.__getitem__)
            for n, spot in enumerate(row):
                at[spot] = float(n)
    return rows


def _across(rows: Sequence[list[int]], chains: Sequence[_Chain], boxes: int) -> list[float]:
    """How far right each spot is: as near above and below its neighbours as there is room."""
    count = sum(map(len, rows))
    above, below = _neighbours(count, chains)
    across = [0.0] * count
    for row in rows:
        for spot, place in zip(row, _apart(row, [0.0] * len(row), boxes), strict=True):
            across[spot] = place
    for sweep in range(2 * SWEEPS):
        joined = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wanted = [_mean([across[o] for o in joined[spot]], across[spot]) for spot in row]
            for spot, place in zip(row, _apart(row, wanted, boxes), strict=True):
                across[spot] = place
    left = min((place - WIDTH / 2 for place in across), default=0.0)
    return [place - left for place in across]


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


def _drawn(
    ids: Sequence[str], chains: Sequence[_Chain], across: Sequence[float], layer: Sequence[int]
) -> Layout:
    down = [HEIGHT / 2 + number * (HEIGHT + DOWN) for number in layer]
    leaving, arriving = _ports(len(layer), chains, across)
    lines = []
    for number, chain in enumerate(chains):
        first, *between, last = chain.spots
        if first == last:
            lines.append(_loop(across[first], down[first]))
            continue
        points = [(leaving[number], down[first] + HEIGHT / 2)]
        for spot in between:
            points.append((across[spot], down[spot] - HEIGHT / 2))
            points.append((across[spot], down[spot] + HEIGHT / 2))
        points.append((arriving[number], down[last] - HEIGHT / 2))
        lines.append(Line(tuple(reversed(points) if chain.upward else points)))
    boxes = {key: (across[n], down[n]) for n, key in enumerate(ids)}
    loops = any(line.loop for line in lines)
    width = max(across, default=0.0) + WIDTH / 2 + (LOOP if loops else 0)
    return Layout(boxes, lines, width, max(down, default=0.0) + HEIGHT / 2)


def _ports(
    count: int, chains: Sequence[_Chain], across: Sequence[float]
) -> tuple[dict[int, float], dict[int, float]]:
    """Where each line leaves the box above and arrives at the one below, side by side."""
    lower: list[list[tuple[float, int]]] = [[] for _ in range(count)]
    upper: list[list[tuple[float, int]]] = [[] for _ in range(count)]
    for number, chain in enumerate(chains):
        if chain.spots[0] != chain.spots[-1]:
            lower[chain.spots[0]].append((across[chain.spots[1]], number))
            upper[chain.spots[-1]].append((across[chain.spots[-2]], number))
    found: list[dict[int, float]] = []
    for side in (lower, upper):
        places = {}
        for spot, ends in enumerate(side):
            ends.sort()
            step = min(APART, PORTS * WIDTH / max(len(ends) - 1, 1))
            for n, (_, number) in enumerate(ends):
                places[number] = across[spot] + (n - (len(ends) - 1) / 2) * step
        found.append(places)
    return found[0], found[1]


def _loop(x: float, y: float) -> Line:
    right = x + WIDTH / 2
    return Line(((right, y + 12), (right + LOOP, y), (right, y - 12)), loop=True)


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
