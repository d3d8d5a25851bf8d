"""`quandary ask`: put a tree before a person."""

from __future__ import annotations

from typing import Literal

import click
from msgspec import UNSET

from quandary.cli.asking import Way, asking_options, begin
from quandary.cli.naming import OneSource
from quandary.desk.begin import Asking, decide
from quandary.formats import items as given


@click.command(
    cls=OneSource, epilog="Exit status: 0 waiting or done, 1 declined or failed, 2 wrong usage."
)
@click.argument("source")
@click.option(
    "--item",
    "item_texts",
    multiple=True,
    metavar="'ID|Label|Title|Context'",
    help="What to decide about; as often as needed.",
)
@click.option(
    "--items", "items_file", metavar="FILE", help="JSON list, JSON lines or CSV of items."
)
@click.option("--context", metavar="TEXT", default="", help="What is decided and why. Required.")
@click.option("--question", metavar="TEXT", default="", help="The question; {slots} are filled.")
@click.option(
    "--extra", "extra_texts", multiple=True, metavar="'A: text'", help="A further way to answer."
)
@click.option(
    "--kind",
    type=click.Choice(["transition", "advisory"]),
    help="Ask with a form, or with text that disturbs less.",
)
@asking_options
def ask(
    source: str,
    item_texts: tuple[str, ...],
    items_file: str | None,
    context: str,
    question: str,
    extra_texts: tuple[str, ...],
    kind: Literal["transition", "advisory"] | None,
    way: Way,
) -> int:
    """Ask a person about one or many items, with the tree that SOURCE names.

    On a terminal the person is asked right here. Elsewhere the state of the run is printed as JSON:
    show its `preamble` and `notes`, call your question tool with `tool_input`, pipe what the tool
    returns to `quandary reply RUN -`, and go on until `status` is done. Every answer is kept.
    """
    items = given.from_options(item_texts) + (given.from_file(items_file) if items_file else [])
    wanted = Asking(
        context,
        source,
        items=given.as_rows(items),
        question=question,
        extras=list(extra_texts),
        kind=kind or UNSET,
        values=way.values,
    )
    return begin(way, decide(wanted, way.showing))
