"""How quick the inbox is in a real browser, and how many keys it takes; status 1 on a miss.

First paint and key to paint are compared with a static page of the same bytes, by turns in the same
browser. A hundred mixed questions are answered by keyboard alone. News reach 500 listeners and
three open pages. The argument is the number of runs in the store, of which every hundredth waits.
"""

from __future__ import annotations

import asyncio
import functools
import shutil
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect, sync_playwright

import inbox
from measuring import Row, at_most, table
from quandary.desk.begin import Asking, Showing, decide
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    import http.client
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

RUNS = 100_000
ROUNDS = 25
LISTENERS, PAGES, TELLINGS = 500, 3, 20
TRIED = 5
DEPLOY = """\
### ¶ASK_DEPLOY
## Decision: Deploy
- [EVE] This evening
  Somebody watches
- [MON] On Monday
  With everybody there
- [NO] Not yet
  Something is missing
  - [BUG] There is a bug
    It breaks
  - [DOC] Words are missing
    Nobody would know
  - [OTH] Other
- [OTH] Other
"""
TAGS = """\
### ¶ASK_TAGS
## Decision: Tags
- [ ] [UI] Interface
- [ ] [DB] Database
- [ ] [DOC] Documentation
- [OTH] Other
"""
AFTER_PAINT = """() => new Promise(done => addEventListener("keydown", event =>
  requestAnimationFrame(() => { const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now() - event.timeStamp);
    channel.port2.postMessage(0); }), { once: true, capture: true }))"""
FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
STATIC_KEYS = """addEventListener("keydown", () => {
  const rows = [...document.querySelectorAll(".inbox > li")];
  const at = rows.findIndex((row) => row.matches(".current"));
  rows[at]?.removeAttribute("class");
  rows[(at + 1) % rows.length].className = "current";
});
"""


def main() -> int:
    """Measure, print a table, and judge."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    inbox.WAITING = 100
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        few, many = folder / "few.db", folder / "many.db"
        inbox.fill(few)
        inbox.multiply(few, many, size)
        with closing(sqlite3.connect(many)) as raw, raw:  # what is begun next comes behind them
            raw.execute("UPDATE last SET runs = (SELECT max(number) FROM run)")
        line = opened.enter_context(inbox.served(folder, many))
        playwright = opened.enter_context(sync_playwright())
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened.callback(browser.close)
        rows = [
            *painting(folder, browser, line, size),
            *telling(browser, line, many, folder),
            figures(browser, line, size),
            keys(browser, folder, opened),
        ]
    return table(rows)


@contextmanager
def looked_at(browser: Browser, line: http.client.HTTPConnection) -> Iterator[Page]:
    """A page of somebody who has logged in."""
    name, _, value = inbox.LOGINS[line]["Cookie"].partition("=")
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    cookie: Any = {"name": name, "value": value, "domain": "127.0.0.1", "path": "/"}
    context.add_cookies([cookie])
    yield context.new_page()
    context.close()


def painting(
    folder: Path, browser: Browser, line: http.client.HTTPConnection, size: int
) -> Iterator[Row]:
    """First paint of the inbox, and of a key, against a static page of the same bytes."""
    copy = folder / "copy"
    (copy / "static").mkdir(parents=True)
    (copy / "index.html").write_bytes(inbox.fetch(line, "/"))
    for name in ("style.css", "app.js", "icon.svg"):
        line.request("GET", f"/static/{name}")
        (copy / "static" / name).write_bytes(line.getresponse().read())
    script = (copy / "static/app.js").read_bytes()
    padding = b"//" + b"x" * max(len(script) - len(STATIC_KEYS) - 3, 0) + b"\n"
    (copy / "static/app.js").write_bytes(STATIC_KEYS.encode() + padding)
    handler = functools.partial(Quiet, directory=str(copy))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, looked_at(browser, line) as page:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        places = {
            "ours": f"http://127.0.0.1:{line.port}/",
            "static": f"http://127.0.0.1:{server.server_port}/",
        }
        first: dict[str, list[float]] = {name: [] for name in places}
        key: dict[str, list[float]] = {name: [] for name in places}
        shown: list[float] = []
        for _ in range(ROUNDS):
            for name, place in places.items():
                page.goto(place, wait_until="load")
                first[name].append(painted(page))
                for _ in range(TRIED):
                    page.evaluate(f"() => {{ window.took = ({AFTER_PAINT})() }}")
                    begun = time.perf_counter()
                    page.keyboard.press("j")
                    key[name].append(float(page.evaluate("window.took")))
                    if name == "ours":
                        page.wait_for_selector("main:not([aria-busy])")
                        shown.append(time.perf_counter() - begun)
        server.shutdown()
    for what, times in (("first paint", first), ("key to paint", key)):
        ours, static = (statistics.median(times[name]) for name in ("ours", "static"))
        told = f"{what} among {size:,} runs ({ours:.1f} ms) against a static page ({static:.1f} ms)"
        yield at_most(ours / static, 2, told)
    took = statistics.median(shown) * 1000
    yield Row("from the key to the next question on the screen", f"{took:.0f} ms")


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Keep it to itself."""


def painted(page: Page) -> float:
    """When the first contents of a page were painted, in milliseconds since it was asked for."""
    while not (found := page.evaluate(FIRST_PAINT)):
        time.sleep(0.01)
    return float(found)


def telling(
    browser: Browser, line: http.client.HTTPConnection, store: Path, folder: Path
) -> Iterator[Row]:
    """How long news take to reach everybody who listens, of whom three are real pages."""
    heard: list[float] = []
    ready, told, over = threading.Event(), list[float](), threading.Event()
    work = (listen(line, heard, ready, told, over),)
    thread = threading.Thread(target=asyncio.run, args=work, daemon=True)
    thread.start()
    with ExitStack() as opened:
        pages = [opened.enter_context(looked_at(browser, line)) for _ in range(PAGES)]
        for page in pages:
            page.goto(f"http://127.0.0.1:{line.port}/?order=newest")
        ready.wait(60)
        seen: list[float] = []
        with closing(SqliteStore(store)) as journal:
            for number in range(TELLINGS):
                begun = decide(Asking(context=f"News {number}.", text=DEPLOY), Showing())
                before = len(heard)
                told.append(time.monotonic())
                state = runs.begin(
                    journal,
                    begun.flow,
                    begun.arguments,
                    documents=begun.documents,
                    project=str(folder),
                    who="agent",
                    through="command",
                )
                for page in pages:
                    page.wait_for_selector(f'[data-row="{state.run}"]')
                    seen.append(time.monotonic() - told[-1])
                while len(heard) < before + LISTENERS:
                    time.sleep(0.01)
        over.set()
    thread.join()
    for what, times in ((f"news at {LISTENERS} streams", heard), (f"{PAGES} open pages", seen)):
        slowest = statistics.quantiles(times, n=100)[98]
        yield Row(f"{what}, p99", f"{slowest:.2f} s", "<= 1 s", slowest <= 1)


async def listen(
    line: http.client.HTTPConnection,
    heard: list[float],
    ready: threading.Event,
    told: list[float],
    over: threading.Event,
) -> None:
    """Many streams of events; each notes how long after the telling its news came."""
    cookie = inbox.LOGINS[line]["Cookie"]
    head = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode()
    greeted = 0

    async def one() -> None:
        nonlocal greeted
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        writer.write(head)
        while row := await reader.readline():
            if row.startswith(b"event: hello"):
                greeted += 1
            if row.startswith(b"event: news") and told:
                heard.append(time.monotonic() - told[-1])
        writer.close()

    tasks = [asyncio.create_task(one()) for _ in range(LISTENERS)]
    while greeted < LISTENERS:
        await asyncio.sleep(0.05)
    ready.set()
    while not over.is_set():
        await asyncio.sleep(0.05)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def figures(browser: Browser, line: http.client.HTTPConnection, size: int) -> Row:
    """How soon statistics show anything, with nothing counted yet."""
    with looked_at(browser, line) as page:
        page.goto(f"http://127.0.0.1:{line.port}/stats", wait_until="commit")
        first = painted(page) / 1000
    told = f"until /stats shows something among {size:,} runs"
    return Row(told, f"{first:.2f} s", "<= 1 s", first <= 1)


def keys(browser: Browser, folder: Path, opened: ExitStack) -> Row:
    """A hundred mixed questions, answered by keyboard alone."""
    path = folder / "mixed.db"
    kinds = ["choice"] * 6 + ["levels"] * 2 + ["several", "words"]
    with closing(SqliteStore(path)) as store:
        for number in range(100):
            tree = TAGS if kinds[number % 10] == "several" else DEPLOY
            begun = decide(Asking(context=f"Question {number}.", text=tree), Showing())
            runs.begin(
                store,
                begun.flow,
                begun.arguments,
                documents=begun.documents,
                project=str(folder),
                who="agent",
                through="command",
            )
    line = opened.enter_context(inbox.served(folder, path))
    strokes = 0
    with looked_at(browser, line) as page:
        page.goto(f"http://127.0.0.1:{line.port}/")

        def press(*names: str, words: str = "") -> None:
            """Press keys, the last of which leads on."""
            nonlocal strokes
            for name in names[:-1]:
                page.keyboard.press(name)
            page.keyboard.type(words)  # not counted
            page.evaluate("document.querySelector('main').dataset.old = ''")
            page.keyboard.press(names[-1])
            strokes += len(names)
            expect(page.locator("main:not([data-old]):not([aria-busy])")).to_have_count(1)

        for number in range(100):
            kind = kinds[number % 10]
            expect(page.locator(".pane")).to_contain_text(f"Question {number}.")
            if kind == "choice":
                press("1", "Enter")
            elif kind == "levels":
                press("3", "Enter")
                press("1", "Enter")
            elif kind == "several":
                press("1", "3", "Enter")
            else:
                press("4", "Enter", words="when the tests are green")
        expect(page.locator(".empty")).to_be_visible()
    with closing(SqliteStore(path)) as store:
        done = store.count_runs("done")
    kept = strokes <= 250 and done == 100
    told = f"keystrokes for each of {done} mixed questions"
    return Row(told, f"{strokes / 100:.2f}", "<= 2.5", kept)


if __name__ == "__main__":
    sys.exit(main())
