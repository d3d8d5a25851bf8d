"""The same confirmation of a proposal at every door: words, Yes first, and nothing by silence."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_clients import ASK_ONE, ERAS, Person, Place
from program import DEPLOY
from quandary.cli.servers import in_background
from quandary.desk.authority import Caller
from quandary.desk.reply import read_reply, record_reply
from quandary.desk.sheets import tool_input
from quandary.desk.walks import Walks
from quandary.doors import terminal
from quandary.doors.hosts import hooks
from quandary.doors.terminal.box import Box
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Reply
from sites import Site, send

if TYPE_CHECKING:
    from quandary.journal.store import State

WORDS = "once it is dark outside"
ASKED = f"You wrote “{WORDS}”; is that “Deploy this evening”?"
AGENT = Caller("agent", "relay")
READER = Path(__file__).parents[1] / "agents" / "reading_agent.py"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A server without a network."""
    return Site(tmp_path)


def proposed(site: Site) -> State:
    """A run in which an agent has proposed what the person's words mean."""
    state = site.ask("Build 812", text=DEPLOY)
    assert state.ask is not None
    meant = read_reply({}, state.ask, WORDS, None, "EVE")
    return record_reply(site.store, AGENT, state.run, meant, to=state.key)


def chosen(result: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """What was decided about the only item."""
    found: dict[str, Any] = result["chosenItems"][0]
    return found


def test_the_box_asks_for_confirmation(site: Site) -> None:
    """Enter on the first choice says yes."""
    ask = proposed(site).ask
    assert ask is not None

    async def press() -> Reply:
        box = Box(ask)
        async with box.run_test(size=(80, 40)) as pilot:
            await pilot.press("enter")
        assert isinstance(box.return_value, Reply)
        return box.return_value

    (answer,) = asyncio.run(press()).answers
    assert answer.picked == ("YES",)


@pytest.mark.parametrize(("line", "code"), [("1", "YES"), ("yep", "YES"), ("n", "NO"), ("2", "NO")])
def test_a_plain_terminal_asks_for_confirmation(site: Site, line: str, code: str) -> None:
    """The choices have numbers there, and words are understood."""
    ask, out = proposed(site).ask, io.StringIO()
    assert ask is not None
    returned = terminal.numbered(ask, lines_in=[f"{line}\n"], out=out)
    assert isinstance(returned, Reply)
    assert returned.answers[0].picked == (code,)
    shown = " ".join(out.getvalue().split())
    assert "You wrote “once it is dark outside”; is that" in shown
    assert "1. Yes" in shown


def test_the_page_asks_for_confirmation(site: Site) -> None:
    """A person who says yes there has decided, whoever proposed it."""
    run = proposed(site).run
    with site.person() as visitor:
        page = visitor.get(f"/runs/{run}").text
        assert "You wrote “once it is dark outside”; is that" in page
        assert "Proposed by agent (relay)" in page
        assert page.index('value="YES"') < page.index('value="NO"')
        assert send(visitor, run).status_code == 422  # nothing was chosen
        assert send(visitor, run, pick_0="YES").status_code == 303
    found = chosen(runs.look(site.store, run).result)
    assert (found["path"], found["by"], found["through"]) == ("EVE", "person", "web")
    assert found["proposals"][0]["by"] == "person (web)"


def test_proposals_come_over_http(site: Site) -> None:
    """With a text, and for each answer of a batch."""
    run = site.ask("Build 812", "Build 813", text=DEPLOY).run
    with site.visitor(Authorization="Bearer a-token-for-programs") as visitor:
        address = f"/api/runs/{run}/reply"
        wrong = visitor.post(address, json={"text": WORDS, "to": "1:", "proposed": "NOSUCH"})
        assert (wrong.status_code, "has no option NOSUCH" in wrong.text) == (400, True)
        answers = [
            {"key": "1:", "text": WORDS, "proposed": "EVE"},
            {"key": "2:", "text": "try it small", "proposed": ["PART"]},
        ]
        state = visitor.post(address, json={"answers": answers}).json()
        assert len(state["ask"]["tool_input"]["questions"]) == 2
        said = {"text": "at once", "to": state["ask"]["keys"][0], "proposed": "NOW"}
        state = visitor.post(address, json=said).json()
        assert "is that “Deploy now”?" in str(state["ask"]["tool_input"])


def test_a_hook_knows_a_confirmation_for_a_question_of_ours(site: Site) -> None:
    """It is kept by its own run, and not a second time as the host's."""
    ask = proposed(site).ask
    assert ask is not None
    form = tool_input(ask)
    heard = {"tool_name": "AskUserQuestion", "tool_input": form, "tool_use_id": "1"}
    response = {"answers": {form["questions"][0]["question"]: "Yes"}}
    call = hooks.read_call({**heard, "session_id": "s", "tool_response": response})
    assert call is not None
    assert hooks.record(call, site.store, str(site.folder)) == []


# -- chat clients ----------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A project that deploys, for chat clients."""
    found = Place(tmp_path, monkeypatch)
    (tmp_path / "t.md").write_text(DEPLOY, encoding="utf-8")
    return found


@ERAS
def test_an_agent_in_a_chat_client_proposes_and_the_form_asks(place: Place, mode: str) -> None:
    """No tool answers: the person's form does, and it is recorded as a form's."""
    run = place.call("ask", ASK_ONE, None, mode).data["run"]
    person = Person({"answer_1": "YES"})
    words = {"run": run, "words": WORDS, "proposed": "Deploy this evening"}
    told = place.call("propose", words, person, mode)
    (form,) = person.forms
    assert ASKED in str(form.requested_schema)
    found = chosen(told.data["result"])
    assert (found["path"], found["by"], found["through"]) == ("EVE", "agent", "mcp")


@ERAS
@pytest.mark.parametrize("words", ["now", "only if the tests pass", "not this evening", "Q: why?"])
def test_a_proposal_that_would_answer_is_refused(place: Place, mode: str, words: str) -> None:
    """Words that name another option, or speak against this one, are left to the person."""
    run = place.call("ask", ASK_ONE, None, mode).data["run"]
    told = place.call("propose", {"run": run, "words": words, "proposed": "EVE"}, None, mode)
    assert told.failed
    assert "cannot be proposed for these words" in told.then
    assert place.call("show_run", {"run": run}, None, mode).data["state"]["ask"]["key"] == "1.1:"


@ERAS
def test_a_clear_reply_through_a_tool_is_asked_about_too(place: Place, mode: str) -> None:
    """Nobody saw the person write it."""
    run = place.call("ask", ASK_ONE, None, mode).data["run"]
    words = {"run": run, "words": "deploy this evening", "proposed": "EVE"}
    told = place.call("propose", words, None, mode)
    assert told.data["status"] == "waiting"
    assert "is that “Deploy this evening”?" in str(told.data["ask"]["tool_input"])


# -- an agent that reads ---------------------------------------------------------------------------


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an agent that reads notes that it was asked."""
    folder = tmp_path / "config" / "quandary"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    argv = json.dumps([sys.executable, str(READER), str(tmp_path / "asked")])
    settings = f'[reading]\nagent = "ANN"\n[agents.ANN]\nargv = {argv}\n'
    (folder / "config.toml").write_text(settings, encoding="utf-8")
    return tmp_path / "asked"


def test_what_is_typed_on_a_page_is_read_by_the_users_agent(tmp_path: Path, read: Path) -> None:
    """A program behind the server asks it; then the page asks the person."""
    store = SqliteStore(tmp_path / "journal.db")
    site = Site(tmp_path, store, walks=Walks(store, str(tmp_path), in_background))
    run = site.ask("Build 812", text=DEPLOY).run
    with site.person() as visitor:
        assert send(visitor, run, text_0=WORDS).status_code == 303
        page = visitor.get(f"/runs/{run}").text
        until = time.monotonic() + 60
        while "You wrote" not in page and time.monotonic() < until:
            time.sleep(0.05)
            page = visitor.get(f"/runs/{run}").text
        assert "Proposed by ANN" in page
        assert send(visitor, run, pick_0="YES").status_code == 303
    found = chosen(runs.look(store, run).result)
    assert (found["path"], found["by"]) == ("EVE", "person")
    assert read.exists()


@pytest.mark.usefixtures("read")
def test_a_page_says_that_an_agent_reads(site: Site) -> None:
    """Nobody is asked anything meanwhile, and the page tells the command that resumes it."""
    run = site.ask("Build 812", text=DEPLOY).run
    with site.person() as visitor:
        assert send(visitor, run, text_0=WORDS).status_code == 303
        page = visitor.get(f"/runs/{run}").text
    assert "An agent reads the reply." in page
    assert f"quandary next {run}" in page


@ERAS
def test_what_is_typed_in_a_form_is_read_by_the_users_agent(
    place: Place, read: Path, mode: str
) -> None:
    """The call waits for it, and shows the confirmation as the next form."""
    person = Person({"other_1": WORDS}, {"answer_1": "YES"})
    told = place.call("ask", ASK_ONE, person, mode)
    assert len(person.forms) == 2
    assert chosen(told.data["result"])["path"] == "EVE"
    assert read.exists()
