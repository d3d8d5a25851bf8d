"""How long the pages of a real server take with few runs and with many; status 1 on a miss.

Two servers, each a process of its own, are asked by turns over HTTP. Their stores are filled with
real runs; the many, which take some 4 GB, are copies of the few under other names. Arguments are
other sizes.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import random
import re
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from measuring import Row, at_most, table
from quandary.desk.begin import Asking, Showing, decide
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

FEW = 1_000
WAITING = 10
"""One of so many runs waits."""
MANY = (1_000_000,)
ROUNDS = 60
PAGES = (
    "/",
    "/?order=newest",
    "/?project=/projects/p1",
    "/runs",
    "/runs?status=done",
    "/api/inbox",
    "/metrics",
)
FURTHER = ("/stats", "/trees", "/?q=plan+77", "/runs?q=plan+77", "/runs/RUN", "/api/runs/RUN")
"""Pages that only have to be there soon: also before all is counted or indexed, and afterwards."""
SOON = 0.1
TOKEN = "the token of somebody who looks at pages"  # noqa: S105 - of no other server
FORM = "application/x-www-form-urlencoded"
LOGINS: dict[http.client.HTTPConnection, dict[str, str]] = {}
"""What each connection sends along, once it has logged in."""
TREE = """\
### ¶ASK_REVIEW
## Decision: Review
- [OK] Take the plan
  Work begins today
- [NO] Send it back
  Something is missing
- [OTH] Other
  - [LAT] Later
    Not today
"""


def main() -> int:
    """Measure, print a table, and judge."""
    sizes = [int(word) for word in sys.argv[1:]] or list(MANY)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name, ExitStack() as serving:
        folder = Path(name)
        few = folder / "few.db"
        fill(few)
        here = serving.enter_context(served(folder, few))
        for size in sizes:
            many = folder / f"{size}.db"
            multiply(few, many, size)
            with served(folder, many) as there:
                for page in PAGES:
                    rows += compared(page, here, there, size)
                rows += [soon(page, there, size, "at first") for page in FURTHER]
                for _ in range(60):
                    if b"still being indexed" in fetch(there, "/runs?q=plan+77"):
                        time.sleep(1)
                rows += [soon(page, there, size, "later") for page in FURTHER]
            many.unlink()
    return table(rows)


def compared(
    page: str, here: http.client.HTTPConnection, there: http.client.HTTPConnection, size: int
) -> Iterator[Row]:
    """How much longer a page takes among many runs."""
    taken: dict[http.client.HTTPConnection, list[float]] = {here: [], there: []}
    chance = random.Random(1)  # noqa: S311 - the order of turns is no secret
    for connection in (here, there) * 3:
        while page == "/metrics" and b"quandary_runs_begun_total{" not in fetch(connection, page):
            time.sleep(0.2)  # a long journal is counted once, before anything is told of it
        fetch(connection, page)
    for _ in range(ROUNDS):
        for connection, times in chance.sample(list(taken.items()), 2):
            before = time.perf_counter()
            fetch(connection, page)
            times.append(time.perf_counter() - before)
    few, many = (statistics.median(times) for times in taken.values())
    what = (
        f"{page} among {size:,} runs ({many * 1000:.1f} ms) against {FEW:,} ({few * 1000:.1f} ms)"
    )
    yield at_most(many / few, 2, what)
    yield judge(many, f"{page} among {size:,} runs")


def soon(page: str, there: http.client.HTTPConnection, size: int, when: str) -> Row:
    """How long a page takes when somebody looks at it a few times."""
    (run,) = re.findall(rb'data-row="(\w+)"', fetch(there, "/"))[:1]
    taken = []
    for _ in range(5):
        before = time.perf_counter()
        fetch(there, page.replace("RUN", run.decode()))
        taken.append(time.perf_counter() - before)
    return judge(statistics.median(taken), f"{page} among {size:,} runs, {when}")


def judge(seconds: float, what: str) -> Row:
    """A page that is to be there soon."""
    figure, budget = f"{seconds * 1000:.1f} ms", f"<= {SOON * 1000:.0f} ms"
    return Row(what, figure, budget, seconds <= SOON)


def fetch(connection: http.client.HTTPConnection, page: str) -> bytes:
    """Have a page sent."""
    try:
        connection.request("GET", page, headers=LOGINS.get(connection, {}))
        came = connection.getresponse()
    except http.client.RemoteDisconnected:  # it was idle for too long
        connection.request("GET", page, headers=LOGINS.get(connection, {}))
        came = connection.getresponse()
    body = came.read()
    if came.status != http.HTTPStatus.OK or len(body) < 500:
        raise RuntimeError(f"{page}: {came.status} {body[:200]!r}")
    return body


def log_in(connection: http.client.HTTPConnection) -> None:
    """Only within a login the runs of every project are shown."""
    found = re.search(r'name="mark" value="([^"]+)"', fetch(connection, "/login").decode())
    assert found is not None
    form = urlencode({"mark": found[1], "to": "/", "code": TOKEN})
    connection.request("POST", "/login", form, {"Content-Type": FORM})
    came = connection.getresponse()
    came.read()
    LOGINS[connection] = {"Cookie": str(came.headers["set-cookie"]).partition(";")[0]}


def fill(path: Path) -> None:
    """A store with a few runs; nine of ten are done."""
    store = SqliteStore(path)
    store._rows("PRAGMA synchronous = OFF", ())
    for number in range(1, FEW + 1):
        wanted = Asking(context=f"Plan {number} has a few steps.", text=TREE)
        begun = decide(wanted, Showing())
        state = runs.begin(
            store,
            begun.flow,
            begun.arguments,
            documents=begun.documents,
            project=f"/projects/p{number // WAITING % 2}",
            who="agent",
            through="command",
        )
        if number % WAITING:
            reply = Reply((Answer(str(state.key), ("OK",)),))
            runs.advance(store, state.run, reply, to=state.key, who="person", through="web")
    store.close()


def multiply(few: Path, many: Path, size: int) -> None:
    """The same runs time and again, under other names."""
    with closing(SqliteStore(few)) as store:
        store.back_up(str(many))
    SqliteStore(many).close()
    db = sqlite3.connect(many, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    ((newest,),) = db.execute("SELECT max(seq) FROM entry").fetchall()
    columns = "flow, version, project, status, waits, key, asked, n, first, head, began, since"
    for copy in range(1, size // FEW):
        named = f"substr(id, 1, 6) || '{copy:06}' || substr(id, 13)"
        db.execute(
            f"INSERT INTO run (number, id, {columns}, expires) "  # noqa: S608 - our own names
            f"SELECT number + {copy * FEW}, {named}, {columns}, expires FROM run "
            f"WHERE number <= {FEW}"
        )
        db.execute(
            "INSERT INTO entry (run, n, kind, body, matter, salt, seal, digest) "  # noqa: S608
            f"SELECT {named.replace('id', 'run')}, n, kind, body, matter, salt, seal, digest "
            f"FROM entry WHERE seq <= {newest}"
        )
    db.execute("COMMIT")
    db.close()


@contextmanager
def served(folder: Path, store: Path) -> Iterator[http.client.HTTPConnection]:
    """A server on a store, and a connection to it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "quandary").mkdir(exist_ok=True)
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    settings = f'[users.ada]\ntoken = "sha256:{digest}"\n'
    (folder / "quandary/config.toml").write_text(settings, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "quandary", "serve", "--port", str(port), "--store", str(store)],
        env={**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
        cwd=folder,
        stderr=subprocess.DEVNULL,
    )
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                fetch(connection, "/")
                break
            except OSError:
                connection.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        log_in(connection)
        yield connection
    finally:
        connection.close()
        process.send_signal(signal.SIGINT)
        process.wait(30)


if __name__ == "__main__":
    sys.exit(main())
