"""Walking a chart, without agents: what is asked of whom, and what becomes of the answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec.structs import replace

from quandary.errors import QuandaryError
from quandary.flows.steps import LONGEST_KEPT
from quandary.flows.walk import start, walk
from quandary.model.asks import Ask, Item, Limits
from quandary.model.calls import Assignment, Call, Decision, Output, Process, Validation
from quandary.model.chart import Chart, Page, Route, Step
from scripted_walks import DONE, START, ScriptedWalk, chart, task

if TYPE_CHECKING:
    from quandary.flows import Flow

# -- from step to step -----------------------------------------------------------------------------


def test_merges_and_loops_are_walked_as_drawn() -> None:
    """Two ways lead to one step, and a step that comes again is asked under another key."""
    drawn = chart(
        START,
        task("a"),
        Step("b", "Again?", "decision"),
        task("c"),
        task("d"),
        routes="s>a a>b b>a:again b>c:left b>d:right c>d",
    )
    said: dict[str, object] = {
        "Sb@1/run": {"answer": "again"},
        "Sb@2/run": {"answer": "left"},
    }
    trip = ScriptedWalk(walk(drawn, cli="X"), said)
    assert trip.result is not None
    assert trip.result["path"] == ["s", "a", "b", "a", "b", "c", "d"]
    assert list(trip.calls) == [
        "Sa@1/run",
        "Sb@1/run",
        "Sa@2/run",
        "Sb@2/run",
        "Sc@1/run",
        "Sd@1/run",
    ]
    assert [(step["id"], step["visit"]) for step in trip.steps][:4] == [
        ("a", 1),
        ("b", 1),
        ("a", 2),
        ("b", 2),
    ]
    straight = ScriptedWalk(walk(drawn, cli="X"), {"Sb@1/run": {"answer": "right"}})
    assert straight.result is not None
    assert straight.result["path"] == ["s", "a", "b", "d"]


@pytest.mark.parametrize("most", [1, 3, 25])
def test_no_step_comes_round_more_often_than_it_may(most: int) -> None:
    """`max_visits` ends a loop, and the run with it."""
    drawn = chart(task("s"), task("a"), task("b"), routes="s>a a>b b>a")
    trip = ScriptedWalk(walk(drawn, cli="X", max_visits=most))
    assert trip.error == f"“Do a” was visited more than {most} times (max_visits)"
    assert trip.result is not None
    assert trip.result["outcome"] == "failed"
    assert len(trip.calls) == 1 + 2 * most


def test_terminators_and_empty_shapes_call_nobody() -> None:
    """Start, End and a mere joint are passed by."""
    drawn = chart(
        Step("s", "Start", "terminator"),
        Step("j", "", "connector"),
        task("a"),
        Step("e", "End", "terminator"),
        routes="s>j j>a a>e",
    )
    trip = ScriptedWalk(walk(drawn, cli="X"))
    assert list(trip.calls) == ["Sa@1/run"]
    assert trip.result is not None
    assert trip.result["path"] == ["s", "j", "a", "e"]


def test_a_chart_that_cannot_be_walked_is_refused_at_once() -> None:
    """Every reason is named, and nothing is yielded."""
    with pytest.raises(QuandaryError, match=r"cannot be walked: .*unlabelled ways out"):
        walk(chart(task("a"), task("b"), task("c"), routes="a>b a>c"), cli="X")


def test_ids_that_look_alike_are_told_apart() -> None:
    """`a b` and `a_20_b` are written differently in keys."""
    drawn = chart(task("a b"), task("a_20_b"), task("a_b"))
    routes = (Route("a b", "a_20_b"), Route("a_20_b", "a_b"))
    drawn = Chart("C", (Page("1", "", drawn.pages[0].steps, routes),))
    trip = ScriptedWalk(walk(drawn, cli="X"))
    assert list(trip.calls) == ["Sa_20_b@1/run", "Sa_5f_20_5f_b@1/run", "Sa_b@1/run"]


def test_the_result_says_what_the_contract_names() -> None:
    """The chart, the outcome, and for every step who did it and what it cost."""
    steps = (task("a", "Write it"), Step("b", "Good?", "decision"), task("c"), task("d"))
    drawn = chart(*steps, routes="a>b b>c:yes b>d:no")
    drawn = Chart("Rounds", (Page("p", "", steps, drawn.pages[0].routes),))
    said: dict[str, object] = {
        "Sa@1/run": Output("Sa@1/run", json.dumps(DONE), seconds=1.25, tokens=7),
        "Sb@1/run": {"answer": "yes", "reasons": "It rhymes."},
    }
    trip = ScriptedWalk(walk(drawn, Item("7", title="The poem"), cli="X"), said)
    assert trip.result is not None
    assert {key: trip.result[key] for key in ("chart", "outcome", "item")} == {
        "chart": "Rounds",
        "outcome": "completed",
        "item": "The poem",
    }
    wrote, chose, _ = trip.steps
    assert wrote == {
        "id": "a",
        "name": "Write it",
        "kind": "process",
        "cli": "X",
        "route": None,
        "attempts": 1,
        "validation": None,
        "seconds": 1.25,
        "tokens": 7,
        "visit": 1,
        "page": "p",
        "output": "done",
    }
    assert (chose["kind"], chose["route"], chose["reasons"]) == ("decision", "yes", "It rhymes.")
    assert (trip.result["calls"], trip.result["tokens"], trip.result["seconds"]) == (3, 7, 1.25)


def test_what_an_agent_says_of_its_tokens_counts_where_nothing_else_does() -> None:
    """The program's own count goes before the answer's."""
    drawn = chart(task("a"), task("b"), routes="a>b")
    claims = json.dumps({"completed": True, "tokens_used": 5})
    said: dict[str, object] = {
        "Sa@1/run": Output("Sa@1/run", claims, meaning=Process(completed=True, tokens_used=5)),
        "Sb@1/run": Output(
            "Sb@1/run", claims, meaning=Process(completed=True, tokens_used=5), tokens=9
        ),
    }
    assert [step["tokens"] for step in ScriptedWalk(walk(drawn, cli="X"), said).steps] == [5, 9]


# -- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "route"),
    [("Yes", "Yes"), ("yes", "Yes"), ("“YES!”", "Yes"), (" no. ", "No"), ("not  now", "Not now")],
)
def test_case_and_outer_punctuation_of_an_answer_do_not_count(answer: str, route: str) -> None:
    """The way is taken that is meant, and the result spells it as the chart does."""
    steps = (Step("a", "Now?", "decision"), task("b"), task("c"), task("d"))
    routes = (Route("a", "b", "Yes"), Route("a", "c", "No"), Route("a", "d", "Not now"))
    trip = ScriptedWalk(
        walk(Chart("C", (Page("1", "", steps, routes),)), cli="X"), {"Sa@1/run": {"answer": answer}}
    )
    assert trip.steps[0]["route"] == route
    assert trip.steps[1]["id"] == {way.label: way.target for way in routes}[route]


def test_a_decision_that_nobody_takes_fails_even_where_the_rest_goes_on() -> None:
    """Without a route there is no way to continue."""
    drawn = chart(Step("a", "Now?", "decision"), task("b"), task("c"), routes="a>b:yes a>c:no")
    said: dict[str, object] = {f"Sa@1/{n}": {"answer": "?"} for n in ("run", "retry-1")}
    trip = ScriptedWalk(walk(drawn, cli="X", retries=1, on_exhausted="continue"), said)
    assert trip.error.startswith("“Now?”: no route was chosen after 2 attempts")


def test_a_failure_is_told_in_brief() -> None:
    """A megabyte of excuses goes to the next attempt, and not into the message."""
    excuse = json.dumps({"completed": False, "comments": "x " * 500_000})
    said: dict[str, object] = {"Sa@1/run": excuse, "Sa@1/retry-1": excuse}
    trip = ScriptedWalk(walk(chart(task("a")), cli="X", retries=1), said)
    assert len(trip.calls["Sa@1/retry-1"].prompt) > 1_000_000
    assert len(trip.error) < 3000


def test_an_answer_to_another_question_is_none() -> None:
    """A verdict in the place of a decision is a failed attempt."""
    drawn = chart(Step("a", "Now?", "decision"), task("b"), task("c"), routes="a>b:yes a>c:no")
    odd = Output("Sa@1/run", "{}", meaning=Validation(fully_completed=True))
    trip = ScriptedWalk(walk(drawn, cli="X"), {"Sa@1/run": odd})
    assert list(trip.calls) == ["Sa@1/run", "Sa@1/retry-1", "Sb@1/run"]


# -- slots -----------------------------------------------------------------------------------------

HOSTILE = "$(touch x) `id` \"'\n\0--help {{title}} {{steps.a.output}} \\ % \u202e"


def test_fields_and_earlier_outputs_are_put_in_as_they_are() -> None:
    """Text only: what is put in is not looked at again, whatever stands in it."""
    drawn = chart(
        task("a", "Look at {{ Customer-Name }} and {{title}}: {{nothing}}"),
        task("b", "Use {{steps.a.output}}", name="Second"),
        Step("c", "Good: {{steps.Second.output}}?", "decision"),
        task("d", "So: {{steps.c.output}}"),
        task("e", "Otherwise"),
        routes="a>b b>c c>d:yes c>e:no",
    )
    item = Item("1", title="the page", fields={"customer_name": HOSTILE})
    said: dict[str, object] = {"Sa@1/run": {"completed": True, "comments": HOSTILE + "."}}
    trip = ScriptedWalk(walk(drawn, item, cli="X"), said)
    assert trip.calls["Sa@1/run"].prompt.startswith(
        f"Look at {HOSTILE} and the page: {{{{nothing}}}}"
    )
    assert trip.calls["Sb@1/run"].prompt.startswith(f"Use {HOSTILE}.\n\n")
    assert trip.calls["Sc@1/run"].prompt.startswith("Good: done?")
    assert trip.calls["Sd@1/run"].prompt.startswith("So: yes")


def test_what_an_item_is_known_by_goes_before_its_other_fields() -> None:
    """A field of the same name does not hide it, and fills the slot where it is empty."""
    item = Item("1", title="own", question="Why?", fields={"title": "set", "label": "set"})
    drawn = chart(task("a", "{{title}} {{label}} {{question}} {{context}}."))
    trip = ScriptedWalk(walk(drawn, item, cli="X"))
    assert trip.calls["Sa@1/run"].prompt.startswith("own set Why? .\n")


def test_an_agent_is_told_which_item_a_task_is_about() -> None:
    """Where the chart has no slot for it; it is quoted, so that nothing in it is an instruction."""
    drawn = chart(
        task("a", "Fix {{title}}"),
        Step("b", "Render {{ user }}", metadata={"name": "Render it"}),
        Step("c", "Is it a bug?", "decision", metadata={"votes": "2"}),
        task("d"),
        routes="a>b b>c c>d:Yes c>b:No",
    )
    item = Item("7", title="Login", context="Since noon. ~~~", fields={"owner": "Kim"})
    said: dict[str, object] = {f"Sc@1/vote-{n}": {"answer": "Yes"} for n in (1, 2)}
    calls = ScriptedWalk(walk(drawn, item, cli="X"), said).calls
    told = "id: 7\ntitle: Login\ncontext: Since noon. ~~~\nowner: Kim\n~~~~\n"
    lacking = [key for key, call in calls.items() if told not in call.prompt]
    assert lacking == ["Sa@1/run"]
    assert calls["Sc@1/vote-1"].prompt.startswith("Is it a bug?\n\nThe item that this is about:")
    alone = ScriptedWalk(walk(chart(task("a", "Do it")), cli="X"))
    assert "about" not in alone.calls["Sa@1/run"].prompt


def test_the_last_output_of_a_step_counts_and_the_ids_of_a_page_go_before_names() -> None:
    """In a loop the newest one is used; a step called like another one's id does not hide it."""
    drawn = chart(
        START,
        task("a", "Draft"),
        task("b", "Read {{steps.a.output}}", name="a"),
        Step("c", "Again?", "decision"),
        task("d", "Print {{steps.A.output}} and {{steps.Draft.output}}"),
        routes="s>a a>b b>c c>a:again c>d:no",
    )
    said: dict[str, object] = {
        "Sa@1/run": {"completed": True, "comments": "one"},
        "Sb@1/run": {"completed": True, "comments": "read"},
        "Sc@1/run": {"answer": "again"},
        "Sa@2/run": {"completed": True, "comments": "two"},
        "Sc@2/run": {"answer": "no"},
    }
    trip = ScriptedWalk(walk(drawn, cli="X"), said)
    assert trip.calls["Sb@1/run"].prompt.startswith("Read one\n")
    assert trip.calls["Sb@2/run"].prompt.startswith("Read two\n")
    assert trip.calls["Sd@1/run"].prompt.startswith("Print done and two\n")


def test_the_words_for_a_validator_have_slots_too() -> None:
    """`validate_prompt` is filled like the prompt, and the validator gets the filled task."""
    step = Step("a", "Write {{title}}", metadata={"validate_prompt": "Is {{title}} short?"})
    trip = ScriptedWalk(walk(chart(step), Item("1", title="it"), cli="X"))
    prompt = trip.calls["Sa@1/validate-1"].prompt
    assert prompt.startswith("Is it short?\n\n")
    assert "Write it" in prompt


def test_without_comments_the_whole_text_is_handed_on() -> None:
    """An agent that writes its answer before the object has said it there."""
    drawn = chart(task("a"), task("b", "Use {{steps.a.output}}"), routes="a>b")
    trip = ScriptedWalk(
        walk(drawn, cli="X"), {"Sa@1/run": 'The answer is 42.\n{"completed": true}'}
    )
    assert trip.calls["Sb@1/run"].prompt.startswith('Use The answer is 42.\n{"completed": true}')


# -- charts inside charts --------------------------------------------------------------------------


def nested() -> Chart:
    """A main page that runs another one twice, and chooses a way after the second time."""
    main = Page(
        "m",
        "Main",
        (
            task("a", "Begin"),
            Step("p", "Proofread", "subprocess"),
            Step("q", "Was it good?", "subprocess", metadata={"page": "Proofread"}),
            task("e", "End with {{steps.Read.output}} and {{steps.a.output}}"),
        ),
        (Route("a", "p"), Route("p", "q"), Route("q", "e", "yes"), Route("q", "p", "no")),
    )
    inner = Page("i", "Proofread", (task("a", "Read"), task("b", "Mark")), (Route("a", "b"),))
    return Chart("Rounds", (main, inner), "m")


def test_a_step_that_names_a_page_runs_it() -> None:
    """Its steps have keys within the step's; with ways to choose from, it is a decision then."""
    said: dict[str, object] = {
        "Sp@1/chart+i+Sa@1/run": {"completed": True, "comments": "read once"},
        "Sq@1/chart+i+Sa@2/run": {"completed": True, "comments": "read twice"},
        "Sa@1/run": {"completed": True, "comments": "begun"},
    }
    trip = ScriptedWalk(walk(nested(), cli="X"), said)
    assert list(trip.calls) == [
        "Sa@1/run",
        "Sp@1/chart+i+Sa@1/run",
        "Sp@1/chart+i+Sb@1/run",
        "Sq@1/chart+i+Sa@2/run",
        "Sq@1/chart+i+Sb@2/run",
        "Sq@1/run",
        "Se@1/run",
    ]
    assert trip.calls["Se@1/run"].prompt.startswith("End with read twice and begun\n")
    assert [step["page"] for step in trip.steps] == ["m", "i", "i", "i", "i", "m", "m"]
    assert trip.result is not None
    assert trip.result["path"] == ["a", "p", "a", "b", "q", "a", "b", "e"]


def test_a_chart_inside_hands_on_what_its_last_step_did() -> None:
    """Unless a way is chosen behind it: then it is that."""
    said: dict[str, object] = {
        "Sp@1/chart+i+Sb@1/run": {"completed": True, "comments": "marked"},
        "Sq@1/run": {"answer": "yes"},
    }
    drawn = nested()
    end = task("e", "{{steps.Proofread.output}}, {{steps.q.output}}")
    main = replace(drawn.pages[0], steps=(*drawn.pages[0].steps[:3], end))
    trip = ScriptedWalk(walk(replace(drawn, pages=(main, drawn.pages[1])), cli="X"), said)
    assert trip.calls["Se@1/run"].prompt.startswith("marked, yes\n")
    assert "notes" not in (trip.result or {})


def test_what_a_chart_inside_hands_on_is_never_cut() -> None:
    """READINGS 47: the result shortens a very long output, the slot behind it does not."""
    marked = "x" * (LONGEST_KEPT + 1)
    said: dict[str, object] = {"Sp@1/chart+i+Sb@1/run": {"completed": True, "comments": marked}}
    drawn = nested()
    main = Page(
        "m",
        "Main",
        (drawn.pages[0].steps[1], task("e", "{{steps.Proofread.output}}")),
        (Route("p", "e"),),
    )
    trip = ScriptedWalk(walk(replace(drawn, pages=(main, drawn.pages[1])), cli="X"), said)
    assert trip.calls["Se@1/run"].prompt.startswith(f"{marked}\n")
    assert trip.steps[1]["output"] == marked[:LONGEST_KEPT]


def test_a_slot_for_a_step_of_this_page_is_not_filled_by_another_page() -> None:
    """A name is that of the page's own step, also where that one has handed nothing on."""
    drawn = nested()
    steps = (drawn.pages[0].steps[1], task("q", "Which?"), task("b", "Mark"), task("c", "Go"))
    end = task("e", "[{{steps.Mark.output}}] [{{steps.Read.output}}]")
    routes = (
        *(Route("p", "q"), Route("q", "b", "yes"), Route("q", "c", "no")),
        *(Route("b", "e"), Route("c", "e")),
    )
    main = Page("m", "Main", (*steps, end), routes)
    said: dict[str, object] = {"Sq@1/run": {"answer": "no"}}
    trip = ScriptedWalk(walk(replace(drawn, pages=(main, drawn.pages[1])), cli="X"), said)
    assert trip.calls["Se@1/run"].prompt.startswith("[] [done]\n")
    note = "“Mark” has handed nothing on, so its slot is empty."
    assert [one["text"] for one in (trip.result or {})["notes"]] == [note]


def test_what_fails_inside_fails_the_whole() -> None:
    """A run that cannot finish an inner chart does not go on outside of it."""
    said: dict[str, object] = {"Sp@1/chart+i+Sb@1/run": "no"}
    trip = ScriptedWalk(walk(nested(), cli="X", retries=0), said)
    assert trip.error.startswith("“Mark”: not done after one attempt")


def test_visits_count_in_all_places_together() -> None:
    """A page that is run from two places has its steps visited twice."""
    trip = ScriptedWalk(walk(nested(), cli="X", max_visits=1))
    assert trip.error == "“Read” was visited more than 1 times (max_visits)"


# -- budgets ---------------------------------------------------------------------------------------


def test_calls_beyond_the_budget_are_not_made() -> None:
    """The run stops between two calls, and what was done is in the result."""
    drawn = chart(Step("a", "Write"), Step("b", "Print"), routes="a>b")
    for most in range(4):
        trip = ScriptedWalk(walk(drawn, cli="X", max_calls=most))
        assert len(trip.calls) == most
        assert trip.error == f"the budget of {most} calls is used up"
        assert trip.result is not None
        assert trip.result["outcome"] == "stopped"
    assert ScriptedWalk(walk(drawn, cli="X", max_calls=4)).error == ""


def test_what_the_budget_did_not_pay_for_is_no_attempt() -> None:
    """Nor did anybody do it: neither the first attempt nor a further one."""
    drawn = chart(Step("a", "Write"), Step("b", "Print"), routes="a>b")
    trip = ScriptedWalk(walk(drawn, cli="X", max_calls=2))
    assert [(step["attempts"], step["cli"]) for step in trip.steps] == [(1, "X"), (0, "")]
    undone = {"Sa@1/run": {"completed": False}}
    trip = ScriptedWalk(walk(drawn, cli="X", retry_cli="Y", max_calls=1), undone)
    assert [(step["attempts"], step["cli"]) for step in trip.steps] == [(1, "X")]


def test_tokens_and_seconds_stop_the_next_call() -> None:
    """What a call costs is known when it is over; the one after it is not made."""
    drawn = chart(task("a"), task("b"), task("c"), routes="a>b b>c")
    said: dict[str, object] = {
        f"S{step}@1/run": Output(f"S{step}@1/run", json.dumps(DONE), tokens=60, seconds=6.0)
        for step in "abc"
    }
    by_tokens = ScriptedWalk(walk(drawn, cli="X", max_tokens=100), said)
    assert list(by_tokens.calls) == ["Sa@1/run", "Sb@1/run"]
    assert by_tokens.error == "the budget of 100 tokens is used up"
    by_time = ScriptedWalk(walk(drawn, cli="X", max_seconds=10), said)
    assert list(by_time.calls) == ["Sa@1/run", "Sb@1/run"]
    assert by_time.error == "the budget of 10 seconds is used up"
    assert by_time.steps[-1]["error"] == by_time.error


def test_no_call_may_take_longer_than_there_is_time_left() -> None:
    """The time-out of a call is the step's own, or what is left of the budget."""
    drawn = chart(task("a"), task("b"), routes="a>b")
    said: dict[str, object] = {"Sa@1/run": Output("Sa@1/run", json.dumps(DONE), seconds=7.0)}
    trip = ScriptedWalk(walk(drawn, cli="X", timeout=8, max_seconds=10), said)
    assert [call.timeout for call in trip.calls.values()] == [8, 3]


# -- interruptions ---------------------------------------------------------------------------------


def lost(key: str) -> Output:
    """A call whose end nobody saw."""
    return Output(key, error="It was interrupted.", interrupted=True)


def started(on_interrupted: str, *steps: Step, retries: int = 3, routes: str = "") -> Flow:
    """A walk that treats interruptions in that way."""
    return start(
        {
            "chart": msgspec.to_builtins(chart(*steps, routes=routes)),
            "defaults": {"cli": "X", "retries": retries, "on_interrupted": on_interrupted},
        }
    )


def test_an_interrupted_call_counts_as_an_attempt() -> None:
    """It is followed by a further attempt that knows of it, as long as there are any."""
    said: dict[str, object] = {"Sa@1/run": lost("Sa@1/run")}
    trip = ScriptedWalk(started("retry", task("a")), said)
    assert list(trip.calls) == ["Sa@1/run", "Sa@1/retry-1"]
    assert "It was interrupted." in trip.calls["Sa@1/retry-1"].prompt
    assert trip.steps[0]["attempts"] == 2
    assert ScriptedWalk(started("retry", task("a"), retries=0), said).error.startswith(
        "“Do a”: not done"
    )


@pytest.mark.parametrize("retries", [0, 2])
def test_a_person_can_be_asked_about_an_interrupted_call(retries: int) -> None:
    """Whoever says so gets it made again, however many attempts there were; or the run stops."""
    said: dict[str, object] = {"Sa@1/run": lost("Sa@1/run"), "Sa@1/run-interrupted": "AGN"}
    trip = ScriptedWalk(started("ask", task("a"), retries=retries), said)
    assert trip.error == ""
    assert list(trip.calls) == ["Sa@1/run", "Sa@1/retry-1"]
    assert "interrupted" in trip.asks["Sa@1/run-interrupted"].preamble.text
    stopped = ScriptedWalk(started("ask", task("a")), {**said, "Sa@1/run-interrupted": "STP"})
    assert stopped.result is not None
    assert stopped.result["outcome"] == "stopped"
    assert list(stopped.calls) == ["Sa@1/run"]


def test_an_interrupted_validator_has_not_judged() -> None:
    """It is asked the same again, which costs no attempt and is not its second chance."""
    keys = ("Sa@1/validate-1", "Sa@1/validate-1~2")
    said: dict[str, object] = {key: lost(key) for key in keys}
    said["Sa@1/validate-1~3"] = "fine"
    trip = ScriptedWalk(started("retry", Step("a", "Write"), retries=0), said)
    assert list(trip.calls) == ["Sa@1/run", *keys, "Sa@1/validate-1~3", "Sa@1/validate-1-again"]
    assert trip.calls[keys[1]].prompt == trip.calls[keys[0]].prompt
    assert trip.error == ""
    for_ever: dict[str, object] = {
        key: lost(key)
        for key in (*keys, *(f"Sa@1/validate-1~{n}" for n in range(3, 9)), "Sa@1/validate-1-again")
    }
    assert (
        "could not be understood"
        in ScriptedWalk(started("retry", Step("a", "Write")), for_ever).error
    )


def test_every_request_says_which_part_of_the_walk_it_is() -> None:
    """Step, visit, role and attempt stand in the request, so that nobody takes its key apart."""
    keys = ("Sa@1/validate-1", "Sa@1/validate-1~2", "Sa@1/validate-1-again")
    said: dict[str, object] = {keys[0]: lost(keys[0]), "Sa@1/validate-1-interrupted": "AGN"}
    said |= {keys[1]: "what?", keys[2]: {"fully_completed": False}, "Sb@1/vote-1": "neither"}
    said |= {"Sb@1/vote-1~2": {"answer": "x"}, "Sb@1/vote-2": "Y", "Sb@1/tie": "X"}
    voting = Step("b", "Which?", "decision", (), {"votes": "X, HUMAN"})
    steps = (Step("a", "Write"), voting, task("c"), task("d"))
    trip = ScriptedWalk(started("ask", *steps, routes="a>b b>c:x b>d:y", retries=1), said)
    assert trip.error == ""
    parts = {key: call.assignment for key, call in trip.calls.items()}
    parts |= {key: ask.assignment for key, ask in trip.asks.items()}
    assert parts == {
        "Sa@1/run": Assignment("1", "a", 1, "run"),
        keys[0]: Assignment("1", "a", 1, "validate-1", "check"),
        "Sa@1/validate-1-interrupted": Assignment("1", "a", 1, "validate-1-interrupted", "again"),
        keys[1]: Assignment("1", "a", 1, "validate-1", "check"),
        keys[2]: Assignment("1", "a", 1, "validate-1-again", "check"),
        "Sa@1/retry-1": Assignment("1", "a", 1, "retry-1", "work", 2),
        "Sa@1/validate-2": Assignment("1", "a", 1, "validate-2", "check", 2),
        "Sb@1/vote-1": Assignment("1", "b", 1, "vote-1", "vote"),
        "Sb@1/vote-1~2": Assignment("1", "b", 1, "vote-1", "vote", 2),
        "Sb@1/vote-2": Assignment("1", "b", 1, "vote-2", "vote", 2),
        "Sb@1/tie": Assignment("1", "b", 1, "tie", "tie", 2),
        "Sc@1/run": Assignment("1", "c", 1, "run"),
    }


def test_the_limits_of_a_host_hold_for_headers() -> None:
    """A narrow box gets a short header, which keeps the item's id."""
    drawn = chart(task("a", "Approve the release notes", "HUMAN"))
    trip = ScriptedWalk(walk(drawn, Item("4.2"), limits=Limits(header=12)))
    assert isinstance(trip.waits, Ask)
    assert trip.waits.questions[0].header == "4.2. Approv…"


def test_a_run_in_which_the_only_way_out_was_chosen_goes_on() -> None:
    """As journals have it that were written when one labelled way was a decision."""
    flow = walk(chart(task("a"), task("b"), routes="a>b:next"), cli="X")
    first = next(flow)
    assert isinstance(first, Call)
    assert (first.expects, first.routes) == ("process", ())
    second = flow.send(Output(first.key, "{}", meaning=Decision("Next", route="next")))
    assert isinstance(second, Call)
    assert second.key == "Sb@1/run"


def test_a_run_with_a_task_in_a_terminator_that_began_before_goes_on() -> None:
    """Such a chart is refused only where a walk begins."""
    drawn = chart(task("a"), Step("t", "Tell them", "terminator"), task("b"), routes="a>t t>b")
    with pytest.raises(QuandaryError, match="drawn as a terminator"):
        walk(drawn, cli="X")
    flow = start({"chart": msgspec.to_builtins(drawn), "defaults": {"cli": "X"}})
    assert isinstance(next(flow), Call)


# -- what people see -------------------------------------------------------------------------------


def test_a_person_sees_what_the_step_before_produced() -> None:
    """And how it was decided since; not what the task says already."""
    steps = (
        task("a", "Write it"),
        Step("b", "Good?", "decision"),
        Step("c", "Read it", tags=("HUMAN",)),
        Step("d", "Print {{steps.c.output}}", tags=("HUMAN",)),
    )
    drawn = chart(*steps, routes="a>b b>c:yes b>d:no c>d")
    said: dict[str, object] = {
        "Sa@1/run": {"completed": True, "comments": "A poem."},
        "Sb@1/run": {"answer": "yes", "reasons": "It rhymes."},
        "Sc@1/run": {"picked": ("DONE",), "comment": "Lovely."},
    }
    trip = ScriptedWalk(walk(drawn, cli="X"), said)
    shown = trip.asks["Sc@1/run"].preamble.text
    assert "What came of “Write it”:\n\nA poem." in shown
    assert "“Good?”: yes (It rhymes.)" in shown
    assert "What came of" not in trip.asks["Sd@1/run"].preamble.text


def test_slots_are_filled_in_names_options_and_progress() -> None:
    """The way that is taken is the one that is drawn, and codes do not depend on the item."""
    steps = (
        task("a", "Look at {{title}}"),
        Step("q", "Is {{title}} fine: {{steps.a.output}}?", "decision", ("HUMAN",)),
        task("y", "Send {{title}}"),
        task("n", "Drop {{title}}"),
    )
    drawn = chart(*steps, routes="a>q q>y:Send-{{title}} q>n:Drop-{{title}}")
    item = Item("7", title="the poem")
    trip = ScriptedWalk(walk(drawn, item, cli="X"), {"Sq@1/run": "DROP-TITLE"})
    assert trip.calls["Sa@1/run"].about == "Look at the poem"
    (question,) = trip.asks["Sq@1/run"].questions
    options = [(choice.label, choice.description) for choice in question.choices]
    assert options == [
        ("Send-the poem", "Next: Send the poem"),
        ("Drop-the poem", "Next: Drop the poem"),
    ]
    assert [step["name"] for step in trip.steps] == [
        "Look at the poem",
        "Is the poem fine: done?",
        "Drop the poem",
    ]
    assert trip.steps[1]["route"] == "Drop-the poem"
    agents = chart(*steps[:1], Step("q", "Fine?", "decision"), *steps[2:])
    agents = Chart("C", (Page("p", "", agents.pages[0].steps, drawn.pages[0].routes),))
    trip = ScriptedWalk(walk(agents, item, cli="X"), {"Sq@1/run": {"answer": "drop-the poem"}})
    assert trip.result is not None
    assert trip.result["path"] == ["a", "q", "n"]


def test_a_slot_of_a_branch_that_was_not_taken_is_empty_and_said() -> None:
    """To the person who is asked next, and in the result."""
    text = "Sum up: [{{steps.b.output}}] [{{steps.c.output}}]"
    steps = (Step("a", "Which?", "decision"), task("b"), task("c"), task("d", text, "HUMAN"))
    drawn = chart(*steps, routes="a>b:yes a>c:no b>d c>d")
    trip = ScriptedWalk(walk(drawn, cli="X"), {"Sd@1/run": "DONE"})
    assert trip.result is not None
    ask = trip.asks["Sd@1/run"]
    assert "Sum up: [done] []" in ask.preamble.text
    said = "“c” has handed nothing on, so its slot is empty."
    assert said in [note.text for note in ask.notes]
    assert trip.result["notes"] == [{"kind": "empty", "text": said, "item": "1"}]


@pytest.mark.parametrize(
    ("slot", "said"),
    [
        ("steps.Nobody.output", "uses {{steps.Nobody.output}}; no such step"),
        ("customer", "uses {{customer}}, a field that no item has"),
        ("context", "its place would be empty"),
    ],
)
@pytest.mark.parametrize(
    "fields", [{"cli": "HUMAN"}, {"validate_cli": "HUMAN"}, {"retry_cli": "HUMAN"}, {"votes": "2"}]
)
def test_a_slot_that_nothing_fills_is_refused_before_a_person_is_asked(
    slot: str, said: str, fields: dict[str, str]
) -> None:
    """READINGS 54: in every door, whoever may be asked: to work, to judge, to break a tie."""
    step = Step("a", f"Call {{{{{slot}}}}}", metadata=fields)
    drawn = chart(step)
    if "votes" in fields:
        drawn = chart(step, task("b"), task("c"), routes="a>b:yes a>c:no")
    with pytest.raises(QuandaryError, match="cannot be walked") as refused:
        walk(drawn, Item("7", title="Dates"), cli="X")
    assert said in str(refused.value)
    walk(chart(task("a", f"Call {{{{{slot}}}}}")), Item("7", title="Dates"), cli="X")


def test_slots_are_filled_in_the_name_of_the_chart() -> None:
    """A person reads it above their question; what nothing fills is refused there, too."""
    drawn = chart(task("a", "Call them", "HUMAN"), name="Refund for {{title}}")
    trip = ScriptedWalk(walk(drawn, Item("7", title="Ann")), {"Sa@1/run": "DONE"})
    assert trip.asks["Sa@1/run"].preamble.text.startswith("**Refund for Ann**, for Ann")
    assert trip.result is not None
    assert trip.result["chart"] == "Refund for Ann"
    with pytest.raises(QuandaryError, match=r"uses \{\{title\}\}, a field that no item has"):
        walk(drawn)


def test_a_slot_may_name_a_step_by_its_whole_first_line() -> None:
    """However long that is, in any case, and from another page; the name as it is shown will do."""
    line = "Compare the invoice with the order line by line and note each amount that differs"
    shown = task("a", line).name
    assert shown.endswith("…")
    slots = " ".join(f"{{{{steps.{name}.output}}}}" for name in (line, line.upper(), shown))
    part = Page("2", "Part", (task("w", f"Write {slots}"),))
    steps = (task("a", line), task("b", slots), Step("p", "Part", "subprocess"))
    drawn = chart(*steps, routes="a>b b>p")
    drawn = Chart("Two", (*drawn.pages, part), drawn.pages[0].id)
    calls = ScriptedWalk(walk(drawn, cli="X")).calls
    assert [key for key, call in calls.items() if "done done done" in call.prompt] == [
        "Sb@1/run",
        "Sp@1/chart+2+Sw@1/run",
    ]


def test_what_is_still_ahead_is_not_said_to_be_empty() -> None:
    """A way out may name what only this decision hands on, which is filled when it is reached."""
    steps = (
        Step("a", "Which?", "decision", ("HUMAN",)),
        task("b", "Do it as {{steps.a.output}}"),
        task("c"),
    )
    trip = ScriptedWalk(walk(chart(*steps, routes="a>b:yes a>c:no"), cli="X"), {"Sa@1/run": "YES"})
    ask = trip.asks["Sa@1/run"]
    assert ask.questions[0].choices[0].description == "Next: Do it as …"
    assert [*ask.notes, *(trip.result or {}).get("notes", ())] == []
    assert trip.calls["Sb@1/run"].about == "Do it as yes"


def test_what_goes_wrong_names_the_item() -> None:
    """As many are walked at once."""
    said: dict[str, object] = {"Sa@1/run": {"completed": False}}
    for item, named in ((Item("7", title="Dates"), "Dates: “Do a”"), (Item("2"), "item 2: “Do a”")):
        trip = ScriptedWalk(walk(chart(task("a")), item, cli="X", retries=0), said)
        assert trip.error.startswith(named)
    assert ScriptedWalk(walk(chart(task("a")), cli="X", retries=0), said).error.startswith("“Do a”")
