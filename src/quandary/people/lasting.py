"""The command that others are told to run: how to call this program tomorrow.

What is written into settings is run long after we have ended, so it must not be a place that goes
away with a shell, a cache or a folder for passing files. Read in 2026-11: uv keeps what `uvx` runs
in its cache (docs.astral.sh, storage), pipx what `pipx run` runs in a `.cache` of its own for
fourteen days (pipx discussion 1387), npm what `npx` runs below `_npx`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from quandary.errors import QuandaryError

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "quandary"
REMEDY = "install it to stay, for instance with `uv tool install quandary`"

Scope = Literal["project", "user"]

_CACHES = frozenset({".cache", "caches", "_npx", "archive-v0", "builds-v0", "environments-v2"})
_CACHE_VARIABLES = ("UV_CACHE_DIR", "XDG_CACHE_HOME", "npm_config_cache")
_STUB = re.compile(rb"#!/bin/sh\n'''exec' \"?(?P<python>[^\"\n]+?)\"? \"\$0\"")


class Command(NamedTuple):
    """How to call the program."""

    word: str
    """Its name, or its path."""
    note: str = ""
    """What the person should know about it."""


def command(scope: Scope) -> Command:
    """The name where it leads to a program that lasts, the path only in a user's own settings.

    Files of a project are for everyone who works on it, so that no path of this machine belongs
    there.
    """
    on_path, reasons = [], []
    for place in _on_path():
        why = why_not(place)
        if why is None:
            on_path.append(place)
        else:
            reasons.append(f"{place} {why}")
    if any(not _environment(place) for place in on_path):
        return Command(NAME)
    if scope == "project" and on_path:
        folder = _environment(on_path[0])
        note = f"quandary is on PATH only through {folder}; start your agent from there"
        return Command(NAME, note)
    if scope == "user":
        beside = [place for place in (*on_path, *_beside_python()) if why_not(place) is None]
        if beside:
            return Command(beside[0])
    if reasons:
        raise QuandaryError(f"{reasons[0]}; {REMEDY}")
    hint = "" if scope == "user" else ", or use --user"
    raise QuandaryError(f"the command quandary is not on PATH; {REMEDY}{hint}")


def why_not(path: str) -> str | None:
    """Why a program may not be there tomorrow; nothing if it is likely to stay."""
    for place in {os.path.abspath(path), os.path.realpath(path)}:
        if any(_below(place, folder) for folder in temporary_folders()):
            return "is in a temporary folder"
        if _in_cache(place):
            return "is in a cache, which can be emptied at any time"
    python = _interpreter(path)
    if python and not os.path.exists(python):
        return f"cannot run: its Python, {python}, is gone"
    return None


def temporary_folders() -> list[str]:
    """Where systems put what need not stay."""
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP", "XDG_RUNTIME_DIR")]
    usual = ["/tmp", "/var/tmp", "/dev/shm", "/private/var/folders"]  # noqa: S108 - not used as one
    return [folder for folder in (tempfile.gettempdir(), *named, *usual) if folder]


def _on_path() -> Iterator[str]:
    """Every program of our name on PATH, in the order in which they would be found."""
    for folder in os.get_exec_path():
        found = shutil.which(NAME, path=folder) if os.path.isabs(folder) else None
        if found:
            yield found


def _beside_python() -> Iterator[str]:
    """The program as it is running now, and the one that came with this Python."""
    for folder in (os.path.dirname(sys.argv[0]), os.path.dirname(sys.executable)):
        found = shutil.which(NAME, path=os.path.abspath(folder)) if folder else None
        if found:
            yield found


def _environment(path: str) -> str | None:
    """The virtual environment that a program is in, which is on PATH only while it is active."""
    folder = os.path.dirname(os.path.dirname(path))
    return folder if os.path.isfile(os.path.join(folder, "pyvenv.cfg")) else None


def _below(path: str, folder: str) -> bool:
    bases = {os.path.abspath(folder), os.path.realpath(folder)}
    return any(path.startswith(base.rstrip(os.sep) + os.sep) for base in bases)


def _in_cache(path: str) -> bool:
    named = (os.environ.get(name, "") for name in _CACHE_VARIABLES)
    if any(folder and _below(path, folder) for folder in named):
        return True
    parts = [part.casefold() for part in path.split(os.sep)]
    return not _CACHES.isdisjoint(parts) or ("uv", "cache") in pairwise(parts)


def _interpreter(path: str) -> str | None:
    """The Python that a script names in its first line, if it is a script."""
    try:
        with open(path, "rb") as file:
            beginning = file.read(4096)
    except OSError:
        return None
    stub = _STUB.match(beginning)
    if stub:
        return os.fsdecode(stub["python"])
    if not beginning.startswith(b"#!"):
        return None
    words = beginning[2:].split(b"\n", 1)[0].split()
    first = os.fsdecode(words[0]) if words else ""
    return first if os.path.isabs(first) else None
