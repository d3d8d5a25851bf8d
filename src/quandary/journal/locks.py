"""Runs that a process has to itself, where the store is a file.

Beside the store lies one file for all runs, in which each run has a place of its own. A lock on
that place goes with the process that holds it, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import threading
import time
from typing import TYPE_CHECKING

from quandary.errors import Rejected, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACES = 2**62
"""More than anyone has runs; the largest number that a lock can have is not much higher."""
_LOOKS = 5
_LOOKED = 0.01
"""Seconds after which whoever only looked is gone."""


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
        if run not in self.runs:
            for _ in range(_LOOKS):
                if self._locked(run):
                    self.runs.add(run)
                    return
                time.sleep(_LOOKED)
        raise Rejected(f"run {run} is being walked by another process")

    def _locked(self, run: str) -> bool:
        try:
            fcntl.lockf(self.number, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(run))
        except OSError:
            return False
        return True

    def is_free(self, run: str) -> bool:
        """Whether nobody has it, as far as can be seen by taking it for a moment."""
        try:
            fcntl.lockf(self.number, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _place(run))
        except OSError:
            return False
        fcntl.lockf(self.number, fcntl.LOCK_UN, 1, _place(run))
        return True

    def leave(self, run: str) -> None:
        """Let others have it."""
        self.runs.discard(run)
        with contextlib.suppress(OSError):
            fcntl.lockf(self.number, fcntl.LOCK_UN, 1, _place(run))


_files: dict[str, _File] = {}
"""Those that are open, by their real paths. Closing one lets go of every lock in it."""
_guard = threading.Lock()
"""Held by whoever opens or closes one, for the same reason."""


@contextlib.contextmanager
def lock(store: str, run: str) -> Iterator[None]:
    """Within it, no other process has the run of the store at this path."""
    place = _place_beside(store)
    with _opened(place) as file:
        file.take(run)
    try:
        yield
    finally:
        with _opened(place) as file:
            file.leave(run)


def is_locked(store: str, run: str) -> bool:
    """Whether some process has the run at this moment."""
    place = _place_beside(store)
    if not os.path.exists(place):
        return False
    with _opened(place) as file:
        return run in file.runs or not file.is_free(run)


def _place_beside(store: str) -> str:
    return f"{os.path.realpath(store)}.walking"


@contextlib.contextmanager
def _opened(place: str) -> Iterator[_File]:
    """The file, which is closed behind whoever does not leave a run in it."""
    with _guard:
        file = _files.get(place) or _File(place)
        _files[place] = file
        try:
            yield file
        finally:
            if not file.runs and _files.pop(place, None) is not None:
                os.close(file.number)


def _place(run: str) -> int:
    digest = hashlib.sha256(run.encode()).digest()
    return int.from_bytes(digest[:8]) % _PLACES
