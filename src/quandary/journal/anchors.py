"""Anchors: what was seen of a store, kept outside it, so that an older file is noticed.

A chain holds for an old copy of a journal as well as for the newest. So there is a line for each
store in the user's state folder: the `seq` and digest of its newest entry, written after each
commit, and compared whenever the store is opened. It stays as it is while the store does not fit.
A link can be put in the place of a file, so a store that one leads to has a line for either name.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from weakref import proxy

from quandary.errors import StoreError
from quandary.journal.entries import sha256
from quandary.settings import state_folder

if TYPE_CHECKING:
    from quandary.journal.store import Store

NONE = "-"
EMPTY = f"0-{sha256().hexdigest()}"
"""The digest of a store in which nothing is."""
_LONGEST = 4096
_REMEDY = (
    "restore the newest file or, if you want to use this one, accept it at a terminal with "
    "`quandary verify --accept`"
)


class Anchor(NamedTuple):
    """What was seen of a store, digests in hexadecimal."""

    seq: int
    digest: str
    """Of the newest entry."""
    origin: str
    """The digest of the oldest, which no other store has."""
    verified: str = NONE
    """The digest of the whole store when it was last found to be as it was written."""

    def line(self, place: str) -> bytes:
        """As it is written down."""
        return f"{' '.join(map(str, self))} {place}\n".encode(errors="backslashreplace")


class Keeper:
    """Keeps the anchor of one store."""

    def __init__(self, store: Store, place: str, named: str = "") -> None:
        self._store: Store = proxy(store)  # which holds this, and is closed when nobody holds it
        self._place = place
        self.folder = os.path.join(state_folder(), "stores")
        self.path = os.path.join(self.folder, sha256(os.fsencode(place)).hexdigest()[:32])
        self.missing = ""
        """What was seen here and is not in the store; nothing where all of it is."""
        self._known: Anchor | None = None
        self._link = Keeper(store, named) if named not in ("", place) else None
        """The same for the name that leads there."""
        self._lock = threading.Lock()
        with suppress(StoreError):  # whoever reads a damaged store is told then
            self.look()

    def read(self) -> Anchor | None:
        """What was last seen; nothing where nobody knows, or where a crash left half a line."""
        try:
            file = os.open(self.path, os.O_RDONLY)
            try:
                line, end, _ = os.read(file, _LONGEST).partition(b"\n")
            finally:
                os.close(file)
            seq, *digests, place = line.decode().split(" ", len(Anchor._fields))
        except (OSError, ValueError):
            return None
        fits = end and place and len(digests) == len(Anchor._fields) - 1 and seq.isdecimal()
        return Anchor(int(seq), *digests) if fits else None

    def read_all(self) -> list[Anchor]:
        """What was last seen under each name of the store."""
        either = (self.read(), self._link.read() if self._link is not None else None)
        return [anchor for anchor in either if anchor is not None]

    def look(self) -> None:
        """See whether the newest entry that was seen is there."""
        self.missing = self._find_missing()
        if self._link is not None:
            self._link.look()
            self.missing = self.missing or self._link.missing

    def _find_missing(self) -> str:
        seen = self._known = self.read()
        if seen is None or self._store.digest_at(seen.seq) == seen.digest:
            return ""
        newest = self._store.newest()
        if self._store.origin() != seen.origin:
            what = f"was begun anew: the store that was there, up to entry {seen.seq}, is gone"
        elif newest < seen.seq:
            what = f"is older than what was seen here: it ends with entry {newest}, and what came "
            what += f"up to entry {seen.seq} is missing"
        else:
            what = f"is not what was seen here: entry {seen.seq} is another one, as in an older "
            what += "file that was written to since"
        return f"{self._store.path} {what}; {_REMEDY}"

    def keep(self, first: int, seq: int, digest: bytes) -> None:
        """Keep what was just committed, without waiting for the disk.

        Where somebody else kept something since, or numbers come again, what was seen is looked
        for first; not on a server, where many write at once and each look takes a message there
        and back. Another process may have come further; then that stays.
        """
        with self._lock, suppress(OSError, StoreError):  # what was committed stays
            seen = self.read()
            is_file = self._store.shared is None
            if seen is not None and is_file and (seen != self._known or first <= seen.seq):
                self.look()
            if self.missing:
                return
            if seen is None:
                seen = Anchor(0, NONE, self._store.origin(), EMPTY if first == 1 else NONE)
            if seq > seen.seq:
                self._write(seen._replace(seq=seq, digest=digest.hex()))
        if self._link is not None:
            self._link.keep(first, seq, digest)

    def begin(self) -> None:
        """Keep what a store was filled with, if it contradicts nothing that was seen here."""
        with suppress(OSError):
            self.look()
            if not self.missing:
                self.renew()

    def renew(self, verified: str = NONE) -> None:
        """Take the store as it is, whatever was seen before, and with which digest."""
        head = self._store.head()
        if head is not None:
            self._write(Anchor(head[0], head[1].hex(), self._store.origin(), verified))
        elif os.path.exists(self.path):
            os.unlink(self.path)
        if self._link is not None:
            self._link.renew(verified)
        self.look()

    def _write(self, anchor: Anchor) -> None:
        flags = os.O_WRONLY | os.O_CREAT
        try:
            file = os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            file = os.open(self.path, flags, 0o600)
        try:
            os.write(file, anchor.line(self._place))
        finally:
            os.close(file)
        self._known = anchor
