"""A decision tree: what may be chosen, level by level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import msgspec
from msgspec.structs import replace

OTHER = "OTH"
STAND_INS = ("OTHR", "MORE")
_MORE_LABELS = frozenset({"", "other", "others", "more", "more options", "something else"})


class Content(msgspec.Struct, frozen=True, eq=False):
    """A part of a document, equal by what it says, wherever it stands in a file."""

    said: ClassVar[tuple[str, ...]] = ()  # what says something, in the order of digests

    @property
    def content(self) -> tuple[object, ...]:
        return tuple([getattr(self, name) for name in self.said])

    def __eq__(self, other: object) -> bool:
        return self.content == other.content if type(other) is type(self) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(getattr(self, self.said[0]))

    @property
    def digest(self) -> str:
        """A fingerprint of what it says, whatever file or line it stands in."""
        import hashlib  # noqa: PLC0415 - OpenSSL is slow to load and rarely needed

        return hashlib.sha256(msgspec.json.encode(_unplaced(self), order="sorted")).hexdigest()


class Option(Content, frozen=True, gc=False, eq=False):
    """One thing that can be chosen; with `options` of its own it is a branch."""

    said = ("code", "label", "description", "multi", "derived", "options")

    code: str
    label: str = ""
    description: str = ""
    multi: bool = False
    options: tuple[Option, ...] = ()
    line: int = 0
    column: int = 0
    derived: bool = False  # the author wrote no code; this one was made from the label


class Decision(Content, frozen=True, gc=False, eq=False):
    """A root question and the options that answer it."""

    said = ("name", "question", "options")

    name: str
    options: tuple[Option, ...] = ()
    question: str = ""
    line: int = 0
    column: int = 1

    @property
    def multi(self) -> bool:
        return is_multi(self.options)

    def walk(self) -> Iterator[tuple[tuple[str, ...], Option]]:
        """Every option with its path of codes, parents first, in the order written."""
        return walk(self.options)

    def find(self, path: str) -> Option | None:
        """The option at a path such as `NO/RWK`."""
        return find(self.options, path)

    @property
    def depth(self) -> int:
        return max((len(path) for path, _ in self.walk()), default=0)

    @property
    def count(self) -> int:
        """How many options there are in all, OTH included."""
        return sum(1 for _ in self.walk())


class Extra(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An alternative offered beside the tree under a letter."""

    letter: str
    text: str
    shows: bool = False  # it only wants to see something first, so that the question stays open

    @property
    def shown(self) -> str:
        """`A: Merge both` decides, `A? Show the SQL` does not."""
        return f"{self.letter}{'?' if self.shows else ':'} {self.text}"


class Tree(Content, frozen=True, gc=False, eq=False):
    """One or more decisions that are asked together about each item."""

    said = (
        *("name", "title", "trigger", "extras", "kind", "question", "keywords", "extends", "bare"),
        "decisions",
    )

    name: str
    decisions: tuple[Decision, ...] = ()
    title: str = ""
    trigger: str = ""
    extras: tuple[Extra, ...] = ()
    kind: str = ""
    question: str = ""
    keywords: tuple[str, ...] = ()
    extends: str = ""
    require: Literal["", "person"] = ""  # whether only a person themselves may answer
    shape: Literal["", "free"] = ""
    """How many options a level has: three and Other, or, free, two to four with or without it."""
    bare: bool = False  # declared by a `## Decision:` heading alone, with no ¶ASK heading
    fenced: bool = False  # stands in a code fence: an example rather than a declaration
    line: int = 0
    column: int = 1

    @property
    def content(self) -> tuple[object, ...]:
        """The values that say something; what few trees say changes no digest of the others."""
        rare = (self.require, self.shape) if self.shape else (self.require,)
        return (*super().content, *rare) if any(rare) else super().content

    def decision(self, name: str) -> Decision | None:
        return next((d for d in self.decisions if d.name == name), None)


def walk(options: tuple[Option, ...]) -> Iterator[tuple[tuple[str, ...], Option]]:
    """Every option below, with its path of codes, parents first."""
    waiting: list[tuple[tuple[str, ...], Option]] = [((o.code,), o) for o in reversed(options)]
    while waiting:
        path, option = waiting.pop()
        yield path, option
        if option.options:
            waiting += [((*path, child.code), child) for child in reversed(option.options)]


def find(options: tuple[Option, ...], path: str) -> Option | None:
    """The option that a path of codes such as `NO/RWK` leads to."""
    way = trace(options, path)
    return way[-1] if way else None


def trace(options: tuple[Option, ...], path: str) -> tuple[Option, ...]:
    """The options along a path of codes, also with a slash in one; none where it leads nowhere."""
    waiting: list[tuple[tuple[Option, ...], str, tuple[Option, ...]]] = [(options, path, ())]
    while waiting:
        level, rest, way = waiting.pop()
        for option in level:
            if option.code == rest:
                return (*way, option)
        onward = [option for option in reversed(level) if rest.startswith(f"{option.code}/")]
        waiting += [(o.options, rest[len(o.code) + 1 :], (*way, o)) for o in onward]
    return ()


def is_multi(options: tuple[Option, ...]) -> bool:
    """A level is multi-select when any of its options has the `[ ]` flag."""
    return any(option.multi for option in options)


def other_of(options: tuple[Option, ...]) -> Option | None:
    """The option that stands for the host's own "Other": `[OTH]`, or what a dialect puts there."""
    for code in (OTHER, *STAND_INS):
        for option in options:
            if option.code == code:
                label = option.label.rstrip(".… ").casefold()
                if code != "MORE" or label in _MORE_LABELS:
                    return option
    return None


def named_of(options: tuple[Option, ...]) -> tuple[Option, ...]:
    other = other_of(options)
    return tuple(option for option in options if option is not other)


def extend(tree: Tree, base: Tree) -> Tree:
    """A tree with another's options under bare codes, in its own order; the others are left out.
    A bare code stands for what is at the same path, in the decision of that name if there is one.
    """
    walked = [(d.name, path, option) for d in base.decisions for path, option in d.walk()]
    known: dict[tuple[object, ...], Option] = {}
    for name, path, option in sorted(walked, key=lambda one: len(one[1])):
        for place in _places(name, path):
            known.setdefault(place, option)
    decisions = tuple(
        replace(d, options=tuple(_inherit(o, d.name, (o.code,), known) for o in d.options))
        for d in tree.decisions
    )
    names = ("trigger", "extras", "kind", "question", "keywords", "require", "shape")
    values = {name: getattr(tree, name) or getattr(base, name) for name in names}
    return replace(tree, decisions=decisions or base.decisions, **values)


def _places(name: str, path: tuple[str, ...]) -> tuple[tuple[object, ...], ...]:
    return (name, path), (name, path[-1:]), path, path[-1:]


def _inherit(
    option: Option, name: str, path: tuple[str, ...], known: dict[tuple[object, ...], Option]
) -> Option:
    own = tuple(_inherit(child, name, (*path, child.code), known) for child in option.options)
    source = next((known[place] for place in _places(name, path) if place in known), None)
    if option.label or source is None:
        return replace(option, options=own)
    said = {
        part: getattr(option, part) or getattr(source, part) for part in ("description", "multi")
    }
    return replace(option, label=source.label, options=own or source.options, **said)


def _unplaced(part: object) -> object:
    """The content as lists and strings."""
    if isinstance(part, Content):
        return [_unplaced(value) for value in part.content]
    if isinstance(part, msgspec.Struct):
        return list(msgspec.to_builtins(part).values())
    return list(map(_unplaced, part)) if isinstance(part, tuple) else part
