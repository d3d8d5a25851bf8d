"""The `Key: value` lines under a tree's heading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.formats.markdown import (
    KEYS,
    Field,
    is_field,
    plain_name,
    read_extras,
    read_fields,
    read_keywords,
    write_extras,
)
from quandary.formats.markdown.blocks import scan
from quandary.model.tree import Extra
from strategies import lines, split_lines


def read(text: str) -> tuple[list[Field], list[Field]]:
    """The keys of a text that is one paragraph."""
    (paragraph,) = scan(split_lines(text)).children
    return read_fields(paragraph)


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize(
    "form", ["{}: x", "{}:\tx", "{}:", "{} : x", "**{}**: x", "**{}:** x", "__{}__: x"]
)
def test_each_key_is_known_in_every_dress(name: str, form: str) -> None:
    """Plain or bold, in any case, with a value or without."""
    for written in (name, name.upper(), name.lower()):
        assert is_field(form.format(written))


@pytest.mark.parametrize(
    "text",
    ["Triggers: x", "Trigger x", "Trigger:x", "The Trigger: x", "- Trigger: x", "Note: x", ""],
)
def test_other_lines_are_no_keys(text: str) -> None:
    """A key is a whole word at the beginning of a line, with a colon and a space behind it."""
    assert not is_field(text)


def test_keys_are_read_with_their_places() -> None:
    """Name, value, line and column; the name is written in one way whatever its author did."""
    known, unknown = read("Trigger: now\n  **KIND:** advisory\nquestion : Why?")
    assert [
        Field("Trigger", "now", 0, 0, 0),
        Field("Kind", "advisory", 1, 2, 1),
        Field("Question", "Why?", 2, 0, 2),
    ] == known
    assert unknown == []


def test_a_value_runs_on_over_several_lines() -> None:
    """Lines that are no keys go on with the value above them, joined by spaces."""
    known, _ = read("Trigger: when this\n  or that\nhappens\nKind: advisory")
    assert [
        Field("Trigger", "when this or that happens", 0, 0, 2),
        Field("Kind", "advisory", 3, 0, 3),
    ] == (known)


def test_a_value_may_begin_on_the_line_below() -> None:
    """A key at the end of its line takes what follows."""
    known, _ = read("Trigger:\nwhen this happens")
    assert [Field("Trigger", "when this happens", 0, 0, 1)] == known


def test_unknown_keys_are_kept_apart() -> None:
    """Among known keys a capitalised word with a colon is a key too, and ends the value above."""
    known, unknown = read("Trigger: a\nPriority: high\nKind: advisory")
    assert [key.name for key in known] == ["Trigger", "Kind"]
    assert [Field("Priority", "high", 1, 0, 1)] == unknown


@pytest.mark.parametrize(
    "text", ["Note: this is prose", "Just prose.", "Note: a\nWarning: b", "See: x\nhttp: y"]
)
def test_a_paragraph_without_a_known_key_is_prose(text: str) -> None:
    """Prose often begins with a word and a colon; that makes no keys."""
    assert read(text) == ([], [])


def test_text_with_a_colon_inside_a_value_is_value() -> None:
    """Lower-case words, short words and addresses begin no key."""
    known, unknown = read("Trigger: a\nsee: b\nhttps://example.org\nAB: c")
    assert [key.value for key in known] == ["a see: b https://example.org AB: c"]
    assert unknown == []


# -- extras --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "extras"),
    [
        ("A: one", (Extra("A", "one"),)),
        ("A: one | B: two | C: three", (Extra("A", "one"), Extra("B", "two"), Extra("C", "three"))),
        ("a: one | b: two", (Extra("A", "one"), Extra("B", "two"))),
        ("A. one | B) two", (Extra("A", "one"), Extra("B", "two"))),
        ("A:one|B:two", (Extra("A", "one"), Extra("B", "two"))),
        ("B: two", (Extra("B", "two"),)),
        ("A? one | b ? two?", (Extra("A", "one", shows=True), Extra("B", "two?", shows=True))),
        ("A: one: and a half", (Extra("A", "one: and a half"),)),
    ],
)
def test_extras_are_letters_and_texts(value: str, extras: tuple[Extra, ...]) -> None:
    """Bars stand between them; each begins with its letter."""
    assert (extras, True) == read_extras(value)


@pytest.mark.parametrize(
    ("value", "extras"),
    [
        ("", ()),
        ("show the diff, run the tests", ()),
        ("A: one | two", (Extra("A", "one"),)),
        ("A: one | A: two", (Extra("A", "one"),)),
        ("A: one | | B: two", (Extra("A", "one"), Extra("B", "two"))),
        ("A: one |", (Extra("A", "one"),)),
        ("A:", ()),
        ("D: four", (Extra("D", "four"),)),
        ("AB: one", ()),
    ],
)
def test_extras_of_another_form_are_read_as_far_as_possible(
    value: str, extras: tuple[Extra, ...]
) -> None:
    """Whatever has a letter of its own is kept, and the rest makes the line ill-formed."""
    assert (extras, False) == read_extras(value)


@given(st.lists(lines().filter(lambda text: "|" not in text), max_size=3))
def test_extras_that_were_written_are_read_again(texts: list[str]) -> None:
    """Any text without a bar survives under its letter."""
    extras = tuple(Extra(letter, text) for letter, text in zip("ABC", texts, strict=False))
    if extras:
        assert (extras, True) == read_extras(write_extras(extras))


# -- keywords and references ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", ()),
        ("one", ("one",)),
        ("one, two words ,three", ("one", "two words", "three")),
        (", one,,", ("one",)),
    ],
)
def test_keywords_are_separated_by_commas(value: str, words: tuple[str, ...]) -> None:
    """A keyword may have spaces within; empty ones are none."""
    assert words == read_keywords(value)


@pytest.mark.parametrize(
    "reference", ["BASE", "¶ASK_BASE", "§ASK_BASE", "ASK_BASE", "`¶ASK_BASE`", "  `BASE` "]
)
def test_a_reference_may_carry_a_mark(reference: str) -> None:
    """All the ways of naming a tree lead to its plain name."""
    assert plain_name(reference) == "BASE"


def test_only_one_mark_is_taken_off_a_reference() -> None:
    """A tree may itself be named ASK_SOMETHING."""
    assert plain_name("¶ASK_ASK_AGAIN") == "ASK_AGAIN"
