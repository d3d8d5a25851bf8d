"""`quandary phase`: begin a track, move along it, and see where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from quandary.cli import complain, console, is_terminal, paint, put, put_json, read_pipe, tell
from quandary.cli.program import store_option
from quandary.desk import phases
from quandary.desk.timeline import moment
from quandary.errors import StoreError
from quandary.formats import proof, tracks
from quandary.journal.entries import Source, tell_source
from quandary.model.text import printable
from quandary.settings.files import read_input

if TYPE_CHECKING:
    from quandary.formats.tracks import Kept, Passage
    from quandary.journal.store import Store
    from quandary.model.track import Phase, Track

_SIGNS = {
    "done": ("✓", "green"),
    "current": ("▶", "cyan"),
    "next": ("→", "yellow"),
    "skipped": ("↷", "magenta"),
    "not taken": ("×", None),
    "ahead": ("·", None),
}


@click.group(subcommand_metavar="start|go|status")
def phase_command() -> None:
    """Keep work in phases. Nobody leaves one without proof or a person's approval.

    A track is a folder with a .state.json: its phases, the current one, and how it came there.
    """


@phase_command.command(
    epilog="Exit status: 0 begun, 1 there is a track already, 2 unreadable input."
)
@click.argument("folder", metavar="DIR")
@click.option(
    "--phases",
    "declared",
    required=True,
    metavar="FILE",
    help="A JSON list of phases, or an object with one.",
)
@store_option
def start(folder: str, declared: str, where: str | None) -> int:
    """Begin a track in DIR with the phases that FILE declares.

    Each phase has a "label" and a "name"; "proof" lists what has to be shown on leaving it,
    "gate": false leaves out the menu, "approval": "person" lets only a person pass it.
    """
    source = Source(**console.caller().source)
    given, store = read_input(declared), console.open_journal(where)
    _tell_stand(phases.start_track(store, folder, given, declared, source))
    return 0


@phase_command.command(
    epilog="Exit status: 0 moved, 1 refused, 2 wrong usage or an unreadable track."
)
@click.argument("folder", metavar="DIR")
@click.argument("target", metavar="'LABEL: Name'")
@click.option(
    "--user-approved", default="", metavar="REASON", help="The user's approval; it is recorded."
)
@store_option
def go(folder: str, target: str, user_approved: str, where: str | None) -> int:
    """Move the track in DIR to a phase.

    Proof of the phase that is left is a JSON object on standard input. Going back, skipping ahead
    and changing branches need --user-approved. Leaving or passing over a phase with "approval":
    "person" needs --user-approved RUN, the run of a gate in which a person chose just that.
    """
    given = proof.read_proof(read_pipe(tracks.LARGEST))
    if given.lines:
        tell("note: proof as `key: value` lines is deprecated; send a JSON object")
    store, real = console.open_journal(where), phases.folder_of(folder)
    for line in phases.find_differences(store, real):
        tell(f"note: {line}")
    source = Source(**console.caller().source)
    passage, track = phases.move_track(
        store, real, target, approved=user_approved, given=given, source=source
    )
    _tell_stand(track, run=passage.run)
    return 0


@phase_command.command(epilog="Exit status: 0 shown, 2 there is no track, or an unreadable one.")
@click.argument("folder", metavar="DIR")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@store_option
def status(folder: str, form: str, where: str | None) -> int:
    """Show where the track in DIR stands, what it has to prove, and who let it pass so far."""
    kept = tracks.load(folder)
    real, differences = phases.folder_of(folder), list[str]()
    try:
        store = console.open_journal(where)
        real, kept, stuck = phases.open_track(store, folder)
        differences = phases.find_differences(store, real)
        for problem in stuck:
            complain(problem)
    except StoreError as error:
        complain(f"{error}; the history is shown as the track tells it")
        store = None
    if form == "json":
        listed = [_phase(kept.track, phase) for phase in kept.track.ordered]
        history = [_history(real, passage, store) for passage in kept.history]
        told = {"folder": real, **describe_stand(kept.track), "phases": listed, "history": history}
        told |= {"warnings": differences} if differences else {}
        put_json(told)
    else:
        put(draw_track(real, kept, store, differences))
    return 0


def _tell_stand(track: Track, run: str = "") -> None:
    """Where the track stands now: a line for a person, JSON for anybody else."""
    told = describe_stand(track)
    if not is_terminal():
        put_json({"run": run, **told} if run else told)
        return
    if track.current is None:
        tell(f"The track has {len(track.phases)} phases and begins with {told['nextPhase']}.")
        return
    due = ", ".join(field.described for field in track.current.proof)
    tell(f"Now at {told['currentPhase']}." + (f" It has to prove: {due}." if due else ""))


def describe_stand(track: Track) -> dict[str, Any]:
    """Where a track stands, what comes next, and what it has to prove before."""
    phases = {"current": track.current, "next": track.next, "previous": track.previous}
    titles = {f"{name}Phase": found and found.title for name, found in phases.items()}
    proof = [_field(field) for field in track.current.proof] if track.current is not None else []
    return {**titles, "finished": track.finished, "proof": proof}


def _phase(track: Track, phase: Phase) -> dict[str, Any]:
    said: dict[str, Any] = {"label": phase.label, "name": phase.name, "mark": track.mark(phase)}
    further = {"proof": [_field(field) for field in phase.proof], "approval": phase.approval}
    said |= {name: value for name, value in further.items() if value}
    return said if phase.gate else {**said, "gate": False}


def _field(field: Any) -> dict[str, Any]:  # noqa: ANN401 - a Field
    optional = {} if field.required else {"required": False}
    return {"name": field.name, **field.schema, **optional}


def _history(folder: str, passage: Passage, store: Store | None) -> dict[str, Any]:
    """An entry of the history; who let it pass is the journal's word wherever it has one."""
    (who, through, by), journalled = phases.who_let_pass(store, folder, passage)
    said = msgspec.structs.replace(passage, who=who, through=through, by=by)
    return {**msgspec.to_builtins(said), "journalled": journalled}


def draw_track(
    folder: str, kept: Kept, store: Store | None, differences: Sequence[str] = ()
) -> str:
    """The phases from top to bottom, and how the track came to where it stands."""
    track = kept.track
    labels = max(len(phase.label) for phase in track.phases)
    names = min(max(len(printable(phase.name)) for phase in track.phases), 40)
    lines = [_line(track, phase, labels, names) for phase in track.ordered]
    current = track.current
    if current is None:
        lines += ["", "No phase has begun."]
    elif track.find(current.label) is None:
        lines += ["", printable(f"It stands at {current.title}, which is not declared.")]
    if track.finished:
        lines += ["", "Finished."]
    if kept.history:
        lines += ["", "How it came here:"]
        lines += [_passed(_history(folder, passage, store)) for passage in kept.history]
        if kept.history[-1].label != (current.label if current is not None else ""):
            lines.append("  The history does not lead to the current phase: the file was edited.")
    if differences:
        lines += ["", *(f"Note: {printable(line)}." for line in differences)]
    return "\n".join(lines) + "\n"


def _line(track: Track, phase: Phase, labels: int, names: int) -> str:
    mark = track.mark(phase)
    sign, colour = _SIGNS[mark]
    said: list[str] = [mark] if mark in ("current", "next", "skipped", "not taken") else []
    if mark == "current" and phase.proof:
        said.append("to prove: " + ", ".join(field.described for field in phase.proof))
    if mark in ("current", "next", "ahead"):
        said += ["left on a person's word"] if phase.approval == "person" else []
    line = f"{sign} {phase.label:{labels}}  {printable(phase.name):{names}}"
    line = paint(line, fg=colour, bold=mark == "current") if colour else line
    return f"  {line}  {printable('; '.join(said))}".rstrip()


def _passed(entry: dict[str, Any]) -> str:
    way = f"{entry['from']} → {entry['phase']}" if entry.get("from") else entry["phase"]
    if entry.get("finished"):
        way = f"{entry['phase']} finished"
    elif entry.get("from") == entry["phase"]:
        way = f"{entry['phase']} again"
    told = tell_source(*(entry.get(name, "") for name in Source._fields))
    said = f"  {moment(entry.get('at', ''))}  {way}  — {told or 'somebody'}"
    said += f": {entry['reason']}" if entry.get("reason") else ""
    return printable(said if entry["journalled"] else f"{said} (not in this journal)")
