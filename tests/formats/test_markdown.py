"""Finding trees in documents, however they were written."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from quandary.formats.markdown import parse
from quandary.formats.markdown import read_sections as read
from quandary.formats.markdown.blocks import scan
from quandary.formats.markdown.writing import canonical, is_canonical, rewrite
from quandary.formats.markdown.writing import format as write
from quandary.model.tree import Decision, Extra, Option, Tree
from strategies import split_lines

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from quandary.formats.markdown import Document
    from quandary.formats.rules import Diagnostic

STEP_REVIEW = """\
### ¶ASK_STEP_REVIEW
Trigger: A step of the plan is about to be worked on

## Decision: Step Review
- [GO] Go ahead
  Nothing speaks against it
- [WHY] Explain it first
  The reason for this step is not clear
- [NEW] Write it anew
  The aim is right and the way is not
- [OTH] Other
  - [TURN] Turn elsewhere
    The whole plan heads the wrong way
  - [DROP] Drop it
    Nobody needs this step
  - [HALF] Halve it
    It is too much at once
"""

MARKED = """\
## ¶ASK_MARKED
Kind: advisory
Extras: A: One more | B: One less

# Decision: First
- [RED] [ ] Paint it red
- [BLUE] [ ] Paint it blue
  With what is left

## Decision: Second
- [OK] Fine

---

# More
"""

STEP_REVIEW_TREE = Tree(
    "STEP_REVIEW",
    (
        Decision(
            "Step Review",
            (
                Option("GO", "Go ahead", "Nothing speaks against it"),
                Option("WHY", "Explain it first", "The reason for this step is not clear"),
                Option("NEW", "Write it anew", "The aim is right and the way is not"),
                Option(
                    "OTH",
                    "Other",
                    options=(
                        Option("TURN", "Turn elsewhere", "The whole plan heads the wrong way"),
                        Option("DROP", "Drop it", "Nobody needs this step"),
                        Option("HALF", "Halve it", "It is too much at once"),
                    ),
                ),
            ),
        ),
    ),
    trigger="A step of the plan is about to be worked on",
)


def only(text: str) -> Tree:
    """The one tree of a text."""
    (tree,) = parse(text).trees
    return tree


def names(text: str) -> list[str]:
    """The names of a text's trees."""
    return [tree.name for tree in parse(text).trees]


def rules(text: str) -> set[str]:
    """The rules that a text breaks, but for those that short examples break all the time."""
    usual = {"always-four", "other-missing", "description-missing", "trigger-missing"}
    return {diagnostic.rule for diagnostic in parse(text).diagnostics} - usual


def outline(options: tuple[Option, ...]) -> str:
    """The codes of a level and of those below: `OK NO(RWK,DROP) OTH`; a `*` marks a flag."""
    return " ".join(
        option.code
        + ("*" if option.multi else "")
        + (f"({outline(option.options)})" if option.options else "")
        for option in options
    )


def below(text: str) -> str:
    """The outline of the options of a text below a decision's heading."""
    return outline(only("### ¶ASK_T\n## Decision: D\n" + text).decisions[0].options)


def described(text: str) -> list[str]:
    """The descriptions of the options of a text below a decision's heading."""
    (decision,) = only("### ¶ASK_T\n## Decision: D\n" + text).decisions
    return [option.description for _, option in decision.walk()]


# -- a tree --------------------------------------------------------------------------------------


def test_a_tree_is_a_heading_keys_and_decisions() -> None:
    """All that is written is found, each thing in its place."""
    assert only(STEP_REVIEW) == STEP_REVIEW_TREE
    assert parse(STEP_REVIEW).diagnostics == ()


def test_everything_knows_its_line_and_column() -> None:
    """Lines and columns count from one, in the text as written."""
    text = "Prose.\n\n" + STEP_REVIEW.replace("  - [DROP]", "  \t- [DROP]")
    tree = only(text)
    places = [(option.line, option.column) for _, option in tree.decisions[0].walk()]
    assert (tree.line, tree.column) == (3, 1)
    assert (tree.decisions[0].line, tree.decisions[0].column) == (6, 1)
    assert places == [(7, 1), (9, 1), (11, 1), (13, 1), (14, 3), (16, 4), (18, 3)]


@pytest.mark.parametrize("level", range(1, 7))
@pytest.mark.parametrize("under", range(1, 7))
def test_headings_of_any_level_will_do(level: int, under: int) -> None:
    """Neither the tree's heading nor the decision's has a fixed level, nor one below the other."""
    text = STEP_REVIEW.replace("### ¶", "#" * level + " ¶").replace("## D", "#" * under + " D")
    assert only(text) == STEP_REVIEW_TREE


@pytest.mark.parametrize("line", ["===", "---", "-", "=================="])
def test_underlined_headings_declare_trees_too(line: str) -> None:
    """Setext headings are headings, for the tree and for the decision."""
    text = STEP_REVIEW.replace("### ¶ASK_STEP_REVIEW\n", f"¶ASK_STEP_REVIEW\n{line}\n\n")
    text = text.replace("## Decision: Step Review\n", f"Decision: Step Review\n{line}\n")
    assert only(text) == STEP_REVIEW_TREE


@pytest.mark.parametrize(
    ("heading", "name", "title"),
    [
        ("### ¶ASK_A", "A", ""),
        ("### ¶ASK_A ###", "A", ""),
        ("###\t¶ASK_A  ", "A", ""),
        ("   ### ¶ASK_A", "A", ""),
        ("### ¶ASK_A: What to do", "A", "What to do"),
        ("### ¶ASK_A — What to do", "A", "What to do"),
        ("### ¶ASK_A – What to do", "A", "What to do"),
        ("### ¶ASK_A - What to do", "A", "What to do"),
        ("### ¶ASK_A (for reviews)", "A", "(for reviews)"),
        ("### ¶ASK_a-b", "a-b", ""),
        ("### ¶ASK_A_1", "A_1", ""),
        ("### ¶ASK_ÄÖ", "ÄÖ", ""),
        ("### **¶ASK_A**", "A", ""),
        ("### *¶ASK_A_B*", "A_B", ""),
        ("### __¶ASK_A_B__", "A_B", ""),
        ("### `¶ASK_A`", "A", ""),
        ("### ***¶ASK_A***: What to do", "A", "What to do"),
        ("### **¶ASK_A — What to do**", "A", "What to do"),
    ],
)
def test_a_heading_has_a_name_and_perhaps_a_title(heading: str, name: str, title: str) -> None:
    """The name ends at a space or a colon; what stands behind it is the title."""
    tree = only(f"{heading}\n## Decision: D\n- [X] x\n")
    assert (name, title) == (tree.name, tree.title)


@pytest.mark.parametrize(
    "text",
    [
        "See ¶ASK_A for more.\n\n- [X] x\n",
        "### About ¶ASK_A\n\n- [X] x\n",
        "### §ASK_A\n\n- [X] x\n",
        "### ASK_A\n\n- [X] x\n",
        "- ¶ASK_A\n- [X] x\n",
        "¶ASK_A\n\n- [X] x\n",
        "### ¶CMD_A\n\n- [X] x\n",
    ],
)
def test_a_mention_is_no_declaration(text: str) -> None:
    """Only a heading that begins with `¶ASK_` declares a tree."""
    assert names(text) == []


@pytest.mark.parametrize(
    "heading", ["## Decision: D", "## decision: D", "##  Decision :  D", "## **Decision**: D ##"]
)
def test_a_decision_heading_is_known_in_every_dress(heading: str) -> None:
    """Bold or not, in any case, with any blanks."""
    assert only(f"### ¶ASK_T\n{heading}\n- [X] x\n").decisions[0].name == "D"


# -- keys ----------------------------------------------------------------------------------------


def test_every_key_fills_its_field() -> None:
    """Trigger, extras, kind, question, keywords and what the tree extends."""
    tree = only(
        "### ¶ASK_T\nTrigger: When it rains\nExtras: A: Wait | b. Run\nKind: Advisory\n"
        "Question: What about {title}?\nKeywords: rain, bad weather\nExtends: §ASK_BASE\n\n"
        "## Decision: D\n- [X] x\n"
    )
    assert tree.trigger == "When it rains"
    assert tree.extras == (Extra("A", "Wait"), Extra("B", "Run"))
    assert tree.kind == "advisory"
    assert tree.question == "What about {title}?"
    assert tree.keywords == ("rain", "bad weather")
    assert tree.extends == "BASE"


@pytest.mark.parametrize(
    "keys",
    [
        "Trigger: when this\n  or that\nhappens",
        "Trigger:\nwhen this or that happens",
        "**Trigger:** when this or that happens",
        "**Trigger**: when this or\nthat happens",
        "\n\nTrigger: when this or that happens\n\n",
        "Trigger: when this or that happens\n---",
        "Trigger: when this or that\nhappens\n---",
        "Some prose first.\n\nTrigger: when this or that happens",
        "Trigger: when this or that happens\n\nSome prose behind.",
        "<!-- c -->\nTrigger: when this or that happens\n<!-- d -->",
        "trigger:   when this or that happens   ",
        "- **Trigger**: when this\n  or that happens\n- **Kind**: advisory",
        "1. Owner: nobody\n2. Trigger: when this or that happens",
    ],
)
def test_keys_are_found_wherever_they_stand_above_the_options(keys: str) -> None:
    """Over several lines, in bold, behind bullets, above dashes, with prose or comments around."""
    text = f"### ¶ASK_T\n{keys}\n\n## Decision: D\n- [X] x\n"
    tree = only(text)
    assert tree.trigger == "when this or that happens"
    assert outline(tree.decisions[0].options) == "X"


def test_a_list_of_options_is_no_list_of_keys_for_one_label_that_looks_like_one() -> None:
    """What may be an option is one, with a diagnostic; above a decision's heading none is."""
    mixed = "- Yes\n- No\n- Question: ask the team first\n"
    tree = only(f"# ¶ASK_X\nTrigger: now\n\n{mixed}")
    labels = [option.label for option in tree.decisions[0].options]
    assert (labels, tree.question) == (["Yes", "No", "Question: ask the team first"], "")
    document = parse(f"# ¶ASK_X\nTrigger: now\n\n{mixed}")
    assert {"decision-missing", "code-missing"} <= {one.rule for one in document.diagnostics}
    tree = only(f"# ¶ASK_X\n\n{mixed}- Require: person\n\n## Decision: D\n- [X] x\n")
    assert (tree.question, tree.require) == ("ask the team first", "person")
    assert outline(tree.decisions[0].options) == "X"


def test_a_list_above_a_heading_is_looked_into_once() -> None:
    """An example in a fence there is one example."""
    for bullet in ("Note", "Note: this"):
        inside = "  ```\n  # ¶ASK_Y\n  - [X] x\n  ```\n"
        text = f"# ¶ASK_X\n\n- Require: person\n- {bullet}\n{inside}\n## Decision: D\n- [X] x\n"
        assert [tree.name for tree in parse(text).trees] == ["X", "Y"]


def test_a_key_behind_a_bullet_is_no_lock_walked_around() -> None:
    """`- Require: person` asks for a person, and `fmt` writes it as a key."""
    text = "### ¶ASK_T\n- **Require**: person\n\n## Decision: D\n- [X] x\n"
    assert only(text).require == "person"
    assert canonical(text) == text.replace("- **Require**", "Require")


def test_keys_above_a_rule_keep_their_order() -> None:
    """Markdown makes one heading of several keys above a line of dashes; here they are keys."""
    tree = only(
        "### ¶ASK_T\nTrigger: a\nKind: advisory\nKeywords: b\n---\n## Decision: D\n- [X] x\n"
    )
    assert (tree.trigger, tree.kind, tree.keywords) == ("a", "advisory", ("b",))


def test_keys_may_stand_below_the_decision_heading() -> None:
    """A question there is that decision's own; the other keys are the tree's."""
    tree = only(
        "### ¶ASK_T\nQuestion: All of it?\n\n"
        "## Decision: One\nQuestion: The first?\nTrigger: now\n\n- [X] x\n\n"
        "## Decision: Two\n- [Y] y\n"
    )
    assert tree.question == "All of it?"
    assert tree.trigger == "now"
    assert [d.question for d in tree.decisions] == ["The first?", ""]


def test_a_bare_decision_has_keys_too() -> None:
    """There they belong to the tree, since the decision is the tree."""
    tree = only("## Decision: D\nTrigger: now\nQuestion: Well?\n\n- [X] x\n")
    assert (tree.trigger, tree.question, tree.bare) == ("now", "Well?", True)


def test_a_second_key_of_a_kind_does_not_count() -> None:
    """The first one counts, and the second one is reported."""
    text = "### ¶ASK_T\nTrigger: first\nTrigger: second\n## Decision: D\n- [X] x\n"
    assert only(text).trigger == "first"
    assert rules(text) == {"key-duplicate"}


# -- several decisions, several trees ------------------------------------------------------------


def test_several_decisions_under_one_heading_are_one_tree() -> None:
    """Each is a root question of its own, and prose may stand between them."""
    tree = only(
        "# ¶ASK_T\n\nFirst some prose.\n\n## Decision: One\nAbout the first.\n\n- [X] x\n\n"
        "A word on the second.\n\n## Decision: Two\n\n- [Y] y\n  - [Z] z\n"
    )
    assert [(d.name, outline(d.options)) for d in tree.decisions] == [("One", "X"), ("Two", "Y(Z)")]


def test_a_document_holds_any_number_of_trees_among_prose() -> None:
    """A tree ends where a heading begins that is none of its decisions."""
    text = (
        f"# Guide\n\nProse with a list:\n\n- one\n- [two](x)\n\n{STEP_REVIEW}\n"
        "## Notes\n\n- [X] no option\n\n"
        "#### ¶ASK_B\n- [Y] y\n\n# End\n\n- [Z] no option either\n"
    )
    assert names(text) == ["STEP_REVIEW", "B"]
    assert parse(text).trees[0] == STEP_REVIEW_TREE
    assert outline(parse(text).trees[1].decisions[0].options) == "Y"


def test_prose_behind_the_options_is_no_part_of_them() -> None:
    """Paragraphs, tables, rules and lists without codes may follow a tree."""
    text = STEP_REVIEW + "\nThat is all.\n\n| a | b |\n|---|---|\n\n---\n\n- see also\n- the rest\n"
    assert only(text) == STEP_REVIEW_TREE
    assert parse(text).diagnostics == ()


def test_trees_stand_in_the_order_of_the_text() -> None:
    """Also when some of them are in fences."""
    text = "```\n### ¶ASK_A\n- [X] x\n```\n### ¶ASK_B\n- [X] x\n```\n### ¶ASK_C\n- [X] x\n```\n"
    assert names(text) == ["A", "B", "C"]


def test_a_tree_with_no_decision_is_kept() -> None:
    """A heading without a list is a tree that has nothing to ask, and that is reported."""
    assert Tree("T", trigger="now") == only("### ¶ASK_T\nTrigger: now\n")
    assert rules("### ¶ASK_T\nTrigger: now\n") == {"no-options"}


# -- bare decisions ------------------------------------------------------------------------------


def test_a_decision_without_a_tree_heading_is_a_tree() -> None:
    """It is known by the decision's name."""
    tree = only("# Doc\n\n## Decision: Plan Review\n- [OK] Fine\n- [OTH] Other\n")
    assert (
        Tree(
            "Plan Review",
            (Decision("Plan Review", (Option("OK", "Fine"), Option("OTH", "Other"))),),
            bare=True,
        )
        == tree
    )


def test_two_bare_decisions_are_two_trees() -> None:
    """Without a heading above them nothing holds them together."""
    assert names("## Decision: One\n- [X] x\n\n## Decision: Two\n- [Y] y\n") == ["One", "Two"]


@pytest.mark.parametrize(
    "options",
    [
        "- [OK] Fine\n- [NO] Not fine\n",
        "- [ ] Red\n- [ ] Green\n",
        "- Approve\n- Reject\n- Other\n",
        "Pick one of these.\n\n- [OK] Fine\n",
        "* [OK] Fine\n",
        "1. [OK] Fine\n2. [NO] Not fine\n",
        "",
    ],
)
def test_a_bare_decision_with_codes_flags_or_labels_is_a_tree(options: str) -> None:
    """Codes, flags, or a list of nothing but short labels make it one; so does nothing at all."""
    assert names(f"## Decision: Color\n\n{options}") == ["Color"]


@pytest.mark.parametrize(
    "prose",
    [
        "We will use PostgreSQL 16 for all services.\n",
        "Use a monorepo.\n\n- One build\n- One version\n- Shared tooling\n",
        "- We will use PostgreSQL, because the team knows it well.\n- No MongoDB.\n",
        "- **Chosen:** PostgreSQL\n- **Rejected:** MySQL, SQLite\n",
        "- Chosen: A, because it scores best on the drivers\n- Rejected: B, for its licence\n",
        "- Status: accepted on Monday.\n- Deciders: the platform team.\n",
        "- [ADR 7](adr-7.md)\n- [ADR 8](adr-8.md)\n",
        "> Ship it on Friday.\n\n- Works\n- Tested\n",
        "```sh\nmake deploy\n```\n\n- Fast\n- Simple\n",
        "| Option | Score |\n|---|---|\n| A | 1 |\n",
        "- Just one thing was decided\n",
        "We decided:\n- Keep it\n- Ship it\n",
    ],
)
def test_a_decision_already_taken_is_no_tree(prose: str) -> None:
    """Records and design documents have such headings over prose; they are left alone."""
    text = (
        f"# ADR 12: Storage\n\n## Context\n\nText.\n\n## Decision: Storage\n\n{prose}\n## Fallout\n"
    )
    assert names(text) == []
    assert parse(text).diagnostics == ()


@pytest.mark.parametrize(
    "heading",
    [
        "## Decision",
        "## Decisions: X",
        "### Decision: X",
        "# Decision: X",
        "## The Decision: X",
        "## Decision Outcome: X",
    ],
)
def test_only_a_second_level_decision_heading_is_a_tree_without_codes(heading: str) -> None:
    """A list of labels under any other heading is a list; with codes any level will do."""
    assert names(f"{heading}\n\n- Approve\n- Reject\n") == []


def test_a_bare_decision_with_codes_may_have_any_level() -> None:
    """Codes leave no doubt."""
    for level in range(1, 7):
        assert names(f"{'#' * level} Decision: D\n- [X] x\n") == ["D"]


# -- examples and templates ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "```\n{}```\n",
        "~~~markdown\n{}~~~\n",
        "`````\n{}`````\n",
        "> ```\n{}> ```\n",
        "- item\n  ```\n{}  ```\n",
        "1. item\n\n   ~~~\n{}   ~~~\n",
        "   ```\n{}   ```\n",
    ],
)
def test_a_tree_in_a_fence_is_an_example(text: str) -> None:
    """It is listed as fenced and not judged, wherever the fence stands."""
    prefix = text.split("{}")[1].split("`", maxsplit=1)[0].split("~", maxsplit=1)[0]
    inner = "".join(f"{prefix}{line}\n".lstrip("\n") for line in STEP_REVIEW.splitlines())
    document = parse(text.format(inner.replace("[WHY]", "[WHY/]")))
    (tree,) = document.trees
    assert tree.fenced
    assert outline(tree.decisions[0].options) == "GO WHY/ NEW OTH(TURN DROP HALF)"
    assert document.diagnostics == ()


def test_positions_in_a_fence_are_those_of_the_file() -> None:
    """A fence inside an item has its lines and columns counted from the file's beginning."""
    tree = only(
        "# Doc\n\n- see\n\n  ```\n  ### ¶ASK_T\n  ## Decision: D\n  - [X] x\n    - [Y] y\n  ```\n"
    )
    (decision,) = tree.decisions
    assert (tree.line, tree.column) == (6, 3)
    assert (decision.line, decision.column) == (7, 3)
    assert [(option.line, option.column) for _, option in decision.walk()] == [(8, 3), (9, 5)]


def test_a_fence_within_a_longer_fence_is_an_example_too() -> None:
    """The inner fence is text of the outer one, and what it holds is found all the same."""
    text = f"````\nWrite it like this:\n\n```\n{STEP_REVIEW}```\n````\n\n### ¶ASK_B\n- [X] x\n"
    assert [(t.name, t.fenced) for t in parse(text).trees] == [("STEP_REVIEW", True), ("B", False)]


def test_an_open_fence_makes_examples_of_all_that_follows() -> None:
    """And says so."""
    text = "```sh\nmake\n\n" + STEP_REVIEW
    assert only(text).fenced
    assert rules(text) == {"fence-open"}


def test_a_fence_in_a_description_hides_no_options() -> None:
    """What looks like an option in there is part of the example."""
    assert below("- [X] x\n  ```\n  - [Y] y\n  ```\n  - [Z] z\n") == "X(Z)"


@pytest.mark.parametrize(
    "text",
    [
        "### ¶ASK_[NAME]\nTrigger: [when]\n\n## Decision: [Name]\n- [CODE] Label text\n",
        "### ¶ASK_{NAME}\n## Decision: D\n- [X] x\n",
        "### ¶ASK_<NAME>\n- [X] x\n",
        "### ¶ASK_*\n- [X] x\n",
        "### ¶ASK_…\n- [X] x\n",
        "### ¶ASK_...\n",
        "### ¶ASK_\n",
        "## Decision: [Name]\n- [X] x\n",
        "## Decision: <name>\n- [X] x\n",
        "### ¶ASK_T\n## Decision: D\n- [CODE] Label\n  Description\n",
        "### ¶ASK_T\n## Decision: D\n- [X] x\n  - [CODE] [Label]\n",
        "## Decision: D\n- [CODE] <label>\n",
    ],
)
def test_templates_are_neither_trees_nor_errors(text: str) -> None:
    """A placeholder in the place of a name or an option explains the format."""
    assert names(text) == []
    assert names(f"```\n{text}```\n") == []
    assert parse(text).diagnostics == ()


def test_a_template_does_not_hide_the_next_tree() -> None:
    """It ends where any tree would end."""
    text = "### ¶ASK_[NAME]\n## Decision: [Name]\n- [CODE] Label\n\n" + STEP_REVIEW
    assert names(text) == ["STEP_REVIEW"]


def test_an_option_with_the_code_code_is_an_option() -> None:
    """`[CODE]` with real words behind it is meant."""
    assert below("- [CODE] Read the code\n") == "CODE"


# -- line ends, marks, front matter --------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_byte_order_marks_change_nothing(end: str, mark: str, last: bool) -> None:
    """Windows, old Macs and editors with a taste for BOMs all write the same tree."""
    text = mark + STEP_REVIEW.replace("\n", end)
    document = parse(text if last else text.removesuffix(end))
    assert document.trees == (STEP_REVIEW_TREE,)
    assert document.diagnostics == ()
    assert (document.trees[0].line, document.trees[0].column) == (1, 1)
    assert document.trees[0].decisions[0].line == 4


def test_mixed_line_ends_change_nothing() -> None:
    """Each line may end in its own way."""
    ends = ["\n", "\r\n", "\r"]
    lines = STEP_REVIEW.split("\n")[:-1]
    text = "".join(line + ends[number % 3] for number, line in enumerate(lines))
    assert only(text) == STEP_REVIEW_TREE


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_other_separators_are_part_of_a_label(character: str) -> None:
    """Only CR and LF end a line."""
    label = f"one{character}- [TWO] two"
    (decision,) = only(f"### ¶ASK_T\n## Decision: D\n- [ONE] {label}\n").decisions
    assert (Option("ONE", label),) == decision.options


@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: x\n---\n",
        "---\ntitle: x\n...\n",
        "--- \ntitle: x\n# a comment\nlist:\n  - [X] x\n---  \n",
        "---\n'quoted': x\n\nlater: |\n  text\n---\n",
        "+++\ntitle = 'x'\n\n[[section]]\ndecision = 1\n+++\n",
        "---\n---\n",
    ],
)
def test_front_matter_is_passed_over(front: str) -> None:
    """YAML and TOML above a document are not Markdown; the lines still count."""
    tree = only(front + STEP_REVIEW)
    assert tree == STEP_REVIEW_TREE
    assert tree.line == front.count("\n") + 1
    assert rules(front + STEP_REVIEW) == set()


@pytest.mark.parametrize(
    "opening",
    [
        "---\n",
        "---\n\n",
        "---\n\nProse.\n\n---\n\n",
        "---\nProse without a key\n\n---\n\n",
        "***\n\n",
        "---\nkey: value but never closed\n\n",
    ],
)
def test_a_line_of_dashes_at_the_top_is_not_always_front_matter(opening: str) -> None:
    """A document may begin with a thematic break, and its trees are not swallowed."""
    text = f"{opening}{STEP_REVIEW}\n---\n\n### ¶ASK_B\n- [X] x\n\n---\n"
    assert names(text) == ["STEP_REVIEW", "B"]


# -- lists as people write them ------------------------------------------------------------------


@pytest.mark.parametrize("indent", range(1, 7))
@pytest.mark.parametrize("bullet", ["-", "*", "+"])
def test_levels_may_be_indented_by_one_to_six_spaces(indent: int, bullet: str) -> None:
    """Markdown decides what belongs where: up to five spaces nest under a bullet of two."""
    text = f"{bullet} [X] x\n{' ' * indent}{bullet} [Y] y\n"
    expected = {1: "X Y", 6: "X"}.get(indent, "X(Y)")
    assert expected == below(text)
    if indent == 6:
        assert rules("### ¶ASK_T\n## Decision: D\n" + text) == {"indent"}
    elif indent != 2:
        assert "indent" in rules("### ¶ASK_T\n## Decision: D\n" + text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* [X] x\n  * [Y] y\n* [Z] z\n", "X(Y) Z"),
        ("+ [X] x\n+ [Z] z\n", "X Z"),
        ("1. [X] x\n   1. [Y] y\n2. [Z] z\n", "X(Y) Z"),
        ("1) [X] x\n2) [Z] z\n", "X Z"),
        ("9. [X] x\n10. [Y] y\n    - [Z] z\n", "X Y(Z)"),
        ("- [X] x\n* [Y] y\n1. [Z] z\n", "X Y Z"),
        ("-   [X] x\n    -   [Y] y\n", "X(Y)"),
        ("- [X] x\n\t- [Y] y\n\t\t- [Z] z\n", "X(Y(Z))"),
        ("-\t[X] x\n\t-\t[Y] y\n", "X(Y)"),
        ("- [X] x\n\n- [Y] y\n\n\n- [Z] z\n", "X Y Z"),
        ("- [X] x\n\n  - [Y] y\n\n    - [Z] z\n", "X(Y(Z))"),
        ("- [X] x  \n  - [Y] y\t\n", "X(Y)"),
        ("  - [X] x\n  - [Y] y\n", "X Y"),
        ("-\n  [X] x\n-\n  [Y] y\n", "X Y"),
        ("- [X] x\n  - [Y] y\n   - [Z] z\n", "X(Y Z)"),
        ("- [X] x\n    - [Y] y\n  - [Z] z\n", "X(Y Z)"),
        ("- - [Y] y\n", "OPT(Y)"),
    ],
)
def test_every_kind_of_list_holds_options(text: str, expected: str) -> None:
    """Any bullet, any number, tabs, loose lists, labels on the next line."""
    assert expected == below(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [X] x\n  one\n  two\n", "one\ntwo"),
        ("- [X] x\n\n  one\n\n  two\n", "one\n\ntwo"),
        ("- [X] x\n  one  \n  two\t\n", "one\ntwo"),
        ("- [X] x\none\n", "one"),
        ("- [X] x\n      one\n", "one"),
        ("- [X] x\n\tone\n", "one"),
        ("- [X] x\n  > quoted\n", "> quoted"),
        ("- [X] x\n  ```\n  code\n    more\n  ```\n  behind\n", "```\ncode\n  more\n```\nbehind"),
        ("- [X] x\n\n      code\n", "    code"),
        ("- [X] x\n  # heading\n", "# heading"),
        ("- [X] x\n  | a | b |\n  |---|---|\n", "| a | b |\n|---|---|"),
        ("- [X] x\n  <b>bold</b> claim\n", "<b>bold</b> claim"),
        ("- [X] x\n  - [Y] y\n\n  late\n", "late"),
        ("- [X] x\n  before\n  - [Y] y\n\n  behind\n", "before\n\nbehind"),
        ("- [X] x\n  ***\n  one\n", "***\none"),
        ("- [X] x\n", ""),
    ],
)
def test_all_that_an_option_holds_is_its_description(text: str, expected: str) -> None:
    """Lines, paragraphs, code and quotes, also behind its own options, with inner blanks kept."""
    assert expected == described(text)[0]


@pytest.mark.parametrize(
    "label",
    [
        "👍 Looks good",
        "見直す",
        "C++ & <T>",
        "a | b",
        "**bold** `code`",
        "50 % off, now!",
        "[1] of 2",
        "x: y",
        "Decision: ¶ASK_A",
    ],
)
def test_a_label_may_contain_anything(label: str) -> None:
    """It is taken to the letter."""
    (decision,) = only(f"### ¶ASK_T\n## Decision: D\n- [OK] {label}\n").decisions
    assert (Option("OK", label),) == decision.options


def test_emphasis_and_headings_in_a_label_are_text() -> None:
    """`- # Label` is a label with a sign in it."""
    assert (Option("OT", "# one two", derived=True),) == only(
        "### ¶ASK_T\n## Decision: D\n- # one two\n"
    ).decisions[0].options


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("words\n", {"stray-text"}),
        ("> words\n", {"stray-text"}),
        ("```\nwords\n```\n", {"stray-text"}),
        ("words\n2. [CC] c\n", {"stray-text", "indent"}),
    ],
)
def test_what_stands_between_options_is_told_and_the_list_goes_on(
    between: str, expected: set[str]
) -> None:
    """Text at the margin belongs to no option; those behind it belong to the same decision."""
    text = f"- [AA] a\n\n{between}\n- [BB] b\n"
    assert below(text) == "AA BB"
    assert rules("### ¶ASK_T\n## Decision: D\n" + text) == expected


@pytest.mark.parametrize(
    "behind", ["words\n\n- one\n- two\n", "words\n\n- [AA] a\n", "---\n\n- [BB] b\n"]
)
def test_a_list_that_is_no_continuation_ends_the_options(behind: str) -> None:
    """Without codes, with codes again, or behind a thematic break it is some other list."""
    assert below(f"- [AA] a\n\n{behind}") == "AA"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- [AA] a\n\n---\n\n- [BB] b\n- [OTH] Other\n", ["[BB] b", "[OTH] Other"]),
        ("- [AA] a\n<div>\n- [BB] b\n</div>\n", ["- [BB] b"]),
        ("- [AA] a\n\n---\n\n- one\n- two\n", []),
        ("- [AA] a\n\n---\n\n- [AA] is how it begins\n", []),
        ("- [AA] a\n\nwords\n\n- [AA] is how it begins\n", []),
        ("- [AA] a\n\nwords\n\n- [AA] again\n- [BB] b\n", ["[BB] b"]),
        ("- [AA] a\n\n---\n\n- [AA] again\n- [BB] b\n", ["[BB] b"]),
        ("    - [AA] a\n- [BB] b\n", ["- [AA] a"]),
        ("words\n    - [AA] a\n- [BB] b\n", ["- [AA] a"]),
        ("Question: Which?\n    - [AA] a\n- [BB] b\n", ["- [AA] a"]),
        ("- [AA] a\n\nwords\n    - [BB] b\n", ["- [BB] b"]),
        ("- [AA] a\n\nwords\n\n    - [BB] b\n", ["- [BB] b"]),
        ("- [AA] a\n  words\n\n      - [BB] b\n", ["- [BB] b"]),
        ("-     [AA] a\n      - [BB] b\n", ["- [BB] b"]),
        ("- [AA] a\n\nwords\n\n```\n- [BB] b\n```\n", []),
    ],
)
def test_options_that_are_not_read_are_told(text: str, told: list[str]) -> None:
    """What looks like an option and belongs to no list, wherever it stands, is named."""
    document = parse("### ¶ASK_T\n## Decision: D\n" + text)
    named = [d.message for d in document.diagnostics if d.rule in ("stray-text", "indent")]
    assert [m.removeprefix("Markdown reads ").split("”")[0] for m in named] == [
        f"“{line}" for line in told
    ]


@pytest.mark.parametrize("blank", ["\u00a0", "\u2003", " \u00a0", "\u00a0 "])
@pytest.mark.parametrize("place", ["{}\n- [AA] a\n", "- [AA] a\n{}\n", "- [AA] a\n\ntext\n\n{}\n"])
def test_a_blank_that_does_not_break_behind_a_bullet_loses_no_option(
    place: str, blank: str
) -> None:
    """Keyboards type it unseen; Markdown takes the line for text, and its author did not."""
    text = "### ¶ASK_T\n## Decision: D\n" + place.format(f"-{blank}[BB] b")
    assert {"AA", "BB"} == {option.code for option in only(text).decisions[0].options}
    assert "code-format" in rules(text)
    assert "- [BB] b\n" in canonical(text)


# -- comments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "- [X] x\n<!-- between -->\n- [Y] y\n",
        "- [X] x\n\n<!--\n- [Z] hidden\n-->\n\n- [Y] y\n",
        "<!-- above -->\n- [X] x\n- [Y] y\n<!-- below -->\n",
        "- [X] x\n  <!-- inside -->\n- [Y] y\n",
        "- [X] x <!-- behind -->\n- [Y] <!-- before --> y\n",
        "- [X] x\n  <!-- over\n  two lines -->\n- [Y] y\n",
        "- <!-- alone -->\n  [X] x\n- [Y] y\n",
    ],
)
def test_comments_are_left_out_wherever_they_stand(text: str) -> None:
    """They are neither options nor labels nor descriptions, and no cause for complaint."""
    whole = "### ¶ASK_T\n## Decision: D\n" + text
    assert (Option("X", "x"), Option("Y", "y")) == only(whole).decisions[0].options
    assert rules(whole) == set()


def test_a_comment_within_a_description_is_left_out() -> None:
    """The text around it stays."""
    assert described("- [X] x\n  one <!-- c --> two\n") == ["one two"]


def test_a_tree_that_is_commented_out_is_none() -> None:
    """Neither read nor reported."""
    text = f"<!--\n{STEP_REVIEW}-->\n"
    assert names(text) == []
    assert parse(text).diagnostics == ()


# -- trees in other places -----------------------------------------------------------------------


def test_a_tree_in_a_numbered_step_is_a_tree() -> None:
    """Instructions often carry the tree inside the step that asks it."""
    inner = "".join(f"   {line}\n" if line else "\n" for line in STEP_REVIEW.splitlines())
    text = f"1. Do this.\n\n{inner}\n2. Then that.\n\n   - [X] no option\n"
    tree = only(text)
    assert tree == STEP_REVIEW_TREE
    assert (tree.line, tree.column) == (3, 4)
    assert parse(text).diagnostics == ()


def test_a_tree_in_an_item_ends_with_the_item() -> None:
    """What the next step lists is no option of this tree."""
    text = "- one\n\n  ### ¶ASK_T\n  - [X] x\n- [Y] not an option\n"
    assert outline(only(text).decisions[0].options) == "X"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("> ### ¶ASK_T\n> - [X] x\n", 1, 3),
        ("> prose\n>\n> > ### ¶ASK_T\n", 3, 5),
        ("- one\n  > ## ¶ASK_T\n", 2, 5),
        ("Prose.\n\n    ### ¶ASK_T\n    - [X] x\n", 3, 5),
        ("<div>\n### ¶ASK_T\n- [X] x\n</div>\n", 2, 1),
        ("###¶ASK_T\n- [X] x\n", 1, 1),
    ],
)
def test_a_tree_out_of_sight_is_reported(text: str, line: int, column: int) -> None:
    """In a quote, in indented code, in HTML or without a space it is not read, but not unseen."""
    document = parse(text)
    assert document.trees == ()
    assert [("tree-hidden", line, column)] == [
        (d.rule, d.line, d.column) for d in document.diagnostics
    ]


def test_a_tree_heading_within_an_option_is_reported() -> None:
    """A list under a list is not where a tree can be declared."""
    text = "### ¶ASK_T\n## Decision: D\n- [X] x\n\n  ### ¶ASK_U\n"
    assert names(text) == ["T"]
    assert "tree-hidden" in rules(text)


YES_NO = "### ¶ASK_T\nTrigger: t\n{}\n\n## Decision: D\n{}"


@pytest.mark.parametrize(
    ("shape", "options", "rules"),
    [
        ("Shape: free", 2, []),
        ("Shape: free", 4, []),
        ("shape: Free", 3, []),
        ("Shape: free", 1, ["always-four"]),
        ("Shape: free", 5, ["always-four"]),
        ("Shape: loose", 2, ["shape-unknown", "always-four", "other-missing"]),
        ("Kind: advisory", 2, ["always-four", "other-missing"]),
    ],
)
def test_a_tree_of_free_shape_has_two_to_four_options(
    shape: str, options: int, rules: list[str]
) -> None:
    """READINGS 53: and it needs no Other; without it the rule of four stands."""
    codes = ("YES", "NO", "WAI", "ASK", "CUT")[:options]
    text = YES_NO.format(shape, "".join(f"- [{c}] {c.title()} it\n  Why\n" for c in codes))
    document = parse(text)
    assert [d.rule for d in document.diagnostics] == rules
    assert (document.trees[0].shape == "free") == ("ree" in shape)
    assert parse(write(document.trees[0])).trees == document.trees


@pytest.mark.parametrize(
    ("shape", "options", "wrong"), [("free", 4, 0), ("free", 5, 1), ("", 4, 1)]
)
def test_a_menu_of_free_shape_has_up_to_four_options(shape: str, options: int, wrong: int) -> None:
    """READINGS 53: also under Other; without it, two or three."""
    codes = ("YES", "NO", "WAI", "ASK", "CUT")[:options]
    menu = "- [OTH] Other\n" + "".join(f"  - [{c}] {c.title()} it\n    Why\n" for c in codes)
    named = "".join(f"- [{c}] {c.title()} that\n  Why\n" for c in ("ADD", "DEL", "FIX"))
    text = YES_NO.format(f"Shape: {shape}" if shape else "Kind: advisory", named + menu)
    assert [d.rule for d in parse(text).diagnostics] == ["always-four"] * wrong


def test_a_shape_changes_only_the_digests_of_those_that_have_one() -> None:
    """And whoever requires a person says something else than whoever is of free shape."""
    plain, person, free, both = (
        parse(YES_NO.format(keys, "- [X] x\n")).trees[0].digest
        for keys in ("", "Require: person", "Shape: free", "Require: person\nShape: free")
    )
    assert len({plain, person, free, both}) == 4


@pytest.mark.parametrize(
    ("keys", "warned"),
    [
        ("Question: What next?", True),
        ("Question: Which one do you prefer", True),
        ("Question: The plan is written. What next?", False),
        ("Question: Does {version} go out?", False),
        ("Question: All criteria are met — what now?", False),
        ("Kind: advisory\nQuestion: What next?", False),
        ("Keywords: x", False),
    ],
)
def test_a_question_without_a_summary_is_warned_about(keys: str, warned: bool) -> None:
    """READINGS 19: a form can be answered without scrolling up."""
    found = parse(YES_NO.format(keys, "- [X] x\n")).diagnostics
    assert ("question-summary" in {d.rule for d in found}) == warned


@pytest.mark.parametrize(
    ("extra", "warned"),
    [
        ("A: Show the SQL", True),
        ("A: list what is open", True),
        ("A: Explain it", True),
        ("B: Estimate the effort", True),
        ("A: Give me an example", True),
        ("A: How long would it take?", True),
        ("A? Show the SQL", False),
        ("A: Merge both", False),
        ("A: Showcase it first", False),
        ("A: Defer to next week", False),
    ],
)
def test_an_extra_that_reads_like_showing_something_is_warned_about(
    extra: str, warned: bool
) -> None:
    """READINGS 50: it would end the decision."""
    found = parse(YES_NO.format(f"Extras: {extra}", "- [X] x\n")).diagnostics
    assert ("extra-shows" in {d.rule for d in found}) == warned


# -- dialects ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("- [U] u\n- [V] v\n- [W] w\n- [X] x\n- [Y] y\n- [Z] z\n", "U V W X Y Z", ""),
        ("- [X] x\n- [MORE] More\n  - [Y] y\n", "X MORE(Y)", "other-single"),
        ("- [X] x\n- [OTHR] Other\n  - [Y] y\n  - [Z] z\n", "X OTHR(Y Z)", ""),
        ("- [APPROVE] x\n- [ESCALATE] y\n", "APPROVE ESCALATE", "code-format"),
        ("- Go on\n- Turn back\n- Other\n", "GO TB OTH", "code-missing"),
        ("- [X]\n- [Y]\n", "X Y", "label-missing"),
        ("- [ ] [W] w\n- [ ] [Y] y\n", "W* Y*", "checkbox-order"),
        ("- [W][ ] w\n- [Y] [ ]y\n", "W* Y*", "code-format"),
        ("- [W] w\n  a\n-[Y] y\n  b\n", "W Y", "code-format"),
        ("- [W] w\n  a\n  -[Y] y\n*[Z] z\n", "W(Y) Z", "code-format"),
        ("- [W] w\n• [Y] y\n–[Z] [ ] z\n", "W Y Z*", "code-format"),
        ("- [W] [ ] w\n- [Y] y\n", "W* Y", "mixed-multi-select"),
        ("- [W] [ ] w\n- [Y] [ ] y\n- [OTH] Other\n", "W* Y* OTH", "other-subtree"),
        ("- [a] x\n- [b/c] y\n- [D,E] z\n", "a b/c D,E", "code-format"),
        ("- [X] x\n- [X] y\n", "X X", "code-duplicate"),
    ],
)
def test_later_dialects_are_read_and_reported(text: str, expected: str, rule: str) -> None:
    """Whatever can be understood is, with a word on what is unusual about it."""
    assert expected == below(text)
    assert not rule or rule in rules("### ¶ASK_T\n## Decision: D\n" + text)


def test_options_straight_below_the_tree_heading_are_one_decision() -> None:
    """It bears the tree's name."""
    text = "### ¶ASK_T\nTrigger: now\n\n- [X] x\n- [Y] y\n"
    assert [Decision("T", (Option("X", "x"), Option("Y", "y")))] == list(only(text).decisions)
    assert rules(text) == {"decision-missing"}


def test_a_plain_list_above_the_first_decision_is_prose() -> None:
    """Only a list with codes would be options there."""
    tree = only("### ¶ASK_T\nUseful when:\n\n- it rains\n- it snows\n\n## Decision: D\n- [X] x\n")
    assert [d.name for d in tree.decisions] == ["D"]


def test_a_plain_list_behind_prose_is_prose() -> None:
    """A tree's heading over notes without any code has no options."""
    assert Tree("T") == only("### ¶ASK_T\nTo be written. Ideas:\n\n- one thing\n- another thing\n")


@pytest.mark.parametrize(
    ("heading", "expected"),
    [("Choose one", "RED BLU"), ("Choose", "RED* BLU*"), ("choose  one ", "RED BLU")],
)
def test_a_heading_that_says_choose_is_a_decision(heading: str, expected: str) -> None:
    """`Choose one:` is single-select and `Choose:` multi-select, whatever boxes the items have."""
    text = f"## ¶ASK_COLOR: {heading}: Paint\n- [ ] Red\n- [ ] Blue\n"
    (decision,) = only(text).decisions
    assert decision.name == "Paint"
    assert expected == outline(decision.options)
    assert "decision-missing" in rules(text)


def test_a_choose_heading_below_the_tree_is_a_decision_too() -> None:
    """It may stand where `Decision:` would."""
    tree = only("### ¶ASK_T\n\n## Choose one: Paint\n- [ ] Red\n\n## Choose: Extras\n- [ ] Wax\n")
    assert [(d.name, outline(d.options)) for d in tree.decisions] == [
        ("Paint", "RED"),
        ("Extras", "WAX*"),
    ]


def test_a_choose_heading_without_a_tree_is_just_a_heading() -> None:
    """Documents say "Choose:" for many reasons."""
    assert names("## Choose: your weapon\n- Sword\n- Axe\n") == []


def test_derived_codes_are_unique_among_written_ones() -> None:
    """A code made from a label gives way to one that was written, also further down."""
    assert below("- Close it\n- Call Ina\n- [CI] Cite\n") == "CLO CAL CI"


def test_a_derived_code_says_so() -> None:
    """Nobody takes it for the author's own."""
    (decision,) = only("### ¶ASK_T\n## Decision: D\n- Close it\n- [OK] Fine\n").decisions
    assert [option.derived for option in decision.options] == [True, False]


def test_a_tree_that_extends_another_may_name_bare_codes() -> None:
    """They have no label of their own, and need none."""
    options = "- [OK]\n- [NO]\n- [NEW] New\n  Here\n- [OTH]\n"
    text = f"### ¶ASK_T\nExtends: ¶ASK_BASE\n\n## Decision: D\n{options}"
    assert outline(only(text).decisions[0].options) == "OK NO NEW OTH"
    assert parse(text).diagnostics == ()


# -- any text ------------------------------------------------------------------------------------

FRAGMENTS = (
    *(
        "### ¶ASK_T",
        "# ¶ASK_U: Choose one: V",
        "## Decision: D",
        "## Choose: E",
        "# Notes",
        "¶ASK_W",
    ),
    *("Trigger: now", "Extras: A: a | B: b", "Kind: advisory", "Question: why?", "Note: this"),
    *("- ", "* ", "1. ", "2) ", "> ", "  ", "    ", "\t", " ", "      "),
    *("[AA] one", "[BB] [ ] two", "[ ] [CC] three", "[OTH] Other", "[DD]", "four", "[CODE] Label"),
    *("-[EE] five", "[FF][ ] six", "[GG] [ ]seven", "• [HH] eight", "nine [ ]", "-", "•", "☐ ten"),
    *(
        "```",
        "~~~",
        "---",
        "===",
        "<div>",
        "<!-- c -->",
        "<!--",
        "-->",
        "\\",
        "日本",
        "plain words",
    ),
    *("<!-- quandary: ignore indent -->", "<!-- quandary: ignore nothing, indent -->", "", ""),
)


def soups() -> SearchStrategy[str]:
    """Documents made of whatever trees are made of, in any order."""
    line = st.lists(st.sampled_from(FRAGMENTS), max_size=3).map("".join)
    lines = st.lists(line, min_size=1, max_size=14)
    end = st.sampled_from(("\n", "\n", "\r\n", "\r"))
    opening = st.sampled_from(("", "\ufeff", "---\na: b\n---\n", "### ¶ASK_M\n## Decision: D\n"))
    return st.builds(lambda top, found, end: top + end.join(found), opening, lines, end)


@st.composite
def disturbed(draw: DrawFn) -> str:
    """Trees in canonical form with a few lines put in, taken out or written over."""
    lines = (STEP_REVIEW + "\n" + MARKED).split("\n")
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(lines)))
        line = draw(st.lists(st.sampled_from(FRAGMENTS), max_size=3).map("".join))
        lines[at : at + draw(st.integers(0, 2))] = draw(st.sampled_from(([line], [], ["", line])))
    return "\n".join(lines)


def everything(document: Document) -> object:
    """All that a document says, positions included."""
    return [repr(tree) for tree in document.trees], document.diagnostics


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    """Reading never fails, and neither does judging what was read."""
    for found in (parse(text), parse("### ¶ASK_T\n## Decision: D\n- [X] " + text)):
        assert all(diagnostic.line >= 1 for diagnostic in found.diagnostics)


@settings(max_examples=200)
@given(st.one_of(soups(), disturbed(), disturbed()))
def test_the_short_cut_reads_what_the_long_way_reads(text: str) -> None:
    """Trees in canonical form are recognised faster, with the same outcome to the last column."""
    slowly = read(split_lines(text.removeprefix("\ufeff")))
    assert everything(slowly) == everything(parse(text))
    assert rewrite(text) == text or not is_canonical(text)


@settings(max_examples=150)
@given(soups())
def test_places_are_places_in_the_text(text: str) -> None:
    """Whatever is reported or found has a line of the text, and a column on it or right behind."""
    lines = split_lines(text.removeprefix("\ufeff"))
    document = parse(text)
    places = [(d.line, d.column) for d in document.diagnostics]
    for tree in document.trees:
        places.append((tree.line, tree.column))
        places += [(o.line, o.column) for d in tree.decisions for _, o in d.walk()]
    for line, column in places:
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1


@st.composite
def lists(draw: DrawFn) -> list[str]:
    """A list of options as a careless hand writes it, each word in it the only one of its kind."""
    numbers = iter(range(1_000))
    loose = draw(st.booleans())
    lines = ["- [AA] first"]
    for _ in range(draw(st.integers(0, 12))):
        word = f"w{next(numbers)}"
        indent = draw(
            st.one_of(st.integers(0, 9).map(" ".__mul__), st.sampled_from(("\t", "\t\t")))
        )
        bullet = draw(st.sampled_from(("- ", "* ", "+ ", "1. ", "2. ", "10) ", "-   ", "-\t")))
        code = f"[{chr(65 + len(lines))}{chr(65 + len(lines))}]"
        flag = draw(st.sampled_from(("", "", "[ ] ")))
        lines.append(
            draw(
                st.sampled_from(
                    (
                        f"{indent}{bullet}{code} {flag}{word}",
                        f"{indent}{bullet}{code}",
                        f"{indent}{word} x{word}",
                        # A list without codes behind stray text is a list of another kind.
                        "" if loose else f"{indent}{bullet}{flag}{word}",
                    )
                )
            )
        )
    return [*lines, "- [ZZ] last"]


@settings(max_examples=100)
@given(lists())
def test_nothing_between_the_first_and_the_last_option_is_lost(lines: list[str]) -> None:
    """Each word is in a label, a description or a code, or someone is told where it went."""
    document = parse("### ¶ASK_T\n## Decision: D\n" + "\n".join(lines) + "\n")
    (tree,) = document.trees
    (decision,) = tree.decisions
    said = [f"{o.code} {o.label} {o.description}" for _, o in decision.walk()]
    said += [diagnostic.message for diagnostic in document.diagnostics]
    known = set(re.findall(r"\w+", " ".join(said)))
    reported = {d.line - 3 for d in document.diagnostics if d.rule == "stray-text"}
    strays = [block for block in scan(lines).children if block.line in reported]
    told = {number for block in strays for number in range(block.line, block.end + 1)}
    for number, line in enumerate(lines):
        assert number in told or set(re.findall(r"[A-Zw]\w+", line)) <= known


@st.composite
def outlines(draw: DrawFn) -> str:
    """A list with options at all levels, indented in any way that leaves no doubt.

    An option stands at most three columns right of the content of one above it: further out,
    markdown-it-py departs from CommonMark where text above could go on (see test_blocks).
    """
    open_at = [0]
    lines = []
    for number in range(draw(st.integers(1, 12))):
        base = draw(st.sampled_from(open_at))
        open_at = [column for column in open_at if column <= base]
        indent = " " * (base + draw(st.integers(0, 3)))
        bullet = draw(st.sampled_from(("-", "*", "+", "1.", "1)", "10."))) + " "
        bullet += " " * draw(st.sampled_from((0, 0, 0, 1, 2, 3)))
        lines.append(f"{indent}{bullet}[A{chr(65 + number)}] label")
        open_at.append(len(indent + bullet))
        text = st.integers(0, 12).map(lambda width: " " * width + "text")
        lines += draw(st.lists(st.one_of(st.just(""), text), max_size=2))
    if draw(st.booleans()):
        lines = [re.sub("^(?: {4})+", lambda lead: "\t" * (len(lead[0]) // 4), x) for x in lines]
    return "".join(f"{line}\n" for line in lines)


Nest = list[tuple[str, "Nest"]]


def nested_items(text: str) -> Nest:
    """The codes of a text's list items as markdown-it-py nests them."""
    levels: list[Nest] = [[]]
    tokens = MarkdownIt("commonmark", {"maxNesting": 400}).parse(text)
    for index, token in enumerate(tokens):
        if token.type == "list_item_open":
            first = next(token for token in tokens[index:] if token.type == "inline")
            inner: Nest = []
            levels[-1].append((first.content.split()[0], inner))
            levels.append(inner)
        elif token.type == "list_item_close":
            levels.pop()
    return levels[0]


@settings(max_examples=100)
@given(outlines())
def test_options_nest_as_the_list_does(text: str) -> None:
    """However it is indented, an option belongs to the item that Markdown puts it in."""

    def nest(options: tuple[Option, ...]) -> Nest:
        return [(f"[{o.code}]", nest(o.options)) for o in options]

    (tree,) = parse("### ¶ASK_T\n## Decision: D\n" + text).trees
    assert nested_items(text) == nest(tree.decisions[0].options)


# -- much of it ----------------------------------------------------------------------------------


def deep(text: str) -> tuple[Decision, list[Diagnostic]]:
    """A decision and what is said of its depth."""
    document = parse("### ¶ASK_T\n## Decision: D\n" + text)
    (tree,) = document.trees
    return tree.decisions[0], [d for d in document.diagnostics if d.rule == "depth-limit"]


@pytest.mark.parametrize(
    "text",
    [
        "- " * 10_000 + "[X] x\n",
        "".join("  " * level + "- [X] x\n" for level in range(300)),
        "".join("  " * level + "* [X] x\n" for level in range(300)),
        "".join("\t" * level + "- [X] x\n" for level in range(300)),
    ],
)
def test_any_depth_is_read_and_reported_once(text: str) -> None:
    """No stack overflows; what is too deep to be an item stays text."""
    decision, found = deep(text)
    assert decision.depth == 99
    assert len(found) == 1
    assert ["x" in o.description or "x" in o.label for _, o in decision.walk()][-1]


@pytest.mark.parametrize(
    "unit",
    ["a", "[", "<a ", "<!-- -->", "- ", "> ", "`", "#", "¶ASK_", "\\", " ", "A: x | ", "[ ] "],
)
@pytest.mark.parametrize(
    "start",
    [
        "### ¶ASK_",
        "### ¶ASK_T\nExtras: ",
        "## Decision: D\n- [OK] ",
        "## Decision: D\n- [OK] x\n  ",
    ],
)
def test_a_line_of_a_million_characters_is_read_in_no_time(start: str, unit: str) -> None:
    """Nothing that repeats makes reading slow."""
    begun = time.process_time()
    assert parse(start + unit * (1_000_000 // len(unit)) + "\n").diagnostics is not None
    assert time.process_time() - begun < 5


def test_a_label_of_five_megabytes_is_a_label() -> None:
    """And is kept to the last character."""
    label = "long " * 1_000_000 + "end"
    (decision,) = only(f"### ¶ASK_T\n## Decision: D\n- [OK] {label}\n").decisions
    assert decision.options[0].label == label
