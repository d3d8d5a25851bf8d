"""`quandary uninstall`: take out what `quandary install` added."""

from __future__ import annotations

import click

from quandary.cli import plans
from quandary.cli.screen import complain, tell
from quandary.people.install_places import places
from quandary.people.installing import to_uninstall


@click.command(epilog="Exit status: 0 done, 1 something was left, 2 not possible.")
@plans.where_options
def uninstall(host: str, project: bool, user: bool, dry_run: bool) -> int:
    """Take out what `quandary install` added, and nothing else.

    Files that nobody has changed since are byte for byte what they were before. What somebody has
    edited is left, and named.
    """
    plan = to_uninstall(places(host, plans.root_of(project=project, user=user)))
    plans.follow(plan, dry_run=dry_run)
    if not plan.changes and not plan.left:
        tell(f"nothing to do: quandary is not installed for {host}")
    for reason in plan.left:
        complain(reason)
    return 1 if plan.left else 0
