"""Questions for a host's box, and every shape in which an answer comes back."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from asks import asks, picks
from quandary.desk import returns, sheets
from quandary.doors.hosts import hooks
from quandary.errors import AlreadyAnswered, QuandaryError
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import (
    MORE,
    Answer,
    Ask,
    Choice,
    Kind,
    Outcome,
    Preamble,
    Question,
    Reading,
    Reply,
)
from quandary.reading import read

if TYPE_CHECKING:
    from pathlib import Path

    from hypothesis.strategies import DataObject

    from quandary.journal.store import State

CHOICES = (
    Choice("OK", "Looks good", "No changes"),
    Choice("INF", "More info needed", "Something is open"),
    Choice("NO", "Rework", "", branch=True),
)
BEHIND = (Choice("OTH/CHG", "Change approach"), Choice("OTH/REM", "Remove from plan"))
TAGS = (Choice("TAG", "Tag it"), Choice("BRS", "Brainstorm, later"), Choice("DOC", "Document"))

ONE = Question("1.3/2:", "1.3/2. Auth", "Is Auth good?", CHOICES, item="1.3/2", named=BEHIND)
TWO = Question("1.4/1:", "1.4/1. Cache", "Is Cache good?", CHOICES, item="1.4/1", title="Cache")
MANY = Question("2:", "2. Tags", "Which tags?", TAGS, multi=True, item="2")


def make(*questions: Question, kind: Kind = "transition") -> Ask:
    """An Ask."""
    return Ask(questions[0].key, kind, Preamble("A plan."), questions)


def own_words(text: str, question: Question, mode: str) -> Reading:  # noqa: ARG001 - its signature
    """A reader that takes everything for the person's own words."""
    return Reading("own-words")


def codes_only(text: str, question: Question, mode: str) -> Reading:
    """A reader that knows codes, and prefixes by their first sign."""
    if text.startswith("?"):
        return Reading("prefix", prefix="explain")
    found = [c for c in question.options if c.code == text.partition(" but ")[0]]
    if not found:
        return Reading("own-words", matched=mode)
    remark = text.partition(" but ")[2] or None
    return Reading("pick", (found[0].code,), found[0].label, comment=remark)


def answers(data: object, *questions: Question, kind: Kind = "transition") -> tuple[Answer, ...]:
    """The answers in a reply that has some."""
    text = data if isinstance(data, str) else json.dumps(data)
    reply = returns.parse(text, make(*(questions or (ONE,)), kind=kind), codes_only)
    assert isinstance(reply, Reply)
    return reply.answers


def refusal(data: object, *questions: Question) -> str:
    """The message with which a reply is refused."""
    text = data if isinstance(data, str) else json.dumps(data)
    with pytest.raises(QuandaryError) as caught:
        returns.parse(text, make(*(questions or (ONE,))), codes_only)
    return str(caught.value)


def outcome(data: bytes | str, ask: Ask) -> Reply | Outcome | QuandaryError:
    """What becomes of a reply, whatever it is."""
    try:
        return returns.parse(data, ask, own_words)
    except QuandaryError as refused:
        return refused


OK = Answer("1.3/2:", picked=("OK",))
BLANK = Answer("1.3/2:")
WORDS = Answer("1.3/2:", text="merge it", raw="merge it")

# -- out -------------------------------------------------------------------------------------------


def test_a_form_has_what_the_tool_wants() -> None:
    """Question, header, multiSelect, and options with the dots of a branch."""
    assert sheets.tool_input(make(ONE)) == {
        "questions": [
            {
                "question": "Is Auth good?",
                "header": "1.3/2. Auth",
                "multiSelect": False,
                "options": [
                    {"label": "Looks good", "description": "No changes"},
                    {"label": "More info needed", "description": "Something is open"},
                    {"label": "Rework...", "description": "Rework..."},
                ],
            }
        ]
    }


def test_codex_gets_ids_and_is_told_how_to_choose_several() -> None:
    """Its box takes one choice, so that several are named under Other."""
    (form,) = sheets.tool_input(make(MANY), "codex")["questions"]
    assert form["id"] == "2:"
    assert f"Which tags? {sheets.SEVERAL}" == form["question"]


@pytest.mark.parametrize("count", [0, 1])
def test_other_fills_up_a_question_with_too_few_choices(count: int) -> None:
    """A host refuses fewer than two options; choosing Other is Other left blank."""
    question = Question("1.3/2:", "1. x", "Why?", CHOICES[:count])
    (form,) = sheets.tool_input(make(question))["questions"]
    labels = [option["label"] for option in form["options"]]
    assert [*[c.label for c in CHOICES[:count]], "Other", "None of these"][:2] == labels
    for label in labels[count:]:
        assert answers({"answers": {"Why?": label}}, question) == (BLANK,)


def test_an_entry_with_nothing_picked_and_no_text_is_other_left_blank() -> None:
    """Our own form may leave out what is empty, as over HTTP."""
    cases: list[dict[str, Any]] = [{}, {"picked": []}, {"text": ""}]
    for more in (*cases, {"picked": None, "text": None}):
        assert answers({"answers": [{"key": "1.3/2:", **more}]}) == (BLANK,)
    (answer,) = answers({"answers": [{"key": "1.3/2:", "comment": "look"}]})
    assert (answer.blank, answer.comment) == (True, "look")


def test_labels_that_are_alike_get_their_codes() -> None:
    """Hosts refuse one label twice, and nobody could tell which was meant."""
    question = Question("1:", "1. x", "Why?", (Choice("A", "Same"), Choice("B", "Same\n")))
    (form,) = sheets.tool_input(make(question))["questions"]
    assert [option["label"] for option in form["options"]] == ["Same (A)", "Same (B)"]
    assert (Answer("1:", picked=("B",)),) == answers({"answers": {"Why?": "Same (B)"}}, question)


def test_a_choice_that_is_called_other_gets_its_code() -> None:
    """Just “Other” is always the host's own, which the person left blank."""
    question = Question("1.3/2:", "1. x", "Why?", (Choice("A", "Other"), Choice("B", "None")))
    (form,) = sheets.tool_input(make(question))["questions"]
    assert [option["label"] for option in form["options"]] == ["Other (A)", "None"]
    assert answers({"answers": {"Why?": "Other"}}, question) == (BLANK,)
    assert answers({"answers": {"Why?": "Other (A)"}}, question)[0].picked == ("A",)


def test_a_choice_that_is_called_other_is_named_in_plain_text() -> None:
    """Numbered text shows it as it is, and has no Other of its own beside it."""
    question = Question("1:", "1. x", "Why?", (Choice("A", "Other"), Choice("B", "None")))
    said = returns.parse("other", make(question), read, as_text=True)
    assert said == Reply((Answer("1:", picked=("A",), raw="other"),))


def test_questions_that_are_alike_get_their_keys() -> None:
    """Hosts key answers by the text."""
    first, second = (Question(key, "x", "Why?", CHOICES) for key in ("1:", "2:"))
    forms = sheets.tool_input(make(first, second))["questions"]
    assert [form["question"] for form in forms] == ["Why? (1:)", "Why? (2:)"]
    assert "already answered" in refusal({"answers": {"Why?": "Looks good"}}, first, second)


def test_labels_that_commas_would_mix_up_get_their_codes() -> None:
    """“a” and “b” ticked come back as “a, b”, which is a label of its own."""
    tags = (Choice("A", "a"), Choice("B", "b"), Choice("C", "a, b"))
    question = Question("1:", "1. x", "Why?", tags, multi=True)
    assert (Answer("1:", picked=("A", "B")),) == answers({"answers": {"Why?": "a, b"}}, question)
    both = {"answers": {"Why?": "a, b (C), a"}}
    assert (Answer("1:", picked=("C", "A")),) == answers(both, question)


def test_a_box_that_is_too_small_is_not_filled() -> None:
    """No option is dropped to make a question fit."""
    wide = Question("1:", "1. x", "Why?", (*CHOICES, Choice("D", "Four")))
    with pytest.raises(QuandaryError, match="4 options wait and request_user_input holds 3"):
        sheets.tool_input(make(wide), "codex")
    with pytest.raises(QuandaryError, match="5 questions wait and AskUserQuestion holds 4"):
        sheets.tool_input(make(*[ONE] * 5))


@pytest.mark.parametrize("host", sheets.HOSTS)
@given(data=st.data())
def test_a_host_takes_the_form_of_any_ask(host: str, data: DataObject) -> None:
    """One to so many questions, two to so many options, nothing empty, nothing twice."""
    limits = sheets.find_host(host).limits
    ask = data.draw(asks(limits))
    forms = sheets.tool_input(ask, host)["questions"]
    assert 1 <= len(forms) <= limits.questions
    assert len(forms) == len({form["question"] for form in forms}) == len(ask.questions)
    for form in forms:
        labels = [option["label"] for option in form["options"]]
        assert 2 <= len(labels) <= limits.options
        assert len(labels) == len(set(labels))
        texts = [form["question"], form["header"], *labels]
        texts += [option["description"] for option in form["options"]]
        assert all(text.strip() for text in texts)
        assert not any("\n" in label for label in labels)


# -- there and back --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["joined", "array", "sentence", "codex", "labels", "own"])
@given(data=st.data())
def test_any_picks_survive_the_way_through_a_host(shape: str, data: DataObject) -> None:
    """Commas, quotes, line breaks, emoji: what was ticked is what is booked."""
    limits = sheets.find_host("codex" if shape == "codex" else "claude").limits
    ask = data.draw(asks(limits))
    chosen = data.draw(picks(ask))
    forms = sheets.tool_input(ask, "codex" if shape == "codex" else "claude")["questions"]
    ticked = [
        [form["options"][n]["label"] for n in order]
        for form, order in zip(forms, chosen, strict=True)
    ]
    reply = returns.parse(_told(shape, ask, forms, ticked, chosen), ask, _unread)
    expected = tuple(
        Answer(question.key, picked=tuple(question.choices[n].code for n in order))
        for question, order in zip(ask.questions, chosen, strict=True)
        if order or shape != "codex"
    )
    if not expected:
        assert isinstance(reply, Outcome)
    else:
        assert reply == Reply(expected)


def _told(
    shape: str, ask: Ask, forms: list[Any], ticked: list[list[str]], chosen: list[list[int]]
) -> str:
    """The picks as a host or a script tells them."""
    texts = [form["question"] for form in forms]
    told: dict[str, Any] = {"questions": forms}
    if shape == "joined":
        told["answers"] = dict(zip(texts, map(", ".join, ticked), strict=True))
    elif shape == "array":
        told["answers"] = dict(zip(texts, ticked, strict=True))
    elif shape == "sentence":
        pairs = zip(texts, map(", ".join, ticked), strict=True)
        body = ", ".join(f'"{text}"="{value}"' for text, value in pairs)
        return f"Your questions have been answered: {body}. You can now continue."
    elif shape == "codex":
        told = {"answers": {f["id"]: {"answers": t} for f, t in zip(forms, ticked, strict=True)}}
    elif shape == "labels":
        told = {"answers": [{"option_label": t or "Other", "free_text": ""} for t in ticked]}
    else:
        codes = [
            [question.choices[n].code for n in order]
            for question, order in zip(ask.questions, chosen, strict=True)
        ]
        told = {"answers": [{"picked": own, "text": None, "comment": None} for own in codes]}
    return json.dumps(told)


@given(data=st.data())
def test_codes_alone_mean_what_they_mean_among_other_things(data: DataObject) -> None:
    """The short way of reading our own form comes to the same as the long one."""
    ask = data.draw(asks(sheets.find_host("claude").limits))
    entries: list[dict[str, Any]] = [
        {"key": q.key, "picked": [data.draw(st.sampled_from(codes))], "text": None, "values": {}}
        for q in data.draw(st.permutations(ask.questions))
        if (codes := [choice.code for choice in q.every])
    ]
    told = {"answers": entries}
    if not any(question.fields for question in ask.questions):
        assert (returns._read_codes(told, ask) is not None) == bool(entries)
    assert returns.parse(told, ask, _unread) == returns.parse(json.dumps(told), ask, _unread)


@pytest.mark.parametrize(
    "changed",
    [
        *({"picked": ["NO", "OK"]}, {"picked": ["no"]}, {"picked": []}, {"picked": "OK"}),
        *({"text": ""}, {"comment": "it is late"}, {"proposed": "OK"}, {"key": "2:"}),
    ],
)
def test_whatever_else_is_said_is_read_the_long_way(changed: dict[str, Any]) -> None:
    """Codes alone are one code for each question that waits, as it stands there."""
    ask, plain = make(ONE), {"key": ONE.key, "picked": ["OK"]}
    assert returns._read_codes({"answers": [plain]}, ask)
    assert not returns._read_codes({"answers": [plain | changed]}, ask)
    assert not returns._read_codes({"answers": [plain], "action": "accept"}, ask)


def _unread(text: str, question: Question, mode: str) -> Reading:
    raise AssertionError(f"{text!r} was ticked, and was read in {mode} mode for {question.key}")


# -- the shapes of an answer -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"answers": {"Is Auth good?": "Looks good"}}, OK),
        ({"answers": {"Is Auth good?": " Looks good\n"}}, OK),
        ({"answers": {"Is  Auth\ngood?": "Looks good"}}, OK),
        ({"answers": {"1.3/2:": "Looks good"}}, OK),
        ({"answers": {"Is Auth good?": ["Looks good"]}}, OK),
        ({"answers": {"Is Auth good?": "Rework..."}}, Answer("1.3/2:", picked=("NO",))),
        ({"answers": {"Is Auth good?": "OK"}}, Answer("1.3/2:", picked=("OK",), raw="OK")),
        ({"answers": {"Is Auth good?": "merge it"}}, WORDS),
        ({"answers": {"Is Auth good?": ""}}, BLANK),
        ({"answers": {"Is Auth good?": "Other"}}, BLANK),
        ({"answers": {"Is Auth good?": "other"}}, BLANK),
        ({"answers": {"Is Auth good?": []}}, BLANK),
        ({"answers": ["Looks good"]}, OK),
        ({"answers": [{"option_label": "Looks good", "free_text": None}]}, OK),
        ([{"option_label": "Looks good", "free_text": ""}], OK),
        ([{"option_label": "Looks good"}], OK),
        ([{"option_label": None, "free_text": "merge it"}], WORDS),
        ([{"option_label": "Other", "free_text": "merge it"}], WORDS),
        ([{"option_label": "Other", "free_text": ""}], BLANK),
        ([{"option_label": None, "free_text": ""}], BLANK),
        ([{"option_label": "", "free_text": None}], BLANK),
        ({"option_label": "Looks good"}, OK),
        ({"questions": [{"user_answer": "Looks good"}]}, OK),
        ({"questions": [{"question": "Is Auth good?", "user_answer": "Looks good"}]}, OK),
        ({"questions": [{"question": "Is Auth good?", "user_answer": ["merge it"]}]}, WORDS),
        ({"response": "merge it"}, WORDS),
        ({"response": "Looks good"}, OK),
        ({"answers": {}, "response": "merge it"}, WORDS),
        ({"answers": [{"key": "1.3/2:", "picked": ["OK"], "text": None, "comment": None}]}, OK),
        ({"answers": [{"picked": ["OK"]}]}, OK),
        ({"answers": [{"key": None, "picked": ["OK"]}]}, OK),
        ({"key": "1.3/2:", "picked": ["OK"]}, OK),
        ({"answers": [{"picked": ["OTH/REM"]}]}, Answer("1.3/2:", picked=("OTH/REM",))),
        ({"answers": [{"picked": ["REM"]}]}, Answer("1.3/2:", picked=("OTH/REM",))),
        ({"answers": [{"picked": []}]}, BLANK),
        ({"answers": [{"picked": ["OTH"], "text": ""}]}, BLANK),
        ({"answers": [{"text": ""}]}, BLANK),
        ({"answers": [{"text": "  "}]}, BLANK),
        ({"answers": [{"picked": [], "text": "merge it"}]}, WORDS),
        ({"answers": [{"text": "Looks good"}]}, OK),
        ({"answers": {"1.3/2:": {"answers": ["Looks good"]}}}, OK),
        ({"answers": {"1.3/2:": {"answers": ["None of the above"]}}}, BLANK),
        (
            {"answers": {"1.3/2:": {"answers": ["None of the above", "user_note: merge it"]}}},
            WORDS,
        ),
        ({"answers": {"1.3/2:": {"answers": ["user_note: merge it"]}}}, WORDS),
        ({"action": "accept", "content": {"1.3/2:": "Looks good"}}, OK),
        ({"type": "tool_result", "content": '{"answers": {"1.3/2:": "Looks good"}}'}, OK),
        ([{"type": "text", "text": '{"answers": {"1.3/2:": "Looks good"}}'}], OK),
        ({"Is Auth good?": "Looks good"}, OK),
        ('Your questions have been answered: "Is Auth good?"="Looks good".', OK),
        ('The user answered: "Is Auth good?"="merge it". Read the answers carefully', WORDS),
        ("The user responded: merge it", WORDS),
        ("Looks good", OK),
        ("  Looks good\n", OK),
        ("Other", BLANK),
        ("merge it", WORDS),
        ('"merge it"', WORDS),
        ("1.3/2: Looks good", OK),
        ("1.3/2. Auth: merge it", WORDS),
        ("\ufeffLooks good".encode(), OK),
        ('\ufeff{"answers": {"1.3/2:": "Looks good"}}', OK),
    ],
)
def test_every_shape_of_an_answer_is_understood(data: object, expected: Answer) -> None:
    """The host's response in any of its shapes, our own, and plain text."""
    if isinstance(data, bytes):
        assert Reply((expected,)) == returns.parse(data, make(ONE), codes_only)
    else:
        assert (expected,) == answers(data)


@pytest.mark.parametrize(
    "data",
    [
        {
            "answers": {"Is Auth good?": "Looks good"},
            "annotations": {"Is Auth good?": {"notes": "but rename it"}},
        },
        {"answers": [{"key": "1.3/2:", "picked": ["OK"], "comment": "but rename it"}]},
        {"answers": [{"option_label": "Looks good", "free_text": "but rename it"}]},
        {"answers": {"1.3/2:": {"answers": ["Looks good", "user_note: but rename it"]}}},
        'The user answered: "Is Auth good?"="Looks good" notes: but rename it',
    ],
)
def test_a_pick_can_carry_a_comment(data: object) -> None:
    """What was said beside the pick reaches the caller, whatever the way."""
    assert (Answer("1.3/2:", picked=("OK",), comment="but rename it"),) == answers(data)


def test_a_comment_that_was_read_stands_before_the_note() -> None:
    """Neither is lost."""
    note = {"Is Auth good?": {"notes": "soon"}}
    data = {"answers": {"Is Auth good?": "OK but rename it"}, "annotations": note}
    (answer,) = answers(data)
    assert answer.comment == "rename it\nsoon"


@pytest.mark.parametrize("value", [None, "(notes only)", "(no option selected)", ""])
def test_a_note_alone_is_what_the_person_has_to_say(value: str | None) -> None:
    """Nothing was ticked, so that the note is the answer."""
    note = {"Is Auth good?": {"notes": "merge it"}}
    assert answers({"answers": {"Is Auth good?": value}, "annotations": note}) == (WORDS,)
    assert answers({"answers": {}, "annotations": note}) == (WORDS,)


def test_annotations_without_notes_say_nothing() -> None:
    """Previews, and whatever else a host puts there."""
    rest = {"Is Auth good?": {"preview": "…"}, "unanswered": ["Gone?"]}
    assert answers({"answers": {"Is Auth good?": "Looks good"}, "annotations": rest}) == (OK,)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Tag it", Answer("2:", picked=("TAG",))),
        ("Tag it, Document", Answer("2:", picked=("TAG", "DOC"))),
        ("Document,Tag it", Answer("2:", picked=("DOC", "TAG"))),
        ("Brainstorm, later", Answer("2:", picked=("BRS",))),
        ("Brainstorm, later, Tag it", Answer("2:", picked=("BRS", "TAG"))),
        ("Tag it, Other", Answer("2:", picked=("TAG",))),
        ("Tag it, merge it", Answer("2:", ("TAG",), text="merge it", raw="merge it")),
        ("Tag it, one, two", Answer("2:", ("TAG",), text="one, two", raw="one, two")),
        ("Tag it, DOC", Answer("2:", picked=("TAG", "DOC"), raw="DOC")),
        ("Tag items", Answer("2:", text="Tag items", raw="Tag items")),
        (["Tag it", "merge it"], Answer("2:", ("TAG",), text="merge it", raw="merge it")),
        (["Tag it", "Other"], Answer("2:", picked=("TAG",))),
        (["Tag it", "Tag it"], Answer("2:", picked=("TAG",))),
    ],
)
def test_joined_labels_are_taken_apart(value: object, expected: Answer) -> None:
    """The longest label first; what is no label stands last and was typed."""
    assert (expected,) == answers({"answers": {"Which tags?": value}}, MANY)


@pytest.mark.parametrize(
    "data",
    [
        {"answers": {"Which tags?": "Tag it, Other"}},
        {"answers": {"Which tags?": ["Tag it", "Other"]}},
        {"answers": [{"picked": ["TAG", "OTH"]}]},
        [{"option_label": ["Tag it", "Other"], "free_text": ""}],
        [{"option_label": "Tag it", "free_text": "other"}],
        {"answers": [{"picked": ["TAG"], "text": "Other"}]},
    ],
)
def test_a_bare_other_beside_ticks_opens_its_menu(data: object) -> None:
    """It was chosen with no text, like a bare Other alone; with text, it is the text."""
    menu = Question("2:", "2. Tags", "Which tags?", TAGS, multi=True, named=BEHIND, menu=True)
    assert (Answer("2:", picked=("TAG", "OTH")),) == answers(data, menu)
    typed = Answer("2:", ("TAG",), text="merge it", raw="merge it")
    assert (typed,) == answers([{"picked": ["TAG", "OTH"], "text": "merge it"}], menu)


@pytest.mark.parametrize("typed", ["!skip", "!DOC"])
def test_a_force_prefix_beside_ticks_is_unclear(typed: str) -> None:
    """It decides alone: nothing is dropped or taken for own words, and the question says why."""
    own = {"answers": [{"key": "2:", "picked": ["TAG", "BRS"], "text": typed}]}
    for data in (own, {"Which tags?": f"Tag it, Brainstorm, later, {typed}"}):
        found = returns.parse(json.dumps(data), make(MANY), read)
        assert isinstance(found, Reply)
        (answer,) = found.answers
        assert (answer.prefix, answer.picked, answer.text) == ("unclear", (), None)
        assert f"“{typed}”" in answer.argument
        assert "Tag it, Brainstorm, later" in answer.argument


def test_other_is_picked_by_the_code_that_its_tree_gives_it() -> None:
    """`MORE` in the place of `OTH` is Other too; a code that nothing has is refused."""
    behind = (Choice("MORE/CHG", "Change"), Choice("MORE/REM", "Remove"))
    menu = msgspec.structs.replace(ONE, menu=True, named=behind)
    assert answers([{"picked": ["MORE"]}], menu) == (BLANK,)
    for code in ("OTHR", ""):
        with pytest.raises(QuandaryError, match="has no option"):
            answers([{"picked": [code]}], menu)


def test_own_words_can_stand_beside_picks_where_several_are_allowed() -> None:
    """READINGS 17: own words come last."""
    mixed = Answer("2:", ("TAG",), text="merge it", raw="merge it")
    assert (mixed,) == answers([{"picked": ["TAG"], "text": "merge it"}], MANY)
    assert (mixed,) == answers([{"option_label": "Tag it", "free_text": "merge it"}], MANY)


def test_a_typed_line_is_all_labels_or_none() -> None:
    """“Tag it, but rename it” is for the reader to understand, not for us to cut."""
    assert (Answer("2:", picked=("TAG", "DOC")),) == answers("Tag it, Document", MANY)
    text = "Tag it, but rename it"
    assert (Answer("2:", text=text, raw=text),) == answers(text, MANY)


def test_more_is_a_choice_like_any_other() -> None:
    """It leads to the next page."""
    paged = Question("1:", "1. x", "Why?", (CHOICES[0], Choice(MORE, "More…", "2 further")))
    assert (Answer("1:", picked=(MORE,)),) == answers({"answers": {"Why?": "More…"}}, paged)
    assert (Answer("1:", picked=(MORE,)),) == answers([{"picked": [MORE]}], paged)


@pytest.mark.parametrize(("kind", "mode"), [("transition", "strict"), ("advisory", "plain")])
def test_typed_text_is_read_in_the_mode_of_the_ask(kind: Kind, mode: str) -> None:
    """Strictly for a transition, generously for advice; a label as shown is not read at all."""
    modes: list[str] = []

    def read(text: str, question: Question, mode: str) -> Reading:
        modes.append(mode)
        return own_words(text, question, mode)

    for text in ("the second", "Looks good", "Rework..."):
        returns.parse(text, make(ONE, kind=kind), read)
    assert [mode] == modes


def test_a_prefix_goes_through_the_reader() -> None:
    """It is typed where Other is."""
    (answer,) = answers({"answers": {"Is Auth good?": "? the second"}})
    assert answer.prefix == "explain"


# -- several questions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        {"answers": {"Is Cache good?": "OK but rename it", "Is Auth good?": "Looks good"}},
        {"answers": [{"picked": ["OK"]}, {"picked": ["OK"], "comment": "rename it"}]},
        {
            "answers": [
                {"key": "1.4/1:", "text": "OK but rename it"},
                {"key": "1.3/2:", "picked": ["OK"]},
            ]
        },
        {
            "answers": ["OK but rename it", "Looks good"],
            "questions": [{"question": "Is Cache good?"}, {"question": "Is Auth good?"}],
        },
        {"questions": [{"user_answer": "Looks good"}, {"user_answer": "OK but rename it"}]},
        "1: Looks good\n2: OK but rename it",
        "2) OK but rename it\n\n 1) Looks good",
        "1.3/2: Looks good\n1.4/1: OK but rename it",
        "1.4/1. Cache: OK but rename it\n1.3/2. Auth = Looks good",
        "CACHE: OK but rename it\n1. Looks good",
    ],
)
def test_each_answer_finds_its_question(data: object) -> None:
    """By text, key, place, or the name at the beginning of a line; in the order of the Ask."""
    first, second = answers(data, ONE, TWO)
    assert (first.key, first.picked, first.comment) == ("1.3/2:", ("OK",), None)
    assert (second.key, second.picked, second.comment) == ("1.4/1:", ("OK",), "rename it")


@pytest.mark.parametrize(
    "data",
    [
        {"answers": {"Is Cache good?": "Looks good"}},
        {"answers": {"Is Cache good?": "Looks good", "Is Auth good?": None}},
        {"answers": {"1.3/2:": {"answers": []}, "1.4/1:": {"answers": ["Looks good"]}}},
        {"answers": [None, {"picked": ["OK"]}]},
        {
            "questions": [
                {"question": "Is Auth good?"},
                {"question": "Is Cache good?", "user_answer": "Looks good"},
            ]
        },
        "2: Looks good",
    ],
)
def test_a_question_without_an_answer_stays_open(data: object) -> None:
    """It is asked again; nothing is made up for it."""
    assert (Answer("1.4/1:", picked=("OK",)),) == answers(data, ONE, TWO)


def test_a_line_goes_on_until_the_next_name() -> None:
    """Own words may have several lines."""
    first, second = answers("1: one\ntwo\n\n3 of them\n2: four", ONE, TWO)
    assert (first.text, second.text) == ("one\ntwo\n\n3 of them", "four")


@pytest.mark.parametrize(
    "text", ["Looks good", "all of them are fine", "First, 1: OK", "1.5 hours"]
)
def test_text_for_no_question_in_particular_is_refused(text: str) -> None:
    """Any choice would be a guess; the message says how to name one."""
    assert refusal(text, ONE, TWO).startswith("2 questions wait; begin a line for each")
    assert "already answered" not in refusal({"response": text}, ONE, TWO)


def test_text_answers_the_first_advisory_question() -> None:
    """It is the one that the text showed."""
    assert answers("Looks good", ONE, TWO, kind="advisory") == (OK,)


def test_numbers_are_ids_where_items_have_them() -> None:
    """The header shows `3. Docs`; the second question is then not called 2."""
    asked = [Question(f"{n}:", f"{n}. x", f"Is {n} good?", CHOICES, item=str(n)) for n in (2, 3)]
    (answer,) = answers("2: Looks good", *asked)
    assert answer.key == "2:"
    assert "questions wait" in refusal("1: Looks good", *asked)


def test_two_questions_on_one_item_are_numbered() -> None:
    """Its id names neither of them."""
    asked = [Question(f"1:{n}.", "1. x", f"Root {n}?", CHOICES, item="1") for n in (1, 2)]
    (answer,) = answers("2: Looks good", *asked)
    assert answer.key == "1:2."


@pytest.mark.parametrize("text", ["1: because", "Q: why?", "OK: fine", "Looks good: fine"])
def test_what_an_option_or_a_prefix_could_mean_is_no_name(text: str) -> None:
    """To a single question it is typed text, whole."""
    single = Question("1:", "1", "Why?", CHOICES, item="1", title="OK")
    (answer,) = answers(text, single)
    assert text == answer.raw


# -- no answer -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("error", ""),
        ("error", " \n"),
        ("error", "\ufeff"),
        ("error", "\u200b\n"),
        ("error", "null"),
        ("error", {}),
        ("error", '""'),
        ("error", "[Tool result missing due to internal error]"),
        ("error", {"is_error": True}),
        ("error", {"isError": True, "content": "broken"}),
        ("error", {"error": "broken", "answers": {"Is Auth good?": "Looks good"}}),
        ("error", {"error": {"message": "broken"}}),
        ("dismissed", {"is_error": True, "content": "User rejected tool use"}),
        ("idle", {"answers": {}, "afkTimeoutMs": 60000}),
        ("idle", {"answers": {"Is Auth good?": "Looks good"}, "afkTimeoutMs": 60000}),
        ("idle", "No response after 60s — the user may be away from keyboard."),
        ("declined", {"action": "decline"}),
        ("dismissed", {"action": "cancel"}),
        ("dismissed", {"cancelled": True, "answers": [{"picked": ["OK"]}]}),
        ("dismissed", {"answers": {}}),
        ("dismissed", {"answers": []}),
        ("dismissed", {"answers": None}),
        ("dismissed", []),
        ("dismissed", {"response": ""}),
        ("dismissed", {"answers": {"Is Auth good?": None}}),
        ("dismissed", {"answers": {"Is Auth good?": "(notes only)"}}),
        ("dismissed", {"questions": [{"question": "Is Auth good?"}], "answers": {}}),
        ("dismissed", {"questions": [{"question": "Is Auth good?"}]}),
        ("dismissed", [{"option_label": None, "free_text": None}]),
        ("dismissed", "User declined to answer questions"),
        ("dismissed", '"User rejected tool use"'),
        ("dismissed", [{"type": "text", "text": "User declined to answer questions"}]),
        ("dismissed", "User has answered your questions: . You can now continue"),
        (
            "dismissed",
            {"isError": True, "content": [{"type": "text", "text": "User rejected tool use"}]},
        ),
        ("dismissed", "aborted by user after 3.2s"),
        ("unavailable", "request_user_input is unavailable in Default mode"),
    ],
)
def test_what_is_no_answer_is_never_taken_for_one(kind: str, data: object) -> None:
    """A closed pipe, an idle time-out, an error, a closed box: the question stays open."""
    text = data if isinstance(data, str) else json.dumps(data)
    found = returns.parse(text.encode(), make(ONE), _unread)
    assert isinstance(found, Outcome)
    assert kind == found.kind


def test_only_an_explicit_decline_is_a_decline() -> None:
    """It ends the run, so a sentence that hosts print for other reasons does not do it."""
    for text in ("decline", "I decline", "declined"):
        assert (Answer("1.3/2:", text=text, raw=text),) == answers(text)


def test_an_error_says_what_it_was() -> None:
    """The first words of it, whatever its size."""
    found = returns.parse(json.dumps({"error": "broken " * 1_000_000}), make(ONE), _unread)
    assert isinstance(found, Outcome)
    assert found.detail.startswith("broken broken")
    assert len(found.detail) <= 200


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        {"answers": {"Is Login good?": "Looks good"}},
        {"answers": {"Is Auth good?": "Looks good", "Is Login good?": "Looks good"}},
        {"answers": {"1.3/2:~2": "Looks good"}},
        {"answers": [{"key": "1.1/1:", "picked": ["OK"]}]},
        {"answers": [{"key": f"1.1/{n}:", "picked": ["OK"]} for n in range(4)]},
        {"answers": ["Looks good"], "questions": [{"question": "Is Login good?"}]},
        {"answers": {}, "questions": [{"question": "Is Login good?"}]},
        {"questions": [{"question": "Is Login good?", "user_answer": "Looks good"}]},
        {"answers": {}, "annotations": {"Is Login good?": {"notes": "x"}}},
        'Your questions have been answered: "Is Login good?"="Looks good". You can now continue',
    ],
)
def test_an_answer_to_what_does_not_wait_is_already_answered(data: object) -> None:
    """It is booked on nothing, and the message names what waits."""
    text = data if isinstance(data, str) else json.dumps(data)
    with pytest.raises(AlreadyAnswered, match=r"already answered: .*1.3/2: “Is Auth good\?”"):
        returns.parse(text, make(ONE), _unread)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"answers": {"a": }', "no JSON at line 1, column 19"),
        ("[OK, NO] but rename it", "no JSON at line 1, column 2"),
        ("{", "words that begin with a bracket"),
        ('{"answers": {}} and more', "no JSON at line 1, column 17"),
        ('{"answers": {"1.3/2:": "A", "1.3/2:": "B"}}', "“1.3/2:” is said twice"),
        ('{"answers": ["\\ud83d"]}', "half a character"),
        ('{"x": ' + "1" * 5000 + "}", "too long a number"),
        ("[" * 100_000, "nested too deeply"),
        ('{"answers":' * 100_000, "nested too deeply"),
        ({"answers": "OK"}, "answers is text; it is an object or a list"),
        ({"answers": 3}, "answers is a number"),
        ({"answers": {"1.3/2:": 2}}, "the answer to 1.3/2: is a number, not text"),
        ({"answers": {"1.3/2:": True}}, "is a truth value, not text"),
        ({"answers": {"1.3/2:": ["OK", 2]}}, "is a list, not text"),
        ({"answers": {"1.3/2:": {"label": "OK"}}}, "is an object, not text"),
        ({"answers": {"1.3/2:": ["Looks good", "Rework..."]}}, "takes one answer and got 2"),
        ({"answers": {"1.3/2:": "Looks good", "Is Auth good?": "x"}}, "1.3/2: is answered twice"),
        (
            {"answers": [{"picked": ["OK"]}, {"picked": ["OK"]}]},
            "2 answers came and one question",
        ),
        ({"answers": [{"picked": ["XXX"]}]}, "1.3/2: has no option XXX; there are OK, INF, NO"),
        ({"answers": [{"picked": ["ok"]}]}, "has no option ok"),
        ({"answers": [{"picked": [MORE]}]}, "has no option …"),
        ({"answers": [{"picked": "OK"}]}, "picked for 1.3/2: is a list of codes"),
        ({"answers": [{"picked": [1]}]}, "picked for 1.3/2: is a list of codes"),
        ({"answers": [{"picked": ["OK", "NO"]}]}, "1.3/2: takes one answer"),
        ({"answers": [{"picked": ["OK", "OTH"]}]}, "1.3/2: takes one answer"),
        (
            {"answers": [{"picked": ["OK"], "text": "x"}]},
            "a remark beside a pick goes into comment",
        ),
        ({"answers": [{"picked": ["OK"], "comment": 1}]}, "comment is a number; it is text"),
        ({"answers": [{"text": ["x"]}]}, "text is a list; it is text"),
        ({"answers": [{"key": 1, "picked": []}]}, "key is a number; it is text"),
        ({"answers": [{"key": "1.3/2:", "pick": "OK"}]}, "says nothing"),
        ({"answers": [{}]}, "says nothing"),
        ({"answers": {}, "annotations": []}, "annotations is a list; it is an object"),
        ({"answers": {}, "questions": {}}, "questions is a list of objects"),
        ({"questions": [{}, {}]}, "2 answers came and one question waits"),
        ({"questions": [{"question": "Is Auth good?"}] * 2}, "repeats one question"),
        ({"response": 5}, "response is a number"),
        ({"action": "maybe"}, "action is accept, decline or cancel"),
        ({"hello": "world"}, "no known shape"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(data: object, message: str) -> None:
    """Nothing is guessed, and the message says what to send instead."""
    assert message in refusal(data)


def test_two_lines_for_one_question_are_refused() -> None:
    """The second might be meant for another one."""
    assert "1.3/2: is answered twice" in refusal("1: OK\n1: OK", ONE, TWO)


def test_bytes_that_are_no_text_are_refused() -> None:
    """Nor is a command line with bytes that are no UTF-8."""
    for data in (b"\xff\xfeO\x00K\x00", "\udcff"):
        with pytest.raises(QuandaryError, match="not UTF-8"):
            returns.parse(data, make(ONE), own_words)


def test_ten_megabytes_are_read_in_reasonable_time() -> None:
    """As plain text, as JSON, as lines, as a sentence, and with quotes everywhere."""
    size = 10_000_000
    long = "x " * (size // 2)
    quotes = 'a", "b' * (size // 6)
    replies = [
        long,
        json.dumps({"answers": {"Is Auth good?": long}}),
        json.dumps({"answers": {"Is Auth good?": quotes}}),
        "1: OK\n" + "1.3/2 no mark here\n" * (size // 19),
        f'The user answered: "Is Auth good?"="{quotes}"',
        json.dumps({"answers": {long: "x"}}),
        json.dumps({str(n): n for n in range(size // 16)}),
        '{"a": 1, ' * 5 + long,
        "," * size,
    ]
    begun = time.process_time()
    for reply in replies:
        found = outcome(reply, make(ONE, MANY, kind="advisory"))
        assert isinstance(found, Reply) or len(str(found)) < 2000
    assert time.process_time() - begun < 30


NAMES = (
    *("answers", "annotations", "questions", "question", "user_answer", "option_label"),
    *("free_text", "notes", "response", "key", "picked", "text", "comment", "action", "content"),
    *("type", "is_error", "error", "afkTimeoutMs", "cancelled", "1.3/2:", "2:", "Is Auth good?"),
)
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.text(max_size=5),
        st.sampled_from(("Looks good", "Tag it, x", "Other", "1.3/2:", "Is Auth good?", "OK", "")),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)


@given(
    data=st.one_of(
        st.binary(),
        st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
        JSON.map(lambda value: json.dumps(value).encode()),
        JSON.map(lambda value: json.dumps({"answers": value}).encode()),
        st.text().map(lambda text: f"The user answered: {text}".encode("utf-8", "replace")),
    ),
    kind=st.sampled_from(("transition", "advisory")),
)
@example(data=b'"', kind="transition")
@example(data=b"[]", kind="transition")
@example(data=b'["' + b"\\u0000" * 3 + b'"]', kind="transition")
def test_any_bytes_are_answers_or_an_outcome_or_refused(data: bytes, kind: Kind) -> None:
    """And what is booked stands on questions that were asked, with codes that were offered."""
    ask = make(ONE, MANY, kind=kind)
    reply = outcome(data, ask)
    assert str(reply).strip()
    if isinstance(reply, Reply):
        assert reply.answers
        for answer in reply.answers:
            question = ask.question(answer.key)
            assert question is not None
            assert set(answer.picked) <= {choice.code for choice in question.options}


@given(asks(), st.text())
def test_any_text_for_any_ask_is_read_or_refused(ask: Ask, text: str) -> None:
    """Names and labels full of signs do not turn into patterns."""
    assert str(outcome(text, ask)).strip()


def test_relaying_loads_nothing_heavy() -> None:
    """`reply` runs inside agents' loops."""
    code = (
        "import sys; import quandary.desk.returns, quandary.desk.state;"
        "print({'rich', 'asyncio', 'rapidfuzz', 'textual', 'platformdirs'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


# -- a host's own sentences ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("dismissed", "User declined to answer questions"),
        ("dismissed", "User declined to answer the questions. Continue with the task."),
        ("dismissed", "(User declined to answer questions)"),
        ("dismissed", "User rejected tool use"),
        ("dismissed", "The user doesn't want to proceed with this tool use. It was rejected."),
        ("dismissed", "The user wants to clarify these questions.\n  This means…"),
        ("dismissed", "The user did not answer the questions."),
        ("dismissed", "[User dismissed - do not proceed, wait for next instruction]"),
        ("dismissed", "[Request interrupted by user for tool use]"),
        ("dismissed", "request_user_input was cancelled before receiving a response"),
        ("idle", "No response after 60s — the user may be away from keyboard."),
        ("unavailable", "request_user_input is unavailable in Default mode"),
        ("unavailable", "Cannot ask user questions in non-interactive mode without ACP support"),
        ("error", "[Tool result missing due to internal error]"),
        ("error", "<tool_use_error>InputValidationError: options</tool_use_error>"),
        ("error", "InputValidationError: 5 questions"),
    ],
)
def test_what_a_host_says_without_an_answer_is_known(kind: str, text: str) -> None:
    """Its sentence about declining is no decline: it also comes when the box was never shown."""
    outcome = returns.parse_refusal(text)
    assert outcome is not None
    assert kind == outcome.kind
    assert outcome.detail


@pytest.mark.parametrize(
    "text",
    [
        "",
        "OK",
        "The user declined the offer, so change it",
        "I declined to answer",
        "No response is fine",
        "No response after all",
        "[OK]",
        "[Tool result missing due to internal error] is what I saw",
    ],
)
def test_what_a_person_says_is_not_taken_for_a_host(text: str) -> None:
    """Only the hosts' own sentences count."""
    assert returns.parse_refusal(text) is None


@pytest.mark.parametrize("text", ["[OK] but rename it", "[ok]"])
def test_a_code_in_brackets_is_what_somebody_typed(text: str) -> None:
    """Plain text may begin with a code in brackets, as trees and people write it: it is no JSON."""
    with pytest.raises(AssertionError, match="was read in strict mode"):
        returns.parse(text, make(ONE), _unread)


def test_answers_told_in_a_sentence_are_found_by_their_questions() -> None:
    """Quotation marks in questions, answers and notes do no harm, since the texts are known."""
    text = (
        'The user answered: "Is "A" good?"="say "yes", then go" notes: or "no", '
        '"And, B?"="Fine", "C?"=(no option selected) notes: any. Read the answers carefully — x'
    )
    told = returns.parse_sentence(text, ['Is "A" good?', "And, B?", "C?"])
    assert told == {
        "answers": {'Is "A" good?': 'say "yes", then go', "And, B?": "Fine", "C?": None},
        "annotations": {'Is "A" good?': {"notes": 'or "no"'}, "C?": {"notes": "any"}},
    }


def test_a_preview_in_the_sentence_is_passed_over() -> None:
    """It repeats what was shown and says nothing new."""
    text = 'User has answered your questions: "Q"="A" selected preview:\n| x | user notes: slow'
    told = returns.parse_sentence(text, ["Q"])
    assert told == {"answers": {"Q": "A"}, "annotations": {"Q": {"notes": "slow"}}}


@pytest.mark.parametrize(
    "body", ['"Q"="A", "Gone?"="B"', '"Q"=A', '"Q"="A" and more', '"Q"="A", "Q"="B"']
)
def test_a_sentence_that_cannot_be_told_apart_is_refused(body: str) -> None:
    """Nothing is guessed; the JSON has it without doubt."""
    with pytest.raises(QuandaryError, match="answers are ambiguous"):
        returns.parse_sentence(f"Your questions have been answered: {body}", ["Q"])


def test_other_words_are_no_told_answers() -> None:
    """A sentence of the person's own stays what it is."""
    assert returns.parse_sentence("The user story is wrong: fix it", ["Q"]) is None


# -- one reader for replies and for hooks ----------------------------------------------------------

LEVEL = "Which level should it use?"
OPTIONS = (Choice("A", "Info"), Choice("B", "Debug"))
WAITING = make(Question("1:", "Level", LEVEL, OPTIONS, item="1"))
PICKED, SAID = (("B",), None), ((), "as the others do")
ANSWERS: dict[str, tuple[object, tuple[tuple[str, ...], str | None]]] = {
    "a map": ({"answers": {LEVEL: "Debug"}}, PICKED),
    "a map with an echo": (
        {"questions": [{"question": LEVEL, "options": []}], "answers": {LEVEL: "Debug"}},
        PICKED,
    ),
    "a map of lists": ({"answers": {LEVEL: ["Debug"]}}, PICKED),
    "a map of words": ({"answers": {LEVEL: "as the others do"}}, SAID),
    "only notes": (
        {"answers": {}, "annotations": {LEVEL: {"notes": "as the others do"}}},
        SAID,
    ),
    "a list below answers": ({"answers": [{"option_label": "Debug"}]}, PICKED),
    "a list of words": (
        {"answers": [{"option_label": "Other", "free_text": "as the others do"}]},
        SAID,
    ),
    "a bare list": ([{"option_label": "Debug"}], PICKED),
    "a bare list of texts": (["Debug"], PICKED),
    "questions with answers": (
        {"questions": [{"question": LEVEL, "user_answer": "Debug"}]},
        PICKED,
    ),
    "a response": ({"response": "as the others do"}, SAID),
    "content": ({"content": [{"text": "as the others do"}]}, SAID),
    "content with types": ({"content": [{"type": "text", "text": "Debug"}]}, PICKED),
    "JSON in content": (
        {"content": [{"type": "text", "text": json.dumps({"answers": {LEVEL: "Debug"}})}]},
        PICKED,
    ),
    "content that is text": ({"content": "Debug"}, PICKED),
    "a list of blocks": ([{"type": "text", "text": "Debug"}], PICKED),
    "our own form": ({"answers": [{"key": "1:", "picked": ["B"]}]}, PICKED),
    "our own form without keys": ({"answers": [{"text": "as the others do"}]}, SAID),
    "a client's form": ({"action": "accept", "content": {LEVEL: "Debug"}}, PICKED),
    "a sentence": (
        f'Your questions have been answered: "{LEVEL}"="Debug". You can now continue',
        PICKED,
    ),
    "a label": ("Debug", PICKED),
    "plain text": ("as the others do", SAID),
}
NO_ANSWERS: dict[str, tuple[object, str]] = {
    "nothing": (None, "error"),
    "no text": ("", "error"),
    "an empty object": ({}, "error"),
    "an error": ({"is_error": True, "content": "boom"}, "error"),
    "another error": ({"error": "boom"}, "error"),
    "the sentinel": ("[Tool result missing due to internal error]", "error"),
    "the sentinel in content": (
        {"content": [{"type": "text", "text": "[Tool result missing due to internal error]"}]},
        "error",
    ),
    "idle": ({"answers": {}, "afkTimeoutMs": 60000}, "idle"),
    "idle with ticks": ({"answers": {LEVEL: "Debug"}, "afkTimeoutMs": 60000}, "idle"),
    "no answers": ({"answers": {}}, "dismissed"),
    "no list": ({"answers": []}, "dismissed"),
    "closed": ({"action": "cancel"}, "dismissed"),
    "a sentence about declining": ("User declined to answer questions", "dismissed"),
}


def kept_by_hook(store: SqliteStore, response: object) -> State:
    """What a hook keeps of the same question, asked by the host itself."""
    options = [{"label": choice.label, "description": ""} for choice in OPTIONS]
    asked = {"question": LEVEL, "header": "Level", "multiSelect": False, "options": options}
    told = hooks.read_call(
        {
            "session_id": "s",
            "tool_use_id": "t",
            "tool_name": "AskUserQuestion",
            "tool_input": {"questions": [asked]},
            "tool_response": response,
        }
    )
    assert told is not None
    (state,) = hooks.record(told, store, "here")
    return state


@pytest.mark.parametrize("shape", ANSWERS)
def test_a_reply_and_a_hook_read_every_shape_alike(shape: str, tmp_path: Path) -> None:
    """What a person said is never lost because of the way in which a host tells it."""
    data, (picked, text) = ANSWERS[shape]
    reply = returns.parse(data if isinstance(data, str) else json.dumps(data), WAITING, own_words)
    assert isinstance(reply, Reply)
    assert [(answer.picked, answer.text) for answer in reply.answers] == [(picked, text)]
    state = kept_by_hook(SqliteStore(tmp_path / "journal.db"), data)
    assert (state.status, state.result["codes"], state.result["text"]) == (
        "done",
        list(picked),
        text,
    )


@pytest.mark.parametrize("shape", NO_ANSWERS)
def test_what_is_no_answer_is_none_for_a_reply_and_a_hook(shape: str, tmp_path: Path) -> None:
    """Silence, a closed form, a time-out and an error decide nothing, through either door."""
    data, kind = NO_ANSWERS[shape]
    meant = returns.parse(data if isinstance(data, str) else json.dumps(data), WAITING, own_words)
    assert isinstance(meant, Outcome)
    assert meant.kind == kind
    store = SqliteStore(tmp_path / "journal.db")
    state = kept_by_hook(store, data)
    assert state.status == "withdrawn"
    (noted,) = store.entries(state.run, kinds=("noted",))
    assert noted.read().kind == kind  # type: ignore[union-attr]  # it is a note
    assert store.entries(state.run, kinds=("answered",)) == []


@pytest.mark.parametrize("words", ["Other", "None of the above"])
def test_a_hosts_other_is_what_the_person_said(words: str, tmp_path: Path) -> None:
    """A question of ours may have a menu behind Other; one of a host has none."""
    store = SqliteStore(tmp_path / "journal.db")
    state = kept_by_hook(store, {"answers": {LEVEL: words}})
    assert (state.status, state.result["text"]) == ("done", words)


@pytest.mark.parametrize("response", [{"answers": {"Which colour?": "Red"}}, "[ ] later", [3, "x"]])
def test_words_that_fit_no_question_are_kept_by_the_hook(response: object, tmp_path: Path) -> None:
    """They answer nothing, and yet somebody said them."""
    store = SqliteStore(tmp_path / "journal.db")
    state = kept_by_hook(store, response)
    assert state.status == "withdrawn"
    (noted,) = store.entries(state.run, kinds=("noted",))
    words = response if isinstance(response, str) else json.dumps(response, separators=(",", ":"))
    assert (noted.read_matter().text or "").endswith(words)
