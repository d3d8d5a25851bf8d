"""What `make fuzz` feeds for hours is fed here for a moment, so that no target rots."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fuzz import visited
from fuzz.__main__ import rounds, targets
from fuzz.target import Broken, Target, try_out

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGETS = targets()
FEW = 25


@pytest.fixture(autouse=True)
def _at_home() -> Iterator[None]:
    """A target may have to stand in a folder of its own."""
    here = os.getcwd()
    yield
    os.chdir(here)


@pytest.fixture(autouse=True, scope="module")
def _until_the_end() -> Iterator[None]:
    """A server that a target started ends with the tests."""
    yield
    visited.close()


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_holds_for_its_examples_and_some_more(name: str) -> None:
    """Nothing but errors of ours comes out, and every rule holds."""
    target = TARGETS[name]
    seeds = list(target.seeds())
    assert seeds
    for seed in seeds[:6]:
        try_out(target, seed)
    assert rounds(target, try_out, FEW, seed=5) >= FEW


def test_what_breaks_a_rule_is_found() -> None:
    """A reader that cannot bear a certain sign is given that sign."""

    def dislikes(data: bytes) -> None:
        if b"{" in data:
            raise ZeroDivisionError

    target = Target("picky", dislikes, lambda: [b"plain"], ["{"])
    with pytest.raises(ZeroDivisionError):
        rounds(target, try_out, 200, seed=1)


def test_what_takes_squares_of_its_length_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An input that is read quickly is tried many times over as well."""
    spent = [0.0]
    monkeypatch.setattr("time.process_time", lambda: spent[0])
    monkeypatch.setattr("fuzz.target._EVERY", 1)

    def slow(data: bytes) -> None:
        spent[0] += len(data) ** 2 * 1e-8

    with pytest.raises(Broken, match="65536 bytes took"):
        try_out(Target("slow", slow, lambda: [b"x"]), b"x" * 64)
