"""A track as it is shown: drawn for people, as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from quandary.cli.screen import coloured
from quandary.desk import phases
from quandary.model.text import printable

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


def told(kept: Kept, store: Store | None) -> dict[str, Any]:
    """Everything about a track that a program may want to know."""
    track = kept.track
    return {
        **stand(track),
        "phases": [_phase(track, phase) for phase in track.ordered],
        "history": [_history(passage, store) for passage in kept.history],
    }


def stand(track: Track) -> dict[str, Any]:
    """Where a track stands, what comes next, and what it has to prove before."""
    current, following, before = track.current, track.next, track.previous
    return {
        "currentPhase": current.title if current is not None else None,
        "nextPhase": following.title if following is not None else None,
        "previousPhase": before.title if before is not None else None,
        "finished": track.finished,
        "proof": [_field(field) for field in current.proof] if current is not None else [],
    }


def _phase(track: Track, phase: Phase) -> dict[str, Any]:
    said: dict[str, Any] = {"label": phase.label, "name": phase.name, "mark": track.mark(phase)}
    if phase.proof:
        said["proof"] = [_field(field) for field in phase.proof]
    if phase.approval:
        said["approval"] = phase.approval
    if not phase.gate:
        said["gate"] = False
    return said


def _field(field: Any) -> dict[str, Any]:  # noqa: ANN401 - a Field
    optional = {} if field.required else {"required": False}
    return {"name": field.name, **field.schema, **optional}


def _history(passage: Passage, store: Store | None) -> dict[str, Any]:
    """An entry of the history; who let it pass is the journal's word wherever it has one."""
    source = (
        phases.who_let_pass(store, passage.run, passage.phase) if store and passage.run else None
    )
    who, through, by = source or (passage.who, passage.through, passage.by)
    said = {
        "phase": passage.phase,
        "from": passage.source,
        "at": passage.at,
        "who": who,
        "through": through,
        "by": by,
        "reason": passage.reason,
        "proof": passage.proof,
        "run": passage.run,
        "finished": passage.finished,
    }
    return {name: value for name, value in said.items() if value} | {
        "journalled": source is not None
    }


# -- for people ----------------------------------------------------------------------------------


def drawn(kept: Kept, store: Store | None) -> str:
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
        lines += [_passed(_history(passage, store)) for passage in kept.history]
        last = kept.history[-1].label
        if last != (current.label if current is not None else ""):
            lines.append("  The history does not lead to the current phase: the file was edited.")
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
    if coloured() and colour:
        line = click.style(line, fg=colour, bold=mark == "current")
    return f"  {line}  {printable('; '.join(said))}".rstrip()


def _passed(entry: dict[str, Any]) -> str:
    way = f"{entry['from']} → {entry['phase']}" if entry.get("from") else entry["phase"]
    if entry.get("finished"):
        way = f"{entry['phase']} finished"
    elif entry.get("from") == entry["phase"]:
        way = f"{entry['phase']} again"
    at = entry.get("at", "")
    when = f"{at[:10]} {at[11:16]}Z" if at else "?"
    who = entry.get("by") or entry.get("who") or "somebody"
    who = f"{who} ({entry['through']})" if entry.get("through") else who
    if entry.get("by"):
        who = f"{entry.get('who')} {who}"
    said = f"  {when}  {way}  — {who}"
    if entry.get("reason"):
        said += f": {entry['reason']}"
    return printable(said if entry["journalled"] else f"{said} (not in this journal)")
