"""Logs as JSON: a line for each record, which any program can read."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.cli.servers import MOST_ALIKE, JsonLines, Sparing, log_as

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quandary.cli.servers import Form


def line(message: object, *words: object, error: Any = None, **added: object) -> dict[str, Any]:  # noqa: ANN401
    """A record as its line, which has to be one."""
    record = logging.LogRecord("some.where", logging.WARNING, "f.py", 1, str(message), words, error)
    vars(record).update(added)
    written = JsonLines().format(record)
    assert "\n" not in written
    loaded: dict[str, Any] = json.loads(written)
    return loaded


def test_a_record_says_when_how_grave_from_whom_and_what() -> None:
    """In UTC, with its words put in."""
    said = line("%s runs of %d", "two", 3)
    at = said.pop("at")
    assert said == {"level": "warning", "logger": "some.where", "message": "two runs of 3"}
    assert at.endswith("+00:00")
    assert at[10] == "T"


def test_what_came_along_stands_beside_it() -> None:
    """As it is where JSON can hold it, else as text; it never takes the place of what is ours."""
    said = line("done", run="01J", seconds=0.5, path=Path("a"), level="mine")
    assert (said["run"], said["seconds"], said["path"]) == ("01J", 0.5, "a")
    assert said["level"] == "warning"


def test_an_error_comes_with_its_traceback() -> None:
    """On the same line."""
    with pytest.raises(ValueError, match="invalid") as raised:
        int("no\nnumber")
    said = line("failed", error=(raised.type, raised.value, raised.tb))
    assert said["error"].startswith("ValueError: invalid literal")
    assert said["traceback"].startswith("Traceback")


@given(st.text(), st.dictionaries(st.text(min_size=1), st.text() | st.integers(), max_size=3))
def test_whatever_is_logged_is_one_line_of_json(message: str, added: dict[str, object]) -> None:
    """Newlines, half characters and large numbers too."""
    fields = {f"x{name}": value for name, value in added.items()}
    said = line(message, **fields)
    assert set(said) >= {
        "at",
        "level",
        "logger",
        "message",
        *(f"x{name}" for name in _whole(added)),
    }
    if message in _whole([message]):
        assert said["message"] == message


def _whole(texts: Iterable[str]) -> list[str]:
    """Those of the texts that can be written down at all."""
    return [text for text in texts if text.encode(errors="replace").decode() == text]


@pytest.fixture
def _loggers() -> Iterator[None]:
    """What a test does to the loggers is undone."""
    names = ("", "quandary", "psycopg.pool")
    before = {name: logging.getLogger(name).level for name in names}
    handlers = logging.root.handlers[:]
    logging.root.handlers.clear()
    yield
    logging.root.handlers[:] = handlers
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.usefixtures("_loggers")
def test_everything_in_the_process_is_logged_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever logs need not know about it."""
    log_as("json")
    logging.getLogger("a.b").info("hello", extra={"run": "01J", "color_message": "hello"})
    logging.getLogger("a.b").debug("too much")
    (written,) = capsys.readouterr().err.splitlines()
    said = json.loads(written)
    assert list(said) == ["at", "level", "logger", "message", "run"]
    assert (said["message"], said["run"], said["level"]) == ("hello", "01J", "info")


@pytest.mark.usefixtures("_loggers")
@pytest.mark.parametrize(
    ("form", "level", "ours", "theirs"),
    [
        ("text", "", "warning", "warning"),
        ("json", "", "info", "info"),
        ("json", "debug", "debug", "info"),
        ("text", "debug", "debug", "info"),
        ("text", "error", "error", "error"),
    ],
)
def test_how_much_is_logged(
    capsys: pytest.CaptureFixture[str], form: Form, level: str, ours: str, theirs: str
) -> None:
    """People hear of what goes wrong, programs of what happens; only our own rooms go deeper."""
    log_as(form, level)
    grades = ("debug", "info", "warning", "error")
    for name, least in (("quandary.web", ours), ("mcp.server", theirs), ("psycopg.pool", "error")):
        for grade in grades:
            getattr(logging.getLogger(name), grade)("%s of %s", grade, name)
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == len(grades) - grades.index(least)
        assert f"{least} of {name}" in lines[0]


def test_the_same_warning_is_not_logged_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one kind so many in a minute, whatever runs they name; of many kinds no more in all."""
    house = Sparing()

    def logged(level: int, message: str, *words: object) -> str:
        record = logging.LogRecord("some.where", level, "f.py", 1, message, words, None)
        return record.getMessage() if house.filter(record) else ""

    said = [logged(logging.WARNING, "run %s failed", number) for number in range(1000)]
    assert [line for line in said if line][:2] == ["run 0 failed", "run 1 failed"]
    assert said[MOST_ALIKE - 1] == f"run {MOST_ALIKE - 1} failed (no more such lines this minute)"
    assert not any(said[MOST_ALIKE:])
    assert logged(logging.ERROR, "something else")
    kinds = [logged(logging.WARNING, f"run {number} failed") for number in range(1000)]
    assert len([line for line in kinds if line]) <= 2 * MOST_ALIKE
    assert all(logged(logging.INFO, "a request") for _ in range(1000))
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    assert logged(logging.WARNING, "run %s failed", 1000)
