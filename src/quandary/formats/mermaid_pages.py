"""What a Mermaid flowchart draws, gathered statement by statement into the pages of a chart."""

from __future__ import annotations

import os
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from quandary.formats.mermaid_text import outlined
from quandary.formats.shapes import Direction, Sheet
from quandary.model.chart import Chart, Page, Route, Scenery, SceneryKind, Shape, Step
from quandary.model.soundness import Problem

_SHAPES = frozenset(get_args(Shape))
_SCENERY = frozenset(get_args(SceneryKind))
_STEP = ("step", "id", "text", "shape", "tags", "metadata", "notes", "lane")


class _Node:
    """A node while its statements come in; the last text counts, as it does for Mermaid."""

    def __init__(self, key: str, sheet: _Sheet, lane: str, line: int) -> None:
        self.key = key
        self.id = key
        self.sheet = sheet
        self.line = line
        self.text = key
        self.shape: Shape = outlined("", key)
        self.bare = True
        """Nothing but its id has been said of it."""
        self.tags: list[str] = []
        self.metadata: dict[str, str] = {}
        self.notes: list[str] = []
        self.lane = lane

    def step(self) -> Step:
        return Step(
            self.id,
            self.text,
            self.shape,
            tuple(self.tags),
            self.metadata,
            tuple(self.notes),
            self.lane,
            self.line,
        )


class _Stroke(msgspec.Struct):
    """A line between nodes, or one that a comment gives by the ids of steps."""

    source: str
    target: str
    label: str
    way: Direction
    line: int
    drawn: bool = True


class _Sheet:
    """A page under way."""

    def __init__(self, key: str, name: str, line: int) -> None:
        self.id = key
        self.name = name
        self.line = line
        self.nodes: list[_Node] = []
        self.strokes: list[_Stroke] = []
        self.scenery: list[Scenery] = []


class Pages:
    """The pages of a chart while statements come in."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.start = ""
        self.problems: list[Problem] = []
        self._root = _Sheet("", "", 0)
        self._sheets = [self._root]
        self._nodes: dict[str, _Node] = {}
        self._open: list[tuple[str, str, _Sheet]] = []
        """Subgraphs: the id and title of each, and the page that was under way before it."""
        self._sheet = self._root
        self._last: _Stroke | None = None

    def node(self, key: str, line: int) -> None:
        """A node is mentioned."""
        if key not in self._nodes:
            lane = self._open[-1][1] if self._open else ""
            node = self._nodes[key] = _Node(key, self._sheet, lane, line)
            self._sheet.nodes.append(node)

    def shape(self, key: str, text: str, shape: Shape) -> None:
        """A node is drawn."""
        node = self._nodes[key]
        node.text, node.shape, node.bare = text, shape, False

    def join(self, source: str, target: str, label: str, way: Direction, line: int) -> None:
        """A line is drawn."""
        self._last = _Stroke(source, target, label, way, line)
        self._nodes[source].sheet.strokes.append(self._last)

    def open(self, key: str, title: str, line: int) -> None:
        """A subgraph begins: a frame around steps, unless a comment says that it is a page."""
        self._open.append((key, title, self._sheet))
        self._sheet.scenery.append(Scenery(key, "container", title, line))

    def close(self, line: int) -> None:
        """A subgraph ends."""
        if self._open:
            _, _, self._sheet = self._open.pop()
        else:
            self._complain("end-alone", "warning", "an `end` without a subgraph; left out", line)

    def chart(self, path: str) -> Chart:
        """The chart as a whole, once everything was said."""
        if self._open:
            key, title, _ = self._open[-1]
            message = f"the subgraph {title or key} is never closed; write `end` behind it"
            self._complain("subgraph-open", "warning", message, 0)
        root = self._root
        used = root.id or root.name or root.nodes or root.strokes or root.scenery
        sheets = self._sheets if used or len(self._sheets) == 1 else self._sheets[1:]
        name = self.title
        if name is None:
            name = os.path.splitext(os.path.basename(path))[0]
        return Chart(name, tuple(map(self._page, sheets)), self.start)

    def _page(self, sheet: _Sheet) -> Page:
        drawn = Sheet(sheet.id, sheet.name, sheet.line)
        frames = {thing.id for thing in sheet.scenery}
        kept = [node for node in sheet.nodes if not (node.bare and node.key in frames)]
        drawn.shapes = [node.step() for node in kept]
        for stroke in sheet.strokes:
            ends = (stroke.source, stroke.target)
            source, target = (self._nodes[end].id for end in ends) if stroke.drawn else ends
            route = Route(source, target, stroke.label, stroke.line)
            drawn.join(route, stroke.way, self.problems)
        return replace(drawn.page(self.problems), scenery=tuple(sheet.scenery))

    # -- comments that are meant for us --------------------------------------------------------

    def remark(self, text: str, line: int) -> None:
        """What a comment adds to a step, a line, a page or the chart."""
        try:
            said = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            said = None
        if not isinstance(said, dict):
            message = 'a comment for quandary is JSON, like {"step": "a", "tags": ["HUMAN"]}'
            self._complain("comment", "error", message, line)
        elif "step" in said:
            self._add_to_step(said, line)
        elif isinstance(page := said.get("page"), dict):
            self._turn_page(_text(page.get("id")), _text(page.get("name")), line)
        elif isinstance(route := said.get("route"), dict):
            ends = _text(route.get("source")), _text(route.get("target"))
            label = _text(route.get("label"))
            self._sheet.strokes.append(_Stroke(*ends, label, "forward", line, drawn=False))
        elif isinstance(thing := said.get("scenery"), dict) and thing.get("kind") in _SCENERY:
            key, words = _text(thing.get("id")), _text(thing.get("text"))
            self._sheet.scenery.append(Scenery(key, thing["kind"], words, line))
        elif "label" in said and self._last is not None:
            self._last.label = _text(said["label"])
        elif "start" in said:
            self.start = _text(said["start"])
        else:
            message = f"a comment for quandary says {', '.join(said) or 'nothing'}"
            self._complain("comment", "warning", f"{message}, which means nothing here", line)

    def _add_to_step(self, said: dict[str, Any], line: int) -> None:
        key = _text(said["step"])
        self.node(key, line)
        node = self._nodes[key]
        node.id = _text(said.get("id", node.id))
        node.text = _text(said.get("text", node.text))
        node.lane = _text(said.get("lane", node.lane))
        if said.get("shape") in _SHAPES:
            node.shape = said["shape"]
        node.tags += _texts(said.get("tags"))
        node.notes += _texts(said.get("notes"))
        metadata = said.get("metadata")
        own = {name: value for name, value in said.items() if name not in _STEP}
        for name, value in {**(metadata if isinstance(metadata, dict) else {}), **own}.items():
            node.metadata[name] = _text(value)

    def _turn_page(self, key: str, name: str, line: int) -> None:
        """The subgraph that is open is a page of its own; outside of one, the page has a name."""
        if not self._open:
            self._root.id, self._root.name, self._root.line = key, name, line
            return
        frame, _, above = self._open[-1]
        if above.scenery and above.scenery[-1].id == frame:
            above.scenery.pop()
        self._open[-1] = (frame, "", above)
        self._sheet = _Sheet(key, name, line)
        self._sheets.append(self._sheet)

    def _complain(self, rule: str, severity: Any, message: str, line: int) -> None:  # noqa: ANN401
        self.problems.append(Problem(rule, severity, message, (), line))


def _texts(value: object) -> list[str]:
    """One text or several."""
    if isinstance(value, list):
        return [_text(part) for part in value]
    return [_text(value)] if value else []


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()
