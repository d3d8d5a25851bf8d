"""Whether the server lives, and whether it can work: told at once, also while the store is away."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import databases
from quandary.doors.web import metrics
from quandary.doors.web.metrics import Readiness
from quandary.errors import StoreError
from quandary.journal import open_store
from sites import Site

if TYPE_CHECKING:
    import pytest
    from litestar.testing import TestClient


def test_both_are_there_for_anybody(far: Site) -> None:
    """Machines that watch over servers have no token; they are told nothing else."""
    with far.visitor() as visitor:
        for path in ("/healthz", "/readyz"):
            came = visitor.get(path)
            assert (came.status_code, came.text) == (200, "ok\n")
        assert visitor.get("/healthz", headers={"Host": "evil.example"}).status_code == 421


def test_a_server_lives_whatever_became_of_its_store(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so while nothing can be read, and that it is not ready."""
    monkeypatch.setattr(metrics, "SOON", 0.2)
    with site.visitor() as visitor, site.store._lock, site.store._reading:
        assert visitor.get("/healthz").status_code == 200
        assert visitor.get("/readyz").status_code == 503


def test_a_store_that_cannot_be_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is why the server is not ready, as a problem that says so."""

    def away() -> None:
        raise StoreError("journal.db no longer exists; restore it from a backup")

    with site.visitor() as visitor:
        with monkeypatch.context() as patch:
            patch.setattr(site.store, "require_ready", away)
            came = visitor.get("/readyz")
        assert came.status_code == 503
        assert came.headers["content-type"] == "application/problem+json"
        assert came.json()["detail"] == "journal.db no longer exists; restore it from a backup"
        assert visitor.get("/readyz").status_code == 200


def test_a_store_that_does_not_answer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is not waited for, and however many ask, it is asked once."""
    monkeypatch.setattr(metrics, "SOON", 0.2)
    asked: list[None] = []
    answered = threading.Event()

    def slow() -> None:
        asked.append(None)
        answered.wait(20)

    monkeypatch.setattr(site.store, "require_ready", slow)

    async def ask() -> list[bool]:
        readiness = Readiness(site.store)
        begun = time.monotonic()
        first = await asyncio.gather(*(readiness.there() for _ in range(5)))
        first.append(await readiness.there())
        assert time.monotonic() - begun < 5
        answered.set()
        await asyncio.sleep(0.2)
        return [*first, await readiness.there()]

    assert asyncio.run(ask()) == [False] * 6 + [True]
    assert len(asked) == 2


def _soon(visitor: TestClient[Any], path: str, status: int, seconds: float) -> float:
    """How long it took until the answer was this one."""
    begun = time.monotonic()
    while visitor.get(path).status_code != status:
        assert time.monotonic() - begun < seconds
        time.sleep(0.1)
    return time.monotonic() - begun


def test_a_database_that_goes_down_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server says so within seconds both times, and needs no restart."""
    monkeypatch.chdir(tmp_path)
    with databases.served() as server:
        store = open_store(server.url())
        site = Site(tmp_path, store=store)
        run = site.ask("Login").run
        with site.visitor() as visitor:
            assert visitor.get("/readyz").status_code == 200
            server.stop()
            begun = time.monotonic()
            refused = visitor.get("/readyz")
            assert time.monotonic() - begun < metrics.SOON + 3
            assert refused.status_code == 503
            assert refused.headers["content-type"] == "application/problem+json"
            assert databases.PASSWORD not in refused.text
            assert visitor.get("/healthz").text == "ok\n"
            assert "quandary_store_up 0.0" in visitor.get("/metrics").text
            time.sleep(6)
            server.start()
            _soon(visitor, "/readyz", 200, 15)
            assert visitor.get("/api/inbox").json()["runs"][0]["run"] == run
            assert "quandary_store_up 1.0" in visitor.get("/metrics").text
        store.close()


COLD = """
import sys, threading
from pathlib import Path

import msgspec

from sites import Site

sys.setswitchinterval(1e-6)
Site(Path(sys.argv[1]))
kinds, start = [msgspec.Struct], threading.Barrier(8)
for kind in kinds:
    kinds += kind.__subclasses__()


def read(kind):
    start.wait()
    try:
        msgspec.convert(dict.fromkeys(kind.__struct_encode_fields__[::-1]), kind)
    except msgspec.ValidationError:
        pass


for kind in kinds[::-1]:
    if kind.__module__.startswith("quandary."):
        threads = [threading.Thread(target=read, args=(kind,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
"""


def test_a_server_knows_its_types_before_its_threads_meet_them(tmp_path: Path) -> None:
    """Two threads that complete a type of msgspec at once end the process with a signal."""
    tests = Path(__file__).parents[2]
    for _ in range(3):
        ended = subprocess.run(
            [sys.executable, "-c", COLD, tmp_path],
            env={**os.environ, "PYTHONPATH": str(tests)},
            check=False,
        )
        assert ended.returncode == 0
