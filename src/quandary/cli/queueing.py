"""`quandary walk --fleet`: runs that are put into the queue, for workers to go on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from quandary.cli import running
from quandary.cli.screen import complain, put, tell
from quandary.desk.plans import steps_of
from quandary.desk.state import encode_state
from quandary.errors import QuandaryError
from quandary.fleet.queue import ANY, THROUGH, Fleet, not_shared
from quandary.journal import runs as driver
from quandary.journal.ids import find_run
from quandary.journal.store import place_of
from quandary.model.calls import is_human

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from quandary.cli.asking import Way
    from quandary.flows.step_plans import Planned
    from quandary.journal.entries import Source
    from quandary.journal.store import State, Store
    from quandary.model.asks import Item

__all__ = ["THROUGH", "begun", "main_agent", "opened", "put_back", "require_fitting"]

_NOT_HERE = {
    "jobs": "workers say with --concurrency how many runs they take on",
    "answers": "nobody is asked here",
    "proof": "nothing is decided here",
}
"""What does not go with --fleet, and why."""


def require_fitting(way: Way) -> None:
    """Refuse what was said for a walk that is driven here."""
    context = click.get_current_context()
    for name, why in _NOT_HERE.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} does not go with --fleet: {why}")
    if way.via == "terminal" and context.get_parameter_source("via") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--via terminal does not go with --fleet: nobody is asked here")


def opened(way: Way, *, existing: bool = False) -> Store:
    """The store, if it is one that workers can share."""
    place = place_of(way.where)
    if "://" not in place:
        raise not_shared(place)
    return running.opened(way.where, existing=existing)


def main_agent(steps: Iterable[Planned]) -> str:
    """After whom the queue of a chart is named: the agent that is asked first."""
    asked = (agent for step in steps for agent in step.agents)
    return next((agent for agent in asked if agent and not is_human(agent)), ANY)


def begun(
    store: Store,
    name: str,
    begin: Callable[[Item], State],
    items: Sequence[Item],
    *,
    told: dict[str, Any],
    several: bool,
) -> int:
    """Begin a run for each item, in the queue of that name, and say where they stand."""
    fleet = Fleet(store, name)
    fleet.take_new_runs()
    states: list[State] = []
    try:
        for item in items:
            states.append(begin(item))  # noqa: PERF401 - those before an error have begun
    except (KeyboardInterrupt, QuandaryError):
        tell(f"{len(states)} of {len(items)} items are in the queue {fleet.queue.name}")
        raise
    tell(f"{len(states)} in the queue {fleet.queue.name}; `quandary runs` shows how they get on")
    return _shown(store, states, told, several=several)


def put_back(
    store: Store, named: Iterable[str], queue: str | None, again: Source | None = None
) -> int:
    """Have workers go on with runs that were begun before, with `again` also with failed ones."""
    runs = list(dict.fromkeys(find_run(store, name) for name in named))
    for run in runs:
        row = store.run(run)
        if row is None or row.flow != "walk":
            raise QuandaryError(f"run {run} is no walk; go on with it by: quandary next {run}")
    states: list[State] = []
    for run in runs:
        fleet = Fleet(store, queue or main_agent(steps_of(store, run)))
        fleet.add(run)
        state = driver.look(store, run)
        if again is not None and state.status == "failed":
            who, through, by = again
            state = driver.retry(store, run, who=who, through=through, by=by)
        states.append(state)
    return _shown(store, states, None, several=len(runs) > 1)


def _shown(
    store: Store, states: Sequence[State], told: dict[str, Any] | None, *, several: bool
) -> int:
    """Say where the runs stand; one that has ended by now may have failed."""
    parts = [encode_state(store, state, told) for state in states]
    put(b'{"runs":[' + b",".join(parts) + b"]}\n" if several else parts[0] + b"\n")
    failed = [state for state in states if state.status not in ("done", "waiting")]
    for state in failed:
        complain(f"run {state.run} is {state.status}: {state.error or 'it was ended'}")
    return 1 if failed else 0
