"""Files beside a question: taken when it is asked, looked up when it is shown."""

from __future__ import annotations

import os
from binascii import Error
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from quandary.desk.authority import Caller, require_may, require_plain
from quandary.desk.reply import arguments_of
from quandary.errors import NotFound, ParseError, Rejected
from quandary.flows.wording import fenced
from quandary.journal.entries import document_digest
from quandary.model.asks import Ask, Attachment, Shape, tell_size
from quandary.model.text import printable
from quandary.settings.files import open_file, project_root

if TYPE_CHECKING:
    from quandary.journal.store import Store

LARGEST, LARGEST_RUN = 5_000_000, 20_000_000
LONGEST_NAME = 200
SHOWN_LINES = 200  # of each attachment, so many lines are shown on a terminal
_ENDINGS: dict[str, Shape] = {
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".diff", ".patch"), "diff"),
    ".json": "json",
    ".csv": "csv",
}
_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


class Attaching(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Something to show beside the question: a file, or what is sent here under a name."""

    path: Annotated[str, Meta(description="A file of the project.")] = ""
    name: Annotated[str, Meta(description="What it is called, with its ending.")] = ""
    text: Annotated[str, Meta(description="What is in it, in place of path.")] = ""
    base64: Annotated[str, Meta(description="The same, where it is no text.")] = ""


class Attached(NamedTuple):
    """An attachment with what is in it."""

    about: Attachment
    data: bytes


def take_files(paths: Iterable[str]) -> list[Attached]:
    """The files that somebody at this machine names."""
    return _check([_attach(os.path.basename(path), _read(path)) for path in paths])


def take(caller: Caller, given: Iterable[Attaching]) -> list[Attached]:
    """What a caller attaches; from elsewhere, only files of the project that anybody may see."""
    found = []
    for one in given:
        if one.path:
            require_may(caller, "name a file", one.path)
            if caller.scope is not None:
                require_plain(project_root(caller.scope.folder) or caller.scope.folder, one.path)
            data = _read(one.path)
        else:
            try:
                data = msgspec.convert(one.base64, bytes) if one.base64 else one.text.encode()
            except (msgspec.ValidationError, Error):
                raise ParseError(f"the attachment {one.name} is no base64") from None
        found.append(_attach(one.name or os.path.basename(one.path), data))
    return _check(found)


def _read(path: str) -> bytes:
    try:
        with open_file(path) as file:
            return file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParseError(f"{path} cannot be attached: {reason.lower()}") from None


def _attach(name: str, data: bytes) -> Attached:
    name = printable(name.strip()).replace("/", "-")
    if not name or len(name) > LONGEST_NAME:
        raise ParseError(f"an attachment needs a name of at most {LONGEST_NAME} characters")
    if len(data) > LARGEST:
        raise Rejected(f"{name} is larger than {tell_size(LARGEST)}; attach less of it")
    return Attached(Attachment(name, document_digest(data), len(data), _shape(name, data)), data)


def _check(found: list[Attached]) -> list[Attached]:
    names = [one.about.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise Rejected(f"two attachments are called {name}; give one of them another name")
    if sum(one.about.size for one in found) > LARGEST_RUN:
        raise Rejected(f"the attachments are larger than {tell_size(LARGEST_RUN)}; attach less")
    return found


def _shape(name: str, data: bytes) -> Shape:
    """What a file can be shown as: its bytes say it, and of text its name."""
    if find_media(data).startswith("image/"):
        return "image"
    if data.startswith(b"%PDF-"):
        return "pdf"
    with suppress(UnicodeDecodeError):
        if "\0" not in data.decode():
            return _ENDINGS.get(os.path.splitext(name)[1].lower(), "text")
    return "file"


def find_media(data: bytes) -> str:
    """The media type that bytes may be served as; never one that a browser runs."""
    for magic, media in _IMAGES.items():
        if data.startswith(magic) and (magic != b"RIFF" or data[8:12] == b"WEBP"):
            return media
    return "application/pdf" if data.startswith(b"%PDF-") else "application/octet-stream"


def list_attachments(arguments: Mapping[str, Any]) -> list[Attachment]:
    """The attachments of a run, as its arguments name them."""
    return msgspec.convert(arguments.get("attached", []), list[Attachment])


def load(store: Store, run: str, digest: str) -> Attached:
    """An attachment of a run with what is in it."""
    known = {one.digest: one for one in list_attachments(arguments_of(store, run))}
    about = known.get(digest)
    data = store.document(digest) if about is not None else None
    if about is None or data is None:
        raise NotFound(f"run {run} has no such attachment")
    return Attached(about, data)


def show_in_text(store: Store, run: str, ask: Ask) -> Ask:
    """An Ask with the texts of its attachments below its preamble, for who has only text."""
    blocks = []
    for about in list_attachments(arguments_of(store, run)):
        data = store.document(about.digest) if about.is_text else None
        lines = data.decode().splitlines() if data else []
        text = "\n".join(lines[:SHOWN_LINES])
        if about.shape != "markdown" and text:
            text = fenced(text, "" if about.shape == "text" else about.shape)
        more = len(lines) - SHOWN_LINES
        text += f"\n\n… {more} more lines; the browser shows them all." if more > 0 else ""
        blocks.append(f"**Attached: {about.name}** ({tell_size(about.size)})\n\n{text}".strip())
    about_it = replace(ask.preamble, blocks=(*ask.preamble.blocks, *blocks))
    return replace(ask, preamble=about_it) if blocks else ask
