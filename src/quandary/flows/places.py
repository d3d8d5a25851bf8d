"""A level of a tree for one item, and what has been settled about the item so far."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.flows.paging import paged
from quandary.model.ask import Choice, Item, Note
from quandary.model.tree import OTHER, Extra, Option, Tree, find, named_of, other_of, trace, walk

if TYPE_CHECKING:
    from collections.abc import Iterable

_LAST = 1_000_000
"""Own words stand behind every option."""


class Part(NamedTuple):
    """One path that was chosen, and where it stands among the others."""

    order: tuple[int, ...]
    path: str
    label: str


class Place(msgspec.Struct, frozen=True):
    """The options of one level, asked about one item."""

    item: Item
    root: int
    options: tuple[Option, ...]
    path: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    """Where the level stands in the tree, as numbers."""
    page: int = 0
    gathered: tuple[str, ...] = ()
    why: str = ""
    among: tuple[str, ...] = ()
    """Only these are asked about, because the last reply fits them equally."""
    turned: int = 0
    """How many pages of those have been turned."""
    offers: tuple[Extra, ...] = ()
    notes: tuple[Note, ...] = ()
    """What is told together with the question."""
    in_menu: bool = False
    """This is the level behind Other."""

    @property
    def menu(self) -> Option | None:
        """The option that stands for the host's Other, if what is behind it can be opened."""
        return None if self.in_menu else other_of(self.options)

    @property
    def named(self) -> tuple[Option, ...]:
        """The options that are shown."""
        return self.options if self.in_menu else named_of(self.options)

    def page_of(self, room: int) -> tuple[tuple[Choice, ...], tuple[Choice, ...]]:
        """The choices of the page at hand, and those that typed text may name besides."""
        named = [_choice(option) for option in self.named]
        menu = self.menu
        behind = (
            [_choice(option, f"{menu.code}/{option.code}") for option in menu.options]
            if menu is not None
            else []
        )
        if self.among:
            every = [*named, *behind]
            fitting = [choice for choice in every if choice.code in self.among]
            shown = paged(fitting, self.turned, room)
            return tuple(shown), tuple(choice for choice in every if choice not in shown)
        shown = paged(named, self.page, room)
        further = [choice for choice in named if choice not in shown]
        return tuple(shown), (*further, *behind)

    def find(self, code: str) -> Option | None:
        """The option of that code on this level; `OTH/RWK` is one behind Other."""
        return find(self.options, code)

    def resolve(self, typed: str) -> str | None:
        """The path that a typed code or path of codes names, in any case; also behind Other."""
        wanted = typed.strip().strip("/").upper()
        by_case = {"/".join(path).upper(): "/".join(path) for path, _ in walk(self.options)}
        if wanted in by_case:
            return by_case[wanted]
        if self.menu is not None:
            return by_case.get(f"{self.menu.code}/{wanted}".upper())
        return None

    def part(self, code: str) -> Part:
        """What choosing this option records: the same, whichever way it was come by."""
        order: list[int] = []
        level = self.options
        for option in trace(self.options, code):
            order.append(next(at for at, sibling in enumerate(level) if sibling is option))
            level = option.options
        label = _RECOMMENDED.sub("", option.label) or option.code
        return Part((*self.order, *order), "/".join((*self.path, code)), label)

    def words(self, kind: str, text: str) -> Part:
        """What own words, an extra or a forced skip record: they stand behind Other."""
        above = self.path if self.in_menu else (*self.path, self._other_code)
        return Part((_LAST, *self.order), "/".join((*above, f"{kind}:{text}")), text)

    @property
    def _other_code(self) -> str:
        return self.menu.code if self.menu is not None else OTHER

    def in_order(self, codes: Iterable[str]) -> list[str]:
        """Codes as they stand in the tree."""
        codes = tuple(codes)
        if len(codes) < 2:
            return list(codes)
        return sorted(codes, key=lambda code: self.part(code).order if self.find(code) else ())


class Record:
    """What has been settled about one item."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.parts: dict[int, list[Part]] = {}
        self.comments: list[str] = []
        self.tags: list[str] = []
        self.notes: list[str] = []
        self.asides: list[dict[str, str]] = []

    def add(self, root: int, part: Part) -> None:
        """Keep a path, once."""
        parts = self.parts.setdefault(root, [])
        if all(part.path != known.path for known in parts):
            parts.append(part)

    def path(self, root: int) -> str:
        """The chosen paths, joined by commas; own words stand last."""
        return ",".join(part.path for part in self._sorted(root))

    def _sorted(self, root: int) -> list[Part]:
        return sorted(self.parts.get(root, []), key=lambda part: part.order)

    def chosen(self, root: int) -> dict[str, Any]:
        """The entry of the result."""
        entry: dict[str, Any] = {
            "item": self.item.title or self.item.label or self.item.id,
            "path": self.path(root),
            "itemId": self.item.id,
            "labels": [part.label for part in self._sorted(root)],
        }
        if self.comments:
            entry["comment"] = "\n".join(self.comments)
        for name in ("tags", "notes", "asides"):
            if value := getattr(self, name):
                entry[name] = list(value)
        return entry


_RECOMMENDED = re.compile(r"\s*\(recommended\)\s*\Z", re.IGNORECASE)


def _choice(option: Option, code: str = "") -> Choice:
    """An option as it is shown; an author recommends it with `(recommended)` after its label."""
    label, marks = _RECOMMENDED.subn("", option.label or option.code)
    return Choice(
        code or option.code,
        label or option.code,
        option.description,
        bool(option.options),
        recommended=bool(marks),
    )


def level_problems(tree: Tree) -> list[str]:
    """What makes a tree's meaning unclear: no options, or one code for two siblings."""
    problems = [] if tree.decisions else ["it has no decision"]
    for decision in tree.decisions:
        if not decision.options:
            problems.append(f"decision {decision.name} has no options")
        levels = [decision.options, *(o.options for _, o in decision.walk())]
        for level in levels:
            codes = [option.code.upper() for option in level]
            twice = sorted({code for code in codes if codes.count(code) > 1})
            problems += [f"code [{code}] stands twice on line {level[0].line}" for code in twice]
    return problems
