"""`quandary show`: one tree or chart, as text or as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from quandary.cli import completing
from quandary.cli.naming import OneSource
from quandary.cli.screen import coloured, put, tell, width
from quandary.formats.sources import CHARTS, load, split
from quandary.settings.files import read_standard_input

if TYPE_CHECKING:
    from quandary.formats.charts import Loaded
    from quandary.model.chart import Chart, Map, Page, Step
    from quandary.model.tree import Option, Tree


@click.command(cls=OneSource)
@click.argument("source", type=completing.PATH)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "mermaid", "dot"]),
    default="text",
    show_default=True,
    help="Text for people, JSON for programs, Mermaid or Graphviz for pictures.",
)
@click.option("--page", metavar="NAME", help="Only this page of a chart, and those that it runs.")
@click.option("--chart", "as_chart", is_flag=True, help="Show a tree as the chart it is walked as.")
def show(source: str, form: str, page: str | None, as_chart: bool) -> int:
    """Show one tree or chart.

    SOURCE is `file.md#NAME`, `file.md` if there is one tree in it, `NAME` of any tree in the
    project, or `-` for standard input. NAME may carry `¶ASK_`, `§ASK_` or `ASK_`, and a decision's
    name will do. Charts are `file.csv` or `file.json` from Lucid and `file.mmd` in Mermaid, with
    `#PAGE` behind them if one page is meant.

    What is wrong with a chart is said on standard error; with errors, the exit status is 1.
    """
    path, name = split(source) if source else (None, "")
    text = read_standard_input() if path == "-" else None
    drawn = path is not None and path.lower().endswith(CHARTS)
    if text is not None and not drawn:
        from quandary.formats.charts import is_chart  # noqa: PLC0415 - only for standard input

        drawn = is_chart("-", text)
    if drawn or as_chart:
        return _chart(source, form, page or "", text, whole=not (page or (drawn and name)))
    if page:
        raise click.UsageError("--page is for charts; name a tree by file.md#NAME")
    tree = load(source, text)
    if form == "json":
        put(_json(tree))
    elif form == "mermaid":
        from quandary.formats import drawings  # noqa: PLC0415 - one form at a time

        put(drawings.tree_as_mermaid(tree))
    elif form == "dot":
        from quandary.formats import drawings  # noqa: PLC0415

        put(drawings.tree_as_dot(tree))
    else:
        from quandary.formats.drawings import draw_tree as draw  # noqa: PLC0415

        put(draw(tree, width=width(), colour=coloured()))
    return 0


def _chart(source: str, form: str, page: str, text: str | None, *, whole: bool) -> int:
    """Show a chart: all its pages, or the one that was named and those that it runs."""
    from quandary.formats import charts  # noqa: PLC0415 - trees need none of it
    from quandary.model.soundness import concerned  # noqa: PLC0415

    loaded = charts.read(source, page=page, text=text)
    chart = loaded.chart
    pages = list(chart.pages) if whole else concerned(chart)
    if form == "json":
        put(_chart_json(loaded, pages))
    elif form == "mermaid":
        import msgspec  # noqa: PLC0415 - one form at a time

        from quandary.formats import drawings  # noqa: PLC0415

        put(drawings.chart_as_mermaid(msgspec.structs.replace(chart, pages=tuple(pages))))
    elif form == "dot":
        from quandary.formats import drawings  # noqa: PLC0415

        put(drawings.chart_as_dot(chart, pages))
    else:
        from quandary.formats.drawings import draw_chart as draw  # noqa: PLC0415

        put(draw(chart, pages, width=width(), colour=coloured()))
    for problem in loaded.problems:
        tell(loaded.said(problem))
    return 1 if loaded.errors else 0


def _chart_json(loaded: Loaded, pages: list[Page]) -> bytes:
    import msgspec  # noqa: PLC0415 - one form at a time

    from quandary.model.chart import Map  # noqa: PLC0415

    chart = loaded.chart
    shown = {
        "name": chart.name,
        "start": chart.start or None,
        "digest": chart.digest,
        "pages": [_page(chart, page, Map(page, chart)) for page in pages],
        "problems": [msgspec.to_builtins(problem) for problem in loaded.problems],
    }
    return msgspec.json.format(msgspec.json.encode(shown), indent=2) + b"\n"


def _page(chart: Chart, page: Page, plan: Map) -> dict[str, Any]:
    return {
        "id": page.id,
        "name": page.name,
        "start": plan.start.id if plan.start is not None else None,
        "steps": [_step(chart, step, plan) for step in page.steps],
        "also": [{"id": s.id, "kind": s.kind, "text": s.text} for s in page.scenery],
    }


def _step(chart: Chart, step: Step, plan: Map) -> dict[str, Any]:
    called = chart.called(step)
    shown: dict[str, Any] = {
        "id": step.id,
        "name": step.name,
        "kind": plan.kind(step),
        "shape": step.shape,
        "text": step.text,
        "tags": step.tags,
        "metadata": step.metadata,
        "routes": [{"label": route.label, "to": route.target} for route in plan.ways(step)],
    }
    if called is not None:
        shown["runs"] = called.id
    if step.lane:
        shown["lane"] = step.lane
    if step.notes:
        shown["notes"] = step.notes
    return shown


def _json(tree: Tree) -> bytes:
    import msgspec  # noqa: PLC0415 - one form at a time

    shown: dict[str, Any] = {
        "name": tree.name,
        "trigger": tree.trigger or None,
        "extras": {extra.letter: extra.text for extra in tree.extras},
        "kind": tree.kind or "transition",
        "decisions": [
            {
                "name": decision.name,
                **({"question": decision.question} if decision.question else {}),
                "multi": decision.multi,
                "options": [_option(option) for option in decision.options],
            }
            for decision in tree.decisions
        ],
    }
    for name in ("title", "question", "keywords", "extends"):
        if value := getattr(tree, name):
            shown[name] = value
    return msgspec.json.format(msgspec.json.encode(shown), indent=2) + b"\n"


def _option(option: Option) -> dict[str, Any]:
    return {
        "code": option.code,
        "label": option.label,
        "description": option.description,
        "multi": option.multi,
        "options": [_option(child) for child in option.options],
    }
