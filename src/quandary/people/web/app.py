"""The server: pages for people, JSON for programs, one journal behind both."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Litestar, MediaType, Request, Response, get
from litestar.contrib.jinja import JinjaTemplateEngine
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.static_files import create_static_files_router
from litestar.template.config import TemplateConfig

from quandary import __version__
from quandary.errors import AlreadyAnswered, NotFound, QuandaryError, Rejected
from quandary.journal.store import Store
from quandary.people.web.api import api
from quandary.people.web.doors import LOOPBACK, Doors
from quandary.people.web.events import Events
from quandary.people.web.house import House
from quandary.people.web.keys import Keys
from quandary.people.web.pages import HANDLERS

LARGEST_BODY = 1_000_000
_HERE = os.path.dirname(os.path.abspath(__file__))
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def create_app(
    store: Store,
    keys: Keys,
    *,
    hosts: frozenset[str] = LOOPBACK,
    strangers: bool = True,
    project: str = "",
) -> Litestar:
    """The application. `strangers` are served only where every visitor is on this machine."""
    events = Events(store)
    house = House(store, events, keys, project)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        await events.start()
        try:
            yield
        finally:
            await events.stop()

    templates = Environment(
        loader=FileSystemLoader(os.path.join(_HERE, "templates")),
        autoescape=True,
        undefined=StrictUndefined,
    )
    return Litestar(
        route_handlers=[
            *HANDLERS,
            api,
            healthz,
            readyz,
            create_static_files_router("/static", directories=[os.path.join(_HERE, "static")]),
        ],
        dependencies={"house": Provide(lambda: house, sync_to_thread=False)},
        middleware=[Doors(keys, hosts=hosts, strangers=strangers)],
        exception_handlers={
            QuandaryError: refused,
            HTTPException: refused_by_server,
        },
        openapi_config=OpenAPIConfig(
            title="Quandary",
            version=__version__,
            path="/api",
            render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        ),
        template_config=TemplateConfig(instance=JinjaTemplateEngine.from_environment(templates)),
        request_max_body_size=LARGEST_BODY,
        response_headers={
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-store",
        },
        lifespan=[lifespan],
        debug=False,
    )


@get("/healthz", sync_to_thread=False, media_type=MediaType.TEXT)
def healthz() -> str:
    """The server is there."""
    return "ok\n"


@get("/readyz", sync_to_thread=True, media_type=MediaType.TEXT)
def readyz(house: House) -> str:
    """The journal can be read."""
    house.store.newest()
    return "ok\n"


# -- what goes wrong -----------------------------------------------------------------------------


def refused(request: Request[Any, Any, Any], error: QuandaryError) -> Response[Any]:
    """An error of ours: what it says is meant to be read."""
    status = 400
    if isinstance(error, AlreadyAnswered):
        status = 409
    elif isinstance(error, NotFound):
        status = 404
    elif isinstance(error, Rejected):
        status = 403 if "only a person" in str(error) else 409
    return _problem(request, status, str(error))


def refused_by_server(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    """Anything that the server refused by itself."""
    detail = error.detail or "that did not work"
    extra = getattr(error, "extra", None)
    if isinstance(extra, list) and extra:
        detail = f"{detail}: {msgspec.json.encode(extra).decode()}"
    return _problem(request, error.status_code, detail, dict(error.headers or {}))


def _problem(
    request: Request[Any, Any, Any], status: int, detail: str, headers: dict[str, str] | None = None
) -> Response[Any]:
    """For programs as problem+json, for people as a page."""
    wants_page = "text/html" in request.headers.get("accept", "")
    if request.url.path.startswith("/api") or not wants_page:
        body = {"type": "about:blank", "status": status, "title": _title(status), "detail": detail}
        return Response(
            msgspec.json.encode(body),
            status_code=status,
            media_type="application/problem+json",
            headers=headers,
        )
    from quandary.people.web.plainly import error_page  # noqa: PLC0415 - only when it went wrong

    return Response(
        error_page(status, detail), status_code=status, media_type=MediaType.HTML, headers=headers
    )


def _title(status: int) -> str:
    from http import HTTPStatus  # noqa: PLC0415 - only when something went wrong

    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"
