"""The shared store: the server, its schema, who may do what, and what happens when it goes away."""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import databases
import processes
import small_flows
from databases import PASSWORD, QUOTED, USER
from program import consent
from quandary.errors import ReadOnly, Rejected, StoreError, Untrusted
from quandary.journal import connections, open_store, policy, postgres
from quandary.journal import runs as driver
from quandary.journal.entries import Answered
from quandary.journal.policy import read_policy
from quandary.journal.postgres import PostgresStore
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quandary.journal.store import Store


@pytest.fixture
def server() -> databases.Server:
    """A server that is left running."""
    return databases.shared()


@pytest.fixture
def url(server: databases.Server) -> Iterator[str]:
    """An empty schema on it."""
    with server.schema() as url:
        yield url


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    """A store in it."""
    store = PostgresStore(url)
    yield store
    store.close()


def asked(url: str, sql: str) -> Any:  # noqa: ANN401 - whatever was asked for
    """One value, behind the store's back."""
    with psycopg.connect(url) as connection:
        row = connection.execute(sql).fetchone()
    assert row is not None
    return row[0]


# -- what it promises ----------------------------------------------------------------------------


def test_a_url_opens_it(url: str) -> None:
    """Nothing else has to be said."""
    store = open_store(url.replace("postgresql:", "postgres:"))
    assert isinstance(store, PostgresStore)
    assert PASSWORD not in store.path
    assert QUOTED not in store.path
    store.close()


def test_answers_survive_a_loss_of_power(server: databases.Server, url: str) -> None:
    """What is acknowledged is on disk, even where the server is told not to wait for that."""
    with server.admin() as admin:
        admin.execute(f"ALTER ROLE {USER} SET synchronous_commit = off")
    try:
        store = PostgresStore(url)
        assert store._rows("SHOW synchronous_commit") == [("on",)]
        store.close()
        assert asked(url, "SHOW synchronous_commit") == "off"
    finally:
        with server.admin() as admin:
            admin.execute(f"ALTER ROLE {USER} RESET synchronous_commit")


def test_a_number_is_not_seen_before_a_lower_one(store: PostgresStore, url: str) -> None:
    """An entry stays out of the history until nobody can come in before it."""
    one, two = small_flows.begin(store), small_flows.begin(store)
    other = PostgresStore(url)
    seen = other.newest()
    with store._connections.held("READ COMMITTED") as writing:
        small_flows.answer(store, one)
        small_flows.answer(other, two)
        assert [entry.run for entry in other.entries(two.run, after=2)] == [two.run] * 2
        assert other.history(after=seen) == []
        assert other.newest() == seen
        assert [seq for *_, seq in other.heads()] == [2, 4]
        writing.commit()
    assert [entry.run for entry in other.history(after=seen)] == [one.run] * 2 + [two.run] * 2
    other.close()


def test_a_writer_that_gives_up_leaves_a_gap_that_is_none(store: PostgresStore, url: str) -> None:
    """The numbers it took are nobody's; nothing waits for them, and the journal verifies."""
    one, two = small_flows.begin(store), small_flows.begin(store)
    other = PostgresStore(url)
    with store._connections.held("READ COMMITTED"):
        small_flows.answer(store, one)
        small_flows.answer(other, two)
    assert [entry.seq for entry in other.history()] == [1, 2, 3, 4, 7, 8]
    report = verify(other)
    assert report.ok
    assert report.digest.startswith("8-")
    other.close()


def test_a_snapshot_is_taken_between_two_writers(store: PostgresStore, url: str) -> None:
    """So that its digest is that of a moment which the journal can be brought back to."""
    states = [small_flows.begin(store, questions=30) for _ in range(3)]
    stop = threading.Event()

    def write(number: int) -> None:
        mine = PostgresStore(url)
        state = states[number]
        while state.status == "waiting" and not stop.is_set():
            state = small_flows.answer(mine, state)
        mine.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    digests = [verify(store).digest for _ in range(5)]
    stop.set()
    for thread in threads:
        thread.join()
    assert all(verify(store, expect=digest).ok for digest in digests)


@pytest.mark.parametrize(
    ("where", "index"),
    [
        ("WHERE waits = 'x' AND number > 0 ORDER BY number", "run_waits"),
        (
            "WHERE project = 'x' AND waits = 'x' AND number > 0 ORDER BY number",
            "run_project_waits",
        ),
        ("WHERE status = 'x' AND number > 0 ORDER BY number", "run_status"),
        ("WHERE waits IS NOT NULL AND expires <= 'x'", "run_expires"),
    ],
)
def test_the_inbox_is_one_indexed_query(store: PostgresStore, where: str, index: str) -> None:
    """No listing reads the runs that it does not show, or sorts those it does."""
    with store._connections.held("READ COMMITTED") as connection:
        connection.execute("SET LOCAL enable_seqscan = off")
        connection.execute("SET LOCAL enable_bitmapscan = off")
        rows = connection.execute(f"EXPLAIN SELECT * FROM run {where}").fetchall()  # noqa: S608
    plan = [row[0] for row in rows]
    assert plan[0].startswith(f"Index Scan using {index} on run")


def test_listeners_are_told_which_run_has_news(store: PostgresStore, url: str) -> None:
    """On the channel `quandary`, once it is written, when a run begins and when it goes on."""
    with psycopg.connect(url, autocommit=True) as listener:
        listener.execute("LISTEN quandary")
        state = small_flows.begin(store)
        small_flows.answer(store, state)
        told = [notice.payload for notice in listener.notifies(timeout=5, stop_after=2)]
    assert told == [state.run, state.run]


def test_many_appends_are_told_in_few_words_and_none_is_left_out(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first at once, the others together; the last words of a store are said as it closes."""
    monkeypatch.setattr(postgres, "SHORTEST", 60)
    with psycopg.connect(url, autocommit=True) as listener:
        listener.execute("LISTEN quandary")
        state = small_flows.begin(store)
        small_flows.answer(store, small_flows.answer(store, state))
        other = small_flows.begin(store)
        store.close()
        told = [notice.payload for notice in listener.notifies(timeout=5, stop_after=3)]
    assert told == [state.run, state.run, other.run]


def test_news_are_told_at_once_and_nothing_is_told_of_nothing(
    store: PostgresStore, url: str
) -> None:
    """Whoever shows the inbox does not have to look for it."""
    other = PostgresStore(url)
    news = other.news(0.2)
    assert next(news)
    assert [next(news) for _ in range(3)] == [False] * 3
    begun = time.monotonic()
    threading.Timer(0.1, small_flows.begin, (store,)).start()
    heard = [next(news) for _ in range(3)]
    assert heard.count(True) == 1
    assert time.monotonic() - begun < 1.5
    news.close()
    other.close()


# -- whose database it is ------------------------------------------------------------------------


def refusal(address: str) -> str:
    """Why a store cannot be opened; no password is in it."""
    with pytest.raises(StoreError) as refused:
        PostgresStore(address, patience=0.5)
    told = str(refused.value)
    assert PASSWORD not in told
    assert QUOTED not in told
    assert "\n" not in told
    return told


def test_a_wrong_password_is_said_and_not_repeated(server: databases.Server) -> None:
    """Nor is the right one."""
    told = refusal(server.url(password="open-sesame"))  # noqa: S106 - a wrong one
    assert "rejects this user or password" in told
    assert "open-sesame" not in told
    assert "password" in refusal(server.url(password=""))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:open-sesame:x@host:port/db",
        "postgresql://me:open/sesame@host/db",
        "postgresql://host/db?nonsense=open-sesame",
        "postgresql://me:100%@host/db",
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    """What is wrong with it may be the password, so it is not quoted."""
    told = refusal(address)
    assert "postgresql://USER@HOST/DATABASE" in told
    assert "open" not in told.replace("nonsense=open-sesame", "")


def test_a_server_that_is_away_is_given_its_time_and_then_said() -> None:
    """What can only be wrong is said at once: a name that leads nowhere, a password."""
    begun = time.monotonic()
    assert "cannot be reached (Connection refused)" in refusal("postgresql://127.0.0.1:9/db")
    assert time.monotonic() - begun >= 0.5
    with pytest.raises(StoreError, match="cannot be reached"):
        PostgresStore("postgresql://nowhere.invalid/db", patience=600)


def test_a_server_that_comes_back_is_waited_for_by_who_begins() -> None:
    """A command that starts while it is restarted, or while it is full, works a bit later."""
    with databases.served() as server, server.schema() as url:
        PostgresStore(url).close()
        server.stop()
        starting = threading.Timer(1.0, server.start)
        starting.start()
        with closing(PostgresStore(url)) as store:
            assert store.runs() == []
        starting.join()
        others: list[psycopg.Connection[Any]] = []
        with suppress(psycopg.OperationalError):
            while True:
                others.append(psycopg.connect(url))
        with pytest.raises(StoreError, match=r"(too many clients|connection slots).*; try again"):
            PostgresStore(url, patience=0.5)
        leaving = threading.Timer(1.0, lambda: [*map(psycopg.Connection.close, others)])
        leaving.start()
        with closing(PostgresStore(url)) as store:
            assert store.runs() == []
        leaving.join()


def test_a_database_that_is_not_there_is_said(server: databases.Server) -> None:
    """And how it is made."""
    assert "createdb" in refusal(server.url(database="nowhere"))


def test_a_schema_that_is_not_there_is_said(server: databases.Server) -> None:
    """Tables have to go somewhere."""
    assert "search_path" in refusal(server.url("nowhere"))


def test_a_database_of_another_program_is_refused(url: str) -> None:
    """Nobody's tables get a journal beside them."""
    databases.change(url, "CREATE TABLE bookmarks (url TEXT)")
    assert "another program" in refusal(url)
    databases.change(url, "CREATE TABLE quandary (colour TEXT)")
    assert "another program" in refusal(url)


def test_a_database_that_cannot_keep_every_letter_is_refused(server: databases.Server) -> None:
    """A text that is half kept is lost."""
    with server.admin() as admin:
        admin.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0")
    try:
        assert "UTF8" in refusal(server.url(database="plain"))
    finally:
        with server.admin() as admin:
            admin.execute("DROP DATABASE plain")


def test_a_new_schema_is_brought_to_old_databases(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Migrations run once, in order, whoever opens the database first."""
    old = PostgresStore(url)
    state = small_flows.begin(old)
    more = ("ALTER TABLE run ADD COLUMN colour TEXT", "UPDATE run SET colour = 'red'")
    migrations = (*connections.MIGRATIONS, more)
    monkeypatch.setattr(connections, "MIGRATIONS", migrations)
    for _ in range(2):
        new = PostgresStore(url)
        assert new._rows("SELECT version FROM quandary") == [(len(migrations),)]
        assert new._rows("SELECT colour FROM run") == [("red",)]
        new.close()
    assert small_flows.answer(old, state).key == "2:"
    assert verify(old).ok
    old.close()


def test_a_migration_that_fails_changes_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema is changed as a whole or not at all."""
    PostgresStore(url).close()
    with monkeypatch.context() as patched:
        wrong = ("CREATE TABLE further (a INTEGER)", "CREATE NONSENSE")
        patched.setattr(connections, "MIGRATIONS", (*connections.MIGRATIONS, wrong))
        assert "NONSENSE" in refusal(url)
    assert asked(url, "SELECT to_regclass('further') IS NULL")
    PostgresStore(url).close()


def test_who_may_only_read_can_look_and_is_told_when_they_write(
    server: databases.Server, url: str, store: PostgresStore
) -> None:
    """Reading, verifying and listening need no more."""
    state = small_flows.begin(store)
    schema = url.rpartition("%3D")[2]
    with server.admin() as admin:
        admin.execute("CREATE ROLE visitor LOGIN PASSWORD 'seen'")
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO visitor")
        admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO visitor")
        admin.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO visitor")
    try:
        visitor = PostgresStore(url.replace(f"{USER}:{QUOTED}", "visitor:seen"))
        assert driver.look(visitor, state.run) == state
        assert verify(visitor).ok
        with pytest.raises(StoreError, match="may not do that"):
            small_flows.answer(visitor, state)
        visitor.close()
    finally:
        with server.admin() as admin:
            admin.execute("DROP OWNED BY visitor")
            admin.execute("DROP ROLE visitor")


def test_a_database_that_can_only_be_read_is_not_ready(store: PostgresStore, url: str) -> None:
    """A standby, or one that was set so: whoever watches over a server learns it beforehand."""
    state = small_flows.begin(store)
    store.require_ready()
    with closing(PostgresStore(f"{url}%20-cdefault_transaction_read_only%3Don")) as standby:
        assert driver.look(standby, state.run) == state
        for write in (standby.require_ready, lambda: small_flows.answer(standby, state)):
            with pytest.raises(ReadOnly, match="only lets it be read"):
                write()


def test_a_database_that_a_project_chose_is_not_opened_unasked(
    url: str, store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote the repository would get every question; its user agrees first."""
    (tmp_path / "quandary.toml").write_text(f'store = "{url}"\n', encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("QUANDARY_STORE", raising=False)
    policy.set_preference(
        *(store, "log-level", "never-ask"),
        scope=str(tmp_path),
        origin="user",
        who="person",
        through="terminal",
    )
    with pytest.raises(Untrusted, match="quandary trust"):
        open_store(start=str(tmp_path))
    consent(tmp_path)
    opened = open_store(start=str(tmp_path))
    assert read_policy(opened, str(tmp_path)).check("log-level").decide
    opened.close()


def test_a_run_is_walked_by_one_process_at_a_time(store: PostgresStore, url: str) -> None:
    """On whatever machine, and only as long as it lives."""
    one, two = small_flows.begin(store).run, small_flows.begin(store).run
    other = PostgresStore(url)
    with store.lock_run(one):
        for who in (store, other):
            with (
                pytest.raises(Rejected, match="being driven by another process"),
                who.lock_run(one),
            ):
                pass
        with other.lock_run(two):
            assert other.history() == store.history()
            cut(store, url)
            with store.lock_run(small_flows.begin(store).run):
                pass
        with pytest.raises(Rejected), other.lock_run(one):
            pass
    with other.lock_run(one), pytest.raises(Rejected), store.lock_run(one):
        pass
    store.close()
    with other.lock_run(one):
        pass
    other.close()


# -- when it is held up, or goes away --------------------------------------------------------------


def test_a_lock_is_taken_again_or_known_to_be_lost(store: PostgresStore, url: str) -> None:
    """The connection that holds it was ended: whoever takes the run then has it alone."""
    one, two = small_flows.begin(store).run, small_flows.begin(store).run
    with closing(PostgresStore(url)) as other, store.lock_run(one), store.lock_run(two):
        assert not store.has_lost(one)
        cut(store, url)
        with other.lock_run(one):
            assert (store.has_lost(one), store.has_lost(two)) == (True, False)
            with pytest.raises(Rejected), other.lock_run(two):
                pass
        assert store.has_lost(one)  # what happened to it meanwhile is not known here
    with store.lock_run(one):
        assert not store.has_lost(one)


def test_a_locked_store_is_given_up_after_its_time(store: PostgresStore, url: str) -> None:
    """Writers wait as long as they are patient, then say what holds them; readers go on."""
    state = small_flows.begin(store)
    hasty = PostgresStore(url, patience=0.3)
    with psycopg.connect(url) as holder:
        holder.execute("SELECT * FROM run FOR UPDATE")
        begun = time.monotonic()
        with pytest.raises(StoreError, match=r"locked by another program for 0\.3 seconds"):
            small_flows.answer(hasty, state)
        assert 0.3 <= time.monotonic() - begun < 3
        assert driver.look(hasty, state.run).key == state.key
    assert small_flows.answer(hasty, state).key == "2:"
    hasty.close()


def cut(store: PostgresStore, url: str) -> None:
    """End every connection of a store, as a network would that lost them."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'quandary' AND pid <> pg_backend_pid()"
        )
    assert store.path


def test_lost_connections_are_made_anew(store: PostgresStore, url: str) -> None:
    """Between two calls, nobody notices."""
    state = small_flows.begin(store)
    for _ in range(3):
        cut(store, url)
        state = small_flows.answer(store, state)
    assert state.status == "done"
    cut(store, url)
    assert verify(store).ok


class Deaf(psycopg.Connection[Any]):
    """A connection that is lost just after what it was told has been done."""

    losses = 0
    words = ""

    def execute(self, query: Any, *rest: Any, **more: Any) -> Any:  # noqa: ANN401
        """Do it, and do not live to tell."""
        done = super().execute(query, *rest, **more)
        if Deaf.losses and Deaf.words in str(query):
            Deaf.losses -= 1
            self.close()
            raise psycopg.OperationalError("the connection is lost")
        return done


def test_an_append_whose_outcome_was_not_heard_is_done_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again, meets itself, and is content."""
    state = small_flows.begin(store)
    monkeypatch.setattr(store._connections._pool, "connection_class", Deaf)
    cut(store, store.address)
    store.runs()
    monkeypatch.setattr(Deaf, "words", "UPDATE run SET")
    monkeypatch.setattr(Deaf, "losses", 2)
    after = small_flows.answer(store, state, small_flows.pick("1:", "NO", comment="once"))
    assert Deaf.losses == 0
    assert after.key == "2:"
    assert [entry.kind for entry in store.entries(state.run)][2:] == ["answered", "asked"]
    assert verify(store).ok


def test_a_beginning_whose_outcome_was_not_heard_happens_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is found again by its name, however often it is tried."""
    lost = [psycopg.OperationalError("the connection is lost")]
    tell = store._teller.tell

    def deaf(connection: psycopg.Connection[Any], run: str) -> None:
        tell(connection, run)
        if lost:
            raise lost.pop()

    monkeypatch.setattr(store._teller, "tell", deaf)
    state = small_flows.begin(store)
    assert not lost
    assert [run.id for run in store.runs()] == [state.run]
    assert verify(store).ok


def booked(store: Store, run: str) -> dict[str, list[str]]:
    """What was booked under each key."""
    found: dict[str, list[str]] = {}
    for entry in store.entries(run, kinds=("answered",)):
        body = entry.read()
        assert isinstance(body, Answered)
        (answer,) = entry.read_matter().answers
        found.setdefault(body.key, []).append(str(answer.comment))
    return found


def test_no_acknowledged_answer_is_lost_when_the_server_is_restarted() -> None:
    """Shut down and crashed in the middle: writers wait, go on, and nothing is booked twice."""
    with databases.served() as server, server.schema() as url:
        store = PostgresStore(url)
        runs = [small_flows.begin(store, questions=1_000_000).run for _ in range(2)]
        writers = [processes.spawn("steady", url, run, 5) for run in runs]
        deadline = time.monotonic() + 30
        while any(len(store.entries(run)) < 20 for run in runs) and time.monotonic() < deadline:
            time.sleep(0.1)  # a busy machine takes its time to start them
        for how in ("fast", "at once"):
            server.stop(how)
            server.start()
            time.sleep(0.7)
        outputs = [writer.communicate(timeout=60)[0] for writer in writers]
        assert [writer.returncode for writer in writers] == [0, 0]
        for run, output in zip(runs, outputs, strict=True):
            lines = [line.split()[1:] for line in output.splitlines()]
            kept = booked(store, run)
            assert len(lines) > 50
            assert all(len(tokens) == 1 for tokens in kept.values())
            assert [kept[key] for _, key, _ in lines] == [[token] for _, _, token in lines]
            assert len(kept) == len(lines)
        assert verify(store).ok
        hasty = PostgresStore(url, patience=0.5)
        server.stop()
        with pytest.raises(StoreError, match="cannot be reached"):
            hasty.runs()
        hasty.close()
        store.close()
        server.start()
