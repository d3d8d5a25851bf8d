"""Trees and charts as Mermaid flowcharts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from quandary.formats.drawing import nodes
from quandary.formats.mermaid_text import compact, outlined, quote, quote_lines, remark, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.model.chart import Chart, Page, Route, Step
    from quandary.model.tree import Tree

_SHAPES = {"decision": '{{{{"{}"}}}}', "branch": '["{}"]', "leaf": '("{}")'}
_OUTLINES = {
    "process": ("[", "]"),
    "decision": ("{", "}"),
    "terminator": ("([", "])"),
    "subprocess": ("[[", "]]"),
    "connector": ("((", "))"),
}
_KEY = re.compile(r"[A-Za-z0-9_]{1,40}")
_WORDS = frozenset(
    {
        *("graph", "flowchart", "subgraph", "end", "direction", "default", "interpolate"),
        *("class", "classdef", "style", "linkstyle", "click", "call", "href"),
    }
)


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


def from_chart(chart: Chart) -> str:
    """The chart as a flowchart that reads back as the same chart.

    Tags, data and whatever else Mermaid has no words for stand in comments. Of several pages, each
    is a subgraph.
    """
    lines = ["---", f"title: {compact(chart.name)}", "---", "flowchart TD"]
    if chart.start:
        lines.append(f"  {remark(start=chart.start)}")
    keys = _Keys()
    if len(chart.pages) == 1:
        lines += _page(chart.pages[0], keys)
    else:
        for number, page in enumerate(chart.pages, 1):
            frame = keys.fresh(f"page{number}")
            lines.append(f'  subgraph {frame}["{quote_lines(page.name)}"]')
            lines += (f"  {line}" for line in _page(page, keys, always=True))
            lines.append("  end")
    return "".join(f"{line}\n" for line in lines)


class _Keys:
    """Names for nodes that Mermaid accepts, each given once."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._count = 0

    def fresh(self, wanted: str) -> str:
        """The name that is wanted, if it will do and is free, or another."""
        key = wanted
        while not _KEY.fullmatch(key) or key.casefold() in _WORDS or key in self._given:
            self._count += 1
            key = f"n{self._count}"
        self._given.add(key)
        return key


def _page(page: Page, keys: _Keys, *, always: bool = False) -> Iterator[str]:
    if always or page.id or page.name:
        yield f"  {remark(page={'id': page.id, 'name': page.name})}"
    for thing in page.scenery:
        said = {"id": thing.id, "kind": thing.kind, "text": thing.text}
        yield f"  {remark(scenery=said)}"
    known: dict[str, str] = {}
    for step in page.steps:
        key = keys.fresh(step.id)
        known.setdefault(step.id, key)
        yield from _step(step, key)
    for route in page.routes:
        yield from _route(route, known)


def _step(step: Step, key: str) -> Iterator[str]:
    opener, closer = _OUTLINES[step.shape]
    label = quote_lines(step.text)
    yield f'  {key}{opener}"{label}"{closer}'
    said: dict[str, Any] = {}
    if key != step.id:
        said["id"] = step.id
    if (text := shown(label)) != step.text:
        said["text"] = step.text
    if outlined(opener, text) != step.shape:
        said["shape"] = step.shape
    for name in ("tags", "metadata", "notes", "lane"):
        if value := getattr(step, name):
            said[name] = value
    if said:
        yield f"  {remark(step=key, **said)}"


def _route(route: Route, known: dict[str, str]) -> Iterator[str]:
    source, target = known.get(route.source), known.get(route.target)
    if source is None or target is None:
        said = {"source": route.source, "target": route.target, "label": route.label}
        yield f"  {remark(route=said)}"
        return
    label = quote_lines(route.label)
    yield f'  {source} -->|"{label}"| {target}' if route.label else f"  {source} --> {target}"
    if route.label and shown(label) != route.label:
        yield f"  {remark(label=route.label)}"
