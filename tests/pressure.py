"""Many open pages and many replies at once, against the real server.

`python tests/pressure.py --seconds 60` is what `make load` runs: 200 pages and 50 replies a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sites import Server, Site


class Felt(NamedTuple):
    """What came of it."""

    replies: int
    errors: list[str]
    slowest: float
    """Of a hundred replies, 99 took no longer; in seconds."""
    lost: int
    """Pages whose stream ended."""
    uninformed: int
    """Pages that were not told of what happened last."""
    before: int
    after: int
    """The memory of the server early on and at the end, in kilobytes."""

    @property
    def grown(self) -> float:
        """How much memory was added, as a part of what there was."""
        return self.after / self.before - 1


class _Page:
    """An open page that listens."""

    def __init__(self) -> None:
        self.last = 0.0
        self.ended = False

    async def listen(self, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            while line := await reader.readline():
                if line.startswith(b"event: news"):
                    self.last = time.monotonic()
        finally:
            self.ended = True
            writer.close()


async def _reply(port: int, runs: asyncio.Queue[str], took: list[float], errors: list[str]) -> None:
    """Answer run after run over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"text": "OK"}).encode()
    try:
        while True:
            run = await runs.get()
            begun = time.monotonic()
            head = (
                f"POST /api/runs/{run}/reply HTTP/1.1\r\nHost: localhost\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode()
            lengths = [line for line in answer.splitlines() if line.startswith("content-length")]
            came = await reader.readexactly(int(lengths[0].partition(":")[2]))
            took.append(time.monotonic() - begun)
            if " 200 " not in answer.partition("\r\n")[0] or json.loads(came)["status"] != "done":
                errors.append(answer.partition("\r\n")[0] + came.decode())
            runs.task_done()
    finally:
        writer.close()


def memory(pid: int) -> int:
    """What a process has in memory, in kilobytes."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise ValueError(pid)


async def _press(server: Server, runs: list[str], pages: int, rate: float) -> Felt:
    assert server.process is not None
    took: list[float] = []
    errors: list[str] = []
    waiting: asyncio.Queue[str] = asyncio.Queue()
    opened = [_Page() for _ in range(pages)]
    tasks = [asyncio.create_task(page.listen(server.port)) for page in opened]
    tasks += [asyncio.create_task(_reply(server.port, waiting, took, errors)) for _ in range(8)]
    await asyncio.sleep(1)
    begun = time.monotonic()
    before = 0
    for number, run in enumerate(runs):
        await asyncio.sleep(begun + number / rate - time.monotonic())
        waiting.put_nowait(run)
        if number == len(runs) // 4:
            before = memory(server.process.pid)
    await asyncio.wait_for(waiting.join(), 60)
    ended = time.monotonic()
    await asyncio.sleep(1.5)
    after = memory(server.process.pid)
    lost = sum(page.ended for page in opened)
    uninformed = sum(page.last < ended - 1 for page in opened)
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, OSError):
            await task
    slowest = sorted(took)[int(len(took) * 0.99) - 1]
    return Felt(len(took), errors, slowest, lost, uninformed, before, after)


def press(folder: Path, *, pages: int, rate: float, seconds: float) -> Felt:
    """Open the pages, send so many replies a second, and see how the server takes it."""
    site = Site(folder)
    runs = [site.ask("Login").run for _ in range(int(rate * seconds))]
    site.store.close()
    server = Server(folder)
    server.start()
    try:
        return asyncio.run(_press(server, runs, pages, rate))
    finally:
        server.kill()


def main() -> int:
    """Press hard, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        felt = press(Path(folder), pages=given.pages, rate=given.rate, seconds=given.seconds)
    print(
        f"{felt.replies} replies, {len(felt.errors)} errors, 99 of 100 within "
        f"{felt.slowest * 1000:.0f} ms; {felt.lost} pages lost, {felt.uninformed} not told; memory "
        f"{felt.before / 1024:.1f} to {felt.after / 1024:.1f} MB"
    )
    return int(bool(felt.errors or felt.lost or felt.uninformed or felt.grown > 0.1))


if __name__ == "__main__":
    sys.exit(main())
