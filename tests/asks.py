"""Hypothesis strategies for Asks, and for the picks that a person makes in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from quandary.model import keys
from quandary.model.asks import MORE, Ask, Choice, Limits, Note, Preamble, Question
from quandary.model.tree import Extra
from strategies import codes, lines, paragraphs

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

AWKWARD = (
    "Other",
    "other",
    "None of the above",
    "None of these",
    "(notes only)",
    "a, b",
    "a",
    "b",
    "b, c",
    "c",
    ",",
    ", a",
    "a,",
    'say "yes", then go',
    'x"="y',
    "first\nsecond",
    "…",
    "...",
    "1. One",
    "**bold**",
    "👩\u200d👩\u200d👧, 🇨🇭",
    "null",
    "{}",
    "[OK]",
    " padded ",
)
"""Labels that mean something to a host, to us, or to whoever joins them with commas."""


def labels() -> SearchStrategy[str]:
    """What may stand on an option."""
    return st.one_of(
        lines(), st.sampled_from(AWKWARD), st.lists(lines(), min_size=2, max_size=3).map(", ".join)
    )


@st.composite
def questions(draw: DrawFn, number: int = 1, options: int = 4) -> Question:
    """A question with as many options as a box can hold, or fewer."""
    own = draw(st.lists(codes(), max_size=options + 2, unique=True))
    shown = own[: draw(st.integers(0, options))]
    choices = [_choice(draw, code) for code in shown]
    if choices and draw(st.integers(0, 4)) == 0:
        choices[-1] = Choice(MORE, "More…", "2 further options")
    return Question(
        key=keys.place(str(number)),
        header=draw(st.one_of(st.just(""), st.just(f"{number}. "), lines())),
        text=draw(st.one_of(lines(), paragraphs(), st.just("Is it good?"))),
        choices=tuple(choices),
        multi=draw(st.booleans()),
        item=str(number),
        title=draw(st.one_of(st.just(""), lines())),
        named=tuple(_choice(draw, f"OTH/{code}") for code in own[len(shown) :]),
        menu=draw(st.booleans()),
        extras=tuple(Extra(letter, "extra") for letter in draw(st.sampled_from(("", "A", "AB")))),
    )


@st.composite
def asks(draw: DrawFn, limits: Limits | None = None) -> Ask:
    """Any Ask that a box with these limits can hold."""
    box = limits or Limits()
    count = draw(st.integers(1, box.questions))
    asked = tuple(draw(questions(number, box.options)) for number in range(1, count + 1))
    return Ask(
        asked[0].key,
        draw(st.sampled_from(("transition", "advisory"))),
        Preamble(draw(paragraphs()), blocks=tuple(draw(st.lists(lines(), max_size=2)))),
        asked,
        tuple(Note("matched", text, "1") for text in draw(st.lists(lines(), max_size=2))),
    )


@st.composite
def picks(draw: DrawFn, ask: Ask) -> list[list[int]]:
    """For each question, which of its choices are ticked, in the order of ticking."""
    ticked = []
    for question in ask.questions:
        every = list(range(len(question.choices)))
        most = len(every) if question.multi else min(len(every), 1)
        order = draw(st.permutations(every))
        ticked.append(order[: draw(st.integers(0, most))])
    return ticked


def _choice(draw: DrawFn, code: str) -> Choice:
    return Choice(code, draw(labels()), draw(paragraphs()), branch=draw(st.booleans()))
