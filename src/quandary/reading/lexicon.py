"""The words of the options of one question, and which options account for the words of a reply."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from quandary.reading import Words, slips, spans, words
from quandary.reading.phrases import ALIKE, IRREGULAR, SUFFIXES, WORDS, cardinal, strip

if TYPE_CHECKING:
    from quandary.model.asks import Choice

_VOWELS = frozenset("aeiouy")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """What the forms of a word have in common: `approving`, `approval` and `approve` alike."""
    word = ALIKE.get(word) or IRREGULAR.get(word, word)
    if word[:1].isdigit() and word[-2:] in WORDS.nth:
        return word[:-2]
    if len(word) <= 3 or not word.isalpha():
        return word
    word = _without(word, (*SUFFIXES.inflections, "ly"), 3)
    word = _without(ALIKE.get(word, word), SUFFIXES.derivations, 4)
    word = word.removesuffix("at") if len(word) > 6 else word
    word = word.removesuffix("e") if len(word) > 3 else word
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in _VOWELS:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


def _without(word: str, endings: tuple[str, ...], least: int) -> str:
    for ending in () if word.endswith(SUFFIXES.lookalikes) else endings:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= least and not _VOWELS.isdisjoint(rest):
            return rest + "y" if ending in {"ied", "ies"} else rest
    return word


def _resembles(typed: str, meant: str) -> bool:
    """A word typed with a slip, or cut short, such as `genric` or `prod`."""
    if not typed.isalpha() or len(typed) < 4 or typed[0] not in meant[:2]:
        return typed == meant
    if meant.startswith(typed):
        return len(meant) - len(typed) > 2 or len(typed) > 4
    # Another word is no slip, such as `remote` for `remove`.
    other = len(typed) == len(meant) < 7 and sorted(typed) != sorted(meant)
    other = other or len(typed) < 5 or typed in WORDS.everyday
    return not other and slips(typed, meant) is not None


_ADDED = r"(?<=\w)\s*\([^()]*\)\s*\Z"
_PIECES = re.compile(r"[.,;:!?]+(?=\s|$)|[()\[\]—–]|\s-\s")
_PARTS = re.compile(rf"{_PIECES.pattern}|\b(?:and|or|but)\b")
_EMPTY = WORDS.negators | frozenset(map(stem, WORDS.function | WORDS.stating))
_WHOSE = WORDS.function - WORDS.passing  # says of whom something is said: `send it to me`
_SAYING_LITTLE = frozenset(map(stem, WORDS.neutral))
DESCRIPTION, LABEL, WHOLE = range(3)
"""What accounts for words, the weakest first: a description, a label, or all of a name."""


class Fit(NamedTuple):
    """The options that account for words, and by what."""

    codes: Words
    evidence: int
    guessed: bool = False  # it may be another deed


class Lexicon:
    """The words of the options of one question."""

    def __init__(self, options: tuple[Choice, ...]) -> None:
        self.entries = tuple(map(_OptionWords, options))
        self.tokens = frozenset(t for e in self.entries for t in e.in_label | e.in_description)
        labels = [words(option.label) for option in options]
        self.label_words = frozenset(word for label in labels for word in label)
        self.first = frozenset(stem(label[0]) for label in labels if label)
        self.verbs = self.first.union(stem(word) for e in labels for word in strip(e)[:1])
        self.deeds = frozenset(stem(e[0]) for e in labels if any(map(str.isalpha, e[1:])))
        self.joins = frozenset(  # words of labels with what is between them: `release`, `/`, `1`
            (one, option.label[end:start].strip(), two)
            for option in options
            for (one, _, end), (two, start, _) in pairwise(spans(option.label))
        )
        self._labels = sorted(w for w in self.label_words if len(w) >= 4)

    def tells(self, word: str) -> bool:
        """Whether a word can say which option is meant, and so has to be accounted for."""
        if word in WORDS.negators or word in WORDS.function:
            return False
        return word not in WORDS.neutral or (word != "go" and word in self.label_words)

    def names(self, said: Words) -> set[str]:
        """The options whose label these words say in full, or open as it does."""
        tokens = self._tokens_meant(said)
        whole = [e for e in self.entries if e.telling and e.telling <= tokens]
        opened = tokens - {e.label[0] for e in whole}
        begun = (e for e in self.entries if opened & {*e.label[:1]} or e.known in tokens)
        return {e.code for e in (*whole, *begun)}

    def speaks_of(self, said: Words, codes: Words) -> set[str]:
        """The options besides these whose label the words say, or all of it but its verb."""
        own = set[str]().union(*(e.in_label for e in self._entries(codes)))
        tokens = self._tokens_meant(said) - own
        others = [e for e in self.entries if e.code not in codes and tokens & e.in_label]
        beyond = {e.code: e.telling - own - {*e.label[:1]} for e in others}
        spoken = {code for code, told in beyond.items() if told and told <= tokens}
        return spoken | self.names(said) - {*codes}

    def mentions(self, said: Words) -> set[str]:
        """The options that have a telling word of these in their label."""
        tokens = self._tokens_meant(said)
        return {e.code for e in self.entries if not tokens.isdisjoint(e.in_label)}

    def _tokens_meant(self, said: Words) -> set[str]:
        """The telling words, and what they may be slips of."""
        told = [word for word in said if self.tells(word)]
        near = (self._meanings(stem(word), word) for word in told if len(word) > 5)
        return {*map(stem, told)}.union(*near)

    def verbatim(self, said: Words) -> Words:
        """The options that have these words in their label or description, whatever the words."""
        tokens = _tokens(said)
        return tuple(e.code for e in self.entries if _within(tokens, e.label, e.description))

    def find_in_labels(self, said: Words) -> Words:
        """The options with these very words in their label."""
        tokens = _tokens(said) if any(map(self.tells, said)) else ()
        return tuple(e.code for e in self.entries if _within(tokens, e.label))

    def find_numbers(self, said: Words) -> Words:
        """The telling words, where they are but numbers of the list: no words of a description."""
        told = tuple(word for word in said if word not in WORDS.passing)
        return told if all((cardinal(stem(w)) or 99) <= len(self.entries) for w in told) else ()

    def phrase(self, said: Words) -> Fit | None:
        """The options with these very words in their label, or else in their description."""
        told, tokens = [word for word in said if self.tells(word)], _tokens(said)
        if codes := self.find_in_labels(said):
            return self._check(Fit(codes, LABEL), tokens)
        codes = tuple(e.code for e in self.entries if _within(tokens, e.description))
        alone = len(tokens) == 1 and any(tokens[0] in e.in_label for e in self.entries)
        if not codes or alone or self.find_numbers(said):
            return None
        # Words that say little one by one may stand together in just one option.
        alone = len(codes) == 1 and len(tokens) > 1 and not WORDS.function.issuperset(said)
        return Fit(codes, DESCRIPTION) if told or alone else None

    def account(self, said: Words, also: frozenset[str] = frozenset()) -> Fit | None:
        """The options that account for every telling word; `also` pass beside a whole label."""
        small, signed = WORDS.passing | WORDS.negators, _sign(said)
        if not WORDS.negators.isdisjoint(said) and not any(t[0] == "!" for t in signed):
            return None  # what is denied stands before it: `redis won't do`
        pairs = [pair for pair in zip(said, signed, strict=True) if pair[0] not in small]
        tokens = dict(pairs) if len({*pairs}) == len(pairs) else {}  # not `revert the revert`
        meant = [self._meanings(token, word) for word, token in tokens.items()]
        weak = (WORDS.neutral | WORDS.modifiers).issuperset(tokens)
        scores = {e.code: _score(e, meant, {*map(stem, also)}, whole=weak) for e in self.entries}
        least = max(scores.values(), default=0) * 0.65
        codes = tuple(code for code, score in scores.items() if least and score >= least)
        entries = self._entries(codes)
        label = any(m & e.in_label for m in meant for e in entries)
        told = set[str]().union(*meant)
        # The verb of a label with something of its description may be another deed.
        verbs = [e for e in entries if told & e.in_label == {*e.label[:1]} != e.needed]
        guessed = any(not m & e.in_label for e in verbs for m in meant)
        # So may words of a description in another order: `ask legal`, of `Legal asked for it`.
        lines = [e.description for e in entries]
        order = [[line.index(t) for t in tokens.values() if t in line] for line in lines]
        guessed = guessed or (not label and all(at != sorted(at) for at in order))
        counted = not label and self.find_numbers(said)
        fitting = codes and not counted and self._counts_alike(entries, said)
        return self._check(Fit(codes, int(label), guessed), told) if fitting else None

    def find_rivals(self, said: Words, codes: Words) -> Words:
        """The other options that have every telling word, and what else these have of the words."""
        signed, own = [*zip(said, _sign(said), strict=True)], self._entries(codes)
        told = {token for word, token in signed if self.tells(word)}
        whole = any(told == e.telling for e in own)  # a label said in full has none
        more = {t for w, t in signed if w not in WORDS.function and all(t in e.all for e in own)}
        entries = (e for e in self.entries if told and not whole and e.code not in codes)
        return tuple(e.code for e in entries if all(map(e.resembles, told | more)))

    def passes(self, said: Words, codes: Words) -> bool:
        """Whether just a word is said that a description has in passing: `on the left`."""
        told = [word for word in said if word not in WORDS.lesser]
        if len(told) != 1 or WORDS.negators & {*said} or (said[1:] and self.verbatim(said)):
            return False
        same = {told[0], told[0].removesuffix("s"), stem(told[0]) if len(told[0]) > 6 else ""}
        return not any((same - IRREGULAR.keys()) & entry.heads for entry in self._entries(codes))

    def _entries(self, codes: Words) -> list[_OptionWords]:
        return [entry for entry in self.entries if entry.code in codes]

    def _counts_alike(self, entries: list[_OptionWords], said: Words) -> bool:
        """Whether a number counts what it counts in an option: `two days`, not weeks."""
        lines = [line for e in entries for line in (e.label, e.description)]
        for number, noun in pairwise(said):
            what = stem(noun) if cardinal(number) and self.tells(noun) else None
            nouns = [(line, at) for line in lines for at, token in enumerate(line) if token == what]
            before = [line[max(at - 4, 0) : at] for line, at in nouns]
            bald = number == "one" and not all(any(map(cardinal, some)) for some in before)
            if before and not bald and not any(stem(number) in some for some in before):
                return False
        return True

    def _check(self, fit: Fit, tokens: Words | set[str]) -> Fit | None:
        """The fit, unless it rests on what an option would undo and says nothing of undoing it."""
        verbs = [entry.undoing for entry in self._entries(fit.codes)] if fit.evidence else []
        return None if len(verbs) == 1 and verbs[0] and verbs[0] not in tokens else fit

    def _meanings(self, token: str, word: str) -> set[str]:
        """The word as the options have it; where none has it, what it may be a slip of."""
        if token in self.tokens or token.startswith("!") or word in WORDS.modifiers:
            return {token}
        near = [meant for meant in self._labels if _resembles(word, meant)]
        within = [meant for meant in self._labels if near and word in meant]  # `flow` of `taskflow`
        return {token, *map(stem, near + within)}


def _score(entry: _OptionWords, meant: list[set[str]], also: set[str], *, whole: bool) -> float:
    """How much is said for an option, by its description half; nothing with a word not its own."""
    hits, described = set[str](), set[str]()
    for alternatives in meant:
        hits |= alternatives & entry.in_label
        if not alternatives & entry.in_label:
            described |= alternatives & entry.in_description
            whole = whole or not alternatives & entry.in_description
            if not alternatives & (entry.in_description | also):
                return 0
    if whole and not (entry.needed and entry.needed <= hits):
        return 0
    return len(hits) + len(described) / 2


lexicon = lru_cache(maxsize=128)(Lexicon)  # the last few are kept


class _OptionWords:
    """An option's words, cut to their stems."""

    def __init__(self, option: Choice) -> None:
        first = (*words(option.label), "")[0]
        self.code = option.code
        self.label = _tokens_of(option.label)
        self.description = _tokens_of(option.description)
        # What tells the label from others, without what it adds in brackets: `Patch (3.4.2)`.
        self.needed = frozenset(_tokens_of(re.sub(_ADDED, "", option.label))) - _EMPTY
        self.telling = self.needed - _SAYING_LITTLE
        code = option.code.rpartition("/")[2].casefold()
        plain = len(code) < 2 or code.isdigit() or code in WORDS.everyday
        self.known = "" if plain else code  # what names it among other words
        self.in_label = frozenset(self.label) - _EMPTY | {self.known} - {""}
        self.in_description = frozenset(self.description) - _EMPTY | _WHOSE.intersection(self.label)
        heads = list[str]()
        for part in map(words, _PARTS.split(option.description)):
            told = [word for word in part if stem(word) not in _EMPTY]
            heads += told[: 1 + (len(told) == 2 and part[0] not in WORDS.taking)]
        self.heads = {*heads, *(stem(head) for head in heads if len(head) > 6)}
        self.all = self.in_label | self.in_description
        self.undoing = stem(first) if len(self.label) > 1 and first in WORDS.undoings else ""
        """The verb that it opens with, where its object alone would not say so."""

    def resembles(self, token: str) -> bool:
        """Whether it has a word or one that it begins, such as `lowest` for `low`."""
        longer = (w for w in self.all if len(token) > 2 and len(w) < len(token) + 4)
        return token in self.all or any(w.startswith(token) for w in longer)


def _sign(said: Words) -> list[str]:
    """The stems of words, those behind a "not" or "no" marked with `!`."""
    tokens, reach = list[str](), 0
    for word in said:
        reach = 0 if word in {"but", "and"} else reach
        if word in WORDS.negators or word == "nothing":
            tokens.append("not" if word.endswith("nt") else word)
            reach = 1 if word == "nobody" else 3
        else:
            denied = reach > 0 and word not in WORDS.function
            tokens.append("!" * denied + stem(word))
            reach -= denied
    return tokens


def _tokens(said: Words) -> Words:
    """The signed stems of words, without articles."""
    return tuple(token for token in _sign(said) if token not in {"the", "a", "an"})


def _tokens_of(text: str) -> Words:
    """The tokens of a label or a description, where a "not" reaches no further than its piece."""
    return tuple(token for piece in _PIECES.split(text) for token in _tokens(words(piece)))


def _within(tokens: Words, *lines: Words) -> bool:
    """Whether the tokens stand in one of the lines in that order, side by side."""
    begun = [line[at:] for line in lines for at, token in enumerate(line) if (token,) == tokens[:1]]
    return any(line[: len(tokens)] == tokens for line in begun)
