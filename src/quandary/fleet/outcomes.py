"""What becomes of a job: it is done, goes back into the queue, or is given up."""

from __future__ import annotations

from typing import NamedTuple

from quandary.errors import QuandaryError, Rejected, StoreError

LONGEST_PAUSE = 60.0
"""Seconds before something is tried again that has failed many times."""
MOST_ATTEMPTS = 5
"""How often an error is tried again that nobody foresaw."""


class Outcome(NamedTuple):
    """What becomes of a job."""

    kind: str
    """`done`, `back` or `failed`."""
    why: str = ""
    pause: float = 0.0
    """Seconds that it waits in the queue before anybody takes it."""


DONE = Outcome("done")


def back(why: str, attempts: int = -1) -> Outcome:
    """Into the queue again: at once, or after a while that doubles with each attempt."""
    pause = min(2.0 ** min(attempts, 10), LONGEST_PAUSE) if attempts >= 0 else 0.0
    return Outcome("back", why, pause)


def verdict(error: Exception, attempts: int) -> Outcome:
    """What an error means for the job.

    Only what has nothing to do with the run is tried again: the database is away, another process
    walks the run. A run that cannot go on would not go on the next time either.
    """
    if isinstance(error, StoreError | Rejected):
        return back(str(error), attempts)
    if isinstance(error, QuandaryError):
        return Outcome("failed", str(error))
    if attempts + 1 < MOST_ATTEMPTS:
        return back(f"{type(error).__name__}: {error}", attempts)
    return Outcome("failed", f"{type(error).__name__}: {error}")
