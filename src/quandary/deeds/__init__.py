"""What the house does itself when a flow asks for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from quandary.model.call import Do, Done

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.journal.store import Store

LARGEST_REFERENCE = 256 * 1024


def of(store: Store, run: str) -> Callable[[Do], Done]:
    """The deeds of a run. One may have been done before a crash, so each bears being repeated."""

    def do(deed: Do) -> Done:
        if deed.deed == "read-file":
            return read_reference(deed, folder_of(store, run))
        if deed.deed == "list-artifacts":
            from quandary.deeds.artifacts import listed  # noqa: PLC0415 - only at gates

            return listed(store, deed)
        if deed.deed == "prune":
            from quandary.journal.pruning import do_prune  # noqa: PLC0415 - hardly ever

            return do_prune(store, deed)
        from quandary.deeds.moving import move  # noqa: PLC0415 - only at gates

        return move(store, run, deed)

    return do


def folder_of(store: Store, run: str) -> str:
    """The folder in which a run was begun; the current one where nobody wrote it down."""
    entries = store.entries(run, kinds=("began",))
    arguments = (entries[0].read_matter().arguments if entries else None) or {}
    return str(arguments.get("cwd") or arguments.get("workdir") or os.curdir)


def read_reference(deed: Do, folder: str = os.curdir) -> Done:
    """`@path`: a text file below the run's folder, and nothing else."""
    root = os.path.realpath(folder)
    named = deed.argument
    try:
        path = os.path.realpath(os.path.join(root, named))
        below = os.path.commonpath([root, path]) == root and os.pardir not in named.split(os.sep)
        if not named or os.path.isabs(named) or not below:
            return Done(deed.key, error=f"{named or '@'} is not below the working folder")
        if os.path.exists(path) and not os.path.isfile(path):
            return Done(deed.key, error=f"{named} cannot be shown: not a file")
        if os.path.getsize(path) > LARGEST_REFERENCE:
            return Done(deed.key, error=f"{named} is larger than 256 KiB")
        with open(path, "rb") as file:
            text = file.read(LARGEST_REFERENCE).decode()
        if "\0" in text:
            return Done(deed.key, error=f"{named} cannot be shown: not a text file")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        return Done(deed.key, error=f"{named} cannot be shown: {reason}")
    return Done(deed.key, text=text)
