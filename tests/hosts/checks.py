"""What is tried with each client, and what came of it."""

from __future__ import annotations

import time
import traceback
from typing import TYPE_CHECKING, NamedTuple

from quandary.desk.sheets import shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from hosts.clients import Client

    Work = Callable[[], str | None]


class Check(NamedTuple):
    """One thing that has to hold with one client; the work raises where it does not."""

    client: Client
    what: str
    work: Work


class Row(NamedTuple):
    """What came of a check."""

    client: str
    what: str
    status: str
    """`ok`, `FAILED`, or `not there`."""
    detail: str = ""
    trace: str = ""


CHECKS: list[Check] = []


def check(client: Client) -> Callable[[Work], Work]:
    """Have this tried; what its docstring says first is what has to hold."""

    def kept(work: Work) -> Work:
        what = (work.__doc__ or work.__name__).strip().partition("\n")[0].rstrip(".")
        CHECKS.append(Check(client, what, work))
        return work

    return kept


def tried(one: Check) -> Row:
    """Try it, and tell what came of it."""
    begun = time.monotonic()
    try:
        said = one.work()
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the others are tried too
        detail = shorten(f"{type(error).__name__}: {error}")
        return Row(one.client.name, one.what, "FAILED", detail, traceback.format_exc())
    seconds = f"{time.monotonic() - begun:.1f} s"
    return Row(one.client.name, one.what, "ok", f"{seconds}; {said}" if said else seconds)


def table(rows: list[Row]) -> str:
    """All of them, one below the other."""
    wide = [max(len(row[n]) for row in rows) for n in range(3)]
    lines = []
    for row in rows:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=False))
        lines.append(f"{cells}  {row.detail}".rstrip())
    return "\n".join(lines)
