"""The rules that trees keep: one small function each.

A rule looks at a section and yields what is wrong: a line, a column and a message that ends with
the remedy. Its explanation, with a bad and a good example, is in `rules.md` beside this file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from quandary.model.tree import Option, Tree, is_multi, named_of, other_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from quandary.formats.diagnostics import Severity
    from quandary.formats.findings import Note, Section

    Finding = tuple[int, int, str]
    Check = Callable[[Section], Iterator[Finding]]

LEVELS = 3
_CODE = re.compile(r"[A-Z]{1,4}")
_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")


class Rule(NamedTuple):
    """A rule and the function that finds where it is broken."""

    name: str
    severity: Severity
    check: Check
    fixable: bool = False


RULES: dict[str, Rule] = {}


def _rule(name: str, severity: Severity, *, fixable: bool = False) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        RULES[name] = Rule(name, severity, check, fixable)
        return check

    return register


class Level(NamedTuple):
    """The options that are shown together, and what they hang from."""

    options: tuple[Option, ...]
    depth: int
    line: int
    column: int
    under_other: bool
    name: str


def levels(tree: Tree) -> Iterator[Level]:
    """Every level of a tree that has options."""
    waiting: list[Level] = []
    for decision in reversed(tree.decisions):
        if decision.options:
            place = (decision.line, decision.column)
            waiting.append(
                Level(decision.options, 1, *place, False, f"Decision {short(decision.name)}")
            )
    while waiting:
        level = waiting.pop()
        yield level
        other = other_of(level.options)
        for option in reversed(level.options):
            if option.options:
                place = (option.line, option.column)
                name = f"[{option.code}]"
                waiting.append(
                    Level(option.options, level.depth + 1, *place, option is other, name)
                )


def _options(tree: Tree) -> Iterator[tuple[Level, Option]]:
    return ((level, option) for level in levels(tree) for option in level.options)


def _noted(section: Section, rule: str) -> Iterator[Note]:
    return (note for note in section.notes if note.rule == rule)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@_rule("always-four", "error")
def always_four(section: Section) -> Iterator[Finding]:
    """Three named options and [OTH] on every level; two or three named ones under [OTH]."""
    for level in levels(section.tree):
        other, count = other_of(level.options), len(named_of(level.options))
        if level.under_other:
            if other is not None:
                message = f"[{other.code}] stands under [OTH]; give that level named options only"
                yield other.line, other.column, message
            if count > LEVELS:
                message = f"{level.name} has {count} options; keep two or three under [OTH]"
                yield level.line, level.column, message
        elif count != LEVELS:
            has = _number(count, "named option")
            remedy = "add" if count < LEVELS else "move"
            where = "another" if count < LEVELS else "what is less common under [OTH]"
            message = f"{level.name} has {has} where three belong beside [OTH]; {remedy} {where}"
            yield level.line, level.column, message


@_rule("depth-limit", "error")
def depth_limit(section: Section) -> Iterator[Finding]:
    """No more than three levels."""
    for level in levels(section.tree):
        if level.depth == LEVELS + 1:
            first = level.options[0]
            message = f"level {level.depth} under {level.name}; flatten the tree to three levels"
            yield first.line, first.column, message


@_rule("code-format", "error")
def code_format(section: Section) -> Iterator[Finding]:
    """A code is one to four capital letters."""
    for _, option in _options(section.tree):
        if not option.derived and not _CODE.fullmatch(option.code):
            message = f"code [{option.code}]: write one to four capital letters A-Z"
            yield option.line, option.column, message


@_rule("code-duplicate", "error")
def code_duplicate(section: Section) -> Iterator[Finding]:
    """A code stands once among siblings."""
    for level in levels(section.tree):
        seen: dict[str, Option] = {}
        for option in level.options:
            first = seen.setdefault(option.code.upper(), option)
            if first is not option:
                message = f"code [{option.code}] is taken on line {first.line}; choose another"
                yield option.line, option.column, message


@_rule("name-format", "error")
def name_format(section: Section) -> Iterator[Finding]:
    """A ¶ASK name is UPPER_SNAKE."""
    tree = section.tree
    if not tree.bare and not _NAME.fullmatch(tree.name):
        better = re.sub(r"[^A-Z0-9]+", "_", tree.name.upper()).strip("_0123456789") or "A_NAME"
        yield tree.line, tree.column, f"name ¶ASK_{tree.name}: write it as ¶ASK_{better}"


@_rule("name-duplicate", "error")
def name_duplicate(section: Section) -> Iterator[Finding]:
    """Two decisions of a tree have two names; `duplicate_names` compares whole trees."""
    seen: dict[str, int] = {}
    for decision in section.tree.decisions:
        first = seen.setdefault(decision.name, decision.line)
        if first != decision.line:
            message = f"decision {decision.name} is already on line {first}; name it otherwise"
            yield decision.line, decision.column, message


@_rule("other-subtree", "error")
def other_subtree(section: Section) -> Iterator[Finding]:
    """[OTH] has a menu of its own, except where the depth limit leaves no room for one."""
    for level in levels(section.tree):
        other = other_of(level.options)
        inside = level.depth < LEVELS and not level.under_other
        if other is not None and not other.options and inside and not _inherits(section, other):
            message = f"[{other.code}] has no options; put two or three under it"
            yield other.line, other.column, message


@_rule("other-missing", "error")
def other_missing(section: Section) -> Iterator[Finding]:
    """The first level and every level under a named option have [OTH]."""
    for level in levels(section.tree):
        other = other_of(level.options)
        if level.under_other:
            continue
        if other is None:
            message = f"{level.name} has no [OTH]; add `- [OTH] Other` with two or three options"
            yield level.line, level.column, message
        elif other.code != "OTH":
            message = f"[{other.code}] stands where [OTH] belongs; write [OTH]"
            yield other.line, other.column, message


@_rule("no-options", "error")
def no_options(section: Section) -> Iterator[Finding]:
    """A tree has a decision, and a decision has options."""
    tree = section.tree
    if not tree.decisions:
        message = f"¶ASK_{tree.name} has no decision; add `## Decision: Name` and a list of options"
        yield tree.line, tree.column, message
    for decision in tree.decisions:
        if not decision.options:
            message = f"Decision {decision.name} has no options; list them as `- [CODE] Label`"
            yield decision.line, decision.column, message


@_rule("indent", "error", fixable=True)
def indent(section: Section) -> Iterator[Finding]:
    """Each level is indented by two spaces, and what looks like an option is one."""
    for note in _noted(section, "indent"):
        if note.text.isdigit():
            message = f"indent this option by {_number(int(note.text), 'space')}, two per level"
        else:
            message = (
                f"Markdown reads “{short(note.text)}” as text of what stands above; "
                "indent it by two spaces per level"
            )
        yield note.line, note.column, message


@_rule("label-missing", "error")
def label_missing(section: Section) -> Iterator[Finding]:
    """Every option has a label, unless it inherits one."""
    for _, option in _options(section.tree):
        if not option.label and not _inherits(section, option):
            shown = "the option" if option.derived else f"[{option.code}]"
            yield option.line, option.column, f"{shown} has no label; write one behind the code"


@_rule("other-single", "warning")
def other_single(section: Section) -> Iterator[Finding]:
    """A menu under [OTH] offers a choice."""
    for level in levels(section.tree):
        if level.under_other and len(level.options) == 1:
            only = level.options[0]
            message = f"[{only.code}] is alone under {level.name} and is picked by itself; add one"
            yield level.line, level.column, message


@_rule("description-missing", "warning")
def description_missing(section: Section) -> Iterator[Finding]:
    """Every option but [OTH] says what it means."""
    for level in levels(section.tree):
        other = other_of(level.options)
        for option in level.options:
            described = option.description or option is other
            if not described and option.label and not _inherits(section, option):
                message = f"[{option.code}] has no description; add a line below it, indented"
                yield option.line, option.column, message


@_rule("trigger-missing", "warning")
def trigger_missing(section: Section) -> Iterator[Finding]:
    """A tree says when it is to be asked."""
    tree = section.tree
    if not tree.trigger and not tree.extends:
        yield tree.line, tree.column, "no Trigger: line; say when this is to be asked"


@_rule("mixed-multi-select", "warning", fixable=True)
def mixed_multi_select(section: Section) -> Iterator[Finding]:
    """`[ ]` stands at every named option of a level or at none."""
    for level in levels(section.tree):
        plain = [
            option
            for option in named_of(level.options)
            if not option.multi and not _inherits(section, option)
        ]
        if plain and is_multi(level.options):
            message = (
                f"[{plain[0].code}] has no [ ] but others on its level have, "
                "which makes it multi-select; mark all or none"
            )
            yield plain[0].line, plain[0].column, message


@_rule("label-comma", "warning")
def label_comma(section: Section) -> Iterator[Finding]:
    """Labels of a multi-select level have no comma, because hosts join answers with commas."""
    for level in levels(section.tree):
        for option in level.options if is_multi(level.options) else ():
            if "," in option.label:
                message = f"label “{short(option.label)}” has a comma; reword it"
                yield option.line, option.column, message


@_rule("label-ellipsis", "warning", fixable=True)
def label_ellipsis(section: Section) -> Iterator[Finding]:
    """Dots behind the label of a branch are ours to add."""
    for _, option in _options(section.tree):
        if option.label.endswith(("...", "…")):
            message = f"label “{short(option.label)}” ends in dots; leave them out"
            yield option.line, option.column, message


@_rule("code-letter", "warning")
def code_letter(section: Section) -> Iterator[Finding]:
    """Codes A, B and C are left to the extras."""
    for _, option in _options(section.tree):
        if option.code.upper() in ("A", "B", "C"):
            message = f"code [{option.code}] is a letter that extras use; take a longer one"
            yield option.line, option.column, message


@_rule("code-missing", "warning", fixable=True)
def code_missing(section: Section) -> Iterator[Finding]:
    """Every option has a code that its author chose."""
    for _, option in _options(section.tree):
        if option.derived and option.label:
            message = f"“{short(option.label)}” has no code; [{option.code}] is used, write it"
            yield option.line, option.column, message


@_rule("checkbox-order", "warning", fixable=True)
def checkbox_order(section: Section) -> Iterator[Finding]:
    """`[ ]` stands behind the code."""
    for note in _noted(section, "checkbox-order"):
        yield note.line, note.column, "[ ] stands before the code; write `- [CODE] [ ] Label`"


@_rule("label-duplicate", "warning")
def label_duplicate(section: Section) -> Iterator[Finding]:
    """Siblings have different labels, since question boxes refuse equal ones."""
    for level in levels(section.tree):
        seen: dict[str, Option] = {}
        for option in level.options:
            first = seen.setdefault(option.label.casefold(), option)
            if first is not option and option.label:
                message = f"label “{short(option.label)}” is on line {first.line} too; reword one"
                yield option.line, option.column, message


@_rule("description-indent", "warning", fixable=True)
def description_indent(section: Section) -> Iterator[Finding]:
    """A description is indented under its option."""
    for note in _noted(section, "description-indent"):
        yield note.line, note.column, "this text belongs to the option above; indent it under it"


@_rule("stray-text", "warning")
def stray_text(section: Section) -> Iterator[Finding]:
    """Nothing stands between the options that belongs to none of them."""
    for note in _noted(section, "stray-text"):
        shown = short(note.text, 200)
        message = f"“{shown}” stands between options and belongs to none; indent or move it"
        yield note.line, note.column, message


@_rule("decision-missing", "warning")
def decision_missing(section: Section) -> Iterator[Finding]:
    """Options stand under a `## Decision:` heading."""
    for note in _noted(section, "decision-missing"):
        message = "options without a decision heading; put `## Decision: Name` above them"
        yield note.line, note.column, message


@_rule("kind-unknown", "warning")
def kind_unknown(section: Section) -> Iterator[Finding]:
    """A kind is transition or advisory."""
    for note in _noted(section, "kind-unknown"):
        message = f"Kind: {short(note.text)} is unknown; write transition or advisory"
        yield note.line, note.column, message


@_rule("extras-format", "warning")
def extras_format(section: Section) -> Iterator[Finding]:
    """Extras are `A: text | B: text | C: text`."""
    for note in _noted(section, "extras-format"):
        yield note.line, note.column, "write extras as `Extras: A: text | B: text | C: text`"


@_rule("key-unknown", "warning")
def key_unknown(section: Section) -> Iterator[Finding]:
    """Keys are those that trees have."""
    for note in _noted(section, "key-unknown"):
        message = (
            f"key {note.text}: is not one of Trigger, Extras, Kind, Question, Keywords, Extends; "
            "put an empty line above it if it is prose"
        )
        yield note.line, note.column, message


@_rule("key-duplicate", "warning")
def key_duplicate(section: Section) -> Iterator[Finding]:
    """A key stands once."""
    for note in _noted(section, "key-duplicate"):
        yield note.line, note.column, f"a second {note.text}: line; the first one counts"


@_rule("extends-unknown", "warning")
def extends_unknown(_section: Section) -> Iterator[Finding]:
    """What a tree extends is there; `across_files` looks for it."""
    yield from ()


@_rule("tree-hidden", "warning")
def treehidden(section: Section) -> Iterator[Finding]:
    """A tree is where it can be read."""
    return hidden(section.notes)


def hidden(notes: Iterable[Note]) -> Iterator[Finding]:
    for note in notes:
        if note.rule == "tree-hidden" and note.text.startswith("no space"):
            message = f"{note.text}, so Markdown reads this as text; add one"
            yield note.line, note.column, message
        elif note.rule == "tree-hidden":
            message = f"this tree stands in {note.text} and is not read; move it to the margin"
            yield note.line, note.column, message


@_rule("fence-open", "warning")
def fence_open(section: Section) -> Iterator[Finding]:
    """A fence that is opened is closed."""
    return left_open(section.notes)


def left_open(notes: Iterable[Note]) -> Iterator[Finding]:
    for note in notes:
        if note.rule == "fence-open":
            message = "this code fence is never closed, so the trees below are taken for examples"
            yield note.line, note.column, message


@_rule("ignore-unknown", "warning")
def ignore_unknown(section: Section) -> Iterator[Finding]:
    """Only rules that exist can be ignored."""
    return vain(section.notes)


def vain(notes: Iterable[Note]) -> Iterator[Finding]:
    for note in notes:
        if note.rule != "ignore-unknown" or note.text in RULES:
            continue
        if note.text == "\0":
            message = "this comment stands in no tree; put it above a tree's heading"
        elif not note.text:
            message = "name the rules to ignore"
        else:
            message = f"there is no rule {short(note.text)}; {suggestion(note.text)}"
        yield note.line, note.column, message


def suggestion(name: str) -> str:
    """What to try instead of a rule that does not exist."""
    from difflib import get_close_matches  # noqa: PLC0415 - only after a mistake

    close = get_close_matches(name, RULES, n=1)
    return f"did you mean {close[0]}?" if close else "`quandary rule` lists them"


def _inherits(section: Section, option: Option) -> bool:
    """A bare code in a tree that extends another takes everything from there."""
    return bool(section.tree.extends) and not option.label and not option.derived


def short(text: str, longest: int = 60) -> str:
    """The text, cut where it would fill the screen."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
