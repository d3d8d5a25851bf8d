"""A failed run taken up again: what counts no longer, and where its flow stands then.

Nothing in the journal is changed. A note says which responses are taken back; all that is asked
after it bears the number of an amendment, so that no late response to an earlier showing fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.errors import Rejected
from quandary.journal.entries import now, stamp
from quandary.journal.progress import (
    Progress,
    began_with,
    heard,
    key_of,
    module_of,
    replay,
    requests_of,
    restart,
)

if TYPE_CHECKING:
    from quandary.journal.progress import Heard
    from quandary.journal.store import Recorded, Run, Store

RETRIED = "retried"
"""The kind of the note."""
ANEW = "The step is tried anew; what came of it so far is kept and no longer counts."
ONCE_MORE = "It goes on with as much once more as it was allowed when it began."


class Again(NamedTuple):
    """How a run is taken up: what its note says, and its flow, standing there."""

    key: str
    takes_back: tuple[str, ...]
    amendment: int
    arguments: dict[str, Any]
    progress: Progress

    @property
    def text(self) -> str:
        """The same for a reader."""
        return ANEW if self.takes_back else ONCE_MORE


def taken_up(store: Store, row: Run, recorded: list[Recorded]) -> Again:
    """A failed run, brought to where it can go on."""
    run = row.id
    if row.status != "failed":
        raise Rejected(f"run {run} is {row.status}; only a failed run can be tried again")
    if row.expires and stamp(now()) >= row.expires:
        raise Rejected(f"the time of run {run} was up at {row.expires}; begin anew: --from {run}")
    known = heard(run, recorded)
    ended = replay(run, restart(store, run, recorded, known), known)
    found = _way(row.flow, began_with(run, recorded), ended.result)
    if found is None:
        raise Rejected(
            f"run {run} failed where nothing can be tried again; begin anew: --from {run}"
        )
    asked, arguments = found
    takes_back = _answers_from(store, run, recorded, known, asked) if asked else ()
    number = known.last + 1
    for key in takes_back:
        del known.responses[key]
        known.amendments.pop(key, None)
    known.arguments |= arguments
    progress = replay(run, restart(store, run, recorded, known), known)
    if progress.request is None:
        raise Rejected(f"run {run} would end in the same way; begin anew: --from {run}")
    key = key_of(progress.request)
    progress.show_again({key: number})
    return Again(key, takes_back, number, arguments, progress)


def _way(flow: str, began: dict[str, Any], result: object) -> tuple[str, dict[str, Any]] | None:
    again = getattr(module_of(flow), "again", None)
    if again is None or not isinstance(result, dict):
        return None
    found: tuple[str, dict[str, Any]] | None = again(began, result)
    return found


def _answers_from(
    store: Store, run: str, recorded: list[Recorded], known: Heard, asked: str
) -> tuple[str, ...]:
    """The keys of all that was answered from a request on; `asked` is its key in the flow."""
    before: set[str] = set()
    progress = restart(store, run, recorded, known)
    for request in requests_of(run, progress, known):
        calls = request if isinstance(request, tuple) else (request,)
        if asked in {progress.plain(call.key) for call in calls}:
            break
        before |= {call.key for call in calls}
    return tuple(key for key in known.responses if key not in before)
