"""Decision trees as values: walking, finding, comparing, inheriting."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from msgspec.structs import replace

from quandary.model.tree import (
    Decision,
    Extra,
    Option,
    Tree,
    extend,
    find,
    is_multi,
    named_of,
    other_of,
    walk,
)
from strategies import trees

REVIEW = Decision(
    "Review",
    (
        Option("OK", "Fine", "Nothing to do"),
        Option(
            "NO",
            "Not like this",
            "Say why",
            options=(
                Option("BUG", "It is wrong", options=(Option("OK", "Known already"),)),
                Option("LATE", "It is too late"),
            ),
        ),
        Option("OTH", "Other", options=(Option("ASK", "Ask around"), Option("WAIT", "Wait"))),
    ),
)

SMALL = Tree(
    "SMALL",
    (Decision("Pick", (Option("YES", "Yes", "It is so"), Option("NO", "No", multi=True))),),
    trigger="Something is at stake",
    extras=(Extra("A", "Think again"),),
    kind="advisory",
    question="Is it so?",
    keywords=("small",),
)
SMALL_DIGEST = "b83b63e2cfb41001407366406d0038bb76c4d00ceefdee28d9ac896f8707b831"


def codes(options: tuple[Option, ...]) -> list[str]:
    """The codes of a level, in order."""
    return [option.code for option in options]


# -- walking and finding -------------------------------------------------------------------------


def test_walking_goes_parents_first_in_the_order_written() -> None:
    """Every option comes once, before its own options and after its elder siblings."""
    expected = [
        "OK",
        "NO",
        "NO/BUG",
        "NO/BUG/OK",
        "NO/LATE",
        "OTH",
        "OTH/ASK",
        "OTH/WAIT",
    ]
    assert expected == ["/".join(path) for path, _ in REVIEW.walk()]
    assert expected == ["/".join(path) for path, _ in walk(REVIEW.options)]


def test_walking_a_very_deep_tree_needs_no_recursion() -> None:
    """Depth is limited by rules and not by Python's stack."""
    option = Option("END")
    for _ in range(2_000):
        option = Option("GO", options=(option,))
    decision = Decision("Deep", (option,))
    assert decision.depth == 2_001
    assert decision.count == 2_001


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("OK", "Fine"),
        ("NO", "Not like this"),
        ("NO/LATE", "It is too late"),
        ("NO/BUG/OK", "Known already"),
        ("OTH/WAIT", "Wait"),
    ],
)
def test_a_path_of_codes_leads_to_its_option(path: str, label: str) -> None:
    """Codes with slashes between them name one option, level by level."""
    option = REVIEW.find(path)
    assert option is not None
    assert label == option.label
    assert option is find(REVIEW.options, path)


@pytest.mark.parametrize(
    "path",
    ["", "/", "XX", "ok", "OK/", "/OK", "OK/BUG", "BUG", "NO/BUG/OK/OK", "NO//BUG", "NO BUG"],
)
def test_a_path_that_leads_nowhere_finds_nothing(path: str) -> None:
    """There is no guessing: neither the case nor the level nor a stray slash is made good."""
    assert REVIEW.find(path) is None


@given(trees())
def test_every_walked_path_finds_its_option(tree: Tree) -> None:
    """Walking and finding agree, whatever the tree, where siblings have codes of their own."""
    for decision in tree.decisions:
        for path, option in decision.walk():
            assert decision.find("/".join(path)) is option


def test_depth_counts_levels_and_count_counts_options() -> None:
    """Both take in the whole tree, OTH and its menu included."""
    assert REVIEW.depth == 3
    assert REVIEW.count == 8


def test_a_decision_without_options_has_no_depth() -> None:
    """An empty decision is a value like any other."""
    empty = Decision("Empty")
    assert empty.depth == 0
    assert empty.count == 0
    assert not empty.multi
    assert list(empty.walk()) == []


def test_a_tree_finds_its_decisions_by_name() -> None:
    """The name decides, to the letter; of two with one name the first is found."""
    first, second = Decision("One", (Option("X"),)), Decision("One", (Option("Y"),))
    tree = Tree("T", (first, second, REVIEW))
    assert REVIEW is tree.decision("Review")
    assert first is tree.decision("One")
    assert tree.decision("review") is None


# -- levels --------------------------------------------------------------------------------------


def test_one_flag_makes_a_level_multi_select() -> None:
    """Any option's `[ ]` is enough, and it says nothing about the levels above and below."""
    below = (Option("X", multi=True), Option("Y"))
    level = (Option("A"), Option("B", options=below))
    assert not is_multi(level)
    assert is_multi(below)
    assert not Decision("D", level).multi
    assert Decision("D", below).multi
    assert not is_multi(())


OTH = Option("OTH", "Other")
YES = Option("YES", "Yes")


@pytest.mark.parametrize(
    ("level", "other"),
    [
        ((YES, OTH), OTH),
        ((OTH, YES), OTH),
        ((YES, Option("OTH", "None of these")), Option("OTH", "None of these")),
        ((YES, Option("OTHR", "Other")), Option("OTHR", "Other")),
        ((YES, Option("OTHR", "Anything at all")), Option("OTHR", "Anything at all")),
        ((YES, Option("MORE", "More")), Option("MORE", "More")),
        ((YES, Option("MORE", "More options…")), Option("MORE", "More options…")),
        ((YES, Option("MORE", "OTHER ...")), Option("MORE", "OTHER ...")),
        ((YES, Option("MORE")), Option("MORE")),
        ((Option("MORE", "More"), Option("OTHR", "Other")), Option("OTHR", "Other")),
        ((YES,), None),
        ((), None),
        ((YES, Option("oth", "Other")), None),
        ((YES, Option("MORE", "More info")), None),
        ((YES, Option("ELSE", "Other")), None),
    ],
)
def test_other_is_oth_or_what_stands_in_for_it(
    level: tuple[Option, ...], other: Option | None
) -> None:
    """`[OTH]` wherever it stands, else `[OTHR]`, else a `[MORE]` that offers nothing else."""
    assert other == other_of(level)
    assert tuple(option for option in level if option != other) == named_of(level)


@pytest.mark.parametrize(
    "stand_in", [Option("OTHR", "Other"), Option("MORE", "More"), Option("MORE", "More info")]
)
def test_beside_oth_a_stand_in_is_a_named_option(stand_in: Option) -> None:
    """`[MORE] More info` next to `[OTH]` is a choice of its own, and so is any other stand-in."""
    level = (stand_in, YES, OTH)
    assert OTH is other_of(level)
    assert (stand_in, YES) == named_of(level)


def test_a_second_oth_is_a_named_option() -> None:
    """Only the first `[OTH]` is Other; the duplicate stays in sight."""
    again = Option("OTH", "Other again")
    assert (YES, again) == named_of((OTH, YES, again))


# -- equality, hash, immutability ----------------------------------------------------------------


def test_trees_are_equal_wherever_they_stand() -> None:
    """Line and column, and whether a fence is around it, are no part of what a tree says."""
    moved = replace(
        SMALL,
        line=7,
        column=3,
        fenced=True,
        decisions=tuple(
            replace(d, line=9, column=2, options=tuple(replace(o, line=10) for o in d.options))
            for d in SMALL.decisions
        ),
    )
    assert moved == SMALL
    assert hash(moved) == hash(SMALL)
    assert not moved != SMALL  # noqa: SIM202 - `!=` is a method of its own
    assert len({moved, SMALL}) == 1


DIFFERENT = [
    replace(SMALL, name="BIG"),
    replace(SMALL, title="A small one"),
    replace(SMALL, trigger=""),
    replace(SMALL, extras=()),
    replace(SMALL, extras=(Extra("B", "Think again"),)),
    replace(SMALL, kind="transition"),
    replace(SMALL, question="Really?"),
    replace(SMALL, keywords=("small", "tiny")),
    replace(SMALL, extends="BASE"),
    replace(SMALL, bare=True),
    replace(SMALL, decisions=()),
    replace(SMALL, decisions=SMALL.decisions * 2),
    replace(SMALL, decisions=(replace(SMALL.decisions[0], name="Take"),)),
    replace(SMALL, decisions=(replace(SMALL.decisions[0], question="Which?"),)),
    *(
        replace(SMALL, decisions=(replace(SMALL.decisions[0], options=options),))
        for options in (
            (Option("YES", "Yes", "It is so"),),
            (Option("NO", "No", multi=True), Option("YES", "Yes", "It is so")),
            (Option("Y", "Yes", "It is so"), Option("NO", "No", multi=True)),
            (Option("YES", "Aye", "It is so"), Option("NO", "No", multi=True)),
            (Option("YES", "Yes", "It is"), Option("NO", "No", multi=True)),
            (Option("YES", "Yes", "It is so"), Option("NO", "No")),
            (Option("YES", "Yes", "It is so", derived=True), Option("NO", "No", multi=True)),
            (Option("YES", "Yes", "It is so", options=(OTH,)), Option("NO", "No", multi=True)),
        )
    ),
]


@pytest.mark.parametrize("other", DIFFERENT)
def test_whatever_is_said_differently_makes_another_tree(other: Tree) -> None:
    """Each word of a tree counts, for equality and for the digest alike."""
    assert other != SMALL
    assert other.digest != SMALL.digest


def test_all_different_trees_have_different_digests() -> None:
    """No two of them collide, so that nothing said can be moved to another place unnoticed."""
    assert len(DIFFERENT) == len({tree.digest for tree in DIFFERENT})


def test_values_of_different_kinds_are_never_equal() -> None:
    """A decision is not an option of the same name, nor a string."""
    assert Option("A") != Decision("A")
    assert Option("A") != "A"
    assert Tree("A") != Decision("A")


@pytest.mark.parametrize(
    ("value", "field"),
    [(SMALL, "name"), (REVIEW, "options"), (YES, "label"), (Extra("A", "x"), "text")],
)
def test_values_cannot_be_changed(value: object, field: str) -> None:
    """A tree in use stays what it was when it was read."""
    with pytest.raises(AttributeError):
        setattr(value, field, "other")


@given(trees())
def test_equal_trees_have_equal_hashes_and_digests(tree: Tree) -> None:
    """A copy made piece by piece is the same tree."""
    copy = replace(
        tree,
        line=tree.line + 1,
        decisions=tuple(replace(d, column=9, options=tuple(d.options)) for d in tree.decisions),
    )
    assert tree == copy
    assert hash(tree) == hash(copy)
    assert tree.digest == copy.digest


def test_the_digest_never_changes_between_processes() -> None:
    """Digests are kept in files, so one tree has one digest for ever, on any machine."""
    program = (
        "from quandary.model.tree import *\n"
        "options = (Option('YES', 'Yes', 'It is so', line=4), Option('NO', 'No', multi=True))\n"
        "print(Tree('SMALL', (Decision('Pick', options),), trigger='Something is at stake',\n"
        "    extras=(Extra('A', 'Think again'),), kind='advisory', question='Is it so?',\n"
        "    keywords=('small',), line=12).digest)\n"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert {SMALL_DIGEST} == seen
    assert SMALL.digest == SMALL_DIGEST


# -- extending -----------------------------------------------------------------------------------

BASE = Tree(
    "BASE",
    (
        Decision(
            "Base",
            (
                Option("OK", "Fine", "Go on", options=(Option("SUB", "Below"),)),
                Option("TAG", "Tag it", "With a noun", multi=True),
                Option("OTH", "Other", options=(Option("ASK", "Ask"), Option("WAIT", "Wait"))),
            ),
        ),
        Decision("Second", (Option("OK", "Never reached"), Option("LAST", "The last"))),
    ),
    trigger="Base trigger",
    extras=(Extra("A", "Base extra"),),
    kind="advisory",
    question="Base question?",
    keywords=("base",),
)


def extended(*options: Option) -> tuple[Option, ...]:
    """The options of a tree that extends BASE."""
    tree = Tree("T", (Decision("D", options),), extends="BASE")
    return extend(tree, BASE).decisions[0].options


def test_a_bare_code_takes_over_the_option_of_the_base() -> None:
    """Label, description, flag and the options below all come from there."""
    base = BASE.decisions[0].options
    assert base == extended(Option("OK"), Option("TAG"), Option("OTH"))


def test_the_order_is_the_extending_trees_and_the_rest_is_left_out() -> None:
    """Only what is mentioned is taken over, in the order of mention."""
    assert codes(extended(Option("OTH"), Option("OK"))) == ["OTH", "OK"]


def test_an_option_with_a_label_is_its_own() -> None:
    """A label makes the option new, even where the base has that code."""
    own = Option("OK", "Mine")
    assert (own,) == extended(own)


def test_a_description_or_options_beside_a_bare_code_replace_the_bases() -> None:
    """What is written wins; what is left out is inherited."""
    (option,) = extended(Option("OK", "", "Mine", options=(Option("NEW", "New"),)))
    assert Option("OK", "Fine", "Mine", options=(Option("NEW", "New"),)) == option


def test_bare_codes_are_found_at_any_level_and_the_first_one_counts() -> None:
    """A code below an option inherits too, and from wherever the base has it first."""
    (option,) = extended(Option("NEW", "New", options=(Option("ASK"), Option("OK"))))
    assert [child.label for child in option.options] == ["Ask", "Fine"]
    assert (Option("LAST", "The last"),) == extended(Option("LAST"))


def test_a_bare_code_takes_over_from_the_same_place() -> None:
    """The menu of the first level is not that of a level below, nor another decision's."""
    menus = [Option("OTH", f"Other {n}", options=(Option("ASK", f"Ask {n}"),)) for n in range(3)]
    first = Decision("First", (Option("NO", "No", options=(menus[1],)), menus[0]))
    base = Tree("BASE", (first, Decision("Second", (menus[2],))))
    bare = (Option("NO", "Mine", options=(Option("OTH"),)), Option("OTH"))
    tree = Tree("T", (Decision("D", bare), Decision("Second", (Option("OTH"),))), extends="BASE")
    found = [option for decision in extend(tree, base).decisions for option in decision.options]
    assert (found[0].options, *found[1:]) == ((menus[1],), menus[0], menus[2])


def test_an_unknown_bare_code_stays_bare() -> None:
    """What the base does not have cannot be inherited and is not dropped."""
    assert (Option("XX"),) == extended(Option("XX"))


def test_keys_that_are_left_out_come_from_the_base() -> None:
    """Trigger, extras, kind, question and keywords are inherited one by one; the name never is."""
    tree = extend(Tree("T", extends="BASE", question="Mine?"), BASE)
    expected = replace(BASE, name="T", extends="BASE", question="Mine?")
    assert expected == tree


def test_a_tree_with_decisions_does_not_inherit_more_of_them() -> None:
    """The base's decisions stand in only where there are none."""
    own = Decision("D", (Option("OK"),))
    tree = extend(Tree("T", (own,), extends="BASE", trigger="Mine"), BASE)
    assert [decision.name for decision in tree.decisions] == ["D"]
    assert tree.trigger == "Mine"


@given(trees(), trees())
def test_extending_leaves_a_complete_tree_as_it_is(tree: Tree, base: Tree) -> None:
    """Where every option has a label, nothing of the base's options is taken over."""
    assert tree.decisions == extend(tree, base).decisions
