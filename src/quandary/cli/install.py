"""`quandary install`: make it known to the host that you work with."""

from __future__ import annotations

import click

from quandary.cli import COMMANDS, plans
from quandary.cli.screen import put, tell
from quandary.doors.hosts.hooks import host_timeout
from quandary.doors.hosts.install import CannotEdit, plan_install
from quandary.doors.hosts.places import find_command, places
from quandary.errors import QuandaryError
from quandary.settings import read_settings, user_settings


@click.command(epilog="Exit status: 0 done, 2 not possible; then nothing was changed.")
@plans.where_options
@click.option("--mcp", is_flag=True, help="Register the server `quandary mcp` too.")
def install(host: str, project: bool, user: bool, dry_run: bool, mcp: bool) -> int:
    """Teach a host to ask through quandary.

    Agents there learn how to ask a person to decide. In Claude Code, hooks also check and record
    every question that any skill asks. Files keep all that is in them, and `quandary uninstall`
    takes out what was added. Within a project, --project is the default.
    """
    if mcp and "mcp" not in COMMANDS:
        raise QuandaryError("--mcp registers `quandary mcp`, which this version does not have")
    root = plans.root_of(project=project, user=user)
    command = find_command("user" if root is None else "project")
    settings = user_settings() if root is None else read_settings()
    try:
        plan = plan_install(
            places(host, root), command.word, mcp=mcp, timeout=host_timeout(settings)
        )
    except CannotEdit as error:
        put(error.snippet)
        raise
    plans.follow(plan, dry_run=dry_run)
    if not plan.changes:
        tell(f"nothing to do: quandary is installed for {host}")
    for note in filter(None, (*plan.notes, command.note)):
        tell(f"note: {note}")
    return 0
