"""What happens in the journal, told to every open page as it happens.

One task looks for new entries whenever the store has news, whichever process they come from; the
pages only wait for it. What came between two looks is told at once: many replies, few messages.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from quandary.errors import QuandaryError

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from quandary.journal.store import Store

LOOKS_PER_SECOND = 4
"""As often as this, where the store cannot tell by itself that it has news."""
MOST_LISTENERS = 1000
MOST_RUNS = 50
"""Where more runs than this had news at once, a page is told that something happened, no more."""
QUIET_SECONDS = 15.0
"""After so long without news a page is told that the server is still there."""
MANY = "*"
log = logging.getLogger("quandary.web")
_PAGE = 1000
_LONGEST_QUEUE = 8


async def following(queue: asyncio.Queue[str]) -> str:
    """The runs with news; nothing where there was none for a while."""
    try:
        async with asyncio.timeout(QUIET_SECONDS):
            return await queue.get()
    except TimeoutError:
        return ""


class Events:
    """The journal watched by one task for all pages."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.over = False
        """Whether the server is about to end."""
        self._seen = store.newest()
        self._task: asyncio.Task[None] | None = None
        self._pages: dict[asyncio.Queue[str], tuple[str, str | None]] = {}
        """Each open page, and what it hears of: a run, or nothing for all; and of which project."""
        self._waiting: dict[str, set[asyncio.Event]] = {}

    def end(self) -> None:
        """Let go of every page and of everybody who waits: the server is about to end."""
        self.over = True
        self.wake()
        for news in chain.from_iterable(self._waiting.values()):
            news.set()

    def wake(self) -> None:
        """Have every open page look whether it may still listen."""
        for queue in self._pages:
            if not queue.full():
                queue.put_nowait("")

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
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

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
            while missing := {project for _, project in self._pages.values()} - own.keys():
                for project in missing:
                    look = partial(self.store.among, list(runs), str(project))
                    own[project] = await asyncio.to_thread(look)
            self._tell(runs, own)

    def _tell(
        self, runs: dict[str, None], own: Mapping[str | None, AbstractSet[str]] | None = None
    ) -> None:
        """Tell each page of the runs with news, of those that are its `own` project's."""
        own = own or {None: runs.keys()}
        told: dict[str | None, str] = {}
        for project, seen in own.items():
            some = [run for run in runs if run in seen]
            told[project] = " ".join(some) if len(some) <= MOST_RUNS else MANY
        for queue, (about, project) in self._pages.items():
            everything = told.get(project, "")
            if not everything or (about and about not in own[project]):
                continue
            if queue.full():
                queue.get_nowait()  # a page that sleeps looks anew when it wakes
            queue.put_nowait(about or everything)
        for run in runs.keys() & self._waiting.keys():
            for waiting in self._waiting[run]:
                waiting.set()

    @contextmanager
    def listening(self, run: str = "", project: str | None = None) -> Iterator[asyncio.Queue[str]]:
        """A page listens, to the news of one run or of all, of one project or of all."""
        queue: asyncio.Queue[str] = asyncio.Queue(_LONGEST_QUEUE)
        if len(self._pages) >= MOST_LISTENERS:
            self._let_go()
        self._pages[queue] = run, project
        try:
            yield queue
        finally:
            self._pages.pop(queue, None)

    def hears(self, queue: asyncio.Queue[str]) -> bool:
        """Whether a page may go on listening."""
        return not self.over and queue in self._pages

    def _let_go(self) -> None:
        """End the oldest page, of a stranger if there is any; it connects again by itself."""
        strangers = (queue for queue, (_, project) in self._pages.items() if project is not None)
        oldest = next(strangers, next(iter(self._pages)))
        del self._pages[oldest]
        if not oldest.full():
            oldest.put_nowait("")

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
