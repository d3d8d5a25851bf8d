"""A chat client: the real one, with somebody at it who fills in forms as a test says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from quandary.cli.servers import service_of, walks_of
from quandary.desk.authority import scope_of
from quandary.doors.mcp import build
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply
from runs import TREE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp.client import ClientRequestContext

    from quandary.journal.store import State

ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
"""The protocol as it is up to 2025-11-25, and from 2026-07-28 on."""
CONTEXT = "The plan has two steps. None has begun."
ITEMS = [
    {"id": "1.1", "label": "Auth", "title": "Auth design", "context": "Tokens expire."},
    {"id": "1.2", "label": "Cache", "title": "Caching"},
]
MULTI = """\
### ¶ASK_TAGS
## Decision: Tags
- [ ] [SEC] Security
- [ ] [DOC] Documents
- [ ] [UX] Usability
- [OTH] Other
  - [NONE] None of these
  - [MORE] Ask somebody else
"""
ASK = {"source": "t.md", "context": CONTEXT, "items": ITEMS}
ASK_ONE = {"source": "t.md", "context": CONTEXT, "items": ITEMS[:1]}


class Said(NamedTuple):
    """What a tool gave back: its data, the sentence in it, and whether it is an error."""

    data: dict[str, Any]
    then: str
    failed: bool


class Person:
    """Fills in one form after another, each with what comes next; keeps what it was shown.

    A dictionary is what is filled in, `decline` and `cancel` are that; a number before them is how
    many seconds are taken over it.
    """

    def __init__(self, *turns: dict[str, Any] | str | tuple[float, dict[str, Any] | str]) -> None:
        self.turns = list(turns)
        self.forms: list[types.ElicitRequestFormParams] = []

    async def __call__(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the name is the client's
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult | types.ErrorData:
        """Answer as the next turn says; whoever is asked more often than that has no answer."""
        assert isinstance(params, types.ElicitRequestFormParams)
        self.forms.append(params)
        turn = self.turns.pop(0) if self.turns else "cancel"
        seconds, turn = turn if isinstance(turn, tuple) else (0.0, turn)
        await anyio.sleep(seconds)
        if turn == "broken":
            return types.ErrorData(code=types.INTERNAL_ERROR, message="no screen")
        if isinstance(turn, dict):
            return types.ElicitResult(action="accept", content=turn)
        return types.ElicitResult(action="decline" if turn == "decline" else "cancel")


class Place:
    """A project with a tree and a store, and a server in it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        (folder / ".quandary").mkdir()
        (folder / "t.md").write_text(TREE, encoding="utf-8")
        monkeypatch.chdir(folder)
        monkeypatch.setenv("QUANDARY_STORE", str(folder / "journal.db"))
        self.store = SqliteStore(folder / "journal.db")

    def at(
        self,
        work: Callable[[Client], Awaitable[Any]],
        person: Person | None,
        mode: str,
        *,
        hold: float = 20.0,
        is_user: bool = False,
        info: types.Implementation | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the work gives back
        """Do something as a client of the server in this process."""
        scope = scope_of(str(self.folder))
        service = service_of(self.store, walks_of(self.store), scope, is_user=is_user)
        server = build(service, hold=hold)

        async def connected() -> Any:  # noqa: ANN401 - the same
            async with Client(
                server, mode=mode, elicitation_callback=person, client_info=info
            ) as client:
                return await refusable(work, client)

        return told_or_raised(anyio.run(connected))

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        person: Person | None,
        mode: str,
        *,
        hold: float = 20.0,
        is_user: bool = False,
    ) -> Said:
        """Call one tool."""

        async def work(client: Client) -> Said:
            return said(await client.call_tool(tool, arguments))

        result: Said = self.at(work, person, mode, hold=hold, is_user=is_user)
        return result


async def refusable(work: Callable[[Client], Awaitable[Any]], client: Client) -> Any:  # noqa: ANN401
    """What came of the work, or the error; raised within a connection, it would come wrapped."""
    try:
        return await work(client)
    except MCPError as error:
        return error


def told_or_raised(result: Any) -> Any:  # noqa: ANN401 - the same
    """What came of the work."""
    if isinstance(result, MCPError):
        raise result
    return result


def said(result: types.CallToolResult) -> Said:
    """What a tool gave back."""
    (text,) = [block.text for block in result.content if isinstance(block, types.TextContent)]
    if result.is_error:
        return Said({}, text, failed=True)
    data = json.loads(text)
    assert data == result.structured_content
    return Said(data, data.pop("then", ""), failed=False)


def bodies(place: Place, run: str, kind: type[Any]) -> list[Any]:
    """The entries of a kind, of a run."""
    return [body for entry in place.store.entries(run) if isinstance(body := entry.read(), kind)]


def booked(place: Place, state: State, code: str) -> State:
    """Somebody at a terminal answers what waits."""
    assert state.key is not None
    reply = Reply((Answer(state.key, (code,)),))
    return runs.advance(
        place.store, state.run, reply, to=state.key, who="person", through="terminal"
    )
