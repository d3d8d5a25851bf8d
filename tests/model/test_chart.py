"""A chart: what kind each step is, where its ways lead, and where a run begins."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from chart_strategies import charts, page, plain_page
from quandary.flows.responses import match_route
from quandary.model.calls import fold
from quandary.model.chart import QUIET, Chart, Map, Page, Step

# kinds


def test_a_step_with_several_ways_out_is_a_decision_and_with_one_a_process() -> None:
    """However it is drawn, and whether the only way out has a label or not."""
    plan = Map(plain_page("a>b:Yes a>c:No"))
    assert plan.kind(plan.steps["a"]) == "decision"
    for ways in ("a>b:Yes", "a>b", ""):
        for a in (Step("a", "A"), Step("a", "A", "decision")):
            plan = Map(page(a, Step("b", "B"), routes=ways))
            assert (plan.kind(plan.steps["a"]), plan.choices(plan.steps["a"])) == ("process", [])
    plan = Map(page(Step("a", "A", "connector"), Step("b", "B"), routes="a>b:next"))
    assert plan.kind(plan.steps["a"]) == "connector"


def test_nobody_is_called_at_terminators_connectors_and_empty_shapes() -> None:
    """They are passed through."""
    steps = (Step("s", "Start", "terminator"), Step("c", "A", "connector"), Step("e", " \n"))
    plan = Map(page(*steps, Step("x", "Work"), routes="s>c c>e e>x"))
    assert [plan.kind(step) in QUIET for step in plan.steps.values()] == [True, True, True, False]


def test_a_subprocess_that_names_a_page_runs_it() -> None:
    """By its text or a data field, spelling aside; otherwise it is a step like any other."""
    other = Page("9", "Second look", (Step("x", "Look"),))
    named = Step("a", "second LOOK", "subprocess")
    by_field = Step("b", "Look again", "subprocess", metadata={"Page": "Second look"})
    nothing = Step("c", "Third look", "subprocess")
    not_one = Step("d", "Second look")
    first = page(named, by_field, nothing, not_one)
    chart = Chart("C", (first, other))
    plan = Map(first, chart)
    kinds = [plan.kind(step) for step in first.steps]
    assert kinds == ["subprocess", "subprocess", "process", "process"]
    assert chart.called(named) is other
    assert chart.called(by_field) is other
    assert chart.called(nothing) is None
    assert Map(first).kind(named) == "process"


# ways


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ("Yes", "b"),
        (" Yes\n", "b"),
        ("yes", "b"),
        ("**Yes**.", "b"),
        ("“NO!”", "c"),
        ("No way", None),
        ("", None),
        ("> 5", "d"),
        ("< 5", "e"),
        ("5", None),
        ("+", "f"),
        ("-", None),
    ],
)
def test_an_answer_names_a_way(answer: str, target: str | None) -> None:
    """Exactly, else without case and outer punctuation; what fits two names neither."""
    labels = {"b": "Yes", "c": "No", "d": "> 5", "e": "< 5", "f": "+"}
    assert match_route(answer, list(labels.values())) == labels.get(target or "")


def test_a_step_goes_on_where_there_is_one_way() -> None:
    """At an end there is none, and where there are several somebody has to choose."""
    plan = Map(plain_page("a>b b>c:x b>d:y"))
    onward = plan.onward(plan.steps["a"])
    assert onward is not None
    assert plan.follow(onward).id == "b"
    assert plan.onward(plan.steps["b"]) is None
    assert plan.onward(plan.steps["c"]) is None


def test_walking_comes_to_every_step_once() -> None:
    """Merges and loops are walked as drawn, the first way out first."""
    plan = Map(plain_page("a>b:1 a>c:2 b>d c>d d>a:back d>e:on f>a"))
    assert [step.id for step in plan.walk(plan.steps["a"])] == ["a", "b", "d", "e", "c"]


# beginnings


def start(*steps: Step, routes: str = "") -> list[str]:
    """Where a page could begin."""
    return [step.id for step in Map(page(*steps, routes=routes)).starts]


def test_a_run_begins_at_the_start_terminator() -> None:
    """Even if something leads back to it, and whatever else has no way in."""
    s, a, b = Step("s", "START.", "terminator"), Step("a", "A"), Step("b", "B")
    assert start(a, s, b, routes="s>a a>s:again") == ["s"]


def test_a_terminator_that_only_leads_on_is_a_start() -> None:
    """Whatever language its text is in."""
    s, a, e = Step("s", "Anfang", "terminator"), Step("a", "A"), Step("e", "Ende", "terminator")
    assert start(s, a, e, Step("loose", "L"), routes="s>a a>e") == ["s"]


def test_an_end_that_is_called_start_is_no_start() -> None:
    """Something leads to it, and nothing leads on."""
    assert start(Step("a", "A"), Step("e", "Start", "terminator"), routes="a>e") == ["a"]


def test_otherwise_a_run_begins_where_nothing_leads_to() -> None:
    """One such step is a beginning, several or none are a question."""
    a, b, c = Step("a", "A"), Step("b", "B"), Step("c", "C")
    assert start(a, b, c, routes="a>b b>c c>b:back") == ["a"]
    assert start(a, b, c, routes="a>c b>c") == ["a", "b"]
    assert start(a, b, routes="a>b b>a") == []
    assert Map(page(a, b, c, routes="a>c b>c")).start is None
    assert start(a, b, routes="a>a:again a>b:on") == ["a"]


# steps


@pytest.mark.parametrize("key", ["validate_cli", "Validate-CLI", "validatecli", " VALIDATE  CLI "])
def test_data_fields_are_found_however_they_are_spelt(key: str) -> None:
    """Case, spaces, hyphens and underscores do not count."""
    step = Step("a", metadata={key: "GEMINI"})
    assert step.field("validate_cli") == "GEMINI"
    assert step.field("validate") is None
    assert fold(key) == "validatecli"


def test_a_blank_data_field_is_none() -> None:
    """Of two spellings, the one with something in it counts."""
    step = Step("a", metadata={"Retries": " ", "retries": "2"})
    assert step.field("retries") == "2"
    assert Step("a", metadata={"cli": ""}).field("cli") is None


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (Step("7", "Run the tests"), "Run the tests"),
        (Step("7", "\n  Run   the tests \nAll of them"), "Run the tests"),
        (Step("7", "Run the tests", metadata={"Name": "Tests"}), "Tests"),
        (Step("7", ""), "7"),
        (Step("7", "a" * 80), "a" * 59 + "…"),
    ],
)
def test_a_step_has_a_name(step: Step, name: str) -> None:
    """Its data field, else its first line, else its id; not too long."""
    assert step.name == name


def test_a_prompt_may_stand_in_a_data_field() -> None:
    """The text in the shape is then only a title."""
    step = Step("7", "Tests", metadata={"prompt": "Run every test there is"})
    assert (step.name, step.prompt) == ("Tests", "Run every test there is")
    assert Step("7", "Tests").prompt == "Tests"


def test_steps_are_found_by_name_or_id() -> None:
    """An id comes before a name, a name before one that is spelt alike."""
    steps = (Step("1", "Look up"), Step("2", "1"), Step("3", "look-UP"), Step("4", "other"))
    plan = Map(page(*steps))
    assert [step.id for step in plan.named("1")] == ["1"]
    assert [step.id for step in plan.named("Look up")] == ["1"]
    assert [step.id for step in plan.named("look_up")] == ["1", "3"]
    assert plan.named("nobody") == []


# the whole


def test_a_page_is_found_by_name_or_id() -> None:
    """A name comes before an id, and spelling counts only where it has to."""
    chart = Chart("C", (Page("1", "2"), Page("2", "Main flow"), Page("3", "main-flow")))
    found = [chart.named(name) for name in ("2", "1", "Main flow", "MAIN FLOW", "main-flow")]
    assert [[page.id for page in pages] for pages in found] == [
        ["1"],
        ["1"],
        ["2"],
        ["2", "3"],
        ["3"],
    ]
    assert chart.named("none") == []


def test_a_run_begins_on_the_page_that_is_named() -> None:
    """Else on the first."""
    chart = Chart("C", (Page("1", "One"), Page("2", "Two")), "2")
    assert chart.first is not None
    assert chart.first.name == "Two"
    first = Chart("C", chart.pages).first
    assert first is not None
    assert first.name == "One"
    assert Chart("C").first is None


@given(charts())
def test_a_chart_is_kept_as_plain_data(chart: Chart) -> None:
    """As a JSON document and back it is the same chart, with the same fingerprint."""
    document = msgspec.json.encode(msgspec.to_builtins(chart))
    again = msgspec.convert(msgspec.json.decode(document), Chart)
    assert again == chart
    assert again.digest == chart.digest


@given(charts())
def test_a_fingerprint_is_of_what_is_said(chart: Chart) -> None:
    """Where things stand in their file does not count; anything else does."""
    pages = [
        replace(
            page,
            line=7,
            steps=tuple(replace(step, line=7) for step in page.steps),
            routes=tuple(replace(route, line=7) for route in page.routes),
        )
        for page in chart.pages
    ]
    moved = replace(chart, pages=tuple(pages))
    assert moved == chart
    assert hash(moved) == hash(chart)
    assert moved.digest == chart.digest
    first, *rest = chart.pages
    more = replace(first, steps=(*first.steps, Step("new")))
    changed = replace(chart, pages=(more, *rest))
    assert changed != chart
    assert changed.digest != chart.digest


def test_data_in_another_order_is_the_same() -> None:
    """The order of columns means nothing."""
    one = Chart("C", (page(Step("a", metadata={"x": "1", "y": "2"})),))
    two = Chart("C", (page(Step("a", metadata={"y": "2", "x": "1"})),))
    assert one == two
    assert one.digest == two.digest
