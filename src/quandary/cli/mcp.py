"""`quandary mcp`: tools for the agent of a chat client, and forms for the person in front of it."""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import TYPE_CHECKING

import click

from quandary.cli import INTERRUPTED, logs, running
from quandary.cli.options import store_option
from quandary.cli.screen import complain, tell
from quandary.cli.serve import walks_of
from quandary.errors import ParseError, QuandaryError

if TYPE_CHECKING:
    from quandary.desk.authority import Scope
    from quandary.desk.walks import Walks
    from quandary.doors.mcp.tools import House
    from quandary.journal.store import Store
    from quandary.logging_json import Form

log = logging.getLogger("quandary.mcp")


@click.command()
@click.option("--project", metavar="DIR", help="Work there; by default in the current folder.")
@logs.log_options
@store_option
def mcp(project: str | None, log_format: Form, log_level: str | None, where: str | None) -> int:
    """Serve a chat client over its pipe, as it starts this program by itself.

    Its agent gets tools to ask, split, gate, walk, check trees and look at runs; none of them
    answers a question. Where the client can show forms, the person answers right there; elsewhere
    the agent is handed the question to relay. `quandary install` enters it in a client's list.
    """
    if project is not None:
        try:
            os.chdir(project)
        except OSError as error:
            raise QuandaryError(f"{project}: no folder to work in ({error.strerror})") from None
    try:
        import anyio  # noqa: PLC0415 - an extra, and slow

        from quandary.doors.mcp.server import build, over_stdio  # noqa: PLC0415 - the same
    except ImportError as missing:
        raise QuandaryError(
            f"chat clients need more packages ({missing.name}): pip install 'quandary[mcp]'"
        ) from None
    logs.begin(log_format, log_level)
    if sys.stdin is None:
        raise ParseError("-: standard input is closed")
    if sys.stdin.isatty():
        tell("A chat client starts this by itself and speaks JSON with it. Ctrl-C ends it.")
    store = running.opened(where)
    server = build(house_of(store, walks_of(store)))
    log.info("serving a chat client over its pipe")
    signal.signal(signal.SIGINT, _leave)
    anyio.run(over_stdio, server)
    return 0


def house_of(store: Store, walks: Walks, scope: Scope | None = None) -> House:
    """Everything that the tools of a chat client do, with the current folder as the project."""
    from quandary.cli.reports import json_report  # noqa: PLC0415 - slow
    from quandary.cli.walking import LocalAgents  # noqa: PLC0415 - the same
    from quandary.doors.mcp.tools import House  # noqa: PLC0415 - an extra
    from quandary.settings import read_settings  # noqa: PLC0415 - the same

    def agents() -> LocalAgents:
        return LocalAgents(read_settings())

    return House(store, walks, agents, json_report, scope)


def _leave(*_: object) -> None:
    """End at once: whatever reads the pipe sleeps until something comes and cannot be woken."""
    complain("interrupted")
    os._exit(INTERRUPTED)
