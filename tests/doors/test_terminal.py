"""The question box, pressed key by key, and the numbered text that stands in for it."""

from __future__ import annotations

import asyncio
import fcntl
import html
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace
from textual import events

from program import environment
from quandary.desk.drafts import Draft
from quandary.doors import terminal
from quandary.doors.terminal.box import Box, lay_out
from quandary.flows.decide import decide
from quandary.formats.markdown import parse
from quandary.formats.proof import declare_fields
from quandary.model.asks import MORE, Answer, Ask, Choice, Note, Outcome, Preamble, Question, Reply
from quandary.model.tree import Extra

if TYPE_CHECKING:
    from textual.pilot import Pilot

ROOT = Path(__file__).resolve().parents[2]

CHOICES = (
    Choice("OK", "Keep it", "It stays as written"),
    Choice("INF", "Explain it further", "Something is not clear"),
    Choice("RWK", "Write it anew", "The goal holds", branch=True),
)
BEHIND = (Choice("OTH/REM", "Take it out"), Choice("OTH/SPL", "Take it apart"))
EXTRAS = (Extra("A", "Estimate it"),)
FLAGS = (
    Choice("TAG", "Tag it"),
    Choice("BRS", "Brush it"),
    Choice("CUT", "Cut it"),
    Choice(MORE, "More…", "3 further options"),
)


def question(number: int = 1, **changes: Any) -> Question:  # noqa: ANN401 - any field
    """A question on one of four items."""
    names = ("Auth Design", "Data Model", "Rate Limits", "Docs")
    asked = Question(
        key=f"1.{number}:",
        header=f"1.{number}. {names[number - 1]}",
        text=f"Is {names[number - 1]} right?",
        choices=CHOICES,
        item=f"1.{number}",
        named=BEHIND,
        menu=True,
    )
    return replace(asked, **changes)


def asking(*questions: Question, context: str = "The plan has four steps.") -> Ask:
    """An Ask of these questions, or of one."""
    asked = questions or (question(),)
    blocks = tuple(f"**{q.header}** — About {q.item}." for q in asked)
    return Ask(asked[0].key, "transition", Preamble(context, blocks), asked)


class Seen(NamedTuple):
    """What came of some keys: what was returned, if anything, and what was shown at the end."""

    returned: Reply | Outcome | None
    lines: list[str]
    drafts: tuple[Draft, ...]
    at: int

    @property
    def text(self) -> str:
        """All that was shown."""
        return "\n".join(self.lines)

    @property
    def answers(self) -> list[Answer]:
        """What was sent."""
        assert isinstance(self.returned, Reply)
        return list(self.returned.answers)


def answers(ask: Ask, *rounds: Keys) -> list[Answer]:
    """What each of the rounds sends in answer to the only question."""
    return [answer for seen in play(ask, *rounds) for answer in seen.answers]


class Held(Box):
    """A box that stays open when it would close, so that the next keys find it there."""

    returned: Reply | Outcome | None = None

    def exit(
        self, result: Reply | Outcome | None = None, return_code: int = 0, message: object = None
    ) -> None:
        """Note what would be returned."""
        assert (return_code, message) == (0, None)
        self.returned = result

    async def anew(self, ask: Ask) -> None:
        """As if it had just been opened."""
        self.ask, self.at, self.returned = ask, 0, None
        self.warning, self.helping, self.leaving = "", False, False
        self.drafts = Box(ask).drafts
        await self._show()


Keys = Sequence[str | events.Event]


def play(ask: Ask, *rounds: Keys, size: tuple[int, int] = (80, 40)) -> list[Seen]:
    """For each of the rounds, press its keys in a fresh box (or let other things happen)."""

    async def run() -> list[Seen]:
        box = Held(ask)
        found: list[Seen] = []
        async with box.run_test(size=size) as pilot:
            for keys in rounds:
                await box.anew(ask)
                for key in keys:
                    box.post_message(pressed(key) if isinstance(key, str) else key)
                    await settled(pilot, 3)
                await settled(pilot)
                found.append(Seen(box.returned, shown(box), tuple(box.drafts), box.at))
        return found

    return asyncio.run(run())


def press(ask: Ask, *keys: str | events.Event, size: tuple[int, int] = (80, 40)) -> Seen:
    """Press keys in a fresh box, and look at it."""
    (seen,) = play(ask, keys, size=size)
    return seen


def pressed(key: str) -> events.Key:
    """A key as the terminal's driver tells of it."""
    names = {"?": "question_mark", "/": "slash", "!": "exclamation_mark", "+": "plus"}
    names |= {"<": "less_than_sign", "=": "equals_sign"}
    character = " " if key == "space" else key if len(key) == 1 else None
    return events.Key(names.get(key, key), character)


async def settled(pilot: Pilot[Reply | Outcome], turns: int = 4) -> None:
    """A key goes from part to part; painting, fitting and scrolling follow one another."""
    for _ in range(turns):
        await pilot.pause(0)


def typed(words: str) -> Keys:
    """The words, as they come in at once."""
    return [events.Paste(words)] if words else []


def shown(box: Box) -> list[str]:
    """The rows of the screen, taken from its picture."""
    pattern = r'<text [^>]*x="([\d.]+)"[^>]*-line-(\d+)\)"[^>]*>(.*?)</text>'
    rows = [""] * box.size.height
    for x, row, text in re.findall(pattern, box.export_screenshot()):
        cells = html.unescape(text).replace("\xa0", " ").rstrip("\n")
        rows[int(row)] = rows[int(row)].ljust(round(float(x) / 12.2)) + cells
    return [row.rstrip() for row in rows]


def picked(*codes: str) -> Answer:
    """A plain pick on the first item."""
    return Answer("1.1:", picked=codes)


# -- moving and picking ----------------------------------------------------------------------------


def test_enter_picks_the_choice_that_the_cursor_is_on() -> None:
    """Arrows, j and k move the cursor, round the ends; enter sends a single question at once."""
    rounds = (["enter"], ["down", "enter"], ["j", "j", "k", "enter"], ["up", "up", "enter"])
    assert [picked("OK"), picked("INF"), picked("INF"), picked("RWK")] == answers(asking(), *rounds)


def test_the_box_closes_with_the_reply() -> None:
    """The box itself, not held open: it ends with what was answered."""
    box = Box(asking())

    async def run() -> None:
        async with box.run_test() as pilot:
            await pilot.press("enter")

    asyncio.run(run())
    assert Reply((picked("OK"),)) == box.return_value


def test_a_digit_picks() -> None:
    """The number before a choice picks it without a further key."""
    assert [picked("RWK")] == answers(asking(), ["3"])


def test_the_number_of_other_leads_to_its_line() -> None:
    """Other needs words, so its number only goes there; numbers beyond it do nothing."""
    seen = press(asking(), "9", "0", "4", "x")
    assert seen.returned is None
    assert seen.drafts[0].words == "x"


def test_the_first_letter_of_a_code_leads_to_its_choice() -> None:
    """A letter moves the cursor and picks nothing; a path counts by its end."""
    choices = (Choice("RUN", "Run"), Choice("OK", "Keep"), Choice("OTH/REM", "Take out"))
    one, two, three = play(asking(question(choices=choices)), ["o"], ["r"], ["r", "r"])
    assert (one.returned, one.drafts[0].at) == (None, 1)
    assert (two.drafts[0].at, three.drafts[0].at) == (2, 0)


def test_capitals_lead_to_codes_whose_letter_is_a_key_of_its_own() -> None:
    """`c`, `j`, `k` and `q` are keys; as capitals they are letters of codes."""
    choices = (Choice("OK", "Keep"), Choice("CHG", "Change"), Choice("QIT", "Stop"))
    rounds = (["C", "enter"], ["Q", "enter"])
    ask = asking(question(choices=choices))
    assert [picked("CHG"), picked("QIT")] == answers(ask, *rounds)


def test_space_picks_nothing_where_one_is_to_be_chosen() -> None:
    """Space ticks; where there is nothing to tick, it says which key picks."""
    seen = press(asking(), "space")
    assert seen.returned is None
    assert "press enter to pick it" in seen.text


def test_the_header_stays_where_one_question_is_asked_again() -> None:
    """A follow-up asks about one item of a batch, under the header that it had there."""
    one = question(2, header="1.2. Data [bold]Model", text="[NO]: Is Data Model right?")
    assert "╭─ 1.2. Data [bold]Model ─" in press(asking(one)).text
    assert "╭─ 1" not in press(asking(question(1), one)).text


def test_the_header_is_shown_where_there_is_no_room_for_a_frame() -> None:
    """A narrow box says which item it asks about, too."""
    seen = press(asking(question(2)), size=(44, 30))
    assert any(line.strip() == "1.2. Data Model" for line in seen.lines), seen.text


def test_the_legend_is_always_shown() -> None:
    """What can be typed besides the choices stands below them."""
    ask = asking()
    hints = "Blank shows more | Q: asks something | ? explains"
    ask = replace(ask, preamble=replace(ask.preamble, hints=hints))
    for keys in ([], ["/", "x"]):
        assert f"Try: {hints}" in press(ask, *keys).text


def test_branches_end_in_dots_and_codes_and_descriptions_are_shown() -> None:
    """A choice says that more is to come, what its code is and what it means."""
    text = press(asking()).text
    assert "Write it anew...  RWK" in text
    assert "It stays as written" in text
    assert "Other..." in text


# -- several at once -------------------------------------------------------------------------------


def test_space_ticks_and_enter_goes_on_with_the_ticks_in_their_order() -> None:
    """Ticks are answered in the order of the choices, whatever order they were made in."""
    ask = asking(question(choices=FLAGS[:3], multi=True))
    sent, open_one = play(
        ask, ["3", "k", "k", "space", "enter"], ["space", "space", "down", "space"]
    )
    assert [picked("TAG", "CUT")] == sent.answers
    assert "1 [ ] Tag it" in open_one.text
    assert "❯ 2 [x] Brush it" in open_one.text


def test_nothing_ticked_is_no_answer() -> None:
    """Enter with nothing ticked says what to do, so that no choice is taken by accident."""
    seen = press(asking(question(choices=FLAGS[:3], multi=True)), "enter")
    assert seen.returned is None
    assert "Nothing is ticked yet" in seen.text


def test_ticks_and_words_go_together() -> None:
    """Where several can be chosen, the Other line adds to the ticks."""
    ask = asking(question(choices=FLAGS[:3], multi=True))
    rounds = (
        ["space", "/", *typed("polish it"), "enter"],
        ["space", "/", *typed("take it o"), "enter"],
        ["space", "/", *typed("other"), "enter"],
        ["space", "/", "enter"],
        ["/", "enter"],
    )
    assert [
        Answer("1.1:", picked=("TAG",), text="polish it", raw="polish it"),
        Answer("1.1:", picked=("TAG", "OTH/REM"), raw="take it o"),
        Answer("1.1:", picked=("TAG", "OTH"), raw="other"),
        picked("TAG", "OTH"),
        Answer("1.1:"),
    ] == answers(ask, *rounds)
    plain = asking(question(choices=FLAGS[:3], multi=True, named=(), menu=False))
    assert answers(plain, rounds[3]) == [picked("TAG")]
    assert Draft(ask.questions[0], ticked={"TAG"}, words="other").preview() == "→ more options"


def test_what_asks_back_or_adds_goes_with_the_ticks() -> None:
    """`+` adds to what is ticked, and nothing is lost by a question; only `!` leaves the others."""
    ask = asking(question(choices=FLAGS[:3], multi=True, extras=EXTRAS))
    words = ("+brs", "?", "take", "A", "!skip")
    *sent, forced = play(ask, *(["space", "/", *typed(text), "enter"] for text in words))
    assert [seen.answers[0].picked for seen in sent] == [("TAG",)] * 4
    assert [seen.answers[0].prefix for seen in sent] == ["add", "explain", None, None]
    assert forced.returned is None
    assert "not together with ticks" in forced.text
    assert "cannot be combined with ticks" in forced.text
    assert {"TAG"} == forced.drafts[0].ticked
    skipped, text = numbered(ask, "1, !skip", "!skip")
    assert "“!skip” cannot be combined with ticks (Tag it). Which is meant?" in text
    assert isinstance(skipped, Reply)
    assert (skipped.answers[0].picked, skipped.answers[0].argument) == ((), "skip")


def test_more_takes_the_ticks_along() -> None:
    """More… leads to the next page with what is ticked on this one, by enter, space or digit."""
    ask = asking(question(choices=FLAGS, multi=True))
    rounds = (["space", "up", "up", "enter"], ["space", "up", "up", "space"], ["4"])
    expected = [picked("TAG", MORE), picked("TAG", MORE), picked(MORE)]
    assert expected == answers(ask, *rounds)


def test_more_takes_own_words_along() -> None:
    """What was typed goes to the next page with the ticks; an extra beside More… is asked about."""
    ask = asking(question(choices=FLAGS, multi=True, extras=EXTRAS))
    words, extra = play(ask, *(["space", "/", key, "up", "enter"] for key in "xA"))
    (answer,) = words.answers
    assert (answer.picked, answer.text) == (("TAG", MORE), "x")
    assert extra.returned is None
    assert "Which is meant?" in extra.text


def test_what_was_gathered_before_is_shown_and_stays() -> None:
    """Ticks of earlier pages are named; a last page with nothing on it still goes on with them."""
    ask = asking(question(choices=FLAGS[:2], named=FLAGS[2:3], multi=True, gathered=("CUT", "TAG")))
    open_one, sent = play(ask, ["space"], ["enter"])
    assert "❯ 1 [x] Tag it" in open_one.text
    assert [picked("CUT", "TAG")] == sent.answers


def test_every_page_of_a_wide_level_can_be_reached() -> None:
    """Through the real flow: More… until the last page, then a pick from it."""
    rows = "\n".join(f"- [C{n}] Choice {n}\n  Means {n}" for n in range(1, 9))
    document = parse(f"### ¶ASK_WIDE\nTrigger: t\n\n## Decision: Wide\n{rows}\n")
    flow = decide(document.trees[0], context="Eight ways are open.")
    ask = next(flow)
    for _ in range(2):
        assert isinstance(ask, Ask)
        ask = flow.send(Reply(tuple(press(ask, "4").answers)))
    assert isinstance(ask, Ask)
    with pytest.raises(StopIteration) as ended:
        flow.send(Reply(tuple(press(ask, "2").answers)))
    assert ended.value.value["chosenItems"][0]["path"] == "C8"


# -- the Other line --------------------------------------------------------------------------------

READINGS = {
    "": "→ more options",
    "take it out": "→ Take it out",
    "ok": "→ Keep it",
    "merge it with 3": "→ your own words",
    "take": "→ which? Take it out or Take it apart",
    "?": "→ asks: explain",
    "???": "→ asks: explain in full",
    "Q: why now?": "→ asks: why now?",
    "!": "→ skip it",
    "!dismiss": "→ dismiss it",
    "!rwk": "→ at once: Write it anew",
    "A": "→ A: Estimate it",
    "release": "→ asks first: ASK_RELEASE",
    "other": "→ more options",
}


@pytest.mark.parametrize(("words", "preview"), READINGS.items())
def test_the_other_line_says_how_it_will_be_read(words: str, preview: str) -> None:
    """The line below says what enter would do."""
    known = question(extras=EXTRAS, keywords={"release": "ASK_RELEASE"})
    assert preview == Draft(known, words=words).preview()


def test_the_reading_changes_while_one_types() -> None:
    """Word by word, the reading goes from unclear to one option to own words."""
    choices = (Choice("DEP", "Deploy now"), Choice("STG", "Deploy to staging"))
    rounds = [["/", *typed(words)] for words in ("deploy", "deploy now", "deploy never")]
    one, two, three = play(asking(question(choices=choices)), *rounds)
    assert "→ which? Deploy now or Deploy to staging" in one.text
    assert "→ Deploy now" in two.text
    assert "→ your own words" in three.text


def test_enter_on_the_other_line_sends_its_reading() -> None:
    """What is sent is what was previewed, with the text as it was typed beside it."""
    expected = [
        Answer("1.1:", picked=("OTH/REM",), raw="take it out"),
        Answer("1.1:", text="merge it", raw="merge it"),
        Answer("1.1:", among=("OTH/REM", "OTH/SPL"), text="take", raw="take"),
        Answer("1.1:", prefix="question", argument="why?", raw="Q: why?"),
    ]
    rounds = [["4", *typed(answer.raw or ""), "enter"] for answer in expected]
    assert expected == answers(asking(), *rounds)


def test_other_left_blank_opens_its_menu() -> None:
    """Enter on an empty Other line is a blank answer, where there is a menu."""
    blank, other = answers(asking(), ["up", "enter"], ["up", *typed("other"), "enter"])
    assert Answer("1.1:") == blank
    assert other.blank


def test_an_option_beside_own_words_is_asked_about() -> None:
    """Where one can be chosen, neither is dropped for the other; the words stay on their line."""
    for keys in (["up", "enter"], ["up", "up", "1"]):
        seen = press(asking(), "/", *typed("wait"), *keys)
        assert seen.returned is None
        assert "not both" in seen.text
        assert seen.drafts[0].words == "wait"


def test_other_left_blank_is_no_answer_without_a_menu() -> None:
    """With nothing behind Other, the box asks for words instead of sending an empty answer."""
    seen = press(asking(question(named=(), menu=False)), "up", "enter")
    assert seen.returned is None
    assert "Other has no options here" in seen.text


def test_keys_on_the_other_line_are_words() -> None:
    """On a line of text, keys type; arrows lead back to the list, and the words stay."""
    seen = press(asking(), "/", *"q1jk?c", "up")
    assert seen.drafts[0].words == "q1jk?c"
    assert "4 q1jk?c" in seen.text
    assert seen.drafts[0].at == 2


def test_what_begins_a_prefix_begins_the_other_line() -> None:
    """`!`, `#`, `@`, `+`, `Q` and the letters of extras open the Other line with themselves."""
    begun = {"!": "!", "#": "#", "@": "@", "+": "+", "Q": "Q: ", "A": "A"}
    seen = play(asking(question(extras=EXTRAS)), *([key] for key in begun), ["/", "x", "up", "!"])
    assert [*begun.values(), "x"] == [one.drafts[0].words for one in seen]
    assert all(one.drafts[0].on_other for one in seen)


def test_the_letter_of_an_extra_is_that_extra() -> None:
    """Also where the code of an option begins with it; other letters still lead to options."""
    known = question(choices=(Choice("INF", "Ask"), Choice("APR", "Approve")), extras=EXTRAS)
    for key in "Aa":
        seen = press(asking(known), key, "enter")
        assert seen.answers[0].extra == "A"
    assert press(asking(replace(known, extras=())), "A", "enter").answers == [picked("APR")]


SHOWING = (*EXTRAS, Extra("B", "Show the SQL", shows=True))


def test_extras_are_buttons_and_told_apart() -> None:
    """Each has its letter as a key; one that leaves the question open says so, in box and text."""
    seen = press(asking(question(extras=SHOWING)), "B", "enter")
    assert " A  Estimate it" in seen.text
    assert " B?  Show the SQL (to see first; the question stays open)" in seen.text
    shown = Answer("1.1:", extra="B", prefix="show", raw="B")
    assert seen.returned == Reply((shown,))
    returned, text = numbered(asking(question(extras=SHOWING)), "b")
    assert "  A: Estimate it\n  B? Show the SQL (to see first; the question stays open)" in text
    assert returned == Reply((replace(shown, raw="b"),))
    assert text.endswith("→ 1.1. Auth Design — to see first: Show the SQL\n\n")


def test_what_is_pasted_comes_in_whole_on_one_line() -> None:
    """No line of a pasted text is lost, and none of its controls reaches the terminal."""
    pasted = events.Paste("first\nsecond\x1b[2J\n")
    for seen in play(asking(), [pasted], ["/", pasted]):
        assert seen.drafts[0].words == "first second\\x1b[2J"


def test_an_enter_that_comes_with_the_words_before_it_is_not_lost() -> None:
    """A line may be opened, filled and sent before the screen has caught up."""
    box = Held(asking())

    async def run() -> None:
        async with box.run_test() as pilot:
            for key in ("/", "x", "y", "enter"):
                box.post_message(pressed(key))
            await settled(pilot, 12)

    asyncio.run(run())
    assert box.returned == Reply((Answer("1.1:", text="xy", raw="xy"),))


def test_a_second_enter_on_the_other_line_picks_nothing() -> None:
    """Two enters that come in at once answer one question, not the next one too."""
    box = Held(asking(question(1), question(2)))

    async def run() -> None:
        async with box.run_test() as pilot:
            await pilot.press("/", "x")
            for _ in range(2):
                box.post_message(pressed("enter"))
            await settled(pilot)

    asyncio.run(run())
    assert [draft.answer is not None for draft in box.drafts] == [True, False]


def proof(number: int, **changes: Any) -> Question:  # noqa: ANN401 - any field
    """A field of a proof, for which a value is typed."""
    asked = {"choices": (), "named": (), "menu": False, "value": "hours (integer)", **changes}
    return question(number, **asked)


def test_enter_in_one_proof_field_leads_to_the_next() -> None:
    """Each is typed by itself, also where one types ahead; a blank takes no other along."""
    ask = asking(proof(1), proof(2))
    first = press(ask, *"12", "enter")
    assert (first.at, [draft.words for draft in first.drafts]) == (1, ["12", ""])
    assert first.drafts[1].answer is None
    assert "more options" not in first.text
    assert "Other" not in first.text
    assert "hours (integer)" in first.text
    both = press(ask, *"12", "enter", *"?", "enter", "enter")
    assert [(a.text, a.prefix) for a in both.answers] == [("12", None), ("?", None)]
    left = press(ask, *"12", "enter", "enter", "enter")
    assert [(a.text, a.blank) for a in left.answers] == [("12", False), (None, True)]

    async def hurry() -> list[str]:
        box = Held(ask)
        async with box.run_test() as pilot:
            for key in (*"12", "enter", *"ab", "enter"):
                box.post_message(pressed(key))
            await settled(pilot)
        return [draft.words for draft in box.drafts]

    assert asyncio.run(hurry()) == ["12", "ab"]


def test_a_number_that_is_a_value_is_no_row() -> None:
    """Nor is one that stands beside no row; others pick, and nothing that was typed is lost."""
    values = [Choice(f"V{n}", str(value)) for n, value in enumerate((30, 1, 2, 40, 5, 60), 1)]
    ask = asking(proof(1, choices=tuple(values[:4]), named=tuple(values[4:])))
    ends = play(ask, ["1", "enter"], ["5", "enter"], [*"60", "enter"], ["3", "enter"])
    said = [(end.answers[0].picked, end.answers[0].text) for end in ends]
    assert said == [((), "1"), ((), "5"), ((), "60"), (("V3",), None)]
    for line in ("1", "5", "60", "7"):
        reply = terminal.numbered(ask, lines_in=[line], out=io.StringIO())
        assert isinstance(reply, Reply)
        assert reply.answers[0].text == line


@pytest.mark.parametrize("values", [["Yes, confirmed"], ["oak", "elm", "10"]])
def test_what_is_typed_for_a_proof_with_choices_is_its_value(values: list[str]) -> None:
    """Letters go to its line, from a row too, a blank to the menu; arrows and numbers choose."""
    ask = asking(proof(1, choices=tuple(Choice(f"V{n}", v) for n, v in enumerate(values, 1))))
    for word in ("no", "elm", "quick", "cjkv", "?", "12"):
        rounds = [*word, "enter"], ["up", *word, "enter"], ["down", "up", "down", *word, "enter"]
        said = [(one.picked, one.text) for one in answers(ask, *rounds)]
        assert said == [((), word)] * 3
    ends = answers(ask, ["enter"], ["x", "backspace", "enter"], ["1", "backspace", "enter"])
    assert [end.blank for end in ends] == [True] * 3
    chosen = answers(ask, ["down", "enter"], ["1", "enter"], ["x", "down", "enter"])
    assert [end.picked for end in chosen] == [("V1",)] * 3

    async def hurry(*keys: str) -> Reply | Outcome | None:
        box = Held(ask)
        async with box.run_test() as pilot:
            for key in keys:
                box.post_message(pressed(key))
            await settled(pilot)
        return box.returned

    assert asyncio.run(hurry("down", "enter")) == Reply((chosen[0],))
    assert asyncio.run(hurry(*"no", "down", "enter")) == Reply((chosen[0],))


def test_an_opened_menu_shows_the_way_up() -> None:
    """`<` goes there from the list, as does a word on the Other line; a page keeps its ticks."""
    above = (Choice("<", "Back", "To the options before"), Choice("<CUT", "Leave it out"))
    inner = asking(question(above=above, menu=False))
    shown, up, typed, named = play(
        inner, (), ["<"], ["/", *"back", "enter"], ["/", *"cut", "enter"]
    )
    assert "< back" in shown.text
    picked = [seen.answers[0].picked for seen in (up, typed, named)]
    assert picked == [("<",), ("<",), ("<CUT",)]
    ticked = press(asking(question(above=above, choices=FLAGS, multi=True)), "space", "<")
    assert ticked.answers[0].picked == ("<",)
    turned = press(asking(question(above=above[:1], choices=FLAGS, multi=True)), "space", "<")
    assert turned.answers[0].picked == ("TAG", "<")
    first = press(asking(question()), "<")
    assert (first.returned, "nothing to go back to" in first.text) == (None, True)
    assert "< back" not in first.text


# -- comments, help, leaving -----------------------------------------------------------------------


def test_a_comment_goes_with_the_pick() -> None:
    """`c` opens a line for a comment; enter keeps it, and the pick carries it."""
    kept, sent = play(
        asking(), ["c", *"but ".strip(), "enter"], ["c", *typed("but soon"), "enter", "2"]
    )
    assert kept.returned is None
    assert "Comment: but" in kept.text
    assert [Answer("1.1:", picked=("INF",), comment="but soon")] == sent.answers


def test_escape_drops_a_comment() -> None:
    """Escape on the comment goes back to the list without it."""
    open_one, sent = play(asking(), ["c", "n", "escape"], ["c", "n", "escape", "enter"])
    assert "Comment" not in open_one.text
    assert [picked("OK")] == sent.answers


def test_help_lists_the_keys_and_goes_away() -> None:
    """`?` shows the keys, and any key comes back without doing anything else."""
    helping, back, review = play(
        asking(question(1), question(2)), ["?"], ["?", "1"], ["shift+tab", "?"]
    )
    assert "On the Other line" in helping.text
    assert back.drafts[0].answer is None
    assert "Is Auth Design right?" in back.text
    assert "On the Other line" in review.text


def test_leaving_is_no_answer() -> None:
    """q, escape and ctrl+c leave, ctrl+c from a line of text too; none of it is an answer."""
    rounds = (["q"], ["escape"], ["ctrl+c"], ["/", "x", "ctrl+c"])
    left, interrupted = Outcome("dismissed"), Outcome("dismissed", "interrupted")
    returned = [seen.returned for seen in play(asking(), *rounds)]
    assert returned == [left, left, interrupted, interrupted]


def test_escape_on_the_other_line_goes_back_to_the_list() -> None:
    """Only at the top level does escape leave."""
    seen = press(asking(), "/", "x", "escape")
    assert seen.returned is None
    assert not seen.drafts[0].on_other


def test_leaving_with_answers_takes_a_second_key() -> None:
    """Answers that are not sent are worth a warning; another key calls it off."""
    ask = asking(question(1), question(2))
    rounds = (["1", "q"], ["1", "q", "q"], ["1", "q", "j", "q"], ["1", "ctrl+c"])
    warned, left, called_off, at_once = play(ask, *rounds)
    assert "1 answer is not sent yet" in warned.text
    assert left.returned == Outcome("dismissed")
    assert at_once.returned == Outcome("dismissed", "interrupted")
    assert warned.returned is called_off.returned is None


# -- a batch ---------------------------------------------------------------------------------------


def test_a_batch_of_four_is_reviewed_and_then_sent() -> None:
    """Each answer leads to the next open question, then to the review; enter there sends."""
    ask = asking(*map(question, (1, 2, 3, 4)))
    given = ["1", "2", "3", "/", *typed("drop it"), "enter"]
    review, sent = play(ask, given, [*given, "enter"])
    assert "✓ 1.1. Auth Design   ✓ 1.2. Data Model   ✓ 1.3. Rate Limits" in review.text
    assert "3 ✓ 1.3. Rate Limits — Write it anew" in review.text
    assert "4 ✓ 1.4. Docs — “drop it”" in review.text
    assert review.returned is None
    assert [answer.key for answer in sent.answers] == ["1.1:", "1.2:", "1.3:", "1.4:"]
    assert [answer.picked for answer in sent.answers] == [("OK",), ("INF",), ("RWK",), ()]


def test_tab_leads_from_question_to_question() -> None:
    """Tab and right go on, shift+tab and left go back, and what is answered has a tick."""
    ask = asking(*map(question, (1, 2, 3)))
    rounds = (["tab", "right"], ["tab", "tab", "left", "shift+tab"], ["tab", "1"])
    on, back, answered = play(ask, *rounds)
    assert [on.at, back.at, answered.at] == [2, 0, 2]
    assert "○ 1.1. Auth Design   ✓ 1.2. Data Model   ○ 1.3. Rate Limits" in answered.text


def test_an_answer_can_be_changed_before_it_is_sent() -> None:
    """From the review a number leads back to its question; the new answer is the one sent."""
    ask = asking(question(1), question(2))
    back, sent = play(ask, ["1", "2", "1"], ["1", "2", "1", "3", "enter"])
    assert "Keep it  OK ✓" in back.text
    assert [answer.picked for answer in sent.answers] == [("RWK",), ("INF",)]


def test_what_is_typed_stays_with_its_question() -> None:
    """Going to another question and back loses neither words nor comment."""
    ask = asking(question(1), question(2))
    seen = press(ask, "c", "h", "enter", "/", *typed("half"), "tab", "/", "x", "shift+tab")
    first, second = seen.drafts
    assert (first.words, first.comment, second.words, second.comment) == ("half", "h", "x", "")
    assert "4 half" in seen.text


def test_an_open_question_is_not_sent_over() -> None:
    """The review names what is open, and enter goes there instead of sending."""
    ask = asking(question(1), question(2))
    review, gone = play(ask, ["1", "tab"], ["1", "tab", "enter"])
    assert "1 not answered yet." in review.text
    assert (gone.returned, gone.at) == (None, 1)


# -- what is shown ---------------------------------------------------------------------------------


def test_the_preamble_tells_of_the_item_at_hand() -> None:
    """Beside the context stands what is known of this item, not of the others."""
    ask = asking(question(1), question(2))
    first, second = play(replace(ask, notes=(Note("matched", "> Matched: Keep it"),)), [], ["tab"])
    assert "About 1.1." in first.text
    assert "About 1.2." in second.text
    assert "About 1.1." not in second.text
    assert "> Matched: Keep it" in second.text


def test_text_of_strangers_never_reaches_the_terminal_raw() -> None:
    """Controls and direction marks in any text are shown as escapes; markup is just text."""
    evil, safe = "x\x1b[bold]\u202e\U000e0041", "x\\x1b[bold]\\u202e\\U000e0041"
    hostile = replace(
        question(extras=(Extra("A", evil),)),
        header=evil,
        text=evil,
        choices=(Choice("OK", evil, evil), Choice("B", "Fine")),
    )
    ask = replace(asking(hostile, question(2), context=evil), notes=(Note("k", evil),))
    shown_first, review = play(ask, [], ["1", "1"])
    assert shown_first.text.count(safe) >= 7
    assert f"1 ✓ {safe} — {safe}" in review.text


@pytest.mark.parametrize("rows", [12, 24])
def test_forty_columns_are_enough(rows: int) -> None:
    """Nothing is cut off at the side, and the cursor's row is always in sight."""
    ask = asking(*map(question, (1, 2, 3, 4)), context="A long context. " * 12)
    labels = ("Keep it", "Explain it further", "Write it anew...", "Other..., or your own words")
    seen = play(ask, *(["j"] * moves for moves in range(4)), size=(40, rows))
    for number, (one, label) in enumerate(zip(seen, labels, strict=True), 1):
        assert any(f"❯ {number} {label}" in line for line in one.lines), one.text
        assert max(map(len, one.lines)) <= 40
        assert one.lines[-1] or rows > 12
    assert "↑↓ enter · ? help · q quit" in seen[0].text


def test_wide_terminals_are_not_filled() -> None:
    """Lines longer than 100 cells are hard to read, so the box ends there."""
    seen = press(asking(context="A long context. " * 30), size=(200, 40))
    assert 95 < max(map(len, seen.lines)) <= 100


def test_a_long_preamble_scrolls_above_the_question() -> None:
    """The question is in sight at once, and page down reads on."""
    context = "\n".join(f"- point {n}" for n in range(40))
    first, last = play(asking(context=context), [], ["pagedown"] * 12, size=(80, 24))
    assert "❯ 1 Keep it" in first.text
    assert "pgdn scroll" in first.text
    assert "point 39" not in first.text
    assert "point 39" in last.text


def test_markdown_is_shown_in_styles() -> None:
    """Marks of emphasis give way to styles; lists, headings, code and tables keep their shape."""
    text = (
        "# Head *er*\n**Bold** `a * b` [here](https://example.org)\n- item **x**\n\n```python\n"
        "x = '**raw**'\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    rows = lay_out(text, 40)
    found = ["".join(one.text for one in row).strip() for row in rows]
    shown = [row for row in found if row.strip("─━ ")]
    wanted = ["Head er", "Bold a * b here (https://example.org)", "• item x", "x = '**raw**'"]
    assert [row for row in wanted if row not in shown] == []
    assert [re.split(r"\W+", row) for row in shown[-2:]] == [["a", "b"], ["1", "2"]]
    bold = next(one for row in rows for one in row if one.text == "Bold")
    assert bold.style is not None
    assert bold.style.bold
    assert "\\x1b" in "".join(one.text for row in lay_out("\x1b[31mred", 40) for one in row)


def test_the_picture_in_the_docs_shows_the_box_as_it_is(tmp_path: Path) -> None:
    """`python examples/screenshot.py` has been run since the box last changed."""
    drawn = tmp_path / "terminal.svg"
    subprocess.run([sys.executable, "examples/screenshot.py", drawn], cwd=ROOT, check=True)
    kept, fresh = (
        re.findall(r">([^<]+)</text>", path.read_text(encoding="utf-8"))
        for path in (ROOT / "docs" / "pictures" / "terminal.svg", drawn)
    )
    assert fresh == kept


# -- numbered text ---------------------------------------------------------------------------------


def numbered(ask: Ask, *lines: str) -> tuple[Reply | Outcome, str]:
    """What comes of these lines, and what was printed."""
    out = io.StringIO()
    returned = terminal.numbered(ask, lines_in=[f"{line}\n" for line in lines], out=out)
    return returned, out.getvalue()


def test_a_note_keeps_its_lines() -> None:
    """An explanation is a list of options, with each of them on a line, in the box and as text."""
    ask = replace(asking(), notes=(Note("explained", "Is it?\n\n- [OK] Keep it\n- [NO] Drop it"),))
    assert "- [OK] Keep it\n- [NO] Drop it\n" in numbered(ask, "1")[1]
    lines = [line.strip() for line in press(ask).lines]
    assert lines.index("- [NO] Drop it") == lines.index("- [OK] Keep it") + 1


def test_numbered_text_asks_one_question_after_another() -> None:
    """Each question has its choices with numbers, Other last, and takes a line."""
    returned, text = numbered(asking(question(1), question(2)), "2", "merge it")
    assert (
        Reply(
            (
                Answer("1.1:", picked=("INF",), raw="2"),
                Answer("1.2:", text="merge it", raw="merge it"),
            )
        )
        == returned
    )
    assert "  3. Write it anew...\n     The goal holds\n  4. Other... (or an empty line)\n" in text
    assert text.index("✓ 1.1. Auth Design — Explain it further") < text.index(
        "Is Data Model right?"
    )


def test_an_empty_line_is_a_blank_other_only_where_there_is_a_menu() -> None:
    """With a menu an empty line opens it, and so does its number; without one it asks for words."""
    assert Reply((Answer("1.1:"),)) == numbered(asking(), "")[0]
    assert Reply((Answer("1.1:", raw="4"),)) == numbered(asking(), "4")[0]
    returned, text = numbered(asking(question(menu=False, named=())), "", "1")
    assert Reply((Answer("1.1:", picked=("OK",), raw="1"),)) == returned
    assert "Other has no options here" in text


def test_numbered_text_tells_other_by_its_name() -> None:
    """Beside what is ticked with it, and among what a reply fits."""
    ticked = numbered(asking(question(multi=True)), "1, 4")[1]
    assert "✓ 1.1. Auth Design — Keep it, Other\n" in ticked
    assert "→ 1.1. Auth Design — which? Keep it or Other\n" in numbered(asking(), "1 or 4")[1]


def test_a_proof_typed_at_a_dumb_terminal_is_text() -> None:
    """A number is what was asked for, unless it names one of the values that are listed."""
    ask = asking(proof(1), proof(2, choices=(Choice("V1", "low"), Choice("V2", "1"))))
    for lines, said in ((("1", "2"), ["1", ("V2",)]), (("#4", "1"), ["#4", "1"])):
        returned, shown = numbered(ask, *lines)
        assert isinstance(returned, Reply)
        assert [a.picked or a.text for a in returned.answers] == said
        assert "Other" not in shown


def test_an_opened_menu_shows_the_way_up_in_text() -> None:
    """The line says what to type."""
    above = (Choice("<", "Back", "To the options before"), Choice("<CUT", "Leave it out"))
    returned, shown = numbered(asking(question(above=above)), "<")
    assert isinstance(returned, Reply)
    assert returned.answers[0].picked == ("<",)
    assert "<  Back: To the options before" in shown


def test_the_end_of_input_is_no_answer() -> None:
    """Half a batch is no reply: the run waits."""
    returned, text = numbered(asking(question(1), question(2)), "1")
    assert Outcome("dismissed") == returned
    assert text.endswith(f"{terminal.WAITS}\n")


def test_half_a_batch_is_not_lost_in_silence() -> None:
    """Whoever leaves in the middle is told that what they answered before is not kept."""
    _, half = numbered(asking(question(1), question(2)), "1")
    _, none = numbered(asking(question(1), question(2)))
    assert f"1 answer was not sent, and not kept.\n{terminal.WAITS}\n" in half
    assert "not sent" not in none


def test_several_numbers_are_for_questions_with_several_answers() -> None:
    """Numbers that fit no choice, or more of them than can be chosen, are asked for again."""
    several = asking(question(choices=FLAGS[:3], multi=True))
    expected = Answer("1.1:", picked=("TAG", "CUT"), raw="3, 1 and 3")
    assert Reply((expected,)) == numbered(several, "7", "3, 1 and 3")[0]
    returned, text = numbered(asking(), "1 2", "0", "#2")
    assert Reply((Answer("1.1:", picked=("INF",), raw="#2"),)) == returned
    assert "Type one number." in text
    assert "Type a number from 1 to 4" in text


def test_a_number_that_is_also_in_a_label_is_asked_about_in_numbered_text() -> None:
    """The one reader reads what is typed there: 2 may be the second choice, or the two days."""
    days = (Choice("ONE", "Wait 2 days"), Choice("TWO", "Wait 3 days"))
    returned, _ = numbered(asking(question(choices=days)), "2")
    assert isinstance(returned, Reply)
    assert (returned.answers[0].picked, returned.answers[0].among) == ((), ("ONE", "TWO"))


def test_plain_text_has_the_summary_the_choices_and_then_the_question() -> None:
    """Other has a number only where there is more behind it; own words can always be typed."""
    asked = question(text="Tokens expire unnoticed. What now?")
    shown = [*map(numbered(asking(asked))[1].index, ("Tokens", "  1. Keep", "  4. Other", "What"))]
    assert shown == sorted(shown)
    _, bare = numbered(asking(replace(asked, menu=False, named=())), "4", "2")
    assert "  Or type your own words.\nWhat now?\n> Type a number from 1 to 3, or" in bare


def test_only_choices_begin_with_a_number_in_numbered_text() -> None:
    """What a question is about has its number behind it, or `1. Deploy` looks like a choice."""
    for header, shown in (("1. Deploy", "Deploy (1)"), ("D1.2. Slack", "D1.2. Slack"), ("1", "1")):
        asked = replace(question(), header=header, item="1")
        assert f"\n{shown}\n" in numbered(asking(asked), "1")[1]


def test_numbered_text_is_safe_to_show() -> None:
    """Controls in a text are printed as escapes."""
    hostile = replace(question(), text="x\x1b[2J", choices=(Choice("OK", "y\x07\u200b"),))
    shown = set(numbered(asking(hostile, context="z\x9b\U000e0041"), "1")[1])
    assert not {"\x1b", "\x07", "\x9b", "\u200b", "\U000e0041"} & shown


# -- a real terminal -------------------------------------------------------------------------------

CHILD = """
import sys
import msgspec
import quandary
from quandary.errors import QuandaryError
from quandary.flows.decide import decide
from quandary.model.asks import Item, Reading
from quandary.people import terminal

assert "textual" not in sys.modules

def read(text, question, mode):
    picked = [c.code for c in question.options if text and c.label.lower().startswith(text)]
    return Reading("pick", tuple(picked)) if len(picked) == 1 else Reading("own-words")

if "without-textual" in sys.argv:
    sys.modules["textual"] = None
tree = quandary.load("examples/trees/plan-review.md")
items = [Item("1.1", "Auth", "Sign in"), Item("1.2", "Data", "Move orders")]
kind = "advisory" if "advisory" in sys.argv else "transition"
asked = next(decide(tree, items, context="The plan has two steps.", kind=kind))
try:
    returned = terminal.ask(asked)
except QuandaryError as error:
    sys.exit(f"refused: {error}")
print(msgspec.json.encode(returned).decode())
"""
ESCAPE = re.compile(r"\x1b(?:\[[0-9;?<>=$]*[a-zA-Z]|\][^\x07]*\x07)")


class Terminal:
    """A process at a pseudo-terminal, and what it has written there."""

    def __init__(
        self, *words: str, columns: int = 80, stdout: int | None = None, **env: str
    ) -> None:
        self.screen, line = pty.openpty()
        fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, *words],
            stdin=line,
            stdout=line if stdout is None else stdout,
            stderr=line,
            cwd=ROOT,
            env=environment({"TERM": "xterm-256color", **env}),
        )
        os.close(line)
        self.raw = ""

    @property
    def text(self) -> str:
        """What it has written, without the controls."""
        return ESCAPE.sub("", self.raw).replace("\r\n", "\n")

    def until(self, words: str, seconds: float = 40) -> None:
        """Wait for these words on the screen."""
        end = time.monotonic() + seconds
        while words not in self.text:
            if time.monotonic() > end:
                self.process.kill()
                pytest.fail(f"{words!r} never came: {self.text} {self.process.wait()}")
            if select.select([self.screen], [], [], 0.2)[0]:
                self.raw += self._read()

    def type(self, keys: str) -> None:
        """Press keys; what was written before does not count any more."""
        self.raw = ""
        os.write(self.screen, keys.encode())

    def ended(self) -> int:
        """Read all that is left, and wait for the process."""
        while part := self._read():
            self.raw += part
        os.close(self.screen)
        return self.process.wait(40)

    def _read(self) -> str:
        try:
            return os.read(self.screen, 65536).decode(errors="replace")
        except OSError:  # how Linux says that the other end was closed
            return ""


def test_the_box_on_a_real_terminal() -> None:
    """Keys go in, a line for each question stays behind, and the reply comes out."""
    there = Terminal()
    there.until("q quit")
    assert "Sign in" in there.text
    there.type("\x1b[B\r")
    there.until('Is the step "Move orders" right')
    there.type("/take")
    there.until("→ Take it out")
    there.type("\r")
    there.until("Send these?")
    there.type("\r")
    assert there.ended() == 0
    left = there.text[there.text.rindex("✓ 1.1. Auth — Explain it further") :].splitlines()
    assert left[:2] == ["✓ 1.1. Auth — Explain it further", "✓ 1.2. Data — Take it out"]
    reply = msgspec.json.decode(left[2].encode(), type=Reply)
    assert [answer.picked for answer in reply.answers] == [("INF",), ("OTH/REM",)]


def test_leaving_says_that_the_run_waits() -> None:
    """After ctrl+c one line stays, and the outcome is no answer; colours are the terminal's own."""
    there = Terminal()
    there.until("q quit")
    colours = set(re.findall(r"\x1b\[([\d;]*)m", there.raw))
    assert any("35" in colour.split(";") for colour in colours)
    assert not any({"38", "48"} & set(colour.split(";")) for colour in colours)
    there.type("\x03")
    assert there.ended() == 0
    assert f"{terminal.WAITS}\n" in there.text
    assert '"kind":"dismissed"' in there.text


def test_no_color_means_none() -> None:
    """With NO_COLOR only bold, dim, underlined and the default colours are used."""
    there = Terminal(NO_COLOR="1", columns=40)
    there.until("q quit")
    codes = {c for found in re.findall(r"\x1b\[([\d;]*)m", there.raw) for c in found.split(";")}
    assert codes <= {"", "0", "1", "2", "3", "4", "7", "39", "49"}
    there.type("q")
    assert there.ended() == 0


def test_the_box_leaves_standard_output_alone(tmp_path: Path) -> None:
    """With the output in a file, the box is on the terminal, as wide as that, and the reply not."""
    with (tmp_path / "out").open("wb") as out:
        there = Terminal(columns=50, stdout=out.fileno())
        there.until("q quit")
        assert not any(len(line) > 50 for line in there.text.splitlines())
        there.type("1")
        there.until("Move orders")
        there.type("1")
        there.until("Send these?")
        there.type("\r")
        assert there.ended() == 0
    assert "✓ 1.2. Data — Keep it" in there.text
    reply = msgspec.json.decode((tmp_path / "out").read_bytes(), type=Reply)
    assert [answer.key for answer in reply.answers] == ["1.1:", "1.2:"]


def test_a_terminal_that_is_closed_gives_no_answer() -> None:
    """The other end goes away: the box ends by itself, with nothing answered."""
    reading, writing = os.pipe()
    there = Terminal(stdout=writing)
    os.close(writing)
    there.until("q quit")
    os.close(there.screen)
    assert there.process.wait(40) == 0
    with os.fdopen(reading) as out:
        assert Outcome("dismissed", "the terminal was closed") == msgspec.json.decode(
            out.read().encode(), type=Outcome
        )


@pytest.mark.parametrize(
    ("words", "term"),
    [((), "dumb"), (("without-textual",), "xterm"), (("advisory",), "xterm-256color")],
)
def test_advisory_questions_and_plain_terminals_get_numbered_text(
    words: tuple[str, ...], term: str
) -> None:
    """An advisory Ask takes the screen nowhere; a dumb terminal, or no textual, has no box."""
    there = Terminal(*words, TERM=term)
    there.until("> ")
    assert "  1. Keep it\n" in there.text
    assert "\x1b" not in there.raw
    there.type("2\n")
    there.until("Move orders")
    there.until("> ")
    there.type("take\n")
    assert there.ended() == 0
    assert "✓ 1.2. Data — Take it out" in there.text


def test_lines_pasted_into_numbered_text_answer_no_question_that_was_not_shown() -> None:
    """Lines that come at once are one reply, and what is typed ahead of a question is dropped."""
    there = Terminal(TERM="dumb")
    there.until("> ")
    there.type("merge it\nwith the third\n")
    there.until("Move orders")
    there.until("> ")
    there.type("1\n")
    assert there.ended() == 0
    assert '"text":"merge it\\nwith the third"' in there.text
    assert "✓ 1.2. Data — Keep it" in there.text


def test_without_a_terminal_the_question_is_refused() -> None:
    """A pipe is nobody to ask: the error says what to use instead, and nothing waits for it."""
    ended = subprocess.run(
        [sys.executable, "-c", CHILD],
        input="1\n1\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(),
        timeout=60,
        check=False,
    )
    expected = "refused: there is no terminal here; use --via relay\n"
    assert (1, "", expected) == (ended.returncode, ended.stdout, ended.stderr)


def test_a_terminal_is_available_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends are needed: keys from a terminal, and one that shows the question."""

    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name, stream in {"stdin": Stream(), "stdout": io.StringIO(), "stderr": Stream()}.items():
        monkeypatch.setattr(sys, name, stream)
    assert terminal.available()
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert not terminal.available()
    monkeypatch.setattr(sys, "stdin", Stream())
    monkeypatch.setattr(sys, "stderr", None)
    assert not terminal.available()


def test_values_are_edited_on_lines_of_their_own() -> None:
    """`=` goes to them, enter from one to the next, and what does not fit is said."""
    fields = declare_fields(["replicas: integer = 3", "env: staging|prod = staging"])
    ask = asking(question(fields=fields))
    wrong, right = play(
        ask,
        ["=", "backspace", "x", "escape", "1"],
        ["=", "backspace", "5", "enter", *["backspace"] * 7, *"prod", "enter", "1"],
    )
    assert wrong.returned is None
    assert "Replicas must be integer and is text." in wrong.text
    assert "= values" in wrong.text
    assert right.answers == [Answer("1.1:", ("OK",), values={"replicas": 5, "env": "prod"})]
