"""Every request comes through here: which host it names, where it comes from, who sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException, NotAuthorizedException, PermissionDeniedException
from litestar.middleware import ASGIMiddleware

from quandary.people.web.keys import Keys, Visitor

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Scope, Send

COOKIE = "quandary"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN = ("/login", "/static/", "/healthz", "/readyz")
"""What even a stranger may see."""


class Doors(ASGIMiddleware):
    """Refuses what does not belong here, and says who the rest is from."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, keys: Keys, *, hosts: frozenset[str], strangers: bool) -> None:
        self.keys = keys
        self.hosts = hosts
        self.strangers = strangers
        """Whether requests without a login are served: only on this very machine."""

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Look at a request before anything else does."""
        connection: ASGIConnection[Any, Any, Any, Any] = ASGIConnection(scope)
        self._require_known_host(connection)
        visitor = self._visitor(connection)
        if scope["type"] != ScopeType.HTTP:
            raise PermissionDeniedException("only pages and requests are served here")
        if scope["method"] not in _SAFE:
            self._require_own_page(connection, visitor)
        path = connection.url.path
        stranger = visitor.session is None and not visitor.bearer
        if stranger and not self.strangers and not path.startswith(_OPEN):
            raise NotAuthorizedException("log in with the code that `quandary serve` prints")
        scope["state"]["visitor"] = visitor
        await next_app(scope, receive, send)

    def _require_known_host(self, connection: ASGIConnection[Any, Any, Any, Any]) -> None:
        """A page elsewhere can point a name of its own at this server; it cannot name ours."""
        if _name(connection.headers.get("host", "")) not in self.hosts:
            raise PermissionDeniedException("this server does not go by that name")

    def _require_own_page(
        self, connection: ASGIConnection[Any, Any, Any, Any], visitor: Visitor
    ) -> None:
        """What changes something comes from our own pages, or with a token that no page knows."""
        if visitor.bearer:
            return
        origin = connection.headers.get("origin")
        site = connection.headers.get("sec-fetch-site", "same-origin")
        foreign = origin is not None and urlsplit(origin).netloc != connection.headers.get("host")
        if foreign or site not in ("same-origin", "none"):
            raise PermissionDeniedException("this came from another page")

    def _visitor(self, connection: ASGIConnection[Any, Any, Any, Any]) -> Visitor:
        said = connection.headers.get("authorization", "")
        kind, _, secret = said.partition(" ")
        if kind.casefold() == "bearer":
            address = connection.client.host if connection.client else ""
            if not self.keys.may_try(address):
                raise HTTPException("too many wrong tokens; wait a minute", status_code=429)
            name = self.keys.bearer(secret)
            if name is None:
                self.keys.failed(address)
                raise NotAuthorizedException("that token is not known here")
            return Visitor(bearer=name)
        cookie = connection.cookies.get(COOKIE, "")
        return Visitor(session=self.keys.unseal(cookie) if cookie else None)


def _name(host: str) -> str:
    """The host without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").casefold()
    except ValueError:
        return ""
