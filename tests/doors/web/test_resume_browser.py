"""A run's page in a real browser while a program goes on with the run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from browsers import NEEDED, PATIENCE, PHONE, chromium, log_in
from node_judges import axe
from program import PROGRAM, consent, environment
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from sites import Server
from walk_projects import AGENT, DONE, lucid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

BAD = {"says": "", "status": 3, "stderr": "no network\n"}
SILENT = {"tags": "NoValidation", "retries": "0"}
CHART = lucid(
    {
        "0": "Start",
        "1": {"text": "Write it", **SILENT, "cli": "ANN"},
        "2": {"text": "Print it", **SILENT, "cli": "BEN"},
        "3": {"text": "Fold it", **SILENT, "cli": "EVA"},
        "4": {"text": "Shall we send it?", "tags": "HUMAN"},
        "5": "End",
    },
    "0>1 1>2 2>3 3>4 4>5:send_it 4>1:not_yet",
    name="Letters",
)

pytestmark = NEEDED


class Place:
    """A project, a server in it, and a browser."""

    def __init__(self, folder: Path, browser: Browser) -> None:
        self.folder = folder
        self.browser = browser
        self.store = SqliteStore(folder / "journal.db")
        self.server = Server(folder)
        python = [sys.executable, "-IS", str(AGENT)]
        tables = "".join(
            f"[agents.{name}]\nargv = {json.dumps([*python, name, str(folder)])}\n"
            for name in ("ANN", "BEN", "EVA")
        )
        (folder / "quandary.toml").write_text(tables, encoding="utf-8")
        consent(folder, folder)
        (folder / "letters.csv").write_text(CHART, encoding="utf-8")

    def says(self, name: str, *replies: object) -> None:
        """What an agent replies from now on."""
        path = self.folder / "calls.jsonl"
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        before = sum(json.loads(line)["agent"] == name for line in lines if line)
        said = [DONE] * before + list(replies)
        (self.folder / f"{name}.json").write_text(json.dumps(said), encoding="utf-8")

    def call(self, *words: str) -> dict[str, Any]:
        """Call the program."""
        place = environment({"QUANDARY_STORE": str(self.folder / "journal.db")})
        ended = subprocess.run(
            [*PROGRAM, *words], cwd=self.folder, env=place, capture_output=True, check=False
        )
        loaded: dict[str, Any] = json.loads(ended.stdout or "{}")
        return loaded

    def failed(self) -> str:
        """A run whose second step failed."""
        self.says("BEN", BAD, DONE)
        run = str(self.call("walk", "letters.csv")["run"])
        assert runs.look(self.store, run).status == "failed"
        return run

    def person(self, **options: Any) -> Page:  # noqa: ANN401 - of Playwright
        """Somebody who has logged in."""
        context = self.browser.new_context(base_url=self.server.address, **options)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        log_in(page, self.server)
        return page


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """All of it, for all tests."""
    folder = tmp_path_factory.mktemp("letters")
    (folder / ".quandary").mkdir()
    with chromium() as browser:
        made = Place(folder, browser)
        made.server.start()
        yield made
    assert made.server.process is not None
    made.server.process.terminate()
    made.server.process.wait(30)
    made.store.close()


def test_steps_are_seen_to_finish_without_a_reload(place: Place) -> None:
    """Tried anew by the button; what is open stays open, what is typed stays, time goes by."""
    run = place.failed()
    place.says("BEN", {"says": DONE, "seconds": 2.5})
    place.says("EVA", {"says": DONE, "seconds": 2})
    page = place.person()
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="Retry the step").click()
    expect(page.get_by_text("Agents are at work")).to_be_visible()
    page.evaluate("window.stays = 'here'")
    page.locator("#stop-2 summary").first.click()
    page.get_by_text("Withdraw this run").click()
    page.get_by_label("Why").fill("it may take too long")
    expect(page.locator("#stop-3 .at-work")).to_contain_text("BEN does it now, for")
    expect(page.locator("#stop-3 .at-work [data-seconds]")).to_contain_text(
        re.compile("for [1-9] s")  # whoever looks once a second may miss one
    )
    expect(page.locator("#stop-4 .at-work")).to_contain_text("EVA does it now")
    expect(page.locator("#stop-3")).to_contain_text("attempt 1, accepted")
    expect(page.locator(".line.taken")).to_have_count(3)
    expect(page.locator("#stop-2 details").first).to_have_attribute("open", "")
    expect(page.get_by_label("Why")).to_have_value("it may take too long")
    expect(page.locator("#told dl")).to_contain_text("2 calls")
    assert page.evaluate("window.stays") == "here"
    expect(page.locator("#live")).to_contain_text("The run has a new question")
    page.reload()
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    page.context.close()


def test_a_run_that_ends_says_so_without_a_reload(place: Place) -> None:
    """The status at the top changes with the rest, and the button is there again."""
    run = place.failed()
    place.says("BEN", {**BAD, "seconds": 1.5})
    page = place.person()
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="Retry the step").click()
    expect(page.locator(".status.waiting")).to_be_visible()
    page.evaluate("window.stays = 'here'")
    expect(page.locator(".status.failed")).to_be_visible()
    expect(page.get_by_role("button", name="Retry the step")).to_be_visible()
    assert page.evaluate("window.stays") == "here"
    page.context.close()


def test_it_works_without_scripts_and_on_a_phone(place: Place) -> None:
    """Buttons are forms; what is refused is said on the page."""
    run = place.failed()
    place.says("BEN", {"says": DONE, "seconds": 1})
    page = place.person(java_script_enabled=False, **PHONE)
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="Retry the step").click()
    expect(page.locator(".status.waiting")).to_be_visible()
    deadline = time.monotonic() + PATIENCE / 1000
    while not page.get_by_role("button", name="Send").is_visible():
        assert time.monotonic() < deadline
        time.sleep(0.3)
        page.goto(f"/runs/{run}")
    page.locator("label.card", has_text="send it").click()
    page.get_by_role("button", name="Send").click()
    page.locator(".notice").get_by_role("link").click()
    expect(page.locator(".status.done")).to_be_visible()
    page.get_by_text("Change an answer").click()
    page.get_by_role("link", name="Change the answer to").click()
    page.locator("label.card", has_text="not yet").click()
    page.get_by_label("Reason").fill("one word is wrong")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_text("Agents are next")).to_be_visible()
    page.get_by_text("Withdraw this run").click()
    page.get_by_label("Why").fill("nobody needs it")
    page.get_by_role("button", name="Withdraw", exact=True).click()
    expect(page.locator(".status.withdrawn")).to_be_visible()
    assert runs.look(place.store, run).error == "nobody needs it"
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(place: Place, scheme: Any) -> None:  # noqa: ANN401 - a literal
    """Axe finds nothing serious, and nothing is wider than a small phone."""
    failed = place.failed()
    place.says("BEN", DONE)
    asked = place.call("walk", "letters.csv")["run"]
    place.call("reply", asked, "not yet")
    page = place.person(bypass_csp=True, color_scheme=scheme, **PHONE)
    page.context.add_init_script(path=axe())
    for address in (
        f"/runs/{failed}",
        f"/runs/{asked}",
        f"/runs/{asked}/amend?to=S4@1/run",
    ):
        page.goto(address)
        for closed in page.locator("details:not([open]) > summary").all():
            if closed.is_visible():
                closed.click()
        found = page.evaluate("axe.run().then((found) => found.violations)")
        grave = [
            (one["id"], [node["html"] for node in one["nodes"]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert grave == [], address
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address
    page.context.close()
