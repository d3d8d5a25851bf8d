"""`quandary withdraw`: end a run that nobody needs any more."""

from __future__ import annotations

import click

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.screen import tell
from quandary.desk import reply as desk
from quandary.journal.ids import find_run


@click.command()
@click.argument("run")
@click.option("--why", required=True, metavar="TEXT", help="The reason; it is kept.")
@store_option
def withdraw(run: str, why: str, where: str | None) -> int:
    """End RUN while it waits. Nothing was decided, and the journal says why."""
    if not why.strip():
        raise click.UsageError("--why needs a reason")
    store = running.opened(where, existing=True)
    run = find_run(store, run)
    state = desk.withdraw(store, running.caller(), run, why)
    if not running.is_terminal():
        running.show(store, state)
    tell(f"withdrew {run}")
    return 0
