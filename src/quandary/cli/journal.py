"""`quandary verify`, `prune`, `export`, `import` and `store`: what is done to whole journals."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click
import msgspec

from quandary.cli import complain, console, put, put_json, show_progress, tell, write_to
from quandary.cli.program import store_option
from quandary.desk.begin import age
from quandary.desk.state import end_what_expired
from quandary.desk.timeline import events, origins
from quandary.errors import ParseError, QuandaryError, Rejected, StoreError
from quandary.journal import archive, backups, chance, open_store, place_of
from quandary.journal.archive import Amount
from quandary.journal.entries import Entry, Source
from quandary.journal.verify import KEEPS, Keep, Wanted
from quandary.model.text import count
from quandary.settings.files import read_input, read_text, write_text

if TYPE_CHECKING:
    from quandary.journal.archive import Exported
    from quandary.journal.store import Store
    from quandary.journal.verify import Report

_DIGEST = re.compile(r"\d+-[0-9a-f]{64}(?!\S)")
_NOTABLE = 100_000  # so many bytes are worth a word
_MANY = 20  # so many losses are named one by one


@click.command(epilog="Exit status: 0 all is as it was written, 1 something is not.")
@click.argument("run", required=False)
@click.option("--expect", metavar="DIGEST", help="A digest that an earlier verify printed.")
@click.option(
    "--anchor", metavar="FILE", help="Compare with the digest in FILE, then bring it up to date."
)
@click.option(
    "--accept", is_flag=True, help="Use a store that is older than what was seen here; for people."
)
@store_option
def verify_command(
    run: str | None, expect: str | None, anchor: str | None, accept: bool, where: str | None
) -> int:
    """Check that nothing in the journal was changed, moved, cut short or removed.

    The newest entry is also compared with what was last seen on this machine, so that an older
    file in the place of the journal is found.

    Prints the store's digest. Keep it elsewhere and give it to --expect later: this reveals even
    that everything was rewritten. With --anchor FILE this takes one command, run from time to
    time: a FILE that does not exist is written; one that does has to fit, and is brought up to
    date if nothing is wrong with the journal. Keep FILE in git or on another machine.
    """
    if expect is not None and not _DIGEST.fullmatch(expect):
        raise click.UsageError("--expect takes a digest that an earlier `quandary verify` printed")
    if run is not None and (anchor or accept):
        raise click.UsageError("--anchor and --accept are about the whole store; leave out RUN")
    if expect is not None and anchor is not None:
        raise click.UsageError("give --expect or --anchor, not both")
    store = open_store(where, create=False)
    keeper = store.keeper
    if accept and keeper is not None:
        if console.caller().who != "person":
            raise Rejected("only a person at a terminal can accept an older store")
        try:
            keeper.renew()
        except OSError as error:
            raise StoreError(f"{keeper.path} cannot be written ({error.strerror})") from None
    known = anchor is not None and os.path.lexists(anchor)
    expect = _read_anchor(anchor) if anchor and known else expect
    with show_progress() as watch:
        report = archive.examine(store, run, expect, watch)
    _print_report(report, f", {report.pruned} of them pruned" if report.pruned else "")
    if not report.runs:
        tell("this store is empty")
    if not report.ok:
        return 1
    if anchor is not None:
        write_text(anchor, _report_line(report))
        tell(f"{anchor} {'fits, and is up to date' if known else 'was written'}")
    if run is None and keeper is not None:
        try:
            keeper.renew(report.digest)
        except OSError as error:
            tell(f"{keeper.path} cannot be written ({error.strerror}): nothing is kept of this")
    return 0


def _read_anchor(file: str) -> str:
    if (found := _DIGEST.match(read_text(file))) is None:
        raise ParseError(f"{file}: no digest that `quandary verify --anchor` wrote")
    return found[0]


@click.command(epilog="Exit status: 0 pruned, or nothing to prune; 1 not all of it was done.")
@click.option("--older-than", "span", required=True, metavar="AGE", help="Such as 90d, 12h or 2w.")
@click.option(
    "--keep",
    type=click.Choice(KEEPS),
    default="answers",
    show_default=True,
    help="Keep the words of answers too, or only codes.",
)
@click.option("--all", "everywhere", is_flag=True, help="Prune every project, not only this one.")
@click.option("--dry-run", is_flag=True, help="Show how much would be pruned; change nothing.")
@click.option("--by", metavar="NAME", default="", help="Who prunes; it is recorded.")
@store_option
def prune_command(
    span: str, keep: str, everywhere: bool, dry_run: bool, by: str, where: str | None
) -> int:
    """Remove prompts and outputs from runs that ended at least AGE ago.

    What was decided stays: codes, who, through what and when; with --keep answers also every word
    of an answer and the result. `quandary verify` passes as before. A pruned run can be shown, but
    not amended or resumed. Pruning cannot be undone.
    """
    project = "" if everywhere else console.current_project()
    before = chance.stamp(chance.now() - age(span))
    wanted = Wanted(before, msgspec.convert(keep, Keep), None if everywhere else project)
    store = console.open_journal(where, existing=True)
    end_what_expired(store)
    if dry_run:
        _print_amount(wanted, archive.plan(store, wanted), None, "would be pruned")
        return 0
    source = Source(**console.caller(by).source)
    amount, run = Amount(), None
    with show_progress() as watch:

        def show_amount(done: Amount) -> None:
            watch(done.runs, 0, f"runs pruned, {_size(done.bytes)}")

        finished = [state.run for state in archive.finish(store, source, show_amount)]
        if next(archive.find_prunable(store, wanted), None) is not None:
            state = archive.prune(store, wanted, project, source, show_amount)
            amount, run = msgspec.convert(state.result, Amount), state.run
    for name in finished:
        tell(f"finished what was interrupted: run {name}")
    _print_amount(wanted, amount, run, "pruned")
    try:
        saved = store.reclaim()
    except StoreError as error:
        complain(f"what was pruned is gone, but the store did not become smaller: {error}")
        return 1
    if saved >= _NOTABLE:
        tell(f"the store is {_size(saved)} smaller")
    return 0


def _print_amount(wanted: Wanted, amount: Amount, run: str | None, done: str) -> None:
    if not sys.stdout.isatty():
        put_json({"run": run} | msgspec.to_builtins(wanted) | msgspec.to_builtins(amount))
    if not amount.runs:
        tell(f"nothing to prune: no run that ended before {wanted.before} has such texts")
        return
    documents = f", and {count(amount.documents, 'document')}" if amount.documents else ""
    much = f" ({_size(amount.bytes)})" if amount.bytes >= _NOTABLE else ""
    entries, runs = count(amount.entries, "entry"), count(amount.runs, "run")
    tell(f"{done}: {entries}{much} of {runs}{documents}")


@click.command(epilog="Exit status: 0 exported; 1 the run is not as it was written.")
@click.argument("run")
@click.option("--output", metavar="FILE", help="Write it there; - is standard output.")
@store_option
def export_command(run: str, output: str | None, where: str | None) -> int:
    """Write RUN as one JSON file that `quandary import` checks and keeps.

    It holds every entry with all that was said, what seals it, and the documents that the run
    began with. A waiting run is exported as it stands now, and stays where it is.
    """
    exported = archive.fetch(console.open_journal(where, existing=True, notify=False), run)
    write_to(output, archive.write(exported))
    tell(f"run {exported.run}; digest {exported.digest}")
    return 0


@click.command(
    name="import",
    epilog="Exit status: 0 imported, or here already; 1 changed, or at odds with what is here.",
)
@click.argument("file")
@click.option("--by", metavar="NAME", default="", help="Who imports it; it is recorded.")
@store_option
def import_command(file: str, by: str, where: str | None) -> int:
    """Check a FILE that `quandary export` wrote, and keep the run under its own name.

    `log`, `report`, `verify` and `export` treat it like any other run. It can be resumed only where
    it came from: here it cannot be answered or amended. `-` reads standard input.
    """
    with show_progress() as watch:
        exported = archive.read(read_input(file), file, watch)
    store, about = console.open_journal(where), _about(exported, file)
    project, source = console.current_project(), Source(**console.caller(by).source)
    record, known = archive.import_run(store, exported, about=about, project=project, source=source)
    if not sys.stdout.isatty():
        printed = {"run": exported.run, "record": record, "known": known}
        printed |= {"entries": len(exported.entries), "digest": exported.digest}
        put_json(printed)
    what = "is here already and is the same" if known else "was imported"
    tell(f"run {exported.run} {what}; digest {exported.digest}")
    return 0


def _about(exported: Exported, file: str) -> str:
    """What the run is about. A chain holds whatever was put into it, but this has to be a story."""
    with closing(archive.open_exported(exported)) as store:
        try:
            list(events(store, exported.run))
            return origins(store, [exported.run])[exported.run].about
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise ParseError(f"{file}: no run that `quandary export` wrote") from None


@click.group(subcommand_metavar="copy|backup|recover")
def store_command() -> None:
    """Copy a journal, back it up while it is in use, recover what a damaged file holds.

    A store is a file, or a database on a PostgreSQL server: postgresql://USER@HOST/DATABASE.
    """


@store_command.command(
    epilog="Exit status: 0 everything was copied and verified, 1 nothing was copied."
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def copy(source: str, target: str) -> int:
    """Copy a journal FROM one store into an empty one.

    Either can be a path or a URL. All of it arrives, in order and with the same digests, or
    nothing does. FROM stays as it is; nobody may write to it meanwhile.
    """
    old = console.open_journal(source, existing=True, notify=False)
    with closing(old), _new_store(target) as new:
        with show_progress() as watch:
            report = backups.copy(old, new, watch)
        _print_report(report)
    return 0


@store_command.command(epilog="Exit status: 0 saved, 1 saved, but the journal does not verify.")
@click.argument("file", metavar="FILE")
@store_option
def backup(file: str, where: str | None) -> int:
    """Save a journal to a new FILE while it is in use.

    The file is a store like any other: `--store FILE` opens it. Prints the digest of what was
    saved, which `quandary verify --expect` compares with the original.
    """
    used = console.open_journal(where, existing=True, notify=False)
    with closing(used), show_progress() as watch:
        report = backups.backup(used, file, watch)
    _print_report(report)
    return 0 if report.ok else 1


@store_command.command(
    epilog="Exit status: 0 nothing is missing, 1 something is, 2 FILE cannot be read."
)
@click.argument("file", metavar="FILE")
@click.option("--into", metavar="NEW", help="The new store. Default: FILE with .recovered.")
def recover(file: str, into: str | None) -> int:
    """Save what a damaged FILE still holds.

    What the chain proves goes into a new store, and what is missing is named. FILE stays as it
    is; nobody may write to it meanwhile. Entries that can be read but follow a lost one are written
    to NEW.left.jsonl.
    """
    place = place_of(file)
    if "://" in place:
        raise StoreError(f"{place}: only a file can be recovered; restore a database from a backup")
    stem, ending = os.path.splitext(place)
    name = into or f"{stem}.recovered{ending}"
    if os.path.exists(place_of(name)):
        raise Rejected(f"{name} exists already; name a new store with --into")
    with _new_store(name) as new:
        report, losses, left = backups.recover(place, new)
    for run, what in losses[:_MANY]:
        complain(f"lost: {what} of run {run}" if run else f"lost: {what}")
    if len(losses) > _MANY:
        complain(f"lost: {len(losses) - _MANY} more parts of runs")
    if not losses:
        tell("nothing is missing")
    if left:
        _write_left(f"{name}.left.jsonl", left)
    tell(f"what could be read is in {name}")
    _print_report(report)
    return 1 if losses or report.problems else 0


@contextmanager
def _new_store(where: str) -> Iterator[Store]:
    """A store to be filled; a file that was made for it goes again if that fails."""
    place = place_of(where)
    new = "://" not in place and not os.path.exists(place)
    try:
        with closing(open_store(where)) as opened:
            yield opened
    except BaseException:
        if new:
            backups.remove(place)
        raise


def _write_left(file: str, left: list[Entry]) -> None:
    """Entries without a place, for people to read: JSON as it is, or what there is in its place."""

    def readable(data: bytes | None) -> object:
        try:
            return msgspec.json.decode(data) if data else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            return (data or b"").decode(errors="replace")

    try:
        # It is made for its owner alone, as a store is.
        with open(file, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as opened:
            for entry in left:
                line = {"run": entry.run, "n": entry.n, "body": readable(entry.body)}
                line["matter"] = readable(entry.matter)
                opened.write(msgspec.json.encode(line) + b"\n")
    except OSError as error:
        raise QuandaryError(f"{file} cannot be written ({error.strerror})") from None
    tell(f"{len(left)} entries can be read but follow something lost; they are in {file}")


def _print_report(report: Report, more: str = "") -> None:
    for problem in report.problems:
        entry = f" entry {problem.n}" if problem.n else ""
        complain(f"run {problem.run}{entry}: {problem.text}" if problem.run else problem.text)
    put(_report_line(report, more))


def _report_line(report: Report, more: str = "") -> str:
    return f"{report.digest}  {count(report.runs, 'run')}, {report.entries} entries{more}\n"


def _size(number: int) -> str:
    for scale, unit in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if number >= scale:
            return f"{number / scale:.1f} {unit}"
    return f"{number} bytes"
