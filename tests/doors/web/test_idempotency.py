"""What is sent twice under one Idempotency-Key is done once, whichever server it comes to."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

import databases
from quandary.journal import open_store
from sites import PAGE, REVIEW, TOKEN, Site, hidden

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from litestar.testing import TestClient

KEY = {"Idempotency-Key": "k-1"}
ASKING = {"context": "A plan of few steps.", "text": REVIEW, "items": [{"id": "1"}]}


def answers(**picked: str) -> dict[str, Any]:
    """Answers as a program sends them: `_1="OK"` for the first item."""
    return {"answers": [{"key": f"{k[1:]}:", "picked": [code]} for k, code in picked.items()]}


def test_something_else_under_the_same_key_is_refused(site: Site) -> None:
    """With a problem, and nothing is booked, whatever waits by then."""
    run = site.ask("Login", "Cache").run
    with site.visitor(**KEY) as visitor:
        address = f"/api/runs/{run}/reply"
        assert visitor.post(address, json=answers(_1="OK")).status_code == 200
        for other in (answers(_1="INF"), answers(_2="OK"), {"text": "OK"}, {"text": ""}):
            refused = visitor.post(address, json=other)
            assert refused.status_code == 422
            assert refused.headers["content-type"] == "application/problem+json"
            assert "another reply was sent with that key" in refused.json()["detail"]
        assert len(site.sources(run)) == 1
        own = visitor.post(address, json={"text": "OK"}, headers={"Idempotency-Key": "k-2"})
        assert own.status_code == 200
    assert len(site.sources(run)) == 2


def test_the_answer_is_that_of_the_first_time(site: Site) -> None:
    """Although the run went on, and ended, meanwhile; spaces in the JSON do not count."""
    run = site.ask("Login", "Cache").run
    with site.visitor() as visitor:
        address = f"/api/runs/{run}/reply"
        first = visitor.post(address, json=answers(_1="OK"), headers=KEY).json()
        assert first["status"] == "waiting"
        last = visitor.post(address, json={"text": "OK"}, headers={"Idempotency-Key": "k-2"})
        assert last.json()["status"] == "done"
        body = b'{ "answers" : [ {"picked":["OK"], "key" : "1:"} ] }'
        again = visitor.post(
            address, content=body, headers={**KEY, "Content-Type": "application/json"}
        )
        assert (again.status_code, again.json()) == (200, first)


def test_whoever_it_is_from_is_part_of_it(site: Site) -> None:
    """Nobody is told that their reply was booked because somebody else sent the same."""
    run = site.ask("Login").run
    with site.visitor(**KEY) as visitor:
        address = f"/api/runs/{run}/reply"
        named = {"Authorization": f"Bearer {TOKEN}"}
        assert visitor.post(address, json={"text": "OK"}).status_code == 200
        assert visitor.post(address, json={"text": "OK"}, headers=named).status_code == 422


def test_what_was_not_booked_uses_up_no_key(site: Site) -> None:
    """Whoever puts a refused reply right may send it under the same key."""
    run = site.ask("Login").run
    with site.visitor(**KEY) as visitor:
        address = f"/api/runs/{run}/reply"
        assert visitor.post(address, json={"text": ""}).status_code == 400
        assert visitor.post(address, json={"text": "OK"}).status_code == 200


def test_after_a_restart(site: Site, tmp_path: Path) -> None:
    """Another process on the same journal knows what was sent."""
    run = site.ask("Login", "Cache").run
    address = f"/api/runs/{run}/reply"
    with site.visitor(**KEY) as visitor:
        first = visitor.post(address, json=answers(_1="OK")).json()
    later = Site(tmp_path)
    with later.visitor(**KEY) as visitor:
        assert visitor.post(address, json=answers(_1="OK")).json() == first
        assert visitor.post(address, json=answers(_1="INF")).status_code == 422
    later.store.close()


@pytest.fixture(params=["embedded", "shared"])
def two(
    request: pytest.FixtureRequest, site: Site, tmp_path: Path
) -> Iterator[tuple[Site, list[TestClient[Any]]]]:
    """Two servers on one journal, and a program at each."""
    with ExitStack() as ending:
        if request.param == "embedded":
            other = Site(tmp_path)
            sites = [site, other]
            ending.callback(other.store.close)
        else:
            url = ending.enter_context(databases.shared().schema())
            sites = [Site(tmp_path, store=open_store(url)) for _ in range(2)]
            for one in sites:
                ending.callback(one.store.close)
        yield sites[0], [ending.enter_context(one.visitor()) for one in sites]


def test_many_at_once_at_two_servers(two: tuple[Site, list[TestClient[Any]]]) -> None:
    """One is booked; all who sent that are told the same, and the others that it was not theirs."""
    site, visitors = two
    told: list[tuple[str, int, Any]] = []

    def post(visitor: TestClient[Any], run: str, code: str) -> None:
        sent = answers(_1=code)
        came = visitor.post(f"/api/runs/{run}/reply", json=sent, headers=KEY)
        told.append((code, came.status_code, came.json()))

    for _ in range(3):
        told.clear()
        run = site.ask("Login", "Cache").run
        threads = [
            threading.Thread(target=post, args=(visitors[n % 2], run, ("OK", "INF")[n // 2 % 2]))
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(site.sources(run)) == 1
        (winner,) = {code for code, status, _ in told if status == 200}
        counted = Counter((code == winner, status) for code, status, _ in told)
        assert counted == {(True, 200): 4, (False, 422): 4}
        assert len({str(state) for code, _, state in told if code == winner}) == 1


def test_asking_something_else_under_the_same_key(site: Site) -> None:
    """Is refused, and the first question waits as it did."""
    with site.visitor(**KEY) as visitor:
        run = visitor.post("/api/asks", json=ASKING).json()["run"]
        refused = visitor.post("/api/asks", json={**ASKING, "context": "Another plan."})
        assert refused.status_code == 422
        assert refused.headers["content-type"] == "application/problem+json"
        assert visitor.post("/api/asks", json=ASKING).json()["run"] == run
    assert [row.id for row in site.store.runs()] == [run]


def test_a_form_that_was_changed_and_sent_again(site: Site) -> None:
    """The first one counts, and whoever went back is told; the very same form is just shown."""
    run = site.ask("Login").run
    with site.person() as visitor:
        form = hidden(visitor.get(f"/runs/{run}").text)

        def post(pick: str) -> int:
            return visitor.post(
                f"/runs/{run}/answer",
                data={**form, "pick-0": pick},
                headers=PAGE,
                follow_redirects=False,
            ).status_code

        assert [post("OK"), post("OK"), post("INF")] == [303, 303, 409]
    assert len(site.sources(run)) == 1
