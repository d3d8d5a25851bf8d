"""A real browser, and whoever sits at it."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect, sync_playwright

import databases
from node_judges import axe
from quandary.journal import open_store, runs
from sites import TAGS, Server, Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

CHROMIUM = shutil.which("chromium")
NEEDED = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
PATIENCE = 30_000
"""Milliseconds that a page may take on a busy machine."""
expect.set_options(timeout=PATIENCE)
_LOST = ("ERR_", "status of 4")
"""What a browser complains of where a test wants just that: a server that is away, a refusal."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser itself."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def log_in(page: Page, server: Server) -> None:
    """Become a person, with the code that the server shows on its terminal."""
    page.goto("/login")
    page.get_by_label("Code or token").fill(server.code())
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


class World:
    """A server, its journal, and a browser."""

    def __init__(self, server: Server, site: Site, browser: Browser) -> None:
        self.server = server
        self.site = site
        self.browser = browser

    @contextmanager
    def context(self, **options: Any) -> Iterator[BrowserContext]:  # noqa: ANN401 - of Playwright
        """A browser of somebody's own, which must have nothing to complain about."""
        options = DESKTOP | options
        context = self.browser.new_context(base_url=self.server.address, **options)
        context.set_default_timeout(PATIENCE)
        complaints: list[str] = []
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.on("console", lambda said: complaints.append(said.text) if _is_bad(said) else None)
        yield context
        context.close()
        assert complaints == [], complaints

    @contextmanager
    def person(self, **options: Any) -> Iterator[Page]:  # noqa: ANN401 - of Playwright
        """Somebody who has logged in."""
        with self.context(**options) as context:
            page = context.new_page()
            log_in(page, self.server)
            yield page

    def result(self, run: str) -> list[str]:
        """The paths that were chosen in a run that is done."""
        state = runs.look(self.site.store, run)
        assert state.status == "done"
        return [chosen["path"] for chosen in state.result["chosenItems"]]

    def clear(self) -> None:
        """Nothing waits any more."""
        for row in self.site.store.runs(waits="person", limit=1000):
            runs.withdraw(self.site.store, row.id, "no need", who="person", through="terminal")


def _is_bad(said: ConsoleMessage) -> bool:
    return said.type == "error" and not any(lost in said.text for lost in _LOST)


@contextmanager
def opened(folder: Path) -> Iterator[World]:
    """All of it, in a folder."""
    (folder / ".quandary").mkdir()
    (folder / "tags.md").write_text(TAGS, encoding="utf-8")
    site, server = Site(folder), Server(folder)
    server.start()
    with chromium() as browser:
        yield World(server, site, browser)
    server.kill()
    site.store.close()


@contextmanager
def elsewhere(folder: Path, browser: Browser) -> Iterator[World]:
    """The same before a PostgreSQL."""
    (folder / ".quandary").mkdir(parents=True)
    with databases.shared().schema() as url:
        store, server = open_store(url), Server(folder, "--store", url)
        server.start()
        yield World(server, Site(folder, store), browser)
        server.kill()
        store.close()


# -- what somebody does there --------------------------------------------------------------------


def question(page: Page, number: int = 0) -> Any:  # noqa: ANN401 - of Playwright
    """One of the questions of a page."""
    return page.locator("fieldset").nth(number)


def send(page: Page) -> None:
    """Press the button, and wait for the page that follows."""
    with turning(page):
        page.get_by_role("button", name="Send", exact=True).click()


@contextmanager
def turning(page: Page) -> Iterator[None]:
    """What is done within it leads to another page, which is there in the end."""
    page.locator("main").evaluate("main => { main.dataset.old = '' }")
    yield
    expect(page.locator("main:not([data-old]):not([aria-busy])")).to_have_count(1)


def judge(page: Page, *rules: str) -> list[str]:
    """What axe finds that some people could not use on a page, by all its rules or by some."""
    page.evaluate(axe().read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate(
        "rules => axe.run(rules)", {"runOnly": [*rules]} if rules else {}
    )
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]]
