"""Trees and charts as Graphviz graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.formats.drawing import nodes
from quandary.formats.visible import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.model.chart import Chart, Page
    from quandary.model.tree import Tree

_SHAPES = {
    "decision": "shape=hexagon",
    "branch": "shape=box",
    "leaf": "shape=box style=rounded",
}
_OTHER = {"branch": "shape=box style=dashed", "leaf": 'shape=box style="rounded,dashed"'}
_STEPS = {
    "process": "shape=box",
    "decision": "shape=diamond",
    "terminator": "shape=box style=rounded",
    "subprocess": "shape=box peripheries=2",
    "connector": "shape=circle",
}
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


def from_chart(chart: Chart, pages: list[Page]) -> str:
    """Pages of a chart as a digraph; of several, each has a frame of its own."""
    lines = [
        f"digraph {quote(printable(chart.name))} {{",
        '  node [fontname="Helvetica,Arial,sans-serif" fontsize=12]',
        '  edge [fontname="Helvetica,Arial,sans-serif" fontsize=10 arrowsize=0.7]',
    ]
    for number, page in enumerate(pages, 1):
        if len(pages) == 1:
            lines += _page(page, "n")
            continue
        lines += [f"  subgraph cluster_{number} {{", f"    label={_text(page.name or page.id)}"]
        lines += (f"  {line}" for line in _page(page, f"p{number}n"))
        lines.append("  }")
    lines.append("}")
    return "".join(f"{line}\n" for line in lines)


def _page(page: Page, prefix: str) -> Iterator[str]:
    known: dict[str, str] = {}
    for number, step in enumerate(page.steps, 1):
        key = f"{prefix}{number}"
        known.setdefault(step.id, key)
        yield f"  {key} [label={_text(step.text)} {_STEPS[step.shape]}]"
    for route in page.routes:
        source, target = known.get(route.source), known.get(route.target)
        if source and target:
            label = f" [label={_text(route.label)}]" if route.label else ""
            yield f"  {source} -> {target}{label}"


def _text(text: str) -> str:
    """A text of several lines as a string of the DOT language."""
    lines = (printable(line).translate(_ESCAPES) for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'


def quote(text: str) -> str:
    """A text as a string of the DOT language that shows nothing but that text."""
    return f'"{text.translate(_ESCAPES)}"'
