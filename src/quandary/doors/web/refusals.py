"""Text that strangers wrote, made safe to show on a page; the templates escape it besides."""

from __future__ import annotations

import logging
import re
from html import escape
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import MediaType, Response
from litestar.exceptions import HTTPException
from markupsafe import Markup

from quandary.doors.web.house import Visit
from quandary.doors.web.shapes import PROBLEM, Problem
from quandary.errors import QuandaryError

_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(value: object) -> object:
    """Signs that hide, or that turn the text around them, are shown as what they are.

    Everything that a template puts out goes through here. Breaks and tabs are harmless on a page.
    """
    if isinstance(value, str) and not isinstance(value, Markup):
        return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    return value


LONGEST_DETAIL = 2_000
log = logging.getLogger("quandary.web")


def refused(request: Visit, error: QuandaryError) -> Response[Any]:
    """An error of ours: what it says is meant to be read."""
    return problem(request, error.http, str(error))


def refused_by_server(request: Visit, error: HTTPException) -> Response[Any]:
    """Anything that the server refused by itself."""
    detail = error.detail or "the request failed"
    if isinstance(error.extra, list) and error.extra:
        detail = "; ".join(_fault(one) for one in error.extra) or detail
    elif error.status_code == HTTPStatus.NOT_FOUND:
        detail = "there is no such page"
    return problem(request, error.status_code, detail, dict(error.headers or {}))


def broken(request: Visit, error: Exception) -> Response[Any]:
    """A mistake of ours: whoever runs the server sees all of it, nobody else anything."""
    log.error("a request could not be answered", exc_info=error)
    return problem(request, 500, "something went wrong; see the terminal of the server")


def _fault(one: Any) -> str:  # noqa: ANN401 - whatever the server found
    if not isinstance(one, dict):
        return str(one)
    key = one.get("key")
    return f"{key}: {one.get('message')}" if key else str(one.get("message"))


def problem(
    request: Visit, status: int, detail: str, headers: dict[str, str] | None = None
) -> Response[Any]:
    """For programs as problem+json, for people as a page."""
    title, detail = _title(status), detail[:LONGEST_DETAIL]
    wants_page = "text/html" in request.headers.get("accept", "")
    if request.scope["path"].startswith("/api") or not wants_page:
        body = msgspec.json.encode(Problem("about:blank", status, title, _unicode(detail)))
        return Response(body, status_code=status, media_type=PROBLEM, headers=headers)
    return Response(
        error_page(status, title, _unicode(detail)),
        status_code=status,
        media_type=MediaType.HTML,
        headers=headers,
    )


def error_page(status: int, title: str, detail: str) -> str:
    """A page that needs nothing, no template and no login: what went wrong, and the way back."""
    hint = '<p><a href="/login">Log in</a></p>' if status == HTTPStatus.UNAUTHORIZED else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<link rel="stylesheet" href="/static/style.css">'
        f"<title>{escape(title)} · Quandary</title></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="problem">{escape(detail)}</p>{hint}'
        '<p><a href="/">Inbox</a></p></main></body></html>\n'
    )


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"


def _unicode(text: str) -> str:
    return text.encode(errors="replace").decode()
