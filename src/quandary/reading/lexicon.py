"""The words of the options of one question, and which options account for the words of a reply."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from quandary.reading.numbers import NTH, cardinal
from quandary.reading.phrases import ALIKE, GROUPS, IRREGULAR, WORDS, is_everyday
from quandary.reading.words import slips, spans, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.model.asks import Choice

Words = tuple[str, ...]
_INFLECTIONS = ("ings", "ing", "ied", "ies", "ed", "es", "s")
_DERIVATIONS = (
    *("ations", "ation", "ments", "ment", "ably", "able", "ally", "ions", "ion", "ors", "ers"),
    *("ly", "al", "or", "ate", "ity", "ive", "izing", "ize"),
)
_LOOKALIKES = ("ss", "us", "is", "eed", "thing")
"""Word endings that are no inflection."""
_VOWELS = frozenset("aeiouy")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """What the forms of a word have in common: `approving`, `approval` and `approve` alike."""
    word = ALIKE.get(word) or IRREGULAR.get(word, word)
    if word[:1].isdigit() and word[-2:] in NTH:
        return word[:-2]
    if len(word) <= 3 or not word.isalpha():
        return word
    word = _without(_without(word, _INFLECTIONS, 3), _DERIVATIONS, 4)
    if word.endswith("at") and len(word) > 6:
        word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in _VOWELS:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


def _without(word: str, endings: tuple[str, ...], least: int) -> str:
    for ending in () if word.endswith(_LOOKALIKES) else endings:
        rest = word.removesuffix(ending)
        if rest == word or len(rest) < least:
            continue
        if ending == "es" and not rest.endswith(("s", "x", "z", "ch", "sh", "o")):
            return word[:-1]
        if not _VOWELS.isdisjoint(rest):
            return rest + "y" if ending in {"ied", "ies"} else rest
    return word


def _resembles(typed: str, meant: str) -> bool:
    """A word typed with a slip, or cut short, such as `genric`, `prod`, `deps` or `postgers`."""
    if not typed.isalpha() or len(typed) < 4 or typed[0] not in meant[:2]:
        return typed == meant
    if meant.startswith(typed):
        return len(meant) - len(typed) > 2 or len(typed) > 4
    begun = len(typed) > 6 and typed[:3] == meant[:3] and slips(typed, meant[: len(typed)]) == 1
    return begun or slips(typed, meant) is not None


# -- the options -----------------------------------------------------------------------------------

_PIECES = re.compile(r"[.,;:!?]+(?=\s|$)|[()\[\]—–]|\s-\s")
_REACH = 3
"""How many telling words a "not" reaches."""
_EMPTY = WORDS.negators | frozenset(map(stem, WORDS.function | WORDS.stating))
_REFUSING = frozenset(map(stem, WORDS.refusals))
_TIMES = frozenset(map(stem, WORDS.times))
_SAYING_LITTLE = frozenset(map(stem, WORDS.neutral))
_DESCRIPTION = 0.5
"""What a word of a description weighs, held against one of a label."""
_CLOSE = 0.65
_ALIKE: dict[str, set[str]] = {}
"""By their stems, words with those that mean much the same."""
for _group in GROUPS:
    for _verb in _group:
        _ALIKE.setdefault(stem(_verb), set()).update(_group)


class Fit(NamedTuple):
    """The options that account for words, and whether a label does."""

    codes: Words
    label: bool


class Lexicon:
    """The words of the options of one question."""

    def __init__(self, options: tuple[Choice, ...]) -> None:
        self.entries = tuple(map(_OptionWords, options))
        self.tokens = frozenset(t for e in self.entries for t in e.in_label | e.in_description)
        labels = [words(option.label) for option in options]
        self.label_words = frozenset(word for label in labels for word in label)
        self.label_stems = frozenset(map(stem, self.label_words))
        self.openings = frozenset(stem(label[0]) for label in labels if len(label) > 1)
        """What options do, as far as their labels open with it."""
        first = {stem(label[0]) for label in labels if label}
        self.refusing = {e.code for e in self.entries if e.undoing in _REFUSING}
        stems = {e.code: {*e.label, *e.description} for e in self.entries}
        self.later = {c for c, has in stems.items() if has & _TIMES and not has & {"now", "today"}}
        self.things = self.label_stems - first
        """What stands further on in labels, and so is hardly a deed: `the flag`."""
        self.joins = frozenset(
            (one, between, two)
            for option in options
            for (one, _, end), (two, start, _) in pairwise(spans(option.label))
            if (between := option.label[end:start].strip())
        )
        """Words of labels with what stands between them: `release`, `/`, `1`."""
        self._all = self.label_words.union(*(words(option.description) for option in options))
        self._labels = sorted(w for w in self.label_words if len(w) >= 4)

    def tells(self, word: str) -> bool:
        """Whether a word can say which option is meant, and so has to be accounted for."""
        if word in WORDS.negators or word in WORDS.function:
            return False
        return word not in WORDS.neutral or (word != "go" and stem(word) in self.label_stems)

    def names(self, said: Words) -> set[str]:
        """The options whose label these words say in full, or open as it does."""
        tokens = {stem(word) for word in said if self.tells(word)}
        return {
            e.code
            for e in self.entries
            if tokens & {*e.label[:1]} or (e.telling and e.telling <= tokens)
        }

    def mentions(self, said: Words) -> set[str]:
        """The options that have a telling word of these in their label."""
        tokens = {stem(word) for word in said if self.tells(word)}
        return {e.code for e in self.entries if not tokens.isdisjoint(e.in_label)}

    def verbatim(self, said: Words) -> Words:
        """The options that have these words in their label or description, whatever the words."""
        tokens = _tokens(said)
        return tuple(
            e.code
            for e in self.entries
            if _within(tokens, e.label) or _within(tokens, e.description)
        )

    def find_in_labels(self, said: Words) -> Words:
        """The options with these very words in their label."""
        tokens = _tokens(said) if any(map(self.tells, said)) else ()
        return tuple(e.code for e in self.entries if _within(tokens, e.label))

    def phrase(self, said: Words) -> Fit | None:
        """The options with these very words in their label, or else in their description."""
        told = [word for word in said if self.tells(word)]
        tokens = _tokens(said)
        if codes := self.find_in_labels(said):
            return self._check(Fit(self.closest(codes, said), label=True), tokens)
        codes = tuple(e.code for e in self.entries if _within(tokens, e.description))
        alone = len(tokens) == 1 and any(tokens[0] in e.in_label for e in self.entries)
        if not codes or alone:
            return None
        # Words that say little one by one may stand together in just one option.
        alone = len(codes) == 1 and len(tokens) > 1 and not WORDS.function.issuperset(said)
        carried = (len(tokens) > 2 or self._carries(told)) if told else alone
        return Fit(codes, label=False) if carried else None

    def account(self, said: Words, also: frozenset[str] = frozenset()) -> Fit | None:
        """The options that account for every telling word, the better ones only.

        `also` are words of the question itself: they pass where a whole label is said.
        """
        told = [pair for pair in zip(said, _sign(said), strict=True) if self.tells(pair[0])]
        tokens = dict(told) if len({*told}) == len(told) else {}  # not `revert the revert`
        meant = [self._meanings(token, word) for word, token in tokens.items()]
        weak = (WORDS.neutral | WORDS.modifiers).issuperset(tokens)
        stems = set(map(stem, also))
        scores = {e.code: _score(e, meant, stems, whole=weak) for e in self.entries}
        least = max(scores.values(), default=0) * _CLOSE
        codes = tuple(code for code, score in scores.items() if least and score >= least)
        found = self._entries(codes)
        label = any(m & e.in_label for m in meant for e in found)
        fitting = codes and (label or self._carries([*tokens])) and self._counts_alike(found, said)
        best = Fit(self.closest(codes, said), label=label)
        return self._check(best, set().union(*meant)) if fitting else None

    def closest(self, codes: Words, said: Words) -> Words:
        """Of several, those with most of the small words: `all` tells in `merge them all`."""
        small = {word for word in said if word not in WORDS.function and word in WORDS.neutral}
        shared = {e.code: len(small & e.plain) for e in self._entries(codes)}
        most = max(shared.values(), default=0)
        return tuple(code for code in codes if shared.get(code, most) == most)

    def _entries(self, codes: Words) -> list[_OptionWords]:
        return [entry for entry in self.entries if entry.code in codes]

    def _carries(self, told: list[str]) -> bool:
        """Whether words can name an option by its description.

        One word alone has to stand there as it is, or be long enough to be the same in another
        form: `close` is not `until the terminal closes`.
        """
        if WORDS.modifiers.issuperset(told):
            return False
        word, token = told[0], stem(told[0])
        if len(told) > 1 or word in self._all or word.removesuffix("s") in self._all:
            return True
        return token not in self.tokens or len(token) > 5

    def _counts_alike(self, entries: list[_OptionWords], said: Words) -> bool:
        """Whether a number counts what it counts in an option: `two days`, not weeks."""
        lines = [line for e in entries for line in (e.label, e.description)]
        for number, noun in pairwise(said):
            if not self.tells(noun) or (number not in WORDS.one and cardinal(number) is None):
                continue
            counts = {one for line in lines for one, two in pairwise(line) if two == stem(noun)}
            counts = {one for one in counts if one in WORDS.whole or one.isdigit()}
            figure = stem(number)
            behind = {t for e in lines if figure in e for t in e[e.index(figure) + 1 :][:3]}
            other = number not in WORDS.one and behind and stem(noun) not in behind
            if other or (counts and figure not in counts):
                return False
        return True

    def _check(self, fit: Fit, tokens: Iterable[str]) -> Fit | None:
        """The fit, unless it rests on what an option would undo and says nothing of undoing it."""
        verbs = [entry.undoing for entry in self._entries(fit.codes)]
        return (
            None if fit.label and len(verbs) == 1 and verbs[0] and verbs[0] not in tokens else fit
        )

    def _meanings(self, token: str, word: str) -> frozenset[str]:
        """The word as the options have it; where none has it, what it may be a slip of."""
        if token in self.tokens or token.startswith("!") or word in WORDS.modifiers:
            return frozenset((token,))
        near = [meant for meant in self._labels if _resembles(word, meant)]
        near = near or [meant for meant in _ALIKE.get(stem(word), ()) if meant in self.label_words]
        return frozenset((token, *map(stem, near)))


def _score(
    entry: _OptionWords, meant: list[frozenset[str]], also: set[str], *, whole: bool
) -> float:
    """How much is said for an option; nothing when a word is not its own.

    With words that say little, or that are the question's, its `whole` label must be said.
    """
    hits, described = set[str](), set[str]()
    for alternatives in meant:
        hits |= alternatives & entry.in_label
        if not alternatives & entry.in_label:
            described |= alternatives & entry.in_description
            whole = whole or not alternatives & entry.in_description
            if not alternatives & (entry.in_description | also):
                return 0
    # The verb of a label with something of its description is another deed.
    deed = described and hits and hits == {*entry.label[:1]} != entry.needed
    if deed or (whole and not (entry.needed and entry.needed <= hits)):
        return 0
    return len(hits) + len(described) * _DESCRIPTION


lexicon = lru_cache(maxsize=128)(Lexicon)
"""The words of these options; the last few are kept."""


class _OptionWords:
    """An option's words, cut to their stems."""

    def __init__(self, option: Choice) -> None:
        said = words(option.label)
        first = said[0] if said else ""
        self.code = option.code
        self.label = _tokens_of(option.label)
        self.description = _tokens_of(option.description)
        self.needed = frozenset(self.label) - _EMPTY
        """The words of the label that tell it from others."""
        self.telling = self.needed - _SAYING_LITTLE
        code = option.code.rpartition("/")[2].casefold()
        known = len(code) > 1 and code.isalpha() and not is_everyday(code)
        self.in_label = self.needed | ({code} if known else set())
        self.in_description = frozenset(self.description) - _EMPTY
        self.plain = frozenset(said)
        """The words of the label as they stand."""
        self.undoing = stem(first) if len(self.label) > 1 and first in WORDS.undoings else ""
        """The verb that it opens with, where its object alone would not say so."""


def _sign(said: Iterable[str]) -> list[str]:
    """The stems of words, those behind a "not" or "no" marked with `!`."""
    tokens: list[str] = []
    reach = 0
    for word in said:
        if word in WORDS.negators or word == "nothing":
            tokens.append("not" if word.endswith("nt") else word)
            reach = 1 if word == "nobody" else _REACH
        elif word in {"but", "and"}:
            tokens.append(word)
            reach = 0
        elif word in WORDS.function or not reach:
            tokens.append(stem(word))
        else:
            tokens.append("!" + stem(word))
            reach -= 1
    return tokens


def _tokens(said: Iterable[str]) -> Words:
    """The signed stems of words, without articles."""
    return tuple(token for token in _sign(said) if token not in {"the", "a", "an"})


def _tokens_of(text: str) -> Words:
    """The tokens of a label or a description, where a "not" reaches no further than its piece."""
    return tuple(token for piece in _PIECES.split(text) for token in _tokens(words(piece)))


def _within(tokens: Words, line: Words) -> bool:
    """Whether the tokens stand in a line in that order, side by side."""
    if not tokens or tokens[0] not in line:
        return False
    long = len(tokens)
    return any(line[at : at + long] == tokens for at in range(len(line) - long + 1))
