"""What happens in the journal, told to every open page as it happens.

One task looks, four times a second, whether there are new entries; the pages only wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from quandary.journal.store import Store

LOOKS_PER_SECOND = 4
_PAGE = 500
_LONGEST_QUEUE = 100
QUIET_SECONDS = 15.0
"""After so long without news a page is told that the server is still there."""


class News(msgspec.Struct, frozen=True):
    """Something was appended to a run."""

    run: str
    kind: str
    n: int


class Events:
    """The journal watched by one task for all pages."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.listeners: set[asyncio.Queue[News]] = set()
        self._seen = store.newest()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(Exception):  # a store that is away now may be back soon
                await self._look()
            await asyncio.sleep(1 / LOOKS_PER_SECOND)

    async def _look(self) -> None:
        while entries := await asyncio.to_thread(self.store.history, after=self._seen, limit=_PAGE):
            self._seen = entries[-1].seq
            for entry in entries:
                news = News(entry.run, entry.kind, entry.n)
                for queue in self.listeners:
                    if queue.full():
                        queue.get_nowait()  # a page that sleeps looks anew when it wakes
                    queue.put_nowait(news)

    async def listen(self) -> AsyncIterator[News | None]:
        """News as it comes; nothing, from time to time, where there is none."""
        queue: asyncio.Queue[News] = asyncio.Queue(_LONGEST_QUEUE)
        self.listeners.add(queue)
        try:
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), QUIET_SECONDS)
                except TimeoutError:
                    yield None
        finally:
            self.listeners.discard(queue)

    async def wait(self, run: str, n: int, seconds: float) -> None:
        """Until a run has more than `n` entries, or the time is up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for news in self.listen():
                    row = await asyncio.to_thread(self.store.run, run)
                    if row is None or row.n > n or row.status != "waiting":
                        return
                    del news
