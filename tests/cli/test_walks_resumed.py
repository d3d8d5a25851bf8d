"""Walks that wait, are answered, are interrupted, and go on."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from program import PROGRAM, at_terminal, environment
from quandary.cli import console
from quandary.desk import reply as desk
from quandary.desk.authority import Caller
from quandary.journal import chance, runs
from quandary.journal.entries import Called
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.calls import Output
from walk_projects import DONE, WalkProject, lucid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def logs_of(outing: WalkProject) -> tuple[dict[str, Any], str]:
    """The short log and the long one of the only run."""
    (short,) = outing.folder.glob(".quandary/logs/*.json")
    (long,) = outing.folder.glob(".quandary/logs/*.log")
    return json.loads(short.read_text(encoding="utf-8")), long.read_text(encoding="utf-8")


def ship(first: str = "Write the page", last: str = "Print it") -> str:
    """An agent, a person, and an agent again."""
    return lucid(
        {
            "1": "Start",
            "2": {"text": first, "tags": "NoValidation"},
            "3": {"text": "May it go out?", "tags": "HUMAN"},
            "4": {"text": last, "tags": "NoValidation"},
            "5": "End",
        },
        "1>2 2>3 3>4:print_it 3>2:not_yet 4>5",
    )


@pytest.fixture
def outing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> WalkProject:
    """A project with three agents and a chart on which a person is asked."""
    made = WalkProject(tmp_path, capsys, monkeypatch)
    made.draw(ship())
    return made


# -- people ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["reply", "elsewhere", "page"])
@pytest.mark.parametrize(("said", "status"), [("Done", "done"), ("Cannot be done", "failed")])
def test_a_reply_that_ends_a_walk_is_in_its_logs(
    outing: WalkProject, tmp_path_factory: pytest.TempPathFactory, way: str, said: str, status: str
) -> None:
    """Through whichever door, and wherever that is called: the logs are those of its project."""
    signed = {"text": "Sign it", "tags": "HUMAN", "retries": "0"}
    outing.draw(lucid({"1": {"text": "Write it", "tags": "NoValidation"}, "2": signed}, "1>2"))
    run = outing.walk()["run"]
    assert (logs_of(outing)[0]["status"], len(logs_of(outing)[0]["steps"])) == ("waiting", 1)
    if way == "elsewhere":
        os.chdir(tmp_path_factory.mktemp("elsewhere"))
    if way == "page":
        store = console.open_journal(None, existing=True)
        meant = desk.read_reply({}, desk.require_waiting(runs.look(store, run)), said, "S2@1/run")
        desk.record_reply(store, Caller("person", "web"), run, meant)
    else:
        outing.call("reply", run, said)
    short, long = logs_of(outing)
    assert (short["status"], [step["name"] for step in short["steps"]]) == (
        status,
        ["Write it", "Sign it"],
    )
    assert f"ended, {'completed' if status == 'done' else 'failed'}" in long


def test_a_walk_resumed_elsewhere_has_its_logs_in_its_own_project(
    outing: WalkProject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """CONTRACT: `log_dir` starts from the project, which is that of the run."""
    outing.draw(lucid({"1": {"text": "Sign it", "tags": "HUMAN"}, "2": {"text": "Send it"}}, "1>2"))
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.copy(outing.folder / "quandary.toml", elsewhere)
    outing.settings('log_dir = "told"\n')
    run = outing.walk()["run"]
    os.chdir(elsewhere)
    outing.call("reply", run, "Done")
    assert outing.call("walk", "--resume", run).status == 0
    (short,) = outing.folder.glob("told/*.json")
    assert json.loads(short.read_text(encoding="utf-8"))["status"] == "done"
    assert [path.name for path in elsewhere.iterdir()] == ["quandary.toml"]


def test_an_answer_at_the_terminal_that_ends_a_walk_is_in_its_logs(outing: WalkProject) -> None:
    """Also where no agent comes after it."""
    outing.draw(lucid({"1": {"text": "Sign it", "tags": "HUMAN"}}, ""))
    assert at_terminal("walk", "c.csv", typed="1\n", env={"TERM": "dumb"}).status == 0
    assert logs_of(outing)[0]["status"] == "done"


@pytest.mark.parametrize("look", [("runs",), ("next",), ("reply", "Done")])
def test_a_walk_that_expires_is_withdrawn_in_its_logs(
    outing: WalkProject, monkeypatch: pytest.MonkeyPatch, look: tuple[str, ...]
) -> None:
    """Whoever looks at it first, for whatever reason."""
    outing.draw(lucid({"1": {"text": "Sign it", "tags": "HUMAN"}}, ""))
    run, then = outing.walk("--expires", "1h")["run"], chance.now() + timedelta(hours=2)
    monkeypatch.setattr(chance, "now", lambda: then)
    outing.call(look[0], *([] if look == ("runs",) else [run]), *look[1:])
    short, long = logs_of(outing)
    assert short["status"] == "withdrawn"
    assert "ended, withdrawn" in long


def test_a_log_that_cannot_be_written_stops_no_reply(outing: WalkProject) -> None:
    """What was recorded stays so, and what is wrong with the logs is said."""
    outing.draw(lucid({"1": {"text": "Sign it", "tags": "HUMAN"}}, ""))
    run = outing.walk()["run"]
    outing.settings("log_dir = 5\n")
    ended = outing.call("reply", run, "Done")
    assert (ended.status, json.loads(ended.out)["status"]) == (0, "done")
    assert f"the logs of run {run} cannot be written" in ended.err


def test_no_advice_offers_a_choice_at_a_step(outing: WalkProject) -> None:
    """Its choices are all that there are: words beside them settle nothing."""
    outing.draw(lucid({"1": {"text": "Sign it", "tags": "HUMAN"}}, ""))
    run = outing.walk()["run"]
    ended = outing.call("advise", run, "Bob pays.", "--option", "A: Let Bob sign")
    assert ended.status == 2
    assert "--option A: Let Bob sign cannot be chosen here; write A?" in ended.err
    assert outing.call("advise", run, "Bob pays.", "--option", "A? Show the letter").status == 0


def test_a_person_is_asked_in_the_same_run_and_the_run_goes_on(outing: WalkProject) -> None:
    """The state has a form; a reply books the answer and tells how to go on; the rest follows."""
    state = outing.walk()
    run = state["run"]
    assert state["status"] == "waiting"
    ask = state["ask"]
    assert ask["key"] == "S3@1/run"
    assert ask["reply_with"] == ["quandary", "reply", run, "--to", "S3@1/run", "-"]
    (question,) = ask["tool_input"]["questions"]
    assert [option["label"] for option in question["options"]] == ["print it", "not yet"]
    assert "May it go out?" in ask["preamble"]
    state = outing.reply(run, "not yet")
    assert state["status"] == "waiting"
    assert "ask" not in state
    (note,) = [note for note in state["notes"] if note["kind"] == "calls"]
    assert note["text"].endswith(f": quandary walk --resume {run}")
    assert outing.called == ["ANN"]
    state = outing.resume(run)
    assert (state["status"], state["ask"]["key"]) == ("waiting", "S3@2/run")
    outing.reply(run, "print it")
    state = outing.resume(run)
    assert state["result"]["outcome"] == "completed"
    assert state["result"]["path"] == ["1", "2", "3", "2", "3", "4", "5"]
    assert outing.called == ["ANN"] * 3
    assert all(step["attempts"] == 1 for step in state["result"]["steps"])


def test_going_on_with_a_run_that_is_over_changes_nothing(outing: WalkProject) -> None:
    """Nor with one that still waits for its answer."""
    run = outing.walk()["run"]
    assert outing.resume(run)["ask"]["key"] == "S3@1/run"
    outing.reply(run, "print it")
    done = outing.resume(run)
    assert outing.resume(run)["result"] == done["result"]
    assert outing.called == ["ANN"] * 2


def test_a_reply_that_names_no_route_is_no_answer(outing: WalkProject) -> None:
    """Own words are kept and the question comes again."""
    run = outing.walk()["run"]
    state = outing.reply(run, "ask me tomorrow")
    assert state["ask"]["key"] == "S3@1/run~2"
    assert "ask me tomorrow" in state["ask"]["preamble"]
    stale = outing.call("reply", run, "print it", "--to", "S3@1/run")
    assert (stale.status, "already answered" in stale.err) == (1, True)


def test_a_script_answers_what_people_are_asked(outing: WalkProject) -> None:
    """`--answers` plays the whole list to every item, and the runs go on at once."""
    answers = ["not yet", {"answers": [{"picked": ["PRINT-IT"]}]}]
    (outing.folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    items = ("--item", "1", "--item", "2", "--jobs", "2")
    runs = outing.walk("--answers", "answers.json", *items)["runs"]
    assert [run["result"]["path"] for run in runs] == [["1", "2", "3", "2", "3", "4", "5"]] * 2
    assert outing.called == ["ANN"] * 6
    (outing.folder / "answers.json").write_text('["not yet"]', encoding="utf-8")
    short = outing.walk("--answers", "answers.json")
    assert (short["status"], short["ask"]["key"]) == ("waiting", "S3@2/run")


def test_a_person_at_the_terminal_is_asked_right_there(outing: WalkProject) -> None:
    """Between the agents; whoever leaves has not answered, and the exit status says so."""
    dumb = {"TERM": "dumb"}
    shown = at_terminal("walk", "c.csv", typed="1\n", env=dumb)
    assert shown.status == 0
    assert "May it go out?" in shown.out
    assert "Rounds: completed" in shown.out
    assert outing.called == ["ANN", "ANN"]
    left = at_terminal("walk", "c.csv", typed="\x04", env=dumb)
    assert left.status == 1
    assert "The question waits. Answer it with: quandary next " in left.out


def test_what_is_typed_while_agents_work_answers_nothing(outing: WalkProject) -> None:
    """Nobody had seen the question by then."""
    shown = at_terminal("walk", "c.csv", ahead="2\n", typed="1\n", env={"TERM": "dumb"})
    assert shown.status == 0
    assert "Rounds: completed" in shown.out
    assert outing.called == ["ANN", "ANN"]


def test_next_at_the_terminal_tells_how_agents_go_on(outing: WalkProject) -> None:
    """Answering there makes no calls, and says who does."""
    run = outing.walk()["run"]
    shown = at_terminal("next", run, typed="1\n", env={"TERM": "dumb"})
    assert shown.status == 0
    assert f"Agents are next; resume it with: quandary walk --resume {run}" in shown.out
    assert outing.called == ["ANN"]


def test_a_tie_needs_somebody_at_hand(outing: WalkProject) -> None:
    """Nobody is behind a mere pipe; whoever says how to ask them has somebody to ask."""
    outing.draw(
        lucid(
            {"1": {"text": "Go on?", "votes": "ANN, BEN"}, "2": "End", "3": "End"}, "1>2:yes 1>3:no"
        )
    )
    outing.says("ANN", {"answer": "yes"})
    outing.says("BEN", {"answer": "no"})
    state = outing.walk(status=1)
    assert "the votes are tied (yes: 1, no: 1), and nobody is there" in state["error"]
    state = outing.walk("--via", "relay")
    assert state["ask"]["key"] == "S1@1/tie"
    done = outing.reply(state["run"], "no")
    assert done["result"]["steps"][0]["route"] == "no"
    (outing.folder / "answers.json").write_text('["yes"]', encoding="utf-8")
    assert outing.walk("--answers", "answers.json")["result"]["path"] == ["1", "2"]


def test_a_person_can_judge(outing: WalkProject) -> None:
    """What was handed in is shown; their words go to the next attempt."""
    outing.draw(lucid({"1": {"text": "Write it", "validate_cli": "HUMAN"}}, ""))
    state = outing.walk()
    assert "ANN did it." in state["ask"]["preamble"]
    reply = {"answers": [{"picked": ["AGN"], "comment": "No title."}]}
    outing.reply(state["run"], json.dumps(reply))
    state = outing.resume(state["run"])
    assert "No title." in outing.calls[-1][1]
    done = outing.reply(state["run"], "accept")
    assert done["result"]["steps"][0]["attempts"] == 2


# -- what holds for a run that goes on -------------------------------------------------------------


def test_a_run_goes_on_as_it_was_begun(outing: WalkProject) -> None:
    """The chart and the defaults are those of its beginning; agents are those of today."""
    (outing.folder / "there").mkdir()
    run = outing.walk("--workdir", "there")["run"]
    outing.draw("flowchart TD\n  a[Nothing]\n", "c.csv")
    outing.settings(cli="BEN")
    outing.reply(run, "print it")
    outing.resume(run)
    assert outing.called == ["ANN", "ANN"]
    lines = (outing.folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["folder"] for line in lines} == {str(outing.folder / "there")}


def test_a_run_whose_agents_are_gone_is_refused(outing: WalkProject) -> None:
    """Its attempts are not used up on programs that are not there."""
    run = outing.walk()["run"]
    outing.reply(run, "print it")
    (outing.folder / "quandary.toml").write_text("", encoding="utf-8")
    ended = outing.call("walk", "--resume", run)
    assert ended.status == 1
    assert f"run {run} cannot go on: “Write the page”: there is no agent ANN" in ended.err
    outing.settings()
    assert outing.resume(run)["result"]["outcome"] == "completed"


def test_several_runs_go_on_together(outing: WalkProject) -> None:
    """With as many jobs as wanted; RUN may be shortened."""
    runs = [outing.walk()["run"] for _ in range(3)]
    for run in runs:
        outing.reply(run, "print it")
    words = [word for run in runs for word in ("--resume", run[:-1])]
    ended = outing.call("walk", *words, "--jobs", "3")
    states = json.loads(ended.out)["runs"]
    assert [(state["run"], state["status"]) for state in states] == [(run, "done") for run in runs]


def test_a_new_run_takes_over_what_was_paid_for(outing: WalkProject) -> None:
    """`--from` uses answers and outputs wherever the same is asked again; the rest is new."""
    outing.says("ANN", {"completed": True, "comments": "A draft."})
    run = outing.walk()["run"]
    outing.reply(run, "print it")
    outing.resume(run)
    assert len(outing.calls) == 2
    outing.draw(ship(last="Print it\nBut twice"))
    state = outing.walk("--from", run)
    assert state["result"]["path"] == ["1", "2", "3", "4", "5"]
    ((_, prompt),) = outing.calls[2:]
    assert prompt.startswith("Print it\nBut twice\n")
    assert state["result"]["steps"][0]["output"] == "A draft."
    outing.draw(ship(first="Write two pages"))
    state = outing.walk("--from", run)
    assert state["ask"]["key"] == "S3@1/run"
    assert len(outing.calls) == 4


def test_what_failed_is_not_taken_over(outing: WalkProject) -> None:
    """An error is no use to anybody."""
    outing.says("ANN", "no", DONE)
    failed = outing.walk("--retries", "0", status=1)["run"]
    assert outing.walk("--from", failed)["ask"]["key"] == "S3@1/run"
    assert outing.called == ["ANN", "ANN"]


def test_what_is_no_walk_is_refused(outing: WalkProject) -> None:
    """Another flow, no such run, no such store."""
    outing.draw("### ¶ASK_T\n\n## Decision: D\n- [A] x\n- [B] y\n", "t.md")
    asked = json.loads(outing.call("ask", "t.md", "--context", "It matters.").out)["run"]
    ended = outing.call("walk", "--resume", asked)
    assert (ended.status, "is not a walk" in ended.err) == (2, True)
    assert outing.call("walk", "--resume", "01ZZZZ").status == 2
    assert outing.call("walk", "--resume", "01", "--store", "none.db").status == 2
    assert not (outing.folder / "none.db").exists()


def test_a_withdrawn_run_is_told_with_status_1(outing: WalkProject) -> None:
    """It does not go on."""
    run = outing.walk()["run"]
    outing.call("withdraw", run, "--why", "dropped")
    ended = outing.call("walk", "--resume", run)
    assert ended.status == 1
    assert json.loads(ended.out)["status"] == "withdrawn"


# -- Ctrl-C, and worse -----------------------------------------------------------------------------


def started(*words: str) -> subprocess.Popen[str]:
    """The program, running."""
    return subprocess.Popen(
        [*PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def lives(number: int) -> bool:
    """Whether a process is there, and not only waits to be counted."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


PATIENT = """\
import os, sys, time
sys.stdin.read()
open("pids", "a").write(f"{os.getpid()}\\n")
time.sleep(0 if os.path.exists("quick") else 60)
print('{"completed": true}')
"""


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_cleanly(outing: WalkProject, signum: signal.Signals) -> None:
    """Status 130, no program left, and the runs go on later without having lost an attempt."""
    (outing.folder / "patient.py").write_text(PATIENT, encoding="utf-8")
    argv = json.dumps([PROGRAM[0], "-IS", "patient.py"])
    outing.settings(f"[agents.PAT]\nargv = {argv}\n")
    outing.draw(lucid({"1": {"text": "Write it", "tags": "PAT, NoValidation"}}, ""))
    items = [word for n in range(1, 6) for word in ("--item", str(n))]
    pids = outing.folder / "pids"
    process = started("walk", "c.csv", *items, "--jobs", "2", "--retries", "0")
    until(lambda: pids.exists() and len(pids.read_text(encoding="utf-8").split()) == 2)
    process.send_signal(signum)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    left = [int(word) for word in pids.read_text(encoding="utf-8").split()]
    assert not any(lives(number) for number in left)
    runs = [line.split()[-1] for line in err.splitlines() if line.startswith("Resume with: ")]
    assert len(runs) == 2
    assert "3 of 5 items were not begun" in err
    assert err.endswith("quandary: interrupted\n")
    (outing.folder / "quick").touch()
    for run in runs:
        state = outing.resume(run)
        assert state["result"]["steps"][0]["attempts"] == 1


def test_two_processes_do_not_walk_the_same_run(outing: WalkProject) -> None:
    """The second is refused while the first is at work."""
    outing.says("ANN", {"says": DONE, "seconds": 1.5})
    process = started("walk", "c.csv")
    until(lambda: len(outing.calls) == 1)
    store = SqliteStore(outing.store)
    run = store.runs()[0].id
    store.close()
    ended = outing.call("walk", "--resume", run)
    assert ended.status == 1
    assert f"quandary: run {run} is being driven by another process\n" in ended.err
    out, _ = process.communicate(timeout=30)
    assert json.loads(out)["status"] == "waiting"
    assert outing.called == ["ANN"]


@pytest.mark.parametrize("way", ["retry", "ask"])
def test_a_killed_run_counts_its_open_call_as_an_attempt(outing: WalkProject, way: str) -> None:
    """Or a person is asked whether to make it again, if the settings say so."""
    outing.settings(f'on_interrupted = "{way}"\n')
    outing.says("ANN", {"says": DONE, "seconds": 60}, DONE)
    process = started("walk", "c.csv")
    until(lambda: len(outing.calls) == 1)
    process.kill()
    process.communicate(timeout=30)
    store = SqliteStore(outing.store)
    run = store.runs()[0].id
    store.close()
    state = outing.resume(run)
    if way == "ask":
        assert state["ask"]["key"] == "S2@1/run-interrupted"
        assert outing.called == ["ANN"]
        outing.reply(run, "call again")
        state = outing.resume(run)
    assert state["ask"]["key"] == "S3@1/run"
    assert outing.called == ["ANN", "ANN"]
    assert "It was interrupted" in outing.calls[1][1]


STEPS = 200
COUNTING = """\
#!/bin/sh
read -r line
echo "$line" >> calls.txt
cat > /dev/null
echo '{"completed": true}'
"""


def test_no_recorded_call_is_made_again_however_often_it_is_killed(outing: WalkProject) -> None:
    """Two hundred steps, killed at any moment and resumed: every step is done, once if it can."""
    agent = outing.folder / "agent.sh"
    agent.write_text(COUNTING, encoding="utf-8")
    agent.chmod(0o755)
    outing.settings(f"[agents.SH]\nargv = {json.dumps([str(agent)])}\n", cli="SH")
    steps: dict[str, Any] = {
        str(n): {"text": f"Step {n}", "tags": "NoValidation"} for n in range(1, STEPS + 1)
    }
    outing.draw(lucid(steps, " ".join(f"{n}>{n + 1}" for n in range(1, STEPS))))
    calls = outing.folder / "calls.txt"
    chance = random.Random(5)  # noqa: S311 - when to kill is no secret
    words = ["walk", "c.csv"]
    store = None
    for number in range(1, 6):
        process = started(*words)
        goal = number * STEPS // 6
        until(lambda: calls.exists() and calls.read_text().count("\n") >= goal)  # noqa: B023 - at once
        time.sleep(chance.uniform(0, 0.03))
        process.kill()
        process.communicate(timeout=30)
        store = store or SqliteStore(outing.store)
        words = ["walk", "--resume", store.runs()[0].id]
    assert store is not None
    state = outing.resume(words[-1])
    assert state["result"]["outcome"] == "completed"
    assert state["result"]["path"] == list(steps)
    made = Counter(calls.read_text(encoding="utf-8").splitlines())
    lost: Counter[str] = Counter()
    recorded: Counter[str] = Counter()
    prompts = {}
    for entry in store.entries(words[-1]):
        body, matter = entry.read(), entry.read_matter()
        if isinstance(body, Called) and matter.sent is not None:
            prompts[body.key] = str(getattr(matter.sent, "prompt", "")).partition("\n")[0]
        elif isinstance(matter.came, Output):
            counted = lost if matter.came.interrupted else recorded
            counted[prompts[matter.came.key]] += 1
    assert recorded == Counter(f"Step {n}" for n in range(1, STEPS + 1))
    assert 1 <= sum(lost.values()) <= 5
    for step in recorded:
        assert 1 <= made[step] <= 1 + lost[step]
    # A program may have been left without all of its prompt when its caller was killed.
    assert sum(made.values()) <= STEPS + sum(lost.values())
    assert verify(store).ok
    store.close()
