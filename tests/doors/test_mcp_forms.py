"""Forms in chat clients: nothing that was offered is lost, and nothing else is an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import parse_server_request
from msgspec.structs import replace

from asks import asks, picks
from quandary.doors.mcp.forms import INSTANT
from quandary.doors.mcp.forms import make_form as form
from quandary.doors.mcp.forms import read_form as came
from quandary.flows.decide import decide
from quandary.formats.markdown import parse
from quandary.model.asks import (
    MORE,
    Answer,
    Ask,
    Choice,
    Item,
    Note,
    Outcome,
    Preamble,
    Question,
    Reply,
)
from quandary.model.tree import OTHER, Extra

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hypothesis.strategies import DataObject

CHOICES = (
    Choice("OK", "Keep it", "It is right"),
    Choice("INF", "Explain it"),
    Choice("NO", "Do it over", branch=True),
)
BEHIND = (Choice("OTH/CHG", "Change the aim"), Choice("OTH/REM", "Take it out"))
TAGS = (Choice("SEC", "Security"), Choice("DOC", "Documents, later"), Choice("UX", "Usability"))
ONE = Question(
    "1.3:",
    "1.3. Auth",
    "Is Auth right?",
    CHOICES,
    item="1.3",
    named=BEHIND,
    menu=True,
    extras=(Extra("A", "Run the tests"), Extra("B", "Show the plan", shows=True)),
)
TWO = Question("1.4:", "1.4. Cache", "Is Cache right?", CHOICES, item="1.4")
MANY = Question("2:", "2. Tags", "Which tags?", TAGS, multi=True, item="2")
LATER = 30.0


DEEP = """\
## Decision: Ship
- [GO] Ship it
- [FIX] Fix first
  - [DOC] Write the docs
  - [TST] Add tests
  - [REF] Refactor
- [WAI] Wait
- [OTH] Other
"""


def make(*questions: Question, **more: Any) -> Ask:  # noqa: ANN401 - fields of an Ask
    """An Ask with these questions."""
    return Ask(questions[0].key, more.pop("kind", "transition"), Preamble("A plan."), questions)


def accepted(
    content: Mapping[str, Any], *questions: Question, kind: str = "transition"
) -> Reply | Outcome:
    """What a form means that came back like this."""
    return came(make(*questions, kind=kind), "accept", content, LATER)


def answers(content: Mapping[str, Any], *questions: Question) -> tuple[Answer, ...]:
    """The answers in a form that has some."""
    response = accepted(content, *questions)
    assert isinstance(response, Reply)
    return response.answers


def doubt(found: Sequence[Answer]) -> str:
    """Why the only answer of a form is unclear."""
    (answer,) = found
    assert (answer.prefix, answer.picked, answer.text) == ("unclear", (), None)
    return answer.argument


def fields(ask: Ask, *, titled: bool = True) -> dict[str, Any]:
    """The fields of a form."""
    found: dict[str, Any] = form(ask, titled=titled).requested_schema["properties"]
    return found


# -- out -----------------------------------------------------------------------------------------


def test_a_question_is_titled_choices_a_line_for_words_and_a_comment() -> None:
    """Choices carry their codes and say what they mean; Other with nothing typed opens its menu."""
    shown = fields(make(ONE))
    assert list(shown) == ["answer_1", "other_1", "comment_1"]
    choices = shown["answer_1"]
    assert (choices["type"], choices["title"]) == ("string", "1.3. Auth")
    assert choices["description"] == "Is Auth right?"
    assert choices["oneOf"][:3] == [
        {"const": "OK", "title": "Keep it — It is right"},
        {"const": "INF", "title": "Explain it"},
        {"const": "NO", "title": "Do it over..."},
    ]
    assert choices["oneOf"][3]["const"] == OTHER
    assert form(make(ONE)).requested_schema["required"] == []


def test_an_opened_menu_shows_the_way_up() -> None:
    """It is the last choice, and means that alone; the levels above can be typed."""
    above = (Choice("<", "Back", "To the options before"), Choice("<CUT", "Leave it out"))
    opened = replace(ONE, menu=False, above=above)
    shown = fields(make(opened))["answer_1"]["oneOf"]
    assert shown[3] == {"const": "<", "title": "Back — To the options before"}
    for content, codes in (({"answer_1": "<"}, ("<",)), ({"other_1": "leave it out"}, ("<CUT",))):
        (answer,) = answers(content, opened)
        assert answer.picked == codes


def test_a_proof_is_a_line_of_its_own() -> None:
    """Under the name of the field, read as nothing else, and it can be left out."""
    proof = Question("1:proof", "1. hours", "What proves it?", (), value="hours (integer)")
    shown = fields(make(proof))
    assert list(shown) == ["answer_1", "other_1"]
    assert shown["other_1"]["title"] == "hours (integer)"
    assert [c["title"] for c in shown["answer_1"]["oneOf"]] == ["Leave it out — back to the menu"]
    for text in ("1", "?", "#2", "Other"):
        (answer,) = answers({"other_1": text}, proof)
        assert (answer.text, answer.prefix) == (text, None)
    (answer,) = answers({"answer_1": OTHER}, proof)
    assert answer.blank


def test_without_a_menu_there_is_no_other_to_choose() -> None:
    """Where nothing is behind Other, there is only the line for words."""
    codes = [choice["const"] for choice in fields(make(TWO))["answer_1"]["oneOf"]]
    assert codes == ["OK", "INF", "NO"]


def test_several_questions_share_one_form() -> None:
    """All questions of an Ask come at once, and each field says which it belongs to."""
    shown = fields(make(ONE, TWO, MANY))
    assert [name for name in shown if name.startswith("answer")] == [
        "answer_1",
        "answer_2",
        "answer_3",
    ]
    assert shown["other_2"]["title"] == "1.4. Cache: in your own words"
    assert shown["comment_3"]["title"] == "2. Tags: comment"


def test_several_choices_are_a_list_to_tick() -> None:
    """A multi-select is an array of titled choices."""
    listed = fields(make(MANY))["answer_1"]
    assert listed["type"] == "array"
    assert listed["items"]["anyOf"][1] == {"const": "DOC", "title": "Documents, later"}


def test_a_question_without_choices_is_a_line_to_fill_in() -> None:
    """What cannot be chosen is written, below the question."""
    shown = fields(make(Question("1:", "1. Hours", "How many hours?", ())))
    assert list(shown) == ["other_1", "comment_1"]
    assert shown["other_1"]["description"] == "How many hours?"


def test_what_happened_stands_above_the_question_once() -> None:
    """Notes are told; what the preamble says already is not told twice."""
    notes = [Note("matched", "> Matched: Keep it"), Note("explained", "A plan.")]
    assert form(make(ONE), notes).message == "> Matched: Keep it\n\nA plan."


def test_older_clients_get_what_they_know() -> None:
    """Before 2025-11-25 choices are an enum with names, and several are named in a line."""
    single = fields(make(ONE), titled=False)["answer_1"]
    assert (single["enum"][0], single["enumNames"][0]) == ("OK", "Keep it — It is right")
    several = fields(make(MANY), titled=False)["answer_1"]
    assert several["type"] == "string"
    assert "DOC: Documents, later" in several["description"]
    assert answers({"answer_1": "SEC, UX"}, MANY)[0].picked == ("SEC", "UX")


@given(asks(), st.booleans())
def test_any_ask_is_a_flat_form_that_the_protocol_allows(ask: Ask, titled: bool) -> None:
    """Every choice of every question is there, and the protocol's own schema takes the form."""
    made = form(ask, ask.notes, titled=titled)
    jsonschema.Draft202012Validator.check_schema(made.requested_schema)
    parse_server_request(
        "elicitation/create",
        "2025-11-25",
        {"mode": "form", "message": made.message, "requestedSchema": made.requested_schema},
    )
    for number, question in enumerate(ask.questions, 1):
        field = made.requested_schema["properties"].get(f"answer_{number}", {})
        for choice in question.choices:
            assert choice.code in str(field)


def test_extras_are_among_the_choices_and_told_apart() -> None:
    """One that leaves the question open says so."""
    listed = {one["const"]: one["title"] for one in fields(make(ONE))["answer_1"]["oneOf"]}
    assert listed["A:"] == "A: Run the tests"
    assert listed["B?"] == "B? Show the plan (to see first; the question stays open)"
    why = doubt(answers({"answer_1": "B?", "other_1": "better not"}, ONE))
    assert why.startswith("Show the plan was chosen, and “better not” was written")


# -- back ----------------------------------------------------------------------------------------


@given(st.data(), asks())
def test_what_was_ticked_is_what_comes_back(data: DataObject, ask: Ask) -> None:
    """Whatever the labels, ticks come back as the codes of just those choices."""
    ticked = data.draw(picks(ask))
    content: dict[str, Any] = {}
    expected: dict[str, tuple[str, ...]] = {}
    for number, (question, ticks) in enumerate(zip(ask.questions, ticked, strict=True), 1):
        codes = [question.choices[tick].code for tick in ticks]
        if codes:
            content[f"answer_{number}"] = codes if question.multi else codes[0]
            expected[question.key] = tuple(codes)
    response = came(ask, "accept", content, LATER)
    if not expected:
        assert isinstance(response, Outcome)
    else:
        assert isinstance(response, Reply)
        assert {a.key: a.picked for a in response.answers} == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"answer_1": "OK"}, Answer("1.3:", ("OK",))),
        ({"answer_1": "OK", "comment_1": "at last"}, Answer("1.3:", ("OK",), comment="at last")),
        ({"answer_1": "OTH"}, Answer("1.3:")),
        ({"other_1": "do it over"}, Answer("1.3:", ("NO",), raw="do it over")),
        ({"other_1": "take it out"}, Answer("1.3:", ("OTH/REM",), raw="take it out")),
        (
            {"other_1": "ask Ada first"},
            Answer("1.3:", text="ask Ada first", raw="ask Ada first"),
        ),
        (
            {"answer_1": "OTH", "other_1": "ask Ada first"},
            Answer("1.3:", text="ask Ada first", raw="ask Ada first"),
        ),
        (
            {"other_1": "Q: who wrote it?"},
            Answer("1.3:", prefix="question", argument="who wrote it?", raw="Q: who wrote it?"),
        ),
        ({"other_1": "a"}, Answer("1.3:", extra="A", raw="a")),
        ({"answer_1": "A:"}, Answer("1.3:", extra="A", raw="A:")),
        ({"answer_1": "B?"}, Answer("1.3:", extra="B", prefix="show", raw="B?")),
        (
            {"comment_1": "not my call"},
            Answer("1.3:", text="not my call", raw="not my call"),
        ),
        ({"other_1": '{"answers": []}'}, Answer("1.3:", text='{"answers": []}')),
    ],
)
def test_the_fields_of_a_question_are_one_answer(
    content: Mapping[str, str], expected: Answer
) -> None:
    """A choice, words in its place that are read as a reply is, and a comment beside it."""
    (answer,) = answers(content, ONE)
    assert answer == (expected if expected.raw else replace(expected, raw=answer.raw))


@pytest.mark.parametrize(
    ("content", "picked", "text"),
    [
        ({"answer_1": ["SEC", "UX"]}, ("SEC", "UX"), None),
        ({"answer_1": ["SEC"], "other_1": "and speed"}, ("SEC",), "and speed"),
        ({"answer_1": ["SEC"], "other_1": "UX"}, ("SEC", "UX"), None),
        ({"other_1": "Documents, later"}, ("DOC",), None),
        ({"answer_1": [MORE, "SEC"]}, (MORE, "SEC"), None),
    ],
)
def test_ticks_and_words_go_together_where_several_can_be_chosen(
    content: Mapping[str, Any], picked: tuple[str, ...], text: str | None
) -> None:
    """In a multi-select, what is written adds to what is ticked."""
    more = replace(MANY, choices=(*TAGS, Choice(MORE, "More…")))
    (answer,) = answers(content, more)
    assert (answer.picked, answer.text) == (picked, text)


@pytest.mark.parametrize("words", ["", "my mother", "UX", "Q: why?", "?", "!skip", "#later", "A"])
@pytest.mark.parametrize("ticked", ["SEC", "SEC, DOC", "SEC, A:", "DOC, B?", "SEC, OTH"])
def test_names_in_a_line_are_what_ticks_are(ticked: str, words: str) -> None:
    """A client that knows no lists sends the same answer, whatever is written beside them."""
    extras = (Extra("A", "Tell the cat"), Extra("B", "Show the list", shows=True))
    asked = replace(MANY, extras=extras, menu=True, named=BEHIND)
    line, ticks = (
        accepted({"answer_1": picked, "other_1": words}, asked)
        for picked in (ticked, ticked.split(", "))
    )
    assert line == ticks
    if not words:
        labels = ticked.replace("SEC", "Security").replace("DOC", "Documents, later")
        assert accepted({"answer_1": labels}, asked) == ticks


def test_words_in_the_line_for_choices_and_others_beside_them_are_asked_about() -> None:
    """Only one of them can be read; alone, they are read wherever they stand."""
    both = answers({"answer_1": "SEC, my mother", "other_1": "?"}, MANY)
    assert "“my mother” and “?” were written" in doubt(both)
    (alone,) = answers({"answer_1": "SEC, my mother"}, MANY)
    assert (alone.picked, alone.text) == (("SEC",), "my mother")
    assert answers({"answer_1": "sec, ux"}, MANY)[0].picked == ("SEC", "UX")


def test_two_extras_or_an_extra_beside_other_are_asked_about() -> None:
    """One of them would be lost without a word."""
    asked = replace(MANY, extras=(Extra("A", "Tell the cat"), Extra("B", "Show the list", True)))
    both = answers({"answer_1": ["A:", "B?"]}, asked)
    assert doubt(both) == "Tell the cat and Show the list were chosen. Which is meant?"
    other = answers({"answer_1": ["SEC", "A:", OTHER]}, replace(asked, menu=True, named=BEHIND))
    assert doubt(other) == "Tell the cat and Other were chosen. Which is meant?"


def test_nothing_ticked_on_a_later_page_goes_on_with_what_was_ticked() -> None:
    """With something chosen on pages before, an empty list is the end of choosing."""
    later = replace(MANY, gathered=("SEC",))
    assert answers({"answer_1": []}, later)[0].picked == ("SEC",)
    assert isinstance(accepted({}, later), Outcome)


def test_a_choice_and_words_in_its_place_are_asked_again() -> None:
    """Either could be meant, so that neither counts; the other question's answer stands."""
    both = accepted({"answer_1": "OK", "other_1": "no, wait", "answer_2": "INF"}, ONE, TWO)
    assert isinstance(both, Reply)
    assert both.answers[:1] == (Answer("1.4:", ("INF",)),)
    why = doubt(both.answers[1:])
    assert "Keep it" in why
    assert "no, wait" in why
    assert answers({"answer_1": "OK", "other_1": "no, wait"}, ONE) == both.answers[1:]


def test_a_question_whose_answer_was_unclear_comes_back_and_says_why() -> None:
    """The reason stands in its own preamble, not beside what another answer leads to."""
    (tree,) = parse(DEEP).trees
    flow = decide(tree, [Item("1", "Auth"), Item("2.3", "Cache")], context="A plan.")
    content = {"answer_1": "FIX", "answer_2": "GO", "other_2": "only on Friday"}
    both = next(flow)
    assert isinstance(both, Ask)
    reply = came(both, "accept", content, LATER)
    assert isinstance(reply, Reply)
    follow_up = flow.send(reply)
    assert isinstance(follow_up, Ask)
    assert "Friday" not in form(follow_up, follow_up.notes).message
    again = flow.send(Reply((Answer(follow_up.key, ("DOC",)),)))
    assert isinstance(again, Ask)
    why = "Ship it was chosen, and “only on Friday” was written in the place of a choice. Which is"
    assert again.preamble.why.startswith(why)
    assert [question.item for question in again.questions] == ["2.3"]


@pytest.mark.parametrize(
    "content", [{}, {"other_1": "  "}, {"answer_1": ""}, {"answer_1": None, "other_1": None}]
)
def test_an_empty_form_is_no_answer(content: Mapping[str, Any]) -> None:
    """Somebody sent it off with nothing in it, so that the question stays open."""
    response = accepted(content, ONE)
    assert isinstance(response, Outcome)
    assert response.kind == "dismissed"


@pytest.mark.parametrize(
    "content",
    [
        {"answer_1": "NONE"},
        {"answer_1": 3},
        {"answer_1": ["OK", "NO"]},
        {"other_1": True},
        {"answer_1": {"const": "OK"}},
    ],
)
def test_what_was_not_offered_is_no_answer(content: Mapping[str, Any]) -> None:
    """A client that sends something else has made a mistake, which is kept."""
    response = accepted(content, ONE)
    assert isinstance(response, Outcome)
    assert response.kind == "error"
    assert response.detail


@pytest.mark.parametrize(
    ("action", "seconds", "kind"),
    [
        ("decline", INSTANT * 2, "declined"),
        ("decline", INSTANT / 2, "unavailable"),
        ("cancel", INSTANT * 2, "dismissed"),
        ("cancel", INSTANT / 2, "unavailable"),
    ],
)
def test_a_decline_takes_a_person_time(action: Any, seconds: float, kind: str) -> None:  # noqa: ANN401 - a Literal
    """A form that nobody can have read was not declined or closed by anybody."""
    response = came(make(ONE), action, None, seconds)
    assert isinstance(response, Outcome)
    assert response.kind == kind


@pytest.mark.parametrize("titled", [True, False])
def test_nothing_hidden_reaches_a_form(titled: bool) -> None:
    """What nobody would see is shown as an escape, in every part of it."""
    unseen = "\u200b\u202e\U000e0041"
    asked = replace(
        MANY, header=unseen, text=f"Which{unseen}?", choices=(Choice("A", unseen, unseen),)
    )
    ask = replace(make(asked), preamble=Preamble(f"A plan{unseen}."))
    written = form(ask, [Note("k", unseen)], titled=titled).model_dump_json()
    assert not set(unseen) & set(written)
    assert written.count("u200b") >= 4
