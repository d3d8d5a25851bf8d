"""Charts for the tests of every room: written in short, or found by Hypothesis."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, get_args

from hypothesis import strategies as st

from quandary.model.chart import Chart, Page, Route, Scenery, SceneryKind, Shape, Step
from strategies import HOSTILE, lines

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

HOSTILE_TEXTS = tuple(text for text in HOSTILE if "\ud800" not in text and len(text) < 1000)
"""Those of the hostile texts that a file can hold."""


def page(*steps: Step, routes: str = "") -> Page:
    """A page; its routes are written `a>b` or `a>b:label`, with spaces between them."""
    drawn = []
    for written in routes.split():
        ends, _, label = written.partition(":")
        source, _, target = ends.partition(">")
        drawn.append(Route(source, target, label))
    return Page("1", "Main", steps, tuple(drawn))


def plain_page(routes: str) -> Page:
    """A page with a step for each letter in its routes."""
    names = dict.fromkeys(end for w in routes.split() for end in w.partition(":")[0].split(">"))
    return page(*(Step(name, f"Do {name}") for name in names), routes=routes)


@cache
def texts() -> SearchStrategy[str]:
    """Any text, with line breaks, spaces around it and control characters, or none."""
    anything = st.text(st.characters(codec="utf-8"), max_size=24)
    several = st.lists(lines(), max_size=3).map("\n".join)
    return st.one_of(lines(), several, anything, st.sampled_from(HOSTILE_TEXTS))


@cache
def ids() -> SearchStrategy[str]:
    """An id as programs give them, or any text at all."""
    numbers = st.integers(1, 99).map(str)
    return st.one_of(numbers, st.sampled_from(("end", "graph", "a b", "o1", "x", "é")), lines())


@st.composite
def steps(draw: DrawFn, key: str) -> Step:
    """A step with some of what can be said of one."""
    return Step(
        key,
        draw(texts()),
        draw(st.sampled_from(get_args(Shape))),
        tuple(draw(st.lists(texts(), max_size=2))),
        draw(st.dictionaries(texts(), texts(), max_size=2)),
        tuple(draw(st.lists(texts(), max_size=1))),
        draw(st.one_of(st.just(""), texts())),
        draw(st.integers(0, 9)),
    )


@st.composite
def pages(draw: DrawFn, key: str) -> Page:
    """A page with merges, loops, lines to nowhere and things that are no steps."""
    keys = draw(st.lists(ids(), max_size=5, unique=True))
    ends = st.sampled_from([*keys, ""]) if keys else st.just("")
    routes = st.builds(Route, ends, ends, st.one_of(st.just(""), texts()), st.integers(0, 9))
    kinds = st.sampled_from(get_args(SceneryKind))
    return Page(
        key,
        draw(texts()),
        tuple(draw(steps(step)) for step in keys),
        tuple(draw(st.lists(routes, max_size=8))),
        tuple(draw(st.lists(st.builds(Scenery, ids(), kinds, texts()), max_size=2))),
    )


@st.composite
def charts(draw: DrawFn) -> Chart:
    """A chart of one to three pages."""
    keys = draw(st.lists(ids(), min_size=1, max_size=3, unique=True))
    start = draw(st.sampled_from(["", *keys]))
    return Chart(draw(texts()), tuple(draw(pages(key)) for key in keys), start)
