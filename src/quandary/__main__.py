"""`quandary`, and `python -m quandary`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """The program. A host calls its hooks around every question, so they take the shortest way."""
    gc.disable()  # what is loaded to begin with stays; the command switches it on again
    _load_msgspec()
    if sys.argv[1:] in (["hook", "pre"], ["hook", "post"]):
        from quandary.doors.hosts.hooks import run  # noqa: PLC0415 - without the command line

        sys.exit(run(sys.argv[2]))
    from quandary.cli import main as commands  # noqa: PLC0415 - for everything else

    commands()


def _load_msgspec() -> None:
    """Load it without `typing_extensions`, a tenth of a reply's time: `typing` has all it takes."""
    absent = {} if "typing_extensions" in sys.modules else {"typing_extensions": None}
    sys.modules |= absent  # type: ignore[arg-type]  # how a module is said to be none
    import msgspec  # noqa: F401, PLC0415 - for everybody else

    for name in absent:
        del sys.modules[name]


if __name__ == "__main__":
    main()
