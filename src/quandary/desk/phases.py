"""Moving along a track: the rules, the proof and the approval, then the file and the journal.

The file is the truth of where a track stands, the journal is the record of how it came there. The
intent is journalled, then the file is replaced, then the outcome is journalled. Whoever comes after
a crash finds the intent, sees in the file what became of it, and completes the record.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.desk.reply import actions, arguments_of
from quandary.errors import NotFound, ParseError, QuandaryError, Rejected, StoreError
from quandary.formats import tracks
from quandary.formats.tracks import Kept, Passage
from quandary.journal import chance, runs
from quandary.journal.entries import Called, Source, read_beginning, sha256
from quandary.model import track as rules
from quandary.model.calls import Do, Done
from quandary.model.text import printable, shorten
from quandary.model.track import Move, Refusal, Track, Transition
from quandary.settings import project_of
from quandary.settings.files import SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.formats.tracks import Gaps, Given
    from quandary.journal.store import Run, Store

FLOWS = ("phase", "gate")
_RUN = re.compile(rf"\b[0-9A-Za-z]{{{chance.LENGTH}}}\b")
_moves: msgspec.json.Decoder[Move] = msgspec.json.Decoder(Move)
_REPAIR: dict[str, Any] = {"who": "policy", "through": "mending"}


# -- moves as the journal has them ---------------------------------------------------------------


class Ordered(NamedTuple):
    """A move that a run ordered, and whose word it was."""

    run: str
    move: Move
    source: Source
    at: str

    @property
    def allowed_by(self) -> Source:
        """Who let the track pass; where nobody was asked, it was the track's own policy."""
        return self.source if self.move.menu else Source("policy", "track")


def ordered_moves(store: Store, run: str) -> list[Ordered]:
    """Every move that a run ordered, whether or not it came about."""
    found = []
    for entry in store.entries(run, kinds=("called",)):
        body, sent = entry.read(), entry.read_matter().sent
        if isinstance(body, Called) and body.deed == "move-phase" and sent is not None:
            move = _moves.decode(getattr(sent, "argument", ""))
            found.append(Ordered(run, move, body.source, body.at))
    return found


def choice_of(store: Store, run: str, move: Move) -> Ordered | None:
    """Where a run first ordered just this move: that was the choice; later comes only its proof."""
    wanted = _way(move)
    return next((found for found in ordered_moves(store, run) if _way(found.move) == wanted), None)


def _way(move: Move) -> tuple[object, ...]:
    """From which stand of a track a move leads to which phase."""
    label = (rules.split(move.target) or ("",))[0]
    return move.folder, move.source, label, move.seen, move.finish


def run_named_in(store: Store, text: str) -> str | None:
    """The run that a reason names: by its whole id, or by the beginning of it and nothing else."""
    found = _RUN.search(text)
    try:
        return runs.find_run(store, found[0] if found else text)
    except NotFound:
        return None


def who_let_pass(store: Store | None, passage: Passage) -> tuple[tuple[str, str, str], bool]:
    """Who let a track pass, and whether the journal says so; else it is the track's own word."""
    source = _find_in_journal(store, passage) if store is not None and passage.run else None
    return source or (passage.who, passage.through, passage.by), source is not None


def _find_in_journal(store: Store, passage: Passage) -> Source | None:
    row = store.run(passage.run)
    if row is None or row.flow not in FLOWS:
        return None
    began, arguments = read_beginning(store, row.id)
    grant = arguments.get("approval")
    if row.flow == "phase" and not grant:
        return began.source if arguments.get("to") == passage.phase else None
    for found in ordered_moves(store, str(grant or row.id)):
        if found.move.target == passage.phase:
            return found.allowed_by
    return None


# -- a track, as it stands -----------------------------------------------------------------------


def folder_of(name: str) -> str:
    """The folder of a track, under the one name that the journal knows it by."""
    try:
        return os.path.realpath(name).encode().decode()
    except (OSError, ValueError):
        raise ParseError(f"{name!a}: no folder that can be named in a journal") from None


def open_track(store: Store, name: str) -> tuple[str, Kept, list[str]]:
    """The folder of a track, the track as it stands, and what could not be repaired of its record.

    What was chosen at a gate and never done is carried out first, and the record of commands that
    were killed on the way is completed.
    """
    folder = folder_of(name)
    tracks.load(name)
    stuck = finish_gates(store, folder)
    with tracks.lock(folder):
        return folder, load_and_repair(store, folder), stuck


def load_and_repair(store: Store, folder: str) -> Kept:
    """A track that is locked, once the record of commands that were killed on the way is complete.

    A move that the file has was made. One that it has not never will be: its command is gone.
    """
    kept = tracks.load(folder)
    made = {passage.run for passage in kept.history}
    why = "the command was interrupted before the track had moved"
    for row in unfinished_runs(store, folder, "phase"):
        if row.id in made:
            runs.advance(store, row.id, **_REPAIR, deeds=lambda deed: Done(deed.key))
        else:
            runs.withdraw(store, row.id, why, **_REPAIR)
    return kept


def finish_gates(store: Store, folder: str) -> list[str]:
    """Carry out what was chosen at a gate and never done; call it with the track unlocked.

    What is given back is what could not be done, in words.
    """
    stuck = []
    for row in list(unfinished_runs(store, folder, "gate")):
        try:
            runs.advance(store, row.id, **_REPAIR, deeds=actions(store, row.id))
        except QuandaryError as error:
            stuck.append(f"run {row.id} was interrupted and cannot be resumed: {error}")
    return stuck


def unfinished_runs(store: Store, folder: str, *flows: str) -> Iterator[Run]:
    """The runs that were interrupted while they moved the track of a folder."""
    for row in store.each_run(waits="house"):
        if row.flow in (flows or FLOWS) and arguments_of(store, row.id).get("folder") == folder:
            yield row


# -- quandary phase go ---------------------------------------------------------------------------


def move_track(
    store: Store, folder: str, target: str, *, approved: str, given: Given, source: Source
) -> tuple[Passage, Track]:
    """Move a track as a command says, if the rules, the proof and the approval allow it."""
    parts = rules.split(target)
    if parts is None:
        raise QuandaryError(f"{target!r} has no label; write 'LABEL: Name', such as '2: Build'")
    finish_gates(store, folder)
    with tracks.lock(folder):
        kept = load_and_repair(store, folder)
        judged = rules.go(kept.track, *parts, approved)
        if isinstance(judged, Refusal):
            raise Rejected(judged.reason)
        values = tracks.convert_typed(judged.due, given.values, given.values if given.lines else ())
        lack = _find_gaps(folder, judged, values)
        if lack.names:
            asked = f"{judged.target.title} comes after proof of {_title(judged.source)}"
            raise Rejected(f"{asked}; {lack.text}; pipe a JSON object with these fields")
        chosen = _find_grant(store, folder, kept, judged)
        passage = Passage(
            judged.target.title,
            _title(judged.source),
            chance.stamp(chance.now()),
            *(chosen.source if chosen is not None else source),
            reason=judged.reason,
            proof=values,
        )
        grant = chosen.run if chosen is not None else ""
        passage = _carry_out(store, folder, kept, judged, passage, source, grant)
    return passage, tracks.track_after(kept, judged)


def _find_gaps(
    folder: str, transition: Transition, values: dict[str, Any], base: str = os.curdir
) -> Gaps:
    """What the proof lacks; paths are looked for below the track's folder and the caller's."""

    def exists(path: str) -> bool:
        return any(os.path.exists(os.path.join(place, path)) for place in (folder, base))

    return tracks.find_gaps(transition.due, values, exists)


def _carry_out(
    store: Store,
    folder: str,
    kept: Kept,
    transition: Transition,
    passage: Passage,
    source: Source,
    grant: str,
) -> Passage:
    """Journal the intent, replace the file, journal that it is done."""
    way = f"{passage.source} → {passage.phase}" if passage.source else passage.phase
    arguments = {
        "folder": folder,
        "from": passage.source,
        "to": passage.phase,
        "reason": passage.reason,
        "proof": passage.proof,
        "approval": grant,
        "context": f"{os.path.basename(folder)}: {way}",
    }
    project, who = project_of(os.curdir), source._asdict()
    state = runs.begin(store, "phase", arguments, project=project, **who)
    passage = msgspec.structs.replace(passage, run=state.run)
    written = False

    def write(deed: Do) -> Done:
        nonlocal written
        try:
            tracks.save(folder, tracks.write_move(kept, transition, passage))
        except QuandaryError as error:
            return Done(deed.key, error=str(error))
        written = True
        return Done(deed.key)

    try:
        state = runs.advance(store, state.run, **who, deeds=write)
    except StoreError as error:
        moved = f"the track is at {passage.phase} now, and the next command completes the journal"
        raise StoreError(f"{error}; {moved}" if written else str(error)) from error
    if state.status != "done":
        raise QuandaryError(state.error or f"run {state.run} is {state.status}")
    return passage


def _find_grant(store: Store, folder: str, kept: Kept, transition: Transition) -> Ordered | None:
    """The choice of a person that lets a transition pass, where it needs one or names one.

    It is approval that an agent cannot give itself.
    """
    if transition.needs_person or transition.reason:
        store.require_newest()
    run = run_named_in(store, transition.reason) if transition.reason else None
    label = transition.source.label if transition.source is not None else ""
    wanted = Move(folder, label, transition.target.title, len(kept.history))
    chosen = choice_of(store, run, wanted) if run is not None else None
    if chosen is not None and chosen.source.in_person:
        return chosen
    if not transition.needs_person:
        return None
    why = (
        ": have them choose in quandary gate DIR, at a terminal or in the browser, and name that "
        "run with --user-approved RUN"
        if run is None
        else f", and in run {run} no person chose to go to {transition.target.title} from where "
        "the track stands now; have them choose in quandary gate DIR"
    )
    raise Rejected(f"{_title(transition.source)} can be left only on a person's own word{why}")


def _title(phase: rules.Phase | None) -> str:
    return phase.title if phase is not None else ""


# -- what a gate has done ------------------------------------------------------------------------


def make_move(store: Store, run: str, deed: Do) -> Done:
    """Do what a gate decided, once: a repeated deed finds its own entry in the history."""
    move = _moves.decode(deed.argument)
    chosen = choice_of(store, run, move)
    if chosen is None:
        return Done(deed.key, error="the journal does not have this move")
    with tracks.lock(move.folder):
        kept = tracks.load(move.folder)
        try:
            outcome = _judge_and_move(move, chosen, kept)
        except Rejected as refused:
            return Done(deed.key, error=str(refused))
    return Done(deed.key, text=msgspec.json.encode(outcome).decode())


def _judge_and_move(move: Move, chosen: Ordered, kept: Kept) -> dict[str, Any]:
    """What came of a move, for the flow that asked for it: where the track is, or what it lacks."""
    last = kept.history[-1] if kept.history else None
    if last is not None and last.run == chosen.run and last.phase == move.target:
        return {"phase": last.phase, "proven": len(last.proof)}
    track, current = kept.track, kept.track.current
    here = current.label if current is not None else ""
    if (here, len(kept.history)) != (move.source, move.seen):
        stands = f"stands at {current.title}" if current is not None else "has not begun"
        raise Rejected(f"the track has moved since this was asked and now {stands}; ask again")
    parts = rules.split(move.target) or ("", "")
    judged = rules.finish(track) if move.finish else rules.go(track, *parts, move.reason)
    if isinstance(judged, Refusal):
        raise Rejected(judged.reason)
    if judged.needs_person and not chosen.source.in_person:
        raise Rejected(f"{_title(judged.source)} can be left only by a person")
    values = tracks.convert_typed(judged.due, move.proof, move.typed)
    lack = _find_gaps(move.folder, judged, values, move.base or os.curdir)
    if lack.names:
        return {"lacking": lack._asdict()}
    passage = Passage(
        judged.target.title,
        _title(judged.source),
        chosen.at,
        *chosen.allowed_by,
        reason=move.reason,
        proof=values if judged.kind in ("forward", "finish") else {},
        run=chosen.run,
        finished=move.finish,
    )
    tracks.save(move.folder, tracks.write_move(kept, judged, passage))
    return {"phase": passage.phase, "proven": len(passage.proof)}


# -- what a phase has made -----------------------------------------------------------------------

MOST = 400
_PEEK = 4096
_LARGE = 16 * 1024 * 1024
_GATES = 200
"""As many runs are looked through for earlier reviews."""


def list_artifacts(store: Store, deed: Do) -> Done:
    """The artifacts of a track, when it was looked, and what people said of them before."""
    folder = deed.argument
    reviewed = _list_reviews(store, folder)
    found = list(_files(folder))
    artifacts = [_artifact(folder, path) for path in found[:MOST]]
    for artifact in artifacts:
        if said := reviewed.get((artifact["path"], artifact["digest"])):
            artifact["reviewed"] = said["path"]
            artifact |= {name: said[name] for name in ("by", "through") if name in said}
    now, more = chance.stamp(chance.now()), max(len(found) - MOST, 0)
    listed = {"now": now, "artifacts": artifacts, "more": more}
    return Done(deed.key, text=msgspec.json.encode(listed).decode())


def _files(folder: str) -> Iterator[str]:
    """The files below a folder in the order of their paths; what is hidden is no artifact."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED)
        for name in sorted(names):
            path = os.path.join(root, name)
            if not name.startswith(".") and os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, folder)


def _artifact(folder: str, path: str) -> dict[str, Any]:
    whole = os.path.join(folder, path)
    path = printable(path)
    try:
        about = os.stat(whole)
        with open(whole, "rb") as file:
            begin = file.read(_PEEK)
            digest = f"{about.st_size}@{about.st_mtime_ns}"
            if about.st_size <= _LARGE:
                digest = sha256(begin + file.read()).hexdigest()[:16]
    except OSError as error:
        return {"path": path, "digest": "", "about": f"cannot be read ({error.strerror})"}
    changed = datetime.fromtimestamp(about.st_mtime, UTC)
    size = f"{about.st_size} bytes, changed {changed:%Y-%m-%d %H:%M}Z"
    text = "" if b"\0" in begin else begin.decode(errors="ignore")
    lines = (printable(line).strip(" #*=-") for line in text.splitlines())
    first = shorten(next(filter(None, lines), ""), 100)
    return {"path": path, "digest": digest, "about": f"{size}: {first}" if first else size}


def _list_reviews(store: Store, folder: str) -> dict[tuple[str, str], dict[str, str]]:
    """What was chosen for each artifact, as it was then, at earlier gates of the track."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in store.runs(status="done", limit=_GATES, newest=True):
        if row.flow != "gate" or arguments_of(store, row.id).get("folder") != folder:
            continue
        for entry in store.entries(row.id, kinds=("ended",)):
            result = entry.read_matter().result
            for review in result.get("review", []) if isinstance(result, dict) else []:
                found.setdefault((review["item"], review["digest"]), review)
    return found
