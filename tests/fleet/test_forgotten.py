"""A worker that was forgotten while the server was away for long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from quandary.fleet.members import shared_at
from quandary.fleet.queue import JobQueue

if TYPE_CHECKING:
    from fleets import Camp


def test_there_is_no_job_for_a_worker_that_is_not_known_any_more(camp: Camp) -> None:
    """It gets none until it has registered anew, and does not fall over that."""
    (run,) = camp.queue()
    store = shared_at(camp.url)

    async def fetch() -> list[str | None]:
        async with JobQueue(store) as queue:
            worker = await queue.register(60.0)
            camp.rows("DELETE FROM procrastinate_workers")
            names = [one.full for one in await queue.queues()]
            jobs = [
                await queue.fetch(names, worker),
                await queue.fetch(names, await queue.register(60.0)),
            ]
            return [job.lock if job is not None else None for job in jobs]

    assert asyncio.run(fetch()) == [None, run]
    store.close()
