"""A tree as a Graphviz graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.formats.drawing import nodes
from quandary.formats.visible import printable

if TYPE_CHECKING:
    from quandary.model.tree import Tree

_SHAPES = {
    "decision": "shape=hexagon",
    "branch": "shape=box",
    "leaf": "shape=box style=rounded",
}
_OTHER = {"branch": "shape=box style=dashed", "leaf": 'shape=box style="rounded,dashed"'}
# Graphviz reads entities in every label, so an ampersand needs its own.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def from_tree(tree: Tree) -> str:
    """The tree as a digraph: decisions in hexagons, branches in boxes, leaves rounded."""
    lines = [
        f"digraph {quote(printable(tree.name))} {{",
        "  rankdir=LR",
        '  node [fontname="Helvetica,Arial,sans-serif" fontsize=12]',
        "  edge [arrowsize=0.7]",
    ]
    for node in nodes(tree):
        look = (_OTHER if node.other else _SHAPES)[node.shape]
        lines.append(f"  {node.id} [label={quote(node.caption)} {look}]")
        if node.parent:
            lines.append(f"  {node.parent} -> {node.id}")
    lines.append("}")
    return "".join(f"{line}\n" for line in lines)


def quote(text: str) -> str:
    """A text as a string of the DOT language that shows nothing but that text."""
    return f'"{text.translate(_ESCAPES)}"'
