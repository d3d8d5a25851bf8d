"""Who may do what: the one place that decides it, for every door alike."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from quandary.errors import NotFound, ParseError, PersonRequired, Rejected
from quandary.journal import runs
from quandary.journal.entries import Who
from quandary.settings import project_of, user_settings
from quandary.settings.files import is_ignored, is_inside, project_root

if TYPE_CHECKING:
    from quandary.journal.entries import Source
    from quandary.journal.store import Run, Store

NOWHERE = "-"  # no project is called that; projects are called by their folders
Act = Literal[
    "begin", "answer", "amend", "withdraw", "start agents", "name a file", "name an address"
]

_RUNNERS = frozenset({"node", "bun", "deno", "python", "python3", "bash", "sh"})
"""What starts a script, so that the word behind it is the program's name."""
_SCRIPTS = (".js", ".mjs", ".cjs", ".py", ".exe")


class Scope(msgspec.Struct, frozen=True):
    """The project that callers from elsewhere are confined to."""

    project: str  # its name in the journal; worktrees of one repository are one project
    folder: str  # the folder that its files are in


class Caller(msgspec.Struct, frozen=True):
    """The source of a request: who sends it, through which door, and under which name."""

    who: Who
    through: str
    by: str = ""
    scope: Scope | None = None  # what a caller from elsewhere is confined to
    is_user: bool = False  # it came with a login, or with a user's own token

    @property
    def source(self) -> dict[str, Any]:
        """As the journal records it."""
        return {"who": self.who, "through": self.through, "by": self.by}


def require_hand(caller: Caller) -> None:
    """Refuse a person at a terminal where their settings rule that out, or an agent is seen."""
    if (caller.who, caller.through) != ("person", "terminal"):
        return
    if "terminal" not in read_doors(user_settings().table("authority")):
        raise HandRefused("your settings let a person answer only in the browser")
    if seen := find_agent():
        raise HandRefused(f"this is the shell of an agent ({seen})")


def read_doors(table: dict[str, Any]) -> list[str]:
    """Where a person can answer with their own hand, as the `[authority]` of the settings says."""
    for key in table.keys() - {"person"}:
        raise ParseError(f"[authority] has no key {key} (there is person)")
    doors = table.get("person", ["terminal", "web"])
    if doors not in (["web"], ["terminal", "web"], ["web", "terminal"]):
        raise ParseError(f'[authority] person is ["web"] or ["terminal", "web"], not {doors!r}')
    return list(doors)


class HandRefused(PersonRequired):
    """A person's word at a terminal that is not taken for one."""

    def __init__(self, seen: str) -> None:
        self.seen = seen
        super().__init__(
            f"{seen}, so nothing typed here counts as a person's own; answer in the browser "
            "(quandary serve), or have the agent relay the answer (quandary reply)"
        )


def find_agent() -> str:
    """What shows that an agent runs this program, in words; nothing where nothing does. It sees
    variables that agents set in their shells, and their programs among those that started this one.
    Somebody who wants to hide both can.
    """
    from quandary.settings.agents import known_agents  # noqa: PLC0415 - only at a terminal

    _, variable = shell_agent()
    if variable:
        return f"{variable} is set"
    programs = {agent.argv[0] for agent in known_agents()}
    above = next((name for name in _ancestors() if name in programs), "")
    return f"{above} has started it" if above else ""


def shell_agent() -> tuple[str, str]:
    """The agent in whose shell this runs, by its codename, and the variable that says so."""
    from quandary.settings.agents import known_agents  # noqa: PLC0415 - not for every command

    seen = ((a.name, one) for a in known_agents() for one in a.shell if one in os.environ)
    return next(seen, ("", ""))


def _ancestors() -> Iterator[str]:
    """The names of the programs above this one, the nearest first."""
    process = os.getppid()
    while process > 0:  # in a container, an agent can be the first of all
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
                before, _, after = file.read().rpartition(")")
            with open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
                first, *rest = file.read().split("\0")
        except OSError:  # another system, or somebody else's
            return
        yield before.partition("(")[2]
        names = [os.path.basename(first).lstrip("-")]
        if names[0] in _RUNNERS and "-c" not in rest[:1]:
            names += [os.path.basename(word) for word in rest if word[:1] not in ("", "-")][:1]
        for name in names:
            stem, ending = os.path.splitext(name)
            yield stem if ending in _SCRIPTS else name
        process = int(after.split()[1])


def require_may(caller: Caller, act: Act, path: str | None = None) -> None:
    """Refuse what a caller may not do. A person is one only with their own hand. Whoever works on
    this machine, at a terminal or through an agent's command line, may do anything. A caller from
    elsewhere names only files of the project, amends only as a person who has logged in, and starts
    agents, which spend money and run programs, only so or with a user's own token.
    """
    require_hand(caller)
    if caller.scope is None:
        return
    if act == "name a file" and not (path is None or is_inside(caller.scope.folder, path)):
        raise NotFound(f"{path!a} is not in this project")
    if act == "name an address":
        raise PersonRequired(
            f"{path!a} is not in [[callbacks]] of the server's settings; nothing is sent there"
        )
    if act == "amend" and caller.who != "person":
        raise PersonRequired("only a person can change an answer: log in first")
    if act == "start agents" and not caller.is_user:
        raise PersonRequired(
            "only a person can start agents: log in, send a user's own token, or type "
            "`quandary walk` in a terminal"
        )


def may(caller: Caller, act: Act, path: str | None = None) -> bool:
    """Whether a caller may do something."""
    try:
        require_may(caller, act, path)
    except (PersonRequired, NotFound):
        return False
    return True


def project_seen(caller: Caller, wanted: str | None = None) -> str | None:
    """The project whose runs a caller sees; nothing for one who sees those of every project. A
    login sees every project of its store, and may narrow that to the `wanted` one. A token, a chat
    client and a stranger see only the project that is served, and nothing of any other.
    """
    if caller.scope is None or caller.who == "person":
        return wanted
    return caller.scope.project if wanted in (None, caller.scope.project) else NOWHERE


def find_run(store: Store, caller: Caller, prefix: str) -> str:
    """The run that a caller means, among those that they see."""
    return runs.find_run(store, prefix, project_seen(caller))


def open_run(store: Store, caller: Caller, prefix: str) -> runs.OpenRun:
    """The same, opened."""
    return runs.open_run(store, runs.find_row(store, prefix, project_seen(caller)))


def is_from_elsewhere(source: Caller | Source) -> bool:
    """Whether something comes through a server or a chat client."""
    return source.through in ("web", "mcp")


def may_see_files(source: Caller | Source) -> bool:
    """Whether what is in files is shown to whoever asked for it: at this machine, or logged in."""
    return source.who == "person" or not is_from_elsewhere(source)


def require_shown(run: Run, folder: str, path: str) -> None:
    """Refuse to show a file of a run's folder to somebody elsewhere, even to a login. It is shown
    if it belongs to the run's own project, wherever links lead, is not hidden (no part of its path
    begins with a dot), and is not ignored by git.
    """
    real = os.path.realpath(path)
    root = os.path.realpath(project_root(folder) or folder)
    own = project_root(os.path.dirname(real)) or root
    if project_of(folder) != run.project or own != root or not is_inside(root, real):
        shown = os.path.relpath(real, root)
        raise Rejected(f"{shown!a} does not belong to the project of the run")
    require_plain(root, real)


def require_plain(root: str, path: str) -> None:
    """Refuse a file of a project that is hidden or ignored by git."""
    root, real = os.path.realpath(root), os.path.realpath(path)
    shown = os.path.relpath(real, root)
    if any(part.startswith(".") for part in shown.split(os.sep)):
        raise Rejected(f"{shown!a} is hidden, so it is not shown")
    if is_ignored(real, root):
        raise Rejected(f"{shown!a} is ignored by git, so it is not shown")


def scope_of(folder: str) -> Scope:
    """The project that a folder is in."""
    return Scope(project_of(folder), project_root(folder) or os.path.abspath(folder))
