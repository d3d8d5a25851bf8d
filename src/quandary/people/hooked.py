"""A hook as the host calls it: JSON in, perhaps JSON out, and never in the way."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


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
    from quandary.desk.notices import watch_store  # noqa: PLC0415 - the same

    store = open_store(start=where)
    watch_store(store)
    output = hook.before(told, store, project_of(where), read_settings(where))
    return msgspec.json.encode(output) if output is not None else b""


def _log(error: BaseException) -> None:
    from quandary.desk import notices  # noqa: PLC0415 - only when something went wrong

    notices.log_trouble("hook", f"{type(error).__name__}: {error}")
