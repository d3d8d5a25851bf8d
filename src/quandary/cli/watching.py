"""Progress while charts are walked: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

from quandary.agents.driving import Watcher
from quandary.cli.screen import tell
from quandary.flows.steps import tokens_of
from quandary.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.journal.store import State, Store
    from quandary.model.calls import Call, Output
    from quandary.settings import Settings

ROWS = 12
"""How many items the table shows at once."""
LONGEST = 200
"""Characters of a line about something that went wrong."""
WALKING = "walking"
PAUSE = 0.02
"""Seconds between something that happens and the log of it."""


class Row:
    """One run as it goes."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.step = ""
        self.agents = ""
        self.attempt = 1
        self.calls = 0
        self.tokens = 0
        self.begun = time.monotonic()
        self.seconds = 0.0
        self.status = WALKING

    @property
    def taken(self) -> float:
        """Seconds, without those in which it waited for a person."""
        going = time.monotonic() - self.begun if self.status == WALKING else 0.0
        return self.seconds + going

    def go(self) -> None:
        """It is walked, for the first time or again."""
        if self.status != WALKING:
            self.status, self.begun = WALKING, time.monotonic()

    def stand(self, status: str) -> None:
        """It waits for a person, or is over."""
        self.seconds, self.status = self.taken, status


class Lines(Watcher):
    """What happens, one line for each thing, on standard error."""

    def __init__(self, items: int, scribe: Scribe) -> None:
        self.items = items
        self.scribe = scribe
        self.rows: dict[str, Row] = {}

    def __exit__(self, *error: object) -> None:
        self.scribe.finish()

    @property
    def ended(self) -> int:
        """How many items wait for a person or are over."""
        return sum(row.status != WALKING for row in self.rows.values())

    def calls(self, run: str, calls: tuple[Call, ...]) -> None:
        """These calls are about to be made."""
        row = self._row(run)
        row.go()
        row.step = calls[0].about or calls[0].key
        row.attempt = calls[0].assignment.attempt if calls[0].assignment else 1
        row.agents = ", ".join(dict.fromkeys(call.agent for call in calls))
        for call in calls:
            self._say(run, f"{call.key}  {call.agent}  {call.about}".rstrip())
        self.scribe.note(run)

    def came(self, run: str, output: Output) -> None:
        """One of them is done."""
        row = self._row(run)
        row.calls += 1
        row.tokens += tokens_of(output)
        what = output.error or output.problem
        outcome = f"not usable: {what}" if what else f"done in {output.seconds:.1f} s"
        self._say(run, f"{output.key}  {outcome}")
        self.scribe.note(run)

    def stands(self, state: State) -> None:
        """A run waits for a person, or is over."""
        self._row(state.run).stand(state.status)
        waits = "waiting for a person" if state.ask is not None else state.status
        self._say(state.run, f"{waits}  ({self.ended} of {self.items})")
        self.scribe.note(state.run)

    def _row(self, run: str) -> Row:
        return self.rows.setdefault(run, Row(run))

    def _say(self, run: str, what: str) -> None:
        line = " ".join(printable(what).split())
        tell(f"{run[-6:]}  {line if len(line) <= LONGEST else line[: LONGEST - 1] + '…'}")


class Table(Lines):
    """The same as a table that changes in place, with a bar for the whole."""

    def __init__(self, items: int, scribe: Scribe) -> None:
        super().__init__(items, scribe)
        self.live: Any = None
        self.told: dict[str, str] = {}

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
            if self.told.get(row.run) != row.status:
                self.told[row.run] = row.status
                spent = f"{row.calls} calls, {row.tokens} tokens, {row.taken:.1f} s"
                tell(f"{row.run}  {row.status}  {spent}")

    def grid(self) -> Any:  # noqa: ANN401 - something that rich can draw
        """The table as it is now; drawn by a thread of its own, so that the time goes on."""
        from rich.progress_bar import ProgressBar  # noqa: PLC0415 - only on a terminal
        from rich.table import Table as Grid  # noqa: PLC0415 - the same
        from rich.text import Text  # noqa: PLC0415 - the same

        grid = Grid.grid(padding=(0, 2))
        walking = [row for row in list(self.rows.values()) if row.status == WALKING]
        for row in walking[-ROWS:]:
            cells = (
                row.run[-6:],
                row.step,
                row.agents,
                f"attempt {row.attempt}",
                f"{row.calls} calls",
                f"{row.tokens} tokens",
                f"{row.taken:.0f} s",
            )
            grid.add_row(*(Text(printable(cell), no_wrap=True) for cell in cells))
        bar = ProgressBar(total=max(self.items, 1), completed=self.ended, width=30)
        grid.add_row(Text(f"{self.ended}/{self.items}"), bar)
        return grid

    def _say(self, run: str, what: str) -> None:
        """The table says it."""


def watcher(store: Store, settings: Settings, items: int) -> Lines:
    """Whatever fits to where it is shown."""
    from quandary.reports.logs import Logs  # noqa: PLC0415 - only for charts

    fitting = Table if sys.stderr.isatty() and find_spec("rich") else Lines
    return fitting(items, Scribe(Logs(store, settings, tell).write))


class Scribe:
    """Writes the logs in a thread of its own, since no agent should wait for them.

    The journal has everything and a run costs money, so nothing about logs stops one.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._broken = False

    def note(self, run: str) -> None:
        """Something happened to a run."""
        if self._broken:
            return
        if self._thread is None:
            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()
        self._waiting.put(run)

    def finish(self) -> None:
        """Wait until all of it is written."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while True:
            noted = {self._waiting.get(): None}
            if None not in noted:
                # By then the next program has been started, and there is more to write at once.
                time.sleep(PAUSE)
            while not self._waiting.empty():
                noted[self._waiting.get()] = None
            for run in noted:
                if run is not None:
                    self._try(run)
            if None in noted:
                return

    def _try(self, run: str) -> None:
        try:
            if not self._broken:
                self._write(run)
        except Exception as error:  # noqa: BLE001 - see above
            self._broken = True
            tell(f"no more logs are written ({type(error).__name__}: {error}); the runs go on")
