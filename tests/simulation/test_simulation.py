"""Seeds that are played: none goes wrong, each gives one history, and planted faults are found."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.__main__ import find_plant
from simulation.plants import PLANTS
from simulation.shrinking import shrink
from simulation.town import play
from simulation.world import Only

FRESH = 300
PARTS = 6
KEPT = (
    *(4, 57, 205, 255, 305, 1564, 4000099, 4000189, 4000506, 4000555, 4000750, 4000895, 4000910),
    *(4001193, 4001695, 5000473, 7005530, 7006431, 7007595, 7008981, 7009928, 102988, 577271655),
    *(630000822, 678605149, 8003148, 21, 357, 1768, 2185, 2199, 333887504, 333892785, 966294007),
    *(771697846, 771704672, 505128465),
)
"""Seeds that once went wrong."""
WITHIN = dict.fromkeys(PLANTS, 100)
"""After so many seeds a planted fault is found."""


@pytest.mark.parametrize("part", range(PARTS))
def test_fresh_seeds_hold(part: int) -> None:
    """Others every time; `make simulate SEED=…` plays one that does not hold again."""
    for _ in range(FRESH // PARTS):
        found = play(random.SystemRandom().randrange(10**9))
        assert not found.wrong, f"make simulate SEED={found.seed}  (part {part})"


@pytest.mark.parametrize("seed", KEPT)
def test_seeds_that_went_wrong_hold(seed: int) -> None:
    """What was mended stays mended."""
    assert play(seed).wrong == ""


def test_a_seed_gives_one_history_byte_for_byte() -> None:
    """In this process, once more, and in another one that sorts its sets otherwise."""
    seeds = range(20)
    here = [play(seed).digest for seed in seeds]
    assert here == [play(seed).digest for seed in seeds]
    code = f"from simulation.town import play; print(*(play(s).digest for s in {seeds}))"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "7",
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    command = [sys.executable, "-c", code]
    there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert here == there.stdout.split()


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_found(plant: str) -> None:
    """Within the number of seeds that it took before."""
    assert find_plant(plant, WITHIN[plant])


def test_a_failing_seed_is_shrunk_and_played_again_from_its_line() -> None:
    """What is printed is enough, and fails in the same way."""
    seed = find_plant("token") - 1
    whole = play(seed, plant="token")
    short = shrink(whole, "token")
    assert len(short.lines) < len(whole.lines)
    again = play(seed, Only.read(str(short.only)), "token")
    assert (short.wrong, short.digest) == (again.wrong, again.digest)
