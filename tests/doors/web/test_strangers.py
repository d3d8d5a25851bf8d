"""What nobody gets who has not logged in: other projects, files, agents, news after logging out."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import quandary
from mcp_clients import Person, Said, said
from program import environment
from quandary.cli.servers import service_of
from quandary.desk import begin as desk
from quandary.desk import reply as replies
from quandary.desk.authority import Caller, Scope
from quandary.desk.begin import Asking, Showing
from quandary.desk.walks import Walks
from quandary.doors.mcp import build, mounted
from quandary.doors.web.access import COOKIE
from quandary.doors.web.tokens import Keys
from quandary.journal import runs as driver
from quandary.model.asks import Answer, Reply
from quandary.settings import read_settings, trust
from sites import ADAS, BASE, PAGE, REVIEW, TOKEN, Site, hidden, log_in, send

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx
    from litestar.testing import TestClient

    from quandary.journal.store import State

SECRET = "the-word-in-the-file"  # noqa: S105 - of no file but those of tests
OTHERS = [{}, {"Authorization": f"Bearer {TOKEN}"}, {"Authorization": f"Bearer {ADAS}"}]
"""A stranger, the server's own token, and a user's."""
CHART = "flowchart TD\n  start([Start]) --> greet[Greet]\n  greet --> done([End])\n"


def at_once(work: Callable[[], object]) -> None:
    """What is done in the background is done now."""
    work()


def ask_elsewhere(site: Site, folder: Path) -> State:
    """A run of another project that shares the store."""
    asking = Asking(context="A secret plan.", text=REVIEW, items=[{"id": "1", "title": "Merger"}])
    caller = Caller("agent", "command", scope=Scope(str(folder), str(folder)))
    return desk.begin(site.store, caller, desk.decide(asking, Showing()), Showing())


# -- other projects ------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", OTHERS)
def test_only_a_login_sees_runs_of_other_projects(
    site: Site, tmp_path: Path, headers: dict[str, str]
) -> None:
    """Every way to see, answer or end a run is closed to tokens and strangers alike."""
    own, run = site.ask("Login").run, ask_elsewhere(site, tmp_path / "other").run
    gone = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    with site.visitor(**headers) as visitor:
        for path in ("/api/inbox", "/api/runs"):
            assert [one["run"] for one in visitor.get(path).json()["runs"]] == [own]
            found = visitor.get(path, params={"project": str(tmp_path / "other")}).json()
            assert found["runs"] == []
        for path in ("/", "/runs", "/stats", f"/?project={tmp_path / 'other'}"):
            page = visitor.get(path, headers={"Accept": "text/html"}).text
            assert run not in page
            assert "Merger" not in page
        seen = [visitor.get(f"/runs/{name}") for name in (run, gone)]
        seen += [visitor.get(f"/runs/{name}/amend?to=1:") for name in (run, gone)]
        seen += [visitor.get(f"/api/runs/{name}") for name in (run, gone)]
        seen += [visitor.get(f"/api/runs/{name}/read?key=1:&text=x") for name in (run, gone)]
        for act, body in (
            ("reply", {"text": "Looks good"}),
            ("withdraw", {"why": "no"}),
            ("resume", {}),
        ):
            seen += [
                visitor.post(f"/api/runs/{name}/{act}", json=body, headers={"Origin": BASE})
                for name in (run, gone)
            ]
        for theirs, nobodys in zip(seen[::2], seen[1::2], strict=True):
            assert theirs.status_code == nobodys.status_code == 404
            assert theirs.text.replace(run, gone) == nobodys.text
        # The beginning of an id that both runs share names only the one that is seen.
        assert visitor.get(f"/api/runs/{run[:2]}").json()["run"] == own
    assert driver.look(site.store, run).status == "waiting"


def test_a_login_sees_every_project_of_its_store(site: Site, tmp_path: Path) -> None:
    """And answers there."""
    own, run = site.ask("Login").run, ask_elsewhere(site, tmp_path / "other").run
    with site.person() as visitor:
        assert {one["run"] for one in visitor.get("/api/inbox").json()["runs"]} == {own, run}
        assert "Merger" in visitor.get("/").text
        assert send(visitor, run, pick_0="OK").status_code == 303
    assert site.sources(run) == [("person", "web", "")]


@pytest.mark.parametrize("headers", OTHERS)
def test_figures_are_those_of_the_project_that_is_served(
    site: Site, tmp_path: Path, headers: dict[str, str]
) -> None:
    """What waits elsewhere is counted for a login alone."""
    site.ask("Login")
    ask_elsewhere(site, tmp_path / "other")
    figure = 'quandary_waiting{flow="decide",waits="person"} '
    begun = 'quandary_runs_begun_total{flow="decide"} '
    with site.visitor(**headers) as visitor:
        told = visitor.get("/metrics").text
        assert f"{figure}1.0" in told
        assert f"{begun}1.0" in told
    with site.person() as visitor:
        told = visitor.get("/metrics").text
        assert f"{figure}2.0" in told
        assert f"{begun}2.0" in told


def test_a_key_of_another_project_gives_nothing_away(site: Site, tmp_path: Path) -> None:
    """The same request with the same key at another server of the store is no way to its run."""
    asking = {"context": "A plan.", "text": REVIEW, "items": [{"id": "1", "title": "Login"}]}
    with site.visitor(**{"Idempotency-Key": "k"}) as visitor:
        run = visitor.post("/api/asks", json=asking).json()["run"]
        assert visitor.post("/api/asks", json=asking).json()["run"] == run
    other = Site(tmp_path / "other", store=site.store)
    with other.visitor(**{"Idempotency-Key": "k"}) as visitor:
        refused = visitor.post("/api/asks", json=asking)
        assert refused.status_code == 422
        assert run not in refused.text


def test_trees_come_from_the_project_alone(site: Site, tmp_path: Path) -> None:
    """Neither a link nor a setting of the repository leads the page elsewhere."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "theirs.md").write_text(REVIEW.replace("REVIEW", "THEIRS"), encoding="utf-8")
    (tmp_path / "own.md").write_text(REVIEW, encoding="utf-8")
    (tmp_path / "link.md").symlink_to(outside / "theirs.md")
    with site.visitor() as visitor:
        page = visitor.get("/trees").text
        assert "REVIEW" in page
        assert "THEIRS" not in page
        (tmp_path / "quandary.toml").write_text(f'trees = ["{outside}"]\n', encoding="utf-8")
        assert "THEIRS" not in visitor.get("/trees").text


# -- files ---------------------------------------------------------------------------------------


@pytest.fixture
def files(site: Site) -> Site:
    """A project with a file for people, a hidden one and one that git ignores."""
    (site.folder / ".git").mkdir()
    (site.folder / ".gitignore").write_text("*.key\n", encoding="utf-8")
    for name in ("plan.txt", ".env", "server.key"):
        (site.folder / name).write_text(SECRET, encoding="utf-8")
        (site.folder / name).chmod(0o600)
    (site.folder / "link.txt").symlink_to(".env")
    return site


def reply(visitor: TestClient[Any], run: str, text: str) -> httpx.Response:
    """Answer over the API, from one of our own pages."""
    came: httpx.Response = visitor.post(
        f"/api/runs/{run}/reply", json={"text": text}, headers={"Origin": BASE}
    )
    return came


@pytest.mark.parametrize("headers", OTHERS)
def test_files_are_shown_to_logins_only(files: Site, headers: dict[str, str]) -> None:
    """Whoever sends a token is told neither what is in a file nor whether it is there."""
    run = files.ask("Login").run
    with files.visitor(**headers) as visitor:
        for name in ("plan.txt", ".env", "server.key", "nothing.txt", "../x"):
            came = reply(visitor, run, f"@{name}")
            assert came.status_code == 200
            assert came.json()["notes"][0]["text"].endswith("files are shown to logins only")
        page = visitor.get(f"/runs/{run}").text
        form = {**hidden(page), "pick-0": "\N{WHITE CIRCLE}", "text-0": "@plan.txt"}
        visitor.post(f"/runs/{run}/answer", data=form, headers=PAGE)
        assert SECRET not in visitor.get(f"/runs/{run}").text
    told = "".join(str(entry.read_matter()) for entry in files.store.entries(run))
    assert SECRET not in told


def test_a_login_is_not_shown_hidden_and_ignored_files(files: Site) -> None:
    """Nor what a link leads to; all else of the project it is."""
    run = files.ask("Login").run
    with files.person() as visitor:
        for name in (".env", "server.key", "link.txt", "../x", "deep/../.env"):
            assert SECRET not in reply(visitor, run, f"@{name}").text
        assert SECRET in reply(visitor, run, "@plan.txt").text


def test_what_a_login_was_shown_nobody_else_sees(files: Site) -> None:
    """The run holds it, and shows it neither to strangers nor to tokens, on no page."""
    run = files.ask("Login").run
    with files.person() as visitor:
        assert SECRET in reply(visitor, run, "@plan.txt").text
        assert SECRET in visitor.get(f"/runs/{run}").text
    for headers in OTHERS:
        with files.visitor(**headers) as visitor:
            assert SECRET not in visitor.get(f"/runs/{run}").text
            told = visitor.get(f"/api/runs/{run}")
            assert SECRET not in told.text
            assert "plan.txt is shown to logins only." in told.json()["ask"]["preamble"]


def test_what_a_login_was_shown_nobody_else_sees_of_a_file_that_was_less_before(
    files: Site,
) -> None:
    """A file that was refused, empty or shorter when it was first asked for is hidden as well."""
    run = files.ask("Login").run
    with files.visitor() as stranger:
        assert SECRET not in reply(stranger, run, "@plan.txt").text
    with files.person() as visitor:
        assert SECRET in reply(visitor, run, "@plan.txt").text
    with files.visitor() as stranger:
        told = stranger.get(f"/api/runs/{run}")
        assert SECRET not in told.text
        assert told.json()["notes"][0]["text"].endswith("plan.txt is shown to logins only.")


def test_nobody_finishes_reading_a_file_for_a_stranger(files: Site) -> None:
    """Who comes after a crash, with more rights, shows them nothing that they asked for."""
    state = files.ask("Login")
    asked = Reply((Answer("1:", prefix="reference", argument="plan.txt"),))
    left = driver.advance(files.store, state.run, asked, to="1:", who="api", through="web")
    assert left.deed is not None
    for caller in (Caller("policy", "mending"), Caller("person", "terminal")):
        done = replies.finish(files.store, caller, driver.look(files.store, state.run))
        assert done.ask is not None
        assert SECRET not in str(done)


def test_an_amendment_reads_no_file_for_a_stranger(files: Site) -> None:
    """What a person changes beside it does not make the stranger's wish their own."""
    run = files.ask("Login", "Cache").run
    with files.visitor() as stranger:
        body = {"answers": [{"key": "1:", "text": "@plan.txt"}, {"key": "2:", "picked": ["OK"]}]}
        assert stranger.post(f"/api/runs/{run}/reply", json=body).status_code == 200
    person = Caller("person", "terminal")
    changed = Reply((Answer("2:", ("INF",)),))
    replies.amend(files.store, person, run, changed, key="2:", why="there are questions")
    told = "".join(str(entry.read_matter()) for entry in files.store.entries(run))
    assert SECRET not in told


# -- chat clients over HTTP ------------------------------------------------------------------------


class Programs:
    """What would have been started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started: list[str] = []
        monkeypatch.setattr("quandary.desk.walks.launch", self._launch)

    def _launch(self, _store: object, run: str, _folder: str, **_: object) -> Any:  # noqa: ANN401
        self.started.append(run)
        return subprocess.Popen([sys.executable, "-c", ""], env=environment())


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Nothing is started in earnest."""
    return Programs(monkeypatch)


@pytest.fixture
def chat(site: Site, programs: Programs) -> Site:
    """A server with tools for chat clients, in a project with a chart and an agent."""
    del programs
    argv = json.dumps([sys.executable, "-c", ""])
    settings = f'default_cli = "BOT"\n[agents.BOT]\nargv = {argv}\nprompt = "stdin"\n'
    (site.folder / "quandary.toml").write_text(settings, encoding="utf-8")
    known = read_settings(str(site.folder))
    named: dict[trust.Matter, object] = {"agents": trust.project_table(known, "agents")}
    trust.give(known, trust.consent_to(known, named, "2026-01-01"))
    (site.folder / "c.mmd").write_text(CHART, encoding="utf-8")
    for name in ("plan.txt", ".env"):
        (site.folder / name).write_text(SECRET, encoding="utf-8")
    scope = Scope(str(site.folder), str(site.folder))
    walks = Walks(site.store, scope.project, at_once)
    tools = mounted(build(service_of(site.store, walks, scope)))
    return Site(site.folder, store=site.store, tools=tools, walks=walks)


def call(
    chat: Site,
    headers: dict[str, str],
    *calls: tuple[str, dict[str, Any]],
    person: Person | None = None,
) -> list[Said]:
    """Call some tools at /mcp, with these headers."""

    async def work() -> list[Said]:
        transport = httpx2.ASGITransport(app=chat.app)  # type: ignore[arg-type]  # two spellings
        async with (
            chat.app.lifespan(),
            httpx2.AsyncClient(transport=transport, base_url=BASE, headers=headers) as line,
            Client(
                streamable_http_client(f"{BASE}/mcp", http_client=line),
                mode="2026-07-28",
                elicitation_callback=person,
            ) as client,
        ):
            return [said(await client.call_tool(tool, given)) for tool, given in calls]

    return anyio.run(work)


WALK = ("walk", {"source": "c.mmd", "item": {"title": "Bob"}})


@pytest.mark.parametrize("headers", OTHERS[:2])
def test_chat_clients_start_no_agents_without_a_user(
    chat: Site, programs: Programs, headers: dict[str, str]
) -> None:
    """Neither a stranger nor whoever has the token for programs; no run is begun either."""
    (refused,) = call(chat, headers, WALK)
    assert refused.failed
    assert "only a person can start agents" in refused.then
    assert (programs.started, chat.store.runs()) == ([], [])


def test_a_users_own_token_starts_agents_from_a_chat_client(chat: Site, programs: Programs) -> None:
    """It is as good as a login there."""
    (begun,) = call(chat, OTHERS[2], WALK)
    assert not begun.failed
    assert programs.started == [begun.data["run"]]


@pytest.mark.parametrize("headers", OTHERS[:2])
def test_an_answer_from_a_chat_client_starts_no_agents(
    chat: Site, programs: Programs, headers: dict[str, str]
) -> None:
    """It is recorded, and a person has to start what comes next."""
    chart = (
        "flowchart TD\n  start([Start]) --> may{May it be sent?}\n"
        '  %% quandary: {"step": "may", "tags": ["HUMAN"]}\n'
        "  may -->|yes| send[Send it]\n  may -->|no| done([End])\n  send --> done\n"
    )
    (chat.folder / "c.mmd").write_text(chart, encoding="utf-8")
    wanted = desk.Walking(source="c.mmd", item={"title": "Bob"})
    service = service_of(chat.store, None, Scope("", ""))  # type: ignore[arg-type]
    caller = Caller("person", "terminal", scope=None)
    begun = desk.begin(
        chat.store,
        caller,
        desk.prepare(chat.store, caller, wanted, Showing(), service.agents),
        Showing(),
    )
    assert begun.ask is not None
    person = Person((0.6, {"answer_1": "YES"}))
    (told,) = call(chat, headers, ("next", {"run": begun.run}), person=person)
    assert "a person has to start them" in told.then
    assert programs.started == []
    assert driver.look(chat.store, begun.run).calls


def test_chat_clients_see_no_other_project_and_no_files(chat: Site, tmp_path: Path) -> None:
    """Not even with a user's own token: an agent drives the program that sends it."""
    theirs, own = ask_elsewhere(chat, tmp_path / "other").run, chat.ask("Login").run
    person = Person((0.6, {"other_1": "@.env"}), (0.6, {"other_1": "@plan.txt"}))
    listed, decided, shown, followed, next_one = call(
        chat,
        OTHERS[2],
        ("runs", {}),
        ("decided", {}),
        ("show_run", {"run": theirs}),
        ("next", {"run": theirs}),
        ("next", {"run": own}),
        person=person,
    )
    assert [row["run"] for row in listed.data["runs"]] == [own]
    assert decided.data == {"decisions": []}
    for refused in (shown, followed):
        assert refused.failed
        assert refused.then == f"there is no run {theirs}; `quandary runs` lists them"
    assert len(person.forms) == 3
    assert not any(SECRET in form.message for form in person.forms)
    assert SECRET not in str(next_one)
    told = "".join(str(entry.read_matter()) for entry in chat.store.entries(own))
    assert SECRET not in told


# -- logins ----------------------------------------------------------------------------------------


class Listener:
    """An open page that listens to the news, called without a network."""

    def __init__(self, site: Site, cookie: str) -> None:
        self.site, self.heard = site, asyncio.Queue[str]()
        headers = [(b"host", b"127.0.0.1:8420"), (b"cookie", cookie.encode())]
        self.scope: Any = {
            "type": "http",
            "method": "GET",
            "path": "/events",
            "raw_path": b"/events",
            "query_string": b"",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8420),
            "scheme": "http",
            "http_version": "1.1",
        }

    async def listen(self) -> None:
        """Until the server lets go of it."""
        gone = asyncio.Event()
        asked = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Any:  # noqa: ANN401 - a message
            message = next(asked, None)
            if message is None:
                await gone.wait()
            return message or {"type": "http.disconnect"}

        async def send(message: Any) -> None:  # noqa: ANN401 - a message
            self.heard.put_nowait(str(message.get("body", message.get("status"))))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                gone.set()

        await self.site.app(self.scope, receive, send)

    async def hear(self, words: str) -> None:
        """Wait for something."""
        while words not in await asyncio.wait_for(self.heard.get(), 10):
            pass


def test_news_end_with_the_login(site: Site) -> None:
    """A page that is open when its login is ended hears nothing more, and is let go at once."""
    session = site.keys.log_in(site.keys.new_code())
    assert session is not None
    page = Listener(site, f"{COOKIE}={site.keys.seal(session)}")

    async def follow() -> None:
        async with site.app.lifespan():
            listening = asyncio.create_task(page.listen())
            await page.hear("hello")
            await page.hear(await asyncio.to_thread(lambda: site.ask("Login").run))
            site.keys.log_out(session)
            site.app.state.events.wake()
            await asyncio.wait_for(listening, 10)
            run = site.ask("Cache").run
            assert not any(run in page.heard.get_nowait() for _ in range(page.heard.qsize()))

    asyncio.run(follow())


def test_logging_out_lets_go_of_open_pages(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told to look whether they may still listen."""
    woken: list[bool] = []
    monkeypatch.setattr(site.app.state.events, "wake", lambda: woken.append(True))
    with site.person() as visitor:
        form = hidden(visitor.get("/").text)
        visitor.post("/logout", data=form, headers=PAGE, follow_redirects=False)
        assert woken == [True]


@pytest.mark.parametrize("logged_in", [False, True])
def test_news_are_of_the_runs_that_one_sees(site: Site, tmp_path: Path, logged_in: bool) -> None:
    """Those of other projects are news for logins alone."""
    session = site.keys.log_in(site.keys.new_code()) if logged_in else None
    page = Listener(site, f"{COOKIE}={site.keys.seal(session)}" if session else "")

    async def follow() -> None:
        async with site.app.lifespan():
            listening = asyncio.create_task(page.listen())
            await page.hear("hello")
            theirs = ask_elsewhere(site, tmp_path / "other").run
            if logged_in:
                await page.hear(theirs)
            else:
                own = site.ask("Login").run
                heard = ""
                while own not in heard:
                    heard = await asyncio.wait_for(page.heard.get(), 10)
                    assert theirs not in heard
            site.app.state.events.end()
            await listening

    asyncio.run(follow())


def test_a_wait_that_outlives_its_login_tells_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that waits for news is refused when its login was ended meanwhile."""
    run = site.ask("Login").run

    async def log_out(*_: object, **__: object) -> None:
        site.keys.log_out(opened)

    monkeypatch.setattr(site.app.state.events, "wait", log_out)
    with site.person() as visitor:
        unsealed = site.keys.unseal(visitor.cookies[COOKIE])
        assert unsealed is not None
        opened = unsealed
        assert visitor.get(f"/api/runs/{run}?wait=1").status_code == 401


def test_a_login_holds_at_one_server(site: Site, tmp_path: Path) -> None:
    """Another server of the same account, with the same key, knows neither cookie nor form."""
    other = Site(tmp_path / "other", store=site.store)
    site.keys.bind("journal.db ('127.0.0.1', 8420)")
    other.keys.bind("other.db ('127.0.0.1', 8421)")
    with site.visitor(**PAGE) as visitor:
        assert log_in(visitor, ADAS).status_code == 303
        ((name, cookie),) = visitor.cookies.items()
        assert 'name="why"' in visitor.get(f"/runs/{site.ask('Login').run}").text
    for called in (name, COOKIE + other.keys.server):
        with other.visitor(Cookie=f"{called}={cookie}", **PAGE) as visitor:
            assert "Log out" not in visitor.get("/").text
    again = Keys(b"k" * 32)
    again.bind("journal.db ('127.0.0.1', 8420)")
    assert again.server == site.keys.server != other.keys.server


def test_doors_find_runs_through_the_desk() -> None:
    """No page and no tool looks for a run by itself: the desk says which a caller sees."""
    doors = Path(quandary.__file__).parent / "doors"
    for path in (*(doors / "web").glob("*.py"), *(doors / "mcp").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert "journal.runs import find_run" not in text, path
        assert not re.search(r"\b(driver|runs)\.find_run\(|require_run\(", text), path


def test_sessions_of_strangers_shut_nobody_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many, the oldest ends, and whoever comes is served."""
    monkeypatch.setattr("quandary.doors.mcp.MOST_SESSIONS", 3)
    scope = Scope(str(site.folder), str(site.folder))
    walks = Walks(site.store, scope.project, at_once)
    tools = mounted(build(service_of(site.store, walks, scope)))
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello = {
        "method": "initialize",
        "params": {**about, "clientInfo": {"name": "x", "version": ""}},
    }
    told = {"Accept": "application/json, text/event-stream"}
    with Site(site.folder, store=site.store, tools=tools).visitor(**told) as visitor:

        def post(what: dict[str, Any], **session: str) -> httpx.Response:
            return visitor.post("/mcp", json={"jsonrpc": "2.0", "id": 1, **what}, headers=session)

        begun = [post(hello) for _ in range(5)]
        assert {answer.status_code for answer in begun} == {200}
        ids = [answer.headers["mcp-session-id"] for answer in begun]
        answers = [post({"method": "ping"}, **{"mcp-session-id": one}).status_code for one in ids]
        assert answers == [404, 404, 200, 200, 200]


@pytest.mark.parametrize("name", ["ada", " Ada", "token"])
def test_nobody_goes_by_the_name_of_a_user(site: Site, name: str) -> None:
    """A name that stands for a token is recorded with that token, or a login with it, alone."""
    run = site.ask("Login").run
    sent = {"text": "OK", "by": name}
    with site.visitor() as stranger, site.person() as person:
        for visitor in (stranger, person):
            refused = visitor.post(f"/api/runs/{run}/reply", json=sent)
            assert refused.status_code == 403
            assert "name of a user" in refused.json()["detail"]
    assert site.sources(run) == []
    with site.visitor(Authorization=f"Bearer {ADAS}") as ada:
        assert ada.post(f"/api/runs/{run}/reply", json=sent).status_code == 200
    assert site.sources(run) == [("api", "web", "ada")]


@pytest.mark.parametrize(("name", "by"), [("ada", ""), ("Token ", ""), ("cursor", "cursor")])
def test_no_chat_client_goes_by_the_name_of_a_user(site: Site, name: str, by: str) -> None:
    """What it calls itself is recorded beside what it asks and passes on."""
    scope = Scope(str(site.folder), str(site.folder))
    walks = Walks(site.store, scope.project, at_once)
    tools = mounted(build(service_of(site.store, walks, scope)))
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello = {**about, "clientInfo": {"name": name, "version": ""}}
    asking = {"name": "ask", "arguments": {"context": "A plan.", "text": REVIEW}}
    with Site(site.folder, store=site.store, tools=tools).visitor() as visitor:
        visitor.headers["Accept"] = "application/json, text/event-stream"
        for method, params in (("initialize", hello), ("tools/call", asking)):
            sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            told = visitor.post("/mcp", json=sent)
            assert told.status_code == 200
            visitor.headers["mcp-session-id"] = told.headers["mcp-session-id"]
    [run] = site.store.runs()
    assert site.store.entries(run.id)[0].read().source[1:] == ("mcp", by)
