"""`quandary report`: what happened on a walk."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.screen import put, tell
from quandary.desk.ages import end_what_expired
from quandary.errors import QuandaryError
from quandary.journal.archive import find
from quandary.settings.files import write_text

if TYPE_CHECKING:
    from quandary.journal.store import Store


@click.command(epilog="Exit status: 0 reported, whatever became of the run; 2 no such walk.")
@click.argument("run")
@click.option("--format", "form", type=click.Choice(["text", "json", "html"]), default="text")
@click.option("--output", metavar="FILE", help="Write it there; - is standard output.")
@store_option
def report(run: str, form: str, output: str | None, where: str | None) -> int:
    """Tell what happened to RUN, which `quandary walk` began.

    The chart with the route that was taken, and each step with its prompt, output, validation,
    attempts, time and tokens. With --format html it is one file that opens in any browser, offline.
    A run can be reported while it goes on. Runs of other commands have `quandary log RUN`.
    """
    if form == "html" and output is None and sys.stdout.isatty():
        raise QuandaryError(
            "a terminal cannot show HTML; add --output report.html, or send it into a file"
        )
    store = running.opened(where, existing=True)
    end_what_expired(store)
    written = _written(*find(store, run), form)
    if output is None or output == "-":
        put(written if form == "html" else written.decode())
        return 0
    write_text(output, written.decode())  # all of it or nothing, where there was one before
    tell(f"written to {output}")
    return 0


def _written(store: Store, run: str, form: str) -> bytes:
    """The report as bytes; a page for a browser is UTF-8 wherever it is made."""
    from quandary.reports.retelling import retell  # noqa: PLC0415 - only for walks

    told = retell(store, run)
    if form == "json":
        return msgspec.json.encode(told.story) + b"\n"
    if form == "html":
        from quandary.reports import html  # noqa: PLC0415 - one form of three

        return html.report(told).encode()
    from quandary.reports import text  # noqa: PLC0415 - the same

    return text.report(told).encode()
