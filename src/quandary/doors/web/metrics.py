"""Figures for whoever runs the server, as Prometheus reads them at /metrics.

What waits is counted in the store, and what happened in its entries, so that every server on a
journal tells the same of it, also after a restart. What the server itself did, its
requests and open pages, begins with the server. No figure names a run, a project or a person.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from litestar import MediaType, Response, get
from litestar.di import NamedDependency
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from prometheus_client import REGISTRY, Gauge, Histogram, disable_created_metrics
from prometheus_client import Counter as Counted
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from quandary import __version__
from quandary.errors import QuandaryError, StoreError
from quandary.journal import outbox
from quandary.journal.chance import now, stamp
from quandary.journal.counts import Counting, Counts, Few

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Message, Receive, Scope, Send

    from quandary.doors.web.events import Events
    from quandary.journal.store import Awaited, Store

CONTENT_TYPE = "text/plain; version=0.0.4"
"""The server adds the charset; to be told it twice, Prometheus takes for a mistake."""
AGES = (60, 600, 3600, 6 * 3600, 86400, 7 * 86400)
"""In seconds: how long something has waited at least."""
SHARE = 0.05
"""Of the time, no more than this goes into counting what waits, however often it is asked for."""
PIECE = 0.5
PAUSE = 0.2
"""Seconds that a long journal is counted at a time, and that the server is left alone between."""


_BROKEN = 500
disable_created_metrics()  # type: ignore[no-untyped-call]  # a restart shows in any counter


_LABELS = ("app_name", "method", "path", "waits", "status_code")
_REQUESTS = Counted("quandary_http_requests", "Total requests", _LABELS)
_ERRORS = Counted("quandary_http_requests_error", "Total errors in requests", _LABELS)
_SECONDS = Histogram("quandary_http_request_duration_seconds", "Request duration", _LABELS)
_OPEN = Gauge("quandary_http_requests_in_progress", "Total requests in progress", _LABELS)


def count_requests(app: ASGIApp) -> ASGIApp:
    """Requests, counted and timed by what their path looks like, without names in it."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        begun, status, path = time.perf_counter(), 200, scope["path_template"]
        # One that waits on purpose: its time says nothing about the server.
        waits = path == "/events" or b"wait" in re.split(b"[&=]", scope["query_string"])[::2]
        kind = ("quandary", scope.get("method", "-"), path, "yes" if waits else "no")

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        under_way = _OPEN.labels(*kind, "200")
        under_way.inc()
        try:
            await app(scope, receive, sent)
        except HTTPException as refused:  # at the door; whoever is around us says so
            status = refused.status_code
            raise
        finally:
            under_way.dec()
            for counted in (_REQUESTS, _ERRORS) if status >= _BROKEN else (_REQUESTS,):
                counted.labels(*kind, str(status)).inc()
            _SECONDS.labels(*kind, str(status)).observe(time.perf_counter() - begun)

    return answer


class Queue(NamedTuple):
    """Jobs of one queue of the fleet."""

    name: str
    ready: int
    later: int
    """Those that are tried again when their time has come."""
    working: int
    stalled: int
    """Among those worked on, the ones whose worker has not been heard of for too long."""
    failed: int


class Fleet(NamedTuple):
    """The workers, and the queues that they take jobs from."""

    queues: tuple[Queue, ...] = ()
    workers: int = 0
    """Those that were heard of just now."""


class Metrics:
    """All figures of one server; of the store, those of one project or of all."""

    def __init__(
        self,
        store: Store,
        events: Events,
        fleet: Callable[[], Fleet] | None,
        project: str | None = None,
    ) -> None:
        self._store = store
        self._events = events
        self._fleet = fleet
        self._counting = Counting(store, project)
        self._waiting = Waiting(store, project)
        self._whole = False
        """Whether all of the journal was counted once."""
        self._going_on: asyncio.Task[None] | None = None

    async def written(self, *, up: bool) -> bytes:
        """All figures; of the store only where it is `up`."""
        found = await asyncio.to_thread(self._of_the_store) if up else []
        # The rest of a long journal is counted meanwhile, for the next time.
        if found and not self._whole and (self._going_on is None or self._going_on.done()):
            self._going_on = asyncio.create_task(self._count())
        told = _Found([*self._of_the_server(up=bool(found)), *found])
        return await asyncio.to_thread(lambda: generate_latest(told) + generate_latest(REGISTRY))

    def _of_the_store(self) -> list[Metric]:
        """What the store says; nothing where it went away meanwhile."""
        with suppress(QuandaryError):
            waiting = _waiting_families(self._waiting.now())
            counted = self._counting.up_to_now(PIECE)
            told = _fleet_families(self._fleet()) if self._fleet is not None else []
            head = self._store.head()
            newest = {(head[1].hex(),): head[0]} if head is not None else {}
            missing, told_of = (
                int(bool(self._store.missing)),
                "Whether it is not what was seen here.",
            )
            letters = {(state,): number for state, number in outbox.count(self._store).items()}
            kept = [
                _gauge("callbacks", "What is still to be told elsewhere.", letters, "state"),
                _gauge("newest_entry", "The number of the newest entry.", newest, "digest"),
                _gauge("store_older", told_of, missing),
            ]
            behind = _gauge("journal_behind", "Entries that were not counted yet.", counted.behind)
            self._whole = self._whole or not counted.behind
            # Figures that are far too low would look as if they had been reset.
            happened = list(_journal_families(counted)) if self._whole else []
            return [*waiting, *told, *kept, behind, *happened]
        return []

    def _of_the_server(self, *, up: bool) -> list[Metric]:
        polls = "Requests that wait for something to happen to a run."
        return [
            _gauge("info", "The version that runs.", {(__version__,): 1}, "version"),
            _gauge("store_up", "Whether the store can be used.", int(up)),
            _gauge("event_streams", "Open pages that listen.", self._events.listeners),
            _gauge("long_polls", polls, self._events.waiters),
        ]

    async def _count(self) -> None:
        with suppress(QuandaryError):
            while (await asyncio.to_thread(self._counting.up_to_now, PIECE)).behind:
                await asyncio.sleep(PAUSE)

    async def stop(self) -> None:
        """Count no more."""
        if self._going_on is not None:
            self._going_on.cancel()
            with suppress(asyncio.CancelledError):
                await self._going_on


class _Found(Collector):
    """Figures that are there already, as the library wants to be given them."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        """All of them."""
        return self._families


class Waiting:
    """What waits, counted no more often than it is worth."""

    def __init__(self, store: Store, project: str | None = None) -> None:
        self._store = store
        self._of = {} if project is None else {"project": project}
        self._found: list[Awaited] = []
        self._until = 0.0

    def now(self) -> list[Awaited]:
        """What waits now, or did a moment ago: the longer it takes, the longer it is good for."""
        begun = time.monotonic()
        if begun >= self._until:
            moment = now()
            ages = [stamp(moment - timedelta(seconds=age)) for age in AGES]
            self._found = self._store.awaited(ages, **self._of)
            ended = time.monotonic()
            self._until = ended + (ended - begun) / SHARE
        return self._found


def _family(
    kind: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    told: str,
    found: Mapping[Any, float] | float,
    *labels: str,
) -> Metric:
    """A figure for each value of its labels; where it has none, the only one."""
    family = kind(f"quandary_{name}", told, labels=labels)
    for values, number in ({(): found} if isinstance(found, int | float) else found).items():
        family.add_metric(values, number)
    return family


_gauge = partial(_family, GaugeMetricFamily)
_counter = partial(_family, CounterMetricFamily)


def _waiting_families(found: list[Awaited]) -> list[Metric]:
    flows = Few()
    groups: dict[tuple[str, str], list[Awaited]] = {("person", "decide"): []}
    for one in found:
        groups.setdefault((one.waits, flows[one.flow]), []).append(one)
    count = {group: sum(part.runs for part in parts) for group, parts in groups.items()}
    oldest = {
        group: max((seconds_since(part.oldest) for part in parts), default=0.0)
        for group, parts in groups.items()
    }
    older = {
        (*group, str(age)): sum(part.runs for part in parts if part.age >= number)
        for group, parts in groups.items()
        for number, age in enumerate(AGES, 1)
    }
    labels, told = ("waits", "flow"), "Runs that wait for so many seconds or longer."
    return [
        _gauge("waiting", "Runs that wait, by who has to do something.", count, *labels),
        _gauge("waiting_oldest_seconds", "How long the first of them waits.", oldest, *labels),
        _gauge("waiting_older_than", told, older, *labels, "seconds"),
    ]


def seconds_since(moment: str) -> float:
    """How long ago that was; 0 where it is still to come, or cannot be read."""
    try:
        return max((now() - datetime.fromisoformat(moment)).total_seconds(), 0.0)
    except ValueError:
        return 0.0


def _journal_families(counts: Counts) -> Iterator[Metric]:
    # What has not happened yet is told as well: only then the first time shows as a step.
    never: dict[str, int] = dict.fromkeys(("done", "failed", "declined", "withdrawn"), 0)
    failures = dict.fromkeys(counts.calls, 0) | counts.failures
    for name, told, label, found in (
        ("journal_entries", "Entries of the journal.", "kind", counts.entries),
        ("runs_begun", "Runs that were begun.", "flow", counts.begun),
        ("runs_ended", "Runs that came to an end.", "outcome", never | counts.ended),
        ("agent_calls", "Calls that agents were asked for.", "agent", counts.calls),
        ("agent_failures", "Calls that came to nothing.", "agent", failures),
    ):
        yield _counter(name, told, {(value,): found[value] for value in sorted(found)}, label)
    told = "Answers that were recorded, by who gave them and through what."
    yield _counter("answers", told, dict(sorted(counts.answers.items())), "who", "through")
    yield _gauge("agent_calls_under_way", "Calls that have not come back.", counts.under_way)


def _fleet_families(fleet: Fleet) -> list[Metric]:
    names, found = Few(), Counter[tuple[str, str]]()
    for queue in fleet.queues:
        for state in ("ready", "later", "working", "stalled", "failed"):
            found[names[queue.name], state] += getattr(queue, state)
    told = "Jobs of the fleet; stalled ones count as worked on, too."
    return [
        _gauge("queue_jobs", told, found, "queue", "state"),
        _gauge("fleet_workers", "Workers that were heard of just now.", fleet.workers),
    ]


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


log = logging.getLogger("quandary.web")


def log_requests(app: ASGIApp) -> ASGIApp:
    """The application, with a line in the log when the answer to a request begins."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["type"] == ScopeType.HTTP:
                seconds, status = time.perf_counter() - begun, message["status"]
                level = logging.WARNING if status >= _BROKEN else logging.INFO
                if log.isEnabledFor(level):
                    route = scope.get("path_template") or "none"
                    told = {"method": scope["method"], "route": route, "status": status}
                    extra = {**told, "seconds": round(seconds, 6)}
                    said = (*told.values(), seconds * 1000)
                    log.log(level, "%s %s %s in %.1f ms", *said, extra=extra)
            await send(message)

        await app(scope, receive, sent)

    return answer
