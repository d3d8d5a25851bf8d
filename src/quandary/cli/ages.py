"""Ages, as people write them: 30m, 12h, 2d."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from quandary.errors import QuandaryError

_AGE = re.compile(r"(\d+)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def age(text: str) -> timedelta:
    """`2d` or `1h30m` as a span of time."""
    parts = _AGE.findall(text.strip().lower())
    if not parts or _AGE.sub("", text.strip().lower()).strip():
        raise QuandaryError(f"{text!r} is no age; write it like 30m, 12h or 2d")
    total = timedelta()
    for number, unit in parts:
        total += timedelta(**{_UNITS[unit]: int(number)})
    return total


def later(text: str) -> datetime:
    """The moment that long from now."""
    return datetime.now(UTC) + age(text)
