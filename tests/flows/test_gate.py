"""The menu at the end of a phase, driven without clock, files or journal."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import strategies  # noqa: F401 - loads the profile
from phases import FIVE, SCHEMA
from quandary.errors import QuandaryError, Rejected
from quandary.flows.gate import Custom, Terms, gate, start, time_spent
from quandary.model.asks import Answer, Ask, Field, Item, Limits, Reply
from quandary.model.calls import Do, Done
from quandary.model.track import Move, Phase, Track
from quandary.reading import Mode, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.flows import Flow

PHASES = tuple(Phase(str(n), name) for n, name in enumerate(("Plan", "Build", "Test", "Ship"), 1))
PROOF = (
    Field("scope"),
    Field("risk", {"enum": ["low", "high"]}),
    Field("hours", {"type": "integer"}),
)


def track(at: str = "2", *phases: Phase) -> Track:
    """A track at a phase."""
    every = phases or PHASES
    return Track(every, next(phase for phase in every if phase.label == at))


class House:
    """Does the deeds of a gate as if they were real, and remembers them."""

    def __init__(self, *lacking: dict[str, Any], files: dict[str, str] | None = None) -> None:
        self.lacking = list(lacking)
        self.files = files or {}
        self.moves: list[Move] = []
        self.listed = 0

    def __call__(self, deed: Do) -> Done:
        """One deed."""
        if deed.deed == "list-artifacts":
            self.listed += 1
            found = [
                {"path": p, "digest": d, "about": f"{p} is {d}"} for p, d in self.files.items()
            ]
            told: dict[str, Any] = {"now": "2026-01-02T03:04:05Z", "artifacts": found, "more": 0}
        else:
            self.moves.append(msgspec.json.decode(deed.argument, type=Move))
            proven = len(self.moves[-1].proof)
            told = {"lacking": self.lacking.pop(0)} if self.lacking else {"proven": proven}
        return Done(deed.key, text=msgspec.json.encode(told).decode())


class Drive:
    """A gate under way: every Ask, every key, and the result once there is one."""

    def __init__(self, flow: Flow, house: Callable[[Do], Done] | None = None) -> None:
        self.flow = flow
        self.house = house or House()
        self.asks: list[Ask] = []
        self.keys: list[str] = []
        self.result: dict[str, Any] | None = None
        self._stand(lambda: next(flow))

    def say(self, *texts: str) -> Drive:
        """Type a reply to every question that waits, each text to the next Ask."""
        for text in texts:
            answers = [
                read(text, q, "strict").answer(q.key, text) if text else Answer(q.key)
                for q in self.ask.questions
            ]
            self.reply(*answers)
        return self

    def reply(self, *answers: Answer) -> Drive:
        """Reply with answers as they are."""
        self._stand(lambda: self.flow.send(Reply(answers)))
        return self

    @property
    def ask(self) -> Ask:
        """What waits."""
        assert self.result is None
        return self.asks[-1]

    @property
    def labels(self) -> list[str]:
        """The choices that are shown."""
        return [choice.label for choice in self.ask.questions[0].choices]

    def _stand(self, step: Callable[[], Any]) -> None:
        try:
            request = step()
            while isinstance(request, Do):
                self.keys.append(request.key)
                request = self.flow.send(self.house(request))
        except StopIteration as end:
            self.result = end.value
            return
        assert isinstance(request, Ask)
        self.asks.append(request)
        self.keys += [question.key for question in request.questions]
        assert len(set(self.keys)) == len(self.keys)


def proven(result: dict[str, Any] | None) -> dict[str, Any]:
    """The part of a result that its schema knows, after that schema has judged it."""
    assert result is not None
    told = {name: result[name] for name in FIVE}
    jsonschema.validate(told, SCHEMA)
    assert 3 <= len(told["executed"].split()) <= 7
    return told


# -- the menu by position ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "labels", "menu"),
    [
        (
            "1",
            ["Proceed to 2: Build", "Walk through the output"],
            ["Restart this phase", "Skip ahead to 3: Test"],
        ),
        (
            "2",
            ["Proceed to 3: Test", "Walk through the output", "Go back to 1: Plan"],
            ["Restart this phase", "Skip ahead to 4: Ship"],
        ),
        (
            "3",
            ["Proceed to 4: Ship", "Walk through the output", "Go back to 2: Build"],
            ["Restart this phase"],
        ),
        (
            "4",
            ["Finish", "Walk through the output", "Go back to 3: Test"],
            ["Restart this phase"],
        ),
    ],
)
def test_the_menu_by_position(at: str, labels: list[str], menu: list[str]) -> None:
    """No Go back at the first phase, Finish at the last, no Skip with nothing beyond the next."""
    ask = Drive(gate(track(at))).ask
    question = ask.questions[0]
    assert [choice.label for choice in question.choices] == labels
    assert [choice.label for choice in question.named] == menu
    assert (ask.kind, question.menu) == ("transition", True)
    custom = Drive(gate(track(at), custom=Custom("Run benchmarks", "Measure"))).ask.questions[0]
    assert [choice.label for choice in custom.choices] == [*labels, "Run benchmarks"]
    assert custom.choices[-1].code == "CUS"


def test_a_track_with_one_phase() -> None:
    """It can be finished, walked through and begun anew."""
    drive = Drive(gate(track("1", Phase("1", "All"))))
    assert drive.labels == ["Finish", "Walk through the output"]


@pytest.mark.parametrize("gated", [True, False])
def test_a_finished_track_offers_no_way_forward(gated: bool) -> None:
    """What was produced can still be walked through, gone back to and begun anew."""
    phases = (*PHASES[:3], replace(PHASES[3], gate=gated))
    house = House(files={"a.md": "1"})
    drive = Drive(gate(replace(track("4", *phases), finished=True)), house)
    assert drive.labels == ["Walk through the output", "Go back to 3: Test"]
    assert drive.ask.questions[0].text.startswith("4: Ship is finished, and the track with it.")
    drive.say("WLK", "ok")
    assert drive.labels == ["Walk through the output", "Go back to 3: Test"]
    assert drive.say("BAK").result is not None
    assert [move.target for move in house.moves] == ["3: Test"]


def test_a_narrow_box_shows_the_custom_action_on_its_second_page() -> None:
    """Where only three fit, nothing is lost."""
    limits = Limits(questions=3, options=3)
    drive = Drive(gate(track(), custom=Custom("Run benchmarks"), limits=limits))
    assert drive.labels[-1] == "More…"
    drive.reply(Answer(drive.ask.key, ("…",)))
    assert drive.labels == ["Go back to 1: Plan", "Run benchmarks"]
    assert proven(drive.say("run benchmarks").result)["userChoice"] == "custom"


def test_the_question_says_where_it_stands() -> None:
    """Track, phase, next and proof are in the text itself, so that nobody has to scroll."""
    phases = (replace(PHASES[0], proof=PROOF), *PHASES[1:])
    ask = Drive(gate(track("1", *phases), folder="rel")).ask
    assert ask.questions[0].text == (
        "1: Plan of rel is at its end; 2: Build is next, and 3 things must be proven first. "
        "What should happen next?"
    )
    assert ask.questions[0].header == "1. Plan"
    assert "risk (one of low, high)" in ask.preamble.text
    last = Drive(gate(track("4"))).ask.questions[0]
    assert last.text == "4: Ship is at its end; it is the last phase. What should happen next?"


def test_the_question_knows_what_was_proven() -> None:
    """What was handed over with the gate is not asked for in its text."""
    phases = (replace(PHASES[0], proof=PROOF), *PHASES[1:])
    given = {field.name: "x" for field in PROOF}
    last = given.popitem()
    text = Drive(gate(track("1", *phases), proof=given)).ask.questions[0].text
    assert "is next, and 1 more thing must be proven first." in text
    given |= [last]
    text = Drive(gate(track("1", *phases), proof=given)).ask.questions[0].text
    assert "is next. What" in text  # nobody has checked it


# -- what comes of each choice -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "reply", "choice", "target", "reason"),
    [
        ("2", "PRC", "proceed", "3: Test", "Proceed to 3: Test"),
        ("2", "proceed", "proceed", "3: Test", "Proceed to 3: Test"),
        ("2", "BAK", "back", "1: Plan", "Go back to 1: Plan"),
        ("2", "go back", "back", "1: Plan", "Go back to 1: Plan"),
        ("2", "restart this phase", "other", "2: Build", "Restart this phase"),
        ("2", "skip ahead", "other", "4: Ship", "Skip ahead to 4: Ship"),
        ("2", "!SKP", "other", "4: Ship", "Skip ahead to 4: Ship"),
        ("4", "finish", "proceed", "4: Ship", "Finish"),
    ],
)
def test_a_choice_is_carried_out(
    at: str, reply: str, choice: str, target: str, reason: str
) -> None:
    """The house moves the track; the choice is quoted as the reason."""
    house = House()
    drive = Drive(gate(track(at), folder="f", seen=7), house).say(reply)
    (move,) = house.moves
    assert (move.folder, move.source, move.target, move.seen) == ("f", at, target, 7)
    assert move.reason == f"chose “{reason}” at the gate of {track(at).current.title}"  # type: ignore[union-attr]  # it has one
    assert move.finish == (reply == "finish")
    result = proven(drive.result)
    announced = [{"kind": "matched", "text": f"> Matched: {reason}", "item": at}]
    assert drive.result == {**result, "notes": announced}
    assert result["userChoice"] == choice
    assert result["nextPhase"] == ("" if move.finish else target)
    assert result["phaseGated"] == track(at).current.title  # type: ignore[union-attr]  # it has one
    assert result["proofProvided"] == "none was needed"


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize("at", ["2", "4"])
@pytest.mark.parametrize(
    "text",
    ["go", "Go!", "GO", "go go", "yes", "Yes, go.", "go ahead", "do it", "sounds good", "ok", "👍"],
)
def test_an_affirmative_proceeds_and_never_moves_back(text: str, at: str, mode: Mode) -> None:
    """Proceed, or Finish at the last phase; and it is announced."""
    house = House()
    drive = Drive(gate(track(at)), house)
    asked = drive.ask.questions[0]
    drive.reply(read(text, asked, mode).answer(asked.key, text))
    assert proven(drive.result)["userChoice"] == "proceed"
    matched = asked.choices[0].label
    assert drive.result is not None
    assert drive.result["notes"] == [
        {"kind": "matched", "text": f"> Matched: {matched}", "item": at}
    ]


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize("at", ["2", "4"])
@pytest.mark.parametrize("text", ["yes", "go ahead", "Sounds good!", "do it", "proceed"])
def test_an_affirmative_in_an_opened_menu_is_asked_about(text: str, at: str, mode: Mode) -> None:
    """It may mean what is listed there, or Proceed on the level above, which it means then."""
    house = House()
    drive = Drive(gate(track(at)), house)
    proceed = drive.labels[0]
    drive.say("")
    listed = drive.labels
    for labels in ([*listed, proceed], []):
        asked = drive.ask.questions[0]
        drive.reply(read(text, asked, mode).answer(asked.key, text))
        assert labels == ([] if drive.result else drive.labels)
        assert len(house.moves) == (not labels)
    assert proven(drive.result)["userChoice"] == "proceed"


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize(("code", "choice"), [("PRC", "proceed"), ("BAK", "back")])
def test_a_slip_in_a_whole_label_names_it_at_a_gate_too(code: str, choice: str, mode: Mode) -> None:
    """Words that only mean something like it are the caller's; a mistyped name is still a name."""
    drive = Drive(gate(track("2")), House())
    asked = drive.ask.questions[0]
    [label] = [option.label for option in asked.choices if option.code == code]
    slipped = f"{label[0]}{label[2]}{label[1]}{label[3:]}"
    drive.reply(read(slipped, asked, mode).answer(asked.key, slipped))
    assert proven(drive.result)["userChoice"] == choice


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize("text", ["just go", "now go", "go now", "go as is", "we can go"])
def test_a_word_that_go_back_begins_with_moves_nothing_back(text: str, mode: Mode) -> None:
    """`Go` is the beginning of `Go back` and of `Go ahead` alike."""
    asked = Drive(gate(track())).ask.questions[0]
    assert "BAK" not in read(text, asked, mode).codes


@pytest.mark.parametrize("text", ["the plan is good", "as planned", "looks as planned, go", "plan"])
def test_the_name_of_a_phase_moves_nothing(text: str) -> None:
    """What was said of the plan does not lead back to the phase of that name."""
    asked = Drive(gate(track())).ask.questions[0]
    assert "BAK" not in read(text, asked, "plain").codes


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("third", "BAK"),
        ("ok let's go back", "BAK"),
        ("please proceed to test", "PRC"),
        ("let's walk through it", "WLK"),
        ("skip ahead then", "OTH/SKP"),
    ],
)
def test_what_a_choice_does_is_said_in_words(text: str, code: str) -> None:
    """In text, a place in the list or the word that the label begins with is enough."""
    asked = Drive(gate(track())).ask.questions[0]
    assert read(text, asked, "plain").codes == (code,)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("go back", "Go back to 1: Plan"),
        ("restart this phase", "Restart this phase"),
        ("skp", "Skip ahead to 4: Ship"),
        ("run benchmarks", "Run benchmarks"),
    ],
)
def test_every_typed_match_is_announced(text: str, label: str) -> None:
    """Also where it ends the run."""
    drive = Drive(gate(track(), custom=Custom("Run benchmarks"))).say(text)
    assert drive.result is not None
    assert [note["text"] for note in drive.result["notes"]] == [f"> Matched: {label}"]


def test_a_menu_is_gone_up_from() -> None:
    """In the menu behind Other, `back` is the way up; nothing moves."""
    house = House()
    drive = Drive(gate(track("4")), house).say("", "back")
    assert drive.labels[0] == "Finish"
    assert [note.text for note in drive.ask.notes] == ["> Matched: Back"]
    drive.say("", "<", "", "finish")
    assert [(move.target, move.finish) for move in house.moves] == [("4: Ship", True)]
    assert proven(drive.result)["userChoice"] == "proceed"


def test_other_left_blank_opens_its_menu() -> None:
    """Restart and Skip are behind Other."""
    house = House()
    drive = Drive(gate(track()), house).say("")
    assert drive.labels == ["Restart this phase", "Skip ahead to 4: Ship"]
    assert proven(drive.say("SKP").result)["nextPhase"] == "4: Ship"


@pytest.mark.parametrize("at", ["3", "4"])
def test_other_left_blank_restarts_nothing(at: str) -> None:
    """With nothing to skip, Restart alone is behind Other, and has to be chosen like anything."""
    house = House()
    drive = Drive(gate(track(at)), house).say("")
    assert drive.labels == ["Restart this phase"]
    assert house.moves == []
    assert proven(drive.say("RST").result)["userChoice"] == "other"
    assert len(house.moves) == 1


def test_where_the_way_forks_another_branch_can_be_taken() -> None:
    """Proceed takes the first branch; the others are behind Other, and need no approval."""
    forked = track("1", Phase("1"), Phase("2.A", "Slow"), Phase("2.B", "Fast"), Phase("3"))
    for replies in (["switch to 2.B: Fast"], ["", "ALT"], ["!ALT"]):
        house = House()
        drive = Drive(gate(forked), house)
        assert drive.labels[0] == "Proceed to 2.A: Slow"
        drive.say(*replies)
        assert proven(drive.result)["nextPhase"] == "2.B: Fast"
        assert [move.target for move in house.moves] == ["2.B: Fast"]
    many = tuple(Phase(f"2.{letter}", f"Way {letter}") for letter in "ABCDE")
    house = House()
    drive = Drive(gate(track("1", Phase("1"), *many)), house).say("", "ALT")
    assert drive.labels == [f"Switch to 2.{letter}: Way {letter}" for letter in "BCDE"]
    assert proven(drive.say("TC").result)["nextPhase"] == "2.D: Way D"
    assert Drive(gate(track("1", Phase("1"), *many))).say("!ALT").result is not None


FORKED = (*(Phase(n, f"Way {n}") for n in ("1", "2.A", "2.B", "2.C")), Phase("3"))


@pytest.mark.parametrize("text", ["do both: 2.B and a talk", "2.C", "OTH/ALT/TB", "custom: x"])
def test_words_in_the_menu_of_branches_are_handed_over(text: str) -> None:
    """Own words are handed to the caller as they are, on whatever level they were typed."""
    house = House()
    drive = Drive(gate(track("1", *FORKED)), house).say("ALT", text)
    assert drive.result is not None
    assert (proven(drive.result)["userChoice"], drive.result["text"]) == ("other", text)
    assert house.moves == []


@pytest.mark.parametrize("letter", ["A", "B", "C"])
def test_extras_in_the_menu_of_branches_are_answered(letter: str) -> None:
    """The extras are answered on every level, and then the menu comes again."""
    drive = Drive(gate(track("1", *FORKED)))
    before = drive.labels
    drive.say("ALT", letter)
    assert drive.labels == before
    assert drive.ask.preamble.why
    assert proven(drive.say("PRC").result)["nextPhase"] == "2.A: Way 2.A"


@pytest.mark.parametrize("letter", ["A", "B", "C"])
def test_extras_are_answered_and_the_menu_comes_again(letter: str) -> None:
    """What was made, what lies ahead, how long it took: from the track, then the same menu."""
    house = House(files={"plan.md": "x1"})
    flow = gate(track(), since="2026-01-01T03:04:05Z")
    drive = Drive(flow, house)
    before = drive.labels
    drive.say(letter)
    said = {
        "A": "- plan.md: plan.md is x1",
        "B": "- 3: Test\n- 4: Ship",
        "C": "2: Build has taken 1 day so far",
    }
    assert said[letter] in drive.ask.preamble.text
    assert drive.labels == before
    assert drive.ask.key == "2:~2"
    assert house.moves == []
    assert proven(drive.say("PRC").result)["userChoice"] == "proceed"


def test_time_spent_is_told_as_people_tell_it() -> None:
    """Two units at most, and nothing invented where nobody kept the time."""
    phase = PHASES[0]
    now = "2026-01-02T03:04:05Z"
    for since, told in [
        ("2026-01-02T03:04:05Z", "has only just begun"),
        ("2026-01-02T03:04:04Z", "has taken 1 second so far"),
        ("2026-01-02T02:02:05Z", "has taken 1 hour 2 minutes so far"),
        ("2025-12-31T01:04:05Z", "has taken 2 days 2 hours so far"),
        ("", "It was not recorded when"),
        ("yesterday", "It was not recorded when"),
    ]:
        assert told in time_spent(phase, since, now)


def test_the_custom_action_goes_to_the_caller() -> None:
    """By its code or its words; nothing moves."""
    for reply in ("CUS", "run benchmarks", "Run benchmarks!"):
        house = House()
        drive = Drive(gate(track(), custom=Custom("Run benchmarks", "Measure")), house).say(reply)
        assert proven(drive.result)["userChoice"] == "custom"
        assert drive.result is not None
        assert drive.result["text"] == "Run benchmarks"
        assert house.moves == []


@pytest.mark.parametrize(
    "text",
    [
        "add dark mode to the scope first",
        "we should not proceed yet",
        "move to 3: Test",
        "3",
        "ship it to the moon",
        "OTH/smart:Show which phases remain",
        "custom: OTH/SKP",
    ],
)
def test_free_text_moves_nothing(text: str) -> None:
    """Own words are handed to the caller as they are."""
    house = House()
    drive = Drive(gate(track(), custom=Custom("Run benchmarks")), house).say(text)
    assert proven(drive.result)["userChoice"] == "other"
    assert drive.result is not None
    assert drive.result["text"] == text
    assert drive.result["nextPhase"] == ""
    assert house.moves == []


@pytest.mark.parametrize("text", ["!skip", "!", "!dismiss", "!OTH"])
def test_leaving_the_menu_moves_nothing(text: str) -> None:
    """Skipping the question is not skipping the phase."""
    house = House()
    drive = Drive(gate(track()), house).say(text)
    assert proven(drive.result)["executed"] == "left the menu without choosing"
    assert house.moves == []


def test_a_remark_beside_the_choice_is_kept() -> None:
    """What was said with a pick is in the result."""
    drive = Drive(gate(track()))
    drive.reply(Answer(drive.ask.key, ("PRC",), comment="but watch the logs"))
    assert drive.result is not None
    assert drive.result["comment"] == "but watch the logs"


def test_questions_and_explanations_bring_the_menu_back() -> None:
    """A prefix is no answer."""
    house = House()
    drive = Drive(gate(track()), house).say("?", "Q: is it safe?", "#later")
    assert drive.ask.key == "2:~4"
    assert house.moves == []


# -- proof ---------------------------------------------------------------------------------------

PROVING = (replace(PHASES[0], proof=PROOF), *PHASES[1:])
LACKING = {"missing": ["scope", "hours"], "unfilled": ["risk"], "wrong": {}}


@pytest.mark.parametrize("reply", ["PRC", "SKP"])
def test_missing_proof_is_handed_back_where_nobody_can_be_asked(reply: str) -> None:
    """The result says what is missing, and the caller has to find it."""
    drive = Drive(gate(track("1", *PROVING)), House(LACKING)).say(f"!{reply}")
    result = proven(drive.result)
    assert result["proofProvided"] == (
        "no: scope is missing; hours is missing; risk was left unfilled"
    )
    assert drive.result is not None
    assert drive.result["missing"] == ["scope", "hours", "risk"]
    assert result["nextPhase"] == ("2: Build" if reply == "PRC" else "3: Test")


def test_proof_that_came_along_is_passed_on() -> None:
    """What the caller piped in goes with the move."""
    given = {"scope": "all", "risk": "low", "hours": 3}
    house = House()
    drive = Drive(gate(track("1", *PROVING), proof=given), house).say("PRC")
    assert house.moves[0].proof == given
    assert proven(drive.result)["proofProvided"] == "yes, 3 fields"


def test_an_unclear_proof_is_asked_for_again() -> None:
    """Two things of which one is meant are no value; the question says why it is back."""
    house = House(LACKING)
    drive = Drive(gate(track("1", *PROVING), at_hand=True), house).say("PRC")
    scope, risk, hours = drive.ask.questions
    both = Answer(risk.key, prefix="unclear", argument="Low and “high”. Which is meant?")
    drive.reply(Answer(scope.key, text="all"), both, Answer(hours.key, text="3", raw="3"))
    assert [question.header for question in drive.ask.questions] == [risk.header]
    assert drive.ask.preamble.why == both.argument


def test_what_was_typed_survives_a_blank_neighbour() -> None:
    """A field that is left blank brings the menu back, and the others are not asked for again."""
    house = House(LACKING, {"missing": ["risk"]})
    drive = Drive(gate(track("1", *PROVING), at_hand=True), house).say("PRC")
    scope, risk, hours = drive.ask.questions
    drive.reply(
        Answer(scope.key, text="all"), Answer(risk.key), Answer(hours.key, text="3", raw="3")
    )
    assert drive.labels[0] == "Proceed to 2: Build"
    assert "lacks risk. What was given for scope, hours is kept." in drive.ask.preamble.text
    assert "and 1 more thing must be proven first" in drive.ask.questions[0].text
    drive.say("PRC")
    assert house.moves[-1].proof == {"scope": "all", "hours": "3"}
    assert [question.title for question in drive.ask.questions] == ["risk"]
    drive.say("low")
    assert house.moves[-1].proof == {"scope": "all", "hours": "3", "risk": "low"}


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize(
    "value",
    [
        "1",
        "2",
        "?",
        "???",
        "#42",
        "!skip",
        "@plan.md",
        "+1",
        "Q: none",
        "A",
        "Other",
        "OTH",
        "back",
    ],
)
def test_a_proof_is_read_as_nothing_but_what_was_typed(value: str, mode: Mode) -> None:
    """No number of a list, prefix, extra or word for Other: it is the value."""
    house = House(LACKING)
    drive = Drive(gate(track("1", *PROVING), at_hand=True), house).say("PRC")
    scope, risk, hours = drive.ask.questions
    assert [q.menu for q in (scope, risk, hours)] == [False, False, False]
    assert (scope.value, hours.value) == ("scope", "hours (integer)")
    answers = [read(value, q, mode).answer(q.key, value) for q in (scope, risk, hours)]
    drive.reply(*answers)
    assert house.moves[-1].proof == dict.fromkeys(("scope", "risk", "hours"), value)


def test_a_person_is_asked_field_by_field() -> None:
    """What is missing is asked for, what is wrong is asked for again, the rest stands."""
    house = House(LACKING, {"wrong": {"hours": "must be integer and is text"}})
    flow = gate(track("1", *PROVING), proof={"other": 1}, at_hand=True)
    drive = Drive(flow, house).say("PRC")
    questions = drive.ask.questions
    assert [q.title for q in questions] == ["scope", "risk", "hours"]
    assert [[c.label for c in q.choices] for q in questions] == [[], ["low", "high"], []]
    assert "it was left unfilled" in questions[1].text
    values = {"scope": "#everything", "risk": "high", "hours": "many"}
    answers = [read(values[q.title], q, "strict").answer(q.key, values[q.title]) for q in questions]
    drive.reply(*answers)
    (question,) = drive.ask.questions
    assert question.title == "hours"
    assert "must be integer and is text" in question.text
    drive.say("12")
    assert [move.proof for move in house.moves] == [
        {"other": 1},
        {"other": 1, **values},
        {"other": 1, **values, "hours": "12"},
    ]
    assert house.moves[-1].typed == ("hours", "risk", "scope")
    assert proven(drive.result)["userChoice"] == "proceed"


def test_slots_are_filled_wherever_a_person_would_see_them() -> None:
    """Moves and results name phases as the track has them; what is read has the values."""
    proving = (Field("url", {"description": "the page of {env}"}),)
    names = ("Deploy {env}", "Watch {env}", "Roll {env}")
    every = [Phase(str(n), name, proving) for n, name in enumerate(names, 1)]
    terms = Terms("f", track("1", *every), at_hand=True, values={"env": "{prod}"})
    house = House({"missing": ["url"]}, files={"a.md": "1"})
    drive = Drive(start(msgspec.to_builtins(terms)), house).say("A", "B", "C", "WLK", "OK", "PRC")
    assert drive.ask.preamble.blocks == ("- url: the page of {prod}",)
    drive.say("x")
    shown = msgspec.json.encode([*drive.asks, house.moves[0].reason]).decode()
    assert "{env}" not in shown
    for told in ("1: Deploy {prod}", "2: Watch {prod}", "3: Roll {prod}"):
        assert told in shown
    assert [(move.source, move.target) for move in house.moves] == [("1", "2: Watch {env}")] * 2
    result = proven(drive.result)
    assert (result["phaseGated"], result["nextPhase"]) == ("1: Deploy {env}", "2: Watch {env}")
    assert drive.result is not None
    assert drive.result["labels"] == ["1: Deploy {prod}", "2: Watch {prod}"]


def test_a_blank_brings_the_menu_back() -> None:
    """Whoever cannot prove it chooses something else."""
    house = House(LACKING)
    drive = Drive(gate(track("1", *PROVING), at_hand=True), house).say("PRC", "")
    assert "Nothing moved" in drive.ask.preamble.text
    assert drive.labels[0] == "Proceed to 2: Build"
    assert proven(drive.say("my own way").result)["userChoice"] == "other"
    assert len(house.moves) == 1


def test_proof_is_asked_in_screenfuls() -> None:
    """No more questions at once than the host shows; an open one is asked again."""
    fields = tuple(Field(f"f{n}") for n in range(6))
    lacking = {"missing": [field.name for field in fields]}
    flow = gate(track("1", Phase("1", proof=fields), Phase("2")), at_hand=True)
    house = House(lacking)
    drive = Drive(flow, house).say("PRC")
    assert len(drive.ask.questions) == 4
    drive.reply(*(Answer(q.key, text=f"v {q.title}") for q in drive.ask.questions[:3]))
    assert [q.title for q in drive.ask.questions] == ["f3", "f4", "f5"]
    drive.reply(Answer(drive.ask.key, advice="Look at the report."))
    assert "Look at the report." in drive.ask.preamble.text
    drive.say("done")
    assert house.moves[-1].proof == {
        **{f"f{n}": f"v f{n}" for n in range(3)},
        **{f"f{n}": "done" for n in range(3, 6)},
    }


def test_what_the_house_refuses_ends_the_run() -> None:
    """A track that moved meanwhile is not moved by an old answer."""
    drive = Drive(gate(track()), lambda deed: Done(deed.key, error="the track has moved"))
    with pytest.raises(Rejected, match="the track has moved"):
        drive.say("PRC")


def test_a_phase_without_a_gate_passes_unasked() -> None:
    """No menu; proof is still due."""
    phases = (replace(PHASES[0], gate=False, proof=PROOF), *PHASES[1:])
    house = House()
    drive = Drive(gate(track("1", *phases)), house)
    assert proven(drive.result)["executed"] == "passed on without a menu"
    assert (house.moves[0].menu, house.moves[0].reason) == (False, "")
    unproven = Drive(gate(track("1", *phases)), House(LACKING))
    assert unproven.result is not None
    assert unproven.result["missing"]
    house = House(LACKING)
    asked = Drive(gate(track("1", *phases), at_hand=True), house)
    assert [q.title for q in asked.ask.questions] == ["scope", "risk", "hours"]
    named = asked.ask.questions[0].key
    asked.reply(Answer(named, text="all"), *(Answer(q.key) for q in asked.ask.questions[1:]))
    assert asked.result is not None  # nobody was shown a menu that could come again
    assert asked.result["missing"] == ["hours", "risk"]
    assert len(house.moves) == 1


def test_a_person_is_required() -> None:
    """By the caller or by the phase; then even a phase without a gate has one."""
    phases = (replace(PHASES[0], gate=False, approval="person"), *PHASES[1:])
    for flow in (gate(track("1", *phases)), gate(track("1"), require_person=True)):
        drive = Drive(flow)
        assert drive.ask.require == "person"
        assert [note.kind for note in drive.ask.notes] == ["person"]
        drive.say("B", "")
        assert [ask.require for ask in drive.asks] == ["person"] * 3
    assert Drive(gate(track())).ask.require == ""


# -- walking through -----------------------------------------------------------------------------


def test_a_walk_through_asks_in_batches_of_four() -> None:
    """Every artifact once, then the same menu again."""
    house = House(files={f"{name}.md": "1" for name in "abcdefghi"})
    drive = Drive(gate(track()), house).say("WLK")
    before = drive.asks[0].questions[0].choices
    sizes = []
    while drive.ask.questions[0].choices != before:
        sizes.append(len(drive.ask.questions))
        drive.say("OK")
    assert sizes == [4, 4, 1]
    assert "- i.md: Keep it" in drive.ask.preamble.text
    assert drive.asks[1].key == "2:+PLAN_REVIEW+2/1:"
    result = drive.say("PRC").result
    assert result is not None
    assert [review["item"] for review in result["review"]] == list(house.files)


def test_the_recap_of_a_walk_through_is_told_in_labels() -> None:
    """Own words as they are, and what was left open as such."""
    house = House(files={f"{name}.md": "1" for name in "abc"})
    drive = Drive(gate(track()), house).say("WLK")
    said = zip(drive.ask.questions, ("remove it", "file: it", "!skip"), strict=True)
    drive.reply(*(read(text, q, "strict").answer(q.key, text) for q, text in said))
    told = drive.ask.preamble.text.split("\n\n")[0]
    assert told.endswith("- a.md: Remove it\n- b.md: “file: it”\n- c.md: no answer")


def test_what_was_reviewed_is_not_asked_again() -> None:
    """Only what is new, was changed, or was left open comes up the next time."""
    house = House(files={"a.md": "1", "b.md": "1", "c.md": "1"})
    drive = Drive(gate(track()), house).say("WLK")
    first, second, third = drive.ask.questions
    answers = [Answer(first.key, ("OK",)), Answer(second.key, ("RWK",))]
    drive.reply(*answers, read("!skip", third, "strict").answer(third.key, "!skip"))
    house.files |= {"b.md": "2", "d.md": "1"}
    drive.say("WLK")
    assert [question.title for question in drive.ask.questions] == ["b.md", "c.md", "d.md"]
    drive.say("OK", "WLK")
    assert "Everything was reviewed before" in drive.ask.preamble.text
    assert drive.labels[0] == "Proceed to 3: Test"


def test_reviews_of_earlier_gates_count() -> None:
    """What people said before, of the same content, is taken from the journal."""

    def house(deed: Do) -> Done:
        one = {"path": "a.md", "digest": "1", "about": "old", "reviewed": "OK"}
        two = {"path": "b.md", "digest": "1", "about": "new"}
        return Done(deed.key, text=msgspec.json.encode({"artifacts": [one, two]}).decode())

    drive = Drive(gate(track()), house).say("WLK")
    assert [question.title for question in drive.ask.questions] == ["b.md"]


def test_what_is_said_beside_a_choice_is_kept() -> None:
    """Tags and questions come with the result, and those of a piece of work with its review."""
    drive = Drive(gate(track()), House(files={"a.md": "1"}))
    drive.say("#later", "Q: who pays?", "WLK", "#draft", "Q: whose is it?", "RWK", "PRC")
    assert drive.result is not None
    assert drive.result["tags"] == ["later"]
    assert drive.result["questions"] == ["who pays?"]
    [review] = drive.result["review"]
    assert (review["path"], review["tags"]) == ("RWK", ["draft"])
    assert review["notes"] == ["whose is it?"]


def test_a_walk_through_of_nothing() -> None:
    """An empty folder is said, and the menu comes again."""
    drive = Drive(gate(track())).say("WLK")
    assert "nothing to walk through" in drive.ask.preamble.text


def test_a_walk_through_of_what_the_caller_gave() -> None:
    """Items take the place of files; each is asked about once."""
    items = [Item("1", "Auth", "Auth design", "Tokens expire."), Item("2", "Cache")]
    house = House()
    drive = Drive(gate(track(), items=items), house).say("WLK")
    assert [question.title for question in drive.ask.questions] == ["Auth design", "Cache"]
    drive.say("OK", "WLK", "BAK")
    assert house.listed == 0
    assert drive.result is not None
    assert [review["path"] for review in drive.result["review"]] == ["OK", "OK"]


# -- what cannot be asked ------------------------------------------------------------------------


def test_items_that_cannot_be_told_apart_are_refused() -> None:
    """Before anybody is asked anything, as in any other tree."""
    with pytest.raises(QuandaryError, match="two items have the id 1"):
        gate(track(), items=(Item("1", title="Auth"), Item("1", title="Cache")))


def test_a_gate_before_the_beginning_is_refused() -> None:
    """There is nothing to leave."""
    with pytest.raises(Rejected, match="no phase has begun"):
        gate(Track(PHASES))
    with pytest.raises(QuandaryError, match="needs a label"):
        gate(track(), custom=Custom(" "))


# -- whatever is said ----------------------------------------------------------------------------

_TEXTS = st.one_of(
    st.sampled_from(
        ["PRC", "WLK", "BAK", "CUS", "RST", "SKP", "OK", "A", "B", "C", "", "?", "!skip", "!OTH"]
    ),
    st.sampled_from(["Q: why", "#tag", "@x", "+OK", "1", "none", "proceed", "yes", "low", "12"]),
    st.text(max_size=12),
)


@given(
    st.sampled_from(["1", "2", "3", "4"]),
    st.booleans(),
    st.booleans(),
    st.lists(_TEXTS, max_size=8),
    st.sampled_from([Limits(), Limits(3, 3), Limits(1, 4)]),
)
def test_whatever_is_said(
    at: str, custom: bool, at_hand: bool, texts: list[str], limits: Limits
) -> None:
    """The menu waits or a valid result is there; a move is only ever what a choice names."""
    phases = tuple(replace(phase, proof=PROOF) for phase in PHASES)
    house = House(LACKING, files={"a.md": "1", "b.md": "1"})

    def deeds(deed: Do) -> Done:
        return Done(deed.key, error="no") if deed.deed == "read-file" else house(deed)

    action = Custom("Run benchmarks") if custom else None
    flow = gate(track(at, *phases), custom=action, at_hand=at_hand, limits=limits)
    drive = Drive(flow, deeds)
    for text in texts:
        if drive.result is not None:
            break
        assert len(drive.ask.questions) <= limits.questions
        drive.say(text)
    where = track(at, *phases)
    reachable = {p.title for p in (where.next, where.previous, where.beyond, where.current) if p}
    assert {move.target for move in house.moves} <= reachable
    if drive.result is not None:
        proven(drive.result)


_SCRIPT = """\
import json, sys
import msgspec
from quandary.flows.gate import start
from quandary.model.asks import Ask, Reply
from quandary.model.calls import Done

told = json.load(sys.stdin)
flow = start(told["arguments"])
shown, request = [], next(flow)
for response in told["responses"]:
    shown.append(msgspec.json.encode(request).decode())
    kind = Reply if isinstance(request, Ask) else Done
    try:
        request = flow.send(msgspec.convert(response, kind))
    except StopIteration as end:
        shown.append(json.dumps(end.value))
        break
print(json.dumps(shown))
"""


def test_a_gate_is_the_same_in_every_process() -> None:
    """The same responses give the same requests, whatever the hash seed."""
    found = {"now": "", "artifacts": [{"path": "a.md", "digest": "1", "about": "x"}]}
    typed = [{"key": f"1:proof/{field.name}", "text": "12"} for field in PROOF]
    responses: list[dict[str, Any]] = [
        {"type": "reply", "answers": [{"key": "1:", "picked": ["WLK"]}]},
        {"type": "done", "key": "1:+artifacts", "text": json.dumps(found)},
        {"type": "reply", "answers": [{"key": "1:+PLAN_REVIEW+1/1:", "picked": ["OK"]}]},
        {"type": "reply", "answers": [{"key": "1:~2", "extra": "B"}]},
        {"type": "reply", "answers": [{"key": "1:~3", "picked": ["PRC"]}]},
        {"type": "done", "key": "1:+move", "text": json.dumps({"lacking": LACKING})},
        {"type": "reply", "answers": typed},
        {"type": "done", "key": "1:+move~2", "text": "{}"},
    ]
    terms = {"folder": "f", "track": track("1", *PROVING), "at_hand": True}
    told = {"arguments": msgspec.to_builtins(terms), "responses": responses}
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            input=json.dumps(told),
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "33")
    }
    (output,) = outputs
    assert json.loads(json.loads(output)[-1])["userChoice"] == "proceed"
