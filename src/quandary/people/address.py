"""Where the server of this machine can be reached, for whoever wants to lead a person there.

A server says so in a file of the user's data folder for as long as it runs.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from quandary.settings import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterator


class Announcement(msgspec.Struct, frozen=True):
    """What a server says of itself."""

    address: str
    process: int


def _path() -> str:
    return os.path.join(data_folder(), "serve.json")


@contextmanager
def announced(address: str) -> Iterator[None]:
    """Within it, others on this machine know the address of the server that runs here."""
    path, own = _path(), Announcement(address, os.getpid())
    with suppress(OSError):  # without it there are no links, and all else works
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "wb") as file:
            file.write(msgspec.json.encode(own))
    try:
        yield
    finally:
        if _read() == own:
            with suppress(OSError):
                os.unlink(path)


def known() -> str:
    """The address of a server that runs on this machine; nothing where there is none."""
    found = _read()
    return found.address if found is not None and _lives(found.process) else ""


def page_of(address: str, run: str) -> str:
    """The page of a run."""
    return f"{address.rstrip('/')}/runs/{run}" if address else ""


def _read() -> Announcement | None:
    try:
        with open(_path(), "rb") as file:
            return msgspec.json.decode(file.read(), type=Announcement)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _lives(process: int) -> bool:
    """Whether there is such a process; a server that was killed has not said goodbye."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return process > 0
