"""What comes over a line: requests to the server, and messages of chat clients."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fuzz.target import Target, document, folder, hold
from quandary.cli.servers import service_of
from quandary.desk.authority import scope_of
from quandary.desk.begin import Asking, Showing, decide
from quandary.desk.walks import Walks
from quandary.doors.mcp import build, mounted
from quandary.doors.mcp.tools import TOOLS
from quandary.doors.web.app import create_app
from quandary.doors.web.tokens import Keys
from quandary.journal import runs
from quandary.journal.entries import Answered
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from runs import CONTEXT, TREE

if TYPE_CHECKING:
    from litestar import Litestar

    from quandary.journal.store import State

TOKEN = "a-token-for-programs"  # noqa: S105 - of no server but this one
_SECONDS = 30.0


class Came(NamedTuple):
    """What came back."""

    status: int
    body: bytes


class _NoWalks(Walks):
    """Starts no program."""

    def follow(self, state: State) -> None:
        pass


class Site:
    """The real application, called without a network, on a loop of its own."""

    def __init__(self) -> None:
        os.chdir(folder())
        Path("t.md").write_text(TREE, encoding="utf-8")
        Path(".quandary").mkdir()
        self.store = SqliteStore(":memory:")
        scope = scope_of(os.curdir)
        walks = _NoWalks(self.store, scope.project, lambda _: None)
        tools = mounted(build(service_of(self.store, walks, scope), hold=0.0))
        keys = Keys(b"k" * 32, token=TOKEN)
        self.app: Litestar = create_app(self.store, keys, scope, tools=tools)
        self.run = self.ask()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def ask(self) -> str:
        """A run that waits."""
        items = [{"id": "1", "title": "One"}, {"id": "2", "title": "Two"}]
        wanted = {"context": CONTEXT, "text": TREE, "items": items}
        begun = decide(msgspec.convert(wanted, Asking), Showing())
        state = runs.begin(
            self.store,
            begun.flow,
            begun.arguments,
            documents=begun.documents,
            project=str(Path.cwd()),
            who="agent",
            through="command",
        )
        return state.run

    def _live(self) -> None:
        async def stay() -> None:
            async with self.app.lifespan():
                await self._over.wait()

        with asyncio.Runner(
            loop_factory=lambda: self._loop
        ) as runner:  # which tidies up in the end
            runner.run(stay())

    def close(self) -> None:
        """Have it end."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(_SECONDS)
        self.store.close()

    def visit(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Came:
        """Send a request and wait for what comes back."""
        going = asyncio.run_coroutine_threadsafe(
            _asgi(self.app, method, path, headers, body), self._loop
        )
        return going.result(_SECONDS)

    def refresh(self) -> None:
        """Check what was kept, and ask anew once the run is over."""
        if runs.look(self.store, self.run).status == "waiting":
            return
        for entry in self.store.entries(self.run, kinds=("answered",)):
            body = entry.read()
            hold(isinstance(body, Answered) and body.who != "person", "nobody had logged in")
        hold(verify(self.store, self.run).ok, "the run does not verify")
        self.run = self.ask()


async def _asgi(app: Any, method: str, path: str, headers: dict[str, str], body: bytes) -> Came:  # noqa: ANN401
    """One request, as a server would hand it over."""
    before, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": before,
        "raw_path": before.encode(errors="replace"),
        "query_string": query.encode(errors="replace"),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 5000),
        "server": ("127.0.0.1", 8420),
        "state": {},
        "extensions": {},
    }
    sent = asyncio.Event()
    told: list[Any] = []
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:  # noqa: ANN401 - an ASGI message
        if parts:
            return parts.pop()
        await sent.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:  # noqa: ANN401 - the same
        told.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            sent.set()

    await asyncio.wait_for(app(scope, receive, send), _SECONDS)
    written = b"".join(message.get("body", b"") for message in told[1:])
    return Came(told[0]["status"], written)


@cache
def site() -> Site:
    """The one of this process."""
    return Site()


def close() -> None:
    """Have the one of this process end, if there is one."""
    if site.cache_info().currsize:
        site().close()
        site.cache_clear()


_PATHS = (
    *("POST /api/runs/{run}/reply", "POST /api/asks", "POST /api/runs/{run}/withdraw"),
    *("GET /api/runs/{run}?after=", "GET /api/runs?limit=", "GET /api/inbox?project="),
    *("GET /api/runs/{run}/read?key=1:&text=", "POST /runs/{run}/answer", "POST /login"),
    *("GET /runs?status=", "GET /login?to=", "GET /", "POST /logout", "GET /api/", "PUT /api/asks"),
)
_TYPES = ("application/json", "application/x-www-form-urlencoded", "text/plain", "")
_SENT = (
    *("to", "answers", "text", "by", "key", "picked", "comment", "why", "context", "source", "OK"),
    *("items", "question", "extras", "kind", "values", "expires", "t.md", "STEP", "id", "title"),
    *("label", "advisory", "A: x", "1:", "2:", "12h", "NO", "OTH", "…", "Fine", "{topic}"),
)


def _requests(data: bytes) -> None:
    """Whatever is sent, the server says what it makes of it, and books no word as a person's."""
    if len(data) < 3:
        return
    place = site()
    method, _, path = _PATHS[data[0] % len(_PATHS)].replace("{run}", place.run).partition(" ")
    headers = {"Host": "127.0.0.1:8420"}
    if kind := _TYPES[data[1] % 4]:
        headers["Content-Type"] = kind
    if data[1] & 4:
        headers["Authorization"] = f"Bearer {TOKEN}"
    if data[1] & 8:
        headers["Accept"] = "text/html"
    if data[1] & 16:
        headers["Origin"] = "http://127.0.0.1:8420"
    body = data[3:]
    if data[2] & 1 and method != "GET":
        body = json.dumps(document(body, _SENT)).encode()
    if method == "GET":
        path, body = path + body.decode(errors="replace"), b""
    came = place.visit(method, path, headers, body)
    hold(came.status < 500, f"{method} {path}: {came.status}")
    hold(bool(came.body) or came.status in (204, 303, 304), f"{method} {path}: nothing was said")
    place.refresh()


_TOLD = (
    *(
        "jsonrpc",
        "2.0",
        "id",
        "method",
        "params",
        "name",
        "arguments",
        "_meta",
        "tools/call",
        "uri",
    ),
    *("tools/list", "resources/read", "prompts/get", "initialize", "ping", "server/discover"),
    *("quandary://runs", "quandary://trees/STEP", "relay", "result", "error", *TOOLS, *_SENT),
    *("protocolVersion", "2025-11-25", "2026-07-28", "capabilities", "elicitation", "clientInfo"),
    *("folder", "options", "run", "wait", "path", "limit", "status", "requestState", "cursor"),
)


def _messages(data: bytes) -> None:
    """Whatever a chat client says, it is answered, and nobody's word is taken for a person's."""
    if len(data) < 2:
        return
    place = site()
    how, body = data[0], data[1:]
    if how & 1:
        tool = list(TOOLS)[how // 16 % len(TOOLS)]
        arguments = document(body, _TOLD)
        params = {"name": tool, "arguments": arguments}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        body = json.dumps(call).encode()
    elif how & 2:
        body = json.dumps(document(body, _TOLD)).encode()
    headers = {
        "Host": "127.0.0.1:8420",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {TOKEN}",
    }
    if how & 4:
        headers["MCP-Protocol-Version"] = "2026-07-28" if how & 8 else "2025-11-25"
    came = place.visit("POST", "/mcp", headers, body)
    hold(came.status < 500, f"{came.status}: {came.body[:200]!r}")
    hold(b"Traceback" not in came.body, "a traceback was sent")
    place.refresh()


def _request_seeds() -> list[bytes]:
    bodies = (
        b'{"to": "1:", "answers": [{"key": "1:", "picked": ["OK"]}]}',
        b'{"text": "1: ok\\n2: cut", "by": "ada"}',
        b'{"context": "Two steps.", "source": "t.md", "items": [{"id": "1", "title": "x"}]}',
        b"pick-0=OK&seen-0=1&token=x",
        b"10&project=x",
    )
    return [bytes([at, 4, 0]) + body for body in bodies for at in range(len(_PATHS))]


def _message_seeds() -> list[bytes]:
    def message(method: str, **params: Any) -> bytes:  # noqa: ANN401 - any JSON
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return b"\x04" + json.dumps(call).encode()

    started = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}
    return [
        message("initialize", **started, clientInfo={"name": "x", "version": "1"}),
        message("tools/list"),
        message("tools/call", name="ask", arguments={"context": "Two steps.", "source": "t.md"}),
        message("tools/call", name="check", arguments={"text": TREE}),
        message("resources/read", uri="quandary://trees/STEP"),
        message("prompts/get", name="relay"),
    ]


TARGETS = (
    Target("requests", _requests, _request_seeds, [f'"{word}"' for word in _SENT], grows=False),
    Target("messages", _messages, _message_seeds, [f'"{word}"' for word in _TOLD], grows=False),
)
