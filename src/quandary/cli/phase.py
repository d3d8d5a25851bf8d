"""`quandary phase`: begin a track, move along it, and see where it stands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
import msgspec

from quandary.cli import running, tracking
from quandary.cli.options import store_option
from quandary.cli.piping import piped
from quandary.cli.screen import complain, put, tell
from quandary.desk import phases
from quandary.errors import QuandaryError, StoreError
from quandary.formats import proof, tracks
from quandary.journal.entries import Source
from quandary.settings.files import read_standard_input, read_text

if TYPE_CHECKING:
    from quandary.model.track import Track


@click.group(subcommand_metavar="start|go|status")
def phase() -> None:
    """Keep work in phases that nobody leaves without proof or a person's word.

    A track is a folder with a .state.json: its phases, the current one, and how it came there.
    """


@phase.command(epilog="Exit status: 0 begun, 1 there is a track already, 2 unreadable input.")
@click.argument("folder", metavar="DIR")
@click.option(
    "--phases",
    "file",
    required=True,
    metavar="FILE",
    help="A JSON list of phases, or an object with one.",
)
def start(folder: str, file: str) -> int:
    """Begin a track in DIR with the phases that FILE declares.

    Each phase has a "label" and a "name"; "proof" lists what has to be shown on leaving it,
    "gate": false leaves out the menu, "approval": "person" lets only a person pass it.
    """
    given = read_standard_input() if file == "-" else read_text(file)
    path = tracks.path_in(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise QuandaryError(f"{folder}: no folder can be made there ({error.strerror})") from None
    with tracks.locked(folder):
        before = read_text(path) if os.path.lexists(path) else None
        text = tracks.begun(given, file, before, path)
        tracks.save(folder, text)
    _tell_stand(tracks.parse(text, path).track)
    return 0


@phase.command(epilog="Exit status: 0 moved, 1 refused, 2 wrong usage or an unreadable track.")
@click.argument("folder", metavar="DIR")
@click.argument("target", metavar="'LABEL: Name'")
@click.option(
    "--user-approved", "approved", default="", metavar="REASON", help="The user's word; it is kept."
)
@store_option
def go(folder: str, target: str, approved: str, where: str | None) -> int:
    """Move the track in DIR to a phase.

    Proof of the phase that is left is a JSON object on standard input. Going back, skipping ahead
    and changing branches need --user-approved. Leaving a phase with "approval": "person" needs
    --user-approved RUN, the run of a gate in which a person chose just that.
    """
    given = proof.read(piped(proof.LARGEST))
    if given.lines:
        tell("note: proof as `key: value` lines is deprecated; send a JSON object")
    person = running.is_terminal()
    passage, track = phases.move_track(
        running.opened(where),
        phases.folder_of(folder),
        target,
        approved=approved,
        given=given,
        source=Source("person", "terminal", "") if person else Source("agent", "command", ""),
        project=running.project(),
    )
    _tell_stand(track, run=passage.run)
    return 0


@phase.command(epilog="Exit status: 0 shown, 2 there is no track, or an unreadable one.")
@click.argument("folder", metavar="DIR")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@store_option
def status(folder: str, form: str, where: str | None) -> int:
    """Show where the track in DIR stands, what it has to prove, and who let it pass so far."""
    kept = tracks.load(folder)
    real = phases.folder_of(folder)
    try:
        store = running.opened(where)
        real, kept, stuck = phases.open_track(store, folder)
        for problem in stuck:
            complain(problem)
    except StoreError as error:
        complain(f"{error}; the history is shown as the track tells it")
        store = None
    if form == "json":
        put(msgspec.json.encode({"folder": real, **tracking.told(kept, store)}) + b"\n")
    else:
        put(tracking.drawn(kept, store))
    return 0


def _tell_stand(track: Track, run: str = "") -> None:
    """Where the track stands now: a line for a person, JSON for anybody else."""
    told = tracking.stand(track)
    if not running.is_terminal():
        put(msgspec.json.encode({"run": run, **told} if run else told) + b"\n")
        return
    if track.current is None:
        tell(f"The track has {len(track.phases)} phases and begins with {told['nextPhase']}.")
        return
    due = ", ".join(field.described for field in track.current.proof)
    tell(f"Now at {told['currentPhase']}." + (f" It has to prove: {due}." if due else ""))
