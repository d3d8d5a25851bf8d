"""An agent that stops in the middle of a step: what is asked, what it is told, what it costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quandary.flows.walk import walk
from quandary.model.asks import Ask
from quandary.model.calls import Output, Resumption, Stopped
from quandary.model.chart import Step
from scripted_walks import DONE, ScriptedWalk, chart, task

LEVEL = "Which log level?"
QUESTION = {
    "question": LEVEL,
    "header": "Level",
    "options": [
        {"label": "Info (Recommended)", "description": "For operators", "preview": "INFO ready"},
        {"label": "Debug", "description": "For developers"},
    ],
}
PUSH = {"command": "git push --force", "description": "Publish it"}
ONE = chart(task("a", "Set up logging"))
STOP = "Sa@1/run-stopped-1:"


def stops(key: str, tool: str, given: object, number: int = 1, **more: Any) -> Output:  # noqa: ANN401
    """An agent's output that says that it stopped."""
    stopped = Stopped(f"session-{key[:2]}", f"use-{number}", tool, json.dumps(given), "/work", "n1")
    return Output(key, stopped=stopped, **more)


def asks(key: str, *questions: object, number: int = 1, **more: Any) -> Output:  # noqa: ANN401
    """An agent that stopped for questions."""
    given = {"questions": list(questions) or [QUESTION]}
    return stops(key, "AskUserQuestion", given, number, **more)


def told(trip: ScriptedWalk, key: str) -> Resumption:
    """What the session was told that went on with a call."""
    resumes = trip.calls[key].resumes
    assert resumes is not None
    return resumes


def test_a_question_in_the_middle_is_asked_as_the_agent_asks_it() -> None:
    """Its text, its options with what they look like, and the step that it came up in."""
    trip = ScriptedWalk(walk(ONE, cli="X"), {"Sa@1/run": asks("Sa@1/run")})
    assert isinstance(trip.waits, Ask)
    assert trip.waits.key == f"{STOP}1"
    (question,) = trip.waits.questions
    assert question.text == f"X asks: {LEVEL}"
    assert [(c.code, c.shown) for c in question.choices] == [
        ("A", "Info (recommended)"),
        ("B", "Debug"),
    ]
    for part in ("Set up logging", "INFO ready"):
        assert part in trip.waits.preamble.text
    assert not question.decidable
    assignment = trip.waits.assignment
    assert assignment is not None
    assert (assignment.role, assignment.step, assignment.attempt) == ("stop", "a", 1)


@pytest.mark.parametrize(
    ("reply", "answer", "notes"),
    [
        ("B", "Debug", None),
        ({"picked": ("A",), "comment": "for now"}, "Info (Recommended)", "for now"),
        ({"text": "none at all"}, "none at all", None),
    ],
)
def test_its_session_goes_on_with_the_answer(reply: object, answer: str, notes: str | None) -> None:
    """The tool is used with the answers in it, spelt as the agent spells its options."""
    said = {"Sa@1/run": asks("Sa@1/run"), f"{STOP}1": reply}
    trip = ScriptedWalk(walk(ONE, cli="X"), said)
    resumed = told(trip, "Sa@1/run-resumed-1")
    given = json.loads(resumed.input)
    assert (resumed.allow, resumed.stopped.session) == (True, "session-Sa")
    assert given["questions"] == [QUESTION]
    assert given["answers"] == {LEVEL: answer}
    assert given.get("annotations") == (None if notes is None else {LEVEL: {"notes": notes}})
    assert [step["attempts"] for step in trip.steps] == [1]


def test_several_questions_of_a_stop_are_asked_one_after_the_other() -> None:
    """All of them have an answer before the session goes on; of some, several can be chosen."""
    where = {**QUESTION, "question": "Where to?", "multiSelect": True}
    said = {
        "Sa@1/run": asks("Sa@1/run", QUESTION, where),
        f"{STOP}1": "B",
        f"{STOP}2": {"picked": ("A", "B")},
    }
    trip = ScriptedWalk(walk(ONE, cli="X"), said)
    given = json.loads(told(trip, "Sa@1/run-resumed-1").input)
    assert given["answers"] == {LEVEL: "Debug", "Where to?": "Info (Recommended), Debug"}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"questions": "which?"},
        {"questions": [{"question": ""}]},
        {"questions": [{"question": [LEVEL]}]},
        {"questions": [QUESTION, QUESTION]},
        {"questions": [{"question": LEVEL, "options": list(range(27))}]},
    ],
)
def test_a_question_that_cannot_be_shown_whole_goes_back_to_the_agent(given: object) -> None:
    """No option and no question is lost: the agent is told what to do, and nobody is asked."""
    said = {"Sa@1/run": stops("Sa@1/run", "AskUserQuestion", given)}
    trip = ScriptedWalk(walk(ONE, cli="X"), said)
    assert not trip.asks
    resumed = told(trip, "Sa@1/run-resumed-1")
    assert (resumed.allow, "give each question" in resumed.message) == (False, True)


def test_an_agent_that_stops_for_nothing_that_can_be_shown_fails_in_the_end() -> None:
    """It is told a few times; then that was an attempt, or it would go on for ever."""
    first, key = "Sa@1/run", "Sa@1/run-resumed-{}"
    keys = [first, *(key.format(number) for number in range(1, 4))]
    said = {one: stops(one, "AskUserQuestion", {}, number) for number, one in enumerate(keys, 1)}
    trip = ScriptedWalk(walk(ONE, cli="X", retries=0), said)
    assert not trip.asks
    assert [*trip.calls] == keys
    assert trip.steps[0]["attempts"] == 1
    assert "nobody can be shown" in trip.error


def test_what_it_wants_to_do_is_asked_like_any_permit() -> None:
    """The same choices, the command whole, its risks; and only a person can answer."""
    trip = ScriptedWalk(walk(ONE, cli="CLAUDE"), {"Sa@1/run": stops("Sa@1/run", "Bash", PUSH)})
    assert isinstance(trip.waits, Ask)
    assert trip.waits.require == "person"
    (question,) = trip.waits.questions
    labels = [choice.label for choice in question.choices]
    assert labels == ["Allow once", "Allow with changes", "Deny"]
    assert question.text == "Claude wants to run a command: `git push --force`. May it be done?"
    for part in ("git push --force", "may not be possible to take back", "/work", "Set up logging"):
        assert part in trip.waits.preamble.text


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ({STOP: "ONE"}, (True, "", PUSH)),
        (
            {STOP: "CHG", f"{STOP}CHG": {"text": "git push"}},
            (True, "", {**PUSH, "command": "git push"}),
        ),
        ({STOP: "NO"}, (False, "The person denied this in quandary.", PUSH)),
        ({STOP: {"text": "after the audit"}}, (False, "after the audit", PUSH)),
    ],
)
def test_it_does_what_was_allowed_or_hears_why_not(
    replies: dict[str, object], expected: tuple[bool, str, object]
) -> None:
    """Allowed as it was shown, allowed with changes, denied, or denied with words."""
    said = {"Sa@1/run": stops("Sa@1/run", "Bash", PUSH), **replies}
    resumed = told(ScriptedWalk(walk(ONE, cli="X"), said), "Sa@1/run-resumed-1")
    assert (resumed.allow, resumed.message, json.loads(resumed.input)) == expected


def test_a_step_stops_as_often_as_it_has_to_and_is_one_attempt() -> None:
    """Time and tokens of every part are counted; as calls and attempts they are one."""
    cost: dict[str, Any] = {"seconds": 2.0, "tokens": 10}
    said = {
        "Sa@1/run": asks("Sa@1/run", **cost),
        f"{STOP}1": "B",
        "Sa@1/run-resumed-1": stops("Sa@1/run-resumed-1", "Bash", PUSH, 2, **cost),
        "Sa@1/run-stopped-2:": "ONE",
        "Sa@1/run-resumed-2": Output("Sa@1/run-resumed-2", json.dumps(DONE), **cost),
    }
    trip = ScriptedWalk(walk(ONE, cli="X", max_calls=1), said)
    assert trip.result is not None
    assert (trip.result["calls"], trip.result["tokens"], trip.result["seconds"]) == (1, 30, 6.0)
    assert [(step["attempts"], step["tokens"]) for step in trip.steps] == [(1, 30)]
    assert told(trip, "Sa@1/run-resumed-2").stopped.id == "use-2"


def test_a_retry_can_stop_and_uses_up_no_further_attempt() -> None:
    """What failed before counts; the stop on the way of the retry does not."""
    said = {
        "Sa@1/run": "nothing of use",
        "Sa@1/retry-1": asks("Sa@1/retry-1"),
        "Sa@1/retry-1-stopped-1:1": "A",
    }
    trip = ScriptedWalk(walk(ONE, cli="X", retries=1), said)
    assert trip.result is not None
    assert [(step["attempts"], step["output"]) for step in trip.steps] == [(2, "done")]


def test_votes_wait_for_those_that_stopped_and_are_not_cast_again() -> None:
    """Of three voters two stop: both are asked about, and only these two go on."""
    ballot = chart(
        Step("a", "Ship it?", "decision", metadata={"votes": "X, Y, Z"}),
        task("b"),
        task("c"),
        routes="a>b:yes a>c:no",
    )
    said = {
        "Sa@1/vote-1": asks("Sa@1/vote-1"),
        "Sa@1/vote-2": {"answer": "no"},
        "Sa@1/vote-3": stops("Sa@1/vote-3", "Bash", PUSH),
        "Sa@1/vote-1-stopped-1:1": "A",
        "Sa@1/vote-3-stopped-2:": "NO",
        "Sa@1/vote-1-resumed-1": {"answer": "no"},
        "Sa@1/vote-3-resumed-2": {"answer": "yes"},
    }
    trip = ScriptedWalk(walk(ballot, cli="X", codenames=("X", "Y", "Z")), said)
    assert trip.result is not None
    assert trip.result["path"][:2] == ["a", "c"]
    assert [len(one) for one in trip.requests if isinstance(one, tuple)] == [3, 2]
    assert trip.steps[0]["attempts"] == 1
    assert trip.result["calls"] == 4


def test_a_budget_that_is_used_up_ends_the_walk_before_a_session_goes_on() -> None:
    """What was spent before the stop counts; its session is not resumed beyond the limit."""
    said = {"Sa@1/run": asks("Sa@1/run", tokens=50), f"{STOP}1": "A"}
    trip = ScriptedWalk(walk(ONE, cli="X", max_tokens=50), said)
    assert "budget of 50 tokens" in trip.error
    assert "Sa@1/run-resumed-1" not in trip.calls


def test_a_session_that_goes_on_has_the_time_that_is_left() -> None:
    """The seconds of a budget are those of all its parts."""
    said = {"Sa@1/run": asks("Sa@1/run", seconds=20.0), f"{STOP}1": "A"}
    trip = ScriptedWalk(walk(ONE, cli="X", timeout=100, max_seconds=30), said)
    assert [call.timeout for call in trip.calls.values()] == [30, 10]
