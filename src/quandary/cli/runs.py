"""`quandary runs`: what waits, and what was decided."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.screen import coloured, put, tell, width
from quandary.desk.ages import end_what_expired
from quandary.desk.state import encode_runs
from quandary.desk.timeline import about, moment
from quandary.journal.entries import Status
from quandary.model.text import printable

if TYPE_CHECKING:
    from quandary.journal.store import Run


@click.command()
@click.option(
    "--status",
    type=click.Choice(["waiting", "done", "failed", "declined", "withdrawn"]),
    help="Only those.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not only of this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True)
@store_option
def runs(status: str | None, form: str, everywhere: bool, limit: int, where: str | None) -> int:
    """List runs, the newest first."""
    store = running.looked_at(where)
    end_what_expired(store)
    project = None if everywhere else running.project()
    chosen: Status | None = msgspec.convert(status, Status | None)
    rows = store.runs(status=chosen, project=project, limit=limit, newest=True)
    if form == "json":
        put(encode_runs(store, rows) + b"\n")
        return 0
    for row in rows:
        put(_line(row, about(store, row.id)))
    if not rows:
        tell("no runs here yet; `quandary ask` begins one")
    return 0


def _line(row: Run, what: str) -> str:
    """A run on one line, which on a screen ends where the screen does."""
    state = f"{row.status:9}"
    since = moment(row.since)
    room = width() - len(row.id) - len(state) - len(since) - 6
    told = " ".join(printable(what).split())
    if len(told) > room and sys.stdout.isatty():
        told = f"{told[: max(room - 1, 0)]}…"
    shown = click.style(state, bold=row.status == "waiting") if coloured() else state
    return f"{row.id}  {shown}  {since}  {told}".rstrip() + "\n"
