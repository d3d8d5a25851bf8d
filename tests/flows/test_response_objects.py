"""Objects are found in any text, just as trying every brace would find them, but in linear time."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quandary.flows.responses import MOST_OBJECTS, last_objects
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
    return list(last_objects(text, ""))[::-1]


def tried(text: str) -> list[dict[str, Any]]:
    """The same by trying every brace: right, and slow."""
    values = []
    position = text.find("{")
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            values += [value] if value else []
        position = text.find("{", end)
    return values


@given(_PIECES)
@example('{"a": "x{"b": 1}')
@example('{"a{": {"b": "}"}} {"c": [1, {"d": 2}')
@example('{"a":"{","b{":"c"}')
def test_nothing_is_missed_and_nothing_made_up(text: str) -> None:
    """The objects are those that a patient reader finds, who tries every brace."""
    commas = [part for part in (",}", ",]") if part in "".join(text.split())]
    if not commas:
        assert found(text) == tried(text)


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


def test_a_broken_object_does_not_hide_those_in_it() -> None:
    """What was closed inside of it stands, and so does what it took for a string."""
    assert found('{"a": {"b": 1}, oops') == [{"b": 1}]
    assert found('He said {"so: {"a": 1} and left') == [{"a": 1}]
    assert found('{{{"a": 1}}}') == [{"a": 1}]


def test_only_objects_with_the_word_are_given() -> None:
    """The others are not even decoded."""
    assert list(last_objects('{"a": 1} {"b": 2} {"b": 3}', "b")) == [{"b": 3}, {"b": 2}]


def test_there_is_an_end_to_looking() -> None:
    """An object before a thousand others is none that anybody meant."""
    many = '{"a": 1}' * (2 * MOST_OBJECTS)
    assert len(found(many)) == MOST_OBJECTS


def test_nesting_has_no_depth_that_breaks_it() -> None:
    """An object that no program could read is passed over."""
    assert found('{"a":' * 100_000 + "1" + "}" * 100_000 + '{"b": 1}') == [{"b": 1}]


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
    "spaces": "{ ",
    "backslashes": "\\",
    "digits": "1",
}


@pytest.mark.parametrize("start", ['{"x":"', '{"x":['], ids=["in a string", "in an array"])
@pytest.mark.parametrize("piece", GROWING.values(), ids=GROWING)
def test_time_grows_with_the_text_and_no_faster(start: str, piece: str) -> None:
    """Eight times the text takes about eight times as long, whatever it is made of."""
    short = start + piece * (30_000 // len(piece))
    long = start + piece * (240_000 // len(piece))
    ratios = []
    for _ in range(5):
        ratios.append(_seconds(long) / max(_seconds(short), 0.0005))
        if ratios[-1] < 16:
            return
    pytest.fail(f"it takes {min(ratios):.0f} times as long")


def _seconds(text: str) -> float:
    begun = time.process_time()
    for _ in last_objects(text, ""):
        pass
    return time.process_time() - begun
