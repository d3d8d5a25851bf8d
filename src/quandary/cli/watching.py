"""Progress while charts are walked: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from quandary.cli.screen import tell
from quandary.formats.visible import printable

if TYPE_CHECKING:
    from quandary.journal.store import State, Store
    from quandary.model.call import Call, Output
    from quandary.settings import Settings

ROWS = 12
"""How many items the table shows at once."""


class Row:
    """One run as it goes."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.what = ""
        self.calls = 0
        self.tokens = 0
        self.begun = time.monotonic()
        self.status = "walking"


class Lines:
    """What happens, one line for each thing, on standard error."""

    def __init__(self, store: Store, settings: Settings, items: int) -> None:
        self.items = items
        self.rows: dict[str, Row] = {}
        self.ended = 0
        self.logs = _logs(store, settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def calls(self, run: str, calls: tuple[Call, ...]) -> None:
        """These calls are about to be made."""
        row = self._row(run)
        row.what = calls[0].key
        for call in calls:
            self._say(f"{run[-6:]}  {call.key}  {call.agent}")
        self._changed(run)

    def came(self, run: str, output: Output) -> None:
        """One of them is done."""
        row = self._row(run)
        row.calls += 1
        row.tokens += output.tokens or 0
        what = output.error or output.problem
        outcome = f"not usable: {what}" if what else f"done in {output.seconds:.1f} s"
        self._say(f"{run[-6:]}  {output.key}  {' '.join(printable(outcome).split())[:200]}")
        self._changed(run)

    def stands(self, state: State) -> None:
        """A run waits for a person, or is over."""
        row = self._row(state.run)
        row.status = state.status
        self.ended += 1
        self._say(f"{state.run[-6:]}  {state.status}  ({self.ended} of {self.items})")
        self._changed(state.run)

    def _row(self, run: str) -> Row:
        return self.rows.setdefault(run, Row(run))

    def _say(self, line: str) -> None:
        tell(line)

    def _changed(self, run: str) -> None:
        self.logs(run)


class Table(Lines):
    """The same as a table that changes in place, with a bar for the whole."""

    def __init__(self, store: Store, settings: Settings, items: int) -> None:
        super().__init__(store, settings, items)
        self.live: Any = None

    def __enter__(self) -> Self:
        from rich.console import Console  # noqa: PLC0415 - only on a terminal
        from rich.live import Live  # noqa: PLC0415 - the same

        self.live = Live(console=Console(stderr=True), refresh_per_second=8, transient=True)
        self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self.live.stop()
        for row in self.rows.values():
            spent = f"{row.calls} calls, {row.tokens} tokens"
            tell(f"{row.run}  {row.status}  {spent}, {time.monotonic() - row.begun:.1f} s")

    def _say(self, line: str) -> None:
        """The table says it."""

    def _changed(self, run: str) -> None:
        super()._changed(run)
        from rich.progress_bar import ProgressBar  # noqa: PLC0415 - only on a terminal
        from rich.table import Table as Grid  # noqa: PLC0415 - the same
        from rich.text import Text  # noqa: PLC0415 - the same

        grid = Grid.grid(padding=(0, 2))
        walking = [row for row in self.rows.values() if row.status == "walking"]
        for row in walking[-ROWS:]:
            seconds = f"{time.monotonic() - row.begun:.0f} s"
            cells = (row.run[-6:], row.what, f"{row.calls} calls", f"{row.tokens} tokens", seconds)
            grid.add_row(*(Text(printable(cell)) for cell in cells))
        grid.add_row(
            Text(f"{self.ended}/{self.items}"),
            ProgressBar(total=max(self.items, 1), completed=self.ended, width=30),
        )
        self.live.update(grid)


def watcher(store: Store, settings: Settings, items: int) -> Lines:
    """Whatever fits to where it is shown."""
    fitting = Table if sys.stderr.isatty() and find_spec("rich") else Lines
    return fitting(store, settings, items)


def _logs(store: Store, settings: Settings) -> Any:  # noqa: ANN401 - called with a run
    """Write the logs that the settings want, as the run goes."""
    return lambda run: None  # noqa: ARG005
