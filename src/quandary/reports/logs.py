"""Logs of walks: for each run a short one in JSON and a long one in plain text, as the run goes.

The journal is what counts; logs are for people and scripts that would rather read a file. A process
that drives a run writes its logs from the beginning, out of the journal, and then adds to them. A
log that cannot be written stops nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from operator import itemgetter
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec

from quandary import reports as words
from quandary.errors import QuandaryError
from quandary.journal.entries import Answered, AnyBody, Asked, Began, Called, Ended, Noted, Returned
from quandary.journal.runs import arguments_of
from quandary.model import keys
from quandary.model.text import count, one_line
from quandary.reports.retelling import Teller
from quandary.settings import project_of, read_settings
from quandary.settings.files import is_inside

if TYPE_CHECKING:
    from quandary.journal.store import Store
    from quandary.reports import Exchange, Stop
    from quandary.settings import Settings

FOLDER = os.path.join(".quandary", "logs")
LONGEST_NAME = 60
LONGEST_OUTPUT = 500
STEP = ("number", "id", "name", "kind", "visit", "cli", "route", "validation", "error")
END = ("outcome", "error", "ended", "path", "calls", "tokens", "seconds")
"""What the short log says of each step, and of a run that is over."""
PAUSE = 0.02  # seconds between something that happens and the log of it


class Logs:
    """Writes the logs of any number of runs, in a thread, since no agent should wait for them."""

    def __init__(self, store: Store, tell: Callable[[str], None]) -> None:
        self.store, self.tell, self.find = store, tell, settings_of
        self._told = self._broken = False
        self._settings: dict[str, Settings | None] = {}  # of each run; nothing where it has no logs
        self._logs: dict[str, _Log] = {}
        self._over: dict[str, int] = {}  # runs that are over, with their entries by then
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._thread: Thread | None = None

    def write(self, run: str) -> None:
        """Add to a run's logs what is new since the last time. That this fails is told once."""
        which = f"of run {run}"
        try:
            if run not in self._settings:
                self._settings[run] = self.find(self.store, run)
            if (settings := self._settings[run]) is None:
                return
            which = f"in {folder_of(settings)}"
            try:
                self._write(run, settings)
            except FileNotFoundError:  # somebody tidied up; begin anew with all that there is
                self._logs.pop(run, None)
                self._write(run, settings)
        except (OSError, QuandaryError) as error:
            self._logs.pop(run, None)
            if not self._told:
                self._told = True
                why = error.strerror if isinstance(error, OSError) else str(error)
                self.tell(f"the logs {which} cannot be written ({why}); the runs continue")

    def _write(self, run: str, settings: Settings) -> None:
        if run in self._over:
            row = self.store.run(run)
            if row is None or row.n == self._over[run]:
                return
        if run not in self._logs:
            own = settings.text("log_dir") and settings.is_own("log_dir")
            if not own and settings.root and not is_inside(settings.root, folder_of(settings)):
                raise QuandaryError("the folder leads out of the project")
            os.makedirs(folder_of(settings), exist_ok=True)
            self._logs[run] = _Log(Teller(self.store, run), settings)
        teller = self._logs[run].write()
        if teller.standing.status != "waiting":
            self._over[run] = teller.standing.n
            del self._logs[run]

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
        noted: dict[str | None, None] = {}
        while None not in noted:
            noted = {self._waiting.get(): None}
            if None not in noted:
                # By then the next program has been started, and there is more to write at once.
                time.sleep(PAUSE)
            while not self._waiting.empty():
                noted[self._waiting.get()] = None
            for run in filter(None, noted):
                try:
                    if not self._broken:
                        self.write(run)
                except Exception as error:  # noqa: BLE001 - see above
                    self._broken = True
                    why = f"{type(error).__name__}: {error}"
                    self.tell(f"no more logs are written ({why}); the runs continue")


def write_anew(store: Store, run: str, tell: Callable[[str], None]) -> None:
    """Write the logs of a run that somebody moved, unless that may be a worker of a fleet."""
    try:
        if not arguments_of(store, run).get("fleet"):
            Logs(store, tell).write(run)
    except Exception as error:  # noqa: BLE001 - what moved the run is recorded, whatever comes now
        tell(f"the logs of run {run} cannot be written ({type(error).__name__}: {error})")


def settings_of(store: Store, run: str) -> Settings | None:
    """The settings of a run's own project, if that is here and has any logs written."""
    row, workdir = store.require_run(run), arguments_of(store, run).get("workdir")
    if "://" in store.address and row.project != project_of(os.curdir):
        return None  # others can write into a shared store
    folder = workdir if workdir and project_of(workdir) == row.project else row.project
    if not os.path.isdir(folder):
        return None
    settings = read_settings(folder)
    wanted = any(settings.flag(f"write_log_{name}", default=True) for name in ("short", "long"))
    return settings._replace(root=settings.root or folder) if wanted else None


def folder_of(settings: Settings) -> str:
    """Where logs are written: `log_dir`, seen from the project."""
    named = os.path.expanduser(settings.text("log_dir") or FOLDER)
    return os.path.join(os.path.abspath(settings.root or os.curdir), named)


class _Log:
    """The logs of one run, and how far they have come. The short one is one JSON document that is
    whole after every write: the steps, and where the run stands. Steps are added at the end of
    their list; after an amendment they are others, and it is written anew. The long one has every
    entry in full, behind its number.
    """

    def __init__(self, teller: Teller, settings: Settings) -> None:
        self.teller = teller
        self.folder = folder_of(settings)
        self.short = settings.flag("write_log_short", default=True)
        self.long = settings.flag("write_log_long", default=True)
        self._long_end = 0
        self._steps_end = 0  # where the list of steps ends in the short log
        self._steps = 0  # how many steps are in it
        self._standing: tuple[int, str, str | None] | None = None

    def write(self) -> Teller:
        """Add what is new."""
        teller, before = self.teller, self.teller.standing.n
        blocks = []
        for number, body in teller.read():
            if self.long:  # only the first line stands at the margin, so none can be forged
                first, *rest = _tell(teller, body)
                blocks.append(f"[{number}] {words.moment(body.at)}  {one_line(first)}\n")
                blocks += [*(f"    {line}\n" for line in rest), "\n"]
        if teller.standing.n > before:
            slug = keys.slug(teller.name)[:LONGEST_NAME].strip("-") or "chart"
            path = os.path.join(self.folder, f"{slug}-{teller.run}")
            if self.long:
                title = f"Run {teller.run}, chart {one_line(teller.name)}\n\n"
                added = "".join(blocks if self._long_end else [title, *blocks]).encode()
                _put(f"{path}.log", self._long_end, added)
                self._long_end += len(added)
            if self.short:
                self._write_short(f"{path}.json")
            teller.forget_texts(LONGEST_OUTPUT)
        return teller

    def _write_short(self, path: str) -> None:
        teller = self.teller
        fold, item = teller.standing, teller.item
        standing = (fold.amendment, fold.status, fold.waits)
        begun = self._standing is not None and self._standing[0] == fold.amendment
        if not begun:
            self._steps_end = self._steps = 0
        asked = [_step(stop) for stop in teller.left(self._steps)]
        if standing == self._standing and not asked:
            return
        said = {
            "run": teller.run,
            "chart": teller.name,
            "item": item.name,
            "began": teller.began,
            "amendments": fold.amendment,
        }
        head = b"" if begun else msgspec.json.encode(said)[:-1] + b',\n"steps":['
        first = b",\n" if self._steps and asked else b"\n" if asked else b""
        added = head + first + b",\n".join(asked)
        _put(path, self._steps_end, added + b"\n],\n" + _end(teller))
        self._steps_end += len(added)
        self._steps += len(asked)
        self._standing = standing


def _put(path: str, at: int, text: bytes) -> None:
    """Write a text into a file from there on, and end the file with it; at 0, make the file."""
    with open(path, "r+b" if at else "wb") as file:
        file.seek(at)
        file.write(text)
        file.truncate()


def _tell(teller: Teller, body: AnyBody) -> Iterator[str]:
    if isinstance(body, Began):
        yield f"began, by {body.source.told}"
        item = teller.item
        known = {"item": item.name, "context": item.context}
        for name, text in (*filter(itemgetter(1), known.items()), *item.fields.items()):
            yield f"{one_line(name)}: {one_line(text)}"
    elif isinstance(body, Asked | Called):
        exchange = teller.exchanges.get(body.key)
        who = words.tell_request(exchange) if exchange else getattr(body, "agent", "")
        yield f"“{teller.place(body.key)}” ({body.key}): {who}"
        yield from _texts(exchange, {"prompt"})
    elif isinstance(body, Answered | Returned):
        exchange = teller.exchanges.get(body.key)
        said = f"{words.who(exchange)}: {words.answer(exchange)}" if exchange else ""
        amends = isinstance(body, Answered) and body.amends
        note = f" (amends entry {amends}; what came after that is taken back)" if amends else ""
        yield f"“{teller.place(body.key)}” ({body.key}): {said}{note}"
        yield from _texts(exchange, {"output", "problem", "feedback", "standard error"})
    elif isinstance(body, Noted):
        remark = teller.remarks[-1] if teller.remarks else None
        said = f": {remark.text}" if remark and remark.at == body.at and remark.text else ""
        yield f"noted {body.kind} {body.key}{said}"
    elif isinstance(body, Ended):
        story = teller.story()
        why = f": {story.error}" if story.error else ""
        yield f"ended, {story.outcome or story.status}{why}"
        yield f"{count(story.calls, 'call')}, {words.tell_cost(story.seconds, story.tokens)}"


def _texts(exchange: Exchange | None, wanted: set[str]) -> Iterator[str]:
    for name, text in words.texts(exchange) if exchange is not None else ():
        if name in wanted:
            yield f"{name}:"
            yield from (f"| {line}".rstrip() for line in words.lines(text, None))


def _step(stop: Stop) -> bytes:
    """A visit in short: what it was, who did it, and what came of it."""
    said: dict[str, Any] = {name: getattr(stop, name) or None for name in STEP}
    if stop.kind == "subprocess":  # somebody is asked at it only where there is a choice
        said["kind"] = "decision"
    output = (stop.output or "")[:LONGEST_OUTPUT] or None
    costs = {"seconds": stop.seconds, "tokens": stop.tokens}
    return msgspec.json.encode({**said, "attempts": len(stop.attempts), **costs, "output": output})


def _end(teller: Teller) -> bytes:
    """Where the run stands, as the end of the document."""
    standing = teller.standing
    said: dict[str, Any] = {"status": standing.status, "waits": standing.waits}
    if standing.status != "waiting":
        story = teller.story()
        said |= {name: getattr(story, name) for name in END} | {"error": story.error or None}
    return msgspec.json.encode(said)[1:] + b"\n"
