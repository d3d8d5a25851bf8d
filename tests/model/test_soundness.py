"""Whether a chart can be walked: every rule, everything at once, the shapes named."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from msgspec.structs import replace

from chart_strategies import charts, page, plain_page
from growth import is_linear
from quandary.flows.responses import match_route
from quandary.model.chart import Chart, Map, Page, Problem, Route, Scenery, Step, check


def problems(*pages: Page, start: str = "") -> list[Problem]:
    """What is wrong with a chart of these pages."""
    return list(check(Chart("C", pages, start)))


def rules(*pages: Page) -> list[str]:
    """The rules that a chart of these pages breaks, errors in capitals."""
    return [p.rule.upper() if p.severity == "error" else p.rule for p in problems(*pages)]


def only(*pages: Page) -> Problem:
    """The one thing that is wrong."""
    (problem,) = problems(*pages)
    return problem


def test_a_sound_chart_has_no_problems() -> None:
    """Merges, loops, one start, labels that differ."""
    s, e = Step("s", "Start", "terminator"), Step("e", "End", "terminator")
    steps = (s, Step("a", "Work"), Step("d", "Done?", "decision"), Step("b", "Mend"), e)
    assert problems(page(*steps, routes="s>a a>d d>e:Yes d>b:No b>a")) == []


def test_several_unlabelled_ways_out() -> None:
    """Nobody could say which one to take."""
    problem = only(plain_page("a>b a>c"))
    assert (problem.rule, problem.severity, problem.steps) == (
        "several-unlabelled",
        "error",
        ("a",),
    )
    assert problem.message == (
        "“Do a” (a) has 2 unlabelled ways out (to “Do b” (b), “Do c” (c)); "
        "write on each line when it is taken"
    )


def test_two_unlabelled_lines_to_one_step() -> None:
    """Drawn twice is drawn wrong, even if both lead to the same step."""
    assert rules(plain_page("a>b a>b")) == ["SEVERAL-UNLABELLED"]


def test_an_unlabelled_way_beside_labelled_ones() -> None:
    """No answer could name it."""
    problem = only(plain_page("a>b:Yes a>c"))
    assert problem.rule == "label-missing"
    assert "from “Do a” (a) to “Do c” (c)" in problem.message


@pytest.mark.parametrize("labels", [("Yes", "Yes"), ("Yes", "yes"), ("a  b", "A b")])
def test_two_ways_with_one_label(labels: tuple[str, str]) -> None:
    """Case and spaces do not tell two ways apart."""
    steps = (Step("a", "A?"), Step("b", "B"), Step("c", "C"))
    routes = (Route("a", "b", labels[0]), Route("a", "c", labels[1]))
    problem = only(Page("1", "", steps, routes))
    assert (problem.rule, problem.severity) == ("duplicate-route", "error")
    assert "“B” (b) and “C” (c)" in problem.message


@pytest.mark.parametrize("labels", [("> 5", "< 5"), ("Yes", "Yes!"), ("+", "-")])
def test_labels_that_differ_in_signs_are_two_labels(labels: tuple[str, str]) -> None:
    """An exact answer names one of them."""
    steps = (Step("a", "A?"), Step("b", "B"), Step("c", "C"))
    routes = (Route("a", "b", labels[0]), Route("a", "c", labels[1]))
    assert problems(Page("1", "", steps, routes)) == []


@pytest.mark.parametrize(
    ("route", "said"),
    [
        (Route("a", ""), "a line from “A” (a) leads to nowhere"),
        (Route("", "a", "No"), "the line “No” from nowhere leads to “A” (a)"),
        (Route("a", "99"), "a line from “A” (a) leads to 99, which is no step here"),
        (Route("a", "9"), "a line from “A” (a) leads to the container “Sales team”"),
        (Route("8", "a"), "a line from the group 8 leads to “A” (a)"),
    ],
)
def test_a_line_to_nowhere(route: Route, said: str) -> None:
    """Both ends belong to steps; what else they are joined to is named."""
    scenery = (Scenery("9", "container", "Sales\nteam"), Scenery("8", "group"))
    drawn = Page("1", "", (Step("a", "A"),), (route,), scenery)
    problem = only(drawn)
    assert (problem.rule, problem.severity, problem.steps) == ("line-to-nowhere", "error", ("a",))
    assert problem.message == f"{said}; join both of its ends to steps"


def test_a_line_joined_to_nothing_is_decoration() -> None:
    """It is left out, and that is said."""
    problem = only(Page("1", "", (Step("a", "A"),), (Route("", "", "x"),)))
    assert (problem.rule, problem.severity) == ("loose-line", "warning")


def test_several_beginnings() -> None:
    """They are all named, up to a few."""
    problem = only(plain_page("a>z b>z"))
    assert (problem.rule, problem.steps) == ("several-starts", ("a", "b"))
    assert "“Do a” (a), “Do b” (b)" in problem.message
    many = only(plain_page(" ".join(f"{letter}>z" for letter in "abcdefgh")))
    assert "“Do e” (e) and 3 more" in many.message


def test_two_terminators_called_start() -> None:
    """One of them is one too many."""
    two = (Step("s", "Start", "terminator"), Step("t", "start", "terminator"), Step("a", "A"))
    assert rules(page(*two, routes="s>a t>a")) == ["SEVERAL-STARTS"]


def test_no_beginning() -> None:
    """Where everything leads to everything, nothing is first."""
    problem = only(plain_page("a>b b>a"))
    assert (problem.rule, problem.severity) == ("no-start", "error")
    assert "“Do a” (a), “Do b” (b)" in problem.message


def test_steps_that_nothing_leads_to() -> None:
    """They are never run; that is a warning, since they do no harm."""
    s = Step("s", "Start", "terminator")
    loose = (Step("x", "X"), Step("y", "Y"))
    problem = only(page(s, Step("a", "A"), *loose, routes="s>a x>y"))
    assert (problem.rule, problem.severity, problem.steps) == ("unreachable", "warning", ("x", "y"))
    nothing = only(page(s, *loose, routes="x>y"))  # where no line leads away from the beginning
    assert (nothing.rule, nothing.severity, nothing.steps) == ("unreachable", "error", ("x", "y"))
    assert "“X” (x), “Y” (y)" in problem.message


def test_a_circle_without_a_way_out() -> None:
    """A run would only end when it has gone round too often."""
    problem = only(plain_page("a>b b>c:x b>d:y c>c"))
    assert (problem.rule, problem.severity, problem.steps) == ("endless", "warning", ("c",))


def test_a_decision_without_text() -> None:
    """Nobody can be asked nothing; anywhere else, nobody is asked."""
    steps = (Step("a", "", "decision"), Step("b", "B"), Step("c", "", "process"))
    assert rules(page(*steps, routes="a>b:Yes a>c:No")) == ["NO-TEXT", "no-text"]
    (error, warning) = problems(page(*steps, routes="a>b:Yes a>c:No"))
    assert "“Yes”, “No”" in error.message
    assert warning.steps == ("c",)


def test_a_text_in_a_data_field_is_a_text() -> None:
    """The prompt may stand there."""
    asked = Step("a", "", "decision", metadata={"prompt": "Which?"})
    assert problems(page(asked, Step("b", "B"), Step("c", "C"), routes="a>b:Yes a>c:No")) == []


def test_a_terminator_with_several_ways_out() -> None:
    """Nobody is called there who could choose."""
    s = Step("s", "Start", "terminator")
    steps = (s, Step("a", "A"), Step("b", "B"))
    assert rules(page(*steps, routes="s>a:one s>b:two")) == ["TERMINATOR-CHOICE"]
    assert rules(page(*steps, routes="s>a s>b")) == ["SEVERAL-UNLABELLED"]


@pytest.mark.parametrize("text", ["Collect the logs", "End of the month report"])
def test_a_task_in_a_terminator_is_refused_unless_it_is_declared(text: str) -> None:
    """Nobody would be called there: said at a beginning, refused between other steps."""
    s, b, e = Step("s", "Start", "terminator"), Step("b", "B"), Step("e", "All done", "terminator")

    def found(task: Step, routes: str = "s>a a>b b>e") -> list[str]:
        return rules(page(*((s,) if "s>" in routes else ()), task, b, e, routes=routes))

    drawn = Step("a", text, "terminator")
    assert found(drawn) == ["TERMINATOR-TASK"]
    assert found(drawn, "a>b b>e") == ["start-text"]
    for kind, done in (("process", True), ("Terminator", False)):
        declared = Step("a", text, "terminator", metadata={"Kind": kind})
        assert found(declared) == found(declared, "a>b b>e") == []
        assert declared.is_terminator is not done
    assert found(Step("a", text, "terminator", metadata={"kind": "manual"})) == ["TERMINATOR-TASK"]
    for empty in ("", "Start", "Begin here.", "Stop"):
        assert "TERMINATOR-TASK" not in found(Step("a", empty, "terminator"))


def test_a_prompt_of_a_terminator_is_refused_at_an_end_too() -> None:
    """A text there says how it ended, but a data field `prompt` is always something to do."""
    task = {"prompt": "Write to everybody"}
    problem = only(page(Step("a", "A"), Step("e", "End", "terminator", (), task), routes="a>e"))
    assert (problem.rule, problem.severity) == ("terminator-task", "error")
    assert "and has a prompt" in problem.message
    done = Step("e", "End", "terminator", metadata=task | {"kind": "terminator"})
    assert problems(page(Step("a", "A"), done, routes="a>e")) == []


@pytest.mark.parametrize("routes", ["", "a>b", "a>b:Yes"])
def test_a_diamond_where_nothing_is_decided(routes: str) -> None:
    """It is run as a plain step, which may not be what was meant."""
    steps = [Step("a", "A?", "decision"), Step("b", "B")][: 2 if routes else 1]
    problem = only(page(*steps, routes=routes))
    assert (problem.rule, problem.severity) == ("lone-decision", "warning")


def test_two_shapes_with_one_id() -> None:
    """A line to it could mean either."""
    problem = only(page(Step("a", "One"), Step("a", "Two")))
    assert (problem.rule, problem.severity) == ("duplicate-id", "error")
    assert "“One” and “Two”" in problem.message


def test_a_shape_without_an_id() -> None:
    """No line could lead to it, and no answer could be kept under its name."""
    assert rules(page(Step("", "Work"))) == ["ID-MISSING"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{steps.Gather facts.output}}", ""),
        ("{{ steps.gather_facts.output }}", ""),
        ("{{steps.g.output}}", ""),
        ("{{steps.Nobody.output}}", "no step is called Nobody here"),
        ("{{steps.Twice.output}}", "2 steps are called Twice here"),
        ("{{title}} {{other}}", ""),
    ],
)
def test_a_slot_for_an_answer_names_one_step(text: str, said: str) -> None:
    """By name or id, spelling aside; in the text or in a data field."""
    named = (Step("g", "Gather facts"), Step("t1", "Twice"), Step("t2", "Twice"))
    for step in (
        Step("w", f"Write {text}"),
        Step("w", "Write", metadata={"validate_prompt": text}),
    ):
        found = problems(page(*named, step, routes="g>t1 t1>t2 t2>w"))
        assert [p.rule for p in found] == (["slot-unknown"] if said else [])
        assert all(said in p.message for p in found)


def test_a_slot_may_name_a_step_of_another_page() -> None:
    """A part can use what the chart around it has handed on."""
    outer = page(Step("a", "Gather"), Step("p", "Part", "subprocess"), routes="a>p")
    inner = replace(page(Step("w", "Write {{steps.gather.output}}")), id="2", name="Part")
    assert problems(outer, inner, start=outer.id) == []


def test_a_subprocess_that_names_nothing() -> None:
    """It is run as a plain step, which may not be what was meant."""
    problem = only(page(Step("a", "Elsewhere", "subprocess")))
    assert (problem.rule, problem.severity) == ("subprocess-plain", "warning")


def test_a_page_that_runs_itself() -> None:
    """Directly or by way of others, it would never end; a page that only leads there is sound."""

    def calling(key: str, *others: str) -> Page:
        steps = tuple(Step(f"{key}{n}", other, "subprocess") for n, other in enumerate(others))
        routes = tuple(Route(a.id, b.id) for a, b in pairwise(steps))
        return Page(key, key.upper(), steps, routes)

    plain = Page("z", "Z", (Step("z", "Work"),))
    assert problems(calling("a", "Z", "B"), calling("b", "Z"), plain) == []
    assert [p.rule for p in problems(calling("a", "A"))] == ["subprocess-circle"]
    found = problems(calling("a", "B"), calling("b", "C", "Z"), calling("c", "B"), plain)
    assert [(p.rule, p.steps, p.page) for p in found] == [
        ("subprocess-circle", ("b0",), "B"),
        ("subprocess-circle", ("c0",), "C"),
    ]


def test_only_pages_that_a_run_comes_to_count() -> None:
    """What is wrong elsewhere in the document is somebody else's business."""
    good = Page("1", "Good", (Step("a", "Part", "subprocess"),))
    part = Page("2", "Part", (Step("b", "Work"),))
    bad = replace(plain_page("a>b a>c"), id="3", name="Bad")
    assert problems(good, part, bad, start="1") == []
    assert [p.page for p in problems(good, part, bad)] == ["Bad"]
    called = replace(bad, name="Part")
    assert [p.rule for p in problems(good, called, start="1")] == ["several-unlabelled"]


def test_an_empty_page() -> None:
    """There is nothing to walk, and an empty page is no page to begin on or to run."""
    assert rules(Page("1", "Empty")) == ["NO-STEPS"]
    assert rules() == ["NO-STEPS"]
    calls = page(Step("a", "Empty", "subprocess"))
    assert rules(calls, Page("2", "Empty")) == ["NO-STEPS"]
    assert rules(plain_page("a>b"), Page("2", "Empty")) == []


def test_everything_is_said_at_once() -> None:
    """One look shows all that has to be mended, in the order of the file."""
    steps = [Step(key, f"Do {key}", line=n) for n, key in enumerate("abcd", 1)]
    routes = [Route("a", "b", "x", 9), Route("a", "c", "X", 8), Route("d", "", line=7)]
    drawn = Page("1", "", tuple(steps), tuple(routes))
    found = problems(drawn)
    assert [p.rule for p in found] == ["several-starts", "line-to-nowhere", "duplicate-route"]
    assert [p.line for p in found] == [1, 7, 8]


@given(charts())
def test_where_there_is_no_error_every_way_can_be_taken(chart: Chart) -> None:
    """Whatever was drawn is judged without ado; what is sound has a start and loses no route."""
    errors = [p for p in check(chart) if p.severity == "error"]
    assert all(p.message and "\n" not in p.message for p in check(chart))
    if errors or chart.start:
        return
    for drawn in chart.pages:
        plan = Map(drawn, chart)
        assert plan.start is not None or not drawn.steps
        for step in drawn.steps:
            ways = plan.ways(step)
            if len(ways) > 1:
                labels = [route.label for route in ways]
                assert [match_route(label, labels) for label in labels] == labels


@pytest.mark.parametrize("shape", ["chain", "fan", "pages", "circles"])
def test_time_grows_with_the_chart(shape: str) -> None:
    """Four times as much takes less than nine times as long: linear, with room for noise."""

    def drawn(n: int) -> Chart:
        steps = tuple(Step(str(i), f"Do {i}") for i in range(n))
        if shape == "chain":
            routes = tuple(Route(str(i), str(i + 1)) for i in range(n - 1))
            return Chart("C", (Page("1", "", steps, routes),))
        if shape == "fan":
            routes = tuple(Route("0", str(i), f"way {i}") for i in range(1, n))
            return Chart("C", (Page("1", "", steps, routes),))
        step = 0 if shape == "pages" else 1
        calls = [Step("a", f"P{(i + 1) % (n + 1 - step)}", "subprocess") for i in range(n)]
        return Chart("C", tuple(Page(f"p{i}", f"P{i}", (call,)) for i, call in enumerate(calls)))

    assert is_linear(lambda n: partial(check, drawn(n)), 2000)
