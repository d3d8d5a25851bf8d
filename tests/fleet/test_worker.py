"""Workers: what they take, how many at once, how they stop, and what they leave to others."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import databases
from fleets import COUNTING, ended, patched, until
from quandary.agents.calling import Surroundings
from quandary.desk.walks import SET_ASIDE, STOPPED, find_answered
from quandary.doors import hosts
from quandary.errors import AlreadyAnswered, Diverged, NotFound, Rejected, StoreError
from quandary.fleet.worker import (
    GIVEN_UP,
    LONGEST_PAUSE,
    MOST_ATTEMPTS,
    WorkerAgents,
    judge,
    put_back,
)
from quandary.journal import runs as driver
from quandary.journal.entries import Noted
from quandary.model.asks import Answer, Reply
from quandary.settings.agents import Agent, Catalogue
from walk_projects import DONE, GOOD, lucid, stopping

if TYPE_CHECKING:
    from pathlib import Path

    from fleets import Camp
    from quandary.journal.store import Store

SILENT = {"tags": "NoValidation"}
TWO = lucid({"1": {"text": "Write it", **SILENT}, "2": {"text": "Print it", **SILENT}}, "1>2")
"""Two steps that nobody checks."""


def items(count: int) -> list[str]:
    """Words that make so many runs."""
    return [word for number in range(count) for word in ("--item", f"{number}|N{number}")]


def attempts(camp: Camp, run: str) -> list[int]:
    """How often each step of a run was tried."""
    return [step["attempts"] for step in camp.state(run)["result"]["steps"]]


def notes(camp: Camp, run: str) -> list[str]:
    """The kinds of notes that a run has."""
    return [body.kind for body in camp.entries(run) if isinstance(body, Noted)]


# -- what a job costs ----------------------------------------------------------------------------


def test_a_job_takes_eight_statements_at_most_and_a_further_step_one(camp: Camp) -> None:
    """Taken, locked, read, begun, journalled, unlocked, settled; charts are read once for all.

    What is told to listeners does not count, nor what a worker does once, or now and then.
    """

    def count(runs: int) -> int:
        camp.queue(*items(runs))
        with databases.recorded() as statements:
            camp.drain(concurrency=1, heartbeat=60.0)
        return sum("AS run" not in sql and ", false)" not in sql for sql, _ in statements)

    camp.draw(lucid({"1": {"text": "Write it", **SILENT}}, ""))
    few, more = count(2), count(7)
    camp.draw(TWO)
    longer = count(7)
    assert 5 < (more - few) / 5 <= 8
    assert 1 <= (longer - more) / 7 < 1.5
    assert camp.statuses() == {"done": 16}


# -- many at once --------------------------------------------------------------------------------


def test_workers_share_the_queue_and_never_a_run(camp: Camp) -> None:
    """Three workers at once: every step of every run is done once."""
    camp.draw(TWO)
    runs = camp.queue(*items(12))
    with camp.workers("--drain", "--concurrency", "2", count=2) as workers:
        camp.drain(concurrency=2)
        assert [ended(worker)[0] for worker in workers] == [0, 0]
    assert camp.statuses() == {"done": 12}
    assert len(camp.calls) == 24
    assert camp.jobs() == []
    assert all(attempts(camp, run) == [1, 1] for run in runs[:3])
    assert camp.verified()


def test_limits_hold_for_every_call(camp: Camp) -> None:
    """Of one agent no more programs run than `--limit` says, whatever else goes on."""
    argv = json.dumps([sys.executable, "-IS", str(COUNTING), str(camp.folder), "0.3"])
    camp.settings(f"[agents.SLOW]\nargv = {argv}\n")
    camp.draw(lucid({"1": {"text": "Do it", "cli": "SLOW", **SILENT}}, ""))
    camp.queue(*items(4))
    camp.queue("--queue", "other", *items(3))
    ended = camp.call("worker", "--drain", "--limit", "slow=2", "--concurrency", "12")
    assert ended.status == 0, ended
    running = [int(line) for line in (camp.folder / "running").read_text("utf-8").split()]
    assert (max(running), running[-1], len(running)) == (2, 0, 14)


def test_a_limit_leaves_room_for_other_agents(camp: Camp) -> None:
    """Runs whose agent is busy stay in the queue, where they keep nobody from working."""
    camp.says("ANN", {"says": DONE, "seconds": 30})
    camp.draw(TWO)
    camp.queue(*items(3))
    camp.queue("--cli", "BEN")
    with camp.working(concurrency=2, limits={"ann": 1}):
        until(lambda: camp.statuses() == {"waiting": 3, "done": 1})
        until(lambda: sorted(status for _, status in camp.jobs()) == ["due", "due", "taken"])
        assert sorted(camp.called) == ["ANN", "BEN", "BEN"]


@pytest.mark.parametrize("limit", ["", "=", "ANN", "ANN=0", "ANN=x", "=3", "ANN=-1"])
def test_a_limit_is_an_agent_and_a_number(camp: Camp, limit: str) -> None:
    """Anything else is refused in one line."""
    ended = camp.call("worker", "--limit", limit)
    assert (ended.status, "CLAUDE=4" in ended.err, ended.err.count("\n")) == (2, True, 1)


def test_a_worker_takes_only_the_queues_that_it_is_given(camp: Camp) -> None:
    """`--queues` names them, in any case."""
    camp.queue("--queue", "day")
    camp.queue("--queue", "night")
    camp.drain(queues=frozenset({"night"}))
    assert camp.statuses() == {"done": 1, "waiting": 1}
    assert camp.rows("SELECT queue FROM fleet_run WHERE due IS NOT NULL") == [("DAY@walk.1",)]


def test_a_worker_hears_of_new_runs_at_once(camp: Camp) -> None:
    """It does not have to look for them."""
    camp.draw(TWO)
    camp.queue()
    camp.url += "&application_name=listening"
    listening = (
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'listening' "
        "AND query LIKE 'LISTEN%%'"
    )
    with camp.working(heartbeat=600, poll=600):
        until(lambda: camp.statuses() == {"done": 1})
        until(lambda: bool(camp.rows(listening)))
        camp.queue("--queue", "unheard of")
        until(lambda: camp.statuses() == {"done": 2})


# -- what a machine lacks ------------------------------------------------------------------------


def test_what_an_agent_needs_is_looked_for_before_a_call_is_begun(camp: Camp) -> None:
    """A machine without the agent puts the run back, and that costs no attempt."""
    steps = {"1": {"text": "Do it", **SILENT}, "2": {"text": "Look", "cli": "FAR", **SILENT}}
    camp.draw(lucid(steps, "1>2"))
    camp.settings('[agents.FAR]\nargv = ["no-such-program"]\n')
    (run,) = camp.queue()
    assert camp.drain().failed == 0
    assert camp.called == ["ANN"]
    assert camp.rows("SELECT worker, due > now() FROM fleet_run") == [(None, True)]
    written = notes(camp, run)
    assert written[-2:] == [STOPPED, SET_ASIDE]
    camp.make_due()
    camp.drain()
    assert notes(camp, run) == written
    camp.settings(f"[agents.FAR]\nargv = {json.dumps(camp.argv('FAR'))}\n")
    camp.make_due()
    camp.drain()
    assert camp.called == ["ANN", "FAR"]
    assert attempts(camp, run) == [1, 1]


def test_a_machine_without_the_folder_puts_the_run_back(camp: Camp) -> None:
    """Agents never work where nobody meant them to; `--workdir` means another place."""
    camp.draw(TWO)
    camp.queue("--workdir", "/only/elsewhere")
    camp.drain()
    assert camp.calls == []
    camp.make_due()
    camp.drain(workdir=str(camp.folder))
    assert camp.statuses() == {"done": 1}


def test_queues_of_agents_that_are_not_here_are_left_alone(camp: Camp) -> None:
    """Nothing is taken only to be put back."""
    camp.settings('[agents.FAR]\nargv = ["no-such-program"]\n')
    camp.queue("--cli", "FAR")
    camp.drain()
    assert camp.rows("SELECT attempts, due <= now() FROM fleet_run") == [(0, True)]


def test_many_runs_look_up_a_login_once(tmp_path: Path) -> None:
    """Whether somebody is logged in takes a program to find out, so it is remembered."""
    asked = tmp_path / "asked"
    tell = f"open({str(asked)!r}, 'a').write('x'); raise SystemExit(3)"
    login = (sys.executable, "-IS", "-c", tell)
    agent = Agent(name="GUEST", argv=(sys.executable,), login=login)
    around = Surroundings(str(tmp_path), {"PATH": ""})

    async def ask() -> list[str]:
        agents = WorkerAgents(Catalogue({"guest": agent}), {})
        return await asyncio.gather(*(agents.obstacle("Guest", around) for _ in range(5)))

    said = asyncio.run(ask())
    assert all("nobody is logged in" in one for one in said)
    assert asked.read_text("utf-8") == "x"


# -- versions ------------------------------------------------------------------------------------


def test_versions_side_by_side_neither_strand_nor_repeat_a_run(camp: Camp) -> None:
    """Each worker takes the runs of the version that it knows, also after an answer by another."""
    asking = {"1": {"text": "Write it", **SILENT}, "2": {"text": "Good?", "tags": "HUMAN"}}
    chart: dict[str, str | dict[str, str]]
    chart = {"0": "Start", **asking, "3": {"text": "Print it", **SILENT}}
    camp.draw(lucid(chart, "0>1 1>2 2>3:yes 2>1:no"))
    newer = patched(camp.folder, "from quandary.flows import walk; walk.VERSION = 2")
    (old,) = camp.queue("--item", "1|OLD")
    with camp.workers(program=newer) as (new_worker,):
        until(lambda: bool(camp.rows("SELECT 1 FROM fleet_worker")))
        begun = _called(camp, *newer, "walk", "c.csv", "--fleet", "--item", "2|NEW")
        new = json.loads(begun)["run"]
        until(lambda: camp.rows("SELECT waits FROM run WHERE id = %s", new) == [("person",)])
        assert camp.rows("SELECT waits FROM run WHERE id = %s", old) == [("agent",)]
        with camp.workers() as (old_worker,):
            until(lambda: camp.rows("SELECT waits FROM run WHERE id = %s", old) == [("person",)])
            camp.reply(old, "yes")
            _called(camp, *newer, "reply", new, "yes")
            until(lambda: camp.statuses() == {"done": 2} and camp.jobs() == [])
            assert ended(old_worker, signal.SIGTERM)[0] == 0
        status, said = ended(new_worker, signal.SIGTERM)
    assert status == 0
    assert "of version 1 of walk, which this worker does not know" in said
    assert len(camp.calls) == 4
    assert camp.jobs() == []
    assert camp.rows("SELECT count(*) FROM entry WHERE kind = 'ended'") == [(2,)]


def _called(camp: Camp, *words: str) -> str:
    done = subprocess.run(words, cwd=camp.folder, capture_output=True, text=True, check=True)
    return done.stdout


# -- stopping ------------------------------------------------------------------------------------


def test_a_worker_that_is_told_to_stop_lets_calls_end(camp: Camp) -> None:
    """What is under way is paid for; nothing new is begun, and the run goes on elsewhere."""
    camp.draw(TWO)
    camp.says("ANN", {"says": DONE, "seconds": 0.8}, DONE)
    (run,) = camp.queue()
    with camp.workers() as (worker,):
        until(lambda: len(camp.calls) == 1)
        assert ended(worker, signal.SIGTERM)[0] == 0
    assert len(camp.calls) == 1
    assert camp.jobs() == [(run, "due")]
    assert camp.rows("SELECT 1 FROM fleet_worker") == []
    camp.drain()
    assert attempts(camp, run) == [1, 1]
    assert len(camp.calls) == 2
    assert camp.verified()


def test_nobody_is_asked_about_an_interruption_that_was_none(camp: Camp) -> None:
    """Where a call had not been begun yet, even who wants to know of interruptions is not asked."""
    camp.settings('on_interrupted = "ask"\n')
    camp.draw(TWO)
    camp.says("ANN", {"says": DONE, "seconds": 0.5}, DONE)
    (run,) = camp.queue()
    with camp.working() as worker:
        until(lambda: len(camp.calls) == 1)
        assert worker.stopped()
    assert len(camp.calls) == 1
    camp.drain()
    assert attempts(camp, run) == [1, 1]
    assert len(camp.calls) == 2


def test_calls_that_do_not_end_in_time_are_stopped(camp: Camp) -> None:
    """That costs no attempt: the journal says that they were stopped."""
    camp.draw(TWO)
    camp.says("ANN", {"says": DONE, "seconds": 60}, DONE)
    (run,) = camp.queue()
    with camp.working(grace=0.1) as worker:
        until(lambda: len(camp.calls) == 1)
        began = time.monotonic()
        assert worker.stopped()
        assert time.monotonic() - began < 30
    assert notes(camp, run)[-1] == STOPPED
    assert camp.jobs() == [(run, "due")]
    camp.drain()
    assert attempts(camp, run) == [1, 1]


def test_who_says_stop_twice_does_not_want_to_wait(camp: Camp) -> None:
    """The second time, calls under way are stopped at once; Ctrl-C ends as it always does."""
    camp.says("ANN", {"says": DONE, "seconds": 60})
    (run,) = camp.queue()
    with camp.workers("--grace", "600") as (worker,):
        until(lambda: len(camp.calls) == 1)
        worker.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert worker.poll() is None
        assert ended(worker, signal.SIGINT)[0] == 130
    assert notes(camp, run)[-1] == STOPPED
    assert camp.jobs() == [(run, "due")]


def test_a_run_that_is_withdrawn_has_its_programs_ended(camp: Camp) -> None:
    """And its job ends with it, while the worker goes on with others."""
    camp.says("ANN", {"says": DONE, "seconds": 60}, DONE, GOOD)
    (run,) = camp.queue()
    with camp.working():
        until(lambda: len(camp.calls) == 1)
        assert camp.call("withdraw", run, "--why", "Not needed").status == 0
        until(lambda: camp.jobs() == [])
        camp.queue()
        until(lambda: camp.statuses() == {"withdrawn": 1, "done": 1})


# -- what becomes of a job -----------------------------------------------------------------------


def test_a_chart_that_fails_is_a_result(camp: Camp) -> None:
    """The job is done; what is to be made of the failure is not the queue's business."""
    camp.draw(lucid({"1": {"text": "Write it", **SILENT, "retries": "1"}}, ""))
    camp.says("ANN", {"says": "", "status": 1})
    camp.queue()
    assert camp.call("worker", "--drain").status == 0
    assert (camp.statuses(), camp.jobs(), len(camp.calls)) == ({"failed": 1}, [], 2)


def test_a_run_that_cannot_go_on_is_given_up(camp: Camp) -> None:
    """It is tried once, the journal and the log say why, and the exit status says so too."""
    (run,) = camp.queue()
    camp.rows("DELETE FROM document")
    ended = camp.call("worker", "--drain", "--log-format", "json")
    assert ended.status == 1
    lines = [json.loads(line) for line in ended.err.splitlines()[1:]]
    assert [line["run"] for line in lines if line["level"] == "error"] == [run]
    assert camp.jobs() == [(run, "failed")]
    assert notes(camp, run)[-1] == GIVEN_UP
    camp.drain()
    assert camp.calls == []


def test_only_what_has_nothing_to_do_with_the_run_is_tried_again() -> None:
    """The database or another process is in the way; everything else would fail again."""
    assert judge(StoreError("away"), 0).kind == "back"
    assert judge(Rejected("walked by another process"), 40).kind == "back"
    for error in (Diverged("no"), NotFound("no"), AlreadyAnswered("no")):
        assert judge(error, 0).kind == "failed"
    assert judge(KeyError("x"), MOST_ATTEMPTS - 2).kind == "back"
    assert judge(KeyError("x"), MOST_ATTEMPTS - 1).kind == "failed"


@given(st.integers(0, 10_000))
def test_pauses_double_up_to_a_minute(attempts: int) -> None:
    """Nobody is pestered, and nobody waits for ever."""
    pause = put_back("away", attempts).pause
    assert 1 <= pause <= LONGEST_PAUSE
    assert pause == LONGEST_PAUSE or put_back("away", attempts + 1).pause in (
        2 * pause,
        LONGEST_PAUSE,
    )
    assert put_back("this worker stops").pause == 0


def test_what_the_house_has_to_do_is_done_by_a_worker(camp: Camp) -> None:
    """A door that does no deeds itself leaves them in the queue."""
    (camp.folder / "notes.md").write_text("Seven pages.", "utf-8")
    steps: dict[str, str | dict[str, str]]
    steps = {"0": "Start", "1": {"text": "Good?", "tags": "HUMAN"}, "2": "End"}
    camp.draw(lucid(steps, "0>1 1>2:yes 1>1:no"))
    (run,) = camp.queue()
    with camp.opened() as store:
        key = driver.look(store, run).key
        assert key is not None
        reply = Reply((Answer(key, prefix="reference", argument="notes.md"),))
        state = driver.advance(store, run, reply, to=key, who="person", through="web")
        assert state.deed is not None
    assert camp.jobs() == [(run, "due")]
    camp.drain()
    assert camp.jobs() == []
    assert "Seven pages." in json.dumps(camp.state(run)["ask"])


# -- parked sessions -----------------------------------------------------------------------------

SESSION = "0b5ad6e8-51d5-4f0c-9d2e-6f6a1c0c7b11"


def park(camp: Camp, monkeypatch: pytest.MonkeyPatch, machine: str = "", call: str = "") -> str:
    """The run of a session that was parked, on this machine or another one, and is answered."""
    config = camp.folder / "config" / "quandary"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text("[permissions]\npark = true\n", encoding="utf-8")
    monkeypatch.setenv(hosts.ATTENDED, "0")
    said = {"session_id": SESSION, "cwd": str(camp.folder), "tool_use_id": f"toolu_{machine}{call}"}
    said |= {"tool_name": "Bash", "permission_mode": "default"}
    given = {**said, "tool_input": {"command": "touch a"}}
    here = os.uname()
    with pytest.MonkeyPatch.context() as patch:
        name = machine or here.nodename
        there = os.uname_result((here.sysname, name, here.release, here.version, here.machine))
        patch.setattr(os, "uname", lambda: there)
        hosts.respond("pre", json.dumps(given).encode())
    with camp.opened() as store:
        (row,) = store.runs(waits="person")
        reply = Reply((Answer("1:", ("NO",)),))
        driver.advance(store, row.id, reply, who="person", through="web")
    return row.id


def test_a_worker_resumes_the_parked_sessions_of_its_machine(
    camp: Camp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When they are answered, each once; those of other machines are left to workers there."""
    said = stand_in(camp, monkeypatch, "")
    park(camp, monkeypatch, "elsewhere")
    park(camp, monkeypatch)
    with camp.workers("--queues", "other") as (deaf,), camp.workers() as (worker,):
        until(said.exists)
        camp.draw(TWO)
        camp.queue("--queue", "other")
        until(lambda: camp.statuses().get("done", 0) >= 3)
        assert deaf.poll() is None
        assert ended(worker, signal.SIGTERM)[0] == 0
    assert said.read_text(encoding="utf-8").split()[:3] == ["-p", "--resume", SESSION]
    assert len(said.read_text(encoding="utf-8").splitlines()) == 1


def stand_in(camp: Camp, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A program in place of the host's; the file to which it adds what it is called with."""
    program, said = camp.folder / "bin" / "claude", camp.folder / "said.txt"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {said}\n{script}\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return said


def test_a_session_that_is_parked_and_answered_again_before_it_ended_is_resumed_again(
    camp: Camp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that sees the second answer while the session still runs comes back to it."""
    go = camp.folder / "go"
    said = stand_in(camp, monkeypatch, f"while [ ! -e {go} ]; do sleep 0.05; done")
    park(camp, monkeypatch)
    with camp.workers():
        until(said.exists)
        park(camp, monkeypatch, call="next")
        for _ in range(2):  # then it has looked in between
            ((seen,),) = camp.rows("SELECT seen FROM fleet_worker")
            until(lambda seen=seen: camp.rows("SELECT seen FROM fleet_worker") != [(seen,)])  # type: ignore[misc]
        go.touch()
        until(lambda: len(said.read_text(encoding="utf-8").splitlines()) == 2)


def test_nothing_that_keeps_a_worker_from_looking_for_sessions_ends_it(
    camp: Camp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a run that is damaged nor a server that was away; the next look finds the others."""
    said = stand_in(camp, monkeypatch, "")
    damaged = park(camp, monkeypatch, call="damaged")
    camp.rows("UPDATE entry SET body = 'x' WHERE run = %s AND n = 1", damaged)
    park(camp, monkeypatch)
    away = [StoreError("the server is away")]

    def look(store: Store, known: set[str]) -> dict[str, str]:
        if away:
            raise away.pop()
        return find_answered(store, known)

    monkeypatch.setattr("quandary.fleet.worker.find_answered", look)
    with camp.working() as working:
        until(lambda: working.worker is not None and bool(working.worker._sessions))
        assert working.worker is not None
        (session,) = working.worker._sessions.values()
        until(session.done)
        assert working.stopped()
    assert said.exists()


def test_an_agent_that_stops_goes_on_with_a_worker_of_its_machine(
    camp: Camp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run waits for its answer; a worker elsewhere puts it back, and no attempt is used up."""
    camp.settings(stopping(camp.folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(camp.folder / "state"))
    camp.draw(lucid({"1": {"text": "Do it", "cli": "STOPPER", **SILENT}}, ""))
    (run,) = camp.queue()
    camp.drain()
    with camp.opened() as store:
        state = driver.look(store, run)
        assert state.ask is not None, state
        reply = Reply((Answer(state.ask.key, ("B",)),))
        driver.advance(store, run, reply, who="person", through="web")
    here = os.uname()
    there = os.uname_result((here.sysname, "elsewhere", here.release, here.version, here.machine))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "uname", lambda: there)
        camp.drain()
    assert camp.statuses() == {"waiting": 1}
    camp.make_due()
    camp.drain()
    assert (camp.statuses(), attempts(camp, run)) == ({"done": 1}, [1])
