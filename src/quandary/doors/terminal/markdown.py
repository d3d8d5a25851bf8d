"""Markdown as lines of a terminal: rich lays out tables, code, lists and quotations."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.theme import Theme

from quandary.model.text import printable

if TYPE_CHECKING:
    from rich.segment import Segment

LONGEST = 100_000
"""Characters that are laid out; what is behind them, the browser shows."""
_STYLES = Theme(
    {"markdown.code": "cyan", "markdown.code_block": "cyan", "markdown.link_url": "dim"}
)


class _Heading(Heading):
    """A heading is a bold line at the left."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


class _Markdown(Markdown):
    elements = {**Markdown.elements, "heading_open": _Heading}  # noqa: RUF012 - as in rich


def lay_out(text: str, width: int) -> list[list[Segment]]:
    """The lines of a text, in their styles, safe to show; its own lines are kept apart."""
    lines = [printable(line.expandtabs(4)) for line in text[:LONGEST].strip("\n").split("\n")]
    shown = _Markdown("  \n".join(lines), code_theme="ansi_dark", hyperlinks=False)
    console = Console(width=width, file=io.StringIO(), theme=_STYLES, color_system="standard")
    return console.render_lines(shown, pad=False)
