"""What machines ask of a server: whether it lives, whether it can work, and its figures."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from litestar import MediaType, Response, get
from litestar.di import NamedDependency

from quandary.errors import StoreError
from quandary.people.web.metrics import CONTENT_TYPE, Metrics

if TYPE_CHECKING:
    from quandary.journal.store import Store

SOON = 2.0
"""Seconds. Whoever asks whether a server can work does not wait for a store that is away."""


class Readiness:
    """Whether the store can be used. However many ask at once, it is looked at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looking: asyncio.Task[None] | None = None

    async def require(self) -> None:
        """Refuse where the store cannot be used, or does not say so soon."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(asyncio.to_thread(self._store.require_ready))
            # Whoever asked may be gone when the answer comes.
            self._looking.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.wait_for(asyncio.shield(self._looking), SOON)
        except TimeoutError:
            raise StoreError(f"the store has not answered within {SOON:g} seconds") from None

    async def there(self) -> bool:
        """Whether it can be used."""
        try:
            await self.require()
        except StoreError:
            return False
        return True


@get("/healthz", sync_to_thread=False, media_type=MediaType.TEXT, include_in_schema=False)
def healthz() -> str:
    """The server is there, whatever became of its store."""
    return "ok\n"


@get("/readyz", media_type=MediaType.TEXT, include_in_schema=False)
async def readyz(readiness: NamedDependency[Readiness]) -> str:
    """The store can be reached, and is what this version knows."""
    await readiness.require()
    return "ok\n"


@get("/metrics", include_in_schema=False)
async def metrics(
    readiness: NamedDependency[Readiness], figures: NamedDependency[Metrics]
) -> Response[bytes]:
    """Figures for Prometheus."""
    written = await figures.written(up=await readiness.there())
    return Response(written, media_type=CONTENT_TYPE)


HEALTH = [healthz, readyz, metrics]
