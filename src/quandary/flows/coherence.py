"""Whether candidates that were included go together: what each needs, and what it rules out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quandary.model.candidates import Bucket, Candidate


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
