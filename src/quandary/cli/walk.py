"""`quandary walk`: run a chart."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from quandary.cli import items as given
from quandary.cli import running
from quandary.cli.asking import Way, asking_options
from quandary.cli.screen import complain, put, tell
from quandary.errors import QuandaryError
from quandary.flows.at_step import Budget
from quandary.formats import charts
from quandary.journal import replay
from quandary.journal.ids import find_run
from quandary.model.ask import Item
from quandary.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from quandary.agents.catalogue import Catalogue
    from quandary.agents.driving import Driver
    from quandary.flows.planning import Defaults
    from quandary.journal.store import State, Store
    from quandary.settings import Settings


@click.command(epilog="Exit status: 0 done or waiting, 1 a run failed or the plan is unsound.")
@click.argument("source", required=False)
@click.option(
    "--item",
    "item_texts",
    multiple=True,
    metavar="'ID|Label|Title|Context'",
    help="What to walk it for; its fields fill {{slots}} in prompts.",
)
@click.option(
    "--items", "items_file", metavar="FILE", help="JSON list, JSON lines or CSV of items."
)
@click.option("--page", default="", metavar="NAME", help="The page of the chart to begin on.")
@click.option("--cli", metavar="CODENAME", help="The agent where the chart names none.")
@click.option("--validate-cli", metavar="CODENAME", help="The agent that checks the others.")
@click.option("--retry-cli", metavar="CODENAME", help="The agent for further attempts.")
@click.option("--retries", type=click.IntRange(min=0), help="Further attempts at a step.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS")
@click.option("--max-calls", type=click.IntRange(min=0), help="Stop an item after so many calls.")
@click.option("--max-tokens", type=click.IntRange(min=0), help="Stop an item beyond so many.")
@click.option("--max-seconds", type=click.FloatRange(min=0), help="Stop an item beyond so many.")
@click.option("--workdir", metavar="DIR", help="Where agents work; by default here.")
@click.option("--dry-run", is_flag=True, help="Show the plan and every command; spend nothing.")
@click.option("--jobs", type=click.IntRange(1, 1000), default=1, show_default=True)
@click.option("--resume", metavar="RUN", help="Go on with a run that was interrupted.")
@asking_options
def walk(
    source: str | None,
    item_texts: tuple[str, ...],
    items_file: str | None,
    page: str,
    cli: str | None,
    validate_cli: str | None,
    retry_cli: str | None,
    retries: int | None,
    timeout: float | None,
    max_calls: int | None,
    max_tokens: int | None,
    max_seconds: float | None,
    workdir: str | None,
    dry_run: bool,
    jobs: int,
    resume: str | None,
    way: Way,
) -> int:
    """Run the chart that SOURCE names: agents do its steps, others check them, people are asked.

    SOURCE is a Lucid export (`file.csv`, `file.json`), a Mermaid flowchart (`file.mmd`) or a tree.
    Every item is a run of its own. What was paid for is kept: after a crash, `--resume RUN` goes on
    and makes no recorded call again.
    """
    if (source is None) == (resume is None):
        raise click.UsageError("name a SOURCE, or a run with --resume")
    folder = os.path.abspath(workdir or os.curdir)
    if not os.path.isdir(folder):
        raise QuandaryError(f"{workdir}: no such folder to work in")
    from quandary.agents.catalogue import read_catalogue  # noqa: PLC0415 - only for charts

    settings = read_settings()
    catalogue = read_catalogue(settings.table("agents"))
    said = {
        "cli": cli,
        "validate_cli": validate_cli,
        "retry_cli": retry_cli,
        "retries": retries,
        "timeout": timeout,
    }
    defaults = _defaults(settings, {k: v for k, v in said.items() if v is not None})
    if resume is not None:
        return _resumed(way, find_run(running.opened(way.where, existing=True), resume), folder)
    assert source is not None  # noqa: S101 - said above, for the type checker
    loaded = charts.read(source, page=page)
    from quandary.cli.planned import plan_of  # noqa: PLC0415 - only for charts

    plan = plan_of(loaded, defaults, catalogue, _around(folder, settings))
    if dry_run:
        return plan.show()
    for warning in plan.warnings:
        tell(warning)
    plan.require_sound()
    entries = running.script(way.answers) if way.answers else []
    items = given.from_options(item_texts) + (given.from_file(items_file) if items_file else [])
    if items_file and not items:
        raise QuandaryError(f"{items_file}: there is no item in it")
    store = running.opened(way.where, telling=not entries)
    arguments = {
        "defaults": msgspec.to_builtins(defaults),
        "codenames": [*catalogue.names, "HUMAN"],
        "budget": msgspec.to_builtins(Budget(max_calls, max_tokens, max_seconds)),
        "limits": msgspec.to_builtins(way.limits()),
        "person": way.via == "terminal" or not running.is_pipe(),
        "via": way.via,
        "host": way.host,
        "workdir": folder,
    }
    beginnings = [
        _beginning(store, loaded.chart, arguments, item, way) for item in items or [Item("1")]
    ]
    driver = _driver(store, catalogue, folder, settings, len(beginnings))
    states = _driven(driver, driver.all(beginnings, jobs))
    if entries:
        states = [_answered(driver, state, list(entries)) for state in states]
        for state in states:
            running.tell_of(store, state)
    return _ended(driver, states, way, several=bool(items) and len(items) > 1)


def _beginning(
    store: Store, chart: object, arguments: dict[str, Any], item: Item, way: Way
) -> Callable[[], State]:
    def begin() -> State:
        return replay.begin(
            store,
            "walk",
            {**arguments, "item": msgspec.to_builtins(item)},
            documents={"chart": msgspec.to_builtins(chart)},
            project=running.project(),
            who="agent",
            through="command",
            origin=find_run(store, way.origin) if way.origin else None,
        )

    return begin


def _resumed(way: Way, run: str, folder: str) -> int:
    """Go on with a run as it was begun; agents come from the settings of today."""
    from quandary.agents.catalogue import read_catalogue  # noqa: PLC0415 - only for charts
    from quandary.agents.driving import walking  # noqa: PLC0415 - the same

    store = running.opened(way.where)
    settings = read_settings()
    row = store.run(run)
    if row is None or row.flow != "walk":
        raise QuandaryError(f"run {run} is no walk; go on with it by: quandary next {run}")
    kept = running.settings_of(store, run).get("workdir")
    driver = _driver(store, read_catalogue(settings.table("agents")), kept or folder, settings, 1)

    async def resume() -> list[State]:
        with walking(store, run):
            return [await driver.resume(run)]

    states = _driven(driver, resume())
    return _ended(driver, states, way, several=False)


def _driver(
    store: Store, catalogue: Catalogue, folder: str, settings: Settings, items: int
) -> Driver:
    from quandary.agents.driving import Driver  # noqa: PLC0415 - only for charts
    from quandary.cli.watching import watcher  # noqa: PLC0415 - the same

    return Driver(store, catalogue, _around(folder, settings), watcher(store, settings, items))


def _around(folder: str, settings: Settings) -> Any:  # noqa: ANN401 - a Surroundings
    from quandary.agents.calling import Surroundings  # noqa: PLC0415 - only for charts

    return Surroundings(folder, os.environ, float(settings.number("default_timeout", 600)))


def _driven(driver: Driver, work: Coroutine[Any, Any, list[State]]) -> list[State]:
    """Do the work with the progress shown; Ctrl-C ends every program first."""
    import asyncio  # noqa: PLC0415 - slow, and only for charts

    with driver.watcher:
        return asyncio.run(work)


def _answered(driver: Driver, state: State, entries: list[Any]) -> State:
    """Play a script of replies, and drive the run on after each."""
    while state.ask is not None and entries:
        state = running.with_answers(driver.store, state, [entries.pop(0)])
        if state.calls:
            (state,) = _driven(driver, _alone(driver, state))
    return state


async def _alone(driver: Driver, state: State) -> list[State]:
    from quandary.agents.driving import walking  # noqa: PLC0415 - only for charts

    with walking(driver.store, state.run):
        return [await driver.drive(state)]


def _ended(driver: Driver, states: list[State], way: Way, *, several: bool) -> int:
    """Ask here whatever waits for a person, then say where everything stands."""
    if way.via == "terminal":
        states = [_asked(driver, state) for state in states]
    if way.via == "terminal" and sys.stdout.isatty():
        for state in states:
            running.told(state)
    elif several:
        parts = [running.state_bytes(driver.store, state) for state in states]
        put(b'{"runs":[' + b",".join(parts) + b"]}\n")
    else:
        running.shown(driver.store, states[0], proof=way.proof)
    failed = [state for state in states if state.status not in ("done", "waiting")]
    for state in failed if several or way.via != "terminal" else ():
        complain(f"run {state.run} is {state.status}: {state.error or 'nothing came of it'}")
    return 1 if failed else 0


def _asked(driver: Driver, state: State) -> State:
    """A person at this terminal answers what the run asks, and the run goes on."""
    while state.ask is not None:
        before = state
        state = running.ask_once(driver.store, state)
        if state.status == "waiting" and state.key == before.key:
            break  # they left
        if state.calls:
            (state,) = _driven(driver, _alone(driver, state))
    return state


def _defaults(settings: Settings, said: dict[str, Any]) -> Defaults:
    """The command line, then the environment, then the project's file, then the user's."""
    from quandary.flows.planning import Defaults  # noqa: PLC0415 - only for charts

    known = {
        "cli": settings.text("default_cli"),
        "validate_cli": settings.text("default_validate_cli"),
        "retry_cli": settings.text("default_retry_cli"),
        "retries": settings.number("default_retry_count", 3),
        "timeout": float(settings.number("default_timeout", 600)),
        "max_visits": settings.number("max_visits", 25),
        "on_exhausted": settings.text("on_exhausted", "fail"),
        "on_interrupted": settings.text("on_interrupted", "retry"),
    }
    try:
        return msgspec.convert({**known, **said}, Defaults)
    except msgspec.ValidationError as error:
        raise QuandaryError(f"the settings do not fit: {error}") from None
