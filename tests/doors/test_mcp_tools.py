"""Tools, resources and prompts for the agents of chat clients."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from mcp_clients import ASK_ONE, CONTEXT, ERAS, ITEMS, MULTI, Person, Place, Said, booked, said
from phases import PLANNED, Tried
from program import call, consent
from quandary.doors import mcp
from quandary.doors.mcp.tools import TEMPLATES, TOOLS
from quandary.journal import runs
from quandary.model.asks import Answer, Reply

CHART = """\
flowchart TD
  start([Start]) --> greet[Greet {{title}}]
  greet --> may{May it be sent?}
  %% quandary: {"step": "may", "tags": ["HUMAN"]}
  may -->|yes| send[Send it]
  may -->|no| done([End])
  send --> done
"""
AGENT = """\
import json, sys
prompt = sys.stdin.read()
print(json.dumps({"completed": True, "fully_completed": True, "comments": "Well."}))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A project with a server in it, and a user of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Place(tmp_path, monkeypatch)


# -- what there is -------------------------------------------------------------------------------


@ERAS
def test_no_tool_answers_a_question(place: Place, mode: str) -> None:
    """There are tools to ask and to look, and none that takes what a person would say."""

    async def work(client: Client) -> list[types.Tool]:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in place.at(work, None, mode)}
    assert list(tools) == [
        "ask",
        "split",
        "gate",
        "walk",
        "next",
        "propose",
        "advise",
        "runs",
        "show_run",
        "decided",
        "check",
    ]
    for tool in tools.values():
        taken = set(tool.input_schema["properties"])
        assert not taken & {"answer", "answers", "picked", "reply", "response", "choice", "comment"}
        assert tool.input_schema["additionalProperties"] is False
        assert tool.description
        assert len(tool.description) < 250
        assert tool.annotations is not None
        looks = ("runs", "show_run", "decided", "check")
        assert tool.annotations.read_only_hint is (tool.name in looks)
    assert set(tools["next"].input_schema["properties"]) == {"run", "wait"}


@ERAS
def test_trees_and_runs_can_be_read(place: Place, mode: str) -> None:
    """The project's trees are Markdown, its runs are JSON; both are listed and found by name."""
    run = place.call("ask", ASK_ONE, None, mode).data["run"]

    async def work(client: Client) -> list[Any]:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        read = [(await client.read_resource(r.uri)).contents[0] for r in listed]
        short = (await client.read_resource(f"quandary://runs/{run[:12].lower()}")).contents[0]
        return [listed, templates, read, short]

    listed, templates, read, short = place.at(work, None, mode)
    assert [str(r.uri) for r in listed] == ["quandary://trees/STEP", f"quandary://runs/{run}"]
    assert [t.uri_template for t in templates] == [
        "quandary://trees/{name}",
        "quandary://runs/{run}",
    ]
    assert read[0].text.startswith("### ¶ASK_STEP\nTrigger: a step waits\n")
    found = json.loads(read[1].text)
    assert found["state"]["status"] == "waiting"
    assert [entry["kind"] for entry in found["entries"]] == ["began", "asked"]
    assert json.loads(short.text) == found


@ERAS
@pytest.mark.parametrize(
    "uri",
    [
        "quandary://trees/NOTHING",
        "quandary://runs/01ZZZZ",
        "quandary://trees/t.md",
        "quandary://trees/..%2Fsecret.md",
        "file:///etc/hosts",
    ],
)
def test_nothing_else_can_be_read(place: Place, mode: str, uri: str) -> None:
    """A resource is a tree by its name or a run, and no path leads to a file."""
    (place.folder.parent / "secret.md").write_text(MULTI, encoding="utf-8")

    async def work(client: Client) -> None:
        await client.read_resource(uri)

    with pytest.raises(MCPError) as refused:
        place.at(work, None, mode)
    assert refused.value.code == types.INVALID_PARAMS


@ERAS
def test_a_prompt_tells_how_to_relay(place: Place, mode: str) -> None:
    """The loop is there for agents whose client shows no forms."""

    async def work(client: Client) -> tuple[list[str], str]:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        content = (await client.get_prompt("relay")).messages[0].content
        assert isinstance(content, types.TextContent)
        return names, content.text

    names, text = place.at(work, None, mode)
    assert names == ["relay"]
    for word in ("ask.preamble", "ask.tool_input", "ask.reply_with", "declined"):
        assert word in text


# -- the other tools -----------------------------------------------------------------------------


@ERAS
def test_a_list_is_split(place: Place, mode: str) -> None:
    """Options are asked about in forms too, and every one of them ends up somewhere."""
    options = [{"key": f"E{n}", "title": f"Part {n}"} for n in range(1, 4)]
    person = Person({"answer_1": ["E1", "E3"]}, {"answer_1": "CUT"}, {"answer_1": "SHP"})
    told = place.call("split", {"options": options, "context": CONTEXT}, person, mode)
    assert told.data["status"] == "done", told
    assert (told.data["result"]["include"], told.data["result"]["cut"]) == (["E1", "E3"], ["E2"])


@pytest.fixture
def track(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[Tried, Place, str]:
    """A track in its first phase, where it is served, and its folder."""
    (tmp_path / "track").mkdir()
    tried = Tried(tmp_path / "track", capsys, monkeypatch)
    tried.stand("1: Plan")
    return tried, Place(tmp_path, monkeypatch), str(tried.folder / "rel")


@ERAS
def test_a_gate_is_passed(track: tuple[Tried, Place, str], mode: str) -> None:
    """The choice moves the track; the history says that it came through an agent's client."""
    tried, place, folder = track
    told = place.call(
        "gate", {"folder": folder, "proof": PLANNED}, Person({"answer_1": "PRC"}), mode
    )
    assert told.data["result"]["nextPhase"] == "2: Build"
    assert tried.state["currentPhase"] == "2: Build"
    last = tried.state["phaseHistory"][-1]
    assert (last["who"], last["through"]) == ("agent", "mcp")


@ERAS
def test_a_gate_without_its_proof_says_that_nothing_moved(
    track: tuple[Tried, Place, str], mode: str
) -> None:
    """The run is done and the track is not, which an agent has to know."""
    tried, place, folder = track
    told = place.call("gate", {"folder": folder}, Person({"answer_1": "PRC"}), mode)
    assert told.data["result"]["missing"]
    assert told.then.startswith("Nothing moved:")
    assert tried.state["currentPhase"] == "1: Plan"


@ERAS
def test_what_only_a_person_may_answer_is_not_shown_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """An agent stands between the form and the person, so that nothing from it would count."""
    (tmp_path / "track").mkdir()
    tried = Tried(tmp_path / "track", capsys, monkeypatch)
    tried.stand("1: Plan")
    place = Place(tmp_path, monkeypatch)
    person = Person({"answer_1": "PRC"})
    wanted = {"folder": str(tried.folder / "rel"), "proof": PLANNED, "require_person": True}
    told = place.call("gate", wanted, person, mode)
    assert told.data["status"] == "waiting"
    assert told.then == mcp.IN_PERSON.replace("{run}", told.data["run"])
    assert person.forms == []


def furnish(place: Place) -> None:
    """A chart in the project, and an agent of its own."""
    (place.folder / "agent.py").write_text(AGENT, encoding="utf-8")
    argv = json.dumps([sys.executable, str(place.folder / "agent.py")])
    settings = f'default_cli = "BOT"\n[agents.BOT]\nargv = {argv}\nprompt = "stdin"\n'
    (place.folder / "quandary.toml").write_text(settings, encoding="utf-8")
    (place.folder / "c.mmd").write_text(CHART, encoding="utf-8")


@ERAS
def test_a_projects_agents_are_not_started_by_a_client_without_consent(
    place: Place, mode: str
) -> None:
    """The agent is told what the person has to type; no run is begun."""
    furnish(place)
    told = place.call("walk", {"source": "c.mmd"}, None, mode, is_user=True)
    assert told.failed
    assert f"quandary trust {place.folder}" in told.then
    assert place.call("runs", {}, None, mode).data["runs"] == []


@ERAS
def test_a_client_does_not_choose_which_file_an_agent_is(place: Place, mode: str) -> None:
    """Its user agreed to the file in the project's folder, and not to one that is called alike."""
    furnish(place)
    settings = place.folder / "quandary.toml"
    text = settings.read_text(encoding="utf-8").replace(f"{place.folder}/", "")
    settings.write_text(text, encoding="utf-8")
    (place.folder / "docs").mkdir()
    (place.folder / "docs" / "agent.py").write_text("open('done', 'w')", encoding="utf-8")
    consent(place.folder)
    told = place.call("walk", {"source": "c.mmd", "workdir": "docs"}, None, mode, is_user=True)
    assert told.failed
    assert "agent.py stands for a file of the project" in told.then
    assert place.call("runs", {}, None, mode).data["runs"] == []


@ERAS
def test_a_chart_is_walked_by_itself(place: Place, mode: str) -> None:
    """The call returns at once; agents work, the person is asked in a form, agents go on."""
    furnish(place)
    consent(place.folder)

    async def work(client: Client) -> tuple[Said, Said]:
        begun = said(await client.call_tool("walk", {"source": "c.mmd", "item": {"title": "Bob"}}))
        state = begun
        while state.data["status"] == "waiting":
            wait = {} if "ask" in state.data else {"wait": 20}
            state = said(await client.call_tool("next", {"run": begun.data["run"], **wait}))
        return begun, state

    person = Person({"answer_1": "YES"})
    begun, ended = place.at(work, person, mode, is_user=True)
    assert (begun.data["flow"], begun.data["status"]) == ("walk", "waiting")
    assert begun.then == mcp.WALKING.replace("{run}", begun.data["run"])
    assert ended.data["result"]["outcome"] == "completed", ended
    assert [step["route"] for step in ended.data["result"]["steps"] if step["route"]] == ["yes"]
    assert len(person.forms) == 1


@ERAS
def test_waiting_ends_when_somebody_answers_elsewhere(place: Place, mode: str) -> None:
    """With a wait the question is not shown here; the answer is told as soon as it is there."""
    run = place.call("ask", ASK_ONE, None, mode).data["run"]
    person = Person()

    async def work(client: Client) -> tuple[Said, float]:
        async def elsewhere() -> None:
            await anyio.sleep(0.3)
            booked(place, runs.look(place.store, run), "OK")

        began = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(elsewhere)
            told = said(await client.call_tool("next", {"run": run, "wait": 30}))
        return told, anyio.current_time() - began

    told, seconds = place.at(work, person, mode)
    assert told.data["status"] == "done"
    assert 0.3 <= seconds < 5
    assert person.forms == []


@ERAS
def test_waiting_ends_when_the_time_is_up(place: Place, mode: str) -> None:
    """Nobody answers, and the run still waits."""
    run = place.call("ask", ASK_ONE, None, mode).data["run"]
    told = place.call("next", {"run": run, "wait": 0.4}, None, mode)
    assert told.data["status"] == "waiting"


@ERAS
def test_runs_are_listed_and_shown(
    place: Place, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same as the command line lists, and everything that happened to one."""
    place.call("ask", ASK_ONE, Person({"answer_1": "OK"}), mode)
    run = place.call("ask", ASK_ONE, None, mode).data["run"]
    listed = place.call("runs", {}, None, mode).data
    assert listed == json.loads(call(capsys, "runs", "--format", "json").out)
    waiting = place.call("runs", {"status": "waiting", "limit": 5}, None, mode).data["runs"]
    assert [row["run"] for row in waiting] == [run]
    shown = place.call("show_run", {"run": run[:14]}, Person(), mode).data
    [decision] = place.call("decided", {}, Person(), mode).data["decisions"]
    assert (decision["run"] != run, decision["who"]) == (True, "agent")
    assert place.call("decided", {"words": "xyzzy"}, Person(), mode).data == {"decisions": []}
    assert shown["state"]["ask"]["key"] == "1.1:"
    assert shown["entries"][0]["through"] == "mcp"


@ERAS
def test_trees_are_checked(place: Place, mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A file as the command line checks it, or a text; problems are no failure of the tool."""
    found = place.call("check", {"path": "t.md"}, None, mode).data
    assert found == json.loads(call(capsys, "check", "t.md", "--format", "json").out)
    told = place.call("check", {"text": MULTI.replace("[DOC]", "[SEC]")}, None, mode)
    assert not told.failed
    assert told.data["errors"] > 0
    rules = {found["rule"] for found in told.data["files"][0]["diagnostics"]}
    assert "code-duplicate" in rules


@ERAS
def test_a_persons_answer_to_the_very_same_is_used_again(place: Place, mode: str) -> None:
    """With `reuse`, what a person answered by their own hand counts once more, with a note."""
    cache = {"source": "t.md", "context": CONTEXT, "items": ITEMS[1:]}
    begun = place.call("ask", cache, None, mode).data
    key = begun["ask"]["keys"][0]
    reply = Reply((Answer(key, ("OK",)),))
    runs.advance(place.store, begun["run"], reply, who="person", through="web")
    again = place.call("ask", {**cache, "reuse": "30d"}, None, mode).data
    assert (again["status"], [note["kind"] for note in again["notes"]]) == ("done", ["reused"])
    assert place.call("ask", cache, None, mode).data["status"] == "waiting"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("ask", {"source": "t.md"}, "context"),
        ("ask", {"source": "t.md", "context": " "}, "say what is to be decided"),
        ("ask", {"context": CONTEXT}, "name the tree"),
        ("ask", {"source": "-", "context": CONTEXT}, "name the tree"),
        ("ask", {"source": "NONE", "context": CONTEXT}, "no tree named NONE"),
        ("ask", {**ASK_ONE, "answers": ["OK"]}, "answers"),
        ("ask", {**ASK_ONE, "expires": "soon"}, "no age"),
        ("ask", {**ASK_ONE, "reuse": "soon"}, "no age"),
        ("ask", {**ASK_ONE, "items": [{"colour": "red"}]}, "item 1"),
        ("split", {"options": [{"key": "E1"}]}, "options"),
        ("gate", {"folder": "nowhere"}, "nowhere"),
        ("walk", {"source": "nothing.mmd"}, "nothing.mmd"),
        ("next", {"run": "01ZZ"}, "no run 01ZZ"),
        ("next", {"run": "01ZZ", "wait": 3600}, "wait"),
        ("check", {}, "path"),
        ("check", {"path": "none.md"}, "none.md"),
        ("runs", {"status": "lost"}, "lost"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    place: Place, tool: str, arguments: dict[str, Any], words: str
) -> None:
    """An agent learns what to mend; nothing was begun."""
    told = place.call(tool, arguments, Person(), "2026-07-28", is_user=True)
    assert told.failed
    assert words in told.then
    assert "\n" not in told.then
    assert place.store.runs() == []


@ERAS
def test_an_unknown_tool_is_refused(place: Place, mode: str) -> None:
    """There is no tool called reply, and whoever calls it is told which there are."""

    async def work(client: Client) -> None:
        await client.call_tool("reply", {"run": "01", "text": "OK"})

    with pytest.raises(MCPError, match="there are ask, split"):
        place.at(work, None, mode)


def test_callers_from_elsewhere_stay_in_the_project(place: Place) -> None:
    """Confined, no file is read that is not below the project's folder."""
    outside = place.folder.parent / "outside.md"
    outside.write_text(MULTI, encoding="utf-8")
    (place.folder / "link.md").symlink_to(outside)
    wanted = [
        ("ask", {"source": str(outside), "context": CONTEXT}),
        ("ask", {"source": "../outside.md#TAGS", "context": CONTEXT}),
        ("ask", {"source": "link.md", "context": CONTEXT}),
        ("gate", {"folder": ".."}),
        ("walk", {"source": "../chart.mmd"}),
        ("walk", {"source": "t.md", "workdir": "/"}),
        ("check", {"path": "../outside.md"}),
    ]

    async def work(client: Client) -> list[Said]:
        return [said(await client.call_tool(tool, arguments)) for tool, arguments in wanted]

    for told in place.at(work, None, "legacy", is_user=True):
        assert told.failed
        assert told.then.endswith("is not in this project")
    assert place.store.runs() == []


def test_a_tool_attaches_what_an_agent_sends(place: Place) -> None:
    """It is kept, and listed with its digest beside the question."""
    attach = [{"name": "plan.md", "text": "# Plan"}]

    async def work(client: Client) -> Said:
        return said(await client.call_tool("ask", {**ASK_ONE, "attach": attach}))

    (one,) = place.at(work, None, "legacy").data["ask"]["attachments"]
    assert (one["name"], place.store.document(one["digest"])) == ("plan.md", b"# Plan")


def test_a_codex_gets_what_its_own_tool_can_hold(place: Place) -> None:
    """Its box holds three options, and each question has an id there."""
    tree = MULTI.replace("[ ] ", "").replace("- [OTH]", "- [OPS] Operations\n- [OTH]")

    async def work(client: Client) -> Said:
        return said(await client.call_tool("ask", {"text": tree, "context": CONTEXT}))

    named = types.Implementation(name="codex-mcp-client", version="1")
    told = place.at(work, None, "legacy", info=named)
    (question,) = told.data["ask"]["tool_input"]["questions"]
    assert question["id"] == told.data["ask"]["key"]
    assert len(question["options"]) == 3


# -- documentation -------------------------------------------------------------------------------


def test_the_page_lists_every_tool_with_what_it_takes() -> None:
    """`docs/mcp.md` is about these tools and resources, and no others."""
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| `(\w+)` \| (.*?) \|", page)
    shown = {name: set(re.findall(r"`(\w+)`", taken)) for name, taken in rows}
    assert shown == {
        name: set(tool.describe().input_schema["properties"]) for name, tool in TOOLS.items()
    }
    assert re.findall(r"`(quandary://\S+)`", page) == [t.uri_template for t in TEMPLATES]
