"""JSON that others wrote: what cannot be read is refused with its place, and nothing is guessed."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from quandary.errors import ParseError, QuandaryError
from quandary.people.hosts import shortened

_LONE_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def decoded(data: bytes | str) -> str:
    """The text of a reply."""
    try:
        if isinstance(data, bytes):
            return data.decode("utf-8-sig")
        data.encode()
    except UnicodeError:
        raise ParseError("the reply is not UTF-8 text") from None
    return data


def loaded(text: str) -> Any:  # noqa: ANN401 - any JSON
    """The JSON document that a text is; nothing in it is said twice."""
    import json  # noqa: PLC0415 - not every reply is JSON

    try:
        value = json.loads(text, object_pairs_hook=_object)
        if _LONE_HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as problem:
        raise ParseError(
            f"the reply is no JSON at line {problem.lineno}, column {problem.colno} "
            f"({problem.msg}); "
            'words that begin with a bracket can be sent as {"response": "…"}'
        ) from None
    except ValueError as problem:
        reason = "half a character" if isinstance(problem, UnicodeError) else "too long a number"
        raise ParseError(f"the reply holds {reason}") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise QuandaryError(f"the reply has “{shortened(twice)}” twice; send one of them")
    return found


def unquoted(text: str) -> str | None:
    """The text that a JSON string holds, if the reply is one."""
    if text[0] != '"':
        return None
    import json  # noqa: PLC0415 - the same

    try:
        found = json.loads(text)
        found.encode()
    except ValueError:
        return None
    return str(found)


def text_of(value: Any, name: str) -> str | None:  # noqa: ANN401 - any JSON
    """A text, or nothing."""
    if value is None or isinstance(value, str):
        return value
    raise ParseError(f"{name} is {kind_of(value)}; it is text")


def kind_of(value: object) -> str:
    """What a JSON value is, for telling the sender."""
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value"}
    return "nothing" if value is None else names.get(type(value), "a number")
