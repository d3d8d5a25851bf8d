"""The story of a walk, told again from its journal alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import small_flows
import walks
from quandary.errors import QuandaryError
from quandary.journal import runs
from quandary.journal.entries import Asked, Called
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Outcome, Reply
from quandary.model.calls import Call, Done, Output
from quandary.model.chart import Chart, Page, Route, Step, check
from quandary.reports import Exchange, Story
from quandary.reports.retelling import Teller, retell
from walks import RELEASE, answer, begin, chose, did, failed, go, judged, released, send

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hypothesis.strategies import DrawFn

    from quandary.journal.entries import Entry
    from quandary.journal.store import State


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A new store."""
    store = SqliteStore(tmp_path / "journal.db")
    yield store
    store.close()


def story(store: SqliteStore, state: State) -> Story:
    """What is told of a run."""
    return retell(store, state.run).story


def names(told: Story) -> list[str]:
    """The names of the steps at which somebody was asked."""
    return [stop.name for stop in told.stops if stop.attempts]


# -- a run that is over ----------------------------------------------------------------------------


def test_a_finished_run_is_told_from_start_to_end(store: SqliteStore) -> None:
    """The chart, the item, the outcome, the path, and what it cost."""
    state = released(store)
    told = story(store, state)
    assert (told.chart, told.item, told.status, told.outcome) == (
        "Release",
        "Version 2",
        "done",
        "completed",
    )
    assert list(told.path) == state.result["path"]
    assert (told.calls, told.tokens, told.seconds) == (7, 340, 6.0)
    assert [(leg.source, leg.target, leg.label) for leg in told.legs][-2:] == [
        ("tests", "ship", "yes"),
        ("ship", "end", "ship it"),
    ]
    assert told.began <= told.ended
    assert not any(stop.current for stop in told.stops)
    assert (told.unplaced, told.taken_back, told.remarks) == ((), (), ())


def test_every_attempt_is_told_with_its_verdict_and_critique(store: SqliteStore) -> None:
    """What was asked, what came, who judged it, and what was held against it."""
    build = story(store, released(store)).stops[1]
    first, second = build.attempts
    assert (first.verdict, second.verdict, build.validation) == ("failed", "passed", "passed")
    assert first.critique.endswith("- The version is missing.")
    work, verdict = first.exchanges
    assert (work.role, work.agent, work.status, work.seconds) == ("work", "CLAUDE", 0, 1.5)
    assert work.prompt is not None
    assert work.prompt.startswith("Build the package\n")
    assert work.output is not None
    assert "It is built." in work.output
    assert (verdict.role, verdict.accepted) == ("check", False)
    again = second.exchanges[0]
    assert again.prompt is not None
    assert "The version is missing." in again.prompt
    assert (build.output, build.seconds, build.tokens) == ("Version 2 is built.", 3.5, 200)


def test_a_step_that_came_round_again_is_told_each_time(store: SqliteStore) -> None:
    """Each visit has its number, and the route that was taken from it."""
    told = story(store, released(store))
    visits = [(stop.visit, stop.route) for stop in told.stops if stop.id == "tests"]
    assert visits == [(1, "no"), (2, "yes")]


def test_it_is_told_who_answered_in_an_agents_place(store: SqliteStore) -> None:
    """A person's answer has their words and says whose hand it came from."""
    (asked,) = story(store, released(store)).stops[-2].exchanges
    assert (asked.agent, asked.who, asked.through, asked.by) == (
        "HUMAN",
        "person",
        "terminal",
        "ada",
    )
    assert (asked.route, asked.output, asked.picked) == (
        "ship it",
        "ship it: at last",
        ("SHIP-IT",),
    )
    assert asked.prompt is not None
    assert "May it be shipped?" in asked.prompt
    assert "- not yet" in asked.prompt


def test_a_program_that_failed_is_told_with_its_errors(store: SqliteStore) -> None:
    """Exit status, standard error, and why it does not count."""
    state = begin(store)
    state = send(store, state, failed(state.calls[0]))
    state = send(store, state, failed(state.calls[0], "It took too long."))
    told = story(store, state)
    assert (told.status, told.outcome, told.path) == ("failed", "failed", ("start", "build"))
    build = told.stops[-1]
    assert build.error == told.error == state.error
    assert [attempt.critique for attempt in build.attempts] == [
        "It ended with exit status 3.",
        "It took too long.",
    ]
    (ran,) = build.attempts[0].exchanges
    assert (ran.status, ran.stderr, ran.accepted) == (3, "no such model\n", False)
    assert build.current


def test_a_vote_is_told_vote_by_vote(store: SqliteStore) -> None:
    """All of them are one attempt, and so is the person who breaks the tie."""
    chart = Chart(
        "Vote",
        (
            Page(
                "1",
                "",
                (
                    Step("v", "Which?", metadata={"votes": "CLAUDE, CODEX"}),
                    Step("a", "A", "terminator"),
                    Step("b", "B", "terminator"),
                ),
                (Route("v", "a", "left"), Route("v", "b", "right")),
            ),
        ),
    )
    state = begin(store, chart)
    one, two = state.calls
    state = send(store, state, chose(two, "right"))
    assert story(store, state).stops[-1].route == ""
    state = send(store, state, chose(one, "left"))
    told = story(store, state)
    assert (told.waits, told.path, told.stops[0].route) == ("person", ("v",), "")
    told = story(store, answer(store, state, "LEFT"))
    (attempt,) = told.stops[0].attempts
    assert [exchange.role for exchange in attempt.exchanges] == ["vote", "vote", "tie"]
    assert (told.path, told.stops[0].route, told.stops[0].cli) == (
        ("v", "a"),
        "left",
        "CLAUDE, CODEX",
    )


def test_a_chart_within_a_chart_is_told_where_it_was_entered(store: SqliteStore) -> None:
    """Its steps lie one deeper, and the step that stands for it may still choose a way."""
    inner = Page("in", "Inner", (Step("i", "Do it inside"),))
    outer = Page(
        "out",
        "Outer",
        (
            Step("b", "Start", "terminator"),
            Step("s", "Inner", "subprocess", metadata={"prompt": "Was it good?"}),
            Step("y", "Fine", "terminator"),
            Step("n", "Again"),
        ),
        (Route("b", "s"), Route("s", "y", "yes"), Route("s", "n", "no"), Route("n", "s")),
    )
    chart = Chart("Nested", (outer, inner), "out")
    state = begin(store, chart)
    answers = iter(["no", "yes"])
    state = go(
        store,
        state,
        lambda call: chose(call, next(answers)) if call.expects == "decision" else walks.good(call),
    )
    told = story(store, state)
    assert list(told.path) == state.result["path"] == ["b", "s", "i", "n", "s", "i", "y"]
    assert [(stop.depth, stop.page, stop.visit, stop.route) for stop in told.stops[1:]] == [
        (0, "out", 1, "no"),
        (1, "in", 1, ""),
        (0, "out", 1, ""),
        (0, "out", 2, "yes"),
        (1, "in", 2, ""),
        (0, "out", 1, ""),
    ]


# -- a run under way, or ended from outside --------------------------------------------------------


def test_a_run_under_way_is_told_up_to_where_it_stands(store: SqliteStore) -> None:
    """The call that is being made has a prompt and no output."""
    state = begin(store)
    state = send(store, state, did(state.calls[0]))
    told = story(store, state)
    assert (told.status, told.waits, told.outcome, told.path) == (
        "waiting",
        "agent",
        None,
        ("start", "build"),
    )
    build = told.stops[-1]
    assert build.current
    assert build.attempts[0].verdict is None
    waiting = build.exchanges[-1]
    assert (waiting.role, waiting.answered, waiting.output, waiting.accepted) == (
        "check",
        "",
        None,
        None,
    )
    assert waiting.prompt


def test_a_run_that_waits_for_a_person_says_so(store: SqliteStore) -> None:
    """And what happened beside it is remarked, without being an answer."""
    state = go(store, begin(store))
    runs.note(store, state.run, Outcome("dismissed", "later"), who="agent", through="relay")
    told = story(store, state)
    assert (told.waits, told.stops[-1].name) == ("person", "May it be shipped?")
    assert [(remark.kind, remark.text) for remark in told.remarks] == [("dismissed", "later")]


@pytest.mark.parametrize("status", ["withdrawn", "declined"])
def test_a_run_that_was_ended_from_outside_stands_where_it_stood(
    store: SqliteStore, status: str
) -> None:
    """It has no outcome of its own."""
    state = go(store, begin(store))
    if status == "withdrawn":
        runs.withdraw(store, state.run, "nobody needs it", who="person", through="terminal")
    else:
        no = Outcome("declined", "nobody needs it")
        runs.note(store, state.run, no, who="person", through="terminal")
    told = story(store, state)
    assert (told.status, told.outcome, told.error) == (status, None, "nobody needs it")
    assert (told.path[-1], told.stops[-1].current) == ("ship", True)


def test_a_budget_that_is_used_up_is_told_at_the_step_that_was_not_paid_for(
    store: SqliteStore,
) -> None:
    """The path ends there, as the flow says."""
    state = go(store, begin(store, budget={"max_calls": 2}))
    told = story(store, state)
    assert (told.outcome, list(told.path)) == ("stopped", state.result["path"])
    last = told.stops[-1]
    assert (last.id, last.error.partition(": ")[2], last.attempts) == (
        "tests",
        "the budget of 2 calls is used up",
        (),
    )


def test_an_amended_answer_leads_on_and_the_old_one_is_kept(store: SqliteStore) -> None:
    """What came after the old answer no longer counts, and is not lost either."""
    state = go(store, begin(store))
    key = str(state.key)
    state = go(store, answer(store, state, "NOT-YET"))
    assert story(store, state).path[-3:] == ("mend", "tests", "ship")
    state = runs.amend(
        store,
        state.run,
        Reply((Answer(key, ("SHIP-IT",)),)),
        key=key,
        why="it is fine",
        who="person",
        through="terminal",
    )
    told = story(store, state)
    assert (told.status, list(told.path)) == ("done", state.result["path"])
    assert told.path[-2:] == ("ship", "end")
    assert told.taken_back[0].route == "not yet"
    assert len(told.taken_back) == 4
    assert told.calls == state.result["calls"]


def test_amending_back_and_forth_follows_the_last_answer(store: SqliteStore) -> None:
    """Each time from the beginning of what counts."""
    state = go(store, begin(store))
    key = str(state.key)
    state = answer(store, state, "SHIP-IT")
    for code in ("NOT-YET", "SHIP-IT", "NOT-YET"):
        reply = Reply((Answer(key, (code,)),))
        said = {"key": key, "why": "", "who": "person", "through": "terminal"}
        state = go(store, runs.amend(store, state.run, reply, **said))  # type: ignore[arg-type]  # spelt out above
    told = story(store, state)
    assert (told.waits, told.path[-3:]) == ("person", ("mend", "tests", "ship"))
    assert told.unplaced == ()


# -- texts that are gone ---------------------------------------------------------------------------


def test_a_pruned_run_keeps_its_route(store: SqliteStore) -> None:
    """Where the answers are gone, what was asked next shows which way was taken."""
    state = released(store)
    before = story(store, state)
    walks.pruned(store, state.run)
    told = story(store, state)
    assert (told.path, told.legs, told.outcome) == (before.path, before.legs, "completed")
    assert [stop.route for stop in told.stops] == [stop.route for stop in before.stops]
    assert told.pruned == 18
    assert {exchange.prompt for stop in told.stops for exchange in stop.exchanges} == {None}
    assert told.item == ""


def test_a_pruned_vote_is_not_guessed(store: SqliteStore) -> None:
    """The one vote that is left was not the majority."""
    votes = Step("v", "Which?", metadata={"votes": "CLAUDE, CODEX, HUMAN"})
    ends = (Step("a", "A", "terminator"), Step("b", "B", "terminator"))
    routes = (Route("v", "a", "left"), Route("v", "b", "right"))
    state = begin(store, Chart("Vote", (Page("1", "", (votes, *ends), routes),)))
    state = send(store, state, *(chose(call, "left") for call in state.calls))
    state = answer(store, state, "RIGHT")
    assert story(store, state).path == ("v", "a")
    walks.pruned(store, state.run)
    told = story(store, state)
    assert (told.status, told.path, told.stops[0].route) == ("done", ("v",), "")


@pytest.mark.parametrize(
    "kinds", [("began",), ("called",), ("returned",), ("asked",), ("answered",), ("ended",)]
)
def test_whatever_is_pruned_the_rest_is_told(store: SqliteStore, kinds: tuple[str, ...]) -> None:
    """No kind of entry is needed to tell the others."""
    state = released(store)
    before = story(store, state)
    walks.pruned(store, state.run, *kinds)
    told = story(store, state)
    assert (told.path, told.status) == (before.path, before.status)
    assert names(told) == names(before)
    assert told.pruned > 0


def test_a_failed_run_that_was_pruned_ends_where_it_failed(store: SqliteStore) -> None:
    """Whether a call went well is known without its texts."""
    state = go(store, begin(store), failed)
    walks.pruned(store, state.run)
    told = story(store, state)
    assert (told.outcome, told.path) == ("failed", ("start", "build"))
    assert [exchange.accepted for exchange in told.stops[-1].exchanges] == [False, False]


def test_without_its_chart_a_run_is_told_call_by_call(store: SqliteStore) -> None:
    """Nothing that was asked is left out, though nobody knows where it belongs."""
    state = released(store)
    store._rows("DELETE FROM document", ())
    told = retell(store, state.run)
    assert told.chart is None
    assert (told.story.stops, len(told.story.unplaced)) == ((), 8)
    assert told.story.unplaced[0].agent == "CLAUDE"


def test_a_file_that_was_shown_on_the_way_is_no_step(store: SqliteStore) -> None:
    """The house was asked for it, and the question came again."""
    state = go(store, begin(store))
    state = answer(store, state, prefix="reference", argument="notes.md")
    assert state.deed is not None
    told = story(store, state)
    assert (told.waits, told.stops[-1].id, told.unplaced) == ("house", "ship", ())
    runs.advance(
        store,
        state.run,
        who="person",
        through="terminal",
        deeds=lambda do: Done(do.key, text="Read it."),
    )
    state = answer(store, runs.look(store, state.run), "SHIP-IT")
    told = story(store, state)
    assert (told.outcome, told.path[-2:]) == ("completed", ("ship", "end"))
    shown, asked = told.stops[-2].exchanges
    assert (shown.accepted, asked.route) == (None, "ship it")


def test_another_flow_has_no_such_story(store: SqliteStore) -> None:
    """And it is said what to use in its place."""
    state = small_flows.begin(store)
    with pytest.raises(QuandaryError, match=f"not a walk .*quandary log {state.run}"):
        retell(store, state.run)


# -- any chart, any answers ------------------------------------------------------------------------

AGENTS = st.sampled_from(["", "CLAUDE", "CODEX", "HUMAN"])


@st.composite
def steps(draw: DrawFn, key: str, pages: list[str]) -> Step:
    """A step with settings of its own."""
    shape = draw(st.sampled_from(["process", "process", "decision", "connector", "subprocess"]))
    chosen: dict[str, str] = {
        "cli": draw(AGENTS),
        "validate_cli": draw(AGENTS),
        "retries": draw(st.sampled_from(["", "0", "1", "2"])),
        "no_validation": draw(st.sampled_from(["", "yes"])),
        "on_exhausted": draw(st.sampled_from(["", "continue"])),
        "retry_cli": draw(AGENTS),
        "votes": draw(st.sampled_from(["", "", "3", "CLAUDE, HUMAN, CODEX", "CLAUDE,CODEX"])),
        "page": draw(st.sampled_from(pages)) if shape == "subprocess" and pages else "",
    }
    fields = {name: value for name, value in chosen.items() if value}
    return Step(key, f"Do {key}", shape, metadata=fields)  # type: ignore[arg-type]  # one of them


@st.composite
def walkable(draw: DrawFn) -> Chart:
    """A chart with loops, merges, decisions and charts within it, that can be walked."""
    drawn = []
    for number, name in enumerate(("one", "two")):
        ids = [f"{name}{n}" for n in range(draw(st.integers(1, 5)))]
        found = [draw(steps(key, ["two"] if number == 0 else [])) for key in ids]
        found.append(Step(f"{name}-end", "End", "terminator"))
        targets = st.sampled_from([*ids[1:], f"{name}-end"])
        routes = []
        for n, key in enumerate(ids):
            onward = ids[n + 1] if n + 1 < len(ids) else f"{name}-end"
            if found[n].shape != "connector" and draw(st.booleans()):
                routes += [Route(key, draw(targets), "no"), Route(key, onward, "yes")]
            else:
                routes.append(Route(key, onward))
        drawn.append(Page(name, name, tuple(found), tuple(routes)))
    return Chart("Any", tuple(drawn), "one")


def outputs(call: Call) -> list[Output]:
    """Everything that an agent may come back with."""
    if call.expects == "decision":
        found = [chose(call, call.routes[0]), chose(call, call.routes[-1]), chose(call, "perhaps")]
    elif call.expects == "validation":
        found = [judged(call), judged(call), judged(call, "No."), judged(call, "No.", retry=False)]
    else:
        found = [did(call), did(call), did(call, completed=False)]
    lost = Output(call.key, error="It was interrupted.", interrupted=True)
    return [*found, *found, failed(call), Output(call.key, text="mumble"), lost]


def replies(state: State) -> list[dict[str, Any]]:
    """Everything that a person may say."""
    assert state.ask is not None
    question = state.ask.questions[0]
    codes = [choice.code for choice in question.options]
    return [
        *({"code": code} for code in codes),
        *({"code": code, "comment": "by the way"} for code in codes),
        {"code": codes[-1], "text": "but not yet"},
        {"text": "my own words"},
        {"prefix": "explain"},
        {"prefix": "force", "argument": codes[0].lower()},
        {"prefix": "force", "argument": "skip"},
    ]


class Forgetful:
    """A store whose entries do not say which part of a walk they are, as they once did not."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self.store, name)

    def entries(self, run: str, after: int = 0) -> list[Any]:
        """The same entries."""
        return [Unassigned(entry) for entry in self.store.entries(run, after=after)]


class Unassigned:
    """An entry that does not say which part of a walk it is."""

    def __init__(self, entry: Entry) -> None:
        self.n, self.pruned, self.read_matter = entry.n, entry.pruned, entry.read_matter
        body = entry.read()
        asks = isinstance(body, Asked | Called)
        self.body = msgspec.structs.replace(body, assignment=None) if asks else body

    def read(self) -> Any:  # noqa: ANN401 - any body
        """Its body."""
        return self.body


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(chart=walkable(), data=st.data())
def test_any_walk_is_told_as_its_flow_tells_it(
    store: SqliteStore, chart: Chart, data: st.DataObject
) -> None:
    """Path, routes, attempts, verdicts and costs are those of the result, however it ended."""
    assume(not [problem for problem in check(chart) if problem.severity == "error"])
    draw = data.draw
    terms = {
        "defaults": {
            "cli": "CLAUDE",
            "retries": 1,
            "max_visits": draw(st.integers(1, 3)),
            "on_interrupted": draw(st.sampled_from(["retry", "ask"])),
        },
        "budget": {"max_calls": draw(st.integers(0, 40))},
        "person": draw(st.booleans()),
    }
    state = begin(store, chart, **terms)
    for _ in range(80):
        if state.calls:
            call = draw(st.sampled_from(state.calls))
            state = send(store, state, draw(st.sampled_from(outputs(call))))
        elif state.ask is not None:
            state = answer(store, state, **draw(st.sampled_from(replies(state))))
        else:
            break
    told = story(store, state)
    assert retell(Forgetful(store), state.run).story == told  # type: ignore[arg-type]  # as good
    assert told.unplaced == ()
    assert [stop.current for stop in told.stops].count(True) == (state.status != "done")
    assume(state.status != "waiting")
    result = state.result
    assert (list(told.path), told.outcome, told.error or None) == (
        result["path"],
        result["outcome"],
        state.error,
    )
    assert (told.calls, told.tokens, told.seconds) == (
        result["calls"],
        result["tokens"],
        result["seconds"],
    )
    teller = Teller(store, state.run)
    assert list(teller.read())
    logged = [(stop.page, stop.id, stop.visit) for stop in teller.left(0)]
    assert logged == [(step["page"], step["id"], step["visit"]) for step in result["steps"]]
    names = ("id", "visit", "validation", "seconds", "tokens")
    ours = [stop for stop in told.stops if stop.attempts]
    theirs = {(step["id"], step["visit"]): step for step in result["steps"]}
    for stop in ours:
        step = theirs[stop.id, stop.visit]
        assert [getattr(stop, name) for name in names] == [step[name] for name in names]
        assert stop.route == (step["route"] or "")
        if result["outcome"] != "stopped":
            assert (stop.output or "") == (step["output"] or "")
        assert len(stop.attempts) == step["attempts"]
        assert sorted(stop.cli.split(", ")) == sorted(step["cli"].split(", "))
    asked = sum(len(stop.exchanges) for stop in told.stops)
    walks.pruned(store, state.run)
    rest = story(store, state)
    assert all(ours == theirs for ours, theirs in zip(rest.path, told.path, strict=False))
    assert sum(len(stop.exchanges) for stop in rest.stops) + len(rest.unplaced) == asked
    missing = set(theirs) - {(stop.id, stop.visit) for stop in ours}
    assert len(missing) <= (result["outcome"] == "stopped")


def test_a_story_is_plain_data(store: SqliteStore) -> None:
    """It goes through JSON and comes back the same."""
    told = story(store, released(store))
    assert msgspec.json.decode(msgspec.json.encode(told), type=Story) == told
    assert isinstance(told.stops[1].exchanges[0], Exchange)
    assert RELEASE.name == told.chart
