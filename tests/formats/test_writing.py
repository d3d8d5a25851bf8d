"""Trees written as Markdown, alone and where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from quandary.formats.markdown import parse
from quandary.formats.markdown.writing import canonical, format, rewrite
from quandary.model.tree import Decision, Extra, Option, Tree
from strategies import trees, written_trees

EXAMPLES = sorted((Path(__file__).parents[2] / "examples/trees").glob("*.md"))

UNTIDY = """\
Some prose..
with trailing blanks

##  ¶ASK_SHIP  ##

trigger:   the build
   is green
Extras: A: Wait |B:  Ask again

Keywords: ship,  deploy ,

A paragraph that stays as it is .


## decision : Ship
* [YES]   Ship it
    It goes out
* [ ] [NO] Keep it
It stays

1. [FIX] Mend it <!-- soon -->

   In two
   lines
+ [OTH] Other
    - [ASK] Ask
          Somebody knows
    - [DEF] Later

Prose after it..
""".replace("..\n", "  \n")

TIDY = """\
Some prose..
with trailing blanks

## ¶ASK_SHIP
Trigger: the build is green
Extras: A: Wait | B: Ask again
Keywords: ship, deploy

A paragraph that stays as it is .


## Decision: Ship
- [YES] Ship it
  It goes out
- [NO] [ ] Keep it
  It stays
- [FIX] Mend it <!-- soon -->
  In two
  lines
- [OTH] Other
  - [ASK] Ask
    Somebody knows
  - [DEF] Later

Prose after it..
""".replace("..\n", "  \n")


def test_an_untidy_tree_is_put_in_order() -> None:
    """Bullets, indents, flags, keys and empty lines become canonical; prose stays."""
    assert canonical(UNTIDY) == TIDY


def test_line_ends_and_mark_are_kept() -> None:
    """CRLF, a byte order mark and a missing last line end survive."""
    text = "\ufeff" + UNTIDY.rstrip("\n").replace("\n", "\r\n")
    assert canonical(text) == "\ufeff" + TIDY.rstrip("\n").replace("\n", "\r\n")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_canonical(path: Path) -> None:
    """Formatting what is in order changes nothing."""
    text = path.read_bytes().decode()
    assert canonical(text) == text


HEAD = "### ¶ASK_T\n\n## Decision: D\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("¶ASK_T\n======\n\nDecision: D\n---\n- [AA] a\n", HEAD.replace("###", "#") + "- [AA] a\n"),
        ("### ¶ASK_T ###\n## decision:D ##\n- [AA] a\n", HEAD + "- [AA] a\n"),
        ("### ¶ASK_T\n\n\n\n## Decision: D\n\n\n- [AA] a\n", HEAD + "- [AA] a\n"),
        (HEAD + "- [AA]: a\n- **[BB]** b\n- `[CC]` c\n", HEAD + "- [AA] a\n- [BB] b\n- [CC] c\n"),
        (HEAD + "- [ DD ]   d  \n- [EE]e\n", HEAD + "- [DD] d\n- [EE] e\n"),
        (HEAD + "- [x] [AA] a\n- [BB] [] b\n", HEAD + "- [AA] [ ] a\n- [BB] [ ] b\n"),
        (HEAD + "-\n  [AA] a\n", HEAD + "- [AA] a\n"),
        (HEAD + "- [AA] a\n\n  one\n\n  two\n", HEAD + "- [AA] a\n  one\n\n  two\n"),
        (HEAD + "- [AA] a\n\n\n- [BB] b\n", HEAD + "- [AA] a\n- [BB] b\n"),
        (HEAD + "1. [AA] a\n   1. [BB] b\n", HEAD + "- [AA] a\n  - [BB] b\n"),
        (HEAD + "- [AA] a\n\t- [BB] b\n\t\tx\n", HEAD + "- [AA] a\n  - [BB] b\n    x\n"),
        (HEAD + "   - [AA] a\n   one\n", HEAD + "- [AA] a\n  one\n"),
        (HEAD + "* [AA] a\n  > b\n  > c\n", HEAD + "- [AA] a\n  > b\n  > c\n"),
        (HEAD + "*   [AA] a\n\n        code\n", HEAD + "- [AA] a\n\n      code\n"),
        (
            "### ¶ASK_T\n\n**Trigger:** e\n  f\n\nEXTRAS: a. c |b) d\n## Decision: D\n- [AA] a\n",
            "### ¶ASK_T\nTrigger: e f\nExtras: A: c | B: d\n\n## Decision: D\n- [AA] a\n",
        ),
        (
            "### ¶ASK_T\n## Decision: D\n* [AA] a\n  x\n## Decision: E\n* [BB] b\n",
            HEAD + "- [AA] a\n  x\n\n## Decision: E\n- [BB] b\n",
        ),
        ("---\nk: v\n---\n### ¶ASK_T\n* [AA] a\n", "---\nk: v\n---\n### ¶ASK_T\n- [AA] a\n"),
        ("1. Do\n   > ### ¶ASK_T\n   > * [AA] a\n", "1. Do\n   > ### ¶ASK_T\n   > * [AA] a\n"),
    ],
)
def test_each_thing_is_written_in_one_way(before: str, after: str) -> None:
    """Headings, keys, codes, flags, bullets, indents and empty lines; what is not read stays."""
    assert canonical(before) == after
    assert canonical(after) == after


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "- [AA] a\n      - [BB] taken for text\n",
        HEAD + "- [AA] a\\\n  b\n",
        HEAD + "- [AA] a\n  <!-- c\n  d -->\n- [BB] b <!-- e -->\n",
        HEAD + "- [AA] a\n  <div>\n  b\n  </div>\n",
        HEAD + "- [AA] a\n\n---\n\n*   prose\n",
        "### ¶ASK_[NAME]\n## Decision: [Name]\n*  [CODE] Label\n",
        "## Decision: taken\n\nWe do it.\n\n*  one\n*  two\n",
        "# Nothing\n\n*   here\t\r\n",
        "",
    ],
)
def test_what_is_in_order_or_no_tree_stays(text: str) -> None:
    """Not a byte changes without need."""
    assert canonical(text) == text


def test_a_tree_is_written_with_all_it_says() -> None:
    """Keys in one order, a question under its decision, an empty line before each decision."""
    tree = Tree(
        "ALL",
        (
            Decision(
                "One", (Option("AA", "a", "x\n\ny", options=(Option("BB", multi=True),)),), "Why?"
            ),
            Decision("Two", (Option("GO", "Go", derived=True),)),
        ),
        title="All of it",
        trigger="now",
        extras=(Extra("A", "one"), Extra("B", "two")),
        kind="advisory",
        question="What?",
        keywords=("k", "l m"),
        extends="BASE",
    )
    assert format(tree) == (
        "### ¶ASK_ALL — All of it\nExtends: §ASK_BASE\nTrigger: now\nExtras: A: one | B: two\n"
        "Kind: advisory\nQuestion: What?\nKeywords: k, l m\n\n"
        "## Decision: One\nQuestion: Why?\n\n- [AA] a\n  x\n\n  y\n  - [BB] [ ]\n\n"
        "## Decision: Two\n- Go\n"
    )


def test_examples_in_fences_are_left_alone() -> None:
    """What stands in a fence is somebody's example."""
    text = "```\n" + UNTIDY + "```\n"
    assert canonical(text) == text


def test_a_tree_in_a_list_item_keeps_its_margin() -> None:
    """A tree below a numbered step is laid out where it stands."""
    text = "1. Do:\n\n   ### ¶ASK_X\n   ## Decision: D\n   * [YES] Yes\n        now\n   * [NO] No\n"
    assert canonical(text) == (
        "1. Do:\n\n   ### ¶ASK_X\n\n   ## Decision: D\n   - [YES] Yes\n     now\n   - [NO] No\n"
    )


def test_what_belongs_to_no_option_stays() -> None:
    """Comments and stray text between options are kept where they are."""
    text = (
        "## Decision: D\n- [YES] Yes\n<!-- a note -->\n- [NO] No\n\nStray words.\n\n"
        "- [OTH] Other\n  <!-- inside -->\n  - [X] x\n"
    )
    assert canonical(text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("*  [YES] Yes\u00a0\n   now\u00a0\n", "- [YES] Yes\u00a0\n  now\u00a0\n"),
        ("*  [YES] Yes\n   now\n   \f\n", "- [YES] Yes\n  now\n  \f\n"),
        (
            "*  [YES] Yes <!-- one --> sir <!-- two -->\n",
            "- [YES] Yes sir <!-- one --> <!-- two -->\n",
        ),
    ],
)
def test_odd_blanks_and_comments_keep_no_tree_from_being_laid_out(before: str, after: str) -> None:
    """They are kept, and the lines that they stand in are put in order all the same."""
    assert canonical(f"## Decision: D\n{before}") == f"## Decision: D\n{after}"


def test_code_in_a_description_keeps_its_shape() -> None:
    """A fence inside an option is moved as a whole."""
    text = (
        "## Decision: D\n*   [YES] Yes\n\n    ```\n    if a\n      then b\n    ```\n*   [NO] No\n"
    )
    assert canonical(text) == (
        "## Decision: D\n- [YES] Yes\n  ```\n  if a\n    then b\n  ```\n- [NO] No\n"
    )


@settings(max_examples=100)
@given(st.one_of(trees(), written_trees()))
@example(Tree("T", (Decision("D", (Option("A", "[ ] x"), Option("B", "\\[ ] x"))),)))
@example(Tree("T", (Decision("D", (Option("XY", "[X] y", derived=True),)),)))
@example(Tree("T", (Decision("D", (Option("AA", "x", "- [B] y\n1. z\n```\n# h"),)),)))
@example(Tree("T", (Decision("D", (Option("AA", "x", "one\n\ntwo"),), "Why?"),), title="Title"))
@example(Tree("T", (Decision("D", (Option("AA"),)),), extends="BASE", keywords=("a", "b c")))
@example(Tree("T", extras=(Extra("A", "one"), Extra("C", "two")), kind="advisory"))
def test_a_tree_is_read_as_it_was_written(tree: Tree) -> None:
    """parse(format(tree)) == tree, and writing it again changes nothing."""
    text = format(tree)
    (read,) = parse(text).trees
    assert read == tree
    assert format(read) == text
    assert canonical(text) == text


@settings(max_examples=100)
@given(trees(), st.data())
def test_nothing_outside_the_trees_changes(tree: Tree, data: st.DataObject) -> None:
    """Whatever stands around a tree is the same afterwards, byte for byte."""
    piece = st.sampled_from(
        (
            "odd  words \t",
            "",
            "a\tb",
            "* a list",
            "1.  another",
            "> quoted",
            "---",
            "日本 …",
            "#tag",
        )
    )
    above = data.draw(st.lists(piece, max_size=6))
    below = data.draw(st.lists(piece, max_size=6))
    end = data.draw(st.sampled_from(("\n", "\r\n", "\r")))
    # Between words at the margin the tree stands alone, whatever is further off.
    top = end.join([*above, "prose", "", ""])
    bottom = end.join(["", "prose", *below])
    middle = format(tree).replace("\n- ", "\n*   ").replace("\n", end)
    text = top + middle + bottom
    assume(parse(text).trees == (tree,))
    written = canonical(text)
    assert written.startswith(top)
    assert written.endswith(bottom)
    assert parse(written).trees == (tree,)
    assert canonical(written) == written


@given(
    st.lists(
        st.sampled_from(("a \t", "", "\x0c", "\u2028b", "é\u0301", "- c  ", "\x00")), max_size=6
    ),
    st.lists(st.sampled_from(("\n", "\r\n", "\r", "\n\n")), min_size=7, max_size=7),
    st.sampled_from(("", "\ufeff")),
)
def test_odd_bytes_around_a_tree_survive(words: list[str], ends: list[str], mark: str) -> None:
    """Mixed line ends, blanks at the end of lines, controls and a byte order mark stay put."""
    top = mark + "".join(word + end for word, end in zip(words, ends, strict=False)) + "prose\n\n"
    bottom = "\n# End\n" + "".join(end + word for word, end in zip(words, ends, strict=False))
    text = top + HEAD.replace("\n\n", "\r\n") + "* [AA] a\r\n  x\n* [BB] b\n" + bottom
    expected = "### ¶ASK_T\r\n\n## Decision: D\n- [AA] a\r\n  x\n- [BB] b\n"
    assert canonical(text) == top + expected + bottom


FRAGMENTS = (
    *("- ", "* ", "1. ", "  ", "    ", " ", "\t", "> ", "## Decision: X", "### ¶ASK_A", "[A] foo"),
    *("[OTH] x", "[ ] ", "foo", "```", "~~~", "---", "===", "<!-- c -->", "<div>", "", "- [A] x"),
    *("- [B] y", "  desc", "  - [C] y", "    - [D] z", "Trigger: foo", "Extras: A: x | B: y"),
    *("- [E]", "- F f", "      - [G] over", "2. [H] num", "# h", "Kind: advisory", "- [ ] [Q] q"),
)


@settings(max_examples=150)
@given(
    st.sampled_from(("", "### ¶ASK_M\n", "## Decision: D\n", "### ¶ASK_M\n## Decision: D\n")),
    st.lists(st.lists(st.sampled_from(FRAGMENTS), max_size=3).map("".join), max_size=12),
    st.sampled_from(("\n", "\r\n")),
)
def test_any_document_keeps_its_trees(top: str, lines: list[str], end: str) -> None:
    """Formatting changes no tree, once is enough, and twice is the same."""
    text = (top + "\n".join(lines)).replace("\n", end)
    written = canonical(text)
    assert parse(written).trees == parse(text).trees
    assert rewrite(written) == written
