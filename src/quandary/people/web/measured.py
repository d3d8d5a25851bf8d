"""Every request, written to the log.

What is told of a request is what its path looks like, never the path itself, nor what it asked for:
names of runs are many, and a query can hold anything.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from litestar.enums import ScopeType

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Message, Receive, Scope, Send

_BROKEN = 500
log = logging.getLogger("quandary.web")


def logged(app: ASGIApp) -> ASGIApp:
    """The application, with a line in the log when the answer to a request begins."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["type"] == ScopeType.HTTP:
                seconds, status = time.perf_counter() - begun, message["status"]
                method, route = scope["method"], scope.get("path_template") or "none"
                log.log(
                    logging.WARNING if status >= _BROKEN else logging.INFO,
                    "%s %s %s in %.1f ms",
                    *(method, route, status, seconds * 1000),
                    extra={
                        "method": method,
                        "route": route,
                        "status": status,
                        "seconds": round(seconds, 6),
                    },
                )
            await send(message)

        await app(scope, receive, sent)

    return answer
