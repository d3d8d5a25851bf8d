"""Moving along a track: the rules, the proof and the approval, then the file and the journal.

The file says where a track stands. The journal says how it was declared, how it came there and who
approved, and where the two disagree about that, the journal counts. The intent is journalled, then
the file is replaced, then the outcome is journalled. Whoever comes after a crash finds the intent,
sees in the file what became of it, and completes the record.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.desk.reply import actions, arguments_of
from quandary.errors import NotFound, ParseError, QuandaryError, Rejected, StoreError
from quandary.flows.wording import fill, find_slots, require_filled
from quandary.formats import proof, tracks
from quandary.formats.tracks import Kept, Passage
from quandary.journal import chance, runs
from quandary.journal import entries as bodies
from quandary.journal.entries import Noted, Source, read_beginning, sha256
from quandary.journal.history import history
from quandary.model import track as rules
from quandary.model.calls import Do, Done
from quandary.model.text import count, printable, shorten
from quandary.model.track import Move, Phase, Refusal, Track, Transition
from quandary.settings import project_of
from quandary.settings.files import SKIPPED, is_ignored, is_inside, open_file, require_own

if TYPE_CHECKING:
    from quandary.formats.proof import Gaps, Given
    from quandary.journal.store import Run, Store
    from quandary.model.asks import Field

FLOWS = ("phase", "gate")
_RUN = re.compile(rf"\b[0-9A-Za-z]{{{chance.LENGTH}}}\b")
_moves: msgspec.json.Decoder[Move] = msgspec.json.Decoder(Move)
_REPAIR: dict[str, Any] = {"who": "policy", "through": "mending"}
_NAME = "track\n"  # begins the name of a declaration; the folder of its track follows
_APPROVAL = "approval\n"  # begins the name of the run that used one; the run of its gate follows
_MOVED, _FINISHED = "moved", "finished"


class Ledger(NamedTuple):
    """A track as the journal has it: how it was declared, and where its moves led. It is the run of
    `phase start`. Every move is noted behind it, and whatever was approved before its newest entry
    is used up or out of date.
    """

    row: Run
    phases: tuple[Phase, ...]
    label: str  # where the track stands; nothing before any phase has begun
    last: str = ""  # the run and the deed that moved it last
    finished: bool = False
    adopted: bool = False  # declared by its file alone, before the journal first saw it


def read_ledger(store: Store, folder: str) -> Ledger | None:
    """The newest declaration of the track in a folder, and what became of it."""
    if (run := store.named(_NAME + folder).get(_NAME + folder)) is None:
        return None
    row = store.require_run(run)
    began = arguments_of(store, run)
    if "phases" not in began:
        raise StoreError(f"run {run} declared this track and its text is gone; see quandary verify")
    every = (entry.read() for entry in store.entries(run, upto=row.n))
    moves = [b for b in every if isinstance(b, Noted) and b.kind in (_MOVED, _FINISHED)]
    declared = msgspec.convert(began["phases"], tuple[Phase, ...])
    if not moves:
        return Ledger(row, declared, began["current"], adopted=began["adopted"])
    return Ledger(row, declared, moves[-1].item, moves[-1].key, moves[-1].kind == _FINISHED)


def start_track(store: Store, name: str, given: str, where: str, source: Source) -> Track:
    """Declare a track with the phases that a text has, in the journal and in its file."""
    require_own(tracks.path_in(name))
    try:
        os.makedirs(name, exist_ok=True)
    except OSError as error:
        raise QuandaryError(f"{name}: no folder can be made there ({error.strerror})") from None
    folder, path = folder_of(name), tracks.path_in(name)
    with tracks.lock(name):
        before = tracks.read(name)
        text = tracks.write_new(given, where, before, path)
        track = tracks.parse(text, path).track
        for one in track.phases:  # their slots are filled at the gates
            for said in (one.title, *(field.description for field in one.proof)):
                filled = fill(said, dict.fromkeys(find_slots(said), "…"))
                require_filled(filled, f"phase {one.title}")
        if not source.in_person:
            store.require_newest()
            _require_guards(name, read_ledger(store, folder), track)
        tracks.save(name, text)
        try:
            _declare(store, folder, track.phases, source)
        except QuandaryError:
            if before is None:
                os.unlink(path)
            else:
                tracks.save(name, before)
            raise
    return track


def _require_guards(name: str, ledger: Ledger | None, track: Track) -> None:
    """Refuse to declare a track anew so that a way could lead past what only a person may open.
    Until it is finished, the new phases ask for a person wherever the old ones do, and there are no
    others.
    """
    if ledger is None or ledger.finished:
        return
    guards = {phase.label: phase.title for phase in ledger.phases if phase.approval}
    asking = {phase.label for phase in track.phases if phase.approval}
    known = {phase.label for phase in ledger.phases}
    if guards and not (guards.keys() <= asking and all(p.label in known for p in track.phases)):
        raise Rejected(
            f"{name}: the journal has a track there in which only a person lets "
            f"{', '.join(guards.values())} pass, and the new phases could lead past that; have a "
            "person declare them at a terminal"
        )


def _declare(
    store: Store, folder: str, phases: tuple[Phase, ...], source: Source, current: str | None = None
) -> None:
    arguments = {
        "folder": folder,
        "phases": msgspec.to_builtins(phases),
        "current": current or "",
        "adopted": current is not None,
        "context": f"{os.path.basename(folder)}: {', '.join(phase.title for phase in phases)}",
    }
    project, said = project_of(os.curdir), source._asdict()
    runs.begin(store, "track", arguments, project=project, name=_NAME + folder, **said)


def _open_ledger(
    store: Store, folder: str, kept: Kept, ledger: Ledger | None
) -> tuple[Kept, Ledger]:
    """A track that is locked, as it counts; one from before is declared as its file has it."""
    if ledger is None:
        label = kept.track.current.label if kept.track.current is not None else ""
        _declare(store, folder, kept.track.phases, Source("policy", "track"), label)
        ledger = read_ledger(store, folder)
        assert ledger is not None  # noqa: S101 - it was just written
    return _as_recorded(kept, ledger), ledger


def _as_recorded(kept: Kept, ledger: Ledger) -> Kept:
    """The track as it was declared; its file can ask for a person more often, and never less."""
    declared = {phase.label for phase in ledger.phases}
    asking = {phase.label for phase in kept.track.phases if phase.approval}
    strict = (
        msgspec.structs.replace(phase, approval="person") if phase.label in asking else phase
        for phase in ledger.phases
    )
    added = tuple(phase for phase in kept.track.phases if phase.label not in declared)
    phases, here = (*strict, *added), kept.track.current
    if here is not None:
        here = next((phase for phase in phases if phase.label == here.label), here)
    labels = tuple(phase.label for phase in added)
    new = {"phases": phases, "current": here, "added": labels, "recorded": ledger.label}
    new |= {"entry": ledger.row.head.hex()}
    return kept._replace(track=msgspec.structs.replace(kept.track, **new))


def find_differences(store: Store, folder: str) -> list[str]:
    """What the file of a track says otherwise than the journal, and that the journal counts."""
    with tracks.lock(folder):
        track, ledger = tracks.load(folder).track, read_ledger(store, folder)
    lines: list[str] = []
    if ledger is None:
        return lines
    if changed := [p.title for p in ledger.phases if track.find(p.label) != p]:
        some = ", ".join(changed[:3]) + (", …" if len(changed) > 3 else "")
        said = f"what phase start recorded in the journal still holds for {some}"
        lines.append(f"the phases in the state file were edited; {said}")
    here = track.current.label if track.current is not None else ""
    if here != ledger.label:
        stands = f"at {ledger.label}" if ledger.label else "before its first phase"
        said = f"the state file has the track at {here or 'no phase'}, the journal {stands}"
        lines.append(f"{said}; for approvals the journal counts")
    return lines


def _note_move(
    store: Store, ledger: Ledger, mark: str, label: str, source: Source, *, finished: bool = False
) -> None:
    """Note a move in the ledger, so that whatever was approved before it is out of date."""
    kind = _FINISHED if finished else _MOVED
    text = f"to {label}, by run {mark.partition(' ')[0]}"
    runs.note_behind(store, ledger.row, kind, mark, label, text, **source._asdict())


class Ordered(NamedTuple):
    """A move that a run ordered, and whose word it was."""

    run: str
    move: Move
    source: Source
    in_person: bool = False  # whether a person chose it in this very run, with their own hand
    counts: bool = True  # whether the choice stands; it may have been amended

    @property
    def allowed_by(self) -> Source:
        """Who let the track pass; where nobody was asked, it was the track's own policy."""
        return self.source if self.move.menu else Source("policy", "track")


def ordered_moves(store: Store, run: str) -> list[Ordered]:
    """Every move that a run ordered, whether or not it came about."""
    found, own = [], False
    entries = store.entries(run)
    every = [entry.read() for entry in entries]
    counting = history(every).counting
    for entry, body in zip(entries, every, strict=True):
        if isinstance(body, bodies.Answered):
            own = body.source.in_person and not body.origin
        elif isinstance(body, bodies.Called) and body.deed == "move-phase":
            move = _moves.decode(getattr(entry.read_matter().sent, "argument", ""))
            own = own and body.source.in_person
            found.append(Ordered(run, move, body.source, own, body.key in counting))
    return found


def choice_of(store: Store, run: str, move: Move) -> Ordered | None:
    """Where a run first ordered just this move: that was the choice; later comes only its proof."""
    wanted, found = _way(move), ordered_moves(store, run)
    return next((one for one in found if one.counts and _way(one.move) == wanted), None)


def _way(move: Move) -> tuple[object, ...]:
    """From which stand of a track a move leads to which phase."""
    label = (rules.split(move.target) or ("",))[0]
    return move.folder, move.source, label, move.seen, move.finish


def run_named_in(store: Store, text: str) -> str | None:
    """The run that a reason names: by its whole id, or by the beginning of it and nothing else."""
    found = _RUN.search(text)
    with suppress(NotFound):
        return runs.find_run(store, found[0] if found else text)
    return None


def who_let_pass(
    store: Store | None, folder: str, passage: Passage
) -> tuple[tuple[str, str, str], bool]:
    """Who let a track pass, and whether the journal says so; else it is the track's own word."""
    source = _find_in_journal(store, folder, passage) if store is not None else None
    return source or (passage.who, passage.through, passage.by), source is not None


def _find_in_journal(store: Store, folder: str, passage: Passage) -> Source | None:
    row = store.run(passage.run) if passage.run else None
    if row is None or row.flow not in FLOWS:
        return None
    began, arguments = read_beginning(store, row.id)
    grant = arguments.get("approval")
    if row.flow == "phase" and not grant:
        made = (arguments.get("folder"), arguments.get("to"))
        return began.source if made == (folder, passage.phase) else None
    for found in ordered_moves(store, str(grant or row.id)):
        if (found.move.folder, found.move.target) == (folder, passage.phase):
            return found.allowed_by
    return None


def folder_of(name: str) -> str:
    """The folder of a track, under the one name that the journal knows it by."""
    try:
        return os.path.realpath(name).encode().decode()
    except (OSError, ValueError):
        raise ParseError(f"{name!a}: no folder that can be named in a journal") from None


def open_track(store: Store, name: str, *, adopting: bool = False) -> tuple[str, Kept, list[str]]:
    """The folder of a track, the track as it stands, and what could not be repaired of its record.
    What was chosen at a gate and never done is carried out first, and the record of commands that
    were killed on the way is completed. With `adopting`, a track of before gets a declaration.
    """
    folder = folder_of(name)
    tracks.load(name)
    stuck = finish_gates(store, folder)
    with tracks.lock(folder):
        kept, ledger = _repair(store, folder)
        if adopting or ledger is not None:
            kept, _ = _open_ledger(store, folder, kept, ledger)
        return folder, kept, stuck


def _repair(store: Store, folder: str) -> tuple[Kept, Ledger | None]:
    """Complete the record of commands that were killed on the way, of a track that is locked. A
    move that the file has was made, if it led where the journal says that the command was to go.
    One that it has not never will be: its command is gone. Only where a person approved of it, and
    the track stands as it did, does it wait for that command to be given again.
    """
    kept, ledger = tracks.load(folder), read_ledger(store, folder)
    made = {passage.run: passage for passage in kept.history}
    why = "the command was interrupted before the track had moved"
    for row in unfinished_runs(store, folder, "phase"):
        passage, began = made.get(row.id), arguments_of(store, row.id)
        grant, mark = str(began.get("approval") or ""), f"{row.id} {row.key}"
        is_noted = ledger is None or ledger.last == mark
        holds = bool(grant) and ledger is not None and _holds(store, grant, ledger)
        is_made = passage is not None and passage.phase == began["to"]
        if passage is not None and is_made and (is_noted or holds or not grant):
            if ledger is not None and not is_noted:
                _note_move(store, ledger, mark, passage.label, Source(**_REPAIR))
                ledger = read_ledger(store, folder)
            runs.advance(store, row.id, **_REPAIR, deeds=lambda deed: Done(deed.key))
        elif not holds:
            runs.withdraw(store, row.id, why, repairing=True, **_REPAIR)
    return kept, ledger


def _holds(store: Store, grant: str, ledger: Ledger) -> bool:
    """Whether a track stands as it did when somebody approved of a move."""
    head = ledger.row.head.hex()
    return ledger.adopted or any(one.move.entry == head for one in ordered_moves(store, grant))


def finish_gates(store: Store, folder: str) -> list[str]:
    """Carry out what was chosen at a gate and never done; call it with the track unlocked. What is
    given back is what cannot be done, in words. A store that is gone for a moment is no such thing:
    whoever went on from there would move the track twice.
    """
    stuck = []
    for row in list(unfinished_runs(store, folder, "gate")):
        try:
            runs.advance(store, row.id, **_REPAIR, deeds=actions(store, row.id))
        except QuandaryError as error:
            if isinstance(error, StoreError) and not isinstance(error, bodies.Unreadable):
                raise
            stuck.append(f"run {row.id} was interrupted and cannot be resumed: {error}")
    return stuck


def unfinished_runs(store: Store, folder: str, *flows: str) -> Iterator[Run]:
    """The runs that were interrupted while they moved the track of a folder."""
    for row in store.each_run(waits="house"):
        if row.flow in (flows or FLOWS) and arguments_of(store, row.id).get("folder") == folder:
            yield row


def move_track(
    store: Store, folder: str, target: str, *, approved: str, given: Given, source: Source
) -> tuple[Passage, Track]:
    """Move a track as a command says, if the rules, the proof and the approval allow it."""
    if (parts := rules.split(target)) is None:
        raise QuandaryError(f"{target!r} has no label; write 'LABEL: Name', such as '2: Build'")
    store.require_newest()
    finish_gates(store, folder)
    with tracks.lock(folder):
        kept, ledger = _open_ledger(store, folder, *_repair(store, folder))
        judged = rules.go(kept.track, *parts, approved)
        if isinstance(judged, Refusal):
            raise Rejected(judged.reason)
        values = proof.convert_typed(judged.due, given.values, given.values if given.lines else ())
        lack = find_gaps(folder, judged.due, values)
        if lack.names:
            asked = f"{judged.target.title} comes after proof of {_title(judged.source)}"
            raise Rejected(f"{asked}; {lack.text}; pipe a JSON object with these fields")
        chosen = _find_grant(store, folder, kept, ledger, judged)
        passage = Passage(
            judged.target.title,
            _title(judged.source),
            chance.stamp(chance.now()),
            *(chosen.source if chosen is not None else source),
            reason=judged.reason,
            proof=values,
        )
        grant = chosen.run if chosen is not None else ""
        passage = _carry_out(store, folder, kept, ledger, judged, passage, source, grant)
        return passage, _as_recorded(tracks.load(folder), ledger).track


def find_gaps(
    folder: str, due: Iterable[Field], values: dict[str, Any], base: str = os.curdir
) -> Gaps:
    """What the proof lacks; its paths lead to something below the track's folder."""

    def exists(path: str) -> bool:
        named = (os.path.join(place, path) for place in (folder, base))
        return any(is_inside(folder, one) and os.path.exists(one) for one in named)

    return proof.find_gaps(due, values, exists)


def _carry_out(
    store: Store,
    folder: str,
    kept: Kept,
    ledger: Ledger,
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
    who = source._asdict()
    # An approval is used by beginning, and once: a command that was killed there is resumed.
    name = _APPROVAL + grant if grant else ""
    kind: dict[str, Any] = {"project": project_of(os.curdir), "name": name, "once": bool(grant)}
    state = runs.begin(store, "phase", arguments, **kind, **who)
    proof = arguments_of(store, state.run)["proof"]
    passage = msgspec.structs.replace(passage, run=state.run, proof=proof)
    written = False

    def write(deed: Do) -> Done:
        nonlocal written
        try:
            tracks.save(folder, tracks.write_move(kept, transition, passage))
        except QuandaryError as error:
            return Done(deed.key, error=str(error))
        written = True
        _note_move(store, ledger, f"{state.run} {deed.key}", transition.target.label, source)
        return Done(deed.key)

    try:
        state = runs.advance(store, state.run, **who, deeds=write)
    except StoreError as error:
        moved = f"the track is at {passage.phase} now, and the next command completes the journal"
        raise StoreError(f"{error}; {moved}" if written else str(error)) from error
    if state.status != "done":
        raise QuandaryError(state.error or f"run {state.run} is {state.status}")
    return passage


def _find_grant(
    store: Store, folder: str, kept: Kept, ledger: Ledger, transition: Transition
) -> Ordered | None:
    """The choice of a person that lets a transition pass, where it needs one or names one."""
    run = run_named_in(store, transition.reason) if transition.reason else None
    label = transition.source.label if transition.source is not None else ""
    wanted = Move(folder, label, transition.target.title, len(kept.history))
    chosen = choice_of(store, run, wanted) if run is not None else None
    how = "have them choose in quandary gate DIR, at a terminal or in the browser"
    if run is None:
        why = f": {how}, and name that run with --user-approved RUN"
    elif chosen is None or not chosen.in_person:
        goal = transition.target.title
        why = f", and in run {run} no person chose to go to {goal} from where the track stands now"
        why += "; have them choose in quandary gate DIR"
    elif not _is_current(store, chosen, ledger):
        why = f", and what they chose in run {run} was used, or the track has moved since; {how}"
    elif changed := _list_changes(store, folder, chosen.move.shown):
        why = f", and {changed} changed since run {run} showed it; {how}"
    else:
        return chosen
    if transition.needs_person:
        raise Rejected(_refusal(transition) + why)
    return None


def _refusal(transition: Transition) -> str:
    passed = transition.guards[0]
    verb = "left" if passed.label == getattr(transition.source, "label", "") else "passed over"
    return f"{passed.title} can be {verb} only on a person's own word"


def _is_current(store: Store, chosen: Ordered, ledger: Ledger) -> bool:
    """Whether a gate was not used, and its track not moved or declared anew since it was begun.
    What it saw of the ledger is sealed in it, and the order of entries of different runs is not. A
    gate of before is one of a track that the journal has adopted; it counts until the first move,
    unless it was used then.
    """
    used = store.named(_APPROVAL + chosen.run).values()
    if any(store.require_run(run).status != "waiting" for run in used):
        return False
    if chosen.move.entry == ledger.row.head.hex():
        return True
    return ledger.adopted and not _was_used(store, chosen.run)


def _was_used(store: Store, run: str) -> bool:
    """Whether what was chosen at a gate was done, by itself or by a command that named it."""
    for entry in store.entries(run, kinds=("returned",)):
        if '"phase":' in getattr(entry.read_matter().came, "text", ""):
            return True
    gate = store.require_run(run)
    return any(
        row.flow == "phase"
        and row.status == "done"
        and arguments_of(store, row.id).get("approval") == run
        for row in store.each_run(project=gate.project)
        if row.number > gate.number
    )


def _title(phase: rules.Phase | None) -> str:
    return phase.title if phase is not None else ""


def make_move(store: Store, run: str, deed: Do) -> Done:
    """Do what a gate decided, once: a repeated deed finds its own entry in the history."""
    move = _moves.decode(deed.argument)
    if (chosen := choice_of(store, run, move)) is None:
        return Done(deed.key, error="the journal does not have this move")
    store.require_newest()
    with ExitStack() as held:
        try:
            held.enter_context(tracks.lock(move.folder))
        except Rejected as busy:
            remedy = f"what was chosen is recorded, and `quandary next {run}` carries it out"
            raise StoreError(f"{busy}; {remedy}") from None
        found = tracks.load(move.folder), read_ledger(store, move.folder)
        kept, ledger = _open_ledger(store, move.folder, *found)
        try:
            outcome = _judge_and_move(store, deed.key, move, chosen, kept, ledger)
        except Rejected as refused:
            return Done(deed.key, error=str(refused))
    return Done(deed.key, text=msgspec.json.encode(outcome).decode())


def _judge_and_move(
    store: Store, key: str, move: Move, chosen: Ordered, kept: Kept, ledger: Ledger
) -> dict[str, Any]:
    """What came of a move, for the flow that asked for it: where the track is, or what it lacks."""
    last = kept.history[-1] if kept.history else None
    mark = f"{chosen.run} {key}"
    is_noted = ledger.last == mark  # by a process that was killed before it recorded the outcome
    is_made = last is not None and (last.run, last.phase) == (chosen.run, move.target)
    if last is not None and is_made and (is_noted or ledger.adopted):
        return {"phase": last.phase, "proven": len(last.proof)}
    track, current = kept.track, kept.track.current
    here = current.label if current is not None else ""
    if (here, len(kept.history)) != (move.source, move.seen):
        stands = f"stands at {current.title}" if current is not None else "has not begun"
        raise Rejected(f"the track has moved since this was asked and now {stands}; ask again")
    if not is_noted and not _is_current(store, chosen, ledger):
        stands = f"has it at {ledger.label}" if ledger.label else "has it before its first phase"
        raise Rejected(f"the track has moved since this was asked: the journal {stands}; ask again")
    parts = rules.split(move.target) or ("", "")
    judged = rules.finish(track) if move.finish else rules.go(track, *parts, move.reason)
    if isinstance(judged, Refusal):
        raise Rejected(judged.reason)
    if judged.needs_person and not chosen.in_person:
        how = "have them choose it in quandary gate DIR, at a terminal or in the browser"
        raise Rejected(f"{_refusal(judged)}: {how}")
    if judged.needs_person and (changed := _list_changes(store, move.folder, move.shown)):
        raise Rejected(f"{changed} changed since it was shown here; ask again")
    values = proof.convert_typed(judged.due, move.proof, move.typed)
    lack = find_gaps(move.folder, judged.due, values, move.base or os.curdir)
    if lack.names:
        return {"lacking": lack._asdict()}
    passage = Passage(
        judged.target.title,
        _title(judged.source),
        chance.stamp(chance.now()),  # proof may come long after the choice
        *chosen.allowed_by,
        reason=move.reason,
        proof=values if judged.kind in ("forward", "finish") else {},
        run=chosen.run,
        finished=move.finish,
    )
    if not is_noted:
        label, finished = judged.target.label, move.finish
        _note_move(store, ledger, mark, label, chosen.source, finished=finished)
    tracks.save(move.folder, tracks.write_move(kept, judged, passage))
    return {"phase": passage.phase, "proven": len(passage.proof)}


MOST = 400
_PEEK = 4096


def list_artifacts(store: Store, deed: Do, *, first_lines: bool) -> Done:
    """The artifacts of a track, when it was looked, and what people said of them before."""
    folder = deed.argument
    # Digests come first: what changes meanwhile is then approved by nobody, whatever was shown.
    reviewed, digests = _list_reviews(store, folder), digest_artifacts(store, folder)
    artifacts = [_artifact(folder, path, first_line=first_lines) for path in _files(folder)]
    for artifact in artifacts:
        if said := reviewed.get((artifact["path"], artifact["digest"])):
            artifact.update(said, path=artifact["path"], reviewed=said["path"])
    listed = {"now": chance.stamp(chance.now()), "artifacts": artifacts, "digests": digests}
    return Done(deed.key, text=msgspec.json.encode(listed).decode())


def digest_artifacts(store: Store, folder: str) -> dict[str, str]:
    """The artifacts of a track, each with the digest of its content; many more as one."""
    own = {os.path.realpath(store.path) + end for end in ("", "-wal", "-shm", "-journal")}
    found = dict[str, str]()
    for path in _files(folder):
        if (whole := os.path.realpath(os.path.join(folder, path))) not in own:
            found[printable(path)] = found.get(printable(path), "") + _digest(whole)
    if rest := list(found.items())[MOST:]:
        found = dict(list(found.items())[:MOST])
        found[f"one of {len(rest)} more"] = sha256(msgspec.json.encode(rest)).hexdigest()
    return found


def _digest(path: str) -> str:
    from hashlib import file_digest  # noqa: PLC0415 - slow to load, quick with large files

    try:
        with open_file(path) as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _list_changes(store: Store, folder: str, shown: dict[str, str]) -> str:
    """Which of the artifacts that somebody was shown are not the same, as far as can be read."""
    now = digest_artifacts(store, folder) if shown else {}
    changed = [path for path, digest in shown.items() if now.get(path) != digest or not digest]
    return ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")


def _files(folder: str) -> Iterator[str]:
    """The files below a folder in the order of their paths; what is hidden is no artifact."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED)
        for name in sorted(names):
            path = os.path.join(root, name)
            if not name.startswith(".") and os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, folder)


def _artifact(folder: str, path: str, *, first_line: bool) -> dict[str, Any]:
    whole = os.path.join(folder, path)
    path, digest = printable(path), _digest(whole)[:16]
    try:
        about = os.stat(whole)
        with open_file(whole) as file:
            begin = file.read(_PEEK)
    except OSError as error:
        return {"path": path, "digest": "", "about": f"cannot be read ({error.strerror})"}
    changed = datetime.fromtimestamp(about.st_mtime, UTC)
    size = f"{count(about.st_size, 'byte')}, changed {changed:%Y-%m-%d %H:%M}Z"
    shown = first_line and b"\0" not in begin and not is_ignored(whole, folder)
    text = begin.decode(errors="ignore") if shown else ""
    lines = (printable(line).strip(" #*=-") for line in text.splitlines())
    first = shorten(next(filter(None, lines), ""), 100)
    return {"path": path, "digest": digest, "about": f"{size}: {first}" if first else size}


def _list_reviews(store: Store, folder: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What was chosen for each artifact at earlier gates of its track; callers' items are none."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in store.each_run(flow="gate", newest=True):
        began = arguments_of(store, row.id) if row.status == "done" else {}
        if began.get("folder") != folder or began.get("items"):
            continue
        for entry in store.entries(row.id, kinds=("ended",)):
            result = entry.read_matter().result
            for review in result.get("review", []) if isinstance(result, dict) else []:
                found.setdefault((review["item"], review["digest"]), review)
    return found
