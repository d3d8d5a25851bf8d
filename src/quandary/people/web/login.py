"""Logging in and out."""

from __future__ import annotations

import re
from typing import Any

from litestar import Response, get, post
from litestar.datastructures import Cookie
from litestar.params import FromQuery
from litestar.response import Redirect, Template

from quandary.people.web.doors import COOKIE, require_try
from quandary.people.web.frame import one, own_form, page
from quandary.people.web.house import TheHouse, Visit
from quandary.people.web.keys import SESSION_SECONDS

_OURS = re.compile(r"/(?:runs(?:/[0-9A-Za-z]{1,26})?|trees|stats)?")
UNKNOWN = "The code is wrong, used or expired."


def way_back(wanted: str) -> str:
    """Where to go after logging in: to one of our own pages, whatever the link said."""
    return wanted if _OURS.fullmatch(wanted) else "/"


def _cookie(request: Visit, value: str, seconds: int) -> Cookie:
    forwarded = request.headers.get("x-forwarded-proto", "")
    return Cookie(
        key=COOKIE,
        value=value,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure="https" in (request.url.scheme, forwarded),
    )


@get("/login", sync_to_thread=False, include_in_schema=False)
def login_form(request: Visit, house: TheHouse, to: FromQuery[str] = "/") -> Template:
    """Where a code or a token is typed. Whoever opens it gets a code, on the server's terminal."""
    if not house.keys.has_code:
        house.new_code()
    return page(request, house, "login", problem="", to=way_back(to))


@post("/login", status_code=303, include_in_schema=False)
async def log_in(request: Visit, house: TheHouse) -> Response[Any]:
    """Open a login for a person."""
    fields = await own_form(request, house)
    to = way_back(one(fields, "to"))
    address = request.client.host if request.client else ""
    require_try(house.keys, address)
    session = house.keys.log_in(one(fields, "code"))
    if session is None:
        house.keys.failed(address)
        found: Response[Any] = page(request, house, "login", problem=UNKNOWN, to=to, status=401)
        return found
    cookie = _cookie(request, house.keys.seal(session), SESSION_SECONDS)
    return Redirect(to, status_code=303, cookies=[cookie])


@post("/logout", status_code=303, include_in_schema=False)
async def log_out(request: Visit, house: TheHouse) -> Redirect:
    """Close it."""
    await own_form(request, house)
    session = house.visitor(request).session
    if session is not None:
        house.keys.log_out(session)
    return Redirect("/", status_code=303, cookies=[_cookie(request, "", 0)])


LOGIN = [login_form, log_in, log_out]
