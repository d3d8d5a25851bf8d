"""Given a tree and these replies: these asks, and this path."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quandary.errors import ContextRequired, QuandaryError, Rejected
from quandary.flows import wording
from quandary.flows.decide import decide, start
from quandary.formats.markdown import parse
from quandary.model.asks import MORE, Answer, Ask, Field, Item, Limits, Reply
from quandary.model.calls import Call, Do, Done, Output
from quandary.model.tree import Extra, Tree, is_multi, walk
from quandary.reading import Mode, read
from strategies import trees

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.flows import Flow

PROOF = {
    "type": "object",
    "properties": {
        "treeName": {"type": "string"},
        "chosenItems": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"item": {"type": "string"}, "path": {"type": "string"}},
                "required": ["item", "path"],
            },
        },
    },
    "required": ["treeName", "chosenItems"],
    "additionalProperties": False,
}

STEP = """### ¶ASK_STEP
Trigger: a step waits
Extras: A: Run the tests first | B: Ask somebody else

## Decision: Step
- [OK] Fine
  It stays
- [NO] Not yet
  Something is missing
  - [RWK] Write it anew
    Start over
  - [ADD] Add to it
    Nearly there
  - [TST] Test it more
    Doubtful
  - [OTH] Other
    - [ASK] Ask its author
      They know
    - [LOG] Read the logs
      They show it
- [CUT] Leave it out
  Nobody needs it
- [OTH] Other
  - [SPL] Make two of it
    Too much at once
  - [MOV] Move it
    Elsewhere
"""
TAGS = """## Decision: Tags
- [TAG] [ ] Tag it
  For the search
- [NO] [ ] Not this
  Something else
  - [RWK] Write it anew
    Start over
  - [CUT] Leave it out
    Nobody needs it
- [BRS] [ ] Talk about it
  Open questions
- [OTH] Other
  - [ARC] Archive it
    Out of sight
  - [DEL] Drop it
    Gone
"""
CONTEXT = "The plan has several steps. None of them has begun."


def tree(text: str) -> Tree:
    """The only tree in a text."""
    (found,) = parse(text).trees
    return found


def items(count: int) -> list[Item]:
    """So many items."""
    return [Item(f"1.{n}", f"Step {n}", f"Step number {n}") for n in range(1, count + 1)]


def drive(flow: Flow, *replies: Callable[[Ask], Reply] | Reply) -> tuple[list[Ask], dict[str, Any]]:
    """Send the replies in turn; the asks that were made, and the result."""
    asks: list[Ask] = []
    request = next(flow)
    for reply in replies:
        assert isinstance(request, Ask)
        asks.append(request)
        try:
            request = flow.send(reply if isinstance(reply, Reply) else reply(request))
        except StopIteration as end:
            return asks, end.value
    message = f"the flow still waits: {request}"
    raise AssertionError(message)


def pick(*codes: str, **more: object) -> Callable[[Ask], Reply]:
    """The same pick for every question of the Ask."""
    return lambda ask: Reply(
        tuple(
            msgspec.convert({"key": q.key, "picked": codes, **more}, Answer) for q in ask.questions
        )
    )


def typed(text: str, mode: Mode = "strict") -> Callable[[Ask], Reply]:
    """A text, mostly as the Other line of a box takes it, in reply to the only question."""

    def reply(ask: Ask) -> Reply:
        (question,) = ask.questions
        return Reply((read(text, question, mode).answer(question.key, text),))

    return reply


def asking(text: str) -> Flow:
    """A flow that asks a tree about one item."""
    return decide(tree(text), items(1), context=CONTEXT)


def paths(result: dict[str, Any]) -> list[str]:
    """The chosen paths."""
    return [chosen["path"] for chosen in result["chosenItems"]]


def test_a_leaf_is_its_code() -> None:
    """A named option without options of its own is the whole path."""
    asks, result = drive(decide(tree(STEP), items(1), context=CONTEXT), pick("OK"))
    assert paths(result) == ["OK"]
    assert [ask.key for ask in asks] == ["1.1:"]


def test_the_result_fits_the_proof() -> None:
    """`treeName` and `chosenItems` validate against the requirement's schema."""
    _, result = drive(decide(tree(STEP), items(2), context=CONTEXT), pick("CUT"))
    jsonschema.validate({k: result[k] for k in ("treeName", "chosenItems")}, PROOF)
    assert result["treeName"] == "Step"


def test_a_branch_asks_a_follow_up_with_the_same_header() -> None:
    """A branch leads to one question for that item: same header, breadcrumb in the text."""
    asks, result = drive(
        decide(tree(STEP), items(2), context=CONTEXT),
        Reply((Answer("1.1:", ("NO",)), Answer("1.2:", ("OK",)))),
        pick("ADD"),
    )
    follow_up = asks[1].questions
    assert [question.key for question in follow_up] == ["1.1:NO"]
    assert follow_up[0].header == asks[0].questions[0].header == "1.1. Step 1"
    assert follow_up[0].text == f"[NO]: {asks[0].questions[0].text}"
    assert asks[1].preamble.why
    assert paths(result) == ["NO/ADD", "OK"]


def test_labels_of_branches_end_in_dots() -> None:
    """Dots are added to the label of an option that leads on, and to no other."""
    asks, _ = drive(decide(tree(STEP), items(1), context=CONTEXT), pick("OK"))
    shown = [choice.shown for choice in asks[0].questions[0].choices]
    assert shown == ["Fine", "Not yet...", "Leave it out"]


def test_other_is_never_sent_as_an_option() -> None:
    """[OTH] is the host's own Other."""
    asks, _ = drive(decide(tree(STEP), items(1), context=CONTEXT), pick("OK"))
    assert "OTH" not in [choice.code for choice in asks[0].questions[0].choices]


def test_other_left_blank_opens_its_menu() -> None:
    """Blank Other asks what is behind it; the pick is a path below OTH."""
    asks, result = drive(decide(tree(STEP), items(1), context=CONTEXT), pick(), pick("MOV"))
    assert asks[1].key == "1.1:OTH"
    assert [choice.code for choice in asks[1].questions[0].choices] == ["SPL", "MOV"]
    assert paths(result) == ["OTH/MOV"]


def test_other_left_blank_below_a_named_option() -> None:
    """The menu of a deeper level goes on with its path."""
    asks, result = drive(
        decide(tree(STEP), items(1), context=CONTEXT), pick("NO"), pick(), pick("LOG")
    )
    assert asks[2].key == "1.1:NO/OTH"
    assert paths(result) == ["NO/OTH/LOG"]


def test_one_option_behind_other_picks_itself() -> None:
    """A menu of one is not asked about."""
    text = "## Decision: D\n- [YES] Yes\n- [NO] No\n- [OTH] Other\n  - [DEF] Later\n"
    _, result = drive(decide(tree(text), items(1), context=CONTEXT), pick())
    assert paths(result) == ["OTH/DEF"]
    assert result["notes"] == [{"kind": "matched", "text": "> Matched: Later", "item": "1.1"}]


def test_blank_other_without_a_menu_asks_again() -> None:
    """Where there is nothing behind Other, the same question comes again."""
    text = "## Decision: D\n- [YES] Yes\n- [NO] No\n"
    asks, result = drive(decide(tree(text), items(1), context=CONTEXT), pick(), pick("NO"))
    assert [ask.key for ask in asks] == ["1.1:", "1.1:~2"]
    assert paths(result) == ["NO"]


@pytest.mark.parametrize("text", ["back", "Back.", "<", "go back"])
@pytest.mark.parametrize(("way", "key"), [("", "1.1:OTH"), ("NO", "1.1:NO")])
def test_back_leads_one_level_up(text: str, way: str, key: str) -> None:
    """Out of the menu behind Other and out of a branch, announced, with nothing decided."""
    opened = pick(way) if way else pick()
    asks, result = drive(asking(STEP), opened, typed(text), pick("CUT"))
    assert [one.key for one in asks] == ["1.1:", key, "1.1:~2"]
    assert asks[0].questions[0].above == ()
    assert "< goes back" in asks[1].preamble.hints
    assert asks[2].questions[0].choices == asks[0].questions[0].choices
    assert [note.text for note in asks[2].notes] == ["> Matched: Back"]
    assert paths(result) == ["CUT"]


def test_a_way_up_is_refused_where_nothing_lies_above() -> None:
    """`<` at the root is told so, and is no answer in anybody's own words."""
    asks, result = drive(asking(STEP), typed("<"), pick("CUT"))
    assert [note.kind for note in asks[1].notes] == ["refused"]
    assert paths(result) == ["CUT"]


@pytest.mark.parametrize(
    ("way", "text", "path", "label"),
    [
        ((), "CUT", "CUT", "Leave it out"),
        ((), "fine", "OK", "Fine"),
        (("NO",), "move it", "OTH/MOV", "Move it"),
        (("NO",), "cut", "CUT", "Leave it out"),
        (("NO", ""), "Add to it", "NO/ADD", "Add to it"),
        (("NO", ""), "ok", "OK", "Fine"),
        (("NO", ""), "!SPL", "OTH/SPL", "Make two of it"),
    ],
)
def test_labels_and_codes_of_the_levels_above_are_understood(
    way: tuple[str, ...], text: str, path: str, label: str
) -> None:
    """As if they had been typed there, and announced."""
    opened = [pick(code) if code else pick() for code in (way or ("",))]
    _, result = drive(asking(STEP), *opened, typed(text))
    assert paths(result) == [path]
    assert [note["text"] for note in result["notes"]] == [f"> Matched: {label}"]


def test_the_levels_own_options_go_before_those_above() -> None:
    """`cut` is the option that is shown, not the one of the same name further up."""
    for option, text in (("[CUT] Add to it", "cut"), ("[CUT] Back", "back")):
        level = STEP.replace("[ADD] Add to it", option)
        _, result = drive(asking(level), pick("NO"), typed(text))
        assert paths(result) == ["NO/CUT"]


def test_what_was_ticked_is_still_chosen_on_the_way_up() -> None:
    """A branch that was left is not among it."""
    asks, result = drive(asking(TAGS), pick("TAG", "NO"), typed("<"), pick("BRS"))
    assert asks[2].questions[0].gathered == ("TAG",)
    assert "Chosen so far: Tag it." in asks[2].questions[0].text
    assert paths(result) == ["TAG,BRS"]


def test_what_fits_two_options_above_is_asked() -> None:
    """With these two only, and either of them can be chosen."""
    text = STEP.replace("[OK] Fine", "[OK] Leave it in")
    asks, result = drive(asking(text), pick("NO"), typed("leave it"), pick("<CUT"))
    assert [c.code for c in asks[2].questions[0].choices] == ["<OK", "<CUT"]
    assert paths(result) == ["CUT"]


@pytest.mark.parametrize("other", ["- [OTH] Other\n", ""])
def test_a_menu_behind_other_is_promised_only_where_there_is_one(other: str) -> None:
    """Own words are always welcome, and a blank is not said to lead anywhere."""
    text = "## Decision: D\n- [A1] One\n- [B1] Two\n- [C1] Three\n" + other
    asks, result = drive(asking(text), typed("something else"))
    assert not asks[0].questions[0].menu
    assert "blank" not in asks[0].preamble.text
    assert paths(result) == ["OTH/custom:something else"]


def test_own_words_are_kept_below_other() -> None:
    """Typed text that names nothing is the answer, at any depth."""
    _, result = drive(
        decide(tree(STEP), items(2), context=CONTEXT),
        Reply((Answer("1.1:", text="merge it, with 3"), Answer("1.2:", ("NO",)))),
        pick(text="rename it"),
    )
    assert paths(result) == ["OTH/custom:merge it, with 3", "NO/OTH/custom:rename it"]


@pytest.mark.parametrize("stand_in", ["MORE", "OTHR"])
def test_own_words_and_skips_are_below_oth_in_every_dialect(stand_in: str) -> None:
    """Callers look for `OTH/custom:` and `OTH/force:`, whatever the tree calls its Other."""
    text = STEP.replace("\n- [OTH]", f"\n- [{stand_in}]")
    assert text != STEP
    menu = f"{stand_in}/{tree(text).decisions[0].options[-1].options[0].code}"
    for reply, path in (
        (typed("rename it"), "OTH/custom:rename it"),
        (typed("!"), "OTH/force:skip"),
    ):
        assert paths(drive(asking(text), reply)[1]) == [path]
        assert paths(drive(asking(text), pick(), reply)[1]) == [path]
    assert paths(drive(asking(text), pick(menu))[1]) == [menu]


@pytest.mark.parametrize(
    ("said", "mode"),
    [("OTHR", "strict"), ("Anything else", "strict"), ("Fine, anything else", "plain")],
)
def test_other_is_known_by_its_code_and_label_in_every_dialect(said: str, mode: Mode) -> None:
    """What the tree calls its Other opens the menu, as `Other` does."""
    text = STEP.replace("\n- [OTH] Other", "\n- [OTHR] Anything else").replace("OK]", "OK] [ ]")
    asks, result = drive(asking(text), typed(said, mode), typed("!"))
    assert asks[1].questions[0].text.startswith("[OTHR]: ")
    assert paths(result)[0].endswith("OTH/force:skip")


def test_own_words_in_the_menu_are_not_below_other_twice() -> None:
    """Text typed into the menu behind Other is OTH/custom, not OTH/OTH/custom."""
    _, result = drive(
        decide(tree(STEP), items(1), context=CONTEXT), pick(), pick(text="something else")
    )
    assert paths(result) == ["OTH/custom:something else"]


def test_an_extra_is_kept_with_its_text() -> None:
    """A letter stands for the extra's words, and the match is announced."""
    _, result = drive(decide(tree(STEP), items(1), context=CONTEXT), pick(extra="B"))
    assert paths(result) == ["OTH/smart:Ask somebody else"]
    assert result["notes"][0]["text"] == "> Matched: Ask somebody else"


def test_an_extra_that_shows_something_keeps_the_question_open() -> None:
    """READINGS 50: whoever asks gets a note and answers by advice; what was asked is repeated."""
    extras = [Extra("A", "Show the SQL", shows=True), Extra("B", "Merge both")]
    flow = decide(tree(STEP), items(1), context=CONTEXT, extras=extras)
    asks, result = drive(
        flow,
        pick(extra="A", prefix="show"),
        pick(advice="DROP TABLE plans;", offers=(Extra("C", "Show the rest", shows=True),)),
        pick(extra="C", prefix="show"),
        pick("OK"),
    )
    first, shown, advised, again = asks
    assert "**Also:** B: Merge both\n**See first:** A? Show the SQL" in first.preamble.text
    assert [(n.kind, n.text, n.item) for n in shown.notes] == [("extra", "Show the SQL", "1.1")]
    assert shown.preamble.why.startswith("You asked: Show the SQL\nWhoever asks you this")
    assert advised.preamble.why == "You asked: Show the SQL\n\nDROP TABLE plans;"
    assert [n.kind for n in again.notes] == ["extra"]
    assert [ask.key for ask in asks] == ["1.1:", "1.1:~2", "1.1:~3", "1.1:~4"]
    assert [entry["path"] for entry in result["chosenItems"]] == ["OK"]


def test_an_extra_that_shows_something_keeps_what_is_ticked() -> None:
    """And in a split or at a proof, where words are no answer, it is asked for all the same."""
    extras = [Extra("A", "Show the SQL", shows=True)]
    flow = decide(tree(TAGS), items(1), context=CONTEXT, extras=extras)
    asks, result = drive(flow, pick("TAG", extra="A", prefix="show"), pick("BRS"))
    assert asks[1].questions[0].gathered == ("TAG",)
    assert result["chosenItems"][0]["path"] == "TAG,BRS"


def test_an_advisor_is_shown_what_an_extra_wants_to_see() -> None:
    """The agent that answers questions answers this as well, and is named."""
    extras = [Extra("A", "Show the SQL", shows=True)]
    flow = decide(tree(STEP), items(1), context=CONTEXT, extras=extras, advisor="CLAUDE")
    ask = next(flow)
    assert isinstance(ask, Ask)
    call = flow.send(pick(extra="A", prefix="show")(ask))
    assert isinstance(call, Call)
    assert call.prompt.endswith("The person asks: Show the SQL")
    again = flow.send(Output(call.key, "DROP TABLE plans;"))
    assert isinstance(again, Ask)
    assert again.preamble.why == "You asked: Show the SQL\n\nCLAUDE: DROP TABLE plans;"


def test_the_callers_extras_replace_the_trees() -> None:
    """Extras come from the caller, else from the tree, else there are none."""
    given_extras = [Extra("A", "Wait a day")]
    asks, _ = drive(decide(tree(STEP), items(1), context=CONTEXT, extras=given_extras), pick("OK"))
    assert "**Also:** A: Wait a day\n" in asks[0].preamble.text
    asks, _ = drive(decide(tree(STEP), items(1), context=CONTEXT, extras=[]), pick("OK"))
    assert "**Also:**" not in asks[0].preamble.text


def test_items_come_four_at_a_time() -> None:
    """Nine items with one root question are asked four, four and one at a time."""
    asks, result = drive(
        decide(tree(STEP), items(9), context=CONTEXT), pick("OK"), pick("OK"), pick("CUT")
    )
    assert [len(ask.questions) for ask in asks] == [4, 4, 1]
    assert paths(result) == ["OK"] * 8 + ["CUT"]


def test_two_roots_halve_the_batch() -> None:
    """With two decisions two items are asked at once, each with its own path and name."""
    text = "### ¶ASK_TWO\n\n" + STEP.split("\n\n", 1)[1] + "\n" + TAGS
    asks, result = drive(
        decide(tree(text), items(3), context=CONTEXT),
        lambda ask: Reply(
            tuple(Answer(q.key, ("TAG",) if q.multi else ("OK",)) for q in ask.questions)
        ),
        lambda ask: Reply(
            tuple(Answer(q.key, ("BRS",) if q.multi else ("CUT",)) for q in ask.questions)
        ),
    )
    assert [[q.key for q in ask.questions] for ask in asks] == [
        ["1.1:1.", "1.1:2.", "1.2:1.", "1.2:2."],
        ["1.3:1.", "1.3:2."],
    ]
    assert result["treeName"] == "TWO"
    assert [(c["decision"], c["path"]) for c in result["chosenItems"]][-2:] == [
        ("Step", "CUT"),
        ("Tags", "BRS"),
    ]


def test_more_roots_than_fit_are_asked_in_rounds() -> None:
    """Five decisions are asked four and one, one item at a time."""
    lists = "".join(f"## Decision: D{n}\n- [YES] Yes\n- [NO] No\n\n" for n in range(5))
    asks, result = drive(
        decide(tree("### ¶ASK_FIVE\n\n" + lists), items(2), context=CONTEXT), *[pick("YES")] * 4
    )
    assert [len(ask.questions) for ask in asks] == [4, 1, 4, 1]
    assert paths(result) == ["YES"] * 10


def test_resolved_items_are_not_asked_again() -> None:
    """A question without an answer comes back alone; the others' answers stand."""
    asks, result = drive(
        decide(tree(STEP), items(3), context=CONTEXT),
        Reply((Answer("1.1:", ("OK",)), Answer("1.3:", ("CUT",)))),
        pick("OK"),
    )
    assert [q.key for q in asks[1].questions] == ["1.2:~2"]
    assert paths(result) == ["OK", "OK", "CUT"]


def test_multi_select_joins_paths_in_the_trees_order() -> None:
    """Several picks, one of them a branch: leaves and nested paths, own words last."""
    asks, result = drive(
        decide(tree(TAGS), items(1), context=CONTEXT),
        pick("BRS", "NO", "TAG", text="and this, too"),
        pick("CUT"),
    )
    assert asks[1].key == "1.1:NO"
    assert paths(result) == ["TAG,NO/CUT,BRS,OTH/custom:and this, too"]


def test_two_picks_where_one_is_allowed_ask_again() -> None:
    """A single-select level takes one option."""
    asks, _ = drive(decide(tree(STEP), items(1), context=CONTEXT), pick("OK", "CUT"), pick("OK"))
    assert asks[1].key == "1.1:~2"
    assert "Only one" in asks[1].preamble.why


def test_plus_adds_to_a_multi_select_answer() -> None:
    """`+CODE` keeps what was chosen and asks for the rest."""
    asks, result = drive(
        decide(tree(TAGS), items(1), context=CONTEXT),
        pick(prefix="add", argument="brs"),
        pick("TAG"),
    )
    assert asks[1].questions[0].gathered == ("BRS",)
    assert paths(result) == ["TAG,BRS"]


def test_what_is_chosen_so_far_stands_on_every_showing_and_page() -> None:
    """Whatever brings the question back: an addition, a page, a question, a slip, a tag."""
    wide = "## Decision: D\n" + "".join(f"- [O{c}] [ ] Option {c}\n" for c in "ABCDEFG")
    texts = ("+OB", "?", "Q: why?", "#tag", "+NOPE", "Option", "+OA", "done")
    asks, result = drive(asking(wide), pick("OC", MORE), pick(MORE), *map(typed, texts))
    chosen = [asked.questions[0].text.partition("Chosen so far: ")[2] for asked in asks]
    assert chosen[0] == ""
    assert all(text.startswith("Option C. ") for text in chosen[1:3])
    assert all(text.startswith("Option C, Option B. ") for text in chosen[3:9])
    assert chosen[9].startswith("Option C, Option B, Option A. ")
    assert paths(result) == ["OA,OB,OC"]


@pytest.mark.parametrize(("opens", "level"), [((), "OTH"), (("OTH",), "OTH"), (("NO",), "NO")])
def test_what_is_chosen_so_far_stands_on_the_levels_below_too(
    opens: tuple[str, ...], level: str
) -> None:
    """An opened menu or branch says what was gathered above it, each option once."""
    several = TAGS.replace("  - [", "  - [ ] [")
    code, label = {"OTH": ("DEL", "Drop it"), "NO": ("CUT", "Leave it out")}[level]
    added = map(typed, ("+TAG", f"+{level}/{code}"))
    asks, result = drive(
        asking(several), *added, pick(*opens), typed("?"), typed(f"+{code}"), typed("done")
    )
    shown = [asked.questions[0].text for asked in asks[3:6]]
    start = f"[{level}]: Chosen so far: Tag it, {label}. {CONTEXT} "
    assert [text[: len(start)] for text in shown] == [start] * 3
    assert paths(result) == [f"TAG,{level}/{code}"]


SEVERAL = TAGS.replace("  - [", "  - [ ] [")  # behind Other, too, and behind the branch


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize("text", ["done", "That's all."])
@pytest.mark.parametrize("level", [TAGS, SEVERAL], ids=["one", "several"])
def test_done_ends_the_gathering_in_an_opened_menu_too(level: str, text: str, mode: Mode) -> None:
    """With nothing chosen there, what was chosen above is the answer, and it is announced."""
    replies = (typed("+TAG"), typed("+BRS"), pick(), typed(text, mode))
    asks, result = drive(asking(level), *replies)
    assert "Chosen so far: Tag it, Talk about it." in asks[3].questions[0].text
    assert paths(result) == ["TAG,BRS"]
    assert result["notes"][-1]["text"] == "> Matched: Tag it, Talk about it"


@pytest.mark.parametrize("text", ["+DEL", "+OTH/DEL", "+oth/del", "OTH/DEL"])
def test_an_option_of_an_opened_menu_is_also_known_by_its_path(text: str) -> None:
    """As it is before the menu is opened."""
    _, result = drive(asking(SEVERAL), pick(), typed(text), *[typed("done")] * (text[0] == "+"))
    assert paths(result) == ["OTH/DEL"]


@pytest.mark.parametrize(
    ("added", "label", "further", "path"),
    [
        ("+TAG", "Tag it", (), "TAG,BRS,OTH/DEL"),
        ("+NO/CUT", "Leave it out", (), "NO/CUT,BRS,OTH/DEL"),
        ("+NO", "Not this", ("RWK",), "NO/RWK,BRS,OTH/DEL"),
    ],
)
def test_an_option_of_the_levels_above_is_added_in_a_menu(
    added: str, label: str, further: tuple[str, ...], path: str
) -> None:
    """The same menu comes again, and what is behind a branch is asked after it."""
    replies = (typed("+BRS"), pick(), typed(added), typed("+DEL"), typed("done"))
    asks, result = drive(asking(SEVERAL), *replies, *map(pick, further))
    assert f"Added: {label}. What else?" in asks[3].preamble.text
    assert [asked.key for asked in asks[2:5]] == ["1.1:OTH", "1.1:OTH~2", "1.1:OTH~3"]
    assert paths(result) == [path]
    assert ("Talk about it, Tag it. " in asks[3].questions[0].text) is (added == "+TAG")


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize("opens", [("OTH",), ("NO",)])
def test_an_option_above_is_added_where_one_can_be_chosen_in_the_menu(
    opens: tuple[str, ...], mode: Mode
) -> None:
    """It is chosen on its own level; what is none comes again with the reason."""
    replies = (
        typed("+TAG", mode),
        typed("+nope", mode),
        pick({"OTH": "DEL", "NO": "CUT"}[opens[0]]),
    )
    asks, result = drive(asking(TAGS), pick(*opens), *replies)
    assert "Added: Tag it. What else?" in asks[2].preamble.text
    assert "nope cannot be added here." in asks[3].preamble.text
    assert paths(result) == [{"OTH": "TAG,OTH/DEL", "NO": "TAG,NO/CUT"}[opens[0]]]


def test_back_turns_the_page_of_a_lower_level_first() -> None:
    """As it does on the first level; from the first page, it leads up."""
    below = "".join(f"  - [A{c}] Kind {c}\n" for c in "ABCDEF")
    asks, result = drive(
        asking(f"## Decision: D\n- [ONE] One\n{below}- [TWO] Two\n- [SIX] Six\n"),
        *(pick("ONE"), pick(MORE), typed("<"), typed("kind"), typed("back"), typed("<")),
        pick("TWO"),
    )
    shown = [[choice.code for choice in asked.questions[0].choices] for asked in asks]
    assert shown[1] == shown[3] == shown[5] == ["AA", "AB", "AC", MORE]
    assert shown[2] == ["AD", "AE", "AF"]
    assert shown[6] == shown[0] == ["ONE", "TWO", "SIX"]
    assert paths(result) == ["TWO"]


def test_nothing_is_added_where_only_one_option_can_be_chosen() -> None:
    """Neither in a menu where several can be, of a level above."""
    text = TAGS.replace("[ ] ", "").replace("[ARC]", "[ARC] [ ]")
    asks, result = drive(asking(text), pick(), typed("+TAG"), pick("ARC"))
    assert "TAG cannot be added here." in asks[2].preamble.text
    assert paths(result) == ["OTH/ARC"]


@pytest.mark.parametrize(
    "replies",
    [
        (typed("+DEL"), typed("TAG")),
        (typed("+DEL"), typed("back"), pick("TAG")),
        (typed("+DEL"), typed("+TAG"), typed("<"), typed("done")),
        (pick("DEL", "<TAG"),),
    ],
)
def test_what_was_added_in_a_menu_is_chosen_whichever_way_it_is_left(
    replies: tuple[Callable[[Ask], Reply], ...],
) -> None:
    """By an option of a level above, or by the way up."""
    _, result = drive(asking(SEVERAL), pick(), *replies)
    assert paths(result) == ["TAG,OTH/DEL"]


def test_an_option_above_is_chosen_alone_where_only_one_can_be() -> None:
    """Whatever was added in the menu that is left."""
    text = TAGS.replace("[ ] ", "").replace("[ARC]", "[ARC] [ ]")
    _, result = drive(asking(text), pick(), typed("+DEL"), typed("TAG"))
    assert paths(result) == ["TAG"]


def test_what_was_added_by_its_path_is_named_by_its_label() -> None:
    """Every door can then send it as the answer, and say what was chosen."""
    deep = (
        "## Decision: D\n- [OK] [ ] Fine\n- [NO] [ ] Not yet\n  - [RWK] Rework\n  - [DEF] Defer\n"
    )
    asks, result = drive(asking(deep), typed("+NO/RWK"), pick("NO/RWK"))
    assert [c.label for c in asks[1].questions[0].named if c.code == "NO/RWK"] == ["Rework"]
    assert paths(result) == ["NO/RWK"]


def test_force_resolves_at_once() -> None:
    """`!CODE/SUB` is that path, branch or leaf; `!skip` and `!` skip; `!dismiss` dismisses."""
    flow = decide(tree(STEP), items(6), context=CONTEXT)
    arguments = ("no/rwk", "NO", "skip", "", "dismiss", "spl")
    answers = [
        Answer(f"1.{n}:", prefix="force", argument=argument)
        for n, argument in enumerate(arguments, 1)
    ]
    _, result = drive(flow, Reply(tuple(answers[:4])), Reply(tuple(answers[4:])))
    assert paths(result) == [
        "NO/RWK",
        "NO",
        "OTH/force:skip",
        "OTH/force:skip",
        "OTH/force:dismiss",
        "OTH/SPL",
    ]


def test_an_unknown_force_is_refused_and_asked_again() -> None:
    """`!NOPE` changes nothing."""
    asks, _ = drive(
        decide(tree(STEP), items(1), context=CONTEXT),
        pick(prefix="force", argument="NOPE"),
        pick("OK"),
    )
    assert [(note.kind, note.item) for note in asks[1].notes] == [("refused", "1.1")]


def test_explain_comes_from_the_tree() -> None:
    """`?` shows descriptions and what leads where; `???` adds the context and earlier answers."""
    flow = decide(tree(STEP), items(2), context=CONTEXT)
    asks, _ = drive(
        flow,
        Reply((Answer("1.1:", ("CUT",)), Answer("1.2:", prefix="explain"))),
        pick(prefix="deep"),
        pick("OK"),
    )
    assert "[NO] Not yet: Something is missing" in asks[1].preamble.why
    assert "leads to: Write it anew, Add to it" in asks[1].preamble.why
    assert "- [RWK] Write it anew: Start over" in asks[2].preamble.why
    assert "Chosen for other items so far: Step number 1: Leave it out" in asks[2].preamble.why


def test_a_deep_explanation_goes_to_the_last_level() -> None:
    """An Other within a branch leads somewhere, too."""
    asks, _ = drive(decide(tree(STEP), items(1), context=CONTEXT), pick(prefix="deep"), pick("OK"))
    assert "\n  - [OTH] Other\n    - [ASK] Ask its author: They know\n" in asks[1].preamble.why


def test_a_question_without_an_advisor_is_kept() -> None:
    """`Q:` is noted with the item, and the question comes again."""
    asks, result = drive(
        decide(tree(STEP), items(1), context=CONTEXT),
        pick(prefix="question", argument="Who wrote it?"),
        pick("OK"),
    )
    assert [note.kind for note in asks[1].notes] == ["question"]
    assert result["chosenItems"][0]["notes"] == ["Who wrote it?"]


def test_a_question_goes_to_the_advisor() -> None:
    """With an advisor named, `Q:` is a call, and its answer stands above the question."""
    flow = decide(tree(STEP), items(1), context=CONTEXT, advisor="CLAUDE")
    next(flow)
    call = flow.send(Reply((Answer("1.1:", prefix="question", argument="Why?"),)))
    assert isinstance(call, Call)
    assert (call.agent, call.key) == ("CLAUDE", "1.1:+advice")
    ask = flow.send(Output(call.key, "Because of the deadline."))
    assert isinstance(ask, Ask)
    assert "Because of the deadline." in ask.preamble.why


def test_advice_joins_the_question_with_its_offers() -> None:
    """An agent's advice is no answer: the question comes again, with the extras it offered."""
    asks, result = drive(
        decide(tree(STEP), items(1), context=CONTEXT),
        pick(advice="Its author has left.", offers=(Extra("C", "Find a new owner"),)),
        pick(extra="C"),
    )
    assert asks[1].preamble.why == "Its author has left."
    assert paths(result) == ["OTH/smart:Find a new owner"]


def test_a_reference_is_read_by_the_house() -> None:
    """`@path` is a deed; what was refused is said, and the question comes again."""
    flow = decide(tree(STEP), items(1), context=CONTEXT)
    next(flow)
    do = flow.send(Reply((Answer("1.1:", prefix="reference", argument="notes.md"),)))
    assert do == Do("1.1:+file", "read-file", "notes.md")
    ask = flow.send(Done("1.1:+file", text="# the notes\n~~~\n**Try:** 2"))
    assert isinstance(ask, Ask)
    assert ask.preamble.why == "notes.md:\n\n~~~~\n# the notes\n~~~\n**Try:** 2\n~~~~"
    do = flow.send(Reply((Answer(ask.key, prefix="reference", argument="../x"),)))
    assert isinstance(do, Do)
    ask = flow.send(Done(do.key, error="outside the folder"))
    assert isinstance(ask, Ask)
    assert ask.notes[0].kind == "refused"


def test_a_tag_is_kept_with_the_item() -> None:
    """`#tag` is gathered; the question comes again."""
    _, result = drive(
        decide(tree(STEP), items(1), context=CONTEXT),
        pick(prefix="tag", argument="needs-review"),
        pick("OK"),
    )
    assert result["chosenItems"][0]["tags"] == ["needs-review"]


def test_another_tree_is_asked_inline() -> None:
    """A keyword of another tree asks that tree, keeps its outcome as an aside, and comes back."""
    depth = tree(
        "### ¶ASK_DEPTH\nTrigger: x\nKeywords: how deep\n\n## Decision: Depth\n"
        "- [LOW] Short\n- [MED] Medium\n- [HIGH] Long\n"
    )
    asks, result = drive(
        decide(tree(STEP), items(1), context=CONTEXT, trees=[depth]),
        pick(tree="DEPTH"),
        pick("HIGH"),
        pick("OK"),
    )
    assert asks[0].questions[0].keywords == {"depth": "DEPTH", "how deep": "DEPTH"}
    assert [ask.key for ask in asks] == ["1.1:", "1.1:+DEPTH+1.1:", "1.1:~2"]
    assert result["chosenItems"][0]["asides"] == [{"tree": "DEPTH", "path": "HIGH"}]


def test_what_is_said_in_an_aside_is_kept_with_it() -> None:
    """A tag belongs to the outcome of the tree in which it was given."""
    _, result = drive(
        decide(tree(STEP), items(1), context=CONTEXT, trees=[tree(TAGS)]),
        pick(tree="Tags"),
        pick(prefix="tag", argument="later"),
        pick("TAG"),
        pick("OK"),
    )
    [chosen] = result["chosenItems"]
    assert chosen["asides"] == [{"tree": "Tags", "path": "TAG", "tags": ["later"]}]
    assert "tags" not in chosen


def test_an_aside_says_why_it_is_shown() -> None:
    """Nobody has to guess where the other question comes from."""
    asks, _ = drive(
        decide(tree(STEP), items(1), context=CONTEXT, trees=[tree(TAGS)]),
        pick(tree="Tags"),
        pick("TAG"),
        pick("OK"),
    )
    assert "Tags" in asks[1].preamble.why


@pytest.mark.parametrize("text", ["### ¶ASK_X\nTrigger: t\n", "## Decision: X\n- [A] x\n- [A] y\n"])
def test_an_unclear_tree_is_no_aside(text: str) -> None:
    """It has no keyword, and is refused where it is asked for all the same."""
    asks, _ = drive(
        decide(tree(STEP), items(1), context=CONTEXT, trees=[tree(text)]),
        pick(tree="X"),
        pick("OK"),
    )
    assert not asks[0].questions[0].keywords
    assert asks[1].notes[0].kind == "refused"


def test_a_question_is_told_together_with_its_item() -> None:
    """Whoever answers it by advice, answers what waits then."""
    asks, _ = drive(
        decide(tree(STEP), items(2), context=CONTEXT),
        Reply((Answer("1.1:", ("NO",)), Answer("1.2:", prefix="question", argument="Why?"))),
        pick("ADD"),
        pick("OK"),
    )
    assert [[note.item for note in ask.notes] for ask in asks] == [[], [], ["1.2"]]


def test_a_reply_that_fits_two_options_asks_which() -> None:
    """Only the candidates are shown, and Other options can still be named."""
    asks, result = drive(
        decide(tree(STEP), items(1), context=CONTEXT),
        pick(among=("CUT", "OTH/MOV"), text="out"),
        pick("OTH/MOV"),
    )
    assert [choice.code for choice in asks[1].questions[0].choices] == ["CUT", "OTH/MOV"]
    assert paths(result) == ["OTH/MOV"]


@pytest.mark.parametrize("room", [3, 4])
def test_what_a_reply_fits_is_paged_too(room: int) -> None:
    """More candidates than the host can show: each comes up once, and each can be chosen."""
    fitting = tuple(option.code for option in wide(9).decisions[0].options)[1:]
    for chosen in fitting:
        flow = decide(wide(9), items(1), context=CONTEXT, limits=Limits(options=room))
        next(flow)
        ask = flow.send(Reply((Answer("1.1:", among=fitting, text="option"),)))
        seen: list[str] = []
        while True:
            assert isinstance(ask, Ask)
            codes = [choice.code for choice in ask.questions[0].choices]
            assert len(codes) <= room
            seen += [code for code in codes if code != MORE]
            if MORE not in codes:
                break
            ask = flow.send(Reply((Answer(ask.key, (MORE,)),)))
        assert tuple(seen) == fitting
        with pytest.raises(StopIteration) as end:
            flow.send(Reply((Answer(ask.key, (chosen,)),)))
        assert paths(end.value.value) == [chosen]


MENU = "- [OTH] Other\n  - [ASK] Ask the team\n  - [LOG] Read the logs\n"


def test_more_and_other_are_among_what_a_number_fits() -> None:
    """The clarifying question names them too: one turns the page, the other opens its menu."""
    options = "".join(f"- [{chr(64 + n) * 2}] Phase {n}\n" for n in range(1, 7))
    level = tree("## Decision: Phases\n" + options + MENU)
    plain = [typed(text, "plain") for text in ("4", "2", "5", "2", "1")]
    asks, result = drive(decide(level, items(1), context=CONTEXT), *plain[:2], pick("DD"))
    shown = [[choice.code for choice in ask.questions[0].choices] for ask in asks]
    assert shown[1:] == [["DD", MORE], ["DD", "EE", "FF"]]
    assert not asks[1].questions[0].menu
    assert paths(result) == ["DD"]
    asks, result = drive(decide(level, items(1), context=CONTEXT), *plain[2:])
    assert [choice.code for choice in asks[1].questions[0].choices] == ["EE"]
    assert asks[1].questions[0].menu
    assert paths(result) == ["OTH/ASK"]


def test_a_page_is_come_back_to_from_a_clarifying_question() -> None:
    """The pages of the candidates are not those of the level."""
    asks, _ = drive(
        decide(wide(12), items(1), context=CONTEXT),
        pick(MORE),
        pick(among=("AA", "AB", "AC", "AD", "AE"), text="a to e"),
        pick(MORE),
        pick(prefix="explain"),
        pick("AA"),
    )
    shown = [[choice.code for choice in ask.questions[0].choices] for ask in asks]
    assert shown[3] == ["AD", "AE"]
    assert shown[4] == shown[1]


@pytest.mark.parametrize("text", ["<", "back"])
def test_back_on_a_further_page_leads_to_the_page_before(text: str) -> None:
    """It is no answer in own words; a clarifying question leads back to all the options."""
    unclear = pick(among=("AA", "AB"), text="a or b")
    replies = (pick(MORE), typed(text), unclear, typed(text), pick(MORE), typed("AL"))
    asks, result = drive(decide(wide(12), items(1), context=CONTEXT), *replies)
    shown = [[choice.code for choice in ask.questions[0].choices] for ask in asks]
    assert shown[2] == shown[4] == shown[0] != shown[1]
    assert [bool(ask.questions[0].above) for ask in asks] == [False, True, False, True, False, True]
    assert "< goes back" in asks[1].preamble.hints
    for at in (2, 4):
        assert [note.text for note in asks[at].notes] == ["> Matched: Back"]
    assert paths(result) == ["AL"]


def test_a_comment_reaches_the_caller() -> None:
    """A pick can carry a comment."""
    _, result = drive(
        decide(tree(STEP), items(1), context=CONTEXT), pick("OK", comment="but rename it")
    )
    assert result["chosenItems"][0]["comment"] == "but rename it"


def test_typed_picks_are_announced() -> None:
    """What was read out of text is said back; what was clicked is not."""
    asks, _ = drive(
        decide(tree(STEP), items(2), context=CONTEXT),
        Reply((Answer("1.1:", ("NO",), raw="not yet"), Answer("1.2:", ("OK",)))),
        pick("ADD"),
    )
    assert [note.text for note in asks[1].notes] == ["> Matched: Not yet"]


def wide(count: int) -> Tree:
    """A level of that many options."""
    codes = [chr(65 + n // 26) + chr(65 + n % 26) for n in range(count)]
    return tree("## Decision: Wide\n" + "".join(f"- [{c}] Option {c}\n" for c in codes))


@pytest.mark.parametrize(
    ("count", "room"), [(5, 4), (6, 4), (7, 4), (8, 4), (23, 4), (4, 3), (9, 3)]
)
def test_wide_levels_are_paged_in_order(count: int, room: int) -> None:
    """Every option is shown once, in order; every page but the last ends in More…."""
    flow = decide(wide(count), items(1), context=CONTEXT, limits=Limits(options=room))
    seen: list[str] = []
    ask = next(flow)
    while True:
        assert isinstance(ask, Ask)
        codes = [choice.code for choice in ask.questions[0].choices]
        assert 2 <= len(codes) <= room
        seen += [code for code in codes if code != MORE]
        if MORE not in codes:
            break
        assert codes[-1] == MORE
        ask = flow.send(Reply((Answer(ask.key, (MORE,)),)))
    assert seen == [option.code for option in wide(count).decisions[0].options]


def test_a_further_page_says_why_it_is_asked() -> None:
    """Whoever comes back to an item is told what led there."""
    asks, _ = drive(decide(wide(5), items(2), context=CONTEXT), pick(MORE), pick("AD"), pick("AE"))
    assert [ask.preamble.why for ask in asks[1:]] == ["More…: here are the further options."] * 2


def test_picks_on_earlier_pages_are_kept() -> None:
    """In a paged multi-select level, choosing and turning the page goes together."""
    text = "## Decision: W\n" + "".join(f"- [{c}{c}] [ ] Option {c}\n" for c in "ABCDEFG")
    _, result = drive(
        decide(tree(text), items(1), context=CONTEXT), pick("BB", MORE), pick("FF", "DD")
    )
    assert paths(result) == ["BB,DD,FF"]


def test_own_words_beside_more_are_kept() -> None:
    """What was typed on an early page stands last in the end."""
    text = "## Decision: W\n" + "".join(f"- [{c}{c}] [ ] Option {c}\n" for c in "ABCDEFG")
    _, result = drive(
        decide(tree(text), items(1), context=CONTEXT),
        pick("BB", MORE, text="and the docs"),
        pick("FF"),
    )
    assert paths(result) == ["BB,FF,OTH/custom:and the docs"]


def test_picks_and_own_words_beside_back_are_kept() -> None:
    """Turning back a page is no other than turning on."""
    text = "## Decision: W\n" + "".join(f"- [{c}{c}] [ ] Option {c}\n" for c in "ABCDEFG")
    flow = decide(tree(text), items(1), context=CONTEXT)
    _, result = drive(flow, pick(MORE), pick("EE", "<", text="and the docs"), pick("AA"))
    assert paths(result) == ["AA,EE,OTH/custom:and the docs"]


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"extra": "A"}, "TAG,NO/RWK,OTH/smart:Ask around"),
        ({"prefix": "force", "argument": "BRS"}, "TAG,NO/RWK,BRS"),
    ],
)
def test_what_is_ticked_beside_a_letter_or_a_force_counts(
    more: dict[str, object], path: str
) -> None:
    """Nothing that was chosen is lost."""
    flow = decide(tree(TAGS), items(1), context=CONTEXT, extras=[Extra("A", "Ask around")])
    _, result = drive(flow, pick("TAG", "NO", **more), pick("RWK"))
    assert paths(result) == [path]


def test_what_was_added_before_a_blank_other_counts() -> None:
    """Also where there is one option behind Other, which picks itself."""
    text = "## Decision: W\n- [AA] [ ] One\n- [BB] [ ] Two\n- [OTH] Other\n  - [CC] Three\n"
    _, result = drive(
        decide(tree(text), items(1), context=CONTEXT), pick(prefix="add", argument="bb"), pick()
    )
    assert paths(result) == ["BB,OTH/CC"]


@pytest.mark.parametrize(
    ("replies", "label"),
    [
        ([pick(), pick("MOV")], "Move it"),
        ([pick("OTH/MOV", raw="mov")], "Move it"),
        ([pick(prefix="force", argument="oth/mov")], "Move it"),
        ([pick("NO"), pick("RWK")], "Write it anew"),
        ([pick(prefix="force", argument="NO/RWK")], "Write it anew"),
    ],
)
def test_a_label_is_the_same_whichever_way_it_was_chosen(
    replies: list[Callable[[Ask], Reply]], label: str
) -> None:
    """By a menu, by a code, or by force."""
    _, result = drive(decide(tree(STEP), items(1), context=CONTEXT), *replies)
    assert result["chosenItems"][0]["labels"] == [label]


def test_labels_do_not_say_what_was_recommended() -> None:
    """The mark is for whoever chooses."""
    marked = tree(STEP.replace("] Fine", "] Fine (recommended)"))
    _, result = drive(decide(marked, items(1), context=CONTEXT), pick("OK"))
    assert result["chosenItems"][0]["labels"] == ["Fine"]


def test_headers_are_cut() -> None:
    """The label is cut at 20 characters; a narrower host keeps the id."""
    long = [Item("SLUG/4.2.3/2", "A label that is much too long", "T")]
    asks, _ = drive(decide(tree(STEP), long, context=CONTEXT), pick("OK"))
    assert asks[0].questions[0].header == "SLUG/4.2.3/2. A label that is muc…"
    asks, _ = drive(
        decide(tree(STEP), items(1), context=CONTEXT, limits=Limits(header=8)), pick("OK")
    )
    assert asks[0].questions[0].header == "1.1. St…"


def test_question_texts_within_an_ask_are_unique() -> None:
    """Hosts find answers by text: titles, then ids, tell equal questions apart."""
    twins = [Item("1", title="Same"), Item("2", title="Same"), Item("3", title="Else")]
    asks, _ = drive(decide(tree(STEP), twins, context=CONTEXT, question="Does it fit?"), pick("OK"))
    texts = [question.text for question in asks[0].questions]
    assert texts == ["Does it fit? (Same) (1)", "Does it fit? (Same) (2)", "Does it fit? (Else)"]


def test_several_decisions_that_share_a_question_are_told_apart() -> None:
    """By the names of the decisions; one with a question of its own needs none."""
    two = tree(
        "### ¶ASK_TWO\nQuestion: Is {title} right?\n\n## Decision: Kind\n- [AA] a\n- [BB] b\n\n"
        "## Decision: Time\n- [AA] a\n- [BB] b\n"
    )
    asks, _ = drive(decide(two, [Item("1", title="It")], context=CONTEXT), pick("AA"))
    assert [q.text for q in asks[0].questions] == ["Kind: Is It right?", "Time: Is It right?"]


PLAN = """\
### ¶ASK_PLAN
Keywords: plan

## Decision: Colour
- [OLD] Red
- [NEW] Blue

## Decision: Engine
- [OLD] Gas
- [NEW] Electric
"""


def test_several_decisions_without_items_are_about_the_tree() -> None:
    """Each question names its decision alone, and no path is told of another decision."""
    asks, result = drive(decide(tree(PLAN), context=CONTEXT), pick("NEW"))
    told = [(q.header, q.text.removeprefix(CONTEXT).strip()) for q in asks[0].questions]
    assert told == [("1. PLAN", "Colour?"), ("1. PLAN", "Engine?")]
    chosen = [(one["item"], one["decision"], one["path"]) for one in result["chosenItems"]]
    assert chosen == [("PLAN", "Colour", "NEW"), ("PLAN", "Engine", "NEW")]


def test_an_aside_without_items_is_about_its_own_tree() -> None:
    """It is not asked about the decision in the middle of which it came."""
    asks, _ = drive(
        decide(tree(STEP), context=CONTEXT, trees=[tree(PLAN)]),
        pick(tree="PLAN"),
        pick("NEW"),
        pick("OK"),
    )
    told = [(q.header, q.text.removeprefix(CONTEXT).strip()) for q in asks[1].questions]
    assert told == [("1. PLAN", "Colour?"), ("1. PLAN", "Engine?")]


def test_the_question_carries_a_summary() -> None:
    """Without a question of its own, the first sentences of the context stand in the text."""
    item = Item("1", "Auth", "Auth design", "It uses tokens. They expire. Nobody checks that.")
    asks, _ = drive(decide(tree(STEP), [item], context=CONTEXT), pick("OK"))
    assert asks[0].questions[0].text == "It uses tokens. They expire. Step: Auth design?"
    question = STEP.replace("Decision: Step", "Decision: Go on?")
    asks, _ = drive(decide(tree(question), context="A step waits."), pick("OK"))
    assert asks[0].questions[0].text == "A step waits. Go on?"


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("ひびがある。昨日広がった。明日は雨だ。", "ひびがある。昨日広がった。"),
        ("「危ない！」と言った。雨だ。寒い。", "「危ない！」と言った。"),
        ("She said “wait.” It rained. It froze.", "She said “wait.” It rained."),
        ("It costs approx. 3, e.g. at Dr. Oe. So. No.", "It costs approx. 3, e.g. at Dr. Oe. So."),
    ],
)
def test_a_summary_has_two_sentences_in_any_script(context: str, expected: str) -> None:
    """Also without blanks between them or with a quotation at an end; abbreviations end none."""
    assert wording.summary(context) == expected


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("It is done:\n```py\nx = a.b\n```\nNothing is left.", "It is done: Nothing is left."),
        ("  ```\n  open", "``` open"),
        ("Use ```x``` now. Then go.", "Use ```x``` now. Then go."),
    ],
)
def test_a_summary_leaves_fenced_code_out(context: str, expected: str) -> None:
    """It stands in the preamble; where there is nothing else, it is better than nothing."""
    assert wording.summary(context) == expected


def test_slots_are_filled() -> None:
    """`{slots}` come from the item's fields and from the caller's values."""
    item = Item("1", "Auth", "Auth design", fields={"owner": "the web team"})
    asks, _ = drive(
        decide(
            tree(STEP),
            [item],
            context=CONTEXT,
            question="{title} of {owner}: ready for {version}?",
            values={"version": "2.1"},
        ),
        pick("OK"),
    )
    assert asks[0].questions[0].text == "Auth design of the web team: ready for 2.1?"


@pytest.mark.parametrize(
    "context",
    [
        *("", "  ", "About {topic}.", "About { topic }.", "About [topic].", "TODO", "It is TBD."),
        *("About [topic]: keep it?", "[topic]: keep it?", "About [ topic ].", "_[topic]_ first."),
        *("Owner: TBD/TODO.", "It is _TBD_.", "It is __TBD__.", "~~~\n{x}\n~~~\n\nAbout [topic]."),
        *("Die {größe}.", "[größe] fehlt.", "О {имя}.", "[имя]", "{名前}", "[名前]", "{नाम}"),
    ],
)
def test_a_run_without_context_is_refused(context: str) -> None:
    """Empty context and unfilled slots are refused, even when the items carry some."""
    carrying = [Item("1", "A", "A", "Plenty of context.")]
    with pytest.raises(ContextRequired):
        decide(tree(STEP), carrying, context=context)


@pytest.mark.parametrize(
    "context",
    [
        "Run `f({topic})`.",
        "Read `~/notes/[topic]`.",
        "See [the page](x.md).",
        "At https://x/{id}.",
        "The file TODO.md is old.",
        "It returns list[str] or rows[index].",
        "- [x] done\n- [ ] open, [ x ] done",
        "See [the plan][plan].\n\n[plan]: docs/plan.md\n[page]: https://x.org/{id}",
        "It says:\n\n~~~text\nHello [name], {greeting} TODO\n~~~\n\nShall it?",
        "See docs/TODO and _TODO of it.",
        "As [OK] or [RWK], {1} of {2}, ${HOME}.",
    ],
)
def test_code_links_and_urls_are_no_slots(context: str) -> None:
    """What only looks like a slot is context."""
    next(decide(tree(STEP), items(1), context=context))


def test_the_callers_values_fill_the_context_too() -> None:
    """As they fill the question."""
    flow = decide(tree(STEP), items(1), context="About {topic}.", values={"topic": "tokens"})
    asks, _ = drive(flow, pick("OK"))
    assert asks[0].preamble.context == "About tokens."


def test_unfilled_questions_are_refused() -> None:
    """A slot in the question that nothing fills is refused before anyone is asked."""
    with pytest.raises(ContextRequired, match=r"\{owner\}"):
        decide(tree(STEP), items(1), context=CONTEXT, question="Is {owner} happy?")


SLOTTED = """## Decision: Deploy
- [NOW] Deploy {service} now
  {title} goes out as {version}
- [NO] Not yet
  Something is missing
  - [WAI] Wait for {owner}
    They know {service}
- [CUT] Leave it out
  Nobody needs it
"""


def test_slots_are_filled_wherever_a_person_sees_them() -> None:
    """READINGS 54: labels, descriptions, extras, and the labels, titles and contexts of items."""
    found = [
        Item("1", "{service}", "Send {service}", "{owner} wrote it.", fields={"owner": "Ada"}),
        Item("2", "Mail", "Mail", fields={"service": "mail", "owner": "Bo"}),
    ]
    extras = [Extra("A", "Ask {owner}")]
    values = {"version": "2.1", "service": "chat"}
    flow = decide(tree(SLOTTED), found, context=CONTEXT, extras=extras, values=values)
    asks, result = drive(flow, pick("NO"), pick("WAI"), pick(extra="A"))
    first, second = asks[0].questions
    assert [c.label for c in first.choices[:2]] == ["Deploy chat now", "Not yet"]
    assert first.choices[0].description == "Send chat goes out as 2.1"
    assert second.choices[0].description == "Mail goes out as 2.1"
    assert (first.header, first.title, first.extras[0].text) == ("1. chat", "Send chat", "Ask Ada")
    assert asks[0].preamble.blocks == ("**1. chat** — Ada wrote it.",)
    assert asks[1].questions[0].choices[0].label == "Wait for Ada"
    assert [c["item"] for c in result["chosenItems"]] == ["Send chat", "Mail"]
    assert [c["labels"] for c in result["chosenItems"]] == [["Wait for Ada"], ["Ask Bo"]]


@pytest.mark.parametrize(
    ("text", "items", "more", "said"),
    [
        (SLOTTED, [], {"version": "2", "owner": "x"}, "label of [NOW] still says {service}"),
        (SLOTTED, [], {"service": "x", "owner": "x"}, "[NOW] still says {title}"),
        (SLOTTED, [Item("1")], {"service": "x", "version": "2"}, "[NO/WAI] still says {owner}"),
        (STEP.replace("Fine", "Fine [reason]"), [], {}, "the label of [OK] still says [reason]"),
        (STEP.replace("Run the tests", "Run {them}"), [], {}, "extra A still says {them}"),
        (STEP, [Item("1", "{name}")], {}, "the label of item 1 still says {name}"),
        (STEP, [Item("1", "x", "About {name}")], {}, "the title of item 1 still says {name}"),
        (STEP.replace("step waits\n", "x\nQuestion: Is {title} right?\n"), [], {}, "says {title}"),
        (STEP.replace("Fine", "Fine, {name}"), [], {"name": " "}, "[OK] still says {name}"),
        (STEP, [Item("1", "{name}")], {"name": ""}, "the label of item 1 still says {name}"),
        (STEP, [Item("1", "x", "{name}")], {"name": " "}, "the title of item 1 still says {name}"),
        (STEP, [Item("1", "x", "y", "{n}")], {"n": ""}, "the context of item 1 still says {n}"),
        (STEP, [Item("1", question="{context} Right?")], {}, "item 1 still says {context}"),
        (STEP.replace(": Step\n", ": Step {n}\n"), [], {}, "the decision still says {n}"),
        (STEP.replace(": Step\n", ": Step {n}\n"), [Item("1", "x")], {}, "item 1 still says {n}"),
    ],
)
def test_slots_that_nothing_fills_are_refused_wherever_they_stand(
    text: str, items: list[Item], more: dict[str, str], said: str
) -> None:
    """Before anyone is asked; without items, nothing is called `{title}`; blanks fill nothing."""
    with pytest.raises(ContextRequired, match=re.escape(said)):
        decide(tree(text), items, context=CONTEXT, values=more)


def test_slots_are_filled_in_the_names_of_decisions_and_fields() -> None:
    """READINGS 54: both are shown; a slot may have letters of any script."""
    text = STEP.replace("Decision: Step", "Decision: Größe {größe}")
    said = {"title": "How many {waren}", "description": "of all {waren}"}
    fields = [Field("many", {"type": "integer"} | said)]
    values, one = {"größe": "XL", "waren": "hats"}, [Item("1", "Hut", "Hut", "Er passt.")]
    for items, asked in (([], f"{CONTEXT} Größe XL?"), (one, "Er passt. Größe XL: Hut?")):
        ask = next(decide(tree(text), items, context=CONTEXT, values=values, fields=fields))
        assert isinstance(ask, Ask)
        (question,) = ask.questions
        assert (question.text, question.fields[0].label) == (asked, "How many hats")
        assert question.fields[0].description == "of all hats"
    for unfilled in (fields[0], Field("many", {"description": "of all {waren}"})):
        with pytest.raises(ContextRequired, match=r"the field many still says \{waren\}"):
            decide(tree(STEP), context=CONTEXT, fields=[unfilled])


def test_a_blank_question_is_none() -> None:
    """The next words that there are take its place, and the context where there are none."""
    worded = STEP.replace("step waits\n", "x\nQuestion: All set. Go on?\n")
    items = [Item("1", title="Mail", context="Nothing is lost", question=" ")]
    for text, asked in ((worded, "All set. Go on?"), (STEP, "Nothing is lost. Step: Mail?")):
        asks, _ = drive(decide(tree(text), items, context=CONTEXT, question=" "), pick("OK"))
        assert asks[0].questions[0].text == asked


@pytest.mark.parametrize(
    ("typed", "tags"),
    [
        ("needs-review, #later", ["needs-review", "later"]),
        ("needs-review #later", ["needs-review", "later"]),
        ("one and #two", ["one", "two"]),
        ("one, two; #three", ["one", "two", "three"]),
        ("one, `#two`", ["one"]),
        ("one and `#two`", ["one"]),
    ],
)
def test_several_tags_are_several(typed: str, tags: list[str]) -> None:
    """Commas and further signs part them; one in backticks is inert."""
    tag = pick(prefix="tag", argument=typed)
    asks, result = drive(decide(tree(STEP), items(1), context=CONTEXT), tag, pick("OK"))
    assert result["chosenItems"][0]["tags"] == tags
    assert asks[1].notes[0].text == f"Tagged {', '.join(f'#{tag}' for tag in tags)}."


def test_a_tag_is_one_word() -> None:
    """What is said behind it decides nothing, and is kept as a comment."""
    asks, result = drive(asking(TAGS), typed("#later TAG, #soon"), pick("BRS"))
    (chosen,) = result["chosenItems"]
    assert (chosen["path"], chosen["tags"]) == ("BRS", ["later", "soon"])
    assert chosen["comment"] == "TAG"
    assert asks[1].notes[0].text == "Tagged #later, #soon. “TAG” is recorded as a comment."


def test_a_deep_explanation_names_what_was_chosen_by_labels() -> None:
    """Nobody has to know codes."""
    flow = decide(tree(STEP), items(2), context=CONTEXT, limits=Limits(questions=1))
    asks, _ = drive(flow, pick("CUT"), pick(prefix="deep"), pick("OK"))
    said = "Chosen for other items so far: Step number 1: Leave it out"
    assert said in asks[2].preamble.why


def test_a_run_that_began_before_still_opens() -> None:
    """What was not refused then is shown as it was."""
    terms = {"tree": msgspec.to_builtins(tree(SLOTTED)), "context": CONTEXT}
    ask = next(start(terms))
    assert isinstance(ask, Ask)
    assert ask.questions[0].choices[0].label == "Deploy {service} now"


@pytest.mark.parametrize("called", ["Clear the TODO list", "TBD", "About [topic]", "{topic}"])
def test_unfilled_titles_and_labels_are_refused(called: str) -> None:
    """A person would see them; in backticks they are meant as they stand."""
    for item in (Item("1", "x", called), Item("1", called, "x")):
        with pytest.raises(ContextRequired, match="of item 1 still says"):
            decide(tree(STEP), [item], context=CONTEXT)
    quoted = Item("1", "x", f"Clear `{called}`")
    ask = next(decide(tree(STEP), [quoted], context=CONTEXT))
    assert isinstance(ask, Ask)
    assert quoted.title in ask.questions[0].text


@pytest.mark.parametrize("title", ["Clear the TODO list", "TBD", "Keep [draft] tags"])
def test_a_title_of_a_run_that_began_before_is_shown(title: str) -> None:
    """It was let through then."""
    item = {"id": "1", "label": "x", "title": title}
    terms = {"tree": msgspec.to_builtins(tree(STEP)), "context": CONTEXT, "items": [item]}
    ask = next(start(terms))
    assert isinstance(ask, Ask)
    assert title in ask.questions[0].text


def test_a_title_fills_no_other_slot() -> None:
    """What nobody filled in beside it is refused all the same."""
    with pytest.raises(ContextRequired, match=r"\{topic\}"):
        decide(tree(STEP), [Item("1", "x", "topic")], context=CONTEXT, question="{title}: {topic}?")


@pytest.mark.parametrize("bad", ["", "x y", "1.", "a", "1//2", "1.b", "１", "É/1"])
def test_odd_ids_are_refused(bad: str) -> None:
    """An id is a number, with dots and a slash where it has parts."""
    with pytest.raises(QuandaryError, match="item id"):
        decide(tree(STEP), [Item(bad)], context=CONTEXT)


def test_two_items_with_one_id_are_refused() -> None:
    """Answers are found by id."""
    with pytest.raises(QuandaryError, match="two items"):
        decide(tree(STEP), [Item("1"), Item("1")], context=CONTEXT)


def test_a_code_with_a_slash_can_be_chosen() -> None:
    """It breaks a rule; the tree still runs, and every option stays within reach."""
    text = (
        "## Decision: D\n- [A/B] x\n  - [C/D] y\n  - [E] z\n- [OTH] Other\n  - [F/G] u\n  - [H] v\n"
    )
    for codes in (["A/B", "C/D"], ["OTH/F/G"], ["", "F/G"]):
        replies = [pick(code) if code else pick() for code in codes]
        _, result = drive(decide(tree(text), items(1), context=CONTEXT), *replies)
        assert paths(result) == ["/".join(code or "OTH" for code in codes)]


@pytest.mark.parametrize("text", ["## Decision: D\n- [A] x\n- [A] y\n", "### ¶ASK_X\nTrigger: t\n"])
def test_unclear_trees_are_refused(text: str) -> None:
    """Duplicate codes and missing options leave no meaning to ask about."""
    with pytest.raises(Rejected):
        decide(tree(text), items(1), context=CONTEXT)


def test_a_duplicate_code_is_refused_with_its_line() -> None:
    """READINGS 7: the line that has to change, not the one where its level begins."""
    text = "## Decision: X\n- [A] One\n- [B] Two\n  more\n- [b] Three\n"
    with pytest.raises(Rejected, match=r"code \[b\] on line 5 is taken already"):
        decide(tree(text), context=CONTEXT)


def test_the_preamble_ends_with_an_empty_line() -> None:
    """The question box covers the last line of text."""
    asks, _ = drive(decide(tree(STEP), items(1), context=CONTEXT), pick("OK"))
    assert asks[0].preamble.text.endswith("\n\n")


def test_kind_comes_from_the_caller_then_the_tree() -> None:
    """A tree's Kind is used unless the caller says otherwise."""
    advisory = msgspec.structs.replace(tree(STEP), kind="advisory")
    asks, _ = drive(decide(advisory, items(1), context=CONTEXT), pick("OK"))
    assert asks[0].kind == "advisory"
    asks, _ = drive(decide(advisory, items(1), context=CONTEXT, kind="transition"), pick("OK"))
    assert asks[0].kind == "transition"


def arguments(chosen: Tree, count: int) -> dict[str, Any]:
    """What a journal keeps of a run."""
    kept = {"tree": chosen, "context": CONTEXT, "items": items(count)}
    loaded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(kept))
    return loaded


def answers(ask: Ask, numbers: list[int]) -> Reply:
    """Some reply to an Ask, chosen by numbers."""
    given_answers = []
    for position, question in enumerate(ask.questions):
        number = numbers[position % len(numbers)] if numbers else 0
        ways = [
            *(Answer(question.key, (choice.code,)) for choice in question.choices),
            *(Answer(question.key, (choice.code,)) for choice in question.named),
            Answer(question.key),
            Answer(question.key, text="words, with a comma"),
            Answer(question.key, prefix="explain"),
            Answer(question.key, prefix="force", argument=question.options[0].code),
            Answer(question.key, prefix="add", argument=question.options[-1].code),
            Answer(question.key, among=tuple(c.code for c in question.options[:2]), text="which"),
        ]
        if question.multi:
            ways.append(Answer(question.key, tuple(c.code for c in question.choices)))
        given_answers.append(ways[number % len(ways)])
    return Reply(tuple(given_answers))


@settings(max_examples=60)
@given(
    chosen=trees(),
    count=st.integers(1, 6),
    script=st.lists(st.lists(st.integers(0, 50), max_size=4), max_size=25),
)
def test_any_tree_and_any_replies_end_in_paths_of_the_tree(
    chosen: Tree, count: int, script: list[list[int]]
) -> None:
    """The flow ends or waits, never asks about what is resolved, and returns paths that exist."""
    flow = start(arguments(chosen, count))
    request = next(flow)
    seen: set[str] = set()
    result: dict[str, Any] | None = None
    for turn in range(400):
        assert isinstance(request, Ask)
        for question in request.questions:
            assert question.key not in seen
            seen.add(question.key)
            assert 1 <= len(question.choices) <= 4
        texts = [question.text for question in request.questions]
        assert len(set(texts)) == len(texts)
        numbers = script[turn] if turn < len(script) else [0]
        reply = answers(request, numbers)
        if turn >= len(script):
            reply = Reply(tuple(Answer(q.key, text="enough") for q in request.questions))
        try:
            request = flow.send(reply)
        except StopIteration as end:
            result = end.value
            break
    assert result is not None
    known = [
        {"/".join(path) for path, _ in walk(decision.options)} for decision in chosen.decisions
    ]
    for position, entry in enumerate(result["chosenItems"]):
        assert entry["path"]
        if "custom:" in entry["path"] or "smart:" in entry["path"] or "force:" in entry["path"]:
            continue
        options = known[position % len(known)]
        assert all(path in options for path in entry["path"].split(","))


SCRIPT = """
import json, sys
import msgspec
from quandary.flows.decide import start
from quandary.model.asks import Reply
told = json.load(sys.stdin)
flow = start(told["arguments"])
shown = []
request = next(flow)
for reply in told["replies"]:
    shown.append(msgspec.json.encode(request).decode())
    try:
        request = flow.send(msgspec.convert(reply, Reply))
    except StopIteration as end:
        shown.append(json.dumps(end.value))
        break
print(json.dumps(shown))
"""


def test_a_flow_is_the_same_in_every_process() -> None:
    """The same replies give the same asks, whatever the hash seed."""
    told = arguments(tree(STEP + "\n" + TAGS), 5)
    flow = start(told)
    request = next(flow)
    replies: list[Any] = []
    for turn in range(40):
        assert isinstance(request, Ask)
        reply = answers(request, [turn * 7, turn * 3 + 1, turn, 11])
        replies.append(msgspec.to_builtins(reply))
        try:
            request = flow.send(reply)
        except StopIteration:
            break
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input=json.dumps({"arguments": told, "replies": replies}),
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "33")
    }
    assert len(outputs) == 1
    assert is_multi(tree(TAGS).decisions[0].options)
