"""Figures for Prometheus: right, few, cheap, and for nobody who may not see them."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from quandary.doors.web import metrics
from quandary.doors.web.events import Events
from quandary.doors.web.metrics import Fleet, Metrics, Queue, Waiting
from quandary.doors.web.tokens import Keys, hashed
from quandary.errors import StoreError
from quandary.journal import runs
from quandary.journal.counts import MOST_NAMES
from sites import TOKEN, Listener, Site, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from litestar.testing import TestClient

    from quandary.journal.store import Awaited, Store

Figures = dict[tuple[str, ...], float]


def read(text: str) -> Figures:
    """Each figure by its name and the values of its labels, in the order of their names."""
    found: Figures = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = (sample.name, *(sample.labels[label] for label in sorted(sample.labels)))
            assert name not in found
            found[name] = sample.value
    return found


def scrape(visitor: TestClient[Any]) -> Figures:
    """The figures as they are now."""
    came = visitor.get("/metrics")
    assert came.status_code == 200
    return read(came.text)


def journalled(figures: Figures) -> Figures:
    """Those that are the same at every server."""
    counted = ("quandary_answers_", "quandary_runs_", "quandary_agent_", "quandary_journal_")
    return {name: value for name, value in figures.items() if name[0].startswith(counted)}


def test_what_prometheus_is_told(site: Site) -> None:
    """In the form that it reads, with the charset once."""
    with site.visitor() as visitor:
        came = visitor.get("/metrics")
    assert came.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    figures = read(came.text)
    assert figures["quandary_store_up",] == 1
    assert figures["quandary_waiting", "decide", "person"] == 0
    assert figures["quandary_runs_ended_total", "failed"] == 0
    assert figures["process_resident_memory_bytes",] > 0


def test_questions_and_answers(site: Site) -> None:
    """What waits and since when, what was answered by whom, and how runs ended."""
    first, second = site.ask("Login").run, site.ask("Cache").run
    with site.person() as person:
        assert send(person, first, pick_0="OK").status_code == 303
        assert scrape(person)["quandary_answers_total", "web", "person"] == 1
    third = site.ask("Queue").run
    with site.visitor() as visitor:
        assert visitor.post(f"/api/runs/{second}/reply", json={"text": "OK"}).status_code == 200
        assert visitor.post(f"/api/runs/{third}/withdraw", json={"why": "no"}).status_code == 200
        site.ask("Mail")
        figures = scrape(visitor)
    assert figures["quandary_answers_total", "web", "person"] == 1
    assert figures["quandary_answers_total", "web", "api"] == 1
    assert figures["quandary_runs_begun_total", "decide"] == 4
    assert figures["quandary_runs_ended_total", "done"] == 2
    assert figures["quandary_runs_ended_total", "withdrawn"] == 1
    assert figures["quandary_waiting", "decide", "person"] == 1
    assert 0 < figures["quandary_waiting_oldest_seconds", "decide", "person"] < 60
    assert figures["quandary_waiting_older_than", "decide", "60", "person"] == 0
    entries = sum(v for name, v in figures.items() if name[0] == "quandary_journal_entries_total")
    assert entries == site.store.newest()


def test_old_questions(site: Site) -> None:
    """What has waited for long counts among all that waited less, too."""
    for ago in ("-3 days", "-2 hours", "-2 minutes"):
        run = site.ask("Login").run
        site.store._rows(
            "UPDATE run SET since = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', ?) WHERE id = ?",
            (ago, run),
        )
    with site.visitor() as visitor:
        figures = scrape(visitor)
    older = {
        name[2]: value
        for name, value in figures.items()
        if name[0] == "quandary_waiting_older_than"
    }
    assert older == {"60": 3, "600": 2, "3600": 2, "21600": 1, "86400": 1, "604800": 0}
    oldest = figures["quandary_waiting_oldest_seconds", "decide", "person"]
    assert oldest == pytest.approx(3 * 86400, abs=60)


def test_every_server_tells_the_same_and_so_does_the_next(site: Site, tmp_path: Path) -> None:
    """Whichever of them did it, and after a restart."""
    other = Site(tmp_path)
    with site.visitor() as one, other.visitor() as two:
        for number in range(6):
            run = site.ask("Login").run
            by = (one, two)[number % 2]
            assert by.post(f"/api/runs/{run}/reply", json={"text": "OK"}).status_code == 200
            scrape(one)
        told = journalled(scrape(one))
        assert told == journalled(scrape(two))
        assert told["quandary_answers_total", "web", "api"] == 6
    other.store.close()
    later = Site(tmp_path)
    with later.visitor() as visitor:
        assert journalled(scrape(visitor)) == told
    later.store.close()


def test_requests_are_told_by_what_they_are_for(site: Site) -> None:
    """Never by the path itself, and a request that waits on purpose is told apart."""
    run = site.ask("Login").run
    with site.visitor() as visitor:
        before = scrape(visitor)
        for _ in range(3):
            visitor.get(f"/runs/{run}?secret=1")
        visitor.get(f"/api/runs/{run}?wait=0.01")
        visitor.get("/no/such/page")
        visitor.request("BREW", "/")
        visitor.get("/static/style.css")
        visitor.get("/trees", headers={"Authorization": "Bearer x"})
        visitor.get("/trees", headers={"Host": "evil.example"})
        after = scrape(visitor)
    counted = {
        name[2:]: value - before.get(name, 0)
        for name, value in after.items()
        if name[0] == "quandary_http_requests_total" and value != before.get(name)
    }
    assert counted == {
        ("GET", "/runs/{run}", "200", "no"): 3,
        ("GET", "/api/runs/{run}", "200", "yes"): 1,
        ("GET", "/static/{file_path}", "200", "no"): 1,
        ("GET", "/trees", "401", "no"): 1,
        ("GET", "/trees", "421", "no"): 1,
        ("GET", "/metrics", "200", "no"): 1,
    }
    labels = ("quandary", "GET", "/runs/{run}", "200", "no")
    assert after["quandary_http_request_duration_seconds_count", *labels] >= 3
    assert 0 < after["quandary_http_request_duration_seconds_sum", *labels] < 60


def test_no_figure_gives_anything_away(site: Site) -> None:
    """No run, no project, nobody's name, no word of what was asked, and no token."""
    run = site.ask("A most secret plan").run
    with site.visitor(Authorization=f"Bearer {TOKEN}") as visitor:
        reply = {"text": "OK", "by": "somebody"}
        assert visitor.post(f"/api/runs/{run}/reply", json=reply).status_code == 200
        visitor.get(f"/api/runs?project={site.folder}")
        told = visitor.get("/metrics").text
    for secret in (run, str(site.folder), "somebody", "secret", TOKEN):
        assert secret not in told


# -- who may see them ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8420"}, 421),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403),
        ({"X-Forwarded-For": "192.0.2.1"}, 401),
        ({"X-Forwarded-For": "192.0.2.1", "Authorization": f"Bearer {TOKEN}"}, 200),
        ({"Authorization": "Bearer wrong"}, 401),
    ],
)
def test_on_this_machine(site: Site, headers: dict[str, str], status: int) -> None:
    """Programs here need no token; pages elsewhere, and other names for us, lead nowhere."""
    with site.visitor() as visitor:
        came = visitor.get("/metrics", headers=headers)
    assert came.status_code == status
    assert ("quandary_waiting" in came.text) == (status == 200)


def test_others_need_a_token(far: Site) -> None:
    """As Prometheus sends it; a guess is not taken for one."""
    with far.visitor() as visitor:
        refused = visitor.get("/metrics")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        wrong = visitor.get("/metrics", headers={"Authorization": "Bearer guessed"})
        assert wrong.status_code == 401
        assert "quandary_" not in refused.text + wrong.text
        right = visitor.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        assert right.status_code == 200


def test_a_token_for_the_figures_opens_nothing_else(far: Site) -> None:
    """Whoever watches over servers need not be able to answer."""
    watching = {"Authorization": "Bearer only for figures"}
    far.keys._metrics = Keys(b"", metrics=hashed("only for figures"))._metrics
    run = far.ask("Login").run
    with far.visitor(**watching) as visitor:
        assert visitor.get("/metrics").status_code == 200
        for path in ("/", "/api/inbox", f"/runs/{run}", "/events"):
            assert visitor.get(path).status_code in (401, 404), path
        refused = visitor.post(f"/api/runs/{run}/reply", json={"text": "OK"})
        assert refused.status_code == 401
    assert far.sources(run) == []


# -- a store that is away, or large --------------------------------------------------------------


def _away(*_: object, **__: object) -> None:
    raise StoreError("away")


def test_a_store_that_is_away(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server still tells what it knows itself; the figures come back with the store."""
    with site.visitor() as visitor:
        for missing in ("require_ready", "awaited"):
            with monkeypatch.context() as patch:
                patch.setattr(site.store, missing, _away)
                figures = scrape(visitor)
            assert figures["quandary_store_up",] == 0
            assert not any(name[0].startswith("quandary_waiting") for name in figures)
        figures = scrape(visitor)
        assert figures["quandary_http_requests_total", "quandary", "GET", "/metrics", "200", "no"]
        assert figures["quandary_store_up",] == 1
        assert ("quandary_waiting", "decide", "person") in figures


def test_a_journal_too_long_to_be_counted_at_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is told that would be too low, until the rest was counted in between."""
    monkeypatch.setattr(metrics, "PIECE", -1.0)
    site.ask("Login")
    with site.visitor() as visitor:
        figures = scrape(visitor)
        assert journalled(figures) == {("quandary_journal_behind",): site.store.newest()}
        assert figures["quandary_waiting", "decide", "person"] == 1
        monkeypatch.setattr(metrics, "PIECE", 0.05)
        monkeypatch.setattr(metrics, "PAUSE", 0.01)
        deadline = time.monotonic() + 20
        while site.store.newest() and time.monotonic() < deadline:
            figures = scrape(visitor)
            if not figures["quandary_journal_behind",]:
                break
        assert figures["quandary_runs_begun_total", "decide"] == 1
        monkeypatch.setattr(metrics, "PIECE", -1.0)
        scrape(visitor)  # behind what was counted in between
        site.ask("Cache")
        figures = scrape(visitor)
        assert figures["quandary_journal_behind",] == 2
        assert figures["quandary_runs_begun_total", "decide"] == 1


def test_what_waits_is_counted_no_more_often_than_it_is_worth(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longer it takes, the longer it is good for."""
    looks: list[float] = []
    awaited: Callable[[list[str]], list[Awaited]] = site.store.awaited

    def slow(moments: list[str]) -> list[Awaited]:
        looks.append(time.monotonic())
        time.sleep(0.02)
        return awaited(moments)

    monkeypatch.setattr(site.store, "awaited", slow)
    waiting = Waiting(site.store)
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        assert waiting.now() == []
    assert 1 <= len(looks) <= 3


# -- pages and the fleet -------------------------------------------------------------------------


def _told(store: Store, events: Events, fleet: Callable[[], Fleet] | None = None) -> Figures:
    return read(asyncio.run(Metrics(store, events, fleet).written(up=True)).decode())


def test_open_pages(site: Site) -> None:
    """Those that listen, and requests that wait."""

    async def listen() -> None:
        events = Events(site.store)
        run = site.ask("Login").run
        pages = [Listener(events, one) for one in ("", run)]
        waiting = asyncio.create_task(events.wait(run, 99, 5))
        await asyncio.sleep(0.1)
        figures = read((await Metrics(site.store, events, None).written(up=True)).decode())
        assert figures["quandary_event_streams",] == 2
        assert figures["quandary_long_polls",] == 1
        waiting.cancel()
        await asyncio.wait([waiting])
        for page in pages:
            events.let_go(page)
        assert (events.listeners, events.waiters) == (0, 0)

    asyncio.run(listen())


def test_the_fleet(site: Site) -> None:
    """How deep its queues are, and how many workers there are."""
    queues = (Queue("CLAUDE@walk.1", 5, 1, 3, 2, 0), Queue("CODEX@walk.1", 0, 0, 0, 0, 1))
    figures = _told(site.store, Events(site.store), lambda: Fleet(queues, 4))
    assert figures["quandary_fleet_workers",] == 4
    jobs = {name[1:]: value for name, value in figures.items() if name[0] == "quandary_queue_jobs"}
    assert jobs["CLAUDE@walk.1", "ready"] == 5
    assert jobs["CLAUDE@walk.1", "later"] == 1
    assert jobs["CLAUDE@walk.1", "working"] == 3
    assert jobs["CLAUDE@walk.1", "stalled"] == 2
    assert jobs["CODEX@walk.1", "failed"] == 1


def test_more_queues_than_anybody_watches(site: Site) -> None:
    """Those beyond the first are told together, so that none is told twice."""
    queues = tuple(Queue(f"Q{number}", 1, 0, 0, 0, 0) for number in range(MOST_NAMES + 10))
    figures = _told(site.store, Events(site.store), lambda: Fleet(queues))
    assert figures["quandary_queue_jobs", "other", "ready"] == 10


def test_agents(site: Site) -> None:
    """Calls and failures by agent; one that never failed is told as such."""
    import small_flows  # noqa: PLC0415 - registers a flow
    from quandary.model.calls import Output  # noqa: PLC0415 - only here

    state = small_flows.answer(site.store, small_flows.begin(site.store, "errand"))
    runs.advance(site.store, state.run, Output("1:/run"), who="agent", through="agent")
    figures = _told(site.store, Events(site.store))
    assert figures["quandary_agent_calls_total", "claude"] == 4
    assert figures["quandary_agent_failures_total", "claude"] == 0
    assert figures["quandary_agent_calls_under_way",] == 3
    assert figures["quandary_waiting", "small", "agent"] == 1


def test_the_newest_entry_is_told_with_its_digest(site: Site) -> None:
    """Whoever keeps it elsewhere can see later that nothing was taken back."""
    site.ask("Login")
    seq, digest = site.store.head() or (0, b"")
    with site.visitor() as visitor:
        figures = scrape(visitor)
    assert figures["quandary_newest_entry", digest.hex()] == seq > 0
    assert figures["quandary_store_older",] == 0
