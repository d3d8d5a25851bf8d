"""`quandary walk` and `quandary report`: a chart run, watched on the way, and told afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

import click
import msgspec
from click.core import ParameterSource

from quandary import reports
from quandary.agents import Driver, Watcher
from quandary.agents.calling import Surroundings, logged_out, obstacles
from quandary.agents.process import drive
from quandary.cli import complain, console, is_terminal, put, tell, write_to
from quandary.cli.asking import Way, asking_options, begin_run, item_options
from quandary.cli.program import store_option
from quandary.desk import plans
from quandary.desk.reply import arguments_of, play_script
from quandary.desk.state import encode_state, end_what_expired, hand_over
from quandary.errors import QuandaryError, Rejected
from quandary.fleet import ANY, THROUGH, Fleet, not_shared
from quandary.flows.steps import tokens_of
from quandary.flows.walk import name_item
from quandary.formats import sources
from quandary.journal import place_of
from quandary.journal import runs as driver
from quandary.journal.archive import find
from quandary.journal.entries import Source
from quandary.model.asks import Item
from quandary.model.calls import Call, Output, Process, Validation, is_human
from quandary.model.text import one_line, printable, shorten
from quandary.reports import html
from quandary.reports.logs import Logs
from quandary.reports.retelling import retell
from quandary.settings import Settings, read_settings
from quandary.settings.agents import Agent, read_catalogue

if TYPE_CHECKING:
    from quandary.flows.walk import Planned
    from quandary.journal.store import State, Store

    Work = Callable[[], Awaitable[State]]
    """What drives one run, when there is room for it."""

ROWS = 12  # the most items that the table shows at once
LONGEST = 200  # characters of a line about something that went wrong
LONGEST_ITEM = 40
SHOWN = 20  # the most runs that are named when they were interrupted
WALKING = "walking"
_ALSO_RESUMED = {
    *("source", "resumed", "retry_failed", "workdir", "jobs", "via", "answers", "proof"),
    *("where", "fleet", "queue"),
}
"""What can be said of a run that is resumed; the rest was said when it began."""
_NOT_FOR_WORKERS = {
    "jobs": "workers say with --concurrency how many runs they take on",
    "answers": "nobody is asked here",
    "proof": "nothing is decided here",
    "allow_changes": "the settings of the workers say what their agents may change",
}
"""What does not go with --fleet, and why."""


class Row:
    """One run as it goes."""

    def __init__(self, run: str, item: str) -> None:
        self.run = run
        self.item = shorten(" ".join(item.split()), LONGEST_ITEM)
        self.step = self.agents = ""
        self.attempt = 1
        self.calls = self.tokens = 0
        self.begun = time.monotonic()
        self.seconds = 0.0
        self.status = WALKING
        self.told = ""  # the status that was told last

    @property
    def taken(self) -> float:
        """Seconds, without those in which it waited for a person."""
        going = time.monotonic() - self.begun if self.status == WALKING else 0.0
        return self.seconds + going


class Lines(Watcher):
    """What happens, one line for each thing, on standard error."""

    def __init__(self, items: int, logs: Logs) -> None:
        self.items = items
        self.logs = logs
        self.rows: dict[str, Row] = {}

    def __exit__(self, *error: object) -> None:
        self.logs.finish()

    @property
    def ended(self) -> int:
        """How many items wait for a person or are over."""
        return sum(row.status != WALKING for row in self.rows.values())

    def calls(self, run: str, calls: tuple[Call, ...]) -> None:
        row = self._row(run)
        if row.status != WALKING:
            row.status, row.begun = WALKING, time.monotonic()
        row.step = calls[0].about or calls[0].key
        row.attempt = calls[0].assignment.attempt if calls[0].assignment else 1
        row.agents = ", ".join(dict.fromkeys(call.agent for call in calls))
        for call in calls:
            self._say(run, f"{call.key}  {call.agent}  {call.about}".rstrip())

    def came(self, run: str, output: Output) -> None:
        row = self._row(run)
        row.calls += output.stopped is None
        row.tokens += tokens_of(output)
        what = output.error or output.problem
        done = f"stopped for {output.stopped.tool} after" if output.stopped else "done in"
        match output.meaning:
            case Process(completed=False):
                done = "not completed after"
            case Validation(fully_completed=False):
                done = "not passed after"
        outcome = f"not usable: {what}" if what else f"{done} {output.seconds:.1f} s"
        self._say(run, f"{output.key}  {outcome}")

    def stands(self, state: State) -> None:
        row = self._row(state.run)
        row.seconds, row.status = row.taken, state.status
        waits = "waiting for a person" if state.ask is not None else state.status
        self._say(state.run, f"{waits}  ({self.ended} of {self.items})")

    def _row(self, run: str) -> Row:
        self.logs.note(run)
        if run not in self.rows:
            given = arguments_of(self.logs.store, run).get("item")
            self.rows[run] = Row(run, name_item(msgspec.convert(given, Item)) if given else "")
        return self.rows[run]

    def _say(self, run: str, what: str) -> None:
        item = self.rows[run].item
        line = one_line(f"{item}: {what}" if item else what)
        tell(f"{run[-6:]}  {shorten(line, LONGEST)}")


class Table(Lines):
    """The same as a table that changes in place, with a bar for the whole."""

    def __enter__(self) -> Self:
        from rich.console import Console  # noqa: PLC0415 - only on a terminal
        from rich.live import Live  # noqa: PLC0415 - the same

        self.live = Live(
            get_renderable=self.grid,
            console=Console(stderr=True),
            refresh_per_second=4,
            transient=True,
        )
        self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self.live.stop()
        super().__exit__(*error)
        for row in self.rows.values():
            if row.told != row.status:
                row.told = row.status
                spent = f"{row.calls} calls, {row.tokens} tokens, {row.taken:.1f} s"
                tell("  ".join(filter(None, (row.run, printable(row.item), row.status, spent))))

    def grid(self) -> Any:  # noqa: ANN401 - something that rich can draw
        """The table as it is now; drawn by a thread of its own, so that the time goes on."""
        from rich.progress_bar import ProgressBar  # noqa: PLC0415 - only on a terminal
        from rich.table import Table as Grid  # noqa: PLC0415 - the same
        from rich.text import Text  # noqa: PLC0415 - the same

        grid = Grid.grid(padding=(0, 2))
        for row in [row for row in list(self.rows.values()) if row.status == WALKING][-ROWS:]:
            spent = (f"{row.calls} calls", f"{row.tokens} tokens", f"{row.taken:.0f} s")
            cells = (row.run[-6:], row.item, row.step, row.agents, f"attempt {row.attempt}", *spent)
            grid.add_row(*(Text(printable(cell), no_wrap=True) for cell in cells))
        bar = ProgressBar(total=max(self.items, 1), completed=self.ended, width=30)
        grid.add_row(Text(f"{self.ended}/{self.items}"), bar)
        return grid

    def _say(self, run: str, what: str) -> None:
        """The table says it."""


def watcher(store: Store, items: int) -> Lines:
    """Whatever fits to where it is shown."""
    fitting = Table if sys.stderr.isatty() and find_spec("rich") else Lines
    return fitting(items, Logs(store, tell))


class LocalAgents:
    """The programs that a walk calls, as this machine has them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalogue = read_catalogue(settings.table("agents"))

    def obstacles(self, agent: Agent, folder: str) -> list[str]:
        """Why an agent cannot be called there, as far as can be seen without running anything."""
        return obstacles(agent, surroundings(folder, self.settings))

    def require_logins(self, names: Iterable[str], folder: str) -> None:
        """Refuse agents that would not get past their login, before anything is spent."""
        known = [self.catalogue.find(name) for name in names]
        around = surroundings(folder, self.settings)

        async def ask() -> list[str]:
            return await asyncio.gather(*(logged_out(agent, around) for agent in known))

        if missing := [problem for problem in drive(ask()) if problem]:
            raise Rejected("; ".join(missing))


def surroundings(folder: str, settings: Settings) -> Surroundings:
    """Where agents work, and with what."""
    return Surroundings(folder, os.environ, plans.usual_timeout(settings))


class Session:
    """Some runs that are driven together by one command."""

    def __init__(
        self, store: Store, agents: LocalAgents, around: Surroundings, way: Way, items: int
    ) -> None:
        self.store = store
        self.way = way
        self.items = items
        self.script = console.read_script(way.answers) if way.answers else []
        self.unplayed: dict[str, list[Any]] = {}
        self.left: dict[str, bool] = {}  # whether what came last to a run was no answer
        watching = watcher(store, items)
        self.logs = watching.logs
        driver.log_walks(store, lambda *_: None)  # these are written here
        self.driver = Driver(store, agents.catalogue, around, watching, self._from_script)

    def _from_script(self, state: State) -> State | None:
        """The next reply of the script, recorded; every run is played the whole of it."""
        if not (rest := self.unplayed.setdefault(state.run, [*self.script])):
            return None
        state, missed = play_script(self.store, state, [rest.pop(0)])
        self.left[state.run] = missed is not None
        return state

    def go(self, work: Sequence[Work], jobs: int) -> list[State]:
        """Drive runs, with the progress shown; Ctrl-C ends their programs, and then the command."""
        with self.driver.watcher:
            try:
                return drive(self.driver.all(work, jobs))
            except (KeyboardInterrupt, QuandaryError):
                runs = list(self.driver.under_way)
                for run in runs[:SHOWN]:
                    tell(f"Resume with: quandary walk --resume {run}")
                more, left = len(runs) - SHOWN, self.items - self.driver.taken_up
                if more > 0:
                    tell(f"and {more} more; `quandary runs --status waiting` lists them")
                if left > 0:
                    tell(f"{left} of {self.items} items were not begun")
                raise

    def end(self, states: list[State], *, several: bool) -> int:
        """Ask here whatever waits for a person, then say where everything stands."""
        here = self.way.via == "terminal"
        if here:
            states = [self._ask(state) for state in states]
        if here and sys.stdout.isatty():
            for state in states:
                console.show_outcome(state)
            failed = any(state.status not in ("done", "waiting") for state in states)
        elif self.way.proof and not several and states[0].status == "done":
            failed = bool(console.show(self.store, states[0], proof=True))
        else:
            failed = bool(show_states(self.store, states, several=several))
        return 1 if failed or any(self.left.values()) else 0

    def _ask(self, state: State) -> State:
        """A person at this terminal answers what the run asks, and the run is driven on."""
        while state.ask is not None:
            before, state = state, console.ask_once(self.store, state)
            if state.status == "waiting" and state.key == before.key:
                self.left[state.run] = True
                break
            if state.calls:
                (state,) = self.go([partial(self.driver.drive, state.run)], 1)
        self.logs.note(state.run)
        self.logs.finish()
        return state


def _require_finite(_: object, __: object, seconds: float | None) -> float | None:
    if seconds is not None and not isfinite(seconds):
        raise click.BadParameter(f"{seconds} is no number of seconds, such as 600.")
    return seconds


def show_states(
    store: Store, states: Sequence[State], asked: dict[str, Any] | None = None, *, several: bool
) -> int:
    """Print where runs stand, complain of those that failed, and give the exit status."""
    states = [hand_over(store, console.ASKER, state) for state in states]
    parts = [encode_state(store, state, asked) for state in states]
    put(b'{"runs":[' + b",".join(parts) + b"]}\n" if several else parts[0] + b"\n")
    failed = [state for state in states if state.status not in ("done", "waiting")]
    for state in failed:
        complain(f"run {state.run} is {state.status}: {state.error or 'it was ended'}")
    return 1 if failed else 0


@click.command(
    epilog="Exit status: 0 done or waiting, 1 a run failed or the plan is unsound, 2 wrong usage."
)
@click.argument("source", required=False)
@item_options(
    "What to walk it for; its fields fill {{slots}} in prompts.",
    "JSON list, JSON lines or CSV of items.",
)
@click.option("--page", default="", metavar="NAME", help="The page of the chart to begin on.")
@click.option("--cli", metavar="CODENAME", help="The agent where the chart names none.")
@click.option("--validate-cli", metavar="CODENAME", help="The agent that checks the others.")
@click.option("--retry-cli", metavar="CODENAME", help="The agent for further attempts.")
@click.option("--retries", type=click.IntRange(0, 1000), help="Further attempts at a step.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    callback=_require_finite,
    metavar="SECONDS",
    help="How long one call may take; 0 is as long as the settings say.",
)
@click.option(
    "--allow-changes",
    is_flag=True,
    help="Let agents change files and run commands, all but those that check the others.",
)
@click.option("--max-calls", type=click.IntRange(min=0), help="Stop an item after so many calls.")
@click.option("--max-tokens", type=click.IntRange(min=0), help="Stop an item after so many tokens.")
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0),
    callback=_require_finite,
    help="Stop an item when its agents have worked so long.",
)
@click.option("--workdir", metavar="DIR", help="Where agents work; by default here.")
@click.option("--dry-run", is_flag=True, help="Show the plan and every command; spend nothing.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="The number of items at the same time.",
)
@click.option("--fleet", is_flag=True, help="Queue it for workers, instead of running it here.")
@click.option(
    "--queue", metavar="NAME", help="With --fleet: the queue; by default that of its first agent."
)
@click.option(
    "--resume",
    "resumed",
    multiple=True,
    metavar="RUN",
    help="Resume a run that was interrupted, or that somebody has answered.",
)
@click.option(
    "--retry-failed", is_flag=True, help="With --resume: retry a failed run where it failed."
)
@asking_options
def walk_command(
    source: str | None,
    texts: tuple[str, ...],
    file: str | None,
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
    Every item is a run of its own. What was paid for is kept: after a crash, `--resume RUN` repeats
    no recorded call.
    """
    wrong = {
        "name a SOURCE, or a run with --resume": (source is None) == (not resumed),
        "--retry-failed goes with --resume RUN": retry_failed and not resumed,
        "--queue goes with --fleet": queue is not None and not fleet,
    }
    for message, applies in wrong.items():
        if applies:
            raise click.UsageError(message)
    if fleet:
        way = _for_workers(way)
    if way.via == "terminal" and not dry_run:
        console.require_terminal()
    agents = LocalAgents(read_settings())
    if source is None:
        _require_nothing_new()
        again = Source(**console.caller().source) if retry_failed else None
        if fleet:
            return _queue_again(way, resumed, queue, again)
        return _resume(way, resumed, jobs, agents, workdir or "", again)
    if [source, file, way.answers].count("-") > 1:
        raise click.UsageError("only one thing can be read from standard input")
    items = _items(texts, file, way)
    prepared = plans.prepare_walk(
        source, agents, items=items, page=page, workdir=workdir or "", said=wanted, here=not fleet
    )
    plan = prepared.plan
    if dry_run:
        put(plan.text() if sys.stdout.isatty() else msgspec.json.encode(plan.data()) + b"\n")
        for line in (*plan.errors, *plan.warnings):
            tell(line)
        return 1 if plan.errors else 0
    for warning in plan.warnings:
        tell(warning)
    plan.require_sound()
    several = len(items) > 1 or file is not None
    if fleet:
        return _queue(prepared, items, queue or main_agent(plan.steps), way, several=several)
    store = _open_store(way)
    agents.require_logins(plan.commands, prepared.folder)
    around = surroundings(prepared.folder, agents.settings)
    session = Session(store, agents, around, way, len(items))
    # A person is at hand at a terminal, or behind whoever said how to ask them.
    near = _is_given("via") or bool(way.answers) or is_terminal() or sys.stderr.isatty()
    begin = partial(_begin, store, prepared, way, "command", person=near)
    work: list[Work] = [partial(session.driver.begin, partial(begin, item)) for item in items]
    return session.end(session.go(work, jobs), several=several)


def _is_given(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _items(texts: tuple[str, ...], file: str | None, way: Way) -> list[Item]:
    """What the chart is walked for, each with the pairs of --set among its fields."""
    items = sources.from_options(texts) + (sources.from_file(file, bare=True) if file else [])
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise QuandaryError(f"two items have the id {item.id}; each needs its own")
        seen.add(item.id)
    items = items or [Item("1")]
    return [msgspec.structs.replace(one, fields={**way.values, **one.fields}) for one in items]


def _open_store(way: Way, *, existing: bool = False) -> Store:
    """The store; whoever asks right here, or plays a script, needs nobody told of a question."""
    telling = way.via != "terminal" and not way.answers
    return console.open_journal(way.where, existing=existing, notify=telling)


def _begin(
    store: Store, walk: plans.Walk, way: Way, through: str, item: Item, **further: object
) -> State:
    """Begin a run for an item, just before there is room for its first call."""
    beginning = walk.beginning(item, way.showing, require=way.require or "", **further)
    return begin_run(store, way, beginning, through)


def _for_workers(way: Way) -> Way:
    """How runs are asked that nobody drives here; what was said for such a walk is refused."""
    for name, why in _NOT_FOR_WORKERS.items():
        if _is_given(name):
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --fleet: {why}")
    if way.via == "terminal" and _is_given("via"):
        raise click.UsageError("--via terminal does not go with --fleet: nobody is asked here")
    place = place_of(way.where)
    if "://" not in place:
        raise not_shared(place)
    return way._replace(via="relay") if way.via == "terminal" else way


def main_agent(steps: Iterable[Planned]) -> str:
    """After whom the queue of a chart is named: the agent that is asked first."""
    asked = (agent for step in steps for agent in step.agents)
    return next((agent for agent in asked if agent and not is_human(agent)), ANY)


def _queue(walk: plans.Walk, items: Sequence[Item], name: str, way: Way, *, several: bool) -> int:
    """Begin a run for each item, in the queue of that name, and say where they stand."""
    store = console.open_journal(way.where)
    begin = partial(_begin, store, walk, way, THROUGH, person=True, fleet=name)
    fleet = Fleet(store, name)
    fleet.take_new_runs()
    states: list[State] = []
    try:
        for item in items:
            states.append(begin(item))  # noqa: PERF401 - those before an error have begun
    except (KeyboardInterrupt, QuandaryError):
        tell(f"{len(states)} of {len(items)} items are in the queue {fleet.queue.name}")
        raise
    tell(f"{len(states)} in the queue {fleet.queue.name}; `quandary runs` shows their progress")
    asked = {"fleet": name, "via": way.via, "host": way.host}
    return show_states(store, states, asked, several=several)


def _queue_again(way: Way, named: Iterable[str], queue: str | None, again: Source | None) -> int:
    """Queue runs that were begun before; with `again`, failed ones are retried."""
    store = console.open_journal(way.where, existing=True)
    states: list[State] = []
    for run in _walks(store, named):
        Fleet(store, queue or main_agent(plans.steps_of(store, run))).add(run)
        state = driver.look(store, run)
        if again is not None and state.status == "failed":
            state = driver.retry(store, run, **again._asdict())
        states.append(state)
    return show_states(store, states, several=len(states) > 1)


def _require_nothing_new() -> None:
    """Refuse, beside --resume, what was said when the run began and holds until it is over."""
    for parameter in click.get_current_context().command.params:
        name = str(parameter.name)
        if _is_given(name) and name not in _ALSO_RESUMED:
            raise click.UsageError(
                f"{parameter.opts[0]} does not go with --resume: a run keeps what it was begun with"
            )


def _walks(store: Store, named: Iterable[str]) -> list[str]:
    """The runs of these names, each once; others than walks are refused."""
    runs = list(dict.fromkeys(driver.find_run(store, name) for name in named))
    for run in runs:
        row = store.run(run)
        if row is None or row.flow != "walk":
            raise QuandaryError(f"run {run} is not a walk; resume it with: quandary next {run}")
    return runs


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
    store = _open_store(way, existing=True)
    places: dict[str, Surroundings] = {}
    for run in _walks(store, named):
        began = str(arguments_of(store, run).get("workdir") or os.curdir)
        places[run] = surroundings(folder or plans.work_folder(began), agents.settings)
    alive = ("waiting", "failed") if again is not None else ("waiting",)
    names: dict[str, list[str]] = {}
    for run, around in places.items():
        if driver.look(store, run).status in alive:
            names |= plans.commands_of(store, run, agents, around.folder)
    first = next(iter(places.values()))
    agents.require_logins(names, first.folder)
    session = Session(store, agents, first, way, len(places))
    go_on = session.driver.drive
    states = session.go([partial(go_on, run, place, again) for run, place in places.items()], jobs)
    if again is None and any(state.status == "failed" for state in states):
        tell("--retry-failed retries a failed run where it failed.")
    return session.end(states, several=len(places) > 1)


@click.command(epilog="Exit status: 0 reported, whatever became of the run; 2 no such walk.")
@click.argument("run")
@click.option("--format", "form", type=click.Choice(["text", "json", "html"]), default="text")
@click.option("--output", metavar="FILE", help="Write it there; - is standard output.")
@store_option
def report_command(run: str, form: str, output: str | None, where: str | None) -> int:
    """Show what happened to RUN, which `quandary walk` began.

    The chart with the route that was taken, and each step with its prompt, output, validation,
    attempts, time and tokens. With --format html it is one file that opens in any browser, offline.
    A run can be reported while it is under way. Runs of other commands have `quandary log RUN`.
    """
    if form == "html" and output is None and sys.stdout.isatty():
        remedy = "add --output report.html, or send it into a file"
        raise QuandaryError(f"a terminal cannot show HTML; {remedy}")
    store = console.open_journal(where, existing=True)
    end_what_expired(store)
    found = find(store, run)
    told = retell(*found, imported=found[0] is not store)
    if form == "json":
        write_to(output, msgspec.json.encode(told.story) + b"\n")
    elif form == "html" or output not in (None, "-"):
        write_to(output, (html if form == "html" else reports).report(told).encode())
    else:
        put(reports.report(told))  # as the terminal's encoding can have it
    return 0
