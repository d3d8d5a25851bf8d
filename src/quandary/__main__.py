"""`quandary`, and `python -m quandary`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """The program. A host calls its hooks around every question, so they take the shortest way."""
    gc.disable()  # what is loaded to begin with stays; the command switches it on again
    if sys.argv[1:] in (["hook", "pre"], ["hook", "post"]):
        from quandary.doors.hosts.hooks import run  # noqa: PLC0415 - without the command line

        sys.exit(run(sys.argv[2]))
    from quandary.cli import main as commands  # noqa: PLC0415 - for everything else

    commands()


if __name__ == "__main__":
    main()
