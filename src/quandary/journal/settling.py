"""Answers that were given elsewhere: in the box of the host whose question a run only keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.errors import NotFound
from quandary.journal import replay
from quandary.journal.draft import Draft, Source
from quandary.journal.progress import heard, rebuild, require_fit
from quandary.journal.states import state_of
from quandary.journal.store import Moved
from quandary.model.ask import Answer, Ask

if TYPE_CHECKING:
    from quandary.journal.entries import Who
    from quandary.journal.store import State, Store
    from quandary.model.ask import Reply


def settle(
    store: Store, run: str, reply: Reply, *, why: str, who: Who, through: str, by: str = ""
) -> State:
    """Book what was answered elsewhere, whatever became of the question here.

    A run that was withdrawn in the meantime is closed by its answer after all, so that there is
    one record of the question. An answer that was given here before gives way, and is kept.
    """
    while True:
        row = store.run(run)
        if row is None:
            raise NotFound(f"there is no run {run}; `quandary runs` lists them")
        progress = rebuild(store, run, row.n)
        if not isinstance(progress.request, Ask):
            return replay.amend(
                store,
                run,
                reply,
                key=reply.answers[0].key,
                why=why,
                who=who,
                through=through,
                by=by,
                elsewhere=True,
            )
        require_fit(progress.request, reply)
        draft = Draft(row, Source(who, through, by))
        draft.answer(reply, progress.request.key, why=why)
        progress.take(reply)
        draft.stand(progress)
        try:
            return state_of(draft.append(store), progress)
        except Moved:
            continue


def answer_of(store: Store, run: str) -> tuple[Source, Answer] | None:
    """The answer that a run of one question has, and whose it is; nothing where there is none."""
    entries = store.entries(run, kinds=("answered",))
    if not entries:
        return None
    body = entries[-1].read()
    known = heard(run, store.recorded(run))
    reply = known.responses.get(getattr(body, "key", ""))
    answers: tuple[Answer, ...] = getattr(reply, "answers", ())
    return (Source(body.who, body.through, body.by), answers[0]) if answers else None
