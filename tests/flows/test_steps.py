"""People and votes in a walk: who is asked, what settles a step, and what does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.flows.steps import LONGEST_SHOWN, route_codes
from quandary.flows.walk import walk
from quandary.model.asks import MORE, Ask, Item
from quandary.model.calls import Call, Output
from quandary.model.chart import Chart, Step
from quandary.reading import read
from scripted_walks import DONE, ScriptedWalk, chart, task

DECISION = chart(
    Step("a", "May it be shipped? The tests have passed.", "decision", ("HUMAN",)),
    task("b", "Ship it"),
    task("c", "Wait a week"),
    routes="a>b:yes a>c:no",
)


def waiting(trip: ScriptedWalk) -> Ask:
    """What a walk waits for a person to say."""
    assert isinstance(trip.waits, Ask)
    return trip.waits


# -- decisions -------------------------------------------------------------------------------------


def test_a_person_chooses_between_the_routes() -> None:
    """The question says what it is about and how things stand, and each choice where it leads."""
    trip = ScriptedWalk(
        walk(DECISION, Item("2", title="Version 2", context="It is late."), cli="X")
    )
    ask = waiting(trip)
    assert (ask.key, ask.kind) == ("Sa@1/run", "transition")
    (question,) = ask.questions
    asked = "May it be shipped? The tests have passed. Which route?"
    assert question.text == f"It is late. {asked}"
    bare = ScriptedWalk(walk(DECISION, Item("2", title="Version 2"), cli="X"))
    assert waiting(bare).questions[0].text == f"Version 2: {asked}"
    assert [(c.code, c.label, c.description) for c in question.choices] == [
        ("YES", "yes", "Next: Ship it"),
        ("NO", "no", "Next: Wait a week"),
    ]
    assert question.item == "2"
    for part in ("**Rounds**, for Version 2", "It is late.", "May it be shipped?"):
        assert part in ask.preamble.text
    answered = ScriptedWalk(
        walk(DECISION, cli="X"), {"Sa@1/run": {"picked": ("NO",), "comment": "not yet"}}
    )
    assert answered.result is not None
    assert answered.result["path"] == ["a", "c"]
    first = answered.steps[0]
    assert (first["cli"], first["route"], first["reasons"]) == ("HUMAN", "no", "not yet")


@pytest.mark.parametrize(
    "reply",
    [
        {"text": "hard to say"},
        {},
        {"prefix": "explain"},
        {"prefix": "question", "argument": "Which tests?"},
        {"prefix": "force", "argument": "skip"},
        {"among": ("YES", "NO"), "text": "that one"},
        {"extra": "A"},
        {"tree": "OTHER"},
        {"advice": "The unit tests."},
    ],
    ids=lambda reply: next(iter(reply), "blank"),
)
def test_nothing_but_a_choice_settles_a_decision(reply: dict[str, object]) -> None:
    """Words, questions, advice and blanks: the question comes again and says why."""
    trip = ScriptedWalk(walk(DECISION, cli="X"), {"Sa@1/run": reply})
    again = waiting(trip)
    assert again.key == "Sa@1/run~2"
    assert again.preamble.why
    settled = ScriptedWalk(walk(DECISION, cli="X"), {"Sa@1/run": reply, "Sa@1/run~2": "YES"})
    assert settled.steps[0]["route"] == "yes"


def test_a_question_of_the_person_is_passed_on() -> None:
    """`Q:` is a note for whoever relays, and stays with the result."""
    asked = {"prefix": "question", "argument": "Which tests?"}
    trip = ScriptedWalk(walk(DECISION, cli="X"), {"Sa@1/run": asked, "Sa@1/run~2": "YES"})
    assert ("question", "Which tests?") in [
        (note.kind, note.text) for note in trip.asks["Sa@1/run~2"].notes
    ]
    assert trip.result is not None
    assert trip.result["questions"] == ["Which tests?"]


@given(st.lists(st.text(max_size=16), min_size=1, max_size=12, unique=True))
def test_no_two_routes_have_one_code(routes: list[str]) -> None:
    """Every route keeps a code of its own, whatever it is called."""
    codes = route_codes(tuple(routes))
    assert list(codes.values()) == routes
    assert all(code and MORE not in code and "/" not in code for code in codes)


def test_codes_that_would_be_alike_are_numbered() -> None:
    """A number that another route has already is passed over."""
    assert list(route_codes(("a 2", "a", "A!", "…", "?"))) == ["A-2", "A", "A-3", "WAY", "WAY-2"]


# -- steps that a person does ----------------------------------------------------------------------


def test_a_person_does_a_step_and_hands_something_on() -> None:
    """What they write before or beside their choice is the output."""
    drawn = chart(
        task("a", "Ask the owner", "HUMAN"), task("b", "{{steps.a.output}}"), routes="a>b"
    )
    plain = ScriptedWalk(walk(drawn, cli="X"), {"Sa@1/run": "DONE"})
    assert plain.steps[0]["output"] == "Done."
    beside = ScriptedWalk(
        walk(drawn, cli="X"), {"Sa@1/run": {"picked": ("DONE",), "comment": "He agrees."}}
    )
    assert beside.calls["Sb@1/run"].prompt.startswith("He agrees.\n")
    words = {"Sa@1/run": {"text": "He agrees."}, "Sa@1/run~2": "DONE"}
    before = ScriptedWalk(walk(drawn, cli="X"), words)
    assert "is recorded" in before.asks["Sa@1/run~2"].preamble.why
    assert before.steps[0]["output"] == "He agrees."


def test_words_alone_do_not_finish_a_step() -> None:
    """“not yet” is no “done”: the question comes again."""
    drawn = chart(task("a", "Ask the owner", "HUMAN"))
    trip = ScriptedWalk(walk(drawn, cli="X"), {"Sa@1/run": {"text": "not yet, he is away"}})
    assert waiting(trip).key == "Sa@1/run~2"


def test_what_a_person_cannot_do_is_not_asked_of_them_again() -> None:
    """It is given up with their reason, unless an agent is there for further attempts."""
    drawn = chart(task("a", "Ask the owner", "HUMAN"))
    said = {"Sa@1/run": {"picked": ("NOT",), "comment": "He left."}}
    trip = ScriptedWalk(walk(drawn, cli="X", retries=3), said)
    assert trip.error == "“Ask the owner”: not done after one attempt: He left."
    helped = ScriptedWalk(walk(drawn, cli="X", retries=3, retry_cli="X"), said)
    assert list(helped.calls) == ["Sa@1/retry-1"]
    assert "He left." in helped.calls["Sa@1/retry-1"].prompt


def test_what_an_agent_did_is_not_told_as_the_persons() -> None:
    """Whoever did the attempt that counts is named, and a person sees beforehand who tries next."""
    drawn = chart(task("a", "Sign it", "HUMAN"))
    ask = waiting(ScriptedWalk(walk(drawn, cli="X", retry_cli="X")))
    assert ask.questions[0].choices[1].description == "X tries next; say why under Other"
    signed = {"Sa@1/run": {"picked": ("NOT",)}, "Sa@1/retry-1": DONE}
    trip = ScriptedWalk(walk(drawn, cli="X", retry_cli="X"), signed)
    assert trip.result is not None
    [step] = trip.result["steps"]
    assert (step["cli"], step["attempts"], step.get("by")) == ("X", 2, None)


def test_a_person_can_be_the_one_for_further_attempts() -> None:
    """They see what was held against the attempt before."""
    drawn = chart(task("a", "Write it"))
    trip = ScriptedWalk(walk(drawn, cli="X", retry_cli="human"), {"Sa@1/run": "no"})
    ask = waiting(trip)
    assert ask.key == "Sa@1/retry-1"
    assert "There was no JSON object" in ask.preamble.text


# -- a person who judges ---------------------------------------------------------------------------


def test_a_person_judges_what_an_agent_did() -> None:
    """Accept passes, try again goes on with their words, give up ends it."""
    drawn = chart(Step("a", "Write it", metadata={"validate_cli": "HUMAN"}))
    ask = waiting(ScriptedWalk(walk(drawn, cli="X")))
    assert ask.key == "Sa@1/validate-1"
    assert json.dumps(DONE) in ask.preamble.text
    assert ScriptedWalk(walk(drawn, cli="X"), {ask.key: "ACC"}).steps[0]["validation"] == "passed"
    again = {ask.key: {"picked": ("AGN",), "comment": "No title."}, "Sa@1/validate-2": "ACC"}
    trip = ScriptedWalk(walk(drawn, cli="X"), again)
    assert list(trip.calls) == ["Sa@1/run", "Sa@1/retry-1"]
    assert "No title." in trip.calls["Sa@1/retry-1"].prompt
    up = ScriptedWalk(walk(drawn, cli="X"), {ask.key: "REJ"})
    assert up.error.startswith("“Write it”: not done after one attempt")
    words = ScriptedWalk(walk(drawn, cli="X"), {ask.key: {"text": "looks fine to me"}})
    assert waiting(words).key == "Sa@1/validate-1~2"


def test_trying_again_is_offered_only_while_an_attempt_is_left() -> None:
    """The last time giving up says why; a journal in which it was chosen then goes on as it did."""
    drawn = chart(Step("a", "Write it", metadata={"validate_cli": "HUMAN", "retries": "1"}))
    first = waiting(ScriptedWalk(walk(drawn, cli="X"))).questions[0]
    said: dict[str, object] = {"Sa@1/validate-1": "AGN"}
    last = waiting(ScriptedWalk(walk(drawn, cli="X"), said)).questions[0]
    assert first.text == last.text == "Write it. Is it acceptable?"
    assert [choice.label for choice in first.choices] == ["Accept", "Try again", "Give up"]
    assert [choice.label for choice in last.choices] == ["Accept", "Give up"]
    assert "No attempt is left" in last.choices[1].description
    assert read("try again", last).codes == ()
    old = ScriptedWalk(walk(drawn, cli="X"), said | {"Sa@1/validate-2": "AGN"})
    assert old.error.startswith("“Write it”: not done after 2 attempts")


def test_nobody_judges_their_own_work() -> None:
    """A person's step is validated where somebody is named for it, and only there."""
    drawn = chart(Step("a", "Ask the owner", tags=("HUMAN",)))
    assert ScriptedWalk(walk(drawn), {"Sa@1/run": "DONE"}).steps[0]["validation"] is None
    trip = ScriptedWalk(walk(drawn, validate_cli="Y"), {"Sa@1/run": "DONE"})
    assert list(trip.calls) == ["Sa@1/validate-1"]
    assert trip.steps[0]["validation"] == "passed"


def test_a_person_who_judges_is_told_what_to_check() -> None:
    """The validation prompt of the chart, the task and what was handed in, as an agent would be."""
    fields = {"validate_cli": "HUMAN", "validate_prompt": "{{title}} has signed in blue"}
    item = Item("7", title="Ann")
    ask = waiting(ScriptedWalk(walk(chart(Step("a", "Write it", metadata=fields)), item, cli="X")))
    assert "Write it\n\nWhat to check:\n\nAnn has signed in blue\n\nWhat was" in ask.preamble.text
    drawn = chart(Step("a", "Write it", metadata={"validate_cli": "HUMAN"}))
    ask = waiting(ScriptedWalk(walk(drawn, cli="X")))
    assert "Write it\n\nWhat was handed in:" in ask.preamble.text


def test_people_are_not_shown_more_than_they_can_read() -> None:
    """A megabyte handed in is cut for the person, and says how much is missing."""
    drawn = chart(Step("a", "Write it", metadata={"validate_cli": "HUMAN"}))
    text = "x" * 1_000_000 + json.dumps(DONE)
    ask = waiting(ScriptedWalk(walk(drawn, cli="X"), {"Sa@1/run": text}))
    assert f"(and {len(text) - LONGEST_SHOWN:,} characters more)" in ask.preamble.text
    assert len(ask.preamble.text) < 2 * LONGEST_SHOWN


# -- votes -----------------------------------------------------------------------------------------


def voting(votes: str, retries: str = "0") -> Chart:
    """A decision that several take."""
    fields = {"votes": votes, "retries": retries}
    return chart(
        Step("a", "Ship it?", "decision", metadata=fields),
        task("b"),
        task("c"),
        task("d"),
        routes="a>b:yes a>c:no a>d:later",
    )


def votes(*answers: str) -> dict[str, dict[str, object]]:
    """What each voter says."""
    return {
        f"Sa@1/vote-{n}": {"answer": answer, "reasons": f"because of {n}"}
        for n, answer in enumerate(answers, 1)
    }


def test_voters_are_asked_at_once_and_the_majority_counts() -> None:
    """One request with all the calls; by one agent several times, or by several agents."""
    said = votes("no", "YES!", "no")
    for written, agents in (("3", ["X"] * 3), ("ANN, BEN, eva", ["ANN", "BEN", "eva"])):
        trip = ScriptedWalk(walk(voting(written), cli="X"), said)
        together = trip.requests[0]
        assert isinstance(together, tuple)
        assert [call.agent for call in together] == agents
        assert len({call.prompt for call in together}) == 1
        step = trip.steps[0]
        assert (step["route"], step["attempts"]) == ("no", 1)
        assert step["cli"] == ", ".join(dict.fromkeys(agents))
        assert step["reasons"] == "because of 1\nbecause of 3"
        assert trip.steps[1]["id"] == "c"


def test_a_vote_that_cannot_be_read_is_asked_for_again() -> None:
    """Only those voters are asked, each with what was wrong, as often as there are retries."""
    said = votes("no", "perhaps", "yes")
    said["Sa@1/vote-2~2"] = {"answer": "no"}
    trip = ScriptedWalk(walk(voting("3", "2"), cli="X"), said)
    again = trip.requests[1]
    assert isinstance(again, tuple)
    assert [call.key for call in again] == ["Sa@1/vote-2~2"]
    assert "“perhaps”" in again[0].prompt
    assert (trip.steps[0]["route"], trip.steps[0]["attempts"]) == ("no", 2)


def test_a_tie_goes_to_a_person() -> None:
    """With somebody at hand they break it, knowing how it stands; else the run fails."""
    said = votes("no", "yes")
    trip = ScriptedWalk(walk(voting("2"), cli="X"), {**said, "Sa@1/tie": "LATER"})
    assert "no: 1, yes: 1" in trip.asks["Sa@1/tie"].preamble.why
    assert trip.steps[0]["route"] == "later"
    alone = ScriptedWalk(walk(voting("2"), cli="X", person=False), said)
    assert alone.error == (
        "“Ship it?”: the votes are tied (no: 1, yes: 1), and nobody is there to break the tie"
    )
    mute = ScriptedWalk(walk(voting("2"), cli="X", person=False), votes("?", "?"))
    assert "none could be read" in mute.error


def test_a_person_can_vote_beside_agents() -> None:
    """They are asked when the agents have voted, and count as much."""
    said = {**votes("no", "yes"), "Sa@1/vote-3": "YES"}
    trip = ScriptedWalk(walk(voting("X, Y, HUMAN")), said)
    assert [type(request) for request in trip.requests[:2]] == [tuple, Ask]
    assert trip.steps[0]["route"] == "yes"


def test_votes_are_made_all_or_none() -> None:
    """A budget that is too small for all of them stops the run before the first."""
    trip = ScriptedWalk(walk(voting("3"), cli="X", max_calls=2))
    assert trip.calls == {}
    assert trip.error == "the budget of 2 calls is used up"
    timed = ScriptedWalk(walk(voting("3"), cli="X", max_seconds=30))
    assert {call.timeout for call in timed.calls.values() if "vote" in call.key} == {10}


def test_an_interrupted_vote_is_cast_again() -> None:
    """Those that had come in stay."""
    lost = Output("Sa@1/vote-1", error="It was interrupted.", interrupted=True)
    said = {**votes("", "no", "no"), "Sa@1/vote-1": lost}
    trip = ScriptedWalk(walk(voting("3", "1"), cli="X"), said)
    assert [key for key in trip.calls if "vote" in key] == [
        "Sa@1/vote-1",
        "Sa@1/vote-2",
        "Sa@1/vote-3",
        "Sa@1/vote-1~2",
    ]
    assert isinstance(trip.requests[0], tuple)
    assert all(isinstance(call, Call) for call in trip.requests[0])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, {"Sa@1/run": "NOT"}),
        ({"cli": "X", "validate_cli": "HUMAN"}, {"Sa@1/validate-1": "REJ"}),
        ({"cli": "X", "validate_cli": "HUMAN"}, {"Sa@1/run": {"completed": False}}),
    ],
    ids=["cannot", "rejected", "never-asked"],
)
def test_what_a_person_has_to_let_pass_is_not_passed_over(
    fields: dict[str, str], said: dict[str, object]
) -> None:
    """Whatever is to become of steps that nobody could do, also where no person was asked."""
    approval = Step("a", "Approve it", metadata={"require": "person", **fields})
    way = chart(approval, task("b", "Ship it"), routes="a>b")
    trip = ScriptedWalk(walk(way, cli="X", on_exhausted="continue", retries=0), said)
    assert trip.error
    assert trip.result is not None
    assert trip.result["path"] == ["a"]
