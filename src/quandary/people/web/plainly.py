"""A page that needs nothing: no template, no session, for when something went wrong."""

from __future__ import annotations

from html import escape


def error_page(status: int, detail: str) -> str:
    """What went wrong, and the way back."""
    hint = '<p><a href="/login">Log in</a></p>' if status == 401 else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/static/style.css">'
        f"<title>{status} · Quandary</title></head><body><main>"
        f"<h1>{status}</h1><p>{escape(detail)}</p>{hint}"
        '<p><a href="/">To the inbox</a></p></main></body></html>'
    )
