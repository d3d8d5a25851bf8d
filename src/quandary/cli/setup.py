"""`quandary install` and `quandary uninstall`."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from quandary.cli.screen import complain, draw_diff, put, tell
from quandary.doors.hosts.hooks import host_timeout
from quandary.doors.hosts.host_files import HOSTS, find_command, places
from quandary.doors.hosts.install import CannotEdit, carry_out, plan_install, plan_uninstall
from quandary.errors import QuandaryError
from quandary.settings import read_settings, user_settings
from quandary.settings.files import project_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.doors.hosts.install import Plan


def where_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The host, and for whom."""
    for name, text in (
        ("--dry-run", "Show what would change; change nothing."),
        ("--user", "For you, in every project."),
        ("--project", "For this project, and all who work on it."),
    ):
        command = click.option(name, is_flag=True, help=text)(command)
    return click.argument("host", type=click.Choice(list(HOSTS)))(command)


@click.command(epilog="Exit status: 0 done, 2 not possible; then nothing was changed.")
@where_options
@click.option("--mcp", is_flag=True, help="Register the server `quandary mcp` too.")
def install_command(host: str, project: bool, user: bool, dry_run: bool, mcp: bool) -> int:
    """Teach a host to ask through quandary.

    Agents there learn how to ask a person to decide. In Claude Code, hooks also check and record
    every question that any skill asks. Files keep all that is in them, and `quandary uninstall`
    takes out what was added. Within a project, --project is the default.
    """
    root = _root(project=project, user=user)
    command, about = find_command("user" if root is None else "project")
    timeout = host_timeout(user_settings() if root is None else read_settings())
    make = partial(plan_install, places(host, root), command, mcp=mcp, timeout=timeout)
    plan = _follow(make, dry_run=dry_run)
    if not plan.changes:
        tell(f"nothing to do: quandary is installed for {host}")
    for note in filter(None, (*plan.notes, about)):
        tell(f"note: {note}")
    return 0


@click.command(epilog="Exit status: 0 done, 1 something was left, 2 not possible.")
@where_options
def uninstall_command(host: str, project: bool, user: bool, dry_run: bool) -> int:
    """Take out what `quandary install` added, and nothing else.

    Files that nobody has changed since are byte for byte what they were before. Instructions that
    somebody has edited are left, and named.
    """
    make = partial(plan_uninstall, places(host, _root(project=project, user=user)))
    plan = _follow(make, dry_run=dry_run)
    if not plan.changes and not plan.left:
        tell(f"nothing to do: quandary is not installed for {host}")
    for reason in plan.left:
        complain(reason)
    return 1 if plan.left else 0


def _root(*, project: bool, user: bool) -> str | None:
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


def _follow(make: Callable[[], Plan], *, dry_run: bool) -> Plan:
    """Make a plan and carry it out, or show it, and say for each file what was done.

    Where a file cannot be edited, the text that belongs in it is printed.
    """
    try:
        plan = make()
    except CannotEdit as error:
        put(error.snippet)
        raise
    if dry_run:
        put("".join(draw_diff(*change[:3]) for change in plan.changes))
    else:
        carry_out(plan)
    for change in plan.changes:
        verb = "create" if change.before is None else "remove" if change.after is None else "change"
        real = os.path.realpath(change.path)
        seen = os.path.normpath(os.path.join(os.path.realpath(os.curdir), change.path))
        linked = os.path.islink(change.path) if os.path.isabs(change.path) else real != seen
        # What is changed may lie far from the project.
        done = f"would {verb}" if dry_run else f"{verb}d"
        tell(f"{done} {change.path}{f' (a link to {real})' if linked else ''}: {change.what}")
    return plan
