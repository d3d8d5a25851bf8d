"""What all parts share: a folder, a server, a table of what was found, and a line that shows how
far things are.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from databases import Server

BEGIN, END = "<!-- stress -->", "<!-- /stress -->"
"""Between these a page has the table."""


class Row(NamedTuple):
    """Something that was found; without a bound it only tells."""

    part: str
    what: str
    figure: str
    bound: str = ""
    kept: bool = True


class Ground:
    """Where a part does its work."""

    def __init__(self, folder: Path, server: Server, given: argparse.Namespace) -> None:
        self.folder = folder
        self.server = server
        self.given = given
        self.part = ""
        self.rows: list[Row] = []
        self._shown = 0.0

    def tell(self, what: str, figure: object) -> None:
        """Something worth knowing that nothing depends on."""
        self._add(Row(self.part, what, _figure(figure)))

    def at_most(self, what: str, found: float, most: float, unit: str = "") -> None:
        """A figure that must not be larger."""
        figure, bound = (f"{_figure(value)}{unit}" for value in (found, most))
        self._add(Row(self.part, what, figure, f"≤ {bound}", found <= most))

    def exactly(self, what: str, found: object, wanted: object) -> None:
        """Something that must be so."""
        self._add(Row(self.part, what, _figure(found), _figure(wanted), found == wanted))

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        self.progress("")
        mark = "    " if not row.bound else "ok  " if row.kept else "FAIL"
        bound = f"({row.bound})" if row.bound else ""
        print(f"{mark} {row.part}  {row.figure:>14} {bound:12} {row.what}", flush=True)

    def progress(self, words: str) -> None:
        """Say how far things are, on a terminal only, and not all the time."""
        moment = time.monotonic()
        if sys.stderr.isatty() and (not words or moment > self._shown + 0.2):
            self._shown = moment
            print(f"\r\x1b[K{words}", end="", file=sys.stderr, flush=True)

    @property
    def failed(self) -> bool:
        """Whether anything is not as it must be."""
        return not all(row.kept for row in self.rows)


def markdown(rows: list[Row], command: str) -> str:
    """The table as it stands in the documentation."""
    lines = [
        f"Measured on {datetime.now(UTC):%Y-%m-%d} with `{command}`, on {machine()}.",
        "",
        "| part | what | found | must be | |",
        "|---|---|---:|---:|---|",
    ]
    for row in rows:
        mark = "" if not row.bound else "kept" if row.kept else "**missed**"
        lines.append(f"| {row.part} | {row.what} | {row.figure} | {row.bound} | {mark} |")
    return "\n".join(lines) + "\n"


def put(path: Path, table: str) -> None:
    """Write a table into a file: between its marks, where it has them."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    page = f"{before}{mark}\n{table}{end}{after}" if end else table
    path.write_text(page, encoding="utf-8")


def machine() -> str:
    """What it ran on, as far as it matters."""
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _figure(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)
