"""`quandary next`: what a run waits for."""

from __future__ import annotations

from math import isnan

import click

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.desk.authority import Caller
from quandary.desk.reply import finish
from quandary.journal import runs
from quandary.journal.ids import find_run


@click.command()
@click.argument("run")
@click.option(
    "--wait",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Wait that long for something to happen.",
)
@click.option("--via", type=click.Choice(["terminal", "relay"]), help="Ask here, or print JSON.")
@click.option("--proof", is_flag=True, help="When done, print only treeName and chosenItems.")
@store_option
def next(run: str, seconds: float | None, via: str | None, proof: bool, where: str | None) -> int:
    """Say what RUN waits for, or what came of it.

    On a terminal the question is asked right here. With --wait the command returns as soon as
    somebody answers, or when the time is up.
    """
    if seconds is not None and isnan(seconds):
        raise click.UsageError("--wait is a number of seconds")
    store = running.opened(where, existing=True)
    run = find_run(store, run)
    state = finish(store, Caller("policy", "mending"), runs.look(store, run))
    if seconds is not None:
        state = runs.wait(store, run, state.n, seconds)
    elif via == "terminal" or (via is None and running.is_terminal() and not proof):
        return running.ask_here(store, state, proof=proof)
    return running.show(store, state, proof=proof)
