"""`quandary import`: a run that another store wrote."""

from __future__ import annotations

import sys

import click
import msgspec

from quandary.cli import running
from quandary.cli.screen import put, tell
from quandary.formats.files import read_standard_input, read_text
from quandary.journal import exporting
from quandary.people.timeline import about


@click.command(
    name="import",
    epilog="Exit status: 0 imported, or here already; 1 changed, or at odds with what is here.",
)
@click.argument("file")
@click.option("--by", metavar="NAME", default="", help="Who brings it in; it is kept.")
@running.store_option
def import_(file: str, by: str, where: str | None) -> int:
    """Check a FILE that `quandary export` wrote, and keep the run under its own name.

    `log`, `report`, `verify` and `export` treat it like any other run. It goes on only where it
    came from: here it can be neither answered nor amended. `-` reads standard input.
    """
    text = read_standard_input() if file == "-" else read_text(file)
    exported = exporting.read(text, file)
    store = running.opened(where)
    person = running.is_terminal()
    brought = exporting.bring_in(
        store,
        exported,
        about=about(exporting.opened(exported), exported.run),
        project=running.project(),
        who="person" if person else "agent",
        through="terminal" if person else "command",
        by=by,
    )
    run, entries = exported.run, len(exported.entries)
    if not sys.stdout.isatty():
        said = {
            "run": run,
            "record": brought.record,
            "known": brought.known,
            "entries": entries,
            "digest": exported.head,
        }
        put(msgspec.json.encode(said) + b"\n")
    what = "was here already, the same" if brought.known else "was imported"
    tell(f"run {run} {what}: {entries} entries, digest {exported.head}")
    return 0
