"""Mending what can be mended without changing what a tree means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.formats.layout import Mending
from quandary.formats.lint import judge
from quandary.formats.markdown import parse
from quandary.formats.rules import RULES
from quandary.formats.writing import rewrite

if TYPE_CHECKING:
    from collections.abc import Container

    from quandary.formats.lint import Diagnostic


def fixable(diagnostic: Diagnostic) -> bool:
    """Whether `fix` can mend it; an option that Markdown reads as text only its author can."""
    return RULES[diagnostic.rule].fixable and "Markdown reads" not in diagnostic.message


def fix(text: str, rules: Container[str]) -> tuple[str, int]:
    """The text mended as far as these rules go, and how many problems that took away."""
    broken = _broken(text, rules)
    before = _count(broken)
    for _ in range(5):
        mendings = {line: _mending(names) for line, names in broken.items()}
        mended = rewrite(text, mendings) if mendings else text
        if mended == text:
            break
        text, broken = mended, _broken(mended, rules)
    return text, before - _count(broken)


def _broken(text: str, rules: Container[str]) -> dict[int, list[str]]:
    """The fixable rules that each tree breaks, by the line of its heading."""
    found: dict[int, list[str]] = {}
    for section in parse(text).sections:
        if section.tree.fenced:
            continue
        names = [d.rule for d in judge(section) if d.rule in rules and fixable(d)]
        if names:
            found[section.tree.line] = names
    return found


def _count(broken: dict[int, list[str]]) -> int:
    return sum(len(names) for names in broken.values())


def _mending(names: list[str]) -> Mending:
    return Mending(
        codes="code-missing" in names,
        flags="mixed-multi-select" in names,
        dots="label-ellipsis" in names,
    )
