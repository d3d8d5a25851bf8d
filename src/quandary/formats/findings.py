"""A tree that was found, where it stands in its document, and what was seen on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quandary.formats.blocks import Block
    from quandary.formats.keys import Key
    from quandary.model.tree import Tree


class Note(NamedTuple):
    """Something seen while reading that a rule may have to say something about."""

    rule: str
    line: int
    column: int
    text: str = ""


class Listed(NamedTuple):
    """A decision as it stands in the document, for writing it anew."""

    heading: Block | None
    items: tuple[Block, ...]
    choose: str = ""


class Section:
    """A tree, where it stands, and what was seen on the way.

    Most trees have nothing to remember, so the defaults are shared until there is something.
    """

    notes: Sequence[Note] = ()
    ignored: frozenset[str] = frozenset()
    keys: Sequence[Key] = ()
    listed: Sequence[Listed] = ()
    heading: Block | None = None
    base = 0
    """The column at which the section's container begins."""
    end = 0
    """The index of its last line."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
