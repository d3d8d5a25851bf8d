"""The server: pages for people, JSON for programs, one journal behind both."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from functools import cache
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

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
from litestar.types import Scope
from markupsafe import Markup

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
from quandary.doors.web.metrics import HEALTH, Metrics, Readiness, count_requests, log_requests
from quandary.doors.web.pages import PAGES
from quandary.doors.web.prose import render, render_line, visible
from quandary.doors.web.questions import attachment, mark_levels, show_ask
from quandary.doors.web.run_pages import RUN_PAGES, cut
from quandary.doors.web.tokens import Keys, Network
from quandary.errors import QuandaryError
from quandary.journal.progress import complete_types
from quandary.journal.store import Store
from quandary.model.text import reveal, shorten

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from litestar.types import ASGIApp, Message, Receive, Send

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
    """The application. `strangers` are served only where every visitor is on this machine.

    With `tools`, chat clients find them at /mcp; with `fleet`, its figures are among the metrics;
    with `walks`, runs can be resumed from their pages; with `hook`, hosts call their hooks here.
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
            *RUN_PAGES,
            attachment,
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
            count_requests,
            Access(
                keys=keys,
                hosts=hosts,
                strangers=strangers,
                addresses=addresses,
                proxies=proxies,
            ),
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
        state=State({"events": events}),
        logging_config=None,
        debug=False,
    )
    # Around everything, also around what leads nowhere and never comes to the middleware.
    app.asgi_handler = log_requests(guard(app.asgi_handler))
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
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cut": cut, "exact": exact, "moment": moment}
    environment.filters |= {"shorten": shorten, "prose": render, "line": render_line}
    environment.filters["folder"] = folder_of
    environment.globals["kinds"] = tuple(KINDS)
    return environment


def guard(app: ASGIApp) -> ASGIApp:
    """The application, with every answer, also a refusal, telling browsers what to do with it."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                # An attachment has a stricter policy of its own.
                given = {name.lower() for name, _ in message["headers"]}
                ours = (header for header in _SENT if header[0] not in given)
                message["headers"] = [*message["headers"], *ours]
            await send(message)

        await app(scope, receive, sent)

    return answer


# -- refusals, and what goes wrong ---------------------------------------------------------------


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

    Whoever has the page open sees the tree anew when its `stamp` changes.

    It answers to the names of this machine alone, so that no other site reads it by one of its own.
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
    app.asgi_handler = guard(app.asgi_handler)
    return app
