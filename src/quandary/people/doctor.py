"""What is installed, what works, and how to mend the rest: the program, its extras and its store.

Nothing here changes anything. Other programs are only asked for their versions.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from quandary import __version__
from quandary.desk import notices
from quandary.errors import QuandaryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import Store

Status = Literal["ok", "note", "broken"]
SECONDS = 5.0
"""How long a program may take to say its version."""
MANY = 20_000
"""A journal with more entries than this is not looked through in passing."""
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)[^;]*;\s*extra == ['\"](?P<extra>[\w-]+)['\"]")


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    area: str
    status: Status
    what: str
    text: str
    remedy: str = ""
    """What to do about it."""


# -- versions of programs --------------------------------------------------------------------------


class Version(msgspec.Struct, frozen=True):
    """What a program says of itself."""

    text: str = ""
    trouble: str = ""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as something that can be compared."""
        return tuple(int(part) for part in self.text.split("."))


@cache
def version_of(path: str) -> Version:
    """The version of a program, if it says one in time."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell, and nothing but this one word
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**kept, "TERM": "dumb", "CI": "1"},
            start_new_session=True,
        )
    except OSError as error:
        return Version(trouble=f"cannot be started ({error.strerror})")
    with process:
        try:
            said, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            _end(process)
            return Version(trouble=f"did not say its version within {SECONDS:g} seconds")
    found = _VERSION.search(said.decode(errors="replace"))
    if found is None:
        status = f" and ended with status {process.returncode}" if process.returncode else ""
        return Version(trouble=f"says no version{status}")
    return Version(found[0])


def _end(process: subprocess.Popen[bytes]) -> None:
    import signal  # noqa: PLC0415 - only for programs that hang

    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


# -- the program itself ----------------------------------------------------------------------------


def program() -> Iterator[Finding]:
    """The program at hand, its bytecode, and the one that others would call."""
    python = ".".join(map(str, sys.version_info[:3]))
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield Finding(
        "program", "ok", "quandary", f"version {__version__} with Python {python}, in {folder}"
    )
    stale = _without_bytecode(folder)
    if stale:
        yield Finding(
            "program",
            "note",
            "bytecode",
            f"{stale} modules have none that is up to date, so that every call starts more slowly",
            f"{sys.executable} -m compileall -q {folder}",
        )
    else:
        yield Finding("program", "ok", "bytecode", "up to date")
    yield _on_path()


def _on_path() -> Finding:
    found = shutil.which("quandary")
    if found is None:
        return Finding(
            "program",
            "note",
            "PATH",
            "does not lead to quandary, so that agents cannot call it by its name",
            "install it to stay, for instance with `uv tool install quandary`",
        )
    version = version_of(found)
    if version.trouble:
        remedy = "reinstall it, for instance with `uv tool install --force quandary`"
        return Finding(
            "program", "broken", "PATH", f"leads to {found}, which {version.trouble}", remedy
        )
    status: Status = "ok" if version.text == __version__ else "note"
    remedy = "" if status == "ok" else "keep one of the two"
    return Finding("program", status, "PATH", f"leads to {found}, version {version.text}", remedy)


def _without_bytecode(folder: str) -> int:
    """How many modules have to be compiled each time they are loaded."""
    from importlib.util import cache_from_source  # noqa: PLC0415 - only here

    count = 0
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".py"):
                source = os.path.join(place, name)
                count += not _is_compiled(source, cache_from_source(source))
    return count


def _is_compiled(source: str, compiled: str) -> bool:
    """Whether bytecode was made from the source as it is; its head says so."""
    try:
        with open(compiled, "rb") as file:
            head = file.read(16)
        stood = os.stat(source)
    except OSError:
        return False
    if head[4:8] != bytes(4):  # it goes by the digest of the source
        return True
    made = (int(stood.st_mtime) & 0xFFFFFFFF, stood.st_size & 0xFFFFFFFF)
    return tuple(int.from_bytes(head[at : at + 4], "little") for at in (8, 12)) == made


def extras() -> Iterator[Finding]:
    """What can be added to the program, and whether it is there."""
    from importlib import metadata  # noqa: PLC0415 - slow

    try:
        needed = metadata.requires("quandary") or []
    except metadata.PackageNotFoundError:
        yield Finding("extras", "note", "quandary", "is not installed as a package")
        return
    wanted: dict[str, dict[str, str]] = {}
    for line in needed:
        found = _REQUIREMENT.match(line)
        if found is not None and found["extra"] != "all":
            wanted.setdefault(found["extra"], {})[found["name"]] = ""
    for extra, names in sorted(wanted.items()):
        for name in names:
            with suppress(metadata.PackageNotFoundError):
                names[name] = metadata.version(name)
        missing = [name for name, version in names.items() if not version]
        if missing:
            text = f"not installed ({', '.join(missing)})"
            yield Finding("extras", "note", extra, text, f"pip install 'quandary[{extra}]'")
        else:
            text = ", ".join(f"{name} {version}" for name, version in names.items())
            yield Finding("extras", "ok", extra, text)


def has_extra(name: str) -> bool:
    """Whether all that an extra needs is there."""
    return all(f.status == "ok" for f in extras() if f.what == name)


# -- the store -------------------------------------------------------------------------------------


def store(where: str | None = None) -> Iterator[Finding]:
    """The journal: whether it can be read, how large it is, and whether it is what was written."""
    from quandary.journal.store import (  # noqa: PLC0415 - not for all of this
        NoStore,
        open_store,
        place_of,
    )

    place = ""
    try:
        place = place_of(where)
        found = open_store(where, create=False)
    except NoStore:
        yield Finding("store", "ok", place, "nothing has been kept there yet")
        return
    except QuandaryError as error:
        yield Finding("store", "broken", "journal", str(error), "name another with --store")
        return
    try:
        yield from _journal(found, place)
    except QuandaryError as error:
        yield Finding("store", "broken", place, str(error), "quandary verify says more")
    finally:
        found.close()


def _journal(found: Store, place: str) -> Iterator[Finding]:
    from quandary.journal.verify import verify  # noqa: PLC0415 - not for all of this

    last, entries = found.last(), found.newest()
    paths = (place, f"{place}-wal")
    size = sum(os.path.getsize(path) for path in paths if os.path.exists(path))
    runs = last.runs if last else 0
    large = f", {_size(size)}" if size else ""  # of a database, its server knows
    told = f"{runs} {'run' if runs == 1 else 'runs'}, {entries} entries{large}"
    if entries > MANY:
        text = f"{told}; too many entries to look through in passing"
        yield Finding("store", "ok", place, text, "quandary verify looks at all of them")
        return
    report = verify(found)
    if report.ok:
        yield Finding("store", "ok", place, f"{told}, all as they were written")
        return
    first = report.problems[0]
    text = f"{told}; {len(report.problems)} problems, the first: {first.text}"
    yield Finding("store", "broken", place, text, "quandary verify names them all")


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


# -- what went wrong before ------------------------------------------------------------------------


def logs() -> Iterator[Finding]:
    """What hooks and notifications complained about last, since nobody saw it then."""
    from quandary.formats.visible import printable  # noqa: PLC0415 - only here

    for name in ("hook", "notify"):
        line = printable(notices.last_trouble(name))
        if line:
            path = notices.trouble_log(name)
            yield Finding(
                "logs", "note", path, f"last: {line[:300]}", "delete it when that is over"
            )


def to_json(findings: list[Finding]) -> dict[str, Any]:
    """Everything as one document."""
    return {
        "version": __version__,
        "ok": not any(finding.status == "broken" for finding in findings),
        "findings": [msgspec.to_builtins(finding) for finding in findings],
    }
