"""`quandary install`, `quandary uninstall` and `quandary trust`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

import click

from quandary.cli import complain, draw_diff, is_terminal, put, tell
from quandary.desk.authority import find_agent
from quandary.desk.notices import is_here, server_address
from quandary.doors.hosts import MARGIN, hook_settings, host_timeout, install
from quandary.doors.hosts.host_files import HOSTS, find_command, places
from quandary.doors.hosts.install import Gate, Plan
from quandary.doors.hosts.permissions import user_permissions
from quandary.doors.web.tokens import hook_token, signing_key
from quandary.errors import QuandaryError, Untrusted
from quandary.journal import chance, chosen_by_project, open_store, without_password
from quandary.model.text import printable
from quandary.settings import Settings, data_folder, read_settings, trust, user_settings
from quandary.settings.files import project_root, require_own

if TYPE_CHECKING:
    from quandary.settings.trust import Matter


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
@click.option("--permissions", is_flag=True, help="Have its requests for permission come here too.")
def install_command(
    host: str, project: bool, user: bool, dry_run: bool, mcp: bool, permissions: bool
) -> int:
    """Teach a host to ask through quandary.

    Agents there learn how to ask a person to decide. In Claude Code, hooks also check and record
    every question that any skill asks. Files keep all that is in them, and `quandary uninstall`
    takes out what was added. Within a project, --project is the default.
    """
    root = _root(project=project, user=user)
    command, about = find_command("user" if root is None else "project")
    timeout = host_timeout(user_settings() if root is None else hook_settings())
    gate, about_gate = None, list[str]()
    if permissions:
        gate, patience = _gate(host, root)
        timeout = max(timeout or 0, patience)
        about_gate = _tell_gate(host, gate)
    if host == "codex" and root is None:
        about_gate.append("Codex asks you once to trust the hooks; until then it skips them")
    make = partial(install.plan_install, places(host, root), command, mcp=mcp, timeout=timeout)
    plan = _follow(partial(make, gate=gate), root, dry_run=dry_run)
    if not plan.changes:
        tell(f"nothing to do: quandary is installed for {host}")
    for note in filter(None, (*plan.notes, about, *about_gate)):
        tell(f"note: {note}")
    return 0


def _gate(host: str, root: str | None) -> tuple[Gate, int]:
    """What the user's `[permissions]` send here, and how patient the host has to be."""
    if root is not None:
        raise QuandaryError("permissions are decided by you, in every project: add --user")
    if host not in ("claude", "codex"):
        raise QuandaryError(f"{host} has no hook that install can write; see docs/permissions.md")
    chosen, server = user_permissions(), _find_server() if host == "claude" else ""
    token = hook_token(signing_key(data_folder())) if server else ""
    return Gate(chosen.tools, chosen.ask, server, token, chosen.park), ceil(chosen.wait) + MARGIN


def _find_server() -> str:
    """The address of a server that runs with the user's own store and is reached by loopback."""
    with suppress(QuandaryError), closing(open_store(start=os.path.expanduser("~"))) as store:
        address = server_address(store, "")
        return address if is_here(address) else ""
    return ""


def _tell_gate(host: str, gate: Gate) -> list[str]:
    notes = []
    if not user_permissions().inbox:
        notes.append('nothing comes here until your config.toml says [permissions] route = "inbox"')
    if host == "codex":
        return notes
    if gate.server:
        notes.append(
            f"the server at {gate.server} answers the hooks; while it does not run, Claude Code "
            "asks in its own dialog alone (stop it and install again to have the command called)"
        )
    if gate.ask:
        notes.append(f"permissions.ask of Claude Code has {', '.join(gate.ask)}")
    else:
        notes.append(
            "in its mode auto, Claude Code decides most by itself; name what you want to be asked "
            "about in [permissions] ask, and install again"
        )
    return notes


@click.command(epilog="Exit status: 0 done, 1 something was left, 2 not possible.")
@where_options
def uninstall_command(host: str, project: bool, user: bool, dry_run: bool) -> int:
    """Take out what `quandary install` added, and nothing else.

    Files that nobody has changed since are byte for byte what they were before. Instructions that
    somebody has edited are left, and named.
    """
    root = _root(project=project, user=user)
    gate = Gate(ask=user_permissions().ask)
    plan = _follow(partial(install.plan_uninstall, places(host, root), gate), root, dry_run=dry_run)
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


def _follow(make: Callable[[], Plan], root: str | None, *, dry_run: bool) -> Plan:
    """Make a plan and carry it out, or show it, and say for each file what was done. Where a file
    cannot be edited, the text that belongs in it is printed. In a project, no link leads out of it:
    the repository may have brought it.
    """
    try:
        plan = make()
    except install.CannotEdit as error:
        put(error.snippet)
        raise
    for change in plan.changes if root is not None else ():
        require_own(change.path, root or os.curdir)
    if dry_run:
        put("".join(draw_diff(*change[:3]) for change in plan.changes))
    else:
        install.carry_out(plan)
    for change in plan.changes:
        verb = "create" if change.before is None else "remove" if change.after is None else "change"
        real = os.path.realpath(change.path)
        seen = os.path.normpath(os.path.join(os.path.realpath(os.curdir), change.path))
        linked = os.path.islink(change.path) if os.path.isabs(change.path) else real != seen
        # What is changed may lie far from the project.
        done = f"would {verb}" if dry_run else f"{verb}d"
        tell(f"{done} {change.path}{f' (a link to {real})' if linked else ''}: {change.what}")
    return plan


_MEANING: dict[Matter, str] = {
    "store": "Questions that are asked here are kept there, and preferences in it can answer them.",
    "hooks": "Questions of a host are answered, refused or sent to the inbox as it says.",
    "agents": "Servers and chat clients start these programs, not only `walk` and `worker`.",
}


@click.command(epilog="Exit status: 0 done, 1 you said no or there was nothing, 2 not possible.")
@click.argument("folder", default=os.curdir, metavar="[DIR]")
@click.option("--list", "listing", is_flag=True, help="Show what you trust, and what has changed.")
@click.option("--remove", is_flag=True, help="Trust the project no longer.")
def trust_command(folder: str, listing: bool, remove: bool) -> int:
    """Trust what a project's settings name.

    A quandary.toml comes with its repository, and somebody else may have written it. Until you have
    looked at what it names and agreed, its `store` is not opened, its `[hooks]` are ignored, and
    its `[agents]` run only when somebody types `walk` or `worker` there. You are asked at a
    terminal, once; after a change you are asked again. DIR is any folder of the project.
    """
    if listing:
        put("".join(f"{line}\n" for line in _tell_trusted()))
        return 0
    root = project_root(folder) if os.path.isdir(folder) else None
    if remove:
        if not any(trust.take_back(place) for place in (folder, root) if place is not None):
            complain(f"{folder} was not trusted; `quandary trust --list` shows what is")
            return 1
        tell(f"{folder} is no longer trusted")
        return 0
    if root is None:
        raise QuandaryError(f"{folder}: no project; name a folder with a quandary.toml")
    settings = read_settings(root)
    said = named_by_project(settings)
    real = os.path.realpath(root)
    if all(trust.is_given(settings, matter, what) for matter, what in said.items()):
        tell(f"nothing to do: {real} {'is trusted' if said else 'names nothing that needs trust'}")
        return 0
    seen = find_agent() if is_terminal() else "there is no terminal"
    if seen:
        raise Untrusted(f"only a person can be asked, and {seen}", trust.command_for(real))
    consent = trust.consent_to(settings, said, chance.stamp(chance.now()))  # as it is shown
    tell(f"{os.path.join(real, 'quandary.toml')} names:")
    for matter, what in said.items():
        for line in _describe(settings, matter, what):
            tell(f"  {line}")
        tell(f"    {_MEANING[matter]}")
    if not click.confirm("Do you trust that?", default=False, err=True):
        tell("nothing was changed")
        return 1
    trust.give(settings, consent)
    tell(f"{real} is trusted, until that changes")
    return 0


def named_by_project(settings: Settings) -> dict[Matter, object]:
    """What a project's own file names that counts only after its user has agreed."""
    tables = {name: trust.project_table(settings, name) for name in trust.MATTERS[1:]}
    said: dict[Matter, object] = {"store": chosen_by_project(settings), **tables}
    return {matter: what for matter, what in said.items() if what}


def _describe(settings: Settings, matter: Matter, what: Any) -> Iterator[str]:  # noqa: ANN401 - TOML
    """What a project says, line by line; nothing of it is left out."""
    if matter == "store":
        yield f"store = {without_password(what)}"
        return
    yield f"[{matter}]"
    for name, value in what.items():
        yield f"  {name} = {value!r}"
    root = os.path.realpath(settings.root or os.curdir)
    for path in trust.files_in(settings, what) if matter == "agents" else ():
        yield f"  with the file {os.path.relpath(path, root)}, as it is now"


def _tell_trusted() -> Iterator[str]:
    for root, consent in trust.list_consents().items():
        about = ""
        try:
            settings = read_settings(root)
            said = named_by_project(settings) if settings.root == root else {}
            if any(not trust.is_given(settings, matter, what) for matter, what in said.items()):
                about = "; it names something else now"
            elif not said:
                about = "; it names nothing any more"
        except QuandaryError as error:
            about = f"; {error}"
        which = ", ".join(matter for matter in trust.MATTERS if matter in consent.digests)
        yield printable(f"{root}  {which}, since {consent.at[:10]}{about}")
