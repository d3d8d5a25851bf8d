"""The queue: how runs come into it, whoever answers, and that none is ever left out."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from fleets import until
from program import PROGRAM
from quandary.errors import QuandaryError
from quandary.fleet import LONGEST, MIGRATIONS, Fleet, JobQueue, Queue, queue_of, share, takeable
from quandary.journal import runs as driver
from quandary.journal.postgres import PostgresStore
from quandary.model.asks import Answer, Reply
from walk_projects import lucid

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleets import Camp
    from quandary.journal.store import Run

SILENT = {"tags": "NoValidation"}
ASKING = lucid(
    {
        "1": "Start",
        "2": {"text": "Write the page", **SILENT},
        "3": {"text": "Is it good?", "tags": "HUMAN"},
        "4": {"text": "Print it", **SILENT},
        "5": "End",
        "6": "End",
    },
    "1>2 2>3 3>4:yes 3>6:no 4>5",
)
"""An agent, a person, an agent."""
TAKE = """
    UPDATE fleet_run SET worker = 1, due = NULL WHERE run = (
        SELECT run FROM fleet_run WHERE due <= now() AND worker IS NULL FOR UPDATE SKIP LOCKED
    ) RETURNING run
"""
VERSION_1 = """
    DROP TRIGGER fleet_follow_new ON run;
    DROP TRIGGER fleet_follow ON run;
    DROP FUNCTION fleet_follow, fleet_enqueue;
    DROP TABLE fleet_worker;
    ALTER TABLE fleet_run DROP due, DROP worker, DROP attempts, DROP failed,
        ADD priority integer NOT NULL DEFAULT 0;
    CREATE TABLE procrastinate_workers (id bigint PRIMARY KEY);
    CREATE TABLE fleet_worker (
        worker bigint PRIMARY KEY REFERENCES procrastinate_workers (id) ON DELETE CASCADE,
        silence double precision NOT NULL, host text NOT NULL, version text NOT NULL
    );
    CREATE FUNCTION fleet_defer(wanted text) RETURNS void LANGUAGE sql AS '';
    CREATE FUNCTION fleet_follow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER fleet_follow AFTER UPDATE ON run FOR EACH ROW EXECUTE FUNCTION fleet_follow();
    UPDATE fleet SET version = 1, procrastinate = '3.5.3';
"""
"""What makes of a fleet one that still uses procrastinate."""


def asked(camp: Camp) -> str:
    """A run that waits for a person, and of which there is nothing in the queue."""
    camp.draw(ASKING)
    (run,) = camp.queue()
    camp.drain()
    assert camp.state(run)["ask"]["key"] == "S3@1/run"
    assert camp.jobs() == []
    return run


# -- beginning -----------------------------------------------------------------------------------


def test_a_walk_is_put_into_the_queue_of_its_first_agent(camp: Camp) -> None:
    """What is printed is the state of a run that waits, as it is with any walk."""
    camp.draw(lucid({"1": {"text": "Write it", "cli": "BEN"}, "2": "Print it"}, "1>2"))
    state = camp.walk("--fleet")
    assert (state["flow"], state["status"]) == ("walk", "waiting")
    assert "A worker resumes it" in state["notes"][0]["text"]
    assert camp.rows("SELECT queue, run, due <= now() FROM fleet_run") == [
        ("BEN@walk.1", state["run"], True)
    ]
    assert camp.calls == []


def test_every_item_is_queued(camp: Camp) -> None:
    """Several items are several runs, printed as those of any walk; the queue can be named."""
    told = camp.walk("--fleet", "--queue", "night shift", "--item", "1|A", "--item", "2|B")
    runs = [state["run"] for state in told["runs"]]
    assert [run for run, _ in camp.jobs()] == runs
    assert camp.rows("SELECT DISTINCT queue FROM fleet_run") == [("NIGHT SHIFT@walk.1",)]


def test_a_machine_that_queues_needs_neither_agents_nor_folder(camp: Camp) -> None:
    """Programs and folders are looked for where they are used."""
    camp.settings('[agents.FAR]\nargv = ["no-such-program"]\n', cli="FAR")
    camp.queue("--workdir", "/only/elsewhere")
    assert camp.call("walk", "c.csv").status == 1
    ended = camp.call("walk", "c.csv", "--fleet", "--cli", "NOBODY")
    assert (ended.status, "there is no agent NOBODY" in ended.err) == (1, True)


@pytest.mark.parametrize("words", [["--jobs", "2"], ["--answers", "-"], ["--via", "terminal"]])
def test_what_is_said_for_a_walk_here_is_refused(camp: Camp, words: list[str]) -> None:
    """Nothing that was said is passed over in silence."""
    ended = camp.call("walk", "c.csv", "--fleet", *words)
    assert ended.status == 2
    assert f"{words[0]}" in ended.err
    assert "does not go with --fleet" in ended.err
    assert camp.call("walk", "c.csv", "--queue", "X").status == 2


def test_a_file_is_refused_as_the_store_of_a_fleet(camp: Camp) -> None:
    """One line says why, and what to give instead."""
    for words in (("worker",), ("walk", "c.csv", "--fleet")):
        ended = camp.call(*words, "--store", "here.db")
        assert ended.status == 2
        assert ended.err.startswith("quandary: here.db is a file, which workers")
        assert "--store postgresql://" in ended.err
        assert ended.err.count("\n") == 1
    assert not (camp.folder / "here.db").exists()


def test_a_run_and_its_job_are_one_transaction(camp: Camp) -> None:
    """Where the one cannot be written, the other is not there either."""
    camp.queue()
    with camp.opened() as store:
        before = (camp.statuses(), camp.jobs())
        fleet = Fleet(store, "ANN")

        def torn(connection: psycopg.Connection[Any], run: Run) -> None:
            fleet._join(connection, run)
            raise InterruptedError

        store.beside = torn
        with pytest.raises(InterruptedError):
            _begun(store)
        assert (camp.statuses(), camp.jobs()) == before
        fleet.take_new_runs()
        _begun(store)
    assert len(camp.jobs()) == 2


def test_a_process_that_dies_while_it_queues_leaves_no_run_without_a_job(camp: Camp) -> None:
    """Killed at any moment, there are as many jobs as runs."""
    camp.queue()
    items = [word for number in range(300) for word in ("--item", f"{number}|N")]
    with subprocess.Popen(
        [*PROGRAM, "walk", "c.csv", "--fleet", *items],
        cwd=camp.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until(lambda: len(camp.jobs()) > 20)
        process.kill()
    runs = camp.rows("SELECT id FROM run ORDER BY id")
    assert 20 < len(runs) < 301
    assert [(run,) for run, _ in camp.jobs()] == runs
    assert camp.verified()


def _begun(store: PostgresStore) -> None:
    arguments = {"defaults": {"cli": "ANN"}, "codenames": ["ANN"]}
    steps = [{"id": "1", "text": "Write it", "kind": "process"}]
    chart = {"name": "C", "pages": [{"id": "p", "steps": steps}]}
    driver.begin(store, "walk", arguments, documents={"chart": chart}, who="agent", through="fleet")


# -- answering -----------------------------------------------------------------------------------


def by_command(camp: Camp, run: str) -> None:
    """Somebody says it to `quandary reply`."""
    camp.reply(run, "yes")


def by_store(camp: Camp, run: str) -> None:
    """Any door that goes on with a run in the store; none of them knows of workers."""
    with camp.opened() as store:
        reply = Reply((Answer("S3@1/run", ("YES",)),))
        driver.advance(store, run, reply, to="S3@1/run", who="person", through="web")


def by_amending(camp: Camp, run: str) -> None:
    """Somebody says no, and thinks better of it."""
    camp.reply(run, "no")
    assert camp.state(run)["status"] == "done"
    assert camp.jobs() == []
    ended = camp.call("amend", run, "yes", "--to", "S3@1/run", "--why", "It is good after all")
    assert ended.status == 0, ended


@pytest.mark.parametrize("answer", [by_command, by_store, by_amending])
def test_an_answer_puts_the_run_back(camp: Camp, answer: Callable[[Camp, str], None]) -> None:
    """Whatever door it comes through, the run stands in the queue when it is in the journal."""
    run = asked(camp)
    answer(camp, run)
    assert camp.jobs() == [(run, "due")]
    camp.drain()
    state = camp.state(run)
    assert state["status"] == "done"
    assert [step["attempts"] for step in state["result"]["steps"]] == [1, 1, 1]
    assert camp.called == ["ANN", "ANN"]
    assert camp.verified()


def test_an_answer_and_the_job_are_one_transaction(camp: Camp) -> None:
    """The job is there for whoever sees the answer, and for nobody else."""
    run = asked(camp)
    with psycopg.connect(camp.url) as door:
        door.execute("UPDATE run SET waits = 'agent', key = 'x' WHERE id = %s", (run,))
        assert door.execute("SELECT run FROM fleet_run WHERE due IS NOT NULL").fetchall() == [
            (run,)
        ]
        assert camp.jobs() == []
        door.rollback()
    assert camp.jobs() == []


def test_an_answer_that_comes_while_the_job_ends_is_not_lost(
    camp: Camp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that has seen a question waiting may say so after it was answered."""
    camp.draw(ASKING)
    (run,) = camp.queue()
    settle = JobQueue.settle
    answered: list[int] = []

    async def late(self: JobQueue, *words: object) -> None:
        if not answered:
            answered.append(1)
            by_store(camp, run)
            assert camp.jobs() == [(run, "taken"), (run, "due")]
        await settle(self, *words)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(JobQueue, "settle", late)
    camp.drain()
    assert camp.state(run)["status"] == "done"
    assert camp.called == ["ANN", "ANN"]


def test_a_job_in_the_queue_waits_for_the_answer_that_relies_on_it(camp: Camp) -> None:
    """Nobody takes it before the answer can be seen, or they would find nothing to do."""
    run = asked(camp)
    camp.rows("SELECT fleet_enqueue(%s)", run)
    with psycopg.connect(camp.url) as door:
        door.execute("UPDATE run SET waits = 'agent', key = 'x' WHERE id = %s", (run,))
        assert camp.rows(TAKE) == []
        door.commit()
    assert camp.rows(TAKE) == [(run,)]
    assert camp.jobs() == [(run, "taken")]


def test_a_taken_job_does_not_stand_for_an_answer(camp: Camp) -> None:
    """What a worker is about to take is not relied upon: it is due again."""
    run = asked(camp)
    camp.rows("SELECT fleet_enqueue(%s)", run)
    with psycopg.connect(camp.url) as worker:
        worker.execute(TAKE)
        door = threading.Thread(target=by_store, args=(camp, run))
        door.start()
        until(lambda: bool(camp.rows("SELECT 1 FROM pg_locks WHERE NOT granted")))
        worker.commit()
        door.join()
    assert camp.jobs() == [(run, "taken"), (run, "due")]


def test_runs_outside_the_fleet_are_left_alone(camp: Camp) -> None:
    """A walk that somebody drives here has no job, whatever is answered to it."""
    asked(camp)
    state = camp.walk()
    assert state["ask"]["key"] == "S3@1/run"
    camp.reply(state["run"], "yes")
    assert camp.jobs() == []


def test_a_run_can_be_taken_into_the_fleet_later(camp: Camp) -> None:
    """`--resume --fleet` has workers go on with what somebody began to walk here."""
    asked(camp)
    run = camp.walk()["run"]
    camp.reply(run, "yes")
    state = camp.resume(run, "--fleet")
    assert state["status"] == "waiting"
    assert camp.jobs() == [(run, "due")]
    camp.drain()
    assert camp.state(run)["status"] == "done"


def test_a_failed_run_is_tried_anew_by_workers(camp: Camp) -> None:
    """`--retry-failed --fleet` puts it back where it failed."""
    camp.draw(lucid({"1": {"text": "Write it", **SILENT, "retries": "0"}}, ""))
    camp.says("ANN", {"says": "", "status": 1}, {"completed": True})
    (run,) = camp.queue()
    camp.drain()
    assert camp.state(run)["status"] == "failed"
    camp.resume(run, "--fleet", "--retry-failed")
    camp.drain()
    assert camp.state(run)["status"] == "done"


# -- cancelling ----------------------------------------------------------------------------------


def test_a_run_that_is_withdrawn_leaves_the_queue(camp: Camp) -> None:
    """Nobody has to take it to find out."""
    run, other = camp.queue("--item", "1|A", "--item", "2|B")
    assert camp.call("withdraw", run, "--why", "Not needed").status == 0
    assert camp.jobs() == [(other, "due")]
    camp.drain()
    assert camp.statuses() == {"withdrawn": 1, "done": 1}


# -- the tables ----------------------------------------------------------------------------------


def test_several_that_start_at_once_make_the_tables_once(camp: Camp) -> None:
    """The others wait, and find them there."""
    stores = [PostgresStore(camp.url) for _ in range(6)]
    errors: list[Exception] = []

    def start(store: PostgresStore) -> None:
        try:
            share(store)
        except Exception as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=start, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()
    assert errors == []
    assert camp.rows("SELECT version FROM fleet") == [(len(MIGRATIONS),)]


def test_a_queue_of_a_newer_version_is_refused(camp: Camp) -> None:
    """It may not mean what this version takes it for."""
    camp.queue()
    camp.rows("UPDATE fleet SET version = 99")
    ended = camp.call("worker", "--drain")
    assert ended.status == 2
    assert "queue of a newer Quandary (version 99" in ended.err


def test_a_fleet_of_version_1_goes_on_with_its_runs(camp: Camp) -> None:
    """It used the tables of procrastinate; which runs wait for an agent is in the journal."""
    answered = asked(camp)
    waiting = asked(camp)
    (queued,) = camp.queue()
    camp.rows(VERSION_1)
    by_store(camp, answered)
    camp.drain()
    assert camp.state(answered)["status"] == "done"
    assert camp.state(queued)["ask"]["key"] == "S3@1/run"
    by_store(camp, waiting)
    camp.drain()
    assert camp.state(waiting)["status"] == "done"


def test_whoever_answers_needs_no_rights_to_the_queue(camp: Camp) -> None:
    """The trigger acts for whoever set up the fleet."""
    run = asked(camp)
    ((space,),) = camp.rows("SELECT current_schema()")
    camp.rows("DROP ROLE IF EXISTS clerk")
    camp.rows("CREATE ROLE clerk")
    try:
        camp.rows(f"GRANT USAGE ON SCHEMA {space} TO clerk")
        camp.rows("GRANT SELECT, UPDATE ON run TO clerk")
        with psycopg.connect(camp.url) as door:
            door.execute("SET ROLE clerk")
            door.execute("UPDATE run SET waits = 'agent', key = 'x' WHERE id = %s", (run,))
            door.commit()
        assert camp.jobs() == [(run, "due")]
    finally:
        camp.rows("DROP OWNED BY clerk")
        camp.rows("DROP ROLE clerk")


# -- names ---------------------------------------------------------------------------------------


def test_queues_are_taken_by_name_version_and_means() -> None:
    """Only what is wanted, what can be replayed, and what there is an agent for."""
    ours = [Queue("CLAUDE", "walk", 1), Queue("CODEX", "walk", 1), Queue("NIGHT", "walk", 1)]
    others = [Queue("CLAUDE", "walk", 2), Queue("CLAUDE", "dance", 1)]
    assert takeable([*ours, *others], (), ()) == ours
    assert takeable([*ours, *others], {"claude"}, ()) == ours[:1]
    assert takeable(ours, (), {"codex"}) == [ours[0], ours[2]]


@pytest.mark.parametrize("name", ["", " ", "@", "a@b", "-x", "x" * (LONGEST + 1), "a\0b"])
def test_what_names_no_queue_is_refused(name: str) -> None:
    """Names are short, and what stands behind them is ours."""
    with pytest.raises(QuandaryError, match="is no name of a queue"):
        queue_of(name)
    assert queue_of("x" * LONGEST).full == f"{'X' * LONGEST}@walk.1"
