"""Running a program: never through a shell, never for longer than allowed, and never left behind.

A program runs in a session of its own, so that it and whatever it starts can be ended as one group.
Its output is read while it runs. When it ends, by itself or not, its group ends with it: first the
group is asked to, and after a while it is made to.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from quandary.agents import leftovers
from quandary.agents.leftovers import group_lives, reap_group, signal_group
from quandary.errors import QuandaryError
from quandary.flows.responses import GAP
from quandary.settings.agents import MOST

if TYPE_CHECKING:
    from collections.abc import Coroutine

    T = TypeVar("T")

GRACE = 5.0
"""Seconds between asking a group to end and making it."""
LINGER = 0.25
"""Seconds that a program's children may go on printing when it has ended."""
MOST_ERRORS = 1024 * 1024
"""The bytes of standard error that are kept."""
_DYING = 2.0
"""Seconds within which even a busy system ends what cannot refuse."""
_CHUNK = 256 * 1024
_DRAINED_CHUNKS = 64


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
    status: int
    """Below zero: the signal that ended it."""
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
    return Ran(
        running.out.text(),
        running.err.text(),
        running.process.returncode,
        time.perf_counter() - begun,
        running.out.truncated,
        timed_out,
    )


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run a task from ordinary code. Ctrl-C, a hang-up or a polite kill end its programs first."""

    async def interruptible() -> T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        caught = []
        if threading.current_thread() is threading.main_thread():
            caught = [one for one in _POLITE if signal.getsignal(one) is signal.SIG_DFL]
        for one in caught:
            loop.add_signal_handler(one, task.cancel)
        try:
            return await work
        finally:
            for one in caught:
                loop.remove_signal_handler(one)

    with asyncio.Runner() as runner:
        try:
            return runner.run(interruptible())
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


_POLITE = (signal.SIGTERM, signal.SIGHUP) if os.name == "posix" else ()


def _start(command: Command) -> subprocess.Popen[bytes]:
    program = command.argv[0]
    if os.name != "posix":
        raise NotStarted(f"{program} cannot be run here; agents need Linux or macOS")
    given = subprocess.DEVNULL if command.stdin is None else subprocess.PIPE
    try:
        return subprocess.Popen(  # noqa: S603 - words, not a shell's line
            command.argv,
            bufsize=0,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=command.folder,
            env=command.env,
            start_new_session=True,
        )
    except ValueError as error:
        raise NotStarted(f"{program} cannot be given this: {error}") from None
    except OSError as error:
        raise NotStarted(_why(program, command.folder, error)) from None


def _why(program: str, folder: str, error: OSError) -> str:
    if not os.path.isdir(folder):
        return f"the working directory {folder} is not there"
    if isinstance(error, FileNotFoundError):
        return f"the program {program} was not found; install it, or name its full path"
    if isinstance(error, PermissionError):
        return f"the program {program} is not executable"
    return f"the program {program} cannot be started: {error.strerror}"


class _Kept:
    """The beginning and the end of a stream, of the size that is allowed."""

    def __init__(self, most: int) -> None:
        self.half = most // 2
        self.head, self.tail = bytearray(), bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        room = self.half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self.half:
            self._trim()

    def _trim(self) -> None:
        over = len(self.tail) - self.half
        if over > 0:
            self.dropped += over
            del self.tail[:over]

    @property
    def truncated(self) -> bool:
        return self.dropped > 0

    def text(self) -> str:
        """Bytes that are no UTF-8 are shown as such; what was dropped is counted."""
        self._trim()
        if not self.dropped:
            return (self.head + self.tail).decode("utf-8", "replace")
        gap = f"\n{GAP.format(self.dropped)}\n"
        return self.head.decode("utf-8", "replace") + gap + self.tail.decode("utf-8", "replace")


class _Running:
    """A program under way in an event loop."""

    def __init__(self, command: Command, process: subprocess.Popen[bytes], grace: float) -> None:
        self.command, self.process, self.grace = command, process, grace
        self.loop = asyncio.get_running_loop()
        self.out, self.err = _Kept(command.most), _Kept(MOST_ERRORS)
        self.exited: asyncio.Future[None] = self.loop.create_future()
        self.silent: asyncio.Future[None] = self.loop.create_future()
        """Nobody can print any more."""
        self.streams: dict[int, _Kept] = {}
        self.unsent = memoryview(command.stdin or b"")
        self.watch = -1
        leftovers.started(process.pid)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 - they are pipes
        assert self.process.stderr is not None  # noqa: S101 - as above
        for stream, kept in ((self.process.stdout, self.out), (self.process.stderr, self.err)):
            number = stream.fileno()
            os.set_blocking(number, False)
            self.streams[number] = kept
            self.loop.add_reader(number, self._read, number)
        if self.process.stdin is not None:
            os.set_blocking(self.process.stdin.fileno(), False)
            self.loop.add_writer(self.process.stdin.fileno(), self._write)
        try:
            self.watch = os.pidfd_open(self.process.pid)
        except (AttributeError, OSError):
            threading.Thread(target=self._wait, daemon=True).start()
        else:
            self.loop.add_reader(self.watch, self._exit)

    # -- what happens to it ----------------------------------------------------------------------

    def _exit(self) -> None:
        if self.watch >= 0:
            self.loop.remove_reader(self.watch)
        if not self.exited.done():
            self.exited.set_result(None)

    def _wait(self) -> None:
        """Where the system cannot tell the event loop that a process has ended, a thread does."""
        self.process.wait()
        with contextlib.suppress(RuntimeError):  # the loop may be gone by now
            self.loop.call_soon_threadsafe(self._exit)

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

    # -- how it ends -----------------------------------------------------------------------------

    async def end(self) -> bool:
        """Wait for the end, or bring it about; whether the time was up."""
        try:
            await asyncio.wait([self.exited], timeout=self.command.timeout)
            timed_out = not self.exited.done()
            if timed_out:
                await self._stop()
            else:
                await asyncio.wait([self.silent], timeout=LINGER)
                self.process.wait()
                if group_lives(self.process.pid):
                    await self._stop()
        except asyncio.CancelledError:
            await self._stop()
            raise
        return timed_out

    async def _stop(self) -> None:
        """End the group: ask, wait a while, insist."""
        signal_group(self.process.pid, signal.SIGTERM)
        if not await self._gone_within(self.grace):
            signal_group(self.process.pid, signal.SIGKILL)
            await self._gone_within(_DYING)

    async def _gone_within(self, seconds: float) -> bool:
        """Whether the whole group has ended by then."""
        deadline = self.loop.time() + seconds
        await asyncio.wait([self.exited], timeout=seconds)
        if self.exited.done():
            self.process.wait()
        pause = 0.001
        while group_lives(self.process.pid):
            if self.loop.time() >= deadline:
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)
        return True

    def close(self) -> None:
        """Let go of everything. Whatever still runs is ended at once."""
        for number in list(self.streams):
            for _ in range(_DRAINED_CHUNKS):
                if not self._read(number):
                    break
            self.loop.remove_reader(number)
        if self.watch >= 0:
            self.loop.remove_reader(self.watch)
            os.close(self.watch)
            self.watch = -1
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                self.loop.remove_writer(stream.fileno())
                stream.close()
        group = self.process.pid
        if group_lives(group):
            signal_group(group, signal.SIGKILL)
        self.process.wait()
        reap_group(group)
        leftovers.ended(group)
