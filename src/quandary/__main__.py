"""`quandary`, and `python -m quandary`."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any


def main() -> None:
    """The program. A host calls its hooks around every question, so they take the shortest way."""
    gc.disable()  # what is loaded to begin with stays; the command switches it on again
    _load_msgspec()
    if sys.argv[1:] in (["hook", "pre"], ["hook", "post"]):
        from quandary.doors.hosts import run  # noqa: PLC0415 - without the command line

        status = run(sys.argv[2])
    else:
        from quandary.cli import work  # noqa: PLC0415 - for everything else

        status = work()
    if "click" in sys.modules:
        sys.exit(status)
    # The shortest way was taken. To take all apart that was loaded would be a tenth of it.
    if (threading := sys.modules.get("threading")) is not None:
        threading._shutdown()  # what still has to be said in a moment is said
    atexit._run_exitfuncs()
    os._exit(status)


def _load_msgspec() -> None:
    """Load it without what it takes a seventh of a reply's time to load and hardly uses. Of
    `typing_extensions`, `typing` has all that it takes; of the others it takes one word each.
    """
    dedent = SimpleNamespace(dedent=lambda text: import_module("textwrap").dedent(text))
    platform = SimpleNamespace(system=lambda: os.uname().sysname)
    absent: dict[str, Any] = {"typing_extensions": None, "platform": platform, "textwrap": dedent}
    absent = {name: module for name, module in absent.items() if name not in sys.modules}
    sys.modules |= absent  # nothing is how a module is said to be none
    import msgspec  # noqa: F401, PLC0415 - for everybody else

    for name in absent:
        del sys.modules[name]


if __name__ == "__main__":
    main()
