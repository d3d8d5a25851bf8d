"""The first line of an option, read and written."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quandary.formats.markdown import (
    Codes,
    Head,
    is_template,
    read_head,
    without_comments,
    write_head,
)
from strategies import codes, lines


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("[OK] Looks good", Head("OK", False, "Looks good")),
        ("[OK]\tLooks good", Head("OK", False, "Looks good")),
        ("[OK]   Looks good  ", Head("OK", False, "Looks good")),
        ("[OK]", Head("OK", False, "")),
        ("Looks good", Head("", False, "Looks good")),
        ("", Head("", False, "")),
        ("[OK] 👍 よい", Head("OK", False, "👍 よい")),
    ],
)
def test_a_head_is_a_code_and_a_label(text: str, head: Head) -> None:
    """Either may be missing; the blanks around them are nobody's."""
    assert head == read_head(text)


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("[OK] [ ] Fine", Head("OK", True, "Fine")),
        ("[OK] [] Fine", Head("OK", True, "Fine")),
        ("[OK] [\t] Fine", Head("OK", True, "Fine")),
        ("[OK] [ ]", Head("OK", True, "")),
        ("[OK] [x] Fine", Head("OK", True, "Fine", ticked=True)),
        ("[ ] [OK] Fine", Head("OK", True, "Fine", True)),
        ("[x] [OK] Fine", Head("OK", True, "Fine", True, ticked=True)),
        ("[ ] [OK] [ ] Fine", Head("OK", True, "Fine", True)),
        ("[ ] Fine", Head("", True, "Fine")),
        ("[ ]", Head("", True, "")),
        ("[X] Fine", Head("X", False, "Fine")),
        ("[X] [ ] Fine", Head("X", True, "Fine")),
        ("[X] [x] Fine", Head("X", True, "Fine", ticked=True)),
    ],
)
def test_a_box_on_either_side_of_the_code_marks_multi_select(text: str, head: Head) -> None:
    """The proper side is behind the code; within the label brackets are just brackets."""
    assert head == read_head(text)


@pytest.mark.parametrize(
    "text",
    [
        *("[TAG][ ] Tag it", "[TAG] [ ]Tag it", "[TAG][ ]Tag it", "[TAG][] Tag it"),
        *("[ ][TAG] Tag it", "[TAG][x] Tag it", "[TAG] [x]Tag it", "[x][TAG] Tag it"),
        *("[TAG] [  ] Tag it", "[TAG] [_] Tag it", "[TAG] [-] Tag it", "[TAG] ☐ Tag it"),
        *("[TAG] [ ]: Tag it", "[TAG] [ ] [ ] Tag it", "[TAG] Tag it [ ]", "**[TAG]**[ ] Tag it"),
        *("[TAG]\u00a0[ ] Tag it", "[TAG] [\u00a0] Tag it", "[ ]\u00a0[TAG] Tag it"),
        *("[TAG [ ] Tag it", "TAG] [ ] Tag it", "(TAG) [ ] Tag it", "TAG [ ] Tag it"),
    ],
)
def test_a_near_miss_around_a_box_is_read_as_meant(text: str) -> None:
    """The code that was written counts, and a rule says how the line should look."""
    head = read_head(text)
    assert (head.code, head.multi, head.label) == ("TAG", True, "Tag it")
    assert head.near_miss


def test_a_code_without_a_blank_or_a_bracket_is_a_near_miss() -> None:
    """It is a code all the same; with nothing but capitals it is a label."""
    assert read_head("[OK]Fine") == Head("OK", False, "Fine", near_miss=True)
    assert read_head("OK] Fine") == Head("OK", False, "Fine", near_miss=True)
    assert read_head("[ ]Fine") == Head("", True, "Fine", near_miss=True)
    assert read_head("OK Fine") == Head("", False, "OK Fine")


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("[OK]: Fine", Head("OK", False, "Fine")),
        ("**[OK]** Fine", Head("OK", False, "Fine")),
        ("**[OK]**: Fine", Head("OK", False, "Fine")),
        ("__[OK]__ Fine", Head("OK", False, "Fine")),
        ("`[OK]` Fine", Head("OK", False, "Fine")),
        ("[ OK ] Fine", Head("OK", False, "Fine")),
        ("[ok] Fine", Head("ok", False, "Fine")),
        ("[APPROVED] Fine", Head("APPROVED", False, "Fine")),
        ("[A/B] Fine", Head("A/B", False, "Fine")),
        ("[A,B] Fine", Head("A,B", False, "Fine")),
        ("[ÄÖ] Fine", Head("ÄÖ", False, "Fine")),
        ("[two words] Fine", Head("two words", False, "Fine")),
        ("[1] Fine", Head("1", False, "Fine")),
    ],
)
def test_codes_are_read_in_every_dress(text: str, head: Head) -> None:
    """Bold, quoted, with a colon or of the wrong form: it is the rules that judge, not reading."""
    assert head == read_head(text)


@pytest.mark.parametrize("dress", ["`", "*", "**", "__"])
@given(st.lists(st.sampled_from(["Run", "it,", "`npm test`", "*now*", "`rm`"]), min_size=1))
@example(["Run", "`npm test`"])
@example(["Never,", "`rm`", "it"])
@example(["`npm test`", "now"])
def test_a_code_in_dress_takes_nothing_of_a_label(dress: str, words: list[str]) -> None:
    """The code or the stars of a label are its own, and it is written as it was read."""
    head = read_head(f"{dress}[OK]{dress} {(label := ' '.join(words))}")
    assert head == Head("OK", False, label)
    assert head == read_head(write_head(head.code, head.label, multi=False))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *(("**[OK] Fine**", "Fine"), ("***[OK]: Fine***", "Fine"), ("`[OK] Fine`", "Fine")),
        ("**[OK]Fine**", "Fine"),
        ("**[OK] Fine** — as it is", "**Fine** — as it is"),
        ("__[OK] Fine:__ as it is", "__Fine:__ as it is"),
    ],
)
def test_a_code_in_bold_together_with_its_label_is_a_near_miss(text: str, label: str) -> None:
    """The code that was written counts, and what is bold beside it stays so."""
    assert read_head(text) == Head("OK", False, label, near_miss=True)
    assert read_head("__[OK] [ ] Fine__") == Head("OK", True, "Fine", near_miss=True)


@pytest.mark.parametrize(
    "text",
    [
        "[text](https://example.org)",
        "[text][1]",
        "[[wiki]] page",
        "[OK](#anchor) Fine",
        "[OK]{.class}",
        "[`code`] Fine",
        "**[text]Fine**",
        "**[OK]**Fine** day",
        "**[OK](#anchor) Fine**",
        "**[OK] Fine",
        "**[OK]**[link](#anchor) Fine",
        f"[{'A' * 41}] Fine",
        "(OK) Fine",
        "OK Fine",
    ],
)
def test_links_and_other_brackets_are_labels(text: str) -> None:
    """What is not a code at the very beginning is part of the label, to the letter."""
    assert Head("", False, text) == read_head(text)


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("\\[OK] Fine", Head("", False, "[OK] Fine")),
        ("\\[ ] Fine", Head("", False, "[ ] Fine")),
        ("[OK] \\[ ] Fine", Head("OK", False, "[ ] Fine")),
        ("[OK] \\\\[ ] Fine", Head("OK", False, "\\[ ] Fine")),
        ("[OK] \\[A] Fine", Head("OK", False, "\\[A] Fine")),
        ("[OK] \\Fine", Head("OK", False, "\\Fine")),
    ],
)
def test_a_backslash_keeps_brackets_in_the_label(text: str, head: Head) -> None:
    """It is taken away only where the label would otherwise be read as a code or a flag."""
    assert head == read_head(text)


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("[OK] Fine <!-- why -->", Head("OK", False, "Fine")),
        ("[OK] <!-- why --> Fine", Head("OK", False, "Fine")),
        ("<!-- why --> [OK] Fine", Head("OK", False, "Fine")),
        ("[OK] one <!-- a --> two <!-- b -->", Head("OK", False, "one two")),
        ("[OK] Fine <!-- open", Head("OK", False, "Fine <!-- open")),
        ("[OK] Fine --> there", Head("OK", False, "Fine --> there")),
    ],
)
def test_comments_are_no_part_of_a_label(text: str, head: Head) -> None:
    """They are for authors; a comment that is never closed is text."""
    assert head == read_head(text)


@pytest.mark.parametrize(
    ("code", "label", "multi", "expected"),
    [
        ("OK", "Fine", False, "[OK] Fine"),
        ("OK", "Fine", True, "[OK] [ ] Fine"),
        ("OK", "", False, "[OK]"),
        ("OK", "", True, "[OK] [ ]"),
        ("", "Fine", False, "Fine"),
        ("", "Fine", True, "[ ] Fine"),
        ("", "", False, ""),
        ("OK", "[ ] Fine", False, "[OK] \\[ ] Fine"),
        ("OK", "- Fine", False, "[OK] - Fine"),
        ("", "[OK] Fine", False, "\\[OK] Fine"),
        ("", "- Fine", False, "    - Fine"),
        ("", "> Fine", False, "    > Fine"),
        ("", "1. Fine", False, "    1. Fine"),
    ],
)
def test_a_head_is_written_in_one_way(code: str, label: str, multi: bool, expected: str) -> None:
    """Code, flag, label; what would be taken for something else is kept from it."""
    assert expected == write_head(code, label, multi=multi)


@given(st.one_of(st.just(""), codes()), st.one_of(st.just(""), lines()), st.booleans())
@example("", "[x] [A] b", False)
@example("", "[A]b", False)
@example("OK", "\\\\[ ] x", False)
@example("", "[ ]", True)
@example("", "**[A]** b", True)
@example("", "`[A]`: b", False)
@example("", "**[A] b** c", False)
def test_what_is_written_is_read_again(code: str, label: str, multi: bool) -> None:
    """Any label survives with any code, or with none, flagged or not."""
    written = write_head(code, label, multi=multi)
    assert Head(code, multi, label) == read_head(written.strip(" "))


@given(st.text())
def test_any_line_has_a_head(text: str) -> None:
    """Reading never fails, and without brackets and comments all of it is label."""
    head = read_head(text)
    if not set(text) & set("[]<\\"):
        assert Head("", False, text.strip(" \t")) == head


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a <!-- b --> c", "a c"),
        ("a <!-- b\nc --> d", "a d"),
        ("<!-- a -->", ""),
        ("a <!-- b", "a <!-- b"),
        ("a --> b <!-- c -->", "a --> b"),
        ("<!--a--><!--b-->c", "c"),
    ],
)
def test_comments_are_taken_out_of_texts(text: str, expected: str) -> None:
    """All of a comment goes, also over several lines, and nothing else."""
    assert expected == without_comments(text)


# -- templates -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "label", "expected"),
    [
        ("CODE", "", True),
        ("CODE", "Label", True),
        ("CODE", "Label text", True),
        ("CODE", "[Label]", True),
        ("CODE", "<what it says>", True),
        ("CODE", "{label}", True),
        ("CODE", "Review the code", False),
        ("CODE", "Labelled by hand", False),
        ("OK", "Label", False),
        ("code", "Label", False),
    ],
)
def test_a_place_to_be_filled_in_is_no_option(code: str, label: str, expected: bool) -> None:
    """`[CODE]` with a placeholder behind it explains the format; with words it is an option."""
    assert expected == is_template(code, label)


# -- codes for those who have none ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "taken", "expected"),
    [
        ("Close it", set(), "CI"),
        ("Close", set(), "CLO"),
        ("Close", {"CLO"}, "CLOS"),
        ("Fix it first of all", set(), "FIFO"),
        ("Other", set(), "OTH"),
        ("Other…", set(), "OTH"),
        ("other ...", set(), "OTH"),
        ("Other", {"OTH"}, "OTHE"),
        ("Others", set(), "OTHE"),
        ("Only the hat", set(), "ONL"),
        ("More", set(), "MOR"),
        ("A", set(), "AA"),
        ("日本", set(), "OPT"),
        ("日本", {"OPT"}, "OPA"),
        ("", set(), "OPT"),
        ("2", set(), "OPT"),
    ],
)
def test_a_code_is_made_from_the_labels_letters(label: str, taken: set[str], expected: str) -> None:
    """Initials, else the first letters; only a plain Other is OTH, and extras keep A, B and C."""
    assert expected == Codes(taken).derive(label)


@given(st.lists(lines(), max_size=60))
def test_derived_codes_are_unique_and_stable(labels: list[str]) -> None:
    """However many siblings there are, each gets a code of its own, the same every time."""

    def derive() -> list[str]:
        known = Codes(())
        return [known.derive(label) for label in labels]

    derived = derive()
    assert len(derived) == len(set(derived))
    assert derived == derive()
    assert all(code.isascii() and code.isalpha() and code.isupper() for code in derived)
    assert not {"A", "B", "C", "OTHR", "MORE"} & set(derived)


def test_derived_codes_never_run_out() -> None:
    """A hundred thousand equal labels get as many codes, and the last one as fast as the first."""
    known = Codes(("SAM", "SAA"))
    derived = {known.derive("Same") for _ in range(100_000)}
    assert len(derived) == 100_000
    assert not {"SAM", "SAA"} & derived
