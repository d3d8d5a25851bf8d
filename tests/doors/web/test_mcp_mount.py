"""Chat clients at the same server: the tools are behind the same doors."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from mcp.client import Client

import program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The real server, in a project with one tree."""
    (tmp_path / ".quandary").mkdir()
    (tmp_path / "deploy.md").write_text(program.DEPLOY, encoding="utf-8")
    env = {
        "QUANDARY_STORE": str(tmp_path / "journal.db"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    with subprocess.Popen(
        [*program.PROGRAM, "serve", "--port", "0"],
        cwd=tmp_path,
        env=program.environment(env),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        found = None
        while found is None:
            found = re.search(r"http://\S+", process.stderr.readline())
        yield found[0]
        process.terminate()


def test_tools_are_served_beside_the_pages(address: str) -> None:
    """An agent asks over HTTP, and the question is in the inbox."""

    async def work() -> Any:  # noqa: ANN401 - what the tool said
        async with Client(f"{address}mcp") as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"ask", "split", "gate", "walk", "check", "runs"} <= names
            assert "reply" not in names
            asked = {"source": "deploy.md", "context": "The build has passed."}
            return await client.call_tool("ask", asked)

    asyncio.run(work())
    (run,) = httpx.get(f"{address}api/inbox").json()["runs"]
    assert run["flow"] == "decide"


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"host": "evil.example"}, 421), ({"origin": "http://evil.example"}, 403)],
)
def test_the_tools_are_behind_the_same_doors(
    address: str, headers: dict[str, str], status: int
) -> None:
    """No page elsewhere reaches them through a browser."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    told = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    answer = httpx.post(f"{address}mcp", content=json.dumps(body), headers={**told, **headers})
    assert answer.status_code == status
    assert sys.getsizeof(answer.content) < 10_000
