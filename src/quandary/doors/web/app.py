"""The server: pages for people, JSON for programs, one journal behind both."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from functools import cache
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Litestar, MediaType, Request, Response, asgi, get
from litestar.config.allowed_hosts import AllowedHostsConfig
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import ClientException, HTTPException, InternalServerException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.response import Redirect, ServerSentEvent, ServerSentEventMessage, Template
from litestar.static_files import create_static_files_router
from litestar.template.config import TemplateConfig
from markupsafe import Markup
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from quandary import __version__
from quandary.desk import authority
from quandary.desk.timeline import moment
from quandary.doors.web.access import (
    LARGEST_BODY,
    LOGIN,
    LOOPBACK,
    WATCHER,
    Access,
    Site,
    Visit,
    way_back,
)
from quandary.doors.web.api import PROBLEM, Problem, api
from quandary.doors.web.events import Events
from quandary.doors.web.inbox import KINDS, folder_of
from quandary.doors.web.metrics import HEALTH, Metrics, Readiness, watch_requests
from quandary.doors.web.pages import PAGES
from quandary.doors.web.prose import render, render_line, visible
from quandary.doors.web.run_pages import cut, mark_levels, show_ask
from quandary.doors.web.tokens import Keys, Network
from quandary.errors import ParseError, QuandaryError
from quandary.journal.progress import complete_types
from quandary.journal.store import Store
from quandary.model.text import reveal, shorten

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from quandary.desk.walks import Walks
    from quandary.doors.web.access import Hook
    from quandary.doors.web.metrics import Fleet
    from quandary.model.asks import Ask
    from quandary.model.tree import Tree

    Tools = tuple[Any, Callable[[], AbstractAsyncContextManager[None]]]
    """An ASGI application, and what is to be entered for as long as the server runs."""

_HERE = os.path.dirname(os.path.abspath(__file__))
STATIC = os.path.join(_HERE, "static")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
TURN = 0.0005  # seconds until a thread that counts or indexes a long journal gives way to a request
THREADS = 64
"""Of requests at once; many may wait for a file that somebody holds, and keep nobody else."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
MACROS = {"marks": "marks", "sheets": "sheet", "drawn": "tree", "shown": "asked"}
"""What templates call the macros of a file."""
_SENT = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


def create_app(
    store: Store,
    keys: Keys,
    project: authority.Scope,
    *,
    hosts: frozenset[str] = LOOPBACK,
    addresses: bool = False,
    strangers: bool = True,
    proxies: tuple[Network, ...] = (),
    new_code: Callable[[], None] | None = None,
    tools: Tools | None = None,
    fleet: Callable[[], Fleet] | None = None,
    walks: Walks | None = None,
    hook: Hook | None = None,
) -> Litestar:
    """The application. `strangers` are served only where every visitor is on this machine. With
    `tools`, chat clients find them at /mcp; with `fleet`, its figures are among the metrics; with
    `walks`, runs can be resumed from their pages; with `hook`, hosts call their hooks here.
    """
    events = Events(store)
    site = Site(store, events, keys, project, new_code, walks, hook)
    whole, own = (Metrics(store, events, fleet, of) for of in (None, project.project))

    def figures(request: Request[Any, Any, Any]) -> Metrics:
        caller, visitor = site.caller(request), site.visitor(request)
        watches = visitor.bearer == WATCHER and not caller.is_user
        return whole if watches or authority.project_seen(caller) is None else own

    readiness = Readiness(store)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
        sys.setswitchinterval(TURN)
        await events.start()
        try:
            async with tools[1]() if tools else nullcontext():
                yield
        finally:
            await whole.stop()
            await own.stop()
            await events.stop()

    app = Litestar(
        route_handlers=[
            *PAGES,
            *LOGIN,
            api,
            *HEALTH,
            *([asgi("/mcp", is_mount=True, copy_scope=True)(tools[0])] if tools else []),
            create_static_files_router(
                "/static",
                directories=[STATIC],
                resolve_symlinks=False,
                exception_handlers=dict.fromkeys(
                    (InternalServerException, ValueError), tell_missing
                ),
            ),
        ],
        dependencies={
            "site": Provide(lambda: site, sync_to_thread=False),
            "readiness": Provide(lambda: readiness, sync_to_thread=False),
            "figures": Provide(figures, sync_to_thread=False),
        },
        middleware=[
            Access(
                keys=keys, hosts=hosts, strangers=strangers, addresses=addresses, proxies=proxies
            )
        ],
        exception_handlers={
            QuandaryError: refuse,
            HTTPException: refuse_for_server,
            Exception: tell_mistake,
        },
        openapi_config=OpenAPIConfig(
            title="Quandary",
            version=__version__,
            description="Questions for people, and their answers.",
            path="/api",
            render_plugins=[JsonRenderPlugin(path="/openapi.json")],
            components=Components(
                security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}
            ),
        ),
        template_config=TemplateConfig(instance=JinjaTemplateEngine.from_environment(templates())),
        request_class=Careful,
        request_max_body_size=LARGEST_BODY,
        lifespan=[lifespan],
        state=State({"events": events, "site": site}),
        logging_config=None,
        debug=False,
    )
    # Around everything, also around what leads nowhere and never comes to the middleware.
    app.asgi_handler = watch_requests(app.asgi_handler, _SENT)
    complete_types()
    return app


class Careful(Request[Any, Any, Any]):
    """A request whose body may be anything, or never come."""

    async def body(self) -> bytes:
        """The body, or a refusal where whoever sends it has gone."""
        try:
            return await super().body()
        except InternalServerException as error:
            raise ClientException("the body did not come") from error

    async def json(self) -> Any:  # noqa: ANN401 - any JSON
        """The body as JSON, or a refusal."""
        try:
            return await super().json()
        except (RecursionError, UnicodeDecodeError) as error:
            raise ClientException("the body cannot be read as JSON") from error


@cache
def templates() -> Environment:
    """What is put into a page is escaped, and a name that nobody gave is a mistake."""
    environment = Environment(
        loader=FileSystemLoader(os.path.join(_HERE, "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cut": cut, "exact": exact, "moment": moment}
    environment.filters |= {"shorten": shorten, "prose": render, "line": render_line}
    environment.filters["folder"] = folder_of
    environment.globals["kinds"] = tuple(KINDS)
    for name, file in MACROS.items():  # made once, and not again for each page that uses them
        environment.globals[name] = environment.get_template(f"{file}.html").module
    return environment


def exact(value: str) -> Markup:
    """What a form sends back, to the letter, though nobody sees it on the page."""
    shown = escape(value)
    return Markup("".join(c if reveal(c) == c else f"&#{ord(c)};" for c in shown))  # noqa: S704


LONGEST_DETAIL = 2_000
log = logging.getLogger("quandary.web")


def refuse(request: Visit, error: QuandaryError) -> Response[Any]:
    """An error of ours: what it says is meant to be read."""
    return problem(request, error.http, str(error))


def refuse_for_server(request: Visit, error: HTTPException) -> Response[Any]:
    """Anything that the server refused by itself; somebody who opens a page is led to the login."""
    opens = request.method == "GET" and "authorization" not in request.headers
    if opens and _wants_page(request) and error.status_code == HTTPStatus.UNAUTHORIZED:
        return Redirect(f"/login?to={way_back(request.scope['path'])}", status_code=303)
    detail = error.detail or "the request failed"
    if isinstance(error.extra, list) and error.extra:
        faults = ((fault.get("key"), fault["message"]) for fault in error.extra)
        detail = "; ".join(": ".join(filter(None, fault)) for fault in faults)
    elif error.status_code == HTTPStatus.NOT_FOUND:
        detail = "there is no such page"
    return problem(request, error.status_code, detail, dict(error.headers or {}))


def tell_missing(request: Visit, _: Exception) -> Response[Any]:
    """A name that no file can have, or one below a file."""
    return problem(request, 404, "there is no such page")


def tell_mistake(request: Visit, error: Exception) -> Response[Any]:
    """A mistake of ours: whoever runs the server sees all of it, nobody else anything."""
    log.error("a request could not be answered", exc_info=error)
    return problem(request, 500, "something went wrong; see the terminal of the server")


def _wants_page(request: Visit) -> bool:
    is_api = request.scope["path"].startswith("/api")
    return not is_api and "text/html" in request.headers.get("accept", "")


def problem(
    request: Visit, status: int, detail: str, headers: dict[str, str] | None = None
) -> Response[Any]:
    """For programs as problem+json, for people as a page."""
    title = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Refused"
    detail = detail[:LONGEST_DETAIL].encode(errors="replace").decode()
    if not _wants_page(request):
        body = msgspec.json.encode(Problem("about:blank", status, title, detail))
        return Response(body, status_code=status, media_type=PROBLEM, headers=headers)
    # A page that needs nothing, no template and no login: what went wrong, and the way back.
    hint = '<p><a href="/login">Log in</a></p>' if status == HTTPStatus.UNAUTHORIZED else ""
    shown = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<link rel="stylesheet" href="/static/style.css">'
        f"<title>{escape(title)} · Quandary</title></head><body>"
        '<header><a class="brand" href="/">Quandary</a></header><main>'
        f'<h1>{escape(title)}</h1><p class="problem">{escape(reveal(detail))}</p>{hint}'
        '<p><a href="/">Inbox</a></p></main></body></html>\n'
    )
    return Response(shown, status_code=status, media_type=MediaType.HTML, headers=headers)


def create_preview(
    path: str,
    port: int,
    load: Callable[[], tuple[Tree, list[tuple[str, Ask]]]],
    stamp: Callable[[], object],
) -> Litestar:
    """A tree while somebody writes it: every level as its page shows it. Nothing can be answered.
    Whoever has the page open sees the tree anew when its `stamp` changes. It answers to the names
    of this machine alone, so that no other site reads it by one of its own.
    """

    @get("/", sync_to_thread=True, include_in_schema=False)
    def show(request: Visit) -> Template:
        """All levels, or what keeps the tree from being asked."""
        shown: list[object] = []
        problem = ""
        try:
            tree, levels = load()
            shown += [
                show_ask(ask, ask.notes, {}, {}) | {"name": name, "tree": mark_levels(tree, ask)}
                for name, ask in levels
            ]
        except QuandaryError as error:
            problem = str(error)
        name = "preview_list.html" if "x-part" in request.headers else "preview.html"
        return Template(name, context={"path": path, "levels": shown, "problem": problem})

    @get("/events", include_in_schema=False)
    async def events() -> ServerSentEvent:
        """News for an open page: the file was saved."""

        async def news() -> AsyncIterator[ServerSentEventMessage]:
            yield ServerSentEventMessage(data="hello", event="hello", retry=2000)
            seen = stamp()
            while True:
                await asyncio.sleep(0.25)
                if (now := stamp()) != seen:
                    seen = now
                    yield ServerSentEventMessage(data="saved", event="news")

        return ServerSentEvent(news())

    names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
    static = create_static_files_router("/static", directories=[STATIC], resolve_symlinks=False)
    app = Litestar(
        [show, events, static],
        template_config=TemplateConfig(instance=JinjaTemplateEngine.from_environment(templates())),
        allowed_hosts=AllowedHostsConfig(allowed_hosts=names),
        openapi_config=None,
        logging_config=None,
    )
    app.asgi_handler = watch_requests(app.asgi_handler, _SENT)
    return app


#
# uvicorn speaks HTTP, and httptools reads it more strictly than the other parsers. Neither minds
# how long a request takes to come, or how many come at once; that is added here. What two programs
# might read differently, a proxy and this server, is no request at all.

MOST_CONNECTIONS = 4000
BACKLOG = 100
"""Connections that are taken from the system at once, and so may be open beyond the most."""
WAITING = 1024  # connections that the system holds until they are taken
MOST_HEADERS = 100
LARGEST_HEAD = 65_536
LARGEST_MESSAGE = 2 * LARGEST_BODY
"""In bytes as they come, with what stands between the pieces of a body."""
MOST_AHEAD = 8  # requests that may be sent before the first of them is answered
ONCE = (
    *(b"host", b"content-length", b"transfer-encoding", b"content-type"),
    *(b"authorization", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest"),
)
"""Headers by which something is decided, of which others might read the first or the last."""
SEND_SECONDS = 30.0  # within so long, whoever asked has to take some of what they are sent

Stage = Literal["head", "body", "done"]
SECONDS: dict[Stage, float] = {"head": 10.0, "body": 30.0}
"""How long each may take to come, however busily it comes."""


@cache
def most_connections() -> int:
    """As many as leave half of the files that this process may open to the rest of it."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files < 0 else min(MOST_CONNECTIONS, files // 2)


class Connection(HttpToolsProtocol):
    """One connection, and the stage at which its newest request is."""

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*given, **named)
        self._stage: Stage = "head"
        self._since = 0.0
        self._turns = self._seen = 0
        """How often the stage has changed, and how often when the time limit was last set."""
        self._came = 0
        """Bytes since then."""
        self._head = 0
        """Bytes of the head that have been read."""
        self._limit: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._why = ""

    @property
    def is_answered(self) -> bool:
        """Whether a whole request came and its answer is under way."""
        return self._stage == "done" and self._waits

    @property
    def _waits(self) -> bool:
        """Whether the answer to the newest request is not complete."""
        newest: Any = self.cycle  # nothing, before the first
        return newest is not None and not newest.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room where there is none, and set a time for the first request."""
        super().connection_made(transport)
        self._turn("head")
        self._set_limit()
        if len(self.connections) > most_connections():
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time limits."""
        super().connection_lost(exc)
        for timer in (self._limit, self._stuck):
            if timer is not None:
                timer.cancel()

    def _make_room(self) -> None:
        """Drop a tenth of the larger party, those that are answered or those that are not yet. The
        oldest go first. So whoever sends a whole request at once is served, however many others
        send half a request or keep a page open; and open pages connect again by themselves.
        """
        parties: dict[bool, list[Connection]] = {True: [], False: []}
        for other in cast("set[Connection]", self.connections - {self}):
            parties[other.is_answered].append(other)
        larger = parties[len(parties[True]) > len(parties[False])]
        larger.sort(key=lambda one: one._since)
        for one in larger[: len(larger) // 10 + 1]:
            self.connections.discard(one)
            one.transport.abort()

    def _turn(self, stage: Stage) -> None:
        self._stage, self._since = stage, self.loop.time()
        self._turns += 1

    def _set_limit(self) -> None:
        self._seen, self._came = self._turns, 0
        if self._limit is not None:
            self._limit.cancel()
        seconds = SECONDS.get(self._stage)
        self._limit = self.loop.call_later(seconds, self._expire) if seconds else None

    def _expire(self) -> None:
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the request took too long to come")

    def data_received(self, data: bytes) -> None:
        """Read what came; as long as it belongs to one head or body, its time runs on."""
        if self._stage == "done":
            if self.parser.should_upgrade():
                return  # what follows such a request would be in another protocol
            if not self._waits:
                self._turn("head")
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._turns != self._seen:
            self._set_limit()
            return
        self._came += len(data)
        if self._came > (LARGEST_HEAD if self._stage == "head" else LARGEST_MESSAGE):
            self._refuse(HTTPStatus.BAD_REQUEST, "the request is too large")

    def pause_writing(self) -> None:
        """Whoever takes nothing of what they are sent is let go after a while."""
        super().pause_writing()
        self._stuck = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """They took some of it."""
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._head = 0
        self._turn("head")

    def on_url(self, url: bytes) -> None:
        """A part of where it goes."""
        self._measure(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header: before the body, and not too many."""
        if self._stage == "body":
            self._fail("headers stand before the body")
        if len(self.headers) >= MOST_HEADERS:
            self._fail(f"at most {MOST_HEADERS} headers are read")
        self._measure(name + value)
        super().on_header(name, value)

    def _measure(self, part: bytes) -> None:
        self._head += len(part)
        if self._head > LARGEST_HEAD:
            self._fail(f"at most {LARGEST_HEAD:,} bytes of headers are read")

    def on_headers_complete(self) -> None:
        """The head is whole: refuse what others might read in another way, before it is begun."""
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            self._fail("only HTTP/1.1 is spoken here")
        if not self.url.startswith(b"/"):
            self._fail("a request names a path, and its host in a header")
        values = dict(self.headers)
        names = [name for name, _ in self.headers]
        if len(names) > len(values) and any(names.count(name) > 1 for name in ONCE):
            self._fail("a header that may stand once stands twice")
        if b"host" not in values:
            self._fail("a request names its host")
        coding = values.get(b"transfer-encoding", b"")
        if coding and (version == "1.0" or b"content-length" in values or coding != b"chunked"):
            self._fail("a body has a Content-Length, or else the Transfer-Encoding chunked")
        if len(self.pipeline) >= MOST_AHEAD:
            self._fail("too many requests were sent ahead")
        super().on_headers_complete()
        if self.parser.should_upgrade():
            self.cycle.keep_alive = False
        self._turn("body")

    def on_message_complete(self) -> None:
        """The request is whole."""
        super().on_message_complete()
        self._turn("done")

    def _fail(self, why: str) -> None:
        """Have the parser stop; it comes back with `send_400_response`."""
        self._why = why
        raise ParseError(why)

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser could not read, or was not to."""
        self._refuse(HTTPStatus.BAD_REQUEST, self._why or msg)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        """End the connection; say why where nothing else could be taken for the answer, or cut."""
        begun = self._waits and (self.cycle.response_started or self.pipeline)
        if begun or self._waits == (self._stage == "head"):
            self.transport.abort()
            return
        self.transport.write(
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {len(why) + 1}\r\nConnection: close\r\n\r\n{why}\n".encode("ascii")
        )
        self.transport.close()
