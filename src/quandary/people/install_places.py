"""Where each host keeps its instructions, hooks and servers.

Every such fact stands here and nowhere else. Read in 2026-11, from:

- Claude Code: hooks in `.claude/settings.json` or `settings.json` of the configuration folder
  (code.claude.com/docs/en/hooks); a matcher with anything but letters, digits and a few signs is an
  unanchored regular expression; `args` beside `command` runs the program without a shell, from
  2.1.139 on (claude-code issues 58119 and 58441, react_on_rails pull request 5055; tried with
  2.1.325 on Linux); a comment makes it discard the whole file (issue 83190); skills follow
  `CLAUDE_CONFIG_DIR` (DataDog/pup pull request 622); a project's servers are in `.mcp.json`, and
  those of a user in `.claude.json`, which only Claude Code itself should write.
- Codex: `AGENTS.md` of the project, or of `CODEX_HOME`, `~/.codex` by default, unless there is an
  `AGENTS.override.md` with something in it (developers.openai.com/codex/guides/agents-md);
  `[mcp_servers.NAME]` in `config.toml` there, or in `.codex/config.toml` of a trusted project
  (docs.pipeshub.com/mcp/codex, docs.rs/tuff-adapter-codex). Tried with 0.166.0.
- Gemini CLI: `GEMINI.md` of the project or of `~/.gemini` (geminicli.com/docs/cli/gemini-md);
  `mcpServers` in `.gemini/settings.json`, comments allowed (gemini-cli pull request 422);
  `GEMINI_CLI_HOME` in the place of the home folder (its `paths.ts`). It has hooks, but of another
  shape and through a shell (geminicli.com/docs/hooks/reference), so that none are installed. Tried
  with 0.61.0, which starts no server at all in a folder that is not trusted.
- Cursor: rules of a project in `.cursor/rules/NAME.mdc` (cursor.com/docs/rules), those of a user in
  no file; skills of a user in `~/.cursor/skills` (cursor.com/docs/context/skills); `mcpServers` in
  `.cursor/mcp.json` of either (cursor.com/docs/mcp). Not tried.
- VS Code: `.github/copilot-instructions.md`; for a user `~/.copilot/instructions`, with `applyTo`
  (vscode-docs, custom-instructions.md); `servers` in `.vscode/mcp.json`, or in `mcp.json` of the
  user's profile (code.visualstudio.com/docs/agents/reference/mcp-configuration). Not tried.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.people import lessons
from quandary.people.marked import BLOCK, FILE, Marks

if TYPE_CHECKING:
    from collections.abc import Callable

MATCHER = "^(AskUserQuestion|mcp__.*__AskUserQuestion)$"
"""Claude Code's own question tool, and those of servers that stand in for it."""

HOOKS = {"PreToolUse": "pre", "PostToolUse": "post"}
HOOKS_SINCE = "2.1.139"
"""The first Claude Code that calls a hook without a shell."""


class Lesson(NamedTuple):
    """The instructions for the agent."""

    path: str
    marks: Marks
    body: str

    def read_with(self, command: str) -> str:
        """The instructions, which say so where the program has to be called by its path."""
        if command == "quandary":
            return self.body
        return f"{self.body.rstrip()}\n\nHere, `quandary` stands for `{command}`.\n\n"


class Servers(NamedTuple):
    """The list of servers that a host starts."""

    path: str
    key: str
    kind: str = ""
    """What its entries say about themselves, where they have to."""

    def entry(self, command: str) -> dict[str, Any]:
        """Our entry."""
        kind = {"type": self.kind} if self.kind else {}
        return {**kind, "command": command, "args": ["mcp"]}


class Places(NamedTuple):
    """Everything that is written for a host."""

    lesson: Lesson
    hooks: str | None = None
    """The settings that hooks belong in."""
    servers: Servers | None = None
    listed: Servers | None = None
    """A list of servers that the host alone writes, and we only look at."""
    notes: tuple[str, ...] = ()
    """What the person should know."""
    elsewhere: str = ""
    """What to do about servers where their list is not ours to write."""


def places(host: str, root: str | None) -> Places:
    """Where things go for a host: in the project at `root`, or with none, for the user."""
    return HOSTS[host](root)


def _claude(root: str | None) -> Places:
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    base = os.path.join(root, ".claude") if root is not None else named or _home(".claude")
    path = os.path.join(base, "skills", "quandary", "SKILL.md")
    own = os.path.join(named or _home(), ".claude.json")
    return Places(
        Lesson(path, FILE, lessons.skill(lessons.CLAUDE)),
        hooks=os.path.join(base, "settings.json"),
        servers=None if root is None else Servers(os.path.join(root, ".mcp.json"), "mcpServers"),
        listed=Servers(own, "mcpServers") if root is None else None,
        notes=(f"the hooks need Claude Code {HOOKS_SINCE} or later",),
        elsewhere="for --user, run: claude mcp add --scope user quandary -- quandary mcp",
    )


def _codex(root: str | None) -> Places:
    home = os.environ.get("CODEX_HOME") or _home(".codex")
    folder = root if root is not None else home
    over = os.path.join(folder, "AGENTS.override.md")
    hidden = os.path.isfile(over) and os.path.getsize(over) > 0
    base = os.path.join(root, ".codex") if root is not None else home
    return Places(
        Lesson(os.path.join(folder, "AGENTS.md"), BLOCK, lessons.section(lessons.CODEX)),
        servers=Servers(os.path.join(base, "config.toml"), "mcp_servers"),
        notes=(f"Codex reads {over} in the place of AGENTS.md beside it",) if hidden else (),
    )


def _gemini(root: str | None) -> Places:
    base = os.path.join(os.environ.get("GEMINI_CLI_HOME") or _home(), ".gemini")
    folder = root if root is not None else base
    settings = os.path.join(root, ".gemini") if root is not None else base
    return Places(
        Lesson(os.path.join(folder, "GEMINI.md"), BLOCK, lessons.section(lessons.TYPED)),
        servers=Servers(os.path.join(settings, "settings.json"), "mcpServers"),
    )


def _cursor(root: str | None) -> Places:
    base = os.path.join(root, ".cursor") if root is not None else _home(".cursor")
    if root is None:
        path = os.path.join(base, "skills", "quandary", "SKILL.md")
        lesson = Lesson(path, FILE, lessons.skill(lessons.TYPED))
    else:
        path = os.path.join(base, "rules", "quandary.mdc")
        body = lessons.headed(lessons.TYPED, description=f'"{lessons.SUMMARY}"', alwaysApply="true")
        lesson = Lesson(path, FILE, body)
    return Places(lesson, servers=Servers(os.path.join(base, "mcp.json"), "mcpServers"))


def _vscode(root: str | None) -> Places:
    if root is not None:
        path = os.path.join(root, ".github", "copilot-instructions.md")
        servers = Servers(os.path.join(root, ".vscode", "mcp.json"), "servers", "stdio")
        return Places(Lesson(path, BLOCK, lessons.section(lessons.TYPED)), servers=servers)
    path = _home(".copilot", "instructions", "quandary.instructions.md")
    body = lessons.headed(lessons.TYPED, description=f'"{lessons.SUMMARY}"', applyTo='"**"')
    servers = Servers(os.path.join(_application_data(), "Code", "User", "mcp.json"), "servers")
    return Places(Lesson(path, FILE, body), servers=servers._replace(kind="stdio"))


def _home(*parts: str) -> str:
    return os.path.join(os.path.expanduser("~"), *parts)


def _application_data() -> str:
    """Where programs like VS Code keep what belongs to the user."""
    if sys.platform == "darwin":
        return _home("Library", "Application Support")
    if sys.platform == "win32":
        return os.environ.get("APPDATA") or _home("AppData", "Roaming")
    return os.environ.get("XDG_CONFIG_HOME") or _home(".config")


HOSTS: dict[str, Callable[[str | None], Places]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "cursor": _cursor,
    "vscode": _vscode,
}
