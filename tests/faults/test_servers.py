"""Servers that are killed, and journals that are taken away, while people answer."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import databases
import small_flows
from faults.kit import complaint
from faults.test_locked import held
from quandary.errors import StoreError
from quandary.journal.entries import Answered
from quandary.journal.postgres import PostgresStore
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from sites import TOKEN, Server, Site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litestar.testing import TestClient

    from faults.kit import Trouble
    from quandary.journal.store import Store

PEOPLE, KILLS = 4, 2


@pytest.fixture
def apart() -> Iterator[Path]:
    """A folder of which nobody else knows."""
    with tempfile.TemporaryDirectory(prefix="quandary-") as name:
        yield Path(name)


def answer(address: str, run: str, token: str) -> dict[str, Any]:
    """Answer what a run waits for, with a remark by which the answer is known."""
    answers = {"answers": [{"picked": ["OK"], "comment": token}]}
    headers = {"Content-Type": "application/json", "Idempotency-Key": token}
    return fetch(f"{address}/api/runs/{run}/reply", json.dumps(answers).encode(), **headers)


def fetch(address: str, body: bytes | None = None, **headers: str) -> dict[str, Any]:
    """What a server says to a program of ours."""
    headers = {"Authorization": f"Bearer {TOKEN}", **headers}
    request = urllib.request.Request(address, body, headers)  # noqa: S310 - our own address
    with urllib.request.urlopen(request, timeout=10) as came:  # noqa: S310 - the same
        found: dict[str, Any] = json.load(came)
    return found


def _wait_for(told: dict[str, list[str]], answers: int) -> None:
    """Until so many were acknowledged, or for as long as a busy machine may need."""
    until = time.monotonic() + 20
    while sum(map(len, told.values())) < answers and time.monotonic() < until:
        time.sleep(0.01)


def test_killing_the_server_while_people_answer_loses_nothing(apart: Path) -> None:
    """Whoever was told that their answer is booked finds it there, once, whoever asks again."""
    site = Site(apart)
    runs = [site.ask(*(f"Step {n}" for n in range(40))).run for _ in range(PEOPLE)]
    site.store.close()
    server = Server(apart, "--token", TOKEN)
    told: dict[str, list[str]] = {run: [] for run in runs}
    over = threading.Event()

    def person(run: str) -> None:
        number = 0
        while not over.is_set():
            token = f"{run}-{number}"
            try:
                state = answer(server.address, run, token)
            except urllib.error.HTTPError:
                return  # it is over: there is nothing left to answer
            except (OSError, HTTPException):
                time.sleep(0.02)  # nobody said that it was booked, so it is said again
                continue
            told[run].append(token)
            number += 1
            if state["status"] != "waiting":
                return

    people = [threading.Thread(target=person, args=(run,)) for run in runs]
    try:
        server.start()
        for one in people:
            one.start()
        for turn in range(1, KILLS + 1):
            _wait_for(told, turn * PEOPLE)
            server.kill()
            if turn < KILLS:
                server.start()
    finally:
        over.set()
        for one in people:
            if one.ident is not None:
                one.join(30)
        server.kill()
    with closing(SqliteStore(apart / "journal.db")) as store:
        assert verify(store).ok
        for run in runs:
            _booked_once(store, run, told[run])
    assert sum(map(len, told.values())) >= PEOPLE


def test_who_looks_does_not_wait_for_replies_that_do(apart: Path) -> None:
    """Another program holds the file: replies wait for it side by side, and pages are there."""
    site = Site(apart)
    runs = [site.ask(f"Step {n}").run for n in range(8)]
    site.store.close()
    server = Server(apart, "--token", TOKEN)
    states: list[dict[str, Any]] = []
    people = [
        threading.Thread(target=lambda run=run: states.append(answer(server.address, run, run)))
        for run in runs
    ]
    try:
        server.start()
        with held(apart / "journal.db"):
            for one in people:
                one.start()
            begun = time.monotonic()
            for _ in range(20):
                assert len(fetch(f"{server.address}/api/inbox")["runs"]) == len(runs)
                time.sleep(0.1)
            assert time.monotonic() - begun < 20
            assert not states
        for one in people:
            one.join(30)
    finally:
        server.kill()
    assert [state["status"] for state in states] == ["done"] * len(runs)


def test_a_database_that_crashes_while_people_answer_loses_nothing(apart: Path) -> None:
    """Who was told so finds their answer; who was not says it again, and it is there once."""
    with databases.served() as server, server.schema() as url:
        store = PostgresStore(url)
        site = Site(apart, store=store)
        runs = [site.ask(*(f"Step {n}" for n in range(60))).run for _ in range(3)]
        told: dict[str, list[str]] = {run: [] for run in runs}
        refused: list[str] = []
        restarted = threading.Event()

        def person(visitor: TestClient[Any], run: str) -> None:
            after = 0
            while after < 2 and not refused:
                token = f"{run}-{len(told[run])}"
                came = visitor.post(
                    f"/api/runs/{run}/reply",
                    json={"answers": [{"picked": ["OK"], "comment": token}]},
                    headers={"Idempotency-Key": token},
                )
                if came.status_code == 200:
                    told[run].append(token)
                    after += restarted.is_set()
                    if came.json()["status"] != "waiting":
                        return
                elif came.status_code != 503:
                    refused.append(came.text)

        with site.visitor(Authorization=f"Bearer {TOKEN}") as visitor:
            people = [threading.Thread(target=person, args=(visitor, run)) for run in runs]
            for one in people:
                one.start()
            server.stop("at once")
            server.start()
            restarted.set()
            for one in people:
                one.join(60)
        assert refused == []
        assert verify(store).ok
        for run in runs:
            assert told[run]
            _booked_once(store, run, told[run])
        store.close()


def _booked_once(store: Store, run: str, told: list[str]) -> None:
    """What was acknowledged is there, and at most the last was not heard of."""
    booked: Counter[str] = Counter()
    for entry in store.entries(run, kinds=("answered",)):
        assert isinstance(entry.read(), Answered)
        booked[str(entry.read_matter().answers[0].comment)] += 1
    assert set(told) <= set(booked)
    assert set(booked.values()) <= {1}
    assert len(booked) <= len(told) + 1


def test_nothing_is_booked_in_a_file_that_was_taken_away(apart: Path) -> None:
    """A server whose journal is deleted or exchanged says so, instead of writing into the void."""
    site = Site(apart)
    run = site.ask("One").run
    path = apart / "journal.db"
    with site.visitor(Authorization=f"Bearer {TOKEN}") as visitor:
        shutil.copy(path, apart / "another.db")
        for other in apart.glob("journal.db*"):
            other.rename(apart / other.name.replace("journal", "hidden"))
        refused = visitor.post(f"/api/runs/{run}/reply", json={"text": "ok"})
        assert (refused.status_code, "no longer exists" in refused.json()["detail"]) == (503, True)
        (apart / "another.db").rename(path)
        refused = visitor.post(f"/api/runs/{run}/reply", json={"text": "ok"})
        assert (refused.status_code, "was replaced" in refused.json()["detail"]) == (503, True)
        path.unlink()
        for other in apart.glob("hidden.db*"):
            other.rename(apart / other.name.replace("hidden", "journal"))
        answered = visitor.post(f"/api/runs/{run}/reply", json={"text": "ok"})
        assert answered.json()["status"] == "done"
    site.store.close()


def test_a_store_that_was_taken_away_takes_nothing(tmp_path: Path) -> None:
    """What would be acknowledged now would be in no file."""
    path = tmp_path / "journal.db"
    store = SqliteStore(path)
    state = small_flows.begin(store)
    path.unlink()
    with pytest.raises(StoreError, match="no longer exists"):
        small_flows.answer(store, state)
    store.close()


# -- links -----------------------------------------------------------------------------------------


def test_links_that_lead_in_circles_are_one_line(trouble: Trouble) -> None:
    """Files, folders and journals that are links to themselves."""
    for name in ("loop.md", "loop.db", "loop"):
        (trouble.folder / name).symlink_to(name)
    for words in (
        ("check", "loop.md"),
        ("check", "loop"),
        ("fmt", "loop.md"),
        ("show", "loop.md"),
        ("runs", "--store", "loop.db"),
        ("ask", "t.md", "--context", "Two steps wait.", "--store", "loop.db"),
        ("export", "{done}", "--output", "loop.json"),
        ("import", "loop.md"),
        ("phase", "status", "loop"),
        ("store", "backup", "loop.db"),
        ("store", "recover", "loop.db"),
    ):
        ended = trouble.start(*words)
        if words[-1] == "loop.json":
            assert ended.status == 0, ended
            continue
        assert ended.status in (1, 2), ended
        assert complaint(ended)


def test_a_folder_below_itself_is_looked_through_once(trouble: Trouble) -> None:
    """Links to folders are not followed when trees are looked for."""
    (trouble.folder / "again").symlink_to(".")
    found = trouble.state("check", ".", "--format", "json")
    paths = [file["path"] for file in found["files"]]
    assert len(paths) == len(set(paths))
    assert not any("again" in path for path in paths)
