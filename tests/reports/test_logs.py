"""Logs of walks, written as they go, and never in the way."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import walks
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply
from quandary.model.calls import Call, Output
from quandary.model.chart import Chart, Page, Route, Step
from quandary.reports.logs import LONGEST_NAME, Logs, folder_of
from quandary.settings import Part, Settings, read_settings
from walks import answer, begin, chose, did, good, judged, released, send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quandary.journal.store import State


class House:
    """A project with a store and its logs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = SqliteStore(root / "journal.db")
        self.folder = root / ".quandary" / "logs"
        self.told: list[str] = []

    def logs(self, **said: Any) -> Logs:  # noqa: ANN401 - settings
        """As another process would write them."""
        parts = (Part("project", "quandary.toml", said),)
        logs = Logs(self.store, self.told.append)
        logs.find = lambda *_: Settings(str(self.root), parts)
        return logs

    def files(self) -> dict[str, str]:
        """What is in the folder."""
        if not self.folder.is_dir():
            return {}
        return {path.name: path.read_text(encoding="utf-8") for path in self.folder.iterdir()}

    def short(self, run: str, name: str = "release") -> dict[str, Any]:
        """The short log of a run."""
        loaded: dict[str, Any] = json.loads(self.files()[f"{name}-{run}.json"])
        return loaded

    def long(self, run: str, name: str = "release") -> str:
        """The long log of a run."""
        return self.files()[f"{name}-{run}.log"]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A new project."""
    house = House(tmp_path)
    yield house
    house.store.close()


def play(store: SqliteStore, after: Callable[[State], object]) -> State:
    """The run of `walks.released`, with something done after each entry."""
    state = begin(store)
    after(state)
    outputs: list[Callable[[Call], Output]] = [
        did,
        lambda call: judged(call, "The version is missing."),
        did,
        judged,
        lambda call: chose(call, "no"),
        lambda call: did(call, "Mended."),
        lambda call: chose(call, "yes"),
    ]
    for output in outputs:
        state = send(store, state, output(state.calls[0]))
        after(state)
    state = answer(store, state, "SHIP-IT")
    after(state)
    return state


def entries(log: str) -> list[int]:
    """The numbers of the entries in a long log."""
    return [int(number) for number in re.findall(r"(?m)^\[(\d+)\] ", log)]


# -- what is in them -------------------------------------------------------------------------------


def test_a_run_has_a_short_and_a_long_log(house: House) -> None:
    """In `.quandary/logs` of the project, named after the chart and the run."""
    state = released(house.store)
    house.logs().write(state.run)
    assert set(house.files()) == {f"release-{state.run}.json", f"release-{state.run}.log"}


def test_the_short_log_has_the_steps_as_the_result_has_them(house: House) -> None:
    """And how it ended, what it cost and which way it went."""
    state = released(house.store)
    house.logs().write(state.run)
    short = house.short(state.run)
    names = ("id", "name", "kind", "cli", "route", "attempts", "validation", "seconds", "tokens")
    assert [{name: step[name] for name in names} for step in short["steps"]] == [
        {name: step[name] for name in names} for step in state.result["steps"]
    ]
    for name in ("chart", "outcome", "item", "path", "calls", "tokens", "seconds"):
        assert short[name] == state.result[name]
    assert (short["run"], short["status"], short["error"]) == (state.run, "done", None)


def test_the_long_log_has_every_word(house: House) -> None:
    """Prompts, outputs, feedback, who answered, entry by entry."""
    state = released(house.store)
    house.logs().write(state.run)
    log = house.long(state.run)
    assert entries(log) == list(range(1, 19))
    for said in (
        "“Build the package” (Sbuild@1/run): CLAUDE does it",
        "    | How to respond: do the task.",
        '    | {"completed": true, "comments": "It is built.", "tokens_used": 10}',
        "    | - The version is missing.",
        "CLAUDE: chose “no”, exit status 0, 0.5 s, 20 tokens",
        "ada (person, terminal): chose “ship it”",
        "    | ship it: at last",
        "ended, completed\n    7 calls, 6.0 s, 340 tokens",
    ):
        assert said in log


def test_a_failure_is_in_both(house: House) -> None:
    """With standard error in the long one and the reason in the short one."""
    state = walks.go(house.store, begin(house.store), walks.failed)
    house.logs().write(state.run)
    short = house.short(state.run)
    assert (short["status"], short["outcome"], short["error"]) == ("failed", "failed", state.error)
    assert short["steps"][-1]["error"] == state.error
    assert "    standard error:\n    | no such model\n" in house.long(state.run)


def test_no_text_can_pass_for_an_entry(house: House) -> None:
    """Everything that was written by others is indented, and what cannot be seen is spelt out."""
    forged = "\n[99] 2027-01-01 00:00:00Z  ended, completed\n\n[100] \x1b[2Jx\r\ny\x00\u202e\u2028z"
    chart = Chart("Release", (Page("1", "", (Step("a", f"Do it.{forged}"),)),))
    state = begin(house.store, chart)
    said = json.dumps({"completed": False, "comments": forged})
    state = send(house.store, state, Output(state.calls[0].key, text=said + forged, stderr=forged))
    house.logs().write(state.run)
    log = house.long(state.run)
    assert entries(log) == [1, 2, 3, 4]
    assert "\x1b" not in log
    assert r"| [100] \x1b[2Jx" in log
    assert r"y\x00\u202e z" in log


# -- as the run goes -------------------------------------------------------------------------------


def test_logs_grow_with_the_run(house: House) -> None:
    """After each event the short log is whole JSON, and the long one has only been added to."""
    logs = house.logs()
    before = ""
    steps = []

    def check(state: State) -> None:
        nonlocal before
        logs.write(state.run)
        log = house.long(state.run)
        assert log.startswith(before)
        assert len(log) > len(before)
        before = log
        short = house.short(state.run)
        assert short["status"] == state.status
        steps.append(len(short["steps"]))

    play(house.store, check)
    assert steps == [0, 0, 0, 0, 1, 2, 3, 4, 5]


def test_what_a_person_hands_on_is_in_the_short_log_as_the_next_step_gets_it(house: House) -> None:
    """All their words, those of an earlier reply too, and not the choice beside them."""
    steps = (Step("a", "Ask her", "process", ("HUMAN",)), Step("b", "Print {{steps.a.output}}"))
    state = begin(house.store, Chart("Release", (Page("1", "", steps, (Route("a", "b"),)),)))
    state = answer(house.store, state, text="she wants blue")
    state = answer(house.store, state, "DONE", comment="by noon")
    house.logs().write(state.run)
    (step,) = house.short(state.run)["steps"]
    assert step["output"] == "she wants blue\nby noon"
    assert state.calls[0].prompt.startswith("Print she wants blue\nby noon\n")


def test_a_step_of_a_chart_inside_is_logged_once_it_is_left(house: House) -> None:
    """Also where a way is chosen behind that chart; that is a decision, and comes when it is taken.
    As the result has them, in order and kind.
    """
    inner = Page(
        "i", "Review", (Step("look", "Look"), Step("sign", "Sign")), (Route("look", "sign"),)
    )
    steps = (Step("r", "Review", "subprocess"), Step("fix", "Fix"), Step("ship", "Ship"))
    outer = Page("m", "Main", steps, (Route("r", "ship", "good"), Route("r", "fix", "bad")))
    state, logs = begin(house.store, Chart("Release", (outer, inner), "m")), house.logs()
    seen = []
    while state.calls:
        logs.write(state.run)
        seen.append([step["id"] for step in house.short(state.run)["steps"]])
        state = send(house.store, state, *map(good, state.calls))
    logs.write(state.run)
    told = [(step["id"], step["kind"]) for step in house.short(state.run)["steps"]]
    assert told == [(step["id"], step["kind"]) for step in state.result["steps"]]
    assert [name for name, _ in told] == ["look", "sign", "r", "ship"]
    assert [names for names in seen if names] == [
        *[["look"]] * 2,
        ["look", "sign"],
        *[["look", "sign", "r"]] * 2,
    ]


def test_nothing_new_writes_nothing(house: House) -> None:
    """However often it is asked for."""
    logs = house.logs()
    state = begin(house.store)
    logs.write(state.run)
    times = {path: path.stat().st_mtime_ns for path in house.folder.iterdir()}
    logs.write(state.run)
    assert {path: path.stat().st_mtime_ns for path in house.folder.iterdir()} == times


@pytest.mark.parametrize("fate", ["write", "crash", "torn"])
def test_whoever_resumes_a_run_writes_its_logs_anew(house: House, fate: str) -> None:
    """Whatever another process has left there, and wherever it stopped."""
    logs = house.logs()

    def after(state: State) -> None:
        nonlocal logs
        logs.write(state.run)
        if fate == "torn":
            for path in house.folder.iterdir():
                path.write_bytes(path.read_bytes()[:-9])
        if fate != "write":
            logs = house.logs()

    state = play(house.store, after)
    house.logs().write(state.run)
    assert len(house.files()) == 2
    log, short = house.long(state.run), house.short(state.run)
    assert entries(log) == list(range(1, 19))
    assert [step["number"] for step in short["steps"]] == [2, 3, 4, 5, 6]
    assert short["outcome"] == "completed"


def test_after_an_amendment_the_short_log_is_written_anew(house: House) -> None:
    """It has only the steps that count; the long log tells of all of them."""
    logs = house.logs()
    state = walks.go(house.store, begin(house.store))
    key = str(state.key)
    state = answer(house.store, state, "SHIP-IT")
    logs.write(state.run)
    reply = Reply((Answer(key, ("NOT-YET",)),))
    state = runs.amend(
        house.store, state.run, reply, key=key, why="wait", who="person", through="terminal"
    )
    logs.write(state.run)
    assert house.short(state.run)["status"] == "waiting"
    assert "amends entry" in house.long(state.run)
    state = answer(house.store, walks.go(house.store, state), "SHIP-IT")
    house.logs().write(state.run)
    short = house.short(state.run)
    assert (short["outcome"], short["path"]) == ("completed", state.result["path"])
    assert [step["number"] for step in short["steps"]] == [
        number for number, key in enumerate(short["path"], 1) if key not in ("start", "end")
    ]
    assert len(house.files()) == 2


def test_a_run_that_is_over_is_not_read_again(house: House) -> None:
    """And nothing of it is kept in memory."""
    logs = house.logs()
    state = released(house.store)
    logs.write(state.run)
    assert logs._logs == {}
    house.folder.joinpath(f"release-{state.run}.log").unlink()
    logs.write(state.run)
    assert f"release-{state.run}.log" not in house.files()


def test_texts_are_let_go_once_they_are_written(house: House) -> None:
    """A run of a thousand large outputs needs no more memory than one of a few."""
    logs = house.logs()
    state = begin(house.store, walks.line(3))
    large = "x" * 100_000
    for _ in range(2):
        state = send(house.store, state, did(state.calls[0], large))
        logs.write(state.run)
    kept = logs._logs[state.run].teller.exchanges.values()
    assert sum(len(exchange.output or "") for exchange in kept) < 2_000
    assert large in house.long(state.run, "a-long-row")
    assert len(house.short(state.run, name="a-long-row")["steps"][0]["output"]) == 500


# -- where, and whether ----------------------------------------------------------------------------


@pytest.mark.parametrize(("short", "long"), [(True, False), (False, True), (False, False)])
def test_each_log_can_be_switched_off(house: House, short: bool, long: bool) -> None:
    """With `write_log_short` and `write_log_long`."""
    state = released(house.store)
    house.logs(write_log_short=short, write_log_long=long).write(state.run)
    wanted = {"json": short, "log": long}
    endings = {name.rpartition(".")[2] for name in house.files()}
    assert endings == {ending for ending in wanted if wanted[ending]}


def test_the_folder_is_seen_from_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever in the project one stands, and whoever says it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "quandary.toml").write_text('log_dir = "out/logs"\n', encoding="utf-8")
    monkeypatch.chdir(inner)
    assert Path(folder_of(read_settings())) == tmp_path / "out" / "logs"
    monkeypatch.setenv("QUANDARY_LOG_DIR", str(tmp_path / "x"))
    assert Path(folder_of(read_settings())) == tmp_path / "x"
    monkeypatch.setenv("QUANDARY_LOG_DIR", "~/logs")
    assert Path(folder_of(read_settings())) == tmp_path / "home" / "logs"
    monkeypatch.setenv("QUANDARY_LOG_DIR", "")
    assert Path(folder_of(read_settings())) == tmp_path / ".quandary" / "logs"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Größe & Maße", "grosse-masse"),
        ("../../etc/passwd", "etc-passwd"),
        ("", "chart"),
        ("…", "chart"),
        ("x" * 500, "x" * LONGEST_NAME),
    ],
)
def test_a_file_is_named_after_its_chart_whatever_that_is_called(
    house: House, name: str, slug: str
) -> None:
    """Letters, digits and hyphens, and no longer than a file's name may be."""
    chart = Chart(name, (Page("1", "", (Step("a", "Do it."),)),))
    state = begin(house.store, chart)
    house.logs().write(state.run)
    assert set(house.files()) == {f"{slug}-{state.run}.json", f"{slug}-{state.run}.log"}


def test_a_log_that_cannot_be_written_stops_nothing_and_is_told_once(house: House) -> None:
    """And when it can be written again, it is, from the beginning."""
    house.folder.parent.mkdir()
    house.folder.write_text("in the way", encoding="utf-8")
    logs = house.logs()
    state = play(house.store, lambda state: logs.write(state.run))
    assert state.status == "done"
    (told,) = house.told
    assert str(house.folder) in told
    assert "the runs continue" in told
    house.folder.unlink()
    logs.write(state.run)
    assert entries(house.long(state.run)) == list(range(1, 19))


def test_a_log_that_vanishes_on_the_way_is_begun_again(house: House) -> None:
    """With all that there is to tell."""
    logs = house.logs()
    state = begin(house.store)
    logs.write(state.run)
    for path in house.folder.iterdir():
        path.unlink()
    state = walks.go(house.store, state, good, 2)
    logs.write(state.run)
    state = answer(house.store, walks.go(house.store, state), "SHIP-IT")
    logs.write(state.run)
    assert entries(house.long(state.run)) == list(range(1, runs.look(house.store, state.run).n + 1))
    assert house.short(state.run)["outcome"] == "completed"


def test_many_runs_have_logs_of_their_own(house: House) -> None:
    """They do not get mixed up, however their events are mixed."""
    logs = house.logs()
    states = [begin(house.store) for _ in range(3)]
    for _ in range(2):
        for number, state in enumerate(states):
            states[number] = send(house.store, state, good(state.calls[0]))
            logs.write(state.run)
    assert len(house.files()) == 6
    for state in states:
        assert len(house.short(state.run)["steps"]) == 1
        assert state.run in house.long(state.run)
