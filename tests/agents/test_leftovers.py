"""Programs that outlived whoever ran them: ended by whoever goes on, and no others."""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from program import PROGRAM, environment
from quandary.agents.process import began, end_leftovers, group_lives
from quandary.journal.sqlite import SqliteStore
from walk_projects import DONE, WalkProject, lucid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SLEEP = "import time; time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"  # noqa: E501
GONE = "999999999-1"
"""The note of a process that is not there, and so keeps no lock on it."""


@pytest.fixture
def outing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> WalkProject:
    """A chart of one step."""
    made = WalkProject(tmp_path, capsys, monkeypatch)
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


def noted(folder: Path, group: int, moment: float | str | None) -> Path:
    """A note that somebody left."""
    folder.mkdir(exist_ok=True)
    path = folder / GONE
    path.write_text(f"{group} {moment}\n", encoding="utf-8")
    return path


def test_an_agent_left_by_a_kill_is_ended_by_whoever_goes_on(outing: WalkProject) -> None:
    """It works on after the kill; it is gone when the run has been gone on with."""
    outing.says("ANN", {"says": DONE, "seconds": 60}, DONE)
    place = environment({"QUANDARY_STORE": str(outing.store)})
    with subprocess.Popen([*PROGRAM, "walk", "c.csv"], env=place) as driver:
        until(lambda: len(outing.calls) == 1)
        (note,) = (outing.folder / "journal.db.agents").iterdir()
        group = int(note.read_text(encoding="utf-8").split(" ")[0])
        driver.kill()
    assert group_lives(group)
    store = SqliteStore(outing.store)
    run = store.runs()[0].id
    store.close()
    assert outing.resume(run)["status"] == "done"
    until(lambda: not group_lives(group))
    assert not note.exists()


def test_nothing_is_left_of_a_walk_that_ended_by_itself(outing: WalkProject) -> None:
    """Neither a program nor a note."""
    place = environment({"QUANDARY_STORE": str(outing.store)})
    subprocess.run([*PROGRAM, "walk", "c.csv"], env=place, check=True, capture_output=True)
    assert outing.called == ["ANN"]
    assert not (outing.folder / "journal.db.agents").exists()


def test_the_programs_of_a_living_process_are_left_alone(
    tmp_path: Path, program: subprocess.Popen[bytes]
) -> None:
    """It sees to them itself."""
    path = noted(tmp_path / "notes", program.pid, began(program.pid))
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert end_leftovers(str(tmp_path / "notes")) == 0
    assert program.poll() is None
    assert path.exists()
    assert end_leftovers(str(tmp_path / "notes")) == 1


@pytest.mark.parametrize("other", ["1", "x"])
def test_another_program_of_the_same_number_is_left_alone(
    tmp_path: Path, program: subprocess.Popen[bytes], other: str
) -> None:
    """One that did not begin when the note says so is not the one that is meant."""
    noted(tmp_path / "notes", program.pid, other)
    assert end_leftovers(str(tmp_path / "notes")) == 0
    assert program.poll() is None


def test_a_program_that_leads_no_session_is_left_alone(tmp_path: Path) -> None:
    """Ours always do, so it is somebody else's."""
    with subprocess.Popen([sys.executable, "-c", SLEEP]) as program:
        noted(tmp_path / "notes", program.pid, began(program.pid))
        assert end_leftovers(str(tmp_path / "notes")) == 0
        assert program.poll() is None
        program.kill()


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
