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
            return read_reference(deed)
        if deed.deed == "list-artifacts":
            from quandary.deeds.artifacts import listed  # noqa: PLC0415 - only at gates

            return listed(store, deed)
        from quandary.deeds.moving import move  # noqa: PLC0415 - only at gates

        return move(store, run, deed)

    return do


def read_reference(deed: Do) -> Done:
    """`@path`: a text file below the folder where the command runs, and nothing else."""
    root = os.path.realpath(os.curdir)
    named = deed.argument
    try:
        path = os.path.realpath(os.path.join(root, named))
        if not named or os.path.isabs(named) or os.path.commonpath([root, path]) != root:
            return Done(deed.key, error=f"{named or '@'} is not below the working folder")
        if os.path.getsize(path) > LARGEST_REFERENCE:
            return Done(deed.key, error=f"{named} is larger than 256 KiB")
        with open(path, "rb") as file:
            text = file.read(LARGEST_REFERENCE).decode()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        return Done(deed.key, error=f"{named} cannot be shown: {reason}")
    return Done(deed.key, text=text)
