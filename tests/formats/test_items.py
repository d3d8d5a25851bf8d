"""Items and ages as they are given on the command line."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.desk.begin import age
from quandary.errors import QuandaryError
from quandary.formats.sources import from_file

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, text: str, name: str = "items") -> str:
    """A file with that text."""
    path = folder / name
    path.write_bytes(text.encode())
    return str(path)


def test_a_field_of_a_table_may_have_line_breaks(tmp_path: Path) -> None:
    """Spreadsheets write them, and what stands in quotes is one field."""
    text = 'id,label,context\r\n1,Auth,"Tokens\r\nexpire, \u2028 all"\r\n2,Cache,\r\n'
    first, second = from_file(written(tmp_path, text, "i.csv"))
    assert (first.id, first.context) == ("1", "Tokens\r\nexpire, \u2028 all")
    assert (second.id, second.label, second.context) == ("2", "Cache", "")


def test_the_first_sign_tells_the_format(tmp_path: Path) -> None:
    """Whatever the file is called, since standard input has no name."""
    for text in ('[{"id": "7"}]', '\n{"id": 7}\n', "id\n7\n", "\ufeffid\n7\n"):
        assert [item.id for item in from_file(written(tmp_path, text))] == ["7"]


def test_fields_that_are_no_text_fill_slots_as_json(tmp_path: Path) -> None:
    """Nobody wants to read Python."""
    (item,) = from_file(
        written(tmp_path, '[{"id": 1, "a": [1, "x"], "b": null, "c": true, "d": {"e": 2.5}}]')
    )
    assert item.fields == {"a": '[1,"x"]', "b": "", "c": "true", "d": '{"e":2.5}'}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there are no items in it"),
        ("[]", "there are no items in it"),
        ("id,label\n", "there are no items in it"),
        ("[1]", "item 1 is not an object"),
        ('{"items": [{"id": "1"}]}', "item 1 has none of id, label, title, context, question"),
        ("id;label\n1;Auth\n", "item 1 has none of id, label"),
        ("id,label\n1,Auth,more\n", "item 1 has more fields than the first line names"),
        ('{\n"id": "1"}', ":1: not JSON"),
        ("[", "not JSON"),
        (f"id\n{'x' * 200_000}\n", "not CSV"),
    ],
)
def test_what_would_be_lost_or_misread_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    """An item too few would never be noticed."""
    with pytest.raises(QuandaryError, match=reason):
        from_file(written(tmp_path, text))


@given(st.dictionaries(st.sampled_from("smhdw"), st.integers(0, 900), min_size=1))
def test_ages_add_up(parts: dict[str, int]) -> None:
    """Any number of units in any order."""
    names = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    total = timedelta(**{names[unit]: number for unit, number in parts.items()})
    text = "".join(f"{number}{unit}" for unit, number in parts.items())
    if total:
        assert age(text) == total
    else:
        with pytest.raises(QuandaryError, match="no time at all"):
            age(text)


@pytest.mark.parametrize("text", ["99999999999d", "900000w", "9" * 900 + "s"])
def test_an_age_that_never_ends_is_refused(text: str) -> None:
    """With words, not with an internal error."""
    with pytest.raises(QuandaryError, match="longer than the calendar"):
        age(text)
