"""What the house does itself when a flow asks for it."""

from __future__ import annotations

import os

from quandary.model.call import Do, Done

LARGEST_REFERENCE = 256 * 1024


def do(deed: Do) -> Done:
    """Do one deed. It may have been done before a crash, so each bears being repeated."""
    if deed.deed == "read-file":
        return read_reference(deed)
    return Done(deed.key, error=f"{deed.deed} cannot be done here")


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
