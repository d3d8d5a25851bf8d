"""A tree drawn in text."""

from __future__ import annotations

import re
import subprocess
import sys
from unicodedata import bidirectional, category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.formats.drawings import caption, cells, draw_tree, nodes
from quandary.model.text import printable
from quandary.model.tree import Decision, Extra, Option, Tree
from strategies import HOSTILE, trees

PLAN_REVIEW = Tree(
    "Plan Review",
    (
        Decision(
            "Plan Review",
            (
                Option("OK", "Looks good", "Nothing to change in this step"),
                Option("INF", "More info needed", "Something about it is not clear"),
                Option(
                    "NO",
                    "Not like this",
                    "The step stays,\nits way of doing it goes",
                    options=(Option("RWK", "Rework"), Option("DROP", "Drop")),
                ),
                Option(
                    "OTH",
                    "Other",
                    options=(
                        Option("CHG", "Change approach", "The plan heads the wrong way"),
                        Option("SPL", "Split this step"),
                    ),
                ),
            ),
        ),
    ),
    bare=True,
)

TRIAGE = Tree(
    "TRIAGE",
    (
        Decision("Tags", (Option("TAG", "Tag it", "With a noun", multi=True), Option("OTH", "No"))),
        Decision("Next", (Option("GO", "Go on"),), question="Where to now?"),
    ),
    title="What to do with a finding",
    trigger="A review has left findings that nobody has looked at",
    extras=(Extra("A", "Defer all"), Extra("B", "Ask the author")),
    kind="advisory",
    question="What about this one?",
    keywords=("tag", "triage"),
    extends="BASE",
)


def one(*options: Option) -> Tree:
    """A tree of one decision called D."""
    return Tree("D", (Decision("D", options),))


def plain(tree: Tree, width: int = 80) -> str:
    """The tree drawn without colour."""
    return draw_tree(tree, width=width, colour=False)


def test_options_hang_on_branches_with_their_codes_aligned() -> None:
    """Labels of a level start in one column, descriptions below them, levels below those."""
    expected = """\
Plan Review
├─ OK   Looks good
│       Nothing to change in this step
├─ INF  More info needed
│       Something about it is not clear
├─ NO   Not like this
│  │    The step stays,
│  │    its way of doing it goes
│  ├─ RWK   Rework
│  └─ DROP  Drop
└─ OTH  Other
   ├─ CHG  Change approach
   │       The plan heads the wrong way
   └─ SPL  Split this step
"""
    assert expected == plain(PLAN_REVIEW)


def test_the_heading_says_what_a_tree_is_for() -> None:
    """Name, title and what else the author declared stand above the decisions."""
    expected = """\
TRIAGE
What to do with a finding
trigger   A review has left findings
          that nobody has looked at
kind      advisory
question  What about this one?
also      A: Defer all
          B: Ask the author
keywords  tag, triage
extends   BASE

Tags  choose several
├─ TAG  ☐ Tag it
│         With a noun
└─ OTH    No

Next
Where to now?
└─ GO  Go on
"""
    assert expected == plain(TRIAGE, width=40)


def test_a_derived_code_stands_in_parentheses() -> None:
    """A code that the author did not write is not shown as if they had."""
    tree = one(Option("OK", "Fine"), Option("LATER", "Later", derived=True))
    expected = "D\n├─ OK       Fine\n└─ (LATER)  Later\n"
    assert expected == plain(tree)


def test_an_overlong_code_pushes_down_its_own_label_only() -> None:
    """One odd code does not move the labels of its whole level."""
    tree = one(Option("OK", "Fine"), Option("FARTOOLONGACODE", "Odd"))
    expected = "D\n├─ OK  Fine\n└─ FARTOOLONGACODE\n       Odd\n"
    assert expected == plain(tree)


@pytest.mark.parametrize(
    ("tree", "expected"), [(one(Option("OK")), "D\n└─ OK\n"), (Tree("NOTHING"), "NOTHING\n")]
)
def test_what_is_empty_takes_no_room(tree: Tree, expected: str) -> None:
    """No label leaves no trailing space, no decisions no blank line."""
    assert expected == plain(tree)


def test_wide_characters_count_twice_and_break_anywhere_but_before_a_full_stop() -> None:
    """A line of Chinese or Japanese is as wide as it looks, and wraps without spaces."""
    tree = one(Option("OK", "会議は来週まで延期す。承認は保留です。"))
    expected = "D\n└─ OK  会議は来週まで延期\n       す。承認は保留です。\n"
    assert expected == plain(tree, width=27)


@pytest.mark.parametrize(
    ("shown", "columns"),
    [("abc", 3), ("日本", 4), ("e\u0301", 1), ("😀", 2), ("a\u200db", 2), ("", 0), ("ﾊﾝ", 2)],
)
def test_cells_are_columns_of_a_terminal(shown: str, columns: int) -> None:
    """Wide characters take two columns, marks and joiners none."""
    assert columns == cells(shown)


def test_a_word_too_long_for_its_line_is_broken() -> None:
    """Nothing sticks out, whatever its length, and nothing is left out."""
    expected = ["└─ OK  " + "x" * 33, *[" " * 7 + "x" * 33] * 2, " " * 7 + "x"]
    assert expected == plain(one(Option("OK", "x" * 100)), width=40).splitlines()[1:]


@given(trees(), st.integers(60, 120))
def test_no_line_is_wider_than_asked_or_ends_in_a_space(tree: Tree, width: int) -> None:
    """Trees of up to four levels fit the width that was asked for."""
    for line in plain(tree, width).split("\n"):
        assert cells(line) <= width
        assert line == line.rstrip(" ")


@given(trees())
def test_everything_a_tree_says_is_drawn(tree: Tree) -> None:
    """Given the room, every name, code, label and description is there in full."""
    drawn = plain(tree, width=1000)
    said = [tree.name, tree.trigger, tree.question, tree.kind, *tree.keywords]
    said += [extra.text for extra in tree.extras]
    for decision in tree.decisions:
        said.append(decision.name)
        for _, option in decision.walk():
            said += [option.code, option.label, *option.description.split("\n")]
    assert not [part for part in said if printable(part) not in drawn]


@given(trees())
def test_colour_adds_escapes_and_nothing_else(tree: Tree) -> None:
    """The coloured drawing is the plain one with escapes that end on their own line."""
    coloured = draw_tree(tree, width=72, colour=True)
    assert "\x1b" in coloured
    assert plain(tree, 72) == re.sub("\x1b\\[[0-9]+m", "", coloured)
    for line in coloured.split("\n"):
        assert line.count("\x1b[0m") * 2 == line.count("\x1b")


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x00\x07\x7f", "\\x00\\x07\\x7f"),
        ("\x85\x9b", "\\x85\\x9b"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066a\u2069", "\\u2066a\\u2069"),
        ("\ud800", "\\ud800"),
        ("a\nb\r\nc\rd\te", "a b c d e"),
        ("a\u2028b\u2029c", "a b c"),
        ("naïve 日本 👍🏽 \\x1b", "naïve 日本 👍🏽 \\x1b"),
    ],
)
def test_control_characters_are_shown_not_obeyed(hidden: str, shown: str) -> None:
    """Breaks become spaces, other controls visible escapes, anything else stays."""
    assert shown == printable(hidden)


@given(st.text())
def test_no_text_can_command_a_terminal(written: str) -> None:
    """Whatever is written, no control, line break or bidirectional override is left."""
    shown = printable(written)
    assert {"Cc", "Cs", "Zl", "Zp"}.isdisjoint(map(category, shown))
    assert {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}.isdisjoint(
        map(bidirectional, shown)
    )
    assert shown == printable(shown)


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_made_printable_wherever_it_stands(hostile: str) -> None:
    """Every part of a tree is shown with its controls visible."""
    option = Option(hostile, hostile, hostile, options=(Option(hostile, derived=True),))
    tree = Tree(
        hostile,
        (Decision(hostile, (option,), hostile), Decision("D")),
        hostile,
        hostile,
        (Extra("A", hostile),),
        hostile,
        hostile,
        (hostile,),
        hostile,
    )
    for line in plain(tree).removesuffix("\n").split("\n"):
        assert line == printable(line)
        assert cells(line) <= 80


def test_deep_trees_leave_room_for_their_text() -> None:
    """Past the width a branch still has twenty columns for its label."""
    deep = Option("A", "the end of it all is here")
    for _ in range(99):
        deep = Option("A", "on", options=(deep,))
    expected = ["└─ A  the end of it all is", "here"]
    assert expected == [line.strip() for line in plain(one(deep)).splitlines()[-2:]]


def test_nodes_know_their_parents_and_which_of_them_is_other() -> None:
    """Painters get every shape after the one that leads to it."""
    found = [(n.id, n.parent, n.shape, n.other) for n in nodes(PLAN_REVIEW)][:7]
    expected = [
        ("n1", "", "decision", False),
        ("n2", "n1", "leaf", False),
        ("n3", "n1", "leaf", False),
        ("n4", "n1", "branch", False),
        ("n5", "n4", "leaf", False),
        ("n6", "n4", "leaf", False),
        ("n7", "n1", "branch", True),
    ]
    assert expected == found


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (Option("TAG", "Tag it", multi=True), "[TAG] ☐ Tag it"),
        (Option("LATER", "Later", derived=True), "(LATER) Later"),
        (Option("OK"), "[OK]"),
    ],
)
def test_a_caption_reads_like_the_line_it_was_written_on(option: Option, expected: str) -> None:
    """Code, box if several may be chosen, label."""
    assert expected == caption(option)


def test_drawing_loads_nothing_heavy() -> None:
    """`show` starts fast."""
    program = "import sys, quandary.formats.drawings; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert {"pathlib", "dataclasses", "rich"}.isdisjoint(done.stdout.decode().split())
