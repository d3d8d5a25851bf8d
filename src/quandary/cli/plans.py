"""What `install` and `uninstall` have in common: for whom, and how to say what is done."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from quandary.cli.screen import coloured, put, tell
from quandary.doors.hosts.install import carry_out
from quandary.doors.hosts.places import HOSTS
from quandary.errors import QuandaryError
from quandary.model.text import printable
from quandary.settings.files import project_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quandary.doors.hosts.install import Change, Plan


def where_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The host, and for whom."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Show what would change; change nothing."),
        click.option("--user", is_flag=True, help="For you, in every project."),
        click.option("--project", is_flag=True, help="For this project, and all who work on it."),
        click.argument("host", type=click.Choice(list(HOSTS))),
    ):
        command = option(command)
    return command


def root_of(*, project: bool, user: bool) -> str | None:
    """The project's folder as seen from here; none means for the user."""
    if project and user:
        raise click.UsageError("--project and --user exclude each other")
    if user:
        return None
    root = project_root(os.curdir)
    if root is None and not project:
        raise QuandaryError("this is no project; choose --user, or --project for this folder")
    seen = os.path.relpath(root) if root is not None else os.curdir
    return "" if seen == os.curdir else seen


def follow(plan: Plan, *, dry_run: bool) -> None:
    """Carry a plan out, or show it, and say for each file what was done."""
    if dry_run:
        put("".join(line for change in plan.changes for line in _diff(change)))
    else:
        carry_out(plan)
    for change in plan.changes:
        verb = _VERBS[change.before is None, change.after is None][dry_run]
        tell(f"{verb} {change.path}{_link(change.path)}: {change.what}")


_VERBS = {
    (True, False): ("created", "would create"),
    (False, False): ("changed", "would change"),
    (False, True): ("removed", "would remove"),
}


def _link(path: str) -> str:
    """Where a link leads, since what is changed may lie far from the project."""
    real = os.path.realpath(path)
    seen = os.path.normpath(os.path.join(os.path.realpath(os.curdir), path))
    linked = real != seen if not os.path.isabs(path) else os.path.islink(path)
    return f" (a link to {real})" if linked else ""


def _diff(change: Change) -> Iterator[str]:
    """The change as `patch` takes it; on a terminal with nothing hidden."""
    from difflib import unified_diff  # noqa: PLC0415 - only for --dry-run

    name = printable(change.path)
    before = name if change.before is not None else os.devnull
    after = name if change.after is not None else os.devnull
    old, new = _lines(change.before or ""), _lines(change.after or "")
    for line in unified_diff(old, new, before, after):
        text = line.removesuffix("\n")
        end = "\n" if text != line else "\n\\ No newline at end of file\n"
        if sys.stdout.isatty():
            text = printable(text)
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[0]) if coloured() else None
        yield (click.style(text, fg=colour) if colour else text) + end


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends, which for `patch` are line feeds only."""
    *lines, last = text.split("\n")
    return [line + "\n" for line in lines] + ([last] if last else [])
