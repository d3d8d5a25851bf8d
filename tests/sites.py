"""A server with a store of its own, and visitors of several kinds."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from html import unescape
from typing import TYPE_CHECKING, Any

import msgspec
from litestar.testing import TestClient

from program import PROGRAM, environment
from quandary.desk import begin as desk
from quandary.desk.authority import Caller, Scope
from quandary.desk.begin import Asking, Showing
from quandary.doors.web.app import create_app
from quandary.doors.web.events import Page
from quandary.doors.web.tokens import Keys, hashed
from quandary.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx import Response
    from litestar import Litestar

    from quandary.doors.web.events import Events
    from quandary.journal.store import State

BASE = "http://127.0.0.1:8420"
TOKEN = "a-token-for-programs"  # noqa: S105 - of no server but those of tests
ADAS = "a-token-of-ada's-own"
PAGE = {"Origin": BASE, "Accept": "text/html"}
"""What a browser sends from one of our own pages."""

REVIEW = """\
### ¶ASK_REVIEW
Extras: A: Show it again

## Decision: Review
- [OK] Looks good
  No changes
- [INF] More info needed
  There are questions
- [NO] Rework
  It has to change
  - [BUG] Wrong behaviour
    It does something else
  - [TST] Tests are missing
    Nothing would notice
  - [WAY] Another way
    The aim is right
  - [OTH] Other
- [OTH] Other
  - [LAT] Later
    Not today
  - [DRP] Drop it
    Nobody needs it
"""
TAGS = """\
### ¶ASK_TAGS
## Decision: Tags
- [ ] [UI] Interface
  What people see
- [ ] [DB] Database
  What is kept
- [ ] [DOC] Documentation
  What is read
- [OTH] Other
"""


class Site:
    """A server that is called without a network."""

    def __init__(
        self,
        folder: Path,
        store: Any = None,  # noqa: ANN401 - any kind of store
        **options: Any,  # noqa: ANN401 - of create_app
    ) -> None:
        self.folder = folder
        self.store = store or SqliteStore(folder / "journal.db")
        self.keys = Keys(b"k" * 32, token=TOKEN, users={"ada": {"token": hashed(ADAS)}})
        self.codes: list[str] = []
        self.app: Litestar = create_app(
            self.store,
            self.keys,
            Scope(str(folder), str(folder)),
            new_code=lambda: self.codes.append(self.keys.new_code()),
            **options,
        )

    def visitor(self, **headers: str) -> TestClient[Any]:
        """Somebody with a browser or a program of their own."""
        visitor: TestClient[Any] = TestClient(
            self.app, base_url=BASE, raise_server_exceptions=False
        )
        visitor.headers.update(headers)
        return visitor

    @contextmanager
    def person(self) -> Iterator[TestClient[Any]]:
        """Somebody who has logged in with a code, in a browser."""
        with self.visitor(**PAGE) as visitor:
            assert log_in(visitor, self.keys.new_code()).status_code == 303
            yield visitor

    def ask(
        self,
        *titles: str,
        text: str = REVIEW,
        origin: str = "",
        **wanted: Any,  # noqa: ANN401 - whatever can be asked for
    ) -> State:
        """Begin a run about some items."""
        items = [{"id": str(n), "title": title} for n, title in enumerate(titles, 1)]
        asking = msgspec.convert(
            {"context": "A plan of few steps.", "text": text, "items": items, **wanted}, Asking
        )
        caller = Caller("agent", "command", scope=Scope(str(self.folder), str(self.folder)))
        beginning = desk.prepare(self.store, caller, asking, Showing())
        return desk.begin(self.store, caller, beginning, Showing(), origin=origin)

    def sources(self, run: str) -> list[tuple[str, str, str]]:
        """Whose word each answer of a run was booked as."""
        bodies = [entry.read() for entry in self.store.entries(run, kinds=("answered",))]
        return [(body.who, body.through, body.by) for body in bodies]


def log_in(visitor: TestClient[Any], code: str, **fields: str) -> Response:
    """Send the form of the login page."""
    form = hidden(visitor.get("/login").text)
    return visitor.post(
        "/login", data={**form, "code": code, **fields}, headers=PAGE, follow_redirects=False
    )


def hidden(page: str) -> dict[str, str]:
    """The fields that a page carries without showing them; forms of the frame come first."""
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page)
    return {name: unescape(value) for name, value in found}


def send(visitor: TestClient[Any], run: str, **fields: Any) -> Response:  # noqa: ANN401
    """Fill in the form of a run's page and send it; `pick_0` is the field `pick-0`."""
    form = hidden(visitor.get(f"/runs/{run}").text)
    filled = {name.replace("_", "-"): value for name, value in fields.items()}
    return visitor.post(
        f"/runs/{run}/answer", data={**form, **filled}, headers=PAGE, follow_redirects=False
    )


# -- a real one ----------------------------------------------------------------------------------


class Server:
    """`quandary serve` in a process of its own, which can be killed and started again."""

    def __init__(
        self, folder: Path, *words: str, at_terminal: bool = True, home: Path | None = None
    ) -> None:
        self.folder = folder
        self.home = home
        """Whose settings and data it uses; without one, the folder has both."""
        self.words = words
        self.at_terminal = at_terminal
        """Whether it is started at a terminal, which is shown codes, or what it says is kept."""
        self.port = _free_port()
        self.said: list[str] = []
        self._taken: set[str] = set()
        self._news = threading.Condition()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it takes requests."""
        screen, its_end = pty.openpty() if self.at_terminal else os.pipe()
        data = self.home / ".local" / "share" if self.home else self.folder
        settings = self.home / ".config" if self.home else self.folder
        folders = {"XDG_DATA_HOME": str(data), "XDG_CONFIG_HOME": str(settings)}
        self.process = subprocess.Popen(
            [*PROGRAM, "serve", "--port", str(self.port), *self.words],
            cwd=self.folder,
            env=environment({**folders, "QUANDARY_STORE": str(self.folder / "journal.db")}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=its_end,
        )
        os.close(its_end)
        threading.Thread(target=self._listen, args=(screen,), daemon=True).start()
        self.code(taken=False)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1) as line:
                    line.settimeout(5)
                    line.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
                    if b"200" in line.recv(100):
                        return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError("\n".join(self.said))

    def _listen(self, screen: int) -> None:
        with open(screen, encoding="utf-8") as said, suppress(OSError):  # how a terminal ends
            for line in said:
                with self._news:
                    self.said.append(line)
                    self._news.notify_all()

    def code(self, *, taken: bool = True) -> str:
        """The code that it printed for the next login; one that is taken serves no other."""
        with self._news:
            assert self._news.wait_for(lambda: self._codes() - self._taken, 60)
            code = (self._codes() - self._taken).pop()
            if taken:
                self._taken.add(code)
            return code

    def _codes(self) -> set[str]:
        return {line.rpartition(": ")[2].strip() for line in self.said if "code" in line}

    def kill(self) -> None:
        """Kill it on the spot, as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.said.clear()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Listener(Page):
    """An open page that keeps what it was told, and takes no more than so many messages."""

    def __init__(self, events: Events, run: str = "", project: str | None = None) -> None:
        self.told: asyncio.Queue[str] = asyncio.Queue(8)
        super().__init__(self.take, run, project)
        events.add(self)

    async def take(self, message: Any) -> None:  # noqa: ANN401 - of any type
        """Take a message, as soon as there is room for it."""
        _, data, said = message.get("body", b"").decode().partition("data: ")
        if data:
            await self.told.put(said.strip())
