"""A question as plain text with numbered choices."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from msgspec.structs import replace

from asks import asks
from quandary.desk import sheets
from quandary.desk.begin import Showing
from quandary.errors import QuandaryError
from quandary.flows import wording
from quandary.model.asks import Ask, Choice, Limits, Note, Preamble, Question
from quandary.model.tree import Extra

CHOICES = (
    Choice("FIL", "Fill the gaps", "return to\nthe work"),
    Choice("ASK", "Ask for counsel", "get\r\nadvice", branch=True),
    Choice("DIS", "Discuss"),
)

SLOW = "**1. Login** — It is **slow**."


def make(*questions: Question, notes: tuple[Note, ...] = (), **preamble: object) -> Ask:
    """An advisory Ask."""
    context = Preamble(context="The review found gaps.", **preamble)  # type: ignore[arg-type]
    return Ask(questions[0].key, "advisory", context, questions, notes)


def question(text: str = "Two gaps are left. What is next?", **more: object) -> Question:
    """A question on item 1."""
    fields = {"key": "1:", "header": "1. Review", "choices": CHOICES, "item": "1"} | more
    return Question(text=text, **fields)  # type: ignore[arg-type]


def test_summary_numbered_choices_and_question_stand_together() -> None:
    """The text is what a person needs to answer, in the order in which it is read."""
    assert sheets.plain_text(make(question(menu=True))) == (
        "The review found gaps.\n\n"
        "Two gaps are left.\n\n"
        "1. **Fill the gaps** — return to the work\n"
        "2. **Ask for counsel...** — get advice\n"
        "3. **Discuss**\n"
        f"4. **Other** — {sheets.OWN_WORDS}\n\n"
        "What is next?"
    )


def test_a_summary_stands_before_the_choices_in_any_script() -> None:
    """Also where no blank divides it from what is asked."""
    text = sheets.plain_text(make(question("鉢は外にある。霜が降りる。どうする？")))
    assert text.index("霜が降りる。") < text.index("1. **") < text.index("どうする？")


def test_other_is_last_and_only_where_something_is_behind_it() -> None:
    """Where the tree has no such menu, own words can be typed without a number for them."""
    assert "Other" not in sheets.plain_text(make(question()))


@pytest.mark.parametrize("menu", [True, False])
def test_a_box_that_wants_two_options_is_promised_no_menu_that_is_not_there(menu: bool) -> None:
    """Beside a single choice stands Other, and more behind it only where there is more."""
    single = question(choices=CHOICES[:1], menu=menu)
    form = sheets.tool_input(make(single))["questions"][0]
    assert [option["label"] for option in form["options"]] == ["Fill the gaps", "Other"]
    assert ("more options" in form["options"][1]["description"]) == menu
    up = (Choice("<", "Back", "To the options before"),)
    form = sheets.tool_input(make(question(choices=CHOICES[:1], above=up)))["questions"][0]
    assert [option["label"] for option in form["options"]] == ["Fill the gaps", "Back"]


def test_what_is_chosen_so_far_stands_in_the_text_without_the_context_again() -> None:
    """What the preamble says is said once, and the rest of the summary stays."""
    context = "The review found gaps."
    text = sheets.plain_text(make(question(f"Chosen so far: Discuss. {context} What is next?")))
    assert text.startswith(f"{context}\n\nChosen so far: Discuss.\n\n1. ")
    assert text.count(context) == 1
    other = f"It was seen that t{context[1:]}"
    assert other in sheets.plain_text(make(question(f"{other} What is next?")))


def test_notes_come_first_and_are_not_said_twice() -> None:
    """What happened is told once, even when it is also the reason why the question is back."""
    notes = (Note("matched", "> Matched: Discuss", "1"), Note("refused", "Nothing is there.", "1"))
    text = sheets.plain_text(make(question(), notes=notes, why="Nothing is there."))
    assert text.startswith("> Matched: Discuss\n\nNothing is there.\n\nThe review found gaps.")
    assert text.count("Nothing is there.") == 1


def test_extras_are_told_with_the_preamble() -> None:
    """The letters have to be known before they can be typed."""
    text = sheets.plain_text(make(question(), extras=(Extra("A", "Run the tests first"),)))
    assert "**Also:** A: Run the tests first" in text


def test_a_text_without_a_question_gets_one() -> None:
    """A summary alone does not ask anything."""
    text = sheets.plain_text(make(question("Two gaps are left.")))
    assert text.endswith(f"3. **Discuss**\n\n{sheets.WHICH}")
    assert "\n\nTwo gaps are left.\n\n" in text


def test_a_question_alone_stands_behind_the_choices() -> None:
    """There is no summary to part it from, nor does an abbreviation end a sentence."""
    text = sheets.plain_text(make(question("[OTH]: Which one, e.g. the first?")))
    assert text.endswith("\n\n[OTH]: Which one, e.g. the first?")


def test_several_may_be_chosen_and_the_text_says_so() -> None:
    """A number alone would look like the only way to answer."""
    assert sheets.plain_text(make(question(multi=True))).endswith(
        f"What is next? {sheets.SEVERAL_NUMBERS}"
    )


def test_the_item_is_named_where_the_question_does_not() -> None:
    """One item at a time, and it is clear which."""
    assert "\n\n**Auth** (1)\n\nTwo gaps" in sheets.plain_text(make(question(title="Auth")))
    assert "**Auth**" not in sheets.plain_text(make(question("Is Auth good?", title="Auth")))


def test_a_clarifying_question_names_just_the_candidates() -> None:
    """What typed text may name besides is not listed."""
    asked = question(choices=CHOICES[:2], named=(CHOICES[2],))
    text = sheets.plain_text(make(asked, why="“a” fits more than one option. Which is meant?"))
    assert text.startswith("“a” fits more than one option. Which is meant?")
    assert re.findall(r"(?m)^(\d+)\. ", text) == ["1", "2"]
    assert "Discuss" not in text


def test_a_label_with_asterisks_is_left_alone() -> None:
    """Bold around it would garble both."""
    asked = question(choices=(Choice("A", "Use **kwargs"), Choice("B", "1. One")))
    text = sheets.plain_text(make(asked))
    assert "1. Use **kwargs\n2. **1. One**" in text


def test_only_the_first_of_several_questions_is_shown() -> None:
    """READINGS 20: one item at a time, with what is said on that item."""
    blocks = ("**1. Review** — all of it", "**2. Auth** — tokens")
    ask = make(question(), question("And this?", key="2:", item="2"), blocks=blocks)
    first = sheets.keep_first_question(ask)
    assert tuple(q.key for q in first.questions) == ("1:",)
    assert blocks[:1] == first.preamble.blocks
    assert sheets.plain_text(first) == sheets.plain_text(ask)
    assert "tokens" not in sheets.plain_text(ask)


@given(asks())
def test_any_ask_is_numbered_without_a_gap(ask: Ask) -> None:
    """Whatever labels and descriptions hold, each choice is one line with its number."""
    question = ask.questions[0]
    count = len(question.choices) + question.menu
    lines = sheets.plain_text(ask).splitlines()
    if count:
        at = [i for i in range(len(lines)) if lines[i : i + 1] and lines[i].startswith("1. ")]
        assert any(
            all(line.startswith(f"{n}. ") for n, line in enumerate(lines[i : i + count], 1))
            and len(lines[i : i + count]) == count
            for i in at
        )


@given(asks())
def test_narrowing_twice_is_narrowing_once(ask: Ask) -> None:
    """One question stays one question."""
    once = sheets.keep_first_question(ask)
    assert once == sheets.keep_first_question(once)
    assert ask.questions[:1] == once.questions


def test_the_place_in_the_tree_goes_with_the_question() -> None:
    """A summary is about the item wherever in the tree the person is."""
    text = sheets.plain_text(make(question("[OTH]: Two gaps are left. What is next?")))
    assert "\n\nTwo gaps are left.\n\n1. " in text
    assert text.endswith("\n\n[OTH]: What is next?")
    assert sheets.plain_text(make(question("[A/B]: Two gaps."))).endswith(
        f"\n\n[A/B]: {sheets.WHICH}"
    )


def test_a_summary_is_left_out_where_the_preamble_says_just_that() -> None:
    """It stands right above; a context that says more is summed up again before the choices."""
    ask = make(question("The review found gaps. What is next?"))
    assert sheets.plain_text(ask).count("The review found gaps.") == 1
    ask = make(question("Tokens expire. What is next?"), blocks=("**1. Auth** — Tokens\nexpire.",))
    assert "Tokens expire." not in sheets.plain_text(ask)
    ask = make(
        question("Tokens expire. What is next?"), blocks=("**1. Auth** — Tokens expire. A lot.",)
    )
    assert sheets.plain_text(ask).count("Tokens expire.") == 2


def test_a_summary_stays_with_the_choices_below_a_long_preamble() -> None:
    """Who answers has the summary beside the options, without scrolling up."""
    ask = make(question("The review found gaps. What is next?"), blocks=("And so on.\n" * 100,))
    text = sheets.plain_text(ask)
    assert "The review found gaps.\n\n1. **" in text


def test_text_does_not_ask_for_a_blank_reply() -> None:
    """An empty message is no answer, and Other has a number."""
    text = sheets.plain_text(
        make(question(menu=True), hints=f"{wording.BLANK} | Q: asks something | ! skips")
    )
    assert "**Try:** Q: asks something | ! skips\n" in text


def test_each_host_has_the_limits_that_were_found() -> None:
    """Claude Code takes four questions of two to four options, Codex three of two or three."""
    assert Limits(4, 4) == Showing(host="claude").limits()
    assert Limits(3, 3) == Showing(host="codex").limits()


def test_text_shows_one_question_at_a_time() -> None:
    """Plain text has one question, and never more than four options."""
    assert Limits(1, 4) == Showing(via="text").limits()


def test_the_caller_can_want_a_shorter_header() -> None:
    """`--header-max` narrows the header and nothing else."""
    assert Limits(3, 3, 12) == Showing(host="codex", header_max=12).limits()


def test_an_unknown_host_is_refused_with_the_known_ones() -> None:
    """The message names what there is."""
    with pytest.raises(QuandaryError, match="no host is called gemini; there are claude, codex"):
        sheets.find_host("gemini")


def test_a_long_text_is_shortened_to_its_beginning() -> None:
    """A megabyte in an error message helps nobody."""
    assert sheets.shorten("a\n\n b") == "a b"
    assert len(sheets.shorten("x" * 10_000_000)) == 200


@pytest.mark.parametrize(
    ("text", "title", "block", "shown", "about"),
    [
        ("Plan: Login?", "Login", SLOW, "Plan: Login?", "It is slow. {}"),
        ("It is slow. Plan: Login?", "Login", SLOW, "Plan: Login?", "It is slow. {}"),
        ("1: Draft is over. What is next?", "1: Draft", "", "1: Draft — what is next?", "{}"),
        (
            "D1.1: E0 “Bot”. It answers. Cost: 2 days. What should happen to it?",
            *("E0 “Bot”", "", "E0 “Bot” — what should happen to it?"),
            "It answers. Cost: 2 days. {}",
        ),
        (
            "`ci` wants to deploy build 812. May it be done?",
            *("deploy build 812", "Exactly this:\n\n~~~json\n{}\n~~~"),
            *("Deploy build 812 — may it be done?", "{} Exactly this: {{}}"),
        ),
        ("Two gaps are left. What is next?", "", "", "Two gaps are left. What is next?", "{}"),
    ],
)
def test_a_line_of_a_list_begins_with_what_tells_it_from_others(
    text: str, title: str, block: str, shown: str, about: str
) -> None:
    """What is asked, behind what that is about; the item's own context goes before the run's."""
    asked = make(question(text, title=title), blocks=(block,) if block else ())
    assert sheets.tell_in_line(asked) == (shown, about.format("The review found gaps."))


def test_a_line_of_a_permit_names_the_action() -> None:
    """Though the page leaves out of the question what it says right above it."""
    asked = question("`ci` wants to deploy it. May it be done?", title="deploy it")
    said = Preamble("**`ci` wants to deploy it.**\n\n- Reason: `it is tested`")
    ask = replace(make(asked), preamble=said)
    assert sheets.tell_question(ask, asked) == ("", "May it be done?")
    assert sheets.tell_in_line(ask) == ("Deploy it — may it be done?", "Reason: it is tested")
