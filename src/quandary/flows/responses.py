"""What an agent's text means: the response that was asked for, read out of whatever came.

A response is a whole JSON object. It may stand alone, in a fence or among prose, never inside of
something else: an object, a list, a string, a quotation. Several count if they agree.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from string import punctuation, whitespace
from typing import Any, NamedTuple

from quandary.model.calls import Call, Decision, Expects, Meaning, Output, Process, Validation
from quandary.model.chart import folded
from quandary.model.text import as_text, shorten

NONCE = "nonce"  # the key under which a response repeats what tells its call from every other one
DEEPEST_TEXT = 3  # objects as text inside of objects; nobody wraps an answer deeper
LARGEST = 2**53
GAP = "[… {:,} bytes left out …]"  # on a line of its own, for the middle of an output
_LEFT_OUT = re.compile(r"\n\[… [\d,]+ bytes left out …\]\n")
_SIGN = "[<>=≤≥≠±+−]"  # what makes another amount of a number, or another name of a letter
_EDGE = rf"(?:[^\W_]|{_SIGN}|!(?==)|-(?=\d))"
_BARE = re.compile(rf"{_EDGE}(?:.*{_EDGE})?", re.DOTALL)
_MARKED = re.compile(r"(?:=*>*|[<+])([^\W\d_][^\d<>=+]+)[<>=+]?")  # words: a sign there quotes
_FENCE = re.compile(r"(?m)^ {0,3}(?:`{3,}|~{3,})\w*[ \t]*$")
_WRITTEN = re.compile(r"[^0-9.-]*([0-9][0-9,]{0,20}(?:\.[0-9]{1,9})?) ?([kKmM]?)s?\b")
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
_LONE = re.compile("[\ud800-\udfff]")


class Finding(NamedTuple):
    """What a text was found to mean; if nothing, why, in words for the agent."""

    meaning: Meaning | None
    problem: str = ""


def read_output(call: Call, output: Output) -> Finding:
    """What an output means as the response to a call. A text is read when it comes, so that a
    better reader never changes an old answer; only an output that nobody has read yet is read here.
    """
    if output.error:
        return Finding(None, output.error)
    if output.meaning is not None or output.problem or call.expects is None:
        return Finding(output.meaning, output.problem)
    return read_response(output.text, call.expects, call.routes)


def read_response(
    text: str, expects: Expects, routes: Sequence[str] = (), prompt: str = ""
) -> Finding:
    """Read a response out of a text: one object, or several that agree. Among other words, a
    verdict or choice that was in the prompt already, and has no nonce, is quoted from there.
    """
    key, found = _REQUIRED[expects], responses_in(text, expects)
    if any(isinstance(one, Unclear) for one in found):
        return Finding(None, f"An object with `{key}` has a key twice, or is nested too deeply.")
    heard = [(one, _fit(one, expects, routes)) for one in found]
    if len({_deciding(fit.meaning) for _, fit in heard if fit.meaning}) > 1:
        return Finding(None, f"There were several objects with `{key}` that disagree; print one.")
    own = [fit for _, fit in heard]
    if heard and prompt and expects != "process" and not _is_alone(text):
        planted = (_fit(one, expects, routes).meaning for one in _anywhere(prompt, key))
        quoted = {_deciding(meaning) for meaning in planted if meaning}  # in full or in part
        own = [
            fit
            for one, fit in heard
            if NONCE in one or fit.meaning is None or _deciding(fit.meaning) not in quoted
        ]
    if counted := [fit for fit in own if fit.meaning is not None] or own:
        meaning, problem = counted[-1]
        return Finding(None if problem else meaning, problem)
    if heard:
        return Finding(None, f"The object with `{key}` only repeats one that was in the prompt.")
    missing = f"There was no JSON object with `{key}` on a line of its own in what was printed."
    return Finding(None, missing if text.strip() else "Nothing was printed.")


def responses_in(text: str, expects: Expects) -> list[dict[str, Any]]:
    """The objects in a text that have the key of a response, and stand in nothing else."""
    key = _REQUIRED[expects]
    return [one for one in objects(text, key) if key in one or isinstance(one, Unclear)]


def _is_alone(text: str) -> bool:
    """Whether there is nothing but one object, perhaps in a fence."""
    bare = _FENCE.sub("", text).strip()
    return (0, len(bare)) in _spans(bare, _OPENING, lambda _: len(bare))


def _deciding(meaning: Meaning) -> object:
    """What several responses have to agree on; all else in them is information."""
    if isinstance(meaning, Decision):
        return meaning.route or meaning.answer
    return meaning.completed if isinstance(meaning, Process) else meaning.fully_completed


def match_route(answer: str, routes: Sequence[str]) -> str | None:
    """The route that an answer names; case and outer punctuation count only between two routes."""
    if answer in routes:
        return answer
    for fold in (folded, _bare):
        wanted = fold(answer)
        if fitting := [route for route in routes if wanted and fold(route) == wanted]:
            return fitting[0] if len(fitting) == 1 else None
    words = _MARKED.fullmatch(_bare(answer))
    if words is None or words[1] == answer or any(re.search(_SIGN, route) for route in routes):
        return None
    return match_route(words[1], routes)


def _bare(text: str) -> str:
    """From the first letter, digit or sign to the last; without any, what is no punctuation."""
    bare = folded(s[0] if (s := _BARE.search(text)) else text.strip(punctuation + whitespace))
    return re.sub(rf" ?({_SIGN}) ?", r"\1", bare)


def clean(text: str) -> str:
    """Text that can be written as UTF-8: what is only half a character is replaced."""
    return _LONE.sub("\N{REPLACEMENT CHARACTER}", text)


_WORK = {"completed": "flag", "secs_taken": "number", "tokens_used": "whole", "comments": "prose"}
_FLAGS = dict.fromkeys(("fully_completed", "partially_completed", "should_retry"), "flag")
_FIELDS: dict[Expects, dict[str, str]] = {
    "process": _WORK,
    "decision": {"answer": "text", "choices": "texts", "reasons": "prose"},
    "validation": {**_FLAGS, "warnings": "texts"},
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
_DECIDING = {*_REQUIRED.values(), "should_retry", NONCE}
TYPES: dict[Expects, type[Meaning]]
TYPES = {"process": Process, "decision": Decision, "validation": Validation}


def _fit(found: dict[str, Any], expects: Expects, routes: Sequence[str]) -> Finding:
    """An object as a response: its first key decides, the others are read as far as they can be."""
    required, values = _REQUIRED[expects], {}
    for key, kind in _FIELDS[expects].items():
        if (value := _read(found.get(key), kind)) is not None:
            values[key] = value
    if required not in values:
        kind = _KINDS[_FIELDS[expects][required]]
        return Finding(None, f"`{required}` must be {kind}, but is {_shown(found[required])}.")
    if expects == "decision" and routes:
        answer = values["answer"]
        if (route := match_route(answer, routes)) is None:
            offered = ", ".join(f"“{route}”" for route in routes)
            problem = f"`answer` must be one of {offered}, but is {_shown(answer)}."
            return Finding(Decision(answer), problem)
        values["route"] = route
    return Finding(TYPES[expects](**values))


def _read(value: object, kind: str) -> Any:  # noqa: ANN401 - what the kind says
    """A value of that kind; nothing where it cannot be read as one. A text alone is a list of one,
    and of a list of texts as prose each is a line. In either, whatever is no text stands as JSON.
    """
    if kind == "flag":
        return value if isinstance(value, bool) else None
    if kind in ("number", "whole"):
        number = _number(value, kind)
        return number if number is None or kind == "number" else int(number)
    if kind == "text":
        return clean(as_text(value)) if isinstance(value, str | int | float) else None
    several = value if isinstance(value, list) else [value]
    texts = tuple(clean(one if isinstance(one, str) else json.dumps(one)) for one in several)
    if value is None or texts == ("",):
        return None
    return texts if kind == "texts" else "\n".join(texts)


def _number(value: object, kind: str) -> float | None:
    """A number of 0 or more, also as people write one: `~1.2k` tokens, `1,500`, `12 s`."""
    if isinstance(value, str) and (found := _WRITTEN.match(value)):
        times = _TIMES[found[2].casefold()]
        minutes = kind == "number" and times > 1
        value = None if minutes else float(found[1].replace(",", "")) * times
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LARGEST else None


def _shown(value: object) -> str:
    """A value in a sentence, named by its kind where it is long."""
    if isinstance(value, str):
        return f"the text “{clean(shorten(value))}”"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    small = isinstance(value, float) or (isinstance(value, int) and abs(value) <= LARGEST)
    return f"the number {value}" if small else "a number that is too large"


_GAP = r"[ \t\r\n]*+"
_STRING = r'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\]*+)*+"'
_WORD = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|true|false|null|NaN|-?Infinity"
_SIMPLE = rf"(?:{_STRING}|{_WORD})"
_KEY = re.compile(
    rf"(?:{_GAP}{_STRING}{_GAP}:{_GAP}{_SIMPLE}{_GAP},)*+{_GAP}(?:{_STRING}{_GAP}:|(\}}))"
)
"""In an object: simple members, all at once; then a key, or the end, also behind a comma."""
_VALUE = re.compile(rf"{_GAP}(?:{_SIMPLE}|([{{\[]))")  # behind a key, simple or nested
_ELEMENT = re.compile(rf"(?:{_GAP}{_SIMPLE}{_GAP},)*+{_GAP}(?:{_SIMPLE}|([{{\[])|(\]))")
"""In an array: simple values, all at once; then one more, a beginning, or the end."""
_OBJECT = re.compile(rf"\{{(?={_GAP}\")")
_OPENING = re.compile(r"\{|(?<!\x1b)\[")  # a bracket, but for one that sets a colour
_LIKE_JSON = re.compile(rf"\{{{_GAP}[\"']|\[{_GAP}[\"'\[{{]")
_NEXT = re.compile(rf"{_GAP}([,}}\]])")
_EXTRA_COMMA = re.compile(rf"({_STRING})|,(?={_GAP}[}}\]])")
_BRACKET = re.compile(r"[]{}]|(?<!\x1b)\[")
_QUOTES = {('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("„", "“"), ("«", "»")}
_SAID, _GOES_ON = re.compile(r"\w,?[ \t]*$"), re.compile(r",?[ \t]*\w")
_BROKEN = -1


class Unclear(dict[str, Any]):
    """An object that has a key twice which decides, or is nested too deeply to be decoded."""


def objects(text: str, word: str = "") -> Iterator[dict[str, Any]]:
    """The objects in a text that stand in nothing else, if `word` may be in them, in their order.
    What is in an object, a list or a quotation is theirs, also where these are broken. If something
    was left out before, whatever a bracket without a partner closes was opened there.
    """
    for number, part in enumerate(_LEFT_OUT.split(text)):
        brackets = _Brackets(part)
        closed = brackets.found[1] if number else 0
        outermost = set(_spans(part, _OPENING, lambda broken: broken + 1))
        line = previous = 0
        for start, end in _spans(part, _OPENING, brackets.behind):
            line = part.rfind("\n", previous, start) + 1 or line
            previous = start
            if part[start] != "{" or start < closed or (start, end) not in outermost:
                continue
            fits = part.find(word, start, end) >= 0 or part.find("\\u", start, end) >= 0
            around = (part[start - 1 : start], part[end : end + 1])
            quoted = around in _QUOTES or part[line:start].lstrip().startswith(">")
            before, after = part[max(line, start - 80) : start], part[end : end + 80].split("\n")[0]
            if around == ("`", "`"):  # code in a sentence quotes; alone on its line it does not
                quoted = (before + after).strip("` \t\r") != ""
            elif _SAID.search(before) and _GOES_ON.match(after) and "\n" not in part[start:end]:
                quoted = True  # in the middle of a sentence
            if fits and not quoted:
                yield _decode(part[start:end])


def _anywhere(text: str, key: str, depth: int = 1) -> Iterator[dict[str, Any]]:
    """Every object that has the key, wherever it is: in other objects, broken ones, and texts."""
    for start, end in _spans(text, _OBJECT, lambda broken: broken + 1):
        waiting: list[Any] = [_decode(text[start:end])]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                if key in value:
                    yield value
                waiting.extend(value.values())
            elif isinstance(value, list):
                waiting.extend(value)
            elif isinstance(value, str) and depth < DEEPEST_TEXT and key in value:
                yield from _anywhere(value, key, depth + 1)


class _Brackets:
    """Which bracket closes which, whatever stands between them."""

    def __init__(self, text: str) -> None:
        self._text = text

    def behind(self, broken: int) -> int:
        """Where to look on behind something that begins here and is no JSON. Behind its end; if it
        was meant to be JSON, from the next line, since its strings may be broken too. Where it has
        none: at a line that begins with an object, or, in prose, at once.
        """
        end, like_json = self.found[0].get(broken), _LIKE_JSON.match(self._text, broken)
        if not like_json:
            return (broken if end is None else end) + 1
        found = self._text.find("\n{", broken) if end is None else self._text.find("\n", end)
        return len(self._text) if found < 0 else found + 1

    @cached_property
    def found(self) -> tuple[dict[int, int], int]:
        """Where each that is closed is closed, and where the last one is that closes none."""
        partners, stray = dict[int, int](), 0
        opened: dict[str, list[int]] = {"}": [], "]": []}
        for bracket in _BRACKET.finditer(self._text):
            at, sign = bracket.start(), bracket[0]
            if sign in "{[":
                opened["}" if sign == "{" else "]"].append(at)
            elif opened[sign]:
                partners[opened[sign].pop()] = at
            else:
                stray = at
        return partners, stray


def _spans(
    text: str, opening: re.Pattern[str], behind: Callable[[int], int]
) -> Iterator[tuple[int, int]]:
    """Where the outermost things begin and end; behind a broken one, from where `behind` says. The
    obvious way, to try each bracket in turn, takes for ever on `{"a":{"a":{"a":…`. Here every one
    is followed once. One that turns out broken takes all those that are still open around it along,
    since they break at the same place; of those that were closed inside it the end is known. What
    remains to be tried are brackets inside of what was taken for a string. Such a second reading
    holds for a string what the first does not and the other way round, so that no place is looked
    at by more than two, and the time grows with the length of the text and no faster.
    """
    found = opening.search(text)
    ends = array("i")
    if found:
        ends = array("i", bytes(ends.itemsize * len(text)))
    while found:
        start = found.start()
        end = ends[start] or _follow(text, start, ends)
        if end > 0:
            yield start, end
        found = opening.search(text, end if end > 0 else behind(start))


def _follow(text: str, start: int, ends: array[int]) -> int:
    """The end of what begins here, or `_BROKEN`; noted for it and all that is in it."""
    opened = [start if text[start] == "{" else ~start]  # what is open; arrays are below zero
    position, awaited = start + 1, _KEY if text[start] == "{" else _ELEMENT
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
                opened.append(begun if awaited is _KEY else ~begun)
                continue
            position = known
        elif kind is not None:
            _close(opened, position, ends)
        position, well = _pass_ends(text, position, opened, ends)
        if not well:
            break
        awaited = _KEY if opened and opened[-1] >= 0 else _ELEMENT
    for begun in opened:
        ends[max(begun, ~begun)] = _BROKEN
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
    ends[max(begun, ~begun)] = position


def _decode(text: str, *, bare: bool = False) -> dict[str, Any]:
    """An object as Python has it; raw line breaks in strings and commas at ends are forgiven."""
    try:
        found: dict[str, Any] = json.loads(text, strict=False, object_pairs_hook=_pair)
    except (ValueError, RecursionError):
        return Unclear() if bare else _decode(_EXTRA_COMMA.sub(r"\1", text), bare=True)
    return found


def _pair(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    deciding = [key for key, _ in pairs if key in _DECIDING]
    return Unclear(found) if len(set(deciding)) < len(deciding) else found
