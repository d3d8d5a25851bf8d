"""`quandary store`: move a journal, save it while it is in use, rescue a damaged one."""

from __future__ import annotations

import os
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click
import msgspec

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.screen import complain, put, tell
from quandary.errors import QuandaryError, Rejected, StoreError
from quandary.journal import archive
from quandary.journal.store import open_store, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.entries import Entry
    from quandary.journal.recovery import Loss
    from quandary.journal.store import Store
    from quandary.journal.verify import Report

_CLEAR = "\r\x1b[K"
_MANY = 20
"""So many losses are named one by one."""


@click.group(subcommand_metavar="copy|backup|recover")
def store() -> None:
    """Move a journal, save it while it is in use, rescue what a damaged file holds.

    A store is a file, or a database on a PostgreSQL server: postgresql://USER@HOST/DATABASE.
    """


@store.command(epilog="Exit status: 0 all of it is there and verified, 1 nothing was copied.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def copy(source: str, target: str) -> int:
    """Move a journal FROM one store into an empty one.

    Either can be a path or a URL. All of it arrives, in order and with the same digests, or
    nothing does. FROM stays as it is, and nobody may write to it meanwhile.
    """
    with (
        closing(running.opened(source, existing=True, telling=False)) as old,
        _made(target) as new,
    ):
        report = archive.copy(old, new, _watch)
    _tell(report)
    return 0


@store.command(epilog="Exit status: 0 saved, 1 saved, but the journal is not what was written.")
@click.argument("file", metavar="FILE")
@store_option
def backup(file: str, where: str | None) -> int:
    """Save a journal to a new FILE while it is in use.

    The file is a store like any other: `--store FILE` opens it. It prints the digest of what was
    saved, which `quandary verify --expect` compares with the original.
    """
    with closing(running.opened(where, existing=True, telling=False)) as used:
        report = archive.backup(used, file, _watch)
    for problem in report.problems:
        complain(f"run {problem.run}: {problem.text}" if problem.run else problem.text)
    _tell(report)
    return 1 if report.problems else 0


@store.command(epilog="Exit status: 0 nothing is missing, 1 something is, 2 FILE cannot be read.")
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


def _watch(count: int, total: int) -> None:
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
