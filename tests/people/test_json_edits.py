"""Entries in the text of JSON settings: found, put in and taken out, with all else as it was."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from quandary.errors import ParseError
from quandary.people.json_edits import Edited, added, removed, without_spans
from quandary.people.json_text import data, is_strict, parse
from settings_texts import settings_texts, values

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUP = {"matcher": "X", "hooks": [{"args": ["a", "b"]}]}


def put(text: str, path: Sequence[str] = ("hooks", "Pre"), value: object = (GROUP,)) -> str:
    """The text with something put into it, after a look at whether it comes out again."""
    edited = added(Edited(text), path, list(value) if isinstance(value, tuple) else value)
    assert without_spans(edited.text, edited.spans) == text
    return edited.text


def read(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What a text says."""
    root = parse(text)
    assert root is not None
    return data(text, root)


# reading


@given(values(), st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_json_is_read_as_others_read_it(
    value: object, indent: int | str | None, escaped: bool
) -> None:
    """Whatever JSON says, it says here."""
    text = json.dumps(value, indent=indent, ensure_ascii=escaped)
    assert read(text) == value


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn\\u \n', max_size=30))
@example("\t-0.5e-3 ")
@example('{"a":[],"b":{}}')
def test_what_is_not_json_is_refused(text: str) -> None:
    """Trailing commas aside, what others refuse is refused here, and no more."""
    assume(text.strip() and not re.search(r",\s*[}\]]", text))
    try:
        accepted = [json.loads(text)]
    except (ValueError, RecursionError):
        accepted = []
    if accepted:
        assert [read(text)] == accepted
    else:
        with pytest.raises(ParseError):
            parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1', "line 1, column 8: a comma or } belongs here"),
        ('{\n  "a": }', "line 2, column 8: no value"),
        ('{"a" 1}', "line 1, column 6: a colon belongs here"),
        ("{a: 1}", "line 1, column 2: a key in quotes belongs"),
        ('{"a": 1}}', "line 1, column 9: something follows the end"),
        ('{"a": ', "line 1, column 7: the text ends too early"),
        ('["a\nb"]', "line 1, column 2: no value"),
        ("{,}", "a key in quotes belongs"),
        ("[1,,2]", "no value"),
        ("[01]", "no value"),
        ("[NaN]", "no value"),
        ("[truex]", "no value"),
        ("{} /* open", "something follows the end"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_an_error_has_its_place(text: str, said: str) -> None:
    """Line and column are those that an editor shows."""
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert said in str(caught.value)


def test_comments_and_trailing_commas_are_read() -> None:
    """Editors write settings like this."""
    text = (
        '\ufeff// 1\n{ /* 2 */ "a" /* 3 */ : /* 4 */ [1, 2, /* 5 */ ], // 6\n "b": "//x", }\n// 7'
    )
    assert read(text) == {"a": [1, 2], "b": "//x"}
    assert not is_strict(text)
    assert is_strict('\ufeff{"a": "// no comment, /* nor this */"}')
    assert parse("\ufeff // nothing\n") is None


def test_the_last_of_several_keys_counts() -> None:
    """As in the programs that read the file."""
    text = '{"hooks": 1, "hooks": {"Pre": []}}'
    assert read(put(text))["hooks"]["Pre"] == [GROUP]


def test_a_number_too_long_for_python_does_no_harm() -> None:
    """It stays as it is written."""
    text = '{"a": ' + "1" * 10_000 + "}"
    assert put(text).startswith(text[:-1])


# adding


def test_a_new_key_takes_over_the_layout() -> None:
    """Indentation, line ends and the space around colons are as in the rest."""
    text = '{\r\n\t"a" : [1,2]\r\n}\r\n'
    after = '{\r\n\t"a" : [1,2],\r\n\t"s" : {\r\n\t\t"q" : [\r\n\t\t\t1\r\n\t\t]\r\n\t}\r\n}\r\n'
    assert put(text, ["s", "q"], [1]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "q": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "q": 1\n  }\n}'),
        ("{\n}\n", '{\n  "s": {\n    "q": 1\n  }\n}\n'),
        ('{"a":1}', '{"a":1,"s":{"q":1}}'),
        ('{"a": 1}', '{"a": 1, "s": {"q": 1}}'),
        ('{"s": {}}', '{"s": {"q": 1}}'),
        ('{\n    "s": {}\n}', '{\n    "s": {\n        "q": 1\n    }\n}'),
        ('{\n"s": {\n"p": 0\n}\n}', '{\n"s": {\n"p": 0,\n"q": 1\n}\n}'),
        ('{\n  "s": {"p": 0}\n}', '{\n  "s": {"p": 0, "q": 1}\n}'),
        ('{\n  "s": {"p": 0,}\n}', '{\n  "s": {"p": 0, "q": 1,}\n}'),
        (
            '{\n  "s": {\n    "p": 0 // why\n    // more\n  }\n}',
            '{\n  "s": {\n    "p": 0, // why\n    // more\n    "q": 1\n  }\n}',
        ),
        ('{"s": { // none\n}}', '{"s": { // none\n  "q": 1\n}}'),
        ('{"s": {/* none */}}', '{"s": {/* none */ "q": 1}}'),
        ('{"s": {"p": 0 /* x */}}', '{"s": {"p": 0, /* x */ "q": 1}}'),
        ("// only\n", '// only\n{\n  "s": {\n    "q": 1\n  }\n}\n'),
        ("// only", '// only\n{\n  "s": {\n    "q": 1\n  }\n}\n'),
    ],
)
def test_an_entry_goes_behind_what_is_there(before: str, after: str) -> None:
    """At the end of its object, with comments where they were."""
    assert put(before, ["s", "q"], 1) == after


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "the whole is not an object"),
        ('{"hooks": []}', "hooks is not an object"),
        ('{"hooks": null}', "hooks is not an object"),
        ('{"hooks": {"Pre": {}}}', "hooks.Pre is not a list"),
    ],
)
def test_settings_of_another_shape_are_refused(text: str, said: str) -> None:
    """Nothing is put where it does not belong, and nothing is replaced."""
    with pytest.raises(ParseError, match=said.replace(".", r"\.")):
        put(text)


@settings(max_examples=60)
@given(settings_texts())
def test_whatever_is_there_stays_and_comes_back(text: str) -> None:
    """The new text says what the old one said and the addition; without it, it is the old one."""
    root = parse(text)
    before = data(text, root) if root is not None else {}
    after = read(put(text))
    groups = after["hooks"]["Pre"]
    assert groups[-1] == GROUP
    del groups[-1]
    if "Pre" not in before.get("hooks", {}):
        del after["hooks"]["Pre"]
    if "hooks" not in before:
        del after["hooks"]
    assert list(after.items()) == list(before.items())


@settings(max_examples=60)
@given(settings_texts())
def test_pieces_put_in_one_after_the_other_come_out_together(text: str) -> None:
    """Places move with what is put before them."""
    edited = added(Edited(text), ["hooks", "Pre"], [GROUP])
    edited = added(edited, ["hooks", "Post"], [GROUP])
    edited = added(edited, ["hooks", "Pre"], [GROUP, GROUP])
    assert parse(edited.text) is not None
    assert without_spans(edited.text, edited.spans) == text


# removing


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ('{"a": 1, "b": 2}', ["a"], '{"b": 2}'),
        ('{"a": 1, "b": 2}', ["b"], '{"a": 1}'),
        ('{\n  "a": 1,\n  "b": 2\n}', ["a"], '{\n  "b": 2\n}'),
        ('{\n  "a": 1, // one\n  "b": 2\n}', ["b"], '{\n  "a": 1 // one\n}'),
        ('{\n  "a": 1,\n  "b": 2,\n}', ["b"], '{\n  "a": 1,\n}'),
        ('{\n  "a": {\n    "b": 2\n  }\n}', ["a", "b"], "{}"),
        (
            '{\n  "a": {\n    // keep\n    "b": 2\n  }\n}',
            ["a", "b"],
            '{\n  "a": {\n    // keep\n  }\n}',
        ),
        ('{"a": [1, 2, 3]}', ["a", 1], '{"a": [1, 3]}'),
        ('{"z": 0, "a": [[1]]}', ["a", 0, 0], '{"z": 0}'),
        ('{"a": 1, "a": 2}', ["a"], '{"a": 1}'),
    ],
)
def test_an_entry_goes_with_its_comma(before: str, path: list[str | int], after: str) -> None:
    """And with what is empty because of that, comments excepted."""
    assert removed(before, path) == after


@settings(max_examples=60)
@given(settings_texts(), st.data())
def test_taking_out_any_entry_leaves_the_others(text: str, choice: st.DataObject) -> None:
    """In whatever layout, with whatever comments."""
    root = parse(text)
    before = data(text, root) if root is not None else {}
    if not before or root is None or len(root.children) != len(before):
        return
    name = choice.draw(st.sampled_from(sorted(before)))
    after = read(removed(text, [name]))
    assert list(after.items()) == [(key, value) for key, value in before.items() if key != name]


@settings(max_examples=60)
@given(settings_texts())
def test_an_entry_that_was_put_in_can_be_found_and_taken_out(text: str) -> None:
    """Without knowing its place, the text says the same again; what was empty may be gone."""
    after = put(text)
    groups = read(after)["hooks"]["Pre"]
    left = read(removed(after, ["hooks", "Pre", len(groups) - 1]))
    root = parse(text)
    before = data(text, root) if root is not None else {}
    assert without_empty(left) == without_empty(before)


def without_empty(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings but for empty lists of hooks."""
    hooks = {name: groups for name, groups in settings.get("hooks", {}).items() if groups}
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    return {**rest, "hooks": hooks} if hooks else rest
