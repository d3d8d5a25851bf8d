"""Going on with a run from its page: what can be done with it now, and who may have it done.

The server drives no run itself: a program does, which is started for it elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from litestar import post
from litestar.params import PathParameter

from quandary.desk import reply as replies
from quandary.desk.walks import has_begun
from quandary.doors.web.house import House, TheHouse, Visit
from quandary.doors.web.shapes import StateOut, refusals, state_out
from quandary.journal.runs import find_run

if TYPE_CHECKING:
    from quandary.journal.store import Run, State

RunId = Annotated[
    str,
    PathParameter(
        pattern=r"^[0-9A-Za-z]{1,26}$", description="A run's name, or as much as tells it apart."
    ),
]


class Going(NamedTuple):
    """How a run goes on, for its page."""

    text: str
    """Where it stands, and what can be done about it."""
    button: str = ""
    """What the button says; there is none where nothing is to be done."""
    command: str = ""
    """The command that does the same."""
    obstacle: str = ""
    """Why it cannot be done from here."""
    under_way: bool = False


_ANEW = Going(
    "A step failed. It can be tried anew, with all its attempts; what was done before it stays.",
    "Try the step anew",
)
_FAILED = {
    "budget": Going(
        "It stopped because its budget is used up. It can go on with as much once more.",
        "Go on with the budget once more",
    ),
    "visits": Going(
        "It came round as often as it may. It can go on, and come round as often once more.",
        "Let it come round as often again",
    ),
}
_UNDER_WAY = Going("Agents are at work.", under_way=True)
_QUEUED = Going("It stands in the queue of a fleet; a worker goes on with it.")
_GONE = Going(
    "Nobody goes on with it any more: whoever ran it is gone. A call whose end nobody saw counts "
    "as an attempt.",
    "Go on",
)
_NEXT = Going("Agents are next, and nobody has begun to ask them.", "Go on")
_LEFT = Going("Something is left to be done that was interrupted.", "Go on")


def going(house: House, state: State) -> Going | None:
    """How a run goes on that does not wait for a person; nothing where it is over."""
    row = house.store.run(state.run)
    if row is None:
        return None
    found = _stand(house, row, state)
    if found is None or not found.button:
        return found
    if row.flow != "walk":
        return found._replace(command=f"quandary next {row.id}")
    again = " --retry-failed" if state.status == "failed" else ""
    command = f"quandary walk --resume {row.id}{again}"
    obstacle = house.walks.obstacle(row) if house.walks else "This server resumes no runs."
    return found._replace(command=command, obstacle=obstacle)


def _stand(house: House, row: Run, state: State) -> Going | None:
    if row.flow != "walk":
        return _LEFT if row.waits == "house" else None
    if state.status == "failed":
        result = state.result if isinstance(state.result, dict) else {}
        return _FAILED.get(str(result.get("used_up")), _ANEW)
    if state.status != "waiting" or row.waits == "person":
        return None
    if is_under_way(house, row.id):
        return _UNDER_WAY
    if house.walks is not None and house.walks.is_queued(row.id):
        return _QUEUED
    return _GONE if has_begun(house.store, row.id) else _NEXT


def is_under_way(house: House, run: str) -> bool:
    """Whether somebody walks a run at this moment."""
    if house.walks is not None:
        return house.walks.is_under_way(run)
    return house.store.is_locked(run)


@post(
    "/runs/{run:str}/resume",
    sync_to_thread=True,
    status_code=202,
    summary="Go on with a run",
    responses=refusals(404, 409),
)
def resume(request: Visit, house: TheHouse, run: RunId) -> StateOut:
    """Go on with a walk that was interrupted, or try one anew that failed, where it failed.

    Only a login or a user's own token may ask for it. The state comes at once; agents are asked by
    a program behind the server. 409 says that there is nothing to go on with, or that somebody does
    so already.
    """
    name = find_run(house.store, run)
    return state_out(house, replies.resume(house.store, house.caller(request), name, house.walks))
