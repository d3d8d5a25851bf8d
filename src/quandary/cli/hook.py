"""`quandary hook`: called by a host around its own question tool."""

from __future__ import annotations

import click

from quandary.doors.hosts.hooks import run


@click.group()
def hook() -> None:
    """Judge and record the questions that a host asks by itself.

    The host calls these with its JSON on standard input; `quandary install claude` sets that up.
    Whatever comes in, they end with status 0, so that they never stand in an agent's way; what
    went wrong is written to `hook.log` in the user's data folder.
    """


@hook.command()
def pre() -> int:
    """Before a question is shown: answer it by preference, or say nothing."""
    return run("pre")


@hook.command()
def post() -> int:
    """After it was answered: record each question with its answer."""
    return run("post")
