"""What a question shows to judge by: its attachments, in place and as files."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from litestar import Response, get
from litestar.params import FromPath
from markupsafe import Markup

from quandary.desk.attachments import find_media, list_attachments, load
from quandary.desk.reply import arguments_of
from quandary.doors.web import prose
from quandary.doors.web.access import RunId, TheSite, Visit
from quandary.errors import QuandaryError
from quandary.model.attachment import tell_size
from quandary.model.text import reveal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quandary.doors.web.access import Fields
    from quandary.journal.store import Store
    from quandary.model.attachment import Attachment

HARMLESS = "default-src 'none'; sandbox"
LARGEST_SHOWN = 200_000
"""Characters of an attachment that are looked at to show it in place."""


def find_address(run: str, digest: str) -> str:
    """Where an attachment is served."""
    return f"/runs/{run}/attachments/{digest}"


def find_pictures(run: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The attached images, which Markdown may show."""
    images = (one for one in list_attachments(arguments) if one.shape == "image")
    return {one.name: find_address(run, one.digest) for one in images}


def show_attachments(
    store: Store, run: str, arguments: Mapping[str, Any], origin: str, fields: Fields
) -> list[dict[str, Any]]:
    """The attachments of a run as a page shows them, with what changed since another run."""
    pictures = find_pictures(run, arguments)
    earlier = {}
    with suppress(QuandaryError):  # it may be gone
        known = list_attachments(arguments_of(store, origin)) if origin else []
        earlier = {one.name: one.digest for one in known}
    return [
        {
            "name": one.name,
            "size": tell_size(one.size),
            "digest": one.digest,
            "address": find_address(run, one.digest),
            "is_text": one.is_text,
            "shown": _show(store, run, one, pictures),
            "changes": _compare(store, one, earlier.get(one.name, one.digest)),
            "remarks": "\n".join(fields.get(f"remarks:{one.name}", [])),
        }
        for one in list_attachments(arguments)
    ]


def _show(store: Store, run: str, one: Attachment, pictures: dict[str, str]) -> Markup:
    """What is in an attachment, as far as it can be shown in place."""
    if one.shape == "image":
        return Markup('<img src="%s" alt="%s">') % (find_address(run, one.digest), one.name)
    data = store.document(one.digest) if one.is_text else None
    if data is None:
        return Markup("")
    text = reveal(data.decode(errors="replace"))
    head, cut = text[:LARGEST_SHOWN], len(text) > LARGEST_SHOWN
    if one.shape == "markdown":
        return prose.render(head, pictures)
    shape = "text" if cut and one.shape == "json" else one.shape
    renders = {"diff": prose.render_diff, "csv": prose.render_table, "json": prose.render_json}
    shown = renders[shape](head) if shape in renders else prose.render_lines(head, one.name)
    more = Markup("<p>This is its beginning; the whole file is behind its name.</p>")
    return shown + more if cut else shown


def _compare(store: Store, one: Attachment, before: str) -> Markup:
    """What changed in a text since it was shown in the run before."""
    old, new = (store.document(digest) for digest in (before, one.digest))
    if before == one.digest or not one.is_text or old is None or new is None:
        return Markup("")
    was, now = (reveal(data.decode(errors="replace"))[:LARGEST_SHOWN] for data in (old, new))
    return prose.compare(was, now, one.name)


@get("/runs/{run:str}/attachments/{digest:str}", sync_to_thread=True, include_in_schema=False)
def attachment(request: Visit, site: TheSite, run: RunId, digest: FromPath[str]) -> Response[bytes]:
    """An attachment as a file. Whatever it is, it is never a page of ours, and runs nothing."""
    name = site.find_run(request, run)
    about, data = load(site.store, name, digest)
    media = "text/plain; charset=utf-8" if about.is_text else find_media(data)
    way = "inline" if about.is_text or about.shape == "image" else "attachment"
    return Response(
        data,
        media_type=media,
        headers={
            "Content-Security-Policy": HARMLESS,
            "Content-Disposition": f"{way}; filename*=UTF-8''{quote(about.name, safe='')}",
        },
    )
