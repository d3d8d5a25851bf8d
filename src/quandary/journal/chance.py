"""Chance: the clock, the ids of runs, salts and sleep, of the journal and of all that is above it.

Everything that a program cannot foresee comes from here, so that whoever replaces these functions
can play a journal from a seed.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 26  # of an id, in letters of the alphabet
_DIGITS = str.maketrans(ALPHABET, "0123456789abcdefghijklmnopqrstuv")  # as `int` reads them


def now() -> datetime:
    """The one clock of the journal, in UTC. It dates entries and never orders them."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """A moment as it is written down; two such texts compare like the moments."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def monotonic() -> float:
    """Seconds that pass whatever happens to the clock."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    """Let others go first."""
    time.sleep(seconds)


def salt() -> bytes:
    """What keeps a text that was pruned from being guessed."""
    return os.urandom(16)


def uniform(least: float, most: float) -> float:
    """How long to wait where several wait for the same; `random` takes long to load."""
    return least + (most - least) * int.from_bytes(os.urandom(4), "big") / 2**32


def new_id(moment: datetime, last: str | None) -> str:
    """An id for a run that begins now; it sorts behind `last` whatever the clock says."""
    number = int(moment.timestamp() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    if last is not None:
        number = max(number, int(last.translate(_DIGITS), 32) + 1)
    places = range(5 * LENGTH - 5, -5, -5)  # of the first bit of each letter
    return "".join([ALPHABET[number >> place & 31] for place in places])
