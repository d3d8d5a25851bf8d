"""What the tools of a chat client do: the desk, with the client as the caller."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from quandary.desk import begin as desk
from quandary.desk import reply as replies
from quandary.desk.ages import end_what_expired
from quandary.desk.authority import Caller, require_may
from quandary.desk.begin import Asking, Showing
from quandary.desk.state import encode_runs, encode_state
from quandary.desk.timeline import events
from quandary.errors import NotFound, ParseError, QuandaryError
from quandary.formats import lint, sources
from quandary.formats.markdown import parse
from quandary.journal import runs
from quandary.model.text import printable
from quandary.settings import project_of
from quandary.settings.files import markdown_files, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quandary.desk.authority import Scope
    from quandary.desk.begin import Wanted
    from quandary.desk.plans import Agents
    from quandary.desk.walks import Walks
    from quandary.formats.lint import Checked
    from quandary.journal.store import State, Store
    from quandary.model.asks import Reply
    from quandary.people.mcp.tools import Checking, Listing

WHO: Final = "agent"
THROUGH: Final = "mcp"
"""As whose word everything is recorded that comes from a client.

A person may have filled in its form. But an agent drives the program that showed it, so that it is
never recorded as the person's own."""


class Client(NamedTuple):
    """The client at the other end."""

    name: str = ""
    """What it calls itself."""
    forms: bool = False
    """It can show somebody a form."""
    titled: bool = True
    """Its forms have titled choices, and lists to tick."""
    in_rounds: bool = False
    """It calls again with what was filled in; else it is sent the form during the call."""


class Listed(NamedTuple):
    """A tree of the project."""

    name: str
    path: str
    about: str


class House:
    """Everything that tools do, with the current folder as the project.

    Callers on other machines are confined to the `scope`. `report` writes what `check` found.
    """

    def __init__(
        self,
        store: Store,
        walks: Walks,
        agents: Callable[[], Agents],
        report: Callable[[Sequence[Checked]], bytes],
        scope: Scope | None = None,
    ) -> None:
        self.store = store
        self.walks = walks
        self.agents = agents
        self.report = report
        self.scope = scope

    def caller(self, by: str) -> Caller:
        """The source of what a client sends."""
        return Caller(WHO, THROUGH, by, self.scope)

    def begin(self, wanted: Wanted, client: Client) -> State:
        """Begin a run, and have agents called where they come first."""
        showing = Showing(host="codex" if "codex" in client.name.casefold() else "claude")
        caller = self.caller(client.name)
        beginning = desk.prepare(self.store, caller, wanted, showing, self.agents)
        expires = wanted.expires if isinstance(wanted, Asking) else ""
        state = desk.begin(self.store, caller, beginning, showing, expires=expires)
        self.walks.follow(state)
        return state

    def record(self, run: str, reply: Reply | None, *, to: str | None, by: str) -> State:
        """Record a reply, and have agents called where they are next."""
        state = replies.record_reply(self.store, self.caller(by), run, reply, to=to)
        self.walks.follow(state)
        return state

    def encode(self, state: State) -> bytes:
        """The state of a run as JSON, just as the command line prints it."""
        return encode_state(self.store, state)

    def history(self, run: str) -> bytes:
        """The state and everything that happened, as JSON."""
        state = msgspec.Raw(self.encode(runs.look(self.store, run)))
        return msgspec.json.encode({"state": state, "entries": list(events(self.store, run))})

    def runs(self, wanted: Listing) -> bytes:
        """The newest runs of the project, as JSON."""
        end_what_expired(self.store)
        status: Any = wanted.status or None
        project = project_of(os.curdir)
        found = self.store.runs(status=status, project=project, limit=wanted.limit, newest=True)
        return encode_runs(self.store, found)

    def check(self, wanted: Checking) -> bytes:
        """What is wrong with trees, as JSON; a text has the name `-`."""
        if bool(wanted.path) == bool(wanted.text):
            raise QuandaryError("give a path, or the Markdown itself as text")
        if wanted.text:
            return self.report(lint.check_files([("-", parse(wanted.text))]))
        require_may(self.caller(""), "name a file", path=wanted.path)
        found = [(path, parse(read_text(path))) for path in markdown_files(wanted.path)]
        if not found:
            raise ParseError(f"{printable(wanted.path)}: no Markdown files below it")
        return self.report(lint.check_files(found))

    def trees(self) -> list[Listed]:
        """The trees of the project, each name once."""
        found: dict[str, Listed] = {}
        for path, tree in sources.in_project(os.curdir):
            if not tree.fenced:
                about = " ".join(tree.trigger.split())
                found.setdefault(tree.name, Listed(tree.name, path, about))
        return list(found.values())

    def tree(self, name: str) -> str:
        """One of them, as Markdown, with what it inherits."""
        from quandary.formats.markdown.writing import format as written  # noqa: PLC0415 - only when read

        if sources.split(name)[0] is not None:
            raise NotFound(f"{printable(name)} is no name of a tree")
        return written(sources.load(name))
