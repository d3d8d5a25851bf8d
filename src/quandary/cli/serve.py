"""`quandary serve`: everything that waits, in a browser."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from quandary.cli import logs, running
from quandary.cli.options import store_option
from quandary.cli.screen import put, tell
from quandary.desk.authority import scope_of
from quandary.desk.notices import announce
from quandary.errors import ParseError, QuandaryError
from quandary.settings import data_folder, user_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar import Litestar

    from quandary.desk.walks import Walks
    from quandary.doors.mcp.server import Mounted
    from quandary.doors.web.keys import Keys
    from quandary.doors.web.metrics import Fleet
    from quandary.journal.store import Store
    from quandary.logging_json import Form

log = logging.getLogger("quandary.serve")
_SOON = 2
"""Seconds that open pages get to finish when the server is ended."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8420, show_default=True)
@click.option("--token", help="A token for programs (also QUANDARY_TOKEN).")
@click.option("--hash", "to_hash", metavar="TOKEN", help="Print a token as [users.NAME] keeps it.")
@logs.log_options
@store_option
def serve(
    host: str,
    port: int,
    token: str | None,
    to_hash: str | None,
    log_format: Form,
    log_level: str | None,
    where: str | None,
) -> int:
    """Show what waits for a person in a browser, and take the answers.

    Only this machine can reach it unless --host says otherwise; then everybody has to log in, with
    the code that is printed here, with a user's token, or with --token. Users are kept in your own
    settings: a table [users.NAME] with the token as --hash prints it. Programs that watch over it
    find /healthz, /readyz, and figures for Prometheus at /metrics.
    """
    try:
        import uvicorn  # noqa: F401, PLC0415 - an extra, and slow

        from quandary.doors.web.access import LOOPBACK  # noqa: PLC0415 - the same
        from quandary.doors.web.app import create_app  # noqa: PLC0415 - the same
        from quandary.doors.web.keys import Keys, hashed, signing_key  # noqa: PLC0415 - the same
    except ImportError as missing:
        raise QuandaryError(
            f"the browser needs more packages ({missing.name}): pip install 'quandary[web]'"
        ) from None
    if to_hash is not None:
        put(f"{hashed(to_hash)}\n")
        return 0
    settings = user_settings()  # a repository has no say in who may come in
    keys = Keys(
        signing_key(data_folder()),
        token=token or os.environ.get("QUANDARY_TOKEN", ""),
        users=settings.table("users"),
        metrics=settings.table("serve").get("metrics", ""),
    )
    near = host.casefold() in LOOPBACK
    if not near and not keys.guarded:
        raise QuandaryError(
            f"{host} can be reached by others: give --token, or [users.NAME] in your settings"
        )
    named = _names(settings.table("serve").get("hosts", []))
    own = frozenset() if near else {host.casefold(), socket.gethostname().casefold()}

    def print_code() -> None:
        _print_code(keys, log_format)

    logs.begin(log_format, log_level)
    bound = _bound(host, port)
    store = running.opened(where)
    walks = walks_of(store)
    app = create_app(
        store,
        keys,
        scope_of(os.curdir),
        hosts=LOOPBACK | own | named,
        addresses=not near,
        strangers=near and not named,
        new_code=print_code,
        tools=_tools(store, walks),
        fleet=_fleet(store),
        walks=walks,
    )
    address = f"[{host}]" if ":" in host else host
    here = f"http://{address}:{bound.getsockname()[1]}/"
    if log_format == "json":
        log.info("serving on %s", here, extra={"address": here})
    else:
        tell(f"Serving on {here} (Ctrl-C ends it)")
    print_code()
    with announce(here):
        _run(app, bound, walks)
    return 0


def _print_code(keys: Keys, form: Form) -> None:
    """A code is for whoever sees the terminal. Logs for programs go to others, who could use it."""
    if form == "json" and not sys.stderr.isatty():
        log.info("no code is written to this log; log in with a user's token")
    else:
        tell(f"To log in, type this code within a quarter of an hour: {keys.new_code()}")


def _fleet(store: Store) -> Callable[[], Fleet] | None:
    """What tells how deep the queues of the store are, where it has any."""
    from quandary.fleet.queue import depths_of  # noqa: PLC0415 - slow

    return depths_of(store)


def _tools(store: Store, walks: Walks) -> Mounted | None:
    """The tools for chat clients, where the package for them is installed."""
    try:
        from quandary.cli.mcp import house_of  # noqa: PLC0415 - an extra, and slow
        from quandary.doors.mcp.server import build, mounted  # noqa: PLC0415 - the same
    except ImportError:
        return None
    return mounted(build(house_of(store, walks, scope_of(os.curdir))))


def walks_of(store: Store) -> Walks:
    """The programs that resume runs of a store; each is watched in the background."""
    from quandary.desk.walks import Walks  # noqa: PLC0415 - only for servers
    from quandary.fleet import queue  # noqa: PLC0415 - the same

    return Walks(store, running.project(), in_background, fleet=queue)


def in_background(work: Callable[[], object]) -> None:
    """Do something in a thread, which ends with the program."""
    threading.Thread(target=work, daemon=True).start()


def _run(app: Litestar, bound: socket.socket, walks: Walks) -> None:
    """Serve until somebody ends it; open pages are let go at once then, and then the programs."""
    import asyncio  # noqa: PLC0415 - slow

    import uvicorn  # noqa: PLC0415 - an extra, and slow

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.state.events.end()
            await super().shutdown(sockets)
            await asyncio.to_thread(walks.close)

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_SOON,
    )
    Server(config).run(sockets=[bound])


def _names(named: object) -> frozenset[str]:
    """The names under which the server can be reached through another one, or by others."""
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise ParseError('[serve]: hosts is a list of names, like ["decide.example.org"]')
    return frozenset(name.casefold() for name in named)


def _bound(host: str, port: int) -> socket.socket:
    """A socket at that address, so that it is known to be free before anything is said."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with ExitStack() as opened:
            bound = opened.enter_context(socket.socket(family, kind, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(512)
            opened.pop_all()
    except OSError as error:
        raise QuandaryError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another --port"
        ) from None
    return bound
