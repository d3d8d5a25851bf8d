"""What agents say is found in what their programs print, each in its own way of printing it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.agents.calling import Unwrapped, output_of, unwrap
from quandary.agents.process import Ran
from quandary.model.calls import Call, Process
from quandary.settings.agents import Agent, read_catalogue
from strategies import HOSTILE

CALL = Call("S1/run", "X", "Do it.", "process")
DONE = '{"completed": true, "comments": "ok"}'


def ran(out: str = "", err: str = "", status: int = 0, **more: Any) -> Ran:  # noqa: ANN401
    """A program that has ended."""
    flags = {"truncated": False, "timed_out": False, **more}
    return Ran(out, err, status, 1.23456, **flags)


def lines(*documents: object) -> str:
    """One document in each line."""
    return "".join(json.dumps(document) + "\n" for document in documents)


# -- the known agents' own ways ------------------------------------------------------------------

CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Done.",
    "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 7},
}
TRIED: list[tuple[str, str, Unwrapped]] = [
    ("CLAUDE", json.dumps(CLAUDE), Unwrapped("Done.", 120)),
    (
        "CLAUDE",
        json.dumps({**CLAUDE, "structured_output": {"completed": True}}),
        Unwrapped('{"completed": true}', 120),
    ),
    (
        "CLAUDE",
        json.dumps({"type": "result", "subtype": "success", "is_error": True, "result": "Log in"}),
        Unwrapped("Log in", None, "Log in"),
    ),
    (
        "CLAUDE",
        json.dumps({"type": "result", "subtype": "error_max_turns", "is_error": True}),
        Unwrapped("", None, "it does not say why"),
    ),
    (
        "CLAUDE",
        json.dumps({"type": "result", "is_error": True, "errors": ["Reached maximum turns"]}),
        Unwrapped("", None, "Reached maximum turns"),
    ),
    (
        "CODEX",
        lines(
            {"type": "thread.started", "thread_id": "x"},
            {"type": "item.completed", "item": {"type": "agent_message", "text": "I will look."}},
            {"type": "item.completed", "item": {"type": "command_execution", "text": "ls"}},
            {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
            {"type": "item.completed", "item": {"type": "reasoning", "text": "Hm."}},
            {"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 6}},
        ),
        Unwrapped("Done.", 11),
    ),
    (
        "CODEX",
        lines(
            {"type": "error", "message": "reconnecting"},
            {"type": "turn.failed", "error": {"message": "401 Unauthorized"}},
        ),
        Unwrapped("", None, "401 Unauthorized"),
    ),
    (
        "GEMINI",
        json.dumps(
            {
                "response": "Done.",
                "stats": {
                    "models": {"a": {"tokens": {"total": 3}}, "b-1.5": {"tokens": {"total": 4}}}
                },
            }
        ),
        Unwrapped("Done.", 7),
    ),
    (
        "COPILOT",
        "Starting…\n"
        + lines(
            {"type": "assistant.message", "data": {"content": "Done."}},
            {"type": "result", "exitCode": 0},
        ),
        Unwrapped("Done."),
    ),
    (
        "OPENCODE",
        lines(
            {"type": "text", "part": {"text": "Done."}},
            {"type": "step_finish", "part": {"tokens": {"input": 1, "output": 2}}},
            {"type": "step_finish", "part": {"tokens": {"input": 3, "output": 4}}},
        ),
        Unwrapped("Done.", 10),
    ),
    (
        "OPENCODE",
        lines({"type": "error", "error": {"data": {"message": "no key"}}}),
        Unwrapped("", None, "no key"),
    ),
    (
        "QWEN",
        json.dumps([{"type": "system"}, {**CLAUDE, "structured_result": {"completed": False}}]),
        Unwrapped('{"completed": false}', 120),
    ),
    (
        "QWEN",
        json.dumps([{"type": "result", "is_error": True, "error": {"message": "No auth type"}}]),
        Unwrapped("", None, "No auth type"),
    ),
    (
        "LLM",
        json.dumps([{"response": "Done.", "input_tokens": 8, "output_tokens": 9}]),
        Unwrapped("Done.", 17),
    ),
    (
        "CURSOR",
        json.dumps({"type": "result", "is_error": False, "result": "Hi."}),
        Unwrapped("Hi."),
    ),
    ("AIDER", "Aider v0.86\nDone.\n", Unwrapped("Aider v0.86\nDone.\n")),
    ("QODO", "Done.", Unwrapped("Done.")),
    ("AMP", lines({"type": "system"}, {**CLAUDE, "is_error": False}), Unwrapped("Done.", 120)),
]


@pytest.mark.parametrize(("name", "printed", "expected"), TRIED)
def test_known_agents_are_understood(name: str, printed: str, expected: Unwrapped) -> None:
    """Text, tokens and failure stand where the agent puts them."""
    assert unwrap(read_catalogue().find(name), printed) == expected


# -- envelopes -----------------------------------------------------------------------------------

JSON = Agent(name="X", argv=("x",), output="json:a.b|c", usage=("n",), failure=("bad",))
JSONL = Agent(name="X", argv=("x",), output="jsonl:text")


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ('{"a": {"b": "one"}, "c": "two"}', Unwrapped("one")),
        ('{"a": {"b": ""}, "c": "two"}', Unwrapped("two")),
        ('{"a": {"b": null}, "c": {"x": [1]}}', Unwrapped('{"x": [1]}')),
        ('log line\n{"c": "x"}\n', Unwrapped("x")),
        ('{"old": 1}\n{"c": "x", "n": 3}', Unwrapped("x", 3)),
        ('{"c": "x", "n": "3"}', Unwrapped("x")),
        ('{"c": "x", "n": true}', Unwrapped("x")),
        ('{"c": "x", "n": -3}', Unwrapped("x")),
        ('{"c": "x", "n": 1e300}', Unwrapped("x")),
        ('{"c": "\\ud800x"}', Unwrapped("\N{REPLACEMENT CHARACTER}x")),
        ("just words", Unwrapped("just words")),
        ("", Unwrapped("")),
        ("{" * 10_000, Unwrapped("{" * 10_000)),
        ('{"c": 0}', Unwrapped("0")),
        ('{"d": 0}', Unwrapped("", None, "there was nothing at a.b|c in what it printed")),
        ('{"c": "x", "bad": false}', Unwrapped("x")),
        ('{"c": "x", "bad": "oh\\nno"}', Unwrapped("x", None, "no")),
        ('{"c": "x", "bad": {"code": 3}}', Unwrapped("x", None, "x")),
    ],
)
def test_an_envelope_is_opened(printed: str, expected: Unwrapped) -> None:
    """The first path that leads to something counts; without an envelope the text is the text."""
    assert unwrap(JSON, printed) == expected


def test_broken_lines_are_passed_over() -> None:
    """Of many documents, those that can be read are."""
    printed = '{"text": "one"}\nnoise\n{"text": "two"\n[1\n{"text": "three"}\r\n{"text": ""}\n'
    assert unwrap(JSONL, printed) == Unwrapped("three")


_PRINTED = st.sampled_from(HOSTILE) | st.text(alphabet='{}[]",:ab c\\1\n', max_size=40)


@given(_PRINTED, st.sampled_from([JSON, JSONL]))
def test_anything_printed_is_unwrapped(printed: str, agent: Agent) -> None:
    """No output is too odd."""
    assert isinstance(unwrap(agent, printed), Unwrapped)


# -- what counts ---------------------------------------------------------------------------------

PLAIN = Agent(name="X", argv=("x",))


def test_a_response_is_read_when_it_comes() -> None:
    """Its meaning is kept beside the text, with what is known of the run."""
    output = output_of(CALL, PLAIN, ran(DONE, "a warning"))
    assert output.meaning == Process(completed=True, comments="ok")
    assert (output.text, output.stderr, output.status) == (DONE, "a warning", 0)
    assert (output.error, output.problem, output.seconds) == ("", "", 1.235)


def test_a_text_that_is_no_response_says_why() -> None:
    """It is no error of the program, and no answer either."""
    output = output_of(CALL, PLAIN, ran("All done!"))
    assert (output.meaning, output.error) == (None, "")
    assert "`completed`" in output.problem


def test_without_an_expectation_any_text_will_do() -> None:
    """An adviser just talks."""
    output = output_of(Call("a", "X", "What is it?"), PLAIN, ran("A tree."))
    assert (output.text, output.meaning, output.problem, output.error) == ("A tree.", None, "", "")


@pytest.mark.parametrize(
    ("ended", "error"),
    [
        (ran(DONE, "", 1), f"X ended with status 1: {DONE}"),
        (ran(DONE, "a\nNo key found\n", 1), "X ended with status 1: No key found"),
        (ran("", "", 41), "X ended with status 41"),
        (ran(DONE, "", -9), f"X ended with signal SIGKILL: {DONE}"),
        (ran("", "", -63), "X ended with signal 63"),
        (ran(DONE, timed_out=True), "X had not ended after 1 s and was ended"),
        (ran(" \n"), "X printed nothing"),
        (ran("", "e" * 1000, 2), "X ended with status 2: " + "e" * 299 + "…"),
    ],
)
def test_a_failed_program_has_not_answered(ended: Ran, error: str) -> None:
    """Whatever it printed: the text is kept, the meaning is not looked for."""
    output = output_of(CALL, PLAIN, ended)
    assert (output.error, output.meaning, output.text) == (error, None, ended.out)


def test_a_failure_in_the_envelope_counts_though_the_program_ended_well() -> None:
    """Some agents end with status 0 when they could not even log in."""
    failed = json.dumps({"c": DONE, "bad": "Not logged in"})
    output = output_of(CALL, JSON, ran(failed))
    assert (output.error, output.meaning) == ("X failed: Not logged in", None)


def test_a_failure_that_is_told_on_standard_error_is_the_reason() -> None:
    """As JSON behind other lines, of which the last one is only a bracket."""
    told = json.dumps({"session_id": "x", "error": {"message": "No key", "code": 41}}, indent=2)
    output = output_of(CALL, read_catalogue().find("GEMINI"), ran("", f"Loading\n{told}\n", 41))
    assert output.error == "GEMINI ended with status 41: No key"


def test_what_was_cut_says_so() -> None:
    """An answer at the end of a flood still counts."""
    text = f"xxx\n[… 90,000,000 bytes left out …]\nxxx {DONE}"
    output = output_of(CALL, PLAIN, ran(text, truncated=True))
    assert output.truncated
    assert output.meaning == Process(completed=True, comments="ok")
