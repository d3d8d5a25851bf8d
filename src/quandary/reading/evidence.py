"""Which options the words of a reply speak for, weighed by how rare each word is among them."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from quandary.reading import phrases
from quandary.reading.numbers import cardinal
from quandary.reading.words import denial, resembles, root, slips, spans, stem, words, wordset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.model.asks import Choice

_OBJECTS = wordset("it them this that all both everything me us him her")
_ONE = frozenset(("a", "an", "one"))
_TIMES = {*map(stem, wordset("day night week month year hour minute tonight tomorrow later"))}
_DETERMINERS = wordset("the a an that this my our those these")
_REFUSING = frozenset(map(stem, phrases.REFUSALS))
_DESCRIPTION = 0.5
"""What a word of a description weighs, held against one of a label."""
_CLOSE = 0.65


class Fit(NamedTuple):
    """The options that words speak for, and whether a label says so."""

    codes: tuple[str, ...]
    label: bool


class Lexicon:
    """The words of the options of one question."""

    def __init__(self, options: tuple[Choice, ...]) -> None:
        self.entries = tuple(map(_OptionWords, options))
        found = Counter(t for entry in self.entries for t in entry.in_label | entry.in_description)
        self.weights = {token: math.log(1 + len(options) / found[token]) for token in found}
        needed = Counter(token for entry in self.entries for token in entry.needed)
        self._shared = frozenset(token for token in needed if needed[token] > 1)
        """What several labels have, so that it need not be said."""
        self.label_words = frozenset(w for option in options for w in words(option.label))
        self.label_stems = frozenset(map(stem, self.label_words))
        self.joins = frozenset(
            (one, between, two)
            for option in options
            for (one, _, end), (two, start, _) in pairwise(spans(option.label))
            if (between := option.label[end:start].strip())
        )
        """Words of labels with what stands between them: `release`, `/`, `1`."""
        self._all = self.label_words.union(*(words(option.description) for option in options))
        self._long = sorted(w for w in self._all - self.label_words if len(w) >= 6)
        self._labels = sorted(w for w in self.label_words if len(w) >= 4)
        labels = [words(option.label) for option in options]
        self.openings = frozenset(stem(label[0]) for label in labels if len(label) > 1)
        self.things = frozenset(
            stem(two)
            for label in labels
            for one, two in pairwise(label)
            if one in _DETERMINERS - _ONE
        )
        """What is there already in labels, and so never a deed: `the flag`, unlike `a hotfix`."""
        self.deeds = frozenset(entry.deed for entry in self.entries if entry.deed)
        self._fused = {
            one + two: stem(two)
            for option in options
            for one, two in pairwise(words(f"{option.label} {option.description}"))
        }
        self._codes = {e.code.rpartition("/")[2].casefold(): e.code for e in self.entries}

    def _entries(self, codes: tuple[str, ...]) -> list[_OptionWords]:
        return [entry for entry in self.entries if entry.code in codes]

    def phrase(self, said: tuple[str, ...]) -> Fit | None:
        """The options with these very words in their label, or else in their description."""
        told = [word for word in said if self.tells(word)]
        if not told:
            return self.fit_description(said)
        tokens = _tokens(said)
        codes = self.find_in_labels(said)
        if codes:
            return self._check(Fit(self.closest(codes, said), label=True), {*tokens})
        alone = len(tokens) == 1 and any(tokens[0] in e.in_label for e in self.entries)
        if alone or self._places(told):
            return None
        codes = tuple(e.code for e in self.entries if _within(tokens, e.description))
        return (
            Fit(codes, label=False) if codes and (len(tokens) > 2 or self._carries(told)) else None
        )

    def fit_description(self, said: tuple[str, ...]) -> Fit | None:
        """The options with these words in their description, where they are all of one."""
        tokens = _tokens(said)
        if len(tokens) < 2 or not any(e.description == tokens for e in self.entries):
            return None
        codes = tuple(e.code for e in self.entries if _within(tokens, e.description))
        return Fit(codes, label=False)

    def find_in_labels(self, said: tuple[str, ...]) -> tuple[str, ...]:
        """The options with these very words in their label, be it as what they would undo."""
        tokens = _tokens(said) if any(map(self.tells, said)) else ()
        return tuple(e.code for e in self.entries if _within(tokens, e.label))

    def verbatim(self, said: tuple[str, ...]) -> tuple[str, ...]:
        """The options that have these words in their label or description, whatever the words."""
        tokens = _tokens(said)
        return tuple(
            entry.code
            for entry in self.entries
            if _within(tokens, entry.label) or _within(tokens, entry.description)
        )

    def denies(self, said: tuple[str, ...]) -> bool:
        """Whether an option itself says "not" to a word that is said "not" to."""
        return any(token.startswith("!") and token in self.weights for token in _sign(said))

    def elsewhen(self, code: str, said: tuple[str, ...]) -> bool:
        """Whether "now" or "today" is said of an option that has another time, or says more."""
        entry = next(e for e in self.entries if e.code == code)
        if not entry.plain.isdisjoint(("now", "today")) or stem("today") in entry.description:
            return False
        unsaid = entry.needed.difference(_sign(said))
        return bool(unsaid if "today" in said else unsaid & _TIMES)

    def wholly(self, code: str, said: tuple[str, ...]) -> bool:
        """Whether nothing is in an option's label but these words."""
        tokens = {*_sign(said)}
        tokens |= {token[1:] for token in tokens if token.startswith("!")}
        return any(e.code == code and e.needed - _REFUSING <= tokens for e in self.entries)

    def find_affirming(self, said: tuple[str, ...]) -> set[str]:
        """The options that would do what is said "not" to."""
        denied = {token[1:] for token in _sign(said) if token.startswith("!")}
        return {e.code for e in self.entries if denied.intersection(e.label + e.description)}

    def tells(self, word: str) -> bool:
        """Whether a word can say which option is meant."""
        if word in phrases.NEGATORS or word in phrases.FUNCTION:
            return False
        return word not in phrases.NEUTRAL or (word != "go" and stem(word) in self.label_stems)

    def bag(self, said: tuple[str, ...], also: frozenset[str] = frozenset()) -> Fit | None:
        """The options that account for every telling word, the better ones only.

        `also` are words of the question itself: they pass where a whole label is said.
        """
        told = self._find_telling(said)
        if self._places([word for _, word in told]) or self._twice([token for token, _ in told]):
            return None
        brief = len(said) < 4
        meant = [self._meanings(token, word, brief=brief) for token, word in told]
        weak = all(word in phrases.NEUTRAL for _, word in told)
        best = self._best(meant, {stem(word) for word in also}, weak=weak)
        if best is None:
            return None if weak else self.alike(said)
        carried = best.label or self._carries([word for _, word in told])
        if not carried or self._compares(said) or not self._counts_alike(best, said):
            return None
        best = best._replace(codes=self.closest(best.codes, said))
        return self._check(best, set().union(*meant))

    def closest(self, codes: tuple[str, ...], said: tuple[str, ...]) -> tuple[str, ...]:
        """Of several, those with most of the small words, and then with most words as they are.

        `all` tells in `merge them all`, and `searchable` is nearer to itself than to `search`.
        """
        small = {word for word in said if word not in phrases.FUNCTION and word in phrases.NEUTRAL}
        roots = {root(word) for word in said if len(word) - len(stem(word)) > 2}
        few = self._entries(codes)
        shared = {e.code: (len(small & e.plain), len(roots & e.roots)) for e in few}
        most = max(shared.values(), default=(0, 0))
        return tuple(code for code in codes if shared.get(code, most) == most)

    def _compares(self, said: tuple[str, ...]) -> bool:
        """`something shorter` wants a change; `the shorter one` is an option that is short."""
        return "the" not in said and any(
            word.endswith("er") and word not in self._all and {word[:-2], word[:-1]} & self._all
            for word in said
        )

    def _carries(self, told: list[str]) -> bool:
        """Whether words can name an option by its description.

        One word alone has to stand there as it is, or be long enough to be the same in another
        form: `close` is not `until the terminal closes`.
        """
        if phrases.MODIFIERS.issuperset(told):
            return False
        word, token = told[0], stem(told[0])
        if token not in self.weights:
            return True
        if len(told) > 1 or word in self._all or word.removesuffix("s") in self._all:
            return True
        return len(token) > 5 or any(w.endswith("ing") and stem(w) == token for w in self._all)

    def on_it(self, said: tuple[str, ...]) -> bool:
        """`hold it`: a deed of their own, which a description's word `hold` does not name."""
        told = [word for word in said if self.tells(word)]
        if len(told) != 1 or not phrases.NEGATORS.isdisjoint(said):
            return False
        at = said.index(told[0])
        behind = said[at + 1 :]
        if not 0 < len(behind) < 4 or behind[0] not in _OBJECTS or "away" in behind:
            return False
        return stem(told[0]) in self.weights and not self.verbatim(said[at : at + 2])

    def _places(self, told: list[str]) -> bool:
        """Whether nothing was said but numbers that options have as their place."""
        return all(0 < (cardinal(word) or 0) <= len(self.entries) for word in told)

    def _twice(self, tokens: list[str]) -> bool:
        """Whether one word of a label is said twice, of two things: `revert the revert`."""
        return any(tokens.count(token) > 1 and token in self.label_stems for token in tokens)

    def _counts_alike(self, fit: Fit, said: tuple[str, ...]) -> bool:
        """Whether a number in a reply counts what it counts in an option: `two days`, not weeks."""
        pairs = [
            ("1" if number in _ONE else stem(number), stem(noun))
            for number, noun in pairwise(said)
            if (number in _ONE or cardinal(number) is not None) and self.tells(noun)
        ]
        lines = [line for e in self._entries(fit.codes) for line in (e.label, e.description)]
        return all(
            (all if number == "1" else any)(_counts(number, noun, line) for line in lines)
            for number, noun in pairs
        )

    def _check(self, fit: Fit, tokens: set[str]) -> Fit | None:
        """The fit, unless it rests on what an option would undo and says nothing of undoing it."""
        verbs = [entry.undoing for entry in self._entries(fit.codes)]
        denied = any(token.startswith("!") for token in tokens)
        if len(verbs) == 1 and verbs[0] and verbs[0] not in tokens and fit.label and not denied:
            return None
        return fit

    def apart(self, said: tuple[str, ...]) -> tuple[str, ...]:
        """The options named one word each, where every telling word names just one."""
        codes: list[str] = []
        if stem(said[0]) in self.deeds or not _DETERMINERS.isdisjoint(said[1:]):
            return ()
        for token, word in self._find_telling(said):
            if word in self._codes:
                codes.append(self._codes[word])
                continue
            meant = self._meanings(token, word)
            hits = [e for e in self.entries if not meant.isdisjoint(e.in_label)]
            if len(hits) != 1 or not (meant & {*hits[0].label[:1]} or len(hits[0].needed) == 1):
                return ()
            codes.append(hits[0].code)
        return tuple(dict.fromkeys(codes))

    def mentions(self, said: tuple[str, ...]) -> set[str]:
        """The options that have a telling word of these in their label."""
        tokens = {token for token, _ in self._find_telling(said)}
        return {e.code for e in self.entries if not tokens.isdisjoint(e.in_label)}

    def _find_telling(self, said: tuple[str, ...]) -> list[tuple[str, str]]:
        pairs = [*zip(_sign(said), said, strict=True), ("", "")]
        return [
            (token, word)
            for (token, word), (after, _) in pairwise(pairs)
            if self.tells(word) and not (word in {"every", "each"} and after in _TIMES)
        ]

    def _meanings(self, token: str, word: str, *, brief: bool = True) -> frozenset[str]:
        """The word as the options have it; where none has it, what it may be a slip of.

        In a reply that is not `brief`, a word of five letters is hardly a slip of another.
        """
        if token in self.weights:
            return frozenset((token,))
        spelt = "one" if word == "1" else f"{word}%"
        for other in (denial(token, word), self._fused.get(word), spelt):
            if other in self.weights:
                return frozenset((other,))
        if token.startswith("!") or word in phrases.MODIFIERS or not (brief or len(word) > 5):
            return frozenset((token,))
        near = [meant for meant in self._labels if resembles(word, meant)]
        if not near and len(word) >= 5:
            near = [meant for meant in self._long if word[0] == meant[0] and slips(word, meant)]
        return frozenset((token, *map(stem, near)))

    def _best(self, meant: list[frozenset[str]], also: set[str], *, weak: bool) -> Fit | None:
        scored = ((e.code, self._score(e, meant, also, whole=weak)) for e in self.entries)
        scores = {code: score for code, score in scored if score}
        if not scores:
            return None
        top = max(scores.values())
        codes = tuple(code for code, score in scores.items() if score >= top * _CLOSE)
        in_labels = frozenset[str]().union(*(entry.in_label for entry in self._entries(codes)))
        return Fit(codes, label=any(not m.isdisjoint(in_labels) for m in meant))

    def _score(
        self, entry: _OptionWords, meant: list[frozenset[str]], also: set[str], *, whole: bool
    ) -> float:
        """How much is said for an option; nothing when a word is not its own.

        With words that say little, or that are the question's, its `whole` label must be said.
        """
        score, hits, described = 0.0, set[str](), set[str]()
        for alternatives in meant:
            if in_label := alternatives & entry.in_label:
                hits |= in_label
                score += max(self.weights[token] for token in in_label)
            elif in_description := alternatives & entry.in_description:
                described |= in_description
                score += max(self.weights[token] for token in in_description) * _DESCRIPTION
            elif alternatives & also:
                whole = True
            else:
                return 0.0
        partly = described and described < entry.in_description
        if partly and entry.deed and hits == {entry.deed} != entry.needed:
            return 0.0
        needed = entry.needed
        if hits - {*entry.label[:1]}:
            needed = needed - self._shared or needed
        # One word may be a description's and the other the question's: `phone support`.
        pair = described - phrases.MODIFIERS and len(meant) == 2 and meant[1] & also
        return 0.0 if whole and not pair and not (needed and needed <= hits) else score

    def alike(self, said: tuple[str, ...]) -> Fit | None:
        """The options whose label means much the same as every telling word."""
        told = [word for word in phrasal(said) if self.tells(word)]
        if not told or any(token.startswith("!") for token in _sign(said)):
            return None
        nouns = {word for before, word in pairwise(said) if before in _DETERMINERS}
        spoken = 0 if _POINTERS.isdisjoint(said) else 2
        fitting = tuple(
            entry.code
            for entry in self.entries
            if all(
                stem(word) in entry.in_label
                or (word not in nouns and _GROUPS.get(root(word), set()) & entry.groups)
                for word in told
            )
            and len(entry.needed) <= len(told) + spoken
        )
        return Fit(fitting, label=False) if fitting else None


lexicon = lru_cache(maxsize=128)(Lexicon)
"""The words of these options; the last few are kept."""


def _counts(number: str, noun: str, line: tuple[str, ...]) -> bool:
    """Whether a number stands before a noun in a line, or counts nothing else there."""
    if number == "1":
        counted = [line[at - 1] for at, token in enumerate(line) if token == noun and at]
        whole = {"both", "all", "every"}
        return not counted or not all(c in whole or (c.isdigit() and c != "1") for c in counted)
    behind = [line[at + 1 : at + 4] for at, token in enumerate(line) if token == number]
    return any(noun in rest or not rest or rest[0] in _EMPTY for rest in behind)


_PIECES = re.compile(r"[.,;:!?]+(?=\s|$)|[()\[\]—–]|\s-\s")
_REACH = 3
"""How many telling words a "not" reaches."""
_EMPTY = phrases.NEGATORS | frozenset(map(stem, phrases.FUNCTION | phrases.STATING))
_PARTICLES = wordset("up down out off back over until till all")
_POINTERS = frozenset(("it", "this", "that", "them"))
_GROUPS: dict[str, set[int]] = {}
for _number, _group in enumerate(phrases.ALIKE):
    for _word in _group:
        _GROUPS.setdefault(root(_word), set()).add(_number)
"""The lists of `ALIKE` that a word stands in."""


class _OptionWords:
    """An option's words, cut to their stems."""

    def __init__(self, option: Choice) -> None:
        said = words(option.label)
        first, *rest = said or ("",)
        self.code = option.code
        self.label = _tokens_of(option.label)
        self.description = _tokens_of(option.description)
        self.needed = frozenset(self.label) - _EMPTY
        """The words of the label that tell it from others."""
        self.in_label = self.needed
        if first in phrases.REFUSALS:
            self.in_label |= {"!" + token for token in self.needed if token != stem(first)}
        code = option.code.rpartition("/")[2].casefold()
        empty = code in phrases.NEUTRAL | phrases.FUNCTION | phrases.NEGATORS
        if len(code) > 1 and not empty and not code.isdigit():
            self.in_label |= {code}
        self.in_description = frozenset(self.description) - _EMPTY
        self.groups = {
            number for word in (*phrasal(said), code) for number in _GROUPS.get(root(word), ())
        }
        self.plain = frozenset(said)
        """The words of the label as they stand."""
        self.roots = frozenset(map(root, words(f"{option.label} {option.description}")))
        """The words of label and description but for their inflection."""
        particle = rest and rest[0] in phrases.FUNCTION | _PARTICLES
        self.deed = stem(first) if particle else ""
        """The verb that it opens with: `Break it up`, `Wait until Monday`, not `Break room`."""
        self.undoing = stem(first) if len(self.label) > 1 and first in phrases.UNDOINGS else ""
        """The verb that it opens with, where its object alone would not say so."""


def _sign(said: Iterable[str]) -> list[str]:
    """The stems of words, those behind a "not" or "no" marked with `!`."""
    tokens: list[str] = []
    reach = 0
    for word in said:
        if word in phrases.NEGATORS or word == "nothing":
            tokens.append("not" if word.endswith("nt") else word)
            reach = 1 if word == "nobody" else _REACH
        elif word in {"but", "and"}:
            tokens.append(word)
            reach = 0
        elif word in phrases.FUNCTION or not reach:
            tokens.append(stem(word))
        else:
            tokens.append("!" + stem(word))
            reach -= 1
    return tokens


def _tokens(said: Iterable[str]) -> tuple[str, ...]:
    """The signed stems of words, without articles."""
    return tuple(token for token in _sign(said) if token not in {"the", "a", "an"})


def _tokens_of(text: str) -> tuple[str, ...]:
    """The tokens of a label or a description, where a "not" reaches no further than its piece."""
    return tuple(token for piece in _PIECES.split(text) for token in _tokens(words(piece)))


def phrasal(said: tuple[str, ...]) -> list[str]:
    """The words with verbs such as "turn down" put into one."""
    found: list[str] = []
    for at, word in enumerate(said):
        apart = 2 if at > 1 and said[at - 1] in _POINTERS else 1
        if at >= apart and (joined := phrases.PHRASAL.get((said[at - apart], word))):
            found[-apart] = joined
        else:
            found.append(word)
    return found


def _within(tokens: tuple[str, ...], line: tuple[str, ...]) -> bool:
    """Whether the tokens stand in a line in that order, side by side."""
    if not tokens or tokens[0] not in line:
        return False
    long = len(tokens)
    return any(line[at : at + long] == tokens for at in range(len(line) - long + 1))
