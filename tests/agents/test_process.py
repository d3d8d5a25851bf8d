"""Programs that behave badly are run to their end all the same, and nothing of them remains."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from processes import children
from quandary.agents.process import (
    MOST_ERRORS,
    Command,
    NotStarted,
    Ran,
    drive,
    note_programs,
    run,
)
from quandary.settings.agents import MOST

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
FAKE = HERE / "fake.py"
ENVIRONMENT = {"PATH": os.environ["PATH"]}
GRACE = 0.3


def command(
    *words: str, stdin: bytes | None = None, timeout: float | None = 30, most: int = MOST
) -> Command:
    """A fake agent, called."""
    argv = (sys.executable, "-IS", str(FAKE), *words)
    return Command(argv, ENVIRONMENT, str(HERE), stdin, timeout, most)


def ran(
    *words: str, stdin: bytes | None = None, timeout: float | None = 30, most: int = MOST
) -> Ran:
    """What came of a fake agent, with nothing gone wrong behind the scenes."""
    called = command(*words, stdin=stdin, timeout=timeout, most=most)
    hidden: list[object] = []

    async def watched() -> Ran:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: hidden.append(what))
        return await run(called, grace=GRACE)

    found = asyncio.run(watched())
    assert hidden == []
    return found


def alive(number: int) -> bool:
    """Whether a process runs, as the system sees it."""
    try:
        stat = Path(f"/proc/{number}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[0] not in (b"Z", b"X")


def descriptors() -> set[str]:
    """The files that we have open."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing's own, or one that was closed meanwhile
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
    return found


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    """After every test: no child, not even a dead one, and no open file more than before."""
    note_programs("")  # where a test before this one had them noted, the file is still open
    before, opened = children(), descriptors()
    yield
    assert children() <= before
    assert descriptors() <= opened


# -- what comes back -----------------------------------------------------------------------------


def test_output_errors_and_status_come_back() -> None:
    """What was printed where, and how it ended."""
    assert ran("say", "two", "words").out == "two words"
    failed = ran("complain", "3", "not", "today")
    assert (failed.status, failed.out, failed.err) == (3, "", "not today")
    assert not failed.timed_out
    assert not failed.truncated
    assert ran("killed").status == -signal.SIGSEGV


def test_time_is_measured() -> None:
    """The seconds are those that it took."""
    begun = time.perf_counter()
    seconds = ran("say", "x").seconds
    assert 0 < seconds <= time.perf_counter() - begun


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 3_000_000])
def test_input_arrives_whole(size: int) -> None:
    """Standard input has every byte and an end."""
    assert ran("count", stdin=b"\0" * size).out == f"{size}\n"


def test_without_input_there_is_an_end_at_once() -> None:
    """A program that reads what nobody gave it does not wait for ever."""
    assert ran("count").out == "0\n"


def test_input_may_be_left_unread() -> None:
    """Whoever closes its input without reading a megabyte of it has answered all the same."""
    assert ran("ignore_input", stdin=b"x" * 1_000_000).out == "did not read it\n"
    assert ran("say", "at once", stdin=b"x" * 1_000_000).out == "at once"


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("", ""),
        ("61", "a"),
        ("610a62", "a\nb"),
        ("61e282", "a�"),
        ("ff00fe", "�\0�"),
        ("e282ac0d0a", "€\r\n"),
        ("eda080", "���"),
    ],
)
def test_any_bytes_are_text(printed: str, expected: str) -> None:
    """Bytes that are no UTF-8 are marked; all others are kept, with or without an end of line."""
    assert ran("raw", printed).out == expected


def test_a_flood_is_cut_in_the_middle() -> None:
    """Of too much output the beginning and the end stay, and it is said how much is missing."""
    flooded = ran("flood", "30", most=1_000_000)
    assert flooded.truncated
    assert flooded.status == 0
    assert flooded.out.startswith("<begin>xxx")
    assert flooded.out.endswith("xxx<end>")
    missing = 30_000_000 + len("<begin><end>") - 1_000_000
    assert f"\n[… {missing:,} bytes left out …]\n" in flooded.out
    assert len(flooded.out) < 1_000_100


def test_what_just_fits_is_kept() -> None:
    """The limit itself is not too much, and one byte more is."""
    size = 1_000_000 + len("<begin><end>")
    assert len(ran("flood", "1", most=size).out) == size
    assert not ran("flood", "1", most=size).truncated
    assert ran("flood", "1", most=size - 2).truncated


def test_standard_error_is_read_too() -> None:
    """Nobody has to wait because errors are not read; they are cut as well."""
    noisy = ran("flood_errors", "3")
    assert noisy.out == "done\n"
    assert "bytes left out" in noisy.err
    assert len(noisy.err) < MOST_ERRORS + 100
    assert not noisy.truncated


# -- how it ends ---------------------------------------------------------------------------------


def test_time_up_is_said_politely_first() -> None:
    """A program gets the chance to end well, and what it says then still counts as printed."""
    ended = ran("polite", timeout=0.4)
    assert ended.timed_out
    assert ended.out == "waiting\ngoodbye\n"
    assert ended.seconds < 2


def test_whoever_ignores_it_is_made_to_end() -> None:
    """A program that does not listen is ended by force."""
    ended = ran("stubborn", timeout=0.4)
    assert ended.timed_out
    assert ended.status == -signal.SIGKILL
    assert not alive(int(ended.out))
    assert 0.6 < ended.seconds < 3


@pytest.mark.parametrize("how", ["wait", "stubborn"])
def test_time_up_ends_the_whole_tree(how: str) -> None:
    """Children and their children end with the program, whether they listen or not."""
    ended = ran("family", "2", how, timeout=1.2)
    numbers = [int(line) for line in ended.out.split()]
    assert ended.timed_out
    assert len(numbers) == 3
    assert not any(alive(number) for number in numbers)


def test_children_that_hold_the_output_do_not_hold_us() -> None:
    """When the program has ended, what it left running is ended soon after."""
    ended = ran("family", "1", "leave")
    numbers = [int(line) for line in ended.out.split()]
    assert (ended.status, ended.timed_out) == (0, False)
    assert len(numbers) == 2
    assert not any(alive(number) for number in numbers)
    assert ended.seconds < 3


def test_children_that_print_nothing_end_too() -> None:
    """A child that let go of the output is found all the same."""
    ended = ran("quiet_child")
    assert ended.status == 0
    assert not alive(int(ended.out))


def test_a_child_in_a_session_of_its_own_is_not_waited_for() -> None:
    """Whoever left the group cannot be ended with it; its hold on the output does not matter."""
    ended = ran("escape")
    assert ended.out == "gone\n"
    assert ended.seconds < 2


def test_an_end_at_once_is_no_end_of_us() -> None:
    """A program that has ended before it is looked at is a program that has ended."""
    argv = ("/bin/true",) if os.path.exists("/bin/true") else ("/usr/bin/true",)
    for given in (None, b"", b"x" * 200_000):
        ended = asyncio.run(run(Command(argv, ENVIRONMENT, "/", given, 10)))
        assert (ended.status, ended.out) == (0, "")


# -- interruption --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hang", "stubborn"])
def test_a_cancelled_task_ends_its_program(name: str) -> None:
    """Nothing runs on when nobody wants to know any more."""

    async def interrupt() -> int:
        task = asyncio.create_task(run(command(name), grace=GRACE))
        while not (before := children() - known):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return before.pop()

    known = children()
    assert not alive(asyncio.run(interrupt()))


def test_cancelling_twice_does_not_wait() -> None:
    """Whoever insists on stopping gets it at once, and by force."""

    async def interrupt() -> tuple[int, float]:
        task = asyncio.create_task(run(command("stubborn"), grace=60))
        while not (started := children() - known):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        begun = time.perf_counter()
        task.cancel()
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return started.pop(), time.perf_counter() - begun

    known = children()
    number, seconds = asyncio.run(interrupt())
    assert not alive(number)
    assert seconds < 2


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("name", ["hang", "stubborn"])
def test_signals_to_us_end_the_agents(signum: signal.Signals, name: str) -> None:
    """Ctrl-C, a polite kill and a lost terminal leave no agent running."""
    words = [sys.executable, str(HERE / "driver.py"), name]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as driver:
        numbers: set[int] = set()
        while not numbers and driver.poll() is None:
            listed = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
            numbers = {int(number) for number in listed}
            time.sleep(0.01)
        time.sleep(0.2)
        driver.send_signal(signum)
        said, _ = driver.communicate(timeout=20)
    assert said == "interrupted\n"
    assert driver.returncode == 130
    assert numbers
    assert not any(alive(number) for number in numbers)


def test_driving_returns_what_comes_of_it() -> None:
    """From ordinary code, also outside of the main thread."""
    assert drive(run(command("say", "x"))).out == "x"
    assert asyncio.run(asyncio.to_thread(lambda: drive(run(command("say", "y"))))).out == "y"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


# -- programs that cannot be started -------------------------------------------------------------


def test_programs_that_cannot_be_started(tmp_path: Path) -> None:
    """What is missing is named: the program, the permission, the folder."""
    plain = tmp_path / "plain"
    plain.write_text("no program")
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x7fELF but not really")
    odd.chmod(0o755)
    cases = {
        ("no-such-program",): "the program no-such-program was not found",
        (str(tmp_path / "none"),): "was not found",
        (str(plain),): "is not executable",
        (str(tmp_path),): "is not executable",
        (str(odd),): "cannot be started: Exec format error",
        (sys.executable, "a\0b"): "cannot be given this",
        (sys.executable, "x" * 3_000_000): "cannot be started: Argument list too long",
    }
    for argv, message in cases.items():
        with pytest.raises(NotStarted, match=message):
            asyncio.run(run(Command(argv, ENVIRONMENT, str(tmp_path))))
    with pytest.raises(NotStarted, match=r"the working directory .* is not there"):
        asyncio.run(run(Command((sys.executable,), ENVIRONMENT, str(tmp_path / "none"))))


def test_a_command_does_not_show_its_environment() -> None:
    """A key cannot get into a log by way of a message about the command."""
    shown = repr(Command(("program", "prompt"), {"API_KEY": "sk-secret"}, "/", b"input"))
    assert shown == "Command('program', 1 arguments)"


# -- many ----------------------------------------------------------------------------------------


def test_many_at_once_stay_apart() -> None:
    """Programs that run at the same time get their own input and give their own output."""

    async def all_of_them() -> list[Ran]:
        calls = [command("count", stdin=b"x" * (1000 * n)) for n in range(30)]
        return await asyncio.gather(*(run(one) for one in calls))

    assert [one.out for one in asyncio.run(all_of_them())] == [f"{1000 * n}\n" for n in range(30)]


def test_all_kinds_at_once_leave_nothing() -> None:
    """Good and bad programs side by side, each with its own outcome, and nothing left of any."""
    kinds: dict[tuple[str, ...], tuple[int, bool]] = {
        ("say", "x"): (0, False),
        ("raw", "e282"): (0, False),
        ("complain", "7", "x"): (7, False),
        ("flood", "2"): (0, False),
        ("hang",): (-signal.SIGTERM, True),
        ("stubborn",): (-signal.SIGKILL, True),
        ("quiet_child",): (0, False),
        ("ignore_input",): (0, False),
    }

    async def all_of_them() -> list[Ran]:
        calls = [
            command(*words, timeout=2 if timed_out else 60, stdin=b"x" * 100_000)
            for words, (_, timed_out) in kinds.items()
            for _ in range(3)
        ]
        return await asyncio.gather(*(run(one, grace=GRACE) for one in calls))

    found = [(one.status, one.timed_out) for one in asyncio.run(all_of_them())]
    assert found == [outcome for outcome in kinds.values() for _ in range(3)]
