"""Ids of questions: readable, short, and the same in every run."""

from __future__ import annotations

import time

import pytest

from quandary.model.keys import RESERVED, SplitIds, is_split, is_valid, slug


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("E4", "e4"),
        ("E4 detect mappings", "e4-detect-mappings"),
        ("  add_coverage.test!  ", "add-coverage-test"),
        ("Größe", "grosse"),
        ("naïve café", "naive-cafe"),
        ("Ørsted & Łódź", "orsted-lodz"),
        ("İzmir", "izmir"),
        ("ﬁne ①", "fine-1"),
        ("カタ", "kata"),
        ("한글", "hangeul"),
        ("ก ๒", "kai-2"),
        ("٣", "3"),
        ("日本", ""),
        ("👍", ""),
        ("---", ""),
    ],
)
def test_slugs_are_ascii(text: str, expected: str) -> None:
    """Lower-case letters, digits and hyphens; others as one would spell or count them."""
    assert slug(text) == expected


def test_an_id_is_made_of_skill_and_key() -> None:
    """With no skill it is the program's own; with no slug the option is called that."""
    assert SplitIds("plan-ceo-review", ["E4"]).options == {"E4": "plan-ceo-review-split-e4"}
    assert SplitIds("Ship It", ["rspec"]).options == {"rspec": "ship-it-split-rspec"}
    assert SplitIds("", ["日本", "👍"]).options == {
        "日本": "quandary-split-option",
        "👍": "quandary-split-option-2",
    }


def test_alike_slugs_are_numbered() -> None:
    """In the order of the options."""
    ids = SplitIds("s", ["a b", "a-b", "a_b", "a-b-2"]).options
    assert list(ids.values()) == [
        "s-split-a-b",
        "s-split-a-b-2",
        "s-split-a-b-3",
        "s-split-a-b-2-2",
    ]


def test_many_alike_are_numbered_in_time() -> None:
    """None of them tries all the numbers that are taken, also where long ones are cut alike."""
    keys = [f"{'x' * 80}{number}" for number in range(10_000)]
    begun = time.process_time()
    ids = list(SplitIds("s", [*keys, *map(chr, range(0x4E00, 0x4E00 + 10_000))]).options.values())
    assert time.process_time() - begun < 5
    assert len(set(ids)) == 20_000
    assert ids[10_000:10_003] == ["s-split-option", "s-split-option-2", "s-split-option-3"]
    assert ids[-1] == "s-split-option-10000"
    assert ids[9_999].endswith("x-10000")
    assert max(map(len, ids)) == 64


@pytest.mark.parametrize("name", RESERVED)
def test_reserved_slugs_are_no_options(name: str) -> None:
    """They belong to the split's own questions."""
    ids = SplitIds("s", [name])
    assert ids.own[name] == f"s-split-{name}"
    assert ids.options == {name: f"s-split-{name}-2"}


def test_further_questions_give_way_to_options() -> None:
    """Only the reserved slugs are taken from the options."""
    ids = SplitIds("s", ["hold"], ["hold"])
    assert ids.options == {"hold": "s-split-hold"}
    assert ids.own["hold"] == "s-split-hold-2"


def test_the_slug_is_cut_first_then_the_skill() -> None:
    """At most 64 characters, the number included."""
    long = "x" * 100
    ids = SplitIds("plan", [long, f"{long}y"]).options
    assert list(ids.values()) == [f"plan-split-{'x' * 53}", f"plan-split-{'x' * 51}-2"]
    (only,) = SplitIds("s" * 100, ["key"]).options.values()
    assert only == f"{'s' * 56}-split-k"


def test_what_is_an_id() -> None:
    """And what is one of a split."""
    assert is_valid("ship-tests")
    assert not any(map(is_valid, ("", "Ship", "a b", "x" * 65, "é", "a\n")))
    assert is_split("ship-split-rspec")
    assert not is_split("ship-splitting")
