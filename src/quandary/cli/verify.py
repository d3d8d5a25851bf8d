"""`quandary verify`: whether the journal is still what was written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.screen import complain, put, tell
from quandary.journal.ids import Elsewhere, find_run
from quandary.journal.verify import verify as examine

if TYPE_CHECKING:
    from quandary.journal.store import Store
    from quandary.journal.verify import Report

_DIGEST = re.compile(r"\d+-[0-9a-f]{64}")


@click.command(epilog="Exit status: 0 all is as it was written, 1 something is not.")
@click.argument("run", required=False)
@click.option("--expect", metavar="DIGEST", help="A digest that an earlier verify printed.")
@store_option
def verify(run: str | None, expect: str | None, where: str | None) -> int:
    """Check that nothing in the journal was changed, moved, cut short or removed.

    Prints the store's digest. Keep it elsewhere and give it to --expect later: then even somebody
    who rewrote everything is found out.
    """
    if expect is not None and not _DIGEST.fullmatch(expect):
        raise click.UsageError(
            "--expect takes the digest that an earlier `quandary verify` printed"
        )
    store = running.opened(where, existing=True)
    report = _report(store, run, expect)
    for problem in report.problems:
        entry = f" entry {problem.n}" if problem.n else ""
        complain(f"run {problem.run}{entry}: {problem.text}" if problem.run else problem.text)
    runs = "1 run" if report.runs == 1 else f"{report.runs} runs"
    pruned = f", {report.pruned} of them pruned" if report.pruned else ""
    put(f"{report.digest}  {runs}, {report.entries} entries{pruned}\n")
    if not report.runs:
        tell("this store is empty")
    return 0 if report.ok else 1


def _report(store: Store, run: str | None, expect: str | None) -> Report:
    """What came of looking at everything, at one run, or at one that was imported."""
    try:
        return examine(store, find_run(store, run) if run else None, expect)
    except Elsewhere as there:
        from quandary.journal import archive  # noqa: PLC0415 - only for those

        return archive.examine(store, there.run, expect)
