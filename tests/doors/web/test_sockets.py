"""Connections: requests that come slowly, in great number, or so that they can be read two ways."""

from __future__ import annotations

import asyncio
import resource
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
import uvicorn
from psutil import Process

from quandary.doors.web import app as sockets
from quandary.doors.web.app import BACKLOG, Connection
from sites import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sites import Site

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /api/asks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
STREAM = b"GET /events HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@contextmanager
def listening(site: Site) -> Iterator[int]:
    """The server of a site on a real socket; where it listens."""
    config = uvicorn.Config(
        site.app,
        http=Connection,
        ws="none",
        backlog=BACKLOG,
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        bound.listen()
        thread = threading.Thread(
            target=lambda: asyncio.run(server.serve(sockets=[bound])), daemon=True
        )
        thread.start()
        try:
            yield bound.getsockname()[1]
        finally:
            site.app.state.events.end()
            server.should_exit = True
            thread.join(10)


@pytest.fixture
def port(site: Site) -> Iterator[int]:
    """Where a server listens."""
    with listening(site) as found:
        yield found


def connect(port: int) -> socket.socket:
    """A connection whose other end may keep silent for a while."""
    line = socket.create_connection(("127.0.0.1", port), 5)
    line.settimeout(5)
    return line


def said(line: socket.socket) -> bytes:
    """All that comes until the other end closes the connection."""
    came = b""
    try:
        while part := line.recv(65536):
            came += part
    except ConnectionError:
        pass
    return came


def exchange(port: int, request: bytes) -> bytes:
    """Send something, and take what comes until the connection is closed."""
    with connect(port) as line:
        line.sendall(request)
        return said(line)


def is_served(port: int) -> bool:
    """Whether a visitor who sends a whole request gets an answer."""
    return exchange(port, GET + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200 ")


# -- what can be read in two ways ----------------------------------------------------------------

EMPTY = b"0\r\n\r\n"
SMUGGLED = {
    "both lengths": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + EMPTY,
    "the other way": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + EMPTY,
    "the same length twice": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a list of lengths": POST + b"Content-Length: 2, 2\r\n\r\n{}",
    "a length with a sign": POST + b"Content-Length: +2\r\n\r\n{}",
    "a length with a blank": POST + b"Content-Length: 2 2\r\n\r\n{}",
    "a hexadecimal length": POST + b"Content-Length: 0x2\r\n\r\n{}",
    "two codings": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + EMPTY,
    "a coding twice": POST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n" + EMPTY,
    "chunked, and again": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + EMPTY,
    "an unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n" + EMPTY,
    "no coding": POST + b"Transfer-Encoding: identity\r\n\r\n",
    "a hidden coding": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + EMPTY,
    "a coding before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n" + EMPTY,
    "chunks in HTTP/1.0": CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + EMPTY,
    "a chunk of 0x2": CHUNKED + b"0x2\r\n{}\r\n" + EMPTY,
    "a chunk of -2": CHUNKED + b"-2\r\n{}\r\n" + EMPTY,
    "a chunk of 2 and a blank": CHUNKED + b"2 \r\n{}\r\n" + EMPTY,
    "a chunk of nothing": CHUNKED + b"\r\n{}\r\n" + EMPTY,
    "a chunk beyond 64 bits": CHUNKED + b"f" * 17 + b"\r\n{}\r\n" + EMPTY,
    "a chunk longer than it said": CHUNKED + b"2\r\n{}XX" + EMPTY,
    "chunks with bare line feeds": CHUNKED + b"2\n{}\n0\n\n",
    "a line feed in an extension": CHUNKED + b"2;a\nb\r\n{}\r\n" + EMPTY,
    "headers after the body": CHUNKED + b"2\r\n{}\r\n0\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n",
    "a folded header": GET + b"X-A: b\r\n c\r\n\r\n",
    "a folded coding": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + EMPTY,
    "a blank before the headers": b"GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "NUL in a value": GET + b"X-A: b\x00c\r\n\r\n",
    "NUL in a name": GET + b"X\x00A: b\r\n\r\n",
    "a control sign": GET + b"X-A: b\x01c\r\n\r\n",
    "a carriage return": GET + b"X-A: b\rX-B: c\r\n\r\n",
    "a bare line feed": GET + b"X-A: b\nX-B: c\r\n\r\n",
    "bare line feeds": b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
    "no colon": GET + b"X-A\r\n\r\n",
    "no name": GET + b": x\r\n\r\n",
    "two hosts": GET + b"Host: evil.example\r\n\r\n",
    "a whole address": b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a bare name": b"GET healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a tunnel": b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "two tokens": GET + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
    "two origins": POST + b"Origin: http://localhost\r\nOrigin: http://evil.example\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "another version": b"GET /healthz HTTP/1.2\r\nHost: localhost\r\n\r\n",
    "a blank in the path": b"GET /healthz x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "many headers": GET + b"".join(b"X-%d: a\r\n" % n for n in range(101)) + b"\r\n",
    "a large header": GET + b"X-A: " + b"a" * 70_000 + b"\r\n\r\n",
    "a large header in parts": GET + b"X-A: " + b"a" * 300_000,
    "a long path": b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


def test_a_request_that_can_be_read_in_two_ways_is_refused(
    site: Site, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A proxy may have read it in the other; what stands behind it is not read as a request."""
    behind = GET + b"\r\n"
    for name, sent in SMUGGLED.items():
        came = exchange(port, sent + behind)
        assert came.count(b"\r\n\r\n") <= 1, name
        assert came.startswith(b"HTTP/1.1 400 ") or (not came and "large" in name), (name, came)
        assert b"\r\nConnection: close\r\n" in came or not came, name
    assert site.store.newest() == 0
    assert is_served(port)
    assert not [line for line in caplog.messages if " 500 in " in line]  # none is our own mistake


def test_what_follows_another_protocol_is_not_read(port: int) -> None:
    """A request for one is answered as if it had not asked, and then the connection ends."""
    upgrade = GET + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"
    came = exchange(port, upgrade + GET + b"\r\n")
    assert came.startswith(b"HTTP/1.1 200 ")
    assert came.count(b"HTTP/1.1") == 1


def test_ordinary_requests_are_read(site: Site, port: int) -> None:
    """Chunks, HTTP/1.0, several requests on one connection and some of them sent ahead."""
    body = b'{"context": "c", "text": "t"}'
    chunks = b"%x;name=value\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    close = b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert exchange(port, POST + close + chunks).split()[1] == b"404"  # read: no tree is in it
    assert exchange(port, GET.replace(b"1.1", b"1.0") + b"\r\n").split()[1] == b"200"
    came = exchange(port, (GET + b"\r\n") * 4 + GET + b"Connection: close\r\n\r\n")
    assert came.count(b"HTTP/1.1 200 ") == 5
    assert exchange(port, (GET + b"\r\n") * 500).count(b"HTTP/1.1 200 ") < 50
    assert site.store.newest() == 0


# -- what comes slowly ---------------------------------------------------------------------------


SLOW = {
    "nothing": (b"", b""),
    "blank lines": (b"", b"\r\n"),
    "half a line": (b"GET / HT", b""),
    "a path": (b"GET /", b"a"),
    "a header": (GET + b"X-A: ", b"a"),
    "blank lines after an answer": (GET + b"\r\n", b"\r\n"),
    "headers after an answer": (GET + b"\r\n" + GET, b"X-A: b\r\n"),
    "a body": (POST + b"Content-Length: 500\r\n\r\n", b"{"),
    "chunks": (CHUNKED, b"1\r\n{\r\n"),
    "an extension of a chunk": (CHUNKED + b"1;", b"a"),
    "a body that nobody reads": (STREAM + b"Content-Length: 500\r\n\r\n", b"{"),
}


def test_a_request_has_a_time_to_come_in(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However busily it comes, as the first or a later one of its connection, head or body."""
    monkeypatch.setattr(sockets, "SECONDS", {"head": 0.5, "body": 0.5})
    with ExitStack() as opened:
        lines = {name: opened.enter_context(connect(port)) for name in SLOW}
        for name, line in lines.items():
            line.sendall(SLOW[name][0])
        until = time.monotonic() + 0.8
        while time.monotonic() < until:
            time.sleep(0.05)
            for name, line in lines.items():
                with suppress(ConnectionError):
                    line.sendall(SLOW[name][1])
        for name, line in lines.items():
            late = b"HTTP/1.1 408 " in said(line)
            assert late or SLOW[name][1], name  # where something else came, it may have cut that


def test_whoever_takes_nothing_is_let_go(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who asks for much and reads none of it loses the connection."""
    monkeypatch.setattr(sockets, "SEND_SECONDS", 0.3)
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        line.connect(("127.0.0.1", port))
        line.sendall(b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 8)
        deadline = time.monotonic() + 5
        while any(one.laddr[1] == port and one.raddr for one in Process().net_connections()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert is_served(port)


# -- how many there are --------------------------------------------------------------------------


def test_many_half_sent_requests_do_not_stop_the_server(tmp_path: Path) -> None:
    """With more of them than it may open files, others are served, and nothing is logged."""
    server = Server(tmp_path)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, files[1]))
    try:
        server.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
    before = len(server.said)
    try:
        with ExitStack() as opened:
            for number in range(1100):
                line = opened.enter_context(connect(server.port))
                line.sendall(b"GET / HTTP/1.1\r\nHost: local")
                if number % 100 == 99:
                    began = time.monotonic()
                    assert is_served(server.port)
                    assert time.monotonic() - began < 3
        assert is_served(server.port)
    finally:
        told = server.said[before:]
        server.kill()
    assert "".join(told) == ""


def test_many_open_pages_do_not_stop_the_server(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest are let go, and connect again by themselves; half-sent requests do not matter."""
    monkeypatch.setattr(sockets, "most_connections", lambda: 20)
    with ExitStack() as opened:
        half = opened.enter_context(connect(port))
        half.sendall(GET)
        for _ in range(40):
            page = opened.enter_context(connect(port))
            page.sendall(STREAM + b"\r\n")
            assert page.recv(1000).startswith(b"HTTP/1.1 200 ")
            assert is_served(port)
        half.sendall(b"\r\n")
        assert half.recv(1000).startswith(b"HTTP/1.1 200 ")
