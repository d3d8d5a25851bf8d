"""A process with the whole program loaded, which forks one child for each command it is told of.

Starting an interpreter costs more than most commands do. A child is the program as `quandary`
starts it, with its streams, its folder, its user and its limits as a test wants them.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import resource
import signal
import sys
import time
from importlib import import_module
from typing import Any

CLOSED, BROKEN = "closed", "broken"


_LATER = (
    "quandary.adapters",
    "quandary.doors.web",
    "quandary.doors.mcp",
    "quandary.fleet",
    "quandary.cli.servers",
)
"""Rooms of servers and of frameworks: few commands need them, or none."""


def preload() -> None:
    """Import what commands need, since a child that is somebody else may not be allowed to."""
    import quandary  # noqa: PLC0415 - this is what takes the time

    for module in pkgutil.walk_packages(quandary.__path__, "quandary."):
        if not module.name.startswith(_LATER) and not module.name.endswith("__main__"):
            import_module(module.name)
    for name in ("rapidfuzz.distance", "tomllib", "random", "difflib", "tempfile", "traceback"):
        import_module(name)


def serve() -> None:
    """Hear of one command to a line, and tell of each how it ended."""
    preload()
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        told = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(told)
            return
        print(json.dumps(_ended(child, told["seconds"])), flush=True)


def _ended(child: int, seconds: float) -> int:
    """The status of a child, which is killed when its time is up."""
    ends = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > ends:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)


def _become(told: dict[str, Any]) -> None:
    """The child: everything as it was told, and then the program."""
    os.chdir(told["cwd"])
    os.environ.clear()
    os.environ.update(told["env"])
    for descriptor, where in enumerate(told["streams"]):
        _open(descriptor, where)
    sys.stdin = _stream(0, "r")
    sys.stdout, sys.stderr = _stream(1, "w"), _stream(2, "w")
    if told["largest"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (told["largest"],) * 2)
    if told["user"] is not None:
        os.setgroups([])
        os.setgid(told["user"])
        os.setuid(told["user"])
    if told["before"]:
        exec(told["before"], {})  # noqa: S102 - a test's own words
    sys.argv = ["quandary", *told["words"]]
    gc.enable()
    from quandary.__main__ import main  # noqa: PLC0415 - what it imports is there already

    status = 0
    try:
        main()
    except SystemExit as request:
        status = request.code if isinstance(request.code, int) else int(request.code is not None)
    os._exit(_finish(status))


def _finish(status: int) -> int:
    """What the interpreter does at its end, but for taking the whole program apart again."""
    import atexit  # noqa: PLC0415 - for this alone
    import threading  # noqa: PLC0415 - the same

    threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter calls too
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError as error:
            status = 120
            os.write(2, f"Exception ignored: {error!r}\n".encode())
    return status


def _open(descriptor: int, where: str) -> None:
    os.close(descriptor)
    if where == CLOSED:
        return
    if where == BROKEN:
        reading, writing = os.pipe()
        os.close(reading)
        if writing != descriptor:
            os.dup2(writing, descriptor)
            os.close(writing)
        return
    flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
    opened = os.open(where, flags, 0o666)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)


def _stream(descriptor: int, mode: str) -> Any:  # noqa: ANN401 - as the interpreter makes it
    try:
        os.fstat(descriptor)
    except OSError:
        return None
    errors = "backslashreplace" if descriptor == 2 else "strict"
    buffering = 1 if descriptor == 2 else -1
    return open(descriptor, mode, buffering, "utf-8", errors, closefd=False)


if __name__ == "__main__":
    serve()
