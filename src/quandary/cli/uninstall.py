"""`quandary uninstall`: take out what `quandary install` added."""

from __future__ import annotations

import click

from quandary.cli import plans
from quandary.cli.screen import complain, put, tell
from quandary.doors.hosts.install import CannotEdit, plan_uninstall
from quandary.doors.hosts.places import places


@click.command(epilog="Exit status: 0 done, 1 something was left, 2 not possible.")
@plans.where_options
def uninstall(host: str, project: bool, user: bool, dry_run: bool) -> int:
    """Take out what `quandary install` added, and nothing else.

    Files that nobody has changed since are byte for byte what they were before. Instructions that
    somebody has edited are left, and named.
    """
    try:
        plan = plan_uninstall(places(host, plans.root_of(project=project, user=user)))
    except CannotEdit as error:
        put(error.snippet)
        raise
    plans.follow(plan, dry_run=dry_run)
    if not plan.changes and not plan.left:
        tell(f"nothing to do: quandary is not installed for {host}")
    for reason in plan.left:
        complain(reason)
    return 1 if plan.left else 0
