"""A tree as a chart: each level is a decision, each option a way out of it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from quandary.model.chart import Chart, Page, Route, Step, folded
from quandary.model.soundness import Problem
from quandary.model.tree import is_multi

if TYPE_CHECKING:
    from quandary.model.tree import Option, Tree

_SLOT = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


class _Level(NamedTuple):
    """The options that are chosen from together, and what led to them."""

    key: str
    labels: tuple[str, ...]
    options: tuple[Option, ...]
    line: int


def from_tree(tree: Tree) -> tuple[Chart, list[Problem]]:
    """The chart of a tree, and what of the tree it cannot say.

    Of several decisions, the next begins where the one before ended, whatever was chosen.
    """
    steps: list[Step] = []
    routes: list[Route] = []
    problems: list[Problem] = []
    for number, decision in enumerate(tree.decisions, 1):
        onward = str(number + 1) if number < len(tree.decisions) else ""
        question = decision.question or tree.question or f"{decision.name}: which one?"
        question = _SLOT.sub(r"{{\1}}", question)
        waiting = [_Level(str(number), (), decision.options, decision.line)]
        while waiting:
            level = waiting.pop()
            if is_multi(level.options):
                where = " / ".join((decision.name, *level.labels))
                message = f"several may be chosen at {where}; in a chart, one way is taken"
                problems.append(Problem("multi-select", "warning", message, (), level.line))
            steps.append(Step(level.key, _text(question, level), "decision", line=level.line))
            below: list[_Level] = []
            for option, label in _labelled(level.options):
                key = f"{level.key}/{option.code}"
                routes.append(Route(level.key, key, label, option.line))
                if option.options:
                    below.append(_Level(key, (*level.labels, label), option.options, option.line))
                    continue
                steps.append(Step(key, label, "connector" if onward else "terminator"))
                if onward:
                    routes.append(Route(key, onward))
            waiting += reversed(below)
    page = Page("1", tree.name, tuple(steps), tuple(routes), line=tree.line)
    return Chart(tree.title or tree.name, (page,)), problems


def _text(question: str, level: _Level) -> str:
    """What is asked at a level: the question, what was chosen before, what each option means."""
    parts = [question]
    if level.labels:
        parts.append(f"Chosen so far: {' / '.join(level.labels)}")
    meanings = [
        f"- {label}: {' '.join(option.description.split())}"
        for option, label in _labelled(level.options)
        if option.description
    ]
    if meanings:
        parts.append("\n".join(meanings))
    return "\n\n".join(parts)


def _labelled(options: tuple[Option, ...]) -> list[tuple[Option, str]]:
    """Each option with a label that no other option of its level has."""
    times = Counter(folded(option.label) for option in options)
    return [
        (o, o.label if o.label and times[folded(o.label)] == 1 else f"{o.label} ({o.code})".strip())
        for o in options
    ]
