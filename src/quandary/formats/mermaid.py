"""A tree as a Mermaid flowchart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quandary.formats.drawing import nodes

if TYPE_CHECKING:
    from quandary.model.tree import Tree

_SHAPES = {"decision": '{{{{"{}"}}}}', "branch": '["{}"]', "leaf": '("{}")'}
_UNSAFE = re.compile(r"[^\w ]|_")


def from_tree(tree: Tree) -> str:
    """The tree as a flowchart: decisions in hexagons, branches in boxes, leaves rounded.

    Mermaid itself refuses more than 500 options, or 50,000 characters, unless the page that
    shows the chart raises its `maxEdges` and `maxTextSize`.
    """
    lines = ["flowchart LR"]
    others = []
    for node in nodes(tree):
        shape = _SHAPES[node.shape].format(quote(node.caption))
        lines.append(
            f"  {node.parent} --> {node.id}{shape}" if node.parent else f"  {node.id}{shape}"
        )
        if node.other:
            others.append(node.id)
    if others:
        lines += ["  classDef other stroke-dasharray:4 3", f"  class {','.join(others)} other"]
    return "".join(f"{line}\n" for line in lines)


def quote(text: str) -> str:
    """A text that Mermaid reads as nothing but text: all but letters, digits and spaces encoded."""
    # Mermaid has no empty string: it takes a blank one for it.
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", text) or " "
