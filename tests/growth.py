"""How long something takes that is given more and more to do."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

MOST_TRIES = 5

Work = Callable[[], object]


def is_linear(prepare: Callable[[int], Work], size: int, times: int = 4) -> bool:
    """Whether so many times the size takes about as many times as long, with room for noise, and
    not its square. Noise only adds, so the least that each has taken counts.
    """
    small, large = prepare(size), prepare(times * size)
    least_small = least_large = float("inf")
    for _ in range(MOST_TRIES):
        least_small, least_large = min(least_small, took(small)), min(least_large, took(large))
        if least_large < 2.25 * times * least_small + 0.05:
            return True
    return False


def took(work: Work) -> float:
    """The processor time of this thread, without looking for other tests' garbage."""
    gc.disable()
    try:
        begun = time.thread_time()
        work()
        return time.thread_time() - begun
    finally:
        gc.enable()
