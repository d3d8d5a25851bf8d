"""How questions are put into words: headers, summaries, slots, and what has been left unfilled."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quandary.errors import ContextRequired
from quandary.model.text import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quandary.model.asks import Item

LABEL_LENGTH = 20
BLANK = "blank opens more"
"""The hint that Other may be left empty; where nothing is empty, it is left out."""
SUMMARY_LENGTH = 240
_SLOT = re.compile(r"(?<!\$)\{ *([A-Za-z_][A-Za-z0-9_. -]*)\}")
# Neither `list[str]` nor the `[x]` of something done waits to be filled in.
_BRACKETS = re.compile(
    r"(?<![\]\w])\[(?!x\])(?=[^\]\n]*[a-z])[A-Za-z][A-Za-z0-9 _'/-]*\](?![(\[:])"
)
_TODO = re.compile(r"(?<![\w./-])(?:TODO|TBD)(?![\w/-]|\.\w)")
_CODE_OR_URL = re.compile(r"(`+)[^`].*?\1|\w+://\S+|\[[^\]\n]*\]\([^)\n]*\)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])[\"')\]]*(?:\s+|$)")


def header(item: Item, longest: int | None) -> str:
    """`ID. Label`: the label cut at 20 characters, or further where the host's box is narrower."""
    label = _cut(item.label or item.title or item.id, LABEL_LENGTH)
    text = f"{item.id}. {label}"
    if longest is None or len(text) <= longest:
        return text
    room = longest - len(item.id) - 2
    return f"{item.id}. {_cut(label, room)}" if room > 1 else item.id


def _cut(text: str, longest: int) -> str:
    return shorten(" ".join(text.split()), longest)


def fill(template: str, values: Mapping[str, str]) -> str:
    """A question with its `{slots}` filled; a slot without a value stays, to be refused."""
    return _SLOT.sub(lambda found: values.get(found[1].strip(), found[0]), template)


def summary(text: str) -> str:
    """The first one or two sentences of a context, as one line."""
    bare = re.sub(r"(?m)^\s*(?:#{1,6}|>|[-*+])\s+|\*\*|__", "", text)
    line = " ".join(bare.split())
    ends = [found.end() for found in _SENTENCE_END.finditer(line)]
    fitting = [end for end in ends[:2] if end <= SUMMARY_LENGTH]
    return line[: fitting[-1]].strip() if fitting else _cut(line, SUMMARY_LENGTH)


def require_filled(text: str, where: str, title: str = "") -> None:
    """Refuse text that was never filled in: `{topic}`, `[topic]`, TODO, TBD.

    The title of an item is what it is called, whatever it looks like.
    """
    found = _unfilled(text)
    if found and title and _unfilled(title):
        found = _unfilled(text.replace(title, " "))
    if found:
        raise ContextRequired(f"{where} still says {found}; fill it in before asking")


def _unfilled(text: str) -> str:
    """The first part of a text that somebody was to fill in; nothing where there is none."""
    if not any(mark in text for mark in ("{", "[", "TODO", "TBD")):
        return ""  # which is quickly seen, and true of most texts
    bare = _CODE_OR_URL.sub(" ", text)
    found = next(filter(None, (p.search(bare) for p in (_SLOT, _BRACKETS, _TODO))), None)
    return found[0] if found else ""
