"""What `quandary install` has written for which host, and whether it still leads to a program."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

from quandary import __version__
from quandary.errors import QuandaryError
from quandary.formats.files import project_root, read_text
from quandary.people import lasting, marked, routing
from quandary.people.doctor import Finding, has_extra, version_of
from quandary.people.install_edits import our_hooks, our_server
from quandary.people.install_places import HOOKS, HOSTS, places
from quandary.people.json_text import data, is_strict, parse
from quandary.settings import read_settings, user_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.people.install_places import Places

PLUGIN = "the plugin "
PATIENCE = 600
"""Seconds that Claude Code gives a hook that names none of its own (read in 2026-11)."""


class Installed(NamedTuple):
    """What is there for a host, in a project or for the user."""

    host: str
    root: str | None
    places: Places

    @property
    def name(self) -> str:
        """What it is called in a report."""
        return f"{self.host}, {'for you' if self.root is None else 'in this project'}"

    @property
    def remedy(self) -> str:
        """What puts it right."""
        return f"quandary install {self.host} --{'user' if self.root is None else 'project'}"


def hosts(start: str = os.curdir) -> Iterator[Finding]:
    """Every host that something of ours is installed for."""
    root = project_root(start)
    seen = None if root is None else os.path.relpath(root)
    roots = [None] if seen is None else ["" if seen == os.curdir else seen, None]
    found, hooked = [], []
    for host in HOSTS:
        for scope in roots:
            one = Installed(host, scope, places(host, scope))
            findings = list(_examined(one))
            found += findings
            hooked += _sources(one)
    yield from found
    for plugin in (source for source in hooked if source.startswith(PLUGIN)):
        yield Finding("hosts", "ok", "claude", f"{plugin} is switched on")
    if len(hooked) > 1:
        text = f"every question is told more than once, by {' and '.join(hooked)}"
        yield Finding("hosts", "note", "claude", text, "keep one of them; see quandary uninstall")
    if not found and not hooked:
        text = "quandary is installed for none, so that no agent has been told of it"
        yield Finding("hosts", "note", "hosts", text, "quandary install claude, or another")


def _sources(one: Installed) -> list[str]:
    """Where Claude Code has our hooks from: a file of settings, or the plugin that it names."""
    try:
        text = (_text(one.places.hooks) if one.places.hooks else None) or ""
        calls, root = our_hooks(text), parse(text)
        settings = data(text, root) if root is not None else None
    except QuandaryError:
        return []  # said already
    enabled = settings.get("enabledPlugins") if isinstance(settings, dict) else None
    names = enabled.items() if isinstance(enabled, dict) else ()
    plugins = [
        f"{PLUGIN}{name}" for name, on in names if on is True and name.startswith("quandary@")
    ]
    return [*([one.places.hooks or ""] if calls else []), *plugins]


def _examined(one: Installed) -> Iterator[Finding]:
    """What there is to say of one host in one place; nothing where nothing is installed."""
    try:
        lesson = _text(one.places.lesson.path)
        found = marked.find(lesson, one.places.lesson.marks) if lesson is not None else None
        hooks = _text(one.places.hooks) if one.places.hooks else None
        calls = our_hooks(hooks) if hooks is not None else []
        servers = one.places.servers or one.places.listed
        listed = _text(servers.path) if servers is not None else None
        server = our_server(servers, listed) if servers is not None and listed is not None else ""
    except QuandaryError as error:
        yield Finding("hosts", "broken", one.name, str(error), "correct the file")
        return
    commands = {command for _, command, _ in calls} | ({server} if server else set())
    if found is None and not commands:
        return
    yield from _lesson(one, found, commands)
    if calls or (found is not None and one.places.hooks):
        yield from _hooks(one, calls, hooks or "")
    if server and servers is not None:
        yield _server(one, servers.path)
    for command in sorted(commands or ({"quandary"} if found is not None else set())):
        yield _command(one, command)
    if one.host == "codex":
        yield from (Finding("hosts", "broken", one.name, note) for note in one.places.notes)


def _lesson(one: Installed, found: marked.Found | None, commands: set[str]) -> Iterator[Finding]:
    path = one.places.lesson.path
    if found is None:
        text = f"its agents are not told how to ask ({path} is missing)"
        yield Finding("hosts", "note", one.name, text, one.remedy)
    elif not found.pristine:
        yield Finding("hosts", "ok", one.name, f"{path}, with changes of your own")
    else:
        body = found.body.replace("\r\n", "\n")
        words = {"quandary", *commands}
        if body in {one.places.lesson.read_with(word) for word in words}:
            yield Finding("hosts", "ok", one.name, path)
        else:
            text = f"{path} is of another version of quandary"
            yield Finding("hosts", "note", one.name, text, one.remedy)


def _hooks(one: Installed, calls: list[tuple[str, str, float]], text: str) -> Iterator[Finding]:
    path = one.places.hooks or ""
    events = [event for event, _, _ in calls]
    missing = [event for event in HOOKS if event not in events]
    if missing:
        said = f"{path} has no hook {' and '.join(missing)} for questions"
        yield Finding("hosts", "broken", one.name, said, one.remedy)
        return
    if not is_strict(text):
        said = f"Claude Code refuses {path} as it is: comments, or a comma too many"
        yield Finding("hosts", "broken", one.name, said, "take them out")
    try:
        wanted = routing.host_timeout(user_settings() if one.root is None else read_settings())
    except QuandaryError:
        wanted = None  # said where the settings are looked at
    patience = min(own or PATIENCE for event, _, own in calls if HOOKS[event] == "pre")
    if wanted is not None and patience < wanted:
        said = f"Claude Code ends the hook after {patience:g} seconds, and questions wait longer"
        yield Finding("hosts", "broken", one.name, said, one.remedy)
    else:
        yield Finding("hosts", "ok", one.name, f"hooks in {path}")


def _server(one: Installed, path: str) -> Finding:
    """What a host's list says of our server."""
    if has_extra("mcp"):
        return Finding("hosts", "ok", one.name, f"the MCP server in {path}")
    text = f"{path} names our server, which needs more packages"
    return Finding("hosts", "broken", one.name, text, "pip install 'quandary[mcp]'")


def _command(one: Installed, command: str) -> Finding:
    """Whether what a host is told to run is there, and which version it is."""
    place = shutil.which(command)
    if place is None:
        missing = "is not there" if os.path.dirname(command) else "is not on PATH"
        remedy = f"{lasting.REMEDY}, then {one.remedy}"
        return Finding(
            "hosts", "broken", one.name, f"it would call {command}, which {missing}", remedy
        )
    version = version_of(place)
    if version.trouble:
        text = f"it would call {place}, which {version.trouble}"
        return Finding("hosts", "broken", one.name, text, lasting.REMEDY)
    if version.text != __version__:
        text = f"it calls {place}, version {version.text}, and this is {__version__}"
        return Finding("hosts", "note", one.name, text, "keep one of the two")
    return Finding("hosts", "ok", one.name, f"calls {place}, version {version.text}")


def _text(path: str) -> str | None:
    return read_text(path) if os.path.isfile(path) else None
