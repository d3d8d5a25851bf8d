"""The server as clients reach it: over the pipe of a process, and within a web server."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import uvicorn
from litestar import Litestar, asgi
from mcp import Client, StdioServerParameters

from mcp_clients import (
    ASK,
    ASK_ONE,
    ERAS,
    Person,
    Place,
    Said,
    refusable,
    said,
    told_or_raised,
)
from program import PROGRAM, environment, start
from quandary.cli.servers import service_of, walks_of
from quandary.desk.authority import scope_of
from quandary.doors import mcp
from quandary.doors.mcp import build, mounted
from quandary.settings import read_settings, trust

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from litestar.types import Receive, Scope, Send

HELLO = (
    b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": '
    b'"2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}\n'
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A project."""
    return Place(tmp_path, monkeypatch)


def called(where: Any, person: Person | None, mode: str, *calls: tuple[str, dict[str, Any]]) -> Any:  # noqa: ANN401
    """Connect, call some tools, and give what each of them said."""

    async def work(client: Client) -> list[Said]:
        return [said(await client.call_tool(tool, arguments)) for tool, arguments in calls]

    async def connected() -> Any:  # noqa: ANN401 - what they said, or an error
        async with Client(where, mode=mode, elicitation_callback=person) as client:
            return await refusable(work, client)

    return told_or_raised(anyio.run(connected))


# -- over a pipe ---------------------------------------------------------------------------------


def program(*words: str) -> StdioServerParameters:
    """The server as a client starts it."""
    command, *arguments = PROGRAM
    return StdioServerParameters(
        command=command, args=[*arguments, "mcp", *words], env=environment()
    )


@ERAS
def test_a_client_starts_the_program_and_its_person_answers(place: Place, mode: str) -> None:
    """The whole way: a process, a form with two questions, another form, the result."""
    person = Person({"answer_1": "OK", "answer_2": "OTH"}, {"answer_1": "SPL"})
    (told,) = called(program(), person, mode, ("ask", ASK))
    assert [c["path"] for c in told.data["result"]["chosenItems"]] == ["OK", "OTH/SPL"]
    assert place.store.runs()[0].status == "done"


def test_over_a_pipe_too_there_are_clients_without_forms(place: Place) -> None:
    """They get the question to relay, and can look at the run."""
    (told, listed) = called(program(), None, "auto", ("ask", ASK_ONE), ("runs", {}))
    assert told.then == mcp.RELAY.replace("{run}", told.data["run"])
    assert [row["run"] for row in listed.data["runs"]] == [place.store.runs()[0].id]


def test_the_project_can_be_named(place: Place, tmp_path: Path) -> None:
    """A client that starts its servers anywhere says where the project is."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "t.md").write_text("no trees", encoding="utf-8")
    words = ("--project", str(tmp_path), "--store", str(place.folder / "other.db"))
    (told,) = called(program(*words), None, "legacy", ("ask", ASK_ONE))
    assert told.data["status"] == "waiting"
    assert place.store.runs() == []
    ended = start("mcp", "--project", "nowhere")
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "nowhere: no folder to work in" in ended.err


def test_a_client_starts_agents_only_where_its_user_has_agreed(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no login and no token; what counts is `quandary trust`, typed by a person."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    argv = f'["{sys.executable}", "-c", ""]'
    first = 'default_cli = "BOT"\ndefault_retry_count = 0\n'
    settings = f'{first}[agents.BOT]\nargv = {argv}\nprompt = "stdin"\n'
    (tmp_path / "quandary.toml").write_text(settings, encoding="utf-8")
    chart = "flowchart TD\n  a([Start]) --> b[Greet]\n  b --> c([End])\n"
    (tmp_path / "c.mmd").write_text(chart, encoding="utf-8")
    walk = ("walk", {"source": "c.mmd", "item": {"title": "Bob"}})
    (refused,) = called(program(), None, "auto", walk)
    assert refused.failed
    assert "only a person can start agents" in refused.then
    assert place.store.runs() == []
    known = read_settings(str(tmp_path))
    named: dict[trust.Matter, object] = {"agents": trust.project_table(known, "agents")}
    trust.give(known, trust.consent_to(known, named, "2026-01-01"))
    (begun,) = called(program(), None, "auto", walk)
    assert not begun.failed
    assert [row.id for row in place.store.runs()] == [begun.data["run"]]


@pytest.mark.parametrize(("ending", "status"), [("closed", 0), ("interrupted", 130)])
def test_the_program_ends_with_its_pipe_or_with_ctrl_c(
    place: Place, ending: str, status: int
) -> None:
    """It ends at once either way, with nothing on its output but the protocol."""
    del place
    process = subprocess.Popen(
        [*PROGRAM, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HELLO)
    process.stdin.flush()
    assert process.stdout.readline().startswith(b'{"jsonrpc":"2.0","id":1,"result"')
    if ending == "interrupted":
        process.send_signal(signal.SIGINT)
        process.wait(20)
    out, err = process.communicate(timeout=20)
    told = b"quandary: interrupted\n" if ending == "interrupted" else b""
    assert (process.returncode, out, err) == (status, b"", told)


def test_help_and_other_commands_do_without_the_package() -> None:
    """It is slow to load, so that only the server itself loads it."""
    script = (
        "import sys; from quandary.cli import run; run(['mcp', '--help']); run(['runs']);"
        "assert not {'mcp', 'mcp_types', 'pydantic', 'anyio'} & set(sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, check=False
    )
    assert (ended.returncode, ended.stderr.count(b"Traceback")) == (0, 0), ended


def test_without_the_package_it_says_what_to_install(place: Place) -> None:
    """The extra is named, in one line."""
    del place
    script = (
        "import sys; sys.modules['mcp_types'] = None; from quandary.cli import run;"
        "sys.exit(run(['mcp']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr == (
        b"quandary: chat clients need more packages (mcp_types): pip install 'quandary[mcp]'\n"
    )


# -- within a web server -------------------------------------------------------------------------


@contextmanager
def served(place: Place) -> Iterator[str]:
    """A web server with the tools at /mcp, on a port of its own."""
    part = mounted(
        build(service_of(place.store, walks_of(place.store), scope_of(str(place.folder))))
    )

    @asgi("/mcp", is_mount=True, copy_scope=True)
    async def tools(scope: Scope, receive: Receive, send: Send) -> None:
        await part.application(scope, receive, send)  # type: ignore[arg-type]  # two spellings of ASGI

    @asynccontextmanager
    async def running(_: Litestar) -> AsyncIterator[None]:
        async with part.running():
            yield

    app = Litestar([tools], lifespan=[running], openapi_config=None)
    config = uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=2)
    web = uvicorn.Server(config)
    thread = threading.Thread(target=web.run)
    thread.start()
    try:
        while not web.started:
            assert thread.is_alive()
            thread.join(0.02)
        port = web.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        web.should_exit = True
        thread.join(20)


@ERAS
def test_a_client_of_a_web_server_is_asked_too(place: Place, mode: str) -> None:
    """Forms, follow-ups and looking work over HTTP as they do over a pipe."""
    person = Person({"answer_1": "OTH"}, {"answer_1": "MOV"})
    with served(place) as address:
        told, seen = called(address, person, mode, ("ask", ASK_ONE), ("runs", {}))
        (refused,) = called(address, None, mode, ("check", {"path": "/etc"}))
    assert told.data["result"]["chosenItems"][0]["path"] == "OTH/MOV"
    assert seen.data["runs"][0]["run"] == told.data["run"]
    assert refused.failed


@ERAS
def test_a_client_of_a_web_server_without_forms_gets_the_relay_payload(
    place: Place, mode: str
) -> None:
    """Nobody can be shown anything there."""
    with served(place) as address:
        (told,) = called(address, None, mode, ("ask", ASK_ONE))
    assert told.data["ask"]["reply_with"][2] == told.data["run"]
