"""A chart for people to read: its steps by number, and the ways from each to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.formats.drawing import Canvas, cells
from quandary.formats.visible import printable
from quandary.model.chart import Map, plain

if TYPE_CHECKING:
    from quandary.model.chart import Chart, Page, Route, Scenery, Step

LONGEST_LABEL = 20
"""A label longer than this stands above its arrow."""
LONGEST_LIST = 10
"""How many notes and frames are listed."""


def text(chart: Chart, pages: list[Page], *, width: int, colour: bool) -> str:
    """Pages of a chart, each step with what leads on from it."""
    canvas = Canvas(width, colour=colour)
    canvas.add("", chart.name, "bold")
    for page in pages:
        if page.name and (len(pages) > 1 or page.name != chart.name):
            canvas.lines.append("")
            canvas.add("", page.name, "bold")
        if page.steps:
            canvas.lines.append("")
        _page(canvas, chart, page)
    return "".join(f"{line}\n" for line in canvas.lines)


def _page(canvas: Canvas, chart: Chart, page: Page) -> None:
    plan = Map(page, chart)
    reached = list(plan.walk(plan.start)) if plan.start is not None else []
    known = {step.id for step in reached}
    lost = [step for step in plan.steps.values() if step.id not in known]
    numbers = {step.id: n for n, step in enumerate([*reached, *lost], 1)}
    for step in reached:
        _step(canvas, plan, step, numbers)
    if lost and reached:
        canvas.lines.append("")
        canvas.add("", "Nothing leads here:", "dim")
    for step in lost:
        _step(canvas, plan, step, numbers)
    _scenery(canvas, page.scenery)


def _step(canvas: Canvas, plan: Map, step: Step, numbers: dict[str, int]) -> None:
    """A step: its number and name, what is to be done, what is said of it, its ways out."""
    margin = " " * (len(str(len(numbers))) + 2)
    number = str(numbers[step.id]).rjust(len(margin) - 2)
    kind = plan.kind(step)
    note = "" if kind == "process" else f"  {kind}"
    names = canvas.wrap(step.name, len(margin) + len(note)) or [""]
    canvas.lines.extend(margin + canvas.paint(line, "bold") for line in names)
    canvas.lines[-1] += canvas.paint(note, "dim")
    first = canvas.lines[-len(names)]
    canvas.lines[-len(names)] = f"{canvas.paint(number, 'code')}  {first[len(margin) :]}"
    canvas.add(margin, _further(step))
    for name, value in _facts(plan, step):
        canvas.add(margin, f"{name}: {' '.join(value.split())}", "dim")
    _ways(canvas, plan, plan.ways(step), numbers, margin)


def _further(step: Step) -> str:
    """What is to be done, as far as the name does not say it."""
    first, _, rest = step.prompt.strip().partition("\n")
    return rest.strip() if " ".join(first.split()) == step.name else step.prompt.strip()


def _facts(plan: Map, step: Step) -> list[tuple[str, str]]:
    """What is said of a step besides its text."""
    called = plan.chart.called(step) if plan.chart is not None else None
    facts = [("runs", called.name or called.id)] if called is not None else []
    if step.tags:
        facts.append(("tags", ", ".join(step.tags)))
    if step.lane:
        facts.append(("in", step.lane))
    hidden = {"page", "chart", "file"} if called is not None else set()
    for name, value in step.metadata.items():
        if value != step.prompt and plain(name) not in hidden:
            facts.append((name, value))
    return [*facts, *(("note", note) for note in step.notes)]


def _ways(
    canvas: Canvas, plan: Map, ways: list[Route], numbers: dict[str, int], margin: str
) -> None:
    labels = [printable(route.label).strip(" ") for route in ways]
    column = max((cells(label) for label in labels if cells(label) <= LONGEST_LABEL), default=0)
    for route, label in zip(ways, labels, strict=True):
        target = plan.follow(route)
        if cells(label) > LONGEST_LABEL:
            canvas.add(margin, label, "code")
            label = ""  # noqa: PLW2901 - it stands above the arrow
        gap = " " * (column - cells(label) + 1) if column else ""
        arrow = f"{gap}→ {numbers[target.id]}  "
        room = len(margin) + cells(label) + len(arrow)
        first, *rest = canvas.wrap(target.name, room) or [""]
        line = f"{margin}{canvas.paint(label, 'code')}{arrow}{canvas.paint(first, 'dim')}"
        canvas.lines.append(line.rstrip(" "))
        canvas.lines.extend(" " * room + canvas.paint(part, "dim") for part in rest)


def _scenery(canvas: Canvas, scenery: tuple[Scenery, ...]) -> None:
    """What else is drawn there, which nobody is asked about."""
    said = [thing for thing in scenery if thing.text]
    if not said:
        return
    canvas.lines.append("")
    canvas.add("", "Also drawn:", "dim")
    for thing in said[:LONGEST_LIST]:
        canvas.add("  ", f"{thing.kind}: {' '.join(thing.text.split())}", "dim")
    if len(said) > LONGEST_LIST:
        canvas.add("  ", f"… and {len(said) - LONGEST_LIST} more", "dim")
