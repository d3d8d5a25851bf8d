"""`python -m simulation --seeds 1000`: play seeds, and show the shortest history that goes wrong.

`--seed 123` plays one of them; `--plant all` shows after how many seeds planted faults are found.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time

from simulation.plants import PLANTS
from simulation.shrinking import shrink, tell
from simulation.town import play
from simulation.world import Only

PROCESSES = 2
ENOUGH = 2_000
"""A planted fault that is not found within so many seeds is not found."""


def main() -> int:
    """Play what was asked for; status 1 where anything is wrong."""
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="so many fresh seeds")
    parser.add_argument("--first", type=int, help="the first of them; by default, anywhere")
    parser.add_argument("--seed", type=int, help="just this one")
    parser.add_argument("--only", default="", help="as much of it as was printed")
    parser.add_argument("--plant", default="", choices=["", "all", *PLANTS])
    given = parser.parse_args()
    if given.plant == "all":
        return _find_plants()
    if given.seed is not None:
        return _play_one(given.seed, Only.read(given.only) if given.only else None, given.plant)
    first = random.SystemRandom().randrange(10**9) if given.first is None else given.first
    return _play_many(range(first, first + given.seeds), given.plant)


def _play_one(seed: int, only: Only | None, plant: str) -> int:
    found = play(seed, only, plant)
    if not found.wrong:
        print("\n".join(found.lines))
        print(f"seed {seed}: all is well ({found.digest[:12]})")
        return 0
    print(f"seed {seed}: {tell(found if only else shrink(found, plant), plant)}")
    return 1


def _play_many(seeds: range, plant: str) -> int:
    wrong: list[int] = []
    begun, spent = time.monotonic(), 0.0
    work = [(seed, plant) for seed in seeds]
    with multiprocessing.Pool(PROCESSES) as pool:
        for count, (seed, is_wrong, seconds) in enumerate(pool.imap_unordered(_try, work, 10), 1):
            spent += seconds
            wrong += [seed] if is_wrong else []
            if count % 100 == 0 and sys.stderr.isatty():
                rate = count / (time.monotonic() - begun)
                told = f"{count:,} of {len(seeds):,} seeds, {rate:.0f} a second, {len(wrong)} wrong"
                print(f"\r{told}", end="", file=sys.stderr, flush=True)
    took = f"{len(seeds) / spent:.1f} seeds in a second of one core"
    print(f"\r{len(seeds):,} seeds from {seeds[0]}: {len(wrong)} wrong; {took}")
    if wrong:
        _play_one(min(wrong), None, plant)
        print("wrong too:", *sorted(wrong)[1:20])
    return int(bool(wrong))


def _try(work: tuple[int, str]) -> tuple[int, bool, float]:
    seed, plant = work
    begun = time.process_time()
    return seed, bool(play(seed, plant=plant).wrong), time.process_time() - begun


def find_plant(plant: str, most: int = ENOUGH) -> int:
    """After how many seeds a planted fault is found; 0 where it is not."""
    return next((seed + 1 for seed in range(most) if play(seed, plant=plant).wrong), 0)


def _find_plants() -> int:
    with multiprocessing.Pool(PROCESSES) as pool:
        found = dict(zip(PLANTS, pool.map(find_plant, PLANTS, 1), strict=True))
    for name, number in found.items():
        print(f"{name:12} {number or 'never':>6}  {PLANTS[name].what}")
    return int(not all(found.values()))


if __name__ == "__main__":
    sys.exit(main())
