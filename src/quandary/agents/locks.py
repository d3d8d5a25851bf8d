"""Who walks a run: one process at a time.

A shared store sees to that itself. Beside an embedded one lies one file for all runs, in which each
run has a place of its own. A lock on that place goes with the process that holds it, however it
ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

from quandary.errors import Rejected, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import Store

_PLACES = 2**62
"""More than anyone has runs; the largest number that a lock can have is not much higher."""


class _File:
    """The file of a store while this process walks runs in it."""

    def __init__(self, place: str) -> None:
        try:
            self.number = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"{place} cannot be written: {error.strerror}") from None
        self.runs: set[str] = set()

    def take(self, run: str) -> None:
        """Have the run to ourselves. The system only knows that we are one process, so we count."""
        import fcntl  # noqa: PLC0415 - not on every system

        try:
            if run in self.runs:
                raise BlockingIOError
            fcntl.lockf(self.number, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(run))
        except OSError:
            raise Rejected(f"run {run} is being walked by another process") from None
        self.runs.add(run)

    def leave(self, run: str) -> None:
        """Let others have it."""
        import fcntl  # noqa: PLC0415 - not on every system

        self.runs.discard(run)
        with contextlib.suppress(OSError):
            fcntl.lockf(self.number, fcntl.LOCK_UN, 1, _place(run))


_files: dict[str, _File] = {}
"""Those that are open, by their real paths. Closing one lets go of every lock in it."""


@contextlib.contextmanager
def walking(store: Store, run: str) -> Iterator[None]:
    """Within it, nobody else who uses this store makes the calls of the run."""
    alone = getattr(store, "alone", None)
    if alone is not None:
        with alone(run):
            yield
        return
    path = getattr(store, "path", "")
    if not path or os.name != "posix":  # elsewhere no agent can be run either
        yield
        return
    place = f"{os.path.realpath(path)}.walking"
    file = _files.get(place) or _File(place)
    _files[place] = file
    try:
        file.take(run)
        try:
            yield
        finally:
            file.leave(run)
    finally:
        if not file.runs and _files.pop(place, None) is not None:
            os.close(file.number)


def _place(run: str) -> int:
    digest = hashlib.sha256(run.encode()).digest()
    return int.from_bytes(digest[:8]) % _PLACES
