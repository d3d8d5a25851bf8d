"""Inputs for a target, made out of its seeds and words by Hypothesis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from fuzz.target import Target


def inputs(target: Target) -> SearchStrategy[bytes]:
    """A seed with a few changes, several of the words, or any bytes."""
    seeds = list(target.seeds())
    words = [word.encode() for word in target.words] or [b"x"]
    joined = st.lists(st.one_of(st.sampled_from(words), st.binary(max_size=4)), max_size=24).map(
        b"".join
    )
    return st.one_of(_changed(seeds, words), joined, st.binary(max_size=200))


@st.composite
def _changed(draw: DrawFn, seeds: list[bytes], words: list[bytes]) -> bytes:
    text = bytearray(draw(st.sampled_from(seeds))[:4096])
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(text)))
        end = at + draw(st.sampled_from((0, 0, 1, 4, 40)))
        text[at:end] = draw(st.one_of(st.sampled_from(words), st.binary(max_size=3)))
    return bytes(text)
