"""Objects are found in any text, just as trying every brace would find them, but in linear time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from growth import Work, is_linear
from quandary.flows.responses import Unclear, objects, read_response
from strategies import HOSTILE

_DECODER = json.JSONDecoder(strict=False)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.text(alphabet='a{}[]",:\\ \n', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet='ab{"', max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
_OBJECTS = st.dictionaries(st.text(alphabet='ab{"', max_size=2), _JSON, min_size=1, max_size=3)
_PIECES = st.lists(
    st.sampled_from(['{"', '"}', "{", "}", "[", "]", '"', ":", ",", "\\", '\\"', "a", " ", "1"])
    | st.sampled_from(HOSTILE[:20])
    | _JSON.map(json.dumps),
    max_size=14,
).map("".join)


def found(text: str) -> list[dict[str, Any]]:
    """What is found, in the order of the text."""
    return list(filter(None, objects(text)))


def tried(text: str) -> list[tuple[int, int]]:
    """Where the objects and arrays are that begin at some bracket: right, and slow."""
    spans = []
    for start in range(len(text)):
        if text[start] in "{[":
            try:
                spans.append((start, _DECODER.raw_decode(text, start)[1]))
            except (ValueError, RecursionError):
                continue
    return spans


@given(_PIECES)
@example('{"a": "x{"b": 1}')
@example('{"a{": {"b": "}"}} {"c": [1, {"d": 2}')
@example('{"a":"{","b{":"c"}')
@example('[{"a":"{","b{":"c"}]{"a": 1}')
@example('[}{"": "]", "a": {"": null}}')
@example('["{"": "]",\n"a": {"": null}}')
def test_nothing_is_made_up_and_nothing_inside_another_is_found(text: str) -> None:
    """Every object is one that a patient reader finds, and stands in none of the others."""
    spans = tried(text)
    read = [value for value in found(text) if not isinstance(value, Unclear)]
    outer = []
    for start, end in spans:
        if text[start] == "{" and not any(s < start and end <= e for s, e in spans):
            outer.append(_DECODER.decode(text[start:end]))
    commas = [part for part in (",}", ",]") if part in "".join(text.split())]
    if not commas:
        assert all(value in outer for value in read)
    if not any(mark in text for mark in "\"'>“‘„«") and spans and spans[0] == (0, len(text)):
        assert found(text) == list(filter(None, outer))


@given(st.lists(_OBJECTS, max_size=4))
def test_objects_among_prose_are_found(values: list[dict[str, Any]]) -> None:
    """Each of several objects, between words, in its order."""
    text = " It's (so) } ".join(json.dumps(value, indent=1) for value in values)
    assert found(f"Well: {text}") == values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2, ] , }', {"a": [1, 2]}),
        ('{"a": {"b": "x,}",},}', {"a": {"b": "x,}"}}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": [{"b": 1}, 2, {"c": [[]]}], "d": -1.5e3}', None),
        ('{"a": "\\ud83d\\ude00 \\" \\\\"}', None),
        ('{"a" : true , "b":null,"c":[ ] ,"d":{ }}', None),
    ],
)
def test_small_faults_are_forgiven(text: str, expected: dict[str, Any] | None) -> None:
    """A comma too many and a raw line break are no reason to ask again."""
    assert found(text) == [json.loads(text) if expected is None else expected]


NO_OBJECTS = (
    *("", "{}", "{a: 1}", "{'a': 1}", '["a"]', '"{"', '{"a"}', '{"a" 1}', '{"a": 1', '{"a": 1]'),
    *('{"a": [1}', '{"a": ]}', '{"a": 1 2}', '{"a": ,}', '{,"a": 1}', '{"a": 1,,}', '{"a": [,]}'),
    *('{"a": "\\x"}', '{"a": 01}', '{"a": tru}', '{"a": 1, 2}', '{"a": 1, 2, "b": 3}'),
)


@pytest.mark.parametrize("text", NO_OBJECTS)
def test_what_is_no_object(text: str) -> None:
    """Nothing is guessed."""
    assert found(text) == []


def test_what_is_in_a_broken_object_is_not_found() -> None:
    """It may be all that a refusal quotes; what follows on a line of its own is found."""
    for broken in ('{"a": {"b": 1}, oops', 'He said {"so: {"b": 1} and left', '{{{"b": 1}}}'):
        assert found(broken) == []
        assert found(f'{broken}\n{{"c": 2}}') == [{"c": 2}]


def test_only_objects_that_may_hold_the_word_are_given() -> None:
    """The others are not even decoded."""
    assert list(objects('{"a": 1} {"b": 2} {"b": 3}', "b")) == [{"b": 2}, {"b": 3}]


def test_nesting_has_no_depth_that_breaks_it() -> None:
    """An object that no program could read is passed over."""
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    assert found(deep + '{"b": 1}') == [{"b": 1}]


GROWING = {
    "opened": '{"a":',
    "opened with arrays": '{"a":[',
    "half strings": '{"',
    "braces": "{",
    "strings with braces": '{"{":"',
    "strings that switch": '{"a{"b":"',
    "strings that never meet": '":{"',
    "escapes": '{\\"',
    "members": '"a":1,',
    "elements": "1,",
    "empty objects": "{},",
    "good objects": '{"a":1}',
    "words": '{"fully_completed":"',
    "words in words": '{\\"fully_completed\\":\\"',
    "broken lines": '{"a": x}\n',
    "open lines": '{"a\n',
    "quoted": '"{"a":1}"',
    "arrays": '[["a",',
    "arrays with objects": '[{"a":1},',
    "closed": "}]",
    "spaces": "{ ",
    "backslashes": "\\",
    "digits": "1",
}


@pytest.mark.parametrize("start", ['{"x":"', '{"x":['], ids=["in a string", "in an array"])
@pytest.mark.parametrize("piece", GROWING.values(), ids=GROWING)
def test_time_grows_with_the_text_and_no_faster(start: str, piece: str) -> None:
    """Eight times the text takes about eight times as long, whatever it is made of."""

    def prepare(size: int) -> Work:
        text = start + piece * (size // len(piece))
        return lambda: (list(objects(text)), read_response("{}", "validation", prompt=text))

    assert is_linear(prepare, 30_000, 8)
