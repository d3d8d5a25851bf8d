"""What a typed reply is read as."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.model.asks import BACK, MORE, Choice, Question, question_from_options
from quandary.model.tree import Extra
from quandary.reading import Mode, fold, read, words
from quandary.reading.sentences import Sentences

REPLIES = Path(__file__).parent / "replies.jsonl"
"""Replies, each with what it means; those of the files beside it were written before the rules, by
somebody who did not know them, and say `also` what they may mean."""


def question(*choices: Choice, **more: Any) -> Question:  # noqa: ANN401 - a Question's fields
    """A question with these choices."""
    return Question(key="1:", header="1. Step", text="How does it look?", choices=choices, **more)


PLAN = question(
    Choice("OK", "Looks good", "This step needs no changes"),
    Choice("INF", "More info needed", "Questions about the approach are open"),
    Choice("RWK", "Rework this step", "A rewrite that takes a different approach", branch=True),
    named=(
        Choice("OTH/CHG", "Change approach", "The direction needs a fundamental change"),
        Choice("OTH/REM", "Remove from plan", "The step is not needed at all"),
        Choice("OTH/SPL", "Split this step", "Smaller sub-steps in its place"),
    ),
    menu=True,
    extras=(Extra("A", "Ask its author"), Extra("B", "Defer"), Extra("C", "Split in two")),
    keywords={"model": "MODEL", "depth": "DEPTH"},
)
DEPLOY = question(
    Choice("DEP", "Deploy now", "Push to production right away"),
    Choice("STG", "Deploy to staging", "Try it on the test cluster first"),
    Choice("WAIT", "Wait until Monday", "Nobody watches over the weekend"),
)
APPROVAL = question(
    Choice("APR", "Approve", "Accept as-is"),
    Choice("REJ", "Reject", "It goes back for changes"),
    Choice("DEF", "Defer", "Too early to tell"),
)
CHORES = question(
    Choice("TST", "Run the tests", "About four minutes"),
    Choice("DOC", "Update the docs", "Two pages are stale"),
    Choice("CHL", "Changelog, short", "For release 2.1"),
    Choice("TAG", "Changelog, long", "With every commit"),
    multi=True,
)
MODES: tuple[Mode, ...] = ("strict", "plain")


def picks(text: str, asked: Question, mode: Mode = "plain") -> str:
    """A reading in one line: codes, `?` and codes when ambiguous, else the kind."""
    found = read(text, asked, mode)
    if found.kind == "pick":
        return ",".join(found.codes)
    return "?" + ",".join(found.codes) if found.kind == "ambiguous" else found.kind


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["", "  \n", "Other", "other.", ' "OTHER" ', "Other..."])
def test_nothing_or_just_other_is_blank(text: str, mode: Mode) -> None:
    """An empty reply, or just "Other", leaves Other blank."""
    assert read(text, PLAN, mode).kind == "blank"


def test_other_in_plain_text_is_the_option_that_is_called_so() -> None:
    """There is no host's own Other beside it, as there is in a form."""
    asked = question(Choice("BUG", "Bug"), Choice("OTHER", "Other"))
    assert [picks("other.", asked, mode) for mode in MODES[::-1]] == ["OTHER", "blank"]
    assert picks("oth", asked) == "blank"
    assert picks("other", question(*asked.choices, menu=True)) == "blank"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "prefix", "argument"),
    [
        ("Q: how long?", "question", "how long?"),
        ("q : who asked", "question", "who asked"),
        ("?", "explain", ""),
        ("? what is this", "explain", "what is this"),
        ("???", "deep", ""),
        ("!", "force", ""),
        ("!skip", "force", "skip"),
        ("!dismiss", "force", "dismiss"),
        ("!NO/RWK", "force", "NO/RWK"),
        ("#needs-brainstorm", "tag", "needs-brainstorm"),
        ("@docs/plan.md", "reference", "docs/plan.md"),
    ],
)
def test_a_prefix_stands_first(text: str, prefix: str, argument: str, mode: Mode) -> None:
    """A prefix at the very beginning comes before everything else."""
    found = read(text, PLAN, mode)
    assert (found.kind, found.prefix, found.argument) == ("prefix", prefix, argument)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["what does this do?", "`#needs-brainstorm`", "# heading"])
def test_a_mark_elsewhere_is_no_prefix(text: str, mode: Mode) -> None:
    """A question mark at the end and a tag in backticks are no prefixes."""
    assert read(text, PLAN, mode).kind == "own-words"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["`RWK`", "`rwk`.", "(`RWK`)", "```RWK```", "`Rework this step`"])
def test_a_code_in_backticks_is_that_code(text: str, mode: Mode) -> None:
    """Whoever writes Markdown types codes so; a tag in backticks is still inert."""
    assert picks(text, PLAN, mode) == "RWK"
    assert picks("`TST`, `DOC`", CHORES, mode) == "TST,DOC"
    assert picks("`#RWK`", PLAN, "strict") == "own-words"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("text", "prefix"), [("#", "tag"), ("@", "reference"), ("+", "add")])
def test_a_mark_alone_is_no_answer(text: str, prefix: str, mode: Mode) -> None:
    """Nothing stands behind it yet, so that the question comes again."""
    found = read(text, PLAN, mode)
    assert (found.kind, found.prefix, found.argument) == ("prefix", prefix, "")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["!OTH", "#other", "@other", "?other"])
def test_a_prefix_comes_before_a_blank_other(text: str, mode: Mode) -> None:
    """`!OTH` is that path, and `#other` a tag of that name."""
    assert read(text, PLAN, mode).kind == "prefix"


def test_a_number_sign_is_a_tag_or_a_number() -> None:
    """`#2` is a tag to the strict reader and the number two in plain text."""
    assert read("#2", PLAN, "strict").prefix == "tag"
    assert picks("#2", PLAN) == "INF"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "text", ["+TST +DOC", "+TST+DOC", "+tst, +doc", "+TST & DOC", "+Run the tests, Update the docs"]
)
def test_a_plus_adds_several(text: str, mode: Mode) -> None:
    """Whatever joins them, codes or labels, the flow is sent codes that it can add."""
    added = read(text, CHORES, mode)
    assert (added.prefix, added.argument) == ("add", "TST DOC")


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        *(("+1", "TST"), ("+1 +2", "TST DOC"), ("+1, #2", "TST DOC"), ("+1 and 2", "TST DOC")),
        *(("+TST +2", "TST DOC"), ("+ 3", "CHL"), ("+1 +9", "1 +9"), ("+9", "9")),
    ],
)
def test_a_plus_adds_by_the_numbers_that_the_text_shows(text: str, argument: str) -> None:
    """A number that is not shown is left to the flow to refuse; a form shows no numbers."""
    added = read(text, CHORES, "plain")
    assert (added.prefix, added.argument) == ("add", argument)
    assert read("+1", PLAN, "plain").prefix == "add"
    assert read("+1", CHORES, "strict").argument == "1"
    assert read("+1 555 0134", CHORES, "plain").kind == "own-words"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "argument"),
    [
        *(("+WEB", "WEB"), ("+the public, worldwide", "WEB"), ("+OPS, Everyone", "OPS ALL")),
        *(("+DEV Developers", "DEV Developers"), ("+WEB, my mother", "WEB, my mother")),
        *(("+nope", "nope"), ("+nope, WEB", "nope, WEB"), ("+TEAM/DEV", "TEAM/DEV")),
        *(("+ a diagram", None), ("+ also tell the cat", None)),
    ],
)
def test_a_plus_and_a_code_are_never_own_words(text: str, argument: str | None, mode: Mode) -> None:
    """Where one can be chosen, too, and of levels above; the flow adds it or says why not."""
    above = (
        Choice(BACK, "Back"),
        Choice("<WEB", "The public, worldwide"),
        Choice("<DEV", "Devices"),
    )
    inner = question(
        *(Choice("DEV", "Developers"), Choice("OPS", "Operators")),
        above=(*above, Choice("<<ALL", "Everyone")),
    )
    found = read(text, inner, mode)
    assert (found.argument if found.prefix == "add" else None) == argument
    assert read("+Rework this step", PLAN, mode).argument == "RWK"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["A?", "a ?", "A？"])
def test_a_letter_with_a_question_mark_asks(text: str, mode: Mode) -> None:
    """An extra that is a choice is not chosen by it; one that shows something is what it asks."""
    found = read(text, PLAN, mode)
    assert (found.kind, found.prefix) == ("prefix", "question")
    assert found.argument.endswith("(Ask its author)")
    shows = msgspec.structs.replace(PLAN, extras=(Extra("A", "Ask its author", shows=True),))
    assert (read(text, shows, mode).extra, read(text, shows, mode).prefix) == ("A", "show")


@pytest.mark.parametrize("mode", MODES)
def test_a_plus_before_a_code_is_a_prefix(mode: Mode) -> None:
    """`+CODE` adds to a multi-select answer; elsewhere the flow says that it cannot."""
    added = read("+doc", CHORES, mode)
    assert (added.kind, added.prefix, added.argument) == ("prefix", "add", "DOC")
    assert read("+TST +DOC", CHORES, mode).prefix == "add"
    assert read("+ also clean up the build", CHORES, mode).kind == "own-words"
    assert read("+OK", PLAN, mode).prefix == "add"
    assert read("+Update the docs", CHORES, mode).argument == "DOC"
    assert read("+ a diagram", PLAN, mode).kind == "own-words"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["A", "a", "a.", "A:", " a "])
def test_a_letter_alone_is_an_extra(text: str, mode: Mode) -> None:
    """A letter with or without colon or full stop, in any case, is the extra of that letter."""
    found = read(text, PLAN, mode)
    assert (found.kind, found.extra, found.matched) == ("extra", "A", "Ask its author")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["A quick question", "I think so", "I", "D", "a: b"])
def test_words_are_no_letters(text: str, mode: Mode) -> None:
    """A sentence that begins with a letter is no extra, nor is a letter that was not offered."""
    assert read(text, PLAN, mode).kind == "own-words"


def test_an_extra_shadows_a_code_of_the_same_letter() -> None:
    """A code of one letter is read only where no extra has that letter."""
    vans = (Choice("A", "Ace Movers"), Choice("B", "Budget Vans"))
    assert picks("b", question(*vans)) == "B"
    assert read("b", question(*vans, extras=(Extra("B", "Ask"),))).extra == "B"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rwk", "RWK"),
        ("OK.", "OK"),
        ("rem", "OTH/REM"),
        ("OTH/REM", "OTH/REM"),
        ("oth/chg", "OTH/CHG"),
        ("looks GOOD", "OK"),
        ("'Rework this step...'", "RWK"),
        ("More info needed…", "INF"),
        ("remove", "OTH/REM"),
        ("remove from", "OTH/REM"),
        ("remvoe from plan", "OTH/REM"),
        ("change aproach", "OTH/CHG"),
    ],
)
def test_codes_and_labels_are_read_alike_on_the_level_and_behind_other(
    text: str, expected: str, mode: Mode
) -> None:
    """A code, a label, a beginning of one, or a label with a typo names its option."""
    assert picks(text, PLAN, mode) == expected


@pytest.mark.parametrize(
    ("text", "label", "fits"),
    [
        ("gren", "Green", True),
        ("bleu", "Blue", False),
        ("aprpove", "Approve", True),
        ("aproev", "Approve", False),
        ("anonimize it al", "Anonymize it all", True),
        ("60 days", "90 days", False),
        ("inclusive", "Exclusive", False),
        ("unlocked", "Locked", False),
    ],
)
def test_a_typo_is_one_slip_from_five_letters_and_two_from_nine(
    text: str, label: str, *, fits: bool
) -> None:
    """Short labels forgive nothing; other digits and opposites are never slips."""
    asked = question(Choice("X", label), Choice("Y", "Something quite different"))
    assert picks(text, asked, "strict") == ("X" if fits else "own-words")


@pytest.mark.parametrize("mode", MODES)
def test_text_that_fits_two_options_is_ambiguous(mode: Mode) -> None:
    """The codes of an ambiguous reading are those that fit equally well, no others."""
    assert picks("deploy", DEPLOY, mode) == "?DEP,STG"


def test_a_slip_that_is_as_near_to_two_labels_is_ambiguous() -> None:
    """Of labels that the typed text is equally near to, none is picked."""
    asked = question(Choice("A", "Delay"), Choice("B", "Deploy"))
    assert picks("delploy", asked, "strict") == "B"
    assert picks("delpoy", asked, "strict") == "B"
    assert picks("deplay", asked, "strict") == "?A,B"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "text", ["model", "Model", "DEPTH.", " depth ", "¶ASK_DEPTH", "§ask_model"]
)
def test_the_whole_text_can_name_another_tree(text: str, mode: Mode) -> None:
    """A keyword of another tree is read only when it is all that was typed."""
    assert read(text, PLAN, mode).tree in {"MODEL", "DEPTH"}
    assert read(f"{text} please check", PLAN, mode).kind == "own-words"


@pytest.mark.parametrize(
    "text",
    [
        "2",
        "the second one",
        "smaller steps",
        "different approach",
        "remove the second paragraph",
        "not OK",
        "approach",
    ],
)
def test_strict_reading_never_guesses(text: str) -> None:
    """Numbers and parts of labels are own words to the strict reader."""
    assert picks(text, PLAN, "strict") == "own-words"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Run the tests, Update the docs", "TST,DOC"),
        ("Changelog, short", "CHL"),
        ("Changelog, long, Run the tests", "TST,TAG"),
        ("Changelog, short, Changelog, long", "CHL,TAG"),
        ("doc, tst", "TST,DOC"),
        ("TST and TAG", "TST,TAG"),
    ],
)
def test_labels_with_commas_are_read_longest_first(text: str, expected: str, mode: Mode) -> None:
    """Joined labels are told apart even where a label has a comma."""
    assert picks(text, CHORES, mode) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2", "STG"),
        ("2.", "STG"),
        ("(2)", "STG"),
        ("#2", "STG"),
        ("no. 2", "STG"),
        ("2️⃣", "STG"),
        ("２", "STG"),
        ("option 2", "STG"),
        ("number two", "STG"),
        ("the second one", "STG"),
        ("second", "STG"),
        ("3rd", "WAIT"),
        ("last", "WAIT"),
        ("the last one", "WAIT"),
        ("the middle one", "STG"),
        ("second to last", "STG"),
        ("the first option please", "DEP"),
        ("2. Deploy to staging", "STG"),
        ("2. Wait until Monday", "?STG,WAIT"),
        ("4", "own-words"),
        ("0", "own-words"),
        ("2.5", "own-words"),
        ("2 weeks", "own-words"),
        ("first, fix the typo", "own-words"),
        ("the second paragraph", "own-words"),
    ],
)
def test_numbers_and_ordinals_count_what_is_shown(text: str, expected: str) -> None:
    """A number that no choice has, and a number of something else, are own words."""
    assert picks(text, DEPLOY) == expected


def test_more_is_chosen_by_its_number_or_its_word() -> None:
    """The choice that leads to the next page can be typed like any other."""
    paged = question(*DEPLOY.choices, Choice(MORE, "More…"), named=(Choice("INF", "More info"),))
    assert [picks(text, paged) for text in ("4", "more", "More…", "the last one")] == [MORE] * 4
    assert picks("more", paged, "strict") == MORE
    assert picks("more info", paged) == "INF"


def test_more_goes_with_names_where_several_can_be_chosen() -> None:
    """Nothing has to be asked about options of any page that are named together with More…."""
    *first, last = CHORES.choices
    paged = question(*first, Choice(MORE, "More…"), multi=True, named=(last,))
    said = f"{last.label}, More…", f"{first[0].label}, {last.label}, more"
    expected = [f"{MORE},{last.code}", f"{first[0].code},{MORE},{last.code}"]
    for mode in MODES:
        assert expected == [picks(text, paged, mode) for text in said]
    assert f"{first[0].code},{MORE}" == picks("1 and 4", paged)


def test_the_number_after_the_choices_is_other() -> None:
    """Where Other has a menu it is shown last, and its number leaves it blank."""
    assert read("4", PLAN).kind == "blank"
    assert read("5", PLAN).kind == "own-words"
    assert picks("1 or 4?", PLAN) == "?OK,OTH"


@pytest.mark.parametrize("text", ["5", "5.", "#5", "five", "number 5", "other or 5"])
def test_a_number_in_the_list_is_never_own_words(text: str) -> None:
    """Of Other, and of a label on a further page, it asks which; only a lone one of a label."""
    *first, last = (Choice(f"P{n}", f"Phase {n}") for n in range(1, 6))
    behind = (Choice("OTH/STOP", "Stop here"), Choice("OTH/ASK", "Ask the team"))
    paged = question(*first[:3], Choice(MORE, "More…"), named=(first[3], last, *behind), menu=True)
    assert picks(text, paged) == ("blank" if text == "number 5" else "?P5,OTH")
    assert picks("4", paged) == f"?{MORE},P4"
    narrowed = question(last, named=(*first, *behind), menu=True, narrowed=True)
    assert [picks(number, narrowed) for number in "12"] == ["P5", "blank"]
    labelled = question(*map(Choice, "ABC", "543"), named=behind, menu=True)
    assert picks("4", labelled) == "?B,OTH"


@pytest.mark.parametrize(("text", "expected"), [("6", "?P6"), ("#7", "?P7,Q7"), ("8", "own-words")])
def test_a_number_behind_the_list_that_a_label_has_is_asked_about(text: str, expected: str) -> None:
    """It may be the label's, or a slip."""
    names = {"P6": "Phase 6", "P7": "Phase 7", "Q7": "Stage 7"}
    further = tuple(Choice(code, label) for code, label in names.items())
    shown = (Choice("AA", "Setup"), Choice("BB", "Plan"), Choice("CC", "Build"))
    many = question(*shown, Choice(MORE, "More…"), Choice("DD", "Test"), named=further)
    assert picks(text, many) == expected


@pytest.mark.parametrize("text", ["3", "third", "Other", "other...", "the last one"])
def test_an_option_of_the_code_of_other_is_picked_like_any(text: str) -> None:
    """In an opened menu there is no Other beside it."""
    opened = question(Choice("DD", "Cut"), Choice("EE", "Keep"), Choice("OTH", "Other"))
    assert picks(text, opened) == "OTH"
    assert picks("1 or 3", opened) == "?DD,OTH"


@pytest.mark.parametrize(
    "text", ["4: my own way", "4. merge the steps", "other: make it blue", "Other (ask me)"]
)
def test_words_beside_other_are_the_persons_own(text: str) -> None:
    """Other with text is that text; its menu opens for nothing else than Other alone."""
    assert picks(text, PLAN) == "own-words"
    assert picks("4, thanks", PLAN) == "blank"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["MORE", "more", "Something else.", "something ELSE", "Other"])
def test_what_the_author_calls_other_leaves_it_blank(text: str, mode: Mode) -> None:
    """Its code or label alone is Other alone; an option of that name comes first."""
    named = (Choice("MORE/LAT", "Do it later"), Choice("MORE/ASK", "Ask the team"))
    asked = question(*APPROVAL.choices, named=named, menu=True, other="Something else...")
    assert picks(text, asked, mode) == "blank"
    assert picks("something else: do it twice", asked, mode) == "own-words"
    twin = msgspec.structs.replace(asked, choices=(Choice("MORE", "Something else"),))
    assert picks("MORE", twin, mode) == "MORE"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1, 4", "OK,OTH"),
        ("4, 1", "OK,OTH"),
        ("1 and 4", "OK,OTH"),
        ("3 and other", "RWK,OTH"),
        ("Looks good, Other", "OK,OTH"),
        ("4", "blank"),
        ("1 or 4", "?OK,OTH"),
    ],
)
def test_other_opens_its_menu_beside_what_is_chosen(text: str, expected: str) -> None:
    """By its number or its name, where several can be chosen; elsewhere it is asked which."""
    assert picks(text, msgspec.structs.replace(PLAN, multi=True)) == expected
    assert picks(text, PLAN) == ("blank" if text == "4" else f"?{expected.lstrip('?')}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", "?0,1"), ("2.", "?1,2"), ("#1", "?0,1"), ("1, 2", "?0,1,2"), ("first", "0"), ("0", "0")],
)
def test_a_number_that_is_one_options_place_and_anothers_name_is_asked_about(
    text: str, expected: str
) -> None:
    """`1. None at all`, `2. A single one` and so on, where the second one is called 1."""
    coded = question(*map(Choice, "012", ("None at all", "A single one", "A pair")), multi=True)
    labelled = question(*map(Choice, "XYZ", "012"), multi=True)
    assert picks(text, coded) == expected
    assert picks(text, labelled) == expected.translate(str.maketrans("012", "XYZ"))
    assert picks("2", question(Choice("1", "One"), Choice("2", "Two"))) == "2"
    roofs = question(Choice("2", "Roof"), Choice("Roof-2", "Terrace"))
    assert picks("roof-2", roofs) == "Roof-2"


@pytest.mark.parametrize("text", ["2", "#2", "2."])
def test_a_number_is_asked_about_once(text: str) -> None:
    """To the question which of them was meant, it is the place of one of them."""
    asked = question(Choice("ONE", "Wait 2 days"), Choice("TWO", "Wait 3 days"))
    assert read(text, asked).kind == "ambiguous"
    found = read(text, msgspec.structs.replace(asked, narrowed=True))
    assert (found.kind, found.codes) == ("pick", ("TWO",))


@pytest.mark.parametrize("text", ["2", "#2", "2.", "two"])
@pytest.mark.parametrize("labels", ["< 5,> 5,More…", "5,10,20", "2024,2025,Later", "Now,+5,≥ 10"])
def test_a_place_where_labels_are_numbers_is_asked_about(labels: str, text: str) -> None:
    """It may be a value that none of them has; asked once more among all, it is the place."""
    asked = question(*(Choice(f"OPT{n}", label) for n, label in enumerate(labels.split(","), 1)))
    found = read(text, asked)
    assert (found.kind, found.codes) == ("ambiguous", ("OPT1", "OPT2", "OPT3"))
    assert picks("number 2", asked) == "OPT2"
    if text != "two":
        again = read(text, msgspec.structs.replace(asked, narrowed=True))
        assert (again.kind, again.codes) == ("pick", ("OPT2",))


def test_a_number_that_also_begins_a_label_is_ambiguous() -> None:
    """A bare number that could be a place or a label is asked about."""
    asked = question(Choice("D30", "30 days"), Choice("M6", "6 months"), Choice("Y2", "2 years"))
    assert picks("2", asked) == "?M6,Y2"
    assert picks("option 2", asked) == "M6"
    assert picks("30", asked) == "D30"
    course = question(Choice("SEC", "Open a second group"), Choice("WAI", "Waiting list"))
    assert picks("second", course) == "?SEC,WAI"
    assert picks("the second option", course) == "WAI"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 and 3", "TST,CHL"),
        ("1,3", "TST,CHL"),
        ("1-3", "TST,DOC,CHL"),
        ("first and third", "TST,CHL"),
        ("all", "TST,DOC,CHL,TAG"),
        ("all four", "TST,DOC,CHL,TAG"),
        ("all but 3", "?TST,DOC,TAG"),
        ("everything except the second", "?TST,CHL,TAG"),
        ("the first two", "TST,DOC"),
        ("tests and docs", "TST,DOC"),
        ("none of these", "own-words"),
        ("1 and 9", "own-words"),
        ("1 or 2", "?TST,DOC"),
    ],
)
def test_several_may_be_chosen_where_the_question_says_so(text: str, expected: str) -> None:
    """Lists and ranges pick several in the order of the options; "all but" is asked about."""
    assert picks(text, CHORES) == expected


def test_several_named_where_one_is_wanted_are_asked_about() -> None:
    """Two options named in reply to a question for one are ambiguous; all of them says nothing."""
    assert picks("1 and 3", DEPLOY) == "?DEP,WAIT"
    assert picks("all of them", DEPLOY) == "own-words"


def test_both_are_two() -> None:
    """Two options are both of them, where several may be chosen."""
    pair = (Choice("N", "North lot"), Choice("S", "South lot"))
    assert picks("both", question(*pair, multi=True)) == "N,S"
    assert picks("both", question(*pair)) == "own-words"
    assert picks("both", CHORES) == "own-words"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("staging", "STG"),
        ("stagign please", "STG"),
        ("deploying now", "DEP"),
        ("push it to production", "DEP"),
        ("ok let's go with staging", "STG"),
        ("my pick is wait", "WAIT"),
    ],
)
def test_words_of_labels_and_descriptions_name_an_option(text: str, expected: str) -> None:
    """Parts of labels, word forms, typos and words of descriptions are read, fillers ignored."""
    assert picks(text, DEPLOY) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("address gaps", "GAP"),
        ("let's address those gaps", "GAP"),
        ("the gaps", "?GAP,GAN"),  # half of it, which both have
    ],
)
def test_a_label_without_its_small_words_has_no_rival(text: str, expected: str) -> None:
    """Whoever says all that a label says means it, whatever another option's description has."""
    recovery = question(
        Choice("GAP", "Address the gaps", "Return to the campaign to strengthen the work"),
        Choice("GAN", "Consult the mentor", "Get strategic counsel on how to address the gaps"),
        Choice("DIS", "Discuss the verdict", "Understand or challenge the assessment"),
    )
    assert picks(text, recovery) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("not the second", "?DEP,WAIT"),
        ("anything but wait", "?DEP,STG"),
        ("don't wait", "?DEP,STG"),
        ("staging, not now", "STG"),
        ("neither 1 nor 2", "?WAIT"),
        ("no 2", "own-words"),
    ],
)
def test_what_is_ruled_out_leaves_the_rest(text: str, expected: str) -> None:
    """An exclusion leaves the other options; only one of them is a pick."""
    assert picks(text, DEPLOY) == expected


def test_one_of_two_ruled_out_picks_the_other() -> None:
    """With two options, not the one is the other, and an option that says "without" is meant.

    All but one of them is never a plain pick.
    """
    asked = question(Choice("MRG", "Merge"), Choice("CLS", "Close without merging"))
    for text in ("not the first", "don't merge"):
        assert picks(text, asked) == "CLS"
    assert picks("anything but merging", asked) == "?CLS"


CLEANUP = question(
    Choice("DEL", "Delete old snapshots", "Frees about 60 GB"),
    Choice("EXT", "Extend the volume", "Costs 12 euros a month, no downtime"),
    Choice("MOV", "Move to the new cluster", "Needs a maintenance window on Sunday"),
)
DUPLICATES = question(
    Choice("MRG", "Merge them", "Newest values win"),
    Choice("BTH", "Import both", "You can merge later"),
)
REQUEST = question(
    Choice("YES", "Yes, merge", "Squash into one commit"),
    Choice("NO", "No, wait", "Until Friday"),
    Choice("REV", "Ask for another review", "A flaky test failed"),
)


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        ("window", CLEANUP, "?MOV"),  # said in passing
        ("sunday", CLEANUP, "?MOV"),
        ("free", CLEANUP, "?DEL"),  # another form
        ("maintenance window", CLEANUP, "MOV"),
        ("all volumes", CLEANUP, "own-words"),  # nothing there says "all"
        ("move it on sunday", CLEANUP, "?MOV"),  # its verb, and something of its description
        ("merge later", DUPLICATES, "?MRG,BTH"),  # another option is called that
        ("on friday", REQUEST, "?NO"),
        ("i am the review team", REQUEST, "own-words"),  # who somebody is
        ("nope, all good", REQUEST, "own-words"),
        ("no, merge", REQUEST, "own-words"),
        ("no, review it", REQUEST, "own-words"),
    ],
)
def test_what_only_may_mean_an_option_is_asked_about(
    text: str, asked: Question, expected: str
) -> None:
    """A lone word of a description, another form, another deed, a yes beside its opposite."""
    assert picks(text, asked) == expected


def test_what_has_to_be_named_outright_is_not_asked_about_either() -> None:
    """Free text moves no phase: a word of its description goes to the caller as it is."""
    moves = [
        Choice("PRO", "Proceed", "The plan stands"),
        Choice("BAK", "Go back", "Look at it again"),
    ]
    asked = question(*moves, Choice("CUS", "Write a list", "Before work starts"), outright=("BAK",))
    assert picks("again", asked) == "own-words"
    assert picks("starts", asked) == "?CUS"


def test_a_no_leaves_the_other_option_to_be_asked_about() -> None:
    """Unless it is the one that leaves everything as it is."""
    hold = question(Choice("SHP", "Ship it"), Choice("HLD", "Hold the release"))
    edit = question(Choice("APR", "Approve"), Choice("EDT", "Edit the plan"))
    assert picks("nope", hold) == "HLD"
    assert picks("nope", edit) == "?EDT"


def test_another_word_is_no_slip_of_the_finger() -> None:
    """`remote` is not `Remove it`, nor `thursday` a Tuesday."""
    asked = question(Choice("REM", "Remove it now"), Choice("TUE", "Tuesday evening"))
    assert picks("remote", asked) == picks("thursday", asked) == "own-words"
    assert picks("remvoe", asked) == "REM"


@pytest.mark.parametrize("mode", MODES)
def test_a_word_of_another_label_is_no_slip(mode: Mode) -> None:
    """`move the beds` has two letters less than a label, and the verb of another one."""
    asked = question(Choice("MOV", "Move the pots inside"), Choice("COV", "Cover the beds"))
    assert picks("move the beds", asked, mode) == "own-words"
    assert picks("cver the bedds", asked, mode) == "COV"


def test_one_more_word_behind_and_is_no_remark() -> None:
    """`save and close` is more than `Save`."""
    asked = question(Choice("SAV", "Save"), Choice("OUT", "Leave"))
    assert picks("save and close", asked) == "own-words"
    assert read("save and tell the others", asked).comment == "tell the others"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1... actually 2", "STG"),
        ("1 actually 2", "STG"),
        ("no wait, 3", "WAIT"),
        ("staging. scratch that, the first", "DEP"),
        ("1, no, 3", "WAIT"),
        ("2, no wait", "own-words"),
        ("1 actually", "DEP"),
    ],
)
def test_a_second_thought_takes_back_the_first(text: str, expected: str) -> None:
    """What follows "actually" or "no wait" counts, what stood before does not."""
    assert picks(text, DEPLOY) == expected


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        ("yes", PLAN, "OK"),
        ("lgtm", PLAN, "OK"),
        ("no", PLAN, "own-words"),
        ("sure, go ahead", APPROVAL, "APR"),
        ("👍", APPROVAL, "APR"),
        ("nope", APPROVAL, "REJ"),
        ("yes and no", APPROVAL, "own-words"),
        ("yes. actually no", APPROVAL, "REJ"),
        ("yes", DEPLOY, "?DEP,STG,WAIT"),
        ("yes", msgspec.structs.replace(DEPLOY, text="Deploy it?"), "?DEP,STG,WAIT"),
        ("no, the second one", APPROVAL, "REJ"),
        ("yes, defer", APPROVAL, "DEF"),
    ],
)
def test_yes_and_no_stand_for_the_option_of_that_sense(
    text: str, asked: Question, expected: str
) -> None:
    """Yes is the one approving option, no the one refusing; a named option goes before either."""
    assert picks(text, asked) == expected


@pytest.mark.parametrize(
    ("text", "asked", "expected", "comment"),
    [
        ("OK, but rename it", PLAN, "OK", "rename it"),
        ("2 - and please add tests", DEPLOY, "STG", "please add tests"),
        ("approve; also bump the version", APPROVAL, "APR", "also bump the version"),
        ("the first one because it is cheap", DEPLOY, "DEP", "because it is cheap"),
        ("1 and 2, tell me when done", CHORES, "TST,DOC", "tell me when done"),
        ("reject and tell them why", APPROVAL, "REJ", "tell them why"),
        ("it looks risky, let's wait", DEPLOY, "WAIT", "it looks risky"),
        ("2, thanks!", DEPLOY, "STG", None),
        ("yes please", APPROVAL, "APR", None),
    ],
)
def test_a_pick_can_carry_a_comment(
    text: str, asked: Question, expected: str, comment: str | None
) -> None:
    """What is said beside a choice is kept with it; thanks are not."""
    assert picks(text, asked) == expected
    assert read(text, asked).comment == comment


@pytest.mark.parametrize(
    "text",
    [
        "which one is cheaper?",
        "what happens if I pick 2?",
        "should we wait",
        "not sure",
        "maybe 2",
        "I don't know",
        "it depends",
        "deploy the docs site instead",
        "wait for the other team, then deploy",
        "deploy now if the tests pass",
        "if the tests pass, let's deploy now",
        "warte bitte auf die anderen",
        "shall we deploy now",
        "may I deploy now",
        "want me to deploy now",
        "do I have to wait until monday",
        "deploy now？",
        "deploy now؟",
        "deploy now, given a backup",
        "1, else 2",
        "1, failing that 2",
        "deploy to work",
    ],
)
def test_questions_hedges_and_instructions_are_own_words(text: str) -> None:
    """Whatever says more than an option does, or less than a choice, is the person's own words."""
    assert picks(text, DEPLOY) == "own-words"


def test_undecided_between_named_options_is_ambiguous() -> None:
    """A hedge between options is asked about, with just those."""
    assert picks("1 or 3", DEPLOY) == "?DEP,WAIT"
    assert picks("maybe 1 or 2?", DEPLOY) == "?DEP,STG"
    assert picks("can't decide between now and monday", DEPLOY) == "?DEP,WAIT"
    tests, docs, *_ = (choice.label for choice in CHORES.choices)
    assert picks(f"between {tests} and {docs}", CHORES)[0] == "?"


def test_a_bare_not_behind_a_choice_takes_it_back() -> None:
    """It ends a joke, and no reply ends the program."""
    assert picks("deploy now, not", DEPLOY) == "own-words"
    assert picks("deploy now. NOT!", DEPLOY) == "own-words"


@pytest.mark.parametrize(
    "text", ["", " \n", "\u00a0", "\u200b", "\u200b" * 120, "\u2060 \ufeff", "\x00"]
)
def test_what_nobody_can_see_is_a_blank_reply(text: str) -> None:
    """It opens what is behind Other, as an empty line does, and is nobody's own words."""
    assert [picks(text, PLAN, mode) for mode in MODES] == ["blank", "blank"]


def test_of_several_pages_no_option_is_left_out_of_all() -> None:
    """Who says all, or all but one, is asked, and about the options of every page."""
    *first, last = CHORES.choices
    menu = Choice("OTH/X", "Ask somebody")
    paged = question(*first, Choice(MORE, "More…"), multi=True, named=(last, menu), menu=True)
    for text in ("all", "everything", "all three", "all four"):
        assert picks(text, paged) == "?TST,DOC,CHL,TAG", text
    assert picks("all", CHORES) == "TST,DOC,CHL,TAG"
    assert picks("all but 2", paged) == "?TST,CHL,TAG"
    single = question(*DEPLOY.choices[:2], Choice(MORE, "More…"), named=DEPLOY.choices[2:])
    assert picks("not the first", single) == "?STG,WAIT"


SERVICE = question(
    Choice("SPLIT", "Break it into modules", "Pricing and stock become packages"),
    Choice("TEST", "Tests first", "Pin the behaviour before anything moves"),
    Choice("LEAVE", "Leave it alone", "It works, nobody touches it"),
    Choice("ASK", "Ask for a second reviewer", "Short talk with payments"),
)


@pytest.mark.parametrize(
    "text",
    [
        "take a break",
        "i have to leave now",
        "make it shorter",
        "leave everything",
        "nobody likes modules",
        "the modules we have are old",
        "modules is out",
        "more modules",
        "the tests are broken",
        "tests?",
        "wait what",
        "2 if the build is green",
        "tests first unless it is urgent",
    ],
)
def test_words_of_an_option_said_of_something_else_are_own_words(text: str) -> None:
    """A deed of their own, a statement and a condition share words with labels, and name none."""
    assert picks(text, SERVICE) == "own-words"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("break it up", "SPLIT"),
        ("a second reviewer", "ASK"),
        ("the second", "TEST"),
        ("the one before last", "LEAVE"),
        ("last but one", "LEAVE"),
        ("don't touch it", "LEAVE"),
        ("3 please and thank you", "LEAVE"),
        ("the answer is 2", "TEST"),
        ("answer: 2", "TEST"),
        ("between 1 and 3", "?SPLIT,LEAVE"),
        ("1 or 3?", "?SPLIT,LEAVE"),
        ("break it up? or leave it?", "?SPLIT,LEAVE"),
    ],
)
def test_turns_of_speech_around_a_choice(text: str, expected: str) -> None:
    """Ordinals, fillers and second words of labels are told apart."""
    assert picks(text, SERVICE) == expected


LIMITS = question(
    Choice("M", "25 MB", "Most attachments"),
    Choice("L", "100 MB", "Short videos, two weeks"),
    Choice("XL", "No limit", "Pay per gigabyte"),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("25 or 100", "?M,L"),
        ("100 mb or no limit", "?L,XL"),
        ("not no limit", "?M,L"),
        ("25 mb. actually no limit", "XL"),
        ("no limit rather than 25", "XL"),
        ("2 weeks", "L"),
        ("one week", "own-words"),
        ("two", "L"),
        ("just pay it", "own-words"),
        ("make it 100 mb", "L"),
        ("25, hmm, make it 3", "?M,XL"),
    ],
)
def test_numbers_and_the_no_of_a_label(text: str, expected: str) -> None:
    """A "no" that a label has denies nothing, and a number counts what the option counts."""
    assert picks(text, LIMITS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all, except the docs", "?TST,CHL,TAG"),
        ("all, just skip the docs", "?TST,CHL,TAG"),
        ("1 and 2. hmm, drop 2", "TST"),
        ("tests and docs. actually no docs", "TST"),
        ("tests and the moon", "own-words"),
        ("tests, moon", "own-words"),
        ("1/2", "TST,DOC"),
        ("tests first, then docs", "TST,DOC"),
        ("update that test", "own-words"),
    ],
)
def test_a_list_is_taken_whole_or_not_at_all(text: str, expected: str) -> None:
    """What is left out again is left out, and a list with something unknown is own words."""
    assert picks(text, CHORES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tests, docs, and those of people who left", "own-words"),
        ("TST, and a note to the customers", "own-words"),
        ("tests, plus whatever bob wants", "own-words"),
        ("tests, as well as the ones from the trial", "own-words"),
        ("tests. also a blog post", "own-words"),
        ("TST, but also a blog post", "own-words"),
        ("tests, then the blog", "own-words"),
        ("tests, docs and so on", "?TST,DOC"),
        ("tests, the ones we don't run", "own-words"),
        ("tests, notes of the meeting", "own-words"),
        ("tests, and tell bob", "TST"),
        ("tests, the rest can wait", "TST"),
        ("tests, as pdf", "TST"),
        ("tests, because bob wants them", "TST"),
    ],
)
def test_every_member_of_a_list_is_accounted_for(text: str, expected: str) -> None:
    """One more of a list is no remark; that opens as one, or is a sentence."""
    assert picks(text, CHORES) == expected


@pytest.mark.parametrize(
    ("asked", "multi", "text", "expected"),
    [
        ("Which pages need work?", True, "the FAQ is fine", "?FAQ"),
        ("Which pages need work?", True, "checkout works for me", "?CHK"),
        ("Which pages need work?", True, "FAQ and checkout are fine", "?CHK,FAQ"),
        ("Which pages need work?", True, "FAQ's fine", "?FAQ"),
        ("Which pages need work?", True, "the FAQ would be good", "FAQ"),
        ("Which page is wrong?", False, "checkout looks good", "?CHK"),
        ("Which page comes first?", False, "checkout looks good", "CHK"),
        ("Which page comes first?", False, "the second is fine", "FAQ"),
    ],
)
def test_what_is_fine_is_not_chosen_among_several_or_faults(
    asked: str, multi: bool, text: str, expected: str
) -> None:
    """It says something about an option, and is asked about; of one choice it is a pick."""
    options = [{"code": "CHK", "label": "Checkout"}, {"code": "FAQ", "label": "FAQ"}]
    options.append({"code": "HOM", "label": "Home page"})
    assert picks(text, question_from_options(asked, options, multi=multi)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("never on production", "?STG"),
        ("not on production", "?STG"),
        ("don't run it on production", "own-words"),
        ("no retries", "NON"),
        ("never", "own-words"),
        ("no new service", "PG"),
    ],
)
def test_what_is_forbidden_is_not_chosen_by_a_description(text: str, expected: str) -> None:
    """A denial picks an option whose label says it, or whose description it quotes."""
    asked = question(
        Choice("STG", "Always run on staging", "Not on production."),
        Choice("NON", "No retries", "Fails at once"),
        Choice("PG", "Postgres", "No new service"),
    )
    assert picks(text, asked) == expected


@pytest.mark.parametrize(
    ("asked", "labels", "yes", "no"),
    [
        ("Send it?", ("Send it now", "Edit it", "Discard it"), "?X0,X1,X2", "own-words"),
        ("What now?", ("Accept the risk", "Mitigate", "Cancel the run"), "?X0,X1,X2", "own-words"),
        ("What next?", ("Consult the Cat", "Continue working", "Rest"), "?X0,X1,X2", "own-words"),
        ("Which plan?", ("Continue with Pro", "Free", "Stop paying"), "?X0,X1,X2", "own-words"),
        ("How does it look?", ("Approve the plan", "Reject the plan", "Edit"), "X0", "X1"),
        ("Allow it?", ("Allow once", "Allow for good", "Deny"), "?X0,X1,X2", "X2"),
        ("Keep the data?", ("Delete it", "Keep for 30 days", "Hide it"), "?X0,X1,X2", "own-words"),
    ],
)
def test_yes_and_no_answer_what_was_asked(
    asked: str, labels: tuple[str, ...], yes: str, no: str
) -> None:
    """Where it was asked what to do, yes approves nothing but what is there to approve."""
    choices = (Choice(f"X{at}", label) for at, label in enumerate(labels))
    made = msgspec.structs.replace(question(*choices), text=asked)
    assert (picks("yes", made), picks("no", made)) == (yes, no)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["yes", "sounds good", "Go ahead!", "do it", "ok, go", "👍"])
def test_a_yes_picks_among_yes_and_no_or_what_is_recommended(text: str, mode: Mode) -> None:
    """Among options that are neither, and where several or none is recommended, it is asked."""
    north, south = Choice("N", "North lot"), Choice("S", "South lot")
    best = msgspec.structs.replace(south, recommended=True)
    assert picks(text, APPROVAL, mode) == "APR"
    assert picks(text, question(north, south), mode) == "?N,S"
    assert picks(text, question(north, best), mode) == "S"
    both = (msgspec.structs.replace(north, recommended=True), best)
    assert picks(text, question(*both), mode) == "?N,S"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ahead", ["Proceed to 3: Test", "Finish"])
@pytest.mark.parametrize("text", ["go", "Go!", "yes", "go on", "go ahead", "let's go", "ok"])
def test_an_affirmative_never_moves_back(text: str, ahead: str, mode: Mode) -> None:
    """At a gate it proceeds."""
    gate = question(
        Choice("PRC", ahead, "Finish this phase and begin that one"),
        Choice("WLK", "Walk through the output", "Review each piece of work"),
        Choice("BAK", "Go back to 1: Plan", "Resume the work of that phase"),
        named=(Choice("OTH/RST", "Restart this phase"), Choice("OTH/SKP", "Skip ahead to 4")),
        menu=True,
    )
    assert picks(text, gate, mode) == "PRC"
    assert picks("go back", gate, mode) == "BAK"


INSIDE = question(
    Choice("CHG", "Change approach"),
    Choice("REM", "Remove from plan"),
    above=(Choice(BACK, "Back"), Choice("<OK", "Looks good"), Choice("<<REM", "Remarks")),
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("back", "<"),
        ("Back.", "<"),
        ("<", "<"),
        ("ok", "<OK"),
        ("looks good", "<OK"),
        ("rem", "REM"),
        ("remarks", "<<REM"),
        ("change approach", "CHG"),
        ("something else", "own-words"),
    ],
)
def test_the_levels_above_are_named_after_the_level_itself(
    text: str, expected: str, mode: Mode
) -> None:
    """`back` and `<` lead one level up, labels and codes to the level that has them."""
    assert picks(text, INSIDE, mode) == expected


@pytest.mark.parametrize("mode", MODES)
def test_a_way_up_is_no_answer_where_nothing_lies_above(mode: Mode) -> None:
    """`<` is left to the flow, which refuses it; it is never kept as somebody's words."""
    assert picks("<", PLAN, mode) == BACK
    assert picks("back", PLAN, mode) == "own-words"


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        ("purge but keep the last two years", "Purge old logs|Archive them", "own-words"),
        ("send it, without the attachment", "Send it|Edit first", "own-words"),
        ("just one, please", "English|German", "own-words"),
        ("no tests, i'll rewrite it", "Property tests|Example tests|Fuzzing", "own-words"),
        ("fine", "Rename it|Explain it|Do it later", "?X0,X1,X2"),
        ("something like requests", "Requests|httpx", "own-words"),
        ("send me the report", "Send a partial report|Offer a call", "own-words"),
        ("restart it now", "Restart nightly|Profile it", "own-words"),
        ("park it", "In the park|Video call", "own-words"),
    ],
)
def test_every_word_has_to_be_accounted_for(text: str, asked: str, expected: str) -> None:
    """A limit, somebody, a time or a comparison that no option has makes it the person's own."""
    choices = (Choice(f"X{at}", label) for at, label in enumerate(asked.split("|")))
    assert picks(text, question(*choices)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("the one with the photo", "?X0,X2"), ("photo", "?X0,X2"), ("full screen", "X2")],
)
def test_whoever_else_accounts_for_the_words_is_asked_about(text: str, expected: str) -> None:
    """A label is no stronger than the description of another option that has the same words."""
    asked = question(
        Choice("X0", "Picture on the side", "A large photo beside the form"),
        Choice("X1", "Centred card", "One box in the middle"),
        Choice("X2", "Full screen photo", "The form floats over it"),
    )
    assert picks(text, asked) == expected


@pytest.mark.parametrize("mode", MODES)
def test_codes_in_brackets_are_added_and_forced(mode: Mode) -> None:
    """`+[DOC]` and `![TAG]` are `+DOC` and `!TAG`."""
    for text, prefix, argument in (
        ("+[DOC]", "add", "DOC"),
        ("+[TST] [DOC]", "add", "TST DOC"),
        ("![TAG]", "force", "TAG"),
        ("![NO]/[RWK]", "force", "NO/RWK"),
    ):
        found = read(text, CHORES, mode)
        assert (found.prefix, found.argument) == (prefix, argument)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["done", "Done.", "that's all", "That’s it!", "nothing else"])
def test_done_ends_the_gathering(text: str, mode: Mode) -> None:
    """What was gathered is the answer; where nothing was, they are words like any other."""
    gathered = msgspec.structs.replace(CHORES, gathered=("DOC", "TST", "OTH"))
    assert picks(text, gathered, mode) == "DOC,TST,OTH"
    assert picks(text, CHORES, mode) == "own-words"


PHASES = question(
    Choice("UP", "Move up to phase 3", "The build begins"),
    Choice("GO", "Let it run another week", "More data"),
    Choice("END", "Stop the experiment", "Write the report"),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("up", "UP"),
        ("[UP]", "UP"),
        ("let's do UP", "UP"),
        ("i would take [GO]", "GO"),
        ("i give up", "own-words"),
        ("I GIVE UP", "own-words"),
        ("go up to the office", "own-words"),
        ("go, what a week", "own-words"),
        ("so up", "own-words"),
        ("then up", "own-words"),
        ("so UP", "UP"),
    ],
)
def test_a_code_that_is_an_everyday_word_counts_alone_or_marked(text: str, expected: str) -> None:
    """Among other words it has to stand in capitals, where not all do, or in brackets."""
    assert picks(text, PHASES) == expected


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        ("3", PHASES, "?UP,END"),
        ("option 3", PHASES, "END"),
        ("all but the docs", CHORES, "?TST,CHL,TAG"),
        ("deploy now but only to half of them", DEPLOY, "own-words"),
        ("deploy now, but not before noon", DEPLOY, "own-words"),
        ("approve, but without the tests", APPROVAL, "own-words"),
        ("deploy now, wait for the rest", DEPLOY, "?DEP,WAIT"),
        ("deploy now, wait until monday", DEPLOY, "?DEP,WAIT"),
        ("approve this one, reject the other", APPROVAL, "?APR,REJ"),
        ("defer it, then reject it", APPROVAL, "own-words"),
        ("deploy now, staging only made us lose time", DEPLOY, "?DEP,STG"),
        ("Tom prefers staging, I'd say deploy now", DEPLOY, "?DEP,STG"),
        ("neither approve nor defer", APPROVAL, "?REJ"),
        ("approve. I won't reject work like this", APPROVAL, "?APR"),
        ("run the tests. not the docs", CHORES, "?TST"),
        ("1 2 3, no not 3", CHORES, "TST,DOC"),
    ],
)
def test_what_names_more_than_one_option_is_never_a_plain_pick(
    text: str, asked: Question, expected: str
) -> None:
    """All but something, a but with a limit, clauses that differ, and a number that a label has."""
    assert picks(text, asked) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes, later", "?YES,LAT"),
        ("later, yes", "?YES,LAT"),
        ("no, later", "?NO,LAT"),
        ("later", "LAT"),
        ("yes, merge it", "YES"),
        ("no, close it", "NO"),
    ],
)
def test_a_yes_or_no_that_is_an_option_is_named_beside_another(text: str, expected: str) -> None:
    """Clauses that name different options are never a plain pick."""
    labels = "Yes, merge it", "No, close it", "Later this week"
    assert picks(text, question(*map(Choice, ("YES", "NO", "LAT"), labels))) == expected


STORES = question(
    Choice("RED", "Redis", "Used for the queues that we already run"),
    Choice("MEM", "Memcached", "Low memory"),
    Choice("TAB", "Keep a table", "Lowest memory of all"),
)


@pytest.mark.parametrize(
    "text",
    [
        "redis, or valkey",
        "redis or so",
        "redis, though I'd prefer valkey",
        "redis but cheap",
        "redis but keep the old one as fallback",
        "redis, pending a review",
        "redis, for the sessions only",
        "redis (not the hosted one)",
        "redis, let me check with ops",
        "all but redis/1.x",
        "redis, but version 8 or newer",
        "redis, but admins are exempt",
        "redis, capped at 2 GB",
        "1, no 2",
        "redis or valkey",
        "redis-cluster would be better",
        "only the queues",
    ],
)
def test_what_narrows_a_choice_or_opposes_it_is_no_remark(text: str) -> None:
    """A contrast, a part of it, something else instead or a delay makes it their own words."""
    assert picks(text, STORES) in {"own-words", "?MEM,TAB"}


@pytest.mark.parametrize("text", ["redis, but tell ops", "redis but please rename the key"])
def test_a_request_behind_a_choice_is_a_remark(text: str) -> None:
    """It leaves the choice as it is, and reaches whoever asked."""
    found = read(text, STORES)
    assert (found.codes, bool(found.comment)) == (("RED",), True)


def test_some_of_several_are_not_all_of_them() -> None:
    """Also where several may be chosen; and what is told by a part of names fits all with it."""
    labels = ("Open redirect", "Weak password", "Old TLS")
    levels = ("Rated medium", "Rated low", "Rated medium")
    found = [
        Choice(label[:3].upper(), label, level) for label, level in zip(labels, levels, strict=True)
    ]
    assert picks("one of the medium ones", question(*found, multi=True)) == "?OPE,OLD"
    named = question(Choice("TF", "taskflow"), Choice("FT", "flowtask"), Choice("QL", "queuely"))
    assert picks("the one with flow in it", named) == "?TF,FT"


@pytest.mark.parametrize("text", ["redis won't do", "redis 👎", "redis no", "redis, hell no"])
def test_a_no_behind_a_name_denies_it(text: str) -> None:
    """What stands before a no is not chosen."""
    assert read(text, STORES).kind != "pick"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rejected it, looks good", "own-words"),
        ("you reject it", "own-words"),
        ("rejected", "REJ"),
        ("it should be like reject", "own-words"),
        ("-1", "own-words"),
        ("1st draft", "own-words"),
        ("the 1st", "APR"),
    ],
)
def test_what_somebody_did_or_counts_is_no_choice(text: str, expected: str) -> None:
    """A deed that is done or somebody else's, a vote against and a numbered thing pick nothing."""
    assert picks(text, APPROVAL) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("we already run it", "?RED"), ("low memory", "?MEM,TAB"), ("keep it", "?TAB")],
)
def test_a_statement_a_comparison_and_another_object_are_asked_about(
    text: str, expected: str
) -> None:
    """Words of a description say something about an option before they choose it."""
    assert picks(text, STORES) == expected


START = question(
    Choice("YES", "Yes, start", "Work begins at once"),
    Choice("NO", "No, wait", "Nothing happens until you say so"),
    Choice("CHG", "Change the plan", "Legal asked for it, and we go through it again"),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the plan is fine", "own-words"),
        ("I changed the plan", "own-words"),
        ("ask legal", "?CHG"),
        ("again", "?CHG"),
        ("yes wait", "own-words"),
        ("no yeah", "own-words"),
        ("nope, go ahead without me", "own-words"),
    ],
)
def test_what_it_is_about_and_both_senses_at_once_choose_nothing(text: str, expected: str) -> None:
    """What the question is about is no choice of a deed, nor is a yes with a no."""
    asked = msgspec.structs.replace(START, text="The plan is ready. Shall I start?")
    assert picks(text, asked) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["recommended", "the recommended one", "Use the recommended."])
def test_the_recommended_one_is_the_option_that_is_marked_so(text: str, mode: Mode) -> None:
    """Of several it is asked about, with none it is own words, and a label's own word is that."""
    yes, no = Choice("YES", "Yes"), Choice("NO", "No", recommended=True)
    best = msgspec.structs.replace(yes, recommended=True)
    assert picks(text, question(yes, no), mode) == "NO"
    assert picks(text, question(best, no), mode) == "?YES,NO"
    assert picks(text, APPROVAL, mode) == "own-words"
    assert picks(text, question(Choice("R", "Recommended values"), no), mode) != "NO"
    assert picks(f"not {text}", question(yes, no), mode) == "own-words"


def test_what_is_marked_as_recommended_is_what_a_yes_takes() -> None:
    """The mark behind a label is no part of it, and may be typed with it."""
    options = [{"code": "REB", "label": "Rebase (recommended)"}, {"code": "MRG", "label": "Merge"}]
    asked = question_from_options("How do we go on?", options)
    assert [picks(text, asked) for text in ("do it", "rebase (recommended)")] == ["REB", "REB"]


@pytest.mark.parametrize("text", ["OK, but just the first half", "OK but at most two files"])
def test_a_limit_is_no_remark(text: str) -> None:
    """The strict reader too takes a but with a limit as own words."""
    assert picks(text, PLAN, "strict") == "own-words"


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("should we deploy now?", "DEP", "it asks something"),
        ("what would staging cost", "STG", "it asks something"),
        ("production？", "DEP", "it asks something"),
        ("go live if the tests are green", "DEP", "it sets a condition"),
        ("unless finance objects, out with it", "DEP", "it sets a condition"),
        ("let it rest, but only until tuesday", "WAIT", "it sets a condition"),
        ("i really don't think we should deploy now", "DEP", "it rules that option out"),
        ("anything but staging", "STG", "it rules that option out"),
        ("anything but staging", "WAIT", None),
        ("out with it, this minute", "DEP", None),
    ],
)
def test_what_is_excluded_conditional_or_asked_is_not_proposed(
    text: str, code: str, reason: str | None
) -> None:
    """A proposal of what words mean is held against what they say."""
    assert Sentences(text, DEPLOY).find_veto(code) == reason


def test_a_code_that_says_no_is_an_answer_of_its_own() -> None:
    """`no` is the option of that code, unless another one is named behind it."""
    asked = question(Choice("YES", "Approve"), Choice("EDIT", "Edit it"), Choice("NO", "Reject"))
    assert picks("no", asked) == "NO"
    assert picks("no, too many files", asked) == "NO"
    assert picks("no, edit it", asked) == "EDIT"
    assert picks("no let me edit", asked) == "EDIT"
    assert picks("approve, edit it", asked) == "?YES,EDIT"


def test_the_object_of_an_undoing_does_not_name_it() -> None:
    """The account alone is not "Cancel the account"."""
    asked = question(Choice("UP", "Upgrade"), Choice("END", "Cancel the account"))
    assert picks("keep the account", asked) == "own-words"
    assert picks("cancel it", asked) == "END"


def test_an_exact_answer_leaves_rapidfuzz_alone() -> None:
    """The typo library is loaded only when nothing fits exactly."""
    program = (
        "import sys\n"
        "from quandary.model.asks import question_from_options as q\n"
        "from quandary.reading import read\n"
        "options = [{'code': 'OK', 'label': 'Looks good'}, {'code': 'NO', 'label': 'Rework'}]\n"
        "asked = q('?', options)\n"
        "for text in ('OK', 'looks good', 'rework', '?', ''):\n"
        "    read(text, asked), read(text, asked, 'strict')\n"
        "for text in ('2', 'the second one', 'yes'):\n"
        "    read(text, asked)\n"
        "print(*sorted(name for name in sys.modules if name.startswith('rapidfuzz')))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert run.stdout.strip() == b""


def test_an_exact_answer_loads_no_lists_of_words() -> None:
    """A code or a label needs nothing of what plain replies are held against."""
    program = (
        "import sys\n"
        "from quandary.model.asks import question_from_options as q\n"
        "from quandary.reading import read\n"
        "options = [{'code': 'OK', 'label': 'Looks good'}, {'code': 'NO', 'label': 'Rework'}]\n"
        "for text in ('OK', 'no', 'looks good', 'Rework.', '?', '', '!OK', 'Q: why'):\n"
        "    read(text, q('?', options)), read(text, q('?', options), 'strict')\n"
        "spare = ('phrases', 'sentences', 'lexicon')\n"
        "loaded = [name for name in spare if 'quandary.reading.' + name in sys.modules]\n"
        "print(*loaded, *(name for name in ('unicodedata',) if name in sys.modules))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert run.stdout.strip() == b""


@pytest.mark.parametrize(
    ("labels", "text", "expected"),
    [
        (("Go to phase 3", "Go back to phase 1", "Stop"), "phase 3", "X0"),
        (("Go to phase 3", "Go back to phase 1", "Stop"), "phase 2", "own-words"),
        (("2,000 an hour", "5,000 an hour", "No limit"), "5k", "X1"),
        (("2,000 an hour", "5,000 an hour", "No limit"), "unlimited", "X2"),
        (("2,000 an hour", "5,000 an hour", "No limit"), "3000", "own-words"),
        (("3.0.0", "2.5.0", "2.4.1"), "v2.5", "X1"),
        (("3.0.0", "2.5.0", "2.4.1"), "2.6", "own-words"),
        (("Sat 12 April", "Sun 13 April", "Sat 19 April"), "saturday", "?X0,X2"),
        (("Sat 12 April", "Sun 13 April", "Sat 19 April"), "the second saturday", "own-words"),
        (("Sat 12 April", "Sun 13 April", "Sat 19 April"), "the 13th", "X1"),
        (("At 9:00", "At 14:30", "Tonight at 2 am"), "2am", "X2"),
        (("At 9:00", "At 14:30", "Tonight at 2 am"), "at 9", "X0"),
        (("5 %", "10 %", "None"), "10 percent", "X1"),
        (("9 €", "12 €", "15 €"), "12 euros", "X1"),
        (("Two", "Three", "Five"), "three", "X1"),
        (("Two", "Three", "Five"), "3", "?X1,X2"),
        (("Two", "Three", "Five"), "four", "own-words"),
        (("3 nodes", "6 nodes", "12 nodes"), "3 or 6", "?X0,X1"),
        (("alpine:3.20", "debian:12"), "alpine:3.19", "own-words"),
    ],
)
def test_numbers_that_labels_have(labels: tuple[str, ...], text: str, expected: str) -> None:
    """Versions, dates, sizes and prices are read as they are written, or as people say them."""
    choices = (Choice(f"X{at}", label) for at, label in enumerate(labels))
    assert picks(text, question(*choices)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dont deploy now", "?LATER,NO"),
        ("don't deploy", "NO"),
        ("we won't deploy", "NO"),
        ("that won't work", "own-words"),
        ("any time but now", "?LATER,NO"),
        ("now, ping me if it breaks", "own-words"),
        ("now, if it is green", "own-words"),
        ("if it is green, now", "own-words"),
        ("now, unless somebody objects", "own-words"),
        ("tell me about later", "own-words"),
    ],
)
def test_what_is_denied_and_what_it_hangs_on(text: str, expected: str) -> None:
    """A "not" reaches what it stands before, and a condition is never left out."""
    asked = question(
        Choice("NOW", "Deploy now", "It rolls out at once"),
        Choice("LATER", "Deploy later", "When the day is over"),
        Choice("NO", "Do not deploy", "All stays as it is"),
    )
    assert picks(text, asked) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("not the docs, all the rest", "?TST,CHL,TAG"),
        ("first two and the last", "TST,DOC,TAG"),
        ("both changelogs", "CHL,TAG"),
        ("no docs no tests", "?CHL,TAG"),
    ],
)
def test_several_are_told_by_what_they_share(text: str, expected: str) -> None:
    """The rest, both and the first two are counted out among the options."""
    assert picks(text, CHORES) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("unit", ["x ", "deploy ", "1,", "(", "not ", "a", "or ", "\n", "?!", "é"])
def test_a_megabyte_is_read_at_once(unit: str, mode: Mode) -> None:
    """Only the beginning of a reply can name an option, however long it is."""
    text = unit * (1_000_000 // len(unit))
    begun = time.process_time()
    read(text, CHORES, mode)
    assert time.process_time() - begun < 2


def test_a_question_is_made_of_plain_options() -> None:
    """The options of a case become choices, whatever they leave out."""
    asked = question_from_options("Which?", [{"code": "A"}, {"label": "Bee"}, {}], multi=True)
    assert [(c.code, c.label) for c in asked.choices] == [("A", "A"), ("Bee", "Bee"), ("3", "")]
    assert asked.multi


def test_the_labelled_replies_are_read_right(capsys: pytest.CaptureFixture[str]) -> None:
    """No wrong pick, neither of another option nor where there is none; 96.6 % right."""
    right: Counter[str] = Counter()
    count: Counter[str] = Counter()
    wrong: list[str] = []
    cases = [json.loads(line) for line in REPLIES.read_text("utf-8").splitlines()]
    for case in cases:
        asked = question_from_options(case["question"], case["options"], case["multi"])
        found = read(case["reply"], asked, case["mode"])
        expected = case["expected"]
        count[case["class"]] += 1
        fits = {"kind": found.kind, "codes": [*found.codes]} == expected
        right[case["class"]] += fits
        if found.kind == "pick" and not fits:
            wrong.append(case["id"])
    with capsys.disabled():
        print()
        for name in sorted(count):
            print(f"  {name:18}{right[name]:4} of {count[name]:4}")
    judged = count.total() - count["synonym"]
    assert len(cases) >= 400
    assert len({json.dumps(case["options"]) for case in cases}) >= 40
    assert wrong == []
    assert (right.total() - right["synonym"]) / judged >= 0.96


def test_codes_in_capitals_are_joined_by_blanks_where_several_can_be_chosen() -> None:
    """Also those that are everyday words; what is in other letters has to be joined."""
    options = [{"code": "GO", "label": "Go now"}, {"code": "STG", "label": "Staging first"}]
    several = question_from_options("Which?", options, multi=True)
    assert read("STG GO", several).codes == ("GO", "STG")
    assert read("GO STG", question_from_options("Which?", options)).codes != ("GO", "STG")


def test_a_code_that_is_short_for_its_label_is_no_answer() -> None:
    """The NO of North orchard counts alone, in brackets or in capitals; `nope` does not say it."""
    options = [{"code": "NO", "label": "North orchard"}, {"code": "SO", "label": "South orchard"}]
    asked = question_from_options(
        "Where do the bees go?", [*options, {"code": "EO", "label": "East"}]
    )
    for reply in ("no", "[NO]", "NO please"):
        assert read(reply, asked).codes == ("NO",)
    for reply in ("nope", "never", "no way", "no, somewhere dry"):
        assert read(reply, asked).kind == "own-words"
    options = [{"code": "YES", "label": "Sign it"}, {"code": "NO", "label": "Not yet"}]
    assert read("nope", question_from_options("Shall we?", options)).codes == ("NO",)


def test_everyone_and_a_yes_are_accounted_for() -> None:
    """`rehearse everyone` is not one voice, and `take it` not what a description opens with."""
    options = [
        {"code": "ALT", "label": "Rehearse the altos alone", "description": "An extra evening"},
        {"code": "CAN", "label": "Consult the cantor", "description": "About the pitch"},
        {"code": "OFF", "label": "Drop the piece", "description": "Take it off the programme"},
    ]
    asked = question_from_options("The altos lost the pitch. What next?", options)
    for reply in ("rehearse everyone", "consult everybody", "drop everyone"):
        assert read(reply, asked).kind == "own-words"
    assert read("the altos for everyone", asked).codes == ("ALT",)
    assert read("take it", asked).kind == "ambiguous"
    assert read("take it off", asked).codes == ("OFF",)


@pytest.mark.parametrize("mode", ["strict", "plain"])
def test_a_number_without_its_unit_begins_a_label(mode: Mode) -> None:
    """`sail at 9` is a beginning in whole words; what two labels begin with is asked about."""
    labels = {"EVE": "Sail at 9 pm", "FARE": "Raise the fare by 10 %"}
    options = [{"code": code, "label": label} for code, label in labels.items()]
    asked = question_from_options("How do we leave?", options)
    assert read("sail at 9", asked, mode).codes == ("EVE",)
    assert read("raise the fare by 10", asked, mode).codes == ("FARE",)
    for reply in ("raise the fare by 1", "sail at 90"):
        assert read(reply, asked, mode).kind == "own-words"
    options.append({"code": "DAWN", "label": "Sail at 9 am"})
    asked = question_from_options("How do we leave?", options)
    assert read("sail at 9", asked, mode).codes == ("EVE", "DAWN")


@pytest.mark.parametrize("number", ["٢", "۲", "२", "２", "#٢"])
def test_a_number_is_one_in_any_script(number: str) -> None:
    """Whoever types the digits of their own keyboard names a choice as well."""
    assert read(number, PLAN).codes == ("INF",)


def test_what_is_to_be_done_otherwise_is_another_option() -> None:
    """Two ways out in a row are no choice of the last one."""
    options = [{"code": "YR", "label": "One year"}, {"code": "NEG", "label": "Negotiate first"}]
    asked = question_from_options("How do we renew?", options)
    assert read("first negotiate, otherwise one year", asked).kind != "pick"


@pytest.mark.parametrize(
    ("file", "share"),
    [("unseen.jsonl", 0.94), ("blind.jsonl", 0.71), ("hard.jsonl", 0.92), ("typed.jsonl", 0.97)],
)
def test_replies_that_no_rule_was_made_for_are_read_safely(file: str, share: float) -> None:
    """None is a wrong pick; what is not read right is asked about, or kept as own words."""
    lines = REPLIES.with_name(file).read_text("utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    right, wrong = 0, []
    for case in cases:
        asked = question_from_options(case["question"], case["options"], case["multi"])
        found = read(case["reply"], asked, case["mode"])
        meant = [case["expected"], *case.get("also", [])]
        if {"kind": found.kind, "codes": [*found.codes]} in meant:
            right += 1
        elif found.kind == "pick":
            wrong.append(case["id"])
    assert wrong == []
    assert right / len(cases) >= share


BUMP = question_from_options(
    "What kind of release is it?",
    [
        {"code": "MAJ", "label": "Major (4.0.0)"},
        {"code": "MIN", "label": "Minor (3.5.0)"},
        {"code": "PAT", "label": "Patch (3.4.2)"},
        {"code": "WAIT", "label": "Wait for Tuesday"},
        {"code": "OFF", "label": "Off"},
        {"code": "WLK", "label": "Walk through"},
        {"code": "SQ", "label": "Squash and merge"},
        {"code": "SEP", "label": "Separate pull request"},
        {"code": "TAB", "label": "Plain tables with an audit log"},
        {"code": "MAIL", "label": "E-mail addresses"},
        {"code": "LET", "label": "Let me edit"},
    ],
)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("it's a patch", "PAT"),
        ("major release", "MAJ"),
        ("minor bump", "MIN"),
        ("3.5.0", "MIN"),
        ("3.5.1", "own-words"),
    ],
)
def test_what_a_label_adds_in_brackets_need_not_be_said(text: str, read_as: str) -> None:
    """`Patch (3.4.2)` is all said with `patch`."""
    assert picks(text, BUMP) == read_as


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("let's wait until tuesday", "WAIT"),
        ("wait until wednesday", "own-words"),
        ("keep it off", "OFF"),
        ("make it off, please", "OFF"),
        ("keep it for now", "own-words"),
        ("walk me through", "WLK"),
        ("do a squash", "SQ"),
        ("let me edit it", "LET"),
        ("emails", "MAIL"),
    ],
)
def test_a_label_is_known_by_its_words_in_their_usual_turns(text: str, read_as: str) -> None:
    """Small words between those of a label say nothing else."""
    assert picks(text, BUMP) == read_as


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("separate pr please", "SEP"),
        ("plain tables w/o audit log", "own-words"),
        ("tables, aber ohne log", "own-words"),
        ("squash und tables", "?SQ,TAB"),
    ],
)
def test_short_forms_and_small_words_of_other_languages_count(text: str, read_as: str) -> None:
    """`pr` is a pull request where one is offered, and `ohne` leaves out as `without` does."""
    assert picks(text, BUMP) == read_as


@pytest.mark.parametrize("mode", MODES)
def test_a_small_word_that_turns_a_label_round_is_no_slip(mode: Mode) -> None:
    """`scale up` is not `Scale down`, and `turn on` is not `Turn off`."""
    labels = {
        "SCL": "Scale down the workers",
        "OFF": "Turn off the cache",
        "CSV": "Import from CSV",
    }
    options = [{"code": code, "label": label} for code, label in labels.items()]
    asked = question_from_options("What shall I do?", options)
    turned = ("scale up the workers", "turn on the cache", "to csv", "turn the cache on")
    for reply in (*turned, "import into csv", "turn two cache", "turn some cache"):
        assert read(reply, asked, mode).kind == "own-words"
    assert read("turn of the cache", asked, mode).codes == ("OFF",)


FIELDS = question_from_options(
    "Three fields are not validated. What now?",
    [
        {"code": "ADD", "label": "Add validation"},
        {"code": "SCL", "label": "Add two consumers", "description": "With a ticket"},
        {"code": "FIX", "label": "Fix them", "description": "With a new test"},
    ],
)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("add validation to the first one", "own-words"),
        ("consumers are fine, it's the db", "own-words"),
        ("fix them and open a ticket", "FIX"),
        ("fix them, but log who asked", "FIX"),
    ],
)
def test_a_part_of_what_is_asked_about_is_no_choice_and_a_task_is_a_remark(
    text: str, read_as: str
) -> None:
    """`to the first one` limits what was named; `and open a ticket` is one more task."""
    assert picks(text, FIELDS) == read_as


SUITES = question_from_options(
    "The suites are slow. What now?",
    [
        {"code": "SKIP", "label": "Skip the suites"},
        {"code": "ADD", "label": "Add two more runners"},
        {"code": "VAL", "label": "Validate the results"},
        {"code": "ENC", "label": "In an encrypted archive"},
        {"code": "SYN", "label": "Sync from staging"},
    ],
)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("skip one", "own-words"),
        ("skip some", "own-words"),
        ("skip two suites", "own-words"),
        ("validate the results in some", "own-words"),
        ("validate the results", "VAL"),
        ("in an unencrypted archive", "own-words"),
        ("sync into staging", "own-words"),
        ("runners are fine", "?ADD"),
        ("adding runners is fine", "ADD"),
    ],
)
def test_a_part_a_turn_and_a_state_of_what_is_offered_are_no_choice(
    text: str, read_as: str
) -> None:
    """`skip one` is not all of them, and `runners are fine` wants no more of them."""
    assert picks(text, SUITES) == read_as


RELEASE = question_from_options(
    "The release build is ready. What now?",
    [
        {"code": "DEP", "label": "Deploy to production"},
        {"code": "STG", "label": "Deploy to staging"},
        {"code": "HOLD", "label": "Hold it back"},
        {"code": "FIX", "label": "Fix the changelog"},
    ],
)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("it's friday, hold it back", "HOLD"),
        ("the customers are asleep. deploy to production", "DEP"),
        ("nobody is in the office so deploy to staging", "STG"),
        ("i'm in a hurry so only staging", "STG"),
        ("too risky, take staging", "STG"),
        ("i need to see the diff, deploy to staging", "own-words"),
        ("run the tests, deploy to production", "own-words"),
        ("it's the footer, fix that", "own-words"),
        ("production is down so hold it back", "?DEP,HOLD"),
        ("so far so good", "own-words"),
    ],
)
def test_a_reason_may_stand_before_the_choice(text: str, read_as: str) -> None:
    """How things are is a remark; a wish, a task or another option before a choice is none."""
    assert picks(text, RELEASE) == read_as


def test_so_opens_a_reason_unless_it_grades() -> None:
    """`so qa can try it` says why; `so broken` says how much, and `so only half` limits."""
    found = read("staging so qa can try it", RELEASE)
    assert (found.codes, found.comment) == (("STG",), "so qa can try it")
    assert picks("it's so broken, hold it back", RELEASE) == "HOLD"
    assert picks("staging so only if it is green", RELEASE) == "own-words"


def test_a_task_behind_an_and_is_a_remark() -> None:
    """`2 and add a test` is the second, however it is named; another option behind it is not."""
    found = read("staging and notify support", RELEASE)
    assert (found.codes, found.comment) == (("STG",), "notify support")
    assert picks("2 and add a note", RELEASE) == "STG"
    assert picks("staging and fix the changelog", RELEASE) != "STG"
    assert picks("staging and the wiki", RELEASE) == "own-words"


def test_go_ahead_may_stand_before_a_name() -> None:
    """`go ahead with` and `go ahead and` say nothing about which."""
    assert picks("go ahead with staging", RELEASE) == "STG"
    assert picks("go ahead and hold it back", RELEASE) == "HOLD"
    assert picks("go ahead and ask bob", RELEASE) == "own-words"


def test_what_the_question_is_about_tells_no_option() -> None:
    """`keep the commits` fits both that keep them, though one label has the word "commit"."""
    asked = question_from_options(
        "Shall I squash the commits before merging?",
        [
            {"code": "SQ", "label": "Squash", "description": "One commit"},
            {"code": "RB", "label": "Rebase", "description": "Keep them, linear"},
            {"code": "MG", "label": "Merge commit", "description": "Keep them with a merge commit"},
        ],
    )
    assert picks("please keep the commits", asked) == "?RB,MG"


def test_a_name_with_a_hyphen_is_none_with_another_part() -> None:
    """`us-west-1` is no `eu-west-1`, though "us" is also a word that says little."""
    labels = {"EU1": "eu-west-1", "EU2": "eu-central-1", "US1": "us-east-1"}
    options = [{"code": code, "label": label} for code, label in labels.items()]
    asked = question_from_options("Which region?", options)
    assert picks("us-west-1", asked) == "own-words"
    assert picks("us-east", asked) == "US1"


def test_a_version_may_lack_its_last_zero() -> None:
    """`apache 2` is the Apache License 2.0; a number alone is still a place."""
    labels = {"MIT": "MIT License", "GPL": "GNU GPL v3", "APA": "Apache License 2.0"}
    options = [{"code": code, "label": label} for code, label in labels.items()]
    asked = question_from_options("Which license?", options)
    assert picks("apache 2", asked) == "APA"
    assert picks("2", asked) == "GPL"


def test_a_verb_of_the_question_may_open_a_label() -> None:
    """`drop it` names what is called so, also where the question has the word."""
    labels = {"KEEP": "Keep the billing module", "DROP": "Drop the billing module"}
    options = [{"code": code, "label": label} for code, label in labels.items()]
    asked = question_from_options("Keep or drop the billing module?", options)
    assert picks("drop it", asked) == "DROP"
    assert picks("drop the module", asked) == "DROP"


@pytest.mark.parametrize(
    "text", ["go with your recommendation", "what you recommend", "I'd take the recommended one"]
)
def test_the_recommended_option_is_named_as_such(text: str) -> None:
    """Where just one is recommended, in any wording; where none is, nothing is picked."""
    options = [{"code": "CH", "label": "ClickHouse (Recommended)"}, {"code": "PG", "label": "PG"}]
    assert picks(text, question_from_options("Which database?", options)) == "CH"
    assert read(text, RELEASE).kind != "pick"
    assert picks(f"not {text}", question_from_options("Which database?", options)) != "CH"


def test_only_what_was_named_is_asked_about() -> None:
    """An option that only shares its verb with one that was named in full is no candidate."""
    assert picks("bob said deploy to production, i say hold it back", RELEASE) == "?DEP,HOLD"


LABELS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=20
)
PLAIN_LABELS = st.lists(
    st.text("bcdfghjklmpqrtvwxz", min_size=3, max_size=9), min_size=1, max_size=3
).map(" ".join)


@st.composite
def questions(draw: st.DrawFn, labels: st.SearchStrategy[str] = LABELS) -> Question:
    """Any question, with or without extras, a menu, further pages and keywords."""
    names = draw(st.lists(labels, min_size=1, max_size=6, unique_by=fold))
    choices = [
        Choice(f"Z{chr(65 + at)}X", name, draw(st.one_of(st.just(""), labels)))
        for at, name in enumerate(names)
    ]
    shown = draw(st.integers(1, len(choices)))
    more = (Choice(MORE, "More…"),) if shown < len(choices) else ()
    return question(
        *choices[:shown],
        *more,
        named=tuple(choices[shown:]),
        multi=draw(st.booleans()),
        menu=draw(st.booleans()),
        extras=draw(st.sampled_from(((), PLAN.extras))),
        keywords=draw(st.sampled_from(({}, PLAN.keywords))),
    )


TURNS = """not the second 2 1-3 or and , . … ? actually wait no yes all but except first last
deploy maybe because 99 #2 +ZAX zax zbx both neither nor of them to / & one"""
SAID = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(TURNS.split()), max_size=12).map(" ".join),
)


@given(SAID, questions(), st.sampled_from(MODES))
def test_any_text_is_read_the_same_way_each_time(text: str, asked: Question, mode: Mode) -> None:
    """Reading never fails, is deterministic, and names only what the question offers."""
    found = read(text, asked, mode)
    assert found == read(text, asked, mode)
    assert {*found.codes} <= {option.code for option in asked.options} | {MORE, BACK}
    assert (found.kind == "pick") <= bool(found.codes)
    assert (found.kind == "ambiguous") <= bool(found.codes)
    assert (found.kind == "pick" and len(found.codes) > 1) <= asked.multi


@given(questions(), st.data(), st.sampled_from(MODES))
def test_a_code_in_any_case_is_its_option(asked: Question, data: st.DataObject, mode: Mode) -> None:
    """A code is read in any case and with punctuation around it."""
    option = data.draw(st.sampled_from(asked.options))
    typed = data.draw(st.sampled_from([option.code, option.code.lower(), f" {option.code}. "]))
    assert picks(typed, asked, mode) == option.code


@given(questions(PLAIN_LABELS), st.data(), st.sampled_from(MODES))
def test_a_whole_label_is_its_option(asked: Question, data: st.DataObject, mode: Mode) -> None:
    """A label typed whole, in any case, names its option where labels differ."""
    option = data.draw(st.sampled_from(asked.options))
    typed = data.draw(st.sampled_from([option.label, option.label.upper(), f"{option.label}..."]))
    squashed = ["".join(words(other.label)) for other in asked.options]
    if squashed.count("".join(words(option.label))) == 1:
        assert picks(typed, asked, mode) == option.code


@given(questions(PLAIN_LABELS), st.data())
def test_a_number_is_the_choice_that_is_shown_there(asked: Question, data: st.DataObject) -> None:
    """Numbers count the choices as they are shown, whatever else typed text may name."""
    at = data.draw(st.integers(0, len(asked.choices) - 1))
    typed = data.draw(st.sampled_from(["{}", "{}.", "#{}", "option {}", "number {} please"]))
    assert picks(typed.format(at + 1), asked) == asked.choices[at].code


@pytest.mark.parametrize(
    ("text", "comment"),
    [
        ("OK, but rename it", "rename it"),
        ("looks good - please bump the version", "bump the version"),
        ("remove from plan; also tell the author", "tell the author"),
    ],
)
def test_a_remark_behind_a_whole_name_is_a_comment(text: str, comment: str) -> None:
    """The strict reader too lets a pick carry a comment."""
    found = read(text, PLAN, "strict")
    assert (found.kind, found.comment) == ("pick", comment)


@pytest.mark.parametrize("text", ["OK, but only if it is green", "OK, and why?", "OK, but not now"])
def test_a_condition_or_a_question_is_no_remark(text: str) -> None:
    """What takes the pick back, or asks about it, is the person's own words."""
    assert picks(text, PLAN, "strict") == "own-words"


CASES = [json.loads(line) for line in REPLIES.read_text("utf-8").splitlines()]
ASKED = list(
    {
        json.dumps(case["options"]): question_from_options(case["question"], case["options"])
        for case in CASES
        if case["mode"] == "plain"
    }.values()
)
CHOOSING = """{}|{} please|let's go with {}|I think {}|{}, thanks|ok {}|definitely {}|my vote: {}
{} - and let me know when done|{} because it's the simplest|{} sounds good|just {}|{} for now
hmm, {}|i'd say {}|{} it is|{}, and add a test for it|{} works for me|the answer is {}
can we go with {}?"""
ASKING = """{}?|why {}?|what about {}?|maybe {}|not sure about {}|is {} safe?|how long does {} take
what happens if we go with {}|{} if the tests pass|should we go with {}?|{} unless it breaks
would {} be reversible?|who suggested {}?|tell me about {} first"""
RULING_OUT = """not {}|anything but {}|anything except {}|don't go with {}|not {}, please"""


@st.composite
def said_of_an_option(draw: st.DrawFn, frames: str) -> tuple[str, Question, str]:
    """An option of a real question, named in a turn of speech."""
    asked = draw(st.sampled_from(ASKED))
    at = draw(st.integers(0, len(asked.choices) - 1))
    label = asked.choices[at].label
    name = draw(st.sampled_from([label, label.lower(), str(at + 1), f"option {at + 1}"]))
    frame = draw(st.sampled_from(frames.replace("\n", "|").split("|")))
    return frame.format(name), asked, asked.choices[at].code


@given(said_of_an_option(CHOOSING))
def test_what_stands_around_a_name_leads_to_no_other_option(
    said: tuple[str, Question, str],
) -> None:
    """A label or number is read as its option, whatever is said around it, or it is asked about."""
    text, asked, code = said
    found = read(text, asked)
    assert found.kind == "own-words" or code in found.codes


@given(said_of_an_option(ASKING))
def test_to_ask_about_an_option_is_not_to_choose_it(said: tuple[str, Question, str]) -> None:
    """Questions, hedges and conditions pick nothing."""
    text, asked, _ = said
    assert read(text, asked).kind != "pick"


@given(said_of_an_option(RULING_OUT))
def test_what_is_ruled_out_is_not_picked(said: tuple[str, Question, str]) -> None:
    """An option that is not wanted is never the one that is read."""
    text, asked, code = said
    assert code not in read(text, asked).codes


FIVE = {f"E{at}": f"Title {w}" for at, w in enumerate(("alpha", "beta", "gamma"), 1)}
INCLUDE = question(*(Choice(code, label) for code, label in FIVE.items()), multi=True)
PICK = msgspec.structs.replace(INCLUDE, multi=False)


@pytest.mark.parametrize("asked", [INCLUDE, PICK], ids=["several", "one"])
@pytest.mark.parametrize(
    "text",
    [
        *("E1: include\nE2: cut\nE3: defer\nE4: include", "E1: include, E2: cut", "E1: cut"),
        *("E1 ✓ E2 ✗", "1: include, 2: cut", "E1: defer, E2: defer", "E1, E2 -> cut", "E1 → cut"),
        *("E1: in scope, E2: out of scope", "E1: keep, E2: cut", "alpha: drop it", "E1: no"),
        *("E1: too expensive", "E1: it is too expensive", "E1 - cut", "E1 (cut)", "E1. Cut."),
        *("E1: include, E2: leave out", "E1:cut E2:keep", "E1: later", "E1: not in scope"),
    ],
)
def test_what_becomes_of_a_named_option_is_no_remark_on_a_choice_of_it(
    asked: Question, text: str
) -> None:
    """`E1: cut` gives a verdict; whoever does so does not choose what they name."""
    assert read(text, asked).kind == "own-words"


@pytest.mark.parametrize(
    ("text", "comment"),
    [("E1: it is the cheapest", "it is the cheapest"), ("E1: thanks", None), ("choice: E1", None)],
)
def test_how_things_are_is_a_remark_behind_a_colon(text: str, comment: str | None) -> None:
    """It says why, and no more than that."""
    found = read(text, PICK)
    assert (found.codes, found.comment) == (("E1",), comment)


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize("sign", "👎❌✗✘✖🚫⛔☠")
def test_a_sign_that_says_no_picks_nothing(sign: str, mode: Mode) -> None:
    """Unlike other punctuation around a name; one of the label itself says nothing more."""
    for name in ("Deploy now", "DEP"):
        for text in (f"{name} {sign}", f"{name}{sign}", f"{sign} {name}", f"{name}, {sign}"):
            assert read(text, DEPLOY, mode).kind != "pick"
    assert read("Deploy now ✓", DEPLOY, mode).codes == ("DEP",)
    own = question(Choice("BLK", f"{sign} Block it"), Choice("LET", "Let it be"))
    assert read(f"{sign} Block it", own, mode).codes == ("BLK",)


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize("text", ["E1-E3", "E1–E3", "E1…E3", "E1..E3", "E1 - E3", "E1 to E3"])
def test_a_range_of_codes_is_not_its_ends(text: str, mode: Mode) -> None:
    """E2 is meant too, and nothing that was meant is dropped."""
    assert read(text, INCLUDE, mode).kind == "own-words"
    assert read("1-3", INCLUDE).codes == ("E1", "E2", "E3")


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize("code", ["#12", "@db", "+dark", "!important"])
def test_a_code_that_stands_there_goes_before_its_prefix(code: str, mode: Mode) -> None:
    """The numbers of issues are plausible keys; what is no code is still a request."""
    asked = question(Choice(code, "Faster search"), Choice("#18", "Sort"), Choice("E", "Export"))
    assert read(code, asked, mode).codes == (code,)
    several = msgspec.structs.replace(asked, multi=True)
    assert read(f"{code}, #18", several, mode).codes == (code, "#18")
    assert read("#later", asked, mode).prefix == "tag"
    assert read("!E", asked, mode).prefix == "force"


HOSTING = question(
    Choice("STAY", "Stay where we are", "The contract runs for 2 more years"),
    Choice(
        "MOVE", "Move to the new provider", "Takes 1 week, costs 3 days of downtime and 2 people"
    ),
    Choice("OWN", "Run it ourselves", "Needs a new person"),
    named=(Choice("OTH/NOT", "Switch it off", "Saves the money for the new office"),),
    menu=True,
)


@pytest.mark.parametrize(
    "words", ["{}", "{} probably", "{} prolly", "probably {}", "{} whatever", "until {}", "and {}"]
)
@pytest.mark.parametrize(("number", "code"), [("1", "STAY"), ("#2", "MOVE"), ("3", "OWN")])
def test_a_bare_number_is_no_word_of_a_description(words: str, number: str, code: str) -> None:
    """It is a place in the list, or asked about, whatever small word stands beside it."""
    found = read(words.format(number), HOSTING)
    assert found.kind in {"pick", "ambiguous"}
    assert found.codes == (code,)


def test_a_number_with_what_it_counts_is_told_by_a_description() -> None:
    """`3 days` are no place."""
    assert [picks(text, HOSTING) for text in ("3 days", "takes 1 week")] == ["MOVE", "MOVE"]


def test_what_fits_less_well_is_not_asked_about() -> None:
    """`new` alone is said of three; just one has both words side by side."""
    assert picks("new person", HOSTING) == "OWN"
    assert read("new", HOSTING).codes != ("OWN",)


HOSTS = question(
    Choice("ALW", "Allow all hosts", "The port is open to the whole network"),
    Choice("DNY", "Deny all hosts", "Nothing gets in"),
    Choice("LST", "Use a list", "Kept by hand"),
)
GUESTS = question(
    Choice("STF", "The whole staff", "120 people"),
    Choice("MGR", "The managers", "9 people"),
    Choice("CUS", "Our customers", "40 people"),
)
CHECKS = question(
    Choice("LNT", "Lint"),
    Choice("UNT", "Unit tests"),
    Choice("SEC", "Security scan"),
    Choice("EML", "Email digest"),
    multi=True,
)


@pytest.mark.parametrize(
    "text",
    [
        "allow all but 3",
        "allow all but two",
        "deny all hosts except the first",
        "allow all hosts apart from 2",
        "allow all without 3",
        "allow all, except 3",
        "allow all, not 3",
        "allow all - 3",
    ],
)
def test_all_but_some_is_never_a_plain_pick_where_a_label_says_all(text: str) -> None:
    """What is taken out of it is no other option; “rather than” still chooses."""
    assert read(text, HOSTS).kind in {"ambiguous", "own-words"}
    assert picks("allow all rather than 3", HOSTS) == "ALW"


@pytest.mark.parametrize("text", ["all - email", "all -4", "all–email", "all, - email"])
def test_a_minus_behind_all_leaves_something_out(text: str) -> None:
    """What stands behind it is not chosen."""
    assert picks(text, CHECKS) == "?LNT,UNT,SEC"
    assert picks("1-3", CHECKS) == "LNT,UNT,SEC"


@pytest.mark.parametrize(
    "text", ["some of our customers", "one of the managers", "some of the staff", "some managers"]
)
def test_a_part_of_an_option_is_not_the_whole(text: str) -> None:
    """It is asked about, or kept as own words."""
    assert read(text, GUESTS).kind in {"ambiguous", "own-words"}


def test_an_action_on_one_is_not_the_action_on_all() -> None:
    """A label that has the small word itself is still named by it."""
    files = question(
        Choice("DEL", "Delete all"), Choice("KEP", "Keep the files"), Choice("SOM", "Move some")
    )
    for text in ("keep some", "keep some files", "delete only one", "delete just one"):
        assert read(text, files).kind != "pick"
    assert picks("move some", files) == "SOM"


@pytest.mark.parametrize("text", ["2 of them", "two of them", "just 3 of them", "3 of the four"])
def test_a_count_of_options_is_no_place(text: str) -> None:
    """Which of them are meant is not said; all of them are."""
    assert picks(text, CHECKS) == "own-words"
    assert picks("all 4 of them", CHECKS) == "LNT,UNT,SEC,EML"
    assert picks("one of the first two", CHECKS) == "?LNT,UNT"


@pytest.mark.parametrize("text", ["[go] please", "GO please", "so GO", "let's GO"])
def test_a_marked_code_counts_where_the_words_say_yes(text: str) -> None:
    """In brackets, or in capitals among other words, it is that option; else a yes is a yes."""
    asked = question(Choice("GO", "Go on"), Choice("UP", "Scale up"), Choice("IN", "Check in"))
    assert picks(text, asked) == "GO"
    assert picks("let's go", asked) == "?GO,UP,IN"


def test_the_word_option_before_a_code_is_no_word_of_a_label() -> None:
    """A code behind it is that option, though every label begins with the word."""
    asked = question(Choice("A1", "Option Alpha"), Choice("B2", "Option Beta"))
    assert picks("option a1", asked) == "A1"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "text",
    [
        "publish not",
        "on thursday morning",
        "remove no server",
        "release in july",
        "send to anne",
        "send to hanna",
        "send to alan",
    ],
)
def test_a_slip_is_never_another_word(text: str, mode: Mode) -> None:
    """Negations, days, months and short words with another letter mean something else."""
    labels = ("Publish now", "On Tuesday morning", "Remove one server", "Release in June")
    every = enumerate((*labels, "Send to Anna", "Send to all"))
    asked = question(*(Choice(f"X{n}", label) for n, label in every))
    assert len(read(text, asked, mode).codes) != 1
    assert picks("relese in june", asked, mode) == "X3"


@pytest.mark.parametrize("text", ["lint + format", "lint and format", "lint & style"])
def test_every_thing_that_is_listed_has_to_be_an_option(text: str) -> None:
    """A word that may stand behind a label is another thing behind “and”."""
    assert picks(text, CHECKS) == "own-words"
    assert picks("lint mode", CHECKS) == "LNT"


@pytest.mark.parametrize("mode", MODES)
def test_an_open_range_is_more_than_what_it_begins_with(mode: Mode) -> None:
    """It names an option that says so."""
    versions = question(Choice("V11", "3.11"), Choice("V12", "3.12"))
    assert picks("3.12+", versions, mode) == "own-words"
    assert picks("2+", CHECKS, mode) == "own-words"
    newer = question(Choice("N11", "3.11 and newer"), Choice("N12", "3.12+"))
    assert picks("3.12+", newer, mode) == "N12"
    assert picks("3.11+", newer) == "N11"


@pytest.mark.parametrize("text", ["email digest only for us", "lint or whatever", "we linted it"])
def test_what_limits_a_choice_or_leaves_it_open_is_own_words(text: str) -> None:
    """So is a statement that something is done; a time limits nothing."""
    asked = question(*CHECKS.choices[:3], Choice("EML", "Email digest"))
    assert picks(text, asked) == "own-words"
    assert picks("lint only for now", asked) == "LNT"
