"""Every rule, with a place where it is broken and one where it is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quandary.formats.markdown import parse
from quandary.formats.rules import RULES, Diagnostic, check, check_files, explanations

EXAMPLES = sorted((Path(__file__).parents[2] / "examples/trees").glob("*.md"))
ERRORS = """always-four depth-limit code-format code-duplicate name-format name-duplicate
other-subtree other-missing no-options indent label-missing"""
WARNINGS = """other-single description-missing trigger-missing mixed-multi-select label-comma
label-ellipsis code-letter"""

CLEAN = """\
### ¶ASK_T
Trigger: now

## Decision: D
- [YES] Yes
  one
- [NO] No
  two
- [FIX] Fix
  three
- [OTH] Other
  - [ASK] Ask
    four
  - [DEF] Defer
    five
"""


def found(text: str, *, fenced: bool = False) -> list[tuple[str, int, int]]:
    """The rules that are broken, with line and column."""
    return [(d.rule, d.line, d.column) for d in check(parse(text), fenced=fenced)]


def example_pairs() -> list[tuple[str, str, str]]:
    """Each rule with its bad and its good example."""
    pairs = []
    for name, entry in explanations().items():
        fences = re.findall(r"(?ms)^(`{4,})markdown\n(.*?)^\1$", entry.text)
        assert len(fences) == 2, name
        pairs.append((name, fences[0][1], fences[1][1]))
    return pairs


def judged(text: str) -> set[str]:
    """All that is said of a document as the only file."""
    return {d.rule for d in check_files([("t.md", parse(text))])[0].diagnostics}


def test_the_contract_names_rules_that_exist() -> None:
    """Errors are those of the contract and no others; its warnings are warnings."""
    errors = {name for name, rule in RULES.items() if rule.severity == "error"}
    assert errors == set(ERRORS.split())
    assert all(RULES[name].severity == "warning" for name in WARNINGS.split())


def test_rules_stand_in_the_order_of_the_contract() -> None:
    """Errors first, then the warnings that the contract names, then the rest."""
    named = [*ERRORS.split(), *WARNINGS.split()]
    assert list(RULES)[: len(named)] == named


def test_every_rule_is_explained() -> None:
    """The page and the code have the same rules, in the same order, with the same severity."""
    assert list(explanations()) == list(RULES)
    for name, entry in explanations().items():
        assert entry.summary
        assert entry.text.startswith(f"*{RULES[name].severity.capitalize()}.*")
        assert ("Fixed by `--fix`." in entry.text.split("\n", 1)[0]) == RULES[name].fixable


@pytest.mark.parametrize(("name", "bad", "good"), example_pairs(), ids=list(RULES))
def test_the_examples_of_a_rule_are_right(name: str, bad: str, good: str) -> None:
    """The bad one breaks this rule and no other; the good one breaks none."""
    assert judged(bad) == {name}
    assert judged(good) == set()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_example_trees_are_clean(path: Path) -> None:
    """What we show others keeps every rule."""
    assert found(path.read_text(encoding="utf-8")) == []


def test_a_clean_tree_has_no_problem() -> None:
    """The tree that the cases below break."""
    assert found(CLEAN) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("- [FIX] Fix\n  three\n", ""), [("always-four", 4, 1)]),
        (("- [FIX]", "- [NEW] New\n  x\n- [FIX]"), [("always-four", 4, 1)]),
        (("  - [DEF] Defer", "  - [OTH] Defer"), [("always-four", 14, 3)]),
        (
            ("    five\n", "    five\n  - [P] p\n    x\n  - [Q] q\n    x\n"),
            [("always-four", 11, 1)],
        ),
        (("- [FIX]", "- [FIXES]"), [("code-format", 9, 1)]),
        (("- [FIX]", "- [fix]"), [("code-format", 9, 1)]),
        (("- [FIX]", "- [F/X]"), [("code-format", 9, 1)]),
        (("- [FIX]", "- [F,X]"), [("code-format", 9, 1)]),
        (("- [FIX]", "- [F1]"), [("code-format", 9, 1)]),
        (("- [FIX]", "- [NO]"), [("code-duplicate", 9, 1)]),
        (("¶ASK_T", "¶ASK_My-Tree"), [("name-format", 1, 1)]),
        (("¶ASK_T", "¶ASK_T__X"), [("name-format", 1, 1)]),
        (("  - [ASK] Ask\n    four\n  - [DEF] Defer\n    five\n", ""), [("other-subtree", 11, 1)]),
        (("  - [DEF] Defer\n    five\n", ""), [("other-single", 11, 1)]),
        (
            ("- [OTH] Other\n  - [ASK] Ask\n    four\n  - [DEF] Defer\n    five\n", ""),
            [("other-missing", 4, 1)],
        ),
        (("- [OTH]", "- [MORE]"), [("other-missing", 11, 1)]),
        (("- [OTH]", "- [OTHR]"), [("other-missing", 11, 1)]),
        (("  - [ASK] Ask\n    four", "   - [ASK] Ask\n     four"), [("indent", 12, 4)]),
        (("  - [ASK] Ask\n    four", "\t- [ASK] Ask\n\t  four"), [("indent", 12, 2)]),
        (("- [YES] Yes", "- [YES]"), [("label-missing", 5, 1)]),
        (("  one\n", ""), [("description-missing", 5, 1)]),
        (("Trigger: now\n", ""), [("trigger-missing", 1, 1)]),
        (("- [YES]", "- [YES] [ ]"), [("mixed-multi-select", 7, 1)]),
        (("Yes", "Yes..."), [("label-ellipsis", 5, 1)]),
        (("Yes", "Yes…"), [("label-ellipsis", 5, 1)]),
        (("[YES]", "[B]"), [("code-letter", 5, 1)]),
        (("- [YES] Yes", "- Yes"), [("code-missing", 5, 1)]),
        (("] No", "] Yes"), [("label-duplicate", 7, 1)]),
        (("\n  one\n", "\none\n"), [("description-indent", 6, 1)]),
        (("Trigger: now", "Trigger: now\nKind: maybe"), [("kind-unknown", 3, 1)]),
        (("Trigger: now", "Trigger: now\nExtras: wait"), [("extras-format", 3, 1)]),
        (("Trigger: now", "Trigger: now\nTriger: x"), [("key-unknown", 3, 1)]),
        (("Trigger: now", "Trigger: now\nTrigger: x"), [("key-duplicate", 3, 1)]),
        (("\n  two\n", "\n  two\n\nWords.\n\n"), [("stray-text", 10, 1)]),
        (("## Decision: D\n", ""), [("decision-missing", 1, 1)]),
    ],
)
def test_where_a_rule_is_broken(
    change: tuple[str, str], expected: list[tuple[str, int, int]]
) -> None:
    """One change to a clean tree breaks one rule, at the line and column that has to be mended."""
    assert change[0] in CLEAN
    assert found(CLEAN.replace(*change, 1)) == expected


def test_indents_other_than_two_are_errors_once_a_level() -> None:
    """Four spaces are understood and reported at the first option of the level."""
    text = CLEAN.replace("  - [", "    - [").replace("    four", "      four")
    assert ("indent", 12, 5) in found(text)
    assert [rule for rule, _, _ in found(text)].count("indent") == 1


def test_an_option_that_markdown_takes_for_text_is_an_error() -> None:
    """Indented too far, it is no option for anyone who reads the page."""
    text = CLEAN.replace("  two\n", "          - [SUB] Sub\n")
    assert ("indent", 8, 11) in found(text)


def test_other_on_the_third_level_needs_no_menu() -> None:
    """The depth limit leaves no room for one."""
    deep = "\n".join(
        [
            "  - [P] p",
            "    x",
            *(f"    - [{code}] {code}\n      y" for code in ("X", "Y", "Z")),
            "    - [OTH] Other",
            "  - [Q] q\n    x",
            "  - [R] r\n    x",
            "  - [OTH] Other\n    - [S] s\n      x\n    - [V] v\n      x",
        ]
    )
    assert found(CLEAN.replace("  one\n", "  one\n" + deep + "\n")) == []


def test_a_fourth_level_is_too_deep() -> None:
    """Reported where it begins."""
    text = "### ¶ASK_T\n## Decision: D\n- [P] p\n  - [Q] q\n    - [R] r\n      - [S] s\n"
    assert ("depth-limit", 6, 7) in found(text)


@pytest.mark.parametrize(
    "text",
    ["### ¶ASK_T\nTrigger: x\n", "### ¶ASK_T\nTrigger: x\n\n## Decision: D\n", "## Decision: D\n"],
)
def test_a_tree_without_options_is_an_error(text: str) -> None:
    """A ¶ASK heading without a decision, and a decision without options."""
    assert "no-options" in [rule for rule, _, _ in found(text)]


def test_a_comma_matters_only_where_several_are_chosen() -> None:
    """Hosts join the answers to multi-select questions with commas."""
    text = CLEAN.replace("Yes", "Yes, now")
    assert found(text) == []
    flagged = text.replace("[YES]", "[YES] [ ]").replace("[NO]", "[NO] [ ]")
    flagged = flagged.replace("[FIX]", "[FIX] [ ]")
    assert found(flagged) == [("label-comma", 5, 1)]


def test_more_beside_other_is_a_named_option() -> None:
    """[MORE] stands for Other only where there is none."""
    text = CLEAN.replace("[FIX] Fix", "[MORE] More info needed")
    assert found(text) == []


def test_a_tree_that_extends_another_may_have_no_list() -> None:
    """It is judged by what it runs with: a base without options brings none."""
    heir = "\n### ¶ASK_U\nTrigger: later\nExtends: ¶ASK_T\n"
    assert found(CLEAN + heir) == []
    assert found("### ¶ASK_T\nTrigger: now\n" + heir) == [
        ("no-options", 1, 1),
        ("no-options", 4, 1),
    ]


@pytest.mark.parametrize("box", ["[x]", "[X]"])
def test_a_ticked_box_is_told(box: str) -> None:
    """Nothing is ticked beforehand, and what `fmt` is going to write anew is not lost unseen."""
    text = re.sub(r"(?m)^- \[(YES|NO|FIX)\]", r"- [\1] [ ]", CLEAN)
    assert found(text) == []
    assert found(text.replace("[YES] [ ]", f"[YES] {box}")) == [("checkbox-order", 5, 1)]


def test_a_tree_that_extends_another_may_leave_labels_out() -> None:
    """A bare code inherits; the base has to be among the files that are checked."""
    text = "### ¶ASK_U\nExtends: §ASK_T\n\n## Decision: D\n- [YES]\n- [NO]\n- [FIX]\n- [OTH]\n"
    assert found(text) == []
    (unknown,) = check_files([("u.md", parse(text))])[0].diagnostics
    assert (unknown.rule, unknown.line) == ("extends-unknown", 1)
    both = check_files([("u.md", parse(text)), ("t.md", parse(CLEAN))])
    assert [file.diagnostics for file in both] == [(), ()]


def test_trees_that_extend_each_other_in_a_circle_are_an_error() -> None:
    """They are refused wherever they are used, so checking them does not end well either."""
    first = CLEAN.replace("Trigger: now", "Extends: ¶ASK_U")
    second = CLEAN.replace("ASK_T", "ASK_U").replace("Trigger: now", "Extends: ¶ASK_T")
    for file in check_files([("t.md", parse(first)), ("u.md", parse(second))]):
        (circle,) = file.diagnostics
        assert (circle.rule, circle.severity) == ("no-options", "error")
        assert "goes in a circle" in circle.message
    assert [d.rule for d in parse(first + "\n" + second).diagnostics] == ["no-options"] * 2


def test_a_bare_code_that_its_base_does_not_have_lacks_a_label() -> None:
    """Nobody could tell what it stands for; what an heir left out is not there for the next."""
    heir = "### ¶ASK_{}\nExtends: §ASK_{}\n\n## Decision: D\n- [YES]\n- [NO]\n- [{}]\n- [OTH]\n"
    text = f"{CLEAN}\n{heir.format('U', 'T', 'NAY')}\n{heir.format('V', 'U', 'FIX')}"
    assert found(text) == [("label-missing", 23, 1), ("label-missing", 32, 1)]


def test_a_name_stands_for_one_tree_in_a_file() -> None:
    """The second is reported, with the line of the first."""
    (second,) = [d for d in check(parse(CLEAN + "\n" + CLEAN)) if d.rule == "name-duplicate"]
    assert (second.line, second.tree) == (17, "T")
    assert "line 1;" in second.message


def test_a_name_stands_for_one_tree_across_files() -> None:
    """The later file is told where the first one is."""
    first, second = check_files([("a.md", parse(CLEAN)), ("b.md", parse(CLEAN))])
    assert first.diagnostics == ()
    assert "a.md:1" in second.diagnostics[0].message


def test_two_decisions_of_a_tree_have_two_names() -> None:
    """The second one is reported, with the line of the first."""
    twice = CLEAN + "\n" + CLEAN[CLEAN.index("## Decision") :]
    (second,) = check(parse(twice))
    assert (second.rule, second.line, second.column) == ("name-duplicate", 17, 1)
    assert "line 4;" in second.message
    assert found(twice.replace("Decision: D", "Decision: E", 1)) == []


def test_a_fenced_example_may_have_the_name_of_a_tree() -> None:
    """It declares nothing, in its own file and in others."""
    assert found(f"```\n{CLEAN}```\n\n{CLEAN}") == []
    assert found(f"```\n{CLEAN}```\n\n{CLEAN}", fenced=True) == []


@pytest.mark.parametrize("rule", ["name-duplicate", "extends-unknown"])
def test_rules_between_files_can_be_silenced_too(rule: str) -> None:
    """The comment in a tree holds for whatever is said of that tree."""
    text = CLEAN.replace("Trigger: now", "Trigger: now\nExtends: ¶ASK_NOBODY")
    quiet = text.replace("## Decision", f"<!-- quandary: ignore {rule} -->\n\n## Decision")

    def told(second: str) -> list[str]:
        files = [("a.md", parse(CLEAN)), ("b.md", parse(second))]
        return [diagnostic.rule for diagnostic in check_files(files)[1].diagnostics]

    assert told(text) == ["name-duplicate", "extends-unknown"]
    assert told(quiet) == [name for name in told(text) if name != rule]


def test_under_a_named_option_the_rules_are_those_of_the_first_level() -> None:
    """Three named options and [OTH] with a menu; each thing missing is one error."""
    three = "  - [P] p\n    x\n  - [Q] q\n    x\n  - [R] r\n    x\n"
    other = "  - [OTH] Other\n"
    menu = "    - [S] s\n      x\n    - [V] v\n      x\n"

    def under(options: str) -> list[tuple[str, int, int]]:
        return found(CLEAN.replace("  one\n", "  one\n" + options, 1))

    assert under(three + other + menu) == []
    assert under(three) == [("other-missing", 5, 1)]
    assert under(three + other) == [("other-subtree", 13, 3)]
    assert under(three[: three.index("  - [R]")] + other + menu) == [("always-four", 5, 1)]


def test_a_tree_may_break_several_rules_in_the_order_of_its_lines() -> None:
    """Nothing stops at the first problem."""
    text = (
        CLEAN.replace("Trigger: now\n", "").replace("[NO] No", "[no] Yes...").replace("  one\n", "")
    )
    assert found(text) == [
        ("trigger-missing", 1, 1),
        ("description-missing", 4, 1),
        ("code-format", 5, 1),
        ("label-ellipsis", 5, 1),
    ]


def test_examples_in_fences_are_judged_only_when_asked() -> None:
    """A fenced tree is somebody's example."""
    text = "```\n### ¶ASK_T\n```\n"
    assert found(text) == []
    assert found(text, fenced=True)[0] == ("no-options", 2, 1)


@pytest.mark.parametrize(
    "comment",
    [
        "<!-- quandary: ignore trigger-missing -->",
        "<!--quandary:ignore trigger-missing, code-letter-->",
        "<!-- quandary: ignore code-letter trigger-missing -->",
    ],
)
@pytest.mark.parametrize("place", ["### ¶ASK_T\n", "## Decision: D\n", "- [NO] No\n"])
def test_a_comment_silences_a_rule_for_its_tree(comment: str, place: str) -> None:
    """Above the heading or anywhere in the tree; other trees are judged as before."""
    tree = CLEAN.replace("Trigger: now\n", "")
    text = tree.replace(place, f"{comment}\n{place}", 1) + "\n" + tree.replace("_T", "_U")
    assert [rule for rule, _, _ in found(text)] == ["trigger-missing"]


def test_a_comment_that_names_no_rule_is_reported() -> None:
    """A misspelt rule would silence nothing without anyone knowing."""
    text = CLEAN.replace("Trigger", "<!-- quandary: ignore always-for -->\n\nTrigger")
    (problem,) = check(parse(text))
    assert problem.rule == "ignore-unknown"
    assert "did you mean always-four?" in problem.message


def test_each_unknown_name_in_a_comment_is_reported_and_the_others_count() -> None:
    """One slip does not undo the rest, and a comment that names nothing is a slip as well."""
    text = CLEAN.replace("Trigger: now", "<!-- quandary: ignore nonsense, trigger-missing -->")
    assert found(text) == [("ignore-unknown", 2, 1)]
    (problem,) = check(parse(CLEAN.replace("Trigger", "<!-- quandary: ignore -->\nTrigger")))
    assert (problem.rule, problem.message) == ("ignore-unknown", "name the rules to ignore")


def test_a_comment_in_no_tree_is_reported() -> None:
    """It speaks for nothing."""
    assert found("<!-- quandary: ignore indent -->\n\nProse.\n") == [("ignore-unknown", 1, 1)]


def test_a_comment_quoted_as_code_is_no_comment() -> None:
    """Pages explain it."""
    assert found("Write `<!-- quandary: ignore RULE -->` above it.\n") == []


def test_trees_out_of_sight_are_reported() -> None:
    """In a quote, in indented code, in an HTML block, or with no space behind the # signs."""
    for text in (
        "> ### ¶ASK_T\n",
        "    ### ¶ASK_T\n",
        "<div>\n### ¶ASK_T\n</div>\n",
        "###¶ASK_T\n",
    ):
        assert [rule for rule, _, _ in found(text)] == ["tree-hidden"]


def test_a_fence_left_open_is_reported() -> None:
    """Everything below it would be taken for an example."""
    assert found("Text\n\n```\ncode\n\n" + CLEAN) == [("fence-open", 3, 1)]


def test_messages_are_one_printable_line() -> None:
    """Whatever an author wrote, a message can be shown."""
    text = CLEAN.replace("[FIX]", "[F\x1b[31mX]").replace("Yes", "Y\u202ees...")
    for problem in check(parse(text)):
        assert isinstance(problem, Diagnostic)
        assert problem.message.isprintable()
