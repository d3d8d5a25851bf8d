"""What went wrong where nobody could be told: a line in a file of the user's data folder."""

from __future__ import annotations

import os

from quandary.settings import data_folder

_LARGEST = 1_000_000
_LONGEST = 2000


def path_of(name: str) -> str:
    """The file that such lines go to."""
    return os.path.join(data_folder(), f"{name}.log")


def keep(name: str, what: str) -> None:
    """Add a line to the file; one that has grown too large begins anew."""
    from datetime import UTC, datetime  # noqa: PLC0415 - only when something went wrong

    path = path_of(name)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    large = os.path.isfile(path) and os.path.getsize(path) > _LARGEST
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    with open(path, "w" if large else "a", encoding="utf-8", errors="replace") as file:
        file.write(f"{moment} {' '.join(what.split())[:_LONGEST]}\n")


def last(name: str) -> str:
    """The newest line; nothing where all went well."""
    try:
        with open(path_of(name), "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - 2 * _LONGEST * 4, 0))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line.strip()), "")
