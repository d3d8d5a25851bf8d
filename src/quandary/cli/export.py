"""`quandary export`: a run as one file."""

from __future__ import annotations

import click

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.screen import put, tell
from quandary.journal import archive
from quandary.settings.files import write_text


@click.command(epilog="Exit status: 0 exported; 1 the run is not as it was written.")
@click.argument("run")
@click.option("--output", metavar="FILE", help="Write it there; - is standard output.")
@store_option
def export(run: str, output: str | None, where: str | None) -> int:
    """Write RUN as one JSON file that `quandary import` checks and takes in.

    It holds every entry with all that was said, what seals it, and the documents that the run
    began with. A run that waits is exported as it stands now, and stays where it is.
    """
    store = running.opened(where, existing=True, telling=False)
    exported = archive.fetch(store, run)
    written = archive.write(exported)
    if output is None or output == "-":
        put(written)
    else:
        write_text(output, written.decode())
        tell(f"written to {output}")
    tell(f"run {exported.run}; digest {exported.digest}")
    return 0
