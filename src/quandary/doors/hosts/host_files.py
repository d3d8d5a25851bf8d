"""Where each host keeps its instructions, hooks and servers, and what is written there.

Every such fact stands here and nowhere else, as the hosts' own pages told it in 2026-11;
docs/hosts.md says which of them were tried. Some are not to be seen in the code:

- Claude Code takes a matcher with anything but letters, digits and a few signs for an unanchored
  regular expression; with `args` beside `command`, it runs a program without a shell; a comment in
  its settings makes it discard all of them; `.claude.json` is only its own to write.
- Codex reads `config.toml` of a project only where that is trusted.
- Gemini CLI has hooks of another shape and through a shell, so that none are installed. It reads
  settings with comments, and starts no server in a folder that is not trusted.
- Cursor keeps rules of a user in no file.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from quandary.errors import QuandaryError

NAME = "quandary"
MATCHER = "^(AskUserQuestion|mcp__.*__AskUserQuestion)$"
"""Claude Code's own question tool, and those of servers that stand in for it."""
CODEX_MATCHER = "^request_user_input$"
STARTS = "startup|resume|clear|compact"  # the ways in which a session starts
HOOKS = {
    "PreToolUse": "pre",
    "PermissionRequest": "permission",
    "PostToolUse": "post",
    "SessionStart": "session",
}
EVENTS = {**HOOKS, "PostToolUseFailure": "post"}
"""The last one is called for permissions only: a tool that fails was allowed before."""
HOOKS_SINCE = "2.1.139"  # the first Claude Code that calls a hook without a shell

SUMMARY = (
    "Ask the person through quandary whenever a decision is theirs: a choice between options, "
    "an approval, the end of a phase, or a list of things to include or cut."
)

_RELAYED = """\
Where `ask` has a `text`, show that word for word, end your turn, and wait for what the person
   writes. Otherwise show `ask.preamble` and the `text` of every note word for word, and call
   {tool} with `ask.tool_input`, unchanged."""


def _teach(way: str, ask: str) -> str:
    """The instructions for agents, with how they ask there."""
    lesson = Path(__file__).with_name("lesson.md").read_text("utf-8")
    return lesson.replace("{way}", way).replace("{ask}", ask)


CLAUDE = _teach(
    "--via relay",
    _RELAYED.format(tool="AskUserQuestion")
    + " Without that tool, as a sub-agent, run\n   `quandary next RUN --wait 60` until it is no "
    "longer `waiting`: the person answers in the inbox.",
)
CODEX = _teach(
    "--via relay --host codex",
    _RELAYED.format(tool="request_user_input")
    + " Without that tool, add `--via text` in 4\n   instead, show `ask.text`, and wait.",
)
TYPED = _teach(
    "--via text",
    "Show `ask.text` word for word. Then end your turn, and wait for what the person writes.",
)

_STANDS_FOR = "Here, `quandary` stands for `"


class Lesson(NamedTuple):
    """The instructions for agents: a whole file of ours, or a section of a page."""

    path: str
    body: str
    section: bool = False

    def text_for(self, command: str) -> str:
        """The instructions, which say so where the program has to be called by its path."""
        if command == NAME:
            return self.body
        return f"{self.body.rstrip()}\n\n{_STANDS_FOR}{command}`.\n\n"

    def command_in(self, text: str) -> str:
        """The program that such instructions have agents call."""
        _, is_named, command = text.rpartition(_STANDS_FOR)
        return command.rstrip().removesuffix("`.") if is_named else NAME


class Servers(NamedTuple):
    """The list of servers that a host starts."""

    path: str
    key: str
    kind: str = ""  # what its entries say about themselves, where they have to

    def entry(self, command: str) -> dict[str, Any]:
        """Our entry."""
        kind = {"type": self.kind} if self.kind else {}
        return {**kind, "command": command, "args": ["mcp"]}


class Places(NamedTuple):
    """Everything that is written for a host."""

    lesson: Lesson
    hooks: str | None = None  # the settings that hooks belong in
    shell_hooks: str | None = None  # the file that hooks belong in which the host runs with a shell
    servers: Servers | None = None
    listed: Servers | None = None
    """A list of servers that the host alone writes, and we only look at."""
    notes: tuple[str, ...] = ()  # what the person should know
    elsewhere: str = ""  # what to do about servers where their list is not ours to write


def places(host: str, root: str | None) -> Places:
    """Where things go for a host: in the project at `root`, or with none, for the user."""
    return HOSTS[host](root)


def _claude(root: str | None) -> Places:
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    base = os.path.join(root, ".claude") if root is not None else named or _home(".claude")
    path = os.path.join(base, "skills", "quandary", "SKILL.md")
    own = os.path.join(named or _home(), ".claude.json")
    return Places(
        Lesson(path, skill(CLAUDE)),
        hooks=os.path.join(base, "settings.json"),
        servers=None if root is None else Servers(os.path.join(root, ".mcp.json"), "mcpServers"),
        listed=Servers(own, "mcpServers") if root is None else None,
        notes=(f"the hooks need Claude Code {HOOKS_SINCE} or later",),
        elsewhere="for --user, run: claude mcp add --scope user quandary -- quandary mcp",
    )


def _codex(root: str | None) -> Places:
    home = os.environ.get("CODEX_HOME") or _home(".codex")
    folder, base = (home, home) if root is None else (root, os.path.join(root, ".codex"))
    over = os.path.join(folder, "AGENTS.override.md")
    hidden = os.path.isfile(over) and os.path.getsize(over) > 0
    return Places(
        _section(os.path.join(folder, "AGENTS.md"), CODEX),
        servers=Servers(os.path.join(base, "config.toml"), "mcp_servers"),
        shell_hooks=os.path.join(home, "hooks.json") if root is None else None,
        notes=(f"Codex reads {over} in the place of AGENTS.md beside it",) if hidden else (),
    )


def _gemini(root: str | None) -> Places:
    home = os.path.join(os.environ.get("GEMINI_CLI_HOME") or _home(), ".gemini")
    folder, base = (home, home) if root is None else (root, os.path.join(root, ".gemini"))
    servers = Servers(os.path.join(base, "settings.json"), "mcpServers")
    return Places(_section(os.path.join(folder, "GEMINI.md"), TYPED), servers=servers)


def _cursor(root: str | None) -> Places:
    base = _home(".cursor") if root is None else os.path.join(root, ".cursor")
    lesson = Lesson(os.path.join(base, "skills", "quandary", "SKILL.md"), skill(TYPED))
    if root is not None:
        body = _add_heading(TYPED, description=f'"{SUMMARY}"', alwaysApply="true")
        lesson = Lesson(os.path.join(base, "rules", "quandary.mdc"), body)
    return Places(lesson, servers=Servers(os.path.join(base, "mcp.json"), "mcpServers"))


def _vscode(root: str | None) -> Places:
    if root is not None:
        lesson = _section(os.path.join(root, ".github", "copilot-instructions.md"), TYPED)
        base = os.path.join(root, ".vscode")
    else:
        body = _add_heading(TYPED, description=f'"{SUMMARY}"', applyTo='"**"')
        lesson = Lesson(_home(".copilot", "instructions", "quandary.instructions.md"), body)
        data = os.environ.get("XDG_CONFIG_HOME") or _home(".config")
        data = _home("Library", "Application Support") if sys.platform == "darwin" else data
        base = os.path.join(data, "Code", "User")
    return Places(lesson, servers=Servers(os.path.join(base, "mcp.json"), "servers", "stdio"))


def _home(*parts: str) -> str:
    return os.path.join(os.path.expanduser("~"), *parts)


HOSTS: dict[str, Callable[[str | None], Places]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "cursor": _cursor,
    "vscode": _vscode,
}


def skill(lesson: str) -> str:
    """A lesson as a skill, which is loaded when it is needed."""
    return _add_heading(lesson, name=NAME, description=f'"{SUMMARY}"')


def _add_heading(lesson: str, **lines: str) -> str:
    heading = "".join(f"{name}: {value}\n" for name, value in lines.items())
    return f"---\n{heading}---\n\n{lesson}\n"


def _section(path: str, lesson: str) -> Lesson:
    return Lesson(path, f"#{lesson}", section=True)


#
# What is written into settings is run long after we have ended, so it must not be a place that goes
# away with a cache: uv, pipx and npm keep there what `uvx`, `pipx run` and `npx` run.

REMEDY = "install it to stay, for instance with `uv tool install quandary`"

Scope = Literal["project", "user"]

_CACHES = frozenset({".cache", "caches", "_npx", "archive-v0", "builds-v0", "environments-v2"})
_CACHE_VARIABLES = ("UV_CACHE_DIR", "XDG_CACHE_HOME", "npm_config_cache")


def find_command(scope: Scope) -> tuple[str, str]:
    """The name where it leads to a program that lasts, the path only in a user's own settings.
    Files of a project are for everyone who works on it, so that no path of this machine belongs
    there. With it comes what the person should know about it.
    """
    lasting, reasons = [], []
    for folder in os.get_exec_path():
        place = shutil.which(NAME, path=folder) if os.path.isabs(folder) else None
        why = why_not(place) if place else None
        if place and why:
            reasons.append(f"{place} {why}")
        elif place:
            lasting.append(place)
    environments = [_environment(place) for place in lasting]
    if not all(environments):
        return NAME, ""
    if scope == "project" and lasting:
        note = f"quandary is on PATH only through {environments[0]}; start your agent from there"
        return NAME, note
    if scope == "user":
        # The program as it is running now, and the one that came with this Python.
        folders = [os.path.dirname(path) for path in (sys.argv[0], sys.executable)]
        beside = [shutil.which(NAME, path=os.path.abspath(folder)) for folder in folders if folder]
        for place in (*lasting, *beside):
            if place and why_not(place) is None:
                return place, ""
    if reasons:
        raise QuandaryError(f"{reasons[0]}; {REMEDY}")
    hint = "" if scope == "user" else ", or use --user"
    raise QuandaryError(f"the command quandary is not on PATH; {REMEDY}{hint}")


def why_not(path: str) -> str | None:
    """Why a program may not be there tomorrow; nothing if it is likely to stay."""
    caches = [folder for name in _CACHE_VARIABLES if (folder := os.environ.get(name))]
    for place in {os.path.abspath(path), os.path.realpath(path)}:
        parts = [part.casefold() for part in place.split(os.sep)]
        if _is_below(place, temporary_folders()):
            return "is in a temporary folder"
        named = not _CACHES.isdisjoint(parts) or ("uv", "cache") in pairwise(parts)
        if named or _is_below(place, caches):
            return "is in a cache, which can be emptied at any time"
    return None


def temporary_folders() -> list[str]:
    """Where systems put what need not stay."""
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP", "XDG_RUNTIME_DIR")]
    usual = ["/tmp", "/var/tmp", "/dev/shm", "/private/var/folders"]  # noqa: S108 - not used as one
    return [folder for folder in (tempfile.gettempdir(), *named, *usual) if folder]


def _environment(path: str) -> str | None:
    """The virtual environment that a program is in, which is on PATH only while it is active."""
    folder = os.path.dirname(os.path.dirname(path))
    return folder if os.path.isfile(os.path.join(folder, "pyvenv.cfg")) else None


def _is_below(path: str, folders: list[str]) -> bool:
    bases = (base(folder) for folder in folders for base in (os.path.abspath, os.path.realpath))
    return any(path.startswith(base.rstrip(os.sep) + os.sep) for base in bases)
