"""A journal moved from one store into another, or saved to a file while it is in use."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from sys import maxsize
from typing import TYPE_CHECKING

from quandary.errors import Rejected, StoreError
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import store_digest, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quandary.journal.store import Row, Store
    from quandary.journal.verify import Report

    Progress = Callable[[int, int], None]
    """Is told how many entries have been copied, and of how many."""

_STEP = 1000


def copy(source: Store, target: Store, progress: Progress | None = None) -> Report:
    """Move a journal into an empty store, whole and in order, or not at all.

    It is read at one moment and verified where it arrives, before that is made final. A journal
    that is not what was written is not copied, nor one that somebody goes on writing to: whoever
    changes over to the new store would miss what came in between.
    """

    def judge(report: Report) -> None:
        if report.problems:
            raise Rejected(
                f"the journal is not as it was written: {report.problems[0].text} (`quandary "
                "verify` names every problem); nothing was copied"
            )
        if source.newest() != int(report.digest.partition("-")[0]):
            raise Rejected(
                "the journal was written to while it was copied, so nothing was copied; stop who "
                "uses it and try again, or take a `quandary store backup`"
            )

    if source.last() is None:
        raise Rejected("that store is empty, so there is nothing to copy")
    return _carry(source, target, progress, judge)


def backup(source: Store, file: str, progress: Progress | None = None) -> Report:
    """Save a journal to a new file while it is in use, and check what was saved.

    The file is there when it is complete. What it holds is the journal as it was at one moment,
    with every fault that it may have: the report says so.
    """
    with _new(file) as partial:
        if isinstance(source, SqliteStore):
            source.back_up(partial)
            saved = SqliteStore(partial)
            report = verify(saved)
        else:
            saved = SqliteStore(partial)
            report = _carry(source, saved, progress, lambda _: None)
        saved.close()
    return report


def _carry(
    source: Store,
    target: Store,
    progress: Progress | None,
    judge: Callable[[Report], None],
) -> Report:
    """Fill a store with another one's rows; what arrives has to have the same digest."""
    found: list[Report] = []
    with ExitStack() as moment:
        moment.enter_context(source.snapshot())
        expected, total = store_digest(source, maxsize), source.newest()

        def check() -> None:
            moment.close()
            report = verify(target)
            if report.digest != expected:
                raise StoreError("what arrived is not what was sent; nothing was copied")
            judge(report)
            found.append(report)

        target.fill(lambda table: _watched(source.dump(table), table, total, progress), check)
    return found[0]


def _watched(
    rows: Iterator[Row], table: str, total: int, progress: Progress | None
) -> Iterator[Row]:
    if progress is None or table != "entry":
        yield from rows
        return
    for count, row in enumerate(rows, 1):
        if count % _STEP == 0:
            progress(count, total)
        yield row
    progress(total, total)


@contextmanager
def _new(file: str) -> Iterator[str]:
    """A name to write to; what is written there becomes the file at the end, if all went well."""
    if os.path.lexists(file):
        raise Rejected(f"{file} exists already; name a new file")
    partial = f"{file}.partial"
    remove(partial)
    try:
        with open(partial, "xb", opener=_private):
            pass
        yield partial
        descriptor = os.open(partial, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(partial, file)
    except OSError as error:
        raise StoreError(f"{file} cannot be written ({error.strerror})") from error
    finally:
        remove(partial)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def remove(file: str) -> None:
    """Remove a store's file and those that SQLite keeps beside it."""
    for name in (file, f"{file}-wal", f"{file}-shm"):
        with suppress(FileNotFoundError):
            os.remove(name)
