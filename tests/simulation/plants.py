"""Faults to be planted in the program, one at a time, to show that they are found."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from msgspec.structs import replace

from quandary import agents as driving
from quandary.desk import decisions, permits, phases
from quandary.desk import reply as replies
from quandary.doors.web import inbox
from quandary.errors import Rejected
from quandary.journal import archive, history, policy, progress, runs, verify
from quandary.journal import store as stores
from quandary.journal.history import Earlier, Given, Standing, Writer
from quandary.journal.sqlite import SqliteStore
from quandary.journal.store import Store
from quandary.model.asks import Ask, Reply
from quandary.model.track import Transition
from simulation.store import SimulatedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quandary.journal.store import Run


def _append_anyway(writer: Writer, store: Store) -> Run:
    """Append behind whatever others have written meanwhile."""
    now = store.require_run(writer.run.id)
    writer.run = replace(writer.run, n=now.n, head=now.head)
    writer.standing.n = now.n + len(writer.parts)
    run, entries = writer.seal(now.head)
    store.append(run, entries, seen=now.n)
    return run


def _append_twice(writer: Writer, store: Store) -> Run:
    """Record an answer in one transaction, and what follows from it in the next."""
    run, entries = writer.seal(writer.run.head)
    if len(entries) == 1:
        store.append(run, entries, seen=writer.run.n)
        return run
    half = Writer(writer.run, writer.source)
    half.add(*writer.parts[0])
    first = replace(half.standing.row(writer.run), head=entries[0].digest)
    store.append(first, entries[:1], seen=writer.run.n)
    store.append(run, entries[1:], seen=first.n)
    return run


def _reopen_nothing(standing: Standing, key: str) -> None:
    """Let everything count that was answered after what is amended."""
    if key in standing.responses:
        standing.amended[key] = standing.entries_of(key)


def _merge_sources(parts: Any) -> dict[str, Given]:  # noqa: ANN401 - as `merge` takes them
    """Let all answers be those of whoever answered last."""
    merged: dict[str, Given] = {}
    for body, answers in parts:
        merged |= {answer.key: Given(answer, body.source) for answer in answers}
        merged = {key: Given(one.answer, body.source) for key, one in merged.items()}
    return merged


_record = runs._record


def _answer_whatever_waits(
    handle: runs.OpenRun,
    writer: Writer,
    response: Any,  # noqa: ANN401 - as `_record` takes it
    _: str | None,
    **sent: str,
) -> None:
    """Record a reply on the question that waits by now."""
    ask = handle.progress.request
    if isinstance(response, Reply) and isinstance(ask, Ask):
        pairs = zip(response.answers, ask.questions, strict=False)
        response = Reply(tuple(replace(answer, key=q.key) for answer, q in pairs))
    _record(handle, writer, response, None, **sent)


_create = SqliteStore.create


def _begin_another(*args: Any, once: bool = False, **more: Any) -> Run:  # noqa: ANN401
    """Begin a run, whether one has its name already or not."""
    assert once in (True, False)
    return _create(*args, **more)


_fitting = Earlier.fitting


def _take_over_as_ones_own(earlier: Earlier, ask: Any, at: str) -> Any:  # noqa: ANN401
    """Let what several people answered be one person's when it is taken over."""
    found = _fitting(earlier, ask, at)
    return found and (replace(found[0], sources=None, who="person", through="web"), found[1])


_judge_and_move = phases._judge_and_move


def _move_from_anywhere(store: Any, key: str, move: Any, *rest: Any) -> Any:  # noqa: ANN401
    """Let a gate move its track from wherever that stands by now."""
    chosen, kept, ledger = rest
    current = kept.track.current
    here = replace(move, source=current.label if current else "", seen=len(kept.history))
    return _judge_and_move(store, key, here, chosen, kept, ledger)


_use = permits.use


def _use_again(store: Store, caller: Any, run: str, data: Any) -> Any:  # noqa: ANN401
    """Let whoever was refused have what was used."""
    try:
        return _use(store, caller, run, data)
    except Rejected:
        return runs.look(store, run)


def _reuse_anything(_: Store, row: Run, __: str) -> str:
    """Whoever answered, and whether all of it was."""
    return f"run {row.id}" if row.status == "done" else ""


_ANY_DUE = "SELECT run, n, address, tries, due FROM outbox WHERE due <= ? ORDER BY n DESC LIMIT ?"
_claim = Store.claim_letter


def _take_out_first(store: Store, letter: Any, due: str | None) -> bool:  # noqa: ANN401
    """Take a letter out before it is delivered."""
    taken = _claim(store, letter, due)
    if taken and due is not None:
        store.remove_letter(letter)
    return taken


_read_row = inbox._read_row


def _never_wake(one: Any) -> inbox.Row:  # noqa: ANN401 - as `_read_row` takes it
    """Leave out for ever what was snoozed once."""
    row = _read_row(one)
    return row._replace(until="~") if row.until else row


class Plant(NamedTuple):
    """A fault that the program could have."""

    what: str
    make: Callable[[], list[Any]]
    """The patches that it takes."""


PLANTS: dict[str, Plant] = {
    "fence": Plant(
        "the fence on the number of entries is gone",
        lambda: [patch.object(Writer, "append", _append_anyway)],
    ),
    "transaction": Plant(
        "an answer is recorded outside the transaction of what follows",
        lambda: [patch.object(Writer, "append", _append_twice)],
    ),
    "token": Plant(
        "the token of a reply is forgotten",
        lambda: [patch.object(runs, "find_reply", lambda *_: None)],
    ),
    "amendment": Plant(
        "what was answered after an amended answer still counts",
        lambda: [patch.object(Standing, "_reopen", _reopen_nothing)],
    ),
    "sources": Plant(
        "an amendment makes all answers its own",
        lambda: [patch.object(one, "merge", _merge_sources) for one in (history, progress)],
    ),
    "prune": Plant(
        "a prune takes documents that runs still need",
        lambda: [patch.object(archive, "find_needed", lambda *_: set[str]())],
    ),
    "words": Plant(
        "a prune that keeps answers takes their words",
        lambda: [patch.object(one, "is_prunable", lambda *_: True) for one in (verify, archive)],
    ),
    "walkers": Plant(
        "nobody locks a run that is walked",
        lambda: [patch.object(SimulatedStore, "lock_run", lambda *_: nullcontext())],
    ),
    "calls": Plant(
        "a call that was under way when its process died is made once more",
        lambda: [patch.object(driving, "has_begun", lambda *_: False)],
    ),
    "expiry": Plant(
        "a question expires by a clock that is wrong",
        lambda: [patch.object(runs, "_is_far_ahead", lambda *_: False)],
    ),
    "key": Plant(
        "a reply is recorded on whatever waits",
        lambda: [
            patch.object(runs, "_record", _answer_whatever_waits),
            patch.object(replies, "require_waiting", lambda state, _=None: state.ask),
        ],
    ),
    "person": Plant(
        "what only a person may answer is answered by others",
        lambda: [patch.object(runs, "require_person", lambda *_: None)],
    ),
    "once": Plant(
        "the same key begins two runs",
        lambda: [patch.object(SqliteStore, "create", _begin_another)],
    ),
    "gate": Plant(
        "what was chosen at a gate still moves a track that has moved since",
        lambda: [
            patch.object(phases, "_is_current", lambda *_: True),
            patch.object(phases, "_judge_and_move", _move_from_anywhere),
        ],
    ),
    "guard": Plant(
        "a choice that no person made lets a guarded phase pass",
        lambda: [patch.object(Transition, "needs_person", property(lambda _: False))],
    ),
    "bound": Plant(
        "a preference decides what nobody has seen",
        lambda: [patch.object(policy, "is_bound", lambda *_: True)],
    ),
    "undo": Plant(
        "an answer is undone although something followed from it",
        lambda: [patch.object(history, "_find_obstacle", lambda *_: "")],
    ),
    "handed": Plant(
        "nobody records that whoever asked has the answer",
        lambda: [patch.object(runs, "is_open_to_undo", lambda _: False)],
    ),
    "permit": Plant(
        "whoever was refused a permit is told that they have it",
        lambda: [patch.object(permits, "use", _use_again)],
    ),
    "snooze": Plant(
        "what was snoozed never comes back",
        lambda: [patch.object(inbox, "_read_row", _never_wake)],
    ),
    "order": Plant(
        "what a run tells overtakes what it told before",
        lambda: [patch.object(stores, "_DUE", _ANY_DUE)],
    ),
    "letter": Plant(
        "a letter is taken out before it is delivered",
        lambda: [patch.object(Store, "claim_letter", _take_out_first)],
    ),
    "noted": Plant(
        "what is to be told is not noted with the entry that it tells of",
        lambda: [patch.object(Writer, "events", property(lambda _: []))],
    ),
    "attached": Plant(
        "attachments outlive the last text that refers to them",
        lambda: [patch.object(archive, "_forget", lambda *_: 0)],
    ),
    "reuse": Plant(
        "answers that somebody passed on are reused like a person's own",
        lambda: [patch.object(decisions, "_judge_again", _reuse_anything)],
    ),
    "origin": Plant(
        "answers that are taken over are recorded as a person's",
        lambda: [patch.object(Earlier, "fitting", _take_over_as_ones_own)],
    ),
}


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Within it, the program has this fault; with no name, none."""
    with ExitStack() as stack:
        for one in PLANTS[name].make() if name else ():
            stack.enter_context(one)
        yield
