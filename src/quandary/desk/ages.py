"""Ages, as people write them: 30m, 12h, 2d."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from quandary.errors import QuandaryError, StoreError
from quandary.journal import runs
from quandary.journal.chance import now, stamp

if TYPE_CHECKING:
    from quandary.journal.store import Store

_AGE = re.compile(r"(\d+)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def age(text: str) -> timedelta:
    """`2d` or `1h30m` as a span of time."""
    parts = _AGE.findall(text.strip().lower())
    if not parts or _AGE.sub("", text.strip().lower()).strip():
        raise QuandaryError(f"{text!r} is no age; write it like 30m, 12h or 2d")
    try:
        total = sum((timedelta(**{_UNITS[u]: int(number)}) for number, u in parts), timedelta())
        _ = now() + total, now() - total
    except (OverflowError, ValueError):
        short = text[:20]
        raise QuandaryError(f"{short!r} is longer than the calendar; write a shorter age") from None
    if not total:
        raise QuandaryError(f"{text!r} is no time at all; write it like 30m, 12h or 2d")
    return total


def later(text: str) -> datetime:
    """The moment that long from now."""
    return now() + age(text)


def end_what_expired(store: Store) -> None:
    """Withdraw every run whose time is up, so that lists do not show it as waiting."""
    with suppress(StoreError):  # where nobody can write, the lists are as old as the store
        for run in store.due(stamp(now())):
            runs.look(store, run)
