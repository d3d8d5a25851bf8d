"""Going on from a run's page where the run belongs to a fleet of workers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import databases
import walks
from quandary import fleet
from quandary.cli.servers import in_background
from quandary.desk.authority import Caller, Scope
from quandary.desk.reply import record_reply
from quandary.desk.walks import Walks
from quandary.errors import PersonRequired, Rejected
from quandary.fleet import Fleet
from quandary.journal import runs
from quandary.journal.postgres import PostgresStore
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import State


@pytest.fixture
def shared() -> Iterator[tuple[PostgresStore, str]]:
    """A journal on a server, and its address."""
    with databases.shared().schema() as url:
        store = PostgresStore(url)
        yield store, url
        store.close()


def queued(store: PostgresStore) -> list[Any]:
    """The runs that stand in the queue."""
    sql = "SELECT run FROM fleet_run WHERE due IS NOT NULL"
    return [
        row[0]
        for row in store.with_connection(lambda connection: connection.execute(sql).fetchall())
    ]


def failing(store: PostgresStore) -> State:
    """A run that has failed."""
    state = walks.begin(store)
    while state.calls:
        state = walks.send(store, state, walks.failed(state.calls[0]))
    return state


def test_a_run_of_the_fleet_goes_back_into_its_queue(shared: tuple[PostgresStore, str]) -> None:
    """No program is started for it, wherever its folder is."""
    store, _ = shared
    drivers = Walks(store, "/projects/elsewhere", in_background, fleet=fleet)
    run = failing(store).run
    Fleet(store, "CLAUDE").add(run)
    row = store.run(run)
    assert row is not None
    assert drivers.obstacle(row) == ""
    assert queued(store) == []
    again = partial(runs.retry, store, run, who="person", through="web")
    assert drivers.start(run, again).calls[0].key == "Sbuild@1/run~a1"
    assert queued(store) == [run]
    assert drivers.is_queued(run)
    store.with_connection(lambda connection: connection.execute("UPDATE fleet_run SET due = NULL"))
    assert not drivers.is_queued(run)
    assert drivers.start(run, partial(runs.look, store, run)).status == "waiting"
    assert queued(store) == [run]
    assert not drivers.is_under_way(run)


def test_other_runs_of_a_shared_store_are_left_where_they_belong(
    shared: tuple[PostgresStore, str],
) -> None:
    """Somebody else may have written where they belong, so that only our own project counts."""
    store, _ = shared
    drivers = Walks(store, "/projects/elsewhere", in_background, fleet=fleet)
    run = failing(store).run
    with pytest.raises(Rejected, match="resume it there"):
        drivers.start(run, partial(runs.look, store, run))


def test_whoever_walks_it_is_seen_from_other_machines(shared: tuple[PostgresStore, str]) -> None:
    """The database knows of the lock."""
    store, url = shared
    other = PostgresStore(url)
    drivers = Walks(store, "here", in_background)
    run = failing(store).run
    with other.lock_run(run):
        assert drivers.is_under_way(run)
        with pytest.raises(Rejected, match="already"):
            drivers.start(run, partial(runs.look, store, run))
    assert not drivers.is_under_way(run)
    other.close()


def test_an_answer_that_starts_a_worker_needs_a_user(shared: tuple[PostgresStore, str]) -> None:
    """It would put the run into the queue; the token for programs is refused, a user's is not."""
    store, _ = shared
    asked = walks.go(store, walks.begin(store, fleet="CLAUDE"))
    assert asked.ask is not None
    Fleet(store, "CLAUDE").add(asked.run)
    scope = Scope("here", "here")
    code = asked.ask.questions[0].choices[-1].code
    answer = Reply((Answer(asked.ask.questions[0].key, (code,)),))
    for stranger in (Caller("api", "web", "token", scope), Caller("agent", "mcp", "", scope)):
        with pytest.raises(PersonRequired, match="only a person can start agents"):
            record_reply(store, stranger, asked.run, answer, to=asked.key)
    assert queued(store) == []
    user = Caller("api", "web", "ada", scope, is_user=True)
    record_reply(store, user, asked.run, answer, to=asked.key)
    assert queued(store) == [asked.run]
