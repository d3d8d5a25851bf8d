"""Text of ours in files of others: put in, recognised, and taken out to the last byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.errors import ParseError
from quandary.people.marked import BLOCK, FILE, TOML, Marks, find, noted, put, taken_out

BODY = "## Ours\n\ntext\n"
RECEIPT = {"lesson": [None, 1], "odd": "--> \u2028 é"}

lines = st.lists(st.sampled_from(["", "a", "# b", "é  ", "\t"]), max_size=4)
texts = st.builds(
    lambda mark, parts, newline, end: mark + newline.join(parts) + end,
    st.sampled_from(["", "", "\ufeff"]),
    lines,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\r\n", "\n\n", " "]),
)


@given(texts, st.sampled_from([BLOCK, TOML]))
def test_a_block_comes_out_as_it_went_in(text: str, marks: Marks) -> None:
    """Whatever stood before it, and however that ended."""
    after = put(text, marks, BODY, RECEIPT)
    assert after.startswith(text)
    found = find(after, marks)
    assert found is not None
    assert found.pristine
    assert found.receipt == RECEIPT
    assert taken_out(after, marks) == text


@given(texts)
def test_a_block_is_renewed_in_its_place(text: str) -> None:
    """Putting it in again changes nothing; another body takes the place of the old one."""
    after = put(text, BLOCK, BODY, RECEIPT)
    assert put(after, BLOCK, BODY, RECEIPT) == after
    renewed = put(after, BLOCK, "new\n", {})
    assert "Ours" not in renewed
    assert put(renewed, BLOCK, BODY, RECEIPT) == after


def test_what_others_write_around_a_block_stays() -> None:
    """Lines behind it, and lines moved close to it, are not joined."""
    after = put("a\n", BLOCK, BODY, {})
    assert taken_out(after + "\nb\n", BLOCK) == "a\n\nb\n"
    assert taken_out(after.replace("\n\n<!--", "\n<!--") + "b\n", BLOCK) == "a\nb\n"


def test_an_edited_text_is_seen() -> None:
    """By its digest, for which line ends do not count; a new receipt does not change that."""
    for marks in (BLOCK, FILE):
        after = put(None, marks, BODY, {})
        same, edited = after.replace("\n", "\r\n"), after.replace("text", "my text")
        found = find(same, marks)
        assert found is not None
        assert found.pristine
        for text in (edited, noted(edited, marks, RECEIPT)):
            found = find(text, marks)
            assert found is not None
            assert not found.pristine
            assert "my text" in found.body
        assert found is not None
        assert found.receipt == RECEIPT


def test_lines_behind_a_file_of_ours_are_an_edit() -> None:
    """They would be lost with the file."""
    found = find(put(None, FILE, BODY, {}) + "\nmine\n", FILE)
    assert found is not None
    assert not found.pristine


@pytest.mark.parametrize(
    "text",
    [
        "<!-- quandary:begin -->\na\n",
        "a\n<!-- quandary:end 0 {} -->\n",
        "<!-- quandary:end 0 {} -->\n<!-- quandary:begin -->\n",
        "<!-- quandary:begin -->\n<!-- quandary:begin -->\n<!-- quandary:end 0 {} -->\n",
    ],
)
def test_damaged_marks_are_refused(text: str) -> None:
    """Nobody can say what is between them."""
    with pytest.raises(ParseError, match="do not match"):
        find(text, BLOCK)


@pytest.mark.parametrize("noted", ["", "{", "[]", "null", "[" * 100_000])
def test_a_damaged_receipt_says_nothing(noted: str) -> None:
    """The text is still ours."""
    found = find(f"<!-- quandary:begin -->\na\n<!-- quandary:end 0 {noted} -->\n", BLOCK)
    assert found is not None
    assert found.receipt == {}
