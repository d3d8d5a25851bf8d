"""`quandary serve`: everything that waits, in a browser."""

from __future__ import annotations

import os

import click

from quandary.cli import running
from quandary.cli.screen import put, tell
from quandary.errors import QuandaryError
from quandary.settings import data_folder, read_settings


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8420, show_default=True)
@click.option("--token", help="A token for programs (also QUANDARY_TOKEN).")
@click.option("--hash", "to_hash", metavar="TOKEN", help="Print a token as [users.NAME] keeps it.")
@running.store_option
def serve(host: str, port: int, token: str | None, to_hash: str | None, where: str | None) -> int:
    """Show what waits for a person in a browser, and take the answers.

    Only this machine can reach it unless --host says otherwise; then everybody has to log in, with
    the code that is printed here, with a user's token, or with --token.
    """
    try:
        import uvicorn  # noqa: PLC0415 - an extra, and slow

        from quandary.people.web.app import create_app  # noqa: PLC0415 - the same
        from quandary.people.web.doors import LOOPBACK  # noqa: PLC0415 - the same
        from quandary.people.web.keys import Keys, hashed, signing_key  # noqa: PLC0415 - the same
    except ImportError as missing:
        raise QuandaryError(
            f"the browser needs more packages ({missing.name}): pip install 'quandary[web]'"
        ) from None
    if to_hash is not None:
        put(f"{hashed(to_hash)}\n")
        return 0
    settings = read_settings()
    keys = Keys(
        signing_key(data_folder()),
        token=token or os.environ.get("QUANDARY_TOKEN", ""),
        users=settings.table("users"),
    )
    here = host in LOOPBACK
    if not here and not keys.guarded:
        raise QuandaryError(
            f"{host} can be reached by others: give --token, or [users.NAME] in the settings"
        )
    named = settings.table("serve").get("hosts", [])
    hosts = LOOPBACK | {host.casefold()} | {str(name).casefold() for name in named}
    store = running.opened(where)
    app = create_app(store, keys, hosts=hosts, strangers=here, project=running.project())
    address = f"[{host}]" if ":" in host else host
    tell(f"Serving on http://{address}:{port}/ (Ctrl-C ends it)")
    tell(f"To log in, use this code within a quarter of an hour: {keys.new_code()}")
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)
    return 0
