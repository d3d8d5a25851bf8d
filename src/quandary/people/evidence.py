"""Which options the words of a reply speak for, weighed by how rare each word is among them."""

from __future__ import annotations

import itertools
import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from quandary.people.numbers import cardinal
from quandary.people.phrases import (
    ALIKE,
    FUNCTION,
    NEGATORS,
    NEUTRAL,
    PHRASAL,
    REFUSALS,
    STATING,
    UNDOINGS,
)
from quandary.people.words import resembles, stem, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.model.ask import Choice

_PIECES = re.compile(r"[.,;:!?]+(?=\s|$)|[()\[\]—–]|\s-\s")
_REACH = 3
_EMPTY = NEGATORS | frozenset(map(stem, FUNCTION | STATING))
_ARTICLES = frozenset(("the", "a", "an"))
_LABEL, _DESCRIPTION = 1.0, 0.5
_CLOSE = 0.65
_GROUPS: dict[str, set[int]] = {}
for _number, _group in enumerate(ALIKE):
    for _word in _group:
        _GROUPS.setdefault(stem(_word), set()).add(_number)


class Fit(NamedTuple):
    """The options that words speak for, and whether a label says so."""

    codes: tuple[str, ...]
    label: bool


class _Entry(NamedTuple):
    code: str
    label: tuple[str, ...]
    description: tuple[str, ...]
    in_label: frozenset[str]
    in_description: frozenset[str]
    groups: frozenset[int]
    undoing: str
    """The verb that the label opens with, where its object alone would not say so."""


class Lexicon:
    """The words of the options of one question."""

    def __init__(self, options: tuple[Choice, ...]) -> None:
        self.entries = tuple(_entry(option) for option in options)
        found: dict[str, int] = {}
        for entry in self.entries:
            for token in entry.in_label | entry.in_description:
                found[token] = found.get(token, 0) + 1
        many = len(self.entries)
        self.weights = {token: math.log(1 + many / count) for token, count in found.items()}
        self.label_words = frozenset(w for option in options for w in words(option.label))
        self.label_stems = frozenset(map(stem, self.label_words))
        own = (w for option in options for w in words(option.description))
        self._long = sorted({w for w in own if len(w) >= 6} - self.label_words)
        self._labels = sorted(w for w in self.label_words if len(w) >= 4)
        self._codes = {e.code.rpartition("/")[2].casefold(): e.code for e in self.entries}

    def phrase(self, said: tuple[str, ...]) -> Fit | None:
        """The options with these very words in their label, or else in their description."""
        if not any(self.telling(word) for word in said):
            return None
        tokens = _joined(signed(said))
        codes = tuple(e.code for e in self.entries if _within(tokens, e.label))
        if codes:
            return self._sound(Fit(codes, label=True), {*tokens})
        codes = tuple(e.code for e in self.entries if _within(tokens, e.description))
        return Fit(codes, label=False) if codes else None

    def verbatim(self, said: tuple[str, ...]) -> tuple[str, ...]:
        """The options that have these words in their label or description, whatever the words."""
        tokens = _joined(signed(said))
        texts = ((e.code, e.label, e.description) for e in self.entries)
        return tuple(c for c, *lines in texts if any(_within(tokens, line) for line in lines))

    def denies(self, said: tuple[str, ...]) -> bool:
        """Whether an option itself says "not" to a word that is said "not" to."""
        return any(token.startswith("!") and token in self.weights for token in signed(said))

    def telling(self, word: str) -> bool:
        """Whether a word can say which option is meant."""
        if word in NEGATORS or word in FUNCTION:
            return False
        return word not in NEUTRAL or stem(word) in self.label_stems

    def bag(self, said: tuple[str, ...], also: frozenset[str] = frozenset()) -> Fit | None:
        """The options that account for every telling word, the better ones only.

        `also` are words of the question itself: they pass where a whole label is said.
        """
        told = self._told(said)
        if not told:
            return None
        meant = [self._meanings(token, word) for token, word in told]
        weak = all(word in NEUTRAL for _, word in told)
        best = self._best(meant, {stem(word) for word in also}, weak=weak)
        if best is None:
            return None if weak else self._alike(said)
        return self._sound(best, set().union(*meant)) if self._counts_alike(best, said) else None

    def _counts_alike(self, fit: Fit, said: tuple[str, ...]) -> bool:
        """Whether a number in a reply counts what it counts in an option: `two days`, not weeks."""
        pairs = [
            _joined(signed(pair))
            for pair in itertools.pairwise(said)
            if pair[0] != "one" and cardinal(pair[0]) is not None and self.telling(pair[1])
        ]
        entries = [entry for entry in self.entries if entry.code in fit.codes]
        return all(
            any(
                _within(pair, line)
                for entry in entries
                for line in (entry.label, entry.description)
            )
            for pair in pairs
        )

    def _sound(self, fit: Fit, tokens: set[str]) -> Fit | None:
        """The fit, unless it rests on what an option would undo and says nothing of undoing it."""
        verbs = [e.undoing for e in self.entries if e.code in fit.codes]
        denied = any(token.startswith("!") for token in tokens)
        if len(verbs) == 1 and verbs[0] and verbs[0] not in tokens and fit.label and not denied:
            return None
        return fit

    def apart(self, said: tuple[str, ...]) -> tuple[str, ...]:
        """The options named one word each, where every telling word names just one."""
        codes: list[str] = []
        for token, word in self._told(said):
            if word in self._codes:
                codes.append(self._codes[word])
                continue
            meant = self._meanings(token, word)
            hits = [e.code for e in self.entries if not meant.isdisjoint(e.in_label)]
            if len(hits) != 1:
                return ()
            codes.append(hits[0])
        return tuple(dict.fromkeys(codes))

    def mentioned(self, said: tuple[str, ...]) -> set[str]:
        """The options that have a telling word of these in their label."""
        tokens = {token for token, _ in self._told(said)}
        return {e.code for e in self.entries if not tokens.isdisjoint(e.in_label)}

    def _told(self, said: tuple[str, ...]) -> list[tuple[str, str]]:
        pairs = zip(signed(said), said, strict=True)
        return [(token, word) for token, word in pairs if self.telling(word)]

    def _meanings(self, token: str, word: str) -> frozenset[str]:
        """The word as the options have it; where none has it, what it may be a slip of."""
        if token in self.weights:
            return frozenset((token,))
        if token.startswith("!"):
            return frozenset((token,))
        near = [meant for meant in self._labels if resembles(word, meant)]
        near = near or [meant for meant in self._long if len(word) >= 5 and resembles(word, meant)]
        return frozenset((token, *map(stem, near)))

    def _best(self, meant: list[frozenset[str]], also: set[str], *, weak: bool) -> Fit | None:
        scores: dict[str, float] = {}
        labelled = False
        for entry in self.entries:
            score = self._score(entry, meant, also, whole=weak)
            if score is not None:
                scores[entry.code] = score
        if not scores:
            return None
        top = max(scores.values())
        codes = tuple(code for code, score in scores.items() if score >= top * _CLOSE)
        for entry in self.entries:
            if entry.code in codes and any(not m.isdisjoint(entry.in_label) for m in meant):
                labelled = True
        return Fit(codes, labelled)

    def _score(
        self, entry: _Entry, meant: list[frozenset[str]], also: set[str], *, whole: bool
    ) -> float | None:
        """How much is said for an option; None when a word is not its own.

        With words that say little, or that are the question's, its `whole` label must be said.
        """
        score, hits = 0.0, set[str]()
        for alternatives in meant:
            in_label = alternatives & entry.in_label
            if in_label:
                hits |= in_label
                score += max(self.weights[token] for token in in_label) * _LABEL
            elif in_description := alternatives & entry.in_description:
                score += max(self.weights[token] for token in in_description) * _DESCRIPTION
            elif alternatives & also:
                whole = True
            else:
                return None
        needed = entry.in_label.intersection(entry.label)
        if not score or (whole and not (needed and needed <= hits)):
            return None
        return score

    def _alike(self, said: tuple[str, ...]) -> Fit | None:
        """The options whose label means much the same as every telling word."""
        told = [word for word in _phrasal(said) if self.telling(word)]
        if not told or any(token.startswith("!") for token in signed(said)):
            return None
        fitting = [
            entry.code
            for entry in self.entries
            if all(
                stem(word) in entry.in_label | entry.in_description
                or _GROUPS.get(stem(word), set()) & entry.groups
                for word in told
            )
        ]
        return Fit(tuple(fitting), False) if fitting else None


@lru_cache(maxsize=128)
def lexicon(options: tuple[Choice, ...]) -> Lexicon:
    """The words of these options; the last few are kept."""
    return Lexicon(options)


def signed(said: Iterable[str]) -> list[str]:
    """The stems of words, those behind a "not" or "no" marked with `!`."""
    tokens: list[str] = []
    reach = 0
    for word in said:
        if word in NEGATORS:
            tokens.append("not" if word.endswith("nt") else word)
            reach = _REACH
        elif word in {"but", "and"}:
            tokens.append(word)
            reach = 0
        elif word in FUNCTION or not reach:
            tokens.append(stem(word))
        else:
            tokens.append("!" + stem(word))
            reach -= 1
    return tokens


def _entry(option: Choice) -> _Entry:
    label, description = _tokens(option.label), _tokens(option.description)
    in_label = set(label) - _EMPTY
    in_description = set(description) - _EMPTY
    first = words(option.label)[:1]
    if first and first[0] in REFUSALS:
        in_label |= {"!" + token for token in in_label if token != stem(first[0])}
    code = option.code.rpartition("/")[2].casefold()
    if len(code) > 2 and code not in NEUTRAL:
        in_label.add(code)
    groups = frozenset(
        number
        for word in (*_phrasal(words(option.label)), code)
        for number in _GROUPS.get(stem(word), ())
    )
    undoing = first[0] if len(label) > 1 and first[0] in UNDOINGS else ""
    return _Entry(
        option.code,
        label,
        description,
        frozenset(in_label),
        frozenset(in_description),
        groups,
        stem(undoing),
    )


def _tokens(text: str) -> tuple[str, ...]:
    pieces = _PIECES.split(text)
    return _joined([token for piece in pieces for token in signed(words(piece))])


def _joined(tokens: list[str]) -> tuple[str, ...]:
    return tuple(token for token in tokens if token not in _ARTICLES)


def _phrasal(said: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for at, word in enumerate(said):
        apart = 2 if at > 1 and said[at - 1] in {"it", "this", "that", "them"} else 1
        if at >= apart and (joined := PHRASAL.get((said[at - apart], word))):
            found[-apart] = joined
        else:
            found.append(word)
    return found


def _within(tokens: tuple[str, ...], line: tuple[str, ...]) -> bool:
    if not tokens or tokens[0] not in line:
        return False
    long = len(tokens)
    return any(line[at : at + long] == tokens for at in range(len(line) - long + 1))
