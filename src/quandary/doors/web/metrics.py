"""Figures for whoever runs the server, as Prometheus reads them at /metrics.

What waits is counted in the store, and what happened in its entries, so that every server on a
journal tells the same of it, also after a restart. What the server itself did, its
requests and open pages, begins with the server. No figure names a run, a project or a person.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, proxy

from litestar import MediaType, Response, get
from litestar.di import NamedDependency
from prometheus_client import REGISTRY, Histogram, disable_created_metrics
from prometheus_client import Counter as Counted
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from quandary import __version__
from quandary.errors import QuandaryError, StoreError
from quandary.journal.chance import now, stamp
from quandary.journal.counts import Counting, Counts, Few, Following, Sums

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
_under_way: dict[int, Scope] = {}  # the requests that are being answered
log = logging.getLogger("quandary.web")


def watch_requests(app: ASGIApp, added: Sequence[tuple[bytes, bytes]]) -> ASGIApp:
    """The application, with every request logged and counted, and headers `added` to each answer. A
    request is counted by what its path looks like, without names in it, and logged when its answer
    begins. A header that an answer has already is its own.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        begun, status = time.perf_counter(), 200

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message["headers"]}
                ours = (header for header in added if header[0] not in given)
                message["headers"] = [*message["headers"], *ours]
                level = logging.WARNING if status >= _BROKEN else logging.INFO
                if log.isEnabledFor(level):
                    seconds, route = time.perf_counter() - begun, scope.get("path_template")
                    told = (scope.get("method"), route or "none", status)
                    extra = dict(zip(("method", "route", "status"), told, strict=True))
                    extra["seconds"] = round(seconds, 6)
                    log.log(level, "%s %s %s in %.1f ms", *told, seconds * 1000, extra=extra)
            await send(message)

        _under_way[id(scope)] = scope
        try:
            await app(scope, receive, sent)
        finally:
            del _under_way[id(scope)]
            if kind := _kind_of(scope):
                seconds, *counters = _counters(kind, str(status))
                seconds.observe(time.perf_counter() - begun)
                for counter in counters:
                    counter.inc()

    return answer


def _kind_of(scope: Scope) -> tuple[str, ...]:
    """What a request is counted by; nothing where it leads nowhere, or has not come so far."""
    method, path = str(scope.get("method", "-")), scope.get("path_template")
    query = scope["query_string"]
    # One that waits on purpose: its time says nothing about the server.
    waits = path == "/events" or (query and b"wait" in re.split(b"[&=]", query)[::2])
    return ("quandary", method, path, "yes" if waits else "no") if path else ()


@cache
def _counters(kind: tuple[str, ...], status: str) -> tuple[Any, ...]:
    counted = (_SECONDS, _REQUESTS, _ERRORS) if int(status) >= _BROKEN else (_SECONDS, _REQUESTS)
    return tuple(one.labels(*kind, status) for one in counted)


class Queue(NamedTuple):
    """Jobs of one queue of the fleet."""

    name: str
    ready: int
    later: int  # those that are tried again when their time has come
    working: int
    stalled: int  # among those worked on, the ones whose worker has not been heard of for too long
    failed: int


class Fleet(NamedTuple):
    """The workers, and the queues that they take jobs from."""

    queues: tuple[Queue, ...] = ()
    workers: int = 0  # those that were heard of just now


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
        self._whole = False  # whether all of the journal was counted once
        self._going_on: asyncio.Task[None] | None = None

    async def written(self, *, up: bool) -> bytes:
        """All figures; of the store only where it is `up`."""
        found = await asyncio.to_thread(self._of_the_store) if up else []
        # The rest of a long journal is counted meanwhile, for the next time.
        if found and not self._whole and (self._going_on is None or self._going_on.done()):
            self._going_on = asyncio.create_task(self._count())
        families = [*self._of_the_server(up=bool(found)), *found]
        told: Any = SimpleNamespace(collect=lambda: families)
        return await asyncio.to_thread(lambda: generate_latest(told) + generate_latest(REGISTRY))

    def _of_the_store(self) -> list[Metric]:
        """What the store says; nothing where it went away meanwhile."""
        with suppress(QuandaryError):
            waiting = _waiting_families(self._waiting.now())
            counted = self._counting.up_to_now(PIECE)
            told = _fleet_families(self._fleet()) if self._fleet is not None else []
            head = self._store.head()
            newest = {(head[1].hex(),): head[0]} if head is not None else {}
            missing = int(bool(self._store.missing))
            letters = {(state,): number for state, number in self._store.count_letters().items()}
            kept = [
                _gauge("callbacks", "What is still to be told elsewhere.", letters, "state"),
                _gauge("newest_entry", "The number of the newest entry.", newest, "digest"),
                _gauge("store_older", "Whether it is not what was seen here.", missing),
            ]
            behind = _gauge("journal_behind", "Entries that were not counted yet.", counted.behind)
            self._whole = self._whole or not counted.behind
            # Figures that are far too low would look as if they had been reset.
            happened = list(_journal_families(counted)) if self._whole else []
            return [*waiting, *told, *kept, behind, *happened]
        return []

    def _of_the_server(self, *, up: bool) -> list[Metric]:
        polls = "Requests that wait for something to happen to a run."
        open_ = Counter((*kind, "200") for kind in map(_kind_of, list(_under_way.values())) if kind)
        return [
            _gauge("info", "The version that runs.", {(__version__,): 1}, "version"),
            _gauge("store_up", "Whether the store can be used.", int(up)),
            _gauge("event_streams", "Open pages that listen.", self._events.listeners),
            _gauge("long_polls", polls, self._events.waiters),
            _gauge("http_requests_in_progress", "Total requests in progress", open_, *_LABELS),
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
    return Response(await figures.written(up=await readiness.there()), media_type=CONTENT_TYPE)


HEALTH = [healthz, readyz, metrics]


DAYS = 30
MOST_QUESTIONS = 50
_TIMES = ((10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (86400, "1 d"))
PATIENCE, QUICK = 0.05, 3_000
"""Seconds that somebody waits for figures before they see those of before, or none; and how many
entries are counted at once. With more, whoever opens the page sees it first."""


class _Kept(NamedTuple):
    """What was counted of a store, for one project or for all."""

    following: Following
    sums: Sums
    figures: list[tuple[int, dict[str, Any]]]  # the last ones, with the newest entry then


_kept: WeakKeyDictionary[Store, dict[str | None, _Kept]] = WeakKeyDictionary()
_counting: dict[tuple[str, str | None], threading.Thread] = {}
_one_by_one = threading.Lock()


def find_figures(store: Store, project: str | None = None) -> tuple[dict[str, Any] | None, bool]:
    """The figures of a project, or of all, and whether they are those of now. A thread counts what
    is new. Where that takes longer than anybody waits, those of before are given, if there are any.
    """
    newest = store.newest()
    kept = _kept.setdefault(store, {}).setdefault(
        project, _Kept(Following(proxy(store), project), Sums(), [])
    )
    if not kept.figures or kept.figures[-1][0] != newest:
        with _one_by_one:
            counting = _counting.get((store.address, project))
            if counting is None or not counting.is_alive():
                counting = threading.Thread(target=_count, args=(kept, newest), daemon=True)
                _counting[store.address, project] = counting
                counting.start()
        if newest - (kept.figures[-1][0] if kept.figures else 0) <= QUICK:
            counting.join(PATIENCE)
    seen, figures = kept.figures[-1] if kept.figures else (-1, None)
    return figures, seen >= newest


def _count(kept: _Kept, newest: int) -> None:
    with suppress(Exception):  # the server ends, or the store is away; whoever looks again sees
        time.sleep(0 if kept.figures or newest <= QUICK else 5 * PATIENCE)
        pause = partial(time.sleep, 0.01)  # others want to read too
        for sign, one in kept.following.news(lambda *_: pause()):
            kept.sums.count(one, sign)
        kept.figures[:] = [(newest, gather_figures(kept.sums))]


def gather_figures(sums: Sums) -> dict[str, Any]:
    """What was counted, as the page shows it."""
    found, today = sums.summarize(), now().date()
    names = [(today - timedelta(days=ago)).isoformat() for ago in range(DAYS - 1, -1, -1)]
    spans: Counter[str] = Counter()
    for question in sums.questions.values():
        bounds = [0, *(bisect_left(question.times, bound) for bound, _ in _TIMES)]
        labels = (f"< {name}" for _, name in _TIMES)
        spans.update(dict(zip(labels, (b - a for a, b in pairwise(bounds)), strict=True)))
        spans["longer"] += len(question.times) - bounds[-1]
    by = sum((question.by for question in sums.questions.values()), Counter[str]())
    return {
        "found": found,
        "days": _bars([(name, sums.days[name]) for name in names], every_so_many=7),
        "times": _bars(list(spans.items()) or [("longer", 0)]),
        "today": sums.days[today.isoformat()],
        "by": by.most_common(),
        "followed": (
            sum(tally.recommended for tally in found.questions),
            sum(tally.followed for tally in found.questions),
        ),
    }


def _bars(counts: list[tuple[str, int]], every_so_many: int = 1) -> list[dict[str, Any]]:
    """Columns beside one another; the last of them has its name in any case."""
    most = max(count for _, count in counts) or 1
    shown = range(len(counts) - 1, -1, -every_so_many)
    return [
        {"name": name, "number": count, "share": count / most, "shown": place in shown}
        for place, (name, count) in enumerate(counts)
    ]
