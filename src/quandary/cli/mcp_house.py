"""The house as the tools of a chat client see it: one store, one project, the usual deeds."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from quandary import deeds
from quandary.cli import beginnings, reports, running
from quandary.cli.ages import end_what_expired, later
from quandary.cli.runs import as_json
from quandary.desk import sheets
from quandary.errors import NotFound, ParseError, QuandaryError
from quandary.formats import lint, sources
from quandary.formats.files import markdown_files, project_root, read_text
from quandary.formats.markdown import parse
from quandary.formats.visible import printable
from quandary.journal import replay
from quandary.people.mcp.house import THROUGH, WHO, Listed
from quandary.people.mcp.tools import Asking, Gating, Splitting
from quandary.people.timeline import events

if TYPE_CHECKING:
    from quandary.cli.beginnings import Begun
    from quandary.journal.store import State, Store
    from quandary.model.ask import Reply
    from quandary.people.mcp.house import Caller
    from quandary.people.mcp.tools import Beginning, Checking, Listing


class McpHouse:
    """Everything that tools do, with the current folder as the project.

    Where it is `confined`, as for callers on other machines, no file outside of the project is
    named to it.
    """

    def __init__(self, store: Store, *, confined: bool = False) -> None:
        self.store = store
        self.confined = confined

    # -- runs ------------------------------------------------------------------------------------

    def begin(self, wanted: Beginning, caller: Caller) -> State:
        """Begin a run, and have agents called where they come first."""
        box = sheets.find_host("codex" if "codex" in caller.name.casefold() else "claude")
        begun = self._begun(wanted, box)
        age = wanted.expires if isinstance(wanted, Asking) else ""
        state = replay.begin(
            self.store,
            begun.flow,
            {**begun.arguments, "via": "relay", "host": box.name},
            documents=begun.documents,
            project=running.project(),
            who=WHO,
            through=THROUGH,
            by=caller.name,
            expires=later(age) if age else None,
        )
        if state.deed is not None:
            return self.advance(state.run, None, to=None, by=caller.name)
        self._have_called(state)
        return state

    def _begun(self, wanted: Beginning, box: sheets.Host) -> Begun:
        if isinstance(wanted, Asking):
            self._require_inside(sources.split(wanted.source)[0] if not wanted.text else None)
            return beginnings.decide(wanted, box.limits)
        if isinstance(wanted, Splitting):
            return beginnings.split(wanted, box.limits)
        if isinstance(wanted, Gating):
            self._require_inside(wanted.folder)
            return beginnings.gate(self.store, wanted, box.limits)
        self._require_inside(sources.split(wanted.source)[0])
        self._require_inside(wanted.workdir or None)
        return beginnings.walk(wanted, box.limits)

    def advance(self, run: str, reply: Reply | None, *, to: str | None, by: str) -> State:
        """Book a reply, do what the house has to do, and have agents called where they are next."""
        state = replay.advance(
            self.store,
            run,
            reply,
            to=to,
            who=WHO,
            through=THROUGH,
            by=by,
            deeds=deeds.of(self.store, run),
        )
        self._have_called(state)
        return state

    def _have_called(self, state: State) -> None:
        """Start the program that makes a run's calls. It outlives this one, as the run may."""
        if not state.calls:
            return
        words = [sys.executable, "-m", "quandary", "walk", "--resume", state.run, "--via", "relay"]
        path = self.store.address
        walking = subprocess.Popen(  # noqa: S603 - our own program, no shell
            words,
            # An address can hold a password, and everybody on the machine can read arguments.
            env={**os.environ, "QUANDARY_STORE": path} if path else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        threading.Thread(target=walking.wait, daemon=True).start()

    # -- what is known ---------------------------------------------------------------------------

    def told(self, state: State) -> bytes:
        """The state of a run as JSON, just as the command line prints it."""
        return running.state_bytes(self.store, state)

    def history(self, run: str) -> bytes:
        """The state and everything that happened, as JSON."""
        told = msgspec.Raw(self.told(replay.look(self.store, run)))
        return msgspec.json.encode({"state": told, "entries": list(events(self.store, run))})

    def runs(self, wanted: Listing) -> bytes:
        """The newest runs of the project, as JSON."""
        end_what_expired(self.store)
        status: Any = wanted.status or None
        found = self.store.runs(
            status=status, project=running.project(), limit=wanted.limit, newest=True
        )
        return as_json(self.store, found)

    # -- trees -----------------------------------------------------------------------------------

    def check(self, wanted: Checking) -> bytes:
        """What is wrong with trees, as JSON; a text has the name `-`."""
        if bool(wanted.path) == bool(wanted.text):
            raise QuandaryError("give a path, or the Markdown itself as text")
        if wanted.text:
            return reports.json_report(lint.check_files([("-", parse(wanted.text))]))
        self._require_inside(wanted.path)
        found = [(path, parse(read_text(path))) for path in markdown_files(wanted.path)]
        if not found:
            raise ParseError(f"{printable(wanted.path)}: no Markdown files below it")
        return reports.json_report(lint.check_files(found))

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

    def _require_inside(self, path: str | None) -> None:
        """Refuse a file outside of the project, where only that is open to callers."""
        if not self.confined or path is None:
            return
        root = os.path.realpath(project_root(os.curdir) or os.curdir)
        if os.path.commonpath([root, os.path.realpath(path)]) != root:
            raise NotFound(f"{printable(path)} is not in this project")
