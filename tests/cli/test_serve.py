"""`quandary serve`: what it does not start with, what it prints, and that it ends when told to."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from litestar.testing import TestClient

from program import DEPLOY, call, start
from quandary.cli import servers
from quandary.cli.servers import NO_CODE
from quandary.doors.web.tokens import hashed
from sites import Server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from litestar import Litestar

    from quandary.desk.walks import Walks

TOKEN = "a token of somebody's own"  # noqa: S105 - of no server but this one


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project and a user of their own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".quandary").mkdir()
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "journal.db"))
    monkeypatch.delenv("QUANDARY_TOKEN", raising=False)
    return tmp_path


def settings(apart: Path, text: str) -> None:
    """The user's own settings."""
    folder = apart / "XDG_CONFIG_HOME/quandary"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])  # noqa: S104 - refused
def test_others_are_not_let_in_without_a_token(
    capsys: pytest.CaptureFixture[str], host: str
) -> None:
    """An address that others can reach needs a token, or users."""
    ended = call(capsys, "serve", "--host", host, "--port", "0")
    assert ended.status == 2
    assert ended.err.startswith(f"quandary: {host} can be reached by others: give --token-file")


def test_a_repository_has_no_say_in_who_comes_in(
    apart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Users and names in the project's settings count for nothing."""
    text = f'[users.mallory]\ntoken = "{hashed(TOKEN)}"\n[serve]\nhosts = ["evil.example"]\n'
    (apart / "quandary.toml").write_text(text, encoding="utf-8")
    ended = call(capsys, "serve", "--host", "0.0.0.0", "--port", "0")  # noqa: S104 - refused
    assert ended.status == 2
    assert "can be reached by others" in ended.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[users.ada]\ntoken = "plain"\n', "[users.ada] token is written as"),
        ('[users]\nada = "plain"\n', "[users.ada] token is written as"),
        ('[serve]\nmetrics = "plain"\n', "[serve] metrics is written as"),
        ('[serve]\ntrusted_proxies = ["a"]\n', "trusted_proxies is a list of addresses"),
        ('[serve]\nmetrics = "sha256:12"\n', "[serve] metrics is no SHA-256"),
        ('[serve]\nhosts = "a"\n', "hosts is a list of names"),
        ("[serve]\nhosts = [3]\n", "hosts is a list of names"),
    ],
)
def test_settings_that_cannot_be_used(
    apart: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    """Are named on one line."""
    settings(apart, text)
    ended = call(capsys, "serve", "--port", "0")
    assert ended.status == 2
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """Another one has to be chosen, and no code is printed."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ended = call(capsys, "serve", "--port", str(other.getsockname()[1]))
    assert ended.status == 2
    assert "choose another --port" in ended.err
    assert "code" not in ended.err


def test_a_token_as_the_settings_keep_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Printed for copying; nothing is served."""
    ended = call(capsys, "serve", "--hash", TOKEN)
    assert (ended.status, ended.out) == (0, f"{hashed(TOKEN)}\n")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}\n", ended.out)
    assert start("serve", "--hash", "-", stdin=f"{TOKEN}\n").out == ended.out


def test_it_ends_when_told_to_with_pages_open(apart: Path) -> None:
    """An open page does not hold it back; what it printed was where it is, and a code."""
    (apart / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    server = Server(apart, "--token-file", "token")
    server.start()
    assert server.process is not None
    try:
        assert f"Serving on {server.address}/" in server.said[0]
        request = urllib.request.Request(  # noqa: S310 - our own address
            f"{server.address}/events", headers={"Authorization": f"Bearer {TOKEN}"}
        )
        with urllib.request.urlopen(request, timeout=10) as page:  # noqa: S310 - the same
            assert page.readline() == b"event: hello\r\n"
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(15) in (0, 130, -signal.SIGINT)
        assert "Traceback" not in "".join(server.said)
    finally:
        server.kill()


# -- who comes in --------------------------------------------------------------------------------


@pytest.fixture
def served(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., TestClient[Litestar]]:
    """A visitor of what would be served; nothing listens."""
    apps: list[Litestar] = []

    def keep(app: Litestar, bound: socket.socket, walks: Walks) -> None:
        apps.append(app)
        bound.close()
        walks.close()

    monkeypatch.setattr(servers, "_run", keep)

    def serve(*words: str) -> TestClient[Litestar]:
        assert call(capsys, "serve", "--port", "0", *words).status == 0
        return TestClient(apps.pop(), base_url="http://127.0.0.1")

    return serve


@pytest.mark.parametrize(
    ("text", "words", "status"),
    [
        ("", (), 200),
        ("", ("--require-login",), 401),
        ('[serve]\nhosts = ["decide.example.org"]\n', (), 401),
        ('[serve]\ntrusted_proxies = ["127.0.0.1"]\n', (), 401),
        ('[notify]\naddress = "https://decide.example.org/q"\n', (), 401),
        ('[notify]\naddress = "http://localhost:8420"\n', (), 200),
        ('[notify]\naddress = "http://localhost:8420"\n', ("--host", "0.0.0.0"), 401),  # noqa: S104
    ],
)
def test_a_proxy_that_says_nothing_lets_nobody_in(
    apart: Path,
    served: Callable[..., TestClient[Litestar]],
    text: str,
    words: tuple[str, ...],
    status: int,
) -> None:
    """It looks like this machine; so where settings speak of other hosts or proxies, all log in."""
    settings(apart, f'[users.ada]\ntoken = "{hashed(TOKEN)}"\n{text}')
    with served(*words) as visitor:
        assert visitor.get("/").status_code == status
        assert visitor.get("/api/inbox").status_code == status
        known = {"Authorization": f"Bearer {TOKEN}"}
        assert visitor.get("/api/inbox", headers=known).status_code == 200


def test_the_token_for_programs_stands_in_a_file(
    apart: Path, served: Callable[..., TestClient[Litestar]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Or in the environment; on the command line others can see it, and that is said."""
    (apart / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    known = {"Authorization": f"Bearer {TOKEN}"}
    with served("--require-login", "--token-file", "token") as visitor:
        assert visitor.get("/api/inbox", headers=known).status_code == 200
    (apart / "empty").write_text("\n", encoding="utf-8")
    (apart / "bytes").write_bytes(b"\xff")
    for name, why in (("empty", "is empty"), ("none", "No such file"), ("bytes", "it is no text")):
        ended = call(capsys, "serve", "--token-file", name)
        assert (ended.status, ended.err.count("\n")) == (2, 1)
        assert why in ended.err
    ended = call(capsys, "serve", "--port", "0", "--token", TOKEN)
    assert "--token shows in the list of processes" in ended.err
    assert TOKEN not in ended.err


def test_a_code_is_shown_on_a_terminal_only(apart: Path) -> None:
    """Where what the server says is kept in a file, it says how to log in, once."""
    server = Server(apart, at_terminal=False)
    server.start()
    try:
        for _ in range(2):
            with urllib.request.urlopen(f"{server.address}/login", timeout=10) as page:  # noqa: S310
                assert b"The server has no terminal" in page.read()
        assert [line.strip() for line in server.said[1:]] == [NO_CODE]
    finally:
        server.kill()


def test_visitors_behind_a_trusted_proxy_are_told_apart(apart: Path) -> None:
    """Somebody who guesses there is slowed, and nobody else."""
    users = f'[users.ada]\ntoken = "{hashed(TOKEN)}"\n'
    settings(apart, f'{users}[serve]\ntrusted_proxies = ["127.0.0.1"]\n')
    (apart / "quandary").symlink_to(apart / "XDG_CONFIG_HOME/quandary")
    server = Server(apart)
    server.start()
    guess = b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess\r\n"
    known = {"Authorization": f"Bearer {TOKEN}"}
    try:
        with ExitStack() as opened:
            at = ("127.0.0.1", server.port)
            lines = [opened.enter_context(socket.create_connection(at, 5)) for _ in range(30)]
            for line in lines:
                line.sendall(guess + b"X-Forwarded-For: 198.51.100.1, 192.0.2.1\r\n\r\n")
            assert lines[-1].recv(100).split()[1] == b"429"
            for other in ("192.0.2.2", "192.0.2.1, 192.0.2.2"):
                assert visit(server, "/", **known, **{"X-Forwarded-For": other}) == 200
            assert visit(server, "/", **known, **{"X-Forwarded-For": "192.0.2.1"}) == 429
            assert visit(server, "/") == 401
    finally:
        server.kill()


# -- logs ----------------------------------------------------------------------------------------


def visit(server: Server, path: str, **headers: str) -> int:
    """The status of an answer."""
    request = urllib.request.Request(  # noqa: S310 - our own address
        f"{server.address}{path}", headers=headers
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as came:  # noqa: S310 - the same
            return int(came.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def ask(server: Server) -> str:
    """Begin a run."""
    body = json.dumps({"context": "A plan of few steps.", "text": DEPLOY}).encode()
    request = urllib.request.Request(  # noqa: S310 - our own address
        f"{server.address}/api/asks", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as came:  # noqa: S310 - the same
        return str(json.load(came)["run"])


def logged(server: Server, words: str, seconds: float = 20) -> list[str]:
    """What it printed, once these words are among it."""
    deadline = time.monotonic() + seconds
    while not any(words in line for line in server.said):
        assert time.monotonic() < deadline, server.said
        time.sleep(0.05)
    return list(server.said)


def test_logs_for_programs(apart: Path) -> None:
    """Each line is an object: requests by what they are for, a notice that nobody got, noise.

    Nothing that is anybody's own is among it: no query, no token, no code.
    """
    command = '[notify]\ncommand = ["/no/such/program"]\n'
    settings(apart, f'[users.ada]\ntoken = "{hashed(TOKEN)}"\n{command}')
    (apart / "quandary").symlink_to(apart / "XDG_CONFIG_HOME/quandary")
    server = Server(apart, "--log-format", "json", "--log-level", "debug", at_terminal=False)
    server.start()
    try:
        assert visit(server, "/runs/NOSUCHRUN?text=my-secret") == 404
        assert visit(server, "/login") == 200
        assert visit(server, "/api/inbox", Authorization=f"Bearer {TOKEN}") == 200
        assert visit(server, "/api/inbox", Authorization="Bearer guessed-token") == 401
        run = ask(server)
        logged(server, f"a notice of run {run} failed")
        with socket.create_connection(("127.0.0.1", server.port), 5) as line:
            line.sendall(b"NONSENSE\r\n\r\n")
            line.recv(100)
        said = logged(server, "Invalid HTTP request")
    finally:
        server.kill()
    for secret in ("my-secret", "NOSUCHRUN", TOKEN, "guessed-token"):
        assert secret not in "".join(said)
    lines = [json.loads(line) for line in said]
    assert all({"at", "level", "logger", "message"} <= set(line) for line in lines)
    requests = [line for line in lines if line["logger"] == "quandary.web"]
    assert [
        (r["method"], r["route"], r["status"]) for r in requests if r["route"] != "/healthz"
    ] == [
        ("GET", "/runs/{run}", 404),
        ("GET", "/login", 200),
        ("GET", "/api/inbox", 200),
        ("GET", "/api/inbox", 401),
        ("POST", "/api/asks", 201),
    ]
    assert all(0 < line["seconds"] < 60 for line in requests)
    assert lines[0]["address"] == f"{server.address}/"
    codes = [line["message"] for line in lines if "code" in line["message"]]
    assert codes == [NO_CODE]


def test_logs_for_people(apart: Path) -> None:
    """Requests are among them where somebody wants to see them."""
    server = Server(apart, "--log-level", "info")
    server.start()
    try:
        assert visit(server, "/runs?secret=1") == 200
        said = logged(server, "GET /runs 200 in ")
    finally:
        server.kill()
    assert "secret" not in "".join(said)


def test_what_looks_after_servers_finds_it(apart: Path) -> None:
    """Health, readiness and figures, without a login on this machine; no line is printed of it."""
    server = Server(apart)
    server.start()
    paths = ("/healthz", "/readyz", "/metrics")
    try:
        assert [visit(server, path) for path in paths] == [200, 200, 200]
        assert len(server.said) == 2
        (apart / "journal.db").unlink()
        assert [visit(server, path) for path in paths] == [200, 503, 200]
    finally:
        server.kill()


def test_logs_of_the_tools_for_chat_clients(apart: Path) -> None:
    """Go to standard error, and leave the pipe to the client."""
    ended = start("mcp", "--log-format", "json", "--log-level", "debug", stdin=b"nonsense\n")
    assert ended.status == 0
    lines = [json.loads(line) for line in ended.err.splitlines()]
    assert lines[0]["message"] == "serving a chat client over its pipe"
    assert {line["level"] for line in lines} <= {"info", "warning"}
    assert (apart / "journal.db").exists()
