"""What `--fix` mends, and what it must not touch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quandary.formats.fixing import fix, fixable
from quandary.formats.lint import check
from quandary.formats.markdown import parse
from quandary.formats.rules import RULES

HEAD = "### ¶ASK_T\nTrigger: now\n\n## Decision: D\n"
TAIL = "- [OTH] Other\n  - [ASK] Ask\n    four\n  - [DEF] Defer\n    five\n"
FIXABLE = sorted(name for name, rule in RULES.items() if rule.fixable)


def options(*lines: str) -> str:
    """A tree with these lines as its first options."""
    return HEAD + "".join(line + "\n" for line in lines) + TAIL


THREE = ("- [YES] Yes\n  one", "- [NO] No\n  two", "- [FIX] Fix\n  three")


@pytest.mark.parametrize(
    ("rule", "broken", "mended"),
    [
        ("indent", (*THREE[:2], "- [FIX] Fix\n  three"), None),
        ("checkbox-order", [o.replace("- [", "- [ ] [") for o in THREE], "[YES] [ ] Yes"),
        ("mixed-multi-select", (THREE[0].replace("]", "] [ ]"), *THREE[1:]), "[NO] [ ] No"),
        ("label-ellipsis", ("- [YES] Yes...\n  one", *THREE[1:]), "- [YES] Yes\n"),
        ("code-missing", ("- Say yes\n  one", *THREE[1:]), "- [SY] Say yes\n"),
        ("description-indent", ("- [YES] Yes\none", *THREE[1:]), "- [YES] Yes\n  one\n"),
    ],
)
def test_a_fixable_rule_is_mended(rule: str, broken: tuple[str, ...], mended: str | None) -> None:
    """After the fix the rule is kept, nothing else is broken, and a second fix does nothing."""
    text = options(*broken)
    if rule == "indent":
        text = text.replace("  - [", "     - [").replace("    four", "       four")
        text = text.replace("    five", "       five")
        mended = "\n  - [ASK] Ask\n    four\n"
    assert [d.rule for d in check(parse(text)) if d.rule == rule]
    better, count = fix(text, RULES)
    assert count >= 1
    assert mended is not None
    assert mended in better
    assert check(parse(better)) == ()
    assert fix(better, RULES) == (better, 0)


def test_every_fixable_rule_is_tried_above() -> None:
    """A rule that claims a fix has one."""
    assert FIXABLE == [
        "checkbox-order",
        "code-missing",
        "description-indent",
        "indent",
        "label-ellipsis",
        "mixed-multi-select",
    ]


def test_only_the_rules_asked_for_are_mended() -> None:
    """What is not selected stays."""
    text = options("- [YES] Yes...\n  one", *THREE[1:])
    assert fix(text, {"indent"}) == (text, 0)


def test_ignored_rules_are_not_mended() -> None:
    """A comment that silences a rule also keeps the fix away."""
    text = options("- [YES] Yes...\n  one", *THREE[1:])
    text = text.replace("Trigger", "<!-- quandary: ignore label-ellipsis -->\n\nTrigger")
    assert fix(text, RULES) == (text, 0)


def test_fenced_examples_are_not_mended() -> None:
    """An example may show what is wrong."""
    text = "```\n" + options("- [YES] Yes...\n  one", *THREE[1:]) + "```\n"
    assert fix(text, RULES) == (text, 0)


def test_an_option_taken_for_text_is_left_to_its_author() -> None:
    """Only they know where it belongs."""
    text = options("- [YES] Yes\n          - [SUB] Sub", *THREE[1:])
    (problem,) = [d for d in check(parse(text)) if d.rule == "indent"]
    assert not fixable(problem)
    assert fix(text, RULES) == (text, 0)


def test_ticked_boxes_are_not_mistaken_for_codes() -> None:
    """`[X] [x]` is a code and a ticked box, and stays that."""
    text = options("- [X] [x] a\n  one", "- [Y] [ ] b\n  two", "- [Z] [ ] c\n  three")
    better, _ = fix(text, RULES)
    assert [o.code for o in parse(better).trees[0].decisions[0].options] == ["X", "Y", "Z", "OTH"]


FRAGMENTS = (
    *("- [AA] x", "- [ ] [BB] y", "- [CC] [ ] z", "- D d", "    - [EE] e...", "desc", "  desc"),
    *(
        "* [FF] f",
        "1. [GG] g",
        "",
        "  - [HH] h…",
        "<!-- c -->",
        "Prose.",
        "- [OTH] Other",
        "\t- [II] i",
    ),
)


@settings(max_examples=400)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12))
def test_a_fix_never_makes_it_worse(lines: list[str]) -> None:
    """Fewer problems or as many, the same options, and the words around the tree untouched."""
    text = "Above  \n\n" + HEAD + "\n".join(lines) + "\n\n---\n\nBelow \t\n"
    better, count = fix(text, RULES)
    before, after = check(parse(text)), check(parse(better))
    assert count >= 0
    assert len(after) <= len(before)
    assert better.startswith("Above  \n\n")
    assert better.endswith("---\n\nBelow \t\n")

    def codes(found: str) -> list[tuple[str, ...]]:
        (tree,) = parse(found).trees
        return [path for path, _ in tree.decisions[0].walk()]

    assert codes(better) == codes(text)
    assert fix(better, RULES)[0] == better
