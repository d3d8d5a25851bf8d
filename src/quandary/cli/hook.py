"""`quandary hook`: called by a host around its own question tool."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_LARGEST_LOG = 1_000_000


@click.group()
def hook() -> None:
    """Judge and keep the questions that a host asks by itself.

    The host calls these with its JSON on standard input; `quandary install claude` sets that up.
    Whatever comes in, they end with status 0, so that they never stand in an agent's way; what
    went wrong is written to `hook.log` in the user's data folder.
    """


@hook.command()
def pre() -> int:
    """Before a question is shown: answer it by preference, or say nothing."""
    return _safely(_before)


@hook.command()
def post() -> int:
    """After it was answered: keep each question with its answer."""
    return _safely(_after)


def _safely(do: Callable[[bytes], bytes]) -> int:
    try:
        said = do(sys.stdin.buffer.read())
        if said:
            sys.stdout.buffer.write(said + b"\n")
            sys.stdout.buffer.flush()
    except BaseException as error:  # noqa: BLE001 - a hook never stands in the way
        with suppress(BaseException):
            _log(error)
    return 0


def _before(data: bytes) -> bytes:
    from quandary.people import hook as hooks  # noqa: PLC0415 - inside what never fails

    told, where = _heard(data)
    if told is None:
        return b""
    import msgspec  # noqa: PLC0415 - the same

    from quandary.journal.store import open_store  # noqa: PLC0415 - the same
    from quandary.settings import read_settings  # noqa: PLC0415 - the same

    settings = read_settings(where)
    said = hooks.before(told, open_store(start=where), _project(where), settings)
    return msgspec.json.encode(said) if said is not None else b""


def _after(data: bytes) -> bytes:
    from quandary.people import hook as hooks  # noqa: PLC0415 - inside what never fails

    told, where = _heard(data)
    if told is not None:
        from quandary.journal.store import open_store  # noqa: PLC0415 - the same

        hooks.after(told, open_store(start=where), _project(where))
    return b""


def _heard(data: bytes) -> tuple[Any, str]:
    """The call, and the folder that it was made in."""
    import msgspec  # noqa: PLC0415 - inside what never fails

    from quandary.people import hook as hooks  # noqa: PLC0415 - the same

    said = msgspec.json.decode(data)
    where = said.get("cwd") if isinstance(said, dict) else None
    if not isinstance(where, str) or not os.path.isdir(where):
        where = os.curdir
    return hooks.heard(said), where


def _project(where: str) -> str:
    from quandary.cli.running import project  # noqa: PLC0415 - inside what never fails

    return project(where)


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
