"""`quandary verify`: whether the journal is still what was written."""

from __future__ import annotations

import os
import re
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from quandary.cli import runs
from quandary.cli import runs as run_commands
from quandary.cli.screen import complain, put, store_option, tell
from quandary.desk.ages import age, end_what_expired
from quandary.desk.timeline import about, events
from quandary.errors import ParseError, QuandaryError, Rejected, StoreError
from quandary.journal import archive, pruning
from quandary.journal import entries as clock
from quandary.journal.entries import Source, stamp
from quandary.journal.ids import Elsewhere, find_run
from quandary.journal.pruning import KEEPS, Amount, Wanted
from quandary.journal.store import open_store, place_of
from quandary.journal.verify import verify as examine
from quandary.settings.files import read_input, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.archive import Exported
    from quandary.journal.entries import Entry
    from quandary.journal.recovery import Loss
    from quandary.journal.store import Store
    from quandary.journal.verify import Report

_DIGEST = re.compile(r"\d+-[0-9a-f]{64}")


@click.command(epilog="Exit status: 0 all is as it was written, 1 something is not.")
@click.argument("run", required=False)
@click.option("--expect", metavar="DIGEST", help="A digest that an earlier verify printed.")
@store_option
def verify_command(run: str | None, expect: str | None, where: str | None) -> int:
    """Check that nothing in the journal was changed, moved, cut short or removed.

    Prints the store's digest. Keep it elsewhere and give it to --expect later: then even somebody
    who rewrote everything is found out.
    """
    if expect is not None and not _DIGEST.fullmatch(expect):
        raise click.UsageError(
            "--expect takes the digest that an earlier `quandary verify` printed"
        )
    store = run_commands.opened(where, existing=True)
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
def prune_command(
    span: str, keep: str, everywhere: bool, dry_run: bool, by: str, where: str | None
) -> int:
    """Take prompts and outputs out of runs that ended at least AGE ago.

    What was decided stays: codes, who, through what and when; with --keep answers also every word
    of an answer and what came of it. `quandary verify` holds as before. A pruned run can be shown,
    but neither amended nor gone on with. It cannot be undone.
    """
    project = runs.current_project()
    wanted = Wanted(
        _before(span), msgspec.convert(keep, pruning.Keep), None if everywhere else project
    )
    store = runs.opened(where, existing=True)
    end_what_expired(store)
    if dry_run:
        return _told(wanted, pruning.plan(store, wanted), run=None, said="would be pruned")
    person = runs.is_terminal()
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


@click.command(epilog="Exit status: 0 exported; 1 the run is not as it was written.")
@click.argument("run")
@click.option("--output", metavar="FILE", help="Write it there; - is standard output.")
@store_option
def export_command(run: str, output: str | None, where: str | None) -> int:
    """Write RUN as one JSON file that `quandary import` checks and takes in.

    It holds every entry with all that was said, what seals it, and the documents that the run
    began with. A run that waits is exported as it stands now, and stays where it is.
    """
    store = runs.opened(where, existing=True, telling=False)
    exported = archive.fetch(store, run)
    written = archive.write(exported)
    if output is None or output == "-":
        put(written)
    else:
        write_text(output, written.decode())
        tell(f"written to {output}")
    tell(f"run {exported.run}; digest {exported.digest}")
    return 0


@click.command(
    name="import",
    epilog="Exit status: 0 imported, or here already; 1 changed, or at odds with what is here.",
)
@click.argument("file")
@click.option("--by", metavar="NAME", default="", help="Who brings it in; it is kept.")
@store_option
def import_command(file: str, by: str, where: str | None) -> int:
    """Check a FILE that `quandary export` wrote, and keep the run under its own name.

    `log`, `report`, `verify` and `export` treat it like any other run. It goes on only where it
    came from: here it can be neither answered nor amended. `-` reads standard input.
    """
    text = read_input(file)
    exported = archive.read(text, file)
    store = runs.opened(where)
    person = runs.is_terminal()
    brought = archive.bring_in(
        store,
        exported,
        about=_about(exported, file),
        project=runs.current_project(),
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


_MANY = 20
"""So many losses are named one by one."""


@click.group(subcommand_metavar="copy|backup|recover")
def store_command() -> None:
    """Move a journal, save it while it is in use, rescue what a damaged file holds.

    A store is a file, or a database on a PostgreSQL server: postgresql://USER@HOST/DATABASE.
    """


@store_command.command(
    epilog="Exit status: 0 all of it is there and verified, 1 nothing was copied."
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def copy(source: str, target: str) -> int:
    """Move a journal FROM one store into an empty one.

    Either can be a path or a URL. All of it arrives, in order and with the same digests, or
    nothing does. FROM stays as it is, and nobody may write to it meanwhile.
    """
    with (
        closing(run_commands.opened(source, existing=True, telling=False)) as old,
        _made(target) as new,
    ):
        report = archive.copy(old, new, _store_watch)
    _tell(report)
    return 0


@store_command.command(
    epilog="Exit status: 0 saved, 1 saved, but the journal is not what was written."
)
@click.argument("file", metavar="FILE")
@store_option
def backup(file: str, where: str | None) -> int:
    """Save a journal to a new FILE while it is in use.

    The file is a store like any other: `--store FILE` opens it. It prints the digest of what was
    saved, which `quandary verify --expect` compares with the original.
    """
    with closing(run_commands.opened(where, existing=True, telling=False)) as used:
        report = archive.backup(used, file, _store_watch)
    for problem in report.problems:
        complain(f"run {problem.run}: {problem.text}" if problem.run else problem.text)
    _tell(report)
    return 1 if report.problems else 0


@store_command.command(
    epilog="Exit status: 0 nothing is missing, 1 something is, 2 FILE cannot be read."
)
@click.argument("file", metavar="FILE")
@click.option("--into", metavar="NEW", help="The new store. Default: FILE with .recovered.")
def recover(file: str, into: str | None) -> int:
    """Save what a damaged FILE still holds.

    What the chain proves goes into a new store, and what is missing is named. FILE stays as it
    is, and nobody may write to it meanwhile. What can be read but has no place any more is
    written to NEW.left.jsonl.
    """
    from quandary.journal.recovery import recover as rescue  # noqa: PLC0415 - for this one alone

    place = place_of(file)
    if "://" in place:
        raise StoreError(f"{place}: only a file can be recovered; restore a database from a backup")
    stem, ending = os.path.splitext(place)
    name = into or f"{stem}.recovered{ending}"
    if os.path.exists(place_of(name)):
        raise Rejected(f"{name} exists already; name a new store with --into")
    with _made(name) as new:
        found = rescue(place, new)
    _tell_losses(found.losses)
    if found.left:
        _write_left(f"{name}.left.jsonl", found.left)
    for problem in found.report.problems:
        complain(f"run {problem.run}: {problem.text}" if problem.run else problem.text)
    tell(f"what could be read is in {name}")
    _tell(found.report)
    return 1 if found.losses or found.report.problems else 0


@contextmanager
def _made(where: str) -> Iterator[Store]:
    """A store to be filled; a file that was made for it goes again if that fails."""
    place = place_of(where)
    new = "://" not in place and not os.path.exists(place)
    try:
        with closing(open_store(where)) as opened:
            yield opened
    except BaseException:
        if new:
            archive.remove(place)
        raise


def _store_watch(count: int, total: int) -> None:
    """How far it is, on a line that changes in place."""
    if sys.stderr is not None and sys.stderr.isatty():
        end = _CLEAR if count >= total else ""
        sys.stderr.write(f"{_CLEAR}{count:,} of {total:,} entries{end}")
        sys.stderr.flush()


def _tell(report: Report) -> None:
    runs = "1 run" if report.runs == 1 else f"{report.runs} runs"
    put(f"{report.digest}  {runs}, {report.entries} entries\n")


def _tell_losses(losses: list[Loss]) -> None:
    for loss in losses[:_MANY]:
        complain(f"lost: {loss.what} of run {loss.run}" if loss.run else f"lost: {loss.what}")
    if len(losses) > _MANY:
        complain(f"lost: {len(losses) - _MANY} more parts of runs")
    if not losses:
        tell("nothing is missing")


def _write_left(file: str, left: list[Entry]) -> None:
    """Entries without a place, for people to read."""
    lines = [
        {"run": entry.run, "n": entry.n, "body": _text(entry.body), "matter": _text(entry.matter)}
        for entry in left
    ]
    try:
        with open(file, "xb") as opened:
            opened.writelines(msgspec.json.encode(line) + b"\n" for line in lines)
    except OSError as error:
        raise QuandaryError(f"{file} cannot be written ({error.strerror})") from None
    tell(f"{len(left)} entries can be read but follow something lost; they are in {file}")


def _text(data: bytes | None) -> object:
    """JSON as it is, or what there is in its place."""
    try:
        return msgspec.json.decode(data) if data else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return (data or b"").decode(errors="replace")
