"""What the server needs from the rest of the program; the command line gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from quandary.journal.store import State, Store
    from quandary.model.ask import Reply
    from quandary.people.mcp.tools import Beginning, Checking, Listing

WHO: Final = "agent"
THROUGH: Final = "mcp"
"""As whose word everything is booked that comes from a client.

A person may have filled in its form. But an agent drives the program that showed it, so that it is
never booked as the person's own."""


class Caller(NamedTuple):
    """The client at the other end."""

    name: str = ""
    """What it calls itself."""
    forms: bool = False
    """It can put a form before somebody."""
    titled: bool = True
    """Its forms have titled choices, and lists to tick."""
    in_rounds: bool = False
    """It calls again with what was filled in; else it is sent the form during the call."""


class Listed(NamedTuple):
    """A tree of the project."""

    name: str
    path: str
    about: str


class House(Protocol):
    """The store, and what can be done in it. Every method may take a while."""

    @property
    def store(self) -> Store:
        """Where runs are kept."""

    def begin(self, wanted: Beginning, caller: Caller) -> State:
        """Begin a run."""

    def advance(self, run: str, reply: Reply | None, *, to: str | None, by: str) -> State:
        """Book a reply, do what the house has to do, and have agents called where they are next."""

    def told(self, state: State) -> bytes:
        """The state of a run as JSON, just as the command line prints it."""

    def history(self, run: str) -> bytes:
        """The state and everything that happened, as JSON."""

    def runs(self, wanted: Listing) -> bytes:
        """The newest runs, as JSON."""

    def check(self, wanted: Checking) -> bytes:
        """What is wrong with trees, as JSON."""

    def trees(self) -> list[Listed]:
        """The trees of the project."""

    def tree(self, name: str) -> str:
        """One of them, as Markdown."""
