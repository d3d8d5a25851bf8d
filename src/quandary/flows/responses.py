"""What an agent's text means: the response that was asked for, read out of whatever came.

A response is a JSON object. It may stand alone, in a fence, among prose, inside another object, or
as text within one; of several that fit, the last one counts.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.model.calls import Decision, Process, Validation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quandary.model.calls import Call, Expects, Meaning, Output

DEEPEST_TEXT = 3
"""Objects written as text inside of objects; deeper than this nobody wraps an answer."""
LARGEST = 2**53
GAP = "[… {:,} bytes left out …]"
"""Stands on a line of its own where the middle of an output was not kept."""
_LEFT_OUT = re.compile(r"\n\[… [\d,]+ bytes left out …\]\n")
_BARE = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
_LONE = re.compile("[\ud800-\udfff]")


class Finding(NamedTuple):
    """What a text was found to mean; if nothing, why, in words for the agent."""

    meaning: Meaning | None
    problem: str = ""


def read_output(call: Call, output: Output) -> Finding:
    """What an output means as the response to a call.

    A text is read when it comes, so that a better reader never changes an old answer; only an
    output that nobody has read yet is read here.
    """
    if output.error:
        return Finding(None, output.error)
    if output.meaning is not None or output.problem or call.expects is None:
        return Finding(output.meaning, output.problem)
    return read_response(output.text, call.expects, call.routes)


def read_response(text: str, expects: Expects, routes: Sequence[str] = ()) -> Finding:
    """Read a response out of a text. Nothing but a response is taken for one."""
    wrong, key = "", _REQUIRED[expects]
    for part in reversed(_LEFT_OUT.split(text)):
        for candidate in _candidates(part, key):
            found = _fit(candidate, expects, routes)
            if found.meaning is not None:
                return found
            wrong = wrong or found.problem
    if not text.strip():
        return Finding(None, "Nothing was printed.")
    missing = f"There was no JSON object with the key `{key}` in what was printed."
    return Finding(None, wrong or missing)


def match_route(answer: str, routes: Sequence[str]) -> str | None:
    """The route that an answer names: to the letter, or but for case and outer punctuation.

    Where case or punctuation is all that tells two routes apart, it has to be right.
    """
    if answer in routes:
        return answer
    for fold in (_even, _bare):
        wanted = fold(answer)
        if fitting := [route for route in routes if wanted and fold(route) == wanted]:
            return fitting[0] if len(fitting) == 1 else None
    return None


def _even(text: str) -> str:
    return " ".join(text.split()).casefold()


def _bare(text: str) -> str:
    """From the first letter or digit to the last."""
    found = _BARE.search(text)
    return _even(found[0]) if found else ""


def clean(text: str) -> str:
    """Text that can be written as UTF-8: what is only half a character is replaced."""
    return _LONE.sub("\N{REPLACEMENT CHARACTER}", text)


# -- where a response may stand ------------------------------------------------------------------


def _candidates(text: str, key: str, depth: int = 1) -> Iterator[dict[str, Any]]:
    """Every object that has the key, from the last to the first, outer ones before inner ones."""
    for found in last_objects(text, key):
        waiting: list[Any] = [found]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                if key in value:
                    yield value
                else:
                    waiting.extend(value.values())
            elif isinstance(value, list):
                waiting.extend(value)
            elif isinstance(value, str) and depth < DEEPEST_TEXT and key in value:
                yield from _candidates(value, key, depth + 1)


# -- what it must hold ---------------------------------------------------------------------------

_FIELDS: dict[Expects, dict[str, str]] = {
    "process": {
        "completed": "flag",
        "secs_taken": "number",
        "tokens_used": "whole",
        "comments": "prose",
    },
    "decision": {"answer": "text", "choices": "texts", "reasons": "prose"},
    "validation": {
        "fully_completed": "flag",
        "partially_completed": "flag",
        "should_retry": "flag",
        "warnings": "texts",
    },
}
"""The keys of each response; the first one is required, the others may be missing or null."""
_KINDS = {
    "flag": "true or false",
    "number": "a number of 0 or more",
    "whole": "a whole number of 0 or more",
    "text": "a text",
    "texts": "a list of texts",
    "prose": "a text or a list of texts",
}
_REQUIRED = {expects: next(iter(fields)) for expects, fields in _FIELDS.items()}
TYPES: dict[Expects, type[Meaning]] = {
    "process": Process,
    "decision": Decision,
    "validation": Validation,
}


def _fit(found: dict[str, Any], expects: Expects, routes: Sequence[str]) -> Finding:
    """An object as a response, or every key of it that has the wrong kind of value."""
    values: dict[str, Any] = {}
    wrong = []
    for key, kind in _FIELDS[expects].items():
        value = found.get(key)
        if value is None and key != _REQUIRED[expects]:
            continue
        values[key] = _read(value, kind)
        if values[key] is None:
            wrong.append(f"`{key}` must be {_KINDS[kind]}, but is {_shown(value)}.")
    if wrong:
        return Finding(None, " ".join(wrong))
    if expects == "decision" and routes:
        answer = values["answer"]
        values["route"] = match_route(answer, routes)
        if values["route"] is None:
            offered = ", ".join(f"“{route}”" for route in routes)
            return Finding(None, f"`answer` must be one of {offered}, but is {_shown(answer)}.")
    return Finding(TYPES[expects](**values))


def _read(value: object, kind: str) -> Any:  # noqa: ANN401 - what the kind says
    """A value of that kind; nothing where it is of another.

    A text alone is a list of one, and of a list of texts as prose each is a line.
    """
    if kind == "flag":
        return value if isinstance(value, bool) else None
    if kind in ("number", "whole"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        fitting = 0 <= value <= LARGEST and (kind == "number" or value == math.floor(value))
        return (float(value) if kind == "number" else int(value)) if fitting else None
    several = value if isinstance(value, list) and kind != "text" else [value]
    if not all(isinstance(one, str) for one in several):
        return None
    texts = tuple(map(clean, several))
    if kind == "texts":
        return () if isinstance(value, str) and not value.strip() else texts
    return "\n".join(texts)


def _shown(value: object) -> str:
    """A value in a sentence, named by its kind where it is long."""
    if isinstance(value, str):
        return f"the text “{clean(value if len(value) <= 60 else value[:59] + '…')}”"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    small = isinstance(value, float) or (isinstance(value, int) and abs(value) <= LARGEST)
    return f"the number {value}" if small else "a number that is too large"


# -- objects in text of any kind ------------------------------------------------------------------

_GAP = r"[ \t\r\n]*+"
_STRING = r'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\]*+)*+"'
_WORD = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|true|false|null|NaN|-?Infinity"
_SIMPLE = rf"(?:{_STRING}|{_WORD})"
_KEY = re.compile(
    rf"(?:{_GAP}{_STRING}{_GAP}:{_GAP}{_SIMPLE}{_GAP},)*+{_GAP}(?:{_STRING}{_GAP}:|(\}}))"
)
"""In an object: simple members, all at once; then a key, or the end, also behind a comma."""
_VALUE = re.compile(rf"{_GAP}(?:{_SIMPLE}|([{{\[]))")
"""Behind a key: a simple value, or the beginning of something nested."""
_ELEMENT = re.compile(rf"(?:{_GAP}{_SIMPLE}{_GAP},)*+{_GAP}(?:{_SIMPLE}|([{{\[])|(\]))")
"""In an array: simple values, all at once; then one more, a beginning, or the end."""
_OPENING = re.compile(rf"\{{(?={_GAP}\")")
_NEXT = re.compile(rf"{_GAP}([,}}\]])")
_EXTRA_COMMA = re.compile(rf"({_STRING})|,(?={_GAP}[}}\]])")
_BROKEN = -1
MOST_OBJECTS = 1000
"""Objects that are looked into; what stands before that many others is no answer."""


def last_objects(text: str, word: str) -> Iterator[dict[str, Any]]:
    """The objects in a text from the last to the first, nested ones aside, if `word` is in them.

    The obvious way, to try each `{` in turn, takes for ever on `{"a":{"a":{"a":…`. Here every `{`
    is followed once. An object that turns out broken takes all those that are still open around it
    along, since they break at the same place; those that were closed inside it stand. What remains
    to be tried are braces inside of what was taken for a string. Such a second reading holds for a
    string what the first does not and the other way round, so that no place is looked at by more
    than two, and the time grows with the length of the text and no faster.
    """
    if word not in text:
        return
    starts, ends = _spans(text)
    fitting = (start for start in reversed(starts) if text.find(word, start, ends[start]) >= 0)
    for start in islice(fitting, MOST_OBJECTS):
        value = _decoded(text[start : ends[start]])
        if value is not None:
            yield value


def _spans(text: str) -> tuple[array[int], array[int]]:
    """Where the outermost objects begin, empty ones aside, and for every `{` where it ends."""
    starts, ends = array("i"), array("i")
    found = _OPENING.search(text)
    if found:
        ends = array("i", bytes(ends.itemsize * len(text)))
    while found:
        start = found.start()
        end = ends[start] or _follow(text, start, ends)
        if end > 0:
            starts.append(start)
        found = _OPENING.search(text, max(end, start + 1))
    return starts, ends


def _follow(text: str, start: int, ends: array[int]) -> int:
    """The end of the object that begins here, or `_BROKEN`; noted for it and all that is in it."""
    opened = [start]
    """Where the objects and, as negative numbers, the arrays begin that are still open."""
    position, awaited = start + 1, _KEY
    while opened:
        found = awaited.match(text, position)
        if found is None:
            break
        position, kind = found.end(), found.lastindex
        if awaited is _KEY and kind is None:
            awaited = _VALUE
            continue
        if awaited is not _KEY and kind == 1:
            begun = position - 1
            known = ends[begun]
            if known == _BROKEN:
                break
            if not known:
                awaited = _KEY if text[begun] == "{" else _ELEMENT
                opened.append(begun if awaited is _KEY else -begun)
                continue
            position = known
        elif kind is not None:
            _close(opened, position, ends)
        position, well = _pass_ends(text, position, opened, ends)
        if not well:
            break
        awaited = _KEY if opened and opened[-1] >= 0 else _ELEMENT
    for begun in opened:
        if begun >= 0:
            ends[begun] = _BROKEN
    return ends[start]


def _pass_ends(text: str, position: int, opened: list[int], ends: array[int]) -> tuple[int, bool]:
    """Behind a value: close what is closed here, up to a comma; and whether that went well."""
    while opened:
        found = _NEXT.match(text, position)
        if found is None:
            return position, False
        position = found.end()
        if found[1] == ",":
            return position, True
        if (found[1] == "}") is not (opened[-1] >= 0):
            return position, False
        _close(opened, position, ends)
    return position, True


def _close(opened: list[int], position: int, ends: array[int]) -> None:
    begun = opened.pop()
    if begun >= 0:
        ends[begun] = position


def _decoded(text: str, *, bare: bool = False) -> dict[str, Any] | None:
    """An object as Python has it; raw line breaks in strings and commas at ends are forgiven."""
    try:
        value: dict[str, Any] = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None if bare else _decoded(_EXTRA_COMMA.sub(r"\1", text), bare=True)
    return value
