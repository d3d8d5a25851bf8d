"""A clock that jumps: runs keep their order, nothing expires by mistake, no age is negative."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import pytest

from quandary.doors.web.tokens import CODE_SECONDS, SESSION_SECONDS, Keys
from runs import CONTEXT

if TYPE_CHECKING:
    from faults.kit import Trouble

DAY = 86_400
NEGATIVE = re.compile(r"(?<![\w./:+-])-\d+(?:\.\d+)? ?(?:s|m|h|d|days?|hours?|minutes?)\b")
ASK = ("ask", "t.md", "--context", CONTEXT, "--item", "1|One")


def clock(seconds: int) -> str:
    """What sets the clocks of a child by so much."""
    return f"""\
import datetime, sys, time
_time, _real = time.time, datetime.datetime
time.time = lambda: _time() + {seconds}


class Shifted(_real):
    @classmethod
    def now(cls, tz=None):
        return _real.now(tz) + datetime.timedelta(seconds={seconds})


for name, module in list(sys.modules.items()):
    if name.startswith("quandary") and getattr(module, "datetime", None) is _real:
        module.datetime = Shifted
"""


def test_the_clock_of_a_child_is_set(trouble: Trouble) -> None:
    """Or the tests below would show nothing."""
    run = trouble.state(*ASK, before=clock(-365 * DAY))["run"]
    listed = trouble.state("runs", "--all", "--format", "json")["runs"]
    began = {one["run"]: one["began"] for one in listed}
    newest = max(began.values())
    assert int(began[run][:4]) == int(newest[:4]) - 1


@pytest.mark.parametrize("back", [1, DAY, 400 * DAY])
def test_runs_keep_their_order(trouble: Trouble, back: int) -> None:
    """A name sorts behind those before it, whatever the clock says, and none comes twice."""
    runs = [trouble.state(*ASK, before=clock(-back * turn))["run"] for turn in range(4)]
    runs.append(trouble.state(*ASK)["run"])
    assert runs == sorted(set(runs))
    listed = trouble.state("runs", "--all", "--format", "json")["runs"]
    assert [one["run"] for one in listed][:5] == runs[::-1]
    trouble.whole()


def test_an_answer_is_booked_and_told_before_its_question(trouble: Trouble) -> None:
    """The journal is in the order of what happened, not of what a clock said of it."""
    ended = trouble.start("reply", "{waiting}", "1.1: ok\n1.2: cut", before=clock(-30 * DAY))
    assert ended.status == 0, ended
    log = trouble.state("log", "{waiting}", "--format", "json")
    kinds = [entry["kind"] for entry in log["runs"][0]["entries"]]
    assert kinds.index("asked") < kinds.index("answered")
    trouble.whole()


@pytest.mark.parametrize("shift", [-30 * DAY, 30 * DAY])
@pytest.mark.parametrize(
    "words",
    [
        ("runs", "--all"),
        ("stats", "--all"),
        ("log", "{done}"),
        ("log", "--questions", "--all"),
        ("report", "{walked}"),
        ("report", "{walked}", "--format", "html"),
        ("phase", "status", "track"),
        ("verify",),
        ("doctor",),
    ],
)
def test_no_time_that_is_shown_is_negative(
    trouble: Trouble, words: tuple[str, ...], shift: int
) -> None:
    """What happened after now happened just now."""
    ended = trouble.start(*words, before=clock(shift))
    assert ended.status in (0, 1), ended
    assert "Traceback" not in ended.err
    assert (
        re.search(r"(?<![\w./:+-])-\d+(?:\.\d+)? ?(?:s|m|h|d|days?|hours?|minutes?)\b", ended.out)
        is None
    )


def test_how_long_a_phase_takes_is_never_negative(trouble: Trouble) -> None:
    """The gate says that it has just begun."""
    run = trouble.state("gate", "track")["run"]
    state = trouble.state("reply", run, "C", before=clock(-30 * DAY))
    assert "has only just begun" in json.dumps(state)


def test_a_clock_that_was_ahead_expires_nothing_before_its_time(trouble: Trouble) -> None:
    """What was asked for an hour, while the clock was ahead, waits for at least that hour."""
    run = trouble.state(*ASK, "--expires", "1h", before=clock(2 * DAY))["run"]
    assert trouble.state("next", run)["status"] == "waiting"
    assert trouble.state("reply", run, "ok")["status"] == "done"


@pytest.mark.parametrize("years", [1, 80])
def test_one_look_with_an_absurd_clock_withdraws_nothing(trouble: Trouble, years: int) -> None:
    """What waits is still there when the clock is right again."""
    run = trouble.state(*ASK, "--expires", "1h")["run"]
    for words in (("runs", "--all"), ("next", run), ("doctor",)):
        late = trouble.start(*words, before=clock(years * 366 * DAY))
        assert late.status in (0, 1), late
    assert trouble.state("next", run)["status"] == "waiting"
    assert trouble.state("reply", run, "ok")["status"] == "done"


def test_what_expired_stays_so_when_the_clock_jumps_back(trouble: Trouble) -> None:
    """Nobody is asked again what was withdrawn."""
    run = trouble.state(*ASK, "--expires", "1h")["run"]
    late = trouble.start("runs", "--all", before=clock(2 * DAY))
    assert late.status == 0, late
    ended = trouble.start("reply", run, "ok")
    assert (ended.status, "already answered" in ended.err) == (1, True), ended
    trouble.whole()


def test_what_is_young_is_not_pruned_by_a_clock_that_was_behind(trouble: Trouble) -> None:
    """Its age is what the clock says now, and a clock that is behind makes nothing older."""
    pruned = trouble.state("prune", "--older-than", "1d", "--all", before=clock(-30 * DAY))
    assert pruned["entries"] == 0
    trouble.whole()


# -- logins ----------------------------------------------------------------------------------------


def set_clock(monkeypatch: pytest.MonkeyPatch, shift: float, passed: float = 0.0) -> None:
    """Set the clock on the wall, and have some time pass."""
    wall, steady = time.time(), time.monotonic()
    monkeypatch.setattr(time, "time", lambda: wall + shift + passed)
    monkeypatch.setattr(time, "monotonic", lambda: steady + passed)


def test_a_code_lasts_no_longer_when_the_clock_jumps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of an hour is one, whatever the wall says."""
    keys = Keys(b"k" * 32)
    code, other = keys.new_code(), keys.new_code()
    set_clock(monkeypatch, -DAY, CODE_SECONDS - 10)
    assert keys.log_in(other) is not None
    set_clock(monkeypatch, -DAY, CODE_SECONDS + 10)
    assert keys.log_in(code) is None


def test_a_login_survives_a_clock_that_jumps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is thrown out by it, and whoever logged out stays out."""
    keys = Keys(b"k" * 32)
    one, two = (keys.log_in(keys.new_code()) for _ in range(2))
    assert one is not None
    assert two is not None
    keys.log_out(two)
    set_clock(monkeypatch, -DAY)
    assert keys.unseal(keys.seal(one)) == one
    assert keys.unseal(keys.seal(two)) is None
    set_clock(monkeypatch, SESSION_SECONDS + DAY)
    assert keys.unseal(keys.seal(one)) is None
