"""Whether the trees of documents keep the rules: what is wrong, and where, as values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from quandary.errors import NotFound, ParseError
from quandary.formats.markdown import Document, Note, Section
from quandary.formats.sources import Family, Found
from quandary.model.text import count, printable, shorten, suggest
from quandary.model.tree import Decision, Option, Tree, is_multi, named_of, other_of

if TYPE_CHECKING:
    Place: TypeAlias = "Level | Note | Option | Decision | Tree"
    Finding = tuple[Place, str]
    Check = Callable[[Section], Iterator[Finding]]

LEVELS = 3
FEWEST, MOST = 2, 4  # options of a level in a tree of free shape; no host shows more
_CODE = re.compile(r"[A-Z]{1,4}")
_SHOWS = re.compile(
    r"(?:please )?(?:(?:let|give|tell|walk|take) (?:me|us)|i want to (?:see|know)"
    r"|show|list|explain|estimate|display|print|preview|describe|compare|summari[sz]e|outline"
    r"|illustrate|visuali[sz]e|clarify|elaborate|demonstrate|detail|view|see|look (?:at|up|into)"
    r"|count|calculate|find out|more (?:details?|info(?:rmation)?|context)|what|how|why)\b|.*\?$",
    re.IGNORECASE,
)
"""What only wants to see something, by how it begins."""
_SUMMARISES = re.compile(r"\{ *[A-Za-z_]|[.!?:;…。！？][\"'”’)\]]*\s+\S|\s[—–]\s")
"""A slot, or more than one sentence."""
_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")


class Rule(NamedTuple):
    """What a rule is like, and the function that finds where it is broken."""

    severity: Severity
    check: Check
    fixable: bool = False


RULES: dict[str, Rule] = {}
_OF_CHARTS = """
comment connector-end connector-text duplicate-id duplicate-route end-alone endless extra-cells
field-twice id-missing label-missing line-to-nowhere lone-decision loose-line misspelt multi-select
no-arrow no-start no-steps no-text note-arrow several-starts several-unlabelled slot-unknown
start-text subgraph-open subprocess-circle subprocess-file subprocess-plain syntax terminator-choice
terminator-task two-way unreachable"""
CHARTS = frozenset(_OF_CHARTS.split())  # what is found wrong with charts where they are read


def _rule(name: str, severity: Severity, *, fixable: bool = False) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        RULES[name] = Rule(severity, check, fixable)
        return check

    return register


def _notes(section: Section, rule: str) -> Iterator[Note]:
    return (note for note in section.notes if note.rule == rule)


def _noted(name: str, message: str, *, fixable: bool = False) -> None:
    """A rule about something that was seen while reading, with `{}` for what was noted."""

    def check(section: Section) -> Iterator[Finding]:
        return ((note, message.format(shorten(note.text, 200))) for note in _notes(section, name))

    RULES[name] = Rule("warning", check, fixable)


def _of_options(
    name: str, broken: Callable[[Option], bool], message: str, *, fixable: bool = False
) -> None:
    """A rule that each option keeps or breaks by itself, with its code and label in the message."""

    def check(section: Section) -> Iterator[Finding]:
        for option in _options(section):
            if broken(option):
                yield option, message.format(code=option.code, label=shorten(option.label))

    RULES[name] = Rule("warning", check, fixable)


def _unlike(name: str, severity: Severity, key: Callable[[Option], str], message: str) -> None:
    """A rule by which siblings differ; `{line}` is where the first of those alike stands."""

    def check(section: Section) -> Iterator[Finding]:
        for level in levels(section):
            seen: dict[str, Option] = {}
            for option in level.options:
                first = seen.setdefault(key(option), option)
                if first is not option and key(option):
                    label = shorten(option.label)
                    yield option, message.format(code=option.code, label=label, line=first.line)

    RULES[name] = Rule(severity, check)


class Level(NamedTuple):
    """The options that are shown together, and what they hang from."""

    options: tuple[Option, ...]
    depth: int
    line: int
    column: int
    under_other: bool
    name: str


def levels(section: Section) -> Sequence[Level]:
    """Every level of a tree that has options; most rules want them, so they are listed once."""
    if section.levels is None:
        section.levels = [*_list_levels(section.tree)]
    return section.levels


def _list_levels(tree: Tree) -> Iterator[Level]:
    named = ((d, f"Decision {shorten(d.name)}") for d in reversed(tree.decisions))
    waiting = [Level(d.options, 1, d.line, d.column, False, name) for d, name in named]
    while waiting:
        level = waiting.pop()
        if not level.options:
            continue
        yield level
        other = other_of(level.options)
        for option in reversed(level.options):
            place = (option.line, option.column)
            name, below = f"[{option.code}]", level.depth + 1
            waiting.append(Level(option.options, below, *place, option is other, name))


def _options(section: Section) -> Iterator[Option]:
    return (option for level in levels(section) for option in level.options)


@_rule("always-four", "error")
def always_four(section: Section) -> Iterator[Finding]:
    """Three named options and [OTH] on every level; two or three named ones under [OTH].

    A tree of free shape has two to four options on a level, with or without [OTH].
    """
    free = section.tree.shape == "free"
    most = MOST if free else LEVELS
    for level in levels(section):
        other, named = other_of(level.options), len(named_of(level.options))
        if level.under_other:
            if other is not None:
                yield other, f"[{other.code}] is under [OTH]; give that level named options only"
            if named > most:
                yield level, f"{level.name} has {named} options; keep at most {most} under [OTH]"
        elif free and not FEWEST <= named <= MOST:
            yield level, f"{level.name} has {count(named, 'option')}; Shape: free has two to four"
        elif named != LEVELS and not free:
            has = f"{level.name} has {count(named, 'named option')}"
            remedy = "add another" if named < LEVELS else "move what is less common under [OTH]"
            yield level, f"{has} where three belong beside [OTH]; {remedy}"


@_rule("depth-limit", "error")
def depth_limit(section: Section) -> Iterator[Finding]:
    """No more than three levels."""
    for level in levels(section):
        if level.depth == LEVELS + 1:
            first = level.options[0]
            yield first, f"level {level.depth} under {level.name}; flatten the tree to three levels"


@_rule("code-format", "error")
def code_format(section: Section) -> Iterator[Finding]:
    """A code is one to four capital letters; it and `[ ]` stand apart, each in brackets."""
    for note in _notes(section, "code-format"):
        yield note, f"write this option as `{shorten(note.text, 200)}`, as `quandary fmt` does"
    for option in _options(section):
        if not option.derived and not _CODE.fullmatch(option.code):
            yield option, f"code [{option.code}]: write one to four capital letters A-Z"


_TAKEN = "code [{code}] is taken on line {line}; choose another"
_unlike("code-duplicate", "error", lambda option: option.code.upper(), _TAKEN)


@_rule("name-format", "error")
def name_format(section: Section) -> Iterator[Finding]:
    """A ¶ASK name is UPPER_SNAKE."""
    tree = section.tree
    if not tree.bare and not _NAME.fullmatch(tree.name):
        better = re.sub(r"[^A-Z0-9]+", "_", tree.name.upper()).strip("_0123456789") or "A_NAME"
        yield tree, f"name ¶ASK_{tree.name}: write it as ¶ASK_{better}"


@_rule("name-duplicate", "error")
def name_duplicate(section: Section) -> Iterator[Finding]:
    """Two decisions of a tree have two names; `check_files` compares whole trees."""
    seen: dict[str, int] = {}
    for decision in section.tree.decisions:
        first = seen.setdefault(decision.name, decision.line)
        if first != decision.line:
            yield decision, f"decision {decision.name} is already on line {first}; rename it"


@_rule("other-subtree", "error")
def other_subtree(section: Section) -> Iterator[Finding]:
    """[OTH] has a menu of its own, except where the depth limit leaves no room for one."""
    for level in levels(section):
        other = other_of(level.options)
        inside = level.depth < LEVELS and not level.under_other
        if other is not None and not other.options and inside and not _inherits(section, other):
            yield other, f"[{other.code}] has no options; put two or three under it"


@_rule("other-missing", "error")
def other_missing(section: Section) -> Iterator[Finding]:
    """The first level and every level under a named option have [OTH]."""
    for level in levels(section):
        other = other_of(level.options)
        if level.under_other or (other is None and section.tree.shape == "free"):
            continue
        if other is None:
            yield level, f"{level.name} has no [OTH]; add `- [OTH] Other` with two or three options"
        elif other.code != "OTH":
            yield other, f"[{other.code}] is in the place of [OTH]; write [OTH]"


@_rule("no-options", "error")
def no_options(section: Section) -> Iterator[Finding]:
    """A tree has a decision, perhaps by extending another, and a decision has options."""
    tree = section.tree
    if not tree.decisions and not tree.extends:
        yield tree, f"¶ASK_{tree.name} has no decision; add `## Decision: Name` and its options"
    for decision in tree.decisions:
        if not decision.options:
            yield decision, f"Decision {decision.name} has no options; write `- [CODE] Label`"


@_rule("indent", "error", fixable=True)
def indent(section: Section) -> Iterator[Finding]:
    """Each level is indented by two spaces, and what looks like an option is one."""
    for note in _notes(section, "indent"):
        if note.text.isdigit():
            yield note, f"indent this option by {count(int(note.text), 'space')}, two per level"
            continue
        read = f"Markdown reads “{shorten(note.text)}” as part of the text above it"
        yield note, f"{read}; indent it by two spaces per level"


@_rule("label-missing", "error")
def label_missing(section: Section) -> Iterator[Finding]:
    """Every option has a label, unless it inherits one."""
    for option in _options(section):
        if not option.label and not _inherits(section, option):
            shown = "the option" if option.derived else f"[{option.code}]"
            yield option, f"{shown} has no label; write one after the code"


@_rule("other-single", "warning")
def other_single(section: Section) -> Iterator[Finding]:
    """A menu under [OTH] offers a choice."""
    for level in levels(section):
        if level.under_other and len(level.options) == 1:
            code = level.options[0].code
            yield level, f"[{code}] is alone under {level.name} and is picked by itself; add one"


@_rule("description-missing", "warning")
def description_missing(section: Section) -> Iterator[Finding]:
    """Every option but [OTH] says what it means."""
    for level in levels(section):
        other = other_of(level.options)
        for option in level.options:
            described = option.description or option is other
            if not described and option.label and not _inherits(section, option):
                yield option, f"[{option.code}] has no description; add a line below it, indented"


@_rule("trigger-missing", "warning")
def trigger_missing(section: Section) -> Iterator[Finding]:
    """A tree says when it is to be asked."""
    if not section.tree.trigger and not section.tree.extends:
        yield section.tree, "no Trigger: line; say when this is to be asked"


@_rule("mixed-multi-select", "warning", fixable=True)
def mixed_multi_select(section: Section) -> Iterator[Finding]:
    """`[ ]` stands at every named option of a level or at none."""
    for level in levels(section):
        unticked = (o for o in named_of(level.options) if not o.multi)
        plain = next((option for option in unticked if not _inherits(section, option)), None)
        if plain and is_multi(level.options):
            message = f"[{plain.code}] has no [ ] but others on its level have, which makes it "
            yield plain, message + "multi-select; mark all or none"


@_rule("label-comma", "warning")
def label_comma(section: Section) -> Iterator[Finding]:
    """Labels of a multi-select level have no comma, because hosts join answers with commas."""
    for level in levels(section):
        for option in level.options if is_multi(level.options) else ():
            if "," in option.label:
                yield option, f"label “{shorten(option.label)}” has a comma; reword it"


_DOTS = "label “{label}” ends in dots; leave them out"
_of_options("label-ellipsis", lambda o: o.label.endswith(("...", "…")), _DOTS, fixable=True)
_of_options(
    "code-letter",
    lambda option: option.code.upper() in ("A", "B", "C"),
    "code [{code}] is a letter that extras use; take a longer one",
)
_DERIVED = "“{label}” has no code; [{code}] is used, write it"
_of_options("code-missing", lambda o: o.derived and o.label != "", _DERIVED, fixable=True)
_noted("checkbox-order", "{}; write `- [CODE] [ ] Label`", fixable=True)
_ALIKE = "label “{label}” is on line {line} too; reword one"  # question boxes refuse equal labels
_unlike("label-duplicate", "warning", lambda option: option.label.casefold(), _ALIKE)
_noted(
    "description-indent", "this text belongs to the option above; indent it under it", fixable=True
)
_noted("stray-text", "“{}” is beside the options and belongs to none; indent or move it")
_noted("decision-missing", "options without a decision heading; put `## Decision: Name` above them")
_noted("kind-unknown", "Kind: {} is unknown; write transition or advisory")
_noted("shape-unknown", "Shape: {} is unknown, so the rule of four stands; write free")
_noted("require-unknown", "Require: {} is unknown, so a person is required; write person")
_noted("extras-format", "write extras as `Extras: A: text | B: text | C? text`")


@_rule("question-summary", "warning")
def question_summary(section: Section) -> Iterator[Finding]:
    """A question that is asked in a form says in a sentence or a slot what it is about."""
    tree = section.tree
    asked: list[tuple[Place, str]] = [(tree, tree.question)]
    asked += [(decision, decision.question) for decision in tree.decisions]
    for place, text in asked:
        if text and tree.kind != "advisory" and not _SUMMARISES.search(text):
            told = f"Question: “{shorten(text)}” says nothing about the situation"
            yield place, f"{told}; put a sentence with {{slots}} before it"


@_rule("extra-shows", "warning")
def extra_shows(section: Section) -> Iterator[Finding]:
    """An extra that only wants to see something leaves the question open."""
    for extra in section.tree.extras:
        if not extra.shows and _SHOWS.match(extra.text):
            said, letter = f"extra {extra.letter}: {shorten(extra.text)}", extra.letter
            yield section.tree, f"“{said}” ends the decision; write `{letter}? …` to see it first"


_noted(
    "key-unknown",
    "key {}: is not one of Trigger, Extras, Kind, Question, Keywords, Extends, Require, Shape; "
    "put an empty line above it if it is prose",
)
_noted("key-duplicate", "a second {}: line; the first one counts")


RULES["extends-unknown"] = Rule("warning", lambda _: iter(()))
"""What a tree extends is there; `check_files` looks for it."""


@_rule("tree-hidden", "warning")
def tree_hidden(section: Section) -> Iterator[Finding]:
    """A tree is where it can be read."""
    for note in _notes(section, "tree-hidden"):
        if note.text.startswith("no space"):
            yield note, f"{note.text}, so Markdown reads this as text; add one"
        else:
            yield note, f"this tree is inside {note.text} and is not read; move it to the margin"


_noted("fence-open", "this code fence is never closed, so the trees below are taken for examples")


@_rule("ignore-unknown", "warning")
def ignore_unknown(section: Section) -> Iterator[Finding]:
    """Only rules that exist can be ignored."""
    for note in _notes(section, "ignore-unknown"):
        if note.text == "\0":
            yield note, "this comment is in no tree; put it above a tree's heading"
        elif not note.text:
            yield note, "name the rules to ignore"
        elif note.text not in RULES:
            yield note, f"there is no rule {shorten(note.text)}; {suggestion(note.text)}"


def suggestion(name: str) -> str:
    """What to try instead of a rule that does not exist."""
    return suggest(name, RULES, "`quandary rule` lists them")


def _inherits(section: Section, option: Option) -> bool:
    """A bare code in a tree that extends another takes everything from there."""
    return bool(section.tree.extends) and not option.label and not option.derived


Severity = Literal["error", "warning"]
LONGEST = 400  # messages quote what authors wrote, which may have no end
_TITLE = re.compile(r"(?m)^## (\S+)\n\n")
_SUMMARY = re.compile(r"\*(?:Error|Warning)\.\* (.*?)(?: Fixed by `--fix`\.)?\n")


class Diagnostic(msgspec.Struct, frozen=True):
    """One problem at one place. Lines and columns count from 1, columns in characters."""

    rule: str
    severity: Severity
    line: int
    column: int
    message: str
    tree: str = ""


class Checked(msgspec.Struct, frozen=True):
    """A file, the trees found in it and what is wrong with them, from top to bottom."""

    path: str
    trees: tuple[Tree, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    ignored: tuple[frozenset[str], ...] = ()  # rules not to judge each declared tree by
    chart: bool = False  # whether it is a drawing


def check(document: Document, *, fenced: bool = False) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with a document's trees; examples only when asked for."""
    rules = RULES.keys() - {"extends-unknown"}
    return check_files([("", document)], rules, fenced=fenced)[0].diagnostics


def check_files(
    files: list[tuple[str, Document]], rules: Container[str] = RULES, *, fenced: bool = False
) -> list[Checked]:
    """Everything that is wrong with the trees of several files, by these rules."""
    return compare([examine(path, document, fenced=fenced) for path, document in files], rules)


def examine(path: str, document: Document, *, fenced: bool = False) -> Checked:
    """What is wrong with the trees of a file, seen by itself."""
    outside = Section(Tree(""))
    outside.notes = document.notes
    found = [*judge(outside, dict.fromkeys(note.rule for note in document.notes))]
    declared = [section for section in document.sections if not section.tree.fenced]
    for section in document.sections if fenced else declared:
        found += judge(section)
    return Checked(path, document.trees, tuple(found), tuple(s.ignored for s in declared))


def compare(files: Sequence[Checked], rules: Container[str]) -> list[Checked]:
    """What is wrong with files seen together: names that stand for two trees, unknown bases."""
    trees = [Found(file.path, t) for file in files for t in file.trees if not t.fenced]
    names, family = {tree.name for _, tree in trees}, Family(trees, lambda _: ())
    first: dict[str, tuple[str, int]] = {}
    checked, declared = [], iter(trees)
    for file in files:
        found, path = list(file.diagnostics), file.path
        for ignored, one in zip(file.ignored, declared, strict=False):
            tree = one.tree
            where, line = first.setdefault(tree.name, (path, tree.line))
            if (where, line) != (path, tree.line):
                place = f"{where}:{line}" if where != path else f"line {line}"
                name = shorten(tree.name)
                message = f"a tree named {name} is already at {place}; rename one of them"
                found += _diagnose(tree, ignored, "name-duplicate", tree, message)
            if tree.extends and tree.extends not in names:
                base = shorten(tree.extends)
                message = f"Extends: {base} is not among the files checked; check its file too"
                found += _diagnose(tree, ignored, "extends-unknown", tree, message)
            elif tree.extends:
                found += _judge_heir(family, one, ignored)
        kept = sorted((d for d in found if d.rule in rules), key=lambda d: (d.line, d.column))
        checked.append(Checked(path, file.trees, tuple(kept)))
    return checked


def _judge_heir(family: Family, one: Found, ignored: frozenset[str]) -> Iterable[Diagnostic]:
    """What is wrong with a tree only together with those that it extends."""
    tree, options = one.tree, (o for decision in one.tree.decisions for _, o in decision.walk())
    lines = {tree.line, *(option.line for option in options)}
    try:
        whole = Section(msgspec.structs.replace(family.resolve(one), extends=""))
    except NotFound:
        return ()  # one of those extends what is not there, which is said of that one
    except ParseError as error:
        return _diagnose(tree, ignored, "no-options", tree, str(error).removeprefix(f"{one}: "))
    whole.ignored = ignored
    return (found for found in judge(whole, ("no-options", "label-missing")) if found.line in lines)


def judge(section: Section, rules: Iterable[str] = RULES) -> Iterator[Diagnostic]:
    """What is wrong with one tree, but for what its author chose to ignore."""
    for rule in rules:
        for place, message in RULES[rule].check(section):
            yield from _diagnose(section.tree, section.ignored, rule, place, message)


def _diagnose(
    tree: Tree, ignored: Container[str], rule: str, place: Place, message: str
) -> Iterable[Diagnostic]:
    if rule in ignored:
        return ()
    shown, severity = shorten(printable(message), LONGEST), RULES[rule].severity
    return (Diagnostic(rule, severity, place.line, place.column, shown, short_name(tree)),)


def short_name(tree: Tree) -> str:
    """A tree's name in its diagnostics, where a long one would be repeated as often as it errs."""
    return shorten(tree.name, LONGEST)


class Explanation(NamedTuple):
    """A rule in words: `summary` states it, `text` is its whole section in Markdown."""

    name: str
    severity: str
    summary: str
    text: str


def explanations() -> dict[str, Explanation]:
    """Every rule's explanation, in the order of the page."""
    with open(os.path.join(os.path.dirname(__file__), "rules.md"), encoding="utf-8") as file:
        page = file.read().split("\n# Silencing", 1)[0]
    parts = _TITLE.split(page)
    found: dict[str, Explanation] = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        shown = summary[1] if (summary := _SUMMARY.match(text)) else ""
        found[name] = Explanation(name, RULES[name].severity, shown, text.strip() + "\n")
    return found
