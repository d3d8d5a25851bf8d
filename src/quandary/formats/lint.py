"""Whether the trees of documents keep the rules: what is wrong, and where, as values."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from quandary.formats.markdown import Section
from quandary.formats.rules import RULES
from quandary.model.text import printable, shorten
from quandary.model.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from quandary.formats.markdown import Document
    from quandary.formats.rules import Place

Severity = Literal["error", "warning"]
LONGEST = 400
"""Messages quote what authors wrote, which may have no end."""
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


def check(document: Document, *, fenced: bool = False) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with a document's trees; examples only when asked for.

    Whether a tree that another extends is anywhere only shows where more files are checked.
    """
    rules = RULES.keys() - {"extends-unknown"}
    return check_files([("", document)], rules, fenced=fenced)[0].diagnostics


def check_files(
    files: list[tuple[str, Document]], rules: Container[str] = RULES, *, fenced: bool = False
) -> list[Checked]:
    """Everything that is wrong with the trees of several files, by these rules.

    A name stands for one tree, and what a tree extends is among the files.
    """
    names = {s.tree.name for _, document in files for s in _declared(document)}
    first: dict[str, tuple[str, int]] = {}
    checked = []
    for path, document in files:
        found = list(_check_notes(document))
        for section in document.sections if fenced else _declared(document):
            found += judge(section)
        for section in _declared(document):
            tree = section.tree
            where, line = first.setdefault(tree.name, (path, tree.line))
            if (where, line) != (path, tree.line):
                place = f"{where}:{line}" if where != path else f"line {line}"
                message = (
                    f"a tree named {shorten(tree.name)} is already at {place}; rename one of them"
                )
                found += _diagnose(section, "name-duplicate", tree, message)
            if tree.extends and tree.extends not in names:
                base = shorten(tree.extends)
                message = f"Extends: {base} is not among the files checked; check its file too"
                found += _diagnose(section, "extends-unknown", tree, message)
        kept = sorted((d for d in found if d.rule in rules), key=lambda d: (d.line, d.column))
        checked.append(Checked(path, document.trees, tuple(kept)))
    return checked


def judge(section: Section) -> Iterator[Diagnostic]:
    """What is wrong with one tree, but for what its author chose to ignore."""
    for rule in RULES.values():
        for place, message in rule.check(section) if rule.name not in section.ignored else ():
            yield from _diagnose(section, rule.name, place, message)


def _check_notes(document: Document) -> Iterator[Diagnostic]:
    """What was noted outside of any tree."""
    outside = Section(Tree(""))
    outside.notes = document.notes
    for name in dict.fromkeys(note.rule for note in document.notes):
        for place, message in RULES[name].check(outside):
            yield from _diagnose(outside, name, place, message)


def _diagnose(section: Section, rule: str, place: Place, message: str) -> Iterable[Diagnostic]:
    if rule in section.ignored:
        return ()
    shown = shorten(printable(message), LONGEST)
    severity = RULES[rule].severity
    return (Diagnostic(rule, severity, place.line, place.column, shown, section.tree.name),)


def _declared(document: Document) -> list[Section]:
    return [section for section in document.sections if not section.tree.fenced]


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
        summary = _SUMMARY.match(text)
        shown = summary[1] if summary else ""
        found[name] = Explanation(name, RULES[name].severity, shown, text.strip() + "\n")
    return found
