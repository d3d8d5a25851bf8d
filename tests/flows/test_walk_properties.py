"""Any small chart and any outputs: a walk ends or waits, keeps to its budget and to the lines."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from quandary.errors import Failed
from quandary.flows.walk import Defaults, most_calls, plan, start, walk
from quandary.model.asks import Answer, Ask, Reply
from quandary.model.calls import Call, Do, Done, Output
from quandary.model.chart import Chart, Page, Route, Step, check

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject, DrawFn

    from quandary.flows import Flow

LONGEST = 5000
"""More requests than any of these charts can make."""


@st.composite
def drawn_pages(draw: DrawFn, key: str, inner: str = "") -> Page:
    """A page with one beginning, on which anything may lead anywhere."""
    count = draw(st.integers(1, 4))
    steps = [Step("s", "Start", "terminator")]
    routes = [Route("s", "0")]
    for number in range(count):
        ways = draw(st.lists(st.integers(0, count - 1), max_size=3))
        fields = draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "votes": st.sampled_from(["2", "3", "A, HUMAN"]),
                    "validate_cli": st.sampled_from(["A", "HUMAN"]),
                    "retries": st.sampled_from(["0", "1", "2"]),
                    "on_exhausted": st.just("continue"),
                    "no_validation": st.just("yes"),
                },
            )
        )
        if len(ways) < 2:
            fields.pop("votes", None)
        tags = draw(st.sampled_from([(), (), ("HUMAN",)]))
        shape: Any = "subprocess" if inner and draw(st.integers(0, 3)) == 0 else "process"
        text = inner if shape == "subprocess" else f"Do {number} with {{{{steps.0.output}}}}"
        steps.append(Step(str(number), text, shape, tags, fields))
        labels = [""] if len(ways) == 1 else [f"way {n}" for n in range(len(ways))]
        routes += [
            Route(str(number), str(to), label) for to, label in zip(ways, labels, strict=True)
        ]
    return Page(key, key, tuple(steps), tuple(routes))


@st.composite
def drawn_charts(draw: DrawFn) -> Chart:
    """One page, or one that may run another."""
    if draw(st.booleans()):
        return Chart("C", (draw(drawn_pages("main")),), "main")
    return Chart("C", (draw(drawn_pages("main", "inner")), draw(drawn_pages("inner"))), "main")


def outputs(call: Call, *, interrupted: bool) -> st.SearchStrategy[Output]:
    """Anything that an agent may print, or that may become of it."""
    texts = st.one_of(
        st.booleans().map(lambda done: json.dumps({"completed": done, "comments": "x"})),
        st.booleans().map(lambda good: json.dumps({"fully_completed": good})),
        st.sampled_from([*call.routes, "nowhere"]).map(lambda way: json.dumps({"answer": way})),
        st.sampled_from(["", "well", "{", '{"completed": 1}']),
    )
    ways = {
        "text": texts,
        "error": st.sampled_from(["", "", "", "it broke"]),
        "tokens": st.one_of(st.none(), st.integers(0, 50)),
        "seconds": st.floats(0, 5),
    }
    if interrupted:
        ways["interrupted"] = st.sampled_from([False, False, True])
    return st.builds(Output, st.just(call.key), **ways)


class Driven:
    """A walk with everything drawn by Hypothesis, to its end."""

    def __init__(self, flow: Flow, data: DataObject, *, interrupted: bool = False) -> None:
        self.data = data
        self.interrupted = interrupted
        self.calls: list[Call] = []
        self.keys: list[str] = []
        self.spent: list[tuple[int, float]] = []
        """The tokens and seconds that had been used when each call was made."""
        self.tokens, self.seconds = 0, 0.0
        self.result = self._end(flow)

    def _end(self, flow: Flow) -> dict[str, Any]:
        try:
            request = next(flow)
            for _ in range(LONGEST):
                request = flow.send(self._respond(request))
        except StopIteration as end:
            result: dict[str, Any] = end.value
            return result
        except Failed as failed:
            return dict(failed.result)
        raise AssertionError("it goes on and on")

    def _respond(self, request: object) -> Any:  # noqa: ANN401 - whatever fits the request
        if isinstance(request, Ask):
            self.keys.append(request.key)
            question = request.questions[0]
            picks = [choice.code for choice in question.choices]
            reply = st.one_of(
                st.sampled_from(picks).map(lambda code: Answer(question.key, (code,))),
                st.just(Answer(question.key, text="who knows")),
            )
            return Reply((self.data.draw(reply),))
        if isinstance(request, Do):
            return Done(request.key)
        calls = request if isinstance(request, tuple) else (request,)
        came = [self._output(call) for call in calls]
        return tuple(came) if isinstance(request, tuple) else came[0]

    def _output(self, call: Call) -> Output:
        self.keys.append(call.key)
        self.calls.append(call)
        self.spent.append((self.tokens, self.seconds))
        output = self.data.draw(outputs(call, interrupted=self.interrupted))
        self.tokens += output.tokens or 0
        self.seconds += output.seconds
        return output


@settings(max_examples=40)
@given(drawn_charts(), st.data())
def test_any_walk_ends_on_the_lines_that_are_drawn(drawn: Chart, data: DataObject) -> None:
    """No key twice, no more calls than planned, and every step is where a line leads."""
    assert not [problem for problem in check(drawn) if problem.severity == "error"]
    driven = Driven(walk(drawn, cli="A", retries=1, max_visits=3), data)
    result = driven.result
    assert len(set(driven.keys)) == len(driven.keys)
    assert result["calls"] == len(driven.calls)
    defaults = Defaults("A", retries=1, max_visits=3)
    assert len(driven.calls) <= most_calls(drawn, plan(drawn, defaults, ()), defaults)
    lines = {(route.source, route.target) for page in drawn.pages for route in page.routes}
    inner = any(page.id == "inner" for page in drawn.pages)
    for here, there in pairwise(result["path"]):
        assert (here, there) in lines or inner
    taken = [step["route"] for step in result["steps"] if step["route"]]
    assert all(route.startswith("way ") for route in taken)
    if result["outcome"] == "completed":
        ends = {s.id for page in drawn.pages for s in page.steps} - {
            route.source for route in drawn.pages[0].routes
        }
        assert inner or result["path"][-1] in ends


@settings(max_examples=40)
@given(drawn_charts(), st.data(), st.integers(0, 6), st.integers(0, 100), st.floats(0.5, 10))
def test_no_walk_exceeds_its_budget(
    drawn: Chart, data: DataObject, calls: int, tokens: int, seconds: float
) -> None:
    """No call is made once a limit is reached, whatever the agents say."""
    flow = walk(
        drawn,
        cli="A",
        retries=2,
        max_visits=4,
        max_calls=calls,
        max_tokens=tokens,
        max_seconds=seconds,
    )
    driven = Driven(flow, data)
    assert len(driven.calls) <= calls
    for call, (used, taken) in zip(driven.calls, driven.spent, strict=True):
        together = "/vote-" in call.key  # these are made at once, before one of them is paid for
        assert together or used < tokens
        assert together or taken < seconds
        assert call.timeout is not None
        assert 0 < call.timeout <= seconds


@settings(max_examples=40)
@given(drawn_charts(), st.data(), st.sampled_from(["retry", "ask"]))
def test_interruptions_end_too(drawn: Chart, data: DataObject, way: str) -> None:
    """A machine that crashes at every call does not make a walk endless."""
    defaults = {"cli": "A", "retries": 1, "max_visits": 2, "on_interrupted": way}
    arguments = {
        "chart": msgspec.to_builtins(drawn),
        "defaults": defaults,
        "budget": {"max_calls": 60},
    }
    driven = Driven(start(arguments), data, interrupted=True)
    assert len(set(driven.keys)) == len(driven.keys)
    assert driven.result["outcome"] in ("completed", "failed", "stopped")
