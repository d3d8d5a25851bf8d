"""Responses are read out of whatever an agent prints, and nothing else is taken for one."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.flows.responses import Finding, match_route, read_output, read_response
from quandary.flows.wording import again_prompt, run_prompt, validation_prompt
from quandary.model.calls import Call, Decision, Expects, Output, Process, Validation, schema
from strategies import HOSTILE

DONE = '{"completed": true, "secs_taken": 2.5, "tokens_used": 40, "comments": "All of it."}'
FOUND = Process(completed=True, secs_taken=2.5, tokens_used=40, comments="All of it.")
REJECTED = """{"fully_completed": false, "partially_completed": true, "should_retry": false,
               "warnings": ["No tests", "Typos"]}"""


# -- where a response stands ---------------------------------------------------------------------

PLACES = {
    "alone": DONE,
    "with space": f"\n\n  {DONE}\r\n",
    "fenced": f"```json\n{DONE}\n```",
    "fenced without a name": f"~~~\n{DONE}\n~~~\n",
    "fence never closed": f"Here it is:\n```json\n{DONE}",
    "after prose": f"I've done it {{mostly}}, and it's \"good\": {DONE}",
    "before prose": f"{DONE}\nLet me know if {{you}} need more.",
    "in colours": f"\x1b[32m{DONE}\x1b[0m",
    "with a byte order mark": f"\ufeff{DONE}",
    "in an object": f'{{"type": "result", "response": {DONE}}}',
    "in an object in a list": f'[{{"a": [1, {{"response": {DONE}}}]}}]',
    "as text in an object": json.dumps(
        {"type": "result", "result": f"Done.\n```json\n{DONE}\n```"}
    ),
    "as text in text": json.dumps({"result": json.dumps({"result": DONE})}),
    "in a line of many": f'{{"type": "start"}}\n{{"type": "text", "text": {json.dumps(DONE)}}}\n'
    '{"type": "end"}\n',
    "after others": f'{{"completed": false}}\n{{"other": 1}}\n{DONE}\n{{"tokens": 3}}',
    "after one that does not fit": f'{DONE}\n{{"completed": "yes"}}',
    "with a comma too many": DONE.replace("}", ",}"),
    "with keys of its own": DONE.replace("{", '{"confidence": 0.9, "files": ["a.py"], '),
    "over lines": json.dumps(json.loads(DONE), indent=4),
    "after a broken one": f'{{"completed": true, "comments": "oh {DONE}',
    "behind a gap": f'{{"completed": false, "comments": "x\n[… 9,999 bytes left out …]\n {DONE}',
}


@pytest.mark.parametrize("text", PLACES.values(), ids=PLACES)
def test_a_response_is_found_wherever_it_stands(text: str) -> None:
    """Plain, fenced, among prose, in an envelope, last of several."""
    assert read_response(text, "process") == Finding(FOUND)


@pytest.mark.parametrize("text", ["", " \n\t ", "\0"])
def test_silence_is_no_response(text: str) -> None:
    """Nothing printed means nothing done."""
    assert read_response(text, "process").meaning is None
    assert read_response(text, "process").problem


NO_RESPONSES = (
    *("Done!", "true", "{}", '{"done": true}', "completed: true", '{"Completed": true}', DONE[:-1]),
    *("{'completed': true}", '{"completed": True}', '["completed", true]', '"completed": true'),
)


@pytest.mark.parametrize("text", NO_RESPONSES)
def test_nothing_but_a_response_is_taken_for_one(text: str) -> None:
    """Words that sound like success are not enough."""
    found = read_response(text, "process")
    assert found.meaning is None
    assert "`completed`" in found.problem


def test_the_outer_of_two_nested_responses_counts() -> None:
    """What a response quotes is not the response."""
    text = '{"completed": false, "comments": "x", "before": {"completed": true}}'
    assert read_response(text, "process").meaning == Process(completed=False, comments="x")


_TASKS = st.sampled_from([text for text in HOSTILE if "\ud800" not in text]) | st.text(max_size=30)


@given(_TASKS, st.lists(_TASKS, max_size=3), st.lists(_TASKS, min_size=1, max_size=3))
def test_a_repeated_prompt_is_no_response(
    task: str, critiques: list[str], routes: list[str]
) -> None:
    """An agent that prints its prompt has not answered it."""
    prompts: dict[str, Expects] = {
        run_prompt(task, (), critiques): "process",
        run_prompt(task, routes, critiques): "decision",
        validation_prompt(task, task): "validation",
        again_prompt(run_prompt(task), read_response("{}", "process").problem): "process",
    }
    for prompt, expects in prompts.items():
        assert read_response(prompt, expects, routes).meaning is None


# -- the three kinds -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expects", "expected"),
    [
        ('{"completed": true}', "process", Process(completed=True)),
        (
            '{"completed": false, "secs_taken": 3}',
            "process",
            Process(completed=False, secs_taken=3),
        ),
        (
            '{"completed": true, "tokens_used": 7.0}',
            "process",
            Process(completed=True, tokens_used=7),
        ),
        ('{"completed": true, "comments": null}', "process", Process(completed=True)),
        (
            '{"completed": true, "comments": ["a", "b"]}',
            "process",
            Process(completed=True, comments="a\nb"),
        ),
        (
            '{"choices": ["Yes", "No"], "answer": "No", "reasons": "Too late."}',
            "decision",
            Decision("No", ("Yes", "No"), "Too late."),
        ),
        ('{"answer": "No", "reasons": ["a", "b"]}', "decision", Decision("No", (), "a\nb")),
        ('{"fully_completed": true}', "validation", Validation(fully_completed=True)),
        (
            REJECTED,
            "validation",
            Validation(
                fully_completed=False,
                partially_completed=True,
                should_retry=False,
                warnings=("No tests", "Typos"),
            ),
        ),
        (
            '{"fully_completed": false, "warnings": "No tests"}',
            "validation",
            Validation(fully_completed=False, warnings=("No tests",)),
        ),
        (
            '{"fully_completed": false, "warnings": ""}',
            "validation",
            Validation(fully_completed=False),
        ),
    ],
)
def test_each_kind_has_its_keys(text: str, expects: Expects, expected: object) -> None:
    """One key is required; the others may be missing or null."""
    assert read_response(text, expects) == Finding(expected)  # type: ignore[arg-type] # one of the three


@pytest.mark.parametrize(
    ("text", "expects", "problems"),
    [
        ('{"completed": "yes"}', "process", ["`completed` must be true or false", "“yes”"]),
        ('{"completed": 1}', "process", ["`completed`", "the number 1"]),
        ('{"completed": null}', "process", ["`completed`", "null"]),
        ('{"completed": true, "secs_taken": "12"}', "process", ["`secs_taken` must be a number"]),
        ('{"completed": true, "secs_taken": -1}', "process", ["`secs_taken`", "of 0 or more"]),
        ('{"completed": true, "secs_taken": NaN}', "process", ["`secs_taken`"]),
        ('{"completed": true, "secs_taken": Infinity}', "process", ["`secs_taken`"]),
        ('{"completed": true, "tokens_used": 1.5}', "process", ["`tokens_used`", "whole number"]),
        ('{"completed": true, "tokens_used": true}', "process", ["`tokens_used`", "true"]),
        ('{"completed": true, "tokens_used": 1' + "0" * 40 + "}", "process", ["`tokens_used`"]),
        ('{"completed": true, "comments": {"a": 1}}', "process", ["`comments`", "an object"]),
        (
            '{"completed": [], "secs_taken": {}}',
            "process",
            ["`completed`", "`secs_taken`", "a list"],
        ),
        ('{"answer": 3}', "decision", ["`answer` must be a text"]),
        ('{"answer": "a", "choices": [1]}', "decision", ["`choices` must be a list of texts"]),
        ('{"fully_completed": "true"}', "validation", ["`fully_completed`", "“true”"]),
        ('{"fully_completed": true, "warnings": 3}', "validation", ["`warnings`", "number 3"]),
        ('{"fully_completed": true, "should_retry": "no"}', "validation", ["`should_retry`"]),
    ],
)
def test_wrong_types_are_named(text: str, expects: Expects, problems: list[str]) -> None:
    """The feedback says which key, what belongs there, and what stood there; all at once."""
    found = read_response(text, expects)
    assert found.meaning is None
    assert all(problem in found.problem for problem in problems), found.problem


@pytest.mark.parametrize("expects", ["process", "decision", "validation"])
def test_the_schema_describes_what_is_read(expects: Expects) -> None:
    """What fits the schema is a response; no agent is put off by `format`."""
    described = schema(expects, ("Yes", "No"))
    samples: dict[str, Any] = {"boolean": True, "number": 1.5, "integer": 2, "string": "Yes"}
    made = {
        key: ["Yes"] if value["type"] == "array" else samples[value["type"]]
        for key, value in described["properties"].items()
    }
    assert read_response(json.dumps(made), expects, ("Yes", "No")).meaning is not None
    assert described["required"] == list(described["properties"])
    assert '"format"' not in json.dumps(described)


# -- routes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "routes", "expected"),
    [
        ("Yes", ["Yes", "No"], "Yes"),
        ("yes", ["Yes", "No"], "Yes"),
        (" YES. ", ["Yes", "No"], "Yes"),
        ("**Yes**", ["Yes", "No"], "Yes"),
        ("“needs work”!", ["Needs\n  work", "Fine"], "Needs\n  work"),
        ("yes", ["Yes!", "yes"], "yes"),
        ("YES", ["Yes", "yes"], None),
        ("Yes?", ["Yes!", "yes"], None),
        ("c++", ["C", "C++"], "C++"),
        ("c", ["C", "C++"], "C"),
        ("+", ["+", "-"], "+"),
        ("*", ["+", "-"], None),
        ("...", ["!!!", "Yes"], None),
        ("", ["", "Yes"], ""),
        ("  ", ["!", "Yes"], None),
        ("Yes, go on", ["Yes", "No"], None),
        ("Ye", ["Yes", "No"], None),
        ("Maybe", ["Yes", "No"], None),
        ("STRASSE", ["Straße", "Weg"], "Straße"),
    ],
)
def test_an_answer_names_a_route(answer: str, routes: list[str], expected: str | None) -> None:
    """To the letter first; then case and outer punctuation do not count, if one route is left."""
    assert match_route(answer, routes) == expected


def test_an_answer_that_is_no_route_is_fed_back_with_the_routes() -> None:
    """The agent is told what it could have said."""
    found = read_response('{"answer": "Later"}', "decision", ["Yes", "No"])
    assert found == Finding(None, "`answer` must be one of “Yes”, “No”, but is the text “Later”.")


def test_the_route_is_spelled_as_in_the_chart() -> None:
    """What the agent wrote is kept beside it."""
    found = read_response('{"answer": "yes."}', "decision", ["Yes", "No"])
    assert found.meaning == Decision("yes.", route="Yes")


@given(st.lists(st.text(max_size=6), min_size=1, max_size=5), st.data())
def test_every_route_can_be_chosen(routes: list[str], data: st.DataObject) -> None:
    """However routes are named, each is reached by its own name."""
    route = data.draw(st.sampled_from(routes))
    assert match_route(route, routes) == route


# -- outputs -------------------------------------------------------------------------------------


def test_what_was_read_once_is_not_read_again() -> None:
    """A better reader never changes an old answer."""
    call = Call("S1/run", "CLAUDE", "Do it.", "process")
    old = Process(completed=False)
    assert read_output(call, Output("S1/run", DONE, meaning=old)) == Finding(old)
    assert read_output(call, Output("S1/run", DONE, problem="unclear")) == Finding(None, "unclear")
    assert read_output(call, Output("S1/run", DONE, error="time is up")) == Finding(
        None, "time is up"
    )


def test_an_output_that_nobody_has_read_is_read() -> None:
    """Whoever answers a Call from Python gives just a text."""
    call = Call("S1/run", "CLAUDE", "Do it.", "process")
    assert read_output(call, Output("S1/run", DONE)) == Finding(FOUND)
    assert read_output(Call("a", "CLAUDE", "Tell me."), Output("a", DONE)) == Finding(None)


_KEYS = st.sampled_from(["completed", "answer", "fully_completed", "secs_taken", "warnings", "x"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=8,
)
_PRINTED = st.lists(
    st.text(max_size=10) | _VALUES.map(json.dumps) | st.sampled_from(["{", '"', "```\n", "\\"]),
    max_size=6,
).map("".join)


@given(_PRINTED, st.sampled_from(["process", "decision", "validation"]), st.booleans())
def test_whatever_is_printed_can_be_kept(text: str, expects: Expects, routed: bool) -> None:
    """Reading never fails, says either what was meant or why not, and the journal can hold it."""
    found = read_response(text, expects, ("Yes", "No") if routed else ())
    assert (found.meaning is None) is bool(found.problem)
    if found.meaning is not None:
        assert found.meaning.__struct_config__.tag == expects
    output = Output("S1/run", meaning=found.meaning, problem=found.problem)
    written = msgspec.json.encode(output)
    assert msgspec.json.decode(written, type=Output) == output
