"""`quandary walk`: run a chart."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource

from quandary.cli import running
from quandary.cli.asking import Way, asking_options
from quandary.cli.screen import put, tell
from quandary.cli.walking import LocalAgents, Session, opened, surroundings
from quandary.desk import begin as desk
from quandary.desk import plans
from quandary.desk.authority import Caller
from quandary.desk.reply import arguments_of
from quandary.errors import QuandaryError
from quandary.formats import items as given
from quandary.journal import runs as driver
from quandary.journal.ids import find_run
from quandary.model.asks import Item
from quandary.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.agents.calling import Surroundings
    from quandary.cli.walking import Work
    from quandary.desk.plans import Plan
    from quandary.journal.entries import Source
    from quandary.journal.store import State, Store

AT_ONCE = 1000
"""The most items that are walked at the same time."""
_ALSO_RESUMED = frozenset(
    {
        *("source", "resumed", "retry_failed", "workdir", "jobs", "via", "answers", "proof"),
        *("where", "fleet", "queue"),
    }
)
"""What can be said of a run that goes on; the rest was said when it began."""


@click.command(
    epilog="Exit status: 0 done or waiting, 1 a run failed or the plan is unsound, 2 wrong usage."
)
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
@click.option("--retries", type=click.IntRange(0, 1000), help="Further attempts at a step.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="How long one call may take.",
)
@click.option("--max-calls", type=click.IntRange(min=0), help="Stop an item after so many calls.")
@click.option("--max-tokens", type=click.IntRange(min=0), help="Stop an item beyond so many.")
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0),
    help="Stop an item when its agents have worked so long.",
)
@click.option("--workdir", metavar="DIR", help="Where agents work; by default here.")
@click.option("--dry-run", is_flag=True, help="Show the plan and every command; spend nothing.")
@click.option(
    "--jobs",
    type=click.IntRange(1, AT_ONCE),
    default=1,
    show_default=True,
    help="How many items at the same time.",
)
@click.option("--fleet", is_flag=True, help="Put it into the queue; workers go on with it.")
@click.option(
    "--queue", metavar="NAME", help="With --fleet: the queue; by default that of its first agent."
)
@click.option(
    "--resume",
    "resumed",
    multiple=True,
    metavar="RUN",
    help="Go on with a run that was interrupted, or that somebody has answered.",
)
@click.option(
    "--retry-failed", is_flag=True, help="With --resume: try a failed run anew where it failed."
)
@asking_options
def walk(
    source: str | None,
    item_texts: tuple[str, ...],
    items_file: str | None,
    page: str,
    workdir: str | None,
    dry_run: bool,
    jobs: int,
    fleet: bool,
    queue: str | None,
    resumed: tuple[str, ...],
    retry_failed: bool,
    way: Way,
    **wanted: Any,  # noqa: ANN401 - as the options above read them
) -> int:
    """Run the chart that SOURCE names: agents do its steps, others check them, people are asked.

    SOURCE is a Lucid export (`file.csv`, `file.json`), a Mermaid flowchart (`file.mmd`) or a tree.
    Every item is a run of its own. What was paid for is kept: after a crash, `--resume RUN` goes on
    and makes no recorded call again.
    """
    _require_together(source, resumed, fleet, queue, retry_failed)
    if fleet:
        way = _elsewhere(way)
    if way.via == "terminal" and not dry_run:
        running.require_terminal()
    agents = LocalAgents(read_settings())
    if source is None:
        _require_nothing_new()
        if fleet:
            return _queue_again(way, resumed, queue, retry_failed)
        again = _source() if retry_failed else None
        return _resume(way, resumed, jobs, agents, workdir or "", again)
    if [source, items_file, way.answers].count("-") > 1:
        raise click.UsageError("only one thing can be read from standard input")
    items = _items(item_texts, items_file, way)
    prepared = plans.prepare_walk(
        source, agents, items=items, page=page, workdir=workdir or "", said=wanted, here=not fleet
    )
    plan = prepared.plan
    if dry_run:
        return _show_plan(plan)
    for warning in plan.warnings:
        tell(warning)
    plan.require_sound()
    further: dict[str, Any] = {"person": fleet or _somebody_near(way)}
    several = len(items) > 1 or items_file is not None
    if fleet:
        from quandary.cli import queueing  # noqa: PLC0415 - only where there are workers

        store = queueing.opened(way)
        further["fleet"] = queue or queueing.main_agent(plan.steps)
        begin = _beginner(store, prepared, further, way, through=queueing.THROUGH)
        told = {"fleet": further["fleet"], "via": way.via, "host": way.host}
        return queueing.begun(store, further["fleet"], begin, items, told=told, several=several)
    store = opened(way)
    around = surroundings(prepared.folder, agents.settings)
    agents.require_logins(list(plan.commands), prepared.folder)
    session = Session(store, agents, around, way, len(items))
    begin = _beginner(store, prepared, further, way)
    work: list[Work] = [partial(session.driver.begin, partial(begin, item)) for item in items]
    states = session.go(work, jobs)
    return session.end(states, several=several)


def _show_plan(plan: Plan) -> int:
    """Print a plan: for people on a terminal, as JSON elsewhere."""
    put(plan.text() if sys.stdout.isatty() else msgspec.json.encode(plan.data()) + b"\n")
    for line in (*plan.errors, *plan.warnings):
        tell(line)
    return 1 if plan.errors else 0


def _require_together(
    source: str | None,
    resumed: tuple[str, ...],
    fleet: bool,
    queue: str | None,
    retry_failed: bool,
) -> None:
    if (source is None) == (not resumed):
        raise click.UsageError("name a SOURCE, or a run with --resume")
    if retry_failed and not resumed:
        raise click.UsageError("--retry-failed goes with --resume RUN")
    if queue is not None and not fleet:
        raise click.UsageError("--queue goes with --fleet")


def _items(texts: tuple[str, ...], file: str | None, way: Way) -> list[Item]:
    """What the chart is walked for, each with the pairs of --set among its fields."""
    items = given.from_options(texts) + (given.from_file(file, bare=True) if file else [])
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise QuandaryError(f"two items have the id {item.id}; each needs its own")
        seen.add(item.id)
    values = way.values
    return [
        msgspec.structs.replace(item, fields={**values, **item.fields})
        for item in items or [Item("1")]
    ]


def _somebody_near(way: Way) -> bool:
    """Whether a person is at hand: at a terminal, or behind whoever said how to ask them."""
    context = click.get_current_context()
    said = context.get_parameter_source("via") is ParameterSource.COMMANDLINE
    return said or bool(way.answers) or not running.is_pipe()


def _beginner(
    store: Store, walk: plans.Walk, further: dict[str, Any], way: Way, through: str = "command"
) -> Callable[[Item], State]:
    """Begins a run for an item, just before there is room for its first call."""
    caller = Caller("api" if way.answers else "agent", through)

    def begin(item: Item) -> State:
        beginning = walk.beginning(item, way.showing, **further)
        expires, origin = way.expires or "", way.origin or ""
        return desk.begin(store, caller, beginning, way.showing, expires=expires, origin=origin)

    return begin


# -- runs that workers go on with ------------------------------------------------------------------


def _elsewhere(way: Way) -> Way:
    """How runs are asked that nobody drives here."""
    from quandary.cli import queueing  # noqa: PLC0415 - only where there are workers

    queueing.require_fitting(way)
    return way._replace(via="relay") if way.via == "terminal" else way


def _queue_again(way: Way, named: tuple[str, ...], queue: str | None, retry_failed: bool) -> int:
    from quandary.cli import queueing  # noqa: PLC0415 - only where there are workers

    again = _source() if retry_failed else None
    return queueing.put_back(queueing.opened(way, existing=True), named, queue, again)


# -- runs that go on -------------------------------------------------------------------------------


def _require_nothing_new() -> None:
    """Refuse, beside --resume, what was said when the run began and holds until it is over."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        said = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if said and name not in _ALSO_RESUMED:
            raise click.UsageError(
                f"{parameter.opts[0]} does not go with --resume: a run goes on as it was begun"
            )


def _resume(
    way: Way,
    named: tuple[str, ...],
    jobs: int,
    agents: LocalAgents,
    workdir: str,
    again: Source | None,
) -> int:
    """Resume runs as they were begun; agents come from the settings of today."""
    folder = plans.work_folder(workdir) if workdir else ""
    store = opened(way, existing=True)
    runs = list(dict.fromkeys(find_run(store, name) for name in named))
    places: dict[str, Surroundings] = {}
    for run in runs:
        row = store.run(run)
        if row is None or row.flow != "walk":
            raise QuandaryError(f"run {run} is no walk; resume it with: quandary next {run}")
        began = str(arguments_of(store, run).get("workdir") or os.curdir)
        places[run] = surroundings(folder or plans.work_folder(began), agents.settings)
    session = Session(store, agents, places[runs[0]], way, len(runs))
    alive = ("waiting", "failed") if again is not None else ("waiting",)
    names = [
        agent
        for run, around in places.items()
        if driver.look(store, run).status in alive
        for agent in plans.commands_of(store, run, agents, around.folder)
    ]
    agents.require_logins(list(dict.fromkeys(names)), places[runs[0]].folder)
    driver = session.driver
    work: list[Work] = [partial(driver.drive, run, around, again) for run, around in places.items()]
    states = session.go(work, jobs)
    if again is None and any(state.status == "failed" for state in states):
        tell("A failed run is tried anew where it failed with --retry-failed.")
    return session.end(states, several=len(runs) > 1)


def _source() -> Source:
    """As whose word it is kept that a run is tried anew."""
    from quandary.journal.entries import Source  # noqa: PLC0415 - few runs fail

    return Source(**running.caller().source)
