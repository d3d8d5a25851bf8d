"""What `--fix` mends, and what it must not touch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quandary.formats.markdown import parse
from quandary.formats.markdown.writing import canonical, fix, is_fixable
from quandary.formats.rules import RULES, check
from quandary.model.tree import Option, is_multi

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


def plain(options: tuple[Option, ...], rule: str) -> list[object]:
    """What options say, but for what a rule's fix is there to change."""
    level = is_multi(options)
    return [
        (
            o.code,
            o.label.rstrip(".… ") if rule == "label-ellipsis" else o.label,
            o.description,
            level if rule == "mixed-multi-select" else o.multi,
            o.derived and rule != "code-missing",
            plain(o.options, rule),
        )
        for o in options
    ]


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        ("indent", ("- [YES] Yes\n     - [SUB] Sub\n       x", "   - [NO] No\n     two")),
        ("indent", (" - [YES] Yes", "   one", "      - [SUB] Sub", "\t - [TOP] Top", "  - [AA] a")),
        ("checkbox-order", ("- [ ] [YES] Yes", "- [x] [NO] No", "- [ ] [FIX] Fix")),
        ("mixed-multi-select", ("- [YES] [ ] Yes", "- [NO] No", "  - [SUB] Sub", "- [FIX] Fix")),
        (
            "label-ellipsis",
            ("- [YES] Yes...", "  - [SUB] Sub…", "- [NO] No . ...", "- [FIX] ..."),
        ),
        ("code-missing", ("- Say yes", "  - Sub one", "- Say yes", "- Say no", "-", "- [SN] x")),
        ("description-indent", ("- [YES] Yes", "one", " two", "- [NO] No", "  three", "four")),
    ],
)
def test_a_mended_tree_means_the_same(rule: str, lines: tuple[str, ...]) -> None:
    """Layout apart, only marks on a multi-select level, dots, or a code in use are written anew."""
    text = options(*lines)
    better, count = fix(text, {rule})
    (before,), (after,) = parse(text).trees, parse(better).trees
    assert count >= 1
    assert [(d.name, plain(d.options, rule)) for d in before.decisions] == [
        (d.name, plain(d.options, rule)) for d in after.decisions
    ]
    assert before.trigger == after.trigger
    assert fix(better, {rule}) == (better, 0)


@pytest.mark.parametrize("rule", FIXABLE)
def test_a_good_document_is_never_touched(rule: str) -> None:
    """Where the rule is kept nothing is laid out anew, canonical or not."""
    text = "Odd  prose \t\n" + options(*THREE).replace("- [YES]", "* [YES]") + "\n\n\nmore\r\n"
    assert fix(text, {rule}) == (text, 0)


def test_only_the_broken_tree_is_rewritten() -> None:
    """Its neighbours keep their bullets, their blanks and their line ends."""
    odd = options(*THREE).replace("¶ASK_T", "¶ASK_ODD").replace("- [YES]", "* [YES]")
    broken = options("- [YES] Yes...\n  one", *THREE[1:])
    better, count = fix(f"{odd}\n{broken}\n{odd.replace('ODD', 'EVEN')}", RULES)
    assert count == 1
    assert better == f"{odd}\n{options(*THREE)}\n{odd.replace('ODD', 'EVEN')}"


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


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ([o.replace("] ", "][ ] ") for o in THREE], "- [YES] [ ] Yes"),
        ([o.replace("] ", "] [ ]") for o in THREE], "- [FIX] [ ] Fix"),
        ([THREE[0], "-[NO] No\n  two", THREE[2]], "- [NO] No\n  two\n- [FIX]"),
        ([THREE[0], "- NO] No\n  two", THREE[2]], "- [NO] No\n  two\n- [FIX]"),
    ],
)
def test_a_near_miss_gets_no_new_code(broken: list[str], mended: str) -> None:
    """`--fix` leaves it, and whatever lays out the tree writes the code that is there."""
    text = options(*broken)
    assert "code-format" in {d.rule for d in check(parse(text))}
    assert fix(text, RULES) == (text, 0)
    assert mended in canonical(text)
    assert check(parse(canonical(text))) == ()
    dotted, _ = fix(text.replace("Other", "Other..."), RULES)
    assert mended in dotted


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
    assert not is_fixable(problem)
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


@settings(max_examples=120)
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
