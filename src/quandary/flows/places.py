"""The levels of a tree, asked about one item, and what has been settled about the item so far."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.flows.asking import Place, page_of
from quandary.model.asks import Choice, Item
from quandary.model.tree import OTHER, Option, Tree, named_of, other_of, trace, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quandary.flows.asking import Remarks
    from quandary.model.asks import Question

_LAST = 1_000_000
"""Own words stand behind every option."""


class Part(NamedTuple):
    """One path that was chosen, and where it stands among the others."""

    order: tuple[int, ...]
    path: str
    label: str


class Level(Place, frozen=True, kw_only=True):
    """The options of one level, asked about one item."""

    root: int
    """Which of the tree's decisions it belongs to, from 0."""
    options: tuple[Option, ...]
    path: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    """Where the level stands in the tree, as numbers."""
    in_menu: bool = False
    """This is the level behind Other."""
    own_words: bool = True

    @property
    def menu(self) -> Option | None:
        """The option that stands for the host's Other, if what is behind it can be opened."""
        return None if self.in_menu else other_of(self.options)

    def page_of(self, room: int) -> tuple[tuple[Choice, ...], tuple[Choice, ...]]:
        """The choices of the page at hand, and those that typed text may name besides."""
        menu = self.menu
        named = [_choice(o) for o in (self.options if self.in_menu else named_of(self.options))]
        behind = [_choice(o, f"{menu.code}/{o.code}") for o in menu.options] if menu else []
        shown, further = page_of(self, named, behind, room)
        return tuple(shown), tuple(further)

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
        other = self.menu.code if self.menu is not None else OTHER
        above = self.path if self.in_menu else (*self.path, other)
        return Part((_LAST, *self.order), "/".join((*above, f"{kind}:{text}")), text)

    def in_order(self, codes: Sequence[str]) -> Sequence[str]:
        """Codes as they stand in the tree."""
        if len(codes) < 2:
            return codes
        return sorted(codes, key=lambda code: self.part(code).order)


class Record:
    """What has been settled about one item."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.parts: dict[int, list[Part]] = {}
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

    def chosen(self, root: int, remarks: Remarks) -> dict[str, Any]:
        """The entry of the result."""
        entry: dict[str, Any] = {
            "item": self.item.title or self.item.label or self.item.id,
            "path": self.path(root),
            "itemId": self.item.id,
            "labels": [part.label for part in self._sorted(root)],
        }
        entry |= remarks.as_result()
        if remarks.questions:
            entry["notes"] = entry.pop("questions")
        if self.asides:
            entry["asides"] = list(self.asides)
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
            problems += [f"code [{code}] is used twice on line {level[0].line}" for code in twice]
    return problems


def explain(level: Level, question: Question, earlier: Sequence[str], *, deep: bool) -> str:
    """The question, every option with its description, and (deep) what each leads to."""
    lines = [question.text, ""]
    for option in level.options:
        lines.append(_line(option))
        if deep:
            lines += [f"  {_line(child)}" for child in option.options]
        elif option.options:
            lines.append(f"  leads to: {', '.join(child.label for child in option.options)}")
    if deep and level.item.context:
        lines += ["", level.item.context]
    if deep and earlier:
        lines += ["", f"Chosen for other items so far: {'; '.join(earlier)}"]
    return "\n".join(lines)


def _line(option: Option) -> str:
    said = " ".join(option.description.split())
    return f"- [{option.code}] {option.label}" + (f": {said}" if said else "")
