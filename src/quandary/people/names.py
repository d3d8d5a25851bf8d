"""Options named outright: by code, by label, by the beginning of a label, or with a typo."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from quandary.model.ask import MORE
from quandary.people.words import ARTICLES, fold, trim, words

if TYPE_CHECKING:
    from quandary.model.ask import Choice

_AROUND = 300
"""How much punctuation may stand around a name."""


class _Name:
    """What one option is called; its words are cut only where they are needed."""

    def __init__(self, choice: Choice) -> None:
        self.code = choice.code
        self.label = choice.label
        self.exact = _exact(choice.label)
        self.folded = fold(_bare(choice.label))

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words(self.label)

    @cached_property
    def squashed(self) -> str:
        return "".join(self.words)


class Names:
    """The names that the options of one question go by."""

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        self.choices = choices
        self.longest = _AROUND + max((len(c.code) + len(c.label) for c in choices), default=0)
        self.codes: dict[str, list[str]] = {}
        for choice in choices:
            if choice.code != MORE:
                self.codes.setdefault(choice.code.casefold(), []).append(choice.code)
        for choice in choices:
            last = choice.code.rpartition("/")[2].casefold()
            if last != choice.code.casefold() and choice.code != MORE:
                self.codes.setdefault(last, []).append(choice.code)

    @cached_property
    def names(self) -> tuple[_Name, ...]:
        """What each option is called."""
        return tuple(map(_Name, self.choices))

    @cached_property
    def labels(self) -> list[tuple[str, str]]:
        """The labels with their codes, the longest first."""
        named = ((name.folded, name.code) for name in self.names if name.folded)
        return sorted(named, key=lambda pair: -len(pair[0]))

    def code(self, text: str) -> tuple[str, ...]:
        """The options with that code, in any case."""
        if len(text) > self.longest:
            return ()
        whole = text.strip().casefold()
        found = self.codes.get(whole) or self.codes.get(_bare(text).casefold()) or ()
        return tuple(dict.fromkeys(found))

    def label(self, text: str) -> tuple[str, ...]:
        """The options with that label, ignoring case, outer punctuation and dots at the end."""
        if len(text) > self.longest:
            return ()
        exact, folded = _exact(text), fold(_bare(text))
        found = tuple(name.code for name in self.names if exact and name.exact == exact)
        found = found or tuple(n.code for n in self.names if folded and n.folded == folded)
        return found or self.worded(words(text))

    def worded(self, said: tuple[str, ...]) -> tuple[str, ...]:
        """The options whose label has just these words, however they are joined."""
        squashed = "".join(said)
        return tuple(n.code for n in self.names if squashed and n.squashed == squashed)

    def beginning(self, said: tuple[str, ...]) -> tuple[str, ...]:
        """The options whose label begins with these whole words, two of them perhaps as one."""
        if not said or ARTICLES.issuperset(said):
            return ()
        long = len(said)
        return tuple(
            n.code
            for n in self.names
            if (len(n.words) > long and n.words[:long] == said)
            or (long == 1 and len(n.words) > 2 and n.words[0] + n.words[1] == said[0])
        )

    def mistyped(self, text: str, *, wordwise: bool = False) -> tuple[str, ...]:
        """The options whose whole label was meant, with a slip or two: the nearest only.

        Read word by word, two slips are not one word for another: `hate links`, `Share links`.
        """
        from quandary.people.forms import slips  # noqa: PLC0415 - exact answers need none of it

        folded = fold(_bare(text[: self.longest]))
        typed = words(folded)
        near: dict[str, int] = {}
        for name in self.names:
            distance = slips(folded, name.folded) if folded else None
            if distance is None or name.code == MORE:
                continue
            apart = wordwise and distance > 1 and len(typed) == len(name.words)
            if apart and not all(map(_near, typed, name.words)):
                continue
            near[name.code] = distance
        least = min(near.values(), default=0)
        return tuple(code for code, distance in near.items() if distance == least)

    def joined(self, text: str) -> tuple[str, ...]:
        """Several whole labels or codes joined by commas or "and", the longest label first."""
        rest = fold(text).strip() if len(text) < self.longest * (len(self.names) + 1) else ""
        found: list[str] = []
        while rest:
            head = self._first(rest)
            if head is None:
                return ()
            code, rest = head
            found.append(code)
        return tuple(dict.fromkeys(found)) if len(found) > 1 else ()

    def _first(self, text: str) -> tuple[str, str] | None:
        codes = ((fold(code), found[0]) for code, found in self.codes.items() if len(found) == 1)
        for name, code in (*self.labels, *codes):
            if text.startswith(name):
                rest = _past_joint(text[len(name) :])
                if rest is not None:
                    return code, rest
        return None


def _past_joint(rest: str) -> str | None:
    """What follows the comma or "and"; "" at the end; None when something else stands there."""
    bare = rest.lstrip(" .…!\"”»'")
    if not bare:
        return ""
    if bare[0] not in ",;&+\n" and not rest.startswith((" and ", " plus ")):
        return None
    while bare.startswith((",", ";", "&", "+", "\n", "and ", "plus ")):
        cut = 4 if bare.startswith("and ") else 5 if bare.startswith("plus ") else 1
        bare = bare[cut:].lstrip(" \"“«'")
    return bare


def _near(typed: str, meant: str) -> bool:
    """Whether a word is typed with a slip, or with two if it is long."""
    from quandary.people.forms import slips  # noqa: PLC0415 - as above

    return slips(typed, meant, least=2 if len(meant) > 5 else 1) is not None


def _exact(label: str) -> str:
    return label.strip().casefold()


def _bare(label: str) -> str:
    return trim(label) or label.strip()


@lru_cache(maxsize=128)
def names(choices: tuple[Choice, ...]) -> Names:
    """The names of these choices; the last few are kept."""
    return Names(choices)
