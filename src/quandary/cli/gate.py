"""`quandary gate`: ask a person at the end of a phase."""

from __future__ import annotations

import os

import click
import msgspec

from quandary.cli import items as given
from quandary.cli import running
from quandary.cli.asking import Way, asking_options, begin
from quandary.cli.piping import piped
from quandary.cli.screen import complain, tell
from quandary.deeds import moving
from quandary.errors import QuandaryError, Rejected
from quandary.flows import gate_menu
from quandary.flows.gate_menu import Custom, Terms
from quandary.formats import proof, tracks


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
    real = moving.folder_of(folder)
    store = running.opened(way.where)
    for stuck in moving.mend_gates(store, real):
        complain(stuck)
    with tracks.locked(real):
        kept = tracks.load(folder)
        moving.mend(store, real, kept)
    track = kept.track
    phase = track.current
    if phase is None:
        first = (
            f"; begin with quandary phase go {folder} '{track.next.title}'" if track.next else ""
        )
        raise Rejected(f"{folder}: no phase has begun{first}")
    fields = (track.find(phase.label) or phase).proof
    names = shown.values if shown.lines else ()
    terms = Terms(
        real,
        track,
        len(kept.history),
        kept.history[-1].at if kept.history else "",
        _custom(custom),
        tuple(items),
        "person" if require else "",
        way.via == "terminal",
        proof.converted(fields, shown.values, names),
        way.limits(),
        way.values,
        gate_menu.context(os.path.basename(real), track, track.find(phase.label) or phase),
        os.path.realpath(os.curdir),
    )
    arguments = msgspec.to_builtins(terms)
    return begin(way, "gate", arguments, {"track": arguments.pop("track")})


def _custom(text: str | None) -> Custom | None:
    if text is None:
        return None
    label, _, description = (part.strip() for part in text.partition("|"))
    if not label:
        raise QuandaryError(f"--custom {text!r} has no label; write 'Label | Description'")
    return Custom(label, description)
