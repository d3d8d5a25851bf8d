"""Logs of walks: for each run a short one in JSON and a long one in plain text, as the run goes.

The journal is what counts; logs are for people and scripts that would rather read a file. They are
written out of the journal, so a process that goes on with a run also goes on with its logs. Files
of others are never touched, and a log that cannot be written stops nothing.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import msgspec

from quandary.agents import report_words as words
from quandary.agents.retelling import Teller
from quandary.errors import QuandaryError
from quandary.journal.entries import Answered, Asked, Began, Called, Ended, Noted, Returned
from quandary.model import question_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quandary.agents.story import Exchange, Stop
    from quandary.journal.entries import AnyBody
    from quandary.journal.store import Store
    from quandary.settings import Settings

FOLDER = os.path.join(".quandary", "logs")
LONGEST_NAME = 60
LONGEST_OUTPUT = 500
MOST_FILES = 1_000
"""How many files of others are passed over before a log is given up."""
TORN = b"    (the rest of this is missing; whoever wrote it was interrupted)\n\n"

_ENTRY = re.compile(rb"^\[(\d+)\] ", re.MULTILINE)
_AFTER_BLOCK = b"\n\n"
"""What follows each entry of a long log; within one no line is empty."""
_AFTER_STEPS = b"\n],\n"
"""What follows the last step of a short log; no text in JSON can hold a line break."""


class Logs:
    """Writes the logs of any number of runs."""

    def __init__(self, store: Store, settings: Settings, tell: Callable[[str], None]) -> None:
        self.store = store
        self.folder = folder_of(settings)
        self.short = settings.flag("write_log_short", default=True)
        self.long = settings.flag("write_log_long", default=True)
        self._tell = tell
        self._told = False
        self._logs: dict[str, _Log] = {}
        self._over: dict[str, int] = {}
        """The runs that are over, with how many entries they had then."""

    def write(self, run: str) -> None:
        """Add to a run's logs what is new since the last time. That this fails is told once."""
        if not (self.short or self.long):
            return
        try:
            try:
                self._write(run)
            except FileNotFoundError:  # somebody tidied up; begin anew with all that there is
                self._logs.pop(run, None)
                self._write(run)
        except (OSError, QuandaryError) as error:
            # What is in the files now is not known; the next time they are looked at again.
            self._logs.pop(run, None)
            if not self._told:
                self._told = True
                why = error.strerror if isinstance(error, OSError) else str(error)
                self._tell(f"the logs in {self.folder} cannot be written ({why}); the runs go on")

    def _write(self, run: str) -> None:
        if run in self._over:
            row = self.store.run(run)
            if row is None or row.n == self._over[run]:
                return
        if run not in self._logs:
            os.makedirs(self.folder, exist_ok=True)
            self._logs[run] = _Log(self, run)
        teller = self._logs[run].write()
        if teller.status != "waiting":
            self._over[run] = teller.n
            del self._logs[run]


def folder_of(settings: Settings) -> str:
    """Where logs are written: `log_dir`, seen from the project."""
    named = os.path.expanduser(settings.text("log_dir") or FOLDER)
    return os.path.join(os.path.abspath(settings.root or os.curdir), named)


class _Log:
    """The logs of one run, and how far they have come."""

    def __init__(self, logs: Logs, run: str) -> None:
        self.teller = Teller(logs.store, run)
        self.short = _Short(logs.folder) if logs.short else None
        self.long = _Long(logs.folder) if logs.long else None

    def write(self) -> Teller:
        """Add what is new."""
        teller = self.teller
        before = teller.n
        blocks = [
            (number, _block(teller, number, body) if self.long is not None else "")
            for number, body in teller.read()
        ]
        if teller.n > before:
            if self.long is not None:
                self.long.write(teller, blocks)
            if self.short is not None:
                self.short.write(teller)
            teller.forget_texts(LONGEST_OUTPUT)
        return teller


# -- the long one --------------------------------------------------------------------------------


class _Long:
    """Every entry in full, each behind its number; what was written stays as it is."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = ""
        self.last = 0
        """The number of the last entry in the file."""

    def write(self, teller: Teller, blocks: list[tuple[int, str]]) -> None:
        if not self.path:
            self._open(teller)
        new = [block for number, block in blocks if number > self.last]
        if new:
            _append(self.path, "".join(new).encode())
            self.last = blocks[-1][0]

    def _open(self, teller: Teller) -> None:
        """Go on with the file of this run, or make one."""
        title = f"Run {teller.run}, chart {words.one_line(teller.name)}\n\n".encode()
        for path in _names(self.folder, teller, "log"):
            if _created(path, title):
                self.path = path
                return
            before = _contents(path)
            if before.startswith(title):
                self.path = path
                whole = before[: before.rindex(_AFTER_BLOCK) + len(_AFTER_BLOCK)]
                self.last = max(map(int, _ENTRY.findall(whole)), default=0)
                if whole != before:
                    _append(path, (b"" if before.endswith(b"\n") else b"\n") + TORN)
                return


def _block(teller: Teller, number: int, body: AnyBody) -> str:
    """An entry in words. Only the first line of it stands at the margin, so none can be forged."""
    first, *rest = _told(teller, body)
    head = f"[{number}] {words.moment(body.at)}  {words.one_line(first)}\n"
    return head + "".join(f"    {line}\n" for line in rest) + "\n"


def _told(teller: Teller, body: AnyBody) -> Iterator[str]:
    if isinstance(body, Began):
        yield f"began, by {body.by or body.who} through {body.through}"
        yield from _item(teller)
    elif isinstance(body, Asked | Called):
        exchange = teller.exchanges.get(body.key)
        who = words.asked(exchange) if exchange else getattr(body, "agent", "")
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
        yield f"{words.count(story.calls, 'call')}, {words.spent(story.seconds, story.tokens)}"


def _item(teller: Teller) -> Iterator[str]:
    item = teller.item
    for name, text in (("item", item.title or item.label or item.id), ("context", item.context)):
        if text:
            yield f"{name}: {words.one_line(text)}"
    for name, value in item.fields.items():
        yield f"{words.one_line(name)}: {words.one_line(value)}"


def _texts(exchange: Exchange | None, wanted: set[str]) -> Iterator[str]:
    for name, text in words.texts(exchange) if exchange is not None else ():
        if name in wanted:
            yield f"{name}:"
            yield from (f"| {line}".rstrip() for line in words.lines(text, None))


# -- the short one -------------------------------------------------------------------------------


class _Short:
    """One JSON document that is whole after every write: the steps, and where the run stands.

    Steps are added at the end of their list. After an amendment the steps are others, so the rest
    of the story goes into another file.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = ""
        self.amendments = 0
        self.end = 0
        """Where the list of steps ends in the file."""
        self.steps = 0
        """How many steps are in the file, and how many stops lie behind them."""
        self.stops = 0
        self.standing: object = None

    def write(self, teller: Teller) -> None:
        if not self.path or self.amendments != teller.amendments:
            self._open(teller)
        left = teller.left
        standing = (teller.status, teller.waits, left)
        if standing == self.standing:
            return
        asked = [stop for stop in teller.stops(self.stops, left) if stop.attempts or stop.error]
        between = b",\n" if self.steps else b"\n"
        added = b"".join(
            (between if n == 0 else b",\n") + msgspec.json.encode(_step(stop))
            for n, stop in enumerate(asked)
        )
        with open(self.path, "r+b") as file:
            file.seek(self.end)
            file.write(added + _AFTER_STEPS + _standing(teller))
            file.truncate()
        self.end += len(added)
        self.steps += len(asked)
        self.stops, self.standing = left, standing

    def _open(self, teller: Teller) -> None:
        """Go on with the file of this run, or make one."""
        head = _head(teller)
        self.amendments, self.standing = teller.amendments, None
        self.steps, self.stops, self.end = 0, 0, len(head)
        for path in _names(self.folder, teller, "json"):
            if _created(path, head + _AFTER_STEPS + _standing(teller)):
                self.path = path
                return
            before = _contents(path)
            if before.startswith(head) and self._fits(before, teller):
                self.path = path
                return

    def _fits(self, before: bytes, teller: Teller) -> bool:
        """Whether what is in the file is whole and is the beginning of what there is to tell."""
        try:
            steps = msgspec.json.decode(before)["steps"]
        except (msgspec.DecodeError, KeyError, TypeError):
            return False
        stops = teller.stops(0, teller.left)
        asked = [number for number, stop in enumerate(stops) if stop.attempts or stop.error]
        if not isinstance(steps, list) or len(steps) > len(asked):
            return False
        self.steps = len(steps)
        self.stops = asked[self.steps - 1] + 1 if self.steps else 0
        self.end = before.rindex(_AFTER_STEPS)
        return True


def _head(teller: Teller) -> bytes:
    item = teller.item
    said = {
        "run": teller.run,
        "chart": teller.name,
        "item": item.title or item.label or item.id,
        "began": teller.began,
        "amendments": teller.amendments,
    }
    return msgspec.json.encode(said)[:-1] + b',\n"steps":['


def _step(stop: Stop) -> dict[str, Any]:
    """A visit in short: what it was, who did it, and what came of it."""
    return {
        "number": stop.number,
        "id": stop.id,
        "name": stop.name,
        "kind": stop.kind,
        "visit": stop.visit,
        "cli": stop.cli,
        "route": stop.route or None,
        "attempts": len(stop.attempts),
        "validation": stop.validation,
        "seconds": stop.seconds,
        "tokens": stop.tokens,
        "error": stop.error or None,
        "output": (stop.output or "")[:LONGEST_OUTPUT] or None,
    }


def _standing(teller: Teller) -> bytes:
    """Where the run stands, as the end of the document."""
    told = teller.story() if teller.status != "waiting" else None
    said: dict[str, Any] = {"status": teller.status, "waits": teller.waits}
    if told is not None:
        said |= {
            "outcome": told.outcome,
            "error": told.error or None,
            "ended": told.ended,
            "path": told.path,
            "calls": told.calls,
            "tokens": told.tokens,
            "seconds": told.seconds,
        }
    return msgspec.json.encode(said)[1:] + b"\n"


# -- files ---------------------------------------------------------------------------------------


def _names(folder: str, teller: Teller, ending: str) -> Iterator[str]:
    """The file that a log should have, and others for when that one is somebody else's."""
    slug = question_ids.slug(teller.name)[:LONGEST_NAME].strip("-") or "chart"
    for number in range(1, MOST_FILES + 1):
        suffix = f"-{number}" if number > 1 else ""
        yield os.path.join(folder, f"{slug}-{teller.run}{suffix}.{ending}")
    raise QuandaryError(f"every name for {slug}-{teller.run}.{ending} is taken")


def _created(path: str, text: bytes) -> bool:
    """Make a file, unless there is one."""
    try:
        with open(path, "xb") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _append(path: str, text: bytes) -> None:
    """Add to a file that is there; one that was taken away in the meantime is not made again."""
    with open(path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(text)


def _contents(path: str) -> bytes:
    """What is in a file; nothing where it is none, or not for us to read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
