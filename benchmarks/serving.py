"""What the server adds to a bare one: asks, replies, the inbox and news; status 1 on a miss.

The bare server is a Litestar application that runs, for each request, the very statements that ours
was seen to run for it, on the same tables with the same settings, and answers with as many bytes:
the least that such a request can cost. Both are processes of their own and are asked by turns.
"""

from __future__ import annotations

import json
import os
import random
import selectors
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from msgspec import convert

from measuring import Row, at_least, table
from measuring import told as tell
from quandary.desk.begin import Asking, Showing, decide
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROUNDS = 9
CLIENTS = {1: 24, 8: 64, 32: 96}
"""Requests of one burst, by how many send them."""
POOL = 64
"""So many runs wait besides those that are answered next."""
LATER = runs.MOST_OPEN
"""So many that were asked since leave a run no longer open in the server, but for the file."""
WANTED = {
    "context": "Build 812 is ready, the tests are green, and support has been told.",
    "options": ["This evening", "On Monday", "Not yet"],
    "question": "When does build 812 go out?",
}
INBOX, LOOKS = 3_000, 25
LISTENERS, TELLINGS = 500, 5
SERVERS: dict[int, int] = {}
"""The process at each port."""
WRITERS, WRITES, DISK = 16, 160, 0.005
ASK = ("POST", "/api/asks", json.dumps(WANTED))


class Sent(NamedTuple):
    """A request of ours as it was seen: its statements, and what it was answered with."""

    statements: list[tuple[str, list[Any], bool]]
    """Each with its values, and whether it is done for many rows at once."""
    answer: str


def main() -> int:
    """Measure, print a table, and judge."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        script = folder / "script.json"
        script.write_text(json.dumps(watch(folder / "seen.db")), encoding="utf-8")
        (folder / "bare").mkdir()
        stores = {"ours": folder / "ours.db", "bare": folder / "bare" / "bare.db"}
        fill(stores["ours"], stores["bare"], os.path.realpath(folder))
        ours = opened.enter_context(served(folder, "ours", *serve(stores["ours"])))
        bare = opened.enter_context(served(folder, "bare", *serve_bare(stores["bare"], script)))
        ports = {"ours": ours, "bare": bare}
        news = telling(ours, stores["ours"])
        rows = [*asking(ports), *looking(ports), *news, writing(folder)]
    return table(rows)


# -- what is compared ----------------------------------------------------------------------------


def asking(ports: dict[str, int]) -> Iterator[Row]:
    """Asks and replies, by as many clients at once."""
    waiting: dict[str, deque[str]] = {name: deque() for name in ports}
    long_ago = {name: begun(send(p, [ASK] * 2 * POOL, 8)[1]) for name, p in ports.items()}
    for name, port in ports.items():
        waiting[name] += begun(send(port, [ASK] * LATER, 8)[1])[:POOL]
    chance = random.Random(1)  # noqa: S311 - the order of turns is no secret
    for clients, burst in CLIENTS.items():
        ratios: dict[str, list[float]] = {"ask": [], "reply": []}
        taken: dict[str, list[float]] = {"ask": [], "reply": []}
        for _ in range(ROUNDS):
            rates: dict[tuple[str, str], float] = {}
            for name in chance.sample(list(ports), len(ports)):
                seconds, came = send(ports[name], [ASK] * burst, clients)
                rates[name, "ask"] = burst / seconds
                waiting[name] += begun(came)
                replies = [reply(waiting[name].popleft()) for _ in range(burst)]
                seconds, came = send(ports[name], replies, clients)
                assert all(b'"done"' in one for one in came), came[0]
                rates[name, "reply"] = burst / seconds
            for what, found in ratios.items():
                found.append(rates["ours", what] / rates["bare", what])
                taken[what].append(rates["ours", what])
        for what, least in (("ask", 0.65), ("reply", 0.75)):
            rate = statistics.median(taken[what])
            told = f"{what} over HTTP, {clients} at once ({rate:.0f}/s) against a bare server"
            yield at_least(statistics.median(ratios[what]), least, told)
    taken = {name: [] for name in ports}
    for pair in zip(*long_ago.values(), strict=True):
        for (name, port), run in zip(ports.items(), pair, strict=True):
            taken[name].append(send(port, [reply(run)], 1)[0])
    ours, bare = (statistics.median(taken[name]) for name in ("ours", "bare"))
    yield tell(bare / ours, "the same, 1 at once, to questions that were asked long before")


def reply(run: str) -> tuple[str, str, str]:
    """The reply to a run's only question."""
    said = {"to": "1:", "answers": [{"key": "1:", "picked": ["TE"]}]}
    return "POST", f"/api/runs/{run}/reply", json.dumps(said)


def begun(came: list[bytes]) -> list[str]:
    """The runs that were begun."""
    return [json.loads(one)["run"] for one in came]


def looking(ports: dict[str, int]) -> Iterator[Row]:
    """The inbox, against a page of as many bytes with one joined query; after each change, when the
    list is read anew, against one with the statements of ours.
    """
    anew = "a new question before each look"
    for when, changes, path in (
        ("nothing new", 0, "/joined"),
        (anew, 1, "/"),
        (anew, 1, "/joined"),
    ):
        ratios, taken = list[float](), list[float]()
        for _ in range(LOOKS):
            for port in ports.values():
                send(port, [ASK] * changes, changes)
            ours = send(ports["ours"], [("GET", "/", "")], 1)[0]
            bare = send(ports["bare"], [("GET", path, "")], 1)[0]
            ratios.append(bare / ours)
            taken.append(ours)
        told = f"inbox, 50 of {INBOX:,} waiting, {when} ({statistics.median(taken) * 1000:.1f} ms)"
        told += (
            f" against a bare page with {'its statements' if path == '/' else 'one joined query'}"
        )
        ratio = statistics.median(ratios)
        yield tell(ratio, told) if changes and path != "/" else at_least(ratio, 0.5, told)


def telling(port: int, path: Path) -> Iterator[Row]:
    """News to many open pages: what a page costs, and when the last of them hears."""
    process = SERVERS[port]
    with ExitStack() as opened, selectors.DefaultSelector() as ready:
        for _ in range(LISTENERS):
            line = opened.enter_context(Line(port).socket)
            line.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            ready.register(line, selectors.EVENT_READ)
        hear(ready, b"event: hello")
        costs, lasts = list[float](), list[float]()
        store = opened.enter_context(closing(SqliteStore(path)))
        for _ in range(TELLINGS):
            time.sleep(0.3)
            for key, _ in ready.select(0):  # what was told of before
                key.fileobj.recv(65_536)  # type: ignore[union-attr]  # a socket
            before = cpu_of(process)
            begin(store, os.path.realpath(path.parent))
            begun = time.perf_counter()
            hear(ready, b"event: news")
            lasts.append(time.perf_counter() - begun)
            costs.append((cpu_of(process) - before) / LISTENERS)
    cost, last = statistics.median(costs) * 1e6, statistics.median(lasts) * 1000
    what = f"news to {LISTENERS} open pages"
    yield Row(f"{what}, processor time for each", f"{cost:.0f} us", "<= 20 us", cost <= 20)
    yield Row(f"{what}, until the last has them", f"{last:.0f} ms", "<= 100 ms", last <= 100)


def hear(ready: selectors.BaseSelector, what: bytes) -> None:
    """Until every page was told that."""
    left = {key.fileobj for key in ready.get_map().values()}
    while left:
        left -= {key.fileobj for key, _ in ready.select() if what in key.fileobj.recv(65_536)}  # type: ignore[union-attr]  # sockets


def cpu_of(process: int) -> float:
    """Seconds of processor time that all threads of a process have had."""
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def begin(store: SqliteStore, project: str) -> None:
    """A question that waits."""
    begun = decide(convert(WANTED, Asking), Showing())
    said: dict[str, Any] = {"project": project, "who": "agent", "through": "command"}
    runs.begin(store, begun.flow, begun.arguments, documents=begun.documents, **said)


def fill(ours: Path, bare: Path, project: str) -> None:
    """Many that wait, for either server under the project that it serves."""
    with closing(SqliteStore(bare)) as store:
        store._rows("PRAGMA synchronous = OFF")
        for _ in range(INBOX):
            begin(store, "/p")
        store.back_up(str(ours))
    with closing(sqlite3.connect(ours)) as db, db:
        db.execute("UPDATE run SET project = ?", (project,))


class Slow(sqlite3.Connection):
    """A connection whose disk takes a while."""

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - any
        """Run a statement."""
        if sql == "COMMIT":
            time.sleep(DISK)
        return super().execute(sql, values)


class OneByOne(SqliteStore):
    """A store in which each transaction has a commit of its own."""

    def __init__(self, path: Path) -> None:
        self._alone = threading.Lock()
        super().__init__(path)

    def _write(self, action: Callable[[], Any], **more: Any) -> Any:  # noqa: ANN401 - any
        with self._alone:
            return super()._write(action, **more)


def writing(folder: Path) -> Row:
    """Threads of one process that write at once, where a commit takes its time."""
    rates = {}
    for kind in (OneByOne, SqliteStore):
        with patch("sqlite3.connect", partial(sqlite3.connect, factory=Slow)):
            store = kind(folder / f"{kind.__name__}.db")
        write = partial(runs.begin, store, "prefer", {}, who="person", through="terminal")
        with closing(store), ThreadPoolExecutor(WRITERS) as threads:
            begun = time.perf_counter()
            for future in [threads.submit(write) for _ in range(WRITES)]:
                future.result()
            rates[kind] = WRITES / (time.perf_counter() - begun)
    told = f"{WRITERS} writers at once, commits of {DISK * 1000:.0f} ms, against one commit each"
    return at_least(rates[SqliteStore] / rates[OneByOne], 3, told)


# -- the bare server -----------------------------------------------------------------------------


def watch(path: Path) -> dict[str, Sent]:
    """Have an application of ours asked and replied to, and see what it does."""
    from litestar.testing import TestClient  # noqa: PLC0415 - nothing else needs it

    from quandary.desk.authority import Scope  # noqa: PLC0415 - the same
    from quandary.doors.web.app import create_app  # noqa: PLC0415 - the same
    from quandary.doors.web.tokens import Keys  # noqa: PLC0415 - the same

    seen: list[tuple[str, list[Any], bool]] = []

    class Seen(sqlite3.Connection):
        def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401
            seen.append((sql, plain(values), False))
            return super().execute(sql, values)

        def executemany(self, sql: str, rows: Any, /) -> sqlite3.Cursor:  # noqa: ANN401
            rows = list(rows)
            seen.append((sql, [plain(values) for values in rows], True))
            return super().executemany(sql, rows)

    connect = partial(sqlite3.connect, factory=Seen)
    with (
        patch("sqlite3.connect", connect),
        closing(SqliteStore(path)) as store,
        TestClient(
            create_app(store, Keys(b"x" * 32), Scope("/p", "/p")), "http://localhost"
        ) as web,
    ):
        pool = [web.post(ASK[1], content=ASK[2]) for _ in range(POOL)]
        found = {}
        told = reply(pool[0].json()["run"])
        for name, one in (("ask", ASK), ("reply", told), ("page", ("GET", "/", ""))):
            time.sleep(0.3)  # whoever listens has looked
            seen.clear()
            came = web.request(one[0], one[1], content=one[2] or None)
            if name == "page":
                found[name] = Sent(statements(seen), came.text)
                joined = [one for one in statements(seen) if "LEFT JOIN" in one[0]]
                found["joined"] = Sent(joined, came.text)
                continue
            run = came.json()["run"]
            done = json.dumps(statements(seen)).replace(run, "RUN")
            found[name] = Sent(json.loads(done), came.text.replace(run, "RUN"))
    return found


def statements(seen: list[tuple[str, list[Any], bool]]) -> list[tuple[str, list[Any], bool]]:
    """Those of a request, without the look at whether others have written."""
    return [one for one in seen if "data_version" not in one[0]]


def plain(values: Iterable[object]) -> list[object]:
    """Values as JSON holds them: of bytes, how many."""
    return [{"bytes": len(value)} if isinstance(value, bytes) else value for value in values]


def serve_bare(store: Path, script: Path) -> tuple[str, ...]:
    """The command that serves it."""
    return (
        sys.executable,
        str(Path(__file__).with_name("bare_server.py")),
        str(store),
        str(script),
    )


def serve(store: Path) -> tuple[str, ...]:
    """The command that serves ours."""
    return (sys.executable, "-m", "quandary", "serve", "--store", str(store), "--port")


@contextmanager
def served(folder: Path, name: str, *command: str) -> Iterator[int]:
    """A server; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    env |= {"XDG_STATE_HOME": str(folder)}
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([*command, str(port)], env=env, cwd=folder, stderr=log)
        SERVERS[port] = process.pid
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    if time.monotonic() > deadline or process.poll() is not None:
                        raise
                    time.sleep(0.1)
            yield port
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


# -- clients -------------------------------------------------------------------------------------


class Line:
    """A connection that sends one request after another."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._came = b""

    def send(self, method: str, path: str, body: str) -> None:
        """Send a request."""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.socket.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        self._came = b""

    def take(self) -> bytes | None:
        """The body of the answer, once all of it has come."""
        self._came += self.socket.recv(262_144)
        head, gap, body = self._came.partition(b"\r\n\r\n")
        if not gap or len(body) < int(head.lower().partition(b"content-length: ")[2].split()[0]):
            return None
        assert head.startswith(b"HTTP/1.1 20"), self._came
        return body


def send(
    port: int, requests: list[tuple[str, str, str]], clients: int
) -> tuple[float, list[bytes]]:
    """Have so many clients send all these requests; seconds, and what came."""
    left, came = deque(requests), list[bytes]()
    with ExitStack() as opened, selectors.DefaultSelector() as ready:
        lines = [Line(port) for _ in range(clients)]
        for line in lines:
            opened.enter_context(line.socket)
            ready.register(line.socket, selectors.EVENT_READ, line)
        begun = time.perf_counter()
        for line in lines:
            line.send(*left.popleft())
        while len(came) < len(requests):
            for key, _ in ready.select():
                if (body := key.data.take()) is not None:
                    came.append(body)
                    if left:
                        key.data.send(*left.popleft())
        return time.perf_counter() - begun, came


if __name__ == "__main__":
    sys.exit(main())
