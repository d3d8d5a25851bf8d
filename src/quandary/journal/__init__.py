"""The journal of runs: how a store is found and opened, and whether it is the one that was seen.

A chain holds for an old copy of a journal as well as for the newest. So there is a line for each
store in the user's state folder, its anchor: the `seq` and digest of its newest entry, written
after each commit, and compared whenever the store is opened. It stays as it is while the store does
not fit. A link can be put in the place of a file, so a store that one leads to has a line for
either name.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from weakref import proxy

from quandary.errors import NotFound, ParseError, StoreError
from quandary.journal.entries import sha256
from quandary.settings import data_folder, read_settings, state_folder

if TYPE_CHECKING:
    from quandary.journal.store import Marks, Store
    from quandary.settings import Part, Settings

    Where = str | os.PathLike[str] | None


MEMORY = ":memory:"  # the path of a journal that is nowhere and lasts as long as its store is open


class NoStore(NotFound):
    """Nothing was kept there yet."""

    def __init__(self, place: str) -> None:
        super().__init__(f"there is no store {place}; `quandary ask` creates one")


def open_store(
    where: Where = None, *, start: str | None = None, create: bool = True, marks: Marks = None
) -> Store:
    """The store at a path or URL, in the environment, in the settings, or the user's own. The
    settings are those of the folder `start`, by default the current one. One that is not there yet
    is made, or else, without `create`, `NoStore`. A server is told the `marks` on every connection.
    """
    address, project = _address(where, start, make=create)
    if _is_url(address):
        try:
            from quandary.journal.postgres import PostgresStore  # noqa: PLC0415 - an extra
        except ImportError as missing:
            needed = f"({missing.name}): pip install 'quandary[postgres]'"
            raise StoreError(f"PostgreSQL needs more packages {needed}") from missing
        store: Store = PostgresStore(address, create=create, marks=marks)
        names: tuple[str, ...] = (store.path,)
    else:
        from quandary.journal.sqlite import SqliteStore  # noqa: PLC0415 - one kind among others

        if not create:
            try:
                os.stat(address)
            except (FileNotFoundError, NotADirectoryError):
                raise NoStore(address) from None
            except OSError as error:
                raise StoreError(f"{address} cannot be opened ({error.strerror})") from None
        store = SqliteStore(address)
        names = (os.path.realpath(address), os.path.abspath(address))
    if address != MEMORY:
        store.keeper = Keeper(store, *names)
    store.named_in = project
    return store


def place_of(where: Where = None) -> str:
    """The file or the database that is meant, as it may be shown to anybody."""
    return without_password(_address(where)[0])


def _address(where: Where, start: str | None = None, *, make: bool = False) -> tuple[str, str]:
    """What to open, and the project that named it, if one did and its user agreed. A path in a file
    of settings starts from the folder of that file. Where none is named, it is `journal.db` in the
    user's data folder; who keeps something makes it.
    """
    named = os.fspath(where) if where is not None else os.environ.get("QUANDARY_STORE", "")
    if named:
        return _path(named), ""
    settings = read_settings(start)
    if chosen := chosen_by_project(settings):
        # Whoever wrote the repository would get every question, or bring along preferences.
        from quandary.settings import trust  # noqa: PLC0415 - only where a project names one

        trust.require(settings, "store", chosen, without_password(chosen))
        return chosen, os.path.realpath(settings.root or os.curdir)
    if place := next(filter(None, map(_place_in, settings.parts)), ""):
        return place, ""
    folder = data_folder()
    try:
        if make:
            os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        message = f"cannot create the folder {folder}: {error.strerror}; name a store with --store"
        raise StoreError(message) from error
    return os.path.join(folder, "journal.db"), ""


def chosen_by_project(settings: Settings) -> str:
    """The store that the project's settings name, by its real path, and the user's own do not."""
    places = {part.origin: _place_in(part) for part in settings.parts}
    named, own = (
        place if not place or _is_url(place) else os.path.realpath(place)
        for place in (places.get("project", ""), places.get("user", ""))
    )
    return named if named != own else ""


def is_trusted(store: Store) -> bool:
    """Whether the user of a store stands behind it: they named it, or agree to the one who did."""
    if not store.named_in:
        return True
    from quandary.settings import trust  # noqa: PLC0415 - as above

    return trust.is_given(read_settings(store.named_in), "store", store.address)


def _place_in(part: Part) -> str:
    named = part.values.get("store", "")
    if not isinstance(named, str) or "\0" in named:
        raise ParseError(f"{part.path}: store is a path or a URL, not {named!r}")
    place = _path(named) if named else ""
    if not place or _is_url(place):
        return place
    return os.path.join(os.path.dirname(os.path.abspath(part.path)), place)


def _path(where: str) -> str:
    scheme, separator, rest = where.partition("://")
    if not separator:
        return os.path.expanduser(where)
    if scheme == "sqlite" and len(rest) > 1 and rest.startswith("/"):
        return rest[1:]
    if scheme in ("postgresql", "postgres"):
        return f"postgresql://{rest}"
    raise StoreError(
        f"{without_password(where)} is not a store; give the path of a file, or postgresql://HOST/DATABASE"
    )


def _is_url(place: str) -> bool:
    return place.startswith("postgresql://")


def without_password(place: str) -> str:
    """A place without the password that its URL may hold, wherever in it that stands."""
    scheme, separator, rest = place.partition("://")
    if not separator:
        return place
    before, mark, after = rest.partition("?")
    user, at, host = before.rpartition("@")
    words = [word for word in after.split("&") if "password" not in word.partition("=")[0].lower()]
    query = mark + "&".join(words) if any(words) else ""
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{host}{query}"


UNVERIFIED = "-"
EMPTY_STORE = f"0-{sha256().hexdigest()}"  # the digest of a store in which nothing is
_LONGEST = 4096
_REMEDY = (
    "restore the newest file or, if you want to use this one, accept it at a terminal with "
    "`quandary verify --accept`"
)


class Anchor(NamedTuple):
    """What was seen of a store, digests in hexadecimal."""

    seq: int
    digest: str  # of the newest entry
    origin: str  # the digest of the oldest, which no other store has
    verified: str = UNVERIFIED
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
        self.missing = ""  # what was seen here and is not in the store; nothing where all of it is
        self._known: Anchor | None = None
        self._own: tuple[bytes, Anchor | None] = b"", None
        """What was written here, and what it says."""
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
                written = os.read(file, _LONGEST)
            finally:
                os.close(file)
            if written == self._own[0]:
                return self._own[1]
            line, end, _ = written.partition(b"\n")
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
        """Keep what was just committed, without waiting for the disk. Where somebody else kept
        something since, or numbers come again, what was seen is looked for first; not on a server,
        where many write at once and each look takes a message there and back. Another process may
        have come further; then that stays.
        """
        with self._lock, suppress(OSError, StoreError):  # what was committed stays
            seen = self.read()
            is_file = self._store.shared is None
            if seen is not None and is_file and (seen != self._known or first <= seen.seq):
                self.look()
            if self.missing:
                return
            if seen is None:
                seen = Anchor(
                    0, UNVERIFIED, self._store.origin(), EMPTY_STORE if first == 1 else UNVERIFIED
                )
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

    def renew(self, verified: str = UNVERIFIED) -> None:
        """Take the store as it is, whatever was seen before, and with which digest."""
        if (head := self._store.head()) is not None:
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
            self._known, self._own = anchor, (anchor.line(self._place), anchor)
            os.write(file, self._own[0])
        finally:
            os.close(file)
