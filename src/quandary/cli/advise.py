"""`quandary advise`: answer a person's question without answering ours."""

from __future__ import annotations

import click

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.desk import reply as desk
from quandary.desk.authority import Caller
from quandary.formats import items as given
from quandary.journal.ids import find_run


@click.command()
@click.argument("run")
@click.argument("text")
@click.option(
    "--option", "offers", multiple=True, metavar="'A: text'", help="Offer it as an extra."
)
@click.option("--to", metavar="KEY", help="The key of the question that the advice is about.")
@store_option
def advise(run: str, text: str, offers: tuple[str, ...], to: str | None, where: str | None) -> int:
    """Tell the person who is deciding RUN what they wanted to know.

    TEXT stands above the question when it comes again; each --option joins it as an extra. Advice
    is never an answer.
    """
    if not text.strip():
        raise click.UsageError("TEXT is empty; say what the person wanted to know")
    extras = tuple(given.extras(offers, "--option") or ())
    store = running.opened(where, existing=True)
    run = find_run(store, run)
    state = desk.advise(store, Caller("agent", "relay"), run, text, extras, to)
    return running.show(store, state)
