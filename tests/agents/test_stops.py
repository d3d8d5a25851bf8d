"""Agents that stop in the middle of a step and are resumed: real programs, our hook, a journal."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from quandary.agents import Driver
from quandary.agents.calling import Surroundings, output_of
from quandary.agents.process import Ran
from quandary.errors import ParseError, PersonRequired, Rejected
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply
from quandary.model.calls import Assignment, Call
from quandary.model.chart import Step
from quandary.reports import answer, tell_request
from quandary.reports.retelling import retell
from quandary.settings.agents import known_agents, permit, read_catalogue, words
from scripted_walks import chart, task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import State
    from quandary.model.chart import Chart

AGENT = Path(__file__).parent / "stopping_agent.py"
LEVEL = {
    "question": "Which log level?",
    "options": [{"label": "Info"}, {"label": "Debug", "description": "Everything"}],
}
ASK = {"name": "AskUserQuestion", "input": {"questions": [LEVEL]}}
TOUCH = {"name": "Bash", "input": {"command": "touch made.txt"}}
LOOK = {"name": "Read", "input": {"file_path": "a.txt"}}
DONE = {"completed": True, "comments": "It is set up."}
ONE = chart(task("a", "Set up logging"))
BALLOT = chart(
    Step("a", "Ship it?", "decision", metadata={"votes": "ANN, BEN"}),
    task("b", "Ship", "HUMAN"),
    task("c", "Wait", "HUMAN"),
    routes="a>b:yes a>c:no",
)


def table(folder: Path) -> dict[str, Any]:
    """An agent that stops, as the settings describe it."""
    argv = [sys.executable, str(AGENT), str(folder)]
    return {
        "argv": argv,
        "output": "json:result",
        "usage": "usage.input_tokens",
        "permissions": "ask",
        "ask": ["--settings", "{hooks}"],
        "resume": [*argv, "--resume", "{session}"],
        "session": "session_id",
        "stopped": "deferred_tool_use",
        "env": ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"],
    }


class House:
    """A store, and agents with folders of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = SqliteStore(folder / "journal.db")
        self.tables = {name: table(folder / name) for name in ("ANN", "BEN")}
        for name in self.tables:
            (folder / name).mkdir()
        homes = {f"XDG_{one}_HOME": str(folder / one) for one in ("DATA", "STATE", "CONFIG")}
        self.around = Surroundings(str(folder), {**os.environ, **homes})

    def script(self, name: str, *messages: object) -> None:
        (self.folder / name / "script.json").write_text(json.dumps(messages), encoding="utf-8")

    def read(self, name: str, file: str) -> list[Any]:
        path = self.folder / name / file
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def begin(self, drawn: Chart = ONE, retries: int = 0) -> State:
        """A run whose calls nobody has begun to make."""
        given = {"defaults": {"cli": "ANN", "retries": retries}, "codenames": ["ANN", "BEN"]}
        documents = {"chart": msgspec.to_builtins(drawn)}
        return runs.begin(
            self.store, "walk", given, documents=documents, who="person", through="web"
        )

    def drive(self, run: str) -> State:
        """Drive a run as a process does that has nothing but the journal."""
        driver = Driver(self.store, read_catalogue(self.tables), self.around)
        return asyncio.run(driver.drive(run))

    def say(self, state: State, code: str = "", text: str | None = None) -> State:
        picked = (code,) if code else ()
        reply = Reply((Answer(state.key or "", picked, text),))
        return runs.advance(self.store, state.run, reply, who="person", through="web")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A house of its own."""
    made = House(tmp_path)
    yield made
    made.store.close()


def test_a_question_in_the_middle_of_a_step_is_answered_and_its_session_goes_on(
    house: House,
) -> None:
    """One program begins, one goes on with the answer; what merely looks is not asked about."""
    house.script("ANN", [LOOK], [ASK], DONE)
    state = house.drive(house.begin().run)
    assert state.ask is not None
    assert state.ask.questions[0].text == "ANN asks: Which log level?"
    state = house.drive(house.say(state, "B").run)
    assert (state.status, state.result["steps"][0]["output"]) == ("done", "It is set up.")
    assert house.read("ANN", "starts.jsonl") == ["begin", "resume"]
    (_, word, given) = house.read("ANN", "uses.jsonl")[-1]
    assert (word, given["answers"]) == ("allow", {"Which log level?": "Debug"})
    assert (state.result["steps"][0]["attempts"], state.result["calls"]) == (1, 1)
    assert state.result["tokens"] == 10


def test_what_it_wants_to_do_is_allowed_by_a_person_only(house: House) -> None:
    """An agent's word is refused; a person's lets it do just what was shown."""
    house.script("ANN", [TOUCH], DONE)
    state = house.drive(house.begin().run)
    assert state.ask is not None
    allow = Reply((Answer(state.key or "", ("ONE",)),))
    with pytest.raises(PersonRequired):
        runs.advance(house.store, state.run, allow, who="agent", through="relay")
    state = house.drive(house.say(state, "ONE").run)
    assert state.status == "done"
    assert house.read("ANN", "uses.jsonl") == [["toolu_0_0", "allow", TOUCH["input"]]]


def test_it_hears_why_it_may_not(house: House) -> None:
    """Words in place of a choice deny, and reach the agent."""
    house.script("ANN", [TOUCH], DONE)
    state = house.drive(house.begin().run)
    assert house.drive(house.say(state, text="write notes.txt instead").run).status == "done"
    assert house.read("ANN", "uses.jsonl") == [["toolu_0_0", "deny", "write notes.txt instead"]]


def test_of_several_in_one_message_one_is_set_aside_and_none_is_lost(house: House) -> None:
    """The host keeps one; the other is refused with a reason, and asked about when it comes back.

    Then the step stops twice, and is one attempt still.
    """
    house.script("ANN", [ASK, TOUCH], [TOUCH], DONE)
    state = house.drive(house.begin().run)
    state = house.drive(house.say(state, "A").run)
    assert state.ask is not None
    assert [choice.code for choice in state.ask.questions[0].choices] == ["ONE", "CHG", "NO"]
    state = house.drive(house.say(state, "ONE").run)
    assert (state.status, state.result["steps"][0]["attempts"]) == ("done", 1)
    assert house.read("ANN", "starts.jsonl") == ["begin", "resume", "resume"]
    uses = [(use, word) for use, word, _ in house.read("ANN", "uses.jsonl")]
    assert uses == [("toolu_0_1", "deny"), ("toolu_0_0", "allow"), ("toolu_1_0", "allow")]


def test_a_sub_agent_is_never_set_aside(house: House) -> None:
    """It would end without a word, so that the host decides."""
    house.script("ANN", [{**TOUCH, "more": {"agent_id": "b1"}}], DONE)
    assert house.drive(house.begin().run).status == "done"
    assert house.read("ANN", "uses.jsonl") == [["toolu_0_0", "deny", "not allowed"]]


def test_a_rule_of_the_user_decides_without_anybody_being_asked(house: House) -> None:
    """What a rule allows is done at once, and is recorded as the rule's."""
    config = house.folder / "CONFIG" / "quandary" / "config.toml"
    config.parent.mkdir(parents=True)
    rule = '[permissions.rules]\ntouching = "allow Bash command=touch"\n'
    config.write_text(rule, encoding="utf-8")
    house.script("ANN", [TOUCH], DONE)
    assert house.drive(house.begin().run).status == "done"
    assert [word for _, word, _ in house.read("ANN", "uses.jsonl")] == ["allow"]
    with closing(SqliteStore(house.folder / "DATA" / "quandary" / "journal.db")) as own:
        (row,) = own.runs(flow="permit")
        assert runs.look(own, row.id).result["by"] == "policy"


def test_a_retry_that_stops_uses_up_one_attempt(house: House) -> None:
    """The first attempt fails; the second stops, goes on and is done."""
    house.script("ANN", {"completed": False})
    run = house.begin(retries=1).run
    driver = Driver(house.store, read_catalogue(house.tables), house.around)

    async def fail_first() -> State:
        made = driver.make_call

        async def make(call: Call, *rest: Any) -> Any:  # noqa: ANN401 - as it is
            came = await made(call, *rest)
            house.script("ANN", [ASK], DONE)
            return came

        driver.make_call = make
        return await driver.drive(run)

    state = asyncio.run(fail_first())
    assert state.ask is not None
    assert state.ask.key == "Sa@1/retry-1-stopped-1:1"
    state = house.drive(house.say(state, "A").run)
    assert (state.status, state.result["steps"][0]["attempts"]) == ("done", 2)
    assert house.read("ANN", "starts.jsonl") == ["begin", "begin", "resume"]


def test_votes_go_on_with_those_that_stopped(house: House) -> None:
    """A vote that is in is not cast again while another voter waits for a person."""
    house.script("ANN", [ASK], {"answer": "yes"})
    house.script("BEN", {"answer": "yes"})
    state = house.drive(house.begin(BALLOT).run)
    state = house.drive(house.say(state, "A").run)
    assert state.ask is not None
    assert state.ask.key == "Sb@1/run"
    assert house.read("ANN", "starts.jsonl") == ["begin", "resume"]
    assert house.read("BEN", "starts.jsonl") == ["begin"]


def kill_when(house: House, run: str, name: str, returned: int) -> None:
    """Drive a run in another process, and kill that when an agent hangs and others came back."""
    here = os.path.dirname(os.path.abspath(__file__))
    program = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "import json, asyncio, test_stops\n"
        "from quandary.agents import Driver\n"
        "from quandary.agents.calling import Surroundings\n"
        "from quandary.journal.sqlite import SqliteStore\n"
        "from quandary.settings.agents import read_catalogue\n"
        "told = json.load(sys.stdin)\n"
        "around = Surroundings(told['folder'], told['env'])\n"
        "store = SqliteStore(told['store'])\n"
        "asyncio.run(Driver(store, read_catalogue(told['tables']), around).drive(told['run']))\n"
    )
    told = {
        "folder": str(house.folder),
        "env": dict(house.around.environment),
        "store": str(house.folder / "journal.db"),
        "tables": house.tables,
        "run": run,
    }
    argv = [sys.executable, "-c", program, os.path.dirname(here), here]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(told).encode())
        process.stdin.close()
        until = time.monotonic() + 60
        back = partial(house.store.entries, run, kinds=("returned",))
        while not house.read(name, "hangs.jsonl") or len(back()) < returned:
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)


def test_a_killed_process_loses_no_stop_and_nothing_is_paid_twice(house: House) -> None:
    """One voter has stopped when kill -9 strikes the other: its session goes on, not anew.

    The call of which nobody saw the end is the only one that is made again.
    """
    house.script("ANN", [ASK], {"answer": "yes"})
    house.script("BEN", [{"name": "Hang", "input": {}}], {"answer": "yes"})
    run = house.begin(BALLOT, retries=1).run
    kill_when(house, run, "BEN", 1)
    house.script("BEN", {"answer": "yes"})
    state = house.drive(run)
    assert state.ask is not None
    assert state.ask.key == "Sa@1/vote-1-stopped-1:1"
    state = house.drive(house.say(state, "A").run)
    assert state.ask is not None
    assert state.ask.key == "Sb@1/run"
    assert house.read("ANN", "starts.jsonl") == ["begin", "resume"]
    assert house.read("BEN", "starts.jsonl") == ["begin", "begin"]


def test_a_session_that_goes_on_and_is_killed_counts_as_one_attempt(house: House) -> None:
    """Nobody knows what it did, so that its step is tried anew, as after any interruption."""
    house.script("ANN", [ASK], [{"name": "Hang", "input": {}}], DONE)
    run = house.begin(retries=1).run
    state = house.say(house.drive(run), "A")
    kill_when(house, run, "ANN", 1)
    house.script("ANN", DONE)
    state = house.drive(run)
    assert (state.status, state.result["steps"][0]["attempts"]) == ("done", 2)
    assert house.read("ANN", "starts.jsonl") == ["begin", "resume", "begin"]


def test_a_session_goes_on_where_it_is_and_nowhere_else(house: House) -> None:
    """On another machine it is refused before anything is spent, and on its own it goes on."""
    house.script("ANN", [ASK], DONE)
    state = house.say(house.drive(house.begin().run), "A")
    here = os.uname()
    there = os.uname_result((here.sysname, "elsewhere", here.release, here.version, here.machine))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "uname", lambda: there)
        with pytest.raises(Rejected, match=f"on {here.nodename}; resume the run there"):
            house.drive(state.run)
    state = house.drive(state.run)
    assert (state.status, state.result["steps"][0]["attempts"]) == ("done", 1)


def test_a_session_cannot_go_on_when_its_agent_may_no_longer_ask(house: House) -> None:
    """It would find no hook there; what to set is said."""
    house.script("ANN", [ASK], DONE)
    state = house.say(house.drive(house.begin().run), "A")
    house.tables["ANN"]["permissions"] = "safe"
    state = house.drive(state.run)
    assert (state.status, 'permissions = "ask"' in (state.error or "")) == ("failed", True)


def test_the_story_of_a_step_tells_the_stop_and_the_answer(house: House) -> None:
    """Who stopped for what, who answered, and that the session went on; one attempt, one call."""
    house.script("ANN", [ASK], DONE)
    state = house.drive(house.begin().run)
    waiting = retell(house.store, state.run).story.stops[-1].attempts
    assert [attempt.verdict for attempt in waiting] == [None]
    house.drive(house.say(state, "B").run)
    story = retell(house.store, state.run).story
    (attempt,) = story.stops[-1].attempts
    told = [(tell_request(one), answer(one).split(",")[0]) for one in attempt.exchanges]
    assert told == [
        ("ANN does it", "stopped for AskUserQuestion"),
        ("person (web) answers what the agent stopped for", "answered"),
        ("ANN does it", "done"),
    ]
    assert attempt.exchanges[1].output == "Debug"
    assert "Debug" in (attempt.exchanges[2].prompt or "")
    assert (attempt.verdict, story.calls, story.tokens) == ("passed", 1, 10)


# -- what is seen of it, and what is not -----------------------------------------------------------


def test_only_an_agent_that_may_ask_stops(house: House) -> None:
    """What looks like a stop in the output of another agent is none; nor is one that failed."""
    asking = read_catalogue(house.tables).find("ANN")
    call = Call("k", "ANN", "Do it", "process", assignment=Assignment("p", "a", 1, "run"))
    printed = {"session_id": "s-1", "deferred_tool_use": {"id": "t", "name": "Bash"}, "result": ""}

    def came(said: object, *, safe: bool = False, status: int = 0) -> bool:
        agent = permit(asking, changes=False, stops=not safe)
        ran = Ran(json.dumps(said), "", status, 1.0, truncated=False, timed_out=False)
        return output_of(call, agent, ran).stopped is not None

    assert came(printed)
    assert not came(printed, safe=True)
    assert not came(printed, status=1)
    for session in ("--dangerously-skip-permissions", "-x", "a b", "", "x" * 200):
        assert not came({**printed, "session_id": session})
    assert not came({**printed, "deferred_tool_use": "Bash"})


def test_a_call_outside_of_a_walk_never_stops(house: House) -> None:
    """Nobody would be asked there: the agent is called as a safe one."""
    asking = read_catalogue(house.tables).find("ANN")
    assert "--settings" in words(asking)
    assert "--settings" not in words(permit(asking, changes=False, stops=False))
    assert permit(asking, changes=True, stops=False).permissions == "full"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"resume": None}, 'permissions = "ask" needs resume'),
        ({"stopped": None, "session": None}, "needs session, stopped"),
        ({"resume": ["program"]}, "resume needs {session}"),
        ({"session": "a..b"}, "session is a path"),
        ({"output": "text"}, "needs an output of json"),
    ],
)
def test_an_agent_that_cannot_stop_is_refused(
    house: House, changed: dict[str, Any], said: str
) -> None:
    """Whoever is to ask has to be resumable, and to say where it stopped."""
    given = {**house.tables["ANN"], **changed}
    with pytest.raises(ParseError, match=said.replace("{", r"\{").replace("}", r"\}")):
        read_catalogue({"ANN": {key: one for key, one in given.items() if one is not None}})


def test_claude_code_is_known_to_stop_and_to_be_resumed() -> None:
    """With `permissions = "ask"` it keeps its question tool and its hook, also when it goes on."""
    claude = read_catalogue({"CLAUDE": {"permissions": "ask"}}).find("CLAUDE")
    for resume in (False, True):
        line = words(claude, schema=True, resume=resume)
        assert ("--resume" in line) == resume
        assert line[line.index("--permission-prompt-tool") + 1] == "stdio"
        assert line[line.index("--permission-mode") + 1] == "dontAsk"
    assert "--settings" not in words(next(one for one in known_agents() if one.name == "CLAUDE"))
