"""Callbacks: what becomes of a run is told to a program elsewhere, from an outbox in the store."""

from __future__ import annotations

import hashlib
import hmac
import json
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from msgspec.structs import replace

import databases
import quandary
import sites
from program import PROGRAM as PROGRAM_WORDS
from program import environment
from quandary.cli import doctor
from quandary.desk import begin, notices, reply
from quandary.desk.authority import Caller, Scope
from quandary.desk.begin import Asking, Showing
from quandary.desk.notices import post
from quandary.errors import AlreadyAnswered, ParseError, PersonRequired, Rejected
from quandary.journal import backups, chance, open_store, runs
from quandary.journal.sqlite import SqliteStore
from quandary.journal.store import ADD_LETTER
from quandary.model.asks import Answer, Reply
from quandary.settings import user_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import State, Store

PERSON = Caller("person", "web", "ada")
PROGRAM = Caller("api", "python")
ELSEWHERE = Caller("api", "web", "bot", Scope("here", "here"), is_user=True)


class Receiver(ThreadingHTTPServer):
    """A program that is told."""

    answer = 204

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.came: list[tuple[dict[str, str], bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/told"

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """What came: the id, the event and the status of each."""
        bodies = [json.loads(body) for _, body in self.came]
        return [(told["id"].partition("/")[2], told["event"], told["status"]) for told in bodies]


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Receiver

    def do_POST(self) -> None:
        """Keep it, and answer as was asked for."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came.append((dict(self.headers), body))
        self.send_response(self.server.answer)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """One on this machine."""
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings and folders of its own."""
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    return tmp_path


@pytest.fixture(params=["embedded", "shared"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A file, or a schema of a real server."""
    if request.param == "embedded":
        with closing(open_store(tmp_path / "journal.db")) as store:
            yield store
    else:
        with databases.shared().schema() as url, closing(open_store(url)) as store:
            yield store


def say(home: Path, text: str) -> None:
    """The user's own settings."""
    (home / "quandary").mkdir(exist_ok=True)
    (home / "quandary" / "config.toml").write_text(text, encoding="utf-8")


def listed(receiver: Receiver, *more: str) -> str:
    """Settings that name a receiver."""
    return "\n".join(["[[callbacks]]", f'url = "{receiver.url}"', 'secret = "s3cret"', *more])


def ask(store: Store, caller: Caller = PROGRAM, callback: str = "", **wanted: Any) -> State:  # noqa: ANN401
    """A question with two answers, which tells an address."""
    asking = Asking("It passed.", question="Deploy?", options=["Now", "Later"], callback=callback)
    asking = replace(asking, **wanted)
    beginning = begin.prepare(store, caller, asking, Showing())
    return begin.begin(store, caller, beginning, Showing(), expires=asking.expires)


def test_what_becomes_of_a_run_is_told_in_order_and_signed(
    store: Store, home: Path, receiver: Receiver
) -> None:
    """Answered, undone, amended, withdrawn, expired: under the ids of the entries, once each."""
    say(home, listed(receiver))
    one = ask(store)
    reply.reply(store, PERSON, one.run, "now", None)
    runs.undo(store, one.run, **PERSON.source)
    reply.reply(store, PERSON, one.run, "later", None)
    changed = Reply((Answer(runs.answer_of(store, one.run)[1].key, ("NOW",)),))  # type: ignore[index]
    reply.amend(store, PERSON, one.run, changed, key=changed.answers[0].key, why="it is urgent")
    two = ask(store)
    reply.withdraw(store, PERSON, two.run, "moot")
    three = ask(store, expires="1s")
    deadline = time.monotonic() + 30
    while runs.look(store, three.run).status == "waiting":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    while notices.deliver_due(store):
        pass
    assert notices.deliver_due(store) == 0
    bodies = [json.loads(body) for _, body in receiver.came]
    assert [(b["event"], b["status"]) for b in bodies if b["run"] == one.run] == [
        ("run.answered", "done"),
        ("run.undone", "waiting"),
        ("run.answered", "done"),
        ("run.amended", "done"),
    ]
    assert [(b["event"], b["error"]) for b in bodies if b["run"] == two.run] == [
        ("run.withdrawn", "moot")
    ]
    assert [b["event"] for b in bodies if b["run"] == three.run] == ["run.expired"]
    headers, body = receiver.came[0]
    told = json.loads(body)
    number = int(told["id"].removeprefix(f"{one.run}/"))
    assert store.entries(one.run, after=number - 1, upto=number)[0].kind == "answered"
    assert (told["who"], told["by"], told["result"]["chosenItems"][0]["path"]) == (
        "person",
        "ada",
        "NOW",
    )
    signed = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["X-Quandary-Signature"] == f"sha256={signed}"
    assert (headers["X-Quandary-Event"], headers["X-Quandary-Id"]) == ("run.answered", told["id"])
    assert store.count_letters() == {"waiting": 0, "given up": 0}


def test_advice_is_not_told_as_an_answer(store: Store) -> None:
    """The question still waits."""
    state = ask(store, callback="https://receiver.example/told")
    state = reply.advise(store, PROGRAM, state.run, "Because.", (), state.key or "")
    assert store.count_letters() == {"waiting": 0, "given up": 0}
    runs.withdraw(store, state.run, "No need.", who="person", through="web")
    assert store.count_letters() == {"waiting": 1, "given up": 0}


def test_what_is_not_taken_is_tried_again_and_nothing_overtakes_it(
    store: Store, home: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After pauses that grow, for a day; then it is given up, and doctor and metrics say so."""
    say(home, listed(receiver, "only_named = true"))
    other = ask(store)  # which tells nobody
    state = ask(store, callback=f"{receiver.url}/812")
    reply.reply(store, PERSON, state.run, "now", None)
    runs.undo(store, state.run, **PERSON.source)
    reply.reply(store, PERSON, other.run, "now", None)
    receiver.answer, real, pauses = 500, chance.now, []
    for _ in range(4):
        tried = len(receiver.came)
        assert notices.deliver_due(store) == 0
        assert len(receiver.came) == tried + 1
        (letter,) = [row for row in store.find_letters("9999") if row.tries]
        begun = chance.now()
        pauses.append(round((datetime.fromisoformat(letter.due) - begun).total_seconds()))
        monkeypatch.setattr(
            chance, "now", lambda pause=pauses[-1], at=begun: at + timedelta(seconds=pause + 1)
        )
    assert pauses == [15, 30, 60, 120]
    assert [event for _, event, _ in receiver.told] == ["run.answered"] * 4
    receiver.answer = 204
    assert notices.deliver_due(store) == 1
    assert notices.deliver_due(store) == 1
    assert [event for _, event, _ in receiver.told][4:] == ["run.answered", "run.undone"]
    monkeypatch.setattr(chance, "now", real)
    reply.reply(store, PERSON, state.run, "later", None)
    monkeypatch.setattr(chance, "now", lambda: real() + timedelta(days=2))
    assert notices.deliver_due(store) == 0
    assert store.count_letters() == {"waiting": 0, "given up": 1}
    monkeypatch.setattr(chance, "now", real)
    findings = {found.what: found.text for found in doctor.examine_store(store.address)}
    assert findings["callbacks"] == "to be delivered: 1 given up"


def test_two_who_deliver_do_not_do_it_twice(store: Store, home: Path, receiver: Receiver) -> None:
    """Whoever claims it first has it; a reply that came too late tells nothing."""
    say(home, listed(receiver))
    states = [ask(store) for _ in range(5)]
    for state in states:
        reply.reply(store, PERSON, state.run, "now", None)
        with pytest.raises(AlreadyAnswered):
            reply.reply(store, PERSON, state.run, "later", state.key)
    threads = [threading.Thread(target=notices.deliver_due, args=(store,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = sorted(json.loads(body)["run"] for _, body in receiver.came)
    assert told == sorted(state.run for state in states)


def test_who_asks_from_elsewhere_names_only_what_is_listed(
    store: Store, home: Path, receiver: Receiver
) -> None:
    """Else a server would send to whatever a client says: to itself, or into its network."""
    for address in (receiver.url, "https://169.254.169.254/latest", "https://example.org/x"):
        with pytest.raises(PersonRequired, match=r"not in \[\[callbacks\]\]"):
            ask(store, ELSEWHERE, address)
    say(home, listed(receiver, "only_named = true"))
    assert ask(store, ELSEWHERE, f"{receiver.url}/812").status == "waiting"
    with pytest.raises(PersonRequired):
        ask(store, ELSEWHERE, f"{receiver.url}-of-somebody-else")
    for address in ("http://example.org/", "ftp://127.0.0.1/", "file:///etc/passwd", "told"):
        with pytest.raises(ParseError, match="begins with https://"):
            ask(store, PROGRAM, address)
    assert len(store.runs()) == 1


def test_an_address_on_this_machine_is_for_a_store_on_this_machine(
    store: Store, receiver: Receiver
) -> None:
    """Whoever delivers from a shared store may be on another one."""
    if store.shared is None:
        state = ask(store, PROGRAM, receiver.url)
        reply.reply(store, PERSON, state.run, "now", None)
        assert notices.deliver_due(store) == 1
        assert "X-Quandary-Signature" not in receiver.came[0][0]
    else:
        with pytest.raises(Rejected, match="for a store on this machine"):
            ask(store, PROGRAM, receiver.url)


def test_the_journal_says_who_is_told_and_nobody_else(store: Store, receiver: Receiver) -> None:
    """A row that somebody has put into the outbox leads nowhere."""
    state = ask(store)
    store._change(ADD_LETTER, (state.run, 0, receiver.url, None))
    reply.reply(store, PERSON, state.run, "now", None)
    assert notices.deliver_due(store) == 0
    assert receiver.came == []
    assert store.count_letters()["given up"] == 1


def test_a_repository_names_no_callbacks(home: Path, receiver: Receiver) -> None:
    """Only the user's own settings count."""
    (home / "quandary.toml").write_text(listed(receiver), encoding="utf-8")
    with closing(SqliteStore(home / "own.db")) as store:
        state = ask(store)
        reply.reply(store, PERSON, state.run, "now", None)
        assert store.count_letters()["waiting"] == 0
    assert notices.list_callbacks(user_settings()) == []


def test_what_was_not_delivered_goes_along_with_a_copy(
    store: Store, home: Path, receiver: Receiver
) -> None:
    """Nothing that is due is lost when a journal is moved."""
    say(home, listed(receiver))
    state = ask(store)
    reply.reply(store, PERSON, state.run, "now", None)
    with closing(SqliteStore(home / "copy.db")) as copy:
        backups.copy(store, copy)
        assert notices.deliver_due(copy) == 1
        runs.undo(copy, state.run, **PERSON.source)
        assert notices.deliver_due(copy) == 1
    assert [event for _, event, _ in receiver.told] == ["run.answered", "run.undone"]


def test_a_server_delivers_and_its_metrics_say_what_is_left(
    tmp_path: Path, receiver: Receiver
) -> None:
    """Soon after the answer, however that came."""
    say(tmp_path, listed(receiver, "only_named = true"))
    server = sites.Server(tmp_path)
    server.start()
    try:
        with pytest.raises(quandary.TimedOut), quandary.Client(server.address) as client:
            client.confirm("Deploy?", context="Passed.", callback=receiver.url, timeout=0)
        with closing(open_store(tmp_path / "journal.db")) as store:
            reply.reply(store, PERSON, runs.inbox(store)[0].id, "yes", None)
            deadline = time.monotonic() + 60
            while not receiver.came or store.count_letters()["waiting"]:
                assert time.monotonic() < deadline
                time.sleep(0.02)
        assert receiver.told[0][1:] == ("run.answered", "done")
        figures = httpx.get(f"{server.address}/metrics").text
        assert 'quandary_callbacks{state="waiting"} 0.0' in figures
    finally:
        server.kill()


def test_a_worker_delivers_where_there_is_no_server(home: Path, receiver: Receiver) -> None:
    """Whichever program is there does, for a shared store."""
    say(home, listed(receiver))
    folders = {name: str(home) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    with databases.shared().schema() as url, closing(open_store(url)) as store:
        reply.reply(store, PERSON, ask(store).run, "Now", None)
        words, quiet = [*PROGRAM_WORDS, "worker", "--store", url], subprocess.DEVNULL
        worker = subprocess.Popen(words, env=environment(folders), stdout=quiet, stderr=quiet)
        try:
            deadline = time.monotonic() + 60
            while not receiver.came or store.count_letters()["waiting"]:
                assert time.monotonic() < deadline
                time.sleep(0.02)
        finally:
            worker.kill()
            worker.wait()
    assert receiver.told[0][1:] == ("run.answered", "done")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('callbacks = "https://a.example"', "Expected `array`"),
        ("[[callbacks]]\nurl = 3", "Expected `str`"),
        ('[[callbacks]]\nurl = "http://a.example"', "begins with https://"),
        ('[[callbacks]]\nsecret = "s"', "missing required field `url`"),
        ('[[callbacks]]\nurl = "https://a.example"\nall = true', "unknown field `all`"),
    ],
)
def test_settings_that_make_no_sense_are_said(home: Path, text: str, why: str) -> None:
    """Before anything is asked, and by doctor."""
    say(home, text)
    with closing(SqliteStore(home / "own.db")) as store:
        with pytest.raises(ParseError) as raised:
            ask(store)
        assert why in str(raised.value)
    assert any(why in found.text for found in doctor.examine_settings() if found.text)


def test_the_receiver_of_the_documentation_takes_what_is_signed(home: Path) -> None:
    """And refuses the rest, as the page shows it."""
    text = (Path(__file__).parents[2] / "examples/python/told.py").read_text(encoding="utf-8")
    port = sites._free_port()
    (home / "told.py").write_text(text.replace("9000", str(port)), encoding="utf-8")
    address, secret = (
        f"http://127.0.0.1:{port}/told",
        "the secret of that callback in your settings",
    )
    say(home, f'[[callbacks]]\nurl = "{address}"\nsecret = "{secret}"')
    with (
        closing(SqliteStore(home / "own.db")) as store,
        subprocess.Popen([sys.executable, "told.py"], cwd=home, stdout=subprocess.PIPE) as told,
    ):
        state = ask(store)
        reply.reply(store, PERSON, state.run, "now", None)
        deadline = time.monotonic() + 60
        while post(address, "guessed", b"{}", {}, 5) != "the webhook at 127.0.0.1 answered 403":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert notices.deliver_due(store) == 1
        assert told.stdout is not None
        assert told.stdout.readline().decode() == f"{state.run}/3 run.answered done\n"
        told.kill()
