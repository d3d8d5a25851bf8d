"""`quandary prune`: take out what was said long ago, and keep what was decided."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.screen import complain, put, tell
from quandary.desk.ages import age, end_what_expired
from quandary.errors import QuandaryError, StoreError
from quandary.journal import entries as clock
from quandary.journal import pruning
from quandary.journal.entries import Source, stamp
from quandary.journal.pruning import KEEPS, Amount, Wanted

if TYPE_CHECKING:
    from quandary.journal.store import Store

NOTABLE = 100_000
"""So many bytes are worth a word."""
_CLEAR = "\r\x1b[K"


@click.command(epilog="Exit status: 0 pruned, or nothing to prune; 1 not all of it was done.")
@click.option("--older-than", "span", required=True, metavar="AGE", help="As 90d, 12h or 2w.")
@click.option(
    "--keep",
    type=click.Choice(KEEPS),
    default="answers",
    show_default=True,
    help="The words of answers too, or codes alone.",
)
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not only of this one.")
@click.option("--dry-run", is_flag=True, help="Say how much it would be; change nothing.")
@click.option("--by", metavar="NAME", default="", help="Who wants it; it is kept.")
@store_option
def prune(span: str, keep: str, everywhere: bool, dry_run: bool, by: str, where: str | None) -> int:
    """Take prompts and outputs out of runs that ended at least AGE ago.

    What was decided stays: codes, who, through what and when; with --keep answers also every word
    of an answer and what came of it. `quandary verify` holds as before. A pruned run can be shown,
    but neither amended nor gone on with. It cannot be undone.
    """
    project = running.project()
    wanted = Wanted(
        _before(span), msgspec.convert(keep, pruning.Keep), None if everywhere else project
    )
    store = running.opened(where, existing=True)
    end_what_expired(store)
    if dry_run:
        return _told(wanted, pruning.plan(store, wanted), run=None, said="would be pruned")
    person = running.is_terminal()
    source = Source("person" if person else "agent", "terminal" if person else "command", by)
    for state in pruning.finish(store, source, _watch):
        tell(f"finished what was interrupted: run {state.run}")
    amount, run = Amount(), None
    if next(pruning.find_prunable(store, wanted), None) is not None:
        state = pruning.prune(store, wanted, "" if everywhere else project, source, _watch)
        amount, run = msgspec.convert(state.result, Amount), state.run
    _told(wanted, amount, run=run, said="pruned")
    return _reclaim(store)


def _before(span: str) -> str:
    """The moment that long ago."""
    try:
        return stamp(clock.now() - age(span))
    except OverflowError:
        raise QuandaryError(f"{span[:20]!r} is longer than the calendar; write less") from None


def _watch(amount: Amount) -> None:
    """How far it is, on a line that changes in place."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"{_CLEAR}{amount.runs} runs, {size(amount.bytes)}")
        sys.stderr.flush()


def _told(wanted: Wanted, amount: Amount, *, run: str | None, said: str) -> int:
    """The outcome: a line for people, a document for programs."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(_CLEAR)
    if not sys.stdout.isatty():
        known: dict[str, Any] = {"run": run, **msgspec.to_builtins(wanted)}
        put(msgspec.json.encode(known | msgspec.to_builtins(amount)) + b"\n")
    if not amount.runs:
        tell(f"nothing to prune: no run that ended before {wanted.before} has such texts")
        return 0
    documents = f", and {counted(amount.documents, 'document')}" if amount.documents else ""
    much = f" ({size(amount.bytes)})" if amount.bytes >= NOTABLE else ""
    what = f"{counted(amount.entries, 'entry', 'entries')}{much}"
    tell(f"{said}: {what} of {counted(amount.runs, 'run')}{documents}")
    return 0


def _reclaim(store: Store) -> int:
    """Make the store smaller; where that cannot be, the texts are gone all the same."""
    try:
        saved = store.reclaim()
    except StoreError as error:
        complain(f"what was pruned is gone, but the store did not become smaller: {error}")
        return 1
    if saved >= NOTABLE:
        tell(f"the store is {size(saved)} smaller")
    return 0


def counted(count: int, one: str, many: str = "") -> str:
    """So many of something."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def size(count: int) -> str:
    """A number of bytes as people read it."""
    for scale, unit in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} bytes"
