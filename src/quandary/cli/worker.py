"""`quandary worker`: go on with the runs of a fleet."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from quandary.cli import logs
from quandary.cli.options import store_option
from quandary.cli.screen import tell
from quandary.errors import QuandaryError
from quandary.settings import read_settings

if TYPE_CHECKING:
    from quandary.logging_json import Form

MOST = 1000
"""The most runs that one worker takes on at the same time."""


def _limits(
    context: click.Context,  # noqa: ARG001 - click's signature
    parameter: click.Parameter,  # noqa: ARG001 - the same
    texts: tuple[str, ...],
) -> dict[str, int]:
    from quandary.model.calls import fold  # noqa: PLC0415 - only here

    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        count = number.strip()
        if not fold(name) or not (count.isascii() and count.isdigit() and int(count) > 0):
            raise click.BadParameter(f"{text!r} is no limit; write an agent and a number: CLAUDE=4")
        found[fold(name)] = int(count)
    return found


@click.command(
    epilog="Exit status: 0 stopped or nothing left, 1 a run was given up, 2 wrong usage."
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, MOST),
    default=8,
    show_default=True,
    help="How many runs at the same time.",
)
@click.option("--queues", default="", metavar="A,B", help="Take runs from these queues only.")
@click.option(
    "--limit",
    "limits",
    multiple=True,
    callback=_limits,
    metavar="AGENT=N",
    help="At most so many calls of an agent at the same time.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long calls may go on when the worker is told to stop.",
)
@click.option("--drain", is_flag=True, help="Stop when nothing is left to do.")
@click.option("--workdir", metavar="DIR", help="Where agents work, whatever the runs say.")
@click.option(
    "--heartbeat",
    type=click.FloatRange(min=0.1, max=600),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between signs of life; a worker that misses three is presumed dead.",
)
@logs.log_options
@store_option
def worker(
    concurrency: int,
    queues: str,
    limits: dict[str, int],
    grace: float,
    drain: bool,
    workdir: str | None,
    heartbeat: float,
    log_format: Form,
    log_level: str | None,
    where: str | None,
) -> int:
    """Go on with the runs that `quandary walk --fleet` has put into the queue.

    Any number of workers on any number of machines share one PostgreSQL store. Each takes a run,
    makes its calls until it waits for a person or is over, and takes the next. Who answers a
    question puts its run back into the queue by that. When a worker dies, others go on with its
    runs. SIGTERM and Ctrl-C let calls under way end first; the second time they are stopped.
    """
    import asyncio  # noqa: PLC0415 - slow

    from quandary.cli.walking import surroundings  # noqa: PLC0415 - the same
    from quandary.desk import notices  # noqa: PLC0415 - the same
    from quandary.fleet.queue import open_shared  # noqa: PLC0415 - the same
    from quandary.fleet.worker import Orders, Worker  # noqa: PLC0415 - the same
    from quandary.model.calls import fold  # noqa: PLC0415 - the same
    from quandary.settings.agents import read_catalogue  # noqa: PLC0415 - the same

    if workdir is not None and not os.path.isdir(workdir):
        raise QuandaryError(f"{workdir}: no such folder to work in")
    settings = read_settings()
    catalogue = read_catalogue(settings.table("agents"))
    orders = Orders(
        concurrency=concurrency,
        queues=frozenset(fold(name) for name in queues.split(",") if name.strip()),
        limits=limits,
        grace=grace,
        heartbeat=heartbeat,
        poll=min(2.0, heartbeat),
        drain=drain,
        workdir=os.path.abspath(workdir) if workdir else "",
    )
    store = open_shared(where)
    notices.watch_store(store)
    logs.begin(log_format, log_level)

    async def work() -> Worker:
        working = Worker(store, catalogue, surroundings(os.getcwd(), settings), orders)
        await working.work()
        return working

    many = f"{concurrency} runs" if concurrency > 1 else "one run"
    tell(f"Working on {store.path}, {many} at a time (Ctrl-C ends it)")
    worked = asyncio.run(work())
    store.close()
    if worked.stopped_by is not None and worked.stopped_by.name == "SIGINT":
        raise KeyboardInterrupt
    return 1 if worked.failed and drain else 0
