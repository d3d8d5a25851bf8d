"""Options from JSON: what is read, and what is said of what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.errors import ParseError
from quandary.formats.sources import parse_options
from quandary.model.asks import Candidate
from quandary.settings.files import read_input

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "options").glob("*.json"))


def entry(key: object = "E1", title: object = "Slack bot", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """An entry of a list."""
    return {"key": key, "title": title, **more}


def test_every_field_is_read() -> None:
    """As the contract writes them; what stands around a text is no part of it."""
    rows = [
        entry("E0", "Base"),
        entry(
            " E1 ",
            scope="A bot.",
            cost="~2 weeks",
            requires=["E0", "E0"],
            conflicts=[],
            recommend="Include",
            because="many ask",
        ),
        entry("E2", scope=None, requires=None, recommend=None),
    ]
    assert parse_options(json.dumps(rows), "o.json") == (
        Candidate("E0", "Base"),
        Candidate("E1", "Slack bot", "A bot.", "~2 weeks", ("E0",), (), "include", "many ask"),
        Candidate("E2", "Slack bot"),
    )


def test_a_byte_order_mark_is_no_matter() -> None:
    """Some editors write one."""
    assert len(parse_options("\ufeff" + json.dumps([entry()]), "o.json")) == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "o.json: there are no options in it"),
        ({}, "o.json: write a list of options"),
        ("E1", "o.json: write a list"),
        (None, "o.json: write a list of options"),
        (["E1"], "o.json: entry 1: write an object with key"),
        ([entry(), [1]], "o.json: entry 2: write an object with key and title, not [1]"),
        ([entry(), entry()], "o.json: entry 2 (E1): entry 1 has the key E1 too"),
        ([entry(), entry("e1")], "o.json: entry 2 (e1): entry 1 has the key E1 too"),
        ([{"title": "x"}], "o.json: entry 1: its key is missing"),
        ([entry(" ")], "o.json: entry 1: its key is missing"),
        ([entry("a\nb")], "entry 1 (a b): its key cannot be typed"),
        ([entry("…")], "entry 1 (…): its key cannot be typed"),
        ([entry("?")], "entry 1 (?): its key cannot be typed"),
        ([entry("E{n}")], "entry 1 (E{n}): its key cannot be typed"),
        ([{"key": "E1"}], "o.json: entry 1 (E1): its title is missing"),
        ([entry(title=" ")], "o.json: entry 1 (E1): its title is missing"),
        ([entry(7)], "o.json: entry 1: key is text, not 7"),
        ([entry(title=["x"])], "entry 1 (E1): title is text, not ['x']"),
        ([entry(cost=3)], "entry 1 (E1): cost is text, not 3"),
        ([entry(scope=True)], "entry 1 (E1): scope is text, not True"),
        ([entry(requires="E0")], "entry 1 (E1): requires is a list of keys, like"),
        ([entry(conflicts=[1])], "entry 1 (E1): conflicts is a list of keys"),
        ([entry(requires=["E9"])], "entry 1 (E1): requires names 'E9', which is not the key"),
        ([entry(conflicts=["E9"])], "entry 1 (E1): conflicts names 'E9'"),
        ([entry(requires=["E1"])], "entry 1 (E1): requires names the entry itself"),
        ([entry(recommend="maybe")], "entry 1 (E1): recommend is include, defer, cut or nothing"),
        ([entry(recommend=1)], "entry 1 (E1): recommend is include"),
        ([entry(depends_on=["E0"])], "entry 1 (E1): no field 'depends_on'; there are key"),
        (
            [entry("A", requires=["B"], conflicts=["B"]), entry("B")],
            "entry 1 (A): it requires B and conflicts with it",
        ),
        (
            [entry("A", requires=["B"]), entry("B", conflicts=["A"])],
            "entry 1 (A): it requires B and conflicts with it",
        ),
        (
            [
                entry("A"),
                entry("B", requires=["D"]),
                entry("C", requires=["B"]),
                entry("D", requires=["A", "C"]),
            ],
            "entry 2 (B): it requires itself in the end (B requires D requires C requires B)",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_entry(rows: object, message: str) -> None:
    """One line that names the file and the entry and says what to do."""
    with pytest.raises(ParseError) as caught:
        parse_options(json.dumps(rows), "o.json")
    assert message in str(caught.value)
    assert caught.value.status == 2


@pytest.mark.parametrize("text", ["", "{", "[1,", "E1: Slack", "[" * 100_000, "\x00"])
def test_what_is_not_json(text: str) -> None:
    """It is refused, however odd it is."""
    with pytest.raises(ParseError, match=r"o\.json: not JSON"):
        parse_options(text, "o.json")


def test_nothing_is_said_twice_in_one_entry() -> None:
    """Of two keys one would be lost, and nobody could tell which was meant."""
    with pytest.raises(ParseError, match=r"o\.json: “key” is said twice in one object"):
        parse_options('[{"key": "E1", "key": "E2", "title": "Slack"}]', "o.json")


def test_a_long_row_of_needs_is_no_circle() -> None:
    """Five thousand options, each of which needs the one before it."""
    rows = [entry(f"K{n}", requires=[f"K{n - 1}"] if n else []) for n in range(5000)]
    assert len(parse_options(json.dumps(rows), "o.json")) == 5000
    rows[0]["requires"] = ["K4999"]
    with pytest.raises(ParseError, match=r"entry 1 \(K0\): it requires itself"):
        parse_options(json.dumps(rows), "o.json")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """It is named."""
    with pytest.raises(ParseError, match=r"missing\.json"):
        read_input(str(tmp_path / "missing.json"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_good(path: Path) -> None:
    """What we show can be used."""
    assert len(parse_options(read_input(str(path)), path.name)) >= 5


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("key", "title", "requires", "recommend", "x")), inner)
    ),
    max_leaves=12,
)


@given(st.lists(any_json, max_size=4) | any_json)
def test_any_json_is_read_or_refused(rows: object) -> None:
    """There is no third way."""
    said, found = "", tuple[Candidate, ...]()
    try:
        found = parse_options(json.dumps(rows), "o.json")
    except ParseError as error:
        said = str(error)
    assert said.startswith("o.json: ") or (isinstance(rows, list) and len(found) == len(rows))
