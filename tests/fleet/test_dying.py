"""What dies in the middle: workers, the server, and those who were only presumed dead."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING

import pytest

import databases
from fleets import Camp, ended, until
from quandary.fleet import JobEnd, JobQueue, open_shared
from quandary.journal.entries import Returned
from walk_projects import DONE, lucid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SILENT = {"tags": "NoValidation"}
THREE = lucid(
    {key: {"text": f"Do part {key}", **SILENT} for key in ("1", "2", "3")},
    "1>2 2>3",
)


@pytest.fixture(scope="module")
def server() -> Iterator[databases.Server]:
    """A server that a test may stop, and starts again."""
    with databases.served() as server:
        yield server


@pytest.fixture
def frail(
    server: databases.Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[databases.Server, Camp]]:
    """A camp on that server."""
    with server.schema() as url:
        yield server, Camp(tmp_path, capsys, monkeypatch, url)


def test_when_a_worker_is_killed_another_goes_on(camp: Camp) -> None:
    """The call that was under way counts as tried, and no other is made twice."""
    camp.draw(THREE)
    camp.says("ANN", DONE, {"says": DONE, "seconds": 60}, DONE)
    (run,) = camp.queue()
    with camp.workers() as (first,):
        until(lambda: len(camp.calls) == 2)
        with camp.workers() as (second,):
            until(lambda: len(camp.rows("SELECT 1 FROM fleet_worker")) == 2)
            first.kill()
            until(lambda: camp.statuses() == {"done": 1})
            until(lambda: camp.jobs() == [])  # else the worker puts its last job back and leaves
            status, said = ended(second, signal.SIGTERM)
    assert status == 0
    assert f"run {run}: its worker is gone; put back" in said
    steps = camp.state(run)["result"]["steps"]
    assert [step["attempts"] for step in steps] == [1, 2, 1]
    assert len(camp.calls) == 4
    returned = [body.key for body in camp.entries(run) if isinstance(body, Returned)]
    assert len(returned) == len(set(returned)) == 4
    assert camp.jobs() == []
    assert camp.rows("SELECT 1 FROM fleet_worker") == []
    assert camp.verified()


def test_a_server_that_is_restarted_keeps_nobody_from_going_on(
    frail: tuple[databases.Server, Camp],
) -> None:
    """What an agent said meanwhile is kept, and the worker finds the server again by itself."""
    server, camp = frail
    camp.draw(THREE)
    camp.says("ANN", {"says": DONE, "seconds": 1.0}, DONE)
    runs = camp.queue("--item", "1|A", "--item", "2|B")
    with camp.workers() as (worker,):
        until(lambda: len(camp.calls) >= 1)
        server.stop("at once")
        time.sleep(0.5)
        server.start()
        until(lambda: camp.statuses() == {"done": 2})
        more = camp.queue()
        until(lambda: camp.statuses() == {"done": 3})
        until(lambda: camp.jobs() == [])
        status, said = ended(worker, signal.SIGTERM)
    assert status == 0
    assert "is away; waiting for it" in said
    for run in (*runs, *more):
        steps = camp.state(run)["result"]["steps"]
        assert [step["attempts"] for step in steps] == [1, 1, 1]
    assert len(camp.calls) == 9
    assert camp.verified()


def test_a_worker_that_comes_before_its_server_waits_for_it(
    frail: tuple[databases.Server, Camp],
) -> None:
    """What cannot be opened at all is said in one line; later, a server may go and come."""
    server, camp = frail
    server.stop()
    answer = camp.call("worker", "--drain")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "is the server running" in answer.err
    server.start()


def test_a_worker_that_was_presumed_dead_does_no_harm(camp: Camp) -> None:
    """What it says of a job does not count any more, and it goes on under another number."""
    (run,) = camp.queue()
    store = open_shared(camp.url)

    async def scene() -> None:
        queue = JobQueue(store)
        slow, quick = await queue.register(1.0), await queue.register(60.0)
        job = await queue.take(["ANN@walk.1"], slow)
        assert job is not None
        camp.rows("UPDATE fleet_worker SET seen = now() - interval '1 hour' WHERE id = %s", slow)
        assert await queue.rescue(quick, ()) == [run]
        assert await queue.rescue(quick, ()) == []
        assert await queue.take(["ANN@walk.1"], slow) is None
        await queue.settle(job, JobEnd("done"))
        assert camp.jobs() == [(run, "due")]
        again = await queue.take(["ANN@walk.1"], quick)
        assert again is not None
        for kind in ("done", "failed", "back"):
            await queue.settle(job, JobEnd(kind))
        assert camp.jobs() == [(run, "taken")]
        assert not await queue.beat(slow)
        assert await queue.beat(quick)
        await queue.settle(again, JobEnd("done"))
        assert camp.jobs() == []

    asyncio.run(scene())
    store.close()


def test_a_worker_that_was_presumed_dead_goes_on_under_another_number(
    camp: Camp, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told when it wants to take something, or when it gives its next sign of life."""
    camp.queue()
    store = open_shared(camp.url)

    async def scene() -> None:
        worker = camp.worker(store, drain=True, heartbeat=600)
        take = worker._take

        async def forgotten() -> None:
            await asyncio.sleep(0.1)
            camp.rows("DELETE FROM fleet_worker")
            await take()

        worker._take = forgotten  # type: ignore[method-assign]  # between two signs of life
        await worker.work()

    asyncio.run(scene())
    store.close()
    assert "was presumed dead; it is 2 now" in caplog.text
    assert camp.statuses() == {"done": 1}


def test_nobody_is_presumed_dead_by_a_server_that_was_away(camp: Camp) -> None:
    """Signs of life cannot reach one that is down, so after a start it waits for them."""
    (run,) = camp.queue()
    store = open_shared(camp.url)

    async def scene() -> None:
        queue = JobQueue(store)
        worker = await queue.register(3e8)
        await queue.take(["ANN@walk.1"], worker)
        camp.rows("UPDATE fleet_worker SET seen = now() - interval '10 years'")
        assert await queue.rescue(0, ()) == []
        camp.rows("UPDATE fleet_worker SET silence = 0.01")
        assert await queue.rescue(0, ()) == [run]

    asyncio.run(scene())
    store.close()
    assert camp.rows("SELECT 1 FROM fleet_worker") == []


def test_a_run_that_a_worker_took_without_hearing_of_it_is_put_back(camp: Camp) -> None:
    """The server may have been lost between the taking and the word of it."""
    run, other = camp.queue("--item", "1|A", "--item", "2|B")
    store = open_shared(camp.url)

    async def scene() -> None:
        queue = JobQueue(store)
        worker = await queue.register(60.0)
        for _ in range(2):
            await queue.take(["ANN@walk.1"], worker)
        assert await queue.rescue(worker, [run]) == [other]

    asyncio.run(scene())
    store.close()
    assert camp.jobs() == [(run, "taken"), (other, "due")]


def test_each_worker_says_itself_how_long_it_may_be_silent(camp: Camp) -> None:
    """A worker that gives many signs of life takes nobody for dead who promised fewer."""
    store = open_shared(camp.url)

    async def scene() -> None:
        queue = JobQueue(store)
        for silence in (60.0, 0.01):
            await queue.register(silence)
        camp.rows("UPDATE fleet_worker SET seen = now() - interval '5 seconds'")
        await queue.rescue(0, ())

    asyncio.run(scene())
    store.close()
    assert camp.rows("SELECT silence FROM fleet_worker") == [(60.0,)]


def test_a_run_that_another_process_walks_is_left_to_it(camp: Camp) -> None:
    """Even where the queue hands it out, only one makes its calls; the job waits a while."""
    (run,) = camp.queue()
    with camp.opened() as store, store.lock_run(run):
        camp.drain()
    assert camp.calls == []
    sql = "SELECT worker, attempts, due > now() FROM fleet_run"
    assert camp.rows(sql) == [(None, 1, True)]


def test_a_worker_keeps_few_connections(camp: Camp) -> None:
    """However many runs it takes on; and none for those that wait for a person."""
    asking: dict[str, str | dict[str, str]]
    asking = {"0": "Start", "1": {"text": "Good?", "tags": "HUMAN"}, "2": "End"}
    camp.draw(lucid(asking, "0>1 1>2:yes 1>1:no"))
    camp.queue(*(word for n in range(20) for word in ("--item", f"{n}|N")))
    camp.draw(THREE)
    camp.says("ANN", {"says": DONE, "seconds": 0.4}, DONE)
    camp.queue(*(word for n in range(10) for word in ("--item", f"{n}|N")))
    counted = (
        "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND application_name = 'fleet-test'"
    )
    camp.url += "&application_name=fleet-test"
    with camp.working(concurrency=30):
        until(lambda: len(camp.calls) >= 10)
        assert camp.rows(counted)[0][0] < 10
        until(lambda: camp.statuses() == {"waiting": 20, "done": 10})
