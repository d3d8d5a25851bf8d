"""Going on from a run's page: who may, what it does, and the programs behind it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import walks
from program import PROGRAM, consent, environment
from quandary.agents.process import group_lives
from quandary.cli.servers import in_background
from quandary.desk.walks import NOT_RESUMED, Walks, launch
from quandary.doors import hosts
from quandary.doors.web.tokens import hashed
from quandary.errors import Untrusted
from quandary.journal import runs as driver
from quandary.journal.entries import Noted
from quandary.journal.sqlite import SqliteStore
from quandary.settings import trust
from sites import ADAS, PAGE, TOKEN, Server, Site, hidden, send
from walk_projects import DONE, WalkProject, lucid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from httpx import Response
    from litestar.testing import TestClient

    from quandary.journal.store import State

PATIENCE = 60.0
BAD = {"says": "", "status": 3}


class Shop(WalkProject):
    """A project with agents, and a server that goes on with its runs."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        super().__init__(folder, capsys, monkeypatch)
        (folder / ".quandary").mkdir()
        consent(folder)
        self.behind = SqliteStore(self.store)
        self.drivers = Walks(self.behind, str(folder), in_background, most=2)
        self.site = Site(folder, walks=self.drivers)
        silent = {"tags": "NoValidation", "retries": "1"}
        self.draw(
            lucid(
                {
                    "0": "Start",
                    "1": {"text": "Write the page", **silent, "cli": "ANN"},
                    "2": {"text": "Print it", **silent, "cli": "BEN"},
                    "3": {"text": "Shall we send it?", "tags": "HUMAN"},
                    "4": {"text": "Send it", **silent, "cli": "ANN"},
                },
                "0>1 1>2 2>3 3>4:send_it 3>1:not_yet",
            )
        )

    def failed(self) -> str:
        """A run whose second step has failed, and would be done the next time."""
        before = self.called.count("BEN")
        self.says("BEN", *[DONE] * before, BAD, BAD, DONE)
        return str(self.walk(status=1)["run"])

    def until(self, found: Callable[[], object], what: str) -> None:
        """Wait for something that a program brings about."""
        deadline = time.monotonic() + PATIENCE
        while not found():
            assert time.monotonic() < deadline, what
            time.sleep(0.05)

    def ended(self, run: str, status: str = "done") -> State:
        """The run, when nobody goes on with it any more."""
        self.until(lambda: not self.drivers.is_under_way(run), "its program does not end")
        state = driver.look(self.site.store, run)
        assert state.status == status
        return state

    def notes(self, run: str, kind: str) -> list[tuple[str, str, str]]:
        """Who is said to have done something."""
        bodies = [entry.read() for entry in self.site.store.entries(run, kinds=("noted",))]
        kinds = [body for body in bodies if isinstance(body, Noted) and body.kind == kind]
        return [(body.who, body.through, body.by) for body in kinds]


@pytest.fixture
def shop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shop]:
    """All of it."""
    made = Shop(tmp_path, capsys, monkeypatch)
    yield made
    made.drivers.close()
    made.behind.close()
    made.site.store.close()


def press(visitor: TestClient[Any], run: str, what: str = "resume", **fields: str) -> Response:
    """Send one of the forms of a run's page."""
    form = {"mark": hidden(visitor.get("/login").text)["mark"], **fields}
    return visitor.post(f"/runs/{run}/{what}", data=form, headers=PAGE, follow_redirects=False)


def resume(visitor: TestClient[Any], run: str, **headers: str) -> Response:
    """Ask for the same over the API."""
    return visitor.post(f"/api/runs/{run}/resume", headers=headers)


# -- what it does --------------------------------------------------------------------------------


def test_a_failed_step_is_tried_anew_by_a_program(shop: Shop) -> None:
    """The page has the button; the journal says who pressed it; what was done stays done."""
    run = shop.failed()
    (shop.folder / "click.py").write_text("raise SystemExit('not from here')", encoding="utf-8")
    with shop.site.person() as visitor:
        page = visitor.get(f"/runs/{run}").text
        assert "Retry the step" in page
        assert f"quandary walk --resume {run} --retry-failed" in page
        assert press(visitor, run).status_code == 303
        state = shop.ended(run, "waiting")
        assert state.ask is not None
        assert "Retry the step" not in visitor.get(f"/runs/{run}").text
    assert shop.called == ["ANN", "BEN", "BEN", "BEN"]
    assert shop.notes(run, "retried") == [("person", "web", "")]


def test_an_interrupted_run_is_gone_on_with(shop: Shop) -> None:
    """Its driver was killed on the spot; the call that nobody saw the end of counts as tried."""
    shop.says("ANN", {"says": DONE, "seconds": 60}, DONE)
    words = [*PROGRAM, "walk", "c.csv"]
    with subprocess.Popen(
        words, env=environment({"QUANDARY_STORE": str(shop.store)}), start_new_session=True
    ) as program:
        shop.until(lambda: shop.called, "no agent was called")
        run = shop.site.store.runs()[0].id
        with shop.site.person() as visitor:
            assert "Agents are at work" in visitor.get(f"/runs/{run}").text
            assert resume(visitor, run, **PAGE).status_code == 409
            os.kill(program.pid, signal.SIGKILL)
            program.wait()
            page = visitor.get(f"/runs/{run}").text
            assert "whoever ran it is gone" in page
            assert press(visitor, run).status_code == 303
    state = shop.ended(run, "waiting")
    assert state.key == "S3@1/run"
    assert shop.called == ["ANN", "ANN", "BEN"]
    assert shop.notes(run, "resumed") == [("person", "web", "")]


def test_agents_that_come_after_an_answer_are_asked(shop: Shop) -> None:
    """A person answers on the page, and goes on from there."""
    run = shop.walk()["run"]
    with shop.site.person() as visitor:
        assert send(visitor, run, pick_0="SEND-IT").status_code == 303
        assert "Agents are next" in visitor.get(f"/runs/{run}").text
        assert press(visitor, run).status_code == 303
        shop.ended(run)
        page = visitor.get(f"/runs/{run}").text
    assert "/resume" not in page
    assert shop.called == ["ANN", "BEN", "ANN"]


def test_a_budget_is_given_once_more(shop: Shop) -> None:
    """The page says that this is what the button does."""
    run = shop.walk("--max-calls", "1", status=1)["run"]
    with shop.site.person() as visitor:
        assert "Resume with the same budget" in visitor.get(f"/runs/{run}").text
        assert press(visitor, run).status_code == 303
    shop.ended(run, "waiting")
    assert shop.called == ["ANN", "BEN"]


# -- who may -------------------------------------------------------------------------------------


def test_only_people_spend_money(shop: Shop) -> None:
    """A stranger and the server's token are refused; a user's own token is as good as a login."""
    run = shop.failed()
    with shop.site.visitor() as stranger:
        page = stranger.get(f"/runs/{run}").text
        assert f'action="/runs/{run}/resume"' not in page
        assert f'href="/login?to=/runs/{run}"' in page
        assert press(stranger, run).status_code == 403
        refused = resume(stranger, run)
        assert refused.status_code == 403
        assert refused.headers["content-type"] == "application/problem+json"
        assert "only a person" in refused.json()["detail"]
        assert resume(stranger, run, Authorization=f"Bearer {TOKEN}").status_code == 403
        assert shop.notes(run, "retried") == []
        taken = resume(stranger, run, Authorization=f"Bearer {ADAS}")
        assert taken.status_code == 202
        assert taken.json()["status"] == "waiting"
    shop.ended(run, "waiting")
    assert shop.notes(run, "retried") == [("api", "web", "ada")]


def test_a_form_of_somebody_else_is_refused(shop: Shop) -> None:
    """Without the mark of this login nothing is begun, nor from another page."""
    run = shop.failed()
    with shop.site.person() as visitor:
        for what in ("resume", "withdraw", "amend"):
            sent = visitor.post(f"/runs/{run}/{what}", data={"mark": "x" * 64}, headers=PAGE)
            assert sent.status_code == 403
        mark = hidden(visitor.get(f"/runs/{run}").text)["mark"]
        elsewhere = {**PAGE, "Origin": "http://elsewhere.example"}
        sent = visitor.post(f"/runs/{run}/resume", data={"mark": mark}, headers=elsewhere)
        assert sent.status_code == 403
        assert resume(visitor, run, Origin="http://elsewhere.example").status_code == 403
    assert driver.look(shop.site.store, run).status == "failed"


def test_what_cannot_be_gone_on_with(shop: Shop) -> None:
    """A run that is over, one that waits for an answer, and one that is not there."""
    waiting = shop.walk()["run"]
    over = driver.withdraw(
        shop.site.store, shop.walk()["run"], "no", who="person", through="web"
    ).run
    with shop.site.person() as visitor:
        assert resume(visitor, "01ARZ3NDEKTSV4RRFFQ69G5FAV", **PAGE).status_code == 404
        for run, why in ((waiting, "waits for an answer"), (over, "withdrawn")):
            refused = resume(visitor, run, **PAGE)
            assert refused.status_code == 409
            assert why in refused.json()["detail"]
            assert f'action="/runs/{run}/resume"' not in visitor.get(f"/runs/{run}").text
        page = press(visitor, over)
        assert (page.status_code, "nothing to resume" in page.text) == (409, True)


def test_a_projects_agents_are_not_started_without_its_users_consent(shop: Shop) -> None:
    """They ran when somebody typed `walk`; a server says what to type before it starts them."""
    trust.take_back(str(shop.folder))
    run = shop.failed()
    before = shop.called
    with shop.site.person() as visitor:
        refused = resume(visitor, run, **PAGE)
        assert refused.status_code == 409
        assert f"quandary trust {shop.folder}" in refused.json()["detail"]
        assert f"quandary trust {shop.folder}" in visitor.get(f"/runs/{run}").text
    assert shop.called == before
    with pytest.raises(Untrusted):
        launch(shop.behind, run, str(shop.folder))


def test_a_run_without_its_texts_is_only_shown(shop: Shop) -> None:
    """What was pruned cannot be asked for again."""
    run = shop.failed()
    walks.pruned(shop.site.store, run)
    with shop.site.person() as visitor:
        refused = resume(visitor, run, **PAGE)
        assert (refused.status_code, "pruned" in refused.json()["detail"]) == (409, True)
        assert press(visitor, run).status_code == 409


def test_a_run_of_questions_has_nothing_to_drive(shop: Shop) -> None:
    """It goes on by being answered."""
    run = shop.site.ask("Login").run
    with shop.site.person() as visitor:
        assert resume(visitor, run, **PAGE).status_code == 409


def test_a_server_without_programs_says_so(shop: Shop) -> None:
    """The command is there all the same."""
    run = shop.failed()
    other = Site(shop.folder)
    with other.person() as visitor:
        page = visitor.get(f"/runs/{run}").text
        assert "This server resumes no runs" in page
        assert "--retry-failed" in page
        assert press(visitor, run).status_code == 409
    other.store.close()


# -- the programs --------------------------------------------------------------------------------


def test_never_two_for_one_run_and_never_too_many(shop: Shop) -> None:
    """Whoever comes second is told, and nothing is appended."""
    shop.says("BEN", BAD, BAD, BAD, BAD, BAD, BAD, {"says": DONE, "seconds": 30})
    runs = [str(shop.walk(status=1)["run"]) for _ in range(3)]
    with shop.site.person() as visitor:
        for run in runs[:2]:
            assert resume(visitor, run, **PAGE).status_code == 202
        again = resume(visitor, runs[0], **PAGE)
        assert (again.status_code, "already" in again.json()["detail"]) == (409, True)
        third = resume(visitor, runs[2], **PAGE)
        assert (third.status_code, "wait for one" in third.json()["detail"]) == (409, True)
        assert driver.look(shop.site.store, runs[2]).status == "failed"
        assert len(shop.notes(runs[0], "retried")) == 1


def test_somebody_else_walks_it(shop: Shop) -> None:
    """The lock beside the store is seen, whoever holds it."""
    run = shop.failed()
    with shop.behind.lock_run(run), shop.site.person() as visitor:
        assert shop.site.store.is_locked(run)
        assert resume(visitor, run, **PAGE).status_code == 409
    assert not shop.site.store.is_locked(run)


def test_programs_end_with_the_server(shop: Shop) -> None:
    """They end their agents and say so; the call is made again and no attempt is lost."""
    shop.says("BEN", BAD, BAD, {"says": DONE, "seconds": 60}, DONE)
    run = str(shop.walk(status=1)["run"])
    with shop.site.person() as visitor:
        assert press(visitor, run).status_code == 303
        shop.until(lambda: shop.called.count("BEN") == 3, "the agent was not called")
        begun = time.monotonic()
        shop.drivers.close()
        assert time.monotonic() - begun < 30
        assert press(visitor, run).status_code == 409
    assert not shop.site.store.is_locked(run)
    assert shop.notes(run, "stopped") == [("agent", "agent", "")]
    state = shop.resume(run)
    assert state["status"] == "waiting"
    assert shop.called.count("BEN") == 4


def test_a_server_that_is_asked_to_end_leaves_nobody_at_work(shop: Shop) -> None:
    """In real: `quandary serve`, a program behind it, and an agent behind that."""
    (shop.folder / "quandary").mkdir()
    users = f'[users.ada]\ntoken = "{hashed(ADAS)}"\n'
    (shop.folder / "quandary" / "config.toml").write_text(users, encoding="utf-8")
    consent(shop.folder, shop.folder)
    run = shop.failed()
    shop.says("BEN", BAD, BAD, {"says": DONE, "seconds": 60})
    server = Server(shop.folder)
    server.start()
    assert server.process is not None
    sent = httpx.post(
        f"{server.address}/api/runs/{run}/resume", headers={"Authorization": f"Bearer {ADAS}"}
    )
    assert sent.status_code == 202
    shop.until(lambda: shop.called.count("BEN") == 3, "the agent was not called")
    notes = (shop.folder / "journal.db.agents").iterdir()
    (note,) = [one for one in notes if not one.name.startswith(f"{os.getpid()}-")]
    group = int(note.read_text(encoding="utf-8").split(" ")[0])
    server.process.terminate()
    server.process.wait(30)
    assert not group_lives(group)
    assert not shop.site.store.is_locked(run)
    assert shop.notes(run, "stopped") == [("agent", "agent", "")]


def test_a_program_that_cannot_go_on_says_why(shop: Shop) -> None:
    """Its complaint is on the page, and the button is there again."""
    run = shop.failed()
    (shop.folder / "quandary.toml").write_text("default_cli = 3\n", encoding="utf-8")
    with shop.site.person() as visitor:
        assert press(visitor, run).status_code == 303
        shop.until(lambda: shop.notes(run, "not-resumed"), "nobody said why")
        assert shop.notes(run, "not-resumed") == [("api", "serve", "")]
        page = visitor.get(f"/runs/{run}").text
        assert "there is no agent" in page.split('<div id="told">')[0]
        assert f'action="/runs/{run}/resume"' in page


def test_a_folder_that_is_elsewhere(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The run is gone on with where it is."""
    folder = tmp_path_factory.mktemp("elsewhere")
    run = shop.failed()
    row = shop.site.store.run(run)
    assert row is not None
    assert shop.drivers.obstacle(row) == ""
    shop.folder.rename(folder / "moved")
    try:
        assert "not on this machine" in shop.drivers.obstacle(row)
    finally:
        (folder / "moved").rename(shop.folder)


def test_the_schema_has_it(shop: Shop) -> None:
    """With every way in which it is refused."""
    with shop.site.visitor() as visitor:
        paths = json.loads(visitor.get("/api/openapi.json").text)["paths"]
    (found,) = [path for path in paths if path.endswith("/resume")]
    assert {"202", "403", "404", "409"} <= set(paths[found]["post"]["responses"])


# -- parked sessions -------------------------------------------------------------------------------

SESSION = "0b5ad6e8-51d5-4f0c-9d2e-6f6a1c0c7b11"
CLAUDE = """#!{python}
import os, pathlib, subprocess, sys, time
pathlib.Path({said!r}).write_text(" ".join(sys.argv[1:4]))
while os.path.exists({wait!r}):
    time.sleep(0.02)
ended = subprocess.run([*{program!r}, "hook", "pre"], stdin=open({call!r}), capture_output=True)
print(ended.stdout.decode())
sys.exit({status})
"""
"""A Claude Code that asks our hook about the call that was set aside."""


class Parking:
    """A session that was parked in a shop with what it wants to do."""

    def __init__(self, shop: Shop, monkeypatch: pytest.MonkeyPatch, status: int = 0) -> None:
        config = shop.folder / "config" / "quandary"
        config.mkdir(parents=True, exist_ok=True)
        (config / "config.toml").write_text("[permissions]\npark = true\n", encoding="utf-8")
        self.said, self.wait = shop.folder / "said.txt", shop.folder / "wait.txt"
        said = {"session_id": SESSION, "cwd": str(shop.folder), "tool_use_id": "toolu_1"}
        said |= {"tool_name": "Bash", "permission_mode": "default"}
        call = shop.folder / "call.json"
        call.write_text(json.dumps({**said, "tool_input": {"command": "touch a"}}), "utf-8")
        program = shop.folder / "bin" / "claude"
        program.parent.mkdir()
        filled = CLAUDE.format(
            python=sys.executable,
            said=str(self.said),
            wait=str(self.wait),
            program=PROGRAM,
            call=str(call),
            status=status,
        )
        program.write_text(filled, encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv(hosts.ATTENDED, "0")
        assert b"defer" in hosts.respond("pre", call.read_bytes())
        (row,) = shop.site.store.runs(waits="person")
        self.run = row.id


def test_a_parked_session_is_resumed_from_the_page(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The button comes with the answer, works once at a time, and goes when the session has it."""
    parked = Parking(shop, monkeypatch)
    run = parked.run
    parked.wait.write_text("", encoding="utf-8")
    with shop.site.person() as visitor:
        assert "Resume the session" not in visitor.get(f"/runs/{run}").text
        assert resume(visitor, run, **PAGE).status_code == 409
        assert send(visitor, run, pick_0="ONE").status_code == 303
        page = visitor.get(f"/runs/{run}").text
        assert "Resume the session" in page
        assert f"quandary resume {run}" in page
        assert press(visitor, run).status_code == 303
        shop.until(parked.said.exists, "the session was not resumed")
        assert "Its session is being resumed" in visitor.get(f"/runs/{run}").text
        assert press(visitor, run).status_code == 409
        parked.wait.unlink()
        state = shop.ended(run)
        assert "Resume the session" not in visitor.get(f"/runs/{run}").text
    assert parked.said.read_text(encoding="utf-8") == f"-p --resume {SESSION}"
    assert state.result["used"] is True


def test_only_people_resume_sessions(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts an agent, so that it takes what starting a walk takes."""
    parked = Parking(shop, monkeypatch)
    with shop.site.person() as visitor:
        assert send(visitor, parked.run, pick_0="NO").status_code == 303
    with shop.site.visitor() as stranger:
        assert f'action="/runs/{parked.run}/resume"' not in stranger.get(f"/runs/{parked.run}").text
        assert press(stranger, parked.run).status_code == 403
        assert resume(stranger, parked.run, Authorization=f"Bearer {TOKEN}").status_code == 403
        assert not parked.said.exists()
        taken = resume(stranger, parked.run, Authorization=f"Bearer {ADAS}")
        assert taken.status_code == 202, taken.text
        shop.ended(parked.run)
    assert parked.said.exists()


def test_the_page_says_why_a_session_was_not_resumed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its program failed before the session had its answer, so that it can be tried again."""
    parked = Parking(shop, monkeypatch)
    (shop.folder / "call.json").write_text("{}", encoding="utf-8")
    program = shop.folder / "bin" / "claude"
    program.write_text(f"#!/bin/sh\ntouch {parked.said}\nexit 3\n", encoding="utf-8")
    with shop.site.person() as visitor:
        assert send(visitor, parked.run, pick_0="NO").status_code == 303
        assert press(visitor, parked.run).status_code == 303
        shop.until(lambda: shop.notes(parked.run, NOT_RESUMED), "nothing was noted")
        page = visitor.get(f"/runs/{parked.run}").text
    assert "Resume the session" in page
    assert "ended with status 1" in page
