"""The person who answers in the browser's stead, over HTTP within a login of their own."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx

from sites import Server, hidden

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hosts.places import Place

SOON = 40.0
"""Seconds within which a question has to be in the inbox."""


class Person:
    """Somebody who has logged in to `quandary serve`."""

    def __init__(self, server: Server) -> None:
        self.server = server
        origin = {"Origin": server.address}
        self.http = httpx.Client(base_url=server.address, headers=origin, trust_env=False)
        form = hidden(self.http.get("/login").text)
        sent = self.http.post("/login", data={**form, "code": server.code()})
        assert sent.status_code == httpx.codes.SEE_OTHER, sent.text

    def inbox(self) -> list[dict[str, Any]]:
        """What waits."""
        listed: list[dict[str, Any]] = self.http.get("/api/inbox").json()["runs"]
        return listed

    def wait(self) -> dict[str, Any]:
        """The state of the one question that comes to wait."""
        until = time.monotonic() + SOON
        while time.monotonic() < until:
            if found := self.inbox():
                (row,) = found
                state: dict[str, Any] = self.http.get(f"/api/runs/{row['run']}").json()
                return state
            time.sleep(0.1)
        raise TimeoutError("nothing has come to the inbox")

    def until_gone(self) -> None:
        """Wait until nothing is in the inbox any more."""
        until = time.monotonic() + SOON
        while self.inbox():
            assert time.monotonic() < until, "it still waits in the inbox"
            time.sleep(0.1)

    def say(self, run: str, text: str) -> httpx.Response:
        """Write something in place of a choice."""
        return self.http.post(f"/api/runs/{run}/reply", json={"text": text})

    def answer(self, run: str, code: str, comment: str = "", key: str = "1:") -> httpx.Response:
        """Choose an option."""
        one = {"key": key, "picked": [code], **({"comment": comment} if comment else {})}
        return self.http.post(f"/api/runs/{run}/reply", json={"answers": [one]})


@contextmanager
def served(place: Place, *words: str) -> Iterator[Server]:
    """`quandary serve` for a place; a busy machine may need a second try to start it."""
    server = Server(place.data, *words, home=place.home)
    try:
        try:
            server.start()
        except (AssertionError, TimeoutError):
            server.kill()
            server.start()
        yield server
    finally:
        server.kill()


@contextmanager
def at_inbox(place: Place, *words: str) -> Iterator[Person]:
    """Somebody at the inbox of a place, which is served for as long as that."""
    with served(place, *words) as server:
        person = Person(server)
        try:
            yield person
        finally:
            person.http.close()
