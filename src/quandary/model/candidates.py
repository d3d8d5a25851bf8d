"""Candidates: things that each may be included, deferred or cut, and how they hang together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal, get_args

import msgspec

from quandary.model.asks import MORE

Bucket = Literal["include", "defer", "cut"]
BUCKETS: tuple[Bucket, ...] = get_args(Bucket)


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the options that somebody has to decide about."""

    key: str
    title: str
    scope: str = ""
    """What it takes in."""
    cost: str = ""
    requires: tuple[str, ...] = ()
    """The keys of those that it cannot do without."""
    conflicts: tuple[str, ...] = ()
    """The keys of those that it cannot go together with; one side naming the other is enough."""
    recommend: Bucket | None = None
    because: str = ""

    @property
    def name(self) -> str:
        """Key and title, for use in a sentence."""
        title = " ".join(self.title.split())
        return title if title == self.key else f"{self.key} “{title}”"


def problem(candidates: Sequence[Candidate]) -> str:
    """Why a list cannot be decided about, naming the entry; nothing where it can."""
    if not candidates:
        return "there are no options in it; give at least one"
    for number, text in chain(_unnamed(candidates), _twice(candidates), _astray(candidates)):
        key = " ".join(candidates[number - 1].key.split())
        return f"entry {number} ({key}): {text}" if key else f"entry {number}: {text}"
    circle = _circle({c.key: c.requires for c in candidates})
    if circle:
        number = [c.key for c in candidates].index(circle[0]) + 1
        way = " requires ".join([*circle, circle[0]])
        return f"entry {number} ({circle[0]}): it requires itself in the end ({way})"
    return ""


def _unnamed(candidates: Sequence[Candidate]) -> Iterator[tuple[int, str]]:
    for number, candidate in enumerate(candidates, 1):
        key = candidate.key
        if not key.strip():
            yield number, "its key is missing; give it a short one, such as E1"
        elif key == MORE or key != " ".join(key.split()):
            yield number, "its key cannot be typed; give it a short one on one line, such as E1"
        if not candidate.title.strip():
            yield number, "its title is missing; say in a few words what it is"


def _twice(candidates: Sequence[Candidate]) -> Iterator[tuple[int, str]]:
    """Typed text names keys in any case, so that case alone tells no two of them apart."""
    first: dict[str, int] = {}
    for number, candidate in enumerate(candidates, 1):
        before = first.setdefault(candidate.key.casefold(), number)
        if before != number:
            key = candidates[before - 1].key
            yield number, f"entry {before} has the key {key} too; each needs its own"


def _astray(candidates: Sequence[Candidate]) -> Iterator[tuple[int, str]]:
    known = {c.key for c in candidates}
    for number, candidate in enumerate(candidates, 1):
        for field in ("requires", "conflicts"):
            for key in getattr(candidate, field):
                if key == candidate.key:
                    yield number, f"{field} names the entry itself"
                elif key not in known:
                    yield number, f"{field} names {key!r}, which is not the key of any entry"
        for key in candidate.requires:
            if key in candidate.conflicts:
                yield number, f"it requires {key} and conflicts with it; only one of the two can be"


def _circle(requires: dict[str, tuple[str, ...]]) -> list[str]:
    """Keys of which each requires the next, and the last one the first."""
    done: set[str] = set()
    for start, first in requires.items():
        way: dict[str, Iterator[str]] = {} if start in done else {start: iter(first)}
        while way:
            key = next(reversed(way))
            needed = next(way[key], None)
            if needed is None:
                del way[key]
                done.add(key)
            elif needed in way:
                keys = list(way)
                return keys[keys.index(needed) :]
            elif needed not in done:
                way[needed] = iter(requires[needed])
    return []
