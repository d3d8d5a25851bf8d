"""What comes with a request: the store, the news, who sends it, and the fields of its form."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from sys import maxsize
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlsplit

from litestar import MediaType, Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType, ScopeType
from litestar.exceptions import HTTPException, NotAuthorizedException, PermissionDeniedException
from litestar.params import FromQuery, PathParameter, SkipValidation
from litestar.response import Redirect
from markupsafe import Markup

from quandary.desk.authority import Caller, Scope, find_run, open_run
from quandary.doors.web.tokens import MEMORY, SESSION_SECONDS, Keys, Network, Visitor, find_sender

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Send
    from litestar.types import Scope as AsgiScope

    from quandary.desk.walks import Walks
    from quandary.doors.web.events import Events
    from quandary.doors.web.tokens import Kind
    from quandary.journal.entries import Entry
    from quandary.journal.entries import Kind as EntryKind
    from quandary.journal.runs import OpenRun
    from quandary.journal.store import Store

    Hook = Callable[[str, bytes, Store, Callable[[], bool]], bytes]
    Headers = dict[bytes, str]
    """By their names, in small letters; what decides anything is sent once."""

RUN_ID = re.compile(r"^[0-9A-Za-z]{1,26}$")
RunId = Annotated[
    str,
    PathParameter(pattern=RUN_ID.pattern, description="A run's id, or enough of it to be unique."),
]
Visit = Request[Any, Any, Any]  # a request, whatever it carries
Page = Response[Any]  # a page that is written already


class Glance:
    """A store as one page looks at it: each run, its entries and each document are read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.run = cache(store.run)
        self.document = cache(store.document)
        self._entries = cache(store.entries)
        found = store.require_run
        self.require_run = lambda run: self.run(run) or found(run)

    def entries(
        self, run: str, *, kinds: Sequence[EntryKind] = (), after: int = 0, upto: int = maxsize
    ) -> list[Entry]:
        """The entries of a run, out of all of them."""
        every = self._entries(run)
        return [e for e in every if after < e.n <= upto and (not kinds or e.kind in kinds)]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else the store does
        return getattr(self._store, name)


@dataclass(frozen=True)
class Site:
    """What all pages and requests of a server work with."""

    store: Store
    events: Events
    keys: Keys
    scope: Scope
    new_code: Callable[[], None] | None = None
    """Prints a code where only somebody at the server's terminal sees it."""
    walks: Walks | None = None  # resumes runs whose agents have to be asked
    hook: Hook | None = None  # answers a hook of a host, as the command for that does

    @property
    def at_a_glance(self) -> Site:
        """The same for one page."""
        if isinstance(self.store, Glance):
            return self
        return replace(self, store=cast("Store", Glance(self.store)))

    def visitor(self, request: Visit) -> Visitor:
        """Whoever sent a request."""
        return cast("Visitor", request.scope["state"].get("visitor", Visitor()))

    def caller(self, request: Visit, by: str = "") -> Caller:
        """The source of a request: a person only within a login of theirs."""
        visitor = self.visitor(request)
        if by and not visitor.name and self.keys.is_taken(by):
            raise PermissionDeniedException(
                f"{by} is the name of a user; log in with their token, or leave out `by`"
            )
        who: Any = "person" if visitor.is_person else "api"
        return Caller(who, "web", visitor.name or by, self.scope, self.keys.is_user(visitor))

    def find_run(self, request: Visit, name: str) -> str:
        """The run that a request names, among those that its sender sees."""
        return find_run(self.store, self.caller(request), name)

    def open_run(self, request: Visit, name: str) -> OpenRun:
        """The same, opened."""
        return open_run(self.store, self.caller(request), name)

    def require_login_open(self, request: Visit) -> None:
        """Refuse to go on with a request whose login was ended while it waited."""
        session = self.visitor(request).session
        if session is not None and not self.keys.is_open(session):
            raise NotAuthorizedException("the login has ended; log in again")


TheSite = SkipValidation[NamedDependency[Site]]  # how a page or a request asks for it

Fields = dict[str, list[str]]
MOST_FIELDS = 500


def page(
    request: Visit,
    site: Site,
    name: str,
    *,
    parts: tuple[str, ...] = (),
    status: int = 200,
    **values: Any,  # noqa: ANN401 - whatever the template shows
) -> Page:
    """A page with what all pages have; or the part that an open page asks for, as it changes."""
    part = wanted_part(request)
    written = fill(request, site, part if part in parts else name, **values)
    return Response(written, media_type=MediaType.HTML, status_code=status)


def fill(request: Visit, site: Site, name: str, **values: Any) -> Markup:  # noqa: ANN401 - as above
    """A template, filled with what all pages have and these values."""
    visitor, engine = site.visitor(request), cast("Any", request.app.template_engine)
    mark, here = site.keys.form_mark(visitor.session), request.scope["path"]
    values |= {"visitor": visitor, "mark": mark, "here": here, "served": site.scope.project}
    return Markup(engine.get_template(f"{name}.html").render(**values))  # noqa: S704 - it escapes


def wanted_part(request: Visit) -> str:
    """The part of a page that an open page asks for; nothing where it is all of it."""
    return str(request.headers.get("x-part", ""))


async def own_form(request: Visit, site: Site) -> Fields:
    """The fields of a form of ours, which is never in parts, each with an encoding of its own."""
    if request.content_type[0] == RequestEncodingType.MULTI_PART:
        raise HTTPException("send the form as application/x-www-form-urlencoded", status_code=415)
    form = await request.form()
    fields: Fields = {}
    for number, (name, value) in enumerate(form.multi_items()):
        if number > MOST_FIELDS:
            raise HTTPException("the form has too many fields", status_code=400)
        if isinstance(value, str):
            fields.setdefault(name, []).append(value)
    if not site.keys.is_own_form(site.visitor(request).session, one(fields, "mark")):
        raise PermissionDeniedException("the form is outdated; reload the page")
    return fields


def one(fields: Fields, name: str) -> str:
    """The value of a field that a form has once."""
    return "".join(fields.get(name, []))


COOKIE = "quandary"  # what cookies are called; behind it stands the server that they are of
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
LARGEST_BODY = 1_000_000  # in bytes; no answer is longer
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN = frozenset({"/login", "/healthz", "/readyz"})
METRICS = "/metrics"
HOOKS = "/api/hooks/"
HOOK = "hook"
"""The name of a hook of the user's own host; it opens nothing else, and a user may have it too."""
WATCHER = "metrics"
"""The name of whoever comes with the token for the metrics; it opens nothing else."""
_STATIC = "/static/"  # what even a stranger may see, beside those
_FORWARDED = frozenset(
    b"forwarded via x-forwarded-for x-forwarded-host x-forwarded-proto x-forwarded-port "
    b"x-forwarded-server x-real-ip x-client-ip x-cluster-client-ip x-original-host true-client-ip "
    b"cf-connecting-ip cf-ray cdn-loop".split()
)
"""What says that a request comes through another server, from who knows where."""


@dataclass(eq=False, kw_only=True)
class Access:
    """Refuses what does not belong here, and says who the rest is from."""

    keys: Keys
    hosts: frozenset[str]  # the names that this server goes by
    addresses: bool
    """Whether it also goes by any address: that is no name that a page could point here."""
    strangers: bool  # whether requests without a login are served: only on this very machine
    proxies: tuple[Network, ...] = ()
    """Those that are believed when they say where a request comes from."""

    def __call__(self, app: ASGIApp) -> ASGIApp:
        """The application, for those that may come in."""

        async def answer(scope: AsgiScope, receive: Receive, send: Send) -> None:
            await self._look_at(scope)
            await app(scope, receive, send)

        return answer

    async def _look_at(self, scope: AsgiScope) -> None:
        """Look at a request before anything else does."""
        if scope["type"] != ScopeType.HTTP:
            raise PermissionDeniedException("only HTTP is served here")
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        self._require_known_host(headers)
        _require_small(headers)
        _require_no_foreign_page(headers, scope["method"])
        client, told, path = scope["client"], scope["headers"], scope["path"]
        ways = [value.decode("latin-1") for name, value in told if name == b"x-forwarded-for"]
        sender = find_sender(client[0] if client else "", ways, self.proxies)
        is_direct = _FORWARDED.isdisjoint(headers)
        visitor = await self._visitor(scope, headers, sender, near=is_direct and sender in LOOPBACK)
        if scope["method"] not in _SAFE:
            _require_own_page(headers, visitor)
        known = visitor.session is not None or bool(visitor.bearer)
        near = self.strangers and is_direct
        if not known and not near and path not in _OPEN and not path.startswith(_STATIC):
            raise NotAuthorizedException(
                "log in with the code that `quandary serve` prints, or send a token",
                headers={"WWW-Authenticate": "Bearer"},
            )
        scope["state"] |= {
            "sender": sender,
            "visitor": visitor,
            "is_user": self.keys.is_user(visitor),
            "is_taken": self.keys.is_taken,
        }

    def _require_known_host(self, headers: Headers) -> None:
        """A page elsewhere can point a name of its own at this server; it cannot name ours."""
        name = name_of(headers.get(b"host", ""))
        if name not in self.hosts and not (self.addresses and _is_address(name)):
            raise HTTPException(
                "this server has another name; add it to hosts in [serve]", status_code=421
            )

    async def _visitor(
        self, scope: AsgiScope, headers: Headers, sender: str, *, near: bool
    ) -> Visitor:
        kind, _, secret = headers.get(b"authorization", "").partition(" ")
        if kind.casefold() != "bearer":
            cookies: dict[str, str] = Visit(scope).cookies if b"cookie" in headers else {}
            cookie = cookies.get(COOKIE + self.keys.server, "")
            return Visitor(session=self.keys.unseal(cookie) if cookie else None)
        await wait_for_turn(self.keys, "token", sender, secret)
        name, path = self.keys.bearer(secret), scope["path"]
        if name is None and path == METRICS and self.keys.watches(secret):
            name = WATCHER
        is_hook = near and path.startswith(HOOKS) and self.keys.is_hook(secret)
        name = HOOK if is_hook else name
        if name is None:
            self.keys.failed("token", sender)
            raise NotAuthorizedException("unknown token", headers={"WWW-Authenticate": "Bearer"})
        self.keys.succeeded(sender, secret)
        return Visitor(bearer=name, is_hook=is_hook)


def _require_small(headers: Headers) -> None:
    """Refuse what says that it is too large before any of it is read."""
    said = headers.get(b"content-length", "0")
    if not said.isascii() or not said.isdigit() or int(said[:20]) > LARGEST_BODY:
        raise HTTPException(
            f"the request is too large; at most {LARGEST_BODY:,} bytes are allowed", status_code=413
        )


async def wait_for_turn(keys: Keys, kind: Kind, sender: str, secret: str) -> None:
    """Hold a secret back while others from there are guessed, and refuse it behind too many."""
    if (seconds := keys.wait(kind, sender, secret)) is None:
        raise HTTPException(
            "too many wrong tokens or codes; wait a minute",
            status_code=429,
            headers={"Retry-After": f"{MEMORY:.0f}"},
        )
    if seconds:
        await asyncio.sleep(seconds)


def _require_no_foreign_page(headers: Headers, method: str) -> None:
    """A page elsewhere may lead to ours, and has no other business here."""
    if headers.get(b"sec-fetch-site", "none") in ("same-origin", "none"):
        return
    followed = method == "GET" and headers.get(b"sec-fetch-mode") == "navigate"
    if not followed or headers.get(b"sec-fetch-dest", "document") != "document":
        raise PermissionDeniedException("the request came from a page of another site")


def _require_own_page(headers: Headers, visitor: Visitor) -> None:
    """What changes something comes from our own pages, or with a token that no page knows."""
    if visitor.bearer:
        return
    origin, host = headers.get(b"origin"), headers.get(b"host", "")
    scheme, _, rest = (origin or "").partition("://")
    own = scheme in ("http", "https") and rest.casefold() == host.casefold()
    if origin is not None and not own:
        raise PermissionDeniedException("the request came from a page of another site")
    fetched = headers.get(b"sec-fetch-site") == "same-origin"
    if visitor.session is not None and not own and not fetched:
        raise PermissionDeniedException(
            "a request with a login has to come from our own pages; send a token instead"
        )


@lru_cache(64)
def name_of(host: str) -> str:
    """The host without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").casefold().removesuffix(".")
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


_OURS = re.compile(r"/(?:runs(?:/[0-9A-Za-z]{1,26})?|trees|stats)?")
UNKNOWN = "The code is wrong, used or expired."


def way_back(wanted: str) -> str:
    """Where to go after logging in: to one of our own pages, whatever the link said."""
    return wanted if _OURS.fullmatch(wanted) else "/"


def _cookie(request: Visit, site: Site, value: str, seconds: int) -> Cookie:
    return Cookie(
        key=COOKIE + site.keys.server,
        value=value,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure="https" in (request.url.scheme, request.headers.get("x-forwarded-proto", "")),
    )


@get("/login", sync_to_thread=False, include_in_schema=False)
def login_form(request: Visit, site: TheSite, to: FromQuery[str] = "/") -> Page:
    """Where a code or a token is typed. Whoever opens it gets a code, on the server's terminal."""
    if site.new_code is not None and not site.keys.has_code:
        site.new_code()
    return _login_page(request, site, way_back(to))


def _login_page(request: Visit, site: Site, to: str, problem: str = "", status: int = 200) -> Page:
    codes = site.new_code is not None
    return page(request, site, "login", problem=problem, to=to, codes=codes, status=status)


@post("/login", status_code=303, include_in_schema=False)
async def log_in(request: Visit, site: TheSite) -> Page | Redirect:
    """Open a login for a person."""
    fields = await own_form(request, site)
    to = way_back(one(fields, "to"))
    sender, secret = request.scope["state"]["sender"], one(fields, "code")
    await wait_for_turn(site.keys, "login", sender, secret)
    if (session := site.keys.log_in(secret)) is None:
        site.keys.failed("login", sender)
        return _login_page(request, site, to, UNKNOWN, 401)
    site.keys.succeeded(sender, secret)
    cookie = _cookie(request, site, site.keys.seal(session), SESSION_SECONDS)
    return Redirect(to, status_code=303, cookies=[cookie])


@post("/logout", status_code=303, include_in_schema=False)
async def log_out(request: Visit, site: TheSite) -> Redirect:
    """Close it."""
    await own_form(request, site)
    session = site.visitor(request).session
    if session is not None:
        site.keys.log_out(session)
        site.events.wake()
    return Redirect("/", status_code=303, cookies=[_cookie(request, site, "", 0)])


LOGIN = [login_form, log_in, log_out]
