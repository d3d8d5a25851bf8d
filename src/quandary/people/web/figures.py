"""Numbers for the page of statistics, and the bars of its plots."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from quandary.journal.counts import occasions, summarize_questions
from quandary.journal.entries import now

if TYPE_CHECKING:
    from quandary.journal.counts import Statistics
    from quandary.journal.store import Store

DAYS = 30
MOST_QUESTIONS = 50
WIDTH, HEIGHT = 600, 120
_TIMES = ((10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (86400, "1 d"))


class Bar(NamedTuple):
    """A bar of a plot: where it stands, how large it is, and what it says."""

    x: float
    y: float
    width: float
    height: float
    number: int
    name: str
    shown: bool
    """Whether its name is written below it."""


class Figures(NamedTuple):
    """All of them."""

    seq: int
    found: Statistics
    days: list[Bar]
    times: list[Bar]
    today: int
    by: list[tuple[str, int]]
    followed: tuple[int, int]
    """How often one option was recommended, and how often it was taken."""


_kept: dict[int, Figures] = {}
"""The last figures of a store: they only change when something is appended."""


def gather_figures(store: Store) -> Figures:
    """Count the questions of all projects."""
    newest = store.newest()
    known = _kept.get(id(store))
    if known is not None and known.seq == newest:
        return known
    every = list(occasions(store))
    days = Counter(occasion.asked[:10] for occasion in every)
    today = now().date()
    names = [(today - timedelta(days=ago)).isoformat() for ago in range(DAYS - 1, -1, -1)]
    people = [o for o in every if o.answered and o.who != "policy"]
    bounds = [bound for bound, _ in _TIMES]
    spans = Counter(bisect_right(bounds, o.seconds) for o in people if o.seconds is not None)
    labels = [f"< {name}" for _, name in _TIMES] + ["longer"]
    judged = [o.followed for o in every if o.followed is not None]
    _kept.clear()
    _kept[id(store)] = Figures(
        newest,
        summarize_questions(every),
        bars([(name, days[name]) for name in names], every_so_many=7),
        bars([(label, spans[place]) for place, label in enumerate(labels)]),
        days[today.isoformat()],
        Counter(o.who for o in every if o.answered).most_common(),
        (len(judged), sum(judged)),
    )
    return _kept[id(store)]


def bars(counts: list[tuple[str, int]], every_so_many: int = 1) -> list[Bar]:
    """Columns beside one another; the last of them has its name in any case."""
    most = max((count for _, count in counts), default=0) or 1
    room = WIDTH / max(len(counts), 1)
    found = []
    for place, (name, count) in enumerate(counts):
        height = round(HEIGHT * count / most, 1)
        shown = (len(counts) - 1 - place) % every_so_many == 0
        left = round(place * room + room * 0.1, 1)
        found.append(
            Bar(left, round(HEIGHT - height, 1), round(room * 0.8, 1), height, count, name, shown)
        )
    return found
