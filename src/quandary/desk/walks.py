"""Walks that are resumed by a program, which is started for whoever asked for it.

It is `quandary walk --resume RUN`. A server watches over those that it started, and asks them to
end when it ends itself: what was under way is noted, and made again when somebody resumes the run.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from quandary.desk.reply import arguments_of
from quandary.errors import QuandaryError, Rejected, Untrusted
from quandary.journal import runs
from quandary.journal.entries import Began, Called, Entry, Noted, Unreadable, read_beginning
from quandary.journal.history import HANDED
from quandary.model.asks import Note
from quandary.model.calls import SESSION
from quandary.settings import project_of, read_settings
from quandary.settings.trust import require_agents

if TYPE_CHECKING:
    from quandary.desk.notices import Watch
    from quandary.journal.runs import OpenRun
    from quandary.journal.store import Run, State, Store

log = logging.getLogger("quandary.serve")
THROUGH = "agent"  # what entries say that came from here
STARTED, STOPPED, SET_ASIDE = "started", "stopped", "set-aside"
"""Notes: calls are being made; they were ended before their time; none was begun after all."""
MOST = 4  # as many programs as are started at a time
PATIENCE = 15.0  # seconds in which a program that was asked to end has to; agents get some of them
NOT_RESUMED = "not-resumed"  # a note: why a program ended that had not resumed its run
_LINES = 20


def launch(
    store: Store, run: str, folder: str, *, stderr: int | None = None
) -> subprocess.Popen[str]:
    """Start the program that resumes a run; a project's own agents need its user's consent."""
    row = store.run(run)
    command: tuple[str, ...] = ("next", run, "--via", "relay")
    if row is None or row.flow == "walk":
        command = ("walk", "--resume", *command[1:])
        require_agents(read_settings(folder), _work_folder(store, run))
    elif row.flow in PARKING and row.waits != "agent":
        command = ("resume", run)
    # An address may hold a password, and everybody on the machine can read arguments.
    environment = {**os.environ, "QUANDARY_STORE": store.address}
    environment.pop("QUANDARY_TOKEN", None)  # which is the server's own
    # With -P, no file of that folder is taken for a part of the program.
    words = [sys.executable, "-P", "-m", "quandary", *command]
    log.info("run %s: resuming it", run, extra={"run": run})
    try:
        return subprocess.Popen(  # noqa: S603 - our own program, no shell
            words,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise Rejected(f"nothing can be started in {folder}: {error.strerror}") from None


def _work_folder(store: Store, run: str) -> str | None:
    return arguments_of(store, run).get("workdir") if store.run(run) is not None else None


class Fleet(Protocol):
    """The workers of a store that many machines share."""

    def is_member(self, store: Store, run: str) -> bool:
        """Whether the run belongs to the fleet of its store, if there is one."""

    def is_queued(self, store: Store, run: str) -> bool:
        """Whether a worker will resume the run."""

    def enqueue(self, store: Store, run: str) -> None:
        """Put the run into the queue, if it is not there already."""


@dataclass(eq=False)
class Walks:
    """The programs that resume runs of a store, for whoever serves them."""

    store: Store
    project: str
    watch: Watch  # it does something in the background: it waits for a program to end
    fleet: Fleet | None = None
    most: int = MOST
    _programs: dict[str, subprocess.Popen[str]] = field(init=False, default_factory=dict)
    _guard: threading.Lock = field(init=False, default_factory=threading.Lock)
    _over: bool = field(init=False, default=False)

    def is_under_way(self, run: str) -> bool:
        """Whether somebody walks the run, here or elsewhere."""
        return run in self._programs or self.store.is_locked(run)

    def is_queued(self, run: str) -> bool:
        """Whether a worker of the fleet will resume the run."""
        return self.fleet is not None and self.fleet.is_queued(self.store, run)

    def obstacle(self, run: Run) -> str:
        """Why the run cannot be resumed from here; nothing where it can. Others can write into a
        store that is shared, and a run names the folder whose settings say which programs its
        agents are. So only runs of the project that is served are resumed there, and those of the
        fleet.
        """
        if self._has(run.id):
            return ""
        if "://" in self.store.address and run.project != self.project:
            return f"It belongs to {run.project}; resume it there."
        if not os.path.isdir(run.project):
            return f"Its folder {run.project} is not on this machine; resume it there."
        try:
            require_agents(read_settings(run.project), _work_folder(self.store, run.id))
        except QuandaryError as error:
            return f"{error}."
        return ""

    def start(self, run: str, prepare: Callable[[], State]) -> State:
        """Resume a run, when `prepare` has brought it to where it can; never twice at a time."""
        with self._guard:
            row = self.store.run(run)
            if row is None or self._over:
                raise Rejected(f"run {run} cannot be resumed from here")
            if self.is_under_way(run):
                raise Rejected(f"run {run} is being driven already")
            if obstacle := self.obstacle(row):
                raise Rejected(obstacle)
            if self.fleet is not None and self.fleet.is_member(self.store, run):
                state = prepare()
                self.fleet.enqueue(self.store, run)
                return state
            if len(self._programs) >= self.most:
                raise Rejected(f"{self.most} runs are being walked already; wait for one of them")
            state = prepare()
            self._programs[run] = launch(self.store, run, row.project, stderr=subprocess.PIPE)
        self.watch(lambda: self._see_to_its_end(run))
        return state

    def resume_session(self, run: str) -> State | None:
        """Resume the session that was parked with a run; nothing where none was."""
        if read_parked(*read_beginning(self.store, run)) is None:
            return None
        find_parked(self.store, run)
        return self.start(run, lambda: runs.look(self.store, run))

    def follow(self, state: State) -> None:
        """Have agents called where they are next. The program outlives this one, as a run may."""
        if state.calls and not self._has(state.run):
            try:
                self.watch(launch(self.store, state.run, os.curdir).wait)
            except (Untrusted, Rejected) as error:
                log.warning("run %s waits: %s", state.run, error)

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

    def _has(self, run: str) -> bool:
        return self.fleet is not None and self.fleet.is_member(self.store, run)

    def _see_to_its_end(self, run: str) -> None:
        """Wait for a program, and note in the journal why it ended if it did not resume the run."""
        program = self._programs[run]
        assert program.stderr is not None  # noqa: S101 - it is a pipe
        with program.stderr as lines:
            said = deque(lines, maxlen=_LINES)
        status = program.wait()
        log.info("run %s: its program ended (%d)", run, status, extra={"run": run, "ended": status})
        del self._programs[run]
        row = self.store.run(run) if not self._over else None
        parked = row is not None and row.flow in PARKING and status
        if row is None or not (row.waits == "agent" or parked) or self.store.is_locked(run):
            return
        complaints = [line for line in said if line.startswith("quandary: ")]
        why = complaints[-1].strip() if complaints else f"the program ended with status {status}"
        with contextlib.suppress(QuandaryError):
            said_by: dict[str, Any] = {"who": "api", "through": "serve"}
            if row.status == "waiting":
                runs.note(self.store, run, Note(NOT_RESUMED, why), **said_by)
            else:
                runs.note_behind(self.store, row, NOT_RESUMED, "", "", why, **said_by)


def has_begun(run: OpenRun) -> bool:
    """Whether somebody has begun to make the calls that wait, and not said that they stopped. Calls
    that follow a person's answer wait until somebody comes who makes them. Where a person wants to
    be asked about interruptions, having stopped is one.
    """
    row, found = run.row, False
    for entry in run.entries[row.asked - 1 :] if row.waits == "agent" else ():
        body = entry.read()
        if isinstance(body, Called):
            # Who begins a walk with a command makes its first calls; an answer makes none.
            found = body.through == THROUGH or (body.through == "command" and body.at == row.began)
        elif isinstance(body, Noted) and body.kind in (STARTED, SET_ASIDE):
            found = body.kind == STARTED
        elif isinstance(body, Noted) and body.kind == STOPPED:
            found = (run.arguments.get("defaults") or {}).get("on_interrupted") == "ask"
    return found


PARKING = ("question", "permit")  # flows that a session can be parked with
MANY = 200  # of so many runs of each, the newest, it is seen whether their sessions can be resumed


class Parked(NamedTuple):
    """A session that was set aside until a call of it is answered; it is on one machine only."""

    session: str
    folder: str
    call: str
    machine: str = ""

    @property
    def words(self) -> list[str]:
        """What resumes it; without a tool for prompts, it does not know its question tool."""
        return ["claude", "-p", "--resume", self.session, "--permission-prompt-tool", "stdio"]

    @property
    def name(self) -> str:
        """What begins the names of the runs that its call waits for."""
        return f"hook\n{self.session}\n{self.call}\n"

    @property
    def obstacle(self) -> str:
        """Why it cannot be resumed here; nothing where it can."""
        here = self.machine in ("", os.uname().nodename) and os.path.isdir(self.folder)
        where = f"{self.folder} on {self.machine}" if self.machine else self.folder
        return "" if here else f"the session is in {where}, which is not here; resume it there"


def read_parked(began: Began, arguments: dict[str, Any]) -> Parked | None:
    """The session that was parked with a run, by what the run was begun with."""
    if began.flow not in PARKING or not arguments.get("folder"):
        return None
    given = {name: str(arguments[name]) for name in Parked._fields if name in arguments}
    parked = Parked(**{"session": "", "call": "", **given})
    return parked if SESSION.fullmatch(parked.session) else None


def is_handed_over(entries: Iterable[Entry]) -> bool:
    """Whether the session has the answer by now."""
    notes = (entry.read() for entry in entries if entry.kind == "noted")
    return any(isinstance(n, Noted) and (n.kind, n.through) == (HANDED, "hook") for n in notes)


def find_parked(store: Store, run: str) -> Parked:
    """The session that was parked with a run, once all that its call waits for is answered."""
    began, arguments = read_beginning(store, run)
    if (parked := read_parked(began, arguments)) is None:
        raise Rejected(f"no session was parked with run {run}; see quandary next {run}")
    for one in store.named(parked.name, f"{parked.name}~").values():
        if runs.look(store, one).ask is not None:
            raise Rejected(f"run {one} still waits for an answer: quandary next {one}")
        if is_handed_over(store.entries(one, kinds=("noted",))):
            raise Rejected(f"the session was resumed with run {one} already")
    if parked.obstacle:
        raise Rejected(parked.obstacle)
    if project_of(parked.folder) != began.project:
        raise Rejected(f"{parked.folder} does not belong to the project of run {run}")
    return parked


def find_answered(store: Store, known: set[str]) -> dict[str, str]:
    """The sessions of this machine that can be resumed, each with a run; others become known."""
    found: dict[str, str] = {}
    for flow in PARKING:
        for row in store.runs(flow=flow, newest=True, limit=MANY):
            if row.id in known or row.waits == "person":
                continue
            try:
                found[find_parked(store, row.id).session] = row.id
            except (Rejected, Unreadable):  # `verify` reports what cannot be read
                known.update([row.id] if row.status != "waiting" else [])
    return found
