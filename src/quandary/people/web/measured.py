"""Every request, measured: counted, and written to the log.

What is told of a request is what its path looks like, never the path itself, nor what it asked for:
names of runs are many, and a query can hold anything.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from litestar.enums import ScopeType

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.types import ASGIApp, Message, Receive, Scope, Send

    Answered = Callable[[str, str, str, float], None]

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NOWHERE = "none"
"""The route of a path that leads nowhere, and the status of what nobody waited for."""
_BROKEN = 500
log = logging.getLogger("quandary.web")


def measured(app: ASGIApp, answered: Answered) -> ASGIApp:
    """The application, with somebody told of each request when its answer begins."""

    async def measure(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        begun = time.perf_counter()
        told = False

        def tell(status: str) -> None:
            nonlocal told
            told = True
            seconds = time.perf_counter() - begun
            route = _route(scope)
            answered(method, route, status, seconds)
            _write(method, route, status, seconds)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and not told:
                tell(str(message["status"]))
            await send(message)

        try:
            await app(scope, receive, sent)
        finally:
            if not told:
                tell(NOWHERE)

    return measure


def _route(scope: Scope) -> str:
    """What the path looks like. Requests that wait on purpose are told from those that do not."""
    route = scope.get("path_template") or NOWHERE
    waits = any(part.startswith(b"wait=") for part in scope["query_string"].split(b"&"))
    return f"{route}?wait" if waits and route.startswith("/api/") else route


def _write(method: str, route: str, status: str, seconds: float) -> None:
    broken = status.isdigit() and int(status) >= _BROKEN
    log.log(
        logging.WARNING if broken else logging.INFO,
        "%s %s %s in %.1f ms",
        *(method, route, status, seconds * 1000),
        extra={
            "method": method,
            "route": route,
            "status": int(status) if status.isdigit() else None,
            "seconds": round(seconds, 6),
        },
    )
