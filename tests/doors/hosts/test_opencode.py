"""opencode, followed: what its server lists is asked in the inbox, and the answer goes back."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

import program
from quandary.desk import notices, reply
from quandary.desk.authority import Caller
from quandary.doors.hosts import Opencode
from quandary.errors import QuandaryError
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PERSON = Caller("person", "web", "ada")
COMMAND = {
    "id": "per_1",
    "sessionID": "ses_1",
    "permission": "bash",
    "patterns": ["touch x"],
    "metadata": {"command": "touch x"},
    "always": ["touch *"],
}
QUESTION = {
    "id": "que_1",
    "sessionID": "ses_1",
    "questions": [
        {
            "question": "Which log level should the new module use?",
            "header": "Level",
            "options": [
                {"label": "Info", "description": "a"},
                {"label": "Debug", "description": ""},
            ],
        }
    ],
}


class Fake(ThreadingHTTPServer):
    """A server that lists what waits, and keeps what it is told."""

    def __init__(self, folder: Path) -> None:
        self.listed: dict[str, list[Any]] = {"permission": [], "question": []}
        self.told: list[tuple[str, Any]] = []
        self.folder = str(folder)
        self.together = threading.Barrier(1)  # of so many, who asks for a session waits for all
        super().__init__(("127.0.0.1", 0), _Line)

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"


class _Line(BaseHTTPRequestHandler):
    server: Fake

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """What waits, or a session."""
        name = self.path.strip("/")
        if name not in self.server.listed:
            self.server.together.wait(20)
        self._send(self.server.listed.get(name, {"directory": self.server.folder}))

    def do_POST(self) -> None:
        """What it is told."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "gone" in self.path:
            self.send_error(404)
            return
        kind = self.path.split("/")[1]
        self.server.listed[kind] = []
        self.server.told.append((self.path, body))
        self._send(True)

    def _send(self, data: object) -> None:
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def opencode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Fake, SqliteStore]]:
    """One that is followed by a user who has everything in their inbox."""
    (tmp_path / "quandary").mkdir()
    text = '[permissions]\nroute = "inbox"\n[hooks]\nroute = "inbox"\n'
    (tmp_path / "quandary" / "config.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    fake, store, ended = Fake(tmp_path), SqliteStore(tmp_path / "journal.db"), list[str]()
    serving = threading.Thread(target=fake.serve_forever)

    def follow() -> None:
        try:
            Opencode(fake.address).follow(store)
        except QuandaryError as error:
            ended.append(str(error))

    following = threading.Thread(target=follow)
    serving.start()
    following.start()
    yield fake, store
    fake.shutdown()
    fake.server_close()
    serving.join(20)
    following.join(60)
    assert "no opencode answers" in ended[0]


def until(fits: Any) -> Any:  # noqa: ANN401 - whatever comes of it
    """What something gives as soon as it gives anything."""
    late = time.monotonic() + 30
    while not (found := fits()):
        assert time.monotonic() < late, "it took too long"
        time.sleep(0.02)
    return found


def answer(store: SqliteStore, *codes: str, text: str | None = None) -> str:
    """A person answers what waits."""
    (row,) = until(lambda: runs.inbox(store))
    run: str = row.id
    key = runs.look(store, row.id).key or ""
    reply.record_reply(store, PERSON, run, Reply((Answer(key, codes, text=text),)))
    return run


def test_decided_in_the_inbox(opencode: tuple[Fake, SqliteStore]) -> None:
    """A command is allowed once, another denied with words, and a question answered."""
    fake, store = opencode
    fake.listed["permission"] = [COMMAND]
    run = answer(store, "ONE")
    assert until(lambda: fake.told) == [("/permission/per_1/reply", {"reply": "once"})]
    assert runs.look(store, run).result["used"] is True
    fake.listed["permission"] = [{**COMMAND, "id": "per_2"}]
    answer(store, text="not that")
    refused = {"reply": "reject", "message": "not that"}
    assert until(lambda: fake.told[1:]) == [("/permission/per_2/reply", refused)]
    fake.listed["question"] = [QUESTION]
    answer(store, "B")
    assert until(lambda: fake.told[2:]) == [("/question/que_1/reply", {"answers": [["Debug"]]})]


def test_answered_there_it_leaves_the_inbox(opencode: tuple[Fake, SqliteStore]) -> None:
    """What is no longer listed was answered in its own window; nothing is sent."""
    fake, store = opencode
    fake.listed = {"permission": [COMMAND], "question": [QUESTION]}
    until(lambda: len(runs.inbox(store)) == 2)
    fake.listed = {"permission": [], "question": []}
    until(lambda: not runs.inbox(store))
    assert {row.status for row in store.runs()} == {"withdrawn"}
    assert fake.told == []


def test_several_that_were_chosen_are_told_one_by_one(opencode: tuple[Fake, SqliteStore]) -> None:
    """Labels are known again whatever is in them, and own words stay what they are."""
    fake, store = opencode
    options = [{"label": "Red"}, {"label": "Red, dark"}, {"label": "Blue"}]
    asked = {"question": "Which of the colours?", "options": options, "multiple": True}
    fake.listed["question"] = [{**QUESTION, "questions": [asked]}]
    answer(store, "B", "C", text="and green, too")
    told = {"answers": [["Red, dark", "Blue", "and green, too"]]}
    assert until(lambda: fake.told) == [("/question/que_1/reply", told)]


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_one_that_cannot_be_told_stands_in_no_others_way(
    opencode: tuple[Fake, SqliteStore],
) -> None:
    """Where its own window was first, or what it lists is nonsense, that is logged."""
    fake, store = opencode
    fake.listed["permission"] = [{"id": "per_0"}, {**COMMAND, "id": "gone"}]
    answer(store, "ONE")
    until(lambda: "404" in notices.last_trouble("hook"))
    fake.listed["permission"] = [COMMAND]
    answer(store, "ONE")
    assert until(lambda: fake.told) == [("/permission/per_1/reply", {"reply": "once"})]


COLD = """
import sys
from quandary.__main__ import main
sys.setswitchinterval(1e-6)
sys.argv = ["quandary", "hook", "opencode", *sys.argv[1:]]
sys.exit(main())
"""


def test_all_that_waits_at_first_is_asked_in_several_threads_at_once(tmp_path: Path) -> None:
    """Two threads that complete a type of msgspec at once would end the process with a signal."""
    (tmp_path / "quandary").mkdir()
    config = tmp_path / "quandary" / "config.toml"
    config.write_text('[permissions]\nroute = "inbox"\n', encoding="utf-8")
    for number in range(4):
        fake, path = Fake(tmp_path), tmp_path / f"{number}.db"
        fake.listed["permission"] = [{**COMMAND, "id": f"per_{n}"} for n in range(8)]
        fake.together = threading.Barrier(8)
        serving = threading.Thread(target=fake.serve_forever)
        serving.start()
        env = program.environment({"QUANDARY_STORE": str(path), "XDG_CONFIG_HOME": str(tmp_path)})
        words = [sys.executable, "-c", COLD, fake.address]
        with subprocess.Popen(words, env=env) as following:
            with closing(SqliteStore(path)) as store:
                until(lambda: following.poll() is not None or len(runs.inbox(store)) == 8)
            fake.shutdown()
            fake.server_close()
            assert following.wait(60) == 2  # it is gone now
        serving.join(20)


def test_only_one_on_this_machine_is_followed() -> None:
    """Its password would go elsewhere, and what it lists come from there."""
    for address in ("http://example.org:4096", "http://[::1", "localhost:4096"):
        with pytest.raises(QuandaryError, match="not on this machine"):
            Opencode(address)


def test_what_is_no_opencode_is_said_to_be_none(tmp_path: Path) -> None:
    """An address that cannot be one, or where something else listens, is told in a line."""
    with socket.create_server(("127.0.0.1", 0)) as other:

        def speak() -> None:
            with other.accept()[0] as line:
                line.recv(4096)
                line.sendall(b"220 mail.example ESMTP\r\n")

        speaking = threading.Thread(target=speak)
        speaking.start()
        mail = f"http://127.0.0.1:{other.getsockname()[1]}"
        with closing(SqliteStore(tmp_path / "journal.db")) as store:
            for address in (mail, "http://localhost:http", "//localhost:4096"):
                with pytest.raises(QuandaryError, match="no opencode answers at"):
                    Opencode(address).follow(store)
        speaking.join(20)
