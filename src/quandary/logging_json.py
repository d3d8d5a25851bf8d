"""Logs for programs: one JSON object to a line, whatever was logged."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; anything else was added by whoever logged it."""


class JsonLines(logging.Formatter):
    """A record as one line: when, how grave, from whom, what, and whatever came along."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; what JSON cannot hold is written as text."""
        added = {name: value for name, value in vars(record).items() if name not in _OWN}
        said: dict[str, Any] = {
            **added,
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            said["error"] = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
            said["traceback"] = self.formatException(record.exc_info)
        return _line(said)


def log_as_json(level: int = logging.INFO) -> None:
    """Have everything that is logged in this process go to standard error, as such lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _line(said: dict[str, Any]) -> str:
    try:
        return msgspec.json.encode(said, enc_hook=str).decode()
    except (UnicodeEncodeError, TypeError, ValueError, OverflowError, RecursionError):
        return msgspec.json.encode({_text(name): _text(said[name]) for name in said}).decode()


def _text(value: object) -> str:
    return str(value).encode(errors="replace").decode()
