"""Where a run stands, told from its flow or from its entries alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.journal.entries import Asked, Called, Ended, Noted, Returned, readable
from quandary.journal.store import State
from quandary.model.ask import Ask, Note
from quandary.model.call import Call, Do

if TYPE_CHECKING:
    from quandary.journal.progress import Progress
    from quandary.journal.store import Run, Store


def state_of(row: Run, progress: Progress) -> State:
    """The state of a run whose flow is at hand."""
    request = progress.request
    ask = request if isinstance(request, Ask) else None
    return State(
        run=row.id,
        flow=row.flow,
        status=row.status,
        n=row.n,
        key=row.key,
        ask=ask,
        calls=progress.calls,
        deed=request if isinstance(request, Do) else None,
        result=progress.result,
        error=progress.error,
        notes=ask.notes if ask is not None else _closing_notes(progress.result),
    )


def look_at(store: Store, row: Run, *, after: int = 0) -> State:
    """The state of a run from the entries that make it up.

    Of what happened on the way, a run that is over tells only what came after an entry.
    """
    with readable(row.id):
        return _look_at(store, row, after)


def _look_at(store: Store, row: Run, after: int) -> State:
    if row.waits:
        since = store.entries(row.id, after=row.asked - 1, upto=row.n)
    else:
        since = store.entries(row.id, kinds=("noted", "ended"), after=after, upto=row.n)
    ask, result, error = None, None, None
    sent: dict[str, Call | Do] = {}
    notes: list[Note] = []
    for entry in since:
        body, matter = entry.read(), entry.read_matter()
        if isinstance(body, Asked):
            ask = matter.ask
        elif isinstance(body, Called) and matter.sent is not None:
            sent[body.key] = matter.sent
        elif isinstance(body, Returned):
            sent.pop(body.key, None)
        elif isinstance(body, Noted) and (row.waits or body.kind in ("decided", "declined")):
            notes.append(Note(body.kind, matter.text, body.item))
        elif isinstance(body, Ended):
            result, error = matter.result, matter.error or None
    before = ask.notes if ask is not None and row.waits else _closing_notes(result)
    return State(
        run=row.id,
        flow=row.flow,
        status=row.status,
        n=row.n,
        key=row.key,
        ask=ask if row.waits == "person" else None,
        calls=tuple(call for call in sent.values() if isinstance(call, Call)) if row.waits else (),
        deed=next((do for do in sent.values() if isinstance(do, Do)), None) if row.waits else None,
        result=result,
        error=error,
        notes=(*before, *notes),
    )


def _closing_notes(result: object) -> tuple[Note, ...]:
    """What a flow has to say with its result."""
    notes = result.get("notes") if isinstance(result, dict) else None
    if not isinstance(notes, list):
        return ()
    return tuple(
        Note(n["kind"], n["text"], n.get("item", ""))
        for n in notes
        if isinstance(n, dict) and "kind" in n and "text" in n
    )
