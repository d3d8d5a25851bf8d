"""`quandary gate`: ask a person at the end of a phase."""

from __future__ import annotations

import click

from quandary.cli import running
from quandary.cli.asking import Way, asking_options, begin
from quandary.cli.piping import piped
from quandary.cli.screen import complain, tell
from quandary.desk import begin as desk
from quandary.desk.begin import Gating
from quandary.formats import items as given
from quandary.formats import proof


@click.command(epilog="Exit status: 0 waiting or done, 1 refused or not proven, 2 wrong usage.")
@click.argument("folder", metavar="DIR")
@click.option("--custom", metavar="'Label | Description'", help="Offer an action of your own.")
@click.option(
    "--require",
    type=click.Choice(["person"]),
    help="Only a person's own answer counts, at a terminal or in the browser.",
)
@click.option(
    "--item",
    "item_texts",
    multiple=True,
    metavar="'ID|Label|Title|Context'",
    help="What to walk through, in place of the files in DIR.",
)
@click.option("--items", "items_file", metavar="FILE", help="The same from a file.")
@asking_options
def gate(
    folder: str,
    custom: str | None,
    require: str | None,
    item_texts: tuple[str, ...],
    items_file: str | None,
    way: Way,
) -> int:
    """Ask a person whether the track in DIR may leave its current phase, and where to.

    Proof of the phase is a JSON object on standard input; on a terminal the person is asked for
    what is missing. The choice is carried out at once and kept in the track's history. Words that
    are none of the choices move nothing: they are handed back as the result.
    """
    items = given.from_options(item_texts) + (given.from_file(items_file) if items_file else [])
    taken = "-" in (items_file, way.answers)
    shown = proof.read("" if taken else piped(proof.LARGEST))
    if shown.lines:
        tell("note: proof as `key: value` lines is deprecated; send a JSON object")
    wanted = Gating(
        folder, shown.values, custom or "", bool(require), given.as_rows(items), way.values
    )
    typed = shown.values if shown.lines else ()
    beginning = desk.gate(running.opened(way.where), wanted, way.showing, typed)
    for stuck in beginning.warnings:
        complain(stuck)
    return begin(way, beginning)
