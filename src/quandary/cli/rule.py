"""`quandary rule`: what a rule means."""

from __future__ import annotations

import click

from quandary.cli import completing
from quandary.cli.screen import coloured, put
from quandary.errors import QuandaryError
from quandary.formats.lint import explanations
from quandary.formats.rules import RULES, suggestion


@click.command()
@click.argument("name", required=False, shell_complete=completing.rules)
def rule(name: str | None) -> None:
    """Explain a rule of `check`: what it wants, why, and a bad and a good example.

    Without NAME, list all rules.
    """
    known = explanations()
    if name is None:
        longest = max(map(len, known))
        for entry in known.values():
            title = entry.name.ljust(longest)
            shown = click.style(title, bold=True) if coloured() else title
            put(f"{shown}  {entry.severity:7}  {entry.summary}\n")
        return
    if name not in known:
        raise QuandaryError(f"there is no rule {name}; {suggestion(name)}")
    fixed = ", mended by --fix" if RULES[name].fixable else ""
    title = f"{name} ({known[name].severity}{fixed})"
    put((click.style(title, bold=True) if coloured() else title) + "\n\n")
    put(_plain(known[name].text))


def _plain(text: str) -> str:
    """The explanation without its fences and its stars, as a terminal shows it best."""
    lines = []
    inside = False
    for line in text.split("\n"):
        if line.startswith("````"):
            inside = not inside
            continue
        first = line.removeprefix("*Error.* ").removeprefix("*Warning.* ")
        lines.append("    " + line if inside and line else first)
    return "\n".join(lines)
