"""How entries are appended on PostgreSQL: one statement, which takes a number only if it may.

Each writer holds, from before it takes a number until it has committed, an advisory lock that names
the lowest number it may get (see `postgres.py`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from quandary.journal.store import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quandary.journal.entries import Entry

ENTRY = "run, n, kind, body, matter, salt, seal, digest"
FEW = 4
"""So many entries are written out one by one, which psycopg and the server do more quickly than
lists. What is appended to a run under way are hardly ever more."""

_MOVE = """
    UPDATE run SET key = %(key)s, asked = %(asked)s, n = %(n)s, head = %(head)b,
        since = %(since)s, status = %(status)s, waits = %(waits)s
    WHERE id = %(id)s AND n = %(seen)s RETURNING id
"""
_BEGIN = f"""
    INSERT INTO run ({", ".join(TABLES["run"])})
    VALUES ({", ".join(f"%({name})s" for name in TABLES["run"])}) RETURNING id
"""  # noqa: S608 - our own names
_TYPES = {"n": "s::bigint", "kind": "s::text"} | dict.fromkeys(
    ("body", "matter", "salt", "seal", "digest"), "b::bytea"
)
"""The columns of what is new, each with how its values are sent."""


def appending(count: int) -> str:
    """Put the row of a run in its new state and add so many entries, or nothing if it has moved."""
    return _with_entries(_MOVE, min(count, FEW + 1))


def beginning(count: int) -> str:
    """Add the row of a run and its first entries."""
    return _with_entries(_BEGIN, min(count, FEW + 1))


def columns(entries: Sequence[Entry]) -> dict[str, Any]:
    """The values of entries, under the names that the statement for so many has for them."""
    if len(entries) > FEW:
        return {f"{name}_s": [getattr(entry, name) for entry in entries] for name in _TYPES}
    return {
        f"{name}_{number}": getattr(entry, name)
        for number, entry in enumerate(entries)
        for name in _TYPES
    }


@cache
def _with_entries(moved: str, count: int) -> str:
    return f"""
        WITH moved AS ({moved}), held AS MATERIALIZED (
            SELECT pg_advisory_xact_lock_shared(%(journal)s),
                pg_advisory_xact_lock_shared(%(journal)s + last_value + is_called::int)
            FROM moved, entry_seq_seq
        )
        INSERT INTO entry ({ENTRY})
        SELECT %(id)s, new.* FROM held, {_lists() if count > FEW else _lines(count)}
            AS new ({", ".join(_TYPES)}) ORDER BY new.n
    """  # noqa: S608 - our own names


def _lines(count: int) -> str:
    lines = (
        ", ".join(f"%({name}_{number}){kind}" for name, kind in _TYPES.items())
        for number in range(count)
    )
    return f"(VALUES ({'), ('.join(lines)}))"


def _lists() -> str:
    lists = (f"%({name}_s){kind}[]" for name, kind in _TYPES.items())
    return f"unnest({', '.join(lists)})"
