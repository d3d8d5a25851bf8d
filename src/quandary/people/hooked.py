"""A hook as the host calls it: JSON in, perhaps JSON out, and never in the way."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_LARGEST_LOG = 1_000_000


def run(event: str) -> int:
    """Hear what a host says before or after it asks; whatever comes in, the status is 0."""
    try:
        said = _answer(event, sys.stdin.buffer.read())
        if said:
            sys.stdout.buffer.write(said + b"\n")
            sys.stdout.buffer.flush()
    except BaseException as error:  # noqa: BLE001 - a hook never stands in the way
        with suppress(BaseException):
            _log(error)
    return 0


def _answer(event: str, data: bytes) -> bytes:
    import msgspec  # noqa: PLC0415 - here, nothing that fails can stop the host

    from quandary.people import hook  # noqa: PLC0415 - the same
    from quandary.settings import project_of, read_settings  # noqa: PLC0415 - the same

    said = msgspec.json.decode(data)
    told = hook.heard(said)
    if told is None:
        return b""
    from quandary.journal.store import open_store  # noqa: PLC0415 - the same

    where = said.get("cwd")
    if not isinstance(where, str) or not os.path.isdir(where):
        where = os.curdir
    if event == "post":
        hook.after(told, open_store(start=where), project_of(where))
        return b""
    settings = read_settings(where)
    output = hook.before(told, open_store(start=where), project_of(where), settings)
    return msgspec.json.encode(output) if output is not None else b""


def _log(error: BaseException) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415 - only when something went wrong

    from quandary.settings import data_folder  # noqa: PLC0415 - the same

    folder = data_folder()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "hook.log")
    large = os.path.isfile(path) and os.path.getsize(path) > _LARGEST_LOG
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    line = " ".join(f"{type(error).__name__}: {error}".split())
    with open(path, "w" if large else "a", encoding="utf-8") as file:
        file.write(f"{moment} {line[:2000]}\n")
