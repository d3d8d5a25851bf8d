"""Runs that a process has to itself, where the store is a file.

Beside the store lies one file for all runs, in which each run has a place of its own. A lock on
that place goes with the process that holds it, however it ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quandary.errors import Rejected, StoreError
from quandary.journal import chance

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACES = 2**62
"""More than anyone has runs; the largest number that a lock can have is not much higher."""
_LOOKS = 5
_LOOKED = 0.01


class _File:
    """The file of a store while this process drives runs in it."""

    def __init__(self, place: str) -> None:
        try:
            self.number = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"{place} cannot be written: {error.strerror}") from None
        self.runs: set[str] = set()
        """Those that are ours: the system only knows that we are one process, so we count."""

    def lock(self, run: str, kind: int) -> bool:
        """Lock the place of a run, or unlock it; whether that was possible."""
        digest = hashlib.sha256(run.encode()).digest()
        try:
            fcntl.lockf(self.number, kind, 1, int.from_bytes(digest[:8]) % _PLACES)
        except OSError:
            return False
        return True


_files: dict[str, _File] = {}
"""Those that are open, by their real paths. Closing one lets go of every lock in it."""
_guard = threading.Lock()
"""Held by whoever opens or closes one, for the same reason."""


@contextmanager
def lock(store: str, run: str) -> Iterator[None]:
    """Within it, no other process has the run of the store at this path."""
    with _opened(store) as file:
        if run in file.runs or not _lock_soon(file, run):
            raise Rejected(f"run {run} is being driven by another process")
        file.runs.add(run)
    try:
        yield
    finally:
        with _opened(store) as file:
            file.runs.discard(run)
            file.lock(run, fcntl.LOCK_UN)


def _lock_soon(file: _File, run: str) -> bool:
    """Whether the run is ours now; who only looks whether it is locked has gone in a moment."""
    for _ in range(_LOOKS):
        if file.lock(run, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return True
        chance.sleep(_LOOKED)
    return False


def is_locked(store: str, run: str) -> bool:
    """Whether some process has the run at this moment, as far as taking it for a moment tells."""
    if not os.path.exists(_beside(store)):
        return False
    with _opened(store) as file:
        if run in file.runs or not file.lock(run, fcntl.LOCK_SH | fcntl.LOCK_NB):
            return True
        file.lock(run, fcntl.LOCK_UN)
        return False


def _beside(store: str) -> str:
    return f"{os.path.realpath(store)}.walking"


@contextmanager
def _opened(store: str) -> Iterator[_File]:
    """The file, which is closed behind whoever does not leave a run in it."""
    place = _beside(store)
    with _guard:
        file = _files.get(place) or _File(place)
        _files[place] = file
        try:
            yield file
        finally:
            if not file.runs and _files.pop(place, None) is not None:
                os.close(file.number)
