"""`quandary import`: a run that another store wrote."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click
import msgspec

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.screen import put, tell
from quandary.desk.timeline import about, events
from quandary.errors import ParseError
from quandary.journal import archive
from quandary.settings.files import read_standard_input, read_text

if TYPE_CHECKING:
    from quandary.journal.archive import Exported


@click.command(
    name="import",
    epilog="Exit status: 0 imported, or here already; 1 changed, or at odds with what is here.",
)
@click.argument("file")
@click.option("--by", metavar="NAME", default="", help="Who brings it in; it is kept.")
@store_option
def import_(file: str, by: str, where: str | None) -> int:
    """Check a FILE that `quandary export` wrote, and keep the run under its own name.

    `log`, `report`, `verify` and `export` treat it like any other run. It goes on only where it
    came from: here it can be neither answered nor amended. `-` reads standard input.
    """
    text = read_standard_input() if file == "-" else read_text(file)
    exported = archive.read(text, file)
    store = running.opened(where)
    person = running.is_terminal()
    brought = archive.bring_in(
        store,
        exported,
        about=_about(exported, file),
        project=running.project(),
        who="person" if person else "agent",
        through="terminal" if person else "command",
        by=by,
    )
    run = exported.run
    if not sys.stdout.isatty():
        said = {
            "run": run,
            "record": brought.record,
            "known": brought.known,
            "entries": len(exported.entries),
            "digest": exported.digest,
        }
        put(msgspec.json.encode(said) + b"\n")
    what = "was here already, the same" if brought.known else "was imported"
    tell(f"run {run} {what}; digest {exported.digest}")
    return 0


def _about(exported: Exported, file: str) -> str:
    """What the run is about. A chain holds whatever was put into it, but this has to be a story."""
    with closing(archive.opened(exported)) as store:
        try:
            for _ in events(store, exported.run):
                pass
            return about(store, exported.run)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise ParseError(f"{file}: no run that `quandary export` wrote") from None
