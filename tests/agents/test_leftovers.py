"""Programs that outlived whoever ran them: ended by whoever goes on, and no others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from outings import DONE, Outing, lucid
from program import PROGRAM, environment
from quandary.agents import leftovers
from quandary.agents.groups import group_lives
from quandary.agents.leftovers import began, end_leftovers
from quandary.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not began(os.getpid()), reason="the system does not tell")

SLEEP = "import time; time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"  # noqa: E501
GONE = "999999999-1"
"""The note of a process that is not there."""


@pytest.fixture
def outing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Outing:
    """A chart of one step."""
    made = Outing(tmp_path, capsys, monkeypatch)
    made.draw(lucid({"1": {"text": "Write the page", "tags": "NoValidation"}}, ""))
    return made


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    """A program in a session of its own."""
    yield from _running(SLEEP)


def until(found: Callable[[], bool]) -> None:
    """Wait for something that a program does."""
    deadline = time.monotonic() + 30
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _running(text: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", text], start_new_session=True) as started:
        yield started
        started.kill()


def noted(folder: Path, group: int, moment: str, *, system: str = "", name: str = GONE) -> Path:
    """A note that somebody left."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"{system or leftovers._system()}\n{group} {moment}", encoding="utf-8")
    return path


def test_an_agent_left_by_a_kill_is_ended_by_whoever_goes_on(outing: Outing) -> None:
    """It works on after the kill; it is gone when the run has been gone on with."""
    outing.says("ANN", {"says": DONE, "seconds": 60}, DONE)
    place = environment({"QUANDARY_STORE": str(outing.store)})
    with subprocess.Popen([*PROGRAM, "walk", "c.csv"], env=place) as driver:
        until(lambda: len(outing.calls) == 1)
        (note,) = (outing.folder / "journal.db.agents").iterdir()
        group = int(note.read_text(encoding="utf-8").split("\n")[1].split(" ")[0])
        driver.kill()
    assert group_lives(group)
    store = SqliteStore(outing.store)
    run = store.runs()[0].id
    store.close()
    assert outing.resume(run)["status"] == "done"
    until(lambda: not group_lives(group))
    assert not note.exists()


def test_nothing_is_left_of_a_walk_that_ended_by_itself(outing: Outing) -> None:
    """Neither a program nor a note."""
    place = environment({"QUANDARY_STORE": str(outing.store)})
    subprocess.run([*PROGRAM, "walk", "c.csv"], env=place, check=True, capture_output=True)
    assert outing.called == ["ANN"]
    assert not (outing.folder / "journal.db.agents").exists()


def test_the_programs_of_a_living_process_are_left_alone(
    tmp_path: Path, program: subprocess.Popen[bytes]
) -> None:
    """It sees to them itself."""
    name = f"{os.getpid()}-{began(os.getpid())}"
    path = noted(tmp_path / "notes", program.pid, began(program.pid), name=name)
    assert end_leftovers(str(tmp_path / "notes")) == 0
    assert program.poll() is None
    assert path.exists()


@pytest.mark.parametrize("other", ["1", "x"])
def test_another_program_of_the_same_number_is_left_alone(
    tmp_path: Path, program: subprocess.Popen[bytes], other: str
) -> None:
    """One that did not begin when the note says so is not the one that is meant."""
    path = noted(tmp_path / "notes", program.pid, other)
    assert end_leftovers(str(tmp_path / "notes")) == 0
    assert program.poll() is None
    assert not path.exists()


def test_a_program_that_leads_no_session_is_left_alone(tmp_path: Path) -> None:
    """Ours always do, so it is somebody else's."""
    with subprocess.Popen([sys.executable, "-c", SLEEP]) as program:
        noted(tmp_path / "notes", program.pid, began(program.pid))
        assert end_leftovers(str(tmp_path / "notes")) == 0
        assert program.poll() is None
        program.kill()


def test_notes_of_another_system_mean_nothing_here(
    tmp_path: Path, program: subprocess.Popen[bytes]
) -> None:
    """The same numbers belong to others there; after a week their note goes."""
    path = noted(tmp_path / "notes", program.pid, began(program.pid), system="another one")
    assert end_leftovers(str(tmp_path / "notes")) == 0
    assert path.exists()
    long_ago = time.time() - 8 * 24 * 3600
    os.utime(path, (long_ago, long_ago))
    assert end_leftovers(str(tmp_path / "notes")) == 0
    assert not path.exists()
    assert program.poll() is None


def test_whoever_does_not_listen_is_made_to_end(tmp_path: Path) -> None:
    """First it is asked."""
    with subprocess.Popen(
        [sys.executable, "-c", DEAF], start_new_session=True, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        noted(tmp_path / "notes", program.pid, began(program.pid))
        assert end_leftovers(str(tmp_path / "notes"), grace=0.2) == 1
        assert program.wait(10) == -signal.SIGKILL


@pytest.mark.parametrize("text", ["", "nonsense", "a b c\nd\n", "\x00\n1 2 3"])
def test_a_note_that_cannot_be_read_does_no_harm(tmp_path: Path, text: str) -> None:
    """Nothing is ended on its word."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / GONE).write_text(text, encoding="utf-8")
    (tmp_path / "notes" / "README").write_text("hello", encoding="utf-8")
    assert end_leftovers(str(tmp_path / "notes")) == 0
    assert end_leftovers(str(tmp_path / "nowhere")) == 0
