"""A question as a host's box shows it, with labels that can be told apart when they come back."""

from __future__ import annotations

import re
from itertools import chain, permutations
from typing import TYPE_CHECKING, NamedTuple

from quandary.model.tree import OTHER
from quandary.people.hosts import HOSTS, NOTHING_CHOSEN, is_other
from quandary.people.plain import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quandary.model.ask import Ask, Choice, Question

_FILLERS = (
    ("Other", "Say it in your own words, or leave it blank to see what else there is."),
    ("None of these", "Neither; there may be more behind this."),
)
OTHERS = tuple(box.other for box in HOSTS.values())
"""The hosts' own words for Other; no choice is spelt like that."""
_GAP = re.compile(r"\s*,\s*|\s*\Z")


class Shown(NamedTuple):
    """An option as a box shows it; without a choice it stands for the host's Other."""

    label: str
    description: str
    choice: Choice | None


class Sheet(NamedTuple):
    """A question as a box shows it."""

    question: Question
    text: str
    options: tuple[Shown, ...]

    @property
    def codes(self) -> dict[str, str]:
        """What each label stands for; Other has no code."""
        return {o.label: o.choice.code if o.choice else "" for o in self.options}


def sheets(ask: Ask) -> tuple[Sheet, ...]:
    """Every question as it is shown: no two texts alike, no two labels of a question alike."""
    texts = _distinct(
        [q.text.strip() or folded(q.title) or q.key for q in ask.questions],
        [q.key for q in ask.questions],
    )
    return tuple(Sheet(q, t, _options(q)) for q, t in zip(ask.questions, texts, strict=True))


def _options(question: Question) -> tuple[Shown, ...]:
    """The choices with labels that can be told apart; Other itself where a box wants two.

    A choice that is called like the host's Other has its code behind it, for the same reason.
    """
    choices: list[Choice | None] = [*question.choices]
    labels = [_label(choice) for choice in question.choices]
    descriptions = [folded(choice.description) for choice in question.choices]
    codes = [choice.code for choice in question.choices]
    for label, description in _FILLERS[: max(2 - len(choices), 0)]:
        choices.append(None)
        labels.append(label)
        descriptions.append(description)
        codes.append(OTHER)
    labels = _distinct(labels, codes)
    if question.multi:
        labels = _separable(labels, codes)
    return tuple(
        Shown(label, description or label, choice)
        for label, description, choice in zip(labels, descriptions, choices, strict=True)
    )


def _label(choice: Choice) -> str:
    label = folded(choice.shown) or choice.code
    return f"{label} ({choice.code})" if is_other(label) or label in NOTHING_CHOSEN else label


def _distinct(texts: list[str], names: Sequence[str]) -> list[str]:
    """Texts of which no two are alike: those that were have their names behind them."""
    for turn in range(len(texts)):
        if len(set(texts)) == len(texts):
            break
        marks = names if turn == 0 else [str(number) for number in range(1, len(texts) + 1)]
        texts = [
            f"{text} ({mark})" if texts.count(text) > 1 else text
            for text, mark in zip(texts, marks, strict=True)
        ]
    return texts


def _separable(labels: list[str], codes: Sequence[str]) -> list[str]:
    """Labels that can be told apart even when a host joins them with commas.

    Where some choice of them could be taken for another one, those with a comma get their codes.
    """
    if len(labels) > 4 or not any("," in label for label in labels):
        return labels
    every = range(len(labels))
    orders = chain.from_iterable(permutations(every, count) for count in range(2, len(labels) + 1))
    for order in chain(((number,) for number in every), orders):
        joined = ", ".join(labels[number] for number in order)
        found, rest = ticked(joined, [*labels, *OTHERS])
        if rest or set(found) != {labels[number] for number in order}:
            marked = [
                f"{label} ({code})" if "," in label else label
                for label, code in zip(labels, codes, strict=True)
            ]
            return _distinct(marked, codes)
    return labels


def ticked(text: str, labels: Iterable[str]) -> tuple[list[str], str]:
    """The labels that a host joined with commas, the longest first, and what stands behind them.

    A way to take the whole text as labels goes before one that leaves a rest; a rest begins
    behind the last label that can be read.
    """
    by_length = sorted(set(labels), key=len, reverse=True)
    best: tuple[list[str], int] = ([], 0)
    tried: set[tuple[int, frozenset[str]]] = set()

    def advance(start: int, taken: tuple[str, ...]) -> bool:
        nonlocal best
        if start > best[1]:
            best = ([*taken], start)
        if start == len(text):
            return bool(taken)
        state = (start, frozenset(taken))
        if state in tried:
            return False
        tried.add(state)
        for label in by_length:
            end = start + len(label)
            if label in taken or not text.startswith(label, start):
                continue
            gap = _GAP.match(text, end)
            if gap and advance(gap.end(), (*taken, label)):
                return True
        return False

    advance(0, ())
    return best[0], text[best[1] :]
