"""Hypothesis strategies for files of JSON settings as they occur, in any layout."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

WORDS = (
    "a",
    "b",
    "permissions",
    "//",
    "/* x */",
    '"',
    "\\",
    "}",
    ",",
    "é",
    "日本",
    "\x7f",
    "😀",
    "",
)


@cache
def values() -> SearchStrategy[Any]:
    """Any JSON value."""
    texts = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    scalars = st.none() | st.booleans() | st.integers() | texts
    return st.recursive(
        scalars | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    )


@cache
def hooks() -> SearchStrategy[dict[str, Any]]:
    """Hooks of others, some of them odd."""
    handler = st.fixed_dictionaries({"type": st.just("command"), "command": st.sampled_from(WORDS)})
    group = st.fixed_dictionaries(
        {"hooks": st.lists(handler, max_size=2)}, optional={"matcher": st.sampled_from(WORDS)}
    )
    names = st.sampled_from(["Pre", "Post", "PreToolUse", "PostToolUse", "Stop"])
    return st.dictionaries(names, st.lists(group | values(), max_size=2), max_size=3)


@cache
def settings() -> SearchStrategy[dict[str, Any]]:
    """Settings with or without hooks, and with servers."""
    others = st.dictionaries(
        st.sampled_from([w for w in WORDS if w != "hooks"]), values(), max_size=3
    )
    servers = st.dictionaries(st.sampled_from(["mcp", "x"]), values(), max_size=2)
    extra = st.fixed_dictionaries({}, optional={"hooks": hooks(), "mcpServers": servers})
    return st.builds(lambda one, two: {**one, **two}, others, extra) | st.builds(
        lambda one, two: {**two, **one}, others, extra
    )


@st.composite
def settings_texts(draw: DrawFn) -> str:
    """The text of a file with settings, or of an empty one."""
    kind = draw(st.sampled_from(["dumped", "dumped", "scattered", "empty"]))
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    if kind == "empty":
        text = draw(
            st.sampled_from(["", "\n", "  ", "\n\n", "{}", "{ }", "{\n}", "{}\n", "{\n\n  }"])
        )
    elif kind == "dumped":
        text = json.dumps(
            draw(settings()),
            indent=draw(st.sampled_from([None, 0, 1, 2, 4, "\t"])),
            ensure_ascii=draw(st.booleans()),
            separators=draw(st.sampled_from([None, (",", ":"), (", ", " : ")])),
        ) + draw(st.sampled_from(["", "\n", "\n\n", " "]))
    else:
        text = draw(SPACES) + _scattered(draw, draw(settings())) + draw(SPACES)
    return mark + text.replace("\n", newline)


SPACES = st.sampled_from(
    ["", "", "", " ", "\n", "\n  ", "\t", "\n\n", " // a, }\n", "/* ] */", " /* x\n*/ ", '// "\n']
)
YES_NO = st.booleans()


def _scattered(draw: DrawFn, value: object) -> str:
    """A value with spaces, comments and commas in all places where they may be."""
    if isinstance(value, dict):
        entries = [
            f"{json.dumps(key)}{draw(SPACES)}:{draw(SPACES)}{_scattered(draw, inner)}"
            for key, inner in value.items()
        ]
        return "{" + _listed(draw, entries) + "}"
    if isinstance(value, list):
        return "[" + _listed(draw, [_scattered(draw, inner) for inner in value]) + "]"
    return json.dumps(value)


def _listed(draw: DrawFn, entries: list[str]) -> str:
    inside = ",".join(draw(SPACES) + entry + draw(SPACES) for entry in entries)
    trailing = draw(YES_NO)
    return inside + ("," if entries and trailing else "") + draw(SPACES)
