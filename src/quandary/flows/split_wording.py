"""The words of a split: what its questions say, and which options do not go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from quandary.flows import wording
from quandary.model.asks import Choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from quandary.model.candidates import Bucket, Candidate

MOST_NAMED = 12
"""So many names in a row are read; of more, the question says how many and the preamble which."""
IN_KIND = "The choices differ in kind, so none of them has a score."
VERBS: dict[Bucket, str] = {"include": "Include", "defer": "Defer", "cut": "Cut"}
PAST: dict[Bucket, str] = {"include": "included", "defer": "deferred", "cut": "cut"}
CODES: dict[Bucket, str] = {"include": "INC", "defer": "DEF", "cut": "CUT"}
HOLD = "HLD"
_DESCRIPTIONS: dict[Bucket, str] = {
    "include": "It is part of what is done now",
    "defer": "Not now; it is kept for later",
    "cut": "It is dropped for good",
}


class Breach(NamedTuple):
    """Something that makes a set incoherent."""

    kind: Literal["requires", "conflicts"]
    option: str
    """The one that needs the other; of two that conflict, the one that stands first."""
    other: str


class Links:
    """The ties between candidates, seen from both ends, in the order of the list."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        order = {candidate.key: at for at, candidate in enumerate(candidates)}
        self.needs = {c.key: tuple(dict.fromkeys(c.requires)) for c in candidates}
        self.needed_by: dict[str, list[str]] = {key: [] for key in order}
        odds: dict[str, set[str]] = {key: set() for key in order}
        for candidate in candidates:
            for key in self.needs[candidate.key]:
                self.needed_by[key].append(candidate.key)
            for key in candidate.conflicts:
                odds[candidate.key].add(key)
                odds[key].add(candidate.key)
        self.at_odds = {key: sorted(others, key=order.__getitem__) for key, others in odds.items()}
        self._order = order

    def any(self) -> bool:
        """Whether there is any tie at all."""
        return any(map(len, (*self.needs.values(), *self.at_odds.values())))

    def breaches(self, buckets: Mapping[str, Bucket]) -> list[Breach]:
        """What is wrong with a set: an included option without one that it needs, which was cut or
        deferred, or two included ones that conflict.
        """
        included = [key for key in self._order if buckets.get(key) == "include"]
        found = [
            Breach("requires", key, needed)
            for key in included
            for needed in self.needs[key]
            if buckets.get(needed) != "include"
        ]
        found += [
            Breach("conflicts", key, other)
            for key in included
            for other in self.at_odds[key]
            if buckets.get(other) == "include" and self._order[key] < self._order[other]
        ]
        return found


class Words:
    """Speaks of the candidates of one split."""

    def __init__(
        self, candidates: Sequence[Candidate], links: Links, buckets: Mapping[str, Bucket]
    ) -> None:
        self._candidates = {candidate.key: candidate for candidate in candidates}
        self._links = links
        self._buckets = buckets
        """What has been decided; it fills up while the split goes on."""

    def name(self, key: str) -> str:
        """Key and title."""
        return self._candidates[key].name

    def names(self, keys: Sequence[str]) -> str:
        """Keys and titles in a row; behind the first few, how many more there are."""
        more = f" and {len(keys) - MOST_NAMED} more" if len(keys) > MOST_NAMED else ""
        return ", ".join(map(self.name, keys[:MOST_NAMED])) + more

    def listing(self, heading: str, keys: Sequence[str]) -> tuple[str, ...]:
        """A block with every name, where a sentence has room for some of them only."""
        if len(keys) <= MOST_NAMED:
            return ()
        return ("\n".join([f"**{heading}**", "", *(f"- {self.name(key)}" for key in keys)]),)

    # -- an option by itself -------------------------------------------------------------------

    def about(self, key: str) -> str:
        """Scope, cost, ties on both ends, and the recommendation, in a few sentences."""
        candidate = self._candidates[key]
        cost = f"Cost: {candidate.cost}" if candidate.cost.strip() else ""
        advice = " ".join(candidate.because.split())
        if candidate.recommend is not None:
            reason = f". Reason: {advice}" if advice else ""
            advice = f"Recommended: {VERBS[candidate.recommend]}{reason}"
        parts = (wording.summary(candidate.scope), cost, *self._ties(key), advice)
        return " ".join(filter(None, map(_sentence, parts)))

    def single(self, key: str) -> str:
        """All that is said of an option before it is decided."""
        return " ".join(filter(None, (_sentence(self.name(key)), self.about(key), IN_KIND)))

    def block(self, key: str) -> tuple[str, ...]:
        """What the question had to leave out: a long scope, or many ties."""
        candidate = self._candidates[key]
        parts = []
        scope = candidate.scope.strip()
        if wording.summary(scope) != " ".join(scope.split()):
            parts.append(f"**{candidate.name}** — {scope}")
        for keys, heading in (
            (self._links.needs[key], f"{candidate.key} needs"),
            (self._links.needed_by[key], f"{candidate.key} is needed by"),
            (self._links.at_odds[key], f"{candidate.key} conflicts with"),
        ):
            parts += self.listing(heading, keys)
        return tuple(parts)

    def buckets(self, key: str) -> tuple[Choice, ...]:
        """Include, Defer, Cut, Hold."""
        recommend = self._candidates[key].recommend
        choices = [
            Choice(CODES[bucket], verb, _DESCRIPTIONS[bucket], recommended=bucket == recommend)
            for bucket, verb in VERBS.items()
        ]
        hold = Choice(HOLD, "Hold", "Talk about it first; nothing else is asked until then")
        return (*choices, hold)

    def choice(self, key: str, *, recommended: bool = False) -> Choice:
        """An option among others."""
        candidate = self._candidates[key]
        title = " ".join(candidate.title.split())
        said = " ".join(filter(None, (f"{key}." if title != key else "", self.about(key))))
        return Choice(key, title, said, recommended=recommended)

    def brief(self, key: str) -> Choice:
        """An option among others when it is only to be named."""
        bucket = self._buckets.get(key)
        said = PAST[bucket] if bucket else "not decided yet"
        return Choice(key, " ".join(self._candidates[key].title.split()), f"{key}, {said}")

    def _ties(self, key: str) -> Iterable[str]:
        needs, needed_by = self._links.needs[key], self._links.needed_by[key]
        at_odds = self._links.at_odds[key]
        if needs:
            yield f"It needs {self._standing(needs)}"
        if needed_by:
            left, they = self._standing(needed_by), "it" if len(needed_by) == 1 else "each"
            yield f"Cutting or deferring it leaves {left} without what {they} needs"
        if at_odds:
            yield f"It conflicts with {self._standing(at_odds)}"

    def _standing(self, keys: Sequence[str]) -> str:
        """Names, with what has become of each so far."""
        past = {key: f" ({PAST[self._buckets[key]]})" for key in keys if key in self._buckets}
        listed = [f"{self.name(key)}{past.get(key, '')}" for key in keys[:MOST_NAMED]]
        if len(keys) > MOST_NAMED:
            listed.append(f"{len(keys) - MOST_NAMED} more")
        return " and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))

    # -- all of them ---------------------------------------------------------------------------

    def context(self, alternatives: bool) -> str:
        """What is decided, where the caller did not say it."""
        keys = list(self._candidates)
        if len(keys) == 1:
            return f"There is one option to decide: {self.name(keys[0])}."
        how = "of which you choose one" if alternatives else "each decided by itself"
        return f"There are {len(keys)} options, {how}: {self.names(keys)}."

    def assembled(self) -> str:
        """What is in each bucket."""
        said = {verb: self.names(self.within(bucket)) for bucket, verb in VERBS.items()}
        return " ".join(f"{verb}: {names or 'nothing'}." for verb, names in said.items())

    def assembled_blocks(self) -> tuple[str, ...]:
        """The same in full, where the sentence has room for some names only."""
        return tuple(
            block for b, verb in VERBS.items() for block in self.listing(verb, self.within(b))
        )

    def within(self, bucket: Bucket) -> list[str]:
        """The keys in a bucket, in the order of the list."""
        return [key for key in self._candidates if self._buckets.get(key) == bucket]

    def breach(self, breach: Breach) -> str:
        """What is wrong, in a sentence."""
        one, other = self.name(breach.option), self.name(breach.other)
        if breach.kind == "conflicts":
            return f"{one} and {other} are both included and conflict with each other."
        bucket = self._buckets.get(breach.other, "cut")
        return f"{one} is included and needs {other}, which is {PAST[bucket]}."


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if not line or line.endswith((".", "!", "?", "…", "。")) else f"{line}."
