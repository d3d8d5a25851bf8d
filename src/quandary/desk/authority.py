"""Who may do what: the one place that decides it, for every door alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from quandary.errors import NotFound, PersonRequired, Rejected
from quandary.settings import project_of
from quandary.settings.files import project_root

if TYPE_CHECKING:
    from quandary.journal.entries import Who
    from quandary.journal.store import Run

Act = Literal["begin", "answer", "amend", "withdraw", "resume", "name a file", "show a file"]


class Scope(NamedTuple):
    """The project that callers from elsewhere are confined to."""

    project: str
    """Its name in the journal; worktrees of one repository are one project."""
    folder: str
    """The folder that its files are in."""


class Caller(NamedTuple):
    """The source of a request: who sends it, through which door, and under which name."""

    who: Who
    through: str
    by: str = ""
    scope: Scope | None = None
    """What a caller from elsewhere is confined to; nothing for one on this machine."""
    is_user: bool = False
    """The request came with a user's own token."""

    @property
    def source(self) -> dict[str, Any]:
        """As the journal records it."""
        return {"who": self.who, "through": self.through, "by": self.by}


def require_may(caller: Caller, act: Act, run: Run | None = None, path: str | None = None) -> None:
    """Refuse what a caller may not do.

    Whoever works on this machine, at a terminal or through an agent's command line, may do
    anything. A caller from elsewhere names only files of the project, has only files shown that
    belong to the run's own project, amends only as a person who has logged in, and resumes a run,
    which spends money, only so or with a user's own token.
    """
    if caller.scope is None:
        return
    if act == "name a file" and not (path is None or is_inside(caller.scope.folder, path)):
        raise NotFound(f"{path!a} is not in this project")
    if act == "show a file" and (run is None or run.project != caller.scope.project):
        raise Rejected("files of another project are not shown here")
    if act == "amend" and caller.who != "person":
        raise PersonRequired("only a person can change an answer: log in first")
    if act == "resume" and not (caller.who == "person" or caller.is_user):
        raise PersonRequired("only a person can resume a run: log in, or send a user's token")


def may(caller: Caller, act: Act) -> bool:
    """Whether a caller may do something at all."""
    try:
        require_may(caller, act)
    except PersonRequired:
        return False
    return True


def is_inside(folder: str, path: str) -> bool:
    """Whether a path leads to something below a folder, by whatever way; no path leads nowhere."""
    try:
        root = os.path.realpath(folder)
        return os.path.commonpath([root, os.path.realpath(path)]) == root
    except (OSError, ValueError):  # such as a NUL in it
        return False


def scope_of(folder: str) -> Scope:
    """The project that a folder is in."""
    return Scope(project_of(folder), project_root(folder) or os.path.abspath(folder))
