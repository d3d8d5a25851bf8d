"""Which options the words of a reply speak for, weighed by how rare each word is among them."""

from __future__ import annotations

import itertools
import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from quandary.reading import phrases
from quandary.reading.numbers import cardinal
from quandary.reading.words import denial, resembles, root, slips, spans, stem, words, wordset

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quandary.model.asks import Choice

_OBJECTS = wordset("it them this that all both everything me us him her")
_WHOLE = frozenset(("both", "all", "every"))
_ONE = frozenset(("a", "an", "one"))
_EACH = frozenset(("every", "each"))
TIMES = frozenset(
    map(stem, wordset("day night week month year hour minute tonight tomorrow later"))
)
_DETERMINERS = wordset("the a an that this my our those these")
_REFUSING = frozenset(map(stem, phrases.REFUSALS))
_LABEL, _DESCRIPTION = 1.0, 0.5
_CLOSE = 0.65
_PAIR = 2
"""How many words are a description's and the question's: `phone support`."""


class Fit(NamedTuple):
    """The options that words speak for, and whether a label says so."""

    codes: tuple[str, ...]
    label: bool


class Lexicon:
    """The words of the options of one question."""

    def __init__(self, options: tuple[Choice, ...]) -> None:
        self.entries = tuple(entry_of(option) for option in options)
        found: dict[str, int] = {}
        for entry in self.entries:
            for token in entry.in_label | entry.in_description:
                found[token] = found.get(token, 0) + 1
        many = len(self.entries)
        self.weights = {token: math.log(1 + many / count) for token, count in found.items()}
        labelled = [token for entry in self.entries for token in entry.needed]
        self._shared = frozenset(t for t in labelled if labelled.count(t) > 1)
        """What several labels have, so that it need not be said."""
        self.label_words = frozenset(w for option in options for w in words(option.label))
        self.label_stems = frozenset(map(stem, self.label_words))
        self.joins = frozenset(join for option in options for join in _joins(option.label))
        """Words of labels with what stands between them: `release`, `/`, `1`."""
        own = (w for option in options for w in words(option.description))
        self._long = sorted({w for w in own if len(w) >= 6} - self.label_words)
        self._all = self.label_words.union(*(words(option.description) for option in options))
        self._labels = sorted(w for w in self.label_words if len(w) >= 4)
        labels = [words(option.label) for option in options]
        self.openings = frozenset(stem(label[0]) for label in labels if len(label) > 1)
        self.things = frozenset(
            stem(two)
            for label in labels
            for one, two in itertools.pairwise(label)
            if one in _DETERMINERS - _ONE
        )
        """What is there already in labels, and so never a deed: `the flag`, unlike `a hotfix`."""
        self.deeds = frozenset(entry.deed for entry in self.entries if entry.deed)
        self._fused = {
            one + two: stem(two)
            for option in options
            for one, two in itertools.pairwise(words(f"{option.label} {option.description}"))
        }
        self._codes = {e.code.rpartition("/")[2].casefold(): e.code for e in self.entries}

    def phrase(self, said: tuple[str, ...]) -> Fit | None:
        """The options with these very words in their label, or else in their description."""
        told = [word for word in said if self.telling(word)]
        tokens = joined(signed(said))
        if not told:
            return self.described(said)
        codes = tuple(e.code for e in self.entries if within(tokens, e.label))
        if not codes and self._placing(told):
            return None
        if codes:
            return self._sound(Fit(self.closest(codes, said), label=True), {*tokens})
        codes = tuple(e.code for e in self.entries if within(tokens, e.description))
        if len(tokens) == 1 and any(tokens[0] in e.in_label for e in self.entries):
            return None
        return Fit(codes, label=False) if codes and (len(tokens) > 2 or self._tells(told)) else None

    def described(self, said: tuple[str, ...]) -> Fit | None:
        """The options with these words in their description, where they are all of one."""
        tokens = joined(signed(said))
        having = [e for e in self.entries if len(tokens) > 1 and within(tokens, e.description)]
        whole = any(e.description == tokens for e in having)
        return Fit(tuple(e.code for e in having), label=False) if whole else None

    def labelled(self, said: tuple[str, ...]) -> tuple[str, ...]:
        """The options with these very words in their label, be it as what they would undo."""
        tokens = joined(signed(said))
        told = any(self.telling(word) for word in said)
        return tuple(e.code for e in self.entries if told and within(tokens, e.label))

    def verbatim(self, said: tuple[str, ...]) -> tuple[str, ...]:
        """The options that have these words in their label or description, whatever the words."""
        tokens = joined(signed(said))
        texts = ((e.code, e.label, e.description) for e in self.entries)
        return tuple(c for c, *lines in texts if any(within(tokens, line) for line in lines))

    def denies(self, said: tuple[str, ...]) -> bool:
        """Whether an option itself says "not" to a word that is said "not" to."""
        return any(token.startswith("!") and token in self.weights for token in signed(said))

    def elsewhen(self, code: str, said: tuple[str, ...]) -> bool:
        """Whether "now" or "today" is said of an option that has another time, or says more."""
        tokens = {*signed(said)}
        entry = next(e for e in self.entries if e.code == code)
        if not entry.plain.isdisjoint(("now", "today")) or stem("today") in entry.description:
            return False
        unsaid = entry.needed - tokens
        return bool(unsaid if "today" in said else unsaid & TIMES)

    def wholly(self, code: str, said: tuple[str, ...]) -> bool:
        """Whether nothing is in an option's label but these words."""
        tokens = {*signed(said)}
        tokens |= {token[1:] for token in tokens if token.startswith("!")}
        return any(e.code == code and e.needed - _REFUSING <= tokens for e in self.entries)

    def affirming(self, said: tuple[str, ...]) -> set[str]:
        """The options that would do what is said "not" to."""
        denied = {token[1:] for token in signed(said) if token.startswith("!")}
        lines = ((e.code, {*e.label, *e.description}) for e in self.entries)
        return {code for code, tokens in lines if not denied.isdisjoint(tokens)}

    def telling(self, word: str) -> bool:
        """Whether a word can say which option is meant."""
        if word in phrases.NEGATORS or word in phrases.FUNCTION:
            return False
        return word not in phrases.NEUTRAL or stem(word) in self.label_stems

    def bag(self, said: tuple[str, ...], also: frozenset[str] = frozenset()) -> Fit | None:
        """The options that account for every telling word, the better ones only.

        `also` are words of the question itself: they pass where a whole label is said.
        """
        told = self._told(said)
        if self._placing([word for _, word in told]) or self._twice([token for token, _ in told]):
            return None
        brief = len(said) < 4
        meant = [self._meanings(token, word, brief=brief) for token, word in told]
        weak = all(word in phrases.NEUTRAL for _, word in told)
        best = self._best(meant, {stem(word) for word in also}, weak=weak)
        if best is None:
            return None if weak else self.alike(said)
        carried = best.label or self._tells([word for _, word in told])
        if not carried or self._compares(said) or not self._countsalike(best, said):
            return None
        best = best._replace(codes=self.closest(best.codes, said))
        return self._sound(best, set().union(*meant))

    def closest(self, codes: tuple[str, ...], said: tuple[str, ...]) -> tuple[str, ...]:
        """Of several, those with most of the small words, and then with most words as they are.

        `all` tells in `merge them all`, and `searchable` is nearer to itself than to `search`.
        """
        small = {word for word in said if word not in phrases.FUNCTION and word in phrases.NEUTRAL}
        roots = {root(word) for word in said if len(word) - len(stem(word)) > 2}
        shared = {
            e.code: (len(small & e.plain), len(roots & e.roots))
            for e in self.entries
            if e.code in codes
        }
        most = max(shared.values(), default=(0, 0))
        return tuple(code for code in codes if shared.get(code, most) == most)

    def _compares(self, said: tuple[str, ...]) -> bool:
        """`something shorter` wants a change; `the shorter one` is an option that is short."""
        if "the" in said:
            return False
        return any(
            word.endswith("er") and word not in self._all and {word[:-2], word[:-1]} & self._all
            for word in said
        )

    def _tells(self, told: list[str]) -> bool:
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
        told = [word for word in said if self.telling(word)]
        if (
            len(told) != 1
            or not phrases.NEGATORS.isdisjoint(said)
            or stem(told[0]) not in self.weights
        ):
            return False
        at = said.index(told[0])
        behind = said[at + 1 :]
        if not behind or behind[0] not in _OBJECTS or "away" in behind or len(behind) > 3:
            return False
        return not self.verbatim(said[at : at + 2])

    def _placing(self, told: list[str]) -> bool:
        """Whether nothing was said but numbers that options have as their place."""
        return all(0 < (cardinal(word) or 0) <= len(self.entries) for word in told)

    def _twice(self, tokens: list[str]) -> bool:
        """Whether one word of a label is said twice, of two things: `revert the revert`."""
        return any(tokens.count(token) > 1 and token in self.label_stems for token in tokens)

    def _countsalike(self, fit: Fit, said: tuple[str, ...]) -> bool:
        """Whether a number in a reply counts what it counts in an option: `two days`, not weeks."""
        pairs = [
            ("1" if pair[0] in _ONE else stem(pair[0]), stem(pair[1]))
            for pair in itertools.pairwise(said)
            if (pair[0] in _ONE or cardinal(pair[0]) is not None) and self.telling(pair[1])
        ]
        lines = [
            line
            for entry in self.entries
            if entry.code in fit.codes
            for line in (entry.label, entry.description)
        ]
        return all(
            (all if number == "1" else any)(_counts(number, noun, line) for line in lines)
            for number, noun in pairs
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
        if stem(said[0]) in self.deeds or not _DETERMINERS.isdisjoint(said[1:]):
            return ()
        for token, word in self._told(said):
            if word in self._codes:
                codes.append(self._codes[word])
                continue
            meant = self._meanings(token, word)
            hits = [e for e in self.entries if not meant.isdisjoint(e.in_label)]
            if len(hits) != 1 or not (meant & {*hits[0].label[:1]} or len(hits[0].needed) == 1):
                return ()
            codes.append(hits[0].code)
        return tuple(dict.fromkeys(codes))

    def mentioned(self, said: tuple[str, ...]) -> set[str]:
        """The options that have a telling word of these in their label."""
        tokens = {token for token, _ in self._told(said)}
        return {e.code for e in self.entries if not tokens.isdisjoint(e.in_label)}

    def _told(self, said: tuple[str, ...]) -> list[tuple[str, str]]:
        pairs = [*zip(signed(said), said, strict=True), ("", "")]
        return [
            (token, word)
            for (token, word), (after, _) in itertools.pairwise(pairs)
            if self.telling(word) and not (word in _EACH and after in TIMES)
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
        self, entry: Entry, meant: list[frozenset[str]], also: set[str], *, whole: bool
    ) -> float | None:
        """How much is said for an option; None when a word is not its own.

        With words that say little, or that are the question's, its `whole` label must be said.
        """
        score, hits, described = 0.0, set[str](), set[str]()
        for alternatives in meant:
            in_label = alternatives & entry.in_label
            if in_label:
                hits |= in_label
                score += max(self.weights[token] for token in in_label) * _LABEL
            elif in_description := alternatives & entry.in_description:
                score += max(self.weights[token] for token in in_description) * _DESCRIPTION
                described |= in_description
            elif alternatives & also:
                whole = True
            else:
                return None
        partly = described and described < entry.in_description
        if partly and entry.deed and hits == {entry.deed} != entry.needed:
            return None
        needed = entry.needed
        if hits - {*entry.label[:1]}:
            needed = needed - self._shared or needed
        pair = (
            described - phrases.MODIFIERS and len(meant) == _PAIR and not meant[1].isdisjoint(also)
        )
        if not score or (whole and not pair and not (needed and needed <= hits)):
            return None
        return score

    def alike(self, said: tuple[str, ...]) -> Fit | None:
        """The options whose label means much the same as every telling word."""
        told = [word for word in phrasal(said) if self.telling(word)]
        if not told or any(token.startswith("!") for token in signed(said)):
            return None
        nouns = {word for before, word in itertools.pairwise(said) if before in _DETERMINERS}
        spoken = 2 if any(word in said for word in ("it", "this", "that", "them")) else 0
        fitting = [
            entry.code
            for entry in self.entries
            if all(
                stem(word) in entry.in_label
                or (word not in nouns and GROUPS.get(root(word), set()) & entry.groups)
                for word in told
            )
            and len(entry.needed) <= len(told) + spoken
        ]
        return Fit(tuple(fitting), False) if fitting else None


@lru_cache(maxsize=128)
def lexicon(options: tuple[Choice, ...]) -> Lexicon:
    """The words of these options; the last few are kept."""
    return Lexicon(options)


def _joins(label: str) -> Iterator[tuple[str, str, str]]:
    for (one, _, end), (two, start, _) in itertools.pairwise(spans(label)):
        between = label[end:start].strip()
        if between:
            yield one, between, two


def _counts(number: str, noun: str, line: tuple[str, ...]) -> bool:
    """Whether a number stands before a noun in a line, or counts nothing else there."""
    if number == "1":
        counted = [line[at - 1] for at, token in enumerate(line) if token == noun and at]
        others = [c for c in counted if c in _WHOLE or (c.isdigit() and c != number)]
        return not counted or len(others) < len(counted)
    for at, token in enumerate(line):
        if token == number:
            behind = line[at + 1 : at + 4]
            if noun in behind or not behind or behind[0] in EMPTY:
                return True
    return False


_PIECES = re.compile(r"[.,;:!?]+(?=\s|$)|[()\[\]—–]|\s-\s")
_REACH = 3
"""How many telling words a "not" reaches."""
EMPTY = phrases.NEGATORS | frozenset(map(stem, phrases.FUNCTION | phrases.STATING))
_ARTICLES = frozenset(("the", "a", "an"))
_PARTICLES = frozenset(("up", "down", "out", "off", "back", "over", "until", "till", "all"))
GROUPS: dict[str, set[int]] = {}
for _number, _group in enumerate(phrases.ALIKE):
    for _word in _group:
        GROUPS.setdefault(root(_word), set()).add(_number)
"""The lists of `ALIKE` that a word stands in."""


class Entry(NamedTuple):
    """An option's words, cut to their stems."""

    code: str
    label: tuple[str, ...]
    description: tuple[str, ...]
    needed: frozenset[str]
    """The words of the label that tell it from others."""
    in_label: frozenset[str]
    in_description: frozenset[str]
    groups: frozenset[int]
    plain: frozenset[str]
    """The words of the label as they stand."""
    roots: frozenset[str]
    """The words of label and description but for their inflection."""
    deed: str
    """The verb that the label opens with, where it is one."""
    undoing: str
    """The verb that the label opens with, where its object alone would not say so."""


def signed(said: Iterable[str]) -> list[str]:
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


def entry_of(option: Choice) -> Entry:
    """What there is to hold a reply against."""
    label, description = _tokens(option.label), _tokens(option.description)
    in_label = set(label) - EMPTY
    needed = frozenset(in_label)
    in_description = set(description) - EMPTY
    first = words(option.label)[:1]
    if first and first[0] in phrases.REFUSALS:
        in_label |= {"!" + token for token in in_label if token != stem(first[0])}
    code = option.code.rpartition("/")[2].casefold()
    if (
        len(code) > 1
        and code not in phrases.NEUTRAL | phrases.FUNCTION | phrases.NEGATORS
        and not code.isdigit()
    ):
        in_label.add(code)
    groups = frozenset(
        number
        for word in (*phrasal(words(option.label)), code)
        for number in GROUPS.get(root(word), ())
    )
    undoing = first[0] if len(label) > 1 and first[0] in phrases.UNDOINGS else ""
    return Entry(
        option.code,
        label,
        description,
        needed,
        frozenset(in_label),
        frozenset(in_description),
        groups,
        frozenset(words(option.label)),
        frozenset(map(root, words(f"{option.label} {option.description}"))),
        _deed(option),
        stem(undoing),
    )


def _deed(option: Choice) -> str:
    """The verb that a label opens with: `Break it up`, `Wait until Monday`, not `Break room`."""
    first, *rest = words(option.label) or ("",)
    return stem(first) if rest and rest[0] in phrases.FUNCTION | _PARTICLES else ""


def _tokens(text: str) -> tuple[str, ...]:
    pieces = _PIECES.split(text)
    return joined([token for piece in pieces for token in signed(words(piece))])


def joined(tokens: list[str]) -> tuple[str, ...]:
    """The tokens without articles."""
    return tuple(token for token in tokens if token not in _ARTICLES)


def phrasal(said: tuple[str, ...]) -> list[str]:
    """The words with verbs such as "turn down" put into one."""
    found: list[str] = []
    for at, word in enumerate(said):
        apart = 2 if at > 1 and said[at - 1] in {"it", "this", "that", "them"} else 1
        if at >= apart and (joined := phrases.PHRASAL.get((said[at - apart], word))):
            found[-apart] = joined
        else:
            found.append(word)
    return found


def within(tokens: tuple[str, ...], line: tuple[str, ...]) -> bool:
    """Whether the tokens stand in a line in that order, side by side."""
    if not tokens or tokens[0] not in line:
        return False
    long = len(tokens)
    return any(line[at : at + long] == tokens for at in range(len(line) - long + 1))
