"""Proof: fields as they are declared, and values as they are given."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies  # noqa: F401 - loads the profile
from quandary.errors import ParseError, Rejected
from quandary.formats import proof, tracks
from quandary.model.asks import Field

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(-9, 9), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


def nowhere(_: str) -> bool:
    """A world without files."""
    return False


def lacking(schema: dict[str, Any], value: object) -> proof.Gaps:
    """What is wrong with a value of a field."""
    (field,) = proof.read_fields([{"name": "it", **schema}], "t")
    return proof.find_gaps([field], {"it": value}, lambda path: path == "here.md")


@pytest.mark.parametrize(
    ("declared", "fields"),
    [
        (None, []),
        ([], []),
        (["tests", "notes"], [Field("tests"), Field("notes")]),
        ([{"name": "n", "type": "number"}], [Field("n", {"type": "number"})]),
        ([{"n": {"type": "number"}}], [Field("n", {"type": "number"})]),
        ([{"a": {}, "b": True}], [Field("a"), Field("b")]),
        ({"a": {"minLength": 3}}, [Field("a", {"minLength": 3})]),
        ([{"name": "f", "format": "path-exists"}], [Field("f", {"path-exists": True})]),
        ([{"name": "f", "required": False}], [Field("f", required=False)]),
        (
            {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]},
            [Field("a", required=False), Field("b")],
        ),
        ({"properties": {"a": {}}}, [Field("a")]),
        (
            {"properties": {"a": {}}, "required": ["b"], "additionalProperties": False},
            [Field("a", required=False), Field("b")],
        ),
        ([{"name": {"type": "string"}}], [Field("name", {"type": "string"})]),
        (["a", {"name": "b", "title": "B", "description": "x"}], None),
    ],
)
def test_fields_are_names_or_schemas(declared: object, fields: list[Field] | None) -> None:
    """Names, schemas that have a name, and schemas by name all declare fields."""
    found = list(proof.read_fields(declared, "t"))
    assert [f.name for f in found] == ["a", "b"] if fields is None else found == fields


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (["a", "a"], "declared twice"),
        ([1], "a name, or a schema with a name"),
        ([""], "a name, or a schema with a name"),
        ([{}], "a name, or a schema with a name"),
        ([{"type": "string"}], "no name"),
        ([{"name": "a", "maximum": 3}], "asks for maximum, which is not checked here"),
        ([{"name": "a", "type": "text"}], "type is one of string"),
        ([{"name": "a", "type": ["string", 3]}], "type is one of"),
        ([{"name": "a", "enum": []}], "enum is a list"),
        ([{"name": "a", "enum": "x"}], "enum is a list"),
        ([{"name": "a", "minLength": -1}], "minLength is a number"),
        ([{"name": "a", "minLength": True}], "minLength is a number"),
        ([{"name": "a", "pattern": "("}], "no regular expression"),
        ([{"name": "a", "pattern": 3}], "no regular expression"),
        ([{"name": "a", "path-exists": "yes"}], "path-exists is true or false"),
        ([{"a": 3}], "needs a name and a schema"),
        (3, "a name, or a schema with a name"),
        ({"properties": {"a": {}}, "required": True}, "required is a list of names"),
        ({"properties": {"a": {}}, "required": [["a"]]}, "required is a list of names"),
        ({"properties": {"a": {}}, "allOf": []}, "asks for allOf, which is not checked here"),
    ],
)
def test_a_wrong_declaration_is_named(declared: object, said: str) -> None:
    """A rule that would not be checked is refused, with its place."""
    with pytest.raises(ParseError, match=r"\At: ") as caught:
        proof.read_fields(declared, "t")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        *[None, False, "", "  \n", "\u200b", "\u200b" * 120, "\x00"],
        *[[], {}, [None, ""], {"a": None}, [[]], {"a": {"b": [""]}}, [{}, False]],
    ],
)
def test_missing(value: object) -> None:
    """Null, false and blank are missing, and so is a field that is not there, at any depth."""
    fields = [Field("a"), Field("b")]
    assert proof.find_gaps(fields, {"a": value}, nowhere).missing == ("a", "b")


@pytest.mark.parametrize(
    "value", [0, 0.0, True, "0", "_", "__", [0], "no", {"a": 1}, "false", ["___", 1]]
)
def test_not_missing(value: object) -> None:
    """Zero, true and any text are there."""
    assert not proof.find_gaps([Field("a")], {"a": value}, nowhere).names


@pytest.mark.parametrize("value", ["___", " ____\n", "_" * 40, ["___"], {"a": ["____", ""]}])
def test_unfilled(value: object) -> None:
    """Only underscores, three or more, were never filled in, in a list or an object either."""
    assert proof.find_gaps([Field("a")], {"a": value}, nowhere).unfilled == ("a",)


@pytest.mark.parametrize(
    ("schema", "good", "bad", "why"),
    [
        ({"type": "string"}, "x", 3, "must be string and is a number"),
        ({"type": "number"}, 3, "3", "must be number and is text"),
        ({"type": "number"}, 3.5, True, "must be number and is true or false"),
        ({"type": "integer"}, 3.0, 3.5, "must be integer"),
        ({"type": "integer"}, -3, True, "must be integer"),
        ({"type": "boolean"}, True, 1, "must be boolean"),
        ({"type": "array"}, ["x"], "x", "must be array"),
        ({"type": "object"}, {"a": 1}, ["x"], "must be object and is a list"),
        ({"type": ["string", "number"]}, 3, ["x"], "must be string or number"),
        ({"enum": ["low", "high"]}, "low", "Low", "must be one of low, high"),
        ({"enum": [1, "x"]}, 1, True, "must be one of 1, x"),
        ({"enum": [True]}, True, 1, "must be one of true"),
        ({"minLength": 3}, "abc", "ab", "at least 3 characters"),
        ({"pattern": "^v[0-9]+$"}, "v12", "12", "must match ^v[0-9]+$"),
        ({"path-exists": True}, "here.md", "gone.md", "gone.md does not"),
        ({"path-exists": True}, ["here.md"], ["here.md", "gone.md"], "gone.md does not"),
        ({"path-exists": True}, "here.md", 3, "3 does not"),
        ({"path-exists": False}, "gone.md", None, ""),
    ],
)
def test_schemas_are_checked(schema: dict[str, Any], good: object, bad: object, why: str) -> None:
    """A value that does not fit is wrong, and it is said how."""
    assert lacking(schema, good) == proof.Gaps()
    if why:
        assert why in lacking(schema, bad).wrong["it"]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("^(a+)+$", "must match"),
        ("(a*)*b", "must match"),
        ("(?:a|b)*a(?:a|b){900}$", "is too long to be compared with its pattern"),
    ],
)
def test_no_pattern_takes_for_ever(pattern: str, said: str) -> None:
    """What freezes other engines is refused or runs in no time."""
    (field,) = proof.read_fields([{"name": "a", "pattern": pattern}], "t")
    begin = time.monotonic()
    gaps = proof.find_gaps([field], {"a": "a" * 100_000 + "!"}, nowhere)
    assert gaps.wrong["a"].startswith(said)
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    "pattern", ["(?=a)", r"(a)\1", "(?<!a)b", "(a{1000}){1000}", "[ab]{999}" * 9]
)
def test_a_pattern_that_cannot_be_checked_is_refused_when_a_track_begins(pattern: str) -> None:
    """A track of before that has one is still read; only its phase cannot be left."""
    phases = json.dumps([{"label": "1", "proof": [{"name": "a", "pattern": pattern}]}])
    with pytest.raises(ParseError, match="phase 1: the field a: pattern is no regular"):
        tracks.write_new(phases, "t", None, "p")
    (phase,) = tracks.parse(f'{{"phases": {phases}}}', "t").track.phases
    gaps = proof.find_gaps(phase.proof, {"a": "b"}, nowhere)
    assert "cannot be checked" in gaps.wrong["a"]


def test_everything_is_reported_at_once() -> None:
    """Missing, unfilled and wrong fields are told in one line."""
    fields = proof.read_fields(["a", "b", {"c": {"type": "number"}}, {"d": {}}], "t")
    lack = proof.find_gaps(fields, {"b": "___", "c": "x", "d": "ok"}, nowhere)
    assert lack.names == ("a", "b", "c")
    assert lack.text == "missing: a; unfilled: b; c must be number and is text"


def test_optional_fields_may_be_left_out() -> None:
    """What is optional is checked only where it is there."""
    (field,) = proof.read_fields([{"name": "a", "required": False, "type": "number"}], "t")
    assert not proof.find_gaps([field], {}, nowhere).names
    assert not proof.find_gaps([field], {"a": None}, nowhere).names
    assert proof.find_gaps([field], {"a": "x"}, nowhere).names == ("a",)


@pytest.mark.parametrize(
    ("text", "values", "lines"),
    [
        ("", {}, False),
        ("  \n", {}, False),
        ('{"a": 1, "b": [2]}', {"a": 1, "b": [2]}, False),
        ('\ufeff{"a": "x"}', {"a": "x"}, False),
        ("a: 1\nb: two words\n", {"a": "1", "b": "two words"}, True),
        ("tests run:  42\n\nnotes:\n", {"tests run": "42", "notes": ""}, True),
        ("url: https://x.org/a:b", {"url": "https://x.org/a:b"}, True),
        ("Übung: ja\nтесты: 42\n图: 有", {"Übung": "ja", "тесты": "42", "图": "有"}, True),
        ("coverage (%): 93\n2nd review: Ann", {"coverage (%)": "93", "2nd review": "Ann"}, True),
    ],
)
def test_a_proof_is_an_object_or_lines(text: str, values: dict[str, Any], lines: bool) -> None:
    """JSON, or the old `key: value` lines."""
    assert proof.read_proof(text) == proof.Given(values, lines)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", "the proof is a list"),
        ('"done"', "the proof is text"),
        ("42", "the proof is a number"),
        ("true", "the proof is true or false"),
        ("null", "the proof is null"),
        ('{"a": ', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("all done", "line 1 of the proof"),
        ("a: 1\nhttps://x.org", "line 2 of the proof"),
        (": x", "line 1 of the proof"),
    ],
)
def test_anything_else_is_refused(text: str, said: str) -> None:
    """A clear error, exit status 1."""
    with pytest.raises(Rejected, match="JSON object") as caught:
        proof.read_proof(text)
    assert said in str(caught.value)
    assert caught.value.status == 1


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({}, "42", "42"),
        ({"type": "number"}, " 42 ", 42),
        ({"type": "boolean"}, "true", True),
        ({"type": "array"}, "a, b,", ["a", "b"]),
        ({"type": "array"}, "[1]", [1]),
        ({"type": "number"}, "many", "many"),
        ({"type": ["string", "number"]}, "42", "42"),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["low"]}, "low", "low"),
    ],
)
def test_typed_text_becomes_what_is_declared(
    schema: dict[str, Any], text: str, value: object
) -> None:
    """A number that came as text is a number again, where one was asked for."""
    (field,) = proof.read_fields([{"name": "it", **schema}], "t")
    assert proof.convert_typed([field], {"it": text, "x": "1"}, ["it"]) == {"it": value, "x": "1"}
    assert proof.convert_typed([field], {"it": text}, []) == {"it": text}


def test_fields_describe_themselves() -> None:
    """What a person has to know to give the value."""
    fields = proof.read_fields(
        [
            "plain",
            {"name": "size", "type": ["integer", "null"]},
            {"name": "level", "enum": ["low", "high"]},
            {"name": "note", "type": "string", "minLength": 9, "pattern": "^x"},
            {"name": "report", "path-exists": True, "required": False},
        ],
        "t",
    )
    assert [field.described for field in fields] == [
        "plain",
        "size (integer or null)",
        "level (one of low, high)",
        "note (at least 9 characters, like ^x)",
        "report (a path that exists, optional)",
    ]


@given(
    st.dictionaries(st.sampled_from("abc"), JSON),
    st.sampled_from([{}, {"type": "string"}, {"type": ["number", "array"]}, {"enum": ["x", 1]}]),
)
def test_any_value_is_judged(values: dict[str, Any], schema: dict[str, Any]) -> None:
    """Whatever JSON is given, each field is fine or named once."""
    fields = [Field("a", schema), Field("b"), Field("c", schema, required=False)]
    names = proof.find_gaps(fields, values, nowhere).names
    assert len(set(names)) == len(names)
    assert {"a", "b"} - values.keys() <= set(names) <= {"a", "b", "c"}


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes the reader fall over."""
    said = ""
    try:
        said = str(proof.read_proof(text).values.keys() - {""})
    except Rejected as refused:
        said = str(refused)
    assert said
    assert "\n" not in said


def test_a_truth_is_typed_in_words() -> None:
    """Yes and no where a boolean is asked for; values of a list in any case."""
    done = Field("done", {"type": "boolean"})
    read = [proof.read_typed(done, text) for text in ("Yes", "true", "n", "maybe")]
    assert read == [True, True, False, "maybe"]
    risk = Field("risk", {"enum": ["low", "high"]})
    assert proof.read_typed(risk, " HIGH ") == "high"
