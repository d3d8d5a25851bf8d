"""Texts that others wrote, as HTML that is safe to show: Markdown, diffs, tables, JSON, code.

Raw HTML stays text. Only links to the web are links, and they say where they lead. Images are shown
where they are attached. What has no form, or too much of it, is shown as it is.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import nh3
from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from quandary.desk.attachments import list_attachments
from quandary.desk.reply import arguments_of
from quandary.errors import QuandaryError
from quandary.model.asks import Attachment, tell_size
from quandary.model.text import count, reveal

if TYPE_CHECKING:
    from quandary.doors.web.access import Fields
    from quandary.journal.store import Store

    Pictures = Mapping[str, str]
    """The addresses of attached images, by their names."""

LONGEST = 20_000  # characters of Markdown that are laid out; what is behind them is shown as it is
HEAVIEST = 58_000  # what is written to keep the layout busy is shown as it is
LONGEST_CODE = 10_000  # characters of code that are coloured
MOST_ROWS = 1_000  # rows of a table, a diff or a text that are shown
FOLDED = 200  # a file of a diff with more rows than this is folded
MOST_PARTS = 500  # objects and lists of a JSON document that can be folded one by one
_TAGS = nh3.ALLOWED_TAGS - {"map", "area"}
_ATTRIBUTES = {
    "*": {"class", "dir", "data-line"},
    "a": {"href"},
    "img": {"src", "alt"},
    "ol": {"start"},
    "details": {"open"},
    "pre": {"tabindex"},
    "td": {"colspan", "data-n"},
}
_WEIGHTS = {"[": 8, "*": 3, "_": 3, "~": 3, "|": 3, "://": 20}
"""What takes the layout as long as so many letters."""


@lru_cache(maxsize=64)
def _render(text: str, pictures: tuple[tuple[str, str], ...], *, inline: bool) -> str:
    laid = _layout()
    tokens = laid.parseInline(text) if inline else laid.parse(text)
    _dress(tokens, dict(pictures))
    return nh3.clean(
        laid.renderer.render(tokens, laid.options, {}),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def render(text: str, pictures: Pictures | None = None) -> Markup:
    """Markdown as blocks of HTML. The end of a long one is shown as it is, in a fold."""
    text = reveal(text).expandtabs(4).strip("\n")
    head, rest = _cut(text)
    if not _is_light(head):
        return Markup("<pre tabindex=0 dir=auto>%s</pre>") % text
    shown = Markup(_render(head, tuple((pictures or {}).items()), inline=False))  # noqa: S704 - cleaned
    if rest:
        shown += Markup(
            "<details><summary>The rest, as it was written (%s)</summary>"
            "<pre tabindex=0 dir=auto>%s</pre></details>"
        ) % (count(len(rest), "character"), rest)
    return shown


def render_line(text: str) -> Markup:
    """Markdown within a line: emphasis, code and links."""
    text = " ".join(reveal(text).split())
    if len(text) > LONGEST or not _is_light(text):
        return escape(text)
    return Markup(_render(text, (), inline=True))  # noqa: S704 - cleaned


def _cut(text: str) -> tuple[str, str]:
    """What is laid out, up to the end of a paragraph or a line, and the rest."""
    if len(text) <= LONGEST:
        return text, ""
    ends = (text.rfind("\n\n", 0, LONGEST), text.rfind("\n", 0, LONGEST), LONGEST)
    end = next(end for end in ends if end > LONGEST // 2)
    return text[:end], text[end:].lstrip("\n")


def _is_light(text: str) -> bool:
    marks = sum(weight * text.count(mark) for mark, weight in _WEIGHTS.items())
    return len(text) + marks <= HEAVIEST


@cache
def _layout() -> MarkdownIt:
    laid = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 20})
    laid.options["linkify"] = True
    laid.enable(["table", "strikethrough", "linkify"])
    laid.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})  # type: ignore[union-attr]  # it is there
    laid.validateLink = bool  # type: ignore[method-assign, assignment]  # `find_host` says which are links
    return laid


def _dress(tokens: list[Token], pictures: Pictures) -> None:
    """Have blocks know their lines; code, links and images become what a page can show."""
    level, room = 1, LONGEST_CODE
    for token in tokens:
        if token.type == "heading_open":
            level = min(int(token.tag[1]) + 1, level + 1, 6)
        if token.type.startswith("heading"):
            token.tag = f"h{level}"
        if token.nesting == 1 and token.map and token.tag in ("p", "li", "tr", f"h{level}"):
            token.attrs |= {"data-line": str(token.map[0] + 1), "dir": "auto"}
        if style := token.attrs.pop("style", ""):  # the page allows none
            token.attrs["class"] = str(style).rpartition(":")[2]
        if token.type in ("fence", "code_block"):
            short = len(token.content) <= room
            room -= len(token.content) if short else 0
            token.type, token.content = "html_block", _show_code(token, colours=short)
        if token.children:
            token.children = list(_dress_inline(token.children, pictures))


def _dress_inline(tokens: list[Token], pictures: Pictures) -> Iterator[Token]:
    """Only links to the web are links, and behind each stands where it leads."""
    address, text = "", ""
    for token in tokens:
        text += token.content
        if token.type == "link_open":
            address, text = str(token.attrs.pop("href", "")), ""
            token.tag = "a" if find_host(address) else "span"
            token.attrs = {"href": address} if token.tag == "a" else {}
        elif token.type == "image":
            token.type, token.content = "html_inline", _show_image(token, pictures)
        elif token.type == "link_close":
            token.tag = "a" if find_host(address) else "span"
        yield token
        if token.type == "link_close" and text not in (address, address.removeprefix("mailto:")):
            where = Markup(" <small>(%s)</small>") % (find_host(address) or address)
            yield Token("html_inline", "", 0, content=where)


def find_host(address: str) -> str:
    """Where a link leads; nothing for what is no link to the web."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    if parts.scheme == "mailto":
        return parts.path
    return parts.hostname or "" if parts.scheme in ("http", "https") else ""


def _show_image(token: Token, pictures: Pictures) -> Markup:
    """An attached image; of any other, its words and where it would come from."""
    source, said = str(token.attrs.get("src", "")), token.content
    if address := pictures.get(source.removeprefix("./")):
        return Markup('<img src="%s" alt="%s">') % (address, said)
    return Markup("<span>%s</span> <small>(image, not attached: %s)</small>") % (said, source)


def _show_code(token: Token, *, colours: bool) -> Markup:
    language = (token.info.split() or [""])[0].lower()
    if language in ("diff", "patch"):
        return render_diff(token.content)
    if language == "json" and token.content.count("\n") > 20:
        return render_json(token.content)
    code = highlight(token.content, language) if colours else escape(token.content)
    line = token.map[0] + (2 if token.markup else 1) if token.map else 0  # behind its fence
    return Markup('<pre tabindex="0" data-line="%s"><code>%s</code></pre>\n') % (line, code)


def highlight(code: str, language: str) -> Markup:
    """Code in the colours of its language, where that is known."""
    from pygments import highlight as paint  # noqa: PLC0415 - few texts have code
    from pygments.formatters import HtmlFormatter  # noqa: PLC0415 - the same
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415 - the same
    from pygments.util import ClassNotFound  # noqa: PLC0415 - the same

    try:
        lexer = get_lexer_by_name(language, stripnl=False) if language else None
    except ClassNotFound:
        lexer = None
    if lexer is None:
        return escape(code)
    painted = paint(code, lexer, HtmlFormatter(nowrap=True, classprefix="hl-"))
    return Markup(painted.rstrip("\n"))  # noqa: S704 - Pygments escapes the code


_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Row(NamedTuple):
    """A row of a diff: what happened, and a line with its number on each side."""

    kind: str
    old: int = 0
    was: str = ""
    new: int = 0
    now: str = ""


class Changed(NamedTuple):
    """A file in a diff."""

    name: str
    rows: list[Row]

    def count(self, *kinds: str) -> int:
        """How many rows are of these kinds."""
        return sum(row.kind in kinds for row in self.rows)


def read_diff(text: str) -> list[Changed]:
    """The files of a unified diff, whatever stands before them."""
    files: list[Changed] = []
    at, left = [0, 0], [0, 0]
    lone = 0
    for line in text.splitlines():
        if left[0] > 0 or left[1] > 0:
            sides = {"-": (0,), "+": (1,), "\\": ()}.get(line[:1], (0, 1))
            lone = _enter(files[-1].rows, sides, at, line[1:], lone)
            for side in sides:
                at[side], left[side] = at[side] + 1, left[side] - 1
        elif (found := _HUNK.match(line)) and files:
            at, left = [int(found[1]), int(found[3])], [int(found[2] or 1), int(found[4] or 1)]
            files[-1].rows.append(Row("hunk", was=line))
            lone = len(files[-1].rows)
        elif line.startswith("--- "):
            files.append(Changed(_path(line), []))
        elif line.startswith("+++ ") and files and _path(line) != "/dev/null":
            files[-1] = Changed(_path(line), [])
    return [file for file in files if file.rows]


def _enter(rows: list[Row], sides: tuple[int, ...], at: list[int], said: str, lone: int) -> int:
    """Add a line. One that came stands beside the first `lone` one that went; where that is now."""
    if sides == (1,) and lone < len(rows):
        rows[lone] = rows[lone]._replace(kind="changed", new=at[1], now=said)
        return lone + 1
    if sides == (0,):
        rows.append(Row("gone", at[0], said))
        return lone
    if sides:
        both = len(sides) == 2
        old = (at[0], said) if both else (0, "")
        rows.append(Row("same" if both else "added", *old, at[1], said))
    return len(rows)


def _path(line: str) -> str:
    path = line[4:].partition("\t")[0].strip()
    return path[2:] if path[:2] in ("a/", "b/") else path


def render_diff(text: str) -> Markup:
    """A diff file by file, side by side where there is room; a text that is none as it is."""
    files = read_diff(text)
    return _lay("diff", files, FOLDED, MOST_ROWS) if files else render_lines(text)


def compare(before: str, after: str, name: str) -> Markup:
    """What changed from one text to another, as a diff; nothing where nothing did."""
    from difflib import unified_diff  # noqa: PLC0415 - few texts come again

    lines = before.splitlines(), after.splitlines()
    changes = "\n".join(unified_diff(*lines, f"a/{name}", f"b/{name}", lineterm=""))
    return render_diff(changes) if changes else Markup("")


def render_any(text: str) -> Markup:
    """A text that does not say what it is: JSON, a diff, or else Markdown."""
    said = text.strip()
    if said[:1] in ("{", "[") and said[-1:] in ("}", "]"):
        with suppress(msgspec.DecodeError, RecursionError):
            msgspec.json.decode(said)
            return render_json(said)
    if said.startswith(("diff ", "--- ")) and read_diff(said):
        return render_diff(said)
    return render(text)


def visible(value: object) -> object:
    """Signs that hide, or that turn the text around them, are shown as what they are."""
    return reveal(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _macros() -> Any:  # noqa: ANN401 - a template's macros
    folder = os.path.join(os.path.dirname(__file__), "templates")
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, finalize=visible, trim_blocks=True
    )
    environment.filters["dump"] = lambda value: msgspec.json.encode(value).decode()
    return environment.get_template("layouts.html").module


def _lay(layout: str, *given: object) -> Markup:
    return Markup(getattr(_macros(), layout)(*given))  # noqa: S704 - the template escapes


def render_table(text: str) -> Markup:
    """A CSV file as a table, its first row as the heads."""
    try:
        return _lay("table", list(islice(csv.reader(io.StringIO(text)), MOST_ROWS)))
    except csv.Error:
        return render_lines(text)


def render_json(text: str) -> Markup:
    """JSON whose objects and lists can be folded; what is inside others begins folded."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return render_lines(text)
    shallow = text.count("{") + text.count("[") <= MOST_PARTS
    return _lay("json", value) if shallow else render_lines(text)


def render_lines(text: str, name: str = "") -> Markup:
    """A text line by line, with its numbers; code in the colours of its language."""
    lines = reveal(text).splitlines()
    code = "\n".join(lines[:MOST_ROWS])
    language = name.rpartition(".")[2] if "." in name else ""
    painted = highlight(code, language) if len(code) <= LONGEST_CODE else escape(code)
    shown = [Markup(line) for line in str(painted).split("\n")]  # noqa: S704 - escaped above
    return _lay("lines", shown, max(len(lines) - MOST_ROWS, 0))


LARGEST_SHOWN = 200_000  # characters of an attachment that are looked at to show it in place


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
            "is_numbered": one.shape in ("markdown", "csv"),
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
        return render(head, pictures)
    shape = "text" if cut and one.shape == "json" else one.shape
    renders = {"diff": render_diff, "csv": render_table, "json": render_json}
    shown = renders[shape](head) if shape in renders else render_lines(head, one.name)
    more = Markup("<p>This is its beginning; the whole file is behind its name.</p>")
    return shown + more if cut else shown


def _compare(store: Store, one: Attachment, before: str) -> Markup:
    """What changed in a text since it was shown in the run before."""
    old, new = (store.document(digest) for digest in (before, one.digest))
    if before == one.digest or not one.is_text or old is None or new is None:
        return Markup("")
    was, now = (reveal(data.decode(errors="replace"))[:LARGEST_SHOWN] for data in (old, new))
    return compare(was, now, one.name)
