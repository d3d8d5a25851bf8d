"""`quandary runs`: what waits, and what was decided."""

from __future__ import annotations

import click
import msgspec

from quandary.cli import running
from quandary.cli.screen import coloured, put, tell
from quandary.formats.visible import printable
from quandary.journal.entries import Status


@click.command()
@click.option(
    "--status",
    type=click.Choice(["waiting", "done", "failed", "declined", "withdrawn"]),
    help="Only those.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not only of this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True)
@running.store_option
def runs(status: str | None, form: str, everywhere: bool, limit: int, where: str | None) -> int:
    """List runs, the newest first."""
    store = running.opened(where)
    project = None if everywhere else running.project()
    chosen: Status | None = msgspec.convert(status, Status | None)
    rows = store.runs(status=chosen, project=project, limit=limit, newest=True)
    if form == "json":
        listed = [
            {
                "run": row.id,
                "flow": row.flow,
                "status": row.status,
                "key": row.key,
                "since": row.since,
                "began": row.began,
                "project": row.project,
            }
            for row in rows
        ]
        put(msgspec.json.encode({"runs": listed}) + b"\n")
        return 0
    for row in rows:
        state = click.style(f"{row.status:9}", bold=row.status == "waiting")
        shown = state if coloured() else f"{row.status:9}"
        put(f"{row.id}  {shown}  {row.flow:7} {row.since[:16]}  {printable(row.key or '')}\n")
    if not rows:
        tell("no runs here yet; `quandary ask` begins one")
    return 0
