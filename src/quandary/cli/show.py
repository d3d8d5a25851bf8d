"""`quandary show`: one tree, as text or as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from quandary.cli import completing
from quandary.cli.screen import coloured, put, width
from quandary.formats.sources import load

if TYPE_CHECKING:
    from quandary.model.tree import Option, Tree


class _Show(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-#NAME` is a SOURCE, though it looks like an option."""
        sources = [word for word in args if word.startswith("-#")]
        if sources and "--" not in args:
            args = [*(word for word in args if word not in sources), "--", *sources]
        return super().parse_args(ctx, args)


@click.command(cls=_Show)
@click.argument("source", type=completing.PATH)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "mermaid", "dot"]),
    default="text",
    show_default=True,
    help="Text for people, JSON for programs, Mermaid or Graphviz for pictures.",
)
def show(source: str, form: str) -> None:
    """Show one tree.

    SOURCE is `file.md#NAME`, `file.md` if there is one tree in it, `NAME` of any tree in the
    project, or `-` for standard input. NAME may carry `¶ASK_`, `§ASK_` or `ASK_`, and a decision's
    name will do.
    """
    tree = load(source)
    if form == "json":
        put(_json(tree))
    elif form == "mermaid":
        from quandary.formats import mermaid  # noqa: PLC0415 - one form at a time

        put(mermaid.from_tree(tree))
    elif form == "dot":
        from quandary.formats import dot  # noqa: PLC0415

        put(dot.from_tree(tree))
    else:
        from quandary.formats.drawing import text  # noqa: PLC0415

        put(text(tree, width=width(), colour=coloured()))


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
