"""Whether the trees of a document, or of several, keep the rules."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from quandary.formats.diagnostics import Diagnostic
from quandary.formats.rules import RULES, hidden, left_open, short, vain
from quandary.formats.visible import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.formats.findings import Section
    from quandary.formats.markdown import Document


LONGEST = 400
"""Messages quote what authors wrote, which may have no end."""


def check(document: Document, *, fenced: bool = False) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with a document's trees; examples only when asked for."""
    found = [
        Diagnostic(name, "warning", line, column, message)
        for name, seen in (
            ("tree-hidden", hidden(document.notes)),
            ("fence-open", left_open(document.notes)),
            ("ignore-unknown", vain(document.notes)),
        )
        for line, column, message in seen
    ]
    judged = [s for s in document.sections if fenced or not s.tree.fenced]
    for section in judged:
        found += judge(section)
    declared = [("", section) for section in judged if not section.tree.fenced]
    found += _same_names(declared)[""]
    return tuple(sorted(found, key=_order))


def across_files(documents: list[tuple[str, list[Section]]]) -> dict[str, list[Diagnostic]]:
    """What only shows when several files are looked at: a name twice, a base tree nowhere."""
    sections = [(path, section) for path, found in documents for section in found]
    diagnostics = _same_names(sections, between_files=True)
    names = {section.tree.name for _, section in sections}
    for path, section in sections:
        base = section.tree.extends
        if base and base not in names and "extends-unknown" not in section.ignored:
            tree = section.tree
            message = f"Extends: {short(base)} is not among the files checked; check its file too"
            place = (tree.line, tree.column)
            diagnostics.setdefault(path, []).append(
                Diagnostic("extends-unknown", "warning", *place, message, tree.name)
            )
    return diagnostics


def judge(section: Section) -> Iterator[Diagnostic]:
    """What is wrong with one tree, but for what its author chose to ignore."""
    for rule in RULES.values():
        if rule.name in section.ignored:
            continue
        for line, column, message in rule.check(section):
            # Messages quote what authors wrote, which may hold anything.
            shown = short(printable(message), LONGEST)
            yield Diagnostic(rule.name, rule.severity, line, column, shown, section.tree.name)


def _same_names(
    sections: list[tuple[str, Section]], *, between_files: bool = False
) -> dict[str, list[Diagnostic]]:
    """A name stands for one tree: each further one is reported, with the place of the first."""
    diagnostics: dict[str, list[Diagnostic]] = {path: [] for path, _ in sections} or {"": []}
    counts = Counter(section.tree.name for _, section in sections)
    first: dict[str, tuple[str, int]] = {}
    for path, section in sections:
        tree = section.tree
        if counts[tree.name] < 2:
            continue
        where, line = first.setdefault(tree.name, (path, tree.line))
        if (where, line) == (path, tree.line) or "name-duplicate" in section.ignored:
            continue
        if (where != path) == between_files:
            place = f"{where}:{line}" if between_files else f"line {line}"
            message = f"a tree named {short(tree.name)} is already at {place}; rename one of them"
            diagnostics[path].append(
                Diagnostic(
                    "name-duplicate", "error", tree.line, tree.column, printable(message), tree.name
                )
            )
    return diagnostics


def _order(diagnostic: Diagnostic) -> tuple[int, int]:
    return diagnostic.line, diagnostic.column
