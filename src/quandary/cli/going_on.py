"""Programs that go on with runs, started by the server for whoever pressed the button.

Each is `quandary walk --resume RUN`, started with a list of words in the folder of the run's
project, and watched until it ends. When the server ends, they are asked to end as well: what was
under way is noted and made again when somebody goes on with the run.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from quandary.errors import QuandaryError, Rejected
from quandary.fleet import queue
from quandary.journal import replay
from quandary.model.ask import Note
from quandary.people.web.going_on import NOT_RESUMED

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.journal.store import Run, State, Store

log = logging.getLogger("quandary.serve")
MOST = 4
"""As many programs as are started at a time."""
PATIENCE = 15.0
"""Seconds in which a program that was asked to end has to; agents get some of them."""
LINES = 20
"""Lines of what it complained about that are kept."""
_SECRETS = ("QUANDARY_TOKEN",)
"""What is the server's own."""


class Drivers:
    """The programs that go on with runs of a store."""

    def __init__(self, store: Store, address: str, project: str, most: int = MOST) -> None:
        self.store = store
        self.address = address if "://" in address else os.path.abspath(address)
        self.project = project
        self.most = most
        self._programs: dict[str, subprocess.Popen[str]] = {}
        self._guard = threading.Lock()
        self._over = False

    def is_under_way(self, run: str) -> bool:
        """Whether somebody goes on with the run, here or elsewhere."""
        return run in self._programs or self.store.is_locked(run)

    def is_queued(self, run: str) -> bool:
        """Whether a worker of the fleet will go on with the run."""
        return queue.is_queued(self.store, run)

    def obstacle(self, run: Run) -> str:
        """Why the run cannot be gone on with from here; nothing where it can.

        Others can write into a store that is shared, and a run names the folder whose settings say
        which programs its agents are. So only runs of the project that is served are gone on with
        there, and those of the fleet.
        """
        if queue.is_member(self.store, run.id):
            return ""
        if "://" in self.address and run.project != self.project:
            return f"It belongs to {run.project}; go on with it there."
        if not os.path.isdir(run.project):
            return f"Its folder {run.project} is not on this machine; go on with it there."
        return ""

    def start(self, run: str, prepare: Callable[[], State]) -> State:
        """Bring the run to where it can go on, and start the program that goes on with it."""
        with self._guard:
            row = self.store.run(run)
            if row is None or self._over:
                raise Rejected(f"run {run} cannot be gone on with from here")
            if self.is_under_way(run):
                raise Rejected(f"run {run} is being walked already")
            obstacle = self.obstacle(row)
            if obstacle:
                raise Rejected(obstacle)
            if queue.is_member(self.store, run):
                state = prepare()
                queue.enqueue(self.store, run)
                return state
            if len(self._programs) >= self.most:
                raise Rejected(f"{self.most} runs are gone on with already; wait for one of them")
            state = prepare()
            self._programs[run] = self._started(run, row.project)
        threading.Thread(target=self._watch, args=(run,), daemon=True).start()
        return state

    def close(self) -> None:
        """Ask every program to end, and see to it."""
        with self._guard:
            self._over = True
            programs = list(self._programs.values())
        for program in programs:
            program.terminate()
        for program in programs:
            try:
                program.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()

    def _started(self, run: str, folder: str) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        # With -P, no file of that folder is taken for a part of the program.
        words = [sys.executable, "-P", "-m", "quandary", "walk", "--resume", run, "--via", "relay"]
        log.info("run %s: going on with it", run, extra={"run": run})
        try:
            return subprocess.Popen(  # noqa: S603 - words, not a shell's line
                words,
                cwd=folder,
                # An address may hold a password, and words can be seen by everybody.
                env={**environment, "QUANDARY_STORE": self.address},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise Rejected(f"nothing can be started in {folder}: {error.strerror}") from None

    def _watch(self, run: str) -> None:
        """See a program to its end, and say in the journal if it did not go on."""
        program = self._programs[run]
        assert program.stderr is not None  # noqa: S101 - it is a pipe
        said: deque[str] = deque(maxlen=LINES)
        with program.stderr as lines:
            said.extend(lines)
        status = program.wait()
        log.info("run %s: its program ended (%d)", run, status, extra={"run": run, "ended": status})
        del self._programs[run]
        if not self._over:
            with suppress(QuandaryError):
                self._tell(run, status, list(said))

    def _tell(self, run: str, status: int, said: list[str]) -> None:
        row = self.store.run(run)
        if row is None or row.waits != "agent" or self.store.is_locked(run):
            return
        complaints = [line for line in said if line.startswith("quandary: ")]
        why = complaints[-1].strip() if complaints else f"the program ended with status {status}"
        note = Note(NOT_RESUMED, why)
        replay.note(self.store, run, note, who="api", through="serve")
