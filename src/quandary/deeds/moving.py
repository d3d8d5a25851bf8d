"""Moving along a track: the rules, the proof and the approval, then the file and the journal.

The file is the truth of where a track stands, the journal is the record of how it came there. The
intent is journalled, then the file is replaced, then the outcome is journalled. Whoever comes after
a crash finds the intent, sees in the file what became of it, and completes the record.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary import deeds
from quandary.errors import ParseError, QuandaryError, Rejected, StoreError
from quandary.formats import proof, tracks
from quandary.formats.tracks import Kept, Passage
from quandary.journal import entries as clock
from quandary.journal import moves, replay
from quandary.journal.entries import Source
from quandary.model import track as rules
from quandary.model.call import Do, Done
from quandary.model.track import Move, Refusal, Track, Transition

if TYPE_CHECKING:
    from quandary.formats.proof import Given, Lacking
    from quandary.journal.moves import Ordered
    from quandary.journal.store import Store

MENDING = Source("policy", "mending", "")


class Moved(NamedTuple):
    """A move that was made."""

    passage: Passage
    track: Track


def folder_of(name: str) -> str:
    """The folder of a track, under the one name that the journal knows it by."""
    try:
        folder = os.path.realpath(name)
        folder.encode()
    except (OSError, ValueError):
        raise ParseError(f"{name!a}: no folder that can be named in a journal") from None
    return folder


# -- quandary phase go ---------------------------------------------------------------------------


def go(
    store: Store,
    folder: str,
    target: str,
    *,
    approved: str,
    given: Given,
    source: Source,
    project: str,
) -> Moved:
    """Move a track as a command says, if the rules, the proof and the approval allow it."""
    parts = rules.split(target)
    if parts is None:
        raise QuandaryError(f"{target!r} has no label; write 'LABEL: Name', such as '2: Build'")
    mend_gates(store, folder)
    with tracks.locked(folder):
        kept = tracks.load(folder)
        mend(store, folder, kept)
        transition = allowed(rules.go(kept.track, *parts, approved))
        values = proof.converted(transition.due, given.values, given.values if given.lines else ())
        lack = lacking(folder, transition, values)
        if lack.names:
            asked = f"{transition.target.title} comes after proof of {_title(transition.source)}"
            raise Rejected(f"{asked}; {lack.text}; pipe a JSON object with these fields")
        chosen = _granted(store, folder, kept, transition)
        passage = Passage(
            transition.target.title,
            _title(transition.source),
            clock.stamp(clock.now()),
            *(chosen.source if chosen is not None else source),
            reason=transition.reason,
            proof=values,
        )
        grant = moves.run_named_in(store, transition.reason) if chosen is not None else None
        passage = _carry_out(store, folder, kept, transition, passage, source, project, grant)
    return Moved(passage, tracks.after(kept, transition))


def allowed(judged: Transition | Refusal) -> Transition:
    """The transition, unless the rules refuse it."""
    if isinstance(judged, Refusal):
        raise Rejected(judged.reason)
    return judged


def lacking(
    folder: str, transition: Transition, values: dict[str, Any], base: str = os.curdir
) -> Lacking:
    """What the proof lacks; paths are looked for below the track's folder and the caller's."""

    def exists(path: str) -> bool:
        try:
            return any(os.path.exists(os.path.join(place, path)) for place in (folder, base))
        except ValueError:
            return False

    return proof.lacking(transition.due, values, exists)


def _carry_out(
    store: Store,
    folder: str,
    kept: Kept,
    transition: Transition,
    passage: Passage,
    source: Source,
    project: str,
    grant: str | None,
) -> Passage:
    """Journal the intent, replace the file, journal that it is done."""
    name = os.path.basename(folder)
    told = f"{passage.source} → {passage.phase}" if passage.source else passage.phase
    arguments = {
        "folder": folder,
        "from": passage.source,
        "to": passage.phase,
        "reason": passage.reason,
        "proof": passage.proof,
        "approval": grant or "",
        "context": f"{name}: {told}",
    }
    who, through, by = source
    state = replay.begin(
        store, "phase", arguments, project=project, who=who, through=through, by=by
    )
    passage = msgspec.structs.replace(passage, run=state.run)

    written = False

    def write(deed: Do) -> Done:
        nonlocal written
        try:
            tracks.save(folder, tracks.moved(kept, transition, passage))
        except QuandaryError as error:
            return Done(deed.key, error=str(error))
        written = True
        return Done(deed.key)

    try:
        state = replay.advance(store, state.run, who=who, through=through, by=by, deeds=write)
    except StoreError as error:
        moved = f"the track is at {passage.phase} now, and the next command completes the journal"
        raise StoreError(f"{error}; {moved}" if written else str(error)) from error
    if state.status != "done":
        raise QuandaryError(state.error or f"run {state.run} is {state.status}")
    return passage


# -- approval that an agent cannot give itself ---------------------------------------------------


def _granted(store: Store, folder: str, kept: Kept, transition: Transition) -> Ordered | None:
    """The choice of a person that lets a transition pass, where it needs one or names one."""
    run = moves.run_named_in(store, transition.reason) if transition.reason else None
    label = transition.source.label if transition.source is not None else ""
    wanted = Move(folder, label, transition.target.title, len(kept.history))
    chosen = moves.choice_of(store, run, wanted) if run is not None else None
    if chosen is not None and chosen.source.in_person:
        return chosen
    if not transition.needs_person:
        return None
    what = f"{_title(transition.source)} can be left only on a person's own word"
    if run is None:
        raise Rejected(
            f"{what}: have them choose in quandary gate DIR, at a terminal or in the browser, and "
            "name that run with --user-approved RUN"
        )
    raise Rejected(
        f"{what}, and in run {run} no person chose to go to {transition.target.title} from where "
        "the track stands now; have them choose in quandary gate DIR"
    )


def _title(phase: rules.Phase | None) -> str:
    return phase.title if phase is not None else ""


# -- the deed of a gate --------------------------------------------------------------------------


def move(store: Store, run: str, deed: Do) -> Done:
    """Do what a gate decided, once: a repeated deed finds its own entry in the history."""
    ordered = moves.read(deed.argument)
    chosen = moves.choice_of(store, run, ordered)
    if chosen is None:
        return Done(deed.key, error="the journal does not have this move")
    with tracks.locked(ordered.folder):
        kept = tracks.load(ordered.folder)
        last = kept.history[-1] if kept.history else None
        if last is not None and last.run == run and last.phase == ordered.target:
            return Done(deed.key, text=_told(last))
        current = kept.track.current
        here = current.label if current is not None else ""
        if (here, len(kept.history)) != (ordered.source, ordered.seen):
            stands = f"stands at {current.title}" if current is not None else "has not begun"
            error = f"the track has moved since this was asked and now {stands}; ask again"
            return Done(deed.key, error=error)
        return _decided(run, deed, ordered, chosen, kept)


def _decided(run: str, deed: Do, ordered: Move, chosen: Ordered, kept: Kept) -> Done:
    label, name = rules.split(ordered.target) or ("", "")
    judged = (
        rules.finish(kept.track)
        if ordered.finish
        else rules.go(kept.track, label, name, ordered.reason)
    )
    if isinstance(judged, Refusal):
        return Done(deed.key, error=judged.reason)
    if judged.needs_person and not chosen.source.in_person:
        return Done(deed.key, error=f"{_title(judged.source)} can be left only by a person")
    values = proof.converted(judged.due, ordered.proof, ordered.typed)
    lack = lacking(ordered.folder, judged, values, ordered.base or os.curdir)
    if lack.names:
        told = {"missing": lack.missing, "unfilled": lack.unfilled, "wrong": lack.wrong}
        return Done(deed.key, text=msgspec.json.encode({"lacking": told}).decode())
    source = chosen.source if ordered.menu else Source("policy", "track", "")
    passage = Passage(
        judged.target.title,
        _title(judged.source),
        chosen.at,
        *source,
        reason=ordered.reason,
        proof=values if judged.kind in ("forward", "finish") else {},
        run=run,
        finished=ordered.finish,
    )
    tracks.save(ordered.folder, tracks.moved(kept, judged, passage))
    return Done(deed.key, text=_told(passage))


def _told(passage: Passage) -> str:
    """What came of a move, for the flow that asked for it."""
    told = {"phase": passage.phase, "proven": len(passage.proof)}
    return msgspec.json.encode(told).decode()


# -- after a crash -------------------------------------------------------------------------------


def mend(store: Store, folder: str, kept: Kept) -> None:
    """Complete the record of commands that were killed on the way; call it with the track locked.

    A move that the file has was made. One that it has not never will be: its command is gone.
    """
    made = {passage.run for passage in kept.history}
    who, through, by = MENDING
    for row in moves.unfinished(store, folder):
        if row.flow == "phase" and row.id in made:
            replay.advance(
                store, row.id, who=who, through=through, by=by, deeds=lambda deed: Done(deed.key)
            )
        elif row.flow == "phase":
            why = "the command was interrupted before the track had moved"
            replay.withdraw(store, row.id, why, who=who, through=through, by=by)


def mend_gates(store: Store, folder: str) -> list[str]:
    """Carry out what was chosen at a gate and never done; call it with the track unlocked.

    What is given back is what could not be mended, in words.
    """
    who, through, by = MENDING
    stuck = []
    for row in list(moves.unfinished(store, folder)):
        if row.flow != "gate":
            continue
        try:
            replay.advance(
                store, row.id, who=who, through=through, by=by, deeds=deeds.of(store, row.id)
            )
        except QuandaryError as error:
            stuck.append(f"run {row.id} was interrupted and cannot go on: {error}")
    return stuck
