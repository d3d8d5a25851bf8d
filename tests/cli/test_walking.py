"""`quandary walk` with real programs: import, run, validate, retry; people, budgets, many items."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from typing import TYPE_CHECKING

import pytest

from program import DEPLOY, at_terminal
from walk_projects import DONE, GOOD, WalkProject, bad, lucid, stopping

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def outing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> WalkProject:
    """A project with three agents."""
    return WalkProject(tmp_path, capsys, monkeypatch)


# -- one: what a chart becomes ---------------------------------------------------------------------


def test_every_setting_of_a_step_is_in_the_plan(outing: WalkProject) -> None:
    """The processed step: its prompts, its three agents, retries and time-out."""
    outing.draw(
        lucid(
            {
                "1": "Start",
                "2": {
                    "text": "Write the page",
                    "cli": "BEN",
                    "validate_cli": "EVA",
                    "retry_cli": "ANN",
                    "validate_prompt": "Is it short?",
                    "retries": "5",
                    "timeout": "12.5",
                },
                "3": {"text": "Print it", "tags": "NoValidation, eva"},
            },
            "1>2 2>3",
        )
    )
    plan = outing.walk("--dry-run")
    _, write, print_it = plan["steps"]
    assert write["prompt"] == "Write the page"
    assert write["validate_prompt"] == "Is it short?"
    assert [write[n] for n in ("cli", "validate_cli", "retry_cli")] == ["BEN", "EVA", "ANN"]
    assert (write["retries"], write["timeout"]) == (5, 12.5)
    assert (print_it["cli"], print_it["validate_prompt"]) == ("EVA", "")
    assert plan["commands"]["EVA"] == outing.argv("EVA")
    assert plan["most_calls"] == 6 + 2 * 6 + 4
    assert outing.calls == []
    assert not outing.store.exists()


def test_lucid_json_and_mermaid_are_walked_like_csv(outing: WalkProject) -> None:
    """The same chart from three kinds of file makes the same calls."""
    shapes = [
        {"id": "a", "class": "ProcessBlock", "textAreas": [{"label": "Text", "text": "Write it"}]},
        {"id": "b", "class": "ProcessBlock", "textAreas": [{"label": "Text", "text": "Print it"}]},
    ]
    lines = [
        {
            "id": "l",
            "endpoint1": {"style": "None", "connectedTo": "a"},
            "endpoint2": {"style": "Arrow", "connectedTo": "b"},
            "textAreas": [],
        }
    ]
    page = {"id": "p", "title": "P", "items": {"shapes": shapes, "lines": lines}}
    outing.draw(json.dumps({"id": "d", "title": "Rounds", "pages": [page]}), "c.json")
    outing.draw("flowchart TD\n  a[Write it] --> b[Print it]\n", "c.mmd")
    outing.draw(lucid({"a": "Write it", "b": "Print it"}, "a>b"))
    made = []
    for chart in ("c.csv", "c.json", "c.mmd"):
        before = len(outing.calls)
        state = outing.walk(chart=chart)
        assert state["result"]["path"] == ["a", "b"]
        made.append(outing.calls[before:])
    assert made[0] == made[1] == made[2]
    assert len(made[0]) == 4


# -- two: a step is run ----------------------------------------------------------------------------


def test_a_step_is_run_by_its_agent_with_its_prompt_and_how_to_respond(outing: WalkProject) -> None:
    """The agent of the step, else the default; the step's words first, then the response type."""
    outing.draw(
        lucid(
            {
                "1": {"text": "Write the page", "tags": "BEN, NoValidation"},
                "2": {"text": "Print it", "tags": "NoValidation"},
                "3": {"text": "Which paper?", "cli": "EVA"},
                "4": "End",
                "5": "End",
            },
            "1>2 2>3 3>4:thick 3>5:thin",
        )
    )
    result = outing.walk()["result"]
    (first, wrote), (second, printed), (third, chose) = outing.calls
    assert (first, second, third) == ("BEN", "ANN", "EVA")
    assert wrote.startswith("Write the page\n\n")
    for key in ("completed", "secs_taken", "tokens_used", "comments"):
        assert f"`{key}`" in wrote
        assert f"`{key}`" in printed
    for key in ("choices", "answer", "reasons"):
        assert f"`{key}`" in chose
        assert f"`{key}`" not in wrote
    assert '- "thick"\n- "thin"' in chose
    assert [step["route"] for step in result["steps"]] == [None, None, "thick"]
    assert [step["cli"] for step in result["steps"]] == ["BEN", "ANN", "EVA"]
    assert result["path"] == ["1", "2", "3", "4"]


def test_agents_work_in_the_folder_that_is_named(outing: WalkProject) -> None:
    """`--workdir` is where programs run, and a run that goes on works there too."""
    (outing.folder / "there").mkdir()
    outing.walk("--workdir", "there")
    lines = (outing.folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["folder"] for line in lines} == {str(outing.folder / "there")}
    ended = outing.call("walk", "c.csv", "--workdir", "nowhere")
    assert (ended.status, ended.err) == (2, "quandary: nowhere: no such folder to work in\n")


def test_only_an_answer_is_an_answer(outing: WalkProject) -> None:
    """Prose, another type, nothing, a failure, and work that is not complete are tried again."""
    outing.draw(lucid({"1": {"text": "Write the page", "tags": "NoValidation"}}, ""))
    outing.says(
        "ANN",
        "It is done!",
        {"answer": "yes"},
        "",
        {"says": DONE, "status": 3, "stderr": "no such model"},
        {"completed": False, "comments": "The ink is missing."},
        {"completed": "yes"},
        DONE,
    )
    step = outing.walk("--retries", "6")["result"]["steps"][0]
    assert (step["attempts"], step["output"]) == (7, "done")
    last = outing.calls[-1][1]
    for feedback in (
        "There was no JSON object",
        "ANN printed nothing",
        "ANN ended with status 3: no such model",
        "It was not completed: The ink is missing.",
        "`completed` must be true or false",
    ):
        assert feedback in last


def test_a_time_out_is_a_failed_attempt(outing: WalkProject) -> None:
    """The step's own time-out ends the program, and the next attempt knows."""
    step = {"text": "Write the page", "tags": "NoValidation", "timeout": "0.3"}
    outing.draw(lucid({"1": step}, ""))
    outing.says("ANN", {"says": DONE, "seconds": 60}, DONE)
    result = outing.walk()["result"]
    assert result["steps"][0]["attempts"] == 2
    assert 0.3 <= result["seconds"] < 20
    assert "ANN had not ended after" in outing.calls[1][1]


# -- three: it is validated ------------------------------------------------------------------------


def test_a_process_is_validated_and_a_decision_is_not(outing: WalkProject) -> None:
    """The validator gets the default words, the task, the output, and its response type."""
    outing.settings('default_validate_cli = "EVA"\n')
    steps = {"1": "Write the page", "2": "Go on?", "3": "End", "4": "Stop here"}
    outing.draw(lucid(steps, "1>2 2>3:yes 2>4:no"))
    outing.says("ANN", 'I wrote it.\n{"completed": true}', {"answer": "yes"})
    result = outing.walk()["result"]
    assert outing.called == ["ANN", "EVA", "ANN"]
    prompt = outing.calls[1][1]
    assert prompt.startswith("An agent was given a task")
    assert "Write the page" in prompt
    assert 'I wrote it.\n{"completed": true}' in prompt
    for key in ("fully_completed", "partially_completed", "should_retry", "warnings"):
        assert f"`{key}`" in prompt
    assert [step["validation"] for step in result["steps"]] == ["passed", None]


def test_the_chart_has_its_own_words_for_the_validator(outing: WalkProject) -> None:
    """`validate_prompt` and `validate_cli` of the step stand in the place of the defaults."""
    outing.settings('default_validate_cli = "EVA"\n')
    step = {"text": "Write the page", "validate_prompt": "Is it short?", "Validate CLI": "ben"}
    outing.draw(lucid({"1": step}, ""))
    outing.walk()
    (_, _), (validator, prompt) = outing.calls
    assert validator == "BEN"
    assert prompt.startswith("Is it short?\n\n")


@pytest.mark.parametrize(
    "step",
    [
        {"text": "Write the page", "tags": "no validation"},
        {"text": "Write the page", "tags": "urgent | NO_VALIDATION"},
        {"text": "Write the page", "no_validation": "true"},
    ],
    ids=["tag", "tags", "field"],
)
def test_no_validation_switches_the_validator_off(
    outing: WalkProject, step: dict[str, str]
) -> None:
    """With the tag, however it is spelt, or the field, one call is all."""
    outing.draw(lucid({"1": step}, ""))
    result = outing.walk()["result"]
    assert outing.called == ["ANN"]
    assert result["steps"][0]["validation"] is None


def test_only_fully_completed_passes(outing: WalkProject) -> None:
    """Done in part is not done."""
    outing.says("ANN", DONE)
    outing.says("BEN", {"fully_completed": False, "partially_completed": True})
    state = outing.walk("--validate-cli", "BEN", "--retries", "0", status=1)
    assert state["status"] == "failed"
    assert state["result"]["steps"][0]["validation"] == "failed"
    assert "in part" in state["error"]


# -- four: it is tried again -----------------------------------------------------------------------


def test_run_validate_retry_validate_call_by_call(outing: WalkProject) -> None:
    """Who is called with what: every earlier critique, the task first, each time judged anew."""
    outing.says("ANN", {"completed": True, "comments": "A first draft."})
    outing.says(
        "BEN",
        {"completed": True, "comments": "A second draft."},
        {"completed": True, "comments": "A third draft."},
    )
    outing.says("EVA", bad("No title.", "No date."), bad("No author."), GOOD)
    state = outing.walk("--validate-cli", "EVA", "--retry-cli", "BEN")
    assert outing.called == ["ANN", "EVA", "BEN", "EVA", "BEN", "EVA"]
    run, check, again, check_again, third, last = (prompt for _, prompt in outing.calls)
    for prompt in (run, again, third):
        assert prompt.startswith("Write the page\n\n")
        assert "`secs_taken`" in prompt
    for prompt, draft in ((check, "first"), (check_again, "second"), (last, "third")):
        assert "Write the page" in prompt
        assert f"A {draft} draft." in prompt
        assert prompt.count(" draft.") == 1
        assert "No title." not in prompt
    assert "Previous validation feedback" not in run
    assert again.count("Previous validation feedback") == 1
    assert "No title." in again
    assert "No date." in again
    assert "(fully_completed: false)" in again
    assert third.count("Previous validation feedback") == 2
    assert third.index("No title.") < third.index("No author.")
    step = state["result"]["steps"][0]
    assert (step["attempts"], step["validation"], step["cli"]) == (3, "passed", "BEN")
    assert step["output"] == "A third draft."
    assert state["result"]["calls"] == 6


def test_three_retries_unless_somebody_says_otherwise(outing: WalkProject) -> None:
    """Unset means three; used up, the run fails and says so."""
    outing.says("EVA", bad("Still no title."))
    ended = outing.call("walk", "c.csv", "--validate-cli", "EVA")
    assert ended.status == 1
    state = json.loads(ended.out)
    assert outing.called.count("ANN") == 4
    assert outing.called.count("EVA") == 4
    assert state["result"]["outcome"] == "failed"
    assert state["error"].startswith("“Write the page”: not done after 4 attempts: ")
    assert "Still no title." in state["error"]
    assert f"quandary: run {state['run']} is failed: “Write the page”" in ended.err


def test_no_retries_means_none(outing: WalkProject) -> None:
    """An explicit nought switches them off, in a step as on the command line."""
    outing.says("EVA", bad("No title."))
    outing.walk("--validate-cli", "EVA", "--retries", "0", status=1)
    assert outing.called == ["ANN", "EVA"]
    outing.draw(lucid({"1": {"text": "Write the page", "retries": "0"}}, ""))
    outing.walk("--validate-cli", "EVA", status=1)
    assert outing.called == ["ANN", "EVA"] * 2


def test_a_validator_can_say_that_more_would_be_in_vain(outing: WalkProject) -> None:
    """`should_retry: false` ends the attempts."""
    outing.says("EVA", bad("There is no paper.", retry=False))
    state = outing.walk("--validate-cli", "EVA", status=1)
    assert outing.called == ["ANN", "EVA"]
    assert "There is no paper." in state["error"]


def test_the_walk_goes_on_where_that_is_wanted(outing: WalkProject) -> None:
    """`on_exhausted = "continue"` ends the step, not the run, and the result says so."""
    outing.settings('on_exhausted = "continue"\n')
    outing.draw(lucid({"1": "Write the page", "2": "Print it"}, "1>2"))
    outing.says("EVA", bad("No title.", retry=False), GOOD)
    state = outing.walk("--validate-cli", "EVA")
    assert (state["status"], state["result"]["outcome"]) == ("done", "completed")
    first, second = state["result"]["steps"]
    assert "No title." in first["error"]
    assert "error" not in second
    assert [note["kind"] for note in state["notes"]] == ["exhausted"]
    assert "No title." in state["notes"][0]["text"]


def test_a_validator_that_cannot_be_read_is_asked_once_more(outing: WalkProject) -> None:
    """Then it counts; a second time, the step fails."""
    outing.says("EVA", "Looks fine to me!", GOOD, "Fine.", "Really fine.")
    assert outing.walk("--validate-cli", "EVA")["status"] == "done"
    assert outing.called == ["ANN", "EVA", "EVA"]
    assert "could not be used" in outing.calls[2][1]
    assert outing.calls[2][1].startswith(outing.calls[1][1])
    state = outing.walk("--validate-cli", "EVA", status=1)
    assert outing.called[3:] == ["ANN", "EVA", "EVA"]
    assert "the validator could not be understood" in state["error"]


def test_a_route_that_is_not_drawn_is_asked_for_again(outing: WalkProject) -> None:
    """The routes are named in the feedback; in the end the run fails."""
    outing.draw(lucid({"1": "Go on?", "2": "End", "3": "End"}, "1>2:yes 1>3:no"))
    outing.says("ANN", {"answer": "maybe"}, {"answer": " NO! "})
    result = outing.walk()["result"]
    assert (result["steps"][0]["route"], result["path"]) == ("no", ["1", "3"])
    assert "must be one of “yes”, “no”, but is the text “maybe”" in outing.calls[1][1]
    outing.says("ANN", {"answer": "maybe"})
    state = outing.walk("--retries", "1", status=1)
    assert state["error"].startswith("“Go on?”: no route was chosen after 2 attempts")
    assert state["result"]["steps"][0]["route"] is None


# -- whose word counts -----------------------------------------------------------------------------


def test_the_nearest_word_counts(outing: WalkProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata, tag, command line, environment, project, user, built-in, in this order."""
    (outing.folder / "config" / "quandary").mkdir(parents=True)
    user = outing.folder / "config" / "quandary" / "config.toml"

    def planned(*words: str) -> tuple[str, int]:
        step = next(s for s in outing.walk("--dry-run", *words)["steps"] if s["kind"] == "process")
        return step["cli"], step["retries"]

    outing.settings(cli="")
    ended = outing.call("walk", "c.csv", "--dry-run")
    assert ended.status == 1
    assert (
        "“Write the page” has no agent; tag the shape, give --cli, or set default_cli" in ended.err
    )
    assert next(s for s in json.loads(ended.out)["steps"] if s["cli"] == "")["retries"] == 3
    user.write_text('default_cli = "ANN"\ndefault_retry_count = 4\n', encoding="utf-8")
    assert planned() == ("ANN", 4)
    outing.settings('DEFAULT_CLI = "BEN"\nDEFAULT_RETRY_COUNT = 5\n', cli="")
    assert planned() == ("BEN", 5)
    monkeypatch.setenv("QUANDARY_DEFAULT_CLI", "EVA")
    monkeypatch.setenv("QUANDARY_DEFAULT_RETRY_COUNT", "6")
    assert planned() == ("EVA", 6)
    assert planned("--cli", "ANN", "--retries", "7") == ("ANN", 7)
    outing.draw(lucid({"1": {"text": "Write", "tags": "BEN"}}, ""))
    assert planned("--cli", "ANN", "--retries", "7") == ("BEN", 7)
    outing.draw(lucid({"1": {"text": "Write", "tags": "BEN", "CLI": "EVA", "retries": "8"}}, ""))
    assert planned("--cli", "ANN", "--retries", "7") == ("EVA", 8)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("default_retry_count = -1", "default_retry_count is a whole number from 0 up, not -1"),
        ("default_timeout = -1", "default_timeout is a whole number from 0 up, not -1"),
        ("max_visits = 0", "max_visits is a whole number from 1 up, not 0"),
        ("max_calls = -5", "max_calls is a whole number from 0 up, not -5"),
        ('on_exhausted = "stop"', "on_exhausted is fail or continue, not 'stop'"),
        ('on_interrupted = "fail"', "on_interrupted is retry or ask, not 'fail'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    outing: WalkProject, setting: str, message: str
) -> None:
    """One line names the setting; nothing is run."""
    outing.settings(f"{setting}\n")
    ended = outing.call("walk", "c.csv")
    assert (ended.status, ended.err, outing.calls) == (2, f"quandary: {message}\n", [])


@pytest.mark.parametrize("option", ["--timeout", "--max-seconds"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_no_limit_is_lost_in_what_is_no_number(
    outing: WalkProject, option: str, value: str
) -> None:
    """Nothing is ever more than that."""
    ended = outing.call("walk", "c.csv", option, value)
    assert (ended.status, "is no number of seconds" in ended.err) == (2, True)
    assert outing.calls == []


# -- before anything is spent ----------------------------------------------------------------------


def test_an_unsound_plan_says_all_that_is_wrong_and_runs_nothing(outing: WalkProject) -> None:
    """Unknown codenames, missing programs, values of the wrong kind, and faults of the drawing."""
    outing.settings('[agents.GONE]\nargv = ["no-such-program"]\n')
    outing.draw(
        lucid(
            {
                "1": {"text": "Write", "cli": "CLAUD", "retries": "lots"},
                "2": {"text": "Print", "cli": "GONE"},
                "3": "Lost",
                "4": "Loster",
            },
            "1>2 3>4 4>3",
        )
    )
    for words in (("--dry-run",), ()):
        ended = outing.call("walk", "c.csv", *words)
        assert ended.status == 1
        for message in (
            "“Write”: there is no agent CLAUD",
            "GONE: the program no-such-program was not found",
            "“Write” (1): retries is a whole number from 0 to 1000, not 'lots'",
        ):
            assert message in ended.err
    plan = json.loads(outing.call("walk", "c.csv", "--dry-run").out)
    assert plan["unreachable"] == ["“Lost” (3)", "“Loster” (4)"]
    assert any("never run" in warning for warning in plan["warnings"])
    assert len(plan["errors"]) == 3
    assert outing.calls == []
    assert not outing.store.exists()


def test_a_plan_is_text_on_a_terminal(outing: WalkProject) -> None:
    """What is done at each step, by whom, how often, and with which command."""
    outing.draw(
        lucid(
            {"1": "Start", "2": "Write the page", "3": "Good?", "4": "End"},
            "1>2 2>3 3>4:yes 3>2:no",
        )
    )
    shown = at_terminal("walk", "c.csv", "--dry-run", "--retries", "1", "--validate-cli", "EVA")
    assert shown.status == 0
    for line in (
        "Rounds\n",
        "process     Write the page (2)\n",
        "            by ANN, 1 retry, 600 s, checked by EVA\n",
        "            yes -> End\n",
        "            no -> Write the page\n",
        f"  EVA (may change what its command lets it): {shlex.join(outing.argv('EVA'))}\n",
        f"At most {25 * (6 + 2)} calls for each item.\n",
    ):
        assert line in shown.out
    assert outing.calls == []


def test_a_budget_bounds_the_plan(outing: WalkProject) -> None:
    """No more calls than allowed can be made."""
    assert outing.walk("--dry-run", "--max-calls", "5")["most_calls"] == 5


def test_a_slot_that_no_item_fills_is_told(outing: WalkProject) -> None:
    """It would reach the agent as it is, which may be meant."""
    outing.draw(
        lucid({"1": {"text": "Write to {{ Who }} at {{title}}", "tags": "NoValidation"}}, "")
    )
    warning = "“Write to {{ Who }} at {{title}}” uses {{Who}}, a field that no item has"
    rome = ("--item", "1|x|Rome")
    assert warning in outing.walk("--dry-run", *rome)["warnings"][0]
    assert outing.walk("--dry-run", "--set", "who=her", *rome)["warnings"] == []
    outing.walk("--set", "who=her", *rome)
    assert outing.calls[0][1].startswith("Write to her at Rome\n")


def test_a_slot_that_a_person_would_see_unfilled_is_refused(outing: WalkProject) -> None:
    """An agent may be meant to see double braces; a person is not."""
    outing.draw(lucid({"1": {"text": "Call {{who}}", "tags": "HUMAN"}}, ""))
    ended = outing.call("walk", "c.csv", "--via", "relay")
    assert ended.status == 1
    assert "“Call {{who}}” uses {{who}}, a field that no item has; it would stay" in ended.err
    state = outing.walk("--via", "relay", "--set", "who=Ann")
    assert state["ask"]["tool_input"]["questions"][0]["question"].startswith("Call Ann")


@pytest.mark.parametrize(
    ("shape", "label", "onward"),
    [
        ({"text": "Check {{steps.Nobody.output}}"}, "Home", "Pay"),
        ({"text": "Check", "name": "See {{steps.Nobody.output}}"}, "Home", "Pay"),
        ({"text": "Check"}, "To_{{steps.Nobody.output}}", "Pay"),
        ({"text": "Check"}, "Home", "Pay {{steps.Nobody.output}}"),
    ],
)
def test_a_slot_for_a_step_that_nobody_drew_is_refused_before_a_person(
    outing: WalkProject, shape: dict[str, str], label: str, onward: str
) -> None:
    """In the task, its name, its routes and where they lead; to an agent it may be meant."""
    lines = f"1>2:{label} 1>3:Stay"
    outing.draw(lucid({"1": {**shape, "tags": "HUMAN"}, "2": onward, "3": "Rest"}, lines))
    ended = outing.call("walk", "c.csv", "--via", "relay")
    assert (ended.status, outing.calls) == (1, [])
    assert "uses {{steps.Nobody.output}}; no such step" in ended.err
    outing.draw(lucid({"1": shape, "2": onward, "3": "Rest"}, lines))
    assert outing.walk("--dry-run")["errors"] == []


@pytest.mark.parametrize(
    ("shape", "label", "said"),
    [
        ({"text": "Decide on [topic] now"}, "Home", "[topic]"),
        ({"text": "Decide on {topic} now"}, "Home", "{topic}"),
        ({"text": "Decide. TODO: on what"}, "Home", "TODO"),
        ({"text": "Decide", "name": "The [topic]"}, "Home", "[topic]"),
        ({"text": "Decide"}, "To_[topic]", "[topic]"),
    ],
)
def test_what_was_left_to_fill_in_is_refused_before_a_person(
    outing: WalkProject, shape: dict[str, str], label: str, said: str
) -> None:
    """Before anything is spent; an agent may be meant to see it, and backticks make it inert."""
    lines = f"0>1 1>2:{label} 1>3:Stay"
    onward = {"0": "Prepare", "2": "Pay", "3": "Rest"}
    outing.draw(lucid({**onward, "1": {**shape, "tags": "HUMAN"}}, lines))
    ended = outing.call("walk", "c.csv", "--via", "relay")
    assert (ended.status, outing.calls) == (1, [])
    assert f"still says {said}; fill it in" in ended.err
    outing.draw(lucid({**onward, "1": shape}, lines))
    assert outing.walk("--dry-run")["errors"] == []
    outing.draw(lucid({"1": {"text": f"Read `{said}`", "tags": "HUMAN"}}, ""))
    assert outing.walk("--dry-run")["errors"] == []


def test_an_item_that_was_left_to_fill_in_is_refused_before_a_person(outing: WalkProject) -> None:
    """A person who is asked reads its title and context."""
    item = ("--item", "1||Ann|About [topic].")
    outing.draw(lucid({"1": "Write", "2": {"text": "Approve", "tags": "HUMAN"}}, "1>2"))
    ended = outing.call("walk", "c.csv", "--via", "relay", *item)
    assert (ended.status, outing.calls) == (1, [])
    assert "item 1 still says [topic]" in ended.err
    outing.draw(lucid({"1": "Write"}, ""))
    assert outing.walk("--dry-run", *item)["errors"] == []


def test_a_tree_with_something_to_fill_in_is_walked_for_no_person(outing: WalkProject) -> None:
    """As it is asked of none."""
    level = "- [AAA] One\n  d\n- [BBB] Two\n  d\n"
    text = f"### ¶ASK_X\nShape: free\nQuestion: Release [version] today?\n## Decision: X\n{level}"
    outing.draw(text, "t.md")
    ended = outing.call("walk", "t.md", "--cli", "HUMAN", "--via", "relay")
    assert ended.status == 1
    assert "still says [version]" in ended.err


def test_a_slot_of_the_item_is_refused_without_an_item(outing: WalkProject) -> None:
    """Nobody is sent to do something to nothing; of an item that lacks one thing, it is told."""
    outing.draw(lucid({"1": {"text": "Send it to {{title}}. {{context}}"}}, ""))
    ended = outing.call("walk", "c.csv", "--set", "context=Soon.")
    assert (ended.status, outing.calls) == (1, [])
    assert "a field that no item has; its place would be empty; give it with --set" in ended.err
    told = outing.walk("--dry-run", "--item", "1||Ann", "--item", "2||Bob|Soon.")
    assert (told["errors"], len(told["warnings"])) == ([], 1)
    assert "a field that item 1 does not have; its place would be empty" in told["warnings"][0]


def test_agents_may_change_things_where_that_is_allowed_and_validators_never(
    outing: WalkProject,
) -> None:
    """The plan says so of each agent, and a run that is resumed keeps it."""
    fay = json.dumps(outing.argv("FAY"))
    table = f'[agents.FAY]\nargv = {fay}\nsafe = ["--safe"]\nfull = ["--full"]\n'
    outing.settings(table, cli="FAY")

    def words() -> list[list[str]]:
        lines = (outing.folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()
        (outing.folder / "calls.jsonl").unlink()
        return [json.loads(line)["words"] for line in lines]

    assert outing.walk("--dry-run")["permissions"] == {
        "FAY": {"work": "read-only", "check": "read-only"}
    }
    outing.walk()
    assert words() == [["--safe"], ["--safe"]]
    plan = outing.walk("--dry-run", "--allow-changes")
    assert plan["permissions"] == {"FAY": {"work": "full", "check": "read-only"}}
    assert plan["commands"]["FAY"][-1] == "--full"
    shown = at_terminal("walk", "c.csv", "--dry-run", "--allow-changes")
    assert "FAY (may change anything; read-only when it checks):" in shown.out
    outing.walk("--allow-changes")
    assert words() == [["--full"], ["--safe"]]
    ready = {"text": "Ready?", "tags": "HUMAN"}
    outing.draw(lucid({"1": ready, "2": "Write the page"}, "1>2"))
    run = outing.walk("--allow-changes", "--via", "relay")["run"]
    outing.call("reply", run, "Done")
    outing.call("walk", "--resume", run)
    assert words() == [["--full"], ["--safe"]]
    ended = outing.call("walk", "--resume", run, "--allow-changes")
    assert (ended.status, "does not go with --resume" in ended.err) == (2, True)


@pytest.mark.parametrize("words", [(), ("--timeout", "0")])
def test_a_timeout_of_0_in_the_settings_is_what_is_built_in(
    outing: WalkProject, words: tuple[str, ...]
) -> None:
    """Nothing is given up at once."""
    outing.settings("default_timeout = 0\n")
    assert outing.walk("--dry-run", *words)["steps"][1]["timeout"] == 600.0
    assert outing.walk(*words)["status"] == "done"


def test_which_page_is_meant_has_to_be_clear(outing: WalkProject) -> None:
    """Several pages that stand alone need --page; a name that is none is refused."""
    text = lucid({"1": "Write"}, "") + "902,Page,,,,Second\n8,Process,902,,,Print\n"
    outing.draw(text)
    ended = outing.call("walk", "c.csv")
    assert ended.status == 2
    assert "as in --page 'Page 1' (2 pages: Page 1, Second)" in ended.err
    assert outing.walk("--page", "Second")["result"]["path"] == ["8"]
    assert outing.call("walk", "c.csv", "--page", "Third").status == 2


def test_wrong_usage_is_one_line(outing: WalkProject) -> None:
    """Nothing to walk, two things at once, things that do not go together."""
    for words in (
        (),
        ("c.csv", "--resume", "01"),
        ("--resume", "01", "--cli", "BEN"),
        ("--resume", "01", "--dry-run"),
        ("-", "--items", "-"),
        ("c.csv", "--jobs", "0"),
        ("c.csv", "--item", "1|a", "--item", "1|b"),
        ("c.csv", "--via", "terminal"),
        ("nothing.csv",),
    ):
        ended = outing.call("walk", *words)
        assert ended.status == 2, words
        assert ended.err.startswith("quandary: "), words
        assert ended.err.count("\n") == 1, words
    assert outing.calls == []


def test_an_agent_that_nobody_is_logged_in_to_is_refused(
    outing: WalkProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a program can say so, it is asked before anything is spent."""
    programs = outing.folder / "bin"
    programs.mkdir()
    claude = programs / "claude"
    claude.write_text(
        '#!/bin/sh\n[ "$1" = auth ] && exit 1\necho called >> out\n', encoding="utf-8"
    )
    claude.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("CLAUDE_CODE_OAUTH_TOKEN", raising=False)
    ended = outing.call("walk", "c.csv", "--cli", "CLAUDE")
    assert ended.status == 1
    assert "CLAUDE: nobody is logged in" in ended.err
    assert not (outing.folder / "out").exists()


# -- text that means something elsewhere -----------------------------------------------------------

HOSTILE = [
    "$(touch pwned) `touch pwned` ; touch pwned | touch pwned && touch pwned",
    "'\"'\"' \\' \\\" ${HOME} %s %(x)s {0} {prompt} {{title}} {{steps.1.output}}",
    "--help",
    "-rf /",
    "line\nline\r\nline\ttab",
    "\u202e\u0000\u0007 ‹ü› 👩\u200d👩\u200d👧",
    "x" * 1_000_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
def test_any_text_arrives_byte_for_byte(outing: WalkProject, text: str) -> None:
    """In a prompt, in a field of an item, and in what another agent said; nothing runs."""
    outing.draw(
        "flowchart TD\n  a[Look at {{thing}}!] --> b[Use {{steps.a.output}}!]\n"
        '%% quandary: {"step": "a", "tags": ["NoValidation"]}\n'
        '%% quandary: {"step": "b", "tags": ["NoValidation"]}\n',
        "c.mmd",
    )
    items = json.dumps([{"id": "1", "thing": text}])
    (outing.folder / "items.json").write_text(items, encoding="utf-8")
    outing.says("ANN", {"completed": True, "comments": f"<{text}>"})
    state = outing.walk("--items", "items.json", chart="c.mmd")["runs"][0]
    assert state["status"] == "done"
    (_, first), (_, second) = outing.calls
    assert first.startswith(f"Look at {text}!\n\n")
    assert second.startswith(f"Use <{text}>!\n\n")
    assert not (outing.folder / "pwned").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\0b", "has a NUL character"),
        ("x" * 200_000, "too many for an argument"),
        ("--version", "would be taken for an option"),
    ],
    ids=["nul", "long", "option"],
)
def test_what_cannot_be_an_argument_is_refused_clearly(
    outing: WalkProject, text: str, why: str
) -> None:
    """An agent that takes its prompt as an argument is not started with it."""
    argv = json.dumps([sys.executable, "-c", "open('started', 'w')", "{prompt}"])
    outing.settings(f"[agents.ARG]\nargv = {argv}\n")
    outing.draw("flowchart TD\n  a[{{thing}}]\n", "c.mmd")
    items = json.dumps([{"id": "1", "thing": text}])
    (outing.folder / "items.json").write_text(items, encoding="utf-8")
    words = ("--items", "items.json", "--cli", "ARG", "--retries", "0")
    state = outing.walk(*words, chart="c.mmd", status=1)["runs"][0]
    assert why in state["error"]
    assert not (outing.folder / "started").exists()


# -- many items ------------------------------------------------------------------------------------


def test_every_item_is_a_run_of_its_own(outing: WalkProject) -> None:
    """From CSV or JSON lines, several at once; the output has them in their order."""
    outing.draw(lucid({"1": {"text": "Greet {{name}} of {{City}}", "tags": "NoValidation"}}, ""))
    rows = [(f"Person {n}", "Rome" if n % 2 else "Bern, CH") for n in range(1, 6)]
    table = "name,city\n" + "".join(f'{name},"{city}"\n' for name, city in rows)
    (outing.folder / "people.csv").write_text(table, encoding="utf-8")
    lines = "".join(json.dumps({"name": n, "city": c, "id": f"9.{n[-1]}"}) + "\n" for n, c in rows)
    (outing.folder / "people.jsonl").write_text(lines, encoding="utf-8")
    for file, first in (("people.csv", "1"), ("people.jsonl", "9.1")):
        before = len(outing.calls)
        runs = outing.walk("--items", file, "--jobs", "3")["runs"]
        assert [run["status"] for run in runs] == ["done"] * 5
        assert len({run["run"] for run in runs}) == 5
        items = [run["result"]["item"] for run in runs]
        assert (items[0], items) == (first, sorted(items))
        prompts = {prompt.partition("\n")[0] for _, prompt in outing.calls[before:]}
        assert prompts == {f"Greet {name} of {city}" for name, city in rows}


def test_one_item_that_fails_does_not_stop_the_others(outing: WalkProject) -> None:
    """The exit status says that something failed, and standard error which."""
    outing.draw(lucid({"1": {"text": "Greet {{id}}", "tags": "NoValidation"}}, ""))
    outing.says("ANN", DONE, "no", DONE)
    items = [word for n in (1, 2, 3) for word in ("--item", str(n))]
    ended = outing.call("walk", "c.csv", *items, "--retries", "0")
    runs = json.loads(ended.out)["runs"]
    assert [run["status"] for run in runs] == ["done", "failed", "done"]
    assert ended.status == 1
    assert f"quandary: run {runs[1]['run']} is failed" in ended.err


def test_one_item_of_a_file_is_told_like_many(outing: WalkProject) -> None:
    """Whoever reads the output need not count; a sole --item is a sole state."""
    (outing.folder / "one.json").write_text('[{"id": "4"}]', encoding="utf-8")
    assert len(outing.walk("--items", "one.json")["runs"]) == 1
    assert outing.walk("--item", "4|x")["flow"] == "walk"


def test_a_tree_can_be_walked(outing: WalkProject) -> None:
    """Each level is a decision."""
    outing.draw(DEPLOY, "t.md")
    outing.says("ANN", {"answer": "Other"}, {"answer": "Deploy to one region"})
    result = outing.walk(chart="t.md")["result"]
    assert [step["route"] for step in result["steps"]] == ["Other", "Deploy to one region"]


# -- budgets and logs ------------------------------------------------------------------------------


def test_a_budget_stops_the_run_cleanly(outing: WalkProject) -> None:
    """The outcome is “stopped”, the status failed, and what was done is in the result."""
    outing.draw(lucid({"1": "Write", "2": "Print"}, "1>2"))
    state = outing.walk("--max-calls", "3", status=1)
    assert (state["status"], state["result"]["outcome"]) == ("failed", "stopped")
    assert state["error"] == "the budget of 3 calls is used up"
    assert len(outing.calls) == 3
    outing.settings("max_tokens = 10\n")
    outing.says("ANN", {"completed": True, "tokens_used": 11})
    state = outing.walk(status=1)
    assert state["error"] == "the budget of 10 tokens is used up"
    outing.settings("")
    outing.says("ANN", {"says": DONE, "seconds": 60})
    begun = time.monotonic()
    state = outing.walk("--max-seconds", "0.5", status=1)
    assert state["error"] == "the budget of 0.5 seconds is used up"
    assert time.monotonic() - begun < 20


def test_logs_are_written_where_the_settings_say(outing: WalkProject) -> None:
    """A short and a long one for each run, or none; trouble with them stops nothing."""
    outing.settings('log_dir = "records"\nwrite_log_long = false\n')
    run = outing.walk()["run"]
    (short,) = (outing.folder / "records").iterdir()
    assert run in short.name
    assert json.loads(short.read_text(encoding="utf-8"))["outcome"] == "completed"
    (outing.folder / "taken").write_text("", encoding="utf-8")
    outing.settings('log_dir = "taken"\n')
    ended = outing.call("walk", "c.csv")
    assert ended.status == 0
    assert "cannot be written" in ended.err
    outing.settings('log_dir = "none"\nwrite_log_long = false\nwrite_log_short = false\n')
    outing.walk()
    assert not (outing.folder / "none").exists()


@pytest.mark.parametrize("way", ["named", "linked"])
def test_a_repository_has_no_logs_written_elsewhere(
    outing: WalkProject, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Neither by a path in its settings nor by a link; its user may send them anywhere."""
    root, outside = outing.folder / "inner", outing.folder / "outside"
    (root / ".quandary").mkdir(parents=True)
    outside.mkdir()
    outing.settings('log_dir = "../outside"\n' if way == "named" else "")
    for name in ("quandary.toml", "c.csv"):
        (outing.folder / name).rename(root / name)
    (root / ".quandary" / "logs").symlink_to(outside)
    monkeypatch.chdir(root)
    ended = outing.call("walk", "c.csv")
    assert ended.status == 0
    assert "cannot be written (the folder leads out of the project)" in ended.err
    assert list(outside.iterdir()) == []
    monkeypatch.setenv("QUANDARY_LOG_DIR", str(outside))
    assert outing.call("walk", "c.csv").status == 0
    assert len(list(outside.iterdir())) == 2


def test_a_fault_of_the_logs_stops_nothing(
    outing: WalkProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even one that nobody thought of."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("quandary.reports.logs.Logs.write", broken)
    ended = outing.call("walk", "c.csv")
    assert ended.status == 0
    assert ended.err.count("no more logs are written (ZeroDivisionError") == 1


def test_a_script_that_ends_with_no_answer_fails(outing: WalkProject) -> None:
    """As a reply that is none does; a later entry that is an answer makes up for it."""
    outing.draw(lucid({"1": {"text": "Call her", "tags": "HUMAN"}}, ""))
    for script, status in (([""], 1), (["", "Done"], 0)):
        (outing.folder / "answers.json").write_text(json.dumps(script), encoding="utf-8")
        ended = outing.call("walk", "c.csv", "--answers", "answers.json")
        assert (ended.status, json.loads(ended.out)["status"]) == (
            status,
            "waiting" if status else "done",
        )


def test_an_agent_that_stops_is_answered_and_goes_on_in_the_same_walk(
    outing: WalkProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its question is one of the walk, whoever answers; progress says that it stopped, and why."""
    monkeypatch.setenv("XDG_STATE_HOME", str(outing.folder / "state"))
    outing.settings(stopping(outing.folder))
    silent = {"text": "Do it", "cli": "STOPPER", "tags": "NoValidation"}
    outing.draw(lucid({"1": silent}, ""))
    (outing.folder / "answers.json").write_text('["Debug"]', encoding="utf-8")
    ended = outing.call("walk", "c.csv", "--answers", "answers.json")
    assert ended.status == 0, ended
    (step,) = json.loads(ended.out)["result"]["steps"]
    assert (step["output"], step["attempts"]) == ("done", 1)
    assert "  S1@1/run stopped for AskUserQuestion after " in ended.err
    used = (outing.folder / "uses.jsonl").read_text(encoding="utf-8")
    assert json.loads(used)[2]["answers"] == {"Which level?": "Debug"}


def test_progress_is_told_in_lines(outing: WalkProject) -> None:
    """In a pipe: what is called, what came of it, and how many are done."""
    outing.says("EVA", "fine", GOOD)
    ended = outing.call("walk", "c.csv", "--validate-cli", "EVA")
    told = [line.partition("  ")[2] for line in ended.err.splitlines()]
    assert told[0] == "S2@1/run ANN Write the page"
    assert told[1].startswith("S2@1/run done in ")
    assert "S2@1/validate-1 not usable: There was no JSON object" in told[3]
    assert told[-1] == "done (1 of 1)"
    outing.says("ANN", DONE, {"completed": False}, DONE)
    outing.says("EVA", {"fully_completed": False})
    ended = outing.call("walk", "c.csv", "--validate-cli", "EVA")
    assert "  S2@1/run not completed after " in ended.err
    assert "  S2@1/validate-2 not passed after " in ended.err


def test_progress_errors_and_summaries_name_the_item(outing: WalkProject) -> None:
    """In lines, in the complaint at the end, and on a terminal."""
    outing.draw(lucid({"1": "Start", "2": "Write {{title}}", "3": "End"}, "1>2 2>3"))
    items = ("--item", "7|Dates|Dates are wrong", "--item", "8")
    outing.says("ANN", DONE, GOOD, {"completed": False})
    ended = outing.call("walk", "c.csv", *items, "--retries", "0")
    lines = [line.partition("  ")[2] for line in ended.err.splitlines()]
    assert lines[1] == "Dates are wrong: S2@1/run ANN Write Dates are wrong"
    assert "item 8: failed (2 of 2)" in lines
    assert "is failed: item 8: “Write" in ended.err
    shown = at_terminal("walk", "c.csv", *items[:2], "--cli", "BEN")
    assert "  Dates are wrong  done  2 calls" in shown.out
    assert "Rounds: completed, for Dates are wrong" in shown.out


def test_progress_is_a_table_on_a_terminal(outing: WalkProject) -> None:
    """A line for each item with its step, attempts, tokens and time, a bar, and then a summary."""
    outing.says("ANN", {"says": {**DONE, "tokens_used": 7}, "seconds": 0.8})
    outing.says("EVA", GOOD)
    words = ("--item", "1", "--item", "2", "--jobs", "2", "--validate-cli", "EVA")
    shown = at_terminal("walk", "c.csv", *words)
    assert shown.status == 0
    for part in ("Write the page", "attempt 1", "0 calls", "0 tokens", "0/2"):
        assert part in shown.out
    assert shown.out.count("  done  2 calls, 7 tokens, ") == 2
    assert shown.out.count("Rounds: completed") == 2
