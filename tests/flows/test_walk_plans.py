"""What will be done at each step, and the most that it can cost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chart_strategies import charts, plain_page
from growth import Work, is_linear
from quandary.flows.walk import MOST_RETRIES, Defaults, Planned, most_calls, plan
from quandary.flows.wording import CHECK
from quandary.model.chart import Chart, Page, Route, Step, circles
from scripted_walks import chart, task

CODENAMES = ("CLAUDE", "CODEX", "GEMINI")


def only(step: Step, defaults: Defaults | None = None) -> Planned:
    """The plan of the first step of a chart with two ways out of it."""
    drawn = chart(step, task("y"), task("n"), routes="a>y:yes a>n:no")
    return plan(drawn, defaults or Defaults("CLAUDE"), CODENAMES)[0]


def alone(step: Step, defaults: Defaults | None = None) -> Planned:
    """The plan of a step that is all there is."""
    return plan(chart(step), defaults or Defaults("CLAUDE"), CODENAMES)[0]


# -- who is asked ----------------------------------------------------------------------------------


def test_metadata_goes_before_tags_and_tags_before_defaults() -> None:
    """Of two tags the first one that names an agent counts."""
    assert alone(Step("a", "Do")).cli == "CLAUDE"
    assert alone(Step("a", "Do", tags=("urgent", "gem ini", "CODEX"))).cli == "GEMINI"
    assert alone(Step("a", "Do", tags=("GEMINI",), metadata={"CLI": " codex "})).cli == "codex"
    assert alone(Step("a", "Do", tags=("GEMINI",), metadata={"cli": "  "})).cli == "GEMINI"
    assert plan(chart(Step("a", "Do", tags=("human",))), Defaults(), ())[0].cli == "HUMAN"


def test_whoever_does_a_step_also_judges_and_repeats_it_unless_others_are_named() -> None:
    """Fields, then the defaults, then the agent of the step."""
    step = alone(Step("a", "Do", tags=("CODEX",)))
    assert (step.validate_cli, step.retry_cli) == ("CODEX", "CODEX")
    step = alone(Step("a", "Do"), Defaults("CLAUDE", "GEMINI", "CODEX"))
    assert (step.validate_cli, step.retry_cli) == ("GEMINI", "CODEX")
    fields = {"validatecli": "CODEX", "Retry CLI": "GEMINI"}
    step = alone(Step("a", "Do", metadata=fields), Defaults("CLAUDE", "GEMINI", "CODEX"))
    assert (step.validate_cli, step.retry_cli) == ("CODEX", "GEMINI")


def test_numbers_are_read_as_people_and_programs_write_them() -> None:
    """`3`, `3.0` and `30s`; blank is as good as nothing."""
    fields = {"retries": "0", "timeout": "30s", "on_exhausted": "Continue"}
    step = alone(Step("a", "Do", metadata=fields))
    assert (step.retries, step.timeout, step.on_exhausted) == (0, 30.0, "continue")
    assert alone(Step("a", "Do", metadata={"retries": "2.0"})).retries == 2
    blank = alone(Step("a", "Do", metadata={"retries": " ", "timeout": ""}))
    assert (blank.retries, blank.timeout, blank.problems) == (3, 600.0, ())


def test_a_timeout_of_0_is_the_default() -> None:
    """Of the settings, or what is built in where these say 0, too."""
    for zero in ("0", "0.0", "0s"):
        step = Step("a", "Do", metadata={"timeout": zero})
        assert (alone(step).timeout, alone(step).problems) == (600.0, ())
        assert alone(step, Defaults(timeout=30.0)).timeout == 30.0
        assert alone(step, Defaults(timeout=0.0)).timeout == 600.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("retries", "-1"),
        ("retries", "many"),
        ("retries", "1.5"),
        ("retries", "²"),
        ("retries", "9" * 5000),
        ("retries", str(MOST_RETRIES + 1)),
        ("timeout", "-3"),
        ("timeout", "nan"),
        ("timeout", "1e999"),
        ("timeout", "soon"),
        ("on_exhausted", "stop"),
        ("no_validation", "perhaps"),
    ],
)
def test_a_value_of_the_wrong_kind_is_an_error_that_names_the_shape(field: str, value: str) -> None:
    """What was written is quoted, and the default stands in for it meanwhile."""
    step = alone(Step("a", "Write it", metadata={field: value}))
    (problem,) = step.problems
    assert problem.startswith(f"“Write it” (a): {field} is ")
    assert repr(value[:60]) in problem
    assert (step.retries, step.timeout, step.on_exhausted) == (3, 600.0, "fail")


def test_validation_is_switched_off_by_tag_or_field_and_the_field_counts_more() -> None:
    """Decisions are never validated, and nobody judges their own work."""
    assert alone(Step("a", "Do")).validate_prompt == CHECK
    assert (
        alone(Step("a", "Do", metadata={"validate prompt": "Short?"})).validate_prompt == "Short?"
    )
    assert not alone(Step("a", "Do", tags=("Urgent", "NO_Vali dation"))).validates
    assert not alone(Step("a", "Do", tags=("no-validation",))).validates
    tagged = Step("a", "Do", tags=("NoValidation",), metadata={"no_validation": "no"})
    assert alone(tagged).validates
    assert not only(Step("a", "Which?", metadata={"validate_prompt": "Short?"})).validates
    assert not alone(Step("a", "Do", tags=("HUMAN",))).validates
    assert alone(Step("a", "Do", tags=("HUMAN",)), Defaults("", "CODEX")).validates


def test_votes_are_a_number_or_names() -> None:
    """One vote is no vote; a step without ways to choose from has none."""
    assert only(Step("a", "Which?", metadata={"votes": "3"})).votes == ("CLAUDE",) * 3
    assert only(Step("a", "Which?", metadata={"votes": "1"})).votes == ()
    assert only(Step("a", "Which?", metadata={"votes": "x, y ,"})).votes == ("x", "y")
    for wrong in ("0", "26", "x", "²", "-1"):
        assert "votes is" in only(Step("a", "Which?", metadata={"votes": wrong})).problems[0]
    assert alone(Step("a", "Do", metadata={"votes": "3"})).problems == (
        "“Do” (a): votes is for decisions, and there is only one way out",
    )


def test_everybody_who_may_be_asked_is_named_once() -> None:
    """Without retries nobody is needed for them, nor a validator where nothing is validated."""
    fields = {"validate_cli": "V", "retry_cli": "R"}
    assert alone(Step("a", "Do", metadata=fields)).agents == ("CLAUDE", "R", "V")
    assert alone(Step("a", "Do", metadata={**fields, "retries": "0"})).agents == ("CLAUDE", "V")
    assert only(Step("a", "Which?", metadata=fields)).agents == ("CLAUDE", "R")
    assert only(Step("a", "Which?", metadata={**fields, "votes": "x, y"})).agents == ("x", "y")
    assert alone(Step("a", "Start", "terminator")).agents == ()
    assert alone(Step("a", "Do"), Defaults()).agents == ("",)


# -- what it can cost ------------------------------------------------------------------------------


def cost(drawn: Chart, **defaults: int) -> int:
    """The most calls, where a step without validation costs one."""
    given = Defaults("X", retries=0, max_visits=defaults.get("visits", 25))
    return most_calls(drawn, plan(drawn, given, ()), given)


def tasks(routes: str) -> Chart:
    """A chart of steps that cost one call each."""
    drawn = plain_page(routes)
    steps = tuple(task(step.id) for step in drawn.steps)
    return Chart("C", (Page("1", "", steps, drawn.routes),))


@pytest.mark.parametrize(
    ("step", "calls"),
    [
        (Step("a", "Do", metadata={"retries": "3"}), 4 + 8),
        (Step("a", "Do", metadata={"retries": "3", "validate_cli": "HUMAN"}), 4),
        (Step("a", "Do", metadata={"retries": "3", "cli": "HUMAN"}), 0),
        (Step("a", "Do", metadata={"retries": "3", "retry_cli": "HUMAN"}), 1 + 8),
        (task("a", "", retries="2"), 3),
        (Step("a", "End", "terminator"), 0),
    ],
)
def test_a_step_costs_its_attempts_and_their_judges(step: Step, calls: int) -> None:
    """A validator may have to be asked twice each time; a person is no call."""
    assert cost(chart(step)) == calls


def test_votes_may_each_have_to_be_cast_again() -> None:
    """A person's vote costs no call."""
    fields = {"votes": "x, y, HUMAN", "retries": "2"}
    drawn = chart(Step("a", "Which?", metadata=fields), task("y"), task("n"), routes="a>y:1 a>n:2")
    assert cost(drawn) == 2 * 3 + 1


def test_of_several_ways_the_longest_counts() -> None:
    """Branches are not added up."""
    assert cost(tasks("a>b:x a>c:y b>d c>e e>f f>d")) == 5


def test_a_loop_counts_as_often_as_it_may_be_walked() -> None:
    """What comes before and after it counts once."""
    assert cost(tasks("a>b b>c:on b>a2:back a2>b c>d"), visits=10) == 1 + 2 * 10 + 2
    assert cost(tasks("s>a a>a:again a>b:on"), visits=10) == 1 + 10 + 1


def test_what_nobody_can_reach_costs_nothing() -> None:
    """Steps off every way are not counted."""
    drawn = chart(
        Step("s", "Start", "terminator"), task("a"), task("x"), task("y"), routes="s>a x>y y>x"
    )
    assert cost(drawn) == 1


def test_a_chart_inside_without_a_beginning_costs_nothing() -> None:
    """It is never run: the plan tells the fault, and does not break on it."""
    circle = Page("i", "Inner", (task("x"), task("y")), (Route("x", "y"), Route("y", "x")))
    outer = Page("m", "", (task("a"), Step("p", "Inner", "subprocess")), (Route("a", "p"),))
    assert cost(Chart("C", (outer, circle), "m")) == 1


def test_a_chart_inside_counts_wherever_it_is_run_up_to_the_visits() -> None:
    """Twice in a row is twice; in a loop it is as often as its steps may be visited at all."""
    inner = Page("i", "Inner", (task("x"), task("y")), (Route("x", "y"),))
    calls = (Step("p", "Inner", "subprocess"), Step("q", "Inner", "subprocess"))
    twice = Page("m", "", (task("a"), *calls), (Route("a", "p"), Route("p", "q")))
    assert cost(Chart("C", (twice, inner), "m")) == 1 + 2 + 2
    ends = [Step("s", "Start", "terminator"), Step("e", "End", "terminator")]
    steps = (*calls, Step("c", "?", "decision"), *ends)
    again, enough = Route("c", "p", "again"), Route("c", "e", "enough")
    routes = (Route("s", "p"), Route("p", "q"), Route("q", "c"), again, enough)
    loop = Chart("C", (Page("m", "", steps, routes), inner), "m")
    assert cost(loop, visits=5) == 5 * (2 + 1)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_circles_are_what_leads_to_each_other(pairs: list[tuple[int, int]]) -> None:
    """Two steps are in one group if each can be reached from the other; later ones lead here."""
    onward: dict[str, list[str]] = {str(n): [] for n in range(8)}
    for source, target in pairs:
        onward[str(source)].append(str(target))

    def reach(step: str) -> set[str]:
        seen, waiting = {step}, [step]
        while waiting:
            new = [to for to in onward[waiting.pop()] if to not in seen]
            seen.update(new)
            waiting += new
        return seen

    groups = list(circles(onward))
    assert sorted(step for group in groups for step in group) == sorted(onward)
    for group in groups:
        assert {s for s in onward if s in reach(group[0]) and group[0] in reach(s)} == set(group)
    for earlier, later in pairwise(groups):
        assert later[0] not in reach(earlier[0])


@settings(max_examples=50)
@given(charts())
def test_any_chart_can_be_planned(drawn: Chart) -> None:
    """However odd, each reachable step is planned once, and the cost is a number."""
    defaults = Defaults("X")
    steps = plan(drawn, defaults, CODENAMES)
    assert len({(step.page, step.id) for step in steps}) == len(steps)
    assert most_calls(drawn, steps, defaults) >= 0


def test_twenty_thousand_steps_take_time_in_proportion() -> None:
    """Ten times as many steps take about ten times as long, not a hundred."""

    def prepare(count: int) -> Work:
        steps = tuple(Step(f"s{n}", f"Do part {n}") for n in range(count))
        routes = tuple(Route(f"s{n}", f"s{n + 1}") for n in range(count - 1))
        drawn = Chart("A long row", (Page("1", "", steps, routes),))

        def count_calls() -> None:
            found = plan(drawn, Defaults("X"), CODENAMES)
            assert most_calls(drawn, found, Defaults("X")) == 12 * count

        return count_calls

    assert is_linear(prepare, 2_000, 10)
