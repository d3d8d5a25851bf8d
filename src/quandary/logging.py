"""Logs, on standard error: as text for people, or for programs as one JSON object to a line."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from quandary.model.text import reveal

Form = Literal["text", "json"]
MOST_ALIKE = 30
"""Warnings of one kind in a minute, and kinds that are told apart."""
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {
    *("message", "asctime", "taskName"),
    "color_message",  # the same once more, for screens
}
"""What every record has; anything else was added by whoever logged it."""


class Lines(logging.Formatter):
    """A record for people, with nothing hidden in it."""

    def format(self, record: logging.LogRecord) -> str:
        return reveal(super().format(record))


class JsonLines(logging.Formatter):
    """A record as one line: when, how grave, from whom, what, and whatever came along."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; what JSON cannot hold is written as text."""
        said: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        added = {name: value for name, value in vars(record).items() if name not in _OWN}
        said = {**said, **added, **said}
        if record.exc_info and record.exc_info[1] is not None:
            said["error"] = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
            said["traceback"] = self.formatException(record.exc_info)
        try:
            return msgspec.json.encode(said, enc_hook=str).decode()
        except (UnicodeEncodeError, TypeError, ValueError, OverflowError, RecursionError):
            return msgspec.json.encode({_text(name): _text(said[name]) for name in said}).decode()


class Sparing(logging.Filter):
    """Lets few warnings that are alike through in a minute, so that nobody can fill a disk."""

    def __init__(self) -> None:
        super().__init__()
        self._until = 0.0
        self._seen: Counter[object] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged; the last of its minute says that more may have come."""
        if record.levelno < logging.WARNING:
            return True
        now = time.monotonic()
        if now > self._until:
            self._until = now + 60
            self._seen.clear()
        error = record.exc_info[0] if record.exc_info else None
        if error is not None and error.__name__ == "CancelledError":
            return False  # a request that the server let go of as it ended
        kind: object = (record.name, record.msg, error)
        if kind not in self._seen and len(self._seen) >= MOST_ALIKE:
            kind = None
        self._seen[kind] += 1
        if self._seen[kind] == MOST_ALIKE:
            record.msg, record.args = f"{record.getMessage()} (no more such lines this minute)", ()
        return self._seen[kind] <= MOST_ALIKE


def log_as(form: Form, level: str | None = None) -> None:
    """Have all that is logged in this process go to standard error, as far as it is grave enough.

    By default people are told what goes wrong, and programs what happens. Only our own rooms may
    go into details: those of other packages can hold what was said, or who said it.
    """
    usual = "info" if form == "json" else "warning"
    wanted = getattr(logging, (level or usual).upper())
    handler = logging.StreamHandler(sys.stderr)
    words = Lines("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else words)
    handler.addFilter(Sparing())
    logging.basicConfig(level=max(wanted, logging.INFO), handlers=[handler], force=True)
    logging.getLogger("quandary").setLevel(wanted)
    # Whoever uses the pool says in words of our own what goes wrong with it.
    logging.getLogger("psycopg.pool").setLevel(max(wanted, logging.ERROR))


def _text(value: object) -> str:
    return str(value).encode(errors="replace").decode()
