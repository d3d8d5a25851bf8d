"""`quandary reply --proposed`: what a relaying agent thinks that words mean."""

from __future__ import annotations

import io
import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from program import DEPLOY
from quandary.desk import returns
from quandary.errors import QuandaryError
from quandary.journal import runs
from quandary.journal.entries import Answered
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import BACK, MORE, Answer, Choice, Question, Reply
from runs import CONTEXT, ITEMS, Project

if TYPE_CHECKING:
    from pathlib import Path

WORDS = "once it is dark outside"


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project that deploys."""
    found = Project(tmp_path, capsys, monkeypatch)
    (tmp_path / "t.md").write_text(DEPLOY, encoding="utf-8")
    return found


def outcome(state: dict[str, Any], item: int = 0) -> dict[str, Any]:
    """What became of an item."""
    found: dict[str, Any] = state["result"]["chosenItems"][item]
    return found


def test_the_relaying_agent_proposes_and_the_person_confirms(project: Project) -> None:
    """The confirmation is a form like any other, and the journal keeps all four."""
    run = project.ask()
    project.reply(run, "now", "--to", "1.2:")
    state = project.reply(run, WORDS, "--to", "1.1:~2", "--proposed", "EVE", "--by", "Claude")
    (form,) = state["ask"]["tool_input"]["questions"]
    assert form["question"].endswith(f"You wrote “{WORDS}”; is that “Deploy this evening”?")
    assert [option["label"] for option in form["options"]] == ["Yes", "No"]
    state = project.reply(run, json.dumps({"answers": {form["question"]: "Yes"}}))
    assert outcome(state)["path"] == "EVE"
    (told,) = outcome(state)["proposals"]
    assert (told["words"], told["proposed"], told["outcome"]) == (WORDS, "EVE", "confirmed")
    log = project.call("log", run).out
    assert f"“{WORDS}”, proposed: Deploy this evening" in log
    assert "Claude (agent, relay)" in log
    assert project.call("verify").status == 0


def test_an_agent_that_confirms_itself_is_recorded_as_an_agent(project: Project) -> None:
    """Nothing an agent printed gains a person's authority."""
    run = project.ask()
    project.reply(run, "now", "--to", "1.2:")
    project.reply(run, WORDS, "--to", "1.1:~2", "--proposed", "EVE")
    state = project.reply(run, "yes")
    assert (outcome(state)["by"], outcome(state)["through"]) == ("agent", "relay")
    assert outcome(state)["proposals"][0]["by"] == "agent (relay)"


def test_a_batch_of_answers_has_a_proposal_each(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On standard input, and the confirmations come as one form."""
    run = project.ask()
    answers = [
        {"key": "1.1:", "text": WORDS, "proposed": "EVE"},
        {"key": "1.2:", "text": "somewhere small", "proposed": ["PART"]},
    ]
    sent = io.TextIOWrapper(io.BytesIO(json.dumps({"answers": answers}).encode()))
    monkeypatch.setattr(sys, "stdin", sent)
    state = project.reply(run, "-")
    assert state["ask"]["keys"] == ["1.1:~2", "1.2:~2"]
    assert len(state["ask"]["tool_input"]["questions"]) == 2
    picked = [{"key": key, "picked": ["YES"]} for key in state["ask"]["keys"]]
    state = project.reply(run, json.dumps({"answers": picked}))
    assert [outcome(state, at)["path"] for at in (0, 1)] == ["EVE", "OTH/PART"]


@pytest.mark.parametrize(
    ("reply", "proposed", "status", "said"),
    [
        ("1.1: hm", "NOSUCH", 2, "has no option NOSUCH; there are NOW, EVE"),
        ("1.1: hm", "OTH", 2, "propose one option for 1.1:, by its code"),
        ("1.1: hm", "NOW,EVE", 2, "propose one option for 1.1:, by its code"),
        ("1.1: hm\n1.2: hm", "EVE", 2, 'put "proposed": "CODE" beside the text of each answer'),
        ('{"answers": [{"text": "hm", "proposed": 7}]}', None, 2, "is the code of an option"),
    ],
)
def test_a_proposal_that_is_none_is_refused(
    project: Project, reply: str, proposed: str | None, status: int, said: str
) -> None:
    """One line says what to do, and nothing is recorded."""
    run = project.ask()
    further = ("--proposed", proposed) if proposed else ()
    ended = project.call("reply", run, reply, *further)
    assert (ended.status, said in ended.err, ended.err.count("\n")) == (status, True, 1), ended
    assert project.state("next", run)["ask"]["keys"] == ["1.1:", "1.2:"]


def test_a_proposal_is_for_the_only_answer_in_words(project: Project) -> None:
    """What the tool returned is piped as it is; a label that was chosen needs no proposal."""
    run = project.ask()
    state = project.state("next", run)
    one, other = (form["question"] for form in state["ask"]["tool_input"]["questions"])
    response = json.dumps({"answers": {one: WORDS, other: "Deploy now"}})
    state = project.reply(run, response, "--proposed", "Deploy this evening")
    assert state["ask"]["keys"] == ["1.1:~2"]
    state = project.reply(run, "yes")
    assert [outcome(state, at)["path"] for at in (0, 1)] == ["EVE", "NOW"]


@pytest.mark.parametrize("code", ["<", "<OK", MORE, "OTH"])
def test_what_leads_elsewhere_is_not_proposed(code: str) -> None:
    """Nobody could be asked to confirm it by name, nor told what it leads to."""
    shown = (Choice("REM", "Take it out"), Choice(MORE, "More…"))
    above = (Choice(BACK, "Back"), Choice("<OK", "Keep it"))
    asked = Question("1:OTH", "1. It", "Which one?", shown, above=above)
    said = Answer("1:OTH", text="hm")
    assert returns.add_proposal(said, asked, "REM").proposed == ("REM",)
    with pytest.raises(QuandaryError, match="propose one option for 1:OTH"):
        returns.add_proposal(said, asked, code)


def test_a_closed_form_confirms_nothing(project: Project) -> None:
    """Nor do silence, an error and an empty answer; the question waits."""
    run = project.ask()
    key = project.reply(run, f"1.1: {WORDS}", "--proposed", "EVE")["ask"]["key"]
    for nothing in (
        '{"answers": {}, "afkTimeoutMs": 60000}',
        "null",
        '{"is_error": true}',
        "Other",
    ):
        ended = project.call("reply", run, nothing)
        state = json.loads(ended.out)
        assert state["status"] == "waiting"
        assert "is that “Deploy this evening”?" in str(state["ask"]["tool_input"])
    assert key == "1.1:~2"


def test_where_a_person_is_required_a_proposal_is_refused_too(project: Project) -> None:
    """An agent relays nothing there, with a proposal or without."""
    run = project.ask("--require", "person")
    ended = project.call("reply", run, f"1.1: {WORDS}", "--proposed", "EVE")
    assert (ended.status, ended.out) == (1, "")
    assert "only a person can answer this" in ended.err


def test_an_advisory_question_is_confirmed_as_text(project: Project) -> None:
    """Text has no form, so that the confirmation has none either."""
    run = project.ask("--kind", "advisory")
    ask = project.reply(run, WORDS, "--proposed", "EVE")["ask"]
    assert "tool_input" not in ask
    assert "1. **Yes**" in ask["text"]
    assert ask["text"].endswith(f"You wrote “{WORDS}”; is that “Deploy this evening”?")


CHART = """\
flowchart TD
  a([Start]) --> b{"Ship it?"}
  b -- ship --> c([End])
  b -- hold --> c
  %% quandary: {"step": "b", "tags": ["HUMAN"]}
"""


def test_a_report_tells_the_proposal_and_the_route_that_was_confirmed(project: Project) -> None:
    """A yes is the route; statistics count it as an answer to the question itself."""
    (project.folder / "c.mmd").write_text(CHART, encoding="utf-8")
    run = json.loads(project.call("walk", "c.mmd", "--via", "relay").out)["run"]
    project.reply(run, "out of the door with it", "--proposed", "ship")
    state = project.reply(run, "yes")
    assert state["result"]["proposals"][0]["proposed"] == "SHIP"
    report = project.call("report", run).out
    assert "out of the door with it (proposed: ship)" in report
    assert "chose “ship”" in report
    (tally,) = project.state("stats", "--format", "json")["questions"]
    assert (tally["id"], tally["asked"], tally["answers"]) == ("c-ship-it", 1, {"ship": 1})


def test_a_gate_moves_when_the_person_confirms_and_tells_of_it(project: Project) -> None:
    """Free text moves nothing, and neither does a proposal."""
    phases = [{"label": "1", "name": "Plan"}, {"label": "2", "name": "Build"}]
    (project.folder / "p.json").write_text(json.dumps(phases), encoding="utf-8")
    project.call("phase", "start", "work", "--phases", "p.json")
    project.call("phase", "go", "work", "1: Plan")
    run = json.loads(project.call("gate", "work", "--via", "relay").out)["run"]
    state = project.reply(run, "let us carry on with the work", "--proposed", "PRC")
    assert state["status"] == "waiting"
    result = project.reply(run, "yes")["result"]
    assert (result["userChoice"], result["proposals"][0]["outcome"]) == ("proceed", "confirmed")


def test_what_was_confirmed_can_be_amended(project: Project) -> None:
    """The words and the proposal stay in the journal, and a no takes the place of the yes."""
    run = project.ask()
    project.reply(run, "now", "--to", "1.2:")
    project.reply(run, WORDS, "--to", "1.1:~2", "--proposed", "EVE")
    project.reply(run, "yes")
    with closing(SqliteStore(project.store)) as store:
        key = next(
            body.key
            for e in store.entries(run)
            if isinstance(body := e.read(), Answered) and body.answers[0].picked == ("YES",)
        )
        changed = Reply((Answer(key, picked=("NO",)),))
        state = runs.amend(store, run, changed, key=key, why="no", who="person", through="web")
    assert state.result["chosenItems"][0]["path"] == f"OTH/custom:{WORDS}"
    assert project.call("verify").status == 0


def test_what_was_confirmed_is_taken_over(project: Project) -> None:
    """By a run that asks the same again, with the words and the proposal."""
    run = project.ask()
    project.reply(run, "now", "--to", "1.2:")
    project.reply(run, WORDS, "--to", "1.1:~2", "--proposed", "EVE")
    project.reply(run, "yes")
    words = ("ask", "t.md", "--context", CONTEXT, *ITEMS, "--from", run)
    state = project.state(*words)
    assert [outcome(state, at)["path"] for at in (0, 1)] == ["EVE", "NOW"]
