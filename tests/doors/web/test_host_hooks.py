"""A running server as the hook of a host: whom it answers, with what, and for how long."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from hosts.people import Person
from quandary.doors.web.tokens import hashed, hook_token, signing_key
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from sites import ADAS, TOKEN, Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS = f"""\
[permissions]
route = "inbox"
wait = 60
[users.hook]  # who is one by name alone
token = "{hashed(ADAS)}"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One whose user has their permissions in the inbox."""
    home = tmp_path_factory.mktemp("home")
    (home / ".config" / "quandary").mkdir(parents=True)
    (home / ".config" / "quandary" / "config.toml").write_text(SETTINGS, encoding="utf-8")
    token = home / "token"
    token.write_text(TOKEN, encoding="utf-8")
    served = Server(home, "--token-file", str(token), home=home)
    served.start()
    yield served
    served.kill()


def said(folder: Path, command: str = "npm test", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """A permission event of Claude Code."""
    tool = {"tool_name": "Bash", "tool_input": {"command": command}, "session_id": "s1"}
    return {"cwd": str(folder), "hook_event_name": "PermissionRequest", **tool, **more}


def own(server: Server) -> dict[str, str]:
    """What a hook that install wrote sends along."""
    data = server.folder / ".local" / "share" / "quandary"
    return {"Authorization": f"Bearer {hook_token(signing_key(str(data)))}"}


def send(server: Server, event: str, data: Any, headers: dict[str, str]) -> httpx.Response:  # noqa: ANN401
    """A hook's request."""
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    address = f"{server.address}/api/hooks/{event}"
    return httpx.post(address, content=content, headers=headers, timeout=60, trust_env=False)


def waiting(server: Server) -> list[str]:
    """The runs that wait for a person."""
    return [row.id for row in runs.inbox(SqliteStore(server.folder / "journal.db"))]


def until(fits: Any) -> Any:  # noqa: ANN401 - whatever comes of it
    """What something gives as soon as it gives anything."""
    late = time.monotonic() + 20
    while not (found := fits()):
        assert time.monotonic() < late, "it took too long"
        time.sleep(0.02)
    return found


def test_only_the_users_own_hook_is_answered(server: Server, tmp_path: Path) -> None:
    """Nobody without its token, nobody through another server, and it opens nothing else."""
    others: tuple[tuple[dict[str, str], int], ...] = (
        ({}, 403),
        ({"Authorization": f"Bearer {TOKEN}"}, 403),
        ({"Authorization": f"Bearer {ADAS}"}, 403),
        ({"Authorization": "Bearer x"}, 401),
        ({**own(server), "X-Forwarded-For": "10.0.0.1"}, 401),
        ({**own(server), "Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}, 403),
    )
    for headers, status in others:
        for event in ("permission", "post"):
            assert send(server, event, said(tmp_path), headers).status_code == status, headers
    for path in ("/api/inbox", "/api/runs", "/metrics", "/"):
        refused = httpx.get(f"{server.address}{path}", headers=own(server), trust_env=False)
        assert refused.status_code == 401, path
    for event in ("session", "pre", "use"):
        assert send(server, event, said(tmp_path), own(server)).status_code in (400, 404), event
    assert waiting(server) == []


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\x00", b"[]", b"{}", b"[" * 9000, b'{"cwd": "/nowhere", "tool_name": "Bash"}'],
)
def test_what_makes_no_sense_is_answered_with_nothing(server: Server, data: bytes) -> None:
    """So that the host goes on as if nobody were here."""
    for event in ("permission", "post"):
        answered = send(server, event, data, own(server))
        assert (answered.status_code, answered.content) == (200, b"")
    assert waiting(server) == []


def test_a_decision_in_the_inbox_is_the_response(server: Server, tmp_path: Path) -> None:
    """What the command would print; and a report of the host closes what waits."""
    person, answers = Person(server), list[httpx.Response]()

    def ask() -> None:
        answers.append(send(server, "permission", said(tmp_path), own(server)))

    for code, behavior in (("ONE", "allow"), ("NO", "deny")):
        thread = threading.Thread(target=ask)
        thread.start()
        assert person.answer(person.wait()["run"], code).status_code == 200
        thread.join(20)
        told = answers[-1].json()["hookSpecificOutput"]
        assert (told["hookEventName"], told["decision"]["behavior"]) == (
            "PermissionRequest",
            behavior,
        )
    thread = threading.Thread(target=ask)
    thread.start()
    run = person.wait()["run"]
    after = said(tmp_path, hook_event_name="PostToolUse", tool_response={})
    assert send(server, "post", after, own(server)).content == b""
    thread.join(20)
    person.http.close()
    assert answers[-1].content == b"", "an agent could have sent that report"
    assert runs.look(SqliteStore(server.folder / "journal.db"), run).result["by"] == "host"


def test_a_host_that_hangs_up_withdraws_its_question(server: Server, tmp_path: Path) -> None:
    """It was answered with no in the host's own dialog."""
    body = json.dumps(said(tmp_path, "make")).encode()
    head = {**own(server), "Host": f"127.0.0.1:{server.port}", "Content-Length": str(len(body))}
    lines = ["POST /api/hooks/permission HTTP/1.1", *(f"{k}: {v}" for k, v in head.items())]
    with socket.create_connection(("127.0.0.1", server.port), 20) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        (run,) = until(lambda: waiting(server))
    until(lambda: not waiting(server))
    assert runs.look(SqliteStore(server.folder / "journal.db"), run).status == "withdrawn"
