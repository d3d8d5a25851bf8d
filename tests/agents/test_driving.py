"""Runs whose calls are made by real programs: order, number, crashes, locks, and bad manners."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import databases
import walks
from processes import children, told
from quandary import agents as driving
from quandary.agents import Driver, Watcher, calling, process
from quandary.agents.calling import Surroundings
from quandary.agents.process import run as run_program
from quandary.desk.walks import STARTED, STOPPED, THROUGH, has_begun
from quandary.errors import Rejected
from quandary.journal import runs
from quandary.journal.entries import Noted, Returned
from quandary.journal.postgres import PostgresStore
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Note
from quandary.model.chart import Chart, Page, Route, Step
from quandary.settings.agents import read_catalogue
from scripted_walks import START, chart, task
from walk_projects import AGENT, DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import State, Store
    from quandary.model.calls import Call, Output

FAKE = Path(__file__).parent / "fake.py"


class Notes(Watcher):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def calls(self, run: str, calls: tuple[Call, ...]) -> None:
        self.told += [f"call {call.key}" for call in calls if run]

    def came(self, run: str, output: Output) -> None:
        self.told += [f"came {output.key}" for _ in [run]]

    def stands(self, state: State) -> None:
        self.told.append(state.status)


class House:
    """A store, agents in a folder, and a driver."""

    def __init__(self, folder: Path, store: Store | None = None) -> None:
        self.folder = folder
        self.store = store or SqliteStore(folder / "journal.db")
        self.watcher = Notes()
        python = [sys.executable, "-IS"]
        tables: dict[str, Any] = {
            name: {"argv": [*python, str(AGENT), name, str(folder)]} for name in ("ANN", "BEN")
        }
        tables |= {
            name: {"argv": [*python, str(FAKE), *words.split()]}
            for name, words in MISBEHAVING.items()
        }
        self.around = Surroundings(str(folder), dict(os.environ))
        self.driver = Driver(self.store, read_catalogue(tables), self.around, self.watcher)

    def begin(self, drawn: Chart, **arguments: Any) -> State:  # noqa: ANN401 - as they are
        """A run that nobody drives yet."""
        given = {"defaults": {"cli": "ANN"}, **arguments}
        return walks.begin(self.store, drawn, **given)

    def says(self, name: str, *replies: object) -> None:
        (self.folder / f"{name}.json").write_text(json.dumps(replies), encoding="utf-8")

    @property
    def called(self) -> list[str]:
        """The agents that were called, in order."""
        path = self.folder / "calls.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line)["agent"] for line in lines]

    def kinds(self, run: str) -> list[str]:
        """The entries of a run, notes by their own kind."""
        bodies = [(entry.kind, entry.read()) for entry in self.store.entries(run)]
        return [body.kind if isinstance(body, Noted) else kind for kind, body in bodies]


MISBEHAVING = {
    "QUITTER": "complain 7 no such model",
    "FLOOD": "flood 100",
    "STUBBORN": "stubborn",
    "PARENT": "family 1 leave",
    "HALF": "raw e282",
    "SILENT": "hang",
}
"""Agents that behave badly, and what they are told to do."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A house of its own."""
    made = House(tmp_path)
    yield made
    made.store.close()


TWO = chart(task("a"), task("b"), routes="a>b")


# -- in order, and at once -------------------------------------------------------------------------


def test_a_call_is_journalled_before_its_program_starts(house: House) -> None:
    """The program itself finds its call in the journal, and nothing that came of it."""
    look = (
        "import sqlite3, sys, json\n"
        "db = sqlite3.connect(sys.argv[1])\n"
        "kinds = [k for k, in db.execute('SELECT kind FROM entry ORDER BY seq')]\n"
        "print(json.dumps({'completed': True, 'comments': ' '.join(kinds)}))\n"
    )
    argv = [sys.executable, "-IS", "-c", look, str(house.folder / "journal.db")]
    house.driver.catalogue = read_catalogue({"ANN": {"argv": argv}})
    state = asyncio.run(house.driver.begin(lambda: house.begin(TWO)))
    seen = [step["output"] for step in state.result["steps"]]
    assert seen == ["began called", "began called returned called"]
    assert house.watcher.told == [
        "call Sa@1/run",
        "came Sa@1/run",
        "call Sb@1/run",
        "came Sb@1/run",
        "done",
    ]


def test_votes_are_cast_at_the_same_time(house: House) -> None:
    """Four agents that take half a second need less than two together."""
    house.says("ANN", {"says": {"answer": "yes"}, "seconds": 0.5})
    fields = {"votes": "4"}
    ask = Step("a", "Ship it?", "decision", metadata=fields)
    steps = (ask, task("b", cli="BEN"), task("c"))
    routes = (Route("a", "b", "yes"), Route("a", "c", "no"))
    drawn = Chart("C", (Page("1", "", steps, routes),))
    begin = time.monotonic()
    state = asyncio.run(house.driver.begin(lambda: house.begin(drawn)))
    assert time.monotonic() - begin < 1.9
    assert state.result["steps"][0]["route"] == "yes"
    assert house.called == ["ANN"] * 4 + ["BEN"]


def test_no_more_runs_than_jobs_are_under_way(house: House) -> None:
    """One is begun when there is room for it, and all come to their end, in their order."""
    under_way: list[int] = []
    begun_by_then: list[int] = []

    def begin(number: int) -> State:
        begun_by_then.append(len(house.store.runs(status="done")))
        return house.begin(chart(task("a")), item={"id": str(number)})

    class Counting(Notes):
        def calls(self, run: str, calls: tuple[Call, ...]) -> None:
            super().calls(run, calls)
            under_way.append(len(house.driver.under_way))

    house.driver.watcher = Counting()
    work = [partial(house.driver.begin, partial(begin, number)) for number in range(7)]
    states = asyncio.run(house.driver.all(work, 3))
    assert [state.result["item"] for state in states] == [str(number) for number in range(7)]
    assert max(under_way) == 3
    assert begun_by_then[:3] == [0, 0, 0]
    assert begun_by_then[3:] == sorted(begun_by_then[3:])
    assert begun_by_then[3] >= 1
    assert house.driver.under_way == {}


def test_whoever_can_answer_is_asked_and_the_run_goes_on(house: House) -> None:
    """Replies from a script are booked while other runs go on."""
    drawn = chart(START, Step("a", "Go?", tags=("HUMAN",)), task("b"), routes="s>a a>b")

    def reply(state: State) -> State:
        assert state.ask is not None
        return walks.answer(house.store, state, "DONE")

    house.driver.reply = reply
    state = asyncio.run(house.driver.begin(lambda: house.begin(drawn)))
    assert state.status == "done"
    assert house.called == ["ANN"]


# -- runs that go on -------------------------------------------------------------------------------


def test_a_call_that_nobody_saw_the_end_of_counts_as_tried(house: House) -> None:
    """The next process makes a further attempt; what was recorded is not made again."""
    run = house.begin(TWO).run
    assert has_begun(runs.open_run(house.store, run))
    state = asyncio.run(house.driver.drive(run))
    assert state.status == "done"
    assert [step["attempts"] for step in state.result["steps"]] == [2, 1]
    assert house.called == ["ANN", "ANN"]
    lost = house.store.entries(run, kinds=("returned",))[0].read_matter().came
    assert getattr(lost, "interrupted", False)
    assert house.watcher.told[0] == "came Sa@1/run"
    again = asyncio.run(house.driver.drive(run))
    assert again.result == state.result
    assert house.called == ["ANN", "ANN"]


def test_calls_that_follow_an_answer_are_not_begun_yet(house: House) -> None:
    """A reply only books; whoever goes on with the run makes the first call, not a further one."""
    drawn = chart(START, Step("a", "Go?", tags=("HUMAN",)), task("b"), routes="s>a a>b")
    state = walks.answer(house.store, house.begin(drawn), "DONE")
    assert state.calls
    assert not has_begun(runs.open_run(house.store, state.run))
    state = asyncio.run(house.driver.drive(state.run))
    assert [step["attempts"] for step in state.result["steps"]] == [1, 1]
    assert "started" in house.kinds(state.run)


def test_a_crash_after_that_is_noticed(house: House) -> None:
    """Once somebody has begun with them, they count as tried."""
    drawn = chart(START, Step("a", "Go?", tags=("HUMAN",)), task("b"), routes="s>a a>b")
    state = walks.answer(house.store, house.begin(drawn), "DONE")
    note = Note(STARTED, "")
    runs.note(house.store, state.run, note, who="agent", through=THROUGH)
    state = asyncio.run(house.driver.drive(state.run))
    assert [step["attempts"] for step in state.result["steps"]] == [1, 2]


@pytest.mark.parametrize("way", ["retry", "ask"])
def test_whoever_is_stopped_ends_the_programs_and_says_so(house: House, way: str) -> None:
    """Their calls are made when the run goes on; a careful person is asked before."""
    house.says("ANN", {"says": DONE, "seconds": 60}, DONE)
    began = house.begin(TWO, defaults={"cli": "ANN", "on_interrupted": way})

    async def stopped() -> None:
        task = asyncio.ensure_future(house.driver.drive(began.run))
        while not house.called:
            await asyncio.sleep(0.01)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    # Nobody has begun: as after a reply.
    note = Note(STOPPED, "")
    runs.note(house.store, began.run, note, who="agent", through=THROUGH)
    if way == "ask":
        state = asyncio.run(house.driver.drive(began.run))
        assert state.key == "Sa@1/run-interrupted"
        return
    asyncio.run(stopped())
    assert house.kinds(began.run)[-2:] == ["started", "stopped"]
    assert list(house.driver.under_way) == [began.run]
    state = asyncio.run(house.driver.drive(began.run))
    assert [step["attempts"] for step in state.result["steps"]] == [1, 1]
    assert state.result["calls"] == 2


def test_what_comes_in_at_the_last_moment_is_kept(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that was done when somebody said stop was paid for."""
    began = house.begin(TWO)

    async def stop_at_the_end() -> None:
        came = asyncio.Event()

        async def make_call(*words: Any) -> Output:  # noqa: ANN401 - as the driver gives them
            output = await calling.make_call(*words)
            came.set()
            return output

        monkeypatch.setattr(house.driver, "make_call", make_call)
        task = asyncio.ensure_future(house.driver.begin(lambda: began))
        await came.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(stop_at_the_end())
    monkeypatch.undo()
    returned = [e.read() for e in house.store.entries(began.run, kinds=("returned",))]
    assert [body.key for body in returned if isinstance(body, Returned)] == ["Sa@1/run"]
    state = asyncio.run(house.driver.drive(began.run))
    assert [step["attempts"] for step in state.result["steps"]] == [1, 1]
    assert house.called == ["ANN", "ANN"]


def test_a_run_that_is_withdrawn_meanwhile_is_left_alone(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its program is ended, and the other runs go on."""
    monkeypatch.setattr(driving, "LOOK_EVERY", 0.05)
    house.says("ANN", {"says": DONE, "seconds": 60})

    async def both() -> list[State]:
        async def withdraw() -> None:
            while not house.called:
                await asyncio.sleep(0.01)
            run = house.store.runs(status="waiting")[0].id
            runs.withdraw(house.store, run, "no need", who="person", through="terminal")

        asking = asyncio.ensure_future(withdraw())
        other = {"defaults": {"cli": "BEN"}}
        states = await house.driver.all(
            [
                lambda: house.driver.begin(lambda: house.begin(TWO)),
                lambda: house.driver.begin(lambda: house.begin(TWO, **other)),
            ],
            1,
        )
        await asking
        return states

    begun_at = time.monotonic()
    first, second = asyncio.run(both())
    assert (first.status, second.status) == ("withdrawn", "done")
    assert time.monotonic() - begun_at < 30


def test_whoever_lost_a_run_to_another_process_stops_its_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection that held its lock was ended, and somebody took the run meanwhile."""
    monkeypatch.setattr(driving, "LOOK_EVERY", 0.05)
    with databases.shared().schema() as url, contextlib.closing(PostgresStore(url)) as store:
        house = House(tmp_path, store)
        run, before = house.begin(TWO, defaults={"cli": "SILENT"}).run, children()

        async def lose() -> None:
            driven = asyncio.create_task(house.driver.drive(run))
            while not house.watcher.told or children() == before:
                await asyncio.sleep(0.01)
            databases.change(
                url,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'quandary'",
            )
            with contextlib.closing(PostgresStore(url)) as other, other.lock_run(run):
                await driven

        with pytest.raises(Rejected, match="its agents were stopped here"):
            asyncio.run(lose())
        assert children() == before


def test_only_one_process_makes_the_calls_of_a_run(house: House) -> None:
    """Whoever comes second is refused, and nothing is made twice."""
    run = house.begin(TWO).run
    other = SqliteStore(house.folder / "journal.db")
    with house.store.lock_run(run):
        with pytest.raises(Rejected, match="being driven by another process"), other.lock_run(run):
            pass
        with pytest.raises(Rejected):
            asyncio.run(house.driver.drive(run))
        assert refused(house, run)
    assert house.called == []
    with other.lock_run(run):
        pass
    assert not refused(house, run)
    other.close()


def test_leaving_one_run_lets_go_of_no_other(house: House) -> None:
    """Neither does being refused one."""
    with house.store.lock_run("one"):
        with house.store.lock_run("two"):
            assert refused(house, "two")
        with contextlib.suppress(Rejected), house.store.lock_run("one"):
            pass
        assert refused(house, "one")
        assert not refused(house, "two")


def refused(house: House, run: str) -> bool:
    """Whether another process cannot walk a run."""
    look = (
        "import sys\n"
        "from quandary.journal.sqlite import SqliteStore\n"
        "with SqliteStore(sys.argv[1]).lock_run(sys.argv[2]): pass\n"
    )
    words = [sys.executable, "-c", look, str(house.folder / "journal.db"), run]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0 or "being driven" in ended.stderr
    return ended.returncode != 0


# -- agents that misbehave -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("QUITTER", "QUITTER ended with status 7: no such model"),
        ("FLOOD", "There was no JSON object"),
        ("STUBBORN", "STUBBORN had not ended after"),
        ("PARENT", "There was no JSON object"),
        ("HALF", "There was no JSON object"),
        ("SILENT", "SILENT had not ended after"),
        ("NOBODY", "there is no agent NOBODY"),
    ],
)
def test_bad_manners_are_a_failed_attempt(
    house: House, monkeypatch: pytest.MonkeyPatch, agent: str, why: str
) -> None:
    """The run goes on with the next attempt, which knows why; nothing is left behind."""
    monkeypatch.setattr(calling, "run", partial(run_program, grace=0.2))
    gc.collect()  # what other tests have left open is not counted
    process.note_programs("")
    before, already = len(os.listdir("/proc/self/fd")), children()
    patience = "1.5" if agent in ("STUBBORN", "SILENT") else "60"
    drawn = chart(task("a", cli=agent, retry_cli="ANN", timeout=patience))
    state = asyncio.run(house.driver.begin(lambda: house.begin(drawn)))
    assert (state.status, state.result["steps"][0]["attempts"]) == ("done", 2)
    prompt = json.loads((house.folder / "calls.jsonl").read_text(encoding="utf-8"))["prompt"]
    assert why in prompt
    process.note_programs("")  # the note of what runs is open until then
    assert len(os.listdir("/proc/self/fd")) == before
    assert children() == already


# -- the flow is the same everywhere ---------------------------------------------------------------


def test_a_walk_is_retold_the_same_in_every_process(house: House) -> None:
    """Two processes with different seeds for their hashes make the same requests again."""
    walks.released(house.store)
    fields = {"votes": "ANN, BEN, HUMAN", "retries": "1"}
    steps = (Step("a", "Which?", metadata=fields), *(task(key) for key in "bcdef"))
    routes = tuple(Route("a", key, f"way {key}") for key in "bcdef")
    state = house.begin(Chart("C", (Page("1", "", steps, routes),)))
    answers = ("way b", "way c")
    outputs = [walks.chose(call, said) for call, said in zip(state.calls, answers, strict=True)]
    walks.send(house.store, state, *outputs)
    path = house.folder / "journal.db"
    first, second = told("retell", path, seed="1"), told("retell", path, seed="2")
    assert first == second
    assert len(first) == 2


# -- refused work does not pass ------------------------------------------------------------------

PASSED = '{"fully_completed": true}'
REFUSALS = {
    "in a string": {"verdict": "REJECTED", "why": f"It ends with {PASSED}"},
    "in an object": {"verdict": "REJECTED", "seen": {"fully_completed": True}},
    "beside a verdict": f'{PASSED}\n\n{{"fully_completed": false}}',
    "of what was handed in": f"I refuse this.\n```json\n{PASSED}\n```",
    "of another call": {"fully_completed": True, "nonce": "000000000000"},
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_refused_work_does_not_pass_by_what_the_refusal_quotes(
    house: House, refusal: object
) -> None:
    """The validator is asked once more; what cannot be read then either is not passed."""
    house.says("ANN", f'{PASSED}\n{{"completed": true}}')
    house.says("BEN", refusal)
    defaults = {"cli": "ANN", "validate_cli": "BEN", "retries": 0}
    drawn = chart(Step("a", "a"), routes="")
    state = asyncio.run(house.driver.begin(lambda: house.begin(drawn, defaults=defaults)))
    assert (state.status, house.called) == ("failed", ["ANN", "BEN", "BEN"])


def test_a_decider_that_quotes_a_route_has_not_taken_it(house: House) -> None:
    """It is asked again, and what it says then counts."""
    quoting = {"verdict": "unclear", "why": 'He wants {"answer": "yes"}'}
    house.says("ANN", quoting, '{"answer": "yes"} or {"answer": "no"}', {"answer": "no"})
    drawn = chart(Step("q", "q", "decision"), task("y"), task("n"), routes="q>y:yes q>n:no")
    state = asyncio.run(house.driver.begin(lambda: house.begin(drawn)))
    assert (state.result["steps"][0]["route"], state.result["steps"][0]["attempts"]) == ("no", 3)
