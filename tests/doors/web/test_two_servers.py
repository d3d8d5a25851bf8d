"""Two servers before one PostgreSQL: what happens at one is seen at the other."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

import databases
from quandary.journal import open_store
from quandary.journal.entries import Answered
from sites import REVIEW, Server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from quandary.journal.store import Store

CHROMIUM = shutil.which("chromium")
TOKEN = "a-token-for-both"  # noqa: S105 - of no server but these


class Pair:
    """The two servers, and the store that both have open."""

    def __init__(self, one: Server, other: Server, store: Store) -> None:
        self.one, self.other = one, other
        self.store = store

    def ask(self, server: Server, title: str) -> str:
        """Ask about something, at one of them."""
        asking = {"context": "A plan.", "text": REVIEW, "items": [{"id": "1", "title": title}]}
        came = self.post(server, "/api/asks", asking)
        assert came.status_code == 201
        return str(came.json()["run"])

    def answer(self, server: Server, run: str) -> httpx.Response:
        """Answer it, at one of them."""
        return self.post(server, f"/api/runs/{run}/reply", {"text": "Looks good"})

    def post(self, server: Server, path: str, body: Mapping[str, object]) -> httpx.Response:
        """Send something."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.post(f"{server.address}{path}", json=body, headers=headers, timeout=30)

    def inbox(self, server: Server) -> list[str]:
        """The runs that the inbox of one of them shows."""
        came = httpx.get(f"{server.address}/api/inbox", timeout=30).json()
        return [run["run"] for run in came["runs"]]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both, for all tests."""
    folder: Path = tmp_path_factory.mktemp("pair")
    (folder / ".quandary").mkdir()
    with databases.shared().schema() as place:
        one, other = (Server(folder, "--store", place, "--token", TOKEN) for _ in range(2))
        one.start()
        other.start()
        store = open_store(place)
        yield Pair(one, other, store)
        store.close()
        one.kill()
        other.kill()


def test_news_come_from_the_other_server(pair: Pair) -> None:
    """A page is told of what was asked and of what was answered elsewhere, and sees the same."""
    with httpx.stream("GET", f"{pair.one.address}/events", timeout=30) as stream:
        lines = stream.iter_lines()
        assert "data: hello" in (next(lines), next(lines))
        run = pair.ask(pair.other, "Login")
        assert any(run in line for line in lines)
        assert pair.inbox(pair.one) == pair.inbox(pair.other) == [run]
        assert pair.answer(pair.other, run).json()["status"] == "done"
        assert any(run in line for line in lines)
    assert pair.inbox(pair.one) == pair.inbox(pair.other) == []


def test_an_answer_at_each_of_them(pair: Pair) -> None:
    """The first one counts; who comes second is told so, and nothing is booked twice."""
    run = pair.ask(pair.one, "Cache")
    first, second = pair.answer(pair.one, run), pair.answer(pair.other, run)
    assert (first.status_code, second.status_code) == (200, 409)
    assert "already answered" in second.json()["detail"]
    (booked,) = pair.store.entries(run, kinds=("answered",))
    assert isinstance(booked.read(), Answered)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_a_question_disappears_from_the_page_of_the_other(pair: Pair) -> None:
    """Nobody has to load the page again."""
    run = pair.ask(pair.one, "Search")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(base_url=pair.other.address)
        page.goto("/")
        link = page.locator(f'[data-row="{run}"]')
        expect(link.first).to_be_visible(timeout=30_000)
        page.keyboard.press("/")
        page.keyboard.type("nothing like it")
        expect(link).to_have_count(0, timeout=30_000)
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.keyboard.type("sear")
        expect(link.first).to_be_visible(timeout=30_000)
        pair.answer(pair.one, run)
        expect(link).to_have_count(0, timeout=30_000)
        browser.close()
