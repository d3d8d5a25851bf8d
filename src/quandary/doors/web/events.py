"""What happens in the journal, told to every open page as it happens.

One task looks for new entries whenever the store has news, whichever process they come from, and
writes to every page by itself: what came between two looks, at once. So many replies are few
messages, and a message to many pages is made once and wakes none of their tasks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from quandary.errors import QuandaryError

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from litestar.types import Message, Receive, Send

    from quandary.journal.store import Store

LOOKS_PER_SECOND = 4  # as often as this, where the store cannot tell by itself that it has news
MOST_LISTENERS = 1000
MOST_RUNS = 50
"""Where more runs than this had news at once, a page is told that something happened, no more."""
QUIET_SECONDS = 15.0  # after so long without news a page is told that the server is still there
MANY = "*"
log = logging.getLogger("quandary.web")
_PAGE = 1000


def _message(kind: str, data: str) -> Message:
    body = f"event: {kind}\r\ndata: {data}\r\n\r\n".encode()
    return {"type": "http.response.body", "body": body, "more_body": True}


_HELLO, _QUIET = _message("hello", "hello\r\nretry: 2000"), _message("quiet", "")
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]


async def hear_end(receive: Receive, act: Callable[[], object]) -> None:
    """Do something when whoever asked has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    act()


@dataclass(eq=False)
class Page:
    """An open page, and what it hears of: a run, or nothing for all; and of which project."""

    send: Send
    run: str = ""
    project: str | None = None
    is_open: Callable[[], bool] = lambda: True  # whether its login still is
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    """Its own task has something to do: it is let go, or was behind when there were news."""

    def tell(self, message: Message) -> None:
        """Write to it, unless it takes nothing at the moment: then it looks anew when it does."""
        if self.stirred.is_set():
            return
        sending: Any = self.send(message)
        try:
            sending.send(None)
        except StopIteration:
            return
        sending.close()
        self.stirred.set()


class Events:
    """The journal watched by one task for all pages."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.over = False  # whether the server is about to end
        self._seen = store.newest()
        self._tasks: list[asyncio.Task[None]] = []
        self._pages: dict[Page, None] = {}  # those that are open, in the order in which they came
        self._waiting: dict[str, set[asyncio.Event]] = {}

    def end(self) -> None:
        """Let go of every page and of everybody who waits: the server is about to end."""
        self.over = True
        for page in list(self._pages):
            self.let_go(page)
        for news in chain.from_iterable(self._waiting.values()):
            news.set()

    def wake(self) -> None:
        """Let go of every page whose login has ended."""
        for page in [page for page in self._pages if not page.is_open()]:
            self.let_go(page)

    @property
    def listeners(self) -> int:
        """How many pages listen."""
        return len(self._pages)

    @property
    def waiters(self) -> int:
        """How many requests wait for something to happen to a run."""
        return sum(map(len, self._waiting.values()))

    async def start(self) -> None:
        """Begin to look."""
        self._tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._ping())]

    async def stop(self) -> None:
        """Look no more."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(QUIET_SECONDS)
            self.wake()
            for page in list(self._pages):
                page.tell(_QUIET)

    async def _watch(self) -> None:
        waiting = asyncio.get_running_loop().run_in_executor
        with (
            closing(self.store.news(1 / LOOKS_PER_SECOND)) as news,
            ThreadPoolExecutor(1) as thread,
        ):
            away = False
            while True:
                try:
                    if await waiting(thread, next, news, True) or away:
                        await self._look()
                        if away:
                            log.warning("open pages get news again")
                        away = False
                except Exception as error:
                    try:
                        thread.submit(int)
                    except RuntimeError:  # the program ends, and nobody hears of anything more
                        return
                    if not away:  # said once; what is away now may be back soon
                        trouble = None if isinstance(error, QuandaryError) else error
                        log.warning("open pages get no news: %s", error, exc_info=trouble)
                    away = True
                    await asyncio.sleep(1 / LOOKS_PER_SECOND)

    async def _look(self) -> None:
        runs: dict[str, None] = {}
        while page := await asyncio.to_thread(self.store.happened, after=self._seen, limit=_PAGE):
            self._seen = page[-1][0]
            runs |= dict.fromkeys(run for _, run, _ in page)
            if len(page) < _PAGE:
                break
        if runs:
            own: dict[str | None, AbstractSet[str]] = {None: runs.keys()}
            while missing := {page.project for page in self._pages} - own.keys():
                for project in missing:
                    look = partial(self.store.among, list(runs), str(project))
                    own[project] = await asyncio.to_thread(look)
            self._tell(runs, own)

    def _tell(
        self, runs: dict[str, None], own: Mapping[str | None, AbstractSet[str]] | None = None
    ) -> None:
        """Tell each page of the runs with news, of those that are its `own` project's."""
        own = own or {None: runs.keys()}
        told: dict[str | None, Message] = {}
        for project, seen in own.items():
            if some := [run for run in runs if run in seen]:
                told[project] = _message("news", " ".join(some) if len(some) <= MOST_RUNS else MANY)
        self.wake()
        for page in list(self._pages):
            if page.project in told and (not page.run or page.run in own[page.project]):
                page.tell(_message("news", page.run) if page.run else told[page.project])
        for run in runs.keys() & self._waiting.keys():
            for waiting in self._waiting[run]:
                waiting.set()

    def add(self, page: Page) -> None:
        """Have a page hear of news; where there are too many, the oldest is let go."""
        if len(self._pages) >= MOST_LISTENERS:
            strangers = (page for page in self._pages if page.project is not None)
            self.let_go(next(strangers, next(iter(self._pages))))
        self._pages[page] = None

    def let_go(self, page: Page) -> None:
        """Have a page hear no more."""
        self._pages.pop(page, None)
        page.stirred.set()

    async def stream(self, page: Page, receive: Receive) -> None:
        """Write to a page until it is let go, or goes."""
        await page.send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await page.send(_HELLO)
        self.add(page)
        hearing = asyncio.create_task(hear_end(receive, partial(self.let_go, page)))
        try:
            while page in self._pages and not self.over:
                await page.stirred.wait()
                if page in self._pages:
                    await page.send(_message("news", MANY))
                    page.stirred.clear()
            await page.send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            hearing.cancel()
            self.let_go(page)

    async def wait(self, run: str, n: int, seconds: float, *, until_end: bool = False) -> None:
        """Until a run has more than `n` entries, or until it is over; or the time is up."""
        news = asyncio.Event()
        self._waiting.setdefault(run, set()).add(news)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while not self.over:
                        news.clear()
                        row = await asyncio.to_thread(self.store.run, run)
                        if row is None or row.status != "waiting" or (row.n > n and not until_end):
                            return
                        await news.wait()
        finally:
            self._waiting[run].discard(news)
            if not self._waiting[run]:
                del self._waiting[run]
