"""Running a program: never through a shell, never for longer than allowed, and never left behind.

A program runs in a session of its own, so that it and whatever it starts can be ended as one group.
Its output is read while it runs. When it ends, by itself or not, its group ends with it: first the
group is asked to, and after a while it is made to.

A process that is killed on the spot cannot end the programs that it has started. So it notes them
in a file, which it keeps locked as long as it lives: the number of each and when it began, which
together no other program has. Whoever drives a run next ends what is left of those whose process
is gone; nobody could hear any more what they say.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import psutil

from quandary.errors import QuandaryError
from quandary.flows.responses import GAP
from quandary.journal import MEMORY
from quandary.settings import data_folder
from quandary.settings.agents import MOST

if TYPE_CHECKING:
    from quandary.journal.store import Store

    T = TypeVar("T")

GRACE = 5.0  # seconds between asking a group to end and making it
LINGER = 0.25  # seconds that a program's children may go on printing when it has ended
MOST_ERRORS = 1024 * 1024  # the bytes of standard error that are kept
_DYING = 2.0  # seconds within which even a busy system ends what cannot refuse
_CLOSE = 2.0  # seconds by which processes may differ on when another began
_CHUNK = 256 * 1024
_DRAINED_CHUNKS = 64
_DEAD = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
_POLITE = (signal.SIGTERM, signal.SIGHUP)


class NotStarted(QuandaryError):  # noqa: N818 - says what became of the program
    """A program that could not be started, or was not, because of what it would have been given."""


class Command(msgspec.Struct, frozen=True):
    """A program to run, with all that it will see."""

    argv: tuple[str, ...]
    env: dict[str, str]
    folder: str
    stdin: bytes | None = None
    timeout: float | None = None
    most: int = MOST

    def __repr__(self) -> str:
        """Without the environment: there may be keys in it."""
        return f"Command({self.argv[0]!r}, {len(self.argv) - 1} arguments)"


class Ran(msgspec.Struct, frozen=True):
    """What came of running a program."""

    out: str
    err: str
    status: int  # below zero: the signal that ended it
    seconds: float
    truncated: bool
    timed_out: bool


async def run(command: Command, *, grace: float = GRACE) -> Ran:
    """Run a program to its end, or until its time is up, or until the task is cancelled."""
    begun = time.perf_counter()
    running = _Running(command, _start(command), grace)
    try:
        timed_out = await running.end()
    finally:
        running.close()
    out, err, status = running.out.text(), running.err.text(), running.process.returncode
    seconds = time.perf_counter() - begun
    return Ran(out, err, status, seconds, running.out.dropped > 0, timed_out)


@contextmanager
def catching(
    signals: Iterable[signal.Signals], act: Callable[[signal.Signals], object]
) -> Iterator[None]:
    """Within it, something is done at these signals, if we have the process to ourselves."""
    loop = asyncio.get_running_loop()
    caught = list(signals) if threading.current_thread() is threading.main_thread() else []
    for one in caught:
        loop.add_signal_handler(one, act, one)
    try:
        yield
    finally:
        for one in caught:
            loop.remove_signal_handler(one)


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run a task from ordinary code. Ctrl-C, a hang-up or a polite kill end its programs first."""

    async def interruptible() -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        free = [one for one in _POLITE if signal.getsignal(one) is signal.SIG_DFL]
        with catching(free, lambda _: task.cancel()):
            return await work

    with asyncio.Runner() as runner:
        try:
            return runner.run(interruptible())
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


def _start(command: Command) -> subprocess.Popen[bytes]:
    program = command.argv[0]
    try:
        return subprocess.Popen(  # noqa: S603 - words, not a shell's line
            command.argv,
            bufsize=0,
            stdin=subprocess.DEVNULL if command.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=command.folder,
            env=command.env,
            start_new_session=True,
        )
    except ValueError as error:
        raise NotStarted(f"{program} cannot be given this: {error}") from None
    except OSError as error:
        if not os.path.isdir(command.folder):
            why = f"the working directory {command.folder} is not there"
        elif isinstance(error, FileNotFoundError):
            why = f"the program {program} was not found; install it, or name its full path"
        elif isinstance(error, PermissionError):
            why = f"the program {program} is not executable"
        else:
            why = f"the program {program} cannot be started: {error.strerror}"
        raise NotStarted(why) from None


class _Kept:
    """The beginning and the end of a stream, of the size that is allowed."""

    def __init__(self, most: int) -> None:
        self.half = most // 2
        self.head, self.tail = bytearray(), bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        room = self.half - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        over = max(len(self.tail) - self.half, 0)
        self.dropped += over
        del self.tail[:over]

    def text(self) -> str:
        """Bytes that are no UTF-8 are shown as such; what was dropped is counted."""
        gap = f"\n{GAP.format(self.dropped)}\n".encode() if self.dropped else b""
        return (self.head + gap + self.tail).decode("utf-8", "replace")


class _Running:
    """A program under way in an event loop."""

    def __init__(self, command: Command, process: subprocess.Popen[bytes], grace: float) -> None:
        self.command, self.process, self.grace = command, process, grace
        self.loop = asyncio.get_running_loop()
        self.out, self.err = _Kept(command.most), _Kept(MOST_ERRORS)
        self.exited: asyncio.Future[None] = self.loop.create_future()
        self.silent: asyncio.Future[None] = self.loop.create_future()  # nobody can print any more
        self.streams: dict[int, _Kept] = {}
        self.unsent = memoryview(command.stdin or b"")
        _notes.add(process.pid)
        assert process.stdout is not None  # noqa: S101 - they are pipes
        assert process.stderr is not None  # noqa: S101 - as above
        try:
            for stream, kept in ((process.stdout, self.out), (process.stderr, self.err)):
                number = stream.fileno()
                os.set_blocking(number, False)
                self.streams[number] = kept
                self.loop.add_reader(number, self._read, number)
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                self.loop.add_writer(process.stdin.fileno(), self._write)
            threading.Thread(target=self._wait, daemon=True).start()
        except BaseException:
            self.close()
            raise

    def _wait(self) -> None:
        """A thread tells the event loop of the end; not every system can do so itself."""
        self.process.wait()
        with suppress(RuntimeError):  # the loop may be gone by now
            self.loop.call_soon_threadsafe(self.exited.set_result, None)

    def _read(self, number: int) -> bool:
        """Take what can be read from a stream; whether there was anything."""
        try:
            data = os.read(number, _CHUNK)
        except BlockingIOError:
            return False
        if data:
            self.streams[number].add(data)
            return True
        self.loop.remove_reader(number)
        del self.streams[number]
        if not self.streams and not self.silent.done():
            self.silent.set_result(None)
        return False

    def _write(self) -> None:
        assert self.process.stdin is not None  # noqa: S101 - only then is there a writer
        number = self.process.stdin.fileno()
        try:
            self.unsent = self.unsent[os.write(number, self.unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            # It does not want to know more, which is its own affair.
            self.unsent = self.unsent[:0]
        if not self.unsent:
            self.loop.remove_writer(number)
            self.process.stdin.close()

    async def end(self) -> bool:
        """Wait for the end, or bring it about; whether the time was up."""
        try:
            await asyncio.wait([self.exited], timeout=self.command.timeout)
            timed_out = not self.exited.done()
            if not timed_out:
                await asyncio.wait([self.silent], timeout=LINGER)
            if timed_out or group_lives(self.process.pid):
                await self._stop()
        except asyncio.CancelledError:
            await self._stop()
            raise
        return timed_out

    async def _stop(self) -> None:
        """End the group: ask, wait a while, insist."""
        for signum, seconds in ((signal.SIGTERM, self.grace), (signal.SIGKILL, _DYING)):
            _signal_group(self.process.pid, signum)
            deadline = self.loop.time() + seconds
            await asyncio.wait([self.exited], timeout=seconds)
            pause = 0.001
            while group_lives(self.process.pid) and self.loop.time() < deadline:
                await asyncio.sleep(pause)
                pause = min(2 * pause, 0.05)
            if not group_lives(self.process.pid):
                return

    def close(self) -> None:
        """Let go of everything. Whatever still runs is ended at once."""
        for number in list(self.streams):
            for _ in range(_DRAINED_CHUNKS):
                if not self._read(number):
                    break
            self.loop.remove_reader(number)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                self.loop.remove_writer(stream.fileno())
                stream.close()
        group = self.process.pid
        if group_lives(group):
            _signal_group(group, signal.SIGKILL)
        self.process.wait()
        with suppress(ChildProcessError):  # count the dead that became our children, if any did
            while os.waitpid(-group, os.WNOHANG)[0]:
                pass
        _notes.running.pop(group, None)


def group_lives(group: int) -> bool:
    """Whether anyone of a group still runs; those who only wait to be counted do not."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    for number in psutil.pids():
        with suppress(OSError, psutil.Error):
            if os.getpgid(number) == group and psutil.Process(number).status() not in _DEAD:
                return True
    return False


def _signal_group(group: int, signum: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signum)


def began(number: int) -> float:
    """When a process began; 0 where there is none."""
    with suppress(psutil.Error):
        return float(psutil.Process(number).create_time())
    return 0.0


class _Notes:
    """What this process has running, and the file that says so, which it keeps locked."""

    def __init__(self) -> None:
        self.folder = self.path = ""
        self.file = -1
        self.running: dict[int, float] = {}

    def add(self, group: int) -> None:
        """A program runs. A note of what has ended means nothing, and goes with the next one."""
        if not self.folder:
            return
        self.running[group] = began(group)
        lines = [f"{number} {moment}\n" for number, moment in self.running.items()]
        with suppress(OSError):  # then there is no note; the program runs all the same
            if self.file < 0:
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
                self.path = os.path.join(self.folder, f"{os.getpid()}-{time.time_ns()}")
                self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                fcntl.flock(self.file, fcntl.LOCK_EX)
            os.ftruncate(self.file, 0)
            os.pwrite(self.file, "".join(lines).encode(), 0)

    def close(self) -> None:
        """Take the note away."""
        if self.file >= 0:
            with suppress(OSError):
                os.unlink(self.path)
                os.rmdir(self.folder)
            os.close(self.file)
        self.file = -1


_notes = _Notes()
atexit.register(_notes.close)


def note_programs(folder: str) -> None:
    """Note there from now on what this process starts; nowhere, without a folder."""
    if folder != _notes.folder:
        _notes.close()
        _notes.folder = folder


def notes_of(store: Store) -> str:
    """Where the programs are noted that work for runs of a store: beside it, if it is a file."""
    if store.path == MEMORY:
        return ""
    if "://" in store.path:
        return os.path.join(data_folder(), "agents")
    return f"{os.path.realpath(store.path)}.agents"


def end_leftovers(folder: str, grace: float = GRACE) -> int:
    """End the programs that were noted by processes that are gone; how many there were."""
    left = {group: moment for group, moment in _orphans(folder) if _is_there(group, moment)}
    for group in left:
        _signal_group(group, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while any(map(group_lives, left)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for group, moment in left.items():
        if _is_there(group, moment):
            _signal_group(group, signal.SIGKILL)
    return len(left)


def _orphans(folder: str) -> list[tuple[int, float]]:
    """What was noted by processes that are gone; their notes are taken away."""
    found: list[tuple[int, float]] = []
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        with suppress(OSError, ValueError), open(os.path.join(folder, name), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused as long as it is at work
            lines = [line.split() for line in file.read().decode().splitlines()]
            found += [(int(group), float(moment)) for group, moment in lines]
            os.unlink(file.name)
    return found


def _is_there(group: int, moment: float) -> bool:
    """Whether it is the same that was noted, at the head of a session of its own."""
    with suppress(OSError):
        return os.getsid(group) == group and abs(began(group) - moment) <= _CLOSE
    return False
