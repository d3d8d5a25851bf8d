"""The server: pages for people, JSON for programs, one journal behind both."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Litestar, Request, asgi
from litestar.datastructures import MutableScopeHeaders, State
from litestar.di import Provide
from litestar.exceptions import ClientException, HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.static_files import create_static_files_router
from litestar.template.config import TemplateConfig
from litestar.types import Receive, Scope, Send

from quandary import __version__
from quandary.desk import authority
from quandary.desk.timeline import moment
from quandary.doors.web.access import LARGEST_BODY, LOGIN, LOOPBACK, Doors
from quandary.doors.web.amendments import CHANGES
from quandary.doors.web.api import api
from quandary.doors.web.events import Events
from quandary.doors.web.house import House
from quandary.doors.web.keys import Keys
from quandary.doors.web.metrics import HEALTH, REQUESTS, Metrics, Readiness, logged
from quandary.doors.web.pages import PAGES, short
from quandary.doors.web.refusals import broken, refused, refused_by_server, visible
from quandary.doors.web.run_views import cut
from quandary.errors import QuandaryError
from quandary.journal.store import Store

if TYPE_CHECKING:
    from litestar.handlers import ASGIRouteHandler
    from litestar.types import Message

    from quandary.desk.walks import Walks
    from quandary.doors.mcp.server import Mounted
    from quandary.doors.web.metrics import Fleet

_HERE = os.path.dirname(os.path.abspath(__file__))
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def create_app(
    store: Store,
    keys: Keys,
    project: authority.Scope,
    *,
    hosts: frozenset[str] = LOOPBACK,
    addresses: bool = False,
    strangers: bool = True,
    new_code: Callable[[], None] | None = None,
    tools: Mounted | None = None,
    fleet: Callable[[], Fleet] | None = None,
    walks: Walks | None = None,
) -> Litestar:
    """The application. `strangers` are served only where every visitor is on this machine.

    With `tools`, chat clients find them at /mcp; with `fleet`, its figures are among the metrics;
    with `walks`, runs can be resumed from their pages.
    """
    events = Events(store)
    metrics = Metrics(store, events, fleet)
    house = House(store, events, keys, project, new_code=new_code, walks=walks)
    readiness = Readiness(store)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        await events.start()
        try:
            async with tools.running() if tools is not None else nullcontext():
                yield
        finally:
            await metrics.stop()
            await events.stop()

    static = os.path.join(_HERE, "static")
    app = Litestar(
        route_handlers=[
            *PAGES,
            *CHANGES,
            *LOGIN,
            api,
            *HEALTH,
            *([_chat(tools)] if tools is not None else []),
            create_static_files_router("/static", directories=[static], resolve_symlinks=False),
        ],
        dependencies={
            "house": Provide(lambda: house, sync_to_thread=False),
            "readiness": Provide(lambda: readiness, sync_to_thread=False),
            "figures": Provide(lambda: metrics, sync_to_thread=False),
        },
        middleware=[
            REQUESTS.middleware,
            Doors(keys, hosts=hosts, strangers=strangers, addresses=addresses),
        ],
        exception_handlers={
            QuandaryError: refused,
            HTTPException: refused_by_server,
            Exception: broken,
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
        template_config=TemplateConfig(instance=JinjaTemplateEngine.from_environment(_templates())),
        request_class=Careful,
        request_max_body_size=LARGEST_BODY,
        before_send=[_guarded],
        lifespan=[lifespan],
        state=State({"events": events}),
        logging_config=None,
        debug=False,
    )
    # Around everything, also around what leads nowhere and never comes to the middleware.
    app.asgi_handler = logged(app.asgi_handler)
    return app


def _chat(tools: Mounted) -> ASGIRouteHandler:
    """The tools for chat clients, behind the same doors as everything else."""

    @asgi("/mcp", is_mount=True, copy_scope=True)
    async def chat(scope: Scope, receive: Receive, send: Send) -> None:
        await tools.application(scope, receive, send)  # type: ignore[arg-type]  # two spellings of ASGI

    return chat


class Careful(Request[Any, Any, Any]):
    """A request whose body may be anything."""

    async def json(self) -> Any:  # noqa: ANN401 - any JSON
        """The body as JSON, or a refusal."""
        try:
            return await super().json()
        except (RecursionError, UnicodeDecodeError) as error:
            raise ClientException("the body cannot be read as JSON") from error


@cache
def _templates() -> Environment:
    """What is put into a page is escaped, and a name that nobody gave is a mistake."""
    environment = Environment(
        loader=FileSystemLoader(os.path.join(_HERE, "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cut": cut, "moment": moment, "short": short}
    return environment


async def _guarded(message: Message, scope: Scope) -> None:  # noqa: ARG001 - its signature
    """Every answer, also a refusal, tells the browser what it may do with it."""
    if message["type"] == "http.response.start":
        headers = MutableScopeHeaders.from_message(message)
        for name, value in HEADERS.items():
            headers[name] = value
